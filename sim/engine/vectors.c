/**
 * @file vectors.c
 * Memory of the run, waiting for what other actors change, vectors in pieces and their linear
 * combinations.
 */
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

void dsgd_run_free_all(dsgd_engine *engine)
{
    for (struct dsgd_block *next = NULL; engine->blocks != NULL; engine->blocks = next) {
        next = engine->blocks->next;
        free(engine->blocks);
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

void dsgd_work_wake(dsgd_worker *w)
{
    const int n = w->work_waits;
    w->work_waits = 0; /* before an actor runs that sleeps again */
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->work_semaphore);
}

void dsgd_work_sleep(dsgd_worker *w)
{
    w->work_waits++;
    dsgd_semaphore_wait(w->work_semaphore);
}

void dsgd_stay_if_stopped(const dsgd_worker *w)
{
    while (w->stopped)
        dsgd_semaphore_wait(w->engine->never_semaphore);
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
    while (engine->barrier_round == round)
        dsgd_work_sleep(w);
}

void dsgd_lock(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const long ticket = w->locks++;
    while (w->unlocks != ticket)
        dsgd_work_sleep(w);
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
    return x->awaits != w->computation.number || piece < w->computation.ready;
}

void dsgd_piece_wait(dsgd_vector *x, size_t piece)
{
    while (!dsgd_piece_ready(x, piece))
        dsgd_work_sleep(x->owner);
}

void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp)
{
    dsgd_value_release(engine->values, piece->value);
    piece->value = value;
    piece->stamp = stamp;
}

dsgd_vector *dsgd_vector_new(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const size_t n = w->engine->n_pieces;
    dsgd_vector *x = dsgd_run_alloc(w->engine, sizeof *x + n * sizeof x->piece[0]);
    x->owner = w;
    x->next = w->engine->vectors;
    w->engine->vectors = x;
    x->awaits = -1;
    for (size_t k = 0; k < n; k++)
        x->piece[k] = DSGD_NO_PIECE;
    return x;
}

double *dsgd_numbers_new(dsgd_node *self, size_t n)
{
    return dsgd_run_alloc(dsgd_worker_of(self)->engine, n * sizeof(double));
}

dsgd_vector *dsgd_shared(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    if (w->shared == NULL) {
        w->shared = dsgd_vector_new(self);
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

void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x)
{
    dsgd_engine *const engine = dsgd_worker_of(self)->engine;
    for (size_t k = 0; k < engine->n_pieces; k++) {
        dsgd_piece_wait(x, k);
        dsgd_piece_wait(y, k);
        dsgd_piece_set(engine, &y->piece[k], dsgd_value_retain(x->piece[k].value),
                       x->piece[k].stamp);
        y->piece[k].weight = x->piece[k].weight;
    }
}

/** y <- (a y + b x) / divisor. */
static void combine_vectors(dsgd_worker *w, dsgd_vector *y, double a, double b, dsgd_vector *x,
                            double divisor)
{
    const double weights[2] = {a, b};
    for (size_t k = 0; k < w->engine->n_pieces; k++) {
        dsgd_piece_wait(y, k);
        dsgd_piece_wait(x, k);
        const dsgd_value operands[2] = {y->piece[k].value, x->piece[k].value};
        const dsgd_value sum = dsgd_values_combine(w->engine->values, dsgd_origin_of(w), k, 2,
                                                   operands, weights, divisor);
        dsgd_piece_set(w->engine, &y->piece[k], sum, dsgd_local_steps(w, k));
    }
}

void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x)
{
    combine_vectors(dsgd_worker_of(self), y, a, b, x, 1);
}

void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor)
{
    combine_vectors(dsgd_worker_of(self), x, 1, 0, x, divisor);
}

void dsgd_vector_read(dsgd_vector *x, double *elements)
{
    dsgd_engine *const engine = x->owner->engine;
    for (size_t k = 0; k < engine->n_pieces; k++)
        dsgd_values_read(engine->values, k, x->piece[k].value, elements + engine->piece_begin[k]);
}

void dsgd_vectors_release(dsgd_engine *engine)
{
    for (dsgd_vector *x = engine->vectors; x != NULL; x = x->next)
        for (size_t k = 0; k < engine->n_pieces; k++)
            dsgd_piece_set(engine, &x->piece[k], DSGD_ZERO_VALUE, -1);
}
