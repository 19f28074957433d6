/**
 * @file gnuplot.h
 * Values as gnuplot reads them.
 */
#ifndef DSGD_COMMAND_ANALYSIS_GNUPLOT_H
#define DSGD_COMMAND_ANALYSIS_GNUPLOT_H

#include <stdio.h>

/** A comma, and a number or NaN. */
void dsgd_gnuplot_number(FILE *out, double x);

/** NAME = 'TEXT', in single quotes, as gnuplot reads it. */
void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text);

/** An array of numbers. */
void dsgd_gnuplot_numbers(FILE *out, const char *name, const double *x, size_t n);

/** An array of texts. */
void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n);

#endif
