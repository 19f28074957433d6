/**
 * @file test_gpu.c
 * Tests the CUDA module on different machines: with little memory, with several GPUs, with GPUs
 * that cannot be opened, and with several concurrent runs. The tests use the emulated runtime,
 * whose environment variables describe the machine. Each test is a separate process. (test_cuda.c
 * tests the results of operations.)
 */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/command/shell.h"
#include "tests/cuda/cuda_probe.h"
#include "tests/support/crew.h"
#include "tests/support/rig.h"
#include "tests/support/suite.h"

enum { WORKERS = 16, BATCH = 2, STEPS = 5 };

static void set_up(void)
{
    make_folder();
    setenv("DSGD_CUDA_MODULE", DSGD_EMULATED_CUDA, 1);
}

static const dsgd_device *emulated(void)
{
    const dsgd_device *device = NULL;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_device_cuda(&device, &error) == DSGD_OK, "%s", error.text);
    return device;
}

static void set_number(const char *name, size_t value)
{
    setenv(name, dsgd_xprintf("%zu", value), 1);
}

/** Returns the number of bytes of GPU @p k that are in use. */
static size_t held_bytes(uint32_t k)
{
    dsgd_device_survey before;
    emulated()->survey(&before);
    return ((size_t)4 << 30) - before.free_bytes[k];
}

/**
 * Returns a rig for an mlp with 9,000 parameters. Its vectors are much larger than its data and the
 * descriptions of operations.
 */
static rig *large_rig(void)
{
    static rig_spec spec;
    spec = *rig_spec_named("mlp");
    for (size_t i = 0; i < spec.n_list; i++)
        spec.numbers[i] = 500;
    return rig_new(&spec, dsgd_device_cpu(false), 1);
}

/* --- workers on a GPU ------------------------------------------------------------------------- */

/** Returns workers whose numerics run on the GPU @p place. */
static crew opened(const dsgd_device_place *place)
{
    /* the crew uses only the problem of this rig, not its CPU context */
    const rig *const r = large_rig();
    const dsgd_values_config config = {.device = emulated(),
                                       .problem = r->problem,
                                       .stream = {1, r->data.train.n, WORKERS, BATCH},
                                       .n_threads = 1,
                                       .memory_bytes = 1,
                                       .place = *place};
    return crew_open(&config, r->x);
}

/**
 * Trains workers for some steps, and returns all models. After each step, each worker averages its
 * model with a neighbour's model.
 */
static double *train(crew *c)
{
    for (uint32_t t = 0; t < STEPS; t++) {
        crew_step(c, t, 0.05, false);
        crew_gossip(c, t, t);
    }
    return crew_models(c);
}

/**
 * Trains new workers on the GPU @p place, and returns all models. Stores the largest memory of
 * buffers in *peak_bytes.
 */
static double *trained(const dsgd_device_place *place, size_t *peak_bytes)
{
    crew c = opened(place);
    double *const out = train(&c);
    *peak_bytes = dsgd_values_stats_get(c.values).peak_bytes;
    dsgd_values_close(c.values);
    return out;
}

static size_t size_of_models(void)
{
    return WORKERS * large_rig()->network.n_params * sizeof(double);
}

/* --- memory ----------------------------------------------------------------------------------- */

SUITE(gpu, "gpu", .set_up = set_up, .tear_down = remove_folder, .seconds = 60);

/**
 * Tests runs that find too little free memory on a GPU. They must wait for memory, and their
 * results must have the same bits. In the smallest memory of this test, models and velocities take
 * two thirds. If _i is 0, the GPU has little memory. If _i is 1, the run may use only a small share
 * of the memory.
 */
TEST_RANGE(a_small_gpu_is_waited_for_with_the_same_bits, 0, 2)
{
    size_t wanted = 0;
    double *const expected = trained(&(dsgd_device_place){0}, &wanted);
    const size_t models = size_of_models() / 2; /* size of all models in float, in bytes */
    ck_assert_uint_gt(wanted, 4 * models);
    const size_t bytes[] = {8 * models, 4 * models, 3 * models + models / 2};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        const dsgd_device_place place = {.bytes = _i == 1 ? bytes[i] : 0};
        if (_i == 0)
            set_number("EMULATED_BYTES", bytes[i]);
        size_t peak = 0;
        double *const got = trained(&place, &peak);
        ck_assert_mem_eq(got, expected, size_of_models());
        ck_assert_msg(peak <= bytes[i], "%zu of %zu bytes", peak, bytes[i]);
    }
}

/**
 * Computes the gradients of one call, out[OPS][n_params], while only @p left_bytes of the GPU's
 * memory are free. If @p left_bytes is 0, all memory is free.
 */
enum { OPS = 8 };

static void gradients(const rig *s, void *context, size_t left_bytes, double *out)
{
    const dsgd_device *const device = emulated();
    const size_t n = s->network.n_params;
    dsgd_buffer x[OPS], g[OPS];
    dsgd_gradient_op ops[OPS];
    bool finite[OPS];
    for (size_t i = 0; i < OPS; i++) {
        x[i] = device->alloc(context, n);
        g[i] = device->alloc(context, n);
        device->put(context, x[i], s->x, n);
        ops[i] = (dsgd_gradient_op){
            .x = &x[i], .g = &g[i], .samples = s->all + i, .n_samples = 1 + (uint32_t)i};
    }
    if (left_bytes > 0)
        set_number("EMULATED_BYTES", held_bytes(0) + left_bytes);
    device->gradient(context, 0, ops, OPS, finite);
    for (size_t i = 0; i < OPS; i++) {
        ck_assert(finite[i]);
        device->get(context, out + i * n, g[i], n);
        device->release(context, x[i]);
        device->release(context, g[i]);
    }
    unsetenv("EMULATED_BYTES");
}

TEST(the_workspace_shrinks_where_memory_is_short)
{
    rig *const s = large_rig();
    const size_t n = s->network.n_params;
    double *const out[] = {dsgd_keep(OPS * n, sizeof(double)), dsgd_keep(OPS * n, sizeof(double))};
    uint64_t launches[2];
    size_t taken = 0;
    for (int i = 0; i < 2; i++) {
        void *context = NULL;
        ck_assert_int_eq(emulated()->open(&s->problem, NULL, 1, &context, NULL), DSGD_OK);
        const dsgd_cuda_probe *const probe = cuda_probe_of(emulated());
        const size_t held = held_bytes(0);
        const uint64_t before = probe->launches();
        gradients(s, context, taken / 2, out[i]);
        launches[i] = probe->launches() - before;
        /* memory of the workspace and of the operations of the device */
        taken = held_bytes(0) - held;
        emulated()->close(context);
    }
    /* with little memory, operations need several batches */
    ck_assert_uint_gt(launches[1], launches[0]);
    ck_assert_mem_eq(out[1], out[0], OPS * n * sizeof(double));
}

/* --- several GPUs ----------------------------------------------------------------------------- */

TEST(a_run_computes_on_its_gpu_from_every_thread)
{
    setenv("EMULATED_DEVICES", "3", 1);
    size_t peak = 0;
    double *const expected = trained(&(dsgd_device_place){0}, &peak);
    for (uint32_t index = 1; index < 6; index += 3) { /* with three GPUs, index 4 means GPU 1 */
        crew c = opened(&(dsgd_device_place){.index = index});
        double *const got = train(&c);
        ck_assert_uint_eq(held_bytes(0), 0);
        ck_assert_uint_gt(held_bytes(1), 0);
        dsgd_values_close(c.values);
        ck_assert_mem_eq(got, expected, size_of_models());
        ck_assert_uint_eq(held_bytes(1), 0);
    }
}

/** Creates a constant and reads a value, as an actor of a simulation does. */
static void *on_a_small_stack(void *argument)
{
    crew *const c = argument;
    double *const numbers = dsgd_keep(c->problem.network->n_params, sizeof *numbers);
    numbers[3] = 0.1;
    const dsgd_value x = dsgd_values_constant(c->values, 0, numbers);
    dsgd_values_read(c->values, 0, x, numbers);
    ck_assert_double_eq(numbers[3], (double)0.1f);
    dsgd_value_release(c->values, x);
    return NULL;
}

/**
 * Tests that an actor never calls the driver. Its stack of 128 KiB is too small for the copies of
 * the emulation, which need 200 KiB.
 */
TEST(an_actor_calls_no_driver)
{
    crew c = opened(&(dsgd_device_place){0});
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)128 << 10);
    pthread_t actor;
    ck_assert_int_eq(pthread_create(&actor, &small, on_a_small_stack, &c), 0);
    pthread_join(actor, NULL);
    pthread_attr_destroy(&small);
    dsgd_values_close(c.values);
}

TEST(runs_that_share_cores_wait_asleep)
{
    rig *const s = rig_new(rig_spec_named("mlp"), dsgd_device_cpu(false), 1);
    Dl_info info;
    ck_assert_int_ne(dladdr((const void *)emulated(), &info), 0);
    const unsigned *const flags =
        dlsym(dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD), "emulated_flags");
    for (int shares = 0; shares < 2; shares++) {
        void *context = NULL;
        const dsgd_device_place place = {.shares_cores = shares == 1};
        ck_assert_int_eq(emulated()->open(&s->problem, &place, 1, &context, NULL), DSGD_OK);
        ck_assert_uint_eq(*flags, shares == 1 ? 4 : 0); /* 4 is cudaDeviceScheduleBlockingSync */
        emulated()->close(context);
    }
}

TEST(gpu_that_cannot_launch_is_rejected_at_open)
{
    setenv("EMULATED_NO_IMAGE", "1", 1);
    dsgd_error error = {""};
    dsgd_device_survey survey;
    ck_assert_int_eq(dsgd_device_cuda_try(&survey, &error), DSGD_EDEVICE);
    ck_assert_has(error.text, "no kernel image");
    unsetenv("EMULATED_NO_IMAGE");
    setenv("EMULATED_DEVICES", "3", 1);
    ck_assert_int_eq(dsgd_device_cuda_try(&survey, &error), DSGD_OK);
    ck_assert_uint_eq(survey.n, 3);
    ck_assert_uint_gt(survey.free_bytes[2], 0);
}

/* --- runs ------------------------------------------------------------------------------------- */

static const char experiment[] = "platform: idle-switch\n"
                                 "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                                 "workers: 8\n"
                                 "seed: [1, 2, 3, 4]\n"
                                 "algorithms: [d_psgd]\n"
                                 "until: {steps: 8}\n"
                                 "learn:\n"
                                 "  model: {name: mlp, hidden: [128]}\n"
                                 "  data: {name: sequences, features: 8, points: 128}\n"
                                 "  optimizer: {lr: 0.02, momentum: 0.5}\n"
                                 "  evaluate: {every: 4}\n";

/** Writes e.yaml, and makes concurrent runs count their memory in one file. */
static void write_experiment_that_shares(void)
{
    write_file("e.yaml", experiment);
    setenv("EMULATED_SHARED", dsgd_xprintf("%s/shared", folder), 1);
}

static char *lines_with(const char *text, const char *word)
{
    char *const out = dsgd_xcalloc(strlen(text) + 1, 1);
    for (const char *line = text; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        if (memmem(line, n, word, strlen(word)) != NULL)
            strncat(out, line, n + 1);
        line += n + (line[n] == '\n');
    }
    return kept(out);
}

/**
 * Tests concurrent runs that need the same GPU exclusively. A run that cannot open the GPU fails,
 * and is not computed on the CPU.
 */
TEST(run_without_its_gpu_fails_instead_of_using_the_cpu)
{
    write_experiment_that_shares();
    setenv("EMULATED_EXCLUSIVE", "1", 1);
    dsgd_ends(0, "run e.yaml -o alone -j 1");
    char *output = dsgd_ends(5, "run e.yaml -o four -j 4");
    ck_assert_has(output, "busy or unavailable");
    ck_assert_msg(strstr(output, "computed on: cpu") == NULL, "%s", output);
    ck_assert_has(read_file("four/runs.csv"), ",failed,");
}

/**
 * Tests concurrent runs: on one GPU with memory for two runs, and on three GPUs. They wait for
 * memory, and have the same results as runs without other runs.
 */
TEST(runs_share_a_gpu_and_wait_for_their_share)
{
    write_experiment_that_shares();
    char *output = dsgd_ends(0, "run e.yaml -o alone -j 1");
    const char *const curves = read_file("alone/curves.csv");
    static const char *const machines[][2] = {{"1", "10500000"}, {"3", "5600000"}};
    for (size_t i = 0; i < 2; i++) {
        setenv("EMULATED_DEVICES", machines[i][0], 1);
        setenv("EMULATED_BYTES", machines[i][1], 1);
        char *const command = dsgd_xprintf("run e.yaml -o %zu -j 4", i);
        output = dsgd_ends(0, "%s", command);
        ck_assert_msg(*lines_with(output, "GPU") == '\0', "%s", output);
        ck_assert_str_eq(read_file(dsgd_xprintf("%zu/curves.csv", i)), curves);
    }
}

/**
 * Tests a run of allreduce, whose workers share one model. The run may need more memory than the
 * GPU has, so it prints a warning and runs while no other run uses the GPU.
 */
TEST(run_that_may_not_fit_warns_and_computes_alone)
{
    write_experiment_that_shares();
    dsgd_ends(0, "run e.yaml -o alone --set algorithms=allreduce");
    setenv("EMULATED_BYTES", "4200000", 1);
    ck_assert_has(dsgd_ends(0, "run e.yaml -o little --set algorithms=allreduce -j 4"),
                  "run 4: it may need 0.00387 GB of GPU memory");
    ck_assert_str_eq(read_file("little/curves.csv"), read_file("alone/curves.csv"));
    /* a GPU with this memory is too small for the models of D-PSGD */
    setenv("EMULATED_BYTES", "2000000", 1);
    ck_assert_has(dsgd_ends(5, "run e.yaml -o none -j 1 --only 1"), "has no memory for another");
}

/**
 * Tests `auto`: runs in float use the GPU, and runs in double use the CPU, even in one experiment.
 */
TEST(auto_uses_a_gpu_only_for_float)
{
    write_file("e.yaml", experiment);
    char *output = dsgd_ends(0, "run e.yaml -o r --set seed=1 --set "
                                "'learn.precision={sweep: [float, double]}'");
    ck_assert_has(output, "gradients computed on: cuda and cpu-double");
}
