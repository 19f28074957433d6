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

/**
 * What is different, and its name; the enum and the names follow from this list. Without stragglers
 * every gradient takes the median of all. Without the slowest worker its steps are shorter, by one
 * factor: its mean is the median one's. Without slow links no host has less bandwidth or more
 * latency than the platform says of all. Without link failures links keep their bandwidth. An idle
 * network has no latency, no overheads, and bandwidth without limit. Twice the bandwidth and half
 * the latency are those of all links. Without reduction cost, what arrives is added in no time.
 * Without GPU copies, copies to and from a device's memory take no time. Without failures there are
 * no checkpoints either. By quorum the running workers continue.
 *
 * With --instead: another algorithm at its defaults, other buckets, or more workers, each of which
 * has as much to do as one has now.
 *
 * By steps: nothing, of a run that ends by time or accuracy. The others, which end after its steps,
 * are compared with this one. So all have the same draws, and no part of a step is left over.
 */
#define DSGD_COUNTERFACTUAL_LIST(X)                                                                \
    X(WITHOUT_STRAGGLERS, "without stragglers")                                                    \
    X(WITHOUT_SLOWEST, "without the slowest worker")                                               \
    X(WITHOUT_SLOW_LINKS, "without slow links")                                                    \
    X(WITHOUT_LINK_FAILURES, "without link failures")                                              \
    X(IDLE_NETWORK, "with an idle network")                                                        \
    X(TWICE_BANDWIDTH, "with twice the bandwidth")                                                 \
    X(HALF_LATENCY, "with half the latency")                                                       \
    X(FREE_REDUCTION, "without reduction cost")                                                    \
    X(FREE_STAGING, "without GPU copies")                                                          \
    X(WITHOUT_FAILURES, "without failures")                                                        \
    X(BY_DALY, "with checkpoints by Daly")                                                         \
    X(DETECTED_AT_ONCE, "with failures known at once")                                             \
    X(BY_QUORUM, "by quorum")                                                                      \
    X(BY_LOCAL_SGD, "with local_sgd")                                                              \
    X(BY_WAGMA, "with wagma")                                                                      \
    X(BY_AD_PSGD, "with ad_psgd")                                                                  \
    X(BY_DROP_COMPUTE, "with drop_compute")                                                        \
    X(SMALL_BUCKETS, "with buckets of 1 MiB")                                                      \
    X(TWICE_WORKERS, "with 2 times the workers")                                                   \
    X(FOUR_TIMES_WORKERS, "with 4 times the workers")                                              \
    X(16_TIMES_WORKERS, "with 16 times the workers")                                               \
    X(SAME_STEPS, "as it is, by steps")

typedef enum dsgd_counterfactual {
#define X(key, name) DSGD_##key,
    DSGD_COUNTERFACTUAL_LIST(X)
#undef X
        DSGD_N_COUNTERFACTUALS,
    DSGD_N_CAUSES = DSGD_BY_LOCAL_SGD, /* of lost time: the first ones, ... */
    DSGD_N_PLAIN_CAUSES = DSGD_WITHOUT_FAILURES /* ... and these have not to do with failures */
} dsgd_counterfactual;

/** Index of a counterfactual of run @p i in the list of runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: what is shown ------------------------------------------------------------------ */

/** The names, by dsgd_counterfactual. */
extern const char *const dsgd_counterfactual_names[];

/**
 * Prints a table, names and a sentence per algorithm, of the runs that have results, and of their
 * counterfactuals.
 */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
