/**
 * @file attribution.h
 * Shows the parts of the time of runs, and the speed-up if one cause of lost time did not exist.
 * The speed-up comes from the same runs with the same random draws and one change.
 */
#pragma once

#include "command/runs/results.h"
#include "command/trace/explain.h"

/** Simulates an experiment, and prints its explanation or writes a figure. Load plug-ins before. */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

/* --- facts.c: facts of a run that its results lack -------------------------------------------- */

typedef struct dsgd_worker_facts {
    int place; /* index of the worker's first host in the platform */
    /*
     * index of the slowest pipeline stage; -1 if the worker has no pipeline or all stages are
     * equally fast
     */
    int stage;
    int slow_place; /* index of the slowest host in the slowest stage, or of the worker's first host
                     */
    double stage_slowness; /* slowness of the slowest stage divided by the slowness of the median
                            * stage */
    int64_t n_steps; /* number of steps whose computation ended */
    /* mean computing time of a step while no exchange needs the GPU, in seconds */
    double compute_s;
    double beside_s; /* mean time per step by which exchanges on the GPU delay computation, in
                      * seconds */
    /* share of the steps that this worker finished last; counts steps that all workers computed */
    double last;
    /*
     * total time that other workers waited for this worker in verbs, in seconds, without waits that
     * overlap with computation
     */
    double held_s;
} dsgd_worker_facts;

/** The traffic of a network link. */
typedef struct dsgd_link_facts {
    char link[64]; /* name of the link; longer names are cut */
    double bytes, bytes_per_s;
} dsgd_link_facts;

/**
 * The facts of a run: computing times of each worker in each step, waits, and traffic of links. The
 * process that simulates the run records them; its parent process reads them.
 */
typedef struct dsgd_facts {
    int n_workers;
    dsgd_worker_facts *workers; /* array of n_workers workers */
    int64_t n_steps; /* largest number of steps of any worker */
    /*
     * array [n_workers][n_steps] of computing times without exchanges, in seconds; NAN if a step
     * was not computed
     */
    double *compute_s;
    double gradient_s; /* median computing time of all gradients, in seconds; 0 if there are no
                        * gradients */
    double shortest_s, longest_s; /* computing times of the shortest and longest step, in seconds */
    /*
     * workers with the largest and the median mean computing time; the faster of two middle workers
     * is the median
     */
    int slowest, median;
    size_t n_links;
    dsgd_link_facts *links; /* array of n_links links */
} dsgd_facts;

/** Calls dsgd_simulate(), and writes the facts of run @p i to their file in @p folder. */
dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error);

/** Reads the facts of run @p i from @p folder. Returns DSGD_EIO if the file is missing. */
dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error);

/* --- attribution.c ---------------------------------------------------------------------------- */

/**
 * List of the counterfactuals and their names, which defines the enum and the array of names.
 *
 * The first DSGD_N_CAUSES counterfactuals remove a cause of lost time. The last ones of these
 * concern failures: DSGD_WITHOUT_FAILURES has no checkpoints either; in DSGD_BY_QUORUM the running
 * workers continue. In DSGD_WITHOUT_STRAGGLERS, each gradient takes the median time of all
 * gradients. In DSGD_WITHOUT_SLOWEST, all steps of the slowest worker are shorter by the same
 * factor, so that their mean equals the mean of the median worker. In DSGD_WITHOUT_SLOW_LINKS, no
 * host has less bandwidth or more latency than the platform's default. In
 * DSGD_WITHOUT_LINK_FAILURES, links keep their bandwidth. DSGD_IDLE_NETWORK has no latency, no
 * overhead and unlimited bandwidth. DSGD_TWICE_BANDWIDTH and DSGD_HALF_LATENCY change all links. In
 * DSGD_FREE_REDUCTION, the addition of received values takes no time. In DSGD_FREE_STAGING, copies
 * to and from device memory take no time.
 *
 * The alternatives of option --instead follow: another algorithm with its default options, other
 * buckets, or more workers, each with the same work per step as before.
 *
 * DSGD_SAME_STEPS is for runs that end by time or accuracy, and changes only the end of the run.
 * The other counterfactuals of such a run end after the same number of steps, and are compared with
 * it. So all have the same random draws, and none ends in the middle of a step.
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
    /* number of causes that do not concern failures */
    DSGD_N_PLAIN_CAUSES = DSGD_WITHOUT_FAILURES
} dsgd_counterfactual;

/** Names of the counterfactuals. They complete "what if" in tables, and "with" in sentences. */
extern const char *const dsgd_counterfactual_names[];

/** Returns the index of a counterfactual of run @p i in the experiment's list of runs. */
static inline size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                                             dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

/* --- report.c: the output --------------------------------------------------------------------- */

/**
 * Prints a summary of the runs that have results, and one section per algorithm with its
 * counterfactuals.
 */
dsgd_status dsgd_explained_print(const dsgd_experiment *experiment, const dsgd_results *results,
                                 dsgd_error *error);
