/**
 * @file inject.h
 * Runs the program while one of its calls fails. A seccomp filter hands the system calls of the
 * table to this process, which answers the n-th of one kind with an error and lets all others go
 * on: so the writes that stdio makes itself fail, too, which no preloaded function sees. What no
 * system call stands for fails in the preloaded shim.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/faults/shim.h"

/** A way in which a call fails: an errno, or: */
enum {
    INJECT_SHORT = -1, /* half of the bytes are read or written */
    INJECT_SITES = -2, /* allocations by the stacks that they come from */
    INJECT_MOST_WAYS = 5,
    INJECT_MOST_CALLS = 40
};

/** A row of the table: a call, its numbers, and how it fails (0 behind the last). */
typedef struct inject_call {
    const char *name;
    long numbers[4]; /* -1: none; the first is -1: the shim's, numbers[1] */
    int ways[INJECT_MOST_WAYS];
    char names; /* what the label says: 'd': the file of descriptor 0; '0', '1': path in argument 0,
                   1 */
} inject_call;

extern const inject_call inject_calls[];
extern const size_t inject_n_calls;

typedef struct inject_fault {
    size_t call; /* in the table; inject_n_calls: none, all are counted */
    int way;
    long n; /* which call, from 1 */
    uint64_t site; /* of INJECT_SITES */
} inject_fault;

typedef struct inject_command {
    const char *folder; /* where it runs; tmp/ in it is its TMPDIR */
    const char *const *words; /* NULL behind the last; the first is the program */
    const char *out, *err; /* files for its output, in the folder */
    bool finds_sites;
} inject_command;

typedef struct inject_result {
    bool cannot; /* this kernel does not let a process watch another one */
    bool hit; /* the call came */
    bool hangs; /* it was ended after INJECT_LIMIT_S */
    int n_left; /* processes that outlived it */
    int state; /* as of waitpid() */
    long counts[INJECT_MOST_CALLS]; /* of each call */
    char where[160]; /* what failed: the file, and the process */
    bool on_stderr; /* it was a write to standard error */
} inject_result;

enum { INJECT_LIMIT_S = 60 };

/** @p shared: where the shim's map is; its sites are left in it. */
void inject_run(const inject_command *command, const inject_fault *fault, shim_shared *shared,
                const char *shared_path, inject_result *result);

/** A map in a file at @p path; NULL: it cannot be made. */
shim_shared *inject_share(const char *path);

/** errno's name, "short" or "site". */
const char *inject_way_name(int way);
