/**
 * @file frame.c
 * Groups the rows of runs.csv into points, finds the baseline of each point, and computes
 * statistics over seeds.
 */
#include "command/analysis/frame.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

#include "base/option.h"
#include "command/analysis/run_table.h"
#include "command/runs/columns.h"
#include "command/runs/swept.h"

/* --- statistics over seeds -------------------------------------------------------------------- */

static double half_width(double deviation, size_t n)
{
    return gsl_cdf_tdist_Pinv(0.975, (double)(n - 1)) * deviation / sqrt((double)n);
}

dsgd_interval dsgd_mean(const double *x, size_t n)
{
    const double ci = n < 2 ? NAN : half_width(gsl_stats_sd(x, 1, n), n);
    return (dsgd_interval){n < 1 ? NAN : gsl_stats_mean(x, 1, n), ci, n,
                           n == 1   ? 0
                           : n == 2 ? fabs(x[1] - x[0]) / 2
                                    : ci};
}

dsgd_ratio dsgd_ratio_of(const double *logs, size_t n)
{
    const dsgd_interval of = dsgd_mean(logs, n);
    const double deviation = n > 1 ? gsl_stats_sd(logs, 1, n) : 0;
    size_t settled = n;
    while (n > 1 && settled <= DSGD_MOST_SEEDS &&
           half_width(deviation, settled) >= fabs(of.mean) - DSGD_ROUNDING)
        settled++;
    return (dsgd_ratio){n,
                        exp(of.mean),
                        exp(of.mean - of.ci),
                        exp(of.mean + of.ci),
                        (exp(of.mean + of.drawn) - exp(of.mean - of.drawn)) / 2,
                        settled == n ? 0 : settled};
}

const char *dsgd_ratio_text(const dsgd_ratio *r)
{
    /* Use 4 digits for ratios near 1, so that a gain of 0.4 % is visible. */
    const int digits = fabs(r->ratio - 1) < 0.1 ? 4 : 3;
    return r->n == 0   ? ""
           : r->n == 1 ? dsgd_xprintf("%.*g", digits, r->ratio)
                       : dsgd_xprintf("%.*g (%.*g to %.*g)", digits, r->ratio, digits, r->low,
                                      digits, r->high);
}

/* --- names ------------------------------------------------------------------------------------ */

size_t dsgd_names_add(dsgd_names *list, const char *text)
{
    if (list->numbers == NULL)
        list->numbers = json_object();
    const json_t *const known = json_object_get(list->numbers, text);
    if (known != NULL)
        return (size_t)json_integer_value(known);
    json_object_set_new_nocheck(list->numbers, text, json_integer((json_int_t)list->n));
    list->v = dsgd_keep_more(list->v, list->n + 2, sizeof *list->v);
    list->v[list->n] = text;
    return list->n++;
}

/* --- keys ------------------------------------------------------------------------------------- */

const char *dsgd_frame_key(const dsgd_frame *f, size_t k)
{
    return f->csv->fields[f->keys[k]];
}

const char *dsgd_frame_value(const dsgd_frame *f, const dsgd_frame_point *point, size_t k)
{
    return dsgd_csv_field(f->csv, point->rows[0], f->keys[k]);
}

dsgd_coordinate dsgd_frame_part(const dsgd_frame *f, size_t k)
{
    static const char *const variations[] = {"parameter", "factor", NULL};
    const char *const column = dsgd_frame_key(f, k);
    if (k == f->by || (f->by == 0 && dsgd_is_of_algorithms(column)))
        return DSGD_SERIES;
    return dsgd_find_word(variations, column) >= 0 ? DSGD_VARIATION : DSGD_PLACE;
}

/** Finds the keys of the frame. Keys are the columns that identify a run, and the swept columns. */
static dsgd_status find_keys(dsgd_frame *f, size_t *seed, dsgd_error *error)
{
    static const char *const names_of_runs[] = {"algorithm", "workers", "platform", "workload"};
    enum { N_NAMES = sizeof names_of_runs / sizeof names_of_runs[0] };
    size_t algorithm = 0;
    DSGD_TRY(dsgd_csv_need(f->csv, "wall_s", &f->first_swept, error));
    DSGD_TRY(dsgd_csv_need(f->csv, "algorithm", &algorithm, error));
    DSGD_TRY(dsgd_csv_need(f->csv, "seed", seed, error));
    DSGD_TRY(dsgd_csv_need(f->csv, "status", &f->status, error));
    f->first_swept++;
    f->keys = dsgd_keep(f->csv->n_columns + N_NAMES, sizeof *f->keys);
    for (size_t k = 0; k < N_NAMES; k++) {
        const size_t column = dsgd_csv_column(f->csv, names_of_runs[k]);
        if (column < f->csv->n_columns)
            f->keys[f->n_keys++] = column;
    }
    for (size_t k = f->first_swept; k < f->csv->n_columns; k++)
        /*
         * If seeds or workers are swept, the table has a second column for them. Skip this column.
         */
        if (dsgd_csv_column(f->csv, f->csv->fields[k]) == k)
            f->keys[f->n_keys++] = k;
    return DSGD_OK;
}

/** Returns an error for an unknown name, with a list of the valid names. */
static dsgd_status unknown(const dsgd_frame *f, const char *option, const char *name,
                           const char *const *names, dsgd_error *error)
{
    return dsgd_refuse(error, "%s: unknown %s `%s`%s; valid values: %s", f->csv->path, option, name,
                       dsgd_hint(name, names), dsgd_listed(names, ", "));
}

/**
 * Finds the column that option --by names. The name is the full name of the column, or the part
 * after its last dot without the unit.
 */
static dsgd_status find_by(dsgd_frame *f, const char *by, dsgd_error *error)
{
    /* Without --by, compare the values of the first key, which is the algorithm. */
    if (by == NULL)
        return DSGD_OK;
    const char **const names = dsgd_keep(f->n_keys + 1, sizeof *names);
    size_t short_name = f->n_keys;
    f->by = f->n_keys;
    for (size_t k = 0; k < f->n_keys; k++) {
        names[k] = dsgd_frame_key(f, k);
        f->by = strcmp(names[k], by) == 0 ? k : f->by;
        short_name = strcmp(dsgd_swept_name(names[k]), by) == 0 ? k : short_name;
    }
    f->by = f->by < f->n_keys ? f->by : short_name;
    return f->by < f->n_keys ? DSGD_OK : unknown(f, "--by", by, names, error);
}

/* --- points ----------------------------------------------------------------------------------- */

/**
 * Returns the values of a row that belong to coordinate @p c, as one text. Returns "" if @p c is
 * DSGD_VARIATION and the row has no variation.
 */
static char *coordinate_of(const dsgd_frame *f, size_t row, dsgd_coordinate c)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const value = dsgd_csv_field(f->csv, row, f->keys[k]);
        if (dsgd_frame_part(f, k) == c && !(c == DSGD_VARIATION && *value == '\0'))
            dsgd_append(&text, "%s\n", value);
    }
    return text;
}

static void find_points(dsgd_frame *f, size_t seed, bool planned)
{
    const size_t n_rows = f->csv->n_rows;
    dsgd_names seeds = {.n = 0}, points = {.n = 0}, of[DSGD_N_COORDINATES] = {{.n = 0}};
    dsgd_names_add(&of[DSGD_VARIATION], ""); /* Number 0 is the variation "none". */
    f->point_of = dsgd_keep(n_rows + 1, sizeof *f->point_of);
    f->seed_of = dsgd_keep(n_rows + 1, sizeof *f->seed_of);
    f->points = dsgd_keep(n_rows + 1, sizeof *f->points);
    for (size_t row = 0; row < n_rows; row++) {
        size_t at[DSGD_N_COORDINATES];
        f->point_of[row] = SIZE_MAX;
        if (!planned && !dsgd_status_has_results(dsgd_csv_field(f->csv, row, f->status))) {
            f->n_left_out++;
            continue;
        }
        void *const mark = dsgd_mark();
        size_t n_before = seeds.n + points.n, n_after = 0;
        for (int c = 0; c < DSGD_N_COORDINATES; c++) {
            n_before += of[c].n;
            at[c] = dsgd_names_add(&of[c], coordinate_of(f, row, c));
            n_after += of[c].n;
        }
        f->seed_of[row] = dsgd_names_add(&seeds, dsgd_csv_field(f->csv, row, seed));
        f->point_of[row] =
            dsgd_names_add(&points, dsgd_xprintf("%zu %zu %zu", at[0], at[1], at[2]));
        if (n_after + seeds.n + points.n == n_before)
            /*
             * If no text is new, free the copies of texts, because they need much memory for many
             * rows.
             */
            dsgd_drop(mark);
        dsgd_frame_point *const p = &f->points[f->point_of[row]];
        memcpy(p->at, at, sizeof at);
        p->rows = dsgd_keep_more(p->rows, p->n_rows + 1, sizeof *p->rows);
        p->rows[p->n_rows++] = row;
    }
    f->n_points = points.n;
    for (int c = 0; c < DSGD_N_COORDINATES; c++)
        f->n[c] = of[c].n;
}

/** Returns the distinct values of key @p k in all points. */
static dsgd_names values_of(const dsgd_frame *f, size_t k)
{
    dsgd_names values = {.n = 0};
    for (size_t i = 0; i < f->n_points; i++)
        dsgd_names_add(&values, dsgd_frame_value(f, &f->points[i], k));
    return values;
}

static dsgd_status find_baseline(dsgd_frame *f, const char *name, dsgd_error *error)
{
    const char *const column = dsgd_frame_key(f, f->by);
    for (size_t i = 0; i < f->n_points; i++) {
        const char *const value = dsgd_frame_value(f, &f->points[i], f->by);
        if (f->baseline == NULL ? name == NULL || dsgd_swept_is(column, value, name)
                                : strcmp(value, name == NULL ? "allreduce" : name) == 0)
            f->baseline = value;
    }
    if (f->baseline != NULL)
        return DSGD_OK;
    return unknown(f, "--baseline", name, values_of(f, f->by).v, error);
}

dsgd_status dsgd_frame_open(const dsgd_csv *csv, const dsgd_framing *framing, dsgd_frame *f,
                            dsgd_error *error)
{
    size_t seed = 0;
    *f = (dsgd_frame){.csv = csv};
    DSGD_TRY(find_keys(f, &seed, error));
    DSGD_TRY(find_by(f, framing->by, error));
    f->n_values = dsgd_keep(f->n_keys, sizeof *f->n_values);
    find_points(f, seed, framing->planned);
    for (size_t k = 0; k < f->n_keys; k++)
        f->n_values[k] = values_of(f, k).n;
    if (f->n_points > 0)
        DSGD_TRY(find_baseline(f, framing->baseline, error));
    /*
     * Make one list of baseline points per setting. The baseline of a point is the first point in
     * the list with the same variation. This point has the first values of the baseline's own
     * options.
     */
    /* for each setting, 1 + the index of its first baseline point; 0 if the list is empty */
    size_t *const first = dsgd_keep(f->n[DSGD_PLACE] + 1, sizeof *first);
    size_t *const next = dsgd_keep(f->n_points + 1, sizeof *next);
    for (size_t i = f->n_points; i-- > 0;) {
        const dsgd_frame_point *const p = &f->points[i];
        if (strcmp(dsgd_frame_value(f, p, f->by), f->baseline) != 0)
            continue;
        next[i] = first[p->at[DSGD_PLACE]];
        first[p->at[DSGD_PLACE]] = i + 1;
    }
    for (dsgd_frame_point *p = f->points; p < f->points + f->n_points; p++)
        for (size_t i = first[p->at[DSGD_PLACE]]; p->baseline == NULL && i > 0; i = next[i - 1])
            if (f->points[i - 1].at[DSGD_VARIATION] == p->at[DSGD_VARIATION])
                p->baseline = &f->points[i - 1];
    return DSGD_OK;
}

size_t dsgd_frame_seed(const dsgd_frame *f, const dsgd_frame_point *p, size_t row)
{
    for (size_t i = 0; i < p->n_rows; i++)
        if (f->seed_of[p->rows[i]] == f->seed_of[row])
            return p->rows[i];
    return SIZE_MAX;
}

size_t dsgd_frame_count(const dsgd_frame *f, const dsgd_frame_point *p, const char *status)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        n += strcmp(dsgd_csv_field(f->csv, p->rows[i], f->status), status) == 0;
    return n;
}

/* --- texts for readers ------------------------------------------------------------------------ */

const char *dsgd_frame_text(const dsgd_frame *f, const dsgd_frame_point *p, size_t k)
{
    const char *const column = dsgd_frame_key(f, k), *const value = dsgd_frame_value(f, p, k);
    return *value == '\0'
               ? ""
               : dsgd_xprintf("%s %s", dsgd_swept_name(column), dsgd_swept_value(column, value));
}

void dsgd_frame_put_keys(FILE *stream, const dsgd_frame *f, const dsgd_frame_point *p)
{
    for (size_t k = 0; k < f->n_keys; k++) {
        dsgd_csv_text(stream, p == NULL ? dsgd_frame_key(f, k) : dsgd_frame_value(f, p, k));
        fputc(',', stream);
    }
}

void dsgd_frame_take_keys(const dsgd_frame *f, const dsgd_frame_point *p, dsgd_columns *t)
{
    dsgd_columns_row(t);
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const column = dsgd_frame_key(f, k);
        if (k == 0 || f->n_values[k] > 1)
            dsgd_columns_take(t, column, dsgd_swept_value(column, dsgd_frame_value(f, p, k)));
    }
}

/**
 * Returns true if key @p k is a swept section, and another key already shows the value of this
 * section.
 */
static bool is_repeated(const dsgd_frame *f, size_t k)
{
    static const char prefix[] = "swept.";
    const char *const key = dsgd_frame_key(f, k);
    bool again = false;
    for (size_t j = 1; j < k && strncmp(key, prefix, strlen(prefix)) == 0; j++)
        again = again || (f->n_values[j] >= f->n_values[k] &&
                          strcmp(key + strlen(prefix), dsgd_frame_key(f, j)) == 0);
    return again;
}

char *dsgd_frame_settings(const dsgd_frame *f, const dsgd_frame_point *p, int parts, size_t without,
                          const char *separator)
{
    char *settings = dsgd_xstrdup("");
    for (size_t k = 1; k < f->n_keys; k++) {
        const char *const text = dsgd_frame_text(f, p, k);
        if (k != without && (parts >> dsgd_frame_part(f, k) & 1) && f->n_values[k] > 1 &&
            *text != '\0' && !is_repeated(f, k))
            dsgd_append(&settings, "%s%s", *settings == '\0' ? "" : separator, text);
    }
    return settings;
}

char *dsgd_frame_label(const dsgd_frame *f, const dsgd_frame_point *p)
{
    const char *const settings = dsgd_frame_settings(f, p, DSGD_ALL_COORDINATES, 0, "; ");
    return dsgd_xprintf("%s%s%s", dsgd_frame_value(f, p, 0), *settings == '\0' ? "" : "; ",
                        settings);
}

/**
 * Returns true if settings differ in this column of runs.csv, but not in a swept option that shows
 * the same difference.
 */
static bool is_shown_by_column(const dsgd_frame *f, const char *column)
{
    dsgd_names values = {.n = 0};
    for (size_t k = 0; k < f->n_keys; k++)
        if (f->keys[k] >= f->first_swept && dsgd_frame_part(f, k) == DSGD_PLACE &&
            !is_repeated(f, k) && strcmp(dsgd_last_key(dsgd_frame_key(f, k)), column) == 0)
            return false;
    for (size_t k = 0; k < f->n_points; k++)
        dsgd_names_add(&values, dsgd_field_of(f->csv, f->points[k].rows[0], column));
    return values.n > 1;
}

const char *dsgd_frame_place(const dsgd_frame *f, const dsgd_frame_point *p)
{
    static const char *const columns[] = {"platform", "workload", "network"};
    const bool names_algorithm = f->by != 0 && f->n_values[0] > 1;
    char *name =
        dsgd_xprintf("%s%s%s workers", names_algorithm ? dsgd_frame_value(f, p, 0) : "",
                     names_algorithm ? ", " : "", dsgd_field_of(f->csv, p->rows[0], "workers"));
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
        if (is_shown_by_column(f, columns[c]))
            dsgd_append(&name, ", %s", dsgd_field_of(f->csv, p->rows[0], columns[c]));
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const text = dsgd_frame_text(f, p, k);
        if (f->keys[k] >= f->first_swept && *text != '\0' && !is_repeated(f, k) &&
            dsgd_frame_part(f, k) == DSGD_PLACE)
            dsgd_append(&name, ", %s", text);
    }
    return name;
}

const char *dsgd_frame_currency(const dsgd_frame *f)
{
    const char *const currency = dsgd_csv_first(f->csv, dsgd_csv_column(f->csv, "currency"));
    return currency == NULL ? "" : currency;
}

/* --- numbers ---------------------------------------------------------------------------------- */

bool dsgd_frame_counts(const dsgd_frame *f, size_t row, const char *column)
{
    size_t place = 0;
    return dsgd_column_counts(dsgd_column_find(column, &place),
                              dsgd_csv_field(f->csv, row, f->status));
}

double dsgd_frame_number(const dsgd_frame *f, size_t row, const char *name)
{
    return dsgd_frame_counts(f, row, name)
               ? dsgd_csv_value(f->csv, row, dsgd_csv_column(f->csv, name))
               : NAN;
}

double *dsgd_frame_numbers(const dsgd_frame *f, const char *name)
{
    const size_t column = dsgd_csv_column(f->csv, name);
    size_t place = 0;
    const dsgd_column *const about = dsgd_column_find(name, &place);
    double *const x = dsgd_keep(f->csv->n_rows + 1, sizeof *x);
    for (size_t row = 0; row < f->csv->n_rows; row++)
        x[row] = dsgd_column_counts(about, dsgd_csv_field(f->csv, row, f->status))
                     ? dsgd_csv_value(f->csv, row, column)
                     : NAN;
    return x;
}

size_t dsgd_frame_known(const dsgd_frame_point *p, const double *x, double *known)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        if (!isnan(x[p->rows[i]]))
            known[n++] = x[p->rows[i]];
    return n;
}

dsgd_interval dsgd_frame_mean(const dsgd_frame_point *p, const double *x)
{
    double *const known = dsgd_keep(p->n_rows, sizeof *known);
    return dsgd_mean(known, dsgd_frame_known(p, x, known));
}

size_t dsgd_frame_pairs(const dsgd_frame *f, const dsgd_frame_point *p,
                        const dsgd_frame_point *other, const double *x, double *own, double *others)
{
    size_t n = 0;
    for (size_t i = 0; other != NULL && i < p->n_rows; i++) {
        const size_t row = p->rows[i];
        const bool as_usual = i < other->n_rows && f->seed_of[other->rows[i]] == f->seed_of[row];
        const size_t pair = as_usual ? other->rows[i] : dsgd_frame_seed(f, other, row);
        if (pair == SIZE_MAX || isnan(x[row]) || isnan(x[pair]))
            continue;
        own[n] = x[row];
        others[n++] = x[pair];
    }
    return n;
}

dsgd_ratio dsgd_frame_ratio(const dsgd_frame *f, const dsgd_frame_point *p,
                            const dsgd_frame_point *other, const double *x)
{
    double *const logs = dsgd_keep(2 * p->n_rows, sizeof *logs);
    double *const others = logs + p->n_rows;
    const size_t n_pairs = dsgd_frame_pairs(f, p, other, x, logs, others);
    size_t n = 0;
    for (size_t i = 0; i < n_pairs; i++)
        if (isfinite(log(logs[i] / others[i])))
            logs[n++] = log(logs[i] / others[i]);
    return dsgd_ratio_of(logs, n);
}
