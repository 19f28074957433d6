/**
 * @file test_explain.c
 * Tests `dsgd explain` for experiments: gains that are computed by hand, and names of links and
 * workers. Some results must equal the results of another run in every bit.
 */
#include <limits.h>
#include <unistd.h>

#include "base/csv.h"
#include "sim/timeline.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/* --- Functions that read the output ----------------------------------------------------------- */

/**
 * Returns the last number of the line that starts with @p head, or NAN if there is no such line.
 */
static double last_of(const char *output, const char *head)
{
    for (const char *line = output; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *const end = line + strcspn(line, "\n");
        if (strncmp(line, head, strlen(head)) != 0)
            continue;
        const char *last = end;
        while (last > line && last[-1] != ' ')
            last--;
        return strtod(last, NULL);
    }
    return NAN;
}

static void expect(const char *output, const char *head, double gain)
{
    const double digits = 6e-4; /* tolerance for gains, which are printed with three decimals */
    const double found = last_of(output, head);
    ck_assert_msg(fabs(found - gain) < digits, "%s: %g instead of %g in\n%s", head, found, gain,
                  output);
}

static void expect_text(const char *output, const char *text)
{
    ck_assert_has(output, text);
}

static char *explained(const char *arguments)
{
    const char *const command = dsgd_xprintf("explain %s -j 2", arguments);
    char *output = dsgd_ends(0, "%s", command);
    return output;
}

/** Returns the throughput of allreduce in the summary that @p output contains. */
static double samples_per_s(const char *output)
{
    const char *const row = strstr(output, "\nallreduce ");
    ck_assert_ptr_nonnull(row);
    return strtod(row + strlen("\nallreduce "), NULL);
}

/* --- closed forms ----------------------------------------------------------------------------- */

/**
 * Writes an experiment of a ring allreduce, followed by @p more. With P workers, 2 (P - 1) / P of
 * 100 MB pass through each NIC, in consecutive messages.
 */
static void write_ring(const char *more)
{
    write_file("e.yaml", dsgd_xprintf("workload: {bytes: 100MB, step: 100ms, samples: 32}\n"
                                      "algorithms: [allreduce]\nuntil: {steps: 10}\n"
                                      "exchange: {pieces: 1, overlap: false, collective: "
                                      "ring}\n%s",
                                      more));
}

SUITE(explain, "explain", .set_up = make_folder, .tear_down = remove_folder, .seconds = 120);

/**
 * A pipeline of D stages and N micro-batches without messages takes N + D - 1 passes. If stage s is
 * slower by the factor f, the pipeline takes N f + s + (2 - f) (D - 1 - s) passes.
 */
TEST(explain_reports_slowest_stage)
{
    write_file(
        "e.yaml",
        "platform: idle-switch\nworkload: {bytes: 1, step: 16s, samples: 1, inner: {pipeline: "
        "{stages: 16, micro_batches: 32}, activations: 0}}\nworkers: [64]\n"
        "imbalance: [{kind: slow, worker: 197, factor: 1.5}]\nuntil: {steps: 6}\n"
        "algorithms: [allreduce, wagma, diloco]\n");
    char *const output = explained("e.yaml");
    const double slow = 32 * 1.5 + 5 + 0.5 * (15 - 5), others = 32 + 15;
    expect(output, "the slowest worker as the median", slow / others);
    expect_text(output, "            12   197  5 (1.50 times) ");
    expect_text(strstr(output, "--- diloco"), "Workers neither wait nor pause for communication.");
}

/**
 * Each of three pipelines has two hosts. A message of 1 GB takes 0.1 s. Host 5 has a tenth of the
 * bandwidth, so a message from or to host 5 takes 1 s.
 */
TEST(explain_reports_slow_links_inside_a_worker)
{
    write_file("e.yaml",
               "platform: {topology: switch, host_bandwidth: 10GB/s, host_latency: 0s, hosts: "
               "[{first: 5, count: 1, bandwidth: 0.1}]}\nworkload: {bytes: 8, step: 16s, samples: "
               "1, inner: {pipeline: {stages: 2, micro_batches: 1}, activations: 1GB}}\n"
               "workers: [3]\nuntil: {steps: 4}\nalgorithms: [allreduce]\n");
    char *const output = explained("e.yaml");
    expect(output, "no slow links", 18 / 16.2);
    ck_assert_double_gt(last_of(output, "  pipeline bubbles"), 40);
}

/**
 * Tests a results folder whose manifest contains the path of the experiment, relative to another
 * working directory.
 */
TEST(explain_finds_experiment_of_folder_from_any_directory)
{
    write_experiment("");
    shell_ends(0, "sed -i 's/kind: delay.*/kind: replay, file: s.csv}]/' %s/e.yaml", folder);
    write_file("s.csv",
               "worker,step,seconds\n0,0,1\n1,0,2\n2,0,1\n3,0,1\n4,0,1\n5,0,1\n6,0,1\n7,0,1\n");
    dsgd_ends(0, "run e.yaml -o results/r");
    expect_text(shell_ends(0, "cd %s/results/r && " DSGD_BINARY " explain . --run 1", folder),
                "allreduce");
    expect_text(shell_ends(0, "cd / && " DSGD_BINARY " explain %s/results/r --run 1", folder),
                "allreduce");
    dsgd_ends(0, "timeline results/r --run 1");
    shell_ends(0, "cd / && " DSGD_BINARY " run %s/e.yaml -o %s/results/r", folder, folder);
    shell_ends(0, "mkdir %s/g && mv %s/e.yaml %s/g", folder, folder, folder);
    expect_text(dsgd_ends(3, "explain results/r"), "the experiment of this folder, ");
}

TEST(speedup_without_delay_is_base_and_delay_over_base)
{
    write_ring("workers: 8\nplatform: {host_bandwidth: 1000000GB/s, host_latency: 0}\n"
               "imbalance: {kind: slow, worker: 5, factor: 1.75}\n");
    const char *const output = explained("e.yaml");
    expect(output, "no stragglers", 1.75);
    expect(output, "the slowest worker as the median", 1.75);
    expect(output, "an ideal network", 1);
    /*
     * This row contains the rank, the host, the step time, and the ratio of the step time to the
     * median. Two columns follow. They contain the percentage of steps in which the worker was
     * last, and the wait of each other worker.
     */
    expect_text(output, "             5     5         0.175        1.750     100.0");
    expect(output, "             5     5", 0.075);
    expect_text(output, "With the slowest worker as the");
    /* A change without an effect has no row. */
    ck_assert(isnan(last_of(output, "half the latency")));
    ck_assert(isnan(last_of(output, "no GPU copies")));
    ck_assert(isnan(last_of(output, "no reduction cost")));
}

TEST(slow_host_counts_as_straggler)
{
    write_ring(
        "workers: 4\nplatform: {host_bandwidth: 1000000GB/s, host_latency: 0, hosts: [{first: "
        "2, speed: 0.8}]}\n");
    const char *const output = explained("e.yaml");
    expect(output, "no stragglers", 1.25);
    expect(output, "the slowest worker as the median", 1.25);
    expect_text(output, "\n             2     2         0.125        1.250     100.0");
}

/** A step computes for 100 ms and sends 150 MB over 1 GB/s, so it takes 250 ms. */
TEST(balanced_workers_gain_only_from_network)
{
    write_ring("workers: 4\nplatform: {host_bandwidth: 1GB/s, host_latency: 0}\n");
    const char *const output = explained("e.yaml");
    expect(output, "total", 100);
    expect(output, "an ideal network", 2.5);
    expect(output, "twice the bandwidth", 0.25 / 0.175);
    ck_assert(isnan(last_of(output, "no stragglers")));
    ck_assert(isnan(last_of(output, "the slowest worker as the median")));
    expect_text(output, "\nNo worker computes longer than the median worker.\n");
    expect_text(output,
                "Workers spend 60 % of each step communicating. With an ideal network, allreduce");
}

/**
 * A step takes 250 ms, so the time limit ends some of the compared runs within a step. The
 * comparison must use steps that all runs completed.
 */
TEST(run_that_ends_by_time_is_compared_after_same_steps)
{
    write_ring("workers: 4\nplatform: {host_bandwidth: 1GB/s, host_latency: 0}\n");
    const char *const output = explained("e.yaml --set 'until={seconds: 1.1}'");
    expect(output, "an ideal network", 2.5);
    expect(output, "twice the bandwidth", 0.25 / 0.175);
    expect_text(output, "\ntotal                          0.25      100.0\n");
    expect_text(explained("e.yaml --set 'until={seconds: 0.2}'"),
                "allreduce: no run has results to explain");
}

/**
 * Tests a step with six consecutive messages, each with a latency of 10 ms, and a reduction of
 * three quarters of 100 MB.
 */
TEST(explain_reports_gain_of_latency_reductions_and_copies)
{
    write_ring("workers: 4\n"
               "platform: {host_bandwidth: 1GB/s, host_latency: 10ms, reduction: 1e-9, staging: "
               "0.5e-9}\n");
    const char *const output = explained("e.yaml");
    const double copies = 0.05 + 0.05; /* time of copies from the GPU and to the GPU */
    const double all = 0.1 + 0.15 + 6 * 0.01 + 0.075 + copies;
    expect(output, "twice the bandwidth", all / (all - 0.075));
    expect(output, "half the latency", all / (all - 0.03));
    expect(output, "an ideal network", all / (all - 0.15 - 0.06));
    expect(output, "no reduction cost", all / (all - 0.075));
    expect(output, "no GPU copies", all / (all - copies));
}

/**
 * Tests that the changes `an ideal network` and `half the latency` also change the parameters of
 * NCCL's model.
 */
TEST(ideal_network_covers_nccl_model)
{
    write_ring("workers: 16\nplatform: dgx-h100\n");
    const char *const output =
        explained("e.yaml --set workload.step=1ms --set exchange.collective=nccl");
    const double step_s = strtod(strstr(output, "\ntotal") + strlen("\ntotal"), NULL);
    ck_assert_double_gt(last_of(output, "an ideal network"), 0.9 * step_s / 0.001);
    ck_assert_double_gt(last_of(output, "half the latency"), 1.001);
}

TEST(slow_nic_is_busiest_link)
{
    write_ring("workers: 4\nplatform: {host_bandwidth: 10GB/s, host_latency: 0, hosts: [{first: 2, "
               "bandwidth: 0.1}]}\n");
    const char *const output = explained("e.yaml");
    expect(output, "an ideal network", 2.5);
    expect(output, "twice the bandwidth", 0.25 / 0.175);
    expect_text(output, "bandwidth (GB/s)\n"
                        "NIC 2, out               60.0             1.5                 1\n"
                        "NIC 2, in                60.0             1.5                 1\n");
}

/**
 * Two of four hosts have slow links. The row for slow links is printed in addition to the row for
 * all links, and only if slow links cost time.
 */
TEST(explain_reports_gain_without_slow_links)
{
    write_ring("workers: 4\nplatform: {host_bandwidth: 1GB/s, host_latency: 0, hosts: [{first: 2, "
               "bandwidth: 0.2}, {first: 3, latency: 10ms}]}\n");
    const char *const output = explained("e.yaml");
    expect(output, "no slow links", (0.1 + 0.75 + 6 * 0.01) / 0.25);
    const char *const other =
        explained("e.yaml --set platform.hosts.0.bandwidth=1 --set platform.hosts.1.latency=0");
    expect(other, "no slow links", 1);
}

/**
 * All workers have the same random delays, and worker 5 also takes 1.5 times as long. The row for
 * the slowest worker removes only the factor of 1.5, and no worker is named for random delays.
 */
TEST(gain_of_slowest_worker_excludes_noise)
{
    write_ring("workers: 8\nplatform: {host_bandwidth: 1000000GB/s, host_latency: 0}\nimbalance:\n"
               "  - {kind: delay, workers: 1, seconds: 100ms}\n  - {kind: slow, worker: 5, factor: "
               "1.5}\n");
    const char *const output = explained("e.yaml --set until.steps=50");
    const double own = last_of(output, "the slowest worker as the median"),
                 all = last_of(output, "no stragglers");
    ck_assert_double_gt(own, 1.05);
    ck_assert_double_gt(all, 1.3 * own);
    expect_text(output, "With no stragglers, allreduce would");
}

static const char *const slow_gpus[] = {"imbalance=[{kind: slow, worker: 5, factor: 1.4}]",
                                        "platform.hosts=[{first: 5, speed: 0.7}]"};

/**
 * A collective that waits for the slow GPU slows computation on the other GPUs. The gain must equal
 * the gain of a run without the slow GPU. The slowness of each worker must not include this effect.
 */
TEST_ROWS(explain_reports_cost_of_slow_gpu_under_collective_share, slow_gpus)
{
    write_file("e.yaml", "workload: resnet50-a100\nplatform: dgx-a100\nworkers: 8\n"
                         "algorithms: allreduce\nuntil: {steps: 10}\n");
    const char *const output = explained(dsgd_xprintf("e.yaml --set '%s'", slow_gpus[_i]));
    const double truth = samples_per_s(explained("e.yaml")) / samples_per_s(output);
    ck_assert_double_gt(truth, 1.2);
    expect(output, "no stragglers", truth);
    expect(output, "the slowest worker as the median", truth);
    ck_assert_double_gt(last_of(output, "  slower because of exchanges"), 5);
    /* The printed number is the ratio of the step time to the median step time. */
    expect_text(output, _i == 0 ? "        1.400 " : "        1.429 ");
}

/** The busiest link is a route between regions that flows share. Only SimGrid reports its use. */
TEST(explain_reports_that_routes_are_not_counted)
{
    write_ring("workers: 4\nplatform: {topology: groups, group_hosts: 2, host_bandwidth: 10GB/s, "
               "regions: [{name: a}, {name: b}], routes: [{from: a, to: b, bandwidth: 1GB/s}]}\n");
    expect_text(explained("e.yaml"), "\nRoutes between regions are not counted.\n");
    const char *const simgrid = explained("e.yaml --set network=simgrid");
    ck_assert_ptr_null(strstr(simgrid, "not counted"));
    expect_text(simgrid, "\nall1                     60.0 ");
}

/** Tests that links of a SimGrid file in XML are reported with their own names and speeds. */
TEST(slow_link_of_xml_file_is_busiest)
{
    write_file(
        "p.xml",
        "<?xml version='1.0'?>\n"
        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
        "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
        "<link id=\"copper\" bandwidth=\"10GBps\" latency=\"0us\"/>\n"
        "<link id=\"radio\" bandwidth=\"0.5GBps\" latency=\"50ms\"/>\n"
        "<route src=\"a\" dst=\"b\"><link_ctn id=\"copper\"/><link_ctn id=\"radio\"/></route>\n"
        "</zone></platform>\n");
    write_ring("workers: 2\nplatform: {topology: xml, file: p.xml}\n");
    const char *const output = explained("e.yaml");
    /*
     * Both directions share the link `radio`. Each of two rounds takes 50 ms and sends 100 MB over
     * 0.5 GB/s.
     */
    const double all = 0.1 + 0.4 + 0.1;
    expect(output, "an ideal network", all / 0.1);
    expect(output, "twice the bandwidth", all / (all - 0.2));
    expect(output, "half the latency", all / (all - 0.05));
    expect_text(output, "\nradio                    66.7               2               0.5\n");
    expect_text(output, "\ncopper");
}

/* --- equal results ---------------------------------------------------------------------------- */

static void listen(void *listener, const dsgd_span *span)
{
    (void)listener;
    ck_assert_double_ge(span->end_s, span->since_s);
}

static void expect_same(const support_outcome *a, const support_outcome *b, const char *name)
{
    const dsgd_run_result *const x = &a->result, *const y = &b->result;
    const double of_a[] = {x->virtual_s,       x->steps,          x->samples,
                           x->step_mean_s,     x->exposed_mean_s, x->shares.compute,
                           x->shares.wait,     x->bytes,          (double)x->messages,
                           x->staleness_mean,  x->lag_mean,       x->gradient_staleness_mean,
                           x->sent_mean_bytes, x->ideal_s};
    const double of_b[] = {y->virtual_s,       y->steps,          y->samples,
                           y->step_mean_s,     y->exposed_mean_s, y->shares.compute,
                           y->shares.wait,     y->bytes,          (double)y->messages,
                           y->staleness_mean,  y->lag_mean,       y->gradient_staleness_mean,
                           y->sent_mean_bytes, y->ideal_s};
    ck_assert_msg(memcmp(of_a, of_b, sizeof of_a) == 0, "%s: %.17g s, not %.17g", name, of_a[0],
                  of_b[0]);
    ck_assert_msg(memcmp(a->final_mean, b->final_mean, sizeof a->final_mean) == 0,
                  "%s: another model", name);
}

/* --- option --instead ------------------------------------------------------------------------- */

/**
 * Checks a row of `--instead`. The row contains the step time, the number of workers relative to
 * the experiment, and the speed-up over a step of 250 ms. The speed-up is equal for all seeds.
 */
static void expect_row(const char *output, const char *head, double step_s, double workers)
{
    double x[4];
    const char *const row = strstr(output, dsgd_xprintf("\n%s ", head));
    ck_assert_msg(row != NULL && sscanf(row + 1 + strlen(head), "%lf %lf %lf to %lf", &x[0], &x[1],
                                        &x[2], &x[3]) == 4,
                  "no row %s in %s", head, output);
    ck_assert_double_eq_tol(x[0], step_s, 6e-5);
    for (int k = 1; k < 4; k++)
        ck_assert_double_eq_tol(x[k], workers * 0.25 / step_s, 6e-4);
}

/**
 * With P workers, a step of allreduce computes for 100 ms and sends 2 (P - 1) / P of 100 MB over 1
 * GB/s. Local SGD sends as many bytes in every eighth step only.
 */
TEST(instead_equals_run_of_changed_file)
{
    write_ring("workers: 4\nplatform: {host_bandwidth: 1GB/s, host_latency: 0}\nseed: [1, 2, 3]\n");
    const char *const plain = explained("e.yaml --set until.steps=16");
    ck_assert_ptr_null(strstr(plain, "\nlocal_sgd"));
    const char *const output = explained("e.yaml --set until.steps=16 --instead");
    expect_row(output, "local_sgd", 0.1 + 0.15 / 8, 1);
    expect_row(output, "buckets of 1 MiB", 0.25, 1);
    expect_row(output, "4 times the workers", 0.1 + 0.2 * 15 / 16, 4);
    expect_row(output, "16 times the workers", 0.1 + 0.2 * 63 / 64, 16);
}

TEST(explain_instead_lists_skipped_alternatives)
{
    write_ring(
        "workers: 6\nplatform: {topology: fat_tree, size: [3, 4], up: [1, 1], host_bandwidth: "
        "1GB/s, host_latency: 0}\n");
    const char *const output = explained("e.yaml --instead");
    expect_text(output,
                "skipped alternatives:\nrun 1, wagma: wagma: workers must be a power of two");
    expect_text(output, "run 1, 4 times the workers: ");
    expect_text(output, "2 times the workers  ");
    ck_assert_ptr_null(
        strstr(strstr(explained("e.yaml --instead --set algorithms=[ad_psgd]"), "\ninstead "),
               "\nad_psgd  "));
}

/** Tests for every algorithm that recording a run does not change its results. */
TEST_RANGE(recorded_run_equals_plain_run_bit_for_bit, 0, support_n_algorithms())
{
    static const bool all[8] = {true, true, true, true, true, true, true, true};
    const char *const name = dsgd_algorithms[_i]->name;
    support_case *const c = support_new(name, 8);
    support_imbalance_number(c, "delay", "seconds", 0.3);
    const support_outcome *const plain = support_ok(c);
    dsgd_timeline timeline = {.end_step = LONG_MAX, .chosen = all, .ended = listen};
    c->config.timeline = &timeline;
    c->config.loads = true;
    c->config.what_if = (dsgd_what_if){.worker = 3};
    expect_same(support_ok(c), plain, name);
}

/**
 * Tests the two changes of `what_if`: one worker's steps take a fraction of their time, or all
 * steps take the same time. The result must equal the result of an experiment with these step
 * times.
 */
TEST(what_if_equals_changed_experiment)
{
    support_case *const c = support_new("allreduce", 4);
    /* each step of worker 0 takes twice as long as a step of any other worker */
    support_imbalance_number(c, "slow", "factor", 2);
    c->config.what_if = (dsgd_what_if){.worker = 0, .factor = 0.5};
    const support_outcome *const without = support_ok(c);
    c->config.what_if = (dsgd_what_if){.step_s = 1};
    const support_outcome *const equal = support_ok(c);
    support_case *const balanced = support_new("allreduce", 4);
    expect_same(without, support_ok(balanced), "without the slowest");
    expect_same(equal, support_ok(balanced), "equal steps");
}

TEST(explain_leaves_results_folder_unchanged)
{
    write_ring("workers: 4\nplatform: idle-switch\nimbalance: {kind: slow, worker: 1}\n"
               "seed: [1, 2]\n");
    char *output = dsgd_ends(0, "run e.yaml -o r --set workers=8 --progress off");
    output = shell_ends(0, "find r | sort && cat r/*.csv");
    const char *const before = dsgd_xstrdup(output);
    expect_text(explained("r --set workers=8"),
                "inline on idle-switch, 8 workers, 2 seeds from 1\n");
    output = shell_ends(0, "find r | sort && cat r/*.csv");
    ck_assert_str_eq(output, before);
    output = dsgd_ends(2, "explain r");
    expect_text(output, "r: run 1 of e.yaml differs from the run in the folder");
}

/* --- all algorithms --------------------------------------------------------------------------- */

TEST_RANGE(explain_prints_section_for_every_algorithm, SUPPORT_SLOW, 2)
{
    static const char *const networks[] = {"flows", "simgrid"};
    char *names = dsgd_xstrdup("");
    for (int i = 0; dsgd_algorithms[i] != NULL; i++)
        names = dsgd_xprintf("%s%s%s", names, i > 0 ? ", " : "", dsgd_algorithms[i]->name);
    write_file("e.yaml", dsgd_xprintf("platform: piz-daint\nnetwork: %s\n"
                                      "workload: {bytes: 40MB, step: 100ms, samples: 32}\n"
                                      "imbalance:\n"
                                      "  - {kind: delay, workers: 1, seconds: 50ms}\n"
                                      "  - {kind: slow, worker: 3, factor: 1.5}\n"
                                      "workers: %d\nalgorithms: [%s]\nuntil: {steps: 6}\n",
                                      networks[_i], SUPPORT_SLOW ? 4 : 8, names));
    /*
     * Under a slow sanitizer the program prints progress to stderr, which is not part of the
     * output.
     */
    const char *const output = shell_ends(0, DSGD_BINARY " explain e.yaml -j 2 2>said");
    for (int i = 0; dsgd_algorithms[i] != NULL; i++)
        expect_text(output, dsgd_xprintf("\n--- %s ", dsgd_algorithms[i]->name));
    for (const char *line = output; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_msg(strcspn(line, "\n") <= 80, "wide: %.*s", (int)strcspn(line, "\n"), line);
    ck_assert_ptr_null(strstr(output, "nan"));
    ck_assert_ptr_null(strstr(read_file("said"), "nan"));
}

/* --- figures ---------------------------------------------------------------------------------- */

TEST(map_reports_workers_per_cell)
{
    write_ring("workers: 300\nplatform: idle-switch\nname: map\n"
               "imbalance: {kind: delay, workers: 50, seconds: 50ms}\n");
    char *const output = explained("e.yaml --format svg --size two-column --set until.steps=3");
    expect_text(output, "map-1-slowdown.svg: step times of run 1 (allreduce)");
    const char *const svg = read_file("map-1-slowdown.svg");
    expect_text(svg, "a cell shows the slowest of 3 workers<");
    explained("e.yaml -o table.txt --run 1");
    expect_text(read_file("table.txt"), "Speed-up: throughput of the changed run");
}

/**
 * Tests that each of eight workers has an eighth of the map's height, even if a worker has computed
 * fewer steps than the others.
 */
TEST(map_rows_have_equal_height_if_workers_are_ahead)
{
    static const char cell[] = "<polygon fill";
    write_ring("workers: 8\nplatform: idle-switch\nname: ahead\n"
               "imbalance: {kind: slow, worker: 1, factor: 2}\n");
    explained("e.yaml --format svg --size two-column --set algorithms=[ad_psgd]");
    double height = 0, top = 0, lowest = 0;
    for (const char *at = read_file("ahead-1-slowdown.svg"); (at = strstr(at, cell)) != NULL;
         at++) {
        double y[3];
        ck_assert_int_eq(
            sscanf(strstr(at, "points"), "points = '%*f,%lf %*f,%lf %*f,%lf", &y[0], &y[1], &y[2]),
            3);
        ck_assert_double_eq(y[0], y[1]);
        height = height > 0 ? height : y[0] - y[2];
        top = top > 0 ? top : y[2];
        lowest = fmax(lowest, y[0]);
    }
    ck_assert_double_eq_tol(8 * height, lowest - top, 0.1);
}

/* --- failures --------------------------------------------------------------------------------- */

static const char failing[] = "platform: idle-switch\n"
                              "workload: {bytes: 1k, step: 30s, samples: 8}\nworkers: 4\n"
                              "algorithms: [allreduce]\nuntil: {steps: 20000}\n"
                              "failures: {mtbf: 4h, detect: 30s, repair: 5min, restart: 1min,\n"
                              "           checkpoint: {interval: 1h, seconds: 30s}}\n";

/** Runs e.yaml with the options @p set, and returns a number from the row of run 1. */
static double ran(const char *set, const char *column)
{
    dsgd_ends(0, "run e.yaml -o r --force --progress off %s", set);
    return strtod(cell_of("r/runs.csv", "1,", column), NULL);
}

/**
 * Tests that each printed number equals the result of a run. The numbers are the cost of each cause
 * of failures, and the throughput with each change.
 */
TEST(explain_reports_cost_of_failures_by_cause_and_gain_of_changes)
{
    static const char *const causes[] = {"lost", "detect", "repair", "restart", "checkpoint"};
    static const struct {
        const char *row, *set;
    } changes[] = {{"no failures", "--set failures.mtbf=0"},
                   {"checkpoints every 445", "--set failures.checkpoint.interval=0 --set "
                                             "failures.checkpoint.every=daly"},
                   {"failure policy quorum", "--set failures.policy=quorum"},
                   {"failures detected at once", "--set failures.detect=0s"}};
    write_file("e.yaml", failing);
    char *const output = explained("e.yaml");
    const double rate = ran("", "throughput_samples_per_s"), all_s = ran("", "virtual_s");
    expect_text(output, dsgd_xprintf("Failures take %.2g %% of", 100 * (1 - ran("", "goodput"))));
    for (size_t k = 0; k < 5; k++) {
        const double share = ran("", dsgd_xprintf("%s_s", causes[k])) / all_s;
        ck_assert_double_eq_tol(last_of(output, dsgd_xprintf("taken by failures: %s", causes[k])),
                                100 * share, 0.051);
    }
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
        const double gain = ran(changes[k].set, "throughput_samples_per_s") / rate;
        const double goodput = ran(changes[k].set, "goodput");
        expect(output, changes[k].row, gain);
        if (!isnan(goodput) && k > 0)
            expect_text(strstr(output, changes[k].row), dsgd_xprintf(" %.3g ", goodput));
    }
}

/**
 * Tests two failing links. One has a tenth of its bandwidth in random periods, and the other has
 * none for 2 s. Without link failures, all digits must equal a run of a file without failing links.
 */
TEST(gain_without_link_failures_equals_run_without_them)
{
    static const char *const links[] = {
        "failures: {mtbf: 10min, detect: 1s, restart: 1s,\n"
        "           links: [{which: 1, mtbf: 10s, for: 5s, factor: 0.1},"
        " {which: 2, at: 3s, for: 2s}]}\n",
        "failures: {mtbf: 10min, detect: 1s, restart: 1s}\n"};
    double seconds[2];
    char *output = NULL;
    for (int k = 0; k < 2; k++) {
        write_file("e.yaml", dsgd_xprintf("platform: {name: idle-switch, host_bandwidth: 1GB/s}\n"
                                          "workload: {bytes: 200M, step: 100ms, samples: 8}\n"
                                          "workers: 4\nalgorithms: [allreduce]\n"
                                          "until: {steps: 300}\n%s",
                                          links[k]));
        seconds[k] = ran("", "virtual_s");
        char *const told = explained("e.yaml");
        output = k == 0 ? told : output;
        ck_assert_int_eq(strstr(told, "no link failures") != NULL, k == 0);
    }
    ck_assert_double_ge(seconds[0], 1.05 * seconds[1]);
    expect(output, "no link failures", seconds[0] / seconds[1]);
}

/** Tests that a change of failures is not printed if it has no effect or is impossible. */
TEST(explain_skips_failure_changes_without_effect)
{
    static const struct {
        const char *set, *gone;
    } cases[] = {{"failures.mtbf=0", "failures"},
                 {"failures.policy=quorum", "policy quorum"},
                 {"failures.policy=quorum", "Daly"},
                 {"failures.detect=0", "detected at once"},
                 {"failures.notice=1s", "detected at once"},
                 {"failures.checkpoint={seconds: 30s}", "Daly"},
                 {"failures.checkpoint.blocking=false", "Daly"},
                 {"algorithms=[ad_psgd]", "policy quorum"},
                 {"algorithms=[d_psgd]", "policy quorum"},
                 {"failures={detect: 1s, events: [{worker: 1, at: 100s}], checkpoint: {interval: "
                  "1h, seconds: 1s}}",
                  "Daly"}};
    write_file("e.yaml", failing);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *const output =
            explained(dsgd_xprintf("e.yaml --set until.steps=2000 --set '%s'", cases[k].set));
        ck_assert_msg(strstr(output, cases[k].gone) == NULL, "%s: %s", cases[k].set, output);
    }
}

static const struct {
    const char *arguments, *sentence;
} refused[] = {
    {"e.yaml --run 2", "--run must be at most 1, got 2; `dsgd check e.yaml` lists the runs"},
    {"e.yaml --run 0", "--run must be a whole number between 1 and"},
    {"e.yaml --steps 3", "--steps works only with an algorithm, as in `dsgd explain wagma`"},
    {"e.yaml --workers 3", "--workers works only with an algorithm"},
    {"wagma --run 1", "--run works only with an experiment or a results folder"},
    {"wagma -j 2", "--jobs works only with an experiment or a results folder"},
    {"wagma --numerics cpu", "--numerics works only with an experiment or a results folder"},
    {"wgama", "unknown file, folder or algorithm `wgama` (did you mean `wagma`?)"},
    {"nowhere.yaml", "nowhere.yaml"},
    {".", ".: not a results folder (it has no manifest.json); run `dsgd run "},
    {"e.yaml --format gif", "--format must be text, svg, pdf or png, got gif"},
    {"e.yaml --size slide", "--size slide works only with figures; give --format"},
    {"e.yaml --format svg --size 1", "--size must be one-column"},
    {"e.yaml --format svg -o nowhere/m.svg", "nowhere/m.svg: cannot create a file there"},
    {"e.yaml -o nowhere/m.txt", "nowhere/m.txt: the file cannot be written: No such file"},
    {"e.yaml --set 'until={accuracy: 0.5}'", "(--numerics off)"},
    {"", "explain: give an experiment file, a results folder or an algorithm"},
};

TEST_ROWS(bad_input_is_rejected_with_reason, refused)
{
    char *output = NULL;
    write_ring("workers: 2\nplatform: idle-switch\n");
    const char *const command = dsgd_xprintf("explain %s", refused[_i].arguments);
    ck_assert_int_ne(dsgd(command, &output), 0);
    expect_text(output, refused[_i].sentence);
}

TEST(explain_reports_failed_run)
{
    write_ring("workers: 4\nplatform: idle-switch\nfailures: {policy: none, events: [{worker: 1, "
               "at: 150ms}]}\n");
    char *output = dsgd_ends(5, "explain e.yaml");
    expect_text(output, "run 1");
    expect_text(output, "worker 1 had failed");
    expect_text(output, "1 of 1 runs failed");
}

/**
 * Tests three ways to end `explain` early: an interrupt, an output file that cannot be written, and
 * a closed pipe. The loop variable _i selects the way.
 */
TEST_RANGE(explain_removes_temporary_folder, 0, 3)
{
    static const char interrupted[] =
        "%s explain e.yaml -j 2 --set until.steps=100000000 & runs=/proc/$!/task/$!/children && "
        "until grep -q ' .* ' $runs; do :; done && kill -INT $!; wait $!; echo $?";
    static const char *const how[] = {
        interrupted, "%s explain e.yaml -o nowhere/x; echo $?",
        "{ %s explain e.yaml; echo $? > status; } | true; cat status"};
    static const char *const status[] = {"5\n", "3\n", "141\n"};
    write_ring("workers: 4\nplatform: idle-switch\nseed: [1, 2]\n");
    const char *const script = dsgd_xprintf(
        "cd %s && exec 2> log && mkdir tmp && export TMPDIR=$PWD/tmp && set -m; ", folder);
    const char *const command = dsgd_xprintf(how[_i], DSGD_BINARY);
    char *output = shell_ends(0, "%s%s", script, command);
    ck_assert_msg(strcmp(output, status[_i]) == 0, "%s%s", output, read_file("log"));
    ck_assert_ptr_null(strstr(read_file("log"), "standard output"));
    /* the command leaves no temporary folder */
    ck_assert_int_eq(rmdir(dsgd_xprintf("%s/tmp", folder)), 0);
}
