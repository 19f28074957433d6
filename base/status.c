/**
 * @file status.c Error messages, the end of a process that cannot continue, allocation of memory,
 * texts, and asserts.
 */
#include "base/status.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#undef dsgd_fail /* removes the macro that status.h defines for static analyzers */
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

static void (*before_the_end)(void);

void dsgd_at_no_memory(void (*clean)(void))
{
    before_the_end = clean;
}

void dsgd_give_up(const char *sentence)
{
    if (before_the_end != NULL)
        before_the_end();
    fprintf(stderr, "dsgd: %s\n", sentence);
    /*
     * Do not call abort(), because the program has no bug, or exit(), because other threads may
     * still compute.
     */
    _exit(DSGD_ERUNS);
}

void dsgd_no_memory(void)
{
    dsgd_give_up("out of memory");
}

static void *or_die(void *memory)
{
    if (memory == NULL)
        dsgd_no_memory();
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

/**
 * One element of the list of kept memory: a block of memory, or a function that dsgd_drop() calls.
 */
typedef struct kept {
    struct kept *before;
    size_t bytes; /* bytes of the block of memory; 0 if the element is a function to call */
    union {
        max_align_t memory[1];
        struct {
            void (*end)(void *what);
            void *what;
        } ending;
    } of;
} kept;

/* newest element of the list; atomic, because several threads of a run may make texts */
static _Atomic(kept *) newest;

/**
 * Asks the system for pages of 2 MiB if a block is large, because fork() copies one entry per page.
 * For example, the plans of 100,000 runs take 40,000 pages of the usual size, but only 80 pages of
 * 2 MiB.
 */
static void have_large_pages(uintptr_t begin, size_t bytes)
{
    const uintptr_t large = 1 << 21, first = (begin + large - 1) / large * large;
    if (bytes >= 4 * large)
        (void)madvise((void *)first, (begin + bytes - first) / large * large, MADV_HUGEPAGE);
}

static kept *keep(size_t bytes)
{
    kept *const k =
        dsgd_xcalloc(1, offsetof(kept, of) + (bytes < sizeof k->of ? sizeof k->of : bytes));
    k->bytes = bytes;
    have_large_pages((uintptr_t)k->of.memory, bytes);
    k->before = newest;
    while (!atomic_compare_exchange_weak(&newest, &k->before, k)) {
    }
    return k;
}

void *dsgd_keep(size_t count, size_t size)
{
    DSGD_ASSERT(size == 0 || count <= SIZE_MAX / 4 / size, "%zu elements of %zu bytes", count,
                size);
    return keep(count * size == 0 ? 1 : count * size)->of.memory;
}

void *dsgd_keep_more(void *memory, size_t count, size_t size)
{
    if (memory == NULL)
        return dsgd_keep(count, size);
    const kept *const k = (const kept *)(void *)((char *)memory - offsetof(kept, of));
    if (size == 0 || count <= k->bytes / size)
        return memory;
    const size_t twice = 2 * k->bytes / size;
    return memcpy(dsgd_keep(count > twice ? count : twice, size), memory, k->bytes);
}

void dsgd_keep_for(void (*end)(void *what), void *what)
{
    kept *const k = keep(0);
    k->of.ending.end = end;
    k->of.ending.what = what;
}

void *dsgd_mark(void)
{
    return newest;
}

void dsgd_drop(void *mark)
{
    for (kept *k = newest; k != mark; k = newest) {
        newest = k->before;
        if (k->bytes == 0)
            k->of.ending.end(k->of.ending.what);
        free(k);
    }
}

char *dsgd_xstrdup(const char *text)
{
    return text == NULL ? NULL : memcpy(dsgd_keep(strlen(text) + 1, 1), text, strlen(text) + 1);
}

bool dsgd_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), tail = strlen(end);
    return n >= tail && strcmp(text + n - tail, end) == 0;
}

char *dsgd_xvprintf(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *const text = dsgd_keep((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *dsgd_xprintf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    return text;
}

FILE *dsgd_text_open(char **text, size_t *length)
{
    return or_die(open_memstream(text, length));
}

void dsgd_text_flush(FILE *stream)
{
    if (fflush(stream) != 0 || ferror(stream))
        dsgd_no_memory();
}

void dsgd_text_close(FILE *stream, char *const *text)
{
    const bool is_whole = !ferror(stream);
    /* if memory runs out in fclose(), glibc loses the text without an error */
    if (fclose(stream) != 0 || !is_whole || *text == NULL)
        dsgd_no_memory();
    dsgd_keep_for(free, *text);
}

void dsgd_append(char **text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t n = strlen(*text), more = (size_t)vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = dsgd_keep_more(*text, n + more + 1, 1);
    vsnprintf(*text + n, more + 1, format, arguments);
    va_end(arguments);
}

char *dsgd_shell_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=+@%";
    if (*text != '\0' && strspn(text, plain) == strlen(text))
        return dsgd_xstrdup(text);
    char *word = dsgd_xstrdup("'");
    for (; *text != '\0'; text++)
        dsgd_append(&word, *text == '\'' ? "'\\''" : "%c", *text);
    dsgd_append(&word, "'");
    return word;
}

void dsgd_append_word(char **text, const char *word)
{
    dsgd_append(text, " %s", dsgd_shell_word(word));
}

char *dsgd_shell_command(size_t n, char *const *words)
{
    char *command = dsgd_xstrdup(words[0]);
    for (size_t i = 1; i < n; i++)
        dsgd_append_word(&command, words[i]);
    return command;
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

static const char *required_of = "?";

void dsgd_require_of(const char *name)
{
    required_of = name;
}

void dsgd_require_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "dsgd: algorithm %s: ", required_of);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
