/**
 * @file test_algorithms.c
 * Tests properties of every algorithm of the registry. A run ends, is deterministic, and takes a
 * time that does not depend on numerics.
 */
#include "sim/engine/vectors.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static support_case *irregular(int algorithm, int workers)
{
    support_case *c = support_new(dsgd_algorithms[algorithm]->name, workers);
    SET(c, platform.message_overhead_s = 1e-5, platform.reduction_s_per_byte = 1e-9,
        workload.bytes = 50e6);
    support_imbalance_number(c, "delay", "seconds", 0.7);
    support_imbalance_number(c, "ramp", "seconds", 0.01);
    SET(c, config.exchange.pieces = 3, learning.evaluate.every = 5);
    return c;
}

static const int counts[] = {1, 3, 8, 2, 4, 7, 16, 64};

enum { N_COUNTS = SUPPORT_SLOW ? 3 : 8 };

SUITE(algorithms, "conformance", .seconds = 20);

/** The loop variable _i selects the algorithm and the number of workers. */
TEST_RANGE(ends_at_every_count_that_it_accepts, 0, support_n_algorithms() * N_COUNTS)
{
    support_case *c = irregular(_i / N_COUNTS, counts[_i % N_COUNTS]);
    const support_outcome *got = support_simulate(c);
    if (got->status == DSGD_EUSAGE) {
        ck_assert_has(got->error.text, ", such as ");
        ck_assert(!dsgd_is_power_of_two(counts[_i % N_COUNTS]));
        return;
    }
    ck_assert_msg(got->status == DSGD_OK, "%s", got->error.text);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_OK);
    ck_assert_double_eq(got->result.steps, 20);
    ck_assert_double_gt(got->result.virtual_s, 20);
    ck_assert_double_eq_tol(got->result.shares.compute + got->result.shares.wait +
                                got->result.shares.communicate,
                            1, 1e-12);
}

static void expect_same(const support_outcome *a, const support_outcome *b, int workers)
{
    ck_assert_double_eq(a->result.virtual_s, b->result.virtual_s);
    ck_assert_uint_eq(a->result.messages, b->result.messages);
    ck_assert_double_eq(a->result.staleness_mean, b->result.staleness_mean);
    ck_assert_uint_eq(a->n_params, b->n_params);
    ck_assert_mem_eq(a->x, b->x, (size_t)workers * a->n_params * sizeof *a->x);
    ck_assert_uint_eq(a->result.n_points, b->result.n_points);
    ck_assert_mem_eq(a->points, b->points, a->result.n_points * sizeof *a->points);
}

TEST_RANGE(the_same_run_gives_the_same_bits_at_any_number_of_threads, 0, support_n_algorithms())
{
    support_case *c = irregular(_i, 16);
    const support_outcome *one = support_ok(c);
    expect_same(support_ok(c), one, 16);
    if (SUPPORT_SLOW)
        return;
    c->config.threads = 3;
    expect_same(support_ok(c), one, 16);
    c->config.memory_bytes = 1; /* with one byte of memory for values, workers wait at every turn */
    expect_same(support_ok(c), one, 16);
}

TEST_RANGE(time_does_not_depend_on_numerics, 0, support_n_algorithms())
{
    support_case *c = irregular(_i, 16);
    const support_outcome *with = support_ok(c);
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *without = support_ok(c);
    ck_assert_double_eq(with->result.virtual_s, without->result.virtual_s);
    ck_assert_uint_eq(with->result.messages, without->result.messages);
    ck_assert_double_eq(with->result.staleness_mean, without->result.staleness_mean);
    ck_assert_double_eq(with->result.staleness_max, without->result.staleness_max);
    ck_assert_uint_eq(without->result.n_points, 0);
}

TEST_RANGE(learns, 0, support_n_algorithms())
{
    support_case *c = irregular(_i, 8);
    SET(c, config.until.steps = 40, learning.optimizer.lr = 0.02,
        learning.optimizer.momentum = 0.5);
    if (support_has(c, "delta")) { /* eamsgd uses its own option for momentum */
        support_option(c, "delta", 0.5);
        c->learning.optimizer.momentum = 0;
    }
    const bool decoupled = support_has(c, "quorum") && support_has(c, "delay");
    if (support_has(c, "dylu") ||
        decoupled) /* the servers of these algorithms do not change before the end of a round */
        support_option(c, "period", 2);
    if (decoupled)
        support_option(c, "delay", 0);
    const support_outcome *got = support_ok(c);
    const dsgd_point *const last = &got->points[got->result.n_points - 1];
    ck_assert_double_eq(got->points[0].virtual_s, 0);
    ck_assert_double_eq(got->points[0].at.consensus, 0);
    ck_assert_double_lt(last->at.loss, 0.5 * got->points[0].at.loss);
}

TEST_RANGE(diverged_run_ends_at_its_bound_and_reports_where, 0, support_n_algorithms())
{
    support_case *c = irregular(_i, 8);
    const double virtual_s = support_ok(c)->result.virtual_s;
    /* in DADM, the dual variables would limit the step to 1 / (lambda n) */
    if (support_has(c, "lambda"))
        support_option(c, "lambda", 0);
    c->learning.optimizer.lr = 1e60;
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_OK);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_DIVERGED);
    ck_assert_double_eq(got->result.virtual_s, virtual_s);
    ck_assert_has(got->result.why.text, "step");
    ck_assert(isnan(got->points[got->result.n_points - 1].at.loss));
}

static const char *const bad_options[][3] = {
    {"wagma", "group", "32"},
    {"wagma", "group", "3"},
    {"dasgd", "d", "5"},
};

TEST_RANGE(rejected_options_name_an_alternative, 0, 3)
{
    support_case *c = support_new(bad_options[_i][0], 16);
    support_option(c, bad_options[_i][1], atof(bad_options[_i][2]));
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, bad_options[_i][2]);
}

TEST(dasgd_rejects_options_that_undo_every_step)
{
    support_case *c = support_new("dasgd", 4);
    OPTIONS(c, {"d", 4}, {"xi", 0});
    ck_assert_int_eq(support_simulate(c)->status, DSGD_EUSAGE);
    support_option(c, "xi", 0.1);
    support_ok(c);
}

TEST(ends_by_virtual_seconds_samples_or_accuracy)
{
    support_case *c = support_new("ad_psgd", 4);
    c->config.until = (dsgd_until){.seconds = 7.5};
    ck_assert_double_eq(support_ok(c)->result.virtual_s, 7.5);
    c->config.until = (dsgd_until){.samples = 1280};
    ck_assert_double_eq(support_ok(c)->result.samples, 1280);
    support_use_mlp(c);
    SET(c, config.until = (dsgd_until){.accuracy = 0.3}, learning.evaluate.every = 10);
    const support_outcome *got = support_ok(c);
    const size_t n = got->result.n_points;
    ck_assert_double_ge(got->points[n - 1].at.accuracy, 0.3);
    ck_assert_double_lt(got->points[n - 2].at.accuracy, 0.3);
    c->config.numerics = DSGD_NUMERICS_OFF;
    ck_assert_int_eq(support_simulate(c)->status, DSGD_EUSAGE);
}

TEST(bounds_that_are_whole_up_to_rounding_gain_no_step)
{
    support_case *c = support_of(&support_alone, 100);
    /* all 100 workers together make 28 steps, which are 0.28 steps per worker on average */
    c->config.until = (dsgd_until){.steps = 0.28};
    c->learning.evaluate.every = 0.07;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.steps, 0.28);
    ck_assert_uint_eq(got->result.n_points, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq_tol(got->points[i].steps, 0.07 * i, 1e-12);
    c = support_new(NULL, 1);
    c->config.algorithm = &support_alone;
    c->workload.samples = 0.3;
    ck_assert_double_lt(3 * c->workload.samples, 0.9);
    c->config.until = (dsgd_until){.samples = 0.9};
    ck_assert_double_eq(support_ok(c)->result.steps, 3);
}

static int first_scaled; /* number added to each worker's rank; set before the simulation forks */

/** Worker w starts with the common model times (1 + w + first_scaled) / 2. */
static void scale_models(dsgd_engine *engine, void *argument)
{
    for (int w = 0; w < engine->n_workers; w++) {
        for (size_t k = 0; k < engine->layout.n_pieces; k++) {
            dsgd_piece *const piece = &engine->workers[w].learner.model->piece[k];
            const double factor = 0.5 * (1 + w + first_scaled);
            dsgd_piece_set(engine, piece,
                           dsgd_values_combine(engine->learning.values, (dsgd_origin){0, 0}, k, 1,
                                               &piece->value, &factor, 1),
                           0);
        }
    }
}

/**
 * With a learning rate near 0, all gradients are computed at the same model, and updates add up.
 */
TEST(a_gossip_process_applies_each_gradient_a_step_late)
{
    /*
     * results of three runs: with a learning rate of 0, with delayed gradients, and without a delay
     */
    const support_outcome *got[3];
    for (int i = 0; i < 3; i++) {
        support_case *c = support_new(i == 1 ? "ad_psgd" : "allreduce", 2);
        SET(c, learning.optimizer = (dsgd_optimizer){.lr = i == 0 ? 0 : 1e-6},
            config.steps_each = i == 1 ? 8 : 7);
        if (i == 1)
            support_option(c, "variant", 1);
        got[i] = support_ok(c);
    }
    for (size_t i = 0; i < got[0]->n_params; i++) {
        const double change = got[2]->final_mean[i] - got[0]->final_mean[i];
        ck_assert_double_eq_tol(got[1]->final_mean[i], got[2]->final_mean[i], 1e-3 * fabs(change));
    }
}

TEST(local_evaluations_equal_those_of_each_worker_by_itself)
{
    support_case *c = support_of(&support_alone, 3);
    support_use_mlp(c);
    SET(c, learning.optimizer = (dsgd_optimizer){.lr = 0}, learning.evaluate.local = true,
        config.until.steps = 1, config.prepare = scale_models);
    first_scaled = 0;
    const support_outcome *all = support_ok(c);
    double loss = 0, accuracy = 0, least = 1;
    c->config.workers = 1;
    for (first_scaled = 0; first_scaled < 3; first_scaled++) {
        const support_outcome *one = support_ok(c);
        const dsgd_evaluation at = one->points[one->result.n_points - 1].at;
        ck_assert_double_eq(one->result.local_loss, at.loss);
        ck_assert_double_eq(one->result.local_accuracy, at.accuracy);
        loss += at.loss / 3;
        accuracy += at.accuracy / 3;
        least = fmin(least, at.accuracy);
    }
    ck_assert_double_eq_tol(all->result.local_loss, loss, 1e-12);
    ck_assert_double_eq_tol(all->result.local_accuracy, accuracy, 1e-12);
    ck_assert_double_eq(all->result.local_accuracy_min, least);
    ck_assert_double_lt(least, accuracy);
    c->learning.evaluate.local = false;
    ck_assert(isnan(support_ok(c)->result.local_loss));
}

/**
 * 64 workers learn independently. The model of each worker is evaluated on the whole test set, or
 * on half of it. For any models, half the width of the interval of the mean is at most 0.00173. A
 * sample that affects all models equally causes no error, so every mean must lie in its interval.
 * The loop variable _i is the seed.
 */
TEST_RANGE(the_mean_of_local_evaluations_is_within_its_margin, 1, 7)
{
    const double bound = 1.96 * 0.5 / sqrt(64 * 5000);
    support_case *c = support_of(&support_alone, 64);
    support_use_mlp(c);
    SET(c, learning.evaluate.local = true, learning.optimizer = (dsgd_optimizer){.lr = 0.05},
        config.until.steps = 8, config.seed = (uint64_t)_i);
    const dsgd_run_result all = support_ok(c)->result;
    c->learning.evaluate.local_margin = 1.001 * bound;
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq_tol(got.local_accuracy, all.local_accuracy, bound);
    ck_assert_double_ne(got.local_accuracy, all.local_accuracy);
    ck_assert_double_eq_tol(got.local_loss / all.local_loss, 1, 2 * bound);
    /*
     * The lowest accuracy is measured on the whole test set, but only for models that were lowest
     * on their half.
     */
    ck_assert_double_ge(got.local_accuracy_min, all.local_accuracy_min);
    ck_assert_double_le(got.local_accuracy_min, all.local_accuracy_min + 0.005);
}

/** A test algorithm in which every worker waits for an answer that never comes. */
static void starving_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_pair_average(self, x, 0);
        dsgd_local_step(self, x, g);
    }
}

TEST_ALGORITHM(starving, .work = starving_work);

TEST(starvation_is_reported_at_once)
{
    support_case *c = support_of(&starving, 4);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "waited");
}

/**
 * All workers wait for ever from the start, while their GPUs compute for a second. The run ends
 * long after this second, or within it.
 */
TEST(starvation_is_failure_under_a_bound_of_time_too)
{
    support_case *c = support_of(&starving, 4);
    c->config.until = (dsgd_until){.seconds = 50};
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "waited for another");
    ck_assert_double_eq(got->result.virtual_s, 50);
    ck_assert_double_eq(got->result.steps, 0);
    c->config.until = (dsgd_until){.seconds = 0.5};
    got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "at 0.5 s: worker 0 waits in "
                                        "dsgd_pair_average for worker 0 since 0 s");
    c = support_new("a_psgd", 4); /* in this run, one worker fails and the other workers continue */
    dsgd_failure_event stop = {.worker = 2, .at_s = 3};
    support_dies(c, 1, &stop);
    c->config.until = (dsgd_until){.seconds = 50};
    support_ok(c);
    c = support_new("allreduce", 4);
    support_dies(c, 1, &stop);
    c->config.until = (dsgd_until){.seconds = 50};
    got = support_simulate(c);
    ck_assert_int_eq(got->result.outcome, DSGD_RUN_FAILED);
    ck_assert_has(got->result.why.text, "worker 2 had failed");
}

static int verb;

/** A test algorithm that names a worker that does not exist. */
static void lost_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    int nobody[] = {-1};
    double share[] = {0.5};
    const dsgd_neighbours to = {.n_to = 1, .to = nobody, .share = share, .keep = 0.5};
    const dsgd_neighbours from = {.n_from = 1, .from = nobody, .keep = 1};
    if (verb == 0)
        dsgd_pair_average(self, x, self->n_workers);
    else if (verb == 1)
        dsgd_pair_fetch(self, x, -1);
    else if (verb == 2)
        dsgd_pair_answer(self, x, self->n_workers);
    else if (verb == 3)
        dsgd_gossip(self, x, &to);
    else
        dsgd_gossip_begin(self, x, &from);
}

TEST_ALGORITHM(lost, .work = lost_work);

/** The loop variable _i selects the verb that a worker calls with this rank. */
TEST_RANGE(a_rank_out_of_range_cannot_be_a_peer, 0, 5)
{
    support_case *c = support_of(&lost, 4);
    verb = _i;
    support_expect_abort(c, verb == 0 || verb == 2
                                ? "names worker 4 in step -1, but with 4 workers they are 0"
                                : "names worker -1 in step -1, but with 4 workers");
}

static int fewer_than_none(const void *params, int n_workers)
{
    return 2 - n_workers;
}

TEST(negative_number_of_servers_is_rejected)
{
    const dsgd_algorithm odd = {.about = {.name = "odd"},
                                .work = starving_work,
                                .serve = starving_work,
                                .n_servers = fewer_than_none};
    support_case *c = support_of(&odd, 4);
    const support_outcome *got = support_simulate(c);
    ck_assert_int_eq(got->status, DSGD_EUSAGE);
    ck_assert_has(got->error.text, "returns -2 for 4 workers");
}

TEST(platform_without_enough_hosts_is_rejected)
{
    char path[] = "/tmp/dsgd-test-XXXXXX.xml";
    const int file = mkstemps(path, 4);
    ck_assert_int_ge(file, 0);
    support_case *c = support_new("allreduce", 8);
    ck_assert_int_eq(dsgd_platform_write(&c->platform, 4, path, NULL), DSGD_OK);
    SET(c, platform.topology = DSGD_TOPOLOGY_XML, platform.file = path);
    c->config.network = DSGD_NETWORK_FLOWS;
    const support_outcome *few = support_simulate(c);
    ck_assert_int_eq(few->status, DSGD_EUSAGE);
    ck_assert_has(few->error.text, "4 hosts");
    c->config.workers = 4;
    support_ok(c);
    support_case *served = support_new("a_psgd", 4);
    SET(served, platform = c->platform, config.network = c->config.network);
    few = support_simulate(served);
    ck_assert_int_eq(few->status, DSGD_EUSAGE);
    ck_assert_has(few->error.text, "5 workers and servers need one each");
    c->platform.file = "/nonexistent.xml";
    ck_assert_int_eq(support_simulate(c)->status, DSGD_EIO);
    remove(path);
}
