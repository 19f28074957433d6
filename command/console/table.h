/**
 * @file table.h
 * Prints tables and paragraphs in lines of limited width.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Widths in characters: the largest width of a table, and the width of paragraphs. */
enum { DSGD_LINE_WIDTH = 100, DSGD_TEXT_WIDTH = 80 };

/**
 * Returns the width of the terminal on @p descriptor in characters, else $COLUMNS, else @p
 * otherwise. The width is at most DSGD_LINE_WIDTH.
 */
int dsgd_terminal_width(int descriptor, int otherwise);

/**
 * Returns the number of bytes of the first @p n characters of a UTF-8 text, or of the whole text if
 * it is shorter.
 */
size_t dsgd_bytes_of(const char *text, size_t n);

typedef struct dsgd_column_of_texts {
    const char *head, **cells; /* heading of a column, and an array of n_rows cells */
} dsgd_column_of_texts;

/** A table of UTF-8 texts that is filled row by row. An empty table is {.n_rows = 0}. */
typedef struct dsgd_columns {
    dsgd_column_of_texts *v; /* array of n_columns columns */
    size_t n_columns, n_rows, at; /* numbers of columns and rows, and the index of the next cell's
                                   * column */
    bool wraps; /* true if cells that are too wide wrap; false if they are cut with "..." */
    bool is_markdown; /* true to print a Markdown table of any width */
} dsgd_columns;

/** Begins a new row of the table. */
void dsgd_columns_row(dsgd_columns *t);

/**
 * Adds the next cell of the row. The first row defines the columns; in later rows @p head is not
 * used.
 */
void dsgd_columns_put(dsgd_columns *t, const char *head, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Adds a cell without copying its texts. Both texts must stay unchanged until the table is printed.
 */
void dsgd_columns_take(dsgd_columns *t, const char *head, const char *text);

/** Removes the column @p head and returns true if all of its cells are equal to @p text. */
bool dsgd_columns_hide(dsgd_columns *t, const char *head, const char *text);

/**
 * Removes the column @p head and returns true if all cells that differ from @p none have the same
 * text. Stores this text in *text, or @p none if there are no such cells.
 */
bool dsgd_columns_fold(dsgd_columns *t, const char *head, const char *none, const char **text);

/**
 * Prints the table on stdout. Columns of numbers are right-aligned, other columns are left-aligned.
 */
void dsgd_columns_print(dsgd_columns *t);

/** Writes the table as CSV. */
void dsgd_columns_write(const dsgd_columns *t, FILE *stream);

/**
 * Returns a number with @p digits significant digits. A number below 1e9 keeps all digits before
 * its decimal point.
 */
const char *dsgd_readable(double x, int digits);

/**
 * Prints @p heading, padded to @p indent columns, and then @p text (unless it is NULL). The text
 * wraps at blanks before column @p width, and its further lines are indented by @p indent. If the
 * heading is not narrower than @p indent, the text begins on the next line, unless the heading ends
 * in a blank. Words that are longer than a line are not broken.
 */
void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text);

/** Formats a text and prints it like dsgd_print_wrapped(), on stdout with DSGD_TEXT_WIDTH columns.
 */
void dsgd_print_text(const char *heading, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Returns a number with a noun, such as "1 run" or "2 runs". */
char *dsgd_counted(size_t n, const char *noun);
