/**
 * @file facts.c
 * Receives the timeline spans of a run (sim/timeline.h) and computes the facts about this run.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "command/studies/explain/attribution.h"
#include "sim/timeline.h"

/* --- record of spans -------------------------------------------------------------------------- */

typedef struct interval {
    double since_s, end_s;
} interval;

/**
 * A wait for another worker in a verb. It ends when the last peer has done its part of the verb.
 */
typedef struct wait {
    interval at;
    int peer;
} wait;

/** Computation of one step of a worker. */
typedef struct step {
    double compute_s; /* computing time of the step, in seconds; 0 if the step was not computed */
    double end_s;
} step;

typedef struct heard {
    size_t n_steps, n_waits;
    step *steps;
    interval computation; /* time interval of the worker's most recent computation */
    double beside_s; /* total time by which exchanges on the GPU delayed computation, in seconds */
    wait *waits; /* waits since the most recent computation began; the next computation may overlap
                  * with these waits */
} heard;

typedef struct listener {
    dsgd_facts facts;
    size_t n_gradients;
    heard *workers; /* array of n_workers workers */
} listener;

/**
 * Adds the waits that began before @p since_s to the facts. Excludes the time in which they overlap
 * with the worker's most recent computation.
 */
static void count_waits(listener *l, heard *w, double since_s)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        const interval at = w->waits[i].at, before = w->computation;
        const double overlap_s =
            fmax(0, fmin(at.end_s, before.end_s) - fmax(at.since_s, before.since_s));
        if (at.since_s < since_s)
            l->facts.workers[w->waits[i].peer].held_s += at.end_s - at.since_s - overlap_s;
    }
    w->n_waits = 0;
}

static void hear_computation(listener *l, heard *w, const dsgd_span *span)
{
    const interval at = {span->since_s, span->end_s};
    const size_t k = (size_t)span->step;
    count_waits(l, w, at.since_s);
    w->computation = at;
    w->steps = dsgd_keep_more(w->steps, k + 1, sizeof *w->steps);
    w->n_steps = k < w->n_steps ? w->n_steps : k + 1;
    w->steps[k].compute_s += span->alone_s;
    w->beside_s += fmax(0, at.end_s - at.since_s - span->alone_s);
    w->steps[k].end_s = at.end_s;
    l->n_gradients += dsgd_ends_gradient(span);
}

static void hear(void *of, const dsgd_span *span)
{
    listener *const l = of;
    const int n_workers = l->facts.n_workers;
    /* time at which the wait for other workers ends */
    const double end_s = fmin(span->turn_s, span->end_s);
    if (span->host >= n_workers)
        return;
    heard *const w = &l->workers[span->host];
    if (span->kind == DSGD_SPAN_COMPUTE && span->step >= 0 && !dsgd_is_cancelled(span))
        hear_computation(l, w, span);
    if (span->kind == DSGD_SPAN_WAIT && span->track == 0 && span->peer >= 0 &&
        span->peer < n_workers && end_s > span->since_s) {
        w->waits = dsgd_keep_more(w->waits, w->n_waits + 1, sizeof *w->waits);
        w->waits[w->n_waits++] = (wait){{span->since_s, end_s}, span->peer};
    }
}

/* --- facts from the recorded spans ------------------------------------------------------------ */

static void sum_up_steps(listener *l)
{
    dsgd_facts *const f = &l->facts;
    size_t n = 0;
    for (int i = 0; i < f->n_workers; i++)
        f->n_steps = fmax(f->n_steps, l->workers[i].n_steps);
    f->compute_s = dsgd_keep((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof(double));
    double *const all = dsgd_keep((size_t)f->n_workers * (size_t)f->n_steps + 1, sizeof *all);
    for (int i = 0; i < f->n_workers; i++) {
        const heard *const w = &l->workers[i];
        double sum_s = 0;
        for (int64_t t = 0; t < f->n_steps; t++) {
            const double s = t < (int64_t)w->n_steps ? w->steps[t].compute_s : 0;
            f->compute_s[i * f->n_steps + t] = s > 0 ? s : NAN;
            if (!(s > 0))
                continue;
            all[n++] = s;
            sum_s += s;
            f->workers[i].n_steps++;
        }
        /* If the worker computed no step, the result is NAN (0 / 0). */
        f->workers[i].compute_s = sum_s / (double)f->workers[i].n_steps;
        if (f->workers[i].n_steps > 0)
            f->workers[i].beside_s = w->beside_s / (double)f->workers[i].n_steps;
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
 * Finds, for each step, the workers that finished its computation last. Only steps that all workers
 * computed count. If several workers finish last at the same instant, each of them counts, unless
 * all workers finish at this instant. Also finds the slowest and the median worker.
 */
static void sum_up_order(listener *l)
{
    dsgd_facts *const f = &l->facts;
    static const double instant = 1e-9; /* if the relative difference of two times is below this,
                                         * the times are equal */
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

/** Finds, for each worker, a pipeline stage that is slower than the worker's other stages. */
static void sum_up_stages(dsgd_facts *f, const dsgd_run_result *result)
{
    /* smallest slowness of a slow stage, as a multiple of the median stage's slowness */
    static const double least = 1.001;
    const size_t n = (size_t)result->n_stages;
    double *const sorted = dsgd_keep(n + 1, sizeof *sorted);
    for (int i = 0; i < f->n_workers; i++) {
        const double *const slowness = result->stage_slowness + (size_t)i * n;
        size_t slowest = 0;
        for (size_t d = 0; d < n; d++)
            slowest = slowness[d] > slowness[slowest] ? d : slowest;
        if (n > 0)
            gsl_sort_smallest(sorted, n, slowness, 1, n);
        const double median = n > 0 ? gsl_stats_median_from_sorted_data(sorted, 1, n) : NAN;
        const bool is_slow = n > 1 && slowness[slowest] > least * median;
        if (is_slow)
            f->workers[i].slow_place = result->stage_place[(size_t)i * n + slowest];
        f->workers[i].stage = is_slow ? (int)slowest : -1;
        f->workers[i].stage_slowness = is_slow ? slowness[slowest] / median : NAN;
    }
}

/* --- the file of facts, which only this machine reads ----------------------------------------- */

/**
 * Writes an array of @p n elements to a file, or reads the array from a file into new memory. Sets
 * *good to false if this fails.
 */
static void *pass(FILE *stream, bool writes, void *array, size_t n, size_t size, bool *good)
{
    void *const v = writes ? array : dsgd_keep(n + 1, size);
    *good = (writes ? fwrite(v, size, n, stream) : fread(v, size, n, stream)) == n && *good;
    return v;
}

/**
 * Writes the facts of run @p i to a file, or reads them from this file. Returns false if the file
 * cannot be written or does not exist.
 */
static bool pass_facts(const char *folder, size_t i, bool writes, dsgd_facts *f)
{
    FILE *const stream = fopen(dsgd_xprintf("%s/%zu.facts", folder, i + 1), writes ? "wb" : "rb");
    if (stream == NULL)
        return false;
    bool good = true;
    *f = *(const dsgd_facts *)pass(stream, writes, f, 1, sizeof *f, &good);
    const size_t n = (size_t)f->n_workers, n_all = n * (size_t)f->n_steps;
    f->workers = pass(stream, writes, f->workers, n, sizeof *f->workers, &good);
    f->compute_s = pass(stream, writes, f->compute_s, n_all, sizeof *f->compute_s, &good);
    f->links = pass(stream, writes, f->links, f->n_links, sizeof *f->links, &good);
    return fclose(stream) == 0 && good;
}

dsgd_status dsgd_facts_read(const char *folder, size_t i, dsgd_facts *facts, dsgd_error *error)
{
    return pass_facts(folder, i, false, facts)
               ? DSGD_OK
               : dsgd_fail(error, DSGD_EIO, "%s/%zu.facts: the recorded facts are missing", folder,
                           i + 1);
}

dsgd_status dsgd_facts_record(const dsgd_run_config *config, dsgd_run_result *result,
                              const char *folder, size_t i, dsgd_error *error)
{
    const size_t n = (size_t)config->workers;
    bool *const all = dsgd_keep(n, sizeof *all);
    memset(all, true, n);
    listener l = {.workers = dsgd_keep(n, sizeof *l.workers),
                  .facts = {.n_workers = config->workers,
                            .workers = dsgd_keep(n, sizeof(dsgd_worker_facts))}};
    dsgd_facts *const f = &l.facts;
    dsgd_timeline timeline = {.end_step = INT64_MAX, .chosen = all, .ended = hear, .listener = &l};
    dsgd_run_config watched = *config;
    watched.timeline = &timeline;
    watched.loads = true;
    DSGD_TRY(dsgd_simulate(&watched, result, error));
    for (size_t k = 0; k < n; k++) {
        count_waits(&l, &l.workers[k], INFINITY);
        f->workers[k].place = f->workers[k].slow_place =
            result->worker_places[k * (size_t)result->n_lanes];
    }
    f->n_links = result->n_loads;
    f->links = dsgd_keep(f->n_links + 1, sizeof *f->links);
    for (size_t k = 0; k < f->n_links; k++) {
        const dsgd_load *const load = &result->loads[k];
        f->links[k] = (dsgd_link_facts){.bytes = load->bytes, .bytes_per_s = load->bytes_per_s};
        snprintf(f->links[k].link, sizeof f->links[k].link, "%s", load->link);
    }
    sum_up_steps(&l);
    sum_up_order(&l);
    sum_up_stages(f, result);
    return pass_facts(folder, i, true, f)
               ? DSGD_OK
               : dsgd_fail(error, DSGD_EIO, "%s/%zu.facts: the file cannot be written: %m", folder,
                           i + 1);
}
