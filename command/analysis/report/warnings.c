/**
 * @file warnings.c
 * What a reader of a report could take for more than it is.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/report/data.h"

enum { FEW_SEEDS = 3 }; /* below, an interval of Student's t is several times as wide */

static void warn_of_missing_runs(const dsgd_report *r, dsgd_names *s)
{
    if (r->runs.n_rows < r->n_planned)
        dsgd_names_add(
            s, dsgd_xprintf("Partial results: %zu of %zu runs are done. The same command does the "
                            "rest.",
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

static void warn_of_few_seeds(const dsgd_report *r, dsgd_names *s)
{
    size_t least = SIZE_MAX;
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const size_t n = dsgd_frame_mean(&r->frame.points[k], r->throughput).n;
        least = n > 0 && n < least ? n : least;
    }
    if (least == 1)
        dsgd_names_add(
            s, "Too few seeds: with one seed there are no intervals, and a difference can be "
               "chance. Give `seed: [1, 2, 3, 4, 5]`.");
    else if (least < FEW_SEEDS)
        dsgd_names_add(
            s, dsgd_xprintf("Too few seeds: intervals over %zu seeds are wide; five seeds make "
                            "them several times narrower.",
                            least));
}

static double option_of(const json_t *run, const char *part, const char *key)
{
    const json_t *const value = dsgd_run_option(run, part, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void warn_of_short_runs(const dsgd_report *r, dsgd_names *s)
{
    for (size_t k = 0; k < r->frame.n_points; k++) {
        const size_t row = r->frame.points[k].rows[0];
        const double period =
            option_of(dsgd_run_of(r->manifest, &r->runs, row), "algorithm", "period");
        double steps = NAN;
        dsgd_parse_number(dsgd_field_of(&r->runs, row, "steps"), NULL, &steps);
        if (steps >= period)
            continue;
        if (isfinite(period) && isfinite(steps)) {
            dsgd_names_add(
                s, dsgd_xprintf("Bound shorter than a period: %s has a period of %g steps, but its "
                                "runs end after %g, before the first one is over.",
                                dsgd_field_of(&r->runs, row, "algorithm"), period, steps));
            return;
        }
    }
}

static void warn_of_targets(const dsgd_report *r, dsgd_names *s)
{
    size_t n = 0, n_missed = 0;
    double target = NAN;
    for (size_t row = 0; row < r->runs.n_rows; row++) {
        const double wanted =
            option_of(dsgd_run_of(r->manifest, &r->runs, row), "until", "accuracy");
        if (!(wanted > 0))
            continue;
        double reached = 0;
        dsgd_parse_number(dsgd_field_of(&r->runs, row, "final_accuracy"), NULL, &reached);
        target = wanted;
        n++;
        n_missed += !(reached >= wanted);
    }
    if (n_missed > 0)
        dsgd_names_add(
            s, dsgd_xprintf("Target not reached: %zu of %zu runs ended before the accuracy of %g "
                            "that they run until.",
                            n_missed, n, target));
}

/** Speed-ups whose interval holds 1. */
static void warn_of_noise(const dsgd_report *r, dsgd_names *s)
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
    if (example == NULL)
        return;
    dsgd_names_add(
        s,
        dsgd_xprintf("Difference within noise: %zu of %zu differences of throughput to %s could be "
                     "chance, such as that of %s at %s.",
                     n_within, n, r->frame.baseline,
                     dsgd_field_of(&r->runs, example->rows[0], "algorithm"),
                     dsgd_report_place(r, example)));
}

void dsgd_report_warnings(const dsgd_report *report, FILE *html)
{
    dsgd_names s = {.n = 0};
    warn_of_missing_runs(report, &s);
    warn_of_few_seeds(report, &s);
    warn_of_short_runs(report, &s);
    warn_of_targets(report, &s);
    warn_of_noise(report, &s);
    const char *const mixed =
        dsgd_mixed_collectives(&report->runs); /* as `dsgd run` and `compare` say it */
    if (mixed != NULL)
        dsgd_names_add(&s, dsgd_xprintf("Collectives mixed: %s.", mixed));
    dsgd_html_section(html, "warnings", "Warnings");
    fputs(s.n == 0 ? "<p>None.</p>\n" : "<ul class=\"warnings\">\n", html);
    for (size_t i = 0; i < s.n; i++)
        dsgd_html(html, "<li>%s</li>\n", s.v[i]);
    fputs(s.n == 0 ? "</section>\n" : "</ul>\n</section>\n", html);
}
