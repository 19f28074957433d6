/**
 * @file test_exchange.c
 * Tests exchanges by chunks, tensors or buckets, concurrent exchanges, and the overlap of exchanges
 * with the backward pass.
 */
#include "sim/engine/vectors.h"
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(exchange, "exchange", .seconds = 60);

/**
 * A gossip step of D-PSGD on a ring takes two overheads (one per neighbour), but only one pass over
 * memory. The pass reads three vectors and writes one vector. An addition of one vector to another
 * reads two vectors and writes one.
 */
TEST(neighbours_share_a_link_and_one_pass_averages_them)
{
    const double step_s = support_ok(costly("d_psgd", 8))->result.virtual_s / 10;
    const double pass_s = 4.0 / 3 * reduction_s_per_byte * bytes;
    expect_close(step_s - 1, wire_s + bytes / bandwidth + 2 * overhead_s + pass_s);
}

enum { DRAWN_BY = 7 };

/**
 * A test algorithm that adds four draws in each step, and subtracts the values that the
 * documentation specifies for these draws. Each draw therefore adds exactly 1.
 */
static void drawing_work(dsgd_node *self)
{
    while (dsgd_next_step(self))
        for (uint32_t i = 0; i < 4; i++) {
            const dsgd_draw at = {DRAWN_BY, DSGD_DRAW_ALGORITHM, (uint32_t)self->rank,
                                  (uint32_t)self->step, i};
            support_current->note[self->rank] += 1 + dsgd_random_below(self, 1000);
            support_current->note[self->rank] -= dsgd_draw_below(at, 1000);
        }
}

TEST_ALGORITHM(drawing, .work = drawing_work);

TEST(draws_are_functions_of_seed_rank_step_and_their_number)
{
    support_case *c = support_no_learning(support_of(&drawing, 3));
    SET(c, config.seed = DRAWN_BY, config.steps_each = 2);
    const support_outcome *got = support_ok(c);
    for (int w = 0; w < 3; w++)
        ck_assert_double_eq(got->note[w], 2 * 4);
}

/**
 * A test algorithm in which all workers send half of their values to worker 0. The push-sum weights
 * are then no longer 1.
 */
static void collecting_work(dsgd_node *self)
{
    static const int first[] = {0}, others[] = {1, 2, 3, 4};
    static const double half[] = {0.5};
    const bool collects = self->rank == 0;
    const dsgd_neighbours with = {.n_to = !collects,
                                  .n_from = collects ? 4 : 0,
                                  .to = first,
                                  .from = others,
                                  .keep = collects ? 1 : 0.5,
                                  .share = half,
                                  .promises = DSGD_PROMISE_COLUMNS};
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_gossip(self, x, &with);
    }
}

TEST_ALGORITHM(collecting, .work = collecting_work);

/**
 * Some runs end at instants when half of the second messages have arrived. The sum of weights
 * covers all pieces.
 */
TEST(weights_at_workers_and_in_flight_sum_to_the_workers)
{
    for (int half_steps = 1; half_steps <= 20; half_steps++) {
        support_case *c = support_of(&collecting, 5);
        SET(c, workload.bytes = 4e9, config.exchange.pieces = 3,
            config.until = (dsgd_until){.seconds = 0.5 * half_steps + 0.1});
        support_imbalance_number(c, "ramp", "seconds", 0.17);
        ck_assert_double_eq_tol(support_ok(c)->weight, 5, 1e-12);
    }
}

TEST_RANGE(number_of_exchanges_equals_pieces_tensors_or_buckets, 0, 3)
{
    static dsgd_tensors tensors[] = {{1000, 3}, {5000, 2}};
    static const dsgd_exchange_config ways[] = {
        {.pieces = 2},
        {.pieces = DSGD_PIECES_TENSORS},
        {.pieces = DSGD_PIECES_BUCKETS, .bucket_bytes = 8000}};
    static const uint64_t exchanges[] = {2, 5, 3};
    support_case *c = costly("allreduce", 2);
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_structs){2, tensors};
    for (int blocking = 0; blocking < 2; blocking++) {
        SET(c, config.exchange = ways[_i],
            config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
            config.exchange.blocking = blocking);
        const support_outcome *got = support_ok(c);
        ck_assert_uint_eq(got->result.messages, 2 * 10 * exchanges[_i]);
        ck_assert_double_eq_tol(got->result.bytes, 2 * 10 * 4 * 13000, 1e-6);
        ck_assert_double_eq_tol(got->result.link_s, 10 * 4 * 13000 / bandwidth, 1e-12);
    }
}

static void exchanging_beside_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_request *const sum = dsgd_collective_begin(self, DSGD_ALLREDUCE, x, DSGD_WORLD);
        dsgd_gradient(self, g, x);
        dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY);
        if (self->rank == 1 && self->step == 0)
            continue; /* worker 1 stops in this step, so it does not continue */
        dsgd_request_wait(self, sum, x);
    }
}

TEST_ALGORITHM(exchanging_beside, .work = exchanging_beside_work);

/**
 * Three pieces take 0.7 s each, one after another. Worker 1 stops in the middle of the second
 * piece. Worker 1 still sends the rest of the second piece, but not the third piece.
 */
TEST(a_stopping_worker_completes_its_current_piece)
{
    support_case *c = support_no_learning(support_of(&exchanging_beside, 2));
    dsgd_failure_event stop = {1, 0.5};
    support_dies(c, 1, &stop);
    SET(c, workload.bytes = 21e9, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.pieces = 3, config.exchange.blocking = true);
    const support_outcome *const got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_uint_eq(got->result.messages, 4);
    ck_assert_double_eq_tol(got->result.bytes, 4 * 7e9, 1);
}

/**
 * The exchange of a piece takes 0.1 s, which is only overhead. Four concurrent exchanges take as
 * long as one exchange.
 */
TEST(nonblocking_exchanges_run_concurrently)
{
    support_case *c = costly("local_sgd", 2);
    support_option(c, "period", 1);
    c->platform.message_overhead_s = 0.1;
    c->config.exchange = (dsgd_exchange_config){
        .pieces = 4, .blocking = true, .collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING};
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.4, 0.02);
    c->config.exchange.blocking = false;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.1, 0.02);
}

TEST(overlap_hides_all_but_the_last_piece)
{
    support_case *c = support_no_learning(support_of(&support_averaging, 4));
    /*
     * an exchange of a 100 MB piece takes 2 phases of 40 ms; the next piece is ready after 125 ms
     */
    c->workload.bytes = 400e6;
    SET(c, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.pieces = 4, config.until.steps = 10);
    const double piece_s = 2 * (100e6 / bandwidth + latency_s);
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + piece_s);
    c->config.exchange.overlap = false;
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + 4 * piece_s);
}

/**
 * A test algorithm that makes the local step when all pieces of the gradient except the last are
 * ready.
 */
static void nearly_ready_work(dsgd_node *self)
{
    dsgd_vector *const x = dsgd_model(self), *const g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_piece_wait(g, dsgd_pieces(self, g) - 2);
        dsgd_local_step(self, x, g);
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

TEST_ALGORITHM(nearly_ready, .work = nearly_ready_work);

TEST(a_vector_is_ready_when_its_last_piece_is)
{
    support_case *c = support_no_learning(support_of(&nearly_ready, 4));
    SET(c, workload.bytes = 400e6, config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
        config.exchange.pieces = 4, config.until.steps = 10);
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + 2 * (100e6 / bandwidth + latency_s));
}

/* --- fusion ----------------------------------------------------------------------------------- */

/**
 * Returns the seconds of a negotiation: each worker in turn sends one request per tensor to rank 0.
 * The answer then goes down a binomial tree.
 */
static double negotiation_s(int workers, double n_tensors)
{
    const double message_s = overhead_s + latency_s + 64 * n_tensors / bandwidth;
    return (workers - 1 + ceil(log2(workers))) * message_s;
}

static double doubling_s(int workers, double reduced_bytes)
{
    return log2(workers) * (overhead_s + latency_s + reduced_bytes / bandwidth +
                            reduction_s_per_byte * reduced_bytes);
}

/** Makes a run with fusion and four pieces of 1 MB, which are ready together after 1 s. */
static support_case *fused(const char *algorithm, int workers, double fusion_bytes, double cycle_s)
{
    support_case *c = costly(algorithm, workers);
    c->workload.bytes = 4e6;
    c->config.exchange = (dsgd_exchange_config){.pieces = 4,
                                                .blocking = true,
                                                .collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
                                                .fusion_bytes = fusion_bytes,
                                                .cycle_s = cycle_s};
    return c;
}

TEST(without_fusion_an_exchange_is_agreed_on_and_otherwise_the_same)
{
    for (int p = 2; p <= 16; p *= 2) {
        const double step_s = support_ok(fused("allreduce", p, 1, 1e-6))->result.virtual_s / 10;
        const double expected_s = negotiation_s(p, 4) + 4 * doubling_s(p, 1e6);
        ck_assert_double_eq_tol(step_s - 1, expected_s, 2e-6);
        support_case *c = fused("allreduce", p, 0, 0);
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                expected_s - negotiation_s(p, 4), 1e-9);
    }
}

/** Fused messages of 2.5 MB hold two pieces of 1 MB, and messages of 4 MB hold all pieces. */
TEST(tensors_are_fused_in_order_up_to_the_size)
{
    const struct {
        double fusion_bytes;
        int sums;
        double bytes[2];
    } cases[] = {{2.5e6, 2, {2e6, 2e6}}, {3e6, 2, {3e6, 1e6}}, {4e6, 1, {4e6, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const support_outcome *got = support_ok(fused("allreduce", 4, cases[i].fusion_bytes, 1e-6));
        double expected_s = negotiation_s(4, 4);
        for (int k = 0; k < cases[i].sums; k++)
            expected_s += doubling_s(4, cases[i].bytes[k]);
        ck_assert_double_eq_tol(got->result.virtual_s / 10 - 1, expected_s, 2e-6);
        ck_assert_uint_eq(got->result.messages, 10 * (uint64_t)(2 * 3 + 4 * 2 * cases[i].sums));
    }
}

/**
 * Three tensors of 1 MB are summed in one allreduce. The fourth tensor is sparse: its rows are
 * gathered from all workers, by recursive doubling.
 */
TEST(rows_of_a_sparse_gradient_are_gathered_where_others_are_summed)
{
    static dsgd_tensors tensors[] = {{.elements = 250000, .count = 3, .uses = 1},
                                     {.elements = 250000, .count = 1, .uses = 1, .sparse = 60000}};
    for (int p = 4; p <= 16; p *= 2) {
        support_case *c = fused("allreduce", p, 1e9, 1e-6);
        c->workload.bytes = 0;
        c->workload.tensors = (dsgd_structs){2, tensors};
        c->config.exchange.pieces = DSGD_PIECES_TENSORS;
        const double gathered_s =
            log2(p) * (overhead_s + latency_s) + (p - 1) * 4 * 60000 / bandwidth;
        const support_outcome *got = support_ok(c);
        ck_assert_double_eq_tol(got->result.virtual_s / 10 - 1,
                                negotiation_s(p, 4) + doubling_s(p, 3e6) + gathered_s, 3e-6);
        /* the exchange uses dense chunks of the model, without regard to tensors */
        c->config.exchange.pieces = 4;
        ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10 - 1,
                                negotiation_s(p, 4) + doubling_s(p, 4e6), 3e-6);
    }
}

/**
 * Cycles of fusion start at multiples of 0.3 s, as long as each exchange ends before the next
 * cycle.
 */
TEST(an_exchange_begins_with_the_next_cycle_after_the_last_worker)
{
    const double exchange_s = negotiation_s(4, 4) + doubling_s(4, 4e6);
    support_case *c = fused("allreduce", 4, 1e9, 0.3);
    c->config.until.steps = 1;
    expect_close(support_ok(c)->result.virtual_s, 1.2 + exchange_s);
    support_imbalance_number(c, "ramp", "seconds", 0.1); /* the last worker is ready at 1.3 s */
    expect_close(support_ok(c)->result.virtual_s, 1.5 + exchange_s);
    /*
     * If an exchange takes longer than a cycle, the next cycle starts when the exchange has ended.
     */
    c = fused("local_sgd", 4, 1e9, 0.3);
    support_option(c, "period", 1);
    SET(c, platform.message_overhead_s = 0.1, config.until.steps = 2);
    const double long_s = 5 * 0.1 + 2 * 0.1;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 1.2 + long_s + 1.2 + long_s, 0.01);
}

/**
 * Chunks are ready at 0.625, 0.75, 0.875 and 1 s. The cycle at 0.9 s sends three chunks, and the
 * cycle at 1.2 s sends the last chunk.
 */
TEST(a_cycle_sends_pieces_that_are_ready_during_the_backward_pass)
{
    support_case *c = fused("allreduce", 4, 1e9, 0.3);
    SET(c, config.exchange.overlap = true, config.until.steps = 1);
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s, 1.2 + negotiation_s(4, 1) + doubling_s(4, 1e6));
    ck_assert_uint_eq(got->result.messages, 2 * (2 * 3 + 4 * 2));
}

static const char *const fusing[] = {"allreduce",        "local_sgd", "slowmo",
                                     "diloco",           "dasgd",     "drop_compute",
                                     "streaming_diloco", "scaffold",  "dadm"};
static const int fusing_workers[] = {1, 2, 3, 7};

TEST_ROWS(fused_or_not_the_same_is_learned, fusing)
{
    for (size_t i = 0; i < sizeof fusing_workers / sizeof fusing_workers[0]; i++) {
        support_case *c = support_new(fusing[_i], fusing_workers[i]);
        SET(c, config.exchange.pieces = 5, config.steps_each = 12, config.until = (dsgd_until){0});
        support_imbalance_number(c, "ramp", "seconds", 0.2);
        const support_outcome *apart = support_ok(c);
        SET(c, config.exchange.fusion_bytes = 0.5e6, config.exchange.cycle_s = 0.07);
        const support_outcome *together = support_ok(c);
        /* the threshold of drop_compute depends on measured times */
        if (strcmp(fusing[_i], "drop_compute") != 0)
            ck_assert_mem_eq(apart->x, together->x,
                             (size_t)fusing_workers[i] * apart->n_params * sizeof apart->x[0]);
    }
}

/** Fusion must be rejected exactly for the algorithms that are not in the list `fusing`. */
TEST_RANGE(fusion_is_rejected_for_other_algorithms, 0, support_n_algorithms())
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
    SET(c, config.exchange.fusion_bytes = 1e6, config.exchange.cycle_s = 5e-3);
    bool possible = false;
    for (size_t i = 0; i < sizeof fusing / sizeof fusing[0]; i++)
        possible = possible || strcmp(fusing[i], dsgd_algorithms[_i]->name) == 0;
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), possible ? DSGD_OK : DSGD_EUSAGE);
    ck_assert(possible || strstr(error.text, "without gradient compression, but") != NULL);
    c->config.exchange.blocking = false;
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
}

/* --- Tests of linear combinations after a gradient -------------------------------------------- */

/**
 * A test algorithm that makes an allreduce of a copy of the gradient. Linear combinations compute
 * the copy, which equals g.
 */
static void copying_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *y = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_copy(self, y, g);
        dsgd_combine(self, y, 1, 3, g);
        dsgd_divide(self, y, 4);
        dsgd_allreduce_mean(self, y, DSGD_WORLD);
        dsgd_local_step(self, x, y);
    }
}

TEST_ALGORITHM(copying, .work = copying_work);

TEST_RANGE(linear_combinations_keep_the_overlap, 1, 5)
{
    support_case *c = support_new("allreduce", _i);
    SET(c, workload.bytes = 400e6, config.exchange.pieces = 16, config.exchange.blocking = _i % 2);
    support_imbalance_number(c, "ramp", "seconds", 0.01);
    const support_outcome *plain = support_ok(c);
    c->config.algorithm = &copying;
    const support_outcome *copied = support_ok(c);
    /* The allreduces of the copies are simulated. The allreduces of the plain run are computed. */
    ck_assert_double_eq_tol(copied->result.virtual_s / plain->result.virtual_s, 1, 1e-9);
    const size_t n = (size_t)_i * plain->n_params;
    ck_assert_double_le(support_distance(copied->x, plain->x, n), 1e-12);
}

static bool waits; /* if true, workers wait for the gradient; set before the simulation forks */

/**
 * Combines vectors that are ready with vectors that wait for gradient g. Also changes vectors after
 * a waiting combination has used them.
 */
static void chain_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *y = dsgd_vector_new(self);
    dsgd_vector *error = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (waits)
            dsgd_computation_wait(dsgd_worker_of(self));
        dsgd_copy(self, y, error);
        dsgd_combine(self, y, 0.25, 1, g);
        /* this combination reads x before the local step below changes x */
        dsgd_combine(self, y, 1, 0.125, x);
        dsgd_copy(self, error, y);
        dsgd_combine(self, error, 1, -0.5, g);
        dsgd_local_step(self, x, y);
        dsgd_combine(self, x, 1, 0.01, error);
        dsgd_copy(self, y, x);
        dsgd_divide(self, y, 2);
        dsgd_combine(self, x, 0.5, 1, y);
        if (self->step % 2 == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

TEST_ALGORITHM(chain, .work = chain_work);

TEST(waiting_combinations_compute_correct_values)
{
    support_case *c = support_of(&chain, 3);
    SET(c, workload.bytes = 400e6, config.exchange.pieces = 5);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    waits = true;
    const support_outcome *one_by_one = support_ok(c);
    waits = false;
    const support_outcome *deferred = support_ok(c);
    for (size_t i = 0; i < 3 * deferred->n_params; i++)
        ck_assert_double_eq(deferred->x[i], one_by_one->x[i]);
    ck_assert_double_lt(deferred->result.virtual_s, one_by_one->result.virtual_s - 0.1);
}

/**
 * Worker 1 averages in a pair. Half of the difference is added to its vector y while a copy to y is
 * still pending.
 */
static void set_then_add_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self), *y = dsgd_shared(self);
    while (dsgd_next_step(self)) {
        dsgd_sleep(1e-6); /* after this pause, assist() has sent its request */
        dsgd_gradient(self, g, x);
        dsgd_copy(self, y, g);
        dsgd_computation_wait(dsgd_worker_of(self));
        dsgd_sleep(10); /* after this pause, assist() has received its answer */
        dsgd_copy(self, x, y);
    }
}

static void ask_or_answer(dsgd_node *self)
{
    if (self->rank == 1)
        dsgd_pair_average(self, dsgd_shared(self), 0);
    while (self->rank == 0)
        dsgd_pair_answer(self, dsgd_model(self), DSGD_ANYONE);
}

static const dsgd_algorithm set_then_add = {
    .about = {.name = "set-then-add"}, .work = set_then_add_work, .assist = ask_or_answer};

TEST(a_difference_of_a_pair_is_added_after_the_copy)
{
    support_case *c = support_of(&set_then_add, 2);
    support_spread(c);
    SET(c, config.until.steps = 1, workload.bytes = 400e6, workload.step_s = 1e-3);
    const support_outcome *one_by_one = support_ok(c);
    c->workload.step_s = 2;
    const support_outcome *deferred = support_ok(c);
    for (size_t i = 0; i < 2 * deferred->n_params; i++)
        ck_assert_double_eq(deferred->x[i], one_by_one->x[i]);
}
