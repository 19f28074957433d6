/**
 * @file device.c
 * The CPU device against the limits of the machine, on one core: gradients of 1,024 replicas
 * against a large sgemm of OpenBLAS and a copy, the mean of 1,024 models against a copy. Each
 * result is checked before it is timed. Small memory is freed by the program's end.
 */
#include <cblas.h>
#include <time.h>

#include "base/draw.h"
#include "models/devices/device.h"
#include "models/zoo/network.h"

enum { REPLICAS = 1024, BATCH = 16, REPEATS = 7, SIDE = 1024, MODEL = 100000 };

/** CPU seconds of this program: other programs take none of them, though they share its caches and
 * memory. */
static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static float uniform(uint32_t row, uint32_t column)
{
    const dsgd_draw at = {.seed = 7, .purpose = DSGD_DRAW_DATA, .step = row, .index = column};
    return (float)(dsgd_draw_uniform(at) - 0.5);
}

static float *filled(size_t n, uint32_t row)
{
    float *const x = dsgd_xcalloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = i < 4096 ? uniform(row, (uint32_t)i) : x[i - 4096];
    return x;
}

/* --- limits of the machine -------------------------------------------------------------------- */

static double gemm_flops_per_s(void)
{
    float *const a = filled((size_t)SIDE * SIDE, 1);
    float *const b = filled((size_t)SIDE * SIDE, 2);
    float *const c = filled((size_t)SIDE * SIDE, 3);
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        const double start = cpu_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE, b,
                    SIDE, 0, c, SIDE);
        best = fmax(best, 2.0 * SIDE * SIDE * SIDE / (cpu_s() - start));
    }
    return best;
}

/** Bytes read and written per second by a copy that no cache holds. */
static double copy_bytes_per_s(void)
{
    const size_t n = (size_t)64 << 20;
    float *const a = filled(n, 1);
    float *const b = filled(n, 2);
    double best = 0;
    for (int r = 0; r < REPEATS; r++) {
        const double start = cpu_s();
        memcpy(a, b, n * sizeof *a);
        best = fmax(best, 2.0 * (double)(n * sizeof *a) / (cpu_s() - start));
    }
    free(a);
    free(b);
    return best;
}

/* --- gradients -------------------------------------------------------------------------------- */

enum { FEATURES = 784, CLASSES = 10, POINTS = 4096 };

static dsgd_data images(void)
{
    dsgd_samples samples = {.n = POINTS,
                            .x_bytes = dsgd_xcalloc((size_t)POINTS * FEATURES, 1),
                            .labels = dsgd_xcalloc(POINTS, 1)};
    for (size_t i = 0; i < (size_t)POINTS * FEATURES; i++)
        samples.x_bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < POINTS; i++)
        samples.labels[i] = (uint8_t)(i % CLASSES);
    return (dsgd_data){.kind = DSGD_DATA_IMAGES,
                       .n_rows = FEATURES,
                       .n_columns = 1,
                       .width = 28,
                       .n_features = FEATURES,
                       .n_labels = 1,
                       .n_classes = CLASSES,
                       .mean = 0.5f,
                       .deviation = 0.3f,
                       .train = samples,
                       .test = samples};
}

/** The float device against the double one, for one replica. */
static void check(const dsgd_problem *p, const float *x, const float *g, const uint32_t *samples)
{
    const dsgd_device *const device = dsgd_device_cpu(true);
    const size_t n = p->network->n_params;
    void *context = NULL;
    device->open(p, NULL, 1, &context, NULL);
    double *const wide = dsgd_xcalloc(n, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    const dsgd_buffer at = device->alloc(context, n);
    const dsgd_buffer to = device->alloc(context, n);
    device->put(context, at, wide, n);
    const dsgd_gradient_op op = {.x = &at, .g = &to, .samples = samples, .n_samples = BATCH};
    bool finite = false;
    device->gradient(context, 0, &op, 1, &finite);
    device->get(context, wide, to, n);
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (wide[i] - (double)g[i]) * (wide[i] - (double)g[i]);
        norm += wide[i] * wide[i];
    }
    DSGD_ASSERT(finite && difference <= 1e-10 * norm, "gradients differ by %g of %g",
                sqrt(difference), sqrt(norm));
    device->release(context, at);
    device->release(context, to);
    device->close(context);
}

/** Of the matrix products of a gradient of BATCH samples. The first layer needs no derivative by
 * its input. */
static double flops_of(const dsgd_network *network)
{
    double flops = 0;
    for (const dsgd_layer *l = network->layers; l < network->layers + network->n_layers; l++) {
        const bool windows = l->kind == DSGD_CONVOLUTION;
        const double inputs = (windows ? l->kernel_size * l->kernel_size : 1) * l->in.n_columns;
        if (windows || l->kind == DSGD_LINEAR)
            flops +=
                BATCH * 2.0 * (l->from > 0 ? 3 : 2) * inputs * l->out.n_rows * l->out.n_columns;
    }
    return flops;
}

/** An MLP, or the cnn. Against a roofline: its products at the rate of sgemm, and x and g at that
 * of a copy. */
static void bench_gradients(const char *name, double hidden, bool cnn, double gemm, double copy)
{
    const dsgd_data data = images();
    dsgd_network network;
    dsgd_builder b = dsgd_network_begin(&network, name, &data, DSGD_LOSS_CROSS_ENTROPY, NULL);
    for (int channels = 8; cnn && channels <= 16; channels *= 2) {
        dsgd_network_convolution(&b, channels, 3, 1, true, true);
        dsgd_network_max_pool(&b, 2);
    }
    dsgd_network_flatten(&b);
    dsgd_network_linear(&b, hidden, true);
    DSGD_ASSERT(dsgd_network_end(&b) == DSGD_OK, "a network");
    const size_t n = network.n_params;
    const size_t begin[] = {0, n};
    const dsgd_problem problem = {
        .network = &network, .data = &data, .n_pieces = 1, .piece_begin = begin};
    const dsgd_device *const device = dsgd_device_cpu(false);
    void *context = NULL;
    device->open(&problem, NULL, 1, &context, NULL);
    dsgd_buffer *const x = dsgd_xcalloc(REPLICAS, sizeof *x);
    dsgd_buffer *const g = dsgd_xcalloc(REPLICAS, sizeof *g);
    dsgd_gradient_op *const ops = dsgd_xcalloc(REPLICAS, sizeof *ops);
    bool *const finite = dsgd_xcalloc(REPLICAS, sizeof *finite);
    uint32_t *const samples = dsgd_xcalloc((size_t)REPLICAS * BATCH, sizeof *samples);
    for (uint32_t r = 0; r < REPLICAS; r++) {
        float *const start = filled(n, r);
        x[r] = device->alloc(context, n);
        memcpy(x[r], start, n * sizeof *start);
        free(start);
        g[r] = device->alloc(context, n);
        for (uint32_t j = 0; j < BATCH; j++)
            samples[r * BATCH + j] = (r * BATCH + j) * 2654435761u % POINTS;
        ops[r] = (dsgd_gradient_op){
            .x = &x[r], .g = &g[r], .samples = samples + (size_t)r * BATCH, .n_samples = BATCH};
    }
    double best = INFINITY;
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        const double start = cpu_s();
        for (uint32_t r = 0; r < REPLICAS; r += device->batch)
            device->gradient(context, 0, ops + r, device->batch, finite + r);
        if (repeat == 0)
            check(&problem, x[REPLICAS - 1], g[REPLICAS - 1], ops[REPLICAS - 1].samples);
        else
            best = fmin(best, cpu_s() - start);
    }
    const double us = 1e6 * best / REPLICAS;
    const double flops = flops_of(&network);
    const double bytes = 2.0 * (double)(n * sizeof(float));
    const double compute_us = 1e6 * flops / gemm;
    const double move_us = 1e6 * bytes / copy;
    printf("gradients of %d replicas, %s, batch %d: %.1f us each; %.2f Mflop %.1f us, %.0f kB %.1f "
           "us; %.0f %% of the "
           "longer, %.0f %% of their sum\n",
           REPLICAS, name, BATCH, us, 1e-6 * flops, compute_us, 1e-3 * bytes, move_us,
           100 * fmax(compute_us, move_us) / us, 100 * (compute_us + move_us) / us);
    for (uint32_t r = 0; r < REPLICAS; r++) {
        device->release(context, x[r]);
        device->release(context, g[r]);
    }
    device->close(context);
}

/* --- averages --------------------------------------------------------------------------------- */

static void bench_mean(double copy)
{
    const dsgd_device *const device = dsgd_device_cpu(false);
    const dsgd_network network = {.n_params = MODEL};
    const dsgd_data data = {.deviation = 1};
    const dsgd_problem problem = {.network = &network, .data = &data};
    void *context = NULL;
    device->open(&problem, NULL, 1, &context, NULL);
    dsgd_buffer *const x = dsgd_xcalloc(REPLICAS, sizeof *x);
    double *const ones = dsgd_xcalloc(REPLICAS, sizeof *ones);
    for (uint32_t r = 0; r < REPLICAS; r++) {
        x[r] = filled(MODEL, r);
        ones[r] = 1;
    }
    float *const y = dsgd_xcalloc(MODEL, sizeof *y);
    const dsgd_combine_op op = {
        .n = MODEL, .n_inputs = REPLICAS, .x = x, .weights = ones, .divisor = REPLICAS, .y = y};
    double best = INFINITY;
    double read = INFINITY;
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        bool finite = false;
        double start = cpu_s();
        device->combine(context, 0, &op, 1, &finite);
        best = repeat == 0 ? best : fmin(best, cpu_s() - start);
        for (size_t i = 0; i < MODEL && repeat == 0; i += 997) {
            double sum = 0;
            for (uint32_t r = 0; r < REPLICAS; r++)
                sum += (double)((float *)x[r])[i];
            DSGD_ASSERT(finite && y[i] == (float)(sum / REPLICAS), "mean %zu is %g", i,
                        (double)y[i]);
        }
        start = cpu_s();
        for (uint32_t r = 0; r < REPLICAS;
             r++) /* the same memory, read once and copied to a cache */
            memcpy(y, x[r], MODEL * sizeof *y);
        read = fmin(read, cpu_s() - start);
    }
    const double bytes = (double)REPLICAS * MODEL * sizeof(float);
    printf("mean of %d models of %d floats: %.1f GB/s, %.0f %% of copying them to a cache (%.1f "
           "GB/s), %.0f %% of the copy through memory (%.1f GB/s)\n",
           REPLICAS, MODEL, 1e-9 * bytes / best, 100 * read / best, 1e-9 * bytes / read,
           100 * bytes / best / copy, 1e-9 * copy);
    for (uint32_t r = 0; r < REPLICAS; r++)
        free(x[r]);
    device->close(context);
}

int main(void)
{
    openblas_set_num_threads(1);
    const double gemm = gemm_flops_per_s();
    const double copy = copy_bytes_per_s();
    printf("one core: sgemm of %d %.1f Gflop/s, copy %.1f GB/s (read and written)\n", SIDE,
           1e-9 * gemm, 1e-9 * copy);
    bench_gradients("MLP-32", 32, false, gemm, copy);
    bench_gradients("MLP-128", 128, false, gemm, copy);
    bench_gradients("cnn", 32, true, gemm, copy);
    bench_mean(copy);
    return 0;
}
