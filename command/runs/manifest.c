/**
 * @file manifest.c
 * Reads, writes, compresses and compares manifests.
 */
#include "command/runs/manifest.h"

#include "base/file.h"
#include "base/json.h"
#include "base/option.h"
#include "base/status.h"
#include "command/runs/parts.h"

/**
 * Returns true if the keys of a member are compared one by one. The keys of `algorithm` are not
 * compared one by one, because they differ between algorithms.
 */
static bool is_part(const char *member, const json_t *before, const json_t *value)
{
    return json_is_object(before) && json_is_object(value) && strcmp(member, "algorithm") != 0;
}

json_t *dsgd_runs_differ(const json_t *before, const json_t *run)
{
    json_t *const less = json_object(), *value = NULL;
    const char *member = NULL, *key = NULL;
    json_object_foreach((json_t *)run, member, value)
    {
        json_t *const old = json_object_get(before, member), *of_part = NULL;
        if (json_equal(old, value) == 1)
            continue;
        if (!is_part(member, old, value)) {
            json_object_set(less, member, value);
            continue;
        }
        json_t *const part = json_object();
        json_object_foreach(value, key, of_part)
        {
            if (json_equal(json_object_get(old, key), of_part) != 1)
                json_object_set(part, key, of_part);
        }
        json_object_set_new(less, member, part);
    }
    return less;
}

void dsgd_runs_take(json_t *before, json_t *less)
{
    const char *member = NULL;
    json_t *value = NULL;
    json_object_foreach(less, member, value)
    {
        json_t *const old = json_object_get(before, member);
        json_t *const now = json_copy(is_part(member, old, value) ? old : value);
        if (is_part(member, old, value))
            json_object_update(now, value);
        /*
         * Replace the member by a changed copy, because copies of the previous run share the old
         * value.
         */
        json_object_set_new(before, member, now);
    }
}

json_t *dsgd_manifest_unfold(json_t *manifest)
{
    json_t *const runs = json_object_get(manifest, "runs"), *const before = json_object();
    for (size_t i = 0; i < json_array_size(runs); i++) {
        dsgd_runs_take(before, json_array_get(runs, i));
        json_array_set_new(runs, i, json_copy(before));
    }
    return manifest;
}

json_t *dsgd_manifest_read(const char *folder)
{
    return dsgd_json_file(dsgd_xprintf("%s/manifest.json", folder));
}

dsgd_status dsgd_manifest_write(const char *folder, const json_t *manifest, dsgd_error *error)
{
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, "%s/manifest.json", folder) == NULL)
        return DSGD_EIO;
    json_dumpf(manifest, file.stream, JSON_INDENT(1));
    fputc('\n', file.stream);
    return dsgd_whole_close(&file, error);
}

const char *dsgd_manifest_other(const char *folder, const json_t *old, const json_t *new)
{
    static const struct {
        const char *member, *are; /* member: name of a member of the manifest; are: description of
                                   * the results if this member differs */
    } differences[] = {
        {"runs", "the results of another experiment, or of this one by another build of dsgd"},
        {"swept", "the results of another experiment"},
        {"computed", "the results of this experiment with other --numerics"},
        {"files", "the results of this experiment with other contents of a file that it names"},
        {"program", "the results of this experiment by another build of dsgd or a plug-in"},
        {"libraries",
         "the results of this experiment with other libraries or on another kind of CPU"},
    };
    /* If there are no results, an earlier command failed before it wrote any results. */
    if (!dsgd_can_read("%s/runs.csv", folder) && !dsgd_parts_exist(folder))
        return NULL;
    if (old == NULL && !dsgd_can_read("%s/manifest.json", folder))
        return "results without a manifest.json";
    if (old != NULL && !json_is_array(json_object_get(old, "swept")))
        return "the results of an older version of dsgd, whose files have other columns";
    for (size_t k = 0; k < sizeof differences / sizeof differences[0]; k++)
        if (json_equal(json_object_get(old, differences[k].member),
                       json_object_get(new, differences[k].member)) != 1)
            return differences[k].are;
    return NULL;
}
