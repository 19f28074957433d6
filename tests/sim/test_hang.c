/**
 * @file test_hang.c
 * Tests runs that hang. If workers wait for ever, the run fails, and its message names the waiting
 * workers, their verbs, the workers that they wait for, and the times. Late workers do not make a
 * run fail. Misused requests stop the program with a message.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { WORKERS = 8, STEPS = 20 };

/* --- algorithms that hang --------------------------------------------------------------------- */

/** A fault of a test algorithm. Its workers call this function after the local step. */
typedef void fault(dsgd_node *self, dsgd_vector *x);

static fault *broken; /* the fault that the run makes; it is set before the simulation forks */

static void broken_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        broken(self, x);
    }
}

static void serve_nobody(dsgd_node *self)
{
}

TEST_ALGORITHM(breaking, .work = broken_work);
TEST_ALGORITHM(serving, .work = broken_work, .serve = serve_nobody);

static void calls_alone(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 0)
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
}

static void calls_alone_at_last(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 7 && self->step == STEPS - 1)
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
}

/**
 * A fault in which only two workers call the 17th collective. This collective has two chunks, like
 * all other collectives.
 */
static void calls_once_more(dsgd_node *self, dsgd_vector *x)
{
    if (self->step < 16 || self->rank == 3 || self->rank == 5)
        dsgd_allreduce_sum(self, x, DSGD_WORLD);
}

static void ends_alone(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank != 1)
        return;
    dsgd_request *const sum = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_request_wait(self, sum, x);
}

static void gathers_without_one(dsgd_node *self, dsgd_vector *x)
{
    const double mine = self->rank;
    if (self->rank != 6)
        dsgd_allgather(self, &mine, 1, DSGD_WORLD);
}

/** Starts to wait for a message that the neighbour @p peer does not send. */
static dsgd_request *expect_of(dsgd_node *self, dsgd_vector *x, int peer)
{
    int from[] = {peer};
    const dsgd_neighbours neighbours = {.n_from = 1, .from = from, .keep = 1};
    return dsgd_gossip_begin(self, x, &neighbours);
}

/**
 * A fault in which all workers except worker 5 call a collective. Worker 5 waits for worker 4 in
 * another verb.
 */
static void gathers_but_for_one(dsgd_node *self, dsgd_vector *x)
{
    const double mine = self->rank;
    if (self->rank == 5)
        dsgd_request_wait(self, expect_of(self, x, 4), x);
    dsgd_allgather(self, &mine, 1, DSGD_WORLD);
}

/**
 * A fault that makes a chain of waits: each worker up to 5 waits for the next worker. Worker 6 does
 * not wait.
 */
static void awaits_the_next(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank < 6)
        dsgd_request_wait(self, expect_of(self, x, self->rank + 1), x);
}

static void meets_alone(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 4 && self->step == 2)
        dsgd_barrier(self);
}

static void expects_a_message(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 2)
        dsgd_request_wait(self, expect_of(self, x, 3), x);
}

static void polls_for_ever(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank != 2)
        return;
    dsgd_request *const request = expect_of(self, x, 3);
    while (!dsgd_wait_any(self, DSGD_ON_REQUEST, dsgd_time_s(self)))
        ;
    dsgd_request_wait(self, request, x);
}

static void asks_the_deaf(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank % 4 == 1)
        dsgd_pair_average(self, x, self->rank - 1);
}

static void fetches_from_a_server(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 1)
        dsgd_server_exchange(self, NULL, x);
}

static void awaits_a_message(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 1)
        dsgd_recv(self, INFINITY);
}

static void awaits_any(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 2)
        dsgd_wait_any(self, DSGD_ON_MESSAGE | DSGD_ON_REQUEST, INFINITY);
}

static void polls_messages(dsgd_node *self, dsgd_vector *x)
{
    while (self->rank == 2 && dsgd_recv(self, 0) == NULL)
        ;
}

static dsgd_partial *partial_of(dsgd_node *self, dsgd_initiator initiator)
{
    static dsgd_partial *partial; /* the partial collective of the only worker that creates one */
    const dsgd_partial_spec spec = {.initiator = initiator};
    if (self->step == 0)
        partial = dsgd_partial_new(self, spec, NULL);
    return partial;
}

static void arrives_alone(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 0)
        dsgd_partial_sum(self, partial_of(self, DSGD_FIRST_ARRIVER), x, x);
}

static void arrives_without_initiator(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 1)
        dsgd_partial_mix(self, partial_of(self, DSGD_EACH_IN_TURN), x, WORKERS, WORKERS + 1);
}

/** A fault in which two workers wait for each other. The other workers continue. */
static void two_wait_for_each_other(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 0 && self->step == 3)
        dsgd_request_wait(self, expect_of(self, x, 1), x);
    if (self->rank == 1 && self->step == 3)
        dsgd_request_wait(self, expect_of(self, x, 0), x);
}

static void locks_twice(dsgd_node *self, dsgd_vector *x)
{
    dsgd_lock(self);
    dsgd_lock(self);
}

static void one_locks_twice(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 6)
        locks_twice(self, x);
}

static void answers_nobody(dsgd_node *self, dsgd_vector *x)
{
    dsgd_pair_answer(self, x, DSGD_ANYONE);
}

static void awaits_the_dumb(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 3)
        dsgd_pair_answer(self, x, 2);
}

static void awaits_its_own_steps(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 5)
        dsgd_next_turn(self, 1000000);
}

static void computes_for_ever(dsgd_node *self, dsgd_vector *x)
{
    calls_alone(self, x);
    dsgd_vector *g = dsgd_vector_new(self);
    while (self->rank == 1)
        dsgd_gradient(self, g, x);
}

/** Workers of even rank send requests to the next worker without a pause. */
static void restless_assist(dsgd_node *self)
{
    dsgd_vector *y = dsgd_shared(self);
    while (self->rank % 2 == 0 && dsgd_next_turn(self, 0))
        dsgd_pair_average(self, y, self->rank + 1);
    while (self->rank % 2 == 1)
        dsgd_pair_answer(self, y, DSGD_ANYONE);
}

TEST_ALGORITHM(restless, .work = broken_work, .assist = restless_assist);

static const struct {
    const dsgd_algorithm *algorithm;
    fault *fault;
    const char *says;
} faults[] = {
    {&breaking, calls_alone,
     "a worker hung at %g s: worker 0 waits in dsgd_allreduce_mean (its 1st collective) for "
     "workers 1, 2 and 5 more since 1 s"},
    {&breaking, calls_alone_at_last,
     "worker 7 waits in dsgd_allreduce_mean (its 1st collective) for workers 0, 1 and 5 more "
     "since 20 s"},
    {&breaking, calls_once_more,
     "worker 3 waits in dsgd_allreduce_sum (its 17th collective) for workers 0, 1 and 4 more "
     "since 17.0"},
    {&breaking, ends_alone,
     "worker 1 waits in dsgd_request_wait (its 1st collective) for workers 0, 2 and 5 more since "
     "1 s"},
    {&breaking, gathers_without_one,
     "some workers hung at %g s: worker 6 does not wait, but 7 workers wait for it; worker 0 waits "
     "in "
     "dsgd_allgather (its 1st collective) for worker 6 since 0 s; worker 1 waits in dsgd_allgather "
     "(its 1st collective) for worker 6 since 0 s; "
     "worker 2 waits in dsgd_allgather (its 1st collective) for worker 6 since 0 s; 4 more workers "
     "wait"},
    {&breaking, gathers_but_for_one,
     "every worker waited for another (deadlock or starvation) at %g s: worker 5 waits in "
     "dsgd_request_wait for worker 4 since 1 s; worker 4 waits in dsgd_allgather (its 1st "
     "collective) for worker 5 since"},
    {&breaking, awaits_the_next,
     "some workers hung at %g s: worker 5 waits in dsgd_request_wait for worker 6 since 1 s"},
    {&breaking, meets_alone,
     "worker 4 waits in the barrier before a step for workers 0, 1 and 5 more since 2 s"},
    {&breaking, expects_a_message, "worker 2 waits in dsgd_request_wait for worker 3 since 1 s"},
    {&breaking, polls_for_ever, "worker 2 waits in a million polls without time passing since 1 s"},
    {&breaking, asks_the_deaf,
     "worker 1 waits in dsgd_pair_average for worker 0 since 1 s; worker 5 waits in "
     "dsgd_pair_average for worker 4 since 1 s"},
    {&serving, fetches_from_a_server,
     "worker 1 waits in dsgd_server_exchange for server 0 since 0 s"},
    {&serving, awaits_a_message, "worker 1 waits in dsgd_recv for server 0 since 0 s"},
    {&breaking, awaits_any, "worker 2 waits in dsgd_wait_any since 0 s"},
    {&breaking, polls_messages, "worker 2 waits in a million polls without time passing since 0 s"},
    {&breaking, arrives_alone,
     "worker 0 waits in dsgd_partial_sum for workers 1, 2 and 5 more since 1 s"},
    {&breaking, arrives_without_initiator,
     "worker 1 waits in dsgd_partial_mix for worker 0 since 1 s"},
    {&breaking, two_wait_for_each_other,
     "worker 0 waits in dsgd_request_wait for worker 1 since 4 s; worker 1 waits in "
     "dsgd_request_wait "
     "for worker 0 since 4 s"},
    {&breaking, locks_twice,
     "every worker waited for another (deadlock or starvation) at %g s: worker 0 waits in "
     "dsgd_lock since 0 s"},
    {&breaking, one_locks_twice, "a worker hung at %g s: worker 6 waits in dsgd_lock since 0 s"},
    {&breaking, answers_nobody, "worker 0 waits in dsgd_pair_answer since 0 s"},
    {&breaking, awaits_the_dumb, "worker 3 waits in dsgd_pair_answer for worker 2 since 0 s"},
    {&breaking, awaits_its_own_steps, "worker 5 waits in dsgd_next_turn since 0 s"},
    {&breaking, computes_for_ever,
     "a worker hung at %g s: worker 0 waits in dsgd_allreduce_mean (its 1st collective) for "
     "workers 1, 2 and 5 more since 1 s"},
    {&restless, locks_twice,
     "every worker waited for another (deadlock or starvation) at %g s: worker 0 waits in "
     "dsgd_lock since 0 s"},
};

enum { N_FAULTS = sizeof faults / sizeof faults[0], N_BOUNDS = 3 };

/**
 * Makes a case that ends after about STEPS steps. The bound is a number of steps (0), of seconds
 * (1) or of samples (2).
 */
static support_case *bounded(const char *algorithm, int workers, int bound)
{
    support_case *c = support_new(algorithm, workers);
    if (bound == 1)
        c->config.until = (dsgd_until){.seconds = STEPS + 5.5};
    else if (bound == 2)
        c->config.until = (dsgd_until){.samples = STEPS * workers * c->workload.samples};
    return c;
}

SUITE(hang, "hang", .seconds = 120);

/** The loop variable _i selects the fault, and the bound that ends the run. */
TEST_RANGE(an_endless_wait_makes_the_run_fail, 0, N_FAULTS *N_BOUNDS)
{
    support_case *c = bounded(NULL, WORKERS, _i % N_BOUNDS);
    c->config.algorithm = faults[_i / N_BOUNDS].algorithm;
    SET(c, config.exchange.pieces = 2, config.exchange.overlap = false);
    broken = faults[_i / N_BOUNDS].fault;
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_OK);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    char says[640];
    snprintf(says, sizeof says, faults[_i / N_BOUNDS].says, got->result.virtual_s);
    ck_assert_has(got->result.why.text, says);
    ck_assert_ptr_null(strstr(got->result.why.text, "; 0 more"));
}

/** A test algorithm in which worker 2 returns from its work function in step 3. */
static void leaving_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        if (self->rank == 2 && self->step == 3)
            return;
        dsgd_gradient(self, g, x);
    }
}

TEST_ALGORITHM(leaving, .work = leaving_work);

TEST_RANGE(a_work_that_returns_early_makes_the_run_fail, 0, N_BOUNDS)
{
    support_case *c = bounded(NULL, 4, _i);
    c->config.algorithm = &leaving;
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "work() of worker 2 returned in step 3 before "
                                        "dsgd_next_step() was false");
}

/**
 * Worker 0 fails for ever. Workers that send requests to worker 0 hang, even if the other workers
 * soon reach the end of the run.
 */
TEST(a_wait_for_a_stopped_worker_hangs)
{
    support_case *c = support_new("ad_psgd", 4);
    dsgd_failure_event stop = {.worker = 0, .at_s = 3};
    support_dies(c, 1, &stop);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "waits in dsgd_pair_average for worker 0 since");
    ck_assert_has(got->result.why.text, ", after worker 0 had failed: ");
}

/** A failure after the end of the run has no effect. */
TEST(a_failure_after_the_end_stops_no_worker)
{
    support_case *c = support_new("allreduce", 4);
    dsgd_failure_event stop = {.worker = 0, .at_s = 2.1};
    support_dies(c, 1, &stop);
    c->workload.bytes = 4e9; /* at the end of the run, all workers wait in the allreduce */
    c->config.until = (dsgd_until){.seconds = 2.05};
    support_ok(c);
}

/**
 * Worker 0 starts an exchange after its failure, at the end of its step. The exchange must still be
 * completed. The loop variable _i selects the network.
 */
TEST_RANGE(a_failing_worker_completes_begun_exchanges, 0, 2)
{
    support_case *c = support_new("dasgd", 4);
    /* the step of worker 0 ends at 2 s and then starts an average */
    dsgd_failure_event stop = {.worker = 0, .at_s = 1.5};
    support_dies(c, 1, &stop);
    OPTIONS(c, {"tau", 2}, {"d", 1});
    c->workload.step_s = 1;
    c->config.until = (dsgd_until){.seconds = 3.5}; /* the next average would wait for worker 0 */
    c->config.network = _i;
    support_ok(c);
}

/* --- Tests of late workers that do not hang --------------------------------------------------- */

static const char *const late[][3] = {
    {"slow", "factor", "100"}, {"delay", "seconds", "7.7"}, {"ramp", "seconds", "1.3"}};

enum { N_LATE = sizeof late / sizeof late[0] };

/**
 * A message may take many times as long as the run. The run does not count as hanging while such a
 * message is in flight.
 */
TEST(a_run_does_not_hang_while_a_message_is_on_its_way)
{
    support_case *c = support_new("allreduce", 4);
    SET(c, workload.bytes = 4e12, config.until = (dsgd_until){.seconds = 1.05});
    support_ok(c);
}

/**
 * Many messages pass the NIC of a server one after another, for 1.6e9 s. The run must not count as
 * hanging.
 */
TEST(a_run_does_not_hang_on_a_slow_network)
{
    support_case *c = support_no_learning(support_new("easgd", 49));
    SET(c, platform.host_bandwidth_bytes_per_s = 1, workload.bytes = 32e6);
    for (int i = 0; i < 2; i++) {
        c->config.until = i == 0 ? (dsgd_until){.seconds = 1.05} : (dsgd_until){.steps = 4};
        support_ok(c);
    }
}

/** The loop variable _i is the index of the algorithm. */
TEST_RANGE(a_run_with_late_workers_does_not_hang, 0, support_n_algorithms())
{
    for (int i = 0; i < N_LATE * N_BOUNDS * 2; i++) {
        support_case *c = bounded(dsgd_algorithms[_i]->name, WORKERS, i % N_BOUNDS);
        const char *const *const how = late[i / N_BOUNDS % N_LATE];
        support_no_learning(c);
        support_set(dsgd_entry_find(dsgd_imbalance_kinds, how[0]), support_imbalance(c, how[0]),
                    how[1], strtod(how[2], NULL));
        /* a vector of 30 GB takes 3 s */
        c->workload.bytes = i / N_BOUNDS / N_LATE == 0 ? 30e9 : 1e6;
        SET(c, config.exchange.pieces = 3, config.exchange.blocking = i % 2 == 0);
        support_ok(c);
    }
}

/**
 * A test algorithm in which worker r makes r + 1 times as many steps per round as worker 0. Fast
 * workers are therefore many steps ahead of the workers that wait for them.
 */
static void rounds_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const long period = 3 * (self->rank + 1);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % period == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

TEST_ALGORITHM(rounds, .work = rounds_work);

TEST(rounds_may_have_different_steps_per_worker)
{
    for (double seconds = 2.5; seconds < 80; seconds += 5) {
        support_case *c = support_of(&rounds, WORKERS);
        c->config.until = (dsgd_until){.seconds = seconds};
        support_ok(c);
    }
}

/**
 * Some workers continue after the end of the run until all waits are over. The continued steps must
 * not change the counts of the run.
 */
TEST(nothing_counts_after_the_end)
{
    for (int i = 0; i < support_n_algorithms(); i++) {
        support_case *c = support_new(dsgd_algorithms[i]->name, WORKERS);
        support_imbalance_number(c, "ramp", "seconds", 0.3);
        SET(c, workload.bytes = 3e9, config.until = (dsgd_until){.seconds = 11.05});
        const support_outcome *got = support_ok(c);
        ck_assert_double_eq(got->result.virtual_s, 11.05);
        ck_assert_double_le(got->result.steps, 11);
        ck_assert_double_le(got->result.ideal_s, 11.05);
        ck_assert_double_le(got->result.bytes / 10e9 / WORKERS / 2, 11.05);
    }
}

/* --- misused requests ------------------------------------------------------------------------- */

static void ends_twice(dsgd_node *self, dsgd_vector *x)
{
    dsgd_request *const sum = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_request_wait(self, sum, x);
    if (self->rank == 3 && self->step == 5)
        dsgd_request_wait(self, sum, x);
}

/**
 * A fault in which a worker waits for a request that has already ended. The next request has
 * started in the meantime, perhaps at the same address.
 */
static void ends_the_one_before(dsgd_node *self, dsgd_vector *x)
{
    dsgd_request *const first = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_request_wait(self, first, x);
    dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_request_wait(self, first, x);
}

static void ends_anothers(dsgd_node *self, dsgd_vector *x)
{
    static dsgd_request *sum;
    if (self->rank == 0)
        sum = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
    dsgd_barrier(self);
    dsgd_request_wait(self, sum, x);
}

static void calls_other_collectives(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 0)
        dsgd_allreduce_sum(self, x, DSGD_WORLD);
    else
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
}

static void answers_anyone_and_one(dsgd_node *self, dsgd_vector *x)
{
    if (self->rank == 1)
        dsgd_pair_average(self, x, 0);
    dsgd_pair_answer(self, x, DSGD_ANYONE);
    dsgd_pair_answer(self, x, 1);
}

static const struct {
    fault *fault;
    const char *says;
} misuses[] = {
    {ends_twice, "worker 3 waits in step 5 for a request that is not under way"},
    {ends_the_one_before, "waits in step 0 for a request that is not under way"},
    {ends_anothers, "waits in step 0 for a request that is not under way: it "
                    "has ended already, or another worker began it"},
    {calls_other_collectives, "all must call the same in one order"},
    {answers_anyone_and_one, "worker 0 calls dsgd_pair_answer() of a worker in step 0, but before "
                             "of DSGD_ANYONE"},
};

enum { N_MISUSES = sizeof misuses / sizeof misuses[0] };

TEST_RANGE(misused_requests_and_collectives_are_bugs, 0, N_MISUSES)
{
    support_case *c = support_of(&breaking, WORKERS);
    broken = misuses[_i].fault;
    support_expect_abort(c, misuses[_i].says);
}
