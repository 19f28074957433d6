/**
 * @file comparison.c
 * Means over the seeds of a group, and differences to its baseline.
 */
#include "command/analysis/comparison.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/analysis/summary.h"
#include "command/runs/results.h"
#include "command/runs/swept.h"

const dsgd_measure dsgd_measures[] = {
    {"throughput_samples_per_s", false},
    {"step_mean_s", false},
    {"staleness_mean", false},
    {"lag_mean", true},
    {"gradient_staleness_mean", true},
    {"final_loss", false},
    {"final_accuracy", false},
    {"local_loss", true},
    {"local_accuracy", true},
    {"final_consensus", true},
    {"time_to_target_s", true, "virtual_s"}, /* out of curves.csv, with --target */
    {"sent_mean_bytes", true},
    {"energy_j", true},
    {"cost", true},
    {"sent_to_target_bytes", true, "steps", "sent_mean_bytes"},
    {"energy_to_target_j", true, "virtual_s", "energy_j"},
    {"cost_to_target", true, "virtual_s", "cost"},
};

const dsgd_expense dsgd_expenses[DSGD_N_EXPENSES] = {
    {DSGD_SENT, DSGD_SENT_TO_TARGET, "sent per worker", "MB", 1e-6},
    {DSGD_ENERGY, DSGD_ENERGY_TO_TARGET, "energy", "kJ", 1e-3},
    {DSGD_COST, DSGD_COST_TO_TARGET, "cost", NULL, 1},
};

/* --- columns ---------------------------------------------------------------------------------- */

bool dsgd_measure_is_to_target(size_t m)
{
    return dsgd_measures[m].along != NULL;
}

/**
 * The column that a measure is read from, or whose share up to the target it is; n_columns: the file
 * cannot have it. Where it is not in every version of runs.csv, an empty one is as good as none.
 */
static size_t column_of(const dsgd_comparison *c, size_t m)
{
    const dsgd_measure *const measure = &dsgd_measures[m];
    const bool to_target = dsgd_measure_is_to_target(m);
    const size_t none = c->csv.n_columns;
    if (to_target && c->target.column == NULL)
        return none;
    if (m == DSGD_TO_TARGET)
        return 0; /* needs no other */
    if (to_target && (dsgd_csv_column(&c->csv, measure->along) == none ||
                      dsgd_csv_column(&c->curves, measure->along) == c->curves.n_columns))
        return none;
    const size_t column = dsgd_csv_column(&c->csv, to_target ? measure->total : measure->name);
    return m > DSGD_TO_TARGET && column < none && dsgd_csv_first(&c->csv, column) == NULL ? none
                                                                                          : column;
}

static dsgd_status find_columns(dsgd_comparison *c, dsgd_error *error)
{
    static const char *const needed[] = {"workers", "platform", "workload"};
    dsgd_status status = DSGD_OK;
    size_t column = 0;
    for (size_t k = 0; status == DSGD_OK && k < sizeof needed / sizeof needed[0]; k++)
        status = dsgd_csv_need(&c->csv, needed[k], &column, error);
    if (status == DSGD_OK && c->target.column != NULL)
        status = dsgd_csv_need(&c->csv, "run", &c->run, error);
    if (status == DSGD_OK && c->target.column != NULL)
        status = dsgd_target_check(&c->target, &c->curves, error);
    for (size_t m = 0; status == DSGD_OK && m < DSGD_N_MEASURES; m++) {
        c->columns[m] = column_of(c, m);
        if (!dsgd_measures[m].optional)
            status = dsgd_csv_need(&c->csv, dsgd_measures[m].name, &c->columns[m], error);
    }
    return status;
}

const char *dsgd_expense_unit(const dsgd_comparison *c, const dsgd_expense *expense)
{
    return expense->unit != NULL ? expense->unit : dsgd_results_currency(&c->csv);
}

bool dsgd_comparison_has(const dsgd_comparison *c, size_t m)
{
    return c->columns[m] < c->csv.n_columns;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool has_status(const dsgd_comparison *c, size_t row, const char *status)
{
    return strcmp(dsgd_csv_field(&c->csv, row, c->groups.status), status) == 0;
}

dsgd_status dsgd_measure_to_target(const dsgd_csv *runs, size_t row, size_t m, dsgd_reached reached,
                                   double *value, dsgd_error *error)
{
    const char *const along = dsgd_measures[m].along;
    const char *const taken = dsgd_measures[m].total;
    const double far = strcmp(along, "steps") == 0 ? reached.steps : reached.virtual_s;
    double total = NAN, whole = NAN;
    *value = far;
    if (taken == NULL)
        return DSGD_OK;
    dsgd_status status =
        dsgd_csv_read_number(runs, row, dsgd_csv_column(runs, taken), &total, error);
    if (status == DSGD_OK)
        status = dsgd_csv_read_number(runs, row, dsgd_csv_column(runs, along), &whole, error);
    *value = whole > 0 ? total * (far / whole) : NAN;
    return status;
}

/** Reads the numbers of a row; of a run that diverged only the seed. */
static dsgd_status read_numbers(dsgd_comparison *c, size_t row, dsgd_error *error)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->groups.seed);
    if (*seed == '\0' || seed[strspn(seed, "0123456789")] != '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "%s:%zu: seed is `%s`, not a whole number",
                         c->csv.path, c->csv.lines[row + 1], seed);
    dsgd_status status = DSGD_OK;
    dsgd_reached reached = {NAN, NAN};
    if (c->target.column != NULL && !has_status(c, row, "diverged"))
        status = dsgd_target_reach(&c->target, &c->curves, dsgd_csv_field(&c->csv, row, c->run),
                                   &reached, error);
    for (size_t m = 0; status == DSGD_OK && m < DSGD_N_MEASURES; m++) {
        double *const value = &c->values[row * DSGD_N_MEASURES + m];
        *value = NAN;
        if (!dsgd_comparison_has(c, m) || has_status(c, row, "diverged"))
            continue;
        status = dsgd_measure_is_to_target(m)
                     ? dsgd_measure_to_target(&c->csv, row, m, reached, value, error)
                     : dsgd_csv_read_number(&c->csv, row, c->columns[m], value, error);
    }
    return status;
}

static dsgd_status read_rows(dsgd_comparison *c, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    const size_t *const twice = c->groups.twice;
    if (twice[1] > 0)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s:%zu: %s with seed %s is on line %zu too, and no swept column "
                         "distinguishes the two",
                         c->csv.path, c->csv.lines[twice[1] + 1],
                         dsgd_csv_field(&c->csv, twice[1], c->groups.keys[0]),
                         dsgd_csv_field(&c->csv, twice[1], c->groups.seed),
                         c->csv.lines[twice[0] + 1]);
    c->values = dsgd_xcalloc(c->csv.n_rows * DSGD_N_MEASURES + 1, sizeof *c->values);
    for (size_t row = 0; status == DSGD_OK && row < c->csv.n_rows; row++)
        if (c->groups.group_of[row] != SIZE_MAX)
            status = read_numbers(c, row, error);
    if (status == DSGD_OK && c->groups.n == 0)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s: there is no run with status ok or diverged",
                           c->csv.path);
    return status;
}

/* --- groups ----------------------------------------------------------------------------------- */

const dsgd_summary *dsgd_comparison_of(const dsgd_comparison *c, const dsgd_seed_group *g, size_t m)
{
    return &c->summaries[(size_t)(g - c->groups.v) * DSGD_N_MEASURES + m];
}

size_t dsgd_comparison_diverged(const dsgd_comparison *c, const dsgd_seed_group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++)
        n += has_status(c, g->rows[i], "diverged");
    return n;
}

char *dsgd_comparison_label(const dsgd_comparison *c, const dsgd_seed_group *g)
{
    const dsgd_seed_groups *const all = &c->groups;
    char *label = dsgd_xstrdup(dsgd_seed_groups_key(all, g, 0));
    for (size_t k = 1; k < all->n_keys; k++) {
        const char *const column = dsgd_seed_groups_column(all, k);
        if (!all->varies[k] || *dsgd_seed_groups_key(all, g, k) == '\0')
            continue;
        char *const name = dsgd_swept_name(column);
        char *const value = dsgd_swept_value(column, dsgd_seed_groups_key(all, g, k));
        dsgd_append(&label, "; %s %s", name, value);
        free(name);
        free(value);
    }
    return label;
}

/* --- statistics ------------------------------------------------------------------------------- */

/** The median of n_rows times of which the @p n shortest are known; NAN where it is not. */
static double median_of(double *x, size_t n, size_t n_rows)
{
    gsl_sort(x, 1, n);
    if (n_rows / 2 >= n)
        return NAN;
    return n_rows % 2 == 1 ? x[n_rows / 2] : (x[n_rows / 2 - 1] + x[n_rows / 2]) / 2;
}

/**
 * A mean of those seeds alone that reached a target would be that of the lucky ones: there is none
 * unless all did.
 */
static dsgd_summary sum_up_group(const dsgd_comparison *c, const dsgd_seed_group *g, size_t m)
{
    double *const x = dsgd_xcalloc(3 * g->n_rows, sizeof *x);
    double *const differences = x + g->n_rows;
    double *const logs = differences + g->n_rows;
    dsgd_summary s = {.n = 0};
    const bool compared = g->baseline != NULL && g->baseline != g;
    const bool to_target = dsgd_measure_is_to_target(m);
    size_t n_missed = 0; /* pairs of which one never reached the target */
    for (size_t i = 0; i < g->n_rows; i++) {
        const double value = c->values[g->rows[i] * DSGD_N_MEASURES + m];
        if (!isnan(value))
            x[s.n++] = value;
        const size_t *const other =
            compared ? dsgd_seed_groups_seed(&c->groups, g->baseline, g->rows[i]) : NULL;
        const double base = other == NULL ? NAN : c->values[*other * DSGD_N_MEASURES + m];
        n_missed += to_target && other != NULL && (isnan(base) || isnan(value));
        if (isnan(value) || isnan(base))
            continue;
        logs[s.pairs] = log(base / value);
        differences[s.pairs++] = value - base;
    }
    const bool has_mean = !to_target || s.n == g->n_rows;
    dsgd_mean(x, has_mean ? s.n : 0, &s.mean, &s.ci);
    dsgd_mean(differences, n_missed == 0 ? s.pairs : 0, &s.diff, &s.diff_ci);
    if (m == DSGD_THROUGHPUT && compared)
        s.ratio = dsgd_seed_groups_ratio(&c->groups, g, c->columns[m]);
    else
        s.ratio = dsgd_ratio_of(logs, to_target && n_missed == 0 ? s.pairs : 0);
    s.median = median_of(x, s.n, g->n_rows);
    free(x);
    return s;
}

static void sum_up_all(dsgd_comparison *c)
{
    c->summaries = dsgd_xcalloc(c->groups.n * DSGD_N_MEASURES, sizeof *c->summaries);
    for (size_t i = 0; i < c->groups.n; i++)
        for (size_t m = 0; m < DSGD_N_MEASURES; m++)
            c->summaries[i * DSGD_N_MEASURES + m] = sum_up_group(c, &c->groups.v[i], m);
}

/** Reads and sums up DIR/runs.csv. To be closed in any case. */
dsgd_status dsgd_comparison_open(const char *folder, const dsgd_comparison_config *a,
                                 dsgd_comparison *c, dsgd_error *error)
{
    *c = (dsgd_comparison){.run = 0};
    dsgd_status status = dsgd_target_parse(a->target, &c->target, error);
    if (status == DSGD_OK)
        status = dsgd_csv_read(&c->csv, error, "%s/runs.csv", folder);
    if (status == DSGD_OK && c->target.column != NULL)
        status = dsgd_csv_read(&c->curves, error, "%s/curves.csv", folder);
    if (status == DSGD_OK)
        status = dsgd_seed_groups_open(&c->csv, a->by, a->baseline, &c->groups, error);
    if (status == DSGD_OK)
        status = find_columns(c, error);
    if (status == DSGD_OK)
        status = read_rows(c, error);
    if (status == DSGD_OK)
        sum_up_all(c);
    return status;
}

void dsgd_comparison_close(dsgd_comparison *c)
{
    dsgd_seed_groups_close(&c->groups);
    free(c->values);
    free(c->summaries);
    dsgd_csv_close(&c->curves);
    dsgd_csv_close(&c->csv);
}
