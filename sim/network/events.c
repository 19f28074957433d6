/**
 * @file events.c
 * Implements the heap, the agenda and the events. If an event is planned again, its old entry stays
 * in the agenda. The number of this entry differs from the number of the event, so the entry is
 * ignored when its time comes.
 */
#include "sim/network/events.h"

#include "base/status.h"

enum { CHILDREN = 4 };

/**
 * Returns whether entry @p a comes before entry @p b. Compares keys, then numbers. Does not use
 * branches, because a processor could not predict them.
 */
static inline bool precedes(const struct dsgd_heap_entry *a, const struct dsgd_heap_entry *b)
{
    return (a->key < b->key) | ((a->key == b->key) & (a->number < b->number));
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

/** Returns the index of the lesser of the entries @p i and @p j, without branches. */
static inline size_t lesser(const dsgd_heap *heap, size_t i, size_t j)
{
    return i + ((j - i) & -(size_t)precedes(&heap->entry[j], &heap->entry[i]));
}

/** Returns the index of the least child of node @p i, which must have at least one child. */
static size_t least_child(const dsgd_heap *heap, size_t i)
{
    const size_t first = i * CHILDREN + 1;
    /* The comparisons are nested, because the first two of them can then execute in parallel. */
    if (first + CHILDREN <= heap->n)
        return lesser(heap, lesser(heap, first, first + 1), lesser(heap, first + 2, first + 3));
    size_t least = first;
    for (size_t child = first + 1; child < heap->n; child++)
        least = lesser(heap, least, child);
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

/* --- agendas ---------------------------------------------------------------------------------- */

static size_t place_of(double time)
{
    uint64_t bits = 0;
    memcpy(&bits, &time, sizeof bits);
    return (size_t)(bits * 0x9e3779b97f4a7c15u >> 58);
}

static size_t new_item(dsgd_agenda *agenda, uint64_t number, void *what)
{
    size_t i = agenda->unused;
    if (i > 0) {
        agenda->unused = agenda->item[i].next;
    } else {
        i = ++agenda->n_items;
        if (i >= agenda->room) {
            agenda->room = agenda->room == 0 ? 64 : 2 * agenda->room;
            agenda->item = dsgd_xrealloc(agenda->item, agenda->room, sizeof *agenda->item);
        }
    }
    agenda->item[i] = (struct dsgd_agenda_item){number, what, 0};
    return i;
}

void dsgd_agenda_add(dsgd_agenda *agenda, double time, uint64_t number, void *what)
{
    const size_t place = place_of(time);
    const size_t last = agenda->recent[place].last;
    const size_t new = new_item(agenda, number, what);
    if (last > 0 && agenda->recent[place].time == time)
        agenda->item[last].next = new;
    else
        dsgd_heap_push(&agenda->times, time, number, (void *)(uintptr_t) new);
    agenda->recent[place].time = time;
    agenda->recent[place].last = new;
}

void *dsgd_agenda_take(dsgd_agenda *agenda, uint64_t *number)
{
    struct dsgd_heap_entry *const first = &agenda->times.entry[0];
    const size_t i = (size_t)(uintptr_t)first->what;
    struct dsgd_agenda_item *const item = &agenda->item[i];
    const size_t place = place_of(first->key);
    if (agenda->recent[place].last == i)
        agenda->recent[place].last = 0;
    if (item->next > 0)
        first->what = (void *)(uintptr_t)item->next;
    else
        dsgd_heap_pop(&agenda->times);
    *number = item->number;
    item->next = agenda->unused;
    agenda->unused = i;
    return item->what;
}

void dsgd_agenda_close(dsgd_agenda *agenda)
{
    free(agenda->times.entry);
    free(agenda->item);
    *agenda = (dsgd_agenda){0};
}

/* --- events ----------------------------------------------------------------------------------- */

static dsgd_agenda planned; /* agenda of the planned events */
static double now_s;
static uint64_t n_numbers;

double dsgd_events_now_s(void)
{
    return now_s;
}

void dsgd_event_plan(dsgd_event *event, double at_s)
{
    event->number = ++n_numbers; /* The new number is greater than all earlier numbers. */
    dsgd_agenda_add(&planned, at_s > now_s ? at_s : now_s, event->number, event);
}

void dsgd_event_cancel(dsgd_event *event)
{
    event->number = 0;
}

double dsgd_events_next_s(void)
{
    while (!dsgd_agenda_is_empty(&planned)) {
        const size_t first = (size_t)(uintptr_t)planned.times.entry[0].what;
        const struct dsgd_agenda_item *const item = &planned.item[first];
        uint64_t number = item->number;
        if (((dsgd_event *)item->what)->number == number)
            return dsgd_agenda_time(&planned);
        dsgd_agenda_take(&planned, &number); /* The number shows that the event was cancelled, or
                                              * was planned for another time. */
    }
    return INFINITY;
}

bool dsgd_events_next(void)
{
    bool any = false;
    while (!dsgd_agenda_is_empty(&planned) && (!any || dsgd_agenda_time(&planned) == now_s)) {
        const double at_s = dsgd_agenda_time(&planned);
        uint64_t number = 0;
        dsgd_event *const event = dsgd_agenda_take(&planned, &number);
        if (event->number != number)
            continue;
        any = true;
        now_s = at_s;
        event->number = 0;
        event->happen(event);
    }
    return any;
}

void dsgd_events_open(void)
{
    now_s = 0;
    n_numbers = 0;
}

void dsgd_events_close(void)
{
    dsgd_agenda_close(&planned);
}
