/**
 * @file edit.c
 * Applies assignments such as `--set a.b.c=value` to a document.
 */
#include "command/experiment/config.h"

#include <jansson.h>
#include <libfyaml.h>

/**
 * Returns the entry for the first key or index of the path a.b.c. Returns NULL if the entry does
 * not exist.
 */
static struct fy_node *step(struct fy_node *node, const char *path)
{
    const char *const key = dsgd_xprintf("%.*s", (int)strcspn(path, "."), path);
    const bool is_index = *key != '\0' && key[strspn(key, "0123456789")] == '\0';
    if (!fy_node_is_sequence(node))
        return dsgd_yaml_find(node, key);
    return is_index ? fy_node_sequence_get_by_index(node, atoi(key)) : NULL;
}

/**
 * Returns nested mappings as YAML. For example, the keys "c.d" and the value v give `c: {d: v}`.
 */
static char *nested(const char *keys, const char *value)
{
    const char *const dot = strchr(keys, '.');
    if (dot == NULL)
        return dsgd_xprintf("%s: %s", keys, value);
    return dsgd_xprintf("%.*s: {%s}", (int)(dot - keys), keys, nested(dot + 1, value));
}

/**
 * Returns true if a value contains an alias. The aliases in the file have already been resolved.
 */
static bool has_alias(struct fy_node *node)
{
    void *iterator = NULL;
    for (struct fy_node *key = NULL, *e = NULL; dsgd_yaml_next(node, &iterator, &key, &e);)
        if ((key != NULL && has_alias(key)) || has_alias(e))
            return true;
    return fy_node_is_alias(node);
}

/** Sets the value of a key in a mapping. The value is YAML. */
static bool set(dsgd_config *config, struct fy_node *mapping, const char *key, const char *value,
                const char *assignment)
{
    struct fy_document *const document = fy_node_document(mapping);
    /* Copy the texts, because nodes of the config point to their characters. */
    struct fy_node *const node = fy_node_build_from_string(document, dsgd_xstrdup(value), FY_NT);
    if (node == NULL)
        return false;
    struct fy_node_pair *const old = fy_node_mapping_lookup_pair_by_simple_key(mapping, key, FY_NT);
    /* Remove the old value, because libfyaml would append new elements to an old list. */
    if (old != NULL)
        fy_node_free(fy_node_mapping_remove_by_key(mapping, fy_node_pair_key(old)));
    struct fy_node *const name = fy_node_create_scalar_copy(document, key, FY_NT);
    if (name == NULL || fy_node_mapping_append(mapping, name, node) != 0) {
        fy_node_free(name); /* Discard the new key, because an equal key already exists. Only the
                             * blanks may differ. */
        fy_node_free(node);
        return false;
    }
    dsgd_config_note_override(config, name, assignment);
    dsgd_config_note_override(config, node, assignment);
    return true;
}

/**
 * Returns the key with which a platform (`name`) or a workload (`like`) names its base. Returns
 * NULL if the path a.b.c is neither in a platform nor in a workload.
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
        return dsgd_refuse(error,
                           "--set must be KEY.KEY=VALUE, such as learn.optimizer.lr=0.1, got `%s`",
                           assignment);
    if (json_string(assignment) == NULL)
        return dsgd_refuse(error, "--set %s: not valid UTF-8", assignment);
    char *const keys = dsgd_xprintf("%.*s", (int)(equals - assignment), assignment);
    if (keys[0] == '.' || equals[-1] == '.' || strstr(keys, "..") != NULL)
        return dsgd_refuse(error, "--set %s: a key before or after a dot is missing", assignment);
    struct fy_node *const root = dsgd_config_root(config), *place = root, *outer = NULL;
    char *rest = keys, *dot = NULL;
    for (struct fy_node *next = NULL;
         (dot = strchr(rest, '.')) != NULL && (next = step(place, rest)) != NULL; rest = dot + 1) {
        outer = place;
        place = next; /* deepest entry of the path that exists */
    }
    const char *value = equals + 1;
    const bool departs =
        /* The value of platform or workload is only a name, such as piz-daint. */
        outer == root && fy_node_is_scalar(place) && key_of_name(keys) != NULL;
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
                           "--set %s: unknown key; set each key of a list element by its index, as "
                           "in algorithms.0.period=4, or set the whole list",
                           assignment);
    struct fy_document *const document = dsgd_config_document(value);
    if (document == NULL || has_alias(fy_document_root(document)) ||
        !set(config, place, rest, value, assignment))
        return dsgd_refuse(error, "--set %s: the value must be YAML without aliases", assignment);
    return DSGD_OK;
}

dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               char **text, dsgd_error *error)
{
    dsgd_config *config = NULL;
    DSGD_TRY(dsgd_config_open(path, &config, error));
    for (size_t i = 0; i < n; i++)
        DSGD_TRY(dsgd_config_override(config, assignments[i], error));
    char *const written = fy_emit_node_to_string(dsgd_config_root(config), FYECF_MODE_BLOCK);
    if (written == NULL)
        dsgd_no_memory();
    dsgd_keep_for(free, written);
    *text = dsgd_xprintf("%s\n", written);
    /*
     * libfyaml writes some keys, such as %c, without quotes. It cannot read these keys without
     * quotes.
     */
    if (dsgd_config_document(*text) != NULL)
        return DSGD_OK;
    *text = NULL;
    return dsgd_refuse(error, "%s: the file cannot be written so that it can be read again", path);
}
