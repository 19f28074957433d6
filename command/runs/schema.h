/**
 * @file schema.h
 * The schema of results for readers and other programs: `dsgd describe results`.
 */
#ifndef DSGD_COMMAND_RUNS_SCHEMA_H
#define DSGD_COMMAND_RUNS_SCHEMA_H

typedef enum dsgd_schema_form {
    DSGD_SCHEMA_TEXT,
    DSGD_SCHEMA_MARKDOWN, /* tables, as in the manual */
    DSGD_SCHEMA_JSON /* dsgd.json, which dsgd.py reads */
} dsgd_schema_form;

/** Prints every file of results with its columns, units and meanings. */
void dsgd_schema_print(dsgd_schema_form form);

#endif
