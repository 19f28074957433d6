/**
 * @file attribution.h
 * Prints the parts of the time of runs. Also prints the speed-up that a run would have without one
 * cause of lost time. This speed-up comes from a copy of the run with the same random draws and one
 * change.
 */
#pragma once

#include "command/runs/results.h"
#include "command/trace/explain.h"

/**
 * Simulates an experiment and prints its explanation, or writes a figure. Plug-ins must be loaded
 * before.
 */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

/* --- facts.c: facts of a run that its results lack -------------------------------------------- */

typedef struct dsgd_worker_facts {
    int place; /* index of the worker's first host in the list of the platform's hosts */
    /*
     * index of the slowest pipeline stage; -1 if the worker has no pipeline or if all stages are
     * equally fast
     */
    int stage;
    int slow_place; /* index of the slowest host in the slowest stage; without a slowest stage,
                     * index of the worker's first host */
    double stage_slowness; /* slowness of the slowest stage divided by the median slowness of all
                            * stages */
    int64_t n_steps; /* number of steps that the worker has computed */
    /* mean computing time of a step while no exchange uses the GPU, in seconds */
    double compute_s;
    double beside_s; /* mean time per step by which exchanges on the GPU delay the computation, in
                      * seconds */
    /*
     * share of the steps in which this worker finished last; only steps that all workers computed
     * count
     */
    double last;
    /*
     * total time that other workers waited for this worker in verbs, in seconds; waits that overlap
     * with computation are excluded
     */
    double held_s;
} dsgd_worker_facts;

/** Traffic of a network link. */
typedef struct dsgd_link_facts {
    char link[64]; /* name of the link; longer names are cut */
    double bytes, bytes_per_s;
} dsgd_link_facts;

/**
 * Facts about a run: computing times of each worker in each step, waits, and traffic of links. The
 * process that simulates the run records the facts. Its parent process reads them.
 */
typedef struct dsgd_facts {
    int n_workers;
    dsgd_worker_facts *workers; /* array of n_workers workers */
    int64_t n_steps; /* largest number of steps of any worker */
    /*
     * array [n_workers][n_steps] of computing times in seconds, without exchanges; NAN if a step
     * was not computed
     */
    double *compute_s;
    double gradient_s; /* median computing time of all gradients, in seconds; 0 if no gradient was
                        * computed */
    double shortest_s, longest_s; /* computing time of the shortest step, and of the longest step,
                                   * in seconds */
    /*
     * worker with the largest mean computing time, and worker with the median mean computing time;
     * if there are two middle workers, the faster worker is the median
     */
    int slowest, median;
    size_t n_links;
    dsgd_link_facts *links; /* array of n_links links */
} dsgd_facts;

/** Calls dsgd_simulate(). Then writes the facts of run @p i to a file in @p folder. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error);

/**
 * Reads the facts of run @p i from its file in @p folder. Returns DSGD_EIO if the file is missing.
 */
dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error);

/* --- attribution.c ---------------------------------------------------------------------------- */

/**
 * List of the counterfactuals and their names. The enum and the array of names are made from this
 * list.
 *
 * Each of the first DSGD_N_CAUSES counterfactuals removes a cause of lost time. The last of these
 * causes concern failures. DSGD_WITHOUT_FAILURES also has no checkpoints. In DSGD_BY_QUORUM the
 * running workers continue after a failure. In DSGD_WITHOUT_STRAGGLERS, each gradient takes the
 * median time of all gradients. In DSGD_WITHOUT_SLOWEST, all steps of the slowest worker are
 * shorter by the same factor, so that their mean equals the mean of the median worker. In
 * DSGD_WITHOUT_SLOW_LINKS, no host has less bandwidth or more latency than the platform's default.
 * In DSGD_WITHOUT_LINK_FAILURES, links keep their bandwidth. DSGD_IDLE_NETWORK has no latency, no
 * overhead and unlimited bandwidth. DSGD_TWICE_BANDWIDTH and DSGD_HALF_LATENCY change all links. In
 * DSGD_FREE_REDUCTION, the addition of received values takes no time. In DSGD_FREE_STAGING, copies
 * to and from device memory take no time.
 *
 * The alternatives of option --instead follow: another algorithm with its default options, other
 * buckets, or more workers. Each alternative does the same work per step as the original run.
 *
 * DSGD_SAME_STEPS is for runs that end by time or accuracy. It changes only the end of the run. The
 * other counterfactuals of such a run end after the same number of steps as DSGD_SAME_STEPS, and
 * are compared with it. Therefore, all of them have the same random draws, and none of them ends in
 * the middle of a step.
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
    /* number of causes of lost time that do not concern failures */
    DSGD_N_PLAIN_CAUSES = DSGD_WITHOUT_FAILURES
} dsgd_counterfactual;

/**
 * Names of the counterfactuals. A table prints a name after "what if"; a sentence prints it after
 * "with".
 */
extern const char *const dsgd_counterfactual_names[];

/** Returns the index of a counterfactual of run @p i in the list of the experiment's runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: the output --------------------------------------------------------------------- */

/**
 * Prints a summary of the runs that have results. Then prints one section per algorithm with its
 * counterfactuals.
 */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
