/**
 * @file test_conformance.c
 * Runs the checks of sim/conformance/ on all algorithms of the registry, so every new algorithm is
 * tested. Also tests that these checks detect errors, and that a run ends in order if a worker
 * stops. The environment selects the device (tests/support/support.h).
 */
#include <signal.h>

#include "sim/conformance/conformance.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static void expect_near(const double *got, const double *want, size_t n, const char *who)
{
    const double distance = support_distance(got, want, n);
    ck_assert_msg(distance <= support_rounding(), "%s is off by %g", who, distance);
}

/** Disturbs a run: no two workers are in step, and messages take longer than some steps. */
static void disturb(support_case *c)
{
    SET(c, workload.bytes = 4e9, platform.message_overhead_s = 1e-3);
    support_imbalance_number(c, "ramp", "seconds", 0.07);
    support_imbalance_number(c, "delay", "seconds", 0.9);
    c->config.exchange.pieces = 3;
}

/* --- all algorithms --------------------------------------------------------------------------- */

/** Results of the checks of an algorithm. */
typedef struct findings {
    size_t n[DSGD_N_VERDICTS];
    /* messages of failed checks and of skipped checks, one message per line */
    char *failed, *left_out;
} findings;

static void collect(const dsgd_check *check, void *argument)
{
    findings *const f = argument;
    if (check->verdict == DSGD_CHECK_FAILED)
        dsgd_append(&f->failed, "%s: %s\n", check->subject, check->why);
    if (check->verdict == DSGD_CHECK_LEFT_OUT)
        dsgd_append(&f->left_out, "%s: %s\n", check->subject, check->why);
}

static findings check_all(const dsgd_algorithm *algorithm, bool brief, double limit_s)
{
    findings f = {.failed = dsgd_xstrdup(""), .left_out = dsgd_xstrdup("")};
    const dsgd_conformance how = {.numerics = support_numerics(),
                                  .in_double = !support_in_float(),
                                  .brief = brief,
                                  .limit_s = SUPPORT_SLOW ? 10 * limit_s : limit_s,
                                  .report = collect,
                                  .argument = &f};
    dsgd_conformance_check(algorithm, &how, f.n);
    return f;
}

/**
 * Returns true if the environment variable DSGD_TEST_ALGORITHMS (names separated by spaces)
 * contains this algorithm, or if the variable is not set.
 */
static bool chosen(const char *name)
{
    const char *const names = getenv("DSGD_TEST_ALGORITHMS");
    const size_t n = strlen(name);
    for (const char *at = names; at != NULL && *at != '\0'; at += at[strcspn(at, " ")] != '\0') {
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return true;
        at += strcspn(at, " ");
    }
    return names == NULL;
}

SUITE(conformance, "declared", .seconds = 600);

TEST_RANGE(every_algorithm_passes_its_checks, 0, support_n_algorithms())
{
    if (!chosen(dsgd_algorithms[_i]->name))
        return;
    /* if true, the checks use only some of the settings; if false, they use all settings */
    const bool brief = SUPPORT_SLOW || support_in_float();
    findings f = check_all((const dsgd_algorithm *)dsgd_algorithms[_i], brief, 20);
    ck_assert_msg(f.n[DSGD_CHECK_FAILED] == 0, "%s", f.failed);
    ck_assert_uint_gt(f.n[DSGD_CHECK_PASSED], f.n[DSGD_CHECK_LEFT_OUT]);
}

TEST_RANGE(every_built_in_algorithm_declares_laws, 0, support_n_algorithms())
{
    const dsgd_algorithm *const a = (const dsgd_algorithm *)dsgd_algorithms[_i];
    ck_assert_msg(a->laws != NULL, "%s", a->about.name);
}

/** If a server has the model, the algorithm must declare that the server's model is evaluated. */
TEST_RANGE(an_algorithm_with_a_server_outputs_its_model_or_reports_why, 0, support_n_algorithms())
{
    /* The servers of these algorithms have no model. They only name the workers that mix. */
    static const char *const others = "dedloc dsgd_aau ";
    const dsgd_algorithm *const a = (const dsgd_algorithm *)dsgd_algorithms[_i];
    const bool other = a->serve == NULL || strstr(others, a->about.name) != NULL;
    ck_assert_msg(((a->traits & DSGD_OUTPUT_SERVERS) != 0) != other, "%s", a->about.name);
}

/**
 * Compares local steps of one worker, the baseline of the laws, with SGD written out. Only the data
 * comes from the code under test.
 */
TEST(local_steps_are_sgd_written_out)
{
    support_case *c = support_of(&support_alone, 1);
    c->learning.optimizer.weight_decay = 0.01;
    double *const want = support_plain_sgd(c, 20);
    const support_outcome *got = support_ok(c);
    expect_near(got->x, want, got->n_params, "one worker");
}

/* --- faulty algorithms ------------------------------------------------------------------------ */

/** Parameters of a test algorithm: local SGD, either correct or with one error. */
typedef struct faulty_params {
    long a, b, c, d, e; /* these numbers are unused, except that e > 0 also allows short periods */
    long period;
    int way;
} faulty_params;

enum { RIGHT, DRIFTS, SHARES, CRASHES, NAMES_NOBODY, STARVES, HANGS };
static const char *const ways[] = {"right",        "drifts",  "shares", "crashes",
                                   "names_nobody", "starves", "hangs",  NULL};

/**
 * Makes a correct gossip exchange. During the exchange, however, the sender's model lacks the share
 * that the sender has sent.
 */
static void share(dsgd_node *self, dsgd_vector *x)
{
    const dsgd_spec ring = {dsgd_entry_find(dsgd_graph_kinds, "ring"), NULL};
    dsgd_request *const round = dsgd_gossip_begin(
        self, x, dsgd_neighbours_of(self, &ring, self->step, DSGD_DOUBLY_STOCHASTIC));
    dsgd_request_wait(self, round, x);
}

static void go_wrong(dsgd_node *self, dsgd_vector *x, int way)
{
    if (way == DRIFTS)
        dsgd_combine(self, x, 0.5, 0, x);
    if (way == CRASHES)
        raise(SIGSEGV);
    if (way == NAMES_NOBODY)
        dsgd_pair_average(self, x, self->n_workers);
    if (way == STARVES)
        dsgd_pair_average(self, x, 0);
    for (volatile bool for_ever = way == HANGS; for_ever;)
        continue;
}

static void faulty_work(dsgd_node *self)
{
    const faulty_params *p = self->params;
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->step == 2 && self->rank == self->n_workers - 1)
            go_wrong(self, x, p->way);
        if (p->way == SHARES)
            share(self, x);
        if ((self->step + 1) % p->period == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

static long faulty_period(const void *params, int n_workers)
{
    return ((const faulty_params *)params)->period;
}

static dsgd_status faulty_check(const void *params, int n_workers, dsgd_error *error)
{
    const faulty_params *p = params;
    if (p->period < 5 && p->e == 0)
        return dsgd_refuse(error, "period: %ld, but 5 or more are needed", p->period);
    return DSGD_OK;
}

#define NUMBER(field, init_)                                                                       \
    DSGD_OPTION_LONG(faulty_params, field, init_, 0, 1000000, NULL, "a number")
static const dsgd_option numbers[] = {
    NUMBER(a, 0), NUMBER(b, 0),      NUMBER(c, 0),    NUMBER(d, 0),
    NUMBER(e, 0), NUMBER(period, 5), DSGD_OPTION_END,
};
static const dsgd_option numbers_and_way[] = {
    NUMBER(period, 5),
    DSGD_OPTION_CHOICE(faulty_params, way, ways, "what it does"),
    DSGD_OPTION_END,
};

static dsgd_algorithm faulty(const dsgd_option *options, const dsgd_law *laws)
{
    return (dsgd_algorithm){
        .about = {.name = "faulty", .params_size = sizeof(faulty_params), .options = options},
        .check = faulty_check,
        .work = faulty_work,
        .period = faulty_period,
        .laws = laws};
}

static void expect_failure(const dsgd_algorithm *algorithm, const char *sentence)
{
    findings f = check_all(algorithm, true, 1);
    ck_assert_has(f.failed, sentence);
}

CASE("wrong", .seconds = 480);

TEST(correct_algorithm_passes_with_more_than_four_options)
{
    const dsgd_law laws[] = {
        {.kind = DSGD_LAW_KEEPS_MEAN},
        {.kind = DSGD_LAW_ALLREDUCE,
         .with = DSGD_WITH({"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"period", 1})},
        {.kind = DSGD_LAW_END}};
    const dsgd_algorithm a = faulty(numbers, laws);
    findings f = check_all(&a, true, 20);
    ck_assert_msg(f.n[DSGD_CHECK_FAILED] == 0, "%s", f.failed);
    ck_assert_has(f.left_out, "ends: faulty with period=3 at P=8: period: 3, but 5");
}

static const struct {
    dsgd_law law;
    const char *sentence;
} wrong_laws[] = {
    {{DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1})},
     "law ALLREDUCE: faulty with period=1 at P=2: period: 1, but 5 or more are needed; every P "
     "that "
     "was tried is rejected"},
    {{DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 6})},
     "law ALLREDUCE: faulty with period=6 at P=2: after step 0 worker 0 is off by "},
    {{DSGD_LAW_PLAIN_SGD, DSGD_WITH({"way", DRIFTS})},
     "law PLAIN_SGD: faulty with way=drifts at P=1: after step 2 worker 0 is off by "},
    {{DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"way", DRIFTS})},
     "law KEEPS_MEAN: faulty with way=drifts at P=3: after step 2 the mean of the models is off"},
    {{DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"length", 1})},
     "law KEEPS_MEAN: faulty by default: the law is declared with the option `length`"},
    {{DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", -1})},
     "period=-1, which the table of options does"},
    {{DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"way=torus", 0})},
     "way=torus, but there is no entry of that name"},
};

TEST_ROWS(wrong_laws_fail, wrong_laws)
{
    const dsgd_law laws[] = {wrong_laws[_i].law, {.kind = DSGD_LAW_END}};
    const dsgd_algorithm a = faulty(numbers_and_way, laws);
    expect_failure(&a, wrong_laws[_i].sentence);
}

static bool halves; /* if true, senders halve their weights; set before the simulations */

/**
 * A test algorithm that pushes models to random workers, together with half of the sender's weight
 * (GoSGD).
 */
static void weighing_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    double w = 1;
    while (dsgd_next_step(self)) {
        for (const dsgd_message *l; (l = dsgd_recv(self, dsgd_time_s(self))) != NULL;) {
            const double v = l->numbers[0];
            dsgd_combine(self, x, w / (w + v), v / (w + v), l->x);
            w += v;
        }
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->n_workers == 1)
            continue;
        w /= halves ? 2 : 1;
        const int n = 1 + (int)dsgd_random_below(self, (uint64_t)self->n_workers - 1);
        dsgd_send(self, (self->rank + n) % self->n_workers, x, &w, 1);
    }
}

TEST(changed_sum_of_weights_misses_the_mean)
{
    const dsgd_law laws[] = {{.kind = DSGD_LAW_REACHES_MEAN}, {.kind = DSGD_LAW_END}};
    const dsgd_algorithm a = {.about = {.name = "weighing"}, .work = weighing_work, .laws = laws};
    halves = true;
    ck_assert_str_eq(check_all(&a, true, 20).failed, "");
    halves = false;
    expect_failure(&a, "law REACHES_MEAN: weighing by default at P=4: after 400 steps without "
                       "learning worker 0 is off by ");
}

static const char *const deaths[] = {
    "keeps consensus: faulty with way=shares at P=8: without learning, an evaluation at ",
    "learns: faulty with way=crashes at P=8: the simulation died",
    "learns: faulty with way=names_nobody at P=8: the simulation died (Aborted): ",
    "worker 7 names worker 8 in step 2",
    "learns: faulty with way=starves at P=8: the run failed: every worker waited",
    "learns: faulty with way=hangs at P=8: the simulation died (CPU time limit exceeded)",
};

TEST(an_algorithm_that_crashes_starves_or_hangs_fails)
{
    const dsgd_algorithm a = faulty(numbers_and_way, NULL);
    findings f = check_all(&a, true, 1);
    for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++)
        ck_assert_has(f.failed, deaths[i]);
    ck_assert_has(f.left_out, "not made, because a check hangs");
}

/**
 * EF21 must not compress sums a second time: the common mean would drift away from the mean of the
 * workers' vectors. The checks must detect this.
 */
TEST(accumulating_errors_are_detected)
{
    dsgd_algorithm a = *(const dsgd_algorithm *)dsgd_entry_find(dsgd_algorithms, "ef21");
    a.check = NULL;
    if (SUPPORT_SLOW) /* this test needs all settings, which take too long under a sanitizer */
        return;
    findings f = check_all(&a, false, 20);
    ck_assert_has(f.failed,
                  "learns: ef21 with encoding={kind: sign, reduce: bidirectional} at P=8: ");
}

/* --- workers that stop ------------------------------------------------------------------------ */

CASE("robust", .seconds = 240);

TEST_RANGE(a_worker_that_stops_ends_the_run_or_starves_it, 0, support_n_algorithms())
{
    for (int worker = 0; worker < 2; worker++) {
        support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
        dsgd_failure_event stop = {worker, 6.5};
        support_dies(c, 1, &stop);
        c->config.until.steps = SUPPORT_SLOW ? 60 : 200;
        disturb(c);
        const support_outcome *got = support_simulate(c);
        ck_assert_int_eq(got->status, DSGD_OK);
        if (got->result.outcome == DSGD_RUN_FAILED) {
            char text[40];
            snprintf(text, sizeof text, "worker %d had failed", worker);
            ck_assert_has(got->result.why.text, text);
        } else {
            ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
            ck_assert_double_eq(got->result.steps, c->config.until.steps);
        }
    }
}

TEST(stopping_an_unknown_worker_is_rejected)
{
    support_case *c = support_new("allreduce", 4);
    dsgd_failure_event stop = {4, 1};
    support_dies(c, 1, &stop);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, "worker must be between 0 and 3, got 4");
}

/**
 * Each worker takes one second per step. Worker 2 stops at the instant at which its fourth step
 * would start.
 */
TEST(worker_stops_at_its_instant_and_the_others_continue)
{
    support_case *c = support_of(&support_alone, 4);
    dsgd_failure_event stop = {2, 3};
    support_dies(c, 1, &stop);
    c->config.until = (dsgd_until){.seconds = 10.5};
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, (3 * 10 + 3) / 4.0);
}

TEST_RANGE(all_workers_may_stop, 0, support_n_algorithms())
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 4);
    dsgd_failure_event stops[4];
    for (int w = 0; w < 4; w++)
        stops[w] = (dsgd_failure_event){w, 3};
    support_dies(c, 4, stops);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
}

/**
 * Asynchronous algorithms whose workers do not need each other continue without a worker that
 * stopped.
 */
TEST_RANGE(servers_outlive_a_worker, 0, 3)
{
    static const char *const names[] = {"a_psgd", "easgd", "eamsgd"};
    support_case *c = support_new(names[_i], 4);
    dsgd_failure_event stop = {2, 5};
    support_dies(c, 1, &stop);
    c->config.until.steps = 30;
    const support_outcome *got = support_ok(c);
    ck_assert_double_gt(got->result.virtual_s, 30);
}

/* --- Tests of values with different settings of the exchange ---------------------------------- */

/**
 * Tests that chunks and overlap do not change the models if no worker is late. The test covers
 * algorithms that do not depend on the order of arrivals.
 */
TEST_RANGE(values_do_not_depend_on_how_vectors_are_cut, 0, 8)
{
    static const char *const names[] = {"allreduce", "local_sgd", "d_psgd", "sgp",
                                        "osgp",      "slowmo",    "dasgd",  "diloco"};
    const support_outcome *whole = NULL;
    for (int way = 0; way < 4; way++) {
        support_case *c = support_new(names[_i], 8);
        SET(c, config.steps_each = 12, config.exchange.pieces = way == 0 ? 1 : 5,
            config.exchange.overlap = way != 2, config.exchange.blocking = way != 3);
        const support_outcome *got = support_ok(c);
        whole = way == 0 ? got : whole;
        expect_near(got->x, whole->x, 8 * got->n_params, names[_i]);
    }
}
