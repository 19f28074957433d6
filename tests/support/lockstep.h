/**
 * @file lockstep.h
 * Common parts of the emulations in lock-step (tests/support/oracle.h and its neighbours).
 */
#pragma once

#include "tests/support/oracle.h"

/** The state that every emulation has: the models, their momentum and their gradients. */
typedef struct lockstep {
    const oracle_problem *p;
    size_t count; /* workers * n */
    double *x; /* the caller's [workers][n] */
    double *v; /* [workers][n]: momentum */
    double *g; /* [workers][n]: gradients of this step */
} lockstep;

/** Aborts with the message @p what unless @p holds. */
void lockstep_require(bool holds, const char *what);
double *lockstep_zeros(size_t n);

/** Sets x to the initial models. v and g live as long as the test. */
lockstep lockstep_begin(const oracle_problem *p, double *x);
/**
 * Aborts unless all workers start with the same model. Algorithms whose outer state is one model
 * for all workers call it.
 */
void lockstep_require_one_start(const oracle_problem *p);

/** Returns true if (step + 1) mod period = 0. With period 0 it always returns false. */
bool lockstep_due(long step, long period);

/** Computes the gradient of every worker at its model in `at`. */
void lockstep_gradients(lockstep *s, long step, const double *at);
/** Makes the local step of every worker with its gradient in g. */
void lockstep_descend(lockstep *s);
/** Computes the gradients at the models and makes the local step of every worker. */
void lockstep_step(lockstep *s, long step);

/**
 * Returns the first of n parameters in piece k of K: n k / K, rounded to the nearest integer,
 * halves up.
 */
size_t lockstep_cut(size_t n, size_t k, size_t pieces);

/** Sets @p mean to the mean of the workers' rows of a. */
void lockstep_mean_of(const oracle_problem *p, const double *a, double *mean);
/** Copies one row to all rows. */
void lockstep_set_all(const oracle_problem *p, const double *row, double *a);
void lockstep_average(const oracle_problem *p, double *a);
/** Computes a <- W a for a [workers][n]. */
void lockstep_mix(int workers, size_t n, const double *weights, double *a);
