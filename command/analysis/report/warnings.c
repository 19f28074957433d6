/**
 * @file warnings.c
 * What a reader of a report could take for more than it is.
 */
#include "base/option.h"
#include "command/analysis/report/data.h"
#include "command/analysis/verdict.h"

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

/** As `dsgd run` and `dsgd compare` say it. */
static const char *mixed_collectives(const dsgd_report *r)
{
    const char *const mixed = dsgd_mixed_collectives(&r->runs);
    return mixed == NULL ? NULL : dsgd_xprintf("Collectives mixed: %s.", mixed);
}

void dsgd_report_warnings(const dsgd_report *report, FILE *html)
{
    const char *const others[] = {short_runs(report), missed_targets(report),
                                  mixed_collectives(report)};
    dsgd_names s = {.n = 0};
    warn_of_missing_runs(report, &s);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] != NULL)
            dsgd_names_add(&s, others[i]);
    fputs("<h3>Warnings</h3>\n", html);
    fputs(s.n == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n", html);
    for (size_t i = 0; i < s.n; i++)
        dsgd_html(html, "<li>%s</li>\n", s.v[i]);
    fputs(s.n == 0 ? "" : "</ul>\n", html);
}
