/**
 * @file tune.h
 * The best values of options, for each algorithm by itself, by successive halving (Jamieson and
 * Talwalkar, AISTATS 2016): all candidates run for a part of the steps with one seed, the best
 * third for more, and the best two, with what is beside them, to the end with all seeds.
 *
 * All candidates of an algorithm meet the same draws, of seeds that the experiment does not have.
 * Every round follows from the experiment and the results of those before.
 */
#ifndef DSGD_COMMAND_STUDIES_TUNE_TUNE_H
#define DSGD_COMMAND_STUDIES_TUNE_TUNE_H

#include "command/analysis/target.h"
#include "command/console/arguments.h"
#include "command/experiment/experiment.h"
#include "command/runs/pool.h"

/** Candidates are ranked by the virtual time or the steps to a target, or by what is reached. */
typedef enum dsgd_tune_on { DSGD_TUNE_TIME, DSGD_TUNE_STEPS, DSGD_TUNE_FINAL } dsgd_tune_on;

enum {
    DSGD_TUNE_ETA = 3, /* of that many candidates one goes on, for that many times the steps */
    DSGD_TUNE_MOST_LENGTHS = 4, /* of runs */
    DSGD_TUNE_MOST_OPTIONS = 8 /* of an algorithm */
};

/** An option of an algorithm that is tuned. */
typedef struct dsgd_tune_option {
    const char *path; /* such as algorithms.0.optimizer.lr */
    const char *values; /* as behind `sweep:` */
    size_t n_beyond; /* values at either end that are tried only where the best is beside them */
    size_t column; /* of the experiment */
    size_t n; /* values */
    const char **texts; /* [n], as in the column */
    size_t low, high; /* the first and last that have been tried */
} dsgd_tune_option;

/** What became of a candidate in a rung. */
typedef struct dsgd_tune_score {
    size_t n_seeds, n_diverged, n_reached;
    double place; /* mean time or steps to the target of those that reached it; NAN: none */
    double near; /* mean value of the others, where the first of them ended; NAN: none */
} dsgd_tune_score;

typedef enum dsgd_tune_fate { DSGD_TUNE_DROPPED, DSGD_TUNE_KEPT, DSGD_TUNE_BEST } dsgd_tune_fate;

/** A candidate in a rung, for the record. */
typedef struct dsgd_tune_trial {
    size_t contestant, rung, rank, candidate;
    dsgd_tune_score score;
    bool ties; /* with the one before it */
    dsgd_tune_fate fate;
} dsgd_tune_trial;

/** An algorithm with its grid of candidates: the last option varies fastest. */
typedef struct dsgd_tune_contestant {
    const char *label;
    size_t n_options;
    dsgd_tune_option options[DSGD_TUNE_MOST_OPTIONS];
    size_t n_candidates;
    size_t n_begun; /* without those beyond the ends */
    size_t *runs; /* [n_candidates][n_lengths][n_seeds]: from 1; 0: there is none */
    bool *is_in; /* [n_candidates]: the rung */
    size_t rung, n_rungs;
    size_t *order; /* [n_order]: candidates of the last rung that is over, best first */
    size_t n_order;
    bool is_over;
} dsgd_tune_contestant;

/** What is known of a run. */
typedef struct dsgd_tune_result {
    bool is_done, diverged;
    double reached; /* time or steps to the target; NAN: it was not */
    double ended; /* time or steps */
    double steps;
    size_t first, n; /* its evaluations */
} dsgd_tune_result;

typedef struct dsgd_tune {
    dsgd_target target; /* FINAL: what is compared, and a value that nothing reaches */
    dsgd_tune_on on;
    size_t n_seeds, n_lengths;
    long *seeds; /* [n_seeds] */
    dsgd_until lengths[DSGD_TUNE_MOST_LENGTHS]; /* rising; the last is the file's */
    bool is_prefix; /* a short run is the beginning of a long one, evaluations included */
    char **sets; /* [n_sets]: of the experiment, and what makes the grid of it */
    size_t n_sets;
    dsgd_tune_contestant *contestants; /* [n_contestants] */
    size_t n_contestants;

    dsgd_experiment grid, *experiment; /* that one, while it is open */
    const char *folder; /* of results */
    dsgd_tune_result *results; /* [n_runs] */
    dsgd_curve_point *evaluations; /* of all runs */
    dsgd_tune_trial *trials;
    size_t n_trials;
} dsgd_tune;

/* --- plan.c: from an experiment to what makes a grid of it ------------------------------------ */

/**
 * Finds options, seeds and lengths for the runs of @p plain, which stays open; then t->sets make
 * the grid. Refuses an experiment that is not one choice of algorithms.
 */
dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_experiment *plain, const dsgd_texts *over,
                           dsgd_error *error);

/* --- grid.c: candidates and their runs -------------------------------------------------------- */

/**
 * Finds candidates in the grid, t->experiment, leaves out the runs that no rung needs, and joins
 * the columns of an option into one for all algorithms, such as algorithms.optimizer.lr.
 */
dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error);

void dsgd_tune_close(dsgd_tune *t);

/** Index of the value of option @p k in a candidate, and its text in the column. */
size_t dsgd_tune_value(const dsgd_tune_contestant *c, size_t candidate, size_t k);
const char *dsgd_tune_text_of(const dsgd_tune_contestant *c, size_t candidate, size_t k);

/** The run of a candidate; 0: there is none. */
size_t dsgd_tune_run(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate,
                     size_t length, size_t seed);

/* --- scores.c: what the results are worth ----------------------------------------------------- */

/** Reads runs.csv and curves.csv. */
dsgd_status dsgd_tune_read(dsgd_tune *t, dsgd_error *error);

/**
 * The result of a candidate at a length with a seed: of a shorter run, where that reached the
 * target already; NULL: there is none.
 */
const dsgd_tune_result *dsgd_tune_result_of(const dsgd_tune *t, const dsgd_tune_contestant *c,
                                            size_t candidate, size_t length, size_t seed);

/** Scores of the @p n candidates of a rung: scores[n]. */
void dsgd_tune_score_all(const dsgd_tune *t, const dsgd_tune_contestant *c,
                         const size_t *candidates, size_t n, dsgd_tune_score *scores);

/** Below 0: @p a is better; 0: they are equal. */
int dsgd_tune_compare(const dsgd_tune *t, const dsgd_tune_score *a, const dsgd_tune_score *b);

/* --- halving.c: who goes on ------------------------------------------------------------------- */

/** Length (an index) and number of seeds of a rung. */
size_t dsgd_tune_length(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t rung);
size_t dsgd_tune_seeds(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t rung);

/** Sets the rungs of a contestant. */
void dsgd_tune_begin(const dsgd_tune *t, dsgd_tune_contestant *c);

/** Of a study: the runs of a round; after it, to the next rungs. */
void dsgd_tune_choose(const dsgd_tune *t, bool *chosen);
dsgd_status dsgd_tune_advance(dsgd_tune *t, bool *more, dsgd_error *error);

/* --- record.c: all that was tried -------------------------------------------------------------- */

/** Writes DIR/tune.csv, and `tune` into DIR/manifest.json. */
dsgd_status dsgd_tune_write(dsgd_tune *t, dsgd_error *error);

/** What follows `algorithms.I.` in the path of an option. */
const char *dsgd_tune_rest_of(const dsgd_tune_option *o);

/** The rests of all options, each once, and NULL; the caller frees the array. */
const char **dsgd_tune_all_rests(const dsgd_tune *t);

/** The option with that rest; n_options: there is none. */
size_t dsgd_tune_option_of(const dsgd_tune_contestant *c, const char *rest);

/** "400 steps": the bounds that are there. The caller frees it. */
char *dsgd_tune_length_text(const dsgd_until *until);

/* --- summary.c: for readers -------------------------------------------------------------------- */

/** Says what the rungs need. */
void dsgd_tune_print_plan(const dsgd_tune *t);

/** Prints the table of the best values, and what is uncertain about them. */
void dsgd_tune_print(const dsgd_tune *t);

#endif
