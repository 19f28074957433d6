/**
 * @file graph.h
 * Graphs of workers for gossip. A graph may change from round to round. Part of the contract of an
 * algorithm.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

DSGD_BEGIN_C

/** Properties of the shares of all workers in a round; bits. Gossip checks them. */
enum {
    /* The share that a worker keeps and the shares that it sends sum to 1. Gossip then preserves
     * the mean of all models. */
    DSGD_PROMISE_COLUMNS = 1,
    /* The share that a worker keeps and the shares that it receives sum to 1. Gossip then does not
     * change equal models. */
    DSGD_PROMISE_ROWS = 2
};

/** The neighbours of one worker in one round, and the shares of its model that it sends. */
typedef struct dsgd_neighbours {
    int n_to, n_from; /* number of receivers, number of senders */
    const int *to, *from; /* ranks of receivers and of senders; ascending, without the worker */
    double keep; /* share that the worker keeps */
    const double *share; /* [n_to] share that each receiver gets */
    unsigned promises; /* bits DSGD_PROMISE_...; 0 if there are none */
} dsgd_neighbours;

/** Arguments of the functions of a dsgd_graph_kind. */
typedef struct dsgd_graph {
    const void *params; /* options of the graph */
    int n_workers;
    uint64_t seed; /* for random graphs */
    bool senders; /* for directed graphs; true: to() lists the senders, not the receivers */
} dsgd_graph;

/** A kind of graph that a user can choose, for example `d_psgd: graph: ring`. */
typedef struct dsgd_graph_kind {
    dsgd_entry about;
    /**
     * Optional. Rejects a graph that is not connected or does not fit the number of workers. @p who
     * is the first word of the message.
     */
    dsgd_status (*check)(const dsgd_graph *graph, const char *who, dsgd_error *error);
    /**
     * Stores the receivers of @p rank in to[n_workers - 1], ascending, and returns their number.
     */
    int (*to)(const dsgd_graph *graph, int rank, int64_t round, int *to);
    bool directed; /* true if the senders of a worker differ from its receivers */
    bool random; /* true if the graphs of the rounds never repeat */
    /** Returns the number of rounds after which the graphs repeat. NULL if it is 1. */
    int64_t (*period)(const dsgd_graph *graph);
    bool irregular; /* true if workers may have different numbers of neighbours in one round */
} dsgd_graph_kind;

/** All kinds, NULL-terminated. Each entry is the first member of a dsgd_graph_kind. */
extern const dsgd_entry *const dsgd_graph_kinds[];

/** A row of an option table, for a field of type dsgd_spec that picks a graph. */
#define DSGD_OPTION_GRAPH(type, field, init_, help_)                                               \
    DSGD_OPTION_SPEC(type, field, dsgd_graph_kinds, "kind", help_, .init_text = init_)

/**
 * Rejects a graph that does not fit the number of workers. If @p bipartite, also rejects a graph
 * that connects two even ranks or two odd ranks in any round. @p who is the first word of the
 * message.
 */
dsgd_status dsgd_graph_check(const dsgd_spec *pick, int n_workers, bool bipartite, const char *who,
                             dsgd_error *error);

/** The graph {kind: exponential, schedule: bipartite}. */
extern const dsgd_spec dsgd_graph_exponential_pairs;

/** Returns the number of rounds after which the graphs repeat, or 0 if they never do. */
int64_t dsgd_graph_period(const dsgd_spec *pick, int n_workers);

/** Arrays of the caller that dsgd_graph_neighbours() fills. */
typedef struct dsgd_neighbour_room {
    int *to, *from, *other; /* [n_workers] each */
    double *share; /* [n_workers] */
} dsgd_neighbour_room;

/**
 * Returns the neighbours of a rank in a round; its arrays are those of @p room. Pure. A share is
 * 1 / (1 + d), where d is the number of receivers of the rank. If @p doubly_stochastic, d is the
 * larger number of the two ends of the edge (Metropolis weights).
 */
dsgd_neighbours dsgd_graph_neighbours(const dsgd_spec *pick, int n_workers, uint64_t seed, int rank,
                                      int64_t round, bool doubly_stochastic,
                                      const dsgd_neighbour_room *room);

DSGD_END_C
