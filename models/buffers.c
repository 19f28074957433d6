/**
 * @file buffers.c
 * Memory of values: buffers of the device, kept by the thread that wrote them until they are written again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "models/operations.h"

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
    return dsgd_update_states(&p->update) * dsgd_shape_size(values, shape - p->n_pieces - 1);
}

static size_t shape_bytes(const dsgd_values *values, size_t shape)
{
    return dsgd_shape_size(values, shape) * values->config.device->real_bytes;
}

/* --- pools -------------------------------------------------------------------------------------------------------------------------- */

static void grow_pool(buffer_pool *pool)
{
    const size_t room = pool->room == 0 ? 64 : 2 * pool->room;
    dsgd_buffer *const ring = dsgd_xcalloc(room, sizeof *ring);
    for (size_t i = 0; i < pool->n; i++)
        ring[i] = pool->ring[(pool->first + i) % pool->room];
    free(pool->ring);
    pool->ring = ring;
    pool->first = 0;
    pool->room = room;
}

/** To the end of the pool, or, where another thread has read it, to the beginning. */
static void put_into(buffer_pool *pool, dsgd_buffer buffer, bool travelled)
{
    if (pool->n == pool->room)
        grow_pool(pool);
    pool->n++;
    if (travelled)
        pool->first = (pool->first + pool->room - 1) % pool->room;
    else
        pool->n_own++;
    pool->ring[(pool->first + (travelled ? 0 : pool->n - 1)) % pool->room] = buffer;
}

static dsgd_buffer take_last(buffer_pool *pool)
{
    pool->n--;
    if (pool->n_own > 0)
        pool->n_own--;
    return pool->ring[(pool->first + pool->n) % pool->room];
}

/** The one that rested longest of those that others have read, or the one that was used longest ago. */
static dsgd_buffer take_rested(buffer_pool *pool)
{
    const size_t k = pool->n > pool->n_own ? pool->n - pool->n_own - 1 : 0;
    dsgd_buffer *const place = &pool->ring[(pool->first + k) % pool->room];
    const dsgd_buffer buffer = *place;
    *place = pool->ring[pool->first];
    pool->first = (pool->first + 1) % pool->room;
    pool->n--;
    if (pool->n_own > pool->n)
        pool->n_own = pool->n;
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
    buffer_pool *const own = &values->desks[thread].pools[shape];
    if (own->n_own > 0 || own->n > at_rest)
        return take_last(own);
    for (uint32_t i = 0; i < values->n_desks; i++)
        if (values->desks[i].pools[shape].n > plenty)
            return take_rested(&values->desks[i].pools[shape]);
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
        while (pools[k].n > 0)
            values->config.device->release(values->context, take_last(&pools[k]));
        free(pools[k].ring);
    }
    free(pools);
}
