/**
 * @file edit.c
 * `--set a.b.c=value`: put into a document that was read; or into its text, at the places that its
 * YAML tree gives. There every change reads the text again: places move.
 */
#include "command/experiment/config.h"

#include <jansson.h>
#include <libfyaml.h>

#include "base/file.h"

/** What stands under the first key, or index, of a.b.c; NULL: nothing. */
static struct fy_node *step(struct fy_node *node, const char *path)
{
    const char *const key = dsgd_xprintf("%.*s", (int)strcspn(path, "."), path);
    const bool is_index = *key != '\0' && key[strspn(key, "0123456789")] == '\0';
    if (!fy_node_is_sequence(node))
        return dsgd_yaml_find(node, key);
    return is_index ? fy_node_sequence_get_by_index(node, atoi(key)) : NULL;
}

/** "c.d" and v as `c: {d: v}`. */
static char *nested(const char *keys, const char *value)
{
    const char *const dot = strchr(keys, '.');
    if (dot == NULL)
        return dsgd_xprintf("%s: %s", keys, value);
    return dsgd_xprintf("%.*s: {%s}", (int)(dot - keys), keys, nested(dot + 1, value));
}

/* --- --set: a value put into the tree --------------------------------------------------------- */

/** Whether a value repeats another. The file's aliases are resolved by then. */
static bool has_alias(struct fy_node *node)
{
    void *iterator = NULL;
    for (struct fy_node *key = NULL, *e = NULL; dsgd_yaml_next(node, &iterator, &key, &e);)
        if ((key != NULL && has_alias(key)) || has_alias(e))
            return true;
    return fy_node_is_alias(node);
}

/** Puts a value, which is YAML, under a key. */
static bool set(dsgd_config *config, struct fy_node *mapping, const char *key, const char *value,
                const char *assignment)
{
    struct fy_document *const document = fy_node_document(mapping);
    /* The nodes refer to the texts, so these live as long as the config. */
    struct fy_node *const node = fy_node_build_from_string(document, dsgd_xstrdup(value), FY_NT);
    if (node == NULL)
        return false;
    struct fy_node_pair *const old = fy_node_mapping_lookup_pair_by_simple_key(mapping, key, FY_NT);
    if (old != NULL) /* or the old list would be longer */
        fy_node_free(fy_node_mapping_remove_by_key(mapping, fy_node_pair_key(old)));
    struct fy_node *const name = fy_node_create_scalar_copy(document, key, FY_NT);
    if (name == NULL || fy_node_mapping_append(mapping, name, node) != 0) {
        fy_node_free(name); /* which was there already, but for blanks */
        fy_node_free(node);
        return false;
    }
    dsgd_config_note_override(config, name, assignment);
    dsgd_config_note_override(config, node, assignment);
    return true;
}

/**
 * The key by which a platform or a workload names what it departs from; NULL: a.b.c is in neither.
 */
static const char *key_of_name(const char *path)
{
    return strncmp(path, "platform.", strlen("platform.")) == 0   ? "name"
           : strncmp(path, "workload.", strlen("workload.")) == 0 ? "like"
                                                                  : NULL;
}

dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error)
{
    const char *const equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return dsgd_refuse(
            error, "--set %s: expected KEY.KEY=VALUE, such as learn.optimizer.lr=0.1", assignment);
    if (json_string(assignment) == NULL)
        return dsgd_refuse(error, "--set %s: this is no text in UTF-8", assignment);
    char *const keys = dsgd_xprintf("%.*s", (int)(equals - assignment), assignment);
    if (keys[0] == '.' || equals[-1] == '.' || strstr(keys, "..") != NULL)
        return dsgd_refuse(error, "--set %s: a key beside a dot is missing", assignment);
    struct fy_node *const root = dsgd_config_root(config), *place = root, *outer = NULL;
    char *rest = keys, *dot = NULL;
    for (struct fy_node *next = NULL;
         (dot = strchr(rest, '.')) != NULL && (next = step(place, rest)) != NULL; rest = dot + 1) {
        outer = place;
        place = next; /* the deepest that exists */
    }
    const char *value = equals + 1;
    const bool departs =
        outer == root && fy_node_is_scalar(place) && key_of_name(keys) != NULL; /* piz-daint, say */
    if (departs) {
        value = dsgd_xprintf("{%s: \"%s\", %s}", key_of_name(keys), fy_node_get_scalar0(place),
                             nested(rest, value));
        rest[-1] = '\0';
        place = root;
        rest = keys;
    } else if (dot != NULL) {
        *dot = '\0';
        value = dsgd_xprintf("{%s}", nested(dot + 1, value));
    }
    if (!fy_node_is_mapping(place))
        return dsgd_refuse(error,
                           "--set %s: there is no such key; of an element of a list each key is "
                           "set by itself, as in algorithms.0.period=4, or the list as a whole",
                           assignment);
    struct fy_document *const document = dsgd_config_document(value);
    if (document == NULL || has_alias(fy_document_root(document)) ||
        !set(config, place, rest, value, assignment))
        return dsgd_refuse(error, "--set %s: the value is no YAML without aliases", assignment);
    return DSGD_OK;
}

/* --- a value put into the text ---------------------------------------------------------------- */

/** A part of a text that is replaced. */
typedef struct change {
    size_t from, to;
    const char *with;
} change;

/** Bytes of a scalar in the text, with its quotes. */
static bool find_scalar(struct fy_node *node, const char *text, size_t *from, size_t *to)
{
    struct fy_token *const token = fy_node_is_alias(node) ? NULL : fy_node_get_scalar_token(node);
    const struct fy_mark *const start = fy_token_start_mark(token);
    const struct fy_mark *const end = fy_token_end_mark(token);
    if (start == NULL || end == NULL || end->input_pos <= start->input_pos)
        return false;
    *from = start->input_pos;
    *to = end->input_pos;
    const bool is_quoted = *from > 0 && (text[*from - 1] == '"' || text[*from - 1] == '\'') &&
                           text[*to] == text[*from - 1];
    *from -= is_quoted;
    *to += is_quoted;
    return true;
}

/** A new key behind the first one of a mapping. */
static bool insert(struct fy_node *mapping, const char *text, const char *keys, const char *value,
                   change *c)
{
    void *iterator = NULL;
    struct fy_node_pair *const first = fy_node_mapping_iterate(mapping, &iterator);
    size_t key = 0, key_end = 0, begin = 0;
    if (first == NULL || !find_scalar(fy_node_pair_key(first), text, &key, &key_end) ||
        !find_scalar(fy_node_pair_value(first), text, &begin, &c->from))
        return false;
    const char *const pair = nested(keys, value);
    if (fy_node_get_style(mapping) == FYNS_FLOW) {
        c->with = dsgd_xprintf(", %s", pair);
    } else {
        size_t line = key;
        while (line > 0 && text[line - 1] != '\n')
            line--;
        c->from += strcspn(text + c->from, "\n"); /* behind a comment */
        c->with = dsgd_xprintf("\n%*s%s", (int)(key - line), "", pair);
    }
    c->to = c->from;
    return true;
}

/** What to change so that a.b.c is the value, or comes nearer to that (*again). */
static bool plan(struct fy_node *node, const char *text, const char *path, const char *value,
                 change *c, bool *again)
{
    *again = false;
    for (const char *rest = path; node != NULL;) {
        const size_t n = strcspn(rest, ".");
        struct fy_node *const next = step(node, rest);
        if (next == NULL && fy_node_is_mapping(node))
            return insert(node, text, rest, value, c);
        if (next == NULL && find_scalar(node, text, &c->from, &c->to)) {
            c->with = dsgd_xprintf("{name: %.*s}", (int)(c->to - c->from), text + c->from);
            return *again = true;
        }
        if (next != NULL && rest[n] == '\0') {
            c->with = value;
            return find_scalar(next, text, &c->from, &c->to);
        }
        node = next;
        rest += n + 1;
    }
    return false;
}

/** Puts one value into *text. */
static bool put(char **text, const char *assignment)
{
    const char *const equals = strchr(assignment, '=');
    char *const path = dsgd_xprintf("%.*s", (int)(equals - assignment), assignment);
    for (bool again = true; again;) {
        struct fy_document *const document = dsgd_config_document(*text);
        change c = {.with = NULL};
        if (document == NULL ||
            !plan(fy_document_root(document), *text, path, equals + 1, &c, &again))
            return false;
        *text = dsgd_xprintf("%.*s%s%s", (int)c.from, *text, c.with, *text + c.to);
    }
    return true;
}

dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               size_t expands, char **text, dsgd_error *error)
{
    dsgd_config *config = NULL;
    size_t length = 0;
    *text = NULL;
    DSGD_TRY(dsgd_config_open(path, &config, error));
    for (size_t i = 0; i < n; i++)
        DSGD_TRY(dsgd_config_override(config, assignments[i], error));
    DSGD_TRY(dsgd_file_read(path, text, &length, error));
    bool fits = true;
    for (size_t i = 0; i < n && fits; i++)
        fits = i == expands || put(text, assignments[i]);
    struct fy_document *const document = fits ? dsgd_config_document(*text) : NULL;
    if (document != NULL && fy_document_resolve(document) == 0 &&
        fy_node_compare(fy_document_root(document), dsgd_config_root(config)))
        return DSGD_OK;
    char *const anew = fy_emit_node_to_string(dsgd_config_root(config), FYECF_MODE_BLOCK);
    dsgd_keep_for(free, anew);
    *text = dsgd_xprintf("%s\n", anew);
    /* libfyaml writes some keys, such as %c, without the quotes that it needs to read them. */
    if (dsgd_config_document(*text) != NULL)
        return DSGD_OK;
    *text = NULL;
    return dsgd_refuse(error, "%s: with these values the file could not be read again", path);
}
