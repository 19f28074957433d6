/**
 * @file test_timeline.c
 * Tests `dsgd timeline`. Its times must add up to the results of the run, and its file must follow
 * the trace event format. A window must show exactly a part of the whole trace.
 */
#include <jansson.h>

#include "base/csv.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

enum { WORKERS = 16, MOST_TRACKS = 4096, OF_HOST = 20000, FIRST_OUT = 100, FIRST_IN = 10000 };

/* --- Functions that read the trace event format ----------------------------------------------- */

/** The start and the end of the last interval in a track, in microseconds. */
typedef struct track {
    json_int_t id;
    double since_us, end_us;
} track;

/** The numbers of starts and ends of one flow, and the time of its start. */
typedef struct flow {
    int n_starts, n_ends;
    double since_us;
} flow;

typedef struct trace {
    json_t *json;
    size_t n_tracks;
    track tracks[MOST_TRACKS];
    flow *flows; /* array of flows, in which a flow's id is its index */
    size_t n_flows;
    /* Sums over all events of the trace. */
    double state_s[WORKERS][3]; /* seconds in which a worker computes, communicates and waits */
    size_t n_messages, n_arrived, n_late;
} trace;

static trace t;

static double number_in(const json_t *event, const char *key)
{
    const json_t *const value = json_object_get(event, key);
    ck_assert_msg(json_is_number(value), "no number %s in %s", key, json_dumps(event, 0));
    return json_number_value(value);
}

static track *track_of(const json_t *event)
{
    const json_int_t id = (json_int_t)number_in(event, "tid");
    size_t i = t.n_tracks;
    while (i > 0 && t.tracks[i - 1].id != id)
        i--;
    if (i > 0)
        return &t.tracks[i - 1];
    ck_assert_uint_lt(t.n_tracks, MOST_TRACKS);
    t.tracks[t.n_tracks] = (track){id, -1, -1};
    return &t.tracks[t.n_tracks++];
}

/** Checks that an interval starts after the previous interval of its track has ended. */
static void check_interval(const json_t *event)
{
    track *const of = track_of(event);
    const double since_us = number_in(event, "ts");
    const double took_us = number_in(event, "dur");
    ck_assert_double_ge(took_us, 0);
    ck_assert_msg(since_us >= of->end_us, "overlap: %s", json_dumps(event, 0));
    of->since_us = since_us;
    of->end_us = since_us + took_us;
}

/**
 * Checks a start or an end of a flow. A flow has one start and one later end, and each of them lies
 * within an interval.
 */
static void check_flow(const json_t *event, bool starts)
{
    const size_t id = (size_t)number_in(event, "id");
    const double at_us = number_in(event, "ts");
    const track *const of = track_of(event);
    ck_assert_uint_lt(id, t.n_flows);
    ck_assert(of->since_us <= at_us && at_us < of->end_us);
    flow *const f = &t.flows[id];
    f->n_starts += starts;
    f->n_ends += !starts;
    if (starts)
        f->since_us = at_us;
    else /* in the file, the start of a flow comes before its end */
        ck_assert(f->n_starts == 1 && f->since_us <= at_us &&
                  strcmp(json_string_value(json_object_get(event, "bp")), "e") == 0);
}

/** Adds a message, or the seconds of a worker's state, to the sums in `t`. */
static void count_interval(const json_t *event)
{
    static const char *const names[] = {"forward", "communicate", "wait", "backward"};
    const long on = (long)number_in(event, "tid") % OF_HOST;
    const size_t host = (size_t)number_in(event, "pid") - 1;
    const char *const name = json_string_value(json_object_get(event, "name"));
    const bool sent = on >= FIRST_OUT && on < FIRST_IN;
    t.n_messages += sent;
    t.n_arrived += sent && json_object_get(json_object_get(event, "args"), "arrives") == NULL;
    for (size_t k = 0; on == 1 && k < 4; k++) {
        if (strcmp(name, names[k]) != 0)
            continue;
        const double seconds = number_in(event, "seconds");
        ck_assert_double_eq_tol(seconds, 1e-6 * number_in(event, "dur"), 1.2e-9);
        t.state_s[host][k % 3] += seconds;
    }
}

static void check_event(const json_t *event)
{
    const char *const phase = json_string_value(json_object_get(event, "ph"));
    ck_assert_msg(phase != NULL && strlen(phase) == 1 && strchr("XMisf", *phase) != NULL, "%s",
                  json_dumps(event, 0));
    ck_assert(json_is_string(json_object_get(event, "name")));
    ck_assert_double_ge(number_in(event, "pid"), 1);
    if (*phase == 'M')
        return;
    ck_assert_double_ge(number_in(event, "ts"), 0);
    if (*phase == 'X') {
        check_interval(event);
        count_interval(event);
    }
    if (*phase == 's' || *phase == 'f')
        check_flow(event, *phase == 's');
    if (*phase == 'i')
        t.n_late += strstr(json_string_value(json_object_get(event, "name")), ": late") != NULL;
}

static void close_trace(void)
{
    free(t.flows);
    t = (trace){.json = NULL};
}

/** Reads a trace into `t`, checks its events, and computes the sums. */
static void read_trace(const char *name)
{
    close_trace();
    char *const path = dsgd_xprintf("%s/%s", folder, name);
    json_error_t why;
    t.json = json_load_file(path, 0, &why);
    ck_assert_msg(t.json != NULL, "%s: %s", path, why.text);
    const json_t *const events = json_object_get(t.json, "traceEvents");
    t.n_flows = 2 * json_array_size(events) + 2;
    t.flows = dsgd_xcalloc(t.n_flows, sizeof *t.flows);
    for (size_t i = 0; i < json_array_size(events); i++)
        check_event(json_array_get(events, i));
    for (size_t i = 0; i < t.n_flows; i++)
        ck_assert_int_eq(t.flows[i].n_starts, t.flows[i].n_ends);
}

static double of_window(const char *key)
{
    return number_in(json_object_get(t.json, "otherData"), key);
}

/* --- Tests that compare a trace with the results ---------------------------------------------- */

/**
 * Writes an experiment of every algorithm. In each step two random workers are late, and worker 3
 * is always slow.
 */
static void write_all(const char *exchange)
{
    char *names = dsgd_xstrdup("");
    for (int i = 0; dsgd_algorithms[i] != NULL; i++)
        names = dsgd_xprintf("%s%s%s", names, i > 0 ? ", " : "", dsgd_algorithms[i]->name);
    write_file("e.yaml", dsgd_xprintf("platform: piz-daint\n"
                                      "workload: {bytes: 40MB, step: 100ms, samples: 32}\n"
                                      "imbalance:\n"
                                      "  - {kind: delay, workers: 2, seconds: 53ms}\n"
                                      "  - {kind: slow, worker: 3, factor: 1.5}\n"
                                      "workers: 16\nalgorithms: [%s]\nuntil: {steps: 6}\n%s",
                                      names, exchange));
}

static const char *const exchanges[] = {
    "exchange: {pieces: 1}\n", /* with one chunk, the time of an allreduce is a closed form */
    "exchange: {pieces: 3, blocking: false}\n",
    "network: flows\nexchange: {pieces: 2}\n",
};

/** Compares the sums in `t` with run @p i of the results. */
static void compare(const dsgd_csv *runs, const dsgd_csv *workers, size_t i)
{
    static const char *const shares[] = {"compute_share", "comm_share", "wait_share"};
    const double virtual_s = dsgd_csv_value(runs, i, dsgd_csv_column(runs, "virtual_s"));
    const char *const name = dsgd_csv_field(runs, i, 1);
    ck_assert_double_eq(dsgd_csv_value(runs, i, dsgd_csv_column(runs, "steps")), 6);
    ck_assert_msg(of_window("end_s") == virtual_s, "%s ends at another time", name);
    ck_assert_msg((double)t.n_messages ==
                      dsgd_csv_value(runs, i, dsgd_csv_column(runs, "messages")),
                  "%s: %zu messages", name, t.n_messages);
    ck_assert_msg(10 * t.n_arrived >= 8 * t.n_messages, "%s: %zu of %zu messages arrive", name,
                  t.n_arrived, t.n_messages);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t k = 0; k < 3; k++) {
            const double share =
                dsgd_csv_value(workers, i * WORKERS + w, dsgd_csv_column(workers, shares[k]));
            ck_assert_msg(fabs(t.state_s[w][k] / virtual_s - share) < 1e-9,
                          "%s, worker %zu: %s is %g in the trace, %g in the results", name, w,
                          shares[k], t.state_s[w][k] / virtual_s, share);
        }
}

SUITE(timeline, "timeline", .set_up = make_folder, .tear_down = remove_folder, .seconds = 60);

/** The loop variable _i is the index of an exchange. */
TEST_RANGE(a_trace_adds_up_to_the_results_of_every_algorithm, 0, 3)
{
    if (SUPPORT_SLOW && _i == 2)
        return; /* the test takes too long under a sanitizer */
    write_all(exchanges[_i]);
    char *output = dsgd_ends(0, "run e.yaml -o r --progress off");
    dsgd_csv runs;
    dsgd_csv workers;
    ck_assert_int_eq(dsgd_csv_read(&runs, NULL, "%s/r/runs.csv", folder), DSGD_OK);
    ck_assert_int_eq(dsgd_csv_read(&workers, NULL, "%s/r/workers.csv", folder), DSGD_OK);
    ck_assert_uint_ge(runs.n_rows, 16);
    for (size_t i = 0; i < runs.n_rows; i++) {
        char *const command =
            dsgd_xprintf("timeline r --run %zu --steps : --workers all -o t.json", i + 1);
        ck_assert_msg(dsgd(command, &output) == 0, "%s: %s", command, output);
        read_trace("t.json");
        compare(&runs, &workers, i);
        const bool partial = strncmp(dsgd_csv_field(&runs, i, 1), "eager_", 6) == 0;
        ck_assert(!partial || t.n_late > 0);
    }
    close_trace();
}

/* --- windows ---------------------------------------------------------------------------------- */

/**
 * Returns the seconds that a worker spends in the state @p name between since_s and end_s,
 * according to the trace in `t`.
 */
static double within(size_t worker, const char *name, double since_s, double end_s)
{
    const json_t *const events = json_object_get(t.json, "traceEvents");
    double sum_s = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *const event = json_array_get(events, i);
        if (json_object_get(event, "dur") == NULL ||
            number_in(event, "pid") != (double)worker + 1 ||
            (long)number_in(event, "tid") % OF_HOST != 1 ||
            strcmp(json_string_value(json_object_get(event, "name")), name) != 0)
            continue;
        const double begin_s = 1e-6 * number_in(event, "ts");
        const double until_s = begin_s + 1e-6 * number_in(event, "dur");
        sum_s += fmax(0, fmin(until_s, end_s) - fmax(begin_s, since_s));
    }
    return sum_s;
}

/**
 * Returns the time in s at which the first worker starts a step. If @p last is true, returns the
 * time of the last worker. The trace is in `t`.
 */
static double begin_of(const char *step, bool last)
{
    const json_t *const events = json_object_get(t.json, "traceEvents");
    double at_s = NAN;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *const event = json_array_get(events, i);
        if (strcmp(json_string_value(json_object_get(event, "name")), step) != 0)
            continue;
        const double begin_s = 1e-6 * number_in(event, "ts");
        at_s = isnan(at_s) ? begin_s : last ? fmax(at_s, begin_s) : fmin(at_s, begin_s);
    }
    return at_s;
}

/**
 * Compares the trace of steps 2 to 4 with the same part of the whole trace, for allreduce, WAGMA
 * and AD-PSGD.
 */
TEST_RANGE(window_equals_its_part_of_the_whole_trace, 0, 3)
{
    static const char *const names[] = {"compute", "communicate", "wait"};
    static const char *const runs[] = {"allreduce", "wagma", "ad_psgd"};
    write_all(dsgd_xprintf("%sname: part\n", exchanges[1]));
    const char *const options = dsgd_xprintf("--set 'algorithms=[%s]' --workers 2-5,11", runs[_i]);
    dsgd_ends(0, "timeline e.yaml %s --steps 2:4 -o t.json", options);
    read_trace("t.json");
    const double since_s = of_window("since_s");
    const double end_s = of_window("end_s");
    double part_s[WORKERS][3];
    memcpy(part_s, t.state_s, sizeof part_s);
    ck_assert_double_gt(part_s[11][0], 0);
    ck_assert_double_eq(part_s[6][0], 0);
    dsgd_ends(0, "timeline e.yaml %s --steps : -o t.json", options);
    read_trace("t.json");
    /* the tolerance is 1 ns for each interval that a sum contains */
    static const double tolerance_s = 1e-8;
    ck_assert_double_eq_tol(since_s, begin_of("step 2", false), tolerance_s);
    ck_assert_double_eq_tol(end_s, begin_of("step 4", true), tolerance_s);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t k = 0; k < 3; k++) {
            const double whole_s = k > 0 ? within(w, names[k], since_s, end_s)
                                         : within(w, "forward", since_s, end_s) +
                                               within(w, "backward", since_s, end_s);
            ck_assert_msg(fabs(part_s[w][k] - whole_s) < 3 * tolerance_s, "%zu %s: %.10g, %.10g", w,
                          names[k], part_s[w][k], whole_s);
        }
    close_trace();
}

/* --- charts ----------------------------------------------------------------------------------- */

static const char four[] = "name: four\nplatform: {topology: switch, host_bandwidth: 2GB/s}\n"
                           "workload: {bytes: 100MB, step: 300ms, samples: 32}\n"
                           "imbalance: [{kind: slow, worker: 3, factor: 2}]\n"
                           "workers: 4\nalgorithms: [allreduce, wagma]\nuntil: {steps: 12}\n"
                           "exchange: {pieces: 1}\n";

static const char *const charts[] = {
    "allreduce, 4 workers\n"
    "      0 s                                             2.70002 s comp wait comm %\n"
    "   0  0=####~..<3..~1=#####..<3..~2==####..<3...3==####~.<3...~   44   44   11\n"
    "   1  0=####~..<3..~1=#####..<3..~2==####..<3...3==####~.<3...~   44   44   11\n"
    "   2  0=####..<3...~1=#####.<3...~2==####..<3..~3==####..<3..~~   44   44   11\n"
    "   3* 0=======#####~1========####~2========####~3========####~~   89    0   11\n"
    "= forward, # backward, ~ communicate, . wait, <3 waits for worker 3; a number\n"
    "marks the start of a step; * computes longest\n",
    "wagma, 4 workers\n"
    "      0 s                                                 2.4 s comp wait comm %\n"
    "   0  0=#####~1==####~2==#####3==#####~4==####~5==#####6==#####   87    0   13\n"
    "   1  0=#####~1==####~2==#####3==#####~4==####~5==#####6==#####   87    0   13\n"
    "   2  0=#####~1==####~2==#####3==#####~4==####~5==#####6==#####   87    0   13\n"
    "                     v1:0\n"
    "   3* 0=========####1=========####2=========####3=========#####  100    0    0\n"
    "             v0:-    v1:0    v2:0     v3:1    v4:1    v5:2\n"
    "= forward, # backward, ~ communicate, . wait, <3 waits for worker 3; a number\n"
    "marks the start of a step; * computes longest; v2:1 contributes its value of\n"
    "step 1 to version 2 (-: nothing)\n",
};

TEST_RANGE(chart_shows_waits_for_the_straggler_and_late_values, 0, 2)
{
    write_file("e.yaml", four);
    char *output = dsgd_ends(0, "timeline e.yaml --format text --run %d", _i + 1);
    ck_assert_str_eq(output, charts[_i]);
}

/**
 * Tests a pipeline. The chart and the trace have a line for each stage, with its passes and the
 * bubbles between them. Backward passes take twice as long as forward passes.
 */
TEST(stages_are_shown_with_their_bubbles)
{
    write_file("e.yaml", "platform: idle-switch\nworkers: 2\nalgorithms: [allreduce]\n"
                         "workload: {bytes: 1, step: 8s, samples: 8, inner: {activations: 0, "
                         "pipeline: {stages: 2, micro_batches: 2}}}\nuntil: {steps: 2}\n");
    ck_assert_has(dsgd_ends(0, "timeline e.yaml --format text --steps 0:1"),
                  "   s0 =============............#############......#############\n"
                  "   s1 ......=======############=======############.............\n");
    dsgd_ends(0, "timeline e.yaml --steps 0:1 -o t.json");
    read_trace("t.json");
    int n = 0;
    for (const char *at = read_file("t.json"); (at = strstr(at, ", micro-batch ")) != NULL; at++)
        n++;
    ck_assert_int_eq(n, 2 * 2 * 2 * 2);
    ck_assert_has(read_file("t.json"), "\"versions\"");
    ck_assert_has(dsgd_ends(0, "timeline e.yaml --format text --steps 0:1 --set workers=1 --set "
                               "'workload.inner.pipeline={stages: 2, micro_batches: 4, schedule: "
                               "swarm, peers: 2}'"),
                  " s0.1 =============...................#########################\n"
                  " s1.0 ......=============#########################.............\n");
}

TEST(a_description_has_the_chart_of_every_algorithm)
{
    char *output = NULL;
    for (int i = 0; dsgd_algorithms[i] != NULL; i++) {
        char *const command = dsgd_xprintf("describe algorithm %s", dsgd_algorithms[i]->name);
        output = dsgd_ends(0, "%s", command);
        ck_assert_msg(strstr(output, "\n   3* 0") != NULL, "no straggler in %s", output);
    }
}

/**
 * Tests a run that fails because all workers wait for a worker that stopped. The chart names the
 * stopped worker.
 */
TEST(timeline_shows_a_failed_run_until_its_failure)
{
    write_file("e.yaml",
               dsgd_xprintf("%sfailures: {policy: none, events: [{worker: 1, at: 1s}]}\n", four));
    char *output = dsgd_ends(0, "timeline e.yaml --format text");
    ck_assert_has(output, "the run failed: ");
    ck_assert_has(output, "<1");
}

/**
 * Tests failures in a chart. Allreduce restarts, so the chart shows when all workers stop. AD-PSGD
 * continues, so the chart shows only the failed worker.
 */
TEST(chart_shows_failures_with_their_costs)
{
    write_file("e.yaml", "platform: idle-switch\nworkload: {bytes: 1k, step: 1s, samples: 8}\n"
                         "workers: 3\nalgorithms: [allreduce, ad_psgd]\nuntil: {steps: 10}\n"
                         "failures: {events: [{worker: 2, at: 4.8s}], repair: 3s, detect: 1s, "
                         "restart: 500ms, checkpoint: {interval: 2s, seconds: 250ms}}\n");
    char *output = dsgd_ends(0, "timeline e.yaml --format text --steps 0:6");
    ck_assert_has(output, "at 2.00001 s: all write, checkpoint 0.25 s\n");
    ck_assert_has(output, ": worker 2 fails, detect 1 s, repair 2 s, restart 0.75 s, "
                          "lost 0.3 s\n");
    ck_assert_has(output, "! all workers stop there");
    ck_assert_ptr_null(strstr(output, "xx"));
    /* The 54 columns of this row stand for 6 s of progress. */
    const char *const row = strstr(output, "   0  ");
    const int at = (int)(4.3 / 6 * (strcspn(row, "\n") - 23));
    ck_assert_msg(memchr(row + 6 + at - 1, '!', 3) != NULL, "%s", output);
    dsgd_ends(0, "timeline e.yaml --steps 0:6 -o t.json");
    ck_assert_has(read_file("t.json"), "worker 2 fails, detect 1 s, repair 2 s");

    output = dsgd_ends(0, "timeline e.yaml --format text --steps 0:6 --run 2");
    ck_assert_has(output, "xxxxx");
    ck_assert_has(output, "; x failed or rejoining");
    ck_assert_ptr_null(strstr(output, "!"));
    dsgd_ends(0, "timeline e.yaml --steps : --run 2 -o t.json");
    read_trace("t.json");
    /* The worker is away for 3.5 s. The tolerance allows for the copy of a model of 1 KB. */
    ck_assert_double_eq_tol(within(2, "away", 0, 100), 3 + 0.5, 0.01);
    ck_assert_double_eq(within(0, "away", 0, 100), 0);
    close_trace();
}

/**
 * Tests that a chart separates the rank of an awaited worker from the step number after this rank.
 */
TEST(chart_keeps_awaited_ranks_apart_from_step_numbers)
{
    write_file("e.yaml", "platform: piz-daint\nworkload: resnet50-p100\nworkers: 16\n"
                         "imbalance: [delay-wagma]\nalgorithms: allreduce\nuntil: {steps: 6}\n");
    char *output = dsgd_ends(0, "timeline e.yaml --format text --workers 0-5 --steps 0:5");
    size_t n = 0;
    for (const char *w = strchr(output, '<'); w != NULL; w = strchr(w + 1, '<'), n++)
        ck_assert_msg(strtol(w + 1, NULL, 10) < 16, "%s", output);
    ck_assert_uint_gt(n, 1); /* the key of the chart contains at least one of these marks */
}

/**
 * Tests a chart that shows only some workers. The key of the chart names the hidden worker for
 * which the shown workers wait.
 */
TEST(chart_reports_hidden_workers)
{
    write_file("e.yaml", "platform: {host_bandwidth: 1GB/s}\nworkload: {bytes: 10M, step: 100ms, "
                         "samples: 8}\nworkers: 20\nalgorithms: allreduce\nimbalance: {kind: slow, "
                         "worker: 17, factor: 1.5}\nuntil: {steps: 4}\n");
    static const char some[] = "16 of 20 workers; worker 17 is waited for";
    ck_assert_has(unwrapped(dsgd_ends(0, "timeline e.yaml --format text")), some);
    char *const said = dsgd_ends(0, "timeline e.yaml --format svg -o t.svg 2>&1 >/dev/null");
    ck_assert_str_eq(said, "");
    ck_assert_has(read_file("t.svg"), some);
    ck_assert_has(unwrapped(dsgd_ends(0, "timeline e.yaml --format text --workers 1,17")),
                  "shown: 2 of 20 workers (");
    ck_assert_ptr_null(strstr(dsgd_ends(0, "timeline e.yaml --format text --set workers=16 --set "
                                           "imbalance.worker=1"),
                              "shown: "));
}

/** Tests that charts of all algorithms have at most 80 columns. */
TEST(a_chart_fits_a_terminal)
{
    char *output = NULL;
    write_all(exchanges[0]);
    for (int run = 1; run <= 16; run++) {
        output = dsgd_ends(0, "timeline e.yaml --format text --run %d --steps 1:5", run);
        for (const char *line = output; *line != '\0'; line += strcspn(line, "\n") + 1)
            ck_assert_msg(strcspn(line, "\n") <= 80, "%s", line);
    }
}

TEST(a_figure_names_workers_and_marks_the_straggler)
{
    write_file("e.yaml", four);
    char *output = dsgd_ends(0, "timeline e.yaml --format svg --run 2 --size two-column -o g.svg");
    static const char *const texts[] = {">worker 0<", ">worker 3 *<", ">v2:0<", ">time (s)<"};
    const char *const svg = read_file("g.svg");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(strstr(svg, texts[i]) != NULL, "no %s", texts[i]);
    output = shell_ends(0, "ls %s", folder);
    ck_assert_str_eq(output, "e.yaml\ng.svg\n");
    /*
     * Step 0 of the slow worker starts before the window, so the figure must not contain its
     * number.
     */
    output = dsgd_ends(0, "timeline e.yaml --format svg --run 2 --steps 1:3 -o g.svg");
    const char *const later = read_file("g.svg");
    ck_assert_has(later, ">1<");
    ck_assert_ptr_null(strstr(later, ">0<"));
}

TEST(trace_is_compressed_if_its_name_ends_in_gz)
{
    write_file("e.yaml", four);
    char *output = dsgd_ends(0, "timeline e.yaml");
    ck_assert_has(output, "four-1.json.gz: 0 to ");
    output = shell_ends(0, "gzip -dc %s/four-1.json.gz > %s/t.json", folder, folder);
    read_trace("t.json");
    ck_assert_uint_gt(t.n_messages, 0);
    close_trace();
}

/* --- invalid input ---------------------------------------------------------------------------- */

static const struct {
    const char *arguments, *sentence;
} refused[] = {
    {"--steps 5:2", "--steps 5:2: the window must end after it starts"},
    {"--steps 5", "--steps must be the first step, a colon"},
    {"--steps -1:2", "the window ends, such as 100:110, got -1:2"},
    {"--steps 1:99999999999999999999", "the first step, a colon"},
    {"--steps 100:110", "the run ends after 12 steps, before any of these workers starts step 100"},
    {"--set workload.step=0 --set workers=1 --set 'imbalance=[]'",
     "the window is empty: its steps"},
    {"--workers 0-99", "--workers 0-99: the run has 4 workers, with ranks 0 to 3"},
    {"--workers 3-1", "--workers must be ranks from 0, such as 0-3"},
    {"--workers 1,,2", "or `all`, got 1,,2"},
    {"--run 3", "--run must be between 1 and 2, got 3; `dsgd check e.yaml` lists the runs"},
    {"--run 0", "--run must be a whole number between 1 and"},
    {"--format gif", "--format must be json, text, svg, pdf or png, got gif"},
    {"--format svg --size 1", "--size must be one-column"},
    {"-o nowhere/t.json", "nowhere/t.json: cannot write the file: No such file"},
    {"--format svg -o nowhere/t.svg", "nowhere/t.svg: cannot create a file there"},
};

TEST_ROWS(timeline_rejects_wrong_arguments, refused)
{
    char *output = NULL;
    write_file("e.yaml", four);
    const char *const command = dsgd_xprintf("timeline e.yaml %s", refused[_i].arguments);
    ck_assert_int_ne(dsgd(command, &output), 0);
    ck_assert_has(output, refused[_i].sentence);
}

TEST(timeline_rejects_results_of_another_run)
{
    write_file("e.yaml", four);
    dsgd_ends(0, "run e.yaml -o r --set workers=8");
    ck_assert_has(dsgd_ends(2, "timeline r --format text"),
                  "r: run 1 of e.yaml differs from the run in the folder");
    dsgd_ends(0, "timeline r --format text --set workers=8");
    ck_assert_has(dsgd_ends(3, "timeline . --format text"),
                  ".: not a results folder (it has no manifest.json); run `dsgd run ");
}
