/**
 * @file published.c
 * Finds the runs that belong to rows of published.csv, and computes the errors of these runs.
 */
#include "command/analysis/published.h"

#include "base/option.h"
#include "command/console/data_folder.h"

/** names of the columns in the order of the enum; the last column may be missing */
static const char *const fixed_names[] = {"quantity", "published", "uncertainty", "relation",
                                          "over",     "use",       "class",       "source",
                                          "beyond",   NULL};

const char *dsgd_published_field(const dsgd_published *f, size_t row, int which)
{
    return dsgd_csv_field(&f->published, row, f->fixed[which]);
}

static dsgd_status find_columns(dsgd_published *f, dsgd_error *error)
{
    const dsgd_csv *const p = &f->published;
    for (int i = 0; i < DSGD_BEYOND; i++)
        DSGD_TRY(dsgd_csv_need(p, fixed_names[i], &f->fixed[i], error));
    f->fixed[DSGD_BEYOND] = dsgd_csv_column(p, fixed_names[DSGD_BEYOND]);
    f->keys = dsgd_keep(p->n_columns, sizeof *f->keys);
    f->key_columns = dsgd_keep(p->n_columns, sizeof *f->key_columns);
    for (size_t c = 0; c < p->n_columns; c++) {
        if (dsgd_find_word(fixed_names, p->fields[c]) >= 0)
            continue;
        f->keys[f->n_keys] = c;
        f->key_columns[f->n_keys] = dsgd_csv_column(&f->runs, p->fields[c]);
        if (f->key_columns[f->n_keys++] == f->runs.n_columns)
            return dsgd_fail(error, DSGD_EIO, "%s:1: column `%s` is not in %s", p->path,
                             p->fields[c], f->runs.path);
    }
    return DSGD_OK;
}

/**
 * Returns the value of a key in the key=value pairs of @p over. Returns NULL if @p over lacks the
 * key. The value ends at a blank or at the end of the text.
 */
static const char *value_in(const char *over, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = over; *at != '\0'; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word > length && strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
        at += word;
    }
    return NULL;
}

bool dsgd_published_is_about(const dsgd_published *f, size_t row, size_t run, const char *over)
{
    for (size_t k = 0; k < f->n_keys; k++) {
        const char *const other = value_in(over, f->published.fields[f->keys[k]]);
        const char *const wanted =
            other != NULL ? other : dsgd_csv_field(&f->published, row, f->keys[k]);
        const char *const value = dsgd_csv_field(&f->runs, run, f->key_columns[k]);
        const size_t n = other != NULL ? strcspn(wanted, " ") : strlen(wanted);
        if (n > 0 && (strlen(value) != n || strncmp(wanted, value, n) != 0))
            return false;
    }
    return true;
}

/**
 * Returns true if two runs have the same seed and the same keys. Keys in @p over and options of
 * algorithms may differ between the runs.
 */
static bool are_pair(const dsgd_published *f, size_t run, size_t other, const char *over)
{
    if (f->frame.seed_of[run] != f->frame.seed_of[other])
        return false;
    for (size_t k = 0; k < f->frame.n_keys; k++) {
        const size_t column = f->frame.keys[k];
        if (value_in(over, f->runs.fields[column]) == NULL &&
            dsgd_frame_part(&f->frame, k) != DSGD_SERIES &&
            strcmp(dsgd_csv_field(&f->runs, run, column),
                   dsgd_csv_field(&f->runs, other, column)) != 0)
            return false;
    }
    return true;
}

/**
 * Returns the mean over the runs that belong to a published row. If the row has `over`, returns the
 * geometric mean of the ratios to the runs of `over`. Returns NAN if no run matches.
 */
static double simulated_of(const dsgd_published *f, size_t row)
{
    const char *const over = dsgd_published_field(f, row, DSGD_OVER);
    double *const x = dsgd_frame_numbers(&f->frame, dsgd_published_field(f, row, DSGD_QUANTITY));
    double *const of_seeds = dsgd_keep(f->runs.n_rows, sizeof *of_seeds);
    size_t n = 0;
    for (size_t run = 0; run < f->runs.n_rows; run++) {
        if (isnan(x[run]) || !dsgd_published_is_about(f, row, run, ""))
            continue;
        /* index of the run whose number is the divisor; this number must count */
        size_t other = 0;
        while (*over != '\0' && other < f->runs.n_rows &&
               (isnan(x[other]) || !dsgd_published_is_about(f, row, other, over) ||
                !are_pair(f, run, other, over)))
            other++;
        if (other == f->runs.n_rows)
            continue;
        of_seeds[n] = *over == '\0' ? x[run] : log(x[run] / x[other]);
        n += isfinite(of_seeds[n]);
    }
    return *over == '\0' ? dsgd_mean(of_seeds, n).mean : dsgd_ratio_of(of_seeds, n).ratio;
}

/** Computes the errors of a row from the published value and the simulated value. */
static void compare(dsgd_published_row *r, double uncertainty, bool is_upper)
{
    enum { TOLD = 2 };
    const double rest = r->value - r->beyond;
    const bool is_told = r->beyond == 0 || rest >= TOLD * uncertainty;
    r->units = r->is_point ? fabs(r->simulated - r->value) / uncertainty : NAN;
    r->error = r->is_point && is_told ? (r->simulated - r->beyond) / rest - 1 : NAN;
    r->is_kept = is_upper ? r->simulated < r->value : r->simulated > r->value;
}

static dsgd_status simulate_row(const dsgd_published *f, size_t row, dsgd_published_row *r,
                                dsgd_error *error)
{
    const dsgd_csv *const p = &f->published;
    const char *const name = dsgd_published_field(f, row, DSGD_QUANTITY);
    const char *const relation = dsgd_published_field(f, row, DSGD_RELATION);
    const char *const value = dsgd_published_field(f, row, DSGD_PUBLISHED);
    if (dsgd_csv_column(&f->runs, name) == f->runs.n_columns)
        return dsgd_fail(error, DSGD_EIO, "%s:%zu: quantity `%s` is not a column of %s", p->path,
                         p->lines[row + 1], name, f->runs.path);
    dsgd_parse_number(value, NULL, &r->value);
    /* If the row is a bound, its uncertainty is NAN. */
    const double uncertainty = r->value * dsgd_csv_value(p, row, f->fixed[DSGD_UNCERTAINTY]);
    r->is_point = *relation == '~';
    if (strlen(relation) != 1 || strchr("~<>", *relation) == NULL || !(r->value > 0) ||
        (r->is_point && !(uncertainty > 0)))
        return dsgd_fail(error, DSGD_EIO,
                         "%s:%zu: relation must be ~, < or >, got \"%s\"; published must be a "
                         "number above 0, got \"%s\", and so must uncertainty be with relation ~, "
                         "got \"%s\"",
                         p->path, p->lines[row + 1], relation, value,
                         dsgd_published_field(f, row, DSGD_UNCERTAINTY));
    r->simulated = simulated_of(f, row);
    if (isnan(r->simulated))
        return dsgd_fail(error, DSGD_EIO, "%s:%zu: no run of %s matches this row", p->path,
                         p->lines[row + 1], f->runs.path);
    const double beyond = dsgd_csv_value(p, row, f->fixed[DSGD_BEYOND]);
    r->beyond = isnan(beyond) ? 0 : beyond;
    compare(r, uncertainty, *relation == '<');
    return DSGD_OK;
}

dsgd_status dsgd_published_open(dsgd_published *f, dsgd_error *error)
{
    DSGD_TRY(dsgd_csv_read(&f->published, error, "%s/plots/%s/published.csv", dsgd_data_folder(),
                           f->name));
    DSGD_TRY(dsgd_csv_read(&f->runs, error, "%s/runs.csv", f->folder));
    DSGD_TRY(dsgd_frame_open(&f->runs, &(dsgd_framing){.by = NULL}, &f->frame, error));
    DSGD_TRY(find_columns(f, error));
    f->rows = dsgd_keep(f->published.n_rows + 1, sizeof *f->rows);
    for (size_t row = 0; row < f->published.n_rows; row++)
        DSGD_TRY(simulate_row(f, row, &f->rows[row], error));
    return DSGD_OK;
}
