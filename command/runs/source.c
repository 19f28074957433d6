/**
 * @file source.c
 * An experiment, by its file or by its results.
 */
#include "command/runs/source.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/json.h"
#include "command/runs/manifest.h"

static dsgd_status check_folder(const dsgd_source *source, const json_t *manifest,
                                const dsgd_experiment *experiment, dsgd_error *error)
{
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const bool wanted = source->run == 0 || (size_t)source->run == i + 1;
        if (wanted && !dsgd_manifest_has_run(manifest, i, &experiment->runs[i]))
            return dsgd_fail(error, DSGD_EUSAGE,
                             "%s: run %zu of %s is another than the folder has; give the same "
                             "--set as then, or an experiment instead of the folder",
                             source->path, i + 1, experiment->path);
    }
    return DSGD_OK;
}

dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error)
{
    struct stat facts;
    const bool is_folder = stat(source->path, &facts) == 0 && S_ISDIR(facts.st_mode);
    char *const path = dsgd_xprintf("%s/manifest.json", source->path);
    json_t *const manifest = is_folder ? dsgd_json_file(path) : NULL;
    const char *const file = json_string_value(json_object_get(manifest, "file"));
    dsgd_status status = DSGD_OK;
    if (is_folder && file == NULL)
        status =
            dsgd_fail(error, DSGD_EIO, "%s: there is no manifest of an experiment in this folder",
                      source->path);
    if (status == DSGD_OK)
        status =
            dsgd_experiment_open(is_folder ? file : source->path, source->sets->v, source->sets->n,
                                 (dsgd_numerics)source->numerics, experiment, error);
    if (status == DSGD_OK && is_folder) {
        status = check_folder(source, manifest, experiment, error);
        if (status != DSGD_OK)
            dsgd_experiment_close(experiment);
    }
    json_decref(manifest);
    free(path);
    return status;
}
