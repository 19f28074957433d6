/**
 * @file schedules.c
 * Executes a channel's part in a collective. If the messages share no links, the times are computed
 * (analytic.c). Otherwise the channel sends messages over the simulated network.
 */
#include "sim/exchange/analytic.h"

/* --- collectives as messages ------------------------------------------------------------------ */

static void count_sent(const dsgd_channel *channel, dsgd_phase phase, double since_s)
{
    const dsgd_worker *const w = channel->worker;
    if (phase.to >= 0)
        dsgd_observe_passed(w->engine, w->host, phase.to, channel->steps.lane, phase.bytes,
                            since_s);
}

/**
 * Performs a phase: sends and receives its messages, and then waits for the overhead and the
 * reduction.
 */
static void carry_out(dsgd_channel *channel, dsgd_phase phase)
{
    dsgd_worker *const w = channel->worker;
    const double started_s =
        dsgd_sendrecv(dsgd_channel_mailbox(channel, w->host, phase.to, NULL), phase.bytes,
                      dsgd_channel_mailbox(channel, phase.from, w->host, NULL));
    count_sent(channel, phase, started_s);
    dsgd_sleep_cost(dsgd_phase_cost_s(w, &phase));
    dsgd_count_communication(w, started_s);
}

/** The state of a collective that a channel sends as messages. */
struct dsgd_sending {
    int round; /* number of the next round */
    dsgd_phase phase; /* part of the worker in the present round, with ranks instead of indices */
    double started_s;
    bool exchanged; /* true if the messages of the present round have arrived */
};

/**
 * Starts the next round in which the worker sends or receives. Returns DSGD_AWAIT_NOTHING after the
 * last round.
 */
static dsgd_await begin_round(dsgd_channel *channel, const dsgd_plan *plan)
{
    struct dsgd_sending *const s = channel->sending;
    const int rank = channel->worker->node.rank;
    const int index = dsgd_members_index(&plan->members, rank);
    dsgd_phase phase = {-1, -1, 0, 0};
    while (phase.to < 0 && phase.from < 0) {
        if (s->round == plan->n_rounds) {
            dsgd_run_free(s);
            channel->sending = NULL;
            return (dsgd_await){DSGD_AWAIT_NOTHING};
        }
        phase = dsgd_plan_phase(plan, s->round++, index);
    }
    phase.to = phase.to < 0 ? -1 : dsgd_members_rank(&plan->members, phase.to);
    phase.from = phase.from < 0 ? -1 : dsgd_members_rank(&plan->members, phase.from);
    s->phase = phase;
    s->exchanged = false;
    return (dsgd_await){
        .kind = DSGD_AWAIT_SENDRECV,
        .amount = phase.bytes,
        .exchange = {.out = dsgd_channel_mailbox(channel, rank, phase.to, plan->members.comm),
                     .in = dsgd_channel_mailbox(channel, phase.from, rank, plan->members.comm),
                     .started_s = &s->started_s}};
}

/**
 * Executes the next step of a collective as messages. A round has two steps: first its messages,
 * then its overhead and reduction.
 */
static dsgd_await send_messages(dsgd_channel *channel, const dsgd_plan *plan)
{
    dsgd_worker *const w = channel->worker;
    struct dsgd_sending *const s = channel->sending;
    if (s == NULL) {
        channel->sending = dsgd_run_alloc(w->engine, sizeof *channel->sending);
        return begin_round(channel, plan);
    }
    if (!s->exchanged) {
        count_sent(channel, s->phase, s->started_s);
        s->exchanged = true;
        const double cost_s = dsgd_phase_cost_s(w, &s->phase);
        if (cost_s > 0)
            return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = cost_s};
    }
    dsgd_count_communication(w, s->started_s);
    return begin_round(channel, plan);
}

/**
 * Starts a collective whose times are computed, or executes the next step of a collective that is
 * sent as messages. @p meeting is explained at dsgd_analytic_begin().
 */
static dsgd_await next_step(dsgd_channel *channel, const dsgd_plan *plan, bool partial,
                            struct dsgd_schedule **meeting)
{
    dsgd_engine *const engine = channel->worker->engine;
    if (plan->n == 1)
        return (dsgd_await){DSGD_AWAIT_NOTHING};
    dsgd_count_collective(engine, partial, plan->how, plan->bytes);
    return dsgd_collective_is_analytic(engine, plan) ? dsgd_analytic_begin(channel, plan, meeting)
                                                     : send_messages(channel, plan);
}

dsgd_await dsgd_schedule_fused(dsgd_channel *channel, bool gathers, double bytes,
                               struct dsgd_schedule **meeting)
{
    dsgd_engine *const engine = channel->worker->engine;
    if (channel->schedule != NULL)
        return dsgd_analytic_next(channel);
    const dsgd_collective_kind part = gathers ? DSGD_ALLGATHER : DSGD_ALLREDUCE;
    const bool partial = channel->worker->wire.partial != NULL;
    dsgd_plan plan =
        dsgd_plan_of(dsgd_way_of(engine->config, partial), part, engine->n_workers, bytes);
    plan.members = DSGD_ALL_WORKERS;
    return next_step(channel, &plan, partial, meeting);
}

dsgd_await dsgd_schedule_reduction(dsgd_channel *channel, dsgd_reduction *reduction)
{
    dsgd_engine *const engine = channel->worker->engine;
    if (channel->schedule != NULL)
        return dsgd_analytic_next(channel);
    const bool partial = channel->worker->wire.partial != NULL;
    const dsgd_call *const call = &reduction->call;
    dsgd_plan plan =
        dsgd_plan_of_call(dsgd_way_of(engine->config, partial), call,
                          reduction->quorum != NULL ? reduction->quorum->n : reduction->n_members,
                          engine->layout.piece_bytes[call->piece]);
    plan.members =
        reduction->quorum != NULL ? (dsgd_members){reduction->quorum, 0, -1} : reduction->members;
    return next_step(channel, &plan, partial, &reduction->schedule);
}

/* bytes of a request for one tensor, which contains the tensor's name and shape */
enum { REQUEST_BYTES = 64 };

void dsgd_schedule_negotiation(dsgd_channel *channel, size_t n_tensors)
{
    const int rank = channel->worker->node.rank;
    const int p = channel->worker->node.n_workers;
    const double bytes = REQUEST_BYTES * (double)n_tensors;
    if (rank > 0)
        carry_out(channel, (dsgd_phase){.to = 0, .from = -1, .bytes = bytes});
    for (int from = 1; rank == 0 && from < p; from++)
        carry_out(channel, (dsgd_phase){.to = -1, .from = from});
    for (int bit = 1; bit < p; bit *= 2) {
        if (rank < bit && rank + bit < p)
            carry_out(channel, (dsgd_phase){.to = rank + bit, .from = -1, .bytes = bytes});
        else if (rank >= bit && rank < 2 * bit)
            carry_out(channel, (dsgd_phase){.to = -1, .from = rank - bit});
    }
}
