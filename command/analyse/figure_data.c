/**
 * @file figure_data.c
 * From tables of runs to what figures draw.
 */
#include "command/analyse/figure_data.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/option.h"
#include "command/analyse/figure_cells.h"
#include "command/analyse/figure_steps.h"
#include "command/analyse/figure_target.h"
#include "command/analyse/summary.h"
#include "command/experiment/shipped.h"
#include "command/run/results.h"

/** Different texts in the order in which they came. */
typedef struct names {
    char **v;
    size_t n;
} names;

typedef struct data {
    const char *folder;
    dsgd_csv runs, curves, staleness, published;
    json_t *manifest; /* NULL: none */
    size_t run, algorithm, seed, status, wall; /* columns of runs */
    bool *varies, *numeric; /* [n_columns]: a key with several values; all of them numbers */
    size_t along; /* column; n_columns: none */
    size_t *series_of, *place_of, *panel_of; /* [n_rows]; of a row that does not count SIZE_MAX */
    names series, places, panels;
    size_t *order; /* [n_order]: the series that are drawn */
    size_t n_order;
    size_t *measures, n_measures; /* columns that are averaged */
    size_t *first_evaluation, *n_evaluations; /* [n_rows]: rows of curves, which lie together */
    size_t *row_of_run, n_runs; /* [n_runs]: from the number of a run; SIZE_MAX: none */
    size_t *group, n_group; /* rows of the group at hand */
    double *x; /* [n_rows]: room for a group */
    double *to_target; /* dsgd_figure_to_target() */
} data;

static size_t add_name(names *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], text) == 0)
            return i;
    list->v = dsgd_xrealloc(list->v, list->n + 1, sizeof *list->v);
    list->v[list->n] = dsgd_xstrdup(text);
    return list->n++;
}

static void free_names(names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
}

static const char *field(const data *d, size_t row, size_t column)
{
    return dsgd_csv_field(&d->runs, row, column);
}

/** Whether figures show the row: it ran to an end, and is no variation of --sensitivity. */
static bool counts(const data *d, size_t row)
{
    const size_t parameter = dsgd_csv_column(&d->runs, "parameter");
    return dsgd_status_has_results(field(d, row, d->status)) &&
           (parameter == d->runs.n_columns || *field(d, row, parameter) == '\0');
}

/* --- what distinguishes runs ------------------------------------------------------------------ */

/** Whether runs are told apart by this column: a part of their name, or swept, and not the seed. */
static bool is_key(const data *d, size_t column)
{
    static const char *const named[] = {"workers", "platform", "workload"};
    const char *const name = d->runs.fields[column];
    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++)
        if (strcmp(name, named[k]) == 0)
            return true;
    return column > d->wall && strcmp(name, "seed") != 0 && strcmp(name, "parameter") != 0 &&
           strcmp(name, "factor") != 0;
}

/** The number of values, and whether all are numbers or empty. */
static size_t count_values(const data *d, size_t column, bool *numeric)
{
    names values = {NULL, 0};
    *numeric = true;
    for (size_t row = 0; row < d->runs.n_rows; row++) {
        const char *const text = field(d, row, column);
        if (!counts(d, row))
            continue;
        add_name(&values, text);
        *numeric = *numeric && (*text == '\0' || !isnan(dsgd_csv_value(&d->runs, row, column)));
    }
    const size_t n = values.n;
    free_names(&values);
    return n;
}

/** Where a whole part is swept, its name says no more. */
static void drop_names_of_swept(data *d)
{
    static const char *const parts[][2] = {{"platform", "swept.platform"},
                                           {"workload", "swept.workload"}};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        const size_t swept = dsgd_csv_column(&d->runs, parts[k][1]);
        const size_t name = dsgd_csv_column(&d->runs, parts[k][0]);
        if (swept < d->runs.n_columns && name < d->runs.n_columns && d->varies[swept])
            d->varies[name] = false;
    }
}

/** The number of workers, or else the last key with most values: swept ones come last. */
static void find_along(data *d)
{
    size_t most = 1;
    d->along = d->runs.n_columns;
    d->varies = dsgd_xcalloc(d->runs.n_columns, sizeof *d->varies);
    d->numeric = dsgd_xcalloc(d->runs.n_columns, sizeof *d->numeric);
    for (size_t c = 0; c < d->runs.n_columns; c++) {
        const size_t n = is_key(d, c) ? count_values(d, c, &d->numeric[c]) : 0;
        d->varies[c] = n > 1;
        if (n <= 1 || dsgd_is_of_algorithms(d->runs.fields[c]))
            continue;
        const bool workers = strcmp(d->runs.fields[c], "workers") == 0;
        if (n >= most || workers) {
            d->along = c;
            most = workers ? SIZE_MAX : n;
        }
    }
    drop_names_of_swept(d);
}

/**
 * "lr 0.1; period 8": what varies beside the algorithm and `along`; as tables have it, or shown to
 * readers, where close values may be the same. The caller frees it.
 */
static char *setting_of(const data *d, size_t row, bool of_algorithms, bool shown)
{
    char *text = dsgd_xstrdup("");
    for (size_t c = 0; c < d->runs.n_columns; c++) {
        const char *const column = d->runs.fields[c], *const value = field(d, row, c);
        if (!d->varies[c] || c == d->along || *value == '\0' ||
            dsgd_is_of_algorithms(column) != of_algorithms)
            continue;
        const char *const key = dsgd_last_key(column);
        const bool alone = strcmp(key, "platform") == 0 || strcmp(key, "workload") == 0;
        char *const name = shown ? dsgd_swept_title(column) : dsgd_xstrdup(key);
        char *const read = shown ? dsgd_swept_value(column, value) : dsgd_xstrdup(value);
        dsgd_append(&text, "%s%s%s%s", *text == '\0' ? "" : "; ", alone ? "" : name,
                    alone ? "" : " ", read);
        free(name);
        free(read);
    }
    return text;
}

static void place_rows(data *d)
{
    for (size_t row = 0; row < d->runs.n_rows; row++) {
        d->series_of[row] = d->place_of[row] = d->panel_of[row] = SIZE_MAX;
        if (!counts(d, row))
            continue;
        char *const own = setting_of(d, row, true, false), *const panel =
                                                               setting_of(d, row, false, false);
        char *const series =
            dsgd_xprintf("%s%s%s", field(d, row, d->algorithm), *own == '\0' ? "" : "; ", own);
        d->series_of[row] = add_name(&d->series, series);
        d->panel_of[row] = add_name(&d->panels, panel);
        d->place_of[row] =
            add_name(&d->places, d->along == d->runs.n_columns ? "" : field(d, row, d->along));
        free(series);
        free(panel);
        free(own);
    }
}

/** The first row with the same text in a column. */
static size_t first_with(const data *d, size_t column, size_t row)
{
    size_t first = 0;
    while (strcmp(field(d, first, column), field(d, row, column)) != 0)
        first++;
    return first;
}

/** Whether row @p a comes before @p b: by numbers, or else by which text came first. */
static bool is_before(const data *d, size_t a, size_t b, bool along)
{
    for (size_t c = 0; c < d->runs.n_columns; c++) {
        if (!d->varies[c] || (c == d->along) != along || dsgd_is_of_algorithms(d->runs.fields[c]) ||
            strcmp(field(d, a, c), field(d, b, c)) == 0)
            continue;
        if (!d->numeric[c])
            return first_with(d, c, a) < first_with(d, c, b);
        return *field(d, a, c) == '\0' ||
               dsgd_csv_value(&d->runs, a, c) < dsgd_csv_value(&d->runs, b, c);
    }
    return false;
}

/** Sorts places or panels, which are few, by one row of each. */
static void sort_names(const data *d, names *list, size_t *name_of, bool along)
{
    size_t *const row_of = dsgd_xcalloc(3 * list->n + 1, sizeof *row_of);
    size_t *const old = row_of + list->n, *const new = old + list->n;
    for (size_t row = d->runs.n_rows; row-- > 0;)
        if (name_of[row] != SIZE_MAX)
            row_of[name_of[row]] = row;
    for (size_t i = 0; i < list->n; i++) {
        old[i] = i;
        for (size_t k = i; k > 0 && is_before(d, row_of[old[k]], row_of[old[k - 1]], along); k--) {
            const size_t name = old[k];
            old[k] = old[k - 1];
            old[k - 1] = name;
        }
    }
    char **const sorted = dsgd_xcalloc(list->n + 1, sizeof *sorted);
    for (size_t i = 0; i < list->n; i++) {
        sorted[i] = list->v[old[i]];
        new[old[i]] = i;
    }
    free(list->v);
    list->v = sorted;
    for (size_t row = 0; row < d->runs.n_rows; row++)
        if (name_of[row] != SIZE_MAX)
            name_of[row] = new[name_of[row]];
    free(row_of);
}

/** Panels as readers have them. */
static void show_panels(data *d)
{
    for (size_t row = d->runs.n_rows; row-- > 0;)
        if (d->panel_of[row] != SIZE_MAX) {
            free(d->panels.v[d->panel_of[row]]);
            d->panels.v[d->panel_of[row]] = setting_of(d, row, false, true);
        }
}

/** A place as a number; NAN: it is none. */
static double value_of(const data *d, size_t place)
{
    double x = NAN;
    return dsgd_parse_number(d->places.v[place], NULL, &x) ? x : NAN;
}

/* --- what a user chose ------------------------------------------------------------------------ */

static size_t find_series(const data *d, const char *name, size_t length)
{
    for (size_t i = 0; i < d->series.n; i++)
        if (strlen(d->series.v[i]) == length && strncmp(d->series.v[i], name, length) == 0)
            return i;
    return d->series.n;
}

static dsgd_status unknown_series(const data *d, const char *option, const char *name,
                                  size_t length, dsgd_error *error)
{
    const char **const all = dsgd_xcalloc(d->series.n + 1, sizeof *all);
    for (size_t i = 0; i < d->series.n; i++)
        all[i] = d->series.v[i];
    char *const listed = dsgd_listed(all, ", ");
    dsgd_fail(error, DSGD_EUSAGE, "%s: `%.*s` is not in %s; there is %s", option, (int)length, name,
              d->runs.path, listed);
    free(listed);
    free(all);
    return DSGD_EUSAGE;
}

static void draw_series(data *d, size_t i)
{
    for (size_t k = 0; k < d->n_order; k++)
        if (d->order[k] == i)
            return;
    d->order[d->n_order++] = i;
}

static dsgd_status draw_listed(data *d, const char *option, const char *list, dsgd_error *error)
{
    for (const char *name = list; name != NULL && *name != '\0';) {
        const size_t length = strcspn(name, ",");
        const size_t i = find_series(d, name, length);
        if (i == d->series.n)
            return unknown_series(d, option, name, length, error);
        draw_series(d, i);
        name += length + (name[length] == ',');
    }
    return DSGD_OK;
}

static dsgd_status choose(data *d, const dsgd_figure_choice *choice, dsgd_error *error)
{
    data allowed = *d;
    allowed.order = dsgd_xcalloc(d->series.n + 1, sizeof *allowed.order);
    d->order = dsgd_xcalloc(d->series.n + 1, sizeof *d->order);
    dsgd_status status = draw_listed(&allowed, "--only", choice->only, error);
    if (status == DSGD_OK)
        status = draw_listed(d, "--order", choice->order, error);
    for (size_t i = 0; status == DSGD_OK && choice->only == NULL && i < d->series.n; i++)
        draw_series(&allowed, i);
    for (size_t k = 0; status == DSGD_OK && k < allowed.n_order; k++)
        draw_series(d, allowed.order[k]);
    /* What is ordered and not allowed goes. */
    size_t kept = 0;
    for (size_t k = 0; k < d->n_order; k++)
        for (size_t m = 0; m < allowed.n_order; m++)
            if (allowed.order[m] == d->order[k]) {
                d->order[kept++] = d->order[k];
                break;
            }
    d->n_order = kept;
    free(allowed.order);
    for (size_t i = 0; status == DSGD_OK && i < choice->labels.n; i++) {
        const size_t length = strcspn(choice->labels.v[i], "=");
        if (choice->labels.v[i][length] == '\0')
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "--label: `%s` is not of the form NAME=TEXT, such as wagma=WAGMA",
                               choice->labels.v[i]);
        else if (find_series(d, choice->labels.v[i], length) == d->series.n)
            status = unknown_series(d, "--label", choice->labels.v[i], length, error);
    }
    return status;
}

/* --- texts for gnuplot ------------------------------------------------------------------------ */

void dsgd_gnuplot_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(iscntrl((unsigned char)*text) ? ' ' : *text, out);
    }
    fputc('\'', out);
}

static void put_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, ",%.9g", x);
    else
        fputs(",NaN", out);
}

static void put_variable(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s = ", name);
    dsgd_gnuplot_text(out, text);
    fputc('\n', out);
}

static void put_names(FILE *out, const char *name, const names *list)
{
    fprintf(out, "array %s[%zu] = [", name, list->n);
    for (size_t i = 0; i < list->n; i++) {
        fputs(i == 0 ? "" : ", ", out);
        dsgd_gnuplot_text(out, list->v[i]);
    }
    fputs("]\n", out);
}

static const char *label_of(const data *d, const dsgd_figure_choice *choice, size_t i)
{
    for (size_t k = choice->labels.n; k > 0; k--) {
        const size_t length = strcspn(choice->labels.v[k - 1], "=");
        if (find_series(d, choice->labels.v[k - 1], length) == i)
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
    names drawn = {NULL, 0}, labels = {NULL, 0};
    fprintf(out, "n_series = %zu\narray hash[%zu] = [", d->n_order, d->n_order);
    for (size_t k = 0; k < d->n_order; k++) {
        const char *const name = d->series.v[d->order[k]];
        add_name(&drawn, name);
        fprintf(out, "%s%u", k == 0 ? "" : ", ", hash(name) % 65536);
    }
    fputs("]\n", out);
    put_names(out, "series", &drawn);
    labels.v = dsgd_xcalloc(d->n_order, sizeof *labels.v);
    for (; labels.n < d->n_order; labels.n++)
        labels.v[labels.n] = dsgd_xstrdup(label_of(d, choice, d->order[labels.n]));
    put_names(out, "label", &labels);
    free_names(&drawn);
    free_names(&labels);
}

/** The unit of samples, of all runs that are shown; "samples" where they differ. */
static char *unit_of(const data *d)
{
    const json_t *const runs = json_object_get(d->manifest, "runs");
    const char *unit = NULL;
    for (size_t row = 0; row < d->runs.n_rows; row++) {
        const size_t run = (size_t)dsgd_csv_value(&d->runs, row, d->run);
        const json_t *const of_run = json_array_get(runs, run - 1);
        const char *const text =
            json_string_value(json_object_get(json_object_get(of_run, "workload"), "unit"));
        if (text == NULL || (unit != NULL && strcmp(text, unit) != 0))
            return dsgd_xstrdup("samples");
        unit = text;
    }
    return dsgd_xstrdup(unit == NULL ? "samples" : unit);
}

/** "28 of 192 runs; network: loggp": what a reader has to know of the runs. */
static char *note_of(const data *d)
{
    const size_t network = dsgd_csv_column(&d->runs, "network");
    size_t done = 0;
    bool loggp = false;
    for (size_t row = 0; row < d->runs.n_rows; row++) {
        done += dsgd_status_has_results(field(d, row, d->status));
        loggp =
            loggp || (network < d->runs.n_columns && strcmp(field(d, row, network), "loggp") == 0);
    }
    const json_t *const list = json_object_get(d->manifest, "runs");
    const size_t all = json_array_size(list) > 0 ? json_array_size(list) : d->runs.n_rows;
    char *text = dsgd_xstrdup("");
    if (done < all)
        dsgd_append(&text, "%zu of %zu runs", done, all);
    if (loggp)
        dsgd_append(&text, "%snetwork: loggp", *text == '\0' ? "" : "; ");
    return text;
}

/* --- groups of runs --------------------------------------------------------------------------- */

/** Panel, place and series. */
typedef struct cell {
    size_t panel, place, series;
} cell;

static bool is_in(const data *d, size_t row, cell at)
{
    return d->panel_of[row] == at.panel && d->place_of[row] == at.place &&
           d->series_of[row] == at.series;
}

static void gather(data *d, cell at)
{
    d->n_group = 0;
    for (size_t row = 0; row < d->runs.n_rows; row++)
        if (is_in(d, row, at))
            d->group[d->n_group++] = row;
}

/** A number of a row: a column of runs.csv, or computed from some. */
typedef double measure(const data *d, size_t row, size_t column);

/** What a run that diverged gives is no result. */
static double plain(const data *d, size_t row, size_t column)
{
    return strcmp(field(d, row, d->status), "ok") == 0 ? dsgd_csv_value(&d->runs, row, column)
                                                       : NAN;
}

static double named(const data *d, size_t row, const char *name)
{
    return plain(d, row, dsgd_csv_column(&d->runs, name));
}

/** If nobody ever waited, a step would take its computation alone. */
static double ideal(const data *d, size_t row, size_t column)
{
    (void)column;
    return named(d, row, "throughput_samples_per_s") / named(d, row, "compute_share");
}

/** Throughput over that of allreduce, or else of the first series, with the same seed. */
static double speedup(const data *d, size_t row, size_t column)
{
    (void)column;
    const size_t allreduce = find_series(d, "allreduce", strlen("allreduce"));
    const cell at = {d->panel_of[row], d->place_of[row],
                     allreduce < d->series.n ? allreduce : d->order[0]};
    for (size_t other = 0; other < d->runs.n_rows; other++)
        if (is_in(d, other, at) && strcmp(field(d, other, d->seed), field(d, row, d->seed)) == 0)
            return named(d, row, "throughput_samples_per_s") /
                   named(d, other, "throughput_samples_per_s");
    return NAN;
}

/** What a run takes to the target; @p column: which of dsgd_to_target_names. */
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
    double mean = NAN, ci = NAN;
    dsgd_mean(d->x, n, &mean, &ci);
    ci = n == 1 ? 0 : ci;
    put_number(out, mean);
    put_number(out, ci);
    return mean + ci;
}

static void put_measure(FILE *out, const data *d, cell at, measure *of, size_t column,
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
    double *const top = &reached->top[at.panel * d->places.n + at.place];
    for (size_t k = 0; k < n; k++)
        reached->least = d->x[k] > 0 && d->x[k] < reached->least ? d->x[k] : reached->least;
    *top = fmax(*top, put_mean(out, d, n));
}

/** Whether two fields are the same text or number. */
static bool is_same(const char *a, const char *b)
{
    double x = NAN, y = NAN;
    return strcmp(a, b) == 0 ||
           (dsgd_parse_number(a, NULL, &x) && dsgd_parse_number(b, NULL, &y) && x == y);
}

/** Whether a published row is a point about the cell. */
static bool is_about(const data *d, size_t row, cell at, const char *quantity)
{
    const dsgd_csv *const p = &d->published;
    const char *const along = d->along < d->runs.n_columns ? d->runs.fields[d->along] : "";
    const char *const wanted[][2] = {{"algorithm", d->series.v[at.series]},
                                     {"relation", "~"},
                                     {"over", ""},
                                     {"quantity", quantity},
                                     {along, d->places.v[at.place]}};
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        const size_t column = dsgd_csv_column(p, wanted[k][0]);
        if (column < p->n_columns && !is_same(dsgd_csv_field(p, row, column), wanted[k][1]))
            return false;
    }
    return true;
}

static double published_of(const data *d, cell at, const char *quantity)
{
    for (size_t row = 0; row < d->published.n_rows; row++)
        if (is_about(d, row, at, quantity))
            return dsgd_csv_value(&d->published, row, dsgd_csv_column(&d->published, "published"));
    return NAN;
}

/** Columns of runs.csv with a number in a row that counts, and none that is no number. */
static void find_measures(data *d)
{
    d->measures = dsgd_xcalloc(d->runs.n_columns, sizeof *d->measures);
    for (size_t c = d->status + 1; c < d->wall; c++) {
        bool has = false, all = true;
        for (size_t row = 0; row < d->runs.n_rows; row++) {
            double x = NAN;
            const char *const text = field(d, row, c);
            const bool is = dsgd_parse_number(text, NULL, &x);
            has = has || (is && counts(d, row));
            all = all && (is || *text == '\0');
        }
        if (has && all)
            d->measures[d->n_measures++] = c;
    }
}

static void put_group(FILE *out, data *d, cell at, extent *reached)
{
    gather(d, at);
    fprintf(out, "%zu", at.place + 1);
    put_number(out, value_of(d, at.place));
    for (size_t m = 0; m < d->n_measures; m++, reached++) {
        const double published = published_of(d, at, reached->name);
        double *const top = &reached->top[at.panel * d->places.n + at.place];
        put_measure(out, d, at, plain, d->measures[m], reached);
        put_number(out, published);
        *top = fmax(*top, published);
        reached->published[at.place] = reached->published[at.place] || !isnan(published);
    }
    put_measure(out, d, at, ideal, 0, reached);
    put_measure(out, d, at, speedup, 0, reached + 1);
    for (size_t k = 0; d->to_target != NULL && k < DSGD_N_TO_TARGET; k++)
        put_measure(out, d, at, to_target, k, reached + 2 + k);
    fputc('\n', out);
}

static void put_extent(FILE *out, const data *d, extent *reached)
{
    fprintf(out, "array top_%s[%zu] = [", reached->name, d->panels.n * d->places.n);
    for (size_t k = 0; k < d->panels.n * d->places.n; k++)
        fprintf(out, "%s%.9g", k == 0 ? "" : ", ", reached->top[k]);
    fprintf(out, "]\nleast_%s = %.9g\npublished_%s = ' ", reached->name,
            isfinite(reached->least) ? reached->least : 0, reached->name);
    for (size_t k = 0; k < d->places.n; k++)
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
        reached[m] = (extent){m < d->n_measures       ? d->runs.fields[d->measures[m]]
                              : m < d->n_measures + 1 ? "ideal"
                              : m < d->n_measures + 2 ? "speedup"
                                                      : dsgd_to_target_names[m - d->n_measures - 2],
                              dsgd_xcalloc(d->panels.n * d->places.n, sizeof(double)), INFINITY,
                              dsgd_xcalloc(d->places.n, sizeof(bool))};
        const char *const name = reached[m].name;
        fprintf(out, " %s %s_ci", name, name);
        if (m < d->n_measures)
            fprintf(out, " %s_published", name);
    }
    fputs(" '\n$groups << EOD\n", out);
    for (size_t b = 0; b < d->panels.n * d->n_order; b++) {
        cell at = {b / d->n_order, 0, d->order[b % d->n_order]};
        fputs(b == 0 ? "" : "\n\n", out);
        for (; at.place < d->places.n; at.place++)
            put_group(out, d, at, reached);
    }
    fputs("EOD\n", out);
    for (size_t m = 0; m < n; m++)
        put_extent(out, d, &reached[m]);
    free(reached);
}

/* --- curves and staleness: a block for each panel, place and series ---------------------------- */

static cell cell_of_block(const data *d, size_t b)
{
    const size_t c = b / d->n_order;
    return (cell){c / d->places.n, c % d->places.n, d->order[b % d->n_order]};
}

static size_t n_blocks(const data *d)
{
    return d->panels.n * d->places.n * d->n_order;
}

/** The row of runs.csv that a row of another table is about, or SIZE_MAX. */
static size_t row_about(const data *d, const dsgd_csv *csv, size_t row)
{
    const double run = dsgd_csv_value(csv, row, dsgd_csv_column(csv, "run"));
    return run >= 0 && run < (double)d->n_runs ? d->row_of_run[(size_t)run] : SIZE_MAX;
}

static void find_evaluations(data *d)
{
    for (size_t row = 0; row < d->runs.n_rows; row++) {
        const double run = dsgd_csv_value(&d->runs, row, d->run);
        const size_t known = d->n_runs;
        if (!(run >= 0 && run < 1e7))
            continue;
        d->n_runs = (size_t)run + 1 > known ? (size_t)run + 1 : known;
        d->row_of_run = dsgd_xrealloc(d->row_of_run, d->n_runs, sizeof *d->row_of_run);
        for (size_t k = known; k < d->n_runs; k++)
            d->row_of_run[k] = SIZE_MAX;
        d->row_of_run[(size_t)run] = row;
    }
    for (size_t k = 0; k < d->curves.n_rows; k++) {
        const size_t row = row_about(d, &d->curves, k);
        if (row != SIZE_MAX && d->n_evaluations[row]++ == 0)
            d->first_evaluation[row] = k;
    }
}

/** Of an evaluation; 0 to N_CURVES - 2: a column of curves.csv; else megabytes per worker so far. */
static const char *const curves[] = {"virtual_s", "steps",     "loss",
                                     "accuracy",  "consensus", "megabytes"};

enum { N_CURVES = sizeof curves / sizeof curves[0] };

static double evaluation(const data *d, size_t row, size_t k, size_t c)
{
    const size_t at = d->first_evaluation[row] + k;
    if (c < N_CURVES - 1)
        return dsgd_csv_value(&d->curves, at, dsgd_csv_column(&d->curves, curves[c]));
    /* Those of the run, in proportion to its steps; servers' too in results without that column. */
    const char *const parts[] = {"sent_mean_bytes", "steps", "bytes", "workers"};
    double x[4];
    for (size_t i = 0; i < 4; i++)
        x[i] = dsgd_csv_value(&d->runs, row, dsgd_csv_column(&d->runs, parts[i]));
    const double sent_bytes = isnan(x[0]) ? x[2] / x[3] : x[0];
    return sent_bytes * 1e-6 * evaluation(d, row, k, 1) / x[1];
}

/** What means reach after the first evaluation, in each panel and place; written as 1 to 0 for nothing. */
typedef struct reach {
    double *low, *high; /* [n_cells][N_CURVES] */
} reach;

static void put_evaluation(FILE *out, const data *d, size_t k, double *low, double *high)
{
    fprintf(out, "%zu", k);
    for (size_t c = 0; c < N_CURVES; c++) {
        double mean = NAN, ci = NAN;
        for (size_t i = 0; i < d->n_group; i++)
            d->x[i] = evaluation(d, d->group[i], k, c);
        dsgd_mean(d->x, d->n_group, &mean, &ci);
        put_number(out, mean);
        put_number(out, d->n_group == 1 ? 0 : ci);
        if (k > 0 && isfinite(mean)) {
            low[c] = fmin(low[c], mean);
            high[c] = fmax(high[c], mean);
        }
    }
    fputc('\n', out);
}

/** How many evaluations all seeds of the group have. */
static size_t count_evaluations(const data *d)
{
    size_t n = d->n_group == 0 ? 0 : SIZE_MAX;
    for (size_t k = 0; k < d->n_group; k++)
        n = d->n_evaluations[d->group[k]] < n ? d->n_evaluations[d->group[k]] : n;
    return n;
}

static void put_reach(FILE *out, const data *d, const reach *r)
{
    const size_t n_cells = d->panels.n * d->places.n;
    for (size_t c = 0; c < N_CURVES; c++)
        for (int top = 0; top < 2; top++) {
            fprintf(out, "array %s_%s[%zu] = [", top ? "high" : "low", curves[c], n_cells);
            for (size_t k = 0; k < n_cells; k++) {
                const double x = (top ? r->high : r->low)[k * N_CURVES + c];
                fputs(k == 0 ? "" : ", ", out);
                fprintf(out, "%.9g", isfinite(x) ? x : top ? 0. : 1.);
            }
            fputs("]\n", out);
        }
    fputs("quantities_of_curves = '", out);
    for (size_t c = N_CURVES - 1; c-- > 0;) {
        bool has = false;
        for (size_t k = 0; k < n_cells; k++)
            has = has || isfinite(r->high[k * N_CURVES + c]);
        fprintf(out, "%s%s", has ? " " : "", has ? curves[c] : "");
    }
    fputs(" '\n", out);
}

static void put_curves(FILE *out, data *d)
{
    const size_t n_cells = d->panels.n * d->places.n;
    size_t most = 0;
    reach r = {dsgd_xcalloc(n_cells * N_CURVES, sizeof(double)),
               dsgd_xcalloc(n_cells * N_CURVES, sizeof(double))};
    for (size_t k = 0; k < n_cells * N_CURVES; k++) {
        r.low[k] = INFINITY;
        r.high[k] = -INFINITY;
    }
    fputs("columns_of_curves = ' evaluation", out);
    for (size_t c = 0; c < N_CURVES; c++)
        fprintf(out, " %s %s_ci", curves[c], curves[c]);
    fputs(" '\n$curves << EOD\n", out);
    for (size_t b = 0; b < n_blocks(d); b++) {
        const size_t at = b / d->n_order * N_CURVES;
        gather(d, cell_of_block(d, b));
        const size_t n = count_evaluations(d);
        most = n > most ? n : most;
        fputs(b == 0 ? "" : "\n\n", out);
        for (size_t k = 0; k < n; k++)
            put_evaluation(out, d, k, r.low + at, r.high + at);
        if (n == 0) /* a block without a row would not count */
            fputs("0,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN,NaN\n", out);
    }
    fputs("EOD\n", out);
    fprintf(out, "most_evaluations = %zu\n", most);
    put_reach(out, d, &r);
    free(r.low);
    free(r.high);
}

static const char *const ages[] = {"staleness", "gradient_staleness"};

enum { MOST_AGES = 10000 };

/** Shares of ages, a row for each age; the last row has the mean of older ones than MOST_AGES. */
static void put_ages(FILE *out, const data *d, double (*share)[2])
{
    const dsgd_csv *const s = &d->staleness;
    size_t oldest = 0;
    memset(share, 0, (MOST_AGES + 1) * sizeof *share);
    for (size_t row = 0; row < s->n_rows; row++) {
        const size_t about = row_about(d, s, row);
        bool is = false;
        for (size_t k = 0; k < d->n_group; k++)
            is = is || d->group[k] == about;
        const double age = dsgd_csv_value(s, row, dsgd_csv_column(s, "age"));
        if (!is || !(age >= 0))
            continue;
        const size_t at = age < MOST_AGES ? (size_t)age : MOST_AGES;
        oldest = at > oldest ? at : oldest;
        for (size_t k = 0; k < 2; k++)
            if (strcmp(dsgd_csv_field(s, row, dsgd_csv_column(s, "measure")), ages[k]) == 0)
                share[at][k] +=
                    dsgd_csv_value(s, row, dsgd_csv_column(s, "share")) / (double)d->n_group;
    }
    for (size_t age = 0; age <= oldest; age++) {
        fprintf(out, "%zu", age);
        for (size_t k = 0; k < 2; k++)
            put_number(out, d->n_group == 0 ? NAN : share[age][k]);
        fputc('\n', out);
    }
}

static void put_staleness(FILE *out, data *d)
{
    double(*const share)[2] = dsgd_xcalloc(MOST_AGES + 1, sizeof *share);
    fputs("columns_of_staleness = ' age staleness gradient_staleness '\n$staleness << EOD\n", out);
    for (size_t b = 0; b < n_blocks(d); b++) {
        gather(d, cell_of_block(d, b));
        fputs(b == 0 ? "" : "\n\n", out);
        put_ages(out, d, share);
    }
    fputs("EOD\n", out);
    free(share);
}

/** The runs of each block, for what is drawn of steps.csv. */
static void put_steps(FILE *out, const data *d)
{
    size_t *const block_of_run = dsgd_xcalloc(d->n_runs + 1, sizeof *block_of_run);
    for (size_t run = 0; run < d->n_runs; run++) {
        const size_t row = d->row_of_run[run];
        block_of_run[run] = SIZE_MAX;
        for (size_t k = 0; row != SIZE_MAX && k < d->n_order; k++)
            if (d->order[k] == d->series_of[row])
                block_of_run[run] =
                    (d->panel_of[row] * d->places.n + d->place_of[row]) * d->n_order + k;
    }
    dsgd_figure_steps(
        out, d->folder,
        &(dsgd_step_blocks){block_of_run, d->n_runs, d->panels.n * d->places.n, d->n_order});
    free(block_of_run);
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
    names shown = {dsgd_xcalloc(d->places.n, sizeof *shown.v), d->places.n};
    for (size_t k = 0; k < d->places.n; k++)
        shown.v[k] = dsgd_swept_value(along, d->places.v[k]);
    put_names(out, "place", &shown);
    free_names(&shown);
}

static void put_all(FILE *out, data *d, const dsgd_figure_choice *choice)
{
    char *const unit = unit_of(d), *const note = note_of(d);
    const bool has_along = d->along < d->runs.n_columns;
    const char *const name = json_string_value(json_object_get(d->manifest, "experiment"));
    fputs(head, out);
    put_variable(out, "experiment", name == NULL ? "" : name);
    put_variable(out, "unit", unit);
    const size_t currency = dsgd_csv_column(&d->runs, "currency");
    put_variable(out, "currency", currency < d->runs.n_columns ? field(d, 0, currency) : "");
    put_variable(out, "note", note);
    const char *const along = has_along ? d->runs.fields[d->along] : "";
    char *const axis =
        strcmp(along, "workers") == 0 ? dsgd_xstrdup("number of GPUs") : dsgd_swept_title(along);
    put_variable(out, "along", along);
    put_variable(out, "axis", axis);
    put_variable(out, "workers", field(d, 0, dsgd_csv_column(&d->runs, "workers")));
    put_series(out, d, choice);
    put_names(out, "panel", &d->panels);
    put_places(out, d, along);
    fprintf(out, "array place_value[%zu] = [", d->places.n);
    for (size_t k = 0; k < d->places.n; k++) {
        const double x = value_of(d, k);
        fprintf(out, "%s%.9g", k == 0 ? "" : ", ", isnan(x) ? (double)(k + 1) : x);
    }
    fputs("]\n", out);
    fprintf(out, "n_panels = %zu\nn_places = %zu\n", d->panels.n, d->places.n);
    put_groups(out, d);
    put_curves(out, d);
    put_staleness(out, d);
    put_steps(out, d);
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

/** A table that may be absent. */
static void read_table(const data *d, dsgd_csv *csv, const char *name)
{
    if (dsgd_csv_read(csv, NULL, "%s/%s", d->folder, name) == DSGD_OK)
        return;
    dsgd_csv_close(csv);
    *csv = (dsgd_csv){.n_rows = 0};
}

static dsgd_status read_runs(data *d, dsgd_error *error)
{
    const struct {
        const char *name;
        size_t *column;
    } needed[] = {{"run", &d->run},       {"algorithm", &d->algorithm}, {"seed", &d->seed},
                  {"status", &d->status}, {"wall_s", &d->wall},         {"workers", &d->along}};
    dsgd_status status = dsgd_csv_read(&d->runs, error, "%s/runs.csv", d->folder);
    for (size_t k = 0; status == DSGD_OK && k < sizeof needed / sizeof needed[0]; k++)
        status = dsgd_csv_need(&d->runs, needed[k].name, needed[k].column, error);
    if (status != DSGD_OK)
        return status;
    const size_t n = d->runs.n_rows;
    size_t **const arrays[] = {&d->series_of, &d->place_of,         &d->panel_of,
                               &d->group,     &d->first_evaluation, &d->n_evaluations};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
        *arrays[k] = dsgd_xcalloc(n + 1, sizeof **arrays[k]);
    d->x = dsgd_xcalloc(n + 1, sizeof *d->x);
    find_along(d);
    place_rows(d);
    sort_names(d, &d->places, d->place_of, true);
    sort_names(d, &d->panels, d->panel_of, false);
    show_panels(d);
    if (d->series.n == 0)
        return dsgd_fail(error, DSGD_EUSAGE, "%s: there is no run with status ok or diverged",
                         d->runs.path);
    return DSGD_OK;
}

static void close_data(data *d)
{
    dsgd_csv *const tables[] = {&d->runs, &d->curves, &d->staleness, &d->published};
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++)
        dsgd_csv_close(tables[k]);
    json_decref(d->manifest);
    free_names(&d->series);
    free_names(&d->places);
    free_names(&d->panels);
    void *const blocks[] = {
        d->to_target,    d->varies,   d->numeric, d->series_of, d->place_of,   d->panel_of,
        d->order,        d->measures, d->x,       d->group,     d->row_of_run, d->first_evaluation,
        d->n_evaluations};
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++)
        free(blocks[k]);
}

dsgd_status dsgd_figure_data(const char *folder, const char *output,
                             const dsgd_figure_choice *choice, dsgd_error *error)
{
    data d = {.folder = folder};
    dsgd_whole_file file;
    dsgd_status status = read_runs(&d, error);
    if (status == DSGD_OK)
        status = choose(&d, choice, error);
    FILE *const out =
        status != DSGD_OK ? NULL : dsgd_whole_open(&file, error, "%s/data.gp", output);
    if (out != NULL) {
        char *const path = dsgd_xprintf("%s/manifest.json", folder);
        d.manifest = json_load_file(path, 0, NULL);
        free(path);
        read_table(&d, &d.curves, "curves.csv");
        read_table(&d, &d.staleness, "staleness.csv");
        read_published(&d);
        find_evaluations(&d);
        d.to_target = dsgd_figure_to_target(&d.runs, &d.curves, choice->target);
        find_measures(&d);
        put_all(out, &d, choice);
        status = dsgd_whole_close(&file, error);
    } else if (status == DSGD_OK) {
        status = DSGD_EIO;
    }
    close_data(&d);
    return status;
}
