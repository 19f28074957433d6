/**
 * @file imbalance_replay.c
 * Seconds as they were measured: a CSV file with the columns worker, step and seconds, in any order
 * of columns and rows.
 */
#include "base/csv.h"
#include "traces/imbalance.h"

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

static const char *const column_names[N_COLUMNS] = {"worker", "step", "seconds"};

/** Reads the three columns: rows[csv->n_rows]. */
static dsgd_status read_rows(const dsgd_csv *csv, replay_row *rows, dsgd_error *error)
{
    for (size_t k = 0; k < N_COLUMNS; k++) {
        const size_t column = dsgd_csv_column(csv, column_names[k]);
        if (column == csv->n_columns)
            return dsgd_fail(
                error, DSGD_EIO,
                "%s:1: the first line has no column \"%s\"; worker, step and seconds are needed",
                csv->path, column_names[k]);
        for (size_t i = 0; i < csv->n_rows; i++) {
            const char *const text = dsgd_csv_field(csv, i, column);
            if (!dsgd_parse_number(text, NULL, &rows[i][k]) || rows[i][k] < 0 || rows[i][k] > 1e9)
                return dsgd_fail(error, DSGD_EIO,
                                 "%s:%zu: %s is \"%s\", but has to be a number from 0 to 1e9",
                                 csv->path, csv->lines[i + 1], column_names[k], text);
        }
    }
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
    DSGD_OPTION_STRING(replay_params, file,
                       "CSV with the columns worker, step, seconds, counted from 0; a longer or "
                       "wider run starts it again",
                       .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(replay, "measured seconds out of a file, in place of the time so far",
               .load = replay_load);
