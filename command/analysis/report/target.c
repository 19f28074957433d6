/**
 * @file target.c
 * What runs take until they reach a loss or an accuracy.
 */
#include <math.h>

#include "command/analysis/comparison.h"
#include "command/analysis/report/data.h"

/** So many significant digits, and all of a whole number. */
static void put_number(FILE *html, double x, int digits)
{
    if (fabs(x) >= pow(10, digits) && fabs(x) < 1e9)
        fprintf(html, "%.0f", x);
    else
        fprintf(html, "%.*g", digits, x);
}

/** A mean where all seeds reached the target; else the median, where it is known. */
static void put_cell(FILE *html, const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
                     double multiple)
{
    const dsgd_summary *const s = dsgd_comparison_of(c, p, m);
    const bool all = s->of.n == p->n_rows;
    fputs(all || !isfinite(s->median) ? "<td class=\"n\">" : "<td class=\"n\">median ", html);
    if (all || isfinite(s->median))
        put_number(html, multiple * (all ? s->of.mean : s->median), 4);
    else
        fputs(dsgd_comparison_of(c, p, DSGD_TO_TARGET)->of.n == 0 ? "never" : "unknown", html);
    if (all && isfinite(s->of.ci)) {
        fputs(" ± ", html);
        put_number(html, multiple * s->of.ci, 2);
    }
    fputs("</td>", html);
}

static void put_table(FILE *html, const dsgd_comparison *c)
{
    enum { MOST_ROWS = 500 };
    dsgd_html(html,
              "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"What it takes to "
              "the target\">\n<table>\n<caption>Until %s</caption>\n<thead>\n<tr><th "
              "scope=\"col\">runs</th><th scope=\"col\" class=\"n\">seeds that reach it</th>"
              "<th scope=\"col\" class=\"n\">time (s)</th>",
              c->target.text);
    for (size_t k = 0; k < DSGD_N_EXPENSES; k++)
        if (dsgd_comparison_has(c, dsgd_expenses[k].to_target))
            dsgd_html(html, "<th scope=\"col\" class=\"n\">%s (%s)</th>", dsgd_expenses[k].head,
                      dsgd_expense_unit(c, &dsgd_expenses[k]));
    fputs("</tr>\n</thead>\n<tbody>\n", html);
    for (size_t i = 0; i < c->frame.n_points && i < MOST_ROWS; i++) {
        const dsgd_frame_point *const p = &c->frame.points[i];
        dsgd_html(html, "<tr><th scope=\"row\">%s</th>", dsgd_frame_label(&c->frame, p));
        fprintf(html, "<td class=\"n\">%zu of %zu</td>",
                dsgd_comparison_of(c, p, DSGD_TO_TARGET)->of.n, p->n_rows);
        put_cell(html, c, p, DSGD_TO_TARGET, 1);
        for (size_t k = 0; k < DSGD_N_EXPENSES; k++)
            if (dsgd_comparison_has(c, dsgd_expenses[k].to_target))
                put_cell(html, c, p, dsgd_expenses[k].to_target, dsgd_expenses[k].multiple);
        fputs("</tr>\n", html);
    }
    fputs("</tbody>\n</table>\n</div>\n<p>A mean where all seeds reach the target, else the "
          "median, if "
          "more than half do. Energy and cost grow evenly with time, and what is sent with "
          "steps.</p>\n",
          html);
}

static dsgd_status put_target(const char *folder, const char *target, FILE *html, dsgd_error *error)
{
    dsgd_comparison c;
    DSGD_TRY(dsgd_comparison_open(folder, &(dsgd_comparison_config){.target = target}, &c, error));
    put_table(html, &c);
    return DSGD_OK;
}

dsgd_status dsgd_report_target(const dsgd_report *report, const char *target, FILE *html,
                               dsgd_error *error)
{
    if (target != NULL)
        return put_target(report->folder, target, html, error);
    const double accuracy =
        json_number_value(dsgd_run_option(dsgd_report_run(report, 0), "until", "accuracy"));
    dsgd_error why; /* without curves there is no table */
    if (accuracy > 0)
        put_target(report->folder, dsgd_xprintf("accuracy=%g", accuracy), html, &why);
    return DSGD_OK;
}
