/**
 * @file oracle_groups.c
 * Emulates gradient tracking, hierarchical local SGD and Streaming DiLoCo, with all workers in
 * lock-step.
 */
#include "tests/support/oracle_groups.h"
#include "tests/support/kept.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/lockstep.h"

/* --- gradient tracking ------------------------------------------------------------------------ */

void oracle_gradient_tracking(const oracle_problem *p, const double *mixing, bool d2, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const correction = lockstep_zeros(s.count);
    double *const before = lockstep_zeros(s.count);
    double *const u = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        memcpy(before, x, s.count * sizeof *x);
        lockstep_step(&s, t);
        for (size_t i = 0; i < s.count; i++) {
            u[i] = x[i] - before[i];
            x[i] += correction[i];
            correction[i] += u[i];
        }
        lockstep_mix(p->workers, p->n, mixing, x);
        lockstep_mix(p->workers, p->n, mixing, correction);
        for (size_t i = 0; i < s.count; i++)
            correction[i] = d2 ? x[i] - before[i] - u[i] : correction[i] - u[i];
    }
}

/* --- hierarchies ------------------------------------------------------------------------------ */

/**
 * Replaces each row by the mean of the rows of its group. A group consists of consecutive ranks.
 */
static void average_groups(const oracle_problem *p, int group, double *a)
{
    for (int first = 0; first < p->workers; first += group) {
        oracle_problem part = *p;
        part.workers = first + group <= p->workers ? group : p->workers - first;
        lockstep_average(&part, a + (size_t)first * p->n);
    }
}

/**
 * Averages the models of each group, and then corrects them with older models. @p sent contains
 * each group's model at the last call. The correction is the mean of all rows of sent minus the
 * group's own row.
 */
static void correct_groups(const oracle_problem *p, int group, double *x, double *sent)
{
    average_groups(p, group, x);
    double *const ahead = lockstep_zeros((size_t)p->workers * p->n);
    memcpy(ahead, sent, (size_t)p->workers * p->n * sizeof *ahead);
    lockstep_average(p, ahead);
    for (size_t i = 0; i < (size_t)p->workers * p->n; i++) {
        /* the correction is 0 in the first call, because all rows of sent are 0 */
        x[i] += ahead[i] - sent[i];
        sent[i] = x[i];
    }
}

void oracle_hierarchical(const oracle_problem *p, oracle_hierarchy h, double *x)
{
    lockstep s = lockstep_begin(p, x);
    double *const sent = lockstep_zeros(s.count);
    for (long t = 0; t < p->steps; t++) {
        lockstep_gradients(&s, t, x);
        average_groups(p, h.machine, s.g);
        lockstep_descend(&s);
        int level = -1;
        for (int l = 0; l < h.n_levels; l++)
            if (lockstep_due(t, h.level[l].period))
                level = l;
        if (level == h.n_levels - 1 && h.delayed)
            correct_groups(p, level > 0 ? h.level[level - 1].group : h.machine, x, sent);
        else if (level >= 0)
            average_groups(p, h.level[level].group, x);
    }
}

/* --- Streaming DiLoCo ------------------------------------------------------------------------- */

/**
 * Computes the outer gradient for the parameters of a fragment: mean <- the mean over all workers
 * of global - theta, where theta is a worker's model.
 */
static void take_differences(const lockstep *s, const oracle_streaming_options *o, size_t fragment,
                             const double *global, double *mean)
{
    for (size_t i = 0; i < s->p->n; i++) {
        if (o->fragment[i] != fragment)
            continue;
        double sum = 0;
        for (int w = 0; w < s->p->workers; w++)
            sum += global[i] - s->x[(size_t)w * s->p->n + i];
        mean[i] = sum / s->p->workers;
    }
}

/**
 * Makes the outer step for the parameters of a fragment, and mixes the result into the workers'
 * models.
 */
static void outer_step(const lockstep *s, const oracle_streaming_options *o, size_t fragment,
                       const double *mean, double *u, double *global)
{
    for (size_t i = 0; i < s->p->n; i++) {
        if (o->fragment[i] != fragment)
            continue;
        u[i] = o->outer_momentum * u[i] + mean[i];
        global[i] -= o->outer_lr * (mean[i] + o->outer_momentum * u[i]);
        for (int w = 0; w < s->p->workers; w++) {
            double *const theta = &s->x[(size_t)w * s->p->n + i];
            *theta = (1 - o->mixing) * global[i] + o->mixing * *theta;
        }
    }
}

void oracle_streaming_diloco(const oracle_problem *p, oracle_streaming_options options,
                             double *global, double *x)
{
    /* number of steps between two fragments, S */
    const long each = options.period / (long)options.fragments;
    lockstep_require(options.period % (long)options.fragments == 0, "F does not divide H");
    lockstep_require(0 <= options.delay && options.delay < each, "tau is not below H / F");
    lockstep_require_one_start(p);
    lockstep s = lockstep_begin(p, x);
    double *const g = lockstep_zeros(p->n);
    double *const mean = lockstep_zeros(p->n);
    double *const u = lockstep_zeros(p->n);
    memcpy(g, p->initial, p->n * sizeof *g);
    long since = 0; /* number of steps since the last fragment, s */
    size_t fragment = 0;
    for (long t = 0; t < p->steps; t++) {
        lockstep_step(&s, t);
        since++;
        if (since == each - options.delay)
            take_differences(&s, &options, fragment, g, mean);
        if (since < each)
            continue;
        outer_step(&s, &options, fragment, mean, u, g);
        since = 0;
        fragment = (fragment + 1) % options.fragments;
    }
    if (global != NULL)
        memcpy(global, g, p->n * sizeof *g);
}
