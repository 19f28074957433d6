/**
 * @file table.h
 * Tables and paragraphs in lines of at most DSGD_LINE_WIDTH columns.
 */
#ifndef DSGD_COMMAND_TABLE_H
#define DSGD_COMMAND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { DSGD_LINE_WIDTH = 100 };

/**
 * A table of UTF-8 texts, its columns two blanks apart. Starts as {.n_rows = rows with the heads}.
 */
typedef struct dsgd_columns {
    char **cells; /* [n_columns][n_rows], row 0 has the heads */
    size_t n_columns, n_rows;
    bool wraps; /* a text that is too wide continues on the next line; else it ends in "..." */
} dsgd_columns;

/**
 * A new column; the caller fills cells 1 to n_rows - 1 with allocated texts, which the table owns.
 */
char **dsgd_columns_add(dsgd_columns *columns, const char *head);

/** Takes the last column away. */
void dsgd_columns_drop(dsgd_columns *columns);

/**
 * Prints the table on stdout and frees it. Columns of numbers are right-aligned, the others
 * left-aligned.
 */
void dsgd_columns_print(dsgd_columns *columns);

/**
 * Prints @p heading, padded to @p indent columns, and @p text (NULL: none) behind it, wrapped at
 * blanks before @p width; further lines are indented by @p indent. A word that is longer than a
 * line stays whole.
 */
void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text);

#endif
