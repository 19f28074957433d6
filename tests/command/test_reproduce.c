/**
 * @file test_reproduce.c
 * Tests `dsgd reproduce`, which compares published numbers with a simulation. Each published point
 * has an error, and the errors must stay small.
 */
#include "base/csv.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/**
 * Writes a figure of two algorithms whose step times are known, because messages take hardly any
 * time. Worker 0 takes 2 s per step, and all other workers take 1 s. With two workers, allreduce
 * has a throughput of 10 samples/s. AD-PSGD, which never waits, has a throughput of 15 samples/s.
 */
static void write_figure(const char *rows)
{
    shell_ends(0, "mkdir -p %s/plots/tiny", folder);
    write_file("plots/tiny/tiny.yaml", "platform: {topology: switch}\n"
                                       "workload: {bytes: 1, step: 1s, samples: 10}\n"
                                       "imbalance: [{kind: slow, worker: 0, factor: 2}]\n"
                                       "workers: [2, 4]\n"
                                       "algorithms: [allreduce, ad_psgd]\n"
                                       "until: {steps: 300}\n"
                                       "seed: [1, 2]\n");
    write_file("plots/tiny/tiny.gp", "# Nothing is drawn.\n# needs: nothing.csv\n");
    write_file("plots/tiny/published.csv",
               dsgd_xprintf("algorithm,workers,quantity,published,uncertainty,beyond,relation,over,"
                            "use,class,source\n%s",
                            rows));
}

static int reproduce(const char *arguments, char **output)
{
    return shell(dsgd_xprintf("cd %s && DSGD_DATA=%s %s reproduce %s 2>&1", folder, folder,
                              DSGD_BINARY, arguments),
                 output);
}

SUITE(reproduce, "reproduce", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(a_figure_is_scored_point_by_point_and_pair_by_pair)
{
    write_figure(
        "allreduce,2,throughput_samples_per_s,10,0.1,,~,,calibration,MPI,by hand\n"
        "ad_psgd,2,throughput_samples_per_s,7.5,0.1,,~,,prediction,MPI,by hand\n"
        "ad_psgd,4,throughput_samples_per_s,35,0.1,,~,,prediction,MPI,by hand\n"
        "allreduce,4,throughput_samples_per_s,20.3,0.1,,~,,prediction,MPI,by hand\n"
        "ad_psgd,2,throughput_samples_per_s,1.4,,,>,algorithm=allreduce,shape,MPI,by hand\n"
        "ad_psgd,2,throughput_samples_per_s,1.4,,,<,algorithm=allreduce,shape,MPI,by hand\n");
    char *output = NULL;
    ck_assert_msg(reproduce("tiny -o r", &output) == 0, "%s", output);
    static const char *const expected[] = {
        "+100.0   10.0  prediction",
        "-1.5    0.1  prediction",
        ("order: allreduce, workers 2 is published above ad_psgd, workers 2, but simulated in the "
         "opposite order"),
        "4 points: median error 0.8 %, 3 (75 %) within 15 %, worst 100.0 %",
        "1 of 2 pairs of algorithms are in the published order",
        "1 of 2 published bounds hold",
        "DOES NOT HOLD",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        ck_assert_has(output, expected[i]);
    ck_assert_ptr_null(strstr(output, "workers 4: "));
    ck_assert_has(read_file("r/tiny/tiny.csv"), ",simulated,error\n");
    ck_assert_msg(reproduce("tiny -o r", &output) == 0, "%s", output);
    ck_assert_has(output, "nothing to do");
    ck_assert_msg(reproduce("tiny -o r --force", &output) == 0, "%s", output);
    ck_assert_ptr_null(strstr(output, "nothing to do"));
}

/**
 * Tests the column `beyond`, which contains a part of a published time that is not compared. Steps
 * take 2 s. The published time of 2.5 s contains 1.5 s that are not compared, so 1.0 s is compared
 * with 0.5 s. For the published time of 1.9 s, the remaining 0.3 s is too small to be scored.
 */
TEST(a_point_is_scored_without_its_known_part_in_units_of_its_uncertainty)
{
    write_figure("allreduce,2,step_mean_s,2.5,0.1,1.5,~,,prediction,MPI,by hand\n"
                 "allreduce,4,step_mean_s,1.9,0.1,1.6,~,,prediction,Other,by hand\n"
                 "ad_psgd,4,throughput_samples_per_s,34.99,0.1,,~,,prediction,Other,by hand\n"
                 "ad_psgd,4,throughput_samples_per_s,1,,,>,,shape,,by hand\n");
    char *output = NULL;
    ck_assert_msg(reproduce("tiny -o r --markdown", &output) == 0, "%s", output);
    static const char *const expected[] = {
        "| point | quantity |  | published | beyond | simulated | error (%) | units | use |\n| --- "
        "|",
        "| allreduce, workers 2 | step_mean_s |  | 2.5 | 1.5 | 2 | -50.0 | 2.0 | prediction |\n",
        "| allreduce, workers 4 | step_mean_s |  | 1.9 | 1.6 | 2 | - | 0.5 | prediction |\n",
        "\n## all figures\n- MPI: 1 point: median error 50.0 %, 0 (0 %) within 15 %, worst 50.0 %; "
        "1 errors in units of the "
        "uncertainty: median 2.0\n"
        "- Other: 1 point: median error 0.0 %, 1 (100 %) within 15 %, worst 0.0 %; 2 errors in "
        "units "
        "of the uncertainty: median 0.3\n1 of 1 published bounds hold\n",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        ck_assert_has(output, expected[i]);
}

/**
 * Writes a figure whose steps take 1 s with two workers, which gives 20 samples/s. @p published is
 * the throughput that the figure claims.
 */
static void write_workload(const char *figure, const char *workload, double published)
{
    shell_ends(0, "mkdir -p %s/plots/%s %s/traces/workloads", folder, figure, folder);
    write_file(dsgd_xprintf("traces/workloads/%s.yaml", workload),
               "summary: x\norigin: x\nbytes: 1\nstep: 1s\nsamples: 10\n");
    write_file(dsgd_xprintf("plots/%s/%s.yaml", figure, figure),
               dsgd_xprintf("platform: {topology: switch}\nworkload: %s\nworkers: [2, 4]\n"
                            "algorithms: [allreduce]\nuntil: {steps: 10}\n",
                            workload));
    write_file(
        dsgd_xprintf("plots/%s/published.csv", figure),
        dsgd_xprintf("workers,quantity,published,uncertainty,relation,over,use,class,source\n"
                     "2,throughput_samples_per_s,%g,0.01,~,,known,MPI,by hand\n",
                     published));
}

/** Runs plots/left_out.py, which writes its tables to the test's folder. */
static int leave_out(char **output)
{
    return shell(dsgd_xprintf("cd %s && DSGD_DATA=%s python3 " DSGD_SOURCE_DIR
                              "/plots/left_out.py -d %s -o r -p plots 2>&1",
                              folder, folder, DSGD_BINARY),
                 output);
}

static const struct {
    const char *most, *fit, *point, *sum;
} ranges[] = {
    {"2", "| a | step | 1 | 1.25 | ", "| a | workers 2 | +25.0 | +0.1 |\n",
     "| MPI | 3 | 2 | 0.1 | 2 (100 %) | 0.1 |\n"},
    {"1.1", "| a | step | 1 | 1.1 | ", "| a | workers 2 | +25.0 | +13.6 |\n",
     "| MPI | 3 | 2 | 13.6 | 2 (100 %) | 13.6 |\n"},
};

/**
 * Tests a fit of `step` that leaves out the figure to be predicted. The figures a and b share a
 * workload, so each of them predicts 1.25 s for the other. No other figure has the workload of
 * figure c.
 */
TEST_ROWS(left_out_fit_finds_a_constant_without_the_scored_figure, ranges)
{
    write_workload("a", "shared", 16);
    write_workload("b", "shared", 16);
    write_workload("c", "lonely", 16);
    write_file("plots/constants.csv",
               dsgd_xprintf("of,key,low,high,source\nshared,workload.step,0.5,%s,x\n"
                            "lonely,workload.step,0.5,2,x\nnobody,workload.step,0.5,2,x\n",
                            ranges[_i].most));
    char *output = NULL;
    ck_assert_msg(leave_out(&output) == 0, "%s", output);
    ck_assert_has(output, "| c | step | 1 | no other figure tells | ");
    ck_assert_has(output, ranges[_i].fit);
    ck_assert_has(output, ranges[_i].point);
    ck_assert_has(output, ranges[_i].sum);
    write_file("plots/constants.csv", "of,key,low,high,source\nshared,workload.stop,0.5,2,x\n");
    ck_assert_int_eq(leave_out(&output), 1);
    ck_assert_has(output, "workload.stop is None in figure a, but must be");
}

static const struct {
    const char *rows, *arguments;
    int status;
    const char *sentence;
} bad_figures[] = {
    {"allreduce,2,throughput,1,0.1,,~,,x,MPI,x\n", "tiny", 3,
     "published.csv:2: quantity `throughput` is not a column of"},
    {"wagma,2,step_mean_s,1,0.1,,~,,x,MPI,x\n", "tiny", 3, "published.csv:2: no run of"},
    {"allreduce,2,step_mean_s,abc,0.1,,~,,x,MPI,x\n", "tiny", 3,
     "published must be a number above 0, got \"abc\""},
    {"allreduce,2,step_mean_s,1,,,~,,x,MPI,x\n", "tiny", 3, "with relation ~, got \"\""},
    {"allreduce,2,step_mean_s,1,0.1,,=,,x,MPI,x\n", "tiny", 3,
     "published.csv:2: relation must be ~, < or >, got \"=\""},
    {"allreduce,2,step_mean_s,1,0.1,,~,,x,MPI,x\n", "tinny", 2, "did you mean `tiny`?"},
};

TEST_ROWS(reproduce_rejects_a_figure_that_it_cannot_score, bad_figures)
{
    write_figure(bad_figures[_i].rows);
    char *output = NULL;
    ck_assert_int_eq(reproduce(bad_figures[_i].arguments, &output), bad_figures[_i].status);
    ck_assert_has(output, bad_figures[_i].sentence);
}

/* --- compute utilisation ---------------------------------------------------------------------- */

/**
 * Returns the largest swept bandwidth, in Gb/s, at which the compute utilisation is below @p share.
 */
static double last_below(const dsgd_csv *runs, const char *workload, const char *algorithm,
                         double share)
{
    const size_t bandwidth = dsgd_csv_column(runs, "platform.host_bandwidth_bytes_per_s");
    const size_t utilisation = dsgd_csv_column(runs, "compute_share");
    double last = NAN;
    for (size_t row = 0; row < runs->n_rows; row++)
        if (strcmp(dsgd_csv_field(runs, row, dsgd_csv_column(runs, "workload")), workload) == 0 &&
            strcmp(dsgd_csv_field(runs, row, dsgd_csv_column(runs, "algorithm")), algorithm) == 0 &&
            dsgd_csv_value(runs, row, utilisation) < share)
            last = fmax(last, dsgd_csv_value(runs, row, bandwidth) * 8e-9);
    return last;
}

/**
 * Compares all 30 published numbers. plots/compute-utilisation/README.md describes how they are
 * defined.
 */
TEST(compute_utilisation_matches_the_published_one)
{
    dsgd_ends(0, "run " DSGD_SOURCE_DIR "/plots/compute-utilisation/compute-utilisation.yaml "
                 "-o r --progress off -j 2 --set 'algorithms=[allreduce, {name: diloco, "
                 "period: 100}]'");
    dsgd_csv runs, table;
    ck_assert_int_eq(dsgd_csv_read(&runs, NULL, "%s/r/runs.csv", folder), DSGD_OK);
    ck_assert_int_eq(
        dsgd_csv_read(&table, NULL, "%s/plots/compute-utilisation/table-4.csv", DSGD_SOURCE_DIR),
        DSGD_OK);
    ck_assert_uint_eq(table.n_rows, 6);
    ck_assert_uint_eq(table.n_columns, 7);
    for (size_t row = 0; row < table.n_rows; row++)
        for (size_t c = 2; c < table.n_columns; c++) {
            const double share = strtod(table.fields[c] + strlen("share_"), NULL);
            const double published = dsgd_csv_value(&table, row, c);
            const double simulated = last_below(&runs, dsgd_csv_field(&table, row, 0),
                                                dsgd_csv_field(&table, row, 1), share);
            /* The digits of the published numbers allow a precision of 5 %. */
            ck_assert_double_eq_tol(simulated, published, 0.05 * published);
        }
}

SUITE(figures_long, "published", .seconds = 900, .set_up = make_folder, .tear_down = remove_folder);

/**
 * Tests the published figures that take little time to simulate. All figures use the same
 * parameters, and errors must not grow.
 */
TEST(simulation_matches_published_figures)
{
    char *output = dsgd_ends(0, "reproduce eager-microbenchmark eager-hyperplane eager-cifar10 "
                                "eager-ucf101 ad-psgd-slow-worker dasgd-scaling drop-compute -o r");
    const char *const sum = strstr(output, "\nMPI: 31 points: median error ");
    ck_assert_msg(sum != NULL, "%s", output);
    ck_assert_has(sum, "; 21 of them predictions: median error ");
    ck_assert_has(output, "\n19 of 19 published bounds hold");
    double median = NAN;
    double worst = NAN;
    ck_assert_int_eq(
        sscanf(sum, "\nMPI: 31 points: median error %lf %%, %*d (%*d %%) within 15 %%, worst %lf",
               &median, &worst),
        2);
    ck_assert_double_le(median, 6);
    /*
     * The point with the largest error is an allreduce of 4 KiB after a wait. This size is below
     * the eager limit.
     */
    ck_assert_double_le(worst, 95);
    ck_assert_ptr_null(strstr(output, "not as simulated"));
    ck_assert_ptr_null(strstr(output, "DOES NOT HOLD"));
}
