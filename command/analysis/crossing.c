/**
 * @file crossing.c
 * Points of a series along one swept number, and where its speed-up passes a level there.
 */
#include "command/analysis/compare.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/option.h"
#include "command/runs/swept.h"

/** The points that differ from the first in one key alone, by its value, and their speed-ups. */
typedef struct line {
    const dsgd_comparison *c;
    size_t key;
    const dsgd_frame_point **points; /* [n] */
    double *x; /* [n], rising */
    bool is_log; /* scale of interpolation: where x spans a factor of ten */
    size_t n, n_seeds; /* seeds that all points have */
    double *logs; /* [n_seeds][n]: of throughput over the baseline's */
} line;

/** Where the mean over seeds passes a level. */
typedef struct crossing {
    bool rises;
    size_t n; /* seeds that pass there by themselves */
    double at; /* their mean where all seeds pass, else where the mean does */
    double low, high; /* 95 % interval; NAN where not all pass, or for one seed */
} crossing;

/* --- lines ------------------------------------------------------------------------------------ */

/** Whether a point differs from the first in the key alone, and has a number there. */
static bool is_on(const line *l, const dsgd_frame_point *first, const dsgd_frame_point *p,
                  double *x)
{
    const dsgd_frame *const f = &l->c->frame;
    for (size_t k = 0; k < f->n_keys; k++)
        if (k != l->key && strcmp(dsgd_frame_value(f, first, k), dsgd_frame_value(f, p, k)) != 0)
            return false;
    return p->baseline != NULL && dsgd_parse_number(dsgd_frame_value(f, p, l->key), NULL, x);
}

/** Collects the line of a point; false: another point begins it, or there is no other. */
static bool find_line(line *l, const dsgd_frame_point *first)
{
    double x = 0;
    l->n = 0;
    if (first->baseline == first || !is_on(l, first, first, &x))
        return false;
    for (size_t i = 0; i < l->c->frame.n_points; i++) {
        const dsgd_frame_point *const p = &l->c->frame.points[i];
        if (!is_on(l, first, p, &x))
            continue;
        if (p < first)
            return false;
        size_t at = l->n++;
        for (; at > 0 && l->x[at - 1] > x; at--) {
            l->x[at] = l->x[at - 1];
            l->points[at] = l->points[at - 1];
        }
        l->x[at] = x;
        l->points[at] = p;
    }
    l->is_log = l->n > 1 && l->x[0] > 0 && l->x[l->n - 1] >= 10 * l->x[0];
    return l->n > 1;
}

/** The logarithms of the speed-ups of seeds that all points and their baselines have. */
static void read_logs(line *l)
{
    const dsgd_frame *const f = &l->c->frame;
    const double *const x = l->c->numbers[DSGD_THROUGHPUT];
    const dsgd_frame_point *const first = l->points[0];
    l->logs = dsgd_keep(l->n * first->n_rows, sizeof *l->logs);
    l->n_seeds = 0;
    for (size_t s = 0; s < first->n_rows; s++) {
        double *const logs = l->logs + l->n_seeds * l->n;
        bool whole = true;
        for (size_t i = 0; i < l->n; i++) {
            const size_t own = dsgd_frame_seed(f, l->points[i], first->rows[s]);
            const size_t base = dsgd_frame_seed(f, l->points[i]->baseline, first->rows[s]);
            logs[i] = own == SIZE_MAX || base == SIZE_MAX ? NAN : log(x[own] / x[base]);
            whole = whole && !isnan(logs[i]);
        }
        l->n_seeds += whole;
    }
}

/* --- crossings -------------------------------------------------------------------------------- */

static double scaled(const line *l, size_t i)
{
    return l->is_log ? log(l->x[i]) : l->x[i];
}

static double unscaled(const line *l, double place)
{
    return l->is_log ? exp(place) : place;
}

/** Where a straight line between two points passes 0, on the scale; NAN: nowhere, or in the other direction. */
static double passes(const line *l, size_t i, double before, double after, bool rises)
{
    if (rises ? !(before < 0 && after >= 0) : !(before >= 0 && after < 0))
        return NAN;
    return scaled(l, i) + (scaled(l, i + 1) - scaled(l, i)) * before / (before - after);
}

static crossing crossing_at(const line *l, double level, bool rises, double at)
{
    crossing c = {.rises = rises, .at = unscaled(l, at), .low = NAN, .high = NAN};
    double *const places = dsgd_keep(l->n_seeds, sizeof *places);
    for (size_t s = 0; s < l->n_seeds; s++) {
        const double *const logs = l->logs + s * l->n;
        double nearest = NAN; /* of the places where this seed passes in that direction */
        for (size_t i = 0; i + 1 < l->n; i++) {
            const double place = passes(l, i, logs[i] - level, logs[i + 1] - level, rises);
            if (!isnan(place) && !(fabs(nearest - at) <= fabs(place - at)))
                nearest = place;
        }
        if (!isnan(nearest))
            places[c.n++] = nearest;
    }
    if (c.n == l->n_seeds) {
        const dsgd_interval mean = dsgd_mean(places, c.n);
        c.at = unscaled(l, mean.mean);
        c.low = unscaled(l, mean.mean - mean.ci);
        c.high = unscaled(l, mean.mean + mean.ci);
    }
    return c;
}

/** The crossings of log(level) by the mean over seeds, at most n - 1; gives their number. */
static size_t find_crossings(const line *l, double level, crossing *crossings)
{
    size_t n = 0;
    double before = NAN;
    for (size_t i = 0; l->n_seeds > 0 && i < l->n; i++) {
        double sum = 0;
        for (size_t s = 0; s < l->n_seeds; s++)
            sum += l->logs[s * l->n + i];
        const double after = sum / (double)l->n_seeds - log(level);
        for (int rises = 0; i > 0 && rises < 2; rises++) {
            const double at = passes(l, i - 1, before, after, rises);
            if (!isnan(at))
                crossings[n++] = crossing_at(l, log(level), rises, at);
        }
        before = after;
    }
    return n;
}

/* --- the report ------------------------------------------------------------------------------- */

/** A value of the key for readers. */
static const char *shown(const line *l, double x)
{
    return dsgd_swept_value(dsgd_frame_key(&l->c->frame, l->key), dsgd_xprintf("%.6g", x));
}

static void print_crossing(const line *l, const crossing *c)
{
    printf("%s at %s", c->rises ? "from below" : "from above", shown(l, c->at));
    if (!isnan(c->low))
        printf(" (%s to %s)", shown(l, c->low), shown(l, c->high));
    else if (l->n_seeds == 1)
        printf(" (one seed)");
    else
        printf(" (the mean; so do %zu of %zu seeds)", c->n, l->n_seeds);
}

/** A row per crossing; of a line that never passes one without a place. */
static void write_row(FILE *stream, const line *l, double level, const crossing *c,
                      const char *direction)
{
    dsgd_frame_put_keys(stream, &l->c->frame, l->points[0], l->key);
    dsgd_csv_text(stream, dsgd_frame_key(&l->c->frame, l->key));
    dsgd_csv_numbers(stream, &level, 1);
    fprintf(stream, ",%s,%zu,%zu", direction, c->n, l->n_seeds);
    dsgd_csv_numbers(stream, (double[]){c->at, c->low, c->high}, 3);
    fputc('\n', stream);
}

static void report_line(FILE *stream, line *l, double level)
{
    const dsgd_frame *const f = &l->c->frame;
    read_logs(l);
    crossing *const crossings = dsgd_keep(l->n, sizeof *crossings);
    const size_t n = find_crossings(l, level, crossings);
    char *place = dsgd_xstrdup(""); /* what the points have in common */
    for (size_t k = 1; k < f->n_keys; k++) {
        const char *const text = dsgd_frame_text(f, l->points[0], k);
        if (k != l->key && dsgd_frame_varies(f, k) && *text != '\0')
            dsgd_append(&place, "%s%s", *place == '\0' ? " (" : ", ", text);
    }
    printf("%s%s%s, %s %s to %s: ", dsgd_frame_value(f, l->points[0], 0), place,
           *place == '\0' ? "" : ")", dsgd_swept_name(dsgd_frame_key(f, l->key)), shown(l, l->x[0]),
           shown(l, l->x[l->n - 1]));
    for (size_t i = 0; i < n; i++) {
        printf("%s", i == 0 ? "passes " : ", then ");
        print_crossing(l, &crossings[i]);
        write_row(stream, l, level, &crossings[i], crossings[i].rises ? "rises" : "falls");
    }
    if (n == 0) {
        const crossing none = {.at = NAN, .low = NAN, .high = NAN};
        const double ratio = dsgd_comparison_of(l->c, l->points[0], DSGD_THROUGHPUT)->ratio.ratio;
        const char *const direction = l->n_seeds == 0  ? "unknown"
                                      : ratio >= level ? "above"
                                                       : "below";
        printf("%s %s", l->n_seeds == 0 ? "no common seeds," : "stays", direction);
        write_row(stream, l, level, &none, direction);
    }
    putchar('\n');
}

dsgd_status dsgd_crossings_report(const dsgd_comparison *c, double level, const char *folder,
                                  dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/crossings.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    dsgd_frame_put_keys(stream, &c->frame, NULL, c->frame.n_keys);
    fputs("along,level,direction,n,seeds,at,low,high\n", stream);
    printf("\nWhere throughput passes %g times that of %s %s:\n", level,
           dsgd_frame_key(&c->frame, c->frame.by), c->frame.baseline);
    line l = {.c = c,
              .points = dsgd_keep(c->frame.n_points, sizeof *l.points),
              .x = dsgd_keep(c->frame.n_points, sizeof *l.x)};
    bool any = false;
    for (l.key = 1; l.key < c->frame.n_keys; l.key++)
        for (size_t i = 0; dsgd_frame_varies(&c->frame, l.key) && i < c->frame.n_points; i++)
            if (find_line(&l, &c->frame.points[i])) {
                report_line(stream, &l, level);
                any = true;
            }
    if (!any)
        printf("nowhere: no number is swept that algorithms and the baseline have in common\n");
    return dsgd_whole_close(&file, error);
}
