/**
 * @file collectives.c
 * Collectives of all workers: allreduces of vectors, allgathers of control data.
 */
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

typedef struct collective_job {
    dsgd_job job; /* first */
    dsgd_reduction *reduction;
    double bytes;
} collective_job;

static dsgd_await step_collective(dsgd_channel *channel, dsgd_job *job)
{
    dsgd_worker *const w = channel->worker;
    const collective_job *const mine = (collective_job *)job;
    const dsgd_await await = dsgd_schedule_allreduce(channel, mine->bytes);
    if (await.kind != DSGD_AWAIT_NOTHING)
        return await;
    if (mine->reduction->numbers == NULL)
        dsgd_reduction_combine(w->engine, mine->reduction, dsgd_origin_of(w), job->piece);
    dsgd_job_finish(job);
    return await;
}

/** The same where fusion.c has carried it out. */
static void finish_collective(dsgd_worker *w, dsgd_job *job)
{
    dsgd_reduction_combine(w->engine, ((collective_job *)job)->reduction, dsgd_origin_of(w),
                           job->piece);
    dsgd_job_finish(job);
}

/** This worker's part in its next collective. */
static collective_job *new_collective_job(dsgd_worker *w, size_t k, double bytes, double divisor)
{
    collective_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    *job = (collective_job){.job = {.step = step_collective, .piece = k},
                            .reduction = dsgd_reduction_join_next(w, bytes, divisor),
                            .bytes = bytes};
    w->collectives += k == 0;
    job->job.collective = w->collectives;
    job->job.verb = "dsgd_allgather"; /* dsgd_exchange_start() sets others */
    return job;
}

/** Whether a worker has yet to call the collective. */
static bool lacks_call(const dsgd_worker *w, const dsgd_job *job, int host)
{
    return host < w->engine->n_workers &&
           !dsgd_reduction_joined(w->engine, ((const collective_job *)job)->reduction, host);
}

/* --- allreduces ------------------------------------------------------------------------------- */

/** Contributes in[k] as it is now. The argument is the divisor. */
static void begin_allreduce(dsgd_worker *w, size_t k, dsgd_request *request)
{
    const double divisor = *(const double *)request->arguments;
    const dsgd_piece *const mine = &request->in->piece[k];
    collective_job *const job = new_collective_job(w, k, w->engine->piece_bytes[k], divisor);
    const dsgd_piece contribution = {dsgd_value_retain(mine->value), mine->stamp, 1};
    dsgd_reduction_sample(w, job->reduction, contribution);
    if (!dsgd_fuses(w->engine)) {
        dsgd_exchange_start(w, request, &job->job);
        return;
    }
    request->jobs[k] = &job->job;
    dsgd_staging_wait(w, request->staged_s);
    dsgd_fusion_announce(w, &job->reduction->fused, &job->job, finish_collective);
}

/** out[k] <- sum / divisor. */
static void end_allreduce(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_reduction *const reduction = ((collective_job *)request->jobs[k])->reduction;
    dsgd_piece_wait(request->out, k);
    const dsgd_lag lag = dsgd_reduction_count_use(w, reduction, k, 0);
    dsgd_vector_update(request->out, k, dsgd_value_retain(reduction->sum), dsgd_local_steps(w, k));
    dsgd_exchange_gradients(request, k, lag);
    dsgd_reduction_leave(w->engine, reduction);
}

/** Like end_allreduce(), after the local step of this step, which may still be under way. */
static void end_allreduce_later(dsgd_worker *w, size_t k, dsgd_request *request)
{
    dsgd_piece_wait(w->model, k);
    end_allreduce(w, k, request);
}

static const dsgd_exchange allreduce_mean = {
    begin_allreduce, end_allreduce, {"dsgd_allreduce_mean", lacks_call}};
static const dsgd_exchange allreduce_sum = {
    begin_allreduce, end_allreduce, {"dsgd_allreduce_sum", lacks_call}};
static const dsgd_exchange iallreduce = {
    begin_allreduce, end_allreduce_later, {"dsgd_allreduce_end", lacks_call}};

void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x)
{
    const double p = self->n_workers;
    dsgd_exchange_run(dsgd_worker_of(self), &allreduce_mean, x, x, &p);
}

void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x)
{
    const double one = 1;
    dsgd_exchange_run(dsgd_worker_of(self), &allreduce_sum, x, x, &one);
}

dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x)
{
    const double p = self->n_workers;
    return dsgd_exchange_begin(dsgd_worker_of(self), &iallreduce, x, &p);
}

void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean)
{
    dsgd_exchange_end(dsgd_worker_of(self), &iallreduce, request, mean);
}

/* --- control data ----------------------------------------------------------------------------- */

static const dsgd_waiting allgather = {"dsgd_allgather", lacks_call};

const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t n)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    DSGD_ASSERT(
        !dsgd_fuses(w->engine) || w->requests == NULL, /* its place among cycles differs */
        "worker %d calls dsgd_allgather() in step %ld while an allreduce is under way, which "
        "is not possible under exchange: fusion: end it first",
        self->rank, self->step);
    const double bytes = (double)n * self->n_workers * sizeof *mine;
    collective_job *const job = new_collective_job(w, 0, bytes, 1);
    dsgd_reduction_gather(w->engine, job->reduction, self->rank, mine, n);
    dsgd_channel_add(w, &job->job);
    dsgd_job_wait(w, &allgather, &job->job);
    dsgd_reduction_leave(w->engine, w->gathered);
    w->gathered = job->reduction;
    dsgd_run_free(job);
    return w->gathered->numbers;
}
