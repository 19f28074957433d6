/**
 * @file figure_runs.c
 * From rows of runs.csv to series, places and panels, and those of them that a user wants.
 */
#include "command/analysis/figure_runs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/runs/results.h"
#include "command/runs/swept.h"

const char *dsgd_figure_field(const dsgd_figure_runs *d, size_t row, size_t column)
{
    return dsgd_csv_field(&d->csv, row, column);
}

bool dsgd_figure_counts(const dsgd_figure_runs *d, size_t row)
{
    return dsgd_status_has_results(dsgd_figure_field(d, row, d->status)) &&
           (d->parameter == d->csv.n_columns || *dsgd_figure_field(d, row, d->parameter) == '\0');
}

/* --- what distinguishes runs ------------------------------------------------------------------ */

/** Whether runs are told apart by this column: a part of their name, or swept, and not the seed. */
static bool is_key(const dsgd_figure_runs *d, size_t column)
{
    static const char *const named[] = {"workers", "platform", "workload"};
    const char *const name = d->csv.fields[column];
    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++)
        if (strcmp(name, named[k]) == 0)
            return true;
    return column > d->wall && strcmp(name, "seed") != 0 && strcmp(name, "parameter") != 0 &&
           strcmp(name, "factor") != 0;
}

/** The number of values, and whether all are numbers or empty. */
static size_t count_values(const dsgd_figure_runs *d, size_t column, bool *numeric)
{
    dsgd_names values = {NULL, 0};
    *numeric = true;
    for (size_t row = 0; row < d->csv.n_rows; row++) {
        const char *const text = dsgd_figure_field(d, row, column);
        if (!dsgd_figure_counts(d, row))
            continue;
        dsgd_names_add(&values, text);
        *numeric = *numeric && (*text == '\0' || !isnan(dsgd_csv_value(&d->csv, row, column)));
    }
    const size_t n = values.n;
    dsgd_names_free(&values);
    return n;
}

/** Where a whole part is swept, its name says no more. */
static void drop_names_of_swept(dsgd_figure_runs *d)
{
    static const char *const parts[][2] = {{"platform", "swept.platform"},
                                           {"workload", "swept.workload"}};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        const size_t swept = dsgd_csv_column(&d->csv, parts[k][1]);
        const size_t name = dsgd_csv_column(&d->csv, parts[k][0]);
        if (swept < d->csv.n_columns && name < d->csv.n_columns && d->varies[swept])
            d->varies[name] = false;
    }
}

/** The number of workers, or else the last key with most values: swept ones come last. */
static void find_along(dsgd_figure_runs *d)
{
    size_t most = 1;
    d->along = d->csv.n_columns;
    d->varies = dsgd_xcalloc(d->csv.n_columns, sizeof *d->varies);
    d->numeric = dsgd_xcalloc(d->csv.n_columns, sizeof *d->numeric);
    for (size_t c = 0; c < d->csv.n_columns; c++) {
        const size_t n = is_key(d, c) ? count_values(d, c, &d->numeric[c]) : 0;
        d->varies[c] = n > 1;
        if (n <= 1 || dsgd_is_of_algorithms(d->csv.fields[c]))
            continue;
        const bool workers = strcmp(d->csv.fields[c], "workers") == 0;
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
static char *setting_of(const dsgd_figure_runs *d, size_t row, bool of_algorithms, bool shown)
{
    char *text = dsgd_xstrdup("");
    for (size_t c = 0; c < d->csv.n_columns; c++) {
        const char *const column = d->csv.fields[c], *const value = dsgd_figure_field(d, row, c);
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

static void place_rows(dsgd_figure_runs *d)
{
    for (size_t row = 0; row < d->csv.n_rows; row++) {
        d->series_of[row] = d->place_of[row] = d->panel_of[row] = SIZE_MAX;
        if (!dsgd_figure_counts(d, row))
            continue;
        char *const own = setting_of(d, row, true, false), *const panel =
                                                               setting_of(d, row, false, false);
        char *const series = dsgd_xprintf("%s%s%s", dsgd_figure_field(d, row, d->algorithm),
                                          *own == '\0' ? "" : "; ", own);
        d->series_of[row] = dsgd_names_add(&d->series, series);
        d->panel_of[row] = dsgd_names_add(&d->panels, panel);
        d->place_of[row] = dsgd_names_add(
            &d->places, d->along == d->csv.n_columns ? "" : dsgd_figure_field(d, row, d->along));
        free(series);
        free(panel);
        free(own);
    }
}

/** The first row with the same text in a column. */
static size_t first_with(const dsgd_figure_runs *d, size_t column, size_t row)
{
    size_t first = 0;
    while (strcmp(dsgd_figure_field(d, first, column), dsgd_figure_field(d, row, column)) != 0)
        first++;
    return first;
}

/** Whether row @p a comes before @p b: by numbers, or else by which text came first. */
static bool is_before(const dsgd_figure_runs *d, size_t a, size_t b, bool along)
{
    for (size_t c = 0; c < d->csv.n_columns; c++) {
        if (!d->varies[c] || (c == d->along) != along || dsgd_is_of_algorithms(d->csv.fields[c]) ||
            strcmp(dsgd_figure_field(d, a, c), dsgd_figure_field(d, b, c)) == 0)
            continue;
        if (!d->numeric[c])
            return first_with(d, c, a) < first_with(d, c, b);
        return *dsgd_figure_field(d, a, c) == '\0' ||
               dsgd_csv_value(&d->csv, a, c) < dsgd_csv_value(&d->csv, b, c);
    }
    return false;
}

/** Sorts places or panels, which are few, by one row of each. */
static void sort_names(const dsgd_figure_runs *d, dsgd_names *list, size_t *name_of, bool along)
{
    size_t *const row_of = dsgd_xcalloc(3 * list->n + 1, sizeof *row_of);
    size_t *const old = row_of + list->n, *const new = old + list->n;
    for (size_t row = d->csv.n_rows; row-- > 0;)
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
    for (size_t row = 0; row < d->csv.n_rows; row++)
        if (name_of[row] != SIZE_MAX)
            name_of[row] = new[name_of[row]];
    free(row_of);
}

/** Panels as readers have them. */
static void show_panels(dsgd_figure_runs *d)
{
    for (size_t row = d->csv.n_rows; row-- > 0;)
        if (d->panel_of[row] != SIZE_MAX) {
            free(d->panels.v[d->panel_of[row]]);
            d->panels.v[d->panel_of[row]] = setting_of(d, row, false, true);
        }
}

double dsgd_figure_place(const dsgd_figure_runs *d, size_t place)
{
    double x = NAN;
    return dsgd_parse_number(d->places.v[place], NULL, &x) ? x : NAN;
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
    const char **const all = dsgd_xcalloc(d->series.n + 1, sizeof *all);
    for (size_t i = 0; i < d->series.n; i++)
        all[i] = d->series.v[i];
    char *const listed = dsgd_listed(all, ", ");
    dsgd_fail(error, DSGD_EUSAGE, "%s: `%.*s` is not in %s; there is %s", option, (int)length, name,
              d->csv.path, listed);
    free(listed);
    free(all);
    return DSGD_EUSAGE;
}

static void draw_series(dsgd_figure_runs *d, size_t i)
{
    for (size_t k = 0; k < d->n_order; k++)
        if (d->order[k] == i)
            return;
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

static dsgd_status choose(dsgd_figure_runs *d, const dsgd_figure_choice *choice, dsgd_error *error)
{
    dsgd_figure_runs allowed = *d;
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
        else if (dsgd_figure_series(d, choice->labels.v[i], length) == d->series.n)
            status = unknown_series(d, "--label", choice->labels.v[i], length, error);
    }
    return status;
}

/* --- the table -------------------------------------------------------------------------------- */

size_t dsgd_figure_gather(const dsgd_figure_runs *d, dsgd_figure_group group, size_t *rows)
{
    size_t n = 0;
    for (size_t row = 0; row < d->csv.n_rows; row++)
        if (d->panel_of[row] == group.panel && d->place_of[row] == group.place &&
            d->series_of[row] == group.series)
            rows[n++] = row;
    return n;
}

/** Every panel has every place and series, also where there is no run. */
static dsgd_status check_size(const dsgd_figure_runs *d, dsgd_error *error)
{
    enum { MOST_GROUPS = 100000 };
    const double n = (double)d->panels.n * (double)d->places.n * (double)d->n_order;
    if (n <= MOST_GROUPS)
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EUSAGE,
                     "%s: %zu panels of %zu places and %zu series are more than can be drawn, %d "
                     "together; --only A,B draws some series",
                     d->csv.path, d->panels.n, d->places.n, d->n_order, MOST_GROUPS);
}

dsgd_status dsgd_figure_runs_open(const char *folder, const dsgd_figure_choice *choice,
                                  dsgd_figure_runs *d, dsgd_error *error)
{
    *d = (dsgd_figure_runs){.run = 0};
    const struct {
        const char *name;
        size_t *column;
    } needed[] = {{"run", &d->run},       {"algorithm", &d->algorithm}, {"seed", &d->seed},
                  {"status", &d->status}, {"wall_s", &d->wall},         {"workers", &d->along}};
    dsgd_status status = dsgd_csv_read(&d->csv, error, "%s/runs.csv", folder);
    for (size_t k = 0; status == DSGD_OK && k < sizeof needed / sizeof needed[0]; k++)
        status = dsgd_csv_need(&d->csv, needed[k].name, needed[k].column, error);
    if (status != DSGD_OK)
        return status;
    d->parameter = dsgd_csv_column(&d->csv, "parameter");
    size_t **const arrays[] = {&d->series_of, &d->place_of, &d->panel_of};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
        *arrays[k] = dsgd_xcalloc(d->csv.n_rows + 1, sizeof **arrays[k]);
    find_along(d);
    place_rows(d);
    sort_names(d, &d->places, d->place_of, true);
    sort_names(d, &d->panels, d->panel_of, false);
    show_panels(d);
    if (d->series.n == 0)
        return dsgd_fail(error, DSGD_EUSAGE, "%s: there is no run with status ok or diverged",
                         d->csv.path);
    const dsgd_status chosen = choose(d, choice, error);
    return chosen == DSGD_OK ? check_size(d, error) : chosen;
}

void dsgd_figure_runs_close(dsgd_figure_runs *d)
{
    dsgd_csv_close(&d->csv);
    dsgd_names_free(&d->series);
    dsgd_names_free(&d->places);
    dsgd_names_free(&d->panels);
    void *const blocks[] = {d->varies,   d->numeric,  d->series_of,
                            d->place_of, d->panel_of, d->order};
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++)
        free(blocks[k]);
}
