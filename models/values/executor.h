/**
 * @file executor.h
 * Computes submitted nodes on its threads. Under the lock, but for start and stop.
 */
#ifndef DSGD_MODELS_VALUES_EXECUTOR_H
#define DSGD_MODELS_VALUES_EXECUTOR_H

#include "models/values/store.h"

/** Takes a node whose inputs were added before; dsgd_executor_wake() then wakes the threads. */
void dsgd_executor_add(dsgd_values *values, dsgd_value_node *node);
/** Stores @p x as the output of a constant, which is done at once. */
void dsgd_executor_put(dsgd_values *values, dsgd_value_node *node, const double *x);
/** x[n] <- output @p k of a node that is done. */
void dsgd_executor_get(dsgd_values *values, const dsgd_value_node *node, uint32_t k, double *x,
                       size_t n);
/** One reader of an output less. */
void dsgd_executor_unread(dsgd_values *values, dsgd_value value);
void dsgd_executor_wake(dsgd_values *values);
/** Computes, and waits for the other threads, until n_unfinished <= @p unfinished. */
void dsgd_executor_wait(dsgd_values *values, size_t unfinished);
void dsgd_executor_start(dsgd_values *values);
void dsgd_executor_stop(dsgd_values *values);

#endif
