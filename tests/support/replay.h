/**
 * @file replay.h
 * Sets step times that a test chooses, so that some workers are late. Makes pairs of a simulated
 * case and an emulation with the same step times.
 */
#pragma once

#include "tests/support/arrivals.h"
#include "tests/support/support.h"

/**
 * Sets the time of step t of worker w to seconds[t mod rows][w]. Writes the times to a new file,
 * and stores the name of that file in @p file.
 */
void support_replay(support_case *c, const double *seconds, int rows, char file[64]);

enum { REPLAY_MOST_WORKERS = 16, REPLAY_ROWS = 40, REPLAY_N = 33 };

/**
 * A simulated case with uneven step times, and an emulation problem with the same times. The caller
 * must delete the file of step times.
 */
typedef struct support_pair {
    support_case *c;
    emulation_problem problem;
    emulation_result result; /* results of an emulation of tests/support/emulation.h */
    arrivals_result arrived; /* results of an emulation of tests/support/arrivals.h; result and
                              * arrived share the arrays x and center */
    double initial[REPLAY_N], center[REPLAY_N], x[REPLAY_MOST_WORKERS * REPLAY_N];
    double seconds[REPLAY_ROWS * REPLAY_MOST_WORKERS];
    char file[64];
} support_pair;

/**
 * Makes a pair with weight decay. Each message has one byte and takes a microsecond. The caller
 * must set the end of the run.
 */
support_pair *support_pair_new(const char *algorithm, int workers, long pieces);

/** Sets the same learning rate in the simulated case and in the emulation problem. */
void support_pair_lr(support_pair *t, double lr);
