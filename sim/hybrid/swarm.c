/**
 * @file swarm.c
 * Simulates micro-batches in the order of their arrival at stages. A host performs tasks in the
 * order of their arrival. Therefore the times of a pass are known when its micro-batch arrives. The
 * failure of the host before the end of the pass is also known, because the caller passes all
 * failures in advance.
 */
#include "sim/hybrid/swarm.h"
#include "sim/network/events.h"

/** Weight of the newest measurement in the moving average of a host's slowness. */
static const double newest = 0.1;

/**
 * An event: a micro-batch arrives at a stage, a backward pass that must be repeated arrives, an
 * absence is detected, or an absence ends.
 */
typedef struct passing {
    /*
     * micro_batch: number of the micro-batch. n_done: number of passes that it has made, out of 2
     * D; for an absence, 0 at its detection and 1 at its end
     */
    int64_t micro_batch, n_done;
    /*
     * [D] host that has the micro-batch in each stage. An element is -1 if no host has the micro-
     * batch yet, or if the host failed and the work must be repeated.
     */
    int32_t *via;
    /*
     * is_stuck: true if the host of the current pass failed; had_forward: true if that host had
     * done the forward pass
     */
    bool is_stuck, had_forward;
    bool is_again; /* true if only the backward pass of `stage` is repeated, by host `by` */
    int64_t stage;
    int32_t by;
    /* host that has just ended a pass; its slowness is measured. -1 if nothing is measured */
    int64_t measures;
    double slowness; /* measured slowness of the host `measures` */
    /* absence that starts or ends; NULL for a micro-batch */
    const dsgd_absence *absence;
    struct passing *next; /* next pass in the list of repeated passes */
} passing;

/** The state of dsgd_swarm_run(). */
typedef struct swarm {
    const dsgd_pipeline_seconds *seconds;
    int64_t n_stages, n_hosts, n_micro_batches, n_jobs;
    int32_t *stage_of; /* [n_hosts] stage of each host */
    int64_t *begin, *host; /* begin: [D + 1] index of each stage's first host in the array `host`,
                            * which has n_hosts elements */
    dsgd_heap events; /* future events, sorted by time; a micro-batch has at most one event */
    uint64_t n_events;
    passing *passing, *again; /* [N + 2 n_away] all events; list of repeated passes */
    struct host_state {
        double free_s; /* time at which the host has finished all work that it was given */
        /* sum of the host's expected slowness over all micro-batches that it was given */
        double given;
        /* current or next absence of the host; NULL if it will not be absent */
        const dsgd_absence *absence;
        bool is_known; /* true from the detection of an absence until the host rejoins */
    } * states; /* [n_hosts] state of each host */
    int64_t *to_do; /* [D][J] number of backward passes that are not done yet */
    double *end_s, *gradient_s, all_busy_s;
    dsgd_pipeline_times times;
} swarm;

static double slowness_of(const swarm *s, int64_t host)
{
    return s->seconds->slowness == NULL ? 1 : s->seconds->slowness[host];
}

/** Returns the slowness of a host that the scheduler uses: the measured or the true slowness. */
static double expected_slowness(const swarm *s, int64_t host)
{
    const dsgd_measured *const m = s->seconds->measured;
    return m == NULL ? slowness_of(s, host) : m[host].weight > 0 ? m[host].mean : 1;
}

static void plan(swarm *s, passing *m, double at_s)
{
    dsgd_heap_push(&s->events, at_s, s->n_events++, m);
}

static int64_t stage_at(const swarm *s, int64_t n_done)
{
    return n_done < s->n_stages ? n_done : 2 * s->n_stages - 1 - n_done;
}

static int32_t *peer_at(passing *m, int64_t stage)
{
    return m->is_again ? &m->by : &m->via[stage];
}

static int64_t job_of(const swarm *s, const passing *m, int64_t stage)
{
    return stage * s->n_jobs + m->micro_batch * s->n_jobs / s->n_micro_batches;
}

static bool is_over(const swarm *s, const passing *m)
{
    return m->n_done == 2 * s->n_stages - (m->is_again ? m->stage : 0);
}

static void report(const swarm *s, dsgd_pipeline_pass pass)
{
    if (s->seconds->done != NULL)
        s->seconds->done(s->seconds->listener, &pass);
}

/**
 * Chooses the host that takes a micro-batch in a stage. If several hosts are equally good, chooses
 * the first host.
 */
static int32_t choose(swarm *s, int64_t stage)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = s->begin[stage]; i < s->begin[stage + 1]; i++) {
        const int64_t host = s->host[i];
        const double load = s->states[host].given + expected_slowness(s, host);
        if (s->states[host].is_known || load >= least)
            continue;
        best = host;
        least = load;
    }
    DSGD_ASSERT(best >= 0, "stage %jd has no host", (intmax_t)stage);
    s->states[best].given = least;
    return (int32_t)best;
}

/** Updates the measured slowness of the host whose pass has just ended. */
static void measure(const swarm *s, passing *m)
{
    dsgd_measured *const of = m->measures < 0 ? NULL : &s->seconds->measured[m->measures];
    if (of == NULL)
        return;
    of->weight += newest * (1 - of->weight);
    of->mean += newest / of->weight * (m->slowness - of->mean);
    m->measures = -1;
}

/** Marks a pass as lost because its host fails at @p until_s, before the pass would end. */
static void lose_pass(swarm *s, passing *m, int64_t host, double from_s, double until_s)
{
    struct host_state *const state = &s->states[host];
    m->is_stuck = true;
    if (from_s >= until_s)
        return;
    state->free_s = until_s;
    s->all_busy_s += until_s - from_s;
    s->times.lost_s += until_s - from_s;
    report(s, (dsgd_pipeline_pass){host, m->micro_batch, DSGD_LOST, from_s, until_s});
}

static void end_backward(swarm *s, const passing *m, int64_t stage, double end_s)
{
    const int64_t job = job_of(s, m, stage);
    s->to_do[job]--;
    s->gradient_s[job] = fmax(s->gradient_s[job], end_s);
}

/**
 * Performs the pass of a micro-batch that has arrived at a stage. Chooses the host, and computes
 * the end of the pass. Sends the micro-batch to the next stage, if there is one.
 */
static void pass(swarm *s, passing *m, double at_s)
{
    const dsgd_pipeline_seconds *const seconds = s->seconds;
    const int64_t n = s->n_stages, k = m->n_done, stage = stage_at(s, k);
    const bool forward = k < n;
    int32_t *const by = peer_at(m, stage);
    /*
     * A micro-batch whose activations were lost repeats the forward pass before the backward pass.
     */
    const bool goes_forward = *by < 0;
    if (goes_forward)
        *by = choose(s, stage);
    const int64_t host = *by;
    struct host_state *const state = &s->states[host];
    const double slowness = slowness_of(s, host);
    const double forward_s = goes_forward ? seconds->forward_s[stage] * slowness : 0,
                 task_s = forward ? forward_s : forward_s + seconds->backward_s[stage] * slowness;
    const double from_s = fmax(at_s, state->free_s), end_s = from_s + task_s;
    const double until_s = state->absence == NULL ? INFINITY : state->absence->since_s;
    m->had_forward = !goes_forward;
    if (end_s > until_s) {
        lose_pass(s, m, host, from_s, until_s);
        return;
    }
    state->free_s = end_s;
    s->all_busy_s += task_s;
    s->times.makespan_s = fmax(s->times.makespan_s, end_s);
    const double turn_s = forward ? end_s : end_s - task_s + forward_s;
    if (goes_forward)
        report(s, (dsgd_pipeline_pass){host, m->micro_batch, DSGD_FORWARD, end_s - task_s, turn_s});
    if (!forward) {
        report(s, (dsgd_pipeline_pass){host, m->micro_batch, DSGD_BACKWARD, turn_s, end_s});
        end_backward(s, m, stage, end_s);
    }
    m->n_done++;
    m->measures = seconds->measured == NULL ? -1 : host;
    m->slowness = slowness;
    if (!m->is_again)
        s->end_s[k * s->n_micro_batches + m->micro_batch] = end_s;
    /* the last stage starts the backward pass without a message, so there is no message time */
    const double *const message_s = k == n - 1 ? NULL : seconds->message_s;
    if (!is_over(s, m))
        plan(s, m, end_s + (message_s == NULL ? 0 : message_s[forward ? stage : stage - 1]));
    else if (m->measures >= 0)
        plan(s, m, end_s);
}

/* --- absences --------------------------------------------------------------------------------- */

/**
 * Sends a micro-batch to the host that replaces a failed host. The previous stage sends the
 * activations. For a backward pass, the next stage also sends the gradient.
 */
static void send_again(swarm *s, passing *m, double at_s)
{
    const double *const message_s = s->seconds->message_s;
    const int64_t stage = stage_at(s, m->n_done);
    double seconds = message_s == NULL || stage == 0 ? 0 : message_s[stage - 1];
    if (message_s != NULL && m->n_done >= s->n_stages && stage < s->n_stages - 1)
        seconds = fmax(seconds, message_s[stage]);
    m->is_stuck = false;
    *peer_at(m, stage) = -1;
    plan(s, m, at_s + seconds);
}

/** Repeats a backward pass whose gradient a failed host had already added to its sum. */
static void repeat_backward(swarm *s, passing *m, int64_t stage, double at_s)
{
    passing *const again = dsgd_xcalloc(1, sizeof *again);
    *again = (passing){.micro_batch = m->micro_batch,
                       .n_done = 2 * s->n_stages - 1 - stage,
                       .is_again = true,
                       .stage = stage,
                       .measures = -1,
                       .next = s->again};
    s->again = again;
    s->to_do[job_of(s, m, stage)]++;
    *peer_at(m, stage) = -1;
    send_again(s, again, at_s);
}

/** Repeats the work of a failed host on one micro-batch. Called when the failure is detected. */
static void repeat_lost(swarm *s, passing *m, const dsgd_absence *absence, double now_s)
{
    const int64_t stage = s->stage_of[absence->host], job = job_of(s, m, stage);
    const bool is_back = m->n_done > 2 * s->n_stages - 1 - stage,
               is_stuck = m->is_stuck && stage_at(s, m->n_done) == stage;
    if ((m->is_again && m->stage != stage) || *peer_at(m, stage) != absence->host ||
        (is_back && s->to_do[job] == 0 && s->gradient_s[job] <= absence->since_s))
        return;
    const double slowness = slowness_of(s, absence->host);
    if (!is_stuck || m->had_forward)
        s->times.lost_s += slowness * s->seconds->forward_s[stage];
    if (is_back)
        s->times.lost_s += slowness * s->seconds->backward_s[stage];
    if (is_stuck)
        send_again(s, m, now_s);
    else if (is_back)
        repeat_backward(s, m, stage, now_s);
    else
        *peer_at(m, stage) = -1;
}

static void repeat_all_lost(swarm *s, const dsgd_absence *absence, double now_s)
{
    passing *const before = s->again;
    s->states[absence->host].is_known = true;
    for (int64_t m = 0; m < s->n_micro_batches; m++)
        repeat_lost(s, &s->passing[m], absence, now_s);
    for (passing *m = before; m != NULL; m = m->next)
        repeat_lost(s, m, absence, now_s);
}

/** Returns the first absence of @p host with index @p i or higher, or NULL if no such absence
 * exists. */
static const dsgd_absence *next_absence(const swarm *s, int64_t i, int64_t host)
{
    while (i < s->seconds->n_away && s->seconds->away[i].host != host)
        i++;
    return i < s->seconds->n_away ? &s->seconds->away[i] : NULL;
}

/**
 * Lets a host rejoin with its state. Its load becomes at least the smallest load of the stage's
 * other hosts.
 */
static void rejoin_host(swarm *s, const dsgd_absence *absence)
{
    struct host_state *const state = &s->states[absence->host];
    const int64_t stage = s->stage_of[absence->host];
    double least = INFINITY;
    for (int64_t i = s->begin[stage]; i < s->begin[stage + 1]; i++)
        if (!s->states[s->host[i]].is_known)
            least = fmin(least, s->states[s->host[i]].given);
    if (least < INFINITY)
        state->given = fmax(state->given, least);
    state->is_known = false;
    state->free_s = fmax(state->free_s, absence->end_s);
    state->absence = next_absence(s, absence + 1 - s->seconds->away, absence->host);
}

/* --- one step --------------------------------------------------------------------------------- */

static void open_stages(swarm *s, int64_t n_stage_hosts)
{
    s->begin = dsgd_xcalloc((size_t)(s->n_stages + 1 + s->n_hosts), sizeof *s->begin);
    s->host = s->begin + s->n_stages + 1;
    s->stage_of = dsgd_xcalloc((size_t)s->n_hosts, sizeof *s->stage_of);
    for (int64_t d = 0, n = 0; d < s->n_stages; d++) {
        for (int64_t host = 0; host < s->n_hosts; host++) {
            const int32_t *const of = s->seconds->stage_of;
            if ((of == NULL ? host / n_stage_hosts : of[host]) != d)
                continue;
            s->stage_of[host] = (int32_t)d;
            s->host[n++] = host;
        }
        s->begin[d + 1] = n;
    }
}

static void plan_absences(swarm *s, passing *events)
{
    const dsgd_pipeline_seconds *const seconds = s->seconds;
    for (int64_t host = 0; host < s->n_hosts && seconds->n_away > 0; host++)
        s->states[host].absence = next_absence(s, 0, host);
    for (int64_t i = 0; i < seconds->n_away; i++) {
        const dsgd_absence *const a = &seconds->away[i];
        events[2 * i] = (passing){.absence = a, .measures = -1};
        events[2 * i + 1] = (passing){.absence = a, .measures = -1, .n_done = 1};
        plan(s, &events[2 * i], fmax(0, fmin(a->known_s, a->end_s)));
        if (a->end_s < INFINITY)
            plan(s, &events[2 * i + 1], fmax(0, a->end_s));
    }
}

static swarm open_swarm(const dsgd_pipeline *pipeline, const dsgd_pipeline_seconds *seconds)
{
    const dsgd_pipeline_shape *const shape = &pipeline->shape;
    const size_t stages = (size_t)shape->n_stages, n = (size_t)shape->n_micro_batches,
                 hosts = stages * (size_t)shape->n_stage_hosts, jobs = (size_t)shape->n_jobs;
    swarm s = {.seconds = seconds,
               .n_stages = shape->n_stages,
               .n_hosts = (int64_t)hosts,
               .n_micro_batches = shape->n_micro_batches,
               .n_jobs = shape->n_jobs};
    open_stages(&s, shape->n_stage_hosts);
    s.passing = dsgd_xcalloc(n + 2 * (size_t)seconds->n_away, sizeof *s.passing);
    s.states = dsgd_xcalloc(hosts, sizeof *s.states);
    s.to_do = dsgd_xcalloc(stages * jobs, sizeof *s.to_do);
    for (size_t i = 0; i < stages * jobs; i++)
        s.to_do[i] = (int64_t)(n / jobs);
    plan_absences(&s, s.passing + n);
    int32_t *const via = dsgd_xcalloc(n * stages, sizeof *via);
    memset(via, -1, n * stages * sizeof *via);
    for (size_t m = 0; m < n; m++) {
        s.passing[m] =
            (passing){.micro_batch = (int64_t)m, .via = via + m * stages, .measures = -1};
        plan(&s, &s.passing[m], 0);
    }
    return s;
}

static void close_swarm(swarm *s)
{
    while (s->again != NULL) {
        passing *const again = s->again;
        s->again = again->next;
        free(again);
    }
    free(s->passing[0].via);
    free(s->passing);
    free(s->states);
    free(s->begin);
    free(s->stage_of);
    free(s->to_do);
    free(s->events.entry);
}

/** Returns the total time in which hosts were running, summed over all hosts. */
static double present_s(const swarm *s)
{
    double all_s = (double)s->n_hosts * s->times.makespan_s;
    for (int64_t i = 0; i < s->seconds->n_away; i++)
        all_s -= fmax(0, fmin(s->seconds->away[i].end_s, s->times.makespan_s) -
                             fmax(s->seconds->away[i].since_s, 0));
    return all_s;
}

dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s)
{
    swarm s = open_swarm(pipeline, seconds);
    s.end_s = end_s;
    s.gradient_s = gradient_s;
    while (s.events.n > 0) {
        const struct dsgd_heap_entry next = dsgd_heap_pop(&s.events);
        passing *const m = next.what;
        measure(&s, m);
        if (m->absence == NULL && !is_over(&s, m))
            pass(&s, m, next.key);
        else if (m->absence != NULL && m->n_done == 0)
            repeat_all_lost(&s, m->absence, next.key);
        else if (m->absence != NULL)
            rejoin_host(&s, m->absence);
    }
    for (int64_t i = 0; i < s.n_stages * s.n_jobs; i++)
        DSGD_ASSERT(s.to_do[i] == 0, "%jd micro-batches are lost", (intmax_t)s.to_do[i]);
    s.times.bubble_share = s.times.makespan_s > 0 ? 1 - s.all_busy_s / present_s(&s) : 0;
    close_swarm(&s);
    return s.times;
}

/* --- moves between stages --------------------------------------------------------------------- */

int64_t dsgd_swarm_migrate(int64_t n_stages, const double *work, int64_t n_hosts,
                           const double *speed, int32_t *stage_of)
{
    static const double rounding = 1e-9;
    /* [n_stages] sum of the speeds of each stage's hosts */
    double *const speeds = dsgd_xcalloc((size_t)n_stages, sizeof *speeds);
    int64_t to = 0, mover = -1;
    for (int64_t host = 0; host < n_hosts; host++)
        speeds[stage_of[host]] += speed[host];
    for (int64_t d = 1; d < n_stages; d++)
        if (work[d] / speeds[d] > work[to] / speeds[to])
            to = d;
    double least = work[to] / speeds[to] * (1 - rounding);
    for (int64_t host = 0; host < n_hosts; host++) {
        const int64_t from = stage_of[host];
        const double left = speeds[from] - speed[host];
        if (from == to || speed[host] <= 0 || left <= rounding * speeds[from])
            continue;
        const double longest = fmax(work[from] / left, work[to] / (speeds[to] + speed[host]));
        if (longest >= least)
            continue;
        least = longest;
        mover = host;
    }
    if (mover >= 0)
        stage_of[mover] = (int32_t)to;
    free(speeds);
    return mover;
}
