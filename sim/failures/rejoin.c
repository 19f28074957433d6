/**
 * @file rejoin.c Workers that fail and rejoin while the other workers continue. The member
 * `presence` of each worker has its state.
 */
#include "sim/failures/failures.h"

#include "sim/engine/vectors.h"
#include "sim/observe/observe.h"
#include "sim/result.h"
#include "sim/run.h"

/** Smallest number of recent steps from which a deadline is computed. */
enum { LEAST_ROUNDS = 3 };

void dsgd_presence_set(dsgd_worker *w, dsgd_presence_state to)
{
    dsgd_failure_times *const times = &w->engine->result->failures;
    const double now_s = dsgd_now_s();
    const double p = w->engine->n_workers;
    if (w->presence.state == DSGD_HERE)
        times->lost_s += (now_s - w->clock.since_s) / p;
    const double up_s = w->presence.state == DSGD_DOWN
                            ? fmin(now_s, fmax(w->presence.up_s, w->presence.changed_s))
                            : w->presence.changed_s;
    if (w->presence.state != DSGD_HERE) {
        times->repair_s += (up_s - w->presence.changed_s) / p;
        times->restart_s += (now_s - up_s) / p;
    }
    dsgd_timeline_end(w->engine, w->presence.away_span);
    w->presence.away_span =
        to == DSGD_HERE ? 0
                        : dsgd_timeline_begin(
                              w, (dsgd_span){DSGD_SPAN_OF_HOST(AWAY),
                                             .verb = to == DSGD_DOWN ? "failed" : "comes back"});
    w->presence.changed_s = now_s;
    w->presence.state = to;
}

static int shorter_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *s, int n)
{
    qsort(s, (size_t)n, sizeof *s, shorter_first);
    return (s[(n - 1) / 2] + s[n / 2]) / 2;
}

/**
 * Returns the time at which the other workers give up waiting for a worker that fails now. The time
 * is the median + k MAD of the times of recent steps, as users of hivemind requested (its issue
 * 676).
 */
static double deadline_s(const dsgd_engine *engine)
{
    const struct dsgd_failure_state *const f = engine->failures.state;
    const double latest_s = dsgd_now_s() + f->config.detect_s;
    const int n = f->n_rounds < DSGD_ROUNDS_TIMED ? (int)f->n_rounds : DSGD_ROUNDS_TIMED;
    if (f->config.detect_mads < 0 || n < LEAST_ROUNDS)
        return latest_s;
    double s[DSGD_ROUNDS_TIMED];
    memcpy(s, f->round_s, sizeof s);
    const double median = median_of(s, n);
    for (int i = 0; i < n; i++)
        s[i] = fabs(s[i] - median);
    const double limit_s = f->led_s + median + f->config.detect_mads * median_of(s, n);
    return fmin(latest_s, fmax(dsgd_now_s(), limit_s));
}

/**
 * Tells the server that a worker has failed, so that the server waits only until it is notified of
 * the failure.
 */
static void announce(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    if (!(engine->config->algorithm->traits & DSGD_NOTIFIES_SERVER) || w->presence.unnotified)
        return;
    w->presence.unnotified = true;
    engine->failures.n_unnotified++;
    dsgd_work_wake(&engine->workers[engine->n_workers]);
}

void dsgd_clear_failure_notice(dsgd_worker *w)
{
    w->engine->failures.n_unnotified -= w->presence.unnotified;
    w->presence.unnotified = false;
}

double dsgd_failure_notice_s(const dsgd_worker *w)
{
    return fmin(w->presence.changed_s + w->engine->failures.state->config.detect_s,
                w->presence.up_s);
}

void dsgd_take_workers_down(dsgd_engine *engine)
{
    const dsgd_failure failure = dsgd_next_failure(engine);
    for (int i = 0; i < engine->n_workers; i++) {
        dsgd_worker *const w = &engine->workers[i];
        if (!dsgd_failure_is_of(engine->failures.state->source, &failure, i))
            continue;
        w->presence.up_s = fmax(w->presence.up_s, failure.up_s);
        if (w->presence.state == DSGD_DOWN)
            continue;
        const bool computes = w->presence.state == DSGD_HERE;
        dsgd_presence_set(w, DSGD_DOWN);
        w->presence.given_up_s = deadline_s(engine);
        announce(w);
        if (computes)
            dsgd_lose_computation(w);
        /* in this case, the restart of this worker begins again */
        else
            dsgd_work_wake(w);
    }
}

int dsgd_live_peer(const dsgd_worker *w)
{
    const int p = w->engine->n_workers;
    for (int i = 1; i < p; i++)
        if (w->engine->workers[(w->node.rank + i) % p].presence.state == DSGD_HERE)
            return (w->node.rank + i) % p;
    return -1;
}

bool dsgd_rejoin(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const bool rejoins = engine->config->algorithm->traits & DSGD_REJOINS;
    /* the step in which the worker asked for the state is over */
    if (w->presence.state == DSGD_JOINS)
        dsgd_presence_set(w, DSGD_HERE);
    while (w->presence.state != DSGD_HERE) {
        while (dsgd_now_s() < w->presence.up_s && w->presence.up_s < INFINITY)
            dsgd_sleep(w->presence.up_s - dsgd_now_s());
        if (w->presence.up_s == INFINITY)
            return false;
        dsgd_presence_set(w, DSGD_JOINS);
        dsgd_clear_failure_notice(w);
        const double ready_s = dsgd_now_s() + engine->failures.state->config.restart_s;
        while (w->presence.state == DSGD_JOINS && dsgd_now_s() < ready_s)
            dsgd_work_sleep_until(w, ready_s);
        if (w->presence.state == DSGD_JOINS && rejoins) {
            /* the step in which the worker asks for the state does not count as work */
            w->gpu.computation.share = 0;
            return true;
        }
        if (w->presence.state == DSGD_JOINS)
            engine->config->algorithm->comes_back(&w->node, dsgd_live_peer(w));
        if (w->presence.state == DSGD_JOINS)
            dsgd_presence_set(w, DSGD_HERE);
    }
    for (size_t k = 0; k < engine->layout.n_pieces; k++) {
        dsgd_value_release(engine->learning.values, w->learner.optimizer_state[k]);
        w->learner.optimizer_state[k] = DSGD_ZERO_VALUE;
    }
    w->learner.state_since = w->learner.local_steps[0];
    w->clock.since_s = dsgd_now_s();
    dsgd_work_wake(w); /* wakes assist() of the worker */
    return true;
}

bool dsgd_wait_failure_detected(dsgd_worker *w, dsgd_worker *peer)
{
    static const double least_s = 1e-3; /* shortest time until a refused connection is reported */
    if (peer->presence.state == DSGD_HERE)
        return false;
    const double known_s = peer->presence.changed_s + w->engine->failures.state->config.detect_s;
    const double since_s = dsgd_now_s();
    dsgd_sleep(peer->presence.state == DSGD_DOWN ? fmax(least_s, known_s - since_s) : least_s);
    /* counts the wait if it did not overlap with computation */
    if (w->presence.state == DSGD_HERE && !dsgd_computing(w)) {
        const double from_s = fmax(since_s, fmax(w->presence.changed_s, w->gpu.computation.end_s));
        w->engine->result->failures.detect_s += (dsgd_now_s() - from_s) / w->engine->n_workers;
        /* counts the wait only once if the worker exchanges several chunks */
        w->presence.changed_s = dsgd_now_s();
    }
    return true;
}

/* --- rejoining with quorum -------------------------------------------------------------------- */

double dsgd_failure_detected_s(const dsgd_worker *w)
{
    const dsgd_failures_config *const config = &w->engine->failures.state->config;
    const double back_s = fmax(w->presence.up_s, w->presence.changed_s) + config->restart_s;
    return fmin(w->presence.given_up_s, back_s) + config->remake_s;
}

/** Adds a wait of the running workers ranks[n] to *cause, except parts that were counted before. */
static void count_wait(dsgd_engine *engine, double *cause, const int *ranks, int n,
                       dsgd_interval wait)
{
    for (int i = 0; i < n; i++) {
        dsgd_worker *const w = &engine->workers[ranks[i]];
        const double from_s = fmax(wait.since_s, w->presence.changed_s);
        if (w->presence.state != DSGD_HERE || wait.end_s <= from_s)
            continue;
        *cause += (wait.end_s - from_s) / engine->n_workers;
        w->presence.changed_s = wait.end_s;
    }
}

void dsgd_quorum_count_wait(const dsgd_worker *w, const int *ranks, int n)
{
    dsgd_engine *const engine = w->engine;
    dsgd_failure_times *const times = &engine->result->failures;
    dsgd_interval wait = {w->presence.changed_s, dsgd_now_s()};
    for (int i = 0; i < n; i++) {
        const dsgd_worker *const other = &engine->workers[ranks[i]];
        /* if a running worker still computes, the others wait for that worker, not for w */
        if (other->presence.state == DSGD_HERE && dsgd_computing(other))
            return;
        if (other->presence.state == DSGD_HERE)
            wait.since_s = fmax(wait.since_s, other->gpu.computation.end_s);
    }
    const double known_s = dsgd_failure_detected_s(w) - engine->failures.state->config.remake_s;
    if (w->presence.state == DSGD_DOWN)
        count_wait(engine, &times->detect_s, ranks, n, (dsgd_interval){wait.since_s, known_s});
    count_wait(engine, &times->restart_s, ranks, n, wait);
}

void dsgd_quorum_lead(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    if (!engine->failures.by_quorum || w->presence.state != DSGD_HERE ||
        w->node.step <= engine->failures.led)
        return;
    struct dsgd_failure_state *const f = engine->failures.state;
    if (engine->failures.led > 0)
        f->round_s[f->n_rounds++ % DSGD_ROUNDS_TIMED] = dsgd_now_s() - f->led_s;
    f->led_s = dsgd_now_s();
    engine->failures.led = w->node.step;
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].presence.state != DSGD_HERE)
            dsgd_work_wake(&engine->workers[i]);
}

/**
 * Main function of the actor that sends the state to a rejoining worker. It runs on the host of a
 * running worker.
 */
static void send_state(void *worker)
{
    dsgd_worker *const w = worker;
    dsgd_mailbox_send(dsgd_mailbox_of(w->presence.copied_from, w->node.rank, DSGD_PORT_STATE, 0), w,
                      w->engine->failures.state->copy_bytes);
}

/**
 * Waits for the new communicators. Then copies the state of the next running worker, if there is
 * one.
 */
static void copy_state(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const double remake_s = engine->failures.state->config.remake_s;
    if (remake_s > 0)
        dsgd_sleep(remake_s);
    w->presence.copied_from = dsgd_live_peer(w);
    if (w->presence.copied_from < 0)
        return;
    const double since_s = dsgd_now_s();
    const dsgd_worker *const from = &engine->workers[w->presence.copied_from];
    const bool copies = dsgd_has_traits(engine->config, DSGD_QUORUM_COPIES);
    for (size_t k = 0; copies && k < engine->layout.n_pieces; k++) {
        dsgd_vector_set(w->learner.model, k, dsgd_value_retain(from->learner.model->piece[k].value),
                        dsgd_local_steps(w, k));
        dsgd_value_release(engine->learning.values, w->learner.optimizer_state[k]);
        w->learner.optimizer_state[k] = DSGD_ZERO_VALUE;
    }
    dsgd_actor_start(from->host, send_state, w);
    dsgd_mailbox_recv(dsgd_mailbox_of(w->presence.copied_from, w->node.rank, DSGD_PORT_STATE, 0));
    dsgd_observe_passed(engine, w->presence.copied_from, w->host, 0,
                        engine->failures.state->copy_bytes, since_s);
}

void dsgd_quorum_follow(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    while (engine->failures.led <= w->node.step)
        dsgd_work_sleep(w);
    /* the first step after the copy is over; the worker contributed nothing to it */
    if (w->presence.state == DSGD_JOINS) {
        dsgd_presence_set(w, DSGD_HERE);
        return;
    }
    const double ready_s = w->presence.up_s + engine->failures.state->config.restart_s;
    const bool copies = dsgd_has_traits(engine->config, DSGD_QUORUM_COPIES);
    const int64_t period = copies ? 1 : engine->failures.state->period;
    if (dsgd_now_s() < ready_s || (w->node.step + 1) % period != 0)
        return;
    dsgd_presence_set(w, DSGD_JOINS);
    copy_state(w);
}
