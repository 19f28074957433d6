/**
 * @file imbalance_replay.c
 * Seconds as they were measured: a CSV file as `dsgd imbalance fit` reads it, with workers, and with
 * steps or in their order.
 */
#include "base/csv.h"
#include "traces/imbalance.h"
#include "traces/step_times.h"

typedef struct replay_params {
    const char *file;
} replay_params;

/** The whole file as a table. */
typedef struct replay_state {
    long n_workers, n_steps;
    double seconds[]; /* [n_steps][n_workers] */
} replay_state;

enum { WORKER, STEP, SECONDS, N_COLUMNS };

typedef double replay_row[N_COLUMNS];

/** Reads the columns: rows[csv->n_rows]. Without steps a worker's rows are in order. */
static dsgd_status read_rows(const dsgd_csv *csv, replay_row *rows, dsgd_error *error)
{
    dsgd_step_times at;
    DSGD_TRY(dsgd_step_times_find(csv, NULL, NULL, &at, error));
    const size_t columns[N_COLUMNS] = {at.worker, at.step, at.time};
    if (at.worker == csv->n_columns)
        return dsgd_fail(error, DSGD_EIO,
                         "%s:1: the first line has no column \"worker\" or \"rank\"; they and the "
                         "seconds are needed",
                         csv->path);
    for (size_t k = 0; k < N_COLUMNS; k++)
        for (size_t i = 0; i < csv->n_rows && columns[k] < csv->n_columns; i++) {
            const char *const text = dsgd_csv_field(csv, i, columns[k]);
            const bool counts = k != SECONDS;
            if (!dsgd_parse_number(text, NULL, &rows[i][k]) || rows[i][k] < 0 ||
                rows[i][k] > (counts ? 1 << 20 : 1e9) ||
                (counts && rows[i][k] != floor(rows[i][k])))
                return dsgd_fail(error, DSGD_EIO, "%s:%zu: %s is \"%s\", but has to be a %s",
                                 csv->path, csv->lines[i + 1], csv->fields[columns[k]], text,
                                 counts ? "whole number from 0 to 1048576"
                                        : "number from 0 to 1e9");
            if (!counts)
                rows[i][k] *= at.unit->factor;
        }
    double *const next = dsgd_keep((1 << 20) + 1, sizeof *next);
    for (size_t i = 0; i < csv->n_rows && at.step == csv->n_columns; i++)
        rows[i][STEP] = next[(size_t)rows[i][WORKER]]++;
    return DSGD_OK;
}

/** Puts the rows into a table without holes. */
static dsgd_status tabulate(const dsgd_csv *csv, replay_row *rows, void **state, dsgd_error *error)
{
    long n_workers = 0, n_steps = 0;
    for (size_t i = 0; i < csv->n_rows; i++) {
        n_workers = rows[i][WORKER] >= (double)n_workers ? (long)rows[i][WORKER] + 1 : n_workers;
        n_steps = rows[i][STEP] >= (double)n_steps ? (long)rows[i][STEP] + 1 : n_steps;
    }
    const double cells = (double)n_workers * (double)n_steps;
    if (csv->n_rows == 0 || cells != (double)csv->n_rows)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: %zu rows, but %ld workers times %ld steps need one each, both counted from 0",
            csv->path, csv->n_rows, n_workers, n_steps);
    replay_state *const table =
        dsgd_xcalloc(1, sizeof *table + csv->n_rows * sizeof table->seconds[0]);
    table->n_workers = n_workers;
    table->n_steps = n_steps;
    for (size_t i = 0; i < csv->n_rows; i++)
        table->seconds[i] = NAN;
    for (size_t i = 0; i < csv->n_rows; i++) {
        const long worker = (long)rows[i][WORKER], step = (long)rows[i][STEP];
        double *const cell = &table->seconds[step * n_workers + worker];
        if (!isnan(*cell)) {
            free(table);
            return dsgd_fail(error, DSGD_EIO, "%s: worker %ld, step %ld has two rows", csv->path,
                             worker, step);
        }
        *cell = rows[i][SECONDS];
    }
    *state = table;
    return DSGD_OK;
}

static dsgd_status replay_load(const void *params, void **state, dsgd_error *error)
{
    dsgd_csv csv;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", ((const replay_params *)params)->file));
    replay_row *const rows = dsgd_keep(csv.n_rows, sizeof *rows);
    DSGD_TRY(read_rows(&csv, rows, error));
    return tabulate(&csv, rows, state, error);
}

static double replay_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    (void)params, (void)so_far_s;
    const replay_state *const table = at.state;
    return table
        ->seconds[at.step % table->n_steps * table->n_workers + at.worker % table->n_workers];
}

static const dsgd_option replay_options[] = {
    DSGD_OPTION_STRING(
        replay_params, file,
        "CSV with the columns worker or rank, from 0, and seconds or step_time_ms or the "
        "like, and perhaps step; a longer or wider run starts it again",
        .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(replay, "measured seconds out of a file, in place of the time so far",
               .load = replay_load);
