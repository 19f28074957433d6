/**
 * @file test_staging.c
 * Tests staging, which is the copying of vectors between device and host memory. Also tests when
 * copied gradients become ready.
 */
#include "tests/sim/costs.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static const double staging_s_per_byte = 2e-9;
static const double copy_s = 2e-9 * 1e6; /* time in seconds to copy a vector in one direction */

/**
 * Returns the seconds of a step with one exchange. With a server (a_psgd), there is one worker,
 * which waits for the server.
 */
static double step_s(const char *algorithm, double staging, int memory)
{
    support_case *c = costly(algorithm, strcmp(algorithm, "a_psgd") == 0 ? 1 : 2);
    SET(c, platform.staging_s_per_byte = staging, workload.memory = (dsgd_workload_memory)memory);
    return support_ok(c)->result.virtual_s / 10;
}

static const char *const exchanging[] = {"allreduce", "eager_solo", "wagma",
                                         "d_psgd",    "sgp",        "a_psgd"};

SUITE(staging, "staging", .seconds = 60);

TEST_ROWS(an_exchange_of_one_piece_takes_two_more_copies, exchanging)
{
    const char *const name = exchanging[_i];
    const double without_s = step_s(name, 0, DSGD_MEMORY_DEVICE);
    expect_close(step_s(name, staging_s_per_byte, DSGD_MEMORY_DEVICE) - without_s, 2 * copy_s);
    ck_assert_double_eq(step_s(name, staging_s_per_byte, DSGD_MEMORY_HOST), without_s);
}

/**
 * An exchange adds the time of one operation on the vector. A push and a fetch together also take
 * one operation.
 */
TEST_ROWS(an_exchange_takes_the_time_of_one_operation_more, exchanging)
{
    static const double operation_s_per_byte = 3e-9;
    support_case *c = costly(exchanging[_i], strcmp(exchanging[_i], "a_psgd") == 0 ? 1 : 2);
    const double without_s = support_ok(c)->result.virtual_s;
    c->platform.operation_s_per_byte = operation_s_per_byte;
    expect_close((support_ok(c)->result.virtual_s - without_s) / 10, operation_s_per_byte * bytes);
    c->workload.memory = DSGD_MEMORY_HOST;
    ck_assert_double_eq(support_ok(c)->result.virtual_s, without_s);
}

/**
 * A test algorithm in which rank 1 averages with rank 0. Both ends copy out before the exchange and
 * copy back after it. The end that answers copies back while it sends.
 */
static void ask_work(dsgd_node *self)
{
    while (dsgd_next_step(self))
        if (self->rank == 1)
            dsgd_pair_average(self, self->params != NULL ? dsgd_shared(self) : dsgd_model(self), 0);
}

static void ask_assist(dsgd_node *self)
{
    for (;;)
        dsgd_pair_answer(self, self->params != NULL ? dsgd_shared(self) : dsgd_model(self),
                         DSGD_ANYONE);
}

TEST_ALGORITHM(asking, .work = ask_work, .assist = ask_assist);

TEST(pairs_copy_at_both_ends_except_from_host_memory)
{
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &asking;
    SET(c, platform.staging_s_per_byte = staging_s_per_byte, config.steps_each = 10);
    expect_close(support_ok(c)->result.virtual_s / 10, 2 * (wire_s + treated_s) + 3 * copy_s);
    c->config.params = c; /* if params is set, vectors are in shared host memory */
    expect_close(support_ok(c)->result.virtual_s / 10, 2 * (wire_s + treated_s));
}

static void ask_each_other_work(dsgd_node *self)
{
    while (dsgd_next_step(self))
        dsgd_pair_average(self, dsgd_model(self), 1 - self->rank);
}

TEST_ALGORITHM(asking_each_other, .work = ask_each_other_work, .assist = ask_assist);

/**
 * Each worker copies its request to host memory. When the request of the other worker arrives, it
 * also copies its answer. The received request is copied back before the received answer. All
 * copies in one direction share an engine.
 */
TEST(answers_and_questions_share_an_engine_in_each_direction)
{
    support_case *c = costly(NULL, 2);
    c->config.algorithm = &asking_each_other;
    c->platform.staging_s_per_byte = staging_s_per_byte;
    support_steps_each(c, 10);
    expect_close(support_ok(c)->result.virtual_s / 10, wire_s + treated_s + 4 * copy_s);
}

TEST(a_worker_that_averages_with_its_shared_copy_copies_and_adds)
{
    support_case *c = costly("ad_psgd", 2);
    support_option(c, "variant", 2); /* this value selects the variant shared_copy */
    support_option(c, "averagings", 0);
    c->platform.staging_s_per_byte = staging_s_per_byte;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1,
                 reduction_s_per_byte * bytes + 2 * copy_s);
}

/**
 * Four pieces are ready together. The copies of the pieces in one direction follow each other. The
 * copies overlap with the exchanges and with the copies in the other direction.
 */
TEST(copies_of_pieces_overlap_with_exchanges)
{
    support_case *c = costly("allreduce", 2);
    c->config.exchange = (dsgd_exchange_config){
        .pieces = 4, .blocking = true, .collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING};
    const double exchange_s = support_ok(c)->result.virtual_s / 10 - 1;
    c->platform.staging_s_per_byte = staging_s_per_byte;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1, 5 * copy_s / 4 + exchange_s / 4);
    /* with this staging, a copy takes less time than an exchange */
    c->platform.staging_s_per_byte = 0.1e-9;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1, 2 * 0.1e-9 * bytes / 4 + exchange_s);
}

/** Copies also overlap with the computation, so only the exchange of the last piece is exposed. */
TEST(copies_begin_when_a_piece_is_ready)
{
    support_case *c = costly("allreduce", 2);
    SET(c, config.exchange.pieces = 4,
        config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING);
    const double exchange_s = support_ok(c)->result.virtual_s / 10 - 1;
    c->platform.staging_s_per_byte = staging_s_per_byte;
    expect_close(support_ok(c)->result.virtual_s / 10 - 1, 2 * copy_s / 4 + exchange_s);
}

/** In every step, two copies and one exchange count as communication, also in the first step. */
TEST(copies_are_communication)
{
    support_case *c = costly("allreduce", 2);
    SET(c, workload.step_s = 0.01, platform.staging_s_per_byte = staging_s_per_byte,
        config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING);
    const support_outcome *const got = support_ok(c);
    const double exchange_s = wire_s + treated_s;
    expect_close(got->result.virtual_s / 10 - 0.01, 2 * copy_s + exchange_s);
    expect_close(got->result.shares.communicate * got->result.virtual_s,
                 10 * (2 * copy_s + exchange_s));
}

/* --- Tests of the times at which chunks are ready --------------------------------------------- */

TEST(a_tensor_takes_its_multiplications_share_of_the_backward_pass)
{
    static dsgd_tensors tensors[] = {{1000, 1, 3}, {500, 2, 1}};
    static const double overhead = 0.3;
    support_case *c = costly("allreduce", 2);
    c->workload.bytes = 0;
    c->workload.tensors = (dsgd_structs){2, tensors};
    SET(c, platform.message_overhead_s = overhead, config.exchange.pieces = 2,
        config.exchange.collective = DSGD_COLLECTIVE_RECURSIVE_DOUBLING);
    /*
     * The first piece is ready after the forward pass of 0.5 s and 3/4 of the backward pass of 0.5
     * s.
     */
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10, 0.875 + 2 * overhead, 1e-4);
    tensors[0].uses = 1; /* with these uses, the work of a piece is proportional to its bytes */
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10, 0.75 + 2 * overhead, 1e-4);
    tensors[0].uses = 0;
    ck_assert_double_eq_tol(support_ok(c)->result.virtual_s / 10, 1 + overhead, 1e-4);
}

TEST(work_of_pieces_is_that_of_the_tensors_in_them)
{
    static dsgd_tensors tensors[] = {{10, 1, 4}, {20, 2, 1}, {40, 1, 0.5}};
    const dsgd_workload w = {.tensors = {3, tensors}};
    const double whole[] = {40, 80, 80, 160}, halves[] = {180, 180};
    const double expected[] = {160, 80, 80, 80};
    double *work = dsgd_workload_work(&w, 4, whole);
    for (size_t k = 0; k < 4; k++)
        ck_assert_double_eq(work[k], expected[k]);
    free(work);
    work = dsgd_workload_work(&w, 2, halves);
    ck_assert_double_eq(work[0], 160 + 80 + 60);
    ck_assert_double_eq(work[1], 20 + 80);
    free(work);
    /* If the work of tensors is unknown, it is assumed to be proportional to their bytes. */
    tensors[0].uses = tensors[1].uses = tensors[2].uses = 0;
    work = dsgd_workload_work(&w, 2, halves);
    ck_assert_double_eq(work[1], 180);
    free(work);
}
