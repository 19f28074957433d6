/**
 * @file read.c
 * What stands in a file, read into the fields that option tables (base/option.h) describe.
 */
#include <libfyaml.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "command/experiment/config.h"
#include "command/experiment/shipped.h"
#include "sim/registry.h"

/** What stands there, for a sentence. */
static const char *shown(dsgd_entry *entry)
{
    const char *const text = dsgd_entry_text(entry);
    if (text != NULL)
        return text;
    return fy_node_is_sequence(entry)  ? "a list"
           : fy_node_is_mapping(entry) ? "a mapping"
                                       : "nothing";
}

static dsgd_status read_option(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                               void *field, dsgd_error *error);

/** What earlier versions called a key or word, its present name, and what to say of it. */
static const struct renaming {
    const char *name, *now, *sentence;
} renamings[] = {
    {"topology", "graph", "is now called `graph`"},
    {"neighbours", "graph",
     "is now `graph`: leave it out for random, {kind: exponential, schedule: bipartite} for "
     "exponential"},
    {"apart", "independent", "is now called `independent`"},
    {"collective", "exchange", "has moved: exchange: {collective: ...}"},
};

static const struct renaming *renamed(const char *name)
{
    for (size_t i = 0; i < sizeof renamings / sizeof renamings[0]; i++)
        if (strcmp(renamings[i].name, name) == 0)
            return &renamings[i];
    return NULL;
}

/** What there is instead, and which of it could have been meant; @p more: how there is more. */
static dsgd_status unknown(dsgd_config *config, dsgd_entry *entry, const char *what,
                           const char *name, const char *const *names, const char *more,
                           dsgd_error *error)
{
    const struct renaming *const now = renamed(name);
    if (now != NULL && dsgd_find_word(names, now->now) >= 0)
        return dsgd_entry_fail(config, entry, error, "%s `%s` %s", what, name, now->sentence);
    char *const hint = dsgd_hint(name, names);
    char *const all = dsgd_listed(names, " or ");
    const dsgd_status status =
        dsgd_entry_fail(config, entry, error, "%s `%s` is unknown%s%s%s%s", what, name, hint,
                        *hint == '\0' ? "; there is " : " There is ", all, more);
    free(hint);
    free(all);
    return status;
}

static dsgd_status read_number(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                               double *number, dsgd_error *error)
{
    const char *const text = dsgd_entry_text(entry);
    if (text == NULL || !dsgd_parse_number(text, o->unit, number)) {
        char *const words = dsgd_listed(o->words, " or ");
        const dsgd_status status =
            dsgd_entry_fail(config, entry, error, "%s is %s, but has to be a number%s%s%s%s",
                            o->name, shown(entry), o->unit == NULL ? "" : " in ",
                            o->unit == NULL ? "" : o->unit, *words == '\0' ? "" : ", or ", words);
        free(words);
        return status;
    }
    if (*number < o->min || *number > o->max)
        return dsgd_entry_fail(config, entry, error,
                               "%s is %s, but has to be between %.10g and %.10g", o->name, text,
                               o->min, o->max);
    return DSGD_OK;
}

/** A number, or a word: the i-th as -(i + 1). */
static dsgd_status read_double(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                               double *field, dsgd_error *error)
{
    const int word = dsgd_find_word(o->words, dsgd_entry_text(entry));
    *field = -(word + 1);
    return word >= 0 ? DSGD_OK : read_number(config, entry, o, field, error);
}

static dsgd_status read_long(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                             long *field, dsgd_error *error)
{
    double number = 0;
    const dsgd_status status = read_double(config, entry, o, &number, error);
    if (status != DSGD_OK)
        return status;
    if (number != (double)(long)number)
        return dsgd_entry_fail(config, entry, error, "%s is %s, but has to be a whole number",
                               o->name, shown(entry));
    *field = (long)number;
    return DSGD_OK;
}

/** Notes once that a word is an old one. */
static void note_old_word(const char *text, const char *now)
{
    static bool noted;
    if (!noted)
        fprintf(stderr, "dsgd: `%s` is now called `%s`, and means the same\n", text, now);
    noted = true;
}

static dsgd_status read_word(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                             int *field, dsgd_error *error)
{
    const char *const text = dsgd_entry_text(entry), *const now = dsgd_present_word(text);
    *field = dsgd_find_word(o->words, now);
    if (*field >= 0 && now != text)
        note_old_word(text, now);
    return *field >= 0 ? DSGD_OK
                       : unknown(config, entry, o->name, shown(entry), o->words, "", error);
}

static dsgd_status read_bool(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                             bool *field, dsgd_error *error)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", NULL};
    const dsgd_option as_word = {.name = o->name, .words = words};
    int word = 0;
    const dsgd_status status = read_word(config, entry, &as_word, &word, error);
    *field = word % 2 == 1;
    return status;
}

static dsgd_status read_numbers(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                                dsgd_numbers *field, dsgd_error *error)
{
    field->n = dsgd_entry_count(entry);
    field->v = dsgd_config_alloc(config, field->n * sizeof *field->v);
    for (size_t i = 0; i < field->n; i++) {
        const dsgd_status status =
            read_number(config, dsgd_entry_chosen_for(config, dsgd_entry_at(entry, i), o), o,
                        &field->v[i], error);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

static dsgd_status read_table(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                              dsgd_table *field, dsgd_error *error)
{
    if (!fy_node_is_mapping(entry))
        return dsgd_entry_fail(config, entry, error,
                               "%s is %s, but has to be a mapping of numbers to numbers", o->name,
                               shown(entry));
    const size_t n = (size_t)fy_node_mapping_item_count(entry);
    *field = (dsgd_table){0, dsgd_config_alloc(config, n * sizeof(double)),
                          dsgd_config_alloc(config, n * sizeof(double))};
    void *iterator = NULL;
    for (struct fy_node_pair *p = NULL; (p = fy_node_mapping_iterate(entry, &iterator)) != NULL;) {
        const size_t i = field->n;
        const dsgd_option key = {.name = o->name, .min = -1e300, .max = 1e300};
        dsgd_status status = read_number(config, fy_node_pair_key(p), &key, &field->x[i], error);
        if (status == DSGD_OK)
            status = read_number(config, dsgd_entry_chosen_for(config, fy_node_pair_value(p), o), o,
                                 &field->y[i], error);
        if (status != DSGD_OK)
            return status;
        if (i > 0 && field->x[i] <= field->x[i - 1])
            return dsgd_entry_fail(config, fy_node_pair_key(p), error,
                                   "%s: %g follows %g, but keys have to rise", o->name, field->x[i],
                                   field->x[i - 1]);
        field->n++;
    }
    return DSGD_OK;
}

/** A list of @p n elements, moved where one more needs it: at powers of two the room doubles. */
static void *with_room(dsgd_config *config, void *list, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0)
        return list;
    void *const larger = dsgd_config_alloc(config, (n == 0 ? 1 : 2 * n) * size);
    return n == 0 ? larger : memcpy(larger, list, n * size);
}

/** One more pair, within the option's limits. @p where the refusal points to. */
static dsgd_status add_pair(dsgd_config *config, const dsgd_option *o, dsgd_pairs *field,
                            const double *pair, const char *where, dsgd_error *error)
{
    for (int i = 0; i < 2; i++)
        if (pair[i] < o->min || pair[i] > o->max || pair[i] != floor(pair[i]))
            return dsgd_fail(error, DSGD_EUSAGE,
                             "%s: %s: %g, but a whole number from %.10g to %.10g is needed", where,
                             o->name, pair[i], o->min, o->max);
    field->v = with_room(config, field->v, field->n, sizeof *field->v);
    field->v[field->n][0] = (long)pair[0];
    field->v[field->n][1] = (long)pair[1];
    field->n++;
    return DSGD_OK;
}

/** The text of a file of lines, which the caller frees. @p instead: what there is without one. */
static dsgd_status read_text(const dsgd_option *o, const char *path, const char *instead,
                             char **text, dsgd_error *error)
{
    size_t n = 0;
    if (dsgd_file_read(path, text, &n, NULL) != DSGD_OK)
        return dsgd_fail(error, DSGD_EIO, "%s: the file of %s cannot be read: %m%s%s", path,
                         o->name, *instead == '\0' ? "" : "; without a file, there is ", instead);
    if (strlen(*text) == n)
        return DSGD_OK;
    free(*text);
    return dsgd_fail(error, DSGD_EIO, "%s: the file of %s is no text: it has a null byte", path,
                     o->name);
}

/** Two whole numbers per line; what follows a # is a remark. */
static dsgd_status read_pairs_file(dsgd_config *config, const dsgd_option *o, const char *path,
                                   dsgd_pairs *field, dsgd_error *error)
{
    char *text = NULL;
    dsgd_status status = read_text(o, path, "", &text, error);
    if (status != DSGD_OK)
        return status;
    char *rest = text;
    char *line = NULL;
    for (size_t i = 1; status == DSGD_OK && (line = strsep(&rest, "\n")) != NULL; i++) {
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        double pair[2] = {0, 0};
        char extra = 0;
        char *const where = dsgd_xprintf("%s:%zu", path, i);
        const bool decimal =
            line[strspn(line, "0123456789+-.eE, \t\r")] == '\0'; /* no 0x10, no nan */
        if (!decimal || sscanf(line, "%lf%*[ \t,]%lf %c", &pair[0], &pair[1], &extra) != 2)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "%s: `%.60s`, but two whole numbers are expected", where, line);
        else
            status = add_pair(config, o, field, pair, where, error);
        free(where);
    }
    free(text);
    return status;
}

static dsgd_status read_pairs(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                              dsgd_pairs *field, dsgd_error *error)
{
    *field = (dsgd_pairs){0, NULL};
    if (dsgd_entry_text(entry) != NULL)
        return read_pairs_file(config, o, dsgd_config_path(config, dsgd_entry_text(entry)), field,
                               error);
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < dsgd_entry_count(entry); i++) {
        dsgd_entry *const element = dsgd_entry_chosen(config, dsgd_entry_at(entry, i));
        double pair[2] = {0, 0};
        if (dsgd_entry_count(element) != 2 || !fy_node_is_sequence(element))
            return dsgd_entry_fail(config, element, error,
                                   "%s: %s, but a pair of numbers is expected, such as [0, 1]",
                                   o->name, shown(element));
        for (size_t j = 0; status == DSGD_OK && j < 2; j++)
            status = read_number(config, dsgd_entry_chosen(config, dsgd_entry_at(element, j)), o,
                                 &pair[j], error);
        if (status == DSGD_OK)
            status = add_pair(config, o, field, pair, o->name, error);
    }
    return status;
}

static void add_line(dsgd_config *config, dsgd_lines *field, const char *text)
{
    field->v = with_room(config, field->v, field->n, sizeof *field->v);
    field->v[field->n++] = dsgd_config_keep(config, "%s", text);
}

/** A text per line; what follows a # is a remark. */
static dsgd_status read_lines_file(dsgd_config *config, const dsgd_option *o, const char *path,
                                   dsgd_lines *field, dsgd_error *error)
{
    static const char blank[] = " \t\r";
    char *const words = dsgd_listed(o->words, " or ");
    char *text = NULL;
    dsgd_status status = read_text(o, path, words, &text, error);
    free(words);
    if (status != DSGD_OK)
        return status;
    char *rest = text;
    char *line = NULL;
    for (size_t i = 1; status == DSGD_OK && (line = strsep(&rest, "\n")) != NULL; i++) {
        line[strcspn(line, "#")] = '\0';
        char *const word = line + strspn(line, blank);
        const size_t length = strcspn(word, blank);
        if (word[length + strspn(word + length, blank)] != '\0')
            status = dsgd_fail(error, DSGD_EUSAGE, "%s:%zu: `%.60s`, but one word is expected",
                               path, i, line);
        word[length] = '\0';
        if (status == DSGD_OK && length > 0)
            add_line(config, field, word);
    }
    free(text);
    return status;
}

static dsgd_status read_lines(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                              dsgd_lines *field, dsgd_error *error)
{
    *field = (dsgd_lines){0, NULL};
    const char *const alone = dsgd_entry_text(entry);
    if (alone != NULL && dsgd_find_word(o->words, alone) >= 0)
        add_line(config, field, alone);
    else if (alone != NULL)
        return read_lines_file(config, o, dsgd_config_path(config, alone), field, error);
    for (size_t i = 0; alone == NULL && i < dsgd_entry_count(entry); i++) {
        dsgd_entry *const element = dsgd_entry_chosen(config, dsgd_entry_at(entry, i));
        const char *const text = dsgd_entry_text(element);
        if (text == NULL)
            return dsgd_entry_fail(config, element, error, "%s: %s, but a text is expected",
                                   o->name, shown(element));
        add_line(config, field, text);
    }
    return DSGD_OK;
}

static dsgd_status read_records(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                                dsgd_records *field, dsgd_error *error)
{
    field->n = dsgd_entry_count(entry);
    field->v = dsgd_config_alloc(config, field->n * o->record_size);
    for (size_t i = 0; i < field->n; i++) {
        dsgd_entry *const element = dsgd_entry_chosen(config, dsgd_entry_at(entry, i));
        const dsgd_status status = dsgd_config_read(config, element, o->fields, NULL,
                                                    (char *)field->v + i * o->record_size, error);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

static dsgd_status read_pick(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                             dsgd_pick *pick, dsgd_error *error)
{
    dsgd_entry *const named = fy_node_is_mapping(entry)
                                  ? dsgd_entry_chosen(config, dsgd_entry_find(entry, o->key))
                                  : entry;
    const char *const name = dsgd_entry_text(named);
    if (name == NULL)
        return dsgd_entry_fail(config, entry, error,
                               "%s is missing: give a name, or {%s: NAME, ...}", o->key, o->key);
    pick->about = dsgd_about_find(o->registry, name);
    if (pick->about == NULL) {
        const char *names[DSGD_MOST_NAMES];
        dsgd_about_names(o->registry, names);
        const bool is_algorithm = o->registry == dsgd_algorithms;
        return unknown(config, named, is_algorithm ? "algorithm" : o->key, name, names,
                       is_algorithm ? "; --plugin FILE adds others" : "", error);
    }
    pick->params = dsgd_config_alloc(config, pick->about->params_size);
    const char *others[16] = {o->key};
    const dsgd_option *shared = o->fields;
    for (size_t n = 1; shared != NULL && shared->name != NULL && n < 15; n++)
        others[n] = shared++->name;
    return dsgd_config_read(config, fy_node_is_mapping(entry) ? entry : NULL, pick->about->options,
                            others, pick->params, error);
}

static void append_picks(dsgd_config *config, dsgd_picks *field, const dsgd_picks *more)
{
    dsgd_pick *const both = dsgd_config_alloc(config, (field->n + more->n) * sizeof *both);
    if (field->n > 0)
        memcpy(both, field->v, field->n * sizeof *both);
    if (more->n > 0)
        memcpy(both + field->n, more->v, more->n * sizeof *both);
    *field = (dsgd_picks){field->n + more->n, both};
}

/** The picks of the file that is called @p name. */
static dsgd_status read_named_set(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                                  const char *name, dsgd_pick_set *set, dsgd_error *error)
{
    const char *kinds[DSGD_MOST_NAMES];
    dsgd_about_names(o->registry, kinds);
    dsgd_config *file = NULL;
    const dsgd_status status =
        dsgd_named_open(config, entry, o->shipped, name, kinds, &file, error);
    return status == DSGD_OK ? dsgd_config_read_set(file, o, set, error) : status;
}

void dsgd_config_set_options(const dsgd_option *o, dsgd_option options[DSGD_SET_OPTIONS])
{
    const dsgd_option rows[DSGD_SET_OPTIONS] = {
        DSGD_OPTION_STRING(dsgd_pick_set, summary, "what it is, in a line", .required = true),
        DSGD_OPTION_STRING(dsgd_pick_set, origin, "where the figures come from", .required = true),
        DSGD_OPTION_PICKS(dsgd_pick_set, entries, o->registry, o->key, "what it stands for",
                          .required = true),
        DSGD_OPTION_END,
    };
    memcpy(options, rows, sizeof rows);
}

dsgd_status dsgd_config_read_set(dsgd_config *config, const dsgd_option *o, dsgd_pick_set *set,
                                 dsgd_error *error)
{
    dsgd_option options[DSGD_SET_OPTIONS];
    dsgd_config_set_options(o, options);
    return dsgd_config_read(config, dsgd_config_root(config), options, NULL, set, error);
}

static dsgd_status read_picks(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                              dsgd_picks *field, dsgd_error *error)
{
    *field = (dsgd_picks){0, NULL};
    for (size_t i = 0; i < dsgd_entry_count(entry); i++) {
        dsgd_entry *const element = dsgd_entry_chosen(config, dsgd_entry_at(entry, i));
        const char *const name = dsgd_entry_text(element);
        dsgd_pick pick = {NULL, NULL};
        dsgd_pick_set set = {.entries = {1, &pick}};
        const bool is_set =
            name != NULL && o->shipped != NULL && dsgd_about_find(o->registry, name) == NULL;
        const dsgd_status status = is_set ? read_named_set(config, element, o, name, &set, error)
                                          : read_pick(config, element, o, &pick, error);
        if (status != DSGD_OK)
            return status;
        append_picks(config, field, &set.entries);
    }
    return DSGD_OK;
}

static dsgd_status read_string(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                               const char **field, dsgd_error *error)
{
    const char *const text = dsgd_entry_text(entry);
    if (text == NULL)
        return dsgd_entry_fail(config, entry, error, "%s is %s, but has to be a text", o->name,
                               shown(entry));
    const bool is_path = o->unit != NULL && strcmp(o->unit, "path") == 0;
    *field = is_path ? dsgd_config_path(config, text) : text;
    if (is_path)
        dsgd_config_note_data(config, *field);
    return DSGD_OK;
}

static dsgd_status read_option(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                               void *field, dsgd_error *error)
{
    switch (o->kind) {
    case DSGD_BOOL:
        return read_bool(config, entry, o, field, error);
    case DSGD_LONG:
        return read_long(config, entry, o, field, error);
    case DSGD_DOUBLE:
        return read_double(config, entry, o, field, error);
    case DSGD_CHOICE:
        return read_word(config, entry, o, field, error);
    case DSGD_STRING:
        return read_string(config, entry, o, field, error);
    case DSGD_NUMBERS:
        return read_numbers(config, entry, o, field, error);
    case DSGD_PAIRS:
        return read_pairs(config, entry, o, field, error);
    case DSGD_LINES:
        return read_lines(config, entry, o, field, error);
    case DSGD_TABLE:
        return read_table(config, entry, o, field, error);
    case DSGD_RECORD:
        return o->refines ? dsgd_config_refine(config, entry, o->fields, NULL, field, error)
                          : dsgd_config_read(config, entry, o->fields, NULL, field, error);
    case DSGD_RECORDS:
        return read_records(config, entry, o, field, error);
    case DSGD_PICK:
        return read_pick(config, entry, o, field, error);
    case DSGD_PICKS:
        return read_picks(config, entry, o, field, error);
    }
    return DSGD_OK;
}

dsgd_status dsgd_config_read_value(dsgd_config *config, dsgd_entry *entry, const dsgd_option *o,
                                   void *params, dsgd_error *error)
{
    return read_option(config, dsgd_entry_chosen_for(config, entry, o), o,
                       (char *)params + o->offset, error);
}

static dsgd_status unknown_key(dsgd_config *config, dsgd_entry *key, const dsgd_option *options,
                               const char *const *elsewhere, dsgd_error *error)
{
    const char *names[64] = {NULL};
    size_t n = 0;
    for (const dsgd_option *o = options; o != NULL && o->name != NULL && n < 63; o++)
        names[n++] = o->name;
    for (; elsewhere != NULL && *elsewhere != NULL && n < 63; elsewhere++)
        names[n++] = *elsewhere;
    return unknown(config, key, "key", shown(key), names, "", error);
}

dsgd_status dsgd_config_refine(dsgd_config *config, dsgd_entry *mapping, const dsgd_option *options,
                               const char *const *elsewhere, void *params, dsgd_error *error)
{
    if (mapping != NULL && !fy_node_is_mapping(mapping))
        return dsgd_entry_fail(config, mapping, error,
                               "%s stands where a mapping of keys to values is expected",
                               shown(mapping));
    void *iterator = NULL;
    for (struct fy_node_pair *p = NULL;
         mapping != NULL && (p = fy_node_mapping_iterate(mapping, &iterator)) != NULL;) {
        const char *const key = shown(fy_node_pair_key(p));
        const dsgd_option *const o = dsgd_option_find(options, key);
        if (o == NULL ? dsgd_find_word(elsewhere, key) >= 0 : o->multiplies)
            continue;
        if (o == NULL)
            return unknown_key(config, fy_node_pair_key(p), options, elsewhere, error);
        const dsgd_status status =
            dsgd_config_read_value(config, fy_node_pair_value(p), o, params, error);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

dsgd_status dsgd_config_read(dsgd_config *config, dsgd_entry *mapping, const dsgd_option *options,
                             const char *const *elsewhere, void *params, dsgd_error *error)
{
    dsgd_options_default(options, params);
    const dsgd_status status =
        dsgd_config_refine(config, mapping, options, elsewhere, params, error);
    if (status != DSGD_OK)
        return status;
    for (const dsgd_option *o = options; o != NULL && o->name != NULL; o++)
        if (o->required && dsgd_entry_find(mapping, o->name) == NULL)
            return dsgd_entry_fail(config, mapping, error, "%s is missing: %s", o->name, o->help);
    return DSGD_OK;
}
