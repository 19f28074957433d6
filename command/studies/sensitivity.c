/**
 * @file sensitivity.c
 * One parameter at a time, down and up: each run again with every calibrated parameter smaller and
 * larger, and what changes at each place of the frame, for each series.
 */
#include "command/studies/sensitivity.h"

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/plugin.h"
#include "command/runs/swept.h"

/** Options of a platform or workload that are not calibrated. */
static const char *const exact[] = {
    "reference_speed", /* says on which host `step` was measured; it is `step` that may be wrong */
    "bytes", /* of the network, which can be counted */
    "eager_limit", /* the library's settings */
    "doubling_limit",
    "busy_power", /* decides no time */
    "idle_power",
    "samples", /* the unit of the throughput, the same for all algorithms */
    NULL};

/** A part of a run whose options are varied. */
static const struct {
    const char *name;
    const dsgd_option *options;
    size_t offset; /* of the part in a dsgd_planned_run */
} parts[] = {
    {"platform", dsgd_platform_options, offsetof(dsgd_planned_run, platform)},
    {"workload", dsgd_workload_options, offsetof(dsgd_planned_run, workload)},
};

/** Adds run @p i with an option of a part times @p factor, if that makes a difference. */
static void add_variation(dsgd_experiment *experiment, size_t i, size_t part,
                          const dsgd_option *option, const char *parameter, double factor)
{
    dsgd_planned_run run = experiment->runs[i];
    double *const value = (double *)((char *)&run + parts[part].offset + option->offset);
    const double old = *value;
    /* A SimGrid file has its own links, and a single switch has no groups. */
    const int topology = run.platform.topology;
    const bool is_used =
        (strncmp(option->name, "host_", 5) != 0 || topology != DSGD_TOPOLOGY_XML) &&
        (strncmp(option->name, "group_", 6) != 0 || topology == DSGD_TOPOLOGY_GROUPS);
    *value = fmax(option->min, fmin(option->max, factor * old));
    if (!(old > 0) || *value == old || !is_used)
        return;
    run.unchanged = i;
    run.parameter = parameter;
    run.factor = *value == factor * old ? factor : *value / old;
    experiment->runs =
        dsgd_keep_more(experiment->runs, experiment->n_runs + 1, sizeof *experiment->runs);
    experiment->runs[experiment->n_runs++] = run;
}

/**
 * Appends, for each calibrated parameter of platform and workload that is not 0, each run with that
 * parameter times 1 - percent / 100 and times 1 + percent / 100, clipped to the limits of its option.
 * All runs get the columns `parameter` and `factor`, empty in the unchanged ones.
 */
static dsgd_status vary(dsgd_experiment *experiment, double percent, dsgd_error *error)
{
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (const dsgd_option *o = parts[part].options; o->name != NULL; o++) {
            if (o->kind != DSGD_DOUBLE || dsgd_find_word(exact, o->name) >= 0)
                continue; /* whole numbers are counts and shapes */
            const char *const parameter = dsgd_xprintf("%s.%s", parts[part].name, o->name);
            for (int sign = -1; sign <= 1; sign += 2)
                for (size_t i = 0; i < experiment->n_unchanged; i++)
                    add_variation(experiment, i, part, o, parameter, 1 + sign * percent / 100);
            if (experiment->n_runs > DSGD_MOST_RUNS)
                return dsgd_refuse(error,
                                   "%s: with their variations there are more than %d runs; shorten "
                                   "a list or a sweep",
                                   experiment->path, DSGD_MOST_RUNS);
        }
    }
    if (experiment->n_runs == experiment->n_unchanged)
        return dsgd_refuse(error,
                           "%s: every calibrated parameter is 0, so there is nothing to vary",
                           experiment->path);
    static const char *const names[] = {"parameter", "factor"};
    const size_t n = experiment->n_columns;
    dsgd_experiment_add_columns(experiment, names, 2);
    for (size_t i = experiment->n_unchanged; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        run->swept[n] = run->parameter;
        run->swept[n + 1] = dsgd_xprintf("%.6g", run->factor);
    }
    return dsgd_experiment_settle(experiment, experiment->runs[0].config.numerics, error);
}

dsgd_status dsgd_sensitivity_open(const dsgd_request *request, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error)
{
    const char *const sensitivity = request->sensitivity;
    if (sensitivity != NULL &&
        (!dsgd_parse_number(sensitivity, NULL, percent) || !(*percent > 0 && *percent < 100)))
        return dsgd_refuse(
            error, "--sensitivity=%s: a number of per cent above 0 and below 100 is expected",
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
    /* [variations][places][series]; NULL: there is none. Points are planned: their runs may have no results. */
    const dsgd_frame_point **points;
    double percent;
} analysis;

static const dsgd_frame_point **point_at(const analysis *a, size_t v, size_t place, size_t series)
{
    return &a->points[(v * a->frame.n[DSGD_PLACE] + place) * a->frame.n[DSGD_SERIES] + series];
}

static const char *parameter_of(const analysis *a, const dsgd_frame_point *p)
{
    return dsgd_csv_field(&a->runs, p->rows[0], dsgd_csv_column(&a->runs, "parameter"));
}

static double factor_of(const analysis *a, const dsgd_frame_point *p)
{
    return dsgd_csv_value(&a->runs, p->rows[0], dsgd_csv_column(&a->runs, "factor"));
}

/** How readers know series ("wagma; group 4") or place ("64 workers", and what else is told) of a point. */
static char *name_of(const analysis *a, const dsgd_frame_point *p, dsgd_coordinate of)
{
    enum { WORKERS = 1, PLATFORM, WORKLOAD }; /* keys */
    const dsgd_frame *const f = &a->frame;
    char *name = of == DSGD_SERIES ? dsgd_xstrdup(dsgd_frame_value(f, p, 0))
                                   : dsgd_xprintf("%s workers", dsgd_frame_value(f, p, WORKERS));
    for (size_t k = 1; k < f->n_keys; k++) {
        const char *const value = dsgd_frame_value(f, p, k), *const key = dsgd_frame_key(f, k);
        const bool is_named = dsgd_frame_part(f, k) == of && *value != '\0';
        if (of == DSGD_PLACE && k >= PLATFORM && k <= WORKLOAD && f->n_values[k] > 1)
            dsgd_append(&name, ", %s", value);
        else if (of == DSGD_PLACE && k > WORKLOAD && is_named)
            dsgd_append(&name, ", %s %s", key, value);
        else if (of == DSGD_SERIES && is_named)
            dsgd_append(&name, "; %s %s", dsgd_last_key(key), value);
    }
    return name;
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
    for (const dsgd_frame_point *p = f->points; p < f->points + f->n_points; p++)
        *point_at(a, p->at[DSGD_VARIATION], p->at[DSGD_PLACE], p->at[DSGD_SERIES]) = p;
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

static effect effect_of(const analysis *a, const dsgd_frame_point *new)
{
    const dsgd_frame *const f = &a->frame;
    const double *const x = a->throughput;
    const dsgd_frame_point *const old = *point_at(a, 0, new->at[DSGD_PLACE], new->at[DSGD_SERIES]);
    double *const own = dsgd_keep(2 * new->n_rows, sizeof *own);
    double *const others = own + new->n_rows;
    const size_t n = dsgd_frame_pairs(f, new, old, x, own, others);
    effect e = {.n = n,
                .throughput = dsgd_mean(own, n).mean,
                .unchanged = dsgd_mean(others, n).mean,
                .change = dsgd_frame_ratio(f, new, old, x).ratio - 1,
                .speedup = dsgd_frame_ratio(f, new, new->baseline, x).ratio,
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
        effect x = {.n = 0};
        if (p != NULL)
            x = effect_of(a, p);
        if (x.n == 0)
            continue;
        const double factor = factor_of(a, p);
        const double numbers[] = {
            x.throughput, x.unchanged,         x.change,        log1p(x.change) / log(factor),
            x.speedup,    x.unchanged_speedup, x.speedup_change};
        fprintf(stream, "%s,%.6g", parameter_of(a, p), factor);
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
    double change; /* relative */
} largest;

typedef struct line {
    const char *parameter;
    largest speedup, throughput;
    size_t swaps;
} line;

static void take(largest *l, double change, const dsgd_frame_point *at)
{
    if (!isnan(change) && (l->at == NULL || fabs(change) > fabs(l->change)))
        *l = (largest){at, change};
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

/** "-12.3 %: wagma at 64 workers, for +20 %". */
static const char *largest_text(const analysis *a, const largest *l)
{
    if (l->at == NULL)
        return "-";
    if (fabs(l->change) < 5e-4)
        return "0.0 %";
    return dsgd_xprintf("%+.1f %%: %s at %s, for %+.3g %%", 100 * l->change,
                        name_of(a, l->at, DSGD_SERIES), name_of(a, l->at, DSGD_PLACE),
                        100 * (factor_of(a, l->at) - 1));
}

/** The parameters in the order of their effect. */
static void print_parameters(const analysis *a, const char *folder)
{
    const size_t n_series = a->frame.n[DSGD_SERIES];
    const size_t n_unchanged = a->frame.n[DSGD_PLACE] * n_series;
    line *const lines = dsgd_keep(a->frame.n[DSGD_VARIATION], sizeof *lines);
    size_t n_lines = 0;
    for (size_t k = n_unchanged; k < a->frame.n[DSGD_VARIATION] * n_unchanged; k++) {
        const dsgd_frame_point *const p = a->points[k];
        if (p == NULL)
            continue;
        const char *const parameter = parameter_of(a, p);
        if (n_lines == 0 || strcmp(lines[n_lines - 1].parameter, parameter) != 0)
            lines[n_lines++].parameter = parameter;
        line *const l = &lines[n_lines - 1];
        const effect x = effect_of(a, p);
        take(&l->speedup, x.speedup_change, p);
        take(&l->throughput, x.change, p);
        for (size_t d = 1, u = k % n_unchanged; d <= k % n_series; d++)
            l->swaps += is_swap(order_of(a, a->points[u - d], a->points[u]),
                                order_of(a, a->points[k - d], p));
    }
    qsort(lines, n_lines, sizeof *lines, by_effect);
    printf("\nSensitivity, each parameter times %g and %g; speed-ups over %s;\n"
           "all in %s/sensitivity.csv\n\n",
           1 - a->percent / 100, 1 + a->percent / 100, a->frame.baseline, folder);
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < n_lines; i++) {
        dsgd_columns_row(&t);
        dsgd_columns_put(&t, "parameter", "%s", lines[i].parameter);
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
        const dsgd_frame_point *const new = *point_at(a, v, place, first);
        const order varied = order_of(a, new, *point_at(a, v, place, second));
        if (unchanged != UNKNOWN && varied != UNKNOWN)
            tie = tie || (unchanged == TIE) != (varied == TIE);
        if (is_swap(unchanged, varied))
            dsgd_append(&when, "%s%s %+.3g %%", *when == '\0' ? "" : ", ", parameter_of(a, new),
                        100 * (factor_of(a, new) - 1));
    }
    *ties += tie;
    if (*when == '\0')
        return false;
    dsgd_print_wrapped(stdout, "", 0, DSGD_LINE_WIDTH,
                       dsgd_xprintf("at %s %s is before %s, but behind for %s",
                                    name_of(a, p, DSGD_PLACE),
                                    name_of(a, unchanged == FASTER ? p : q, DSGD_SERIES),
                                    name_of(a, unchanged == FASTER ? q : p, DSGD_SERIES), when));
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
        puts("no ranking changes");
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
