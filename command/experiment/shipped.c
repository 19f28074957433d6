/**
 * @file shipped.c
 * Finds files by name, and reads what they hold.
 */
#include "command/experiment/shipped.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/** Names of the YAML files in a folder and those in @p also, then NULL; the caller frees them. */
static char **candidates(const char *folder, const char *const *also)
{
    char **names = dsgd_xcalloc(1, sizeof *names);
    size_t n = 0;
    for (; also != NULL && *also != NULL; also++) {
        names = dsgd_xrealloc(names, n + 2, sizeof *names);
        names[n++] = dsgd_xstrdup(*also);
    }
    DIR *const directory = opendir(folder);
    for (struct dirent *e = NULL; directory != NULL && (e = readdir(directory)) != NULL;) {
        const size_t length = strlen(e->d_name);
        if (length <= 5 || strcmp(e->d_name + length - 5, ".yaml") != 0)
            continue;
        names = dsgd_xrealloc(names, n + 2, sizeof *names);
        names[n++] = dsgd_xprintf("%.*s", (int)length - 5, e->d_name);
    }
    names[n] = NULL;
    if (directory != NULL)
        closedir(directory);
    return names;
}

char *dsgd_shipped_hint(const char *kind, const char *name, const char *const *also)
{
    char *const folder = dsgd_xprintf("%s/traces/%s", dsgd_data_folder(), kind);
    char **const names = candidates(folder, also);
    char *const hint = dsgd_hint(name, (const char *const *)names);
    for (size_t i = 0; names[i] != NULL; i++)
        free(names[i]);
    free(names);
    free(folder);
    return hint;
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
        char *const hint = dsgd_shipped_hint(kind, name, NULL);
        dsgd_fail(error, DSGD_EUSAGE, "`%s` is none of the %s%s", name, kind, hint);
        free(hint);
        return DSGD_EUSAGE;
    }
    const dsgd_status status = dsgd_config_open(path, config, error);
    free(path);
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
        char *const hint = dsgd_shipped_hint(kind, name, also);
        const size_t length = strlen(kind);
        const dsgd_status unknown = dsgd_entry_fail(
            from, entry, error,
            "%.*s `%s` is unknown%s; `dsgd list %s` has them, or give the path of a file",
            (int)(kind[length - 1] == 's' ? length - 1 : length), kind, name, hint, kind);
        free(hint);
        return unknown;
    }
    const dsgd_status status = dsgd_config_open_named(from, path, config, error);
    free(path);
    return status == DSGD_OK ? refuse_sweeps(*config, error) : status;
}

/* --- what the files hold ---------------------------------------------------------------------- */

/**
 * A workload with `like` begins as that one. @p depth: files that led here; limited, for a circle
 * has no end.
 */
static dsgd_status read_workload_mapping(dsgd_config *config, dsgd_entry *mapping, int depth,
                                         dsgd_workload *workload, dsgd_error *error)
{
    enum { MOST_DEPTH = 8 };
    static const char *const like_key[] = {"like", NULL};
    dsgd_entry *const like = dsgd_entry_chosen(config, dsgd_entry_find(mapping, *like_key));
    if (like == NULL) /* what is missing is refused; the key is there so that it can be meant */
        return dsgd_config_read(config, mapping, dsgd_workload_options, like_key, workload, error);
    if (dsgd_entry_text(like) == NULL)
        return dsgd_entry_fail(config, like, error,
                               "like has to be a text, the name of a workload");
    if (depth == MOST_DEPTH)
        return dsgd_entry_fail(
            config, like, error,
            "like: `%s` is the %dth workload that is like another; is it a circle?",
            dsgd_entry_text(like), depth + 1);
    dsgd_config *file = NULL;
    dsgd_status status =
        dsgd_named_open(config, like, "workloads", dsgd_entry_text(like), NULL, &file, error);
    if (status == DSGD_OK)
        status = read_workload_mapping(file, dsgd_config_root(file), depth + 1, workload, error);
    /* Of bytes and tensors it has what it says itself, in place of the other. */
    if (dsgd_entry_find(mapping, "bytes") != NULL)
        workload->tensors = (dsgd_records){0, NULL};
    if (dsgd_entry_find(mapping, "tensors") != NULL)
        workload->bytes = 0;
    if (status == DSGD_OK)
        status =
            dsgd_config_refine(config, mapping, dsgd_workload_options, like_key, workload, error);
    return status;
}

dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_entry *mapping, dsgd_workload *workload,
                               dsgd_error *error)
{
    return read_workload_mapping(config, mapping, 0, workload, error);
}

dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error)
{
    const dsgd_status status = dsgd_shipped_open("workloads", name, config, error);
    return status != DSGD_OK
               ? status
               : dsgd_workload_read(*config, dsgd_config_root(*config), workload, error);
}

dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error)
{
    *platform = (dsgd_platform){0};
    dsgd_options_default(dsgd_platform_options, platform);
    const char *const dot = strrchr(name, '.');
    if (dot != NULL && strcmp(dot, ".xml") == 0) {
        platform->topology = DSGD_TOPOLOGY_XML;
        platform->file = name;
        return DSGD_OK;
    }
    const dsgd_status status = dsgd_shipped_open("platforms", name, config, error);
    return status != DSGD_OK ? status
                             : dsgd_config_read(*config, dsgd_config_root(*config),
                                                dsgd_platform_options, NULL, platform, error);
}

dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_pick_set *set,
                                    dsgd_error *error)
{
    static const dsgd_option entries = {.registry = dsgd_imbalance_kinds, .key = "kind"};
    const dsgd_status status = dsgd_shipped_open("imbalance", name, config, error);
    return status != DSGD_OK ? status : dsgd_config_read_set(*config, &entries, set, error);
}
