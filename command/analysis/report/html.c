/**
 * @file html.c
 * Escapes texts.
 */
#include "command/analysis/report/html.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/status.h"

void dsgd_html_text(FILE *html, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", html);
        else if (c == '<')
            fputs("&lt;", html);
        else if (c == '>')
            fputs("&gt;", html);
        else if (c == '"')
            fputs("&quot;", html);
        else if (c >= ' ' || c == '\n' || c == '\t')
            fputc(c, html);
    }
}

void dsgd_html_put(FILE *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const text = dsgd_xvprintf(format, arguments);
    va_end(arguments);
    dsgd_html_text(html, text);
    free(text);
}

void dsgd_html_put_own(FILE *html, char *text)
{
    dsgd_html_text(html, text);
    free(text);
}

void dsgd_html_section(FILE *html, const char *id, const char *title)
{
    fprintf(html, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}
