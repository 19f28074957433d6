/**
 * @file events.h
 * Virtual time as a heap of events. Events at one time happen in the order in which
 * they were planned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A heap with four children per node. Entries with equal keys leave it in the order of their
 * numbers. No key is negative. */
typedef struct dsgd_heap {
    size_t n, room;
    struct dsgd_heap_entry {
        double key;
        uint64_t number;
        void *what;
    } * entry; /* [n], the least first */
} dsgd_heap;

void dsgd_heap_push(dsgd_heap *heap, double key, uint64_t number, void *what);
/** Removes and returns the least entry. The heap must not be empty. */
struct dsgd_heap_entry dsgd_heap_pop(dsgd_heap *heap);

/**
 * A queue of items by time; items of one time are in the order in which they were added. Many items
 * have equal times, because workers act at the same times. A heap of times with a list of items per
 * time is therefore a tenth as large as a heap of all items.
 */
typedef struct dsgd_agenda {
    dsgd_heap times; /* times, with the first item of the list of each */
    struct dsgd_agenda_item {
        uint64_t number;
        void *what;
        size_t next; /* next item in its list, or in the list of unused items; 0 at the end */
    } * item; /* [n_items + 1], from 1 */
    size_t n_items, room, unused;
    struct {
        double time;
        size_t last; /* last item of the list of this time; 0 if there is none */
    } recent[64]; /* a hash table of recent times; lists of other times get no more items */
} dsgd_agenda;

/** Adds an item. @p number must be greater than all earlier numbers. */
void dsgd_agenda_add(dsgd_agenda *agenda, double time, uint64_t number, void *what);
static inline bool dsgd_agenda_is_empty(const dsgd_agenda *agenda)
{
    return agenda->times.n == 0;
}
/** Returns the earliest time. The agenda must not be empty. */
static inline double dsgd_agenda_time(const dsgd_agenda *agenda)
{
    return agenda->times.entry[0].key;
}
/** Removes and returns the next item, and stores its number. The agenda must not be empty. */
void *dsgd_agenda_take(dsgd_agenda *agenda, uint64_t *number);
void dsgd_agenda_close(dsgd_agenda *agenda);

/** An event in the future; the first member of the struct that it concerns. An event is planned for
 * at most one time. */
typedef struct dsgd_event {
    void (*happen)(struct dsgd_event *event);
    uint64_t number; /* number of its last planning; 0 if it is not planned */
} dsgd_event;

/** Returns the virtual time in seconds. */
double dsgd_events_now_s(void);

/** Plans an event for a time, now or later. An earlier plan of the event is cancelled. */
void dsgd_event_plan(dsgd_event *event, double at_s);
void dsgd_event_cancel(dsgd_event *event);

/** Returns the time of the next event; INFINITY if there is none. */
double dsgd_events_next_s(void);

/** Advances to the time of the next event, and lets all events of that time happen. Returns false
 * if there is none. */
bool dsgd_events_next(void);

/** Sets the time to 0. */
void dsgd_events_open(void);

/** Removes all events; the time does not change. Structs with planned events may be freed after
 * this call, not before. */
void dsgd_events_close(void);
