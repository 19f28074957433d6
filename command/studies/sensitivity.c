/**
 * @file sensitivity.c
 * One parameter at a time, down and up: each run again with every number of its platform, workload and
 * encoding smaller and larger, and with other choices of its exchange; and what changes at each place of
 * the frame, for each series.
 */
#include "command/studies/sensitivity.h"

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/frame.h"
#include "command/analysis/run_table.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/runs/swept.h"
#include "models/encodings/params.h"

/** Numbers that are known, or whose change changes nothing. Whole numbers are counts and shapes. */
static const char *const exact[] = {
    "reference_speed", /* says on which host `step` was measured; it is `step` that may be wrong */
    "bytes",
    "elements",
    "uses",
    "sparse", /* of the network, which can be counted */
    "size",
    "up",
    "cables",
    "list", /* shapes */
    "eager_limit",
    "doubling_limit", /* the library's settings */
    "bucket",
    "first_bucket",
    "fusion",
    "cycle",
    "busy_power",
    "idle_power", /* decide no time */
    "samples", /* the unit of the throughput, the same for all algorithms */
    NULL};

/** What a run's numbers and choices are looked for in. */
static const dsgd_option parts[] = {
    DSGD_OPTION_RECORD(dsgd_planned_run, platform, dsgd_platform_options, NULL),
    DSGD_OPTION_RECORD(dsgd_planned_run, workload, dsgd_workload_options, NULL),
    DSGD_OPTION_AS("exchange", RECORD, dsgd_planned_run, config.exchange, NULL,
                   .fields = dsgd_exchange_options),
    DSGD_OPTION_END,
};

/* --- numbers ------------------------------------------------------------------------------------ */

enum { MOST_PATH = 256 };

/** Looks for the numbers at a path, such as platform.nccl.latency, or for all paths. */
typedef struct search {
    const char *path; /* NULL: all, which are added to names */
    dsgd_names *names;
    dsgd_numbers at; /* of the path; n = 0: it is not there */
    const dsgd_option *option;
} search;

/** What lies behind a pointer becomes the run's own. */
static void *copied(const void *from, size_t size)
{
    void *const copy = dsgd_keep(1, size + 1);
    return size == 0 ? copy : memcpy(copy, from, size);
}

static void look(search *s, const dsgd_option *options, char *params, const char *above);

/** Into the @p n structs of a list, or the one of a pick (@p o NULL: picks have options of their own). */
static void look_into(search *s, const dsgd_option *o, char *structs, size_t n, const char *name)
{
    const bool picks = o->kind != DSGD_RECORDS;
    for (size_t k = 0; k < n; k++) {
        char path[MOST_PATH];
        snprintf(path, sizeof path, o->kind == DSGD_PICK ? "%s" : "%s.%zu", name, k);
        dsgd_pick *const pick = (dsgd_pick *)structs + k;
        if (picks && (pick->about == NULL || pick->about->options == NULL))
            continue;
        if (picks)
            pick->params = copied(pick->params, pick->about->params_size);
        look(s, picks ? pick->about->options : o->fields,
             picks ? pick->params : structs + k * o->record_size, path);
    }
}

static void take_numbers(search *s, const dsgd_option *o, const char *name, dsgd_numbers at)
{
    if (s->path == NULL)
        dsgd_names_add(s->names, dsgd_xstrdup(name));
    else if (strcmp(s->path, name) == 0) {
        s->at = at;
        s->option = o;
    }
}

static void look(search *s, const dsgd_option *options, char *params, const char *above)
{
    for (const dsgd_option *o = options; o->name != NULL; o++) {
        char *const field = params + o->offset, name[MOST_PATH];
        dsgd_records *const list = (dsgd_records *)field;
        snprintf(name, sizeof name, "%s%s%s", above, *above == '\0' ? "" : ".", o->name);
        if (dsgd_find_word(exact, o->name) >= 0 ||
            (s->path != NULL && strncmp(s->path, name, strlen(name)) != 0))
            continue;
        if (o->kind == DSGD_DOUBLE) {
            take_numbers(s, o, name, (dsgd_numbers){1, (double *)field});
        } else if (o->kind == DSGD_NUMBERS || o->kind == DSGD_TABLE) {
            double **const v =
                o->kind == DSGD_TABLE ? &((dsgd_table *)field)->y : &((dsgd_numbers *)field)->v;
            *v = copied(*v, list->n * sizeof **v);
            take_numbers(s, o, name, (dsgd_numbers){list->n, *v});
        } else if (o->kind == DSGD_RECORD) {
            look(s, o->fields, field, name);
        } else if (o->kind == DSGD_PICK) {
            look_into(s, o, field, 1, name);
        } else if (o->kind == DSGD_PICKS || o->kind == DSGD_RECORDS) {
            list->v = copied(
                list->v, list->n * (o->kind == DSGD_PICKS ? sizeof(dsgd_pick) : o->record_size));
            look_into(s, o, list->v, list->n, name);
        }
    }
}

/* --- variations --------------------------------------------------------------------------------- */

/** What decides only with something else, by the beginning of its path. */
static bool is_used(const dsgd_planned_run *run, const char *path)
{
    const dsgd_platform *const p = &run->platform;
    const dsgd_exchange_config *const e = &run->config.exchange;
    const bool nccl = p->library != DSGD_LIBRARY_MPI || e->collective == DSGD_COLLECTIVE_NCCL ||
                      e->partial_collective == DSGD_PARTIAL_COLLECTIVE + DSGD_COLLECTIVE_NCCL;
    const struct {
        const char *prefix;
        bool is;
    } uses[] = {{"platform.host_", p->topology != DSGD_TOPOLOGY_XML}, /* has its own links */
                {"platform.group_", p->topology == DSGD_TOPOLOGY_GROUPS},
                {"platform.nccl.", nccl},
                {"platform.encoding", dsgd_run_encodes(&run->config)},
                {"workload.inherent.", run->config.inherent}};
    for (size_t k = 0; k < sizeof uses / sizeof uses[0]; k++)
        if (strncmp(path, uses[k].prefix, strlen(uses[k].prefix)) == 0)
            return uses[k].is;
    return true;
}

/** Adds a run that varies run @p i, unless nothing can run so. */
static void add_run(dsgd_experiment *experiment, size_t i, dsgd_planned_run *run,
                    const char *parameter, double factor)
{
    run->unchanged = i;
    run->parameter = parameter;
    run->factor = factor;
    run->config.platform = &run->platform;
    run->config.workload = &run->workload;
    if (dsgd_run_check(&run->config, NULL) != DSGD_OK)
        return;
    experiment->runs =
        dsgd_keep_more(experiment->runs, experiment->n_runs + 1, sizeof *experiment->runs);
    experiment->runs[experiment->n_runs++] = *run;
}

/**
 * Adds run @p i with the numbers at a path times @p factor (NAN: not), if that makes a difference. Where a word
 * stands for an encoder's speed nobody measured it, and it may be ten times as much.
 */
static void vary_number(dsgd_experiment *experiment, size_t i, const char *path, int sign,
                        double factor)
{
    dsgd_planned_run run = experiment->runs[i];
    double *const encoding = &run.platform.encoding_s_per_byte;
    search s = {.path = path};
    double largest = 0;
    if (strcmp(path, "platform.encoding") == 0 && (*encoding < 0 || isnan(factor)))
        factor = sign < 0 ? 0.1 : 10;
    *encoding = dsgd_platform_encoding_s_per_byte(&run.platform);
    look(&s, parts, (char *)&run, "");
    for (size_t k = 0; k < s.at.n && !isnan(factor); k++) {
        const double old = s.at.v[k];
        if (!(old > 0))
            continue;
        s.at.v[k] = fmax(s.option->min, fmin(s.option->max, factor * old));
        largest = fmax(largest, s.at.v[k] == factor * old ? factor : s.at.v[k] / old);
    }
    if (s.at.v != encoding)
        *encoding = experiment->runs[i].platform.encoding_s_per_byte;
    if (largest > 0 && largest != 1 && is_used(&run, path))
        add_run(experiment, i, &run, path, largest);
}

static size_t count_pieces(const dsgd_planned_run *run)
{
    dsgd_run_config config = run->config;
    double *bytes = NULL;
    config.workload = &run->workload;
    const size_t n = dsgd_pieces_of(&config, &bytes);
    free(bytes);
    return n;
}

/**
 * All other words of a choice of exchanges, and of whole numbers with words (pieces) the least. What follows
 * another choice is not varied by itself, nor how NCCL sums, which has no other way.
 */
static void vary_choice(dsgd_experiment *experiment, const dsgd_option *o)
{
    const bool is_word = o->kind == DSGD_CHOICE;
    long n = 0;
    while (o->words[n] != NULL)
        n++;
    for (long w = 0; w < n + !is_word; w++)
        for (size_t i = 0; i < experiment->n_unchanged; i++) {
            dsgd_planned_run run = experiment->runs[i];
            const double value = (double)(is_word ? w : w < n ? -1 - w : (long)o->min);
            const dsgd_exchange_config *const e = &run.config.exchange;
            const bool follows = o->offset == offsetof(dsgd_exchange_config, partial_collective)
                                     ? e->partial_collective == DSGD_PARTIAL_AS_COLLECTIVE
                                     : is_word && e->collective == DSGD_COLLECTIVE_AUTO &&
                                           run.platform.library != DSGD_LIBRARY_MPI;
            dsgd_option_put(o, &run.config.exchange, value);
            if (!is_word && value != DSGD_PIECES_BUCKETS) /* which would be refused with theirs */
                run.config.exchange.bucket_bytes = DSGD_DEFAULT_BUCKET_BYTES;
            if (!follows &&
                (is_word ? memcmp(&run.config.exchange, &experiment->runs[i].config.exchange,
                                  sizeof run.config.exchange) != 0
                         : count_pieces(&run) != count_pieces(&experiment->runs[i])))
                add_run(experiment, i, &run,
                        dsgd_xprintf("exchange.%s=%s", o->name, dsgd_option_text(o, value)), NAN);
        }
}

static dsgd_status check_length(const dsgd_experiment *experiment, dsgd_error *error)
{
    return experiment->n_runs <= DSGD_MOST_RUNS
               ? DSGD_OK
               : dsgd_refuse(error,
                             "%s: with their variations there are more than %d runs; shorten a "
                             "list or a sweep",
                             experiment->path, DSGD_MOST_RUNS);
}

/**
 * Appends, for each number of platform, workload and encoding that a run uses, the run with that number
 * times 1 - percent / 100 and times 1 + percent / 100 (NAN: none of these), clipped to the limits of its
 * option; a guess times 0.1 and 10; and the run with each other choice of its exchange. All runs get the columns
 * `parameter` and `factor`, empty in the unchanged ones; a choice has no factor.
 */
static dsgd_status vary(dsgd_experiment *experiment, double percent, dsgd_error *error)
{
    dsgd_names paths = {.n = 0};
    search all = {.names = &paths};
    for (size_t i = 0; i < experiment->n_unchanged; i++) {
        dsgd_planned_run run = experiment->runs[i];
        look(&all, parts, (char *)&run, "");
    }
    for (size_t k = 0; k < paths.n; k++) {
        for (int sign = -1; sign <= 1; sign += 2)
            for (size_t i = 0; i < experiment->n_unchanged; i++)
                vary_number(experiment, i, paths.v[k], sign, 1 + sign * percent / 100);
        DSGD_TRY(check_length(experiment, error));
    }
    for (const dsgd_option *o = dsgd_exchange_options; o->name != NULL; o++)
        if (o->words != NULL)
            vary_choice(experiment, o);
    DSGD_TRY(check_length(experiment, error));
    static const char *const names[] = {"parameter", "factor"};
    const size_t n = experiment->n_columns;
    dsgd_experiment_add_columns(experiment, names, 2);
    for (size_t i = experiment->n_unchanged; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        run->swept[n] = run->parameter;
        run->swept[n + 1] = isnan(run->factor) ? NULL : dsgd_xprintf("%.6g", run->factor);
    }
    return dsgd_experiment_settle(experiment, experiment->runs[0].config.numerics, error);
}

dsgd_status dsgd_sensitivity_open(const dsgd_request *request, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error)
{
    const char *const sensitivity = request->sensitivity;
    if (sensitivity != NULL && strcmp(sensitivity, "choices") == 0)
        *percent = NAN;
    else if (sensitivity != NULL &&
             (!dsgd_parse_number(sensitivity, NULL, percent) || !(*percent > 0 && *percent < 100)))
        return dsgd_refuse(error,
                           "--sensitivity=%s: a number of per cent above 0 and below 100 is "
                           "expected, or choices",
                           sensitivity);
    if (request->baseline != NULL && sensitivity == NULL)
        return dsgd_refuse(error,
                           "--baseline %s: it goes with --sensitivity; `dsgd compare` has its own",
                           request->baseline);
    DSGD_TRY(dsgd_plugins_load(request->plugins, error));
    DSGD_TRY(dsgd_experiment_open(request->path, request->sets->v, request->sets->n,
                                  (dsgd_numerics)request->numerics, experiment, error));
    if (sensitivity == NULL)
        return DSGD_OK;
    const char **const names = dsgd_keep(experiment->n_runs + 1, sizeof *names);
    for (size_t i = 0; i < experiment->n_runs; i++)
        names[i] = experiment->runs[i].label;
    if (request->baseline != NULL && dsgd_find_word(names, request->baseline) < 0)
        return dsgd_refuse(
            error, "--baseline %s: %s has no such algorithm%s; `dsgd check` shows them",
            request->baseline, experiment->path, dsgd_hint(request->baseline, names));
    return vary(experiment, *percent, error);
}

/* --- their throughputs ------------------------------------------------------------------------ */

typedef struct analysis {
    dsgd_csv runs;
    dsgd_frame frame;
    double *throughput; /* by row, samples/s; NAN: does not count */
    /*
     * [variations][places][series]; NULL: there is none. Points are planned: their runs may have no results. A
     * series that does not use what is varied is there unchanged.
     */
    const dsgd_frame_point **points;
    const dsgd_frame_point **of; /* [variations]: one of its points */
    double percent;
} analysis;

static const dsgd_frame_point **point_at(const analysis *a, size_t v, size_t place, size_t series)
{
    return &a->points[(v * a->frame.n[DSGD_PLACE] + place) * a->frame.n[DSGD_SERIES] + series];
}

static const char *parameter_of(const analysis *a, size_t v)
{
    return dsgd_field_of(&a->runs, a->of[v]->rows[0], "parameter");
}

/** NAN: a choice has none. */
static double factor_of(const analysis *a, size_t v)
{
    return dsgd_csv_value(&a->runs, a->of[v]->rows[0], dsgd_csv_column(&a->runs, "factor"));
}

/** How readers know series ("wagma; group 4") of a point. */
static const char *name_of(const analysis *a, const dsgd_frame_point *p)
{
    const dsgd_frame *const f = &a->frame;
    const char *const own = dsgd_frame_settings(f, p, 1 << DSGD_SERIES, 0, "; ");
    return dsgd_xprintf("%s%s%s", dsgd_frame_value(f, p, 0), *own == '\0' ? "" : "; ", own);
}

static dsgd_status analysis_open(analysis *a, const char *folder, const char *baseline,
                                 dsgd_error *error)
{
    dsgd_frame *const f = &a->frame;
    const dsgd_framing framing = {.baseline = baseline, .planned = true};
    DSGD_TRY(dsgd_csv_read(&a->runs, error, "%s/runs.csv", folder));
    DSGD_TRY(dsgd_frame_open(&a->runs, &framing, f, error));
    a->throughput = dsgd_frame_numbers(f, "throughput_samples_per_s");
    a->points = dsgd_keep(f->n[DSGD_VARIATION] * f->n[DSGD_PLACE] * f->n[DSGD_SERIES] + 1,
                          sizeof *a->points);
    a->of = dsgd_keep(f->n[DSGD_VARIATION] + 1, sizeof *a->of);
    const size_t n_unchanged = f->n[DSGD_PLACE] * f->n[DSGD_SERIES];
    for (const dsgd_frame_point *p = f->points; p < f->points + f->n_points; p++)
        *point_at(a, p->at[DSGD_VARIATION], p->at[DSGD_PLACE], p->at[DSGD_SERIES]) =
            a->of[p->at[DSGD_VARIATION]] = p;
    for (size_t k = n_unchanged; k < f->n[DSGD_VARIATION] * n_unchanged; k++)
        if (a->points[k] == NULL)
            a->points[k] = a->points[k % n_unchanged];
    return DSGD_OK;
}

/* --- effects ---------------------------------------------------------------------------------- */

/** What a variation does to one series at one place; NAN: not known. */
typedef struct effect {
    size_t n; /* seeds */
    double throughput, unchanged; /* samples/s */
    double change; /* relative, of the throughput */
    double speedup, unchanged_speedup, speedup_change; /* over the baseline; change: relative */
} effect;

/** Of the series at point @p k; n = 0: it is not varied, nor is its baseline, or nothing is known. */
static effect effect_of(const analysis *a, size_t k)
{
    const dsgd_frame *const f = &a->frame;
    const double *const x = a->throughput;
    const size_t n_unchanged = f->n[DSGD_PLACE] * f->n[DSGD_SERIES];
    const dsgd_frame_point *const new = a->points[k], *const old = a->points[k % n_unchanged];
    if (new == NULL || old == NULL)
        return (effect){.n = 0, NAN, NAN, NAN, NAN, NAN, NAN};
    const dsgd_frame_point *const base =
        old->baseline == NULL
            ? NULL
            : *point_at(a, k / n_unchanged, old->at[DSGD_PLACE], old->baseline->at[DSGD_SERIES]);
    double *const own = dsgd_keep(2 * new->n_rows, sizeof *own);
    double *const others = own + new->n_rows;
    const bool is_varied = new != old || base != old->baseline;
    const size_t n = is_varied ? dsgd_frame_pairs(f, new, old, x, own, others) : 0;
    effect e = {.n = n,
                .throughput = dsgd_mean(own, n).mean,
                .unchanged = dsgd_mean(others, n).mean,
                .change = n == 0 ? NAN : dsgd_frame_ratio(f, new, old, x).ratio - 1,
                .speedup = n == 0 ? NAN : dsgd_frame_ratio(f, new, base, x).ratio,
                .unchanged_speedup = dsgd_frame_ratio(f, old, old->baseline, x).ratio};
    e.speedup_change = e.speedup / e.unchanged_speedup - 1;
    return e;
}

/** How two series stand to each other at a place. */
typedef enum order {
    SLOWER = -1, /* the first */
    TIE = 0, /* closer than DSGD_TIE or than the seeds' interval */
    FASTER = 1,
    UNKNOWN = 2 /* they have no seed in common */
} order;

static order order_of(const analysis *a, const dsgd_frame_point *p, const dsgd_frame_point *q)
{
    if (p == NULL || q == NULL)
        return UNKNOWN;
    const dsgd_ratio ratio = dsgd_frame_ratio(&a->frame, p, q, a->throughput);
    const double lead = fabs(log(ratio.ratio));
    const double ci = ratio.n > 1 ? log(ratio.high / ratio.ratio) : 0;
    if (ratio.n == 0)
        return UNKNOWN;
    if (lead < fmax(log1p(DSGD_TIE), ci))
        return TIE;
    return ratio.ratio > 1 ? FASTER : SLOWER;
}

/** Whether one is the other's reverse. */
static bool is_swap(order a, order b)
{
    return (a == FASTER && b == SLOWER) || (a == SLOWER && b == FASTER);
}

/* --- sensitivity.csv -------------------------------------------------------------------------- */

/** The keys of a point (NULL: their names) but for its variation, each behind a comma. */
static void write_keys(FILE *stream, const analysis *a, const dsgd_frame_point *p)
{
    for (size_t k = 0; k < a->frame.n_keys; k++) {
        if (dsgd_frame_part(&a->frame, k) == DSGD_VARIATION)
            continue;
        fputc(',', stream);
        dsgd_csv_text(stream,
                      p == NULL ? dsgd_frame_key(&a->frame, k) : dsgd_frame_value(&a->frame, p, k));
    }
}

static dsgd_status write_csv(const analysis *a, const char *folder, dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/sensitivity.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    fputs("parameter,factor", stream);
    write_keys(stream, a, NULL);
    fputs(",n,throughput_samples_per_s,unchanged_samples_per_s,change,elasticity,speedup,"
          "unchanged_speedup,speedup_change\n",
          stream);
    const size_t *const n = a->frame.n, n_unchanged = n[DSGD_PLACE] * n[DSGD_SERIES];
    for (size_t k = n_unchanged; k < n[DSGD_VARIATION] * n_unchanged; k++) {
        const dsgd_frame_point *const p = a->points[k];
        const effect x = effect_of(a, k);
        if (x.n == 0)
            continue;
        const double factor = factor_of(a, k / n_unchanged);
        const double numbers[] = {
            x.throughput, x.unchanged,         x.change,        log1p(x.change) / log(factor),
            x.speedup,    x.unchanged_speedup, x.speedup_change};
        fprintf(stream, isnan(factor) ? "%s," : "%s,%.6g", parameter_of(a, k / n_unchanged),
                factor);
        write_keys(stream, a, p);
        fprintf(stream, ",%zu", x.n);
        dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
        fputc('\n', stream);
    }
    return dsgd_whole_close(&file, error);
}

/* --- the table -------------------------------------------------------------------------------- */

/** The largest change by a parameter, and where. */
typedef struct largest {
    const dsgd_frame_point *at; /* NULL: none is known */
    size_t variation;
    double change; /* relative */
} largest;

typedef struct line {
    const char *parameter;
    largest speedup, throughput;
    size_t swaps;
} line;

static void take(largest *l, double change, const dsgd_frame_point *at, size_t variation)
{
    if (!isnan(change) && (l->at == NULL || fabs(change) > fabs(l->change)))
        *l = (largest){at, variation, change};
}

static int by_effect(const void *a, const void *b)
{
    const line *const s = a;
    const line *const t = b;
    const double x = fabs(s->speedup.change) - fabs(t->speedup.change);
    const double y = fabs(s->throughput.change) - fabs(t->throughput.change);
    if (x != 0)
        return x < 0 ? 1 : -1;
    return y < 0 ? 1 : y > 0 ? -1 : strcmp(s->parameter, t->parameter);
}

/** " +20 %"; "": a choice, whose name says it. */
static const char *factor_text(const analysis *a, size_t v)
{
    const double factor = factor_of(a, v);
    return isnan(factor) ? "" : dsgd_xprintf(" %+.3g %%", 100 * (factor - 1));
}

/** "-12.3 %: wagma at 64 workers, for +20 %". */
static const char *largest_text(const analysis *a, const largest *l)
{
    if (l->at == NULL)
        return "-";
    if (fabs(l->change) < 5e-4)
        return "0.0 %";
    const char *const factor = factor_text(a, l->variation);
    return dsgd_xprintf("%+.1f %%: %s at %s%s%s", 100 * l->change, name_of(a, l->at),
                        dsgd_frame_place(&a->frame, l->at), *factor == '\0' ? "" : ", for", factor);
}

/** The parameters in the order of their effect. */
static void print_parameters(const analysis *a, const char *folder)
{
    const size_t n_series = a->frame.n[DSGD_SERIES];
    const size_t n_unchanged = a->frame.n[DSGD_PLACE] * n_series;
    line *const lines = dsgd_keep(a->frame.n[DSGD_VARIATION], sizeof *lines);
    size_t n_lines = 0;
    for (size_t k = n_unchanged; k < a->frame.n[DSGD_VARIATION] * n_unchanged; k++) {
        const size_t v = k / n_unchanged;
        const char *const parameter = parameter_of(a, v);
        if (n_lines == 0 || strcmp(lines[n_lines - 1].parameter, parameter) != 0)
            lines[n_lines++].parameter = parameter;
        line *const l = &lines[n_lines - 1];
        const effect x = effect_of(a, k);
        take(&l->speedup, x.speedup_change, a->points[k], v);
        take(&l->throughput, x.change, a->points[k], v);
        for (size_t d = 1, u = k % n_unchanged; d <= k % n_series; d++)
            l->swaps += is_swap(order_of(a, a->points[u - d], a->points[u]),
                                order_of(a, a->points[k - d], a->points[k]));
    }
    qsort(lines, n_lines, sizeof *lines, by_effect);
    printf("\nSensitivity, %s; speed-ups over %s;\nall in %s/sensitivity.csv\n\n",
           isnan(a->percent) ? "each other choice"
                             : dsgd_xprintf("each parameter times %g and %g", 1 - a->percent / 100,
                                            1 + a->percent / 100),
           a->frame.baseline, folder);
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < n_lines; i++) {
        dsgd_columns_row(&t);
        const size_t end =
            strcspn(lines[i].parameter, "="); /* of a choice, whose words can break */
        dsgd_columns_put(&t, "parameter", "%.*s%s%s", (int)end, lines[i].parameter,
                         lines[i].parameter[end] == '\0' ? "" : " ",
                         lines[i].parameter + end + (lines[i].parameter[end] == '='));
        dsgd_columns_take(&t, "largest change of a speed-up", largest_text(a, &lines[i].speedup));
        dsgd_columns_take(&t, "of a throughput", largest_text(a, &lines[i].throughput));
        dsgd_columns_put(&t, "swaps", "%zu", lines[i].swaps);
    }
    dsgd_columns_print(&t);
    putchar('\n');
}

/**
 * Says under which variations two series swap places. Counts also the pairs that are a tie in
 * some variation and not in others.
 */
static bool print_pair(const analysis *a, size_t place, size_t first, size_t second, size_t *ties)
{
    const dsgd_frame_point *const p = *point_at(a, 0, place, first);
    const dsgd_frame_point *const q = *point_at(a, 0, place, second);
    const order unchanged = order_of(a, p, q);
    char *when = dsgd_xstrdup("");
    bool tie = false;
    for (size_t v = 1; v < a->frame.n[DSGD_VARIATION]; v++) {
        const order varied =
            order_of(a, *point_at(a, v, place, first), *point_at(a, v, place, second));
        if (unchanged != UNKNOWN && varied != UNKNOWN)
            tie = tie || (unchanged == TIE) != (varied == TIE);
        if (is_swap(unchanged, varied))
            dsgd_append(&when, "%s%s%s", *when == '\0' ? "" : ", ", parameter_of(a, v),
                        factor_text(a, v));
    }
    *ties += tie;
    if (*when == '\0')
        return false;
    dsgd_print_wrapped(stdout, "", 0, DSGD_LINE_WIDTH,
                       dsgd_xprintf("at %s %s is before %s, but behind for %s",
                                    dsgd_frame_place(&a->frame, p),
                                    name_of(a, unchanged == FASTER ? p : q),
                                    name_of(a, unchanged == FASTER ? q : p), when));
    return true;
}

/** The pairs that swap places, and how many rankings change. */
static void print_rankings(const analysis *a)
{
    size_t changed = 0, pairs = 0, ties = 0, left_out = 0;
    for (size_t place = 0; place < a->frame.n[DSGD_PLACE]; place++) {
        bool any = false;
        for (size_t c = 0; c < a->frame.n[DSGD_SERIES]; c++)
            for (size_t d = c + 1; d < a->frame.n[DSGD_SERIES]; d++, pairs++)
                any = print_pair(a, place, c, d, &ties) || any;
        changed += any;
    }
    if (ties > 0)
        printf("%zu of %zu pairs become or cease to be ties (closer than 2 %% or than the 95 %%\n"
               "interval over seeds), which counts as no swap\n",
               ties, pairs);
    for (size_t row = 0; row < a->runs.n_rows; row++)
        left_out += isnan(a->throughput[row]);
    if (left_out > 0)
        printf("%zu runs without results are left out\n", left_out);
    if (changed == 0)
        puts(ties == 0 ? "no ranking changes" : "no pair swaps places");
    else
        printf("%zu of %zu rankings change\n", changed, a->frame.n[DSGD_PLACE]);
}

dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const dsgd_results *results,
                                    double percent, const char *baseline, dsgd_error *error)
{
    analysis a = {.percent = percent};
    DSGD_TRY(analysis_open(&a, results->folder,
                           baseline == NULL ? experiment->runs[0].label : baseline, error));
    DSGD_TRY(write_csv(&a, results->folder, error));
    print_parameters(&a, results->folder);
    print_rankings(&a);
    return DSGD_OK;
}
