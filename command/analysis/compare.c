/**
 * @file compare.c
 * Implements `dsgd compare`. It prints verdicts, means over seeds with confidence intervals, and
 * differences from a baseline or ratios to the baseline.
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
    dsgd_texts measures; /* columns of runs.csv that the user wants to print (--measure) */
    bool ratio;
    const json_t *manifest; /* manifest of the results folder; NULL if the folder has no manifest */
} arguments;

/* --- compare.csv ------------------------------------------------------------------------------ */

/** Writes the CSV line of point @p p. If @p p is NULL, writes the heading line. */
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

static const char *difference_of(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    if (p->baseline == p)
        return "baseline";
    char *cell = dsgd_interval_text(s->difference, 1, m == DSGD_ACCURACY, true);
    if (fabs(s->difference.mean) > s->difference.ci + DSGD_ROUNDING * fabs(s->of.mean))
        dsgd_append(&cell, " *");
    if (s->difference.n > 0 && s->difference.n < s->of.n)
        dsgd_append(&cell, " (%zu pairs)", s->difference.n);
    return cell;
}

static void put_to_target(const dsgd_comparison *c, const dsgd_frame_point *p, dsgd_columns *t)
{
    if (c->numbers[DSGD_TO_TARGET] == NULL)
        return;
    dsgd_columns_take(t, dsgd_xprintf("time to %s (s)", c->target.text),
                      dsgd_to_target_text(c, p, DSGD_TO_TARGET, 1));
}

/** Adds the means of the columns that the user selected with --measure. */
static void put_measures(const dsgd_comparison *c, const dsgd_frame_point *p,
                         const dsgd_texts *measures, dsgd_columns *t)
{
    for (size_t k = 0; k < measures->n; k++) {
        const double *const x = dsgd_frame_numbers(&c->frame, measures->v[k]);
        char *const head = dsgd_xstrdup(measures->v[k]);
        for (char *s = head; (s = strchr(s, '_')) != NULL;)
            *s = ' '; /* Replace _ by a blank, because headings of a table wrap only at blanks. */
        dsgd_columns_take(t, head, dsgd_interval_text(dsgd_frame_mean(p, x), 1, false, false));
    }
}

static dsgd_status check_measures(const dsgd_comparison *c, const dsgd_texts *measures,
                                  dsgd_error *error)
{
    for (size_t k = 0; k < measures->n; k++) {
        const size_t column = dsgd_csv_column(&c->csv, measures->v[k]);
        size_t row = 0; /* index of the first row whose field is a number */
        while (row < c->csv.n_rows && isnan(dsgd_csv_value(&c->csv, row, column)))
            row++;
        if (row == c->csv.n_rows)
            return dsgd_refuse(error,
                               "--measure %s: %s has no such column, or no number in it; name a "
                               "column of numbers, such as final_consensus",
                               measures->v[k], c->csv.path);
    }
    return DSGD_OK;
}

static void put_means(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                      dsgd_columns *t)
{
    static const char throughput[] = "throughput (samples/s)";
    dsgd_columns_put(t, "seeds", "%zu", dsgd_comparison_of(c, p, m)->of.n);
    dsgd_columns_put(t, "diverged", "%zu", dsgd_frame_count(&c->frame, p, "diverged"));
    dsgd_columns_take(
        t,
        m == DSGD_ACCURACY ? "accuracy (%)"
        : m == DSGD_LOSS   ? "loss"
                           : throughput,
        dsgd_interval_text(dsgd_comparison_of(c, p, m)->of, 1, m == DSGD_ACCURACY, false));
    dsgd_columns_take(t, "difference", difference_of(c, p, m));
    if (m != DSGD_THROUGHPUT)
        dsgd_columns_take(
            t, throughput,
            dsgd_interval_text(dsgd_comparison_of(c, p, DSGD_THROUGHPUT)->of, 1, false, false));
    put_to_target(c, p, t);
}

/** Returns a speed-up with its interval, such as "1.41 (1.38 to 1.45) *". */
static const char *speedup_of(const dsgd_ratio *r)
{
    return dsgd_xprintf("%s%s", dsgd_ratio_text(r), r->n > 1 && r->n_settling == 0 ? " *" : "");
}

static void put_ratios(const dsgd_comparison *c, const dsgd_frame_point *p, const json_t *manifest,
                       dsgd_columns *t)
{
    const bool until = c->numbers[DSGD_TO_TARGET] != NULL;
    const dsgd_ratio *const r = &dsgd_comparison_of(c, p, DSGD_THROUGHPUT)->ratio;
    const dsgd_ratio *const sooner = &dsgd_comparison_of(c, p, DSGD_TO_TARGET)->ratio;
    const size_t other = (p->baseline == NULL ? p : p->baseline)->rows[0];
    const bool by_chance = dsgd_is_by_chance(dsgd_run_of(manifest, &c->csv, p->rows[0])) ||
                           dsgd_is_by_chance(dsgd_run_of(manifest, &c->csv, other));
    dsgd_columns_put(t, "seeds", "%zu", r->n);
    dsgd_columns_take(t, "speed-up", speedup_of(r));
    put_to_target(c, p, t);
    if (until)
        dsgd_columns_take(t, "speed-up to target", speedup_of(sooner));
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
    /*
     * measure of the first column of numbers: accuracy if it is known, else loss, else throughput
     */
    size_t m = DSGD_THROUGHPUT;
    for (size_t i = 0; m != DSGD_ACCURACY && i < f->n_points; i++)
        if (dsgd_comparison_of(c, &f->points[i], DSGD_ACCURACY)->of.n > 0)
            m = DSGD_ACCURACY;
        else if (dsgd_comparison_of(c, &f->points[i], DSGD_LOSS)->of.n > 0)
            m = DSGD_LOSS;
    dsgd_columns t = {.wraps = true};
    for (const dsgd_frame_point *p = f->points; p < f->points + f->n_points; p++) {
        if (a->ratio && p->baseline == p)
            continue;
        dsgd_frame_take_keys(&c->frame, p, &t);
        if (a->ratio)
            put_ratios(c, p, a->manifest, &t);
        else
            put_means(c, p, m, &t);
        put_measures(c, p, &a->measures, &t);
    }
    if (t.n_rows == 0)
        printf("All runs are those of the baseline, %s: there is nothing to compare.\n",
               f->baseline);
    dsgd_columns_hide(&t, "diverged", "0");
    const bool open = !dsgd_columns_hide(&t, "seeds needed", "");
    dsgd_columns_print(&t);
    if (a->ratio)
        printf("\nspeed-up: how many times as fast as %s %s: geometric mean\nover common "
               "seeds, with the 95 %% confidence interval in parentheses.\n"
               "*: the interval does not contain 1 (no correction for multiple comparisons).\n%s",
               dsgd_frame_key(f, f->by), f->baseline,
               open
                   ? "seeds needed: estimated number of seeds with which the interval excludes 1.\n"
                   : "");
    else
        printf("\n±: half width of the 95 %% confidence interval over seeds.\n"
               "difference: from %s %s, over common seeds.\n"
               "*: the interval does not contain 0 (no correction for multiple comparisons).\n",
               dsgd_frame_key(f, f->by), f->baseline);
}

/* --- expenses --------------------------------------------------------------------------------- */

/** Prints bytes, energy and cost if the user specified a target or if runs have a price. */
static void print_expenses(const dsgd_comparison *c)
{
    const bool until = c->target.column != NULL;
    dsgd_columns t = {.wraps = true};
    if (c->numbers[DSGD_SENT_TO_TARGET] == NULL && c->numbers[DSGD_COST] == NULL)
        return;
    dsgd_expense_table(c, &t);
    printf("\n%s:\n", until
                          ? dsgd_xprintf("Time, traffic, energy and cost until %s", c->target.text)
                          : "Traffic, energy and cost of a run");
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
    if (*partial != '\0')
        dsgd_print_text("", 0, "%s", partial);
    if (v.n > 1)
        dsgd_print_text("", 0, "%s", dsgd_verdicts_summary(&v));
    for (size_t i = 0; i < v.n && i < MOST_PLACES; i++)
        dsgd_print_wrapped(stdout,
                           v.n == 1 ? "verdict:"
                                    : dsgd_xprintf("%s:", dsgd_frame_place(&v.frame, v.v[i].at)),
                           2, DSGD_TEXT_WIDTH, v.v[i].text);
    if (v.n > MOST_PLACES)
        printf("`dsgd report` shows %zu more settings.\n", v.n - MOST_PLACES);
    if (*v.unvaried != '\0')
        dsgd_print_wrapped(stdout, "note:", 2, DSGD_TEXT_WIDTH, v.unvaried);
    putchar('\n');
    return DSGD_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(TEXT, framing.baseline, "baseline", 'b', "NAME",
                  "Baseline of the comparison [default: allreduce, else the first algorithm]"),
    DSGD_ARGUMENT(
        TEXT, framing.by, "by", 'y', "COLUMN",
        "Column whose values are compared, one of which is the baseline; all other columns "
        "must be equal [default: algorithm]"),
    DSGD_ARGUMENT(
        TEXT, target, "target", 't', "WHAT=NUMBER",
        "Adds the virtual time at which accuracy=NUMBER or loss=NUMBER is first reached, "
        "interpolated linearly between evaluations; there is no mean if a seed never reaches it"),
    DSGD_ARGUMENT(TEXTS, measures, "measure", 'm', "COLUMN",
                  "Adds the mean of a column of runs.csv, such as final_consensus or "
                  "staleness_mean (may be repeated)"),
    DSGD_ARGUMENT(
        FLAG, ratio, "ratio", 'r', NULL,
        "Shows speed-ups over the baseline instead of differences, with 95 % intervals and "
        "the number of seeds that a certain result needs"),
    {.name = NULL},
};

static dsgd_status compare(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "DIR",
        "Compares the runs of DIR/runs.csv over seeds: prints the winner and a table of means with "
        "95 % confidence intervals and differences from a baseline, paired by seed. Writes the "
        "table to DIR/compare.csv.",
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
    DSGD_TRY(print_verdicts(&a, &c.csv, error));
    print_table(&c, &a);
    if (c.frame.n_left_out > 0)
        printf("%zu runs without results (status failed or timeout) are left out.\n",
               c.frame.n_left_out);
    dsgd_warn_of_mixed_collectives(stdout, &c.csv);
    print_expenses(&c);
    return DSGD_OK;
}

const dsgd_command dsgd_command_compare = {
    .name = "compare",
    .usage = "DIR",
    .summary = "compares the runs of a results folder over seeds, and names the winner",
    .run = compare,
};
