/**
 * @file reductions.h
 * The sum of one chunk of a collective, and the communicators. In a collective, only the messages
 * of the members take time. The sum is one linear combination in rank order, computed when the
 * schedule of the first member ends. By then every member has contributed, because the messages of
 * each member depend on the messages of every other member.
 *
 * The members are all workers, a group given by bits of ranks, or a communicator. A communicator is
 * one part of a split. The first worker that asks for a split creates it. A split by colours exists
 * until the run ends. A split for a quorum exists while one of its collectives is in progress.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/observe/observe.h"

struct dsgd_comm {
    struct dsgd_partition *split;
    uint64_t id; /* number of the communicator, from 1, in the order of creation; 0 if it has no
                  * members */
    int n; /* number of members */
    int *rank; /* [n] ranks of the members, in ascending order */
    uint64_t *begun; /* [n] number of collectives that each member has started */
    bool known_in_island, in_island; /* analytic.c: true if in_island has been computed; true if
                                      * all members are hosts of one node */
};

/**
 * Returns the index of the worker @p rank among the members of @p comm, or -1 if it is not a
 * member.
 */
int dsgd_comm_index(const dsgd_comm *comm, int rank);

/** Returns the index of this worker among the members of @p comm, or -1 if it is not a member. */
int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm);

/** Returns the number of members of @p comm. */
int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm);

/**
 * Returns the communicator whose members are @p ranks [n], which must be in ascending order.
 * Creates it if it does not exist. The caller must release it.
 */
dsgd_comm *dsgd_comm_among(dsgd_engine *engine, const int *ranks, int n);

/**
 * Adds a user to a communicator, or removes a user. Both functions do nothing if @p comm is NULL.
 */
void dsgd_comm_retain(dsgd_comm *comm);
void dsgd_comm_release(dsgd_engine *engine, dsgd_comm *comm);

/** The contribution of one member to a collective. */
typedef struct dsgd_contribution {
    dsgd_value value;
    int64_t stamp; /* stamp of the value, as in dsgd_piece; -1 if the contribution is empty */
    dsgd_vector *of; /* vector that was compressed, as in dsgd_piece */
    int owner; /* rank of the member; set when the value is stored */
    bool started; /* true if the member's channel has started to execute the collective */
    bool counts; /* true if the member was running when it contributed */
    bool queued; /* quorum.c: true if the job is in the queue of the member's channel */
    struct dsgd_job *held; /* quorum.c: job that the member's channel does not execute, because
                            * the member has failed */
    size_t alike; /* index of the contribution's group in dsgd_reduction.alike; unused if the
                   * contribution is empty */
} dsgd_contribution;

/** The arguments of a collective. They must be the same at all members. */
typedef struct dsgd_call {
    dsgd_collective_kind part;
    int root; /* index of the root among the members, for DSGD_REDUCE and DSGD_BROADCAST */
    size_t piece;
    double bytes, divisor;
    const dsgd_encoded *encoded; /* compression of the contributions; NULL if they are not
                                  * compressed */
    const char *verb; /* name of the verb, for error messages */
    int caller; /* rank of the first member that called the collective */
} dsgd_call;

/** The members of a collective. Their indices are in the order of ranks. */
typedef struct dsgd_members {
    dsgd_comm *comm; /* communicator of the members; NULL if `group` and `leader` define the
                      * members */
    dsgd_group group; /* bits of ranks: the members are the ranks that differ from `leader` only
                       * in these bits */
    int leader; /* lowest rank of the group; -1 if the members are all workers */
} dsgd_members;

#define DSGD_ALL_WORKERS ((dsgd_members){NULL, 0, -1})

/** Returns the index of the worker @p rank among the members, or -1 if it is not a member. */
int dsgd_members_index(const dsgd_members *members, int rank);

/** Returns the rank of the member with the given index. */
int dsgd_members_rank(const dsgd_members *members, int index);

/** The collective of one chunk. It exists until all members have ended it. */
typedef struct dsgd_reduction {
    struct dsgd_reduction *next; /* next reduction in a list of reductions that some member has
                                  * not joined */
    /*
     * The set of members. 0 means all workers. 1 + leader means a group. DSGD_SCOPE_COMM + id means
     * a communicator.
     */
    uint64_t scope;
    uint64_t number; /* number that is unique in the scope: a sequence number, or (version *
                      * number of chunks) + index of the chunk */
    /*
     * Numbers of members. n_joined members have called the collective. n_sampled members have
     * contributed. n_counting members had not failed when they contributed. The jobs of n_held
     * members are held (quorum.c).
     */
    int n_members, n_joined, n_sampled, n_counting, n_held;
    int references; /* number of members that have not ended the reduction */
    dsgd_members members;
    dsgd_call call;
    bool combined; /* true if the sum has been computed */
    /*
     * quorum.c: true if the members that send messages have been chosen; true if one of these
     * members has ended its part
     */
    bool decided, over;
    dsgd_comm *quorum; /* quorum.c: the members that send messages; NULL if all members send
                        * messages */
    dsgd_value sum; /* sum of the contributions, divided by call.divisor; for a broadcast, the
                     * value of the root */
    double *numbers; /* [n_members][n] control data of an allgather; NULL in a reduction of
                      * vectors */
    struct dsgd_fused *fused; /* fusion.c: the tensor of this chunk */
    struct dsgd_schedule *schedule; /* analytic.c: schedule that some members have not joined
                                     * yet; NULL before the first and after the last member has
                                     * joined */
    int n_stamped; /* number of contributions that are not empty */
    int64_t newest, oldest; /* newest and oldest stamp of the contributions that are not empty */
    double stamps; /* sum of the stamps of the contributions that are not empty */
    dsgd_alike *alike; /* [n_alike] groups of contributions with equal stamps and equal local
                        * steps of their owners */
    size_t n_alike, room;
    uint64_t steps_seen; /* number of local steps of all workers with this chunk, up to the last
                          * update of `alike` */
    dsgd_contribution contribution[]; /* [n_members] contributions in the order of ranks */
} dsgd_reduction;

/**
 * Joins the worker's next collective of a communicator. If @p comm is NULL, the communicator
 * contains all workers. All members join the same collectives in the same order. If this call
 * differs from the call of another member, the program stops.
 */
dsgd_reduction *dsgd_reduction_join_next(dsgd_worker *w, dsgd_comm *comm, dsgd_call call);

/**
 * Returns whether the other members wait for the worker @p rank to join. After all members have
 * joined, returns whether they wait for this worker to start its part. The latter is possible only
 * if the run has communicators, because the worker may execute the collectives of two communicators
 * in another order.
 */
bool dsgd_reduction_lacks(const dsgd_engine *engine, const dsgd_reduction *reduction, int rank);

/**
 * Joins reduction @p number of the group with the given leader. Every member must join and leave it
 * once.
 */
dsgd_reduction *dsgd_reduction_join_group(dsgd_engine *engine, uint64_t number, dsgd_group group,
                                          int leader, dsgd_call call);
void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction);

/**
 * Stores the contribution of the member @p w. The reduction takes over the reference to the value.
 */
void dsgd_reduction_sample(const dsgd_worker *w, dsgd_reduction *reduction,
                           dsgd_piece contribution);

/**
 * The first call computes sum <- (sum of contributions) / divisor; later calls do nothing. For an
 * allgather, the result consists of the i-th of n parts of the contribution of each member i. All
 * members must have contributed before the first call.
 */
void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece);

/** Copies mine[n], the numbers of the member @p rank, to reduction->numbers. */
void dsgd_reduction_gather(dsgd_engine *engine, dsgd_reduction *reduction, int rank,
                           const double *mine, size_t n);

/**
 * Counts the ages and the lag of the contributions to a sum that the worker @p user uses. The
 * version of the sum is @p ahead iterations ahead of the user's step. Returns the lag over the
 * contributions that are not empty. The lag of a contribution is max(local steps of the user +
 * ahead, newest stamp) minus the stamp of the contribution.
 */
dsgd_lag dsgd_reduction_count_use(dsgd_worker *user, dsgd_reduction *reduction, size_t piece,
                                  int64_t ahead);

/* --- functions of quorum.c for collectives under policy quorum -------------------------------- */

/** Chooses the members that send messages. Called before the first member executes its part. */
void dsgd_quorum_decide(dsgd_engine *engine, dsgd_reduction *reduction);
/**
 * Returns true if the job is held. The channel must not execute a job that is held. Such a job ends
 * when the jobs of the other members end.
 */
bool dsgd_quorum_holds(dsgd_worker *w, dsgd_reduction *reduction, struct dsgd_job *job);
/**
 * Returns the seconds for which the other members will still wait for the worker @p w, which has
 * failed.
 */
double dsgd_quorum_left_s(dsgd_worker *w, dsgd_reduction *reduction);
/** Returns whether all contributions came from failed workers. */
bool dsgd_quorum_gave_nothing(const dsgd_engine *engine, const dsgd_reduction *reduction);
/** Ends the jobs that are held. Called when a member has the result. */
void dsgd_quorum_over(dsgd_engine *engine, dsgd_reduction *reduction);
