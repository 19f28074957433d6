/**
 * @file changes.c
 * Checks that a user's experiment file differs from a given file only in keys that may change.
 */
#include "command/experiment/config.h"

#include <libfyaml.h>
#include <sys/stat.h>

typedef struct walk {
    dsgd_config *config, *given;
    const char *const *free_paths;
    dsgd_error *error;
} walk;

static bool is_free(const walk *w, const char *path)
{
    if (strcmp(path, "name") == 0 || strcmp(path, "task") == 0)
        return true;
    for (const char *const *f = w->free_paths; *f != NULL; f++) {
        const size_t n = strlen(*f);
        if (strncmp(path, *f, n) == 0 && (path[n] == '\0' || path[n] == '.'))
            return true;
    }
    return false;
}

/**
 * Returns an error about a difference at @p place. The message lists the keys that may be changed.
 */
static dsgd_status refuse(const walk *w, dsgd_yaml *place, const char *path, const char *what,
                          dsgd_yaml *given)
{
    /* largest number of bytes of a value that an error message contains */
    enum { MOST_BYTES = 120 };
    const char *const may = dsgd_listed(w->free_paths, " and ");
    return dsgd_yaml_fail(w->config, place, w->error,
                          "`%s` %s%.*s, but the task does not allow this change; allowed: %s", path,
                          what, MOST_BYTES, given == NULL ? "" : dsgd_yaml_yaml(given),
                          *may == '\0' ? "nothing" : may);
}

static dsgd_status compare(const walk *w, dsgd_yaml *parent, const char *path, dsgd_yaml *mine,
                           dsgd_yaml *given);

static char *below(const char *path, const char *key)
{
    return dsgd_xprintf("%s%s%s", path, *path == '\0' ? "" : ".", key);
}

/**
 * Compares the values of all keys of the given mapping. If @p of_given is false, compares only the
 * values of the user's keys that the given mapping lacks.
 */
static dsgd_status compare_keys(const walk *w, const char *path, dsgd_yaml *mine, dsgd_yaml *given,
                                bool of_given)
{
    void *iterator = NULL;
    dsgd_yaml *name = NULL, *value = NULL;
    while (dsgd_yaml_next(of_given ? given : mine, &iterator, &name, &value)) {
        const char *const key = dsgd_yaml_text(name);
        dsgd_yaml *const of_mine = key == NULL ? NULL : dsgd_yaml_find(mine, key);
        dsgd_yaml *const other = key == NULL ? NULL : dsgd_yaml_find(given, key);
        if (of_given || other == NULL)
            DSGD_TRY(compare(w, mine, below(path, key == NULL ? "?" : key), of_mine, other));
    }
    return DSGD_OK;
}

static dsgd_status compare_elements(const walk *w, const char *path, dsgd_yaml *mine,
                                    dsgd_yaml *given)
{
    size_t n_mine = 0, n_given = 0;
    dsgd_yaml **const of_mine = dsgd_yaml_elements(mine, &n_mine);
    dsgd_yaml **const of_given = dsgd_yaml_elements(given, &n_given);
    for (size_t i = 0; i < n_mine || i < n_given; i++)
        DSGD_TRY(compare(w, mine, below(path, dsgd_xprintf("%zu", i)),
                         i < n_mine ? of_mine[i] : NULL, i < n_given ? of_given[i] : NULL));
    return DSGD_OK;
}

/** Returns true if two paths name the same file. A relative path is relative to its document. */
static bool name_one_file(const walk *w, const char *mine, const char *given)
{
    struct stat a, b;
    return stat(dsgd_config_path(w->config, mine), &a) == 0 &&
           stat(dsgd_config_path(w->given, given), &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/**
 * Compares the user's entry at a path with the entry of the given file. An entry is NULL if it does
 * not exist. @p parent is the user's mapping or list that contains the entry, or would contain it.
 */
static dsgd_status compare(const walk *w, dsgd_yaml *parent, const char *path, dsgd_yaml *mine,
                           dsgd_yaml *given)
{
    if (is_free(w, path))
        return DSGD_OK;
    if (given == NULL)
        return refuse(w, mine == NULL ? parent : mine, path, "is not in the given experiment",
                      NULL);
    if (mine == NULL)
        return refuse(w, parent, path, "is missing: the given experiment has ", given);
    if (fy_node_is_mapping(mine) && fy_node_is_mapping(given)) {
        DSGD_TRY(compare_keys(w, path, mine, given, true));
        return compare_keys(w, path, mine, given, false);
    }
    if (fy_node_is_sequence(mine) && fy_node_is_sequence(given))
        return compare_elements(w, path, mine, given);
    const char *const text = dsgd_yaml_text(mine), *const other = dsgd_yaml_text(given);
    if (text != NULL && other != NULL &&
        (strcmp(text, other) == 0 || name_one_file(w, text, other)))
        return DSGD_OK;
    return refuse(w, mine, path, "differs from the given experiment, which has ", given);
}

dsgd_status dsgd_config_check_changes(dsgd_config *config, dsgd_config *given,
                                      const char *const *free_paths, dsgd_error *error)
{
    const walk w = {config, given, free_paths, error};
    dsgd_yaml *const root = dsgd_config_root(config);
    return compare(&w, root, "", root, dsgd_config_root(given));
}
