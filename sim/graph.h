/**
 * @file graph.h
 * Who gossips with whom: graphs that may change from round to round. Part of the contract of an algorithm.
 */
#ifndef DSGD_SIM_GRAPH_H
#define DSGD_SIM_GRAPH_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

/** One rank's neighbours in one round, and what share of its model goes to each. */
typedef struct dsgd_neighbours {
    int n_to, n_from;
    const int *to, *from; /* ascending, without the rank itself */
    double keep; /* the share that stays */
    const double *share; /* [n_to] */
} dsgd_neighbours;

/** What a graph may depend on besides its own options. */
typedef struct dsgd_graph {
    const void *params;
    int n_workers;
    uint64_t seed; /* of random graphs */
} dsgd_graph;

/** A family of graphs that a user can name. */
typedef struct dsgd_graph_kind {
    dsgd_about about;
    /** Refuses what is not connected, or has not the right shape. @p who asks. */
    dsgd_status (*check)(const dsgd_graph *graph, const char *who, dsgd_error *error);
    /** Ranks that @p rank sends to in a round, ascending, into to[n_workers - 1]. Returns how many. */
    int (*to)(const dsgd_graph *graph, int rank, long round, int *to);
    /** Those that send to it; NULL: the same. */
    int (*from)(const dsgd_graph *graph, int rank, long round, int *from);
    /** Rounds after which the graphs come again; 0: never, they are random. NULL: one. */
    long (*period)(const dsgd_graph *graph);
    bool irregular; /* ranks may have different numbers of neighbours in one round */
} dsgd_graph_kind;

extern const dsgd_about
    *const dsgd_graph_kinds[]; /* NULL-terminated; each is the head of a dsgd_graph_kind */

/** A row of an option table: a field of type dsgd_pick. */
#define DSGD_OPTION_GRAPH(type, field, init_, help_)                                               \
    DSGD_OPTION_PICK(type, field, dsgd_graph_kinds, "kind", help_, .init_text = init_)

dsgd_status dsgd_graph_check(const dsgd_pick *pick, int n_workers, const char *who,
                             dsgd_error *error);

/** Rounds after which the graphs come again; 0: never. */
long dsgd_graph_period(const dsgd_pick *pick, int n_workers);

/** Neighbours that a worker sends to: mean over workers and over a period (over one round of a random graph). */
double dsgd_graph_degree(const dsgd_pick *pick, int n_workers);

/** Where dsgd_graph_neighbours() puts what it finds. */
typedef struct dsgd_neighbour_room {
    int *to, *from, *other; /* [n_workers] each */
    double *share; /* [n_workers] */
} dsgd_neighbour_room;

/** Pure. Shares are 1 / (1 + receivers) of the rank, or with @p doubly_stochastic of whichever end has more. */
dsgd_neighbours dsgd_graph_neighbours(const dsgd_pick *pick, int n_workers, uint64_t seed, int rank,
                                      long round, bool doubly_stochastic,
                                      const dsgd_neighbour_room *room);

#endif
