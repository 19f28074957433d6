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
 * Shares of a worker's time; compute, wait and communicate sum to 1. Communication hidden by
 * computation counts as the latter. What was computed and cancelled is `lost`, a part of `wait`.
 */
typedef struct dsgd_time_shares {
    double compute, wait, communicate, lost;
} dsgd_time_shares;

/** Which code said how long a message takes: flags. (sim/README.md has a table of them.) */
enum {
    DSGD_TIMED_BY_SIMGRID = 1, /* a run has at most one of the first two */
    DSGD_TIMED_BY_FLOWS = 2,
    DSGD_TIMED_BY_ARITHMETIC = 4 /* computed, not simulated */
};

/** "simgrid", "flows", "arithmetic", "flows+arithmetic", ...; "none" without messages. */
const char *dsgd_timed_by_name(unsigned timed_by);

/** A histogram: share[i] of the uses are of age i; the last bin possible holds all greater too. */
typedef struct dsgd_ages {
    size_t n; /* at most DSGD_MOST_AGES */
    double *share; /* [n] */
} dsgd_ages;

/**
 * A histogram of step times, each from a worker's begin of a step to its begin of the next: bins of
 * 1/64 of a power of two, with a step at least, by rising times.
 */
typedef struct dsgd_step_bin {
    double step_s; /* mean of its steps */
    double share; /* of all steps */
} dsgd_step_bin;

typedef struct dsgd_step_times {
    size_t n; /* at most DSGD_MOST_STEP_TIMES */
    dsgd_step_bin *bin; /* [n] */
} dsgd_step_times;

/** Failures that a run lists. */
enum { DSGD_MOST_LISTED = 10000 };

/**
 * What failures have cost, of the time of all workers or of its mean: NAN where nothing fails, or
 * nothing is done about it.
 */
typedef struct dsgd_failure_times {
    int64_t n;
    struct dsgd_failed {
        double worker; /* of several that fail together the first */
        double at_s;
    } * listed; /* [n], at most DSGD_MOST_LISTED */
    double goodput; /* share of the time that is none of these: */
    double lost_s; /* work that is done again */
    double detect_s, repair_s, restart_s, checkpoint_s;
    /* Of n, of peers whose stage went on; and of peers to another stage; NAN: all stay. */
    double outlived, moves;
    double daly_s; /* of work between two checkpoints, at which least is lost; NAN: there is none */
} dsgd_failure_times;

/** Times are virtual, but for *_wall_s. NAN: not measured in this run. */
typedef struct dsgd_run_result {
    int outcome; /* dsgd_outcome */
    dsgd_error why; /* where it diverged, or why it failed; else what is to be noted, or nothing */
    double virtual_s;
    double steps; /* gradient steps of all workers / P */
    double samples, learn_samples;
    dsgd_failure_times failures;
    double samples_per_s, step_mean_s; /* mean over workers; of steps under way: accounting.c */
    dsgd_step_times step_times;
    double exposed_mean_s; /* of that, between passes or after the computation's end */
    dsgd_time_shares shares; /* mean over workers */
    dsgd_time_shares *worker_shares; /* [workers] */
    double *worker_steps; /* [workers] */
    int n_lanes; /* hosts of a worker */
    int *worker_places; /* [workers][n_lanes] of their hosts, in the platform's natural order */

    double staleness_mean, staleness_max; /* in local steps of the owner and the user */
    dsgd_ages ages; /* of these */
    double lag_mean, lag_max; /* in iterations of the user, or versions of a partial collective */
    /* Of gradients, in updates of the model; of pushes to a server in others' pushes. */
    double gradient_staleness_mean, gradient_staleness_max;
    dsgd_ages gradient_ages; /* a sum of several workers' gradients counts with its mean */

    uint64_t dropped; /* contributions that came too late to be used: dsgd_message_drop() */
    uint64_t messages;
    double bytes;
    unsigned timed_by; /* DSGD_TIMED_BY_*: all that timed a message of this run */
    double inner_bytes; /* that hosts of one worker sent each other, all workers together */
    double bubble_share; /* of computation, that a stage of a pipeline waits; NAN: there is none */
    int n_stages; /* of a worker; 0: it is one host */
    double *stage_slowness; /* [workers][n_stages] mean, of the reference GPU without draws */
    int *stage_place; /* [workers][n_stages] of its slowest host */
    double sent_mean_bytes, sent_max_bytes; /* over workers; without what servers send */
    size_t n_pieces; /* exchanges per vector */
    double piece_bytes; /* of the largest */
    /* dsgd_collective by which the largest vector travelled; AUTO: none did. */
    int collective, partial_collective;
    double partial_active_mean; /* fresh contributions per partial collective */
    /*
     * Sums that a worker missed because a later one had overwritten them, and sums that it used
     * again because no later one had come since its last step; whole vectors, over all workers.
     */
    double partial_skipped, partial_duplicates;

    size_t n_points;
    dsgd_point *points; /* [n_points], the first at time 0; none without learning */
    /* Over the workers' own models at the end. */
    double local_loss, local_accuracy, local_accuracy_min;

    /* Lower bounds of virtual_s. */
    double ideal_s; /* compute only */
    /* Largest, over NICs and ways into islands, of bytes that arrived / bandwidth; NAN for XML. */
    double link_s;
    double transfer_cost; /* of what has left regions, in the currency of the platform's prices */

    size_t n_loads;
    dsgd_load *loads; /* [n_loads] where config->loads asks for them; idle links may lack */

    size_t n_blocks_kept; /* of memory, at the end: no more for more steps */
    double timing_wall_s, total_wall_s;
    dsgd_values_stats numerics;
    const char *device; /* name of the device that computed, "off" for none */
} dsgd_run_result;
