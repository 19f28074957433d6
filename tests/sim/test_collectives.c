/**
 * @file test_collectives.c
 * Messages on the idle switch take their closed forms; overlap, freshness per piece, and where time goes.
 */
#include <math.h>

#include "tests/suites.h"
#include "tests/support/support.h"

enum { WORKERS = 16, BITS = 4 };

static const double bytes = 1e6;
static const double bandwidth = 10e9;
static const double latency_s = 1e-6;
static const double overhead_s = 5e-6;
static const double reduction_s_per_byte = 0.3e-9;

/** Seconds of one communication, everyone arriving together: a step takes 1 s of computation and then this. */
static double communication_s(const dsgd_algorithm *algorithm, int collective, int workers)
{
    support_case *c = support_new(NULL, workers);
    support_no_learning(c);
    support_algorithm(c, algorithm);
    c->config.collective = collective;
    c->platform.message_overhead_s = overhead_s;
    c->platform.reduction_s_per_byte = reduction_s_per_byte;
    c->config.until.steps = 10;
    return support_ok(c)->result.virtual_s / 10 - 1;
}

/** As the closed form says (sim/exchange/schedules.c); activations cost a little. */
static void expect_close(double measured_s, double expected_s)
{
    ck_assert_msg(fabs(measured_s / expected_s - 1) < 1e-5, "%.9g s, closed form %.9g s",
                  measured_s, expected_s);
}

START_TEST(recursive_doubling_takes_its_closed_form)
{
    const double phase_s =
        overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, WORKERS),
                 BITS * phase_s);
}
END_TEST

START_TEST(rabenseifner_takes_its_closed_form)
{
    const double share = (WORKERS - 1.0) / WORKERS;
    const double expected_s = 2 * BITS * (overhead_s + latency_s) +
                              share * bytes * (2 / bandwidth + reduction_s_per_byte);
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RABENSEIFNER, WORKERS),
                 expected_s);
}
END_TEST

START_TEST(ring_takes_its_closed_form)
{
    const double step_s = overhead_s + latency_s + bytes / WORKERS / bandwidth;
    const double expected_s =
        2 * (WORKERS - 1) * step_s + (WORKERS - 1.0) / WORKERS * bytes * reduction_s_per_byte;
    expect_close(communication_s(&support_averaging, DSGD_COLLECTIVE_RING, WORKERS), expected_s);
}
END_TEST

static const int odd_workers[] = {3, 5, 6, 7, 12};

START_TEST(a_fold_costs_one_reduction_and_one_copy_more)
{
    const int p = odd_workers[_i];
    const double copy_s = overhead_s + latency_s + bytes / bandwidth;
    const double phase_s = copy_s + reduction_s_per_byte * bytes;
    const double measured_s =
        communication_s(&support_averaging, DSGD_COLLECTIVE_RECURSIVE_DOUBLING, p);
    expect_close(measured_s, dsgd_log2(p) * phase_s + phase_s + copy_s);
}
END_TEST

START_TEST(auto_takes_recursive_doubling_for_short_and_rabenseifner_for_long_vectors)
{
    support_case *c = support_new(NULL, WORKERS);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes = 1000;
    c->config.until.steps = 1;
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * BITS);
    c->workload.bytes = 1e6;
    ck_assert_uint_eq(support_ok(c)->result.messages, WORKERS * 2 * BITS);
}
END_TEST

/** A group of 4 sums its vectors, nobody late. */
static dsgd_group group_of_four(const void *params, int n_workers, long version)
{
    (void)params;
    (void)n_workers;
    return version % 2 == 0 ? 0x3 : 0xc;
}

static void group_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = DSGD_FIRST_ARRIVER, .group = group_of_four};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, 4, 5);
    }
}

static const dsgd_algorithm group_algorithm = {.about = {.name = "group"}, .work = group_work};

START_TEST(a_group_sum_takes_its_closed_form)
{
    const double phase_s =
        overhead_s + latency_s + bytes / bandwidth + reduction_s_per_byte * bytes;
    expect_close(communication_s(&group_algorithm, DSGD_COLLECTIVE_AUTO, WORKERS), 2 * phase_s);
}
END_TEST

/* --- control data --------------------------------------------------------------------------------------------------------- */

/** Everyone tells two numbers that say who and when. */
static void table_work(dsgd_node *self)
{
    double *const all = dsgd_numbers_new(self, 2 * (size_t)self->n_workers);
    while (dsgd_next_step(self)) {
        const double mine[2] = {self->rank + 0.5, (double)self->step};
        dsgd_allgather(self, mine, 2, all);
        for (int i = 0; i < self->n_workers; i++)
            support_current->note[self->rank] +=
                all[2 * i] == i + 0.5 && all[2 * i + 1] == (double)self->step;
    }
}

static const dsgd_algorithm table = {.about = {.name = "table"}, .work = table_work};

START_TEST(a_table_travels_as_one_allreduce)
{
    support_case *c = support_new(NULL, WORKERS);
    support_no_learning(c);
    support_algorithm(c, &table);
    c->platform.message_overhead_s = overhead_s;
    c->platform.reduction_s_per_byte = reduction_s_per_byte;
    c->config.steps_each = 3;
    const double table_bytes = WORKERS * 2 * 8;
    const double phase_s =
        overhead_s + latency_s + table_bytes / bandwidth + reduction_s_per_byte * table_bytes;
    const support_outcome *got = support_ok(c);
    expect_close(got->result.virtual_s / 3, BITS * phase_s);
    for (int w = 0; w < WORKERS; w++)
        ck_assert_double_eq(got->note[w], 3 * WORKERS);
}
END_TEST

/* --- dropped micro-batches ------------------------------------------------------------------------------------------------ */

/** Four micro-batches of 1 s, of which the first half is forward. */
START_TEST(a_threshold_stops_before_the_next_backward_pass)
{
    static const double limits_s[] = {0, 0.4, 0.5, 2.2, 2.5, 3, 3.5, 4, 9};
    static const double steps_s[] = {0.5, 0.5, 1, 2.5, 3, 3.5, 4, 4, 4};
    support_case *c = support_new("drop_compute", 1);
    support_no_learning(c);
    c->workload.step_s = 4;
    support_option(c, "micro_batches", 4);
    support_option(c, "spare", 1);
    support_option(c, "threshold", limits_s[_i]);
    c->config.until.steps = 3;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 4 + 2 * steps_s[_i], 1e-9);
}
END_TEST

/**
 * One of four workers is late by 3 s in each step of 1 s. The least of the thresholds that gain most is 0.875 s, from which on the others
 * end, while the late one's first of four micro-batches ends at 1 s: (3 + 1 / 4) / 4 of the work takes 1 / 4 of the time. At 1 s it begins
 * a second one in vain, which ends after its forward pass; at 1.5 s (3 + 2 / 4) / 4 take 2 / 4.
 */
START_TEST(an_automatic_threshold_is_the_one_that_gains_most)
{
    support_case *c = support_new("drop_compute", 4);
    support_no_learning(c);
    c->workload.bytes = 1;
    support_option(c, "micro_batches", 4);
    support_option(c, "calibration", 4);
    support_option(c, "spare", 0);
    support_imbalance_number(c, "delay", "seconds", 3);
    c->config.until.steps = 10;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.virtual_s, 4 * 4 + 6 * 1, 1e-3);
    ck_assert_double_eq_tol(got->result.samples, 128 * (4 * 4 + 6 * 3.25), 1e-9);
    support_option(c, "threshold", -1); /* none */
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 4, 1e-3);
}
END_TEST

START_TEST(the_first_few_steps_are_spared)
{
    support_case *c = support_new("drop_compute", 1);
    support_no_learning(c);
    support_option(c, "micro_batches", 2);
    support_option(c, "threshold", 0);
    c->config.until.steps = 10;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 5 + 5 * 0.25, 1e-9);
    support_option(c, "spare", 0);
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 0.25, 1e-9);
}
END_TEST

START_TEST(an_automatic_threshold_drops_nothing_where_that_gains_nothing)
{
    support_case *c = support_new("drop_compute", 4);
    support_no_learning(c);
    c->workload.bytes = 1;
    support_option(c, "calibration", 2);
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 20, 1e-3);
}
END_TEST

/** Worker i of 4 is i ms late: who waits for all waits 1.5 ms on average; at a barrier also those wait who have nobody to wait for. */
START_TEST(what_is_exposed_comes_before_a_barrier)
{
    support_case *c = support_new(_i == 0 ? "allreduce" : "local_sgd", 4);
    support_no_learning(c);
    c->workload.bytes = 1;
    c->config.until.steps = 10;
    c->config.exchange.barrier = true;
    support_imbalance_number(c, "ramp", "seconds", 1e-3);
    if (_i == 1)
        support_option(c, "period", 1000);
    const support_outcome *const run = support_ok(c);
    ck_assert_double_eq_tol(run->result.exposed_mean_s, _i == 0 ? 1.5e-3 : 0, 1e-5);
    ck_assert_double_eq_tol(run->result.virtual_s, 10 * 1.003, 1e-4);
}
END_TEST

/* --- messages between few ----------------------------------------------------------------------------------------------- */

static const double wire_s = 1e-6 + 1e6 / 10e9; /* latency, and the bytes */
static const double treated_s = 5e-6 + 0.3e-9 * 1e6; /* overhead, and the reduction */

static support_case *costly(const char *algorithm, int workers)
{
    support_case *c = support_new(algorithm, workers);
    support_no_learning(c);
    c->platform.message_overhead_s = overhead_s;
    c->platform.reduction_s_per_byte = reduction_s_per_byte;
    c->config.until.steps = 10;
    return c;
}

/** Two overheads, but one pass over memory: three vectors are read and one is written, where adding one to another reads two. */
START_TEST(neighbours_share_a_link_and_are_averaged_in_one_pass)
{
    const double step_s = support_ok(costly("d_psgd", 8))->result.virtual_s / 10;
    const double pass_s = 4.0 / 3 * reduction_s_per_byte * bytes;
    expect_close(step_s - 1, wire_s + bytes / bandwidth + 2 * overhead_s + pass_s);
}
END_TEST

/** Alone, a worker waits for nobody, but calls cost it their time: hidden behind the backward pass, but for the last piece's. */
START_TEST(a_partial_call_costs_its_caller_per_piece)
{
    support_case *c = costly("eager_solo", 1);
    support_option(c, "limiter", 4); /* two of ten steps are an allreduce */
    c->config.exchange.pieces = 4;
    c->config.exchange.overlap = _i == 1;
    const double without_s = support_ok(c)->result.virtual_s;
    c->platform.partial_call_s = 1e-3;
    const double calls = _i == 1 ? 1 : 4;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s - without_s, 8 * calls * 1e-3, 1e-9);
}
END_TEST

/** A push and its acknowledgement, a question and its answer. */
START_TEST(a_push_and_a_fetch_take_their_closed_form)
{
    const double step_s = support_ok(costly("a_psgd", 1))->result.virtual_s / 10;
    const double push_s = wire_s + treated_s + latency_s + overhead_s;
    const double fetch_s = latency_s + overhead_s + wire_s + treated_s;
    expect_close(step_s - 1, push_s + fetch_s);
}
END_TEST

/**
 * Two workers push at once: the server receives and adds one after the other, with the first worker's question behind them. Then one
 * answer leaves after the other; the last to get one adds it.
 */
START_TEST(pushes_and_answers_take_turns_at_a_server)
{
    support_case *c = costly("a_psgd", 2);
    c->config.steps_each = 1;
    const double pushed_s = 2 * (wire_s + treated_s);
    const double answered_s = latency_s + overhead_s + 2 * wire_s + treated_s;
    expect_close(support_ok(c)->result.virtual_s - 1, pushed_s + answered_s);
}
END_TEST

/** Fetches over a local step under way, and pushes gradients where it has parameters. */
static void hasty_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (self->params != NULL)
            dsgd_server_push(self, g);
        dsgd_server_fetch(self, x);
    }
}

static void hasty_serve(dsgd_node *self)
{
    for (;;)
        dsgd_serve(self, dsgd_model(self));
}

static int one_server(const void *params, int n_workers)
{
    (void)params;
    (void)n_workers;
    return 1;
}

static const dsgd_algorithm hasty = {
    .about = {.name = "hasty"}, .work = hasty_work, .serve = hasty_serve, .n_servers = one_server};

START_TEST(a_push_waits_for_the_gradient_and_a_fetch_for_the_local_step)
{
    support_case *c = costly(NULL, 1);
    support_algorithm(c, &hasty);
    c->config.steps_each = 3;
    c->config.learning = &c->learning;
    const support_outcome *fetched = support_ok(c);
    ck_assert_double_eq(fetched->result.virtual_s, 3);
    ck_assert_mem_eq(fetched->final_mean, fetched->x, fetched->n_params * sizeof(double));
    c->config.params = c; /* pushes */
    expect_close(support_ok(c)->result.virtual_s / 3 - 1,
                 2 * (wire_s + treated_s + latency_s + overhead_s));
}
END_TEST

/** Rank 1 asks rank 0, again and again; nobody computes. */
static void ask_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    const bool fetches = self->params != NULL;
    while (dsgd_next_step(self)) {
        if (self->rank == 1 && fetches)
            dsgd_pair_fetch(self, x, 0);
        else if (self->rank == 1)
            dsgd_pair_average(self, x, 0);
    }
}

static void ask_assist(dsgd_node *self)
{
    for (;;) {
        if (self->params != NULL)
            dsgd_pair_give(self, dsgd_model(self));
        else
            dsgd_pair_answer(self, dsgd_model(self));
    }
}

static const dsgd_algorithm asking = {
    .about = {.name = "asking"}, .work = ask_work, .assist = ask_assist};

START_TEST(an_averaging_is_a_vector_each_way_and_a_fetch_one_way)
{
    support_case *c = costly(NULL, 2);
    support_algorithm(c, &asking);
    c->config.steps_each = 10;
    expect_close(support_ok(c)->result.virtual_s / 10, 2 * (wire_s + treated_s));
    c->config.params = c; /* fetches */
    expect_close(support_ok(c)->result.virtual_s / 10, latency_s + overhead_s + wire_s + treated_s);
}
END_TEST

/** Worker 1 computes for 1 s more. It hears of the version, and sends what its buffer holds. */
static void note_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = self->params == NULL ? DSGD_FIRST_ARRIVER
                                                                      : DSGD_EACH_IN_TURN};
    dsgd_partial *average = dsgd_partial_new(self, spec, x);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_partial_mix(self, average, x, 2, 3);
        support_current->note[2 * self->step + self->rank] = dsgd_now_s();
    }
}

static const dsgd_algorithm noting = {.about = {.name = "noting"}, .work = note_work};

START_TEST(a_late_worker_takes_part_when_it_hears_of_the_version)
{
    const double heard_s = latency_s + 4 / bandwidth + overhead_s;
    support_case *c = costly(NULL, 2);
    support_algorithm(c, &noting);
    support_imbalance_number(c, "ramp", "seconds", 1);
    c->config.steps_each = 1;
    const support_outcome *got = support_ok(c);
    expect_close(got->note[0] - 1, heard_s + wire_s + treated_s);
    ck_assert_double_eq(got->note[1], 2); /* the sum was there already */
    ck_assert_double_eq(got->result.partial_active_mean, 1);
    ck_assert_uint_eq(got->result.partial_skipped, 0);
}
END_TEST

/** Worker 0 begins the first version, worker 1 the second, for which worker 0 waits. */
START_TEST(in_turn_everyone_begins_a_version)
{
    support_case *c = costly(NULL, 2);
    support_algorithm(c, &noting);
    c->config.params = c; /* in turn */
    support_imbalance_number(c, "ramp", "seconds", 1);
    c->config.steps_each = 2;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->note[0], 1, 1e-3);
    ck_assert_double_eq_tol(got->note[1], 2, 1e-3);
    ck_assert_double_eq_tol(got->note[2], 4, 1e-3);
    ck_assert_double_eq_tol(got->note[3], 4, 1e-3);
}
END_TEST

/** Four versions of worker 0, of which only the last is there when worker 1 comes for the first time. */
START_TEST(versions_that_were_never_used_are_counted)
{
    support_case *c = costly(NULL, 2);
    support_algorithm(c, &noting);
    support_imbalance_number(c, "ramp", "seconds", 3.5);
    c->config.until = (dsgd_until){.seconds = 4.8};
    const support_outcome *got = support_ok(c);
    ck_assert_uint_eq(got->result.partial_skipped, 3);
}
END_TEST

START_TEST(exchanges_are_as_many_as_pieces_tensors_or_buckets)
{
    static dsgd_tensors tensors[] = {{1000, 3}, {5000, 2}};
    static const dsgd_exchange_config ways[] = {
        {.pieces = 2}, {.pieces = -1}, {.pieces = 1, .bucket_bytes = 8000}};
    static const uint64_t exchanges[] = {2, 5, 3};
    support_case *c = costly("allreduce", 2);
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_records){2, tensors};
    for (int blocking = 0; blocking < 2; blocking++) {
        c->config.exchange = ways[_i];
        c->config.exchange.blocking = blocking;
        const support_outcome *got = support_ok(c);
        ck_assert_uint_eq(got->result.messages, 2 * 10 * exchanges[_i]);
        ck_assert_double_eq_tol(got->result.bytes, 2 * 10 * 4 * 13000, 1e-6);
        ck_assert_double_eq_tol(got->result.link_s, 10 * 4 * 13000 / bandwidth, 1e-12);
    }
}
END_TEST

/** Four pieces of 0.1 s by an overhead alone: side by side they take as long as one. */
START_TEST(exchanges_that_do_not_block_each_other_go_on_side_by_side)
{
    support_case *c = costly("local_sgd", 2);
    support_option(c, "period", 1);
    c->platform.message_overhead_s = 0.1;
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.exchange = (dsgd_exchange_config){.pieces = 4, .blocking = true};
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.4, 0.02);
    c->config.exchange.blocking = false;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s, 10 * 1.1, 0.02);
}
END_TEST

START_TEST(overlap_hides_all_but_the_last_piece)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes =
        400e6; /* 2 phases of 40 ms for a piece of 100 MB, 125 ms of backward pass each */
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    c->config.exchange.pieces = 4;
    c->config.until.steps = 10;
    const double piece_s = 2 * (100e6 / bandwidth + latency_s);
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + piece_s);
    c->config.exchange.overlap = false;
    expect_close(support_ok(c)->result.virtual_s / 10, 1 + 4 * piece_s);
}
END_TEST

START_TEST(shares_of_time_say_who_computed_waited_and_communicated)
{
    support_case *c = support_new(NULL, 4);
    support_no_learning(c);
    support_algorithm(c, &support_averaging);
    c->workload.bytes = 1e9; /* 2 phases of 0.1 s */
    c->config.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING;
    support_imbalance_number(c, "ramp", "seconds",
                             0.1); /* worker i computes 1 + 0.1 i seconds of a step of 1.5 */
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.15 / 1.5, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.2 / 1.5, 1e-3);
}
END_TEST

/** Worker 0 computes 1 s, waits 0.2 s for the other, and gets its vector in 0.1 s. */
START_TEST(shares_of_time_of_letters_begin_when_both_sides_are_there)
{
    support_case *c = support_new("d_psgd", 2);
    support_no_learning(c);
    c->workload.bytes = 1e9;
    support_imbalance_number(c, "ramp", "seconds", 0.2);
    const dsgd_time_shares shares = support_ok(c)->result.shares;
    ck_assert_double_eq_tol(shares.compute, 1.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.wait, 0.1 / 1.3, 1e-3);
    ck_assert_double_eq_tol(shares.communicate, 0.1 / 1.3, 1e-3);
}
END_TEST

/** One step in which worker 1 is late for its first piece only: the wire is slower than the backward pass. */
START_TEST(wagma_decides_per_piece_who_was_late)
{
    support_case *c = support_new("wagma", 2);
    support_option(c, "group", 2);
    support_option(c, "period", 1000);
    c->workload.bytes = 8e9; /* four pieces of 2 GB: 0.2 s each */
    c->workload.backward_share = 0.2; /* 50 ms each */
    c->config.exchange.pieces = 4;
    c->config.until.steps = 1;
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.05};
    support_imbalance_number(c, "ramp", "seconds", 0.12);
    const support_outcome *mixed = support_ok(c);
    support_algorithm(c, &support_alone);
    c->config.params = NULL;
    const support_outcome *alone = support_ok(c);
    c->learning.optimizer.lr = 0;
    const support_outcome *initial = support_ok(c);

    const size_t n = mixed->n_params;
    ck_assert_uint_eq(n, 33);
    for (size_t i = 0; i < n; i++) {
        const double w0 = alone->x[i];
        const double w1 = alone->x[n + i];
        const bool late = i < 8; /* the first piece has round(33 / 4) parameters */
        const double at_0 = late ? (w0 + initial->x[n + i]) / 2 : (w0 + w1) / 2;
        const double at_1 = late ? (w0 + initial->x[n + i] + w1) / 3 : (w0 + w1) / 2;
        ck_assert_double_eq_tol(mixed->x[i], at_0, 1e-12);
        ck_assert_double_eq_tol(mixed->x[n + i], at_1, 1e-12);
    }
}
END_TEST

Suite *collectives_suite(void)
{
    Suite *s = suite_create("collectives");
    TCase *t = tcase_create("closed forms");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, recursive_doubling_takes_its_closed_form);
    tcase_add_test(t, rabenseifner_takes_its_closed_form);
    tcase_add_test(t, ring_takes_its_closed_form);
    tcase_add_loop_test(t, a_fold_costs_one_reduction_and_one_copy_more, 0, 5);
    tcase_add_test(t, auto_takes_recursive_doubling_for_short_and_rabenseifner_for_long_vectors);
    tcase_add_test(t, a_group_sum_takes_its_closed_form);
    tcase_add_test(t, a_table_travels_as_one_allreduce);
    tcase_add_loop_test(t, a_threshold_stops_before_the_next_backward_pass, 0, 9);
    tcase_add_test(t, an_automatic_threshold_is_the_one_that_gains_most);
    tcase_add_test(t, the_first_few_steps_are_spared);
    tcase_add_test(t, an_automatic_threshold_drops_nothing_where_that_gains_nothing);
    tcase_add_loop_test(t, what_is_exposed_comes_before_a_barrier, 0, 2);
    tcase_add_test(t, neighbours_share_a_link_and_are_averaged_in_one_pass);
    tcase_add_loop_test(t, a_partial_call_costs_its_caller_per_piece, 0, 2);
    tcase_add_test(t, a_push_and_a_fetch_take_their_closed_form);
    tcase_add_test(t, pushes_and_answers_take_turns_at_a_server);
    tcase_add_test(t, a_push_waits_for_the_gradient_and_a_fetch_for_the_local_step);
    tcase_add_test(t, an_averaging_is_a_vector_each_way_and_a_fetch_one_way);
    tcase_add_test(t, a_late_worker_takes_part_when_it_hears_of_the_version);
    tcase_add_test(t, in_turn_everyone_begins_a_version);
    tcase_add_test(t, versions_that_were_never_used_are_counted);
    tcase_add_loop_test(t, exchanges_are_as_many_as_pieces_tensors_or_buckets, 0, 3);
    tcase_add_test(t, exchanges_that_do_not_block_each_other_go_on_side_by_side);
    tcase_add_test(t, overlap_hides_all_but_the_last_piece);
    tcase_add_test(t, shares_of_time_say_who_computed_waited_and_communicated);
    tcase_add_test(t, shares_of_time_of_letters_begin_when_both_sides_are_there);
    tcase_add_test(t, wagma_decides_per_piece_who_was_late);
    suite_add_tcase(s, t);
    return s;
}
