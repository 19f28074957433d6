/**
 * @file view.h
 * A timeline as it is shown: a row per chosen worker and per server, whose time is cut into what
 * `dsgd run` counts as compute, communicate and wait.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "sim/timeline.h"

typedef enum dsgd_tile_state {
    DSGD_TILE_FORWARD,
    DSGD_TILE_BACKWARD,
    DSGD_TILE_COMMUNICATE,
    DSGD_TILE_WAIT,
    DSGD_TILE_AWAY, /* it has failed, and is not back */
    DSGD_N_TILES
} dsgd_tile_state;

extern const char *const dsgd_tile_states[]; /* their names */

typedef struct dsgd_tile {
    dsgd_tile_state state;
    double since_s, end_s;
    const dsgd_span *wait; /* the verb in which it waits for longest; NULL: none, or no WAIT */
} dsgd_tile;

typedef struct dsgd_row {
    int host; /* workers by rank, then servers */
    double compute_s, communicate_s, wait_s; /* of a worker; while it is away it waits */
    int n_computed; /* gradients, or parts of them */
    size_t n_tiles; /* of a server none */
    dsgd_tile *tiles; /* [n_tiles], without gaps from the begin to the end of the window */
    size_t n_spans;
    const dsgd_span *const *spans; /* [n_spans] of this host, as they begin; messages to it, too */
} dsgd_row;

typedef struct dsgd_view {
    const dsgd_planned_run *run;
    const dsgd_timeline *timeline;
    int n_workers; /* of the run */
    size_t n_rows;
    dsgd_row *rows; /* [n_rows] */
    size_t *row_of; /* [hosts]: index of its row; n_rows: it has none */
    int straggler; /* the worker whose gradients take longest; -1: nobody's do, clearly */
} dsgd_view;

/**
 * Simulates one run by @p config, and cuts what it records of what @p wanted says. Of a run that
 * fails, which it says on stderr, that is what happened before.
 */
dsgd_status dsgd_view_open(const dsgd_planned_run *run, dsgd_run_config *config,
                           const dsgd_timeline *wanted, dsgd_view *view, dsgd_error *error);

/** The last of a row's tracks that has such a span; -1: there is none. */
int dsgd_view_last_track(const dsgd_row *row, dsgd_span_kind kind);

/** Of a track of passes: "stage 2", or, of several peers, "stage 2.1". */
char *dsgd_view_stage_name(const dsgd_view *view, const char *before, int track);

/** Where a span begins and ends in the window. */
double dsgd_view_since_s(const dsgd_view *view, const dsgd_span *span);
double dsgd_view_end_s(const dsgd_view *view, const dsgd_span *span);

/** Whether it is a step that begins in the window, where its number is shown. */
bool dsgd_view_begins_step(const dsgd_view *view, const dsgd_span *span);

/** "worker 3" or "server 0". */
char *dsgd_view_host_name(const dsgd_view *view, int host);

/**
 * "16 of 64 workers; worker 40 is waited for", the one of the others for whom it is longest; "all":
 * they are shown.
 */
const char *dsgd_view_shown(const dsgd_view *view);

/** "worker 3", "worker 3, the last of 15", or NULL: for whom a wait is. */
char *dsgd_view_waits_for(const dsgd_view *view, const dsgd_span *wait);

/** Whether a partial collective gets what was published before its version. */
bool dsgd_is_late(const dsgd_span *span);

/**
 * "v2:1": of a contribution that is late: to version 2, what was published in step 1; "v2:-":
 * nothing. NULL: it is none, or not of the first piece.
 */
char *dsgd_view_late_text(const dsgd_span *span);

/** Whether a wait is for others for more than a hundredth of it, and not for their messages. */
bool dsgd_is_held_up(const dsgd_view *view, const dsgd_span *wait);

/* --- what is written: to a stream, or to files, of which the first may be "-" ----------------- */

/** Chrome's trace events, JSON. */
void dsgd_view_write_json(const dsgd_view *view, FILE *stream);

/** A Gantt chart of at most @p width columns. */
void dsgd_view_print(const dsgd_view *view, int width, FILE *stream);

/** The table of the figure `timeline`. */
void dsgd_view_write_csv(const dsgd_view *view, FILE *stream);

/** Writes a text to a file, compressed if @p path ends in .gz. */
dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error);

/** Writes a text to a file, compressed if @p path ends in .gz. */
dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error);

/**
 * The algorithm's entry in an experiment file, such as {name: easgd, period: 2}; where it has none,
 * one with its name.
 */
char *dsgd_yaml_of(const char *path, const char *algorithm);

/**
 * Prints what four workers do under an algorithm, one of them slow, by the run of it in
 * plots/timeline/timeline.yaml; nothing where it refuses them. Simulates.
 */
void dsgd_timeline_print_example(const char *algorithm);
