/**
 * @file events.h
 * Virtual time as a heap of events. Events at one time happen in the order in which
 * they were planned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A heap with four children per node. Equal keys leave it by their numbers; none is negative. */
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

/**
 * What is to happen by time, and at one time in the order in which it was added. Workers act at the
 * same times: a heap of the times, with a list at each, is a tenth as large as one of all.
 */
typedef struct dsgd_agenda {
    dsgd_heap times; /* of their lists' first items */
    struct dsgd_agenda_item {
        uint64_t number;
        void *what;
        size_t next; /* in its list, or of the unused; 0: none */
    } * item; /* [n_items + 1], from 1 */
    size_t n_items, room, unused;
    struct {
        double time;
        size_t last; /* of its list; 0: none */
    } recent[64]; /* times, by a hash of theirs: the others' lists are added to no more */
} dsgd_agenda;

/** @p number is greater than all before. */
void dsgd_agenda_add(dsgd_agenda *agenda, double time, uint64_t number, void *what);
static inline bool dsgd_agenda_is_empty(const dsgd_agenda *agenda)
{
    return agenda->times.n == 0;
}
/** The next time. Not of an empty one. */
static inline double dsgd_agenda_time(const dsgd_agenda *agenda)
{
    return agenda->times.entry[0].key;
}
/** Takes the next out. Not of an empty one. */
void *dsgd_agenda_take(dsgd_agenda *agenda, uint64_t *number);
void dsgd_agenda_close(dsgd_agenda *agenda);

/** Something that happens later: the first member of what it happens to. At most once at a time. */
typedef struct dsgd_event {
    void (*happen)(struct dsgd_event *event);
    uint64_t number; /* of its last planning; 0: not planned */
} dsgd_event;

/** Virtual seconds. */
double dsgd_events_now_s(void);

/** Plans an event for a time, now or later, instead of the time for which it was planned. */
void dsgd_event_plan(dsgd_event *event, double at_s);
void dsgd_event_cancel(dsgd_event *event);

/** Returns the time of the next event; INFINITY if there is none. */
double dsgd_events_next_s(void);

/** Lets time pass to the next event, and all of that time happen. False: there is none. */
bool dsgd_events_next(void);

/** Time begins anew, at 0. */
void dsgd_events_open(void);

/** Forgets all events; the time stays. What was planned may be freed then, not before. */
void dsgd_events_close(void);
