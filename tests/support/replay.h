/**
 * @file replay.h
 * Step times of a test's own, for workers that are late, and cases beside an emulation on them.
 */
#pragma once

#include "tests/support/arrivals.h"
#include "tests/support/support.h"

/** Step t of worker w takes seconds[t mod rows][w], which a file says; its name goes to @p file. */
void support_replay(support_case *c, const double *seconds, int rows, char file[64]);

enum { REPLAY_MOST_WORKERS = 16, REPLAY_ROWS = 40, REPLAY_N = 33 };

/**
 * A case on uneven step times, and the same for an emulation. Its file is the caller's to unlink.
 */
typedef struct support_pair {
    support_case *c;
    emulation_problem problem;
    emulation_result result; /* of emulation.h */
    arrivals_result arrived; /* of arrivals.h; both have x and center, below */
    double initial[REPLAY_N], center[REPLAY_N], x[REPLAY_MOST_WORKERS * REPLAY_N];
    double seconds[REPLAY_ROWS * REPLAY_MOST_WORKERS];
    char file[64];
} support_pair;

/** With weight decay, messages of a byte, a microsecond each, and no end, which is the caller's. */
support_pair *support_pair_new(const char *algorithm, int workers, long pieces);

/** Another learning rate, of both. */
void support_pair_lr(support_pair *t, double lr);
