/**
 * @file figure_points.c
 * Finds the positions in a figure at which measured or published points are drawn.
 */
#include "command/analysis/figure_data.h"

#include "base/option.h"
#include "command/analysis/run_table.h"
#include "command/runs/swept.h"

/**
 * Meaning of a column in a table of points. The meaning is the index of a key of the frame, or one
 * of these constants. Columns with meaning OTHER are not drawn.
 */
enum { X = -1, Y = -2, LOW = -3, HIGH = -4, N_NUMBERS = 4, OTHER = -5 };

typedef struct table {
    const dsgd_figure_runs *runs;
    const dsgd_csv *csv;
    int *is; /* array [n_columns] of the meaning of each column */
    const char *x; /* name of the quantity x: a column, or "place" for the position on the axis */
    const char *y; /* name of the quantity y; NULL if column `quantity` contains the name, as in
                    * published.csv */
} table;

static int key_of(const dsgd_frame *f, const char *name)
{
    int k = (int)f->n_keys - 1;
    while (k >= 0 && strcmp(name, dsgd_frame_key(f, (size_t)k)) != 0 &&
           strcmp(name, dsgd_swept_name(dsgd_frame_key(f, (size_t)k))) != 0)
        k--;
    return k < 0 ? OTHER : k;
}

static dsgd_status find_columns(table *t, const dsgd_names *quantities, dsgd_error *error)
{
    const dsgd_csv *const csv = t->csv;
    const bool is_long = dsgd_csv_column(csv, "quantity") < csv->n_columns;
    size_t last = csv->n_columns; /* index of the last column that contains numbers and can be y */
    t->is = dsgd_keep(csv->n_columns, sizeof *t->is);
    for (size_t c = 0; c < csv->n_columns; c++) {
        const char *const name = csv->fields[c];
        const bool is_y = strcmp(name, "published") == 0 ||
                          (!is_long && dsgd_find_word(quantities->v, name) >= 0);
        t->is[c] = strcmp(name, "low") == 0    ? LOW
                   : strcmp(name, "high") == 0 ? HIGH
                   : is_y                      ? Y
                                               : key_of(&t->runs->frame, name);
        if (is_y && last < c) { /* If two columns can be y, the first of these columns is x. */
            t->is[last] = X;
            t->x = csv->fields[last];
        }
        last = is_y ? c : last;
        if (t->is[c] == OTHER && !is_long)
            return dsgd_refuse(
                error,
                "%s:%zu: unknown column `%s`; valid: algorithm, low, high, the columns "
                "in which runs differ, and %s",
                csv->path, csv->lines[0], name, dsgd_listed(quantities->v, ", "));
    }
    if (last == csv->n_columns)
        return dsgd_refuse(error, "%s:%zu: no column has numbers that a figure draws, such as %s",
                           csv->path, csv->lines[0], dsgd_listed(quantities->v, ", "));
    t->y = is_long ? NULL : csv->fields[last];
    return DSGD_OK;
}

/** Returns true if row @p row of the table describes the runs of a point. */
static bool matches(const table *t, size_t row, const dsgd_frame_point *p)
{
    const dsgd_frame *const f = &t->runs->frame;
    bool does = true;
    for (size_t c = 0; c < t->csv->n_columns; c++) {
        const char *const field = dsgd_csv_field(t->csv, row, c);
        const size_t k = (size_t)t->is[c];
        does = does && (t->is[c] < 0 || *field == '\0' ||
                        dsgd_swept_is(dsgd_frame_key(f, k), dsgd_frame_value(f, p, k), field));
    }
    return does;
}

/**
 * Returns true if row @p row of the table describes any runs, drawn or not. Otherwise prints a
 * warning.
 */
static bool has_runs(const table *t, size_t row)
{
    const dsgd_frame *const f = &t->runs->frame;
    bool has = false;
    for (size_t i = 0; i < f->n_points; i++)
        has = has || matches(t, row, &f->points[i]);
    if (!has)
        fprintf(stderr, "dsgd: %s:%zu: not drawn, because it matches no run of %s\n", t->csv->path,
                t->csv->lines[row + 1], t->runs->csv.path);
    return has;
}

/**
 * Appends a line for each series and axis position that row @p row of the table describes. A row
 * without an algorithm gives one line per axis position, with series 0.
 */
static dsgd_status put_row(const table *t, size_t row, char **text, dsgd_error *error)
{
    const dsgd_figure_runs *const d = t->runs;
    /* numbers of a row, with the indices -X, -Y, -LOW and -HIGH */
    double v[1 + N_NUMBERS] = {NAN, NAN, NAN, NAN, NAN};
    for (size_t c = 0; c < t->csv->n_columns; c++) {
        const char *const field = dsgd_csv_field(t->csv, row, c);
        const int is = t->is[c];
        if (is < 0 && is != OTHER && !dsgd_parse_number(field, NULL, &v[-is]) &&
            (is == X || is == Y || *field != '\0'))
            return dsgd_refuse(error, "%s:%zu: %s must be a number, got `%s`", t->csv->path,
                               t->csv->lines[row + 1], t->csv->fields[c], field);
    }
    if (v[-LOW] > v[-Y] || v[-HIGH] < v[-Y])
        return dsgd_refuse(error, "%s:%zu: %g is outside its own interval, %g to %g", t->csv->path,
                           t->csv->lines[row + 1], v[-Y], v[-LOW], v[-HIGH]);
    const bool is_of_all = *dsgd_field_of(t->csv, row, "algorithm") == '\0';
    size_t last = SIZE_MAX;
    for (size_t b = 0; b < d->n_frames * d->drawn.n; b++) {
        const size_t frame = b / d->drawn.n;
        if (d->points[b] == NULL || (is_of_all && frame == last) || !matches(t, row, d->points[b]))
            continue;
        last = frame;
        dsgd_append(text, "%zu,%zu,%zu,%s,%.9g,%s,%.9g,%.9g,%.9g\n",
                    is_of_all ? 0 : b % d->drawn.n + 1, frame / d->places.n + 1,
                    frame % d->places.n + 1, t->x, v[-X],
                    t->y != NULL ? t->y : dsgd_field_of(t->csv, row, "quantity"), v[-Y],
                    isnan(v[-LOW]) ? v[-Y] : v[-LOW], isnan(v[-HIGH]) ? v[-Y] : v[-HIGH]);
    }
    return DSGD_OK;
}

dsgd_status dsgd_figure_points(const dsgd_figure_runs *runs, const dsgd_csv *csv,
                               const dsgd_names *quantities, bool shipped, char **text,
                               dsgd_error *error)
{
    table t = {runs, csv, NULL, "place", NULL};
    size_t n_drawn = 0;
    /* Begin with a line that contains no point, because gnuplot rejects empty blocks. */
    *text = dsgd_xstrdup("0,0,0,,NaN,,NaN,NaN,NaN\n");
    if (shipped && dsgd_csv_column(csv, "published") >= csv->n_columns)
        return DSGD_OK;
    DSGD_TRY(find_columns(&t, quantities, error));
    for (size_t row = 0; row < csv->n_rows; row++) {
        if (t.y == NULL && (*dsgd_field_of(csv, row, "over") != '\0' ||
                            /* Skip ratios and bounds, because figures do not draw them. */
                            strcmp(dsgd_field_of(csv, row, "relation"), "~") != 0))
            continue;
        /* Skip a row of the user's file that matches no run; has_runs() prints a warning. */
        if (!shipped && !has_runs(&t, row))
            continue;
        DSGD_TRY(put_row(&t, row, text, error));
        n_drawn++;
    }
    return shipped || n_drawn > 0
               ? DSGD_OK
               : dsgd_refuse(error, "%s: no row matches a run of %s", csv->path, runs->csv.path);
}
