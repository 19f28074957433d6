/**
 * @file graph.h
 * Graphs of workers for gossip: which worker sends to which workers in each round. A graph may
 * change from round to round. This header is part of the contract of an algorithm.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

DSGD_BEGIN_C

/**
 * Bits that state properties of the shares of all workers in a round. Gossip checks these
 * properties.
 */
enum {
    /*
     * For each worker, the share that it keeps and the shares that it sends sum to 1. Gossip then
     * preserves the mean of all models.
     */
    DSGD_PROMISE_COLUMNS = 1,
    /*
     * For each worker, the share that it keeps and the shares that it receives sum to 1. If all
     * models are equal, gossip then does not change them.
     */
    DSGD_PROMISE_ROWS = 2
};

/** The neighbours of one worker in one round, and the shares of its model that it sends. */
typedef struct dsgd_neighbours {
    int n_to, n_from; /* number of receivers, and number of senders */
    const int *to, *from; /* ranks of the receivers, and ranks of the senders; both lists are
                           * ascending and do not contain the worker itself */
    double keep; /* share of the model that the worker keeps */
    const double *share; /* [n_to] share of the model that each receiver gets */
    unsigned promises; /* properties of the shares: bits DSGD_PROMISE_...; 0 if the shares have no
                        * such property */
} dsgd_neighbours;

/** Arguments of the functions in a dsgd_graph_kind. */
typedef struct dsgd_graph {
    const void *params; /* options of the graph */
    int n_workers;
    uint64_t seed; /* seed of random graphs */
    bool senders; /* for directed graphs: true if to() returns the senders of a worker instead of
                   * its receivers */
} dsgd_graph;

/** A kind of graph that a user can choose, for example `d_psgd: graph: ring`. */
typedef struct dsgd_graph_kind {
    dsgd_entry about;
    /**
     * Optional. Rejects a graph that is not connected or that does not fit the number of workers.
     * @p who is the first word of the error message.
     */
    dsgd_status (*check)(const dsgd_graph *graph, const char *who, dsgd_error *error);
    /**
     * Stores the receivers of the worker @p rank in to[n_workers - 1], in ascending order, and
     * returns their number.
     */
    int (*to)(const dsgd_graph *graph, int rank, int64_t round, int *to);
    bool directed; /* true if the senders of a worker are not the same workers as its receivers */
    bool random; /* true if every round draws a new random graph, so that graphs do not repeat */
    /**
     * Optional. Returns the number of rounds after which the graphs repeat. If `period` is NULL,
     * all rounds have the same graph.
     */
    int64_t (*period)(const dsgd_graph *graph);
    bool irregular; /* true if workers may have different numbers of neighbours in one round */
} dsgd_graph_kind;

/** All kinds of graphs, NULL-terminated. Each entry is the first member of a dsgd_graph_kind. */
extern const dsgd_entry *const dsgd_graph_kinds[];

/** Defines a row of an option table, for a field of type dsgd_spec whose value is a graph. */
#define DSGD_OPTION_GRAPH(type, field, init_, help_)                                               \
    DSGD_OPTION_SPEC(type, field, dsgd_graph_kinds, "kind", help_, .init_text = init_)

/**
 * Rejects a graph that does not fit the number of workers. If @p bipartite is true, no edge may
 * connect two even or two odd ranks in any round. @p who is the first word of the error message.
 */
dsgd_status dsgd_graph_check(const dsgd_spec *pick, int n_workers, bool bipartite, const char *who,
                             dsgd_error *error);

/** The graph `{kind: exponential, schedule: bipartite}` as the value of an option. */
extern const dsgd_spec dsgd_graph_exponential_pairs;

/** Returns the number of rounds after which the graphs repeat, or 0 if the graphs never repeat. */
int64_t dsgd_graph_period(const dsgd_spec *pick, int n_workers);

/** Memory that the caller provides and dsgd_graph_neighbours() fills. */
typedef struct dsgd_neighbour_room {
    int *to, *from, *other; /* arrays of ranks, each with n_workers entries; `other` is scratch
                             * memory */
    double *share; /* [n_workers] shares of the receivers */
} dsgd_neighbour_room;

/**
 * Returns the neighbours of the worker @p rank in a round, in the arrays of @p room. Pure. The
 * share of each receiver is 1 / (1 + d), where d is the number of receivers of @p rank. If @p
 * doubly_stochastic is true, d is the number of neighbours of @p rank or of the receiver, whichever
 * is larger (Metropolis weights).
 */
dsgd_neighbours dsgd_graph_neighbours(const dsgd_spec *pick, int n_workers, uint64_t seed, int rank,
                                      int64_t round, bool doubly_stochastic,
                                      const dsgd_neighbour_room *room);

DSGD_END_C
