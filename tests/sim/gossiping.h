/**
 * @file gossiping.h
 * Runs of algorithms on a graph, and how far their models are from each other.
 */
#pragma once

#include "tests/support/support.h"

enum { MOST = 64 };

/** A graph of a test. */
typedef struct graph {
    const char *kind;
    const char *option; /* a number of it; NULL: none */
    double value;
    const char *second;
    double second_value;
    int workers;
} graph;

/** A run of an algorithm whose first option is the graph. */
support_case *gossiping(const char *algorithm, const graph *g);

/** The graph is the first option of the algorithms used here. */
const dsgd_spec *graph_of(const support_case *c);

/** w[i][j]: the share of j's model that i gets in a round. */
void mixing(const support_case *c, long round, bool doubly, double w[MOST][MOST]);

/** ||x_w - mean|| over all workers, after @p steps without gradients from different models. */
double consensus_after(support_case *c, long steps);
