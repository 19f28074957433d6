/**
 * @file gantt.c
 * Prints a timeline as a Gantt chart in text. Each column stands for an equal part of the window.
 * It shows the state that takes most of this part.
 */
#include <ctype.h>

#include "command/console/table.h"
#include "command/trace/timeline/view.h"

enum { NAME_WIDTH = 6, SHARES_WIDTH = 17 };

/* letters that stand for the states, in the order of dsgd_tile_state */
static const char state_letters[] = "=#~.x";

/** The text of one row in the chart. */
typedef struct line {
    const dsgd_view *view;
    int n; /* number of columns */
    char *states; /* array of n letters, one per column, with a zero at the end */
    char *late; /* array of n characters with a zero at the end: texts of late contributions,
                 * separated by blanks */
} line;

static int column_of(const line *l, double at_s)
{
    const dsgd_timeline *const t = l->view->timeline;
    const double part = (at_s - t->since_s) / (t->end_s - t->since_s);
    /*
     * Add 1e-9, so that rounding does not move a time at the start of a column into the previous
     * column.
     */
    return (int)fmin(l->n - 1, floor(part * l->n + 1e-9));
}

static double begin_of(const line *l, int column)
{
    const dsgd_timeline *const t = l->view->timeline;
    return t->since_s + (t->end_s - t->since_s) * column / l->n;
}

/**
 * Writes a text into a line, if @p over contains all characters that the text would replace.
 * Otherwise, returns false.
 */
static bool put(char *into, int n, int at, const char *text, const char *over)
{
    const int length = (int)strlen(text);
    if (at < 0 || at + length > n || (int)strspn(into + at, over) < length)
        return false;
    memcpy(into + at, text, (size_t)length);
    return true;
}

static void put_states(line *l, const dsgd_row *row)
{
    double *const most_s = dsgd_keep((size_t)l->n, sizeof *most_s);
    double of_state_s[DSGD_N_TILES] = {0};
    int at = 0;
    for (size_t i = 0; i < row->n_tiles; i++) {
        const dsgd_tile *const tile = &row->tiles[i];
        for (int c = column_of(l, tile->since_s); c < l->n && begin_of(l, c) < tile->end_s; c++) {
            if (c != at)
                memset(of_state_s, 0, sizeof of_state_s);
            at = c;
            double *const sum_s = &of_state_s[tile->state];
            *sum_s += fmin(tile->end_s, begin_of(l, c + 1)) - fmax(tile->since_s, begin_of(l, c));
            if (*sum_s > most_s[c]) {
                most_s[c] = *sum_s;
                l->states[c] = state_letters[tile->state];
            }
        }
    }
}

/**
 * Writes the number of each step where the step starts. Omits a number that would touch the
 * previous number.
 */
static void put_steps(line *l, const dsgd_row *row)
{
    int from = 0;
    for (size_t i = 0; i < row->n_spans; i++) {
        const dsgd_span *const span = row->spans[i];
        const int column = column_of(l, dsgd_view_since_s(l->view, span));
        if (!dsgd_view_begins_step(l->view, span) || column < from)
            continue;
        char *const number = dsgd_xprintf("%jd", span->step);
        if (put(l->states, l->n, column, number, state_letters))
            from = column + (int)strlen(number) + 1;
    }
}

/** Writes the rank of the awaited worker in the middle of each wait that is wide enough. */
static void put_awaited_workers(line *l, const dsgd_row *row)
{
    for (size_t i = 0; i < row->n_tiles; i++) {
        const dsgd_tile *const tile = &row->tiles[i];
        if (tile->wait == NULL || tile->wait->peer < 0)
            continue;
        const bool server = tile->wait->peer >= l->view->n_workers;
        char *const whom =
            dsgd_xprintf("<%s%d", server ? "s" : "",
                         server ? tile->wait->peer - l->view->n_workers : tile->wait->peer);
        const int length = (int)strlen(whom);
        const int begin = column_of(l, tile->since_s);
        const int end = column_of(l, tile->end_s);
        int at = begin + (end - begin - length + 1) / 2;
        if (at + length < l->n && isdigit((unsigned char)l->states[at + length]))
            at--; /* Move the rank to the left, because otherwise the rank and the number of the
                   * next step would look like one number. */
        if (end - begin >= length && at >= begin)
            put(l->states, l->n, at, whom, ".");
    }
}

/** Prints the row of a worker. Returns the number of late contributions in this row. */
static int print_row(line *l, const dsgd_row *row, FILE *stream)
{
    const dsgd_timeline *const t = l->view->timeline;
    memset(l->states, ' ', (size_t)l->n);
    memset(l->late, ' ', (size_t)l->n);
    put_states(l, row);
    put_steps(l, row);
    put_awaited_workers(l, row);
    int n_late = 0;
    for (size_t i = 0; i < row->n_spans; i++) {
        char *const late = dsgd_view_late_text(row->spans[i]);
        if (late != NULL)
            put(l->late, l->n, column_of(l, row->spans[i]->since_s), late, " ");
        n_late += late != NULL;
        const int column = column_of(l, row->spans[i]->since_s);
        if (row->spans[i]->kind ==
                DSGD_SPAN_STOPPED && /* Put the mark of a stop before the next step, because a
                                      * checkpoint is written at the end of a step. */
            !put(l->states, l->n, column - 1, "!", state_letters))
            put(l->states, l->n, column, "!", state_letters);
    }
    const double percent = 100 / (t->end_s - t->since_s);
    fprintf(stream, "%4d%c %s %4.0f %4.0f %4.0f\n", row->host,
            row->host == l->view->straggler ? '*' : ' ', l->states, percent * row->compute_s,
            percent * row->wait_s, percent * row->communicate_s);
    for (int end = l->n; n_late > 0 && end > 0 && l->late[end - 1] == ' '; end--)
        l->late[end - 1] = '\0';
    if (n_late > 0)
        fprintf(stream, "%*s%s\n", NAME_WIDTH, "", l->late);
    return n_late;
}

/**
 * Prints one line for each pipeline stage of a worker. Between two passes, a stage waits (pipeline
 * bubble).
 */
static void print_stages(line *l, const dsgd_row *row, FILE *stream)
{
    const dsgd_timeline *const t = l->view->timeline;
    const int last = dsgd_view_last_track(row, DSGD_SPAN_PASS);
    dsgd_row stage = {.tiles = dsgd_keep(2 * row->n_spans + 1, sizeof *stage.tiles)};
    for (int track = 0; track <= last; track++) {
        double at_s = t->since_s;
        stage.n_tiles = 0;
        for (size_t i = 0; i <= row->n_spans; i++) {
            const dsgd_span *const s = i < row->n_spans ? row->spans[i] : NULL;
            if (s != NULL && (s->kind != DSGD_SPAN_PASS || s->track != track))
                continue;
            const double since_s = s == NULL ? t->end_s : dsgd_view_since_s(l->view, s);
            stage.tiles[stage.n_tiles++] = (dsgd_tile){DSGD_TILE_WAIT, at_s, since_s, NULL};
            if (s == NULL)
                break;
            at_s = dsgd_view_end_s(l->view, s);
            stage.tiles[stage.n_tiles++] = (dsgd_tile){
                strcmp(s->verb, "forward") == 0 ? DSGD_TILE_FORWARD : DSGD_TILE_BACKWARD, since_s,
                at_s, NULL};
        }
        memset(l->states, ' ', (size_t)l->n);
        put_states(l, &stage);
        fprintf(stream, "%*s %s\n", NAME_WIDTH - 1, dsgd_view_stage_name(l->view, "s", track),
                l->states);
    }
}

/** Prints why all workers stopped, in the order of time. In the rows, a `!` marks each stop. */
static void print_stops(const dsgd_view *view, FILE *stream)
{
    enum { MOST = 20 };
    int n = 0;
    for (const dsgd_span *s = view->timeline->spans;
         s < view->timeline->spans + view->timeline->n_spans; s++)
        if (s->kind == DSGD_SPAN_STOPPED && n++ < MOST)
            fprintf(stream, "at %.6g s: %s\n", s->since_s, s->verb);
    if (n > MOST)
        fprintf(stream, "and %d more such stops\n", n - MOST);
    if (n > 0)
        dsgd_print_wrapped(
            stream, "", 0, DSGD_TEXT_WIDTH,
            "! all workers stop there; the time axis of the chart does not include the "
            "stop");
}

static void print_key(const dsgd_view *view, int width, bool late, bool away, FILE *stream)
{
    char *key = dsgd_xstrdup("= forward, # backward, ~ communicate, . wait, <3 waits for worker 3; "
                             "a number marks the start of a step");
    if (away)
        dsgd_append(&key, "; x failed or rejoining");
    if (view->straggler >= 0)
        dsgd_append(&key, "; * computes longest");
    if (late)
        dsgd_append(&key, "; v2:1 contributes its value of step 1 to version 2 (-: nothing)");
    const char *const shown = dsgd_view_shown(view);
    if (strcmp(shown, "all") != 0)
        dsgd_append(&key, "; shown: %s (choose with --workers)", shown);
    dsgd_print_wrapped(stream, "", 0, width, key);
}

void dsgd_view_print(const dsgd_view *view, int width, FILE *stream)
{
    const dsgd_timeline *const t = view->timeline;
    line l = {.view = view, .n = width - NAME_WIDTH - SHARES_WIDTH};
    l.states = dsgd_keep((size_t)l.n + 1, 1);
    l.late = dsgd_keep((size_t)l.n + 1, 1);
    char *const from = dsgd_xprintf("%.6g s", t->since_s);
    char *const to = dsgd_xprintf("%.6g s", t->end_s);
    const int gap = l.n - (int)strlen(from);
    fprintf(stream, "%*s%s%*s comp wait comm %%\n", NAME_WIDTH, "", from, gap, to);
    int n_late = 0;
    bool away = false;
    for (size_t i = 0; i < view->n_rows; i++) {
        if (view->rows[i].host < view->n_workers) {
            n_late += print_row(&l, &view->rows[i], stream);
            print_stages(&l, &view->rows[i], stream);
        }
        for (size_t k = 0; k < view->rows[i].n_tiles; k++)
            away = away || view->rows[i].tiles[k].state == DSGD_TILE_AWAY;
    }
    print_key(view, width, n_late > 0, away, stream);
    print_stops(view, stream);
}
