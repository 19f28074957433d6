/**
 * @file swarm.c
 * Micro-batches by the time at which they come to a stage: who is first in time is first in a queue, so that all is known of a pass when
 * it comes.
 */
#include "sim/inner/swarm.h"
#include "sim/network/events.h"

/** A run. */
typedef struct swarm {
    const dsgd_pipeline_seconds *seconds;
    int64_t n_stages, n_peers;
    dsgd_heap arrivals; /* by seconds, of the micro-batches: each comes to one place at a time */
    uint64_t n_arrivals;
    struct passing {
        int64_t n_done; /* of the 2 D passes */
        int32_t *peer; /* [D] by which it goes */
    } * passing; /* [N] */
    double *free_s; /* [D][K] when a peer has done all that has come to it */
    double *given; /* [D][K] its slowness, once for each micro-batch */
} swarm;

static double slowness_of(const swarm *s, int64_t host)
{
    return s->seconds->slowness == NULL ? 1 : s->seconds->slowness[host];
}

static void arrive(swarm *s, struct passing *passing, double at_s)
{
    dsgd_heap_push(&s->arrivals, at_s, s->n_arrivals++, passing);
}

/** A peer for a micro-batch; the first of equals. */
static int32_t choose(swarm *s, int64_t stage)
{
    const int64_t first = stage * s->n_peers;
    int64_t best = first;
    for (int64_t host = first; host < first + s->n_peers; host++)
        if (s->given[host] + slowness_of(s, host) < s->given[best] + slowness_of(s, best))
            best = host;
    s->given[best] += slowness_of(s, best);
    return (int32_t)(best - first);
}

/** Of a pass that has come at @p at_s: its stage and host, and what it takes there; it comes to the next one, if there is one. */
static double pass(swarm *s, struct passing *m, double at_s, int64_t *stage, int64_t *host)
{
    const int64_t n = s->n_stages, k = m->n_done++;
    const bool forward = k < n;
    *stage = forward ? k : 2 * n - 1 - k;
    if (forward)
        m->peer[*stage] = choose(s, *stage);
    *host = *stage * s->n_peers + m->peer[*stage];
    const double task_s =
        (forward ? s->seconds->forward_s : s->seconds->backward_s)[*stage] * slowness_of(s, *host);
    double *const free_s = &s->free_s[*host];
    *free_s = fmax(at_s, *free_s) + task_s;
    const double *const message_s = k == n - 1 ? NULL : s->seconds->message_s; /* it turns */
    if (m->n_done < 2 * n)
        arrive(s, m, *free_s + (message_s == NULL ? 0 : message_s[forward ? *stage : *stage - 1]));
    return task_s;
}

static swarm open_swarm(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds)
{
    const dsgd_pipeline_shape *const shape = &pipeline->shape;
    const size_t stages = (size_t)shape->n_stages, n = (size_t)shape->n_micro_batches,
                 hosts = stages * (size_t)shape->n_peers;
    swarm s = {.seconds = seconds, .n_stages = shape->n_stages, .n_peers = shape->n_peers};
    s.passing = dsgd_xcalloc(n, sizeof *s.passing);
    s.free_s = dsgd_xcalloc(2 * hosts, sizeof *s.free_s);
    s.given = s.free_s + hosts;
    if (seconds->begin_s != NULL)
        memcpy(s.free_s, seconds->begin_s, hosts * sizeof *s.free_s);
    int32_t *const peer = dsgd_xcalloc(n * stages, sizeof *peer);
    for (size_t m = 0; m < n; m++) {
        s.passing[m].peer = peer + m * stages;
        arrive(&s, &s.passing[m], 0);
    }
    return s;
}

static void close_swarm(swarm *s)
{
    free(s->passing[0].peer);
    free(s->passing);
    free(s->free_s);
    free(s->arrivals.entry);
}

dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s, double *busy_s)
{
    const dsgd_pipeline_shape *const shape = &pipeline->shape;
    const int64_t n = shape->n_micro_batches, hosts = shape->n_stages * shape->n_peers;
    double makespan_s = 0, all_busy_s = 0;
    swarm s = open_swarm(pipeline, seconds);
    while (s.arrivals.n > 0) {
        const struct dsgd_heap_entry next = dsgd_heap_pop(&s.arrivals);
        struct passing *const passing = next.what;
        const int64_t m = passing - s.passing, k = passing->n_done;
        int64_t stage = 0, host = 0;
        const double task_s = pass(&s, passing, next.key, &stage, &host);
        double *const end = &end_s[k * n + m];
        *end = s.free_s[host];
        makespan_s = fmax(makespan_s, *end);
        if (seconds->done != NULL)
            seconds->done(seconds->listener,
                          &(dsgd_pipeline_pass){host, m,
                                                k < s.n_stages ? DSGD_FORWARD : DSGD_BACKWARD,
                                                *end - task_s, *end});
        all_busy_s += task_s;
        if (busy_s != NULL)
            busy_s[host] += task_s;
        double *const gradient =
            gradient_s == NULL ? NULL : &gradient_s[stage * shape->n_jobs + m * shape->n_jobs / n];
        if (gradient != NULL)
            *gradient = fmax(*gradient, *end); /* a backward is later than all forwards */
    }
    close_swarm(&s);
    const double bubble_share = makespan_s > 0 ? 1 - all_busy_s / ((double)hosts * makespan_s) : 0;
    return (dsgd_pipeline_times){.makespan_s = makespan_s, .bubble_share = bubble_share};
}
