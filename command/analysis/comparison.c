/**
 * @file comparison.c
 * Computes the mean of each point over its seeds, and the difference of this mean from the
 * baseline.
 */
#include "command/analysis/comparison.h"

#include <gsl/gsl_sort.h>

const dsgd_measure dsgd_measures[DSGD_N_MEASURES] = {
#define X(key, ...) {__VA_ARGS__},
    DSGD_MEASURE_LIST(X)
#undef X
};

const dsgd_expense dsgd_expenses[DSGD_N_EXPENSES] = {
    {DSGD_SENT, DSGD_SENT_TO_TARGET, "sent per worker", "MB", 1e-6},
    {DSGD_ENERGY, DSGD_ENERGY_TO_TARGET, "energy", "kJ", 1e-3},
    {DSGD_COST, DSGD_COST_TO_TARGET, "cost", NULL, 1},
};

/* --- texts ------------------------------------------------------------------------------------ */

static char *readable(double x, bool per_cent, bool sign)
{
    if (per_cent)
        return dsgd_xprintf(sign ? "%+.2f" : "%.2f", 100 * x);
    return dsgd_xprintf("%s%s", sign && !signbit(x) ? "+" : "", dsgd_readable(x, 4));
}

char *dsgd_interval_text(dsgd_interval x, double multiple, bool per_cent, bool sign)
{
    char *text = isnan(x.mean) ? dsgd_xstrdup("") : readable(multiple * x.mean, per_cent, sign);
    if (!isnan(x.mean) && !isnan(x.ci))
        dsgd_append(
            &text, " ± %s",
            readable(x.ci > DSGD_ROUNDING * fabs(x.mean) ? multiple * x.ci : 0, per_cent, false));
    return text;
}

const char *dsgd_to_target_text(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                                double multiple)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    if (s->of.n < dsgd_comparison_of(c, p, DSGD_TO_TARGET)->of.n)
        return ""; /* The run reaches the target, but its bytes, energy or cost up to the target are
                    * unknown. */
    if (s->of.n == p->n_rows)
        return dsgd_interval_text(s->of, multiple, false, false);
    if (s->of.n == 0)
        return "never";
    char *text = dsgd_xprintf("%zu of %zu seeds", s->of.n, p->n_rows);
    if (!isnan(s->median))
        dsgd_append(&text, ", median %s", readable(multiple * s->median, false, false));
    return text;
}

void dsgd_expense_table(const dsgd_comparison *c, dsgd_columns *t)
{
    const bool until = c->target.column != NULL;
    for (size_t i = 0; i < c->frame.n_points; i++) {
        const dsgd_frame_point *const p = &c->frame.points[i];
        dsgd_columns_row(t);
        dsgd_columns_take(t, "runs", dsgd_frame_label(&c->frame, p));
        if (until)
            dsgd_columns_take(t, "time (s)", dsgd_to_target_text(c, p, DSGD_TO_TARGET, 1));
        for (const dsgd_expense *e = dsgd_expenses; e < dsgd_expenses + DSGD_N_EXPENSES; e++) {
            const char *const unit = e->unit != NULL ? e->unit : dsgd_frame_currency(&c->frame);
            const size_t m = until ? e->to_target : e->measure;
            if (c->numbers[m] != NULL)
                dsgd_columns_take(t, dsgd_xprintf("%s (%s)", e->head, unit),
                                  until ? dsgd_to_target_text(c, p, m, e->multiple)
                                        : dsgd_interval_text(dsgd_comparison_of(c, p, m)->of,
                                                             e->multiple, false, false));
        }
    }
}

/* --- columns ---------------------------------------------------------------------------------- */

/**
 * Returns true if the files contain the columns of a measure. An optional column without values
 * counts as missing.
 */
static bool is_there(const dsgd_comparison *c, size_t m)
{
    const dsgd_measure *const measure = &dsgd_measures[m];
    const bool to_target = dsgd_measures[m].along != NULL;
    const size_t none = c->csv.n_columns;
    if (to_target && c->target.column == NULL)
        return false;
    /* The time to the target needs no further column. */
    if (m == DSGD_TO_TARGET)
        return true;
    if (to_target && (dsgd_csv_column(&c->csv, measure->along) == none ||
                      dsgd_csv_column(&c->curves.csv, measure->along) == c->curves.csv.n_columns))
        return false;
    const size_t column = dsgd_csv_column(&c->csv, to_target ? measure->total : measure->name);
    return column < none && (m < DSGD_TO_TARGET || dsgd_csv_first(&c->csv, column) != NULL);
}

static dsgd_status check_columns(const dsgd_comparison *c, dsgd_error *error)
{
    static const char *const needed[] = {"workers", "platform", "workload", "run"};
    size_t column = 0;
    for (size_t k = 0; k < (c->target.column == NULL ? 3 : 4); k++)
        DSGD_TRY(dsgd_csv_need(&c->csv, needed[k], &column, error));
    if (c->target.column != NULL)
        DSGD_TRY(dsgd_target_check(&c->target, &c->curves.csv, error));
    for (size_t m = 0; m < DSGD_N_MEASURES; m++)
        if (!dsgd_measures[m].optional)
            DSGD_TRY(dsgd_csv_need(&c->csv, dsgd_measures[m].name, &column, error));
    return DSGD_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

dsgd_status dsgd_measure_row(const dsgd_frame *f, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, size_t row, double *x, dsgd_error *error)
{
    const dsgd_measure *const measure = &dsgd_measures[m];
    if (measure->along == NULL) {
        *x = dsgd_frame_number(f, row, measure->name);
        return DSGD_OK;
    }
    dsgd_passage passage = {NAN, NAN};
    const dsgd_status status =
        dsgd_frame_counts(f, row, "final_loss")
            ? dsgd_target_reach(target, curves, row, measure->along, &passage, error)
            : DSGD_OK;
    *x = passage.place;
    if (measure->total != NULL) {
        const double whole = dsgd_frame_number(f, row, measure->along);
        /* If workers fail, the energy of a run is not proportional to its time. */
        const bool is_even =
            m != DSGD_ENERGY_TO_TARGET || !(dsgd_frame_number(f, row, "failures") > 0);
        *x = is_even && whole > 0
                 ? dsgd_frame_number(f, row, measure->total) * (passage.place / whole)
                 : NAN;
    }
    return error == NULL ? DSGD_OK : status;
}

double *dsgd_measure_numbers(const dsgd_frame *f, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, dsgd_error *error)
{
    if (dsgd_measures[m].along == NULL)
        return dsgd_frame_numbers(f, dsgd_measures[m].name);
    double *const x = dsgd_keep(f->csv->n_rows + 1, sizeof *x);
    for (size_t row = 0; row < f->csv->n_rows; row++)
        if (dsgd_measure_row(f, m, target, curves, row, &x[row], error) != DSGD_OK)
            return NULL;
    return x;
}

/**
 * Checks that all seeds are whole numbers. Also checks that fields of measures are numbers or
 * empty, unless the field does not count.
 */
static dsgd_status check_rows(const dsgd_comparison *c, dsgd_error *error)
{
    size_t columns[3 * DSGD_N_MEASURES], n = 0; /* indices of the columns from which the measures
                                                 * are computed */
    for (size_t k = 0; k < 3 * DSGD_N_MEASURES; k++) {
        const dsgd_measure *const m = &dsgd_measures[k / 3];
        const char *const name = k % 3 == 0 ? m->name : k % 3 == 1 ? m->along : m->total;
        columns[n] = name == NULL ? c->csv.n_columns : dsgd_csv_column(&c->csv, name);
        n += columns[n] < c->csv.n_columns && is_there(c, k / 3);
    }
    const size_t of_seed = dsgd_csv_column(&c->csv, "seed");
    for (size_t row = 0; row < c->csv.n_rows; row++) {
        const char *const seed = dsgd_csv_field(&c->csv, row, of_seed);
        if (c->frame.point_of[row] == SIZE_MAX)
            continue;
        if (*seed == '\0' || seed[strspn(seed, "0123456789")] != '\0')
            return dsgd_refuse(error, "%s:%zu: seed must be a whole number, got `%s`", c->csv.path,
                               c->csv.lines[row + 1], seed);
        for (size_t k = 0; k < n; k++) {
            double x = 0;
            if (dsgd_csv_read_number(&c->csv, row, columns[k], &x, NULL) != DSGD_OK &&
                dsgd_frame_counts(&c->frame, row, c->csv.fields[columns[k]]))
                return dsgd_csv_read_number(&c->csv, row, columns[k], &x, error);
        }
    }
    return DSGD_OK;
}

static dsgd_status read_rows(dsgd_comparison *c, dsgd_error *error)
{
    for (size_t row = 0; row < c->csv.n_rows; row++) {
        const size_t point = c->frame.point_of[row];
        const size_t same =
            point == SIZE_MAX ? row : dsgd_frame_seed(&c->frame, &c->frame.points[point], row);
        if (same < row)
            return dsgd_refuse(error,
                               "%s:%zu: %s with seed %s is also on line %zu, and no swept column "
                               "distinguishes the two runs",
                               c->csv.path, c->csv.lines[row + 1],
                               dsgd_csv_field(&c->csv, row, c->frame.keys[0]),
                               dsgd_field_of(&c->csv, row, "seed"), c->csv.lines[same + 1]);
    }
    DSGD_TRY(check_rows(c, error));
    if (c->frame.n_points == 0)
        return dsgd_refuse(error, "%s: no run has the status ok or diverged", c->csv.path);
    for (size_t m = 0; m < DSGD_N_MEASURES; m++)
        if (is_there(c, m)) {
            c->numbers[m] = dsgd_measure_numbers(&c->frame, m, &c->target, &c->curves, error);
            if (c->numbers[m] == NULL)
                return DSGD_EUSAGE;
        }
    return DSGD_OK;
}

/* --- statistics ------------------------------------------------------------------------------- */

const dsgd_summary *dsgd_comparison_of(const dsgd_comparison *c, const dsgd_frame_point *p,
                                       size_t m)
{
    return &c->summaries[(size_t)(p - c->frame.points) * DSGD_N_MEASURES + m];
}

/**
 * Returns the median of numbers over all seeds of a point. Unknown numbers count as larger than all
 * known numbers. Returns NAN if the median is unknown.
 */
static double median_of(const dsgd_frame_point *p, const double *numbers)
{
    double *const x = dsgd_keep(p->n_rows, sizeof *x);
    const size_t n = dsgd_frame_known(p, numbers, x);
    gsl_sort(x, 1, n);
    const size_t middle = p->n_rows / 2;
    if (middle >= n)
        return NAN;
    return p->n_rows % 2 == 1 ? x[middle] : (x[middle - 1] + x[middle]) / 2;
}

/**
 * Computes statistics of a measure at a point. A mean over only the seeds that reached a target
 * would be biased towards lucky seeds. Therefore, the mean exists only if all seeds reached the
 * target. A difference or ratio exists only if both runs of every pair reached the target.
 */
static dsgd_summary sum_up(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m)
{
    const double *const x = c->numbers[m];
    const dsgd_frame_point *const other = p->baseline == p ? NULL : p->baseline;
    dsgd_summary s = {
        .of = {NAN, NAN, 0}, .difference = {NAN, NAN, 0}, .ratio = dsgd_ratio_of(NULL, 0)};
    if (x == NULL)
        return s;
    double *const differences = dsgd_keep(2 * p->n_rows, sizeof *differences);
    double *const others = differences + p->n_rows;
    const size_t n_pairs = dsgd_frame_pairs(&c->frame, p, other, x, differences, others);
    const bool to_target = dsgd_measures[m].along != NULL;
    size_t n_seeds = 0; /* number of seeds that occur in both points */
    for (size_t i = 0; other != NULL && i < p->n_rows; i++)
        n_seeds += dsgd_frame_seed(&c->frame, other, p->rows[i]) != SIZE_MAX;
    for (size_t i = 0; i < n_pairs; i++)
        differences[i] -= others[i];
    const bool all = !to_target || n_pairs == n_seeds;
    s.of = dsgd_frame_mean(p, x);
    if (to_target && s.of.n < p->n_rows)
        s.of.mean = s.of.ci = NAN;
    s.difference = dsgd_mean(differences, all ? n_pairs : 0);
    s.difference.n = n_pairs;
    if (m == DSGD_THROUGHPUT)
        s.ratio = dsgd_frame_ratio(&c->frame, p, other, x);
    /*
     * For a measure up to a target, a smaller value is better. Therefore, divide the baseline by
     * the point.
     */
    else if (to_target && all && other != NULL)
        s.ratio = dsgd_frame_ratio(&c->frame, other, p, x);
    s.median = median_of(p, x);
    return s;
}

dsgd_status dsgd_comparison_open(const char *folder, const dsgd_framing *framing,
                                 const char *target, dsgd_comparison *c, dsgd_error *error)
{
    *c = (dsgd_comparison){.summaries = NULL};
    DSGD_TRY(dsgd_target_parse(target, &c->target, error));
    DSGD_TRY(dsgd_runs_read(&c->csv, folder, error));
    if (c->target.column != NULL)
        DSGD_TRY(dsgd_run_table_open(&c->curves, &c->csv, folder, "curves.csv", error));
    DSGD_TRY(dsgd_frame_open(&c->csv, framing, &c->frame, error));
    DSGD_TRY(check_columns(c, error));
    DSGD_TRY(read_rows(c, error));
    c->summaries = dsgd_keep(c->frame.n_points * DSGD_N_MEASURES + 1, sizeof *c->summaries);
    for (size_t i = 0; i < c->frame.n_points * DSGD_N_MEASURES; i++)
        c->summaries[i] = sum_up(c, &c->frame.points[i / DSGD_N_MEASURES], i % DSGD_N_MEASURES);
    return DSGD_OK;
}
