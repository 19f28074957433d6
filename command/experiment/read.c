/**
 * @file read.c
 * Reads the entries of a file into the fields that option tables (base/option.h) describe.
 */
#include <libfyaml.h>

#include "base/file.h"
#include "command/experiment/config.h"
#include "command/experiment/traces.h"
#include "sim/registry.h"

const dsgd_option dsgd_imbalance_set_options[] = {
    DSGD_OPTION_STRING(dsgd_spec_set, summary, "summary, in one line", .required = true),
    DSGD_OPTION_STRING(dsgd_spec_set, origin, "origin of the numbers", .required = true),
    DSGD_OPTION_SPECS(dsgd_spec_set, entries, dsgd_imbalance_kinds, "kind", "entries of the list",
                      .required = true),
    DSGD_OPTION_END,
};

/** Returns a text that describes the content of an entry, for error messages. */
static const char *shown(dsgd_yaml *entry)
{
    const char *const text = dsgd_yaml_text(entry);
    if (text != NULL)
        return dsgd_xprintf("`%s`", text);
    return fy_node_is_sequence(entry)  ? "a list"
           : fy_node_is_mapping(entry) ? "a mapping"
                                       : "nothing";
}

/** The option that is read, its file, and the error to set. */
typedef struct reader {
    dsgd_config *config;
    const dsgd_option *o;
    dsgd_error *error;
} reader;

/**
 * Former names of keys and words, with their current names and the sentence for the error message.
 */
static const struct {
    const char *name, *now, *sentence;
} renamings[] = {
    {"topology", "graph", "is now called `graph`"},
    {"neighbours", "graph",
     "is now `graph`: leave it out for random, {kind: exponential, schedule: bipartite} for "
     "exponential"},
    {"partial_call", "partial_turn", "is now half of `partial_turn`, which each message takes"},
    {"apart", "independent", "is now called `independent`"},
    {"collective", "exchange", "has moved: exchange: {collective: ...}"},
    {"every_message", "collective", "has gone: use network: simgrid"},
    {"nics", "flows", "has gone: use flows"},
    {"loggp", "flows", "has gone: use flows"},
};

/**
 * Returns an error about an unknown key, value or name. The message contains the nearest valid name
 * and all valid names. @p what is the kind of name. @p more explains how the user can add names.
 */
static dsgd_status unknown(const reader *r, dsgd_yaml *entry, const char *what, const char *valid,
                           const char *const *names, const char *more)
{
    const char *const text = dsgd_yaml_text(entry), *const name = text == NULL ? "" : text;
    for (size_t i = 0; i < sizeof renamings / sizeof renamings[0]; i++)
        if (strcmp(renamings[i].name, name) == 0 && dsgd_find_word(names, renamings[i].now) >= 0)
            return dsgd_yaml_fail(r->config, entry, r->error, "%s `%s` %s", what, name,
                                  renamings[i].sentence);
    return dsgd_yaml_fail(r->config, entry, r->error, "unknown %s %s%s; valid %s: %s%s", what,
                          shown(entry), dsgd_hint(name, names), valid, dsgd_listed(names, ", "),
                          more);
}

/**
 * Returns an error if the current option needs another value. @p needed describes the valid values.
 */
static dsgd_status refuse(const reader *r, dsgd_yaml *entry, const char *needed)
{
    return dsgd_yaml_fail(r->config, entry, r->error, "%s must be %s, got %s", r->o->name, needed,
                          shown(entry));
}

static dsgd_status read_number(const reader *r, dsgd_yaml *entry, double *number)
{
    const dsgd_option *const o = r->o;
    const char *const text = dsgd_yaml_text(entry);
    if (text == NULL || !dsgd_parse_number(text, o->unit, number)) {
        const char *const words = dsgd_listed(o->words, " or ");
        char *needed = dsgd_xprintf("a number%s%s", o->unit == NULL ? "" : " in ",
                                    o->unit == NULL ? "" : o->unit);
        for (size_t i = 0; dsgd_unit_suffix(o->unit, i) != NULL; i++)
            dsgd_append(&needed, "%s%s", i == 0 ? ", without a unit or with one of " : ", ",
                        dsgd_unit_suffix(o->unit, i));
        return refuse(r, entry,
                      dsgd_xprintf("%s%s%s", needed, *words == '\0' ? "" : ", or ", words));
    }
    if (*number < o->min || *number > o->max)
        return dsgd_yaml_fail(r->config, entry, r->error,
                              "%s must be between %.10g and %.10g, got `%s`", o->name, o->min,
                              o->max, text);
    return DSGD_OK;
}

/* --- readers of single values ----------------------------------------------------------------- */

typedef dsgd_status read_value(const reader *r, dsgd_yaml *entry, void *field);

/** Reads a number or a word. Stores the i-th valid word as the number -(i + 1). */
static dsgd_status read_double(const reader *r, dsgd_yaml *entry, void *field)
{
    const int word = dsgd_find_word(r->o->words, dsgd_yaml_text(entry));
    *(double *)field = -(word + 1);
    return word >= 0 ? DSGD_OK : read_number(r, entry, field);
}

static dsgd_status read_long(const reader *r, dsgd_yaml *entry, void *field)
{
    double number = 0;
    DSGD_TRY(read_double(r, entry, &number));
    *(int64_t *)field = (int64_t)number;
    return number == (double)(int64_t)number ? DSGD_OK : refuse(r, entry, "a whole number");
}

static dsgd_status read_word(const reader *r, dsgd_yaml *entry, void *field)
{
    const int word = *(int *)field = dsgd_find_word(r->o->words, dsgd_yaml_text(entry));
    if (dsgd_yaml_text(entry) == NULL)
        return refuse(r, entry, dsgd_listed(r->o->words, " or "));
    return word >= 0 ? DSGD_OK : unknown(r, entry, r->o->name, "values", r->o->words, "");
}

static dsgd_status read_bool(const reader *r, dsgd_yaml *entry, void *field)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", NULL};
    const dsgd_option as_word = {.name = r->o->name, .words = words};
    int word = 0;
    DSGD_TRY(read_word(&(reader){r->config, &as_word, r->error}, entry, &word));
    *(bool *)field = word % 2 == 1;
    return DSGD_OK;
}

static dsgd_status read_table(const reader *r, dsgd_yaml *entry, void *field)
{
    if (!fy_node_is_mapping(entry))
        return refuse(r, entry, "a mapping of numbers to numbers");
    const dsgd_option key = {.name = r->o->name, .min = -1e300, .max = 1e300};
    const size_t n = (size_t)fy_node_mapping_item_count(entry);
    dsgd_table *const table = field;
    *table = (dsgd_table){0, dsgd_keep(n, sizeof(double)), dsgd_keep(n, sizeof(double))};
    void *iterator = NULL;
    dsgd_yaml *name = NULL, *value = NULL;
    while (dsgd_yaml_next(entry, &iterator, &name, &value)) {
        double *const x = &table->x[table->n];
        DSGD_TRY(read_number(&(reader){r->config, &key, r->error}, name, x));
        DSGD_TRY(read_number(r, dsgd_yaml_chosen_for(r->config, value, r->o), &table->y[table->n]));
        if (table->n > 0 && x[0] <= x[-1])
            return dsgd_yaml_fail(r->config, name, r->error,
                                  "keys of %s must rise, got %g after %g", r->o->name, x[0], x[-1]);
        table->n++;
    }
    return DSGD_OK;
}

/**
 * Adds a pair of numbers to a list. The pair must be within the limits of the option. @p where is
 * the position that an error message prints.
 */
static dsgd_status add_pair(const reader *r, dsgd_pairs *field, const double *pair,
                            const char *where)
{
    for (int i = 0; i < 2; i++)
        if (pair[i] < r->o->min || pair[i] > r->o->max || pair[i] != floor(pair[i]))
            return dsgd_refuse(r->error, "%s: %s must be whole numbers from %.10g to %.10g, got %g",
                               where, r->o->name, r->o->min, r->o->max, pair[i]);
    field->v = dsgd_keep_more(field->v, field->n + 1, sizeof *field->v);
    field->v[field->n][0] = (int64_t)pair[0];
    field->v[field->n][1] = (int64_t)pair[1];
    field->n++;
    return DSGD_OK;
}

static dsgd_status add_pair_of(const reader *r, const char *where, char *line, void *field)
{
    double pair[2] = {0, 0};
    char extra = 0;
    /* true if the line contains only decimal numbers; 0x10 and nan are not decimal numbers */
    const bool decimal = line[strspn(line, "0123456789+-.eE, \t\r")] == '\0';
    if (!decimal || sscanf(line, "%lf%*[ \t,]%lf %c", &pair[0], &pair[1], &extra) != 2)
        return dsgd_refuse(r->error, "%s: expected two whole numbers, got `%.60s`", where, line);
    return add_pair(r, field, pair, where);
}

static void add_line(dsgd_lines *field, const char *text)
{
    field->v = dsgd_keep_more(field->v, field->n + 1, sizeof *field->v);
    field->v[field->n++] = dsgd_xstrdup(text);
}

static dsgd_status add_word_of(const reader *r, const char *where, char *line, void *field)
{
    static const char blank[] = " \t\r";
    char *rest = dsgd_xstrdup(line);
    add_line(field, strtok_r(rest, blank, &rest));
    if (strtok_r(NULL, blank, &rest) != NULL)
        return dsgd_refuse(r->error, "%s: expected one word, got `%.60s`", where, line);
    return DSGD_OK;
}

/** Reads the lines of a file. Skips blank lines. The character # starts a comment. */
static dsgd_status read_file(const reader *r, const char *name, void *field)
{
    const char *const path = dsgd_config_path(r->config, name);
    const char *const words = dsgd_listed(r->o->words, " or ");
    char *text = NULL, *line = NULL;
    size_t n = 0;
    if (dsgd_file_read(path, &text, &n, NULL) != DSGD_OK)
        return dsgd_fail(r->error, DSGD_EIO, "%s: the file of %s cannot be read: %m%s%s", path,
                         r->o->name,
                         *words == '\0' ? "" : "; valid values without a file: ", words);
    if (strlen(text) != n)
        return dsgd_fail(r->error, DSGD_EIO,
                         "%s: the file of %s is not a text: it contains a null byte", path,
                         r->o->name);
    for (size_t i = 1; (line = strsep(&text, "\n")) != NULL; i++) {
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] != '\0')
            DSGD_TRY((r->o->kind == DSGD_PAIRS ? add_pair_of : add_word_of)(
                r, dsgd_xprintf("%s:%zu", path, i), line, field));
    }
    return DSGD_OK;
}

static dsgd_status check_required(dsgd_config *config, dsgd_yaml *mapping,
                                  const dsgd_option *options, dsgd_error *error)
{
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++)
        if (o->required && dsgd_yaml_find(mapping, o->name) == NULL)
            return dsgd_yaml_fail(config, mapping, error, "%s is missing: %s", o->name, o->help);
    return DSGD_OK;
}

/**
 * Reads a mapping into a struct. If the mapping lacks a key, its field keeps the value: a default,
 * or the value of the base.
 */
static dsgd_status read_record(const reader *r, dsgd_yaml *entry, void *field)
{
    DSGD_TRY(dsgd_config_refine(r->config, entry, r->o->fields, NULL, field, r->error));
    return r->o->refines ? DSGD_OK : check_required(r->config, entry, r->o->fields, r->error);
}

static dsgd_status read_pick(const reader *r, dsgd_yaml *entry, void *field)
{
    const dsgd_option *const o = r->o;
    dsgd_spec *const pick = field;
    dsgd_yaml *const named = fy_node_is_mapping(entry)
                                 ? dsgd_yaml_chosen(r->config, dsgd_yaml_find(entry, o->key))
                                 : entry;
    const char *const name = dsgd_yaml_text(named);
    if (name == NULL)
        return dsgd_yaml_fail(r->config, entry, r->error,
                              "%s is missing: give a name, or {%s: NAME, ...}", o->key, o->key);
    pick->about = dsgd_entry_find(o->registry, name);
    if (pick->about == NULL) {
        const bool is_algorithm = o->registry == dsgd_algorithms;
        return unknown(r, named, is_algorithm ? "algorithm" : o->key,
                       is_algorithm ? "algorithms" : "values", dsgd_entry_names(o->registry),
                       is_algorithm ? "; --plugin FILE adds others" : "");
    }
    pick->params = dsgd_keep(1, pick->about->params_size);
    const char *others[16] = {o->key};
    const dsgd_option *shared = o->fields;
    for (size_t n = 1; shared != NULL && shared->name != NULL && n < 15; n++)
        others[n] = shared++->name;
    return dsgd_config_read(r->config, fy_node_is_mapping(entry) ? entry : NULL,
                            pick->about->options, others, pick->params, r->error);
}

static dsgd_status read_string(const reader *r, dsgd_yaml *entry, void *field)
{
    const char *text = dsgd_yaml_text(entry);
    if (text == NULL)
        return refuse(r, entry, "a text");
    if (r->o->unit != NULL && strcmp(r->o->unit, "path") == 0) {
        text = dsgd_config_path(r->config, text);
        dsgd_config_note_data(r->config, text);
    }
    *(const char **)field = text;
    return DSGD_OK;
}

/* --- readers of list elements ----------------------------------------------------------------- */

static dsgd_status take_number(const reader *r, dsgd_yaml *element, void *field)
{
    dsgd_numbers *const list = field;
    list->v = dsgd_keep_more(list->v, list->n + 1, sizeof *list->v);
    return read_number(r, element, &list->v[list->n++]);
}

static dsgd_status take_pair(const reader *r, dsgd_yaml *element, void *field)
{
    double pair[2] = {0, 0};
    if (!fy_node_is_sequence(element) || fy_node_sequence_item_count(element) != 2)
        return refuse(r, element, "a pair of numbers such as [0, 1]");
    for (int j = 0; j < 2; j++)
        DSGD_TRY(read_number(
            r, dsgd_yaml_chosen(r->config, fy_node_sequence_get_by_index(element, j)), &pair[j]));
    return add_pair(r, field, pair, r->o->name);
}

static dsgd_status take_line(const reader *r, dsgd_yaml *element, void *field)
{
    const char *const text = dsgd_yaml_text(element);
    if (text == NULL)
        return refuse(r, element, "a text");
    add_line(field, text);
    return DSGD_OK;
}

static dsgd_status take_record(const reader *r, dsgd_yaml *element, void *field)
{
    dsgd_structs *const list = field;
    const size_t size = r->o->struct_size;
    list->v = dsgd_keep_more(list->v, list->n + 1, size);
    return dsgd_config_read(r->config, element, r->o->fields, NULL,
                            (char *)list->v + list->n++ * size, r->error);
}

/**
 * Adds a registry entry with its options to a list. If the element names a shipped file, adds all
 * entries of this file.
 */
static dsgd_status take_picks(const reader *r, dsgd_yaml *element, void *field)
{
    dsgd_specs *const list = field;
    const char *const name = dsgd_yaml_text(element);
    dsgd_spec pick = {NULL, NULL};
    dsgd_spec_set set = {.entries = {1, &pick}};
    if (name == NULL || r->o->shipped == NULL || dsgd_entry_find(r->o->registry, name) != NULL) {
        DSGD_TRY(read_pick(r, element, &pick));
    } else {
        dsgd_config *file = NULL;
        DSGD_TRY(dsgd_named_open(r->config, element, r->o->shipped, name,
                                 dsgd_entry_names(r->o->registry), &file, r->error));
        DSGD_TRY(dsgd_config_read(file, dsgd_config_root(file), dsgd_imbalance_set_options, NULL,
                                  &set, r->error));
    }
    list->v = dsgd_keep_more(list->v, list->n + set.entries.n, sizeof *list->v);
    for (size_t k = 0; k < set.entries.n; k++)
        list->v[list->n++] = set.entries.v[k];
    return DSGD_OK;
}

static dsgd_status read_list(const reader *r, dsgd_yaml *entry, void *field)
{
    static read_value *const takers[] = {[DSGD_NUMBERS] = take_number,
                                         [DSGD_PAIRS] = take_pair,
                                         [DSGD_LINES] = take_line,
                                         [DSGD_STRUCTS] = take_record,
                                         [DSGD_SPECS] = take_picks};
    const dsgd_option *const o = r->o;
    const char *const alone = dsgd_yaml_text(entry);
    memset(field, 0, sizeof(dsgd_structs)); /* Clear the list. Lists of all kinds consist of a
                                             * number and a pointer. */
    if (alone != NULL && (o->kind == DSGD_PAIRS || o->kind == DSGD_LINES) &&
        dsgd_find_word(o->words, alone) < 0)
        return read_file(r, alone, field);
    size_t n = 0;
    dsgd_yaml **const elements = dsgd_yaml_elements(entry, &n);
    for (size_t i = 0; i < n; i++)
        DSGD_TRY(takers[o->kind](r, dsgd_yaml_chosen_for(r->config, elements[i], o), field));
    return DSGD_OK;
}

dsgd_status dsgd_config_read_value(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o,
                                   void *params, dsgd_error *error)
{
    static read_value *const readers[] = {
        [DSGD_BOOL] = read_bool,     [DSGD_LONG] = read_long,     [DSGD_DOUBLE] = read_double,
        [DSGD_CHOICE] = read_word,   [DSGD_STRING] = read_string, [DSGD_NUMBERS] = read_list,
        [DSGD_PAIRS] = read_list,    [DSGD_LINES] = read_list,    [DSGD_TABLE] = read_table,
        [DSGD_STRUCT] = read_record, [DSGD_STRUCTS] = read_list,  [DSGD_SPEC] = read_pick,
        [DSGD_SPECS] = read_list};
    return readers[o->kind](&(reader){config, o, error}, dsgd_yaml_chosen_for(config, entry, o),
                            (char *)params + o->offset);
}

/* --- mappings --------------------------------------------------------------------------------- */

static dsgd_status unknown_key(const reader *r, dsgd_yaml *key, const dsgd_option *options,
                               const char *const *elsewhere)
{
    const char *names[64] = {NULL};
    size_t n = 0;
    for (const dsgd_option *o = options; o != NULL && o->name != NULL && n < 63; o++)
        names[n++] = o->name;
    for (; elsewhere != NULL && *elsewhere != NULL && n < 63; elsewhere++)
        names[n++] = *elsewhere;
    return unknown(r, key, "key", "keys", names, "");
}

dsgd_status dsgd_config_refine(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                               const char *const *elsewhere, void *params, dsgd_error *error)
{
    if (mapping != NULL && !fy_node_is_mapping(mapping))
        return dsgd_yaml_fail(config, mapping, error,
                              "expected a mapping of keys to values, got %s", shown(mapping));
    void *iterator = NULL;
    dsgd_yaml *name = NULL, *value = NULL;
    while (dsgd_yaml_next(mapping, &iterator, &name, &value)) {
        const char *const text = dsgd_yaml_text(name), *const key = text == NULL ? "" : text;
        const dsgd_option *const o = dsgd_option_find(options, key);
        if (o == NULL ? dsgd_find_word(elsewhere, key) >= 0 : o->multiplies)
            continue;
        if (o == NULL)
            return unknown_key(&(reader){config, NULL, error}, name, options, elsewhere);
        DSGD_TRY(dsgd_config_read_value(config, value, o, params, error));
    }
    return DSGD_OK;
}

dsgd_status dsgd_config_read(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                             const char *const *elsewhere, void *params, dsgd_error *error)
{
    dsgd_options_default(options, params);
    DSGD_TRY(dsgd_config_refine(config, mapping, options, elsewhere, params, error));
    return check_required(config, mapping, options, error);
}
