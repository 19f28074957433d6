/**
 * @file attribution.h
 * Shows where the time of the runs of an experiment goes, and how much faster they would be without
 * one cause of lost time: the same runs with the same random draws, but with one change.
 */
#pragma once

#include "command/runs/results.h"
#include "command/trace/explain.h"

/**
 * Simulates an experiment, and prints its explanation or writes a figure. Plug-ins must be loaded.
 */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

/* --- facts.c: facts of a run that its results lack -------------------------------------------- */

typedef struct dsgd_worker_facts {
    int place; /* index of the worker's first host in the platform */
    /* slowest stage of the pipeline; -1 if there is no pipeline, or if all stages are alike */
    int stage;
    int slow_place; /* place of the slowest host of that stage, or of the worker's first host */
    double stage_slowness; /* slowness of that stage over that of the median stage */
    int64_t n_steps; /* number of steps whose computation has ended */
    double compute_s; /* mean computing time of a step while no exchange needs the GPU */
    double beside_s; /* mean time of a step that exchanges take from the GPU */
    /* share of the steps that all workers have computed in which this worker finished last */
    double last;
    /*
     * total time that other workers waited for this one in verbs, without overlap with computation
     */
    double held_s;
} dsgd_worker_facts;

/** The traffic of a link. */
typedef struct dsgd_link_facts {
    char link[64]; /* longer names are cut */
    double bytes, bytes_per_s;
} dsgd_link_facts;

/**
 * The facts of a run: computing times of each worker in each step, waits, and traffic of links. The
 * process of the run records them, and its parent reads them.
 */
typedef struct dsgd_facts {
    int n_workers;
    dsgd_worker_facts *workers; /* [n_workers] */
    int64_t n_steps; /* largest number of steps of a worker */
    /* [n_workers][n_steps] computing time without exchanges; NAN if the step was not computed */
    double *compute_s;
    double gradient_s; /* median computing time of all gradients; 0 if there is none */
    double shortest_s, longest_s; /* step */
    /* workers by mean computing time; of two workers in the middle the faster is the median */
    int slowest, median;
    size_t n_links;
    dsgd_link_facts *links; /* [n_links] */
} dsgd_facts;

/** Calls dsgd_simulate(), and writes the facts to the file of run @p i in the folder. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error);

/** Reads the facts of run @p i. Returns DSGD_EIO if there are none. */
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

/** Returns the index of a counterfactual of run @p i in the list of runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: the output --------------------------------------------------------------------- */

/** Prints a summary of the runs that have results, and a section per algorithm with their
 * counterfactuals. */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
