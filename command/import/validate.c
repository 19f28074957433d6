/**
 * @file validate.c
 * Simulates the experiment that `dsgd import` wrote, and compares the result with the measurements.
 */
#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/import/reader.h"
#include "sim/timeline.h"

enum { FIRST = 2, STEPS = 50 }; /* the first compared step, and the number of compared steps */

/** Times that are recorded during a simulated run. */
typedef struct seen {
    size_t n_pieces;
    /*
     * arrays [STEPS][n_pieces]: time at which the last worker begins the sum of a chunk, and time
     * at which the sum ends
     */
    double *since_s, *end_s;
    double steps_s, squares, n_steps; /* over all workers: sum of step times, sum of their squares,
                                       * and number of steps */
} seen;

static void note_span(void *listener, const dsgd_span *span)
{
    seen *const s = listener;
    if (span->kind == DSGD_SPAN_STEP && isfinite(span->end_s)) {
        s->steps_s += span->end_s - span->since_s;
        s->squares += (span->end_s - span->since_s) * (span->end_s - span->since_s);
        s->n_steps++;
    }
    if (span->kind != DSGD_SPAN_EXCHANGE || span->piece < 0 || (size_t)span->piece >= s->n_pieces ||
        span->step < FIRST || span->step >= FIRST + STEPS)
        return;
    const size_t i = (size_t)(span->step - FIRST) * s->n_pieces + (size_t)span->piece;
    s->since_s[i] = fmax(s->since_s[i], span->since_s);
    s->end_s[i] = fmax(s->end_s[i], span->end_s);
}

static dsgd_status simulate(const dsgd_import *m, seen *s, dsgd_error *error)
{
    const char *const sets[] = {dsgd_xprintf("until={steps: %d}", FIRST + STEPS)};
    dsgd_experiment e;
    dsgd_run_result result;
    DSGD_TRY(dsgd_experiment_open(m->output, sets, 1, DSGD_NUMERICS_OFF, &e, error));
    dsgd_run_config config = e.runs[0].config;
    bool *const all = dsgd_keep((size_t)config.workers, sizeof *all);
    memset(all, true, (size_t)config.workers);
    config.numerics = DSGD_NUMERICS_OFF;
    config.threads = 1;
    config.memory_bytes = SIZE_MAX;
    config.timeline = &(dsgd_timeline){.first_step = FIRST,
                                       .end_step = FIRST + STEPS,
                                       .chosen = all,
                                       .ended = note_span,
                                       .listener = s};
    DSGD_TRY(dsgd_simulate(&config, &result, error));
    dsgd_run_result_free(&result);
    return DSGD_OK;
}

/**
 * Adds a row to the table and returns its relative error. If the measured value is only an upper
 * bound and the simulated value is below it, the error is 0.
 */
static double put(dsgd_columns *table, const char *what, double measured_s, double predicted_s,
                  bool is_bound)
{
    const double error = predicted_s / measured_s - 1;
    const bool is_within = is_bound && error <= 0;
    dsgd_columns_row(table);
    dsgd_columns_put(table, "", "%s", what);
    dsgd_columns_put(table, "measured (ms)", "%s%.4g", is_bound ? "<= " : "", 1e3 * measured_s);
    dsgd_columns_put(table, "predicted (ms)", "%.4g", 1e3 * predicted_s);
    dsgd_columns_put(table, "error", is_within ? "within" : "%+.1f %%", 100 * error);
    return is_within ? 0 : error;
}

dsgd_status dsgd_import_validate(const dsgd_import *m, dsgd_error *error)
{
    static const double most = 0.1;
    const dsgd_profiled *const of = &m->measured;
    const size_t n = of->n_buckets, room = STEPS * n + 1;
    seen s = {.n_pieces = n,
              .since_s = dsgd_keep(room, sizeof(double)),
              .end_s = dsgd_keep(room, sizeof(double))};
    dsgd_columns table = {.n_rows = 0};
    size_t worst = 0;
    double worst_error = 0;
    DSGD_TRY(simulate(m, &s, error));
    const double step_s = s.steps_s / s.n_steps;
    const double step_error = put(&table, "step", of->step_s, step_s, false);
    if (of->deviation_s > 0)
        put(&table, "its standard deviation", of->deviation_s,
            sqrt(fmax(s.squares / s.n_steps - step_s * step_s, 0)), false);
    for (size_t b = 0; b < n; b++) {
        double sum_s = 0;
        for (size_t k = 0; k < STEPS; k++)
            sum_s += s.end_s[k * n + b] - s.since_s[k * n + b];
        const double off =
            put(&table, dsgd_xprintf("sum of bucket %zu, %.4g MB", b, 1e-6 * of->bucket_bytes[b]),
                of->bucket_s[b], sum_s / STEPS, of->is_bound);
        worst = fabs(off) > fabs(worst_error) ? b : worst;
        worst_error = fabs(off) > fabs(worst_error) ? off : worst_error;
    }
    dsgd_columns_print(&table);
    if (fabs(step_error) > most)
        printf("warning: the step is off by more than 10 %%: %s\n",
               fabs(worst_error) > most ? "its sums are the cause, see below"
                                        : "give a longer profile, of 10 steps or more");
    if (fabs(worst_error) > most)
        printf(
            "warning: bucket %zu is off by more than 10 %%: give a log of `all_reduce_perf -b "
            "%.0f "
            "-e %.0f -c 0` on these GPUs%s\n",
            worst, of->bucket_bytes[worst], of->bucket_bytes[worst],
            worst_error > -0.5
                ? ""
                : "; it takes more than twice as long as this platform's links allow: a slow link, "
                  "sockets, other traffic, or a rank that is late and has no trace");
    return DSGD_OK;
}
