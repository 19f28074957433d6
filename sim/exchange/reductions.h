/**
 * @file reductions.h
 * The sum of one piece of a collective, and the communicators. Only the members' messages take
 * time. The sum is one linear combination in rank order, computed when the first member's schedule
 * ends. By then every member has contributed, because the messages of each member depend on those
 * of every other member.
 *
 * The members are all workers, a group given by bits of ranks, or a communicator. A communicator is
 * one part of a split, which the first worker that asks for it creates. A split by colours exists
 * until the run ends. A split for a quorum exists while a collective of it is under way.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/observe/observe.h"

struct dsgd_comm {
    struct dsgd_partition *split;
    uint64_t id; /* from 1, in the order of creation; 0 for the communicator without members */
    int n; /* number of members */
    int *rank; /* [n] ranks of the members, ascending */
    uint64_t *begun; /* [n] number of collectives that each member has started */
    bool known_in_island, in_island; /* analytic.c: whether all members are in one node */
};

/** Returns the index of a rank among the members, or -1 if it is not a member. */
int dsgd_comm_index(const dsgd_comm *comm, int rank);

/** Returns the index of this worker among the members, or -1 if it is not a member. */
int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm);

/** Returns the number of members. */
int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm);

/**
 * Returns the communicator of @p ranks [n], which are ascending. Makes it if there is none. The
 * caller must release it.
 */
dsgd_comm *dsgd_comm_among(dsgd_engine *engine, const int *ranks, int n);

/** Add and remove a user of a communicator; both do nothing if it is NULL. */
void dsgd_comm_retain(dsgd_comm *comm);
void dsgd_comm_release(dsgd_engine *engine, dsgd_comm *comm);

/** The contribution of a member. */
typedef struct dsgd_contribution {
    dsgd_value value;
    int64_t stamp; /* as in dsgd_piece */
    dsgd_vector *of; /* as in dsgd_piece */
    int owner; /* rank of the member, after the value is stored */
    bool started; /* true if the member's channel has started its part */
    bool counts; /* true if the member was running when it contributed */
    bool queued; /* quorum.c: true if the member's channel has the job */
    struct dsgd_job *held; /* quorum.c: job that is not executed, because the member failed */
    size_t alike; /* index of its group in `alike` of the reduction, unless it is null */
} dsgd_contribution;

/** The arguments of a collective, which must be the same at all members. */
typedef struct dsgd_call {
    dsgd_collective_kind part;
    int root; /* index of a member, for REDUCE and BROADCAST */
    size_t piece;
    double bytes, divisor;
    const dsgd_encoded *encoded; /* compression of the contributions; NULL without compression */
    const char *verb; /* name of the verb, for an error message */
    int caller; /* rank of the first member that called */
} dsgd_call;

/** The members of a collective; their indices are in the order of ranks. */
typedef struct dsgd_members {
    dsgd_comm *comm; /* communicator; NULL if the other two fields give the members */
    dsgd_group group; /* members are the ranks that differ from the leader in these bits only */
    int leader; /* lowest rank of the group; -1 means all workers */
} dsgd_members;

#define DSGD_ALL_WORKERS ((dsgd_members){NULL, 0, -1})

/** Returns the index of a rank among the members, or -1 if it is not a member. */
int dsgd_members_index(const dsgd_members *members, int rank);

/** Returns the rank of a member. */
int dsgd_members_rank(const dsgd_members *members, int index);

/** The collective of one piece, until all members have ended it. */
typedef struct dsgd_reduction {
    struct dsgd_reduction *next; /* in a list of reductions that some member has not joined */
    /* 0 for all workers; 1 + leader for a group; DSGD_SCOPE_COMM + id for a communicator. */
    uint64_t scope;
    uint64_t number; /* unique in the scope: a sequence number, or made of version and piece */
    /* Numbers of members: all; that have called; that have contributed; that were running when they
     * contributed; whose jobs are held (quorum.c). */
    int n_members, n_joined, n_sampled, n_counting, n_held;
    int references; /* members that still need the reduction */
    dsgd_members members;
    dsgd_call call;
    bool combined; /* true if the sum is computed */
    /* quorum.c: whether it is decided which members send messages; whether one of them is done. */
    bool decided, over;
    dsgd_comm *quorum; /* the members that send messages; NULL if all do */
    dsgd_value sum; /* sum / divisor; for a broadcast the value of the root */
    double *numbers; /* [n_members][n] control data, instead of a sum */
    struct dsgd_fused *fused; /* fusion.c */
    struct dsgd_schedule *schedule; /* analytic.c: the schedule whose members are arriving */
    int n_stamped; /* number of contributions that are not null */
    int64_t newest, oldest; /* newest and oldest stamp of these */
    double stamps; /* sum of their stamps */
    dsgd_alike *alike; /* [n_alike] groups of contributions with equal stamps and owners' steps */
    size_t n_alike, room;
    uint64_t steps_seen; /* local steps of all workers with this piece until the last use */
    dsgd_contribution contribution[]; /* [n_members] */
} dsgd_reduction;

/**
 * Joins the worker's next collective of a communicator (of all workers, if it is NULL). All members
 * join the same collectives in the same order. If the call differs from that of another member, the
 * program stops.
 */
dsgd_reduction *dsgd_reduction_join_next(dsgd_worker *w, dsgd_comm *comm, dsgd_call call);

/**
 * Returns whether the other members wait for a worker to join. If all have joined and the run has
 * communicators, returns whether they wait for the worker to start, because it may execute the
 * collectives of two communicators in another order.
 */
bool dsgd_reduction_lacks(const dsgd_engine *engine, const dsgd_reduction *reduction, int rank);

/** Joins reduction @p number of the group of @p leader. Every member must join and leave once. */
dsgd_reduction *dsgd_reduction_join_group(dsgd_engine *engine, uint64_t number, dsgd_group group,
                                          int leader, dsgd_call call);
void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction);

/** Stores the contribution of the member @p w. The reduction takes the reference to its value. */
void dsgd_reduction_sample(const dsgd_worker *w, dsgd_reduction *reduction,
                           dsgd_piece contribution);

/**
 * Computes sum <- (sum of contributions) / divisor at the first call; later calls do nothing. For
 * an allgather, the result consists of the n-th part of the contribution of each member n. All
 * members must have contributed.
 */
void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece);

/** Copies mine[n] of the member @p rank to numbers[n_members][n]. */
void dsgd_reduction_gather(dsgd_engine *engine, dsgd_reduction *reduction, int rank,
                           const double *mine, size_t n);

/**
 * Counts the ages and the lag of the contributions to a sum that @p user uses. @p ahead is the
 * number of iterations by which the version of the sum is ahead of the user's step. Returns the lag
 * over the contributions that are not null, where the lag of a contribution is max(local steps of
 * the user + ahead, newest stamp) minus its stamp.
 */
dsgd_lag dsgd_reduction_count_use(dsgd_worker *user, dsgd_reduction *reduction, size_t piece,
                                  int64_t ahead);

/* --- quorum.c: collectives of the running workers; these do nothing under other policies ------ */

/** Decides which members send messages. Called before the first part is executed. */
void dsgd_quorum_decide(dsgd_engine *engine, dsgd_reduction *reduction);
/** Returns whether the job must not be executed by a channel: it ends when the others end. */
bool dsgd_quorum_holds(dsgd_worker *w, dsgd_reduction *reduction, struct dsgd_job *job);
/** Returns the seconds for which the other members still wait for this worker, which has failed. */
double dsgd_quorum_left_s(dsgd_worker *w, dsgd_reduction *reduction);
/** Returns whether no running worker contributed. */
bool dsgd_quorum_gave_nothing(const dsgd_engine *engine, const dsgd_reduction *reduction);
/** Ends the jobs that are held, because a member has the result. */
void dsgd_quorum_over(dsgd_engine *engine, dsgd_reduction *reduction);
