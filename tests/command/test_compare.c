/**
 * @file test_compare.c
 * Tests that `dsgd compare` prints the means, intervals and differences that are computed by hand.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

#define RUNS_HEAD                                                                                  \
    "run,algorithm,workers,seed,platform,workload,status,throughput_samples_per_s,step_mean_s,"    \
    "staleness_mean,staleness_max,final_loss,final_accuracy"
#define RUNS_HEADER RUNS_HEAD ",wall_s\n"

/**
 * The last columns of a row of runs.csv. Only the throughput and the accuracy differ between rows.
 */
#define NUMBERS(throughput, accuracy) throughput ",0.5,0,0,1.5," accuracy ",9.9"
#define ROW(algorithm, seed, status, throughput, accuracy)                                         \
    "1," algorithm ",4," seed ",daint,resnet," status "," NUMBERS(throughput, accuracy) "\n"
#define OK(algorithm, seed, throughput, accuracy) ROW(algorithm, seed, "ok", throughput, accuracy)

static void write_runs(const char *content)
{
    char *const path = dsgd_xprintf("%s/r", folder);
    mkdir(path, 0777);
    write_file("r/runs.csv", content);
}

/** Writes @p content to runs.csv, runs `dsgd compare` with the options, and returns the output. */
static char *compare(const char *content, const char *options)
{
    write_runs(content);
    char *output = dsgd_ends(0, "compare r %s", options);
    return output;
}

static char *cell(const char *row, const char *column)
{
    return cell_of("r/compare.csv", row, column);
}

static void expect(const char *row, const char *column, double number)
{
    const char *const text = cell(row, column);
    ck_assert_msg(*text != '\0' && fabs(strtod(text, NULL) - number) <= 1e-6 * fabs(number),
                  "%s of %s is `%s`, not %.9g", column, row, text, number);
}

static void expect_nothing(const char *row, const char *column)
{
    ck_assert_msg(*cell(row, column) == '\0', "%s of %s is %s", column, row, cell(row, column));
}

/*
 * Quantiles of Student's t distribution for two-sided intervals of 95 %, for 1, 2 and 9 degrees of
 * freedom. The quantiles are from printed tables. The first two quantiles also have closed forms.
 */
static const double t1 = 12.7062047, t2 = 4.30265273, t9 = 2.26215716;

/* Three runs with the throughputs 1, 2 and 6, whose mean is 3 and standard deviation is sqrt(7). */
static const char three[] = RUNS_HEADER OK("allreduce", "1", "1", "0.5")
    OK("allreduce", "2", "2", "0.5") OK("allreduce", "3", "6", "0.5");

SUITE(compare, "compare", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(compare_computes_means_and_intervals)
{
    compare(three, "");
    expect("allreduce,4,", "throughput_samples_per_s_n", 3);
    expect("allreduce,4,", "throughput_samples_per_s_mean", 3);
    expect("allreduce,4,", "throughput_samples_per_s_ci", t2 * sqrt(7. / 3));
    expect("allreduce,4,", "final_accuracy_ci", 0);
    expect("allreduce,4,", "step_mean_s_mean", 0.5);
    expect("allreduce,4,", "final_loss_mean", 1.5);
    expect("allreduce,4,", "n_diverged", 0);
    /* runs.csv has no column of local losses, so compare.csv must not have such a column. */
    ck_assert_ptr_null(strstr(read_file("r/compare.csv"), "local_"));
    char *content = dsgd_xstrdup(RUNS_HEADER);
    for (int i = 1; i <= 10; i++)
        dsgd_append(&content, "1,dasgd,4,%d,daint,resnet,ok,%d" NUMBERS("", "0.5") "\n", i, i);
    compare(content, "");
    expect("dasgd,4,", "throughput_samples_per_s_n", 10);
    expect("dasgd,4,", "throughput_samples_per_s_mean", 5.5);
    expect("dasgd,4,", "throughput_samples_per_s_ci", t9 * sqrt(82.5 / 9 / 10));
    expect_nothing("dasgd,4,", "throughput_samples_per_s_diff");
}

TEST(differences_are_paired_over_common_seeds)
{
    /*
     * Throughputs differ far more between seeds than between algorithms. For the seeds 2, 3 and 5,
     * wagma exceeds allreduce by 1, 2 and 6.
     */
    const char *const output =
        compare(RUNS_HEADER OK("wagma", "5", "9006", "0.706") OK("wagma", "2", "101", "0.501")
                    OK("wagma", "7", "3", "0.1") OK("allreduce", "1", "7", "0.2")
                        OK("wagma", "3", "5002", "0.602") OK("allreduce", "3", "5000", "0.6")
                            OK("allreduce", "2", "100", "0.5") OK("allreduce", "5", "9000", "0.7"),
                "");
    expect("wagma,4,", "throughput_samples_per_s_n", 4);
    expect("wagma,4,", "throughput_samples_per_s_mean", 3528);
    expect("wagma,4,", "throughput_samples_per_s_diff", 3);
    expect("wagma,4,", "throughput_samples_per_s_diff_ci", t2 * sqrt(7. / 3));
    expect("wagma,4,", "final_accuracy_diff", 0.003);
    expect_nothing("allreduce,4,", "throughput_samples_per_s_diff");
    expect_nothing("allreduce,4,", "throughput_samples_per_s_diff_ci");
    ck_assert_has(output, "+0.30 ± 0.66 (3 pairs)");
    const char *const csv = read_file("r/compare.csv");
    ck_assert_has(csv, "\nwagma");
    /* The rows must have the same order as the runs. */
    ck_assert(strstr(csv, "\nwagma") < strstr(csv, "\nallreduce"));
}

TEST(star_marks_intervals_without_0)
{
    const char *const output = compare(
        RUNS_HEADER OK("allreduce", "1", "1", "0.5") OK("allreduce", "2", "1", "0.6")
            OK("far", "1", "1", "0.40") OK("far", "2", "1", "0.501") OK("near", "1", "1", "0.51")
                OK("near", "2", "1", "0.601") OK("equal", "1", "1", "0.5000000000000001")
                    OK("equal", "2", "1", "0.6000000000000001"),
        "");
    expect("far,4,", "final_accuracy_diff", -0.0995);
    expect("far,4,", "final_accuracy_diff_ci", t1 * 0.0005);
    ck_assert_has(output, "-9.95 ± 0.64 *");
    ck_assert_has(output, "+0.55 ± 5.72 ");
    ck_assert_ptr_null(strstr(output, "+0.55 ± 5.72 *"));
    ck_assert_has(output, "+0.00 ± 0.00 ");
    ck_assert_ptr_null(strstr(output, "+0.00 ± 0.00 *"));
}

TEST(one_seed_has_no_interval)
{
    const char *const output =
        compare(RUNS_HEADER OK("allreduce", "1", "10", "0.5") OK("wagma", "1", "12", "0.75"), "");
    expect("wagma,4,", "throughput_samples_per_s_diff", 2);
    expect_nothing("wagma,4,", "throughput_samples_per_s_ci");
    expect_nothing("wagma,4,", "throughput_samples_per_s_diff_ci");
    ck_assert_has(output, "wagma          1         75.00  +25.00                          12\n");
    ck_assert_ptr_null(strcasestr(read_file("r/compare.csv"), "nan"));
}

/*
 * Tests which runs count in means. A diverged run counts in means of times, but not in means of
 * training results. Failed runs count in no mean. The only run of dasgd diverged before it had
 * results.
 */
TEST(failed_runs_enter_no_mean_and_diverged_runs_only_those_of_time)
{
    const char *const output =
        compare(RUNS_HEADER OK("allreduce", "1", "10", "0.5") OK("allreduce", "2", "20", "")
                    ROW("allreduce", "3", "diverged", "30", "0.9") OK("wagma", "1", "11", "0.6")
                        OK("wagma", "2", "23", "0.6") OK("wagma", "3", "90", "0.6")
                            ROW("wagma", "4", "failed", "", "") ROW("wagma", "5", "timeout", "", "")
                                ROW("dasgd", "1", "diverged", "", ""),
                "");
    expect("allreduce,4,", "throughput_samples_per_s_n", 3);
    expect("allreduce,4,", "throughput_samples_per_s_mean", 20);
    expect("allreduce,4,", "final_accuracy_n", 1); /* the run with an empty field does not count */
    expect("allreduce,4,", "n_diverged", 1);
    expect("wagma,4,", "throughput_samples_per_s_n", 3);
    expect("wagma,4,", "throughput_samples_per_s_diff", (1 + 3 + 60) / 3.);
    expect("wagma,4,", "final_accuracy_n", 3);
    expect("wagma,4,", "n_diverged", 0);
    expect("dasgd,4,", "throughput_samples_per_s_n", 0);
    expect("dasgd,4,", "n_diverged", 1);
    expect_nothing("dasgd,4,", "throughput_samples_per_s_mean");
    ck_assert_has(output, "2 runs without results (status failed or timeout)");
}

/** Checks that a file contains @p text between the first @p from and the next @p to. */
static void expect_between(const char *path, const char *from, const char *to, const char *text)
{
    const char *const begin = strstr(read_file(path), from);
    ck_assert_msg(begin != NULL, "%s: no `%s`", path, from);
    const char *const found = strstr(begin, text), *const end = strstr(begin, to);
    ck_assert_msg(found != NULL && end != NULL && found < end, "%s: no `%s` in `%.200s`", path,
                  text, begin);
}

/*
 * One of three seeds of wagma diverged, so three times and two accuracies count. The ratios of the
 * throughputs are 2, 2 and 3.
 */
TEST(diverged_run_counts_equally_in_table_report_and_figure)
{
    static const char runs[] =
        RUNS_HEADER OK("allreduce", "1", "10", "0.5") OK("allreduce", "2", "20", "0.5")
            OK("allreduce", "3", "30", "0.5") OK("wagma", "1", "20", "0.5")
                OK("wagma", "2", "40", "0.6") ROW("wagma", "3", "diverged", "90", "0.9");
    char *output = compare(runs, "--ratio");
    const double ci = t2 * sqrt(1300) / sqrt(3), ratio = cbrt(12);
    expect("wagma,4,", "throughput_samples_per_s_n", 3);
    expect("wagma,4,", "throughput_samples_per_s_mean", 50);
    expect("wagma,4,", "throughput_samples_per_s_ci", ci);
    expect("wagma,4,", "throughput_samples_per_s_ratio", ratio);
    expect("wagma,4,", "final_accuracy_n", 2);
    expect("wagma,4,", "final_accuracy_mean", 0.55);
    write_file("r/manifest.json", "{\"runs\": []}\n");
    ck_assert_msg(dsgd("report r", &output) == 0, "%s", output);
    const char *const row = "<th scope=\"row\">wagma</th>";
    const char *const cells[] = {
        "<td class=\"n\">3</td>", dsgd_xprintf("<td class=\"n\">50 ± %.4g</td>", ci),
        dsgd_xprintf("<td class=\"n\">%.3g (", ratio), "<td class=\"n\">0.55 ± "};
    for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
        expect_between("r/report.html", row, "</tr>", cells[k]);
    ck_assert_msg(dsgd("plot r throughput --format svg", &output) == 0, "%s", output);
    expect_between("r/figures/data.gp", "$groups <<", "EOD\narray",
                   dsgd_xprintf("\n\n\n1,NaN,50,%.5f", floor(1e5 * ci) / 1e5));
    expect_between("r/figures/data.gp", "$groups <<", "EOD\narray",
                   dsgd_xprintf(",%.5f", floor(1e5 * ratio) / 1e5));
    expect_between("r/figures/data.gp", "$groups <<", "EOD\narray", ",0.55,");
}

#define SWEPT(algorithm, seed, throughput, group, collective)                                      \
    "1," algorithm ",4," seed ",daint,\"res\"\"net, 50\",ok," throughput                           \
    ",0.5,0,0,0,1.5,0.5,1.6,0.25,9.9," group "," seed "," collective ",\"{a: 1, b: 2}\"\n"
#define SWEPT_COMMON ",4,daint,\"res\"\"net, 50\","

/*
 * A table with columns of later versions of dsgd, two swept keys of all algorithms, one swept key
 * of a single algorithm, and swept seeds.
 */
static const char swept[] =
    "run,algorithm,workers,seed,platform,workload,status,throughput_samples_per_s,step_mean_s,"
    "staleness_mean,staleness_max,staleness_p99,final_loss,final_accuracy,local_loss,"
    "local_accuracy,wall_s,algorithms.1.group,seed,collective,\"imbalance, \"\"all\"\"\"\n" SWEPT(
        "allreduce", "1", "10", "", "ring") SWEPT("allreduce", "2", "12", "", "ring")
        SWEPT("allreduce", "1", "20", "", "\"\"") SWEPT("wagma", "1", "11", "2", "ring")
            SWEPT("wagma", "2", "13", "2", "ring") SWEPT("wagma", "1", "24", "4", "\"\"")
                SWEPT("wagma", "1", "14", "4", "ring");

TEST(swept_values_make_rows_and_columns_are_found_by_name)
{
    compare(swept, "");
    expect("allreduce" SWEPT_COMMON ",ring,", "throughput_samples_per_s_n", 2);
    expect("allreduce" SWEPT_COMMON ",ring,", "local_accuracy_mean", 0.25);
    expect("allreduce" SWEPT_COMMON ",ring,", "local_loss_mean", 1.6);
    expect("wagma" SWEPT_COMMON "2,ring,", "throughput_samples_per_s_diff", 1);
    expect("wagma" SWEPT_COMMON "4,ring,", "throughput_samples_per_s_diff", 4);
    expect("wagma" SWEPT_COMMON "4,,", "throughput_samples_per_s_diff", 4);
    const char *const csv = read_file("r/compare.csv");
    ck_assert_int_eq(
        strncmp(csv,
                "algorithm,workers,platform,workload,algorithms.1.group,collective,"
                "\"imbalance, \"\"all\"\"\",label,n_diverged,throughput_samples_per_s_n,"
                "throughput_samples_per_s_mean,throughput_samples_per_s_ci,"
                "throughput_samples_per_s_diff,throughput_samples_per_s_diff_ci,step_",
                242),
        0);
    ck_assert_has(csv, "2,ring,\"{a: 1, b: 2}\",wagma; group 2; collective ring,0,2,12,");
}

/** Tests that the name of a place contains only the columns in which places differ. */
TEST(place_name_contains_only_columns_that_differ)
{
    char *const output = compare(
        RUNS_HEADER "1,allreduce,4,1,daint,resnet,ok," NUMBERS(
            "1", "0.5") "\n"
                        "2,wagma,4,1,daint,resnet,ok," NUMBERS(
                            "2", "0.5") "\n"
                                        "3,allreduce,4,1,daint,lstm,ok," NUMBERS(
                                            "1", "0.5") "\n"
                                                        "4,wagma,4,1,daint,lstm,ok," NUMBERS(
                                                            "2", "0.5") "\n",
        "");
    ck_assert_has(output, "\n4 workers, resnet:\n");
    ck_assert_has(output, "\n4 workers, lstm:\n");
}

TEST(the_baseline_can_be_chosen)
{
    static const char runs[] = RUNS_HEADER OK("wagma", "1", "10", "0.5")
        OK("dasgd", "1", "11", "0.5") OK("ad_psgd", "1", "13", "0.5");
    compare(runs, "");
    /* If no run is of allreduce, the first algorithm is the baseline. */
    expect("ad_psgd,4,", "throughput_samples_per_s_diff", 3);
    compare(runs, "--baseline dasgd");
    expect("ad_psgd,4,", "throughput_samples_per_s_diff", 2);
    expect("wagma,4,", "throughput_samples_per_s_diff", -1);
    compare(RUNS_HEADER OK("allreduce", "1", "10", "0.5") OK("wagma", "1", "12", "0.5"),
            "--baseline wagma");
    expect("allreduce,4,", "throughput_samples_per_s_diff", -2);
    compare(swept, "--by algorithms.1.group --baseline 2");
    expect("wagma" SWEPT_COMMON "4,ring,", "throughput_samples_per_s_diff", 3);
    expect_nothing("allreduce" SWEPT_COMMON ",ring,", "throughput_samples_per_s_diff");
    compare(swept, "--by collective");
    expect("allreduce" SWEPT_COMMON ",,", "throughput_samples_per_s_diff", 10);
    expect("wagma" SWEPT_COMMON "4,,", "throughput_samples_per_s_diff", 10);
}

/**
 * Tests that the last part of a key names a swept column, and that any spelling of a number names a
 * swept value.
 */
TEST(a_baseline_takes_units)
{
    static const char header[] =
        "run,algorithm,workers,seed,platform,workload,status,throughput_samples_per_s,step_mean_s,"
        "staleness_mean,final_loss,final_accuracy,wall_s,platform.host_bandwidth_bytes_per_s\n";
    static const char *const options[] = {
        "--by host_bandwidth --baseline 8GB/s", "--by host_bandwidth --baseline 8e9",
        "--by platform.host_bandwidth_bytes_per_s --baseline 8000000000"};
    char *const runs = dsgd_xprintf("%s1,wagma,4,1,p,w,ok,10,1,0,,,1,1000000000\n"
                                    "2,wagma,4,1,p,w,ok,13,1,0,,,1,8000000000\n",
                                    header);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        compare(runs, options[i]);
        expect("wagma,4,p,w,1000000000,", "throughput_samples_per_s_diff", -3);
    }
    write_runs(runs);
    ck_assert_has(dsgd_ends(2, "compare r --by host_bandwidth --baseline 9GB/s"),
                  "unknown --baseline `9GB/s`");
}

#define CURVES_HEADER "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,consensus\n"
#define POINT(run, time, loss, accuracy) run ",x,4,1," time ",1," loss "," accuracy ",0\n"
#define RUN(run, algorithm, seed, status)                                                          \
    run "," algorithm ",4," seed ",daint,resnet," status "," NUMBERS("1", "0.5") "\n"

static const char targeted[] = RUNS_HEADER RUN("1", "allreduce", "1", "ok")
    RUN("2", "allreduce", "2", "ok") RUN("3", "wagma", "1", "ok") RUN("4", "wagma", "2", "ok")
        RUN("5", "dasgd", "1", "diverged");

/*
 * Learning curves of five runs. In this order, a curve reaches the target from below, starts above
 * the target, reaches it and falls below it again, nearly reaches it, and diverges.
 */
static const char targeted_curves[] = CURVES_HEADER POINT("1", "0", "2", "0.1")
    POINT("1", "10", "1", "0.5") POINT("1", "20", "0.5", "0.9") POINT("2", "0", "1.5", "0.8")
        POINT("3", "0", "3", "0.1") POINT("3", "10", "1.5", "0.8") POINT("3", "20", "4", "0.2")
            POINT("3", "30", "1", "0.9") POINT("4", "10", "", "0.79") POINT("5", "1", "1", "0.9");

TEST(time_to_target_is_the_first_crossing)
{
    write_runs(targeted);
    write_file("r/curves.csv", targeted_curves);
    const char *output = compare(targeted, "--target accuracy=0.8");
    expect("allreduce,4,", "time_to_target_s_n", 2);
    expect("allreduce,4,", "time_to_target_s_mean", (10 + 10 * 0.3 / 0.4 + 0) / 2);
    expect("wagma,4,", "time_to_target_s_n", 1);
    /* an algorithm with one seed that reaches the target has no mean */
    expect_nothing("wagma,4,", "time_to_target_s_mean");
    expect_nothing("wagma,4,", "time_to_target_s_diff");
    expect_nothing("wagma,4,", "time_to_target_s_median");
    expect("wagma,4,", "time_to_target_s_seeds", 2);
    expect("dasgd,4,", "time_to_target_s_n", 0);
    ck_assert_has(output, "time to accuracy=0.8");
    ck_assert_has(output, "  1 of 2 seeds\n");
    output = compare(targeted, "--target accuracy=0.95");
    expect_nothing("wagma,4,", "time_to_target_s_mean");
    ck_assert_has(output, "  never\n");
    compare(targeted, "--target loss=1.75");
    expect("allreduce,4,", "time_to_target_s_mean", (2.5 + 0) / 2);
    expect("wagma,4,", "time_to_target_s_n", 1);
    write_file("r/curves.csv", CURVES_HEADER POINT("1", "0", "1", "") POINT("1", "10", "-2", "")
                                   POINT("2", "0", "1", "") POINT("2", "20", "-3", ""));
    compare(targeted, "--target loss=-1"); /* the loss of a policy may be negative */
    expect("allreduce,4,", "time_to_target_s_mean", (10 * 2 / 3. + 20 * 2 / 4.) / 2);
    compare(targeted, "");
    ck_assert_ptr_null(strstr(read_file("r/compare.csv"), "time_to_target"));
}

static const struct {
    const char *curves, *arguments;
    int status;
    const char *sentence;
} bad_targets[] = {
    {targeted_curves, "r --target 0.8", 2,
     "--target must be accuracy=NUMBER or loss=NUMBER, got `0.8`"},
    {targeted_curves, "r --target accuracy=high", 2, "got `accuracy=high`"},
    {targeted_curves, "r --target lossy=1", 2, "got `lossy=1`"},
    {CURVES_HEADER POINT("1", "0", "2", "") POINT("2", "0", "2", ""), "r --target accuracy=0.5", 2,
     "r/curves.csv: accuracy is empty, for example for a regression; use --target loss=NUMBER"},
    {CURVES_HEADER, "r --target loss=1", 2, "r/curves.csv: no run was evaluated"},
    {NULL, "r --target loss=1", 3, "r/curves.csv: the file cannot be read"},
    {"run,virtual_s,loss\n", "r --target accuracy=1", 3, "r/curves.csv:1: there is no column `acc"},
    {"run,accuracy\n", "r --target accuracy=1", 3, "r/curves.csv:1: there is no column `virtual_s"},
    {CURVES_HEADER POINT("1", "0", "much", "1"), "r --target loss=1", 2,
     "r/curves.csv:2: loss is `much`, not a number"},
};

TEST_ROWS(wrong_target_is_rejected_and_keeps_compare_csv, bad_targets)
{
    write_runs(targeted);
    write_file("r/compare.csv", "as it was\n");
    if (bad_targets[_i].curves != NULL)
        write_file("r/curves.csv", bad_targets[_i].curves);
    ck_assert_has(dsgd_ends(bad_targets[_i].status, "compare %s", bad_targets[_i].arguments),
                  bad_targets[_i].sentence);
    ck_assert_str_eq(read_file("r/compare.csv"), "as it was\n");
}

/*
 * Some seeds do not reach the target. The times to the target are 8, 6 and 3 for the baseline, and
 * 4, 9 and never for wagma. For dasgd, they are 9, 4, never and 5.
 */
TEST(seeds_that_never_reach_a_target_suppress_the_mean)
{
    write_runs("");
    write_file("r/curves.csv",
               CURVES_HEADER POINT("1", "8", "1", "1") POINT("2", "6", "1", "1")
                   POINT("3", "3", "1", "1") POINT("4", "4", "1", "1") POINT("5", "9", "1", "1")
                       POINT("6", "99", "1", "0") POINT("7", "4", "1", "1")
                           POINT("8", "3", "1", "1") POINT("9", "1.5", "1", "1")
                               POINT("10", "9", "1", "1") POINT("11", "4", "1", "1")
                                   POINT("12", "99", "1", "0") POINT("13", "5", "1", "1"));
    static const char runs[] = RUNS_HEADER RUN("1", "allreduce", "1", "ok")
        RUN("2", "allreduce", "2", "ok") RUN("3", "allreduce", "3", "ok")
            RUN("4", "wagma", "1", "ok") RUN("5", "wagma", "2", "ok") RUN("6", "wagma", "3", "ok")
                RUN("7", "sgp", "1", "ok") RUN("8", "sgp", "2", "ok") RUN("9", "sgp", "3", "ok")
                    RUN("10", "dasgd", "1", "ok") RUN("11", "dasgd", "2", "ok")
                        RUN("12", "dasgd", "3", "ok") RUN("13", "dasgd", "4", "ok");
    const char *const output = compare(runs, "--target accuracy=1 --ratio");
    expect("wagma,4,", "time_to_target_s_n", 2);
    expect("wagma,4,", "time_to_target_s_median", 9);
    expect("dasgd,4,", "time_to_target_s_median", 7);
    expect_nothing("wagma,4,", "time_to_target_s_mean");
    expect_nothing("wagma,4,", "time_to_target_s_ratio");
    /* sgp takes half as long as the baseline to reach the target */
    expect("sgp,4,", "time_to_target_s_ratio", 2);
    expect("sgp,4,", "time_to_target_s_ratio_low", 2);
    ck_assert_has(output, "2 of 3 seeds, median 9");
    ck_assert_has(output, "  2 (2 to 2) *\n");
    const char *const table = compare(runs, "--target accuracy=1");
    ck_assert_has(table, "2 of 3 seeds, median 9");
}

TEST(any_column_of_numbers_can_be_shown)
{
    static const char runs[] =
        RUNS_HEADER OK("allreduce", "1", "1", "0.5") OK("allreduce", "2", "3", "0.5")
            OK("wagma", "1", "2", "0.5") ROW("wagma", "2", "diverged", "8", "0.5");
    char *output = compare(runs, "-m step_mean_s --measure workers");
    ck_assert_has(output, "step mean s  workers\n");
    ck_assert_has(output, "0.5 ± 0      4 ± 0\n");
    ck_assert_has(output, "0.5 ± 0      4 ± 0\n");
    output = compare(runs, "--ratio -m step_mean_s");
    ck_assert_has(output, "step mean s\n");
    output = compare(RUNS_HEADER OK("wagma", "1", "7.5e70", "0.5"), "");
    ck_assert_has(output, " 7.5e+70\n");
    ck_assert_has(dsgd_ends(DSGD_EUSAGE, "compare r -m status"),
                  "--measure status: r/runs.csv has no");
    output = dsgd_ends(DSGD_EUSAGE, "compare r -m ratio");
}

/*
 * The ratios are 1, 2 and 4, whose logarithms have the mean log(2) and the standard deviation
 * log(2).
 */
TEST(ratios_are_geometric_means_over_pairs)
{
    const char *const output =
        compare(RUNS_HEADER OK("allreduce", "1", "10", "0.5") OK("allreduce", "2", "100", "0.5")
                    OK("allreduce", "3", "1000", "0.5") OK("wagma", "3", "4000", "0.5")
                        OK("wagma", "1", "10", "0.5") OK("wagma", "2", "200", "0.5")
                            OK("same", "1", "10", "0.5") OK("same", "2", "100", "0.5")
                                OK("one", "2", "150", "0.5"),
                "--ratio");
    expect("wagma,4,", "throughput_samples_per_s_ratio", 2);
    expect("wagma,4,", "throughput_samples_per_s_ratio_low", pow(2, 1 - t2 / sqrt(3)));
    expect("wagma,4,", "throughput_samples_per_s_ratio_high", pow(2, 1 + t2 / sqrt(3)));
    expect("one,4,", "throughput_samples_per_s_ratio", 1.5);
    expect_nothing("one,4,", "throughput_samples_per_s_ratio_low");
    expect_nothing("allreduce,4,", "throughput_samples_per_s_ratio");
    /*
     * The column `seeds needed` prints 7, because Student's t for 6 degrees of freedom, 2.447, is
     * below sqrt(7), while t for 5, 2.571, is above sqrt(6).
     */
    ck_assert_has(output, "  2 (0.357 to 11.2)  7\n");
    ck_assert_has(output, "  1 (1 to 1)         > 1000\n");
    ck_assert_has(output, "  1.5                2 or more\n");
    compare(three, "");
    ck_assert_ptr_null(strstr(read_file("r/compare.csv"), "_ratio"));
}

/** Tests that gnuplot does not warn of a column of curves.csv that contains no number. */
TEST(curves_without_accuracy_are_drawn_without_a_warning)
{
    write_experiment(learn);
    char *output = dsgd_ends(0, "run e.yaml -o r --only 1");
    ck_assert_str_eq(cell_of("r/runs.csv", "1,", "final_accuracy"), "");
    output = dsgd_ends(0, "plot r learning");
    ck_assert_msg(strstr(output, "learning.svg") != NULL && strstr(output, "warning") == NULL, "%s",
                  output);
}

static const struct {
    const char *content; /* content of runs.csv, or NULL if the file is missing */
    const char *arguments;
    int status;
    const char *sentence;
} bad_runs[] = {
    {NULL, "r", 3, "r: not a results folder (it has no runs.csv); `dsgd run EXPERIMENT.yaml -o r`"},
    {"", "r", 3, "r/runs.csv: the file is empty"},
    {"run,seed\n", "r", 3, "r/runs.csv:1: there is no column `wall_s`"},
    {"# by hand\nrun,seed\n", "r", 3, "r/runs.csv:2: there is no column `wall_s`"},
    {"workers,platform,workload,wall_s\n", "r", 3, "r/runs.csv:1: there is no column `algorithm`"},
    {"algorithm,workers,platform,workload,wall_s\n", "r", 3, ":1: there is no column `seed`"},
    {"algorithm,workers,platform,workload,seed,wall_s\n", "r", 3,
     ":1: there is no column `status`"},
    {"algorithm,workers,platform,workload,seed,status,wall_s\n", "r", 3,
     ":1: there is no column `throughput_samples_per_s`"},
    {RUNS_HEADER, "r", 2, "r/runs.csv: no run has the status ok or diverged"},
    {RUNS_HEADER ROW("wagma", "1", "failed", "", ""), "r", 2, "no run has"},
    {RUNS_HEADER "1,wagma,4\n", "r", 3, "r/runs.csv:2: 3 fields, but the header has 14"},
    {RUNS_HEADER OK("wagma", "1", "1", "1") OK("wagma", "2", "1", "1,1"), "r", 3,
     "r/runs.csv:3: 15"},
    {RUNS_HEADER OK("wagma", "1", "1", "1") OK("\"wagma", "2", "1", "1"), "r", 3,
     "r/runs.csv:3: the quotes"},
    {RUNS_HEADER OK("\"wag\"ma", "1", "1", "1"), "r", 3, "r/runs.csv:2: the quotes"},
    {RUNS_HEADER OK("wag\"ma", "1", "1", "1"), "r", 3, "r/runs.csv:2: the quotes"},
    {RUNS_HEADER OK("\"wag\nma\"", "1", "1", "1") OK("wagma", "1", "fast", "1"), "r", 2,
     "r/runs.csv:4: throughput_samples_per_s is `fast`, not a number"},
    {RUNS_HEADER OK("wagma", "1", "1", "nan"), "r", 2, ":2: final_accuracy is `nan`"},
    {RUNS_HEADER OK("wagma", "1", "1", "1e999"), "r", 2, ":2: final_accuracy is `1e999`"},
    {RUNS_HEADER OK("wagma", "1.5", "1", "1"), "r", 2,
     ":2: seed must be a whole number, got `1.5`"},
    {RUNS_HEADER OK("wagma", "", "1", "1"), "r", 2, ":2: seed must be a whole number, got ``"},
    {RUNS_HEADER OK("wagma", "1", "1", "1") OK("wagma", "2", "1", "1") OK("wagma", "1", "2", "1"),
     "r", 2, "r/runs.csv:4: wagma with seed 1 is also on line 2"},
    {RUNS_HEADER OK("wagma", "1", "1", "1") ROW("wagma", "1", "diverged", "2", "1"), "r", 2,
     "r/runs.csv:3: wagma with seed 1 is also on line 2"},
    {RUNS_HEADER OK("wagma", "1", "1", "1") OK("dasgd", "1", "1", "1"), "r --baseline wagam", 2,
     "unknown --baseline `wagam` (did you mean `wagma`?); valid values: wagma, dasgd"},
    {RUNS_HEADER OK("wagma", "1", "1", "1"), "r --by wrokers", 2,
     "unknown --by `wrokers` (did you mean `workers`?); valid values: algorithm, workers, "
     "platform, "
     "workload"},
    {RUNS_HEADER OK("wagma", "1", "1", "1"), "r r", 2, "the folder of one experiment"},
    {RUNS_HEADER OK("wagma", "1", "1", "1"), "", 2, "give the folder of one experiment"},
    {RUNS_HEADER OK("wagma", "1", "1", "1"), "r/runs.csv", 3, "r/runs.csv: not a results folder"},
};

TEST_ROWS(wrong_runs_csv_is_rejected_and_keeps_compare_csv, bad_runs)
{
    write_runs("");
    write_file("r/compare.csv", "as it was\n");
    if (bad_runs[_i].content != NULL)
        write_runs(bad_runs[_i].content);
    else
        unlink(dsgd_xprintf("%s/r/runs.csv", folder));
    ck_assert_has(dsgd_ends(bad_runs[_i].status, "compare %s", bad_runs[_i].arguments),
                  bad_runs[_i].sentence);
    ck_assert_str_eq(read_file("r/compare.csv"), "as it was\n");
    ck_assert_int_ne(access(dsgd_xprintf("%s/r/compare.csv.new", folder), F_OK), 0);
}

/** Tests that an algorithm is not called the winner while runs of other algorithms are missing. */
TEST(compare_reports_missing_runs)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --only 1");
    ck_assert_has(
        dsgd_ends(0, "compare r"),
        "Partial results: 1 of 6 runs are done, so the winner is open. The same command,\n"
        "without --only or --shard, does the rest.\n");
    dsgd_ends(0, "run e.yaml -o r");
    ck_assert_ptr_null(strstr(dsgd_ends(0, "compare r"), "Partial"));
}

TEST(place_name_shows_each_difference_once)
{
    static const char *const networks[] = {"flows", "simgrid"};
    char *runs = dsgd_xstrdup(RUNS_HEAD ",wall_s,network,swept.network\n");
    for (size_t i = 0; i < 4; i++)
        dsgd_append(&runs, "1,%s,4,1,daint,resnet,ok," NUMBERS("1", "") ",%s,%s\n",
                    i % 2 == 0 ? "wagma" : "allreduce", networks[i / 2], networks[i / 2]);
    ck_assert_has(compare(runs, ""), "4 workers, network simgrid:\n");
}
