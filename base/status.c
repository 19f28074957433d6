/**
 * @file status.c
 * Error sentences, allocations that abort where memory runs out, and asserts.
 */
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef dsgd_fail /* what analyzers see */
dsgd_status dsgd_fail(dsgd_error *error, dsgd_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

static void *or_die(void *memory)
{
    if (memory == NULL) {
        fputs("dsgd: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *dsgd_xcalloc(size_t count, size_t size)
{
    return or_die(calloc(count == 0 ? 1 : count, size == 0 ? 1 : size));
}

void *dsgd_xrealloc(void *memory, size_t count, size_t size)
{
    const size_t bytes = count * size;
    DSGD_ASSERT(size == 0 || bytes / size == count, "%zu elements of %zu bytes", count, size);
    return or_die(realloc(memory, bytes == 0 ? 1 : bytes));
}

char *dsgd_xstrdup(const char *text)
{
    return text == NULL ? NULL : or_die(strdup(text));
}

char *dsgd_xvprintf(const char *format, va_list arguments)
{
    char *text = NULL;
    const int length = vasprintf(&text, format, arguments);
    return or_die(length < 0 ? NULL : text);
}

char *dsgd_xprintf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    return text;
}

void dsgd_append(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const more = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    char *const both = dsgd_xprintf("%s%s", *text, more);
    free(more);
    free(*text);
    *text = both;
}

void dsgd_append_word(char **text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=+@%";
    if (*word != '\0' && strspn(word, plain) == strlen(word)) {
        dsgd_append(text, " %s", word);
        return;
    }
    dsgd_append(text, " '");
    for (; *word != '\0'; word++)
        dsgd_append(text, *word == '\'' ? "'\\''" : "%c", *word);
    dsgd_append(text, "'");
}

void dsgd_assert_failed(const char *condition, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "dsgd: bug: %s:%d: %s does not hold: ", file, line, condition);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
