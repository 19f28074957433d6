/**
 * @file step_log.c
 * Imports step times from a training program's log. A time covers a whole step, including the part
 * of its exchanges that does not overlap with computation.
 */
#include "traces/step_log.h"

#include <gsl/gsl_sort.h>

#include "command/import/steps.h"

enum { LEAST_TIMES = 3 };

/** Step times of the first log. Later logs are rejected. */
typedef struct work {
    dsgd_step_log log;
    const char *path;
    double median_s;
    bool settles; /* true if the first time is ignored, because it includes compiling and caching */
} work;

static bool recognise(const char *head)
{
    /*
     * Accept all texts except texts in other formats, because much other output can precede the
     * steps.
     */
    return strchr("{<", head[strspn(head, " \t\r\n")]) == NULL;
}

static dsgd_status read(dsgd_import *m, const char *path, void *state, dsgd_error *error)
{
    char *text = NULL;
    DSGD_TRY(dsgd_import_text(path, &text, error));
    dsgd_step_log log = dsgd_step_log_read(text);
    if (log.tool == NULL)
        return DSGD_OK;
    if (log.n < LEAST_TIMES)
        return dsgd_refuse(
            error,
            "%s: %zu steps of %s have a time, and %zu do not; at least %d times are needed; %s",
            path, log.n, log.tool, log.left_out, LEAST_TIMES,
            "give a longer log with its clock, and with decimal points");
    const bool settles = log.n > 2 * LEAST_TIMES;
    double *const s = dsgd_keep(log.n, sizeof *s);
    const size_t n = log.n - settles;
    memcpy(s, log.seconds + settles, n * sizeof *s);
    gsl_sort(s, 1, n);
    work w = {log, dsgd_xstrdup(path), s[(n - 1) / 2], settles};
    dsgd_import_gave(
        m, "lines %.0f-%.0f: %zu times of %s, median %.4g s (9 of 10 up to %.4g s)%s",
        log.lines[settles], log.lines[log.n - 1], n, log.tool, w.median_s, s[(n - 1) * 9 / 10],
        log.steps_per_line > 1 ? dsgd_xprintf(", each a mean of %.0f steps", log.steps_per_line)
                               : "");
    if (log.left_out > 0)
        dsgd_import_gave(m, "skipped: %zu lines without a time", log.left_out);
    work *const first = state;
    if (first->path != NULL)
        return dsgd_refuse(error, "%s: %s already contains step times; give the log of one run",
                           path, first->path);
    *first = w;
    return DSGD_OK;
}

static dsgd_status finish(dsgd_import *m, void *state, dsgd_error *error)
{
    const work *const w = state;
    const char *const from = dsgd_xprintf("%s:%.0f-%.0f, whole steps", w->path, w->log.lines[0],
                                          w->log.lines[w->log.n - 1]);
    (void)error;
    /* A profile contains more information than a log, so use only the profile. */
    if (m->parts[DSGD_IMPORT_WORKLOAD] != NULL)
        return DSGD_OK;
    dsgd_steps all = {.file = w->path,
                      .column = "steps",
                      .is_whole = true,
                      .n = w->log.n - w->settles,
                      .seconds = w->log.seconds + w->settles};
    double mean_s = NAN;
    if (w->log.steps_per_line > 1)
        printf(
            "imbalance: none from %s, because each time is a mean of %.0f steps; log every step\n",
            w->path, w->log.steps_per_line);
    else
        mean_s = dsgd_import_steps(m, &all);
    dsgd_import_step(m, isnan(mean_s) ? w->median_s : mean_s, from);
    if (w->log.batch > 0 && m->ranks > 0)
        dsgd_import_line(m, DSGD_IMPORT_WORKLOAD, from, "samples: %.6g",
                         w->log.batch / (double)m->ranks);
    printf("warning: %s: the step times of a log include exchanges that do not overlap with "
           "computation, so that the workload's step is too long; give a PyTorch profile of each "
           "rank to separate them\n",
           w->path);
    return DSGD_OK;
}

const dsgd_import_reader dsgd_import_step_log = {
    .name = "training log",
    .gives = "step times in a training log",
    .recognise = recognise,
    .read = read,
    .state_bytes = sizeof(work),
    .finish = finish,
};
