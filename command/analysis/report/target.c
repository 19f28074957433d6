/**
 * @file target.c
 * What runs take until they reach a loss or an accuracy.
 */
#include "command/analysis/comparison.h"
#include "command/analysis/report/data.h"

/** A mean where all seeds reached the target; else the median, where it is known. */
static const char *cell_of(const dsgd_comparison *c, const dsgd_frame_point *p, size_t m,
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
        dsgd_columns_take(&t, "time (s)", cell_of(&c, p, DSGD_TO_TARGET, 1));
        for (const dsgd_expense *e = dsgd_expenses; e < dsgd_expenses + DSGD_N_EXPENSES; e++)
            if (c.numbers[e->to_target] != NULL)
                dsgd_columns_take(&t, dsgd_expense_head(&c, e),
                                  cell_of(&c, p, e->to_target, e->multiple));
    }
    dsgd_html_table(html, "What it takes to the target", dsgd_xprintf("Until %s", c.target.text),
                    &t, 1);
    fputs("<p>A mean where all seeds reach the target, else the median, if more than half do. "
          "Energy and cost are the run's in proportion to time, what is sent in proportion to "
          "steps.</p>\n",
          html);
    return DSGD_OK;
}

const char *dsgd_report_aim(const dsgd_report *report)
{
    const double accuracy = json_number_value(
        dsgd_run_option(dsgd_run_of(report->manifest, &report->runs, 0), "until", "accuracy"));
    return accuracy > 0 ? dsgd_xprintf("accuracy=%g", accuracy) : NULL;
}

dsgd_status dsgd_report_target(const dsgd_report *report, const char *target, FILE *html,
                               dsgd_error *error)
{
    if (target != NULL)
        return put_table(html, report->folder, target, error);
    dsgd_error why; /* without curves there is no table */
    if (dsgd_report_aim(report) != NULL)
        put_table(html, report->folder, dsgd_report_aim(report), &why);
    return DSGD_OK;
}
