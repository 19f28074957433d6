/**
 * @file maxmin.h
 * Flows that share pipes max-min fairly, as in SimGrid's fluid model (Velho et al., "On the
 * validity of flow-level TCP network models for grid and cloud simulations", ACM TOMACS 2013; its
 * CM02): no pipe carries more than its bandwidth, and each flow is as fast as its limit, or as a
 * full pipe in which no other flow has more for its weight.
 *
 * Rates change at the instants of events.h, after all else of an instant; only what an event
 * touches is solved again.
 */
#pragma once

#include "sim/network/events.h"

/** A link, of one direction or both; or a way out of a NIC, an island, a group, or a way in. */
typedef struct dsgd_pipe {
    double bytes_per_s;
    struct dsgd_flow **flow; /* [n] that share it */
    size_t n, room;
    size_t n_held; /* flows that it keeps from being faster */
    struct dsgd_pipe *next_touched;
    bool touched; /* since rates were solved: a flow came or went */
    bool open; /* all of its flows are being solved */
    size_t n_open; /* of these, flows without a new rate, */
    double open_weight; /* their weights, */
    double open_bytes_per_s; /* and what others leave to them */
    uint64_t examined; /* in which round */
} dsgd_pipe;

/** A transfer. The caller sets the first members; all else is zero at first. */
typedef struct dsgd_flow {
    dsgd_event turn; /* first: enters its pipes, or has left them */
    dsgd_event *arrival; /* what happens then, at once */
    dsgd_pipe **pipe; /* [n_pipes], 1 or more; one may be there twice */
    size_t *place; /* [n_pipes], room for its places in them */
    size_t n_pipes;
    double weight; /* a full pipe is shared in proportion to it */
    double limit_bytes_per_s; /* INFINITY: none */
    const double *factor; /* of that, which may change; NULL: 1 */
    double bytes; /* that are left, at since_s; above 0 */

    const dsgd_pipe *held_by, *new_held_by; /* NULL: it has its limit */
    double since_s, bytes_per_s, new_bytes_per_s;
    bool entered;
    enum { DSGD_FLOW_SETTLED, DSGD_FLOW_OPEN, DSGD_FLOW_SOLVED } state;
} dsgd_flow;

/** Lets a flow enter its pipes in so many seconds. */
void dsgd_flow_begin(dsgd_flow *flow, double in_s);

/** The pipe has another bandwidth, or its flows another limit, from now on. */
void dsgd_pipe_change(dsgd_pipe *pipe, double bytes_per_s);

/** Forgets all flows. */
void dsgd_maxmin_close(void);
