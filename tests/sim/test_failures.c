/**
 * @file test_failures.c
 * Tests workers that fail and rejoin. The tests compare the costs of failures with closed forms.
 * They check that all algorithms have the same failures, and that each algorithm continues or ends
 * with an error message. They also check that a restart changes no value.
 */
#include "base/file.h"
#include "sim/result.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/** Sets the options of failures to their defaults, and adds the @p n failures in @p events. */
static dsgd_failures_config *fail_at(support_case *c, size_t n, dsgd_failure_event *events)
{
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    c->config.failures.events = (dsgd_structs){n, events};
    return &c->config.failures;
}

/**
 * Makes a run with steps of one second and without messages. All workers restart after a failure.
 */
static support_case *seconds_alone(int workers, dsgd_until until)
{
    support_case *c = support_no_learning(support_of(&support_alone, workers));
    c->config.until = until;
    return c;
}

/** Makes a run of AD-PSGD without learning, with @p averagings averagings per gradient. */
static support_case *pairs(int workers, double seconds, double averagings)
{
    support_case *c = support_no_learning(support_new("ad_psgd", workers));
    support_option(c, "averagings", averagings);
    c->config.until = (dsgd_until){.seconds = seconds};
    return c;
}

static double all_causes_s(const dsgd_failure_times *t)
{
    return t->lost_s + t->detect_s + t->repair_s + t->restart_s + t->checkpoint_s;
}

SUITE(failures_in_runs, "restart", .seconds = 120);

/**
 * A failure happens half a step after every tenth step. The cost t_s of a failure consists of
 * detection, repair, restart and half a step.
 */
TEST(goodput_equals_the_closed_form_of_constant_cost)
{
    enum { N = 9 };
    static dsgd_failure_event events[N];
    support_case *c = seconds_alone(4, (dsgd_until){.steps = 100});
    dsgd_failures_config *f = fail_at(c, N, events);
    SET(f, detect_s = 2, restart_s = 3);
    const double t_s = 5 + 3 + 0.5;
    for (int k = 1; k <= N; k++)
        events[k - 1] = (dsgd_failure_event){k % 4, 10 * k + 0.5 + (k - 1) * t_s, 5};
    const dsgd_failure_times t = support_ok(c)->result.failures;
    ck_assert_int_eq(t.n, N);
    ck_assert_double_eq_tol(t.goodput, 1 / (1 + N / 100.0 * t_s), 1e-9);
    ck_assert_double_eq_tol(t.detect_s, N * 2, 1e-6);
    /* repair time, which does not include the time of detection */
    ck_assert_double_eq_tol(t.repair_s, N * 3, 1e-6);
    ck_assert_double_eq_tol(t.restart_s, N * 3, 1e-6);
    ck_assert_double_eq_tol(t.lost_s, N * 0.5, 1e-6);
}

/**
 * If _i is 0, blocking checkpoints of 2 s happen every 10 steps, and a failure happens 7 s after a
 * checkpoint. If _i is 1, checkpoints are written during the steps, and the failure happens 1.5 s
 * after the start of a checkpoint.
 */
TEST_RANGE(a_failure_loses_the_time_since_the_last_complete_checkpoint, 0, 2)
{
    const bool blocking = _i == 0;
    static dsgd_failure_event event = {1, 0, DSGD_REPAIR_AS_ALL};
    support_case *c = seconds_alone(2, (dsgd_until){.steps = 45});
    fail_at(c, 1, &event)->checkpoint = (dsgd_checkpoint){10, 0, 0, 6e9, 3e9, blocking};
    /* at 21.5 s, the second checkpoint is not yet complete */
    event.at_s = blocking ? 2 * 12 + 7 : 21.5;
    const dsgd_failure_times t = support_ok(c)->result.failures;
    ck_assert_double_eq_tol(t.lost_s, blocking ? 7 : 11.5, 1e-6);
    /* after the restart, the workers read the checkpoint in 2 s */
    ck_assert_double_eq_tol(t.restart_s, 2, 1e-6);
    ck_assert_double_eq_tol(t.checkpoint_s, blocking ? 4 * 2 : 0, 1e-6);
}

/**
 * A failure at 100.5 s is announced 10 s earlier. A checkpoint of 2 s follows the step that ends at
 * 91 s, and the failure loses the 7.5 steps after this checkpoint. If the failure is announced only
 * 1 s earlier, there is no time for a checkpoint.
 */
TEST_RANGE(a_notice_triggers_a_checkpoint, 0, 4)
{
    const bool blocking = _i % 2 == 0, in_time = _i < 2;
    static dsgd_failure_event event = {1, 100.5, 3};
    support_case *c = seconds_alone(2, (dsgd_until){.steps = 120});
    dsgd_failures_config *f = fail_at(c, 1, &event);
    f->checkpoint = (dsgd_checkpoint){DSGD_EVERY_NEVER, 0, 2, 0, 0, blocking};
    f->notice_s = in_time ? 10 : 1;
    const dsgd_failure_times t = support_ok(c)->result.failures;
    ck_assert_double_eq_tol(t.detect_s, 0, 1e-9);
    ck_assert_double_eq_tol(t.repair_s, 3, 1e-6);
    ck_assert_double_eq_tol(t.lost_s, !in_time ? 100.5 : blocking ? 7.5 : 9.5, 1e-6);
    ck_assert_double_eq_tol(t.checkpoint_s, in_time && blocking ? 2 : 0, 1e-6);
    ck_assert_double_eq_tol(t.goodput, 120 / (120 + all_causes_s(&t)), 1e-9);
}

/**
 * Each GPU of a worker with several GPUs has its part of the state. Checkpoints write all parts,
 * and restarts read all parts.
 */
TEST(a_checkpoint_is_written_by_all_gpus_of_a_worker)
{
    /* the failure happens after the only checkpoint */
    static dsgd_failure_event event = {1, 14.5, 1};
    double checkpoint_s[2], restart_s[2];
    for (int k = 0; k < 2; k++) {
        support_case *c = seconds_alone(2, (dsgd_until){.steps = 15});
        SET(c, workload.transformer.parameters = 1, workload.transformer.gpus = k == 0 ? 1 : 4);
        fail_at(c, 1, &event)->checkpoint = (dsgd_checkpoint){10, 0, 0, 0, 1e6, true};
        const support_outcome *const got = support_ok(c);
        checkpoint_s[k] = got->result.failures.checkpoint_s;
        restart_s[k] = got->result.failures.restart_s;
    }
    ck_assert_double_gt(checkpoint_s[0], 0);
    ck_assert_double_eq_tol(checkpoint_s[1], 4 * checkpoint_s[0], 1e-9);
    ck_assert_double_eq_tol(restart_s[1], 4 * restart_s[0], 1e-9);
}

/**
 * In Daly's model of Poisson failures, a checkpoint interval tau takes M e^(R/M) (e^((tau + C)/M) -
 * 1) on average. The test compares the intervals of Daly's and Young's rules with eight intervals
 * from 1/16 to 8 times Daly's interval. The two rules must be at least as good as these eight
 * intervals.
 */
TEST(young_and_daly_intervals_minimise_the_loss)
{
    const double c_s = 2, r_s = 10, m_s = 100;
    /* goodput for eight multiples of Daly's interval, then for the two rules */
    double goodput[10], best = 0;
    for (int i = 0; i < 10; i++) {
        const long rule = i == 9 ? DSGD_EVERY_YOUNG : DSGD_EVERY_DALY;
        const double rule_s = dsgd_checkpoint_interval_s(rule, c_s, m_s);
        /* the interval is rounded up to whole steps */
        const double tau_s = ceil(i < 8 ? rule_s * exp2(i - 4) : rule_s);
        support_case *c = seconds_alone(2, (dsgd_until){.steps = 200000});
        dsgd_failures_config *f = fail_at(c, 0, NULL);
        SET(f, mtbf_s = 2 * m_s, detect_s = 0, restart_s = r_s - c_s, checkpoint.seconds = c_s,
            checkpoint.every = rule, checkpoint.interval_s = i < 8 ? tau_s : 0);
        goodput[i] = support_ok(c)->result.failures.goodput;
        const double want = tau_s / (m_s * exp(r_s / m_s) * expm1((tau_s + c_s) / m_s));
        /* A run has about 3,000 failures, so the standard error is 1 to 2 %. */
        ck_assert_double_eq_tol(goodput[i] / want, 1, 0.02);
        best = fmax(best, goodput[i]);
    }
    ck_assert_double_ge(fmin(goodput[8], goodput[9]), 0.97 * best);
}

TEST(seconds_end_a_run_also_during_a_restart)
{
    for (double end_s = 1; end_s < 60; end_s += 0.75) {
        support_case *c = seconds_alone(3, (dsgd_until){.seconds = end_s});
        static dsgd_failure_event events[] = {{0, 12.25, 9}, {1, 30, 4}};
        dsgd_failures_config *f = fail_at(c, 2, events);
        SET(f, restart_s = 2, checkpoint.every = 5, checkpoint.seconds = 1);
        const support_outcome *got = support_ok(c);
        const dsgd_failure_times *t = &got->result.failures;
        ck_assert_double_eq_tol(got->result.virtual_s, end_s, 1e-9);
        ck_assert_double_eq_tol(t->goodput, 1 - all_causes_s(t) / end_s, 1e-12);
        ck_assert_double_eq_tol(got->result.steps, end_s * t->goodput - 0.5, 0.5 + 1e-9);
    }
}

TEST(a_run_that_cannot_continue_reports_why)
{
    static dsgd_failure_event event = {2, 3, DSGD_REPAIR_NEVER};
    support_case *c = support_new("allreduce", 4);
    fail_at(c, 1, &event);
    ck_assert_has(support_simulate(c)->result.why.text,
                  "allreduce restarts all workers after a failure, but at 13 s worker 2 is never");
    c->config.failures.policy = DSGD_POLICY_NONE;
    ck_assert_has(support_simulate(c)->result.why.text,
                  "; policy: none does not recover from failures");
    dsgd_failures_config *f = fail_at(c, 0, NULL);
    SET(f, mtbf_s = 4, restart_s = 60);
    ck_assert_has(support_simulate(c)->result.why.text,
                  "100,000 failures have happened without a step between them");
    /* the workers of this algorithm continue after a failure */
    support_case *const other = support_new("easgd", 4);
    fail_at(other, 0, NULL)->mtbf_s = 1e-12;
    ck_assert_has(support_simulate(other)->result.why.text,
                  "easgd continues after a failure, but at ");
}

/** A worker that is never repaired delays all others until the end of the run. */
TEST(a_failure_without_repair_counts_once)
{
    static dsgd_failure_event event = {2, 3, DSGD_REPAIR_NEVER};
    support_case *c = support_new("allreduce", 4);
    fail_at(c, 1, &event);
    c->config.until.seconds = 100;
    const support_outcome *const got = support_ok(c);
    ck_assert_int_eq(got->result.failures.n, 1);
    ck_assert_double_eq_tol(got->result.virtual_s, 100, 1e-9);
}

CASE("going on", .seconds = 60);

/**
 * Worker 1 fails during its fifth step. The worker is repaired before this step would end. It then
 * restarts, and copies 1 GB over a link of 10 GB/s.
 */
TEST_RANGE(a_rejoining_worker_copies_a_live_model_over_its_link, 0, 2)
{
    static dsgd_failure_event event = {1, 4.5, 0.25};
    support_case *c = pairs(2, 60.25, 0);
    fail_at(c, 1, &event)->restart_s = 3;
    c->workload.bytes = 1e9;
    c->config.network = _i == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    const support_outcome *got = support_ok(c);
    const dsgd_failure_times *t = &got->result.failures;
    /* time to copy the model, plus the latency of the request and of the answer */
    const double copy_s = 1e9 / 10e9 + 2 * 1e-6;
    ck_assert_double_eq_tol(t->lost_s, 0.5 / 2, 1e-9);
    ck_assert_double_eq_tol(t->repair_s, 0.25 / 2, 1e-9);
    ck_assert_double_eq_tol(t->restart_s, (3 + copy_s) / 2, 1e-6);
    ck_assert_double_eq(got->result.steps, (60 + 4 + floor(60.25 - 7.75 - copy_s)) / 2);
}

/**
 * The second failure happens during the restart after the first failure. The restart then starts
 * again.
 */
TEST(a_restart_that_fails_starts_again)
{
    static dsgd_failure_event events[] = {{1, 4.5, 0.25}, {1, 6, 0.25}};
    support_case *c = pairs(2, 60.25, 0);
    fail_at(c, 2, events)->restart_s = 3;
    const dsgd_failure_times t = support_ok(c)->result.failures;
    ck_assert_double_eq_tol(t.repair_s, 2 * 0.25 / 2, 1e-9);
    ck_assert_double_eq_tol(t.restart_s, (6 - 4.75 + 3) / 2, 1e-3);
}

/**
 * Worker 0 is down from 5 s on. Workers that have sent a request to worker 0 give up at 15 s.
 * Workers that arrive later do not wait for worker 0.
 */
TEST_RANGE(workers_wait_for_a_failed_one_until_the_deadline, 0, 3)
{
    /* values of the option `variant`: paper, shared_copy and pull */
    static const int variants[] = {0, 2, 3};
    static dsgd_failure_event event = {0, 5, DSGD_REPAIR_NEVER};
    support_case *c = pairs(4, 200, variants[_i] == 3 ? -1 : 1);
    fail_at(c, 1, &event);
    support_option(c, "variant", variants[_i]);
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_ge(got.steps, (3 * (200 - 10) + 5) / 4.0 * 0.99);
    ck_assert_double_le(got.steps, (3 * 200 + 5) / 4.0);
    /* with variant 2 (shared_copy), no worker waits for the failed worker */
    ck_assert_int_eq(got.failures.detect_s > 1, variants[_i] != 2);
}

/**
 * With variant shared_copy, only even workers give copies of their models. Even and odd workers
 * receive the copies.
 */
TEST(shared_copies_come_from_workers_that_answer)
{
    static dsgd_failure_event events[] = {{0, 5, 1}, {3, 9, 1}, {0, 9.5, 1}, {1, 20, 1}};
    support_case *c = pairs(4, 60, 1);
    fail_at(c, 4, events);
    support_option(c, "variant", 2);
    ck_assert_double_gt(support_ok(c)->result.steps, 60 - 10);
}

/**
 * A step needs three of four gradients. No worker therefore waits for worker 1 at first. Worker 1
 * then needs a model after its repair, and worker 0 fails.
 */
TEST(the_first_gradients_of_a_step_are_enough)
{
    static dsgd_failure_event events[] = {{1, 4.5, 20}, {0, 30.5, DSGD_REPAIR_NEVER}};
    support_case *c = support_no_learning(support_new("backup_workers", 4));
    support_option(c, "backups", 1);
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 60.25});
    fail_at(c, 2, events)->restart_s = 1;
    const dsgd_run_result got = support_ok(c)->result;
    /*
     * seconds for which worker 1 (away) and worker 0 (gone) are away; each step drops the last of
     * four gradients
     */
    const double away = 21 + 0.5 + 1, gone = 30;
    ck_assert_double_eq_tol(got.failures.lost_s, (0.5 + 0.5) / 4, 1e-3);
    ck_assert_double_eq_tol(got.failures.repair_s, (20 + 29.75) / 4, 1e-3);
    ck_assert_double_ge(got.steps, (4 * 60 - away - gone - 3) / 4);
    ck_assert_double_eq(got.failures.detect_s, 0);
}

/**
 * A step ends with the last gradient of the six running workers. Their random times are exponential
 * with a mean of 0.1 s, so the maximum is 0.1 (1 + 1/2 + ... + 1/6) s on average.
 */
TEST(a_step_ends_with_the_last_gradient_that_it_needs)
{
    static dsgd_failure_event events[] = {{2, 0, DSGD_REPAIR_NEVER}, {5, 0, DSGD_REPAIR_NEVER}};
    support_case *c = support_no_learning(support_new("backup_workers", 8));
    support_option(c, "backups", 2);
    IMBALANCE(c, "gamma", {"mean", 0.1}, {"deviation", 0.1});
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 20000});
    fail_at(c, 2, events);
    const double steps = support_ok(c)->result.steps * 8 / 6;
    ck_assert_double_eq_tol(20000 / steps, 1 + 0.1 * (1 + 1 / 2.0 + 1 / 3.0 + 0.25 + 0.2 + 1 / 6.0),
                            0.004);
}

/**
 * With 8 learners, goodput is 1 / (1 + f T), because a failure costs the other learners nothing.
 * The number f is the number of failures per second. The time T is half a step plus repair and
 * restart, divided by the number of learners.
 */
TEST(a_failed_learner_costs_only_its_own_time)
{
    enum { N = 9, P = 8 };
    static dsgd_failure_event events[N];
    support_case *c = support_no_learning(support_new("decoupled_diloco", P));
    support_option(c, "period", 4);
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.steps = 100});
    fail_at(c, N, events)->restart_s = 2;
    for (int k = 0; k < N; k++)
        events[k] = (dsgd_failure_event){k % P, 10 * k + 8.5, 3};
    const dsgd_run_result got = support_ok(c)->result;
    const double t_s = (0.5 + 3 + 2) / P, f_per_s = N / got.steps;
    ck_assert_double_eq_tol(got.failures.goodput, 1 / (1 + f_per_s * t_s), 1e-3);
}

/**
 * An algorithm with tokens restarts after a failure. Without a restart, the token of the failed
 * worker would never return, and the other workers would wait for this token.
 */
TEST_RANGE(an_algorithm_with_tokens_restarts, 0, 2)
{
    static dsgd_failure_event event = {1, 4.5, 1};
    support_case *c = support_no_learning(support_new("backup_workers", 4));
    OPTIONS(c, {"release", 1}, {"backups", _i});
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.steps = 20});
    fail_at(c, 1, &event);
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq(got.steps, 20);
    /* mean detection time over all workers */
    ck_assert_double_eq_tol(got.failures.detect_s, 10, 1e-9);
}

/**
 * All workers exchange the times of their first steps once. If worker 1 fails in its first step,
 * the other workers have its time, too. Later rounds have three steps.
 */
TEST(a_worker_that_fails_in_its_first_step_has_reported_its_speed)
{
    static dsgd_failure_event event = {1, 0.5, 1};
    support_case *c = support_no_learning(support_new("async_local_sgd", 4));
    OPTIONS(c, {"period", 3}, {"dylu", 1}, {"grace", 0});
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 60.25});
    fail_at(c, 1, &event);
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq_tol(got.failures.lost_s, 0.5 / 4, 1e-3);
    ck_assert_double_ge(got.steps, 60 - 2 / 4.0 - 1);
}

/**
 * Worker 1 fails in the step after which it would send its change. After its restart, it waits only
 * for the answer to its next request.
 */
TEST(a_rejoining_worker_waits_for_its_answer_only)
{
    static dsgd_failure_event event = {1, 4.5, 1};
    support_case *c = support_no_learning(support_new("decoupled_diloco", 2));
    OPTIONS(c, {"period", 5}, {"delay", 5});
    SET(c, workload.bytes = 1e9, config.until = (dsgd_until){.seconds = 9.75});
    fail_at(c, 1, &event)->restart_s = 2;
    /* time of the answer's bytes, plus the latency of the request and of the answer */
    const double answer_s = 1e9 / 10e9 + 2 * 1e-6;
    ck_assert_double_eq_tol(support_ok(c)->result.failures.restart_s, (2 + answer_s) / 2, 1e-6);
}

/**
 * Worker 1 fails in its fifth step. Until the failure is detected, the other worker leads by at
 * most `slack` steps.
 */
TEST_RANGE(ssp_excludes_failed_workers_from_its_bound, 0, 4)
{
    static dsgd_failure_event event = {1, 4.5, 0};
    const double slack = _i % 2 == 0 ? 0 : 2;
    const bool back = _i < 2;
    support_case *c = support_no_learning(support_new("ssp", 2));
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 30.25});
    support_option(c, "slack", slack);
    event.repair_s = back ? 3 : DSGD_REPAIR_NEVER;
    dsgd_failures_config *f = fail_at(c, 1, &event);
    f->detect_s = 6;
    const dsgd_run_result got = support_ok(c)->result;
    /*
     * Worker 0 may start step 5 + slack when worker 1 has made its fifth step, or when the failure
     * of worker 1 is detected.
     */
    const double free_s = back ? 7.5 + 1 : 10.5, begun_s = fmax(5 + slack, free_s);
    const double others = 4 + (back ? floor(30.25 - 7.5 - 1e-3) : 0);
    ck_assert_double_eq(2 * got.steps, 5 + slack + floor(30.25 - begun_s - 1e-3) + others);
}

/**
 * Worker 0 has pushed a step and waits for permission to continue, because worker 1 is down. Then
 * worker 0 fails, too. After its repair, worker 0 gets the permission and repeats its step. It then
 * waits until worker 1 has made a step, at 9.5 s.
 */
TEST(ssp_workers_do_not_wait_for_a_model_that_is_not_sent)
{
    static dsgd_failure_event events[] = {{1, 2.5, 2}, {0, 0.5, 8}};
    support_case *c = support_no_learning(support_new("ssp", 2));
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 30.25});
    support_option(c, "slack", 0);
    fail_at(c, 2, events)->detect_s = 100;
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq(2 * got.steps, 1 + 20 + 21);
}

/** A test server that counts the vectors it receives from each worker. */
static void counting_serve(dsgd_node *self)
{
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        support_current->note[l->from]++;
        dsgd_send(self, l->from, NULL, NULL, 0);
    }
}

/** A test algorithm whose workers send their gradients, and request nothing after they rejoin. */
static void telling_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self))
            continue;
        dsgd_gradient(self, g, x);
        dsgd_send(self, dsgd_server_address(self, 0), g, NULL, 0);
        dsgd_recv(self, INFINITY);
    }
}

static const dsgd_algorithm telling = {.about = {.name = "telling"},
                                       .work = telling_work,
                                       .serve = counting_serve,
                                       .traits = DSGD_REJOINS};

/**
 * Worker 1 fails in its forward pass, or when half of its chunks have been sent. All gradients that
 * arrive at the server must be complete.
 */
TEST_RANGE(a_failed_worker_sends_nothing_more, 0, 4)
{
    static dsgd_failure_event event = {1, 0, 1};
    event.at_s = _i % 2 == 0 ? 4.2 : 4.8;
    support_case *c = support_no_learning(support_of(&telling, 2));
    c->workload.bytes = 8e6;
    c->config.network = _i / 2 == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    c->config.exchange.pieces = 4;
    c->config.until = (dsgd_until){.seconds = 20.25};
    fail_at(c, 1, &event);
    const support_outcome *got = support_ok(c);
    /* Number of gradients that worker 1 sends. Messages take hardly any time. */
    const double sent = 4 + floor(20.25 - event.at_s - 1);
    const double pieces = _i % 2 == 0 ? 0 : 2;
    ck_assert_double_eq(got->note[0], 20);
    ck_assert_double_eq(got->note[1], sent);
    ck_assert_double_eq(got->result.messages, 5 * (20 + sent) + pieces);
}

static void pushing_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_server_exchange(self, g, NULL);
    }
}

static void begins_anew(dsgd_node *self, int peer)
{
}

TEST_ALGORITHM(pushing, .work = pushing_work, .serve = dsgd_serve, .comes_back = begins_anew);

/**
 * Worker 1 fails in its forward pass, or when two of its four chunks have been sent. The server
 * acknowledges each chunk.
 */
TEST_RANGE(a_failed_worker_pushes_nothing, 0, 2)
{
    static dsgd_failure_event event = {1, 0, 1};
    event.at_s = _i == 0 ? 4.2 : 4.8;
    support_case *c = support_no_learning(support_of(&pushing, 2));
    SET(c, workload.bytes = 8e6, config.exchange.pieces = 4,
        config.until = (dsgd_until){.seconds = 20.25});
    fail_at(c, 1, &event);
    const double whole = 20 + 4 + floor(20.25 - event.at_s - 1);
    ck_assert_double_eq(support_ok(c)->result.messages, 2 * (4 * whole + (_i == 0 ? 0 : 2)));
}

CASE("by quorum", .seconds = 120);

/** Makes a run of allreduce without learning, with steps of one second and almost no bytes. */
static support_case *quorum(int workers, double seconds)
{
    support_case *c = support_no_learning(support_new("allreduce", workers));
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = seconds});
    return c;
}

/**
 * Worker 1 fails during the fifth step. The other workers detect the failure after 2 s, and form a
 * new communicator in 3 s. They then end this step. After its repair and restart, worker 1 rejoins
 * in the next step. In this step, the other workers wait until worker 1 has copied the state.
 */
TEST_RANGE(running_workers_continue_and_wait_for_a_copy, 0, 2)
{
    static dsgd_failure_event event = {1, 4.5, 20.25};
    support_case *c = quorum(4, 40.25);
    dsgd_failures_config *f = fail_at(c, 1, &event);
    f->policy = DSGD_POLICY_QUORUM;
    f->detect_s = 2;
    f->remake_s = 3;
    f->restart_s = 1;
    f->checkpoint.bytes = 5e9;
    c->config.network = _i == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    const support_outcome *got = support_ok(c);
    const dsgd_failure_times *t = &got->result.failures;
    const double known_s = 4.5 + 2 + 3, joins_s = known_s + 17, copied_s = joins_s + 3 + 5e9 / 10e9;
    ck_assert_double_eq_tol(t->lost_s, 0.5 / 4, 1e-3);
    /* the other workers ended their step at 5 s */
    ck_assert_double_eq_tol(t->detect_s, 3 * 1.5 / 4, 1e-3);
    ck_assert_double_eq_tol(t->repair_s, 20.25 / 4, 1e-3);
    ck_assert_double_eq_tol(t->restart_s,
                            (3 * 3 + copied_s - 24.75 + 3 * (copied_s - (joins_s + 1))) / 4, 1e-3);
    const double rest = floor(40.25 - copied_s);
    ck_assert_double_eq(got->result.steps, (3 * (5 + 17 + 1) + 4 + 4 * rest) / 4);
    ck_assert_double_eq_tol(t->goodput, 1 - all_causes_s(t) / 40.25, 1e-9);
}

/** A test algorithm whose steps take one and two seconds in turn. */
static void alternating_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->step % 2 == 1) {
            dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
            dsgd_wait_any(self, DSGD_ON_MESSAGE, dsgd_time_s(self) + 1);
        }
        dsgd_allreduce_mean(self, g, DSGD_WORLD);
    }
}

static const dsgd_algorithm alternating = {
    .about = {.name = "alternating"}, .work = alternating_work, .traits = DSGD_QUORUM};

/**
 * The median of the step times is 1.5 s, and each step time differs from the median by 0.5 s. The
 * step with the failure starts at 16 s and would end at 18 s.
 */
TEST_RANGE(a_deadline_follows_recent_steps, 0, 5)
{
    static dsgd_failure_event event = {1, 16.25, DSGD_REPAIR_NEVER};
    static const double known_s[] = {22.25, 17.5, 18.5, 19.5, 18.75};
    support_case *c = support_no_learning(support_of(&alternating, 4));
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 40.25});
    dsgd_failures_config *f = fail_at(c, 1, &event);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = _i == 4 ? 2.5 : 6,
        detect_mads = _i == 0 ? -1 : 2 * (_i - 1));
    /*
     * Detection time counts from the end of the other workers' gradients at 17 s, one second before
     * the end of the step.
     */
    const double waited_s = known_s[_i] > 18 ? known_s[_i] - 17 : 0;
    ck_assert_double_eq_tol(support_ok(c)->result.failures.detect_s, 3 * waited_s / 4, 1e-3);
}

/** Each GPU of a worker with four GPUs copies a quarter of the state. */
TEST(a_gpu_copies_its_part_of_the_state)
{
    static dsgd_failure_event event = {1, 4.5, 2};
    double restart_s[2];
    for (int k = 0; k < 2; k++) {
        support_case *c = quorum(4, 40.25);
        SET(c, workload.transformer.parameters = 1, workload.transformer.gpus = k == 0 ? 1 : 4);
        dsgd_failures_config *f = fail_at(c, 1, &event);
        SET(f, policy = DSGD_POLICY_QUORUM, checkpoint.bytes = k == 0 ? 20e9 : 80e9);
        restart_s[k] = support_ok(c)->result.failures.restart_s;
    }
    ck_assert_double_gt(restart_s[0], 0);
    ck_assert_double_eq(restart_s[1], restart_s[0]);
}

TEST(goodput_of_a_quorum_equals_its_closed_form)
{
    enum { N = 9, P = 4 };
    static dsgd_failure_event events[N];
    support_case *c = quorum(P, 0);
    c->config.until = (dsgd_until){.steps = 110};
    dsgd_failures_config *f = fail_at(c, N, events);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 4);
    /*
     * Goodput is 1 / (1 + f T), where each failure costs T seconds of all workers. A step with a
     * failure takes 4.5 s. A failure happens every 13.5 s.
     */
    for (int k = 0; k < N; k++)
        events[k] = (dsgd_failure_event){k % P, 13.5 * k + 9.5, 4};
    const dsgd_run_result got = support_ok(c)->result;
    /*
     * The failed worker loses half a step, its repair, and the step in which it copies the state.
     * Each other worker waits 3.5 s.
     */
    const double t_s = (0.5 + 4 + 1 + (P - 1) * 3.5) / P;
    /* number of failures per second of useful time; a step takes one second */
    const double f_per_s = N / got.steps;
    ck_assert_double_eq_tol(got.failures.goodput, 1 / (1 + f_per_s * t_s), 1e-3);
}

/** Puts workers 0 to 2 in one group. The other workers are in no group. */
static void three(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i < 3 ? 0 : -1;
}

/** A test algorithm in which workers 0 to 2 use the mean of their gradients. */
static void three_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->rank < 3)
            dsgd_allreduce_mean(self, g, dsgd_comm_split(self, three));
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm three_of_four = {.about = {.name = "three"}, .work = three_work};

/**
 * Worker 3 is away from the start. The models of the other workers have the same bytes as in a run
 * whose mean never includes worker 3.
 */
TEST(the_mean_is_over_the_running_workers)
{
    static dsgd_failure_event event = {3, 0, DSGD_REPAIR_NEVER};
    support_case *c = support_of(&three_of_four, 4);
    support_steps_each(c, 16);
    const support_outcome *three = support_ok(c);
    c = support_new("allreduce", 4);
    c->config.until = (dsgd_until){.steps = 12};
    fail_at(c, 1, &event)->policy = DSGD_POLICY_QUORUM;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, 12);
    ck_assert_mem_eq(got->x, three->x, 3 * got->n_params * sizeof *got->x);
}

/**
 * Worker 1 is away for some steps. After the first contribution of the returned worker, all models
 * must be equal.
 */
TEST_RANGE(a_rejoined_worker_has_the_model_of_the_others, 0, support_n_algorithms())
{
    static dsgd_failure_event event = {1, 2.5, 4};
    support_case *c = support_new(dsgd_algorithms[_i]->name, 4);
    if ((c->config.algorithm->traits & DSGD_QUORUM_COPIES) != DSGD_QUORUM)
        return;
    if (dsgd_option_find(c->config.algorithm->about.options, "period") != NULL)
        support_option(c, "period", 2);
    if (dsgd_option_find(c->config.algorithm->about.options, "delay") != NULL) {
        OPTIONS(c, {"delay", 0}, {"mixing", 0});
    }
    dsgd_failures_config *f = fail_at(c, 1, &event);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 1);
    /* the run ends during the first step of a period */
    c->config.until = (dsgd_until){.seconds = 18.75};
    const support_outcome *got = support_ok(c);
    const size_t n = got->n_params * sizeof *got->x;
    ck_assert_double_gt(got->result.failures.restart_s, 0);
    for (size_t w = 1; w < 4; w++)
        ck_assert_mem_eq(got->x + w * got->n_params, got->x, n);
}

/**
 * Tests that PowerSGD equals allreduce if its rank is so large that nothing is dropped. They must
 * be equal even if a worker was away before it had sent anything. With two products, the residual
 * of a worker is its gradient minus the mean gradient, and the sum of all residuals is 0.
 */
TEST_RANGE(residuals_hold_the_values_that_were_not_sent, 0, 2)
{
    static dsgd_failure_event event = {1, 0.5, 4};
    const support_outcome *got[2];
    for (int k = 0; k < 2; k++) {
        support_case *c = support_new(k == 0 ? "allreduce" : "power_sgd", 4);
        if (k == 1) {
            OPTIONS(c, {"rank", 64}, {"products", _i + 1});
        }
        fail_at(c, 1, &event)->policy = DSGD_POLICY_QUORUM;
        SET(c, config.failures.detect_s = 1, config.until = (dsgd_until){.seconds = 18.75});
        got[k] = support_ok(c);
    }
    ck_assert_double_gt(got[1]->result.failures.restart_s, 0);
    for (size_t i = 0; i < 4 * got[0]->n_params; i++)
        ck_assert_double_eq_tol(got[1]->x[i], got[0]->x[i], 1e-9);
}

/**
 * Worker 1 fails in the second step of a period of four, and is repaired in that step. It rejoins
 * at 4 s, when all models are equal.
 */
TEST(a_worker_rejoins_where_all_models_are_equal)
{
    static dsgd_failure_event event = {1, 1.5, 0.25};
    support_case *c = support_no_learning(support_new("local_sgd", 4));
    support_option(c, "period", 4);
    SET(c, workload.bytes = 8, config.until = (dsgd_until){.seconds = 20.25});
    fail_at(c, 1, &event)->policy = DSGD_POLICY_QUORUM;
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq_tol(got.failures.restart_s, (5 - 1.75) / 4, 1e-3);
    ck_assert_double_eq(got.failures.detect_s, 0); /* no worker waits for worker 1 before 4 s */
    ck_assert_double_eq(got.steps, (4 * 20 - 1 - 3) / 4.0);
}

/** Splits the workers into pairs: workers 2i and 2i + 1. */
static void in_pairs(const void *params, int n_workers, int *colour)
{
    for (int i = 0; i < n_workers; i++)
        colour[i] = i / 2;
}

/** A test algorithm that averages models in pairs. */
static void pairs_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_allreduce_mean(self, x, dsgd_comm_split(self, in_pairs));
    }
}

/**
 * Seven of eight workers fail one after another. Three of four pairs then have no running member.
 */
TEST(a_group_without_running_workers_does_not_hang)
{
    static const dsgd_algorithm pairs = {.about = {.name = "pairs"},
                                         .work = pairs_work,
                                         .traits = DSGD_SENDS_COLLECTIVES | DSGD_AVERAGES_MODELS |
                                                   DSGD_QUORUM};
    static dsgd_failure_event events[7];
    support_case *c = support_no_learning(support_of(&pairs, 8));
    for (int i = 0; i < 7; i++)
        events[i] = (dsgd_failure_event){i, 2.5 + i, 20 + i};
    c->config.until = (dsgd_until){.seconds = 60.25};
    dsgd_failures_config *f = fail_at(c, 7, events);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 1);
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_gt(got.steps, (8 * 60 - 7 * (20 + 3 + 7 + 3) - 8 * 8) / 8.0);
}

/**
 * Worker 1 fails a second time, while it rejoins. Its last chunks are not received yet. The
 * exchange of these chunks is completed when the failure is detected.
 */
TEST_RANGE(a_worker_that_fails_while_rejoining_completes_begun_exchanges, 0, 2)
{
    static dsgd_failure_event events[] = {{1, 0.5, 0.2}, {1, 2.1, 5}};
    support_case *c = support_no_learning(support_new("streaming_diloco", 4));
    OPTIONS(c, {"period", 2}, {"fragments", 1}, {"delay", 1});
    c->workload.bytes = 4e9; /* a chunk takes 0.15 s */
    c->config.exchange.pieces = 4;
    c->config.until = (dsgd_until){.steps = 12};
    c->config.network = _i == 0 ? DSGD_NETWORK_FLOWS : DSGD_NETWORK_SIMGRID;
    dsgd_failures_config *f = fail_at(c, 2, events);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 0.1, checkpoint.bytes = 8);
    ck_assert_double_ge(support_ok(c)->result.steps, 12);
}

CASE("by quorum, where workers differ", .seconds = 120);

/**
 * Makes a run of eight workers with different models, which no gradient changes. Worker @p rank
 * fails at @p at_s.
 */
static support_case *differ(const char *algorithm, int rank, double at_s, double repair_s)
{
    static dsgd_failure_event event;
    event = (dsgd_failure_event){rank, at_s, repair_s};
    support_case *c = support_new(algorithm, 8);
    support_spread(c);
    SET(c, learning.optimizer = (dsgd_optimizer){.lr = 0},
        config.until = (dsgd_until){.seconds = 60.25});
    dsgd_failures_config *f = fail_at(c, 1, &event);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 2);
    return c;
}

static const char *const differing[] = {"eager_solo", "eager_majority", "wagma", "sgp", "osgp"};

/**
 * Worker number (_i / 5) mod 8 fails. For every failed worker and every time of failure, the other
 * workers must continue as soon as they have detected the failure.
 */
TEST_RANGE(workers_continue_when_a_failure_is_detected, 0, 5 * 8 * 2)
{
    const double repair_s = _i / 40 == 0 ? DSGD_REPAIR_NEVER : 20;
    support_case *c = differ(differing[_i % 5], _i / 5 % 8, 4.25 + 0.25 * (_i % 3), repair_s);
    const double each_s = 60 - (2 + 1); /* minimum number of steps of each running worker */
    /*
     * Minimum number of steps of the failed worker. The failed worker rejoins up to a period after
     * its repair.
     */
    const double its_own_s = 4 + (repair_s < 0 ? 0 : 60 - 4.75 - 20 - 1 - 10);
    const dsgd_run_result got = support_ok(support_no_learning(c))->result;
    ck_assert_double_ge(8 * got.steps, 7 * each_s + its_own_s);
    ck_assert_double_le(got.failures.detect_s, 2);
}

/**
 * In push-sum, shares that were in flight to the failed worker return to their senders. The sums of
 * x and of the weights therefore stay the same. The models of the other workers converge to (S - w
 * x_failed) / (P - w). S is the sum of x. The failed worker's weight w is the same for all
 * elements.
 */
TEST_RANGE(no_push_sum_weight_is_lost, 0, 2 * 8)
{
    enum { P = 8 };
    const char *const algorithm = _i % 2 == 0 ? "sgp" : "osgp";
    const int dead = 5;
    support_case *c = differ(algorithm, dead, 0.6 + 0.25 * (_i / 2), DSGD_REPAIR_NEVER);
    c->workload.bytes = 4e9; /* a share takes 0.4 s */
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->weight, P, 1e-12 * P);
    c->config.failures.events.n = 0;
    const support_outcome *whole = support_ok(c);
    const size_t n = got->n_params;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double z = got->x[i], gone = got->x[(size_t)dead * n + i];
        const double w = (P * z - P * whole->final_mean[i]) / (z - gone);
        least = fmin(least, w);
        most = fmax(most, w);
        for (size_t k = 1; k < P; k++)
            if (k != (size_t)dead)
                ck_assert_double_eq_tol(got->x[k * n + i], z, 1e-7);
    }
    ck_assert_double_eq_tol(most, least, 1e-4);
    /*
     * the weight w is a power of 2, because a worker keeps half of its weight when it sends the
     * other half
     */
    ck_assert_double_eq_tol(exp2(round(log2(most))), most, 1e-4);
}

/**
 * Tests that the mean of WAGMA covers the workers that were running. The worker that was never
 * running must also have this mean at the end.
 */
TEST(wagma_has_the_mean_of_the_running_workers)
{
    enum { P = 8 };
    /* the failure is after the end of the run and changes nothing */
    support_case *c = differ("eager_solo", 0, 1e9, 1);
    const support_outcome *first = support_ok(c);
    c = differ("wagma", 3, 0, DSGD_REPAIR_NEVER);
    OPTIONS(c, {"group", P}, {"period", 2});
    const support_outcome *got = support_ok(c);
    const size_t n = got->n_params;
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        for (size_t k = 0; k < P; k++)
            mean += k == 3 ? 0 : first->x[k * n + i] / (P - 1);
        for (size_t k = 0; k < P; k++)
            ck_assert_double_eq_tol(got->x[k * n + i], mean, 1e-12);
    }
}

/**
 * In eager-SGD, worker 3 rejoins and gets the model of the next running worker, worker 4. All other
 * models remain different.
 */
TEST_RANGE(a_rejoined_worker_has_a_copy_of_a_live_model, 0, 2)
{
    support_case *c = differ(differing[_i], 3, 4.5, 5);
    const support_outcome *got = support_ok(c);
    const size_t n = got->n_params;
    for (size_t k = 0; k < 8; k++)
        ck_assert_int_eq(memcmp(got->x + k * n, got->x + (k + 1) % 8 * n, n * sizeof *got->x) == 0,
                         k == 3);
}

/** A test algorithm that uses the sum of the gradients of workers 0 to 2, divided by four. */
static void three_quarters_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->rank < 3)
            dsgd_allreduce_sum(self, g, dsgd_comm_split(self, three));
        dsgd_divide(self, g, 4);
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm three_quarters = {.about = {.name = "three"},
                                              .work = three_quarters_work};

TEST_RANGE(a_failed_worker_contributes_zeros, 0, 2)
{
    static dsgd_failure_event event = {3, 0, DSGD_REPAIR_NEVER};
    support_case *c = support_of(&three_quarters, 4);
    support_steps_each(c, 16);
    const support_outcome *three = support_ok(c);
    c = support_new(differing[_i], 4);
    c->config.until = (dsgd_until){.steps = 12};
    fail_at(c, 1, &event)->policy = DSGD_POLICY_QUORUM;
    const support_outcome *got = support_ok(c);
    for (size_t i = 0; i < 3 * got->n_params; i++)
        ck_assert_double_eq_tol(got->x[i], three->x[i], 1e-12);
}

/**
 * Tests that workers complete an exchange that has begun with a failed worker, even if they already
 * have their own parts. The next exchange starts without the failed worker.
 */
TEST_RANGE(a_begun_exchange_is_completed, 1, 21)
{
    support_case *c = support_no_learning(support_new("wagma", 4));
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    SET(c, config.failures.mtbf_s = 100, config.failures.repair_s = 5, config.failures.detect_s = 1,
        config.seed = (uint64_t)_i, config.exchange.overlap = true,
        workload.backward_share = 2. / 3, config.failures.policy = DSGD_POLICY_QUORUM,
        config.exchange.pieces = 2, config.exchange.blocking = false, config.until.steps = 30);
    support_imbalance_number(c, "persistent", "deviation", 0.1);
    SET(c, workload.step_s = 2.5, workload.bytes = 1e8);
    ck_assert_int_eq(support_ok(c)->result.outcome, DSGD_RUN_OK);
}

/**
 * At the end, no worker runs. The report must not claim that the workers that waited for the last
 * worker hang.
 */
TEST(a_run_without_running_workers_reports_it)
{
    static dsgd_failure_event events[] = {{0, 1, 3}, {1, 9, 3}};
    support_case *c = support_no_learning(support_new("wagma", 2));
    fail_at(c, 2, events)->detect_s = 1;
    SET(c, config.failures.policy = DSGD_POLICY_QUORUM, config.until.steps = 60,
        workload.step_s = 4);
    support_outcome *const got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "no running worker has the state any more");
}

/**
 * A version must be activated even if the worker that should activate it is away when some workers
 * reach the version. That worker is back when the other workers reach the version.
 */
TEST_RANGE(every_version_is_activated, 1, 41)
{
    support_case *c = support_no_learning(support_new("eager_majority", 4));
    dsgd_options_default(dsgd_failures_options, &c->config.failures);
    SET(c, config.failures.mtbf_s = 100, config.failures.repair_s = 5, config.failures.detect_s = 1,
        config.failures.policy = DSGD_POLICY_QUORUM, config.seed = (uint64_t)_i,
        config.until.steps = 30, workload.step_s = 4, workload.bytes = 1e8);
    ck_assert_int_eq(support_ok(c)->result.outcome, DSGD_RUN_OK);
}

CASE("published", .seconds = 60);

/** Returns the goodput of a run with random exponential failures and steps of one second. */
static double goodput_of(const char *algorithm, int workers, int policy, dsgd_failures_config like)
{
    support_case *c = support_no_learning(support_new(algorithm, workers));
    if (dsgd_option_find(c->config.algorithm->about.options, "period") != NULL)
        support_option(c, "period", 20);
    c->config.until = (dsgd_until){.seconds = 50000};
    dsgd_failures_config *f = fail_at(c, 0, NULL);
    SET(f, mtbf_s = like.mtbf_s, detect_s = like.detect_s, remake_s = like.remake_s,
        restart_s = like.restart_s, policy = policy, checkpoint.seconds = 1);
    return support_ok(c)->result.failures.goodput;
}

/**
 * Decoupled DiLoCo (arXiv 2604.21428, from a summary) reports goodputs for 1.2 million chips: 27 %
 * for plain training, 58 % for elastic and 88 % for decoupled training. The paper does not state
 * all parameters. We assume 8 learners, of which one fails every 100 s. A repair takes 95 s,
 * detection 12 s, and new communicators 18 s. Steps take 1 s, and checkpoints take 1 s and follow
 * Daly's interval. These parameters give the three goodputs.
 */
TEST(three_algorithm_families_have_their_published_goodput)
{
    const dsgd_failures_config assumed = {
        .mtbf_s = 800, .detect_s = 12, .remake_s = 18, .restart_s = 95};
    ck_assert_double_eq_tol(goodput_of("allreduce", 8, DSGD_POLICY_RESTART, assumed), 0.27, 0.03);
    ck_assert_double_eq_tol(goodput_of("allreduce", 8, DSGD_POLICY_QUORUM, assumed), 0.58, 0.03);
    ck_assert_double_eq_tol(goodput_of("decoupled_diloco", 8, DSGD_POLICY_OWN, assumed), 0.88,
                            0.03);
}

/**
 * torchft (from a summary) has a goodput of 81.2 % on 30 replicas of 10 GPUs if one replica fails
 * every 60 s. A quorum waits 10 s, and checks every 0.1 s for missing workers. A replica copies 12
 * GB in 3 s. We assume that steps take 2 s, new communicators take 0.5 s, and new processes take 30
 * s. If steps take 1 to 8 s and communicators take 0 to 2 s, the goodput is 75 to 89 %.
 */
TEST(torchft_has_its_published_goodput)
{
    support_case *c = quorum(30, 36000);
    SET(c, platform.host_bandwidth_bytes_per_s = 4e9, workload.step_s = 2);
    dsgd_failures_config *f = fail_at(c, 0, NULL);
    SET(f, policy = DSGD_POLICY_QUORUM, mtbf_s = 30 * 60, detect_s = 10.1, remake_s = 0.5,
        restart_s = 30, checkpoint.bytes = 12e9);
    ck_assert_double_eq_tol(support_ok(c)->result.failures.goodput, 0.812, 0.03);
}

/**
 * Steps of workers that are away do not count in the throughput, although such workers follow the
 * step number of the other workers.
 */
TEST(throughput_counts_the_running_workers)
{
    static dsgd_failure_event event = {1, 100, 500};
    support_case *c = support_no_learning(support_new("allreduce", 4));
    c->config.until = (dsgd_until){.seconds = 1000.5};
    dsgd_failures_config *f = fail_at(c, 1, &event);
    SET(f, policy = DSGD_POLICY_QUORUM, detect_s = 0);
    const dsgd_run_result *r = &support_ok(c)->result;
    const double there = 4 - 500 / 1000.5; /* mean number of running workers over the whole run */
    ck_assert_double_eq_tol(r->samples_per_s / c->workload.samples, there, 0.01 * there);
}

CASE("all algorithms", .seconds = 240);

enum { LAWS = 5, SEEDS = 2 };

/**
 * Sets one of five laws of failures. Failures are random (0), happen often shortly after a repair
 * (1), are listed (2), stop whole islands (3), or are very frequent (4). With law 4, some workers
 * fail while they rejoin.
 */
static void apply_law(support_case *c, int law)
{
    static dsgd_failure_event events[] = {{3, 2.5, 4}, {4, 2.75, 1}, {15, 6, DSGD_REPAIR_AS_ALL}};
    dsgd_failures_config *f = fail_at(c, law == 2 ? 3 : 0, events);
    SET(f, detect_s = 0.5, restart_s = 0.25, checkpoint.seconds = 0.125,
        checkpoint.every = law == 2 ? 4 : DSGD_EVERY_DALY, repair_s = 1);
    static const double mtbf_s[LAWS] = {120, 300, 0, 60, 40};
    SET(f, mtbf_s = mtbf_s[law], shape = law == 1 ? 0.7 : 1, repair_varies = law == 1,
        per = law == 3 ? DSGD_PER_ISLAND : DSGD_PER_WORKER);
    SET(c, platform.island_hosts = law == 3 ? 4 : 0,
        platform.island_nics = c->platform.island_hosts,
        platform.island_bytes_per_s = law == 3 ? c->platform.host_bandwidth_bytes_per_s : 0);
}

/** Fails the test unless the run has the same bytes with four threads. Returns the outcome. */
static const support_outcome *expect_the_same_again(support_case *c)
{
    const support_outcome *got = support_ok(c);
    c->config.threads = 4;
    const support_outcome *again = support_ok(c);
    const dsgd_failure_times *t = &got->result.failures;
    const size_t n = (size_t)c->config.workers * got->n_params * sizeof *got->x;
    dsgd_failure_times of_threads = again->result.failures;
    /* the pointers of the two runs differ, and both arrays are freed */
    of_threads.listed = t->listed;
    ck_assert_mem_eq(t, &of_threads, sizeof *t);
    ck_assert_mem_eq(got->x, again->x, n);
    ck_assert_double_eq(got->result.virtual_s, again->result.virtual_s);
    ck_assert_double_eq_tol(t->goodput, 1 - all_causes_s(t) / got->result.virtual_s, 1e-9);
    return got;
}

/**
 * Each algorithm continues or restarts after failures. If all workers restart, the models equal the
 * models of a run without failures.
 */
TEST_RANGE(every_algorithm_continues_after_failures, 0, support_n_algorithms() * LAWS * SEEDS)
{
    support_case *c = support_new(dsgd_algorithms[_i / LAWS / SEEDS]->name, 16);
    SET(c, config.until.steps = 12, config.seed = 1 + (uint64_t)(_i % SEEDS));
    apply_law(c, _i / SEEDS % LAWS);
    const dsgd_failures_config failures = c->config.failures;
    fail_at(c, 0, NULL);
    const support_outcome *whole = support_ok(c);
    c->config.failures = failures;
    const support_outcome *got = expect_the_same_again(c);
    ck_assert_double_eq(got->result.steps, whole->result.steps);
    if (dsgd_goes_on(&c->config))
        return;
    ck_assert_mem_eq(got->x, whole->x, 16 * got->n_params * sizeof *got->x);
    ck_assert_double_eq_tol(got->result.virtual_s,
                            whole->result.virtual_s + all_causes_s(&got->result.failures), 1e-9);
}

/**
 * Each algorithm continues by quorum or reports why it does not. A failure that never happens costs
 * no time and changes no value.
 */
TEST_RANGE(every_algorithm_continues_by_quorum, 0, support_n_algorithms() * LAWS * SEEDS)
{
    support_case *c = support_new(dsgd_algorithms[_i / LAWS / SEEDS]->name, 16);
    SET(c, config.until.steps = 12, config.seed = 1 + (uint64_t)(_i % SEEDS));
    if (dsgd_option_find(c->config.algorithm->about.options, "period") != NULL)
        support_option(c, "period", 6);
    const support_outcome *whole = support_ok(c);
    static dsgd_failure_event never = {3, 1e9, 1};
    fail_at(c, 1, &never)->policy = DSGD_POLICY_QUORUM;
    if (!(c->config.algorithm->traits & DSGD_QUORUM)) {
        ck_assert_has(support_simulate(c)->error.text, "policy: quorum is not supported by ");
        return;
    }
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.virtual_s, whole->result.virtual_s);
    ck_assert_double_eq(got->result.failures.goodput, 1);
    ck_assert_mem_eq(got->x, whole->x, 16 * got->n_params * sizeof *got->x);
    apply_law(c, _i / SEEDS % LAWS);
    SET(c, config.failures.policy = DSGD_POLICY_QUORUM, config.failures.remake_s = 0.125);
    ck_assert_double_ge(expect_the_same_again(c)->result.steps, 12);
}

/**
 * The index of algorithms has a table of policies. Each algorithm must be in the rows that match
 * its traits.
 */
TEST(the_policy_of_each_algorithm_is_documented)
{
    char *text = NULL;
    size_t n = 0;
    dsgd_error error;
    ck_assert_int_eq(
        dsgd_file_read(DSGD_SOURCE_DIR "/docs/reference/algorithms/index.md", &text, &n, &error),
        DSGD_OK);
    static const char *const rows[] = {"| the other workers continue",
                                       "| with `policy: quorum` a mean",
                                       "| with `policy: quorum` a failed worker"};
    for (int i = 0; i < 3 * support_n_algorithms(); i++) {
        const dsgd_algorithm *const a =
            support_new(dsgd_algorithms[i / 3]->name, 16)->config.algorithm;
        const unsigned quorum = a->traits & DSGD_QUORUM_COPIES;
        const bool own = a->comes_back != NULL || (a->traits & DSGD_REJOINS);
        const bool is_in[] = {own, quorum == DSGD_QUORUM, quorum == DSGD_QUORUM_COPIES};
        const char *const row = strstr(text, rows[i % 3]);
        const char *const found = strstr(row, dsgd_xprintf("`%s`", a->about.name));
        ck_assert_msg((found != NULL && found < strchr(row, '\n')) == is_in[i % 3], "%s in %s",
                      a->about.name, rows[i % 3]);
    }
}

TEST(all_algorithms_meet_the_same_failures)
{
    support_case *c = pairs(16, 300, 1), *other = support_new("allreduce", 16);
    support_no_learning(other)->config.until = c->config.until;
    apply_law(c, 0);
    apply_law(other, 0);
    const long n = support_ok(c)->result.failures.n;
    ck_assert_int_gt(n, 20);
    ck_assert_int_eq(support_ok(other)->result.failures.n, n);
}
