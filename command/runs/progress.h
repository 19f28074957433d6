/**
 * @file progress.h
 * Shows the progress of runs on stderr: a bar on a terminal, lines elsewhere, or JSON for programs,
 * and a row for each run that ends.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

typedef enum dsgd_progress_form {
    DSGD_PROGRESS_AUTO, /* a bar on a terminal, else a line every 10 s */
    DSGD_PROGRESS_JSON, /* a JSON object per line */
    DSGD_PROGRESS_OFF
} dsgd_progress_form;

extern const char *const dsgd_progress_forms[]; /* the words of the option, and NULL */

/** A running run. */
typedef struct dsgd_running {
    size_t i; /* index of the run in the experiment */
    double share; /* share of the run that is done */
    double virtual_s, wall_s; /* so far */
} dsgd_running;

typedef struct dsgd_progress_now {
    size_t n_ended, n_failed, n_runs; /* runs of this command */
    double share; /* share of the work that is done */
    size_t n_running;
    const dsgd_running *running;
} dsgd_progress_now;

/** The state of the progress display. */
typedef struct dsgd_progress_view {
    dsgd_progress_form form;
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    double start_wall_s, last_wall_s; /* wall time of the first run, and of the last line */
} dsgd_progress_view;

/** Returns whether a line is due. The caller computes its contents only if it is. */
bool dsgd_progress_is_due(const dsgd_progress_view *view);

/** Shows a line. @p last is true after all runs ended or were stopped. */
void dsgd_progress_show(dsgd_progress_view *view, const dsgd_progress_now *now, bool last);

/**
 * Shows a row of run @p i, which has ended. Shows none within the first two seconds, except as
 * JSON, because the table follows at once.
 */
void dsgd_progress_ended(const dsgd_progress_view *view, size_t i);

/** Prints a message about run @p i, also if the form is OFF. */
void dsgd_progress_say(const dsgd_progress_view *view, size_t i, const char *text);
