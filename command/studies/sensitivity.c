/**
 * @file sensitivity.c
 * Computes the effect of each variation on throughputs, speed-ups and rankings.
 */
#include "command/studies/sensitivity.h"

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/frame.h"
#include "command/analysis/run_table.h"
#include "command/console/table.h"
#include "command/experiment/config.h"

dsgd_status dsgd_sensitivity_open(const char *sensitivity, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error)
{
    *percent = NAN;
    if (strcmp(sensitivity, "choices") != 0 &&
        (!dsgd_parse_number(sensitivity, NULL, percent) || !(*percent > 0 && *percent < 100)))
        return dsgd_refuse(error,
                           "--sensitivity must be above 0 and below 100 (per cent) or `choices`, "
                           "got `%s`",
                           sensitivity);
    return dsgd_vary(experiment, *percent, error);
}

/* --- throughputs ------------------------------------------------------------------------------ */

typedef struct analysis {
    dsgd_csv runs;
    dsgd_frame frame;
    double *throughput; /* array with the throughput of each row in samples/s; NAN if the run does
                         * not count */
    /*
     * Array [variations][places][series] of points; NULL if a point does not exist. The runs of a
     * point may have no results. If a series does not use the varied parameter, its point is the
     * unchanged point.
     */
    const dsgd_frame_point **points;
    const dsgd_frame_point **of; /* array [variations] with any one point of each variation */
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

/**
 * Returns the factor of a variation. Returns NAN if the variation is another choice instead of a
 * factor.
 */
static double factor_of(const analysis *a, size_t v)
{
    return dsgd_csv_value(&a->runs, a->of[v]->rows[0], dsgd_csv_column(&a->runs, "factor"));
}

/** Returns the name of a point's series as a text for readers, such as "wagma; group 4". */
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

/* --- effects of variations -------------------------------------------------------------------- */

/**
 * The effect of a variation on one series at one place (a combination of workers and swept values).
 * An unknown number is NAN.
 */
typedef struct effect {
    size_t n; /* number of seeds over which the effect is computed */
    double throughput, unchanged; /* throughput with the variation, and throughput without it, in
                                   * samples/s */
    double change; /* relative change of the throughput by the variation */
    /*
     * speed-up over the baseline with the variation, the same without it, and the relative change
     */
    double speedup, unchanged_speedup, speedup_change;
} effect;

/**
 * Returns the effect of a variation on the series at point @p k. The member n of the effect is 0 if
 * the variation changes neither the series nor its baseline, or if results are missing.
 */
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

/** Order of two series at one place, by throughput. */
typedef enum order {
    SLOWER = -1, /* The first series is slower. */
    TIE = 0, /* The ratio of throughputs differs from 1 by at most DSGD_TIE, or its confidence
              * interval includes 1. */
    FASTER = 1,
    /* The two series have no seed in common. */
    UNKNOWN = 2
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

/** Returns true if one order of two series is the reverse of the other order. */
static bool is_swap(order a, order b)
{
    return (a == FASTER && b == SLOWER) || (a == SLOWER && b == FASTER);
}

/* --- sensitivity.csv -------------------------------------------------------------------------- */

/**
 * Writes the keys of a point except its variation, each followed by a comma. If @p p is NULL,
 * writes the names of the keys.
 */
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

/** The largest change that a parameter causes, and the point at which it occurs. */
typedef struct largest {
    const dsgd_frame_point *at; /* point with the largest change; NULL if no change is known */
    size_t variation;
    double change; /* relative change of the throughput, or of the speed-up, at this point */
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

/**
 * Returns the factor of a variation as a text such as " +20 %". Returns "" for another choice,
 * because the name of the variation already contains the choice.
 */
static const char *factor_text(const analysis *a, size_t v)
{
    const double factor = factor_of(a, v);
    return isnan(factor) ? "" : dsgd_xprintf(" %+.3g %%", 100 * (factor - 1));
}

/** Returns a text about the largest change, such as "-12.3 %: wagma at 64 workers, for +20 %". */
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

/** Prints the parameters. The parameter with the largest effect comes first. */
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
    printf("\nSensitivity: %s. Speed-ups over %s.\nAll results: %s/sensitivity.csv\n\n",
           isnan(a->percent) ? "each other choice"
                             : dsgd_xprintf("each parameter times %g and %g", 1 - a->percent / 100,
                                            1 + a->percent / 100),
           a->frame.baseline, folder);
    dsgd_columns t = {.wraps = true};
    for (size_t i = 0; i < n_lines; i++) {
        dsgd_columns_row(&t);
        /* length of the parameter's name; words of a choice follow the name and may wrap */
        const size_t end = strcspn(lines[i].parameter, "=");
        dsgd_columns_put(&t, "parameter", "%.*s%s%s", (int)end, lines[i].parameter,
                         lines[i].parameter[end] == '\0' ? "" : " ",
                         lines[i].parameter + end + (lines[i].parameter[end] == '='));
        dsgd_columns_take(&t, "largest change of a speed-up", largest_text(a, &lines[i].speedup));
        dsgd_columns_take(&t, "largest change of a throughput",
                          largest_text(a, &lines[i].throughput));
        dsgd_columns_put(&t, "swaps", "%zu", lines[i].swaps);
    }
    dsgd_columns_print(&t);
    putchar('\n');
}

/**
 * Prints the variations under which two series change their order. Also counts the pairs that tie
 * in only some variations.
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
                       dsgd_xprintf("at %s, %s is faster than %s, but slower for %s",
                                    dsgd_frame_place(&a->frame, p),
                                    name_of(a, unchanged == FASTER ? p : q),
                                    name_of(a, unchanged == FASTER ? q : p), when));
    return true;
}

/**
 * Prints the pairs of series whose order changes. Also prints the number of rankings that change.
 */
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
               "interval over seeds), which does not count as a swap\n",
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
                                    double percent, dsgd_error *error)
{
    analysis a = {.percent = percent};
    DSGD_TRY(analysis_open(&a, results->folder, experiment->runs[0].label, error));
    DSGD_TRY(write_csv(&a, results->folder, error));
    print_parameters(&a, results->folder);
    print_rankings(&a);
    return DSGD_OK;
}
