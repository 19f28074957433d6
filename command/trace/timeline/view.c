/**
 * @file view.c
 * Sorts the recorded spans into rows. Divides the rows of workers into tiles.
 */
#include "command/trace/timeline/view.h"

const char *const dsgd_tile_states[] = {"forward", "backward", "communicate", "wait", "away"};

int dsgd_view_last_track(const dsgd_row *row, dsgd_span_kind kind)
{
    int last = -1;
    for (size_t i = 0; i < row->n_spans; i++)
        if (row->spans[i]->kind == kind && row->spans[i]->track > last)
            last = row->spans[i]->track;
    return last;
}

char *dsgd_view_stage_name(const dsgd_view *view, const char *before, int track)
{
    const int peers = (int)view->run->config.workload->inner.pipeline.peers;
    return peers > 1 ? dsgd_xprintf("%s%d.%d", before, track / peers, track % peers)
                     : dsgd_xprintf("%s%d", before, track);
}

double dsgd_view_since_s(const dsgd_view *view, const dsgd_span *span)
{
    return fmax(view->timeline->since_s, span->since_s);
}

double dsgd_view_end_s(const dsgd_view *view, const dsgd_span *span)
{
    return fmin(view->timeline->end_s, span->end_s);
}

bool dsgd_view_begins_step(const dsgd_view *view, const dsgd_span *span)
{
    return span->kind == DSGD_SPAN_STEP && span->step >= 0 &&
           span->since_s >= view->timeline->since_s;
}

char *dsgd_view_host_name(const dsgd_view *view, int host)
{
    const bool server = host >= view->n_workers;
    return dsgd_xprintf("%s %d", server ? "server" : "worker",
                        server ? host - view->n_workers : host);
}

const char *dsgd_view_shown(const dsgd_view *view)
{
    size_t n_shown = 0;
    int missed = -1;
    double *const waited_s = dsgd_keep((size_t)view->n_workers, sizeof *waited_s);
    for (const dsgd_row *row = view->rows; row < view->rows + view->n_rows; row++) {
        n_shown += row->host < view->n_workers;
        for (const dsgd_tile *tile = row->tiles; tile < row->tiles + row->n_tiles; tile++) {
            const int peer = tile->wait == NULL ? -1 : tile->wait->peer;
            if (peer < 0 || peer >= view->n_workers || view->row_of[peer] < view->n_rows)
                continue;
            waited_s[peer] += tile->end_s - tile->since_s;
            missed = missed < 0 || waited_s[peer] > waited_s[missed] ? peer : missed;
        }
    }
    if (n_shown == (size_t)view->n_workers)
        return "all";
    return dsgd_xprintf("%zu of %d workers%s", n_shown, view->n_workers,
                        missed < 0 ? "" : dsgd_xprintf("; worker %d is waited for", missed));
}

char *dsgd_view_waits_for(const dsgd_view *view, const dsgd_span *wait)
{
    if (wait->peer < 0)
        return NULL;
    char *name = dsgd_view_host_name(view, wait->peer);
    if (wait->n_peers > 1)
        dsgd_append(&name, ", the last of %d", wait->n_peers);
    return name;
}

bool dsgd_is_late(const dsgd_span *span)
{
    return span->made != span->version;
}

char *dsgd_view_late_text(const dsgd_span *span)
{
    if (span->kind != DSGD_SPAN_CONTRIBUTED || span->piece > 0 || !dsgd_is_late(span))
        return NULL;
    return span->made < 0 ? dsgd_xprintf("v%jd:-", span->version)
                          : dsgd_xprintf("v%jd:%jd", span->version, span->made);
}

bool dsgd_is_held_up(const dsgd_view *view, const dsgd_span *wait)
{
    static const double least_share = 0.01;
    const double end_s = dsgd_view_end_s(view, wait);
    return wait->peer >= 0 &&
           fmin(end_s, wait->turn_s) - wait->since_s > least_share * (end_s - wait->since_s);
}

/* --- tiles ------------------------------------------------------------------------------------ */

/** A span in the row of a host. A message occurs in the rows of both its hosts. */
typedef struct place {
    const dsgd_span *span;
    int host;
} place;

static int by_host_and_begin(const void *a, const void *b)
{
    const place *const p = a, *const q = b;
    const dsgd_span *const s = p->span, *const t = q->span;
    if (p->host != q->host)
        return p->host - q->host;
    if (s->since_s != t->since_s)
        return s->since_s < t->since_s ? -1 : 1;
    /* For equal times, keep the order in which the spans were recorded. */
    return s < t ? -1 : s > t;
}

/** Returns true if a span is a wait. A cancelled computation counts as a wait. */
static bool is_wait(const dsgd_span *span)
{
    return (span->kind == DSGD_SPAN_WAIT && span->track == 0) || dsgd_is_cancelled(span);
}

/**
 * Returns the wait of work() that takes most of an interval. Returns NULL if work() does not wait
 * in the interval. *first is the index of the first span that can overlap with the interval.
 * Successive calls must be in the order of time.
 */
static const dsgd_span *wait_in(const dsgd_row *row, size_t *first, double since_s, double end_s)
{
    const dsgd_span *longest = NULL;
    double longest_s = 0;
    while (*first < row->n_spans &&
           (!is_wait(row->spans[*first]) || row->spans[*first]->end_s <= since_s))
        ++*first;
    for (size_t i = *first; i < row->n_spans && row->spans[i]->since_s < end_s; i++) {
        const dsgd_span *const span = row->spans[i];
        if (!is_wait(span))
            continue;
        const double both_s = fmin(end_s, span->end_s) - fmax(since_s, span->since_s);
        if (both_s > longest_s) {
            longest = span;
            longest_s = both_s;
        }
    }
    return longest;
}

static void add_tile(dsgd_row *row, dsgd_tile_state state, double since_s, double end_s)
{
    if (!(end_s > since_s))
        return;
    double *const sum_s = state >= DSGD_TILE_WAIT          ? &row->wait_s
                          : state == DSGD_TILE_COMMUNICATE ? &row->communicate_s
                                                           : &row->compute_s;
    *sum_s += end_s - since_s;
    row->tiles = dsgd_keep_more(row->tiles, row->n_tiles + 1, sizeof *row->tiles);
    row->tiles[row->n_tiles++] = (dsgd_tile){state, since_s, end_s, NULL};
}

/**
 * Divides the row of a worker into tiles. The worker waits between the spans in which it computes
 * or communicates.
 */
static void cut_row(const dsgd_view *view, dsgd_row *row)
{
    double at_s = view->timeline->since_s;
    for (size_t i = 0; i < row->n_spans; i++) {
        const dsgd_span *const span = row->spans[i];
        const double since_s = fmax(at_s, span->since_s);
        const double end_s = dsgd_view_end_s(view, span);
        if ((span->kind != DSGD_SPAN_COMPUTE && span->kind != DSGD_SPAN_COMMUNICATE &&
             span->kind != DSGD_SPAN_AWAY) ||
            end_s <= at_s)
            continue;
        add_tile(row, DSGD_TILE_WAIT, at_s, since_s);
        at_s = end_s;
        if (dsgd_is_cancelled(span)) {
            add_tile(row, DSGD_TILE_WAIT, since_s, end_s);
            continue;
        }
        const double turn_s = fmin(end_s, fmax(since_s, span->turn_s));
        if (span->kind == DSGD_SPAN_COMPUTE) {
            add_tile(row, DSGD_TILE_FORWARD, since_s, turn_s);
            add_tile(row, DSGD_TILE_BACKWARD, turn_s, end_s);
            row->n_computed += dsgd_ends_gradient(span);
        } else {
            add_tile(row, span->kind == DSGD_SPAN_AWAY ? DSGD_TILE_AWAY : DSGD_TILE_COMMUNICATE,
                     since_s, end_s);
        }
    }
    add_tile(row, DSGD_TILE_WAIT, at_s, view->timeline->end_s);
    for (size_t i = 0, first = 0; i < row->n_tiles; i++)
        if (row->tiles[i].state == DSGD_TILE_WAIT)
            row->tiles[i].wait = wait_in(row, &first, row->tiles[i].since_s, row->tiles[i].end_s);
}

static void fill_rows(dsgd_view *view)
{
    const dsgd_timeline *const t = view->timeline;
    const dsgd_span **const spans = dsgd_keep(2 * t->n_spans + 1, sizeof *spans);
    place *const places = dsgd_keep(2 * t->n_spans + 1, sizeof *places);
    size_t n = 0;
    for (const dsgd_span *s = t->spans; s < t->spans + t->n_spans; s++) {
        places[n++] = (place){s, s->host};
        if (s->kind == DSGD_SPAN_MESSAGE)
            places[n++] = (place){s, s->peer};
    }
    qsort(places, n, sizeof *places, by_host_and_begin);
    for (size_t i = 0; i < n; i++) {
        dsgd_row *const row = &view->rows[view->row_of[places[i].host]];
        spans[i] = places[i].span;
        if (view->row_of[places[i].host] == view->n_rows)
            continue; /* The host at this end of the message has no row. Only the other end of the
                       * message is shown. */
        row->spans = row->n_spans++ == 0 ? spans + i : row->spans;
    }
    for (size_t i = 0; i < view->n_rows; i++)
        if (view->rows[i].host < view->n_workers)
            cut_row(view, &view->rows[i]);
}

/**
 * Returns the straggler. The gradients of this worker take clearly longer on average than the
 * gradients of each other worker. Returns -1 if no worker is so slow.
 */
static int straggler(const dsgd_view *view)
{
    /* smallest time of a straggler's gradients, as a multiple of the second longest time */
    static const double by = 1.1;
    double longest_s = 0, second_s = 0;
    int worker = -1;
    for (size_t i = 0; i < view->n_rows; i++) {
        const dsgd_row *const row = &view->rows[i];
        const double step_s = row->n_computed > 0 ? row->compute_s / row->n_computed : 0;
        second_s = fmax(second_s, fmin(step_s, longest_s));
        worker = step_s > longest_s ? view->rows[i].host : worker;
        longest_s = fmax(longest_s, step_s);
    }
    return longest_s > by * second_s && second_s > 0 ? worker : -1;
}

dsgd_status dsgd_view_open(const dsgd_planned_run *run, dsgd_run_config *config,
                           const dsgd_timeline *wanted, dsgd_view *view, dsgd_error *error)
{
    dsgd_timeline *const t = dsgd_keep(1, sizeof *t);
    dsgd_run_result result;
    *t = *wanted;
    config->timeline = t;
    *view = (dsgd_view){.run = run, .timeline = t, .n_workers = config->workers};
    DSGD_TRY(dsgd_simulate(config, &result, error));
    if (result.outcome == DSGD_RUN_FAILED)
        fprintf(stderr, "dsgd: the run failed: %s\n", result.why.text);
    const double steps = result.steps;
    dsgd_run_result_free(&result);
    if (t->full)
        return dsgd_refuse(error,
                           "the window has more than %d events in its first %.3g s; choose fewer "
                           "--steps or fewer --workers",
                           DSGD_MOST_SPANS, t->end_s - t->since_s);
    if (!t->opened)
        return dsgd_refuse(error,
                           "the run ends after %.4g steps, before any of these workers starts step "
                           "%jd; choose earlier --steps (the first step is 0)",
                           steps, t->first_step);
    if (!(t->end_s > t->since_s))
        return dsgd_refuse(error, "the window is empty: its steps start and end at %.6g s",
                           t->end_s);
    const int n_hosts = config->workers + dsgd_n_servers(config);
    view->rows = dsgd_keep((size_t)n_hosts, sizeof *view->rows);
    view->row_of = dsgd_keep((size_t)n_hosts, sizeof *view->row_of);
    for (int i = 0; i < n_hosts; i++)
        if (i >= config->workers || t->chosen[i])
            view->rows[view->n_rows++].host = i;
    for (int i = n_hosts; i-- > 0;)
        view->row_of[i] = view->n_rows;
    for (size_t i = 0; i < view->n_rows; i++)
        view->row_of[view->rows[i].host] = i;
    fill_rows(view);
    view->straggler = straggler(view);
    return DSGD_OK;
}
