/**
 * @file events.h
 * Virtual time as a heap of events, for loggp.c. Events at one time happen in the order in which
 * they were planned.
 */
#ifndef DSGD_SIM_EVENTS_H
#define DSGD_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A heap with four children per node; equal keys leave it by their numbers. */
typedef struct dsgd_heap {
    size_t n, room;
    struct dsgd_heap_entry {
        double key;
        uint64_t number;
        void *what;
    } * entry; /* [n], the least first */
} dsgd_heap;

void dsgd_heap_push(dsgd_heap *heap, double key, uint64_t number, void *what);
/** Not of an empty one. */
struct dsgd_heap_entry dsgd_heap_pop(dsgd_heap *heap);

/** Something that happens later: the first member of what it happens to. At most once at a time. */
typedef struct dsgd_event {
    void (*happen)(struct dsgd_event *event);
    uint64_t number; /* of its last planning; 0: not planned */
} dsgd_event;

/** Virtual seconds. */
double dsgd_events_now_s(void);

/** A number that no other call gives, greater than all before. */
uint64_t dsgd_events_number(void);

/** Plans an event for a time, now or later, instead of the time for which it was planned. */
void dsgd_event_plan(dsgd_event *event, double at_s);
void dsgd_event_cancel(dsgd_event *event);

/** Lets time pass to the next event, and all of that time happen. False: there is none. */
bool dsgd_events_next(void);

/** Forgets all events; the time stays. What was planned may be freed then, not before. */
void dsgd_events_close(void);

#endif
