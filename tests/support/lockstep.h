/**
 * @file lockstep.h
 * What the emulations in lock-step are made of (tests/support/oracle.h and its neighbours).
 */
#pragma once

#include "tests/support/oracle.h"

/** The models and what else every emulation has. */
typedef struct lockstep {
    const oracle_problem *p;
    size_t count; /* workers * n */
    double *x; /* the caller's [workers][n] */
    double *v; /* momentum */
    double *g; /* gradients of this step */
} lockstep;

/** Aborts with a sentence. */
void lockstep_require(bool holds, const char *what);
double *lockstep_zeros(size_t n);

/** x <- the initial models; v and g last as long as the test. */
lockstep lockstep_begin(const oracle_problem *p, double *x);
/** For algorithms whose outer state is one model for all. */
void lockstep_require_one_start(const oracle_problem *p);

/** (step + 1) mod period = 0; period 0: never. */
bool lockstep_due(long step, long period);

/** Everybody's gradient at its model in `at`. */
void lockstep_gradients(lockstep *s, long step, const double *at);
/** Everybody's local step by g. */
void lockstep_descend(lockstep *s);
/** Both. */
void lockstep_step(lockstep *s, long step);

/** The first of n parameters in piece k of K: n k / K, to the next whole number, halves up. */
size_t lockstep_cut(size_t n, size_t k, size_t pieces);

/** The mean of the workers' rows of a. */
void lockstep_mean_of(const oracle_problem *p, const double *a, double *mean);
/** Copies one row to all. */
void lockstep_set_all(const oracle_problem *p, const double *row, double *a);
void lockstep_average(const oracle_problem *p, double *a);
/** a <- W a for a [workers][n]. */
void lockstep_mix(int workers, size_t n, const double *weights, double *a);
