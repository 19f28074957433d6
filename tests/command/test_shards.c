/**
 * @file test_shards.c
 * Tests an experiment whose runs are divided between several commands, by `--only` or `--shard`.
 * `dsgd merge` must then write the same bytes as a single command that executes all runs. It must
 * report parts that differ or are missing.
 */
#include <unistd.h>

#include "base/csv.h"
#include "command/runs/results.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/** Writes e.yaml, an experiment of twelve runs with curves, a split of the data, and a sweep. */
static void write_sweep(void)
{
    write_experiment(dsgd_xprintf("%s  split: dirichlet\nseed: {sweep: [1, 2]}\n", learn));
}

/** Runs all @p n shards of e.yaml, each into its own folder s1, ..., sN. */
static void run_shards(int n)
{
    for (int i = 1; i <= n; i++)
        dsgd_ends(0, "run e.yaml -o s%d --shard %d/%d -j 2", i, i, n);
}

/** Checks that two results folders have equal files. The wall times and the command may differ. */
static void assert_same_results(const char *a, const char *b)
{
    static const char *const files[] = {"curves", "workers", "staleness", "steps"};
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

static const int shard_counts[] = {1, 2, 3, 13}; /* with 13 shards one shard is empty */

SUITE(shards, "shards", .seconds = 60, .set_up = make_folder, .tear_down = remove_folder);

TEST_ROWS(merged_shards_equal_one_run_byte_for_byte, shard_counts)
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

TEST(each_run_is_in_one_shard_with_balanced_work)
{
    write_experiment("seed: [1, 2, 3, 4, 5, 6, 7, 8]\n");
    char *output = NULL;
    size_t n_rows = 0;
    for (int i = 1; i <= 4; i++) {
        output = dsgd_ends(0,
                           "run e.yaml -o s --shard %d/4 --force --set "
                           "until.steps=1 --set workers='[4, 8, 16, 32]' "
                           "--set algorithms=allreduce | grep -c '  "
                           "allreduce *32 '",
                           i);
        ck_assert_str_eq(output, "2\n"); /* each shard has 2 of the 8 runs with 32 workers */
    }
    const char *const rows = read_file("s/runs.csv"); /* each shard adds rows to the folder s */
    for (const char *c = rows; (c = strstr(c, ",allreduce,")) != NULL; c++)
        n_rows++;
    ck_assert_uint_eq(n_rows, 32);
}

TEST(long_run_has_its_own_shard)
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

TEST(only_accepts_lists_and_ranges)
{
    static const struct {
        /* value of --only, and the first cells of the rows, or NULL if the value is rejected */
        const char *only, *rows;
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

TEST(merge_reports_missing_and_damaged_runs)
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

TEST(merge_rejects_other_experiments_programs_or_results)
{
    write_sweep();
    run_shards(2);
    dsgd_ends(0, "run e.yaml -o other --only 1 --set until.steps=3");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 other -o all"),
                  "other: the folder has the results of another experiment, or of this one by "
                  "another build of dsgd, compared with s1");
    /* The sweep has a single value, so it adds a column but no run. */
    dsgd_ends(0, "run e.yaml -o swept --only 1 --set inherent='{sweep: [true]}'");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 swept -o all"),
                  "swept: the folder has the results of another experiment");
    shell_ends(0, "cp -r s2 built && sed -i 's/\"dsgd\": "
                  "\"/&0/' built/manifest.json && cp -r s2 bare && rm "
                  "bare/manifest.json && mkdir empty");
    ck_assert_has(dsgd_ends(2, "merge s1 built -o all"), "by another build of dsgd");
    ck_assert_has(dsgd_ends(2, "merge s1 bare -o all"),
                  "bare: not a results folder (it has no manifest.json)");
    dsgd_ends(2, "merge empty -o all");
    dsgd_ends(2, "merge s1 s2");
    dsgd_ends(2, "merge -o all");
    ck_assert_has(dsgd_ends(2, "merge s1 s2 -o other"),
                  "other: the folder has the results of another experiment, or of this");
    dsgd_ends(0, "merge s1 s2 -o other --force");
    ck_assert_has(read_file("other/runs.csv"), "\n12,");
}

TEST(results_of_older_version_are_rejected_with_advice)
{
    write_sweep();
    run_shards(1);
    shell_ends(0, "sed -i 's/\"swept\"/\"columns\"/' %s/s1/manifest.json", folder);
    ck_assert_has(dsgd_ends(2, "merge s1 -o all"),
                  "older version of dsgd, with other columns; merge them with that version, or "
                  "run them again");
    ck_assert_has(dsgd_ends(2, "run e.yaml -o s1"),
                  "older version of dsgd, whose files have other columns; give another folder with "
                  "-o, or --force");
}

/**
 * Tests rows that lack a cell, in a folder with a current manifest. Under the current header, all
 * cells after the missing cell would be in the wrong column.
 */
TEST(rows_of_other_version_are_rejected)
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
    ck_assert_has(dsgd_ends(2, "merge s1 -o all"), "with other columns; merge them with");
}

TEST(manifest_lists_swept_columns)
{
    write_sweep();
    run_shards(1);
    ck_assert_has(read_file("s1/manifest.json"), "\"swept\": [\n  \"seed\"\n ]");
}

TEST(merge_rejects_different_results_of_one_run)
{
    write_sweep();
    run_shards(1);
    dsgd_ends(0, "run e.yaml -o t --only 1,2");
    shell_ends(0, "sed '2,$s/^2,/1,/' t/.parts/2.part > "
                  "s1/.parts/1.part");
    /* merge ignores run 1 in the folder s1, because its checksum is wrong */
    dsgd_ends(0, "merge s1 t -o all");
    dsgd_ends(0, "run e.yaml -o other --only 1 --set until.steps=3");
    shell_ends(0, "cp other/.parts/1.part s1/.parts/1.part");
    ck_assert_has(dsgd_ends(2, "merge s1 t -o all"), "run 1 has different results in t and s1");
}

TEST(merge_prefers_finished_run_to_failed_run)
{
    write_experiment("failures: {policy: none, events: [{worker: 2, at: 250ms}]}\n");
    static const char set[] = "--set workers=4 --set algorithms='[allreduce, a_psgd]'";
    dsgd_ends(5, "run e.yaml -o s %s", set);
    char *output = dsgd_ends(5, "merge s -o all");
    ck_assert_has(output, "1 of 2 runs failed; the results of the others are in all");
    ck_assert_str_eq(without_wall(read_file("all/runs.csv")),
                     without_wall(read_file("s/runs.csv")));
    /* Run 1 failed in the folder s. In the folder t, run 1 succeeds, as if it had been repeated. */
    dsgd_ends(0, "run e.yaml -o t --only 1 %s --set failures={}", set);
    output = shell_ends(0, "cp s/manifest.json t");
    output = dsgd_ends(0, "merge s t -o both");
}
