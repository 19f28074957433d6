/**
 * @file events.c
 * The heap. An event that is planned anew leaves its old entry behind, which nobody looks for: it
 * has another number than the event, and is dropped when its time comes.
 */
#include "sim/network/events.h"

#include <stdlib.h>

#include "base/status.h"

enum { CHILDREN = 4 };

static inline bool precedes(const struct dsgd_heap_entry *a, const struct dsgd_heap_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

void dsgd_heap_push(dsgd_heap *heap, double key, uint64_t number, void *what)
{
    if (heap->n == heap->room) {
        heap->room = heap->room == 0 ? 8 : 2 * heap->room;
        heap->entry = dsgd_xrealloc(heap->entry, heap->room, sizeof *heap->entry);
    }
    const struct dsgd_heap_entry new = {key, number, what};
    size_t i = heap->n++;
    for (; i > 0 && precedes(&new, &heap->entry[(i - 1) / CHILDREN]); i = (i - 1) / CHILDREN)
        heap->entry[i] = heap->entry[(i - 1) / CHILDREN];
    heap->entry[i] = new;
}

/** The least of the children of node @p i, of which there is one at least. */
static size_t least_child(const dsgd_heap *heap, size_t i)
{
    const size_t first = i * CHILDREN + 1;
    const size_t end = first + CHILDREN < heap->n ? first + CHILDREN : heap->n;
    size_t least = first;
    for (size_t child = first + 1; child < end; child++)
        if (precedes(&heap->entry[child], &heap->entry[least]))
            least = child;
    return least;
}

struct dsgd_heap_entry dsgd_heap_pop(dsgd_heap *heap)
{
    const struct dsgd_heap_entry top = heap->entry[0];
    const struct dsgd_heap_entry last = heap->entry[--heap->n];
    size_t i = 0;
    while (i * CHILDREN + 1 < heap->n) {
        const size_t child = least_child(heap, i);
        if (!precedes(&heap->entry[child], &last))
            break;
        heap->entry[i] = heap->entry[child];
        i = child;
    }
    heap->entry[i] = last;
    return top;
}

/* --- events ----------------------------------------------------------------------------------- */

static dsgd_heap planned; /* of dsgd_event, by time */
static double now_s;
static uint64_t n_numbers;

double dsgd_events_now_s(void)
{
    return now_s;
}

uint64_t dsgd_events_number(void)
{
    return ++n_numbers;
}

void dsgd_event_plan(dsgd_event *event, double at_s)
{
    event->number = dsgd_events_number();
    dsgd_heap_push(&planned, at_s > now_s ? at_s : now_s, event->number, event);
}

void dsgd_event_cancel(dsgd_event *event)
{
    event->number = 0;
}

bool dsgd_events_next(void)
{
    bool any = false;
    while (planned.n > 0 && (!any || planned.entry[0].key == now_s)) {
        const struct dsgd_heap_entry next = dsgd_heap_pop(&planned);
        dsgd_event *const event = next.what;
        if (event->number != next.number)
            continue;
        any = true;
        now_s = next.key;
        event->number = 0;
        event->happen(event);
    }
    return any;
}

void dsgd_events_close(void)
{
    free(planned.entry);
    planned = (dsgd_heap){0};
}
