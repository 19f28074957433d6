/**
 * @file figure_runs.c
 * From points of a frame to series, places and panels, and those of them that a user wants.
 */
#include "command/analysis/figure_runs.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/option.h"
#include "command/runs/swept.h"

/* --- what distinguishes runs ------------------------------------------------------------------ */

/** The number of workers, or else the last key with most values: swept ones come last. */
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
            d->along = k;
            most = workers ? SIZE_MAX : n;
        }
    }
    /* Where a whole part is swept, its name says no more. */
    for (size_t k = 1; k < d->frame.n_keys; k++)
        for (size_t s = k + 1; s < d->frame.n_keys; s++) {
            const char *const swept = dsgd_frame_key(&d->frame, s);
            if (strncmp(swept, "swept.", 6) == 0 && d->differs[s] &&
                strcmp(swept + 6, dsgd_frame_key(&d->frame, k)) == 0)
                d->differs[k] = false;
        }
}

/**
 * "lr 0.1; period 8": what a coordinate of a point has beside the algorithm and `along`; as tables have
 * it, or shown to readers, where close values may be the same.
 */
static const char *setting_of(const dsgd_figure_runs *d, const dsgd_frame_point *p,
                              dsgd_coordinate part, bool shown)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 1; k < d->frame.n_keys; k++) {
        const char *const column = dsgd_frame_key(&d->frame, k);
        const char *const value = dsgd_frame_value(&d->frame, p, k);
        if (!d->differs[k] || k == d->along || *value == '\0' ||
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
    return d->along == 0 ? "" : dsgd_frame_value(&d->frame, p, d->along);
}

const char *dsgd_figure_along(const dsgd_figure_runs *d)
{
    return d->along == 0 ? "" : dsgd_frame_key(&d->frame, d->along);
}

double dsgd_figure_place(const dsgd_figure_runs *d, size_t place)
{
    double x = NAN;
    return dsgd_parse_number(d->places.v[place], NULL, &x) ? x : NAN;
}

/* --- their order ------------------------------------------------------------------------------ */

/** By their values of the first key that differs: numbers, or else by which text came first. */
static bool is_before(const dsgd_figure_runs *d, const dsgd_frame_point *a,
                      const dsgd_frame_point *b, bool along)
{
    const dsgd_frame *const f = &d->frame;
    size_t k = 1;
    while (k < f->n_keys &&
           (!d->differs[k] || (k == d->along) != along || dsgd_frame_part(f, k) != DSGD_PLACE ||
            strcmp(dsgd_frame_value(f, a, k), dsgd_frame_value(f, b, k)) == 0))
        k++;
    if (k == f->n_keys)
        return false;
    const char *const first = dsgd_frame_value(f, a, k), *const second = dsgd_frame_value(f, b, k);
    double x = NAN, y = NAN;
    if (d->numeric[k])
        return *first == '\0' ||
               (dsgd_parse_number(first, NULL, &x) && dsgd_parse_number(second, NULL, &y) && x < y);
    size_t i = 0; /* the point where one of them came first */
    while (strcmp(dsgd_frame_value(f, &f->points[i], k), first) != 0 &&
           strcmp(dsgd_frame_value(f, &f->points[i], k), second) != 0)
        i++;
    return strcmp(dsgd_frame_value(f, &f->points[i], k), first) == 0;
}

/** Adds a point's name of places or panels, which are few, where it belongs; @p first: a point of each. */
static void add_sorted(const dsgd_figure_runs *d, dsgd_names *list, const dsgd_frame_point **first,
                       const dsgd_frame_point *p, const char *name)
{
    const size_t n = list->n;
    size_t i = dsgd_names_add(list, name);
    if (list->n == n)
        return;
    for (first[i] = p; i > 0 && is_before(d, p, first[i - 1], list == &d->places); i--) {
        const char *const text = list->v[i];
        list->v[i] = list->v[i - 1];
        list->v[i - 1] = text;
        first[i] = first[i - 1];
        first[i - 1] = p;
    }
}

/** Finds what there is; panels are shown to readers only when all points have found theirs. */
static void find_names(dsgd_figure_runs *d, const dsgd_frame_point **panels,
                       const dsgd_frame_point **places)
{
    for (size_t i = 0; i < d->frame.n_points; i++) {
        const dsgd_frame_point *const p = &d->frame.points[i];
        if (p->at[DSGD_VARIATION] > 0)
            continue;
        dsgd_names_add(&d->series, series_of(d, p));
        add_sorted(d, &d->panels, panels, p, setting_of(d, p, DSGD_PLACE, false));
        add_sorted(d, &d->places, places, p, place_of(d, p));
    }
}

/* --- what a user chose ------------------------------------------------------------------------ */

size_t dsgd_figure_series(const dsgd_figure_runs *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->series.n; i++)
        if (strlen(d->series.v[i]) == length && strncmp(d->series.v[i], name, length) == 0)
            return i;
    return d->series.n;
}

static dsgd_status unknown_series(const dsgd_figure_runs *d, const char *option, const char *name,
                                  size_t length, dsgd_error *error)
{
    return dsgd_refuse(error, "%s: `%.*s` is not in %s; there is %s", option, (int)length, name,
                       d->csv.path, dsgd_listed(d->series.v, ", "));
}

static bool is_drawn(const dsgd_figure_runs *d, size_t i)
{
    size_t k = 0;
    while (k < d->n_order && d->order[k] != i)
        k++;
    return k < d->n_order;
}

static void draw_series(dsgd_figure_runs *d, size_t i)
{
    if (is_drawn(d, i))
        return;
    d->order = dsgd_keep_more(d->order, d->n_order + 1, sizeof *d->order);
    d->order[d->n_order++] = i;
}

static dsgd_status draw_listed(dsgd_figure_runs *d, const char *option, const char *list,
                               dsgd_error *error)
{
    for (const char *name = list; name != NULL && *name != '\0';) {
        const size_t length = strcspn(name, ",");
        const size_t i = dsgd_figure_series(d, name, length);
        if (i == d->series.n)
            return unknown_series(d, option, name, length, error);
        draw_series(d, i);
        name += length + (name[length] == ',');
    }
    return DSGD_OK;
}

static dsgd_status check_labels(const dsgd_figure_runs *d, const dsgd_texts *labels,
                                dsgd_error *error)
{
    for (size_t i = 0; i < labels->n; i++) {
        const size_t length = strcspn(labels->v[i], "=");
        if (labels->v[i][length] == '\0')
            return dsgd_refuse(error,
                               "--label: `%s` is not of the form NAME=TEXT, such as wagma=WAGMA",
                               labels->v[i]);
        if (dsgd_figure_series(d, labels->v[i], length) == d->series.n)
            return unknown_series(d, "--label", labels->v[i], length, error);
    }
    return DSGD_OK;
}

static dsgd_status choose(dsgd_figure_runs *d, const dsgd_figure_choice *choice, dsgd_error *error)
{
    dsgd_figure_runs only = *d, ordered = *d; /* what may be drawn, and what comes first of it */
    DSGD_TRY(draw_listed(&only, "--only", choice->only, error));
    DSGD_TRY(draw_listed(&ordered, "--order", choice->order, error));
    for (size_t i = 0; choice->only == NULL && i < d->series.n; i++)
        draw_series(&only, i);
    for (size_t k = 0; k < ordered.n_order; k++)
        if (is_drawn(&only, ordered.order[k]))
            draw_series(d, ordered.order[k]);
    for (size_t k = 0; k < only.n_order; k++)
        draw_series(d, only.order[k]);
    return check_labels(d, &choice->labels, error);
}

/* --- the table -------------------------------------------------------------------------------- */

size_t dsgd_figure_frames(const dsgd_figure_runs *d)
{
    return d->panels.n * d->places.n;
}

static void place_points(dsgd_figure_runs *d)
{
    d->points = dsgd_keep(dsgd_figure_frames(d) * d->n_order + 1, sizeof *d->points);
    for (size_t i = 0; i < d->frame.n_points; i++) {
        const dsgd_frame_point *const p = &d->frame.points[i];
        if (p->at[DSGD_VARIATION] > 0)
            continue;
        const char *const series = series_of(d, p);
        const size_t frame =
            dsgd_names_add(&d->panels, setting_of(d, p, DSGD_PLACE, false)) * d->places.n +
            dsgd_names_add(&d->places, place_of(d, p));
        for (size_t k = 0; k < d->n_order; k++)
            if (strcmp(d->series.v[d->order[k]], series) == 0)
                d->points[frame * d->n_order + k] = p;
    }
}

dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *d, dsgd_error *error)
{
    size_t column = 0;
    *d = (dsgd_figure_runs){.along = 0};
    DSGD_TRY(dsgd_csv_read(&d->csv, error, "%s/runs.csv", folder));
    DSGD_TRY(dsgd_csv_need(&d->csv, "run", &column, error));
    DSGD_TRY(dsgd_csv_need(&d->csv, "workers", &column, error));
    DSGD_TRY(dsgd_frame_open(&d->csv, &(dsgd_framing){.by = NULL}, &d->frame, error));
    const dsgd_frame_point **const panels = dsgd_keep(2 * d->frame.n_points + 1, sizeof *panels);
    find_along(d);
    find_names(d, panels, panels + d->frame.n_points);
    if (d->series.n == 0)
        return dsgd_refuse(error, "%s: there is no run with status ok or diverged", d->csv.path);
    DSGD_TRY(choose(d, choice, error));
    enum { MOST_BLOCKS = 100000 }; /* every panel has every place and series, also without a run */
    const double n = (double)d->panels.n * (double)d->places.n * (double)d->n_order;
    if (n > MOST_BLOCKS)
        return dsgd_refuse(error,
                           "%s: %zu panels of %zu places and %zu series are more than can be "
                           "drawn, %d together; --only A,B draws some series",
                           d->csv.path, d->panels.n, d->places.n, d->n_order, MOST_BLOCKS);
    place_points(d);
    for (size_t i = 0; i < d->panels.n; i++) /* from here on for readers */
        d->panels.v[i] = setting_of(d, panels[i], DSGD_PLACE, true);
    return DSGD_OK;
}
