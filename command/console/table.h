/**
 * @file table.h
 * Prints tables and paragraphs in lines of limited width.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Widths in columns: the most that a table has, and that of paragraphs. */
enum { DSGD_LINE_WIDTH = 100, DSGD_TEXT_WIDTH = 80 };

/**
 * Returns the width of the terminal on @p descriptor, else $COLUMNS, else @p otherwise, but at most
 * DSGD_LINE_WIDTH.
 */
int dsgd_terminal_width(int descriptor, int otherwise);

/** Returns the number of bytes of the first @p n characters of a UTF-8 text, or of all if it has
 * fewer. */
size_t dsgd_bytes_of(const char *text, size_t n);

typedef struct dsgd_column_of_texts {
    const char *head, **cells; /* [n_rows] */
} dsgd_column_of_texts;

/** A table of UTF-8 texts, filled row by row. It starts as {.n_rows = 0}. */
typedef struct dsgd_columns {
    dsgd_column_of_texts *v; /* [n_columns] */
    size_t n_columns, n_rows, at; /* at: the column of the next cell */
    bool wraps; /* cells that are too wide wrap, as heads do; otherwise they are cut with "..." */
    bool is_markdown; /* print a Markdown table of any width */
} dsgd_columns;

/** Begins a row. */
void dsgd_columns_row(dsgd_columns *t);

/** Adds the next cell of the row. The first row defines the columns; @p head is unused in later
 * rows. */
void dsgd_columns_put(dsgd_columns *t, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Adds a cell without copying it: both texts must stay unchanged until the table is printed. */
void dsgd_columns_take(dsgd_columns *t, const char *head, const char *text);

/** Removes the column and returns true if all of its cells are @p text. */
bool dsgd_columns_hide(dsgd_columns *t, const char *head, const char *text);

/**
 * Removes the column, stores its text in *text and returns true if all cells that differ from
 * @p none have the same text. If there are no such cells, *text becomes @p none.
 */
bool dsgd_columns_fold(dsgd_columns *t, const char *head, const char *none, const char **text);

/** Prints the table on stdout. Columns of numbers are right-aligned, the others left-aligned. */
void dsgd_columns_print(dsgd_columns *t);

/** Writes the table as CSV. */
void dsgd_columns_write(const dsgd_columns *t, FILE *stream);

/** Returns a number with @p digits significant digits, or with all digits before the point if it is
 * below 1e9. */
const char *dsgd_readable(double x, int digits);

/**
 * Prints @p heading, padded to @p indent columns, followed by @p text (unless NULL), which is
 * wrapped at blanks before column @p width. Further lines are indented by @p indent. If the heading
 * has
 * @p indent columns or more, the text begins on the next line, unless the heading ends in a blank.
 * A word that is longer than a line is not broken.
 */
void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text);

/** Formats a text and prints it like dsgd_print_wrapped(), on stdout with DSGD_TEXT_WIDTH columns.
 */
void dsgd_print_text(const char *heading, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Returns a number with a noun, such as "1 run" or "2 runs". */
char *dsgd_counted(size_t n, const char *noun);
