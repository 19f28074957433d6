/**
 * @file arrivals.c
 * Emulates algorithms whose result depends on the order in which gradients arrive.
 */
#include "tests/support/arrivals.h"
#include "tests/support/kept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The state of one worker of an emulation. */
typedef struct pace {
    double *x, *g, *v; /* model, gradient and momentum, [n] values each */
    double *old; /* model that the worker fetched last from the server, [n] values */
    /*
     * start and end of the current computation; the end is INFINITY if the worker computes nothing
     */
    double began_s, ends_s;
    bool waits; /* true while the worker waits for permission to start its next computation */
    double since_s; /* time at which the worker started to wait */
    long begun; /* number of computations that the worker has started */
    /* number of computations that the worker has completed; cancelled computations do not count */
    long finished;
    long fetched; /* version number of the server's model that the worker fetched last */
    long left; /* number of local steps left in the worker's round */
} pace;

typedef struct arrivals {
    const emulation_problem *p;
    arrivals_result *out;
    double now_s;
    pace *worker;
    long version;
    double *center, *v, *sum; /* model of the server, its momentum, and sum of gradients */
    double *room;
} arrivals;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "arrivals: %s\n", what);
    abort();
}

static arrivals arrivals_new(const emulation_problem *p, arrivals_result *r)
{
    require(p->pieces == 1, "more pieces than one");
    require(p->workers > 0, "no workers");
    const size_t n = p->n;
    arrivals a = {.p = p, .out = r};
    a.worker = calloc((size_t)p->workers, sizeof *a.worker);
    a.room = calloc(n * (4 * (size_t)p->workers + 3), sizeof *a.room);
    require(a.worker != NULL && a.room != NULL, "out of memory");
    a.center = a.room;
    a.v = a.room + n;
    a.sum = a.room + 2 * n;
    memcpy(a.center, p->initial, n * sizeof *a.center);
    for (int w = 0; w < p->workers; w++) {
        double *const own = a.room + n * (3 + 4 * (size_t)w);
        a.worker[w] = (pace){.x = own, .g = own + n, .v = own + 2 * n, .old = own + 3 * n};
        memcpy(a.worker[w].x, p->initial, n * sizeof *own);
        memcpy(a.worker[w].old, p->initial, n * sizeof *own);
    }
    return a;
}

static void arrivals_end(arrivals *a)
{
    const size_t n = a->p->n;
    for (int w = 0; w < a->p->workers && a->out->x != NULL; w++)
        memcpy(a->out->x + (size_t)w * n, a->worker[w].x, n * sizeof *a->center);
    if (a->out->center != NULL)
        memcpy(a->out->center, a->center, n * sizeof *a->center);
    free(a->worker);
    free(a->room);
}

/** Starts the worker's next computation, which takes the gradient at the worker's own model. */
static void compute(arrivals *a, int worker)
{
    const emulation_problem *const p = a->p;
    pace *const w = &a->worker[worker];
    w->ends_s = INFINITY;
    if (p->steps > 0 && w->finished == p->steps)
        return;
    p->gradient(p->argument, worker, w->finished, w->x, w->g);
    w->began_s = a->now_s;
    w->ends_s = a->now_s + p->seconds[w->begun % p->rows * p->workers + worker];
    w->begun++;
}

static void fetch(arrivals *a, int worker)
{
    pace *const w = &a->worker[worker];
    memcpy(w->x, a->center, a->p->n * sizeof *w->x);
    memcpy(w->old, a->center, a->p->n * sizeof *w->x);
    w->fetched = a->version;
}

static void fetch_and_compute(arrivals *a, int worker)
{
    fetch(a, worker);
    compute(a, worker);
}

static void throw_away(arrivals *a, int worker)
{
    if (isinf(a->worker[worker].ends_s))
        return;
    a->out->cancelled++;
    a->out->lost_s += a->now_s - a->worker[worker].began_s;
}

static void compute_all(arrivals *a)
{
    for (int w = 0; w < a->p->workers; w++)
        compute(a, w);
}

static int next_end(const arrivals *a)
{
    int next = 0;
    for (int w = 1; w < a->p->workers; w++)
        if (a->worker[w].ends_s < a->worker[next].ends_s)
            next = w;
    return next;
}

/**
 * Advances the time to the next end of a computation. Returns the worker whose computation ends, or
 * -1 if no computation ends before the end of the run.
 */
static int next_arrival(arrivals *a)
{
    const int next = next_end(a);
    const double at_s = a->worker[next].ends_s;
    if (isinf(at_s) || (a->p->until_s > 0 && at_s > a->p->until_s))
        return -1;
    a->now_s = a->out->end_s = at_s;
    a->worker[next].ends_s = INFINITY;
    a->worker[next].finished++;
    return next;
}

static void start_waiting(arrivals *a, int worker)
{
    a->worker[worker].waits = true;
    a->worker[worker].since_s = a->now_s;
}

static void stop_waiting(arrivals *a, int worker)
{
    a->out->waited_s += a->now_s - a->worker[worker].since_s;
    a->worker[worker].waits = false;
}

/** Makes a local step of model x with gradient g and momentum v. */
static void descend(const emulation_problem *p, const double *g, double *v, double *x)
{
    for (size_t i = 0; i < p->n; i++) {
        v[i] = p->momentum * v[i] + g[i] + p->weight_decay * x[i];
        x[i] -= p->lr * v[i];
    }
}

static long delay_of(const arrivals *a, int worker)
{
    return a->version - a->worker[worker].fetched;
}

static void count_delay(arrivals *a, int worker)
{
    emulation_lag *const lag = &a->out->delay;
    lag->n++;
    lag->sum += (double)delay_of(a, worker);
    lag->max = fmax(lag->max, (double)delay_of(a, worker));
}

/** Counts a change of the server's model as one update and one new version. */
static void changed(arrivals *a)
{
    a->version++;
    a->out->updates++;
}

/* --- stale synchronous parallel --------------------------------------------------------------- */

static long fewest_finished(const arrivals *a)
{
    long fewest = a->worker[0].finished;
    for (int w = 1; w < a->p->workers; w++)
        if (a->worker[w].finished < fewest)
            fewest = a->worker[w].finished;
    return fewest;
}

static void ssp_release(arrivals *a, long slack)
{
    const long fewest = fewest_finished(a);
    for (int w = 0; w < a->p->workers; w++) {
        if (!a->worker[w].waits || (slack >= 0 && a->worker[w].finished - fewest > slack))
            continue;
        stop_waiting(a, w);
        fetch_and_compute(a, w);
    }
}

void arrivals_ssp(const emulation_problem *p, long slack, arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    compute_all(&a);
    for (int w; (w = next_arrival(&a)) >= 0;) {
        pace *const own = &a.worker[w];
        descend(p, own->g, own->v, own->x);
        for (size_t i = 0; i < p->n; i++)
            a.center[i] += own->x[i] - own->old[i];
        count_delay(&a, w);
        changed(&a);
        start_waiting(&a, w);
        ssp_release(&a, slack);
    }
    arrivals_end(&a);
}

/* --- backup workers --------------------------------------------------------------------------- */

/**
 * Tokens that the server has released and no worker has taken, counted by step number. Workers take
 * the oldest token first.
 */
typedef struct tokens {
    long *left; /* number of free tokens for each step, [steps] entries */
    long oldest, most;
} tokens;

static void take_tokens(arrivals *a, tokens *t, long *number)
{
    for (int w = 0; w < a->p->workers; w++) {
        if (!a->worker[w].waits)
            continue;
        while (t->oldest < a->version && t->left[t->oldest] == 0)
            t->oldest++;
        if (t->left[t->oldest] == 0)
            return;
        t->left[t->oldest]--;
        number[w] = t->oldest;
        stop_waiting(a, w);
        fetch_and_compute(a, w);
    }
}

static void release_tokens(arrivals *a, tokens *t)
{
    if (a->version >= t->most) {
        t->most *= 2;
        t->left = realloc(t->left, (size_t)t->most * sizeof *t->left);
        require(t->left != NULL, "out of memory");
    }
    t->left[a->version] = a->p->workers;
}

/**
 * Lets waiting workers continue with the server's current step. Workers whose last gradient already
 * belongs to this step continue to wait.
 */
static void go_on_with_newest(arrivals *a, long *number)
{
    for (int w = 0; w < a->p->workers; w++) {
        if (!a->worker[w].waits || number[w] == a->version)
            continue;
        number[w] = a->version;
        stop_waiting(a, w);
        fetch_and_compute(a, w);
    }
}

void arrivals_backup_workers(const emulation_problem *p, int backups, bool queues,
                             arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    const int needed = p->workers - backups;
    tokens t = {calloc(16, sizeof *t.left), 0, 16};
    long *const number = kept(calloc((size_t)p->workers, sizeof *number));
    int counted = 0;
    compute_all(&a);
    for (int w; (w = next_arrival(&a)) >= 0;) {
        if (number[w] == a.version) {
            count_delay(&a, w);
            counted++;
            for (size_t i = 0; i < p->n; i++)
                a.sum[i] += a.worker[w].g[i];
        } else {
            r->dropped++;
        }
        start_waiting(&a, w);
        if (counted == needed) {
            for (size_t i = 0; i < p->n; i++)
                a.sum[i] /= needed;
            descend(p, a.sum, a.v, a.center);
            memset(a.sum, 0, p->n * sizeof *a.sum);
            counted = 0;
            changed(&a);
            release_tokens(&a, &t);
        }
        if (queues)
            take_tokens(&a, &t, number);
        else
            go_on_with_newest(&a, number);
    }
    free(t.left);
    arrivals_end(&a);
}

/* --- Rennala and Ringmaster ------------------------------------------------------------------- */

void arrivals_rennala(const emulation_problem *p, long batch, arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    long arrived = 0;
    compute_all(&a);
    for (int w; (w = next_arrival(&a)) >= 0;) {
        count_delay(&a, w);
        for (size_t i = 0; i < p->n; i++)
            a.sum[i] += a.worker[w].g[i] / (double)batch;
        if (++arrived < batch) {
            compute(&a, w);
            continue;
        }
        descend(p, a.sum, a.v, a.center);
        memset(a.sum, 0, p->n * sizeof *a.sum);
        arrived = 0;
        changed(&a);
        for (int other = 0; other < p->workers; other++) {
            if (other != w && isinf(a.worker[other].ends_s))
                continue;
            throw_away(&a, other);
            fetch_and_compute(&a, other);
        }
    }
    arrivals_end(&a);
}

void arrivals_ringmaster(const emulation_problem *p, long delay, bool cancels, arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    compute_all(&a);
    for (int w; (w = next_arrival(&a)) >= 0;) {
        if (delay > 0 && delay_of(&a, w) >= delay) {
            r->dropped++;
            fetch_and_compute(&a, w);
            continue;
        }
        count_delay(&a, w);
        descend(p, a.worker[w].g, a.v, a.center);
        changed(&a);
        fetch_and_compute(&a, w);
        for (int other = 0; other < p->workers && cancels && delay > 0; other++) {
            if (delay_of(&a, other) < delay || isinf(a.worker[other].ends_s))
                continue;
            throw_away(&a, other);
            fetch_and_compute(&a, other);
        }
    }
    arrivals_end(&a);
}

/* --- asynchronous local SGD ------------------------------------------------------------------- */

long arrivals_local_steps(long period, double speed, double fastest)
{
    const double steps = ceil((double)period * speed / fastest);
    return steps < 1 ? 1 : (long)steps;
}

/**
 * Makes one server update of Delayed Nesterov with gradient g, which arrives as number t (from 0).
 * Updates the model w, the momentum m and the sum of gradients. All vectors have n elements.
 */
static void delayed_nesterov(const arrivals_local_options *o, size_t n, long t, const double *g,
                             double *m, double *sum, double *w)
{
    const double count = (double)o->period;
    const bool last = (t + 1) % o->period == 0;
    const double share = last ? 1 - o->c * count + o->c : o->c;
    for (size_t i = 0; i < n; i++) {
        sum[i] += g[i];
        if (last)
            m[i] = o->outer_momentum * m[i] + sum[i] / count;
        w[i] -= o->outer_lr * (share * o->outer_momentum * m[i] + g[i] / count);
        sum[i] = last ? 0 : sum[i];
    }
}

/** Ends the grace period: all waiting workers fetch the server's model and start a round. */
static void take_up(arrivals *a, double at_s, const long *steps, double *round_s)
{
    a->now_s = at_s;
    for (int w = 0; w < a->p->workers; w++) {
        if (!a->worker[w].waits)
            continue;
        stop_waiting(a, w);
        a->worker[w].left = steps[w];
        round_s[w] = at_s;
        fetch_and_compute(a, w);
    }
}

void arrivals_local_sgd(const emulation_problem *p, arrivals_local_options options,
                        arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    double *const round_s =
        kept(calloc((size_t)p->workers, sizeof *round_s)); /* start time of each worker's round */
    /* end time of the grace period, or INFINITY if no grace period is running */
    double over_s = INFINITY;
    int present = 0;
    for (int w = 0; w < p->workers; w++)
        a.worker[w].left = options.local_steps[w];
    compute_all(&a);
    for (;;) {
        if (over_s <= a.worker[next_end(&a)].ends_s && over_s <= p->until_s) {
            take_up(&a, over_s, options.local_steps, round_s);
            over_s = INFINITY;
            present = 0;
            continue;
        }
        const int w = next_arrival(&a);
        if (w < 0)
            break;
        pace *const own = &a.worker[w];
        descend(p, own->g, own->v, own->x);
        if (--own->left > 0) {
            compute(&a, w);
            continue;
        }
        for (size_t i = 0; i < p->n; i++)
            own->g[i] = own->old[i] - own->x[i];
        count_delay(&a, w);
        delayed_nesterov(&options, p->n, a.version, own->g, a.v, a.sum, a.center);
        changed(&a);
        start_waiting(&a, w);
        if (present++ == 0)
            over_s = a.now_s + options.grace * (a.now_s - round_s[w]);
        if (present == p->workers)
            over_s = a.now_s;
    }
    arrivals_end(&a);
}

/* --- DSGD-AAU --------------------------------------------------------------------------------- */

typedef bool edge_of(const emulation_problem *p, int i, int j);

static bool both_wait(const arrivals *a, edge_of *edge, int i, int j)
{
    return i != j && a->worker[i].waits && a->worker[j].waits && edge(a->p, i, j);
}

/**
 * Adds edges between waiting neighbours to the epoch if they connect two parts of the epoch's
 * graph. Worker i is in the connected part number part[i] of this graph. Returns true if it adds an
 * edge.
 */
static bool find_edges(arrivals *a, edge_of *edge, int *part)
{
    bool found = false;
    for (int i = 0; i < a->p->workers; i++)
        for (int j = i + 1; j < a->p->workers; j++) {
            if (!both_wait(a, edge, i, j) || part[i] == part[j])
                continue;
            const int old = part[j];
            for (int k = 0; k < a->p->workers; k++)
                part[k] = part[k] == old ? part[i] : part[k];
            found = true;
        }
    return found;
}

static int waiting_neighbours(const arrivals *a, edge_of *edge, int worker)
{
    int n = 0;
    for (int j = 0; j < a->p->workers; j++)
        n += both_wait(a, edge, worker, j);
    return n;
}

/**
 * Computes the worker's next model: the Metropolis mean of its model and the models of its waiting
 * neighbours. Stores the mean in the worker's g.
 */
static void metropolis(const arrivals *a, edge_of *edge, int worker)
{
    pace *const own = &a->worker[worker];
    const int degree = waiting_neighbours(a, edge, worker);
    memcpy(own->g, own->x, a->p->n * sizeof *own->g);
    for (int j = 0; j < a->p->workers; j++) {
        if (!both_wait(a, edge, worker, j))
            continue;
        const int other = waiting_neighbours(a, edge, j);
        const double weight = 1.0 / (1 + (degree > other ? degree : other));
        for (size_t i = 0; i < a->p->n; i++)
            own->g[i] += weight * (a->worker[j].x[i] - own->x[i]);
    }
}

/**
 * Mixes the models of all waiting workers that have a waiting neighbour, and lets these workers
 * continue.
 */
static void mix_and_go_on(arrivals *a, edge_of *edge, bool *mixes)
{
    const int workers = a->p->workers;
    for (int w = 0; w < workers; w++) {
        mixes[w] = a->worker[w].waits && waiting_neighbours(a, edge, w) > 0;
        if (mixes[w])
            metropolis(a, edge, w);
    }
    for (int w = 0; w < workers; w++) {
        if (!mixes[w])
            continue;
        memcpy(a->worker[w].x, a->worker[w].g, a->p->n * sizeof *a->worker[w].x);
        stop_waiting(a, w);
        compute(a, w);
    }
}

static bool all_connected(const int *part, int workers)
{
    for (int w = 1; w < workers; w++)
        if (part[w] != part[0])
            return false;
    return true;
}

static void disconnect(int *part, int workers)
{
    for (int w = 0; w < workers; w++)
        part[w] = w;
}

void arrivals_dsgd_aau(const emulation_problem *p,
                       bool (*edge)(const emulation_problem *p, int i, int j), arrivals_result *r)
{
    arrivals a = arrivals_new(p, r);
    bool *const mixes = kept(calloc((size_t)p->workers, sizeof *mixes));
    int *const part = kept(calloc((size_t)p->workers, sizeof *part));
    disconnect(part, p->workers);
    compute_all(&a);
    for (int w; (w = next_arrival(&a)) >= 0;) {
        descend(p, a.worker[w].g, a.worker[w].v, a.worker[w].x);
        if (p->workers == 1) {
            compute(&a, w);
            continue;
        }
        start_waiting(&a, w);
        if (!find_edges(&a, edge, part))
            continue;
        r->updates++;
        mix_and_go_on(&a, edge, mixes);
        if (!all_connected(part, p->workers))
            continue;
        r->epochs++;
        disconnect(part, p->workers);
    }
    arrivals_end(&a);
}
