/**
 * @file import.c
 * `dsgd import`: from what a user's machine has printed to a platform.
 */
#include <ctype.h>
#include <gsl/gsl_sort.h>

#include "base/file.h"
#include "base/json.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/experiment/traces.h"
#include "sim/network/nodes.h"
#include "traces/nccl_log.h"

typedef struct arguments {
    dsgd_operands paths;
    const char *output, *platform;
    long nodes, ranks;
    bool force;
} arguments;

/** Logs of one shape: a table of medians. */
typedef struct pool {
    dsgd_nccl_measured of;
    const char **from; /* [of.table.bytes.n]: files and lines */
    const char *title;
    bool sockets;
} pool;

/** What is made of the files. */
typedef struct import_work {
    const arguments *a;
    dsgd_nccl_logs logs;
    const char *name; /* of the platform from which it departs */
    dsgd_platform platform;
    size_t n_pools;
    pool *pools;
} import_work;

/* --- files ------------------------------------------------------------------------------------ */

static const char *bytes_text(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    for (; i < 4 && bytes >= 1024; i++)
        bytes /= 1024;
    return dsgd_xprintf("%.4g %s", bytes, units[i]);
}

static dsgd_status read_nccl(import_work *m, const char *path, const char *text, dsgd_error *error)
{
    const dsgd_nccl_logs before = m->logs;
    DSGD_TRY(dsgd_nccl_log_read(path, text, &m->logs, error));
    for (size_t i = before.n; i < m->logs.n; i++) {
        const dsgd_nccl_log *const log = &m->logs.v[i];
        const size_t n = log->table.bytes.n;
        printf("%s:%.0f-%.0f: %s, %s, %zu sizes from %s to %s\n", path, log->lines[0],
               log->lines[n - 1], dsgd_nccl_calls[log->table.call],
               log->gpu == NULL ? "GPUs not named" : log->gpu, n, bytes_text(log->table.bytes.v[0]),
               bytes_text(log->table.bytes.v[n - 1]));
    }
    if (m->logs.left_out > before.left_out)
        printf("%s: left out: %zu damaged rows or tables of other collectives\n", path,
               m->logs.left_out - before.left_out);
    return DSGD_OK;
}

/** What can be read: a reader adds nothing where it does not know the content. */
static const struct {
    const char *what;
    dsgd_status (*read)(import_work *m, const char *path, const char *text, dsgd_error *error);
} readers[] = {{"tables of all_reduce, all_gather, reduce_scatter, broadcast or reduce that "
                "nccl-tests or rccl-tests print",
                read_nccl}};

enum { READERS = sizeof readers / sizeof readers[0] };

static dsgd_status read_path(import_work *m, const char *path, dsgd_error *error)
{
    char *text = NULL;
    size_t n = 0;
    const char *known[READERS + 1] = {NULL};
    if (strpbrk(path, "\r\n") != NULL)
        return dsgd_refuse(error,
                           "%s: a name with a line break cannot stand in a comment of the "
                           "platform; give the file another",
                           path);
    if (dsgd_file_read(path, &text, &n, NULL) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
    for (char *c = text; c < text + n; c++) /* what it says of GPUs is printed */
        if (*c == '\0' || (iscntrl((unsigned char)*c) && strchr("\t\r\n", *c) == NULL))
            *c = ' ';
    for (int i = 0; i < READERS; i++) {
        const size_t before = m->logs.n;
        DSGD_TRY(readers[i].read(m, path, text, error));
        if (m->logs.n > before)
            return DSGD_OK;
        known[i] = readers[i].what;
    }
    return dsgd_refuse(error, "%s: nothing in it can be imported, which are %s", path,
                       dsgd_listed(known, "; or "));
}

/* --- the platform ----------------------------------------------------------------------------- */

/** The shipped one with the GPUs that the logs name, where one alone has them. */
static dsgd_status choose_platform(import_work *m, dsgd_error *error)
{
    const char *gpu = NULL, **found = NULL;
    char **names =
        dsgd_folder_names(dsgd_xprintf("%s/traces/platforms", dsgd_data_folder()), ".yaml");
    size_t n = 0;
    for (size_t i = 0; i < m->logs.n && gpu == NULL; i++)
        gpu = m->logs.v[i].gpu;
    for (; gpu != NULL && names != NULL && *names != NULL; names++) {
        dsgd_config *config = NULL;
        dsgd_platform platform;
        (*names)[strlen(*names) - strlen(".yaml")] = '\0';
        DSGD_TRY(dsgd_platform_open(*names, &config, &platform, error));
        if (platform.gpu == NULL || strstr(gpu, platform.gpu) == NULL)
            continue;
        found = dsgd_keep_more(found, n + 2, sizeof *found);
        found[n++] = *names;
    }
    if (n != 1)
        return dsgd_refuse(
            error, "%s: %s; give a platform with the NICs and links of this machine by --platform",
            m->a->paths.v[0],
            gpu == NULL ? "no line names the GPU"
            : n == 0    ? dsgd_xprintf("no shipped platform says that it has %s", gpu)
                        : dsgd_xprintf("%s have %s", dsgd_listed(found, " and "), gpu));
    m->name = found[0];
    printf("%s: of the shipped platforms %s alone has it; --platform names another\n", gpu, *found);
    return DSGD_OK;
}

static dsgd_status open_platform(import_work *m, dsgd_error *error)
{
    dsgd_config *config = NULL;
    m->name = m->a->platform;
    if (m->name == NULL)
        DSGD_TRY(choose_platform(m, error));
    DSGD_TRY(dsgd_platform_open(m->name, &config, &m->platform, error));
    if (m->platform.library == DSGD_LIBRARY_MPI)
        return dsgd_refuse(error,
                           "--platform %s: its library is mpi, but logs are of nccl or rccl: it "
                           "needs `library` and `nccl: {generation: ..., links: ...}`",
                           m->name);
    return dsgd_platform_check(&m->platform, error);
}

/** What a log does not say of its shape, by the command line or the platform's nodes. */
static dsgd_status complete_shape(const import_work *m, dsgd_nccl_log *log, dsgd_error *error)
{
    const long per_node = m->platform.island_hosts > 0 ? m->platform.island_hosts : 1;
    const char *const at = dsgd_xprintf("%s:%.0f", log->file, log->lines[0]);
    dsgd_nccl_table *const t = &log->table;
    log->ranks = log->ranks > 0 ? log->ranks : m->a->ranks;
    if (log->ranks < 2 || t->bytes.n < 2)
        return dsgd_refuse(
            error,
            "%s: %ld GPUs and %zu sizes, but a table has two or more; --ranks N says "
            "how many GPUs took part where the log does not",
            at, log->ranks, t->bytes.n);
    if (t->nodes == 0)
        t->nodes = m->a->nodes > 0 ? m->a->nodes : (log->ranks + per_node - 1) / per_node;
    t->gpus = log->ranks / t->nodes;
    if (log->ranks % t->nodes != 0 || t->gpus > per_node ||
        t->nodes * per_node > dsgd_platform_most_hosts(&m->platform))
        return dsgd_refuse(
            error,
            "%s: %ld GPUs on %ld nodes, but as many have to be on each, and those of "
            "%s have %ld (island_hosts), %d in all; --nodes N says on how many they "
            "were where the log does not, --platform names another machine",
            at, log->ranks, t->nodes, m->name, per_node, dsgd_platform_most_hosts(&m->platform));
    return DSGD_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

/** Its shape: on each node the first GPUs. */
static dsgd_nccl_shape shape_of(const import_work *m, const dsgd_nccl_table *t)
{
    const int per_node = m->platform.island_hosts > 0 ? (int)m->platform.island_hosts : 1;
    const int n = (int)(t->nodes * t->gpus), gpus = (int)t->gpus;
    int *const places = dsgd_keep(2 * (size_t)n, sizeof *places), *const all = places + n;
    for (int i = 0; i < n; i++) {
        places[i] = i / gpus * per_node + i % gpus;
        all[i] = i;
    }
    return dsgd_nodes_shape(dsgd_nodes_new(&m->platform, places, n), all, n);
}

static bool is_alike(const dsgd_nccl_table *a, const dsgd_nccl_table *b)
{
    return a->call == b->call && a->nodes == b->nodes && a->gpus == b->gpus;
}

/** A size in a log. */
typedef struct sample {
    double bytes, us;
    const char *from;
} sample;

static int compare_samples(const void *a, const void *b)
{
    const sample *const x = a, *const y = b;
    return x->bytes < y->bytes || (x->bytes == y->bytes && x->us < y->us) ? -1 : 1;
}

/** All of a shape; *n of them. */
static sample *samples_of(const import_work *m, const dsgd_nccl_table *t, size_t *n)
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

/** Makes the pool of a shape; says how far its logs differ. */
static void make_pool(import_work *m, const dsgd_nccl_table *t)
{
    size_t n = 0, n_several = 0;
    const sample *const s = samples_of(m, t, &n);
    double *const all = dsgd_keep(3 * n, sizeof *all), *const us = all + n, *const spreads = us + n;
    m->pools = dsgd_keep_more(m->pools, m->n_pools + 1, sizeof *m->pools);
    pool *const p = &m->pools[m->n_pools++];
    *p = (pool){.of = {.shape = shape_of(m, t), .table = *t},
                .from = dsgd_keep(n, sizeof *p->from),
                .title = dsgd_xprintf("%s, %ld GPUs on each of %ld nodes", dsgd_nccl_calls[t->call],
                                      t->gpus, t->nodes)};
    size_t sizes = 0;
    for (size_t i = 0, end = 0; i < n; i = end, sizes++) {
        char *from = dsgd_xstrdup("");
        for (; end < n && s[end].bytes == s[i].bytes; end++)
            dsgd_append(&from, "%s", s[end].from);
        all[sizes] = s[i].bytes;
        us[sizes] = (s[i + (end - i) / 2].us + s[i + (end - i - 1) / 2].us) / 2;
        p->from[sizes] = from;
        if (end > i + 1)
            spreads[n_several++] = s[end - 1].us / s[i].us;
    }
    p->of.table.bytes = (dsgd_numbers){sizes, all};
    p->of.table.us = (dsgd_numbers){sizes, us};
    gsl_sort(spreads, 1, n_several);
    if (n_several > 0)
        printf(
            "%s: medians of several tables, whose longest time is %.3g times the shortest, of one "
            "size %.3g times\n",
            p->title, spreads[n_several / 2], spreads[n_several - 1]);
}

static dsgd_status pool_logs(import_work *m, dsgd_error *error)
{
    for (size_t i = 0; i < m->logs.n; i++)
        DSGD_TRY(complete_shape(m, &m->logs.v[i], error));
    for (size_t i = 0; i < m->logs.n; i++) {
        size_t k = 0;
        while (k < m->n_pools && !is_alike(&m->pools[k].of.table, &m->logs.v[i].table))
            k++;
        if (k == m->n_pools)
            make_pool(m, &m->logs.v[i].table);
        m->pools[k].sockets = m->pools[k].sockets || m->logs.v[i].sockets;
    }
    return DSGD_OK;
}

/* --- what they say ---------------------------------------------------------------------------- */

/** Tells where a log is not of the stated hardware. */
static void compare_with_hardware(const import_work *m, const pool *p)
{
    static const double most = 1.02, least = 0.3, least_bytes = 64 * 0x1p20;
    const dsgd_nccl_table *const t = &p->of.table;
    const bool within = t->nodes == 1;
    const double parts = (double)(within ? t->gpus : t->nodes), once = (parts - 1) / parts;
    /* What each node, or GPU, has to send by any algorithm; a switch may sum. */
    const double factor = t->call == DSGD_NCCL_BROADCAST          ? 1
                          : t->call == DSGD_NCCL_SHARES           ? once
                          : within && m->platform.nccl.has_switch ? 1 + 1 / parts
                                                                  : 2 * once;
    const double has = within ? m->platform.nccl.links_bytes_per_s : p->of.shape.nic_bytes_per_s;
    double carried = 0;
    for (size_t k = 0; k < t->bytes.n; k++)
        carried = fmax(carried, 1e6 * factor * t->bytes.v[k] / t->us.v[k]);
    carried /= within ? 1 : p->of.shape.nics;
    const bool is_low = carried < least * has && t->bytes.v[t->bytes.n - 1] >= least_bytes;
    if (carried <= most * has && !is_low && !p->sockets)
        return;
    printf("warning: %s: %.3g GB/s pass%s, but %s has %.3g GB/s (%s): %s\n", p->title,
           carried / 1e9, within ? " each GPU's links" : " each NIC", m->name, has / 1e9,
           within ? "nccl: links" : "host_bandwidth",
           p->sockets && !within ? "NCCL says that it used sockets"
           : !is_low             ? "the machine has other ones, or more"
           : within              ? "was it PCIe, or memory of the host?"
                                 : "were it sockets, or another network?");
}

/** Tells of what the log has too little to say something. */
static void warn_of_reach(const pool *p)
{
    static const double least_bytes = 8 * 0x1p20; /* of a bucket of gradients */
    const double most = p->of.table.bytes.v[p->of.table.bytes.n - 1];
    if (most < least_bytes)
        printf(
            "warning: %s: the largest size is %s; what is larger is taken to go at its rate, "
            "which for NCCL's small messages is far too low: measure up to 1 GiB or more (-e 1G)\n",
            p->title, bytes_text(most));
}

/** GPUs that the logs name, and the platform does not have. */
static void compare_gpus(const import_work *m)
{
    for (size_t i = 0; i < m->logs.n; i++) {
        const char *const gpu = m->logs.v[i].gpu;
        if (gpu != NULL && m->platform.gpu != NULL && strstr(gpu, m->platform.gpu) == NULL)
            printf("warning: %s:%.0f: its GPUs are %s, those of %s are %s\n", m->logs.v[i].file,
                   m->logs.v[i].lines[0], gpu, m->name, m->platform.gpu);
    }
}

/** Finds the factors; says what the formulas with them miss. */
static void fit(import_work *m)
{
    dsgd_nccl *const nccl = &m->platform.nccl;
    dsgd_nccl_measured *const all = dsgd_keep(m->n_pools, sizeof *all);
    nccl->tables = (dsgd_records){0, NULL}; /* of another machine */
    compare_gpus(m);
    for (size_t i = 0; i < m->n_pools; i++) {
        compare_with_hardware(m, &m->pools[i]);
        warn_of_reach(&m->pools[i]);
        all[i] = m->pools[i].of;
    }
    dsgd_nccl_fit(nccl, all, m->n_pools);
    for (size_t i = 0; i < m->n_pools; i++)
        printf("%s: the fitted formulas differ by %.2g %% in the mean; for this shape the log "
               "decides\n",
               m->pools[i].title, 100 * dsgd_nccl_error(nccl, &all[i]));
}

/* --- the file --------------------------------------------------------------------------------- */

/** Where the factors within nodes, or those between them, come from. */
static const char *origin_of(const import_work *m, bool within)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < m->logs.n; i++) {
        const dsgd_nccl_log *const log = &m->logs.v[i];
        if ((log->table.nodes == 1) == within)
            dsgd_append(&text, " %s:%.0f-%.0f", log->file, log->lines[0],
                        log->lines[log->table.bytes.n - 1]);
    }
    return *text == '\0' ? dsgd_xprintf(" %s", m->name) : text;
}

static void write_table(FILE *stream, const pool *p)
{
    const dsgd_nccl_table *const t = &p->of.table;
    fprintf(stream, "    - call: %s\n      nodes: %ld\n      gpus: %ld\n      bytes: [",
            dsgd_nccl_calls[t->call], t->nodes, t->gpus);
    for (size_t k = 0; k < t->bytes.n; k++)
        fprintf(stream, "%s%.0f",
                k == 0       ? ""
                : k % 8 == 0 ? ",\n              "
                             : ", ",
                t->bytes.v[k]);
    fputs("]\n      us:\n", stream);
    for (size_t k = 0; k < t->us.n; k++)
        fprintf(stream, "        - %-8.6g # %s:%s\n", t->us.v[k], bytes_text(t->bytes.v[k]),
                p->from[k]);
}

static dsgd_status write_platform(const import_work *m, dsgd_error *error)
{
    const dsgd_nccl *const nccl = &m->platform.nccl;
    const char *const path = m->a->output;
    const char *const between = origin_of(m, false), *const within = origin_of(m, true);
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s", path);
    if (stream == NULL)
        return DSGD_EIO;
    fprintf(stream,
            "# By `dsgd import`. All that is not here is as in the platform that is named.\n"
            "name: %s\nsummary: %s\norigin: logs of nccl-tests\n"
            "nccl: # up to low_latency as there\n  generation: %s\n  links: %.10g\n  switch: %s\n"
            "  amd_host: %s\n  network_latency: %.10g\n  low_latency: %.10g\n",
            dsgd_yaml_word(m->name),
            dsgd_yaml_word(dsgd_xprintf("%s with collectives as measured", m->name)),
            dsgd_gpu_generations[nccl->generation], nccl->links_bytes_per_s,
            nccl->has_switch ? "true" : "false", nccl->amd_host ? "true" : "false",
            nccl->network_latency_s, nccl->low_latency_s);
    fprintf(stream,
            "  bandwidth: %.4g #%s\n  latency: %.4g #%s\n  node_bandwidth: %.4g #%s\n"
            "  node_latency: %.4g #%s\n  tables:\n",
            nccl->bandwidth, between, nccl->latency, between, nccl->node_bandwidth, within,
            nccl->node_latency, within);
    for (size_t i = 0; i < m->n_pools; i++)
        write_table(stream, &m->pools[i]);
    printf("%s: between nodes %.4g of the formulas' rates and %.4g of their latencies, within one "
           "%.4g "
           "and %.4g; `dsgd platform check %s` shows times\n",
           path, nccl->bandwidth, nccl->latency, nccl->node_bandwidth, nccl->node_latency, path);
    return dsgd_whole_close(&file, error);
}

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, output, "output", 'o', "FILE", "The platform that is written"),
    DSGD_ARGUMENT(TEXT, platform, "platform", 'p', "NAME|FILE",
                  "From which it departs, as logs do not say NICs and links (the only shipped one "
                  "with the GPUs that they name)"),
    DSGD_ARGUMENT(COUNT, nodes, "nodes", 0, "N",
                  "Of logs that do not say it (as many as the GPUs need)"),
    DSGD_ARGUMENT(COUNT, ranks, "ranks", 0, "N", "GPUs of logs that do not say it"),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "Replaces a file that is there"),
    {.name = NULL},
};

static dsgd_status import_run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "FILE...",
        "Makes a platform of what nccl-tests or rccl-tests printed on a machine: their times for "
        "groups of that shape, and NCCL's formulas, fitted to them, for all others.",
        1,
        SIZE_MAX,
        "import: give logs of nccl-tests, such as `dsgd import all_reduce.log -o mine.yaml`",
        options};
    arguments a = {.output = NULL};
    import_work m = {.a = &a};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (a.output == NULL)
        return dsgd_refuse(error, "import: where to? Give -o FILE, such as -o mine.yaml");
    if (!a.force && dsgd_can_read("%s", a.output))
        return dsgd_refuse(error, "-o: %s is there already; --force replaces it", a.output);
    for (size_t i = 0; i < a.paths.n; i++)
        DSGD_TRY(read_path(&m, a.paths.v[i], error));
    DSGD_TRY(open_platform(&m, error));
    DSGD_TRY(pool_logs(&m, error));
    fit(&m);
    return write_platform(&m, error);
}

const dsgd_command dsgd_command_import = {
    .name = "import",
    .usage = "FILE... -o FILE",
    .summary = "makes a platform of logs of nccl-tests",
    .run = import_run,
};
