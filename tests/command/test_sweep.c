/**
 * @file test_sweep.c
 * Tests sweeps: each value of an experiment and of its platform can be a list of alternatives.
 */
#include <sys/resource.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

SUITE(sweep, "sweep", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(sweep_multiplies_runs_and_adds_column)
{
    write_experiment("seed: [1, 2]\nexchange: {collective: {sweep: [ring, rabenseifner]}}\n");
    char *output = dsgd_ends(0, "check e.yaml");
    ck_assert_has(output, "24 runs");
    /* The number of runs is 2 * 2 * (1 + 2) * 2 = 24. */
    ck_assert_has(
        dsgd_ends(
            0,
            "check e.yaml --set algorithms='[allreduce, {name: wagma, group: {sweep: [2, 4]}}]'"),
        "24 runs");
    output = dsgd_ends(0, "run e.yaml -o r --set algorithms=allreduce");
    const char *const rows = read_file("r/runs.csv");
    ck_assert_has(rows, ",wall_s,exchange.collective\n");
    ck_assert_has(rows, ",ring\n");
    ck_assert_has(rows, ",rabenseifner\n");
}

/**
 * A sweep, and the number of runs of an experiment with this sweep. The experiment has two runs
 * without the sweep. The last two texts are the last fields in the lines of the first run and of
 * the last run.
 */
static const struct {
    const char *sweep;
    int runs;
    const char *first, *last;
} any_sweep[] = {
    {"platform={sweep: [idle-switch, piz-daint]}", 4, "idle-switch", "piz-daint"},
    {"platform={name: {sweep: [idle-switch, piz-daint]}}", 4, "idle-switch", "piz-daint"},
    {"platform=[idle-switch, {sweep: [piz-daint, {host_latency: 1us}]}]", 6, "",
     "{host_latency: 1us}"},
    {"platform={host_latency: {sweep: [1us, 2us]}}", 4, "1e-06", "2e-06"},
    {"workload={sweep: [resnet50-p100, {bytes: 1, step: 1s, samples: 1}]}", 4, "resnet50-p100",
     "{bytes: 1, step: 1s, samples: 1}"},
    {"workload.bytes={sweep: [1M, 2M]}", 4, "1000000", "2000000"},
    {"workers={sweep: [2, 16]}", 2, "2", "16"},
    {"seed={sweep: [2, 3]}", 4, "2", "3"},
    {"until={sweep: [{steps: 2}, {seconds: 1}]}", 4, "{steps: 2}", "{seconds: 1}"},
    {"algorithms={sweep: [allreduce, {name: local_sgd, label: local}]}", 4, "allreduce",
     "{name: local_sgd, label: local}"},
    {"algorithms={name: allreduce, label: {sweep: [x, y]}}", 4, "x", "y"},
    {"algorithms={name: allreduce, optimizer: {sweep: [{lr: 1}, {lr: 2}]}}", 4, "{lr: 1}",
     "{lr: 2}"},
};

TEST_ROWS(any_value_can_be_swept, any_sweep)
{
    write_experiment("");
    char *output =
        dsgd_ends(0, "check e.yaml --set algorithms=allreduce --set '%s'", any_sweep[_i].sweep);
    ck_assert_has(output, dsgd_xprintf(": %d runs\n", any_sweep[_i].runs));
    ck_assert_has(output, dsgd_xprintf(" %s\n", any_sweep[_i].last));
    ck_assert_has(output, any_sweep[_i].first);
}

TEST(swept_platform_counts_as_other_platform)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --set workers=4 --set algorithms=allreduce --set "
                 "'platform={sweep: [{host_bandwidth: 1GBps}, {host_bandwidth: 1MBps}]}'");
    const char *const rows = read_file("r/runs.csv");
    ck_assert_has(rows, "\n1,allreduce,4,1,inline,inline,ok,10,1.");
    ck_assert_has(rows, "\n2,allreduce,4,1,inline,inline,ok,10,1"); /* run 2 takes 15 s longer */
    ck_assert_ptr_null(strstr(rows, "\n2,allreduce,4,1,inline,inline,ok,10,1."));
    ck_assert_has(rows, ",wall_s,swept.platform\n");
}

/**
 * A range, and the swept values that it produces. If the status is not 0, the text is the message
 * that rejects the range.
 */
static const struct {
    const char *key, *range, *values;
    int status;
} ranges[] = {
    {"platform.host_bandwidth", "{from: 1GB/s, to: 16GB/s, n: 5, log: true}",
     "_bytes_per_s\n1000000000\n2000000000\n4000000000\n8000000000\n16000000000\n", 0},
    {"platform.host_bandwidth", "{from: 800Mb/s, to: 1GB/s, n: 3}",
     "_bytes_per_s\n100000000\n550000000\n1000000000\n", 0},
    {"platform.host_latency", "{from: 1us, to: 3us, n: 3}", "_s\n1e-06\n2e-06\n3e-06\n", 0},
    {"workload.step", "{from: 2, to: 100ms, n: 2}", "_s\n2\n0.1\n", 0},
    {"algorithms.0.period", "{from: 4, to: 16, n: 3, log: true}", "\n4\n8\n16\n", 0},
    {"algorithms.0.period", "{from: 4, to: 7, n: 3}", "must be a whole number, got `5.5`", 2},
    {"platform.host_latency", "{from: 1us, to: 3GB/s, n: 3}", "must be numbers with the same unit",
     2},
    {"platform.host_latency", "{from: 1MB, to: 3MB, n: 3}", "must be a number in s", 2},
    {"platform.host_latency", "{from: 0, to: 3us, n: 3, log: true}", "from and to must be above 0",
     2},
    {"platform.host_latency", "{from: 1us, to: 1us, n: 3}",
     "from and to must differ, got 1us twice", 2},
    {"platform.host_latency", "{from: 1us, to: 3us, n: 1}", "n must be between 2", 2},
    {"platform.host_latency", "{from: 1us, to: 3us}", "n is missing: number of values", 2},
    {"platform.host_latency", "{from: 1us, to: 3us, n: 3, lgo: true}", "unknown key `lgo`", 2},
    {"platform.host_latency", "{from: 1us, to: 3us, n: 100001}", "between 2 and 100000", 2},
};

TEST_ROWS(range_equals_list_of_numbers, ranges)
{
    write_file("e.yaml", "platform: {host_bandwidth: 10GB/s}\n"
                         "workload: {bytes: 1, step: 1s, samples: 1}\nworkers: 2\n"
                         "algorithms: [{name: local_sgd, period: 2}]\nuntil: {steps: 1}\n");
    char *output = NULL;
    const int status = dsgd(
        dsgd_xprintf("run e.yaml -o r --set '%s={sweep: %s}'", ranges[_i].key, ranges[_i].range),
        &output);
    ck_assert_msg(status == ranges[_i].status, "exit %d: %s", status, output);
    if (status != 0) {
        ck_assert_has(output, ranges[_i].values);
        ck_assert_has(output, dsgd_xprintf("--set %s=", ranges[_i].key));
        return;
    }
    char *cells = shell_ends(0, "sed 's/.*,//' %s/r/runs.csv", folder);
    ck_assert_str_eq(cells, dsgd_xprintf("%s%s", ranges[_i].key, ranges[_i].values));
}

TEST(error_in_range_names_its_place)
{
    write_file("e.yaml", "platform: idle-switch\nworkload: {bytes: 1, step: 1s, samples: 1}\n"
                         "workers: {sweep: {from: 1, to: 2, n: 3}}\nalgorithms: [allreduce]\n"
                         "until: {steps: 1}\n");
    ck_assert_has(dsgd_ends(2, "check e.yaml"),
                  "e.yaml:3:11: workers must be a whole number, got `1.5`");
}

TEST(every_file_contains_swept_values_as_numbers)
{
    write_experiment(learn);
    char *output = dsgd_ends(
        0, "run e.yaml -o r --set workers=4 --set algorithms='[allreduce, {name: wagma, group: "
           "{sweep: [2, 4]}}]' --set platform='{host_bandwidth: {sweep: [80Mb/s, 1GBps]}}' --set "
           "exchange='{bucket: {sweep: [1Mi, 25M]}}'");
    static const char *const files[] = {"runs", "curves", "workers", "staleness"};
    static const char ending[] = "algorithms.1.group,platform.host_bandwidth_bytes_per_s,"
                                 "exchange.bucket_bytes";
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        char *rows = shell_ends(0,
                                "sed 's/.*,\\([^,]*,[^,]*,[^,]*\\)$/\\1/' "
                                "%s/r/%s.csv | uniq",
                                folder, files[k]);
        ck_assert_msg(strncmp(rows, ending, strlen(ending)) == 0, "%s: %s", files[k], rows);
        ck_assert_msg(strstr(rows, "\n,10000000,1048576\n,10000000,25000000\n,1000000000,1048576"
                                   "\n,1000000000,25000000\n2,10000000,1048576\n") != NULL,
                      "%s: %s", files[k], rows);
        ck_assert_has(rows, "\n4,1000000000,25000000\n");
    }
    const char *const row = strstr(output, "10MB/s");
    ck_assert_msg(row != NULL && strstr(row, "\n") > strstr(row, "1.049MB"), "%s", output);
    ck_assert_msg(strstr(output, "...") == NULL, "a value is cut:\n%s", output);
}

/** Tests that runs which cannot be distinguished in the results are rejected before they start. */
TEST(indistinguishable_runs_are_rejected)
{
    write_experiment("");
    static const char *const sets[] = {
        "seed='[1, 1]'", "workers='[4, 4]'",
        "algorithms='[{name: wagma, group: 2}, {name: wagma, group: 4}]'"};
    char *output = NULL;
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        output = dsgd_ends(2, "check e.yaml --set %s", sets[k]);
        const char *const told = strstr(output, "could not tell run ");
        int later = 0, earlier = 0;
        ck_assert_msg(told != NULL &&
                          sscanf(told, "could not tell run %d from run %d", &later, &earlier) == 2,
                      "%s: %s", sets[k], output);
        ck_assert_int_gt(later, earlier);
        ck_assert_int_gt(earlier, 0);
    }
    output = dsgd_ends(0, "check e.yaml --set algorithms='[{name: wagma, group: 2}, "
                          "{name: wagma, group: 4, label: four}]'");
}

/**
 * Tests that the name of a swept column has no unit if the key `scale` makes the values factors.
 */
TEST(swept_factor_has_no_unit)
{
    write_experiment("");
    static const char *const kinds[] = {"{kind: normal, mean: 1, deviation: {sweep: [0.1, 0.2]}, "
                                        "scale: true}",
                                        "{kind: normal, mean: 1, deviation: {sweep: [0.1, 0.2]}}"};
    static const char *const columns[] = {"  imbalance.deviation\n", "  imbalance.deviation_s\n"};
    for (size_t k = 0; k < 2; k++) {
        ck_assert_has(dsgd_ends(0, "check e.yaml --set imbalance='%s'", kinds[k]), columns[k]);
    }
}

TEST(rejected_runs_are_skipped)
{
    write_experiment("");
    char *output = dsgd_ends(0, "run e.yaml -o r --set workers='[4, 6]' --set seed='[1, 2]'");
    ck_assert_has(output, "2 of 12 runs are skipped:\nwagma, 6 workers: wagma: "
                          "workers must be a power of two");
    ck_assert_ptr_null(strstr(read_file("r/runs.csv"), "wagma,6"));
    ck_assert_has(read_file("r/runs.csv"), "\n10,ad_psgd,6,2,");
    output = dsgd_ends(0, "run e.yaml -o r --set workers='[4, 6]' --set seed='[1, 2]'");
    ck_assert_has(dsgd_ends(2, "check e.yaml --set workers='[5, 6]'"),
                  "wagma: workers must be a power of two");
    ck_assert_has(dsgd_ends(0, "check e.yaml --set workers='[8, 16]' --set "
                               "algorithms='[{name: wagma, group: {sweep: [8, 16]}}]'"),
                  "e: 3 runs");
}

TEST(sweep_in_named_file_is_rejected)
{
    write_experiment("");
    write_file("p.yaml", "host_latency: {sweep: [1us, 2us]}\n");
    ck_assert_has(dsgd_ends(2, "check e.yaml --set platform=p.yaml"),
                  "p.yaml:1:16: host_latency is a sweep");
}

#if !defined(DSGD_ADDRESS_SANITIZER) &&                                                            \
    !defined(DSGD_THREAD_SANITIZER) /* with a sanitizer, the program needs more memory */

/** Returns the largest memory, in KB, that a child of this process has used so far. */
static long most_memory(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return usage.ru_maxrss;
}

/**
 * Tests the memory for an experiment with many runs if only one run is executed. An additional run
 * takes about 4 KB in the plan and the manifest, and must take less than MOST_KB. The loop variable
 * _i is the index of a swept key.
 */
TEST_RANGE(additional_run_takes_few_kilobytes, 0, 2)
{
    static const char *const swept[] = {"exchange.fusion", "workload.step"};
    enum { FEW = 1000, MANY = 5000, MOST_KB = 8 };
    long before = 0;
    for (int n = FEW; n <= MANY; n += MANY - FEW) {
        write_experiment("");
        const char *const command = dsgd_xprintf(
            "run e.yaml -o r%d --only 1 --set algorithms=allreduce --set workers=4 --set "
            "until.steps=1 --set '%s={sweep: {from: 1, to: %d, n: %d}}'",
            n, swept[_i], n, n);
        dsgd_ends(0, "%s", command);
        dsgd_ends(0, "%s", command); /* the folder now has a manifest */
        ck_assert_int_lt(most_memory() - before, n == FEW ? 200000 : (MANY - FEW) * MOST_KB);
        before = most_memory();
    }
    ck_assert_has(shell_ends(0, "cd %s && wc -c < r%d/manifest.json", folder, MANY), "\n");
}
#endif
