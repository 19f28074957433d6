/**
 * @file csv.h
 * CSV files (RFC 4180: fields with commas, quotes or line ends are quoted), and files that take their place only when they are whole.
 */
#ifndef DSGD_BASE_CSV_H
#define DSGD_BASE_CSV_H

#include <stdio.h>

#include "base/status.h"

/** A file in memory: a header, and rows of as many fields. */
typedef struct dsgd_csv {
    char *path, *text;
    char **fields; /* [1 + n_rows][n_columns], the header first; they point into text */
    size_t *lines; /* [1 + n_rows]: where each begins, from 1 */
    size_t n_columns, n_rows;
} dsgd_csv;

/** Reads a file whole; a row with more or fewer fields than the header is refused. @p csv is to be closed in any case. */
dsgd_status dsgd_csv_read(const char *path, dsgd_csv *csv, dsgd_error *error);
void dsgd_csv_close(dsgd_csv *csv);

/** The first column called @p name, or n_columns. */
size_t dsgd_csv_column(const dsgd_csv *csv, const char *name);

/** A field of row @p row, counted from 0 below the header. */
const char *dsgd_csv_field(const dsgd_csv *csv, size_t row, size_t column);

/** Writes the shortest text that reads back as the same number; nothing for no number. */
void dsgd_csv_number(FILE *stream, double x);

/** Writes the @p n numbers of @p x, a comma before each. */
void dsgd_csv_numbers(FILE *stream, const double *x, size_t n);

/** Writes text as a field. */
void dsgd_csv_text(FILE *stream, const char *text);

/** A file that is written beside its place. */
typedef struct dsgd_whole_file {
    char *path, *beside;
    FILE *stream;
} dsgd_whole_file;

/** Takes over @p path, which is freed by dsgd_whole_close(), or here on failure. */
dsgd_status dsgd_whole_open(dsgd_whole_file *file, char *path, dsgd_error *error);
dsgd_status dsgd_whole_close(dsgd_whole_file *file, dsgd_error *error);

/** A folder and all above it, like mkdir -p; says why it cannot be written. */
dsgd_status dsgd_make_folder(const char *path, dsgd_error *error);

#endif
