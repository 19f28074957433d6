/**
 * @file test_failures.c
 * Tests failure times: rates in closed form, published rates, lists of failures, and trace files.
 */
#include <unistd.h>

#include "tests/support/suite.h"
#include "traces/failures.h"

/** Opens the failures of a configuration, and returns the error, or "" if there is none. */
static const char *opened(const dsgd_failures_config *config, int n_workers, int per_unit,
                          dsgd_failures **f)
{
    const dsgd_failure_units units = {n_workers, 1,
                                      dsgd_xcalloc((size_t)n_workers, sizeof *units.of)};
    static dsgd_error error;
    for (int w = 0; w < n_workers; w++)
        units.of[w] = w / per_unit;
    return dsgd_failures_open(config, 7, units, f, &error) == DSGD_OK ? "" : error.text;
}

SUITE(failures, "rates", .seconds = 60);

/**
 * Tests that failures are sorted by time and that each repair takes 10 s. Also tests that the mean
 * time between failures equals the requested time.
 */
TEST_RANGE(the_mean_time_between_failures_is_kept, 0, 3)
{
    const double shapes[] = {0.7, 1, 2};
    const dsgd_failures_config config = {.mtbf_s = 90, .shape = shapes[_i], .repair_s = 10};
    dsgd_failures *f = NULL;
    ck_assert_str_eq(opened(&config, 50, 1, &f), "");
    double last_s = 0;
    long n = 0;
    for (dsgd_failure at = dsgd_failures_next(f); at.down_s < 1e5;
         at = dsgd_failures_next(f), n++) {
        ck_assert_double_ge(at.down_s, last_s);
        ck_assert_double_eq_tol(at.up_s - at.down_s, 10, 1e-9);
        last_s = at.down_s;
    }
    dsgd_failures_close(f);
    /*
     * If each of 50 workers fails once in 100 s on average, there should be 50,000 failures in 1e5
     * s.
     */
    ck_assert_double_eq_tol((double)n / (50 * 1e5 / 100), 1, 0.015);
}

/**
 * Tests a published rate of Meta's cluster RSC-1: 6.50 failures in 1,000 node-days (arXiv
 * 2410.21680, from a summary). As in the paper, this rate gives one failure in 1.8 h for 16,384
 * GPUs, and one failure in 14 min for 131,072 GPUs. For 1,024 GPUs, the rate gives 28.8 h, while
 * the paper measured 7.9 h.
 */
TEST(published_rates_give_published_times)
{
    const dsgd_failures_config config = {.mtbf_s = 1000 * 86400 / 6.50, .shape = 1};
    const int gpus[] = {1024, 16384, 131072};
    const double hours[] = {28.8, 1.8, 14 / 60.0};
    for (size_t i = 0; i < 3; i++) {
        dsgd_failures *f = NULL;
        opened(&config, gpus[i], 8, &f);
        ck_assert_double_eq_tol(dsgd_failures_mtbf_s(f) / 3600 / hours[i], 1, i == 2 ? 0.04 : 0.01);
        dsgd_failures_close(f);
    }
}

TEST(a_checkpoint_takes_its_bytes_over_its_bandwidth)
{
    const dsgd_checkpoint c = {.seconds = 2, .bytes_per_s = 5e9};
    ck_assert_double_eq_tol(dsgd_checkpoint_cost_s(&c, 20e9), 6, 1e-12);
    ck_assert_double_eq_tol(dsgd_checkpoint_interval_s(DSGD_EVERY_YOUNG, 6, 3 * 3600), 360, 1e-9);
    ck_assert_double_eq(dsgd_checkpoint_interval_s(DSGD_EVERY_DALY, 50, 10), 10);
}

/**
 * Opens a trace file with the given rows for 4 workers, together with a listed failure of worker 2
 * from 5 s to 8 s. Returns the error, or "" if there is none.
 */
static const char *told(const char *rows, dsgd_failures **f)
{
    char path[] = "/tmp/dsgd-test-XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_gt(dprintf(file, "worker,time_s,event\n%s", rows), 0);
    close(file);
    static dsgd_failure_event event = {2, 5, DSGD_REPAIR_AS_ALL};
    static dsgd_failures_config config = {.events = {1, &event}, .repair_s = 3};
    config.trace = path;
    const char *const why = opened(&config, 4, 1, f);
    unlink(path);
    return why;
}

TEST(trace_is_read_in_addition_to_events)
{
    dsgd_failures *f = NULL;
    ck_assert_str_eq(told("0,10,down\n1,4,down\n9,4.5,down\n0,12.5,up\n", &f), "");
    const double want[][3] = {{1, 4, INFINITY}, {2, 5, 8}, {0, 10, 12.5}, {-1, INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const dsgd_failure at = dsgd_failures_next(f);
        ck_assert(at.worker == want[i][0] && at.down_s == want[i][1] && at.up_s == want[i][2]);
    }
    dsgd_failures_close(f);
}

static const char *const bad[][2] = {{"0,3,up\n", ":2: worker 0 cannot go up at 3 s"},
                                     {"0,3,down\n0,2,up\n", "in order of time"},
                                     {"0,-1,down\n", "a time from 0"},
                                     {"0,1,gone\n", "and down or up, got"}};

TEST_ROWS(bad_row_of_a_trace_is_rejected, bad)
{
    dsgd_failures *f = NULL;
    ck_assert_has(told(bad[_i][0], &f), bad[_i][1]);
}
