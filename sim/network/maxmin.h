/**
 * @file maxmin.h
 * Flows that share pipes max-min fairly, as in SimGrid's fluid model CM02 (Velho et al., "On the
 * validity of flow-level TCP network models for grid and cloud simulations", ACM TOMACS 2013). No
 * pipe carries more than its bandwidth. Each flow has the rate of its limit, or it passes a full
 * pipe in which no other flow has a higher rate relative to its weight.
 *
 * Rates change at the instants of events.h, after all other events of an instant. Only pipes and
 * flows that an event affects are solved again.
 */
#pragma once

#include "sim/network/events.h"

/** A link in one direction or both, or one direction of a NIC, an NVLink domain or a group. */
typedef struct dsgd_pipe {
    double bytes_per_s;
    struct dsgd_flow **flow; /* [n] flows that share the pipe */
    size_t n, room;
    size_t n_held; /* number of flows whose rate this pipe limits */
    struct dsgd_pipe *next_touched;
    bool touched; /* true if flows were added or removed since rates were solved */
    bool open; /* true while all of its flows are being solved */
    size_t n_open; /* number of open flows without a new rate */
    double open_weight; /* sum of the weights of these flows */
    double open_bytes_per_s; /* bandwidth that the other flows leave for these flows */
    uint64_t examined; /* round in which it was examined */
} dsgd_pipe;

/** A transfer. The caller sets the first members; all others are zero at first. */
typedef struct dsgd_flow {
    dsgd_event turn; /* first member: the flow enters its pipes, or has left them */
    dsgd_event *arrival; /* event that happens when the flow has left its pipes */
    dsgd_pipe **pipe; /* [n_pipes], at least 1; a pipe may occur twice */
    size_t *place; /* [n_pipes] index of the flow in each pipe */
    size_t n_pipes;
    double weight; /* the flows of a full pipe share it in proportion to their weights */
    double limit_bytes_per_s; /* INFINITY if there is no limit */
    const double *factor; /* factor of the limit, which may change; NULL means 1 */
    double bytes; /* bytes that are left at since_s; greater than 0 */

    const dsgd_pipe *held_by, *new_held_by; /* pipe that limits the rate; NULL: its own limit */
    double since_s, bytes_per_s, new_bytes_per_s;
    bool entered;
    enum { DSGD_FLOW_SETTLED, DSGD_FLOW_OPEN, DSGD_FLOW_SOLVED } state;
} dsgd_flow;

/** Lets a flow enter its pipes in @p in_s seconds. */
void dsgd_flow_begin(dsgd_flow *flow, double in_s);

/** Changes the bandwidth of a pipe. Call it also if the limits of its flows changed. */
void dsgd_pipe_change(dsgd_pipe *pipe, double bytes_per_s);

/** Removes all flows, and frees memory. */
void dsgd_maxmin_close(void);
