/**
 * @file csv.h Reads and writes CSV files (RFC 4180).
 */
#pragma once

#include "base/status.h"

/**
 * A CSV file in memory: a header, and rows that all have the same number of fields. Blank lines and
 * lines that begin with # are skipped. The separator between the first two fields of the header is
 * the separator of the whole file: a comma, a tab or a semicolon. If it is a semicolon, numbers may
 * have a decimal comma.
 */
typedef struct dsgd_csv {
    const char *path;
    char **fields; /* [1 + n_rows][n_columns] texts of all fields; the first row is the header */
    size_t *lines; /* [1 + n_rows] line number, from 1, at which each row begins in the file */
    size_t n_columns, n_rows;
} dsgd_csv;

/**
 * Reads a CSV file. @p path and the arguments after it give the path, as for printf(). Returns
 * DSGD_EIO if the file is unreadable or empty, if a row and the header have different numbers of
 * fields, or if quotes do not match. The error message contains the file and the line.
 */
dsgd_status dsgd_csv_read(dsgd_csv *csv, dsgd_error *error, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/** Like dsgd_csv_read(), but reads from a text. */
dsgd_status dsgd_csv_parse(dsgd_csv *csv, const char *text, dsgd_error *error);

/**
 * Returns the index of the first column with name @p name. Returns n_columns if there is no such
 * column.
 */
size_t dsgd_csv_column(const dsgd_csv *csv, const char *name);

/**
 * Stores the index of the column with name @p name in *column. Returns DSGD_EIO if there is no such
 * column.
 */
dsgd_status dsgd_csv_need(const dsgd_csv *csv, const char *name, size_t *column, dsgd_error *error);

/**
 * Returns the field in row @p row and column @p column. Rows are counted from 0, after the header.
 */
const char *dsgd_csv_field(const dsgd_csv *csv, size_t row, size_t column);

/**
 * Returns a field as a number. Returns NAN if the field is not a number or the column does not
 * exist.
 */
double dsgd_csv_value(const dsgd_csv *csv, size_t row, size_t column);

/**
 * Stores the number in a field in *number. An empty field gives NAN. If the field contains any
 * other text, returns DSGD_EUSAGE with the line of the field.
 */
dsgd_status dsgd_csv_read_number(const dsgd_csv *csv, size_t row, size_t column, double *number,
                                 dsgd_error *error);

/**
 * Returns the first non-empty field of a column. Returns NULL if all fields are empty or the column
 * does not exist.
 */
const char *dsgd_csv_first(const dsgd_csv *csv, size_t column);

/**
 * Writes the shortest decimal number of 15 to 17 digits that reads back as @p x. Writes nothing if
 * @p x is NAN.
 */
void dsgd_csv_number(FILE *stream, double x);

/** Returns the text that dsgd_csv_number() writes for @p x. */
char *dsgd_csv_number_text(double x);

/** Writes the numbers x[n], with a comma before each number. */
void dsgd_csv_numbers(FILE *stream, const double *x, size_t n);

/**
 * Writes a field. Adds quotes if the field contains a comma, a quote or a line end, or if it begins
 * with #, which would begin a comment.
 */
void dsgd_csv_text(FILE *stream, const char *text);
