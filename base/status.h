/**
 * @file status.h
 * Functions and macros for the three kinds of errors, and for memory and texts.
 *
 * Bad input: a function returns a dsgd_status, and stores one sentence in a dsgd_error. Only
 * command/main.c prints the sentence and exits.
 *
 * A bug: DSGD_ASSERT fails for a bug in the program, and DSGD_REQUIRE fails for a bug in an
 * algorithm. Both macros are always compiled in.
 *
 * An outcome of a run, such as divergence or deadlock: the outcome is a row of the results.
 */
#pragma once

/*
 * Headers of the C library that most files use. Files that include status.h need not include them.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These macros enclose declarations that a plug-in in C++ can use. */
#ifdef __cplusplus
#define DSGD_BEGIN_C extern "C" {
#define DSGD_END_C }
#else
#define DSGD_BEGIN_C
#define DSGD_END_C
#endif

DSGD_BEGIN_C

/**
 * The only list of status codes. The enum below and the exit codes that `dsgd --help` prints are
 * generated from it.
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

/** An error message for the user: one sentence. */
typedef struct dsgd_error {
    char text[640];
} dsgd_error;

/**
 * Writes the formatted sentence into @p error, unless @p error is NULL. Returns @p status. Use it
 * as `return dsgd_fail(...)`.
 */
dsgd_status dsgd_fail(dsgd_error *error, dsgd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Static analyzers do not see the definition of dsgd_fail(), so they would assume that it may
 * return DSGD_OK.
 */
#ifdef __clang_analyzer__
#define dsgd_fail(error, status, ...) ((dsgd_fail)(error, status, __VA_ARGS__), (status))
#endif

/** Rejects bad input: writes the sentence into @p error and returns DSGD_EUSAGE. */
#define dsgd_refuse(error, ...) dsgd_fail(error, DSGD_EUSAGE, __VA_ARGS__)

/** Makes the calling function return the status of @p call, if that status is not DSGD_OK. */
#define DSGD_TRY(call)                                                                             \
    do {                                                                                           \
        const dsgd_status status_of_call = (call);                                                 \
        if (status_of_call != DSGD_OK)                                                             \
            return status_of_call;                                                                 \
    } while (0)

/**
 * Prints a sentence and ends the process with exit status DSGD_ERUNS. Use it if the process needs a
 * resource that is not available, such as a thread. If the process simulates a run, only that run
 * fails, and the other runs are kept.
 */
void dsgd_give_up(const char *sentence) __attribute__((noreturn));
/**
 * Ends the process like dsgd_give_up(), because memory has run out. Both functions first remove
 * unfinished files (base/file.h).
 */
void dsgd_no_memory(void) __attribute__((noreturn));
/**
 * Sets the function that dsgd_give_up() and dsgd_no_memory() call before they end the process. If
 * @p clean is NULL, they call no function.
 */
void dsgd_at_no_memory(void (*clean)(void));

/**
 * Allocates zeroed memory, which the caller frees with free(). Ends the process if memory runs out.
 */
void *dsgd_xcalloc(size_t count, size_t size);
/**
 * Changes the size of an allocation to @p count elements, like realloc(). Ends the process if
 * memory runs out.
 */
void *dsgd_xrealloc(void *memory, size_t count, size_t size);

/**
 * Allocates zeroed memory that lives until dsgd_drop(). No other function frees it. The functions
 * below return their texts in such memory. The data of a command are in such memory, too, because
 * they are much smaller than the data of the command's runs.
 */
void *dsgd_keep(size_t count, size_t size);
/**
 * Makes kept memory larger. Returns kept memory for at least @p count elements, which begins with
 * the contents of @p kept. @p kept may be NULL.
 */
void *dsgd_keep_more(void *kept, size_t count, size_t size);
/**
 * Registers a call end(what), which dsgd_drop() makes: for example, free() for memory that a
 * library allocated.
 */
void dsgd_keep_for(void (*end)(void *what), void *what);
/** Returns a mark for dsgd_drop(), at the newest kept memory. */
void *dsgd_mark(void);
/**
 * Frees the memory that was kept since dsgd_mark() returned @p mark, the newest memory first. If @p
 * mark is NULL, frees all kept memory.
 */
void dsgd_drop(void *mark);

/** Returns a kept copy of @p text, or NULL if @p text is NULL. */
char *dsgd_xstrdup(const char *text);
/** Returns true if @p text ends with @p end. */
bool dsgd_ends_with(const char *text, const char *end);
/** Returns a kept text that is formatted as by printf(). */
char *dsgd_xprintf(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));
/** Like dsgd_xprintf(), but takes a va_list. */
char *dsgd_xvprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0), nonnull(1)));
/**
 * Opens a stream that writes to a text in memory, like open_memstream(). Close it with
 * dsgd_text_close().
 */
FILE *dsgd_text_open(char **text, size_t *length);
/**
 * Updates the text and length of a stream of dsgd_text_open(). Ends the process if the text does
 * not fit into memory.
 */
void dsgd_text_flush(FILE *stream);
/**
 * Updates the text and length of a stream of dsgd_text_open() for the last time, and closes the
 * stream. From then on, *text is kept memory.
 */
void dsgd_text_close(FILE *stream, char *const *text);
/** Appends a formatted text to *text, which must be a text of dsgd_xprintf() or dsgd_xstrdup(). */
void dsgd_append(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(1, 2)));
/** Returns @p text as one word for a shell. Adds quotes if the shell needs them. */
char *dsgd_shell_word(const char *text);
/** Appends a blank and @p word, in quotes if a shell needs them, to *text. */
void dsgd_append_word(char **text, const char *word);
/**
 * Returns a command line that consists of words[n]. The first word is never quoted, because it may
 * be "dsgd run".
 */
char *dsgd_shell_command(size_t n, char *const *words);

/**
 * Checks a condition that only a bug can break. If the condition is false, prints the place and the
 * condition, then aborts. The check is always compiled in.
 */
#define DSGD_ASSERT(condition, ...)                                                                \
    ((condition) ? (void)0 : dsgd_assert_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

void dsgd_assert_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/**
 * Checks a condition that an algorithm must satisfy. If the condition is false, prints "dsgd:
 * algorithm NAME: SENTENCE" and aborts.
 */
#define DSGD_REQUIRE(condition, ...) ((condition) ? (void)0 : dsgd_require_failed(__VA_ARGS__))

void dsgd_require_failed(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** Sets the NAME that DSGD_REQUIRE prints. The text must live until the end of the run. */
void dsgd_require_of(const char *name);

DSGD_END_C
