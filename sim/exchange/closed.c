/**
 * @file closed.c
 * Allreduces of all workers, computed when their last member arrives.
 *
 * No member's part ends before that, because every result depends on every contribution. In each
 * round the two sides of a message begin it together, and a channel has one phase under way: so no
 * link carries more than one message in each direction, if all of the run's messages are of such
 * allreduces and can meet at the hosts' own links only. Then a message takes a known time from the
 * instant at which both sides are there, and a pass over the members, round by round, yields the
 * same times as the simulation of the messages.
 *
 * A second pass, once all have ended, counts the messages and what of their time no computation
 * hid, which is not known before. At most two schedules are under way: who is in the next but one
 * has been told the end of the next, for which everyone had ended this one.
 */
#include "sim/exchange/closed.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network/paths.h"
#include "sim/result.h"

typedef struct schedule {
    dsgd_plan plan;
    long number; /* from 0 */
    int n_arrived, n_ended;
    bool counted;
    double *arrived_s; /* [n_workers]; INFINITY: has not */
    double *end_s; /* [n_workers], once all have arrived */
} schedule;

struct dsgd_closed {
    dsgd_paths *paths; /* NULL: messages can meet */
    long *n_begun; /* [n_workers]: schedules */
    double *at_s, *next_s; /* [n_workers], of a pass */
    schedule under_way[2]; /* by number */
};

static struct dsgd_closed *new_state(dsgd_engine *engine)
{
    const size_t n = (size_t)engine->n_workers;
    struct dsgd_closed *const state = dsgd_run_alloc(engine, sizeof *state);
    const bool one_at_a_time = engine->config->algorithm->only_allreduces &&
                               engine->n_channels == 1 && !engine->config->exchange.every_message;
    if (one_at_a_time)
        state->paths = dsgd_paths_new(engine->config->platform, engine->n_workers);
    if (state->paths == NULL)
        return state;
    state->n_begun = dsgd_run_alloc(engine, n * sizeof *state->n_begun);
    state->at_s = dsgd_run_alloc(engine, n * sizeof *state->at_s);
    state->next_s = dsgd_run_alloc(engine, n * sizeof *state->next_s);
    for (int i = 0; i < 2; i++) {
        state->under_way[i].arrived_s = dsgd_run_alloc(engine, n * sizeof(double));
        state->under_way[i].end_s = dsgd_run_alloc(engine, n * sizeof(double));
    }
    return state;
}

bool dsgd_schedule_is_closed(dsgd_engine *engine)
{
    if (engine->closed == NULL)
        engine->closed = new_state(engine);
    return engine->closed->paths != NULL;
}

void dsgd_closed_schedules_free(dsgd_engine *engine)
{
    if (engine->closed != NULL)
        free(engine->closed->paths);
}

/* --- a pass ----------------------------------------------------------------------------------- */

/** One member's part in a round. */
typedef struct part {
    double started_s; /* both sides were there; of who only sends: he was */
    double sent_s; /* both messages have come */
    double done_s; /* overhead and reduction too */
} part;

static part part_of(const dsgd_engine *engine, const dsgd_phase *phase, int rank)
{
    const struct dsgd_closed *const state = engine->closed;
    const double here_s = state->at_s[rank];
    part p = {here_s, here_s, 0};
    if (phase->from >= 0) {
        p.started_s = fmax(here_s, state->at_s[phase->from]);
        p.sent_s = p.started_s + dsgd_path_s(state->paths, phase->from, rank, phase->bytes);
    }
    if (phase->to >= 0) {
        const double ready_s = fmax(here_s, state->at_s[phase->to]);
        p.sent_s =
            fmax(p.sent_s, ready_s + dsgd_path_s(state->paths, rank, phase->to, phase->bytes));
    }
    p.done_s = p.sent_s + dsgd_message_cost_s(&engine->workers[rank], phase->reduced);
    return p;
}

/** SimGrid does not tell apart what is nearer in time. */
static const double same_instant_s = 1e-9;

/** Counts what of a part has passed by an instant. */
static void count_part(dsgd_engine *engine, const dsgd_phase *phase, int rank, part p,
                       double until_s)
{
    const double end_s = engine->result->virtual_s; /* 0: before the end of the run */
    if (phase->to >= 0 && p.sent_s <= until_s) {
        dsgd_count_message(engine, phase->bytes);
        if (end_s == 0 || p.sent_s <= end_s + same_instant_s)
            dsgd_count_carried(engine, rank, phase->to, phase->bytes);
    }
    if (p.done_s <= until_s)
        dsgd_count_communication_by(&engine->workers[rank], p.started_s, p.done_s);
}

/**
 * Follows the members from their arrivals to their ends, which are in state->at_s then. Where
 * @p counts, counts what has passed by @p until_s.
 */
static double follow(dsgd_engine *engine, const schedule *s, bool counts, double until_s)
{
    struct dsgd_closed *const state = engine->closed;
    const int n = s->plan.n;
    double last_s = 0;
    for (int i = 0; i < n; i++)
        state->at_s[i] = s->arrived_s[i];
    for (int round = 0; round < s->plan.n_rounds; round++) {
        for (int i = 0; i < n; i++) {
            const dsgd_phase phase = dsgd_plan_phase(&s->plan, round, i);
            state->next_s[i] = state->at_s[i];
            if (phase.to < 0 && phase.from < 0)
                continue;
            const part p = part_of(engine, &phase, i);
            state->next_s[i] = p.done_s;
            if (p.done_s < INFINITY)
                last_s = fmax(last_s, p.done_s);
            if (counts)
                count_part(engine, &phase, i, p, until_s);
        }
        double *const swapped = state->at_s;
        state->at_s = state->next_s;
        state->next_s = swapped;
    }
    return last_s;
}

static void count(dsgd_engine *engine, schedule *s)
{
    follow(engine, s, true, DBL_MAX);
    s->counted = true;
    for (int i = 0; i < s->plan.n; i++)
        dsgd_count_later_end(&engine->workers[i]);
}

double dsgd_closed_schedules_end(dsgd_engine *engine, double until_s)
{
    struct dsgd_closed *const state = engine->closed;
    double last_s = 0;
    if (state == NULL || state->paths == NULL)
        return last_s;
    const int older = state->under_way[0].number < state->under_way[1].number ? 0 : 1;
    for (int i = 0; i < 2; i++) {
        schedule *const s = &state->under_way[(older + i) % 2];
        if (s->n_arrived == 0 || s->counted)
            continue;
        last_s = fmax(last_s, follow(engine, s, true, until_s + same_instant_s));
        s->counted = true;
    }
    for (int i = 0; i < engine->n_workers; i++)
        while (engine->workers[i].n_uncounted > 0)
            dsgd_count_later_end(&engine->workers[i]);
    return last_s;
}

/* --- the members ------------------------------------------------------------------------------ */

static schedule *arrive(dsgd_worker *w, const dsgd_plan *plan)
{
    struct dsgd_closed *const state = w->engine->closed;
    const long number = state->n_begun[w->node.rank]++;
    schedule *const s = &state->under_way[number % 2];
    if (s->n_arrived == 0) {
        s->plan = *plan;
        s->number = number;
        s->counted = false;
        s->n_ended = 0;
        for (int i = 0; i < plan->n; i++)
            s->arrived_s[i] = INFINITY;
    }
    s->arrived_s[w->node.rank] = dsgd_now_s();
    s->n_arrived++;
    dsgd_count_later_begin(w);
    return s;
}

/** All have arrived: tells each when it ends. */
static void complete(dsgd_engine *engine, schedule *s, int last_rank)
{
    follow(engine, s, false, 0);
    memcpy(s->end_s, engine->closed->at_s, (size_t)s->plan.n * sizeof *s->end_s);
    for (int i = 0; i < s->plan.n; i++)
        if (i != last_rank)
            dsgd_semaphore_post(engine->workers[i].channels[0].semaphore);
}

void dsgd_closed_schedule(dsgd_channel *channel, const dsgd_plan *plan)
{
    dsgd_worker *const w = channel->worker;
    schedule *const s = arrive(w, plan);
    if (s->n_arrived == plan->n)
        complete(w->engine, s, w->node.rank);
    else
        dsgd_semaphore_wait(channel->semaphore);
    const double left_s = s->end_s[w->node.rank] - dsgd_now_s();
    if (left_s > 0)
        dsgd_sleep(left_s);
    if (++s->n_ended < plan->n)
        return;
    if (!s->counted)
        count(w->engine, s);
    s->n_arrived = 0;
}
