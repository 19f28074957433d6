/**
 * @file closed.h
 * Allreduces and their halves, of all workers or of groups, whose messages share no link with
 * others: then what each takes is known once its members have arrived, and nothing of it has to be simulated.
 */
#ifndef DSGD_SIM_EXCHANGE_CLOSED_H
#define DSGD_SIM_EXCHANGE_CLOSED_H

#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

/** A collective as rounds of messages, in each of which a member takes part once or not at all. */
typedef struct dsgd_plan {
    dsgd_collective how;
    int n; /* members; their indices are in the order of ranks */
    double bytes; /* of the vector */
    int n_rounds;
    int bits, extra; /* n = 2^bits + extra; 0 for a ring */
    dsgd_part part;
    int half; /* rounds of a reduce-scatter or allgather; 0: of whole vectors, or folded */
    int root; /* index */
    struct dsgd_plan_encoding {
        bool gathers; /* what the allgather brings is added, and has not been before */
        double added,
            decoded; /* bytes of numbers that a received byte stands for; 0: not encoded */
    } encoding;
    dsgd_comm *comm; /* the members; NULL: */
    dsgd_group group; /* 0: all workers; else the ranks that differ from the leader's in these */
    int leader;
} dsgd_plan;

static inline int dsgd_plan_index(const dsgd_plan *plan, int rank)
{
    if (plan->comm != NULL)
        return dsgd_comm_index(plan->comm, rank);
    return plan->group == 0 ? rank : dsgd_group_index(plan->group, rank);
}

static inline int dsgd_plan_rank(const dsgd_plan *plan, int index)
{
    if (plan->comm != NULL)
        return plan->comm->rank[index];
    return plan->group == 0 ? index : dsgd_group_rank(plan->group, plan->leader, index);
}

/** What a member does in a round: sends and receives at once, then reduces. */
typedef struct dsgd_phase {
    int to, from; /* indices of members; -1: none. Both -1: nothing */
    double bytes; /* of every message of the round, unless it is one to or from a root */
    double reduced; /* bytes */
    double decoded; /* bytes, likewise of the numbers */
} dsgd_phase;

/** Seconds between the end of a phase's messages and its own. */
static inline double dsgd_phase_cost_s(const dsgd_worker *w, const dsgd_phase *phase)
{
    return dsgd_received_cost_s(w, phase->reduced, phase->decoded * w->engine->encoding_s_per_byte);
}

/** Pure. In each round in which member a sends to b, b receives from a. (schedules.c) */
dsgd_phase dsgd_plan_phase(const dsgd_plan *plan, int round, int index);

/**
 * Of a round in which every member exchanges with the one whose index differs in a bit, that bit;
 * else 0. (schedules.c)
 */
int dsgd_plan_bit(const dsgd_plan *plan, int round);

/**
 * Whether the run's messages are so, or meet at NICs that are shared in the way of paths.h. Once
 * true, always.
 */
bool dsgd_messages_are_alone(dsgd_engine *engine);

/** Seconds of such a message. */
double dsgd_lone_message_s(const dsgd_engine *engine, int from, int to, double bytes);

/**
 * Whether a collective is computed: where messages are so and every member's part depends on all
 * others', unless the run asks for every message.
 */
bool dsgd_schedule_is_closed(dsgd_engine *engine, const dsgd_plan *plan);

/** Where the members of the next allreduce of all workers meet. */
struct dsgd_schedule **dsgd_closed_meeting_of_all(dsgd_engine *engine);

/**
 * The next step of this member's part, until it is over: when it would be had all messages been sent.
 *
 * @param meeting where the members meet, NULL at first; free for others when all have come
 */
dsgd_await dsgd_closed_schedule(dsgd_channel *channel, const dsgd_plan *plan,
                                struct dsgd_schedule **meeting);

/**
 * At the end of the run: counts what has been sent of schedules under way. Returns when the last
 * message comes that can come although members are missing.
 */
double dsgd_closed_schedules_end(dsgd_engine *engine, double until_s);

void dsgd_closed_schedules_free(dsgd_engine *engine);

#endif
