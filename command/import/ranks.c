/**
 * @file ranks.c
 * Joins the profiles of a job's ranks. Finds the groups of gradient sums, common steps, clocks and
 * waits.
 */
#include "command/import/ranks.h"

#include <gsl/gsl_statistics_double.h>

const dsgd_kineto_call *dsgd_ranks_call(const dsgd_ranks *w, size_t k, size_t r, size_t b)
{
    return w->calls[(k * w->n + r) * w->n_buckets + b];
}

static const dsgd_kineto_call *last_call(const dsgd_ranks *w, size_t k, size_t r)
{
    return dsgd_ranks_call(w, k, r, w->n_buckets - 1);
}

static double median(double *x, size_t n)
{
    return n == 0 ? NAN : gsl_stats_median(x, 1, n);
}

bool dsgd_sums_have(const dsgd_kineto_call *c, bool sharded)
{
    return c->what != NULL && strstr(c->what, sharded ? "reduce_scatter" : "reduce") != NULL &&
           (sharded || strstr(c->what, "all") != NULL);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static int by_rank(const void *a, const void *b)
{
    const dsgd_kineto *const x = a, *const y = b;
    return x->rank != y->rank ? (x->rank > y->rank) * 2 - 1 : strverscmp(x->file, y->file);
}

/**
 * Sorts the traces of one job by rank. If a trace does not contain its rank, its index becomes the
 * rank.
 */
static dsgd_status order_ranks(dsgd_ranks *w, dsgd_error *error)
{
    qsort(w->traces, w->n, sizeof *w->traces, by_rank);
    for (size_t r = 0; r < w->n; r++) {
        dsgd_kineto *const t = &w->traces[r], *const first = &w->traces[0];
        if (t->rank < 0) {
            t->rank = (int64_t)r;
            if (w->n > 1)
                printf("note: %s does not contain its rank; it counts as rank %zu\n", t->file, r);
        }
        if (t->world != first->world)
            return dsgd_refuse(
                error,
                "%s is of a job with %jd ranks, %s of a job with %jd; give the traces "
                "of one job",
                t->file, t->world, first->file, first->world);
        if (r > 0 && t->rank == t[-1].rank)
            return dsgd_refuse(error,
                               "%s and %s are both of rank %jd; give the traces of one job and one "
                               "profile",
                               t[-1].file, t->file, t->rank);
    }
    return DSGD_OK;
}

/* --- buckets ---------------------------------------------------------------------------------- */

/**
 * Returns the gradient sums with the most bytes in a trace: their process group, and their kind
 * (allreduce or reduce-scatter).
 */
static dsgd_sums heaviest(const dsgd_kineto *t)
{
    dsgd_sums all[DSGD_MOST_NAMES] = {{.group = NULL}};
    double bytes[DSGD_MOST_NAMES] = {0};
    size_t n = 0, most = 0;
    for (const dsgd_kineto_call *c = t->calls; c < t->calls + t->n_calls; c++) {
        const bool sharded = dsgd_sums_have(c, true);
        size_t i = 0;
        while (i < n && (all[i].is_sharded != sharded || strcmp(all[i].group, c->group) != 0))
            i++;
        if (c->step == SIZE_MAX || i == DSGD_MOST_NAMES || (!sharded && !dsgd_sums_have(c, false)))
            continue;
        n = i == n ? n + 1 : n;
        all[i] = (dsgd_sums){c->group, sharded,
                             c->group_size > all[i].ranks ? c->group_size : all[i].ranks, 1,
                             fmax(all[i].least_bytes, c->bytes / 1000)};
        bytes[i] += c->bytes;
    }
    for (size_t i = 0; i < n; i++)
        most = bytes[i] > bytes[most] ? i : most;
    return bytes[most] > 0 ? all[most] : (dsgd_sums){.group = NULL};
}

/**
 * Joins the two sums of HSDP into one sum. HSDP sums in two stages: a reduce-scatter in each group,
 * and an allreduce of the shards between groups. The joined sum ends with the allreduce. As in
 * plain DDP, it ends at all ranks at the same time.
 */
static void join_replicas(dsgd_kineto *t, dsgd_sums *of)
{
    for (size_t i = 0; i < t->n_calls && of->ranks > 1; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        if (!dsgd_sums_have(c, true) || strcmp(c->group, of->group) != 0 || c->step == SIZE_MAX)
            continue;
        for (dsgd_kineto_call *a = c + 1; a < t->calls + t->n_calls && a->step == c->step; a++)
            if (a->bytes > 0 && a->bytes * (double)of->ranks == c->bytes &&
                dsgd_sums_have(a, false) && strcmp(a->group, of->group) != 0) {
                of->replicas = a->group_size > 0       ? a->group_size
                               : t->world >= of->ranks ? t->world / of->ranks
                                                       : 1;
                c->end_us = fmax(c->end_us, a->end_us);
                a->bytes = 0; /* Set the size of this allreduce to 0, so that it is not counted
                               * again. */
                break;
            }
    }
}

/** Finds, for each trace, the gradient sums with the most bytes. */
static dsgd_status choose_groups(dsgd_ranks *w, dsgd_error *error)
{
    w->sums = dsgd_keep(w->n, sizeof *w->sums);
    const dsgd_sums *const first = w->sums;
    for (size_t r = 0; r < w->n; r++) {
        dsgd_kineto *const t = &w->traces[r];
        dsgd_sums *const of = &w->sums[r];
        *of = heaviest(t);
        if (of->is_sharded)
            join_replicas(t, of);
        if (of->group != NULL && first->group != NULL && first->replicas < 2 &&
            strcmp(of->group, first->group) != 0)
            return dsgd_refuse(
                error,
                "%s sums gradients in process group \"%s\", %s in \"%s\", without sums between the "
                "groups (stages of a pipeline, tensor parallelism, or HSDP whose allreduces are "
                "not "
                "in the profile); give the traces of the ranks of one group",
                w->traces[0].file, first->group, t->file, of->group);
    }
    w->ranks = first->ranks > 0         ? first->ranks * first->replicas
               : w->traces[0].world > 0 ? w->traces[0].world
                                        : (int64_t)w->n;
    if (first->group != NULL && (int64_t)w->n > w->ranks)
        return dsgd_refuse(error,
                           "%s: %jd ranks sum the gradients, but there are %zu traces; give the "
                           "traces of the ranks of one group",
                           w->traces[0].file, w->ranks, w->n);
    return DSGD_OK;
}

/**
 * Collects collectives of step @p s in found[n_calls]. If @p buckets is true, collects the gradient
 * sums; otherwise, collects all other collectives. Returns the number of collected collectives.
 */
static size_t calls_of(const dsgd_ranks *w, const dsgd_kineto *t, size_t s, bool buckets,
                       const dsgd_kineto_call **found)
{
    const dsgd_sums *const of = &w->sums[t - w->traces];
    size_t n = 0;
    for (size_t i = 0; i < t->n_calls && of->group != NULL; i++) {
        const dsgd_kineto_call *const c = &t->calls[i];
        if (c->step == s && c->bytes > 0 &&
            buckets == (dsgd_sums_have(c, of->is_sharded) && strcmp(c->group, of->group) == 0 &&
                        c->bytes >= of->least_bytes))
            found[n++] = c;
    }
    return n;
}

/**
 * Returns true if the trace of rank @p r contains step number @p number and the step has sums of
 * the same sizes as like[n_buckets]. Stores these sums in found[].
 */
static bool find_step(dsgd_ranks *w, size_t r, int64_t number, const dsgd_kineto_call *const *like,
                      const dsgd_kineto_call **found)
{
    const dsgd_kineto *const t = &w->traces[r];
    size_t s = 0;
    while (s < t->n_steps && t->steps[s].number != number)
        s++;
    bool is_alike = s < t->n_steps && calls_of(w, t, s, true, found) == w->n_buckets;
    for (size_t b = 0; is_alike && b < w->n_buckets; b++)
        is_alike = found[b]->bytes == like[b]->bytes;
    w->steps[w->n_steps * w->n + r] = &t->steps[s];
    return is_alike;
}

/**
 * Collects the steps that all traces contain. Each step must have the same sums as the last
 * complete step. Earlier steps can differ, because DDP reorders buckets after the first step.
 */
static dsgd_status collect_steps(dsgd_ranks *w, dsgd_error *error)
{
    const dsgd_kineto *const t = &w->traces[0];
    size_t worst = 0;
    w->room = 1;
    for (size_t r = 0; r < w->n; r++)
        w->room = w->traces[r].n_calls > w->room ? w->traces[r].n_calls : w->room;
    const dsgd_kineto_call **const like = dsgd_keep(2 * w->room, sizeof *like),
                                   **const found = like + w->room;
    for (size_t s = 0; s < t->n_steps; s++)
        if (calls_of(w, t, s, true, found) >= w->n_buckets)
            w->n_buckets = calls_of(w, t, s, true, like);
    if (w->n_buckets == 0)
        return DSGD_OK;
    w->calls = dsgd_keep(t->n_steps * w->n * w->n_buckets, sizeof *w->calls);
    w->steps = dsgd_keep(t->n_steps * w->n, sizeof *w->steps);
    for (size_t s = 0; s < t->n_steps; s++) {
        size_t r = 0;
        for (; r < w->n && find_step(w, r, t->steps[s].number, like, found); r++)
            memcpy(&w->calls[(w->n_steps * w->n + r) * w->n_buckets], found,
                   w->n_buckets * sizeof *found);
        worst = r < w->n && r > worst ? r : worst;
        w->n_steps += r == w->n;
    }
    if (w->n_steps > 0)
        return DSGD_OK;
    return dsgd_refuse(
        error,
        "%s has no step with the same number and sums of gradients as %s; they may be of two jobs, "
        "of stages of a pipeline, or profiled at different times",
        w->traces[worst].file, t->file);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/**
 * Aligns the clocks of the ranks, under the assumption that a collective ends at all ranks at the
 * same time.
 */
static void align_clocks(dsgd_ranks *w)
{
    static const double most_us = 1000;
    const size_t n = w->n_steps * w->n_buckets;
    double *const apart_us = dsgd_keep(2 * n, sizeof *apart_us), *const work = apart_us + n;
    w->offsets_us = dsgd_keep(w->n, sizeof *w->offsets_us);
    for (size_t r = 1; r < w->n; r++) {
        for (size_t i = 0; i < n; i++)
            apart_us[i] = dsgd_ranks_call(w, i / w->n_buckets, 0, i % w->n_buckets)->end_us -
                          dsgd_ranks_call(w, i / w->n_buckets, r, i % w->n_buckets)->end_us;
        const double spread_us = gsl_stats_mad0(apart_us, 1, n, work);
        w->offsets_us[r] = median(apart_us, n);
        if (spread_us > most_us)
            printf("warning: clocks disagree: the distance between the ends of a collective in %s "
                   "and %s varies by %.3g ms, so it is uncertain which rank was last\n",
                   w->traces[0].file, w->traces[r].file, 1e-3 * spread_us);
    }
}

double dsgd_ranks_arrival_us(const dsgd_ranks *w, size_t k, size_t b)
{
    double last_us = -INFINITY;
    for (size_t r = 0; r < w->n; r++)
        last_us = fmax(last_us, dsgd_ranks_call(w, k, r, b)->ready_us + w->offsets_us[r]);
    return last_us;
}

/**
 * Returns the time that rank @p r waits in a collective while none of its kernels runs, in
 * microseconds. others[n][room] contains the collectives of all ranks.
 */
static double wait_us(const dsgd_ranks *w, const dsgd_kineto_call *const *others, size_t r)
{
    const dsgd_kineto_call *const c = others[r * w->room];
    double last_us = -INFINITY;
    for (size_t i = 0; i < w->n && c->idle_us < c->end_us; i++) {
        const dsgd_kineto_call *const o = others[i * w->room];
        if (o->bytes == c->bytes && strcmp(o->group, c->group) == 0)
            last_us = fmax(last_us, o->ready_us + w->offsets_us[i] - w->offsets_us[r]);
    }
    return fmax(fmin(last_us, c->end_us) - fmax(c->ready_us, c->idle_us), 0);
}

/**
 * Finds waits in collectives that do not sum gradients, such as allgathers of FSDP and broadcasts
 * of buffers. Assumes that the n-th collective of a step is the same collective at all ranks.
 */
static void find_waits(dsgd_ranks *w)
{
    w->waits_us = dsgd_keep(w->n * w->room, sizeof *w->waits_us);
    const dsgd_kineto_call **const others = dsgd_keep(w->n * w->room, sizeof *others);
    for (size_t k = 0; k < w->n_steps; k++) {
        /* number of collectives in the step; 0 if this number differs between ranks */
        size_t n = 0;
        for (size_t r = 0; r < w->n; r++) {
            const dsgd_kineto *const t = &w->traces[r];
            const size_t s = (size_t)(w->steps[k * w->n + r] - t->steps);
            const size_t its = calls_of(w, t, s, false, &others[r * w->room]);
            n = r == 0 || its == n ? its : 0;
        }
        for (size_t i = 0; i < w->n * n; i++) {
            const size_t r = i / n;
            const dsgd_kineto_call *const *const of = &others[i % n];
            w->waits_us[r * w->room + (size_t)(of[r * w->room] - w->traces[r].calls)] =
                wait_us(w, of, r);
        }
    }
}

/**
 * Returns the time that rank @p r waits in the collectives that end within an interval, in
 * microseconds.
 */
static double waited_us(const dsgd_ranks *w, size_t r, double since_us, double until_us)
{
    const dsgd_kineto *const t = &w->traces[r];
    double sum_us = 0;
    for (size_t i = 0; i < t->n_calls; i++)
        if (t->calls[i].end_us > since_us && t->calls[i].end_us <= until_us)
            sum_us += w->waits_us[r * w->room + i];
    return sum_us;
}

/* --- times ------------------------------------------------------------------------------------ */

/**
 * Returns true if the profile also contains the step before step @p k. In this case, step @p k
 * begins when the last collective of the previous step ends.
 */
static bool follows(const dsgd_ranks *w, size_t k)
{
    return k > 0 && w->steps[k * w->n]->number == w->steps[(k - 1) * w->n]->number + 1;
}

double dsgd_ranks_compute_s(const dsgd_ranks *w, size_t k, size_t r)
{
    const dsgd_kineto_step *const step = w->steps[k * w->n + r];
    const dsgd_kineto_call *const last = last_call(w, k, r);
    const double since_us = follows(w, k) ? last_call(w, k - 1, r)->end_us : step->begin_us;
    const double behind_us = follows(w, k) ? 0 : fmax(step->end_us - last->end_us, 0);
    return 1e-6 *
           (last->ready_us - since_us + behind_us - waited_us(w, r, since_us, last->ready_us));
}

double dsgd_ranks_begin_us(const dsgd_ranks *w, size_t k)
{
    const double host_us = w->steps[k * w->n]->begin_us;
    return follows(w, k) ? fmax(host_us, last_call(w, k - 1, 0)->end_us) : host_us;
}

double dsgd_ranks_step_s(const dsgd_ranks *w, size_t k)
{
    return 1e-6 * (follows(w, k) ? last_call(w, k, 0)->end_us - last_call(w, k - 1, 0)->end_us
                                 : w->steps[k * w->n]->end_us - w->steps[k * w->n]->begin_us);
}

size_t dsgd_ranks_used(const dsgd_ranks *w, size_t *used)
{
    size_t n = 0;
    for (size_t k = 0; k < w->n_steps; k++)
        if (follows(w, k))
            used[n++] = k;
    for (size_t k = 0; n == 0 && k < w->n_steps; k++)
        used[k] = k;
    return n > 0 ? n : w->n_steps;
}

double *dsgd_ranks_gaps(const dsgd_ranks *w, const size_t *used, size_t n)
{
    double *const gaps = dsgd_keep(w->n_buckets, sizeof *gaps);
    double *const x = dsgd_keep(n * w->n, sizeof *x);
    for (size_t b = 0; b < w->n_buckets; b++) {
        size_t m = 0;
        for (size_t i = 0; i < n * w->n; i++) {
            const size_t k = used[i / w->n], r = i % w->n;
            const double since_us = b == 0 ? w->steps[k * w->n + r]->backward_us
                                           : dsgd_ranks_call(w, k, r, b - 1)->ready_us;
            const double until_us = dsgd_ranks_call(w, k, r, b)->ready_us;
            const double gap_us = until_us - since_us - waited_us(w, r, since_us, until_us);
            if (b > 0 || gap_us > 0)
                x[m++] = 1e-6 * fmax(gap_us, 0);
        }
        gaps[b] = median(x, m);
    }
    double sum = 0;
    for (size_t b = 1; b < w->n_buckets; b++)
        sum += gaps[b];
    if (isnan(gaps[0]) && w->n_buckets > 1)
        gaps[0] = sum / (double)(w->n_buckets - 1);
    return gaps;
}

dsgd_status dsgd_ranks_join(dsgd_ranks *w, dsgd_error *error)
{
    DSGD_TRY(order_ranks(w, error));
    DSGD_TRY(choose_groups(w, error));
    if (w->sums->group != NULL)
        DSGD_TRY(collect_steps(w, error));
    if (w->n_steps == 0)
        return DSGD_OK;
    align_clocks(w);
    find_waits(w);
    return DSGD_OK;
}
