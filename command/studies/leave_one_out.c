/**
 * @file leave_one_out.c
 * Slopes of points by constants, fits without a figure, and that figure again.
 */
#include "command/studies/leave_one_out.h"

#include "command/console/data_folder.h"
#include "command/console/table.h"
#include "command/experiment/experiment.h"

typedef struct constant {
    const char *of, *key;
    double value; /* as shipped */
    double low, high; /* ln of the range's ends over it */
} constant;

/** A published point that has an error. */
typedef struct point {
    size_t figure, row; /* of its published.csv */
    double error; /* ln of simulated over published */
    double deviation; /* of that */
    double *slopes; /* [constants] of the error by ln of the constant */
} point;

typedef struct problem {
    dsgd_published *figures;
    size_t n_figures;
    const dsgd_rerun *rerun;
    constant *constants;
    size_t n_constants;
    point *points;
    size_t n_points;
} problem;

/** By how much constants are moved for the slopes. */
static const double moved = 0.1;

/**
 * Deviation of a point that is known exactly: about what the program itself misses by. Without it
 * the fit would be that of the few points whose source shows a thousandth.
 */
static const double least_deviation = 0.05;

/** Whether a figure's platform or workload, the first word of the key, is that of the constant. */
static bool uses(const dsgd_published *f, const constant *c)
{
    const char *const part = dsgd_xprintf("%.*s", (int)strcspn(c->key, "."), c->key);
    const char *const name = dsgd_csv_first(&f->runs, dsgd_csv_column(&f->runs, part));
    return name != NULL && strcmp(name, c->of) == 0;
}

/** The value of a key in a figure's experiment; NAN: it is no number of a platform or workload. */
static double value_in(const dsgd_published *f, const char *key)
{
    dsgd_experiment experiment;
    const bool of_platform = strncmp(key, "platform.", strlen("platform.")) == 0;
    const dsgd_option *const o =
        dsgd_option_find(of_platform ? dsgd_platform_options : dsgd_workload_options,
                         strchr(key, '.') == NULL ? "" : strchr(key, '.') + 1);
    char *const path = dsgd_xprintf("%s/plots/%s/%s.yaml", dsgd_data_folder(), f->name, f->name);
    if (o == NULL || o->kind != DSGD_DOUBLE ||
        dsgd_experiment_open(path, NULL, 0, DSGD_NUMERICS_OFF, &experiment, NULL) != DSGD_OK)
        return NAN;
    const dsgd_planned_run *const run = experiment.runs;
    double value = NAN;
    memcpy(&value, (of_platform ? (char *)&run->platform : (char *)&run->workload) + o->offset,
           sizeof value);
    return value;
}

/** Those that a figure uses. */
static dsgd_status read_constants(problem *p, dsgd_error *error)
{
    dsgd_csv csv;
    size_t of = 0, key = 0;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s/plots/constants.csv", dsgd_data_folder()));
    DSGD_TRY(dsgd_csv_need(&csv, "of", &of, error));
    DSGD_TRY(dsgd_csv_need(&csv, "key", &key, error));
    p->constants = dsgd_keep(csv.n_rows + 1, sizeof *p->constants);
    for (size_t row = 0; row < csv.n_rows; row++) {
        constant c = {.of = dsgd_csv_field(&csv, row, of), .key = dsgd_csv_field(&csv, row, key)};
        const dsgd_published *f = p->figures;
        while (f < p->figures + p->n_figures && !uses(f, &c))
            f++;
        if (f == p->figures + p->n_figures)
            continue;
        c.value = value_in(f, c.key);
        c.low = log(dsgd_csv_value(&csv, row, dsgd_csv_column(&csv, "low")) / c.value);
        c.high = log(dsgd_csv_value(&csv, row, dsgd_csv_column(&csv, "high")) / c.value);
        if (!(c.value > 0 && isfinite(c.low) && c.low <= 0 && c.high >= 0))
            return dsgd_fail(error, DSGD_EIO,
                             "%s:%zu: %s is %g in figure %s, but has to be a number from `low`, "
                             "above 0, to `high`",
                             csv.path, csv.lines[row + 1], c.key, c.value, f->name);
        p->constants[p->n_constants++] = c;
    }
    return DSGD_OK;
}

/** A figure with those constants that it uses times exp(logs[]); itself, if all of these are 0. */
static dsgd_status run_again(const problem *p, const dsgd_published *f, const double *logs,
                             dsgd_published *again, dsgd_error *error)
{
    dsgd_texts sets = {.n = 0};
    char *folder = dsgd_xprintf("%s/left-out/", f->folder);
    for (size_t c = 0; c < p->n_constants; c++) {
        const constant *const of = &p->constants[c];
        if (logs[c] == 0 || !uses(f, of))
            continue;
        char *const set = dsgd_xprintf("%s=%.6g", of->key, of->value * exp(logs[c]));
        dsgd_append(&folder, "%s%s", sets.n == 0 ? "" : ",", strchr(set, '.') + 1);
        sets.v[sets.n++] = set;
    }
    *again = *f;
    if (sets.n == 0)
        return DSGD_OK;
    *again = (dsgd_published){.name = f->name, .folder = folder};
    DSGD_TRY(p->rerun->run(p->rerun->state, f, folder, &sets, error));
    return dsgd_published_open(again, error);
}

/** Adds the points of a figure, with their slopes. */
static dsgd_status add_points(problem *p, size_t figure, dsgd_error *error)
{
    const dsgd_published *const f = &p->figures[figure];
    dsgd_published *const again = dsgd_keep(p->n_constants + 1, sizeof *again);
    double *const logs = dsgd_keep(p->n_constants + 1, sizeof *logs);
    for (size_t c = 0; c < p->n_constants; c++) {
        logs[c] = log1p(moved);
        DSGD_TRY(run_again(p, f, logs, &again[c], error));
        logs[c] = 0;
    }
    for (size_t row = 0; row < f->published.n_rows; row++) {
        const double excess = f->values[row] - dsgd_published_beyond(f, row);
        point x = {.figure = figure,
                   .row = row,
                   .error = log1p(dsgd_published_error(f, row)),
                   .deviation = hypot(least_deviation, dsgd_published_off(f, row) / excess),
                   .slopes = dsgd_keep(p->n_constants + 1, sizeof *x.slopes)};
        if (!isfinite(x.error))
            continue;
        for (size_t c = 0; c < p->n_constants; c++) {
            const double there = log1p(dsgd_published_error(&again[c], row));
            x.slopes[c] = isfinite(there) ? (there - x.error) / log1p(moved) : 0;
        }
        p->points = dsgd_keep_more(p->points, p->n_points + 1, sizeof x);
        p->points[p->n_points++] = x;
    }
    return DSGD_OK;
}

/**
 * Fits logs[] of the constants to the points of all figures but one, a constant at a time until
 * nothing moves. Half a range counts as a deviation from the shipped value.
 */
static void fit(const problem *p, size_t without, double *logs)
{
    enum { PASSES = 1000 };
    static const double huber = 1.5; /* deviations, beyond which a point pulls no harder */
    for (size_t turn = 0; turn < PASSES * p->n_constants; turn++) {
        const size_t c = turn % p->n_constants;
        const double range = 4 / pow(p->constants[c].high - p->constants[c].low, 2);
        double told = 0, pull = 0;
        for (const point *x = p->points; x < p->points + p->n_points; x++) {
            double rest = x->error;
            for (size_t d = 0; d < p->n_constants; d++)
                rest += x->slopes[d] * logs[d];
            const double far = fmax(1, fabs(rest) / (huber * x->deviation));
            const double weight = x->figure == without ? 0 : 1 / (far * pow(x->deviation, 2));
            told += weight * pow(x->slopes[c], 2);
            pull -= weight * x->slopes[c] * (rest - x->slopes[c] * logs[c]);
        }
        logs[c] = fmax(p->constants[c].low, fmin(p->constants[c].high, pull / (told + range)));
        if (told < range)
            logs[c] = 0;
    }
}

/** By less a point does not depend on a constant. */
static const double least_slope = 0.005;

/** Marks the points that depend on what was fitted. */
static void mark_points(const problem *p, size_t figure, const double *logs)
{
    dsgd_published *const f = &p->figures[figure];
    f->is_refitted = dsgd_keep(f->published.n_rows + 1, sizeof *f->is_refitted);
    for (const point *x = p->points; x < p->points + p->n_points; x++)
        for (size_t c = 0; x->figure == figure && c < p->n_constants; c++)
            if (logs[c] != 0 && fabs(x->slopes[c]) >= least_slope)
                f->is_refitted[x->row] = true;
}

/** Adds what was fitted and makes a difference to a figure. */
static void take_fit(const problem *p, size_t figure, const double *logs, dsgd_columns *t)
{
    for (size_t c = 0; c < p->n_constants; c++) {
        double largest = 0;
        for (const point *x = p->points; x < p->points + p->n_points; x++)
            largest = fmax(largest, x->figure == figure ? fabs(x->slopes[c]) : 0);
        if (largest < least_slope)
            continue;
        dsgd_columns_row(t);
        dsgd_columns_put(t, "left out", "%s", p->figures[figure].name);
        dsgd_columns_put(t, "constant", "%s", strchr(p->constants[c].key, '.') + 1);
        dsgd_columns_put(t, "shipped", "%.3g", p->constants[c].value);
        dsgd_columns_put(t, "fitted", logs[c] == 0 ? "no other figure tells" : "%.3g",
                         p->constants[c].value * exp(logs[c]));
        dsgd_columns_put(t, "largest slope", "%.2g", largest);
    }
}

dsgd_status dsgd_leave_one_out(dsgd_published *figures, size_t n, const dsgd_rerun *rerun,
                               dsgd_error *error)
{
    problem p = {.figures = figures, .n_figures = n, .rerun = rerun};
    dsgd_columns t = {.wraps = true, .is_markdown = rerun->markdown};
    DSGD_TRY(read_constants(&p, error));
    for (size_t f = 0; f < n; f++)
        DSGD_TRY(add_points(&p, f, error));
    dsgd_published *const again = dsgd_keep(n + 1, sizeof *again);
    for (size_t f = 0; f < n; f++) {
        double *const logs = dsgd_keep(p.n_constants + 1, sizeof *logs);
        fit(&p, f, logs);
        DSGD_TRY(run_again(&p, &figures[f], logs, &again[f], error));
        figures[f].left_out = &again[f];
        mark_points(&p, f, logs);
        take_fit(&p, f, logs, &t);
    }
    puts("\nconstants fitted to all other figures");
    dsgd_columns_print(&t);
    return DSGD_OK;
}
