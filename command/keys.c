/**
 * @file keys.c
 * Prints option tables as text, as Markdown, and as JSON Schema.
 */
#include "command/keys.h"

#include <jansson.h>

#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/traces.h"
#include "command/studies/study.h"
#include "traces/imbalance.h"

/* --- tables of keys --------------------------------------------------------------------------- */

static bool has_keys(const dsgd_option *o)
{
    return o->kind == DSGD_STRUCT || o->kind == DSGD_STRUCTS;
}

/**
 * Returns a table with one option per kind of file. Only values in an experiment file can be swept.
 */
static const dsgd_option *files(void)
{
    static const dsgd_option rows[] = {
        {.name = "experiment", .kind = DSGD_STRUCT, .fields = dsgd_experiment_options},
        {.name = "platform",
         .kind = DSGD_STRUCT,
         .fields = dsgd_platform_options,
         .key = "name",
         .shipped = "platforms"},
        {.name = "workload",
         .kind = DSGD_STRUCT,
         .fields = dsgd_workload_options,
         .key = "like",
         .shipped = "workloads"},
        {.name = "imbalance", .kind = DSGD_STRUCT, .fields = dsgd_imbalance_set_options},
        {.name = "task", .kind = DSGD_STRUCT, .fields = dsgd_task_options},
        DSGD_OPTION_END,
    };
    return rows;
}

const dsgd_option *dsgd_keys_of(const char *path)
{
    const dsgd_option *const file = dsgd_option_find(files(), path);
    if (file != NULL)
        return file;
    char *const words = dsgd_xstrdup(path);
    char *rest = words;
    const dsgd_option *o = files();
    for (const char *word = NULL; o != NULL && (word = strsep(&rest, ".")) != NULL;)
        o = has_keys(o) ? dsgd_option_find(o->fields, word) : NULL;
    return o != NULL && o->name != NULL && (has_keys(o) || o->registry != NULL) ? o : NULL;
}

/* --- text ------------------------------------------------------------------------------------- */

/** Returns the default value as a text, or NULL if the option has no default. */
static char *default_text(const dsgd_option *o)
{
    switch (o->kind) {
    case DSGD_BOOL:
    case DSGD_LONG:
    case DSGD_DOUBLE:
    case DSGD_CHOICE:
        return dsgd_xstrdup(dsgd_option_text(o, o->init));
    default:
        return o->init_text == NULL ? NULL : dsgd_xstrdup(o->init_text);
    }
}

enum { OPTION_WIDTH = 18 };

static char *values_text(const dsgd_option *o)
{
    char *const init = default_text(o);
    char *text = dsgd_xstrdup(o->required ? "required" : init == NULL ? "none" : init);
    if (o->unit != NULL)
        dsgd_append(&text, " (%s)", o->unit);
    if (o->kind == DSGD_LONG || o->kind == DSGD_DOUBLE || o->kind == DSGD_NUMBERS)
        dsgd_append(&text, ", from %.10g to %.10g", o->min, o->max);
    if (o->kind == DSGD_NUMBERS)
        dsgd_append(&text, ", or a list");
    if (o->kind == DSGD_STRUCTS || o->kind == DSGD_SPECS)
        dsgd_append(&text, "; a list, or one");
    if (o->words != NULL)
        dsgd_append(&text, "%s%s", o->kind == DSGD_CHOICE ? "; one of " : ", or ",
                    dsgd_listed(o->words, ", "));
    if (o->registry != NULL)
        dsgd_append(&text, "; %s; or {%s: one of these, ...}",
                    dsgd_listed(dsgd_entry_names(o->registry), ", "), o->key);
    if (o->shipped != NULL)
        dsgd_append(&text, "; or a name (`dsgd list %s`) or the path of a file", o->shipped);
    if (o->multiplies)
        dsgd_append(&text, "; a list makes one run for each value");
    return text;
}

void dsgd_keys_print(const dsgd_option *options, int indent)
{
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++) {
        char *const heading = dsgd_xprintf("%*s%-*s ", indent, "", OPTION_WIDTH, o->name);
        dsgd_print_text(heading, indent + OPTION_WIDTH + 1, "%s", values_text(o));
        dsgd_print_wrapped(stdout, "", indent + 4, DSGD_TEXT_WIDTH, o->help);
        if (has_keys(o) && o->key != NULL) {
            char *const key = dsgd_xprintf("%*s%-*s ", indent + 4, "", OPTION_WIDTH, o->key);
            dsgd_print_text(key, indent + OPTION_WIDTH + 5,
                            "none; the shipped entry that these values change");
        }
        /*
         * If an option of an algorithm refines an outer mapping, its keys are the keys of that
         * mapping.
         */
        dsgd_keys_print(o->refines ? NULL : o->fields, indent + 4);
    }
}

void dsgd_keys_describe(const dsgd_option *keys)
{
    dsgd_print_text("", 0, "Keys of %s %s: default (unit), allowed values, meaning.",
                    dsgd_option_find(files(), keys->name) == keys ? "a file:" : "the key",
                    keys->name);
    dsgd_print_text("", 0,
                    "Numbers can have units: 320ms, 1us, 2min; 25M, 1MiB; 10GB/s, 100Gb/s; 25%%.");
    if (keys->fields == dsgd_experiment_options)
        dsgd_print_text("", 0,
                        "Any value can be a sweep, {sweep: [a, b]}: one run for each value.");
    putchar('\n');
    const dsgd_option rows[] = {*keys, DSGD_OPTION_END};
    dsgd_keys_print(has_keys(keys) ? keys->fields : rows, 2);
}

/**
 * Prints one cell of a Markdown table. Prints @p around before and after the text. Escapes each
 * `|`.
 */
static void print_cell(const char *text, const char *around)
{
    printf("| %s", around);
    for (; *text != '\0'; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
    printf("%s ", around);
}

void dsgd_keys_markdown(const dsgd_option *keys)
{
    puts("| key | default | meaning |\n|---|---|---|");
    const dsgd_option rows[] = {*keys, DSGD_OPTION_END};
    for (const dsgd_option *o = has_keys(keys) ? keys->fields : rows; o->name != NULL; o++) {
        char *const init = default_text(o);
        char *text = dsgd_xstrdup(o->required ? "required" : init == NULL ? "none" : init);
        if (o->unit != NULL && !o->required && init != NULL)
            dsgd_append(&text, " %s", o->unit);
        print_cell(o->name, "`");
        print_cell(text, "");
        print_cell(o->help, "");
        puts("|");
    }
}

/* --- JSON Schema ------------------------------------------------------------------------------ */

/**
 * A JSON Schema that is being built. Its parts have names, because an option table can contain
 * itself.
 */
typedef struct draft {
    json_t *definitions;
    bool sweeps; /* true if values of the file can be sweeps */
    struct part {
        const void *table; /* option table or registry that this part describes */
        bool refines;
        const char *name;
    } parts[DSGD_MOST_NAMES];
    size_t n_parts;
} draft;

static json_t *mapping_schema(draft *d, const dsgd_option *o);
static json_t *entry_schema(draft *d, const dsgd_option *o);

/**
 * Returns a reference to the schema of an option table. Creates this schema if it does not exist.
 */
static json_t *reference(draft *d, const dsgd_option *o)
{
    const bool picks = o->registry != NULL;
    const void *const table = picks ? (const void *)o->registry : (const void *)o->fields;
    size_t k = 0;
    while (k < d->n_parts && (d->parts[k].table != table || d->parts[k].refines != o->refines))
        k++;
    if (k == d->n_parts) {
        DSGD_ASSERT(k < DSGD_MOST_NAMES, "a schema of more than %d parts", DSGD_MOST_NAMES);
        char *const name = json_object_get(d->definitions, o->name) == NULL
                               ? dsgd_xstrdup(o->name)
                               : dsgd_xprintf("%s-%zu", o->name, k);
        d->parts[d->n_parts++] = (struct part){table, o->refines, name};
        /* Reserve the name of this schema now, because the table can contain itself. */
        json_object_set_new(d->definitions, name, json_null());
        json_object_set_new(d->definitions, name,
                            picks ? entry_schema(d, o) : mapping_schema(d, o));
    }
    return json_pack("{s: s++}", "$ref", "#/$defs/", d->parts[k].name, "");
}

static json_t *words_schema(const char *const *words)
{
    json_t *const list = json_array();
    for (; words != NULL && *words != NULL; words++)
        json_array_append_new(list, json_string(*words));
    return json_pack("{s: o}", "enum", list);
}

/**
 * Adds two alternatives to a schema: a number within limits, and a text that contains a number with
 * or without a unit.
 */
static void add_number(json_t *any, const dsgd_option *o)
{
    json_array_append_new(any, json_pack("{s: s, s: f, s: f}", "type",
                                         o->kind == DSGD_LONG ? "integer" : "number", "minimum",
                                         o->min, "maximum", o->max));
    char *suffixes = dsgd_xstrdup("");
    for (size_t i = 0; dsgd_unit_suffix(o->unit, i) != NULL; i++)
        dsgd_append(&suffixes, "| ?%s", dsgd_unit_suffix(o->unit, i));
    char *const pattern =
        dsgd_xprintf("^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?(%s)$", suffixes);
    json_array_append_new(any, json_pack("{s: s, s: s}", "type", "string", "pattern", pattern));
}

static json_t *text_schema(void) /* A number or a truth value is also a valid text. */
{
    return json_pack("{s: [s, s, s]}", "type", "string", "number", "boolean");
}

/** Returns a schema that accepts any one of the given alternatives. */
static json_t *any_of(json_t *any)
{
    if (json_array_size(any) != 1)
        return json_pack("{s: o}", "anyOf", any);
    return json_incref(json_array_get(any, 0));
}

static json_t *list_schema(json_t *items)
{
    return json_pack("{s: s, s: o}", "type", "array", "items", items);
}

/** Returns a schema that accepts a value, or a sweep over several such values. */
static json_t *or_swept(const draft *d, json_t *schema)
{
    if (!d->sweeps)
        return schema;
    json_t *const range = json_pack("{s: s}", "$ref", "#/$defs/range");
    json_t *const values =
        json_pack("{s: [o, o]}", "anyOf", list_schema(json_incref(schema)), range);
    json_t *const sweep =
        json_pack("{s: s, s: {s: o}, s: [s], s: b}", "type", "object", "properties", "sweep",
                  values, "required", "sweep", "additionalProperties", 0);
    return json_pack("{s: [o, o]}", "anyOf", schema, sweep);
}

/** Returns a schema for a single value of an option. */
static json_t *alternatives(draft *d, const dsgd_option *o)
{
    static const char *const yes_no[] = {"false", "true", "off", "on", "no", "yes", NULL};
    json_t *const any = json_array();
    switch (o->kind) {
    case DSGD_BOOL:
        json_array_append_new(any, json_pack("{s: s}", "type", "boolean"));
        json_array_append_new(any, words_schema(yes_no));
        break;
    case DSGD_LONG:
    case DSGD_DOUBLE:
    case DSGD_NUMBERS:
        add_number(any, o);
        break;
    case DSGD_STRING:
        json_array_append_new(any, text_schema());
        break;
    case DSGD_PAIRS: {
        json_t *const two = json_array();
        add_number(two, o);
        json_array_append_new(any, json_pack("{s: s}", "type", "string"));
        json_array_append_new(
            any, list_schema(json_pack("{s: s, s: i, s: i, s: o}", "type", "array", "minItems", 2,
                                       "maxItems", 2, "items", or_swept(d, any_of(two)))));
        break;
    }
    case DSGD_LINES:
        json_array_append_new(any, text_schema());
        json_array_append_new(any, list_schema(or_swept(d, text_schema())));
        break;
    case DSGD_TABLE: {
        json_t *const numbers = json_array();
        add_number(numbers, o);
        json_array_append_new(any, json_pack("{s: s, s: o}", "type", "object",
                                             "additionalProperties", or_swept(d, any_of(numbers))));
        break;
    }
    default: /* the kinds DSGD_STRUCT, DSGD_STRUCTS, DSGD_SPEC, DSGD_SPECS and DSGD_CHOICE */
        if (o->shipped != NULL)
            json_array_append_new(any, json_pack("{s: s}", "type", "string"));
        if (o->kind != DSGD_CHOICE)
            json_array_append_new(any, reference(d, o));
    }
    if (o->words != NULL && o->kind != DSGD_LINES)
        json_array_append_new(any, words_schema(o->words));
    return any_of(any);
}

/** Returns the schema of the value of a key. */
static json_t *value_schema(draft *d, const dsgd_option *o)
{
    json_t *schema = or_swept(d, alternatives(d, o));
    if (o->multiplies || o->kind == DSGD_NUMBERS || o->kind == DSGD_STRUCTS ||
        o->kind == DSGD_SPECS) {
        json_t *const list = list_schema(json_incref(schema));
        schema =
            json_pack("{s: [o, o]}", "anyOf", schema, o->multiplies ? list : or_swept(d, list));
    }
    char *const help = dsgd_xprintf("%s%s%s%s", o->help, o->unit == NULL ? "" : " (",
                                    o->unit == NULL ? "" : o->unit, o->unit == NULL ? "" : ")");
    char *const init = default_text(o);
    json_t *const described = json_pack("{s: s}", "description", help);
    if (init != NULL && !o->required)
        json_object_set_new(described, "default",
                            o->kind == DSGD_BOOL ? json_boolean(o->init != 0)
                            : o->init >= 0 && (o->kind == DSGD_LONG || o->kind == DSGD_DOUBLE)
                                ? json_real(o->init)
                                : json_string(init));
    json_object_update_missing(described, schema);
    return described;
}

/** Adds the keys of an option table to @p properties, and the required keys to @p required. */
static void add_keys(draft *d, const dsgd_option *options, json_t *properties, json_t *required)
{
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++) {
        json_object_set_new(properties, o->name, value_schema(d, o));
        if (o->required)
            json_array_append_new(required, json_string(o->name));
    }
}

static json_t *object_schema(json_t *properties)
{
    return json_pack("{s: s, s: o, s: b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

/**
 * Returns the schema of a mapping of keys. No key is required if an outer mapping or a shipped
 * entry supplies the missing keys.
 */
static json_t *mapping_schema(draft *d, const dsgd_option *o)
{
    json_t *const properties = json_object();
    json_t *const required = json_array();
    add_keys(d, o->fields, properties, required);
    json_t *const schema = object_schema(properties);
    if (o->shipped != NULL)
        json_object_set_new(
            properties, o->key,
            json_pack("{s: s, s: o}", "description", "the shipped entry that these values change",
                      "anyOf",
                      json_pack("[o]", or_swept(d, json_pack("{s: s}", "type", "string")))));
    if (json_array_size(required) > 0 && o->shipped != NULL)
        json_object_set_new(
            schema, "anyOf",
            json_pack("[{s: [s]}, {s: O}]", "required", o->key, "required", required));
    else if (json_array_size(required) > 0 && !o->refines)
        json_object_set(schema, "required", required);
    return schema;
}

/**
 * Returns the schema of a registry entry. The entry is a name, or a mapping with its name and
 * options.
 */
static json_t *entry_schema(draft *d, const dsgd_option *o)
{
    json_t *const any = json_array(), *const names = json_array();
    json_array_append_new(any, json_pack("{s: o}", "enum", names));
    for (const dsgd_entry *const *about = o->registry; *about != NULL; about++) {
        json_t *const properties = json_object();
        json_t *const required = json_pack("[s]", o->key);
        json_object_set_new(
            properties, o->key,
            json_pack("{s: s, s: s?}", "const", (*about)->name, "description", (*about)->summary));
        add_keys(d, o->fields, properties, required);
        add_keys(d, (*about)->options, properties, required);
        bool needs = false; /* true if the entry has required options, so that the name is not
                             * sufficient */
        for (const dsgd_option *k = (*about)->options; k != NULL && k->name != NULL; k++)
            needs = needs || k->required;
        if (!needs)
            json_array_append_new(names, json_string((*about)->name));
        json_t *const schema = object_schema(properties);
        json_object_set_new(schema, "required", required);
        json_array_append_new(any, schema);
    }
    return any_of(any);
}

dsgd_status dsgd_keys_schema(const dsgd_option *keys, dsgd_error *error)
{
    draft d = {.definitions = json_object(), .sweeps = keys->fields == dsgd_experiment_options};
    json_t *const schema = has_keys(keys) ? mapping_schema(&d, keys) : entry_schema(&d, keys);
    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "title", json_string(keys->name));
    /*
     * A sweep can have a range instead of a list. The function that reads the range checks that its
     * ends are numbers.
     */
    json_t *const ends = json_pack("[s, s]", "number", "string");
    json_t *const range = json_pack(
        "{s: s, s: {s: {s: O}, s: {s: O}, s: {s: s, s: i}, s: {s: s}}, s: [s, s, s], s: b}", "type",
        "object", "properties", "from", "type", ends, "to", "type", ends, "n", "type", "integer",
        "minimum", 2, "log", "type", "boolean", "required", "from", "to", "n",
        "additionalProperties", 0);
    if (d.sweeps)
        json_object_set(d.definitions, "range", range);
    json_object_set_new(schema, "$defs", d.definitions);
    const int failed = json_dumpf(schema, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    putchar('\n');
    return failed == 0 ? DSGD_OK : dsgd_fail(error, DSGD_EIO, "cannot write the schema: %m");
}
