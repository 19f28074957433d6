/**
 * @file maxmin.c
 * Solves the rates of flows by water-filling. It starts with the pipes that an event has touched.
 * It adds more pipes only if the rates of their flows change.
 *
 * The pipes that are being solved are called open, and so are all their flows. If a pipe that is
 * not open limits an open flow, this flow gets at most its present rate. The result is a solution
 * for all pipes, with one exception. A flow may have changed in a pipe that is not open, and this
 * pipe limits flows or is now overfull. Then this pipe is opened, too, and all open pipes are
 * solved again.
 */
#include "sim/network/maxmin.h"

#include "base/round.h"
#include "base/status.h"

/**
 * Relative change of a rate that counts as rounding. Without this threshold, rounding errors would
 * spread to all flows.
 */
static const double rounding = 1e-13;

static dsgd_pipe *first_touched;

static struct {
    dsgd_pipe **pipe;
    size_t n, room;
} opened;

static struct {
    dsgd_flow **flow;
    size_t n, room;
} moved; /* list of the open flows, whose rates are solved again */

static dsgd_heap levels; /* heap of the open pipes; the key is the rate per weight at which a
                          * pipe is full */
static dsgd_heap limits; /* heap of the open flows that have a limit; the key is the limit per
                          * weight */
static uint64_t n_rounds;

/** Returns the list, with memory for one more pointer. @p n is the present length of the list. */
static void *with_room(void *list, size_t n, size_t *room)
{
    if (n < *room)
        return list;
    *room = *room == 0 ? 4 : 2 * *room;
    return dsgd_xrealloc(list, *room, sizeof(void *));
}

/* --- functions for pipes and their flows ------------------------------------------------------ */

static void solve(dsgd_event *event);
static dsgd_event solving = {.happen = solve};

static void touch(dsgd_pipe *pipe)
{
    if (pipe->touched)
        return;
    pipe->touched = true;
    pipe->next_touched = first_touched;
    first_touched = pipe;
    /* plans an event that happens after all other events of this instant */
    if (solving.number == 0)
        dsgd_event_plan(&solving, dsgd_events_now_s());
}

static void enter(dsgd_flow *flow)
{
    for (size_t i = 0; i < flow->n_pipes; i++) {
        dsgd_pipe *const pipe = flow->pipe[i];
        pipe->flow = with_room(pipe->flow, pipe->n, &pipe->room);
        flow->place[i] = pipe->n;
        pipe->flow[pipe->n++] = flow;
        touch(pipe);
    }
    flow->since_s = dsgd_events_now_s();
    flow->entered = true;
}

/**
 * Removes a flow from its pipes. In each pipe, the last flow of the list moves to the place of the
 * removed flow.
 */
static void leave(const dsgd_flow *flow)
{
    for (size_t i = 0; i < flow->n_pipes; i++) {
        dsgd_pipe *const pipe = flow->pipe[i];
        dsgd_flow *const last = pipe->flow[--pipe->n];
        pipe->flow[flow->place[i]] = last;
        for (size_t k = 0; k < last->n_pipes; k++)
            if (last->pipe[k] == pipe && last->place[k] == pipe->n)
                last->place[k] = flow->place[i];
        pipe->n_held -= flow->held_by == pipe;
        touch(pipe);
    }
}

static void take_turn(dsgd_event *turn)
{
    dsgd_flow *const flow = (dsgd_flow *)turn;
    if (!flow->entered) {
        enter(flow);
        return;
    }
    leave(flow);
    flow->arrival->happen(flow->arrival);
}

void dsgd_pipe_change(dsgd_pipe *pipe, double bytes_per_s)
{
    pipe->bytes_per_s = bytes_per_s;
    touch(pipe);
}

void dsgd_flow_begin(dsgd_flow *flow, double in_s)
{
    flow->turn.happen = take_turn;
    dsgd_event_plan(&flow->turn, dsgd_events_now_s() + in_s);
}

/* --- water-filling ---------------------------------------------------------------------------- */

static void open_pipe(dsgd_pipe *pipe)
{
    if (pipe->open)
        return;
    pipe->open = true;
    opened.pipe = with_room(opened.pipe, opened.n, &opened.room);
    opened.pipe[opened.n++] = pipe;
}

/** Returns the pipe that limits a flow if this pipe is not open, or NULL otherwise. */
static const dsgd_pipe *outer_pipe(const dsgd_flow *flow)
{
    return flow->held_by != NULL && !flow->held_by->open ? flow->held_by : NULL;
}

/**
 * Returns the highest rate that an open flow may get. If a pipe that is not open limits the flow,
 * this is the flow's present rate; otherwise, it is the flow's own limit.
 */
static double most_of(const dsgd_flow *flow)
{
    if (outer_pipe(flow) != NULL)
        return flow->bytes_per_s;
    return flow->factor == NULL || *flow->factor == 1 ? flow->limit_bytes_per_s
           : *flow->factor == 0                       ? 0
                                                      : *flow->factor * flow->limit_bytes_per_s;
}

static void open_flow(dsgd_flow *flow)
{
    if (flow->state == DSGD_FLOW_OPEN)
        return;
    flow->state = DSGD_FLOW_OPEN;
    moved.flow = with_room(moved.flow, moved.n, &moved.room);
    moved.flow[moved.n++] = flow;
    const double most = most_of(flow);
    if (most < INFINITY)
        dsgd_heap_push(&limits, most / flow->weight, moved.n, flow);
}

static void open_flows(void)
{
    for (size_t i = 0; i < moved.n; i++)
        moved.flow[i]->state = DSGD_FLOW_SETTLED;
    moved.n = limits.n = levels.n = 0;
    for (size_t i = 0; i < opened.n; i++) {
        dsgd_pipe *const pipe = opened.pipe[i];
        pipe->n_open = pipe->n;
        pipe->open_bytes_per_s = pipe->bytes_per_s;
        pipe->open_weight = 0;
        for (size_t k = 0; k < pipe->n; k++) {
            open_flow(pipe->flow[k]);
            pipe->open_weight += pipe->flow[k]->weight;
        }
        if (pipe->n > 0)
            dsgd_heap_push(&levels, pipe->bytes_per_s / pipe->open_weight, i, pipe);
    }
}

static void set_rate(dsgd_flow *flow, double bytes_per_s, const dsgd_pipe *held_by)
{
    flow->new_bytes_per_s = bytes_per_s;
    flow->new_held_by = held_by;
    flow->state = DSGD_FLOW_SOLVED;
    for (size_t i = 0; i < flow->n_pipes; i++) {
        dsgd_pipe *const pipe = flow->pipe[i];
        if (!pipe->open)
            continue;
        pipe->open_bytes_per_s = dsgd_greater(pipe->open_bytes_per_s - bytes_per_s, 0);
        pipe->open_weight -= flow->weight;
        pipe->n_open--;
    }
}

/**
 * Returns the open pipe that is full first, or NULL if all open flows have new rates. Updates the
 * levels of pipes in the heap: a level rises if flows of the pipe got less than their share.
 */
static dsgd_pipe *fullest(double *level)
{
    while (levels.n > 0) {
        dsgd_pipe *const pipe = levels.entry[0].what;
        *level = levels.entry[0].key;
        const double now = pipe->n_open == 0 ? 0 : pipe->open_bytes_per_s / pipe->open_weight;
        if (pipe->n_open > 0 && now <= *level)
            return pipe;
        const uint64_t number = dsgd_heap_pop(&levels).number;
        if (pipe->n_open > 0)
            dsgd_heap_push(&levels, now, number, pipe);
    }
    *level = INFINITY;
    return NULL;
}

/** Returns the open flow that reaches its limit first, or NULL if no open flow has a limit. */
static dsgd_flow *most_limited(double *level)
{
    while (limits.n > 0) {
        dsgd_flow *const flow = limits.entry[0].what;
        *level = limits.entry[0].key;
        if (flow->state == DSGD_FLOW_OPEN)
            return flow;
        dsgd_heap_pop(&limits);
    }
    *level = INFINITY;
    return NULL;
}

static void fill(void)
{
    open_flows();
    for (;;) {
        double level = 0, limit = 0;
        const dsgd_pipe *const pipe = fullest(&level);
        dsgd_flow *const limited = most_limited(&limit);
        if (pipe == NULL)
            return;
        if (limited != NULL && limit <= level) {
            set_rate(limited, most_of(limited), outer_pipe(limited));
            continue;
        }
        for (size_t k = 0; k < pipe->n; k++)
            if (pipe->flow[k]->state == DSGD_FLOW_OPEN)
                set_rate(pipe->flow[k], level * pipe->flow[k]->weight, pipe);
    }
}

/* --- functions that find further pipes to solve ----------------------------------------------- */

static bool has_changed(const dsgd_flow *flow)
{
    return fabs(flow->new_bytes_per_s - flow->bytes_per_s) > rounding * flow->bytes_per_s;
}

static bool is_overfull(const dsgd_pipe *pipe)
{
    double all = 0;
    for (size_t k = 0; k < pipe->n; k++) {
        const dsgd_flow *const flow = pipe->flow[k];
        all += flow->state == DSGD_FLOW_SOLVED ? flow->new_bytes_per_s : flow->bytes_per_s;
    }
    return all > pipe->bytes_per_s * (1 + rounding);
}

/**
 * Opens the pipes for which the new rates are not a solution. Returns false if there are no such
 * pipes.
 */
static bool open_more(void)
{
    const size_t before = opened.n;
    n_rounds++;
    for (size_t i = 0; i < moved.n; i++) {
        const dsgd_flow *const flow = moved.flow[i];
        if (!has_changed(flow))
            continue;
        for (size_t k = 0; k < flow->n_pipes; k++) {
            dsgd_pipe *const pipe = flow->pipe[k];
            if (pipe->open || pipe->examined == n_rounds)
                continue;
            const bool faster = flow->new_bytes_per_s > flow->bytes_per_s;
            if (faster)
                pipe->examined = n_rounds;
            if (pipe->n_held > 0 || (faster && is_overfull(pipe)))
                open_pipe(pipe);
        }
    }
    return opened.n > before;
}

/* --- new rates -------------------------------------------------------------------------------- */

static void take_rate(dsgd_flow *flow, double now_s)
{
    flow->state = DSGD_FLOW_SETTLED;
    if (flow->held_by != flow->new_held_by)
        for (size_t i = 0; i < flow->n_pipes; i++)
            flow->pipe[i]->n_held += (size_t)(flow->pipe[i] == flow->new_held_by) -
                                     (size_t)(flow->pipe[i] == flow->held_by);
    flow->held_by = flow->new_held_by;
    if (!has_changed(flow))
        return;
    flow->bytes -= flow->bytes_per_s * (now_s - flow->since_s);
    flow->since_s = now_s;
    flow->bytes_per_s = flow->new_bytes_per_s;
    if (flow->bytes_per_s == 0) {
        dsgd_event_cancel(&flow->turn);
        return;
    }
    dsgd_event_plan(&flow->turn, now_s + dsgd_greater(flow->bytes, 0) / flow->bytes_per_s);
}

static void solve(dsgd_event *event)
{
    (void)event;
    opened.n = 0;
    for (dsgd_pipe *pipe = first_touched; pipe != NULL; pipe = pipe->next_touched) {
        pipe->touched = false;
        open_pipe(pipe);
    }
    first_touched = NULL;
    do
        fill();
    while (open_more());
    for (size_t i = 0; i < moved.n; i++)
        take_rate(moved.flow[i], dsgd_events_now_s());
    for (size_t i = 0; i < opened.n; i++)
        opened.pipe[i]->open = false;
    moved.n = 0;
}

void dsgd_maxmin_close(void)
{
    free(opened.pipe);
    free(moved.flow);
    free(levels.entry);
    free(limits.entry);
    opened.pipe = NULL;
    moved.flow = NULL;
    levels = limits = (dsgd_heap){0};
    opened.n = opened.room = moved.n = moved.room = 0;
    first_touched = NULL;
    solving.number = 0;
}
