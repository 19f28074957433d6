/**
 * @file test_messages.c
 * Tests messages: their cost, their whole and ordered arrival, waits for some messages or for a
 * deadline, and dropped messages.
 */
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static const double number_s = 8 / 10e9; /* time in seconds that one number takes on the wire */

/* --- a worker and a server -------------------------------------------------------------------- */

/**
 * A test server that adds each received update u to its model x. The answer contains the model and
 * the number of messages so far.
 */
static void adding_serve(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    double version = 0;
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        dsgd_message_used(self, l, (long)(version - l->numbers[0]));
        dsgd_combine(self, x, 1, 1, l->x);
        version++;
        dsgd_send(self, l->from, x, &version, 1);
    }
}

static void adding_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *u = dsgd_vector_new(self);
    dsgd_vector *fetched = dsgd_vector_new(self);
    double version = 0;
    dsgd_copy(self, fetched, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_copy(self, u, x);
        dsgd_combine(self, u, 1, -1, fetched);
        dsgd_send(self, dsgd_server_address(self, 0), u, &version, 1);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        version = l->numbers[0];
        dsgd_copy(self, x, l->x);
        dsgd_copy(self, fetched, x);
    }
}

TEST_ALGORITHM(adding, .work = adding_work, .serve = adding_serve);

SUITE(messages, "messages", .seconds = 60);

TEST(a_message_and_its_answer_take_their_closed_form)
{
    support_case *c = costly(NULL, 1);
    c->config.algorithm = &adding;
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s / 10 - 1, 2 * (wire_s + number_s + treated_s));
    ck_assert_uint_eq(got->result.messages, 20);
    ck_assert_double_eq(got->result.bytes, 20 * (1e6 + 8));
}

static void noticing_serve(dsgd_node *self)
{
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        dsgd_send(self, l->from, NULL, l->numbers, 1);
    }
}

static void noticing_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        dsgd_send(self, dsgd_server_address(self, 0), NULL, &(double){(double)self->step}, 1);
        dsgd_recv(self, INFINITY);
    }
}

TEST_ALGORITHM(noticing, .work = noticing_work, .serve = noticing_serve);

/**
 * With this reduction cost, the reduction of a vector would take a day. A message without a vector
 * must not take this time.
 */
TEST(a_message_without_a_vector_reduces_nothing)
{
    support_case *c = costly(NULL, 1);
    c->config.algorithm = &noticing;
    c->platform.reduction_s_per_byte = 0.1;
    const double one_way_s = latency_s + number_s + overhead_s;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1, 2 * one_way_s);
}

/**
 * A receiver adds one piece after another. Its answer leaves when all pieces have arrived. In each
 * direction, the latency of only one of the four pieces is visible.
 */
TEST(an_answer_follows_the_whole_message)
{
    support_case *c = costly(NULL, 1);
    c->config.algorithm = &adding;
    SET(c, config.exchange.pieces = 4, config.exchange.overlap = false);
    const double piece_s =
        latency_s + overhead_s + (wire_s - latency_s) / 4 + (treated_s - overhead_s) / 4;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1,
                 2 * (4 * piece_s + number_s) - 6 * latency_s);
}

static int two_servers(const void *params, int n_workers)
{
    return 2;
}

/**
 * A test algorithm with two servers. Server 0 adds each update to its model, answers, and also
 * sends the model to server 1. Server 1 sends one message to server 0 at the start. Both servers
 * run for ever.
 */
static void telling_serve(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    double version = 0;
    if (self->rank == 1)
        dsgd_send(self, dsgd_server_address(self, 0), x, &version, 1);
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        dsgd_send(self, dsgd_server_address(self, 1), x, &version, 1);
        dsgd_combine(self, x, 1, 1, l->x);
        version++;
        dsgd_send(self, l->from, x, &version, 1);
    }
}

static const dsgd_algorithm telling = {.about = {.name = "telling"},
                                       .work = adding_work,
                                       .serve = telling_serve,
                                       .n_servers = two_servers,
                                       .traits = DSGD_WHOLE_SERVERS};

/**
 * Server 1 is 100 s away in each direction. Messages between the servers must not make a worker
 * wait. Messages are not cut into pieces.
 */
TEST(messages_between_servers_delay_no_worker)
{
    static dsgd_platform_entry far = {.first = 2, .count = 1, .speed = 1, .bandwidth = 1e-6};
    support_case *c = costly(NULL, 1);
    c->platform.hosts = (dsgd_structs){1, &far};
    c->config.algorithm = &telling;
    const support_outcome *got = support_ok(c);
    const double want_s = 2 * (wire_s + number_s + treated_s);
    ck_assert_double_eq_tol(got->result.virtual_s / 10 - 1, want_s, 0.02 * want_s);
    ck_assert_uint_eq(got->result.n_pieces, 1);
    ck_assert_uint_eq(got->result.messages, 31);
}

/**
 * A test algorithm with two servers. Server 0 adds updates, and server 1 keeps its initial model.
 */
static void halving_serve(dsgd_node *self)
{
    if (self->rank == 1)
        dsgd_recv(self, INFINITY); /* server 1 receives no messages */
    adding_serve(self);
}

static const dsgd_algorithm halving = {.about = {.name = "halving"},
                                       .work = adding_work,
                                       .serve = halving_serve,
                                       .n_servers = two_servers,
                                       .traits = DSGD_OUTPUT_SERVERS | DSGD_WHOLE_SERVERS};

/**
 * Server 0 has the first update and server 1 does not. The output is the mean of both models, so
 * one step counts as half a step.
 */
TEST(the_output_of_whole_servers_is_their_mean)
{
    support_case *c = support_of(&halving, 1), *alone = support_of(&support_alone, 1);
    c->config.until.steps = alone->config.until.steps = 1;
    alone->learning.optimizer.lr /= 2;
    const support_outcome *got = support_ok(c), *want = support_ok(alone);
    const double loss = want->points[want->result.n_points - 1].at.loss;
    ck_assert_double_lt(loss, 0.99 * want->points[0].at.loss);
    ck_assert_double_eq_tol(got->points[got->result.n_points - 1].at.loss / loss, 1, 4e-14);
}

/**
 * A server that works with messages of whole vectors must equal the parameter server dsgd_serve(),
 * which answers piece by piece. The loop variable _i is the number of workers.
 */
TEST_RANGE(a_server_of_messages_equals_dsgd_serve, 1, 6)
{
    support_case *c = support_of(&adding, _i), *served = support_new("a_psgd", _i);
    support_imbalance_number(c, "ramp", "seconds", 0.13);
    support_imbalance_number(served, "ramp", "seconds", 0.13);
    const support_outcome *got = support_ok(c), *want = support_ok(served);
    ck_assert_double_eq_tol(got->result.virtual_s, want->result.virtual_s, 1e-6);
    ck_assert(support_distance(got->final_mean, want->final_mean, got->n_params) <
              support_rounding());
    ck_assert_double_eq(got->result.gradient_staleness_mean, want->result.gradient_staleness_mean);
    ck_assert_double_eq(got->result.gradient_staleness_max, want->result.gradient_staleness_max);
}

/** A test server whose optimizer makes a step with each gradient that workers send. */
static void optimizing_serve(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        support_current->note[0] = dsgd_learning_rate(self);
        dsgd_local_step(self, x, l->x);
        dsgd_send(self, l->from, x, NULL, 0);
    }
}

static void optimized_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_send(self, dsgd_server_address(self, 0), g, NULL, 0);
        dsgd_copy(self, x, dsgd_recv(self, INFINITY)->x);
    }
}

TEST_ALGORITHM(optimizing, .work = optimized_work, .serve = optimizing_serve);

/**
 * The server must use its own momentum, its own count of steps (for Adam), and its own falling
 * learning rate. The loop variable _i selects the optimizer and the number of pieces.
 */
TEST_RANGE(a_server_has_an_optimizer_of_its_own, 0, 4)
{
    support_case *c = support_new(NULL, 1);
    c->config.exchange.pieces = 1 + _i / 2;
    c->drop = (dsgd_lr_drop){.step = 12, .factor = 0.1};
    c->learning.optimizer.decay = (dsgd_structs){1, &c->drop};
    c->learning.optimizer.warmup_steps = 3;
    if (_i % 2 == 1)
        c->learning.optimizer.kind = DSGD_OPTIMIZER_ADAMW;
    c->config.algorithm = &optimizing;
    const support_outcome *got = support_ok(c);
    c->config.algorithm = &support_alone;
    const support_outcome *want = support_ok(c);
    ck_assert(support_distance(got->x, want->x, got->n_params) < support_rounding());
    ck_assert_double_eq_tol(got->note[0], 0.005, 1e-15);
}

/**
 * Worker 0 sends every other piece of its model to worker 1, which copies these pieces into its own
 * model.
 */
static void fragment_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *zeros = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->step > 0)
            continue;
        dsgd_copy(self, x, zeros);
        if (self->rank == 0)
            dsgd_combine(self, x, 0, 1, g);
        if (self->rank == 0)
            dsgd_send(self, 1, support_fragment(self, x, 1, 2), NULL, 0);
        else if (self->rank == 1)
            dsgd_copy(self, support_fragment(self, x, 1, 2), dsgd_recv(self, INFINITY)->x);
    }
}

TEST_ALGORITHM(fragment, .work = fragment_work);

TEST(a_message_may_have_a_fragment)
{
    support_case *c = support_of(&fragment, 2);
    c->config.exchange.pieces = 4;
    const support_outcome *got = support_ok(c);
    const size_t n = got->n_params;
    ck_assert_uint_eq(got->result.messages, 2);
    ck_assert_double_eq_tol(got->result.bytes, 0.5e6, 1);
    size_t same = 0, zeros = 0;
    for (size_t i = 0; i < n; i++) {
        same += got->x[n + i] == got->x[i] && got->x[i] != 0;
        zeros += got->x[n + i] == 0;
    }
    ck_assert_uint_eq(same + zeros, n);
    ck_assert(same > n / 3 && zeros > n / 3);
}

/* --- Tests of waits for the messages of some neighbours --------------------------------------- */

enum { FEW = 4, LATE = 3 };

/*
 * Number of messages for which a worker waits in a step. Like patience_s, it is set before the
 * simulation forks.
 */
static int wanted;
static double patience_s;

/**
 * Each worker sends its model of a step to all workers, and waits for `wanted` messages. Worker
 * LATE needs 1.3 s for a step. In its third step, worker 0 stores the number of messages of that
 * step, the sum of their senders' ranks, and the time when it continued. It also counts the
 * messages of earlier steps that it receives in the whole run.
 */
static void some_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    double *const note = support_current->note;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        for (int to = 0; to < self->n_workers; to++)
            if (to != self->rank)
                dsgd_send(self, to, x, &(double){(double)self->step}, 1);
        const bool notes = self->rank == 0 && self->step == 2;
        const double until_s = dsgd_time_s(self) + patience_s;
        const dsgd_message *l = NULL;
        int n = 0;
        while (n < wanted && (l = dsgd_recv(self, until_s)) != NULL) {
            n += (long)l->numbers[0] == self->step;
            note[1] += notes && (long)l->numbers[0] == self->step ? l->from : 0;
            note[3] += self->rank == 0 && (long)l->numbers[0] < self->step;
            dsgd_message_used(self, l, -1);
        }
        note[0] += notes ? n : 0;
        note[2] += notes ? dsgd_time_s(self) : 0;
    }
}

TEST_ALGORITHM(some, .work = some_work);

static support_case *with_one_late(void)
{
    support_case *c = support_of(&some, FEW);
    IMBALANCE(c, "slow", {"worker", LATE}, {"factor", 1.3});
    return c;
}

/**
 * Late messages belong to their own steps. They must not count for later steps, and must not delay
 * later steps.
 */
TEST(the_first_two_of_three_neighbours_are_enough)
{
    wanted = 2;
    patience_s = INFINITY;
    const support_outcome *got = support_ok(with_one_late());
    ck_assert_double_eq(got->note[0], 2);
    ck_assert_double_eq(got->note[1], 1 + 2);
    ck_assert_double_eq_tol(got->note[2], 3, 3 * 4e-4);
    ck_assert_double_gt(got->note[3], 10);
    ck_assert_double_gt(got->result.lag_max, 3);
}

TEST(a_deadline_ends_the_wait_for_the_third)
{
    wanted = 3;
    patience_s = 0.2;
    const support_outcome *got = support_ok(with_one_late());
    ck_assert_double_eq(got->note[0], 2);
    ck_assert_double_eq_tol(got->note[2], 3 * 1.2, 3 * 4e-4);
    /*
     * with this patience the late worker is in time, because all workers start each step together
     */
    patience_s = 0.4;
    got = support_ok(with_one_late());
    ck_assert_double_eq(got->note[0], 3);
    ck_assert_double_eq(got->note[1], 1 + 2 + 3);
    ck_assert_double_eq_tol(got->note[2], 3 * 1.3, 3 * 4e-4);
    ck_assert_double_eq(got->note[3], 0);
}

/* --- Tests of waits for several events -------------------------------------------------------- */

/**
 * A test algorithm in which worker 0 stores the result and the time of each wait. Worker 1 sends a
 * message to worker 0 after 1.5 s.
 */
static void any_work(dsgd_node *self)
{
    const unsigned all = DSGD_ON_MESSAGE | DSGD_ON_GRADIENT | DSGD_ON_REQUEST;
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *mean = dsgd_vector_new(self);
    double *note = support_current->note;
    while (dsgd_next_step(self)) {
        if (self->step == 0 && self->rank == 1) {
            dsgd_wait_any(self, DSGD_ON_MESSAGE, 1.5);
            dsgd_send(self, 0, NULL, (const double[]){3, -4.5}, 2);
        }
        dsgd_gradient(self, g, x);
        if (self->step > 0)
            continue;
        /* Worker 1 starts its collective at 1.5 s. */
        dsgd_request *const r = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
        for (int i = 0; i < 4 && self->rank == 0; i++) {
            const double until_s = i == 0 ? 0.25 : INFINITY;
            *note++ = dsgd_wait_any(self, i < 2 ? all : all & ~DSGD_ON_GRADIENT, until_s);
            *note++ = dsgd_time_s(self);
            if (i == 2)
                *note++ = dsgd_recv(self, INFINITY)->numbers[1];
        }
        dsgd_request_wait(self, r, mean);
    }
}

TEST_ALGORITHM(any, .work = any_work);

TEST(a_worker_wakes_when_the_first_of_several_things_happens)
{
    support_case *c = support_of(&any, 2);
    const double *note = support_ok(c)->note;
    ck_assert_double_eq(note[0], 0);
    ck_assert_double_eq(note[1], 0.25);
    ck_assert_double_eq(note[2], DSGD_ON_GRADIENT);
    ck_assert_double_eq(note[3], 1);
    ck_assert_double_eq(note[4], DSGD_ON_MESSAGE);
    ck_assert_double_eq_tol(note[5], 1.5, 2e-5);
    ck_assert_double_eq(note[6], -4.5);
    ck_assert_double_eq(note[7], DSGD_ON_REQUEST);
    ck_assert_double_eq_tol(note[8], 1.5, 1e-3);
}

/* --- dropped messages ------------------------------------------------------------------------- */

/** A test server that drops every other message. */
static void dropping_serve(dsgd_node *self)
{
    for (long i = 0;; i++) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        if (i % 2 == 0)
            dsgd_message_drop(self, l);
        dsgd_send(self, l->from, NULL, NULL, 0);
    }
}

/**
 * If params is NULL, a worker waits for an answer. Otherwise it does not wait, and its step is over
 * when its message is dropped.
 */
static void dropped_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_send(self, self->n_workers, g, NULL, 0);
        if (self->params == NULL)
            dsgd_recv(self, INFINITY);
    }
}

TEST_ALGORITHM(dropping, .work = dropped_work, .serve = dropping_serve);

/** If _i is 0, workers wait for an answer. */
TEST_RANGE(samples_of_dropped_messages_do_not_count, 0, 2)
{
    support_case *c = support_of(&dropping, 1);
    SET(c, config.params = _i == 0 ? NULL : c, config.until.steps = 10);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, 10);
    ck_assert_double_eq(got->result.samples, 5 * 128);
    ck_assert_uint_eq(got->result.dropped, 5);
}

/* --- order of messages ------------------------------------------------------------------------ */

/**
 * Sends three messages in this order: a vector of several chunks, a part of the vector, and a
 * single number without a vector.
 */
static void send_three(dsgd_node *self, int to, dsgd_vector *x, dsgd_vector *part, double *number)
{
    dsgd_vector *const vectors[] = {x, part, NULL};
    for (int i = 0; i < 3; i++) {
        dsgd_send(self, to, vectors[i], number, 1);
        ++*number;
    }
}

/**
 * Receives three messages. Stores the number of received messages, of messages out of order, and of
 * messages with the wrong content.
 */
static void receive_three(dsgd_node *self, int from, double *number)
{
    double *const note = support_current->note;
    for (int i = 0; i < 3; i++) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        ck_assert_int_eq(l->from, from);
        note[0]++;
        note[1] += l->numbers[0] != *number;
        note[2] += (l->x == NULL) != (i == 2);
        ++*number;
    }
}

enum { TO_WORKER, TO_SERVER, FROM_SERVER };

static int way; /* number that selects the kind of sender and receiver in this run */

static void in_order_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *part = dsgd_slice(self, x, 2, 4, 1);
    dsgd_vector *g = dsgd_vector_new(self);
    double *number = dsgd_memory_new(self, 1, sizeof(double));
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (way == FROM_SERVER)
            receive_three(self, dsgd_server_address(self, 0), number);
        else if (way == TO_SERVER || self->rank == 0)
            send_three(self, way == TO_SERVER ? dsgd_server_address(self, 0) : 1, x, part, number);
        else
            receive_three(self, 0, number);
    }
}

static void in_order_serve(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *part = dsgd_slice(self, x, 2, 4, 1);
    double *number = dsgd_memory_new(self, 1, sizeof(double));
    for (long step = 0;; step++) {
        if (way == FROM_SERVER && step == 20)
            dsgd_wait_any(self, DSGD_ON_MESSAGE, INFINITY);
        else if (way == FROM_SERVER)
            send_three(self, 0, x, part, number);
        else
            receive_three(self, 0, number);
    }
}

/**
 * Messages between the same two ranks must not overtake each other, as in MPI, although messages
 * with several pieces take longer. The loop variable _i selects the way, the number of pieces, and
 * whether exchanges block.
 */
TEST_RANGE(messages_of_one_pair_come_in_the_order_of_sending, 0, 12)
{
    static const dsgd_algorithm ordered[] = {
        {.about = {.name = "ordered"}, .work = in_order_work},
        {.about = {.name = "ordered"}, .work = in_order_work, .serve = in_order_serve},
    };
    way = _i % 3;
    support_case *c = costly(NULL, way == TO_WORKER ? 2 : 1);
    c->config.algorithm = &ordered[way != TO_WORKER];
    SET(c, config.exchange.pieces = _i / 3 % 2 == 0 ? 4 : 7, config.exchange.blocking = _i / 6 == 0,
        config.until = (dsgd_until){.seconds = 12.5});
    const support_outcome *got = support_ok(c);
    ck_assert_double_ge(got->note[0], 3 * 10);
    ck_assert_double_eq(got->note[1], 0);
    ck_assert_double_eq(got->note[2], 0);
}

/* --- misuse ----------------------------------------------------------------------------------- */

static void astray_work(dsgd_node *self)
{
    while (dsgd_next_step(self))
        dsgd_send(self, self->n_workers + 1, NULL, NULL, 0);
}

TEST_ALGORITHM(astray, .work = astray_work);

TEST(a_message_to_a_missing_receiver_is_rejected)
{
    support_case *c = support_of(&astray, 2);
    support_expect_abort(c,
                         "rank 0 sends a message to 3 in step 0, but others are 0 to 1 (workers, "
                         "then 0 servers)");
}

/* --- Tests of messages to several receivers --------------------------------------------------- */

/**
 * A test algorithm that sends the model to both neighbours on a ring and averages. The two messages
 * are sent by two calls, one after the other.
 */
static void around_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *sent = dsgd_vector_new(self);
    const int p = self->n_workers;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_copy(self, sent, x);
        dsgd_send(self, (self->rank + 1) % p, sent, NULL, 0);
        dsgd_send(self, (self->rank + p - 1) % p, sent, NULL, 0);
        for (int i = 0; i < 2; i++)
            dsgd_combine(self, x, 1 - 1.0 / (2 + i), 1.0 / (2 + i), dsgd_recv(self, INFINITY)->x);
    }
}

TEST_ALGORITHM(around, .work = around_work);

/**
 * Pieces leave for all receivers as soon as they are ready, as in gossip. Four pieces become ready
 * in the last 0.2 s of a step of 0.3 s. Only the last piece is exposed. This piece takes 25 ms to
 * each neighbour.
 */
TEST(pieces_leave_for_several_receivers_as_they_get_ready)
{
    double time_s[2];
    for (int i = 0; i < 2; i++) {
        support_case *const c = support_new(i == 0 ? "d_psgd" : NULL, 4);
        if (i == 1)
            c->config.algorithm = &around;
        support_no_learning(c);
        SET(c, platform.host_bandwidth_bytes_per_s = 1e9, platform.host_latency_s = 0);
        c->workload = (dsgd_workload){.bytes = 100e6, .step_s = 0.3, .backward_share = 2.0 / 3};
        SET(c, config.exchange.pieces = 4, config.exchange.blocking = false,
            config.until.steps = 10);
        time_s[i] = support_ok(c)->result.virtual_s / 10;
    }
    expect_close(time_s[0], 0.35);
    expect_close(time_s[1], 0.35);
}
