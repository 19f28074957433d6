/**
 * @file oracle_groups.h
 * Emulations in lock-step, as in tests/support/oracle.h, of three kinds of algorithms: workers
 * correct the difference from their neighbours, workers average in groups, or workers average
 * fragment by fragment.
 */
#pragma once

#include "tests/support/oracle.h"

/**
 * Emulates gradient tracking and D2. The local step changes a model by u, and W is the mixing
 * matrix [P][P]:
 *
 *     tracking: x <- W (x + u + c), c <- W (c + u) - u;
 *     D2:       x' = W (x + u + c), c <- x' - x - u, x <- x'.
 */
void oracle_gradient_tracking(const oracle_problem *p, const double *mixing, bool d2, double *x);

/** Groups of consecutive ranks that average their models once per period. */
typedef struct oracle_level {
    long period;
    int group;
} oracle_level;

/** Options of hierarchical local SGD. */
typedef struct oracle_hierarchy {
    const oracle_level *level; /* levels, with growing periods and groups */
    int n_levels;
    int machine; /* consecutive ranks that average their gradients in every step; 1: none */
    /**
     * If true, the highest level takes the mean of older models: the models of the groups below at
     * the last time that it was due. Each group then adds the difference between its model now and
     * its model at that time.
     */
    bool delayed;
} oracle_hierarchy;
/**
 * Emulates hierarchical local SGD. After step t a period is due if (t + 1) mod period = 0. Only the
 * models of the largest due period are averaged. The last group may be smaller than the others.
 */
void oracle_hierarchical(const oracle_problem *p, oracle_hierarchy h, double *x);

/** Options of Streaming DiLoCo. */
typedef struct oracle_streaming_options {
    const size_t *fragment; /* [n]: fragment of each parameter, less than fragments */
    size_t fragments; /* number of fragments F */
    long period; /* H, a multiple of F */
    long delay; /* tau < H / F */
    double mixing; /* alpha: share of the local model that is kept */
    double outer_lr, outer_momentum; /* Nesterov, as in oracle_diloco() */
} oracle_streaming_options;
/**
 * Emulates Streaming DiLoCo. All workers must start with the same model.
 * @param global [n], output: the global copies; may be NULL
 */
void oracle_streaming_diloco(const oracle_problem *p, oracle_streaming_options options,
                             double *global, double *x);
