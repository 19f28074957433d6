/**
 * @file shipped.c
 * Finds files by name.
 */
#include "command/experiment/shipped.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

const char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also)
{
    char **const files =
        dsgd_folder_names(dsgd_xprintf("%s/traces/%s", dsgd_data_folder(), kind), ".yaml");
    const char **names = dsgd_keep(1, sizeof *names);
    size_t n = 0;
    for (; also != NULL && also[n] != NULL; n++) {
        names = dsgd_keep_more(names, n + 2, sizeof *names);
        names[n] = also[n];
    }
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        files[i][strlen(files[i]) - strlen(".yaml")] = '\0';
        names = dsgd_keep_more(names, n + 2, sizeof *names);
        names[n++] = files[i];
    }
    names[n] = NULL;
    return dsgd_hint(name, names);
}

/** Names of what is shipped have neither slashes nor dots. */
static bool is_path(const char *name)
{
    return strpbrk(name, "/.") != NULL;
}

/** Path of a shipped file, or NULL. The caller frees it. */
static char *shipped_path(const char *kind, const char *name)
{
    if (!dsgd_can_read("%s/traces/%s/%s.yaml", dsgd_data_folder(), kind, name))
        return NULL;
    return dsgd_xprintf("%s/traces/%s/%s.yaml", dsgd_data_folder(), kind, name);
}

dsgd_status dsgd_shipped_open(const char *kind, const char *name, dsgd_config **config,
                              dsgd_error *error)
{
    char *const path = is_path(name) ? dsgd_xstrdup(name) : shipped_path(kind, name);
    if (path == NULL) {
        const char *const hint = dsgd_shipped_hint(kind, name, NULL);
        dsgd_refuse(error, "`%s` is none of the %s%s", name, kind, hint);
        return DSGD_EUSAGE;
    }
    const dsgd_status status = dsgd_config_open(path, config, error);
    return status;
}

/** Only sweeps of the experiment's own file multiply the runs. */
static dsgd_status refuse_sweeps(dsgd_config *config, dsgd_error *error)
{
    size_t n = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(config, dsgd_config_root(config), &n);
    if (n == 0)
        return DSGD_OK;
    return dsgd_entry_fail(
        config, sweeps[0]->entry, error,
        "%s is a sweep, but only what the experiment's own file says can be swept",
        sweeps[0]->path);
}

dsgd_status dsgd_named_open(dsgd_config *from, dsgd_entry *entry, const char *kind,
                            const char *name, const char *const *also, dsgd_config **config,
                            dsgd_error *error)
{
    char *const path =
        is_path(name) ? dsgd_xstrdup(dsgd_config_path(from, name)) : shipped_path(kind, name);
    if (path == NULL) {
        const char *const hint = dsgd_shipped_hint(kind, name, also);
        const size_t length = strlen(kind);
        const dsgd_status unknown = dsgd_entry_fail(
            from, entry, error,
            "%.*s `%s` is unknown%s; `dsgd list %s` has them, or give the path of a file",
            (int)(kind[length - 1] == 's' ? length - 1 : length), kind, name, hint, kind);
        return unknown;
    }
    const dsgd_status status = dsgd_config_open_named(from, path, config, error);
    return status == DSGD_OK ? refuse_sweeps(*config, error) : status;
}
