/**
 * @file table.c
 * Arranges columns and lines of text for printing. A width is a number of UTF-8 characters.
 */
#include "command/console/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/status.h"

enum { GAP = 2, LEAST_WIDTH = 6 };

int dsgd_terminal_width(int descriptor, int otherwise)
{
    enum { LEAST = 20 };
    struct winsize size = {0};
    const char *const columns = getenv("COLUMNS");
    int width = columns == NULL ? 0 : atoi(columns);
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    width = width < LEAST ? otherwise : width;
    return width > DSGD_LINE_WIDTH ? DSGD_LINE_WIDTH : width;
}

/** Returns true if this byte is the first byte of a UTF-8 character. */
static bool begins(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += begins(*text);
    return n;
}

size_t dsgd_bytes_of(const char *text, size_t n)
{
    size_t bytes = 0;
    for (; n > 0 && text[bytes] != '\0'; n--)
        do
            bytes++;
        while (!begins(text[bytes]));
    return bytes;
}

const char *dsgd_readable(double x, int digits)
{
    return fabs(x) >= pow(10, digits) - 0.5 && fabs(x) < 1e9 ? dsgd_xprintf("%.0f", x)
                                                             : dsgd_xprintf("%.*g", digits, x);
}

void dsgd_columns_row(dsgd_columns *t)
{
    t->n_rows++;
    t->at = 0;
}

void dsgd_columns_take(dsgd_columns *t, const char *head, const char *text)
{
    if (t->n_rows == 1) {
        t->v = dsgd_keep_more(t->v, ++t->n_columns, sizeof *t->v);
        t->v[t->at] = (dsgd_column_of_texts){.head = head};
    }
    dsgd_column_of_texts *const c = &t->v[t->at++];
    c->cells = dsgd_keep_more(c->cells, t->n_rows, sizeof *c->cells);
    c->cells[t->n_rows - 1] = text;
}

void dsgd_columns_put(dsgd_columns *t, const char *head, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dsgd_columns_take(t, head, dsgd_xvprintf(format, arguments));
    va_end(arguments);
}

/** Returns the index of the column with this heading, or n_columns if no such column exists. */
static size_t find_column(const dsgd_columns *t, const char *head)
{
    size_t k = 0;
    while (k < t->n_columns && strcmp(t->v[k].head, head) != 0)
        k++;
    return k;
}

/** Removes column @p k. Returns false if the table has no such column. */
static bool drop_column(dsgd_columns *t, size_t k)
{
    if (k == t->n_columns)
        return false;
    t->n_columns--;
    memmove(&t->v[k], &t->v[k + 1], (t->n_columns - k) * sizeof *t->v);
    return true;
}

bool dsgd_columns_hide(dsgd_columns *t, const char *head, const char *text)
{
    const size_t k = find_column(t, head);
    for (size_t row = 0; k < t->n_columns && row < t->n_rows; row++)
        if (strcmp(t->v[k].cells[row], text) != 0)
            return false;
    return drop_column(t, k);
}

bool dsgd_columns_fold(dsgd_columns *t, const char *head, const char *none, const char **text)
{
    const size_t k = find_column(t, head);
    *text = none;
    for (size_t row = 0; k < t->n_columns && row < t->n_rows; row++) {
        const char *const cell = t->v[k].cells[row];
        if (strcmp(*text, none) == 0)
            *text = cell;
        if (strcmp(cell, none) != 0 && strcmp(cell, *text) != 0)
            return false;
    }
    drop_column(t, k);
    return true;
}

static bool is_number(const char *text)
{
    char *end = NULL;
    return strcmp(text, "-") == 0 || (strtod(text, &end), *end == '\0');
}

/** The layout of a printed column. */
typedef struct layout {
    /*
     * Widths in characters: of the column, of its widest cell, and of the longest word of its
     * heading. The last number is the smallest allowed width of the column.
     */
    size_t width, cells, word, least;
    bool right; /* true if the column is right-aligned */
    /* true if the current line belongs to the heading, which is wrapped but never cut */
    bool is_head;
    const char *rest; /* rest of the current cell that has not been printed yet */
} layout;

/** Returns the number of characters in the longest word of a text. */
static size_t longest_word(const char *text)
{
    size_t longest = 0, n = 0;
    for (; *text != '\0'; text++) {
        n = *text == ' ' ? 0 : n + begins(*text);
        longest = n > longest ? n : longest;
    }
    return longest;
}

/**
 * Returns the column that becomes narrower next, or NULL if no column can become narrower. Searches
 * four groups in this order: wide columns, columns whose heading can wrap between words, columns
 * whose heading is wider than their cells, and all columns. Returns the widest column of the first
 * group that is not empty.
 */
static layout *to_narrow(layout *columns, size_t n)
{
    enum { WIDE = 16 };
    layout *widest = NULL;
    for (int pass = 0; pass < 4 && widest == NULL; pass++)
        for (size_t k = 0; k < n; k++) {
            layout *const c = &columns[k];
            const size_t cells = c->cells < LEAST_WIDTH ? LEAST_WIDTH : c->cells;
            const size_t words = c->word > cells ? c->word : cells;
            const size_t floors[] = {WIDE, words, cells, 0};
            const size_t floor = floors[pass];
            if (c->width > c->least && c->width > floor && (!widest || c->width > widest->width))
                widest = c;
        }
    return widest;
}

/**
 * Gives columns their natural widths. Then makes columns narrower until a row fits into a line.
 * Numbers are never cut, but the headings of numbers may wrap.
 */
static layout *lay_out(const dsgd_columns *t)
{
    layout *const columns = dsgd_keep(t->n_columns, sizeof *columns);
    size_t total = 0;
    for (size_t k = 0; k < t->n_columns; k++) {
        layout *const c = &columns[k];
        bool any = false;
        c->right = true;
        for (size_t row = 0; row < t->n_rows; row++) {
            const char *const cell = t->v[k].cells[row];
            c->right = c->right && is_number(cell);
            any = any || strcmp(cell, "-") != 0;
            c->cells = width_of(cell) > c->cells ? width_of(cell) : c->cells;
        }
        c->right = c->right && any;
        c->least = c->right || c->cells < LEAST_WIDTH ? c->cells : LEAST_WIDTH;
        const size_t head = width_of(t->v[k].head);
        c->word = longest_word(t->v[k].head);
        c->width = head > c->cells ? head : c->cells;
        total += c->width + (k == 0 ? 0 : GAP);
    }
    const size_t room = (size_t)dsgd_terminal_width(STDOUT_FILENO, DSGD_LINE_WIDTH);
    while (total > room) {
        layout *const widest = to_narrow(columns, t->n_columns);
        if (widest == NULL)
            break;
        widest->width--;
        total--;
    }
    return columns;
}

/**
 * Returns the part of a cell that fits into the next line. Removes this part from the rest of the
 * cell. If text is cut off, for example because a word is wider than the column, the part ends in
 * "...".
 */
static char *take_line(const dsgd_columns *t, layout *c)
{
    const char *const text = c->rest;
    const bool wraps = t->wraps || c->is_head;
    const size_t most = dsgd_bytes_of(text, c->width);
    size_t bytes = most;
    while (text[bytes] != '\0' && bytes > 0 && (!wraps || text[bytes] != ' '))
        bytes--;
    if (bytes == 0 && c->is_head)
        bytes = most;
    const bool cut = bytes == 0 && *text != '\0';
    c->rest += cut ? strcspn(text, wraps ? " " : "") : bytes;
    c->rest += strspn(c->rest, " ");
    if (cut)
        bytes = dsgd_bytes_of(text, c->width > 3 ? c->width - 3 : 0);
    return dsgd_xprintf("%.*s%s", (int)bytes, text, cut ? "..." : "");
}

/** Prints one line of a row. Returns false after the last line of the row. */
static bool print_line(const dsgd_columns *t, layout *columns)
{
    bool more = false;
    size_t owed = 0; /* number of blanks that must be printed before the next text */
    for (size_t k = 0; k < t->n_columns; k++) {
        layout *const c = &columns[k];
        char *const part = take_line(t, c);
        const size_t blanks = c->width > width_of(part) ? c->width - width_of(part) : 0;
        if (*part != '\0')
            printf("%*s%s", (int)(owed + (c->right ? blanks : 0)), "", part);
        owed = *part == '\0' ? owed + c->width + GAP : (c->right ? 0 : blanks) + GAP;
        more = more || *c->rest != '\0';
    }
    putchar('\n');
    return more;
}

static void print_markdown(const dsgd_columns *t)
{
    for (size_t line = 0; line <= t->n_rows + 1; line++) {
        for (size_t k = 0; k < t->n_columns; k++)
            printf(line == 0 && k == 0 ? "\n| %s " : "| %s ", line == 0 ? t->v[k].head
                                                              : line == 1
                                                                  ? "---"
                                                                  : t->v[k].cells[line - 2]);
        puts(line <= t->n_rows ? "|" : "|\n");
    }
}

void dsgd_columns_write(const dsgd_columns *t, FILE *stream)
{
    for (size_t row = 0; row <= t->n_rows; row++)
        for (size_t k = 0; k < t->n_columns; k++) {
            dsgd_csv_text(stream, row == 0 ? t->v[k].head : t->v[k].cells[row - 1]);
            fputc(k + 1 < t->n_columns ? ',' : '\n', stream);
        }
}

void dsgd_columns_print(dsgd_columns *t)
{
    if (t->is_markdown) {
        print_markdown(t);
        return;
    }
    layout *const layouts = lay_out(t);
    for (size_t line = 0; line <= t->n_rows; line++) {
        for (size_t k = 0; k < t->n_columns; k++) {
            layouts[k].is_head = line == 0;
            layouts[k].rest = line == 0 ? t->v[k].head : t->v[k].cells[line - 1];
        }
        while (print_line(t, layouts))
            continue;
    }
}

void dsgd_print_wrapped(FILE *stream, const char *heading, int indent, int width, const char *text)
{
    text = text == NULL ? "" : text;
    int column = (int)width_of(heading);
    const bool touches = column > 0 && column >= indent && heading[strlen(heading) - 1] != ' ';
    if (touches && *text != '\0') { /* The text starts on the next line, because otherwise the
                                     * heading and the text would look like one word. */
        fprintf(stream, "%s\n%*s", heading, indent, "");
        column = indent;
    } else {
        fprintf(stream, "%-*s", indent, heading);
        column = column > indent ? column : indent;
    }
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
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

void dsgd_print_text(const char *heading, int indent, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *const text = dsgd_xvprintf(format, values);
    va_end(values);
    dsgd_print_wrapped(stdout, heading, indent, DSGD_TEXT_WIDTH, text);
}

char *dsgd_counted(size_t n, const char *noun)
{
    return dsgd_xprintf("%zu %s%s", n, noun, n == 1 ? "" : "s");
}
