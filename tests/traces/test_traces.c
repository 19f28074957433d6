/**
 * @file test_traces.c
 * Step times: injected delays hit exactly whom they should, mixtures have their closed-form
 * moments, files are read or refused. And what is shipped is what the papers say.
 */
#include <unistd.h>

#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/** One entry with its defaults, and some numbers set. */
static dsgd_imbalance *one(const char *kind, void *params, int workers)
{
    dsgd_spec pick = {dsgd_entry_find(dsgd_imbalance_kinds, kind), params};
    const dsgd_specs picks = {1, &pick};
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error;
    ck_assert_msg(dsgd_imbalance_open(&picks, 1, workers, &imbalance, &error) == DSGD_OK, "%s",
                  error.text);
    return imbalance;
}

static void *defaults(const char *kind)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, kind);
    void *params = dsgd_xcalloc(1, about->params_size);
    dsgd_options_default(about->options, params);
    return kept(params);
}

SUITE(traces, "traces", .seconds = 60);

TEST_RANGE(delay_hits_exactly_its_number_of_workers, 0, 5)
{
    static const int late[] = {0, 1, 2, 7, 12};
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, "delay");
    void *const params = defaults("delay");
    support_set(about, params, "workers", late[_i]);
    support_set(about, params, "seconds", 0.32);
    dsgd_imbalance *const imbalance = one("delay", params, 12);
    int hits[12] = {0};
    for (long t = 0; t < 1200; t++) {
        int n = 0;
        for (int w = 0; w < 12; w++) {
            const double s =
                dsgd_imbalance_seconds(imbalance, 1, (dsgd_step_at){5, 12, w, t, {0, 0, 0}});
            ck_assert(s == 1 || fabs(s - 1.32) < 1e-12);
            n += s > 1;
            hits[w] += s > 1;
        }
        ck_assert_int_eq(n, late[_i]);
    }
    const double mean = 100.0 * late[_i];
    for (int w = 0; w < 12; w++) /* and everybody alike: within five standard deviations */
        ck_assert_double_le(fabs(hits[w] - mean), 5 * sqrt(mean * (1 - late[_i] / 12.0)) + 1e-9);
    dsgd_imbalance_close(imbalance);
}

/** The number of late workers is binomial: its mean and variance within five standard errors. */
TEST(delay_chosen_independently_hits_about_its_number_of_workers)
{
    enum { P = 16, STEPS = 4000 };
    void *const params = defaults("delay");
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, "delay");
    support_set(about, params, "workers", 2);
    support_set(about, params, "seconds", 0.32);
    support_set(about, params, "chosen", 1);
    dsgd_imbalance *const imbalance = one("delay", params, P);
    double sum = 0;
    double squares = 0;
    for (long t = 0; t < STEPS; t++) {
        int n = 0;
        for (int w = 0; w < P; w++)
            n += dsgd_imbalance_seconds(imbalance, 1, (dsgd_step_at){5, P, w, t, {0, 0, 0}}) > 1;
        sum += n;
        squares += n * n;
    }
    const double p = 1 - pow(1 - 1.0 / P, 2);
    const double variance = P * p * (1 - p);
    const double mean = sum / STEPS;
    ck_assert_double_eq_tol(mean, P * p, 5 * sqrt(variance / STEPS));
    ck_assert_double_eq_tol(squares / STEPS - mean * mean, variance,
                            5 * variance * sqrt(2.0 / STEPS));
    dsgd_imbalance_close(imbalance);
}

/**
 * _i: workers. What a worker reads it has not read before, so that its own steps are those of
 * independent draws; but who is late with whom is not. At least one is in most steps: of the
 * released code's numpy, over 100 to 1,000 steps, .90 to .93 of 4, .89 to .92 of 16, .91 to .95 of
 * 64 and .94 to 1 of 256.
 */
TEST_RANGE(delay_of_one_stream_hits_some_worker_more_often_than_independent_draws, 0, 4)
{
    enum { STEPS = 500, SEEDS = 4 }; /* a stream begins anew at the end */
    static const double least[] = {0.90, 0.89, 0.91, 0.94}, most[] = {0.93, 0.92, 0.95, 1};
    const int workers = 4 << 2 * _i;
    void *const params = defaults("delay");
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, "delay");
    support_set(about, params, "workers", 2);
    support_set(about, params, "seconds", 0.32);
    support_set(about, params, "chosen", 2);
    dsgd_imbalance *const imbalance = one("delay", params, workers);
    double late = 0, some = 0;
    for (int i = 0; i < SEEDS * STEPS; i++) {
        const long t = STEPS + i % STEPS; /* from where the stream begins */
        int n = 0;
        for (int w = 0; w < workers; w++)
            n += dsgd_imbalance_seconds(
                     imbalance, 1,
                     (dsgd_step_at){(uint64_t)(i / STEPS), workers, w, t, {0, 0, 0}}) > 1;
        if (t == STEPS) /* all read the same */
            ck_assert(n == 1 || n == 2);
        late += n;
        some += n > 0;
    }
    const double p = 1 - pow(1 - 1.0 / workers, 2);
    ck_assert_double_eq_tol(late / (SEEDS * STEPS), workers * p,
                            5 * sqrt(workers * p / (SEEDS * STEPS)));
    ck_assert_double_ge(some / (SEEDS * STEPS), least[_i] - 0.01);
    ck_assert_double_le(some / (SEEDS * STEPS), most[_i] + 0.01);
    dsgd_imbalance_close(imbalance);
}

TEST(delay_of_more_workers_than_there_are_is_refused)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, "delay");
    void *const params = defaults("delay");
    support_set(about, params, "workers", 9);
    dsgd_spec pick = {about, params};
    const dsgd_specs picks = {1, &pick};
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error;
    ck_assert_int_eq(dsgd_imbalance_open(&picks, 1, 8, &imbalance, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "9");
    ck_assert_has(error.text, "8");
}

/** A step of 1.5 s of worker w, of eight, takes base + ramp ((w + turn t) mod levels) in step t. */
static const struct {
    const char *kind, *option[2];
    double value[2], base, ramp, of_worker_2; /* 0: like the others' */
    int turn, levels;
} kinds[] = {
    {"ramp", {"seconds", "rotate"}, {0.05, 1}, .base = 1.5, .ramp = 0.05, .turn = 1, .levels = 8},
    {"ramp", {"seconds", "levels"}, {0.05, 3}, .base = 1.5, .ramp = 0.05, .levels = 3},
    {"slow", {"worker", "factor"}, {2, 3}, .base = 1.5, .of_worker_2 = 4.5, .levels = 8},
    {"constant", {"seconds", "factor"}, {0.25, 2}, .base = 3.25, .levels = 8},
};

TEST_ROWS(every_worker_takes_what_its_entry_says, kinds)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, kinds[_i].kind);
    void *const params = defaults(kinds[_i].kind);
    for (int i = 0; i < 2; i++)
        support_set(about, params, kinds[_i].option[i], kinds[_i].value[i]);
    dsgd_imbalance *const imbalance = one(kinds[_i].kind, params, 8);
    for (long t = 0; t < 16; t++)
        for (int w = 0; w < 8; w++) {
            const int level = (int)((w + kinds[_i].turn * t) % kinds[_i].levels);
            const bool other = w == 2 && kinds[_i].of_worker_2 > 0;
            const double want =
                other ? kinds[_i].of_worker_2 : kinds[_i].base + kinds[_i].ramp * level;
            const dsgd_step_at at = {1, 8, w, t, {0, 0, 0}};
            const double got = dsgd_imbalance_seconds(imbalance, 1.5, at);
            ck_assert_msg(fabs(got - want) <= 1e-15 * want,
                          "%s, %s: worker %d, step %ld: %g, not %g", kinds[_i].kind,
                          kinds[_i].option[1], w, t, got, want);
        }
    dsgd_imbalance_close(imbalance);
}

TEST(time_from_the_data_follows_the_rows_of_the_samples)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_imbalance_kinds, "data");
    void *const params = defaults("data");
    support_set(about, params, "seconds", 0.5);
    support_set(about, params, "per_row", 0.01);
    const dsgd_step_at at = {1, 4, 2, 5, {.samples = 3, .rows = 20, .longest = 9}};
    dsgd_imbalance *imbalance = one("data", params, 4);
    ck_assert(dsgd_imbalance_reads_samples(imbalance));
    ck_assert_double_eq_tol(dsgd_imbalance_seconds(imbalance, 7, at), 0.5 + 0.2, 1e-15);
    support_set(about, params, "factor", 2);
    support_set(about, params, "length", 1); /* longest */
    ck_assert_double_eq_tol(dsgd_imbalance_seconds(imbalance, 7, at), 14 + 0.5 + 0.27, 1e-14);
    dsgd_imbalance_close(imbalance);
    void *const constant = defaults("constant");
    imbalance = one("constant", constant, 4);
    ck_assert(!dsgd_imbalance_reads_samples(imbalance));
    dsgd_imbalance_close(imbalance);
}

/* --- exchanges -------------------------------------------------------------------------------- */

static dsgd_tensors tensors[] = {{10, 1}, {20, 2}, {40, 1}}; /* 40, 80, 80 and 160 bytes */

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
    {true, 0, 120, 2, {120, 240}}, /* full at its size */
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

static char *temporary(const char *content)
{
    char *const path = dsgd_xstrdup("/tmp/dsgd-test-XXXXXX");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, content, strlen(content)), (ssize_t)strlen(content));
    close(file);
    return kept(path);
}

/** An entry as a file says it. */
static dsgd_status from_yaml(const char *yaml, int workers, dsgd_config **config,
                             dsgd_imbalance **imbalance, dsgd_error *error)
{
    static const dsgd_option table[] = {
        {.name = "list", .kind = DSGD_SPECS, .registry = dsgd_imbalance_kinds, .key = "kind"},
        {.name = NULL}};
    char *const path = temporary(yaml);
    dsgd_specs *picks = NULL;
    dsgd_status status = dsgd_config_open(path, config, error);
    if (status == DSGD_OK) {
        picks = dsgd_keep(1, sizeof *picks);
        status = dsgd_config_read(*config, dsgd_config_root(*config), table, NULL, picks, error);
    }
    if (status == DSGD_OK)
        status = dsgd_imbalance_open(picks, 1, workers, imbalance, error);
    unlink(path);
    return status;
}

TEST(quantiles_are_straight_between_their_points)
{
    dsgd_config *config = NULL;
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error;
    ck_assert_int_eq(from_yaml("list: {kind: quantiles, table: {0: 1s, 50: 2s, 100: 6s}}", 4,
                               &config, &imbalance, &error),
                     DSGD_OK);
    double sum = 0;
    int below = 0;
    for (long t = 0; t < 20000; t++) {
        const double s = dsgd_imbalance_seconds(
            imbalance, 0, (dsgd_step_at){1, 4, (int)(t % 4), t / 4, {0, 0, 0}});
        sum += s;
        below += s < 2;
    }
    ck_assert_double_eq_tol(sum / 20000, 0.5 * 1.5 + 0.5 * 4, 0.04);
    ck_assert_double_eq_tol(below / 20000.0, 0.5, 0.02);
    dsgd_imbalance_close(imbalance);
}

/** An option's text, and the value that it is read as. */
static dsgd_status read_yaml(const char *yaml, const dsgd_option *table, void *params,
                             dsgd_config **config, dsgd_error *error)
{
    char *const path = temporary(yaml);
    dsgd_status status = dsgd_config_open(path, config, error);
    if (status == DSGD_OK)
        status = dsgd_config_read(*config, dsgd_config_root(*config), table, NULL, params, error);
    unlink(path);
    return status;
}

static const struct {
    const char *yaml; /* %s: a file beside it */
    const char *content;
    const char *sentence; /* NULL: 0-7, 3-1 and 2-2 */
} pair_entries[] = {
    {"edges: [[0, 7], [3, 1], [2, 2]]", "", NULL},
    {"edges: %s", "# a graph\n0 7\n\n 3,1 # one more\n2\t2\n", NULL},
    {"edges: [[0, 7], [3]]", "", "a pair of numbers is expected"},
    {"edges: [[0, 7], [3, 1, 4]]", "", "a pair of numbers is expected"},
    {"edges: [0, 7]", "", "a pair of numbers is expected"},
    {"edges: [[0, 8]]", "", "between 0 and 7"},
    {"edges: [[0, 1.5]]", "", "1.5"},
    {"edges: %s", "0 7\n3\n", ":2: "},
    {"edges: %s", "0 7\n\n3 1 4\n", ":3: "},
    {"edges: %s", "0 8\n", ":1: "},
    {"edges: %s", "0 0.5\n", "0.5, but a whole number"},
    {"edges: /nonexistent.txt", "", "nonexistent"},
};

TEST_ROWS(pairs_are_read_from_lists_and_files, pair_entries)
{
    static const dsgd_option table[] = {{.name = "edges", .kind = DSGD_PAIRS, .max = 7},
                                        {.name = NULL}};
    static const long want[3][2] = {{0, 7}, {3, 1}, {2, 2}};
    char *const file = temporary(pair_entries[_i].content);
    const char *const beside = strrchr(file, '/') + 1;
    const char *const yaml = pair_entries[_i].yaml;
    char *const text =
        strstr(yaml, "%s") == NULL ? dsgd_xstrdup(yaml) : dsgd_xprintf("edges: %s", beside);
    dsgd_config *config = NULL;
    dsgd_pairs pairs = {0};
    dsgd_error error = {""};
    const dsgd_status status = read_yaml(text, table, &pairs, &config, &error);
    if (pair_entries[_i].sentence == NULL) {
        ck_assert_msg(status == DSGD_OK, "%s", error.text);
        ck_assert_uint_eq(pairs.n, 3);
        ck_assert_mem_eq(pairs.v, want, sizeof want);
    } else {
        ck_assert_int_ne(status, DSGD_OK);
        ck_assert_has(error.text, pair_entries[_i].sentence);
    }
    unlink(file);
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

static const char *const bad_entries[][2] = {
    {"list: {kind: quantiles, table: {0: 1, 90: 2}}", "100"},
    {"list: {kind: quantiles, table: {0: 2, 100: 1}}", "fall"},
    {"list: {kind: quantiles, table: {50: 2, 0: 1, 100: 3}}", "rise"},
    {"list: {kind: mixture, components: [{share: 0.5, mean: 1, deviation: 0.1, min: 0, max: 2}]}",
     "sum"},
    {"list: {kind: mixture, components: [{share: 1, mean: 1, deviation: 0.1, min: 2, max: 1}]}",
     "below"},
    {"list: {kind: mixture, components: [{share: 1, mean: 1, deviation: 0.1, min: 0, max: 2, "
     "burst: 0.5}]}",
     "share"},
    {"list: {kind: delay}", "seconds"},
    {"list: {kind: slow, worker: 4}", "with 4 workers they are 0 to 3"},
    {"list: {kind: replay, file: /nonexistent.csv}", "nonexistent"},
    {"list: {kind: delya, seconds: 1}", "delay"},
};

TEST_ROWS(bad_entries_are_refused_with_a_sentence, bad_entries)
{
    dsgd_config *config = NULL;
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error = {""};
    ck_assert_int_ne(from_yaml(bad_entries[_i][0], 4, &config, &imbalance, &error), DSGD_OK);
    ck_assert_has(error.text, bad_entries[_i][1]);
}

static const struct {
    const char *content, *sentence; /* NULL: fine */
} replays[] = {
    {"worker,step,seconds\n0,0,1\n1,0,2\n0,1,3\n1,1,4\n", NULL},
    {"seconds,note,step,worker\n4,x,1,1\n3,y,1,0\n2,,0,1\n1,,0,0\n", NULL},
    {"worker,step,seconds\n# node 0\n0,0,1\n\n1,0,2\n0,1,3\n  \n1,1,4\n", NULL},
    {"", "empty"},
    {"worker,step\n0,0\n", "seconds"},
    {"worker,step,seconds\n0,0,1\n1,0,2\n0,1,3\n", "3 rows"},
    {"worker,step,seconds\n0,0,1\n1,0,2\n0,1,3\n0,1,3\n", "two rows"},
    {"worker,step,seconds\n0,0,1\n1,0\n", ":3:"},
    {"worker,step,seconds\n0,0,fast\n", "fast"},
    {"worker,step,seconds\n0,0,-1\n", "-1"},
};

TEST_ROWS(a_replayed_file_gives_its_seconds_or_says_what_is_wrong, replays)
{
    char *const path = temporary(replays[_i].content);
    char *const yaml = dsgd_xprintf("list: {kind: replay, file: %s}", path);
    dsgd_config *config = NULL;
    dsgd_imbalance *imbalance = NULL;
    dsgd_error error = {""};
    const dsgd_status status = from_yaml(yaml, 2, &config, &imbalance, &error);
    if (replays[_i].sentence == NULL) {
        ck_assert_msg(status == DSGD_OK, "%s", error.text);
        for (int t = 0; t < 4; t++) /* the file has two steps, then it starts again */
            for (int w = 0; w < 2; w++)
                ck_assert_double_eq(
                    dsgd_imbalance_seconds(imbalance, 99, (dsgd_step_at){1, 2, w, t, {0, 0, 0}}),
                    1 + w + 2 * (t % 2));
    } else {
        ck_assert_int_eq(status, DSGD_EIO);
        ck_assert_has(error.text, replays[_i].sentence);
    }
    dsgd_imbalance_close(imbalance);
    unlink(path);
}

/* --- what is shipped -------------------------------------------------------------------------- */

TEST(habitat_has_the_published_mean_and_its_bursts_befall_all_workers_alike)
{
    dsgd_config *config = NULL;
    dsgd_workload w;
    dsgd_imbalance *imbalance = NULL;
    ck_assert_int_eq(dsgd_workload_open("habitat-p100", &config, &w, NULL), DSGD_OK);
    ck_assert_int_eq(dsgd_imbalance_open(&w.inherent, 1, 64, &imbalance, NULL), DSGD_OK);
    double sum = 0;
    int bursts = 0;
    int slow = 0;
    enum { STEPS = 2000 };
    for (long t = 0; t < STEPS; t++) {
        int n = 0;
        for (int i = 0; i < 64; i++) {
            const double s =
                dsgd_imbalance_seconds(imbalance, w.step_s, (dsgd_step_at){1, 64, i, t, {0, 0, 0}});
            sum += s;
            n += s > 9;
        }
        slow += n;
        bursts += n > 0;
    }
    ck_assert_double_eq_tol(
        sum / STEPS / 64, 2.62,
        0.02 * 2.62); /* seconds per iteration, the published ideal at 1,024 nodes */
    ck_assert_double_eq_tol(slow / 64.0 / STEPS, 0.0162, 0.0015);
    /* In a step with bursts each of 64 workers is slow with 0.0162 / 0.75: 75 % of (1 - (1 -
     * p)^64). */
    ck_assert_double_eq_tol((double)bursts / STEPS, 0.75 * (1 - pow(1 - 0.0162 / 0.75, 64)), 0.04);
    dsgd_imbalance_close(imbalance);
}

/*
 * Published rates on H100: of llm-foundry's benchmarks (scripts/train/benchmarking/README.md, its
 * table of 128 GPUs and more), with the utilisation that it states; and of NVIDIA NeMo 24.07, of 8
 * bits, with none.
 */
static const struct {
    double parameters;
    long layers;
    double width, sequence, gpu_flops, tokens_per_s, utilisation; /* per GPU; NAN: not stated */
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
    {175e9, 96, 12288, 2048, 1979e12, 745, NAN}, /* GPT-3 on 128 and on 512 GPUs */
    {175e9, 96, 12288, 2048, 1979e12, 832, NAN},
    {69e9, 80, 8192, 4096, 1979e12, 1717, NAN}, /* Llama 2 */
    {70.6e9, 80, 8192, 8192, 1979e12, 1549, NAN}, /* Llama 3 */
    {340e9, 96, 18432, 4096, 1979e12, 328, NAN}, /* Nemotron */
};
enum { PUBLISHED = sizeof published / sizeof published[0] };

/** Of the modelled step time: its relative error where the GPU reaches that share of its speed. */
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
        if (!isnan(published[i].utilisation)) /* it has four digits */
            ck_assert_double_le(fabs(error_of(i, published[i].utilisation)), 0.002);
        /* By one constant, that of Llama 3, which is in none of these rows. */
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
 * Seconds from 1 worker to another for a number of bytes: a pair that averages on an idle platform.
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

/** OSU's, by CSCS; its nodes are anywhere, so that two numbers of four phases each differ. */
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
    /* Two workers in groups of one: between groups. Four in groups of two: one phase within, one
     * between. */
    const double between_s = exchange_s(1, 2);
    const double within_s = exchange_s(1, 4) - between_s;
    ck_assert_double_eq_tol(between_s, 2.6e-6, 0.03e-6);
    ck_assert_double_eq_tol(within_s, 1.07e-6, 0.03e-6);
    const double large = 16 * 0x1p20;
    const double between_large_s = exchange_s(large, 2);
    ck_assert_double_eq_tol(large / between_large_s, 6.3e9, 0.01 * 6.3e9);
    ck_assert_double_eq_tol(large / (exchange_s(large, 4) - between_large_s), 9.4e9, 0.01 * 9.4e9);
}
