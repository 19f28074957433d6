/**
 * @file view.h
 * A timeline as it is shown: one row per chosen worker and per server. The time of a worker is cut
 * into tiles, which `dsgd run` counts as computation, communication or waiting.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "sim/timeline.h"

typedef enum dsgd_tile_state {
    DSGD_TILE_FORWARD,
    DSGD_TILE_BACKWARD,
    DSGD_TILE_COMMUNICATE,
    DSGD_TILE_WAIT,
    DSGD_TILE_AWAY, /* the worker has failed and has not rejoined yet */
    DSGD_N_TILES
} dsgd_tile_state;

extern const char *const dsgd_tile_states[]; /* names of the states */

typedef struct dsgd_tile {
    dsgd_tile_state state;
    double since_s, end_s;
    const dsgd_span
        *wait; /* longest wait in a verb during a WAIT; NULL if none, or for another state */
} dsgd_tile;

typedef struct dsgd_row {
    int host; /* ranks of workers, followed by servers */
    double compute_s, communicate_s, wait_s; /* times of a worker; a failed worker waits */
    int n_computed; /* number of gradients, or of parts of gradients */
    size_t n_tiles; /* 0 for a server */
    dsgd_tile *tiles; /* [n_tiles], without gaps from the start to the end of the window */
    size_t n_spans;
    const dsgd_span *const *spans; /* [n_spans] of this host and messages to it, by start time */
} dsgd_row;

typedef struct dsgd_view {
    const dsgd_planned_run *run;
    const dsgd_timeline *timeline;
    int n_workers; /* number of workers of the run */
    size_t n_rows;
    dsgd_row *rows; /* [n_rows] */
    size_t *row_of; /* [hosts]: index of the host's row; n_rows if it has none */
    int straggler; /* the worker whose gradients clearly take longest; -1 if none exists */
} dsgd_view;

/**
 * Simulates one run by @p config, records the window that @p wanted describes, and cuts it into
 * tiles. If the run fails, the function prints the error on stderr, and the view shows the time
 * before the failure.
 */
dsgd_status dsgd_view_open(const dsgd_planned_run *run, dsgd_run_config *config,
                           const dsgd_timeline *wanted, dsgd_view *view, dsgd_error *error);

/** Returns the last track of a row that has a span of this kind, or -1. */
int dsgd_view_last_track(const dsgd_row *row, dsgd_span_kind kind);

/** Returns the name of a track of passes: "stage 2", or "stage 2.1" if stages have several peers.
 */
char *dsgd_view_stage_name(const dsgd_view *view, const char *before, int track);

/** Returns when the part of a span that is in the window starts, and when it ends. */
double dsgd_view_since_s(const dsgd_view *view, const dsgd_span *span);
double dsgd_view_end_s(const dsgd_view *view, const dsgd_span *span);

/** Returns true if the span is a step that starts in the window; its number is shown there. */
bool dsgd_view_begins_step(const dsgd_view *view, const dsgd_span *span);

/** Returns the name of a host: "worker 3" or "server 0". */
char *dsgd_view_host_name(const dsgd_view *view, int host);

/**
 * Returns which workers are shown: "all", or for example "16 of 64 workers; worker 40 is waited
 * for", where worker 40 is the hidden worker for which the shown ones wait longest.
 */
const char *dsgd_view_shown(const dsgd_view *view);

/** Returns for which worker a wait is: "worker 3", "worker 3, the last of 15", or NULL. */
char *dsgd_view_waits_for(const dsgd_view *view, const dsgd_span *wait);

/** Returns true if a partial collective receives a value that was published before its version. */
bool dsgd_is_late(const dsgd_span *span);

/**
 * Returns the text of a late contribution: "v2:1" if version 2 receives the value that was
 * published in step 1, or "v2:-" if it receives nothing. Returns NULL for other spans and for
 * chunks after the first.
 */
char *dsgd_view_late_text(const dsgd_span *span);

/** Returns true if more than a hundredth of a wait is for other workers instead of their messages.
 */
bool dsgd_is_held_up(const dsgd_view *view, const dsgd_span *wait);

/* --- output ----------------------------------------------------------------------------------- */

/** Writes the view as JSON in Chrome's trace event format. */
void dsgd_view_write_json(const dsgd_view *view, FILE *stream);

/** Prints a Gantt chart of at most @p width columns. */
void dsgd_view_print(const dsgd_view *view, int width, FILE *stream);

/** Writes the table of the figure `timeline`. */
void dsgd_view_write_csv(const dsgd_view *view, FILE *stream);

/** Writes a text to a file, compressed if @p path ends in .gz. */
dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error);

/** Writes a text to a file, compressed if @p path ends in .gz. */
dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error);

/**
 * Returns the algorithm's entry in an experiment file, such as {name: easgd, period: 2}, or an
 * entry with only its name if the file has none.
 */
char *dsgd_yaml_of(const char *path, const char *algorithm);

/**
 * Simulates the run of an algorithm in plots/timeline/timeline.yaml and prints a chart of its four
 * workers, one of which is slow. Prints nothing if the algorithm rejects the run.
 */
void dsgd_timeline_print_example(const char *algorithm);
