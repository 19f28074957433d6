/**
 * @file tune.h
 * The best values of options, for each algorithm by itself, by successive halving (Jamieson and
 * Talwalkar, AISTATS 2016): all candidates run for a part of the steps with one seed, the best
 * third for more, and the best two, with what is beside them, to the end with all seeds.
 *
 * All candidates of an algorithm meet the same draws, of seeds that the experiment does not have.
 * Every round follows from the experiment and the results of those before.
 */
#pragma once

#include "command/analysis/target.h"
#include "command/console/arguments.h"
#include "command/runs/pool.h"

/** Candidates are ranked by the virtual time or the steps to a target, or by what is reached. */
typedef enum dsgd_tune_on { DSGD_TUNE_TIME, DSGD_TUNE_STEPS, DSGD_TUNE_FINAL } dsgd_tune_on;

enum {
    DSGD_TUNE_ETA = 3, /* of that many candidates one goes on, for that many times the steps */
    DSGD_TUNE_FINALISTS = 2,
    DSGD_TUNE_MOST_LENGTHS = 4, /* of runs */
    DSGD_TUNE_MOST_RUNGS = DSGD_TUNE_MOST_LENGTHS + 1, /* the full length has two */
    DSGD_TUNE_MOST_OPTIONS = 8 /* of an algorithm */
};

/** An option of an algorithm that is tuned. */
typedef struct dsgd_tune_option {
    const char *path, *rest; /* such as algorithms.0.optimizer.lr, and optimizer.lr of it */
    const char *values; /* as behind `sweep:` */
    size_t n_beyond; /* values at either end that are tried only where the best is beside them */
    size_t column; /* of the experiment */
    size_t n; /* values */
    const char **texts; /* [n], as in the column */
    size_t low, high; /* the first and last that have been tried */
} dsgd_tune_option;

typedef enum dsgd_tune_outcome {
    DSGD_TUNE_DROPPED,
    DSGD_TUNE_KEPT,
    DSGD_TUNE_BEST
} dsgd_tune_outcome;

/** The results of a candidate in a rung. */
typedef struct dsgd_tune_trial {
    size_t rung, candidate;
    size_t n_diverged, n_reached; /* seeds */
    double place; /* mean time or steps to the target, of seeds that reached it; NAN: none */
    double near; /* mean value of the others, where the first of them ended; NAN: none */
    const char *out; /* why it cannot be best; but for divergence, of the last rung; NULL: it can */
    bool ties; /* with the one before it */
    dsgd_tune_outcome outcome;
} dsgd_tune_trial;

/** An algorithm with its grid of candidates: the last option varies fastest. */
typedef struct dsgd_tuned {
    const char *label, *name;
    size_t n_options;
    dsgd_tune_option options[DSGD_TUNE_MOST_OPTIONS];
    size_t n_candidates;
    size_t n_begun; /* without those beyond the ends */
    size_t *runs; /* [n_candidates][n_lengths][n_seeds]: from 1; 0: there is none */
    struct {
        size_t length, n_seeds; /* index of a length */
    } rungs[DSGD_TUNE_MOST_RUNGS];
    size_t rung, n_rungs;
    bool *is_in; /* [n_candidates]: the rung */
    bool is_over;
    dsgd_tune_trial *trials; /* [n_trials], rung by rung, best first */
    size_t n_trials;
    const dsgd_tune_trial *last; /* [n_last]: of the last rung; without those who are out, unless
                                    all are: then the first */
    size_t n_last;
} dsgd_tuned;

/** What is known of a run. */
typedef struct dsgd_tune_result {
    bool is_done, diverged; /* the latter too where its loss grew without end */
    const char *out; /* why it cannot win, as verdicts have it; NULL: it can */
    double reached; /* time or steps to the target; NAN: it was not */
    double steps;
    size_t first, n; /* its evaluations; at the last it ended */
} dsgd_tune_result;

/** A tuning under way. What it points to is the configuration's, but for results. */
typedef struct dsgd_tune {
    dsgd_target target; /* FINAL: what is compared, and a value that nothing reaches */
    dsgd_tune_on on;
    bool of_throughput; /* as nothing is learned */
    const dsgd_experiment *plain; /* the user's */
    const dsgd_texts *own; /* its assignments */
    const char *command; /* the command line */
    dsgd_lines sets; /* of the experiment, and what makes the grid of it */
    dsgd_tuned *algorithms; /* [n_algorithms] */
    size_t n_algorithms;
    const char **rests; /* of all options, each once; NULL at the end */
    size_t n_seeds, n_lengths;
    int64_t *seeds; /* [n_seeds] */
    dsgd_until lengths[DSGD_TUNE_MOST_LENGTHS]; /* rising; the last is the file's */
    bool is_prefix; /* a short run is the beginning of a long one, evaluations included */

    dsgd_experiment grid;
    dsgd_pool_config pool; /* of the grid's runs */
    dsgd_tune_result *results; /* [n_runs]; NULL before the first round is over */
    dsgd_curve_point *evaluations; /* of all runs */
} dsgd_tune;

/** Adds an assignment to a list, which the configuration owns. */
void dsgd_tune_add(dsgd_lines *sets, const char *set);

/* --- plan.c: from an experiment to its grid --------------------------------------------------- */

/**
 * Finds options, seeds and lengths for the runs of t->plain; then t->sets make the grid. Refuses an
 * experiment that is not one choice of algorithms.
 */
dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error);

/**
 * Finds candidates in the grid, leaves out the runs that no rung needs, and joins the columns of an
 * option into one for all algorithms, such as algorithms.optimizer.lr.
 */
dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error);

/** What lies between two candidates with neighbouring values of option @p k. */
size_t dsgd_tune_stride(const dsgd_tuned *a, size_t k);

/** Index of the value of option @p k in a candidate, and its text in the column. */
size_t dsgd_tune_value(const dsgd_tuned *a, size_t candidate, size_t k);
const char *dsgd_tune_text_of(const dsgd_tuned *a, size_t candidate, size_t k);

/** The run of a candidate; 0: there is none. */
size_t dsgd_tune_run(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t length,
                     size_t seed);

/* --- halving.c: what results are worth, and who goes on --------------------------------------- */

/**
 * The result of a candidate at a length with a seed, if it ended with a value: of a shorter run, if
 * that reached the target already. NULL: it diverged, or there is none.
 */
const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate,
                                        size_t length, size_t seed);

/** Of a study, whose state is a dsgd_tune: the runs of a round; after it, to the next rungs. */
void dsgd_tune_choose(void *tune, bool *chosen);
dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error);

/**
 * Whether a->last begins with a best candidate: not where nobody can win, by the rule of verdicts.
 */
bool dsgd_tune_has_best(const dsgd_tuned *a);

/* --- summary.c: all trials, and what follows         ------------------------------------------ */

/** Writes DIR/tune.csv. */
dsgd_status dsgd_tune_write(const dsgd_tune *t, dsgd_error *error);

/** The option with that rest; n_options: there is none. */
size_t dsgd_tune_option_of(const dsgd_tuned *a, const char *rest);

/** Of a study: says what the rungs need. */
dsgd_status dsgd_tune_print_plan(void *tune, dsgd_error *error);

/** Prints the table of the best values, and what is uncertain about them. */
void dsgd_tune_print(const dsgd_tune *t);
