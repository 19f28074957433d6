/**
 * @file test_imbalance_fit.c
 * Tests `dsgd imbalance fit`: its output for measured step times, and the inputs that it rejects.
 */
#include "base/csv.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/**
 * Writes 400 step times to a file. The times of neighbouring ranks of eight workers differ by 10 %.
 * The file has another column before the times and another column after them.
 */
static void write_steps(const char *name, int workers, const char *header)
{
    char *text = dsgd_xstrdup(header);
    for (int i = 0; i < 400; i++) {
        const double u = (i + 0.5) / 400;
        const int w = (i * 7) % workers;
        const double factor = 1 + 0.1 * (w - (workers - 1) / 2.0);
        dsgd_append(&text, "%d,%d,%.9g\n", w, i, factor * (1 - 0.25 * log(u)));
    }
    write_file(name, text);
}

/**
 * Returns a block of the output that starts with "imbalance:", as a list for an experiment. It
 * returns the second block if @p which is 1, and otherwise the first block.
 */
static const char *entries_of(const char *output, int which)
{
    const char *block = strstr(output, "\nimbalance:");
    ck_assert_ptr_nonnull(block);
    if (which > 0)
        block = strstr(block + 1, "\nimbalance:");
    ck_assert_ptr_nonnull(block);
    const char *const end = strstr(block, "\n\n");
    return dsgd_xprintf("%.*s\n", (int)(end == NULL ? strlen(block) : (size_t)(end - block)),
                        block);
}

static const char *const replayed[] = {
    "worker,step,seconds\n1,0,2\n0,0,1\n0,1,3\n1,1,4\n",
    "rank,step_time_ms\n0,1000\n1,2000\n0,3000\n1,4000\n",
    "step,rank,time (us)\n1,0,3e6\n1,1,4e6\n0,0,1e6\n0,1,2e6\n",
};

SUITE(imbalance_fit, "imbalance_fit", .seconds = 60, .set_up = make_folder,
      .tear_down = remove_folder);

/**
 * An even _i tests the fit, and an odd _i tests the quantiles. There is one worker if _i is below
 * 2; otherwise, there are eight workers.
 */
TEST_RANGE(fit_prints_valid_entry, 0, 4)
{
    const int workers = _i < 2 ? 1 : 8;
    write_steps("steps.csv", workers, "worker,step,seconds\n");
    char *output = dsgd_ends(0, "imbalance fit steps.csv -o fit");
    /*
     * The step times follow an exponential distribution that starts at 1 s. Such a distribution is
     * a shifted gamma distribution of shape 1.
     */
    ck_assert_has(output, "\nshifted gamma");
    ck_assert_int_eq(strstr(output, "{kind: persistent, deviation: 0.2") != NULL, workers == 8);
    const char *const entries = entries_of(output, _i % 2);
    ck_assert_has(entries, _i % 2 == 0 ? "{kind: gamma" : "- kind: quantiles");
    char *const experiment = dsgd_xprintf("platform: idle-switch\n"
                                          "workload: {bytes: 1M, step: 1.25s, samples: 8}\n"
                                          "workers: 4\n"
                                          "algorithms: allreduce\n"
                                          "until: {steps: 200}\n%s",
                                          entries);
    write_file("e.yaml", experiment);
    char *ran = NULL;
    ck_assert_msg(dsgd("run e.yaml -o r", &ran) == 0, "%s", ran);
    read_file("fit/figures/quantiles.svg");
    char *rows = read_file("fit/quantiles.csv");
    ck_assert_has(rows, "percent,measured,");
    strsep(&rows, "\n");
    double first = NAN, last = NAN;
    for (const char *row = NULL; (row = strsep(&rows, "\n")) != NULL && *row != '\0';) {
        last = strtod(row, NULL);
        first = isnan(first) ? last : first;
    }
    ck_assert_double_le(first, 1);
    ck_assert_double_eq_tol(first + last, 100, 1e-9);
    char *again = NULL; /* the output of the commands that draw the figure again */
    ck_assert_msg(dsgd("plot fit quantiles --format svg --size slide -o .", &again) == 0, "%s",
                  again);
    ck_assert_msg(dsgd("plot fit --format svg -o .", &again) == 0, "%s", again);
    ck_assert_has(again, "quantiles.svg");
}

static const struct {
    const char *content, *arguments;
    int status;
    const char *sentence;
} bad_fits[] = {
    {"seconds\n1\n2\n", "fit s.csv", 3, "s.csv: a fit needs 10 or more values, got 2"},
    {"seconds\n1\n-2\n", "fit s.csv", 3,
     "s.csv:3: seconds must be a number above 0 and up to 1e9, got \"-2\""},
    {"seconds\n1\n0\n", "fit s.csv", 3, "must be a number above 0"},
    {"seconds\n1\nnan\n", "fit s.csv", 3,
     "s.csv:3: seconds must be a number above 0 and up to 1e9, got \"nan\""},
    {"seconds\n1\nfast\n", "fit s.csv", 3, "\"fast\""},
    {"worker,seconds\n0,1\n-1,1\n", "fit s.csv", 3,
     "s.csv:3: worker must be a whole number from 0 to 1048576, got \"-1\""},
    {"a,b\n0,1\n", "fit s.csv", 3,
     "unknown column \"seconds\". Choose one with --column NAME. Columns: a, b"},
    {"a,b\n0,1\n", "fit s.csv --column c", 3,
     "unknown column \"c\". Choose one with --column NAME. Columns: a, b"},
    {"1.5\n2\n", "fit s.csv", 3, "must name the columns, got the number \"1.5\""},
    {"t\n2\n2\n2\n2\n2\n2\n2\n2\n2\n2\n", "fit s.csv", 3, "all values of t are about 2"},
    {"worker,seconds\n0.5,1\n", "fit s.csv", 3, "worker must be a whole number"},
    {"t\n1e-9\n1\n1\n1\n1\n1\n1\n1\n1\n2\n", "fit s.csv", 3, "differ by a factor above 1e5"},
    {"", "fit s.csv", 3, "s.csv"},
    {"\xef\xbb\xbf", "fit s.csv", 3, "the file is empty"},
    {"t\n1\n", "fit none.csv", 3, "none.csv"},
    {"t\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "fit s.csv -o ''", 2, "-o must be the name of a folder"},
    {"t\n1\n", "fit", 2, "give `fit` and a CSV file"},
    {"t\n1\n", "fti s.csv", 2, "give `fit` and a CSV file"},
};

TEST_ROWS(bad_input_of_fit_is_rejected_with_reason, bad_fits)
{
    write_file("s.csv", bad_fits[_i].content);
    char *output = dsgd_ends(bad_fits[_i].status, "imbalance %s", bad_fits[_i].arguments);
    ck_assert_has(output, bad_fits[_i].sentence);
    ck_assert_ptr_null(strchr(strchr(output, '\n') + 1, '\n')); /* the output has only one line */
}

TEST(column_is_chosen_by_name_or_if_single)
{
    write_steps("s.csv", 1, "worker,step,took\n");
    ck_assert_has(dsgd_ends(0, "imbalance fit s.csv --column took"),
                  "400 values of took\nmean 1.24");
    write_file("s.csv", "\xef\xbb\xbft\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n");
    ck_assert_has(dsgd_ends(0, "imbalance fit s.csv"), "10 values of t\nmean 5.5 s");
}

/**
 * Writes 4,000 step times of eight workers. The times of rank 5 are multiplied by @p factor, and @p
 * late_s is added to one time in 101.
 */
static void write_ranks(const char *name, double factor, double late_s)
{
    char *text = dsgd_xstrdup("rank,it,step_time_ms\n");
    for (int i = 0; i < 4000; i++) {
        const double u = ((i * 7) % 4000 + 0.5) / 4000;
        const double s = 0.2 * (1 - 0.05 * log(u)) + (i % 101 == 0 ? late_s : 0);
        dsgd_append(&text, "%d,%d,%.9g\n", i % 8, i / 8, 1e3 * s * (i % 8 == 5 ? factor : 1));
    }
    write_file(name, text);
}

TEST(fit_reports_slow_worker_in_any_unit)
{
    write_ranks("s.csv", 1.3, 0);
    char *output = dsgd_ends(0, "imbalance fit s.csv");
    ck_assert_has(output, "4000 values of step_time_ms, in ms\nmean 0.2178");
    ck_assert_has(output, "worker 5 takes 1.3 times as long as the median");
    ck_assert_has(output, "  - {kind: slow, worker: 5, factor: 1.3}\n");
    ck_assert_ptr_null(strstr(output, "{kind: persistent"));
    ck_assert_ptr_null(strstr(output, "misses the tail"));
    ck_assert_has(output, "# - {kind: replay, file: s.csv}");
    output = dsgd_ends(0, "import s.csv -p dgx-a100 -o mine.yaml");
    ck_assert_has(output, "rank 5 is slow: it takes 273 ms in a step, 63 ms more than");
    ck_assert_has(read_file("mine.yaml"), "  - {kind: slow, worker: 5, factor: 1.3} # s.csv\n");
    dsgd_ends(0, "run mine.yaml -o r --set until.steps=2");
    ck_assert_has(dsgd_ends(0, "imbalance fit s.csv --unit us"), "in us\nmean 0.0002178");
    write_ranks("s.csv", 1, 0);
    output = dsgd_ends(0, "imbalance fit s.csv");
    ck_assert_ptr_null(strstr(output, "as long as the median"));
}

/**
 * The means of the workers are 0.03, 0.01, 0.01 and 0.47 s away from their median. The last
 * distance is so much larger than the median distance that it cannot be chance.
 */
TEST(fit_reports_slow_worker_of_four)
{
    char *rows = dsgd_xstrdup("worker,step,seconds\n");
    static const double means_s[] = {1, 1.02, 1.04, 1.5};
    for (int i = 0; i < 80; i++)
        dsgd_append(&rows, "%d,%d,%.3f\n", i % 4, i / 4, means_s[i % 4] + 0.001 * (i / 4 % 5));
    write_file("steps.csv", rows);
    ck_assert_has(dsgd_ends(0, "imbalance fit steps.csv"),
                  "worker 3 takes 1.46 times as long as the median worker\n");
}

/**
 * Tests that the first step, which also compiles kernels, does not affect the fitted slow worker.
 */
TEST(warm_up_step_is_left_out)
{
    char *text = dsgd_xstrdup("rank;iteration;step_time_ms\n");
    for (int step = 0; step < 50; step++)
        for (int rank = 0; rank < 8; rank++) {
            const bool slow = rank == 3 && step >= 20 && step < 30;
            dsgd_append(&text, "%d;%d;%d,5\n", rank, step,
                        (step == 0 ? 9000
                         : slow    ? 500
                                   : 250) +
                            (7 * rank + 3 * step) % 11);
        }
    write_file("s.csv", text);
    static const char *const commands[] = {"imbalance fit s.csv",
                                           "import s.csv -p dgx-a100 -o mine.yaml"};
    for (int i = 0; i < 2; i++) {
        char *const output = dsgd_ends(0, "%s", commands[i]);
        ck_assert_has(output, "the first step takes 35.");
    }
    ck_assert_has(read_file("mine.yaml"), "{kind: slow, worker: 3, factor: 1.1");
}

/**
 * Worker 0 takes 1 s and 3 s for its two steps, and worker 1 takes 2 s and 4 s. Each step ends with
 * an allreduce, so the steps take 2 s and 4 s.
 */
TEST_ROWS(fitted_file_can_be_replayed, replayed)
{
    write_file("r.csv", replayed[_i]);
    write_file("r.yaml", "platform: piz-daint\nworkload: {bytes: 4, step: 1, samples: 1}\n"
                         "imbalance: [{kind: replay, file: r.csv}]\nworkers: 2\n"
                         "algorithms: [allreduce]\nuntil: {steps: 2}\n");
    dsgd_ends(0, "run r.yaml -o r");
    dsgd_csv runs;
    ck_assert_int_eq(dsgd_csv_read(&runs, NULL, "%s/r/runs.csv", folder), DSGD_OK);
    double step_s = 0;
    ck_assert(dsgd_parse_number(dsgd_csv_field(&runs, 0, dsgd_csv_column(&runs, "step_mean_s")),
                                NULL, &step_s));
    ck_assert_double_eq_tol(step_s, 3, 1e-3); /* messages take only microseconds */
}

TEST(fit_reports_missed_tail)
{
    write_ranks("s.csv", 1, 0.3);
    ck_assert_has(dsgd_ends(0, "imbalance fit s.csv"),
                  "note: the best fit misses the tail: 0.1 % of the steps take "
                  "longer than 0.5");
    write_steps("t.csv", 1, "worker,step,seconds\n");
    char *output = dsgd_ends(0, "imbalance fit t.csv");
    ck_assert_ptr_null(strstr(output, "misses the tail"));
    ck_assert_has(output, "# - {kind: replay, file: t.csv}");
}
