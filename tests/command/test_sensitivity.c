/**
 * @file test_sensitivity.c
 * Tests `dsgd run --sensitivity`: throughput changes in closed form, rankings that change, and the
 * choice of the parameters that are varied.
 */
#include <ctype.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/registry.h"
#include "sim/run.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/** Writes the experiment, runs it with the options, and returns the output. */
static char *sensitivity(const char *experiment, const char *options)
{
    write_file("e.yaml", experiment);
    char *output = dsgd_ends(0, "run e.yaml -o r %s", options);
    return output;
}

static double sensitivity_of(const char *row, const char *column)
{
    const char *const text = cell_of("r/sensitivity.csv", row, column);
    ck_assert_msg(*text != '\0', "%s of %s is empty", column, row);
    return strtod(text, NULL);
}

static void expect_effect(const char *row, double change, double elasticity)
{
    /*
     * The tolerances allow rounding: a time of SimGrid is a sum of about ten terms in double
     * precision.
     */
    ck_assert_double_eq_tol(sensitivity_of(row, "change"), change, 1e-9);
    ck_assert_double_eq_tol(sensitivity_of(row, "elasticity"), elasticity, 1e-8);
    ck_assert_double_eq(sensitivity_of(row, "speedup"), 1);
}

SUITE(sensitivity, "sensitivity", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(throughput_change_equals_closed_form)
{
    /*
     * A step with 4 workers computes for 1 ms, and recursive doubling sends 1 MB over 1 GB/s twice.
     * The step therefore takes 3 ms.
     */
    static const char experiment[] =
        "platform: {host_bandwidth: 1GB/s, host_latency: 0}\n"
        "workload: {bytes: 1MB, step: 1ms, samples: 8, backward_share: 0}\n"
        "workers: 4\nalgorithms: allreduce\nexchange: {collective: recursive-doubling}\n"
        "until: {steps: 10}\n";
    const char *const output = sensitivity(experiment, "--sensitivity");
    ck_assert_double_eq_tol(
        sensitivity_of("platform.host_bandwidth,0.8,", "unchanged_samples_per_s"), 32 / 3e-3, 1e-6);
    expect_effect("platform.host_bandwidth,0.8,allreduce,4,", 3 / (1 + 2 / 0.8) - 1,
                  log(3 / (1 + 2 / 0.8)) / log(0.8));
    expect_effect("platform.host_bandwidth,1.2,allreduce,4,", 3 / (1 + 2 / 1.2) - 1,
                  log(3 / (1 + 2 / 1.2)) / log(1.2));
    expect_effect("workload.step,0.8,allreduce,4,", 3 / 2.8 - 1, log(3 / 2.8) / log(0.8));
    expect_effect("workload.step,1.2,allreduce,4,", 3 / 3.2 - 1, log(3 / 3.2) / log(1.2));
    ck_assert_has(unwrapped(output), " platform.host_bandwidth 0.0 % -14.3 %: allreduce at 4 ");
    ck_assert_has(output, "\nno ranking changes\n");
    /* In a step without computation, the throughput changes by the same factor as the bandwidth. */
    sensitivity(experiment, "--sensitivity=50 --force --set workload.step=0");
    expect_effect("platform.host_bandwidth,0.5,allreduce,4,", -0.5, 1);
    expect_effect("platform.host_bandwidth,1.5,allreduce,4,", 0.5, 1);
}

/*
 * A ring of 16 workers sends for 1.875 times 0.1 s, and has 30 overheads of 7.5 ms. A worker of sgp
 * sends four shares in 4 times 0.1 s, and has 4 overheads of 7.5 ms.
 */
static const char swapping[] =
    "platform: {host_bandwidth: 1GB/s, host_latency: 0, message_overhead: 7.5ms}\n"
    "workload: {bytes: 100MB, step: 10ms, samples: 8, backward_share: 0}\n"
    "workers: [8, 16]\n"
    "algorithms: [allreduce, {name: sgp, label: push, graph: {kind: exponential, peers: 4}}]\n"
    "exchange: {pieces: 1, collective: ring}\nuntil: {steps: 5}\n";

TEST(sensitivity_reports_swaps_with_parameter)
{
    const char *output = sensitivity(swapping, "--sensitivity --set workers=16");
    const double ratio = (10 + 187.5 + 225) / (10 + 400 + 30);
    const double dearer = (10 + 187.5 + 1.2 * 225) / (10 + 400 + 1.2 * 30);
    static const char row[] = "platform.message_overhead,1.2,push,16,";
    ck_assert_double_eq_tol(sensitivity_of(row, "unchanged_speedup"), ratio, 1e-9);
    ck_assert_double_eq_tol(sensitivity_of(row, "speedup"), dearer, 1e-9);
    ck_assert_double_eq_tol(sensitivity_of(row, "speedup_change"), dearer / ratio - 1, 1e-9);
    ck_assert_has(
        unwrapped(output),
        " at 16 workers, allreduce is faster than push, but slower for platform.host_bandwidth "
        "+20 %, platform.message_overhead +20 %, exchange.pieces=buckets ");
    ck_assert_has(output, "Speed-ups over allreduce");
    /* Rows are sorted by their effect on the speed-up. The step time has hardly any effect. */
    const char *const first = strstr(output, "\nplatform.host_bandwidth ");
    const char *const second = strstr(output, "\nplatform.message_overhead ");
    const char *const third = strstr(output, "\nworkload.step ");
    ck_assert_msg(first != NULL && first < second && second < third, "%.1500s", output);
    output = sensitivity(swapping, "--sensitivity=1 --force --set workers=16");
    ck_assert_has(output, "\nat 16 workers, allreduce is faster than push, but slower for "
                          "exchange.pieces=buckets\n");
    output = sensitivity(swapping, "--sensitivity=choices --force --set workers=16");
    ck_assert_has(output, "12 of 12 runs");
    ck_assert_has(output, "slower for exchange.pieces=buckets\n");
}

/**
 * Throughputs of two algorithms with two seeds. The variation reverses the order of the algorithms
 * clearly, or not clearly enough.
 */
static const struct {
    /* array of throughputs in samples/s, indexed by [algorithm][seed] */
    double unchanged[2][2], varied[2][2];
    const char *end;
} close_calls[] = {
    {{{100, 100}, {119, 121}}, {{100, 100}, {80, 80.5}}, "1 of 1 rankings change\n"},
    /*
     * The means differ by much, but also between seeds, so an interval of the difference contains
     * 0.
     */
    {{{100, 100}, {110, 130}}, {{100, 100}, {80, 80.5}}, "a swap\nno pair swaps places\n"},
    {{{100, 100}, {119, 121}}, {{100, 100}, {70, 90}}, "a swap\nno pair swaps places\n"},
    /*
     * The throughputs differ more between seeds than between algorithms. Both algorithms differ
     * between seeds by the same ratio, so the reversal is clear.
     */
    {{{100, 200}, {119, 242}}, {{100, 200}, {80, 161}}, "1 of 1 rankings change\n"},
    /* The difference of 1.9 % is below the limit of 2 %. */
    {{{100, 100}, {101.9, 101.91}}, {{100, 100}, {80, 80.5}}, "a swap\nno pair swaps places\n"},
    {{{100, 100}, {102.1, 102.11}}, {{100, 100}, {97.9, 97.89}}, "1 of 1 rankings change\n"},
    {{{100, 100}, {102.1, 102.11}}, {{100, 100}, {98.1, 98.11}}, "a swap\nno pair swaps places\n"},
    {{{100, 100}, {119, 121}}, {{100, 100}, {150, 150.5}}, "\n\nno ranking changes\n"},
};

/** Returns a row of runs.csv, with its throughput replaced by @p throughput. */
static const char *with_throughput(char *row, double throughput)
{
    enum { BEFORE = 11 }; /* number of columns before the throughput */
    char *rest = row;
    for (int k = 0; k < BEFORE; k++)
        rest = strchr(rest, ',') + 1;
    return dsgd_xprintf("%.*s%.9g%s\n", (int)(rest - row), row, throughput, strchr(rest, ','));
}

TEST_ROWS(differences_below_the_spread_of_seeds_or_2_per_cent_are_ties, close_calls)
{
    static const char experiment[] =
        "platform: {host_latency: 0}\n"
        "workload: {bytes: 1MB, step: 0, samples: 8, backward_share: 0}\n"
        "workers: 4\nalgorithms: [allreduce, local_sgd]\nuntil: {steps: 1}\nseed: [1, 2]\n";
    sensitivity(experiment, "--sensitivity");
    char *runs = read_file("r/runs.csv");
    strsep(&runs, "\n");
    for (int i = 0; i < 28; i++) { /* rows 4 to 7 are the runs with the lower bandwidth */
        const double(*const x)[2] =
            i < 4 || i >= 8 ? close_calls[_i].unchanged : close_calls[_i].varied;
        const char *const row = with_throughput(strsep(&runs, "\n"), x[i / 2 % 2][i % 2]);
        const size_t n = strlen(row);
        write_file(dsgd_xprintf("r/.parts/%d.part", i + 1),
                   dsgd_xprintf("dsgd part 1, crc %08lx, bytes %zu 0 0 0 0 0 0\n%s",
                                crc32_z(0, (const unsigned char *)row, n), n, row));
    }
    const char *const output = sensitivity(experiment, "--sensitivity");
    const size_t n = strlen(close_calls[_i].end);
    ck_assert_msg(strlen(output) > n &&
                      strcmp(output + strlen(output) - n, close_calls[_i].end) == 0,
                  "%.1500s", output);
    const double(*const u)[2] = close_calls[_i].unchanged;
    const double(*const v)[2] = close_calls[_i].varied;
    static const char row[] = "platform.host_bandwidth,0.8,local_sgd,4,";
    ck_assert_double_eq(sensitivity_of(row, "n"), 2);
    ck_assert_double_eq_tol(sensitivity_of(row, "change"),
                            sqrt(v[1][0] / u[1][0] * (v[1][1] / u[1][1])) - 1, 1e-9);
    ck_assert_double_eq_tol(
        sensitivity_of(row, "speedup_change"),
        sqrt(v[1][0] / v[0][0] / (u[1][0] / u[0][0]) * (v[1][1] / v[0][1] / (u[1][1] / u[0][1]))) -
            1,
        1e-9);
}

/**
 * Options that choose the platform and the workload, the number of varied parameters, and texts
 * which the list must contain and must not contain.
 */
static const struct {
    const char *sets;
    int parameters;
    const char *there, *not_there;
} varied[] = {
    {"platform=idle-switch", 4, " platform.host_latency 0.8", "group_"},
    {"platform=wan-aws", 6, " platform.route_bandwidth 1.2", "group_"},
    {"platform=piz-daint", 13, " platform.group_flow_bandwidth 1.2", "group_hosts"},
    {"platform='{name: piz-daint, topology: switch}'", 10, "platform.rendezvous", "group_"},
    {"platform='{name: idle-switch, reference_speed: 1Gf}'", 4, "step", "reference_speed"},
    {"platform='{topology: xml, file: p.xml, message_overhead: 1us}'", 3, "message_overhead",
     "host_"},
    {"platform=idle-switch --set workload.backward_share=0.9", 4,
     " workload.backward_share 1.11111", "workload.backward_share      1.2\n"},
    {"platform=idle-switch --set workload.backward_share=0", 3, "workload.step", "backward_share"},
};

enum { OTHER_COLLECTIVES = 4 }; /* number of the other collectives of MPI; NCCL is unavailable */

static const char links[] =
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-15\" "
    "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/>\n</platform>\n";

TEST_ROWS(every_relevant_calibrated_parameter_is_varied, varied)
{
    write_experiment("");
    write_file("p.xml", links);
    char *const output =
        unwrapped(dsgd_ends(0, "check e.yaml --sensitivity --set %s", varied[_i].sets));
    ck_assert_msg(strstr(output, dsgd_xprintf(": %d runs ", 6 * (1 + 2 * varied[_i].parameters +
                                                                 OTHER_COLLECTIVES))),
                  "%.1500s", output);
    ck_assert_msg(strstr(output, varied[_i].there) != NULL, "%.1500s", output);
    ck_assert_msg(strstr(output, varied[_i].not_there) == NULL, "%.1500s", output);
}

/**
 * Parameters that are not varied, because they are known exactly or change no time. sensitivity.c
 * contains the reasons.
 */
static const char *const known[] = {
    "bytes",   "eager_limit", "doubling_limit", "reference_speed", "busy_power",    "idle_power",
    "samples", "value_bytes", "transformer",    "route_bandwidth", "route_latency", "inner",
    NULL};

/**
 * Checks that each number of a table of keys is among the varied parameters. @p above is the key
 * above the table.
 */
static void expect_varied(const dsgd_option *options, const char *above)
{
    for (const dsgd_option *o = options; o->name != NULL; o++) {
        const char *const name = dsgd_xprintf("%s.%s", above, o->name);
        if (o->kind == DSGD_STRUCT && dsgd_find_word(known, o->name) < 0)
            expect_varied(o->fields, name);
        if (o->kind != DSGD_DOUBLE || strcmp(name, "workload.bytes") == 0)
            continue;
        const char *const unit = o->unit == NULL ? "" : o->unit;
        const double x = o->max <= 1                   ? 0.25
                         : strcmp(unit, "s") == 0      ? 1e-6
                         : strcmp(unit, "flop/s") == 0 ? 4e9
                                                       : 40;
        const char *const output = dsgd_ends(0, "check e.yaml --sensitivity --set %s=%g", name,
                                             fmin(o->max, fmax(o->min, x)));
        ck_assert_msg((strstr(output, dsgd_xprintf("  %s  ", name)) != NULL) !=
                          (dsgd_find_word(known, o->name) >= 0),
                      "%s: %.1500s", name, output);
    }
}

TEST(every_number_of_the_schema_is_varied)
{
    write_file("e.yaml",
               "platform: {topology: groups, group_hosts: 4, group_flow_bandwidth: 1GB/s, "
               "group_bandwidth: 4GB/s, island_hosts: 2, island_bandwidth: 9GB/s, busy_power: 99, "
               "idle_power: 9, "
               "library: nccl, nccl: {links: 90GB/s}}\n"
               "workload: {bytes: 1MB, step: 1ms, samples: 8, "
               "inherent: [{kind: lognormal, mean: 1ms, deviation: 2ms}]}\n"
               "workers: 8\nalgorithms: [top_k]\nuntil: {steps: 1}\n"
               "exchange: {encoding: {kind: top_k, share: 0.5}}\n");
    expect_varied(dsgd_platform_options, "platform");
    expect_varied(dsgd_workload_options, "workload");
    static const char *const deep[] = {"platform.hosts.0.speed", "platform.nccl.tables.0.us",
                                       "workload.inherent.0.deviation", "exchange.encoding.share"};
    const char *const output =
        dsgd_ends(0, "check e.yaml --sensitivity --set algorithms=allreduce --set "
                     "platform.hosts='[{first: 1, speed: 0.5}]' --set platform.nccl.tables="
                     "'[{call: all_reduce, nodes: 4, gpus: 2, bytes: [1, 2], us: [1, 2]}]'");
    for (size_t k = 0; k < sizeof deep / sizeof deep[0]; k++)
        ck_assert_has(output, dsgd_xprintf("  %s  ", deep[k]));
}

/**
 * Tests a parameter with a guessed value, the speed of an encoder. The parameter is varied by a
 * factor of ten. This factor decides the result, although allreduce has no encoder.
 */
TEST(guessed_speed_is_varied_by_factor_ten)
{
    const char *const output = sensitivity(
        "platform: {host_bandwidth: 1GB/s, host_latency: 0}\n"
        "workload: {bytes: 100MB, step: 10ms, samples: 8, backward_share: 0}\nworkers: 8\n"
        "algorithms: [allreduce, {name: power_sgd, rank: 1}]\nuntil: {steps: 5}\n"
        "exchange: {pieces: 1}\n",
        "--sensitivity=choices --set platform.encoding=memory --set "
        "platform.host_bandwidth=100GB/s");
    ck_assert_has(output, "\nat 8 workers, power_sgd is faster than allreduce, but slower for "
                          "platform.encoding +900 %\n");
    ck_assert_str_ne(cell_of("r/sensitivity.csv", "platform.encoding,10,power_sgd,8,", "speedup"),
                     "");
}

/**
 * Tests that dsgd_run_encodes() returns true for exactly the algorithms whose time depends on the
 * speed of encoding. Exactly these have an option in words[], for which the report searches a
 * manifest.
 */
TEST(run_names_encoding_in_sensitivity)
{
    static const char *const words[] = {"encoding", "density", "rank"};
    for (size_t i = 0; dsgd_algorithms[i] != NULL; i++) {
        const dsgd_algorithm *const a = (const dsgd_algorithm *)dsgd_algorithms[i];
        bool says = false;
        for (size_t k = 0; k < 3; k++)
            says = says || dsgd_option_find(a->about.options, words[k]) != NULL;
        const char *const name = a->about.name;
        write_file("e.yaml", dsgd_xprintf("platform: {encoding: {sweep: [0, 1e-6]}}\nworkers: 16\n"
                                          "workload: {bytes: 1MB, step: 1ms, samples: 8}\n"
                                          "algorithms: [%s]\nuntil: {steps: 40}\n",
                                          name));
        char *output = NULL;
        if (dsgd("run e.yaml -o w --force --numerics off", &output) != 0)
            continue; /* the list contains an algorithm that cannot run without numerics */
        const char *const rows = read_file("w/runs.csv");
        const char *const first = cell_of("w/runs.csv", "1,", "virtual_s");
        const char *const second = cell_of("w/runs.csv", "2,", "virtual_s");
        ck_assert_msg(says == (strcmp(first, second) != 0), "%s: %s", name, rows);
        const dsgd_spec pick = dsgd_spec_default(&a->about);
        ck_assert_int_eq(
            says, dsgd_run_encodes(&(dsgd_run_config){.algorithm = a, .params = pick.params}));
    }
}

TEST(share_of_one_is_not_increased)
{
    write_experiment("");
    const char *const output = unwrapped(
        dsgd_ends(0, "check e.yaml --sensitivity --set workload.backward_share=1 --set workers=4"));
    ck_assert_has(output, " workload.backward_share 0.8 ");
    ck_assert_ptr_null(strstr(output, " workload.backward_share 1 "));
    ck_assert_has(output, ": 36 runs "); /* number of runs: 3 + 3 * 2 * 3 + 3 + 3 * 4 = 36 */
}

TEST(each_place_is_compared_separately)
{
    /*
     * Tests two platforms. Only one of the platforms has an overhead per message. Each platform
     * must be varied only in its own parameters.
     */
    const char *const output =
        sensitivity(swapping, "--sensitivity --set platform='[idle-switch, {host_bandwidth: 1GB/s, "
                              "host_latency: 0, message_overhead: 7.5ms}]' --set "
                              "imbalance='[{kind: constant, seconds: {sweep: [0, 10s]}}]'");
    ck_assert_has(
        unwrapped(output),
        " at 16 workers, inline, seconds 0s, allreduce is faster than push, but slower for "
        "platform.host_bandwidth +20 %, platform.message_overhead +20 %, "
        "exchange.pieces=buckets ");
    ck_assert_msg(strstr(output, "\n2 of 8 rankings change\n") != NULL, "%.1500s", output);
    ck_assert_double_eq_tol(
        sensitivity_of("platform.host_bandwidth,1.2,push,16,inline,inline,0,", "speedup"),
        (10 + 187.5 / 1.2 + 225) / (10 + 400 / 1.2 + 30), 1e-9);
    ck_assert_ptr_null(
        strstr(read_file("r/sensitivity.csv"), "platform.message_overhead,0.8,push,16,idle"));
    ck_assert_has(read_file("r/runs.csv"), ",imbalance.0.seconds,parameter,factor\n");
}

TEST(variations_follow_unchanged_runs)
{
    write_experiment("");
    char *output = dsgd_ends(0, "run e.yaml --sensitivity -j 1");
    const char *const whole = without_wall(read_file("results/e-sensitivity/runs.csv"));
    const char *const effects = read_file("results/e-sensitivity/sensitivity.csv");
    output = dsgd_ends(0, "run e.yaml --sensitivity -o b --only 17");
    ck_assert_ptr_null(strstr(output, "ranking")); /* rankings are printed after all runs */
    ck_assert_has(output, "\n 17  wagma ");
    ck_assert_has(read_file("b/runs.csv"), "\n17,wagma,8,");
    ck_assert_has(dsgd_ends(0, "run e.yaml --sensitivity -o b -j 3"), "77 of 77 runs");
    ck_assert_str_eq(without_wall(read_file("b/runs.csv")), whole);
    ck_assert_str_eq(read_file("b/sensitivity.csv"), effects);
    output = dsgd_ends(0, "run e.yaml -o c"); /* without --sensitivity, unchanged runs are equal */
    char *rows = read_file("c/runs.csv");
    strsep(&rows, "\n");
    for (char *row = strsep(&rows, "\n"); *row != '\0'; row = strsep(&rows, "\n")) {
        *strrchr(row, ',') = '\0'; /* removes the column wall_s */
        ck_assert_msg(strstr(whole, row) != NULL, "%s", row);
    }
}

TEST(failed_runs_enter_no_speedup)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 250ms}]}\n");
    char *output = dsgd_ends(5, "run e.yaml -o r --sensitivity --set workers=4 --set "
                                "algorithms='[allreduce, a_psgd]'");
    ck_assert_msg(strstr(output, "\n13 runs without results are left out\nno ranking changes\n") !=
                      NULL,
                  "%.1500s", output);
    ck_assert_has(unwrapped(output), " workload.step - ");
    ck_assert_ptr_null(strstr(read_file("r/sensitivity.csv"), "allreduce"));
    static const char row[] = "workload.step,1.2,a_psgd,4,";
    ck_assert_double_lt(sensitivity_of(row, "change"), -0.1);
    ck_assert_str_eq(cell_of("r/sensitivity.csv", row, "speedup"), "");
    ck_assert_str_eq(cell_of("r/sensitivity.csv", row, "speedup_change"), "");
}
