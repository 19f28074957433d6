/**
 * @file test_server.c
 * Tests servers. Pushes and fetches take their closed forms, also with several servers, and wait
 * for the values that they send. At a server, the bytes of messages and their processing queue,
 * while latencies overlap.
 */
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(server, "server", .seconds = 60);

/**
 * A push takes the time of its message plus the time of the answer. With several pieces, the
 * answers travel at the same time as later pushes, so only the last answer adds time.
 */
TEST_RANGE(a_push_and_its_answer_take_their_closed_form, 1, 9)
{
    const double pieces = _i;
    support_case *c = costly("a_psgd", 1);
    c->config.exchange.pieces = _i;
    c->config.exchange.overlap = false; /* all pieces are pushed after the computation */
    const double step_s = support_ok(c)->result.virtual_s / 10;
    const double piece_s =
        latency_s + overhead_s + (wire_s - latency_s) / pieces + (treated_s - overhead_s) / pieces;
    expect_close(step_s - 1, (pieces + 1) * piece_s);
}

/**
 * Two workers push at once. The server receives and adds one push after the other. The server
 * answers the first push while it receives the second push, whose latency overlaps with the first
 * push.
 */
TEST(pushes_and_answers_take_turns_at_a_server)
{
    support_case *c = costly("a_psgd", 2);
    c->config.steps_each = 1;
    expect_close(support_ok(c)->result.virtual_s - 1, 3 * (wire_s + treated_s) - latency_s);
}

/**
 * Workers that arrive together visit the servers one after another, and all workers visit them in
 * the same order. Server s is busy from the arrival of the first worker's part on, which comes s
 * parts later than at server 0. A round therefore takes the time of all workers' parts at one
 * server. The latencies of all parts overlap. At the end, the last worker processes the answers of
 * all servers. The loop variable _i selects the numbers of servers and workers.
 */
TEST_RANGE(several_servers_are_busy_at_once, 0, 4 * 9)
{
    const int servers = 1 + _i / 9, workers = 1 + _i % 9;
    support_case *c = costly("a_psgd", workers);
    support_option(c, "servers", servers);
    SET(c, config.steps_each = 1, config.exchange.overlap = false);
    const double wire_part_s = latency_s + (wire_s - latency_s) / servers;
    const double treated_part_s = overhead_s + (treated_s - overhead_s) / servers;
    expect_close(support_ok(c)->result.virtual_s - 1,
                 (workers + 1) * (wire_part_s + treated_part_s) + (servers - 1) * treated_part_s -
                     (workers - 1) * latency_s);
}

/* --- Tests of servers with a high latency ----------------------------------------------------- */

/* the bytes of a message of 1 kB take a hundred thousandth of this latency */
static const double far_s = 10e-3;

/** Makes a run with steps of 1 s and messages of 1 kB over a high latency. */
static support_case *far_away(const char *algorithm, int workers, int network)
{
    support_case *const c = support_no_learning(support_new(algorithm, workers));
    c->platform.host_latency_s = far_s;
    c->workload.bytes = 1e3;
    c->config.network = network;
    c->config.steps_each = 3;
    return c;
}

/**
 * Algorithms by their kind of waiting. With ALONE, a worker gets its answer after its own
 * latencies, and the last of P workers gets it P - 1 messages later. With FETCHES, a worker only
 * fetches. With TOGETHER, a worker waits for all other workers.
 */
static const struct {
    const char *algorithm;
    struct {
        const char *name;
        double value;
    } option;
    int numbers; /* number of values in a message */
    enum { ALONE, FETCHES, TOGETHER } waits;
} far_kinds[] = {{"a_psgd", {NULL, 0}, 0, ALONE},
                 {"ssp", {"slack", -1}, 0, ALONE},
                 {"ringmaster", {"delay", -2}, 0, ALONE},
                 {"async_local_sgd", {"period", 1}, 1, TOGETHER},
                 {"easgd", {"period", 1}, 0, FETCHES},
                 {"ssp", {"slack", 0}, 0, TOGETHER},
                 {"backup_workers", {"backups", 0}, 1, TOGETHER}};

enum { N_FAR = sizeof far_kinds / sizeof far_kinds[0] };

/**
 * A request and its answer each cross the network once, independently of the number of workers.
 * Only their bytes queue. A worker that waits for all others waits for all their requests, and for
 * up to all answers.
 */
TEST_RANGE(latencies_of_all_workers_overlap_at_a_server, 0, 2 * 3 * N_FAR)
{
    static const int counts[] = {4, 32, 256};
    const int kind = _i % N_FAR;
    const int workers = counts[_i / N_FAR % 3];
    support_case *const c = far_away(far_kinds[kind].algorithm, workers, _i / N_FAR / 3);
    if (far_kinds[kind].option.name != NULL)
        support_option(c, far_kinds[kind].option.name, far_kinds[kind].option.value);
    const double bytes_s = (1e3 + 8 * far_kinds[kind].numbers) / bandwidth;
    const int in_turn = far_kinds[kind].waits == TOGETHER  ? workers + 1
                        : far_kinds[kind].waits == FETCHES ? 1
                                                           : 2;
    expect_close(support_ok(c)->result.virtual_s / 3 - 1,
                 2 * far_s + (in_turn + (workers - 1) / 3.0) * bytes_s);
}

/**
 * In each round of Rennala, the server notifies workers that they may continue, or that there is a
 * newer model. A worker then requests this model and receives it.
 */
TEST_RANGE(a_round_of_rennala_takes_four_latencies, 0, 2 * 3)
{
    static const int counts[] = {4, 32, 256};
    support_case *const c = far_away("rennala", counts[_i % 3], _i / 3);
    c->config.steps_each = 0;
    c->config.until.steps = 20;
    const double step_s = support_ok(c)->result.virtual_s / 20;
    ck_assert_double_gt(step_s, 1 + 3 * far_s);
    ck_assert_double_lt(step_s, 1 + 4.1 * far_s);
}

/**
 * While a push of worker 1 is in flight, a notice of a newer model arrives. Worker 1 requests this
 * model before its push has arrived.
 */
TEST_RANGE(a_request_leaves_while_a_push_is_in_flight, 0, 2)
{
    support_case *const c = far_away("ringmaster", 2, _i == 0);
    support_option(c, "delay", 1);
    IMBALANCE(c, "slow", {"worker", 1}, {"factor", 1 + 1.6 * far_s});
    SET(c, config.steps_each = 0, config.until.steps = 1);
    /* an upper limit; without the time of the bytes, the result would be 4 latencies */
    const double bytes_s = (3 * 1e3 + 8) / bandwidth;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 1 + 4 * far_s, bytes_s);
}

/**
 * If latencies are much shorter than the time of the bytes, the bytes of all workers queue, also
 * for a thousand workers.
 */
TEST(bytes_of_a_thousand_workers_queue_at_a_server)
{
    support_case *const c = far_away("a_psgd", SUPPORT_SLOW ? 50 : 1000, !SUPPORT_SLOW);
    SET(c, platform.host_latency_s = latency_s, workload.bytes = 1e8, config.steps_each = 1);
    expect_close(support_ok(c)->result.virtual_s - 1,
                 (c->config.workers + 1) * 1e8 / bandwidth + 2 * latency_s);
}

/**
 * Messages that share a worker's link arrive later than they would without the other messages. The
 * next message then waits for them, as in a network without latency. If the next message overlapped
 * with them, it would delay all messages.
 */
TEST(messages_that_others_slow_do_not_overlap)
{
    double time_s[2];
    for (int i = 0; i < 2; i++) {
        support_case *const c = far_away("easgd", 256, !SUPPORT_SLOW);
        OPTIONS(c, {"servers", 8}, {"period", 1});
        SET(c, platform.host_latency_s = i * latency_s, workload.bytes = 1e8, workload.step_s = 0.1,
            config.exchange.blocking = false, config.steps_each = 2);
        time_s[i] = support_ok(c)->result.virtual_s;
    }
    ck_assert_double_lt(fabs(time_s[1] / time_s[0] - 1), 0.05);
}

/* --- Tests of the order of pushes and fetches ------------------------------------------------- */

/**
 * A test algorithm that starts a fetch during a local step. If params is not NULL, it also pushes
 * gradients to the server.
 */
static void hasty_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->params != NULL)
            dsgd_server_exchange(self, g, NULL);
        dsgd_server_exchange(self, NULL, x);
    }
}

TEST_ALGORITHM(hasty, .work = hasty_work, .serve = dsgd_serve);

TEST(a_push_waits_for_the_gradient_and_a_fetch_for_the_local_step)
{
    support_case *c = costly(NULL, 1);
    c->config.algorithm = &hasty;
    SET(c, config.steps_each = 3, config.learning = &c->learning);
    const support_outcome *fetched = support_ok(c);
    ck_assert_double_eq(fetched->result.virtual_s, 3);
    ck_assert_mem_eq(fetched->final_mean, fetched->x, fetched->n_params * sizeof(double));
    c->config.params = c; /* if params is set, the worker also pushes gradients */
    expect_close(support_ok(c)->result.virtual_s / 3 - 1,
                 2 * (wire_s + treated_s + latency_s + overhead_s));
}
