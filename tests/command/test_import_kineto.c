/**
 * @file test_import_kineto.c
 * Tests the import of traces that PyTorch's profiler writes. Most traces are of artificial jobs,
 * for which the correct results are known. Real traces are tested if they are next to the project.
 */
#include "command/experiment/traces.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

enum { BUCKETS = 4, MOST_RANKS = 8 };

/** An artificial job of plain DDP or of HSDP, whose trace write_job() writes. */
typedef struct job {
    int ranks, steps, late_rank;
    double late_ms; /* added computation time per step of late_rank */
    /*
     * Relative deviations of computation times: one for each rank and step, and one for all ranks
     * of a step.
     */
    double jitter, common;
    /* time by which the host is ahead of the GPU, or 0 if the GPU waits for the host */
    double ahead_ms;
    double sum_factor; /* factor that multiplies the times of sums in the platform's model */
    double busy; /* share of the computation time in which kernels run */
    const char *kernel; /* name of the kernel that sums gradients */
    /* the clock of rank 3 jumps by 20 ms between steps */
    bool clocks_jump;
    /* kind of event that contains the size of a sum */
    enum { OF_KERNEL, OF_PARAMETERS, OF_INPUTS } words;
    /* number of ranks in a shard group of HSDP, or 0 for plain DDP */
    int shards;
    /* whether the trace has an allgather, and whether the forward pass waits for the allgather */
    enum { NONE, NEEDED, HIDDEN } gather;
} job;

static const job plain = {.ranks = 8,
                          .steps = 6,
                          .late_rank = -1,
                          .jitter = 0.01,
                          .sum_factor = 1,
                          .busy = 0.9,
                          .kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"};

static const double elements[BUCKETS] = {2049000, 7875584, 6563840, 9068608};
static const double forward_ms = 60, gaps_ms[BUCKETS] = {20, 40, 30, 10};

static double sum_ms(const job *j, int b)
{
    dsgd_config *config = NULL;
    dsgd_platform p;
    ck_assert_int_eq(dsgd_platform_open("dgx-a100", &config, &p, NULL), DSGD_OK);
    const dsgd_nccl_shape shape = {1, j->ranks, j->ranks, p.host_bandwidth_bytes_per_s, 0};
    const dsgd_nccl_cost cost =
        dsgd_nccl_cost_of(&p.nccl, &shape, DSGD_NCCL_ALLREDUCE, 4 * elements[b]);
    return 1e3 * j->sum_factor * dsgd_nccl_s(&cost, 4 * elements[b]);
}

/** Returns the factor on the computation time of rank @p r in step @p k. */
static double factor_of(const job *j, int r, int k)
{
    return (1 + j->jitter * (((r * 7 + k * 13) % 11) / 5.0 - 1)) * (1 + j->common * (k % 3 - 1));
}

static char *events; /* JSON of the events of the rank that is being written */
static int n_events;

static void add(const char *category, const char *name, double ms, double end_ms, const char *args)
{
    dsgd_append(&events,
                "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, \"tid\": 7,\n"
                "\"ts\": %.3f, \"dur\": %.3f, \"args\": {%s}}",
                n_events++ == 0 ? "" : ",\n", category, name, 1e3 * ms, 1e3 * (end_ms - ms), args);
}

static int correlation;
static double launched_ms;

static void add_launch(double host_ms)
{
    correlation++;
    launched_ms = host_ms;
    add("cuda_runtime", "cudaLaunchKernel", host_ms, host_ms + 0.005,
        dsgd_xprintf("\"External id\": %d, \"correlation\": %d", 1000 + correlation, correlation));
}

static void add_kernel(const job *j, double ms, double end_ms)
{
    add("kernel", "void gemm<float \\\"x\\\">", ms, end_ms - (1 - j->busy) * (end_ms - ms),
        dsgd_xprintf("\"correlation\": %d", correlation));
}

static void add_sum(const job *j, int b, double ms, double end_ms)
{
    const char *args = dsgd_xprintf("\"Collective name\": \"allreduce\", \"In msg nelems\": %.0f, "
                                    "\"Group size\": %d, \"dtype\": \"Float\", "
                                    "\"Process Group Name\": \"0\"",
                                    elements[b], j->ranks);
    if (j->words == OF_INPUTS)
        args = dsgd_xprintf(
            "\"Input Dims\": [[%.0f, 2], []], \"Input type\": [\"c10::Half\", \"\"]", elements[b]);
    if (j->words != OF_KERNEL)
        add(j->words == OF_INPUTS ? "user_annotation" : "cpu_op",
            j->words == OF_INPUTS ? "nccl:all_reduce" : "record_param_comms", launched_ms - 0.01,
            launched_ms + 0.01, args);
    add("kernel", j->kernel, ms, end_ms,
        dsgd_xprintf("\"correlation\": %d%s%s", correlation, j->words == OF_KERNEL ? ", " : "",
                     j->words == OF_KERNEL ? args : ""));
}

/**
 * Adds the two kernels of a gradient sum in HSDP. The ranks of a node reduce and scatter the
 * bucket, and then each rank sums its shard with the same shard of the other nodes.
 */
static void add_sharded_sum(const job *j, int r, int b, double ms, double end_ms)
{
    const double middle_ms = fmax(ms, end_ms - 0.5 * sum_ms(j, b));
    for (int i = 0; i < 2; i++, add_launch(launched_ms + 0.001))
        add("kernel", i == 0 ? "ncclDevKernel_ReduceScatter" : j->kernel, i == 0 ? ms : middle_ms,
            i == 0 ? middle_ms : end_ms,
            dsgd_xprintf(
                "\"correlation\": %d, \"Collective name\": \"%s\", \"In msg nelems\": %.0f, "
                "\"Group size\": %d, \"dtype\": \"Float\", \"Process Group Name\": \"%d\"",
                correlation, i == 0 ? "_reduce_scatter_base" : "allreduce",
                elements[b] / (i == 0 ? 1 : j->shards), i == 0 ? j->shards : j->ranks / j->shards,
                i == 0 ? r / j->shards : MOST_RANKS + r % j->shards));
}

/**
 * Returns the time at which rank @p r ends its forward pass, in a step that starts at @p ms. A
 * needed allgather ends 1 ms after the last rank has started it.
 */
static double forward_end_ms(const job *j, int r, int k, double ms)
{
    const bool is_late = j->gather == NEEDED || (j->gather == NONE && r == j->late_rank);
    return ms + forward_ms * factor_of(j, r, k) + (is_late ? j->late_ms : 0) +
           (j->gather == NEEDED);
}

/**
 * Adds the events of a forward pass. If the forward pass needs an allgather, a late rank computes
 * before the allgather.
 */
static void add_forward(const job *j, int r, double ms, double end_ms)
{
    const double late_ms = r == j->late_rank ? j->late_ms : 0;
    const double gathered_ms = ms + j->late_ms + 1;
    add_kernel(j, ms, j->gather == NEEDED ? ms + 1e-3 + late_ms : end_ms);
    if (j->gather == NONE)
        return;
    add_launch(launched_ms + 0.001);
    add("kernel", "ncclDevKernel_AllGather", ms + 1e-3 + late_ms, gathered_ms,
        dsgd_xprintf("\"correlation\": %d, \"Collective name\": \"_allgather_base\", \"In msg "
                     "nelems\": 4096, \"dtype\": \"Float\", \"Process Group Name\": \"0\"",
                     correlation));
    add_launch(launched_ms + 0.001);
    if (j->gather == NEEDED)
        add_kernel(j, gathered_ms, end_ms);
}

/**
 * Adds the events of rank @p r in step @p k, whose computation starts at @p ms. The array @p ends
 * contains the end of the sum of each bucket.
 */
static void add_step(const job *j, int r, int k, double ms, const double *ends)
{
    const double clock_ms = 1e6 * r + (j->clocks_jump && r == 3 ? 20 * (k % 3) : 0);
    double t = ms + clock_ms, host = fmax(t - j->ahead_ms, clock_ms), at = t;
    const double factor = factor_of(j, r, k);
    add("user_annotation", dsgd_xprintf("ProfilerStep#%d", 10 + k), host,
        ends[BUCKETS - 1] + clock_ms - (t - host), "");
    add_launch(host + 0.02);
    add_forward(j, r, at, forward_end_ms(j, r, k, at));
    at = forward_end_ms(j, r, k, at);
    /* the trace contains a sum of the loss, which is not a bucket */
    add_launch(j->ahead_ms > 0 ? host + 0.05 : at);
    add("kernel", j->kernel, at, at + 0.01,
        dsgd_xprintf(
            "\"correlation\": %d, \"Collective name\": \"allreduce\", \"In msg nelems\": 1, "
            "\"dtype\": \"Float\", \"Process Group Name\": \"%s\"",
            correlation, j->words == OF_INPUTS ? "" : "0"));
    for (int b = 0; b < BUCKETS; b++) {
        const double host_ms = j->ahead_ms > 0 ? host + 0.1 + 0.1 * b : at;
        if (b == 0)
            add("cpu_op", "autograd::engine::evaluate_function: NllLossBackward", host_ms - 0.01,
                host_ms, "");
        add_launch(host_ms);
        /* these kernels compute the gradients of bucket b */
        add_kernel(j, at, at + 0.9 * gaps_ms[b] * factor);
        add_launch(host_ms + 0.01);
        at += gaps_ms[b] * factor;
        add("kernel", "copy", at - 0.02, at, dsgd_xprintf("\"correlation\": %d", correlation));
        add_launch(j->ahead_ms > 0 ? host_ms + 0.02 : at);
        const double since_ms = fmax(at, b == 0 ? 0 : ends[b - 1] + clock_ms);
        if (j->shards > 0)
            add_sharded_sum(j, r, b, since_ms, ends[b] + clock_ms);
        else
            add_sum(j, b, since_ms, ends[b] + clock_ms);
    }
}

/** Computes when the sum of each bucket ends, in a step that starts at @p ms. */
static void find_ends(const job *j, int k, double ms, double *ends)
{
    double ready[MOST_RANKS];
    for (int r = 0; r < j->ranks; r++)
        ready[r] = forward_end_ms(j, r, k, ms);
    for (int b = 0; b < BUCKETS; b++) {
        double last = b == 0 ? 0 : ends[b - 1];
        for (int r = 0; r < j->ranks; r++) {
            ready[r] += gaps_ms[b] * factor_of(j, r, k);
            last = fmax(last, ready[r]);
        }
        ends[b] = last + sum_ms(j, b);
    }
}

/** Writes the trace of each rank to job/rankR.json, and returns the mean step time in ms. */
static double write_job(const job *j)
{
    double ms = 1000;
    shell_ends(0, "mkdir -p %s/job", folder);
    for (int r = 0; r < j->ranks; r++) {
        events = dsgd_xstrdup("");
        n_events = correlation = 0;
        ms = 1000;
        for (int k = 0; k < j->steps; k++) {
            double ends[BUCKETS];
            find_ends(j, k, ms, ends);
            add_step(j, r, k, ms, ends);
            ms = ends[BUCKETS - 1];
        }
        write_file(dsgd_xprintf("job/rank%d.json", r),
                   dsgd_xprintf("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, "
                                "\"name\": \"NVIDIA A100-SXM4-40GB\"}],\n\"distributedInfo\": "
                                "{\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n"
                                "\"traceEvents\": [\n%s\n], \"traceName\": \"x\"}\n",
                                r, j->ranks, events));
    }
    return (ms - 1000) / j->steps;
}

static const char *import(const char *options)
{
    return dsgd_ends(0, "import job -p dgx-a100 -o mine.yaml --force %s", options);
}

/** Returns the number that follows @p words in @p text. */
static double number_behind(const char *text, const char *words)
{
    const char *const at = strstr(text, words);
    ck_assert_msg(at != NULL, "no `%s` in %s", words, text);
    return strtod(at + strlen(words), NULL);
}

/** Returns the error of the predicted step time in percent, from the output of `import`. */
static double step_error(const char *said)
{
    return strtod(strstr(strstr(said, "\nstep "), "%") - 6, NULL);
}

SUITE(import_kineto, "import_kineto", .seconds = 120, .set_up = make_folder,
      .tear_down = remove_folder);

static const struct {
    double ahead_ms;
    const char *kernel;
    int words;
    bool zipped;
} dresses[] = {
    {0, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", true,
     false},
    {50, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", OF_KERNEL,
     true},
    {0, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", OF_PARAMETERS, false},
    {20, "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", OF_INPUTS, false},
};

TEST_ROWS(import_finds_planted_buckets_ready_times_and_steps, dresses)
{
    job j = plain;
    j.ahead_ms = dresses[_i].ahead_ms;
    j.kernel = dresses[_i].kernel;
    j.words = dresses[_i].words;
    const double step_ms = write_job(&j);
    if (dresses[_i].zipped)
        shell_ends(0, "gzip %s/job/*.json", folder);
    const char *const said = import("");
    ck_assert_ptr_null(strstr(said, "warning"));
    dsgd_config *config = NULL;
    dsgd_workload w = {NULL};
    ck_assert_int_eq(dsgd_workload_open(dsgd_xprintf("%s/mine.yaml", folder), &config, &w, NULL),
                     DSGD_OK);
    ck_assert_double_eq_tol(1e3 * w.step_s / 160, 1, 0.01);
    ck_assert_double_eq_tol(w.backward_share / (100.0 / 160), 1, 0.01);
    const dsgd_tensors *const t = w.tensors.v;
    ck_assert_uint_eq(w.tensors.n, BUCKETS);
    for (int b = 0; b < BUCKETS; b++) {
        ck_assert_double_eq((double)t[b].elements, elements[b]);
        ck_assert_double_eq_tol(t[b].uses * elements[b] / (t[0].uses * elements[0]) /
                                    (gaps_ms[b] / gaps_ms[0]),
                                1, 0.01);
    }
    ck_assert_double_eq_tol(number_behind(said, "\nstep ") / step_ms, 1, 0.01);
    ck_assert_double_le(fabs(step_error(said)), 2);
    ck_assert_has(read_file("mine.yaml"), "workers: 8 # job/rank0.json");
}

/**
 * Tests that a rank that takes 200 ms longer is found among eight ranks, although their clocks
 * differ. If _i is at least 8, the times of ranks and steps also vary.
 */
TEST_RANGE(import_reports_slow_rank, 0, 16)
{
    job j = plain;
    j.late_rank = _i % 8;
    j.late_ms = 200;
    if (_i >= 8) {
        j.jitter = 0.08;
        j.common = 0.05;
        j.steps = 12;
    }
    j.ahead_ms = _i % 2 == 0 ? 0 : 30;
    write_job(&j);
    const char *const said = import("");
    ck_assert_has(said, dsgd_xprintf("rank %d is slow", j.late_rank));
    ck_assert_ptr_null(strstr(strstr(said, "is slow") + 1, "is slow"));
    ck_assert_double_eq_tol(number_behind(said, "ms in a step, ") / 200, 1, 0.1);
    ck_assert_has(said, "for its computing, not for a link");
    ck_assert_has(read_file("mine.yaml"),
                  dsgd_xprintf("{kind: slow, worker: %d, factor: 2.", j.late_rank));
    ck_assert_double_le(fabs(step_error(said)), 5);
    /*
     * Rank late_rank takes 200 ms longer, so seven of eight ranks wait for 200 ms. The traces
     * already contain the loss to collectives, so `explain` must not add it again.
     */
    const char *const where = dsgd_ends(0, "explain mine.yaml");
    ck_assert_double_eq_tol(number_behind(where, "\nwaiting for other workers ") / 0.175, 1, 0.1);
}

/**
 * Tests HSDP: reduce-scatters in differently named groups and the allreduces between the groups
 * must count as one sum over all ranks.
 */
TEST(hsdp_groups_count_as_one_job)
{
    job j = plain;
    j.shards = 4;
    j.late_rank = 6;
    j.late_ms = 200;
    write_job(&j);
    const char *const said = import("");
    ck_assert_has(said, "groups of 4 ranks, and allreduces of their shards between 2");
    ck_assert_ptr_null(strstr(said, "MB per step of other"));
    ck_assert_has(said, "rank 6 is slow");
    ck_assert_double_eq_tol(number_behind(said, "ms in a step, ") / 200, 1, 0.1);
    ck_assert_has(read_file("mine.yaml"), "workers: 8 # job/rank0.json");
    write_file("alone.yaml", "{name: dgx-a100, island_hosts: 0, island_nics: 1}");
    dsgd_ends(0, "import job -p alone.yaml -o alone-mine.yaml");
    shell_ends(0, "cd %s/job && sed -i 's/\"allreduce\"/\"broadcast\"/' *.json", folder);
    ck_assert_has(dsgd_ends(2, "import job -p dgx-a100 -o mine.yaml --force"),
                  "rank0.json sums gradients in process group \"0\", job/rank4.json in \"1\"");
}

/**
 * Tests that waiting for a late rank in an allgather of FSDP does not count as computation, if
 * kernels need the gathered values.
 */
TEST_RANGE(waiting_in_fsdp_allgathers_is_not_computation, NEEDED, HIDDEN + 1)
{
    job j = plain;
    j.gather = _i;
    j.kernel = "ncclDevKernel_ReduceScatter";
    j.late_rank = 3;
    j.late_ms = _i == NEEDED ? 200 : 50;
    j.ahead_ms = _i == NEEDED ? 0 : 60;
    write_job(&j);
    shell_ends(0, "cd %s/job && sed -i 's/\"allreduce\"/\"_reduce_scatter_base\"/' *.json", folder);
    const char *const said = import("");
    ck_assert_has(said, "sums are reduce-scatters");
    ck_assert_double_le(fabs(step_error(said)), 2);
    ck_assert((strstr(said, "is slow") == NULL) == (_i == HIDDEN));
    if (_i == NEEDED) {
        ck_assert_has(said, "rank 3 is slow");
        ck_assert_double_eq_tol(number_behind(said, "ms in a step, ") / 200, 1, 0.1);
    }
    shell_ends(0, "cd %s/job && sed -i 's/\"Collective name\": \"_reduce_sc[a-z_]*\", //' *.json",
               folder);
    /* Only the name of the kernel shows that the sums are reduce-scatters. */
    ck_assert_has(import(""), "sums are reduce-scatters");
}

TEST(import_separates_slow_links_from_slow_ranks)
{
    job j = plain;
    j.sum_factor = 60; /* each bucket waits for the sum of the previous bucket */
    write_job(&j);
    const char *const said = import("");
    ck_assert_double_eq_tol(number_behind(said, "sum of bucket 3, 36.27 MB") / sum_ms(&j, 3), 1,
                            1e-3);
    ck_assert_ptr_null(strstr(said, "is slow"));
    ck_assert_has(said, "a slow link, sockets");
}

TEST(first_steps_predict_later_steps)
{
    job j = plain;
    j.steps = 12;
    j.jitter = 0.03;
    j.common = 0.04;
    write_job(&j);
    const char *const said = import("--first 4");
    ck_assert_has(said, "4 steps make the experiment");
    /* The printed deviation in % must not include the deviation that all ranks share. */
    ck_assert_double_le(number_behind(said, "for good and "), 3);
    ck_assert_has(read_file("mine.yaml"), "scale: true, common: true}");
    ck_assert_double_eq_tol(number_behind(said, "steps differ by "), 4, 1);
    ck_assert_double_le(fabs(step_error(said)), 5);
}

static const struct {
    const char *command; /* shell command that changes the traces */
    int status;
    const char *sentence;
} damages[] = {
    {"sed -i 's/\"allreduce\"/\"_reduce_scatter_base\"/' *.json", 0, "sums are reduce-scatters"},
    {"rm rank3.json rank5.json", 0, "2 of 8 ranks have no trace"},
    {"gzip rank2.json && truncate -s 1500 rank2.json.gz", 0,
     "damaged: the gzip data end early after event"},
    {"truncate -s 20000 rank2.json", 0, "damaged: the JSON ends early after event"},
    {"sed -i '100s/.*/oops/' rank2.json", 0, "damaged: invalid JSON after event"},
    {"cp rank1.json again.json", 2, "are both of rank 1"},
    {"sed -i 's/world_size\": 8/world_size\": 16/' rank4.json", 2, "is of a job with 16 ranks"},
    {"sed -i 's/nelems\": 2049000/nelems\": 77/' rank4.json", 2, "no step with the same number"},
    {"sed -i 's/ProfilerStep/Step/' *.json", 5, "because it has no ProfilerStep#n"},
    {"sed -i 's/\"In msg nelems\": [0-9]*/\"x\": 1/' *.json", 0, "no sum of gradients whose size"},
    {"sed -i 's/\"rank\": [0-9]*/\"x\": 1/' *.json", 0, "rank7.json does not contain its rank"},
};

TEST_ROWS(bad_folder_is_rejected_with_reason, damages)
{
    write_job(&plain);
    shell_ends(0, "cd %s/job && %s", folder, damages[_i].command);
    ck_assert_has(dsgd_ends(damages[_i].status, "import job -p dgx-a100 -o mine.yaml"),
                  damages[_i].sentence);
}

/**
 * Tests that the step times of a simulation deviate together and by the same amount, if the
 * measured step times of all ranks deviate together.
 */
TEST(deviation_of_steps_is_reproduced)
{
    job j = plain;
    j.steps = 40;
    j.ranks = 4;
    j.common = 0.05;
    write_job(&j);
    const char *const said = import(""), *const row = strstr(said, "its standard deviation");
    ck_assert_ptr_nonnull(row);
    const double measured = strtod(row + 22, NULL);
    ck_assert_double_eq_tol(strtod(strstr(row + 22, "   ") + 12, NULL) / measured, 1, 0.35);
}

/**
 * Tests the trace of a single rank. Its kernels may have waited for other ranks, so the times of
 * sums are only upper bounds, and no link is called slow.
 */
TEST(single_rank_bounds_sums)
{
    job j = plain;
    j.late_rank = 3;
    j.late_ms = 100;
    write_job(&j);
    shell_ends(0, "cd %s/job && rm rank[1-7].json", folder);
    const char *const said = import("");
    ck_assert_has(said, "within\n");
    ck_assert_has(said, "only upper bounds for links");
    ck_assert_has(said, "experiment makes rank 1, which has no trace, slow by this time");
    ck_assert_double_le(fabs(step_error(said)), 2);
    ck_assert_ptr_null(strstr(said, "all_reduce_perf"));
}

TEST(import_warns_of_jumping_clocks_and_limiting_hosts)
{
    job j = plain;
    j.clocks_jump = true;
    j.busy = 0.3;
    write_job(&j);
    const char *const said = import("");
    ck_assert_has(said, "clocks disagree");
    ck_assert_has(said, "rank3.json varies by");
    ck_assert_has(said, "host-bound: kernels run for");
}

/**
 * Tests a trace of HolisticTraceAnalysis. The job is ResNet-50 on two A100 GPUs, and only rank 0
 * has a trace.
 */
TEST(real_trace_matches_resnet)
{
    const char *const path = measurement("files/kineto/hta_resnet50_ddp_a100_rank.json.gz");
    if (path == NULL)
        return;
    const char *const said = dsgd_ends(0, "import %s -p dgx-a100 -o mine.yaml", path);
    ck_assert_has(said, "host-bound");
    ck_assert_has(said, "1 of 2 ranks have no trace");
    static const char *const sums[] = {"8.196", "31.5", "26.26", "26.55", "9.724"};
    for (size_t b = 0; b < 5; b++)
        ck_assert_has(said, dsgd_xprintf("sum of bucket %zu, %s MB", b, sums[b]));
    ck_assert_double_le(fabs(step_error(said)), 5);
}
