/**
 * @file csv.c Reads and writes CSV files.
 */
#include "base/csv.h"

#include "base/file.h"
#include "base/option.h"

/**
 * The reader's position in the text. Quotes are removed from fields in place, because removing only
 * makes the text shorter.
 */
typedef struct cursor {
    char *at;
    size_t line;
    /* the separator, followed by the other characters that end an unquoted field */
    char separator[4];
} cursor;

/**
 * Removes the UTF-8 byte order mark at the start, and the carriage return at the end of each line.
 */
static void strip(char *text)
{
    const char *from = text;
    if (strncmp(from, "\xef\xbb\xbf", 3) == 0)
        from += 3;
    for (; *from != '\0'; from++)
        if (*from != '\r' || (from[1] != '\n' && from[1] != '\0'))
            *text++ = *from;
    *text = '\0';
}

/**
 * Removes the quotes of a field that begins with a quote, and stores the field at @p to. Returns
 * false if the closing quote is missing.
 */
static bool read_quoted(cursor *c, char *to)
{
    for (c->at++; *c->at != '\0'; *to++ = *c->at++) {
        c->line += *c->at == '\n';
        if (*c->at != '"')
            continue;
        if (*++c->at != '"') {
            *to = '\0';
            return true;
        }
    }
    return false;
}

/**
 * Replaces the decimal comma of a number by a point. Called only if fields are separated by
 * semicolons.
 */
static void mend_decimal(char *field)
{
    char *const comma = field + strspn(field, "+-0123456789");
    if (*comma == ',' && comma > field && comma[1 + strspn(comma + 1, "0123456789eE+-")] == '\0')
        *comma = '.';
}

/**
 * Reads one field. Sets *last to true if the field is the last of its row. Returns NULL if the
 * field is malformed.
 */
static char *read_field(cursor *c, bool *last)
{
    char *const field = c->at;
    if (*c->at != '"')
        c->at += strcspn(c->at, c->separator);
    else if (!read_quoted(c, field))
        return NULL;
    const char end = *c->at;
    /* the field is malformed: it has a quote inside, or text after the closing quote */
    if (end != *c->separator && end != '\n' && end != '\0')
        return NULL;
    *last = end != *c->separator;
    c->line += end == '\n';
    if (end != '\0')
        *c->at++ = '\0';
    if (*c->separator == ';')
        mend_decimal(field);
    return field;
}

/** Reads row @p row of the file, where the header is row 0. Adds the number of its fields to *n. */
static dsgd_status read_row(dsgd_csv *csv, cursor *c, size_t row, size_t *n, dsgd_error *error)
{
    const size_t before = *n;
    csv->lines = dsgd_keep_more(csv->lines, row + 1, sizeof *csv->lines);
    csv->lines[row] = c->line;
    for (bool last = false; !last;) {
        char *const field = read_field(c, &last);
        if (field == NULL)
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: the quotes of a field do not match",
                             csv->path, csv->lines[row]);
        csv->fields = dsgd_keep_more(csv->fields, *n + 1, sizeof *csv->fields);
        csv->fields[(*n)++] = field;
    }
    if (row == 0)
        csv->n_columns = *n;
    if (*n - before != csv->n_columns)
        return dsgd_fail(
            error, DSGD_EIO, "%s:%zu: %zu field%s, but the header has %zu%s", csv->path,
            csv->lines[row], *n - before, *n - before == 1 ? "" : "s", csv->n_columns,
            *n - before > csv->n_columns ? ": with decimal commas, fields must be separated by `;`"
            : strpbrk(csv->fields[before], ",;\t") != NULL
                ? ": the row uses another separator than the header"
                : "");
    csv->n_rows = row;
    return DSGD_OK;
}

/** Skips the line if it is blank or a comment. Returns true if it was skipped. */
static bool skip_line(cursor *c)
{
    const size_t length = strcspn(c->at, "\n");
    if (*c->at != '#' && strspn(c->at, " ") < length)
        return false;
    c->at += length + (c->at[length] == '\n');
    c->line++;
    return true;
}

static dsgd_status parse(dsgd_csv *csv, char *text, dsgd_error *error)
{
    cursor c = {text, 1, ",\"\n"};
    size_t n = 0;
    strip(text);
    while (*c.at != '\0' && skip_line(&c))
        ;
    const char first = c.at[strcspn(c.at, ",;\t\n")];
    *c.separator = first == ';' || first == '\t' ? first : ',';
    for (size_t row = 0; *c.at != '\0';)
        if (!skip_line(&c))
            DSGD_TRY(read_row(csv, &c, row++, &n, error));
    if (csv->n_columns == 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the file contains only comments", csv->path);
    return DSGD_OK;
}

dsgd_status dsgd_csv_read(dsgd_csv *csv, dsgd_error *error, const char *path, ...)
{
    va_list arguments;
    va_start(arguments, path);
    *csv = (dsgd_csv){.path = dsgd_xvprintf(path, arguments)};
    va_end(arguments);
    char *text = NULL;
    size_t n = 0;
    DSGD_TRY(dsgd_file_read(csv->path, &text, &n, error));
    if (strlen(text) != n)
        return dsgd_fail(error, DSGD_EIO, "%s: not a text file", csv->path);
    if (text[strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0] == '\0')
        return dsgd_fail(error, DSGD_EIO, "%s: the file is empty", csv->path);
    return parse(csv, text, error);
}

dsgd_status dsgd_csv_parse(dsgd_csv *csv, const char *text, dsgd_error *error)
{
    *csv = (dsgd_csv){.path = "a text"};
    return parse(csv, dsgd_xstrdup(text), error);
}

size_t dsgd_csv_column(const dsgd_csv *csv, const char *name)
{
    size_t k = 0;
    while (k < csv->n_columns && strcmp(csv->fields[k], name) != 0)
        k++;
    return k;
}

dsgd_status dsgd_csv_need(const dsgd_csv *csv, const char *name, size_t *column, dsgd_error *error)
{
    *column = dsgd_csv_column(csv, name);
    if (*column < csv->n_columns)
        return DSGD_OK;
    return dsgd_fail(error, DSGD_EIO, "%s:%zu: there is no column `%s`", csv->path, csv->lines[0],
                     name);
}

const char *dsgd_csv_field(const dsgd_csv *csv, size_t row, size_t column)
{
    return csv->fields[(row + 1) * csv->n_columns + column];
}

double dsgd_csv_value(const dsgd_csv *csv, size_t row, size_t column)
{
    double x = NAN; /* x remains NAN if the field is not a number */
    if (column < csv->n_columns)
        dsgd_parse_number(dsgd_csv_field(csv, row, column), NULL, &x);
    return x;
}

dsgd_status dsgd_csv_read_number(const dsgd_csv *csv, size_t row, size_t column, double *number,
                                 dsgd_error *error)
{
    *number = dsgd_csv_value(csv, row, column);
    const char *const text = column < csv->n_columns ? dsgd_csv_field(csv, row, column) : "";
    if (*text == '\0' || !isnan(*number))
        return DSGD_OK;
    return dsgd_refuse(error, "%s:%zu: %s is `%s`, not a number", csv->path, csv->lines[row + 1],
                       csv->fields[column], text);
}

const char *dsgd_csv_first(const dsgd_csv *csv, size_t column)
{
    for (size_t row = 0; column < csv->n_columns && row < csv->n_rows; row++)
        if (*dsgd_csv_field(csv, row, column) != '\0')
            return dsgd_csv_field(csv, row, column);
    return NULL;
}

enum { MOST_DIGITS = 40 };

/** Writes to @p text the shortest decimal number that reads back as @p x. Returns @p text. */
static const char *shortest(char text[MOST_DIGITS], double x)
{
    text[0] = '\0';
    for (int digits = 15; digits <= 17 && !isnan(x); digits++) {
        snprintf(text, MOST_DIGITS, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    return text;
}

char *dsgd_csv_number_text(double x)
{
    return dsgd_xstrdup(shortest((char[MOST_DIGITS]){""}, x));
}

void dsgd_csv_number(FILE *stream, double x)
{
    /* do not use dsgd_csv_number_text(), because its texts would keep the whole table in memory */
    fputs(shortest((char[MOST_DIGITS]){""}, x), stream);
}

void dsgd_csv_numbers(FILE *stream, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputc(',', stream);
        dsgd_csv_number(stream, x[i]);
    }
}

void dsgd_csv_text(FILE *stream, const char *text)
{
    /* a field that begins with '#' needs quotes, because '#' begins a comment */
    if (*text != '#' && strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}
