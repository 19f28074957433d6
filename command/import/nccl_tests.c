/**
 * @file nccl_tests.c
 * Reads logs of nccl-tests. Fits the factors of NCCL's formulas to the logs. Makes tables for the
 * measured shapes (numbers of nodes and GPUs).
 */
#include <gsl/gsl_sort.h>

#include "command/console/table.h"
#include "command/import/reader.h"
#include "traces/nccl_log.h"

/** A table for one shape: the median time of each message size over all logs of the shape. */
typedef struct pool {
    dsgd_nccl_measured of;
    const char **from; /* for each of the of.table.bytes.n sizes: the files and lines that contain
                        * its measurements */
    const char *title;
    bool sockets;
} pool;

/** State of the reader of nccl-tests logs. */
typedef struct work {
    dsgd_import *in;
    dsgd_nccl_logs logs;
    size_t n_pools;
    pool *pools;
} work;

/** Returns true if the next log continues this log with one message size. */
static bool is_next_size(const dsgd_nccl_log *log)
{
    const dsgd_nccl_table *const t = &log->table, *const next = &log[1].table;
    return t->bytes.n == 1 && next->bytes.n == 1 && t->call == next->call &&
           next->bytes.v[0] > t->bytes.v[0] && log[0].ranks == log[1].ranks;
}

static dsgd_status read(dsgd_import *in, const char *path, void *state, dsgd_error *error)
{
    char *text = NULL;
    work *const m = state;
    const dsgd_nccl_logs before = m->logs;
    m->in = in;
    m->logs.n_refused = 0;
    DSGD_TRY(dsgd_import_text(path, &text, error));
    if (!dsgd_nccl_json_is(text))
        dsgd_nccl_log_read(path, text, &m->logs);
    else
        DSGD_TRY(dsgd_nccl_json_read(path, text, &m->logs, error));
    if (m->logs.n_refused > 0 && m->logs.n == before.n)
        return dsgd_fail(error, DSGD_EIO, "%s", m->logs.refused);
    for (size_t i = before.n; i < m->logs.n; i++) {
        const dsgd_nccl_log *const log = &m->logs.v[i], *last = log;
        while (i + 1 < m->logs.n && is_next_size(last))
            /*
             * If the user ran the tool once per size, combine the logs, each of which has one size.
             */
            last = &m->logs.v[++i];
        const size_t n = last->table.bytes.n;
        dsgd_import_gave(in, "lines %.0f-%.0f: %s, %s, %s from %s to %s", log->lines[0],
                         last->lines[n - 1], dsgd_nccl_calls[log->table.call],
                         log->gpu == NULL ? "unnamed GPUs" : log->gpu,
                         dsgd_counted(n + (size_t)(last - log), "size"),
                         dsgd_import_bytes(log->table.bytes.v[0]),
                         dsgd_import_bytes(last->table.bytes.v[n - 1]));
        if (log->gpu != NULL)
            dsgd_import_gpu(in, log->gpu, path);
    }
    if (m->logs.n_refused > 0)
        dsgd_import_gave(in, "left out: %s", m->logs.refused);
    in->left_out += m->logs.n_refused;
    if (in->gave != NULL && m->logs.left_out > before.left_out)
        dsgd_import_gave(in, "left out: %zu damaged rows or tables of other collectives",
                         m->logs.left_out - before.left_out);
    return DSGD_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/**
 * Completes the shape (numbers of nodes and GPUs) of a log. The command line or the platform's
 * nodes supply missing numbers.
 */
static dsgd_status complete_shape(const work *m, dsgd_nccl_log *log, dsgd_error *error)
{
    const int64_t per_node = m->in->platform.island_hosts > 0 ? m->in->platform.island_hosts : 1;
    const char *const at = dsgd_xprintf("%s:%.0f", log->file, log->lines[0]);
    dsgd_nccl_table *const t = &log->table;
    log->ranks = log->ranks > 0 ? log->ranks : m->in->ranks;
    if (log->ranks < 2)
        return dsgd_refuse(error, "%s: %s", at,
                           log->ranks == 1
                               ? "a single GPU sends nothing; give a log of two or more GPUs"
                               : "the log does not contain the number of GPUs; give --ranks N");
    if (t->nodes == 0)
        t->nodes = m->in->nodes > 0 ? m->in->nodes : (log->ranks + per_node - 1) / per_node;
    t->gpus = log->ranks / t->nodes;
    if (log->ranks % t->nodes != 0 || t->gpus > per_node ||
        t->nodes * per_node > dsgd_platform_most_hosts(&m->in->platform))
        return dsgd_refuse(
            error,
            "%s: %jd GPUs on %jd nodes do not fit: each node must have the same number, and a node "
            "of %s has %jd (island_hosts), %d in all; give --nodes N if the log lacks it, or "
            "another --platform",
            at, log->ranks, t->nodes, m->in->platform_name, per_node,
            dsgd_platform_most_hosts(&m->in->platform));
    return DSGD_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool is_alike(const dsgd_nccl_table *a, const dsgd_nccl_table *b)
{
    return a->call == b->call && a->nodes == b->nodes && a->gpus == b->gpus;
}

/** A measured time of one message size in a log. */
typedef struct sample {
    double bytes, us;
    const char *from;
} sample;

static int compare_samples(const void *a, const void *b)
{
    const sample *const x = a, *const y = b;
    return x->bytes < y->bytes || (x->bytes == y->bytes && x->us < y->us) ? -1 : 1;
}

/** Returns the *n measurements in all logs that have the same shape as a table. */
static sample *samples_of(const work *m, const dsgd_nccl_table *t, size_t *n)
{
    sample *all = dsgd_keep(1, sizeof *all);
    *n = 0;
    for (const dsgd_nccl_log *log = m->logs.v; log < m->logs.v + m->logs.n; log++)
        for (size_t k = 0; k < log->table.bytes.n && is_alike(&log->table, t); k++) {
            all = dsgd_keep_more(all, *n + 1, sizeof *all);
            all[(*n)++] = (sample){log->table.bytes.v[k], log->table.us.v[k],
                                   dsgd_xprintf(" %s:%.0f", log->file, log->lines[k])};
        }
    qsort(all, *n, sizeof *all, compare_samples);
    return all;
}

/** Makes the table for a shape, and prints how much its logs differ. */
static void make_pool(work *m, const dsgd_nccl_table *t)
{
    enum { MOST_PLACES = 4 };
    /* at most message sizes, the measurements of one machine differ by less than this ratio */
    static const double most_spread = 1.5;
    size_t n = 0, n_several = 0;
    const sample *const s = samples_of(m, t, &n);
    double *const all = dsgd_keep(3 * n, sizeof *all), *const us = all + n, *const spreads = us + n;
    m->pools = dsgd_keep_more(m->pools, m->n_pools + 1, sizeof *m->pools);
    pool *const p = &m->pools[m->n_pools++];
    *p = (pool){.of = {.shape = dsgd_import_shape(m->in, t->nodes, t->gpus), .table = *t},
                .from = dsgd_keep(n, sizeof *p->from),
                .title = dsgd_xprintf("%s, %jd GPUs on each of %jd nodes", dsgd_nccl_calls[t->call],
                                      t->gpus, t->nodes)};
    size_t sizes = 0;
    for (size_t i = 0, end = 0; i < n; i = end, sizes++) {
        char *from = dsgd_xstrdup("");
        for (; end < n && s[end].bytes == s[i].bytes; end++)
            if (end < i + MOST_PLACES)
                dsgd_append(&from, "%s", s[end].from);
        if (end > i + MOST_PLACES)
            dsgd_append(&from, " and %zu more", end - i - MOST_PLACES);
        all[sizes] = s[i].bytes;
        us[sizes] = (s[i + (end - i) / 2].us + s[i + (end - i - 1) / 2].us) / 2;
        p->from[sizes] = from;
        if (end > i + 1)
            spreads[n_several++] =
                /* Ignore the highest tenth and the lowest tenth of the times. */
                s[end - 1 - (end - i) / 10].us / s[i + (end - i) / 10].us;
    }
    p->of.table.bytes = (dsgd_numbers){sizes, all};
    p->of.table.us = (dsgd_numbers){sizes, us};
    gsl_sort(spreads, 1, n_several);
    if (n_several > 0)
        printf(
            "%s%s: medians of several runs; the longest time is %.3g times the shortest, for one "
            "size %.3g times%s\n",
            spreads[n_several / 2] > most_spread ? "warning: " : "", p->title,
            spreads[n_several / 2], spreads[n_several - 1],
            spreads[n_several / 2] > most_spread
                ? "; if they are of two machines, import them separately"
                : "");
}

/**
 * Returns true if the log's GPUs differ from the platform's GPUs, but other logs match the
 * platform. If the platform names no GPU, compares with the first log that names a GPU.
 */
static bool is_other_machine(const work *m, const dsgd_nccl_log *log)
{
    const char *gpu = NULL, *const has = m->in->platform.gpu;
    for (size_t i = m->logs.n; i-- > 0;) {
        const char *const its = m->logs.v[i].gpu;
        if (its != NULL && (gpu == NULL || gpu != has))
            gpu = has != NULL && strstr(its, has) != NULL ? has : its;
    }
    return gpu != NULL && log->gpu != NULL && strstr(log->gpu, gpu) == NULL;
}

/** Returns true if other readers found any numbers or parts of the experiment. */
static bool has_others(const dsgd_import *in)
{
    bool has = in->n_numbers > 0;
    for (int i = 0; i < DSGD_IMPORT_PARTS; i++)
        has = has || in->parts[i] != NULL;
    return has;
}

/**
 * Completes the shapes of the logs. Skips logs that cannot be completed. If all logs are skipped,
 * returns the reason for the last log as an error.
 */
static dsgd_status keep_complete(work *m, dsgd_error *error)
{
    dsgd_nccl_log *const kept = dsgd_keep(m->logs.n, sizeof *kept);
    char *said = dsgd_xstrdup("");
    size_t n = 0;
    for (size_t i = 0; i < m->logs.n; i++) {
        dsgd_nccl_log *const log = &m->logs.v[i];
        dsgd_error why = {""};
        if (is_other_machine(m, log))
            (void)dsgd_refuse(&why,
                              "%s:%.0f: its GPUs, %s, are of another machine; import it separately",
                              log->file, log->lines[0], log->gpu);
        else if (complete_shape(m, log, &why) == DSGD_OK)
            kept[n++] = *log;
        if (*why.text != '\0')
            dsgd_append(&said, "skipped: %s\n", why.text);
        m->in->left_out += *why.text != '\0';
        *error = why;
    }
    fputs(n > 0 || m->logs.n > 1 || has_others(m->in) ? said : "", stdout);
    m->logs.v = kept;
    m->logs.n = n;
    return n > 0 ? DSGD_OK : DSGD_EUSAGE;
}

static dsgd_status pool_logs(work *m, dsgd_error *error)
{
    DSGD_TRY(keep_complete(m, error));
    for (size_t i = 0; i < m->logs.n; i++) {
        size_t k = 0;
        while (k < m->n_pools && !is_alike(&m->pools[k].of.table, &m->logs.v[i].table))
            k++;
        if (k == m->n_pools)
            make_pool(m, &m->logs.v[i].table);
        m->pools[k].sockets = m->pools[k].sockets || m->logs.v[i].sockets;
    }
    size_t n = 0;
    for (size_t k = 0; k < m->n_pools; k++) {
        const pool *const p = &m->pools[k];
        if (p->of.table.bytes.n < 2)
            printf("skipped:%s: %s: the table has one size, but two or more are needed\n",
                   p->from[0], p->title);
        else
            m->pools[n++] = *p;
    }
    m->in->left_out += m->n_pools - n;
    m->n_pools = n;
    return n > 0 ? DSGD_OK
                 : dsgd_refuse(error, "%s: a platform needs tables of two or more sizes",
                               m->logs.v->file);
}

/* --- checks and fits -------------------------------------------------------------------------- */

/** Prints a warning if measured bandwidths do not match the links or NICs of the platform. */
static void compare_with_hardware(const work *m, const pool *p)
{
    static const double most = 1.02, least = 0.3, least_bytes = 64 * 0x1p20;
    const dsgd_nccl_table *const t = &p->of.table;
    const bool within = t->nodes == 1;
    const double parts = (double)(within ? t->gpus : t->nodes), once = (parts - 1) / parts;
    /*
     * Data volume that each node or GPU must send with any algorithm, as a multiple of the message
     * size. A switch may compute sums.
     */
    const double factor = t->call == DSGD_NCCL_BROADCAST              ? 1
                          : t->call == DSGD_NCCL_SHARES               ? once
                          : within && m->in->platform.nccl.has_switch ? 1 + 1 / parts
                                                                      : 2 * once;
    const double has =
        within ? m->in->platform.nccl.links_bytes_per_s : p->of.shape.nic_bytes_per_s;
    double carried = 0;
    for (size_t k = 0; k < t->bytes.n; k++)
        carried = fmax(carried, 1e6 * factor * t->bytes.v[k] / t->us.v[k]);
    carried /= within ? 1 : p->of.shape.nics;
    const bool is_low = carried < least * has && t->bytes.v[t->bytes.n - 1] >= least_bytes;
    if (carried <= most * has && !is_low && !p->sockets)
        return;
    printf("warning: %s: measured %.3g GB/s through%s, but %s has %.3g GB/s (%s): %s\n", p->title,
           carried / 1e9, within ? " each GPU's links" : " each NIC", m->in->platform_name,
           has / 1e9, within ? "nccl: links" : "host_bandwidth",
           p->sockets && !within ? "NCCL used sockets"
           : !is_low             ? "does the machine have faster or more of them?"
           : within              ? "was it PCIe, or memory of the host?"
                                 : "were it sockets, or another network?");
}

/** Prints a warning if the largest measured message is smaller than a gradient bucket. */
static void warn_of_reach(const pool *p)
{
    static const double least_bytes = 8 * 0x1p20; /* size of a gradient bucket in bytes */
    const double most = p->of.table.bytes.v[p->of.table.bytes.n - 1];
    if (most < least_bytes)
        printf("warning: %s: the largest size is %s. Larger messages are assumed to have its rate, "
               "which is far too low for small messages of NCCL; measure up to 1 GiB or more (-e "
               "1G)\n",
               p->title, dsgd_import_bytes(most));
}

/** Prints a warning if the logs name other GPUs than the platform names. */
static void compare_gpus(const work *m)
{
    const dsgd_nccl_log *log = m->logs.v, *const end = log + m->logs.n;
    while (log < end && log->gpu == NULL)
        log++;
    if (log < end && m->in->platform.gpu != NULL && strstr(log->gpu, m->in->platform.gpu) == NULL)
        printf("warning: %s:%.0f: the GPUs of the log are %s, but %s has %s\n", log->file,
               log->lines[0], log->gpu, m->in->platform_name, m->in->platform.gpu);
}

/** Fits the factors of NCCL's formulas. Prints the error of the fitted formulas. */
static void fit(work *m)
{
    dsgd_nccl *const nccl = &m->in->platform.nccl;
    dsgd_nccl_measured *const all = dsgd_keep(m->n_pools, sizeof *all);
    /* Remove the tables of the platform, because the logs are from another machine. */
    nccl->tables = (dsgd_structs){0, NULL};
    compare_gpus(m);
    for (size_t i = 0; i < m->n_pools; i++) {
        compare_with_hardware(m, &m->pools[i]);
        warn_of_reach(&m->pools[i]);
        all[i] = m->pools[i].of;
    }
    dsgd_nccl_fit(nccl, all, m->n_pools);
    for (size_t i = 0; i < m->n_pools; i++)
        printf("%s: the fitted formulas differ by %.2g %% on average; the table of the log is used "
               "for this shape\n",
               m->pools[i].title, 100 * dsgd_nccl_error(nccl, &all[i]));
}

/* --- the experiment --------------------------------------------------------------------------- */

/**
 * Returns a text with the files and lines of the logs within a node or between nodes. Returns NULL
 * if there is no such log.
 */
static const char *origin_of(const work *m, bool within)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < m->logs.n; i++) {
        const dsgd_nccl_log *const log = &m->logs.v[i];
        if ((log->table.nodes == 1) == within)
            dsgd_append(&text, "%s%s:%.0f-%.0f", *text == '\0' ? "" : " ", log->file, log->lines[0],
                        log->lines[log->table.bytes.n - 1]);
    }
    return *text == '\0' ? NULL : text;
}

static void write_table(dsgd_import *in, const pool *p)
{
    const dsgd_nccl_table *const t = &p->of.table;
    char *bytes = dsgd_xstrdup("");
    for (size_t k = 0; k < t->bytes.n; k++)
        dsgd_append(&bytes, "%s%.0f",
                    k == 0       ? ""
                    : k % 8 == 0 ? ",\n          "
                                 : ", ",
                    t->bytes.v[k]);
    dsgd_import_line(in, DSGD_IMPORT_NCCL, NULL,
                     "  - call: %s\n    nodes: %jd\n    gpus: %jd\n    bytes: [%s]\n    us:",
                     dsgd_nccl_calls[t->call], t->nodes, t->gpus, bytes);
    for (size_t k = 0; k < t->us.n; k++)
        dsgd_import_line(in, DSGD_IMPORT_NCCL,
                         dsgd_xprintf("%s:%s", dsgd_import_bytes(t->bytes.v[k]), p->from[k]),
                         "      - %-8.6g", t->us.v[k]);
}

static dsgd_status put_factor(work *m, const char *key, double value, bool within,
                              dsgd_error *error)
{
    const char *const from = origin_of(m, within);
    if (from == NULL)
        return DSGD_OK;
    return dsgd_import_number_is(m->in, key, strtod(dsgd_xprintf("%.4g", value), NULL), from,
                                 error);
}

static dsgd_status finish(dsgd_import *in, void *state, dsgd_error *error)
{
    work *const m = state;
    const dsgd_nccl *const nccl = &in->platform.nccl;
    if (in->platform.library == DSGD_LIBRARY_MPI)
        return dsgd_refuse(error,
                           "--platform %s has the library mpi, but the logs are of nccl or rccl; "
                           "give it `library` and `nccl: {generation: ..., links: ...}`",
                           in->platform_name);
    if (m->logs.said != NULL)
        printf("%s\n", m->logs.said);
    if (m->logs.n == 0)
        return DSGD_OK;
    const dsgd_status status = pool_logs(m, error);
    if (status != DSGD_OK)
        /* The reasons for skipped logs have already been printed. */
        return has_others(in) ? DSGD_OK : status;
    fit(m);
    DSGD_TRY(put_factor(m, "nccl.bandwidth", nccl->bandwidth, false, error));
    DSGD_TRY(put_factor(m, "nccl.latency", nccl->latency, false, error));
    DSGD_TRY(put_factor(m, "nccl.node_bandwidth", nccl->node_bandwidth, true, error));
    DSGD_TRY(put_factor(m, "nccl.node_latency", nccl->node_latency, true, error));
    dsgd_import_line(in, DSGD_IMPORT_NCCL, NULL, "tables:");
    const pool *largest = m->pools;
    for (size_t i = 0; i < m->n_pools; i++) {
        const dsgd_nccl_table *const t = &m->pools[i].of.table;
        write_table(in, &m->pools[i]);
        if (t->nodes * t->gpus > largest->of.table.nodes * largest->of.table.gpus)
            largest = &m->pools[i];
    }
    dsgd_import_workers(in, largest->of.table.nodes * largest->of.table.gpus, largest->from[0] + 1);
    const dsgd_nccl_table *const t = &largest->of.table;
    const bool is_full = t->nodes == 1 || t->gpus == in->platform.island_hosts;
    printf("between nodes %.4g of the formulas' rates and %.4g of their latencies, within one %.4g "
           "and %.4g; `dsgd platform check %s --workers %jd` shows times%s\n",
           nccl->bandwidth, nccl->latency, nccl->node_bandwidth, nccl->node_latency, in->output,
           t->nodes * t->gpus,
           is_full ? ""
                   : dsgd_xprintf(" of full nodes, where the log had %jd GPUs on each", t->gpus));
    return DSGD_OK;
}

const dsgd_import_reader dsgd_import_nccl_tests = {
    .name = "log of nccl-tests",
    .gives = "logs of nccl-tests or rccl-tests (all_reduce, all_gather, reduce_scatter, broadcast, "
             "reduce): "
             "collectives of the platform",
    /* This reader accepts any text, because a table can begin far from the start of a log. */
    .read = read,
    .state_bytes = sizeof(work),
    .finish = finish,
};
