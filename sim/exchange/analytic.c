/**
 * @file analytic.c
 * Computes the times of allreduces, reduce-scatters and allgathers in closed form, for all workers
 * and for groups. The times are computed when the last member arrives. (In a reduce or broadcast,
 * some members end before others start, so these collectives send messages.)
 *
 * No member ends before the last member arrives, because every result depends on every
 * contribution. A worker has one channel, which executes one schedule at a time. In each round it
 * sends at most one message and receives at most one. A message starts when both its sender and its
 * receiver are in the round, and the round ends when both messages have arrived. Suppose that all
 * messages of the run belong to such collectives and can meet only at the hosts' own links. Then no
 * link carries more than one message per direction, and the time of a message follows from the
 * instant at which both its sender and its receiver are ready. A pass over the members, round by
 * round, gives the same times as a simulation of the messages.
 *
 * If 2^k consecutive workers share a NIC, the same argument holds for recursive doubling and for
 * halving and doubling among all workers. These algorithms start and end with k rounds among the
 * workers of one NIC, over links of equal speed. After the first k rounds, these workers are at the
 * same instant. In each later round they send and receive equal messages at the same time, and each
 * message has an equal share of the NIC. No message of another schedule comes in between. All
 * workers of the NIC have started this schedule before the first message leaves, and are still in
 * it at the last message. The same argument holds for reduce-scatter by halving, and for groups
 * that contain all workers of their NICs. Messages inside a node pass no NIC.
 *
 * A second pass follows when all members have ended. It counts the messages and the part of their
 * time that no computation hid, which is not known earlier. Schedules are counted in the order in
 * which they became complete. For each member, this is the order in which it executed them.
 */
#include "sim/exchange/analytic.h"

#include <float.h>
#include <sys/queue.h>

#include "base/round.h"
#include "sim/network/nodes.h"
#include "sim/network/paths.h"
#include "sim/result.h"

/**
 * A collective whose times are computed: an allreduce, reduce-scatter or allgather, or any
 * collective of NCCL.
 */
typedef struct dsgd_schedule {
    TAILQ_ENTRY(dsgd_schedule) in; /* place of the schedule in the list `gathering` or `complete` */
    dsgd_plan plan;
    int n_arrived, n_ended;
    bool counted;
    int lane; /* lane of the members' hosts: index of a host in its worker */
    struct {
        double since_s, end_s; /* since_s: arrival time of the last member. end_s: end of the
                                * collective; INFINITY if the end is not known yet */
        double latency_s; /* time from the end of the streams to the end of the collective, in
                           * seconds */
        double passed_s; /* time at which the last stream has passed, without the latency of its
                          * path */
        double bytes; /* bytes of a stream, chosen so that a NIC sends them in the time that the
                       * closed form gives */
        double nic_bytes, gpu_bytes; /* number of bytes that each NIC sends, and number of bytes
                                      * that each GPU sends */
        int n_left; /* number of streams that have not arrived */
    } nccl;
    struct member {
        dsgd_channel *channel;
        int rank;
        double arrived_s; /* arrival time of the member; INFINITY if it has not arrived */
        double end_s; /* end of the member's part, known when all have arrived; -INFINITY while
                       * its channel waits for it */
        int to, from; /* rank of the host that gets the member's stream, and of the host whose
                       * stream the member gets; -1 if the member has no stream */
        enum { NOT_SENT, WAITS, UNDER_WAY } stream;
        double started_s;
    } member[]; /* [plan.n] state of each member */
} dsgd_schedule;

struct dsgd_analytic {
    dsgd_paths *paths; /* paths between hosts; NULL if messages may share links */
    dsgd_nodes *nodes; /* nodes of the platform, which NCCL collectives use */
    int *rank, *host; /* [n_workers] ranks of the members; hosts of the members on the schedule's
                       * lane (used during a pass) */
    double *at_s, *next_s; /* [n_workers] times of the members before a round; their times after
                            * the round (used during a pass) */
    /*
     * list of schedules that some members have not joined; list of schedules that all members have
     * joined, in the order of completion
     */
    TAILQ_HEAD(schedules, dsgd_schedule) gathering, complete;
};

static struct dsgd_analytic *state_of(dsgd_engine *engine)
{
    if (engine->exchanges.analytic != NULL)
        return engine->exchanges.analytic;
    const size_t n = (size_t)engine->n_workers;
    struct dsgd_analytic *const state = engine->exchanges.analytic =
        dsgd_run_alloc(engine, sizeof *state);
    /*
     * Closed forms require one channel per host, no servers, and no slow links. If workers are
     * groups of hosts, closed forms also require that no two hosts share a NIC.
     */
    if (dsgd_has_traits(engine->config, DSGD_SENDS_COLLECTIVES) &&
        engine->layout.n_channels == (size_t)engine->layout.n_lanes && !engine->hybrid.on_wires &&
        engine->config->failures.links.n == 0)
        state->paths = dsgd_paths_new(engine->config->platform, engine->hybrid.replica == NULL
                                                                    ? engine->n_workers
                                                                    : dsgd_n_hosts(engine));
    if (engine->hybrid.replica != NULL && state->paths != NULL && state->paths->per_nic > 1)
        state->paths = NULL;
    state->rank = dsgd_run_alloc(engine, n * sizeof *state->rank);
    state->host = dsgd_run_alloc(engine, n * sizeof *state->host);
    state->at_s = dsgd_run_alloc(engine, n * sizeof *state->at_s);
    state->next_s = dsgd_run_alloc(engine, n * sizeof *state->next_s);
    TAILQ_INIT(&state->gathering);
    TAILQ_INIT(&state->complete);
    return state;
}

bool dsgd_is_contention_free(dsgd_engine *engine)
{
    return state_of(engine)->paths != NULL;
}

/**
 * Returns whether the members include all hosts of their NICs, and hosts of one NIC exchange
 * messages with each other first.
 */
static bool is_even_at_nics(const struct dsgd_analytic *state, const dsgd_plan *plan)
{
    const int per_nic = state->paths->per_nic;
    const dsgd_comm *const comm = plan->members.comm;
    bool is_whole = plan->how == DSGD_COLLECTIVE_NCCL ||
                    (dsgd_plan_is_cube(plan) && plan->part != DSGD_ALLGATHER);
    if (comm == NULL)
        return is_whole && (plan->members.leader < 0 ||
                            (((dsgd_group)per_nic - 1) & ~plan->members.group) == 0);
    is_whole = is_whole && comm->n % per_nic == 0;
    /* requires that all ranks of each NIC are members */
    for (int i = 0; i < comm->n && is_whole; i += per_nic)
        is_whole = comm->rank[i] % per_nic == 0 &&
                   comm->rank[i + per_nic - 1] - comm->rank[i] == per_nic - 1;
    return is_whole;
}

/**
 * Returns whether messages of the plan never compete for a link. That is true if no two messages
 * share a link, or if all messages that share a link have equal shares of it.
 */
static bool is_apart(const struct dsgd_analytic *state, const dsgd_plan *plan)
{
    dsgd_comm *const comm = plan->members.comm;
    if (state->paths->per_nic == 1)
        return true;
    if (comm != NULL && !comm->known_in_island) { /* the answer is computed only once per
                                                   * communicator */
        const dsgd_path_end *const end = state->paths->end;
        comm->known_in_island = true;
        comm->in_island = state->paths->platform->island_hosts > 0;
        for (int i = 1; i < comm->n && comm->in_island; i++)
            comm->in_island = end[comm->rank[i]].island == end[comm->rank[0]].island;
    }
    return (comm != NULL && comm->in_island) || is_even_at_nics(state, plan);
}

/** Returns whether the times of a plan can be computed without simulating its messages. */
static bool is_known(dsgd_engine *engine, const dsgd_plan *plan)
{
    return dsgd_is_contention_free(engine) && engine->config->network == DSGD_NETWORK_FLOWS &&
           is_apart(engine->exchanges.analytic, plan);
}

bool dsgd_collective_is_analytic(dsgd_engine *engine, const dsgd_plan *plan)
{
    const bool needs_all = plan->part != DSGD_REDUCE && plan->part != DSGD_BROADCAST;
    return plan->how == DSGD_COLLECTIVE_NCCL || (needs_all && is_known(engine, plan));
}

double dsgd_contention_free_s(const dsgd_engine *engine, int from, int to, double bytes)
{
    return dsgd_path_s(engine->exchanges.analytic->paths, from, to, bytes);
}

/* --- functions for one pass over the rounds of a schedule ------------------------------------- */

/** The part of one member in one round. */
typedef struct part {
    double started_s; /* time at which the sender and the receiver were ready; if the member only
                       * sends, time at which the member was ready */
    double sent_s; /* time at which both messages of the member have arrived */
    double done_s; /* time at which the overhead and the reduction are over */
} part;

/** Stores the ranks and the hosts of the members of a schedule, for a pass. */
static void find_members(const dsgd_engine *engine, const dsgd_schedule *s)
{
    for (int i = 0; i < s->plan.n; i++) {
        engine->exchanges.analytic->rank[i] = s->member[i].rank;
        engine->exchanges.analytic->host[i] =
            s->lane == 0 ? s->member[i].rank : dsgd_cluster_host(s->member[i].rank, s->lane);
    }
}

static part part_of(const dsgd_engine *engine, const dsgd_phase *phase, int member)
{
    const struct dsgd_analytic *const state = engine->exchanges.analytic;
    const int host = state->host[member];
    const double here_s = state->at_s[member];
    part p = {here_s, here_s, 0};
    if (phase->from >= 0) {
        p.started_s = dsgd_greater(here_s, state->at_s[phase->from]);
        p.sent_s =
            p.started_s + dsgd_path_s(state->paths, state->host[phase->from], host, phase->bytes);
    }
    /*
     * A message takes the same time in both directions. So only a receiver that differs from the
     * sender matters.
     */
    if (phase->to >= 0 && phase->to != phase->from) {
        const double ready_s = dsgd_greater(here_s, state->at_s[phase->to]);
        p.sent_s =
            dsgd_greater(p.sent_s, ready_s + dsgd_path_s(state->paths, host, state->host[phase->to],
                                                         phase->bytes));
    }
    p.done_s = p.sent_s + dsgd_phase_cost_s(&engine->workers[state->rank[member]], phase);
    return p;
}

/** Times that differ by less than this number of seconds are one instant in SimGrid. */
static const double same_instant_s = 1e-9;

/** The state of a pass over the rounds of a schedule. */
typedef struct turn {
    dsgd_engine *engine;
    bool counts; /* true if the pass counts the messages that arrive by `until_s` */
    double until_s;
    double last_s; /* latest time at which a counted part ends */
    uint64_t n_sent; /* number of messages of the present round that are counted */
} turn;

static void count_part(turn *t, const dsgd_phase *phase, int member, part p)
{
    const int *const rank = t->engine->exchanges.analytic->rank, *const host = t->engine->exchanges
                                                                                   .analytic->host;
    const double end_s = t->engine->result->virtual_s; /* end of the run; 0 before the run ends */
    if (p.done_s < INFINITY)
        t->last_s = dsgd_greater(t->last_s, p.done_s);
    if (phase->to >= 0 && p.sent_s <= t->until_s) {
        t->n_sent++;
        dsgd_observe_computed(t->engine, rank[member], rank[phase->to], phase->bytes, p.started_s,
                              p.sent_s);
        if (end_s == 0 || p.sent_s <= end_s + same_instant_s)
            dsgd_count_carried(t->engine, host[member], host[phase->to], phase->bytes);
    }
    if (p.done_s <= t->until_s)
        dsgd_count_communication_by(&t->engine->workers[rank[member]], p.started_s, p.done_s);
}

/**
 * Stores the end of a member's part in a round. If the pass counts, also counts the messages of
 * this part.
 */
static inline void end_part(turn *t, const dsgd_phase *phase, int member, part p)
{
    t->engine->exchanges.analytic->next_s[member] = p.done_s;
    if (t->counts)
        count_part(t, phase, member, p);
}

/**
 * Computes a round in which all members exchange messages in pairs. A reduction takes all workers
 * the same time.
 */
static dsgd_phase follow_pairs(turn *t, const dsgd_plan *plan, int round, int bit)
{
    const struct dsgd_analytic *const state = t->engine->exchanges.analytic;
    dsgd_phase phase = dsgd_plan_phase(plan, round, 0);
    const double cost_s = dsgd_phase_cost_s(&t->engine->workers[0], &phase);
    for (int i = 0; i < plan->n; i++) {
        const int partner = i ^ bit;
        if (partner < i)
            continue;
        part p = {dsgd_greater(state->at_s[i], state->at_s[partner]), 0, 0};
        p.sent_s = p.started_s +
                   dsgd_path_s(state->paths, state->host[i], state->host[partner], phase.bytes);
        p.done_s = p.sent_s + cost_s;
        phase.to = partner;
        end_part(t, &phase, i, p);
        phase.to = i;
        end_part(t, &phase, partner, p);
    }
    return phase;
}

/** Computes a round whose members do not exchange messages in pairs. */
static dsgd_phase follow_parts(turn *t, const dsgd_plan *plan, int round)
{
    const struct dsgd_analytic *const state = t->engine->exchanges.analytic;
    dsgd_phase any = {0};
    for (int i = 0; i < plan->n; i++) {
        const dsgd_phase phase = dsgd_plan_phase(plan, round, i);
        state->next_s[i] = state->at_s[i];
        if (phase.to < 0 && phase.from < 0)
            continue;
        end_part(t, &phase, i, part_of(t->engine, &phase, i));
        any = phase;
    }
    return any;
}

/* --- collectives of NCCL ---------------------------------------------------------------------- */

/**
 * Returns the seconds of decompression after an NCCL collective. The formulas of NCCL do not
 * include this time.
 */
static double decoding_s(const dsgd_worker *w, const dsgd_plan *plan)
{
    const double came = plan->bytes * (plan->n - 1) / plan->n;
    const dsgd_phase all = {.reduced = plan->encoding.gathers ? came * plan->encoding.added : 0,
                            .decoded = came * plan->encoding.decoded + plan->encoding.again};
    return plan->encoding.added > 0 ? dsgd_phase_cost_s(w, &all) : 0;
}

/** Sets the end of the collective, and the end of each member's part. */
static void end_streams(dsgd_schedule *s, double at_s)
{
    s->nccl.end_s = at_s;
    for (int i = 0; i < s->plan.n; i++)
        s->member[i].end_s = at_s + decoding_s(s->member[i].channel->worker, &s->plan);
}

/**
 * Starts the streams of a collective, when all members have arrived. If the streams share no link
 * with other messages, the end of the collective is computed. Otherwise, the members send one
 * stream per NIC.
 */
static void begin_streams(dsgd_engine *engine, dsgd_schedule *s)
{
    struct dsgd_analytic *const state = engine->exchanges.analytic;
    const dsgd_platform *const platform = engine->config->platform;
    find_members(engine, s);
    if (state->nodes == NULL)
        state->nodes = dsgd_nodes_new(platform, dsgd_cluster_places(),
                                      engine->hybrid.replica == NULL ? engine->n_workers
                                                                     : dsgd_n_hosts(engine));
    const dsgd_nccl_shape shape = dsgd_nodes_shape(state->nodes, state->host, s->plan.n);
    const dsgd_nccl_call calls[] = {[DSGD_REDUCE_SCATTER] = DSGD_NCCL_SHARES,
                                    [DSGD_ALLGATHER] = DSGD_NCCL_SHARES,
                                    [DSGD_REDUCE] = DSGD_NCCL_BROADCAST,
                                    [DSGD_BROADCAST] = DSGD_NCCL_BROADCAST};
    const dsgd_nccl_cost cost =
        dsgd_nccl_cost_of(&platform->nccl, &shape, calls[s->plan.part], s->plan.bytes);
    const bool sends = shape.n_nodes > 1 && !is_known(engine, &s->plan);
    s->nccl.since_s = dsgd_now_s();
    s->nccl.end_s = INFINITY;
    s->nccl.nic_bytes = cost.nic_share * s->plan.bytes;
    s->nccl.gpu_bytes = cost.gpu_share * s->plan.bytes;
    const double bytes = s->plan.bytes / cost.bytes_per_s * shape.nic_bytes_per_s;
    s->nccl.bytes = dsgd_floor(bytes); /* Networks send only whole bytes; the latency below
                                        * includes the time of the remainder. */
    s->nccl.latency_s = cost.latency_s + (bytes - s->nccl.bytes) / shape.nic_bytes_per_s;
    for (int i = 0; i < s->plan.n; i++) {
        struct member *const m = &s->member[i];
        dsgd_nodes_stream(state->nodes, state->host[i], &m->to, &m->from);
        if (s->lane > 0 && m->to >= 0) { /* converts numbers of hosts to ranks of workers */
            const int first = dsgd_cluster_host(0, s->lane);
            m->to -= first;
            m->from -= first;
        }
        m->end_s = INFINITY;
        if (m->to < 0 || !sends)
            continue;
        m->stream = WAITS;
        s->nccl.n_left++;
    }
    if (!sends)
        end_streams(s, s->nccl.since_s + dsgd_nccl_s(&cost, s->plan.bytes));
}

/** Starts the transfers by which a member sends its stream and receives another stream. */
static dsgd_await begin_stream(const dsgd_schedule *s, struct member *me)
{
    dsgd_comm *const comm = s->plan.members.comm;
    me->stream = UNDER_WAY;
    return (dsgd_await){
        .kind = DSGD_AWAIT_SENDRECV,
        .amount = s->nccl.bytes,
        .exchange = {.out = dsgd_channel_mailbox(me->channel, me->rank, me->to, comm),
                     .in = dsgd_channel_mailbox(me->channel, me->from, me->rank, comm),
                     .started_s = &me->started_s}};
}

/** Handles the arrival of a member's streams. The last call sets the end of all members. */
static void end_stream(dsgd_schedule *s, struct member *me)
{
    const double now_s = dsgd_now_s();
    const int here = dsgd_cluster_host(me->rank, s->lane);
    const double hop_s =
        dsgd_greater(dsgd_route_of(here, dsgd_cluster_host(me->to, s->lane)).latency_s,
                     dsgd_route_of(dsgd_cluster_host(me->from, s->lane), here).latency_s);
    me->stream = NOT_SENT;
    dsgd_count_timed_by(me->channel->worker->engine, false);
    s->nccl.passed_s = dsgd_greater(s->nccl.passed_s, now_s - hop_s);
    if (--s->nccl.n_left > 0)
        return;
    end_streams(s, dsgd_greater(now_s, s->nccl.passed_s + s->nccl.latency_s));
    for (int i = 0; i < s->plan.n; i++)
        if (&s->member[i] != me)
            dsgd_semaphore_post(s->member[i].channel->semaphore);
}

/**
 * Counts the streams of a collective that ends by t->until_s: one message from each member to the
 * next member, and the bytes that NICs have carried.
 */
static void count_streams(turn *t, const dsgd_schedule *s)
{
    const double bytes = dsgd_plan_stream_bytes(&s->plan);
    if (s->nccl.end_s > t->until_s)
        return;
    dsgd_count_messages(t->engine, (uint64_t)s->plan.n, bytes);
    for (int i = 0; i < s->plan.n; i++) {
        const struct member *const m = &s->member[i];
        dsgd_worker *const w = m->channel->worker;
        const int next = s->member[(i + 1) % s->plan.n].rank;
        const int host = dsgd_cluster_host(m->rank, s->lane);
        const int next_host = dsgd_cluster_host(next, s->lane);
        dsgd_observe_computed(t->engine, m->rank, next, bytes, s->nccl.since_s, s->nccl.end_s);
        if (m->to >= 0)
            dsgd_count_carried(t->engine, host, dsgd_cluster_host(m->to, s->lane),
                               s->nccl.nic_bytes);
        if (dsgd_platform_same_island(t->engine->config->platform,
                                      t->engine->accounts.carriers[host].place,
                                      t->engine->accounts.carriers[next_host].place))
            dsgd_count_carried(t->engine, host, next_host, s->nccl.gpu_bytes);
        dsgd_count_communication_by(w, s->nccl.since_s, s->nccl.end_s + decoding_s(w, &s->plan));
    }
    t->last_s = dsgd_greater(t->last_s, s->nccl.end_s);
}

/**
 * Computes the times of the members from their arrivals to their ends, and stores the ends in
 * state->at_s. If @p counts is true, also counts the messages that arrive by @p until_s. Returns
 * the end of the last part that is counted.
 */
static double follow(dsgd_engine *engine, const dsgd_schedule *s, bool counts, double until_s)
{
    struct dsgd_analytic *const state = engine->exchanges.analytic;
    turn t = {engine, counts, until_s, 0, 0};
    if (s->plan.how == DSGD_COLLECTIVE_NCCL) {
        count_streams(&t, s);
        return t.last_s;
    }
    find_members(engine, s);
    for (int i = 0; i < s->plan.n; i++)
        state->at_s[i] = s->member[i].arrived_s;
    for (int round = 0; round < s->plan.n_rounds; round++) {
        const int bit = dsgd_plan_bit(&s->plan, round);
        t.n_sent = 0;
        const dsgd_phase phase =
            bit > 0 ? follow_pairs(&t, &s->plan, round, bit) : follow_parts(&t, &s->plan, round);
        dsgd_count_messages(engine, t.n_sent, phase.bytes);
        double *const swapped = state->at_s;
        state->at_s = state->next_s;
        state->next_s = swapped;
    }
    return t.last_s;
}

/* --- functions that count the messages of schedules ------------------------------------------- */

/**
 * Counts and frees the complete schedules in their order, up to the first schedule with a member
 * that has not ended.
 */
static void count_ended(dsgd_engine *engine)
{
    struct dsgd_analytic *const state = engine->exchanges.analytic;
    for (dsgd_schedule *s;
         (s = TAILQ_FIRST(&state->complete)) != NULL && s->n_ended == s->plan.n;) {
        if (!s->counted) {
            follow(engine, s, true, DBL_MAX);
            for (int i = 0; i < s->plan.n; i++)
                dsgd_count_later_end(&engine->workers[s->member[i].rank]);
        }
        TAILQ_REMOVE(&state->complete, s, in);
        dsgd_comm_release(engine, s->plan.members.comm);
        dsgd_run_free(s);
    }
}

double dsgd_end_of_analytic_collectives_s(dsgd_engine *engine, double until_s)
{
    const struct dsgd_analytic *const state = engine->exchanges.analytic;
    double last_s = 0;
    if (state == NULL)
        return last_s;
    dsgd_schedule *const lists[] = {TAILQ_FIRST(&state->complete), TAILQ_FIRST(&state->gathering)};
    for (int i = 0; i < 2; i++)
        for (dsgd_schedule *s = lists[i]; s != NULL; s = TAILQ_NEXT(s, in))
            if (!s->counted) {
                s->counted = true;
                last_s = dsgd_greater(last_s, follow(engine, s, true, until_s + same_instant_s));
            }
    for (int i = 0; i < engine->n_workers; i++)
        while (engine->workers[i].accounts.n_uncounted > 0)
            dsgd_count_later_end(&engine->workers[i]);
    return last_s;
}

/* --- functions that execute the parts of the members ------------------------------------------ */

static dsgd_schedule *new_schedule(dsgd_engine *engine, const dsgd_plan *plan, int lane)
{
    dsgd_schedule *const s =
        dsgd_run_alloc(engine, sizeof *s + (size_t)plan->n * sizeof s->member[0]);
    s->plan = *plan;
    s->lane = lane;
    for (int i = 0; i < plan->n; i++)
        s->member[i] = (struct member){.rank = dsgd_members_rank(&plan->members, i),
                                       .arrived_s = INFINITY,
                                       .to = -1,
                                       .from = -1};
    s->nccl.end_s = INFINITY;
    dsgd_comm_retain(plan->members.comm);
    TAILQ_INSERT_HEAD(&state_of(engine)->gathering, s, in);
    return s;
}

/**
 * Called when the last member has arrived. Computes the end of each member's part, and wakes the
 * other members.
 */
static void complete(dsgd_engine *engine, dsgd_schedule *s, int last_rank)
{
    struct dsgd_analytic *const state = engine->exchanges.analytic;
    TAILQ_REMOVE(&state->gathering, s, in);
    TAILQ_INSERT_TAIL(&state->complete, s, in);
    if (s->plan.how == DSGD_COLLECTIVE_NCCL) {
        begin_streams(engine, s);
    } else {
        follow(engine, s, false, 0);
        for (int i = 0; i < s->plan.n; i++)
            s->member[i].end_s = state->at_s[i];
    }
    /* wakes members only after all ends are set, because other actors may run */
    for (int i = 0; i < s->plan.n; i++)
        if (s->member[i].rank != last_rank)
            dsgd_semaphore_post(s->member[i].channel->semaphore);
}

dsgd_await dsgd_analytic_begin(dsgd_channel *channel, const dsgd_plan *plan,
                               dsgd_schedule **meeting)
{
    dsgd_worker *const w = channel->worker;
    dsgd_schedule *const s =
        *meeting != NULL ? *meeting : new_schedule(w->engine, plan, channel->steps.lane);
    channel->schedule = s;
    channel->member = dsgd_members_index(&plan->members, w->node.rank);
    s->member[channel->member].channel = channel;
    s->member[channel->member].arrived_s = dsgd_now_s();
    const bool last = ++s->n_arrived == plan->n;
    *meeting = last ? NULL : s;
    /* count_ended() decrements n_uncounted, or the end of the run does */
    w->accounts.n_uncounted++;
    if (plan->how == DSGD_COLLECTIVE_NCCL)
        dsgd_gpu_has_collectives(w, 1);
    if (!last)
        return (dsgd_await){.kind = DSGD_AWAIT_POST, .semaphore = channel->semaphore};
    complete(w->engine, s, w->node.rank);
    return dsgd_analytic_next(channel);
}

dsgd_await dsgd_analytic_next(dsgd_channel *channel)
{
    struct member *const me = &channel->schedule->member[channel->member];
    if (me->stream == WAITS)
        return begin_stream(channel->schedule, me);
    if (me->stream == UNDER_WAY)
        end_stream(channel->schedule, me);
    if (me->end_s == INFINITY)
        return (dsgd_await){.kind = DSGD_AWAIT_POST, .semaphore = channel->semaphore};
    const double left_s = me->end_s - dsgd_now_s();
    me->end_s = -INFINITY; /* marks the end as used: the channel must not wait for it again, even if
                            * rounding leaves a short time */
    if (left_s > 0)
        return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = left_s};
    if (channel->schedule->plan.how == DSGD_COLLECTIVE_NCCL)
        dsgd_gpu_has_collectives(channel->worker, -1);
    channel->schedule->n_ended++;
    channel->schedule = NULL;
    count_ended(channel->worker->engine);
    return (dsgd_await){DSGD_AWAIT_NOTHING};
}
