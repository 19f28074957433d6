/**
 * @file ready.c
 * Ready nodes of one kind, by rank: a line where they come in order, and a heap of late ones.
 */
#include "models/values/store.h"

#include <stdlib.h>
#include <string.h>

static void add_to_line(ready_nodes *ready, ready_node added)
{
    if (ready->first == ready->end)
        ready->first = ready->end = 0;
    if (ready->end == ready->room_line && ready->first > ready->end / 2) {
        ready->end -= ready->first;
        memcpy(ready->line, ready->line + ready->first, ready->end * sizeof *ready->line);
        ready->first = 0;
    }
    ready->line = dsgd_array_grow(ready->line, ready->end, &ready->room_line, sizeof *ready->line);
    ready->line[ready->end++] = added;
}

static void add_to_heap(ready_nodes *ready, ready_node added)
{
    ready->heap =
        dsgd_array_grow(ready->heap, ready->n_heap, &ready->room_heap, sizeof *ready->heap);
    ready_node *const heap = ready->heap;
    size_t at = ready->n_heap++;
    for (size_t above = 0; at > 0; at = above) {
        above = (at - 1) / 2;
        if (heap[above].rank < added.rank)
            break;
        heap[at] = heap[above];
    }
    heap[at] = added;
}

void dsgd_ready_add(ready_nodes *ready, dsgd_value_node *node)
{
    const ready_node added = {node->rank, node};
    if (ready->first == ready->end || ready->line[ready->end - 1].rank < added.rank)
        add_to_line(ready, added);
    else
        add_to_heap(ready, added);
}

static void take_from_heap(ready_nodes *ready)
{
    ready_node *const heap = ready->heap;
    const ready_node last = heap[--ready->n_heap];
    size_t at = 0;
    for (size_t below = 1; below < ready->n_heap; below = 2 * at + 1) {
        if (below + 1 < ready->n_heap && heap[below + 1].rank < heap[below].rank)
            below++;
        if (last.rank < heap[below].rank)
            break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = last;
}

dsgd_value_node *dsgd_ready_take(ready_nodes *ready)
{
    const ready_node *const first = dsgd_ready_first(ready);
    dsgd_value_node *const node = first->node;
    if (first == ready->heap)
        take_from_heap(ready);
    else
        ready->first++;
    return node;
}

void dsgd_ready_free(ready_nodes *ready)
{
    free(ready->line);
    free(ready->heap);
}
