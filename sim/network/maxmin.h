/**
 * @file maxmin.h
 * Flows that share pipes in a max-min fair way, as in SimGrid's fluid model CM02 (Velho et al., "On
 * the validity of flow-level TCP network models for grid and cloud simulations", ACM TOMACS 2013).
 * No pipe carries more than its bandwidth. The rate of each flow has one of two bounds. The first
 * bound is the flow's own limit. The second bound is a full pipe in which no other flow has a
 * higher rate relative to its weight.
 *
 * Rates change at the instants of events.h, after all other events of an instant. If an event
 * happens, only the pipes and flows that it affects are solved again.
 */
#pragma once

#include "sim/network/events.h"

/** A link in one direction or in both, or one direction of a NIC, an NVLink domain or a group. */
typedef struct dsgd_pipe {
    double bytes_per_s;
    struct dsgd_flow **flow; /* [n] flows that share this pipe */
    size_t n, room;
    size_t n_held; /* number of flows whose rate is limited by this pipe */
    struct dsgd_pipe *next_touched;
    bool touched; /* true if this pipe or its list of flows has changed since the rates were last
                   * solved */
    bool open; /* true while all flows of this pipe are being solved */
    size_t n_open; /* number of flows of this pipe that are being solved and have no new rate yet */
    double open_weight; /* sum of the weights of the flows that have no new rate yet */
    double open_bytes_per_s; /* bandwidth in B/s that the flows with a new rate leave for the
                              * other flows */
    uint64_t examined; /* number of the round in which this pipe was last examined */
} dsgd_pipe;

/**
 * A transfer of bytes. The caller sets the members up to `bytes`; all other members are zero at
 * first.
 */
typedef struct dsgd_flow {
    dsgd_event turn; /* event at which the flow enters its pipes, and then leaves them; must be the
                      * first member */
    dsgd_event *arrival; /* event that happens when the flow has left its pipes */
    dsgd_pipe **pipe; /* [n_pipes] pipes that the flow passes, at least 1; a pipe may occur twice */
    size_t *place; /* [n_pipes] index of this flow in the list of flows of each pipe */
    size_t n_pipes;
    double weight; /* weight of the flow; the flows of a full pipe share its bandwidth in proportion
                    * to their weights */
    double limit_bytes_per_s; /* largest rate of the flow in B/s; INFINITY if the flow has no
                               * limit of its own */
    const double *factor; /* factor that multiplies the limit and may change during the run; NULL
                           * means 1 */
    double bytes; /* number of bytes that are left at the time since_s; greater than 0 */

    const dsgd_pipe *held_by, *new_held_by; /* pipe that limits the rate now, and pipe that limits
                                             * it in the new solution; NULL if the flow's own limit
                                             * does */
    double since_s, bytes_per_s, new_bytes_per_s;
    bool entered;
    enum { DSGD_FLOW_SETTLED, DSGD_FLOW_OPEN, DSGD_FLOW_SOLVED } state;
} dsgd_flow;

/** Lets a flow enter its pipes after @p in_s seconds. */
void dsgd_flow_begin(dsgd_flow *flow, double in_s);

/** Changes the bandwidth of a pipe. Call it also if the limits of the pipe's flows have changed. */
void dsgd_pipe_change(dsgd_pipe *pipe, double bytes_per_s);

/** Removes all flows, and frees their memory. */
void dsgd_maxmin_close(void);
