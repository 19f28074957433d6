/**
 * @file scores.c
 * What runs are worth: how soon they reach the target, else how near to it they come.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "command/runs/results.h"
#include "command/studies/tune/tune.h"

/* --- results ---------------------------------------------------------------------------------- */

/** Reads one evaluation into the result of its run. */
static void read_evaluation(dsgd_tune *t, dsgd_tune_result *r, dsgd_curve_point now)
{
    const dsgd_curve_point none = {NAN, NAN};
    const dsgd_curve_point before = r->n == 0 ? none : t->evaluations[r->first + r->n - 1];
    if (isnan(r->reached))
        r->reached = dsgd_target_place(&t->target, before, now);
    t->evaluations[r->first + r->n++] = now;
    r->ended = now.at;
}

/** Of --on final: accuracy where there is one, else loss. */
static void choose_measure(dsgd_tune *t, const dsgd_csv *curves)
{
    const size_t accuracy = dsgd_csv_column(curves, "accuracy");
    t->target = (dsgd_target){.column = "loss", .value = -INFINITY, .below = true};
    if (curves->n_rows > 0 && !isnan(dsgd_csv_value(curves, 0, accuracy)))
        t->target = (dsgd_target){.column = "accuracy", .value = INFINITY};
}

static dsgd_status read_curves(dsgd_tune *t, dsgd_error *error)
{
    dsgd_csv csv;
    dsgd_status status = dsgd_csv_read(&csv, error, "%s/curves.csv", t->folder);
    if (status == DSGD_OK && t->on == DSGD_TUNE_FINAL)
        choose_measure(t, &csv);
    const size_t run = dsgd_csv_column(&csv, "run");
    const size_t at = dsgd_csv_column(&csv, t->on == DSGD_TUNE_TIME ? "virtual_s" : "steps");
    const size_t steps = dsgd_csv_column(&csv, "steps");
    const size_t value = status == DSGD_OK ? dsgd_csv_column(&csv, t->target.column) : 0;
    free(t->evaluations);
    t->evaluations = dsgd_xcalloc(csv.n_rows + 1, sizeof *t->evaluations);
    for (size_t row = 0; row < csv.n_rows && status == DSGD_OK; row++) {
        const double i = dsgd_csv_value(&csv, row, run);
        const double x = dsgd_csv_value(&csv, row, value);
        if (!(i >= 1 && i <= (double)t->experiment->n_runs))
            status = dsgd_fail(error, DSGD_EIO, "%s:%zu: this is no row of the experiment",
                               csv.path, csv.lines[row + 1]);
        else if (isnan(x) && t->results[(size_t)i - 1].n == 0)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "%s:%zu: there is no %s, as there is none of a regression; give "
                               "--target loss=NUMBER",
                               csv.path, csv.lines[row + 1], t->target.column);
        if (status != DSGD_OK)
            break;
        if (isnan(x)) /* where it diverged */
            continue;
        dsgd_tune_result *const r = &t->results[(size_t)i - 1];
        r->first = r->n == 0 ? row : r->first; /* the rows of a run follow one another */
        read_evaluation(t, r, (dsgd_curve_point){dsgd_csv_value(&csv, row, at), x});
        r->steps = dsgd_csv_value(&csv, row, steps);
    }
    dsgd_csv_close(&csv);
    return status;
}

dsgd_status dsgd_tune_read(dsgd_tune *t, dsgd_error *error)
{
    dsgd_csv csv;
    free(t->results);
    t->results = dsgd_xcalloc(t->experiment->n_runs, sizeof *t->results);
    for (size_t i = 0; i < t->experiment->n_runs; i++)
        t->results[i].reached = NAN;
    dsgd_status status = dsgd_csv_read(&csv, error, "%s/runs.csv", t->folder);
    const size_t run = dsgd_csv_column(&csv, "run");
    const size_t outcome = dsgd_csv_column(&csv, "status");
    for (size_t row = 0; row < csv.n_rows && status == DSGD_OK; row++) {
        const double i = dsgd_csv_value(&csv, row, run);
        if (!(i >= 1 && i <= (double)t->experiment->n_runs) || outcome == csv.n_columns)
            status = dsgd_fail(error, DSGD_EIO, "%s:%zu: this is no row of the experiment",
                               csv.path, csv.lines[row + 1]);
        else
            t->results[(size_t)i - 1] = (dsgd_tune_result){
                .is_done = dsgd_status_has_results(dsgd_csv_field(&csv, row, outcome)),
                .diverged = strcmp(dsgd_csv_field(&csv, row, outcome), "diverged") == 0,
                .reached = NAN};
    }
    dsgd_csv_close(&csv);
    return status == DSGD_OK ? read_curves(t, error) : status;
}

const dsgd_tune_result *dsgd_tune_result_of(const dsgd_tune *t, const dsgd_tune_contestant *c,
                                            size_t candidate, size_t length, size_t seed)
{
    if (t->results == NULL)
        return NULL;
    for (size_t l = t->is_prefix ? 0 : length; l <= length; l++) {
        const size_t run = dsgd_tune_run(t, c, candidate, l, seed);
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

/** Of a candidate, whose seeds that miss the target are read at @p at. */
static dsgd_tune_score score(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate,
                             double at)
{
    dsgd_tune_score s = {.n_seeds = dsgd_tune_seeds(t, c, c->rung)};
    double places = 0;
    double values = 0;
    for (size_t seed = 0; seed < s.n_seeds; seed++) {
        const dsgd_tune_result *const r =
            dsgd_tune_result_of(t, c, candidate, dsgd_tune_length(t, c, c->rung), seed);
        if (r == NULL || r->diverged || r->n == 0) {
            s.n_diverged++;
        } else if (!isnan(r->reached)) {
            s.n_reached++;
            places += r->reached;
        } else {
            values += value_at(t, r, at);
        }
    }
    const size_t n_missed = s.n_seeds - s.n_diverged - s.n_reached;
    s.place = s.n_reached == 0 ? NAN : places / (double)s.n_reached;
    s.near = n_missed == 0 ? NAN : values / (double)n_missed;
    return s;
}

void dsgd_tune_score_all(const dsgd_tune *t, const dsgd_tune_contestant *c,
                         const size_t *candidates, size_t n, dsgd_tune_score *scores)
{
    /* Options that change the time of a step are compared at one time, not at one step. */
    double at = INFINITY;
    for (size_t i = 0; i < n && t->on != DSGD_TUNE_FINAL; i++)
        for (size_t seed = 0; seed < dsgd_tune_seeds(t, c, c->rung); seed++) {
            const dsgd_tune_result *const r =
                dsgd_tune_result_of(t, c, candidates[i], dsgd_tune_length(t, c, c->rung), seed);
            if (r != NULL && !r->diverged && r->n > 0 && isnan(r->reached))
                at = fmin(at, r->ended);
        }
    for (size_t i = 0; i < n; i++)
        scores[i] = score(t, c, candidates[i], at);
}

static int order_of(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

int dsgd_tune_compare(const dsgd_tune *t, const dsgd_tune_score *a, const dsgd_tune_score *b)
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
