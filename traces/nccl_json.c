/**
 * @file nccl_json.c
 * JSON of nccl-tests, and of NCCL's Inspector (formats 4.0 to 4.3: an object per collective and
 * rank, whose communicator is told in it or in the last object that tells one).
 */
#include <jansson.h>

#include "traces/nccl_log.h"

static const struct {
    const char *test, *call; /* as nccl-tests, and the Inspector, call it */
    dsgd_nccl_call is;
    bool is_share; /* the Inspector's bytes are those of one rank */
} calls[] = {{"all_reduce_perf", "AllReduce", DSGD_NCCL_ALLREDUCE, false},
             {"all_gather_perf", "AllGather", DSGD_NCCL_SHARES, true},
             {"reduce_scatter_perf", "ReduceScatter", DSGD_NCCL_SHARES, true},
             {"broadcast_perf", "Broadcast", DSGD_NCCL_BROADCAST, false},
             {"reduce_perf", "Reduce", DSGD_NCCL_BROADCAST, false}};
enum { CALLS = sizeof calls / sizeof calls[0] };

static double number(const json_t *object, const char *key)
{
    const double x = json_number_value(json_object_get(object, key));
    return x > 0 && x < 1e18 ? x : 0;
}

/** A text; empty: none. */
static const char *word(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : dsgd_xstrdup(text);
}

static int call_of(const char *name, bool is_test)
{
    const char *const slash = strrchr(name, '/');
    for (int i = 0; i < CALLS; i++)
        if (strcmp(slash == NULL ? name : slash + 1, is_test ? calls[i].test : calls[i].call) == 0)
            return i;
    return -1;
}

/* --- nccl-tests ------------------------------------------------------------------------------- */

/** Whose devices are: one of each process is named, with which others may go (-g, -t). */
static dsgd_nccl_log shape_of(const char *file, const json_t *config)
{
    const json_t *const devices = json_object_get(config, "devices");
    const char **hosts = dsgd_keep(json_array_size(devices) + 1, sizeof *hosts);
    dsgd_nccl_log log = {.file = file};
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *const d = json_array_get(devices, i);
        int64_t k = 0;
        if (number(d, "group") != number(json_array_get(devices, 0), "group"))
            continue; /* groups run beside each other */
        while (k < log.table.nodes && strcmp(hosts[k], word(d, "hostname")) != 0)
            k++;
        hosts[k] = word(d, "hostname");
        log.table.nodes += k == log.table.nodes;
        log.gpu = *word(d, "device_info") == '\0' ? log.gpu : word(d, "device_info");
        log.ranks += (int64_t)fmin(1e6, fmax(number(config, "ngpus"), 1) *
                                            fmax(number(config, "nthreads"), 1));
    }
    return log;
}

static void read_results(const char *file, const json_t *root, dsgd_nccl_logs *logs)
{
    const json_t *const results = json_object_get(root, "results");
    const json_t *const program = json_array_get(json_object_get(root, "args"), 0);
    const int call = json_is_string(program) ? call_of(json_string_value(program), true) : -1;
    dsgd_nccl_log shape = shape_of(file, json_object_get(root, "config"));
    double last = INFINITY, varies = 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *const r = json_array_get(results, i);
        const double bytes = number(r, "size");
        const double out = number(json_object_get(r, "out_of_place"), "time");
        const double in = number(json_object_get(r, "in_place"), "time");
        if (call < 0 || bytes < 1 || (out == 0 && in == 0)) {
            logs->left_out += call < 0 || bytes >= 1;
            continue;
        }
        if (bytes <= last) {
            shape.table.call = calls[call].is;
            dsgd_nccl_logs_add(logs, shape);
        }
        dsgd_nccl_log_add(&logs->v[logs->n - 1], bytes,
                          out > 0 && in > 0 ? (out + in) / 2 : out + in, 1);
        last = bytes;
        /* Standard deviation over mean of -I's times. */
        varies = fmax(varies, number(json_object_get(r, "out_of_place_per_iter"), "cv_pct"));
        varies = fmax(varies, number(json_object_get(r, "in_place_per_iter"), "cv_pct"));
    }
    if (varies > 0)
        logs->said = dsgd_xprintf("times of one size vary by up to %.3g %%", varies);
}

/* --- the Inspector ---------------------------------------------------------------------------- */

/** A rank's part of a collective. */
typedef struct dsgd_inspected {
    const char *file;
    char id[24]; /* of the communicator */
    double line, bytes, us, number, rank, ranks, nodes;
    double waited_us; /* by the rank that came first; below 0: one rank alone is known */
    double times; /* as long as such a collective takes in the median communicator */
    int call;
} dsgd_inspected;

static void read_record(const json_t *record, dsgd_inspected *at, dsgd_nccl_logs *logs)
{
    const json_t *const header = json_object_get(record, "header");
    const json_t *const perf = json_object_get(record, "coll_perf");
    const json_t *const who = header != NULL ? header : record; /* some tools leave it flat */
    if (json_object_get(who, "n_ranks") != NULL) {
        snprintf(at->id, sizeof at->id, "%s", word(who, "id"));
        at->rank = number(who, "rank");
        at->ranks = number(who, "n_ranks");
        at->nodes = number(who, "nnodes");
    }
    at->call = call_of(word(perf, "coll"), false);
    at->number = number(perf, "coll_sn");
    at->us = number(perf, "coll_exec_time_us");
    at->bytes = number(perf, "coll_msg_size_bytes") *
                (at->call >= 0 && calls[at->call].is_share ? at->ranks : 1);
    if (perf == NULL)
        return;
    if (at->call < 0 || at->us == 0 || at->bytes < 1 || at->ranks < 2 || at->ranks > 1e6 ||
        at->rank >= at->ranks ||
        strcmp(word(perf, "coll_timing_source"), "collective_cpu") == 0 /* of the call alone */) {
        logs->left_out++;
        return;
    }
    logs->inspected =
        dsgd_xrealloc(logs->inspected, logs->n_inspected + 1, sizeof *logs->inspected);
    logs->inspected[logs->n_inspected++] = *at;
}

static int compare(double a, double b)
{
    return a < b ? -1 : a > b;
}

/** Those of one collective beside each other, the rank that came last before the others. */
static int by_collective(const void *a, const void *b)
{
    const dsgd_inspected *const x = a, *const y = b;
    const int id = strcmp(x->id, y->id), n = compare(x->number, y->number);
    return id != 0              ? id
           : x->call != y->call ? x->call - y->call
           : n != 0             ? n
                                : compare(x->us, y->us);
}

static int by_rank(const void *a, const void *b)
{
    const dsgd_inspected *const x = a, *const y = b;
    return strcmp(x->id, y->id) != 0 ? strcmp(x->id, y->id) : compare(x->rank, y->rank);
}

/** Those that differ in their communicator alone beside each other, the fastest first. */
static int by_kind(const void *a, const void *b)
{
    const dsgd_inspected *const x = a, *const y = b;
    return x->call != y->call     ? x->call - y->call
           : x->ranks != y->ranks ? compare(x->ranks, y->ranks)
           : x->nodes != y->nodes ? compare(x->nodes, y->nodes)
           : x->bytes != y->bytes ? compare(x->bytes, y->bytes)
                                  : compare(x->us, y->us);
}

static int by_times(const void *a, const void *b)
{
    const dsgd_inspected *const x = a, *const y = b;
    return strcmp(x->id, y->id) != 0 ? strcmp(x->id, y->id) : compare(x->times, y->times);
}

/** Keeps of each collective the rank that came last, whose time has no waiting in it. */
static size_t keep_last(dsgd_inspected *v, size_t n)
{
    size_t kept = 0;
    qsort(v, n, sizeof *v, by_collective);
    for (size_t i = 0, end = 0; i < n; i = end, kept++) {
        for (end = i; end < n && strcmp(v[end].id, v[i].id) == 0 && v[end].call == v[i].call &&
                      v[end].number == v[i].number;)
            end++;
        v[kept] = v[i];
        v[kept].waited_us = end == i + 1 ? -1 : v[end - 1].us - v[i].us;
    }
    return kept;
}

/** Which rank comes last the most often, where others wait for it noticeably. */
static const char *name_last(dsgd_inspected *v, size_t n)
{
    static const double least_wait = 0.1, least_share = 0.1; /* of its time, of all collectives */
    size_t n_compared = 0, n_waited = 0, most = 0;
    const char *worst = "";
    qsort(v, n, sizeof *v, by_rank);
    for (size_t i = 0, end = 0; i < n; i = end) {
        size_t n_late = 0;
        double waited_us = 0;
        for (end = i; end < n && by_rank(&v[end], &v[i]) == 0; end++) {
            const bool is_late = v[end].waited_us > least_wait * v[end].us;
            n_compared += v[end].waited_us >= 0;
            n_late += is_late;
            waited_us += is_late ? v[end].waited_us : 0;
        }
        n_waited += n_late;
        if (n_late > most)
            worst = dsgd_xprintf("rank %.0f of %.0f comes last in %zu, for which others wait %.3g "
                                 "us in the mean",
                                 v[i].rank, v[i].ranks, n_late, waited_us / (double)n_late);
        most = n_late > most ? n_late : most;
    }
    if (n_compared == 0)
        return "a file of one rank alone: its waiting for the others is in the times";
    return most < n_waited - most || (double)most < least_share * (double)n_compared
               ? dsgd_xprintf("to %zu collectives no rank comes last the most often", n_compared)
               : dsgd_xprintf("of %zu collectives %s", n_compared, worst);
}

/** The communicator of which three of four collectives take longest, once all have come, of three
 * or more alike. */
static const char *name_slow(dsgd_inspected *v, size_t n)
{
    double most = 1.2;
    size_t n_groups = 0;
    const char *said = "";
    qsort(v, n, sizeof *v, by_kind);
    for (size_t i = 0, end = 0; i < n; i = end) {
        for (end = i; end < n && v[end].call == v[i].call && v[end].ranks == v[i].ranks &&
                      v[end].nodes == v[i].nodes && v[end].bytes == v[i].bytes;)
            end++;
        for (size_t k = i; k < end; k++) /* of one rank alone the waiting is in it */
            v[k].times = v[k].waited_us < 0 ? 0 : v[k].us / v[i + (end - i) / 2].us;
    }
    qsort(v, n, sizeof *v, by_times);
    for (size_t i = 0, end = 0; i < n; i = end, n_groups++) {
        for (end = i; end < n && strcmp(v[end].id, v[i].id) == 0;)
            end++;
        if (v[i + (end - i) / 4].times > most)
            said = dsgd_xprintf(
                "; the links of communicator %s (%.0f ranks, one of %s) are slow: once all have "
                "come, it takes %.3g times as long as the median of such",
                v[i].id, v[i].ranks, v[i].file, v[i + (end - i) / 2].times);
        most = fmax(most, v[i + (end - i) / 4].times);
    }
    return n_groups > 2 ? said : "";
}

void dsgd_nccl_logs_end(dsgd_nccl_logs *logs)
{
    dsgd_inspected *const v = logs->inspected;
    if (logs->n_inspected == 0)
        return;
    const size_t n = keep_last(v, logs->n_inspected), before = logs->n;
    logs->said = dsgd_xprintf("%s%s", name_last(v, n), name_slow(v, n));
    qsort(v, n, sizeof *v, by_collective);
    for (size_t i = 0; i < n; i++) {
        const dsgd_nccl_table of = {.call = calls[v[i].call].is, .nodes = (int64_t)v[i].nodes};
        size_t k = before;
        while (k < logs->n &&
               (logs->v[k].table.call != of.call || logs->v[k].table.nodes != of.nodes ||
                logs->v[k].ranks != (int64_t)v[i].ranks))
            k++;
        if (k == logs->n)
            dsgd_nccl_logs_add(
                logs,
                (dsgd_nccl_log){.file = v[i].file, .ranks = (int64_t)v[i].ranks, .table = of});
        dsgd_nccl_log_add(&logs->v[k], v[i].bytes, v[i].us, v[i].line);
    }
    free(v);
    logs->inspected = NULL;
    logs->n_inspected = 0;
}

/* --- both ------------------------------------------------------------------------------------- */

bool dsgd_nccl_json_is(const char *head)
{
    return head[strspn(head, " \t\r\n\xef\xbb\xbf")] == '{' &&
           (strstr(head, "\"coll_perf\"") != NULL || strstr(head, "\"dump_stats\"") != NULL ||
            (strstr(head, "\"args\"") != NULL && strstr(head, "_perf\"") != NULL));
}

dsgd_status dsgd_nccl_json_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                                dsgd_error *error)
{
    const char *const first = text + strspn(text, " \t\r\n");
    dsgd_inspected at = {.file = file, .line = 1};
    for (const char *c = text; c < first; c++)
        at.line += *c == '\n';
    for (const char *c = first, *end = NULL; *c != '\0'; c = end) {
        void *const mark = dsgd_mark();
        json_error_t why;
        const json_t *const object = json_loads(c, JSON_DISABLE_EOF_CHECK, &why);
        if (object == NULL && c == first)
            return dsgd_fail(error, DSGD_EIO, "%s:%.0f: the JSON is broken, or ends early: %s",
                             file, at.line + why.line - 1, why.text);
        end = object != NULL ? c + why.position : c + strcspn(c, "\n");
        logs->left_out += object == NULL;
        if (json_object_get(object, "results") != NULL) {
            read_results(file, object, logs);
        } else {
            read_record(object, &at, logs);
            dsgd_drop(mark);
        }
        for (end += strspn(end, " \t\r\n,"); c < end; c++)
            at.line += *c == '\n';
    }
    return DSGD_OK;
}
