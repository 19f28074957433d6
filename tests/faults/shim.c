/**
 * @file shim.c
 * For LD_PRELOAD: tells the process that watches when main() begins, and fails allocations, close()
 * and fclose(), which no system call stands for: a close that fails has closed all the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/shim.h"

static shim_shared *shared; /* NULL: not the program that is tested, or too early */
static _Thread_local int inside; /* of this file: what it calls itself is not counted */

/** The function of that name behind this one. */
static void find(void *function, const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static int is_next(int call)
{
    if (shared == NULL || inside)
        return 0;
    const long n = atomic_fetch_add(&shared->counts[call], 1) + 1;
    if (shared->call != call || shared->at != n)
        return 0;
    atomic_fetch_add(&shared->n_hits, 1);
    return 1;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

/** What dlsym() allocates before the functions are found. */
static char early[1 << 14];
static size_t n_early;

static void *allocate_early(size_t n)
{
    void *const memory = early + n_early;
    n_early += (n + 31) / 32 * 32;
    return n_early > sizeof early ? NULL : memory;
}

static int find_memory(void)
{
    static int begun;
    if (real_free != NULL)
        return 1;
    if (begun++ > 0)
        return 0;
    find(&real_malloc, "malloc");
    find(&real_calloc, "calloc");
    find(&real_realloc, "realloc");
    find(&real_free, "free");
    return 1;
}

/** Whether this stack is seen for the first time; addresses are the same in each run. */
static int is_new_site(uint64_t *site)
{
    enum { DEPTH = 8 };
    void *stack[DEPTH + 2];
    inside++;
    const int n = backtrace(stack, DEPTH + 2);
    inside--;
    uint64_t hash = 1469598103934665603u;
    for (int i = 2; i < n; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)stack[i]) * 1099511628211u;
    *site = hash | 1;
    for (uint64_t k = hash % SHIM_MOST_SITES;; k = (k + 1) % SHIM_MOST_SITES) {
        uint64_t old = 0;
        if (atomic_compare_exchange_strong(&shared->sites[k], &old, *site))
            return 1;
        if (old == *site)
            return 0;
    }
}

static int fails_to_allocate(void)
{
    if (shared == NULL || inside)
        return 0;
    uint64_t site = 0;
    const int is_site = shared->finds_sites && is_new_site(&site) && site == shared->site;
    const int fails = is_next(SHIM_MALLOC) || is_site;
    if (is_site)
        atomic_fetch_add(&shared->n_hits, 1);
    if (fails)
        errno = ENOMEM;
    return fails;
}

void *malloc(size_t n)
{
    if (!find_memory())
        return allocate_early(n);
    return fails_to_allocate() ? NULL : real_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (!find_memory())
        return allocate_early(n * size);
    return fails_to_allocate() ? NULL : real_calloc(n, size);
}

void *realloc(void *memory, size_t n)
{
    find_memory();
    return fails_to_allocate() ? NULL : real_realloc(memory, n);
}

void free(void *memory)
{
    const char *const byte = memory;
    if (byte >= early && byte < early + sizeof early)
        return;
    if (find_memory())
        real_free(memory);
}

/* --- files ------------------------------------------------------------------------------------ */

int close(int descriptor)
{
    if (!is_next(SHIM_CLOSE))
        return (int)syscall(SYS_close, descriptor);
    syscall(SYS_close, descriptor);
    errno = EIO;
    return -1;
}

int fclose(FILE *stream)
{
    static int (*real)(FILE *);
    if (real == NULL)
        find(&real, "fclose");
    const int fails = is_next(SHIM_FCLOSE);
    const int status = real(stream);
    if (!fails)
        return status;
    errno = ENOSPC;
    return EOF;
}

/* --- the beginning ---------------------------------------------------------------------------- */

__attribute__((constructor)) static void begin(void)
{
    const char *const path = getenv("DSGD_FAULTS");
    void *stack[2];
    if (path == NULL || strcmp(program_invocation_short_name, "dsgd") != 0)
        return;
    backtrace(stack, 2); /* loads what it needs */
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    void *const memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    syscall(SYS_getpgid, SHIM_MARK);
    if (memory != MAP_FAILED)
        shared = memory;
}
