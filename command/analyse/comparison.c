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
    return m > DSGD_TO_TARGET && column < none && dsgd_column_is_empty(&c->csv, column) ? none
                                                                                        : column;
}

static dsgd_status find_columns(dsgd_comparison *c, dsgd_error *error)
{
    dsgd_status status = find_keys(c, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "seed", &c->seed, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "status", &c->status, error);
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

/** Costs are in one currency: an experiment of several is refused. */
const char *dsgd_expense_unit(const dsgd_comparison *c, const dsgd_expense *expense)
{
    const size_t column = dsgd_csv_column(&c->csv, "currency");
    if (expense->unit != NULL)
        return expense->unit;
    for (size_t row = 0; column < c->csv.n_columns && row < c->csv.n_rows; row++)
        if (*dsgd_csv_field(&c->csv, row, column) != '\0')
            return dsgd_csv_field(&c->csv, row, column);
    return "";
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

/** The part of a run's total, such as its energy, that it has taken when it reaches the target. */
static dsgd_status read_share(const dsgd_comparison *c, size_t row, size_t m, dsgd_reached reached,
                              double *value, dsgd_error *error)
{
    const char *const along = dsgd_measures[m].along;
    const double far = strcmp(along, "steps") == 0 ? reached.steps : reached.virtual_s;
    double total = NAN, whole = NAN;
    *value = far;
    if (m == DSGD_TO_TARGET)
        return DSGD_OK;
    dsgd_status status = dsgd_read_field(&c->csv, row, c->columns[m], &total, error);
    if (status == DSGD_OK)
        status = dsgd_read_field(&c->csv, row, dsgd_csv_column(&c->csv, along), &whole, error);
    *value = whole > 0 ? total * (far / whole) : NAN;
    return status;
}

/** Reads the numbers of a row; of a run that diverged only the seed. */
static dsgd_status read_numbers(dsgd_comparison *c, size_t row, dsgd_error *error)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->seed);
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
                     ? read_share(c, row, m, reached, value, error)
                     : dsgd_read_field(&c->csv, row, c->columns[m], value, error);
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
    const bool to_target = dsgd_measure_is_to_target(m);
    size_t n_missed = 0; /* pairs of which one never reached the target */
    for (size_t i = 0; i < g->n_rows; i++) {
        const double value = c->values[g->rows[i] * DSGD_N_MEASURES + m];
        if (!isnan(value))
            x[s->n++] = value;
        const size_t *const other = g->baseline == NULL || g->baseline == g
                                        ? NULL
                                        : dsgd_comparison_seed(c, g->baseline, g->rows[i]);
        const double base = other == NULL ? NAN : c->values[*other * DSGD_N_MEASURES + m];
        n_missed += to_target && other != NULL && (isnan(base) || isnan(value));
        if (isnan(value) || isnan(base))
            continue;
        logs[s->pairs] = to_target ? log(base / value) : log(value / base);
        differences[s->pairs++] = value - base;
    }
    const bool has_mean = !to_target || s->n == g->n_rows;
    dsgd_mean(x, has_mean ? s->n : 0, &s->mean, &s->ci);
    dsgd_mean(differences, n_missed == 0 ? s->pairs : 0, &s->diff, &s->diff_ci);
    const bool is_speed = m == DSGD_THROUGHPUT || to_target;
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
