/**
 * @file imbalance_replay.c
 * Seconds as they were measured: a CSV file with the columns worker, step and seconds, in any order
 * of columns and rows.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/imbalance.h"

typedef struct replay_params {
    const char *file;
} replay_params;

/** The whole file as a table. */
typedef struct replay_state {
    long n_workers, n_steps;
    double seconds[]; /* [n_steps][n_workers] */
} replay_state;

typedef struct row {
    long worker, step;
    double seconds;
} row;

typedef struct rows {
    size_t n, room;
    row *v;
} rows;

enum { WORKER, STEP, SECONDS, N_COLUMNS, MAX_FIELDS = 64 };

static const char *const column_names[N_COLUMNS] = {"worker", "step", "seconds"};

/** Cuts a line at its commas, in place. */
static size_t cut(char *line, char *fields[MAX_FIELDS])
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line; rest != NULL && n < MAX_FIELDS;)
        fields[n++] = strsep(&rest, ",");
    return n;
}

static dsgd_status read_header(const char *file, char *line, size_t column[N_COLUMNS],
                               dsgd_error *error)
{
    char *fields[MAX_FIELDS];
    const size_t n = cut(line, fields);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        column[i] = 0;
        while (column[i] < n && strcmp(fields[column[i]], column_names[i]) != 0)
            column[i]++;
        if (column[i] == n)
            return dsgd_fail(
                error, DSGD_EIO,
                "%s:1: the first line has no column \"%s\"; worker, step and seconds are needed",
                file, column_names[i]);
    }
    return DSGD_OK;
}

static dsgd_status read_row(const char *file, long line_number, char *line,
                            const size_t column[N_COLUMNS], rows *all, dsgd_error *error)
{
    char *fields[MAX_FIELDS];
    const size_t n = cut(line, fields);
    double number[N_COLUMNS];
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const char *const text = column[i] < n ? fields[column[i]] : "";
        if (!dsgd_parse_number(text, NULL, &number[i]) || number[i] < 0 || number[i] > 1e9)
            return dsgd_fail(error, DSGD_EIO,
                             "%s:%ld: %s is \"%s\", but has to be a number from 0 to 1e9", file,
                             line_number, column_names[i], text);
    }
    if (all->n == all->room) {
        all->room = all->room == 0 ? 1024 : 2 * all->room;
        all->v = dsgd_xrealloc(all->v, all->room, sizeof *all->v);
    }
    all->v[all->n++] = (row){(long)number[WORKER], (long)number[STEP], number[SECONDS]};
    return DSGD_OK;
}

static dsgd_status read_rows(const char *file, FILE *stream, rows *all, dsgd_error *error)
{
    size_t column[N_COLUMNS];
    char *line = NULL;
    size_t room = 0;
    dsgd_status status = DSGD_OK;
    if (getline(&line, &room, stream) < 0)
        status = dsgd_fail(error, DSGD_EIO, "%s: the file is empty", file);
    else
        status = read_header(file, line, column, error);
    for (long number = 2; status == DSGD_OK && getline(&line, &room, stream) >= 0; number++)
        if (line[strspn(line, " \r\n")] != '\0' && line[0] != '#')
            status = read_row(file, number, line, column, all, error);
    free(line);
    return status;
}

/** Puts the rows into a table without holes. */
static dsgd_status tabulate(const char *file, const rows *all, void **state, dsgd_error *error)
{
    long n_workers = 0;
    long n_steps = 0;
    for (size_t i = 0; i < all->n; i++) {
        n_workers = all->v[i].worker >= n_workers ? all->v[i].worker + 1 : n_workers;
        n_steps = all->v[i].step >= n_steps ? all->v[i].step + 1 : n_steps;
    }
    const double cells = (double)n_workers * (double)n_steps;
    if (all->n == 0 || cells != (double)all->n)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: %zu rows, but %ld workers times %ld steps need one each, both counted from 0",
            file, all->n, n_workers, n_steps);
    replay_state *const table =
        dsgd_xcalloc(1, sizeof *table + (size_t)cells * sizeof table->seconds[0]);
    table->n_workers = n_workers;
    table->n_steps = n_steps;
    for (size_t i = 0; i < (size_t)cells; i++)
        table->seconds[i] = NAN;
    for (size_t i = 0; i < all->n; i++) {
        double *const cell = &table->seconds[all->v[i].step * n_workers + all->v[i].worker];
        if (!isnan(*cell)) {
            free(table);
            return dsgd_fail(error, DSGD_EIO, "%s: worker %ld, step %ld has two rows", file,
                             all->v[i].worker, all->v[i].step);
        }
        *cell = all->v[i].seconds;
    }
    *state = table;
    return DSGD_OK;
}

static dsgd_status replay_load(const void *params, void **state, dsgd_error *error)
{
    const replay_params *p = params;
    FILE *const stream = fopen(p->file, "r");
    if (stream == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the file of step times cannot be read: %s", p->file,
                         strerror(errno));
    rows all = {0};
    dsgd_status status = read_rows(p->file, stream, &all, error);
    fclose(stream);
    if (status == DSGD_OK)
        status = tabulate(p->file, &all, state, error);
    free(all.v);
    return status;
}

static double replay_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    (void)params;
    (void)so_far_s;
    const replay_state *const table = at.state;
    return table
        ->seconds[at.step % table->n_steps * table->n_workers + at.worker % table->n_workers];
}

static const dsgd_option replay_options[] = {
    DSGD_OPTION_STRING(replay_params, file,
                       "CSV with the columns worker, step, seconds, counted from 0; a longer or "
                       "wider run starts it again",
                       .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(replay,
               .about.summary = "measured seconds out of a file, in place of the time so far",
               .load = replay_load);
