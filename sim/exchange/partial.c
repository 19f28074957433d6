/**
 * @file partial.c
 * Implements partial collectives. Their schedules run at a worker even if its algorithm has not
 * arrived yet (eager-SGD, PPoPP'20, section 4, and WAGMA-SGD, TPDS'21, section 3).
 *
 * Activations travel over the union of binomial trees. When rank r is notified over link i, it
 * notifies rank r ^ (1 << j) for every j > i. So any rank can be the root of the tree. An
 * activation of (version, chunk) implies all earlier activations; channels execute them in order.
 * The send buffer of a rank is read when the schedule starts at that rank.
 *
 * Under `failures: policy: quorum` (quorum.c), a version contains only the running workers. A
 * failed worker activates no version, and its send buffer is empty. Activations pass through it as
 * if it were running.
 */
#include "base/draw.h"
#include "sim/exchange/analytic.h"
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"
#include "sim/failures/failures.h"
#include "sim/network/events.h"
#include "sim/result.h"

/** One worker's state of a partial collective for one chunk. */
typedef struct partial_piece {
    dsgd_piece buffer; /* send buffer: the value that the worker contributes when a version
                        * starts */
    int64_t published; /* step in which the send buffer was last filled; -1 if it was never
                        * filled */
    dsgd_reduction *received; /* sum of the latest complete version; NULL if no version is
                               * complete */
    int64_t received_version;
    int64_t used; /* version of the sum that this worker used last; -1 if it has not used a sum */
    bool received_fresh; /* true if this worker filled its send buffer in the step of the
                          * received version */
} partial_piece;

struct dsgd_partial {
    dsgd_partial_spec spec;
    int64_t started; /* last position that has a job, where position is version * n_pieces +
                      * chunk; -1 before the first job */
    double ended_s; /* time at which the latest schedule ended; -1 if no schedule has ended */
    bool leaves; /* true if the worker has failed and waits until the other workers know of the
                  * failure (policy quorum) */
    bool is_notified; /* true while the overhead of an activation passes, if activations are
                       * simulated as alarms */
    double notified_s; /* time at which the overhead of the present activation is over */
    partial_piece piece[]; /* [n_pieces] state of each chunk */
};

static bool version_exists(const dsgd_partial *partial, int64_t version)
{
    return partial->spec.period == 0 || (version + 1) % partial->spec.period != 0;
}

/* --- schedules of versions -------------------------------------------------------------------- */

/** The job of one version and chunk. */
typedef struct partial_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    int64_t version;
    bool has_let; /* true if the job has waited once for other actors to publish; see
                   * lets_publish() */
    dsgd_reduction *reduction; /* reduction of the version's group; NULL before the schedule
                                * starts */
    bool fresh; /* true if this worker filled its send buffer in the step of this version */
    bool held; /* true if the worker was not running when the schedule started (policy quorum) */
} partial_job;

/** Joins the reduction of the version's group, and contributes the send buffer to it. */
static void begin_schedule(dsgd_worker *w, partial_job *job)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_partial_spec *const spec = &w->wire.partial->spec;
    const size_t k = job->job.piece;
    partial_piece *const piece = &w->wire.partial->piece[k];
    const int p = engine->n_workers;
    const dsgd_group group = spec->group == NULL ? (dsgd_group)((1u << dsgd_log2(p)) - 1)
                                                 : spec->group(w->node.params, p, job->version);
    const int leader = w->node.rank & (int)~group;
    const uint64_t number = (uint64_t)job->version * engine->layout.n_pieces + k;
    job->fresh = piece->published == job->version;
    const bool away = w->presence.state != DSGD_HERE;
    dsgd_piece sample = {piece->buffer.value, piece->buffer.stamp, 1};
    if (away)
        sample = DSGD_NO_PIECE;
    if (dsgd_encoded_exchange(engine) != NULL && !away)
        sample = dsgd_piece_encoded(w, w->learner.model, k, piece->buffer, w->clock.encodings++);
    else
        dsgd_value_retain(sample.value);
    const dsgd_call call = {.piece = k,
                            .bytes = dsgd_encoded_bytes(engine, sample.encoded, k),
                            .divisor = 1,
                            .encoded = sample.encoded,
                            .verb = "a version"};
    job->reduction = dsgd_reduction_join_group(engine, number, group, leader, call);
    dsgd_reduction_sample(w, job->reduction, sample);
    /* Sets the send buffer to the values that compression did not send, or to zeros. */
    if (spec->draining)
        dsgd_piece_set(engine, &piece->buffer,
                       dsgd_combined(w, k, 1, piece->buffer.value, -1, sample.value, 1),
                       sample.encoded == NULL ? -1 : sample.stamp);
    dsgd_observe_contributed(w, dsgd_channel_of(w, &job->job)->span, job->fresh,
                             (dsgd_span){.piece = (int64_t)k,
                                         .version = job->version,
                                         .made = sample.stamp < 0 ? -1 : piece->published});
}

/**
 * Returns true once if the previous schedule has ended at this instant. A worker that waited for
 * that schedule then publishes its next chunk at this instant, before the new schedule reads the
 * send buffer. (SimGrid lets the actor of that worker run first anyway.)
 */
static bool lets_publish(const dsgd_partial *partial, partial_job *job)
{
    const bool lets = !job->has_let && partial->ended_s == dsgd_now_s();
    job->has_let = true;
    return lets;
}

/** Stores the sum of a version, so that the worker can use it. */
static void end_schedule(dsgd_worker *w, partial_job *job)
{
    partial_piece *const piece = &w->wire.partial->piece[job->job.piece];
    if (job->version > piece->received_version) {
        dsgd_reduction_leave(w->engine, piece->received);
        piece->received = job->reduction;
        piece->received_version = job->version;
        piece->received_fresh = job->fresh;
    } else { /* In this case a later version is already complete. This happens if the worker has
              * failed (policy quorum). */
        dsgd_reduction_leave(w->engine, job->reduction);
    }
    w->wire.partial->ended_s = dsgd_now_s();
    dsgd_run_free(job);
}

static dsgd_await step_schedule(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    partial_job *const job = (partial_job *)any_job;
    if (job->reduction == NULL && lets_publish(w->wire.partial, job))
        return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = 0};
    if (job->reduction == NULL) {
        begin_schedule(w, job);
        job->held = dsgd_quorum_holds(w, job->reduction, any_job);
        if (job->held)
            return (dsgd_await){DSGD_AWAIT_NOTHING};
    }
    dsgd_reduction *const r = job->reduction;
    dsgd_contribution *const mine = &r->contribution[dsgd_members_index(&r->members, w->node.rank)];
    /* true if the running workers have already computed the sum */
    const bool made = job->held && r->over && !mine->started;
    if (w->engine->failures.by_quorum && !made) {
        dsgd_quorum_decide(w->engine, r);
        const double left_s = dsgd_quorum_left_s(w, r);
        if (left_s > 0)
            return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = left_s};
        mine->started = true;
    }
    if (!made) {
        const dsgd_await await = dsgd_schedule_reduction(channel, r);
        if (await.kind != DSGD_AWAIT_NOTHING)
            return await;
    }
    dsgd_reduction_combine(w->engine, job->reduction,
                           (dsgd_origin){(uint32_t)w->node.rank, (uint64_t)job->version},
                           any_job->piece);
    dsgd_quorum_over(w->engine, job->reduction);
    end_schedule(w, job);
    return (dsgd_await){DSGD_AWAIT_NOTHING};
}

/* --- activations ------------------------------------------------------------------------------ */

/*
 * An activation of a partial collective. If messages share no links, activations are simulated as
 * alarms: one alarm when an activation arrives, and one alarm when the receiver's overhead is over.
 * The few bytes of an activation would delay other messages only by nanoseconds. If messages share
 * links, activations are messages to listeners.
 */

typedef struct dsgd_activation {
    struct dsgd_activation *next; /* next activation that arrived before its receiver had a
                                   * partial collective */
    dsgd_worker *to;
    int64_t position;
    int link;
    bool arrived; /* true if the activation has arrived, and its next alarm is the end of the
                   * receiver's overhead */
} activation;

static double activation_cost_s(const dsgd_worker *w)
{
    return dsgd_received_cost_s(w, DSGD_ACTIVATION_BYTES, 0,
                                w->engine->config->platform->partial_turn_s);
}

/** The alarms of the run. One actor handles all of them. */
struct dsgd_alarms {
    dsgd_agenda set; /* activations, ordered by the times of their alarms */
    uint64_t n_set; /* number of alarms that have been set so far */
    dsgd_semaphore *semaphore; /* semaphore that is posted if an alarm is set for a time before
                                * waits_until_s */
    double waits_until_s; /* time until which the actor waits; -INFINITY if the actor does not
                           * wait */
};

static void alarms_main(void *argument);

static void forget(void *alarms)
{
    dsgd_agenda_close(&((struct dsgd_alarms *)alarms)->set);
}

/**
 * Sets an alarm for the activation @p a. Alarms for the same time happen in the order in which they
 * were set.
 */
static void set_alarm(dsgd_engine *engine, activation *a, double at_s)
{
    if (engine->exchanges.alarms == NULL) {
        engine->exchanges.alarms = dsgd_keep(1, sizeof *engine->exchanges.alarms);
        dsgd_keep_for(forget, engine->exchanges.alarms);
        engine->exchanges.alarms->semaphore = dsgd_semaphore_new();
        engine->exchanges.alarms->waits_until_s = -INFINITY;
        dsgd_actor_start(0, alarms_main, engine);
    }
    struct dsgd_alarms *const alarms = engine->exchanges.alarms;
    dsgd_agenda_add(&alarms->set, at_s, alarms->n_set++, a);
    if (at_s >= alarms->waits_until_s)
        return;
    alarms->waits_until_s = -INFINITY;
    dsgd_semaphore_post(alarms->semaphore);
}

static bool has_reached(const dsgd_worker *w, int64_t position)
{
    return w->wire.partial != NULL && w->wire.partial->started >= position;
}

static void notify(dsgd_worker *w, int link, int64_t position)
{
    dsgd_engine *const engine = w->engine;
    const int rank = w->node.rank;
    const int to = rank ^ (1 << link);
    const bool is_alarm = dsgd_is_contention_free(engine);
    const double end_s =
        is_alarm ? dsgd_now_s() + dsgd_contention_free_s(engine, rank, to, DSGD_ACTIVATION_BYTES)
                 : INFINITY;
    dsgd_observe_activation(engine, rank, to, position, end_s);
    /* Returns without an alarm, because the receiver would ignore this activation. */
    if (is_alarm && has_reached(&engine->workers[to], position))
        return;
    activation *const sent = dsgd_run_alloc(engine, sizeof *sent);
    *sent = (activation){NULL, &engine->workers[to], position, link};
    if (is_alarm)
        set_alarm(engine, sent, end_s);
    else
        dsgd_mailbox_send_detached(dsgd_mailbox_of(-1, to, DSGD_PORT_ACTIVATION, 0), sent,
                                   DSGD_ACTIVATION_BYTES);
}

/**
 * Starts all schedules up to @p position, and sends activations to the partners over the links
 * above @p link.
 */
static void activate(dsgd_worker *w, int64_t position, int link)
{
    dsgd_partial *const partial = w->wire.partial;
    const int64_t n_pieces = (int64_t)w->engine->layout.n_pieces;
    if (position <= partial->started)
        return;
    const int64_t first = partial->started + 1;
    partial->started = position; /* must be set before the following calls, which let other actors
                                  * run */
    dsgd_timeline_mark(w, (dsgd_span){.kind = DSGD_SPAN_ACTIVATED,
                                      .peer = link < 0 ? -1 : w->node.rank ^ (1 << link),
                                      .piece = position % n_pieces,
                                      .version = position / n_pieces});
    for (int64_t p = first; p <= position; p++) {
        if (!version_exists(partial, p / n_pieces))
            continue;
        partial_job *job = dsgd_run_alloc(w->engine, sizeof *job);
        job->job.step = step_schedule;
        job->job.piece = (size_t)(p % n_pieces);
        job->job.verb = "a version";
        job->job.again = true;
        job->version = p / n_pieces;
        dsgd_channel_add(w, &job->job);
    }
    for (int bit = link + 1; bit < dsgd_log2(w->node.n_workers); bit++)
        notify(w, bit, position);
}

/** Handles an alarm of an activation, as listener_main() handles a message. */
static void receive(activation *received)
{
    dsgd_worker *const w = received->to;
    dsgd_partial *const partial = w->wire.partial;
    if (partial == NULL) {
        activation **end = &w->wire.early;
        while (*end != NULL)
            end = &(*end)->next;
        *end = received;
        return;
    }
    if (received->arrived) {
        partial->is_notified = false;
        activate(w, received->position, received->link);
    }
    if (received->arrived || w->clock.stopped || has_reached(w, received->position)) {
        dsgd_run_free(received);
        return;
    }
    if (!partial->is_notified) {
        partial->is_notified = true;
        partial->notified_s = dsgd_now_s() + activation_cost_s(w);
        received->arrived = true;
    } /* Otherwise, the new alarm has the time of the alarm of an earlier activation. */
    set_alarm(w->engine, received, partial->notified_s);
}

/**
 * Waits until @p time_s; INFINITY means for ever. Returns false if an alarm for an earlier time was
 * set during the wait.
 */
static bool wait_until(struct dsgd_alarms *alarms, double time_s)
{
    const double left_s = time_s - dsgd_now_s();
    if (left_s <= 0)
        return true;
    bool earlier = true;
    alarms->waits_until_s = time_s;
    if (time_s < INFINITY)
        earlier = dsgd_semaphore_wait_for(alarms->semaphore, left_s);
    else
        dsgd_semaphore_wait(alarms->semaphore);
    alarms->waits_until_s = -INFINITY;
    return !earlier;
}

static void alarms_main(void *argument)
{
    struct dsgd_alarms *const alarms = ((dsgd_engine *)argument)->exchanges.alarms;
    uint64_t number = 0;
    for (;;) {
        const double until_s =
            dsgd_agenda_is_empty(&alarms->set) ? INFINITY : dsgd_agenda_time(&alarms->set);
        if (!wait_until(alarms, until_s))
            continue;
        while (!dsgd_agenda_is_empty(&alarms->set) && dsgd_agenda_time(&alarms->set) <= until_s)
            receive(dsgd_agenda_take(&alarms->set, &number));
    }
}

/**
 * Receives activations as messages. Ignores an activation if its schedule has started; otherwise
 * starts the schedule and forwards the activation.
 */
static void listener_main(void *worker)
{
    dsgd_worker *const w = worker;
    dsgd_mailbox *const mailbox = dsgd_mailbox_of(-1, w->node.rank, DSGD_PORT_ACTIVATION, 0);
    dsgd_mailbox_own(mailbox);
    for (;;) {
        activation *const sent = dsgd_mailbox_recv(mailbox);
        const activation received = *sent;
        dsgd_run_free(sent);
        dsgd_stay_if_stopped(w);
        dsgd_timeline_arrive_activation(w, w->node.rank ^ (1 << received.link), received.position);
        if (has_reached(w, received.position))
            continue;
        dsgd_sleep_cost(activation_cost_s(w));
        activate(w, received.position, received.link);
    }
}

dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial)
{
    if (initial != NULL)
        DSGD_OWN(self, initial);
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->layout.n_pieces;
    DSGD_REQUIRE(w->wire.partial == NULL, "a worker has one partial collective");
    dsgd_exchanges_otherwise(w, true);
    if (initial != NULL)
        dsgd_require_whole(initial, "dsgd_partial_new");
    DSGD_REQUIRE(dsgd_is_power_of_two(self->n_workers), "%d workers", self->n_workers);
    dsgd_partial *partial =
        dsgd_run_alloc(w->engine, sizeof *partial + n * sizeof partial->piece[0]);
    partial->spec = spec;
    partial->started = -1;
    partial->ended_s = -1;
    for (size_t k = 0; k < n; k++) {
        partial->piece[k] = (partial_piece){
            .buffer = {.stamp = -1}, .published = -1, .used = -1, .received_version = -1};
        if (initial != NULL)
            partial->piece[k].buffer =
                (dsgd_piece){dsgd_value_retain(initial->piece[k].value), 0, 1};
    }
    w->wire.partial = partial;
    if (!dsgd_is_contention_free(w->engine))
        dsgd_actor_start(w->node.rank, listener_main, w);
    for (activation *early = w->wire.early, *next = NULL; early != NULL; early = next) {
        next = early->next; /* reads `next` before the call, because handling the alarm frees the
                             * activation */
        set_alarm(w->engine, early, dsgd_now_s());
    }
    return partial;
}

/* --- verbs ------------------------------------------------------------------------------------ */

/** Computes send buffer <- value. The buffer takes over the reference to the value. */
static void publish(dsgd_worker *w, size_t k, dsgd_partial *partial, dsgd_value value,
                    int64_t stamp)
{
    dsgd_piece_set(w->engine, &partial->piece[k].buffer, value, stamp);
    partial->piece[k].published = w->node.step;
}

void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x)
{
    DSGD_OWN(self, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    DSGD_FOR_PIECES (k, x) {
        dsgd_piece_wait(x, k);
        publish(w, k, partial, dsgd_value_retain(x->piece[k].value), x->piece[k].stamp);
    }
}

void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x)
{
    DSGD_OWN(self, x);
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    DSGD_FOR_PIECES (k, x) {
        dsgd_piece_wait(x, k);
        const dsgd_piece taken = partial->piece[k].buffer;
        dsgd_vector_set(x, k, dsgd_value_retain(taken.value), taken.stamp);
        dsgd_piece_set(engine, &partial->piece[k].buffer, DSGD_ZERO_VALUE, -1);
    }
}

/** Returns true if a worker has failed and the other workers know of the failure. */
static bool is_known_away(const dsgd_worker *w)
{
    return w->engine->failures.by_quorum &&
           (w->presence.state == DSGD_JOINS ||
            (w->presence.state == DSGD_DOWN && dsgd_failure_detected_s(w) <= dsgd_now_s()));
}

/**
 * Returns the worker that activates the version of this worker's step. If that worker is known to
 * have failed, returns the next worker in the order of ranks that is not known to have failed.
 */
static int initiator_of(const dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const int64_t version = w->node.step;
    const int p = engine->n_workers;
    const dsgd_draw at = {
        .seed = engine->config->seed, .purpose = DSGD_DRAW_SHARED, .step = (uint32_t)version};
    const int first = w->wire.partial->spec.initiator == DSGD_EACH_IN_TURN
                          ? (int)(version % p)
                          : (int)dsgd_draw_below(at, (uint32_t)p);
    for (int i = 0; i < p; i++)
        if (!is_known_away(&engine->workers[(first + i) % p]))
            return (first + i) % p;
    return first;
}

/** Returns whether the worker @p rank may activate the version of this worker's step. */
static bool may_activate(const dsgd_worker *w, int rank)
{
    return w->wire.partial->spec.initiator == DSGD_FIRST_ARRIVER || initiator_of(w) == rank;
}

/**
 * Lets another worker activate the version, because this worker has failed. Waits until the other
 * workers know of the failure. If the new initiator has already arrived at the version, activates
 * the version there. Otherwise the new initiator activates it on arrival.
 */
static void leave_to_others(dsgd_worker *w, size_t k)
{
    if (w->wire.partial->spec.initiator == DSGD_FIRST_ARRIVER)
        return;
    w->wire.partial->leaves = true;
    if (w->presence.state == DSGD_DOWN && !is_known_away(w))
        dsgd_sleep(dsgd_failure_detected_s(w) - dsgd_now_s());
    w->wire.partial->leaves = false;
    dsgd_worker *const next = &w->engine->workers[initiator_of(w)];
    if (next->wire.partial != NULL && next->wire.partial->piece[k].published >= w->node.step)
        activate(next, w->node.step * (int64_t)w->engine->layout.n_pieces + (int64_t)k, -1);
}

/**
 * Returns true if the present initiator of this step's version has arrived without activating it,
 * because another worker was the initiator at that time.
 */
static bool is_left(const dsgd_worker *w, size_t k)
{
    if (!w->engine->failures.by_quorum || w->wire.partial->spec.initiator == DSGD_FIRST_ARRIVER)
        return false;
    const dsgd_partial *const initiator = w->engine->workers[initiator_of(w)].wire.partial;
    const int64_t position = w->node.step * (int64_t)w->engine->layout.n_pieces + (int64_t)k;
    return initiator != NULL && !initiator->leaves &&
           initiator->piece[k].published >= w->node.step && initiator->started < position;
}

/**
 * Arrives at chunk @p k of this step's version, and activates the version if this worker may do so.
 */
static void arrive(dsgd_worker *w, size_t k)
{
    DSGD_REQUIRE(version_exists(w->wire.partial, w->node.step), "step %jd has no version",
                 w->node.step);
    if (w->engine->failures.by_quorum && w->presence.state != DSGD_HERE)
        leave_to_others(w, k);
    else if (may_activate(w, w->node.rank) || is_left(w, k))
        activate(w, w->node.step * (int64_t)w->engine->layout.n_pieces + (int64_t)k, -1);
}

/**
 * Returns whether the version of this worker's step cannot start because of the worker @p host.
 * Before the version is activated, this holds if @p host may activate it. After the activation,
 * this holds if @p host has not started the version.
 */
static bool lacks_version(const dsgd_worker *w, const dsgd_job *none, int host)
{
    (void)none;
    if (host >= w->engine->n_workers)
        return false;
    const int64_t position = w->node.step * (int64_t)w->engine->layout.n_pieces;
    return has_reached(w, position) ? !has_reached(&w->engine->workers[host], position)
                                    : may_activate(w, host);
}

/**
 * Waits until this step's version or a later version is complete. Counts the versions that this
 * worker skipped, and the sums that it used more than once.
 */
static partial_piece *await(dsgd_worker *w, size_t k, const dsgd_request *request, dsgd_lag *lag)
{
    partial_piece *const piece = &w->wire.partial->piece[k];
    if (piece->received_version < w->node.step) {
        dsgd_wait *const wait = dsgd_wait_begin(w, &request->exchange->waiting, NULL);
        while (piece->received_version < w->node.step)
            dsgd_work_sleep(w);
        dsgd_wait_end(w, wait);
    }
    /*
     * The library notices the call at the end of a turn of its progress loop. On average, this is
     * half a turn later, whether the call waits or not.
     */
    dsgd_spend(w, w->engine->config->platform->partial_turn_s / 2);
    dsgd_run_result *const result = w->engine->result;
    for (int64_t missed = piece->used + 1; missed < piece->received_version; missed++)
        result->partial_skipped += version_exists(w->wire.partial, missed);
    result->partial_duplicates += piece->used == piece->received_version;
    piece->used = piece->received_version;
    *lag = dsgd_reduction_count_use(w, piece->received, k, piece->used - w->node.step);
    dsgd_timeline_mark(w, (dsgd_span){.kind = DSGD_SPAN_USED,
                                      .peer = -1,
                                      .piece = (int64_t)k,
                                      .version = piece->used,
                                      .made = piece->received_fresh ? piece->used : -1});
    return piece;
}

/*
 * The exchanges partial_sum and partial_mix have no jobs, because activations start the schedules.
 */

static void begin_sum(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_staging_wait(w, request->staged_s);
    const dsgd_piece *const g = &request->in->piece[k];
    const dsgd_piece *const buffer = &w->wire.partial->piece[k].buffer;
    /* true if the worker is not running; it has then lost the values that it had not sent */
    const bool away = w->presence.state != DSGD_HERE;
    const dsgd_value sum =
        away ? DSGD_ZERO_VALUE : dsgd_combined(w, k, 1, buffer->value, 1, g->value, 1);
    /* The stamp of a sum is the stamp of its oldest gradient. */
    publish(w, k, w->wire.partial, sum, away ? -1 : buffer->stamp >= 0 ? buffer->stamp : g->stamp);
    arrive(w, k);
}

static void end_sum(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_lag lag;
    dsgd_piece_wait(request->out, k); /* must precede await(), because later versions may become
                                       * complete during this wait */
    const partial_piece *const piece = await(w, k, request, &lag);
    dsgd_vector_update(request->out, k, dsgd_value_retain(piece->received->sum), w->node.step);
    dsgd_exchange_gradients(request, k, lag);
    if (w->wire.partial->spec.discarding)
        dsgd_piece_set(w->engine, &w->wire.partial->piece[k].buffer, DSGD_ZERO_VALUE, -1);
}

static const dsgd_exchange partial_sum = {
    begin_sum, end_sum, {"dsgd_partial_sum", lacks_version}, true};

void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum)
{
    DSGD_OWN(self, g, sum);
    (void)partial; /* The argument is not needed: a worker has only one partial collective. */
    dsgd_require_whole(g, "dsgd_partial_sum"); /* Stops the program for a view, because a version
                                                * always has all chunks, in order. */
    dsgd_exchange_run(dsgd_worker_of(self), &partial_sum, g, sum, NULL);
}

static void begin_mix(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_staging_wait(w, request->staged_s);
    const dsgd_piece *const x = &request->in->piece[k];
    publish(w, k, w->wire.partial, dsgd_value_retain(x->value), x->stamp);
    arrive(w, k);
}

static void end_mix(dsgd_worker *w, size_t k, dsgd_request *request)
{
    const double *const by = request->arguments; /* by[0] is the argument on_time, and by[1] is the
                                                  * argument late */
    dsgd_lag lag;
    const dsgd_piece *const x = &request->out->piece[k];
    const partial_piece *const piece = await(w, k, request, &lag);
    const dsgd_reduction *const of = piece->received;
    const bool fresh =
        by[0] > 0 && piece->received_version == w->node.step && piece->received_fresh;
    const int n_missing = w->engine->failures.by_quorum ? of->n_members - of->n_counting : 0;
    request->unchanged = fresh && n_missing == of->n_members;
    if (request->unchanged)
        return;
    const dsgd_value mixed = dsgd_combined(w, k, 1, of->sum, 1, fresh ? DSGD_ZERO_VALUE : x->value,
                                           by[fresh ? 0 : 1] - n_missing);
    dsgd_vector_update(request->out, k, mixed, dsgd_local_steps(w, k));
}

static const dsgd_exchange partial_mix = {
    begin_mix, end_mix, {"dsgd_partial_mix", lacks_version}, true};

void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late)
{
    DSGD_OWN(self, x);
    (void)partial;
    dsgd_require_whole(x, "dsgd_partial_mix");
    const double by[] = {on_time, late};
    dsgd_exchange_run(dsgd_worker_of(self), &partial_mix, x, x, by);
}
