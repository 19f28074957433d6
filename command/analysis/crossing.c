/**
 * @file crossing.c
 * Ladders of groups that differ in one swept number, and where they pass a level.
 */
#include "command/analysis/crossing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/option.h"
#include "command/runs/swept.h"

/** The groups that differ from the first in one key alone, by its value. */
typedef struct rungs {
    const dsgd_comparison *c;
    size_t key;
    const dsgd_seed_group **groups; /* [n] */
    double *x; /* [n] */
    size_t n;
} rungs;

static bool value_of(const rungs *r, const dsgd_seed_group *g, double *x)
{
    return dsgd_parse_number(dsgd_seed_groups_key(&r->c->groups, g, r->key), NULL, x);
}

static bool differs_in_key_alone(const rungs *r, const dsgd_seed_group *a, const dsgd_seed_group *b)
{
    for (size_t k = 0; k < r->c->groups.n_keys; k++)
        if (k != r->key && strcmp(dsgd_seed_groups_key(&r->c->groups, a, k),
                                  dsgd_seed_groups_key(&r->c->groups, b, k)) != 0)
            return false;
    return true;
}

/** Collects the ladder of a group; false: another group begins it, or there is no other rung. */
static bool find_rungs(rungs *r, const dsgd_seed_group *first)
{
    double x = 0;
    r->n = 0;
    if (first->baseline == NULL || first->baseline == first || !value_of(r, first, &x))
        return false;
    for (size_t i = 0; i < r->c->groups.n; i++) {
        const dsgd_seed_group *const g = &r->c->groups.v[i];
        if (g->baseline == NULL || !value_of(r, g, &x) || !differs_in_key_alone(r, first, g))
            continue;
        if (g < first)
            return false;
        size_t at = r->n++;
        for (; at > 0 && r->x[at - 1] > x; at--) {
            r->x[at] = r->x[at - 1];
            r->groups[at] = r->groups[at - 1];
        }
        r->x[at] = x;
        r->groups[at] = g;
    }
    return r->n > 1;
}

static double log_of(const dsgd_comparison *c, const dsgd_seed_group *g, size_t row)
{
    const size_t *const own = dsgd_seed_groups_seed(&c->groups, g, row);
    const size_t *const base =
        own == NULL ? NULL : dsgd_seed_groups_seed(&c->groups, g->baseline, row);
    if (base == NULL)
        return NAN;
    return log(c->values[*own * DSGD_N_MEASURES + DSGD_THROUGHPUT] /
               c->values[*base * DSGD_N_MEASURES + DSGD_THROUGHPUT]);
}

/** The logarithms of the seeds that have one on every rung; the caller frees them. */
static double *logs_of(const rungs *r, size_t *n_seeds)
{
    const dsgd_seed_group *const first = r->groups[0];
    double *const by_seed = dsgd_xcalloc(2 * r->n * first->n_rows, sizeof *by_seed);
    *n_seeds = 0;
    for (size_t s = 0; s < first->n_rows; s++) {
        bool whole = true;
        for (size_t i = 0; i < r->n; i++) {
            by_seed[*n_seeds * r->n + i] = log_of(r->c, r->groups[i], first->rows[s]);
            whole = whole && !isnan(by_seed[*n_seeds * r->n + i]);
        }
        *n_seeds += whole;
    }
    double *const logs = dsgd_xcalloc(r->n * *n_seeds + 1, sizeof *logs);
    for (size_t i = 0; i < r->n; i++)
        for (size_t s = 0; s < *n_seeds; s++)
            logs[i * *n_seeds + s] = by_seed[s * r->n + i];
    free(by_seed);
    return logs;
}

/** What the rungs have in common, as " (workers 256, host_bandwidth 5GB/s)"; the caller frees it. */
static char *place_of(const rungs *r)
{
    char *text = dsgd_xstrdup("");
    for (size_t k = 1; k < r->c->groups.n_keys; k++) {
        const char *const value = dsgd_seed_groups_key(&r->c->groups, r->groups[0], k);
        if (k == r->key || !r->c->groups.varies[k] || *value == '\0')
            continue;
        const char *const column = dsgd_seed_groups_column(&r->c->groups, k);
        char *const name = dsgd_swept_name(column);
        char *const shown = dsgd_swept_value(column, value);
        dsgd_append(&text, "%s%s %s", *text == '\0' ? " (" : ", ", name, shown);
        free(name);
        free(shown);
    }
    if (*text != '\0')
        dsgd_append(&text, ")");
    return text;
}

/** A value of the key for readers; the caller frees it. */
static char *shown(const rungs *r, double x)
{
    char *const number = dsgd_xprintf("%.6g", x);
    char *const text = dsgd_swept_value(dsgd_seed_groups_column(&r->c->groups, r->key), number);
    free(number);
    return text;
}

static void print_crossing(const rungs *r, const dsgd_crossing *crossing, size_t n_seeds)
{
    char *const at = shown(r, crossing->at);
    char *const low = shown(r, crossing->low);
    char *const high = shown(r, crossing->high);
    printf("%s at %s", crossing->rises ? "from below" : "from above", at);
    if (!isnan(crossing->low))
        printf(" (%s to %s)", low, high);
    else if (n_seeds == 1)
        printf(" (one seed)");
    else
        printf(" (the mean; so do %zu of %zu seeds)", crossing->n, n_seeds);
    free(at);
    free(low);
    free(high);
}

/** A row per crossing; of a ladder that never passes one without a place. */
static void write_row(FILE *stream, const rungs *r, double level, const dsgd_crossing *crossing,
                      const char *direction, size_t n_seeds)
{
    for (size_t k = 0; k < r->c->groups.n_keys; k++) {
        dsgd_csv_text(stream,
                      k == r->key ? "" : dsgd_seed_groups_key(&r->c->groups, r->groups[0], k));
        fputc(',', stream);
    }
    dsgd_csv_text(stream, dsgd_seed_groups_column(&r->c->groups, r->key));
    dsgd_csv_numbers(stream, &level, 1);
    fprintf(stream, ",%s,%zu,%zu", direction, crossing->n, n_seeds);
    dsgd_csv_numbers(stream, (double[]){crossing->at, crossing->low, crossing->high}, 3);
    fputc('\n', stream);
}

static void report_ladder(FILE *stream, const rungs *r, double level)
{
    size_t n_seeds = 0;
    double *const logs = logs_of(r, &n_seeds);
    const dsgd_ladder ladder = {r->n, n_seeds, r->x, logs};
    dsgd_crossing *const crossings = dsgd_xcalloc(r->n, sizeof *crossings);
    const size_t n = n_seeds == 0 ? 0 : dsgd_crossings_of(&ladder, level, crossings);
    char *const name = dsgd_swept_name(dsgd_seed_groups_column(&r->c->groups, r->key));
    char *const place = place_of(r);
    char *const from = shown(r, r->x[0]);
    char *const to = shown(r, r->x[r->n - 1]);
    printf("%s%s, %s %s to %s: ", dsgd_seed_groups_key(&r->c->groups, r->groups[0], 0), place, name,
           from, to);
    for (size_t i = 0; i < n; i++) {
        printf("%s", i == 0 ? "passes " : ", then ");
        print_crossing(r, &crossings[i], n_seeds);
        write_row(stream, r, level, &crossings[i], crossings[i].rises ? "rises" : "falls", n_seeds);
    }
    if (n == 0) {
        const dsgd_crossing none = {.at = NAN, .low = NAN, .high = NAN};
        const bool above =
            n_seeds > 0 &&
            dsgd_comparison_of(r->c, r->groups[0], DSGD_THROUGHPUT)->ratio.ratio >= level;
        const char *const direction = n_seeds == 0 ? "unknown" : above ? "above" : "below";
        printf("%s %s", n_seeds == 0 ? "no common seeds," : "stays", direction);
        write_row(stream, r, level, &none, direction, n_seeds);
    }
    putchar('\n');
    free(from);
    free(to);
    free(place);
    free(name);
    free(crossings);
    free(logs);
}

dsgd_status dsgd_crossings_report(const dsgd_comparison *c, double level, const char *folder,
                                  dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/crossings.csv", folder);
    if (stream == NULL)
        return DSGD_EIO;
    for (size_t k = 0; k < c->groups.n_keys; k++) {
        dsgd_csv_text(stream, dsgd_seed_groups_column(&c->groups, k));
        fputc(',', stream);
    }
    fputs("along,level,direction,n,seeds,at,low,high\n", stream);
    printf("\nWhere throughput passes %g times that of %s %s:\n", level,
           dsgd_seed_groups_column(&c->groups, c->groups.by), c->groups.baseline);
    rungs r = {.c = c,
               .groups = dsgd_xcalloc(c->groups.n, sizeof *r.groups),
               .x = dsgd_xcalloc(c->groups.n, sizeof *r.x)};
    size_t n = 0;
    for (r.key = 1; r.key < c->groups.n_keys; r.key++)
        for (size_t i = 0; c->groups.varies[r.key] && i < c->groups.n; i++)
            if (find_rungs(&r, &c->groups.v[i])) {
                report_ladder(stream, &r, level);
                n++;
            }
    if (n == 0)
        printf("nowhere: no number is swept that algorithms and the baseline have in common\n");
    free(r.groups);
    free(r.x);
    return dsgd_whole_close(&file, error);
}
