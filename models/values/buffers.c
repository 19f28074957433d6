/**
 * @file buffers.c
 * Memory of values: buffers of the device, kept by the thread that wrote them until they are written again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "models/values/operations.h"

/* Of each shape and thread: */
enum {
    AT_REST =
        8, /* so many that other threads have read stay until no cache of theirs holds them, */
    REST_BYTES = 1 << 20, /* or fewer that have so many bytes; */
    PLENTY = 32, /* with more than so many, */
    PLENTY_BYTES = 4 << 20 /* or so many bytes, the thread lends to others */
};

size_t dsgd_shape_size(const dsgd_values *values, size_t shape)
{
    const dsgd_problem *const p = &values->config.problem;
    if (shape < p->n_pieces)
        return p->piece_begin[shape + 1] - p->piece_begin[shape];
    if (shape == p->n_pieces)
        return p->network->n_state;
    return dsgd_optimizer_states(&p->update) * dsgd_shape_size(values, shape - p->n_pieces - 1);
}

static size_t shape_bytes(const dsgd_values *values, size_t shape)
{
    return dsgd_shape_size(values, shape) * values->config.device->real_bytes;
}

/* --- pools -------------------------------------------------------------------------------------------------------------------------- */

/** To those of the thread alone, or, where another has read it, to those that rest. */
static void put_into(buffer_pool *pool, dsgd_buffer buffer, bool travelled)
{
    if (!travelled) {
        if (pool->n_own == pool->own_room) {
            pool->own_room = pool->own_room == 0 ? 64 : 2 * pool->own_room;
            pool->own = dsgd_xrealloc(pool->own, pool->own_room, sizeof *pool->own);
        }
        pool->own[pool->n_own++] = buffer;
        return;
    }
    if (pool->n_rests == pool->rests_room) {
        const size_t room = pool->rests_room == 0 ? 64 : 2 * pool->rests_room;
        dsgd_buffer *const ring = dsgd_xcalloc(room, sizeof *ring);
        for (size_t i = 0; i < pool->n_rests; i++)
            ring[i] = pool->rests[(pool->first + i) % pool->rests_room];
        free(pool->rests);
        pool->rests = ring;
        pool->first = 0;
        pool->rests_room = room;
    }
    pool->rests[(pool->first + pool->n_rests++) % pool->rests_room] = buffer;
}

static dsgd_buffer take_own(buffer_pool *pool)
{
    return pool->own[--pool->n_own];
}

/** The one that rested longest. */
static dsgd_buffer take_rested(buffer_pool *pool)
{
    const dsgd_buffer buffer = pool->rests[pool->first];
    pool->first = (pool->first + 1) % pool->rests_room;
    pool->n_rests--;
    return buffer;
}

static size_t at_most(size_t n, size_t bytes, size_t each)
{
    return each * n > bytes ? bytes / each : n;
}

/** NULL: the pools have none to spare. */
static dsgd_buffer take_spare(const dsgd_values *values, uint32_t thread, size_t shape)
{
    const size_t each = shape_bytes(values, shape);
    const size_t at_rest = values->n_desks > 1 ? at_most(AT_REST, REST_BYTES, each) : 0;
    const size_t plenty = at_most(PLENTY, PLENTY_BYTES, each);
    buffer_pool *const pool = &values->desks[thread].pools[shape];
    if (pool->n_own > 0)
        return take_own(pool);
    if (pool->n_rests > at_rest)
        return take_rested(pool);
    for (uint32_t i = 0; i < values->n_desks; i++) {
        buffer_pool *const other = &values->desks[i].pools[shape];
        if (other->n_own + other->n_rests > plenty)
            return other->n_rests > 0 ? take_rested(other) : take_own(other);
    }
    return NULL;
}

/* --- buffers ------------------------------------------------------------------------------------------------------------------------ */

dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape)
{
    values->held_bytes += shape_bytes(values, shape);
    if (values->held_bytes > values->stats.peak_bytes)
        values->stats.peak_bytes = values->held_bytes;
    const dsgd_buffer spare = take_spare(values, thread, shape);
    if (spare != NULL)
        return spare;
    const size_t n = dsgd_shape_size(values, shape);
    const dsgd_buffer buffer = values->config.device->alloc(values->context, n == 0 ? 1 : n);
    if (buffer == NULL) {
        fprintf(stderr,
                "dsgd: the %s device has no room for another %zu bytes; fewer workers or a smaller "
                "model would fit\n",
                values->config.device->name, shape_bytes(values, shape));
        abort();
    }
    return buffer;
}

void dsgd_buffer_give(dsgd_values *values, dsgd_operation *o, uint32_t k)
{
    const size_t shape = dsgd_output_shape(values, o, k);
    put_into(&values->desks[o->thread].pools[shape], o->outputs[k], o->travelled);
    o->outputs[k] = NULL;
    values->held_bytes -= shape_bytes(values, shape);
}

void dsgd_buffers_free(dsgd_values *values, buffer_pool *pools)
{
    for (size_t k = 0; k < dsgd_n_shapes(values); k++) {
        while (pools[k].n_own > 0)
            values->config.device->release(values->context, take_own(&pools[k]));
        while (pools[k].n_rests > 0)
            values->config.device->release(values->context, take_rested(&pools[k]));
        free(pools[k].own);
        free(pools[k].rests);
    }
    free(pools);
}
