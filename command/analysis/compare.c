/**
 * @file compare.c
 * `dsgd compare`: means over seeds with confidence intervals, differences to a baseline, ratios,
 * and verdicts.
 */
#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/comparison.h"
#include "command/analysis/verdict.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/runs/manifest.h"
#include "command/runs/swept.h"

typedef struct arguments {
    dsgd_operands folder;
    dsgd_framing framing;
    const char *target;
    dsgd_texts measures; /* columns of runs.csv */
    bool ratio;
    const json_t *manifest; /* NULL: none */
} arguments;

/* --- compare.csv ------------------------------------------------------------------------------ */

/** The line of a point; NULL: the header. */
static void write_line(FILE *stream, const dsgd_comparison *c, const dsgd_frame_point *p,
                       bool ratio)
{
    dsgd_frame_put_keys(stream, &c->frame, p);
    dsgd_csv_text(stream, p == NULL ? "label" : dsgd_frame_label(&c->frame, p));
    if (p == NULL)
        fputs(",n_diverged", stream);
    else
        fprintf(stream, ",%zu", dsgd_frame_count(&c->frame, p, "diverged"));
    for (size_t m = 0; m < DSGD_N_MEASURES; m++) {
        const bool to_target = dsgd_measures[m].along != NULL;
        const bool has_ratio = ratio && (m == DSGD_THROUGHPUT || to_target);
        dsgd_summary s = {.of.n = 0};
        if (p != NULL)
            s = *dsgd_comparison_of(c, p, m);
        const struct {
            const char *name;
            bool is_there;
            double x;
        } columns[] = {{"n", true, (double)s.of.n},
                       {"mean", true, s.of.mean},
                       {"ci", true, s.of.ci},
                       {"diff", true, s.difference.mean},
                       {"diff_ci", true, s.difference.ci},
                       {"seeds", to_target, p == NULL ? 0 : (double)p->n_rows},
                       {"median", to_target, s.median},
                       {"ratio", has_ratio, s.ratio.ratio},
                       {"ratio_low", has_ratio, s.ratio.low},
                       {"ratio_high", has_ratio, s.ratio.high}};
        for (size_t k = 0; c->numbers[m] != NULL && k < sizeof columns / sizeof columns[0]; k++)
            if (columns[k].is_there && p == NULL)
                fprintf(stream, ",%s_%s", dsgd_measures[m].name, columns[k].name);
            else if (columns[k].is_there)
                dsgd_csv_numbers(stream, &columns[k].x, 1);
    }
    fputc('\n', stream);
}

static dsgd_status write_csv(const dsgd_comparison *c, const char *folder, bool ratio,
                             dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/compare.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    write_line(stream, c, NULL, ratio);
    for (size_t i = 0; i < c->frame.n_points; i++)
        write_line(stream, c, &c->frame.points[i], ratio);
    return dsgd_whole_close(&file, error);
}

/* --- the table -------------------------------------------------------------------------------- */

/** A number for readers. */
static char *readable(double x, bool per_cent, bool sign)
{
    if (per_cent)
        return dsgd_xprintf(sign ? "%+.2f" : "%.2f", 100 * x);
    return dsgd_xprintf("%s%s", sign && !signbit(x) ? "+" : "", dsgd_readable(x, 4));
}

static const double rounding = 1e-9; /* more than the error in a mean of equals, as its share */

/** "12.34 ± 0.56" of a multiple, or less where there is less. */
static char *with_interval(dsgd_interval x, double multiple, bool per_cent, bool sign)
{
    char *text = isnan(x.mean) ? dsgd_xstrdup("") : readable(multiple * x.mean, per_cent, sign);
    if (!isnan(x.mean) && !isnan(x.ci))
        dsgd_append(
            &text, " ± %s",
            readable(x.ci > rounding * fabs(x.mean) ? multiple * x.ci : 0, per_cent, false));
    return text;
}

static const char *difference_of(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    if (p->baseline == p)
        return "baseline";
    char *cell = with_interval(s->difference, 1, m == DSGD_ACCURACY, true);
    if (fabs(s->difference.mean) > s->difference.ci + rounding * fabs(s->of.mean))
        dsgd_append(&cell, " *");
    if (s->difference.n > 0 && s->difference.n < s->of.n)
        dsgd_append(&cell, " (%zu pairs)", s->difference.n);
    return cell;
}

static const char *mean_of(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m)
{
    return with_interval(dsgd_comparison_of(c, p, m)->of, 1, m == DSGD_ACCURACY, false);
}

/**
 * Of what is taken until the target: the mean where all seeds reached it; else how many did, and
 * the median if it is known.
 */
static const char *to_target(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                             double multiple)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    if (s->of.n < dsgd_comparison_of(c, p, DSGD_TO_TARGET)->of.n)
        return ""; /* reached, but for what is not known */
    if (s->of.n == p->n_rows)
        return with_interval(s->of, multiple, false, false);
    if (s->of.n == 0)
        return "never";
    char *cell = dsgd_xprintf("%zu of %zu seeds", s->of.n, p->n_rows);
    if (!isnan(s->median))
        dsgd_append(&cell, ", median %s", readable(multiple * s->median, false, false));
    return cell;
}

static void put_to_target(const dsgd_comparison *c, const dsgd_frame_point *p, dsgd_columns *t)
{
    if (c->numbers[DSGD_TO_TARGET] == NULL)
        return;
    dsgd_columns_take(t, dsgd_xprintf("time to %s (s)", c->target.text),
                      to_target(c, p, DSGD_TO_TARGET, 1));
}

static void put_keys(const dsgd_comparison *c, const dsgd_frame_point *p, dsgd_columns *t)
{
    dsgd_columns_row(t);
    for (size_t k = 0; k < c->frame.n_keys; k++) {
        if (k > 0 && c->frame.n_values[k] < 2)
            continue;
        const char *const column = dsgd_frame_key(&c->frame, k);
        dsgd_columns_take(t, column, dsgd_swept_value(column, dsgd_frame_value(&c->frame, p, k)));
    }
}

/** The means of columns that were asked for. */
static void put_measures(const dsgd_comparison *c, const dsgd_frame_point *p,
                         const dsgd_texts *measures, dsgd_columns *t)
{
    for (size_t k = 0; k < measures->n; k++) {
        const double *const x = dsgd_frame_numbers(&c->frame, measures->v[k]);
        char *const head = dsgd_xstrdup(measures->v[k]);
        for (char *s = head; (s = strchr(s, '_')) != NULL;)
            *s = ' '; /* where a table may break it */
        dsgd_columns_take(t, head, with_interval(dsgd_frame_mean(p, x), 1, false, false));
    }
}

static dsgd_status check_measures(const dsgd_comparison *c, const dsgd_texts *measures,
                                  dsgd_error *error)
{
    for (size_t k = 0; k < measures->n; k++) {
        const size_t column = dsgd_csv_column(&c->csv, measures->v[k]);
        size_t row = 0; /* the first with a number */
        while (row < c->csv.n_rows && isnan(dsgd_csv_value(&c->csv, row, column)))
            row++;
        if (row == c->csv.n_rows)
            return dsgd_refuse(error,
                               "--measure %s: %s has no such column, or no number in it; allowed "
                               "are columns of numbers, such as final_consensus",
                               measures->v[k], c->csv.path);
    }
    return DSGD_OK;
}

static void put_means(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                      dsgd_columns *t)
{
    static const char throughput[] = "throughput (samples/s)";
    dsgd_columns_put(t, "n", "%zu", dsgd_comparison_of(c, p, m)->of.n);
    dsgd_columns_put(t, "diverged", "%zu", dsgd_frame_count(&c->frame, p, "diverged"));
    dsgd_columns_take(t,
                      m == DSGD_ACCURACY ? "accuracy (%)"
                      : m == DSGD_LOSS   ? "loss"
                                         : throughput,
                      mean_of(c, p, m));
    dsgd_columns_take(t, "difference", difference_of(c, p, m));
    if (m != DSGD_THROUGHPUT)
        dsgd_columns_take(t, throughput, mean_of(c, p, DSGD_THROUGHPUT));
    put_to_target(c, p, t);
}

/** "1.41 (1.38 to 1.45) *", or less where there is less. */
static const char *speedup_of(const dsgd_ratio *r)
{
    return dsgd_xprintf("%s%s", dsgd_ratio_text(r), r->n > 1 && r->n_settling == 0 ? " *" : "");
}

static bool is_by_chance(const dsgd_comparison *c, const dsgd_frame_point *p,
                         const json_t *manifest)
{
    return p != NULL && dsgd_is_by_chance(dsgd_run_of(manifest, &c->csv, p->rows[0]));
}

static void put_ratios(const dsgd_comparison *c, const dsgd_frame_point *p, const json_t *manifest,
                       dsgd_columns *t)
{
    const bool until = c->numbers[DSGD_TO_TARGET] != NULL;
    const dsgd_ratio *const r = &dsgd_comparison_of(c, p, DSGD_THROUGHPUT)->ratio;
    const dsgd_ratio *const sooner = &dsgd_comparison_of(c, p, DSGD_TO_TARGET)->ratio;
    const bool by_chance = is_by_chance(c, p, manifest) || is_by_chance(c, p->baseline, manifest);
    dsgd_columns_put(t, "n", "%zu", r->n);
    dsgd_columns_take(t, "throughput (times)", speedup_of(r));
    put_to_target(c, p, t);
    if (until)
        dsgd_columns_take(t, "sooner (times)", speedup_of(sooner));
    const dsgd_ratio *const open = until ? sooner : r;
    dsgd_columns_take(t, "seeds needed",
                      !by_chance                           ? ""
                      : open->n == 1                       ? "2 or more"
                      : open->n_settling == 0              ? ""
                      : open->n_settling > DSGD_MOST_SEEDS ? dsgd_xprintf("> %d", DSGD_MOST_SEEDS)
                                                           : dsgd_xprintf("%zu", open->n_settling));
}

static void print_table(const dsgd_comparison *c, const arguments *a)
{
    const dsgd_frame *const f = &c->frame;
    size_t m = DSGD_THROUGHPUT; /* comes first: accuracy, else loss, else this */
    for (size_t i = 0; m != DSGD_ACCURACY && i < f->n_points; i++)
        if (dsgd_comparison_of(c, &f->points[i], DSGD_ACCURACY)->of.n > 0)
            m = DSGD_ACCURACY;
        else if (dsgd_comparison_of(c, &f->points[i], DSGD_LOSS)->of.n > 0)
            m = DSGD_LOSS;
    dsgd_columns t = {.wraps = true};
    for (const dsgd_frame_point *p = f->points; p < f->points + f->n_points; p++) {
        if (a->ratio && p->baseline == p)
            continue;
        put_keys(c, p, &t);
        if (a->ratio)
            put_ratios(c, p, a->manifest, &t);
        else
            put_means(c, p, m, &t);
        put_measures(c, p, &a->measures, &t);
    }
    if (t.n_rows == 0)
        printf("%s is compared with nothing: it is all that there is.\n", f->baseline);
    dsgd_columns_hide(&t, "diverged", "0");
    const bool open = !dsgd_columns_hide(&t, "seeds needed", "");
    dsgd_columns_print(&t);
    if (a->ratio)
        printf("\ntimes: geometric mean of ratios to %s %s over common seeds, with its 95 %%\n"
               "interval.\n*: the interval does not contain 1 (not corrected for several "
               "comparisons).\n%s",
               dsgd_frame_key(f, f->by), f->baseline,
               open ? "seeds needed: about as many as make it leave out 1, if others vary as these "
                      "do.\n"
                    : "");
    else
        printf("\n±: half width of the 95 %% confidence interval over seeds.\n"
               "Difference: to %s %s, over common seeds.\n"
               "*: the interval does not contain 0 (not corrected for several comparisons).\n",
               dsgd_frame_key(f, f->by), f->baseline);
}

/* --- expenses --------------------------------------------------------------------------------- */

/** With a target, or where runs have a price: else compare.csv has it. */
static void print_expenses(const dsgd_comparison *c)
{
    const bool until = c->target.column != NULL;
    dsgd_columns t = {.wraps = true};
    if (c->numbers[DSGD_SENT_TO_TARGET] == NULL && c->numbers[DSGD_COST] == NULL)
        return;
    for (const dsgd_frame_point *p = c->frame.points; p < c->frame.points + c->frame.n_points;
         p++) {
        put_keys(c, p, &t);
        for (const dsgd_expense *e = dsgd_expenses; e < dsgd_expenses + DSGD_N_EXPENSES; e++) {
            const size_t m = until ? e->to_target : e->measure;
            if (c->numbers[m] == NULL)
                continue;
            dsgd_columns_take(
                &t, dsgd_expense_head(c, e),
                until ? to_target(c, p, m, e->multiple)
                      : with_interval(dsgd_comparison_of(c, p, m)->of, e->multiple, false, false));
        }
    }
    printf("\n%s%s:\n", until ? "Until " : "By the end of a run", until ? c->target.text : "");
    dsgd_columns_print(&t);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static dsgd_status print_verdicts(const arguments *a, const dsgd_csv *runs, dsgd_error *error)
{
    enum { MOST_PLACES = 12 };
    dsgd_verdicts v;
    const char *const partial = dsgd_partial_results(runs, a->manifest);
    DSGD_TRY(
        dsgd_verdicts_open(runs, a->folder.v[0], &a->framing, a->manifest, a->target, &v, error));
    putchar('\n');
    if (*partial != '\0')
        dsgd_print_text("", 0, "%s", partial);
    if (v.n > 1)
        dsgd_print_text("", 0, "%s.", dsgd_verdicts_summary(&v));
    for (size_t i = 0; i < v.n && i < MOST_PLACES; i++)
        dsgd_print_wrapped(stdout,
                           v.n == 1 ? "verdict:"
                                    : dsgd_xprintf("%s:", dsgd_frame_place(&v.frame, v.v[i].at)),
                           2, DSGD_TEXT_WIDTH, v.v[i].text);
    if (v.n > MOST_PLACES)
        printf("%zu more places are on the page of `dsgd report`.\n", v.n - MOST_PLACES);
    if (*v.unvaried != '\0')
        dsgd_print_wrapped(stdout, "note:", 2, DSGD_TEXT_WIDTH, v.unvaried);
    return DSGD_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, framing.baseline, "baseline", 'b', "NAME",
                  "What the others are compared with (allreduce, or else what comes first)"),
    DSGD_ARGUMENT(TEXT, framing.by, "by", 'y', "COLUMN",
                  "The column whose values are compared, one of which is the baseline (algorithm); "
                  "all other columns are the same in both"),
    DSGD_ARGUMENT(
        TEXT, target, "target", 't', "WHAT=NUMBER",
        "Adds the virtual time at which accuracy=NUMBER or loss=NUMBER is reached first, "
        "interpolated linearly between the evaluations; no mean where a seed never reaches it"),
    DSGD_ARGUMENT(TEXTS, measures, "measure", 'm', "COLUMN",
                  "Adds the mean of a column of runs.csv, such as final_consensus or "
                  "staleness_mean; may be repeated"),
    DSGD_ARGUMENT(FLAG, ratio, "ratio", 'r', NULL,
                  "Shows speed-ups over the baseline in place of differences, each with its 95 % "
                  "interval, and how many seeds would settle what is open"),
    {.name = NULL},
};

static dsgd_status compare(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "DIR",
        "Sums up DIR/runs.csv over seeds into a table and DIR/compare.csv: means, 95 % confidence "
        "intervals, and differences to a baseline, paired by seed.",
        1,
        1,
        "compare: give the folder of one experiment's results",
        options};
    arguments a = {.ratio = false};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    dsgd_comparison c;
    DSGD_TRY(dsgd_comparison_open(a.folder.v[0], &a.framing, a.target, &c, error));
    DSGD_TRY(check_measures(&c, &a.measures, error));
    DSGD_TRY(write_csv(&c, a.folder.v[0], a.ratio, error));
    a.manifest = dsgd_manifest_unfold(dsgd_manifest_read(a.folder.v[0]));
    print_table(&c, &a);
    if (c.frame.n_left_out > 0)
        printf("%zu runs that are neither ok nor diverged are left out.\n", c.frame.n_left_out);
    dsgd_warn_of_mixed_collectives(stdout, &c.csv);
    print_expenses(&c);
    return print_verdicts(&a, &c.csv, error);
}

const dsgd_command dsgd_command_compare = {
    .name = "compare",
    .usage = "DIR",
    .summary = "sums up the runs of a folder of results over seeds, and compares them",
    .run = compare,
};
