/**
 * @file collectives.c
 * Implements collectives of all workers or of a communicator: collectives of vectors, and
 * allgathers of control data.
 */
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

/** The arguments of a collective, which dsgd_exchange passes to the functions of this file. */
typedef struct collective {
    const dsgd_comm *comm;
    dsgd_collective_kind part;
    int root;
    double divisor;
    bool aside; /* true if the jobs of the collective use side channels */
    const char *verb;
} collective;

typedef struct collective_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    dsgd_reduction *reduction;
} collective_job;

/**
 * Returns whether this worker gets the result. In a reduce, only the root gets the result. In other
 * collectives, all members get it.
 */
static bool gets(const dsgd_worker *w, const dsgd_reduction *reduction)
{
    const int index = dsgd_members_index(&reduction->members, w->node.rank);
    return reduction->call.part != DSGD_REDUCE || index == reduction->call.root;
}

/**
 * Ends this worker's part after its last message. By then, all members have contributed to this
 * worker's result.
 */
static void finish_collective(dsgd_worker *w, dsgd_job *job)
{
    dsgd_reduction *const reduction = ((collective_job *)job)->reduction;
    if (reduction->numbers == NULL && reduction->call.part != DSGD_BROADCAST && gets(w, reduction))
        dsgd_reduction_combine(w->engine, reduction, dsgd_origin_of(w), job->piece);
    dsgd_job_finish(job);
    dsgd_quorum_over(w->engine, reduction);
}

static dsgd_await step_collective(dsgd_channel *channel, dsgd_job *job)
{
    collective_job *const mine = (collective_job *)job;
    dsgd_reduction *const r = mine->reduction;
    dsgd_quorum_decide(channel->worker->engine, r);
    const double left_s = dsgd_quorum_left_s(channel->worker, r);
    if (left_s > 0)
        return (dsgd_await){.kind = DSGD_AWAIT_SECONDS, .amount = left_s};
    r->contribution[dsgd_members_index(&r->members, channel->worker->node.rank)].started = true;
    const dsgd_await await = dsgd_schedule_reduction(channel, mine->reduction);
    if (await.kind != DSGD_AWAIT_NOTHING)
        return await;
    finish_collective(channel->worker, job);
    return await;
}

/** Returns a new job for this worker's part in its next collective of the communicator @p comm. */
static collective_job *new_collective_job(dsgd_worker *w, const dsgd_comm *comm, dsgd_call call)
{
    collective_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    *job = (collective_job){.job = {.step = step_collective,
                                    .piece = call.piece,
                                    .collective = w->wire.collectives,
                                    /*
                                     * name of the verb in an allgather of control data; for
                                     * vectors, dsgd_exchange_start() sets another name
                                     */
                                    .verb = "dsgd_allgather"},
                            /*
                             * The cast removes const, because only algorithms need a constant
                             * communicator.
                             */
                            .reduction = dsgd_reduction_join_next(w, (dsgd_comm *)comm, call)};
    return job;
}

/**
 * Returns whether the worker @p host has not called the collective, or has called it but its
 * channel has not started it.
 */
static bool lacks_call(const dsgd_worker *w, const dsgd_job *job, int host)
{
    return host < w->engine->n_workers &&
           dsgd_reduction_lacks(w->engine, ((const collective_job *)job)->reduction, host);
}

/**
 * Stops the program if this worker is not a member of @p comm, or if the algorithm's traits do not
 * allow groups.
 */
static void require_member(const dsgd_worker *w, const dsgd_comm *comm, const char *verb)
{
    if (comm == DSGD_WORLD)
        return;
    DSGD_REQUIRE(dsgd_comm_index(comm, w->node.rank) >= 0,
                 "worker %d calls %s in step %jd on a communicator of which it is not a member",
                 w->node.rank, verb, w->node.step);
    dsgd_exchanges_otherwise(w, true); /* with fusion, stops the program, because fusion supports
                                        * only allreduces of all workers */
}

/* --- collectives of vectors ------------------------------------------------------------------- */

/** Contributes the present value of chunk k of the vector `in`, if there is such a vector. */
static void begin(dsgd_worker *w, size_t k, dsgd_request *request)
{
    const collective *const c = request->arguments;
    const dsgd_vector *const pieces = request->in != NULL ? request->in : request->out;
    w->wire.collectives += k == pieces->first;
    dsgd_piece *const mine = &dsgd_begun_of(request, k)->sent;
    const dsgd_encoded *const encoded =
        request->in != NULL ? mine->encoded : dsgd_encoded_exchange(w->engine);
    const dsgd_call call = {.part = c->part,
                            .root = c->root,
                            .piece = k,
                            .bytes = dsgd_encoded_bytes(w->engine, encoded, k),
                            .divisor = c->divisor,
                            .encoded = encoded,
                            .verb = c->verb};
    collective_job *const job = new_collective_job(w, c->comm, call);
    if (w->presence.state != DSGD_HERE) { /* A worker that is not running contributes zeros. */
        dsgd_value_release(w->engine->learning.values, mine->value);
        *mine = (dsgd_piece){DSGD_ZERO_VALUE, -1, 1, mine->encoded, mine->encoded_s, mine->of};
    }
    if (request->in != NULL)
        dsgd_reduction_sample(w, job->reduction, *mine);
    mine->value = DSGD_ZERO_VALUE; /* The reduction now owns the reference to the value. */
    job->job.aside = c->aside;
    if (request->in != NULL)
        request->staged_s = dsgd_stage_collective(
            w, request->in, k, c->part == DSGD_ALLREDUCE ? call.bytes : 0, request->staged_s);
    if (dsgd_quorum_holds(w, job->reduction, &job->job)) {
        dsgd_begun_of(request, k)->job = &job->job;
        return;
    }
    if (!dsgd_fuses(w->engine)) {
        dsgd_exchange_start(w, request, &job->job);
        return;
    }
    dsgd_begun_of(request, k)->job = &job->job;
    dsgd_staging_wait(w, request->staged_s);
    dsgd_fusion_announce(w, &job->reduction->fused, &job->job, finish_collective);
}

/** Sets chunk k of the result to sum / divisor. */
static void end(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_reduction *const reduction = ((collective_job *)dsgd_begun_of(request, k)->job)->reduction;
    request->unchanged = !gets(w, reduction) || dsgd_quorum_gave_nothing(w->engine, reduction);
    if (!request->unchanged) {
        dsgd_piece_wait(request->out, k);
        const dsgd_lag lag = dsgd_reduction_count_use(w, reduction, k, 0);
        dsgd_vector_update(request->out, k, dsgd_value_retain(reduction->sum),
                           dsgd_local_steps(w, k));
        dsgd_exchange_gradients(request, k, lag);
    }
    dsgd_reduction_leave(w->engine, reduction);
}

/**
 * Waits until the last local step has changed chunk k of the model, and then ends the chunk like
 * end().
 */
static void end_later(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_piece_wait(w->learner.model, k);
    end(w, k, request);
}

/**
 * Copies the value of the root to chunk k of the result. The last member that copies it releases
 * the value.
 */
static void end_broadcast(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_reduction *const reduction = ((collective_job *)dsgd_begun_of(request, k)->job)->reduction;
    const int root = dsgd_members_rank(&reduction->members, reduction->call.root);
    request->unchanged = root == w->node.rank;
    if (!request->unchanged) {
        const dsgd_contribution *const theirs = &reduction->contribution[reduction->call.root];
        dsgd_piece_wait(request->out, k);
        dsgd_observe_received(w, root, theirs->value, theirs->stamp);
        dsgd_vector_update(request->out, k, dsgd_value_retain(theirs->value), theirs->stamp);
        dsgd_observe_used(w, root, k, theirs->stamp, dsgd_piece_share(w->engine, k));
    }
    dsgd_reduction_leave(w->engine, reduction);
}

static const dsgd_exchange allreduce_mean = {begin, end, {"dsgd_allreduce_mean", lacks_call}};
static const dsgd_exchange allreduce_sum = {begin, end, {"dsgd_allreduce_sum", lacks_call}};

#define RUN(part) "dsgd_collective_run(" #part ")"
static const dsgd_exchange blocking[] = {
    [DSGD_ALLREDUCE] = {begin, end, {RUN(DSGD_ALLREDUCE), lacks_call}},
    [DSGD_REDUCE_SCATTER] = {begin, end, {RUN(DSGD_REDUCE_SCATTER), lacks_call}},
    [DSGD_ALLGATHER] = {begin, end, {RUN(DSGD_ALLGATHER), lacks_call}, true},
    [DSGD_REDUCE] = {begin, end, {RUN(DSGD_REDUCE), lacks_call}},
    [DSGD_BROADCAST] = {begin, end_broadcast, {RUN(DSGD_BROADCAST), lacks_call}}};

static const dsgd_exchange non_blocking[] = {
    [DSGD_ALLREDUCE] = {begin, end_later, {"dsgd_request_wait", lacks_call}},
    [DSGD_REDUCE_SCATTER] = {begin, end_later, {"dsgd_request_wait", lacks_call}},
    [DSGD_ALLGATHER] = {begin, end_later, {"dsgd_request_wait", lacks_call}, true}};
static const char *const begun_verbs[] = {
    [DSGD_ALLREDUCE] = "dsgd_collective_begin(DSGD_ALLREDUCE)",
    [DSGD_REDUCE_SCATTER] = "dsgd_collective_begin(DSGD_REDUCE_SCATTER)",
    [DSGD_ALLGATHER] = "dsgd_collective_begin(DSGD_ALLGATHER)"};

/**
 * Executes a blocking collective. @p sent is the vector that this worker contributes, or NULL if it
 * contributes nothing.
 */
static void run(dsgd_node *self, const dsgd_exchange *exchange, dsgd_vector *sent, dsgd_vector *x,
                collective c)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const int n = dsgd_comm_size(self, c.comm);
    c.verb = exchange->waiting.verb;
    require_member(w, c.comm, exchange->waiting.verb);
    DSGD_REQUIRE(c.root >= 0 && c.root < n,
                 "worker %d names member %d as root in step %jd, but they are 0 to %d", self->rank,
                 c.root, self->step, n - 1);
    if (c.part != DSGD_ALLREDUCE)
        dsgd_exchanges_otherwise(w, true);
    /* If a group has only one worker, the worker does not even wait for its gradient. */
    if (c.comm == DSGD_WORLD || n > 1)
        dsgd_exchange_run(w, exchange, sent, x, &c);
}

void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    DSGD_OWN(self, x);
    run(self, &allreduce_mean, x, x,
        (collective){.comm = comm, .divisor = dsgd_comm_size(self, comm)});
}

void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm)
{
    DSGD_OWN(self, x);
    run(self, &allreduce_sum, x, x, (collective){.comm = comm, .divisor = 1});
}

void dsgd_collective_run(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x, int root,
                         const dsgd_comm *comm)
{
    DSGD_OWN(self, x);
    const bool gives = part != DSGD_BROADCAST || dsgd_comm_rank(self, comm) == root;
    const bool rooted = part == DSGD_REDUCE || part == DSGD_BROADCAST;
    run(self, &blocking[part], gives ? x : NULL, x,
        (collective){.comm = comm,
                     .part = part,
                     .root = rooted ? root : 0,
                     .divisor = part == DSGD_ALLREDUCE ? dsgd_comm_size(self, comm) : 1});
}

dsgd_request *dsgd_collective_begin(dsgd_node *self, dsgd_collective_kind part, dsgd_vector *x,
                                    const dsgd_comm *comm)
{
    DSGD_OWN(self, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    const bool in_turn = dsgd_has_traits(w->engine->config, DSGD_SENDS_COLLECTIVES);
    DSGD_REQUIRE(part != DSGD_REDUCE && part != DSGD_BROADCAST,
                 "worker %d begins a reduce or a broadcast in step %jd, which only block",
                 self->rank, self->step);
    const collective c = {.comm = comm,
                          .part = part,
                          .divisor = part == DSGD_ALLREDUCE ? dsgd_comm_size(self, comm) : 1,
                          .aside = comm != DSGD_WORLD && !in_turn,
                          .verb = begun_verbs[part]};
    require_member(w, comm, c.verb);
    if (part != DSGD_ALLREDUCE)
        dsgd_exchanges_otherwise(w, true);
    return dsgd_exchange_begin(w, &non_blocking[part], x, &c);
}

/* --- functions for allgathers of control data ------------------------------------------------- */

static const dsgd_waiting allgather = {"dsgd_allgather", lacks_call};

const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t m, const dsgd_comm *comm)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    DSGD_REQUIRE(
        /*
         * Without this condition, the order of exchanges in fusion cycles could differ between
         * workers.
         */
        !dsgd_fuses(w->engine) || w->wire.requests == NULL,
        "worker %d calls dsgd_allgather() in step %jd while an allreduce is under way, which "
        "is not possible under exchange: fusion: end it first",
        self->rank, self->step);
    require_member(w, comm, allgather.verb);
    const double bytes = (double)m * dsgd_comm_size(self, comm) * sizeof *mine;
    w->wire.collectives++;
    collective_job *const job =
        new_collective_job(w, comm, (dsgd_call){.bytes = bytes, .divisor = 1, .verb = __func__});
    dsgd_reduction_gather(w->engine, job->reduction, self->rank, mine, m);
    if (!dsgd_quorum_holds(w, job->reduction, &job->job))
        dsgd_channel_add(w, &job->job);
    dsgd_job_wait(w, &allgather, &job->job);
    dsgd_reduction_leave(w->engine, w->wire.gathered);
    w->wire.gathered = job->reduction;
    dsgd_run_free(job);
    return w->wire.gathered->numbers;
}
