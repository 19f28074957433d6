/**
 * @file report.c
 * Implements `dsgd report`. It writes the results of a folder as one self-contained HTML page.
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

/** A quantity that is a column in the tables of a report. */
typedef struct quantity {
    const char *head, *column; /* heading, and column of runs.csv; the column is NULL for the
                                * speed-up */
    double factor; /* factor from the unit of the column to the unit of the heading */
    const double *x; /* array with the number of each row of runs.csv */
} quantity;

static const char unknown[] = "unknown";

static const char *cell_of(const dsgd_report *r, const quantity *q, const dsgd_frame_point *p)
{
    const dsgd_ratio ratio = dsgd_frame_ratio(&r->frame, p, p->baseline, r->throughput);
    const char *const text =
        q->column == NULL ? p->baseline == p ? "baseline" : dsgd_ratio_text(&ratio)
                          : dsgd_interval_text(dsgd_frame_mean(p, q->x), q->factor, false, false);
    return *text == '\0' ? unknown : text;
}

/** Writes a table of quantities. Omits quantities that are unknown for all points. */
static void write_quantities(FILE *html, const dsgd_report *r, const char *caption, quantity *all,
                             size_t n_all)
{
    const char *same = NULL;
    /* number of columns with texts, which come before the columns with numbers */
    size_t n_texts = 0;
    dsgd_columns t = {.n_rows = 0};
    for (quantity *q = all; q < all + n_all; q++)
        q->x = q->column == NULL ? NULL : dsgd_frame_numbers(&r->frame, q->column);
    for (const dsgd_frame_point *p = r->frame.points; p < r->frame.points + r->frame.n_points;
         p++) {
        dsgd_frame_take_keys(&r->frame, p, &t);
        n_texts = t.at;
        dsgd_columns_put(&t, "seeds", "%zu", dsgd_frame_mean(p, r->throughput).n);
        for (const quantity *q = all; q < all + n_all; q++)
            dsgd_columns_take(&t, q->head, cell_of(r, q, p));
    }
    for (quantity *q = all; q < all + n_all; q++)
        if (q->column == NULL)
            /* Remove the column of speed-ups if only the baseline has a speed-up. */
            dsgd_columns_fold(&t, q->head, unknown, &same);
        else
            dsgd_columns_hide(&t, q->head, unknown);
    dsgd_html_table(html, caption, caption, &t, n_texts);
    if (t.n_rows > DSGD_MOST_ROWS)
        fprintf(html, "<p>%zu more rows are in runs.csv.</p>\n", t.n_rows - DSGD_MOST_ROWS);
}

/* --- numbers up to a target ------------------------------------------------------------------- */

/**
 * Returns the accuracy at which runs end, as the text of a target. Returns NULL if runs do not end
 * at an accuracy.
 */
static const char *target_of_runs(const dsgd_report *report)
{
    const double accuracy = json_number_value(
        dsgd_run_option(dsgd_run_of(report->manifest, &report->runs, 0), "until", "accuracy"));
    return accuracy > 0 ? dsgd_xprintf("accuracy=%g", accuracy) : NULL;
}

/**
 * Writes the table of a target, with the same errors as `dsgd compare`. If @p given is NULL, the
 * target is the accuracy at which runs end. If runs do not end at an accuracy or have no curves,
 * writes no table.
 */
static dsgd_status write_target(FILE *html, const dsgd_report *r, const char *given,
                                dsgd_error *error)
{
    const char *const target = given != NULL ? given : target_of_runs(r);
    dsgd_comparison c;
    dsgd_columns t = {.n_rows = 0};
    if (target == NULL)
        return DSGD_OK;
    const dsgd_status status =
        dsgd_comparison_open(r->folder, &(dsgd_framing){.by = NULL}, target, &c, error);
    if (status != DSGD_OK)
        return given == NULL ? DSGD_OK : status;
    dsgd_expense_table(&c, &t);
    dsgd_html_table(html, "Time, traffic, energy and cost until the target",
                    dsgd_xprintf("Time, traffic, energy and cost until %s", target), &t, 1);
    fputs(
        "<p>Mean over seeds if all of them reach the target; otherwise the number of seeds that "
        "do, "
        "and the median if more than half do. Energy and cost are the run's total in proportion to "
        "time; bytes sent are the total in proportion to steps.</p>\n",
        html);
    return DSGD_OK;
}

/* --- verdicts and warnings -------------------------------------------------------------------- */

/** Writes warnings about missing runs, runs without results, and different collectives. */
static void write_warnings(FILE *html, const dsgd_report *r)
{
    dsgd_names s = {.n = 0};
    if (*dsgd_partial_results(&r->runs, r->manifest) != '\0')
        dsgd_names_add(&s, dsgd_partial_results(&r->runs, r->manifest));
    if (r->frame.n_left_out > 0)
        dsgd_names_add(&s,
                       dsgd_xprintf("The tables leave out %zu of %zu runs, which have no results "
                                    "(status failed or timeout).",
                                    r->frame.n_left_out, r->runs.n_rows));
    const char *const mixed = dsgd_mixed_collectives(&r->runs);
    if (mixed != NULL)
        dsgd_names_add(&s, dsgd_xprintf("Different collectives: %s.", mixed));
    fputs("<h3>Warnings</h3>\n", html);
    fputs(s.n == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n", html);
    for (size_t i = 0; i < s.n; i++)
        dsgd_html(html, "<li>%s</li>\n", s.v[i]);
    fputs(s.n == 0 ? "" : "</ul>\n", html);
}

/** Writes the verdict of each setting. If there are several settings, first writes a summary. */
static dsgd_status write_answers(FILE *html, const dsgd_report *r, const char *target,
                                 dsgd_error *error)
{
    enum { MOST_PLACES = 24 };
    dsgd_verdicts verdicts;
    DSGD_TRY(dsgd_verdicts_open(&r->runs, r->folder, &(dsgd_framing){.by = NULL}, r->manifest,
                                target, &verdicts, error));
    if (verdicts.n > 1)
        dsgd_html(html, "<p><strong>%s</strong></p>\n", dsgd_verdicts_summary(&verdicts));
    fputs("<ul class=\"verdicts\">\n", html);
    for (size_t i = 0; i < verdicts.n && i < MOST_PLACES; i++)
        dsgd_html(html, "<li>%s: %s</li>\n", dsgd_frame_place(&verdicts.frame, verdicts.v[i].at),
                  verdicts.v[i].text);
    fputs("</ul>\n", html);
    if (verdicts.n > MOST_PLACES)
        fprintf(html, "<p>The tables below contain %zu more settings.</p>\n",
                verdicts.n - MOST_PLACES);
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
    write_quantities(html, r, "Speed and quality: mean over seeds", quantities,
                     sizeof quantities / sizeof quantities[0]);
    fputs("<p>±: half width of the 95 % confidence interval over seeds. Speed-up: geometric mean, "
          "with "
          "this interval, of the ratios of throughput seed by seed; with the same seed all "
          "algorithms have the same slow workers.</p>\n",
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
        {"energy (kJ)", "energy_j", 1e-3},
        {dsgd_xprintf("cost (%s)", dsgd_frame_currency(&r->frame)), "cost", 1},
    };
    dsgd_html_section(html, "time", "Time, traffic and energy");
    write_quantities(html, r, "Time of a worker, bytes sent, energy and cost: mean over seeds",
                     quantities, sizeof quantities / sizeof quantities[0]);
    fputs(
        "<p>Communication that overlaps with computation counts as computing. Energy is the energy "
        "of the workers' GPUs, without processors, servers, network and "
        "cooling.</p>\n</section>\n",
        html);
}

static dsgd_status write_page(FILE *html, const dsgd_report *r, const char *target,
                              dsgd_error *error)
{
    const char *const name = json_string_value(json_object_get(r->manifest, "experiment"));
    const char *const title = name == NULL ? r->folder : name;
    const char *const aim = target == NULL ? target_of_runs(r) : target;
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
    dsgd_html(html, *undrawn == '\0' ? "%s" : "<p>The figures could not be drawn: %s</p>\n",
              undrawn);
    fputs(n_others == 0 ? "<p>There are none.</p>\n" : "", html);
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
        DSGD_ARGUMENT(TEXT, output, "output", 'o', "FILE",
                      "Output file [default: DIR/report.html]"),
        DSGD_ARGUMENT(
            TEXT, target, "target", 't', "WHAT=NUMBER",
            "Adds the time, traffic, energy and cost until accuracy=NUMBER or loss=NUMBER is "
            "reached [default: the accuracy of `until`, if runs end by it]"),
        {.name = NULL},
    };
    static const dsgd_syntax syntax = {
        "DIR",
        "Writes the results of a folder as one HTML page: verdict, warnings, tables with "
        "confidence "
        "intervals, figures, time and traffic of workers, set-up, and how to reproduce it.",
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
    .summary = "writes the results of a folder as one HTML page",
    .run = report,
};
