/**
 * @file figure_data.c
 * Computes the data of figures from the tables of a results folder.
 */
#include "command/analysis/figure_data.h"

#include <jansson.h>

#include "base/file.h"
#include "base/option.h"
#include "command/analysis/comparison.h"
#include "command/analysis/run_table.h"
#include "command/analysis/verdict.h"
#include "command/console/data_folder.h"
#include "command/runs/manifest.h"
#include "command/runs/swept.h"

/**
 * A quantity that figures draw for each point: a column of runs.csv, or a number computed from such
 * columns.
 */
typedef struct measure {
    const char *name;
    double *x; /* number of each row of runs.csv; NAN if the number does not count in results */
    bool of_baseline; /* true if figures show the ratio to the baseline */
    bool of_all; /* true if figures show a mean only if all seeds have a number; otherwise the mean
                  * would be biased */
    bool of_best; /* true if all series at an axis position of a panel show the largest mean at this
                   * position */
    double *top; /* array with one number per axis position of a panel: the largest value including
                  * intervals; 0 if unknown */
    double least; /* smallest value above 0; INFINITY if no such value is known */
} measure;

typedef struct data {
    const char *folder;
    dsgd_figure_runs runs;
    char *points; /* lines of the block $points in gnuplot's data file */
    const json_t *manifest; /* manifest of the results folder; NULL if the folder has no manifest */
    const char *experiment; /* name of the experiment; NULL if it is unknown */
    measure *measures; /* array of n_measures quantities */
    size_t n_measures;
    bool has_two_seeds; /* true if a mean in a figure is over exactly two seeds */
} data;

/* --- series and notes ------------------------------------------------------------------------- */

/**
 * Computes an FNV-1a hash of a name. For unknown series, the style of figures derives colors and
 * marks from this hash.
 */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261U;
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 16777619U;
    return h;
}

static void put_series(FILE *out, const data *d, const dsgd_texts *labels)
{
    const size_t n = d->runs.drawn.n;
    const char *const *const names = d->runs.drawn.v;
    const char **const titles = dsgd_keep(n + 1, sizeof *titles);
    double *const hashes = dsgd_keep(n, sizeof *hashes);
    for (size_t k = 0; k < n; k++) {
        const size_t length = strlen(names[k]);
        titles[k] = "";
        /* If the user gives several --label options for a series, use the last label. */
        for (size_t i = 0; i < labels->n; i++)
            if (strncmp(labels->v[i], names[k], length) == 0 &&
                strcspn(labels->v[i], "=") == length)
                titles[k] = labels->v[i] + length + 1;
        hashes[k] = hash(names[k]) % 65536;
    }
    fprintf(out, "n_series = %zu\n", n);
    dsgd_gnuplot_numbers(out, "hash", hashes, n);
    dsgd_gnuplot_texts(out, "series", names, n);
    dsgd_gnuplot_texts(out, "label", titles, n);
}

/**
 * Returns a text with the number of runs that figures show, such as "28 of 192 runs". Returns "" if
 * figures show all runs.
 */
static const char *note_of(const data *d)
{
    const size_t planned = json_array_size(json_object_get(d->manifest, "runs"));
    const size_t all = planned > 0 ? planned : d->runs.csv.n_rows;
    const size_t done = d->runs.csv.n_rows - d->runs.frame.n_left_out;
    /* the table phase.csv, which exists when all runs of the phase diagram are done */
    dsgd_csv phase;
    const bool is_done = done == d->runs.csv.n_rows &&
                         dsgd_csv_read(&phase, NULL, "%s/phase.csv", d->folder) == DSGD_OK;
    return done == all
               ? ""
               : dsgd_xprintf("%zu of %zu runs%s", done, all, is_done ? " were needed" : "");
}

/* --- quantities ------------------------------------------------------------------------------- */

static measure *add_measure(data *d, const char *name, double *x)
{
    d->measures = dsgd_keep_more(d->measures, d->n_measures + 1, sizeof *d->measures);
    measure *const m = &d->measures[d->n_measures++];
    *m = (measure){.name = name,
                   .x = x,
                   .top = dsgd_keep(d->runs.n_frames, sizeof *m->top),
                   .least = INFINITY};
    return m;
}

/**
 * Adds the columns of runs.csv that contain only numbers. At least one row in a figure must have a
 * number.
 */
static void add_columns(data *d)
{
    /*
     * characters that are valid in names of gnuplot variables; other programs may write column
     * names with other characters
     */
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const dsgd_csv *const csv = &d->runs.csv;
    for (size_t c = d->runs.frame.status + 1; c + 1 < d->runs.frame.first_swept; c++) {
        const char *const name = csv->fields[c];
        bool has = false, all = *name != '\0' && name[strspn(name, characters)] == '\0';
        for (size_t row = 0; row < csv->n_rows; row++) {
            double x = NAN;
            const char *const text = dsgd_csv_field(csv, row, c);
            const bool is = dsgd_parse_number(text, NULL, &x);
            const size_t point = d->runs.frame.point_of[row];
            has = has ||
                  (is && point != SIZE_MAX && d->runs.frame.points[point].at[DSGD_VARIATION] == 0);
            all = all && (is || *text == '\0');
        }
        if (has && all)
            add_measure(d, name, dsgd_frame_numbers(&d->runs.frame, name));
    }
}

/** Adds the quantities up to the target: time, energy, cost and bytes. */
static void add_to_target(data *d, const char *text)
{
    static const size_t of_target[] = {DSGD_TO_TARGET, DSGD_ENERGY_TO_TARGET, DSGD_COST_TO_TARGET,
                                       DSGD_SENT_TO_TARGET};
    dsgd_target target;
    dsgd_run_table curves;
    if (text == NULL || dsgd_target_parse(text, &target, NULL) != DSGD_OK)
        return;
    dsgd_run_table_open(&curves, &d->runs.csv, d->folder, "curves.csv", NULL);
    if (curves.csv.n_columns > 0 && dsgd_target_check(&target, &curves.csv, NULL) == DSGD_OK) {
        for (size_t k = 0; k < sizeof of_target / sizeof of_target[0]; k++)
            add_measure(d, dsgd_measures[of_target[k]].name,
                        dsgd_measure_numbers(&d->runs.frame, of_target[k], &target, &curves, NULL))
                ->of_all = true;
    }
}

static void find_measures(data *d, const char *target)
{
    const dsgd_frame *const f = &d->runs.frame;
    double *const ideal = dsgd_frame_numbers(f, "throughput_samples_per_s");
    const double *const share = dsgd_frame_numbers(f, "compute_share");
    /* Compute the throughput that each run would have if workers never waited or communicated. */
    for (size_t row = 0; row < f->csv->n_rows; row++)
        ideal[row] = isfinite(ideal[row] / share[row]) ? ideal[row] / share[row] : NAN;
    add_columns(d);
    add_measure(d, "ideal", ideal)->of_best = true;
    add_measure(d, "speedup", dsgd_frame_numbers(f, "throughput_samples_per_s"))->of_baseline =
        true;
    add_to_target(d, target);
}

/**
 * Returns the mean over seeds, or the ratio to the baseline. Also returns half the width of the
 * interval in figures.
 */
static dsgd_interval drawn_of(const data *d, const measure *m, const dsgd_frame_point *p)
{
    dsgd_interval of = {NAN, NAN, 0, NAN};
    if (p != NULL && m->of_baseline) {
        const dsgd_frame_point *const q = dsgd_figure_ratio(&d->runs, p);
        if (q->baseline != q) { /* Do not draw the ratio of the baseline to itself, because this
                                 * ratio is always 1. */
            const dsgd_ratio r = dsgd_frame_ratio(&d->runs.ratios, q, q->baseline, m->x);
            of = (dsgd_interval){r.ratio, NAN, r.n, r.drawn};
        }
    } else if (p != NULL) {
        of = dsgd_frame_mean(p, m->x);
        if (m->of_all && of.n < p->n_rows)
            of = (dsgd_interval){NAN, NAN, 0, NAN};
    }
    return of;
}

/** Returns the largest mean of a quantity at one axis position of a panel. */
static dsgd_interval best_of(const data *d, const measure *m, size_t frame)
{
    dsgd_interval best = {NAN, NAN, 0, NAN};
    for (size_t k = 0; k < d->runs.drawn.n; k++) {
        const dsgd_interval of = drawn_of(d, m, d->runs.points[frame * d->runs.drawn.n + k]);
        best = of.n > 0 && (best.n == 0 || of.mean > best.mean) ? of : best;
    }
    return best;
}

static void put_measure(FILE *out, data *d, measure *m, size_t frame, size_t series)
{
    const dsgd_frame_point *const p = d->runs.points[frame * d->runs.drawn.n + series];
    const dsgd_interval drawn = m->of_best ? best_of(d, m, frame) : drawn_of(d, m, p);
    dsgd_gnuplot_number(out, drawn.mean);
    dsgd_gnuplot_number(out, drawn.drawn);
    d->has_two_seeds = d->has_two_seeds || drawn.n == 2;
    m->top[frame] = fmax(m->top[frame], drawn.mean + drawn.drawn);
    if (m->of_baseline && drawn.mean > 0)
        m->least = fmin(m->least, drawn.mean);
    for (size_t i = 0; p != NULL && !m->of_baseline && i < p->n_rows; i++)
        if (m->x[p->rows[i]] > 0)
            m->least = fmin(m->least, m->x[p->rows[i]]);
}

/**
 * Returns the value at an axis position (place) as a number. Returns NAN if the value is not a
 * number.
 */
static double number_of(const data *d, size_t place)
{
    double x = NAN;
    dsgd_parse_number(d->runs.places.v[place], NULL, &x);
    return x;
}

/**
 * Writes one block per panel and series, with one row per axis position (place). Then writes the
 * range of each quantity.
 */
static void put_groups(FILE *out, data *d)
{
    const size_t n_places = d->runs.places.n, n_series = d->runs.drawn.n;
    fputs("columns_of_groups = ' place value", out);
    for (size_t m = 0; m < d->n_measures; m++) {
        const char *const name = d->measures[m].name;
        fprintf(out, " %s %s_ci", name, name);
    }
    fputs(" '\n$groups << EOD\n", out);
    for (size_t b = 0; b < d->runs.panels.n * n_series; b++) {
        fputs(b == 0 ? "" : "\n\n", out);
        for (size_t place = 0; place < n_places; place++) {
            fprintf(out, "%zu", place + 1);
            dsgd_gnuplot_number(out, number_of(d, place));
            for (size_t m = 0; m < d->n_measures; m++)
                put_measure(out, d, &d->measures[m], b / n_series * n_places + place, b % n_series);
            fputc('\n', out);
        }
    }
    fputs("EOD\n", out);
    for (const measure *m = d->measures; m < d->measures + d->n_measures; m++) {
        dsgd_gnuplot_numbers(out, dsgd_xprintf("top_%s", m->name), m->top, d->runs.n_frames);
        fprintf(out, "least_%s = %.9g\n", m->name, isfinite(m->least) ? m->least : 0);
    }
    fprintf(out, "$points << EOD\n%sEOD\n", d->points);
    dsgd_gnuplot_variable(out, "of_two_seeds",
                          d->has_two_seeds ? "intervals of two seeds: their range" : "");
}

/**
 * Writes the verdict for each axis position (place) of each panel. The verdict is "" if the
 * position has no run, or if --only hides series.
 */
static dsgd_status put_verdicts(FILE *out, const data *d, const dsgd_figure_choice *choice,
                                dsgd_error *error)
{
    const size_t n = d->runs.n_frames, n_series = d->runs.drawn.n;
    const char **const texts = dsgd_keep(n + 1, sizeof *texts);
    dsgd_verdicts v;
    DSGD_TRY(dsgd_verdicts_open(&d->runs.csv, d->folder, &(dsgd_framing){.by = NULL}, d->manifest,
                                choice->target, &v, error));
    for (size_t k = 0; k < n * n_series; k++) {
        const dsgd_frame_point *const p = d->runs.points[k];
        texts[k / n_series] = texts[k / n_series] == NULL ? "" : texts[k / n_series];
        for (size_t i = 0; p != NULL && choice->only == NULL && i < v.n; i++)
            if (v.v[i].at->at[DSGD_PLACE] ==
                v.frame.points[v.frame.point_of[p->rows[0]]].at[DSGD_PLACE])
                texts[k / n_series] = *v.unvaried == '\0' || v.v[i].winner == NULL
                                          ? v.v[i].brief
                                          : dsgd_xprintf("%s; defaults not varied", v.v[i].brief);
    }
    dsgd_gnuplot_texts(out, "verdict", texts, n);
    return DSGD_OK;
}

/* --- the folder ------------------------------------------------------------------------------- */

static const char head[] =
    "# The data of the figures of this folder, computed from its tables; `dsgd plot` overwrites "
    "it.\n"
    "# Numbers are means over seeds. NAME_ci is the half width of the 95 % interval (for two "
    "seeds\n"
    "# half their range, for one seed 0).\n"
    "# series, label: algorithms as in the tables, and their titles. panel, place: the values in\n"
    "# which runs differ otherwise. along, axis: the column of the places, and its title.\n"
    "# $groups: a block for each panel and series, with a row for each place.\n"
    "# $curves, $staleness, $steps: a block for each panel, place and series.\n"
    "# $points: measured or published points: series (0: all), panel, place, name of x, x, name of "
    "y,\n"
    "# y, low, high. $cells: the cells of phase.csv with their edges.\n"
    "# verdict: the verdict of `dsgd compare` at each place of each panel.\n";

/**
 * Writes the texts and the values of axis positions (places). If the values are not numbers, writes
 * their indices.
 */
static void put_places(FILE *out, const data *d)
{
    const size_t n = d->runs.places.n;
    const char **const shown = dsgd_keep(n, sizeof *shown);
    double *const values = dsgd_keep(n, sizeof *values);
    for (size_t k = 0; k < n; k++) {
        shown[k] = dsgd_swept_value(d->runs.along, d->runs.places.v[k]);
        values[k] = number_of(d, k);
        values[k] = isnan(values[k]) ? (double)(k + 1) : values[k];
    }
    dsgd_gnuplot_texts(out, "place", shown, n);
    dsgd_gnuplot_numbers(out, "place_value", values, n);
}

/**
 * Writes the name of the baseline of ratios. Also writes the number of the baseline's series and
 * axis position (place), from 1. A number is 0 if the baseline is not a series or not an axis
 * position.
 */
static void put_baseline(FILE *out, const data *d)
{
    const dsgd_frame *const f = &d->runs.ratios;
    const char *const by = dsgd_frame_key(f, f->by);
    size_t series = 0, place = 0;
    for (size_t b = 0; b < d->runs.n_frames * d->runs.drawn.n; b++) {
        const dsgd_frame_point *const p = d->runs.points[b];
        if (p == NULL || dsgd_figure_ratio(&d->runs, p)->baseline != dsgd_figure_ratio(&d->runs, p))
            continue;
        series = f->by == 0 ? b % d->runs.drawn.n + 1 : 0;
        place = strcmp(by, d->runs.along) == 0 ? b / d->runs.drawn.n % d->runs.places.n + 1 : 0;
    }
    fprintf(out, "baseline_series = %zu\nbaseline_place = %zu\n", series, place);
    dsgd_gnuplot_variable(
        out, "baseline",
        f->by == 0 ? f->baseline
        : strcmp(by, "workers") == 0
            ? dsgd_xprintf("%s GPUs", f->baseline)
            : dsgd_xprintf("%s %s", dsgd_swept_title(by), dsgd_swept_value(by, f->baseline)));
}

static void put_all(FILE *out, data *d, const dsgd_figure_choice *choice)
{
    const char *const along = d->runs.along;
    const char *const variables[][2] = {
        {"experiment", d->experiment == NULL ? "" : d->experiment},
        {"unit", dsgd_sample_unit(d->manifest, &d->runs.csv)},
        {"currency", dsgd_frame_currency(&d->runs.frame)},
        {"note", note_of(d)},
        {"target_of_figures", choice->target == NULL ? "" : choice->target},
        {"points_title", choice->points == NULL ? "published" : "measured"},
        {"along", along},
        {"axis", strcmp(along, "workers") == 0 ? "number of GPUs" : dsgd_swept_title(along)},
        {"workers", dsgd_csv_field(&d->runs.csv, 0, dsgd_csv_column(&d->runs.csv, "workers"))}};
    fputs(head, out);
    for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++)
        dsgd_gnuplot_variable(out, variables[k][0], variables[k][1]);
    put_series(out, d, &choice->labels);
    dsgd_gnuplot_texts(out, "panel", d->runs.panels.v, d->runs.panels.n);
    put_places(out, d);
    fprintf(out, "n_panels = %zu\nn_places = %zu\n", d->runs.panels.n, d->runs.places.n);
    put_groups(out, d);
    put_baseline(out, d);
    dsgd_figure_curves(out, &d->runs, d->folder);
    dsgd_figure_steps(out, &d->runs, d->folder);
    dsgd_figure_cells(out, d->folder);
}

/**
 * Reads measured points from @p file. If @p file is NULL, reads the published points of the
 * experiment. `dsgd reproduce` writes these points to the folder; if the folder lacks them, reads
 * the shipped file.
 */
static dsgd_status read_points(data *d, const char *file, dsgd_error *error)
{
    const char *const name = d->experiment;
    dsgd_csv csv = {.n_rows = 0};
    if (file != NULL)
        DSGD_TRY(dsgd_csv_read(&csv, error, "%s", file));
    else if (name != NULL && strchr(name, '/') == NULL &&
             dsgd_csv_read(&csv, NULL, "%s/%s.csv", d->folder, name) != DSGD_OK &&
             dsgd_csv_read(&csv, NULL, "%s/plots/%s/published.csv", dsgd_data_folder(), name) !=
                 DSGD_OK)
        csv.n_rows = 0;
    dsgd_names quantities = {.n = 0};
    for (size_t k = 0; k < d->n_measures; k++)
        dsgd_names_add(&quantities, d->measures[k].name);
    for (size_t k = 0; dsgd_figure_of_curves[k] != NULL; k++)
        dsgd_names_add(&quantities, dsgd_figure_of_curves[k]);
    return dsgd_figure_points(&d->runs, &csv, &quantities, file == NULL, &d->points, error);
}

dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error)
{
    data d = {.folder = folder};
    dsgd_whole_file file;
    DSGD_TRY(dsgd_figure_runs_open(folder, choice, &d.runs, error));
    d.manifest = dsgd_manifest_unfold(dsgd_manifest_read(folder));
    d.experiment = json_string_value(json_object_get(d.manifest, "experiment"));
    find_measures(&d, choice->target);
    DSGD_TRY(read_points(&d, choice->points, error));
    if (dsgd_whole_open(&file, error, "%s/data.gp", output) == NULL)
        return DSGD_EIO;
    put_all(file.stream, &d, choice);
    const dsgd_status status = put_verdicts(file.stream, &d, choice, error);
    if (status != DSGD_OK) {
        dsgd_whole_drop(&file);
        return status;
    }
    return dsgd_whole_close(&file, error);
}
