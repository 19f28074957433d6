/**
 * @file fusion.c
 * Allreduces as in Horovod: `exchange: fusion`.
 *
 * Each worker has a background loop. It starts a cycle `cycle` seconds after the start of the last
 * cycle, or later, when the last cycle has ended. In a cycle, rank 0 learns which tensors are ready
 * at all workers (MPI_Gatherv of the requests; the response by MPI_Bcast). It fuses these tensors
 * up to `fusion` bytes, in the order in which they became ready everywhere. Then all workers
 * execute one fused allreduce after another. (A. Sergeev, M. Del Balso: "Horovod: fast and easy
 * distributed deep learning in TensorFlow", 2018; horovod/common/operations.cc,
 * mpi/mpi_controller.cc. Later versions replace the gather by an allreduce of bits for tensors that
 * they have seen before.)
 *
 * Cycles in which no tensor is ready everywhere are not simulated, because their messages are
 * short.
 */
#include "base/round.h"
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

/** One allreduce of a piece. */
struct dsgd_fused {
    struct dsgd_fused *next;
    double bytes;
    double sparse_bytes; /* bytes of the rows of a worker's sparse gradient; 0 if it is dense */
    int n_announced;
    struct dsgd_schedule *schedule; /* analytic.c: the schedule of the fused allreduce */
    void (*finish)(dsgd_worker *w, dsgd_job *job);
    dsgd_job *jobs[]; /* [n_workers], for finish() */
};

/** A cycle in which a tensor is ready everywhere. */
typedef struct cycle {
    double not_before_s;
    bool begun;
    struct dsgd_fused *first; /* its tensors, after the start of the cycle */
    size_t n_tensors;
    int n_ended; /* number of workers that have executed it */
} cycle;

struct dsgd_fusion_state {
    struct dsgd_fused *first, **end; /* tensors that are ready everywhere and in no cycle yet */
    cycle *next; /* a cycle that has not started; NULL if none is planned */
    double since_s; /* start of the last cycle */
};

/* --- cycles ----------------------------------------------------------------------------------- */

/** A worker's part in a cycle. */
typedef struct cycle_job {
    dsgd_job job; /* first */
    cycle *cycle;
} cycle_job;

/**
 * Executes one fused allreduce of @p first and the following tensors, as many as fit. If @p first
 * is sparse (IndexedSlices of TensorFlow), executes an allgather of the rows of all workers.
 * Returns the next tensor.
 */
static struct dsgd_fused *reduce_fused(dsgd_channel *channel, struct dsgd_fused *first)
{
    dsgd_worker *const w = channel->worker;
    const bool gathers = first->sparse_bytes > 0;
    dsgd_gpu_ask(w, w->engine->config->platform->collective_launch_s);
    double bytes = gathers ? w->engine->n_workers * first->sparse_bytes : first->bytes;
    struct dsgd_fused *end = first->next;
    for (; !gathers && end != NULL && end->sparse_bytes == 0 &&
           bytes + end->bytes <= w->engine->config->exchange.fusion_bytes;
         end = end->next)
        bytes += end->bytes;
    for (dsgd_await await;
         (await = dsgd_schedule_fused(channel, gathers, bytes, &first->schedule)).kind !=
         DSGD_AWAIT_NOTHING;)
        dsgd_await_here(await);
    for (struct dsgd_fused *t = first; t != end; t = t->next)
        t->finish(w, t->jobs[w->node.rank]);
    dsgd_work_wake(w);
    return end;
}

static void run_cycle(dsgd_channel *channel, dsgd_job *job)
{
    dsgd_worker *const w = channel->worker;
    cycle *const c = ((cycle_job *)job)->cycle;
    struct dsgd_fusion_state *const state = w->engine->exchanges.fusion;
    dsgd_run_free(job);
    if (c->not_before_s > dsgd_now_s())
        dsgd_sleep(c->not_before_s - dsgd_now_s());
    dsgd_stay_if_stopped(w);
    if (!c->begun) { /* the tensors of the cycle are those that are ready when it starts */
        c->begun = true;
        c->first = state->first;
        for (const struct dsgd_fused *t = c->first; t != NULL; t = t->next)
            c->n_tensors++;
        *state = (struct dsgd_fusion_state){.end = &state->first, .since_s = dsgd_now_s()};
    }
    dsgd_schedule_negotiation(channel, c->n_tensors);
    for (struct dsgd_fused *t = c->first; t != NULL;)
        t = reduce_fused(channel, t);
    if (++c->n_ended < w->engine->n_workers)
        return;
    if (dsgd_now_s() > state->since_s + w->engine->config->exchange.cycle_s)
        state->since_s = dsgd_now_s(); /* an empty cycle follows at once */
    for (struct dsgd_fused *t = c->first, *next = NULL; t != NULL; t = next) {
        next = t->next;
        dsgd_run_free(t);
    }
    dsgd_run_free(c);
}

/* --- tensors ---------------------------------------------------------------------------------- */

void dsgd_fusion_announce(dsgd_worker *w, struct dsgd_fused **tensor, dsgd_job *job,
                          void (*finish)(dsgd_worker *w, dsgd_job *job))
{
    dsgd_engine *const engine = w->engine;
    if (engine->exchanges.fusion == NULL) {
        engine->exchanges.fusion = dsgd_run_alloc(engine, sizeof *engine->exchanges.fusion);
        engine->exchanges.fusion->end = &engine->exchanges.fusion->first;
    }
    struct dsgd_fusion_state *const state = engine->exchanges.fusion;
    if (*tensor == NULL) {
        const size_t n = (size_t)engine->n_workers;
        *tensor = dsgd_run_alloc(engine, sizeof **tensor + n * sizeof(*tensor)->jobs[0]);
        (*tensor)->bytes = engine->layout.piece_bytes[job->piece];
        (*tensor)->finish = finish;
        if (engine->config->workload->tensors.n > 0 && engine->config->exchange.pieces <= 0)
            (*tensor)->sparse_bytes =
                dsgd_workload_sparse_bytes(engine->config->workload, job->piece);
    }
    (*tensor)->jobs[w->node.rank] = job;
    if (++(*tensor)->n_announced < engine->n_workers)
        return;
    *state->end = *tensor;
    state->end = &(*tensor)->next;
    if (state->next != NULL)
        return;
    /* The first start after this instant. Tensors that become ready now are in this cycle. */
    const double cycle_s = engine->config->exchange.cycle_s;
    cycle *const c = state->next = dsgd_run_alloc(engine, sizeof *c);
    c->not_before_s =
        state->since_s + cycle_s * (dsgd_floor((dsgd_now_s() - state->since_s) / cycle_s) + 1);
    for (int i = 0; i < engine->n_workers; i++) {
        cycle_job *const part = dsgd_run_alloc(engine, sizeof *part);
        *part = (cycle_job){.job = {.run = run_cycle, .verb = "a cycle of fusion"}, .cycle = c};
        dsgd_channel_add(&engine->workers[i], &part->job);
    }
}
