/**
 * @file facts.c
 * Listens to a run (sim/timeline.h), and sums up what it hears.
 */
#include "command/studies/explain/facts.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/option.h"
#include "sim/timeline.h"

/* --- listening -------------------------------------------------------------------------------- */

typedef struct interval {
    double since_s, end_s;
} interval;

/** A wait in a verb until the last of those waited for did his part. */
typedef struct wait {
    interval at;
    int peer;
} wait;

/** A step's computation. */
typedef struct step {
    double compute_s, end_s; /* 0: not computed */
} step;

typedef struct heard {
    size_t n_steps, room;
    step *steps;
    interval computation; /* the last one */
    size_t n_waits, waits_room;
    wait *waits; /* since that ended: the next computation may have hidden them */
} heard;

typedef struct listener {
    int n_workers;
    long n_gradients;
    heard *workers; /* [n_workers] */
    double *held_s; /* [n_workers] */
} listener;

static double overlap_s(interval a, interval b)
{
    return fmax(0, fmin(a.end_s, b.end_s) - fmax(a.since_s, b.since_s));
}

/** Counts the waits but for those within the computation that has ended now. */
static void count_waits(listener *l, heard *w, interval now)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        const interval at = w->waits[i].at;
        if (at.since_s < now.since_s)
            l->held_s[w->waits[i].peer] += at.end_s - at.since_s - overlap_s(at, w->computation);
    }
    w->n_waits = 0;
}

static void hear_computation(listener *l, heard *w, const dsgd_span *span)
{
    const interval at = {span->since_s, span->end_s};
    const size_t k = (size_t)span->step;
    count_waits(l, w, at);
    w->computation = at;
    if (k >= w->room) {
        w->room = 2 * k + 64;
        w->steps = dsgd_xrealloc(w->steps, w->room, sizeof *w->steps);
    }
    while (w->n_steps <= k)
        w->steps[w->n_steps++] = (step){0, 0};
    w->steps[k].compute_s += at.end_s - at.since_s;
    w->steps[k].end_s = at.end_s;
    l->n_gradients++;
}

static void hear_wait(heard *w, const dsgd_span *span)
{
    const double end_s = fmin(span->turn_s, span->end_s);
    if (!(end_s > span->since_s))
        return;
    if (w->n_waits == w->waits_room) {
        w->waits_room = 2 * w->waits_room + 8;
        w->waits = dsgd_xrealloc(w->waits, w->waits_room, sizeof *w->waits);
    }
    w->waits[w->n_waits++] = (wait){{span->since_s, end_s}, span->peer};
}

static void hear(void *of, const dsgd_span *span)
{
    listener *const l = of;
    if (span->host >= l->n_workers)
        return;
    if (span->kind == DSGD_SPAN_COMPUTE && span->step >= 0 && !dsgd_is_cancelled(span))
        hear_computation(l, &l->workers[span->host], span);
    else if (span->kind == DSGD_SPAN_WAIT && span->track == 0 && span->peer >= 0 &&
             span->peer < l->n_workers)
        hear_wait(&l->workers[span->host], span);
}

/* --- summing up ------------------------------------------------------------------------------- */

static void sum_up_steps(const listener *l, dsgd_facts *f)
{
    size_t n = 0;
    for (int i = 0; i < f->n_workers; i++)
        f->n_steps = fmax(f->n_steps, l->workers[i].n_steps);
    f->compute_s = dsgd_xcalloc((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof(double));
    double *const all = dsgd_xcalloc((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof *all);
    for (int i = 0; i < f->n_workers; i++) {
        const heard *const w = &l->workers[i];
        double sum_s = 0;
        for (long t = 0; t < f->n_steps; t++) {
            const double s = t < (long)w->n_steps ? w->steps[t].compute_s : 0;
            f->compute_s[i * f->n_steps + t] = s > 0 ? s : NAN;
            if (!(s > 0))
                continue;
            all[n++] = s;
            sum_s += s;
            f->workers[i].n_steps++;
        }
        f->workers[i].compute_s = sum_s / (double)f->workers[i].n_steps; /* 0 / 0 is NAN */
        f->workers[i].held_s = l->held_s[i];
    }
    gsl_sort(all, 1, n);
    if (n > 0) {
        f->shortest_s = all[0];
        f->longest_s = all[n - 1];
        f->gradient_s =
            gsl_stats_median_from_sorted_data(all, 1, n) * (double)n / (double)l->n_gradients;
    }
    free(all);
}

/** Who ended the computation of step @p t last counts; of several at one instant all, unless all do. */
static void find_last(const listener *l, long t, double *n_last)
{
    static const double instant = 1e-9; /* of the time */
    double last_s = 0;
    int n = 0;
    for (int i = 0; i < l->n_workers; i++)
        last_s = fmax(last_s, l->workers[i].steps[t].end_s);
    for (int i = 0; i < l->n_workers; i++)
        n += l->workers[i].steps[t].end_s >= last_s * (1 - instant);
    for (int i = 0; n < l->n_workers && i < l->n_workers; i++)
        n_last[i] += l->workers[i].steps[t].end_s >= last_s * (1 - instant);
}

static void sum_up_order(const listener *l, dsgd_facts *f)
{
    const size_t n = (size_t)f->n_workers;
    long common = f->n_steps;
    for (int i = 0; i < f->n_workers; i++)
        common = (long)l->workers[i].n_steps < common ? (long)l->workers[i].n_steps : common;
    double *const n_last = dsgd_xcalloc(n, sizeof *n_last);
    for (long t = 0; t < common; t++)
        find_last(l, t, n_last);
    double *const means = dsgd_xcalloc(n, sizeof *means);
    size_t *const order = dsgd_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        f->workers[i].last = common > 0 ? n_last[i] / (double)common : 0;
        means[i] = isnan(f->workers[i].compute_s) ? 0 : f->workers[i].compute_s;
    }
    gsl_sort_index(order, means, 1, n);
    f->slowest = (int)order[n - 1];
    f->median = (int)order[(n - 1) / 2];
    free(order);
    free(means);
    free(n_last);
}

static void sum_up(listener *l, const dsgd_run_result *result, dsgd_facts *f)
{
    *f = (dsgd_facts){.n_workers = l->n_workers,
                      .n_loads = result->n_loads,
                      .loads = result->loads,
                      .virtual_s = result->virtual_s,
                      .steps = result->steps};
    f->workers = dsgd_xcalloc((size_t)l->n_workers, sizeof *f->workers);
    for (int i = 0; i < l->n_workers; i++) {
        count_waits(l, &l->workers[i], (interval){INFINITY, INFINITY});
        f->workers[i].place = result->worker_places[i];
    }
    sum_up_steps(l, f);
    sum_up_order(l, f);
}

static void listener_close(listener *l)
{
    for (int i = 0; i < l->n_workers; i++) {
        free(l->workers[i].steps);
        free(l->workers[i].waits);
    }
    free(l->workers);
    free(l->held_s);
}

/* --- the file, which never leaves the machine ------------------------------------------------- */

/** Links beyond these are not looked at. */
enum { LINK_NAME = 64 };

typedef struct load_record {
    char link[LINK_NAME];
    double bytes, bytes_per_s;
} load_record;

static dsgd_status write_facts(const dsgd_facts *f, const char *path, dsgd_error *error)
{
    FILE *const stream = fopen(path, "wb");
    const size_t n = (size_t)f->n_workers;
    bool good = stream != NULL && fwrite(f, sizeof *f, 1, stream) == 1 &&
                fwrite(f->workers, sizeof *f->workers, n, stream) == n &&
                fwrite(f->compute_s, sizeof(double) * (size_t)f->n_steps, n, stream) ==
                    (f->n_steps > 0 ? n : 0);
    for (size_t i = 0; good && i < f->n_loads; i++) {
        load_record record = {.bytes = f->loads[i].bytes, .bytes_per_s = f->loads[i].bytes_per_s};
        snprintf(record.link, sizeof record.link, "%s", f->loads[i].link);
        good = fwrite(&record, sizeof record, 1, stream) == 1;
    }
    if (stream != NULL)
        good = fclose(stream) == 0 && good;
    return good ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "%s: it cannot be written: %m", path);
}

dsgd_status dsgd_facts_read(const char *path, dsgd_facts *facts, dsgd_error *error)
{
    FILE *const stream = fopen(path, "rb");
    bool good = stream != NULL && fread(facts, sizeof *facts, 1, stream) == 1;
    if (!good)
        *facts = (dsgd_facts){0};
    const size_t n = (size_t)facts->n_workers;
    const size_t n_cells = n * (size_t)facts->n_steps;
    facts->workers = dsgd_xcalloc(n + 1, sizeof *facts->workers);
    facts->compute_s = dsgd_xcalloc(n_cells + 1, sizeof *facts->compute_s);
    facts->loads = dsgd_xcalloc(facts->n_loads + 1, sizeof *facts->loads);
    good = good && fread(facts->workers, sizeof *facts->workers, n, stream) == n &&
           fread(facts->compute_s, sizeof(double), n_cells, stream) == n_cells;
    for (size_t i = 0; good && i < facts->n_loads; i++) {
        load_record record;
        good = fread(&record, sizeof record, 1, stream) == 1;
        if (good)
            facts->loads[i] =
                (dsgd_load){dsgd_xstrdup(record.link), record.bytes, record.bytes_per_s};
    }
    if (stream != NULL)
        fclose(stream);
    return good ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "%s: what was recorded is not there", path);
}

void dsgd_facts_free(dsgd_facts *facts)
{
    for (size_t i = 0; facts->loads != NULL && i < facts->n_loads; i++)
        free(facts->loads[i].link);
    free(facts->loads);
    free(facts->workers);
    free(facts->compute_s);
    *facts = (dsgd_facts){0};
}

dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *path, dsgd_error *error)
{
    const size_t n = (size_t)config->workers;
    listener l = {.n_workers = config->workers,
                  .workers = dsgd_xcalloc(n, sizeof *l.workers),
                  .held_s = dsgd_xcalloc(n, sizeof *l.held_s)};
    bool *const all = dsgd_xcalloc(n, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = true;
    dsgd_timeline timeline = {.end_step = LONG_MAX, .chosen = all, .ended = hear, .listener = &l};
    dsgd_run_config watched = *config;
    watched.timeline = &timeline;
    watched.loads = true;
    dsgd_status status = dsgd_simulate(&watched, result, error);
    if (status == DSGD_OK) {
        dsgd_facts facts;
        sum_up(&l, result, &facts);
        status = write_facts(&facts, path, error);
        free(facts.workers);
        free(facts.compute_s);
    }
    dsgd_timeline_free(&timeline);
    listener_close(&l);
    free(all);
    return status;
}
