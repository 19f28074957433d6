/**
 * @file test_encoded.c
 * Tests algorithms that send compressed vectors, and the option `exchange: encoding`. The tests
 * check bytes, times and rejected options. (test_against_oracle.c compares values, and the tests of
 * the oracle contain examples that were computed by hand.)
 */
#include "models/encodings/encoding.h"
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(encoded, "encoded", .seconds = 60);

/* --- CHOCO ------------------------------------------------------------------------------------ */

TEST(choco_rejects_expanding_encodings_and_an_unknown_default)
{
    static const struct {
        const char *encoding, *option, *says;
        double value, gamma;
    } cases[] = {
        {"qsgd", "levels", "damped: true, or more levels)", 1, 0.1},
        {"random_k", "unbiased", "unbiased: false", 1, -1},
        {"threshold", NULL, "Set gamma to a number; the less is sent", 0, -1},
        {"threshold", NULL, NULL, 0, 0.1},
        {"qsgd", NULL, NULL, 0, -1},
        {"sign", NULL, NULL, 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        support_case *const c = support_new("choco", 4);
        dsgd_error error = {""};
        support_option(c, "gamma", cases[i].gamma);
        void *const params = support_spec(c, "encoding", cases[i].encoding);
        if (cases[i].option != NULL)
            support_set(dsgd_entry_find(dsgd_encoding_kinds, cases[i].encoding), params,
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
        support_spec(c, "encoding", "sign");
        if (i == 1)
            support_option(c, "gamma", share / (2 - share));
        got[i] = support_ok(c);
    }
    ck_assert_double_le(support_distance(got[0]->x, got[1]->x, 5 * got[0]->n_params), 1e-12);
}

/* --- exchange: encoding ----------------------------------------------------------------------- */

static void encode_exchange(support_case *c, const char *name, const char *option, double value)
{
    c->config.exchange.encoding = support_picked(dsgd_encoding_kinds, name, option, value);
}

TEST(lossless_encodings_change_no_bit)
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

/**
 * Compares the bytes of an allreduce of P workers with closed forms, for each encoding. A vector
 * has 1 MB.
 */
TEST(allreduces_of_encoded_vectors_send_expected_bytes)
{
    static const struct {
        const char *name, *option;
        double value;
        int workers;
        double bytes; /* expected bytes of all workers per step */
    } cases[] = {
        /* 1 % of the values are sent as pairs of 8 bytes, and all workers receive all pairs */
        {"top_k", "share", 0.01, 8, 8.0 * 7 * 20000},
        {"top_k", "share", 0.01, 7, 7.0 * 6 * 20000},
        /* the uncompressed sum has fewer bytes than the pairs of all workers */
        {"top_k", "share", 0.2, 8, 2 * 7 * 1e6},
        /* the allreduce has two halves, a scatter and a gather */
        {"top_k", "reduce", 1, 8, 2 * 7 * 20000},
        /* each worker's share of the vector has its own scales */
        {"uniform", "reduce", 1, 8, 2 * 7 * 8 * (31250.0 + 4 * 8)},
        {"sign", "reduce", 1, 8, 2 * 7 * 8 * (3907.0 + 4)},
        /* all workers receive all encoded vectors */
        {"uniform", NULL, 0, 7, 7 * 6 * (250000.0 + 4 * 62)},
        {"sign", NULL, 0, 8, 8 * 7 * 31254.0},
        /* eight encoded vectors of 251 kB are larger than the uncompressed sum */
        {"uniform", NULL, 0, 8, 2 * 7 * 1e6},
        {"none", NULL, 0, 8, 2 * 7 * 1e6},
        /* the two factors of a matrix have 500 numbers each */
        {"low_rank", "rank", 1, 8, 8 * 7 * 4000.0},
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
    for (int network = 0; network < 2; network++) {
        support_case *const c = costly("allreduce", p);
        c->platform.encoding_s_per_byte = encoding_s_per_byte;
        c->config.exchange.collective = DSGD_COLLECTIVE_RING;
        c->config.network = network;
        encode_exchange(c, "top_k", "share", 0.01);
        /* bytes of the pairs of one worker; a ring passes the pairs of one worker per hop */
        const double pairs = 20000;
        const double hop_s =
            overhead_s + latency_s + pairs / bandwidth + reduction_s_per_byte * pairs;
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                encoding_s_per_byte * bytes + (p - 1) * hop_s, 1e-8);
        encode_exchange(c, "sign", NULL, 0);
        /* bytes of the signs of a vector, which are decoded and added as a vector of 1 MB */
        const double code = 31254;
        const double signs_s = overhead_s + latency_s + code / bandwidth +
                               (encoding_s_per_byte + reduction_s_per_byte) * bytes;
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                encoding_s_per_byte * bytes + (p - 1) * signs_s, 1e-8);
        /*
         * Each worker's share of the vector is sent twice, decoded twice and added once. The sum is
         * encoded a second time.
         */
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

/**
 * Tests that encoding takes time of the GPU. Messages cost almost nothing. The last of four chunks
 * is encoded only when all chunks are computed.
 */
TEST(an_encoder_takes_its_time_from_the_gpu_that_computes)
{
    const double encoding_s_per_byte = 2e-7;
    for (int overlap = 0; overlap < 2; overlap++) {
        support_case *const c = costly("allreduce", 2);
        SET(c, platform.encoding_s_per_byte = encoding_s_per_byte, config.exchange.pieces = 4,
            config.exchange.overlap = overlap);
        encode_exchange(c, "top_k", "share", 1e-5);
        const double step_s = support_ok(c)->result.virtual_s / 10;
        const double sent_s = 4 * (overhead_s + latency_s + 32 / bandwidth);
        ck_assert_double_ge(step_s, 1 + encoding_s_per_byte * bytes - 1e-9);
        ck_assert_double_le(step_s, 1 + encoding_s_per_byte * bytes + 2 * sent_s);
    }
}

static dsgd_spec repeated; /* the compression that repeating_work() uses */

/**
 * A test algorithm that sends its initial model ten times, the last time without loss. The
 * algorithm adds the values that were sent to its model x.
 */
static void repeating_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const given = dsgd_vector_new(self);
    dsgd_vector *const q = dsgd_vector_new(self);
    dsgd_selection all = {.common = {.feedback = true}};
    const dsgd_spec everything = dsgd_encoding_of("threshold", &all); /* 0: sends all */
    dsgd_copy(self, given, x);
    while (dsgd_next_step(self)) {
        dsgd_encode(self, q, given, self->step < 9 ? &repeated : &everything);
        dsgd_combine(self, x, 1, 1, q);
    }
}

/**
 * Tests that, with feedback, the sum of ten sends is ten times the model for every encoding. Values
 * that one send leaves out must be sent later.
 */
TEST(feedback_loses_no_value)
{
    static const dsgd_algorithm repeating = {.about = {.name = "repeating"},
                                             .work = repeating_work};
    const support_outcome *want = NULL;
    for (const dsgd_entry *const *about = dsgd_encoding_kinds; *about != NULL; about++) {
        support_case *const c = support_of(&repeating, 2);
        const char *const option = (*about)->options != NULL ? "feedback" : NULL;
        repeated = support_picked(dsgd_encoding_kinds, (*about)->name, option, true);
        support_spread(c);
        c->config.exchange.pieces = 2;
        support_steps_each(c, 10);
        const support_outcome *const got = support_ok(c);
        /* the first encoding is `none`, which sends all values and gives the expected sum */
        want = want == NULL ? got : want;
        const double distance = support_distance(got->x, want->x, 2 * got->n_params);
        ck_assert_msg(distance < support_rounding(), "%s: off by %g", (*about)->name, distance);
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

/**
 * Tests that a debiased model does not change if the learning rate is 0, even while some of its
 * shares are in flight.
 */
TEST(osgp_scales_unsent_values_by_its_weight)
{
    support_case *const c = support_new("osgp", 8);
    c->learning.optimizer.lr = 0;
    encode_exchange(c, "top_k", "share", 0.1);
    const support_outcome *const got = support_ok(c);
    for (size_t i = 0; i < got->result.n_points; i++)
        ck_assert_double_eq_tol(got->points[i].at.loss, got->points[0].at.loss, 1e-12);
}

/**
 * The expected losses come from an emulation in which each share of the sum has its own scale. With
 * a single scale, the loss would be 38.6995.
 */
TEST(encoder_of_a_share_reads_only_that_share)
{
    static const double losses[] = {38.818275600273346, 38.6874702507265};
    support_case *const c = support_new("allreduce", 8);
    support_set(c->learning.data.about, c->learning.data.params, "features", 63);
    support_set(c->learning.data.about, c->learning.data.params, "points", 512);
    support_set(c->learning.data.about, c->learning.data.params, "noise", 0.5);
    SET(c, learning.batch = 2, learning.precision = DSGD_PRECISION_DOUBLE,
        learning.optimizer = (dsgd_optimizer){.lr = 0.004}, learning.evaluate.every = 1,
        config.seed = 3, config.exchange.pieces = 1, config.until = (dsgd_until){.steps = 1});
    encode_exchange(c, "sign", "reduce", DSGD_REDUCE_BIDIRECTIONAL);
    const support_outcome *const got = support_ok(c);
    for (size_t i = 0; i < 2; i++)
        ck_assert_double_eq_tol(got->points[i].at.loss, losses[i], 1e-12);
}

TEST(a_contradictory_encoding_is_rejected)
{
    dsgd_error error;
    /* the server of dsgd_aau has no model */
    support_case *const noticing = support_new("dsgd_aau", 4);
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

/**
 * Error feedback needs an encoding whose error is smaller than its input. Other encodings are
 * rejected.
 */
TEST(feedback_of_expanding_encodings_is_rejected)
{
    dsgd_error error;
    support_case *const c = support_new("allreduce", 4);
    encode_exchange(c, "random_k", "feedback", 1);
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
    dsgd_selection *const drawn = c->config.exchange.encoding.params;
    drawn->unbiased = true;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "grow without bound");
    drawn->common.feedback = false;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_OK);
    support_case *const rounded = support_new("allreduce", 4);
    encode_exchange(rounded, "qsgd", "levels", 1);
    ((dsgd_encoding_params *)rounded->config.exchange.encoding.params)->feedback = true;
    ck_assert_int_eq(dsgd_run_check(&rounded->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, "qsgd");
}

/**
 * Ok-Topk sends at most 6 k values of four bytes per worker, for any number of workers. The paper
 * promises this bound.
 */
TEST(ok_topk_sends_less_than_six_k)
{
    for (int p = 2; p <= 64; p *= 2) {
        support_case *const c = costly("ok_topk", p);
        support_option(c, "density", 0.01);
        const double k = 0.01 * bytes / 4, per_worker = support_ok(c)->result.bytes / 10 / p;
        ck_assert_double_le(per_worker, 6 * k * 4);
        ck_assert_double_eq_tol(per_worker, 4 * k * 4 * (p - 1) / p, 1e-6);
    }
}

TEST(time_does_not_depend_on_encoded_values)
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
