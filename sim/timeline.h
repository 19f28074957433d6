/**
 * @file timeline.h A record of the events of a run, in a window of steps and workers. Recording
 * changes nothing except that the run ends when the window ends.
 *
 * The window opens when the first chosen worker begins step first_step. It closes when the last
 * chosen worker has ended step end_step - 1, or at the end of the run. Spans that cross a border of
 * the window are cut there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dsgd_span_kind {
    DSGD_SPAN_STEP, /* step of a worker, from one dsgd_next_step() to the next */
    DSGD_SPAN_COMPUTE, /* gradient, or a pass of it */
    /* part of transfers, overheads and reductions that does not overlap with computation */
    DSGD_SPAN_COMMUNICATE,
    DSGD_SPAN_WAIT, /* wait for other workers in a verb, including communication */
    DSGD_SPAN_EXCHANGE, /* exchange of one chunk by a channel */
    DSGD_SPAN_MESSAGE, /* message, from the time when both sides are ready until it is received */
    /*
     * pass of a micro-batch on host `track` of a worker with several hosts; `verb`: "forward", ...
     */
    DSGD_SPAN_PASS,
    /* absence of a worker while the others continue; `verb`: "failed", "comes back" */
    DSGD_SPAN_AWAY,
    /* instant (as all kinds below): all workers have stopped, for the reason in `verb` */
    DSGD_SPAN_STOPPED,
    DSGD_SPAN_ACTIVATED, /* a version of a partial collective starts */
    DSGD_SPAN_CONTRIBUTED, /* the send buffer is sampled for a version of a partial collective */
    DSGD_SPAN_USED, /* a sum of a partial collective, or a stale value of another worker, is used */
} dsgd_span_kind;

/**
 * Hosts are workers by rank, then servers. A COMPUTE and a COMMUNICATE span of a host never
 * overlap.
 */
typedef struct dsgd_span {
    dsgd_span_kind kind;
    int host; /* host; of a message, the sender */
    /*
     * Of a message, the receiver. Of a wait, the last host to arrive (a difference below 1 % of the
     * wait is ignored). Otherwise the host whose activation came first, or whose value is used. -1
     * if there is no such host, or several.
     */
    int peer;
    int n_peers; /* number of hosts that a wait was for when it began */
    /* of an exchange, its channel; of a wait, 0 in work() and 1 in assist(); of a pass, its host */
    int track;
    int64_t step; /* step of the host when the span began */
    /*
     * Number of the chunk (of a pass: the micro-batch), and version; -1 if there is none. The
     * version of a stale value is its number of local steps or, at a server, of pushes.
     */
    int64_t piece, version;
    int64_t made; /* step in which the contribution was published; -1 if it never was */
    double since_s, end_s; /* virtual times; end_s is INFINITY if the span ends after the window */
    double alone_s; /* time of a computation if no exchange needs the GPU */
    /* Start of a gradient's backward pass; of a wait, the time when the last peer did its part. */
    double turn_s;
    double bytes; /* bytes of a message */
    /*
     * Name of a wait, exchange, absence or stop; "activation" or NULL for a message; dsgd_cancelled
     * for a gradient that was cancelled at its end; dsgd_pass for a pass of a gradient that is
     * followed by others.
     */
    const char *verb;
} dsgd_span;

/**
 * Initialises the first members of a span that concerns no other host and no chunk. @p kind_ is
 * STEP, ...
 */
#define DSGD_SPAN_OF_HOST(kind_) .kind = DSGD_SPAN_##kind_, .peer = -1, .piece = -1, .version = -1

extern const char dsgd_cancelled[], dsgd_pass[];

/** Returns true if the span is a gradient that was cancelled at the end of the span. */
static inline bool dsgd_is_cancelled(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == dsgd_cancelled;
}

/** Returns true if a gradient is complete at the end of the span. */
static inline bool dsgd_ends_gradient(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == NULL;
}

/** Largest number of spans, in memory and in files (about 100 bytes each). */
enum { DSGD_MOST_SPANS = 1000000 };

typedef struct dsgd_timeline {
    /* What to record. */
    int64_t first_step, end_step; /* INT64_MAX as end_step means the end of the run */
    const bool *chosen; /* [workers] true for workers to record; servers are always recorded */
    /*
     * If `ended` is not NULL, it is called when a span has ended, and spans are not kept, so a run
     * may have any length. Spans that have not ended when the run ends are not passed to it.
     */
    void (*ended)(void *listener, const dsgd_span *span);
    void *listener;

    /* The record. */
    /* true if the window has opened; true if it has closed before the end of the run */
    bool opened, closed;
    bool full; /* true if the run ended early because there were more than DSGD_MOST_SPANS spans */
    double since_s, end_s; /* start and end of the window */
    size_t n_spans;
    dsgd_span *spans; /* [n_spans], in the order in which their recording began */

    struct dsgd_recording *recording; /* state of observe/timeline.c during the run */
} dsgd_timeline;
