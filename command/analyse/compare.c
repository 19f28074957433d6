/**
 * @file compare.c
 * `dsgd compare`: means over seeds with confidence intervals, and differences to a baseline, paired
 * by seed.
 *
 * A group is the runs that differ only in the seed. Runs with the same seed have the same draws
 * (common random numbers), so differences are taken seed by seed: the variance between seeds
 * cancels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/option.h"
#include "command/analyse/summary.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/run/exchanges.h"
#include "command/table.h"

/** The columns that are averaged; optional ones are not in every version of runs.csv. */
static const struct {
    const char *name;
    bool optional;
} measures[] = {
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

enum {
    THROUGHPUT,
    STEP,
    STALENESS,
    LAG,
    GRADIENT_STALENESS,
    LOSS,
    ACCURACY,
    LOCAL_LOSS,
    LOCAL_ACCURACY,
    CONSENSUS,
    TO_TARGET,
    N_MEASURES
};

/** The value to reach. */
typedef struct target {
    const char *text, *column; /* such as accuracy=0.8; of curves.csv; NULL: nothing */
    double value;
    bool below; /* reached from above, as a loss is */
} target;

/** Columns that name a run; the swept ones come behind them. */
static const char *const names_of_runs[] = {"algorithm", "workers", "platform", "workload"};

enum { N_NAMES = sizeof names_of_runs / sizeof names_of_runs[0] };

/** A measure of a group; no number is NAN. */
typedef struct summary {
    size_t n, pairs;
    double mean, ci, diff, diff_ci;
} summary;

typedef struct group {
    size_t *rows; /* [n_rows]: one per seed, in the order of the file */
    size_t n_rows, n_diverged;
    char *label; /* the algorithm and what distinguishes the group */
    const struct group *baseline; /* NULL: none with everything else in common */
    summary of[N_MEASURES];
} group;

typedef struct comparison {
    dsgd_csv csv, curves; /* curves: with a target alone */
    target target;
    size_t run, seed, status; /* columns */
    size_t columns[N_MEASURES]; /* n_columns of the file: it does not have this one */
    size_t *keys, n_keys; /* columns that name a group */
    bool *varies; /* [n_keys]: not the same for all groups */
    size_t by; /* the key by which a baseline and the others differ */
    const char *baseline;
    double *values; /* [n_rows][N_MEASURES] */
    group *groups;
    size_t n_groups, n_left_out;
} comparison;

typedef struct arguments {
    dsgd_operands folder;
    const char *baseline, *by, *target;
} arguments;

/* --- columns ---------------------------------------------------------------------------------- */

/** The keys: the names of a run, and the swept columns, which follow wall_s. */
static dsgd_status find_keys(comparison *c, dsgd_error *error)
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

/** Checks the columns that times to a target are computed from; only with a target. */
static dsgd_status find_target(comparison *c, dsgd_error *error)
{
    const char *const needed[] = {"run", "virtual_s", c->target.column};
    c->columns[TO_TARGET] = c->csv.n_columns;
    if (c->target.column == NULL)
        return DSGD_OK;
    dsgd_status status = dsgd_csv_need(&c->csv, "run", &c->run, error);
    size_t column = 0;
    for (size_t i = 0; status == DSGD_OK && i < sizeof needed / sizeof needed[0]; i++)
        status = dsgd_csv_need(&c->curves, needed[i], &column, error);
    c->columns[TO_TARGET] = 0; /* has_measure() */
    return status;
}

static dsgd_status find_columns(comparison *c, dsgd_error *error)
{
    dsgd_status status = find_keys(c, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "seed", &c->seed, error);
    if (status == DSGD_OK)
        status = dsgd_csv_need(&c->csv, "status", &c->status, error);
    for (size_t m = 0; status == DSGD_OK && m < N_MEASURES; m++) {
        if (m == TO_TARGET)
            status = find_target(c, error);
        else if (measures[m].optional)
            c->columns[m] = dsgd_csv_column(&c->csv, measures[m].name);
        else
            status = dsgd_csv_need(&c->csv, measures[m].name, &c->columns[m], error);
    }
    return status;
}

static bool has_measure(const comparison *c, size_t m)
{
    return c->columns[m] < c->csv.n_columns;
}

static const char *name_of_key(const comparison *c, size_t k)
{
    return c->csv.fields[c->keys[k]];
}

static const char *key_of_row(const comparison *c, size_t row, size_t k)
{
    return dsgd_csv_field(&c->csv, row, c->keys[k]);
}

static const char *key_of(const comparison *c, const group *g, size_t k)
{
    return key_of_row(c, g->rows[0], k);
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool has_status(const comparison *c, size_t row, const char *status)
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
static dsgd_status read_time_to_target(const comparison *c, const char *run, double *time_s,
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
static dsgd_status read_numbers(comparison *c, size_t row, dsgd_error *error)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->seed);
    if (*seed == '\0' || seed[strspn(seed, "0123456789")] != '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "%s:%zu: seed is `%s`, not a whole number",
                         c->csv.path, c->csv.lines[row + 1], seed);
    dsgd_status status = DSGD_OK;
    for (size_t m = 0; status == DSGD_OK && m < N_MEASURES; m++) {
        double *const value = &c->values[row * N_MEASURES + m];
        *value = NAN;
        if (!has_measure(c, m) || has_status(c, row, "diverged"))
            continue;
        status = m == TO_TARGET
                     ? read_time_to_target(c, dsgd_csv_field(&c->csv, row, c->run), value, error)
                     : read_field(&c->csv, row, c->columns[m], value, error);
    }
    return status;
}

static bool is_in(const comparison *c, const group *g, size_t row)
{
    for (size_t k = 0; k < c->n_keys; k++)
        if (strcmp(key_of(c, g, k), key_of_row(c, row, k)) != 0)
            return false;
    return true;
}

/** The group's row with the seed of @p row (of any group), or NULL. */
static const size_t *find_seed(const comparison *c, const group *g, size_t row)
{
    const char *const seed = dsgd_csv_field(&c->csv, row, c->seed);
    for (size_t i = 0; i < g->n_rows; i++)
        if (strcmp(dsgd_csv_field(&c->csv, g->rows[i], c->seed), seed) == 0)
            return &g->rows[i];
    return NULL;
}

static group *group_of(comparison *c, size_t row)
{
    for (size_t i = 0; i < c->n_groups; i++)
        if (is_in(c, &c->groups[i], row))
            return &c->groups[i];
    c->groups = dsgd_xrealloc(c->groups, c->n_groups + 1, sizeof *c->groups);
    c->groups[c->n_groups] = (group){.rows = NULL};
    return &c->groups[c->n_groups++];
}

static dsgd_status add_row(comparison *c, size_t row, dsgd_error *error)
{
    group *const g = group_of(c, row);
    const size_t *const same = find_seed(c, g, row);
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

static dsgd_status read_rows(comparison *c, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    c->values = dsgd_xcalloc(c->csv.n_rows * N_MEASURES + 1, sizeof *c->values);
    for (size_t row = 0; status == DSGD_OK && row < c->csv.n_rows; row++) {
        if (has_status(c, row, "ok") || has_status(c, row, "diverged"))
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
static void label_groups(comparison *c)
{
    c->varies = dsgd_xcalloc(c->n_keys, sizeof *c->varies);
    for (size_t k = 0; k < c->n_keys; k++)
        for (size_t i = 1; i < c->n_groups; i++)
            if (strcmp(key_of(c, &c->groups[i], k), key_of(c, &c->groups[0], k)) != 0)
                c->varies[k] = true;
    for (size_t i = 0; i < c->n_groups; i++) {
        group *const g = &c->groups[i];
        g->label = dsgd_xstrdup(key_of(c, g, 0));
        for (size_t k = 1; k < c->n_keys; k++) {
            if (!c->varies[k] || *key_of(c, g, k) == '\0')
                continue;
            char *const name = dsgd_swept_name(name_of_key(c, k));
            char *const value = dsgd_swept_value(name_of_key(c, k), key_of(c, g, k));
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
                               const comparison *c, dsgd_error *error)
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

static dsgd_status find_by(comparison *c, const char *by, dsgd_error *error)
{
    if (by == NULL)
        return DSGD_OK; /* the first key is the algorithm */
    const char **const names = dsgd_xcalloc(c->n_keys + 1, sizeof *names);
    for (size_t k = 0; k < c->n_keys; k++)
        names[k] = name_of_key(c, k);
    const char *const *const found = pick(by, "--by", names, c, error);
    c->by = found == NULL ? 0 : (size_t)(found - names);
    free(names);
    return found == NULL ? DSGD_EUSAGE : DSGD_OK;
}

static dsgd_status find_baseline(comparison *c, const char *name, dsgd_error *error)
{
    const char **const names = dsgd_xcalloc(c->n_groups + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < c->n_groups; i++) {
        const char *const value = key_of(c, &c->groups[i], c->by);
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
static bool is_own(const comparison *c, size_t k)
{
    return k == c->by || (c->by == 0 && dsgd_is_of_algorithms(name_of_key(c, k)));
}

static bool is_baseline_of(const comparison *c, const group *b, const group *g)
{
    if (strcmp(key_of(c, b, c->by), c->baseline) != 0)
        return false;
    for (size_t k = 0; k < c->n_keys; k++)
        if (!is_own(c, k) && strcmp(key_of(c, b, k), key_of(c, g, k)) != 0)
            return false;
    return true;
}

/** The first that fits: where the baseline's own options are swept, that is their first value. */
static const group *baseline_of(const comparison *c, const group *g)
{
    for (size_t i = 0; i < c->n_groups; i++)
        if (is_baseline_of(c, &c->groups[i], g))
            return &c->groups[i];
    return NULL;
}

/* --- statistics ------------------------------------------------------------------------------- */

static void sum_up_group(const comparison *c, group *g, size_t m)
{
    double *const x = dsgd_xcalloc(2 * g->n_rows, sizeof *x);
    double *const differences = x + g->n_rows;
    summary *const s = &g->of[m];
    for (size_t i = 0; i < g->n_rows; i++) {
        const double value = c->values[g->rows[i] * N_MEASURES + m];
        if (isnan(value))
            continue;
        x[s->n++] = value;
        const size_t *const other =
            g->baseline == NULL || g->baseline == g ? NULL : find_seed(c, g->baseline, g->rows[i]);
        if (other != NULL && !isnan(c->values[*other * N_MEASURES + m]))
            differences[s->pairs++] = value - c->values[*other * N_MEASURES + m];
    }
    dsgd_mean(x, s->n, &s->mean, &s->ci);
    dsgd_mean(differences, s->pairs, &s->diff, &s->diff_ci);
    free(x);
}

static void sum_up_all(comparison *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        c->groups[i].baseline = baseline_of(c, &c->groups[i]);
        for (size_t m = 0; m < N_MEASURES; m++)
            sum_up_group(c, &c->groups[i], m);
    }
}

/* --- compare.csv ------------------------------------------------------------------------------ */

static void write_header(FILE *stream, const comparison *c)
{
    for (size_t k = 0; k < c->n_keys; k++) {
        dsgd_csv_text(stream, name_of_key(c, k));
        fputc(',', stream);
    }
    fputs("label,n_diverged", stream);
    for (size_t m = 0; m < N_MEASURES; m++)
        if (has_measure(c, m))
            fprintf(stream, ",%s_n,%s_mean,%s_ci,%s_diff,%s_diff_ci", measures[m].name,
                    measures[m].name, measures[m].name, measures[m].name, measures[m].name);
    fputc('\n', stream);
}

static void write_group(FILE *stream, const comparison *c, const group *g)
{
    for (size_t k = 0; k < c->n_keys; k++) {
        dsgd_csv_text(stream, key_of(c, g, k));
        fputc(',', stream);
    }
    dsgd_csv_text(stream, g->label);
    fprintf(stream, ",%zu", g->n_diverged);
    for (size_t m = 0; m < N_MEASURES; m++) {
        const summary *const s = &g->of[m];
        const double numbers[] = {s->mean, s->ci, s->diff, s->diff_ci};
        if (!has_measure(c, m))
            continue;
        fprintf(stream, ",%zu", s->n);
        dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
    }
    fputc('\n', stream);
}

static dsgd_status write_csv(const comparison *c, const char *folder, dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/compare.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    write_header(stream, c);
    for (size_t i = 0; i < c->n_groups; i++)
        write_group(stream, c, &c->groups[i]);
    return dsgd_whole_close(&file, error);
}

/* --- the table -------------------------------------------------------------------------------- */

/** A number for readers, from 1,000 on without a fraction; the caller frees it. */
static char *readable(double x, bool per_cent, bool sign)
{
    if (per_cent)
        return dsgd_xprintf(sign ? "%+.2f" : "%.2f", 100 * x);
    if (fabs(x) >= 1000)
        return dsgd_xprintf(sign ? "%+.0f" : "%.0f", x);
    return dsgd_xprintf(sign ? "%+.4g" : "%.4g", x);
}

/** Bound of the rounding errors in the mean of equal numbers. */
static double rounding_of(double x)
{
    return 1e-9 * fabs(x);
}

/** "12.34 ± 0.56", or less where there is less. */
static char *with_interval(double x, double ci, bool per_cent, bool sign)
{
    if (isnan(x))
        return dsgd_xstrdup("");
    char *const number = readable(x, per_cent, sign);
    if (isnan(ci))
        return number;
    char *const half = readable(ci > rounding_of(x) ? ci : 0, per_cent, false);
    char *const both = dsgd_xprintf("%s ± %s", number, half);
    free(number);
    free(half);
    return both;
}

static char *difference_of(const group *g, size_t m)
{
    const summary *const s = &g->of[m];
    if (g->baseline == g)
        return dsgd_xstrdup("baseline");
    char *const text = with_interval(s->diff, s->diff_ci, m == ACCURACY, true);
    char pairs[48] = "";
    if (s->pairs > 0 && s->pairs < s->n)
        snprintf(pairs, sizeof pairs, " (%zu pairs)", s->pairs);
    const bool marked = fabs(s->diff) > s->diff_ci + rounding_of(s->mean);
    char *const cell = dsgd_xprintf("%s%s%s", text, marked ? " *" : "", pairs);
    free(text);
    return cell;
}

/** The first measure of the table: accuracy, else loss, else throughput. */
static size_t leading_measure(const comparison *c)
{
    static const size_t order[] = {ACCURACY, LOSS};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++)
        for (size_t i = 0; i < c->n_groups; i++)
            if (c->groups[i].of[order[k]].n > 0)
                return order[k];
    return THROUGHPUT;
}

static char *mean_of(const group *g, size_t m)
{
    return with_interval(g->of[m].mean, g->of[m].ci, m == ACCURACY, false);
}

/** Means over the seeds that reached the target. */
static char *time_to_target(const group *g)
{
    const summary *const s = &g->of[TO_TARGET];
    char *mean = mean_of(g, TO_TARGET);
    if (s->n == 0)
        dsgd_append(&mean, "never");
    else if (s->n < g->n_rows)
        dsgd_append(&mean, " (%zu of %zu)", s->n, g->n_rows);
    return mean;
}

static void put_group(const comparison *c, const group *g, size_t m, dsgd_columns *t)
{
    static const char throughput[] = "throughput (samples/s)";
    dsgd_columns_row(t);
    for (size_t k = 0; k < c->n_keys; k++)
        if (k == 0 || c->varies[k])
            dsgd_columns_put(t, name_of_key(c, k), "%s", key_of(c, g, k));
    dsgd_columns_put(t, "n", "%zu", g->of[m].n);
    dsgd_columns_put(t, "diverged", "%zu", g->n_diverged);
    dsgd_columns_take(t,
                      m == ACCURACY ? "accuracy (%)"
                      : m == LOSS   ? "loss"
                                    : throughput,
                      mean_of(g, m));
    dsgd_columns_take(t, "difference", difference_of(g, m));
    if (m != THROUGHPUT)
        dsgd_columns_take(t, throughput, mean_of(g, THROUGHPUT));
    if (has_measure(c, TO_TARGET)) {
        char *const head = dsgd_xprintf("time to %s (s)", c->target.text);
        dsgd_columns_take(t, head, time_to_target(g));
        free(head);
    }
}

static void print_comparison(const comparison *c)
{
    const size_t m = leading_measure(c);
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < c->n_groups; i++)
        put_group(c, &c->groups[i], m, &t);
    dsgd_columns_hide(&t, "diverged", "0");
    dsgd_columns_print(&t);
    printf("\n±: half width of the 95 %% confidence interval over seeds.\n"
           "Difference: to %s %s, over common seeds.\n"
           "*: the interval of this difference, taken alone, excludes 0.\n",
           name_of_key(c, c->by), c->baseline);
    if (c->n_left_out > 0)
        printf("%zu runs that are neither ok nor diverged are left out.\n", c->n_left_out);
    dsgd_exchanges_warn_of_mix(stdout, &c->csv);
}

/* --- the command ------------------------------------------------------------------------------ */

static dsgd_status parse_target(const char *text, target *t, dsgd_error *error)
{
    static const char *const columns[] = {"accuracy", "loss"};
    for (size_t i = 0; text != NULL && i < 2; i++) {
        const size_t n = strlen(columns[i]);
        *t = (target){.text = text, .column = columns[i], .below = i == 1};
        if (strncmp(text, columns[i], n) == 0 && text[n] == '=' &&
            dsgd_parse_number(text + n + 1, NULL, &t->value))
            return DSGD_OK;
    }
    return text == NULL
               ? DSGD_OK
               : dsgd_fail(error, DSGD_EUSAGE,
                           "--target %s: accuracy=NUMBER or loss=NUMBER is expected", text);
}

/** Reads and sums up DIR/runs.csv. To be closed in any case. */
static dsgd_status compare_open(const char *folder, const arguments *a, comparison *c,
                                dsgd_error *error)
{
    *c = (comparison){.run = 0};
    dsgd_status status = parse_target(a->target, &c->target, error);
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

static void compare_close(comparison *c)
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

/** Whether compare.csv exists and is not older than runs.csv. */
static bool is_fresh(const char *folder)
{
    struct stat made = {0}, from = {0};
    char *const compare_path = dsgd_xprintf("%s/compare.csv", folder);
    char *const runs_path = dsgd_xprintf("%s/runs.csv", folder);
    const bool both = stat(compare_path, &made) == 0 && stat(runs_path, &from) == 0;
    free(compare_path);
    free(runs_path);
    return both && (made.st_mtim.tv_sec > from.st_mtim.tv_sec ||
                    (made.st_mtim.tv_sec == from.st_mtim.tv_sec &&
                     made.st_mtim.tv_nsec >= from.st_mtim.tv_nsec));
}

dsgd_status dsgd_compare_refresh(const char *folder, dsgd_error *error)
{
    if (is_fresh(folder))
        return DSGD_OK; /* and keeps its baseline, which may have been chosen */
    comparison c;
    const arguments a = {.by = NULL};
    dsgd_status status = compare_open(folder, &a, &c, error);
    bool seeds = false;
    for (size_t i = 0; i < c.n_groups; i++)
        seeds = seeds || c.groups[i].n_rows > 1;
    if (status == DSGD_OK && seeds)
        status = write_csv(&c, folder, error);
    compare_close(&c);
    return status;
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, baseline, "baseline", 'b', "NAME",
                  "What the others are compared with (allreduce, or else what comes first)"),
    DSGD_ARGUMENT(TEXT, by, "by", 'y', "COLUMN",
                  "The column that the baseline is a value of (algorithm); all others are the same "
                  "in both"),
    DSGD_ARGUMENT(TEXT, target, "target", 't', "WHAT=NUMBER",
                  "Adds the virtual time at which accuracy=NUMBER or loss=NUMBER is reached first, "
                  "interpolated linearly between the evaluations; runs that never reach it enter "
                  "no mean"),
    {.name = NULL},
};

static dsgd_status compare(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "DIR",
        "Sums up DIR/runs.csv over seeds into a table and DIR/compare.csv: means, 95 % confidence "
        "intervals, and differences to a baseline, paired by seed.",
        1,
        1,
        "compare: give the folder of one experiment's results",
        options};
    arguments a = {.by = NULL};
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status != DSGD_OK)
        return status;
    comparison c;
    status = compare_open(a.folder.v[0], &a, &c, error);
    if (status == DSGD_OK)
        status = write_csv(&c, a.folder.v[0], error);
    if (status == DSGD_OK)
        print_comparison(&c);
    compare_close(&c);
    return status;
}

const dsgd_command dsgd_command_compare = {
    .name = "compare",
    .usage = "DIR",
    .summary = "sums up the runs of a folder of results over seeds, and compares them",
    .run = compare,
};
