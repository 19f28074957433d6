/**
 * @file attribution.h
 * Where the time of an experiment's runs went, and what would be gained without what took it: the
 * same runs with the same draws, but without one cause of lost time.
 */
#pragma once

#include "command/runs/results.h"
#include "command/trace/explain.h"

/** Simulates; prints a table per algorithm, or writes a figure. Plug-ins are loaded. */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

/* --- facts.c: what a run is explained by beside its results ----------------------------------- */

typedef struct dsgd_worker_facts {
    int place; /* of its host among the platform's */
    int stage; /* of a pipeline, the slowest; -1: there is none, or all are alike */
    int slow_place; /* of that stage's slowest host; else of one with slow links, or of the worker's
                       first */
    double stage_slowness; /* of that, times the median stage's */
    int64_t n_steps; /* whose computation has ended */
    double compute_s; /* of a step, mean, where no exchange needs the GPU */
    double beside_s; /* of a step, mean: that exchanges take of the GPU meanwhile */
    double last; /* share of the steps that all have computed in which it was the last to do so */
    double held_s; /* sum of what others waited for it, in verbs, without what computation hides */
} dsgd_worker_facts;

/** What a link has carried. */
typedef struct dsgd_link_facts {
    char link[64]; /* longer names are cut */
    double bytes, bytes_per_s;
} dsgd_link_facts;

/**
 * How long each worker computed in each step, who was waited for, and what links carried. Recorded
 * in the process of the run, read by its parent.
 */
typedef struct dsgd_facts {
    int n_workers, n_lanes;
    int *places; /* [n_workers][n_lanes] of all hosts */
    dsgd_worker_facts *workers; /* [n_workers] */
    int64_t n_steps; /* the most of any worker */
    double *compute_s; /* [n_workers][n_steps], beside no exchange; NAN: not computed */
    double gradient_s; /* median over all gradients; 0: there is none */
    double shortest_s, longest_s; /* step */
    int slowest, median; /* workers, by their means; of an even number the faster of the middle */
    size_t n_links;
    dsgd_link_facts *links; /* [n_links] */
} dsgd_facts;

/** Whether a host has less bandwidth or more latency than the platform says of all. */
static inline bool dsgd_has_slow_links(const dsgd_platform *platform, int place)
{
    const dsgd_host_quality q = dsgd_platform_host(platform, place);
    return q.bandwidth < 1 || q.latency_s > 0;
}

/** dsgd_simulate(), whose facts go to the file of run @p i in the folder. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error);

/** Of run @p i. DSGD_EIO where there are none. */
dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error);

/* --- attribution.c ---------------------------------------------------------------------------- */

typedef enum dsgd_counterfactual {
    DSGD_WITHOUT_STRAGGLERS, /* every gradient takes the median of all */
    DSGD_WITHOUT_SLOWEST, /* the slowest worker's steps are shorter, by one factor: its mean is the
                             median one's */
    DSGD_WITHOUT_SLOW_LINKS, /* no host has less bandwidth or more latency than the platform says of
                                all */
    DSGD_WITHOUT_LINK_FAILURES, /* links keep their bandwidth */
    DSGD_IDLE_NETWORK, /* no latency, no overheads, and bandwidth without limit */
    DSGD_TWICE_BANDWIDTH, /* of all links */
    DSGD_HALF_LATENCY, /* of all links */
    DSGD_FREE_REDUCTION, /* what arrives is added in no time */
    DSGD_FREE_STAGING, /* copies to and from a device's memory take no time */
    DSGD_WITHOUT_FAILURES, /* nor checkpoints */
    DSGD_BY_DALY, /* checkpoints at Daly's interval */
    DSGD_DETECTED_AT_ONCE, /* failures */
    DSGD_BY_QUORUM, /* who is there goes on */
    /* With --instead: another algorithm at its defaults, ... */
    DSGD_BY_LOCAL_SGD,
    DSGD_BY_WAGMA,
    DSGD_BY_AD_PSGD,
    DSGD_BY_DROP_COMPUTE,
    DSGD_SMALL_BUCKETS, /* of 1 MiB */
    DSGD_TWICE_WORKERS, /* ... more of them, each with as much to do as one has now */
    DSGD_FOUR_TIMES_WORKERS,
    DSGD_16_TIMES_WORKERS,
    /* Nothing, of a run that ends by time or accuracy: what the others are compared with, which end
     * after its steps, as it does. So all have the same draws, and no part of a step is left over.
     */
    DSGD_SAME_STEPS,
    DSGD_N_COUNTERFACTUALS,
    DSGD_N_CAUSES = DSGD_BY_LOCAL_SGD, /* of lost time: the first ones, ... */
    DSGD_N_PLAIN_CAUSES = DSGD_WITHOUT_FAILURES /* ... and these have not to do with failures */
} dsgd_counterfactual;

/** What is different, by dsgd_counterfactual: "without stragglers". */
extern const char *const dsgd_counterfactual_names[];

/** Index of a counterfactual of run @p i in the list of runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: what is shown ------------------------------------------------------------------ */

/**
 * Prints a table, names and a sentence per algorithm, of the runs that have results, and of their
 * counterfactuals.
 */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
