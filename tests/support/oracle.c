/**
 * @file oracle.c
 * Emulates the algorithms step by step, with all workers in lock-step.
 */
#include "tests/support/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lockstep.h"

static const double *matrix(const oracle_problem *p, const double *mixing, long rounds, long round)
{
    return mixing + (size_t)(round % rounds) * (size_t)p->workers * (size_t)p->workers;
}

void oracle_local_sgd(const oracle_problem *p, long period, long post_local, double *x)
{
    lockstep s = lockstep_begin(p, x);
    for (long t = 0; t < p->steps; t++) {
        lockstep_step(&s, t);
        if (lockstep_due(t, t < post_local ? 1 : period))
            lockstep_average(p, x);
    }
}

void oracle_gossip(const oracle_problem *p, const double *mixing, long rounds, long rounds_per_step,
                   bool atc, double *x)
{
    lockstep s = lockstep_begin(p, x);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        if (atc)
            lockstep_descend(&s);
        for (long k = 0; k < rounds_per_step; k++)
            lockstep_mix(p->workers, p->n, matrix(p, mixing, rounds, t * rounds_per_step + k), x);
        if (!atc)
            lockstep_descend(&s);
    }
}

/**
 * The state of push-sum: numerators and weights. The numerators are the models x of the member s.
 */
typedef struct push_sum {
    lockstep s;
    double *z; /* de-biased models (numerator / weight), in the caller's array [workers][n] */
    double *weights; /* push-sum weight of each worker, in the caller's array [workers] */
} push_sum;

static void debias(push_sum *m)
{
    for (size_t i = 0; i < m->s.count; i++)
        m->z[i] = m->s.x[i] / m->weights[i / m->s.p->n];
}

static push_sum push_sum_begin(const oracle_problem *p, double *z, double *weights)
{
    push_sum m = {lockstep_begin(p, lockstep_zeros((size_t)p->workers * p->n)), z, weights};
    for (int w = 0; w < p->workers; w++)
        weights[w] = 1;
    debias(&m);
    return m;
}

static void push_sum_end(push_sum *m)
{
    free(m->s.x);
}

void oracle_sgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                double *weights)
{
    push_sum m = push_sum_begin(p, z, weights);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&m.s, t, z);
        lockstep_descend(&m.s);
        lockstep_mix(p->workers, p->n, matrix(p, mixing, rounds, t), m.s.x);
        lockstep_mix(p->workers, 1, matrix(p, mixing, rounds, t), weights);
        debias(&m);
    }
    push_sum_end(&m);
}

/**
 * Adds the shares that are in flight to @p a, and then splits @p a by the matrix of shares. The
 * share that a worker keeps for itself stays in @p a. The other shares are in flight until the next
 * call.
 */
static void exchange_late(int workers, size_t n, const double *shares, double *a, double *flying)
{
    const size_t count = (size_t)workers * n;
    /* distance between the indices of two neighbouring elements of the matrix diagonal */
    const size_t next = (size_t)workers + 1;
    double *const sent = lockstep_zeros((size_t)workers * (size_t)workers);
    memcpy(sent, shares, (size_t)workers * (size_t)workers * sizeof *sent);
    for (int w = 0; w < workers; w++)
        sent[(size_t)w * next] = 0;
    for (size_t i = 0; i < count; i++)
        a[i] += flying[i];
    memcpy(flying, a, count * sizeof *a);
    lockstep_mix(workers, n, sent, flying);
    for (size_t i = 0; i < count; i++)
        a[i] *= shares[i / n * next];
}

void oracle_osgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                 double *weights)
{
    push_sum m = push_sum_begin(p, z, weights);
    double *const flying = lockstep_zeros(m.s.count);
    double *const flying_weights = lockstep_zeros((size_t)p->workers);
    for (long t = 0; t < p->steps; t++) {
        const double *const shares = matrix(p, mixing, rounds, t);
        exchange_late(p->workers, p->n, shares, m.s.x, flying);
        exchange_late(p->workers, 1, shares, weights, flying_weights);
        debias(&m);
        lockstep_gradients(&m.s, t, z);
        lockstep_descend(&m.s);
        debias(&m);
    }
    push_sum_end(&m);
}

/**
 * Lets each worker in turn compute its elastic difference to the centre and pull the centre towards
 * its own model. The worker later subtracts the same difference from its own model; @p elastic
 * stores it until then.
 */
static void visit_center(const lockstep *s, double alpha, const long *order, double *center,
                         double *elastic)
{
    const size_t n = s->p->n;
    for (int place = 0; place < s->p->workers; place++)
        for (size_t i = 0; i < n; i++) {
            const size_t own = (size_t)order[place] * n + i;
            elastic[own] = alpha * (s->x[own] - center[i]);
            center[i] += elastic[own];
        }
}

/**
 * Makes the local step of EAMSGD. The gradient is taken ahead of the model, at x + delta v. The
 * weight decay also uses this point.
 */
static void look_ahead_step(lockstep *s, long step, double delta)
{
    for (size_t i = 0; i < s->count; i++) {
        s->v[i] *= delta;
        s->x[i] += s->v[i];
    }
    lockstep_gradients(s, step, s->x);
    for (size_t i = 0; i < s->count; i++) {
        const double move = s->p->lr * (s->g[i] + s->p->weight_decay * s->x[i]);
        s->x[i] -= move;
        s->v[i] -= move;
    }
}

void oracle_easgd(const oracle_problem *p, double alpha, long period, double delta,
                  const long *order, double *center, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const elastic = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        const bool visits = t % period == 0;
        if (visits)
            visit_center(&s, alpha, order, center, elastic);
        if (delta == 0)
            lockstep_step(&s, t);
        else
            look_ahead_step(&s, t, delta);
        for (size_t i = 0; visits && i < s.count; i++)
            x[i] -= elastic[i];
    }
}

/**
 * An outer optimizer. At the start of a round, the model is @p old. The mean of the workers' models
 * at the end of the round is @p mean. The function updates the optimizer state @p u, and stores the
 * next model in @p old.
 */
typedef void outer_step(const oracle_problem *p, double rate, double momentum, const double *mean,
                        double *u, double *old);

static void rounds_with(const oracle_problem *p, long period, outer_step *outer, double rate,
                        double momentum, double *x)
{
    lockstep_require_one_start(p);
    lockstep s = lockstep_begin(p, x);
    double *const old = lockstep_zeros(p->n);
    double *const mean = lockstep_zeros(p->n);
    double *const u = lockstep_zeros(p->n);
    memcpy(old, p->initial, p->n * sizeof *old);
    for (long t = 0; t < p->steps; t++) {
        lockstep_step(&s, t);
        if (!lockstep_due(t, period))
            continue;
        lockstep_mean_of(p, x, mean);
        outer(p, rate, momentum, mean, u, old);
        lockstep_set_all(p, old, x);
    }
}

/** Makes an outer step of SGD with Nesterov momentum, with the formula of DiLoCo. */
static void nesterov(const oracle_problem *p, double rate, double momentum, const double *mean,
                     double *u, double *old)
{
    for (size_t i = 0; i < p->n; i++) {
        const double difference = old[i] - mean[i];
        u[i] = momentum * u[i] + difference;
        old[i] -= rate * (difference + momentum * u[i]);
    }
}

/**
 * Makes an outer step of SlowMo: heavy-ball momentum, where the outer gradient is (old - mean) /
 * lr.
 */
static void slow_momentum(const oracle_problem *p, double rate, double momentum, const double *mean,
                          double *u, double *old)
{
    for (size_t i = 0; i < p->n; i++) {
        u[i] = momentum * u[i] + (old[i] - mean[i]) / p->lr;
        old[i] -= rate * p->lr * u[i];
    }
}

void oracle_diloco(const oracle_problem *p, long period, double outer_lr, double outer_momentum,
                   double *x)
{
    rounds_with(p, period, nesterov, outer_lr, outer_momentum, x);
}

void oracle_slowmo(const oracle_problem *p, long period, double alpha, double beta, double *x)
{
    lockstep_require(p->lr != 0, "SlowMo divides by the learning rate");
    rounds_with(p, period, slow_momentum, alpha, beta, x);
}

void oracle_scaffold(const oracle_problem *p, long period, double global_lr, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const control = lockstep_zeros(s.count), *const c = lockstep_zeros(p->n);
    double *const mean = lockstep_zeros(p->n), *const start = lockstep_zeros(p->n);
    memcpy(start, p->initial, p->n * sizeof *start);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            s.g[i] += c[i % p->n] - control[i];
        lockstep_descend(&s);
        if (!lockstep_due(t, period))
            continue;
        for (size_t i = 0; i < s.count; i++)
            control[i] += (start[i % p->n] - x[i]) / ((double)period * p->lr) - c[i % p->n];
        lockstep_mean_of(p, control, c);
        lockstep_mean_of(p, x, mean);
        for (size_t i = 0; i < p->n; i++)
            start[i] += global_lr * (mean[i] - start[i]);
        lockstep_set_all(p, start, x);
    }
}

void oracle_drop_compute(const oracle_problem *p, const double *share, double *x)
{
    lockstep s = lockstep_begin(p, x);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        for (size_t i = 0; i < s.count; i++)
            s.g[i] *= share[(size_t)t * (size_t)p->workers + i / p->n];
        lockstep_average(p, s.g);
        lockstep_descend(&s);
    }
}
