/**
 * @file graph.c
 * A timeline for other simulators: each rank's computations, its part of each message, or, where
 * all that is exchanged are collectives of all workers and they are wanted, of each of these, and
 * what of the same rank comes before.
 *
 * An operation waits for those that had ended before it began, in this run; those that these wait
 * for are left out. A computation is cut where a piece of its gradient becomes ready, and its parts
 * wait for nothing but each other; an exchange waits for the part that made its piece ready. What
 * lies between the last of what a computation waits for and its begin is one, too: "other" work.
 */
#include <gsl/gsl_sort.h>

#include "base/file.h"
#include "command/trace/timeline/view.h"
#include "traces/chakra.h"

/** An operation that has been put, and that others may have to wait for. */
typedef struct known {
    double end_s;
    double covered_s; /* who begins later has waited for another that waits for it */
    size_t id;
} known;

typedef struct rank {
    const dsgd_view *view;
    const dsgd_row *row;
    bool by_collectives;
    /**
     * Writes operation @p id, which waits for before[n_before], from @p since_s of the window on.
     */
    void (*put)(const struct rank *r, const dsgd_span *span, const char *name, double since_s,
                double end_s);
    FILE *stream;
    const dsgd_span *exchange; /* the last */
    known *open, *parts; /* [n_open] of the network, [n_parts] of computations */
    double *cuts_s; /* [n_cuts], of which the first cut have been */
    size_t *before; /* [n_before] */
    size_t id, n_open, n_parts, n_cuts, cut, n_before;
} rank;

static const double same_instant_s = 1e-10;

/** Waits for what of the network has ended; who waits for this from @p covers_s on has. When the
 * last has. */
static double wait_for_ended(rank *r, double at_s, double covers_s)
{
    size_t left = 0;
    double last_s = -INFINITY;
    for (size_t i = 0; i < r->n_open; i++) {
        known one = r->open[i];
        if (one.covered_s <= at_s + same_instant_s)
            continue;
        if (one.end_s <= at_s + same_instant_s) {
            r->before[r->n_before++] = one.id;
            one.covered_s = fmin(one.covered_s, covers_s);
            last_s = fmax(last_s, one.end_s);
        }
        r->open[left++] = one;
    }
    r->n_open = left;
    return last_s;
}

static known put(rank *r, const dsgd_span *span, const char *name, double since_s, double end_s)
{
    const double begin_s = r->view->timeline->since_s;
    r->id++;
    r->put(r, span, name, fmax(since_s - begin_s, 0), end_s - begin_s);
    r->n_before = 0;
    return (known){end_s, INFINITY, r->id};
}

static void put_part(rank *r, const dsgd_span *span, const char *name, double since_s, double end_s)
{
    if (r->n_parts > 0)
        r->before[r->n_before++] = r->parts[r->n_parts - 1].id;
    r->parts[r->n_parts++] = put(r, span, name, since_s, end_s);
}

static void put_computation(rank *r, const dsgd_span *s)
{
    const double begin_s = dsgd_view_since_s(r->view, s);
    double at_s = r->n_parts > 0 ? r->parts[r->n_parts - 1].end_s : r->view->timeline->since_s;
    at_s = fmax(at_s, wait_for_ended(r, begin_s, INFINITY));
    if (begin_s > at_s + same_instant_s)
        put_part(r, s, "other", at_s, begin_s);
    at_s = begin_s;
    while (at_s < s->end_s) {
        while (r->cut < r->n_cuts && r->cuts_s[r->cut] <= at_s + same_instant_s)
            r->cut++;
        const double end_s = r->cut < r->n_cuts && r->cuts_s[r->cut] < s->end_s - same_instant_s
                                 ? r->cuts_s[r->cut]
                                 : s->end_s;
        put_part(r, s, at_s + same_instant_s < s->turn_s ? "forward" : "backward", at_s, end_s);
        at_s = end_s;
    }
}

static void put_exchange(rank *r, const dsgd_span *s)
{
    const bool is_in = r->exchange != NULL && r->exchange->end_s + same_instant_s >= s->since_s &&
                       !(s->kind == DSGD_SPAN_MESSAGE && s->verb != NULL); /* an activation */
    const double ready_s = is_in ? r->exchange->turn_s : s->since_s;
    size_t n = r->n_parts;
    while (n > 0 && r->parts[n - 1].end_s > ready_s + same_instant_s)
        n--;
    wait_for_ended(r, s->since_s, s->end_s);
    if (n > 0)
        r->before[r->n_before++] = r->parts[n - 1].id;
    r->open[r->n_open++] =
        put(r, s, s->kind == DSGD_SPAN_EXCHANGE ? s->collective : "message", s->since_s, s->end_s);
}

/**
 * Whether a span ends in the window; of an exchange, is of its steps: of one of the step before,
 * some ranks' may have ended when the window opens.
 */
static bool is_in_window(const dsgd_timeline *t, const dsgd_span *s)
{
    const bool is_of_steps =
        (t->first_step == 0 || s->step >= t->first_step) && s->step < t->end_step;
    return s->end_s <= t->end_s && (s->kind != DSGD_SPAN_EXCHANGE || is_of_steps);
}

/** Puts what a row has. */
static void walk(rank r)
{
    const size_t n = r.row->n_spans;
    void *const mark = dsgd_mark();
    r.open = dsgd_keep(n, sizeof(known));
    r.parts = dsgd_keep(4 * n, sizeof(known)); /* cuts, and three of a computation */
    r.cuts_s = dsgd_keep(n, sizeof(double));
    r.before = dsgd_keep(n + 2, sizeof(size_t));
    for (size_t i = 0; i < n; i++)
        if (r.row->spans[i]->kind == DSGD_SPAN_COMPUTE ||
            r.row->spans[i]->kind == DSGD_SPAN_EXCHANGE)
            r.cuts_s[r.n_cuts++] = r.row->spans[i]->turn_s;
    gsl_sort(r.cuts_s, 1, r.n_cuts);
    for (size_t i = 0; i < n; i++) {
        const dsgd_span *const s = r.row->spans[i];
        if (s->end_s > r.view->timeline->end_s)
            continue;
        r.exchange = s->kind == DSGD_SPAN_EXCHANGE ? s : r.exchange;
        if (s->kind == DSGD_SPAN_COMPUTE)
            put_computation(&r, s);
        else if (s->kind == (r.by_collectives ? DSGD_SPAN_EXCHANGE : DSGD_SPAN_MESSAGE) &&
                 is_in_window(r.view->timeline, s))
            put_exchange(&r, s);
    }
    dsgd_drop(mark);
}

/* --- GOAL ------------------------------------------------------------------------------------- */

/** Messages are on a CPU of their own, so that none waits for a gradient. */
static void put_goal(const rank *r, const dsgd_span *s, const char *name, double since_s,
                     double end_s)
{
    const bool sends = s->host == r->row->host;
    (void)name;
    if (s->kind == DSGD_SPAN_COMPUTE)
        fprintf(r->stream, "l%zu: calc %lld cpu 0\n", r->id,
                llround(1e9 * end_s) - llround(1e9 * since_s));
    else
        fprintf(r->stream, "l%zu: %s %.0fb %s %d tag %td cpu 1\n", r->id, sends ? "send" : "recv",
                fmax(round(s->bytes), 1), sends ? "to" : "from", sends ? s->peer : s->host,
                s - r->view->timeline->spans);
    for (size_t i = 0; i < r->n_before; i++)
        fprintf(r->stream, "l%zu requires l%zu\n", r->id, r->before[i]);
}

void dsgd_view_write_goal(const dsgd_view *view, FILE *stream)
{
    fprintf(stream, "// dsgd " DSGD_VERSION ", %s: %.9g s from %.9g s on\nnum_ranks %zu\n",
            view->run->label, view->timeline->end_s - view->timeline->since_s,
            view->timeline->since_s, view->n_rows);
    for (size_t i = 0; i < view->n_rows; i++) {
        fprintf(stream, "\nrank %zu {\n", i);
        walk((rank){.view = view, .row = &view->rows[i], .put = put_goal, .stream = stream});
        fputs("}\n", stream);
    }
}

/* --- Chakra ----------------------------------------------------------------------------------- */

static void put_varint(FILE *to, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        putc((int)(value & 0x7f) | 0x80, to);
    putc((int)value, to);
}

/** A number, or so many bytes. */
static void put_field(FILE *to, int field, uint64_t value, const char *bytes)
{
    put_varint(to, (uint64_t)field << 3 | (bytes != NULL ? 2 : 0));
    put_varint(to, value);
    if (bytes != NULL)
        fwrite(bytes, 1, (size_t)value, to);
}

static void put_attribute(FILE *node, const char *name, int type, double value)
{
    size_t n = 0;
    char *bytes = NULL;
    FILE *const attribute = dsgd_text_open(&bytes, &n);
    put_field(attribute, 1, strlen(name), name);
    put_field(attribute, type, (uint64_t)value, NULL);
    dsgd_text_close(attribute, &bytes);
    put_field(node, DSGD_CHAKRA_ATTRIBUTE, n, bytes);
}

static void put_chakra(const rank *r, const dsgd_span *s, const char *name, double since_s,
                       double end_s)
{
    const uint64_t since_us = (uint64_t)llround(1e6 * since_s);
    const bool sends = s->host == r->row->host, is_message = s->kind == DSGD_SPAN_MESSAGE;
    const bool shares = strcmp(name, "allgather") == 0; /* of what it has then */
    void *const mark = dsgd_mark();
    size_t n = 0;
    char *bytes = NULL;
    FILE *const node = dsgd_text_open(&bytes, &n);
    put_field(node, DSGD_CHAKRA_ID, r->id, NULL);
    put_field(node, DSGD_CHAKRA_NAME, strlen(name), name);
    put_field(node, DSGD_CHAKRA_TYPE,
              s->kind == DSGD_SPAN_COMPUTE ? DSGD_CHAKRA_COMPUTE
              : !is_message                ? DSGD_CHAKRA_COLLECTIVE
              : sends                      ? DSGD_CHAKRA_SEND
                                           : DSGD_CHAKRA_RECV,
              NULL);
    for (size_t i = 0; i < r->n_before; i++)
        put_field(node, DSGD_CHAKRA_DATA_DEPS, r->before[i], NULL);
    put_field(node, DSGD_CHAKRA_START, since_us, NULL);
    put_field(node, DSGD_CHAKRA_DURATION, (uint64_t)llround(1e6 * end_s) - since_us, NULL);
    put_attribute(node, "is_cpu_op", DSGD_CHAKRA_BOOL, 0);
    put_attribute(node, "step", DSGD_CHAKRA_INT64, fmax((double)s->step, 0)); /* our own */
    if (s->kind != DSGD_SPAN_COMPUTE)
        put_attribute(node, "comm_size", DSGD_CHAKRA_INT64,
                      fmax(round(s->bytes / (shares ? r->view->n_workers : 1)), 1));
    if (s->kind == DSGD_SPAN_EXCHANGE)
        put_attribute(node, "comm_type", DSGD_CHAKRA_INT64,
                      dsgd_find_word(dsgd_chakra_collectives, name));
    if (is_message) {
        put_attribute(node, "comm_src", DSGD_CHAKRA_INT32, s->host);
        put_attribute(node, "comm_dst", DSGD_CHAKRA_INT32, s->peer);
        put_attribute(node, "comm_tag", DSGD_CHAKRA_INT32, (double)(s - r->view->timeline->spans));
    }
    dsgd_text_close(node, &bytes);
    put_varint(r->stream, n);
    fwrite(bytes, 1, n, r->stream);
    dsgd_drop(mark);
}

/** Whether all that is exchanged are collectives of all rows, which ASTRA-sim has (no reduce). */
static bool has_collectives(const dsgd_view *view)
{
    size_t n_first = 0;
    for (size_t i = 0; i < view->n_rows; i++) {
        const dsgd_row *const row = &view->rows[i];
        size_t n = 0;
        for (size_t k = 0; k < row->n_spans; k++) {
            const dsgd_span *const s = row->spans[k];
            if (s->kind != DSGD_SPAN_EXCHANGE || !is_in_window(view->timeline, s))
                continue;
            if (s->collective == NULL || strcmp(s->collective, "reduce") == 0)
                return false;
            n++;
        }
        if (i > 0 && n != n_first)
            return false;
        n_first = n;
    }
    return true;
}

dsgd_status dsgd_view_write_chakra(const dsgd_view *view, const char *folder, dsgd_error *error)
{
    const bool by_collectives = has_collectives(view);
    DSGD_TRY(dsgd_make_folder(error, "%s", folder));
    for (size_t i = 0; i < view->n_rows; i++) {
        dsgd_whole_file file;
        FILE *const stream = dsgd_whole_open(&file, error, "%s/trace.%zu.et", folder, i);
        if (stream == NULL)
            return DSGD_EIO;
        fputs("\7\n\0050.0.4", stream); /* GlobalMetadata: the version */
        walk((rank){.view = view,
                    .row = &view->rows[i],
                    .by_collectives = by_collectives,
                    .put = put_chakra,
                    .stream = stream});
        DSGD_TRY(dsgd_whole_close(&file, error));
    }
    return DSGD_OK;
}
