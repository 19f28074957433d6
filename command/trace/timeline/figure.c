/**
 * @file figure.c
 * Writes a timeline as the table of the figure `timeline` (plots/timeline/timeline.gp). The
 * coordinates in this figure are seconds and row numbers.
 */
#include "base/csv.h"
#include "command/trace/timeline/view.h"

/** Largest number of message arrows in a figure. More arrows would hide the rows. */
enum { MOST_ARROWS = 400 };

static void write_line(FILE *stream, const char *kind, double since_s, double end_s, double row,
                       double to_row, const char *text)
{
    fputs(kind, stream);
    dsgd_csv_numbers(stream, (double[]){since_s, end_s}, 2);
    fprintf(stream, ",%g,%g,%s\n", row, to_row, text);
}

static void write_number(FILE *stream, const char *kind, double at_s, size_t row, char *text)
{
    write_line(stream, kind, at_s, at_s, (double)row, (double)row, text);
}

static void write_row(const dsgd_view *view, size_t i, FILE *stream)
{
    const dsgd_row *const row = &view->rows[i];
    for (size_t k = 0; k < row->n_tiles; k++)
        write_line(stream, dsgd_tile_states[row->tiles[k].state], row->tiles[k].since_s,
                   row->tiles[k].end_s, (double)i, (double)i, "");
    for (size_t k = 0; k < row->n_spans; k++) {
        const dsgd_span *const span = row->spans[k];
        if (dsgd_view_begins_step(view, span))
            write_number(stream, "step", span->since_s, i, dsgd_xprintf("%jd", span->step));
        if (span->kind == DSGD_SPAN_STOPPED)
            write_number(stream, "stop", span->since_s, i, dsgd_xstrdup(""));
        char *const late = dsgd_view_late_text(span);
        if (late != NULL)
            write_number(stream, "late", span->since_s, i, late);
    }
}

/** smallest length of a wait that is visible in the figure, as a share of the window */
static const double least_part = 0.005;

/**
 * Writes an arrow for a wait. The arrow goes from the worker that caused the wait to the worker
 * that waited.
 */
static void write_wait(const dsgd_view *view, size_t i, const dsgd_tile *tile, FILE *stream)
{
    if (tile->wait == NULL || tile->wait->peer < 0)
        return;
    const dsgd_timeline *const t = view->timeline;
    const size_t peer = view->row_of[tile->wait->peer];
    const double turn_s = fmin(tile->end_s, fmax(tile->since_s, tile->wait->turn_s));
    if (peer < view->n_rows && tile->end_s - tile->since_s > least_part * (t->end_s - t->since_s))
        write_line(stream, "held", turn_s, tile->end_s, (double)peer, (double)i, "");
}

static bool is_arrow(const dsgd_view *view, const dsgd_span *span)
{
    /* A message with activations has a verb. The figure shows no arrow for it. */
    return span->kind == DSGD_SPAN_MESSAGE && span->verb == NULL &&
           span->since_s >= view->timeline->since_s && span->end_s <= view->timeline->end_s &&
           view->row_of[span->host] < view->n_rows && view->row_of[span->peer] < view->n_rows;
}

void dsgd_view_write_csv(const dsgd_view *view, FILE *stream)
{
    const dsgd_timeline *const t = view->timeline;
    fputs("kind,since_s,end_s,row,to_row,text\n", stream);
    write_line(stream, "window", t->since_s, t->end_s, 0, (double)view->n_rows - 1,
               dsgd_view_shown(view));
    for (size_t i = 0; i < view->n_rows; i++) {
        char *name = dsgd_view_host_name(view, view->rows[i].host);
        if (view->rows[i].host == view->straggler)
            dsgd_append(&name, " *");
        write_number(stream, "name", t->since_s, i, name);
    }
    int n_arrows = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        n_arrows += is_arrow(view, &t->spans[i]);
    for (size_t i = 0; n_arrows <= MOST_ARROWS && i < t->n_spans; i++)
        if (is_arrow(view, &t->spans[i]))
            write_line(stream, "message", t->spans[i].since_s, t->spans[i].end_s,
                       (double)view->row_of[t->spans[i].host],
                       (double)view->row_of[t->spans[i].peer], "");
    for (size_t i = 0; i < view->n_rows; i++) {
        write_row(view, i, stream);
        for (size_t k = 0; k < view->rows[i].n_tiles; k++)
            write_wait(view, i, &view->rows[i].tiles[k], stream);
    }
}
