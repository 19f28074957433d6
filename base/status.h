/**
 * @file status.h
 * The three kinds of things that go wrong, and what happens then.
 *
 * Bad input: a function returns a dsgd_status and one sentence in a dsgd_error; command/main.c alone prints it and exits.
 * A bug: DSGD_ASSERT, never compiled out. An outcome (divergence, starvation): a row of the results, not an error.
 */
#ifndef DSGD_BASE_STATUS_H
#define DSGD_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/** One list; the enum, the exit codes and dsgd_status_text() follow from it. */
#define DSGD_STATUS_LIST(X)                                                                        \
    X(DSGD_OK, 0, "success")                                                                       \
    X(DSGD_EUSAGE, 2, "the command line or a value in a file is not acceptable")                   \
    X(DSGD_EIO, 3, "a file could not be read, parsed or written")                                  \
    X(DSGD_EDEVICE, 4, "the requested device is not in this build or not on this machine")         \
    X(DSGD_ERUNS, 5, "some runs failed; the others are kept")

typedef enum {
#define X(name, exit_code, text) name = (exit_code),
    DSGD_STATUS_LIST(X)
#undef X
} dsgd_status;

/** Room for one sentence to the person who started the run. */
typedef struct dsgd_error {
    char text[640];
} dsgd_error;

/** Writes the sentence into @p error (which may be NULL) and returns @p status, so that a caller can `return dsgd_fail(...)`. */
dsgd_status dsgd_fail(dsgd_error *error, dsgd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* which does not see the definition, and would take a failure for DSGD_OK */
#define dsgd_fail(error, status, ...) ((dsgd_fail)(error, status, __VA_ARGS__), (status))
#endif

/** What the status means, for the exit-code table of `dsgd --help`. */
const char *dsgd_status_text(dsgd_status status);

/** Zeroed memory; out of memory ends the process with a sentence. The caller frees it with free(). */
void *dsgd_xcalloc(size_t count, size_t size);
/** Like realloc() of @p count elements, with the same promise. */
void *dsgd_xrealloc(void *memory, size_t count, size_t size);
/** A copy of @p text that the caller frees. NULL gives NULL. */
char *dsgd_xstrdup(const char *text);
/** printf() into fresh memory that the caller frees. */
char *dsgd_xprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A broken promise between two parts of the program: prints where and what, then aborts. Always on. */
#define DSGD_ASSERT(condition, ...)                                                                \
    ((condition) ? (void)0 : dsgd_assert_failed(#condition, __FILE__, __LINE__, __VA_ARGS__))

void dsgd_assert_failed(const char *condition, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

#endif
