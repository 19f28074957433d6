/**
 * @file replay.h
 * Step times that a test chooses, for late workers, and pairs of a simulated case and an emulation
 * with the same step times.
 */
#pragma once

#include "tests/support/arrivals.h"
#include "tests/support/support.h"

/**
 * Gives step t of worker w the time seconds[t mod rows][w]. Writes the times to a file, and the
 * name of the file to @p file.
 */
void support_replay(support_case *c, const double *seconds, int rows, char file[64]);

enum { REPLAY_MOST_WORKERS = 16, REPLAY_ROWS = 40, REPLAY_N = 33 };

/**
 * A case on uneven step times, and an emulation problem with the same times. The caller unlinks the
 * file.
 */
typedef struct support_pair {
    support_case *c;
    emulation_problem problem;
    emulation_result result; /* results of an emulation in emulation.h */
    arrivals_result arrived; /* results in arrivals.h; both results use x and center below */
    double initial[REPLAY_N], center[REPLAY_N], x[REPLAY_MOST_WORKERS * REPLAY_N];
    double seconds[REPLAY_ROWS * REPLAY_MOST_WORKERS];
    char file[64];
} support_pair;

/**
 * Makes a pair with weight decay and messages of one byte, which take a microsecond each. The
 * caller sets the end of the run.
 */
support_pair *support_pair_new(const char *algorithm, int workers, long pieces);

/** Sets the learning rate of the case and of the problem. */
void support_pair_lr(support_pair *t, double lr);
