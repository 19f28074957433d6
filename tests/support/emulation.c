/**
 * @file emulation.c
 * Emulates the algorithms, event by event.
 */
#include "tests/support/emulation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/kept.h"

typedef struct emulation emulation;

/** An event that happens to one worker at a given time. */
typedef struct event {
    /* next event in the list; it happens later, or at the same time but was posted later */
    struct event *next;
    double at_s;
    void (*run)(emulation *e, int worker, const struct event *now);
    int worker;
    long number; /* number of a piece of the model, or rank of the sender of a message */
    double content[]; /* content of a message, [n] values */
} event;

/** The state of one worker of the emulation. */
typedef struct life {
    long step;
    /*
     * number of pieces in this step that have a gradient, and number of pieces that have been
     * exchanged
     */
    size_t ready, done;
    double *x, *v, *g;
    /*
     * vector that other workers read; it is a send buffer, a shared copy, or the model of a process
     */
    double *b;
    /*
     * copy of a vector that the worker needs later; it is a sent vector, the last fetched model, or
     * the elastic force
     */
    double *old;
    double *applied; /* gradient that the training process hands over to the gossip process */
    /*
     * hands_over is true if a handed-over gradient is not applied yet; waits is true if the
     * training waits until it is applied
     */
    bool hands_over, waits;
    bool sends; /* true while an exchange that this active worker has started is in progress */
    long asked; /* number of averagings that the worker has started */
    long left; /* number of averagings that the worker must still make in this step */
    long answered; /* number of requests that the worker has answered */
    bool arrived; /* true if the worker's request has arrived at its peer and has no answer yet */
    double averagings; /* number of averagings of the worker's model so far */
    double averagings_at; /* value of averagings at the start of the current gradient */
    double handed_averagings_at; /* value of averagings_at for the gradient that was handed over */
} life;

/** The state of one piece of the model at one worker, in a partial collective. */
typedef struct share {
    /*
     * step in which the oldest content of the send buffer was made; NOTHING if the buffer is empty
     */
    long made;
    long published; /* last step in which the worker published the piece */
    /*
     * version of the last sum that the worker used; at a server, the number of pushes before the
     * last fetch
     */
    long took;
    /*
     * lag, in versions, of the worker's contribution to the latest version; NOTHING if the
     * contribution was empty
     */
    long lag;
    bool counts; /* true if the worker published its contribution in time for the latest version */
    bool waits;
} share;

struct emulation {
    const emulation_problem *p;
    emulation_result *out;
    double now_s;
    event *events; /* list of future events, earliest first */
    life *lives;
    /**
     * Runs when a piece of the gradient is ready and the exchanges of all previous pieces have
     * ended.
     */
    void (*arrive)(emulation *e, int worker, size_t piece);
    /**
     * Runs right after the gradient's snapshot of the model at the start of a step. NULL if an
     * algorithm does not need it.
     */
    void (*begin)(emulation *e, int worker);
    /**
     * Runs after the last piece of a step. The function must call next_step(), at once or later. If
     * it is NULL, next_step() is called at once.
     */
    void (*finish)(emulation *e, int worker);
    const void *options;
    /* sum of the vectors in the current meeting, and mean of the last meeting; [n] values each */
    double *sum, *mean;
    /* number of workers that have joined the current meeting of each piece, [pieces] entries */
    int *n_met;
    /*
     * number of past meetings of each piece, or, at a server, number of its pushes; [pieces]
     * entries
     */
    long *rounds;
    share *shares; /* state of each piece at each worker, [workers][pieces] */
    double *sums; /* sum that each worker's group has made for the latest version, [workers][n] */
    long *latest; /* number of the latest version of each piece, [pieces] entries */
    bool owner; /* true if a gossip process owns the model b, and the training uses the copy x */
};

enum { NOTHING = -2 };

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "emulation: %s\n", what);
    abort();
}

static void *fresh(size_t n, size_t size)
{
    void *const a = calloc(n + 1, size);
    require(a != NULL, "out of memory");
    return a;
}

/* --- events ----------------------------------------------------------------------------------- */

/**
 * Posts an event that happens @p in_s seconds from now. Events that were posted earlier for the
 * same instant happen first.
 */
static event *post(emulation *e, double in_s, event what)
{
    event *const new = fresh(1, sizeof *new + e->p->n * sizeof new->content[0]);
    event **place = &e->events;
    while (*place != NULL && (*place)->at_s <= e->now_s + in_s)
        place = &(*place)->next;
    *new = what;
    new->at_s = e->now_s + in_s;
    new->next = *place;
    *place = new;
    return new;
}

/* --- steps of a worker ------------------------------------------------------------------------ */

static size_t from_of(const emulation_problem *p, size_t piece)
{
    return p->n * piece / p->pieces;
}

static void piece_ready(emulation *e, int worker, const event *now)
{
    life *const l = &e->lives[worker];
    const size_t piece = (size_t)now->number;
    l->ready = piece + 1;
    if (l->done == piece)
        e->arrive(e, worker, piece);
}

static void begin_step(emulation *e, int worker)
{
    const emulation_problem *const p = e->p;
    life *const l = &e->lives[worker];
    if (p->steps > 0 && l->step == p->steps)
        return;
    l->ready = l->done = 0;
    p->gradient(p->argument, worker, l->step, l->x, l->g);
    l->averagings_at = l->averagings;
    const double step_s = p->seconds[l->step % p->rows * p->workers + worker];
    for (size_t k = 0; k < p->pieces; k++) {
        const double rest = 1 - (double)(k + 1) / (double)p->pieces;
        post(e, step_s - rest * fmin(p->backward_s, step_s),
             (event){.run = piece_ready, .worker = worker, .number = (long)k});
    }
    if (e->begin != NULL)
        e->begin(e, worker);
}

static void next_step(emulation *e, int worker)
{
    life *const l = &e->lives[worker];
    e->out->end_s = e->now_s;
    l->step++;
    begin_step(e, worker);
}

static void piece_done(emulation *e, int worker, size_t piece)
{
    life *const l = &e->lives[worker];
    l->done = piece + 1;
    if (l->done < e->p->pieces) {
        if (l->ready > l->done)
            e->arrive(e, worker, l->done);
    } else if (e->finish != NULL) {
        e->finish(e, worker);
    } else {
        next_step(e, worker);
    }
}

static void count(emulation_lag *lag, double value)
{
    lag->n++;
    lag->sum += value;
    lag->max = fmax(lag->max, value);
}

/** Makes the local step of one piece of the model x with gradient g. */
static void descend(emulation *e, int worker, size_t piece, double *x, const double *g)
{
    const emulation_problem *const p = e->p;
    life *const l = &e->lives[worker];
    for (size_t i = from_of(p, piece); i < from_of(p, piece + 1); i++) {
        l->v[i] = p->momentum * l->v[i] + g[i] + p->weight_decay * x[i];
        x[i] -= p->lr * l->v[i];
    }
}

static emulation emulation_new(const emulation_problem *p, emulation_result *r, const void *options)
{
    const size_t n_workers = (size_t)p->workers;
    emulation e = {.p = p, .out = r, .options = options};
    e.lives = kept(fresh(n_workers, sizeof *e.lives));
    for (size_t w = 0; w < n_workers; w++) {
        double *const room = kept(fresh(5 * p->n, sizeof *room));
        e.lives[w] = (life){.x = r->x + w * p->n,
                            .v = room,
                            .g = room + p->n,
                            .b = room + 2 * p->n,
                            .old = room + 3 * p->n,
                            .applied = room + 4 * p->n};
        memcpy(e.lives[w].x, p->initial, p->n * sizeof *room);
    }
    e.sum = kept(fresh(p->n, sizeof *e.sum));
    e.mean = kept(fresh(p->n, sizeof *e.mean));
    e.n_met = kept(fresh(p->pieces, sizeof *e.n_met));
    e.rounds = kept(fresh(p->pieces, sizeof *e.rounds));
    e.shares = kept(fresh(n_workers * p->pieces, sizeof *e.shares));
    e.sums = kept(fresh(n_workers * p->n, sizeof *e.sums));
    e.latest = kept(fresh(p->pieces, sizeof *e.latest));
    for (size_t k = 0; k < p->pieces; k++)
        e.latest[k] = -1;
    r->end_s = 0;
    return e;
}

static void live(emulation *e)
{
    const emulation_problem *const p = e->p;
    for (int w = 0; w < p->workers; w++)
        begin_step(e, w);
    while (e->events != NULL) {
        event *const now = e->events;
        e->events = now->next;
        e->now_s = now->at_s;
        if (p->until_s == 0 || now->at_s <= p->until_s)
            now->run(e, now->worker, now);
        free(now);
    }
    for (int w = 0; w < p->workers && e->owner; w++)
        memcpy(e->lives[w].x, e->lives[w].b, p->n * sizeof *p->initial);
}

static share *share_of(const emulation *e, int worker, size_t piece)
{
    return &e->shares[(size_t)worker * e->p->pieces + piece];
}

/* --- Emulations of averages of all workers ---------------------------------------------------- */

static bool due(long step, long period)
{
    return period > 0 && (step + 1) % period == 0;
}

/**
 * Adds a piece of a worker's vector a to the current meeting. Returns true if all workers have
 * joined the meeting; e->mean is then the mean of their vectors.
 */
static bool meet(emulation *e, size_t piece, const double *a)
{
    const size_t from = from_of(e->p, piece);
    const size_t to = from_of(e->p, piece + 1);
    for (size_t i = from; i < to; i++)
        e->sum[i] += a[i];
    if (++e->n_met[piece] < e->p->workers)
        return false;
    for (size_t i = from; i < to; i++) {
        e->mean[i] = e->sum[i] / e->p->workers;
        e->sum[i] = 0;
    }
    e->n_met[piece] = 0;
    e->rounds[piece]++;
    return true;
}

static void take_mean(emulation *e, size_t piece, double *a)
{
    const size_t from = from_of(e->p, piece);
    memcpy(a + from, e->mean + from, (from_of(e->p, piece + 1) - from) * sizeof *a);
}

static void all_done(emulation *e, size_t piece)
{
    for (int w = 0; w < e->p->workers; w++)
        piece_done(e, w, piece);
}

/* --- local SGD -------------------------------------------------------------------------------- */

typedef struct local_options {
    long period;
    bool cta;
} local_options;

static void local_arrive(emulation *e, int worker, size_t piece)
{
    const local_options *const o = e->options;
    life *const l = &e->lives[worker];
    const bool averages = due(l->step, o->period);
    if (!averages || !o->cta)
        descend(e, worker, piece, l->x, l->g);
    if (!averages) {
        piece_done(e, worker, piece);
        return;
    }
    if (!meet(e, piece, l->x))
        return;
    for (int w = 0; w < e->p->workers; w++) {
        take_mean(e, piece, e->lives[w].x);
        if (o->cta)
            descend(e, w, piece, e->lives[w].x, e->lives[w].g);
    }
    all_done(e, piece);
}

void emulation_local_sgd(const emulation_problem *p, long period, bool cta, emulation_result *r)
{
    const local_options options = {period, cta};
    emulation e = emulation_new(p, r, &options);
    e.arrive = local_arrive;
    live(&e);
}

/* --- Emulations of gossip in lock-step -------------------------------------------------------- */

typedef struct gossip_options {
    double (*weight)(const emulation_problem *p, int i, int j, long step);
    bool atc;
} gossip_options;

/**
 * Returns the vector that a worker sent in a step. Two buffers suffice, because a worker is at most
 * one step ahead of any neighbour that still needs its vector.
 */
static double *sent_in(const emulation *e, int worker, long step)
{
    return step % 2 == 0 ? e->lives[worker].b : e->lives[worker].old;
}

static bool all_sent(const emulation *e, int worker, size_t piece)
{
    const gossip_options *const o = e->options;
    const long step = e->lives[worker].step;
    for (int j = 0; j < e->p->workers; j++)
        if (o->weight(e->p, worker, j, step) != 0 && share_of(e, j, piece)->published < step)
            return false;
    return true;
}

static void gossip_mix(emulation *e, int worker, size_t piece)
{
    const gossip_options *const o = e->options;
    life *const l = &e->lives[worker];
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++) {
        l->x[i] = 0;
        for (int j = 0; j < e->p->workers; j++)
            l->x[i] += o->weight(e->p, worker, j, l->step) * sent_in(e, j, l->step)[i];
    }
    if (!o->atc)
        descend(e, worker, piece, l->x, l->g);
    share_of(e, worker, piece)->waits = false;
    piece_done(e, worker, piece);
}

static void gossip_arrive(emulation *e, int worker, size_t piece)
{
    const gossip_options *const o = e->options;
    life *const l = &e->lives[worker];
    const size_t from = from_of(e->p, piece);
    if (o->atc)
        descend(e, worker, piece, l->x, l->g);
    memcpy(sent_in(e, worker, l->step) + from, l->x + from,
           (from_of(e->p, piece + 1) - from) * sizeof *l->x);
    share_of(e, worker, piece)->published = l->step;
    share_of(e, worker, piece)->waits = true;
    for (int w = 0; w < e->p->workers; w++)
        if (share_of(e, w, piece)->waits && all_sent(e, w, piece))
            gossip_mix(e, w, piece);
}

void emulation_gossip(const emulation_problem *p,
                      double (*weight)(const emulation_problem *p, int i, int j, long step),
                      bool atc, emulation_result *r)
{
    const gossip_options options = {weight, atc};
    emulation e = emulation_new(p, r, &options);
    e.arrive = gossip_arrive;
    for (int w = 0; w < p->workers; w++)
        for (size_t k = 0; k < p->pieces; k++)
            share_of(&e, w, k)->published = -1;
    live(&e);
}

/* --- partial collectives ---------------------------------------------------------------------- */

/**
 * Returns true if workers i and j are in the same group of version t. The members of a group of 2^g
 * workers differ only in the rank bits (t g + r) mod log2(P), r < g.
 */
static bool same_group(const emulation_problem *p, int group, long version, int i, int j)
{
    int all = 0;
    int own = 0;
    while (1 << all < p->workers)
        all++;
    while (1 << own < group)
        own++;
    require(1 << all == p->workers && 1 << own == group && own <= all, "no powers of two");
    unsigned differing = (unsigned)i ^ (unsigned)j;
    for (int r = 0; r < own; r++)
        differing &= ~(1u << ((version * own + r) % all));
    return differing == 0;
}

/** Counts the contributions of all workers to a version: their lags, and how many were in time. */
static void sample_shares(emulation *e, size_t piece, long version)
{
    for (int w = 0; w < e->p->workers; w++) {
        share *const s = share_of(e, w, piece);
        s->lag = s->made == NOTHING ? NOTHING : version - s->made;
        if (s->made != NOTHING)
            count(&e->out->contribution_versions, (double)(version - s->made));
        s->counts = s->published == version;
        e->out->fresh += s->counts;
    }
    e->out->versions++;
    e->latest[piece] = version;
}

/**
 * Counts the mean lag of the latest sum at its use by a worker. If @p group is not 0, the mean
 * covers the worker's group in version @p grouped. If it is 0, the mean covers all workers.
 */
static void count_use(emulation *e, int worker, size_t piece, int group, long grouped)
{
    double n = 0;
    double sum = 0;
    for (int w = 0; w < e->p->workers; w++) {
        const long lag = share_of(e, w, piece)->lag;
        if (lag == NOTHING || (group > 0 && !same_group(e->p, group, grouped, worker, w)))
            continue;
        n++;
        sum += (double)lag;
    }
    if (n > 0)
        count(&e->out->use_versions, sum / n);
}

/**
 * Counts repeated and missed versions when a worker uses a piece of the latest sum. Versions of @p
 * skipped_steps steps do not exist, and do not count as missed.
 */
static void use_sum(emulation *e, int worker, size_t piece, long skipped_steps)
{
    share *const s = share_of(e, worker, piece);
    const long version = e->latest[piece];
    e->out->repeated += version == s->took;
    e->out->missed += version > s->took ? (double)(version - s->took - 1 - skipped_steps) : 0;
    s->took = version;
}

/**
 * Returns the number of steps between (and excluding) @p from and @p to that have no version. A
 * step has no version if all workers synchronise in it.
 */
static long without_version(long from, long to, long period)
{
    long n = 0;
    for (long t = from + 1; t < to; t++)
        n += due(t, period);
    return n;
}

/* --- WAGMA-SGD -------------------------------------------------------------------------------- */

static void publish(emulation *e, int worker, size_t piece, long made)
{
    const size_t from = from_of(e->p, piece);
    life *const l = &e->lives[worker];
    memcpy(l->b + from, l->x + from, (from_of(e->p, piece + 1) - from) * sizeof *l->b);
    share_of(e, worker, piece)->made = made;
}

static void wagma_sums(emulation *e, size_t piece, long version)
{
    const emulation_wagma_options *const o = e->options;
    const emulation_problem *const p = e->p;
    sample_shares(e, piece, version);
    for (int i = 0; i < p->workers; i++) {
        double *const sum = e->sums + (size_t)i * p->n;
        for (size_t k = from_of(p, piece); k < from_of(p, piece + 1); k++) {
            sum[k] = 0;
            for (int j = 0; j < p->workers; j++)
                if (same_group(p, o->group, o->rotates ? version : 0, i, j))
                    sum[k] += e->lives[j].b[k];
        }
    }
}

/**
 * Completes the WAGMA step of a piece. If option cta is true, the local step with the gradient
 * happens here.
 */
static void wagma_end(emulation *e, int worker, size_t piece)
{
    const emulation_wagma_options *const o = e->options;
    if (o->cta)
        descend(e, worker, piece, e->lives[worker].x, e->lives[worker].g);
}

static void wagma_all(emulation *e, size_t piece)
{
    for (int w = 0; w < e->p->workers; w++) {
        count(&e->out->use_versions, 0);
        take_mean(e, piece, e->lives[w].x);
        publish(e, w, piece, e->lives[w].step);
        wagma_end(e, w, piece);
    }
    all_done(e, piece);
}

static void wagma_group(emulation *e, int worker, size_t piece)
{
    const emulation_wagma_options *const o = e->options;
    life *const l = &e->lives[worker];
    share *const s = share_of(e, worker, piece);
    const double *const sum = e->sums + (size_t)worker * e->p->n;
    publish(e, worker, piece, l->step);
    s->published = l->step;
    if (e->latest[piece] < l->step)
        wagma_sums(e, piece, l->step);
    const bool on_time = e->latest[piece] == l->step && s->counts;
    count_use(e, worker, piece, o->group, o->rotates ? e->latest[piece] : 0);
    use_sum(e, worker, piece, without_version(s->took, e->latest[piece], o->period));
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++)
        l->x[i] =
            on_time && o->late_check ? sum[i] / o->group : (sum[i] + l->x[i]) / (o->group + 1);
    wagma_end(e, worker, piece);
    piece_done(e, worker, piece);
}

static void wagma_arrive(emulation *e, int worker, size_t piece)
{
    const emulation_wagma_options *const o = e->options;
    life *const l = &e->lives[worker];
    if (!o->cta)
        descend(e, worker, piece, l->x, l->g);
    if (!due(l->step, o->period))
        wagma_group(e, worker, piece);
    else if (meet(e, piece, l->x))
        wagma_all(e, piece);
}

void emulation_wagma(const emulation_problem *p, emulation_wagma_options options,
                     emulation_result *r)
{
    emulation e = emulation_new(p, r, &options);
    e.arrive = wagma_arrive;
    for (int w = 0; w < p->workers; w++)
        for (size_t k = 0; k < p->pieces; k++) {
            publish(&e, w, k, -1);
            *share_of(&e, w, k) =
                (share){.made = options.cta ? 0 : -1, .published = -1, .took = -1};
        }
    live(&e);
}

/* --- eager-SGD -------------------------------------------------------------------------------- */

static void eager_use(emulation *e, int worker, size_t piece)
{
    const emulation_eager_options *const o = e->options;
    life *const l = &e->lives[worker];
    share *const s = share_of(e, worker, piece);
    count_use(e, worker, piece, 0, 0);
    use_sum(e, worker, piece,
            o->limiter == 0 ? 0 : without_version(s->took, e->latest[piece], o->limiter + 1));
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++) {
        l->g[i] = e->sums[i] / e->p->workers;
        l->b[i] = o->discards ? 0 : l->b[i];
    }
    s->made = o->discards ? NOTHING : s->made;
    descend(e, worker, piece, l->x, l->g);
}

/**
 * Computes the sum of the send buffers of all workers for a version, and then empties the buffers.
 */
static void eager_sum(emulation *e, size_t piece, long version)
{
    sample_shares(e, piece, version);
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++) {
        e->sums[i] = 0;
        for (int w = 0; w < e->p->workers; w++) {
            e->sums[i] += e->lives[w].b[i];
            e->lives[w].b[i] = 0;
        }
    }
    for (int w = 0; w < e->p->workers; w++)
        share_of(e, w, piece)->made = NOTHING;
}

static void eager_all(emulation *e, size_t piece)
{
    for (int w = 0; w < e->p->workers; w++) {
        life *const l = &e->lives[w];
        count(&e->out->use_versions, 0);
        take_mean(e, piece, l->g);
        memset(l->b + from_of(e->p, piece), 0,
               (from_of(e->p, piece + 1) - from_of(e->p, piece)) * sizeof *l->b);
        share_of(e, w, piece)->made = NOTHING;
        descend(e, w, piece, l->x, l->g);
    }
    all_done(e, piece);
}

/** Wakes all workers that wait for the sum of the version that eager_sum() has just computed. */
static void eager_wake(emulation *e, size_t piece)
{
    for (int w = 0; w < e->p->workers; w++) {
        if (!share_of(e, w, piece)->waits)
            continue;
        share_of(e, w, piece)->waits = false;
        eager_use(e, w, piece);
        piece_done(e, w, piece);
    }
}

static void eager_arrive(emulation *e, int worker, size_t piece)
{
    const emulation_eager_options *const o = e->options;
    life *const l = &e->lives[worker];
    share *const s = share_of(e, worker, piece);
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++)
        l->b[i] = l->g[i] + (o->discards ? 0 : l->b[i]);
    s->made = s->made == NOTHING ? l->step : s->made;
    if (o->limiter > 0 && due(l->step, o->limiter + 1)) {
        if (meet(e, piece, l->b))
            eager_all(e, piece);
        return;
    }
    s->published = l->step;
    s->waits = true;
    const bool starts = o->initiator == NULL || o->initiator(e->p, l->step) == worker;
    if (e->latest[piece] < l->step && starts) {
        eager_sum(e, piece, l->step);
        eager_wake(e, piece);
    } else if (e->latest[piece] >= l->step) {
        s->waits = false;
        eager_use(e, worker, piece);
        piece_done(e, worker, piece);
    }
}

static void eager_finish(emulation *e, int worker)
{
    const emulation_eager_options *const o = e->options;
    life *const l = &e->lives[worker];
    if (!due(l->step, o->period)) {
        next_step(e, worker);
        return;
    }
    bool all = true;
    for (size_t k = 0; k < e->p->pieces; k++)
        all = meet(e, k, l->x);
    if (!all)
        return;
    for (int w = 0; w < e->p->workers; w++)
        memcpy(e->lives[w].x, e->mean, e->p->n * sizeof *e->mean);
    for (int w = 0; w < e->p->workers; w++)
        next_step(e, w);
}

void emulation_eager(const emulation_problem *p, emulation_eager_options options,
                     emulation_result *r)
{
    emulation e = emulation_new(p, r, &options);
    e.arrive = eager_arrive;
    e.finish = eager_finish;
    for (int w = 0; w < p->workers; w++)
        for (size_t k = 0; k < p->pieces; k++)
            *share_of(&e, w, k) = (share){.made = NOTHING, .published = -1, .took = -1};
    live(&e);
}

/* --- DaSGD ------------------------------------------------------------------------------------ */

typedef struct dasgd_options {
    long tau, d;
    double xi;
} dasgd_options;

/**
 * Returns the number of averages of all models that must exist before a worker can end its step.
 */
static long dasgd_needs(const dasgd_options *o, long step)
{
    if (o->d == 0)
        return due(step, o->tau) ? (step + 1) / o->tau : 0;
    return step >= o->tau && step % o->tau == o->d - 1 ? step / o->tau : 0;
}

static void dasgd_mix(emulation *e, int worker, size_t piece)
{
    const dasgd_options *const o = e->options;
    double *const x = e->lives[worker].x;
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++)
        x[i] = o->xi * x[i] + (1 - o->xi) * e->mean[i];
}

static void dasgd_end(emulation *e, int worker, size_t piece)
{
    const dasgd_options *const o = e->options;
    life *const l = &e->lives[worker];
    bool all = false;
    if (o->d > 0 && due(l->step, o->tau))
        all = meet(e, piece, l->x);
    share_of(e, worker, piece)->waits = false;
    piece_done(e, worker, piece);
    for (int w = 0; w < e->p->workers && all; w++) {
        if (!share_of(e, w, piece)->waits)
            continue;
        dasgd_mix(e, w, piece);
        dasgd_end(e, w, piece);
    }
}

static void dasgd_arrive(emulation *e, int worker, size_t piece)
{
    const dasgd_options *const o = e->options;
    life *const l = &e->lives[worker];
    const long needs = dasgd_needs(o, l->step);
    descend(e, worker, piece, l->x, l->g);
    bool all = false;
    if (o->d == 0 && needs > 0)
        all = meet(e, piece, l->x);
    if (needs > 0 && e->rounds[piece] < needs) {
        share_of(e, worker, piece)->waits = true;
        return;
    }
    if (needs > 0)
        dasgd_mix(e, worker, piece);
    dasgd_end(e, worker, piece);
    for (int w = 0; w < e->p->workers && all; w++) {
        if (!share_of(e, w, piece)->waits)
            continue;
        dasgd_mix(e, w, piece);
        dasgd_end(e, w, piece);
    }
}

void emulation_dasgd(const emulation_problem *p, long tau, long d, double xi, emulation_result *r)
{
    require(0 <= d && d <= tau, "d is not in 0 .. tau");
    const dasgd_options options = {tau, d, xi};
    emulation e = emulation_new(p, r, &options);
    e.arrive = dasgd_arrive;
    live(&e);
}

/* --- servers ---------------------------------------------------------------------------------- */

typedef struct server_options {
    long period;
    double alpha;
} server_options;

static void easgd_begin(emulation *e, int worker)
{
    const server_options *const o = e->options;
    life *const l = &e->lives[worker];
    for (size_t i = 0; i < e->p->n; i++) {
        l->old[i] = l->step % o->period == 0 ? o->alpha * (l->x[i] - e->out->center[i]) : 0;
        e->out->center[i] += l->old[i];
    }
}

static void easgd_arrive(emulation *e, int worker, size_t piece)
{
    life *const l = &e->lives[worker];
    descend(e, worker, piece, l->x, l->g);
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++)
        l->x[i] -= l->old[i];
    piece_done(e, worker, piece);
}

void emulation_easgd(const emulation_problem *p, double alpha, long period, emulation_result *r)
{
    const server_options options = {period, alpha};
    emulation e = emulation_new(p, r, &options);
    e.begin = easgd_begin;
    e.arrive = easgd_arrive;
    live(&e);
}

static void downpour_arrive(emulation *e, int worker, size_t piece)
{
    const server_options *const o = e->options;
    life *const l = &e->lives[worker];
    share *const s = share_of(e, worker, piece);
    descend(e, worker, piece, l->x, l->g);
    if (due(l->step, o->period)) {
        for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++) {
            e->out->center[i] += l->x[i] - l->old[i];
            l->x[i] = l->old[i] = e->out->center[i];
        }
        count(&e->out->push_versions, (double)(e->rounds[piece] - s->took));
        s->took = ++e->rounds[piece];
    }
    piece_done(e, worker, piece);
}

void emulation_downpour(const emulation_problem *p, long period, emulation_result *r)
{
    const server_options options = {period, 0};
    emulation e = emulation_new(p, r, &options);
    e.arrive = downpour_arrive;
    for (int w = 0; w < p->workers; w++)
        memcpy(e.lives[w].old, p->initial, p->n * sizeof *p->initial);
    live(&e);
}

/* --- AD-PSGD ---------------------------------------------------------------------------------- */

int emulation_exponential_peer(const emulation_problem *p, int worker, long nth)
{
    int rounds = 1;
    while (1 << rounds <= p->workers - 1) /* after this loop, rounds is floor(log2(P - 1)) + 1 */
        rounds++;
    const long entry = nth % (2 * rounds);
    const int m = (int)(entry / 2);
    const int distance = m == 0 ? 1 : 1 + (1 << m);
    const int to = worker + (entry % 2 == 0 ? distance : -distance);
    return (to % p->workers + p->workers) % p->workers;
}

static void count_gradient(emulation *e, int worker, double averagings_at)
{
    count(&e->out->gradient_averagings, e->lives[worker].averagings - averagings_at);
}

static void paper_arrive(emulation *e, int worker, size_t piece)
{
    life *const l = &e->lives[worker];
    count_gradient(e, worker, l->averagings_at);
    descend(e, worker, piece, l->x, l->g);
    piece_done(e, worker, piece);
}

/** Returns the worker's model that exchanges average: x in the paper's algorithm, else b. */
static double *averaged(const emulation *e, int worker)
{
    const emulation_pair_options *const o = e->options;
    return o->pairing == EMULATION_PAPER ? e->lives[worker].x : e->lives[worker].b;
}

static void ask(emulation *e, int worker);

static void paper_begin(emulation *e, int worker)
{
    const emulation_pair_options *const o = e->options;
    e->lives[worker].left = o->per_gradient;
    if (worker % 2 == 1 && o->per_gradient > 0)
        ask(e, worker);
}

/**
 * Adds a peer's reply to a worker's model. The reply is half the difference of the two models. The
 * worker therefore keeps changes of its model between request and reply.
 */
static void hear_reply(emulation *e, int worker, const event *now)
{
    const emulation_pair_options *const o = e->options;
    life *const l = &e->lives[worker];
    double *const x = averaged(e, worker);
    for (size_t i = 0; i < e->p->n; i++)
        x[i] += now->content[i];
    l->averagings++;
    e->out->averagings++;
    l->sends = false;
    if (o->pairing != EMULATION_PAPER || --l->left > 0)
        ask(e, worker);
}

static void reply(emulation *e, int worker, int asker, const double *asked)
{
    const emulation_pair_options *const o = e->options;
    double *const y = averaged(e, worker);
    event *const back = post(e, o->message_s, (event){.run = hear_reply, .worker = asker});
    for (size_t i = 0; i < e->p->n; i++) {
        back->content[i] = (y[i] - asked[i]) / 2;
        y[i] -= back->content[i];
    }
    e->lives[worker].averagings++;
    e->lives[worker].answered++;
}

/**
 * Answers an averaging request. A gossip process answers in the order of its schedule: its nth
 * answer belongs to the nth request of its peer. A process does not change its model between its
 * own request and the reply, so its model still equals the request.
 */
static void answer(emulation *e, int worker, const event *now)
{
    const emulation_pair_options *const o = e->options;
    life *const l = e->lives;
    if (o->pairing != EMULATION_GOSSIP_PROCESS) {
        reply(e, worker, (int)now->number, now->content);
        return;
    }
    l[now->number].arrived = true;
    for (int w = 1; w < e->p->workers; w += 2) {
        const bool next = l[w].arrived && l[w].asked - 1 == l[worker].answered &&
                          o->peer(e->p, w, l[worker].answered) == worker;
        if (!next)
            continue;
        l[w].arrived = false;
        reply(e, worker, w, averaged(e, w));
        /* the loop restarts from worker 1, because another worker may wait for this answer */
        w = -1;
    }
}

static void apply_handed(emulation *e, int worker);

/**
 * Starts the next exchange of an active worker. A gossip process first applies the gradient that
 * the training handed over.
 */
static void ask(emulation *e, int worker)
{
    const emulation_pair_options *const o = e->options;
    const emulation_problem *const p = e->p;
    life *const l = &e->lives[worker];
    if (o->pairing == EMULATION_GOSSIP_PROCESS)
        apply_handed(e, worker);
    if (l->sends || (p->until_s > 0 && e->now_s > p->until_s))
        return;
    l->sends = true;
    const int peer = o->peer(p, worker, l->asked++);
    event *const asked =
        post(e, o->message_s, (event){.run = answer, .worker = peer, .number = worker});
    memcpy(asked->content, averaged(e, worker), p->n * sizeof *asked->content);
}

static void shared_arrive(emulation *e, int worker, size_t piece)
{
    life *const l = &e->lives[worker];
    for (size_t i = from_of(e->p, piece); i < from_of(e->p, piece + 1); i++)
        l->x[i] = l->b[i] = (l->x[i] + l->b[i]) / 2;
    count_gradient(e, worker, l->averagings_at);
    descend(e, worker, piece, l->x, l->g);
    piece_done(e, worker, piece);
}

/**
 * Hands the worker's gradient over to its gossip process. The training then copies the model of the
 * process and continues with its next step.
 */
static void hand_over(emulation *e, int worker)
{
    life *const l = &e->lives[worker];
    memcpy(l->applied, l->g, e->p->n * sizeof *l->g);
    l->hands_over = true;
    l->handed_averagings_at = l->averagings_at;
    memcpy(l->x, l->b, e->p->n * sizeof *l->x);
    if (worker % 2 == 0)
        apply_handed(e, worker);
    next_step(e, worker);
}

static void apply_handed(emulation *e, int worker)
{
    life *const l = &e->lives[worker];
    if (!l->hands_over)
        return;
    l->hands_over = false;
    count_gradient(e, worker, l->handed_averagings_at);
    for (size_t k = 0; k < e->p->pieces; k++)
        descend(e, worker, k, l->b, l->applied);
    if (l->waits) {
        l->waits = false;
        hand_over(e, worker);
    }
}

static void process_arrive(emulation *e, int worker, size_t piece)
{
    piece_done(e, worker, piece);
}

static void process_finish(emulation *e, int worker)
{
    life *const l = &e->lives[worker];
    if (l->hands_over)
        l->waits = true;
    else
        hand_over(e, worker);
}

void emulation_ad_psgd(const emulation_problem *p, emulation_pair_options options,
                       emulation_result *r)
{
    emulation e = emulation_new(p, r, &options);
    e.arrive = paper_arrive;
    if (options.pairing == EMULATION_PAPER) {
        e.begin = paper_begin;
        live(&e);
        return;
    }
    require(options.message_s > 0 && p->until_s > 0, "an endless loop needs time and a bound");
    e.arrive = options.pairing == EMULATION_SHARED_COPY ? shared_arrive : process_arrive;
    e.finish = options.pairing == EMULATION_SHARED_COPY ? NULL : process_finish;
    e.owner = options.pairing == EMULATION_GOSSIP_PROCESS;
    for (int w = 0; w < p->workers; w++)
        memcpy(e.lives[w].b, p->initial, p->n * sizeof *p->initial);
    for (int w = 1; w < p->workers; w += 2)
        ask(&e, w);
    live(&e);
}

/* --- DropCompute ------------------------------------------------------------------------------ */

emulation_cut emulation_cut_step(double step_s, int micro_batches, double backward_share,
                                 double threshold_s)
{
    const double each_s = step_s / micro_batches;
    emulation_cut cut = {0, 0};
    for (int m = 0; m < micro_batches; m++) {
        const double begin_s = m * each_s;
        const double backward_s = begin_s + (1 - backward_share) * each_s;
        if (begin_s > threshold_s)
            break;
        if (backward_s > threshold_s) {
            cut.compute_s = backward_s;
            break;
        }
        cut.done++;
        cut.compute_s = begin_s + each_s;
    }
    return cut;
}

/**
 * Returns the expected gain of a threshold. The gain is the mean over the steps of
 *
 *     (1 - dropped share) raw / (raw - saved) - 1.
 *
 * The time raw is computation + overhead, where the computation is the time of the slowest worker.
 * The time saved is the part of this computation that the threshold saves.
 */
static double threshold_gain(const emulation_calibration *c, double threshold_s)
{
    double gain = 0;
    for (long t = 0; t < c->steps; t++) {
        double slowest_s = 0;
        double cut_s = 0;
        double kept = 0;
        for (int w = 0; w < c->workers; w++) {
            const double step_s = c->seconds[t * c->workers + w];
            const emulation_cut cut =
                emulation_cut_step(step_s, c->micro_batches, c->backward_share, threshold_s);
            slowest_s = fmax(slowest_s, step_s);
            cut_s = fmax(cut_s, cut.compute_s);
            kept += (double)cut.done / c->micro_batches / c->workers;
        }
        const double raw_s = slowest_s + c->overhead_s;
        gain += (kept * raw_s / (raw_s - (slowest_s - cut_s)) - 1) / (double)c->steps;
    }
    return gain;
}

double emulation_threshold(const emulation_calibration *c)
{
    double least_s = INFINITY;
    double most_s = 0;
    for (long i = 0; i < c->steps * c->workers; i++) {
        least_s = fmin(least_s, c->seconds[i] * c->first / c->micro_batches);
        most_s = fmax(most_s, c->seconds[i]);
    }
    double best_s = INFINITY;
    double best = 1e-12; /* gains below 1e-12 are only rounding errors */
    for (int i = 0; i < 200; i++) {
        const double threshold_s = least_s + (most_s - least_s) * i / 199;
        const double gain = threshold_gain(c, threshold_s);
        if (gain > best) {
            best = gain;
            best_s = threshold_s;
        }
    }
    return best_s;
}
