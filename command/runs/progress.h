/**
 * @file progress.h
 * Shows the progress of runs on stderr: a bar on a terminal, lines in a file, or JSON for programs.
 * Prints a row for each run that ends.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

typedef enum dsgd_progress_form {
    DSGD_PROGRESS_AUTO, /* a bar on a terminal; if stderr is not a terminal, a line every 10 s */
    DSGD_PROGRESS_JSON, /* one JSON object per line */
    DSGD_PROGRESS_OFF
} dsgd_progress_form;

/* words of option --progress; NULL ends the array */
extern const char *const dsgd_progress_forms[];

/** The progress of a run that is being executed. */
typedef struct dsgd_running {
    size_t i; /* index of the run in the experiment */
    double share; /* share of the run that is finished */
    double virtual_s, wall_s; /* virtual time and wall time of the run so far, in seconds */
} dsgd_running;

typedef struct dsgd_progress_now {
    size_t n_ended, n_failed, n_runs; /* number of ended runs, of failed runs, and of all runs of
                                       * this command */
    double share; /* share of the work of all runs that is finished */
    size_t n_running;
    const dsgd_running *running;
} dsgd_progress_now;

/** The state of the progress display. */
typedef struct dsgd_progress_view {
    dsgd_progress_form form;
    const dsgd_experiment *experiment;
    const dsgd_results *results;
    double start_wall_s, last_wall_s; /* wall time at the start of the first run, and at the last
                                       * progress line, in seconds */
} dsgd_progress_view;

/**
 * Returns true if the next progress line is due. Only in this case must the caller compute the
 * content of the line.
 */
bool dsgd_progress_is_due(const dsgd_progress_view *view);

/** Shows a progress line. @p last is true if all runs have ended or were stopped. */
void dsgd_progress_show(dsgd_progress_view *view, const dsgd_progress_now *now, bool last);

/**
 * Shows a row of run @p i, which has ended. During the first two seconds, shows the row only if the
 * form is JSON, because the table of runs follows soon.
 */
void dsgd_progress_ended(const dsgd_progress_view *view, size_t i);

/** Prints a message about run @p i. Prints it even if --progress is off. */
void dsgd_progress_say(const dsgd_progress_view *view, size_t i, const char *text);
