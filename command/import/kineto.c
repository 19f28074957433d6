/**
 * @file kineto.c
 * Reads traces of PyTorch's profiler, one trace per rank. The gradient buckets, with the times at
 * which they are ready, become the workload. For each rank, the computing time until its last
 * bucket is ready becomes the imbalance. This time excludes waiting for other ranks.
 */
#include <gsl/gsl_statistics_double.h>

#include "command/console/table.h"
#include "command/import/ranks.h"
#include "command/import/reader.h"
#include "command/import/steps.h"

/* --- files ------------------------------------------------------------------------------------ */

static bool recognise(const char *head)
{
    head += strspn(head, " \t\r\n");
    return (*head == '{' && (strstr(head, "\"traceEvents\"") != NULL ||
                             strstr(head, "\"schemaVersion\"") != NULL)) ||
           (*head == '[' && strstr(head, "\"ph\"") != NULL);
}

static dsgd_status read(dsgd_import *in, const char *path, void *state, dsgd_error *error)
{
    dsgd_ranks *const w = state;
    dsgd_kineto t;
    DSGD_TRY(dsgd_kineto_read(path, &t, error));
    if (t.n_events == 0 && t.damage == NULL)
        return DSGD_OK;
    if (t.rank >= 0)
        dsgd_import_gave(in, t.world > 0 ? "rank %jd of %jd" : "rank %jd", t.rank, t.world);
    dsgd_import_gave(in, "%s, %s", dsgd_counted(t.n_steps, "step"),
                     dsgd_counted(t.n_calls, "collective"));
    if (t.gpu != NULL) {
        dsgd_import_gave(in, "%s", t.gpu);
        dsgd_import_gpu(in, t.gpu, path);
    }
    if (t.damage != NULL)
        dsgd_import_gave(in, "damaged: %s; the rest of the file is lost", t.damage);
    in->left_out += t.n_steps == 0;
    if (t.n_steps == 0)
        dsgd_import_gave(in, "skipped, because it has no ProfilerStep#n: give torch.profiler a "
                             "schedule, and call its step()");
    else if (t.n_calls == 0 && t.world > 1)
        dsgd_import_gave(in, "no collective of NCCL or RCCL%s",
                         t.n_kernels > 0 ? "" : ": profile with ProfilerActivity.CUDA");
    w->traces = dsgd_keep_more(w->traces, w->n + 1, sizeof *w->traces);
    if (t.n_steps > 0)
        w->traces[w->n++] = t;
    return DSGD_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

static void put_workload(dsgd_import *in, const dsgd_ranks *w, double computed_s,
                         const size_t *used, size_t n)
{
    const char *const file = w->traces[0].file;
    const char *const of = dsgd_xprintf("%s: of %zu steps, %zu ranks", file, n, w->n);
    const double *const gaps = dsgd_ranks_gaps(w, used, n);
    double backward_s = 0;
    for (size_t b = 0; b < w->n_buckets; b++)
        backward_s += gaps[b];
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, of, "step: %.6g", computed_s);
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD,
                     "a step counts as one sample, because traces do not contain the batch",
                     "samples: 1");
    if (!isnan(backward_s) && backward_s > 0)
        dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, of, "backward_share: %.4g",
                         fmin(backward_s / computed_s, 1));
    dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, "each a bucket, `uses` by when it is ready",
                     "tensors:");
    for (size_t b = 0; b < w->n_buckets; b++) {
        const dsgd_kineto_call *const c = dsgd_ranks_call(w, used[0], 0, b);
        const double elements = fmax(round(c->bytes / 4), 1);
        dsgd_import_line(in, DSGD_IMPORT_WORKLOAD, dsgd_xprintf("%s event %zu", file, c->event),
                         "  - {elements: %.0f, uses: %.5g}", elements,
                         isnan(gaps[b]) ? 1 : fmin(1e9 * gaps[b] / elements, 1e9));
    }
    dsgd_import_workers(in, w->ranks, dsgd_xprintf("%s: group of the sums", file));
    dsgd_import_line(in, DSGD_IMPORT_TOP, NULL, "exchange: {pieces: tensors}");
}

static void tell_buckets(dsgd_import *in, const dsgd_ranks *w, const size_t *used, size_t n)
{
    dsgd_columns table = {.n_rows = 0};
    double *const x = dsgd_keep(n, sizeof *x);
    dsgd_profiled *const m = &in->measured;
    m->bucket_s = dsgd_keep(w->n_buckets, sizeof(double));
    m->bucket_bytes = dsgd_keep(w->n_buckets, sizeof(double));
    for (size_t b = 0; b < w->n_buckets; b++) {
        dsgd_columns_row(&table);
        m->bucket_bytes[b] = dsgd_ranks_call(w, used[0], 0, b)->bytes;
        dsgd_columns_put(&table, "bucket", "%zu", b);
        dsgd_columns_put(&table, "MB", "%.4g", 1e-6 * m->bucket_bytes[b]);
        for (size_t i = 0; i < n; i++)
            x[i] = 1e-3 *
                   (dsgd_ranks_call(w, used[i], 0, b)->ready_us - dsgd_ranks_begin_us(w, used[i]));
        dsgd_columns_put(&table, "ready (ms into the step)", "%.4g", gsl_stats_median(x, 1, n));
        for (size_t i = 0; i < n; i++) {
            const double before_us = b == 0 ? 0 : dsgd_ranks_call(w, used[i], 0, b - 1)->end_us;
            x[i] = 1e-6 * (dsgd_ranks_call(w, used[i], 0, b)->end_us -
                           fmax(dsgd_ranks_arrival_us(w, used[i], b), before_us));
        }
        /*
         * If traces of some ranks are missing, these ranks may have been late. Therefore, use the
         * shortest sum, because it contains the least waiting.
         */
        m->is_bound = (int64_t)w->n < w->ranks;
        m->bucket_s[b] = m->is_bound ? gsl_stats_min(x, 1, n) : gsl_stats_median(x, 1, n);
        dsgd_columns_put(&table, "its sum (ms)", "%s%.4g", m->is_bound ? "<= " : "",
                         1e3 * m->bucket_s[b]);
    }
    dsgd_columns_print(&table);
    /*
     * Do not compare bucket times if sums are sharded, because they are simulated as sums of plain
     * DDP.
     */
    m->n_buckets = w->sums->is_sharded ? 0 : w->n_buckets;
}

/**
 * Returns the time for the sum of the last bucket over all ranks on the platform, in seconds.
 * Returns 0 if the platform does not compute the times of collectives by formulas.
 */
static double last_sum_s(const dsgd_import *in, const dsgd_ranks *w)
{
    const dsgd_platform *const p = &in->platform;
    const int64_t per_node = p->island_hosts > 0 ? p->island_hosts : 1;
    const double bytes = dsgd_ranks_call(w, 0, 0, w->n_buckets - 1)->bytes;
    if (p->library == DSGD_LIBRARY_MPI || !dsgd_platform_has_numbers(p) || w->ranks < 2 ||
        w->ranks > dsgd_platform_most_hosts(p) - per_node)
        return 0;
    const dsgd_nccl_shape shape = dsgd_import_shape(in, (w->ranks - 1) / per_node + 1,
                                                    w->ranks < per_node ? w->ranks : per_node);
    const dsgd_nccl_cost cost = dsgd_nccl_cost_of(&p->nccl, &shape, DSGD_NCCL_ALLREDUCE, bytes);
    return dsgd_nccl_s(&cost, bytes);
}

/**
 * Adds an imbalance entry for the part of a step that neither computing nor the last sum explains.
 * In this time, the ranks waited for a rank without a trace.
 */
static void put_missing(dsgd_import *in, const dsgd_ranks *w, const size_t *used, size_t n,
                        double computed_s)
{
    double *const x = dsgd_keep(n, sizeof *x);
    int64_t missing = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = dsgd_ranks_step_s(w, used[i]);
    const double all_s = gsl_stats_median(x, 1, n), late_s = all_s - computed_s - last_sum_s(in, w);
    for (size_t r = 0; r < w->n; r++)
        missing += w->traces[r].rank == missing;
    if ((int64_t)w->n == w->ranks || late_s < 0.02 * all_s)
        return;
    printf(
        "note: %.4g of %.4g ms of a step are waiting that its last sum does not explain. The "
        "experiment makes rank %jd, which has no trace, slow by this time; the cause may also be "
        "another rank, or the links\n",
        1e3 * late_s, 1e3 * all_s, missing);
    dsgd_import_line(in, DSGD_IMPORT_IMBALANCE,
                     "assumed: the other ranks waited for this rank, which has no trace",
                     "- {kind: slow, worker: %jd, factor: %.4g}", missing, 1 + late_s / computed_s);
}

/**
 * Prints messages about limits of the profile: host-bound steps, missing ranks, and collectives
 * that the workload does not contain.
 */
static void tell_limits(const dsgd_ranks *w, const size_t *used, size_t n)
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
            "warning: host-bound: kernels run for %.4g of %.4g ms of a step. Python, the loader or "
            "the profiler itself is the limit. Give a profile without record_shapes and "
            "with_stack, and step times without a profiler\n",
            1e-3 * busy_us / (double)(n * w->n), 1e-3 * all_us / (double)(n * w->n));
    if ((int64_t)w->n < w->ranks)
        printf("note: %jd of %jd ranks have no trace, so it is unknown how long they compute and "
               "how long others wait for them. The times of sums contain this waiting, and are "
               "only upper bounds for links. Give all traces, or a log of nccl-tests\n",
               w->ranks - (int64_t)w->n, w->ranks);
    const dsgd_kineto_call *largest = NULL;
    for (const dsgd_kineto_call *c = t->calls; c < t->calls + t->n_calls; c++)
        if (c->step == t->n_steps - 1 &&
            (!dsgd_sums_have(c, w->sums->is_sharded) || strcmp(c->group, w->sums->group) != 0)) {
            largest = largest == NULL || c->bytes > largest->bytes ? c : largest;
            other += c->bytes;
        }
    if (largest != NULL && other > w->sums->least_bytes)
        printf("note: %.4g MB per step of other collectives, most by %s, are not in the workload; "
               "waiting for them counts as computation\n",
               1e-6 * other, largest->what == NULL ? "one without a name" : largest->what);
    if (w->sums->is_sharded)
        printf("note: the sums are reduce-scatters%s: they are simulated as sums of plain DDP\n",
               w->sums->replicas < 2
                   ? " (FSDP, ZeRO)"
                   : dsgd_xprintf(" in groups of %jd ranks, and allreduces of their shards between "
                                  "%jd such groups (HSDP)",
                                  w->sums->ranks, w->sums->replicas));
}

/** Adds only the step time to the workload, because the traces contain no sums of gradients. */
static void put_step(dsgd_import *in, const dsgd_ranks *w)
{
    const dsgd_kineto *const t = &w->traces[0];
    double *const x = dsgd_keep(t->n_steps, sizeof *x);
    size_t unsized = 0;
    for (size_t i = 0; i < t->n_calls; i++)
        unsized += t->calls[i].bytes <= 0;
    for (size_t k = 0; k < t->n_steps; k++)
        x[k] = 1e-6 * (t->steps[k].end_us - t->steps[k].begin_us);
    printf(
        "note: %s has no sum of gradients%s; the workload has its step time, and the bytes of %s\n",
        t->file,
        unsized == 0 ? ""
                     : dsgd_xprintf(" whose size is known (%zu of %zu collectives lack their size: "
                                    "profile with record_shapes, or by PyTorch 2.2 or later)",
                                    unsized, t->n_calls),
        in->workload_name);
    dsgd_import_step(in, gsl_stats_median(x, 1, t->n_steps),
                     dsgd_xprintf("%s: of %zu steps", t->file, t->n_steps));
}

static dsgd_status put_all(dsgd_import *in, dsgd_ranks *w, dsgd_error *error)
{
    DSGD_TRY(dsgd_ranks_join(w, error));
    if (w->n_steps == 0)
        return put_step(in, w), DSGD_OK;
    size_t *const used = dsgd_keep(w->n_steps, sizeof *used), all = dsgd_ranks_used(w, used);
    const size_t first = (size_t)in->first, n = first > 0 && first < all ? first : all;
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
        x[i] = m.seconds[i] = dsgd_ranks_compute_s(w, used[i / w->n], i % w->n);
        m.worker[i] = (double)w->traces[i % w->n].rank;
        const size_t step = i / w->n;
        m.step[i] = (double)step;
    }
    for (size_t i = 0; i < n_checked; i++)
        steps[i] = dsgd_ranks_step_s(w, checked[i]);
    in->measured.step_s = gsl_stats_median(steps, 1, n_checked);
    in->measured.deviation_s = n_checked > 2 ? gsl_stats_sd(steps, 1, n_checked) : 0;
    const double computed_s = gsl_stats_median(x, 1, n * w->n);
    printf(
        "%s: %s make%s the experiment, with %.4g ms of computation; %zu steps of %.4g ms (median) "
        "check it\n",
        w->traces[0].file, dsgd_counted(n, "step"), n == 1 ? "s" : "", 1e3 * computed_s, n_checked,
        1e3 * in->measured.step_s);
    tell_buckets(in, w, checked, n_checked);
    tell_limits(w, checked, n_checked);
    const double mean_s = dsgd_import_steps(in, &m);
    put_workload(in, w, isnan(mean_s) ? computed_s : mean_s, used, n);
    put_missing(in, w, used, n, isnan(mean_s) ? computed_s : mean_s);
    /*
     * Set these platform numbers to 0, because the measured times already contain the GPU time that
     * collectives take.
     */
    static const char *const losses[] = {"collective_share", "collective_launch",
                                         "collective_copy"};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        DSGD_TRY(dsgd_import_number_is(
            in, losses[i], 0,
            dsgd_xprintf("%s: contained in the computing times", w->traces[0].file), error));
    return DSGD_OK;
}

static dsgd_status finish(dsgd_import *in, void *state, dsgd_error *error)
{
    dsgd_ranks *const w = state;
    return w->n == 0 ? DSGD_OK : put_all(in, w, error);
}

const dsgd_import_reader dsgd_import_kineto = {
    .name = "profile of a rank",
    .gives = "profiles, one per rank (Chrome traces of PyTorch's profiler): workload and imbalance",
    .recognise = recognise,
    .read = read,
    .state_bytes = sizeof(dsgd_ranks),
    .finish = finish,
};
