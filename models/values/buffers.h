/**
 * @file buffers.h
 * Memory of outputs. Under the lock.
 */
#ifndef DSGD_MODELS_VALUES_BUFFERS_H
#define DSGD_MODELS_VALUES_BUFFERS_H

#include "models/values/store.h"

/** Before anything else: the sizes of shapes. */
void dsgd_buffers_open(dsgd_values *values);
/**
 * A buffer for @p thread to write. NULL where it would take more than @p room_bytes of the device
 * even if the pools held nothing, or where the device has no more.
 */
dsgd_buffer dsgd_buffer_take(dsgd_values *values, uint32_t thread, size_t shape, size_t room_bytes);
/** Ends the program: the device has no room for one more buffer, with nothing left to compute. */
void dsgd_buffer_none(const dsgd_values *values, size_t shape);
/** Returns output @p k to the pool of the thread that wrote it. */
void dsgd_buffer_release(dsgd_values *values, dsgd_value_node *node, uint32_t k);
void dsgd_buffers_free(dsgd_values *values, buffer_pool *pools);

#endif
