/**
 * @file nodes.h
 * Memory of nodes, common subexpressions, references. On the caller's thread.
 */
#ifndef DSGD_MODELS_VALUES_NODES_H
#define DSGD_MODELS_VALUES_NODES_H

#include "models/values/store.h"

/** A node of this kind and these numbers of inputs, outputs and samples; the caller sets them all. */
dsgd_value_node *dsgd_value_node_new(dsgd_values *values, const dsgd_value_node *header);
static inline void dsgd_value_node_set_input(dsgd_value_node *node, size_t i, dsgd_value value)
{
    node->inputs[i] = value;
    node->input_ids[i] = dsgd_value_identity(value);
}

/** @p node, now pending, or the equal node that exists; each output referenced for the caller. */
dsgd_value_node *dsgd_value_node_intern(dsgd_values *values, dsgd_value_node *node);
/** No longer among the pending ones. */
void dsgd_value_node_unlink(dsgd_values *values, dsgd_value_node *node);
/** Of every output. */
void dsgd_value_node_ref(dsgd_value_node *node);
void dsgd_value_node_unref(dsgd_values *values, dsgd_value_node *node);
static inline void dsgd_value_ref(dsgd_value value)
{
    if (value.node == NULL)
        return;
    value.node->n_refs++;
    value.node->output_refs[value.index]++;
}

/** Of the last reference to an output. */
void dsgd_value_unref_last(dsgd_values *values, dsgd_value value);

static inline void dsgd_value_unref(dsgd_values *values, dsgd_value value)
{
    if (value.node == NULL)
        return;
    uint32_t *const refs = &value.node->output_refs[value.index];
    if (*refs <= 1) {
        dsgd_value_unref_last(values, value);
        return;
    }
    --*refs;
    value.node->n_refs--;
}

/** Reports dropped outputs to the executor and reuses the memory of dead nodes. Under the lock. */
void dsgd_nodes_collect(dsgd_values *values);
/** Frees all nodes, still referenced or not. */
void dsgd_nodes_free(dsgd_values *values);

#endif
