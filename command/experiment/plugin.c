/**
 * @file plugin.c
 * Loads plug-ins. Checks and registers the algorithms that a plug-in exports.
 */
#include "command/experiment/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/child.h"
#include "sim/registry.h"

/**
 * Tries to open a plug-in in a child process. The dynamic loader does not check the header of a
 * file. If the file is incomplete, the loader crashes.
 */
static dsgd_status try_to_open(const void *path, void *report, dsgd_error *error)
{
    (void)report, (void)error;
    dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return DSGD_OK;
}

/**
 * Loads a plug-in whose path contains a slash. A rejected plug-in also stays loaded, because the
 * registry may already contain some of its algorithms.
 */
static dsgd_status load(const char *path, dsgd_error *error)
{
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the plug-in cannot be read: %m", path);
    char nothing = '\0';
    DSGD_TRY(dsgd_in_child(try_to_open, path, &nothing, 0,
                           dsgd_xprintf("%s: the process that loads the plug-in ends; is the file "
                                        "damaged or incomplete?",
                                        path),
                           error));
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    /* error for an unknown symbol, for example a verb from another version of the interface */
    dsgd_error unknown = {""};
    if (object == NULL) {
        dsgd_fail(&unknown, DSGD_EIO, "the plug-in cannot be loaded: %s", dlerror());
        object = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (object == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s", unknown.text);
    const dsgd_plugin *const plugin = dlsym(object, DSGD_PLUGIN_SYMBOL);
    if (plugin == NULL)
        return dsgd_refuse(error, "%s: the plug-in does not export %s", path, DSGD_PLUGIN_SYMBOL);
    if (plugin->abi != DSGD_PLUGIN_ABI)
        return dsgd_refuse(error,
                           "%s was built for interface %08" PRIx32
                           ", but this program has %08" PRIx32 "; build it again",
                           path, plugin->abi, (uint32_t)DSGD_PLUGIN_ABI);
    if (unknown.text[0] != '\0')
        return dsgd_fail(error, DSGD_EIO, "%s", unknown.text);
    if (plugin->algorithms == NULL || plugin->algorithms[0] == NULL)
        return dsgd_refuse(error, "%s: the plug-in has no algorithms", path);
    for (size_t i = 0; plugin->algorithms[i] != NULL; i++) {
        dsgd_error why = {""};
        const dsgd_status status = dsgd_algorithm_add(plugin->algorithms[i], &why);
        if (status != DSGD_OK)
            return dsgd_fail(error, status, "%s: %s", path, why.text);
    }
    return DSGD_OK;
}

dsgd_status dsgd_plugins_load(const dsgd_texts *paths, dsgd_error *error)
{
    for (size_t i = 0; i < paths->n; i++) {
        /*
         * Add a slash, because the dynamic loader searches only library folders for a name without
         * a slash.
         */
        const char *const before = strchr(paths->v[i], '/') == NULL ? "./" : "";
        DSGD_TRY(load(dsgd_xprintf("%s%s", before, paths->v[i]), error));
    }
    return DSGD_OK;
}
