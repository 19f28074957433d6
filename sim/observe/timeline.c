/**
 * @file timeline.c
 * Records the events of a run while it is watched: periods of time (spans), messages and instants.
 *
 * Before the window opens, only current spans are kept. If a listener gets the spans, only current
 * spans are kept during the whole run. A span is recorded when it begins. Spans that are known only
 * afterwards (communication that does not overlap with computation) are recorded when they end.
 */
#include "sim/timeline.h"
#include "sim/engine/engine.h"
#include "sim/observe/observe.h"
#include "sim/result.h"

/** A wait that is not over. */
typedef struct open_wait {
    const dsgd_worker *worker;
    const dsgd_wait *wait;
    int lacking; /* rank of a host that has not done its part yet */
    double since_s; /* time at which the wait began to wait for host `lacking` */
} open_wait;

const char dsgd_cancelled[] = "cancelled";
const char dsgd_pass[] = "pass";

struct dsgd_recording {
    size_t n_free, *free; /* list of free places in `spans`; their spans ended before the window */
    size_t n_waits;
    open_wait *waits;
    int n_left; /* number of chosen workers that have not completed the steps of the window */
};

static bool is_chosen(const dsgd_engine *engine, int host)
{
    return host >= engine->n_workers || engine->accounts.timeline->chosen[host];
}

void dsgd_timeline_open(dsgd_engine *engine)
{
    dsgd_timeline *const t = engine->config->timeline;
    if (t == NULL)
        return;
    engine->accounts.timeline = t;
    t->recording = dsgd_keep(1, sizeof *t->recording);
    t->opened = t->closed = t->full = false;
    t->n_spans = 0;
    t->spans = NULL;
    t->since_s = t->end_s = INFINITY;
    for (int i = 0; i < engine->n_workers; i++)
        t->recording->n_left += t->chosen[i];
}

/**
 * Returns true if spans are kept in memory, and false if they are passed to a listener. Kept spans
 * must fit into memory, so only few workers and steps can be kept.
 */
static bool is_kept(const dsgd_engine *engine)
{
    return engine->accounts.timeline->ended == NULL;
}

/* --- spans ------------------------------------------------------------------------------------ */

/**
 * Stores a span. Returns its number, counted from 1. If there are too many spans, ends the run and
 * returns 0.
 */
static size_t put(dsgd_engine *engine, const dsgd_span *span)
{
    dsgd_timeline *const t = engine->accounts.timeline;
    struct dsgd_recording *const r = t->recording;
    if (r->n_free > 0) {
        t->spans[r->free[--r->n_free] - 1] = *span;
        return r->free[r->n_free];
    }
    if (t->n_spans >= DSGD_MOST_SPANS) {
        t->full = true;
        dsgd_finish(engine);
        return 0;
    }
    t->spans = dsgd_keep_more(t->spans, t->n_spans + 1, sizeof *t->spans);
    t->spans[t->n_spans++] = *span;
    return t->n_spans;
}

size_t dsgd_timeline_record(dsgd_engine *engine, dsgd_span span)
{
    dsgd_timeline *const t = engine->accounts.timeline;
    if (t == NULL)
        return 0;
    const bool begins = span.end_s == INFINITY;
    const bool is_inside = span.since_s < t->end_s && span.end_s >= t->since_s;
    if (!is_chosen(engine, span.host) &&
        !(span.kind == DSGD_SPAN_MESSAGE && is_chosen(engine, span.peer)))
        return 0;
    if (t->full || !(is_inside || (begins && !t->opened)))
        return 0;
    span.step = engine->workers[span.host].node.step;
    if (t->ended != NULL && !begins) {
        t->ended(t->listener, &span);
        return 0;
    }
    return put(engine, &span);
}

size_t dsgd_timeline_begin(const dsgd_worker *w, dsgd_span span)
{
    span.host = w->host;
    span.since_s = dsgd_now_s();
    span.end_s = INFINITY;
    return dsgd_timeline_record(w->engine, span);
}

/** Returns the span with number @p span, which has not ended, or NULL if it is not recorded. */
static dsgd_span *open_span(const dsgd_engine *engine, size_t span)
{
    const dsgd_run_accounts *const accounts = &engine->accounts;
    return accounts->timeline == NULL || span == 0 ? NULL : &accounts->timeline->spans[span - 1];
}

static void end(const dsgd_engine *engine, size_t span, double end_s)
{
    dsgd_timeline *const t = engine->accounts.timeline;
    t->spans[span - 1].end_s = end_s;
    const bool is_before = !t->opened || end_s < t->since_s;
    if (t->ended != NULL && !is_before)
        t->ended(t->listener, &t->spans[span - 1]);
    struct dsgd_recording *const r = t->recording;
    if (t->ended == NULL && !is_before)
        return;
    r->free = dsgd_keep_more(r->free, r->n_free + 1, sizeof *r->free);
    r->free[r->n_free++] = span;
}

void dsgd_timeline_end(const dsgd_engine *engine, size_t span)
{
    if (open_span(engine, span) != NULL)
        end(engine, span, dsgd_now_s());
}

void dsgd_timeline_cancel(const dsgd_engine *engine, size_t number)
{
    dsgd_span *const span = open_span(engine, number);
    if (span == NULL)
        return;
    span->verb = dsgd_cancelled;
    span->turn_s = fmin(span->turn_s, dsgd_now_s());
    end(engine, number, dsgd_now_s());
}

void dsgd_timeline_mark(const dsgd_worker *w, dsgd_span mark)
{
    mark.host = w->host;
    mark.since_s = mark.end_s = dsgd_now_s();
    dsgd_timeline_record(w->engine, mark);
}

void dsgd_timeline_contribute(const dsgd_worker *w, size_t exchange, dsgd_span mark)
{
    dsgd_span *const span = open_span(w->engine, exchange);
    if (span != NULL)
        span->version = mark.version;
    mark.kind = DSGD_SPAN_CONTRIBUTED;
    mark.peer = -1;
    dsgd_timeline_mark(w, mark);
    if (w->engine->accounts.timeline != NULL &&
        /* if spans are kept, this call is not needed, because other events check the waits soon */
        !is_kept(w->engine))
        dsgd_timeline_look(w->engine, w->host);
}

/* --- messages --------------------------------------------------------------------------------- */

void dsgd_timeline_arrive(const dsgd_engine *engine, size_t message, double since_s)
{
    dsgd_span *const span = open_span(engine, message);
    /*
     * Checks waits of both hosts, because the sender and the receiver may both have done their
     * part.
     */
    dsgd_timeline_look(engine, span == NULL ? 0 : span->host);
    if (span == NULL)
        return;
    if (!is_kept(engine))
        dsgd_timeline_look(engine, span->peer);
    span->since_s = since_s;
    end(engine, message, dsgd_now_s());
}

void dsgd_timeline_arrive_activation(const dsgd_worker *to, int from, int64_t position)
{
    /*
     * Number of spans to search. An activation takes microseconds, so its span was recorded
     * recently.
     */
    enum { FAR = 100000 };
    const dsgd_timeline *const t = to->engine->accounts.timeline;
    const int64_t n = (int64_t)to->engine->layout.n_pieces;
    if (t == NULL)
        return;
    for (size_t i = t->n_spans; i > 0 && i + FAR > t->n_spans; i--) {
        const dsgd_span *const span = &t->spans[i - 1];
        if (span->kind != DSGD_SPAN_MESSAGE || span->end_s < INFINITY || span->host != from ||
            span->peer != to->host || span->version != position / n || span->piece != position % n)
            continue;
        end(to->engine, i, dsgd_now_s());
        return;
    }
}

/* --- waits ------------------------------------------------------------------------------------ */

/**
 * Returns the next host after @p after that has not done its part in @p wait. The search continues
 * with host 0 after the last host. Returns -1 if all hosts have done their parts.
 */
static int next_lacking(const dsgd_worker *w, const dsgd_wait *wait, int after)
{
    const int n = w->engine->n_workers + w->engine->n_servers;
    for (int i = 1; i <= n; i++) {
        const int host = (after + i) % n;
        if (host != w->host && wait->in->lacks(w, wait->job, host))
            return host;
    }
    return -1;
}

size_t dsgd_timeline_wait(const dsgd_worker *w, const dsgd_wait *wait)
{
    dsgd_engine *const engine = w->engine;
    if (engine->accounts.timeline == NULL)
        return 0;
    dsgd_span span = {.kind = DSGD_SPAN_WAIT,
                      .peer = next_lacking(w, wait, w->host),
                      .track = dsgd_actor_self() != w->clock.work_actor,
                      .piece = -1,
                      .version = -1,
                      .turn_s = INFINITY,
                      .verb = wait->in->verb};
    for (int host = 0; is_kept(engine) && host < engine->n_workers + engine->n_servers; host++)
        span.n_peers += host != w->host && wait->in->lacks(w, wait->job, host);
    if (span.peer < 0)
        span.turn_s = dsgd_now_s();
    const size_t number = dsgd_timeline_begin(w, span);
    if (number == 0 || span.peer < 0)
        return number;
    struct dsgd_recording *const r = engine->accounts.timeline->recording;
    r->waits = dsgd_keep_more(r->waits, r->n_waits + 1, sizeof *r->waits);
    r->waits[r->n_waits++] = (open_wait){w, wait, span.peer, dsgd_now_s()};
    return number;
}

/**
 * Share of a wait. If arrivals of hosts differ by less than this share, the differences are
 * ignored, because the protocol causes them.
 */
static const double least_share = 0.01;

/** Updates the host that a wait waits for. Returns true if the wait still waits for a host. */
static bool update_wait(const dsgd_timeline *t, open_wait *open)
{
    dsgd_span *const span = &t->spans[open->wait->span - 1];
    const double now_s = dsgd_now_s();
    if (now_s - open->since_s >= least_share * (now_s - span->since_s))
        span->peer = open->lacking;
    if (open->wait->in->lacks(open->worker, open->wait->job, open->lacking))
        return true;
    open->lacking = next_lacking(open->worker, open->wait, open->lacking);
    open->since_s = now_s;
    if (open->lacking < 0)
        span->turn_s = now_s;
    return open->lacking >= 0;
}

/**
 * Updates all waits that @p host takes part in, as the waiting host or as the awaited host. If @p
 * host is -1, updates all waits. Removes waits that wait for no other host.
 */
static void update_waits(const dsgd_timeline *t, int host)
{
    struct dsgd_recording *const r = t->recording;
    size_t n = 0;
    for (size_t i = 0; i < r->n_waits; i++) {
        /*
         * True if the wait may have changed. An activation by the waiting host itself may also end
         * its wait for another host.
         */
        const bool may_change =
            host < 0 || r->waits[i].lacking == host || r->waits[i].worker->host == host;
        if (may_change && !(r->waits[i].wait->span > 0 && update_wait(t, &r->waits[i])))
            continue;
        if (n < i)
            r->waits[n] = r->waits[i];
        n++;
    }
    r->n_waits = n;
}

/*
 * If there is a listener, this function checks only waits of @p host or for @p host, because there
 * may be ten thousand workers.
 */
void dsgd_timeline_look(const dsgd_engine *engine, int host)
{
    if (engine->accounts.timeline != NULL)
        update_waits(engine->accounts.timeline, is_kept(engine) ? -1 : host);
}

void dsgd_timeline_wait_end(const dsgd_worker *w, const dsgd_wait *wait)
{
    const dsgd_span *const span = open_span(w->engine, wait->span);
    if (span == NULL)
        return;
    if (is_kept(w->engine))
        dsgd_timeline_look(w->engine, w->host);
    struct dsgd_recording *const r = w->engine->accounts.timeline->recording;
    size_t i = 0;
    while (span->turn_s == INFINITY && i < r->n_waits && r->waits[i].wait != wait)
        i++;
    /* removes the wait if it ends before all hosts have done their parts */
    if (span->turn_s == INFINITY && i < r->n_waits) {
        if (!is_kept(w->engine))
            update_wait(w->engine->accounts.timeline, &r->waits[i]);
        r->n_waits--;
        memmove(&r->waits[i], &r->waits[i + 1], (r->n_waits - i) * sizeof *r->waits);
    }
    dsgd_timeline_end(w->engine, wait->span);
}

/* --- functions for the window of the timeline ------------------------------------------------- */

void dsgd_timeline_step(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    dsgd_timeline *const t = engine->accounts.timeline;
    if (t == NULL || !is_chosen(engine, w->host))
        return;
    const int64_t step = w->node.step;
    if (!t->opened && step >= t->first_step) {
        t->opened = true;
        t->since_s = dsgd_now_s();
    }
    dsgd_timeline_end(engine, w->clock.span);
    w->clock.span = dsgd_timeline_begin(w, (dsgd_span){DSGD_SPAN_OF_HOST(STEP)});
    if (step != t->end_step || --t->recording->n_left > 0 || t->closed)
        return;
    t->closed = true;
    t->end_s = dsgd_now_s();
    dsgd_finish(engine);
}

void dsgd_timeline_close(dsgd_engine *engine)
{
    dsgd_timeline *const t = engine->accounts.timeline;
    if (t == NULL)
        return;
    struct dsgd_recording *const r = t->recording;
    update_waits(t, -1);
    for (size_t i = 0; i < r->n_waits; i++)
        t->spans[r->waits[i].wait->span - 1].peer = r->waits[i].lacking;
    if (t->ended != NULL)
        t->n_spans = 0;
    engine->accounts.timeline = NULL;
    if (!t->closed)
        t->end_s = engine->result->virtual_s;
    for (size_t i = 0; i < r->n_free; i++)
        t->spans[r->free[i] - 1].since_s = INFINITY;
    size_t n = 0; /* number of recorded spans that are in the window */
    for (size_t i = 0; i < t->n_spans; i++)
        if (t->spans[i].since_s < t->end_s || t->spans[i].end_s == t->end_s)
            t->spans[n++] = t->spans[i];
    t->n_spans = t->opened ? n : 0;
    t->recording = NULL;
}
