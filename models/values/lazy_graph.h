/**
 * @file lazy_graph.h
 * Builds nodes (simplification, fusion) and submits them. On the caller's thread; what the
 * functions return is referenced for the caller.
 */
#ifndef DSGD_MODELS_VALUES_LAZY_GRAPH_H
#define DSGD_MODELS_VALUES_LAZY_GRAPH_H

#include "models/values/store.h"

/** The call's gradient, over the mini-batches @p origins[n]. */
dsgd_value_node *dsgd_lazy_gradient(dsgd_values *values, const dsgd_call *call,
                                    const dsgd_origin *origins, size_t n);
dsgd_value_node *dsgd_lazy_update(dsgd_values *values, const dsgd_call *call);
dsgd_value dsgd_lazy_combine(dsgd_values *values, const dsgd_call *call);
dsgd_value dsgd_lazy_encode(dsgd_values *values, const dsgd_call *call);
/** Pending, but in no ring, because nothing refers to it. */
dsgd_value_node *dsgd_lazy_evaluate(dsgd_values *values, const dsgd_call *call);
/** Submits a node and the pending ones that it needs. Under the lock. */
void dsgd_lazy_submit(dsgd_values *values, dsgd_value_node *node);
/** Submits pending nodes up to id @p last, and what belongs to them. Under the lock. */
void dsgd_lazy_flush(dsgd_values *values, uint64_t last);

#endif
