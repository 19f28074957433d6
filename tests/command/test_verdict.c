/**
 * @file test_verdict.c
 * Who wins, in folders with a trap each: tables, pages and sentences must not fall into it.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/command/shell.h"
#include "tests/support/suite.h"

enum { MOST_RUNS = 8, N_EVALUATIONS = 6 };

/** A run whose evaluations are even parts of its time apart. */
typedef struct planted {
    const char *name;
    int seed;
    double speed; /* samples/s; a run is of 100 samples */
    double values[N_EVALUATIONS]; /* accuracies, or losses; the first NAN: nothing is learned */
    double sent_bytes;
    const char *status, *why; /* NULL: ok */
    int workers; /* 0: 4 */
} planted;

/* Learning curves of accuracy. */
#define GOOD .1, .4, .6, .7, .75, .8
#define NEAR .1, .4, .6, .7, .74, .78
#define HALF .1, .2, .3, .4, .45, .5
#define CHANCE .1, .1, .11, .1, .1, .11
#define NOTHING NAN

static const struct {
    const char *trap;
    planted runs[MOST_RUNS];
    bool losses;
    const char *target, *said[3]; /* the last ones may be NULL */
} cases[] = {
    {"faster, at chance",
     {{"allreduce", 1, 100, {GOOD}}, {"fast", 1, 200, {CHANCE}}, {"wagma", 1, 150, {NEAR}}},
     .said =
         {"wagma learns fastest: accuracy 0.78 after 0.6667 s, 1.38 times as fast as allreduce.",
          " fast (accuracy 0.11, from 0.1) did not learn.", " With one seed"}},
    {"faster, but ends lower",
     {{"allreduce", 1, 100, {GOOD}}, {"half", 1, 200, {HALF}}},
     .said = {"allreduce is the only one that can win: accuracy 0.8 after 1 s.",
              " half did not reach accuracy 0.8 in these runs."}},
    {"a target of the user's own",
     {{"allreduce", 1, 100, {GOOD}}, {"half", 1, 200, {HALF}}},
     .target = "accuracy=0.4",
     .said = {"allreduce learns fastest: accuracy 0.4 after 0.2 s, 1.5 times as fast as half."}},
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
     .said = {"ad_psgd is the only one that can win: accuracy 0.8 after 2 s.",
              " allreduce failed; allreduce: every worker waited at 2 s, where worker 3 had "
              "stopped."}},
    {"one of two seeds failed",
     {{"allreduce", 1, 100, {NOTHING}},
      {"allreduce", 2, 100, {NOTHING}},
      {"wagma", 1, 200, {NOTHING}},
      {"wagma", 2, 0, {NOTHING}, 0, "timeout"}},
     .said = {"allreduce is the only one that can win: 100 samples/s.",
              " wagma (1 of 2 seeds) ran into the time limit."}},
    {"nobody learned",
     {{"allreduce", 1, 100, {CHANCE}}, {"wagma", 1, 200, {CHANCE}}},
     .said = {"Nobody wins. allreduce (accuracy 0.11, from 0.1) and wagma (accuracy 0.11, from "
              "0.1) did not learn."}},
    {"its loss says ok and is 1e30",
     {{"allreduce", 1, 100, {2, 1.5, 1, .8, .7, .6}},
      {"ad_psgd", 1, 200, {2, 9, 1e9, 1e20, 1e29, 1e30}}},
     .losses = true,
     .said = {"allreduce is the only one that can win: loss 0.6 after 1 s.", " ad_psgd diverged."}},
    {"there and back again",
     {{"allreduce", 1, 100, {2, 1.5, 1, .8, .7, .6}}, {"slowmo", 1, 200, {2, .5, .6, 1, 2, 3}}},
     .losses = true,
     .target = "loss=0.65",
     .said = {"allreduce is the only one that can win: loss 0.65 after 0.9 s.",
              " slowmo (loss 3, from 2) did not learn."}},
    {"there and half of the way back",
     {{"allreduce", 1, 100, {9, 5, 2, .8, .7, .6}}, {"slowmo", 1, 200, {9, .5, .6, .8, 1, 1.4}}},
     .losses = true,
     .said = {"allreduce is the only one that can win: loss 0.6 after 1 s.",
              " slowmo (loss 1.4 at the end) reached loss 0.6 and lost it again."}},
    {"who exchanges nothing",
     {{"allreduce", 1, 100, {NOTHING}, 800}, {"diloco", 1, 200, {NOTHING}}},
     .said = {"allreduce is the only one that can win: 100 samples/s.",
              " diloco exchanged nothing in these runs."}},
    {"equally fast",
     {{"allreduce", 1, 100, {NOTHING}}, {"wagma", 1, 101, {NOTHING}}, {"sgp", 1, 80, {NOTHING}}},
     .said = {"wagma and allreduce tie: 101 samples/s, 1.26 times as fast as sgp."}},
    {"within noise",
     {{"allreduce", 1, 100, {NOTHING}},
      {"allreduce", 2, 120, {NOTHING}},
      {"wagma", 1, 130, {NOTHING}},
      {"wagma", 2, 110, {NOTHING}}},
     .said = {"wagma leads: 120 samples/s, but with 2 seeds it cannot be told from allreduce (1.09 "
              "times)."}},
    {"one algorithm alone",
     {{"wagma", 1, 100, {NOTHING}}},
     .said = {"wagma ran alone, with nothing to compare it with: 100 samples/s."}},
    {"fewest bytes are another's",
     {{"allreduce", 1, 100, {GOOD}, 800},
      {"wagma", 1, 150, {GOOD}, 800},
      {"local_sgd", 1, 90, {GOOD}, 80}},
     .said = {"wagma learns fastest", "1.5 times as fast as allreduce. local_sgd sends least until "
                                      "then: 0.1 of what wagma does."}},
    {"the winner changes",
     {{"allreduce", 1, 100, {NOTHING}},
      {"wagma", 1, 90, {NOTHING}},
      {"allreduce", 1, 200, {NOTHING}, .workers = 8},
      {"wagma", 1, 300, {NOTHING}, .workers = 8}},
     .said = {"Of 2 places allreduce is first at 1 and wagma is first at 1.",
              "4 workers: allreduce is fastest: 100 samples/s, 1.11 times as fast as wagma.",
              "8 workers: wagma is fastest: 300 samples/s, 1.5 times as fast as allreduce."}},
};

SUITE(verdict, "verdict", .seconds = 30, .set_up = make_folder, .tear_down = remove_folder);

static void put_curve(char **curves, int run, const planted *p, bool losses)
{
    for (int k = 0; k < N_EVALUATIONS && !isnan(p->values[0]); k++)
        dsgd_append(curves, losses ? "%d,%s,%d,%.9g,%d,%g,\n" : "%d,%s,%d,%.9g,%d,,%g\n", run,
                    p->name, p->seed, 100 / p->speed * k / (N_EVALUATIONS - 1), 4 * k,
                    p->values[k]);
}

static void write_folder(const planted *runs, bool losses)
{
    char *rows = dsgd_xstrdup("run,algorithm,workers,seed,platform,workload,status,steps,virtual_s,"
                              "throughput_samples_per_s,step_mean_s,staleness_mean,final_loss,"
                              "final_accuracy,sent_mean_bytes,energy_j,cost,why,wall_s\n");
    char *curves = dsgd_xstrdup("run,algorithm,seed,virtual_s,steps,loss,accuracy\n");
    for (int i = 0; i < MOST_RUNS && runs[i].name != NULL; i++) {
        const planted *const p = &runs[i];
        dsgd_append(&rows, "%d,%s,%d,%d,p,w,%s,20,%.9g,%g,1,0,,,%g,,,\"%s\",1\n", i + 1, p->name,
                    p->workers == 0 ? 4 : p->workers, p->seed, p->status == NULL ? "ok" : p->status,
                    100 / p->speed, p->speed, p->sent_bytes, p->why == NULL ? "" : p->why);
        put_curve(&curves, i + 1, p, losses);
    }
    mkdir(dsgd_xprintf("%s/r", folder), 0777);
    write_file("r/runs.csv", rows);
    write_file("r/curves.csv", curves);
    write_file("r/manifest.json", "{\"runs\": []}");
}

/** With one space for each run of white space, as a text that has been wrapped is read. */
static char *unwrapped(const char *text)
{
    char *const flat = dsgd_xstrdup(text);
    char *to = flat;
    for (const char *c = text; *c != '\0'; c++)
        if (!isspace((unsigned char)*c) || (to > flat && to[-1] != ' '))
            *to++ = isspace((unsigned char)*c) ? ' ' : *c;
    *to = '\0';
    return flat;
}

TEST_ROWS(nobody_wins_by_a_trap, cases)
{
    write_folder(cases[_i].runs, cases[_i].losses);
    const char *const target =
        cases[_i].target == NULL ? "" : dsgd_xprintf("--target %s", cases[_i].target);
    char *const table = unwrapped(dsgd_ends(0, "compare r %s", target));
    dsgd_ends(0, "report r %s", target);
    char *const page = unwrapped(read_file("r/report.html"));
    for (size_t k = 0; k < 3 && cases[_i].said[k] != NULL; k++) {
        ck_assert_msg(strstr(table, cases[_i].said[k]) != NULL, "%s: `%s` is not in `%s`",
                      cases[_i].trap, cases[_i].said[k], table);
        ck_assert_msg(strstr(page, cases[_i].said[k]) != NULL, "%s: `%s` is not on the page",
                      cases[_i].trap, cases[_i].said[k]);
    }
}
