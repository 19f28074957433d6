/**
 * @file summary.c
 * Means with their intervals, and tables whose columns are as wide as what is in them.
 */
#include "command/analyse/summary.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

void dsgd_mean(const double *x, size_t n, double *mean, double *ci)
{
    *mean = n < 1 ? NAN : gsl_stats_mean(x, 1, n);
    *ci = n < 2 ? NAN
                : gsl_cdf_tdist_Pinv(0.975, (double)(n - 1)) * gsl_stats_sd(x, 1, n) /
                      sqrt((double)n);
}

char **dsgd_columns_add(dsgd_columns *columns, const char *head)
{
    columns->cells = dsgd_xrealloc(columns->cells, ++columns->n_columns * columns->n_rows,
                                   sizeof *columns->cells);
    char **const column = &columns->cells[(columns->n_columns - 1) * columns->n_rows];
    column[0] = dsgd_xstrdup(head);
    return column;
}

/** Characters of UTF-8, counted by the bytes that begin one. */
static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void dsgd_columns_print(dsgd_columns *columns)
{
    const size_t n_rows = columns->n_rows;
    size_t *const widths = dsgd_xcalloc(columns->n_columns, sizeof *widths);
    for (size_t i = 0; i < columns->n_columns * n_rows; i++)
        if (width_of(columns->cells[i]) > widths[i / n_rows])
            widths[i / n_rows] = width_of(columns->cells[i]);
    for (size_t row = 0; row < n_rows; row++) {
        size_t owed = 0; /* blanks are printed only before something */
        for (size_t k = 0; k < columns->n_columns; k++) {
            char *const cell = columns->cells[k * n_rows + row];
            if (*cell != '\0')
                printf("%*s%s", (int)owed, "", cell);
            owed = *cell == '\0' ? owed + widths[k] + 2 : widths[k] - width_of(cell) + 2;
            free(cell);
        }
        putchar('\n');
    }
    free(widths);
    free(columns->cells);
}
