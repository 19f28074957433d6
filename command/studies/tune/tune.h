/**
 * @file tune.h
 * Finds the best values of options for each algorithm by successive halving (Jamieson and
 * Talwalkar, AISTATS 2016): all candidates run for a part of the steps with one seed, the best
 * third runs for more steps, and the best two, with the neighbours of the best, run to the end with
 * all seeds.
 *
 * A candidate is a run of the experiment in which the options are swept; `swept` of that run has
 * its values. All candidates of an algorithm have the same random draws, of seeds that the
 * experiment does not use. Every round follows from the experiment and the results of the rounds
 * before.
 */
#pragma once

#include "command/analysis/target.h"
#include "command/console/arguments.h"
#include "command/runs/pool.h"

/** The criterion of candidates: virtual time or steps to a target, or the final result. */
typedef enum dsgd_tune_on { DSGD_TUNE_TIME, DSGD_TUNE_STEPS, DSGD_TUNE_FINAL } dsgd_tune_on;

enum {
    DSGD_TUNE_ETA = 3, /* one of ETA candidates continues, for ETA times the steps */
    DSGD_TUNE_FINALISTS = 2,
    DSGD_TUNE_MOST_LENGTHS = 4, /* number of different lengths of runs */
    DSGD_TUNE_MOST_RUNGS = DSGD_TUNE_MOST_LENGTHS + 1 /* two rungs have the full length */
};

typedef struct dsgd_candidate {
    bool is_in; /* is in the current rung */
    bool is_tried; /* was in any rung */
} dsgd_candidate;

/** The results of a candidate in a rung. */
typedef struct dsgd_trial {
    size_t candidate;
    size_t n_diverged, n_reached; /* numbers of seeds */
    /* mean time or steps to the target over the seeds that reached it; NAN if none did */
    double place;
    /* mean value of the other seeds when the first of their runs ended; NAN if there are none */
    double near;
    /* why it cannot be best, or NULL; before the last rung only divergence counts */
    const char *out;
} dsgd_trial;

/** An algorithm with its candidates. */
typedef struct dsgd_tuned {
    const char *label;
    /* rate of the file, around which rates are tried; NAN if the user gave rates; 0 if unknown */
    double rate;
    size_t first, n; /* range of its candidates among all candidates */
    size_t n_begun; /* number of candidates in the first rung */
    size_t rung, n_rungs, n_short; /* n_short: number of rungs of less than the full length */
    bool is_over;
    /*
     * [n_ranked] results of the rung, best first; at the end without those that cannot win, except
     * the first
     */
    dsgd_trial *ranked;
    size_t n_ranked;
} dsgd_tuned;

/** The results of a run. */
typedef struct dsgd_tune_result {
    bool is_done, diverged; /* diverged is also true if the loss grew without bound */
    const char *out; /* why it cannot win by the rules of verdicts; NULL if it can */
    double reached; /* time or steps to the target; NAN if it was not reached */
    double value; /* final value; NAN if there is none */
    double end, steps; /* time or steps of the last evaluation; steps of the run */
    size_t row; /* row of runs.csv */
} dsgd_tune_result;

/** The state of a tuning. The configuration owns what it points to, except the results. */
typedef struct dsgd_tune {
    dsgd_target target; /* with FINAL, the compared column and a value that no run reaches */
    dsgd_tune_on on;
    bool of_throughput; /* nothing is learned, so throughputs are compared */
    const dsgd_experiment *plain; /* the user's experiment */
    const dsgd_texts *own; /* the user's --set assignments */
    const char *command; /* the command line */
    dsgd_lines sets; /* own, the list of algorithms as mappings, and the sweeps */
    dsgd_tuned *algorithms; /* [n_algorithms] */
    size_t n_algorithms;
    /* [n_options] options that are tuned for some algorithm, such as optimizer.lr */
    const char **options;
    size_t n_options;
    size_t n_seeds, n_lengths;
    int64_t *seeds; /* [n_seeds] */
    /* in rising order; the last is the length in the file */
    dsgd_until lengths[DSGD_TUNE_MOST_LENGTHS];
    bool is_prefix; /* a short run equals the start of a long run, evaluations included */

    /* column k is option k of all algorithms; the last column is the length */
    dsgd_experiment grid;
    dsgd_candidate *candidates; /* [n_candidates] in the order of the grid */
    size_t n_candidates;
    dsgd_pool_config pool; /* configuration of the runs of the grid */
    dsgd_tune_result *results; /* [n_runs]; NULL before the first round is over */
    dsgd_run_table curves; /* evaluations of the runs */
} dsgd_tune;

/**
 * Returns the index of a run of a candidate. Seeds after the first exist only for the full length.
 */
static inline size_t dsgd_tune_run(const dsgd_tune *t, size_t candidate, size_t length, size_t seed)
{
    return candidate * (t->n_lengths + t->n_seeds - 1) +
           (seed == 0 ? length : t->n_lengths - 1 + seed);
}

/**
 * Returns the value of option @p k in the column, or NULL if the algorithm does not have the
 * option.
 */
static inline const char *dsgd_tune_value(const dsgd_tune *t, size_t candidate, size_t k)
{
    return t->grid.runs[dsgd_tune_run(t, candidate, 0, 0)].swept[k];
}

/** Returns the index of the length of the runs of a rung. */
static inline size_t dsgd_rung_length(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return t->n_lengths - 1 - (rung < a->n_short ? a->n_short - rung : 0);
}

static inline size_t dsgd_rung_seeds(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return rung + 1 == a->n_rungs ? t->n_seeds : 1;
}

/** Adds an assignment to a list that the configuration owns. */
void dsgd_tune_add(dsgd_lines *sets, const char *set);

/* --- plan.c: candidates of an experiment ------------------------------------------------------ */

/**
 * Finds the options in the runs of t->plain, and adds their sweeps to t->sets. Rejects an
 * experiment in which more than algorithms and seeds differ.
 */
dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error);

/**
 * Makes candidates from the runs of the grid, and the runs of each candidate. Joins the columns of
 * an option into one for all algorithms, such as algorithms.optimizer.lr.
 */
dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error);

/* --- halving.c: ranking of candidates --------------------------------------------------------- */

/**
 * Returns the candidate of @p a with the next (@p way 1) or previous (-1) value of option @p k and
 * the same other values. SIZE_MAX if there is none, or if the value is not a number.
 */
size_t dsgd_tune_beside(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t k,
                        int way);

/**
 * Returns the result of a candidate at a length with a seed if it ended with a value, or of a
 * shorter run if that reached the target. NULL if the run diverged or does not exist.
 */
const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, size_t candidate, size_t length,
                                        size_t seed);

/**
 * Functions of a study whose state is a dsgd_tune: select the runs of a round; move to the next
 * rungs after it.
 */
void dsgd_tune_choose(void *tune, bool *chosen);
dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error);

/**
 * Returns whether a->ranked begins with a best candidate. There is none if no candidate can win by
 * the rules of verdicts.
 */
bool dsgd_tune_has_best(const dsgd_tuned *a);

/* --- summary.c -------------------------------------------------------------------------------- */

/** Prints the table of the best values, which is also DIR/tune.csv, and notes on it. */
dsgd_status dsgd_tune_print(const dsgd_tune *t, dsgd_error *error);
