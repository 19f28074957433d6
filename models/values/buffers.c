/**
 * @file buffers.c
 * The memory of the store, and the device buffers of values. Each thread has a pool of the buffers
 * that it wrote.
 *
 * A thread needs several times longer to write a buffer that is in the cache of another core.
 * Therefore a buffer that another thread has read is reused late, and only by the thread that wrote
 * it.
 */
#include "models/values/store.h"

#include <stdatomic.h>

typedef struct store_block {
    struct store_block *before;
    max_align_t memory[];
} store_block;

void *dsgd_store_alloc(dsgd_values *values, size_t count, size_t bytes)
{
    store_block *const block = dsgd_xcalloc(1, sizeof *block + count * bytes);
    block->before = values->blocks;
    while (!atomic_compare_exchange_weak(&values->blocks, &block->before, block)) {
    }
    return block->memory;
}

void dsgd_store_free(dsgd_values *values)
{
    for (store_block *block = values->blocks, *before; block != NULL; block = before) {
        before = block->before;
        free(block);
    }
}

/* --- buffers of values ------------------------------------------------------------------------ */

/* Limits of a pool. A pool holds the free buffers of one thread and one shape. */
enum {
    QUARANTINE_COUNT = 8, /* buffers in quarantine, so that other cores' caches evict them before
                           * they are reused */
    QUARANTINE_BYTES = 1 << 20, /* largest total bytes of the quarantine; large buffers therefore
                                 * leave it earlier */
    SURPLUS_COUNT = 32, /* number of free buffers in a pool; above it, other threads take buffers
                         * from the pool */
    /* total bytes of free buffers in a pool; above it, other threads take buffers from the pool */
    SURPLUS_BYTES = 4 << 20
};

void dsgd_buffers_open(dsgd_values *values)
{
    const dsgd_problem *const p = &values->config.problem;
    const size_t n_states = dsgd_optimizer_states(&p->update);
    values->shape_sizes =
        dsgd_store_alloc(values, dsgd_n_shapes(values), sizeof *values->shape_sizes);
    for (size_t k = 0; k < p->n_pieces; k++) {
        const size_t n = p->piece_begin[k + 1] - p->piece_begin[k];
        values->shape_sizes[k] = n;
        values->shape_sizes[p->n_pieces + 1 + k] = n_states * n;
    }
    values->shape_sizes[p->n_pieces] = p->network->n_state;
}

size_t dsgd_values_size(const dsgd_values *values, size_t piece)
{
    return dsgd_shape_size(values, piece);
}

static size_t shape_bytes(const dsgd_values *values, size_t shape)
{
    return dsgd_shape_size(values, shape) * values->config.device->real_bytes;
}

static void put(dsgd_values *values, buffer_ring *ring, dsgd_buffer buffer)
{
    if (ring->n == ring->room) {
        const size_t room = ring->room == 0 ? 64 : 2 * ring->room;
        dsgd_buffer *const v = dsgd_store_alloc(values, room, sizeof *v);
        for (size_t i = 0; i < ring->n; i++)
            v[i] = ring->v[(ring->first + i) & (ring->room - 1)];
        *ring = (buffer_ring){v, 0, ring->n, room};
    }
    ring->v[(ring->first + ring->n++) & (ring->room - 1)] = buffer;
}

static dsgd_buffer take_last(buffer_ring *ring)
{
    return ring->v[(ring->first + --ring->n) & (ring->room - 1)];
}

static dsgd_buffer take_first(buffer_ring *ring)
{
    const dsgd_buffer buffer = ring->v[ring->first];
    ring->first = (ring->first + 1) & (ring->room - 1);
    ring->n--;
    return buffer;
}

static size_t at_most(size_t n, size_t bytes, size_t each)
{
    return each * n > bytes ? bytes / each : n;
}

/** Returns a free buffer for @p thread. Returns NULL if every pool needs all of its buffers. */
static dsgd_buffer take_free(const dsgd_values *values, uint32_t thread, size_t shape)
{
    buffer_pool *const pool = &values->queues[thread].pools[shape];
    if (pool->own.n > 0)
        return take_last(&pool->own);
    const size_t each = shape_bytes(values, shape);
    const size_t quarantined =
        values->n_queues > 1 ? at_most(QUARANTINE_COUNT, QUARANTINE_BYTES, each) : 0;
    const size_t surplus = at_most(SURPLUS_COUNT, SURPLUS_BYTES, each);
    if (pool->quarantine.n > quarantined)
        return take_first(&pool->quarantine);
    for (uint32_t i = 0; i < values->n_queues; i++) {
        buffer_pool *const other = &values->queues[i].pools[shape];
        if (other->own.n + other->quarantine.n > surplus)
            return other->quarantine.n > 0 ? take_first(&other->quarantine)
                                           : take_last(&other->own);
    }
    return NULL;
}

void dsgd_buffers_trim(dsgd_values *values)
{
    for (uint32_t i = 0; i < values->n_queues; i++)
        for (size_t k = 0; k < dsgd_n_shapes(values); k++) {
            buffer_pool *const pool = &values->queues[i].pools[k];
            buffer_ring *const rings[] = {&pool->own, &pool->quarantine};
            for (size_t r = 0; r < sizeof rings / sizeof rings[0]; r++) {
                values->allocated_bytes -= rings[r]->n * shape_bytes(values, k);
                while (rings[r]->n > 0)
                    values->config.device->release(values->context, take_last(rings[r]));
            }
        }
}

/**
 * Allocates a buffer on the device. Returns NULL if all buffers together would exceed @p
 * room_bytes, or if the device has no memory.
 */
static dsgd_buffer allocate(dsgd_values *values, size_t shape, size_t room_bytes)
{
    const size_t bytes = shape_bytes(values, shape);
    if (values->allocated_bytes > room_bytes || bytes > room_bytes - values->allocated_bytes)
        return NULL;
    const size_t n = dsgd_shape_size(values, shape);
    const dsgd_buffer buffer = values->config.device->alloc(values->context, n == 0 ? 1 : n);
    if (buffer != NULL)
        values->allocated_bytes += bytes;
    return buffer;
}

dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape, size_t room_bytes)
{
    dsgd_buffer buffer = take_free(values, thread, shape);
    if (buffer == NULL)
        buffer = allocate(values, shape, room_bytes);
    if (buffer == NULL && values->allocated_bytes > values->held_bytes) {
        dsgd_buffers_trim(values);
        buffer = allocate(values, shape, room_bytes);
    }
    if (buffer == NULL)
        return NULL;
    values->held_bytes += shape_bytes(values, shape);
    if (values->held_bytes > values->stats.peak_bytes)
        values->stats.peak_bytes = values->held_bytes;
    return buffer;
}

void dsgd_buffer_none(const dsgd_values *values, size_t shape)
{
    fprintf(stderr,
            "dsgd: the %s device has no memory for another %zu bytes, with %zu in use. Use fewer "
            "workers or a smaller model\n",
            values->config.device->name, shape_bytes(values, shape), values->held_bytes);
    abort();
}

void dsgd_buffer_release(dsgd_values *values, dsgd_value_node *node, uint32_t k)
{
    const size_t shape = dsgd_value_shape(values, (dsgd_value){node, k});
    buffer_pool *const pool = &values->queues[node->thread].pools[shape];
    put(values, node->read_elsewhere ? &pool->quarantine : &pool->own, node->outputs[k]);
    node->outputs[k] = NULL;
    values->held_bytes -= shape_bytes(values, shape);
}
