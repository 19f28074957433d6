/**
 * @file cuda.c
 * The cost of a step of many workers on the CUDA device: all gradients, all momentum updates, and
 * all means with a neighbour, each in one call; and the bandwidth of averaging against a copy. The
 * result is checked against the CPU first. Arguments: cuda [workers] [reals per averaged vector]
 * [runs]. Returns 77 where there is no device.
 */
#include <gsl/gsl_sort.h>

#include "base/draw.h"
#include "base/program.h"
#include "models/devices/device.h"
#include "tests/cuda/cuda_probe.h"

enum {
    SKIPPED = 77,
    MOST_RUNS = 7,
    STEPS = 4,
    BATCH = 16,
    TRAIN = 4096,
    CHECKED = 4,
    VECTORS = 256
};
enum { WIDTH = 28, CLASSES = 10, GROUP = 2 };

static const dsgd_optimizer update = {
    .kind = DSGD_OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 1e-4};
static const double ones[GROUP] = {1, 1};
static int n_runs = MOST_RUNS;

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return dsgd_draw_uniform((dsgd_draw){3, DSGD_DRAW_DATA, what, row, column});
}

/** Images of noise: what they show is of no interest here. */
static dsgd_data *images(void)
{
    dsgd_data *const data = dsgd_xcalloc(1, sizeof *data);
    *data = (dsgd_data){.kind = DSGD_DATA_IMAGES,
                        .n_rows = WIDTH * WIDTH,
                        .n_columns = 1,
                        .width = WIDTH,
                        .n_features = WIDTH * WIDTH,
                        .n_labels = 1,
                        .n_classes = CLASSES,
                        .mean = 0.5f,
                        .deviation = 0.3f};
    data->train.n = TRAIN;
    data->train.x_bytes = dsgd_xcalloc((size_t)TRAIN * WIDTH * WIDTH, 1);
    data->train.labels = dsgd_xcalloc(TRAIN, 1);
    for (uint32_t i = 0; i < TRAIN; i++) {
        data->train.labels[i] = (uint8_t)(CLASSES * uniform(1, i, 0));
        for (uint32_t f = 0; f < WIDTH * WIDTH; f++)
            data->train.x_bytes[i * WIDTH * WIDTH + f] = (uint8_t)(256 * uniform(0, i, f));
    }
    data->test = data->train;
    return data;
}

/* --- workers ---------------------------------------------------------------------------------- */

/** All workers of one model on one device. The new model is the old one of the next step. */
typedef struct team {
    const dsgd_device *device;
    void *context;
    const dsgd_network *network;
    uint32_t n;
    dsgd_buffer *x, *g, *v, *moved; /* [n] */
    dsgd_buffer (*pairs)[GROUP]; /* [n] */
    dsgd_gradient_op *gradients;
    dsgd_update_op *updates;
    dsgd_combine_op *combinations;
    bool *finite;
    double gradient_wall_s, update_wall_s, combine_wall_s; /* of all steps */
} team;

static dsgd_buffer *buffers(const team *t, const double *x)
{
    dsgd_buffer *const out = dsgd_keep(t->n, sizeof *out);
    for (uint32_t w = 0; w < t->n; w++) {
        out[w] = t->device->alloc(t->context, t->network->n_params);
        DSGD_ASSERT(out[w] != NULL, "no room for %u workers", t->n);
        t->device->put(t->context, out[w], x, t->network->n_params);
    }
    return out;
}

static void describe(team *t)
{
    for (uint32_t w = 0; w < t->n; w++) {
        uint32_t *const samples = dsgd_keep(BATCH, sizeof *samples);
        for (uint32_t j = 0; j < BATCH; j++)
            samples[j] = (w * BATCH + j) % TRAIN;
        t->gradients[w] = (dsgd_gradient_op){
            .x = &t->x[w], .g = &t->g[w], .samples = samples, .n_samples = BATCH};
        t->updates[w] = (dsgd_update_op){.n = t->network->n_params,
                                         .x = t->x[w],
                                         .g = t->g[w],
                                         .v = t->v[w],
                                         .x_new = t->moved[w],
                                         .v_new = t->v[w],
                                         .lr = 0.01,
                                         .t = 1};
        t->pairs[w][0] = t->moved[w];
        t->pairs[w][1] = t->moved[(w + 1) % t->n];
        t->combinations[w] = (dsgd_combine_op){.n = t->network->n_params,
                                               .n_inputs = GROUP,
                                               .x = t->pairs[w],
                                               .weights = ones,
                                               .divisor = GROUP,
                                               .y = t->x[w]};
    }
}

static team *team_new(const dsgd_device *device, const dsgd_problem *problem, uint32_t n)
{
    team *const t = dsgd_keep(1, sizeof *t);
    t->device = device;
    t->network = problem->network;
    t->n = n;
    dsgd_error error = {""};
    DSGD_ASSERT(device->open(problem, NULL, 1, &t->context, &error) == DSGD_OK, "%s", error.text);
    double *const x = dsgd_keep(t->network->n_params, sizeof *x);
    t->g = buffers(t, x);
    t->v = buffers(t, x);
    t->moved = buffers(t, x);
    dsgd_network_initial(t->network, 1, x);
    t->x = buffers(t, x);
    t->pairs = dsgd_keep(n, sizeof *t->pairs);
    t->gradients = dsgd_keep(n, sizeof *t->gradients);
    t->updates = dsgd_keep(n, sizeof *t->updates);
    t->combinations = dsgd_keep(n, sizeof *t->combinations);
    t->finite = dsgd_keep(n, sizeof *t->finite);
    describe(t);
    return t;
}

static void team_close(team *t)
{
    for (uint32_t w = 0; w < t->n; w++) {
        t->device->release(t->context, t->x[w]);
        t->device->release(t->context, t->g[w]);
        t->device->release(t->context, t->v[w]);
        t->device->release(t->context, t->moved[w]);
    }
    t->device->close(t->context);
}

static void step(team *t)
{
    const double start_s = dsgd_wall_s();
    t->device->gradient(t->context, 0, t->gradients, t->n, t->finite);
    const double gradients_s = dsgd_wall_s();
    t->device->update(t->context, 0, t->updates, t->n, t->finite);
    const double updates_s = dsgd_wall_s();
    t->device->combine(t->context, 0, t->combinations, t->n, t->finite);
    t->gradient_wall_s += gradients_s - start_s;
    t->update_wall_s += updates_s - gradients_s;
    t->combine_wall_s += dsgd_wall_s() - updates_s;
    for (uint32_t w = 0; w < t->n; w++)
        DSGD_ASSERT(t->finite[w], "worker %u diverged", w);
}

/** A few steps of a few workers on both devices. */
static void check(const dsgd_device *cuda, const dsgd_problem *problem)
{
    const size_t n = problem->network->n_params;
    team *const teams[] = {team_new(dsgd_device_cpu(false), problem, CHECKED),
                           team_new(cuda, problem, CHECKED)};
    double *const x[] = {dsgd_keep(n, sizeof(double)), dsgd_keep(n, sizeof(double))};
    for (int i = 0; i < STEPS; i++)
        for (int d = 0; d < 2; d++)
            step(teams[d]);
    for (uint32_t w = 0; w < CHECKED; w++) {
        double difference = 0;
        double norm = 0;
        for (int d = 0; d < 2; d++)
            teams[d]->device->get(teams[d]->context, x[d], teams[d]->x[w], n);
        for (size_t i = 0; i < n; i++) {
            difference += (x[0][i] - x[1][i]) * (x[0][i] - x[1][i]);
            norm += x[0][i] * x[0][i];
        }
        DSGD_ASSERT(difference <= 1e-8 * norm, "worker %u is %g off", w, sqrt(difference / norm));
    }
    for (int d = 0; d < 2; d++)
        team_close(teams[d]);
}

static void report_steps(const dsgd_device *cuda, const dsgd_data *data, const char *model,
                         uint32_t n_workers)
{
    const dsgd_model_kind *const kind = (const void *)dsgd_entry_find(dsgd_model_kinds, model);
    void *const params = dsgd_keep(1, kind->about.params_size);
    dsgd_options_default(kind->about.options, params);
    static dsgd_network network;
    DSGD_ASSERT(dsgd_model_build(kind, params, data, &network, NULL) == DSGD_OK, "%s on images",
                model);
    const size_t begin[] = {0, network.n_params};
    const dsgd_problem problem = {
        .network = &network, .data = data, .n_pieces = 1, .piece_begin = begin, .update = update};
    check(cuda, &problem);
    team *const t = team_new(cuda, &problem, n_workers);
    step(t); /* which makes the workspace */
    const dsgd_cuda_probe *const probe = cuda_probe_of(cuda);
    const uint64_t before = probe->launches();
    step(t);
    const uint64_t launches = probe->launches() - before;
    t->gradient_wall_s = t->update_wall_s = t->combine_wall_s = 0;
    double ms[MOST_RUNS];
    for (int r = 0; r < n_runs; r++) {
        const double start_s = dsgd_wall_s();
        for (int i = 0; i < STEPS; i++)
            step(t);
        ms[r] = 1e3 * (dsgd_wall_s() - start_s) / STEPS;
    }
    gsl_sort(ms, 1, (size_t)n_runs);
    const double steps_ms = 1e3 / (n_runs * STEPS);
    printf("%s: %u workers, batch %d, %zu parameters: min %.3f ms, median %.3f ms per step; "
           "on average gradients %.3f, updates %.3f, means %.3f ms; %u launches\n",
           model, n_workers, BATCH, network.n_params, ms[0], ms[n_runs / 2],
           steps_ms * t->gradient_wall_s, steps_ms * t->update_wall_s, steps_ms * t->combine_wall_s,
           (unsigned)launches);
    team_close(t);
}

/* --- averaging -------------------------------------------------------------------------------- */

static dsgd_buffer room_for(const dsgd_device *cuda, void *context, size_t n)
{
    const dsgd_buffer buffer = cuda->alloc(context, n);
    DSGD_ASSERT(buffer != NULL, "no room for %zu reals", n);
    return buffer;
}

/** Bytes per second that the means of pairs of vectors move, and a copy of as many reals. */
static void report_averaging(const dsgd_device *cuda, void *context, size_t n)
{
    dsgd_combine_op ops[VECTORS];
    dsgd_buffer pairs[VECTORS][GROUP];
    bool finite[VECTORS];
    double *const numbers = dsgd_keep(n, sizeof *numbers);
    for (size_t i = 0; i < VECTORS; i++) {
        for (size_t k = 0; k < GROUP; k++) {
            pairs[i][k] = room_for(cuda, context, n);
            cuda->put(context, pairs[i][k], numbers, n);
        }
        ops[i] = (dsgd_combine_op){n, GROUP, pairs[i], ones, GROUP, room_for(cuda, context, n)};
    }
    const dsgd_buffer from = room_for(cuda, context, VECTORS * n);
    const dsgd_buffer to = room_for(cuda, context, VECTORS * n);
    const dsgd_cuda_probe *const probe = cuda_probe_of(cuda);
    for (size_t i = 0; i < VECTORS; i++) /* or a sanitizer finds it uninitialised */
        probe->copy(context, (float *)from + i * n, pairs[i][0], n);
    double mean_s[MOST_RUNS], copy_s[MOST_RUNS];
    for (int r = -1; r < n_runs; r++) {
        const double start_s = dsgd_wall_s();
        cuda->combine(context, 0, ops, VECTORS, finite);
        const double middle_s = dsgd_wall_s();
        probe->copy(context, to, from, VECTORS * n);
        if (r < 0)
            continue; /* the first warms up */
        mean_s[r] = middle_s - start_s;
        copy_s[r] = dsgd_wall_s() - middle_s;
    }
    gsl_sort(mean_s, 1, (size_t)n_runs);
    gsl_sort(copy_s, 1, (size_t)n_runs);
    const double bytes = (double)(VECTORS * n) * sizeof(float);
    const double mean_rate = (GROUP + 1) * bytes / mean_s[n_runs / 2];
    const double copy_rate = 2 * bytes / copy_s[n_runs / 2];
    printf("means of %d pairs of %zu numbers: median %.0f GB/s, %.0f %% of a copy's %.0f GB/s\n",
           VECTORS, n, 1e-9 * mean_rate, 100 * mean_rate / copy_rate, 1e-9 * copy_rate);
    for (size_t i = 0; i < VECTORS; i++) {
        cuda->release(context, pairs[i][0]);
        cuda->release(context, pairs[i][1]);
        cuda->release(context, ops[i].y);
    }
    cuda->release(context, from);
    cuda->release(context, to);
}

int main(int count, char **arguments)
{
    const uint32_t n_workers = count > 1 ? (uint32_t)atoi(arguments[1]) : 1024;
    const size_t n_numbers = count > 2 ? (size_t)atol(arguments[2]) : (size_t)1 << 20;
    n_runs = count > 3 ? atoi(arguments[3]) : MOST_RUNS;
    DSGD_ASSERT(n_runs > 0 && n_runs <= MOST_RUNS, "1 to %d runs", MOST_RUNS);
    dsgd_data *const data = images();
    const dsgd_network none = {.n_params = 1};
    const size_t begin[] = {0, 1};
    const dsgd_problem problem = {
        .network = &none, .data = data, .n_pieces = 1, .piece_begin = begin, .update = update};
    const dsgd_device *cuda = NULL;
    void *context = NULL;
    dsgd_error error = {""};
    if (dsgd_device_cuda(&cuda, &error) != DSGD_OK ||
        cuda->open(&problem, NULL, 1, &context, &error) != DSGD_OK) {
        fprintf(stderr, "skipped: %s\n", error.text);
        return SKIPPED;
    }
    report_steps(cuda, data, "mlp", n_workers);
    report_steps(cuda, data, "cnn", n_workers);
    report_averaging(cuda, context, n_numbers);
    cuda->close(context);
    data->test = (dsgd_samples){.n = 0}; /* the same memory as the training set's */
    dsgd_data_free(data);
    return 0;
}
