/**
 * @file gnuplot.h
 * Values as gnuplot reads them, and lists of names.
 */
#ifndef DSGD_COMMAND_ANALYSIS_GNUPLOT_H
#define DSGD_COMMAND_ANALYSIS_GNUPLOT_H

#include <stdio.h>

/** Different texts in the order in which they came. */
typedef struct dsgd_names {
    const char **v; /* [n], and a NULL behind them; NULL: there is none */
    size_t n;
} dsgd_names;

/** The index of @p text, which is added where it is new. */
size_t dsgd_names_add(dsgd_names *list, const char *text);

/** A comma, and a number or NaN. */
void dsgd_gnuplot_number(FILE *out, double x);

/** NAME = 'TEXT', in single quotes, as gnuplot reads it. */
void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text);

/** An array of numbers, whose name is formatted like by printf(). */
void dsgd_gnuplot_numbers(FILE *out, const double *x, size_t n, const char *name, ...)
    __attribute__((format(printf, 4, 5)));

/** An array of texts. */
void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n);

#endif
