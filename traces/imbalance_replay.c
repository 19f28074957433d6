/**
 * @file imbalance_replay.c
 * Seconds as they were measured: a CSV file as `dsgd imbalance fit` reads it, with workers, and
 * with steps or in their order. Or others like them, of more workers.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/csv.h"
#include "traces/imbalance.h"
#include "traces/step_times.h"

typedef struct replay_params {
    const char *file;
    bool resample;
} replay_params;

/**
 * From here on up a sample is taken for one of a Weibull distribution: the slowest of many can be
 * slower than all that were measured.
 */
typedef struct tail {
    double from;
    double n, excess; /* values from there on; by how much they are above it, mean */
    double shape; /* by their scatter: 1: exponential, 1.4: about normal, below 1: outliers */
} tail;

/**
 * The whole file as a table. To be resampled, seconds are exp(level + of_worker[w] + of_step[t] +
 * rest), and the table has the rests.
 */
typedef struct replay_state {
    int64_t n_workers, n_steps;
    double level;
    double *of_worker, *of_step; /* [n_workers], [n_steps]; behind the table */
    tail slow_workers, slow_rests;
    double seconds[]; /* [n_steps][n_workers] */
} replay_state;

/** Reads the columns. Without steps a worker's rows are in order. */
static dsgd_status read_rows(const dsgd_csv *csv, double least_s, dsgd_step_times *rows,
                             dsgd_error *error)
{
    DSGD_TRY(dsgd_step_times_read(csv, NULL, NULL, least_s, rows, error));
    if (rows->workers == NULL)
        return dsgd_fail(error, DSGD_EIO,
                         "%s:1: the first line has no column \"worker\" or \"rank\"; they and the "
                         "seconds are needed",
                         csv->path);
    if (rows->steps != NULL)
        return DSGD_OK;
    double *const next = dsgd_keep((1 << 20) + 1, sizeof *next);
    rows->steps = dsgd_keep(csv->n_rows + 1, sizeof *rows->steps);
    for (size_t i = 0; i < csv->n_rows; i++)
        rows->steps[i] = next[(size_t)rows->workers[i]]++;
    return DSGD_OK;
}

/** Puts the rows into a table without holes. */
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
            "%s: %zu rows, but %jd workers times %jd steps need one each, both counted from 0",
            csv->path, csv->n_rows, n_workers, n_steps);
    replay_state *const table =
        dsgd_xcalloc(1, sizeof *table + (csv->n_rows + (size_t)n_workers + (size_t)n_steps) *
                                            sizeof table->seconds[0]);
    table->n_workers = n_workers;
    table->n_steps = n_steps;
    table->of_worker = table->seconds + csv->n_rows;
    table->of_step = table->of_worker + n_workers;
    for (size_t i = 0; i < csv->n_rows; i++)
        table->seconds[i] = NAN;
    for (size_t i = 0; i < csv->n_rows; i++) {
        const int64_t worker = (int64_t)rows->workers[i], step = (int64_t)rows->steps[i];
        double *const cell = &table->seconds[step * n_workers + worker];
        if (!isnan(*cell)) {
            free(table);
            return dsgd_fail(error, DSGD_EIO, "%s: worker %jd, step %jd has two rows", csv->path,
                             worker, step);
        }
        *cell = rows->seconds[i];
    }
    *state = table;
    return DSGD_OK;
}

/* --- others like them ------------------------------------------------------------------------- */

/** Of the share of @p x that is largest. */
static tail tail_of(const double *x, size_t n, double share)
{
    double *const sorted = dsgd_keep(n, sizeof *sorted);
    memcpy(sorted, x, n * sizeof *x);
    gsl_sort(sorted, 1, n);
    tail t = {.from = gsl_stats_quantile_from_sorted_data(sorted, 1, n, 1 - share)};
    for (size_t i = 0; i < n; i++)
        if (sorted[i] >= t.from)
            t.excess += (sorted[i] - t.from - t.excess) / ++t.n;
    const double scatter = gsl_stats_sd(sorted + n - (size_t)t.n, 1, (size_t)t.n) / t.excess;
    t.shape = fmin(fmax(pow(scatter, -1.086), 0.7), 1.4); /* a few values do not tell more */
    return t;
}

/**
 * Gives @p effect[n], estimated as means of @p of values each, the variance of what they estimate:
 * that of a value, @p noise, is in them, too.
 */
static void shrink(double *effect, size_t n, double noise, double of)
{
    const double variance = gsl_stats_variance(effect, 1, n);
    const double factor = variance > 0 ? sqrt(fmax(0, variance - noise / of) / variance) : 0;
    for (size_t i = 0; i < n; i++)
        effect[i] *= factor;
}

/**
 * Splits the table's logarithms into what is a worker's, what is a step's, and the rest. A mean
 * that shrinks by chance alone stays in the rests, whose ends so are those that were measured.
 */
static void decompose(replay_state *s)
{
    static const double slow_workers = 0.5, slow_rests = 0.05;
    const size_t n_workers = (size_t)s->n_workers, n_steps = (size_t)s->n_steps;
    const size_t n = n_workers * n_steps;
    double noise = 0;
    for (size_t i = 0; i < n; i++)
        s->seconds[i] = log(s->seconds[i]);
    s->level = gsl_stats_mean(s->seconds, 1, n);
    for (size_t w = 0; w < n_workers; w++)
        s->of_worker[w] = gsl_stats_mean(s->seconds + w, n_workers, n_steps) - s->level;
    for (size_t t = 0; t < n_steps; t++)
        s->of_step[t] = gsl_stats_mean(s->seconds + t * n_workers, 1, n_workers) - s->level;
    for (size_t i = 0; i < n; i++)
        noise += pow(
            s->seconds[i] - s->level - s->of_worker[i % n_workers] - s->of_step[i / n_workers], 2);
    noise /= (double)(n_workers - 1) * (double)(n_steps - 1);
    shrink(s->of_worker, n_workers, noise, (double)n_steps);
    shrink(s->of_step, n_steps, noise, (double)n_workers);
    for (size_t i = 0; i < n; i++)
        s->seconds[i] -= s->level + s->of_worker[i % n_workers] + s->of_step[i / n_workers];
    const double variance = gsl_stats_variance(s->seconds, 1, n);
    for (size_t i = 0; i < n && variance > 0; i++)
        s->seconds[i] *= sqrt(noise / variance);
    s->slow_workers = tail_of(s->of_worker, n_workers, slow_workers);
    s->slow_rests = tail_of(s->seconds, n, slow_rests);
}

/** A drawn value, or what is in the tail in its place, whose mean is wrong by what it can be. */
static double with_tail(double x, const tail *t, dsgd_draw place, dsgd_draw mean)
{
    if (x < t->from)
        return x;
    const double error = gsl_cdf_ugaussian_Pinv(dsgd_draw_uniform(mean)) / sqrt(t->n);
    return t->from + t->excess * exp(error) * pow(-log(dsgd_draw_uniform(place)), 1 / t->shape) /
                         tgamma(1 + 1 / t->shape);
}

/**
 * A worker is like a measured one in all steps, and a step like a measured one at all workers. How
 * slow the slow ones are, and which of the measured steps there are, differs from seed to seed: so
 * do clusters, and what is known of them.
 */
static double resampled(const replay_state *s, dsgd_step_at at)
{
    enum { WORKER_AS, WORKER_TAIL, WORKERS, STEP_AS, STEPS, REST_AS, REST_TAIL, RESTS };
    const uint64_t n_workers = (uint64_t)s->n_workers, n_steps = (uint64_t)s->n_steps;
    const uint32_t w = (uint32_t)at.worker;
    dsgd_step_at always = at, like = at;
    always.step = 0;
    const double of_worker =
        s->of_worker[dsgd_draw_below(dsgd_imbalance_draw(always, w, WORKER_AS), n_workers)];
    const double rest =
        s->seconds[dsgd_draw_below(dsgd_imbalance_draw(at, w, REST_AS), n_workers * n_steps)];
    like.step = (int64_t)dsgd_draw_below(dsgd_imbalance_draw(at, 0, STEP_AS), n_steps);
    const double of_step =
        s->of_step[dsgd_draw_below(dsgd_imbalance_draw(like, 0, STEPS), n_steps)];
    const double logarithm =
        s->level + of_step +
        with_tail(of_worker, &s->slow_workers, dsgd_imbalance_draw(always, w, WORKER_TAIL),
                  dsgd_imbalance_draw(always, 0, WORKERS)) +
        with_tail(rest, &s->slow_rests, dsgd_imbalance_draw(at, w, REST_TAIL),
                  dsgd_imbalance_draw(always, 0, RESTS));
    return exp(fmin(logarithm, log(1e9))); /* the most that is read */
}

/* --- the kind --------------------------------------------------------------------------------- */

static dsgd_status replay_load(const void *params, void **state, dsgd_error *error)
{
    const replay_params *const p = params;
    dsgd_csv csv;
    DSGD_TRY(dsgd_csv_read(&csv, error, "%s", p->file));
    dsgd_step_times rows;
    DSGD_TRY(read_rows(&csv, p->resample ? 1e-12 : 0, &rows, error));
    DSGD_TRY(tabulate(&csv, &rows, state, error));
    if (!p->resample)
        return DSGD_OK;
    replay_state *const s = *state; /* the caller releases it */
    if (s->n_workers < 2 || s->n_steps < 2)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: %jd workers, %jd steps: to be resampled there have to be two or more of both",
            p->file, s->n_workers, s->n_steps);
    decompose(s);
    return DSGD_OK;
}

static double replay_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    (void)so_far_s;
    const replay_state *const s = at.state;
    return ((const replay_params *)params)->resample
               ? resampled(s, at)
               : s->seconds[at.step % s->n_steps * s->n_workers + at.worker % s->n_workers];
}

static const dsgd_option replay_options[] = {
    DSGD_OPTION_STRING(
        replay_params, file,
        "CSV with the columns worker or rank, from 0, and seconds or step_time_ms or the "
        "like, and perhaps step; a longer or wider run starts it again",
        .required = true, .unit = "path"),
    DSGD_OPTION_BOOL(
        replay_params, resample, false,
        "other workers and steps like these, of any number, other ones for each seed: "
        "what is a worker's in all steps, what is a step's at all workers, and the rest "
        "are drawn apart; the slower half of workers and the slowest twentieth of the rest "
        "have a tail as they scatter; who is rarer than 3 in the measured workers "
        "may be in none of them, and in no interval"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(replay, "measured seconds out of a file, in place of the time so far",
               .load = replay_load, .is_fixed = true);
