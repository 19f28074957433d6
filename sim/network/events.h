/**
 * @file events.h
 * Implements virtual time as a heap of events. Events with the same time happen in the order in
 * which they were planned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A heap with four children per node. Entries with equal keys leave the heap in the order of their
 * numbers. No key is negative.
 */
typedef struct dsgd_heap {
    size_t n, room;
    struct dsgd_heap_entry {
        double key;
        uint64_t number;
        void *what;
    } * entry; /* [n] entries of the heap, with the least entry first */
} dsgd_heap;

void dsgd_heap_push(dsgd_heap *heap, double key, uint64_t number, void *what);
/** Removes the least entry from the heap and returns it. The heap must not be empty. */
struct dsgd_heap_entry dsgd_heap_pop(dsgd_heap *heap);

/**
 * A queue of items, ordered by time. Items with the same time are in the order in which they were
 * added. Many items have equal times, because workers act at the same times. A heap of times, with
 * a list of items per time, is therefore a tenth as large as a heap of all items.
 */
typedef struct dsgd_agenda {
    dsgd_heap times; /* heap of times; each entry contains the first item of the list of its time */
    struct dsgd_agenda_item {
        uint64_t number;
        void *what;
        size_t next; /* index of the next item in the list of a time, or in the list of unused
                      * items; 0 at the end */
    } * item; /* [n_items + 1] items; their indices start at 1 */
    size_t n_items, room, unused;
    struct {
        double time;
        size_t last; /* index of the last item in the list of this time; 0 if the list has no
                      * items */
    } recent[64]; /* hash table of recent times; a time that the table lacks gets a new list */
} dsgd_agenda;

/** Adds an item. @p number must be greater than all earlier numbers in the agenda. */
void dsgd_agenda_add(dsgd_agenda *agenda, double time, uint64_t number, void *what);
static inline bool dsgd_agenda_is_empty(const dsgd_agenda *agenda)
{
    return agenda->times.n == 0;
}
/** Returns the time of the first item. The agenda must not be empty. */
static inline double dsgd_agenda_time(const dsgd_agenda *agenda)
{
    return agenda->times.entry[0].key;
}
/**
 * Removes the first item and returns it. Stores the number of the item in *number. The agenda must
 * not be empty.
 */
void *dsgd_agenda_take(dsgd_agenda *agenda, uint64_t *number);
void dsgd_agenda_close(dsgd_agenda *agenda);

/**
 * An event in the future. It must be the first member of the struct that it concerns. An event can
 * be planned for only one time.
 */
typedef struct dsgd_event {
    void (*happen)(struct dsgd_event *event);
    uint64_t number; /* number of the last plan of this event; 0 if the event is not planned */
} dsgd_event;

/** Returns the virtual time, in seconds. */
double dsgd_events_now_s(void);

/**
 * Plans an event for the time @p at_s, or for now if this time has passed. Cancels an earlier plan
 * of the event.
 */
void dsgd_event_plan(dsgd_event *event, double at_s);
void dsgd_event_cancel(dsgd_event *event);

/** Returns the time of the next event, or INFINITY if no event is planned. */
double dsgd_events_next_s(void);

/**
 * Advances to the time of the next event, and lets all events of that time happen. Returns false if
 * no event is planned.
 */
bool dsgd_events_next(void);

/** Sets the virtual time to 0, for a new run. */
void dsgd_events_open(void);

/**
 * Removes all events. The virtual time does not change. Structs that contain planned events must
 * not be freed before this call.
 */
void dsgd_events_close(void);
