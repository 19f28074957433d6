/**
 * @file test_phase.c
 * Tests `dsgd run --refine`, which runs only a part of a grid to find where the winner changes.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/*
 * A grid of bandwidths and of deviations of step times. The server algorithm wins if links are fast
 * and step times vary; otherwise allreduce wins.
 */
static const char experiment[] =
    "platform: {host_bandwidth: {sweep: {from: 10MB/s, to: 640MB/s, n: 9, log: true}}}\n"
    "workload: {bytes: 10M, step: 200ms, samples: 32}\n"
    "imbalance: {kind: lognormal, mean: 1, scale: true, deviation: {sweep: {from: 0.64, to: 0.01, "
    "n: 9, log: true}}}\n"
    "workers: 4\nalgorithms: [allreduce, a_psgd]\nuntil: {steps: 10}\n"
    "exchange: {pieces: 4}\n";

/** Runs an awk program on a CSV file in the test's folder, and returns its output. */
static char *awk(const char *program, const char *file)
{
    char *output = shell_ends(0, "awk -F, '%s' %s/%s", program, folder, file);
    return output;
}

static char *run(const char *arguments, int expected)
{
    char *output = dsgd_ends(expected, "%s", arguments);
    return output;
}

static const char winners[] = "NF && NR > 1 {print $1, $2, $5}";

SUITE(phase, "phase", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST(refined_border_equals_border_of_full_grid)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o full", 0);
    const char *const output = run("run e.yaml -o part --refine -j 2", 0);
    ck_assert_str_eq(awk("NF && NR > 1 && $3 == 0 {n++} END {print n + 0}", "full/phase.csv"),
                     "0\n");
    const char *const all = awk(winners, "full/phase.csv");
    ck_assert_str_eq(awk(winners, "part/phase.csv"), all);
    ck_assert_has(all, "allreduce\n");
    ck_assert_has(all, "a_psgd\n");
    const int n = atoi(awk("END {print NR - 1}", "part/runs.csv"));
    ck_assert_msg(n > 32 && n < 100, "%d of 162 runs", n); /* the first, coarse grid has 25 cells */
    ck_assert_has(output, dsgd_xprintf("%d of 162 runs were needed\n", n));
    /* In cells where the lead of the winner is at most 50 %, both grids must show similar leads. */
    char *output_of_diff = NULL;
    shell(dsgd_xprintf("paste -d, %s/full/phase.csv %s/part/phase.csv | awk -F, 'NF > 1 && NR "
                       "> 1 {d = $7 / $18; if ($7 < 1.5 && (d > 1.2 || d < 0.8)) print}'",
                       folder, folder),
          &output_of_diff);
    ck_assert_str_eq(output_of_diff, "");
}

/**
 * An awk program that compares the full grid with the partial grid. It looks for cells whose
 * winners differ and are certain in both grids. It prints a cell if no neighbouring cell of the
 * full grid has the winner of the partial grid.
 */
static const char strangers[] =
    "FNR == 1 {f++; next} NF {k = f == 1 ? a++ : b++; w[f, k] = $5; u[f, k] = $4} "
    "END {n = sqrt(a); for (k = 0; k < a; k++) {"
    "if (w[1, k] == w[2, k] || u[1, k] || u[2, k]) continue; x = k % n; y = int(k / n); near = 0; "
    "for (i = -1; i <= 1; i++) for (j = -1; j <= 1; j++) if (x + i >= 0 && x + i < n && y + j >= 0 "
    "&& y + j < n && w[1, (y + j) * n + x + i] == w[2, k]) near = 1; if (!near) print k}}";

/**
 * Tests three seeds per cell: a third of the runs must be enough to find every winner to within one
 * cell.
 */
TEST(rivals_and_seeds_run_where_they_matter)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o full --set seed='[1, 2, 3]'", 0);
    run("run e.yaml -o part --refine --set seed='[1, 2, 3]'", 0);
    char *cells = shell_ends(0, "awk -F, '%s' %s/full/phase.csv %s/part/phase.csv", strangers,
                             folder, folder);
    ck_assert_str_eq(cells, "");
    const int n = atoi(awk("END {print NR - 1}", "part/runs.csv"));
    ck_assert_msg(n < 162, "%d of 486 runs", n);
    ck_assert_str_ne(awk("$5 == \"allreduce\"", "part/phase.csv"), "");
    ck_assert_str_ne(awk("$5 == \"a_psgd\"", "part/phase.csv"), "");
}

/**
 * Tests that `--progress json` prints one event `end` with the number of all runs, and swept values
 * as numbers.
 */
TEST(progress_ends_once)
{
    write_file("e.yaml", experiment);
    const char *const said =
        run("run e.yaml -o r --refine -j 2 --progress json 2>said >table; cat said", 0);
    const int n = atoi(awk("END {print NR - 1}", "r/runs.csv"));
    const char *const end = strstr(said, "\"event\":\"end\"");
    ck_assert_ptr_nonnull(end);
    ck_assert_ptr_null(strstr(end + 1, "\"event\""));
    ck_assert_has(end, dsgd_xprintf("\"ended\":%d,", n));
    ck_assert_has(said, "deviation\":0.64");
}

/**
 * Tests that a second command repeats only runs whose results are missing, and that the result is
 * the same for any -j.
 */
TEST(refined_grid_resumes)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o part --refine -j 2", 0);
    const char *const phase = read_file("part/phase.csv");
    char *output = NULL;
    shell(dsgd_xprintf("cd %s/part/.parts && ls *.part | sort -n | sed -n '5~7p' | xargs rm "
                       "&& rm ../phase.csv",
                       folder),
          &output);
    run("run e.yaml -o part --refine -j 1", 0);
    ck_assert_str_eq(read_file("part/phase.csv"), phase);
    /* Without --refine, the command also executes the remaining runs, so all cells become known. */
    run("run e.yaml -o part", 0);
    ck_assert_str_eq(awk("END {print NR - 1}", "part/runs.csv"), "162\n");
    ck_assert_ptr_null(strstr(awk("NF && NR > 1 {print $3}", "part/phase.csv"), "0"));
}

static const struct {
    const char *arguments, *sentence;
} refused[] = {
    {"--set algorithms=allreduce", "two or more algorithms, two swept numbers"},
    {"--set platform=idle-switch", "two or more algorithms, two swept numbers"},
    {"--set workers='[4, 8]'", "two or more algorithms, two swept numbers"},
    {"--set workload.step='{sweep: [1, 2]}'", "two or more algorithms, two swept numbers"},
    {"--set network='{sweep: [flows, simgrid]}' --set platform=idle-switch",
     "two or more algorithms, two swept numbers"},
    {"--only 1", "selects the runs itself"},
    {"--sensitivity", "selects the runs itself"},
};

TEST_ROWS(unsuitable_experiment_is_rejected, refused)
{
    write_file("e.yaml", experiment);
    const char *const output =
        run(dsgd_xprintf("run e.yaml -o r --refine %s", refused[_i].arguments), 2);
    ck_assert_has(output, refused[_i].sentence);
    ck_assert_ptr_null(strstr(output, "runs were needed"));
}

/**
 * Tests algorithms that must not win. With a period of 20, local SGD never exchanges in 10 steps,
 * and would be the fastest in every cell. In the folder `failed` allreduce fails, and in `none` all
 * algorithms fail.
 */
TEST(algorithm_that_cannot_win_wins_no_cell)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o two --refine", 0);
    run("run e.yaml -o three --refine --set 'algorithms=[allreduce, a_psgd, {name: local_sgd, "
        "period: 20}]'",
        0);
    ck_assert_str_eq(awk(winners, "three/phase.csv"), awk(winners, "two/phase.csv"));
    run("run e.yaml -o failed --refine --set 'failures={policy: none, events: [{worker: 2, at: "
        "250ms}]}'",
        5);
    ck_assert_str_eq(
        awk("NF && NR > 1 && ($5 != \"a_psgd\" || $6 || $7 || $4)", "failed/phase.csv"), "");
    run("plot failed phase --format svg", 0);
    run("run e.yaml -o none --refine --set 'failures={policy: none, events: [{worker: 2, at: "
        "250ms}]}' --set "
        "'algorithms=[allreduce, {name: allreduce, label: again}]'",
        5);
    ck_assert_str_eq(awk("NF && NR > 1 && ($3 || $5 || $6)", "none/phase.csv"), "");
}

/**
 * Learning rates of local SGD, the fastest algorithm. With the first three it makes no progress,
 * diverges, or has a growing loss. With the last rate it learns and wins.
 */
static const struct {
    const char *rate;
    bool wins;
} fast[] = {{"1e-9", false}, {"1e90", false}, {"4", false}, {"0.1", true}};

TEST_ROWS(algorithm_without_progress_wins_no_cell, fast)
{
    write_file("e.yaml", dsgd_xprintf("%slearn: {model: hyperplane, batch: 64, data: {name: "
                                      "hyperplane, features: 1, points: 64, noise: 0}, optimizer: "
                                      "{lr: 0.1}, evaluate: {every: 5}}\n",
                                      experiment));
    run(dsgd_xprintf("run e.yaml -o r --refine --set until.steps=20 --set 'algorithms=[allreduce, "
                     "{name: local_sgd, period: 5, optimizer: {lr: %s}}, a_psgd]'",
                     fast[_i].rate),
        0);
    const int n = atoi(awk("$5 == \"local_sgd\" {n++} END {print n + 0}", "r/phase.csv"));
    ck_assert_int_eq(n > 40, fast[_i].wins);
    ck_assert_msg(fast[_i].wins || n == 0, "%d cells", n);
    ck_assert_str_ne(awk("$5 == \"a_psgd\"", "r/phase.csv"), "");
}

/**
 * Tests cells whose winner depends on the seed. The figure marks them as uncertain, and gnuplot
 * prints no warning.
 */
TEST(uncertain_cells_are_marked)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o r --refine --set seed='[1, 2]' --set until.steps=3 --set "
        "platform.host_bandwidth='{sweep: [80MB/s, 160MB/s, 320MB/s]}' --set "
        "imbalance.deviation='{sweep: [0.1, 0.3]}'",
        0);
    ck_assert_int_gt(atoi(awk("{n += $4} END {print n}", "r/phase.csv")), 0);
    char *rest = shell_ends(0,
                            "cut -d, -f4,7-9 %s/r/phase.csv | awk -F, 'NR > 1 && "
                            "$3 && ($1 != ($3 <= 1 || $2 < 1.02) || $2 < $3 || "
                            "$2 > $4)'",
                            folder);
    ck_assert_str_eq(rest, "");
    const char *const output = run("plot r phase", 0);
    ck_assert_msg(strstr(output, "warning") == NULL, "%s", output);
    ck_assert_has(read_file("r/figures/phase.svg"), "within 2 % or noise");
}

/**
 * Tests an axis whose swept values have many digits. The ticks of the axis are at 1, 2 or 5 times a
 * power of ten.
 */
TEST(ticks_of_odd_values_are_round)
{
    write_file("e.yaml", experiment);
    run("run e.yaml -o r --set until.steps=1 --set platform.host_bandwidth='{sweep: [80MB/s, "
        "160MB/s]}' "
        "--set imbalance.deviation=0.1 "
        "--set workload.step='{sweep: [1.2345s, 6.1234s, 11.0123s, 15.9012s]}'",
        0);
    run("plot r phase --format svg", 0);
    const char *const figure = read_file("r/figures/phase.svg");
    ck_assert_has(figure, ">5s<");
    ck_assert_has(figure, ">10s<");
}
