/**
 * @file failures.c
 * Generates the random failures of each unit. Times between failures have a Weibull distribution,
 * and repair times are fixed or exponential. A second list contains the failures from the
 * configuration's events and from a trace file.
 */
#include "traces/failures.h"

#include "base/csv.h"

static const char *const policies[] = {"own", "restart", "quorum", "none", NULL};
const char *const dsgd_failures_pers[] = {"worker", "island", "group", NULL};
static const char *const unit_pers[] = {"worker", "island", "group", "host", NULL};
static const char *const all_hosts[] = {"all", NULL};
static const char *const repairs[] = {"never", "as-all", NULL};
static const char *const never[] = {"never", NULL};
static const char *const every_words[] = {"daly", "young", "never", NULL};

static const dsgd_option event_options[] = {
    DSGD_OPTION_LONG(dsgd_failure_event, worker, 0, 0, 1 << 20, NULL, "rank of the failing worker",
                     .required = true),
    DSGD_OPTION_LONG(dsgd_failure_event, host, -1, 0, 1 << 20, NULL,
                     "failing host of a worker with several hosts; all: the whole worker",
                     .words = all_hosts),
    DSGD_OPTION_AS("at", DOUBLE, dsgd_failure_event, at_s, "virtual time of the failure",
                   .max = 1e12, .unit = "s"),
    DSGD_OPTION_AS("repair", DOUBLE, dsgd_failure_event, repair_s,
                   "time from the failure until the repair; as-all: failures.repair",
                   .init = DSGD_REPAIR_AS_ALL, .max = 1e12, .unit = "s", .words = repairs),
    DSGD_OPTION_END,
};

static const char *const ever[] = {"ever", NULL};
static const char *const all_else[] = {"all", NULL};

static const dsgd_option link_options[] = {
    DSGD_OPTION_CHOICE(dsgd_link_event, per, dsgd_failures_pers,
                       "place of the slow link. worker: NICs of the worker's hosts; island: NICs "
                       "of a node; group: links from a group or region to all others"),
    DSGD_OPTION_LONG(dsgd_link_event, which, 0, 0, 1 << 20, NULL,
                     "rank, or number of the node, group or region, from 0", .required = true),
    DSGD_OPTION_LONG(dsgd_link_event, to, -1, 0, 1 << 20, NULL,
                     "number of the other group or region, if only the links to that one are slow",
                     .words = all_else),
    DSGD_OPTION_AS("at", DOUBLE, dsgd_link_event, at_s, "virtual time of the start", .max = 1e12,
                   .unit = "s"),
    DSGD_OPTION_AS("mtbf", DOUBLE, dsgd_link_event, mtbf_s,
                   "mean time from the end of a slow period to the start of the next, "
                   "exponentially distributed (instead of at)",
                   .max = 1e15, .unit = "s"),
    DSGD_OPTION_AS("for", DOUBLE, dsgd_link_event, for_s, "duration of the slow period", .init = -1,
                   .max = 1e12, .unit = "s", .words = ever),
    DSGD_OPTION_DOUBLE(dsgd_link_event, factor, 0, 0, 1, NULL,
                       "fraction of the link's bandwidth that remains; 0: a network partition, "
                       "during which messages wait"),
    DSGD_OPTION_END,
};

static const dsgd_option checkpoint_options[] = {
    DSGD_OPTION_LONG(
        dsgd_checkpoint, every, DSGD_EVERY_DALY, 1, 1e12, "steps",
        "steps between checkpoints. daly, young: the interval that minimises the lost time, from "
        "mtbf and the time of a checkpoint; never: no checkpoints, restart from the first step",
        .words = every_words),
    DSGD_OPTION_AS(
        "interval", DOUBLE, dsgd_checkpoint, interval_s,
        "training time between checkpoints, rounded up to whole steps (instead of every)",
        .max = 1e12, .unit = "s"),
    DSGD_OPTION_DOUBLE(
        dsgd_checkpoint, seconds, 0, 0, 1e12, "s",
        "fixed time to write or read a checkpoint, added to the transfer time of its bytes"),
    DSGD_OPTION_DOUBLE(
        dsgd_checkpoint, bytes, 0, 0, 1e18, "bytes",
        "size of a checkpoint, written once for all workers; 0: the workload's bytes"),
    DSGD_OPTION_AS("bandwidth", DOUBLE, dsgd_checkpoint, bytes_per_s,
                   "bandwidth of the storage; 0: the transfer takes no time", .max = 1e18,
                   .unit = "bytes/s"),
    DSGD_OPTION_BOOL(dsgd_checkpoint, blocking, true,
                     "true: all workers wait until the checkpoint is written; false: writing "
                     "overlaps with training, and the checkpoint can be used once it is complete"),
    DSGD_OPTION_END,
};

const dsgd_option dsgd_failures_options[] = {
    DSGD_OPTION_AS(
        "mtbf", DOUBLE, dsgd_failures_config, mtbf_s,
        "mean time from a repair to the next failure of each unit (see per); 0: no random failures",
        .max = 1e15, .unit = "s"),
    DSGD_OPTION_DOUBLE(dsgd_failures_config, shape, 1, 0.1, 10, NULL,
                       "shape of the Weibull distribution of these times. 1: exponential; below 1: "
                       "more failures soon after the start and after a repair"),
    DSGD_OPTION_CHOICE(
        dsgd_failures_config, per, unit_pers,
        "unit that fails as a whole: a worker, a node (island), a group, or a host. A worker with "
        "several hosts fails if one of them fails, except with swarm, whose other peers continue"),
    DSGD_OPTION_AS(
        "repair", DOUBLE, dsgd_failures_config, repair_s,
        "time from a failure until the workers are repaired; 0: replacements take over at once",
        .max = 1e15, .unit = "s", .words = never),
    DSGD_OPTION_BOOL(
        dsgd_failures_config, repair_varies, false,
        "true: repair is the mean of an exponential distribution; false: repair is fixed"),
    DSGD_OPTION_STRUCTS(dsgd_failures_config, events, dsgd_failure_event, event_options,
                        "failures at given times, in addition to the random ones"),
    DSGD_OPTION_STRING(dsgd_failures_config, trace,
                       "CSV file of failures with the columns worker, time_s and event (down or "
                       "up). Rows of workers that a run lacks are ignored",
                       .unit = "path"),
    DSGD_OPTION_STRUCTS(dsgd_failures_config, links, dsgd_link_event, link_options,
                        "links with reduced or no bandwidth for a while"),
    DSGD_OPTION_CHOICE(
        dsgd_failures_config, policy, policies,
        "response to a failure. own: the algorithm's method (dsgd describe algorithm); restart: "
        "all workers restart from the last checkpoint; quorum: the running workers continue, and a "
        "repaired one copies their state, if the algorithm supports this; none: no recovery, "
        "workers that wait for a failed one hang"),
    DSGD_OPTION_AS("notice", DOUBLE, dsgd_failures_config, notice_s,
                   "warning time before a failure, as for spot instances. The failure then needs "
                   "no detection, and policy restart writes a checkpoint at the end of the current "
                   "step if it is complete before the failure",
                   .max = 1e12, .unit = "s"),
    DSGD_OPTION_AS("detect", DOUBLE, dsgd_failures_config, detect_s,
                   "time from a failure until the other workers detect it", .init = 10, .max = 1e12,
                   .unit = "s"),
    DSGD_OPTION_DOUBLE(dsgd_failures_config, detect_mads, -1, 0, 1000, NULL,
                       "adaptive detection (policy quorum): a failure is detected when a step "
                       "takes longer than the median of the last 16 steps plus this number of "
                       "median absolute deviations, or after detect",
                       .words = never),
    DSGD_OPTION_AS(
        "restart", DOUBLE, dsgd_failures_config, restart_s,
        "time to start processes and create communicators, before state is read or copied",
        .max = 1e12, .unit = "s"),
    DSGD_OPTION_AS("remake", DOUBLE, dsgd_failures_config, remake_s,
                   "time to create communicators again after detection and when a worker rejoins "
                   "(policy quorum)",
                   .max = 1e12, .unit = "s"),
    DSGD_OPTION_STRUCT(dsgd_failures_config, checkpoint, checkpoint_options,
                       "checkpoints that restarts use (dsgd describe failures.checkpoint)",
                       .refines = true),
    DSGD_OPTION_END,
};

struct dsgd_failures {
    const dsgd_failures_config *config;
    uint64_t seed;
    dsgd_failure_units units;
    int n_all; /* number of units with random failures */
    int n_units; /* number of units with random failures that this list contains */
    dsgd_failure *drawn; /* next failure of each unit, as a heap with the earliest failure first;
                          * n_units entries */
    uint32_t *n_drawn; /* number of random failures of each unit so far; n_units entries */
    size_t n_listed, n_taken;
    dsgd_failure *listed; /* failures from events and from the trace, in order of time; n_listed
                           * entries */
};

bool dsgd_failures_any(const dsgd_failures_config *config)
{
    return config->mtbf_s > 0 || config->events.n > 0 || config->trace != NULL;
}

/* --- random failures -------------------------------------------------------------------------- */

/** Replaces *next by the next failure of the same unit, and draws its times. */
static void draw_next(dsgd_failures *f, dsgd_failure *next)
{
    const dsgd_failures_config *const config = f->config;
    const uint32_t unit = (uint32_t)next->unit;
    dsgd_draw at = {f->seed, DSGD_DRAW_FAILURES, unit, f->n_drawn[unit]++, 0};
    const double scale_s = config->mtbf_s / tgamma(1 + 1 / config->shape);
    next->down_s = next->up_s + scale_s * pow(-log(dsgd_draw_uniform(at)), 1 / config->shape);
    at.index = 1;
    next->up_s = config->repair_s < 0
                     ? INFINITY
                     : next->down_s + config->repair_s *
                                          (config->repair_varies ? -log(dsgd_draw_uniform(at)) : 1);
}

static bool is_before(const dsgd_failure *a, const dsgd_failure *b)
{
    return a->down_s != b->down_s ? a->down_s < b->down_s : a->unit < b->unit;
}

/** Moves element i of the heap down until the heap is in order again. */
static void sink(dsgd_failures *f, int i)
{
    const dsgd_failure moved = f->drawn[i];
    for (int child = 2 * i + 1; child < f->n_units; child = 2 * i + 1) {
        child += child + 1 < f->n_units && is_before(&f->drawn[child + 1], &f->drawn[child]);
        if (!is_before(&f->drawn[child], &moved))
            break;
        f->drawn[i] = f->drawn[child];
        i = child;
    }
    f->drawn[i] = moved;
}

/**
 * Returns true if the list contains failures of single hosts (if @p of_hosts is true) or of whole
 * workers (if @p of_hosts is false).
 */
static bool has(const dsgd_failures *f, bool of_hosts)
{
    return f->units.which == DSGD_ALL_FAIL || of_hosts == (f->units.which == DSGD_HOSTS_FAIL);
}

static void open_drawn(dsgd_failures *f)
{
    for (int i = 0; i < f->units.n_workers * f->units.n_each && f->config->mtbf_s > 0; i++)
        f->n_all = f->units.of[i] >= f->n_all ? f->units.of[i] + 1 : f->n_all;
    f->n_units = has(f, f->config->per != DSGD_PER_WORKER) ? f->n_all : 0;
    f->drawn = dsgd_xcalloc((size_t)f->n_units + 1, sizeof *f->drawn);
    f->n_drawn = dsgd_xcalloc((size_t)f->n_units + 1, sizeof *f->n_drawn);
    for (int u = 0; u < f->n_units; u++) {
        f->drawn[u] = (dsgd_failure){.worker = -1, .unit = u};
        draw_next(f, &f->drawn[u]);
    }
    for (int u = f->n_units / 2 - 1; u >= 0; u--)
        sink(f, u);
}

/* --- failures from events and traces ---------------------------------------------------------- */

static void list(dsgd_failures *f, dsgd_failure failure)
{
    f->listed = dsgd_xrealloc(f->listed, f->n_listed + 1, sizeof *f->listed);
    f->listed[f->n_listed++] = failure;
}

void dsgd_failures_add(dsgd_failures *f, dsgd_failure failure)
{
    size_t i = f->n_listed;
    list(f, failure);
    for (; i > f->n_taken && f->listed[i - 1].down_s > failure.down_s; i--)
        f->listed[i] = f->listed[i - 1];
    f->listed[i] = failure;
}

static void list_events(dsgd_failures *f)
{
    const dsgd_failure_event *const events = f->config->events.v;
    for (size_t i = 0; i < f->config->events.n; i++) {
        const bool as_all = events[i].repair_s == DSGD_REPAIR_AS_ALL;
        const double repair_s = as_all ? f->config->repair_s : events[i].repair_s;
        if (!has(f, events[i].host >= 0))
            continue;
        const double up_s = repair_s < 0 ? INFINITY : events[i].at_s + repair_s;
        list(f, (dsgd_failure){events[i].at_s, up_s, (int)events[i].worker, (int)events[i].host});
    }
}

/**
 * Reads row @p i of a trace. A row "down" starts a failure. A row "up" ends the last failure of its
 * worker. The array open contains the number of each worker's last failure.
 */
static dsgd_status list_row(dsgd_failures *f, const dsgd_csv *csv, size_t i, const size_t column[3],
                            size_t *open, dsgd_error *error)
{
    const double worker = dsgd_csv_value(csv, i, column[0]);
    const double at_s = dsgd_csv_value(csv, i, column[1]);
    const char *const event = dsgd_csv_field(csv, i, column[2]);
    const bool down = strcmp(event, "down") == 0;
    if (!(worker >= 0) || worker != floor(worker) || !(at_s >= 0 && at_s <= 1e12) ||
        (!down && strcmp(event, "up") != 0))
        return dsgd_fail(error, DSGD_EIO,
                         "%s:%zu: expected a rank, a time from 0 to 1e12 s, and down or up, got "
                         "\"%s\", \"%s\", \"%s\"",
                         csv->path, csv->lines[i + 1], dsgd_csv_field(csv, i, column[0]),
                         dsgd_csv_field(csv, i, column[1]), event);
    if (worker >= f->units.n_workers)
        return DSGD_OK;
    size_t *const last = &open[(size_t)worker];
    if (down == (*last > 0) || (!down && at_s < f->listed[*last - 1].down_s))
        return dsgd_fail(error, DSGD_EIO,
                         "%s:%zu: worker %.0f cannot go %s at %g s. Its events must alternate "
                         "between down and up, "
                         "from down on, in order of time",
                         csv->path, csv->lines[i + 1], worker, event, at_s);
    if (down)
        list(f, (dsgd_failure){at_s, INFINITY, (int)worker, -1});
    else
        f->listed[*last - 1].up_s = at_s;
    *last = down ? f->n_listed : 0;
    return DSGD_OK;
}

static dsgd_status list_trace(dsgd_failures *f, dsgd_error *error)
{
    static const char *const names[3] = {"worker", "time_s", "event"};
    dsgd_csv csv;
    size_t column[3];
    void *const mark = dsgd_mark();
    dsgd_status status = dsgd_csv_read(&csv, error, "%s", f->config->trace);
    for (size_t k = 0; k < 3 && status == DSGD_OK; k++)
        status = dsgd_csv_need(&csv, names[k], &column[k], error);
    size_t *const open = dsgd_xcalloc((size_t)f->units.n_workers, sizeof *open);
    for (size_t i = 0; status == DSGD_OK && i < csv.n_rows; i++)
        status = list_row(f, &csv, i, column, open, error);
    free(open);
    dsgd_drop(mark);
    return status;
}

static int earliest_first(const void *a, const void *b)
{
    const dsgd_failure *const x = a, *const y = b;
    return x->down_s != y->down_s   ? (x->down_s < y->down_s ? -1 : 1)
           : x->worker != y->worker ? x->worker - y->worker
                                    : x->unit - y->unit;
}

dsgd_status dsgd_failures_open(const dsgd_failures_config *config, uint64_t seed,
                               dsgd_failure_units units, dsgd_failures **failures,
                               dsgd_error *error)
{
    dsgd_failures *const f = dsgd_xcalloc(1, sizeof *f);
    *f = (dsgd_failures){.config = config, .seed = seed, .units = units};
    list_events(f);
    const bool reads = config->trace != NULL && has(f, false);
    const dsgd_status status = reads ? list_trace(f, error) : DSGD_OK;
    if (f->n_listed > 0)
        qsort(f->listed, f->n_listed, sizeof *f->listed, earliest_first);
    open_drawn(f);
    *failures = f;
    if (status != DSGD_OK) {
        dsgd_failures_close(f);
        *failures = NULL;
    }
    return status;
}

void dsgd_failures_close(dsgd_failures *f)
{
    if (f == NULL)
        return;
    free(f->units.of);
    free(f->drawn);
    free(f->n_drawn);
    free(f->listed);
    free(f);
}

dsgd_failure dsgd_failures_next(dsgd_failures *f)
{
    const bool is_drawn = f->n_units > 0;
    if (f->n_taken < f->n_listed &&
        (!is_drawn || f->listed[f->n_taken].down_s <= f->drawn[0].down_s))
        return f->listed[f->n_taken++];
    if (!is_drawn)
        return (dsgd_failure){INFINITY, INFINITY, -1, -1};
    const dsgd_failure next = f->drawn[0];
    draw_next(f, &f->drawn[0]);
    sink(f, 0);
    return next;
}

bool dsgd_failure_is_of_host(const dsgd_failures *f, const dsgd_failure *failure, int worker,
                             int host)
{
    return failure->worker < 0
               ? f->units.of[worker * f->units.n_each + host] == failure->unit
               : failure->worker == worker && (failure->unit < 0 || failure->unit == host);
}

bool dsgd_failure_is_of(const dsgd_failures *f, const dsgd_failure *failure, int worker)
{
    bool is = failure->worker == worker;
    for (int i = 0; failure->worker < 0 && i < f->units.n_each && !is; i++)
        is = dsgd_failure_is_of_host(f, failure, worker, i);
    return is;
}

double dsgd_link_event_s(const dsgd_failures_config *config, uint64_t seed, size_t i, uint32_t n,
                         double since_s)
{
    /* first number for random slow periods of links; it exceeds all numbers of units */
    enum { BEHIND_UNITS = 1 << 24 };
    const dsgd_link_event *const e = (const dsgd_link_event *)config->links.v + i;
    if (e->mtbf_s <= 0)
        return n == 0 ? e->at_s : INFINITY;
    const dsgd_draw at = {seed, DSGD_DRAW_FAILURES, BEHIND_UNITS + (uint32_t)i, n, 0};
    return since_s - e->mtbf_s * log(dsgd_draw_uniform(at));
}

/* --- checkpoints ------------------------------------------------------------------------------ */

double dsgd_failures_mtbf_s(const dsgd_failures *f)
{
    return f->n_all > 0 ? f->config->mtbf_s / f->n_all : NAN;
}

double dsgd_checkpoint_cost_s(const dsgd_checkpoint *c, double model_bytes)
{
    const double bytes = c->bytes > 0 ? c->bytes : model_bytes;
    return c->seconds + (c->bytes_per_s > 0 ? bytes / c->bytes_per_s : 0);
}

double dsgd_checkpoint_interval_s(int64_t rule, double cost_s, double mtbf_s)
{
    if (cost_s <= 0)
        return 0;
    const double young_s = sqrt(2 * cost_s * mtbf_s);
    const double ratio = cost_s / (2 * mtbf_s);
    if (rule == DSGD_EVERY_YOUNG)
        return young_s;
    return ratio >= 1 ? mtbf_s : young_s * (1 + sqrt(ratio) / 3 + ratio / 9) - cost_s;
}
