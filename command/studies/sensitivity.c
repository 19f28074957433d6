/**
 * @file sensitivity.c
 * One parameter at a time, down and up.
 *
 * A place is where algorithms are ranked: the runs that differ only in the algorithm, its options,
 * and the seed.
 */
#include "command/studies/sensitivity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/frame.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/runs/results.h"
#include "command/runs/swept.h"

/* --- their throughputs ------------------------------------------------------------------------ */

/** One direction of one parameter; the first has none. */
typedef struct variation {
    const char *parameter;
    bool up;
} variation;

typedef struct analysis {
    const dsgd_experiment *experiment;
    const char *baseline;
    double percent;
    size_t n_variations, n_places, n_contestants, n_seeds, n_left_out;
    variation *variations;
    size_t *place_of, *contestant_of, *seed_of; /* [n_unchanged] */
    size_t *first_at; /* [n_places]: an unchanged run there */
    size_t *first_of; /* [n_contestants] */
    double *throughput; /* [n_variations][n_places][n_contestants][n_seeds], samples/s; NAN: none */
    double *factor; /* [n_variations][n_places] */
} analysis;

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/** Columns of sweeps, without the two of the variations. */
static size_t n_sweeps(const dsgd_experiment *experiment)
{
    return experiment->n_columns - 2;
}

static bool same_seed(const dsgd_experiment *e, size_t i, size_t j)
{
    return e->runs[i].config.seed == e->runs[j].config.seed;
}

static bool same_sweeps(const dsgd_experiment *e, size_t i, size_t j, bool of_algorithms)
{
    for (size_t k = 0; k < n_sweeps(e); k++)
        if (strcmp(e->columns[k], "seed") != 0 &&
            dsgd_is_of_algorithms(e->columns[k]) == of_algorithms &&
            !same_text(e->runs[i].swept[k], e->runs[j].swept[k]))
            return false;
    return true;
}

static bool same_contestant(const dsgd_experiment *e, size_t i, size_t j)
{
    const size_t a = DSGD_AXIS_ALGORITHM;
    return e->runs[i].chosen[a] == e->runs[j].chosen[a] && same_sweeps(e, i, j, true);
}

static bool same_place(const dsgd_experiment *e, size_t i, size_t j)
{
    static const size_t common[] = {DSGD_AXIS_PLATFORM, DSGD_AXIS_WORKLOAD, DSGD_AXIS_WORKERS};
    for (size_t k = 0; k < sizeof common / sizeof common[0]; k++)
        if (e->runs[i].chosen[common[k]] != e->runs[j].chosen[common[k]])
            return false;
    return same_sweeps(e, i, j, false);
}

/**
 * Numbers the classes of unchanged runs under the equivalence @p same. Returns how many;
 * (*firsts)[k]: the first run of class k.
 */
static size_t number(const dsgd_experiment *e,
                     bool (*same)(const dsgd_experiment *, size_t, size_t), size_t **class_of,
                     size_t **firsts)
{
    size_t n = 0;
    *class_of = dsgd_xcalloc(e->n_unchanged, sizeof **class_of);
    *firsts = dsgd_xcalloc(e->n_unchanged, sizeof **firsts);
    for (size_t i = 0; i < e->n_unchanged; i++) {
        size_t k = 0;
        while (k < n && !same(e, (*firsts)[k], i))
            k++;
        if (k == n)
            (*firsts)[n++] = i;
        (*class_of)[i] = k;
    }
    return n;
}

static size_t variation_of(analysis *a, const dsgd_planned_run *run)
{
    const bool up = run->parameter != NULL && run->factor > 1;
    for (size_t v = 0; v < a->n_variations; v++)
        if (same_text(a->variations[v].parameter, run->parameter) && a->variations[v].up == up)
            return v;
    a->variations = dsgd_xrealloc(a->variations, a->n_variations + 1, sizeof *a->variations);
    a->variations[a->n_variations] = (variation){run->parameter, up};
    return a->n_variations++;
}

static double *throughputs(const analysis *a, size_t v, size_t place, size_t contestant)
{
    return a->throughput + ((v * a->n_places + place) * a->n_contestants + contestant) * a->n_seeds;
}

static void analysis_open(analysis *a, const dsgd_results *results)
{
    const dsgd_experiment *const e = a->experiment;
    size_t *first_seeds = NULL;
    a->n_places = number(e, same_place, &a->place_of, &a->first_at);
    a->n_contestants = number(e, same_contestant, &a->contestant_of, &a->first_of);
    a->n_seeds = number(e, same_seed, &a->seed_of, &first_seeds);
    free(first_seeds);
    for (size_t i = 0; i < e->n_runs; i++)
        variation_of(a, &e->runs[i]);
    const size_t n = a->n_variations * a->n_places * a->n_contestants * a->n_seeds;
    a->throughput = dsgd_xcalloc(n, sizeof *a->throughput);
    a->factor = dsgd_xcalloc(a->n_variations * a->n_places, sizeof *a->factor);
    for (size_t i = 0; i < n; i++)
        a->throughput[i] = NAN;
    for (size_t i = 0; i < e->n_runs; i++) {
        const size_t v = variation_of(a, &e->runs[i]);
        const size_t u = e->runs[i].unchanged;
        const double throughput = dsgd_results_throughput(results, i);
        throughputs(a, v, a->place_of[u], a->contestant_of[u])[a->seed_of[u]] = throughput;
        a->n_left_out += isnan(throughput);
        a->factor[v * a->n_places + a->place_of[u]] = e->runs[i].factor;
    }
}

static void analysis_close(analysis *a)
{
    free(a->variations);
    free(a->place_of);
    free(a->contestant_of);
    free(a->seed_of);
    free(a->first_at);
    free(a->first_of);
    free(a->throughput);
    free(a->factor);
}

/* --- effects ---------------------------------------------------------------------------------- */

/**
 * The contestant that the others at a place are compared with: the first of the baseline's label
 * there; n_contestants: none.
 */
static size_t baseline_at(const analysis *a, size_t place)
{
    for (size_t c = 0; c < a->n_contestants; c++) {
        const char *const label = a->experiment->runs[a->first_of[c]].label;
        for (size_t s = 0; strcmp(label, a->baseline) == 0 && s < a->n_seeds; s++)
            if (!isnan(throughputs(a, 0, place, c)[s]))
                return c;
    }
    return a->n_contestants;
}

/** What a variation does to one contestant at one place; NAN: not known. */
typedef struct effect {
    size_t n; /* seeds */
    double throughput, unchanged; /* samples/s */
    double change; /* relative, of the throughput */
    double speedup, unchanged_speedup, speedup_change; /* over the baseline; change: relative */
} effect;

static effect effect_of(const analysis *a, size_t v, size_t place, size_t contestant)
{
    const size_t baseline = baseline_at(a, place);
    const size_t other = baseline < a->n_contestants ? baseline : contestant;
    const double *const new = throughputs(a, v, place, contestant);
    const double *const old = throughputs(a, 0, place, contestant);
    const double *const new_other = throughputs(a, v, place, other);
    const double *const old_other = throughputs(a, 0, place, other);
    effect sum = {0};
    size_t pairs = 0;
    for (size_t s = 0; s < a->n_seeds; s++) {
        if (isnan(new[s]) || isnan(old[s]))
            continue;
        sum.n++;
        sum.throughput += new[s];
        sum.unchanged += old[s];
        sum.change += new[s] / old[s] - 1;
        if (baseline == a->n_contestants || isnan(new_other[s]) || isnan(old_other[s]))
            continue;
        pairs++;
        sum.speedup += new[s] / new_other[s];
        sum.unchanged_speedup += old[s] / old_other[s];
        sum.speedup_change += new[s] / new_other[s] / (old[s] / old_other[s]) - 1;
    }
    const double n = (double)sum.n;
    const double p = (double)pairs; /* 0 / 0 is NAN, as it should */
    return (effect){
        sum.n,           sum.throughput / n,        sum.unchanged / n,     sum.change / n,
        sum.speedup / p, sum.unchanged_speedup / p, sum.speedup_change / p};
}

/** How two contestants stand to each other at a place. */
typedef enum order {
    SLOWER = -1, /* the first */
    TIE = 0, /* closer than 1 % or than the seeds' interval */
    FASTER = 1,
    UNKNOWN = 2 /* they have no seed in common */
} order;

static order order_of(const analysis *a, size_t v, size_t place, size_t first, size_t second)
{
    const double *const x = throughputs(a, v, place, first);
    const double *const y = throughputs(a, v, place, second);
    double *const logs = dsgd_xcalloc(a->n_seeds, sizeof *logs);
    size_t n = 0;
    for (size_t s = 0; s < a->n_seeds; s++)
        if (!isnan(x[s]) && !isnan(y[s]))
            logs[n++] = log(x[s] / y[s]);
    const dsgd_interval of_seeds = dsgd_mean(logs, n);
    const double mean = of_seeds.mean, ci = of_seeds.ci;
    free(logs);
    if (n == 0)
        return UNKNOWN;
    if (fabs(mean) < fmax(log(1.01), isnan(ci) ? 0 : ci))
        return TIE;
    return mean > 0 ? FASTER : SLOWER;
}

/** Whether one is the other's reverse. */
static bool is_swap(order a, order b)
{
    return (a == FASTER && b == SLOWER) || (a == SLOWER && b == FASTER);
}

/* --- sensitivity.csv -------------------------------------------------------------------------- */

static void write_row(FILE *stream, const analysis *a, size_t v, size_t place, size_t contestant)
{
    const effect x = effect_of(a, v, place, contestant);
    if (x.n == 0)
        return;
    const dsgd_planned_run *const at = &a->experiment->runs[a->first_at[place]];
    const dsgd_planned_run *const of = &a->experiment->runs[a->first_of[contestant]];
    const double factor = a->factor[v * a->n_places + place];
    fprintf(stream, "%s,%.6g,", a->variations[v].parameter, factor);
    dsgd_csv_text(stream, of->label);
    fprintf(stream, ",%d,", at->config.workers);
    dsgd_csv_text(stream, at->platform_name);
    fputc(',', stream);
    dsgd_csv_text(stream, at->workload_name);
    for (size_t k = 0; k < n_sweeps(a->experiment); k++) {
        const char *const swept =
            (dsgd_is_of_algorithms(a->experiment->columns[k]) ? of : at)->swept[k];
        if (strcmp(a->experiment->columns[k], "seed") == 0)
            continue;
        fputc(',', stream);
        dsgd_csv_text(stream, swept == NULL ? "" : swept);
    }
    fprintf(stream, ",%zu", x.n);
    const double numbers[] = {
        x.throughput, x.unchanged,         x.change,        log1p(x.change) / log(factor),
        x.speedup,    x.unchanged_speedup, x.speedup_change};
    dsgd_csv_numbers(stream, numbers, sizeof numbers / sizeof numbers[0]);
    fputc('\n', stream);
}

static dsgd_status write_csv(const analysis *a, const char *folder, dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/sensitivity.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    fputs("parameter,factor,algorithm,workers,platform,workload", stream);
    for (size_t k = 0; k < n_sweeps(a->experiment); k++) {
        if (strcmp(a->experiment->columns[k], "seed") == 0)
            continue;
        fputc(',', stream);
        dsgd_csv_text(stream, a->experiment->columns[k]);
    }
    fputs(",n,throughput_samples_per_s,unchanged_samples_per_s,change,elasticity,speedup,"
          "unchanged_speedup,speedup_change\n",
          stream);
    for (size_t v = 1; v < a->n_variations; v++)
        for (size_t place = 0; place < a->n_places; place++)
            for (size_t c = 0; c < a->n_contestants; c++)
                write_row(stream, a, v, place, c);
    return dsgd_whole_close(&file, error);
}

/* --- the table -------------------------------------------------------------------------------- */

/** "wagma; group 4"; the caller frees it. */
static char *name_of(const analysis *a, size_t contestant)
{
    const dsgd_experiment *const e = a->experiment;
    const dsgd_planned_run *const run = &e->runs[a->first_of[contestant]];
    char *name = dsgd_xstrdup(run->label);
    for (size_t k = 0; k < n_sweeps(e); k++) {
        const char *const dot = strrchr(e->columns[k], '.');
        if (run->swept[k] != NULL && dot != NULL && dsgd_is_of_algorithms(e->columns[k]))
            dsgd_append(&name, "; %s %s", dot + 1, run->swept[k]);
    }
    return name;
}

/** "64 workers", and what else distinguishes the places; the caller frees it. */
static char *place_name(const analysis *a, size_t place)
{
    const dsgd_experiment *const e = a->experiment;
    const dsgd_planned_run *const run = &e->runs[a->first_at[place]];
    const dsgd_planned_run *const last = &e->runs[e->n_unchanged - 1];
    char *name = dsgd_xprintf("%d workers", run->config.workers);
    if (last->chosen[DSGD_AXIS_PLATFORM] > 0)
        dsgd_append(&name, ", %s", run->platform_name);
    if (last->chosen[DSGD_AXIS_WORKLOAD] > 0)
        dsgd_append(&name, ", %s", run->workload_name);
    for (size_t k = 0; k < n_sweeps(e); k++) {
        if (run->swept[k] != NULL && !dsgd_is_of_algorithms(e->columns[k]) &&
            strcmp(e->columns[k], "seed") != 0)
            dsgd_append(&name, ", %s %s", e->columns[k], run->swept[k]);
    }
    return name;
}

/** The largest change by a parameter, and where. */
typedef struct largest {
    bool known;
    double change; /* relative */
    size_t variation, place, contestant;
} largest;

typedef struct line {
    const char *parameter;
    largest speedup, throughput;
    size_t swaps;
} line;

static void take(largest *l, double change, size_t v, size_t place, size_t contestant)
{
    if (!isnan(change) && (!l->known || fabs(change) > fabs(l->change)))
        *l = (largest){true, change, v, place, contestant};
}

static void add_to_line(const analysis *a, size_t v, line *l)
{
    for (size_t place = 0; place < a->n_places; place++) {
        for (size_t c = 0; c < a->n_contestants; c++) {
            const effect x = effect_of(a, v, place, c);
            take(&l->speedup, x.speedup_change, v, place, c);
            take(&l->throughput, x.change, v, place, c);
            for (size_t d = 0; d < c; d++)
                l->swaps += is_swap(order_of(a, 0, place, d, c), order_of(a, v, place, d, c));
        }
    }
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

/** "-12.3 %: wagma at 64 workers, for +20 %"; the caller frees it. */
static char *largest_text(const analysis *a, const largest *l)
{
    if (!l->known)
        return dsgd_xstrdup("-");
    if (fabs(l->change) < 5e-4)
        return dsgd_xstrdup("0.0 %");
    char *const name = name_of(a, l->contestant);
    char *const place = place_name(a, l->place);
    const double factor = a->factor[l->variation * a->n_places + l->place];
    char *const text = dsgd_xprintf("%+.1f %%: %s at %s, for %+.3g %%", 100 * l->change, name,
                                    place, 100 * (factor - 1));
    free(place);
    free(name);
    return text;
}

static void print_lines(const analysis *a, const line *lines, size_t n)
{
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < n; i++) {
        dsgd_columns_row(&t);
        dsgd_columns_put(&t, "parameter", "%s", lines[i].parameter);
        dsgd_columns_take(&t, "largest change of a speed-up", largest_text(a, &lines[i].speedup));
        dsgd_columns_take(&t, "of a throughput", largest_text(a, &lines[i].throughput));
        dsgd_columns_put(&t, "swaps", "%zu", lines[i].swaps);
    }
    dsgd_columns_print(&t);
}

/** The parameters in the order of their effect. */
static void print_parameters(const analysis *a, const char *folder)
{
    line *const lines = dsgd_xcalloc(a->n_variations, sizeof *lines);
    size_t n = 0;
    for (size_t v = 1; v < a->n_variations; v++) {
        if (n == 0 || strcmp(lines[n - 1].parameter, a->variations[v].parameter) != 0)
            lines[n++].parameter = a->variations[v].parameter;
        add_to_line(a, v, &lines[n - 1]);
    }
    qsort(lines, n, sizeof *lines, by_effect);
    printf("\nSensitivity, each parameter times %g and %g; speed-ups over %s;\n"
           "all in %s/sensitivity.csv\n\n",
           1 - a->percent / 100, 1 + a->percent / 100, a->baseline, folder);
    print_lines(a, lines, n);
    putchar('\n');
    free(lines);
}

/**
 * Says under which variations two contestants swap places. Counts also the pairs that are a tie in
 * some variation and not in others.
 */
static bool print_pair(const analysis *a, size_t place, size_t first, size_t second, size_t *ties)
{
    const order unchanged = order_of(a, 0, place, first, second);
    char *when = dsgd_xstrdup("");
    bool tie = false;
    for (size_t v = 1; v < a->n_variations; v++) {
        if (a->factor[v * a->n_places + place] == 0)
            continue; /* there is no such parameter here */
        const order varied = order_of(a, v, place, first, second);
        if (unchanged != UNKNOWN && varied != UNKNOWN)
            tie = tie || (unchanged == TIE) != (varied == TIE);
        if (!is_swap(unchanged, varied))
            continue;
        dsgd_append(&when, "%s%s %+.3g %%", *when == '\0' ? "" : ", ", a->variations[v].parameter,
                    100 * (a->factor[v * a->n_places + place] - 1));
    }
    *ties += tie;
    const bool swap = *when != '\0';
    char *const at = place_name(a, place);
    char *const faster = name_of(a, unchanged == FASTER ? first : second);
    char *const slower = name_of(a, unchanged == FASTER ? second : first);
    if (swap) {
        char *const text =
            dsgd_xprintf("at %s %s is before %s, but behind for %s", at, faster, slower, when);
        dsgd_print_wrapped(stdout, "", 0, DSGD_LINE_WIDTH, text);
        free(text);
    }
    free(slower);
    free(faster);
    free(at);
    free(when);
    return swap;
}

/** The pairs that swap places, and how many rankings change. */
static void print_rankings(const analysis *a)
{
    size_t changed = 0;
    size_t pairs = 0;
    size_t ties = 0;
    for (size_t place = 0; place < a->n_places; place++) {
        bool any = false;
        for (size_t c = 0; c < a->n_contestants; c++)
            for (size_t d = c + 1; d < a->n_contestants; d++, pairs++)
                any = print_pair(a, place, c, d, &ties) || any;
        changed += any;
    }
    if (ties > 0)
        printf("%zu of %zu pairs become or cease to be ties (closer than 1 %% or than the 95 %%\n"
               "interval over seeds), which counts as no swap\n",
               ties, pairs);
    if (a->n_left_out > 0)
        printf("%zu runs without results are left out\n", a->n_left_out);
    if (changed == 0)
        puts("no ranking changes");
    else
        printf("%zu of %zu rankings change\n", changed, a->n_places);
}

dsgd_status dsgd_sensitivity_check(const dsgd_experiment *experiment, const char *baseline,
                                   dsgd_error *error)
{
    if (baseline == NULL)
        return DSGD_OK;
    const char **const names = dsgd_xcalloc(experiment->n_runs + 1, sizeof *names);
    bool found = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        names[i] = experiment->runs[i].label;
        found = found || strcmp(names[i], baseline) == 0;
    }
    char *const hint = dsgd_hint(baseline, names);
    dsgd_status status = DSGD_OK;
    if (!found)
        status = dsgd_fail(error, DSGD_EUSAGE,
                           "--baseline %s: %s has no such algorithm%s; `dsgd check` shows them",
                           baseline, experiment->path, hint);
    free(hint);
    free(names);
    return status;
}

dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const dsgd_results *results,
                                    double percent, const char *baseline, dsgd_error *error)
{
    analysis a = {.experiment = experiment,
                  .baseline = baseline == NULL ? experiment->runs[0].label : baseline,
                  .percent = percent};
    analysis_open(&a, results);
    const dsgd_status status = write_csv(&a, results->folder, error);
    if (status == DSGD_OK) {
        print_parameters(&a, results->folder);
        print_rankings(&a);
    }
    analysis_close(&a);
    return status;
}
