/**
 * @file collectives.c
 * Collectives of everyone: reductions of contributions, and the verbs.
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/engine.h"

dsgd_group dsgd_group_everyone(int n_workers)
{
    return (dsgd_group)((1u << dsgd_log2(n_workers)) - 1);
}

/* --- reductions ---------------------------------------------------------------------------------------------------------------- */

int dsgd_reduction_order(const void *a, const void *b)
{
    const dsgd_reduction *m = a;
    const dsgd_reduction *n = b;
    if (m->scope != n->scope)
        return m->scope < n->scope ? -1 : 1;
    return m->number < n->number ? -1 : m->number > n->number;
}

/** Members of a group, or all workers where the group is 0. */
static int count_members(const dsgd_engine *engine, dsgd_group group, bool everyone)
{
    return everyone ? engine->n_workers : 1 << __builtin_popcount(group);
}

dsgd_reduction *dsgd_reduction_join(dsgd_engine *engine, uint64_t scope, uint64_t number,
                                    dsgd_group group, int leader, double divisor)
{
    const dsgd_reduction key = {.scope = scope, .number = number};
    dsgd_reduction **const found =
        (dsgd_reduction **)tfind(&key, &engine->reductions, dsgd_reduction_order);
    if (found != NULL)
        return *found;
    const int n = count_members(engine, group, scope == 0);
    dsgd_reduction *reduction =
        dsgd_run_alloc(engine, sizeof *reduction + (size_t)n * sizeof reduction->contribution[0]);
    *reduction = (dsgd_reduction){.scope = scope,
                                  .number = number,
                                  .n_members = n,
                                  .references = n,
                                  .group = group,
                                  .leader = leader,
                                  .divisor = divisor};
    tsearch(reduction, &engine->reductions, dsgd_reduction_order);
    return reduction;
}

void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction)
{
    if (reduction == NULL || --reduction->references > 0)
        return;
    dsgd_value_release(engine->values, reduction->sum);
    dsgd_run_free(reduction->numbers);
    dsgd_run_free(reduction);
}

/** The bits of @p rank that @p group selects, close together; and back. */
static unsigned gather_bits(unsigned rank, dsgd_group group)
{
    unsigned index = 0;
    for (int bit = 0, to = 0; (group >> bit) != 0; bit++)
        if ((group >> bit) & 1)
            index |= ((rank >> bit) & 1u) << to++;
    return index;
}

static unsigned scatter_bits(unsigned index, dsgd_group group)
{
    unsigned rank = 0;
    for (int bit = 0, from = 0; (group >> bit) != 0; bit++)
        if ((group >> bit) & 1)
            rank |= ((index >> from++) & 1u) << bit;
    return rank;
}

int dsgd_reduction_index(const dsgd_reduction *reduction, int rank)
{
    return reduction->scope == 0 ? rank : (int)gather_bits((unsigned)rank, reduction->group);
}

int dsgd_reduction_rank(const dsgd_reduction *reduction, int index)
{
    return reduction->scope == 0
               ? index
               : reduction->leader | (int)scatter_bits((unsigned)index, reduction->group);
}

void dsgd_reduction_sample(dsgd_reduction *reduction, int rank, dsgd_piece contribution, bool fresh)
{
    reduction->contribution[dsgd_reduction_index(reduction, rank)] = contribution;
    reduction->n_sampled++;
    reduction->n_fresh += fresh;
}

void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece)
{
    if (reduction->combined)
        return;
    const int n = reduction->n_members;
    DSGD_ASSERT(reduction->n_sampled == n, "%d of %d contributions when the first member was done",
                reduction->n_sampled, n);
    reduction->combined = true;
    tdelete(reduction, &engine->reductions, dsgd_reduction_order);
    if (engine->values != NULL) {
        dsgd_value *x = dsgd_xcalloc((size_t)n, sizeof *x);
        double *weights = dsgd_xcalloc((size_t)n, sizeof *weights);
        for (int i = 0; i < n; i++) {
            x[i] = reduction->contribution[i].value;
            weights[i] = 1;
        }
        reduction->sum = dsgd_values_combine(engine->values, where, piece, (size_t)n, x, weights,
                                             reduction->divisor);
        free(x);
        free(weights);
    }
    for (int i = 0; i < n; i++) {
        dsgd_value_release(engine->values, reduction->contribution[i].value);
        reduction->contribution[i].value = DSGD_ZERO_VALUE;
    }
}

void dsgd_reduction_count_use(dsgd_worker *user, const dsgd_reduction *reduction, size_t piece)
{
    const double weight = dsgd_piece_share(user->engine, piece) / reduction->n_members;
    for (int i = 0; i < reduction->n_members; i++)
        dsgd_count_staleness(user, dsgd_reduction_rank(reduction, i), piece,
                             reduction->contribution[i].stamp, weight);
}

/* --- allreduce ------------------------------------------------------------------------------------------------------------ */

typedef struct allreduce_job {
    dsgd_job job; /* first */
    dsgd_reduction *reduction;
    double bytes;
} allreduce_job;

static void run_allreduce(dsgd_channel *channel, dsgd_job *job)
{
    dsgd_worker *const w = channel->worker;
    const allreduce_job *const mine = (allreduce_job *)job;
    dsgd_schedule_allreduce(channel, mine->bytes);
    if (mine->reduction->numbers == NULL)
        dsgd_reduction_combine(w->engine, mine->reduction, dsgd_origin_of(w), job->piece);
    job->done = true;
}

/** Takes part in the worker's next collective of everyone. */
static allreduce_job *join_next(dsgd_worker *w, size_t k, double bytes, double divisor)
{
    allreduce_job *const job = dsgd_run_alloc(w->engine, sizeof *job);
    job->job.run = run_allreduce;
    job->job.piece = k;
    job->bytes = bytes;
    job->reduction = dsgd_reduction_join(w->engine, 0, w->n_allreduces++, 0, 0, divisor);
    return job;
}

/** Hands piece @p k of @p x, as it is, to its channel. */
static dsgd_job *begin_piece(dsgd_worker *w, dsgd_vector *x, size_t k, double divisor)
{
    dsgd_piece_wait(x, k);
    allreduce_job *const job = join_next(w, k, w->engine->piece_bytes[k], divisor);
    const dsgd_piece contribution = {dsgd_value_retain(x->piece[k].value), x->piece[k].stamp, 1};
    dsgd_reduction_sample(job->reduction, w->node.rank, contribution, true);
    dsgd_channel_add(w, &job->job);
    return &job->job;
}

/** x[k] <- the result, once it is there. */
static void end_piece(dsgd_worker *w, dsgd_job *job, dsgd_vector *x)
{
    const size_t k = job->piece;
    dsgd_reduction *const reduction = ((allreduce_job *)job)->reduction;
    dsgd_job_wait(w, job);
    dsgd_piece_wait(x, k);
    dsgd_reduction_count_use(w, reduction, k);
    dsgd_piece_set(w->engine, &x->piece[k], dsgd_value_retain(reduction->sum),
                   dsgd_local_steps(w, k));
    dsgd_reduction_leave(w->engine, reduction);
    dsgd_run_free(job);
}

/** A blocking allreduce. */
typedef struct allreduce {
    double divisor;
    dsgd_request *request;
} allreduce;

static void begin_allreduce(dsgd_worker *w, size_t k, void *exchange)
{
    const allreduce *const a = exchange;
    a->request->jobs[k] = begin_piece(w, a->request->x, k, a->divisor);
}

static void end_allreduce(dsgd_worker *w, size_t k, void *exchange)
{
    const allreduce *const a = exchange;
    end_piece(w, a->request->jobs[k], a->request->x);
}

static void reduce_all(dsgd_node *self, dsgd_vector *x, double divisor)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    allreduce a = {divisor, dsgd_request_new(w, x)};
    dsgd_exchange_pieces(w, begin_allreduce, end_allreduce, &a);
    dsgd_run_free(a.request);
}

void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x)
{
    reduce_all(self, x, self->n_workers);
}

void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x)
{
    reduce_all(self, x, 1);
}

dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_request *const request = dsgd_request_new(w, x);
    for (size_t k = 0; k < w->engine->n_pieces; k++)
        request->jobs[k] = begin_piece(w, x, k, self->n_workers);
    return request;
}

void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        /* Mixed in after the local step of this step, which may still be under way. */
        dsgd_piece_wait(w->model, k);
        end_piece(w, request->jobs[k], mean);
    }
    dsgd_run_free(request);
}

/* --- control data --------------------------------------------------------------------------------------------------------- */

void dsgd_allgather(dsgd_node *self, const double *mine, size_t n, double *all)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t count = n * (size_t)self->n_workers;
    allreduce_job *const job = join_next(w, 0, (double)(count * sizeof *all), 1);
    dsgd_reduction *const reduction = job->reduction;
    if (reduction->numbers == NULL)
        reduction->numbers = dsgd_run_alloc(w->engine, count * sizeof *all);
    memcpy(reduction->numbers + n * (size_t)self->rank, mine, n * sizeof *mine);
    if (++reduction->n_sampled == reduction->n_members) /* nobody looks for it any more */
        tdelete(reduction, &w->engine->reductions, dsgd_reduction_order);
    dsgd_channel_add(w, &job->job);
    dsgd_job_wait(w, &job->job);
    memcpy(all, reduction->numbers, count * sizeof *all);
    dsgd_reduction_leave(w->engine, reduction);
    dsgd_run_free(job);
}
