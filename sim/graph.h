/**
 * @file graph.h
 * Who gossips with whom: graphs that may change from round to round. Part of the contract.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

DSGD_BEGIN_C

/** What the shares of all ranks' lists of a round promise, which is checked; to be combined. */
enum {
    DSGD_PROMISE_COLUMNS = 1, /* what a rank keeps and gives sums to 1: gossip keeps the mean */
    DSGD_PROMISE_ROWS = 2 /* what it keeps and gets sums to 1: gossip keeps what is equal */
};

/** One rank's neighbours in one round, and the shares of its model. */
typedef struct dsgd_neighbours {
    int n_to, n_from;
    const int *to, *from; /* ascending, without the rank itself */
    double keep; /* the share that stays */
    const double *share; /* [n_to] */
    unsigned promises; /* 0: none */
} dsgd_neighbours;

/** Arguments of the functions of a dsgd_graph_kind. */
typedef struct dsgd_graph {
    const void *params;
    int n_workers;
    uint64_t seed; /* of random graphs */
    bool senders; /* of a directed graph: `to` lists these */
} dsgd_graph;

/** A family of graphs that a user can name, as `d_psgd: graph: ring`. */
typedef struct dsgd_graph_kind {
    dsgd_entry about;
    /** Optional: refuses a graph that is not connected or does not fit P; @p who: first word. */
    dsgd_status (*check)(const dsgd_graph *graph, const char *who, dsgd_error *error);
    /** Fills to[n_workers - 1] with the receivers of @p rank, ascending; returns how many. */
    int (*to)(const dsgd_graph *graph, int rank, int64_t round, int *to);
    bool directed; /* senders are not the receivers */
    bool random; /* the graphs never repeat */
    /** Rounds after which they do. NULL: one. */
    int64_t (*period)(const dsgd_graph *graph);
    bool irregular; /* ranks may have different numbers of neighbours in one round */
} dsgd_graph_kind;

/** NULL-terminated; each is the head of a dsgd_graph_kind. */
extern const dsgd_entry *const dsgd_graph_kinds[];

/** A row of an option table: a field of type dsgd_spec. */
#define DSGD_OPTION_GRAPH(type, field, init_, help_)                                               \
    DSGD_OPTION_SPEC(type, field, dsgd_graph_kinds, "kind", help_, .init_text = init_)

/** Refuses a graph that does not fit P; a bipartite one may not join two even ranks, or two odd
 * ones, in any round. @p who: first word of the sentence. */
dsgd_status dsgd_graph_check(const dsgd_spec *pick, int n_workers, bool bipartite, const char *who,
                             dsgd_error *error);

/** {kind: exponential, schedule: bipartite} */
extern const dsgd_spec dsgd_graph_exponential_pairs;

/** Rounds after which the graphs repeat; 0: never. */
int64_t dsgd_graph_period(const dsgd_spec *pick, int n_workers);

/** Arrays that dsgd_graph_neighbours() fills. */
typedef struct dsgd_neighbour_room {
    int *to, *from, *other; /* [n_workers] each */
    double *share; /* [n_workers] */
} dsgd_neighbour_room;

/** Pure. share = 1 / (1 + d), d receivers of the rank; @p doubly_stochastic: most of both ends. */
dsgd_neighbours dsgd_graph_neighbours(const dsgd_spec *pick, int n_workers, uint64_t seed, int rank,
                                      int64_t round, bool doubly_stochastic,
                                      const dsgd_neighbour_room *room);

DSGD_END_C
