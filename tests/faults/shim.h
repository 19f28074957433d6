/**
 * @file shim.h
 * What the preloaded shim (shim.c) and the process that watches it (inject.c) share.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/** Calls that fail in the shim, because no system call stands for them. */
enum { SHIM_MALLOC, SHIM_CLOSE, SHIM_FCLOSE, SHIM_CALLS };

enum { SHIM_MOST_SITES = 1 << 16 };

/** A file that both map; its path is in $DSGD_FAULTS. */
typedef struct shim_shared {
    int call; /* SHIM_CALLS: none fails */
    long at; /* which call fails, from 1, over all processes; 0: none */
    uint64_t site; /* of SHIM_MALLOC: the stack whose first call fails; 0: none */
    int finds_sites; /* whether stacks of allocations are looked for */
    _Atomic long counts[SHIM_CALLS];
    _Atomic long n_hits;
    _Atomic uint64_t sites[SHIM_MOST_SITES]; /* a hash table of stacks that were seen */
} shim_shared;

/** getpgid() of this process, which there is not: main() is about to begin. */
enum { SHIM_MARK = 0x7fffd56d };
