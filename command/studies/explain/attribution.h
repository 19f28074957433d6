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
    int slow_place; /* place of the slowest host of that stage, or of the worker's first host */
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
    int n_workers;
    dsgd_worker_facts *workers; /* [n_workers] */
    int64_t n_steps; /* the most of any worker */
    double *compute_s; /* [n_workers][n_steps], beside no exchange; NAN: not computed */
    double gradient_s; /* median over all gradients; 0: there is none */
    double shortest_s, longest_s; /* step */
    int slowest, median; /* workers, by their means; of an even number the faster of the middle */
    size_t n_links;
    dsgd_link_facts *links; /* [n_links] */
} dsgd_facts;

/** dsgd_simulate(), whose facts go to the file of run @p i in the folder. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error);

/** Of run @p i. DSGD_EIO where there are none. */
dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error);

/* --- attribution.c ---------------------------------------------------------------------------- */

/**
 * What is different in a counterfactual, and its name. The enum and the names follow from this
 * list.
 *
 * The first DSGD_N_CAUSES remove a cause of lost time. Those with failures come last among them: in
 * DSGD_WITHOUT_FAILURES there are no checkpoints either; in DSGD_BY_QUORUM the running workers
 * continue. DSGD_WITHOUT_STRAGGLERS: every gradient takes the median time of all gradients.
 * DSGD_WITHOUT_SLOWEST: the steps of the slowest worker are shorter by one factor, so that its mean
 * is the mean of the median worker. DSGD_WITHOUT_SLOW_LINKS: no host has less bandwidth or more
 * latency than the platform states for all. DSGD_WITHOUT_LINK_FAILURES: links keep their bandwidth.
 * DSGD_IDLE_NETWORK: there is no latency and no overhead, and bandwidth is unlimited.
 * DSGD_TWICE_BANDWIDTH and DSGD_HALF_LATENCY change all links. DSGD_FREE_REDUCTION: values that
 * arrive are added in no time. DSGD_FREE_STAGING: copies to and from the memory of a device take no
 * time.
 *
 * With --instead: another algorithm at its defaults, other buckets, or more workers, each of which
 * has as much to do as a worker has now.
 *
 * DSGD_SAME_STEPS changes nothing in a run that ends by time or accuracy. The other counterfactuals
 * of such a run end after its number of steps and are compared with this one. So all have the same
 * draws, and no part of a step is left over.
 */
#define DSGD_COUNTERFACTUAL_LIST(X)                                                                \
    X(WITHOUT_STRAGGLERS, "no stragglers")                                                         \
    X(WITHOUT_SLOWEST, "the slowest worker as the median")                                         \
    X(WITHOUT_SLOW_LINKS, "no slow links")                                                         \
    X(WITHOUT_LINK_FAILURES, "no link failures")                                                   \
    X(IDLE_NETWORK, "an ideal network")                                                            \
    X(TWICE_BANDWIDTH, "twice the bandwidth")                                                      \
    X(HALF_LATENCY, "half the latency")                                                            \
    X(FREE_REDUCTION, "no reduction cost")                                                         \
    X(FREE_STAGING, "no GPU copies")                                                               \
    X(WITHOUT_FAILURES, "no failures")                                                             \
    X(BY_DALY, "checkpoints by Daly's interval")                                                   \
    X(DETECTED_AT_ONCE, "failures detected at once")                                               \
    X(BY_QUORUM, "failure policy quorum")                                                          \
    X(BY_LOCAL_SGD, "local_sgd")                                                                   \
    X(BY_WAGMA, "wagma")                                                                           \
    X(BY_AD_PSGD, "ad_psgd")                                                                       \
    X(BY_DROP_COMPUTE, "drop_compute")                                                             \
    X(SMALL_BUCKETS, "buckets of 1 MiB")                                                           \
    X(TWICE_WORKERS, "2 times the workers")                                                        \
    X(FOUR_TIMES_WORKERS, "4 times the workers")                                                   \
    X(16_TIMES_WORKERS, "16 times the workers")                                                    \
    X(SAME_STEPS, "the same number of steps")

typedef enum dsgd_counterfactual {
#define X(key, name) DSGD_##key,
    DSGD_COUNTERFACTUAL_LIST(X)
#undef X
        DSGD_N_COUNTERFACTUALS,
    DSGD_N_CAUSES = DSGD_BY_LOCAL_SGD,
    DSGD_N_PLAIN_CAUSES =
        DSGD_WITHOUT_FAILURES /* the causes that have nothing to do with failures */
} dsgd_counterfactual;

/** Names of the counterfactuals: they follow "what if" in tables, and "with" in sentences. */
extern const char *const dsgd_counterfactual_names[];

/** Index of a counterfactual of run @p i in the list of runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: what is shown ------------------------------------------------------------------ */

/** Prints a summary of the runs that have results, and a section per algorithm with their
 * counterfactuals. */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
