/**
 * @file tune.h
 * The best values of options, for each algorithm by itself, by successive halving (Jamieson and
 * Talwalkar, AISTATS 2016): all candidates run for a part of the steps with one seed, the best
 * third for more, and the best two, with the candidates beside the best, to the end with all seeds.
 *
 * A candidate is a run of the experiment in which the options are swept; `swept` of that run has
 * its values. All candidates of an algorithm meet the same draws, of seeds that the experiment does
 * not have. Every round follows from the experiment and the results of the rounds before.
 */
#pragma once

#include "command/analysis/target.h"
#include "command/console/arguments.h"
#include "command/runs/pool.h"

/** Candidates are ranked by the virtual time or the steps to a target, or by what is reached. */
typedef enum dsgd_tune_on { DSGD_TUNE_TIME, DSGD_TUNE_STEPS, DSGD_TUNE_FINAL } dsgd_tune_on;

enum {
    DSGD_TUNE_ETA = 3, /* one of so many candidates stays, for so many times the steps */
    DSGD_TUNE_FINALISTS = 2,
    DSGD_TUNE_MOST_LENGTHS = 4, /* of runs */
    DSGD_TUNE_MOST_RUNGS = DSGD_TUNE_MOST_LENGTHS + 1 /* the full length has two */
};

typedef struct dsgd_candidate {
    bool is_in; /* the rung */
    bool is_tried; /* in any rung */
} dsgd_candidate;

/** The results of a candidate in a rung. */
typedef struct dsgd_trial {
    size_t candidate;
    size_t n_diverged, n_reached; /* seeds */
    double place; /* mean time or steps to the target, of seeds that reached it; NAN: none */
    double near; /* mean value of the others, where the first of them ended; NAN: none */
    const char *out; /* why it cannot be best, except in the last rung by divergence only */
} dsgd_trial;

/** An algorithm with its candidates. */
typedef struct dsgd_tuned {
    const char *label;
    double rate; /* the file's, around which rates are tried. NAN: the user gave rates; 0: none */
    size_t first, n; /* its candidates among all */
    size_t n_begun; /* candidates of the first rung */
    size_t rung, n_rungs, n_short; /* rungs of less than the full length */
    bool is_over;
    dsgd_trial *ranked; /* [n_ranked]: the rung's, best first; in the end without those that are
                           out, except the first */
    size_t n_ranked;
} dsgd_tuned;

/** The results of a run. */
typedef struct dsgd_tune_result {
    bool is_done, diverged; /* diverged: also if its loss grew without end */
    const char *out; /* why it cannot win, as verdicts have it; NULL: it can */
    double reached; /* time or steps to the target; NAN: it was not reached */
    double value; /* at the end; NAN: there is none */
    double end, steps; /* time or steps of the last evaluation; steps of the run */
    size_t row; /* of runs.csv */
} dsgd_tune_result;

/** A tuning under way. What it points to is the configuration's, except results. */
typedef struct dsgd_tune {
    dsgd_target target; /* FINAL: the compared column, and a value that nothing reaches */
    dsgd_tune_on on;
    bool of_throughput; /* as nothing is learned */
    const dsgd_experiment *plain; /* the user's */
    const dsgd_texts *own; /* its assignments */
    const char *command; /* the command line */
    dsgd_lines sets; /* the same, the list of algorithms as mappings, and the sweeps */
    dsgd_tuned *algorithms; /* [n_algorithms] */
    size_t n_algorithms;
    const char **options; /* [n_options] tuned options of any algorithm, such as optimizer.lr */
    size_t n_options;
    size_t n_seeds, n_lengths;
    int64_t *seeds; /* [n_seeds] */
    dsgd_until lengths[DSGD_TUNE_MOST_LENGTHS]; /* rising; the last is the file's */
    bool is_prefix; /* a short run is the start of a long one, evaluations included */

    dsgd_experiment grid; /* column k: option k of all algorithms; then the length */
    dsgd_candidate *candidates; /* [n_candidates] in the order of the grid */
    size_t n_candidates;
    dsgd_pool_config pool; /* of the grid's runs */
    dsgd_tune_result *results; /* [n_runs]; NULL before the first round is over */
    dsgd_run_table curves; /* of their evaluations */
} dsgd_tune;

/** A run of a candidate; seeds after the first are for the full length only. */
static inline size_t dsgd_tune_run(const dsgd_tune *t, size_t candidate, size_t length, size_t seed)
{
    return candidate * (t->n_lengths + t->n_seeds - 1) +
           (seed == 0 ? length : t->n_lengths - 1 + seed);
}

/** The value of option @p k, as the column has it; NULL: its algorithm does not have the option. */
static inline const char *dsgd_tune_value(const dsgd_tune *t, size_t candidate, size_t k)
{
    return t->grid.runs[dsgd_tune_run(t, candidate, 0, 0)].swept[k];
}

/** What the runs of a rung are like: an index of a length, and how many seeds there are. */
static inline size_t dsgd_rung_length(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return t->n_lengths - 1 - (rung < a->n_short ? a->n_short - rung : 0);
}

static inline size_t dsgd_rung_seeds(const dsgd_tune *t, const dsgd_tuned *a, size_t rung)
{
    return rung + 1 == a->n_rungs ? t->n_seeds : 1;
}

/** Adds an assignment to a list, which the configuration owns. */
void dsgd_tune_add(dsgd_lines *sets, const char *set);

/* --- plan.c: from an experiment to its candidates --------------------------------------------- */

/**
 * Finds the options in the runs of t->plain; then t->sets sweep them. Refuses an experiment that is
 * not one choice of algorithms.
 */
dsgd_status dsgd_tune_plan(dsgd_tune *t, const dsgd_texts *over, dsgd_error *error);

/**
 * Makes candidates of the runs of the grid, and runs of each candidate; joins the columns of an
 * option into one for all algorithms, such as algorithms.optimizer.lr.
 */
dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error);

/* --- halving.c: what results are worth, and which candidates stay ----------------------------- */

/**
 * The candidate of @p a with the next (@p way 1) or previous (-1) value of option @p k, and the
 * same other values; SIZE_MAX: there is none, or the value is not a number.
 */
size_t dsgd_tune_beside(const dsgd_tune *t, const dsgd_tuned *a, size_t candidate, size_t k,
                        int way);

/**
 * The result of a candidate at a length with a seed, if it ended with a value: of a shorter run, if
 * that reached the target already. NULL: it diverged, or there is none.
 */
const dsgd_tune_result *dsgd_tune_ended(const dsgd_tune *t, size_t candidate, size_t length,
                                        size_t seed);

/** Of a study, whose state is a dsgd_tune: the runs of a round; after it, to the next rungs. */
void dsgd_tune_choose(void *tune, bool *chosen);
dsgd_status dsgd_tune_advance(void *tune, bool *more, dsgd_error *error);

/** Whether a->ranked begins with a best candidate: not if none can win, by the rule of verdicts. */
bool dsgd_tune_has_best(const dsgd_tuned *a);

/* --- summary.c -------------------------------------------------------------------------------- */

/** Prints the table of the best values, which is DIR/tune.csv too, and what is uncertain in it. */
dsgd_status dsgd_tune_print(const dsgd_tune *t, dsgd_error *error);
