/**
 * @file status.h
 * The three kinds of errors.
 *
 * Bad input: a function returns a dsgd_status and one sentence in a dsgd_error; only command/main.c
 * prints it and exits. A bug: DSGD_ASSERT, or DSGD_REQUIRE where it is the author's of an
 * algorithm; never compiled out. An outcome of a run (divergence, deadlock): a row of the results.
 */
#pragma once

/* What of C's library is used everywhere comes with it, and is not included again. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Around what a plug-in in C++ sees. */
#ifdef __cplusplus
#define DSGD_BEGIN_C extern "C" {
#define DSGD_END_C }
#else
#define DSGD_BEGIN_C
#define DSGD_END_C
#endif

DSGD_BEGIN_C

/** One list; the enum and the exit codes that `dsgd --help` prints follow from it. */
#define DSGD_STATUS_LIST(X)                                                                        \
    X(DSGD_OK, 0, "success")                                                                       \
    X(DSGD_EUSAGE, 2, "the command line or a value in a file is not acceptable")                   \
    X(DSGD_EIO, 3, "a file could not be read, parsed or written")                                  \
    X(DSGD_EDEVICE, 4, "the requested device is not in this build or not on this machine")         \
    X(DSGD_ERUNS, 5, "some runs, checks or imported files failed; the others are kept")

typedef enum {
#define X(name, exit_code, text) name = (exit_code),
    DSGD_STATUS_LIST(X)
#undef X
} dsgd_status;

/** One sentence for the user. */
typedef struct dsgd_error {
    char text[640];
} dsgd_error;

/**
 * Writes the sentence into @p error (NULL: nowhere) and returns @p status, for `return
 * dsgd_fail(...)`.
 */
dsgd_status dsgd_fail(dsgd_error *error, dsgd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* does not see the definition; would take a failure for DSGD_OK */
#define dsgd_fail(error, status, ...) ((dsgd_fail)(error, status, __VA_ARGS__), (status))
#endif

/** Of input that is not acceptable: `return dsgd_refuse(error, "...", ...)`. */
#define dsgd_refuse(error, ...) dsgd_fail(error, DSGD_EUSAGE, __VA_ARGS__)

/** Has the calling function return what @p call returns, unless that is DSGD_OK. */
#define DSGD_TRY(call)                                                                             \
    do {                                                                                           \
        const dsgd_status status_of_call = (call);                                                 \
        if (status_of_call != DSGD_OK)                                                             \
            return status_of_call;                                                                 \
    } while (0)

/**
 * Something that the process cannot go on without is not to be had, such as a thread: says the
 * sentence and ends the process, with exit status DSGD_ERUNS (of a run: it failed, the others are
 * kept).
 */
void dsgd_give_up(const char *sentence) __attribute__((noreturn));
/** The same where memory ran out. Both remove what is unfinished (base/file.h) before. */
void dsgd_no_memory(void) __attribute__((noreturn));
/** What both call before they end the process; NULL: nothing. */
void dsgd_at_no_memory(void (*clean)(void));

/** Zeroed memory, which the caller frees with free(); out of memory ends the process. */
void *dsgd_xcalloc(size_t count, size_t size);
/** Like realloc() of @p count elements; out of memory ends the process. */
void *dsgd_xrealloc(void *memory, size_t count, size_t size);

/**
 * Zeroed memory that the program keeps until dsgd_drop(): nobody frees it. All texts below are
 * kept, and whatever a command holds, which is much smaller than what its runs hold.
 */
void *dsgd_keep(size_t count, size_t size);
/** Kept memory of at least @p count elements that begins as @p kept does. NULL: that is empty. */
void *dsgd_keep_more(void *kept, size_t count, size_t size);
/** Has @p end called for @p what by dsgd_drop(), such as free() for memory of a library. */
void dsgd_keep_for(void (*end)(void *what), void *what);
/** The newest of what is kept. */
void *dsgd_mark(void);
/** Gives back what was kept since dsgd_mark(), the newest first; NULL: everything. */
void dsgd_drop(void *mark);

/** A copy of @p text. NULL gives NULL. */
char *dsgd_xstrdup(const char *text);
/** Whether the last bytes of @p text are @p end. */
bool dsgd_ends_with(const char *text, const char *end);
/** printf() into a text. */
char *dsgd_xprintf(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));
/** Like dsgd_xprintf(), from arguments that a caller with `...` has opened. */
char *dsgd_xvprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), nonnull(1)));
/** open_memstream(). */
FILE *dsgd_text_open(char **text, size_t *length);
/** *text and *length are up to date; text that found no memory ends the process. */
void dsgd_text_flush(FILE *stream);
/** The same for the last time. @p text: that of dsgd_text_open(), which is kept from now on. */
void dsgd_text_close(FILE *stream, char *const *text);
/** Appends to *text, which dsgd_xprintf() or dsgd_xstrdup() made. */
void dsgd_append(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
/** @p text as a word that a shell reads, in quotes where it needs them. */
char *dsgd_shell_word(const char *text);
/** Appends a blank and such a word. */
void dsgd_append_word(char **text, const char *word);
/** A command line of words, the first as it is ("dsgd run"). */
char *dsgd_shell_command(size_t n, char *const *words);

/** A bug: prints place and condition, then aborts. Never compiled out. */
#define DSGD_ASSERT(condition, ...)                                                                \
    ((condition) ? (void)0 : dsgd_assert_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

void dsgd_assert_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/** What an algorithm owes to the contract: prints "dsgd: algorithm NAME: SENTENCE", then aborts. */
#define DSGD_REQUIRE(condition, ...) ((condition) ? (void)0 : dsgd_require_failed(__VA_ARGS__))

void dsgd_require_failed(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** The algorithm's NAME, which has to outlive the run. */
void dsgd_require_of(const char *name);

DSGD_END_C
