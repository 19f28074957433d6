/**
 * @file values.c
 * Measures the numerics of a step for many models of one network: a gradient, an update, and an
 * average with a neighbour. Before it measures, it checks a known result. Arguments: values
 * [workers] [threads] [hidden] [batch] [device]. The device is `cpu`, `cuda` or `null`. The device
 * `null` is the CUDA module DSGD_CUDA_MODULE=.../dsgd_cuda_null.so, which computes no numbers and
 * takes no time.
 */
#include <gsl/gsl_sort.h>
#include <time.h>

#include "base/program.h"
#include "models/values/values.h"
#include "tests/support/stream.h"

enum { RUNS = 7, STEPS = 4, STEPS_OF_NOTHING = 64 };

typedef struct bench {
    dsgd_values *values;
    uint32_t n_workers, batch, steps;
    dsgd_value *x, *v, *mean; /* array [n_workers] with one value for each worker */
    uint64_t step;
} bench;

static const dsgd_data *load(void)
{
    const dsgd_data_source *source =
        (const void *)dsgd_entry_find(dsgd_data_sources, "fashion-mnist");
    void *const params = dsgd_keep(1, source->about.params_size);
    dsgd_options_default(source->about.options, params);
    dsgd_data *data = NULL;
    dsgd_error error = {""};
    DSGD_ASSERT(source->load(params, 1, &data, &error) == DSGD_OK, "%s", error.text);
    return data;
}

/** Makes a local step of every worker, and then averages pairs of models. */
static void step(bench *b)
{
    static const double ones[] = {1, 1};
    for (uint32_t w = 0; w < b->n_workers; w++) {
        const dsgd_origin where = {w, b->step};
        dsgd_value g = DSGD_ZERO_VALUE;
        dsgd_values_gradient(b->values, where, b->batch, &b->x[w], NULL, &g);
        const dsgd_value x =
            dsgd_values_update(b->values, where, 0, b->x[w], g, &b->v[w], (dsgd_rate){0.01, 1});
        dsgd_value_release(b->values, g);
        dsgd_value_release(b->values, b->x[w]);
        b->x[w] = x;
    }
    for (uint32_t w = 0; w < b->n_workers; w++) {
        /*
         * In even steps, the pairs are neighbours. In odd steps, the ranks of a pair differ by half
         * the number of workers.
         */
        const uint32_t half = b->n_workers / 2;
        const uint32_t other = b->step % 2 == 0 ? w ^ 1 : (w + half) % b->n_workers;
        const dsgd_value pair[] = {b->x[w < other ? w : other], b->x[w < other ? other : w]};
        b->mean[w] = dsgd_values_combine(b->values, (dsgd_origin){w, b->step}, 0, 2, pair, ones, 2);
    }
}

static double steps_wall_s(bench *b)
{
    const double start_s = dsgd_wall_s();
    for (uint32_t i = 0; i < b->steps; i++) {
        step(b);
        for (uint32_t w = 0; w < b->n_workers; w++) {
            dsgd_value_release(b->values, b->x[w]);
            b->x[w] = b->mean[w];
        }
        b->step++;
    }
    dsgd_values_flush(b->values);
    DSGD_ASSERT(!dsgd_values_divergence(b->values).happened, "it diverged");
    return dsgd_wall_s() - start_s;
}

/**
 * Checks that the mean of x and 3 x is 2 x, and that some steps reduce the loss. These steps also
 * fill the pools of buffers.
 */
static void check(bench *b, const double *x, size_t n)
{
    double *const y = dsgd_keep(n, sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = 3 * x[i];
    const dsgd_value operands[] = {b->x[0], dsgd_values_constant(b->values, 0, y)};
    const dsgd_value mean = dsgd_values_combine(b->values, (dsgd_origin){0, 0}, 0, 2, operands,
                                                (const double[]){1, 1}, 2);
    dsgd_values_read(b->values, 0, mean, y);
    for (size_t i = 0; i < n; i++)
        DSGD_ASSERT(fabs(y[i] - 2 * x[i]) <= 1e-6 * fabs(x[i]), "number %zu of a mean is %g", i,
                    y[i]);
    dsgd_value_release(b->values, operands[1]);
    dsgd_value_release(b->values, mean);
    const size_t before = dsgd_values_evaluate(b->values, b->n_workers, 0, b->x, NULL);
    steps_wall_s(b);
    const size_t after = dsgd_values_evaluate(b->values, b->n_workers, 0, b->x, NULL);
    const double loss[] = {dsgd_values_result(b->values, before).loss,
                           dsgd_values_result(b->values, after).loss};
    DSGD_ASSERT(loss[1] < loss[0], "the loss goes from %g to %g", loss[0], loss[1]);
}

/**
 * Checks counts for a device that computes no numbers. The drawn samples must be the samples of the
 * stream, and each value must be computed once.
 */
static void check_counts(bench *b, const dsgd_stream *stream)
{
    dsgd_sampler *const sampler = dsgd_sampler_new(stream);
    uint32_t *const drawn = dsgd_keep(b->batch, sizeof *drawn);
    for (uint32_t i = 0; i < 8 * b->n_workers; i++) {
        const uint32_t w = i % b->n_workers;
        const uint32_t t = i / b->n_workers;
        dsgd_sampler_draw(sampler, w, t, b->batch, drawn);
        for (uint32_t j = 0; j < b->batch; j++)
            DSGD_ASSERT(drawn[j] == stream_sample(stream, w, t, j), "sample %u of %u", j, w);
    }
    dsgd_sampler_free(sampler);
    steps_wall_s(b);
    const dsgd_values_stats stats = dsgd_values_stats_get(b->values);
    const uint64_t n = (uint64_t)b->steps * b->n_workers;
    DSGD_ASSERT(stats.gradients == n && stats.updates == n && stats.combinations == n / 2,
                "%lu gradients, %lu updates, %lu means", (unsigned long)stats.gradients,
                (unsigned long)stats.updates, (unsigned long)stats.combinations);
    DSGD_ASSERT(stats.gradient_samples == n * b->batch, "%lu samples",
                (unsigned long)stats.gradient_samples);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(bench *b, uint32_t n_threads)
{
    double us[RUNS];
    const double busy_before_s = dsgd_values_stats_get(b->values).busy_wall_s;
    const double cpu_before_s = cpu_s();
    for (int i = 0; i < RUNS; i++)
        us[i] = 1e6 * steps_wall_s(b) / b->steps / b->n_workers;
    const double cpu_us = 1e6 * (cpu_s() - cpu_before_s) / RUNS / b->steps / b->n_workers;
    const dsgd_values_stats stats = dsgd_values_stats_get(b->values);
    const double busy_us =
        1e6 * (stats.busy_wall_s - busy_before_s) / RUNS / b->steps / b->n_workers;
    gsl_sort(us, 1, RUNS);
    printf("pairs: %u workers, %u threads: min %.2f us, median %.2f us per worker and step; "
           "%.2f us in the device, %.2f us of CPU in all; %.0f MB at most\n",
           b->n_workers, n_threads, us[0], us[RUNS / 2], busy_us, cpu_us,
           1e-6 * (double)stats.peak_bytes);
}

int main(int count, char **arguments)
{
    const uint32_t n_workers = count > 1 ? (uint32_t)atoi(arguments[1]) : 1024;
    const uint32_t n_threads = count > 2 ? (uint32_t)atoi(arguments[2]) : 1;
    DSGD_ASSERT(n_workers % 2 == 0, "an odd number of workers");
    const dsgd_data *const data = load();
    const dsgd_model_kind *kind = (const void *)dsgd_entry_find(dsgd_model_kinds, "mlp");
    double hidden = count > 3 ? atof(arguments[3]) : 32;
    const uint32_t batch = count > 4 ? (uint32_t)atoi(arguments[4]) : 4;
    const char *const where = count > 5 ? arguments[5] : "cpu";
    const dsgd_numbers sizes = {1, &hidden};
    DSGD_ASSERT(kind->about.params_size == sizeof sizes, "the sizes are mlp's only parameter");
    dsgd_network network;
    DSGD_ASSERT(dsgd_model_build(kind, &sizes, data, &network, NULL) == DSGD_OK,
                "mlp on fashion-mnist");
    const size_t begin[] = {0, network.n_params};
    const dsgd_device *device = dsgd_device_cpu(false);
    if (strcmp(where, "cpu") != 0)
        DSGD_ASSERT(dsgd_device_cuda(&device, NULL) == DSGD_OK, "there is no module");
    const dsgd_values_config config = {.device = device,
                                       .problem = {.network = &network,
                                                   .data = data,
                                                   .n_pieces = 1,
                                                   .piece_begin = begin,
                                                   .update = {.momentum = 0.9}},
                                       .stream = {1, data->train.n, n_workers, batch},
                                       .n_threads = n_threads,
                                       .memory_bytes = (size_t)4 << 30};
    bench b = {.n_workers = n_workers,
               .batch = batch,
               .steps = strcmp(where, "null") == 0 ? STEPS_OF_NOTHING : STEPS,
               .x = dsgd_keep(n_workers, sizeof(dsgd_value)),
               .v = dsgd_keep(n_workers, sizeof(dsgd_value)),
               .mean = dsgd_keep(n_workers, sizeof(dsgd_value))};
    DSGD_ASSERT(dsgd_values_open(&config, &b.values, NULL) == DSGD_OK, "the store");
    double *const initial = dsgd_keep(network.n_params, sizeof *initial);
    dsgd_network_initial(&network, 1, initial);
    const dsgd_value start = dsgd_values_constant(b.values, 0, initial);
    for (uint32_t w = 0; w < n_workers; w++)
        b.x[w] = dsgd_value_retain(start);
    if (strcmp(where, "null") != 0)
        check(&b, initial, network.n_params);
    else
        check_counts(&b, &config.stream);
    report(&b, n_threads);
    dsgd_values_close(b.values);
    return 0;
}
