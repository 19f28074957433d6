/**
 * @file comparison.c
 * Runs as groups that differ only in the seed, each with its baseline.
 */
#include "command/analyse/comparison.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/analyse/summary.h"
#include "command/run/results.h"

/** The columns that are averaged; optional ones are not in every version of runs.csv. */
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
    {"time_to_target_s", true}, /* virtual; out of curves.csv, with --target */
};

/** Columns that name a run; the swept ones come behind them. */
static const char *const names_of_runs[] = {"algorithm", "workers", "platform", "workload"};

enum { N_NAMES = sizeof names_of_runs / sizeof names_of_runs[0] };

/* --- columns ---------------------------------------------------------------------------------- */

/** The keys: the names of a run, and the swept columns, which follow wall_s. */
static dsgd_status find_keys(dsgd_comparison *c, dsgd_error *error)
{
    size_t wall = 0;
    dsgd_status status = dsgd_csv_need(&c->csv, "wall_s", &wall, error);
    c->keys = dsgd_xcalloc(c->csv.n_columns + N_NAMES, sizeof *c->keys);
    for (size_t k = 0; status == DSGD_OK && k < N_NAMES; k++)
        status = dsgd_csv_need(&c->csv, names_of_runs[k], &c->keys[c->n_keys++], error);
    for (size_t k = wall + 1; k < c->csv.n_columns; k++)
        if (strcmp(c->csv.fields[k], "seed") != 0) /* a sweep of seeds is a list of seeds */
            c->keys[c->n_keys++] = k;
    return status;
}

static bool is_empty(const dsgd_csv *csv, size_t column)
{
    for (size_t row = 0; row < csv->n_rows; row++)
        if (*dsgd_csv_field(csv, row, column) != '\0')
            return false;
    return true;
}

/** Checks the columns that times to a target are computed from; only with a target. */
static dsgd_status find_target(dsgd_comparison *c, dsgd_error *error)
{
    const char *const needed[] = {"run", "virtual_s", c->target.column};
    c->columns[DSGD_TO_TARGET] = c->csv.n_columns;
    if (c->target.column == NULL)
        return DSGD_OK;
    dsgd_status status = dsgd_csv_need(&c->csv, "run", &c->run, error);
    size_t column = 0;
    for (size_t i = 0; status == DSGD_OK && i < sizeof needed / sizeof needed[0]; i++)
        status = dsgd_csv_need(&c->curves, needed[i], &column, error);
    if (status == DSGD_OK && c->curves.n_rows > 0 && is_empty(&c->curves, column))
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s: %s is empty, as it is of a regression; give --target loss=NUMBER",
                         c->curves.path, c->target.column);
    c->columns[DSGD_TO_TARGET] = 0; /* dsgd_comparison_has() */
    return status;
}

static dsgd_status find_columns(dsgd_comparison *c, dsgd_error *error)
{
    dsgd_status status = find_keys(c, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "seed", &c->seed, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "status", &c->status, error);
    for (size_t m = 0; status == DSGD_OK && m < DSGD_N_MEASURES; m++) {
        if (m == DSGD_TO_TARGET)
            status = find_target(c, error);
        else if (dsgd_measures[m].optional)
            c->columns[m] = dsgd_csv_column(&c->csv, dsgd_measures[m].name);
        else
            status = dsgd_csv_need(&c->csv, dsgd_measures[m].name, &c->columns[m], error);
    }
    return status;
}

bool dsgd_comparison_has(const dsgd_comparison *c, size_t m)
{
    return c->columns[m] < c->csv.n_columns;
}

const char *dsgd_comparison_column(const dsgd_comparison *c, size_t k)
{
    return c->csv.fields[c->keys[k]];
}

static const char *key_of_row(const dsgd_comparison *c, size_t row, size_t k)
{
    return dsgd_csv_field(&c->csv, row, c->keys[k]);
}

const char *dsgd_comparison_key(const dsgd_comparison *c, const dsgd_seed_group *g, size_t k)
{
    return key_of_row(c, g->rows[0], k);
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool has_status(const dsgd_comparison *c, size_t row, const char *status)
{
    return strcmp(dsgd_csv_field(&c->csv, row, c->status), status) == 0;
}

/** A number, or NAN where the field is empty. */
static dsgd_status read_field(const dsgd_csv *csv, size_t row, size_t column, double *number,
                              dsgd_error *error)
{
    const char *const text = dsgd_csv_field(csv, row, column);
    *number = NAN;
    if (*text == '\0' || dsgd_parse_number(text, NULL, number))
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EUSAGE, "%s:%zu: %s is `%s`, not a number", csv->path,
                     csv->lines[row + 1], csv->fields[column], text);
}

/**
 * The time at which a run first reaches the target, interpolated linearly between evaluations; NAN:
 * never.
 */
static dsgd_status read_time_to_target(const dsgd_comparison *c, const char *run, double *time_s,
                                       dsgd_error *error)
{
    const dsgd_csv *const curves = &c->curves;
    const size_t of_run = dsgd_csv_column(curves, "run");
    const size_t columns[] = {dsgd_csv_column(curves, "virtual_s"),
                              dsgd_csv_column(curves, c->target.column)};
    dsgd_curve_point before = {NAN, NAN};
    *time_s = NAN;
    for (size_t row = 0; isnan(*time_s) && row < curves->n_rows; row++) {
        dsgd_curve_point now = {NAN, NAN};
        if (strcmp(dsgd_csv_field(curves, row, of_run), run) != 0)
            continue;
        if (read_field(curves, row, columns[0], &now.at, error) != DSGD_OK ||
            read_field(curves, row, columns[1], &now.value, error) != DSGD_OK)
            return DSGD_EUSAGE;
        *time_s = dsgd_target_place(&c->target, before, now);
        before = now;
    }
    return DSGD_OK;
}

/** Reads the numbers of a row; of a run that diverged only the seed. */
static dsgd_status read_numbers(dsgd_comparison *c, size_t row, dsgd_error *error)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->seed);
    if (*seed == '\0' || seed[strspn(seed, "0123456789")] != '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "%s:%zu: seed is `%s`, not a whole number",
                         c->csv.path, c->csv.lines[row + 1], seed);
    dsgd_status status = DSGD_OK;
    for (size_t m = 0; status == DSGD_OK && m < DSGD_N_MEASURES; m++) {
        double *const value = &c->values[row * DSGD_N_MEASURES + m];
        *value = NAN;
        if (!dsgd_comparison_has(c, m) || has_status(c, row, "diverged"))
            continue;
        status = m == DSGD_TO_TARGET
                     ? read_time_to_target(c, dsgd_csv_field(&c->csv, row, c->run), value, error)
                     : read_field(&c->csv, row, c->columns[m], value, error);
    }
    return status;
}

static bool is_in(const dsgd_comparison *c, const dsgd_seed_group *g, size_t row)
{
    for (size_t k = 0; k < c->n_keys; k++)
        if (strcmp(dsgd_comparison_key(c, g, k), key_of_row(c, row, k)) != 0)
            return false;
    return true;
}

/** The group's row with the seed of @p row (of any group), or NULL. */
const size_t *dsgd_comparison_seed(const dsgd_comparison *c, const dsgd_seed_group *g, size_t row)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->seed);
    for (size_t i = 0; i < g->n_rows; i++)
        if (strcmp(dsgd_csv_field(&c->csv, g->rows[i], c->seed), seed) == 0)
            return &g->rows[i];
    return NULL;
}

static dsgd_seed_group *group_of(dsgd_comparison *c, size_t row)
{
    for (size_t i = 0; i < c->n_groups; i++)
        if (is_in(c, &c->groups[i], row))
            return &c->groups[i];
    c->groups = dsgd_xrealloc(c->groups, c->n_groups + 1, sizeof *c->groups);
    c->groups[c->n_groups] = (dsgd_seed_group){.rows = NULL};
    return &c->groups[c->n_groups++];
}

static dsgd_status add_row(dsgd_comparison *c, size_t row, dsgd_error *error)
{
    dsgd_seed_group *const g = group_of(c, row);
    const size_t *const same = dsgd_comparison_seed(c, g, row);
    if (same != NULL)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "%s:%zu: %s with seed %s is on line %zu too, and no swept column "
                         "distinguishes the two",
                         c->csv.path, c->csv.lines[row + 1], key_of_row(c, row, 0),
                         dsgd_csv_field(&c->csv, row, c->seed), c->csv.lines[*same + 1]);
    g->rows = dsgd_xrealloc(g->rows, g->n_rows + 1, sizeof *g->rows);
    g->rows[g->n_rows++] = row;
    g->n_diverged += has_status(c, row, "diverged");
    return read_numbers(c, row, error);
}

static dsgd_status read_rows(dsgd_comparison *c, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    c->values = dsgd_xcalloc(c->csv.n_rows * DSGD_N_MEASURES + 1, sizeof *c->values);
    for (size_t row = 0; status == DSGD_OK && row < c->csv.n_rows; row++) {
        if (dsgd_status_has_results(dsgd_csv_field(&c->csv, row, c->status)))
            status = add_row(c, row, error);
        else
            c->n_left_out++;
    }
    if (status == DSGD_OK && c->n_groups == 0)
        status = dsgd_fail(error, DSGD_EUSAGE, "%s: there is no run with status ok or diverged",
                           c->csv.path);
    return status;
}

/**
 * Finds the keys that vary, and names the groups by them: "wagma; group 4" (gnuplot ends a text at
 * a comma).
 */
static void label_groups(dsgd_comparison *c)
{
    c->varies = dsgd_xcalloc(c->n_keys, sizeof *c->varies);
    for (size_t k = 0; k < c->n_keys; k++)
        for (size_t i = 1; i < c->n_groups; i++)
            if (strcmp(dsgd_comparison_key(c, &c->groups[i], k),
                       dsgd_comparison_key(c, &c->groups[0], k)) != 0)
                c->varies[k] = true;
    for (size_t i = 0; i < c->n_groups; i++) {
        dsgd_seed_group *const g = &c->groups[i];
        g->label = dsgd_xstrdup(dsgd_comparison_key(c, g, 0));
        for (size_t k = 1; k < c->n_keys; k++) {
            if (!c->varies[k] || *dsgd_comparison_key(c, g, k) == '\0')
                continue;
            char *const name = dsgd_swept_name(dsgd_comparison_column(c, k));
            char *const value =
                dsgd_swept_value(dsgd_comparison_column(c, k), dsgd_comparison_key(c, g, k));
            dsgd_append(&g->label, "; %s %s", name, value);
            free(name);
            free(value);
        }
    }
}

/* --- the baseline ----------------------------------------------------------------------------- */

/**
 * The one of @p names that is @p name. If there is none, NULL, and the sentence names those that
 * there are.
 */
static const char *const *pick(const char *name, const char *option, const char *const *names,
                               const dsgd_comparison *c, dsgd_error *error)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return &names[i];
    char *const hint = dsgd_hint(name, names);
    char *const all = dsgd_listed(names, ", ");
    dsgd_fail(error, DSGD_EUSAGE, "%s: %s `%s` is unknown%s; there is %s", c->csv.path, option,
              name, hint, all);
    free(hint);
    free(all);
    return NULL;
}

static dsgd_status find_by(dsgd_comparison *c, const char *by, dsgd_error *error)
{
    if (by == NULL)
        return DSGD_OK; /* the first key is the algorithm */
    const char **const names = dsgd_xcalloc(c->n_keys + 1, sizeof *names);
    for (size_t k = 0; k < c->n_keys; k++)
        names[k] = dsgd_comparison_column(c, k);
    const char *const *const found = pick(by, "--by", names, c, error);
    c->by = found == NULL ? 0 : (size_t)(found - names);
    free(names);
    return found == NULL ? DSGD_EUSAGE : DSGD_OK;
}

static dsgd_status find_baseline(dsgd_comparison *c, const char *name, dsgd_error *error)
{
    const char **const names = dsgd_xcalloc(c->n_groups + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < c->n_groups; i++) {
        const char *const value = dsgd_comparison_key(c, &c->groups[i], c->by);
        size_t k = 0;
        while (k < n && strcmp(names[k], value) != 0)
            k++;
        names[k] = value;
        n += k == n;
        if (name == NULL && strcmp(value, "allreduce") == 0)
            c->baseline = value;
    }
    if (c->baseline == NULL) {
        const char *const *const found =
            pick(name == NULL ? names[0] : name, "--baseline", names, c, error);
        c->baseline = found == NULL ? NULL : *found;
    }
    free(names);
    return c->baseline == NULL ? DSGD_EUSAGE : DSGD_OK;
}

/**
 * Whether a key may differ from the baseline's: the one compared by, and with the algorithm what is
 * swept of algorithms alone.
 */
bool dsgd_comparison_is_own(const dsgd_comparison *c, size_t k)
{
    return k == c->by || (c->by == 0 && dsgd_is_of_algorithms(dsgd_comparison_column(c, k)));
}

static bool is_baseline_of(const dsgd_comparison *c, const dsgd_seed_group *b,
                           const dsgd_seed_group *g)
{
    if (strcmp(dsgd_comparison_key(c, b, c->by), c->baseline) != 0)
        return false;
    for (size_t k = 0; k < c->n_keys; k++)
        if (!dsgd_comparison_is_own(c, k) &&
            strcmp(dsgd_comparison_key(c, b, k), dsgd_comparison_key(c, g, k)) != 0)
            return false;
    return true;
}

/** The first that fits: where the baseline's own options are swept, that is their first value. */
static const dsgd_seed_group *baseline_of(const dsgd_comparison *c, const dsgd_seed_group *g)
{
    for (size_t i = 0; i < c->n_groups; i++)
        if (is_baseline_of(c, &c->groups[i], g))
            return &c->groups[i];
    return NULL;
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
static void sum_up_group(const dsgd_comparison *c, dsgd_seed_group *g, size_t m)
{
    double *const x = dsgd_xcalloc(3 * g->n_rows, sizeof *x);
    double *const differences = x + g->n_rows;
    double *const logs = differences + g->n_rows;
    dsgd_summary *const s = &g->of[m];
    size_t n_missed = 0; /* pairs of which one never reached the target */
    for (size_t i = 0; i < g->n_rows; i++) {
        const double value = c->values[g->rows[i] * DSGD_N_MEASURES + m];
        if (!isnan(value))
            x[s->n++] = value;
        const size_t *const other = g->baseline == NULL || g->baseline == g
                                        ? NULL
                                        : dsgd_comparison_seed(c, g->baseline, g->rows[i]);
        const double base = other == NULL ? NAN : c->values[*other * DSGD_N_MEASURES + m];
        n_missed += m == DSGD_TO_TARGET && other != NULL && (isnan(base) || isnan(value));
        if (isnan(value) || isnan(base))
            continue;
        logs[s->pairs] = m == DSGD_TO_TARGET ? log(base / value) : log(value / base);
        differences[s->pairs++] = value - base;
    }
    const bool has_mean = m != DSGD_TO_TARGET || s->n == g->n_rows;
    dsgd_mean(x, has_mean ? s->n : 0, &s->mean, &s->ci);
    dsgd_mean(differences, n_missed == 0 ? s->pairs : 0, &s->diff, &s->diff_ci);
    const bool is_speed = m == DSGD_THROUGHPUT || m == DSGD_TO_TARGET;
    s->ratio = dsgd_ratio_of(logs, is_speed && n_missed == 0 ? s->pairs : 0);
    s->median = median_of(x, s->n, g->n_rows);
    free(x);
}

static void sum_up_all(dsgd_comparison *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        c->groups[i].baseline = baseline_of(c, &c->groups[i]);
        for (size_t m = 0; m < DSGD_N_MEASURES; m++)
            sum_up_group(c, &c->groups[i], m);
    }
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
        status = find_columns(c, error);
    if (status == DSGD_OK)
        status = find_by(c, a->by, error);
    if (status == DSGD_OK)
        status = read_rows(c, error);
    if (status == DSGD_OK)
        status = find_baseline(c, a->baseline, error);
    if (status != DSGD_OK)
        return status;
    label_groups(c);
    sum_up_all(c);
    return DSGD_OK;
}

void dsgd_comparison_close(dsgd_comparison *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        free(c->groups[i].rows);
        free(c->groups[i].label);
    }
    free(c->groups);
    free(c->values);
    free(c->varies);
    free(c->keys);
    dsgd_csv_close(&c->curves);
    dsgd_csv_close(&c->csv);
}
