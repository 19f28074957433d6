/**
 * @file comparison.c
 * Means over the seeds of a group, and differences to its baseline.
 */
#include "command/analyse/comparison.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/analyse/summary.h"
#include "command/run/results.h"

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

/* --- columns ---------------------------------------------------------------------------------- */

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
    static const char *const needed[] = {"workers", "platform", "workload"};
    dsgd_status status = DSGD_OK;
    for (size_t k = 0; status == DSGD_OK && k < sizeof needed / sizeof needed[0]; k++) {
        size_t column = 0;
        status = dsgd_csv_need(&c->csv, needed[k], &column, error);
    }
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

/* --- rows ------------------------------------------------------------------------------------- */

static bool has_status(const dsgd_comparison *c, size_t row, const char *status)
{
    return strcmp(dsgd_csv_field(&c->csv, row, c->groups.status), status) == 0;
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
    double before[2] = {NAN, NAN};
    *time_s = NAN;
    for (size_t row = 0; isnan(*time_s) && row < curves->n_rows; row++) {
        double at[2] = {NAN, NAN}; /* the time, and the value then */
        if (strcmp(dsgd_csv_field(curves, row, of_run), run) != 0)
            continue;
        for (size_t k = 0; k < 2; k++)
            if (read_field(curves, row, columns[k], &at[k], error) != DSGD_OK)
                return DSGD_EUSAGE;
        const bool reached = c->target.below ? at[1] <= c->target.value : at[1] >= c->target.value;
        if (reached && isnan(before[1]))
            *time_s = at[0];
        else if (reached)
            *time_s = before[0] +
                      (at[0] - before[0]) * (c->target.value - before[1]) / (at[1] - before[1]);
        memcpy(before, at, sizeof before);
    }
    return DSGD_OK;
}

/** Reads the numbers of a row; of a run that diverged only the seed. */
static dsgd_status read_numbers(dsgd_comparison *c, size_t row, dsgd_error *error)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->groups.seed);
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
    size_t n_missed = 0; /* pairs of which one never reached the target */
    for (size_t i = 0; i < g->n_rows; i++) {
        const double value = c->values[g->rows[i] * DSGD_N_MEASURES + m];
        if (!isnan(value))
            x[s.n++] = value;
        const size_t *const other =
            compared ? dsgd_seed_groups_seed(&c->groups, g->baseline, g->rows[i]) : NULL;
        const double base = other == NULL ? NAN : c->values[*other * DSGD_N_MEASURES + m];
        n_missed += m == DSGD_TO_TARGET && other != NULL && (isnan(base) || isnan(value));
        if (isnan(value) || isnan(base))
            continue;
        logs[s.pairs] = log(base / value);
        differences[s.pairs++] = value - base;
    }
    const bool has_mean = m != DSGD_TO_TARGET || s.n == g->n_rows;
    dsgd_mean(x, has_mean ? s.n : 0, &s.mean, &s.ci);
    dsgd_mean(differences, n_missed == 0 ? s.pairs : 0, &s.diff, &s.diff_ci);
    if (m == DSGD_THROUGHPUT && compared)
        s.ratio = dsgd_seed_groups_ratio(&c->groups, g, c->columns[m]);
    else
        s.ratio = dsgd_ratio_of(logs, m == DSGD_TO_TARGET && n_missed == 0 ? s.pairs : 0);
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

dsgd_status dsgd_target_parse(const char *text, dsgd_target *t, dsgd_error *error)
{
    static const struct {
        const char *column, *allowed;
        double most;
        bool below;
    } quantities[] = {{"accuracy", "from 0 to 1", 1, false},
                      {"loss", "at least 0", INFINITY, true}};
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        const char *const column = quantities[i].column;
        const size_t n = strlen(column);
        *t = (dsgd_target){.text = text, .column = column, .below = quantities[i].below};
        if (strncmp(text, column, n) != 0 || text[n] != '=' ||
            !dsgd_parse_number(text + n + 1, NULL, &t->value))
            continue;
        if (t->value >= 0 && t->value <= quantities[i].most)
            return DSGD_OK;
        return dsgd_fail(error, DSGD_EUSAGE, "--target %s: %s has to be %s", text, column,
                         quantities[i].allowed);
    }
    return dsgd_fail(error, DSGD_EUSAGE, "--target %s: accuracy=NUMBER or loss=NUMBER is expected",
                     text);
}

/** Reads and sums up DIR/runs.csv. To be closed in any case. */
dsgd_status dsgd_comparison_open(const char *folder, const dsgd_comparison_config *a,
                                 dsgd_comparison *c, dsgd_error *error)
{
    *c = (dsgd_comparison){.run = 0};
    dsgd_status status =
        a->target == NULL ? DSGD_OK : dsgd_target_parse(a->target, &c->target, error);
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
