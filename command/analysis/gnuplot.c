/**
 * @file gnuplot.c
 * Writes texts, numbers and arrays in the language of gnuplot.
 */
#include "command/analysis/figure_data.h"

#include <ctype.h>

/**
 * Writes a text in single quotes. Replaces quotes in the text by apostrophes, because gnuplot 5.4
 * rejects some texts with doubled quotes. Replaces control characters by spaces, because they would
 * end a line.
 */
static void put_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("\u2019", out);
        else
            fputc(iscntrl((unsigned char)*text) ? ' ' : *text, out);
    }
    fputc('\'', out);
}

void dsgd_gnuplot_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, ",%.9g", x);
    else
        fputs(",NaN", out);
}

void dsgd_gnuplot_variable(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s = ", name);
    put_text(out, text);
    fputc('\n', out);
}

void dsgd_gnuplot_numbers(FILE *out, const char *name, const double *x, size_t n)
{
    fprintf(out, "array %s[%zu] = [", name, n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%.9g", i == 0 ? "" : ", ", x[i]);
    fputs("]\n", out);
}

void dsgd_gnuplot_texts(FILE *out, const char *name, const char *const *texts, size_t n)
{
    fprintf(out, "array %s[%zu] = [", name, n);
    for (size_t i = 0; i < n; i++) {
        fputs(i == 0 ? "" : ", ", out);
        put_text(out, texts[i]);
    }
    fputs("]\n", out);
}
