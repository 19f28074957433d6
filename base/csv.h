/**
 * @file csv.h
 * CSV files (RFC 4180).
 */
#pragma once

#include "base/status.h"

/**
 * A CSV file in memory: a header, and rows with the same number of fields. Blank lines and lines
 * that begin with # are skipped. The separator of all fields is the one between the first two
 * fields of the header: a comma, a tab or a semicolon. If it is a semicolon, numbers may have a
 * decimal comma.
 */
typedef struct dsgd_csv {
    const char *path;
    char **fields; /* [1 + n_rows][n_columns], the header first */
    size_t *lines; /* [1 + n_rows] line of the file where a row begins, from 1 */
    size_t n_columns, n_rows;
} dsgd_csv;

/**
 * Reads the file at a path, which is formatted as by dsgd_xprintf(). Returns DSGD_EIO with file and
 * line if the file is unreadable or empty, a row and the header have different numbers of fields,
 * or quotes are unbalanced.
 */
dsgd_status dsgd_csv_read(dsgd_csv *csv, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/** Like dsgd_csv_read(), from a text. */
dsgd_status dsgd_csv_parse(dsgd_csv *csv, const char *text, dsgd_error *error);

/** Returns the index of the first column with name @p name, or n_columns. */
size_t dsgd_csv_column(const dsgd_csv *csv, const char *name);

/** Like dsgd_csv_column(), but returns DSGD_EIO if there is no such column. */
dsgd_status dsgd_csv_need(const dsgd_csv *csv, const char *name, size_t *column, dsgd_error *error);

/** Returns a field of row @p row, which counts from 0 after the header. */
const char *dsgd_csv_field(const dsgd_csv *csv, size_t row, size_t column);

/** Returns a field as a number, or NAN if it is not a number or the column does not exist. */
double dsgd_csv_value(const dsgd_csv *csv, size_t row, size_t column);

/**
 * Reads the number in a field, NAN if the field is empty. Returns DSGD_EUSAGE with the line for any
 * other text.
 */
dsgd_status dsgd_csv_read_number(const dsgd_csv *csv, size_t row, size_t column, double *number,
                                 dsgd_error *error);

/** Returns the first non-empty field of a column, or NULL if there is none or no such column. */
const char *dsgd_csv_first(const dsgd_csv *csv, size_t column);

/**
 * Writes the shortest decimal number of 15 to 17 digits that reads back as @p x; nothing for NAN.
 */
void dsgd_csv_number(FILE *stream, double x);

/** Returns the text that dsgd_csv_number() writes. */
char *dsgd_csv_number_text(double x);

/** Writes the @p n numbers of @p x with a comma before each. */
void dsgd_csv_numbers(FILE *stream, const double *x, size_t n);

/**
 * Writes a field, in quotes if it contains a comma, a quote or a line end, or begins like a
 * comment.
 */
void dsgd_csv_text(FILE *stream, const char *text);
