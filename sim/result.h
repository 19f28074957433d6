/**
 * @file result.h
 * The result of a run.
 */
#pragma once

#include "base/status.h"
#include "models/values/values.h"
#include "sim/network/cluster.h"

enum { DSGD_MOST_AGES = 4096, DSGD_MOST_STEP_TIMES = 4096 };

typedef enum dsgd_outcome {
    DSGD_RUN_OK,
    DSGD_RUN_DIVERGED,
    DSGD_RUN_TIMEOUT,
    DSGD_RUN_FAILED
} dsgd_outcome;

/**
 * Shares of a worker's time. compute, wait and communicate sum to 1. Communication that overlaps
 * with computation counts as computation. `lost` is the time of computations that were cancelled;
 * it is part of `wait`.
 */
typedef struct dsgd_time_shares {
    double compute, wait, communicate, lost;
} dsgd_time_shares;

/** Flags for the methods that timed messages. (The table in sim/README.md describes them.) */
enum {
    DSGD_TIMED_BY_SIMGRID = 1, /* a run has at most one of the first two flags */
    DSGD_TIMED_BY_FLOWS = 2,
    DSGD_TIMED_BY_ARITHMETIC = 4 /* times by formulas, not by simulation */
};

/**
 * Returns "simgrid", "flows", "arithmetic", "flows+arithmetic", ..., or "none" without messages.
 */
const char *dsgd_timed_by_name(unsigned timed_by);

/**
 * A histogram of ages: share[i] is the share of uses with age i. The last possible bin also counts
 * all greater ages.
 */
typedef struct dsgd_ages {
    size_t n; /* number of bins, at most DSGD_MOST_AGES */
    double *share; /* [n] */
} dsgd_ages;

/**
 * A bin of the histogram of step times. A step time lasts from the start of a worker's step to the
 * start of its next step. Bins are 1/64 of a power of two wide, contain at least one step, and are
 * sorted by time.
 */
typedef struct dsgd_step_bin {
    double step_s; /* mean time of the steps in the bin */
    double share; /* share of all steps */
} dsgd_step_bin;

typedef struct dsgd_step_times {
    size_t n; /* number of bins, at most DSGD_MOST_STEP_TIMES */
    dsgd_step_bin *bin; /* [n] */
} dsgd_step_times;

/** Largest number of failures that a result lists. */
enum { DSGD_MOST_LISTED = 10000 };

/**
 * The cost of failures, as a share of the time of all workers or as a mean over workers. NAN if no
 * failure can happen, or if the policy does nothing about failures.
 */
typedef struct dsgd_failure_times {
    int64_t n;
    struct dsgd_failed {
        double worker; /* rank; the first rank if several workers fail together */
        double at_s;
    } * listed; /* [n] failures, at most DSGD_MOST_LISTED */
    double goodput; /* share of the time that is none of the following */
    double lost_s; /* time of work that is repeated */
    double detect_s, repair_s, restart_s, checkpoint_s;
    /*
     * Number of failures, among n, of peers whose stage continued, and number of peers that moved
     * to another stage. NAN if peers neither fail nor move.
     */
    double outlived, moves;
    /*
     * Daly's interval: work time between two checkpoints that minimises the loss; NAN if there is
     * none
     */
    double daly_s;
} dsgd_failure_times;

/** Times are virtual, except *_wall_s. NAN means that a number was not measured in this run. */
typedef struct dsgd_run_result {
    int outcome; /* dsgd_outcome */
    dsgd_error why; /* where the run diverged, or why it failed; else a note, or empty */
    double virtual_s;
    double steps; /* gradient steps of all workers / P */
    double samples, learn_samples;
    dsgd_failure_times failures;
    /* means over workers; accounting.c says how steps under way count */
    double samples_per_s, step_mean_s;
    dsgd_step_times step_times;
    /* part of step_mean_s between passes or after the end of the computation */
    double exposed_mean_s;
    dsgd_time_shares shares; /* mean over workers */
    dsgd_time_shares *worker_shares; /* [workers] */
    double *worker_steps; /* [workers] */
    int n_lanes; /* number of hosts of a worker */
    /* [workers][n_lanes] places of the workers' hosts, in the platform's natural order */
    int *worker_places;

    double staleness_mean, staleness_max; /* staleness in local steps of the owner and the user */
    dsgd_ages ages; /* histogram of the staleness */
    /* lag in iterations of the user, or in versions of a partial collective */
    double lag_mean, lag_max;
    /*
     * Staleness of gradients in updates of the model; for pushes to a server, in pushes of other
     * workers.
     */
    double gradient_staleness_mean, gradient_staleness_max;
    /* histogram; a sum of several workers' gradients counts with its mean age */
    dsgd_ages gradient_ages;

    /* number of contributions that arrived too late to be used: dsgd_message_drop() */
    uint64_t dropped;
    uint64_t messages;
    double bytes;
    unsigned timed_by; /* DSGD_TIMED_BY_*: the methods that timed a message of this run */
    double inner_bytes; /* bytes between hosts of the same worker, for all workers together */
    /* share of the computation time in which a pipeline stage waits; NAN without a pipeline */
    double bubble_share;
    int n_stages; /* stages of a worker; 0 if a worker is one host */
    /* [workers][n_stages] mean slowness, relative to the reference GPU without random draws */
    double *stage_slowness;
    int *stage_place; /* [workers][n_stages] place of the stage's slowest host */
    /* mean and maximum over workers, without bytes that servers send */
    double sent_mean_bytes, sent_max_bytes;
    size_t n_pieces; /* chunks per vector */
    double piece_bytes; /* size of the largest chunk */
    /* dsgd_collective that carried the largest vector; AUTO if no collective did. */
    int collective, partial_collective;
    double partial_active_mean; /* mean number of fresh contributions per partial collective */
    /*
     * Number of sums that workers missed because a later sum had overwritten them, and of sums that
     * workers used again because no later sum had arrived since their last step. Both count whole
     * vectors, over all workers.
     */
    double partial_skipped, partial_duplicates;

    size_t n_points;
    /* [n_points] evaluations, the first at time 0; none if nothing is learned */
    dsgd_point *points;
    /* Evaluations of the workers' own models at the end. */
    double local_loss, local_accuracy, local_accuracy_min;

    /* Lower bounds of virtual_s. */
    double ideal_s; /* time of the computations only */
    /*
     * Largest quotient of bytes that arrived and bandwidth, over NICs and links into islands; NAN
     * for XML.
     */
    double link_s;
    /* cost of the bytes that left regions, in the currency of the platform's prices */
    double transfer_cost;

    size_t n_loads;
    /* [n_loads] bytes per link, if config->loads asks for them; idle links may be missing */
    dsgd_load *loads;

    /* memory blocks at the end of the run; must not grow with the number of steps */
    size_t n_blocks_kept;
    double timing_wall_s, total_wall_s;
    dsgd_values_stats numerics;
    const char *device; /* name of the device that computed values, or "off" without numerics */
} dsgd_run_result;
