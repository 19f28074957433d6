/**
 * @file timeline.h A record of the events of a run, for a window of steps and for chosen workers.
 * Recording does not change the run, except that the run ends when the window ends.
 *
 * The window opens when the first chosen worker begins step first_step. The window closes when the
 * last chosen worker has completed step end_step - 1, or at the end of the run. Spans that cross a
 * border of the window are cut there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dsgd_span_kind {
    DSGD_SPAN_STEP, /* a step of a worker, from one dsgd_next_step() to the next */
    DSGD_SPAN_COMPUTE, /* computation of a gradient, or of one pass of a gradient */
    /* part of transfers, overheads and reductions that does not overlap with computation */
    DSGD_SPAN_COMMUNICATE,
    DSGD_SPAN_WAIT, /* wait of a verb for other workers, including communication */
    DSGD_SPAN_EXCHANGE, /* exchange of one chunk by a channel */
    /* a message, from the time when sender and receiver are ready until it is received */
    DSGD_SPAN_MESSAGE,
    /*
     * pass of a micro-batch on host `track` of a worker that has several hosts; `verb` is
     * "forward", "backward", ...
     */
    DSGD_SPAN_PASS,
    /* absence of a worker while the other workers continue; `verb` is "failed" or "comes back" */
    DSGD_SPAN_AWAY,
    /*
     * Instant at which all workers stop, for the reason in `verb`. The kinds from here on are
     * instants, without a duration.
     */
    DSGD_SPAN_STOPPED,
    DSGD_SPAN_ACTIVATED, /* a version of a partial collective starts at the host */
    /* an exchange takes the contents of the send buffer for a version of a partial collective */
    DSGD_SPAN_CONTRIBUTED,
    /* the host uses a sum of a partial collective, or a stale value of another worker */
    DSGD_SPAN_USED,
} dsgd_span_kind;

/**
 * A period or an instant of a host. Hosts are workers by rank, then servers. A COMPUTE span and a
 * COMMUNICATE span of a host never overlap.
 */
typedef struct dsgd_span {
    dsgd_span_kind kind;
    int host; /* host of the span; for a message, the sender */
    /*
     * For a message, the receiver. For a wait, the last host to do its part, where differences
     * below 1 % of the wait are ignored. For an activated version, the host whose activation came
     * first. For a used value, the host that made it. -1 if there is no such host, or if there are
     * several.
     */
    int peer;
    int n_peers; /* for a wait, the number of hosts that it waits for at its start */
    /*
     * for an exchange, the number of its channel; for a wait, 0 in work() and 1 in assist(); for a
     * pass, its host within the worker
     */
    int track;
    int64_t step; /* step of the host at the start of the span */
    /*
     * Number of the chunk (for a pass: of the micro-batch), and number of the version; -1 if there
     * is none. The version of a stale value is its number of local steps or, at a server, its
     * number of pushes.
     */
    int64_t piece, version;
    int64_t made; /* step in which the contribution was published; -1 if it was not published */
    /* start and end in virtual time; end_s is INFINITY if the span ends after the window */
    double since_s, end_s;
    double alone_s; /* for a computation, its duration if no exchange uses the GPU */
    /*
     * For a gradient, the start of its backward pass; for a wait, the time at which the last host
     * did its part.
     */
    double turn_s;
    double bytes; /* for a message, its bytes */
    /*
     * Name of a wait, exchange, absence or stop. For a message, "activation" or NULL. For a
     * gradient, dsgd_cancelled if it was cancelled at the end of the span; dsgd_pass if another
     * pass of the same gradient follows.
     */
    const char *verb;
} dsgd_span;

/**
 * Initialises the first members of a span that concerns no other host and no chunk. @p kind_ is the
 * kind without DSGD_SPAN_, such as STEP.
 */
#define DSGD_SPAN_OF_HOST(kind_) .kind = DSGD_SPAN_##kind_, .peer = -1, .piece = -1, .version = -1

extern const char dsgd_cancelled[], dsgd_pass[];

/** Returns true if the span is a gradient that was cancelled at the end of the span. */
static inline bool dsgd_is_cancelled(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == dsgd_cancelled;
}

/** Returns true if the span is a computation at whose end a gradient is complete. */
static inline bool dsgd_ends_gradient(const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_COMPUTE && span->verb == NULL;
}

/** Largest number of spans in memory and in files. A span takes about 100 bytes. */
enum { DSGD_MOST_SPANS = 1000000 };

typedef struct dsgd_timeline {
    /* Input: what to record. */
    /*
     * first step of the window, and first step after it; INT64_MAX as end_step means the end of the
     * run
     */
    int64_t first_step, end_step;
    const bool *chosen; /* [n_workers] true for workers to record; servers are always recorded */
    /*
     * Listener that is called when a span has ended. If it is NULL, spans are kept in `spans`. With
     * a listener, spans are not kept, so a run may have any length. Spans that have not ended at
     * the end of the run are not passed to the listener.
     */
    void (*ended)(void *listener, const dsgd_span *span);
    void *listener;

    /* Output: the record. */
    /*
     * opened: true if the window has opened; closed: true if it has closed before the end of the
     * run
     */
    bool opened, closed;
    bool full; /* true if the run ended early because there were more than DSGD_MOST_SPANS spans */
    double since_s, end_s; /* start and end of the window */
    size_t n_spans;
    dsgd_span *spans; /* [n_spans] spans in the order in which their recording began */

    struct dsgd_recording *recording; /* state that observe/timeline.c uses during the run */
} dsgd_timeline;
