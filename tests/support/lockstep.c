/**
 * @file lockstep.c
 * Common parts of the emulations in which all workers advance in lock-step.
 */
#include "tests/support/lockstep.h"
#include "tests/support/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lockstep_require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "oracle: %s\n", what);
    abort();
}

double *lockstep_zeros(size_t n)
{
    double *const a = calloc(n + 1, sizeof *a);
    lockstep_require(a != NULL, "out of memory");
    return kept(a);
}

lockstep lockstep_begin(const oracle_problem *p, double *x)
{
    const size_t count = (size_t)p->workers * p->n;
    for (size_t i = 0; i < count; i++)
        x[i] = p->initial[i];
    return (lockstep){p, count, x, lockstep_zeros(count), lockstep_zeros(count)};
}

void lockstep_require_one_start(const oracle_problem *p)
{
    for (int w = 1; w < p->workers; w++)
        for (size_t i = 0; i < p->n; i++)
            lockstep_require(p->initial[(size_t)w * p->n + i] == p->initial[i],
                             "the workers start from different models");
}

size_t lockstep_cut(size_t n, size_t k, size_t pieces)
{
    return (2 * n * k + pieces) / (2 * pieces);
}

bool lockstep_due(long step, long period)
{
    return period > 0 && (step + 1) % period == 0;
}

void lockstep_gradients(lockstep *s, long step, const double *at)
{
    const size_t n = s->p->n;
    for (int w = 0; w < s->p->workers; w++)
        s->p->gradient(s->p->argument, w, step, at + (size_t)w * n, s->g + (size_t)w * n);
}

void lockstep_descend(lockstep *s)
{
    for (size_t i = 0; i < s->count; i++) {
        s->v[i] = s->p->momentum * s->v[i] + s->g[i] + s->p->weight_decay * s->x[i];
        s->x[i] -= s->p->lr * s->v[i];
    }
}

void lockstep_step(lockstep *s, long step)
{
    lockstep_gradients(s, step, s->x);
    lockstep_descend(s);
}

void lockstep_mean_of(const oracle_problem *p, const double *a, double *mean)
{
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (int w = 0; w < p->workers; w++)
            sum += a[(size_t)w * p->n + i];
        mean[i] = sum / p->workers;
    }
}

void lockstep_set_all(const oracle_problem *p, const double *row, double *a)
{
    for (int w = 0; w < p->workers; w++)
        for (size_t i = 0; i < p->n; i++)
            a[(size_t)w * p->n + i] = row[i];
}

void lockstep_average(const oracle_problem *p, double *a)
{
    double *const mean = lockstep_zeros(p->n);
    lockstep_mean_of(p, a, mean);
    lockstep_set_all(p, mean, a);
}

void lockstep_mix(int workers, size_t n, const double *weights, double *a)
{
    double *const mixed = lockstep_zeros((size_t)workers * n);
    for (int i = 0; i < workers; i++)
        for (int j = 0; j < workers; j++)
            for (size_t k = 0; k < n; k++)
                mixed[(size_t)i * n + k] +=
                    weights[(size_t)i * (size_t)workers + (size_t)j] * a[(size_t)j * n + k];
    memcpy(a, mixed, (size_t)workers * n * sizeof *a);
}
