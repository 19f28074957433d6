/**
 * @file ready.h
 * Ready nodes of one kind, by rank. Under the lock.
 */
#ifndef DSGD_MODELS_VALUES_READY_H
#define DSGD_MODELS_VALUES_READY_H

#include "models/values/store.h"

void dsgd_ready_add(ready_nodes *ready, dsgd_value_node *node);
/** The one of lowest rank, or NULL. */
static inline const ready_node *dsgd_ready_first(const ready_nodes *ready)
{
    const ready_node *const in_line = ready->first < ready->end ? &ready->line[ready->first] : NULL;
    if (ready->n_heap == 0)
        return in_line;
    return in_line != NULL && in_line->rank < ready->heap[0].rank ? in_line : ready->heap;
}

/** Takes that one. */
dsgd_value_node *dsgd_ready_take(ready_nodes *ready);
void dsgd_ready_free(ready_nodes *ready);

#endif
