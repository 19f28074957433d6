/**
 * @file imbalance_replay.c
 * Replays measured step times from a CSV file with a column of workers, such as the files of `dsgd
 * imbalance fit`. If the file has no column of steps, the rows of a worker must be in the order of
 * its steps.
 */
#include "base/csv.h"
#include "traces/imbalance.h"
#include "traces/step_times.h"

typedef struct replay_params {
    const char *file;
} replay_params;

/** The whole file of measured step times as a table. */
typedef struct replay_state {
    int64_t n_workers, n_steps;
    /* measured time of each worker in each step, in seconds; [n_steps][n_workers] */
    double seconds[];
} replay_state;

/**
 * Reads the columns of the file. If the file has no column of steps, numbers the rows of each
 * worker.
 */
static dsgd_status read_rows(const dsgd_csv *csv, dsgd_step_times *rows, dsgd_error *error)
{
    DSGD_TRY(dsgd_step_times_read(csv, NULL, NULL, 0, rows, error));
    if (rows->workers == NULL)
        return dsgd_fail(error, DSGD_EIO,
                         "%s:1: the first line must name a column worker or rank, and one of "
                         "times",
                         csv->path);
    if (rows->steps != NULL)
        return DSGD_OK;
    double *const next = dsgd_keep((1 << 20) + 1, sizeof *next);
    rows->steps = dsgd_keep(csv->n_rows + 1, sizeof *rows->steps);
    for (size_t i = 0; i < csv->n_rows; i++)
        rows->steps[i] = next[(size_t)rows->workers[i]]++;
    return DSGD_OK;
}

/** Converts the rows to a table. Returns an error if the table lacks a step of a worker. */
static dsgd_status tabulate(const dsgd_csv *csv, const dsgd_step_times *rows, void **state,
                            dsgd_error *error)
{
    int64_t n_workers = 0, n_steps = 0;
    for (size_t i = 0; i < csv->n_rows; i++) {
        n_workers =
            rows->workers[i] >= (double)n_workers ? (int64_t)rows->workers[i] + 1 : n_workers;
        n_steps = rows->steps[i] >= (double)n_steps ? (int64_t)rows->steps[i] + 1 : n_steps;
    }
    const double cells = (double)n_workers * (double)n_steps;
    if (csv->n_rows == 0 || cells != (double)csv->n_rows)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: expected one row for each of %jd workers and %jd steps, both counted from 0, got "
            "%zu rows",
            csv->path, n_workers, n_steps, csv->n_rows);
    replay_state *const table =
        dsgd_xcalloc(1, sizeof *table + csv->n_rows * sizeof table->seconds[0]);
    table->n_workers = n_workers;
    table->n_steps = n_steps;
    for (size_t i = 0; i < csv->n_rows; i++)
        table->seconds[i] = NAN;
    for (size_t i = 0; i < csv->n_rows; i++) {
        const int64_t worker = (int64_t)rows->workers[i], step = (int64_t)rows->steps[i];
        double *const cell = &table->seconds[step * n_workers + worker];
        if (!isnan(*cell)) {
            free(table);
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: worker %jd, step %jd has a second row",
                             csv->path, csv->lines[i + 1], worker, step);
        }
        *cell = rows->seconds[i];
    }
    *state = table;
    return DSGD_OK;
}

static dsgd_status replay_load(const void *params, void **state, dsgd_error *error)
{
    const replay_params *const p = params;
    dsgd_csv csv;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", p->file));
    dsgd_step_times rows;
    DSGD_TRY(read_rows(&csv, &rows, error));
    return tabulate(&csv, &rows, state, error);
}

static double replay_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    (void)params;
    (void)so_far_s;
    const replay_state *const s = at.state;
    return s->seconds[at.step % s->n_steps * s->n_workers + at.worker % s->n_workers];
}

static const dsgd_option replay_options[] = {
    DSGD_OPTION_STRING(
        replay_params, file,
        "CSV file with the columns worker (or rank, from 0), seconds (or step_time_ms and "
        "similar) and optionally step. A run with more steps or workers repeats the file",
        .required = true, .unit = "path"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(replay, "measured times from a file, which replace the step time so far",
               .load = replay_load, .is_fixed = true);
