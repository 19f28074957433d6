/**
 * @file plan.h
 * The plan of a collective: which member sends how many bytes to which member, in which round. The
 * functions of this header are pure. analytic.c computes the times of a plan, and schedules.c sends
 * its messages.
 */
#pragma once

#include "sim/exchange/reductions.h"

/**
 * A collective as rounds of messages. In each round, a member sends at most one message and
 * receives at most one.
 */
typedef struct dsgd_plan {
    dsgd_collective how; /* algorithm of the collective */
    int n; /* number of members; members have indices in the order of ranks */
    double bytes; /* bytes of the vector */
    double turn_s; /* seconds of one turn of the progress loop per message, as in dsgd_way */
    int n_rounds;
    int bits, extra; /* bits and extra satisfy n = 2^bits + extra, where 2^bits is the largest power
                      * of two up to n; both are 0 for rings */
    dsgd_collective_kind part;
    int half; /* number of rounds of one half (reduce-scatter or allgather); 0 if whole vectors
               * are sent, or if members are folded */
    /*
     * Number of members of a ring in each dimension. If there is only one ring, the array is n, 1,
     * 1, ...
     */
    int ring[DSGD_MOST_DIMENSIONS + 1];
    int root; /* index of the root, for a reduce or broadcast */
    struct dsgd_plan_encoding {
        bool gathers; /* true if an allgather collects compressed contributions, and each member
                       * adds them afterwards */
        double added, decoded; /* numbers of uncompressed bytes per received byte: bytes that are
                                * added, and bytes that are decompressed (0 without compression) */
        double again; /* uncompressed bytes that a member compresses again after it has added its
                       * part of the sum */
    } encoding;
    dsgd_members members;
} dsgd_plan;

/**
 * Returns the plan of a collective of @p n members. @p part selects the collective. A
 * reduce-scatter or allgather is one half of an allreduce. A reduce or broadcast is a binomial
 * tree, or one half of an allreduce and a tree.
 */
dsgd_plan dsgd_plan_of(dsgd_way way, dsgd_collective_kind part, int n, double bytes);

/**
 * Returns the plan of the collective that the members have called. Their vectors may be compressed;
 * @p whole is the number of bytes without compression.
 */
dsgd_plan dsgd_plan_of_call(dsgd_way way, const dsgd_call *call, int n, double whole);

/**
 * The part of one member in one round. The member sends and receives at the same time, and then
 * reduces the received values.
 */
typedef struct dsgd_phase {
    int to, from; /* index of the receiver and index of the sender; -1 for a side that does not
                   * exist */
    double bytes; /* bytes of the message; the same for all messages of a round, except in trees */
    double reduced; /* bytes that the member adds to its vector */
    double decoded; /* uncompressed size of the values that the member compresses or
                     * decompresses, in bytes */
    double turn_s; /* seconds of a turn of the progress loop */
} dsgd_phase;

/**
 * Returns the part of the member @p index in a round. If member a sends to member b in a round,
 * then b receives from a in the same round.
 */
dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index);

/** Returns the number of bytes that a member of an NCCL collective sends in its stream. */
static inline double dsgd_plan_stream_bytes(const dsgd_plan *plan)
{
    const double once = plan->bytes * (plan->n - 1) / plan->n;
    return plan->part == DSGD_ALLREDUCE ? 2 * once : once;
}

/**
 * Returns true if, in each round, every member exchanges messages with the member whose index
 * differs from its own in one bit.
 */
static inline bool dsgd_plan_is_cube(const dsgd_plan *plan)
{
    return plan->extra == 0 && (plan->how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING ||
                                plan->how == DSGD_COLLECTIVE_RABENSEIFNER);
}

/**
 * Returns the mask of the bit in which the indices of two partners differ in a round, or 0 if
 * dsgd_plan_is_cube() is false.
 */
static inline int dsgd_plan_bit(const dsgd_plan *plan, int round)
{
    return dsgd_plan_is_cube(plan) ? dsgd_plan_phase(plan, round, 0).to : 0;
}
