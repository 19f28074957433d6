/**
 * @file imbalance_simple.c
 * Implements imbalance in closed form: a constant, one slow worker, injected delays, a ramp over
 * the ranks, and the lengths of samples. Two kinds belong to a worker instead of a step. In kind
 * `persistent`, a GPU is always faster or slower than other GPUs. In kind `fail_slow`, a GPU is
 * slow for some time.
 */
#include <gsl/gsl_cdf.h>

#include "traces/imbalance.h"

/* --- constant: the same change for all -------------------------------------------------------- */

typedef struct constant_params {
    double seconds, factor;
} constant_params;

static double constant_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    (void)at;
    const constant_params *p = params;
    return so_far_s * p->factor + p->seconds;
}

static const dsgd_option constant_options[] = {
    DSGD_OPTION_DOUBLE(constant_params, seconds, 0, -1e9, 1e9, "s",
                       "time added to every step of every worker"),
    DSGD_OPTION_DOUBLE(constant_params, factor, 1, 0, 1e9, NULL, "factor on the step time so far"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(constant,
               "the same change for every worker: factor times the step time so far, plus seconds",
               .is_fixed = true);

/* --- slow: one slow worker -------------------------------------------------------------------- */

typedef struct slow_params {
    int64_t worker;
    double factor;
} slow_params;

static double slow_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const slow_params *p = params;
    return at.worker == p->worker ? so_far_s * p->factor : so_far_s;
}

static dsgd_status slow_check(const void *params, int n_workers, dsgd_error *error)
{
    const slow_params *p = params;
    if (p->worker >= n_workers)
        return dsgd_refuse(error, "slow: worker must be from 0 to %d, got %jd", n_workers - 1,
                           p->worker);
    return DSGD_OK;
}

static const dsgd_option slow_options[] = {
    DSGD_OPTION_LONG(slow_params, worker, 0, 0, 1 << 20, NULL, "rank of the slow worker"),
    DSGD_OPTION_DOUBLE(slow_params, factor, 2, 0, 1e9, NULL, "factor on its step time so far"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(slow, "one worker is slower than the others in every step", .check = slow_check,
               .is_fixed = true);

/* --- delay: delays of random workers ---------------------------------------------------------- */

typedef struct delay_params {
    int64_t workers;
    double seconds, probability;
    int chosen; /* method of choosing the delayed workers, as an index into chosen_words */
} delay_params;

enum { CHOSEN_INDEPENDENT = 1, CHOSEN_STREAM };

static dsgd_status delay_check(const void *params, int n_workers, dsgd_error *error)
{
    const delay_params *p = params;
    if (p->workers > n_workers)
        return dsgd_refuse(error,
                           "delay: workers must be at most the number of workers, %d, got %jd",
                           n_workers, p->workers);
    return DSGD_OK;
}

/**
 * Returns true if the worker is delayed. The delayed workers are the first `workers` ranks of a
 * random permutation. Exactly `workers` workers are therefore delayed per step.
 */
static bool chosen_together(const delay_params *p, dsgd_step_at at)
{
    const uint32_t place = dsgd_draw_permuted(dsgd_imbalance_draw(at, 0, 0), (uint32_t)at.n_workers,
                                              (uint32_t)at.worker);
    return place < (uint64_t)p->workers;
}

/**
 * Returns true if the worker is delayed: it draws `workers` random ranks, and one of these ranks is
 * its own rank.
 */
static bool chosen_independently(const delay_params *p, dsgd_step_at at)
{
    const double other = 1 - 1.0 / at.n_workers;
    return dsgd_draw_uniform(dsgd_imbalance_draw(at, 1 + (uint32_t)at.worker, 1)) >=
           pow(other, (double)p->workers);
}

/**
 * number of steps after which the stream of random ranks restarts; a run starts in the middle of a
 * stream, where workers already have different positions
 */
enum { STREAM_STEPS = 1000 };

/**
 * Returns true if the worker is delayed: one of the next `workers` ranks in a stream is its own
 * rank. All workers read the same stream, each from its own position. A worker that finds its rank
 * stops reading in this step. In later steps it therefore reads earlier positions than the other
 * workers.
 */
static bool chosen_from_stream(const delay_params *p, dsgd_step_at at)
{
    const int64_t since = at.step + STREAM_STEPS / 2;
    uint32_t place = 0;
    bool late = false;
    at.step = since / STREAM_STEPS;
    for (int64_t step = since % STREAM_STEPS; step >= 0; step--) {
        late = false;
        for (int64_t i = 0; i < p->workers && !late; i++)
            late = dsgd_draw_below(dsgd_imbalance_draw(at, 0, place++), (uint64_t)at.n_workers) ==
                   (uint64_t)at.worker;
    }
    return late;
}

static double delay_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    static bool (*const chosen[])(const delay_params *p, dsgd_step_at at) = {
        chosen_together, chosen_independently, chosen_from_stream};
    const delay_params *p = params;
    const bool late =
        chosen[p->chosen](p, at) &&
        (p->probability >= 1 ||
         dsgd_draw_uniform(dsgd_imbalance_draw(at, 1 + (uint32_t)at.worker, 0)) < p->probability);
    return late ? so_far_s + p->seconds : so_far_s;
}

static const char *const chosen_words[] = {"together", "independent", "stream", NULL};

static const dsgd_option delay_options[] = {
    DSGD_OPTION_LONG(delay_params, workers, 1, 0, 1 << 20, NULL,
                     "number of workers chosen at random in each step"),
    DSGD_OPTION_DOUBLE(delay_params, seconds, 0, 0, 1e9, "s", "delay of a chosen worker",
                       .required = true),
    DSGD_OPTION_DOUBLE(delay_params, probability, 1, 0, 1, "share",
                       "probability that a chosen worker is delayed"),
    DSGD_OPTION_CHOICE(
        delay_params, chosen, chosen_words,
        "method of choosing workers. together: exactly `workers` of them (the papers); "
        "independent: "
        "each worker draws `workers` random ranks and is delayed if one is its own, so that the "
        "number varies; stream: as independent, but all workers read one random sequence, and a "
        "worker stops reading at its own rank (WAGMA's released code)"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(delay, "fixed delay of workers that are chosen at random in each step",
               .about.reference =
                   "injected delays of the eager-SGD (PPoPP 2020) and WAGMA-SGD (TPDS 2021) papers",
               .check = delay_check);

/* --- ramp: delays in proportion to the rank --------------------------------------------------- */

typedef struct ramp_params {
    double seconds;
    bool rotate;
    int64_t levels; /* number of different delays; -1 selects the number of workers */
} ramp_params;

static double ramp_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const ramp_params *p = params;
    const int64_t levels = p->levels > 0 ? p->levels : at.n_workers;
    const int64_t place = p->rotate ? at.worker + at.step : at.worker;
    return so_far_s + (double)(place % levels) * p->seconds;
}

static const char *const workers_word[] = {"workers", NULL};

static const dsgd_option ramp_options[] = {
    DSGD_OPTION_DOUBLE(ramp_params, seconds, 0, 0, 1e9, "s",
                       "delay per rank: worker i is delayed by i times this", .required = true),
    DSGD_OPTION_BOOL(ramp_params, rotate, false,
                     "true: the delays move on by one worker in each step"),
    DSGD_OPTION_LONG(ramp_params, levels, -1, 1, 1 << 20, NULL,
                     "number of different delays, after which they start again at 0",
                     .words = workers_word),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(ramp, "delay of every worker in proportion to its rank",
               .about.reference =
                   "micro-benchmark and CIFAR-10 experiment of the eager-SGD paper (PPoPP 2020)",
               .is_fixed = true);

/* --- data: time by the length of samples ------------------------------------------------------ */

enum { LENGTH_SUM, LENGTH_LONGEST };

typedef struct data_params {
    double seconds, per_row, factor;
    int length;
} data_params;

static double data_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const data_params *p = params;
    const double rows =
        p->length == LENGTH_SUM ? at.batch.rows : at.batch.longest * at.batch.samples;
    return p->factor * so_far_s + p->seconds + p->per_row * rows;
}

static const char *const lengths[] = {"sum", "longest", NULL};

static const dsgd_option data_options[] = {
    DSGD_OPTION_DOUBLE(data_params, seconds, 0, 0, 1e9, "s", "time of a step without rows"),
    DSGD_OPTION_DOUBLE(
        data_params, per_row, 0, 0, 1e9, "s",
        "time per row of the mini-batch: a step of a sequence, a character or a pixel",
        .required = true),
    DSGD_OPTION_DOUBLE(data_params, factor, 0, 0, 1e9, NULL,
                       "factor on the step time so far; 0: only the samples count"),
    DSGD_OPTION_CHOICE(
        data_params, length, lengths,
        "rows that count. sum: of all samples; longest: all samples padded to the longest one"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(data, "time by the length of a worker's samples: seconds + per_row * rows",
               .reads_samples = true);

/* --- persistent: constant speed per worker ---------------------------------------------------- */

typedef struct persistent_params {
    double deviation, outliers, outlier_min, outlier_max;
} persistent_params;

static dsgd_status persistent_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const persistent_params *p = params;
    if (p->outlier_min > p->outlier_max)
        return dsgd_refuse(error,
                           "persistent: outlier_min must be at most outlier_max, got %g and %g",
                           p->outlier_min, p->outlier_max);
    return DSGD_OK;
}

static double persistent_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const persistent_params *p = params;
    enum { IS_OUTLIER, FACTOR };
    at.step = 0; /* Use step 0 as a coordinate, so that the random numbers are the same in all
                  * steps. */
    const double u = dsgd_imbalance_uniform(at, FACTOR);
    if (dsgd_imbalance_uniform(at, IS_OUTLIER) < p->outliers)
        return so_far_s * (p->outlier_min + u * (p->outlier_max - p->outlier_min));
    return so_far_s * fmax(0, 1 + p->deviation * gsl_cdf_ugaussian_Pinv(u));
}

static const dsgd_option persistent_options[] = {
    DSGD_OPTION_DOUBLE(
        persistent_params, deviation, 0.04, 0, 0.25, NULL,
        "standard deviation of a healthy worker's factor, which is normal with mean 1"),
    DSGD_OPTION_DOUBLE(persistent_params, outliers, 0, 0, 1, "share",
                       "probability that a worker is an outlier"),
    DSGD_OPTION_DOUBLE(persistent_params, outlier_min, 1.2, 0, 1e9, NULL,
                       "smallest factor of an outlier, which is uniformly distributed"),
    DSGD_OPTION_DOUBLE(persistent_params, outlier_max, 1.5, 0, 1e9, NULL,
                       "largest factor of an outlier"),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(persistent, "constant factor per worker, for identical GPUs that differ in speed",
               .check = persistent_check);

/* --- fail_slow: slow periods of a worker ------------------------------------------------------ */

typedef struct fail_slow_params {
    double factor, slow_steps, healthy_steps;
} fail_slow_params;

/**
 * Returns the number of steps until the next renewal, at least 0. This number has a geometric
 * distribution. @p u is a uniform random number.
 */
static double gap(double renewal, double u)
{
    return floor(log(u) / log1p(-renewal));
}

/**
 * Returns true if the worker is slow in this step. The worker's state is a Markov chain with two
 * states, slow and healthy. In each step the worker leaves the slow state with probability
 * 1/slow_steps, and the healthy state with probability 1/healthy_steps.
 *
 * Equivalently, each step is a renewal with probability 1/slow_steps + 1/healthy_steps. A renewal
 * draws the state from its stationary distribution; without a renewal, the state does not change.
 * The state in a step is therefore the state of the last renewal. Renewals are generated in
 * windows, each as long as the mean distance of renewals. The windows are searched backwards. A
 * call needs about four random numbers, for any duration and any step.
 */
static bool is_slow(const fail_slow_params *p, dsgd_step_at at)
{
    const double renewal = 1 / p->slow_steps + 1 / p->healthy_steps;
    const double share = p->slow_steps / (p->slow_steps + p->healthy_steps);
    const int64_t window = (int64_t)ceil(1 / renewal);
    double upto = (double)(at.step % window);
    for (at.step /= window; at.step >= 0; at.step--, upto = (double)window - 1) {
        uint32_t n = 0; /* number of renewals in this window up to this step */
        double next = gap(renewal, dsgd_imbalance_uniform(at, 0));
        for (; next <= upto; n++)
            next += 1 + gap(renewal, dsgd_imbalance_uniform(at, 2 * (n + 1)));
        if (n > 0)
            return dsgd_imbalance_uniform(at, 2 * n - 1) < share;
    }
    /* No renewal has occurred since the first step, which has the stationary distribution. */
    at.step = 0;
    return dsgd_imbalance_uniform(at, UINT32_MAX) < share;
}

static double fail_slow_seconds(const void *params, dsgd_step_at at, double so_far_s)
{
    const fail_slow_params *p = params;
    return is_slow(p, at) ? so_far_s * p->factor : so_far_s;
}

static const dsgd_option fail_slow_options[] = {
    DSGD_OPTION_DOUBLE(fail_slow_params, factor, 1.5, 0, 1e9, NULL,
                       "factor on the step time so far while a worker is slow"),
    DSGD_OPTION_DOUBLE(fail_slow_params, slow_steps, 0, 2, 1e9, "steps",
                       "mean duration of a slow period, geometrically distributed",
                       .required = true),
    DSGD_OPTION_DOUBLE(fail_slow_params, healthy_steps, 0, 2, 1e9, "steps",
                       "mean duration between slow periods, geometrically distributed",
                       .required = true),
    DSGD_OPTION_END,
};

DSGD_IMBALANCE(fail_slow, "workers that independently become slow for a while and recover");
