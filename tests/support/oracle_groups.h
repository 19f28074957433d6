/**
 * @file oracle_groups.h
 * Emulations in lock-step, as in tests/support/oracle.h, of three kinds of algorithms. In gradient
 * tracking and D2, workers correct the difference from their neighbours. In hierarchical local SGD,
 * workers average in groups. In Streaming DiLoCo, workers average fragment by fragment.
 */
#pragma once

#include "tests/support/oracle.h"

/**
 * Emulates gradient tracking and D2. The local step changes a model by u, c is the correction, and
 * W is the mixing matrix [P][P].
 *
 *     Tracking computes x <- W (x + u + c), and then c <- W (c + u) - u.
 *     D2 computes x' = W (x + u + c), and then c <- x' - x - u and x <- x'.
 */
void oracle_gradient_tracking(const oracle_problem *p, const double *mixing, bool d2, double *x);

/**
 * A level of a hierarchy: groups of consecutive ranks that average their models once per period.
 */
typedef struct oracle_level {
    long period;
    int group;
} oracle_level;

/** Options of hierarchical local SGD. */
typedef struct oracle_hierarchy {
    /* levels of the hierarchy; the periods and the sizes of groups grow from level to level */
    const oracle_level *level;
    int n_levels;
    /*
     * number of consecutive ranks that average their gradients in every step, or 1 if no ranks do
     * so
     */
    int machine;
    /**
     * If true, the highest level uses older models: the models of its groups at its previous
     * averaging. Each group then adds the mean of all these models minus its own model at that
     * time.
     */
    bool delayed;
} oracle_hierarchy;
/**
 * Emulates hierarchical local SGD. After step t, a level is due if (t + 1) mod period = 0. Only the
 * highest due level averages models. The last group may be smaller than the others.
 */
void oracle_hierarchical(const oracle_problem *p, oracle_hierarchy h, double *x);

/** Options of Streaming DiLoCo. */
typedef struct oracle_streaming_options {
    /*
     * fragment number of each parameter, [n] entries; each entry is below the number of fragments
     */
    const size_t *fragment;
    size_t fragments; /* number of fragments, F */
    /* number of steps in which each fragment is exchanged once, H, which is a multiple of F */
    long period;
    long delay; /* number of steps that an exchange takes, tau, which is less than H / F */
    double mixing; /* share of the local model that a worker keeps, alpha */
    /* learning rate and Nesterov momentum of the outer step, as in oracle_diloco() */
    double outer_lr, outer_momentum;
} oracle_streaming_options;
/**
 * Emulates Streaming DiLoCo. All workers must start with the same model.
 * @param global output: the global model, [n], or NULL if the caller does not need it
 */
void oracle_streaming_diloco(const oracle_problem *p, oracle_streaming_options options,
                             double *global, double *x);
