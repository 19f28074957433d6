/**
 * @file reductions.h
 * Where the contributions to one piece of a collective meet. Only the members' messages take time;
 * the value is one linear combination in rank order, made when the first member's schedule ends. By
 * then every member has contributed, because its messages depend on every other member's.
 */
#ifndef DSGD_SIM_EXCHANGE_REDUCTIONS_H
#define DSGD_SIM_EXCHANGE_REDUCTIONS_H

#include "sim/engine/engine.h"

/** What a member brings; a stamp as in dsgd_piece. */
typedef struct dsgd_contribution {
    dsgd_value value;
    long stamp;
    size_t alike; /* the group of contributions that it is in, unless it is null */
} dsgd_contribution;

typedef struct dsgd_reduction {
    uint64_t scope; /* 0: all workers; else 1 + leader of the group */
    uint64_t number; /* unique within the scope: sequence number, or version and piece */
    int n_members, n_sampled;
    int references; /* members that still need it */
    dsgd_group group;
    int leader; /* member i is the i-th rank of the group */
    double bytes, divisor;
    bool combined;
    dsgd_value sum; /* sum / divisor */
    double *numbers; /* of control data, instead */
    struct dsgd_fused *fused; /* fusion.c's */
    struct dsgd_schedule *schedule; /* closed.c's, of a group that gathers */
    int n_stamped; /* contributions that are not null; of their stamps: */
    long newest, oldest;
    double stamps; /* their sum */
    dsgd_alike *alike; /* [n_alike], with room for more */
    size_t n_alike, room;
    uint64_t steps_seen; /* local steps of all workers with this piece, as of the last use */
    dsgd_contribution contribution[]; /* [n_members] */
} dsgd_reduction;

/**
 * Joins the worker's next collective of all workers; their order is the same everywhere, and the
 * n-th has the same @p bytes and @p divisor.
 */
dsgd_reduction *dsgd_reduction_join_next(dsgd_worker *w, double bytes, double divisor);

/** Whether a worker has joined a collective of all workers. */
bool dsgd_reduction_joined(const dsgd_engine *engine, const dsgd_reduction *reduction, int rank);
/** Index of a rank among those that differ from it in the bits of @p group, in rising order. */
static inline int dsgd_group_index(dsgd_group group, int rank)
{
    int index = 0;
    for (int bit = 0, to = 0; (group >> bit) != 0; bit++)
        if ((group >> bit) & 1)
            index |= ((rank >> bit) & 1) << to++;
    return index;
}

/** The rank with that index; @p leader is the lowest. */
static inline int dsgd_group_rank(dsgd_group group, int leader, int index)
{
    for (int bit = 0, from = 0; (group >> bit) != 0; bit++)
        if ((group >> bit) & 1)
            leader |= ((index >> from++) & 1) << bit;
    return leader;
}

/** Joins reduction @p number of the group of @p leader. Every member joins once and leaves once. */
dsgd_reduction *dsgd_reduction_join_group(dsgd_engine *engine, uint64_t number, dsgd_group group,
                                          int leader);
void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction);

/** Hands over the contribution of @p w, a member, and the reference to its value. */
void dsgd_reduction_sample(const dsgd_worker *w, dsgd_reduction *reduction,
                           dsgd_piece contribution);

/** sum <- (sum of contributions) / divisor, at the first call. All must have been sampled. */
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
                                  long ahead);

/** Forgets reductions that never became complete. */
void dsgd_reductions_close(dsgd_engine *engine);

#endif
