/**
 * @file progress.h
 * How far the runs are, on stderr: a bar on a terminal, lines elsewhere, or JSON for programs; and
 * a row of each run that ended.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

typedef enum dsgd_progress_form {
    DSGD_PROGRESS_AUTO, /* a bar on a terminal, else a line every 10 s */
    DSGD_PROGRESS_JSON, /* a JSON object per line */
    DSGD_PROGRESS_OFF
} dsgd_progress_form;

extern const char *const dsgd_progress_forms[]; /* their words, and NULL */

/** A run under way. */
typedef struct dsgd_running {
    size_t i; /* in the experiment */
    double share; /* that is done */
    double virtual_s, wall_s; /* so far */
} dsgd_running;

typedef struct dsgd_progress_now {
    size_t n_ended, n_failed, n_runs; /* of this command */
    double share; /* of the work that is done */
    size_t n_running;
    const dsgd_running *running;
} dsgd_progress_now;

/** What shows progress. */
typedef struct dsgd_progress_view {
    dsgd_progress_form form;
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    double start_wall_s, last_wall_s; /* of the first run; of the last line */
} dsgd_progress_view;

/** Whether a line is due, so that what it says need not be found out for nothing. */
bool dsgd_progress_is_due(const dsgd_progress_view *view);

/** A line. @p last: all have ended, or are ended. */
void dsgd_progress_show(dsgd_progress_view *view, const dsgd_progress_now *now, bool last);

/**
 * A row of run @p i, which has ended. Not within the first two seconds, unless as JSON: what takes
 * no longer is in the table at once.
 */
void dsgd_progress_ended(const dsgd_progress_view *view, size_t i);

/** A sentence on run @p i; also where the form is OFF. */
void dsgd_progress_say(const dsgd_progress_view *view, size_t i, const char *text);
