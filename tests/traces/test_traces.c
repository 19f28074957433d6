/**
 * @file test_traces.c
 * Tests the chunks of a workload, and how options are read from files. Also tests that shipped data
 * reproduce published times.
 */
#include "command/experiment/config.h"
#include "command/experiment/traces.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

SUITE(traces, "traces", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

/* --- exchanges -------------------------------------------------------------------------------- */

static dsgd_tensors tensors[] = {
    /* pairs {elements, number} of tensors, which have 40, 80, 80 and 160 bytes */
    {10, 1},
    {20, 2},
    {40, 1}};

static const struct {
    bool tensors;
    size_t pieces;
    double bucket_bytes;
    size_t n;
    double bytes[4], first_bytes;
} cuts[] = {
    {true, 0, 0, 4, {40, 80, 80, 160}},
    {true, 0, 30, 4, {40, 80, 80, 160}},
    {true, 0, 100, 2, {120, 240}},
    {true, 0, 120, 2, {120, 240}}, /* a bucket is full if it has reached this size */
    {true, 0, 121, 2, {200, 160}},
    {true, 0, 1000, 1, {360}},
    {true, 2, 0, 2, {180, 180}},
    {false, 0, 0, 1, {360}},
    {false, 3, 0, 3, {120, 120, 120}},
    {false, 0, 100, 4, {90, 90, 90, 90}},
    {true, 0, 1000, 2, {40, 320}, 40},
    {true, 0, 100, 2, {200, 160}, 200},
    {true, 0, 80, 4, {40, 80, 80, 160}, 1},
    {false, 0, 360, 1, {360}},
    {false, 0, 180, 2, {180, 180}},
};

TEST_ROWS(a_bucket_takes_whole_tensors_until_it_is_full, cuts)
{
    const dsgd_workload w = {.bytes = cuts[_i].tensors ? 0 : 360,
                             .tensors = {cuts[_i].tensors ? 3 : 0, tensors}};
    double *bytes = NULL;
    ck_assert_double_eq(dsgd_workload_bytes(&w), 360);
    const dsgd_buckets buckets = {cuts[_i].bucket_bytes, cuts[_i].first_bytes};
    ck_assert_uint_eq(dsgd_workload_pieces(&w, cuts[_i].pieces, buckets, &bytes), cuts[_i].n);
    for (size_t k = 0; k < cuts[_i].n; k++)
        ck_assert_double_eq(bytes[k], cuts[_i].bytes[k]);
    free(bytes);
}

/* --- files ------------------------------------------------------------------------------------ */

/** Writes @p yaml to a file, and reads the options of @p table from it. */
static dsgd_status read_yaml(const char *yaml, const dsgd_option *table, void *params,
                             dsgd_config **config, dsgd_error *error)
{
    write_file("option.yaml", yaml);
    DSGD_TRY(dsgd_config_open(dsgd_xprintf("%s/option.yaml", folder), config, error));
    return dsgd_config_read(*config, dsgd_config_root(*config), table, NULL, params, error);
}

static const struct {
    const char *yaml;
    /* content of the file graph.txt */
    const char *graph;
    /* expected error, or NULL if the file contains the pairs 0-7, 3-1 and 2-2 */
    const char *sentence;
} pair_entries[] = {
    {"edges: [[0, 7], [3, 1], [2, 2]]", "", NULL},
    {"edges: graph.txt", "# a graph\n0 7\n\n 3,1 # one more\n2\t2\n", NULL},
    {"edges: [[0, 7], [3]]", "", "must be a pair of numbers such as [0, 1]"},
    {"edges: [[0, 7], [3, 1, 4]]", "", "must be a pair of numbers such as [0, 1]"},
    {"edges: [0, 7]", "", "must be a pair of numbers such as [0, 1]"},
    {"edges: [[0, 8]]", "", "between 0 and 7"},
    {"edges: [[0, 1.5]]", "", "1.5"},
    {"edges: graph.txt", "0 7\n3\n", ":2: "},
    {"edges: graph.txt", "0 7\n\n3 1 4\n", ":3: "},
    {"edges: graph.txt", "0 8\n", ":1: "},
    {"edges: graph.txt", "0 0.5\n", "edges must be whole numbers from 0 to 7, got 0.5"},
    {"edges: /nonexistent.txt", "", "nonexistent"},
};

TEST_ROWS(pairs_are_read_from_lists_and_files, pair_entries)
{
    static const dsgd_option table[] = {{.name = "edges", .kind = DSGD_PAIRS, .max = 7},
                                        {.name = NULL}};
    static const long want[3][2] = {{0, 7}, {3, 1}, {2, 2}};
    dsgd_config *config = NULL;
    dsgd_pairs pairs = {0};
    dsgd_error error = {""};
    write_file("graph.txt", pair_entries[_i].graph);
    const dsgd_status status = read_yaml(pair_entries[_i].yaml, table, &pairs, &config, &error);
    if (pair_entries[_i].sentence == NULL) {
        ck_assert_msg(status == DSGD_OK, "%s", error.text);
        ck_assert_uint_eq(pairs.n, 3);
        ck_assert_mem_eq(pairs.v, want, sizeof want);
    } else {
        ck_assert_int_ne(status, DSGD_OK);
        ck_assert_has(error.text, pair_entries[_i].sentence);
    }
}

TEST(an_option_takes_a_word_or_a_number)
{
    static const char *const words[] = {"none", "auto", NULL};
    static const dsgd_option table[] = {
        {.name = "limit", .kind = DSGD_DOUBLE, .max = 9, .unit = "s", .words = words},
        {.name = NULL}};
    static const struct {
        const char *yaml;
        double want;
    } entries[] = {
        {"limit: none", -1}, {"limit: auto", -2}, {"limit: 0", 0}, {"limit: 20ms", 0.02}};
    dsgd_config *config = NULL;
    double limit = 0;
    dsgd_error error = {""};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        ck_assert_int_eq(read_yaml(entries[i].yaml, table, &limit, &config, &error), DSGD_OK);
        ck_assert_double_eq(limit, entries[i].want);
    }
    ck_assert_int_eq(read_yaml("limit: nobody", table, &limit, &config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "none or auto");
    ck_assert_int_eq(read_yaml("limit: -1", table, &limit, &config, &error), DSGD_EUSAGE);
}

/* --- shipped data ----------------------------------------------------------------------------- */

/*
 * Published throughputs on H100 GPUs. Rows with a utilisation are from llm-foundry's benchmarks
 * (scripts/train/benchmarking/README.md, table of 128 GPUs and more). Rows without it are from
 * NVIDIA NeMo 24.07 with 8 bits.
 */
static const struct {
    double parameters;
    long layers;
    double width, sequence, gpu_flops, tokens_per_s,
        utilisation; /* number of values per GPU; the utilisation is NAN if it was not published */
} published[] = {
    {64862437376, 80, 8192, 2048, 989e12, 1007, 0.4125},
    {64862437376, 80, 8192, 2048, 989e12, 1035, 0.4242},
    {64862437376, 80, 8192, 2048, 989e12, 1058, 0.4336},
    {29975214080, 48, 7168, 2048, 989e12, 2115, 0.4027},
    {29975214080, 48, 7168, 2048, 989e12, 2148, 0.4089},
    {29975214080, 48, 7168, 2048, 989e12, 2199, 0.4185},
    {12853954560, 40, 5120, 2048, 989e12, 4952, 0.4112},
    {12853954560, 40, 5120, 2048, 989e12, 4989, 0.4142},
    {12853954560, 40, 5120, 2048, 989e12, 5080, 0.4218},
    {6658859008, 32, 4096, 2048, 989e12, 9670, 0.4220},
    {6658859008, 32, 4096, 2048, 989e12, 10119, 0.4415},
    {6658859008, 32, 4096, 2048, 989e12, 10475, 0.4571},
    {2651837440, 32, 2560, 2048, 989e12, 21664, 0.3924},
    {2651837440, 32, 2560, 2048, 989e12, 22772, 0.4125},
    {2651837440, 32, 2560, 2048, 989e12, 23422, 0.4243},
    {1315950592, 24, 2048, 2048, 989e12, 39837, 0.3665},
    {1315950592, 24, 2048, 2048, 989e12, 42555, 0.3915},
    {1315950592, 24, 2048, 2048, 989e12, 44123, 0.4060},
    /* GPT-3 runs on 128 GPUs, and in the next row on 512 GPUs. */
    {175e9, 96, 12288, 2048, 1979e12, 745, NAN},
    {175e9, 96, 12288, 2048, 1979e12, 832, NAN},
    {69e9, 80, 8192, 4096, 1979e12, 1717, NAN}, /* a row of Llama 2 */
    {70.6e9, 80, 8192, 8192, 1979e12, 1549, NAN}, /* a row of Llama 3 */
    {340e9, 96, 18432, 4096, 1979e12, 328, NAN}, /* a row of Nemotron */
};
enum { PUBLISHED = sizeof published / sizeof published[0] };

/** Returns the relative error of the modelled step time if the GPU has this utilisation. */
static double error_of(int i, double utilisation)
{
    dsgd_workload w = {.step_s = -1,
                       .samples = -1,
                       .transformer = {.parameters = published[i].parameters,
                                       .layers = published[i].layers,
                                       .width = published[i].width,
                                       .sequence = published[i].sequence,
                                       .batch = 3,
                                       .gpu_flops = published[i].gpu_flops,
                                       .utilisation = utilisation,
                                       .gpus = 1}};
    ck_assert_int_eq(dsgd_workload_derive(&w, NULL), DSGD_OK);
    ck_assert_str_eq(w.sample_unit, "tokens");
    return w.step_s / (w.samples / published[i].tokens_per_s) - 1;
}

TEST(language_models_take_the_published_times)
{
    double sum = 0;
    for (int i = 0; i < PUBLISHED; i++) {
        if (!isnan(published[i].utilisation)) /* published utilisations have four digits */
            ck_assert_double_le(fabs(error_of(i, published[i].utilisation)), 0.002);
        /*
         * All rows use the same utilisation, 0.41, which was published for Llama 3. No row contains
         * this number.
         */
        const double error = error_of(i, 0.41);
        ck_assert_msg(fabs(error) < 0.15, "row %d: %g", i, error);
        sum += fabs(error);
    }
    ck_assert_double_lt(sum / PUBLISHED, 0.05);
}

TEST(resnet50_has_161_tensors_in_the_published_order)
{
    static const size_t after[] = {2, 11, 29, 61, 101};
    static const double share[] = {0.08, 0.25, 0.58, 0.80, 0.96};
    dsgd_config *config = NULL;
    dsgd_workload w;
    double *bytes = NULL;
    ck_assert_int_eq(dsgd_workload_open("resnet50-p100", &config, &w, NULL), DSGD_OK);
    ck_assert_double_eq(dsgd_workload_bytes(&w), 4.0 * 25559081);
    ck_assert_uint_eq(dsgd_workload_pieces(&w, 0, (dsgd_buckets){0}, &bytes), 161);
    double sum = 0;
    for (size_t k = 0, i = 0; k < 161 && i < 5; k++) {
        sum += bytes[k];
        if (k + 1 == after[i])
            ck_assert_double_eq_tol(sum / dsgd_workload_bytes(&w), share[i++], 0.015);
    }
    free(bytes);
}

/**
 * Returns the time in s in which workers on an idle Piz Daint average a vector of @p bytes bytes.
 */
static double exchange_s(double bytes, int workers)
{
    dsgd_config *config = NULL;
    support_case *c = support_no_learning(support_of(&support_averaging, workers));
    ck_assert_int_eq(dsgd_platform_open("piz-daint", &config, &c->platform, NULL), DSGD_OK);
    c->platform.message_overhead_s = c->platform.rendezvous_s = 0;
    c->platform.reduction_s_per_byte = 0;
    c->platform.staging_s_per_byte = c->platform.operation_s_per_byte = 0;
    c->platform.group_hosts = workers / 2;
    c->workload.bytes = bytes;
    c->config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.until.steps = 1;
    const double s = support_ok(c)->result.virtual_s - 1;
    return s;
}

/**
 * Compares an allreduce of 8 bytes with OSU's benchmark at CSCS. The nodes of the benchmark can be
 * anywhere, so its times vary.
 */
TEST(piz_daint_sums_eight_bytes_within_a_quarter_of_what_is_measured)
{
    static const struct {
        int workers;
        double us;
    } osu[] = {{6, 9.3}, {16, 13.62}};
    for (size_t i = 0; i < sizeof osu / sizeof osu[0]; i++) {
        dsgd_config *config = NULL;
        support_case *c = support_no_learning(support_new("allreduce", osu[i].workers));
        ck_assert_int_eq(dsgd_platform_open("piz-daint", &config, &c->platform, NULL), DSGD_OK);
        c->workload.bytes = 8;
        c->workload.memory = DSGD_MEMORY_HOST;
        c->config.until.steps = 1;
        const double got_us = 1e6 * (support_ok(c)->result.virtual_s - c->workload.step_s);
        ck_assert_double_eq_tol(got_us, osu[i].us, 0.25 * osu[i].us);
    }
}

TEST(piz_daint_has_its_measured_latencies_and_bandwidths)
{
    /*
     * Two workers in groups of one worker exchange bytes only between groups. Four workers in
     * groups of two workers have one phase within a group and one phase between groups.
     */
    const double between_s = exchange_s(1, 2);
    const double within_s = exchange_s(1, 4) - between_s;
    ck_assert_double_eq_tol(between_s, 2.6e-6, 0.03e-6);
    ck_assert_double_eq_tol(within_s, 1.07e-6, 0.03e-6);
    const double large = 16 * 0x1p20;
    const double between_large_s = exchange_s(large, 2);
    ck_assert_double_eq_tol(large / between_large_s, 6.3e9, 0.01 * 6.3e9);
    ck_assert_double_eq_tol(large / (exchange_s(large, 4) - between_large_s), 9.4e9, 0.01 * 9.4e9);
}
