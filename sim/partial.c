/**
 * @file partial.c
 * Partial collectives: standing schedules that run at a worker whether or not its algorithm has arrived
 * (eager-SGD, PPoPP'20, section 4; WAGMA-SGD, TPDS'21, section 3).
 *
 * Activation travels over the union of binomial trees: rank r tells r ^ (1 << j) for every j above the link it was told over, so that any
 * rank can be the root. An activation of (version, piece) implies all earlier ones, which a runner carries out in order.
 * The send buffer is sampled when the schedule starts at that rank.
 */
#include "base/draw.h"
#include "sim/engine.h"

enum { ACTIVATION_BYTES = 4, POSITION_BITS = 48, LINK_BITS = 8 };

static bool version_exists(const dsgd_partial *partial, long version)
{
    return partial->spec.period == 0 || (version + 1) % partial->spec.period != 0;
}

/** An activation as a payload: one high bit, so that it is no NULL, then the link it travels over, then the position. */
static void *payload_of(long position, int link)
{
    return (void *)((uintptr_t)1 << 63 | (uintptr_t)link << POSITION_BITS | (uintptr_t)position);
}

/** Starts all schedules up to @p position, if they have not been; tells the partners above @p link. */
static void activate(dsgd_worker *w, long position, int link)
{
    dsgd_partial *const partial = w->partial;
    const long n_pieces = (long)w->engine->n_pieces;
    if (position <= partial->started)
        return;
    const long first = partial->started + 1;
    partial->started = position; /* before anything that lets other actors run */
    for (long p = first; p <= position; p++) {
        if (!version_exists(partial, p / n_pieces))
            continue;
        dsgd_job *job = dsgd_run_alloc(w->engine, sizeof *job);
        job->partial = partial;
        job->version = p / n_pieces;
        job->piece = (size_t)(p % n_pieces);
        dsgd_runner_add(w, job);
    }
    for (int bit = link + 1; bit < dsgd_log2(w->node.n_workers); bit++) {
        dsgd_post(dsgd_mailbox_of(-1, w->node.rank ^ (1 << bit), 'a'), payload_of(position, bit),
                  ACTIVATION_BYTES);
        w->engine->result->messages++;
        w->engine->result->bytes += ACTIVATION_BYTES;
    }
}

/** Hears activations, drops those of what already started, and passes the others on. */
static void listener_main(void *worker)
{
    dsgd_worker *const w = worker;
    const double overhead_s = w->engine->config->platform->message_overhead_s;
    dsgd_mailbox *const mailbox = dsgd_mailbox_of(-1, w->node.rank, 'a');
    dsgd_mailbox_own(-1, w->node.rank, 'a');
    for (;;) {
        const uintptr_t payload = (uintptr_t)dsgd_receive(mailbox);
        const long position = (long)(payload & (((uintptr_t)1 << POSITION_BITS) - 1));
        const int link = (int)(payload >> POSITION_BITS & ((1 << LINK_BITS) - 1));
        if (position <= w->partial->started)
            continue;
        if (overhead_s > 0)
            dsgd_sleep(overhead_s);
        activate(w, position, link);
    }
}

dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    DSGD_ASSERT(w->partial == NULL, "a worker has one partial collective");
    DSGD_ASSERT(dsgd_is_power_of_two(self->n_workers), "%d workers", self->n_workers);
    dsgd_partial *partial =
        dsgd_run_alloc(w->engine, sizeof *partial + n * sizeof partial->piece[0]);
    partial->spec = spec;
    partial->started = partial->finished = -1;
    for (size_t k = 0; k < n; k++) {
        partial->piece[k].published = partial->piece[k].used = -1;
        partial->piece[k].buffer.stamp = -1;
        if (initial != NULL)
            partial->piece[k].buffer = (dsgd_piece){dsgd_value_retain(initial->piece[k].value), 0};
    }
    w->partial = partial;
    dsgd_actor_start(self->rank, "listener", listener_main, w);
    return partial;
}

/* --- the runner's part ---------------------------------------------------------------------------------------------------------- */

void dsgd_partial_begin_schedule(dsgd_worker *w, dsgd_job *job)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_partial_spec *const spec = &job->partial->spec;
    dsgd_partial_piece *const piece = &job->partial->piece[job->piece];
    const int p = engine->n_workers;
    const dsgd_group group =
        spec->group == NULL ? dsgd_group_everyone(p) : spec->group(w->node.params, p, job->version);
    const int leader = w->node.rank & (int)~group;
    const uint64_t number = (uint64_t)job->version * engine->n_pieces + job->piece;
    const bool fresh = piece->published == job->version;
    job->meeting = dsgd_meeting_join(engine, 1 + (uint64_t)leader, number, group, leader, 1);
    dsgd_meeting_sample(job->meeting, w->node.rank,
                        (dsgd_piece){dsgd_value_retain(piece->buffer.value), piece->buffer.stamp},
                        fresh);
    job->done = fresh; /* until the schedule ends: whether this worker's part was fresh */
    if (spec->draining)
        dsgd_piece_set(engine, &piece->buffer, DSGD_ZERO_VALUE, -1);
    engine->versions += job->piece == 0 && w->node.rank == 0;
    engine->fresh += job->piece == 0 && fresh;
}

void dsgd_partial_end_schedule(dsgd_worker *w, dsgd_job *job)
{
    dsgd_partial_piece *const piece = &job->partial->piece[job->piece];
    if (piece->received != NULL)
        dsgd_meeting_leave(w->engine, piece->received);
    piece->received = job->meeting;
    piece->received_version = job->version;
    piece->received_fresh = job->done;
    job->partial->finished = job->version * (long)w->engine->n_pieces + (long)job->piece;
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------------- */

void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        dsgd_piece_wait(x, k);
        dsgd_piece_set(engine, &partial->piece[k].buffer, dsgd_value_retain(x->piece[k].value),
                       x->piece[k].stamp);
        partial->piece[k].published = self->step;
    }
}

void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        const dsgd_piece taken = partial->piece[k].buffer;
        dsgd_piece_wait(x, k);
        dsgd_piece_set(engine, &x->piece[k], dsgd_value_retain(taken.value), taken.stamp);
        dsgd_piece_set(engine, &partial->piece[k].buffer, DSGD_ZERO_VALUE, -1);
    }
}

/** Whether this worker may activate the version of its step. */
static bool may_activate(const dsgd_worker *w)
{
    const long version = w->node.step;
    const uint32_t p = (uint32_t)w->engine->n_workers;
    switch (w->partial->spec.initiator) {
    case DSGD_FIRST_ARRIVER:
        return true;
    case DSGD_EACH_IN_TURN:
        return version % p == w->node.rank;
    case DSGD_RANDOM_WORKER:
        break;
    }
    const dsgd_draw at = {
        .seed = w->engine->config->seed, .purpose = DSGD_DRAW_SHARED, .step = (uint32_t)version};
    return dsgd_draw_below(at, p) == (uint64_t)w->node.rank;
}

/** Arrives at piece @p k of this step's version and waits until it is done here. */
static void arrive(dsgd_worker *w, size_t k)
{
    const long position = w->node.step * (long)w->engine->n_pieces + (long)k;
    DSGD_ASSERT(version_exists(w->partial, w->node.step), "step %ld has no version", w->node.step);
    if (may_activate(w))
        activate(w, position, -1);
    while (w->partial->finished < position)
        dsgd_work_sleep(w);
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    for (long missed = piece->used + 1; missed < piece->received_version; missed++)
        w->engine->result->partial_skipped += version_exists(w->partial, missed);
    piece->used = piece->received_version;
    dsgd_meeting_count_use(w, piece->received, k);
}

/** (y + z) / divisor, a fresh handle. */
static dsgd_value combine(dsgd_worker *w, size_t k, dsgd_value y, dsgd_value z, double divisor)
{
    const dsgd_value x[2] = {y, z};
    const double weights[2] = {1, 1};
    const dsgd_origin where = {(uint32_t)w->node.rank, (uint64_t)w->node.step};
    return dsgd_values_combine(w->engine->values, where, k, 2, x, weights, divisor);
}

void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_partial_piece *const piece = &partial->piece[k];
        dsgd_piece_wait(g, k);
        /* What is older than this step's gradient keeps the sum's age. */
        const long stamp = piece->buffer.stamp >= 0 ? piece->buffer.stamp : g->piece[k].stamp;
        dsgd_piece_set(w->engine, &piece->buffer,
                       combine(w, k, piece->buffer.value, g->piece[k].value, 1), stamp);
        piece->published = self->step;
        arrive(w, k);
        dsgd_piece_wait(sum, k);
        dsgd_piece_set(w->engine, &sum->piece[k], dsgd_value_retain(piece->received->sum),
                       self->step);
    }
}

void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_partial_piece *const piece = &partial->piece[k];
        dsgd_piece_wait(x, k);
        dsgd_piece_set(w->engine, &piece->buffer, dsgd_value_retain(x->piece[k].value),
                       x->piece[k].stamp);
        piece->published = self->step;
        arrive(w, k);
        const bool fresh = piece->received_version == self->step && piece->received_fresh;
        const dsgd_value mixed = fresh
                                     ? combine(w, k, piece->received->sum, DSGD_ZERO_VALUE, on_time)
                                     : combine(w, k, piece->received->sum, x->piece[k].value, late);
        dsgd_piece_set(w->engine, &x->piece[k], mixed, dsgd_gradients_computed(w, k));
    }
}
