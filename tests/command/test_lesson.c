/**
 * @file test_lesson.c
 * Tests `dsgd explain ALGORITHM`. The printed values must equal the values of the run, and each
 * value must follow from earlier values. The text must describe the values correctly.
 */
#include "command/experiment/experiment.h"
#include "command/trace/lesson/lesson.h"
#include "sim/engine/vectors.h"
#include "sim/registry.h"
#include "tests/command/shell.h"
#include "tests/support/stream.h"
#include "tests/support/suite.h"

enum { WORKERS = 4, BATCH = 4, STEPS = 4, MOST_HOSTS = WORKERS + 1 };

/* Tolerance for a few operations in double precision on values near 1. */
static const double rounding = 1e-12;

/* --- a recorded run --------------------------------------------------------------------------- */

static dsgd_experiment experiment;
static dsgd_data *points;
static dsgd_split *split; /* the split of the data, or NULL if all workers share all data */
static dsgd_timeline timeline;
static dsgd_lesson_run run;
static double models[MOST_HOSTS][2]; /* the model of each host at the end of the run */

static void read_models(dsgd_engine *engine, void *unused)
{
    (void)unused;
    for (int i = 0; i < engine->n_workers + engine->n_servers; i++)
        dsgd_vector_read(engine->workers[i].learner.model, models[i]);
}

/**
 * Simulates the experiment of lessons with one algorithm, and records it in `run`. A ledger
 * contains all values that were computed.
 */
static void record(const char *algorithm, bool with_ledger)
{
    static const bool all[WORKERS] = {true, true, true, true};
    char *const set = dsgd_xprintf("algorithms=[%s]", algorithm);
    const char *const path = dsgd_xprintf("%s/plots/lesson/lesson.yaml", DSGD_SOURCE_DIR);
    dsgd_error error = {""};
    ck_assert_msg(dsgd_experiment_open(path, (const char *const[]){set}, 1, DSGD_NUMERICS_CPU,
                                       &experiment, &error) == DSGD_OK,
                  "%s", error.text);
    dsgd_run_config config = experiment.runs[0].config;
    timeline = (dsgd_timeline){.end_step = STEPS, .chosen = all};
    config.timeline = &timeline;
    config.ledger = with_ledger ? &run.ledger : NULL;
    config.numerics = DSGD_NUMERICS_CPU;
    config.threads = 1;
    config.memory_bytes = SIZE_MAX;
    config.inspect = read_models;
    /* The bound allows more steps than STEPS, because ringmaster cancels all steps of worker 3. */
    config.until.steps = 25. * STEPS;
    dsgd_run_result result;
    ck_assert_msg(dsgd_simulate(&config, &result, &error) == DSGD_OK, "%s", error.text);
    ck_assert_msg(result.outcome == DSGD_RUN_OK, "%s: %s", algorithm, result.why.text);
    dsgd_run_result_free(&result);
    run.view = (dsgd_view){.run = &experiment.runs[0], .timeline = &timeline};
    run.n_workers = WORKERS;
    run.n_hosts = WORKERS + dsgd_n_servers(&config);
    ck_assert_int_eq(dsgd_data_open(&config.learning->data, config.seed, false, &points, NULL),
                     DSGD_OK);
    ck_assert_int_eq(dsgd_split_new(&config.learning->split, points, config.seed, WORKERS,
                                    config.algorithm->traits & DSGD_OWN_BATCHES, &split, NULL),
                     DSGD_OK);
    run.quadratic = dsgd_quadratic_of(&points->train);
    if (with_ledger)
        dsgd_lesson_apply(&run);
}

static void forget(void)
{
    dsgd_data_close(points);
    free(split);
    split = NULL;
    run = (dsgd_lesson_run){.n_workers = 0};
    remove_folder();
}

static const double *x_of(size_t value)
{
    return run.ledger.values[value].elements;
}

/**
 * Computes the gradient at the model @p x over the first @p n samples of the worker's mini-batch in
 * step @p step.
 */
static void gradient(int worker, long step, int n, const double *x, double *g)
{
    const dsgd_stream stream = {.seed = experiment.runs[0].config.seed,
                                .n_samples = points->train.n,
                                .n_workers = WORKERS,
                                .batch = BATCH,
                                .split = split};
    g[0] = g[1] = 0;
    for (int j = 0; j < n; j++) {
        const uint32_t i = stream_sample(&stream, (uint32_t)worker, (uint64_t)step, (uint32_t)j);
        const double u = (double)points->train.x_real[i];
        const double error = x[0] * u + x[1] - (double)points->train.targets[i];
        g[0] += error * u / n;
        g[1] += error / n;
    }
}

static void expect_x(const double *x, const double *wanted, const char *what, size_t i)
{
    for (int k = 0; k < 2; k++)
        ck_assert_msg(fabs(x[k] - wanted[k]) <= rounding * fmax(1, fabs(wanted[k])),
                      "%s %zu: (%.17g, %.17g), not (%.17g, %.17g)", what, i, x[0], x[1], wanted[0],
                      wanted[1]);
}

/**
 * Checks that a recorded gradient is the gradient of its samples, and that it was recorded while
 * its worker computed.
 */
static void check_gradient(size_t i)
{
    const dsgd_made *const made = &run.ledger.values[i];
    double g[2];
    int n = BATCH; /* the algorithm may drop samples of the mini-batch */
    do
        gradient(made->worker, made->step, n, x_of(made->from[0]), g);
    while (n-- > 1 && fabs(g[0] - made->elements[0]) > rounding);
    expect_x(made->elements, g, "gradient", i);
    size_t n_spans = 0;
    for (size_t k = 0; k < timeline.n_spans; k++)
        n_spans += timeline.spans[k].kind == DSGD_SPAN_COMPUTE &&
                   timeline.spans[k].host == made->worker && timeline.spans[k].step == made->step &&
                   timeline.spans[k].since_s == made->at_s;
    ck_assert(n_spans == 1 || made->at_s == timeline.end_s);
}

SUITE(lesson, "recorded", .set_up = make_folder, .tear_down = forget, .seconds = 60);

TEST_RANGE(ledger_values_follow_from_their_operands, 0, support_n_algorithms())
{
    record(dsgd_algorithms[_i]->name, true);
    size_t n_gradients = 0;
    for (size_t i = 1; i < run.ledger.n_values; i++) {
        const dsgd_made *const made = &run.ledger.values[i];
        double x[2] = {0, 0};
        for (size_t k = 0; k < made->n; k++) {
            ck_assert_uint_lt(made->from[k], i);
            for (int e = 0; e < 2; e++)
                x[e] += made->weights[k] * x_of(made->from[k])[e];
        }
        if (made->by == DSGD_MADE_UPDATE || made->by == DSGD_MADE_COMBINATION)
            expect_x(made->elements, x, "value", i);
        if (made->by == DSGD_MADE_GRADIENT)
            check_gradient(i);
        n_gradients += made->by == DSGD_MADE_GRADIENT;
    }
    ck_assert_uint_ge(n_gradients, STEPS * WORKERS);
    size_t last[MOST_HOSTS] = {0};
    double before_s = 0;
    for (size_t i = 0; i < run.ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run.ledger.entries[i];
        ck_assert(e->at_s >= before_s && e->at_s <= timeline.end_s);
        before_s = e->at_s;
        if (e->kind == DSGD_ENTRY_MODEL)
            last[e->host] = e->value;
    }
    for (int host = 0; host < run.n_hosts; host++)
        expect_x(x_of(last[host]), models[host], "the last model of host", (size_t)host);
}

/**
 * Tests that a run without a ledger ends at the same time and with the same models as the run with
 * a ledger that `dsgd explain` prints.
 */
TEST_RANGE(ledger_does_not_change_the_run, 0, support_n_algorithms())
{
    const char *const name = dsgd_algorithms[_i]->name;
    record(name, false);
    ck_assert_uint_eq(run.ledger.n_values, 0);
    char *const explain = dsgd_xprintf("explain %s --set 'algorithms=[%s]'", name, name);
    char *output = dsgd_ends(0, "%s", explain);
    ck_assert_has(output, dsgd_xprintf("after %.3f s", timeline.end_s));
    for (int host = 0; host < run.n_hosts; host++) {
        char *const wanted =
            dsgd_xprintf("%s %d   (%.3f, %.3f)", host < WORKERS ? "worker" : "server",
                         host % WORKERS, models[host][0], models[host][1]);
        ck_assert_msg(strstr(output, wanted) != NULL, "no `%s`", wanted);
    }
}

/* --- closed forms ----------------------------------------------------------------------------- */

TEST(allreduce_follows_the_gradient_of_the_loss)
{
    const double h = 1e-6, lr = 0.2;
    record("allreduce", true);
    ck_assert_double_eq(experiment.runs[0].learning.optimizer.lr, lr);
    double x[STEPS + 1][2] = {{x_of(1)[0], x_of(1)[1]}};
    /* F is quadratic, so differences of F give its exact gradient. */
    for (int t = 0; t < STEPS; t++)
        for (int k = 0; k < 2; k++) {
            double up[2] = {x[t][0], x[t][1]}, down[2] = {x[t][0], x[t][1]};
            up[k] += h;
            down[k] -= h;
            x[t + 1][k] = x[t][k] - lr *
                                        (dsgd_quadratic_at(&run.quadratic, up) -
                                         dsgd_quadratic_at(&run.quadratic, down)) /
                                        (2 * h);
        }
    int n[WORKERS] = {0};
    for (size_t i = 0; i < run.ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run.ledger.entries[i];
        if (e->kind != DSGD_ENTRY_MODEL)
            continue;
        for (int k = 0; k < 2; k++)
            ck_assert_double_eq_tol(x_of(e->value)[k], x[n[e->host]][k], 1e-8);
        n[e->host]++;
    }
    for (int w = 0; w < WORKERS; w++)
        ck_assert_int_eq(n[w], STEPS + 1);
    for (size_t i = 0; i < run.n_applications; i++) {
        ck_assert_int_eq((int)run.applications[i].age, 0);
        ck_assert_double_eq(run.applications[i].weight, 1.0 / WORKERS);
    }
    ck_assert_uint_eq(run.n_applications, STEPS * WORKERS * WORKERS);
}

/**
 * Computes two means over the workers in step @p t. The array @p x gets the mean of the models
 * after their local steps, and @p g gets the mean of the gradients.
 */
static void mean_of_step(long t, double *x, double *g)
{
    int n = 0;
    for (int k = 0; k < 2; k++)
        x[k] = g[k] = 0;
    for (size_t i = 0; i < run.ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run.ledger.entries[i];
        if (e->kind != DSGD_ENTRY_UPDATED || e->step != t)
            continue;
        n++;
        for (int k = 0; k < 2; k++) {
            x[k] += x_of(e->value)[k] / WORKERS;
            g[k] += x_of(run.ledger.values[e->value].from[1])[k] / WORKERS;
        }
    }
    ck_assert_int_eq(n, WORKERS);
}

TEST(gossip_by_d_psgd_keeps_the_mean)
{
    record("d_psgd", true);
    double before[2] = {x_of(1)[0], x_of(1)[1]};
    for (long t = 0; t < STEPS; t++) {
        double x[2], g[2];
        mean_of_step(t, x, g);
        const double wanted[2] = {before[0] - 0.2 * g[0], before[1] - 0.2 * g[1]};
        expect_x(x, wanted, "the mean after step", (size_t)t);
        memcpy(before, x, sizeof before);
    }
    /* An average precedes each local step except the first, so each later gradient has age 1. */
    for (size_t i = 0; i < run.n_applications; i++)
        ck_assert_int_eq((int)run.applications[i].age,
                         run.ledger.values[run.applications[i].gradient].step > 0);
}

/**
 * Tests that in eager-SGD only the gradients of the slow worker are late, and that each model
 * applies a late gradient in full.
 */
TEST(late_gradient_is_applied_to_a_newer_model)
{
    record("eager_solo", true);
    int n_stale = 0;
    for (size_t i = 0; i < run.n_applications; i++) {
        const dsgd_application *const a = &run.applications[i];
        const dsgd_made *const g = &run.ledger.values[a->gradient];
        const dsgd_ledger_entry *const e = &run.ledger.entries[a->entry];
        const double *const to = x_of(a->to);
        const double *const from = x_of(g->from[0]);
        ck_assert_double_eq(a->weight, 1.0 / WORKERS);
        ck_assert_uint_eq(a->to, run.ledger.values[e->value].from[0]);
        if (a->age == 0)
            continue;
        ck_assert_int_eq(g->worker, WORKERS - 1);
        ck_assert(g->at_s < e->at_s && (to[0] != from[0] || to[1] != from[1]));
        n_stale++;
    }
    ck_assert_int_ge(n_stale, STEPS);
}

/**
 * Checks the age of a gradient that a server adds. The engine counts the gradients that the server
 * has added since the worker fetched its model.
 */
static void check_age_at_server(const dsgd_application *a)
{
    const dsgd_ledger_entry *const e = &run.ledger.entries[a->entry];
    long age = 0;
    for (size_t i = 0; i < timeline.n_spans; i++) {
        const dsgd_span *const span = &timeline.spans[i];
        if (span->kind == DSGD_SPAN_USED && span->host == e->host && span->since_s == e->at_s &&
            span->peer == run.ledger.values[a->gradient].worker)
            age = span->made - span->version;
    }
    ck_assert_int_eq((int)a->age, (int)age);
}

/**
 * Tests the ages of gradients at a server. An age is the number of gradients from other workers
 * that the server added after the worker had fetched its model.
 */
TEST(server_applies_each_gradient_once_and_late)
{
    record("a_psgd", true);
    size_t n_pushed = 0;
    long n_stale = 0;
    for (size_t i = 0; i < run.n_applications; i++) {
        const dsgd_application *const a = &run.applications[i];
        if (run.ledger.entries[a->entry].host < WORKERS) {
            /*
             * A worker applies its gradient to its own copy of the model at once, so the age is 0.
             */
            ck_assert_int_eq((int)a->age, 0);
            continue;
        }
        for (size_t k = 0; k < i; k++)
            ck_assert(run.ledger.entries[run.applications[k].entry].host < WORKERS ||
                      run.applications[k].gradient != a->gradient);
        check_age_at_server(a);
        n_stale += a->age > 0;
        n_pushed++;
    }
    ck_assert_uint_ge(n_pushed, STEPS * (WORKERS - 1));
    ck_assert_int_ge((int)n_stale, (int)n_pushed / 2);
}

/**
 * Tests EASGD: its elastic force consists mainly of models, so adding it to the server's model does
 * not count as applying a gradient.
 */
TEST(server_does_not_apply_a_part_of_a_model_as_gradient)
{
    record("{name: easgd, period: 1}", true);
    ck_assert_uint_gt(run.n_applications, 0);
    for (size_t i = 0; i < run.n_applications; i++)
        ck_assert_int_lt(run.ledger.entries[run.applications[i].entry].host, WORKERS);
}

/* --- output ----------------------------------------------------------------------------------- */

/** Checks every `x = (a, b), F = f` in a text against the loss F, and returns their number. */
static int check_losses(const char *text, const dsgd_quadratic *quadratic)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, "x = (")) != NULL; at++) {
        double x[2], F = 0;
        if (sscanf(at, "x = (%lf, %lf), F = %lf", &x[0], &x[1], &F) != 3)
            continue;
        ck_assert_double_eq_tol(F, dsgd_quadratic_at(quadratic, x), 0.004 * fmax(1, sqrt(F)));
        n++;
    }
    return n;
}

static void expect_width(const char *text, size_t most)
{
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        ck_assert_msg(length <= most, "%zu columns: %.*s", length, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

TEST_RANGE(every_algorithm_has_a_lesson_of_80_columns, 0, support_n_algorithms())
{
    const char *const name = dsgd_algorithms[_i]->name;
    char *output = dsgd_ends(0, "explain %s", name);
    expect_width(output, 80);
    ck_assert_has(output, "Worker 3 is slow.");
    ck_assert_has(output, "gradient 0 = (");
    ck_assert_has(output, "\nworker 3   (");
    const char *const server = strstr(output, "\nserver 0   (");
    const bool served = ((const dsgd_algorithm *)dsgd_algorithms[_i])->traits & DSGD_OUTPUT_SERVERS;
    ck_assert_has(output, served ? "\nevaluated  (" : "\nmean x     (");
    if (served) /* the line `evaluated` contains x and F of server 0 */
        ck_assert_int_eq(strncmp(strstr(output, "\nevaluated  ") + 11, server + 11, 29), 0);
    record("allreduce", true); /* this call sets run.quadratic, the loss of the experiment */
    ck_assert_int_ge(check_losses(output, &run.quadratic), STEPS);
}

CASE("lesson", .set_up = make_folder, .tear_down = remove_folder, .seconds = 60);

/** Tests lessons with 2 and with 16 workers, and a lesson with an option of its algorithm. */
TEST(a_lesson_has_2_to_16_workers_and_its_own_options)
{
    char *output = dsgd_ends(0, "explain eager_majority --workers 2 --steps 1");
    ck_assert_has(output, "Worker 1 is slow.");
    output = dsgd_ends(0, "explain ad_psgd --workers 16 --steps 2");
    expect_width(output, 80);
    ck_assert_has(output, "\nworker 15  (");
    ck_assert_has(dsgd_ends(0, "explain dasgd --workers 3 --set algorithms.0.tau=1"),
                  "of workers 0-2 after 1 step");
}

TEST(lesson_reports_waits_and_stale_gradients)
{
    char *output = dsgd_ends(0, "explain allreduce --steps 1");
    ck_assert_has(output, "2      waits until 0.675 s for worker 3 (allreduce_mean)");
    ck_assert_has(output, "0-3    receives the mean, (");
    ck_assert_has(output, "): of gradient 0 of workers 0-3\n");
    output = dsgd_ends(0, "explain eager_solo");
    ck_assert_has(output, "contributes to version 0 nothing");
    ck_assert_has(output, "gradient 0 of worker 3 is 1 update old: taken at (");
    ck_assert_has(dsgd_ends(0, "explain wagma"),
                  "contributes to version 0 the x with which it started");
    ck_assert_has(dsgd_ends(0, "explain drop_compute"), "0.75 of gradient 0 of");
    ck_assert_has(dsgd_ends(0, "explain d_psgd --workers 3"),
                  ": 0.333 x of worker 0 + 0.333 its\n");
    /* the output does not describe the pushes of EAMSGD as gradients */
    output = dsgd_ends(0, "explain eamsgd");
    ck_assert_ptr_null(strstr(output, "updates old"));
    ck_assert_has(output, "steps with gradient 1 from (-0.571, -0.540) to (-0.207");
}

TEST(lesson_ends_if_a_slow_worker_is_always_cancelled)
{
    ck_assert_has(dsgd_ends(0, "explain ringmaster --set algorithms.0.delay=4"), "is cancelled");
}

TEST(lesson_shows_compressed_values_as_sent)
{
    char *output = dsgd_ends(0, "explain top_k --steps 1");
    ck_assert_ptr_null(strstr(output, "sends (0.000, 0.000)"));
    /* The algorithm sends the larger element of the gradient (-1.021, 1.357). */
    ck_assert_has(output, "sends (0.000, 1.357)");
    ck_assert_has(output, "sends (-2.372, 0.000)");
}

/**
 * Tests that a worker is not shown as waiting while it computes, and not as waiting for workers
 * that have already sent. A step counts when its gradient is complete.
 */
TEST(lesson_shows_final_waits)
{
    char *output = dsgd_ends(0, "explain dasgd");
    const char *const wait = strstr(output, "2      waits until 1.275 s for worker 3 (");
    ck_assert_ptr_nonnull(wait);
    ck_assert(strstr(output, "2      gradient 2 = (") < wait);
    ck_assert_ptr_null(strstr(output, "3      waits until 1.275"));
    ck_assert_has(output, "2      waits for worker 3 ("); /* this wait lasts until the run ends */
    ck_assert_has(dsgd_ends(0, "explain sgp"), "3      waits until 0.650 s for messages (gossip)");
    ck_assert_has(dsgd_ends(0, "explain eager_solo"),
                  "worker 0   (0.259, -0.451)        0.633      6 ");
}

TEST(lesson_writes_figure_and_text_to_files)
{
    dsgd_ends(0, "explain a_psgd --format svg -o a.svg --size slide");
    const char *const svg = read_file("a.svg");
    static const char *const texts[] = {"worker 0", "worker 3 *", "stale gradient",
                                        "server",   "least loss", "slope a"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(strstr(svg, texts[i]) != NULL, "no `%s`", texts[i]);
    dsgd_ends(0, "explain allreduce -o a.txt");
    ck_assert_has(read_file("a.txt"), "Worker 3 is slow.");
    dsgd_ends(0, "explain wagma --format svg");
    ck_assert_has(read_file("wagma.svg"), "late model");
    dsgd_ends(0, "explain allreduce --format svg");
    ck_assert_ptr_null(strstr(read_file("allreduce.svg"), "stale gradient"));
}

static const struct {
    const char *arguments, *sentence;
} refused[] = {
    {"explain allreduce --workers 1", "workers must be between 2 and 16 for an algorithm, got 1"},
    {"explain allreduce --workers 17", "workers must be between 2 and 16 for an algorithm, got 17"},
    {"explain allreduce --steps 101", "--steps must be at most 100 for an algorithm, got 101"},
    {"explain eager_solo --workers 3", "eager-SGD: workers must be a power of two, such as 2 or 4"},
    {"explain allreduce --set workers=32",
     "workers must be between 2 and 16 for an algorithm, got 32"},
    {"explain allreduce --set exchange.pieces=2", "exchange.pieces: 1, got 2"},
    {"explain a_psgd --set algorithms.0.servers=2", "at most one server (got 2)"},
    {"explain allreduce --set learn.data.features=2", "the data must have one feature, got 2"},
    {"explain allreduce --set 'algorithms=[wagma]'",
     "--set must not change the algorithm, got wagma"},
    {"explain allreduce --set 'seed=[1, 2]'", "--set must leave one run for an algorithm, got 2"},
};

TEST_ROWS(lesson_rejects_wrong_arguments, refused)
{
    char *output = dsgd_ends(2, "%s", refused[_i].arguments);
    ck_assert_msg(strstr(output, refused[_i].sentence) != NULL, "no `%s` in: %s",
                  refused[_i].sentence, output);
}
