/**
 * @file counterfactuals.h
 * The same run with the same draws, but without one cause of lost time.
 */
#ifndef DSGD_COMMAND_STUDIES_EXPLAIN_COUNTERFACTUALS_H
#define DSGD_COMMAND_STUDIES_EXPLAIN_COUNTERFACTUALS_H

#include "command/experiment/experiment.h"
#include "command/studies/explain/facts.h"

typedef enum dsgd_counterfactual {
    DSGD_WITHOUT_STRAGGLERS, /* every gradient takes the median of all */
    DSGD_WITHOUT_SLOWEST, /* the slowest worker computes as long as the median one in each step */
    DSGD_IDLE_NETWORK, /* no latency, no overheads, and bandwidth without limit */
    DSGD_TWICE_BANDWIDTH, /* of all links */
    DSGD_HALF_LATENCY, /* of all links */
    DSGD_FREE_REDUCTION, /* what arrives is added in no time */
    DSGD_FREE_STAGING, /* copies to and from a device's memory take no time */
    /* Nothing, of a run that ends by time or accuracy: what the others are compared with, which end
     * after its steps, as it does. So all have the same draws, and no part of a step is left over. */
    DSGD_SAME_STEPS,
    DSGD_N_COUNTERFACTUALS
} dsgd_counterfactual;

/** What is different, by dsgd_counterfactual: "without stragglers". */
extern const char *const dsgd_counterfactual_names[];

/** The causes of which some are alike: who wants two different ones takes them of two kinds. */
typedef enum dsgd_cause { DSGD_CAUSE_WORKERS, DSGD_CAUSE_NETWORK, DSGD_CAUSE_COPIES } dsgd_cause;
dsgd_cause dsgd_cause_of(dsgd_counterfactual which);

/**
 * Appends the counterfactuals of every run, behind the runs as they are, and settles the list. Those
 * of a run i are n_unchanged + DSGD_N_COUNTERFACTUALS * i and on. Their column is `what_if`.
 */
dsgd_status dsgd_counterfactuals_add(dsgd_experiment *experiment, dsgd_numerics numerics,
                                     dsgd_error *error);

/** Index of a counterfactual in the list of runs. */
size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                               dsgd_counterfactual which);

/**
 * Completes a counterfactual of run @p i by what was recorded of it. False: it would be the run as
 * it is.
 */
bool dsgd_counterfactual_settle(dsgd_experiment *experiment, size_t i, dsgd_counterfactual which,
                                const dsgd_facts *facts);

#endif
