/**
 * @file view.h
 * Defines a view of a timeline, with one row per selected worker and per server. The time of a
 * worker is divided into tiles, in the same way as `dsgd run` counts computation, communication and
 * waiting.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "sim/timeline.h"

typedef enum dsgd_tile_state {
    DSGD_TILE_FORWARD,
    DSGD_TILE_BACKWARD,
    DSGD_TILE_COMMUNICATE,
    DSGD_TILE_WAIT,
    DSGD_TILE_AWAY, /* The worker has failed and has not rejoined yet. */
    DSGD_N_TILES
} dsgd_tile_state;

/* names of the states of a tile, in the order of dsgd_tile_state */
extern const char *const dsgd_tile_states[];

typedef struct dsgd_tile {
    dsgd_tile_state state;
    double since_s, end_s;
    const dsgd_span *wait; /* longest wait in a verb during this tile; NULL if the state is not
                            * DSGD_TILE_WAIT or if there is no such wait */
} dsgd_tile;

typedef struct dsgd_row {
    int host; /* number of the host; the numbers of workers are their ranks, and servers follow */
    double compute_s, communicate_s, wait_s; /* total times of a worker in the window, in seconds;
                                              * the time of a failed worker counts as waiting */
    int n_computed; /* number of gradients that the worker computed; parts of gradients count as
                     * gradients */
    size_t n_tiles; /* number of tiles; 0 for a server */
    dsgd_tile *tiles; /* array of n_tiles tiles; together they cover the whole window */
    size_t n_spans;
    const dsgd_span *const *spans; /* array of n_spans spans, sorted by start time: spans of this
                                    * host, and messages to this host */
} dsgd_row;

typedef struct dsgd_view {
    const dsgd_planned_run *run;
    const dsgd_timeline *timeline;
    int n_workers; /* number of workers of the run */
    size_t n_rows;
    dsgd_row *rows; /* array of n_rows rows */
    size_t *row_of; /* array with the row index of each host; the index is n_rows if the host has no
                     * row */
    int straggler; /* rank of the worker whose gradients take clearly longest; -1 if no worker is so
                    * slow */
} dsgd_view;

/**
 * Simulates a run, records the window that @p wanted describes, and divides the window into tiles.
 * If the run fails, prints the error on stderr; the view then shows the time before the failure.
 */
dsgd_status dsgd_view_open(const dsgd_planned_run *run, dsgd_run_config *config,
                           const dsgd_timeline *wanted, dsgd_view *view, dsgd_error *error);

/**
 * Returns the largest track number that spans of kind @p kind have in a row. Returns -1 if the row
 * has no such span.
 */
int dsgd_view_last_track(const dsgd_row *row, dsgd_span_kind kind);

/**
 * Returns the name of a track of pipeline passes, such as "stage 2". If stages have several peers,
 * the name is, for example, "stage 2.1".
 */
char *dsgd_view_stage_name(const dsgd_view *view, const char *before, int track);

/**
 * Returns the start of the part of a span that is inside the window, in seconds. The second
 * function returns the end of this part.
 */
double dsgd_view_since_s(const dsgd_view *view, const dsgd_span *span);
double dsgd_view_end_s(const dsgd_view *view, const dsgd_span *span);

/**
 * Returns true if a span is a step that starts in the window. The chart shows the numbers of such
 * steps.
 */
bool dsgd_view_begins_step(const dsgd_view *view, const dsgd_span *span);

/** Returns the name of a host: "worker 3" or "server 0". */
char *dsgd_view_host_name(const dsgd_view *view, int host);

/**
 * Returns a text about the workers that the view shows: "all", or for example "16 of 64 workers;
 * worker 40 is waited for". In this example, worker 40 is hidden, and the shown workers wait
 * longest for worker 40.
 */
const char *dsgd_view_shown(const dsgd_view *view);

/**
 * Returns a text with the worker that caused a wait: "worker 3", or "worker 3, the last of 15".
 * Returns NULL if no worker caused the wait.
 */
char *dsgd_view_waits_for(const dsgd_view *view, const dsgd_span *wait);

/**
 * Returns true if a contribution to a partial collective is late. Then its value is older than the
 * version of the collective.
 */
bool dsgd_is_late(const dsgd_span *span);

/**
 * Returns the text for a late contribution: "v2:1" if version 2 receives the value of step 1, or
 * "v2:-" if version 2 receives nothing. Returns NULL for other spans, and for chunks after the
 * first chunk.
 */
char *dsgd_view_late_text(const dsgd_span *span);

/**
 * Returns true if a worker waits for other workers in more than a hundredth of a wait. Waiting only
 * for the messages of other workers does not count.
 */
bool dsgd_is_held_up(const dsgd_view *view, const dsgd_span *wait);

/* --- output ----------------------------------------------------------------------------------- */

/** Writes the view as JSON in Chrome's trace event format. */
void dsgd_view_write_json(const dsgd_view *view, FILE *stream);

/** Prints a Gantt chart with at most @p width columns. */
void dsgd_view_print(const dsgd_view *view, int width, FILE *stream);

/** Writes the table of the figure `timeline` as CSV. */
void dsgd_view_write_csv(const dsgd_view *view, FILE *stream);

/** Writes a text to a file, compressed if @p path ends in .gz. */
dsgd_status dsgd_text_write(const char *path, const char *text, size_t n, dsgd_error *error);

/**
 * Returns the entry of an algorithm in an experiment file, such as {name: easgd, period: 2}. If the
 * file contains no such entry, returns an entry with only the name.
 */
char *dsgd_yaml_of(const char *path, const char *algorithm);

/**
 * Simulates an algorithm in the experiment plots/timeline/timeline.yaml. Prints a chart of the
 * run's four workers, one of which is slow. Prints nothing if the algorithm rejects the run.
 */
void dsgd_timeline_print_example(const char *algorithm);
