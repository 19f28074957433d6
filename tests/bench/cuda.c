/**
 * @file cuda.c
 * Measures a step of many workers on the CUDA device: all gradients, all momentum updates, and all
 * means with a neighbour, each in one call. Also measures the bandwidth of averaging, and of a copy
 * for comparison. Before it measures, it compares the results with the CPU. Arguments: cuda
 * [workers] [reals per averaged vector] [runs]. Without a device, the program returns 77.
 */
#include <gsl/gsl_sort.h>

#include "base/program.h"
#include "tests/cuda/cuda_probe.h"
#include "tests/support/noise.h"
#include "tests/support/team.h"

enum {
    SKIPPED = 77,
    MOST_RUNS = 7,
    STEPS = 4,
    BATCH = 16,
    TRAIN = 4096,
    CHECKED = 4,
    VECTORS = 256
};
enum { WIDTH = 28, CLASSES = 10 };

static const dsgd_optimizer update = {
    .kind = DSGD_OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 1e-4};
static const double ones[TEAM_GROUP] = {1, 1};
static int n_runs = MOST_RUNS;

/* --- workers ---------------------------------------------------------------------------------- */

/**
 * Computes a step of all workers, with one call for all gradients, one for all updates, and one for
 * all means. Adds the wall time of each call to wall_s[].
 */
static void step(team *t, double *wall_s)
{
    for (int kind = TEAM_gradient; kind <= TEAM_combine; kind++) {
        const double start_s = dsgd_wall_s();
        team_call(t, (team_kind)kind, 0, t->n);
        wall_s[kind] += dsgd_wall_s() - start_s;
    }
}

/** Compares all operations of a few workers on the CUDA device with the CPU. */
static void check(const dsgd_device *cuda, const dsgd_problem *problem)
{
    team *const teams[] = {team_new(dsgd_device_cpu(false), problem, CHECKED, BATCH),
                           team_new(cuda, problem, CHECKED, BATCH)};
    for (int kind = 0; kind < TEAM_KINDS; kind++) {
        for (int d = 0; d < 2; d++)
            team_call(teams[d], (team_kind)kind, 0, CHECKED);
        const double distance = team_distance(teams[1], teams[0], (team_kind)kind);
        DSGD_ASSERT(distance <= 1e-4, "%s is %g off", team_kind_names[kind], distance);
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
    team *const t = team_new(cuda, &problem, n_workers, BATCH);
    double first_s[TEAM_KINDS] = {0}, wall_s[TEAM_KINDS] = {0}, ms[MOST_RUNS];
    step(t, first_s); /* the first step also allocates the workspace */
    const dsgd_cuda_probe *const probe = cuda_probe_of(cuda);
    const uint64_t before = probe->launches();
    step(t, first_s);
    const uint64_t launches = probe->launches() - before;
    for (int r = 0; r < n_runs; r++) {
        const double start_s = dsgd_wall_s();
        for (int i = 0; i < STEPS; i++)
            step(t, wall_s);
        ms[r] = 1e3 * (dsgd_wall_s() - start_s) / STEPS;
    }
    gsl_sort(ms, 1, (size_t)n_runs);
    const double steps_ms = 1e3 / (n_runs * STEPS);
    printf("%s: %u workers, batch %d, %zu parameters: min %.3f ms, median %.3f ms per step; "
           "on average gradients %.3f, updates %.3f, means %.3f ms; %u launches\n",
           model, n_workers, BATCH, network.n_params, ms[0], ms[n_runs / 2],
           steps_ms * wall_s[TEAM_gradient], steps_ms * wall_s[TEAM_update],
           steps_ms * wall_s[TEAM_combine], (unsigned)launches);
    team_close(t);
}

/* --- averaging -------------------------------------------------------------------------------- */

static dsgd_buffer room_for(const dsgd_device *cuda, void *context, size_t n)
{
    const dsgd_buffer buffer = cuda->alloc(context, n);
    DSGD_ASSERT(buffer != NULL, "no room for %zu reals", n);
    return buffer;
}

/**
 * Measures the bandwidth of averaging pairs of vectors and of a copy of the same number of reals,
 * in bytes per second.
 */
static void report_averaging(const dsgd_device *cuda, void *context, size_t n)
{
    dsgd_combine_op ops[VECTORS];
    dsgd_buffer pairs[VECTORS][TEAM_GROUP];
    bool finite[VECTORS];
    double *const numbers = dsgd_keep(n, sizeof *numbers);
    for (size_t i = 0; i < VECTORS; i++) {
        for (size_t k = 0; k < TEAM_GROUP; k++) {
            pairs[i][k] = room_for(cuda, context, n);
            cuda->put(context, pairs[i][k], numbers, n);
        }
        ops[i] = (dsgd_combine_op){n,    TEAM_GROUP, pairs[i],
                                   ones, TEAM_GROUP, room_for(cuda, context, n)};
    }
    const dsgd_buffer from = room_for(cuda, context, VECTORS * n);
    const dsgd_buffer to = room_for(cuda, context, VECTORS * n);
    const dsgd_cuda_probe *const probe = cuda_probe_of(cuda);
    /* without these values, a sanitizer reports uninitialised memory */
    for (size_t i = 0; i < VECTORS; i++)
        probe->copy(context, (float *)from + i * n, pairs[i][0], n);
    double mean_s[MOST_RUNS], copy_s[MOST_RUNS];
    for (int r = -1; r < n_runs; r++) {
        const double start_s = dsgd_wall_s();
        cuda->combine(context, 0, ops, VECTORS, finite);
        const double middle_s = dsgd_wall_s();
        probe->copy(context, to, from, VECTORS * n);
        if (r < 0)
            continue; /* the first run is only a warm-up and is not measured */
        mean_s[r] = middle_s - start_s;
        copy_s[r] = dsgd_wall_s() - middle_s;
    }
    gsl_sort(mean_s, 1, (size_t)n_runs);
    gsl_sort(copy_s, 1, (size_t)n_runs);
    const double bytes = (double)(VECTORS * n) * sizeof(float);
    const double mean_rate = (TEAM_GROUP + 1) * bytes / mean_s[n_runs / 2];
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
    dsgd_data *const data = noise_images(WIDTH, WIDTH, 1, CLASSES, TRAIN, TRAIN);
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
    dsgd_data_free(data);
    return 0;
}
