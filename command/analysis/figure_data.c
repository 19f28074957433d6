/**
 * @file figure_data.c
 * From tables of runs to what figures draw.
 */
#include "command/analysis/figure_data.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/option.h"
#include "command/analysis/figure_cells.h"
#include "command/analysis/figure_curves.h"
#include "command/analysis/figure_target.h"
#include "command/analysis/frame.h"
#include "command/analysis/gnuplot.h"
#include "command/experiment/shipped.h"
#include "command/runs/results.h"
#include "command/runs/swept.h"

typedef struct data {
    const char *folder;
    dsgd_figure_runs runs;
    dsgd_frame seeds; /* of the same rows */
    double *throughput;
    dsgd_csv published;
    json_t *manifest; /* NULL: none */
    size_t *measures, n_measures; /* columns that are averaged */
    size_t *group, n_group; /* rows of the group at hand */
    double *x; /* [n_group] */
    double *to_target; /* dsgd_figure_to_target() */
} data;

/* --- what the figures are of ------------------------------------------------------------------ */

static const char *label_of(const data *d, const dsgd_figure_choice *choice, size_t i)
{
    for (size_t k = choice->labels.n; k > 0; k--) {
        const size_t length = strcspn(choice->labels.v[k - 1], "=");
        if (dsgd_figure_series(&d->runs, choice->labels.v[k - 1], length) == i)
            return choice->labels.v[k - 1] + length + 1;
    }
    return "";
}

/** FNV-1a: where a name that the style does not know begins to look for a look. */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261U;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 16777619U;
    return h;
}

static void put_series(FILE *out, const data *d, const dsgd_figure_choice *choice)
{
    dsgd_names drawn = {NULL, 0}, labels = {NULL, 0};
    fprintf(out, "n_series = %zu\narray hash[%zu] = [", d->runs.n_order, d->runs.n_order);
    for (size_t k = 0; k < d->runs.n_order; k++) {
        const char *const name = d->runs.series.v[d->runs.order[k]];
        dsgd_names_add(&drawn, name);
        fprintf(out, "%s%u", k == 0 ? "" : ", ", hash(name) % 65536);
    }
    fputs("]\n", out);
    dsgd_gnuplot_names(out, "series", &drawn);
    labels.v = dsgd_xcalloc(d->runs.n_order, sizeof *labels.v);
    for (; labels.n < d->runs.n_order; labels.n++)
        labels.v[labels.n] = dsgd_xstrdup(label_of(d, choice, d->runs.order[labels.n]));
    dsgd_gnuplot_names(out, "label", &labels);
    dsgd_names_free(&drawn);
    dsgd_names_free(&labels);
}

/** The unit of samples, of all runs that are shown; "samples" where they differ. */
static char *unit_of(const data *d)
{
    const json_t *const runs = json_object_get(d->manifest, "runs");
    const char *unit = NULL;
    for (size_t row = 0; row < d->runs.csv.n_rows; row++) {
        const double run = dsgd_csv_value(&d->runs.csv, row, d->runs.run);
        const bool is_planned = run >= 1 && run <= (double)json_array_size(runs);
        const json_t *const of_run = is_planned ? json_array_get(runs, (size_t)run - 1) : NULL;
        const char *const text =
            json_string_value(json_object_get(json_object_get(of_run, "workload"), "unit"));
        if (text == NULL || (unit != NULL && strcmp(text, unit) != 0))
            return dsgd_xstrdup("samples");
        unit = text;
    }
    return dsgd_xstrdup(unit == NULL ? "samples" : unit);
}

/** "28 of 192 runs; network: nics": what a reader has to know of the runs. */
static char *note_of(const data *d)
{
    const size_t network = dsgd_csv_column(&d->runs.csv, "network");
    size_t done = 0;
    const char *nics = NULL; /* as the folder's program called it */
    for (size_t row = 0; row < d->runs.csv.n_rows; row++) {
        done += dsgd_status_has_results(dsgd_figure_field(&d->runs, row, d->runs.status));
        const char *const name =
            network < d->runs.csv.n_columns ? dsgd_figure_field(&d->runs, row, network) : "";
        if (strcmp(dsgd_present_word(name), "nics") == 0)
            nics = name;
    }
    const json_t *const list = json_object_get(d->manifest, "runs");
    const size_t all = json_array_size(list) > 0 ? json_array_size(list) : d->runs.csv.n_rows;
    char *text = dsgd_xstrdup("");
    if (done < all)
        dsgd_append(&text, "%zu of %zu runs", done, all);
    if (nics != NULL)
        dsgd_append(&text, "%snetwork: %s", *text == '\0' ? "" : "; ", nics);
    return text;
}

/* --- groups of runs --------------------------------------------------------------------------- */

/** A number of a row: a column of runs.csv, or computed from some. */
typedef double measure(const data *d, size_t row, size_t column);

static double plain(const data *d, size_t row, size_t column)
{
    return dsgd_frame_counts(&d->seeds, row, column) ? dsgd_csv_value(&d->runs.csv, row, column)
                                                     : NAN;
}

static double named(const data *d, size_t row, const char *name)
{
    return plain(d, row, dsgd_csv_column(&d->runs.csv, name));
}

/** If nobody ever waited, a step would take its computation alone. */
static double ideal(const data *d, size_t row, size_t column)
{
    (void)column;
    return named(d, row, "throughput_samples_per_s") / named(d, row, "compute_share");
}

/** What a run takes to the target; @p column: from 0 to DSGD_N_TO_TARGET - 1. */
static double to_target(const data *d, size_t row, size_t column)
{
    return d->to_target[row * DSGD_N_TO_TARGET + column];
}

/** What the values of a measure reach: with intervals and published points at each panel and place. */
typedef struct extent {
    const char *name;
    double *top; /* [n_panels][n_places]; 0: nothing is there */
    double least; /* of the means above 0; INFINITY: none is */
    bool *published; /* [n_places] */
} extent;

/** Mean of d->x[n], and its interval: 0 where one run has none. Returns both summed. */
static double put_mean(FILE *out, const data *d, size_t n)
{
    dsgd_interval mean = dsgd_mean(d->x, n);
    mean.ci = n == 1 ? 0 : mean.ci;
    dsgd_gnuplot_number(out, mean.mean);
    dsgd_gnuplot_number(out, mean.ci);
    return mean.mean + mean.ci;
}

static void put_measure(FILE *out, const data *d, dsgd_figure_group at, measure *of, size_t column,
                        extent *reached)
{
    size_t n = 0;
    for (size_t k = 0; k < d->n_group; k++) {
        const double x = of(d, d->group[k], column);
        if (isfinite(x))
            d->x[n++] = x;
    }
    if (of == to_target && n < d->n_group)
        n = 0; /* a mean of those seeds alone that reach it would be that of the lucky ones */
    double *const top = &reached->top[at.panel * d->runs.places.n + at.place];
    for (size_t k = 0; k < n; k++)
        reached->least = d->x[k] > 0 && d->x[k] < reached->least ? d->x[k] : reached->least;
    *top = fmax(*top, put_mean(out, d, n));
}

/** Throughput over the baseline's; half the width of its interval, which is that of a logarithm. */
static void put_speedup(FILE *out, const data *d, dsgd_figure_group at, extent *reached)
{
    dsgd_ratio r = {.n = 0};
    if (d->n_group > 0)
        r = dsgd_frame_ratio(&d->seeds, &d->seeds.points[d->seeds.point_of[d->group[0]]],
                             d->seeds.points[d->seeds.point_of[d->group[0]]].baseline,
                             d->throughput);
    const double ci = r.n == 1 ? 0 : r.n == 0 ? NAN : (r.high - r.low) / 2;
    double *const top = &reached->top[at.panel * d->runs.places.n + at.place];
    dsgd_gnuplot_number(out, r.n == 0 ? NAN : r.ratio);
    dsgd_gnuplot_number(out, ci);
    *top = fmax(*top, r.n == 0 ? NAN : r.ratio + ci);
    reached->least = r.n > 0 && r.ratio < reached->least ? r.ratio : reached->least;
}

/** Whether two fields are the same text or number. */
static bool is_same(const char *a, const char *b)
{
    double x = NAN, y = NAN;
    return strcmp(a, b) == 0 ||
           (dsgd_parse_number(a, NULL, &x) && dsgd_parse_number(b, NULL, &y) && x == y);
}

/** Whether a published row is a point about the cell. */
static bool is_about(const data *d, size_t row, dsgd_figure_group at, const char *quantity)
{
    const dsgd_csv *const p = &d->published;
    const char *const along =
        d->runs.along < d->runs.csv.n_columns ? d->runs.csv.fields[d->runs.along] : "";
    const char *const wanted[][2] = {{"algorithm", d->runs.series.v[at.series]},
                                     {"relation", "~"},
                                     {"over", ""},
                                     {"quantity", quantity},
                                     {along, d->runs.places.v[at.place]}};
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        const size_t column = dsgd_csv_column(p, wanted[k][0]);
        if (column < p->n_columns && !is_same(dsgd_csv_field(p, row, column), wanted[k][1]))
            return false;
    }
    return true;
}

static double published_of(const data *d, dsgd_figure_group at, const char *quantity)
{
    for (size_t row = 0; row < d->published.n_rows; row++)
        if (is_about(d, row, at, quantity))
            return dsgd_csv_value(&d->published, row, dsgd_csv_column(&d->published, "published"));
    return NAN;
}

/** Whether a variable can be called so: in results from elsewhere a column may have any name. */
static bool is_name(const char *text)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return *text != '\0' && text[strspn(text, characters)] == '\0';
}

/** Columns of runs.csv with a number in a row that counts, and none that is no number. */
static void find_measures(data *d)
{
    d->measures = dsgd_xcalloc(d->runs.csv.n_columns, sizeof *d->measures);
    for (size_t c = d->runs.status + 1; c < d->runs.wall; c++) {
        bool has = false, all = is_name(d->runs.csv.fields[c]);
        for (size_t row = 0; row < d->runs.csv.n_rows; row++) {
            double x = NAN;
            const char *const text = dsgd_figure_field(&d->runs, row, c);
            const bool is = dsgd_parse_number(text, NULL, &x);
            has = has || (is && dsgd_figure_counts(&d->runs, row));
            all = all && (is || *text == '\0');
        }
        if (has && all)
            d->measures[d->n_measures++] = c;
    }
}

static void put_group(FILE *out, data *d, dsgd_figure_group at, extent *reached)
{
    d->n_group = dsgd_figure_gather(&d->runs, at, d->group);
    fprintf(out, "%zu", at.place + 1);
    dsgd_gnuplot_number(out, dsgd_figure_place(&d->runs, at.place));
    for (size_t m = 0; m < d->n_measures; m++, reached++) {
        const double published = published_of(d, at, reached->name);
        double *const top = &reached->top[at.panel * d->runs.places.n + at.place];
        put_measure(out, d, at, plain, d->measures[m], reached);
        dsgd_gnuplot_number(out, published);
        *top = fmax(*top, published);
        reached->published[at.place] = reached->published[at.place] || !isnan(published);
    }
    put_measure(out, d, at, ideal, 0, reached);
    put_speedup(out, d, at, reached + 1);
    for (size_t k = 0; d->to_target != NULL && k < DSGD_N_TO_TARGET; k++)
        put_measure(out, d, at, to_target, k, reached + 2 + k);
    fputc('\n', out);
}

static void put_extent(FILE *out, const data *d, extent *reached)
{
    fprintf(out, "array top_%s[%zu] = [", reached->name, d->runs.panels.n * d->runs.places.n);
    for (size_t k = 0; k < d->runs.panels.n * d->runs.places.n; k++)
        fprintf(out, "%s%.9g", k == 0 ? "" : ", ", reached->top[k]);
    fprintf(out, "]\nleast_%s = %.9g\npublished_%s = ' ", reached->name,
            isfinite(reached->least) ? reached->least : 0, reached->name);
    for (size_t k = 0; k < d->runs.places.n; k++)
        if (reached->published[k])
            fprintf(out, "%zu ", k + 1);
    fputs("'\n", out);
    free(reached->top);
    free(reached->published);
}

/** A row for each place, a block for each panel and series; then what each column reaches. */
static void put_groups(FILE *out, data *d)
{
    const size_t n = d->n_measures + 2 + (d->to_target == NULL ? 0 : DSGD_N_TO_TARGET);
    extent *const reached = dsgd_xcalloc(n, sizeof *reached);
    fputs("columns_of_groups = ' place value", out);
    for (size_t m = 0; m < n; m++) {
        reached[m] =
            (extent){m < d->n_measures       ? d->runs.csv.fields[d->measures[m]]
                     : m < d->n_measures + 1 ? "ideal"
                     : m < d->n_measures + 2 ? "speedup"
                                             : dsgd_figure_target_name(m - d->n_measures - 2),
                     dsgd_xcalloc(d->runs.panels.n * d->runs.places.n, sizeof(double)), INFINITY,
                     dsgd_xcalloc(d->runs.places.n, sizeof(bool))};
        const char *const name = reached[m].name;
        fprintf(out, " %s %s_ci", name, name);
        if (m < d->n_measures)
            fprintf(out, " %s_published", name);
    }
    fputs(" '\n$groups << EOD\n", out);
    for (size_t b = 0; b < d->runs.panels.n * d->runs.n_order; b++) {
        dsgd_figure_group at = {b / d->runs.n_order, 0, d->runs.order[b % d->runs.n_order]};
        fputs(b == 0 ? "" : "\n\n", out);
        for (; at.place < d->runs.places.n; at.place++)
            put_group(out, d, at, reached);
    }
    fputs("EOD\n", out);
    for (size_t m = 0; m < n; m++)
        put_extent(out, d, &reached[m]);
    free(reached);
}

/* --- the folder ------------------------------------------------------------------------------- */

static const char head[] =
    "# What the figures of this folder draw, out of its tables; `dsgd plot` writes it again.\n"
    "# Means over seeds, and half widths of their 95 % intervals as NAME_ci (0: a single seed).\n"
    "# series, label: the algorithms as the tables and as the user name them; panel, place: what\n"
    "# runs differ in besides; along, axis: the column of the places, and its title. $groups: a\n"
    "# block for each panel and series, a row for each place. $curves, $staleness and $steps: a "
    "block\n"
    "# for each panel, place, series. $cells: those of phase.csv with their edges, where it is.\n";

/** Places as readers have them. */
static void put_places(FILE *out, const data *d, const char *along)
{
    dsgd_names shown = {dsgd_xcalloc(d->runs.places.n, sizeof *shown.v), d->runs.places.n};
    for (size_t k = 0; k < d->runs.places.n; k++)
        shown.v[k] = dsgd_swept_value(along, d->runs.places.v[k]);
    dsgd_gnuplot_names(out, "place", &shown);
    dsgd_names_free(&shown);
}

static void put_all(FILE *out, data *d, const dsgd_figure_choice *choice)
{
    char *const unit = unit_of(d), *const note = note_of(d);
    const bool has_along = d->runs.along < d->runs.csv.n_columns;
    const char *const name = json_string_value(json_object_get(d->manifest, "experiment"));
    fputs(head, out);
    dsgd_gnuplot_variable(out, "experiment", name == NULL ? "" : name);
    dsgd_gnuplot_variable(out, "unit", unit);
    dsgd_gnuplot_variable(out, "currency", dsgd_results_currency(&d->runs.csv));
    dsgd_gnuplot_variable(out, "note", note);
    const char *const along = has_along ? d->runs.csv.fields[d->runs.along] : "";
    char *const axis =
        strcmp(along, "workers") == 0 ? dsgd_xstrdup("number of GPUs") : dsgd_swept_title(along);
    dsgd_gnuplot_variable(out, "along", along);
    dsgd_gnuplot_variable(out, "axis", axis);
    dsgd_gnuplot_variable(out, "workers",
                          dsgd_figure_field(&d->runs, 0, dsgd_csv_column(&d->runs.csv, "workers")));
    put_series(out, d, choice);
    dsgd_gnuplot_names(out, "panel", &d->runs.panels);
    put_places(out, d, along);
    fprintf(out, "array place_value[%zu] = [", d->runs.places.n);
    for (size_t k = 0; k < d->runs.places.n; k++) {
        const double x = dsgd_figure_place(&d->runs, k);
        fprintf(out, "%s%.9g", k == 0 ? "" : ", ", isnan(x) ? (double)(k + 1) : x);
    }
    fputs("]\n", out);
    fprintf(out, "n_panels = %zu\nn_places = %zu\n", d->runs.panels.n, d->runs.places.n);
    put_groups(out, d);
    dsgd_figure_curves(out, &d->runs, d->folder);
    dsgd_figure_cells(out, d->folder);
    free(axis);
    free(unit);
    free(note);
}

/** What was published of the experiment: as `dsgd reproduce` leaves it, or else as shipped. */
static void read_published(data *d)
{
    const char *const name = json_string_value(json_object_get(d->manifest, "experiment"));
    if (name == NULL || strchr(name, '/') != NULL)
        return;
    if (dsgd_csv_read(&d->published, NULL, "%s/%s.csv", d->folder, name) == DSGD_OK)
        return;
    dsgd_csv_close(&d->published);
    if (dsgd_csv_read(&d->published, NULL, "%s/plots/%s/published.csv", dsgd_data_folder(), name) ==
        DSGD_OK)
        return;
    dsgd_csv_close(&d->published);
    d->published = (dsgd_csv){.n_rows = 0};
}

static void close_data(data *d)
{
    dsgd_frame_close(&d->seeds);
    free(d->throughput);
    dsgd_figure_runs_close(&d->runs);
    dsgd_csv_close(&d->published);
    json_decref(d->manifest);
    free(d->to_target);
    free(d->measures);
    free(d->group);
    free(d->x);
}

dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error)
{
    data d = {.folder = folder};
    dsgd_whole_file file;
    dsgd_status status = dsgd_figure_runs_open(folder, choice, &d.runs, error);
    if (status == DSGD_OK)
        status = dsgd_frame_open(&d.runs.csv, &(dsgd_framing){.by = NULL}, &d.seeds, error);
    FILE *const out =
        status != DSGD_OK ? NULL : dsgd_whole_open(&file, error, "%s/data.gp", output);
    if (out != NULL) {
        char *const path = dsgd_xprintf("%s/manifest.json", folder);
        d.manifest = dsgd_json_file(path);
        free(path);
        d.group = dsgd_xcalloc(d.runs.csv.n_rows, sizeof *d.group);
        d.x = dsgd_xcalloc(d.runs.csv.n_rows, sizeof *d.x);
        read_published(&d);
        d.to_target = dsgd_figure_to_target(&d.seeds, folder, choice->target);
        d.throughput = dsgd_frame_numbers(&d.seeds, "throughput_samples_per_s");
        find_measures(&d);
        put_all(out, &d, choice);
        status = dsgd_whole_close(&file, error);
    } else if (status == DSGD_OK) {
        status = DSGD_EIO;
    }
    close_data(&d);
    return status;
}
