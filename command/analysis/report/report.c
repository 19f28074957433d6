/**
 * @file report.c
 * `dsgd report`: the results of a folder as one page of HTML that needs nothing else.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/report/data.h"
#include "command/analysis/verdict.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/runs/swept.h"

/* --- results ---------------------------------------------------------------------------------- */

/** Four significant digits of the mean, and as many decimals of the interval. */
static const char *interval_text(dsgd_interval x)
{
    const double size = fmax(fabs(x.mean), 1e-9);
    const int decimals = size >= 1000 ? 0 : size < 1e-3 ? 6 : 3 - (int)floor(log10(size));
    if (!isfinite(x.mean))
        return "unknown";
    if (x.mean == 0 && !(x.ci > 0))
        return "0";
    if (size >= 1e9)
        return dsgd_xprintf("%.4g ± %.2g", x.mean, x.ci);
    return isfinite(x.ci) ? dsgd_xprintf("%.*f ± %.*f", decimals, x.mean, decimals, x.ci)
                          : dsgd_xprintf("%.*f", decimals, x.mean);
}

/** A quantity of the tables; a column is left out where no point has it. */
typedef struct quantity {
    const char *head, *column; /* of runs.csv; NULL: the speed-up */
    double factor;
    bool if_more; /* known only where it is more than the quantity before it */
    double *x; /* the column times the factor, by row */
    bool is_shown;
} quantity;

static double *numbers_of(const dsgd_report *r, const quantity *q)
{
    const bool is_sent = strcmp(q->column, "sent_mean_bytes") == 0;
    double *const x =
        is_sent ? dsgd_frame_sent(&r->frame) : dsgd_frame_numbers(&r->frame, q->column);
    for (size_t row = 0; row < r->runs.n_rows; row++)
        x[row] *= q->factor;
    return x;
}

/** A cell of a point's row; "": it does not have the quantity. */
static const char *cell_of(const dsgd_report *r, const quantity *q, const dsgd_frame_point *p)
{
    if (q->column == NULL) {
        const dsgd_ratio ratio =
            dsgd_frame_ratio(&r->frame, p, p->baseline == p ? NULL : p->baseline, r->throughput);
        return dsgd_ratio_text(&ratio);
    }
    const dsgd_interval of = dsgd_frame_mean(p, q->x);
    return of.n == 0 || (q->if_more && !(of.mean > (1 + 1e-3) * dsgd_frame_mean(p, q[-1].x).mean))
               ? ""
               : interval_text(of);
}

/** Of the row of a point. */
static void put_point(const dsgd_report *r, const dsgd_frame_point *p, const quantity *all,
                      size_t n_all, dsgd_columns *t)
{
    dsgd_columns_row(t);
    dsgd_columns_take(t, "algorithm", dsgd_field_of(&r->runs, p->rows[0], "algorithm"));
    for (size_t k = r->frame.first_swept; k < r->runs.n_columns; k++) {
        const char *const column = r->runs.fields[k];
        dsgd_columns_take(t, dsgd_swept_name(column),
                          dsgd_swept_value(column, dsgd_csv_field(&r->runs, p->rows[0], k)));
    }
    dsgd_columns_take(t, "workers", dsgd_field_of(&r->runs, p->rows[0], "workers"));
    dsgd_columns_put(t, "seeds", "%zu", dsgd_frame_mean(p, r->throughput).n);
    for (const quantity *q = all; q < all + n_all; q++) {
        const char *const cell =
            q->column == NULL && p->baseline == p ? "baseline" : cell_of(r, q, p);
        if (q->is_shown)
            dsgd_columns_take(t, q->head,
                              *cell != '\0' ? cell
                              : q->if_more  ? "the same"
                                            : "unknown");
    }
}

static void write_quantities(FILE *html, const dsgd_report *r, const char *caption, quantity *all,
                             size_t n_all)
{
    const dsgd_frame_point none = {.rows = (size_t[]){0}}; /* makes the columns */
    dsgd_columns t = {.n_rows = 0};
    for (quantity *q = all; q < all + n_all; q++) {
        q->x = q->column == NULL ? NULL : numbers_of(r, q);
        for (size_t i = 0; i < r->frame.n_points; i++)
            q->is_shown = q->is_shown || *cell_of(r, q, &r->frame.points[i]) != '\0';
    }
    for (size_t i = 0; i < r->frame.n_points; i++)
        put_point(r, &r->frame.points[i], all, n_all, &t);
    if (r->frame.n_points == 0)
        put_point(r, &none, all, n_all, &t);
    t.n_rows = r->frame.n_points;
    dsgd_html_table(html, caption, caption, &t, 1 + r->runs.n_columns - r->frame.first_swept);
    if (r->frame.n_points > DSGD_MOST_ROWS)
        fprintf(html, "<p>%zu more rows are in runs.csv.</p>\n",
                r->frame.n_points - DSGD_MOST_ROWS);
}

/* --- until a target --------------------------------------------------------------------------- */

/** A mean where all seeds reached the target; else the median, where it is known. */
static const char *cost_of(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                           double multiple)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    if (s->of.n < p->n_rows)
        return isfinite(s->median)
                   ? dsgd_xprintf("median %s", dsgd_readable(multiple * s->median, 4))
               : dsgd_comparison_of(c, p, DSGD_TO_TARGET)->of.n == 0 ? "never"
                                                                     : "unknown";
    const char *const mean = dsgd_readable(multiple * s->of.mean, 4);
    return isfinite(s->of.ci) ? dsgd_xprintf("%s ± %s", mean, dsgd_readable(multiple * s->of.ci, 2))
                              : mean;
}

static dsgd_status put_table(FILE *html, const char *folder, const char *target, dsgd_error *error)
{
    dsgd_comparison c;
    DSGD_TRY(dsgd_comparison_open(folder, &(dsgd_framing){.by = NULL}, target, &c, error));
    dsgd_columns t = {.n_rows = 0};
    for (size_t i = 0; i < c.frame.n_points; i++) {
        const dsgd_frame_point *const p = &c.frame.points[i];
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "runs", dsgd_frame_label(&c.frame, p));
        dsgd_columns_put(&t, "seeds that reach it", "%zu of %zu",
                         dsgd_comparison_of(&c, p, DSGD_TO_TARGET)->of.n, p->n_rows);
        dsgd_columns_take(&t, "time (s)", cost_of(&c, p, DSGD_TO_TARGET, 1));
        for (const dsgd_expense *e = dsgd_expenses; e < dsgd_expenses + DSGD_N_EXPENSES; e++)
            if (c.numbers[e->to_target] != NULL)
                dsgd_columns_take(&t, dsgd_expense_head(&c, e),
                                  cost_of(&c, p, e->to_target, e->multiple));
    }
    dsgd_html_table(html, "What it takes to the target", dsgd_xprintf("Until %s", c.target.text),
                    &t, 1);
    fputs("<p>A mean where all seeds reach the target, else the median, if more than half do. "
          "Energy and cost are the run's in proportion to time, what is sent in proportion to "
          "steps.</p>\n",
          html);
    return DSGD_OK;
}

/** The accuracy that runs go on until, as a target; NULL: they do not. */
static const char *aim_of(const dsgd_report *report)
{
    const double accuracy = json_number_value(
        dsgd_run_option(dsgd_run_of(report->manifest, &report->runs, 0), "until", "accuracy"));
    return accuracy > 0 ? dsgd_xprintf("accuracy=%g", accuracy) : NULL;
}

/**
 * Writes a table of what it takes to reach a target such as accuracy=0.8, which is refused as by
 * `dsgd compare`. NULL: the accuracy that runs go on until, if they do, and have curves.
 */
static dsgd_status write_target(FILE *html, const dsgd_report *r, const char *target,
                                dsgd_error *error)
{
    dsgd_error why; /* without curves there is no table */
    if (target != NULL)
        return put_table(html, r->folder, target, error);
    if (aim_of(r) != NULL)
        put_table(html, r->folder, aim_of(r), &why);
    return DSGD_OK;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void warn_of_missing_runs(const dsgd_report *r, dsgd_names *s)
{
    const char *const partial = dsgd_partial_results(&r->runs, r->manifest);
    if (*partial != '\0')
        dsgd_names_add(s, partial);
    static const struct {
        const char *status, *meaning;
    } states[] = {
        {"failed", "they are left out"},
        {"timeout", "they were not done after --timeout and are left out"},
        {"diverged", "their loss is no number or grew without end; their times hold"},
    };
    for (size_t k = 0; k < sizeof states / sizeof states[0]; k++) {
        size_t n = 0;
        for (size_t row = 0; row < r->runs.n_rows; row++)
            n += strcmp(dsgd_field_of(&r->runs, row, "status"), states[k].status) == 0;
        if (n > 0)
            dsgd_names_add(s, dsgd_xprintf("%zu of %zu runs have the status %s: %s.", n,
                                           r->runs.n_rows, states[k].status, states[k].meaning));
    }
}

/* Sentences; NULL: there is nothing to say. */

static double option_of(const dsgd_report *r, size_t row, const char *part, const char *key)
{
    return json_number_value(dsgd_run_option(dsgd_run_of(r->manifest, &r->runs, row), part, key));
}

static const char *short_runs(const dsgd_report *r)
{
    dsgd_names names = {.n = 0};
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const size_t row = r->frame.points[k].rows[0];
        const double period = option_of(r, row, "algorithm", "period");
        const double steps = dsgd_csv_value(&r->runs, row, dsgd_csv_column(&r->runs, "steps"));
        if (steps < period)
            dsgd_names_add(&names,
                           dsgd_xprintf("%s has a period of %g steps, but its runs end "
                                        "after %g",
                                        dsgd_field_of(&r->runs, row, "algorithm"), period, steps));
    }
    return names.n == 0 ? NULL
                        : dsgd_xprintf("Bound shorter than a period: %s, before the first one is "
                                       "over.",
                                       dsgd_listed(names.v, " and "));
}

static const char *missed_targets(const dsgd_report *r)
{
    const size_t accuracy = dsgd_csv_column(&r->runs, "final_accuracy");
    size_t n = 0, n_missed = 0;
    double target = 0;
    for (size_t row = 0; row < r->runs.n_rows; row++) {
        const double wanted = option_of(r, row, "until", "accuracy");
        if (!(wanted > 0))
            continue;
        target = wanted;
        n++;
        n_missed += !(dsgd_csv_value(&r->runs, row, accuracy) >= wanted);
    }
    return n_missed == 0 ? NULL
                         : dsgd_xprintf("Target not reached: %zu of %zu runs ended before the "
                                        "accuracy of %g that they run until.",
                                        n_missed, n, target);
}

/** Writes what a reader could take for more than it is. */
static void write_warnings(FILE *html, const dsgd_report *r)
{
    const char *const mixed = dsgd_mixed_collectives(&r->runs); /* as of `dsgd compare` */
    const char *const others[] = {short_runs(r), missed_targets(r),
                                  mixed == NULL ? NULL
                                                : dsgd_xprintf("Collectives mixed: %s.", mixed)};
    dsgd_names s = {.n = 0};
    warn_of_missing_runs(r, &s);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] != NULL)
            dsgd_names_add(&s, others[i]);
    fputs("<h3>Warnings</h3>\n", html);
    fputs(s.n == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n", html);
    for (size_t i = 0; i < s.n; i++)
        dsgd_html(html, "<li>%s</li>\n", s.v[i]);
    fputs(s.n == 0 ? "" : "</ul>\n", html);
}

/**
 * Who is first, by the last swept value (columns) and all others (rows); "?" where that is open or
 * a tie. False: fewer than two values are swept.
 */
static bool write_matrix(FILE *html, const dsgd_verdicts *v)
{
    const dsgd_frame *const f = &v->frame;
    size_t last = 0;
    for (size_t k = 1; k < f->n_keys; k++)
        if (f->n_values[k] > 1 && dsgd_frame_part(f, k) == DSGD_PLACE)
            last = k;
    dsgd_names rows = {.n = 0}, columns = {.n = 0};
    for (size_t i = 0; i < v->n; i++) {
        dsgd_names_add(&rows, dsgd_frame_settings(f, v->v[i].at, 1 << DSGD_PLACE, last, ", "));
        dsgd_names_add(&columns, dsgd_frame_text(f, v->v[i].at, last));
    }
    if (rows.n < 2 || columns.n < 2)
        return false;
    const char **const cells = dsgd_keep(rows.n * columns.n, sizeof *cells);
    for (size_t i = 0; i < v->n; i++)
        cells[dsgd_names_add(&rows,
                             dsgd_frame_settings(f, v->v[i].at, 1 << DSGD_PLACE, last, ", ")) *
                  columns.n +
              dsgd_names_add(&columns, dsgd_frame_text(f, v->v[i].at, last))] =
            dsgd_xprintf("%s%s", v->v[i].winner == NULL ? "nobody" : v->v[i].name,
                         v->v[i].is_tied ? " ?" : "");
    dsgd_columns t = {.n_rows = 0};
    for (size_t row = 0; row < rows.n; row++) {
        dsgd_columns_row(&t);
        dsgd_columns_take(&t, "place", rows.v[row]);
        for (size_t k = 0; k < columns.n; k++) {
            const char *const cell = cells[row * columns.n + k];
            dsgd_columns_take(&t, columns.v[k], cell == NULL ? "" : cell);
        }
    }
    dsgd_html_table(html, "Who is first where", "Who is first (?: open, or a tie)", &t,
                    t.n_columns);
    return true;
}

/** The verdict of each place, and of all in short where there are several. */
static dsgd_status write_answers(FILE *html, const dsgd_report *r, const char *target,
                                 dsgd_error *error)
{
    enum { MOST_PLACES = 24 };
    dsgd_verdicts verdicts;
    DSGD_TRY(dsgd_verdicts_open(&r->runs, r->folder, &(dsgd_framing){.by = NULL}, r->manifest,
                                target, &verdicts, error));
    if (verdicts.n > 1)
        dsgd_html(html, "<p><strong>%s.</strong></p>\n", dsgd_verdicts_summary(&verdicts));
    const bool folded = write_matrix(html, &verdicts);
    fputs(folded ? "<details>\n<summary>Place by place</summary>\n" : "", html);
    fputs("<ul class=\"verdicts\">\n", html);
    for (size_t i = 0; i < verdicts.n && i < MOST_PLACES; i++)
        dsgd_html(html, "<li>%s: %s</li>\n", dsgd_frame_place(&verdicts.frame, verdicts.v[i].at),
                  verdicts.v[i].text);
    fputs("</ul>\n", html);
    if (verdicts.n > MOST_PLACES)
        fprintf(html, "<p>%zu more places are in the table.</p>\n", verdicts.n - MOST_PLACES);
    fputs(folded ? "</details>\n" : "", html);
    dsgd_html(html, *verdicts.unvaried == '\0' ? "%s" : "<p>%s</p>\n", verdicts.unvaried);
    return DSGD_OK;
}

static dsgd_status write_results(FILE *html, const dsgd_report *r, const char *target,
                                 dsgd_error *error)
{
    const char *const baseline = r->frame.n_points == 0 ? "" : r->frame.baseline;
    quantity quantities[] = {
        {dsgd_xprintf("throughput (%s/s)", dsgd_sample_unit(r->manifest, &r->runs)),
         "throughput_samples_per_s", 1},
        {dsgd_xprintf("speed-up over %s", baseline), NULL, 1},
        {"final accuracy", "final_accuracy", 1},
        {"final loss", "final_loss", 1},
        {"step (s)", "step_mean_s", 1},
    };
    dsgd_html_section(html, "results", "Results");
    write_quantities(html, r, "Means over seeds", quantities,
                     sizeof quantities / sizeof quantities[0]);
    fputs("<p>±: half width of the 95 % confidence interval over seeds. Ratios are geometric means "
          "with this interval, paired by seed: all algorithms meet the same slow "
          "workers.</p>\n",
          html);
    return write_target(html, r, target, error);
}

static void write_time(FILE *html, const dsgd_report *r)
{
    quantity quantities[] = {
        {"computing (%)", "compute_share", 100},
        {"waiting (%)", "wait_share", 100},
        {"exchanging (%)", "comm_share", 100},
        {"sent per worker (MB)", "sent_mean_bytes", 1e-6},
        {"most sent by one (MB)", "sent_max_bytes", 1e-6, .if_more = true},
        {"energy (kJ)", "energy_j", 1e-3},
        {dsgd_xprintf("cost (%s)", dsgd_frame_currency(&r->frame)), "cost", 1},
    };
    dsgd_html_section(html, "time", "Where time went");
    write_quantities(html, r, "Shares of a worker&#39;s time, what it sent, and what all GPUs took",
                     quantities, sizeof quantities / sizeof quantities[0]);
    fputs("<p>What travels while a worker computes counts as computing. Energy is that of the "
          "workers' "
          "GPUs: without processors, servers, network and cooling.</p>\n</section>\n",
          html);
}

static dsgd_status write_page(FILE *html, const dsgd_report *r, const char *target,
                              dsgd_error *error)
{
    const char *const name = json_string_value(json_object_get(r->manifest, "experiment"));
    const char *const title = name == NULL ? r->folder : name;
    const char *const aim = target == NULL ? aim_of(r) : target;
    const char *const undrawn = dsgd_report_draw(r, aim);
    dsgd_html(html, dsgd_report_page, title, title);
    dsgd_html_section(html, "answer", "Answer");
    DSGD_TRY(write_answers(html, r, aim, error));
    dsgd_report_figures(r, true, html);
    write_warnings(html, r);
    fputs("</section>\n", html);
    DSGD_TRY(write_results(html, r, target, error));
    fputs("</section>\n", html);
    write_time(html, r);
    dsgd_html_section(html, "figures", "More figures");
    const size_t n_others = dsgd_report_figures(r, false, html);
    dsgd_html(html, *undrawn == '\0' ? "%s" : "<p>Figures could not be drawn: %s</p>\n", undrawn);
    fputs(n_others == 0 ? "<p>There is no other.</p>\n" : "", html);
    fputs("</section>\n", html);
    dsgd_report_set_up(r, html);
    dsgd_report_again(r, html);
    fputs("</main>\n</body>\n</html>\n", html);
    return DSGD_OK;
}

typedef struct arguments {
    dsgd_operands words;
    const char *output, *target;
} arguments;

static dsgd_status report(int count, char **words, dsgd_error *error)
{
    static const dsgd_argument options[] = {
        DSGD_ARGUMENT(TEXT, output, "output", 'o', "FILE", "The page (DIR/report.html)"),
        DSGD_ARGUMENT(
            TEXT, target, "target", 't', "WHAT=NUMBER",
            "Adds what it takes to reach accuracy=NUMBER or loss=NUMBER (the accuracy that "
            "runs go on until)"),
        {.name = NULL},
    };
    static const dsgd_syntax syntax = {
        "DIR",
        "Writes the results of a folder as one page of HTML: verdict, warnings, tables with "
        "intervals, figures, where time went, set-up, and how to run it again.",
        1,
        1,
        "report: give the folder of an experiment's results",
        options};
    arguments a = {.output = NULL};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    dsgd_report r;
    DSGD_TRY(dsgd_report_open(a.words.v[0], &r, error));
    const char *const path =
        a.output == NULL ? dsgd_xprintf("%s/report.html", a.words.v[0]) : a.output;
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s", path) == NULL)
        return DSGD_EIO;
    const dsgd_status status = write_page(file.stream, &r, a.target, error);
    if (status != DSGD_OK) {
        dsgd_whole_drop(&file);
        return status;
    }
    DSGD_TRY(dsgd_whole_close(&file, error));
    printf("report       %s\n", path);
    return DSGD_OK;
}

const dsgd_command dsgd_command_report = {
    .name = "report",
    .usage = "DIR",
    .summary = "writes the results of a folder as one page of HTML",
    .run = report,
};
