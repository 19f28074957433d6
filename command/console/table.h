/**
 * @file table.h
 * Prints tables and paragraphs in lines of limited width.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* largest width of a table, and width of paragraphs, in characters */
enum { DSGD_LINE_WIDTH = 100, DSGD_TEXT_WIDTH = 80 };

/**
 * Returns the width of the terminal on @p descriptor in characters, but at most DSGD_LINE_WIDTH. If
 * the descriptor is not a terminal, returns $COLUMNS; if $COLUMNS is not set, returns @p otherwise.
 */
int dsgd_terminal_width(int descriptor, int otherwise);

/**
 * Returns the number of bytes of the first @p n characters of a UTF-8 text. If the text is shorter,
 * returns the number of all its bytes.
 */
size_t dsgd_bytes_of(const char *text, size_t n);

typedef struct dsgd_column_of_texts {
    const char *head, **cells; /* head: heading of the column; cells: array of n_rows cells */
} dsgd_column_of_texts;

/** A table of UTF-8 texts that is filled row by row. An empty table is {.n_rows = 0}. */
typedef struct dsgd_columns {
    dsgd_column_of_texts *v; /* array of n_columns columns */
    size_t n_columns, n_rows, at; /* number of columns, number of rows, and index of the column for
                                   * the next cell */
    bool wraps; /* true if cells that are too wide wrap; false if they are cut and end with "..." */
    bool is_markdown; /* true if the table is printed as a Markdown table, which can have any width
                       */
} dsgd_columns;

/** Begins a new row of the table. */
void dsgd_columns_row(dsgd_columns *t);

/**
 * Adds the next cell of a row. The first row defines the columns. In later rows, @p head has no
 * effect.
 */
void dsgd_columns_put(dsgd_columns *t, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Adds a cell without copying its texts. The caller must keep both texts until the table is
 * printed.
 */
void dsgd_columns_take(dsgd_columns *t, const char *head, const char *text);

/**
 * Removes the column @p head if all of its cells are equal to @p text. Returns true if the column
 * was removed.
 */
bool dsgd_columns_hide(dsgd_columns *t, const char *head, const char *text);

/**
 * Removes the column @p head if all cells that differ from @p none have the same text. Returns true
 * if the column was removed. Stores the common text in *text, or @p none if there are no such
 * cells.
 */
bool dsgd_columns_fold(dsgd_columns *t, const char *head, const char *none, const char **text);

/**
 * Prints the table on stdout. Columns of numbers are right-aligned; other columns are left-aligned.
 */
void dsgd_columns_print(dsgd_columns *t);

/** Writes the table as CSV. */
void dsgd_columns_write(const dsgd_columns *t, FILE *stream);

/**
 * Returns a number as text with @p digits significant digits. All digits before the decimal point
 * are kept if the number is below 1e9.
 */
const char *dsgd_readable(double x, int digits);

/**
 * Prints @p heading, padded to @p indent columns, and then @p text (unless the text is NULL). The
 * text wraps at blanks before column @p width. Its further lines are indented by @p indent columns.
 * If the heading is not narrower than @p indent, the text begins on the next line, unless the
 * heading ends in a blank. Words that are longer than a line are not broken.
 */
void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text);

/** Formats a text and prints it like dsgd_print_wrapped(), on stdout with DSGD_TEXT_WIDTH columns.
 */
void dsgd_print_text(const char *heading, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Returns a text with a number and a noun, such as "1 run" or "2 runs". */
char *dsgd_counted(size_t n, const char *noun);
