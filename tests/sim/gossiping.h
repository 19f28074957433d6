/**
 * @file gossiping.h
 * Runs of algorithms on a graph, and the distance between their models.
 */
#pragma once

#include "tests/support/support.h"

enum { MOST = 64 };

/** A graph of a test. */
typedef struct graph {
    const char *kind;
    const char *option; /* name of a numeric option of the graph; NULL if none */
    double value;
    const char *second;
    double second_value;
    int workers;
} graph;

/** Makes a run of an algorithm whose first option is the graph. */
support_case *gossiping(const char *algorithm, const graph *g);

/** Returns the graph of a case: the first option of the algorithms used here. */
const dsgd_spec *graph_of(const support_case *c);

/** Computes w[i][j], the share of j's model that i gets in a round. */
void mixing(const support_case *c, long round, bool doubly, double w[MOST][MOST]);

/**
 * Returns ||x_w - mean|| over all workers, after @p steps steps without gradients. The models
 * differ at the beginning.
 */
double consensus_after(support_case *c, long steps);
