/**
 * @file scores.c
 * What runs are worth: how soon they reach the target, else how near to it they come.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "command/studies/tune/tune.h"

/* --- results ---------------------------------------------------------------------------------- */

static dsgd_status read_curves(dsgd_tune *t, const dsgd_csv *csv, dsgd_error *error)
{
    const size_t run = dsgd_csv_column(csv, "run"), steps = dsgd_csv_column(csv, "steps");
    const size_t at = t->on == DSGD_TUNE_TIME ? dsgd_csv_column(csv, "virtual_s") : steps;
    const size_t value = dsgd_csv_column(csv, t->target.column);
    t->evaluations = dsgd_xcalloc(csv->n_rows + 1, sizeof *t->evaluations);
    for (size_t row = 0; row < csv->n_rows; row++) {
        const double i = dsgd_csv_value(csv, row, run);
        const dsgd_curve_point now = {dsgd_csv_value(csv, row, at),
                                      dsgd_csv_value(csv, row, value)};
        if (!(i >= 1 && i <= (double)t->grid.n_runs))
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: this is no row of the experiment", csv->path,
                             csv->lines[row + 1]);
        dsgd_tune_result *const r = &t->results[(size_t)i - 1];
        if (isnan(now.value) && r->n == 0)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "%s:%zu: there is no %s, as there is none of a regression; give "
                             "--target loss=NUMBER",
                             csv->path, csv->lines[row + 1], t->target.column);
        if (isnan(now.value)) /* where it diverged */
            continue;
        r->first = r->n == 0 ? row : r->first; /* the rows of a run follow one another */
        if (isnan(r->reached))
            r->reached = dsgd_target_place(&t->target,
                                           r->n == 0 ? (dsgd_curve_point){NAN, NAN}
                                                     : t->evaluations[r->first + r->n - 1],
                                           now);
        t->evaluations[r->first + r->n++] = now;
        r->steps = dsgd_csv_value(csv, row, steps);
    }
    return DSGD_OK;
}

dsgd_status dsgd_tune_read(dsgd_tune *t, dsgd_error *error)
{
    free(t->evaluations);
    t->evaluations = NULL;
    t->results = dsgd_xrealloc(t->results, t->grid.n_runs, sizeof *t->results);
    for (size_t i = 0; i < t->grid.n_runs; i++) {
        const char *const outcome = dsgd_results_field(t->pool.results, i, "status");
        t->results[i] =
            (dsgd_tune_result){.is_done = dsgd_results_state(t->pool.results, i) == DSGD_RUN_DONE,
                               .diverged = outcome != NULL && strcmp(outcome, "diverged") == 0,
                               .reached = NAN};
    }
    dsgd_csv csv;
    dsgd_status status = dsgd_csv_read(&csv, error, "%s/curves.csv", t->pool.folder);
    if (status == DSGD_OK &&
        t->on == DSGD_TUNE_FINAL) { /* accuracy where there is one, else loss */
        t->target = (dsgd_target){.column = "loss", .value = -INFINITY, .below = true};
        if (csv.n_rows > 0 && !isnan(dsgd_csv_value(&csv, 0, dsgd_csv_column(&csv, "accuracy"))))
            t->target = (dsgd_target){.column = "accuracy", .value = INFINITY};
    }
    if (status == DSGD_OK)
        status = read_curves(t, &csv, error);
    dsgd_csv_close(&csv);
    return status;
}

const dsgd_tune_result *dsgd_tune_result_of(const dsgd_tune *t, const dsgd_tuned *a,
                                            size_t candidate, size_t length, size_t seed)
{
    if (t->results == NULL)
        return NULL;
    for (size_t l = t->is_prefix ? 0 : length; l <= length; l++) {
        const size_t run = dsgd_tune_run(t, a, candidate, l, seed);
        const dsgd_tune_result *const r = run == 0 ? NULL : &t->results[run - 1];
        if (r != NULL && r->is_done && (l == length || (!isnan(r->reached) && !r->diverged)))
            return r;
    }
    return NULL;
}

/* --- scores ----------------------------------------------------------------------------------- */

/** The value of a run at a time or step, between evaluations on a line. */
static double value_at(const dsgd_tune *t, const dsgd_tune_result *r, double at)
{
    const dsgd_curve_point *const e = t->evaluations + r->first;
    size_t k = 0;
    while (k + 1 < r->n && e[k].at < at)
        k++;
    if (k == 0 || e[k].at <= at)
        return e[k].value;
    return e[k - 1].value +
           (e[k].value - e[k - 1].value) * (at - e[k - 1].at) / (e[k].at - e[k - 1].at);
}

void dsgd_tune_score(const dsgd_tune *t, const dsgd_tuned *a, dsgd_tune_trial *trials, size_t n)
{
    const size_t length = a->rungs[a->rung].length, n_seeds = a->rungs[a->rung].n_seeds;
    /* Options that change the time of a step are compared at one time, not at one step. */
    double at = INFINITY;
    for (size_t i = 0; i < n * n_seeds && t->on != DSGD_TUNE_FINAL; i++) {
        const dsgd_tune_result *const r =
            dsgd_tune_result_of(t, a, trials[i / n_seeds].candidate, length, i % n_seeds);
        if (r != NULL && !r->diverged && r->n > 0 && isnan(r->reached))
            at = fmin(at, t->evaluations[r->first + r->n - 1].at);
    }
    for (dsgd_tune_trial *x = trials; x < trials + n; x++) {
        double places = 0, values = 0;
        for (size_t seed = 0; seed < n_seeds; seed++) {
            const dsgd_tune_result *const r = dsgd_tune_result_of(t, a, x->candidate, length, seed);
            if (r == NULL || r->diverged || r->n == 0) {
                x->n_diverged++;
            } else if (!isnan(r->reached)) {
                x->n_reached++;
                places += r->reached;
            } else {
                values += value_at(t, r, at);
            }
        }
        const size_t n_missed = n_seeds - x->n_diverged - x->n_reached;
        x->n_seeds = n_seeds;
        x->place = x->n_reached == 0 ? NAN : places / (double)x->n_reached;
        x->near = n_missed == 0 ? NAN : values / (double)n_missed;
    }
}

static int order_of(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

int dsgd_tune_compare(const dsgd_tune *t, const dsgd_tune_trial *a, const dsgd_tune_trial *b)
{
    if (a->n_diverged != b->n_diverged)
        return a->n_diverged > b->n_diverged ? 1 : -1;
    if (a->n_reached != b->n_reached)
        return a->n_reached < b->n_reached ? 1 : -1;
    const int places = order_of(a->place, b->place);
    if (places != 0)
        return places;
    return order_of(t->target.below ? a->near : -a->near, t->target.below ? b->near : -b->near);
}
