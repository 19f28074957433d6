/**
 * @file override.c
 * `--set a.b.c=value`: puts a value into a document that was read.
 */
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "command/experiment/config.h"

/** The deepest place along a.b.c that exists; *rest is what is left of the path. */
static struct fy_node *walk(struct fy_node *node, char **rest)
{
    while (*rest != NULL) {
        char *const dot = strchr(*rest, '.');
        if (dot != NULL)
            *dot = '\0';
        const bool index = **rest != '\0' && (*rest)[strspn(*rest, "0123456789")] == '\0';
        struct fy_node *const next = !fy_node_is_sequence(node) ? dsgd_entry_find(node, *rest)
                                     : index ? fy_node_sequence_get_by_index(node, atoi(*rest))
                                             : NULL;
        if (dot != NULL)
            *dot = '.';
        if (next == NULL || dot == NULL)
            return node;
        node = next;
        *rest = dot + 1;
    }
    return node;
}

/** The value below the keys still missing: "c.d" and v give {c: {d: v}}; no keys give v. */
static char *nested(const char *keys, const char *value)
{
    if (keys == NULL)
        return dsgd_xstrdup(value);
    const char *const dot = strchr(keys, '.');
    char *const inner = nested(dot == NULL ? NULL : dot + 1, value);
    char *const outer = dsgd_xprintf("{%.*s: %s}", (int)strcspn(keys, "."), keys, inner);
    free(inner);
    return outer;
}

/** Takes a key out, or setting it to a list would make the old list longer. */
static void remove_key(struct fy_node *mapping, const char *key)
{
    void *iterator = NULL;
    for (struct fy_node_pair *p = NULL;
         (p = fy_node_mapping_iterate(mapping, &iterator)) != NULL;) {
        const char *const text = dsgd_entry_text(fy_node_pair_key(p));
        if (text != NULL && strcmp(text, key) == 0) {
            fy_node_free(fy_node_mapping_remove_by_key(mapping, fy_node_pair_key(p)));
            return;
        }
    }
}

/** Whether a value repeats another. The file's aliases are resolved by then. */
static bool has_alias(struct fy_node *node)
{
    bool has = fy_node_is_alias(node);
    void *iterator = NULL;
    if (fy_node_is_sequence(node))
        for (struct fy_node *e = NULL; (e = fy_node_sequence_iterate(node, &iterator)) != NULL;)
            has = has || has_alias(e);
    else if (fy_node_is_mapping(node))
        for (struct fy_node_pair *p = NULL; (p = fy_node_mapping_iterate(node, &iterator)) != NULL;)
            has = has || has_alias(fy_node_pair_key(p)) || has_alias(fy_node_pair_value(p));
    return has;
}

static bool is_yaml(const char *text)
{
    struct fy_document *const document = dsgd_config_document(text);
    const bool is = document != NULL && !has_alias(fy_document_root(document));
    fy_document_destroy(document);
    return is;
}

static bool is_utf8(const char *text)
{
    size_t n = strlen(text), length = 1;
    for (; n > 0 && length > 0; text += length, n -= length)
        length = dsgd_utf8_length(text, n);
    return length > 0;
}

/** Puts a value, which is YAML, under a key. */
static bool put(dsgd_config *config, struct fy_node *mapping, const char *key, const char *value,
                const char *assignment)
{
    struct fy_document *const document = fy_node_document(mapping);
    /* The nodes refer to the texts, so these live as long as the config. */
    struct fy_node *const node =
        fy_node_build_from_string(document, dsgd_config_keep(config, "%s", value), FY_NT);
    if (node == NULL)
        return false;
    remove_key(mapping, key);
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

dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error)
{
    const char *const equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return dsgd_fail(error, DSGD_EUSAGE,
                         "--set %s: expected KEY.KEY=VALUE, such as learn.optimizer.lr=0.1",
                         assignment);
    if (!is_utf8(assignment))
        return dsgd_fail(error, DSGD_EUSAGE, "--set %s: this is no text in UTF-8", assignment);
    char *const keys = dsgd_xprintf("%.*s", (int)(equals - assignment), assignment);
    if (keys[0] == '.' || equals[-1] == '.' || strstr(keys, "..") != NULL) {
        free(keys);
        return dsgd_fail(error, DSGD_EUSAGE, "--set %s: a key beside a dot is missing", assignment);
    }
    char *rest = keys;
    struct fy_node *const place = walk(dsgd_config_root(config), &rest);
    char *const dot = strchr(rest, '.');
    if (dot != NULL)
        *dot = '\0';
    char *const value = nested(dot == NULL ? NULL : dot + 1, equals + 1);
    dsgd_status status = DSGD_OK;
    if (!fy_node_is_mapping(place))
        status =
            dsgd_fail(error, DSGD_EUSAGE,
                      "--set %s: there is no such key; of an element of a list each key is set "
                      "by itself, as in algorithms.0.period=4, or the list as a whole",
                      assignment);
    else if (!is_yaml(value) || !put(config, place, rest, value, assignment))
        status = dsgd_fail(error, DSGD_EUSAGE, "--set %s: the value is no YAML without aliases",
                           assignment);
    free(value);
    free(keys);
    return status;
}
