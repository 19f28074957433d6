/**
 * @file step_times.c
 * Finds the columns of measured step times in a CSV file by their names, and reads these columns.
 */
#include "traces/step_times.h"

#include "base/option.h"

/** Returns the unit of time called @p name, or NULL if there is no such unit. */
static const dsgd_suffix *unit_named(const char *name)
{
    const dsgd_suffix *unit = dsgd_time_words;
    while (unit->text != NULL && strcmp(name, unit->text) != 0)
        unit++;
    return unit->text == NULL ? NULL : unit;
}

/**
 * Returns the unit at the end of a column's name, such as step_time_ms or "time (ms)". Returns NULL
 * if the name has no unit.
 */
static const dsgd_suffix *unit_of(const char *column)
{
    char *const word = dsgd_xstrdup(column);
    size_t n = strlen(word);
    while (n > 0 && strchr(")] ", word[n - 1]) != NULL)
        word[--n] = '\0';
    while (n > 0 && strchr("_-( [./", word[n - 1]) == NULL)
        n--;
    return unit_named(word + n);
}

/**
 * Returns the column of times. It is the column called seconds, else the only column of the file,
 * else the only column whose name ends in a unit.
 */
static size_t default_column(const dsgd_csv *csv)
{
    const size_t seconds = dsgd_csv_column(csv, "seconds");
    if (seconds < csv->n_columns || csv->n_columns == 1)
        return csv->n_columns == 1 ? 0 : seconds;
    size_t found = csv->n_columns;
    for (size_t k = 0; k < csv->n_columns; k++)
        if (unit_of(csv->fields[k]) != NULL) {
            if (found < csv->n_columns)
                return csv->n_columns;
            found = k;
        }
    return found;
}

static dsgd_status find_time(const dsgd_csv *csv, const char *wanted, size_t *column,
                             dsgd_error *error)
{
    *column = wanted == NULL ? default_column(csv) : dsgd_csv_column(csv, wanted);
    double number = 0;
    if (*column < csv->n_columns && dsgd_parse_number(csv->fields[*column], NULL, &number))
        return dsgd_fail(error, DSGD_EIO,
                         "%s:1: the first line must name the columns, got the number \"%s\"",
                         csv->path, csv->fields[*column]);
    if (*column < csv->n_columns)
        return DSGD_OK;
    char *names = dsgd_xstrdup(csv->fields[0]);
    for (size_t i = 1; i < csv->n_columns; i++)
        dsgd_append(&names, ", %s", csv->fields[i]);
    return dsgd_fail(error, DSGD_EIO,
                     "%s:1: unknown column \"%s\". Choose one with --column NAME. Columns: %s",
                     csv->path, wanted == NULL ? "seconds" : wanted, names);
}

/**
 * Returns the first column in the list @p names that exists. Returns csv->n_columns if no column of
 * the list exists.
 */
static size_t first_of(const dsgd_csv *csv, const char *const *names)
{
    while (*names != NULL && dsgd_csv_column(csv, *names) == csv->n_columns)
        names++;
    return *names == NULL ? csv->n_columns : dsgd_csv_column(csv, *names);
}

dsgd_status dsgd_step_times_find(const dsgd_csv *csv, const char *column, const char *unit,
                                 dsgd_step_times *out, dsgd_error *error)
{
    DSGD_TRY(find_time(csv, column, &out->time, error));
    const char *const name = csv->fields[out->time];
    out->is_named = unit_of(name) != NULL || strcmp(name, "seconds") == 0;
    out->unit = unit != NULL ? unit_named(unit) : unit_of(name);
    /* The default unit is the first unit of the table, seconds. */
    if (out->unit == NULL)
        out->unit = dsgd_time_words;
    out->worker = first_of(csv, (const char *const[]){"worker", "rank", NULL});
    out->step = first_of(csv, (const char *const[]){"step", "iteration", "iter", NULL});
    out->worker = out->worker == out->time ? csv->n_columns : out->worker;
    out->step = out->step == out->time ? csv->n_columns : out->step;
    return DSGD_OK;
}

/**
 * Reads a column of numbers from @p least to @p most. If @p most is below 1e9, the numbers must be
 * whole numbers. Sets *numbers to NULL if there is no such column.
 */
static dsgd_status read_column(const dsgd_csv *csv, size_t column, double least, double most,
                               double **numbers, dsgd_error *error)
{
    const bool is_count = most < 1e9;
    *numbers = column < csv->n_columns ? dsgd_keep(csv->n_rows + 1, sizeof **numbers) : NULL;
    for (size_t i = 0; i < csv->n_rows && *numbers != NULL; i++) {
        const char *const text = dsgd_csv_field(csv, i, column);
        double *const x = &(*numbers)[i];
        if (!dsgd_parse_number(text, NULL, x) || !(*x >= least && *x <= most) ||
            (is_count && *x != floor(*x)))
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: %s must be a %s, got \"%s\"", csv->path,
                             csv->lines[i + 1], csv->fields[column],
                             is_count    ? "whole number from 0 to 1048576"
                             : least > 0 ? "number above 0 and up to 1e9"
                                         : "number from 0 to 1e9",
                             text);
    }
    return DSGD_OK;
}

dsgd_status dsgd_step_times_read(const dsgd_csv *csv, const char *column, const char *unit,
                                 double least_s, dsgd_step_times *out, dsgd_error *error)
{
    DSGD_TRY(dsgd_step_times_find(csv, column, unit, out, error));
    DSGD_TRY(read_column(csv, out->worker, 0, 1 << 20, &out->workers, error));
    DSGD_TRY(read_column(csv, out->step, 0, 1 << 20, &out->steps, error));
    DSGD_TRY(read_column(csv, out->time, least_s, 1e9, &out->seconds, error));
    for (size_t i = 0; i < csv->n_rows; i++)
        out->seconds[i] *= out->unit->factor;
    return DSGD_OK;
}
