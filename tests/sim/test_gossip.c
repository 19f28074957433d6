/**
 * @file test_gossip.c
 * Compares gossip with theory: the decay of the differences between models, and the propagation of
 * changes and of delays.
 */
#include <gsl/gsl_linalg.h>

#include "base/draw.h"
#include "sim/engine/vectors.h"
#include "tests/sim/gossiping.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- decay of differences --------------------------------------------------------------------- */

/**
 * Returns the largest singular value of the product of the mixing matrices over a period of the
 * graph. The direction that mixing keeps does not count.
 */
static double second_singular_value(const support_case *c, bool doubly)
{
    const size_t p = (size_t)c->config.workers;
    const long period = dsgd_graph_period(graph_of(c), c->config.workers);
    double w[MOST][MOST];
    gsl_matrix *product = gsl_matrix_alloc(p, p), *next = gsl_matrix_alloc(p, p);
    gsl_matrix_set_identity(product);
    for (long r = 0; r < period; r++) {
        mixing(c, r, doubly, w);
        for (size_t i = 0; i < p; i++) {
            for (size_t j = 0; j < p; j++) {
                double sum = 0;
                for (size_t k = 0; k < p; k++)
                    sum += w[i][k] * gsl_matrix_get(product, k, j);
                gsl_matrix_set(next, i, j, sum);
            }
        }
        gsl_matrix_memcpy(product, next);
    }
    gsl_matrix_add_constant(product, -1.0 / (double)p);
    gsl_matrix *v = gsl_matrix_alloc(p, p);
    gsl_vector *s = gsl_vector_alloc(p), *work = gsl_vector_alloc(p);
    gsl_linalg_SV_decomp(product, v, s, work);
    const double largest = gsl_vector_get(s, 0);
    gsl_matrix_free(product);
    gsl_matrix_free(next);
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(work);
    return largest;
}

/**
 * Checks that the distance of models falls by the singular value in each period. In general, this
 * value is only an upper bound. With the graphs of this test, the decay must reach the bound,
 * because the product of their mixing matrices is a normal matrix.
 */
static void expect_decay(const char *algorithm, const graph *g, bool doubly)
{
    support_case *c = gossiping(algorithm, g);
    const double sigma = second_singular_value(c, doubly);
    const long period = dsgd_graph_period(graph_of(c), g->workers);
    if (sigma < 1e-10) { /* the graph computes the exact mean in one period */
        ck_assert_double_lt(consensus_after(c, period), 1e-12);
        return;
    }
    /*
     * The two measurements are late enough that only the slowest mode is left, and early enough
     * that rounding errors do not matter.
     */
    const long last = (long)fmin(80, floor(log(1e-9) / log(sigma))), first = last * 3 / 4;
    ck_assert_int_ge(first, 4);
    const double measured =
        pow(consensus_after(c, last * period) / consensus_after(c, first * period),
            1.0 / (double)(last - first));
    printf("%s on %s of %d: consensus decays by %.4f per %ld rounds, singular value %.4f\n",
           algorithm, g->kind, g->workers, measured, period, sigma);
    ck_assert_double_le(measured, sigma * (1 + 1e-6));
    ck_assert_double_ge(measured, sigma * 0.98);
}

SUITE(gossip, "theory", .seconds = 240);

TEST_RANGE(consensus_decays_by_the_second_singular_value, 0, SUPPORT_SLOW ? 1 : 10)
{
    static const graph decaying[] = {
        {"ring", .workers = 7},
        {"ring", .workers = 16},
        {"torus", .workers = 12},
        {"torus", .workers = 16},
        {"exponential", .workers = 7},
        {"exponential", .workers = 12},
        {"exponential", .workers = 16},
        {"exponential", "schedule", 1, .workers = 12},
        {"exponential", "schedule", 2, "peers", 2, .workers = 12},
        {"complete", .workers = 9},
    };
    expect_decay("d_psgd", &decaying[_i], true);
    expect_decay("sgp", &decaying[_i], false);
}

TEST(a_users_graph_decays_by_its_metropolis_weights)
{
    const graph own = {"edges", .workers = 6};
    expect_decay("d_psgd", &own, true);
}

/**
 * Returns the distance of the models from their mean just before the first synchronisation of
 * WAGMA.
 */
static double before_synchronisation(bool rotate, int workers)
{
    support_case *c = support_new("wagma", workers);
    support_option(c, "rotate", rotate);
    support_steps_each(c, 9);
    const support_outcome *got = support_ok(c);
    return got->points[got->result.n_points - 1].at.consensus;
}

TEST(groups_that_rotate_keep_models_closer_than_fixed_ones)
{
    for (int workers = 8; workers <= (SUPPORT_SLOW ? 8 : 64); workers *= 2)
        ck_assert_double_lt(before_synchronisation(true, workers),
                            0.9 * before_synchronisation(false, workers));
}

/* --- propagation of changes ------------------------------------------------------------------- */

static void perturb_rank_5(dsgd_engine *engine, void *argument)
{
    dsgd_vector *const x = engine->workers[5].learner.model;
    for (size_t k = 0; k < engine->layout.n_pieces; k++) {
        const double twice = 2;
        const dsgd_value moved = dsgd_values_combine(engine->learning.values, (dsgd_origin){5, 0},
                                                     k, 1, &x->piece[k].value, &twice, 1);
        dsgd_piece_set(engine, &x->piece[k], moved, 0);
    }
}

/**
 * Returns the number of ranks whose model after @p steps steps depends on the initial model of rank
 * 5.
 */
static int reached(support_case *c, long steps)
{
    support_steps_each(c, steps);
    c->config.prepare = NULL;
    const support_outcome *before = support_ok(c);
    c->config.prepare = perturb_rank_5;
    const support_outcome *after = support_ok(c);
    int n = 0;
    for (int w = 0; w < c->config.workers; w++)
        n += support_distance(after->x + (size_t)w * after->n_params,
                              before->x + (size_t)w * before->n_params, before->n_params) > 0;
    return n;
}

/**
 * Returns the number of steps until the models of all ranks depend on the initial model of rank 5.
 */
static long steps_to_reach_all(support_case *c)
{
    long steps = 1;
    while (steps < 100 && reached(c, steps) < c->config.workers)
        steps++;
    return steps;
}

TEST_RANGE(changes_propagate_as_fast_as_predicted, 0, SUPPORT_SLOW ? 4 : 14)
{
    static const struct {
        const char *algorithm;
        /*
         * graph of a gossip algorithm; if the graph has no kind, only an option and its value are
         * set
         */
        graph graph;
        long from, to;
    } spread[] = {
        {"allreduce", {.workers = 16}, 1, 1},
        {"local_sgd", {.option = "period", .value = 1, .workers = 16}, 1, 1},
        {"eager_majority", {.workers = 16}, 1, 1},
        {"wagma", {.workers = 16}, 2, 2},
        {"wagma", {.workers = 64}, 2, 2},
        {"d_psgd", {"ring", .workers = 16}, 8, 8},
        {"d_psgd", {"ring", .workers = 7}, 3, 3},
        {"sgp", {"exponential", .workers = 16}, 4, 4},
        {"sgp", {"exponential", .workers = 64}, 6, 6},
        {"sgp", {"exponential", "schedule", 1, .workers = 16}, 5, 8},
        {"sgp", {"exponential", "schedule", 1, .workers = 64}, 7, 12},
        {"d_psgd", {"exponential", "schedule", 3, .workers = 16}, 4, 8},
        {"d_psgd", {"complete", .workers = 16}, 1, 1},
        {"ad_psgd", {"exponential", "schedule", 3, .workers = 8}, 3, 3},
    };
    const graph *const g = &spread[_i].graph;
    support_case *c = g->kind != NULL ? gossiping(spread[_i].algorithm, g)
                                      : support_new(spread[_i].algorithm, g->workers);
    if (g->kind == NULL && g->option != NULL)
        support_option(c, g->option, g->value);
    const long steps = steps_to_reach_all(c);
    ck_assert_int_ge(steps, spread[_i].from);
    ck_assert_int_le(steps, spread[_i].to);
}

TEST(a_complete_graph_gives_everyone_the_same_bits)
{
    const graph complete = {"complete", .workers = 7};
    support_case *c = gossiping("d_psgd", &complete);
    support_option(c, "order", 2); /* with the order atc, workers mix after the local step */
    const support_outcome *got = support_ok(c);
    for (size_t w = 1; w < 7; w++)
        ck_assert_mem_eq(got->x + w * got->n_params, got->x, got->n_params * sizeof *got->x);
}

/* --- propagation of delays -------------------------------------------------------------------- */

typedef struct travel {
    const char *algorithm;
    long pieces;
    bool overlap, blocking;
} travel;

/** Returns the seconds per step of 64 workers. In each step, two workers are late by 0.32 s. */
static double step_s(travel t)
{
    support_case *c = support_no_learning(support_new(t.algorithm, 64));
    c->workload =
        (dsgd_workload){.bytes = 1e3, .step_s = 0.615, .samples = 128, .backward_share = 2.0 / 3};
    dsgd_spec *const delay = &c->imbalance[0];
    support_imbalance_number(c, "delay", "seconds", 0.32);
    support_set(delay->about, delay->params, "workers", 2);
    c->config.exchange =
        (dsgd_exchange_config){.pieces = t.pieces, .overlap = t.overlap, .blocking = t.blocking};
    c->config.until.steps = 60;
    return support_ok(c)->result.step_mean_s;
}

/**
 * Returns the seconds per step if a worker waits only for one message per neighbour and step. By
 * recursion, the end of a step is the latest end of the step's computations of worker i and its two
 * neighbours.
 */
static double neighbours_only_s(int workers, long steps)
{
    double end_s[MOST] = {0};
    for (long t = 0; t < steps; t++) {
        double next_s[MOST];
        for (int i = 0; i < workers; i++)
            next_s[i] = end_s[i] + 0.615;
        /*
         * The two late workers are random. They are not the late workers of the simulation, but
         * have the same distribution.
         */
        for (uint32_t k = 0; k < 2; k++) {
            const dsgd_draw at = {77, DSGD_DRAW_DATA, 0, (uint32_t)t, 0};
            next_s[dsgd_draw_permuted(at, (uint32_t)workers, k)] += 0.32;
        }
        for (int i = 0; i < workers; i++) {
            const double left = next_s[(i + workers - 1) % workers];
            const double right = next_s[(i + 1) % workers];
            end_s[i] = fmax(next_s[i], fmax(left, right));
        }
    }
    double mean_s = 0;
    for (int i = 0; i < workers; i++)
        mean_s += end_s[i] / workers / (double)steps;
    return mean_s;
}

/** The loop variable _i is 1 if exchanges overlap. */
TEST_RANGE(with_many_exchanges_per_step_neighbours_wait_like_everyone, 0, SUPPORT_SLOW ? 0 : 2)
{
    static const long pieces[] = {1, 2, 4, 8, 16, 32};
    const double synchronous_s = step_s((travel){"allreduce", 1, true, true});
    const double neighbours_s = neighbours_only_s(64, 60);
    const bool overlap = _i == 1;
    double before_s = 0;
    char line[400] = "";
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const double s = step_s((travel){"d_psgd", pieces[i], overlap, true});
        const size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, ", %ld: %.3f s", pieces[i], s);
        if (i == 0)
            ck_assert_double_eq_tol(s, neighbours_s, 0.02);
        ck_assert_double_ge(s, before_s - 1e-9);
        before_s = s;
    }
    printf("D-PSGD, ring of 64, 2 late by 0.32 s, exchanges %s: neighbours alone %.3f s per step, "
           "everyone %.3f s; exchanges per step%s\n",
           overlap ? "beside the backward pass" : "after it", neighbours_s, synchronous_s,
           line + 1);
    /* With overlap, a delay loses the time of one chunk per hop during the backward pass. */
    ck_assert_double_gt(before_s, (overlap ? 0.88 : 0.99) * synchronous_s);
    /*
     * If exchanges are concurrent and have no order, a delay reaches only the neighbours in a step.
     */
    const double at_once_s = step_s((travel){"d_psgd", 16, overlap, false});
    ck_assert_double_eq_tol(at_once_s, neighbours_s, 0.02);
}

/**
 * With 1,100 workers, more actors open mailboxes at once than the initial table of mailboxes can
 * hold.
 */
TEST(any_number_of_workers_gossips)
{
    support_case *c = support_no_learning(support_new("d_psgd", 1100));
    c->config.until.steps = 2;
    ck_assert_double_eq_tol(support_ok(c)->result.steps, 2, 1e-9);
}

/* --- Tests of neighbour lists that the test itself makes -------------------------------------- */

static double kept_mean, given; /* shares of worker 1 in step 2; set before the simulation forks */
static unsigned promises;

/**
 * A test algorithm that mixes on a ring of two workers. Each worker keeps a half and gives a half,
 * except worker 1 in step 2.
 */
static void by_hand_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    const int other = 1 - self->rank;
    while (dsgd_next_step(self)) {
        const bool odd = self->rank == 1 && self->step == 2;
        const double share = odd ? given : 0.5;
        const dsgd_neighbours n = {.n_to = 1,
                                   .n_from = 1,
                                   .to = &other,
                                   .from = &other,
                                   .keep = odd ? kept_mean : 0.5,
                                   .share = &share,
                                   .promises = promises};
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_gossip(self, x, &n);
    }
}

TEST_ALGORITHM(by_hand, .work = by_hand_work);

TEST(a_handmade_list_must_keep_its_promises)
{
    support_case *c = support_of(&by_hand, 2);
    promises = DSGD_PROMISE_COLUMNS | DSGD_PROMISE_ROWS;
    kept_mean = given = 0.5;
    support_ok(c);
    kept_mean = 0.75;
    support_expect_abort(c, "what worker 1 keeps and gives in step 2 sums to 1.25, but its "
                            "neighbours promise 1 (DSGD_PROMISE_COLUMNS)");
    given = 0.25;
    /* The sum in the message is 0.75 or 1.25. The sum depends on which worker checks first. */
    support_expect_abort(c, "keeps and gets in step 2 sums to");
    promises = DSGD_PROMISE_COLUMNS;
    support_ok(c);
    given = 1;
    promises = 0;
    support_ok(c);
}
