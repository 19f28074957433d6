/**
 * @file figure_runs.c
 * Arranges the points of a frame by series, axis positions (places) and panels, according to the
 * user's options.
 */
#include "command/analysis/figure_data.h"

#include "base/option.h"
#include "command/analysis/run_table.h"
#include "command/runs/swept.h"

/* --- keys ------------------------------------------------------------------------------------- */

/**
 * Finds the key whose values are the axis positions. It is the number of workers, or else the key
 * with the most values (the last such key).
 */
static void find_along(dsgd_figure_runs *d)
{
    size_t most = 1;
    d->differs = dsgd_keep(d->frame.n_keys, sizeof *d->differs);
    d->numeric = dsgd_keep(d->frame.n_keys, sizeof *d->numeric);
    for (size_t k = 1; k < d->frame.n_keys; k++) {
        const dsgd_coordinate part = dsgd_frame_part(&d->frame, k);
        const size_t n = d->frame.n_values[k];
        d->differs[k] = n > 1 && part != DSGD_VARIATION;
        d->numeric[k] = true;
        double x = 0;
        for (size_t i = 0; i < d->frame.n_points; i++) {
            const char *const text = dsgd_frame_value(&d->frame, &d->frame.points[i], k);
            d->numeric[k] = d->numeric[k] && (*text == '\0' || dsgd_parse_number(text, NULL, &x));
        }
        const bool workers = strcmp(dsgd_frame_key(&d->frame, k), "workers") == 0;
        if (d->differs[k] && part == DSGD_PLACE && (n >= most || workers)) {
            d->key = k;
            most = workers ? SIZE_MAX : n;
        }
    }
    d->along = d->key == 0 ? "" : dsgd_frame_key(&d->frame, d->key);
    /*
     * If a whole section is swept, skip the key with the section's name, because it is redundant.
     */
    for (size_t k = 1; k < d->frame.n_keys; k++)
        for (size_t s = k + 1; s < d->frame.n_keys; s++)
            if (d->differs[s] &&
                strcmp(dsgd_frame_key(&d->frame, s),
                       dsgd_xprintf("swept.%s", dsgd_frame_key(&d->frame, k))) == 0)
                d->differs[k] = false;
}

/**
 * Returns the values of a point's coordinate, such as "lr 0.1; period 8". Omits the algorithm and
 * the key `along`. Values are written as in the tables; if @p shown is true, they are rounded for
 * readers.
 */
static const char *setting_of(const dsgd_figure_runs *d, const dsgd_frame_point *p,
                              dsgd_coordinate part, bool shown)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 1; k < d->frame.n_keys; k++) {
        const char *const column = dsgd_frame_key(&d->frame, k);
        const char *const value = dsgd_frame_value(&d->frame, p, k);
        if (!d->differs[k] || k == d->key || *value == '\0' ||
            dsgd_frame_part(&d->frame, k) != part)
            continue;
        const char *const key = dsgd_last_key(column);
        const bool alone = strcmp(key, "platform") == 0 || strcmp(key, "workload") == 0;
        const char *const name = shown ? dsgd_swept_title(column) : key;
        dsgd_append(&text, "%s%s%s%s", *text == '\0' ? "" : "; ", alone ? "" : name,
                    alone ? "" : " ", shown ? dsgd_swept_value(column, value) : value);
    }
    return text;
}

static const char *series_of(const dsgd_figure_runs *d, const dsgd_frame_point *p)
{
    const char *const own = setting_of(d, p, DSGD_SERIES, false);
    return dsgd_xprintf("%s%s%s", dsgd_frame_value(&d->frame, p, 0), *own == '\0' ? "" : "; ", own);
}

static const char *place_of(const dsgd_figure_runs *d, const dsgd_frame_point *p)
{
    return d->key == 0 ? "" : dsgd_frame_value(&d->frame, p, d->key);
}

/* --- order of places and panels --------------------------------------------------------------- */

/** The order of panels, or of positions along an axis. */
typedef struct order {
    const dsgd_figure_runs *d;
    bool along;
} order;

/**
 * Compares two points by the first key in which they differ. Compares numbers by value. Compares
 * texts by their first appearance in the table.
 */
static int compare_points(const void *a, const void *b, void *by)
{
    const order *const o = by;
    const dsgd_frame *const f = &o->d->frame;
    const dsgd_frame_point *const p = *(const dsgd_frame_point *const *)a;
    const dsgd_frame_point *const q = *(const dsgd_frame_point *const *)b;
    size_t k = 1;
    while (k < f->n_keys && (!o->d->differs[k] || (k == o->d->key) != o->along ||
                             dsgd_frame_part(f, k) != DSGD_PLACE ||
                             strcmp(dsgd_frame_value(f, p, k), dsgd_frame_value(f, q, k)) == 0))
        k++;
    if (k == f->n_keys)
        return p < q ? -1 : 1;
    const char *const first = dsgd_frame_value(f, p, k), *const second = dsgd_frame_value(f, q, k);
    /* A point without a value comes before all other points. */
    double x = -INFINITY, y = -INFINITY;
    dsgd_parse_number(first, NULL, &x);
    dsgd_parse_number(second, NULL, &y);
    if (o->d->numeric[k])
        return x < y || (!(x > y) && p < q) ? -1 : 1;
    size_t i = 0; /* index of the first point that has one of the two texts */
    while (strcmp(dsgd_frame_value(f, &f->points[i], k), first) != 0 &&
           strcmp(dsgd_frame_value(f, &f->points[i], k), second) != 0)
        i++;
    return strcmp(dsgd_frame_value(f, &f->points[i], k), first) == 0 ? -1 : 1;
}

/**
 * Sorts the points. Returns the distinct names of their axis positions, or of their panels, in this
 * order.
 */
static dsgd_names sort(const dsgd_figure_runs *d, const dsgd_frame_point **points, size_t n,
                       bool along)
{
    dsgd_names names = {.n = 0};
    qsort_r(points, n, sizeof *points, compare_points, &(order){d, along});
    for (size_t i = 0; i < n; i++)
        dsgd_names_add(&names, along ? place_of(d, points[i])
                                     : setting_of(d, points[i], DSGD_PLACE, false));
    return names;
}

/* --- choices of the user ---------------------------------------------------------------------- */

static dsgd_status check_series(const dsgd_figure_runs *d, const char *option, const char *name,
                                dsgd_error *error)
{
    return dsgd_find_word(d->series.v, name) >= 0
               ? DSGD_OK
               : dsgd_refuse(error, "%s: `%s` is not in %s; valid values: %s", option, name,
                             d->csv.path, dsgd_listed(d->series.v, ", "));
}

/** Selects the series of the figure, in the order of the table. */
static dsgd_status choose(dsgd_figure_runs *d, const dsgd_figure_choice *choice, dsgd_error *error)
{
    dsgd_names only = {.n = 0};
    char *rest = dsgd_xstrdup(choice->only);
    for (const char *name = NULL; (name = strsep(&rest, ",")) != NULL;) {
        DSGD_TRY(check_series(d, "--only", name, error));
        dsgd_names_add(&only, name);
    }
    for (size_t i = 0; i < d->series.n; i++)
        if (only.n == 0 || dsgd_find_word(only.v, d->series.v[i]) >= 0)
            dsgd_names_add(&d->drawn, d->series.v[i]);
    for (size_t i = 0; i < choice->labels.n; i++) {
        const char *const label = choice->labels.v[i];
        const size_t length = strcspn(label, "=");
        if (label[length] == '\0')
            return dsgd_refuse(error, "--label must be NAME=TEXT, such as wagma=WAGMA, got `%s`",
                               label);
        DSGD_TRY(check_series(d, "--label", dsgd_xprintf("%.*s", (int)length, label), error));
    }
    return DSGD_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/**
 * Stores the point of each series at each axis position of each panel. Replaces the names of panels
 * by texts for readers.
 */
static void place_points(dsgd_figure_runs *d, const dsgd_frame_point **points, size_t n)
{
    const dsgd_names panels = d->panels;
    d->panels.v = dsgd_keep(panels.n + 1, sizeof *panels.v);
    d->n_frames = panels.n * d->places.n;
    d->points = dsgd_keep(d->n_frames * d->drawn.n + 1, sizeof *d->points);
    for (size_t i = 0; i < n; i++) {
        const int series = dsgd_find_word(d->drawn.v, series_of(d, points[i]));
        const size_t panel =
            (size_t)dsgd_find_word(panels.v, setting_of(d, points[i], DSGD_PLACE, false));
        const size_t place = (size_t)dsgd_find_word(d->places.v, place_of(d, points[i]));
        d->panels.v[panel] = setting_of(d, points[i], DSGD_PLACE, true);
        if (series >= 0)
            d->points[(panel * d->places.n + place) * d->drawn.n + (size_t)series] = points[i];
    }
}

const dsgd_frame_point *dsgd_figure_ratio(const dsgd_figure_runs *d, const dsgd_frame_point *p)
{
    return &d->ratios.points[d->ratios.point_of[p->rows[0]]];
}

dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *d, dsgd_error *error)
{
    size_t n = 0;
    *d = (dsgd_figure_runs){.key = 0};
    DSGD_TRY(dsgd_runs_read(&d->csv, folder, error));
    DSGD_TRY(dsgd_csv_need(&d->csv, "run", &n, error));
    DSGD_TRY(dsgd_csv_need(&d->csv, "workers", &n, error));
    DSGD_TRY(dsgd_frame_open(&d->csv, &(dsgd_framing){.by = NULL}, &d->frame, error));
    DSGD_TRY(dsgd_frame_open(&d->csv, &choice->framing, &d->ratios, error));
    find_along(d);
    const dsgd_frame_point **const points = dsgd_keep(d->frame.n_points + 1, sizeof *points);
    n = 0;
    for (size_t i = 0; i < d->frame.n_points; i++)
        if (d->frame.points[i].at[DSGD_VARIATION] == 0) {
            points[n++] = &d->frame.points[i];
            dsgd_names_add(&d->series, series_of(d, &d->frame.points[i]));
        }
    if (n == 0)
        return dsgd_refuse(error, "%s: no run has the status ok or diverged", d->csv.path);
    d->panels = sort(d, points, n, false);
    d->places = sort(d, points, n, true);
    DSGD_TRY(choose(d, choice, error));
    /*
     * largest number of combinations of panel, axis position and series, including combinations
     * without runs
     */
    enum { MOST_BLOCKS = 100000 };
    if ((double)d->panels.n * (double)d->places.n * (double)d->drawn.n > MOST_BLOCKS)
        return dsgd_refuse(error,
                           "%s: %zu panels of %zu values and %zu series are too many to draw (at "
                           "most %d together); --only A,B draws some series",
                           d->csv.path, d->panels.n, d->places.n, d->drawn.n, MOST_BLOCKS);
    place_points(d, points, n);
    return DSGD_OK;
}
