/**
 * @file warnings.c
 * What a reader of a report could take for more than it is.
 */
#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/report/data.h"

enum { FEW_SEEDS = 3 }; /* below, an interval of Student's t is several times as wide */

static void warn_of_missing_runs(const dsgd_report *r, dsgd_names *s)
{
    if (r->runs.n_rows < r->n_planned)
        dsgd_names_add(s, dsgd_xprintf("Partial results: %zu of %zu runs are done. The same "
                                       "command does the rest.",
                                       r->runs.n_rows, r->n_planned));
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

static const char *few_seeds(const dsgd_report *r)
{
    size_t least = SIZE_MAX;
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const size_t n = dsgd_frame_mean(&r->frame.points[k], r->throughput).n;
        least = n > 0 && n < least ? n : least;
    }
    if (least == 1)
        return "Too few seeds: with one seed there are no intervals, and a difference can be "
               "chance. Give `seed: [1, 2, 3, 4, 5]`.";
    return least >= FEW_SEEDS ? NULL
                              : dsgd_xprintf("Too few seeds: intervals over %zu seeds are wide; "
                                             "five seeds make them several times narrower.",
                                             least);
}

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

/** Speed-ups whose interval holds 1. */
static const char *noise(const dsgd_report *r)
{
    size_t n = 0, n_within = 0;
    const dsgd_frame_point *example = NULL;
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const dsgd_ratio speedup = dsgd_report_speedup(r, &r->frame.points[k]);
        n += speedup.n >= 2;
        if (speedup.n < 2 || speedup.n_settling == 0)
            continue;
        n_within++;
        example = example == NULL ? &r->frame.points[k] : example;
    }
    return example == NULL
               ? NULL
               : dsgd_xprintf("Difference within noise: %zu of %zu differences of throughput to %s "
                              "could be chance, such as that of %s at %s.",
                              n_within, n, r->frame.baseline,
                              dsgd_field_of(&r->runs, example->rows[0], "algorithm"),
                              dsgd_frame_place(&r->frame, example));
}

/** As `dsgd run` and `dsgd compare` say it. */
static const char *mixed_collectives(const dsgd_report *r)
{
    const char *const mixed = dsgd_mixed_collectives(&r->runs);
    return mixed == NULL ? NULL : dsgd_xprintf("Collectives mixed: %s.", mixed);
}

void dsgd_report_warnings(const dsgd_report *report, FILE *html)
{
    const char *const others[] = {few_seeds(report), short_runs(report), missed_targets(report),
                                  noise(report), mixed_collectives(report)};
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
