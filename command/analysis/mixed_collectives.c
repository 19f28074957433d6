/**
 * @file mixed_collectives.c
 * Whether a comparison of algorithms may be one of collectives.
 */
#include "command/analysis/mixed_collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "command/console/table.h"
#include "command/runs/swept.h"

/** A row of runs.csv: what it has in common with those that it is compared with, and its sums. */
typedef struct summed {
    char *cell;
    const char *algorithm, *collective;
    size_t row;
} summed;

static int by_cell(const void *a, const void *b)
{
    const summed *const s = a;
    const summed *const t = b;
    const int order = strcmp(s->cell, t->cell);
    return order != 0 ? order : (s->row > t->row) - (s->row < t->row);
}

/** Whether runs that differ in a column are compared by algorithm all the same. */
static bool is_free(const char *column, bool swept)
{
    static const char *const fixed[] = {"workers", "platform", "workload", NULL};
    return swept ? dsgd_is_of_algorithms(column) : dsgd_find_word(fixed, column) < 0;
}

static summed summed_of(const dsgd_csv *runs, size_t row)
{
    const size_t wall = dsgd_csv_column(runs, "wall_s"); /* swept columns follow it */
    summed s = {.cell = dsgd_xstrdup(""), .row = row};
    for (size_t k = 0; k < runs->n_columns; k++)
        if (!is_free(runs->fields[k], k > wall))
            dsgd_append(&s.cell, "%s\n", dsgd_csv_field(runs, row, k));
    s.algorithm = dsgd_csv_field(runs, row, dsgd_csv_column(runs, "algorithm"));
    s.collective = dsgd_csv_field(runs, row, dsgd_csv_column(runs, "partial_collective"));
    if (*s.collective == '\0')
        s.collective = dsgd_csv_field(runs, row, dsgd_csv_column(runs, "collective"));
    return s;
}

char *dsgd_mixed_collectives(const dsgd_csv *runs)
{
    char *sentence = NULL;
    if (dsgd_csv_column(runs, "partial_collective") == runs->n_columns ||
        dsgd_csv_column(runs, "collective") == runs->n_columns)
        return NULL; /* of an earlier version */
    summed *const rows = dsgd_xcalloc(runs->n_rows + 1, sizeof *rows);
    for (size_t i = 0; i < runs->n_rows; i++)
        rows[i] = summed_of(runs, i);
    qsort(rows, runs->n_rows, sizeof *rows, by_cell);
    const summed *first = NULL; /* of the cell, that sums at all */
    const summed *other = NULL;
    for (size_t i = 0; i < runs->n_rows && other == NULL; i++) {
        if (*rows[i].collective == '\0')
            continue;
        if (first == NULL || strcmp(first->cell, rows[i].cell) != 0)
            first = &rows[i];
        else if (strcmp(first->collective, rows[i].collective) != 0 &&
                 strcmp(first->algorithm, rows[i].algorithm) != 0) /* else it is what is swept */
            other = &rows[i];
    }
    if (other != NULL)
        sentence = dsgd_xprintf(
            "%s sums by %s, %s by %s, so that a difference between them may be one of collectives; "
            "exchange: {collective, partial_collective} sets them",
            first->algorithm, first->collective, other->algorithm, other->collective);
    for (size_t i = 0; i < runs->n_rows; i++)
        free(rows[i].cell);
    free(rows);
    return sentence;
}

void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs)
{
    char *const sentence = dsgd_mixed_collectives(runs);
    if (sentence != NULL)
        dsgd_print_wrapped(stream, "note:", 6, DSGD_TEXT_WIDTH, sentence);
    free(sentence);
}
