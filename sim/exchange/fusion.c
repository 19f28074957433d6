/**
 * @file fusion.c
 * Executes allreduces as Horovod does, if the experiment sets `exchange: fusion`.
 *
 * Each worker has a background loop. The loop starts a cycle `cycle` seconds after the start of the
 * last cycle, or, if the last cycle takes longer, when it has ended. In a cycle, rank 0 collects
 * which tensors are ready at all workers: it gathers requests with MPI_Gatherv and sends the
 * response with MPI_Bcast. It fuses these tensors, up to `fusion` bytes each time, in the order in
 * which they became ready at all workers. Then all workers execute one fused allreduce after
 * another. (A. Sergeev, M. Del Balso: "Horovod: fast and easy distributed deep learning in
 * TensorFlow", 2018; horovod/common/operations.cc, mpi/mpi_controller.cc. Later versions of Horovod
 * replace the gather by an allreduce of bits for tensors that they have seen before.)
 *
 * Cycles in which no tensor is ready at all workers are not simulated, because their messages are
 * short.
 */
#include "base/round.h"
#include "sim/exchange/channels.h"
#include "sim/exchange/reductions.h"

/** A tensor: one chunk that all workers allreduce. */
struct dsgd_fused {
    struct dsgd_fused *next;
    double bytes;
    double sparse_bytes; /* bytes of the rows in one worker's sparse gradient; 0 if the gradient
                          * is dense */
    int n_announced;
    struct dsgd_schedule *schedule; /* analytic.c: schedule of the fused allreduce that starts with
                                     * this tensor */
    void (*finish)(dsgd_worker *w, dsgd_job *job);
    dsgd_job *jobs[]; /* [n_workers] jobs that are passed to finish(), one per worker */
};

/** A cycle that has at least one tensor that is ready at all workers. */
typedef struct cycle {
    double not_before_s;
    bool begun;
    struct dsgd_fused *first; /* list of the cycle's tensors; set when the cycle starts */
    size_t n_tensors;
    int n_ended; /* number of workers that have executed the cycle */
} cycle;

struct dsgd_fusion_state {
    struct dsgd_fused *first, **end; /* list of the tensors that are ready at all workers but do not
                                      * belong to a cycle yet */
    cycle *next; /* planned cycle that has not started; NULL if no cycle is planned */
    double since_s; /* start time of the last cycle */
};

/* --- cycles ----------------------------------------------------------------------------------- */

/** The part of one worker in a cycle. */
typedef struct cycle_job {
    dsgd_job job; /* part that all jobs have; must be the first member, for casts */
    cycle *cycle;
} cycle_job;

/**
 * Executes one fused allreduce of @p first and of the following tensors, up to the limit of bytes.
 * If @p first is sparse (IndexedSlices of TensorFlow), executes an allgather of the rows of all
 * workers instead. Returns the next tensor.
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
    /* The cycle contains the tensors that are ready at all workers when the cycle starts. */
    if (!c->begun) {
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
        state->since_s = dsgd_now_s(); /* after a long cycle, the next cycle starts at once */
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
    /*
     * The planned cycle starts at the first possible time after this instant. It contains all
     * tensors that become ready at this instant.
     */
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
