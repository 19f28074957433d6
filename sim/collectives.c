/**
 * @file collectives.c
 * Collectives of everyone: where contributions meet, the runner that carries the messages, and the verbs.
 */
#include <search.h>
#include <stdlib.h>

#include "sim/engine.h"

dsgd_group dsgd_group_everyone(int n_workers)
{
    return (dsgd_group)((1u << dsgd_log2(n_workers)) - 1);
}

/* --- meetings ---------------------------------------------------------------------------------------------------------------- */

int dsgd_meeting_order(const void *a, const void *b)
{
    const dsgd_meeting *m = a;
    const dsgd_meeting *n = b;
    if (m->scope != n->scope)
        return m->scope < n->scope ? -1 : 1;
    return m->number < n->number ? -1 : m->number > n->number;
}

/** Members of a group, or all workers where the group is 0. */
static int count_members(const dsgd_engine *engine, dsgd_group group, bool everyone)
{
    return everyone ? engine->n_workers : 1 << __builtin_popcount(group);
}

dsgd_meeting *dsgd_meeting_join(dsgd_engine *engine, uint64_t scope, uint64_t number,
                                dsgd_group group, int leader, double divisor)
{
    const dsgd_meeting key = {.scope = scope, .number = number};
    dsgd_meeting **const found =
        (dsgd_meeting **)tfind(&key, &engine->meetings, dsgd_meeting_order);
    if (found != NULL)
        return *found;
    const int n = count_members(engine, group, scope == 0);
    dsgd_meeting *meeting =
        dsgd_run_alloc(engine, sizeof *meeting + (size_t)n * sizeof meeting->contribution[0]);
    *meeting = (dsgd_meeting){.scope = scope,
                              .number = number,
                              .n_members = n,
                              .references = n,
                              .group = group,
                              .leader = leader,
                              .divisor = divisor};
    tsearch(meeting, &engine->meetings, dsgd_meeting_order);
    return meeting;
}

void dsgd_meeting_leave(dsgd_engine *engine, dsgd_meeting *meeting)
{
    if (meeting == NULL || --meeting->references > 0)
        return;
    dsgd_value_release(engine->values, meeting->sum);
    dsgd_run_free(meeting);
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

int dsgd_meeting_index(const dsgd_meeting *meeting, int rank)
{
    return meeting->scope == 0 ? rank : (int)gather_bits((unsigned)rank, meeting->group);
}

int dsgd_meeting_rank(const dsgd_meeting *meeting, int index)
{
    return meeting->scope == 0
               ? index
               : meeting->leader | (int)scatter_bits((unsigned)index, meeting->group);
}

void dsgd_meeting_sample(dsgd_meeting *meeting, int rank, dsgd_piece contribution, bool fresh)
{
    meeting->contribution[dsgd_meeting_index(meeting, rank)] = contribution;
    meeting->n_sampled++;
    meeting->n_fresh += fresh;
}

void dsgd_meeting_combine(dsgd_engine *engine, dsgd_meeting *meeting, dsgd_origin where,
                          size_t piece)
{
    if (meeting->combined)
        return;
    const int n = meeting->n_members;
    DSGD_ASSERT(meeting->n_sampled == n, "%d of %d contributions when the first member was done",
                meeting->n_sampled, n);
    meeting->combined = true;
    tdelete(meeting, &engine->meetings, dsgd_meeting_order);
    if (engine->values != NULL) {
        dsgd_value *x = dsgd_xcalloc((size_t)n, sizeof *x);
        double *weights = dsgd_xcalloc((size_t)n, sizeof *weights);
        for (int i = 0; i < n; i++) {
            x[i] = meeting->contribution[i].value;
            weights[i] = 1;
        }
        meeting->sum = dsgd_values_combine(engine->values, where, piece, (size_t)n, x, weights,
                                           meeting->divisor);
        free(x);
        free(weights);
    }
    for (int i = 0; i < n; i++) {
        dsgd_value_release(engine->values, meeting->contribution[i].value);
        meeting->contribution[i].value = DSGD_ZERO_VALUE;
    }
}

void dsgd_meeting_count_use(dsgd_worker *user, const dsgd_meeting *meeting, size_t piece)
{
    const dsgd_engine *const engine = user->engine;
    const double weight = engine->piece_bytes[piece] / engine->bytes / meeting->n_members;
    for (int i = 0; i < meeting->n_members; i++)
        dsgd_count_staleness(user, dsgd_meeting_rank(meeting, i), piece,
                             meeting->contribution[i].stamp, weight);
}

/* --- the runner ---------------------------------------------------------------------------------------------------------------- */

void dsgd_runner_add(dsgd_worker *w, dsgd_job *job)
{
    job->next = NULL;
    if (w->first_job == NULL)
        w->first_job = job;
    else
        w->last_job->next = job;
    w->last_job = job;
    if (w->runner_waits) {
        w->runner_waits = false;
        dsgd_bell_ring(w->runner_bell);
    }
}

static void run_job(dsgd_worker *w, dsgd_job *job)
{
    dsgd_engine *const engine = w->engine;
    const double bytes = engine->piece_bytes[job->piece];
    if (job->partial != NULL) {
        dsgd_partial_begin_schedule(w, job);
        dsgd_messages_butterfly(w, job->meeting->group, bytes);
    } else {
        dsgd_messages_allreduce(w, bytes);
    }
    const dsgd_origin where = {(uint32_t)w->node.rank, (uint64_t)job->version};
    dsgd_meeting_combine(engine, job->meeting, where, job->piece);
    if (job->partial != NULL) {
        dsgd_partial_end_schedule(w, job);
        dsgd_run_free(job);
    } else {
        job->done = true;
    }
    dsgd_work_wake(w);
}

void dsgd_runner_main(void *worker)
{
    dsgd_worker *const w = worker;
    for (;;) {
        while (w->first_job == NULL) {
            w->runner_waits = true;
            dsgd_bell_wait(w->runner_bell);
        }
        dsgd_job *const job = w->first_job;
        w->first_job = job->next;
        run_job(w, job);
    }
}

/* --- verbs ---------------------------------------------------------------------------------------------------------------------- */

/** Hands piece @p k of @p x, as it is, to the runner. */
static dsgd_job *begin_piece(dsgd_worker *w, dsgd_vector *x, size_t k, double divisor)
{
    dsgd_engine *const engine = w->engine;
    dsgd_piece_wait(x, k);
    dsgd_job *job = dsgd_run_alloc(engine, sizeof *job);
    job->piece = k;
    job->version = w->node.step;
    job->meeting = dsgd_meeting_join(engine, 0, w->n_allreduces++, 0, 0, divisor);
    const dsgd_piece contribution = {dsgd_value_retain(x->piece[k].value), x->piece[k].stamp};
    dsgd_meeting_sample(job->meeting, w->node.rank, contribution, true);
    dsgd_runner_add(w, job);
    return job;
}

/** x[k] <- the result, once it is there. */
static void end_piece(dsgd_worker *w, dsgd_job *job, dsgd_vector *x)
{
    const size_t k = job->piece;
    while (!job->done)
        dsgd_work_sleep(w);
    dsgd_piece_wait(x, k);
    dsgd_meeting_count_use(w, job->meeting, k);
    dsgd_piece_set(w->engine, &x->piece[k], dsgd_value_retain(job->meeting->sum),
                   dsgd_gradients_computed(w, k));
    dsgd_meeting_leave(w->engine, job->meeting);
    dsgd_run_free(job);
}

static void allreduce(dsgd_node *self, dsgd_vector *x, double divisor)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < w->engine->n_pieces; k++)
        end_piece(w, begin_piece(w, x, k, divisor), x);
}

void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x)
{
    allreduce(self, x, self->n_workers);
}

void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x)
{
    allreduce(self, x, 1);
}

dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    dsgd_request *request =
        dsgd_run_alloc(w->engine, sizeof *request + n * sizeof request->jobs[0]);
    request->n = n;
    for (size_t k = 0; k < n; k++)
        request->jobs[k] = begin_piece(w, x, k, self->n_workers);
    return request;
}

void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    for (size_t k = 0; k < request->n; k++) {
        dsgd_piece_wait(
            w->model,
            k); /* mixed in after the local step of this step, which may still be under way */
        end_piece(w, request->jobs[k], mean);
    }
    dsgd_run_free(request);
}
