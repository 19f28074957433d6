/**
 * @file test_sweep.c
 * Sweeps: any value of an experiment, or its platform, by a list of alternatives.
 */
#include <string.h>

#include "tests/command/shell.h"
#include "tests/suites.h"

START_TEST(sweeps_multiply_the_runs_and_get_a_column)
{
    write_experiment("seed: [1, 2]\nexchange: {collective: {sweep: [ring, rabenseifner]}}\n");
    char *output = NULL;
    ck_assert_int_eq(dsgd("check e.yaml", &output), 0);
    ck_assert_msg(strstr(output, "24 runs") != NULL, "%s", output);
    ck_assert_int_eq(
        dsgd("check e.yaml --set algorithms='[allreduce, {name: wagma, group: {sweep: [2, 4]}}]'",
             &output),
        0);
    ck_assert_msg(strstr(output, "24 runs") != NULL, "%s", output); /* 2 * 2 * (1 + 2) * 2 */
    ck_assert_int_eq(dsgd("run e.yaml -o r --set algorithms=allreduce", &output), 0);
    const char *const rows = read_file("r/runs.csv");
    ck_assert_ptr_nonnull(strstr(rows, ",wall_s,exchange.collective\n"));
    ck_assert_ptr_nonnull(strstr(rows, ",ring\n"));
    ck_assert_ptr_nonnull(strstr(rows, ",rabenseifner\n"));
}
END_TEST

/** A sweep, the runs that it makes of two, and the last field of the first run and the last. */
static const struct {
    const char *sweep;
    int runs;
    const char *first, *last;
} any_sweep[] = {
    {"platform={sweep: [idle-switch, piz-daint]}", 4, "idle-switch", "piz-daint"},
    {"platform={name: {sweep: [idle-switch, piz-daint]}}", 4, "idle-switch", "piz-daint"},
    {"platform=[idle-switch, {sweep: [piz-daint, {host_latency: 1us}]}]", 6, "",
     "{host_latency: 1us}"},
    {"platform={host_latency: {sweep: [1us, 2us]}}", 4, "1us", "2us"},
    {"workload={sweep: [resnet50-p100, {bytes: 1, step: 1s, samples: 1}]}", 4, "resnet50-p100",
     "{bytes: 1, step: 1s, samples: 1}"},
    {"workload.bytes={sweep: [1M, 2M]}", 4, "1M", "2M"},
    {"workers={sweep: [2, 16]}", 2, "2", "16"},
    {"seed={sweep: [2, 3]}", 4, "2", "3"},
    {"until={sweep: [{steps: 2}, {seconds: 1}]}", 4, "{steps: 2}", "{seconds: 1}"},
    {"algorithms={sweep: [allreduce, {name: local_sgd, label: local}]}", 4, "allreduce",
     "{name: local_sgd, label: local}"},
    {"algorithms={name: allreduce, label: {sweep: [x, y]}}", 4, "x", "y"},
    {"algorithms={name: allreduce, optimizer: {sweep: [{lr: 1}, {lr: 2}]}}", 4, "{lr: 1}",
     "{lr: 2}"},
};

START_TEST(any_value_can_be_swept)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(dsgd(kept(dsgd_xprintf("check e.yaml --set algorithms=allreduce --set '%s'",
                                         any_sweep[_i].sweep)),
                       &output) == 0,
                  "%s", output);
    ck_assert_msg(strstr(output, kept(dsgd_xprintf(": %d runs\n", any_sweep[_i].runs))) != NULL,
                  "%s", output);
    ck_assert_msg(strstr(output, kept(dsgd_xprintf(" %s\n", any_sweep[_i].last))) != NULL, "%s",
                  output);
    ck_assert_msg(strstr(output, any_sweep[_i].first) != NULL, "%s", output);
}
END_TEST

START_TEST(a_swept_platform_is_another_platform)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml -o r --set workers=4 --set algorithms=allreduce --set "
                          "'platform={sweep: [{host_bandwidth: 1GBps}, {host_bandwidth: 1MBps}]}'",
                          &output),
                     0);
    const char *const rows = read_file("r/runs.csv");
    ck_assert_ptr_nonnull(strstr(rows, "\n1,allreduce,4,1,inline,inline,ok,10,1."));
    ck_assert_ptr_nonnull(strstr(rows, "\n2,allreduce,4,1,inline,inline,ok,10,1")); /* 15 s more */
    ck_assert_ptr_null(strstr(rows, "\n2,allreduce,4,1,inline,inline,ok,10,1."));
    ck_assert_ptr_nonnull(strstr(rows, ",wall_s,platform.sweep\n"));
}
END_TEST

START_TEST(a_sweep_in_a_file_that_is_named_is_refused)
{
    write_experiment("");
    write_file("p.yaml", "host_latency: {sweep: [1us, 2us]}\n");
    char *output = NULL;
    ck_assert_int_eq(dsgd("check e.yaml --set platform=p.yaml", &output), 2);
    ck_assert_msg(strstr(output, "p.yaml:1:16: host_latency is a sweep") != NULL, "%s", output);
}
END_TEST

Suite *sweep_suite(void)
{
    Suite *s = suite_create("sweep");
    TCase *t = tcase_create("sweep");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, sweeps_multiply_the_runs_and_get_a_column);
    tcase_add_loop_test(t, any_value_can_be_swept, 0, sizeof any_sweep / sizeof any_sweep[0]);
    tcase_add_test(t, a_swept_platform_is_another_platform);
    tcase_add_test(t, a_sweep_in_a_file_that_is_named_is_refused);
    suite_add_tcase(s, t);
    return s;
}
