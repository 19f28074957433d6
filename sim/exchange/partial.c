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
#include "sim/engine/engine.h"

enum { POSITION_BITS = 48, LINK_BITS = 8 };

static bool version_exists(const dsgd_partial *partial, long version)
{
    return partial->spec.period == 0 || (version + 1) % partial->spec.period != 0;
}

/** An activation as a payload: one high bit, so that it is no NULL, then the link it travels over, then the position. */
static void *payload_of(long position, int link)
{
    return (void *)((uintptr_t)1 << 63 | (uintptr_t)link << POSITION_BITS | (uintptr_t)position);
}

/** The schedule of one version and piece. */
typedef struct partial_job {
    dsgd_job job; /* first */
    long version;
    dsgd_reduction *reduction;
    bool fresh; /* this worker's part was published in the version's own step */
} partial_job;

static void run_schedule(dsgd_channel *channel, dsgd_job *job);

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
        partial_job *job = dsgd_run_alloc(w->engine, sizeof *job);
        job->job.run = run_schedule;
        job->job.piece = (size_t)(p % n_pieces);
        job->version = p / n_pieces;
        dsgd_channel_add(w, &job->job);
    }
    for (int bit = link + 1; bit < dsgd_log2(w->node.n_workers); bit++) {
        dsgd_send_detached(dsgd_mailbox_of(-1, w->node.rank ^ (1 << bit), 'a', 0),
                           payload_of(position, bit), DSGD_ACTIVATION_BYTES);
        dsgd_count_message(w->engine, DSGD_ACTIVATION_BYTES);
    }
}

/** Hears activations, drops those of what already started, and passes the others on. */
static void listener_main(void *worker)
{
    dsgd_worker *const w = worker;
    const double overhead_s = w->engine->config->platform->message_overhead_s;
    dsgd_mailbox *const mailbox = dsgd_mailbox_of(-1, w->node.rank, 'a', 0);
    dsgd_mailbox_own(mailbox);
    for (;;) {
        const uintptr_t payload = (uintptr_t)dsgd_recv(mailbox);
        dsgd_stay_if_stopped(w);
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
    partial->started = -1;
    for (size_t k = 0; k < n; k++) {
        partial->piece[k] = (dsgd_partial_piece){
            .buffer = {.stamp = -1}, .published = -1, .used = -1, .received_version = -1};
        if (initial != NULL)
            partial->piece[k].buffer =
                (dsgd_piece){dsgd_value_retain(initial->piece[k].value), 0, 1};
    }
    w->partial = partial;
    dsgd_actor_start(self->rank, "listener", listener_main, w);
    return partial;
}

/* --- schedules ------------------------------------------------------------------------------------------------------------ */

/** Meets the members of the group of this version, and samples the send buffer. */
static void begin_schedule(dsgd_worker *w, partial_job *job)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_partial_spec *const spec = &w->partial->spec;
    const size_t k = job->job.piece;
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    const int p = engine->n_workers;
    const dsgd_group group =
        spec->group == NULL ? dsgd_group_everyone(p) : spec->group(w->node.params, p, job->version);
    const int leader = w->node.rank & (int)~group;
    const uint64_t number = (uint64_t)job->version * engine->n_pieces + k;
    job->fresh = piece->published == job->version;
    job->reduction = dsgd_reduction_join(engine, 1 + (uint64_t)leader, number, group, leader, 1);
    const dsgd_piece sample = {dsgd_value_retain(piece->buffer.value), piece->buffer.stamp, 1};
    dsgd_reduction_sample(job->reduction, w->node.rank, sample, job->fresh);
    if (spec->draining)
        dsgd_piece_set(engine, &piece->buffer, DSGD_ZERO_VALUE, -1);
    engine->versions += k == 0 && w->node.rank == 0;
    engine->fresh += k == 0 && job->fresh;
}

static void run_schedule(dsgd_channel *channel, dsgd_job *any_job)
{
    dsgd_worker *const w = channel->worker;
    partial_job *const job = (partial_job *)any_job;
    const size_t k = any_job->piece;
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    begin_schedule(w, job);
    dsgd_schedule_butterfly(channel, job->reduction->group, w->engine->piece_bytes[k]);
    dsgd_reduction_combine(w->engine, job->reduction,
                           (dsgd_origin){(uint32_t)w->node.rank, (uint64_t)job->version}, k);
    dsgd_reduction_leave(w->engine, piece->received);
    piece->received = job->reduction;
    piece->received_version = job->version;
    piece->received_fresh = job->fresh;
    dsgd_run_free(job);
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
        dsgd_piece_wait(x, k);
        const dsgd_piece taken = partial->piece[k].buffer;
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

/** Arrives at piece @p k of this step's version. */
static void arrive(dsgd_worker *w, size_t k)
{
    DSGD_ASSERT(version_exists(w->partial, w->node.step), "step %ld has no version", w->node.step);
    if (may_activate(w))
        activate(w, w->node.step * (long)w->engine->n_pieces + (long)k, -1);
}

/** The processor's time in the call itself, which passes whether or not there is anything to wait for. */
static void spend_call(dsgd_worker *w)
{
    const double since_s = dsgd_now_s();
    const double call_s = w->engine->config->platform->partial_call_s;
    if (call_s <= 0)
        return;
    dsgd_sleep(call_s);
    dsgd_stay_if_stopped(w);
    dsgd_count_communication(w, since_s);
}

/** Waits until that version is done here; counts what was missed, and the use. */
static dsgd_partial_piece *await(dsgd_worker *w, size_t k)
{
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    while (piece->received_version < w->node.step)
        dsgd_work_sleep(w);
    spend_call(w);
    for (long missed = piece->used + 1; missed < piece->received_version; missed++)
        w->engine->result->partial_skipped += version_exists(w->partial, missed);
    piece->used = piece->received_version;
    dsgd_reduction_count_use(w, piece->received, k);
    return piece;
}

/** (y + z) / divisor, a fresh handle. */
static dsgd_value combine(dsgd_worker *w, size_t k, dsgd_value y, dsgd_value z, double divisor)
{
    const dsgd_value x[2] = {y, z};
    const double weights[2] = {1, 1};
    return dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 2, x, weights, divisor);
}

/** Vectors and divisors of one call of a verb. */
typedef struct partial_call {
    dsgd_vector *in, *out;
    double on_time, late;
} partial_call;

static void begin_sum(dsgd_worker *w, size_t k, void *exchange)
{
    dsgd_vector *const g = ((partial_call *)exchange)->in;
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    dsgd_piece_wait(g, k);
    /* What is older than this step's gradient keeps the sum's age. */
    const long stamp = piece->buffer.stamp >= 0 ? piece->buffer.stamp : g->piece[k].stamp;
    dsgd_piece_set(w->engine, &piece->buffer,
                   combine(w, k, piece->buffer.value, g->piece[k].value, 1), stamp);
    piece->published = w->node.step;
    arrive(w, k);
}

static void end_sum(dsgd_worker *w, size_t k, void *exchange)
{
    dsgd_vector *const sum = ((partial_call *)exchange)->out;
    const dsgd_partial_piece *const piece = await(w, k);
    dsgd_piece_wait(sum, k);
    dsgd_piece_set(w->engine, &sum->piece[k], dsgd_value_retain(piece->received->sum),
                   w->node.step);
}

void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum)
{
    (void)partial; /* a worker has one */
    partial_call call = {.in = g, .out = sum};
    dsgd_exchange_pieces(dsgd_worker_of(self), begin_sum, end_sum, &call);
}

static void begin_mix(dsgd_worker *w, size_t k, void *exchange)
{
    dsgd_vector *const x = ((partial_call *)exchange)->in;
    dsgd_partial_piece *const piece = &w->partial->piece[k];
    dsgd_piece_wait(x, k);
    dsgd_piece_set(w->engine, &piece->buffer, dsgd_value_retain(x->piece[k].value),
                   x->piece[k].stamp);
    piece->published = w->node.step;
    arrive(w, k);
}

static void end_mix(dsgd_worker *w, size_t k, void *exchange)
{
    const partial_call *const call = exchange;
    dsgd_vector *const x = call->in;
    const dsgd_partial_piece *const piece = await(w, k);
    const bool fresh =
        call->on_time > 0 && piece->received_version == w->node.step && piece->received_fresh;
    const dsgd_value mixed =
        fresh ? combine(w, k, piece->received->sum, DSGD_ZERO_VALUE, call->on_time)
              : combine(w, k, piece->received->sum, x->piece[k].value, call->late);
    dsgd_piece_set(w->engine, &x->piece[k], mixed, dsgd_local_steps(w, k));
}

void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late)
{
    (void)partial;
    partial_call call = {.in = x, .on_time = on_time, .late = late};
    dsgd_exchange_pieces(dsgd_worker_of(self), begin_mix, end_mix, &call);
}
