/**
 * @file result.h The result of a run.
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
 * Shares of a worker's time. The sum of compute, wait and communicate is 1. Communication that
 * overlaps with computation counts as computation. `lost` is the time of computations that were
 * cancelled; it is a part of `wait`.
 */
typedef struct dsgd_time_shares {
    double compute, wait, communicate, lost;
} dsgd_time_shares;

/**
 * Flags for the methods that computed the times of messages. A table in sim/README.md describes the
 * methods.
 */
enum {
    DSGD_TIMED_BY_SIMGRID = 1, /* a simulation computed times; a run has at most one of the flags
                                * SIMGRID and FLOWS */
    DSGD_TIMED_BY_FLOWS = 2,
    /* formulas, not a simulation, computed times */
    DSGD_TIMED_BY_ARITHMETIC = 4
};

/**
 * Returns the name of a set of flags: "simgrid", "flows", "arithmetic", "flows+arithmetic", ...;
 * "none" if there were no messages.
 */
const char *dsgd_timed_by_name(unsigned timed_by);

/**
 * A histogram of ages. share[i] is the share of used values with age i. Bin DSGD_MOST_AGES - 1 also
 * counts all larger ages.
 */
typedef struct dsgd_ages {
    size_t n; /* number of bins, at most DSGD_MOST_AGES */
    double *share; /* [n] share of each bin */
} dsgd_ages;

/**
 * A bin of the histogram of step times. A step time lasts from the start of a worker's step to the
 * start of its next step. The width of a bin is 1/64 of a power of two. Each bin contains at least
 * one step, and bins are sorted by time.
 */
typedef struct dsgd_step_bin {
    double step_s; /* mean time of the steps in the bin */
    double share; /* number of steps in the bin, as a share of all steps */
} dsgd_step_bin;

typedef struct dsgd_step_times {
    size_t n; /* number of bins, at most DSGD_MOST_STEP_TIMES */
    dsgd_step_bin *bin; /* [n] bins, sorted by time */
} dsgd_step_times;

/** Largest number of failures that a result lists. */
enum { DSGD_MOST_LISTED = 10000 };

/**
 * The cost of failures. Times are means over workers. NAN means that no failure can happen, or that
 * the policy does nothing about failures.
 */
typedef struct dsgd_failure_times {
    int64_t n;
    struct dsgd_failed {
        /* rank of the failed worker; the lowest rank if several workers fail together */
        double worker;
        double at_s;
    } * listed; /* [n] failures, at most DSGD_MOST_LISTED */
    double goodput; /* share of the time that remains without all following times */
    double lost_s; /* time of work that is repeated, or whose result is lost */
    double detect_s, repair_s, restart_s, checkpoint_s;
    /*
     * Number of failures of peers whose stage continued (they are counted in n, too), and number of
     * moves of peers to another stage. NAN if peers neither fail nor move.
     */
    double outlived, moves;
    /*
     * Daly's interval: the work time between two checkpoints that minimises the loss. NAN if no
     * such interval exists.
     */
    double daly_s;
} dsgd_failure_times;

/**
 * The result of a run. Times are virtual, except members *_wall_s. NAN means that a number was not
 * measured in this run.
 */
typedef struct dsgd_run_result {
    int outcome; /* outcome of the run, of type dsgd_outcome */
    /*
     * step at which the run diverged, or reason why it failed; in other runs, a note or an empty
     * text
     */
    dsgd_error why;
    double virtual_s;
    double steps; /* number of gradient steps of all workers, divided by P */
    double samples, learn_samples;
    dsgd_failure_times failures;
    /*
     * Samples per second of all workers, and mean time of a step. accounting.c describes the way in
     * which unfinished steps count.
     */
    double samples_per_s, step_mean_s;
    dsgd_step_times step_times;
    /*
     * part of step_mean_s that is not computation: time between passes, and time after the end of
     * the computation
     */
    double exposed_mean_s;
    dsgd_time_shares shares; /* shares of time, as means over workers */
    dsgd_time_shares *worker_shares; /* [workers] shares of each worker's time */
    double *worker_steps; /* [workers] number of steps of each worker */
    int n_lanes; /* number of hosts of a worker */
    /* [workers][n_lanes] positions of the workers' hosts among the platform's hosts */
    int *worker_places;

    /* staleness of used values, in local steps of the owner and the user */
    double staleness_mean, staleness_max;
    dsgd_ages ages; /* histogram of the staleness of used values */
    /* lag of used values, in iterations of the user, or in versions of a partial collective */
    double lag_mean, lag_max;
    /*
     * Staleness of gradients, in updates of the model. For pushes to a server it is the number of
     * pushes of other workers.
     */
    double gradient_staleness_mean, gradient_staleness_max;
    /*
     * histogram of the staleness of gradients; a sum of several workers' gradients counts with its
     * mean age
     */
    dsgd_ages gradient_ages;

    /* number of contributions that arrived too late and were dropped: dsgd_message_drop() */
    uint64_t dropped;
    uint64_t messages;
    double bytes;
    /* methods that computed the times of messages in this run: flags DSGD_TIMED_BY_* */
    unsigned timed_by;
    double inner_bytes; /* bytes between hosts of the same worker, summed over all workers */
    /* share of the computation time in which pipeline stages are idle; NAN without a pipeline */
    double bubble_share;
    int n_stages; /* number of pipeline stages of a worker; 0 if a worker is one host */
    /*
     * [workers][n_stages] mean slowness of each stage, relative to the reference GPU without random
     * draws
     */
    double *stage_slowness;
    /* [workers][n_stages] position of each stage's slowest host on the platform */
    int *stage_place;
    /* bytes that a worker sends, without servers: mean and maximum over workers */
    double sent_mean_bytes, sent_max_bytes;
    size_t n_pieces; /* number of chunks per vector */
    double piece_bytes; /* bytes of the largest chunk */
    /*
     * Collective algorithm (dsgd_collective) of the largest vector in an allreduce, and in a
     * partial collective. AUTO if no such collective was called.
     */
    int collective, partial_collective;
    double partial_active_mean; /* mean number of new contributions per partial collective */
    /*
     * Two numbers of sums of partial collectives. Skipped: sums that workers missed because a later
     * sum had overwritten them. Duplicates: sums that workers used again because no later sum had
     * arrived since their last step. Both numbers count whole vectors, summed over all workers.
     */
    double partial_skipped, partial_duplicates;

    size_t n_points;
    /* [n_points] evaluations, the first one at time 0; NULL if nothing is learned */
    dsgd_point *points;
    /* Mean loss, mean accuracy and smallest accuracy of the workers' own models at the end. */
    double local_loss, local_accuracy, local_accuracy_min;

    /* The following two members are lower bounds of virtual_s. */
    double ideal_s; /* mean time of a worker's computations */
    /*
     * Time that the busiest link needs for its bytes: bytes divided by bandwidth, where links are
     * NICs, links of groups and links of islands. NAN for XML platforms.
     */
    double link_s;
    /* price of all bytes that left their region, in the currency of the platform's prices */
    double transfer_cost;

    size_t n_loads;
    /*
     * [n_loads] bytes that each link carried, if config->loads is true; idle links may be missing
     */
    dsgd_load *loads;

    /*
     * number of memory blocks at the end of the run, which must not grow with the number of steps
     */
    size_t n_blocks_kept;
    double timing_wall_s, total_wall_s;
    dsgd_values_stats numerics;
    const char *device; /* name of the device that computed values; "off" without numerics */
} dsgd_run_result;
