/**
 * @file test_record_files.c
 * Records as files: what writing one leaves, and the programs that write and replay them.
 */
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "models/record/format.h"
#include "models/record/record.h"
#include "models/zoo/network.h"
#include "tests/models/records.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- writing ---------------------------------------------------------------------------------- */

SUITE(record_files, "writing", .set_up = records_folder_make, .tear_down = records_folder_remove);

TEST(nothing_is_in_its_place_before_the_run_ends)
{
    float one[1] = {1};
    const dsgd_samples samples = {.n = 1, .x_real = one, .targets = one};
    const dsgd_data data = {.n_rows = 1,
                            .n_columns = 1,
                            .width = 1,
                            .n_features = 1,
                            .deviation = 1,
                            .train = samples,
                            .test = samples};
    dsgd_network network;
    dsgd_builder b = dsgd_network_begin(&network, "hyperplane", &data, DSGD_LOSS_SQUARED, NULL);
    ck_assert_int_eq(dsgd_network_end(&b), DSGD_OK);
    const size_t begin[2] = {0, 2};
    const dsgd_values_config values = {
        .problem = {.network = &network, .data = &data, .n_pieces = 1, .piece_begin = begin},
        .stream = {1, 1, 1, 1}};
    support_case *const c = support_new("allreduce", 1);
    for (int keep = 0; keep < 2; keep++) {
        const dsgd_record_config config = {records_path("r"), &values, c->learning.model,
                                           c->learning.data,  true,    "{}"};
        dsgd_recorder *recorder = NULL;
        ck_assert_int_eq(dsgd_recorder_open(&config, &recorder, NULL), DSGD_OK);
        ck_assert_int_ne(access(config.path, F_OK), 0);
        ck_assert_int_eq(dsgd_recorder_close(recorder, keep, NULL), DSGD_OK);
        ck_assert_int_eq(access(config.path, F_OK), keep ? 0 : -1);
        ck_assert_int_ne(access(records_path("r.part"), F_OK), 0);
    }
}

TEST(a_full_disk_is_a_sentence)
{
    support_case *const c = records_case("allreduce", 2, "r");
    ck_assert_int_eq(symlink("/dev/full", records_path("r.part")), 0);
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EIO);
    ck_assert_has(run->error.text, "No space left");
    ck_assert_int_ne(access(c->config.record, F_OK), 0);
}

TEST(a_run_that_cannot_begin_leaves_no_record)
{
    support_case *const c = records_case("d_psgd", 4, "r");
    const char *host = "nowhere";
    c->config.placement = (dsgd_lines){1, &host};
    c->config.machine_checked = true; /* so that it fails late */
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_ne(run->status, DSGD_OK);
    ck_assert_int_ne(access(records_path("r"), F_OK), 0);
    ck_assert_int_ne(access(records_path("r.part"), F_OK), 0);
}

TEST(a_folder_that_is_not_there_is_a_sentence)
{
    support_case *const c = records_case("allreduce", 2, "no/r");
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EIO);
    ck_assert_has(run->error.text, "no/r.part");
}

TEST(without_learning_there_is_nothing_to_record)
{
    support_case *const c = records_case("allreduce", 2, "r");
    support_no_learning(c);
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EUSAGE);
    ck_assert_has(run->error.text, "nothing to record");
}

/* --- options as JSON -------------------------------------------------------------------------- */

static void expect_round_trip(const dsgd_entry *about)
{
    void *const params = dsgd_keep(1, about->params_size);
    void *const again = dsgd_keep(1, about->params_size);
    dsgd_options_default(about->options, params);
    json_t *const json = dsgd_json_options(about->options, params);
    dsgd_error error = {""};
    ck_assert_msg(dsgd_json_read(json, about->options, again, &error) == DSGD_OK, "%s: %s",
                  about->name, error.text);
    json_t *const back = dsgd_json_options(about->options, again);
    ck_assert(json_equal(json, back));
}

TEST(options_of_models_and_data_survive_json)
{
    for (size_t i = 0; dsgd_model_kinds[i] != NULL; i++)
        expect_round_trip(dsgd_model_kinds[i]);
    for (size_t i = 0; dsgd_data_sources[i] != NULL; i++)
        expect_round_trip(dsgd_data_sources[i]);
    for (size_t i = 0; dsgd_split_kinds[i] != NULL; i++)
        expect_round_trip(dsgd_split_kinds[i]);
}

/* --- the programs ----------------------------------------------------------------------------- */

/** Runs a command in the folder; gives its exit status and its output. */
static int command(const char *line, const char **output)
{
    const char *const words = dsgd_xprintf("cd %s && export DSGD_DATA=%s && { %s; } 2>&1",
                                           records_path("."), DSGD_SOURCE_DIR, line);
    FILE *const stream = popen(words, "r");
    ck_assert_ptr_nonnull(stream);
    size_t room = 0;
    char *text = NULL;
    const bool is_empty = getdelim(&text, &room, '\0', stream) < 0;
    kept(text);
    *output = is_empty ? "" : text;
    const int state = pclose(stream);
    return WEXITSTATUS(state);
}

static void expect_command(const char *line, int status, const char *sentence)
{
    const char *output = NULL;
    const int got = command(line, &output);
    ck_assert_msg(got == status && strstr(output, sentence) != NULL, "%s: %d: %s", line, got,
                  output);
}

static void write_experiment(const char *name, const char *learn)
{
    FILE *const stream = fopen(records_path(name), "w");
    fprintf(stream,
            "name: delays\nplatform: idle-switch\nworkload: {bytes: 1M, step: 100ms, samples: 8}\n"
            "workers: [4, 8]\nalgorithms: [allreduce, {name: wagma, label: mine, period: 4}]\n"
            "until: {steps: 10}\nimbalance: [{kind: delay, seconds: 50ms}]\n%s",
            learn);
    fclose(stream);
}

static const char some_learning[] =
    "learn: {model: hyperplane, data: {name: hyperplane, features: 16, points: 512}, optimizer: "
    "{lr: 0.02, momentum: 0.5}, evaluate: {every: 5, local: true}}\n";

#define STRUCTS "r/1.record r/2.record r/3.record r/4.record"

CASE("programs", .seconds = 120, .set_up = records_folder_make, .tear_down = records_folder_remove);

TEST(both_programs_write_the_curves_of_the_run)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on", 0, "results: on");
    expect_command(DSGD_BINARY " run e.yaml -o off --numerics off --record r -j 2", 0, "");
    expect_command("cmp r/1.record.part r/1.record", 2, "No such file");
    expect_command(DSGD_BINARY " replay -o here --threads 2 " STRUCTS, 0, "mine");
    expect_command("cmp on/curves.csv here/curves.csv", 0, "");
    expect_command(DSGD_REPLAY_BINARY " --threads 1 " STRUCTS, 0, "results/delays-replay");
    expect_command("cmp on/curves.csv results/delays-replay/curves.csv", 0, "");
    /* The same run, recorded while it computes, by itself. */
    expect_command(DSGD_BINARY " run e.yaml -o one --only 3 --record three", 0, "");
    expect_command(DSGD_REPLAY_BINARY " three -o three-again", 0, "");
    expect_command("cmp one/curves.csv three-again/curves.csv", 0, "");
    /* The timing does not depend on recording. */
    expect_command(DSGD_BINARY " run e.yaml -o plain --numerics off", 0, "");
    expect_command("cmp plain/workers.csv off/workers.csv && for d in plain off; do cut -d, -f1-26 "
                   "$d/runs.csv > $d.cut; done && cmp plain.cut off.cut",
                   0, "");
}

TEST(a_run_that_reads_no_value_records_no_decision)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on --only 1 --record r", 0, "");
    expect_command(DSGD_REPLAY_BINARY " r -o x | grep -c followed", 1, "0");
    /* With nothing to do, nothing is left behind. */
    expect_command(DSGD_BINARY " run e.yaml -o on --only 1 --record r && ls r.part", 2,
                   "No such file");
}

TEST(the_final_loss_is_that_of_the_run)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on --only 4 --record r", 0, "");
    expect_command(DSGD_REPLAY_BINARY " r -o again", 0, "");
    expect_command("test $(tail -n1 on/runs.csv | cut -d, -f21) = $(tail -n1 again/curves.csv | "
                   "cut -d, -f7)",
                   0, "");
}

TEST(a_run_again_makes_the_records_that_are_missing)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on", 0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("rm r/2.record && touch -d 2001-01-01 r/3.record", 0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("test -e r/2.record && find r -newermt 2002-01-01 | sort | tr '\\n' ' '", 0,
                   "r/1.record r/2.record r/4.record");
    /* Another run's, and one that is cut off, are none. */
    expect_command("cp r/1.record r/4.record && truncate -s -1 r/2.record && touch -d 2001-01-01 "
                   "r/*.record",
                   0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("find r -newermt 2002-01-01 | grep record | sort | tr '\\n' ' '", 0,
                   "r/2.record r/4.record");
}

static const struct {
    const char *line;
    int status;
    const char *sentence;
} refusals[] = {
    {DSGD_BINARY " run timing.yaml --record r", 2, "nothing is learned in timing.yaml"},
    {DSGD_BINARY " run e.yaml --only 1 --record no/where/r", 3,
     "no/where/r: no file can be made there"},
    {DSGD_BINARY " run e.yaml --record e.yaml", 3, "e.yaml: the folder cannot be"},
    {DSGD_BINARY " run e.yaml --numerics off --set until.accuracy=0.5 --record r", 2,
     "until: accuracy needs numerics, but they are off"},
    {DSGD_BINARY " replay e.yaml", 3, "dsgd: e.yaml: the file is no record"},
    {DSGD_REPLAY_BINARY " e.yaml", 3, "dsgd-replay: e.yaml: the file is no record"},
    {DSGD_REPLAY_BINARY " nowhere", 3, "nowhere"},
    {DSGD_REPLAY_BINARY "", 2, "the record is missing"},
    {DSGD_REPLAY_BINARY " x --numerics off", 2, "auto, cpu or cuda"},
    {DSGD_REPLAY_BINARY " x --threads 0", 2, "whole number"},
    {DSGD_REPLAY_BINARY " x --precision half", 2, "float or double"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data points=511",
     3, "is not that of the run"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data path=/x",
     2, "--data path=/x"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data points=512 -o x",
     0, "results: x/curves.csv"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one -o e.yaml/below",
     3, "e.yaml/below"},
};

TEST_ROWS(bad_usage_is_one_sentence, refusals)
{
    write_experiment("e.yaml", some_learning);
    write_experiment("timing.yaml", "");
    expect_command(refusals[_i].line, refusals[_i].status, refusals[_i].sentence);
}

TEST(the_replay_program_needs_no_simulator)
{
    const char *output = NULL;
    ck_assert_int_eq(command("ldd " DSGD_REPLAY_BINARY, &output), 0);
    ck_assert_has(output, "libz");
    ck_assert_ptr_null(strstr(output, "simgrid"));
    ck_assert_ptr_null(strstr(output, "fyaml"));
}
