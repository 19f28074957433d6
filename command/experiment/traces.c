/**
 * @file traces.c
 * Reads workloads, platforms and imbalance sets.
 */
#include "command/experiment/traces.h"

/*
 * largest number of files in a chain in which each file names the next file; this limit ends
 * circles
 */
enum { MOST_DEPTH = 8 };

/**
 * Returns the entry that describes a platform or a workload. In an experiment, the entry is the
 * value of a key; in other files, it is the whole file.
 */
static dsgd_yaml *part_of(dsgd_config *config, const char *key)
{
    dsgd_yaml *const part = dsgd_yaml_find(dsgd_config_root(config), key);
    return part == NULL ? dsgd_config_root(config) : part;
}

/**
 * Reads a workload. If the workload has the key `like`, starts from the workload that `like` names.
 * @p depth is the number of files in this chain.
 */
static dsgd_status read_workload(dsgd_config *config, dsgd_yaml *entry, int depth,
                                 dsgd_workload *workload, dsgd_error *error)
{
    static const char *const like_key[] = {"like", NULL};
    const bool is_name = dsgd_yaml_text(entry) != NULL;
    dsgd_yaml *const like =
        is_name ? entry : dsgd_yaml_chosen(config, dsgd_yaml_find(entry, *like_key));
    const char *const name = dsgd_yaml_text(like);
    /*
     * If `like` is missing, the caller returns an error about missing keys. `like` must be a valid
     * key here, so that an error message can suggest it.
     */
    if (like == NULL)
        return dsgd_config_read(config, entry, dsgd_workload_options, like_key, workload, error);
    if (name == NULL)
        return dsgd_yaml_fail(config, like, error, "like must be a text: the name of a workload");
    if (depth == MOST_DEPTH)
        return dsgd_yaml_fail(
            config, like, error,
            "like: `%s` is the %dth workload in a chain of `like`; is the chain a circle?", name,
            depth + 1);
    dsgd_config *file = NULL;
    DSGD_TRY(dsgd_named_open(config, like, "workloads", name, NULL, &file, error));
    DSGD_TRY(read_workload(file, part_of(file, "workload"), depth + !is_name, workload, error));
    if (is_name)
        return DSGD_OK;
    /*
     * The keys bytes, tensors and transformer exclude each other. If the workload sets one of these
     * keys, discard the values that the base has for the other keys.
     */
    const bool has_transformer = dsgd_yaml_find(entry, "transformer") != NULL;
    if (dsgd_yaml_find(entry, "bytes") != NULL || has_transformer)
        workload->tensors = (dsgd_structs){0, NULL};
    if (dsgd_yaml_find(entry, "tensors") != NULL || has_transformer)
        workload->bytes = 0;
    if (has_transformer)
        workload->step_s = workload->samples = -1;
    workload->sample_unit = has_transformer ? NULL : workload->sample_unit;
    return dsgd_config_refine(config, entry, dsgd_workload_options, like_key, workload, error);
}

dsgd_status dsgd_workload_read(dsgd_config *config, dsgd_yaml *entry, dsgd_workload *workload,
                               dsgd_error *error)
{
    DSGD_TRY(read_workload(config, entry, 0, workload, error));
    dsgd_error why;
    const dsgd_status status = dsgd_workload_derive(workload, &why);
    return status == DSGD_OK ? status : dsgd_yaml_fail(config, entry, error, "%s", why.text);
}

dsgd_status dsgd_workload_open(const char *name, dsgd_config **config, dsgd_workload *workload,
                               dsgd_error *error)
{
    DSGD_TRY(dsgd_shipped_open("workloads", name, config, error));
    return dsgd_workload_read(*config, part_of(*config, "workload"), workload, error);
}

/**
 * Reads a platform. If the platform has the key `name`, starts from the platform that `name` names.
 */
static dsgd_status read_platform(dsgd_config *config, dsgd_yaml *entry, int depth,
                                 dsgd_platform *platform, dsgd_error *error)
{
    static const char *const name_key[] = {"name", NULL};
    const bool is_name = dsgd_yaml_text(entry) != NULL;
    dsgd_yaml *const named =
        is_name ? entry : dsgd_yaml_chosen(config, dsgd_yaml_find(entry, *name_key));
    const char *const name = dsgd_yaml_text(named);
    if (named != NULL && name == NULL)
        return dsgd_yaml_fail(config, named, error,
                              "name must be a text; write several platforms as a list");
    if (depth == MOST_DEPTH)
        return dsgd_yaml_fail(
            config, entry, error,
            "name: this is the %dth platform in a chain of `name`; is the chain a circle?", depth);
    if (name != NULL && dsgd_ends_with(name, ".xml")) {
        dsgd_platform_take_file(platform, dsgd_config_path(config, name));
        dsgd_config_note_data(config, platform->file);
    } else if (name != NULL) {
        dsgd_config *file = NULL;
        DSGD_TRY(dsgd_named_open(config, named, "platforms", name, NULL, &file, error));
        DSGD_TRY(read_platform(file, part_of(file, "platform"), depth + 1, platform, error));
    }
    return is_name ? DSGD_OK
                   : dsgd_config_refine(config, entry, dsgd_platform_options, name_key, platform,
                                        error);
}

dsgd_status dsgd_platform_read(dsgd_config *config, dsgd_yaml *entry, dsgd_platform *platform,
                               dsgd_error *error)
{
    *platform = (dsgd_platform){0};
    dsgd_options_default(dsgd_platform_options, platform);
    DSGD_TRY(read_platform(config, entry, 0, platform, error));
    dsgd_error why;
    const dsgd_status status = dsgd_platform_derive(platform, &why);
    return status == DSGD_OK ? status
                             : dsgd_yaml_fail(config, entry, error, "platform: %s", why.text);
}

dsgd_status dsgd_platform_open(const char *name, dsgd_config **config, dsgd_platform *platform,
                               dsgd_error *error)
{
    *platform = (dsgd_platform){0};
    dsgd_options_default(dsgd_platform_options, platform);
    if (dsgd_ends_with(name, ".xml")) {
        dsgd_platform_take_file(platform, name);
        return DSGD_OK;
    }
    DSGD_TRY(dsgd_shipped_open("platforms", name, config, error));
    return dsgd_platform_read(*config, part_of(*config, "platform"), platform, error);
}

dsgd_status dsgd_imbalance_set_open(const char *name, dsgd_config **config, dsgd_spec_set *set,
                                    dsgd_error *error)
{
    DSGD_TRY(dsgd_shipped_open("imbalance", name, config, error));
    return dsgd_config_read(*config, dsgd_config_root(*config), dsgd_imbalance_set_options, NULL,
                            set, error);
}
