/**
 * @file chrome.c
 * Writes a timeline as JSON in Chrome's trace event format ("Trace Event Format", Google, 2016).
 * Perfetto and speedscope can open such files.
 *
 * In the trace, each host is a process. The events on a track do not overlap. The messages of a
 * host have as many tracks as there are simultaneous messages. A flow connects the sender and the
 * receiver of a message.
 *
 * Times are in microseconds, with a resolution of nanoseconds. Viewers multiply, truncate and add
 * times. To keep adjacent events apart, starts are written half a nanosecond later, and durations
 * are a tenth of a nanosecond shorter. The field `seconds` of a state is exact; viewers do not read
 * this field.
 */
#include "base/csv.h"
#include "base/json.h"
#include "command/trace/timeline/view.h"

/** Numbers of the tracks of a host. OUT, PASSES and IN are each the first of several tracks. */
enum {
    STATE = 1,
    STEPS,
    WORK,
    ASSIST,
    MARKS,
    CHANNEL,
    OUT = 100,
    PASSES = 5000,
    IN = 10000,
    OF_HOST = 20000
};

/** Returns a time in nanoseconds since the start of the run. @p s is this time in seconds. */
static long long ns_of(double s)
{
    return llround(s * 1e9);
}

typedef struct writer {
    const dsgd_view *view;
    FILE *stream;
    int64_t n_events;
} writer;

/**
 * Starts an event on a track of a host. If @p track is 0, the event belongs to the host as a whole.
 */
static void begin(writer *w, char phase, int host, int track)
{
    fprintf(w->stream, "%s\n{\"ph\":\"%c\",\"pid\":%d", w->n_events++ > 0 ? "," : "", phase,
            host + 1);
    if (phase != 'M' || track > 0)
        fprintf(w->stream, ",\"tid\":%lld", (host + 1LL) * OF_HOST + track);
}

/** Starts an event at time @p at_s, in seconds, on a track of a host. */
static void event(writer *w, char phase, int host, int track, double at_s)
{
    const long long ns = ns_of(at_s);
    begin(w, phase, host, track);
    fprintf(w->stream, ",\"ts\":%lld.%03lld5", ns / 1000, ns % 1000);
}

/** Starts an event that has a start and an end. The caller appends its name and its arguments. */
static void interval(writer *w, int host, int track, double since_s, double end_s)
{
    const long long ns = ns_of(end_s) - ns_of(since_s);
    const long long tenths = ns > 0 ? 10 * ns - 1 : 0;
    event(w, 'X', host, track, since_s);
    fprintf(w->stream, ",\"dur\":%lld.%04lld", tenths / 10000, tenths % 10000);
}

/**
 * Writes a member "name": "value" with a text as value. @p before is the comma or brace before the
 * member.
 */
static void text(writer *w, const char *before, const char *name, const char *value)
{
    json_t *const json = dsgd_json_text(value);
    fprintf(w->stream, "%s\"%s\":", before, name);
    json_dumpf(json, w->stream, JSON_ENCODE_ANY);
}

static void event_name(writer *w, const char *name)
{
    text(w, ",", "name", name);
}

static void number(writer *w, const char *before, const char *name, double value)
{
    fprintf(w->stream, "%s\"%s\":", before, name);
    dsgd_csv_number(w->stream, value);
}

/* --- names of hosts and tracks ---------------------------------------------------------------- */

/**
 * Writes the name and the position of a track. If @p track is 0, writes the name and the position
 * of the host itself.
 */
static void write_name(writer *w, int host, int track, const char *name)
{
    const char *const what = track > 0 ? "thread" : "process";
    begin(w, 'M', host, track);
    fprintf(w->stream, ",\"name\":\"%s_name\"", what);
    text(w, ",\"args\":{", "name", name);
    fputs("}}", w->stream);
    begin(w, 'M', host, track);
    fprintf(w->stream, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%d}}", what,
            track > 0 ? track : host);
}

static void name_host(writer *w, const dsgd_row *row)
{
    char *name = dsgd_view_host_name(w->view, row->host);
    if (row->host == w->view->straggler)
        dsgd_append(&name, " (straggler)");
    write_name(w, row->host, 0, name);
    if (row->n_tiles > 0) {
        static const char *const tracks[] = {"state", "steps", "work() waits", "assist() waits",
                                             "versions"};
        for (int i = 0; i < (int)(sizeof tracks / sizeof *tracks); i++)
            write_name(w, row->host, STATE + i, tracks[i]);
    }
    for (int i = 0; i <= dsgd_view_last_track(row, DSGD_SPAN_EXCHANGE); i++)
        write_name(w, row->host, CHANNEL + i, dsgd_xprintf("channel %d", i));
    for (int i = 0; i <= dsgd_view_last_track(row, DSGD_SPAN_PASS); i++)
        write_name(w, row->host, PASSES + i, dsgd_view_stage_name(w->view, "stage ", i));
}

/* --- states and steps ------------------------------------------------------------------------- */

static void write_tile(writer *w, const dsgd_row *row, const dsgd_tile *tile)
{
    interval(w, row->host, STATE, tile->since_s, tile->end_s);
    text(w, ",", "name", dsgd_tile_states[tile->state]);
    number(w, ",", "seconds", tile->end_s - tile->since_s);
    if (tile->wait != NULL) {
        char *const peer = dsgd_view_waits_for(w->view, tile->wait);
        /* The name of a verb contains no quotes, so it needs no escapes. */
        fprintf(w->stream, ",\"args\":{\"in\":\"%s\"", tile->wait->verb);
        if (peer != NULL)
            text(w, ",", "for", peer);
        fputs("}", w->stream);
    }
    fputs("}", w->stream);
}

/**
 * Writes an event that has no duration. Such events are stops, and three events of a version of a
 * partial collective: its start, a contribution, or a use.
 */
static void write_mark(writer *w, const dsgd_span *span)
{
    event(w, 'i', span->host, MARKS, span->since_s);
    char *const peer = span->peer < 0 ? NULL : dsgd_view_host_name(w->view, span->peer);
    if (span->kind == DSGD_SPAN_STOPPED)
        event_name(w, span->verb);
    else if (span->kind == DSGD_SPAN_ACTIVATED)
        event_name(w, dsgd_xprintf("version %jd activated%s%s", span->version,
                                   peer == NULL ? "" : " by ", peer == NULL ? "" : peer));
    else if (span->kind == DSGD_SPAN_CONTRIBUTED && span->made < 0)
        event_name(w, dsgd_xprintf("contributes nothing to version %jd", span->version));
    else if (span->kind == DSGD_SPAN_CONTRIBUTED)
        event_name(w, dsgd_xprintf("contributes step %jd to version %jd%s", span->made,
                                   span->version, dsgd_is_late(span) ? ": late" : ""));
    else if (peer == NULL)
        event_name(w, dsgd_xprintf("uses version %jd in step %jd", span->version, span->step));
    else
        event_name(w, dsgd_xprintf("uses the value of %s after step %jd", peer, span->version));
    fprintf(w->stream, ",\"s\":\"t\",\"args\":{\"piece\":%jd}}", span->piece);
}

/** Writes a span: a step, a wait in a verb, a pass of a pipeline, or an exchange on a channel. */
static void write_span(writer *w, const dsgd_span *span)
{
    const bool is_wait = span->kind == DSGD_SPAN_WAIT, is_step = span->kind == DSGD_SPAN_STEP,
               is_pass = span->kind == DSGD_SPAN_PASS;
    const double end_s = dsgd_view_end_s(w->view, span);
    interval(w, span->host,
             (is_step   ? STEPS
              : is_pass ? PASSES + span->track
              : is_wait ? WORK + span->track
                        : CHANNEL + span->track),
             dsgd_view_since_s(w->view, span), end_s);
    char *const peer =
        is_wait && dsgd_is_held_up(w->view, span) ? dsgd_view_waits_for(w->view, span) : NULL;
    if (is_step)
        event_name(w, dsgd_xprintf("step %jd", span->step));
    else if (is_pass)
        event_name(w, dsgd_xprintf("%s, micro-batch %jd", span->verb, span->piece));
    else if (is_wait)
        event_name(w, dsgd_xprintf("%s%s%s", span->verb, peer == NULL ? "" : " for ",
                                   peer == NULL ? "" : peer));
    else if (span->version >= 0)
        event_name(w, dsgd_xprintf("version %jd, chunk %jd", span->version, span->piece));
    else
        event_name(w, dsgd_xprintf("%s, chunk %jd", span->verb, span->piece));
    if (!is_step)
        fprintf(w->stream, ",\"args\":{\"step\":%jd", span->step);
    if (is_wait && span->turn_s < end_s)
        number(w, ",", "all ready at (s)", span->turn_s);
    fputs(is_step ? "}" : "}}", w->stream);
}

static void write_row(writer *w, const dsgd_row *row)
{
    name_host(w, row);
    for (size_t i = 0; i < row->n_tiles; i++)
        write_tile(w, row, &row->tiles[i]);
    for (size_t i = 0; i < row->n_spans; i++) {
        const dsgd_span *const span = row->spans[i];
        const bool has_track = span->kind == DSGD_SPAN_STEP || span->kind == DSGD_SPAN_WAIT ||
                               span->kind == DSGD_SPAN_EXCHANGE || span->kind == DSGD_SPAN_PASS;
        if (has_track &&
            ns_of(dsgd_view_end_s(w->view, span)) > ns_of(dsgd_view_since_s(w->view, span)))
            write_span(w, span);
        else if (span->kind >= DSGD_SPAN_STOPPED)
            write_mark(w, span);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

/** Tracks for the messages that a host sends, or for the messages that it receives. */
typedef struct lanes {
    size_t n;
    long long *free_ns; /* array of n times in nanoseconds: time from which each track is free */
} lanes;

enum { LEAST_NS = 2 }; /* shortest interval of a flow, from its start to its end, in nanoseconds */

/**
 * Writes one end of a message. If @p out is true, writes the sender's end; otherwise, writes the
 * receiver's end.
 */
static void write_end(writer *w, lanes *all, const dsgd_span *m, bool out)
{
    const dsgd_view *const view = w->view;
    const double since_s = dsgd_view_since_s(view, m);
    const double end_s = fmax(dsgd_view_end_s(view, m), since_s + 1e-9 * LEAST_NS);
    const int host = out ? m->host : m->peer;
    size_t lane = 0; /* index of the first free track */
    while (lane < all->n && all->free_ns[lane] > ns_of(since_s))
        lane++;
    const int track = (out ? OUT : IN) + (int)lane;
    const bool arrives = m->end_s <= view->timeline->end_s;
    char *const other = dsgd_view_host_name(view, out ? m->peer : m->host);
    if (lane == all->n) {
        all->free_ns = dsgd_keep_more(all->free_ns, ++all->n, sizeof *all->free_ns);
        write_name(w, host, track, out ? "sends" : "receives");
    }
    all->free_ns[lane] = ns_of(end_s);
    interval(w, host, track, since_s, end_s);
    event_name(w, m->verb != NULL ? dsgd_xprintf("%s %s: %s of version %jd", out ? "to" : "from",
                                                 other, m->verb, m->version)
                                  : dsgd_xprintf("%s %s", out ? "to" : "from", other));
    number(w, ",\"args\":{", "bytes", m->bytes);
    fprintf(w->stream, "%s}}", arrives ? "" : ",\"arrives\":false");
    if (arrives && view->row_of[m->host] < view->n_rows && view->row_of[m->peer] < view->n_rows) {
        event(w, out ? 's' : 'f', host, track, out ? since_s : 0.5 * (since_s + end_s));
        fprintf(w->stream, ",\"id\":%td,\"cat\":\"message\",\"name\":\"message\"%s}",
                m - view->timeline->spans + 1, out ? "" : ",\"bp\":\"e\"");
    }
}

/** Writes, for all hosts, the messages of one direction (sent or received). */
static void write_messages(writer *w, bool out)
{
    for (const dsgd_row *row = w->view->rows; row < w->view->rows + w->view->n_rows; row++) {
        lanes all = {0, NULL};
        for (size_t i = 0; i < row->n_spans; i++)
            if (row->spans[i]->kind == DSGD_SPAN_MESSAGE &&
                row->host == (out ? row->spans[i]->host : row->spans[i]->peer))
                write_end(w, &all, row->spans[i], out);
    }
}

void dsgd_view_write_json(const dsgd_view *view, FILE *stream)
{
    writer w = {view, stream, 0};
    const dsgd_timeline *const t = view->timeline;
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"dsgd " DSGD_VERSION "\"",
          stream);
    text(&w, ",", "algorithm", view->run->label);
    fprintf(stream, ",\"workers\":%d", view->n_workers);
    number(&w, ",", "since_s", t->since_s);
    number(&w, ",", "end_s", t->end_s);
    fputs("},\"traceEvents\":[", stream);
    for (size_t i = 0; i < view->n_rows; i++)
        write_row(&w, &view->rows[i]);
    write_messages(&w, true);
    write_messages(&w, false);
    fputs("\n]}\n", stream);
}
