/**
 * @file plan.h
 * The plan of a collective: who sends what to whom, in which round. Pure: analytic.c computes the
 * times of a plan, schedules.c sends its messages.
 */
#pragma once

#include "sim/exchange/reductions.h"

/** A collective as rounds of messages: a member takes part once in a round, or not at all. */
typedef struct dsgd_plan {
    dsgd_collective how;
    int n; /* members; their indices are in the order of ranks */
    double bytes; /* of the vector */
    double turn_s; /* of each message, dsgd_way's */
    int n_rounds;
    int bits, extra; /* n = 2^bits + extra; 0 for rings */
    dsgd_collective_kind part;
    int half; /* rounds of a reduce-scatter or allgather; 0: of whole vectors, or folded */
    int ring[DSGD_MOST_DIMENSIONS +
             1]; /* members of a ring, in each dimension; one ring: n, 1, 1 ... */
    int root; /* index */
    struct dsgd_plan_encoding {
        bool gathers; /* what the allgather brings is added, and has not been before */
        double added,
            decoded; /* bytes of numbers that a received byte stands for; 0: not encoded */
        double again; /* bytes of numbers of its share of the sum, which a member encodes */
    } encoding;
    dsgd_members members;
} dsgd_plan;

/** An allreduce among @p n, or, as @p part says, a half of it, a tree, or both. */
dsgd_plan dsgd_plan_of(dsgd_way way, dsgd_collective_kind part, int n, double bytes);

/** Of what the members have called, encoded vectors too, in bytes of dense ones @p whole. */
dsgd_plan dsgd_plan_of_call(dsgd_way way, const dsgd_call *call, int n, double whole);

/** What a member does in a round: sends and receives at once, then reduces. */
typedef struct dsgd_phase {
    int to, from; /* indices of members; -1: none. Both -1: nothing */
    double bytes; /* of every message of the round, unless it is one to or from a root */
    double reduced; /* bytes */
    double decoded; /* bytes, likewise of the numbers; encoded ones too */
    double turn_s;
} dsgd_phase;

/** In each round in which member a sends to b, b receives from a. */
dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index);

/** What a member of an NCCL collective sends, in one stream. */
static inline double dsgd_plan_stream_bytes(const dsgd_plan *plan)
{
    const double once = plan->bytes * (plan->n - 1) / plan->n;
    return plan->part == DSGD_ALLREDUCE ? 2 * once : once;
}

/** Whether every member exchanges with one whose index differs in a bit, round by round. */
static inline bool dsgd_plan_is_cube(const dsgd_plan *plan)
{
    return plan->extra == 0 && (plan->how == DSGD_COLLECTIVE_RECURSIVE_DOUBLING ||
                                plan->how == DSGD_COLLECTIVE_RABENSEIFNER);
}

/** Of such a plan, the bit of a round; else 0. */
static inline int dsgd_plan_bit(const dsgd_plan *plan, int round)
{
    return dsgd_plan_is_cube(plan) ? dsgd_plan_phase(plan, round, 0).to : 0;
}
