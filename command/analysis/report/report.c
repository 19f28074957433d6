/**
 * @file report.c
 * `dsgd report`: the results of a folder as one page of HTML that needs nothing else.
 */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/option.h"
#include "command/analysis/report/data.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/runs/swept.h"

/* --- results ---------------------------------------------------------------------------------- */

/** Four significant digits of the mean, and as many decimals of the interval. */
static void put_interval(FILE *html, dsgd_interval x)
{
    const double size = fmax(fabs(x.mean), 1e-9);
    const int decimals = size >= 1000 ? 0 : size < 1e-3 ? 6 : 3 - (int)floor(log10(size));
    if (!isfinite(x.mean))
        fputs("<td class=\"n\">unknown</td>", html);
    else if (size >= 1e9)
        fprintf(html, "<td class=\"n\">%.4g ± %.2g</td>", x.mean, x.ci);
    else if (isfinite(x.ci))
        fprintf(html, "<td class=\"n\">%.*f ± %.*f</td>", decimals, x.mean, decimals, x.ci);
    else
        fprintf(html, "<td class=\"n\">%.*f</td>", decimals, x.mean);
}

/** Three significant digits, and the interval, which lies on a logarithmic scale. */
static void put_ratio(FILE *html, const dsgd_report *report, const dsgd_frame_point *p)
{
    const dsgd_ratio r = dsgd_report_speedup(report, p);
    if (p->baseline == p)
        fputs("<td class=\"n\">baseline</td>", html);
    else if (r.n == 0)
        fputs("<td class=\"n\">unknown</td>", html);
    else if (r.n == 1)
        fprintf(html, "<td class=\"n\">%.3g</td>", r.ratio);
    else
        fprintf(html, "<td class=\"n\">%.3g (%.3g to %.3g)</td>", r.ratio, r.low, r.high);
}

/** A quantity of the tables; a column is left out where no point has it. */
typedef struct quantity {
    const char *head, *column; /* of runs.csv; NULL: the speed-up */
    double factor;
    bool if_more; /* known only where it is more than the quantity before it */
    double *x; /* the column times the factor, by row */
} quantity;

static double *numbers_of(const dsgd_report *r, const quantity *q)
{
    double *const x = dsgd_frame_numbers(&r->frame, q->column);
    double *const bytes = dsgd_frame_numbers(&r->frame, "bytes");
    double *const workers = dsgd_frame_numbers(&r->frame, "workers");
    const bool is_sent = strcmp(q->column, "sent_mean_bytes") == 0; /* not of older versions */
    for (size_t row = 0; row < r->runs.n_rows; row++)
        x[row] =
            is_sent && isnan(x[row]) ? q->factor / workers[row] * bytes[row] : q->factor * x[row];
    return x;
}

static dsgd_interval interval_of(const dsgd_report *r, const quantity *q, const dsgd_frame_point *p)
{
    if (q->column == NULL) {
        const dsgd_ratio ratio = dsgd_report_speedup(r, p);
        return (dsgd_interval){ratio.ratio, NAN, ratio.n};
    }
    const dsgd_interval of = dsgd_frame_mean(p, q->x);
    return q->if_more && !(of.mean > (1 + 1e-3) * dsgd_frame_mean(p, q[-1].x).mean)
               ? (dsgd_interval){NAN, NAN, 0}
               : of;
}

static void write_table(FILE *html, const dsgd_report *r, const char *caption,
                        const quantity *const *shown)
{
    enum { MOST_ROWS = 500 };
    fprintf(html,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n"
            "<caption>%s</caption>\n<thead>\n<tr><th scope=\"col\">algorithm</th>"
            "<th scope=\"col\" class=\"n\">workers</th>",
            caption, caption);
    for (size_t k = r->frame.first_swept; k < r->runs.n_columns; k++)
        dsgd_html(html, "<th scope=\"col\">%s</th>", dsgd_swept_name(r->runs.fields[k]));
    fputs("<th scope=\"col\" class=\"n\">seeds</th>", html);
    for (const quantity *const *q = shown; *q != NULL; q++)
        dsgd_html(html, "<th scope=\"col\" class=\"n\">%s</th>", (*q)->head);
    fputs("</tr>\n</thead>\n<tbody>\n", html);
    for (size_t i = 0; i < r->frame.n_points && i < MOST_ROWS; i++) {
        const dsgd_frame_point *const p = &r->frame.points[i];
        dsgd_html(html, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td>",
                  dsgd_report_field(r, p->rows[0], "algorithm"),
                  dsgd_report_field(r, p->rows[0], "workers"));
        for (size_t k = r->frame.first_swept; k < r->runs.n_columns; k++)
            dsgd_html(html, "<td>%s</td>",
                      dsgd_swept_value(r->runs.fields[k], dsgd_csv_field(&r->runs, p->rows[0], k)));
        fprintf(html, "<td class=\"n\">%zu</td>", dsgd_frame_mean(p, r->throughput).n);
        for (const quantity *const *q = shown; *q != NULL; q++)
            if ((*q)->column == NULL)
                put_ratio(html, r, p);
            else
                put_interval(html, interval_of(r, *q, p));
        fputs("</tr>\n", html);
    }
    fputs("</tbody>\n</table>\n</div>\n", html);
    if (r->frame.n_points > MOST_ROWS)
        fprintf(html, "<p>%zu more rows are in runs.csv.</p>\n", r->frame.n_points - MOST_ROWS);
}

static void write_quantities(FILE *html, const dsgd_report *r, const char *caption, quantity *all,
                             size_t n_all)
{
    const quantity *shown[8] = {NULL};
    size_t n = 0;
    for (size_t q = 0; q < n_all; q++) {
        size_t k = 0; /* the first point that has it */
        all[q].x = all[q].column == NULL ? NULL : numbers_of(r, &all[q]);
        while (k < r->frame.n_points && interval_of(r, &all[q], &r->frame.points[k]).n == 0)
            k++;
        if (k < r->frame.n_points)
            shown[n++] = &all[q];
    }
    write_table(html, r, caption, shown);
}

/** Of what throughput counts: the first run's, for several workloads seldom share a table. */
static const char *unit_of(const dsgd_report *r)
{
    const char *const unit =
        json_string_value(dsgd_run_option(dsgd_report_run(r, 0), "workload", "unit"));
    return unit == NULL ? "samples" : unit;
}

static bool same_place(const dsgd_frame_point *a, const dsgd_frame_point *b)
{
    return a->at[DSGD_PLACE] == b->at[DSGD_PLACE] && a->at[DSGD_VARIATION] == b->at[DSGD_VARIATION];
}

/** The fastest at the place of a point, which is the first there. */
static const dsgd_frame_point *fastest(const dsgd_report *r, const dsgd_frame_point *first)
{
    const dsgd_frame_point *best = first;
    double best_mean = dsgd_frame_mean(best, r->throughput).mean;
    for (const dsgd_frame_point *p = first + 1; p < r->frame.points + r->frame.n_points; p++) {
        const double mean = same_place(p, first) ? dsgd_frame_mean(p, r->throughput).mean : NAN;
        if (same_place(p, first) && (mean > best_mean || !isfinite(best_mean))) {
            best = p;
            best_mean = mean;
        }
    }
    return best;
}

/** Who is fastest at each place, and by how much. */
static void write_answers(FILE *html, const dsgd_report *r)
{
    enum { MOST_PLACES = 24 };
    size_t n = 0;
    fputs("<ul>\n", html);
    for (size_t k = 0; k < r->frame.n_points; k++) {
        size_t first = 0; /* at that place */
        while (!same_place(&r->frame.points[first], &r->frame.points[k]))
            first++;
        if (first < k || ++n > MOST_PLACES)
            continue;
        const dsgd_frame_point *const best = fastest(r, &r->frame.points[k]);
        const dsgd_ratio speedup = dsgd_report_speedup(r, best);
        dsgd_html(html, "<li>%s: ", dsgd_report_place(r, best));
        char *answer = dsgd_xprintf("%s is fastest, with %.4g %s/s",
                                    dsgd_report_field(r, best->rows[0], "algorithm"),
                                    dsgd_frame_mean(best, r->throughput).mean, unit_of(r));
        if (speedup.n > 0)
            dsgd_append(&answer, ", %.3g times %s%s", speedup.ratio, r->frame.baseline,
                        speedup.n > 1 && speedup.n_settling > 0 ? ", which could be chance" : "");
        dsgd_html(html, "%s.</li>\n", answer);
    }
    fputs("</ul>\n", html);
    if (n > MOST_PLACES)
        fprintf(html, "<p>%zu more places are in the table.</p>\n", n - MOST_PLACES);
}

static dsgd_status write_results(FILE *html, const dsgd_report *r, const char *target,
                                 dsgd_error *error)
{
    const char *const baseline = r->frame.n_points == 0 ? "" : r->frame.baseline;
    quantity quantities[] = {
        {dsgd_xprintf("throughput (%s/s)", unit_of(r)), "throughput_samples_per_s", 1},
        {dsgd_xprintf("times %s", baseline), NULL, 1},
        {"step (s)", "step_mean_s", 1},
        {"final loss", "final_loss", 1},
        {"final accuracy", "final_accuracy", 1},
    };
    dsgd_html_section(html, "results", "Results");
    write_answers(html, r);
    write_quantities(html, r, "Means over seeds", quantities,
                     sizeof quantities / sizeof quantities[0]);
    fputs("<p>±: half width of the 95 % confidence interval over seeds. Ratios are geometric means "
          "with this interval, paired by seed: all algorithms meet the same slow "
          "workers.</p>\n",
          html);
    const dsgd_status status = dsgd_report_target(r, target, html, error);
    fputs("</section>\n", html);
    return status;
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
    dsgd_html(html, dsgd_report_page, title, title);
    dsgd_report_set_up(r, html);
    dsgd_report_warnings(r, html);
    const dsgd_status status = write_results(html, r, target, error);
    dsgd_report_figures(r, html);
    write_time(html, r);
    dsgd_report_again(r, html);
    fputs("</main>\n</body>\n</html>\n", html);
    return status;
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
        "Writes the results of a folder as one page of HTML: question and set-up, warnings, tables "
        "with intervals, figures, where time went, and how to run it again.",
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
