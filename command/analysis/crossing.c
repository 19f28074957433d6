/**
 * @file crossing.c
 * Points of a series along one swept number, and where its speed-up passes a level there.
 */
#include "command/analysis/comparison.h"

#include "base/file.h"
#include "base/option.h"
#include "command/runs/swept.h"

/** The points that differ from the first in one key alone, by its value, and their speed-ups. */
typedef struct line {
    const dsgd_comparison *c;
    double level; /* of speed-ups, to pass */
    size_t key;
    const dsgd_frame_point **points; /* [n] */
    double *x; /* [n], rising */
    bool is_log; /* scale of interpolation: where x spans a factor of ten */
    size_t n, n_seeds; /* seeds that all points have */
    double *logs; /* [n_seeds + 1][n]: of throughput over the baseline's; the last are means */
} line;

/** Where the mean over seeds passes the level. */
typedef struct crossing {
    size_t n; /* seeds that pass there by themselves */
    double from, to; /* the simulated values between which the mean does; NAN: nowhere */
    double at; /* the mean of the places of seeds where all pass, else that of the mean */
    double low, high; /* at least from and to, and the 95 % interval over seeds where all pass */
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

/** Collects the line that begins with a point; false: none does, or there is no other point. */
static bool find_line(line *l, const dsgd_frame_point *first)
{
    double x = 0;
    l->n = 0;
    for (size_t i = 0; first->baseline != first && i < l->c->frame.n_points; i++) {
        const dsgd_frame_point *const p = &l->c->frame.points[i];
        if (!is_on(l, first, p, &x))
            continue;
        if (l->n == 0 && p != first)
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
    double *const sums = dsgd_keep(l->n, sizeof *sums);
    l->logs = dsgd_keep(l->n * (first->n_rows + 1), sizeof *l->logs);
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
        for (size_t i = 0; whole && i < l->n; i++)
            sums[i] += logs[i];
    }
    for (size_t i = 0; i < l->n; i++)
        l->logs[l->n_seeds * l->n + i] = sums[i] / (double)l->n_seeds;
}

/* --- crossings -------------------------------------------------------------------------------- */

/** Where a straight line from point @p i of a seed to the next passes the level, on the scale; NAN:
 * nowhere. */
static double passes(const line *l, size_t seed, size_t i, bool rises)
{
    const double *const logs = l->logs + seed * l->n + i, *const x = l->x + i;
    const double before = logs[0] - log(l->level), after = logs[1] - log(l->level);
    if (rises ? !(before < 0 && after >= 0) : !(before >= 0 && after < 0))
        return NAN;
    const double from = l->is_log ? log(x[0]) : x[0], to = l->is_log ? log(x[1]) : x[1];
    return from + (to - from) * before / (before - after);
}

static double unscaled(const line *l, double place)
{
    return l->is_log ? exp(place) : place;
}

/** Where point @p i comes before the level, and the next behind. */
static crossing crossing_at(const line *l, size_t i, bool rises, double at)
{
    crossing c = {0, l->x[i], l->x[i + 1], unscaled(l, at), l->x[i], l->x[i + 1]};
    double *const places = dsgd_keep(l->n_seeds, sizeof *places);
    for (size_t s = 0; s < l->n_seeds; s++) {
        double nearest = NAN; /* of the places where this seed passes in that direction */
        for (size_t k = 0; k + 1 < l->n; k++) {
            const double place = passes(l, s, k, rises);
            if (!isnan(place) && !(fabs(nearest - at) <= fabs(place - at)))
                nearest = place;
        }
        if (!isnan(nearest))
            places[c.n++] = nearest;
    }
    if (c.n == l->n_seeds) {
        const dsgd_interval mean = dsgd_mean(places, c.n);
        c.at = unscaled(l, mean.mean);
        c.low = fmin(c.low, unscaled(l, mean.mean - mean.ci));
        c.high = fmax(c.high, unscaled(l, mean.mean + mean.ci));
    }
    return c;
}

/* --- the report ------------------------------------------------------------------------------- */

/** A value of the key for readers. */
static const char *shown(const line *l, double x)
{
    return dsgd_swept_value(dsgd_frame_key(&l->c->frame, l->key), dsgd_xprintf("%.6g", x));
}

/** A row per crossing; of a line that never passes one without a place. */
static void write_row(FILE *stream, const line *l, const crossing *c, const char *direction)
{
    dsgd_frame_put_keys(stream, &l->c->frame, l->points[0], l->key);
    dsgd_csv_text(stream, dsgd_frame_key(&l->c->frame, l->key));
    dsgd_csv_numbers(stream, &l->level, 1);
    fprintf(stream, ",%s,%zu,%zu", direction, c->n, l->n_seeds);
    dsgd_csv_numbers(stream, (double[]){c->at, c->low, c->high, c->from, c->to}, 5);
    fputc('\n', stream);
}

/** -1, 0 or 1: the mean at a point is below the level, a tie with it, or above. */
static int side_of(const line *l, size_t i)
{
    const double lead = l->logs[l->n_seeds * l->n + i] - log(l->level);
    return fabs(lead) <= log1p(DSGD_TIE) ? 0 : lead > 0 ? 1 : -1;
}

static const char *side_text(const line *l, size_t i)
{
    return side_of(l, i) > 0 ? "above" : "below";
}

/** Says that the level is met from point @p i on, and what is around; gives the last such point. */
static size_t report_equal(FILE *stream, const line *l, size_t i)
{
    size_t last = i;
    while (last + 1 < l->n && side_of(l, last + 1) == 0)
        last++;
    printf("is equal (within %g %%) from %s to %s", 100 * DSGD_TIE, shown(l, l->x[i]),
           shown(l, l->x[last]));
    if (i > 0)
        printf(", %s up to %s", side_text(l, i - 1), shown(l, l->x[i - 1]));
    if (last + 1 < l->n)
        printf(", %s from %s on", side_text(l, last + 1), shown(l, l->x[last + 1]));
    const crossing none = {0, l->x[i], l->x[last], NAN, NAN, NAN};
    write_row(stream, l, &none, "equal");
    return last;
}

static void report_crossing(FILE *stream, const line *l, size_t i, bool rises, double at)
{
    const crossing c = crossing_at(l, i, rises, at);
    printf("%s past it between %s and %s (about %s", rises ? "rises" : "falls", shown(l, c.from),
           shown(l, c.to), shown(l, c.at));
    if (c.low < c.from || c.high > c.to)
        printf("; with noise %s%s to %s%s", c.low < l->x[0] ? "below " : "",
               shown(l, fmax(c.low, l->x[0])), c.high > l->x[l->n - 1] ? "above " : "",
               shown(l, fmin(c.high, l->x[l->n - 1])));
    else if (l->n_seeds == 1)
        printf("; one seed");
    else if (c.n < l->n_seeds)
        printf("; the mean; so do %zu of %zu seeds", c.n, l->n_seeds);
    putchar(')');
    write_row(stream, l, &c, rises ? "rises" : "falls");
}

static void report_line(FILE *stream, line *l)
{
    const dsgd_frame *const f = &l->c->frame;
    const char *const common =
        dsgd_frame_settings(f, l->points[0], DSGD_ALL_COORDINATES, l->key, ", ");
    size_t n = 0;
    read_logs(l);
    printf("%s%s%s%s, %s %s to %s: ", dsgd_frame_value(f, l->points[0], 0),
           *common == '\0' ? "" : " (", common, *common == '\0' ? "" : ")",
           dsgd_swept_name(dsgd_frame_key(f, l->key)), shown(l, l->x[0]), shown(l, l->x[l->n - 1]));
    for (size_t i = 0; l->n_seeds > 0 && i + 1 < l->n; i++) {
        const bool rises = l->logs[l->n_seeds * l->n + i] < log(l->level);
        const double at = passes(l, l->n_seeds, i, rises);
        const bool is_equal = side_of(l, i) == 0 && side_of(l, i + 1) == 0;
        const bool leads_to_equal =
            i + 2 < l->n && side_of(l, i + 1) == 0 && side_of(l, i + 2) == 0;
        if (!is_equal && (isnan(at) || leads_to_equal))
            continue;
        fputs(n++ == 0 ? "" : ", then ", stdout);
        if (is_equal)
            i = report_equal(stream, l, i);
        else
            report_crossing(stream, l, i, rises, at);
    }
    if (n == 0) {
        const crossing none = {0, NAN, NAN, NAN, NAN, NAN};
        const double ratio = dsgd_comparison_of(l->c, l->points[0], DSGD_THROUGHPUT)->ratio.ratio;
        const char *const direction = l->n_seeds == 0     ? "unknown"
                                      : ratio >= l->level ? "above"
                                                          : "below";
        printf("%s",
               l->n_seeds == 0 ? "no common seeds" : dsgd_xprintf("%s it throughout", direction));
        write_row(stream, l, &none, direction);
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
    fputs("along,level,direction,n,seeds,at,low,high,from,to\n", stream);
    printf("\nWhere throughput passes %g times that of %s %s:\n", level,
           dsgd_frame_key(&c->frame, c->frame.by), c->frame.baseline);
    line l = {.c = c,
              .level = level,
              .points = dsgd_keep(c->frame.n_points, sizeof *l.points),
              .x = dsgd_keep(c->frame.n_points, sizeof *l.x)};
    bool any = false;
    for (l.key = 1; l.key < c->frame.n_keys; l.key++)
        for (size_t i = 0; c->frame.n_values[l.key] > 1 && i < c->frame.n_points; i++)
            if (find_line(&l, &c->frame.points[i])) {
                report_line(stream, &l);
                any = true;
            }
    if (!any)
        printf("nowhere: no number is swept that algorithms and the baseline have in common\n");
    return dsgd_whole_close(&file, error);
}
