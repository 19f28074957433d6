/**
 * @file tables.c
 * Implements `dsgd --help=json`. It prints tables of commands, kinds and keys. packaging/pages.py
 * makes man pages and completions from these tables and from `dsgd COMMAND --help=json`.
 */
#include <jansson.h>

#include "base/option.h"
#include "command/commands.h"
#include "command/experiment/experiment.h"

static void add(json_t *list, const char *word)
{
    json_array_append_new(list, json_string(word));
}

/** Returns a key of an experiment with its valid words and with the keys inside it. */
static json_t *key_json(const dsgd_option *o, bool is_top)
{
    json_t *const words = json_array(), *const keys = json_array();
    if (o->kind == DSGD_BOOL) {
        add(words, "true");
        add(words, "false");
    }
    for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
        add(words, o->words[i]);
    for (size_t i = 0; o->registry != NULL && o->registry[i] != NULL; i++)
        add(words, o->registry[i]->name);
    const bool is_section = is_top && o->kind == DSGD_STRUCT && o->shipped == NULL;
    for (const dsgd_option *below = o->fields; is_section && below->name != NULL; below++)
        json_array_append_new(keys, key_json(below, false));
    return json_pack("{s:s, s:o, s:s?, s:o, s:b}", "name", o->name, "words", words, "shipped",
                     o->shipped, "keys", keys, "described",
                     (int)(o->fields != NULL && o->kind != DSGD_SPEC));
}

void dsgd_tables_print(void)
{
    json_t *const commands = json_array(), *const kinds = json_array(), *const keys = json_array();
    for (const dsgd_command *const *c = dsgd_commands; *c != NULL; c++)
        json_array_append_new(commands, json_pack("{s:s, s:s, s:s}", "name", (*c)->name, "usage",
                                                  (*c)->usage, "summary", (*c)->summary));
    const char *plural = NULL, *singular = NULL;
    for (size_t i = 0; dsgd_kind_at(i, &plural, &singular); i++)
        json_array_append_new(kinds, json_pack("[s, s?]", plural, singular));
    for (const dsgd_option *o = dsgd_experiment_options; o->name != NULL; o++)
        json_array_append_new(keys, key_json(o, true));
    json_t *const statuses = json_array();
#define X(name, exit_code, text)                                                                   \
    json_array_append_new(statuses, json_pack("[i, s]", exit_code, text));
    DSGD_STATUS_LIST(X)
#undef X
    json_t *const json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "version", DSGD_VERSION, "commands",
                                   commands, "kinds", kinds, "keys", keys, "statuses", statuses);
    json_dumpf(json, stdout, JSON_INDENT(1));
    putchar('\n');
}
