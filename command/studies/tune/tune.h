/**
 * @file tune.h
 * Finds the best values of options for each algorithm by successive halving (Jamieson and
 * Talwalkar, AISTATS 2016). All candidates run for a part of the steps with one seed. The best
 * third of the candidates runs for more steps. The best two candidates, and the neighbours of the
 * best candidate, run to the end with all seeds.
 *
 * A candidate is a run of the experiment in which the options are swept; the field `swept` of the
 * run contains its values. All candidates of an algorithm use the same random draws, from seeds
 * that the experiment does not use. Each round follows from the experiment and from the results of
 * earlier rounds.
 */
#pragma once

#include "command/analysis/target.h"
#include "command/console/arguments.h"
#include "command/runs/pool.h"

/**
 * Criterion by which candidates are compared: virtual time to a target, steps to a target, or the
 * final result.
 */
typedef enum dsgd_tune_on { DSGD_TUNE_TIME, DSGD_TUNE_STEPS, DSGD_TUNE_FINAL } dsgd_tune_on;

enum {
    /*
     * The best of each ETA candidates continues to the next rung, which has ETA times as many
     * steps.
     */
    DSGD_TUNE_ETA = 3,
    DSGD_TUNE_FINALISTS = 2,
    DSGD_TUNE_MOST_LENGTHS = 4, /* largest number of different lengths of runs */
    /* Two rungs have the full length. Each of the other rungs has its own length. */
    DSGD_TUNE_MOST_RUNGS = DSGD_TUNE_MOST_LENGTHS + 1
};

typedef struct dsgd_candidate {
    bool is_in; /* true if the candidate takes part in the current rung */
    bool is_tried; /* true if the candidate has taken part in any rung */
} dsgd_candidate;

/** Results of a candidate in one rung. */
typedef struct dsgd_trial {
    size_t candidate;
    size_t n_diverged, n_reached; /* number of seeds that diverged, and number of seeds that reached
                                   * the target */
    /*
     * mean time or steps to the target, over the seeds that reached the target; NAN if no seed
     * reached it
     */
    double place;
    /*
     * mean value of the seeds that missed the target, at the earliest end of such a run; NAN if all
     * seeds reached the target
     */
    double near;
    /*
     * why the candidate cannot be best, or NULL; before the last rung, only divergence is a reason
     */
    const char *out;
} dsgd_trial;

/** An algorithm with its candidates. */
typedef struct dsgd_tuned {
    const char *label;
    /*
     * learning rate in the file, which is the middle of the tried rates; NAN if the user gave
     * rates; 0 if unknown
     */
    double rate;
    /* index of the first candidate of the algorithm, and number of its candidates */
    size_t first, n;
    size_t n_begun; /* number of candidates that take part in the first rung */
    size_t rung, n_rungs, n_short; /* current rung, number of all rungs, and number of rungs that
                                    * are shorter than the full length */
    bool is_over;
    /*
     * Array of n_ranked results of the current rung, the best result first. After the last rung,
     * candidates that cannot win are removed, except the first candidate.
     */
    dsgd_trial *ranked;
    size_t n_ranked;
} dsgd_tuned;

/** Results of a run. */
typedef struct dsgd_tune_result {
    bool is_done, diverged; /* is_done: true if the run is done; diverged: true if the run diverged
                             * or its loss grew without bound */
    /* why the run cannot win by the rules of verdicts; NULL if the run can win */
    const char *out;
    double reached; /* time or steps to the target; NAN if the run missed the target */
    double value; /* final value of the quantity by which candidates are compared; NAN if unknown */
    double end, steps; /* end: time or step of the last evaluation; steps: number of steps of the
                        * run */
    size_t row; /* index of the run's row in runs.csv */
} dsgd_tune_result;

/**
 * State of `dsgd tune`. The configuration owns the memory to which the state points, except the
 * results.
 */
typedef struct dsgd_tune {
    dsgd_target target; /* the target; with DSGD_TUNE_FINAL, the compared column and a value that no
                         * run reaches */
    dsgd_tune_on on;
    bool of_throughput; /* true if nothing is learned, so that candidates are compared by throughput
                         */
    const dsgd_experiment *plain; /* experiment of the user, without sweeps */
    const dsgd_texts *own; /* assignments of the user's --set options */
    const char *command; /* command line of `dsgd tune` as a text */
    /* assignments: of the user, for the list of algorithms as mappings, and for the sweeps */
    dsgd_lines sets;
    dsgd_tuned *algorithms; /* array of n_algorithms algorithms */
    size_t n_algorithms;
    /* array of n_options options that are tuned in at least one algorithm, such as optimizer.lr */
    const char **options;
    size_t n_options;
    size_t n_seeds, n_lengths;
    int64_t *seeds; /* array of the n_seeds seeds that tuning uses */
    /* lengths of runs in ascending order; the last length is the length in the file */
    dsgd_until lengths[DSGD_TUNE_MOST_LENGTHS];
    bool is_prefix; /* true if a short run equals the start of a long run, including the evaluations
                     */

    /*
     * experiment with all runs; column k is option k of all algorithms, and the last column is the
     * length
     */
    dsgd_experiment grid;
    dsgd_candidate *candidates; /* array of n_candidates candidates, in the order of the runs in the
                                 * grid */
    size_t n_candidates;
    dsgd_pool_config pool; /* configuration with which the runs of the grid are executed */
    dsgd_tune_result *results; /* array with the results of n_runs runs; NULL until the first round
                                * has ended */
    dsgd_run_table curves; /* evaluations of all runs */
} dsgd_tune;

/**
 * Returns the index of a candidate's run in the grid. Only runs of full length have other seeds
 * than the first seed.
 */
static inline size_t dsgd_tune_run(const dsgd_tune *t, size_t candidate, size_t length, size_t seed)
{
    return candidate * (t->n_lengths + t->n_seeds - 1) +
           (seed == 0 ? length : t->n_lengths - 1 + seed);
}

/**
 * Returns the value of option number @p k of a candidate. Returns NULL if the algorithm does not
 * have this option.
 */
static inline const char *dsgd_tune_value(const dsgd_tune *t, size_t candidate, size_t k)
{
    return t->grid.runs[dsgd_tune_run(t, candidate, 0, 0)].swept[k];
}

/** Returns the index of the length that the runs of a rung have. */
static inline size_t dsgd_rung_length(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return t->n_lengths - 1 - (rung < a->n_short ? a->n_short - rung : 0);
}

static inline size_t dsgd_rung_seeds(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return rung + 1 == a->n_rungs ? t->n_seeds : 1;
}

/** Adds an assignment to a list. The configuration owns this list. */
void dsgd_tune_add(dsgd_lines *sets, const char *set);

/* --- plan.c: candidates of an experiment ------------------------------------------------------ */

/**
 * Finds the options that are tuned and adds their sweeps to t->sets. Rejects an experiment whose
 * runs differ in anything except algorithms and seeds.
 */
dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error);

/**
 * Makes the candidates from the runs of the grid, and makes the runs of each candidate. Joins the
 * columns of an option into one column for all algorithms, such as algorithms.optimizer.lr.
 */
dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error);

/* --- halving.c: ranking of candidates --------------------------------------------------------- */

/**
 * Returns a neighbour of a candidate of @p a. The neighbour has the next (if @p way is 1) or
 * previous (if @p way is -1) value of option number @p k, and equal values of the other options.
 * Returns SIZE_MAX if there is no such candidate or if the value is not a number.
 */
size_t dsgd_tune_beside(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t k,
                        int way);

/**
 * Returns the result of a candidate's run with the given length and seed. If a shorter run already
 * reached the target, returns the result of this shorter run. Returns NULL if the run diverged or
 * does not exist.
 */
const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, size_t candidate, size_t length,
                                        size_t seed);

/**
 * Functions of a study whose state is a dsgd_tune. dsgd_tune_choose() selects the runs of a round.
 * After the round, dsgd_tune_advance() starts the next rungs.
 */
void dsgd_tune_choose(void *tune, bool *chosen);
dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error);

/**
 * Returns true if the first candidate in a->ranked is the best candidate. If no candidate can win
 * by the rules of verdicts, there is no best candidate.
 */
bool dsgd_tune_has_best(const dsgd_tuned *a);

/* --- summary.c -------------------------------------------------------------------------------- */

/**
 * Prints the table of the best values, and notes about this table. Also writes the table to
 * DIR/tune.csv.
 */
dsgd_status dsgd_tune_print(const dsgd_tune *t, dsgd_error *error);
