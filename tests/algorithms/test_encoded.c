/**
 * @file test_encoded.c
 * Algorithms that send encoded vectors, and `exchange: encoding`: worked examples, what is kept, and
 * what is sent.
 *
 * The worked examples need given gradients: the algorithms' files are compiled once more here, with
 * another dsgd_gradient().
 */
#include <math.h>
#include <string.h>

#include "models/encodings/encoding.h"
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static void given_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);
static void given_factor(dsgd_node *self, dsgd_vector *y, long rank, bool of_columns);
static void noted_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* NOLINTBEGIN(bugprone-suspicious-include) */
#define dsgd_gradient given_gradient
#define dsgd_draw_factor given_factor
#define dsgd_local_step noted_local_step
#define dsgd_algorithm_top_k given_top_k
#define dsgd_algorithm_ok_topk given_ok_topk
#define dsgd_algorithm_power_sgd given_power_sgd
#include "algorithms/ok_topk.c"
#include "algorithms/power_sgd.c"
#include "algorithms/top_k.c"
#undef dsgd_gradient
#undef dsgd_draw_factor
#undef dsgd_local_step
/* NOLINTEND(bugprone-suspicious-include) */

/* --- given gradients -------------------------------------------------------------------------- */

enum { MOST = 8 };

static double given[MOST][MOST]; /* [worker]; set before the simulation forks */
static bool grows; /* times the number of the step, from 1, and another sign for every third */

static void put_pieces(dsgd_node *self, dsgd_vector *y, const double *elements)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    DSGD_FOR_PIECES (k, y)
        dsgd_vector_set(y, k, dsgd_values_constant(engine->values, k, elements), 0);
}

static void given_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x)
{
    double now[MOST];
    for (int i = 0; i < MOST; i++)
        now[i] = given[self->rank][i] *
                 (grows ? (double)(self->step + 1) * ((self->step + i) % 3 == 0 ? -1 : 1) : 1);
    dsgd_gradient(self, g, x);
    dsgd_computation_wait(dsgd_worker_of(self));
    put_pieces(self, g, now);
}

static void given_factor(dsgd_node *self, dsgd_vector *y, long rank, bool of_columns)
{
    static const double first[MOST] = {1};
    (void)rank, (void)of_columns;
    put_pieces(self, y, first);
}

static int residual; /* which of a worker's vectors; set before the fork */

/** A worker's vectors in the order in which they were made: 0 and 1 are its model and the initial one. */
static dsgd_vector *nth_vector(const dsgd_worker *w, int n)
{
    int n_all = 0;
    for (const dsgd_vector *x = w->engine->vectors; x != NULL; x = x->next)
        n_all += x->owner == w;
    for (dsgd_vector *x = w->engine->vectors; x != NULL; x = x->next) /* the latest first */
        if (x->owner == w && --n_all == n)
            return x;
    return NULL;
}

/** Notes what the model has moved by, and the residual. */
static void noted_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    const dsgd_worker *const w = dsgd_worker_of(self);
    double *const moved = support_current->note + self->rank * MOST;
    double before[MOST];
    double after[MOST];
    dsgd_vector_read(x, before);
    dsgd_local_step(self, x, g);
    dsgd_vector_read(x, after);
    for (size_t i = 0; i < w->engine->network.n_params; i++)
        moved[i] += after[i] - before[i];
    dsgd_vector_read(nth_vector(w, residual), support_current->note + 32 + self->rank * MOST);
}

static support_case *given_case(const dsgd_algorithm *algorithm, int workers, int n, long steps)
{
    support_case *const c = support_new(NULL, workers);
    support_set(c->learning.data.about, c->learning.data.params, "features", n - 1);
    support_algorithm(c, algorithm);
    void *const params = support_alloc(1, algorithm->about.params_size);
    dsgd_options_default(algorithm->about.options, params);
    c->config.params = params;
    c->learning.optimizer.lr = 1;
    c->learning.optimizer.momentum = 0;
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
    return c;
}

static void give(int worker, const double *g, size_t n)
{
    memset(given[worker], 0, sizeof given[worker]);
    memcpy(given[worker], g, n * sizeof *g);
}

static void expect_example(const dsgd_algorithm *algorithm, double correction, long steps,
                           const double *x)
{
    support_case *const c = given_case(algorithm, 2, 3, steps);
    give(0, (double[]){3, -1, 2}, 3);
    give(1, (double[]){0.5, 4, 2.5}, 3);
    support_option(c, "density", 0.34);
    if (correction >= 0)
        support_option(c, "correction", correction);
    const support_outcome *const got = support_ok(c);
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < 3; i++)
            ck_assert_msg(fabs(got->note[w * MOST + i] - x[i]) < 1e-14,
                          "after %ld steps worker %d has %g instead of %g at %d", steps, w,
                          got->note[w * MOST + i], x[i], i);
}

SUITE(encoded, "encoded", .seconds = 60);

TEST(top_k_is_the_worked_example)
{
    expect_example(&given_top_k, -1, 1, (double[]){-1.5, -2, 0});
    expect_example(&given_top_k, -1, 2, (double[]){-1.5, -2, -4.5});
    expect_example(&given_top_k, -1, 3, (double[]){-4.5, -6, -4.5});
    expect_example(&given_top_k, 0.5, 3, (double[]){-5.25, -7, -5.625});
}

TEST(power_sgd_is_the_worked_example)
{
    static const double x[3][4] = {{3, 1, 0, 0}, {6, 2, 3, 1}, {7.5, 5, 4.5, 4}};
    for (int t = 0; t < 3; t++) {
        support_case *const c = given_case(&given_power_sgd, 1, 4, t + 1);
        give(0, (double[]){3, 1, 1, 2}, 4);
        support_option(c, "rank", 1);
        const support_outcome *const got = support_ok(c);
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol(got->note[i], -x[t][i], 1e-14);
    }
}

/** Sum of residuals + P times what was applied = sum of all gradients, of three workers. */
static void expect_conserved(const dsgd_algorithm *algorithm, const char *option, double value,
                             int vector, int n)
{
    enum { WORKERS_ = 3, STEPS = 7 };
    double all[MOST] = {0};
    support_case *const c = given_case(algorithm, WORKERS_, n, STEPS);
    grows = true;
    residual = vector;
    for (int w = 0; w < WORKERS_; w++) {
        double g[MOST];
        for (int i = 0; i < MOST; i++)
            g[i] = sin(1 + 7 * w + 3 * i);
        give(w, g, MOST);
        for (int t = 0; t < STEPS; t++)
            for (int i = 0; i < n; i++)
                all[i] += g[i] * (t + 1) * ((t + i) % 3 == 0 ? -1 : 1);
    }
    support_option(c, option, value);
    const support_outcome *const got = support_ok(c);
    grows = false;
    double left = 0;
    for (int i = 0; i < n; i++) {
        double kept = 0;
        for (int w = 0; w < WORKERS_; w++)
            kept += got->note[32 + w * MOST + i];
        ck_assert_double_eq_tol(kept - WORKERS_ * got->note[i], all[i], 1e-12);
        left += fabs(kept);
    }
    ck_assert_double_gt(left, 1e-3);
}

TEST(what_is_not_sent_is_kept)
{
    expect_conserved(&given_top_k, "density", 0.2, 4, 8);
    expect_conserved(&given_ok_topk, "density", 0.2, 3, 8);
    expect_conserved(&given_power_sgd, "rank", 1, 3, 8);
}

/* --- CHOCO ------------------------------------------------------------------------------------ */

/** Sets the models of time 0 to the worked example. */
static void prepare_choco(dsgd_engine *engine, void *argument)
{
    static const double x[4][2] = {{1, 0}, {0, 4}, {-2, 1}, {3, -2}};
    (void)argument;
    for (int w = 0; w < engine->n_workers; w++)
        put_pieces(&engine->workers[w].node, engine->workers[w].model, x[w]);
}

TEST(choco_is_the_worked_example)
{
    static const double x[3][4][2] = {
        {{1.1667, .6667}, {-.1667, 2.6667}, {-.8333, 1.6667}, {1.8333, -2}},
        {{1.3333, .5556}, {-.3333, 2.1667}, {.3333, 1.2222}, {.6667, -.9444}},
        {{1, .3611}, {-.0556, 1.8333}, {.3333, .6944}, {.7222, .1111}}};
    for (int t = 0; t < 3; t++) {
        support_case *const c = support_new("choco", 4);
        support_set(c->learning.data.about, c->learning.data.params, "features", 1);
        support_option(c, "gamma", 0.5);
        const dsgd_about *const top_k = dsgd_about_find(dsgd_encoding_kinds, "top_k");
        support_set(top_k, support_pick(c, "encoding", "top_k"), "share", 0.5);
        c->learning.optimizer.lr = 0;
        c->config.prepare = prepare_choco;
        c->config.until = (dsgd_until){0};
        c->config.steps_each = t + 1;
        const support_outcome *const got = support_ok(c);
        for (int w = 0; w < 4; w++)
            for (int i = 0; i < 2; i++)
                ck_assert_double_eq_tol(got->x[w * 2 + i], x[t][w][i], 1e-4);
    }
}

TEST(choco_refuses_encodings_that_expand_and_a_default_that_nobody_knows)
{
    static const struct {
        const char *encoding, *option, *says;
        double value, gamma;
    } cases[] = {
        {"qsgd", "levels", "damped: true, or more levels) would do", 1, 0.1},
        {"random_k", "unbiased", "unbiased: false", 1, -1},
        {"threshold", NULL, "give it a number, the smaller the less is sent", 0, -1},
        {"threshold", NULL, NULL, 0, 0.1},
        {"qsgd", NULL, NULL, 0, -1},
        {"sign", NULL, NULL, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_case *const c = support_new("choco", 4);
        dsgd_error error = {""};
        support_option(c, "gamma", cases[i].gamma);
        void *const params = support_pick(c, "encoding", cases[i].encoding);
        if (cases[i].option != NULL)
            support_set(dsgd_about_find(dsgd_encoding_kinds, cases[i].encoding), params,
                        cases[i].option, cases[i].value);
        ck_assert_int_eq(dsgd_run_check(&c->config, &error),
                         cases[i].says == NULL ? DSGD_OK : DSGD_EUSAGE);
        if (cases[i].says != NULL)
            ck_assert_has(error.text, cases[i].says);
    }
}

TEST(choco_of_the_sign_mixes_by_its_share_of_the_square)
{
    static const double share = 2 / 3.14159265358979323846;
    const support_outcome *got[2];
    for (int i = 0; i < 2; i++) {
        support_case *const c = support_new("choco", 5);
        support_pick(c, "encoding", "sign");
        if (i == 1)
            support_option(c, "gamma", share / (2 - share));
        got[i] = support_ok(c);
    }
    ck_assert_double_le(support_distance(got[0]->x, got[1]->x, 5 * got[0]->n_params), 1e-12);
}

TEST(choco_of_all_numbers_is_d_psgd)
{
    static const char *const graphs[] = {"ring", "torus", "complete"};
    for (int i = 0; i < 3; i++) {
        support_case *const c = support_new("choco", 9);
        support_option(c, "gamma", 1);
        support_pick(c, "graph", graphs[i]);
        support_pick(c, "encoding", "none");
        const support_outcome *const choco = support_ok(c);
        support_case *const d = support_new("d_psgd", 9);
        support_option(d, "order", 2); /* atc */
        support_pick(d, "graph", graphs[i]);
        const support_outcome *const d_psgd = support_ok(d);
        ck_assert_double_le(support_distance(choco->x, d_psgd->x, 9 * choco->n_params), 1e-11);
    }
}

/* --- exchange: encoding ----------------------------------------------------------------------- */

static void encode_exchange(support_case *c, const char *name, const char *option, double value)
{
    const dsgd_about *const about = dsgd_about_find(dsgd_encoding_kinds, name);
    void *const params = support_alloc(1, about->params_size + 1);
    dsgd_options_default(about->options, params);
    if (option != NULL)
        support_set(about, params, option, value);
    c->config.exchange.encoding = (dsgd_pick){about, params};
}

TEST(encodings_that_leave_nothing_out_change_no_bit)
{
    static const char *const names[] = {"allreduce", "d_psgd",  "diloco",
                                        "a_psgd",    "ad_psgd", "eager_solo"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const support_outcome *const plain = support_ok(support_new(names[i], 4));
        support_case *const c = support_new(names[i], 4);
        c->platform.encoding_s_per_byte = 0;
        encode_exchange(c, "top_k", "share", 1);
        const support_outcome *const all = support_ok(c);
        const double distance = support_distance(all->x, plain->x, 4 * plain->n_params);
        ck_assert_msg(distance <= 1e-12, "%s is off by %g", names[i], distance);
        ck_assert_double_eq_tol(all->result.virtual_s, plain->result.virtual_s, 1e-9);
        ck_assert_double_eq_tol(all->result.bytes, plain->result.bytes, 1e-6);
    }
}

/** Bytes of ten steps of P workers and 1 MB, and seconds of a step. */
TEST(allreduces_of_encoded_vectors_travel_as_they_should)
{
    static const struct {
        const char *name, *option;
        double value;
        int workers;
        double bytes; /* of all workers in a step */
    } cases[] = {
        {"top_k", "share", 0.01, 8, 8.0 * 7 * 20000}, /* everyone gets all */
        {"top_k", "share", 0.01, 7, 7.0 * 6 * 20000},
        {"top_k", "share", 0.2, 8, 2 * 7 * 1e6}, /* less than all of all: the sum itself */
        {"top_k", "reduce", 1, 8, 2 * 7 * 20000}, /* in regions: two halves */
        {"uniform", "reduce", 1, 8, 2 * 7 * 8 * (31250.0 + 4 * 8)}, /* each share its scales */
        {"sign", "reduce", 1, 8, 2 * 7 * 8 * (3907.0 + 4)},
        {"uniform", NULL, 0, 7, 7 * 6 * (250000.0 + 4 * 62)}, /* everyone gets all */
        {"sign", NULL, 0, 8, 8 * 7 * 31254.0},
        {"uniform", NULL, 0, 8, 2 * 7 * 1e6}, /* 8 x 251 kB: the sum itself */
        {"none", NULL, 0, 8, 2 * 7 * 1e6},
        {"low_rank", "rank", 1, 8, 8 * 7 * 4000.0}, /* 500 + 500 numbers */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_case *const c = costly("allreduce", cases[i].workers);
        c->config.exchange.collective = DSGD_COLLECTIVE_RING;
        encode_exchange(c, cases[i].name, cases[i].option, cases[i].value);
        const double got = support_ok(c)->result.bytes / 10;
        ck_assert_msg(fabs(got - cases[i].bytes) < 1e-6 * got, "case %zu: %g instead of %g bytes",
                      i, got, cases[i].bytes);
    }
}

TEST(an_encoded_allreduce_takes_its_closed_form)
{
    const int p = 8;
    const double encoding_s_per_byte = 2e-10;
    for (int every = 0; every < 2; every++) {
        support_case *const c = costly("allreduce", p);
        c->platform.encoding_s_per_byte = encoding_s_per_byte;
        c->config.exchange.collective = DSGD_COLLECTIVE_RING;
        c->config.exchange.every_message = every;
        encode_exchange(c, "top_k", "share", 0.01);
        const double pairs = 20000; /* bytes; a ring passes those of one worker at a time */
        const double hop_s =
            overhead_s + latency_s + pairs / bandwidth + reduction_s_per_byte * pairs;
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                encoding_s_per_byte * bytes + (p - 1) * hop_s, 1e-8);
        encode_exchange(c, "sign", NULL, 0);
        const double code = 31254; /* decoded, and added, as 1 MB */
        const double signs_s = overhead_s + latency_s + code / bandwidth +
                               (encoding_s_per_byte + reduction_s_per_byte) * bytes;
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                encoding_s_per_byte * bytes + (p - 1) * signs_s, 1e-8);
        /* shares: sent twice, decoded twice, added once, and the sum's is encoded */
        const struct {
            const char *name;
            double bytes, decoded, added;
        } again[] = {{"sign", code, bytes, bytes}, {"top_k", pairs, 0, pairs}};
        for (int i = 0; i < 2; i++) {
            encode_exchange(c, again[i].name, "reduce", 1);
            const double shares_s = 2 * (overhead_s + latency_s + again[i].bytes / p / bandwidth) +
                                    2 * encoding_s_per_byte * again[i].decoded / p +
                                    reduction_s_per_byte * again[i].added / p;
            ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                    encoding_s_per_byte * bytes * (1 + 1. / p) + (p - 1) * shares_s,
                                    1e-8);
        }
    }
}

TEST(gossip_of_encoded_models_keeps_their_mean)
{
    static const char *const names[] = {"uniform", "top_k", "sign"};
    for (size_t i = 0; i < 3; i++) {
        support_case *const c = support_new("d_psgd", 5);
        encode_exchange(c, names[i], NULL, 0);
        support_expect_kept_mean(c);
        support_case *const pairs = support_new("ad_psgd", 6);
        encode_exchange(pairs, names[i], NULL, 0);
        support_expect_kept_mean(pairs);
    }
}

/** Without steps a debiased model stays, whatever of it is on its way. */
TEST(osgp_keeps_what_is_not_sent_in_proportion_to_its_weight)
{
    support_case *const c = support_new("osgp", 8);
    c->learning.optimizer.lr = 0;
    encode_exchange(c, "top_k", "share", 0.1);
    const support_outcome *const got = support_ok(c);
    for (size_t i = 0; i < got->result.n_points; i++)
        ck_assert_double_eq_tol(got->points[i].at.loss, got->points[0].at.loss, 1e-12);
}

/** Losses of an emulation in which each share of the sum has a scale of its own; with one scale 38.6995. */
TEST(who_encodes_a_share_of_a_sum_knows_no_other)
{
    static const double losses[] = {38.818275600273346, 38.6874702507265};
    support_case *const c = support_new("allreduce", 8);
    support_set(c->learning.data.about, c->learning.data.params, "features", 63);
    support_set(c->learning.data.about, c->learning.data.params, "points", 512);
    support_set(c->learning.data.about, c->learning.data.params, "noise", 0.5);
    c->learning.batch = 2;
    c->learning.precision = DSGD_PRECISION_DOUBLE;
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.004};
    c->learning.evaluate.every = 1;
    c->config.seed = 3;
    c->config.exchange.pieces = 1;
    c->config.until = (dsgd_until){.steps = 1};
    encode_exchange(c, "sign", "reduce", DSGD_REDUCE_BIDIRECTIONAL);
    const support_outcome *const got = support_ok(c);
    for (size_t i = 0; i < 2; i++)
        ck_assert_double_eq_tol(got->points[i].at.loss, losses[i], 1e-12);
}

TEST(what_makes_no_sense_is_refused)
{
    dsgd_error error;
    support_case *const noticing = support_new("dsgd_aau", 4); /* its server has no model */
    encode_exchange(noticing, "top_k", "feedback", 1);
    ck_assert_int_eq(dsgd_run_check(&noticing->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "feedback");
    support_case *const c = support_new("d_psgd", 4);
    encode_exchange(c, "top_k", "feedback", 1);
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "feedback");
    support_case *const models = support_new("local_sgd", 4);
    encode_exchange(models, "uniform", NULL, 0);
    ck_assert_int_eq(dsgd_run_check(&models->config, &error), DSGD_OK);
    encode_exchange(models, "top_k", NULL, 0);
    ck_assert_int_eq(dsgd_run_check(&models->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "models");
    support_case *const fused = support_new("allreduce", 4);
    fused->config.exchange.fusion_bytes = 1e6;
    fused->config.exchange.cycle_s = 1e-3;
    ck_assert_int_eq(dsgd_run_check(&fused->config, &error), DSGD_OK);
    encode_exchange(fused, "uniform", NULL, 0);
    ck_assert_int_eq(dsgd_run_check(&fused->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "fusion");
}

/** Error feedback needs an encoding that errs by less than what it is given. */
TEST(feedback_of_what_expands_is_refused)
{
    dsgd_error error;
    support_case *const c = support_new("allreduce", 4);
    encode_exchange(c, "random_k", "feedback", 1);
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
    dsgd_selection *const drawn = c->config.exchange.encoding.params;
    drawn->unbiased = true;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "grows for ever");
    drawn->common.feedback = false;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
    support_case *const rounded = support_new("allreduce", 4);
    encode_exchange(rounded, "qsgd", "levels", 1);
    ((dsgd_encoding_params *)rounded->config.exchange.encoding.params)->feedback = true;
    ck_assert_int_eq(dsgd_run_check(&rounded->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "qsgd");
}

/** Six times k values of four bytes, as the paper promises, at any number of workers. */
TEST(ok_topk_sends_less_than_six_k)
{
    for (int p = 2; p <= 64; p *= 2) {
        support_case *const c = costly("ok_topk", p);
        support_option(c, "density", 0.01);
        const double k = 0.01 * bytes / 4;
        const double per_worker = support_ok(c)->result.bytes / 10 / p;
        ck_assert_double_le(per_worker, 6 * k * 4);
        ck_assert_double_eq_tol(per_worker, 4 * k * 4 * (p - 1) / p, 1e-6);
    }
}

TEST(times_read_no_values)
{
    static const char *const names[] = {"top_k", "ok_topk", "power_sgd", "choco"};
    for (size_t i = 0; i < 4; i++) {
        support_case *const c = support_new(names[i], 5);
        c->config.exchange.pieces = 3;
        const double with_s = support_ok(c)->result.virtual_s;
        support_no_learning(c);
        ck_assert_double_eq(support_ok(c)->result.virtual_s, with_s);
    }
}
