/**
 * @file columns.c
 * Headers and rows by the schema, and curves.csv.
 */
#include "command/runs/columns.h"

#include "base/csv.h"
#include "models/values/values.h"

const dsgd_column dsgd_key_columns[] = {
    {.name = "run", .meaning = "its number in the list, from 1"},
    {.name = "algorithm", .cell = DSGD_CELL_TEXT, .meaning = "its label"},
    {.name = "workers", .meaning = "P"},
    {.name = "seed", .meaning = "of all random draws"},
    {.name = NULL},
};

const char *dsgd_swept_cells(const char *const *texts, size_t n)
{
    char *cells = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&cells, &n_bytes);
    for (size_t k = 0; k < n; k++) {
        fputc(',', stream);
        dsgd_csv_text(stream, texts[k] == NULL ? "" : texts[k]);
    }
    dsgd_text_close(stream, &cells);
    return cells;
}

void dsgd_results_header(FILE *stream, const dsgd_results_file *file, const char *swept)
{
    for (const dsgd_column *c = dsgd_key_columns; c->name != NULL; c++)
        fprintf(stream, "%s%s", c == dsgd_key_columns ? "" : ",", c->name);
    for (const dsgd_column *c = file->columns; c->name != NULL; c++)
        fprintf(stream, ",%s", c->name);
    fprintf(stream, "%s\n", swept);
}

void dsgd_results_row(FILE *stream, const dsgd_results_file *file, const dsgd_run_key *key,
                      const void *row)
{
    fprintf(stream, "%zu,%s,%d,%llu", key->run, key->label, key->workers,
            (unsigned long long)key->seed);
    for (const dsgd_column *c = file->columns; c->name != NULL; c++) {
        const void *const cell = (const char *)row + c->offset;
        fputc(',', stream);
        if (c->cell == DSGD_CELL_TEXT)
            dsgd_csv_text(stream, *(const char *const *)cell);
        else if (c->cell == DSGD_CELL_HUNDREDTHS)
            fprintf(stream, "%.2f", *(const double *)cell);
        else
            dsgd_csv_number(stream, *(const double *)cell);
    }
    fprintf(stream, "%s\n", key->swept);
}

static const dsgd_column curve_columns[] = {
    {"virtual_s", "s", DSGD_COUNTS_TIMED, DSGD_CELL_NUMBER, offsetof(dsgd_point, virtual_s),
     "simulated seconds since the begin"},
    {"steps", NULL, DSGD_COUNTS_TIMED, DSGD_CELL_NUMBER, offsetof(dsgd_point, steps),
     "gradient steps of all workers / P since then"},
    {"loss", NULL, DSGD_COUNTS_LEARNED, DSGD_CELL_NUMBER, offsetof(dsgd_point, at.loss),
     "of the algorithm's output, on the test set"},
    {"accuracy", NULL, DSGD_COUNTS_LEARNED, DSGD_CELL_NUMBER, offsetof(dsgd_point, at.accuracy),
     NULL},
    {"consensus", NULL, DSGD_COUNTS_LEARNED, DSGD_CELL_NUMBER, offsetof(dsgd_point, at.consensus),
     "root mean square distance of the workers' models to their mean"},
    {.name = NULL},
};

const dsgd_results_file dsgd_curves_file = {"curves", "per evaluation", curve_columns};

void dsgd_curve_print(FILE *stream, const dsgd_run_key *key, size_t n, const dsgd_point *points)
{
    for (size_t i = 0; i < n && !isnan(points[i].at.loss); i++)
        dsgd_results_row(stream, &dsgd_curves_file, key, &points[i]);
}
