/**
 * @file shipped.c
 * Finds and opens shipped files by their names.
 */
#include "command/experiment/shipped.h"

#include "base/file.h"

const char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also)
{
    char **const files =
        dsgd_folder_names(dsgd_xprintf("%s/traces/%s", dsgd_data_folder(), kind), ".yaml");
    const char **names = NULL;
    size_t n = 0;
    for (; also != NULL && also[n] != NULL; n++) {
        names = dsgd_keep_more(names, n + 1, sizeof *names);
        names[n] = also[n];
    }
    for (char **f = files; f != NULL && *f != NULL; f++) {
        names = dsgd_keep_more(names, n + 1, sizeof *names);
        names[n++] = dsgd_xprintf("%.*s", (int)(strlen(*f) - strlen(".yaml")), *f);
    }
    /* The element after the last name remains NULL. It ends the list. */
    return dsgd_hint(name, dsgd_keep_more(names, n + 1, sizeof *names));
}

/**
 * Returns the path of a shipped file. If the name contains a slash or a dot, returns @p own
 * instead. Returns NULL if the file does not exist.
 */
static const char *path_of(const char *kind, const char *name, const char *own)
{
    if (strpbrk(name, "/.") != NULL)
        return own;
    const char *const path = dsgd_xprintf("%s/traces/%s/%s.yaml", dsgd_data_folder(), kind, name);
    return dsgd_can_read("%s", path) ? path : NULL;
}

/** Returns the singular of a kind, for example "platform" for "platforms". */
static const char *singular(const char *kind)
{
    return dsgd_xprintf("%.*s", (int)strlen(kind) - dsgd_ends_with(kind, "s"), kind);
}

dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error)
{
    const char *const path = path_of(kind, name, name);
    if (path == NULL)
        return dsgd_refuse(error,
                           "`%s` is not one of the shipped %s%s; see `dsgd list %s`, or give the "
                           "path of a file",
                           name, kind, dsgd_shipped_hint(kind, name, NULL), kind);
    return dsgd_config_open(path, config, error);
}

dsgd_status dsgd_named_open(dsgd_config *from, dsgd_yaml *entry, const char *kind, const char *name,
                            const char *const *also, dsgd_config **config, dsgd_error *error)
{
    const char *const path = path_of(kind, name, dsgd_config_path(from, name));
    if (path == NULL)
        return dsgd_yaml_fail(from, entry, error,
                              "unknown %s `%s`%s; see `dsgd list %s`, or give the path of a file",
                              singular(kind), name, dsgd_shipped_hint(kind, name, also), kind);
    DSGD_TRY(dsgd_config_open_named(from, path, config, error));
    size_t n = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(*config, &n);
    if (n == 0)
        return DSGD_OK;
    return dsgd_yaml_fail(
        *config, sweeps[0]->entry, error,
        "%s is a sweep, but only values in the experiment file itself can be swept",
        sweeps[0]->path);
}
