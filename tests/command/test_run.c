/**
 * @file test_run.c
 * Tests the results of `dsgd run`. They must have the same bytes for any -j and any number of
 * threads. A failed run must have no final values. No other run, kill, limit or experiment may
 * destroy the results of a finished run.
 */
#include <fcntl.h>
#include <jansson.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

SUITE(run, "run", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST(failed_run_names_stopped_worker_and_keeps_other_runs)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 250ms}]}\n");
    char *output =
        dsgd_ends(5, "run e.yaml -o r --set workers=4 --set algorithms='[allreduce, a_psgd]'");
    ck_assert_has(output, "worker 2 had failed");
    const char *const rows = read_file("r/runs.csv");
    ck_assert_has(rows, ",failed,");
    ck_assert_has(rows, ",\"every worker waited for another (deadlock or starvation) at ");
    ck_assert_has(rows, ",ok,10,");
}

/* The loop variable _i is the index of a bound. */
TEST_RANGE(failed_run_has_no_final_values, 0, 2)
{
    static const char *const bounds[] = {"steps: 10", "seconds: 5"};
    write_experiment(learn);
    dsgd_ends(5,
              "run e.yaml -o r --set workers=4 --set algorithms=allreduce "
              "--set 'failures={policy: none, events: [{worker: 2, at: 250ms}]}' --set "
              "learn.evaluate.local=true --set 'until={%s}'",
              bounds[_i]);
    char *rows = read_file("r/runs.csv");
    const char *const header = strsep(&rows, "\n");
    ck_assert_has(header,
                  ",bytes,final_loss,final_accuracy,final_consensus,local_loss,"
                  "local_accuracy,local_accuracy_min,exposed_mean_s,active_mean,"
                  "lag_mean,lag_max,gradient_staleness_mean,gradient_staleness_max,"
                  "partial_skipped,partial_duplicates,pieces,piece_bytes,collective,"
                  "partial_collective,exchange_mode,network,timed_by,sent_mean_bytes,"
                  "sent_max_bytes,energy_j,cost,currency,samples_per_cost,failures,goodput,lost_s,"
                  "detect_s,repair_s,restart_s,checkpoint_s,daly_s,outlived,moves,bubble_share,"
                  "inner_bytes,why,wall_s");
    ck_assert_msg(strstr(rows, ",failed,") != NULL && strstr(rows, ",,,,,,,") != NULL, "%s", rows);
}

/**
 * Tests `--set` for one key of a shipped platform. Setting the value that the platform already has
 * must not change any time. Setting another value must change a time.
 */
TEST(set_key_of_shipped_platform_keeps_other_keys)
{
    static const char *const said[] = {"", "--set platform.nccl.latency=1.4",
                                       "--set platform.nccl.latency=14"};
    char *times[3];
    write_experiment("");
    for (int k = 0; k < 3; k++) {
        dsgd_ends(0, "run e.yaml -o r%d --set platform=dgx-h100 --set workers=16 %s", k, said[k]);
        times[k] = read_file(dsgd_xprintf("r%d/steps.csv", k));
    }
    ck_assert_str_eq(times[0], times[1]);
    ck_assert_str_ne(times[0], times[2]);
}

TEST(results_contain_ages_and_local_models)
{
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o r --set workers=4 --set algorithms=dasgd --set "
                 "learn.evaluate.local=true");
    const char *const ages = read_file("r/staleness.csv");
    ck_assert_has(ages, "run,algorithm,workers,seed,measure,age,share\n");
    ck_assert_has(ages, "1,dasgd,4,1,staleness,1,");
    ck_assert_has(ages, "1,dasgd,4,1,gradient_staleness,0,1\n");
    ck_assert_has(
        read_file("r/runs.csv"),
        ",final_loss,final_accuracy,final_consensus,local_loss,local_accuracy,"
        "local_accuracy_min,exposed_mean_s,active_mean,lag_mean,lag_max,gradient_staleness_mean,"
        "gradient_staleness_max,partial_skipped,partial_duplicates,pieces,piece_bytes,collective,"
        "partial_collective,exchange_mode,network,timed_by,sent_mean_bytes,sent_max_bytes,"
        "energy_j,cost,currency,samples_per_cost,failures,goodput,lost_s,detect_s,repair_s,"
        "restart_s,checkpoint_s,daly_s,outlived,moves,bubble_share,inner_bytes,why,wall_s\n");
}

TEST(run_prints_splits_of_samples)
{
    write_experiment(learn);
    char *output = dsgd_ends(0, "check e.yaml --set workers=[8,16]");
    ck_assert_ptr_null(strstr(output, "samples, of"));
    ck_assert_has(dsgd_ends(2, "check e.yaml --set learn.split=labels --set workers=[8,4]"),
                  "per_worker must be from 3 to 10 with 4 workers");
    ck_assert_has(dsgd_ends(0, "check e.yaml --set learn.split=dirichlet --set workers=8"),
                  "split dirichlet alpha=0.1:\n");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r --set learn.split=dirichlet --set workers=[8,4]"),
                  "\n  8 workers, seed 1: each worker has 64 samples, of ");
}

TEST(results_contain_network_model)
{
    write_experiment("");
    char *output = dsgd_ends(0, "run e.yaml -o f --only 1");
    ck_assert_ptr_null(strstr(output, "network"));
    ck_assert_has(read_file("f/runs.csv"), ",flows,");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o l --only 1 --set network=simgrid"),
                  ", network simgrid\n");
    ck_assert_has(read_file("l/runs.csv"), ",simgrid,simgrid,");
    const char *const manifest = read_file("l/manifest.json");
    ck_assert_has(manifest, "\"network\": \"SimGrid ");
    ck_assert_has(manifest, "\"network\": \"simgrid\"");
    output =
        dsgd_ends(0, "run e.yaml -o s --set 'network={sweep: [flows, simgrid]}' --set workers=4");
    /* If only some runs use SimGrid, the output does not name SimGrid as the network. */
    ck_assert_ptr_null(strstr(output, ", network simgrid\n"));
    ck_assert_has(read_file("s/runs.csv"), ",swept.network\n");
    ck_assert_has(dsgd_ends(2, "run e.yaml -o n --set network=packets"),
                  "valid values: flows, simgrid");
}

/** Lines for e.yaml or options that contain removed keys, and the expected message. */
static const struct {
    const char *more, *sets, *sentence;
} gone[] = {
    {"network: nics\n", "", "network `nics` has gone: use flows"},
    {"", "--set network=nics", "network `nics` has gone: use flows"},
    {"", "--set 'network={sweep: [flows, nics]}'", "network `nics` has gone: use flows"},
    {"exchange: {every_message: true}\n", "", "key `every_message` has gone: use network: simgrid"},
    {"", "--set exchange.every_message=true", "key `every_message` has gone: use network: simgrid"},
    {"", "--set 'exchange.every_message={sweep: [true, false]}'",
     "key `every_message` has gone: use network: simgrid"},
};

TEST_ROWS(removed_words_name_their_replacements, gone)
{
    write_experiment(gone[_i].more);
    ck_assert_has(dsgd_ends(2, "run e.yaml %s", gone[_i].sets), gone[_i].sentence);
}

static const struct {
    const char *sets, *network, *timed_by;
} timings[] = {
    {"--set algorithms=allreduce", "flows", "arithmetic"},
    {"--set algorithms=allreduce --set network=simgrid", "simgrid", "simgrid"},
    {"--set algorithms=ad_psgd", "flows", "flows"},
    {"--set algorithms=allreduce --set workers=1", "flows", "none"},
};

TEST_RANGE(results_contain_source_of_message_times, 0, sizeof timings / sizeof timings[0])
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --set workers=4 %s", timings[_i].sets);
    ck_assert_has(read_file("r/runs.csv"),
                  dsgd_xprintf(",%s,%s,", timings[_i].network, timings[_i].timed_by));
}

/** Run 2 would need 1e9 steps, so only the timeout can end this run. */
TEST(timed_out_run_is_ended_and_executed_again)
{
    static const char endless[] = "run e.yaml -o r --set algorithms=allreduce --set workers=4 "
                                  "--set until.steps='{sweep: [10, 1e9]}' -j 1 --timeout 2s";
    write_experiment(learn);
    char *output = dsgd_ends(5, "%s", endless);
    ck_assert_has(output, "run 2: the run did not end within 2 s (--timeout); it had reached ");
    ck_assert_has(output, "1 of 2 runs failed");
    ck_assert_str_eq(cell_of("r/runs.csv", "1,", "status"), "ok");
    ck_assert_str_eq(cell_of("r/runs.csv", "2,", "status"), "timeout");
    ck_assert(strtod(cell_of("r/runs.csv", "2,", "virtual_s"), NULL) > 0);
    ck_assert(strtod(cell_of("r/runs.csv", "2,", "steps"), NULL) > 0);
    ck_assert_str_eq(cell_of("r/runs.csv", "2,", "messages"), "");
    ck_assert_str_eq(cell_of("r/runs.csv", "2,", "final_loss"), "");
    ck_assert_has(dsgd_ends(5, "%s", endless), "1 of 1 runs failed");
    ck_assert_has(dsgd_ends(2, "run e.yaml --timeout 3days"),
                  "--timeout must be a duration above 0, such as 90s, 30min or 2h, got 3days");
}

TEST(progress_is_json_per_line_or_nothing)
{
    write_experiment("");
    char *output =
        dsgd_ends(0, "run e.yaml -o r --progress json --set until.steps='{sweep: [3, 4]}' "
                     "2>&1 >table | grep '^{'");
    size_t n_runs = 0;
    const char *last = NULL;
    for (char *line = NULL; (line = strsep(&output, "\n")) != NULL && *line != '\0';) {
        json_t *const object = json_loads(line, 0, NULL);
        ck_assert_msg(object != NULL, "%s", line);
        const char *const event = json_string_value(json_object_get(object, "event"));
        json_t *const swept = json_object_get(json_object_get(object, "swept"), "until.steps");
        if (strcmp(event, "run") == 0) {
            ck_assert_msg(json_is_integer(swept) &&
                              (json_integer_value(swept) == 3 || json_integer_value(swept) == 4),
                          "%s", line);
            ck_assert(json_real_value(json_object_get(object, "throughput_samples_per_s")) > 0);
            n_runs++;
        }
        last = line;
    }
    ck_assert_uint_eq(n_runs, 12);
    ck_assert_msg(strstr(last, "{\"event\":\"end\",\"ended\":12,") == last, "%s", last);
    output = dsgd_ends(0, "run e.yaml -o q --progress off 2>said >table; cat said");
    ck_assert_str_eq(output, "");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o q"), "nothing to do: q has the results");
}

TEST(results_of_other_experiment_are_not_overwritten)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r");
    const char *const before = read_file("r/runs.csv");
    ck_assert_has(dsgd_ends(2, "run e.yaml -o r --set until.steps=3"), "--force");
    ck_assert_str_eq(read_file("r/runs.csv"), before);
    dsgd_ends(0, "run e.yaml -o r --set until.steps=3 --force");
    ck_assert_str_ne(read_file("r/runs.csv"), before);
}

TEST(manifest_contains_names_that_are_not_utf_8)
{
    write_experiment("");
    char *const path = dsgd_xprintf("%s/\xc3\xa9-\xff.yaml", folder);
    ck_assert_int_eq(rename(dsgd_xprintf("%s/e.yaml", folder), path), 0);
    dsgd_ends(0, "run \xc3\xa9-\xff.yaml -o r");
    const char *const manifest = read_file("r/manifest.json");
    ck_assert_has(manifest, "\"file\": \"\xc3\xa9-\\\\xff.yaml\"");
    ck_assert_has(dsgd_ends(2, "run \xc3\xa9-\xff.yaml -o r --set until.steps=3"), "--force");
    write_file("r/manifest.json", "(null)\n"); /* this manifest contains no experiment */
    ck_assert_has(dsgd_ends(2, "run \xc3\xa9-\xff.yaml -o r"), "--force");
}

TEST(results_have_same_bytes_for_any_jobs_and_threads)
{
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o a -j 1 --threads 1");
    char *output = dsgd_ends(0, "run e.yaml -o b -j 3 --threads 3");
    ck_assert_str_eq(without_wall(read_file("a/runs.csv")), without_wall(read_file("b/runs.csv")));
    ck_assert_str_eq(read_file("a/curves.csv"), read_file("b/curves.csv"));
    ck_assert_str_eq(read_file("a/workers.csv"), read_file("b/workers.csv"));
    ck_assert_str_eq(read_file("a/steps.csv"), read_file("b/steps.csv"));
    ck_assert_has(output, "results: b/runs.csv");
    ck_assert_has(output, "\nfigures: dsgd plot b\n");
    ck_assert_has(dsgd_ends(3, "run e.yaml -o /proc/nosuch/r"),
                  "/proc/nosuch: cannot create the folder: ");
    ck_assert_int_eq(strncmp(read_file("a/curves.csv"),
                             "run,algorithm,workers,seed,virtual_s,steps,loss,accuracy,"
                             "consensus\n1,allreduce,4,1,0,0,",
                             85),
                     0);
}

TEST(run_without_numerics_is_other_experiment)
{
    write_experiment(learn);
    dsgd_ends(0, "run e.yaml -o r --numerics off");
    dsgd_ends(0, "run e.yaml -o r --numerics off");
    ck_assert_has(dsgd_ends(2, "run e.yaml -o r --numerics cpu"), "with other --numerics");
    dsgd_ends(0, "run e.yaml -o s --numerics cpu --only 1");
    shell_ends(0,
               "cd %s/s && sed -i 's/\"computed\": \"cpu/\"computed\": \"cuda/' "
               "manifest.json",
               folder);
    ck_assert_has(dsgd_ends(2, "run e.yaml -o s --numerics cpu --only 1"), "with other --numerics");
}

/**
 * Tests that --force deletes the results of another experiment, even if the first runs of that
 * experiment have no results.
 */
TEST(force_does_not_mix_experiments)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --only 6");
    dsgd_ends(0, "run e.yaml -o r --force --set until.steps=7");
    const char *const rows = read_file("r/runs.csv");
    ck_assert_has(rows, "\n6,ad_psgd,8,1,idle-switch,inline,ok,7,");
}

TEST(repeated_run_executes_only_missing_runs)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --only 2");
    const char *const first = read_file("r/runs.csv");
    ck_assert_has(first, "\n2,wagma,4,");
    ck_assert_ptr_null(strstr(first, "\n1,allreduce"));
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r"), "5 of 5 runs");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r"), "nothing to do");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r --force"), "6 of 6 runs");
}

/** Tests that a run is executed again if the file with its results is damaged. */
TEST(damaged_parts_are_executed_again)
{
    write_experiment("");
    char *output = dsgd_ends(0, "run e.yaml -o r");
    const char *const rows = without_wall(read_file("r/runs.csv"));
    const char *const workers = read_file("r/workers.csv");
    const char *const damage = dsgd_xprintf(
        "cd %s/r/.parts && : > 1.part && truncate -s -5 2.part && echo garbage >> 3.part && "
        "sed -i s/,8,/,9,/ 4.part",
        folder);
    shell_ends(0, "%s", damage);
    output = dsgd_ends(0, "run e.yaml -o r");
    ck_assert_has(output, "4 of 4 runs");
    for (int i = 1; i <= 4; i++)
        ck_assert_has(
            output, dsgd_xprintf("run %d: its results are damaged, so it is executed again\n", i));
    ck_assert_str_eq(without_wall(read_file("r/runs.csv")), rows);
    ck_assert_str_eq(read_file("r/workers.csv"), workers);
}

TEST(results_require_same_manifest_files_and_program)
{
    write_experiment("");
    write_file("delays.csv", "worker,step,seconds\n0,0,0.05\n");
    static const char again[] =
        "run e.yaml -o r --only 1 --set 'imbalance=[{kind: replay, file: delays.csv}]'";
    char *output = dsgd_ends(0, "%s", again);
    ck_assert_has(dsgd_ends(0, "%s", again), "nothing to do");
    ck_assert_has(dsgd_ends(0, "run ./e.yaml -o r --only 1 --set 'imbalance=[{kind: replay, file: "
                               "delays.csv}]'"),
                  "nothing to do");
    write_file("delays.csv", "worker,step,seconds\n0,0,0.07\n");
    ck_assert_has(dsgd_ends(2, "%s", again), "other contents of a file");
    write_file("delays.csv", "worker,step,seconds\n0,0,0.05\n");
    output = shell_ends(0, "cd %s/r && sed -i 's/\"dsgd\": \"/&0/' manifest.json", folder);
    ck_assert_has(dsgd_ends(2, "%s", again), "another build of dsgd");
    output = shell_ends(0,
                        "cd %s/r && sed -i 's/\"dsgd\": \"0/\"dsgd\": \"/; s/\"libc\": \"/&0/' "
                        "manifest.json",
                        folder);
    ck_assert_has(dsgd_ends(2, "%s", again), "with other libraries or on another kind of CPU");
    ck_assert_int_eq(unlink(dsgd_xprintf("%s/r/manifest.json", folder)), 0);
    ck_assert_has(dsgd_ends(2, "%s", again), "results without a manifest.json");
    shell_ends(0, "rm %s/r/*.csv", folder);
    output = dsgd_ends(2, "%s", again); /* the results of the finished runs remain in r/.parts */
    ck_assert_has(output, "results without a manifest.json");
    shell_ends(0, "cd %s/r && rm -r .parts && echo '{}' > manifest.json", folder);
    dsgd_ends(0, "%s", again); /* without the results, another experiment may use the folder */
}

/**
 * Tests that two processes cannot write to one folder. The first process computes for minutes in
 * the background, and the second process starts when the first has locked the folder.
 */
TEST(only_one_process_writes_to_folder)
{
    write_experiment("");
    char *output = NULL;
    const char *const script = dsgd_xprintf(
        "cd %s && export DSGD_DATA=%s && { %s run e.yaml -o r -j 2 --set until.steps=100000000 > "
        "log 2>&1 & } && until test -s r/.parts/lock; do sleep 0.01; done; %s run e.yaml -o r "
        "--force 2>&1; echo $?; %s merge r -o r 2>&1; echo $?; echo first: process $! on $(uname "
        "-n); kill -KILL $!; wait $! 2> /dev/null; cat r/.parts/lock; %s run e.yaml -o r --force "
        "2>&1",
        folder, DSGD_SOURCE_DIR, DSGD_BINARY, DSGD_BINARY, DSGD_BINARY, DSGD_BINARY);
    ck_assert_msg(shell(script, &output) == 0, "%s", output);
    const char *const first = strstr(output, "first: ");
    ck_assert_msg(first != NULL, "%s", output);
    const char *const holder = dsgd_xprintf("%.*s", (int)strcspn(first + 7, "\n"), first + 7);
    ck_assert_has(output,
                  dsgd_xprintf("r: another dsgd (%s) is writing results here; wait until it "
                               "ends, or give another folder with -o\n2\n",
                               holder));
    ck_assert_msg(strstr(first, dsgd_xprintf("\n%s\n", holder)) != NULL, "%s", output);
    ck_assert_has(first, "6 of 6 runs"); /* the lock of a killed process is free again */
    const int held = open(dsgd_xprintf("%s/r/.parts/lock", folder), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    ck_assert_int_eq(ftruncate(held, 0),
                     0); /* the lock file of an earlier version contains no name */
    ck_assert_has(dsgd_ends(2, "run e.yaml -o r --force"), "r: another dsgd is writing");
    close(held);
    output = dsgd_ends(0, "run e.yaml -o r");
}

TEST(links_in_folder_are_not_followed)
{
    write_experiment("");
    write_file("victim", "precious");
    shell_ends(0, "mkdir -p r/.parts && ln -s ../victim "
                  "r/runs.csv.new && ln -s ../../victim "
                  "r/.parts/1.part.new");
    dsgd_ends(0, "run e.yaml -o r");
    ck_assert_str_eq(read_file("victim"), "precious");
    ck_assert_has(read_file("r/runs.csv"), "\n1,allreduce,4,");
}

TEST(part_must_match_its_run_and_be_regular_file)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r");
    const char *const runs = "cut -d, -f1-12 r/runs.csv";
    const char *const before = shell_ends(0, runs);
    shell_ends(0, "cp r/.parts/1.part r/.parts/2.part");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r"), "run 2: its results are damaged");
    ck_assert_str_eq(shell_ends(0, runs), before);
    shell_ends(0, "rm r/.parts/2.part && mkfifo r/.parts/2.part");
    for (size_t i = 0; i < 2; i++)
        ck_assert_has(dsgd_ends(3, i == 0 ? "run e.yaml -o r" : "merge r -o m"),
                      "r/.parts/2.part: the file cannot be read: it is a pipe");
    shell_ends(0, "rm r/runs.csv && mkfifo r/runs.csv");
    dsgd_ends(3, "compare r");
    shell_ends(0, "bash -c '" DSGD_BINARY " check <(cat e.yaml)'");
}

TEST(folders_in_results_must_not_be_links)
{
    write_experiment("");
    shell_ends(0, "mkdir -p victim r && echo precious >victim/lock && ln -s ../victim r/.parts");
    ck_assert_has(dsgd_ends(3, "run e.yaml -o r --force"),
                  "r/.parts: must be a folder, not a link or a file");
    shell_ends(0, "rm r/.parts");
    dsgd_ends(0, "run e.yaml -o r");
    shell_ends(0, "rm -rf r/figures && ln -s ../victim r/figures");
    ck_assert_has(dsgd_ends(3, "plot r"), "r/figures: must be a folder, not a link or a file");
    ck_assert_str_eq(read_file("victim/lock"), "precious\n");
}

TEST(sender_to_stopped_worker_continues)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 0s}]}\n");
    dsgd_ends(0, "run e.yaml --set workers=4 --set 'algorithms=[rennala, ringmaster, a_psgd]'");
}

/** Returns the key `seed` with a list of the seeds 1 to n. */
static const char *seeds(int n)
{
    char *text = dsgd_xstrdup("seed: [1");
    for (int i = 2; i <= n; i++)
        dsgd_append(&text, ", %d", i);
    dsgd_append(&text, "]\n");
    return kept(text);
}

TEST(ten_thousand_runs_need_at_most_256_descriptors)
{
    const int n = SUPPORT_SLOW ? 2000 : 10000;
    write_experiment(seeds(n));
    char *output = NULL;
    const int status =
        shell(dsgd_xprintf("cd %s && ulimit -n 256 && DSGD_DATA=%s %s check e.yaml --set workers=4 "
                           "--set algorithms=allreduce --set platform=piz-daint --set "
                           "workload=resnet50-p100 --set imbalance=gpu-variability 2>&1 | grep "
                           "'%d runs\\|^%d '",
                           folder, DSGD_SOURCE_DIR, DSGD_BINARY, n, n),
              &output);
    ck_assert_msg(status == 0, "%s", output);
    ck_assert_has(output, dsgd_xprintf(": %d runs\n", n));
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &usage), 0);
    /* the process uses at most 1 GB; without sanitizers it uses 94 MB */
    ck_assert_int_lt(usage.ru_maxrss, 1000000);
}

/**
 * Tests a limit on open files. The command must write all rows or print an error about open files.
 * After an error, the same command without the limit must complete the rows. The loop variable _i
 * is the limit, except that 12 stands for a limit of 64.
 */
TEST_RANGE(low_limit_of_descriptors_loses_no_row, 6, 13)
{
    write_experiment(seeds(29));
    static const char arguments[] = "run e.yaml -o r -j 2 --set workers=4 --set "
                                    "algorithms=allreduce --set platform=piz-daint";
    char *output = NULL;
    const int status = shell(
        dsgd_xprintf("cd %s && export DSGD_DATA=%s && exec 2>&1 && ulimit -n %d && exec %s %s",
                     folder, DSGD_SOURCE_DIR, _i == 12 ? 64 : _i, DSGD_BINARY, arguments),
        &output);
    if (status != 0)
        ck_assert_msg(strstr(output, "open files") != NULL, "exit %d: %s", status, output);
    else
        ck_assert_has(read_file("r/runs.csv"), "\n29,allreduce,4,29,");
    output = dsgd_ends(0, "%s", arguments);
    const char *const rows = read_file("r/runs.csv");
    for (int i = 1; i <= 29; i++)
        ck_assert_has(rows, dsgd_xprintf("\n%d,allreduce,4,%d,", i, i));
}

/**
 * Tests that runs end if their parent is killed. The script waits until two runs compute in the
 * background, and shell_ends() returns when the last of them has closed its pipe. The loop variable
 * _i is the index of a signal.
 */
TEST_RANGE(no_process_outlives_its_parent, 0, 3)
{
    static const struct {
        const char *name, *output, *more, *rest;
    } by[] = {{"KILL", "137\n", "", ""},
              {"HUP", "5\n", "", "the same command executes"},
              {"TERM", "5\n", "--force", "the same command without --force executes"}};
    write_experiment("");
    char *output = NULL;
    const char *const script = dsgd_xprintf(
        "exec 2> /dev/null; cd %s && mkdir tmp && export TMPDIR=$PWD/tmp DSGD_DATA=%s && { %s run "
        "e.yaml -o r -j 2 --set until.steps=100000000 %s 2> log & } && "
        "runs=/proc/$!/task/$!/children && until grep -q ' .* ' $runs; do :; done && kill -%s $! "
        "&& wait $!; echo $?",
        folder, DSGD_SOURCE_DIR, DSGD_BINARY, by[_i].more, by[_i].name);
    output = shell_ends(0, "%s", script);
    ck_assert_str_eq(output, by[_i].output);
    /* No temporary file remains in TMPDIR. */
    ck_assert_int_eq(rmdir(dsgd_xprintf("%s/tmp", folder)), 0);
    if (strcmp(by[_i].name, "KILL") == 0)
        return; /* a process that is killed has no time to print a message */
    ck_assert_has(read_file("log"), "interrupted; r keeps the results so far");
    ck_assert_has(read_file("log"), by[_i].rest);
}

TEST(runs_with_commas_in_names_resume)
{
    write_experiment("");
    write_file("a, b.yaml", "host_latency: 1us\n");
    dsgd_ends(0, "run e.yaml -o r --set platform='\"a, b.yaml\"'");
    ck_assert_has(read_file("r/runs.csv"), ",1,\"a, b.yaml\",inline,ok,");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o r --set platform='\"a, b.yaml\"'"), "nothing to do");
}

/**
 * Runs the program while some calls of fork() fail, and stores its output. @p plan is described at
 * FAILING_FORKS in failing_fork.c.
 */
static int with_failing_forks(const char *plan, const char *arguments, char **output)
{
    char *const command =
        dsgd_xprintf("cd %s && timeout 50 env DSGD_DATA=%s FAILING_FORKS=%s LD_PRELOAD=%s "
                     "ASAN_OPTIONS=verify_asan_link_order=0 %s %s 2>&1",
                     folder, DSGD_SOURCE_DIR, plan, DSGD_FAILING_FORK, DSGD_BINARY, arguments);
    return shell(command, output);
}

TEST(run_without_process_waits_for_running_run)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("101", "run e.yaml -o r -j 2", &output) == 0, "%s", output);
    ck_assert_has(output, "6 of 6 runs");
    ck_assert_ptr_null(strstr(read_file("r/runs.csv"), "failed"));
}

TEST(run_without_process_fails_if_no_run_is_running)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("0", "run e.yaml -o r -j 2", &output) == 5, "%s", output);
    ck_assert_has(output, "run 6: no process for the run: Resource");
    ck_assert_has(output, "6 of 6 runs failed");
    ck_assert_has(read_file("r/runs.csv"), "\n6,ad_psgd,8,1,idle-switch,inline,failed,");
}

/**
 * Tests that one process checks the platform file for all runs. In this test, the third call of
 * fork() fails, and the program needs only two calls.
 */
TEST(simgrid_platform_is_checked_once)
{
    write_experiment("");
    write_file("p.xml",
               "<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
               "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><cluster "
               "id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"1GBps\" "
               "lat=\"1us\"/></platform>\n");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("110",
                                     "run e.yaml -o r --only 1 --set workers=4 --set "
                                     "platform=p.xml",
                                     &output) == 0,
                  "%s", output);
    ck_assert_msg(with_failing_forks("110", "check e.yaml --set platform=p.xml", &output) == 2,
                  "%s", output);
    ck_assert_has(output, "has 4 hosts, but 8 workers");
}

/**
 * Tests a SimGrid link that is off from 0.25 s to 0.75 s. A run fails if it loses a message. If the
 * link is off only after the runs, they succeed.
 */
TEST(failing_simgrid_link_fails_run)
{
    write_experiment("");
    write_file(
        "p.xml",
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
        "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><zone id=\"z\" "
        "routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><link "
        "id=\"l\" bandwidth=\"1GBps\" latency=\"1us\" state_file=\"l.off\"/><route src=\"a\" "
        "dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>\n");
    static const char words[] =
        "run e.yaml -o r --force --set workers=2 --set platform=p.xml --set "
        "algorithms='[allreduce, ad_psgd]'";
    write_file("l.off", "0.25 0\n0.75 1\n");
    ck_assert_has(dsgd_ends(5, words), "a link in the platform's file fails, by its profile");
    ck_assert_ptr_null(strstr(read_file("r/runs.csv"), ",ok,"));
    write_file("l.off", "100 0\n");
    dsgd_ends(0, words);
}

/** Tests a process that is killed after it has written its row. Its run counts as finished. */
TEST(row_of_process_killed_at_its_end_is_kept)
{
    write_experiment("");
    char *output = NULL;
    ck_assert_msg(with_failing_forks("1 KILLED_EXITS=1", "run e.yaml -o r", &output) == 0, "%s",
                  output);
    ck_assert_ptr_null(strstr(read_file("r/runs.csv"), "failed"));
    ck_assert_has(read_file("r/runs.csv"), "\n6,ad_psgd,8,1,idle-switch,inline,ok,");
}

/** Tests that notes follow the table in the same file. */
TEST(notes_follow_table)
{
    write_experiment("");
    dsgd_ends(0, "run e.yaml -o r --progress off --set until.steps=1 --set seed='[1, 2, 3, 4, 5, "
                 "6, 7, 8, 9, 10, 11, 12, 13, 14, 15]' --set exchange.partial_collective=ring "
                 "--set workload.step='{sweep: "
                 "[1, 2, 3]}' --set algorithms=allreduce >all");
    const char *const all = read_file("all");
    const char *const note = strstr(all, "note:");
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_null(strstr(note, "figures: dsgd plot"));
    for (const char *n = note; n != NULL; n = strstr(n + 1, "note:"))
        ck_assert_msg(n[-1] == '\n', "%.80s", n - 40);
}

TEST(closed_output_is_error_and_no_file_replaces_it)
{
    write_experiment("");
    char *output = shell_ends(3, "exec 2>&1 && DSGD_DATA=%s %s run e.yaml -o r >&-",
                              DSGD_SOURCE_DIR, DSGD_BINARY);
    ck_assert_has(output, "standard output could not be written: Bad file");
    ck_assert_int_eq(strncmp(read_file("r/.parts/lock"), "process ", 8), 0);
    ck_assert_ptr_null(strstr(read_file("r/.parts/lock"), "allreduce"));
}
