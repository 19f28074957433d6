/**
 * @file reductions.h
 * Where the contributions to one piece of a collective meet. Only the members' messages take time;
 * the value is one linear combination in rank order, made when the first member's schedule ends. By
 * then every member has contributed, because its messages depend on every other member's.
 *
 * Members are all workers, a group, or a communicator: one of the parts that a split makes, by the
 * first worker that asks for it. A split lives as long as a worker has it among its last ones, or a
 * collective on one of its communicators is under way.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/observe/observe.h"

struct dsgd_comm {
    struct dsgd_partition *split;
    uint64_t id; /* from 1, in the order in which splits are made; 0: nobody's */
    int n;
    int *rank; /* [n] of the members, ascending */
    uint64_t *begun; /* [n] collectives that each has begun on it */
    bool known_in_island, in_island; /* analytic.c's: whether all members are in one */
};

/** Index of a rank among the members; -1: it is none. */
int dsgd_comm_index(const dsgd_comm *comm, int rank);

/** Number of this worker in it, -1 where it is no member; and of its members. */
int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm);
int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm);

/** The communicator of @p ranks [n], ascending; what asks for it has it under way. */
dsgd_comm *dsgd_comm_among(dsgd_engine *engine, const int *ranks, int n);

/** What has a communicator (NULL: none) under way. */
void dsgd_comm_retain(dsgd_comm *comm);
void dsgd_comm_release(dsgd_engine *engine, dsgd_comm *comm);

/** What a member brings; a stamp as in dsgd_piece. */
typedef struct dsgd_contribution {
    dsgd_value value;
    int64_t stamp;
    dsgd_vector *of; /* as in dsgd_piece */
    int owner; /* rank, once it is sampled */
    bool started; /* the member's channel has begun to carry out its part */
    bool counts; /* its member was there when it was sampled */
    bool queued; /* quorum.c's: the member's channel has its part */
    struct dsgd_job *held; /* quorum.c's: of a member whose messages are not sent; NULL: none */
    size_t alike; /* the group of contributions that it is in, unless it is null */
} dsgd_contribution;

/** A collective that all members call alike. */
typedef struct dsgd_call {
    dsgd_collective_kind part;
    int root; /* index of a member, of REDUCE and BROADCAST */
    size_t piece;
    double bytes, divisor;
    const dsgd_encoded *encoded; /* of what is contributed; NULL: it is not encoded */
    const char *verb; /* for who calls another one */
    int caller; /* rank; of a reduction the first */
} dsgd_call;

/** The members of a collective; their indices are in the order of ranks. */
typedef struct dsgd_members {
    dsgd_comm *comm; /* of this communicator; NULL: */
    dsgd_group group; /* the ranks that differ from the leader's, the lowest, in these bits */
    int leader; /* -1: all workers */
} dsgd_members;

#define DSGD_ALL_WORKERS ((dsgd_members){NULL, 0, -1})

/** Index of a rank among the members; -1: it is none. And the rank of a member. */
int dsgd_members_index(const dsgd_members *members, int rank);
int dsgd_members_rank(const dsgd_members *members, int index);

typedef struct dsgd_reduction {
    struct dsgd_reduction *next; /* in a list of what some member has yet to join */
    /* 0: all workers; 1 + leader: of the group; DSGD_SCOPE_COMM + its id: of a communicator. */
    uint64_t scope;
    uint64_t number; /* unique within the scope: sequence number, or version and piece */
    int n_members, n_joined, n_sampled, n_counting, n_held;
    int references; /* members that still need it */
    dsgd_members members;
    dsgd_call call;
    bool combined;
    bool decided, over; /* quorum.c's: whose messages it is made of; one of them has the result */
    dsgd_comm *quorum; /* these; NULL: all members */
    dsgd_value sum; /* sum / divisor; of a broadcast the root's */
    double *numbers; /* of control data, instead */
    struct dsgd_fused *fused; /* fusion.c's */
    struct dsgd_schedule *schedule; /* analytic.c's, of members that gather */
    int n_stamped; /* contributions that are not null; of their stamps: */
    int64_t newest, oldest;
    double stamps; /* their sum */
    dsgd_alike *alike; /* [n_alike], with room for more */
    size_t n_alike, room;
    uint64_t steps_seen; /* local steps of all workers with this piece, as of the last use */
    dsgd_contribution contribution[]; /* [n_members] */
} dsgd_reduction;

/**
 * Joins the worker's next collective on a communicator (NULL: of all workers); their order is the
 * same at all members, and the n-th is the same call.
 */
dsgd_reduction *dsgd_reduction_join_next(dsgd_worker *w, dsgd_comm *comm, dsgd_call call);

/**
 * Whether the others still wait for a worker: to join, or, where all have joined and the run has
 * communicators, whose order a worker may confuse, to start.
 */
bool dsgd_reduction_lacks(const dsgd_engine *engine, const dsgd_reduction *reduction, int rank);

/** Joins reduction @p number of the group of @p leader. Every member joins once and leaves once. */
dsgd_reduction *dsgd_reduction_join_group(dsgd_engine *engine, uint64_t number, dsgd_group group,
                                          int leader, dsgd_call call);
void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction);

/** Hands over the contribution of @p w, a member, and the reference to its value. */
void dsgd_reduction_sample(const dsgd_worker *w, dsgd_reduction *reduction,
                           dsgd_piece contribution);

/**
 * sum <- (sum of contributions) / divisor, at the first call; of an allgather the
 * n-th part of what member n has sampled, together. All must have been sampled.
 */
void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece);

/** Copies mine[n] into numbers[n_members][n]. */
void dsgd_reduction_gather(dsgd_engine *engine, dsgd_reduction *reduction, int rank,
                           const double *mine, size_t n);

/**
 * Counts the ages and the lag of the contributions in a sum that @p user uses, @p ahead iterations
 * before its own would be due. Returns the lag: max(local steps of the user + ahead, newest stamp)
 * minus the stamp, over contributions that are not null.
 */
dsgd_lag dsgd_reduction_count_use(dsgd_worker *user, dsgd_reduction *reduction, size_t piece,
                                  int64_t ahead);

/* --- quorum.c: of those who are there; these do nothing under other policies ------------------ */

/** Before the first part is carried out. */
void dsgd_quorum_decide(dsgd_engine *engine, dsgd_reduction *reduction);
/** Whether no channel is to have the job: it ends with the others'. */
bool dsgd_quorum_holds(dsgd_worker *w, dsgd_reduction *reduction, struct dsgd_job *job);
/** Seconds for which the others wait for this worker's part, although it has failed. */
double dsgd_quorum_left_s(dsgd_worker *w, dsgd_reduction *reduction);
/** Whether nobody who was there was among its members. */
bool dsgd_quorum_gave_nothing(const dsgd_engine *engine, const dsgd_reduction *reduction);
/** A member has the result. */
void dsgd_quorum_over(dsgd_engine *engine, dsgd_reduction *reduction);
