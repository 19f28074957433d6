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
    DSGD_SPAN_STEP, /* span of a step of a worker, from one dsgd_next_step() to the next */
    DSGD_SPAN_COMPUTE, /* span of the computation of a gradient, or of one pass of a gradient */
    /* span of transfers, overheads and reductions that do not overlap with computation */
    DSGD_SPAN_COMMUNICATE,
    DSGD_SPAN_WAIT, /* span of a wait of a verb for other workers, including communication */
    DSGD_SPAN_EXCHANGE, /* span of the exchange of one chunk by a channel */
    /* span of a message, from the time when sender and receiver are ready until it is received */
    DSGD_SPAN_MESSAGE,
    /*
     * span of the pass of a micro-batch on host `track` of a worker that has several hosts; `verb`
     * is "forward", "backward", ...
     */
    DSGD_SPAN_PASS,
    /*
     * span of the absence of a worker while the other workers continue; `verb` is "failed" or
     * "comes back"
     */
    DSGD_SPAN_AWAY,
    /*
     * Instant at which all workers stop; `verb` contains the reason. This kind and the following
     * kinds are instants, without a duration.
     */
    DSGD_SPAN_STOPPED,
    DSGD_SPAN_ACTIVATED, /* instant at which a version of a partial collective starts at the host */
    /*
     * instant at which an exchange takes the contents of the send buffer for a version of a partial
     * collective
     */
    DSGD_SPAN_CONTRIBUTED,
    /*
     * instant at which the host uses a sum of a partial collective, or a stale value of another
     * worker
     */
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
     * The other host of the span. For a message, this is the receiver. For a wait, it is the last
     * host to do its part, where differences below 1 % of the wait are ignored. For an activated
     * version, it is the host whose activation came first. For a used value, it is the host that
     * made it. -1 if there is no such host, or if there are several.
     */
    int peer;
    int n_peers; /* for a wait, the number of hosts for which it waits at its start */
    /*
     * For an exchange, the number of its channel. For a wait, 0 in work() or 1 in assist(). For a
     * pass, its host in the worker.
     */
    int track;
    int64_t step; /* step of the host when the span started */
    /*
     * piece: number of the chunk, or for a pass, of the micro-batch. version: number of the
     * version; for a stale value, its number of local steps or, at a server, its number of pushes.
     * -1 if there is no such number.
     */
    int64_t piece, version;
    int64_t made; /* step in which the contribution was published; -1 if it was not published */
    /* start and end in virtual time; end_s is INFINITY if the span ends after the window */
    double since_s, end_s;
    double alone_s; /* for a computation, its duration if no exchange uses the GPU */
    /*
     * Time within the span. For a gradient, it is the start of the backward pass. For a wait, it is
     * the time at which the last host did its part.
     */
    double turn_s;
    double bytes; /* for a message, its number of bytes */
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
    /* The following members are input: they select the events that are recorded. */
    /*
     * first step of the window, and first step after the window; INT64_MAX as end_step means the
     * end of the run
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

    /* The following members are output: the record of the events. */
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
