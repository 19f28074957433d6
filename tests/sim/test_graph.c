/**
 * @file test_graph.c
 * Tests the graphs of gossip. Mixing matrices are stochastic and connected, senders and receivers
 * agree, and graphs that do not fit the number of workers are rejected.
 */
#include "tests/sim/gossiping.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/*
 * The test includes the source file of gradient_tracking to call its static functions. This name
 * avoids a second definition of the algorithm.
 */
#define dsgd_algorithm_gradient_tracking algorithm_of_test_graph
// NOLINTNEXTLINE(bugprone-suspicious-include): the test calls static functions of this file
#include "algorithms/gradient_tracking.c"

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

enum { N_GRAPHS = sizeof graphs / sizeof graphs[0] };

static void expect_sums(double w[MOST][MOST], int p, bool rows)
{
    for (int i = 0; i < p; i++) {
        double row = 0, column = 0;
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

/** Returns true if a change at rank 0 reaches all ranks within @p rounds rounds. */
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

SUITE(graph, "graph", .seconds = 240);

/** The loop variable _i is the graph's index. */
TEST_RANGE(mixing_matrices_are_stochastic_and_connect, 0, N_GRAPHS)
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

/** The senders of a rank must be exactly the ranks that have this rank among their receivers. */
TEST_RANGE(senders_and_receivers_agree, 0, N_GRAPHS)
{
    const graph *const g = &graphs[_i];
    support_case *c = gossiping("d_psgd", g);
    double w[MOST][MOST];
    int to[MOST], from[MOST], other[MOST];
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

/** The loop variable _i selects the schedule. */
TEST_RANGE(exponential_graphs_send_to_the_distances_of_their_description, 0, 3)
{
    static const int distances[][5] = {{1, 2, 4, 1, 2}, {1, -1, 2, -2, 4}, {1, 2, 4, 1, 2}};
    const graph eight = {"exponential", "schedule", _i, .workers = 8};
    double w[MOST][MOST];
    support_case *c = gossiping("d_psgd", &eight);
    for (int round = 0; round < 5; round++) {
        mixing(c, round, false, w);
        for (int i = 0; i < 8; i++)
            ck_assert_double_eq(w[(i + 8 + distances[_i][round]) % 8][i], 0.5);
    }
}

/** With two peers per round, each round uses the next two distances of the schedule's list. */
TEST(several_peers_take_the_distances_in_turn)
{
    static const int distances[][2] = {{1, -1}, {2, -2}, {4, -4}, {1, -1}};
    const graph eight = {"exponential", "schedule", 1, "peers", 2, .workers = 8};
    double w[MOST][MOST];
    support_case *c = gossiping("d_psgd", &eight);
    for (int round = 0; round < 4; round++) {
        mixing(c, round, false, w);
        for (int i = 0; i < 16; i++)
            ck_assert_double_gt(w[(i / 2 + 8 + distances[round][i % 2]) % 8][i / 2], 0);
    }
}

TEST_RANGE(bipartite_and_matching_rounds_are_pairs, 0, 2)
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

/**
 * The mixing matrix of _i workers is W = (I + A) / (1 + degree), where A is the adjacency matrix of
 * the graph. For a path of three workers, W has the eigenvalues 1, 2/3 and 0.
 */
TEST_RANGE(the_least_eigenvalue_has_its_closed_form, 2, 65)
{
    const dsgd_spec ring = {dsgd_entry_find(dsgd_graph_kinds, "ring"), NULL};
    const dsgd_spec complete = {dsgd_entry_find(dsgd_graph_kinds, "complete"), NULL};
    const dsgd_spec torus = dsgd_spec_default(dsgd_entry_find(dsgd_graph_kinds, "torus"));
    const dsgd_spec path = dsgd_spec_default(dsgd_entry_find(dsgd_graph_kinds, "edges"));
    const double cosine = cos(2 * M_PI * (_i / 2) / _i);
    ck_assert_double_eq_tol(least_eigenvalue(&complete, _i), 0, 1e-12);
    ck_assert_double_eq_tol(least_eigenvalue(&ring, _i), _i == 2 ? 0 : (1 + 2 * cosine) / 3, 1e-3);
    if (_i % 2 == 0 && _i <= 16)
        ck_assert_double_eq_tol(least_eigenvalue(&ring, _i), _i == 2 ? 0 : -1.0 / 3, 1e-9);
    support_set(torus.about, torus.params, "rows", 2);
    if (_i % 2 == 0 && _i > 4)
        ck_assert_double_eq_tol(least_eigenvalue(&torus, _i),
                                2 * cos(2 * M_PI * (_i / 4) / (_i / 2)) / 4, 1e-3);
    dsgd_pairs *const edges = path.params; /* the list of edges is the graph's only parameter */
    *edges = (dsgd_pairs){2, (long[2][2]){{0, 1}, {1, 2}}};
    ck_assert_double_eq_tol(least_eigenvalue(&path, 3), 0, 1e-12);
}

typedef struct refusal {
    graph graph;
    const char *says;
} refusal;

static const refusal refusals[] = {
    {{"torus", .workers = 7},
     "7 workers do not form a rectangle with two or more rows. Use graph: ring"},
    {{"torus", "rows", 3, .workers = 16}, "a multiple of 3 workers, at least 6, but there are 16"},
    {{"torus", "rows", 8, .workers = 8}, "at least 16, but there are 8"},
    {{"exponential", "peers", 8, .workers = 8}, "peers must be at most 7 with 8 workers, got 8"},
    {{"exponential", "schedule", 3, .workers = 7}, "even number of workers, such as 8, got 7"},
    {{"edges", .workers = 5}, "edge 4 5 is not valid: with 5 workers, ranks are 0 to 4"},
    {{"edges", .workers = 8}, "no path leads from worker 0 to 6"},
};

TEST_ROWS(graphs_that_do_not_fit_are_rejected, refusals)
{
    support_case *c = gossiping("d_psgd", &refusals[_i].graph);
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_run_check(&c->config, &error), DSGD_EUSAGE);
    ck_assert_has(error.text, refusals[_i].says);
}
