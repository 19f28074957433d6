/**
 * @file test_gossip.c
 * What theory says about gossip: graphs, how fast differences decay and news spread, how old values are, and how far delays travel.
 */
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draw.h"
#include "tests/suites.h"
#include "tests/support/support.h"

/* --- graphs --------------------------------------------------------------------------------------------------------------- */

/** A graph of a test. */
typedef struct graph {
    const char *kind;
    const char *option; /* a number of it; NULL: none */
    double value;
    const char *second;
    double second_value;
    int workers;
} graph;

static long star[][2] = {{0, 1}, {0, 2}, {3, 0}, {0, 4}, {4, 5}, {5, 3}};

static const graph graphs[] = {
    {"ring", .workers = 1},
    {"ring", .workers = 2},
    {"ring", .workers = 7},
    {"ring", .workers = 16},
    {"torus", .workers = 4},
    {"torus", .workers = 12},
    {"torus", "rows", 2, .workers = 12},
    {"torus", .workers = 16},
    {"exponential", .workers = 1},
    {"exponential", .workers = 2},
    {"exponential", .workers = 7},
    {"exponential", .workers = 16},
    {"exponential", "peers", 2, .workers = 12},
    {"exponential", "peers", 3, .workers = 16},
    {"exponential", "schedule", 1, .workers = 12},
    {"exponential", "schedule", 1, "peers", 2, .workers = 16},
    {"exponential", "schedule", 2, "peers", 2, .workers = 12},
    {"exponential", "schedule", 3, .workers = 12},
    {"exponential", "schedule", 3, .workers = 16},
    {"matching", .workers = 8},
    {"matching", .workers = 9},
    {"complete", .workers = 9},
    {"edges", .workers = 6},
};

enum { N_GRAPHS = sizeof graphs / sizeof graphs[0], MOST = 64 };

static support_case *gossiping(const char *algorithm, const graph *g)
{
    support_case *c = support_new(algorithm, g->workers);
    void *const params = support_pick(c, "graph", g->kind);
    const dsgd_about *const about = dsgd_about_find(dsgd_graph_kinds, g->kind);
    if (g->option != NULL)
        support_set(about, params, g->option, g->value);
    if (g->second != NULL)
        support_set(about, params, g->second, g->second_value);
    if (strcmp(g->kind, "edges") == 0)
        *(dsgd_pairs *)params = (dsgd_pairs){sizeof star / sizeof star[0], star};
    return c;
}

/** The graph is the first option of the algorithms used here. */
static const dsgd_pick *graph_of(const support_case *c)
{
    return c->config.params;
}

/** W[i][j]: the share of j's model that i gets in a round. */
static void mixing(const support_case *c, long round, bool doubly, double w[MOST][MOST])
{
    const int p = c->config.workers;
    int to[MOST];
    int from[MOST];
    int other[MOST];
    double share[MOST];
    const dsgd_neighbour_room room = {to, from, other, share};
    memset(w, 0, sizeof(double[MOST][MOST]));
    for (int j = 0; j < p; j++) {
        const dsgd_neighbours n =
            dsgd_graph_neighbours(graph_of(c), p, c->config.seed, j, round, doubly, &room);
        w[j][j] = n.keep;
        for (int i = 0; i < n.n_to; i++)
            w[n.to[i]][j] = n.share[i];
    }
}

static void expect_sums(double w[MOST][MOST], int p, bool rows)
{
    for (int i = 0; i < p; i++) {
        double row = 0;
        double column = 0;
        for (int j = 0; j < p; j++) {
            ck_assert_double_ge(w[i][j], 0);
            row += w[i][j];
            column += w[j][i];
        }
        ck_assert_double_eq_tol(column, 1, 1e-14);
        if (rows)
            ck_assert_double_eq_tol(row, 1, 1e-14);
    }
}

/** Whether news from rank 0 reach everyone in some rounds. */
static bool spreads(const support_case *c, long rounds)
{
    const int p = c->config.workers;
    bool knows[MOST] = {true};
    double w[MOST][MOST];
    for (long r = 0; r < rounds; r++) {
        bool next[MOST] = {false};
        mixing(c, r, true, w);
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                next[i] = next[i] || (w[i][j] > 0 && knows[j]);
        memcpy(knows, next, sizeof knows);
    }
    for (int i = 0; i < p; i++)
        if (!knows[i])
            return false;
    return true;
}

START_TEST(mixing_matrices_are_stochastic_and_connect) /* _i: the graph */
{
    double w[MOST][MOST];
    support_case *c = gossiping("d_psgd", &graphs[_i]);
    const int p = graphs[_i].workers;
    ck_assert_int_eq(dsgd_run_check(&c->config, NULL), DSGD_OK);
    for (long round = 0; round < 20; round++) {
        mixing(c, round, true, w);
        expect_sums(w, p, true);
        mixing(c, round, false, w);
        expect_sums(w, p, false);
    }
    ck_assert(spreads(c, 8L * p));
}
END_TEST

/** Each rank's list of senders is made of those that have it among their receivers. */
START_TEST(senders_and_receivers_agree)
{
    const graph *const g = &graphs[_i];
    support_case *c = gossiping("d_psgd", g);
    double w[MOST][MOST];
    int to[MOST];
    int from[MOST];
    int other[MOST];
    double share[MOST];
    const dsgd_neighbour_room room = {to, from, other, share};
    for (long round = 0; round < 12; round++) {
        mixing(c, round, true, w);
        for (int i = 0; i < g->workers; i++) {
            const dsgd_neighbours n = dsgd_graph_neighbours(graph_of(c), g->workers, c->config.seed,
                                                            i, round, true, &room);
            int senders = 0;
            for (int j = 0; j < g->workers; j++)
                senders += j != i && w[i][j] > 0;
            ck_assert_int_eq(n.n_from, senders);
            for (int k = 0; k < n.n_from; k++) {
                ck_assert_double_gt(w[i][n.from[k]], 0);
                ck_assert(k == 0 || n.from[k - 1] < n.from[k]);
            }
        }
    }
}
END_TEST

START_TEST(bipartite_and_matching_rounds_are_pairs)
{
    static const graph pairs[] = {{"exponential", "schedule", 3, .workers = 12},
                                  {"matching", .workers = 12}};
    double w[MOST][MOST];
    support_case *c = gossiping("d_psgd", &pairs[_i]);
    for (long round = 0; round < 30; round++) {
        mixing(c, round, true, w);
        for (int i = 0; i < 12; i++) {
            ck_assert_double_eq(w[i][i], 0.5);
            for (int j = 0; j < 12; j++)
                ck_assert_double_eq(w[i][j], w[j][i]);
        }
    }
}
END_TEST

typedef struct refusal {
    graph graph;
    const char *says;
} refusal;

static const refusal refusals[] = {
    {{"torus", .workers = 7}, "no rectangle of two rows or more; a ring would do"},
    {{"torus", "rows", 3, .workers = 16}, "a multiple of 3 from 6 on, got 16"},
    {{"torus", "rows", 8, .workers = 8}, "from 16 on, got 8"},
    {{"exponential", "peers", 8, .workers = 8}, "peers: 8, but with 8 workers 7 are possible"},
    {{"exponential", "schedule", 3, .workers = 7}, "even number of workers, got 7; 8 would do"},
    {{"edges", .workers = 5}, "edge 4 5, but with 5 workers ranks are 0 to 4"},
    {{"edges", .workers = 8}, "none leads from 0 to 6"},
};

START_TEST(graphs_that_do_not_fit_are_refused)
{
    support_case *c = gossiping("d_psgd", &refusals[_i].graph);
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_msg(strstr(error.text, refusals[_i].says) != NULL, "`%s` says not `%s`", error.text,
                  refusals[_i].says);
}
END_TEST

/* --- decay ---------------------------------------------------------------------------------------------------------------- */

/** The largest singular value of the product over a period, off the direction that is kept. */
static double second_singular_value(const support_case *c, bool doubly)
{
    const size_t p = (size_t)c->config.workers;
    const long period = dsgd_graph_period(graph_of(c), c->config.workers);
    double w[MOST][MOST];
    gsl_matrix *product = gsl_matrix_alloc(p, p);
    gsl_matrix *next = gsl_matrix_alloc(p, p);
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
    gsl_vector *s = gsl_vector_alloc(p);
    gsl_vector *work = gsl_vector_alloc(p);
    gsl_linalg_SV_decomp(product, v, s, work);
    const double largest = gsl_vector_get(s, 0);
    gsl_matrix_free(product);
    gsl_matrix_free(next);
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(work);
    return largest;
}

/** Distance of the models from their mean after so many steps without gradients, from models that differ. */
static double consensus_after(support_case *c, long steps)
{
    const size_t p = (size_t)c->config.workers;
    c->learning.optimizer.lr = 0;
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
    support_spread(c);
    const support_outcome *got = support_ok(c);
    double *const mean = support_mean_model(got, (int)p);
    double sum = 0;
    for (size_t w = 0; w < p; w++)
        for (size_t i = 0; i < got->n_params; i++)
            sum += pow(got->x[w * got->n_params + i] - mean[i], 2);
    free(mean);
    return sqrt(sum);
}

/** All of them are normal matrices, so that the singular value is reached, and not a bound only. */
static void expect_decay(const char *algorithm, const graph *g, bool doubly)
{
    support_case *c = gossiping(algorithm, g);
    const double sigma = second_singular_value(c, doubly);
    const long period = dsgd_graph_period(graph_of(c), g->workers);
    if (sigma < 1e-10) { /* averages exactly in one period */
        ck_assert_double_lt(consensus_after(c, period), 1e-12);
        return;
    }
    /* Long enough for the slowest part to be left alone, not so long that rounding is. */
    const long last = (long)fmin(80, floor(log(1e-9) / log(sigma)));
    const long first = last * 3 / 4;
    ck_assert_int_ge(first, 4);
    const double measured =
        pow(consensus_after(c, last * period) / consensus_after(c, first * period),
            1.0 / (double)(last - first));
    printf("%s on %s of %d: consensus decays by %.4f per %ld rounds, singular value %.4f\n",
           algorithm, g->kind, g->workers, measured, period, sigma);
    ck_assert_double_le(measured, sigma * (1 + 1e-6));
    ck_assert_double_ge(measured, sigma * 0.98);
}

START_TEST(consensus_decays_by_the_second_singular_value)
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
END_TEST

START_TEST(a_users_graph_decays_by_its_metropolis_weights)
{
    const graph own = {"edges", .workers = 6};
    expect_decay("d_psgd", &own, true);
}
END_TEST

/** Distance of the models from their mean just before WAGMA synchronises for the first time. */
static double before_synchronisation(bool rotate, int workers)
{
    support_case *c = support_new("wagma", workers);
    support_option(c, "rotate", rotate);
    c->config.until = (dsgd_until){0};
    c->config.steps_each = 9;
    const support_outcome *got = support_ok(c);
    return got->points[got->result.n_points - 1].at.consensus;
}

START_TEST(groups_that_rotate_keep_models_closer_than_fixed_ones)
{
    for (int workers = 8; workers <= (SUPPORT_SLOW ? 8 : 64); workers *= 2)
        ck_assert_double_lt(before_synchronisation(true, workers),
                            0.9 * before_synchronisation(false, workers));
}
END_TEST

/* --- propagation ---------------------------------------------------------------------------------------------------------- */

static void perturb_rank_5(dsgd_engine *engine, void *argument)
{
    (void)argument;
    dsgd_vector *const x = engine->workers[5].model;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        const double twice = 2;
        const dsgd_value moved = dsgd_values_combine(engine->values, (dsgd_origin){5, 0}, k, 1,
                                                     &x->piece[k].value, &twice, 1);
        dsgd_piece_set(engine, &x->piece[k], moved, 0);
    }
}

/** Ranks whose model after some steps depends on what rank 5 began with. */
static int reached(support_case *c, long steps)
{
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
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

/** Steps until everybody is reached. */
static long steps_to_reach_all(support_case *c)
{
    long steps = 1;
    while (steps < 100 && reached(c, steps) < c->config.workers)
        steps++;
    return steps;
}

START_TEST(news_spread_as_fast_as_theory_says)
{
    static const struct {
        const char *algorithm;
        graph graph; /* with a kind: its graph */
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
        {"ad_psgd", {.option = "neighbours", .value = 1, .workers = 8}, 3, 3},
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
END_TEST

/** Whoever averages with pairs of neighbours comes to one model with all that it can reach. */
START_TEST(pairs_come_to_agree)
{
    static const struct {
        const char *option;
        double value;
        int workers;
    } ways[] = {
        {"neighbours", 0, 2}, {"neighbours", 0, 3}, {"neighbours", 0, 7}, {"neighbours", 1, 8},
        {"variant", 1, 8},    {"variant", 2, 8},    {"variant", 3, 7},    {"variant", 3, 8},
    };
    support_case *c = support_new("ad_psgd", ways[_i].workers);
    support_option(c, ways[_i].option, ways[_i].value);
    ck_assert_double_lt(consensus_after(c, 100), 1e-6); /* of numbers between 0 and 1 */
}
END_TEST

START_TEST(a_complete_graph_gives_everyone_the_same_bits)
{
    const graph complete = {"complete", .workers = 7};
    support_case *c = gossiping("d_psgd", &complete);
    support_option(c, "order", 2); /* after the local step */
    const support_outcome *got = support_ok(c);
    for (size_t w = 1; w < 7; w++)
        ck_assert_mem_eq(got->x + w * got->n_params, got->x, got->n_params * sizeof *got->x);
}
END_TEST

/* --- staleness ------------------------------------------------------------------------------------------------------------ */

START_TEST(histograms_agree_with_mean_and_largest)
{
    support_case *c = support_new(dsgd_algorithms[_i]->name, 8);
    support_no_learning(c);
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->config.exchange.pieces = 3;
    const support_outcome *got = support_ok(c);
    double sum = 0;
    double mean = 0;
    double largest = 0;
    for (int age = 0; age < SUPPORT_AGES; age++) {
        ck_assert_double_ge(got->ages[age], 0);
        sum += got->ages[age];
        mean += got->ages[age] * age;
        largest = got->ages[age] > 0 ? age : largest;
    }
    if (got->result.n_ages > 0)
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    ck_assert_double_eq_tol(mean, got->result.staleness_mean, 1e-12);
    ck_assert_double_eq(largest, got->result.staleness_max);
}
END_TEST

START_TEST(a_push_misses_one_update_of_every_other_worker)
{
    const int p = _i;
    const long steps = 12;
    support_case *c = support_new("a_psgd", p);
    support_imbalance_number(c, "ramp", "seconds", 0.001); /* always in the same order */
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
    c->config.exchange.pieces = 2;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_max, p - 1);
    /* In the first round the i-th to come misses the i - 1 before it. */
    const double last = (double)(p * (steps - 1) + 1) / (double)(p * steps);
    ck_assert_double_eq_tol(got->ages[p - 1], last, 1e-12);
    for (int age = 0; age < p - 1; age++)
        ck_assert_double_eq_tol(got->ages[age], 1.0 / (double)(p * steps), 1e-12);
}
END_TEST

/** Three pieces that travel one after another for 0.8 s each: the first two come before the next step, the third in its course. */
START_TEST(an_overlapped_push_waits_for_nothing_until_its_delay)
{
    support_case *c = support_new("osgp", 8);
    support_no_learning(c);
    c->workload.bytes = 24e9;
    c->config.exchange.pieces = 3;
    support_option(c, "delay", 3);
    support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.virtual_s, 20);
    ck_assert_double_eq(got->result.staleness_max, 3);
    support_option(c, "delay", 2); /* until the last piece has come */
    got = support_ok(c);
    ck_assert_double_gt(got->result.virtual_s, 20 + 8 * 0.4);
    ck_assert_double_eq(got->result.staleness_max, 2);
}
END_TEST

START_TEST(overlapped_push_is_one_step_old)
{
    support_case *c = support_new("osgp", 8);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_max, 1);
    ck_assert_double_gt(got->ages[1], 0.99);
}
END_TEST

START_TEST(a_push_may_be_older_than_its_delay_where_rounds_end_sooner)
{
    support_case *c = support_new("osgp", 16);
    support_no_learning(c);
    dsgd_pick *const late = &c->imbalance[0];
    support_imbalance_number(c, "delay", "seconds", 3);
    support_set(late->about, late->params, "workers", 2);
    c->config.until.steps = 100;
    ck_assert_double_eq(support_ok(c)->result.staleness_max, 1);
    support_option(c, "delay", 2);
    ck_assert_double_gt(support_ok(c)->result.staleness_max, 2);
}
END_TEST

/* --- DropCompute's threshold ------------------------------------------------------------------------------------------------ */

/** Samples per second with a threshold (AUTO_THRESHOLD: the automatic one), a worker in eight being much later than the others. */
static double throughput_with(double threshold, double backward_share, int micro_batches)
{
    enum {
        WHOLE_STEPS = 10
    }; /* also where the threshold is fixed, so that only thresholds are compared */
    support_case *c = support_new("drop_compute", 8);
    support_no_learning(c);
    support_option(c, "threshold", threshold);
    support_option(c, "calibration", WHOLE_STEPS);
    support_option(c, "spare", WHOLE_STEPS);
    support_option(c, "micro_batches", micro_batches);
    c->workload.backward_share = backward_share;
    dsgd_table *const table = support_imbalance(c, "quantiles");
    static double percent[] = {0, 85, 90, 100};
    static double seconds[] = {0, 0.1, 1.5, 3};
    *table = (dsgd_table){4, percent, seconds};
    c->config.until.steps = 400;
    const support_outcome *got = support_ok(c);
    return got->result.samples / got->result.virtual_s;
}

static const struct {
    double backward_share;
    int micro_batches;
} thresholds[] = {{0.5, 12}, {1, 4}, {0.5, 4}, {0, 12}, {1, 2}};

START_TEST(the_automatic_threshold_is_as_good_as_the_best_fixed_one)
{
    const double backward_share = thresholds[_i].backward_share;
    const int m = thresholds[_i].micro_batches;
    enum { NO_THRESHOLD = -1, AUTO_THRESHOLD = -2 };
    double best = 0;
    for (double threshold = 0.1; threshold < 4; threshold += 0.1)
        best = fmax(best, throughput_with(threshold, backward_share, m));
    const double automatic = throughput_with(AUTO_THRESHOLD, backward_share, m);
    const double none = throughput_with(NO_THRESHOLD, backward_share, m);
    printf("DropCompute, %d micro-batches: %.0f samples/s without a threshold, %.0f with the "
           "automatic "
           "one, %.0f with the best fixed one\n",
           m, none, automatic, best);
    ck_assert_double_gt(automatic, 1.3 * none);
    ck_assert_double_gt(automatic, 0.98 * best);
}
END_TEST

/* --- how far a delay travels within a step --------------------------------------------------------------------------------- */

typedef struct travel {
    const char *algorithm;
    long pieces;
    bool overlap, blocking;
} travel;

/** Seconds per step of 64 workers, two of whom are late by 0.32 s in each. */
static double step_s(travel t)
{
    support_case *c = support_new(t.algorithm, 64);
    support_no_learning(c);
    c->workload =
        (dsgd_workload){.bytes = 1e3, .step_s = 0.615, .samples = 128, .backward_share = 2.0 / 3};
    dsgd_pick *const delay = &c->imbalance[0];
    support_imbalance_number(c, "delay", "seconds", 0.32);
    support_set(delay->about, delay->params, "workers", 2);
    c->config.exchange =
        (dsgd_exchange_config){.pieces = t.pieces, .overlap = t.overlap, .blocking = t.blocking};
    c->config.until.steps = 60;
    return support_ok(c)->result.step_mean_s;
}

/** The same by the recursion that one message per neighbour and step leaves: t_i <- max over i and its two neighbours of their ends. */
static double neighbours_only_s(int workers, long steps)
{
    double end_s[MOST] = {0};
    for (long t = 0; t < steps; t++) {
        double next_s[MOST];
        for (int i = 0; i < workers; i++)
            next_s[i] = end_s[i] + 0.615;
        for (uint32_t k = 0; k < 2; k++) { /* any two: the distribution is what counts */
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

START_TEST(with_many_exchanges_per_step_neighbours_wait_like_everyone) /* _i: overlapped */
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
    /* Beside the backward pass each hop costs the delay one piece's time. */
    ck_assert_double_gt(before_s, (overlap ? 0.88 : 0.99) * synchronous_s);
    /* All at once, in no order, a delay again reaches the neighbours alone. */
    const double at_once_s = step_s((travel){"d_psgd", 16, overlap, false});
    ck_assert_double_eq_tol(at_once_s, neighbours_s, 0.02);
}
END_TEST

Suite *gossip_suite(void)
{
    Suite *s = suite_create("gossip");
    TCase *t = tcase_create("theory");
    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, mixing_matrices_are_stochastic_and_connect, 0, N_GRAPHS);
    tcase_add_loop_test(t, senders_and_receivers_agree, 0, N_GRAPHS);
    tcase_add_loop_test(t, bipartite_and_matching_rounds_are_pairs, 0, 2);
    tcase_add_loop_test(t, graphs_that_do_not_fit_are_refused, 0,
                        sizeof refusals / sizeof refusals[0]);
    tcase_add_loop_test(t, consensus_decays_by_the_second_singular_value, 0, SUPPORT_SLOW ? 1 : 10);
    tcase_add_test(t, a_users_graph_decays_by_its_metropolis_weights);
    tcase_add_test(t, groups_that_rotate_keep_models_closer_than_fixed_ones);
    tcase_add_loop_test(t, news_spread_as_fast_as_theory_says, 0, SUPPORT_SLOW ? 4 : 14);
    tcase_add_loop_test(t, histograms_agree_with_mean_and_largest, 0, support_n_algorithms());
    tcase_add_loop_test(t, a_push_misses_one_update_of_every_other_worker, 2, 9);
    tcase_add_loop_test(t, pairs_come_to_agree, 0, 8);
    tcase_add_test(t, a_complete_graph_gives_everyone_the_same_bits);
    tcase_add_test(t, an_overlapped_push_waits_for_nothing_until_its_delay);
    tcase_add_test(t, overlapped_push_is_one_step_old);
    tcase_add_test(t, a_push_may_be_older_than_its_delay_where_rounds_end_sooner);
    if (!SUPPORT_SLOW) {
        tcase_add_loop_test(t, the_automatic_threshold_is_as_good_as_the_best_fixed_one, 0,
                            sizeof thresholds / sizeof thresholds[0]);
        tcase_add_loop_test(t, with_many_exchanges_per_step_neighbours_wait_like_everyone, 0, 2);
    }
    suite_add_tcase(s, t);
    return s;
}
