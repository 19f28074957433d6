/**
 * @file gossiping.h
 * Test runs of algorithms on a graph, and the distance between the models of their workers.
 */
#pragma once

#include "tests/support/support.h"

enum { MOST = 64 };

/** A graph that a test uses, with its options and its number of workers. */
typedef struct graph {
    const char *kind;
    const char *option; /* name of a numeric option of the graph, or NULL if no option is set */
    double value;
    const char *second;
    double second_value;
    int workers;
} graph;

/** Makes a run of an algorithm with graph @p g. The graph must be the algorithm's first option. */
support_case *gossiping(const char *algorithm, const graph *g);

/** Returns the graph of a case. The graph must be the first option of its algorithm. */
const dsgd_spec *graph_of(const support_case *c);

/** Computes the mixing matrix of a round: w[i][j] is the share of j's model that worker i gets. */
void mixing(const support_case *c, long round, bool doubly, double w[MOST][MOST]);

/**
 * Returns the norm of all workers' differences from their mean model, after @p steps steps without
 * gradients. The models differ at the start.
 */
double consensus_after(support_case *c, long steps);
