/**
 * @file kineto.c
 * Traces of PyTorch's profiler, one of each rank: buckets of gradients and when they are ready make the workload;
 * what each rank computes until the last bucket is ready, without waiting for others, makes the imbalance.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "command/console/table.h"
#include "command/import/reader.h"
#include "command/import/steps.h"
#include "traces/chakra.h"

/** Which collectives of a trace sum the gradients. */
typedef struct sums {
    const char *group; /* NULL: none; differs from rank to rank where shards have groups */
    bool is_sharded; /* by reduce-scatters */
    int64_t ranks, replicas; /* in the group; and of such groups, between which shards are summed */
    double least_bytes; /* of a bucket: less is a loss or a flag */
} sums;

/** The reader's own; [n_steps][n][n_buckets] are all steps that every trace has in whole. */
typedef struct work {
    dsgd_import *in;
    size_t n, n_steps, n_buckets, room; /* room: for all calls of any trace */
    dsgd_kineto *traces; /* [n] by rank */
    sums *sums; /* [n] */
    int64_t ranks; /* that sum together */
    const dsgd_kineto_call **calls; /* [n_steps][n][n_buckets] */
    const dsgd_kineto_step **steps; /* [n_steps][n] */
    double *offsets_us; /* [n]: to the clock of the first */
    double *waits_us; /* [n][room]: of computing, for the rank that brings a collective last */
} work;

static const dsgd_kineto_call *call_at(const work *w, size_t k, size_t r, size_t b)
{
    return w->calls[(k * w->n + r) * w->n_buckets + b];
}

static const dsgd_kineto_call *last_call(const work *w, size_t k, size_t r)
{
    return call_at(w, k, r, w->n_buckets - 1);
}

static double median(double *x, size_t n)
{
    return n == 0 ? NAN : gsl_stats_median(x, 1, n);
}

static bool is_sum(const dsgd_kineto_call *c, bool sharded)
{
    return c->what != NULL && strstr(c->what, sharded ? "reduce_scatter" : "reduce") != NULL &&
           (sharded || strstr(c->what, "all") != NULL);
}

/* --- files ------------------------------------------------------------------------------------ */

static bool recognise(const char *head, size_t n)
{
    if (dsgd_chakra_is(head, n))
        return true;
    head += strspn(head, " \t\r\n");
    return (*head == '{' && (strstr(head, "\"traceEvents\"") != NULL ||
                             strstr(head, "\"schemaVersion\"") != NULL)) ||
           (*head == '[' && strstr(head, "\"ph\"") != NULL);
}

static dsgd_status read(dsgd_import *in, const char *path, void *state, dsgd_error *error)
{
    work *const w = state;
    dsgd_kineto t;
    w->in = in;
    DSGD_TRY(dsgd_kineto_read(path, &t, error));
    if (t.n_events == 0 && t.damage == NULL)
        return DSGD_OK;
    if (t.rank >= 0)
        dsgd_import_gave(in, t.world > 0 ? "rank %jd of %jd" : "rank %jd", t.rank, t.world);
    dsgd_import_gave(in, "%s, %s", dsgd_counted(t.n_steps, "step"),
                     dsgd_counted(t.n_calls, "collective"));
    if (t.n_seconds > 0)
        dsgd_import_gave(in, "%zu step times of workers", t.n_seconds);
    if (t.gpu != NULL) {
        dsgd_import_gave(in, "%s", t.gpu);
        dsgd_import_gpu(in, t.gpu, path);
    }
    if (t.damage != NULL)
        dsgd_import_gave(in, "damaged: %s, what follows is lost", t.damage);
    in->left_out += t.n_steps == 0 && t.n_seconds == 0;
    if (t.n_steps == 0 && t.n_seconds == 0)
        dsgd_import_gave(in, "left out, as it has no ProfilerStep#n (of Chakra: nothing that takes "
                             "time): give torch.profiler a schedule, and call its step()");
    else if (t.n_calls == 0 && t.n_seconds == 0 && t.world > 1)
        dsgd_import_gave(in, "no collective of NCCL or RCCL%s",
                         t.n_kernels > 0 ? "" : ": profile with ProfilerActivity.CUDA");
    w->traces = dsgd_keep_more(w->traces, w->n + 1, sizeof *w->traces);
    if (t.n_steps > 0 || t.n_seconds > 0)
        w->traces[w->n++] = t;
    return DSGD_OK;
}

static int by_rank(const void *a, const void *b)
{
    const dsgd_kineto *const x = a, *const y = b;
    return x->rank != y->rank ? (x->rank > y->rank) * 2 - 1 : strverscmp(x->file, y->file);
}

/** Traces of one job, by rank; those that do not say theirs count on. */
static dsgd_status order_ranks(work *w, dsgd_error *error)
{
    qsort(w->traces, w->n, sizeof *w->traces, by_rank);
    for (size_t r = 0; r < w->n; r++) {
        dsgd_kineto *const t = &w->traces[r], *const first = &w->traces[0];
        if (t->rank < 0) {
            t->rank = (int64_t)r;
            if (w->n > 1)
                printf("note: %s does not say its rank: it counts as rank %zu\n", t->file, r);
        }
        if (t->world != first->world)
            return dsgd_refuse(error,
                               "%s is of a job of %jd ranks, %s of one of %jd: give the traces of "
                               "one job",
                               t->file, t->world, first->file, first->world);
        if (r > 0 && t->rank == t[-1].rank)
            return dsgd_refuse(error,
                               "%s and %s are both of rank %jd: of two jobs, or of two profiles? "
                               "Give those of one",
                               t[-1].file, t->file, t->rank);
    }
    return DSGD_OK;
}

/* --- buckets ---------------------------------------------------------------------------------- */

/** Makes a group and a kind of sums those of a trace, if none has carried more than their bytes, *most. */
static void weigh_group(const dsgd_kineto *t, const char *group, bool sharded, double *most,
                        sums *chosen)
{
    double bytes = 0, largest = 0;
    int64_t size = 0;
    for (const dsgd_kineto_call *c = t->calls; c < t->calls + t->n_calls; c++)
        if (c->step != SIZE_MAX && is_sum(c, sharded) && strcmp(c->group, group) == 0) {
            bytes += c->bytes;
            largest = fmax(largest, c->bytes);
            size = c->group_size > size ? c->group_size : size;
        }
    if (bytes <= *most)
        return;
    *most = bytes;
    *chosen = (sums){group, sharded, size, 1, largest / 1000};
}

/**
 * HSDP: the shards that reduce-scatters leave are summed by allreduces between groups. Both are one sum, which ends
 * with the second, and at all ranks together as one of plain DDP does.
 */
static void join_replicas(dsgd_kineto *t, sums *of)
{
    for (size_t i = 0; i < t->n_calls && of->ranks > 1; i++) {
        dsgd_kineto_call *const c = &t->calls[i];
        if (!is_sum(c, true) || strcmp(c->group, of->group) != 0 || c->step == SIZE_MAX)
            continue;
        for (dsgd_kineto_call *a = c + 1; a < t->calls + t->n_calls && a->step == c->step; a++)
            if (a->bytes > 0 && a->bytes * (double)of->ranks == c->bytes && is_sum(a, false) &&
                strcmp(a->group, of->group) != 0) {
                of->replicas = a->group_size > 0       ? a->group_size
                               : t->world >= of->ranks ? t->world / of->ranks
                                                       : 1;
                c->end_us = fmax(c->end_us, a->end_us);
                a->bytes = 0; /* no other's, and told no more */
                break;
            }
    }
}

/** Of each trace the group, and the kind of sums, that carry most bytes. */
static dsgd_status choose_groups(work *w, dsgd_error *error)
{
    w->sums = dsgd_keep(w->n, sizeof *w->sums);
    const sums *const first = w->sums;
    for (size_t r = 0; r < w->n; r++) {
        dsgd_kineto *const t = &w->traces[r];
        sums *const of = &w->sums[r];
        const char *groups[DSGD_MOST_NAMES] = {NULL};
        double most = 0;
        size_t n = 0;
        for (size_t i = 0; i < t->n_calls && n + 1 < DSGD_MOST_NAMES; i++)
            if (dsgd_find_word(groups, t->calls[i].group) < 0) {
                groups[n++] = t->calls[i].group;
                weigh_group(t, t->calls[i].group, false, &most, of);
                weigh_group(t, t->calls[i].group, true, &most, of);
            }
        if (of->is_sharded)
            join_replicas(t, of);
        if (of->group != NULL && first->group != NULL && first->replicas < 2 &&
            strcmp(of->group, first->group) != 0)
            return dsgd_refuse(
                error,
                "%s sums gradients in process group \"%s\", %s in \"%s\", and nothing sums "
                "between them: stages of a pipeline, parallel tensors, or HSDP whose allreduces "
                "the profile lacks; give the traces of the ranks of one group",
                w->traces[0].file, first->group, t->file, of->group);
    }
    w->ranks = first->ranks > 0         ? first->ranks * first->replicas
               : w->traces[0].world > 0 ? w->traces[0].world
                                        : (int64_t)w->n;
    if (first->group != NULL && (int64_t)w->n > w->ranks)
        return dsgd_refuse(error,
                           "%s: gradients are summed by %jd ranks, but %zu traces are here: give "
                           "those of the ranks of one group",
                           w->traces[0].file, w->ranks, w->n);
    return DSGD_OK;
}

/** The gradients' sums of step @p s of a trace, or all collectives but them, into found[n_calls]. */
static size_t calls_of(const work *w, const dsgd_kineto *t, size_t s, bool buckets,
                       const dsgd_kineto_call **found)
{
    const sums *const of = &w->sums[t - w->traces];
    size_t n = 0;
    for (size_t i = 0; i < t->n_calls && of->group != NULL; i++) {
        const dsgd_kineto_call *const c = &t->calls[i];
        if (c->step == s && c->bytes > 0 &&
            buckets == (is_sum(c, of->is_sharded) && strcmp(c->group, of->group) == 0 &&
                        c->bytes >= of->least_bytes))
            found[n++] = c;
    }
    return n;
}

/** Whether the trace of rank @p r has step @p number with the sums of like[n_buckets], which go to found[]. */
static bool find_step(work *w, size_t r, int64_t number, const dsgd_kineto_call *const *like,
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

/** Steps that all traces have, with the sums of the last whole one: DDP orders buckets anew after the first. */
static dsgd_status collect_steps(work *w, dsgd_error *error)
{
    const dsgd_kineto *const t = &w->traces[0];
    size_t worst = 0, last = 0;
    w->room = 1;
    for (size_t r = 0; r < w->n; r++)
        w->room = w->traces[r].n_calls > w->room ? w->traces[r].n_calls : w->room;
    const dsgd_kineto_call **const like = dsgd_keep(2 * w->room, sizeof *like),
                                   **const found = like + w->room;
    for (size_t s = 0; s < t->n_steps; s++)
        if (calls_of(w, t, s, true, found) >= w->n_buckets)
            w->n_buckets = calls_of(w, t, last = s, true, like);
    if (w->n_buckets == 0)
        return DSGD_OK;
    w->calls = dsgd_keep(t->n_steps * w->n * w->n_buckets, sizeof *w->calls);
    w->steps = dsgd_keep(t->n_steps * w->n, sizeof *w->steps);
    calls_of(w, t, last, true, like);
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
        "%s has no step with the same number and sums of gradients as %s: are they of "
        "two jobs, of stages of a pipeline, or profiled at other times?",
        w->traces[worst].file, t->file);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/** A collective ends at all ranks at once. */
static void align_clocks(work *w)
{
    static const double most_us = 1000;
    const size_t n = w->n_steps * w->n_buckets;
    double *const apart_us = dsgd_keep(n, sizeof *apart_us);
    w->offsets_us = dsgd_keep(w->n, sizeof *w->offsets_us);
    for (size_t r = 1; r < w->n; r++) {
        for (size_t i = 0; i < n; i++)
            apart_us[i] = call_at(w, i / w->n_buckets, 0, i % w->n_buckets)->end_us -
                          call_at(w, i / w->n_buckets, r, i % w->n_buckets)->end_us;
        w->offsets_us[r] = median(apart_us, n);
        for (size_t i = 0; i < n; i++)
            apart_us[i] = fabs(apart_us[i] - w->offsets_us[r]);
        const double spread_us = median(apart_us, n);
        if (spread_us > most_us)
            printf("warning: clocks disagree: the ends of one collective in %s and %s are "
                   "apart by %.3g ms more or less: who was last is uncertain\n",
                   w->traces[0].file, w->traces[r].file, 1e-3 * spread_us);
    }
}

/** When the last rank brings bucket @p b, on the clock of the first. */
static double arrival_us(const work *w, size_t k, size_t b)
{
    double last_us = -INFINITY;
    for (size_t r = 0; r < w->n; r++)
        last_us = fmax(last_us, call_at(w, k, r, b)->ready_us + w->offsets_us[r]);
    return last_us;
}

/** What rank @p r waits in a collective, of which others[n][room] has each rank's, as far as none of its kernels runs. */
static double wait_us(const work *w, const dsgd_kineto_call *const *others, size_t r)
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

/** Allgathers of FSDP, broadcasts of buffers: the n-th of a step is one collective at all ranks. */
static void find_waits(work *w)
{
    w->waits_us = dsgd_keep(w->n * w->room, sizeof *w->waits_us);
    const dsgd_kineto_call **const others = dsgd_keep(w->n * w->room, sizeof *others);
    for (size_t k = 0; k < w->n_steps; k++) {
        size_t n = 0; /* at all ranks; 0: they differ */
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

/** Of rank @p r, in collectives that end within that time. */
static double waited_us(const work *w, size_t r, double since_us, double until_us)
{
    const dsgd_kineto *const t = &w->traces[r];
    double sum_us = 0;
    for (size_t i = 0; i < t->n_calls; i++)
        if (t->calls[i].end_us > since_us && t->calls[i].end_us <= until_us)
            sum_us += w->waits_us[r * w->room + i];
    return sum_us;
}

/* --- times ------------------------------------------------------------------------------------ */

/** Whether the step before is there: it begins where that one's last collective ends. */
static bool follows(const work *w, size_t k)
{
    return k > 0 && w->steps[k * w->n]->number == w->steps[(k - 1) * w->n]->number + 1;
}

/** What rank @p r computes: until the last bucket is ready, from the last end; of a step alone by the host's. */
static double compute_s(const work *w, size_t k, size_t r)
{
    const dsgd_kineto_step *const step = w->steps[k * w->n + r];
    const dsgd_kineto_call *const last = last_call(w, k, r);
    const double since_us = follows(w, k) ? last_call(w, k - 1, r)->end_us : step->begin_us;
    const double behind_us = follows(w, k) ? 0 : fmax(step->end_us - last->end_us, 0);
    return 1e-6 *
           (last->ready_us - since_us + behind_us - waited_us(w, r, since_us, last->ready_us));
}

/** Of the first rank: on the host, or, where the GPU lags behind, when the step before ends there. */
static double begin_us(const work *w, size_t k)
{
    const double host_us = w->steps[k * w->n]->begin_us;
    return follows(w, k) ? fmax(host_us, last_call(w, k - 1, 0)->end_us) : host_us;
}

static double step_s(const work *w, size_t k)
{
    return 1e-6 * (follows(w, k) ? last_call(w, k, 0)->end_us - last_call(w, k - 1, 0)->end_us
                                 : w->steps[k * w->n]->end_us - w->steps[k * w->n]->begin_us);
}

/** The steps that count, in used[n_steps]: those that follow one, if there are any. */
static size_t used_steps(const work *w, size_t *used)
{
    size_t n = 0;
    for (size_t k = 0; k < w->n_steps; k++)
        if (follows(w, k))
            used[n++] = k;
    for (size_t k = 0; n == 0 && k < w->n_steps; k++)
        used[k] = k;
    return n > 0 ? n : w->n_steps;
}

/** Median over ranks and steps of what each bucket's computation takes, gaps[n_buckets]; NAN: not told. */
static double *gaps_of(const work *w, const size_t *used, size_t n)
{
    double *const gaps = dsgd_keep(w->n_buckets, sizeof *gaps);
    double *const x = dsgd_keep(n * w->n, sizeof *x);
    for (size_t b = 0; b < w->n_buckets; b++) {
        size_t m = 0;
        for (size_t i = 0; i < n * w->n; i++) {
            const size_t k = used[i / w->n], r = i % w->n;
            const double since_us =
                b == 0 ? w->steps[k * w->n + r]->backward_us : call_at(w, k, r, b - 1)->ready_us;
            const double until_us = call_at(w, k, r, b)->ready_us;
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

/* --- what is written -------------------------------------------------------------------------- */

static void put_workload(work *w, double computed_s, const size_t *used, size_t n)
{
    dsgd_import *const in = w->in;
    const char *const file = w->traces[0].file;
    const char *const of = dsgd_xprintf("%s: of %zu steps, %zu ranks", file, n, w->n);
    const double *const gaps = gaps_of(w, used, n);
    double backward_s = 0;
    for (size_t b = 0; b < w->n_buckets; b++)
        backward_s += gaps[b];
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, of, "step: %.6g", computed_s);
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, "a step counts as one: traces do not say the batch",
                     "samples: 1");
    if (!isnan(backward_s) && backward_s > 0)
        dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, of, "backward_share: %.4g",
                         fmin(backward_s / computed_s, 1));
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, "each a bucket, `uses` by when it is ready",
                     "tensors:");
    for (size_t b = 0; b < w->n_buckets; b++) {
        const dsgd_kineto_call *const c = call_at(w, used[0], 0, b);
        const double elements = fmax(round(c->bytes / 4), 1);
        dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, dsgd_xprintf("%s event %zu", file, c->event),
                         "  - {elements: %.0f, uses: %.5g}", elements,
                         isnan(gaps[b]) ? 1 : fmin(1e9 * gaps[b] / elements, 1e9));
    }
    dsgd_import_workers(in, w->ranks, dsgd_xprintf("%s: group of the sums", file));
    dsgd_import_line(in, DSGD_IMPORT_TOP, NULL, "exchange: {pieces: tensors}");
}

static void tell_buckets(const work *w, const size_t *used, size_t n)
{
    dsgd_columns table = {.n_rows = 0};
    double *const x = dsgd_keep(n, sizeof *x);
    dsgd_profiled *const m = &w->in->measured;
    m->bucket_s = dsgd_keep(w->n_buckets, sizeof(double));
    m->bucket_bytes = dsgd_keep(w->n_buckets, sizeof(double));
    for (size_t b = 0; b < w->n_buckets; b++) {
        dsgd_columns_row(&table);
        m->bucket_bytes[b] = call_at(w, used[0], 0, b)->bytes;
        dsgd_columns_put(&table, "bucket", "%zu", b);
        dsgd_columns_put(&table, "MB", "%.4g", 1e-6 * m->bucket_bytes[b]);
        for (size_t i = 0; i < n; i++)
            x[i] = 1e-3 * (call_at(w, used[i], 0, b)->ready_us - begin_us(w, used[i]));
        dsgd_columns_put(&table, "ready (ms into the step)", "%.4g", median(x, n));
        for (size_t i = 0; i < n; i++) {
            const double before_us = b == 0 ? 0 : call_at(w, used[i], 0, b - 1)->end_us;
            x[i] = 1e-6 *
                   (call_at(w, used[i], 0, b)->end_us - fmax(arrival_us(w, used[i], b), before_us));
        }
        /* Where ranks are missing, others may have been late: the least has waited least. */
        m->is_bound = (int64_t)w->n < w->ranks;
        m->bucket_s[b] = m->is_bound ? gsl_stats_min(x, 1, n) : median(x, n);
        dsgd_columns_put(&table, "its sum (ms)", "%s%.4g", m->is_bound ? "<= " : "",
                         1e3 * m->bucket_s[b]);
    }
    dsgd_columns_print(&table);
    m->n_buckets =
        w->sums->is_sharded ? 0 : w->n_buckets; /* it is simulated as sums of plain DDP */
}

/** What the last sum of all ranks takes on the platform; 0: its collectives are no formulas. */
static double last_sum_s(const work *w)
{
    const dsgd_platform *const p = &w->in->platform;
    const int64_t per_node = p->island_hosts > 0 ? p->island_hosts : 1;
    const double bytes = call_at(w, 0, 0, w->n_buckets - 1)->bytes;
    if (p->library == DSGD_LIBRARY_MPI || p->topology == DSGD_TOPOLOGY_XML || w->ranks < 2 ||
        w->ranks > dsgd_platform_most_hosts(p) - per_node)
        return 0;
    const dsgd_nccl_shape shape = dsgd_import_shape(w->in, (w->ranks - 1) / per_node + 1,
                                                    w->ranks < per_node ? w->ranks : per_node);
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&p->nccl, &shape, DSGD_NCCL_ALLREDUCE, bytes);
    return dsgd_nccl_s(&cost, bytes);
}

/** What of a step is neither computing nor the last sum: for somebody without a trace the others have waited. */
static void put_missing(work *w, const size_t *used, size_t n, double computed_s)
{
    double *const x = dsgd_keep(n, sizeof *x);
    int64_t missing = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = step_s(w, used[i]);
    const double all_s = median(x, n), late_s = all_s - computed_s - last_sum_s(w);
    for (size_t r = 0; r < w->n; r++)
        missing += w->traces[r].rank == missing;
    if ((int64_t)w->n == w->ranks || late_s < 0.02 * all_s)
        return;
    printf(
        "note: %.4g of %.4g ms of a step are waiting beyond what its last sum takes: it stands as "
        "rank %jd, without a trace, being that slow; it may be another, or the links\n",
        1e3 * late_s, 1e3 * all_s, missing);
    dsgd_import_line(w->in, DSGD_IMPORT_IMBALANCE,
                     "assumed: for it, without a trace, the others have waited",
                     "- {kind: slow, worker: %jd, factor: %.4g}", missing, 1 + late_s / computed_s);
}

/** Host-bound, missing ranks, and what of the trace is not in the workload. */
static void tell_limits(const work *w, const size_t *used, size_t n)
{
    static const double least_share = 0.6;
    const dsgd_kineto *const t = &w->traces[0];
    double busy_us = 0, all_us = 0, other = 0;
    for (size_t i = 0; i < n * w->n; i++) {
        const dsgd_kineto_step *const s = w->steps[used[i / w->n] * w->n + i % w->n];
        busy_us += s->busy_us;
        all_us += s->end_us - s->begin_us;
    }
    if (busy_us < least_share * all_us)
        printf(
            "warning: host-bound: kernels run for %.4g of %.4g ms of a step: Python, the loader or "
            "the profiler itself is the limit; bring a profile without record_shapes and "
            "with_stack, and step times without a profiler\n",
            1e-3 * busy_us / (double)(n * w->n), 1e-3 * all_us / (double)(n * w->n));
    if ((int64_t)w->n < w->ranks)
        printf("note: %jd of %jd ranks have no trace: what they compute, and how long others "
               "waited for them, is not known; what sums took has that in it: it is a bound, by "
               "which no link can be judged; bring all traces, or a log of nccl-tests\n",
               w->ranks - (int64_t)w->n, w->ranks);
    const dsgd_kineto_call *largest = NULL;
    for (const dsgd_kineto_call *c = t->calls; c < t->calls + t->n_calls; c++)
        if (c->step == t->n_steps - 1 &&
            (!is_sum(c, w->sums->is_sharded) || strcmp(c->group, w->sums->group) != 0)) {
            largest = largest == NULL || c->bytes > largest->bytes ? c : largest;
            other += c->bytes;
        }
    if (largest != NULL && other > w->sums->least_bytes)
        printf(
            "note: %.4g MB a step of other collectives, most by %s, are not in the workload: what "
            "waits for them counts as computing\n",
            1e-6 * other, largest->what == NULL ? "one without a name" : largest->what);
    if (w->sums->is_sharded)
        printf("note: the sums are reduce-scatters%s: they are simulated as sums of plain DDP\n",
               w->sums->replicas < 2
                   ? " (FSDP, ZeRO)"
                   : dsgd_xprintf(" in groups of %jd ranks, and allreduces of their shards between "
                                  "%jd such groups (HSDP)",
                                  w->sums->ranks, w->sums->replicas));
}

/** Without sums of gradients: the step alone. */
static void put_step(work *w)
{
    const dsgd_kineto *const t = &w->traces[0];
    double *const x = dsgd_keep(t->n_steps, sizeof *x);
    size_t unsized = 0;
    for (size_t i = 0; i < t->n_calls; i++)
        unsized += t->calls[i].bytes <= 0;
    for (size_t k = 0; k < t->n_steps; k++)
        x[k] = 1e-6 * (t->steps[k].end_us - t->steps[k].begin_us);
    printf("note: %s has no sum of gradients%s: its step time is taken, and the bytes of %s\n",
           t->file,
           unsized == 0
               ? ""
               : dsgd_xprintf(" whose size is known (%zu of %zu collectives do not say theirs: "
                              "profile with record_shapes, or by PyTorch 2.2 or later)",
                              unsized, t->n_calls),
           w->in->workload_name);
    dsgd_import_step(w->in, median(x, t->n_steps),
                     dsgd_xprintf("%s: of %zu steps", t->file, t->n_steps));
}

static dsgd_status put_all(work *w, dsgd_error *error)
{
    DSGD_TRY(choose_groups(w, error));
    if (w->sums->group != NULL)
        DSGD_TRY(collect_steps(w, error));
    if (w->n_steps == 0)
        return put_step(w), DSGD_OK;
    align_clocks(w);
    find_waits(w);
    size_t *const used = dsgd_keep(w->n_steps, sizeof *used), all = used_steps(w, used);
    const size_t first = (size_t)w->in->first, n = first > 0 && first < all ? first : all;
    const size_t *const checked = n < all ? used + n : used, n_checked = n < all ? all - n : n;
    double *const x = dsgd_keep(n * w->n, sizeof *x);
    double *const steps = dsgd_keep(n_checked, sizeof *steps);
    dsgd_steps m = {.file = w->traces[0].file,
                    .column = DSGD_COMPUTING,
                    .n = n * w->n,
                    .seconds = dsgd_keep(n * w->n + 1, sizeof(double)),
                    .worker = dsgd_keep(n * w->n + 1, sizeof(double)),
                    .step = dsgd_keep(n * w->n + 1, sizeof(double))};
    for (size_t i = 0; i < n * w->n; i++) {
        x[i] = m.seconds[i] = compute_s(w, used[i / w->n], i % w->n);
        m.worker[i] = (double)w->traces[i % w->n].rank;
        const size_t step = i / w->n;
        m.step[i] = (double)step;
    }
    for (size_t i = 0; i < n_checked; i++)
        steps[i] = step_s(w, checked[i]);
    w->in->measured.step_s = median(steps, n_checked);
    w->in->measured.deviation_s = n_checked > 2 ? gsl_stats_sd(steps, 1, n_checked) : 0;
    const double computed_s = median(x, n * w->n);
    printf("%s: %s make%s the experiment, computing %.4g ms; %zu of %.4g ms (median) check it\n",
           w->traces[0].file, dsgd_counted(n, "step"), n == 1 ? "s" : "", 1e3 * computed_s,
           n_checked, 1e3 * w->in->measured.step_s);
    tell_buckets(w, checked, n_checked);
    tell_limits(w, checked, n_checked);
    const double mean_s = dsgd_import_steps(w->in, &m);
    put_workload(w, isnan(mean_s) ? computed_s : mean_s, used, n);
    put_missing(w, used, n, isnan(mean_s) ? computed_s : mean_s);
    /* What is measured has in it what a GPU loses to its collectives. */
    static const char *const losses[] = {"collective_share", "collective_launch",
                                         "collective_copy"};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        DSGD_TRY(dsgd_import_number_is(
            w->in, losses[i], 0, dsgd_xprintf("%s: computing has it", w->traces[0].file), error));
    return DSGD_OK;
}

static int by_step(const void *a, const void *b)
{
    const dsgd_kineto_seconds *const x = a, *const y = b;
    return x->step != y->step       ? (x->step > y->step) * 2 - 1
           : x->worker != y->worker ? (x->worker > y->worker) * 2 - 1
                                    : (x->seconds < y->seconds) * 2 - 1;
}

/**
 * How much longer steps take than if all GPUs computed as long as their mean: a pipeline of stages takes the
 * slowest for all micro-batches, and the others for one (Lin et al., OSDI 2025, define slowdown so).
 */
static void tell_slowdown(const dsgd_kineto *t)
{
    double all_s = 0, ideal_s = 0;
    for (size_t i = 0, end = 0; i < t->n_seconds; i = end) {
        double longest_s = 0, mean_s = 0, stages = 0;
        for (end = i; end < t->n_seconds && t->seconds[end].step == t->seconds[i].step;) {
            const dsgd_kineto_seconds *const slowest = &t->seconds[end];
            const double parts = fmax((double)slowest->parts, 1);
            double rank_s = slowest->seconds * (parts - 1) / parts;
            for (stages = 0; end < t->n_seconds && t->seconds[end].step == slowest->step &&
                             t->seconds[end].worker == slowest->worker;
                 end++, stages++) {
                rank_s += t->seconds[end].seconds / parts;
                mean_s += t->seconds[end].seconds;
            }
            longest_s = fmax(longest_s, rank_s);
        }
        const double parts = fmax((double)t->seconds[i].parts, 1);
        all_s += longest_s;
        ideal_s += mean_s / (double)(end - i) * (stages + parts - 1) / parts;
    }
    printf("slowdown by GPUs that differ: %.4g\n", all_s / ideal_s);
}

/** Timelines whose processes are ranks; of the stages of a rank's pipeline the slowest counts. */
static void put_timeline(work *w, const dsgd_kineto *t)
{
    const size_t n = t->n_seconds;
    int64_t highest = 0;
    dsgd_steps m = {.file = t->file,
                    .column = DSGD_COMPUTING,
                    .seconds = dsgd_keep(n + 1, sizeof(double)),
                    .worker = dsgd_keep(n + 1, sizeof(double)),
                    .step = dsgd_keep(n + 1, sizeof(double))};
    qsort(t->seconds, n, sizeof *t->seconds, by_step);
    for (size_t i = 0; i < n; i++) {
        const dsgd_kineto_seconds *const s = &t->seconds[i];
        if (i > 0 && s->worker == s[-1].worker && s->step == s[-1].step)
            continue;
        m.seconds[m.n] = s->seconds;
        m.step[m.n] = (double)s->step;
        m.worker[m.n++] = (double)s->worker;
        highest = s->worker > highest ? s->worker : highest;
    }
    tell_slowdown(t);
    const double mean_s = dsgd_import_steps(w->in, &m);
    if (!isnan(mean_s))
        dsgd_import_step(w->in, mean_s, t->file);
    dsgd_import_workers(w->in, highest + 1, t->file);
}

static dsgd_status finish(dsgd_import *in, void *state, dsgd_error *error)
{
    work *const w = state;
    (void)in;
    for (size_t r = 0; r < w->n; r++)
        if (w->traces[r].n_seconds > 0 && w->n > 1)
            return dsgd_refuse(error,
                               "%s is a timeline of all ranks: give no other trace beside it",
                               w->traces[r].file);
    if (w->n == 1 && w->traces[0].n_seconds > 0)
        return put_timeline(w, &w->traces[0]), DSGD_OK;
    DSGD_TRY(order_ranks(w, error));
    return w->n == 0 ? DSGD_OK : put_all(w, error);
}

const dsgd_import_reader dsgd_import_kineto = {
    .name = "profile of a rank",
    .gives = "profiles, one of each rank: Chrome traces of PyTorch's profiler, or Chakra's "
             "execution traces (.et): workload and imbalance",
    .recognise = recognise,
    .read = read,
    .state_bytes = sizeof(work),
    .finish = finish,
};
