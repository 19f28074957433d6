/**
 * @file facts.c
 * Listens to a run (sim/timeline.h), and sums up what it hears.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/studies/explain/attribution.h"
#include "sim/timeline.h"

const char *const dsgd_counterfactual_names[] = {
    "without stragglers",       "without the slowest worker", "with an idle network",
    "with twice the bandwidth", "with half the latency",      "without reduction cost",
    "without staging",          "as it is, by steps"};

size_t dsgd_counterfactual_run(const dsgd_experiment *experiment, size_t i,
                               dsgd_counterfactual which)
{
    return experiment->n_unchanged + i * DSGD_N_COUNTERFACTUALS + which;
}

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

/** Counts the waits but for those within the computation that has ended now. */
static void count_waits(listener *l, heard *w, interval now)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        const interval at = w->waits[i].at, before = w->computation;
        const double overlap_s =
            fmax(0, fmin(at.end_s, before.end_s) - fmax(at.since_s, before.since_s));
        if (at.since_s < now.since_s)
            l->held_s[w->waits[i].peer] += at.end_s - at.since_s - overlap_s;
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
        w->steps = dsgd_keep_more(w->steps, w->room, sizeof *w->steps);
    }
    while (w->n_steps <= k)
        w->steps[w->n_steps++] = (step){0, 0};
    w->steps[k].compute_s += at.end_s - at.since_s;
    w->steps[k].end_s = at.end_s;
    l->n_gradients++;
}

static void hear(void *of, const dsgd_span *span)
{
    listener *const l = of;
    if (span->host >= l->n_workers)
        return;
    if (span->kind == DSGD_SPAN_COMPUTE && span->step >= 0 && !dsgd_is_cancelled(span))
        hear_computation(l, &l->workers[span->host], span);
    if (span->kind == DSGD_SPAN_WAIT && span->track == 0 && span->peer >= 0 &&
        span->peer < l->n_workers && fmin(span->turn_s, span->end_s) > span->since_s) {
        heard *const w = &l->workers[span->host];
        if (w->n_waits == w->waits_room) {
            w->waits_room = 2 * w->waits_room + 8;
            w->waits = dsgd_keep_more(w->waits, w->waits_room, sizeof *w->waits);
        }
        w->waits[w->n_waits++] =
            (wait){{span->since_s, fmin(span->turn_s, span->end_s)}, span->peer};
    }
}

/* --- summing up ------------------------------------------------------------------------------- */

static void sum_up_steps(const listener *l, dsgd_facts *f)
{
    size_t n = 0;
    for (int i = 0; i < f->n_workers; i++)
        f->n_steps = fmax(f->n_steps, l->workers[i].n_steps);
    f->compute_s = dsgd_keep((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof(double));
    double *const all = dsgd_keep((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof *all);
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
}

/**
 * Who ended the computation of a step last, of the steps that all have; of several at one instant all
 * count, unless all workers do. And who is slowest.
 */
static void sum_up_order(const listener *l, dsgd_facts *f)
{
    static const double instant = 1e-9; /* of the time */
    const size_t n = (size_t)f->n_workers;
    size_t common = (size_t)f->n_steps;
    double *const means = dsgd_keep(n, sizeof *means);
    size_t *const order = dsgd_keep(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        common = l->workers[i].n_steps < common ? l->workers[i].n_steps : common;
        means[i] = isnan(f->workers[i].compute_s) ? 0 : f->workers[i].compute_s;
    }
    for (size_t t = 0; t < common; t++) {
        double last_s = 0;
        size_t n_last = 0;
        for (size_t i = 0; i < n; i++)
            last_s = fmax(last_s, l->workers[i].steps[t].end_s);
        for (size_t i = 0; i < n; i++)
            n_last += l->workers[i].steps[t].end_s >= last_s * (1 - instant);
        for (size_t i = 0; n_last < n && i < n; i++)
            f->workers[i].last += l->workers[i].steps[t].end_s >= last_s * (1 - instant);
    }
    for (size_t i = 0; i < n; i++)
        f->workers[i].last /= common > 0 ? (double)common : 1;
    gsl_sort_index(order, means, 1, n);
    f->slowest = (int)order[n - 1];
    f->median = (int)order[(n - 1) / 2];
}

/* --- the file, which never leaves the machine ------------------------------------------------- */

/** That of run @p i; the caller closes it. NULL: there is none, or it cannot be written. */
static FILE *facts_file(const char *folder, size_t i, const char *mode)
{
    char *const path = dsgd_xprintf("%s/%zu.facts", folder, i + 1);
    FILE *const stream = fopen(path, mode);
    return stream;
}

static dsgd_status write_facts(const dsgd_facts *f, const char *folder, size_t i, dsgd_error *error)
{
    FILE *const stream = facts_file(folder, i, "wb");
    const size_t n = (size_t)f->n_workers, n_cells = n * (size_t)f->n_steps;
    bool good = stream != NULL && fwrite(f, sizeof *f, 1, stream) == 1 &&
                fwrite(f->workers, sizeof *f->workers, n, stream) == n &&
                fwrite(f->compute_s, sizeof *f->compute_s, n_cells, stream) == n_cells &&
                fwrite(f->links, sizeof *f->links, f->n_links, stream) == f->n_links;
    if (stream != NULL)
        good = fclose(stream) == 0 && good;
    return good ? DSGD_OK
                : dsgd_fail(error, DSGD_EIO, "%s/%zu.facts: it cannot be written: %m", folder,
                            i + 1);
}

dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error)
{
    FILE *const stream = facts_file(folder, i, "rb");
    bool good = stream != NULL && fread(facts, sizeof *facts, 1, stream) == 1;
    if (!good)
        *facts = (dsgd_facts){0};
    const size_t n = (size_t)facts->n_workers, n_cells = n * (size_t)facts->n_steps;
    facts->workers = dsgd_keep(n + 1, sizeof *facts->workers);
    facts->compute_s = dsgd_keep(n_cells + 1, sizeof *facts->compute_s);
    facts->links = dsgd_keep(facts->n_links + 1, sizeof *facts->links);
    good = good && fread(facts->workers, sizeof *facts->workers, n, stream) == n &&
           fread(facts->compute_s, sizeof *facts->compute_s, n_cells, stream) == n_cells &&
           fread(facts->links, sizeof *facts->links, facts->n_links, stream) == facts->n_links;
    if (stream != NULL)
        fclose(stream);
    return good ? DSGD_OK
                : dsgd_fail(error, DSGD_EIO, "%s/%zu.facts: what was recorded is not there", folder,
                            i + 1);
}

dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error)
{
    const size_t n = (size_t)config->workers;
    listener l = {.n_workers = config->workers,
                  .workers = dsgd_keep(n, sizeof *l.workers),
                  .held_s = dsgd_keep(n, sizeof *l.held_s)};
    bool *const all = dsgd_keep(n, sizeof *all);
    for (size_t k = 0; k < n; k++)
        all[k] = true;
    dsgd_timeline timeline = {.end_step = LONG_MAX, .chosen = all, .ended = hear, .listener = &l};
    dsgd_run_config watched = *config;
    watched.timeline = &timeline;
    watched.loads = true;
    dsgd_status status = dsgd_simulate(&watched, result, error);
    if (status == DSGD_OK) {
        dsgd_facts f = {.n_workers = l.n_workers,
                        .workers = dsgd_keep(n, sizeof *f.workers),
                        .n_links = result->n_loads,
                        .links = dsgd_keep(result->n_loads + 1, sizeof *f.links),
                        .virtual_s = result->virtual_s,
                        .steps = result->steps};
        for (size_t k = 0; k < n; k++) {
            count_waits(&l, &l.workers[k], (interval){INFINITY, INFINITY});
            f.workers[k].place = result->worker_places[k];
        }
        for (size_t k = 0; k < f.n_links; k++) {
            const dsgd_load *const load = &result->loads[k];
            f.links[k].bytes = load->bytes;
            f.links[k].bytes_per_s = load->bytes_per_s;
            snprintf(f.links[k].link, sizeof f.links[k].link, "%s", load->link);
        }
        sum_up_steps(&l, &f);
        sum_up_order(&l, &f);
        status = write_facts(&f, folder, i, error);
    }
    dsgd_timeline_free(&timeline);
    for (size_t k = 0; k < n; k++) {
    }
    return status;
}
