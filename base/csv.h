/**
 * @file csv.h
 * CSV files (RFC 4180).
 */
#pragma once

#include "base/status.h"

/**
 * A CSV file in memory: a header, and rows with the same number of fields. Blank lines and lines
 * that begin with # are none. Fields are separated by what separates the first two of the header:
 * a comma, a tab or a semicolon; with a semicolon numbers may have a decimal comma.
 */
typedef struct dsgd_csv {
    const char *path;
    char **fields; /* [1 + n_rows][n_columns], the header first */
    size_t *lines; /* [1 + n_rows]: line of the file where a row begins, from 1 */
    size_t n_columns, n_rows;
} dsgd_csv;

/**
 * Reads the file at a path, which is formatted like dsgd_xprintf(). DSGD_EIO with file and line:
 * unreadable, empty, a row with another number of fields than the header, or unbalanced quotes.
 */
dsgd_status dsgd_csv_read(dsgd_csv *csv, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/** Like dsgd_csv_read(), from a text. */
dsgd_status dsgd_csv_parse(dsgd_csv *csv, const char *text, dsgd_error *error);

/** Index of the first column called @p name, or n_columns. */
size_t dsgd_csv_column(const dsgd_csv *csv, const char *name);

/** Like dsgd_csv_column(), but DSGD_EIO without such a column. */
dsgd_status dsgd_csv_need(const dsgd_csv *csv, const char *name, size_t *column, dsgd_error *error);

/** A field of row @p row, from 0 below the header. */
const char *dsgd_csv_field(const dsgd_csv *csv, size_t row, size_t column);

/** The same as a number; NAN: it is none, or there is no such column. */
double dsgd_csv_value(const dsgd_csv *csv, size_t row, size_t column);

/** The number in a field, NAN where it is empty; DSGD_EUSAGE with the line for anything else. */
dsgd_status dsgd_csv_read_number(const dsgd_csv *csv, size_t row, size_t column, double *number,
                                 dsgd_error *error);

/** The first field of a column that is not empty; NULL: all are, or there is no such column. */
const char *dsgd_csv_first(const dsgd_csv *csv, size_t column);

/** Writes the shortest decimal of 15 to 17 digits that reads back as @p x; nothing for NAN. */
void dsgd_csv_number(FILE *stream, double x);

/** The same text. */
char *dsgd_csv_number_text(double x);

/** Writes the @p n numbers of @p x, a comma before each. */
void dsgd_csv_numbers(FILE *stream, const double *x, size_t n);

/**
 * Writes a field, quoted where it has a comma, a quote or a line end, or begins as a comment does.
 */
void dsgd_csv_text(FILE *stream, const char *text);
