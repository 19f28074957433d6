/**
 * @file seed_groups.c
 * Rows with equal keys, and the group that each is compared with.
 */
#include "command/analysis/seed_groups.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/runs/results.h"
#include "command/runs/swept.h"

/** Columns that name a run; the swept ones come behind them. */
static const char *const names_of_runs[] = {"algorithm", "workers", "platform", "workload"};

enum { N_NAMES = sizeof names_of_runs / sizeof names_of_runs[0] };

const char *dsgd_seed_groups_column(const dsgd_seed_groups *s, size_t k)
{
    return s->csv->fields[s->keys[k]];
}

static const char *key_of_row(const dsgd_seed_groups *s, size_t row, size_t k)
{
    return dsgd_csv_field(s->csv, row, s->keys[k]);
}

const char *dsgd_seed_groups_key(const dsgd_seed_groups *s, const dsgd_seed_group *g, size_t k)
{
    return key_of_row(s, g->rows[0], k);
}

/* --- groups ----------------------------------------------------------------------------------- */

/** The keys: the names of a run, and the swept columns, which follow wall_s. */
static dsgd_status find_keys(dsgd_seed_groups *s, dsgd_error *error)
{
    size_t wall = 0, algorithm = 0;
    const struct {
        const char *name;
        size_t *column;
    } needed[] = {
        {"wall_s", &wall}, {"algorithm", &algorithm}, {"seed", &s->seed}, {"status", &s->status}};
    for (size_t k = 0; k < sizeof needed / sizeof needed[0]; k++)
        if (dsgd_csv_need(s->csv, needed[k].name, needed[k].column, error) != DSGD_OK)
            return DSGD_EIO;
    s->keys = dsgd_xcalloc(s->csv->n_columns + N_NAMES, sizeof *s->keys);
    for (size_t k = 0; k < N_NAMES; k++) {
        const size_t column = dsgd_csv_column(s->csv, names_of_runs[k]);
        if (column < s->csv->n_columns)
            s->keys[s->n_keys++] = column;
    }
    for (size_t k = wall + 1; k < s->csv->n_columns; k++)
        if (strcmp(s->csv->fields[k], "seed") != 0) /* a sweep of seeds is a list of seeds */
            s->keys[s->n_keys++] = k;
    return DSGD_OK;
}

static bool is_in(const dsgd_seed_groups *s, const dsgd_seed_group *g, size_t row)
{
    for (size_t k = 0; k < s->n_keys; k++)
        if (strcmp(dsgd_seed_groups_key(s, g, k), key_of_row(s, row, k)) != 0)
            return false;
    return true;
}

const size_t *dsgd_seed_groups_seed(const dsgd_seed_groups *s, const dsgd_seed_group *g, size_t row)
{
    const char *const seed = dsgd_csv_field(s->csv, row, s->seed);
    for (size_t i = 0; i < g->n_rows; i++)
        if (strcmp(dsgd_csv_field(s->csv, g->rows[i], s->seed), seed) == 0)
            return &g->rows[i];
    return NULL;
}

/** Rows of one group mostly follow each other. */
static size_t group_of(dsgd_seed_groups *s, size_t row)
{
    for (size_t i = s->n; i-- > 0;)
        if (is_in(s, &s->v[i], row))
            return i;
    s->v = dsgd_xrealloc(s->v, s->n + 1, sizeof *s->v);
    s->v[s->n] = (dsgd_seed_group){.rows = NULL};
    return s->n++;
}

static void add_row(dsgd_seed_groups *s, size_t row)
{
    s->group_of[row] = group_of(s, row);
    dsgd_seed_group *const g = &s->v[s->group_of[row]];
    const size_t *const same = dsgd_seed_groups_seed(s, g, row);
    if (same != NULL && s->twice[1] == 0) {
        s->twice[0] = *same;
        s->twice[1] = row;
    }
    g->rows = dsgd_xrealloc(g->rows, g->n_rows + 1, sizeof *g->rows);
    g->rows[g->n_rows++] = row;
}

static void find_varying(dsgd_seed_groups *s)
{
    s->varies = dsgd_xcalloc(s->n_keys, sizeof *s->varies);
    for (size_t k = 0; k < s->n_keys; k++)
        for (size_t i = 1; i < s->n && !s->varies[k]; i++)
            s->varies[k] = strcmp(dsgd_seed_groups_key(s, &s->v[i], k),
                                  dsgd_seed_groups_key(s, &s->v[0], k)) != 0;
}

/* --- the baseline ----------------------------------------------------------------------------- */

/** No name is `name`: the sentence names those that there are. */
static dsgd_status unknown(const dsgd_seed_groups *s, const char *option, const char *name,
                           const char *const *names, dsgd_error *error)
{
    char *const hint = dsgd_hint(name, names);
    char *const all = dsgd_listed(names, ", ");
    dsgd_fail(error, DSGD_EUSAGE, "%s: %s `%s` is unknown%s; there is %s", s->csv->path, option,
              name, hint, all);
    free(hint);
    free(all);
    return DSGD_EUSAGE;
}

/** A column by its name, or by what follows its last dot, without the unit. */
static dsgd_status find_by(dsgd_seed_groups *s, const char *by, dsgd_error *error)
{
    if (by == NULL)
        return DSGD_OK; /* the first key is the algorithm */
    const char **const names = dsgd_xcalloc(s->n_keys + 1, sizeof *names);
    size_t exact = s->n_keys, short_name = s->n_keys, n_short = 0;
    for (size_t k = 0; k < s->n_keys; k++) {
        names[k] = dsgd_seed_groups_column(s, k);
        char *const name = dsgd_swept_name(names[k]);
        exact = strcmp(names[k], by) == 0 ? k : exact;
        n_short += strcmp(name, by) == 0;
        short_name = strcmp(name, by) == 0 ? k : short_name;
        free(name);
    }
    s->by = exact < s->n_keys ? exact : n_short == 1 ? short_name : s->n_keys;
    const dsgd_status status = s->by < s->n_keys ? DSGD_OK : unknown(s, "--by", by, names, error);
    free(names);
    return status;
}

/** The values of the key in their order; the caller frees the array. */
static const char **values_of(const dsgd_seed_groups *s, size_t key)
{
    const char **const values = dsgd_xcalloc(s->n + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *const value = dsgd_seed_groups_key(s, &s->v[i], key);
        if (dsgd_find_word(values, value) < 0)
            values[n++] = value;
    }
    return values;
}

static dsgd_status find_baseline(dsgd_seed_groups *s, const char *name, dsgd_error *error)
{
    const char **const values = values_of(s, s->by);
    const char *const column = dsgd_seed_groups_column(s, s->by);
    if (name == NULL) {
        s->baseline = dsgd_find_word(values, "allreduce") >= 0 ? "allreduce" : values[0];
    } else {
        for (size_t i = 0; values[i] != NULL; i++)
            if (dsgd_swept_is(column, values[i], name) &&
                (s->baseline == NULL || strcmp(values[i], name) == 0))
                s->baseline = values[i];
    }
    const dsgd_status status = name == NULL || s->baseline != NULL
                                   ? DSGD_OK
                                   : unknown(s, "--baseline", name, values, error);
    free(values);
    return status;
}

bool dsgd_seed_groups_is_own(const dsgd_seed_groups *s, size_t k)
{
    return k == s->by || (s->by == 0 && dsgd_is_of_algorithms(dsgd_seed_groups_column(s, k)));
}

bool dsgd_seed_groups_same_place(const dsgd_seed_groups *s, const dsgd_seed_group *a,
                                 const dsgd_seed_group *b)
{
    for (size_t k = 0; k < s->n_keys; k++)
        if (!dsgd_seed_groups_is_own(s, k) &&
            strcmp(dsgd_seed_groups_key(s, a, k), dsgd_seed_groups_key(s, b, k)) != 0)
            return false;
    return true;
}

/** The first that fits: where the baseline's own options are swept, that is their first value. */
static const dsgd_seed_group *baseline_of(const dsgd_seed_groups *s, const dsgd_seed_group *g)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(dsgd_seed_groups_key(s, &s->v[i], s->by), s->baseline) == 0 &&
            dsgd_seed_groups_same_place(s, &s->v[i], g))
            return &s->v[i];
    return NULL;
}

/** A diverged run has no result that counts. */
static double value_of(const dsgd_seed_groups *s, size_t row, size_t column)
{
    return strcmp(dsgd_csv_field(s->csv, row, s->status), "ok") == 0
               ? dsgd_csv_value(s->csv, row, column)
               : NAN;
}

dsgd_ratio dsgd_seed_groups_ratio(const dsgd_seed_groups *s, const dsgd_seed_group *g,
                                  size_t column)
{
    double *const logs = dsgd_xcalloc(g->n_rows, sizeof *logs);
    size_t n = 0;
    for (size_t i = 0; g->baseline != NULL && i < g->n_rows; i++) {
        const size_t *const other = dsgd_seed_groups_seed(s, g->baseline, g->rows[i]);
        const double ratio =
            other == NULL ? NAN : value_of(s, g->rows[i], column) / value_of(s, *other, column);
        if (isfinite(log(ratio)))
            logs[n++] = log(ratio);
    }
    const dsgd_ratio of = dsgd_ratio_of(logs, n);
    free(logs);
    return of;
}

/* --- all -------------------------------------------------------------------------------------- */

dsgd_status dsgd_seed_groups_open(const dsgd_csv *csv, const char *by, const char *baseline,
                                  dsgd_seed_groups *s, dsgd_error *error)
{
    *s = (dsgd_seed_groups){.csv = csv};
    dsgd_status status = find_keys(s, error);
    if (status == DSGD_OK)
        status = find_by(s, by, error);
    if (status == DSGD_OK)
        s->group_of = dsgd_xcalloc(csv->n_rows + 1, sizeof *s->group_of);
    for (size_t row = 0; status == DSGD_OK && row < csv->n_rows; row++) {
        s->group_of[row] = SIZE_MAX;
        if (dsgd_status_has_results(dsgd_csv_field(csv, row, s->status)))
            add_row(s, row);
        else
            s->n_left_out++;
    }
    if (status != DSGD_OK || s->n == 0)
        return status;
    find_varying(s);
    status = find_baseline(s, baseline, error);
    for (size_t i = 0; status == DSGD_OK && i < s->n; i++)
        s->v[i].baseline = baseline_of(s, &s->v[i]);
    return status;
}

void dsgd_seed_groups_close(dsgd_seed_groups *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].rows);
    free(s->v);
    free(s->keys);
    free(s->varies);
    free(s->group_of);
}
