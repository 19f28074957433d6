/**
 * @file test_failing.c
 * Workers that fail and come back: what that costs, against closed forms; that all algorithms meet
 * the same failures and go on or end with a sentence; that a restart changes no value.
 */
#include "sim/result.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/** Fills the failures with their defaults, and events[n], if any. */
static dsgd_failures_config *fail_at(support_case *c, size_t n, dsgd_failure_event *events)
{
    dsgd_failures_config *const f = &c->config.failures;
    dsgd_options_default(dsgd_failures_options, f);
    f->events = (dsgd_records){n, events};
    return f;
}

/** Steps of a second each, without messages, that all restart. */
static support_case *seconds_alone(int workers, double steps)
{
    support_case *c = support_no_learning(support_of(&support_alone, workers));
    c->config.until = (dsgd_until){.steps = steps};
    return c;
}

static double all_causes_s(const dsgd_failing_times *t)
{
    return t->lost_s + t->detect_s + t->repair_s + t->restart_s + t->checkpoint_s;
}

SUITE(failing, "restart", .seconds = 120);

/** A failure half a step behind each tenth: T is what detection, repair, restart and half a step take. */
TEST(goodput_is_that_of_a_constant_cost)
{
    enum { N = 9 };
    static dsgd_failure_event events[N];
    support_case *c = seconds_alone(4, 100);
    dsgd_failures_config *f = fail_at(c, N, events);
    f->detect_s = 2;
    f->restart_s = 3;
    const double t_s = 5 + 3 + 0.5;
    for (int k = 1; k <= N; k++)
        events[k - 1] = (dsgd_failure_event){k % 4, 10 * k + 0.5 + (k - 1) * t_s, 5};
    const support_outcome *got = support_ok(c);
    const dsgd_failing_times *t = &got->result.failures;
    ck_assert_int_eq(t->n, N);
    ck_assert_double_eq_tol(t->goodput, 1 / (1 + N / 100.0 * t_s), 1e-9);
    ck_assert_double_eq_tol(got->result.virtual_s, 100 + N * t_s, 1e-6);
    ck_assert_double_eq_tol(t->detect_s, N * 2, 1e-6);
    ck_assert_double_eq_tol(t->repair_s, N * 3, 1e-6); /* from when it is known */
    ck_assert_double_eq_tol(t->restart_s, N * 3, 1e-6);
    ck_assert_double_eq_tol(t->lost_s, N * 0.5, 1e-6);
}

/** Blocking ones of 2 s every 10 steps, and one failure 7 s behind one; beside the steps, 3 s behind. */
TEST_RANGE(what_is_lost_is_since_the_last_whole_checkpoint, 0, 2)
{
    static dsgd_failure_event event = {1, 0, DSGD_REPAIR_AS_ALL};
    support_case *c = seconds_alone(2, 45);
    dsgd_failures_config *f = fail_at(c, 1, &event);
    const bool blocking = _i == 0;
    f->checkpoint =
        (dsgd_checkpoint){.every = 10, .bytes = 6e9, .bytes_per_s = 3e9, .blocking = blocking};
    f->detect_s = 1;
    event.at_s = blocking ? 2 * 12 + 7 : 21.5; /* the second is not whole */
    const support_outcome *got = support_ok(c);
    const dsgd_failing_times *t = &got->result.failures;
    ck_assert_double_eq_tol(t->lost_s, blocking ? 7 : 11.5, 1e-6);
    ck_assert_double_eq_tol(t->restart_s, 2, 1e-6); /* it is read */
    ck_assert_double_eq_tol(t->checkpoint_s, blocking ? 4 * 2 : 0, 1e-6);
    ck_assert_double_eq_tol(got->result.virtual_s, 45 + 1 + all_causes_s(t) - 1, 1e-6);
}

/**
 * By Daly's model of Poisson failures, M e^(R/M) (e^((tau + C)/M) - 1) for tau, and his interval is the
 * best of them: of an eighth to eight times as long.
 */
TEST(the_interval_of_young_and_daly_is_the_best)
{
    const double c_s = 2, r_s = 10, m_s = 100;
    double best = 0, at_rule[2] = {0, 0};
    for (int i = -4; i <= 5; i++) { /* 4: Daly's, 5: Young's */
        const long rule = i == 4 ? DSGD_EVERY_DALY : DSGD_EVERY_YOUNG;
        const double tau_s =
            i < 4 ? round(dsgd_checkpoint_interval_s(DSGD_EVERY_DALY, c_s, m_s) * exp2(i))
                  : ceil(dsgd_checkpoint_interval_s(rule, c_s, m_s));
        support_case *c = seconds_alone(2, 200000);
        dsgd_failures_config *f = fail_at(c, 0, NULL);
        f->mtbf_s = 2 * m_s;
        f->detect_s = 0;
        f->restart_s = r_s - c_s;
        f->checkpoint.seconds = c_s;
        f->checkpoint.every = i < 4 ? DSGD_EVERY_DALY : rule;
        f->checkpoint.interval_s = i < 4 ? tau_s : 0;
        const double goodput = support_ok(c)->result.failures.goodput;
        const double want = tau_s / (m_s * exp(r_s / m_s) * expm1((tau_s + c_s) / m_s));
        ck_assert_double_eq_tol(goodput / want, 1, 0.02); /* some 3,000 failures: 1 % */
        best = fmax(best, goodput);
        if (i >= 4)
            at_rule[i - 4] = goodput;
    }
    ck_assert_double_ge(at_rule[0], 0.97 * best);
    ck_assert_double_ge(at_rule[1], 0.97 * best);
}

TEST(seconds_end_a_run_whatever_happens_then)
{
    for (double end_s = 1; end_s < 60; end_s += 0.75) {
        support_case *c = seconds_alone(3, 0);
        static dsgd_failure_event events[] = {{0, 12.25, 9}, {1, 30, 4}};
        dsgd_failures_config *f = fail_at(c, 2, events);
        f->restart_s = 2;
        f->checkpoint.every = 5;
        f->checkpoint.seconds = 1;
        c->config.until = (dsgd_until){.seconds = end_s};
        const support_outcome *got = support_ok(c);
        const dsgd_failing_times *t = &got->result.failures;
        ck_assert_double_eq_tol(got->result.virtual_s, end_s, 1e-9);
        ck_assert_double_eq_tol(t->goodput, 1 - all_causes_s(t) / end_s, 1e-12);
        ck_assert_double_le(got->result.steps, end_s * t->goodput + 1e-9);
        ck_assert_double_gt(got->result.steps, end_s * t->goodput - 1 - 1e-9);
    }
}

TEST(who_cannot_go_on_says_why)
{
    support_case *c = seconds_alone(4, 100);
    static dsgd_failure_event event = {2, 30, DSGD_REPAIR_NEVER};
    dsgd_failures_config *f = fail_at(c, 1, &event);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(
        got->result.why.text,
        "alone restarts all workers after a failure, but at 40 s worker 2 is never repaired");
    f = fail_at(c, 0, NULL);
    f->mtbf_s = 4;
    f->restart_s = 60;
    got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "100,000 failures have come without a step between");
    c = support_new("allreduce", 4);
    fail_at(c, 1, &event)->policy = DSGD_POLICY_NONE;
    event.at_s = 3;
    got = support_simulate(c);
    ck_assert_has(got->result.why.text, "; by policy: none allreduce does nothing about it");
}

CASE("going on", .seconds = 60);

/** It fails in its fifth step, is away for 20 s, and copies 1 GB over a link of 10 GB/s. */
TEST_RANGE(who_comes_back_copies_a_live_model_over_its_link, 0, 3)
{
    support_case *c = support_no_learning(support_new("ad_psgd", 2));
    static dsgd_failure_event event = {1, 4.5, 20};
    dsgd_failures_config *f = fail_at(c, 1, &event);
    support_option(c, "averagings", 0);
    f->restart_s = 3;
    c->workload.bytes = 1e9;
    c->config.network = _i == 0 ? DSGD_NETWORK_NICS : DSGD_NETWORK_FLOWS;
    c->config.exchange.every_message = _i == 1;
    c->config.until = (dsgd_until){.seconds = 60.25};
    const support_outcome *got = support_ok(c);
    const dsgd_failing_times *t = &got->result.failures;
    const double copy_s = 1e9 / 10e9 + 2 * 1e-6; /* and the empty question */
    ck_assert_double_eq_tol(t->lost_s, 0.5 / 2, 1e-9);
    ck_assert_double_eq_tol(t->repair_s, 20.0 / 2, 1e-9);
    ck_assert_double_eq_tol(t->restart_s, (3 + copy_s) / 2, 1e-6);
    ck_assert_double_eq(got->result.steps, (60 + 4 + floor(60.25 - 27.5 - copy_s)) / 2);
}

/** With up-times of mean M and repairs of T a worker is there for M / (M + T) of the time. */
TEST(availability_is_that_of_a_renewal_process)
{
    support_case *c = support_no_learning(support_new("ad_psgd", 16));
    dsgd_failures_config *f = fail_at(c, 0, NULL);
    support_option(c, "averagings", 0);
    f->mtbf_s = 60;
    f->shape = 1.5;
    f->repair_s = 15;
    f->repair_varies = true;
    c->config.until = (dsgd_until){.seconds = 20000};
    const dsgd_failing_times t = support_ok(c)->result.failures;
    ck_assert_double_eq_tol(t.repair_s / 20000, 15.0 / 75, 0.01);
    ck_assert_double_eq_tol(t.n, 16 * 20000 / 75.0, 0.03 * 16 * 20000 / 75.0);
    ck_assert_double_eq_tol(t.lost_s, 0.5 * (double)t.n / 16, 0.05 * (double)t.n / 16);
}

/** All who ask worker 0, which is gone from 5 s on, give up at 15 s, and then at once. */
TEST_RANGE(nobody_waits_for_the_dead_beyond_the_deadline, 0, 3)
{
    static const int variants[] = {0, 2, 3}; /* paper, shared_copy, pull */
    support_case *c = support_no_learning(support_new("ad_psgd", 4));
    static dsgd_failure_event event = {0, 5, DSGD_REPAIR_NEVER};
    fail_at(c, 1, &event);
    support_option(c, "variant", variants[_i]);
    if (variants[_i] == 2)
        support_option(c, "averagings", 1);
    c->config.until = (dsgd_until){.seconds = 200};
    const support_outcome *got = support_ok(c);
    ck_assert_double_ge(got->result.steps, (3 * (200 - 10) + 5) / 4.0 * 0.99);
    ck_assert_double_le(got->result.steps, (3 * 200 + 5) / 4.0);
}

CASE("all algorithms", .seconds = 240);

enum { LAWS = 3, SEEDS = 2 };

/** Exponential with fixed repairs; many soon after a repair, of half of them a node; listed. */
static void apply_law(support_case *c, int law)
{
    static dsgd_failure_event events[] = {{3, 2.5, 4}, {4, 2.75, 1}, {15, 6, DSGD_REPAIR_AS_ALL}};
    dsgd_failures_config *f = fail_at(c, law == 2 ? 3 : 0, events);
    f->detect_s = 0.5;
    f->restart_s = 0.25;
    f->checkpoint.seconds = 0.125;
    f->repair_s = 1;
    f->mtbf_s = law == 0 ? 120 : law == 1 ? 300 : 0;
    f->shape = law == 1 ? 0.7 : 1;
    f->repair_varies = law == 1;
    if (law == 2)
        f->checkpoint.every = 4;
}

/** Not by chance, nor by an order of threads; and, where all restart, the values of no failure. */
TEST_RANGE(every_algorithm_goes_on, 0, support_n_algorithms() * LAWS * SEEDS)
{
    support_case *c = support_new(dsgd_algorithms[_i / LAWS / SEEDS]->name, 16);
    c->config.until.steps = 12;
    c->config.seed = 1 + (uint64_t)(_i % SEEDS);
    const support_outcome *whole = support_ok(c);
    apply_law(c, _i / SEEDS % LAWS);
    const support_outcome *got = support_ok(c);
    c->config.threads = 4;
    const support_outcome *again = support_ok(c);
    const dsgd_failing_times *t = &got->result.failures;
    ck_assert(memcmp(t, &again->result.failures, sizeof *t) == 0);
    ck_assert_mem_eq(got->x, again->x, 16 * got->n_params * sizeof *got->x);
    ck_assert_double_eq(got->result.virtual_s, again->result.virtual_s);
    ck_assert_double_eq(got->result.steps, whole->result.steps);
    ck_assert_double_eq_tol(t->goodput, 1 - all_causes_s(t) / got->result.virtual_s, 1e-9);
    if (dsgd_goes_on(&c->config))
        return;
    ck_assert_mem_eq(got->x, whole->x, 16 * got->n_params * sizeof *got->x);
    ck_assert_double_eq_tol(got->result.virtual_s, whole->result.virtual_s + all_causes_s(t), 1e-9);
    ck_assert_int_eq(t->n > 0, got->result.virtual_s > whole->result.virtual_s + t->checkpoint_s);
}

TEST(all_algorithms_meet_the_same_failures)
{
    long n[2];
    for (int i = 0; i < 2; i++) {
        support_case *c = support_no_learning(support_new(i == 0 ? "allreduce" : "ad_psgd", 16));
        apply_law(c, 0);
        c->config.until = (dsgd_until){.seconds = 300};
        n[i] = support_ok(c)->result.failures.n;
    }
    ck_assert_int_gt(n[0], 20);
    ck_assert_int_eq(n[0], n[1]);
}
