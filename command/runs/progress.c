/**
 * @file progress.c
 * Prints the progress of runs on stderr.
 */
#include "command/runs/progress.h"

#include <jansson.h>
#include <unistd.h>

#include "base/json.h"
#include "base/program.h"
#include "command/console/table.h"
#include "command/runs/rows.h"

const char *const dsgd_progress_forms[] = {"auto", "json", "off", NULL};

/** Returns true if stderr is a terminal. Only on a terminal can a line be overwritten. */
static bool is_terminal(void)
{
    const char *const kind = getenv("TERM");
    return isatty(STDERR_FILENO) && (kind == NULL || strcmp(kind, "dumb") != 0);
}

/** Removes the progress bar from the terminal, so that a line can be printed. */
static void clear_bar(const dsgd_progress_view *view)
{
    if (view->form == DSGD_PROGRESS_AUTO && is_terminal())
        fputs("\r\033[K", stderr);
}

enum { DIGITS = 15 }; /* number of significant digits; with this number, 0.1 is printed as 0.1 */

static void print_json(json_t *object)
{
    json_dumpf(object, stderr, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', stderr);
    fflush(stderr);
}

/** Returns the estimated remaining time in seconds, if @p share of the work took @p seconds. */
static double left_s(double seconds, double share)
{
    return share > 0 ? seconds * (1 - share) / share : INFINITY;
}

static const char *duration_text(double seconds)
{
    if (!isfinite(seconds))
        return "?";
    return seconds < 90 ? dsgd_xprintf("%.0f s", seconds) : dsgd_xprintf("%.1f min", seconds / 60);
}

bool dsgd_progress_is_due(const dsgd_progress_view *view)
{
    const double period_s = view->form == DSGD_PROGRESS_JSON ? 1 : is_terminal() ? 0.2 : 10;
    return view->form != DSGD_PROGRESS_OFF && dsgd_wall_s() - view->last_wall_s >= period_s;
}

static void show_json(const dsgd_progress_view *view, const dsgd_progress_now *now, bool last)
{
    const double wall_s = dsgd_wall_s() - view->start_wall_s;
    print_json(json_pack("{s: s, s: I, s: I, s: I, s: f, s: f, s: o?}", "event",
                         last ? "end" : "progress", "ended", (json_int_t)now->n_ended, "failed",
                         (json_int_t)now->n_failed, "runs", (json_int_t)now->n_runs, "share",
                         now->share, "wall_s", wall_s, "left_s",
                         json_real(left_s(wall_s, now->share))));
}

static void show_line(const dsgd_progress_view *view, const dsgd_progress_now *now, bool last)
{
    enum { WIDTH = 16 };
    char *line = dsgd_xstrdup("");
    const bool terminal = is_terminal();
    if (terminal) {
        const int n = (int)fmin(ceil(now->share * WIDTH), WIDTH);
        dsgd_append(&line, "[%.*s%.*s] ", n, "################", WIDTH - n, "................");
    }
    dsgd_append(&line, "%zu of %zu runs, %.0f %%, %s left", now->n_ended, now->n_runs,
                100 * now->share,
                duration_text(left_s(dsgd_wall_s() - view->start_wall_s, now->share)));
    for (size_t k = 0; k < now->n_running; k++) {
        const dsgd_running *const r = &now->running[k];
        const dsgd_planned_run *const run = &view->experiment->runs[r->i];
        dsgd_append(&line, "; %s %d: %.0f %%, %.4g virtual s, %s", run->label, run->config.workers,
                    100 * r->share, r->virtual_s, duration_text(left_s(r->wall_s, r->share)));
    }
    /* Cut the line to the width of the terminal, because a wrapped line cannot be overwritten. */
    if (terminal)
        fprintf(stderr, "\r\033[K%.*s%s",
                (int)dsgd_bytes_of(line,
                                   (size_t)dsgd_terminal_width(STDERR_FILENO, DSGD_TEXT_WIDTH) - 1),
                line, last ? "\n" : "");
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

void dsgd_progress_show(dsgd_progress_view *view, const dsgd_progress_now *now, bool last)
{
    view->last_wall_s = dsgd_wall_s();
    if (view->form == DSGD_PROGRESS_OFF)
        return;
    if (view->form == DSGD_PROGRESS_JSON)
        show_json(view, now, last);
    else if (now->n_runs == 0)
        fprintf(stderr, "nothing to do: %s has the results\n", view->results->folder);
    else
        show_line(view, now, last);
}

static const struct {
    const char *column, *before, *after; /* column of runs.csv, and the texts before and after the
                                          * column's value */
} figures[] = {
    {"throughput_samples_per_s", "", " samples/s"},
    {"final_loss", "loss ", ""},
    {"final_accuracy", "accuracy ", ""},
    {"wall_s", "", " s"},
};

enum { N_FIGURES = sizeof figures / sizeof figures[0] };

/**
 * Returns a swept value as JSON: a number if possible, otherwise a text. Returns null if the sweep
 * does not apply to the run.
 */
static json_t *swept_json(const char *text)
{
    double x = 0;
    if (text == NULL || !dsgd_parse_number(text, NULL, &x))
        return dsgd_json_text(text);
    return x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *row_json(const dsgd_progress_view *view, size_t i, const char *status)
{
    const dsgd_planned_run *const run = &view->experiment->runs[i];
    json_t *const swept = json_object();
    for (size_t k = 0; k < view->experiment->n_columns; k++)
        json_object_set_new(swept, view->experiment->columns[k], swept_json(run->swept[k]));
    json_t *const row = json_pack("{s: s, s: I, s: o, s: i, s: I, s: o, s: s}", "event", "run",
                                  "run", (json_int_t)i + 1, "algorithm", dsgd_json_text(run->label),
                                  "workers", run->config.workers, "seed",
                                  (json_int_t)run->config.seed, "swept", swept, "status", status);
    for (size_t k = 0; k < N_FIGURES; k++) {
        double x = NAN;
        dsgd_parse_number(dsgd_row_result(view->results, i, figures[k].column), NULL, &x);
        json_object_set_new(row, figures[k].column, json_pack("o?", json_real(x)));
    }
    return row;
}

static void print_row(const dsgd_progress_view *view, size_t i, const char *status)
{
    const dsgd_planned_run *const run = &view->experiment->runs[i];
    char *const swept = dsgd_row_swept(view->experiment, i);
    char *row =
        dsgd_xprintf("%s, %d workers, seed %llu%s%s:", run->label, run->config.workers,
                     (unsigned long long)run->config.seed, *swept == '\0' ? "" : ", ", swept);
    if (strcmp(status, "ok") != 0)
        dsgd_append(&row, " %s,", status);
    for (size_t k = 0; k < N_FIGURES; k++) {
        const char *const text = dsgd_row_result(view->results, i, figures[k].column);
        if (strcmp(text, "-") != 0)
            dsgd_append(&row, " %s%s%s%s", figures[k].before, text, figures[k].after,
                        k + 1 < N_FIGURES ? "," : "");
    }
    char *const heading = dsgd_xprintf("run %zu ", i + 1);
    clear_bar(view);
    dsgd_print_wrapped(stderr, heading, (int)strlen(heading), DSGD_TEXT_WIDTH, row);
}

void dsgd_progress_ended(const dsgd_progress_view *view, size_t i)
{
    enum { AT_ONCE_S = 2 };
    if (view->form == DSGD_PROGRESS_OFF ||
        (view->form == DSGD_PROGRESS_AUTO && dsgd_wall_s() - view->start_wall_s < AT_ONCE_S))
        return;
    void *const mark = dsgd_mark();
    const char *const status = dsgd_results_field(view->results, i, "status");
    if (view->form == DSGD_PROGRESS_JSON)
        print_json(row_json(view, i, status));
    else
        print_row(view, i, status);
    dsgd_drop(mark);
}

void dsgd_progress_say(const dsgd_progress_view *view, size_t i, const char *text)
{
    if (view->form == DSGD_PROGRESS_JSON) {
        print_json(json_pack("{s: s, s: I, s: o}", "event", "message", "run", (json_int_t)i + 1,
                             "text", dsgd_json_text(text)));
        return;
    }
    clear_bar(view);
    fprintf(stderr, "dsgd: run %zu: %s\n", i + 1, text);
}
