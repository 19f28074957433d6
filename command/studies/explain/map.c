/**
 * @file map.c
 * The slow-down of every worker in every step as the table of a figure.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/csv.h"
#include "command/studies/explain/attribution.h"

/** Cells that can be told apart on half a page. */
enum { MOST_ROWS = 128, MOST_COLUMNS = 160 };

/** The longest step of a block over the median; NAN: nothing is computed there. */
static double worst(const dsgd_facts *f, const long from[2], const long to[2])
{
    double most = NAN;
    for (long i = from[0]; i < to[0] && i < f->n_workers; i++)
        for (long t = from[1]; t < to[1] && t < f->n_steps; t++)
            most = fmax(most, f->compute_s[i * f->n_steps + t] / f->gradient_s); /* but for NAN */
    return most;
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

static char *table_of(const dsgd_facts *f)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *const stream = dsgd_text_open(&text, &n_bytes);
    const long each[2] = {(f->n_workers + MOST_ROWS - 1) / MOST_ROWS,
                          (f->n_steps + MOST_COLUMNS - 1) / MOST_COLUMNS};
    fputs("worker,workers,step,steps,slowdown\n", stream);
    for (long i = 0; i < f->n_workers; i += each[0])
        for (long t = 0; t < f->n_steps; t += each[1]) {
            const double x = worst(f, (long[]){i, t}, (long[]){i + each[0], t + each[1]});
            fprintf(stream, "%ld,%ld,%ld,%ld,", i, least(each[0], f->n_workers - i), t,
                    least(each[1], f->n_steps - t));
            if (isnan(
                    x)) /* an empty cell would move those after it: an image is rows of one length */
                fputs("nan", stream);
            else
                dsgd_csv_number(stream, x);
            fputc('\n', stream);
        }
    dsgd_text_close(stream, &text);
    return text;
}

dsgd_status dsgd_explained_map(const dsgd_explained *explained, size_t i, char **table,
                               dsgd_error *error)
{
    dsgd_facts facts;
    dsgd_status status = dsgd_facts_read(explained->results->folder, i, &facts, error);
    if (status == DSGD_OK && !(facts.gradient_s > 0))
        status = dsgd_fail(error, DSGD_ERUNS, "run %zu ended before any step was computed", i + 1);
    if (status == DSGD_OK)
        *table = table_of(&facts);
    dsgd_facts_free(&facts);
    return status;
}
