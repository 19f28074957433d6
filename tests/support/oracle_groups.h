/**
 * @file oracle_groups.h
 * Emulations in lock-step, as in tests/support/oracle.h, of algorithms whose workers correct the
 * neighbours' difference, or meet in groups, or fragment by fragment.
 */
#pragma once

#include "tests/support/oracle.h"

/**
 * Gradient tracking and D2. The local step's move is u; then, W the mixing [P][P],
 *     tracking: x <- W (x + u + c), c <- W (c + u) - u;
 *     D2:       x' = W (x + u + c), c <- x' - x - u, x <- x'.
 */
void oracle_gradient_tracking(const oracle_problem *p, const double *mixing, bool d2, double *x);

/** Groups of consecutive ranks that average their models now and then. */
typedef struct oracle_level {
    long period;
    int group;
} oracle_level;

/** Hierarchical local SGD. */
typedef struct oracle_hierarchy {
    const oracle_level *level; /* periods and groups grow */
    int n_levels;
    int machine; /* so many consecutive ranks average their gradients in every step; 1: none */
    /**
     * At the highest level the mean is of the models that groups of the level below had when it was
     * last due; what a group's model differed from it then is added to its model now.
     */
    bool delayed;
} oracle_hierarchy;
/**
 * After step t a period is due where (t + 1) mod period = 0. Models of the largest period that is
 * due are averaged, no others. A last group may be smaller.
 */
void oracle_hierarchical(const oracle_problem *p, oracle_hierarchy h, double *x);

/** Streaming DiLoCo. */
typedef struct oracle_streaming_options {
    const size_t *fragment; /* [n]: of each parameter, below fragments */
    size_t fragments; /* F */
    long period; /* H, a multiple of F */
    long delay; /* tau < H / F */
    double mixing; /* alpha: what is kept of the local model */
    double outer_lr, outer_momentum; /* Nesterov, as in oracle_diloco() */
} oracle_streaming_options;
/** All workers must start alike. @param global [n], out: the global copies; may be NULL */
void oracle_streaming_diloco(const oracle_problem *p, oracle_streaming_options options,
                             double *global, double *x);
