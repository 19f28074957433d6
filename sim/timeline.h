/**
 * @file timeline.h
 * What happened inside a run, when, in a window of steps and workers: recorded beside the run, of
 * which it changes nothing but that the run ends where the window does.
 *
 * The window begins when the first chosen worker begins step first_step, and ends when the last one
 * has ended step end_step - 1, or with the run. What crosses its borders is cut there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dsgd_span_kind {
    DSGD_SPAN_STEP, /* of a worker, from one dsgd_next_step() to the next */
    DSGD_SPAN_COMPUTE, /* a gradient, or a pass of it */
    DSGD_SPAN_COMMUNICATE, /* what of transfers, overheads and reductions no computation hides */
    DSGD_SPAN_WAIT, /* in a verb, for others; communication included */
    DSGD_SPAN_EXCHANGE, /* a job of a channel: one piece */
    DSGD_SPAN_MESSAGE, /* from when both sides are ready until it is received */
    DSGD_SPAN_PASS, /* of a micro-batch in a host of a worker of several (`track`); `verb`:
                       "forward" */
    DSGD_SPAN_AWAY, /* of a worker that others go on without, `verb`: "failed", "comes back" */
    DSGD_SPAN_STOPPED, /* an instant, as all below: for what all have stood still there, in `verb`
                        */
    DSGD_SPAN_ACTIVATED, /* a version of a partial collective starts */
    DSGD_SPAN_CONTRIBUTED, /* the send buffer is sampled for a version */
    DSGD_SPAN_USED, /* of a partial collective: a sum; else a stale value of another worker */
} dsgd_span_kind;

/** Hosts are workers by rank, then servers. A compute and a communicate span never overlap. */
typedef struct dsgd_span {
    dsgd_span_kind kind;
    int host; /* of a message the sender */
    /* Of a message the receiver; of a wait the last host to arrive (a lead below 1 % of the wait is
     * ignored); whose activation came first, or whose value is used. -1: nobody, or several. */
    int peer;
    int n_peers; /* for how many a wait was when it began */
    int track; /* of an exchange its channel; of a wait 0: work(), 1: assist(); of a pass its host
                */
    int64_t step; /* of the host when it began */
    /* The piece, of a pass the micro-batch. -1: none. Of a stale value the local steps, of a server
     * its pushes. */
    int64_t piece, version;
    int64_t made; /* the step in which what is contributed was published; -1: never */
    double since_s, end_s; /* virtual; INFINITY, once recorded: after the window */
    double alone_s; /* of a computation: what it takes where no exchange needs the GPU */
    /* A gradient's backward pass begins; of a wait: the last peer did his part. */
    double turn_s;
    double bytes; /* of a message */
    /* Of a wait or exchange, an absence or a stop; of a message "activation", or NULL;
     * dsgd_cancelled of a gradient that was cancelled at its end; dsgd_pass of a pass of one that
     * others follow. */
    const char *verb;
} dsgd_span;

/** The first members of a span that no other host and no piece has to do with; @p kind_ is STEP,
 * ... */
#define DSGD_SPAN_OF_HOST(kind_) .kind = DSGD_SPAN_##kind_, .peer = -1, .piece = -1, .version = -1

extern const char dsgd_cancelled[], dsgd_pass[];

/** A gradient that was cancelled at the span's end. */
static inline bool dsgd_is_cancelled(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == dsgd_cancelled;
}

/** A gradient that is computed to its end there. */
static inline bool dsgd_ends_gradient(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == NULL;
}

/** Spans in memory, and in files of some 100 bytes each. */
enum { DSGD_MOST_SPANS = 1000000 };

typedef struct dsgd_timeline {
    /* What is wanted. */
    int64_t first_step, end_step; /* end_step INT64_MAX: to the end of the run */
    const bool *chosen; /* [workers]; servers always are */
    /* Not NULL: a span is handed on when it has ended, and not kept, so that a run may be of any
     * length; what has not ended with the run is not handed on. */
    void (*ended)(void *listener, const dsgd_span *span);
    void *listener;

    /* What is recorded. */
    bool opened, closed; /* the window has begun; has ended before the run */
    bool full; /* DSGD_MOST_SPANS were not enough: the run has ended there */
    double since_s, end_s; /* the window */
    size_t n_spans;
    dsgd_span *spans; /* [n_spans], in the order in which they began to be recorded */

    struct dsgd_recording *recording; /* engine/timeline.c's, during the run */
} dsgd_timeline;
