/**
 * @file lockstep.h
 * Common parts of the emulations in which all workers advance in lock-step
 * (tests/support/oracle*.h).
 */
#pragma once

#include "tests/support/oracle.h"

/**
 * The state that every emulation in lock-step has: the models, their momentum and their gradients.
 */
typedef struct lockstep {
    const oracle_problem *p;
    size_t count; /* number of values of all models, workers * n */
    double *x; /* models, in the caller's array [workers][n] */
    double *v; /* momentum of each worker, [workers][n] */
    double *g; /* gradients of the current step, [workers][n] */
} lockstep;

/** Aborts with the message @p what if the condition @p holds is false. */
void lockstep_require(bool holds, const char *what);
double *lockstep_zeros(size_t n);

/**
 * Starts an emulation: sets @p x to the initial models. The arrays v and g live until the test
 * ends.
 */
lockstep lockstep_begin(const oracle_problem *p, double *x);
/**
 * Aborts unless all workers start with the same model. Algorithms with one outer model for all
 * workers need this condition.
 */
void lockstep_require_one_start(const oracle_problem *p);

/** Returns true if (step + 1) mod period = 0. If period is 0, the result is always false. */
bool lockstep_due(long step, long period);

/** Computes the gradient of every worker at the worker's row of `at`. */
void lockstep_gradients(lockstep *s, long step, const double *at);
/** Makes the local step of every worker with the gradients in g. */
void lockstep_descend(lockstep *s);
/** Computes the gradients at the current models, and makes the local step of every worker. */
void lockstep_step(lockstep *s, long step);

/**
 * Returns the index of the first parameter in piece k of K: n k / K, rounded to the nearest integer
 * (halves are rounded up).
 */
size_t lockstep_cut(size_t n, size_t k, size_t pieces);

/** Sets @p mean [n] to the mean of the workers' rows of @p a [workers][n]. */
void lockstep_mean_of(const oracle_problem *p, const double *a, double *mean);
/** Copies @p row [n] to each row of @p a [workers][n]. */
void lockstep_set_all(const oracle_problem *p, const double *row, double *a);
void lockstep_average(const oracle_problem *p, double *a);
/** Multiplies the matrix a [workers][n] by the matrix of weights W: a <- W a. */
void lockstep_mix(int workers, size_t n, const double *weights, double *a);
