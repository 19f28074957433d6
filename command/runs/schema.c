/**
 * @file schema.c
 * Files of results and their columns, printed.
 */
#include "command/runs/columns.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "command/console/table.h"

/** The columns that share a meaning, from @p c on; the next one. */
static const dsgd_column *end_of(const dsgd_column *c)
{
    do
        c++;
    while (c->name != NULL && c->meaning == NULL);
    return c;
}

/** Names between @p quote, and " (unit)" behind each that has one other than that of a share. */
static char *names_of(const dsgd_column *c, const char *quote)
{
    char *text = dsgd_xstrdup("");
    for (const dsgd_column *end = end_of(c), *at = c; at < end; at++) {
        dsgd_append(&text, "%s%s%s%s", at == c ? "" : ", ", quote, at->name, quote);
        if (at->unit != NULL && strcmp(at->unit, "1") != 0)
            dsgd_append(&text, " (%s)", at->unit);
    }
    return text;
}

static void print_columns(const dsgd_column *columns)
{
    enum { INDENT = 8 };
    for (const dsgd_column *c = columns; c->name != NULL; c = end_of(c)) {
        char *const names = names_of(c, "");
        dsgd_print_wrapped(stdout, "    ", 4, DSGD_TEXT_WIDTH, names);
        dsgd_print_wrapped(stdout, "", INDENT, DSGD_TEXT_WIDTH, c->meaning);
        free(names);
    }
}

static void print_text(void)
{
    dsgd_print_wrapped(stdout, "", 0, DSGD_TEXT_WIDTH,
                       "A folder of results has these files. An empty cell: not known or not "
                       "measured. Columns of swept values follow in every file.");
    puts("\nevery file begins with");
    print_columns(dsgd_key_columns);
    for (size_t k = 0; dsgd_results_files[k] != NULL; k++) {
        printf("\n%s.csv, a row %s\n", dsgd_results_files[k]->name, dsgd_results_files[k]->rows);
        print_columns(dsgd_results_files[k]->columns);
    }
}

static void print_markdown(void)
{
    for (size_t k = 0; dsgd_results_files[k] != NULL; k++) {
        printf("%s| `%s.csv`, a row %s | meaning |\n|---|---|\n", k == 0 ? "" : "\n",
               dsgd_results_files[k]->name, dsgd_results_files[k]->rows);
        for (const dsgd_column *c = dsgd_results_files[k]->columns; c->name != NULL;
             c = end_of(c)) {
            char *const names = names_of(c, "`");
            printf("| %s | %s |\n", names, c->meaning);
            free(names);
        }
    }
}

static json_t *columns_json(const dsgd_column *columns)
{
    json_t *const json = json_object();
    const char *meaning = NULL;
    for (const dsgd_column *c = columns; c->name != NULL; c++) {
        json_t *const counts = json_pack("[s]", "ok");
        if (c->counts == DSGD_COUNTS_TIMED)
            json_array_append_new(counts, json_string("diverged"));
        meaning = c->meaning == NULL ? meaning : c->meaning;
        json_object_set_new(json, c->name,
                            json_pack("{s:s, s:s?, s:o, s:s}", "type",
                                      c->cell == DSGD_CELL_TEXT ? "text" : "number", "unit",
                                      c->unit, "counts", counts, "meaning", meaning));
    }
    return json;
}

static void print_json(void)
{
    json_t *const files = json_object();
    for (size_t k = 0; dsgd_results_files[k] != NULL; k++) {
        json_t *const columns = columns_json(dsgd_key_columns);
        json_object_update_new(columns, columns_json(dsgd_results_files[k]->columns));
        json_object_set_new(
            files, dsgd_results_files[k]->name,
            json_pack("{s:s, s:o}", "row", dsgd_results_files[k]->rows, "columns", columns));
    }
    json_dumpf(files, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(files);
}

void dsgd_schema_print(dsgd_schema_form form)
{
    if (form == DSGD_SCHEMA_JSON)
        print_json();
    else if (form == DSGD_SCHEMA_MARKDOWN)
        print_markdown();
    else
        print_text();
}
