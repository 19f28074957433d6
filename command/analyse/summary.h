/**
 * @file summary.h
 * What the commands that sum up runs share: a mean with what it is worth, and tables for readers.
 */
#ifndef DSGD_COMMAND_ANALYSE_SUMMARY_H
#define DSGD_COMMAND_ANALYSE_SUMMARY_H

#include <stddef.h>

/**
 * Mean of @p n numbers, and half width of its 95 % confidence interval by Student's t; one number has no interval, none has no mean:
 * NAN.
 */
void dsgd_mean(const double *x, size_t n, double *mean, double *ci);

/** Texts in rows and columns, which are printed when all widths are known. Begins as {NULL, 0, rows and one more for the heads}. */
typedef struct dsgd_columns {
    char **cells; /* [n_columns][n_rows], the heads first */
    size_t n_columns, n_rows;
} dsgd_columns;

/** A fresh column under a head; its other cells are to be filled with texts in fresh memory, which the columns then own. */
char **dsgd_columns_add(dsgd_columns *columns, const char *head);

/** Prints all on stdout, and frees it. */
void dsgd_columns_print(dsgd_columns *columns);

#endif
