/**
 * @file test_run.c
 * Results of runs: the same bytes at any -j and any number of threads, nothing final of a run that
 * has failed, and --resume, --force.
 */
#include <stdio.h>
#include <string.h>

#include "tests/command/shell.h"
#include "tests/suites.h"

START_TEST(a_stopped_worker_is_named_and_the_others_are_kept)
{
    write_experiment("stops: [{worker: 2, after: 250ms}]\n");
    char *output = NULL;
    ck_assert_int_eq(
        dsgd("run e.yaml -o r --set workers=4 --set algorithms='[allreduce, a_psgd]'", &output), 5);
    ck_assert_msg(strstr(output, "; worker 2 had") != NULL, "%s", output);
    const char *const rows = read_file("r/runs.csv");
    ck_assert_ptr_nonnull(strstr(rows, ",failed,"));
    ck_assert_ptr_nonnull(strstr(rows, ",ok,10,"));
}
END_TEST

START_TEST(nothing_is_final_in_a_run_that_has_failed) /* _i: under which bound */
{
    static const char *const bounds[] = {"steps: 10", "seconds: 5"};
    write_experiment(learn);
    char *output = NULL;
    ck_assert_int_eq(
        dsgd(kept(dsgd_xprintf("run e.yaml -o r --set workers=4 --set algorithms=allreduce "
                               "--set 'stops=[{worker: 2, after: 250ms}]' --set "
                               "learn.evaluate.local=true --set 'until={%s}'",
                               bounds[_i])),
             &output),
        5);
    char *rows = read_file("r/runs.csv");
    const char *const header = strsep(&rows, "\n");
    ck_assert_ptr_nonnull(strstr(header,
                                 ",bytes,final_loss,final_accuracy,final_consensus,local_loss,"
                                 "local_accuracy,local_accuracy_min,exposed_mean_s,active_mean,"
                                 "lag_mean,lag_max,gradient_staleness_mean,gradient_staleness_max,"
                                 "partial_skipped,partial_duplicates,wall_s"));
    ck_assert_msg(strstr(rows, ",failed,") != NULL && strstr(rows, ",,,,,,,") != NULL, "%s", rows);
}
END_TEST

START_TEST(ages_and_local_models_come_out)
{
    write_experiment(learn);
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml -o r --set workers=4 --set algorithms=dasgd --set "
                          "learn.evaluate.local=true",
                          &output),
                     0);
    const char *const ages = read_file("r/staleness.csv");
    ck_assert_ptr_nonnull(strstr(ages, "run,algorithm,workers,seed,measure,age,share\n"));
    ck_assert_ptr_nonnull(strstr(ages, "1,dasgd,4,1,staleness,1,"));
    ck_assert_ptr_nonnull(strstr(ages, "1,dasgd,4,1,gradient_staleness,0,1\n"));
    ck_assert_ptr_nonnull(strstr(
        read_file("r/runs.csv"),
        ",final_loss,final_accuracy,final_consensus,local_loss,local_accuracy,"
        "local_accuracy_min,exposed_mean_s,active_mean,lag_mean,lag_max,gradient_staleness_mean,"
        "gradient_staleness_max,partial_skipped,partial_duplicates,wall_s\n"));
}
END_TEST

START_TEST(results_of_another_experiment_are_not_written_over)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(dsgd("run e.yaml -o r", &output) == 0, "%s", output);
    const char *const before = read_file("r/runs.csv");
    ck_assert_int_eq(dsgd("run e.yaml -o r --set until.steps=3", &output), 2);
    ck_assert_ptr_nonnull(strstr(output, "--force"));
    ck_assert_str_eq(read_file("r/runs.csv"), before);
    ck_assert_int_eq(dsgd("run e.yaml -o r --set until.steps=3 --force", &output), 0);
    ck_assert_str_ne(read_file("r/runs.csv"), before);
}
END_TEST

START_TEST(the_manifest_holds_names_that_are_no_utf_8)
{
    write_experiment("");
    char *output = NULL;
    char *const path = kept(dsgd_xprintf("%s/\xc3\xa9-\xff.yaml", folder));
    ck_assert_int_eq(rename(kept(dsgd_xprintf("%s/e.yaml", folder)), path), 0);
    ck_assert_msg(dsgd("run \xc3\xa9-\xff.yaml -o r", &output) == 0, "%s", output);
    const char *const manifest = read_file("r/manifest.json");
    ck_assert_msg(strstr(manifest, "\"file\": \"\xc3\xa9-\\\\xff.yaml\"") != NULL, "%s", manifest);
    ck_assert_int_eq(dsgd("run \xc3\xa9-\xff.yaml -o r --set until.steps=3", &output), 2);
    ck_assert_ptr_nonnull(strstr(output, "--force"));
    write_file("r/manifest.json", "(null)\n"); /* whose results these are is not known */
    ck_assert_int_eq(dsgd("run \xc3\xa9-\xff.yaml -o r", &output), 2);
    ck_assert_ptr_nonnull(strstr(output, "--force"));
}
END_TEST

START_TEST(the_same_experiment_gives_the_same_bytes_at_any_jobs_and_threads)
{
    write_experiment(learn);
    char *output = NULL;
    ck_assert_msg(dsgd("run e.yaml -o a -j 1 --threads 1", &output) == 0, "%s", output);
    ck_assert_msg(dsgd("run e.yaml -o b -j 3 --threads 3", &output) == 0, "%s", output);
    ck_assert_str_eq(without_wall(read_file("a/runs.csv")), without_wall(read_file("b/runs.csv")));
    ck_assert_str_eq(read_file("a/curves.csv"), read_file("b/curves.csv"));
    ck_assert_str_eq(read_file("a/workers.csv"), read_file("b/workers.csv"));
    ck_assert_ptr_nonnull(strstr(output, "results: b/runs.csv"));
    ck_assert_int_eq(strncmp(read_file("a/curves.csv"),
                             "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,"
                             "consensus\n1,allreduce,4,1,0,0,",
                             85),
                     0);
}
END_TEST

START_TEST(resume_without_numerics_is_another_experiment)
{
    write_experiment(learn);
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml -o r --numerics off", &output), 0);
    ck_assert_int_eq(dsgd("run e.yaml -o r --numerics off --resume", &output), 0);
    ck_assert_int_eq(dsgd("run e.yaml -o r --numerics cpu --resume", &output), 2);
    ck_assert_msg(strstr(output, "with other --numerics") != NULL, "%s", output);
}
END_TEST

/** Results of another experiment go, also behind a run that has none. */
START_TEST(force_and_resume_mix_no_experiments)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml -o r --only 6", &output), 0);
    ck_assert_int_eq(dsgd("run e.yaml -o r --force --resume --set until.steps=7", &output), 0);
    const char *const rows = read_file("r/runs.csv");
    ck_assert_ptr_nonnull(strstr(rows, "\n6,ad_psgd,8,1,idle-switch,inline,ok,7,"));
}
END_TEST

START_TEST(resume_does_only_what_is_missing)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml -o r --only 2", &output), 0);
    const char *const first = read_file("r/runs.csv");
    ck_assert_ptr_nonnull(strstr(first, "\n2,wagma,4,"));
    ck_assert_ptr_null(strstr(first, "\n1,allreduce"));
    ck_assert_int_eq(dsgd("run e.yaml -o r --resume", &output), 0);
    ck_assert_ptr_nonnull(strstr(output, "5 of 5 runs"));
    ck_assert_int_eq(dsgd("run e.yaml -o r --resume", &output), 0);
    ck_assert_ptr_nonnull(strstr(output, "0 of 0 runs"));
}
END_TEST

START_TEST(names_with_commas_are_resumed_too)
{
    write_experiment("");
    write_file("a, b.yaml", "host_latency: 1us\n");
    char *output = NULL;
    ck_assert_msg(dsgd("run e.yaml -o r --set platform='\"a, b.yaml\"'", &output) == 0, "%s",
                  output);
    ck_assert_ptr_nonnull(strstr(read_file("r/runs.csv"), ",1,\"a, b.yaml\",inline,ok,"));
    ck_assert_int_eq(dsgd("run e.yaml -o r --resume --set platform='\"a, b.yaml\"'", &output), 0);
    ck_assert_msg(strstr(output, "0 of 0 runs") != NULL, "%s", output);
}
END_TEST

/** What the program prints where some of its fork()s fail, as FAILING_FORKS says. */
static int with_failing_forks(const char *plan, const char *arguments, char **output)
{
    char *const command = kept(
        dsgd_xprintf("cd %s && timeout 50 env DSGD_DATA=%s FAILING_FORKS=%s LD_PRELOAD=%s "
                     "ASAN_OPTIONS=verify_asan_link_order=0 %s %s 2>&1",
                     folder, DSGD_SOURCE_DIR, plan, DSGD_FAILING_FORK, DSGD_BINARY, arguments));
    return shell(command, output);
}

START_TEST(a_run_that_gets_no_process_waits_for_another_to_end)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("1001", "run e.yaml -o r -j 2", &output) == 0, "%s", output);
    ck_assert_msg(strstr(output, "6 of 6 runs") != NULL, "%s", output);
    ck_assert_ptr_null(strstr(read_file("r/runs.csv"), "failed"));
}
END_TEST

START_TEST(a_run_that_gets_no_process_with_none_under_way_has_failed)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("0", "run e.yaml -o r -j 2", &output) == 5, "%s", output);
    ck_assert_msg(strstr(output, "run 6: no process for the run: Resource") != NULL, "%s", output);
    ck_assert_msg(strstr(output, "6 of 6 runs failed") != NULL, "%s", output);
    ck_assert_ptr_nonnull(
        strstr(read_file("r/runs.csv"), "\n6,ad_psgd,8,1,idle-switch,inline,failed,"));
}
END_TEST

Suite *run_suite(void)
{
    Suite *s = suite_create("run");
    TCase *t = tcase_create("run");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, a_stopped_worker_is_named_and_the_others_are_kept);
    tcase_add_loop_test(t, nothing_is_final_in_a_run_that_has_failed, 0, 2);
    tcase_add_test(t, ages_and_local_models_come_out);
    tcase_add_test(t, results_of_another_experiment_are_not_written_over);
    tcase_add_test(t, the_manifest_holds_names_that_are_no_utf_8);
    tcase_add_test(t, the_same_experiment_gives_the_same_bytes_at_any_jobs_and_threads);
    tcase_add_test(t, resume_without_numerics_is_another_experiment);
    tcase_add_test(t, force_and_resume_mix_no_experiments);
    tcase_add_test(t, resume_does_only_what_is_missing);
    tcase_add_test(t, names_with_commas_are_resumed_too);
    tcase_add_test(t, a_run_that_gets_no_process_waits_for_another_to_end);
    tcase_add_test(t, a_run_that_gets_no_process_with_none_under_way_has_failed);
    suite_add_tcase(s, t);
    return s;
}
