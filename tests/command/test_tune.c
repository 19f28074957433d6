/**
 * @file test_tune.c
 * Tests `dsgd tune`: it must find the best learning rate of a quadratic loss, which is known.
 * Further tests are of the candidates and seeds that are tried, and of messages.
 */
#include "tests/command/shell.h"
#include "tests/support/suite.h"

/*
 * The model is y = w x, and x has unit variance. In large batches, a step multiplies the error by
 * about 1 - lr. The best rate is therefore 1. If the rate is 2, the error stays constant, and at
 * larger rates it grows.
 */
static const char quadratic[] = "# One feature.\n"
                                "platform: idle-switch # no contention\n"
                                "workload: {bytes: 1k, step: 100ms, samples: 8}\n"
                                "workers: 2\n"
                                "algorithms:\n"
                                "  - allreduce # all at once\n"
                                "  - name: local_sgd # in blocks\n"
                                "    period: 2\n"
                                "until: {steps: 30}\n"
                                "seed: [1, 4]\n"
                                "learn:\n"
                                "  model: hyperplane\n"
                                "  data: {name: hyperplane, features: 1, points: 1024, noise: 0}\n"
                                "  batch: 256\n"
                                "  precision: double\n"
                                "  optimizer: {lr: 0.125}\n"
                                "  evaluate: {every: 2}\n";

/**
 * Tunes e.yaml with options into the folder @p results, checks the exit status, and returns the
 * output.
 */
static char *tune(const char *results, const char *options, int expected)
{
    char *output = NULL;
    const int status =
        dsgd(dsgd_xprintf("tune e.yaml -o %s --progress off %s", results, options), &output);
    ck_assert_msg(status == expected, "exit %d: %s", status, output);
    return output;
}

static char *quadratic_tuned(const char *options)
{
    write_file("e.yaml", quadratic);
    return tune("r", options, 0);
}

static void expect(const char *output, const char *part)
{
    ck_assert_has(output, part);
}

/** Runs an awk program on a CSV file in the test's folder, and returns its output. */
static char *awk(const char *program, const char *file)
{
    char *output = shell_ends(0, "awk -F, '%s' %s/%s", program, folder, file);
    return output;
}

/**
 * Returns the learning rates, in increasing order, with which an algorithm ran for @p length, such
 * as "10 steps".
 */
static char *rates_of(const char *algorithm, const char *length)
{
    return awk(dsgd_xprintf("$2 == \"%s\" && $NF == \"%s\" {print $(NF-1)}", algorithm, length),
               "r/runs.csv | sort -gu | tr '\\n' ' '");
}

/**
 * Returns the learning rate of allreduce with the least mean loss, among the rates that ran with
 * all three seeds.
 */
static char *least_of(const char *compared, const char *column)
{
    return awk(dsgd_xprintf("NR == 1 {for (i = 1; i <= NF; i++) k[$i] = i; next} $1 == "
                            "\"allreduce\" && $k[\"final_loss_n\"] == 3 "
                            "{print $k[\"final_loss_mean\"], $k[\"%s\"]}",
                            column),
               dsgd_xprintf("%s | sort -g | head -1 | cut -d' ' -f2", compared));
}

SUITE(tune, "tune", .seconds = 120, .set_up = make_folder, .tear_down = remove_folder);

TEST(tune_finds_best_rate_of_quadratic)
{
    const char *const output = quadratic_tuned("--target loss=1e-8 --on steps");
    expect(output, "allreduce   1  3 of 3");
    expect(output, "local_sgd   1  3 of 3");
    expect(output, "0.5  3."); /* with the second-best rate, the target takes three times as long */
    /* tune.csv contains the printed table. */
    ck_assert_str_eq(awk("{print $1, $2, $3, $5}", "r/tune.csv"),
                     "algorithm lr reached runner-up\nallreduce 1 3 of 3 0.5\nlocal_sgd 1 3 of 3 "
                     "0.5\n");
    /*
     * All nine rates run for 10 steps. Four rates run for 30 steps: the best three, and 2 as a
     * neighbour of the best rate 1.
     */
    static const char *const rates[] = {"0.0078125 0.015625 0.03125 0.0625 0.125 0.25 0.5 1 2 ",
                                        "0.25 0.5 1 2 "};
    for (size_t k = 0; k < 2; k++)
        ck_assert_str_eq(rates_of("allreduce", k == 0 ? "10 steps" : "30 steps"), rates[k]);
}

TEST(candidates_share_draws_and_new_seeds)
{
    quadratic_tuned("--target loss=1e-30");
    /* The experiment has the seeds 1 and 4, so tune uses other seeds. */
    ck_assert_str_eq(awk("NR > 1 {print $4}", "r/runs.csv | sort -u"), "2\n3\n5\n");
    /*
     * The first rung has only one seed. The last rung has three seeds, for the two best candidates
     * and for the neighbours of the best. One neighbour was not among the candidates that passed
     * the previous rung.
     */
    ck_assert_str_eq(awk("NR > 1 && $2 == \"allreduce\" {n[$NF \": \" $4]++} END {for (k in n) "
                         "print k, n[k]}",
                         "r/runs.csv | sort"),
                     "10 steps: 2 9\n30 steps: 2 4\n30 steps: 3 3\n30 steps: 5 3\n");
    /* The same command gives the same bytes with another -j. */
    const char *const best = read_file("r/tune.csv");
    tune("again", "--target loss=1e-30 -j 1", 0);
    ck_assert_str_eq(read_file("again/tune.csv"), best);
}

TEST(short_run_that_reaches_target_is_not_repeated)
{
    quadratic_tuned("--target loss=1e-8 --seeds 1");
    ck_assert_str_eq(awk("$2 == \"allreduce\" && $(NF-1) == 1 {print $NF}", "r/runs.csv"),
                     "10 steps\n");
    /*
     * The long run uses the best rate, 1. tune must print the time that `compare` computes from the
     * long run.
     */
    write_file("long.yaml", quadratic);
    dsgd_ends(0, "run long.yaml -o long --set seed=2 --set learn.optimizer.lr=1 --progress "
                 "off && " DSGD_BINARY " compare long --target loss=1e-8");
    const char *const time = cell_of("r/tune.csv", "allreduce", "time (s)");
    const char *const mean = cell_of("long/compare.csv", "allreduce", "time_to_target_s_mean");
    ck_assert_double_eq_tol(atof(time) / atof(mean), 1, 1e-3);
}

TEST(diverged_candidate_is_ranked_last)
{
    quadratic_tuned("--over learn.optimizer.lr='[0.5, 1, 1e90]'");
    ck_assert_str_eq(awk("NR > 1 {print $2}", "r/tune.csv"), "1\n1\n");
    const char *const output = tune("all", "--over learn.optimizer.lr='[1e80, 1e90]'", 0);
    expect(output, "no value that was tried can be best");
    const char *const tuned = read_file("all/tuned.yaml");
    expect(tuned, "- name: allreduce\n- name: local_sgd\n  period: 2\n");
    expect(tuned, "  optimizer:\n    lr: 0.125\n");
}

/**
 * Lists of learning rates. With a large rate the loss reaches the target earlier, but then grows
 * without end.
 */
static const struct {
    /* the rates to try, the expected note, and the expected best rate */
    const char *rates, *note, *best;
} traps[] = {
    {"[1, 10]", "allreduce: the best lr, 1, is the smallest", "1\n1\n"},
    {"[1, 10, 1e-9]", "a full grid would take 12 runs", "1\n1\n"},
    {"[10, 15]", "can be best, so the file keeps its own: 10 diverged", "-\n-\n"},
    {"[1e-9, 1e-8]", "can be best, so the file keeps its own: 1e-08 made no progress", "-\n-\n"},
};

TEST_ROWS(candidate_that_cannot_win_is_not_best, traps)
{
    write_file("e.yaml", quadratic);
    const char *const output =
        tune("r",
             dsgd_xprintf("--set learn.optimizer.warmup=30 --set learn.evaluate.every=1 --target "
                          "loss=1e-2 --seeds 2 --over learn.optimizer.lr='%s'",
                          traps[_i].rates),
             0);
    ck_assert_has(unwrapped(output), traps[_i].note);
    ck_assert_str_eq(awk("NR > 1 {print $2}", "r/tune.csv"), traps[_i].best);
}

TEST(best_value_at_end_extends_search)
{
    write_file("e.yaml", quadratic);
    /* The nine rates around 1/64 end at 1/4, so tune must also try larger rates. */
    const char *output = tune("r", "--target loss=1e-8 --set learn.optimizer.lr=0.015625", 0);
    expect(output, "allreduce   1  3 of 3");
    ck_assert_ptr_null(strstr(output, "smallest or largest"));
    /*
     * The nine rates around 32 start at 2, which does not reduce the loss, so tune must also try
     * smaller rates. All rates around 1e60 diverge.
     */
    output = tune("high", "--target loss=1e-8 --set learn.optimizer.lr=32", 0);
    expect(output, "allreduce   1  3 of 3");
    ck_assert_str_eq(
        awk("$2 == \"allreduce\" && $(NF-1) == 1 {print $NF}", "high/runs.csv | head -1"),
        "10 steps\n");
    tune("huge", "--set learn.optimizer.lr=1e60", 0);
    ck_assert_str_eq(
        awk("$2 == \"allreduce\" && $NF == \"10 steps\" {n++} END {print n}", "huge/runs.csv"),
        "13\n");
    /* If the user gives a range, tune does not try rates outside the range. */
    output = tune("given", "--target loss=1e-8 --over learn.optimizer.lr=0.0625:0.25:3", 0);
    expect(output, "  allreduce: the best lr, 0.25, is the smallest or largest");
    expect(output, "  local_sgd: the best lr, 0.25, is the smallest or largest");
    ck_assert_str_eq(awk("NR > 1 && $(NF-1) > 0.25", "given/runs.csv"), "");
    output =
        tune("low", "--over learn.optimizer.lr='[1, 1.5, 1.9]' --over allreduce.optimizer.lr=1", 0);
    expect(output, "  local_sgd: the best lr, 1, is the smallest or largest");
}

TEST(missed_target_ranks_candidates_by_distance)
{
    const char *const output = quadratic_tuned("--target loss=1e-300 --on time");
    expect(output, "no value reaches loss=1e-300; they are ranked by how");
    expect(output, "0 of 3");
    /* The best candidate has the least loss of all candidates that ran to the end. */
    dsgd_ends(0, "compare r");
    ck_assert_str_eq(least_of("r/compare.csv", "algorithms.optimizer.lr"),
                     awk("NR == 2 {print $2}", "r/tune.csv"));
}

TEST(tune_finds_candidate_that_is_best_only_late)
{
    /*
     * Because the gradients have noise, large rates approach the minimum faster, and small rates
     * reach a smaller loss.
     */
    write_file("e.yaml", "platform: idle-switch\n"
                         "workload: {bytes: 1k, step: 100ms, samples: 8}\n"
                         "workers: 2\nalgorithms: allreduce\n"
                         "until: {steps: 400}\n"
                         "learn:\n  model: hyperplane\n"
                         "  data: {name: hyperplane, features: 64, points: 1024, noise: 1}\n"
                         "  batch: 1\n  precision: double\n  optimizer: {lr: 0.02}\n");
    static const char values[] = "[0.005, 0.01, 0.015, 0.02, 0.025, 0.03]";
    tune("r", dsgd_xprintf("--over learn.optimizer.lr='%s'", values), 0);
    /*
     * At the end of the run, the rate 0.01 is best. After 134 steps, it is only fifth of six rates.
     * tune tries this rate again, because it is a neighbour of the best rate.
     */
    ck_assert_str_eq(awk("NR == 1 {for (i = 1; i <= NF; i++) k[$i] = i; next} $NF == \"134 steps\" "
                         "{print $k[\"final_loss\"], $(NF-1)}",
                         "r/runs.csv | sort -g | sed -n 5p | cut -d' ' -f2"),
                     "0.01\n");
    ck_assert_str_eq(awk("NR == 2 {print $2}", "r/tune.csv"), "0.01\n");
    dsgd_ends(0,
              "run e.yaml -o full --progress off --set seed='[2, 3, 4]' --set "
              "learn.optimizer.lr='{sweep: %s}' && %s compare full",
              values, DSGD_BINARY);
    ck_assert_str_eq(least_of("full/compare.csv", "learn.optimizer.lr"), "0.01\n");
}

TEST(killed_tuning_resumes_to_same_result)
{
    quadratic_tuned("--target loss=1e-8");
    const char *const tried = read_file("r/tune.csv");
    char *output = NULL;
    for (int i = 1; i < 4; i++) /* the kill may come after any number of runs */
        shell(dsgd_xprintf("cd %s && timeout -s KILL 0.0%d " DSGD_BINARY
                           " tune e.yaml -o killed --target loss=1e-8 -j 1 2>&1",
                           folder, 3 * i),
              &output);
    tune("killed", "--target loss=1e-8", 0);
    ck_assert_str_eq(read_file("killed/tune.csv"), tried);
    shell(dsgd_xprintf("cd %s/r/.parts && ls *.part | sort -n | sed -n '2~3p' | xargs rm", folder),
          &output);
    tune("r", "--target loss=1e-8 -j 1", 0);
    ck_assert_str_eq(read_file("r/tune.csv"), tried);
    /* Other options give other results, so tune rejects the existing folder. */
    expect(tune("r", "--target loss=1e-8 --seeds 2", 2), "--force");
}

TEST(options_of_one_algorithm_are_tuned_with_rate)
{
    write_file("e.yaml", quadratic);
    tune("r",
         "--target loss=1e-6 --over local_sgd.period='[1, 2, 4]' --over "
         "learn.optimizer.lr='[0.25, 1]' --seeds 1 --over exchange.pieces='[2]'",
         0);
    ck_assert_str_eq(awk("{n[$2 \": \" $NF]++} END {print n[\"local_sgd: 10 steps\"], "
                         "n[\"allreduce: 30 steps\"]}",
                         "r/runs.csv"),
                     "6 2\n");
    ck_assert_str_eq(awk("NR == 1", "r/tune.csv"),
                     "algorithm,lr,pieces,period,reached,time (s),runner-up,better by\n");
    const char *const tuned = read_file("r/tuned.yaml");
    expect(tuned, "- name: allreduce\n  optimizer:\n    lr: 1\n  exchange:\n    pieces: 2\n");
    expect(tuned, "\nname: e-tuned\n");
    expect(dsgd_ends(0, "check r/tuned.yaml"), "e-tuned: 4 runs");
    dsgd_ends(0, "compare r --target loss=1e-6");
}

/** Lists of algorithms in the experiment, and parts of the lists that tune writes for them. */
static const struct {
    const char *algorithms, *part;
} written[] = {
    {"algorithms: [{name: allreduce, optimizer: &o {lr: 0.1}}, {name: local_sgd, optimizer: *o}]",
     "- name: local_sgd\n  optimizer:\n    lr: 1\n"},
    {"algorithms: allreduce", "- name: allreduce\n  optimizer:\n    lr: 1\n"},
    {"algorithms: [\"allreduce\", {optimizer: {lr: 5}, name: local_sgd}]",
     "- optimizer:\n    lr: 1\n  name: local_sgd\n"},
    {"algorithms: [{name: allreduce, label: \"gr\xc3\xb6\xc3\x9f"
     "er\"}]",
     "label: \"gr\xc3\xb6\xc3\x9f"
     "er\"\n"},
    {"algorithms:\n  -\n    name: allreduce\n    optimizer:\n      momentum: 0\n  - local_sgd",
     "    momentum: 0\n    lr: 1\n"},
};

TEST_ROWS(tuned_file_contains_best_values, written)
{
    const char *const old = strstr(quadratic, "algorithms:");
    write_file("e.yaml", dsgd_xprintf("%.*s%s\n%s", (int)(old - quadratic), quadratic,
                                      written[_i].algorithms, strstr(quadratic, "until:")));
    const char *const output =
        tune("r", "--target loss=1e-6 --over learn.optimizer.lr='[0.5, 1]' --seeds 1", 0);
    ck_assert_ptr_null(strstr(output, "error"));
    expect(read_file("r/tuned.yaml"), written[_i].part);
    dsgd_ends(0, "run r/tuned.yaml -o t --progress off");
    expect(read_file("t/manifest.json"), "\"lr\": 1.0");
    ck_assert_ptr_null(strstr(read_file("t/manifest.json"), "\"lr\": 0."));
}

TEST(best_final_accuracy_is_highest)
{
    write_file("e.yaml", "platform: idle-switch\n"
                         "workload: {bytes: 1k, step: 100ms, samples: 8}\n"
                         "workers: 2\nalgorithms: allreduce\nuntil: {steps: 40}\n"
                         "learn:\n  model: policy\n  data: navigation\n"
                         "  optimizer: {lr: 0.1}\n");
    const char *const output = tune("r", "--over learn.optimizer.lr='[1e-9, 0.3]' --seeds 2", 0);
    expect(output, "accuracy");
    ck_assert_str_eq(awk("NR > 1 {print $2}", "r/tune.csv"), "0.3\n");
}

/**
 * Tests that the command that tune prints can be executed in another folder. This must also hold if
 * the experiment names a file in its own folder.
 */
TEST(last_line_is_command_that_runs)
{
    const char *const rest = strstr(quadratic, "workload:");
    shell_ends(0, "mkdir -p %s/of", folder);
    write_file("of/e.yaml", dsgd_xprintf("platform: net.yaml\n%s", rest));
    write_file("of/net.yaml", "summary: mine\norigin: mine\nhost_bandwidth: 1GB/s\n");
    char *const output =
        dsgd_ends(0, "tune of/e.yaml -o r --target loss=1e-6 --seeds 1 --progress off");
    char *const command = strstr(output, "tuned: cp r/tuned.yaml of/e-tuned.yaml && dsgd run of/");
    ck_assert_ptr_nonnull(command);
    shell_ends(0, "cd %s && dsgd() { " DSGD_BINARY " \"$@\"; } && %s", folder,
               command + strlen("tuned: "));
}

static const struct {
    const char *options, *sentence;
} refused[] = {
    {"--target acc=1", "--target must be accuracy=NUMBER or loss=NUMBER"},
    {"--target accuracy=5", "accuracy must be between 0 and 1"},
    {"--target accuracy=0.5", "for example for a regression; use --target loss=NUMBER"},
    {"--on steps", "--on steps needs a target: give --target"},
    {"--on nearly", "--on must be time or steps, got nearly"},
    {"--over foo=1:2:3", "`foo` cannot be tuned"},
    {"--over learn.batch='[1, 2]'", "`learn.batch` cannot be tuned"},
    {"--over algorithms.7.period=1", "`algorithms.7.period` cannot be tuned"},
    {"--over learn.optimizer.lr", "--over must be PATH=FROM:TO:N"},
    {"--over learn.optimizer.lr=0:1:4", "from and to must be above 0"},
    {"--over learn.optimizer.lr=1:2:x", "n must be a number, got `x`"},
    {"--over learn.optimizer.lr='[0.1, abc]'",
     "--over algorithms.0.optimizer.lr={sweep: [0.1, abc]}: lr must be a number, got `abc`"},
    {"--over learn.optimizer.lr='[0.1'", "the value must be YAML"},
    {"--over learn.optimizer.lr='[]'", "a sweep is empty"},
    {"--over learn.optimizer.lr='[0.1, 0.1]'", "give each "},
    {"--over learn.optimizer.lr=1e-5:1:20000", "at most 100000 are possible"},
    {"--over local_sgd.nope='[1, 2]'", "unknown key `nope`"},
    {"--set workers='[2, 4]'", "choose with --set, such as --set workers=2"},
    {"--set workload.step='{sweep: [1, 2]}'", "and no sweep"},
    {"--set learn.evaluate.every=0 --target loss=1", "set learn.evaluate.every"},
    {"--set learn.optimizer.lr=0", "the learning rate of allreduce is 0"},
    {"--set until='{accuracy: 0.5}'", "until must contain steps, seconds or samples"},
    {"--seeds 1000", "--seeds must be at most 100, got 1000"},
};

TEST_ROWS(bad_input_is_rejected_with_reason, refused)
{
    write_file("e.yaml", quadratic);
    expect(tune("r", refused[_i].options, 2), refused[_i].sentence);
}

TEST(rate_or_target_is_rejected_if_nothing_is_learned)
{
    write_experiment("");
    expect(tune("r", "--set workers=4", 2),
           "nothing is learned, so there is no learning rate to tune");
    expect(tune("r", "--set workers=4 --target loss=1", 2), "so no loss can be reached");
}

/* --- failures --------------------------------------------------------------------------------- */

/** An experiment with one failure per hour (4 workers, mtbf 4 h), whose checkpoints take 30 s. */
static const char failing[] = "platform: idle-switch\n"
                              "workload: {bytes: 1k, step: 30s, samples: 8}\n"
                              "workers: 4\n"
                              "algorithms: [allreduce, {name: local_sgd, period: 2}]\n"
                              "until: {seconds: 40d}\n"
                              "failures: {mtbf: 4h, detect: 30s, repair: 5min, restart: 1min,\n"
                              "           checkpoint: {seconds: 30s}}\n";

/**
 * Runs an experiment with options, and returns the goodput of run @p run. Each algorithm has one
 * run.
 */
static double goodput_of(const char *file, const char *options, int run)
{
    dsgd_ends(0, "run %s -o g --force --progress off %s", file, options);
    return strtod(cell_of("g/runs.csv", dsgd_xprintf("%d,", run), "goodput"), NULL);
}

/**
 * Tests a search over seven checkpoint intervals, from 1 min to 1 h. The goodput of the best
 * interval must be within 3 % of the goodput of Daly's interval. Intervals that are four times as
 * long or a quarter as long must be at least 5 % worse.
 */
TEST(tune_finds_checkpoint_interval_of_daly)
{
    static const char *const over = "--over failures.checkpoint.interval=1min:1h:7";
    write_file("e.yaml", failing);
    const char *const output = tune("r", over, 0);
    expect(output, "throughput");
    for (int run = 1; run <= 2; run++) { /* each algorithm has its own interval */
        const double daly = goodput_of("e.yaml", "", run);
        ck_assert_double_eq_tol(goodput_of("r/tuned.yaml", "", run) / daly, 1, 0.03);
        ck_assert_double_le(goodput_of("e.yaml", "--set failures.checkpoint.interval=30min", run),
                            0.95 * daly);
        ck_assert_double_le(goodput_of("e.yaml", "--set failures.checkpoint.interval=2min", run),
                            0.95 * daly);
    }
    /* tuned.yaml keeps the checkpoint keys of e.yaml that are not tuned. */
    ck_assert_double_gt(strtod(cell_of("g/runs.csv", "1,", "checkpoint_s"), NULL), 0);
    ck_assert_double_gt(strtod(awk("NR == 2 {print $2}", "r/tune.csv"), NULL), 200);
}

/**
 * Tests that one algorithm can set its own failure policy, while another keeps the policy of the
 * file.
 */
TEST(algorithm_can_have_its_own_failure_policy)
{
    write_file("e.yaml", failing);
    const double restart = goodput_of("e.yaml", "", 1);
    const char *const own = "--set 'algorithms=[{name: allreduce, failures: {policy: quorum}}, "
                            "{name: allreduce, label: b}]'";
    ck_assert_double_gt(goodput_of("e.yaml", own, 1), restart + 0.1);
    ck_assert_double_eq(goodput_of("e.yaml", own, 2), restart);
}
