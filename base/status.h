/**
 * @file status.h The three kinds of errors.
 *
 * Bad input: a function returns a dsgd_status, and one sentence in a dsgd_error. Only
 * command/main.c prints the sentence and exits. A bug: DSGD_ASSERT, or DSGD_REQUIRE if the bug is
 * in an algorithm; both are always compiled in. An outcome of a run (divergence, deadlock): a row
 * of the results.
 */
#pragma once

/* Headers of the C library that are used everywhere. Other files need not include them. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enclose declarations that a plug-in in C++ uses. */
#ifdef __cplusplus
#define DSGD_BEGIN_C extern "C" {
#define DSGD_END_C }
#else
#define DSGD_BEGIN_C
#define DSGD_END_C
#endif

DSGD_BEGIN_C

/**
 * The only list of status codes: the enum and the exit codes that `dsgd --help` prints are made of
 * it.
 */
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
 * Writes the sentence into @p error (if not NULL) and returns @p status, for `return
 * dsgd_fail(...)`.
 */
dsgd_status dsgd_fail(dsgd_error *error, dsgd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* the analyzer does not see the definition, and would take a failure for DSGD_OK */
#ifdef __clang_analyzer__
#define dsgd_fail(error, status, ...) ((dsgd_fail)(error, status, __VA_ARGS__), (status))
#endif

/** Rejects bad input: `return dsgd_refuse(error, "...", ...)`. */
#define dsgd_refuse(error, ...) dsgd_fail(error, DSGD_EUSAGE, __VA_ARGS__)

/** Makes the calling function return the status of @p call, unless it is DSGD_OK. */
#define DSGD_TRY(call)                                                                             \
    do {                                                                                           \
        const dsgd_status status_of_call = (call);                                                 \
        if (status_of_call != DSGD_OK)                                                             \
            return status_of_call;                                                                 \
    } while (0)

/**
 * Ends the process with a sentence and exit status DSGD_ERUNS, because a resource that it needs,
 * such as a thread, is not available. In a run this means that the run failed; the other runs are
 * kept.
 */
void dsgd_give_up(const char *sentence) __attribute__((noreturn));
/**
 * Ends the process in the same way if memory runs out. Both functions remove unfinished files
 * (base/file.h) first.
 */
void dsgd_no_memory(void) __attribute__((noreturn));
/** Sets the function that both call before they end the process; NULL for none. */
void dsgd_at_no_memory(void (*clean)(void));

/**
 * Allocates zeroed memory, which the caller frees with free(). Ends the process if memory runs out.
 */
void *dsgd_xcalloc(size_t count, size_t size);
/** Like realloc() to @p count elements. Ends the process if memory runs out. */
void *dsgd_xrealloc(void *memory, size_t count, size_t size);

/**
 * Allocates zeroed memory that lives until dsgd_drop(); no function frees it. All texts below are
 * kept in this way, and also the data of a command, which is much smaller than the data of its
 * runs.
 */
void *dsgd_keep(size_t count, size_t size);
/**
 * Returns kept memory of at least @p count elements that begins with the contents of @p kept, which
 * may be NULL.
 */
void *dsgd_keep_more(void *kept, size_t count, size_t size);
/** Makes dsgd_drop() call @p end for @p what, for example free() for memory of a library. */
void dsgd_keep_for(void (*end)(void *what), void *what);
/** Returns a mark at the newest kept memory. */
void *dsgd_mark(void);
/** Frees the memory that was kept since dsgd_mark(), the newest first; NULL frees all of it. */
void dsgd_drop(void *mark);

/** Returns a copy of @p text, or NULL if @p text is NULL. */
char *dsgd_xstrdup(const char *text);
/** Returns true if @p text ends with @p end. */
bool dsgd_ends_with(const char *text, const char *end);
/** Returns a text that is formatted as by printf(). */
char *dsgd_xprintf(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));
/** Like dsgd_xprintf(), for a va_list. */
char *dsgd_xvprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), nonnull(1)));
/** Opens a stream that writes to a text, like open_memstream(). */
FILE *dsgd_text_open(char **text, size_t *length);
/** Updates *text and *length. Ends the process if the text does not fit into memory. */
void dsgd_text_flush(FILE *stream);
/**
 * Updates them for the last time and closes the stream. @p text is the one of dsgd_text_open(),
 * which is kept from now on.
 */
void dsgd_text_close(FILE *stream, char *const *text);
/** Appends to *text, which dsgd_xprintf() or dsgd_xstrdup() made. */
void dsgd_append(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
/** Returns @p text as one word for a shell, in quotes if it needs them. */
char *dsgd_shell_word(const char *text);
/** Appends a blank and such a word. */
void dsgd_append_word(char **text, const char *word);
/** Returns a command line of words; the first one is not quoted ("dsgd run"). */
char *dsgd_shell_command(size_t n, char *const *words);

/** Reports a bug: prints place and condition, then aborts. Always compiled in. */
#define DSGD_ASSERT(condition, ...)                                                                \
    ((condition) ? (void)0 : dsgd_assert_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

void dsgd_assert_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/**
 * Checks a duty of an algorithm: prints "dsgd: algorithm NAME: SENTENCE" and aborts if @p condition
 * is false.
 */
#define DSGD_REQUIRE(condition, ...) ((condition) ? (void)0 : dsgd_require_failed(__VA_ARGS__))

void dsgd_require_failed(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** Sets the algorithm's NAME, which must outlive the run. */
void dsgd_require_of(const char *name);

DSGD_END_C
