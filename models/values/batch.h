/**
 * @file batch.h
 * Nodes of one kind that a thread computes together. Not under the lock.
 */
#ifndef DSGD_MODELS_VALUES_BATCH_H
#define DSGD_MODELS_VALUES_BATCH_H

#include "models/values/store.h"

/** Nodes, and their description to the device. */
typedef struct dsgd_batch {
    node_kind kind;
    size_t n, room;
    dsgd_value_node **nodes; /* [n] */
    bool *finite; /* [n] */
    union {
        dsgd_gradient_op *gradients;
        dsgd_update_op *updates;
        dsgd_combine_op *combinations;
        dsgd_encode_op *encodings;
    } ops;
    uint32_t *samples; /* of all gradients, one after another */
    size_t room_samples;
} dsgd_batch;

/** Of a gradient. */
static inline size_t dsgd_batch_samples(const dsgd_value_node *node)
{
    return (size_t)node->n_samples * node->count;
}

void dsgd_batch_open(const dsgd_values *values, dsgd_batch *b);
void dsgd_batch_close(dsgd_batch *b);

/** Has the device compute the nodes on its @p thread; it writes finite[] now, or as `ahead` says. */
void dsgd_batch_compute(dsgd_values *values, uint32_t thread, dsgd_batch *b);

#endif
