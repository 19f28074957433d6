/**
 * @file vectors.c
 * Memory of the run, waiting for what other actors change, vectors in pieces and their linear
 * combinations.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/engine/engine.h"

/* --- memory of the run ------------------------------------------------------------------------ */

/** One of the run's blocks, a doubly linked list. */
struct dsgd_block {
    struct dsgd_block *next, **link; /* link: what points to this block */
    _Alignas(max_align_t) unsigned char memory[];
};

void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes)
{
    struct dsgd_block *const block = dsgd_xcalloc(1, sizeof *block + bytes);
    block->next = engine->blocks;
    block->link = &engine->blocks;
    if (block->next != NULL)
        block->next->link = &block->next;
    engine->blocks = block;
    return block->memory;
}

void dsgd_run_free(void *memory)
{
    if (memory == NULL)
        return;
    struct dsgd_block *const block =
        (struct dsgd_block *)((unsigned char *)memory - offsetof(struct dsgd_block, memory));
    *block->link = block->next;
    if (block->next != NULL)
        block->next->link = block->link;
    free(block);
}

size_t dsgd_run_free_all(dsgd_engine *engine)
{
    size_t n = 0;
    for (struct dsgd_block *next = NULL; engine->blocks != NULL; engine->blocks = next, n++) {
        next = engine->blocks->next;
        free(engine->blocks);
    }
    return n;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void dsgd_work_wake(dsgd_worker *w)
{
    const int n = w->work_waits;
    w->work_waits = 0; /* before an actor runs that sleeps again */
    w->wakes += n;
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->work_semaphore);
}

void dsgd_work_sleep(dsgd_worker *w)
{
    w->work_waits++;
    dsgd_semaphore_wait(w->work_semaphore);
}

bool dsgd_work_sleep_until(dsgd_worker *w, double until_s)
{
    const long wakes = w->wakes;
    w->work_waits++;
    if (until_s == INFINITY)
        dsgd_semaphore_wait(w->work_semaphore);
    else if (until_s <= dsgd_now_s() ||
             !dsgd_semaphore_wait_for(w->work_semaphore, until_s - dsgd_now_s())) {
        w->work_waits -= w->wakes == wakes; /* else it is woken at this very instant */
        return false;
    }
    return true;
}

void dsgd_ready_sleep(dsgd_worker *w, size_t n)
{
    if (w->ready_waits == 0 || n < w->ready_awaited)
        w->ready_awaited = n;
    w->ready_waits++;
    dsgd_semaphore_wait(w->ready_semaphore);
}

void dsgd_ready_wake(dsgd_worker *w)
{
    if (w->computation.ready < w->ready_awaited)
        return;
    const int n = w->ready_waits;
    w->ready_waits = 0;
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->ready_semaphore);
}

void dsgd_stay_if_stopped(const dsgd_worker *w)
{
    while (w->stopped)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

dsgd_wait *dsgd_wait_begin(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job)
{
    dsgd_wait *wait = w->waits;
    while (wait < w->waits + DSGD_MAX_WAITS && wait->in != NULL)
        wait++;
    DSGD_ASSERT(wait < w->waits + DSGD_MAX_WAITS, "worker %d has %d actors that wait in verbs",
                w->node.rank, DSGD_MAX_WAITS + 1);
    *wait = (dsgd_wait){.in = in, .job = job, .since_s = dsgd_now_s()};
    dsgd_timeline_look(w->engine, w->host);
    wait->span = dsgd_timeline_wait(w, wait);
    return wait;
}

dsgd_wait *dsgd_wait_begin_of_work(dsgd_worker *w, const dsgd_waiting *in,
                                   const struct dsgd_job *job)
{
    return dsgd_actor_self() == w->work_actor ? dsgd_wait_begin(w, in, job) : NULL;
}

void dsgd_wait_end(dsgd_worker *w, dsgd_wait *wait)
{
    if (wait == NULL)
        return;
    const bool watched = wait->watched;
    dsgd_timeline_wait_end(w, wait);
    *wait = (dsgd_wait){.in = NULL};
    if (watched && --w->engine->n_watched == 0)
        dsgd_semaphore_post(w->engine->watch_semaphore);
}

void dsgd_wait_for_ever(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job)
{
    dsgd_wait_begin(w, in, job);
    for (;;)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

bool dsgd_lacks_nobody(const dsgd_worker *w, const struct dsgd_job *job, int host)
{
    (void)w;
    (void)job;
    (void)host;
    return false;
}

static bool is_not_at_barrier(const dsgd_worker *w, const struct dsgd_job *none, int host);

static const dsgd_waiting barrier = {"the barrier before a step", is_not_at_barrier};

static bool is_not_at_barrier(const dsgd_worker *w, const struct dsgd_job *none, int host)
{
    (void)none;
    if (host >= w->engine->n_workers)
        return false;
    for (int i = 0; i < DSGD_MAX_WAITS; i++)
        if (w->engine->workers[host].waits[i].in == &barrier)
            return false;
    return true;
}

void dsgd_barrier(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    const long round = engine->barrier_round;
    if (++engine->at_barrier == engine->n_workers) {
        engine->at_barrier = 0;
        engine->barrier_round++;
        for (int i = 0; i < engine->n_workers; i++)
            dsgd_work_wake(&engine->workers[i]);
        return;
    }
    dsgd_wait *const wait = dsgd_wait_begin(w, &barrier, NULL);
    while (engine->barrier_round == round)
        dsgd_work_sleep(w);
    dsgd_wait_end(w, wait);
}

void dsgd_lock(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    static const dsgd_waiting lock = {"dsgd_lock", dsgd_lacks_nobody};
    const long ticket = w->locks++;
    if (w->unlocks == ticket)
        return;
    dsgd_wait *const wait = dsgd_wait_begin(w, &lock, NULL);
    while (w->unlocks != ticket)
        dsgd_work_sleep(w);
    dsgd_wait_end(w, wait);
}

void dsgd_unlock(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    w->unlocks++;
    dsgd_work_wake(w);
}

/* --- vectors ---------------------------------------------------------------------------------- */

bool dsgd_piece_ready(const dsgd_vector *x, size_t piece)
{
    const dsgd_worker *const w = x->owner;
    return x->whole->awaits != w->computation.number || piece < w->computation.ready;
}

void dsgd_piece_wait(dsgd_vector *x, size_t piece)
{
    while (!dsgd_piece_ready(x, piece))
        dsgd_ready_sleep(x->owner, piece + 1);
}

void dsgd_piece_wait_until_set(dsgd_vector *x, size_t piece)
{
    if (x->whole->set_by == x->whole->awaits)
        dsgd_piece_wait(x, piece);
}

void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp)
{
    dsgd_value_release(engine->values, piece->value);
    piece->value = value;
    piece->stamp = stamp;
    piece->wire = NULL;
}

void dsgd_vector_set(dsgd_vector *x, size_t piece, dsgd_value value, long stamp)
{
    dsgd_piece_set(x->owner->engine, &x->piece[piece], value, stamp);
    if (dsgd_entered(x->owner->engine) && x->whole == x->owner->model)
        dsgd_ledger_enter(x->owner, (dsgd_ledger_entry){.kind = DSGD_ENTRY_MODEL}, value);
}

void dsgd_vector_update(dsgd_vector *x, size_t piece, dsgd_value value, long stamp)
{
    dsgd_vector_set(x, piece, value, stamp);
    x->history[piece].updates++;
}

dsgd_vector *dsgd_vector_new(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    dsgd_vector *x = dsgd_run_alloc(w->engine, sizeof *x + n * sizeof x->own[0]);
    x->history = dsgd_run_alloc(w->engine, n * sizeof x->history[0]);
    x->piece = x->own;
    x->owner = w;
    x->whole = x;
    x->end = n;
    x->stride = 1;
    x->next = w->engine->vectors;
    w->engine->vectors = x;
    x->awaits = x->set_by = -1;
    for (size_t k = 0; k < n; k++) {
        x->piece[k] = DSGD_NO_PIECE;
        x->history[k] = (dsgd_history){.taken = -1, .age = -1};
    }
    return x;
}

double *dsgd_numbers_new(dsgd_node *self, size_t n)
{
    return dsgd_run_alloc(dsgd_worker_of(self)->engine, n * sizeof(double));
}

long *dsgd_integers_new(dsgd_node *self, size_t n)
{
    return dsgd_memory_new(self, n, sizeof(long));
}

void *dsgd_memory_new(dsgd_node *self, size_t n, size_t size)
{
    return dsgd_run_alloc(dsgd_worker_of(self)->engine, n * size);
}

dsgd_vector *dsgd_shared(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    if (w->shared == NULL) {
        w->shared = dsgd_vector_new(self);
        w->shared->on_host = true;
        for (size_t k = 0; k < w->engine->n_pieces; k++)
            dsgd_piece_set(w->engine, &w->shared->piece[k],
                           dsgd_value_retain(w->initial->piece[k].value), 0);
    }
    return w->shared;
}

dsgd_vector *dsgd_model(dsgd_node *self)
{
    return dsgd_worker_of(self)->model;
}

/* --- linear combinations ---------------------------------------------------------------------- */

static void copy_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    dsgd_piece *const y = &update->y->piece[k];
    (void)w;
    dsgd_vector_set(update->y, k, dsgd_value_retain(x->value), x->stamp);
    y->weight = x->weight;
    y->wire = x->wire;
    y->encoded_s = x->encoded_s;
    update->y->history[k] = update->x->history[k];
}

/** A sum of gradients is as old as its oldest. */
static dsgd_history sum_of_histories(dsgd_history y, dsgd_history x)
{
    const long updates = y.updates;
    if (y.age >= 0 && x.age >= 0)
        y = (dsgd_history){.taken = y.taken < x.taken ? y.taken : x.taken,
                           .age = fmax(y.age, x.age),
                           .age_max = fmax(y.age_max, x.age_max)};
    else if (x.age >= 0)
        y = x;
    y.updates = updates;
    return y;
}

void dsgd_set_when_ready(dsgd_worker *w, dsgd_update update)
{
    dsgd_update_when_ready(w, update);
    update.y->whole->set_by = update.y->whole->awaits;
}

void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){.apply = copy_piece, .y = y, .x = x});
}

/** y[k] <- (a y[k] + b x) / divisor. */
static void combine_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    dsgd_piece *const y = &update->y->piece[k];
    const dsgd_value operands[2] = {y->value, x->value};
    const double weights[2] = {update->a, update->b};
    const dsgd_value sum = dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 2, operands,
                                               weights, update->divisor);
    dsgd_vector_update(update->y, k, sum, dsgd_local_steps(w, k));
    if (update->y->whole != w->model) /* no gradient */
        update->y->history[k] = sum_of_histories(update->y->history[k], update->x->history[k]);
}

void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x)
{
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){combine_piece, y, x, a, b, 1});
}

void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor)
{
    dsgd_set_when_ready(dsgd_worker_of(self), (dsgd_update){combine_piece, x, x, 1, 0, divisor});
}

/* --- views ------------------------------------------------------------------------------------ */

/** The view of these pieces of the whole, which x is or is a view of. */
static dsgd_vector *view_of(const dsgd_vector *x, size_t first, size_t end, size_t stride)
{
    dsgd_vector *const whole = x->whole;
    dsgd_vector *const last = whole->view;
    dsgd_vector *view = last;
    while (view != NULL) { /* from the next on, which comes in turn where parts are taken in turn */
        view = view->next;
        if (view->first == first && view->end == end && view->stride == stride)
            return whole->view = view;
        if (view == last)
            break;
    }
    view = dsgd_run_alloc(whole->owner->engine, sizeof *view);
    *view = (dsgd_vector){.owner = whole->owner,
                          .next = last != NULL ? last->next : view,
                          .whole = whole,
                          .first = first,
                          .end = end,
                          .stride = stride,
                          .history = whole->history,
                          .piece = whole->piece};
    if (last != NULL)
        last->next = view;
    return whole->view = view;
}

dsgd_vector *dsgd_fragment(dsgd_node *self, dsgd_vector *x, size_t index, size_t n)
{
    DSGD_ASSERT(index < n, "worker %d takes fragment %zu of %zu in step %ld, but they are 0 to %zu",
                self->rank, index, n, self->step, n - 1);
    return view_of(x, x->first + index * x->stride, x->end, x->stride * n);
}

dsgd_vector *dsgd_range(dsgd_node *self, dsgd_vector *x, size_t first, size_t end)
{
    const size_t n = dsgd_count_pieces(x);
    DSGD_ASSERT(first <= end && end <= n,
                "worker %d takes pieces %zu to %zu of a vector of %zu in step %ld", self->rank,
                first, end, n, self->step);
    const size_t behind = x->first + end * x->stride;
    return view_of(x, x->first + first * x->stride, behind < x->end ? behind : x->end, x->stride);
}

size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x)
{
    (void)self;
    return dsgd_count_pieces(x);
}

dsgd_vector *dsgd_view_like(dsgd_vector *whole, const dsgd_vector *x)
{
    return x->whole == x ? whole : view_of(whole, x->first, x->end, x->stride);
}

void dsgd_require_same_pieces(const dsgd_vector *x, const dsgd_vector *y)
{
    DSGD_ASSERT(x->first == y->first && x->end == y->end && x->stride == y->stride,
                "worker %d gives a verb two vectors of different pieces in step %ld; take the same "
                "fragment or range of both",
                x->owner->node.rank, x->owner->node.step);
}

void dsgd_require_whole(const dsgd_vector *x, const char *verb)
{
    DSGD_ASSERT(x->whole == x,
                "worker %d gives %s() a view of a vector in step %ld; it takes whole ones",
                x->owner->node.rank, verb, x->owner->node.step);
}

/* --- of the run --------------------------------------------------------------------------------- */

void dsgd_vector_read(dsgd_vector *x, double *elements)
{
    dsgd_engine *const engine = x->owner->engine;
    for (size_t k = 0; k < engine->n_pieces; k++)
        dsgd_values_read(engine->values, k, x->piece[k].value, elements + engine->piece_begin[k]);
}

void dsgd_vectors_release(dsgd_engine *engine)
{
    for (dsgd_vector *x = engine->vectors; x != NULL; x = x->next)
        DSGD_FOR_PIECES (k, x)
            dsgd_piece_set(engine, &x->piece[k], DSGD_ZERO_VALUE, -1);
}
