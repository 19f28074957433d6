/**
 * @file test_shards.c
 * An experiment done in parts: `--only`, `--shard` and `dsgd merge` give the bytes of one run, and
 * nothing that differs or is missing goes in unnoticed; what `dsgd check` says of its runs, for
 * other programs.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/csv.h"
#include "command/runs/results.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/** Twelve runs, with curves, splits and a sweep. */
static void write_sweep(void)
{
    write_experiment(dsgd_xprintf("%s  split: dirichlet\nseed: {sweep: [1, 2]}\n", learn));
}

/** Does the shards of e.yaml in s1, ..., sN. */
static void run_shards(int n)
{
    for (int i = 1; i <= n; i++)
        dsgd_ends(0, "run e.yaml -o s%d --shard %d/%d -j 2", i, i, n);
}

/** All files of two folders of results, but for wall times and the command. */
static void assert_same_results(const char *a, const char *b)
{
    static const char *const files[] = {"curves", "workers", "staleness", "steps", "labels"};
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        ck_assert_str_eq(read_file(dsgd_xprintf("%s/%s.csv", a, files[k])),
                         read_file(dsgd_xprintf("%s/%s.csv", b, files[k])));
    ck_assert_str_eq(without_wall(read_file(dsgd_xprintf("%s/runs.csv", a))),
                     without_wall(read_file(dsgd_xprintf("%s/runs.csv", b))));
    char *output = NULL;
    ck_assert_msg(shell(dsgd_xprintf("cd %s && grep -v '\"command\"' %s/manifest.json > m1; "
                                     "grep -v '\"command\"' %s/manifest.json | cmp - m1",
                                     folder, a, b),
                        &output) == 0,
                  "%s", output);
}

static const int shard_counts[] = {1, 2, 3, 13}; /* 13 leave one without a run */

SUITE(shards, "shards", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST_ROWS(merged_shards_are_the_bytes_of_one_run, shard_counts)
{
    write_sweep();
    char *output = dsgd_ends(0, "run e.yaml -o whole -j 2");
    run_shards(shard_counts[_i]);
    output = dsgd_ends(0, "merge s* -o all");
    const char *const said = dsgd_xprintf("12 runs of %d folder", shard_counts[_i]);
    ck_assert_has(output, said);
    assert_same_results("whole", "all");
    ck_assert_has(dsgd_ends(0, "run e.yaml -o all"), "nothing to do");
}

TEST(every_run_is_in_one_shard_and_the_shards_have_as_much_to_do)
{
    write_experiment("seed: [1, 2, 3, 4, 5, 6, 7, 8]\n");
    char *output = NULL;
    size_t n_rows = 0;
    for (int i = 1; i <= 4; i++) {
        output = dsgd_ends(0,
                           "run e.yaml -o s --shard %d/4 --force -v --set "
                           "until.steps=1 --set workers='[4, 8, 16, 32]' "
                           "--set algorithms=allreduce | grep -c '  "
                           "allreduce *32 '",
                           i);
        ck_assert_str_eq(output, "2\n"); /* of the 8 large ones */
    }
    const char *const rows = read_file("s/runs.csv"); /* each kept what the others had done */
    for (const char *c = rows; (c = strstr(c, ",allreduce,")) != NULL; c++)
        n_rows++;
    ck_assert_uint_eq(n_rows, 32);
}

TEST(a_long_run_has_a_shard_by_itself)
{
    write_experiment("");
    char *output = NULL;
    static const char shard[] = "run e.yaml -o s%d --shard %d/2 --set workers=4 --set "
                                "algorithms=allreduce --set until.steps='{sweep: [10, 70, 20, "
                                "30]}' && tail -n +2 s%d/runs.csv | cut -d, -f1 | tr '\\n' ' '";
    for (int i = 1; i <= 2; i++) {
        output = dsgd_ends(0, shard, i, i, i);
        const char *const line = strrchr(output, '\n');
        ck_assert_msg(line != NULL && strcmp(line + 1, i == 1 ? "2 " : "1 3 4 ") == 0, "%s",
                      output);
    }
}

TEST(only_takes_lists_and_ranges)
{
    static const struct {
        const char *only, *rows; /* first cells; NULL: refused */
    } cases[] = {{"2", "2 "},
                 {"1,3,5:6", "1 3 5 6 "},
                 {"4:6,4", "4 5 6 "},
                 {"6,1", "1 6 "},
                 {"0", NULL},
                 {"7", NULL},
                 {"2:1", NULL},
                 {"1,", NULL},
                 {"", NULL},
                 {"1-2", NULL},
                 {"1:99999999999999999999", NULL},
                 {"-1", NULL}};
    write_experiment("");
    char *output = NULL;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const int status =
            dsgd(dsgd_xprintf("run e.yaml -o o%zu --only '%s'", k, cases[k].only), &output);
        ck_assert_int_eq(status, cases[k].rows == NULL ? 2 : 0);
        if (cases[k].rows == NULL) {
            ck_assert_has(output, "--only ");
            continue;
        }
        output =
            shell_ends(0, "tail -n +2 %s/o%zu/runs.csv | cut -d, -f1 | tr '\\n' ' '", folder, k);
        ck_assert_str_eq(output, cases[k].rows);
    }
    static const char *const bad[] = {"0/2", "3/2", "1", "1/2/3", "1/10001", "a/b", "1/2 --only 1"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        ck_assert_has(dsgd_ends(2, "run e.yaml -o b --shard %s", bad[k]), "--shard ");
    }
}

TEST(what_is_missing_or_damaged_is_named)
{
    write_sweep();
    run_shards(2);
    dsgd_ends(0, "run e.yaml -o one --only 1,3:11");
    char *output = dsgd_ends(2, "merge one -o all");
    ck_assert_has(output, "2 of 12 runs are missing or damaged in the folder: 2,12;");
    ck_assert_int_ne(access(dsgd_xprintf("%s/all", folder), F_OK), 0);
    output = shell_ends(0, "for f in s*/.parts/7.part; do truncate -s "
                           "-1 $f; done");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 -o all"),
                  "1 of 12 runs are missing or damaged in all of the folders: 7;");
    output = dsgd_ends(0, "merge s1 s2 one -o all");
}

TEST(folders_of_other_experiments_programs_or_results_are_not_merged)
{
    write_sweep();
    run_shards(2);
    dsgd_ends(0, "run e.yaml -o other --only 1 --set until.steps=3");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 other -o all"),
                  "other: the folder has the results of another experiment, or of this one by "
                  "another build of dsgd, compared with s1");
    /* The same runs, with a column more. */
    dsgd_ends(0, "run e.yaml -o swept --only 1 --set inherent='{sweep: [true]}'");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 swept -o all"),
                  "swept: the folder has the results of another experiment");
    shell_ends(0, "cp -r s2 built && sed -i 's/\"dsgd\": "
                  "\"/&0/' built/manifest.json && cp -r s2 bare && rm "
                  "bare/manifest.json && mkdir empty");
    ck_assert_has(dsgd_ends(2, "merge s1 built -o all"), "by another build of dsgd");
    ck_assert_has(dsgd_ends(2, "merge s1 bare -o all"), "bare: this is no folder of results");
    dsgd_ends(2, "merge empty -o all");
    dsgd_ends(2, "merge s1 s2");
    dsgd_ends(2, "merge -o all");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 -o other"),
                  "other: the folder has the results of another experiment, or of this");
    dsgd_ends(0, "merge s1 s2 -o other --force");
    ck_assert_has(read_file("other/runs.csv"), "\n12,");
}

/** A machine that computes otherwise, or a hand: the part is whole, but is not that of another. */
TEST(results_of_an_older_version_are_refused_and_say_what_to_do)
{
    write_sweep();
    run_shards(1);
    shell_ends(0, "sed -i 's/\"swept\"/\"columns\"/' %s/s1/manifest.json", folder);
    ck_assert_has(dsgd_ends(2, "merge s1 -o all"),
                  "older version of dsgd, whose files have other columns; merge "
                  "them by that version, or run them again");
    ck_assert_has(dsgd_ends(2, "run e.yaml -o s1"),
                  "older version of dsgd, whose files have other columns; take "
                  "another folder with -o, or --force");
}

/** Its manifest is as today, but its rows lack a cell: under today's header all cells behind would
 * be wrong. */
TEST(rows_of_another_version_do_not_come_under_this_header)
{
    write_sweep();
    run_shards(1);
    const char *const s1 = dsgd_xprintf("%s/s1", folder);
    dsgd_part part;
    ck_assert_int_eq(dsgd_part_read(s1, 0, &part, NULL), DSGD_OK);
    char *const cell = strstr(part.text, ",ok,");
    memmove(cell, cell + 3, strlen(cell + 3) + 1);
    part.n_bytes[DSGD_PART_RUNS] -= 3;
    ck_assert_int_eq(dsgd_part_write(s1, 0, part.sections[0], part.n_bytes, NULL), DSGD_OK);
    ck_assert_has(dsgd_ends(2, "merge s1 -o all"), "whose files have other columns; merge them by");
}

TEST(the_manifest_lists_the_swept_columns)
{
    write_sweep();
    run_shards(1);
    ck_assert_has(read_file("s1/manifest.json"), "\"swept\": [\n  \"seed\"\n ]");
}

TEST(two_folders_with_different_results_of_a_run_are_not_merged)
{
    write_sweep();
    run_shards(1);
    dsgd_ends(0, "run e.yaml -o t --only 1,2");
    shell_ends(0, "sed '2,$s/^2,/1,/' t/.parts/2.part > "
                  "s1/.parts/1.part");
    dsgd_ends(0, "merge s1 t -o all"); /* its checksum is another */
    dsgd_ends(0, "run e.yaml -o other --only 1 --set until.steps=3");
    shell_ends(0, "cp other/.parts/1.part s1/.parts/1.part");
    ck_assert_has(dsgd_ends(2, "merge s1 t -o all"), "run 1 has other results in t than in s1");
}

TEST(failed_runs_are_merged_and_a_run_that_is_done_goes_before)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 250ms}]}\n");
    static const char set[] = "--set workers=4 --set algorithms='[allreduce, a_psgd]'";
    dsgd_ends(5, "run e.yaml -o s %s", set);
    char *output = dsgd_ends(5, "merge s -o all");
    ck_assert_has(output, "1 of 2 runs failed; the others are in all");
    ck_assert_str_eq(without_wall(read_file("all/runs.csv")),
                     without_wall(read_file("s/runs.csv")));
    /* Run 1 failed; as if it had been done in t. */
    dsgd_ends(0, "run e.yaml -o t --only 1 %s --set failures={}", set);
    output = shell_ends(0, "cp s/manifest.json t");
    output = dsgd_ends(0, "merge s t -o both");
}

/** The number behind the first @p key. */
static double number_of(const char *text, const char *key)
{
    const char *const at = strstr(text, key);
    ck_assert_msg(at != NULL, "no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

TEST(the_lines_of_an_experiment_do_it)
{
    write_sweep();
    dsgd_ends(0, "run e.yaml -o whole -j 2");
    dsgd_ends(0, "check e.yaml -o 'a b' --as json >lines");
    const char *const lines = read_file("lines");
    const char *const run_3 = strstr(lines, "{\"run\":3,\"id\":\"");
    ck_assert_msg(run_3 != NULL, "%s", lines);
    ck_assert_has(run_3, "\"algorithm\":\"wagma\",\"workers\":4,\"seed\":1,"
                         "\"swept\":{\"seed\":\"1\"},\"command\":\"/");
    ck_assert_has(run_3, " --only 3 -o 'a b.tasks/3'\",\"seconds\":null");
    ck_assert_has(dsgd_ends(0, "check e.yaml -o 'a b' --as commands >commands && DSGD_DATA=" //
                            DSGD_SOURCE_DIR " sh -e commands && wc -l <commands"),
                  "\n12\n");
    dsgd_ends(0, "merge 'a b.tasks/'* -o 'a b'");
    shell_ends(0, "mv 'a b' ab");
    assert_same_results("whole", "ab");
}

/** An id is of what decides a run: not of its place in the list, nor of where the file lies. */
TEST(ids_are_stable_and_no_two_runs_share_one)
{
    write_sweep();
    static const char ids[] = "--as json 2>/dev/null | grep -o '\"id\":\"[0-9a-f]*\"'";
    char *output = dsgd_ends(0, "check e.yaml %s | sort -u | wc -l", ids);
    ck_assert_str_eq(output, "12\n");
    output = dsgd_ends(0, "check e.yaml %s", ids);
    const char *const last = dsgd_xprintf("%s", strrchr(output, ':'));
    output = dsgd_ends(0,
                       "check e.yaml --set name=other --set workers=8 --set "
                       "algorithms=ad_psgd --set seed=2 %s",
                       ids);
    ck_assert_str_eq(strrchr(output, ':'), last);
    output = dsgd_ends(0, "check e.yaml --set learn.optimizer.lr=0.03 %s", ids);
    ck_assert_str_ne(strrchr(output, ':'), last);
}

/** CPU times of this machine: only that longer runs take longer, by about as much. */
TEST(estimates_grow_with_steps_and_evaluations_and_are_not_shown_unasked)
{
    write_experiment(learn);
    char *output = dsgd_ends(0, "check e.yaml");
    ck_assert_ptr_null(strstr(output, "CPU"));
    static const char one[] =
        "check e.yaml -e --as json --set workers=8 --set algorithms=wagma --set until.steps=%s %s";
    output = dsgd_ends(0, one, "2e4", "");
    const double once_s = number_of(output, "\"seconds\":");
    ck_assert_double_gt(number_of(output, "\"memory_bytes\":"), 1e6);
    ck_assert_double_lt(number_of(output, "\"memory_bytes\":"), 4e9);
    output = dsgd_ends(0, one, "1e6", ""); /* what sanitizers keep of more would not fit */
    const double often_s = number_of(output, "\"seconds\":");
    ck_assert_msg(often_s > 10 * once_s && often_s < 250 * once_s, "%g s, %g s", once_s, often_s);
    /* As many steps, by other bounds. */
    output = dsgd_ends(0, one, "0", "--set until.samples=64e6");
    const double by_samples_s = number_of(output, "\"seconds\":");
    ck_assert_msg(by_samples_s > often_s / 5 && by_samples_s < often_s * 5, "%g s, %g s",
                  by_samples_s, often_s);
    output = dsgd_ends(0, one, "0", "--set until.seconds=1e5");
    const double by_time_s = number_of(output, "\"seconds\":");
    ck_assert_msg(by_time_s > often_s / 5 && by_time_s < often_s * 5, "%g s, %g s", by_time_s,
                  often_s);
    ck_assert_has(dsgd_ends(0, "check e.yaml -e --set workers=8 --set until='{accuracy: 0.9}'"),
                  "not known of 3 runs that an accuracy");
    ck_assert_has(dsgd_ends(2, "check e.yaml --as slurm --set until='{accuracy: 0.9}'"),
                  "6 runs have no bound but an accuracy");
    output = dsgd_ends(2, "check e.yaml --chunk 10s");
}

static double children_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/**
 * 90 kinds of runs, of which a step takes seconds: what it takes itself is bounded all the same.
 */
TEST(an_estimate_of_large_runs_takes_seconds_itself)
{
    write_file("large.yaml", "platform: {name: dgx-h100, host_bandwidth: {sweep: {from: 1GB/s, to: "
                             "9GB/s, n: 30}}}\nworkload: llm-dp-bytedance\nworkers: 1024\n"
                             "algorithms: [allreduce, wagma, d_psgd]\nuntil: {steps: 1000}\n");
    const double before_s = children_cpu_s();
    char *output = dsgd_ends(0, "check large.yaml --as json -e | grep -m 1 d_psgd");
    ck_assert_double_lt(children_cpu_s() - before_s, SUPPORT_SLOW ? 60 : 12);
    ck_assert_double_gt(number_of(output, "\"seconds\":"), 60);
}

/** Within a factor of two where the machine is quiet, of three here: timing alone, and learning. */
TEST_RANGE(an_estimate_is_what_runs_take, 0, 2)
{
    static const char *const sets[] = {"--set workers=64 --set until.steps=150 --numerics off",
                                       "--set workers=16 --set until.steps=800"};
    write_experiment(learn);
    char *output =
        dsgd_ends(0, "check e.yaml -e --set algorithms=[allreduce,wagma,ad_psgd] %s", sets[_i]);
    const double estimated_s = number_of(output, "about ");
    const double before_s = children_cpu_s();
    output = dsgd_ends(0, "run e.yaml --set algorithms=[allreduce,wagma,ad_psgd] %s", sets[_i]);
    const double took_s = children_cpu_s() - before_s;
    ck_assert_msg(took_s < 3 * estimated_s && took_s > estimated_s / 3,
                  "%g s estimated, %g s taken", estimated_s, took_s);
}

TEST_RANGE(what_does_not_fit_into_memory_is_refused, 0, 2) /* _i: while it runs, and afterwards */
{
    static const struct {
        int most_kb, workers;
        const char *sentence;
    } cases[] = {{1000, 2048, "run 1 (allreduce, 2048 workers) needs more than the 0.00102 GB"},
                 {15000, 4, "run 1 (allreduce, 4 workers) needs about 0."}};
    write_experiment("");
    char *output = shell_ends(2,
                              "ulimit -m %d && DSGD_DATA=%s %s check e.yaml -e --set "
                              "workers=%d --set algorithms=allreduce 2>&1",
                              cases[_i].most_kb, DSGD_SOURCE_DIR, DSGD_BINARY, cases[_i].workers);
    if (!SUPPORT_SLOW) /* the sanitizers' memory counts */
        ck_assert_has(output, cases[_i].sentence);
    ck_assert_has(output, "of memory");
}

TEST(a_job_of_slurm_has_tasks_of_about_the_time_asked_for)
{
    write_experiment(learn);
    char *output = dsgd_ends(0, "check e.yaml --as slurm --chunk 1h >job && bash -n job");
    const char *const job = read_file("job");
    ck_assert_has(job, "#SBATCH --array=1-1\n");
    ck_assert_has(job, "runs=(none 1:6)\n");
    ck_assert_has(job, "#SBATCH --cpus-per-task=2\n");
    output = dsgd_ends(0, "check e.yaml --as slurm --chunk 1ns --numerics off -o \"it's\" >job && "
                          "bash -n job");
    ck_assert_has(read_file("job"), "#SBATCH --array=1-6\n");
    ck_assert_has(read_file("job"), "runs=(none 1 2 3 4 5 6)\n");
    ck_assert_has(read_file("job"), "#SBATCH --cpus-per-task=1\n");
    ck_assert_has(read_file("job"), "results='it'\\''s'\n");
    ck_assert_has(read_file("job"), " --numerics off ");
    /* Slurm has no more than 1,000 by default. */
    output = dsgd_ends(0, "check e.yaml --as slurm --chunk 1ns --numerics off --set seed='{sweep: "
                          "{from: 1, to: 500, n: 500}}' | grep array=");
    const double n = number_of(output, "array=1-");
    ck_assert_msg(n > 500 && n <= 1000, "%s", output);
}
