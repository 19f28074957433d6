/**
 * @file test_command.c
 * The program from outside: every kind of bad input gets one sentence and its exit status, and costs nothing that was there before; the
 * same experiment gives the same bytes at any -j and any number of threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suites.h"
#include "tests/support.h"

static char folder[] = "/tmp/dsgd-test-XXXXXX";

/** Texts of a test, freed at its end. */
static char *texts[256];
static size_t n_texts;

static char *kept(char *text)
{
    ck_assert_uint_lt(n_texts, sizeof texts / sizeof texts[0]);
    return texts[n_texts++] = text;
}

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char *const command = dsgd_xprintf("chmod -R u+w %s; rm -rf %s", folder, folder);
    ck_assert_int_eq(system(command), 0);
    free(command);
    while (n_texts > 0)
        free(texts[--n_texts]);
}

/** Runs the program in the folder; its output is in *output. Gives the exit status. */
static int dsgd(const char *arguments, char **output)
{
    char *const command = dsgd_xprintf("cd %s && DSGD_DATA=%s %s %s 2>&1", folder, DSGD_SOURCE_DIR,
                                       DSGD_BINARY, arguments);
    FILE *const stream = popen(command, "r");
    ck_assert_ptr_nonnull(stream);
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, '\0', stream) < 0)
        text = dsgd_xstrdup("");
    const int state = pclose(stream);
    free(command);
    *output = kept(text);
    ck_assert_msg(WIFEXITED(state), "%s", text);
    return WEXITSTATUS(state);
}

static void write_file(const char *name, const char *content)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    FILE *const stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    fputs(content, stream);
    fclose(stream);
    free(path);
}

static char *read_file(const char *name)
{
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    FILE *const stream = fopen(path, "r");
    ck_assert_msg(stream != NULL, "%s is not there", path);
    char *text = NULL;
    size_t room = 0;
    ck_assert_int_gt(getdelim(&text, &room, '\0', stream), 0);
    fclose(stream);
    free(path);
    return kept(text);
}

/** An experiment of ten steps, with a place for something more. */
static void write_experiment(const char *more)
{
    char *const text = dsgd_xprintf("platform: idle-switch\n"
                                    "workload: {bytes: 1M, step: 100ms, samples: 8}\n"
                                    "workers: [4, 8]\n"
                                    "algorithms: [allreduce, {name: wagma, period: 4}, ad_psgd]\n"
                                    "until: {steps: 10}\n"
                                    "imbalance: [{kind: delay, seconds: 50ms}]\n"
                                    "%s",
                                    more);
    write_file("e.yaml", text);
    free(text);
}

static const char learn[] = "learn:\n"
                            "  model: hyperplane\n"
                            "  data: {name: hyperplane, features: 16, points: 512}\n"
                            "  optimizer: {lr: 0.02, momentum: 0.5}\n"
                            "  evaluate: {every: 5}\n";

static const struct {
    const char *experiment; /* all of it, or NULL for a good one */
    const char *arguments;
    int status;
    const char *sentence;
} bad[] = {
    {NULL, "run missing.yaml", 3, "missing.yaml"},
    {NULL, "run e.yaml --set wrokers=4", 2, "did you mean `workers`"},
    {NULL, "run e.yaml --set workers=four", 2, "--set workers=four"},
    {NULL, "run e.yaml --set workers=0", 2, "between 1 and"},
    {NULL, "run e.yaml --set workers=2.5", 2, "whole number"},
    {NULL, "run e.yaml --set algorithms=wagam", 2, "did you mean `wagma`"},
    {NULL, "run e.yaml --set algorithms=wagma --set workers=12", 2, "8 or 16"},
    {NULL, "run e.yaml --set platform=piz-dait", 2, "piz-daint"},
    {NULL, "run e.yaml --set platform=nowhere.xml", 3, "nowhere.xml"},
    {NULL, "run e.yaml --set until.steps=-1", 2, "between 0"},
    {NULL, "run e.yaml --set until.accuracy=0.5 --set until.steps=0", 2, "accuracy"},
    {NULL, "run e.yaml --set nonsense", 2, "KEY.KEY=VALUE"},
    {NULL, "run e.yaml --numerics gpu", 2, "auto, cpu, cuda or off"},
    {NULL, "run e.yaml -j 0", 2, "whole number from 1"},
    {NULL, "run e.yaml --only 7", 2, "6 runs"},
    {NULL, "runn e.yaml", 2, "did you mean `run`"},
    {NULL, "list algoritms", 2, "did you mean `algorithms`"},
    {NULL, "describe algorithm wagam", 2, "did you mean `wagma`"},
    {NULL, "plot nowhere", 3, "runs.csv"},
    {"workers: [1\n", "run e.yaml", 3, "e.yaml:"},
    {"", "run e.yaml", 3, "empty"},
    {"- 1\n- 2\n", "run e.yaml", 2, "mapping"},
    {"workers: 4\nworkers: 8\n", "run e.yaml", 3, "e.yaml:2"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\n",
     "run e.yaml", 2, "until is missing"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{steps: ten}\n",
     "run e.yaml", 2, "e.yaml:5:16: steps is ten"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{stesp: 10}\n",
     "run e.yaml", 2, "e.yaml:5:9: key `stesp` is unknown; did you mean `steps`"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: [{name: dasgd, d: "
     "9}]\nuntil: {steps: 1}\n",
     "check e.yaml", 2, "at most tau"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: [{group: 2}]\nuntil: "
     "{steps: 1}\n",
     "check e.yaml", 2, "name is missing"},
    {"platform: idle-switch\nworkload: resnet50-p100\nworkers: 4\nalgorithms: allreduce\nuntil: "
     "{steps: 1}\nimbalance: {kind: delay, workers: 5, seconds: 1s}\n",
     "check e.yaml", 2, "at most that many"},
};

START_TEST(bad_input_gets_one_sentence_and_its_exit_status)
{
    write_experiment("");
    if (bad[_i].experiment != NULL)
        write_file("e.yaml", bad[_i].experiment);
    char *output = NULL;
    const int status = dsgd(bad[_i].arguments, &output);
    ck_assert_msg(status == bad[_i].status, "%s: exit %d, not %d: %s", bad[_i].arguments, status,
                  bad[_i].status, output);
    ck_assert_msg(strstr(output, bad[_i].sentence) != NULL, "%s: %s", bad[_i].arguments, output);
    char *const results = kept(dsgd_xprintf("%s/results", folder));
    ck_assert_int_ne(access(results, F_OK), 0); /* nothing was written */
}
END_TEST

START_TEST(damaged_data_is_refused_with_a_sentence)
{
    write_experiment("learn: {model: logreg, data: {name: idx, train_images: cut, train_labels: "
                     "cut, test_images: cut, test_labels: cut}, optimizer: {lr: 0.1}}\n");
    write_file("cut", "abc");
    char *output = NULL;
    ck_assert_int_eq(dsgd("run e.yaml", &output), 3);
    ck_assert_int_ne(access(kept(dsgd_xprintf("%s/results", folder)), F_OK), 0);
    ck_assert_msg(strstr(output, "the file ends within its header") != NULL, "%s", output);
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_refused)
{
    write_experiment("");
    char *output = NULL;
    write_file("occupied", "mine");
    ck_assert_int_eq(dsgd("run e.yaml -o occupied", &output), 3);
    ck_assert_ptr_nonnull(strstr(output, "occupied"));
    ck_assert_str_eq(read_file("occupied"), "mine");
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

START_TEST(cuda_without_a_device_exits_with_4)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        return; /* there is one */
    write_experiment(learn);
    char *output = NULL;
    ck_assert_msg(dsgd("run e.yaml --numerics cuda", &output) == 4, "%s", output);
    ck_assert_ptr_nonnull(strstr(output, "CUDA"));
    ck_assert_int_ne(access(kept(dsgd_xprintf("%s/results", folder)), F_OK), 0);
}
END_TEST

/** runs.csv without its column wall_s, the 23rd. */
static char *without_wall(char *csv)
{
    char *const out = dsgd_xcalloc(strlen(csv) + 1, 1);
    size_t n = 0;
    int column = 1;
    for (const char *c = csv; *c != '\0'; c++) {
        column = *c == '\n' ? 1 : column + (*c == ',');
        if (column != 23 || *c == ',')
            out[n++] = *c;
    }
    return kept(out);
}

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

START_TEST(sweeps_multiply_the_runs_and_get_a_column)
{
    write_experiment("seed: [1, 2]\ncollective: {sweep: [ring, rabenseifner]}\n");
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
    ck_assert_ptr_nonnull(strstr(rows, ",wall_s,collective\n"));
    ck_assert_ptr_nonnull(strstr(rows, ",ring\n"));
    ck_assert_ptr_nonnull(strstr(rows, ",rabenseifner\n"));
}
END_TEST

START_TEST(everything_that_is_listed_can_be_described)
{
    static const char *const kinds[] = {"algorithms", "models",    "data",
                                        "imbalance",  "workloads", "platforms"};
    char *output = NULL;
    char *words = kept(dsgd_xprintf("list %s", kinds[_i]));
    ck_assert_int_eq(dsgd(words, &output), 0);
    int n = 0;
    char *rest = output;
    for (char *line = strsep(&rest, "\n"); line != NULL && *line != '\0';
         line = strsep(&rest, "\n"), n++) {
        char *described = NULL;
        words = kept(dsgd_xprintf("describe %s %.*s", kinds[_i], (int)strcspn(line, " "), line));
        ck_assert_msg(dsgd(words, &described) == 0, "%s: %s", words, described);
        ck_assert_uint_gt(strlen(described), 20);
    }
    ck_assert_int_ge(n, 2);
}
END_TEST

Suite *command_suite(void)
{
    Suite *s = suite_create("command");
    TCase *t = tcase_create("command");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, bad_input_gets_one_sentence_and_its_exit_status, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(t, damaged_data_is_refused_with_a_sentence);
    tcase_add_test(t, a_folder_that_cannot_be_written_is_refused);
    tcase_add_test(t, results_of_another_experiment_are_not_written_over);
    tcase_add_test(t, cuda_without_a_device_exits_with_4);
    tcase_add_test(t, the_same_experiment_gives_the_same_bytes_at_any_jobs_and_threads);
    tcase_add_test(t, resume_does_only_what_is_missing);
    tcase_add_test(t, sweeps_multiply_the_runs_and_get_a_column);
    tcase_add_loop_test(t, everything_that_is_listed_can_be_described, 0, 6);
    suite_add_tcase(s, t);
    return s;
}
