/**
 * @file plan.h
 * The plan of a collective: which member sends how many bytes to which member, in which round. The
 * functions are pure. analytic.c computes the times of a plan, and schedules.c sends its messages.
 */
#pragma once

#include "sim/exchange/reductions.h"

/** A collective as rounds of messages. A member takes part in a round once or not at all. */
typedef struct dsgd_plan {
    dsgd_collective how; /* the algorithm */
    int n; /* number of members; their indices are in the order of ranks */
    double bytes; /* bytes of the vector */
    double turn_s; /* seconds of a turn per message, as in dsgd_way */
    int n_rounds;
    int bits, extra; /* n = 2^bits + extra; 0 for rings */
    dsgd_collective_kind part;
    int half; /* rounds of a reduce-scatter or allgather; 0 for whole vectors or with a fold */
    int ring[DSGD_MOST_DIMENSIONS +
             1]; /* members of a ring, in each dimension; for one ring: n, 1, 1 ... */
    int root; /* index of the root */
    struct dsgd_plan_encoding {
        bool gathers; /* true if the allgather brings contributions, which are added afterwards */
        double added, decoded; /* uncompressed bytes that are added and that are decompressed, per
                                  received byte; 0 without compression */
        double again; /* uncompressed bytes of its part of the sum that a member compresses again */
    } encoding;
    dsgd_members members;
} dsgd_plan;

/**
 * Returns the plan of a collective of @p n members. @p part is an allreduce, one half of an
 * allreduce, or a reduce or broadcast, which is a tree or a tree and one half.
 */
dsgd_plan dsgd_plan_of(dsgd_way way, dsgd_collective_kind part, int n, double bytes);

/**
 * Returns the plan of the collective that the members have called, also of compressed vectors. @p
 * whole is the number of bytes without compression.
 */
dsgd_plan dsgd_plan_of_call(dsgd_way way, const dsgd_call *call, int n, double whole);

/** The part of a member in a round: it sends and receives at the same time, then reduces. */
typedef struct dsgd_phase {
    int to, from; /* indices of members; -1 if there is none. Both are -1 if it does nothing */
    double bytes; /* bytes of the message; equal in the round, except to or from a root */
    double reduced; /* bytes that are added */
    double decoded; /* uncompressed bytes that are compressed or decompressed */
    double turn_s; /* seconds of a turn */
} dsgd_phase;

/**
 * Returns the part of the member @p index in a round. If member a sends to b in a round, b receives
 * from a in that round.
 */
dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index);

/** Returns the bytes that a member of an NCCL collective sends in its stream. */
static inline double dsgd_plan_stream_bytes(const dsgd_plan *plan)
{
    const double once = plan->bytes * (plan->n - 1) / plan->n;
    return plan->part == DSGD_ALLREDUCE ? 2 * once : once;
}

/** Returns whether each round consists of exchanges between members whose indices differ in one
 * bit. */
static inline bool dsgd_plan_is_cube(const dsgd_plan *plan)
{
    return plan->extra == 0 && (plan->how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING ||
                                plan->how == DSGD_COLLECTIVE_RABENSEIFNER);
}

/** Returns the bit in which these indices differ in a round, or 0 for other plans. */
static inline int dsgd_plan_bit(const dsgd_plan *plan, int round)
{
    return dsgd_plan_is_cube(plan) ? dsgd_plan_phase(plan, round, 0).to : 0;
}
