/**
 * @file test_verdict.c
 * Tests verdicts, which name the winner of a results folder. Each folder contains a trap, such as a
 * fast algorithm that does not learn. Tables, reports and figures must name the right winner.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"
#include "traces/imbalance.h"

enum { MOST_RUNS = 8, N_EVALUATIONS = 6 };

/** A run of a results folder. Its evaluations are at equal intervals of time. */
typedef struct planted {
    const char *name;
    int seed;
    double speed; /* throughput in samples/s; a run has 100 samples */
    /* accuracies or losses of evaluations; the first value is NAN if the run does not learn */
    double values[N_EVALUATIONS];
    double sent_bytes;
    const char *status, *why; /* status and reason of a failed run, or NULL for ok */
    int workers; /* number of workers, or 0 for 4 workers */
    const char *value; /* value of the swept column */
    double cost;
} planted;

/* Accuracies of the evaluations of a run. */
#define GOOD .1, .4, .6, .7, .75, .8
#define NEAR .1, .4, .6, .7, .74, .78
#define HALF .1, .2, .3, .4, .45, .5
#define CHANCE .1, .1, .11, .1, .1, .11
#define NOTHING NAN
#define TWICE .1, NAN, NAN, NAN, NAN, .8

static const struct {
    const char *trap;
    planted runs[MOST_RUNS];
    bool losses;
    const char *target, *said[3]; /* a target, and sentences that the verdict must contain */
    const char *note; /* note that the headline figure must contain */
    const char *column; /* name of the swept column, or NULL */
    const char *run; /* JSON of each run in the manifest, or NULL */
} cases[] = {
    {"faster, at chance",
     {{"allreduce", 1, 100, {GOOD}}, {"fast", 1, 200, {CHANCE}}, {"wagma", 1, 150, {NEAR}}},
     .said =
         {"wagma learns fastest: accuracy 0.78 after 0.6667 s, 1.38 times as fast as allreduce.",
          " fast (accuracy 0.11, from 0.1) made no progress.",
          " With one seed a difference can be chance."},
     .note = "wagma learns fastest; fast (accuracy 0.11, from 0.1) made no progress; one seed"},
    {"faster, but ends lower",
     {{"allreduce", 1, 100, {GOOD}}, {"half", 1, 200, {HALF}}},
     .said = {"allreduce leads: accuracy 0.8 after 1 s.",
              " half (after 0.5 s) ended before the target was reached; a longer `until`"},
     .note = "allreduce leads; half (after 0.5 s) ended before"},
    {"ends lower, and later",
     {{"allreduce", 1, 100, {GOOD}}, {"half", 1, 90, {HALF}}},
     .said = {"allreduce is the only candidate that can win: accuracy 0.8 after 1 s.",
              " half did not reach accuracy 0.8 in these runs."},
     .note = "allreduce is the only candidate that can win; half did not reach accuracy 0.8 in "
             "these runs"},
    {"a target of the user's own",
     {{"allreduce", 1, 100, {GOOD}}, {"half", 1, 200, {HALF}}},
     .target = "accuracy=0.4",
     .said = {"allreduce learns fastest: accuracy 0.4 after 0.2 s, 1.5 times as fast as half.",
              " The target lies between evaluations that are up to 0.2 s apart, so the times are "
              "rough and the order is not certain."},
     .note = "allreduce learns fastest; one seed; evaluations 0.2 s apart"},
    {"the second, and the baseline",
     {{"allreduce", 1, 100, {NOTHING}}, {"sgp", 1, 200, {NOTHING}}, {"wagma", 1, 300, {NOTHING}}},
     .said = {"wagma is fastest: 300 samples/s, 1.5 times as fast as sgp, 3 times as fast as "
              "allreduce."},
     .note = "wagma is fastest; one seed"},
    {"two evaluations make a time",
     {{"allreduce", 1, 100, {TWICE}}, {"wagma", 1, 300, {TWICE}}},
     .target = "accuracy=0.4",
     .said = {"wagma learns fastest: accuracy 0.4 after 0.1429 s, 3 times as fast as allreduce.",
              " apart, so the times are rough and the order is not certain."},
     .note = "wagma learns fastest; one seed; evaluations 1 s apart"},
    {"two evaluations of one",
     {{"allreduce", 1, 100, {TWICE}}},
     .said = {" 1 s. The target lies between", " up to 1 s apart, so the times are rough."},
     .note = "allreduce is the only candidate; evaluations 1 s apart"},
    {"the baseline failed",
     {{"allreduce",
       1,
       0,
       {NOTHING},
       0,
       "failed",
       "every worker waited at 2 s, where worker 3 had "
       "stopped: worker 1 waits"},
      {"ad_psgd", 1, 50, {GOOD}}},
     .said = {"ad_psgd is the only candidate that can win: accuracy 0.8 after 2 s.",
              " allreduce (every worker waited at 2 s, where worker 3 had stopped) failed."},
     .note =
         "ad_psgd is the only candidate that can win; allreduce (every worker waited at 2 s, where "
         "worker 3 had stopped) failed"},
    {"one of two seeds failed",
     {{"allreduce", 1, 100, {NOTHING}},
      {"allreduce", 2, 100, {NOTHING}},
      {"wagma", 1, 200, {NOTHING}},
      {"wagma", 2, 0, {NOTHING}, 0, "timeout"}},
     .said = {"allreduce is the only candidate that can win: 100 samples/s.",
              " wagma (1 of 2 seeds) reached the time limit."},
     .note = "allreduce is the only candidate that can win; wagma (1 of 2 seeds) "
             "reached the time limit"},
    {"nobody learned",
     {{"allreduce", 1, 100, {CHANCE}}, {"wagma", 1, 200, {CHANCE}}},
     .said =
         {"No candidate wins. allreduce (accuracy 0.11, from 0.1) and wagma (accuracy 0.11, from "
          "0.1) made no progress."},
     .note = "no candidate wins; allreduce (accuracy 0.11, from 0.1) and wagma (accuracy 0.11, "
             "from 0.1) "
             "made no progress"},
    {"its loss says ok and is 1e30",
     {{"allreduce", 1, 100, {2, 1.5, 1, .8, .7, .6}},
      {"ad_psgd", 1, 200, {2, 9, 1e9, 1e20, 1e29, 1e30}}},
     .losses = true,
     .said = {"allreduce is the only candidate that can win: loss 0.6 after 1 s.",
              " ad_psgd diverged."},
     .note = "allreduce is the only candidate that can win; ad_psgd diverged"},
    {"there and back again",
     {{"allreduce", 1, 100, {2, 1.5, 1, .8, .7, .6}}, {"slowmo", 1, 200, {2, .5, .6, 1, 2, 3}}},
     .losses = true,
     .target = "loss=0.65",
     .said = {"allreduce is the only candidate that can win: loss 0.65 after 0.9 s.",
              " slowmo (loss 3, from 2) made no progress."},
     .note = "allreduce is the only candidate that can win; slowmo (loss 3, from 2) made no "
             "progress"},
    {"there and half of the way back",
     {{"allreduce", 1, 100, {9, 5, 2, .8, .7, .6}}, {"slowmo", 1, 200, {9, .5, .6, .8, 1, 1.4}}},
     .losses = true,
     .said = {"allreduce is the only candidate that can win: loss 0.6 after 1 s.",
              " slowmo (loss 1.4 at the end) reached loss 0.6 and lost it again."},
     .note =
         "allreduce is the only candidate that can win; slowmo (loss 1.4 at the end) reached loss "
         "0.6 and lost it again"},
    {"who exchanges nothing",
     {{"allreduce", 1, 100, {NOTHING}, 800}, {"diloco", 1, 200, {NOTHING}}},
     .said = {"allreduce is the only candidate that can win: 100 samples/s.",
              " diloco exchanged nothing in these runs."},
     .note =
         "allreduce is the only candidate that can win; diloco exchanged nothing in these runs"},
    {"equally fast",
     {{"allreduce", 1, 100, {NOTHING}}, {"wagma", 1, 101, {NOTHING}}, {"sgp", 1, 80, {NOTHING}}},
     .said = {"wagma and allreduce tie: 101 samples/s, 1.26 times as fast as sgp."},
     .note = "wagma and allreduce tie; one seed"},
    {"within noise",
     {{"allreduce", 1, 100, {NOTHING}},
      {"allreduce", 2, 120, {NOTHING}},
      {"wagma", 1, 130, {NOTHING}},
      {"wagma", 2, 110, {NOTHING}}},
     .said =
         {"wagma leads: 120 samples/s. With 2 seeds its lead over allreduce (1.09 times) is not "
          "certain."},
     .note = "wagma leads, within noise of others; two seeds"},
    {"equal in the mean, and far apart in each seed",
     {{"allreduce", 1, 100, {NOTHING}},
      {"allreduce", 2, 120, {NOTHING}},
      {"wagma", 1, 121, {NOTHING}},
      {"wagma", 2, 100, {NOTHING}}},
     .said = {"wagma leads: 110.5 samples/s. With 2 seeds its lead over allreduce (1 times) is not "
              "certain."},
     .note = "wagma leads, within noise of others; two seeds"},
    {"no seed in common",
     {{"allreduce", 1, 100, {NOTHING}}, {"wagma", 2, 160, {NOTHING}}, {"sgp", 2, 80, {NOTHING}}},
     .said =
         {"wagma leads: 160 samples/s, 2 times as fast as sgp. With 1 seed its lead over allreduce "
          "(no seed in common) is not certain."},
     .note = "wagma leads, within noise of others; one seed"},
    {"one algorithm alone",
     {{"wagma", 1, 100, {NOTHING}}},
     .said = {"wagma is the only candidate: 100 samples/s."},
     .note = "wagma is the only candidate"},
    {"fewest bytes are another's",
     {{"wagma", 1, 150, {GOOD}, 800, .cost = 2},
      {"wagma", 2, 150, {GOOD}, 800, .cost = 2},
      {"local_sgd", 1, 90, {GOOD}, 80, .cost = 1},
      {"local_sgd", 2, 90, {GOOD}, 88, .cost = 1.1}},
     .said =
         {"wagma learns fastest: accuracy 0.8 after 0.6667 s, 1.67 (1.67 to 1.67) times",
          " local_sgd sends the fewest bytes up to the target: 0.105 (0.0572 to 0.192) times the "
          "value of wagma. local_sgd costs the least up to the target: 0.524 (0.286 to 0.961) "
          "times the value of wagma."},
     .note = "wagma learns fastest; two seeds"},
    {"the winner changes",
     {{"allreduce", 1, 100, {NOTHING}, .value = "4"},
      {"wagma", 1, 90, {NOTHING}, .value = "4"},
      {"allreduce", 1, 200, {NOTHING}, .workers = 8, .value = "8"},
      {"wagma", 1, 300, {NOTHING}, .workers = 8, .value = "8"}},
     .column = "workers", /* the column `workers` is then printed as a single column */
     .said = {"allreduce is first in 1 and wagma is first in 1 of 2 settings (workers, platform, "
              "workload and swept values).",
              "4 workers: allreduce is fastest: 100 samples/s, 1.11 times as fast as wagma.",
              "8 workers: wagma is fastest: 300 samples/s, 1.5 times as fast as allreduce."},
     .note = "allreduce is fastest; one seed', 'wagma is fastest; one seed"},
    {"ties everywhere",
     {{"allreduce", 1, 100, {NOTHING}},
      {"wagma", 1, 101, {NOTHING}},
      {"allreduce", 1, 300, {NOTHING}, .workers = 8},
      {"wagma", 1, 300, {NOTHING}, .workers = 8}},
     .said = {"wagma is first in 1 and allreduce is first in 1 of 2 settings (workers, platform, "
              "workload and swept values). In 2 of them the winner is not certain."},
     .note = "wagma and allreduce tie; one seed', 'allreduce and wagma tie; one seed"},
    {"one rate, tuned for none",
     {{"allreduce", 1, 100, {GOOD}}, {"wagma", 1, 150, {GOOD}}},
     .said = {"wagma learns fastest: accuracy 0.8 after 0.6667 s, 1.5 times as fast as allreduce.",
              " All candidates use the learning rate 0.25, which suits some better than others"},
     .note = "wagma learns fastest; one seed; one learning rate for all",
     .run = "\"learn\": {\"optimizer\": {\"lr\": 0.25}}"},
    {"defaults that decide",
     {{"allreduce", 1, 100, {NOTHING}}, {"power_sgd", 1, 150, {NOTHING}}},
     .said = {"power_sgd is fastest: 150 tokens/s, 1.5 times as fast as allreduce.",
              "These defaults may decide the result and were not varied: how vectors are cut into "
              "chunks (buckets), the speed of gradient compression (a guess). To vary them, run "
              "`dsgd run FILE` with --sensitivity=choices and another folder (-o)."},
     .note = "power_sgd is fastest; one seed; defaults not varied",
     .run = "\"exchange\": {\"pieces\": \"buckets\"}, \"algorithm\": {\"rank\": 4}, "
            "\"platform\": {\"encoding\": \"memory\"}, \"workload\": {\"unit\": \"tokens\"}"},
    {"defaults of which one is varied",
     {{"allreduce", 1, 100, {NOTHING}, .value = "1"},
      {"wagma", 1, 150, {NOTHING}, .value = "1"},
      {"allreduce", 1, 100, {NOTHING}, .value = "4"},
      {"wagma", 1, 150, {NOTHING}, .value = "4"}},
     .said = {"4 workers, pieces 4: wagma is fastest", "With one seed a difference can be chance."},
     .note = "wagma is fastest; one seed', 'wagma is fastest; one seed",
     .column = "exchange.pieces",
     .run = "\"exchange\": {\"pieces\": \"buckets\"}"},
    {"one of two seeds diverged",
     {{"allreduce", 1, 100, {2, 1.5, 1, .8, .7, .6}},
      {"allreduce", 2, 100, {2, 1.5, 1, .8, .7, .6}},
      {"ad_psgd", 1, 200, {2, 1, .5, .4, .3, .2}},
      {"ad_psgd", 2, 200, {2, 9, NAN, NAN, NAN, NAN}, 0, "diverged"}},
     .losses = true,
     .said = {"allreduce is the only candidate that can win: loss 0.6 after 1 s.",
              " ad_psgd (1 of 2 seeds) diverged."},
     .note = "allreduce is the only candidate that can win; ad_psgd (1 of 2 seeds) "
             "diverged"},
    {"encodings alone differ",
     {{"allreduce", 1, 100, {NOTHING}, 800, .value = "none"},
      {"allreduce", 1, 150, {NOTHING}, 100, .value = "qsgd"}},
     .said = {"allreduce with encoding qsgd is fastest: 150 samples/s, 1.5 times as fast as "
              "allreduce with encoding none."},
     .note = "allreduce with encoding qsgd is fastest; one seed",
     .column = "algorithms.0.exchange.encoding"},
    {"a seed that never gets there",
     {{"allreduce", 1, 100, {GOOD}},
      {"allreduce", 2, 101, {GOOD}},
      {"wagma", 1, 300, {GOOD}},
      {"wagma", 2, 300, {HALF}}},
     .target = "accuracy=0.7",
     .said = {"allreduce leads: accuracy 0.7 after 0.597 s.",
              " wagma (1 of 2 seeds) ended before the target was reached; a longer `until`"},
     .note = "allreduce leads; wagma (1 of 2 seeds) ended before; evaluations 0.2 s apart"},
};

SUITE(verdict, "verdict", .seconds = 30, .set_up = make_folder, .tear_down = remove_folder);

static void put_curve(char **curves, int run, const planted *p, bool losses)
{
    for (int k = 0; k < N_EVALUATIONS && !isnan(p->values[0]); k++)
        if (!isnan(p->values[k]))
            dsgd_append(curves, losses ? "%d,%s,%d,%.9g,%d,%g,\n" : "%d,%s,%d,%.9g,%d,,%g\n", run,
                        p->name, p->seed, 100 / p->speed * k / (N_EVALUATIONS - 1), 4 * k,
                        p->values[k]);
}

static void put_row(char **rows, int run, const planted *p, const char *swept)
{
    dsgd_append(rows, "%d,%s,%d,%d,p,w,%s,20,%.9g,%g,1,0,,,%g,,%g,\"%s\",2,1%s%s\n", run, p->name,
                p->workers == 0 ? 4 : p->workers, p->seed, p->status == NULL ? "ok" : p->status,
                100 / p->speed, p->speed, p->sent_bytes, p->cost, p->why == NULL ? "" : p->why,
                swept == NULL ? "" : ",", swept == NULL ? "" : p->value);
}

/**
 * Writes the tables of a results folder, and a manifest that contains @p run for each of @p n_runs
 * runs.
 */
static void write_tables(const char *rows, const char *curves, const char *swept, int n_runs,
                         const char *run)
{
    char *runs = dsgd_xstrdup("");
    for (int i = 0; i < n_runs; i++)
        dsgd_append(&runs, "%s{%s}", i == 0 ? "" : ", ", run == NULL ? "" : run);
    mkdir(dsgd_xprintf("%s/r", folder), 0777);
    write_file(
        "r/runs.csv",
        dsgd_xprintf("run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,"
                     "throughput_samples_per_s,step_mean_s,staleness_mean,final_loss,"
                     "final_accuracy,sent_mean_bytes,energy_j,cost,why,pieces,wall_s%s%s\n%s",
                     swept == NULL ? "" : ",", swept == NULL ? "" : swept, rows));
    write_file("r/curves.csv",
               dsgd_xprintf("run,algorithm,seed,virtual_s,steps,loss,accuracy\n%s", curves));
    write_file("r/manifest.json", dsgd_xprintf("{\"runs\": [%s]}", runs));
}

/** Replaces the tags of an SVG file by blanks, and returns the remaining texts. */
static char *texts_of(char *svg)
{
    for (char *c = svg, in = ' '; *c != '\0'; c++) {
        in = *c == '<' ? '<' : in;
        const char was = *c;
        *c = in == '<' ? ' ' : *c;
        in = was == '>' ? ' ' : in;
    }
    return unwrapped(svg);
}

TEST_ROWS(verdict_names_the_right_winner, cases)
{
    char *rows = dsgd_xstrdup(""), *curves = dsgd_xstrdup("");
    int n = 0;
    for (; n < MOST_RUNS && cases[_i].runs[n].name != NULL; n++) {
        put_row(&rows, n + 1, &cases[_i].runs[n], cases[_i].column);
        put_curve(&curves, n + 1, &cases[_i].runs[n], cases[_i].losses);
    }
    write_tables(rows, curves, cases[_i].column, n, cases[_i].run);
    const char *const target =
        cases[_i].target == NULL ? "" : dsgd_xprintf("--target %s", cases[_i].target);
    char *const output = dsgd_ends(0, "compare r %s", target), *const table = unwrapped(output);
    dsgd_ends(0, "report r %s", target);
    char *const page = unwrapped(read_file("r/report.html"));
    for (size_t k = 0; k < 3 && cases[_i].said[k] != NULL; k++) {
        ck_assert_msg(strstr(table, cases[_i].said[k]) != NULL, "%s: `%s` is not in `%s`",
                      cases[_i].trap, cases[_i].said[k], table);
        ck_assert_msg(strstr(page, cases[_i].said[k]) != NULL, "%s: `%s` is not on the page",
                      cases[_i].trap, cases[_i].said[k]);
    }
    dsgd_ends(0, "plot r headline --format svg %s", target);
    ck_assert_has(read_file("r/figures/data.gp"), dsgd_xprintf("['%s']\n", cases[_i].note));
    if (*curves != '\0')
        ck_assert_has(texts_of(read_file("r/figures/headline.svg")),
                      dsgd_xprintf("%s; %s", *target == '\0' ? "4 GPUs" : "", cases[_i].note));
}

/**
 * Tests that step times without imbalance depend on the seed only if the algorithm declares that it
 * draws random numbers.
 */
TEST(seeds_change_times_only_if_the_algorithm_declares_draws)
{
    char *names = dsgd_xstrdup("");
    for (size_t i = 0; dsgd_algorithms[i] != NULL; i++)
        dsgd_append(&names, "%s%s", i == 0 ? "" : ", ", dsgd_algorithms[i]->name);
    write_file(
        "e.yaml",
        dsgd_xprintf("platform: {host_bandwidth: 20MB/s}\nworkload: {bytes: 1M, step: 100ms, "
                     "samples: 8}\nworkers: 8\nseed: [1, 2]\nimbalance: {kind: ramp, seconds: "
                     "45ms}\nuntil: {steps: 120}\nexchange: {pieces: 2}\n"
                     "algorithms: [%s]\n",
                     names));
    dsgd_ends(0, "run e.yaml -o r");
    for (size_t i = 0; dsgd_algorithms[i] != NULL; i++) {
        const dsgd_algorithm *const a = (const dsgd_algorithm *)dsgd_algorithms[i];
        const char *const n =
            shell_ends(0, "awk -F, '$2 == \"%s\" {print $9}' %s/r/runs.csv | sort -u | wc -l",
                       a->about.name, folder);
        ck_assert_msg(atoi(n) == 1 + ((a->traits & DSGD_DRAWS) != 0), "%s: %s times of two seeds",
                      a->about.name, n);
    }
}

static const struct {
    const char *sets;
    bool by_chance;
} chances[] = {
    {"", false},
    {"--set imbalance='[{kind: ramp, seconds: 1ms}, {kind: normal, mean: 1ms, deviation: 1ms}]'",
     true},
    {"--set algorithms='[allreduce, {name: d_psgd, graph: matching}]'", true},
    {"--set placement=random", true},
};

/**
 * Tests that a verdict mentions the number of seeds only if another seed could change the times.
 * The printed command must contain the options of the run.
 */
TEST_ROWS(verdict_mentions_seeds_only_if_runs_are_random, chances)
{
    write_file("e.yaml", "platform: {host_bandwidth: 1GB/s}\nworkload: {bytes: 100M, step: 100ms, "
                         "samples: 8}\nworkers: 4\nalgorithms: [allreduce, wagma]\n"
                         "until: {steps: 20}\n");
    dsgd_ends(0, "run e.yaml -o r --set workers=8 %s", chances[_i].sets);
    const char *const table = unwrapped(dsgd_ends(0, "compare r"));
    ck_assert_msg((strstr(table, "With one seed") != NULL) == chances[_i].by_chance, "%s", table);
    ck_assert_has(table, "`dsgd run e.yaml -o r --set workers=8");
    ck_assert(chances[_i].by_chance ==
              (strstr(dsgd_ends(0, "compare r --ratio"), "seeds needed") != NULL));
}

static const char learn_sequences[] = "learn: {model: lstm, data: sequences, batch: 2, optimizer: "
                                      "{lr: 0.1}}\n";
static const char *const imbalances[] = {
    "constant, seconds: 10ms",
    "slow, worker: 1, factor: 2",
    "ramp, seconds: 10ms",
    "replay, file: steps.csv",
    "delay, seconds: 50ms, chosen: independent",
    "normal, mean: 10ms, deviation: 5ms",
    "lognormal, mean: 10ms, deviation: 5ms",
    "gamma, mean: 10ms, deviation: 5ms",
    "quantiles, table: {0: 0, 100: 10ms}",
    "mixture, components: {share: 1, mean: 10ms, deviation: 5ms, min: 0, max: 20ms}",
    "persistent",
    "fail_slow, slow_steps: 2, healthy_steps: 4",
    "noise, rate: 100, mean: 1ms, deviation: 1ms",
    "replay, file: steps.csv",
    "data, per_row: 1ms", /* each worker draws its samples at random */
};

/**
 * Tests for each kind of imbalance: times differ between seeds, and the verdict mentions seeds,
 * only if the kind is random.
 */
TEST_ROWS(seeds_change_times_only_if_the_imbalance_is_random, imbalances)
{
    const char *const row = imbalances[_i];
    const char *const name = dsgd_xprintf("%.*s", (int)strcspn(row, ","), row);
    const bool learns = strcmp(name, "data") == 0;
    for (size_t k = 0, there = 0; _i == 0 && dsgd_imbalance_kinds[k] != NULL; k++, there = 0) {
        for (size_t i = 0; i < sizeof imbalances / sizeof imbalances[0]; i++)
            there += strncmp(imbalances[i], dsgd_imbalance_kinds[k]->name,
                             strlen(dsgd_imbalance_kinds[k]->name)) == 0;
        ck_assert_msg(there > 0, "%s has no row", dsgd_imbalance_kinds[k]->name);
    }
    const bool is_fixed =
        ((const dsgd_imbalance_kind *)dsgd_entry_find(dsgd_imbalance_kinds, name))->is_fixed;
    write_file("steps.csv", "worker,step,seconds\n0,0,.1\n0,1,.2\n1,0,.3\n1,1,.1\n");
    write_file(
        "e.yaml",
        dsgd_xprintf("platform: {host_bandwidth: 1GB/s}\nworkload: {bytes: 1M, step: 100ms, "
                     "samples: 8}\nworkers: 4\nseed: [1, 2]\nalgorithms: [allreduce, local_sgd]\n"
                     "until: {steps: 20}\nimbalance: {kind: %s}\n%s",
                     row, learns ? learn_sequences : ""));
    dsgd_ends(0, "run e.yaml -o r");
    const char *const n = shell_ends(
        0, "awk -F, '$2 == \"allreduce\" {print $9}' %s/r/runs.csv | sort -u | wc -l", folder);
    ck_assert_msg(atoi(n) == 2 - is_fixed, "%s: %s times of two seeds", row, n);
    const char *const table = unwrapped(dsgd_ends(0, "compare r"));
    ck_assert_msg(learns || (strstr(table, "over two seeds are wide") == NULL) == is_fixed, "%s",
                  table);
}

/**
 * Tests 10,000 runs. wagma is as fast as allreduce up to 100 workers, and about twice as fast with
 * more workers.
 */
TEST(verdict_summarizes_ten_thousand_runs)
{
    enum { N_PLACES = 50, N_SEEDS = 100 };
    char *rows = NULL;
    size_t room = 0;
    FILE *const stream = open_memstream(&rows, &room);
    for (int run = 0; run < 2 * N_PLACES * N_SEEDS; run++) {
        const int place = run / (2 * N_SEEDS), of_wagma = run / N_SEEDS % 2;
        const planted p = {of_wagma ? "wagma" : "allreduce", .seed = run % N_SEEDS,
                           .speed = (of_wagma && place >= N_PLACES / 2 ? 200 : 100) + run % N_SEEDS,
                           .workers = 4 * (place + 1)};
        char *row = dsgd_xstrdup("");
        put_row(&row, run + 1, &p, NULL);
        fputs(row, stream);
    }
    fclose(stream);
    write_tables(rows, "", NULL, 1, NULL);
    free(rows);
    static const char summary[] =
        "allreduce is first in 25 and wagma is first in 25 of 50 settings (workers, platform, "
        "workload and swept values). In 25 of them the winner is not certain.";
    char *const table = dsgd_ends(0, "compare r");
    ck_assert_has(unwrapped(table), summary);
    ck_assert_has(table, "\n`dsgd report` shows 38 more settings.\n");
    dsgd_ends(0, "report r");
    ck_assert_has(unwrapped(read_file("r/report.html")), summary);
    dsgd_ends(0, "plot r headline --format svg");
    ck_assert_has(read_file("r/figures/data.gp"),
                  "'allreduce and wagma tie', 'wagma is fastest', ");
}
