/**
 * @file test_conformance.c
 * What algorithms declare of themselves (their laws, what they send), and that none hangs. Looped
 * over the registry, so that an algorithm is tested by existing. The device is that of the
 * environment (support.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suites.h"
#include "tests/support/support.h"

static void expect_near(const double *got, const double *want, size_t n, const char *who)
{
    const double distance = support_distance(got, want, n);
    ck_assert_msg(distance <= support_rounding(), "%s is off by %g", who, distance);
}

/** A case under the i-th law of a kind. */
static support_case *under_law(dsgd_law_kind kind, int i, int workers)
{
    const dsgd_algorithm *algorithm = NULL;
    const dsgd_law *const law = support_nth_law(kind, i, &algorithm);
    support_case *c = support_new(algorithm->about.name, workers);
    support_law(c, law);
    return c;
}

/* --- declared identities ---------------------------------------------------------------------- */

START_TEST(one_worker_is_plain_sgd) /* _i: the law */
{
    support_case *c = under_law(DSGD_LAW_PLAIN_SGD, _i, 1);
    c->learning.optimizer.weight_decay = 0.01;
    if (support_has(c, "micro_batches"))
        c->learning.batch = 12;
    double *const want = support_plain_sgd(c, 20);
    const support_outcome *got = support_ok(c);
    expect_near(got->x, want, got->n_params, c->config.algorithm->about.name);
}
END_TEST

START_TEST(is_allreduce_to_rounding)
{
    for (int p = 2; p <= (SUPPORT_SLOW ? 4 : 16); p *= 2) {
        support_case *c = under_law(DSGD_LAW_ALLREDUCE, _i, p);
        c->learning.optimizer.weight_decay = 0.01;
        c->config.steps_each = 12;
        support_case *baseline = support_new("allreduce", p);
        baseline->learning.optimizer.weight_decay = 0.01;
        baseline->config.steps_each = 12;
        const support_outcome *got = support_ok(c);
        const support_outcome *want = support_ok(baseline);
        expect_near(got->x, want->x, (size_t)p * got->n_params, c->config.algorithm->about.name);
    }
}
END_TEST

/* --- declared conservation -------------------------------------------------------------------- */

/** Nobody is in step with anybody, and messages take longer than some steps. */
static void disturb(support_case *c)
{
    c->workload.bytes = 4e9;
    c->platform.message_overhead_s = 1e-3;
    support_imbalance_number(c, "ramp", "seconds", 0.07);
    support_imbalance_number(c, "delay", "seconds", 0.9);
    c->config.exchange.pieces = 3;
}

static void expect_kept_mean(support_case *c)
{
    c->learning.optimizer.lr = 0;
    support_spread(c);
    c->config.steps_each = 15;
    disturb(c);
    const support_outcome *got = support_ok(c);
    expect_near(got->final_mean, got->initial_mean, got->n_params, c->config.algorithm->about.name);
}

START_TEST(keeps_the_mean)
{
    for (int p = 4; p <= (SUPPORT_SLOW ? 4 : 16); p *= 2)
        expect_kept_mean(under_law(DSGD_LAW_KEEPS_MEAN, _i, p));
}
END_TEST

START_TEST(keeps_the_sum_with_the_servers)
{
    for (int p = 1; p <= 9; p += 4)
        expect_kept_mean(under_law(DSGD_LAW_KEEPS_SUM, _i, p));
}
END_TEST

START_TEST(keeps_push_sum_weights_at_any_instant)
{
    for (double end_s = 3.3; end_s < (SUPPORT_SLOW ? 7 : 20); end_s += 3.1) {
        support_case *c = under_law(DSGD_LAW_KEEPS_WEIGHT, _i, 8);
        c->config.until = (dsgd_until){.seconds = end_s};
        disturb(c);
        ck_assert_double_eq_tol(support_ok(c)->weight, 8, 8e-12);
    }
}
END_TEST

START_TEST(zero_learning_rate_keeps_consensus)
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
    c->learning.optimizer.lr = 0;
    disturb(c);
    const support_outcome *got = support_ok(c);
    for (size_t w = 1; w < 8; w++)
        expect_near(got->x + w * got->n_params, got->x, got->n_params, dsgd_algorithms[_i]->name);
    ck_assert_double_lt(got->points[got->result.n_points - 1].at.consensus, support_rounding());
}
END_TEST

/* --- what is sent ----------------------------------------------------------------------------- */

enum { FEW_STEPS = 24, MORE_STEPS = SUPPORT_SLOW ? 48 : 144 };

static support_outcome *count_traffic(support_case *c, long steps)
{
    c->config.steps_each = steps;
    c->config.until = (dsgd_until){0};
    return support_ok(c);
}

/** Between two lengths, so that what happens once at the beginning does not count. */
static void expect_traffic(support_case *c)
{
    const dsgd_algorithm *const a = c->config.algorithm;
    const int p = c->config.workers;
    ck_assert_msg(a->traffic != NULL, "%s does not say what it sends", a->about.name);
    support_no_learning(c);
    c->config.exchange.pieces = 3;
    support_imbalance_number(c, "ramp", "seconds", 0.05); /* one worker comes first */
    if (support_has(c, "period"))
        support_option(c, "period", 4);
    if (support_has(c, "calibration"))
        support_option(c, "calibration", 4);
    if (dsgd_run_check(&c->config, NULL) != DSGD_OK)
        return;
    const int n_servers = a->n_servers == NULL ? 0 : a->n_servers(c->config.params, p);
    const size_t n_pieces = n_servers > 1 ? 3 * (size_t)n_servers : 3;
    double piece_bytes[16];
    for (size_t k = 0; k < n_pieces; k++)
        piece_bytes[k] = c->workload.bytes / (double)n_pieces;
    const dsgd_scale scale = {p, n_servers, n_pieces, piece_bytes, c->config.collective};
    const dsgd_traffic want = a->traffic(c->config.params, &scale);
    if (isnan(want.messages)) /* depends on time; test_pair.c counts an endless loop's */
        return;
    const support_outcome *few = count_traffic(c, FEW_STEPS);
    const support_outcome *more = count_traffic(c, MORE_STEPS);
    const double steps = (double)p * (MORE_STEPS - FEW_STEPS);
    const double messages = (double)(more->result.messages - few->result.messages) / steps;
    const double bytes = (more->result.bytes - few->result.bytes) / steps;
    ck_assert_msg(fabs(messages - want.messages) <= 1e-9 * want.messages,
                  "%s with %d workers: %g messages per worker and step, but %g declared",
                  a->about.name, p, messages, want.messages);
    ck_assert_msg(fabs(bytes - want.bytes) <= 1e-9 * want.bytes,
                  "%s with %d workers: %g bytes per worker and step, but %g declared",
                  a->about.name, p, bytes, want.bytes);
}

static const struct {
    const char *algorithm, *option;
    double value;
} sent[] = {
    {"eager_solo", "limiter", 3}, {"eager_majority", "limiter", 1},
    {"wagma", "group", 4},        {"d_psgd", "rounds", 3},
    {"ad_psgd", "variant", 3},    {"ad_psgd", "averagings", 2},
    {"a_psgd", "servers", 3},     {"easgd", "servers", 2},
    {"dasgd", "tau", 3},          {"drop_compute", "threshold", 0.4},
};

START_TEST(sends_what_it_declares_under_options)
{
    support_case *c = support_new(sent[_i].algorithm, 8);
    support_option(c, sent[_i].option, sent[_i].value);
    expect_traffic(c);
}
END_TEST

/** WAGMA's AD-PSGD. */
START_TEST(a_loop_sends_what_it_declares_where_it_is_bounded)
{
    support_case *c = support_new("ad_psgd", 8);
    support_option(c, "variant", 2);
    support_option(c, "averagings", 3);
    expect_traffic(c);
}
END_TEST

START_TEST(sends_what_it_declares)
{
    static const int counts[] = {3, 8, 1, 2, 7, 16};
    const char *const name = dsgd_algorithms[_i]->name;
    for (size_t i = 0; i < (SUPPORT_SLOW ? 2 : sizeof counts / sizeof counts[0]); i++)
        expect_traffic(support_new(name, counts[i]));
    if (SUPPORT_SLOW)
        return;
    support_case *c = support_new(name, 8);
    c->config.exchange.blocking = false;
    expect_traffic(c);
    for (int how = DSGD_COLLECTIVE_RECURSIVE_DOUBLING; how <= DSGD_COLLECTIVE_RING; how++) {
        c = support_new(name, 7);
        c->config.collective = how;
        expect_traffic(c);
    }
}
END_TEST

/* --- every choice ----------------------------------------------------------------------------- */

/**
 * A case with the i-th value of an option: of a word, of yes and no, of a graph. NULL where there
 * are no more.
 */
static support_case *with_choice(int algorithm, const dsgd_option *o, size_t i, int workers)
{
    support_case *c = support_new(dsgd_algorithms[algorithm]->name, workers);
    if ((o->kind == DSGD_CHOICE && o->words[i] != NULL) || (o->kind == DSGD_BOOL && i < 2)) {
        support_option(c, o->name, (double)i);
        return c;
    }
    if (o->kind == DSGD_PICK && o->registry == dsgd_graph_kinds &&
        strcmp(o->registry[i]->name, "edges") != 0) { /* the last, which has no default */
        support_pick(c, o->name, o->registry[i]->name);
        return c;
    }
    return NULL;
}

static void expect_repeatable(const support_case *c)
{
    const support_outcome *one = support_ok(c);
    const support_outcome *other = support_ok(c);
    ck_assert_double_eq(one->result.virtual_s, other->result.virtual_s);
    ck_assert_mem_eq(one->x, other->x,
                     (size_t)c->config.workers * one->n_params * sizeof one->x[0]);
    ck_assert_double_lt(one->points[one->result.n_points - 1].at.loss, one->points[0].at.loss);
}

START_TEST(every_choice_ends_and_sends_what_is_declared)
{
    const dsgd_option *o = dsgd_algorithms[_i]->options;
    for (; o != NULL && o->name != NULL; o++) {
        for (size_t i = 0; with_choice(_i, o, i, 8) != NULL; i++) {
            for (int p = 7; p <= 8 && !SUPPORT_SLOW; p++)
                expect_traffic(with_choice(_i, o, i, p));
            support_case *c = with_choice(_i, o, i, 8);
            if (o->kind == DSGD_PICK && dsgd_run_check(&c->config, NULL) != DSGD_OK)
                continue; /* AD-PSGD's graphs are bipartite */
            disturb(c);
            c->learning.optimizer = (dsgd_optimizer){.lr = 0.01};
            c->config.until.steps = SUPPORT_SLOW ? 20 : 60;
            expect_repeatable(c);
            if (SUPPORT_SLOW)
                continue;
            c->config.exchange.blocking = false;
            expect_repeatable(c);
        }
    }
}
END_TEST

/* --- no deadlock ------------------------------------------------------------------------------ */

START_TEST(a_worker_may_be_a_hundred_times_slower)
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
    support_imbalance_number(c, "slow", "factor", 100);
    disturb(c);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, 20);
}
END_TEST

/** Delays between none and many steps, at random, under every way of exchanging. */
START_TEST(no_deadlock_under_random_delays)
{
    for (uint64_t seed = 1; seed <= (SUPPORT_SLOW ? 2 : 6); seed++) {
        support_case *c = support_new(dsgd_algorithms[_i]->name, seed % 2 == 0 ? 16 : 8);
        support_no_learning(c);
        support_set(dsgd_about_find(dsgd_imbalance_kinds, "delay"), support_imbalance(c, "delay"),
                    "seconds", 3.7);
        dsgd_table *const table = support_imbalance(c, "quantiles"); /* its first option */
        static double percent[] = {0, 50, 95, 100};
        static double seconds[] = {0, 0.2, 2, 9};
        *table = (dsgd_table){4, percent, seconds};
        c->config.seed = seed;
        c->workload.bytes = seed < 4 ? 1e9 : 1e3;
        c->config.exchange.pieces = (long)seed;
        c->config.exchange.blocking = seed % 3 != 0;
        c->config.exchange.overlap = seed % 4 != 0;
        c->config.until.steps = SUPPORT_SLOW ? 20 : 60;
        ck_assert_double_eq(support_ok(c)->result.steps, c->config.until.steps);
    }
}
END_TEST

START_TEST(a_worker_that_stops_ends_the_run_or_starves_it)
{
    for (int worker = 0; worker < 2; worker++) {
        support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
        dsgd_stop stop = {worker, 6.5};
        c->config.stops = (dsgd_records){1, &stop};
        c->config.until.steps = SUPPORT_SLOW ? 60 : 200;
        disturb(c);
        const support_outcome *got = support_simulate(c);
        ck_assert_int_eq(got->status, DSGD_OK);
        if (got->result.outcome == DSGD_RUN_FAILED) {
            char text[40];
            snprintf(text, sizeof text, "worker %d had stopped", worker);
            ck_assert_ptr_ne(strstr(got->result.why.text, text), NULL);
        } else {
            ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
            ck_assert_double_eq(got->result.steps, c->config.until.steps);
        }
    }
}
END_TEST

START_TEST(only_a_worker_can_be_made_to_stop)
{
    support_case *c = support_new("allreduce", 4);
    dsgd_stop stop = {4, 1};
    c->config.stops = (dsgd_records){1, &stop};
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_ptr_ne(strstr(got->error.text, "they are 0 to 3"), NULL);
}
END_TEST

/** One step each, until the second begins at the very instant of the stop. */
START_TEST(a_worker_stops_at_its_instant_and_the_others_go_on)
{
    support_case *c = support_new(NULL, 4);
    support_algorithm(c, &support_alone);
    dsgd_stop stop = {2, 3};
    c->config.stops = (dsgd_records){1, &stop};
    c->config.until = (dsgd_until){.seconds = 10.5};
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, (3 * 10 + 3) / 4.0);
}
END_TEST

START_TEST(all_workers_may_stop)
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 4);
    dsgd_stop stops[4];
    for (int w = 0; w < 4; w++)
        stops[w] = (dsgd_stop){w, 3};
    c->config.stops = (dsgd_records){4, stops};
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
}
END_TEST

/**
 * Asynchronous algorithms whose peers do not need each other continue without the one that stopped.
 */
START_TEST(servers_outlive_a_worker)
{
    static const char *const names[] = {"a_psgd", "easgd", "eamsgd"};
    support_case *c = support_new(names[_i], 4);
    dsgd_stop stop = {2, 5};
    c->config.stops = (dsgd_records){1, &stop};
    c->config.until.steps = 30;
    const support_outcome *got = support_ok(c);
    ck_assert_double_gt(got->result.virtual_s, 30);
}
END_TEST

/* --- ways of exchanging change time, not values ----------------------------------------------- */

/**
 * With nobody late, cutting and overlapping change no value that does not depend on the order of
 * arrival.
 */
START_TEST(values_do_not_depend_on_how_vectors_are_cut)
{
    static const char *const names[] = {"allreduce", "local_sgd", "d_psgd", "sgp",
                                        "osgp",      "slowmo",    "dasgd",  "diloco"};
    const support_outcome *whole = NULL;
    for (int way = 0; way < 4; way++) {
        support_case *c = support_new(names[_i], 8);
        c->config.steps_each = 12;
        c->config.exchange.pieces = way == 0 ? 1 : 5;
        c->config.exchange.overlap = way != 2;
        c->config.exchange.blocking = way != 3;
        const support_outcome *got = support_ok(c);
        whole = way == 0 ? got : whole;
        expect_near(got->x, whole->x, 8 * got->n_params, names[_i]);
    }
}
END_TEST

Suite *conformance_suite(void)
{
    Suite *s = suite_create("conformance");
    TCase *t = tcase_create("declared");
    const int n = support_n_algorithms();
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, one_worker_is_plain_sgd, 0, support_n_laws(DSGD_LAW_PLAIN_SGD));
    tcase_add_loop_test(t, is_allreduce_to_rounding, 0, support_n_laws(DSGD_LAW_ALLREDUCE));
    tcase_add_loop_test(t, keeps_the_mean, 0, support_n_laws(DSGD_LAW_KEEPS_MEAN));
    tcase_add_loop_test(t, keeps_the_sum_with_the_servers, 0, support_n_laws(DSGD_LAW_KEEPS_SUM));
    tcase_add_loop_test(t, keeps_push_sum_weights_at_any_instant, 0,
                        support_n_laws(DSGD_LAW_KEEPS_WEIGHT));
    tcase_add_loop_test(t, zero_learning_rate_keeps_consensus, 0, n);
    tcase_add_loop_test(t, sends_what_it_declares, 0, n);
    tcase_add_loop_test(t, sends_what_it_declares_under_options, 0, sizeof sent / sizeof sent[0]);
    tcase_add_test(t, a_loop_sends_what_it_declares_where_it_is_bounded);
    tcase_add_loop_test(t, every_choice_ends_and_sends_what_is_declared, 0, n);
    suite_add_tcase(s, t);
    t = tcase_create("robust");
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, a_worker_may_be_a_hundred_times_slower, 0, n);
    tcase_add_loop_test(t, no_deadlock_under_random_delays, 0, n);
    tcase_add_loop_test(t, a_worker_that_stops_ends_the_run_or_starves_it, 0, n);
    tcase_add_test(t, only_a_worker_can_be_made_to_stop);
    tcase_add_test(t, a_worker_stops_at_its_instant_and_the_others_go_on);
    tcase_add_loop_test(t, all_workers_may_stop, 0, n);
    tcase_add_loop_test(t, servers_outlive_a_worker, 0, 3);
    tcase_add_loop_test(t, values_do_not_depend_on_how_vectors_are_cut, 0, 8);
    suite_add_tcase(s, t);
    return s;
}
