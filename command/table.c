/**
 * @file table.c
 * Widths of columns and lines, in characters of UTF-8.
 */
#include "command/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { GAP = 2, LEAST_WIDTH = 6 };

static const char ellipsis[] = "...";

static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/** Bytes of the first @p n characters. */
static size_t bytes_of(const char *text, size_t n)
{
    size_t bytes = 0;
    for (; n > 0 && text[bytes] != '\0'; n--)
        do
            bytes++;
        while (((unsigned char)text[bytes] & 0xc0) == 0x80);
    return bytes;
}

char **dsgd_columns_add(dsgd_columns *columns, const char *head)
{
    columns->cells = dsgd_xrealloc(columns->cells, ++columns->n_columns * columns->n_rows,
                                   sizeof *columns->cells);
    char **const column = &columns->cells[(columns->n_columns - 1) * columns->n_rows];
    column[0] = dsgd_xstrdup(head);
    return column;
}

void dsgd_columns_drop(dsgd_columns *columns)
{
    columns->n_columns--;
    for (size_t row = 0; row < columns->n_rows; row++)
        free(columns->cells[columns->n_columns * columns->n_rows + row]);
}

static bool is_number(const char *text)
{
    char *end = NULL;
    return strcmp(text, "-") == 0 || (strtod(text, &end), *end == '\0');
}

/** How a column is printed. */
typedef struct layout {
    size_t width, least; /* characters */
    bool right; /* aligned */
    const char *rest; /* of the cell under way */
} layout;

/**
 * Natural widths, then the widest column is narrowed until a line holds the row. Numbers are never
 * cut, their heads are.
 */
static layout *lay_out(const dsgd_columns *t)
{
    layout *const columns = dsgd_xcalloc(t->n_columns, sizeof *columns);
    size_t total = 0;
    for (size_t k = 0; k < t->n_columns; k++) {
        layout *const c = &columns[k];
        bool any = false;
        c->right = true;
        for (size_t row = 1; row < t->n_rows; row++) {
            const char *const cell = t->cells[k * t->n_rows + row];
            c->right = c->right && is_number(cell);
            any = any || strcmp(cell, "-") != 0;
            c->width = width_of(cell) > c->width ? width_of(cell) : c->width;
        }
        c->right = c->right && any;
        c->least = c->right || c->width < LEAST_WIDTH ? c->width : LEAST_WIDTH;
        const size_t head = width_of(t->cells[k * t->n_rows]);
        c->width = head > c->width ? head : c->width;
        total += c->width + (k == 0 ? 0 : GAP);
    }
    while (total > DSGD_LINE_WIDTH) {
        layout *widest = NULL;
        for (size_t k = 0; k < t->n_columns; k++)
            if (columns[k].width > columns[k].least &&
                (widest == NULL || columns[k].width > widest->width))
                widest = &columns[k];
        if (widest == NULL)
            break;
        widest->width--;
        total--;
    }
    return columns;
}

/**
 * Cuts the part off a cell's rest that goes into the next line, and returns its bytes; *cut: "..."
 * follows them.
 */
static size_t take_line(const dsgd_columns *t, layout *c, const char **text, bool *cut)
{
    *text = c->rest;
    size_t bytes = bytes_of(*text, c->width);
    *cut = !t->wraps && (*text)[bytes] != '\0';
    if (*cut || (*text)[bytes] == '\0') {
        c->rest += strlen(c->rest);
        return *cut ? bytes_of(*text, c->width > 3 ? c->width - 3 : 0) : bytes;
    }
    size_t blank = bytes;
    while (blank > 0 && (*text)[blank] != ' ')
        blank--;
    bytes = blank > 0 ? blank : bytes;
    c->rest += bytes;
    c->rest += strspn(c->rest, " ");
    return bytes;
}

/** Prints one line of a row; false: the row has no further line. */
static bool print_line(const dsgd_columns *t, layout *columns)
{
    bool more = false;
    size_t owed = 0; /* blanks are printed only before a text */
    for (size_t k = 0; k < t->n_columns; k++) {
        layout *const c = &columns[k];
        const char *text = NULL;
        bool cut = false;
        const size_t bytes = take_line(t, c, &text, &cut);
        char *const part = dsgd_xprintf("%.*s%s", (int)bytes, text, cut ? ellipsis : "");
        const size_t blanks = c->width > width_of(part) ? c->width - width_of(part) : 0;
        if (*part != '\0')
            printf("%*s%s", (int)(owed + (c->right ? blanks : 0)), "", part);
        owed = *part == '\0' ? owed + c->width + GAP : (c->right ? 0 : blanks) + GAP;
        more = more || *c->rest != '\0';
        free(part);
    }
    putchar('\n');
    return more;
}

void dsgd_columns_print(dsgd_columns *columns)
{
    layout *const layouts = lay_out(columns);
    for (size_t row = 0; row < columns->n_rows; row++) {
        for (size_t k = 0; k < columns->n_columns; k++)
            layouts[k].rest = columns->cells[k * columns->n_rows + row];
        while (print_line(columns, layouts))
            continue;
    }
    for (size_t i = 0; i < columns->n_columns * columns->n_rows; i++)
        free(columns->cells[i]);
    free(columns->cells);
    free(layouts);
}

void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text)
{
    text = text == NULL ? "" : text;
    fprintf(stream, "%-*s", indent, heading);
    int column = (int)width_of(heading) > indent ? (int)width_of(heading) : indent;
    for (const char *space = ""; *text != '\0'; space = " ") {
        const int bytes = (int)strcspn(text, " ");
        char *const word = dsgd_xprintf("%.*s", bytes, text);
        const int needed = (int)width_of(word);
        if (*space != '\0' && column + 1 + needed > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            space = "";
        }
        fprintf(stream, "%s%s", space, word);
        column += needed + (int)strlen(space);
        free(word);
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}
