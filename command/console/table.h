/**
 * @file table.h
 * Tables and paragraphs in lines of at most DSGD_LINE_WIDTH columns, or as many as a terminal has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Of tables at most, and of paragraphs, which a terminal of the usual width holds. */
enum { DSGD_LINE_WIDTH = 100, DSGD_TEXT_WIDTH = 80 };

/**
 * Columns of the terminal behind @p descriptor, else $COLUMNS, else @p otherwise; no more than
 * DSGD_LINE_WIDTH.
 */
int dsgd_terminal_width(int descriptor, int otherwise);

/** Bytes of the first @p n characters of a text in UTF-8, or of all that there are. */
size_t dsgd_bytes_of(const char *text, size_t n);

typedef struct dsgd_column_of_texts {
    const char *head, **cells; /* [n_rows] */
} dsgd_column_of_texts;

/** A table of UTF-8 texts, its columns two blanks apart, filled row by row. Starts as {.n_rows =
 * 0}. */
typedef struct dsgd_columns {
    dsgd_column_of_texts *v; /* [n_columns] */
    size_t n_columns, n_rows, at; /* the column of the next cell */
    bool wraps; /* a cell that is too wide continues on the next line, as heads do; else it ends in
                   "..." */
    bool is_markdown; /* prints one, of any width */
} dsgd_columns;

void dsgd_columns_row(dsgd_columns *t);

/** The next cell of the row. The first row's cells make the columns; later heads are unused. */
void dsgd_columns_put(dsgd_columns *t, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Like dsgd_columns_put(). Both texts stay as they are until the table is printed. */
void dsgd_columns_take(dsgd_columns *t, const char *head, const char *text);

/** Removes the column if all of its cells are @p text; false: they are not, or there is none. */
bool dsgd_columns_hide(dsgd_columns *t, const char *head, const char *text);

/**
 * Removes the column if its cells that are not @p none are one text, and sets *text to it (where
 * there is no other: to @p none). False: they are several.
 */
bool dsgd_columns_fold(dsgd_columns *t, const char *head, const char *none, const char **text);

/** Prints the table on stdout. Columns of numbers are right-aligned, the others left-aligned. */
void dsgd_columns_print(dsgd_columns *t);

/** Writes the table as CSV. */
void dsgd_columns_write(const dsgd_columns *t, FILE *stream);

/** A number for readers: so many significant digits, and all of a whole number below 1e9. */
const char *dsgd_readable(double x, int digits);

/**
 * Prints @p heading, padded to @p indent columns, and @p text (NULL: none) behind it, wrapped at
 * blanks before @p width; further lines are indented by @p indent. A heading of @p indent columns
 * or more has a line of its own, unless it ends in a blank. A word that is longer than a line stays
 * whole.
 */
void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text);

/** The same on stdout, to DSGD_TEXT_WIDTH columns, of a text that is formatted. */
void dsgd_print_text(const char *heading, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** "1 run", "2 runs". */
char *dsgd_counted(size_t n, const char *noun);
