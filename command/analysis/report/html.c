/**
 * @file html.c
 * Escapes texts.
 */
#include "command/analysis/report/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

void dsgd_html(FILE *html, const char *markup, ...)
{
    va_list texts;
    va_start(texts, markup);
    for (const char *at = strstr(markup, "%s"); at != NULL; at = strstr(markup, "%s")) {
        fwrite(markup, 1, (size_t)(at - markup), html);
        dsgd_html_text(html, va_arg(texts, const char *));
        markup = at + 2;
    }
    va_end(texts);
    fputs(markup, html);
}

void dsgd_html_own(FILE *html, const char *markup, char *text)
{
    const char *const at = strstr(markup, "%s");
    fwrite(markup, 1, (size_t)(at - markup), html);
    dsgd_html_text(html, text);
    fputs(at + 2, html);
    free(text);
}

void dsgd_html_section(FILE *html, const char *id, const char *title)
{
    fprintf(html, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, title);
}
