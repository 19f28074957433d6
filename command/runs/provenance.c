/**
 * @file provenance.c
 * Makes the manifest of an experiment, and finds the experiment to which a manifest belongs.
 */
#include "command/runs/provenance.h"

#include <gnu/libc-version.h>
#include <gsl/gsl_version.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/file.h"
#include "base/json.h"
#include "command/experiment/config.h"
#include "command/runs/manifest.h"
#include "sim/network/network.h"

/* --- the manifest of an experiment ------------------------------------------------------------ */

/**
 * Returns true if an option is the platform or the workload, and the previous run has the same
 * value.
 */
static bool is_as_before(const dsgd_option *o, const dsgd_planned_run *run,
                         const dsgd_planned_run *before)
{
    if (o == &dsgd_experiment_options[DSGD_AXIS_PLATFORM])
        return memcmp(&run->platform, &before->platform, sizeof run->platform) == 0;
    return o == &dsgd_experiment_options[DSGD_AXIS_WORKLOAD] &&
           memcmp(&run->workload, &before->workload, sizeof run->workload) == 0;
}

/** Returns true if at least one entry in a list of imbalance entries is random. */
static bool is_drawn(const dsgd_specs *entries)
{
    for (size_t i = 0; i < entries->n; i++)
        if (!((const dsgd_imbalance_kind *)entries->v[i].about)->is_fixed)
            return true;
    return false;
}

/**
 * Returns true if the result of the run depends on its seed. This is the case if the run trains a
 * model, or if its steps, failures, placement or receivers are random. @p json is the run as
 * run_json() writes it.
 */
static bool is_by_chance(const dsgd_planned_run *run, const json_t *json)
{
    const dsgd_run_config *const config = &run->config;
    const json_t *const graph = json_object_get(json_object_get(json, "algorithm"), "graph");
    const json_t *const kind = json_is_object(graph) ? json_object_get(graph, "name") : graph;
    bool any = config->learning != NULL || (config->algorithm->traits & DSGD_DRAWS) ||
               is_drawn(&config->imbalance) || config->failures.mtbf_s > 0 ||
               config->failures.repair_varies ||
               (config->inherent && is_drawn(&run->workload.inherent)) ||
               (kind != NULL && strcmp(json_string_value(kind), "matching") == 0);
    for (size_t i = 0; i < config->placement.n; i++)
        any = any || strcmp(config->placement.v[i], DSGD_PLACEMENT_RANDOM) == 0;
    return any;
}

/**
 * Returns a run as JSON. Omits the platform or workload if it equals that of the previous run @p
 * before (NULL if there is no previous run).
 */
static json_t *run_json(const dsgd_planned_run *run, const dsgd_planned_run *before)
{
    static const char *const members[] = {"algorithm", "label",    "workers",   "seed",
                                          "platform",  "workload", "inherent",  "imbalance",
                                          "until",     "learn",    "placement", "network",
                                          "exchange",  "failures", NULL};
    json_t *const all = json_object(), *const json = json_object();
    for (const dsgd_option *o = dsgd_experiment_options; o->name != NULL; o++)
        if (before == NULL || !is_as_before(o, run, before))
            json_object_update_new(
                all, dsgd_json_options((const dsgd_option[]){*o, DSGD_OPTION_END}, run));
    json_object_set(all, "algorithm", json_object_get(all, "algorithms"));
    json_object_set_new(all, "label", dsgd_json_text(run->label));
    if (run->config.learning == NULL)
        json_object_set_new(all, "learn", json_null());
    for (size_t k = 0; members[k] != NULL; k++)
        json_object_set(json, members[k], json_object_get(all, members[k]));
    json_object_set_new(json, "by_chance", json_boolean(is_by_chance(run, json)));
    return json;
}

/**
 * Returns the path of a file relative to the experiment's folder, as in the experiment file. This
 * path does not depend on the working directory.
 */
static const char *name_from(const dsgd_experiment *experiment, const char *file)
{
    const char *const slash = strrchr(experiment->path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash + 1 - experiment->path);
    return strncmp(file, experiment->path, n) == 0 ? file + n : file;
}

/**
 * Replaces the path of each data file in @p json by the path relative to the experiment's folder.
 */
static void name_files(json_t *json, const dsgd_experiment *experiment)
{
    const char *const *const files = dsgd_config_data_files(experiment->config);
    const char *const text = json_string_value(json);
    if (*files == NULL)
        return;
    if (text != NULL && dsgd_find_word(files, text) >= 0)
        json_string_set(json, name_from(experiment, text));
    for (size_t i = 0; i < json_array_size(json); i++)
        name_files(json_array_get(json, i), experiment);
    for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at))
        name_files(json_object_iter_value(at), experiment);
}

/**
 * Returns true if a run needs the network model @p kind. XML platforms always need SimGrid, because
 * only SimGrid can read their links and routes.
 */
static bool uses(const dsgd_planned_run *run, int kind)
{
    return run->config.network == kind ||
           (kind == DSGD_NETWORK_SIMGRID && !dsgd_platform_has_numbers(&run->platform));
}

/** Returns a text with the versions of the network models that the runs need. */
static char *networks_of(const dsgd_experiment *experiment)
{
    char *text = dsgd_xstrdup("");
    for (int kind = 0; dsgd_network_names[kind] != NULL; kind++)
        for (size_t i = 0; i < experiment->n_runs; i++) {
            if (!uses(&experiment->runs[i], kind))
                continue;
            dsgd_append(&text, "%s%s", text[0] == '\0' ? "" : "; ", dsgd_networks[kind]->version());
            break;
        }
    return text;
}

/** Returns a copy of JSON that was written and read again, so that numbers compare equal. */
static json_t *as_read(const json_t *json)
{
    return json_loads(json_dumps(json, JSON_INDENT(1)), 0, NULL);
}

/**
 * Returns the runs from @p first to @p end - 1 in the form that they have when read from a file.
 */
static json_t *runs_as_read(const dsgd_experiment *experiment, size_t first, size_t end)
{
    json_t *const runs = json_array(), *const before = json_object();
    for (size_t i = first; i < end; i++) {
        /*
         * Free the memory after each run, because the complete runs as JSON would need much memory.
         */
        void *const mark = dsgd_mark();
        const dsgd_planned_run *const run = &experiment->runs[i];
        json_t *const now = run_json(run, i == first ? NULL : run - 1);
        name_files(now, experiment);
        const json_t *const read = as_read(now);
        char *const text = strdup(json_dumps(dsgd_runs_differ(before, read), JSON_COMPACT));
        DSGD_ASSERT(text != NULL, "out of memory");
        dsgd_drop(mark);
        json_t *const differs = json_loads(text, 0, NULL);
        free(text);
        dsgd_runs_take(before, differs);
        json_array_append_new(runs, differs);
    }
    return runs;
}

/**
 * Returns the device that computes gradients: "off", "cpu" or "cuda". The results of different
 * devices, or with and without gradients, must not be in one table.
 */
static const char *computed_on(const dsgd_experiment *experiment, int numerics)
{
    const char *where = "off";
    for (size_t i = 0; i < experiment->n_runs && numerics != DSGD_NUMERICS_OFF; i++) {
        const dsgd_learning *const learning = experiment->runs[i].config.learning;
        if (learning == NULL)
            continue;
        if (numerics != DSGD_NUMERICS_CPU && learning->precision == DSGD_PRECISION_FLOAT)
            return "cuda";
        where = "cpu";
    }
    return where;
}

/** Returns true if run @p i in a manifest equals run @p i of the experiment. */
static bool has_run(const json_t *manifest, const dsgd_experiment *experiment, size_t i)
{
    void *const mark = dsgd_mark();
    const json_t *const then = json_array_get(json_object_get(manifest, "runs"), i);
    const json_t *const now = runs_as_read(experiment, i, i + 1);
    const bool has = json_equal(then, json_array_get(now, 0)) == 1;
    dsgd_drop(mark);
    return has;
}

/**
 * Adds the checksum and the length of a regular file to @p json, as the value of key @p name. Does
 * nothing for other files.
 */
static dsgd_status add_file(json_t *json, const char *path, const char *name, dsgd_error *error)
{
    struct stat facts;
    char *text = NULL;
    size_t n = 0;
    if (stat(path, &facts) != 0)
        return errno == ENOENT
                   ? DSGD_OK
                   : dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %m", path);
    if (!S_ISREG(facts.st_mode))
        return DSGD_OK;
    void *const mark = dsgd_mark();
    DSGD_TRY(dsgd_file_read(path, &text, &n, error));
    const unsigned long checksum = crc32_z(0, (const unsigned char *)text, n);
    dsgd_drop(mark); /* Free the content of the file, because a data file may be large. */
    json_t *const key = dsgd_json_text(name); /* The key of a JSON object must be UTF-8. */
    json_object_set_new(json, json_string_value(key),
                        json_string(dsgd_xprintf("%08lx %zu", checksum, n)));
    return DSGD_OK;
}

dsgd_status dsgd_manifest_new(const dsgd_results_config *config, json_t **whole, dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    json_t *const program = json_object(), *const files = json_object();
    json_t *const swept = json_array();
    DSGD_TRY(add_file(program, "/proc/self/exe", "dsgd", error));
    for (size_t i = 0; config->plugins != NULL && i < config->plugins->n; i++) {
        const char *const path = config->plugins->v[i];
        const char *const slash = strrchr(path, '/');
        DSGD_TRY(add_file(program, path, slash == NULL ? path : slash + 1, error));
    }
    for (const char *const *f = dsgd_config_data_files(experiment->config); *f != NULL; f++)
        DSGD_TRY(add_file(files, *f, name_from(experiment, *f), error));
    for (size_t k = 0; k < experiment->n_columns; k++)
        json_array_append_new(swept, dsgd_json_text(experiment->columns[k]));
    json_t *const json = json_pack(
        "{s:s, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s}, s:n, s:s, s:o, s:o, s:o}", "dsgd",
        DSGD_VERSION, "experiment", dsgd_json_text(experiment->name), "file",
        dsgd_json_text(experiment->path), "command", dsgd_json_text(config->command), "libraries",
        "network", networks_of(experiment), "cpu_level", dsgd_device_cpu_level(), "gsl",
        gsl_version, "jansson", JANSSON_VERSION, "zlib", zlibVersion(), "libc",
        gnu_get_libc_version(), "runs", "computed", computed_on(experiment, config->numerics),
        "program", program, "files", files, "swept", swept);
    DSGD_ASSERT(json != NULL, "the manifest is no JSON");
    *whole = as_read(json);
    json_object_set_new(*whole, "runs", runs_as_read(experiment, 0, experiment->n_runs));
    return DSGD_OK;
}

/* --- the experiment of a folder --------------------------------------------------------------- */

/**
 * Returns the path of the experiment file of a results folder. The manifest contains this path
 * relative to an earlier working directory. Therefore, searches the current directory and all
 * folders above the results.
 */
static const char *find_file(const char *folder, const char *file)
{
    enum { MOST_LEVELS = 16 };
    char *up = dsgd_xstrdup(folder);
    for (int k = 0; k < MOST_LEVELS && file[0] != '/'; k++) {
        const char *const path = k == 0 ? file : dsgd_xprintf("%s/%s", up, file);
        if (dsgd_can_read("%s", path))
            return path;
        dsgd_append(&up, "/..");
    }
    return file;
}

dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error)
{
    struct stat facts;
    const bool is_folder = stat(source->path, &facts) == 0 && S_ISDIR(facts.st_mode);
    const json_t *const manifest =
        is_folder ? dsgd_manifest_unfold(dsgd_manifest_read(source->path)) : NULL;
    const char *const file = json_string_value(json_object_get(manifest, "file"));
    if (is_folder && file == NULL)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: not a results folder (it has no manifest.json); run `dsgd run "
                         "EXPERIMENT.yaml -o %s` first",
                         source->path, source->path);
    const char *const path = is_folder ? find_file(source->path, file) : source->path;
    if (is_folder && !dsgd_can_read("%s", path))
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: the experiment of this folder, %s, is not in the working directory, the "
            "folder or a folder above it; give the experiment instead of the folder",
            source->path, file);
    DSGD_TRY(dsgd_experiment_open(path, source->sets->v, source->sets->n,
                                  (dsgd_numerics)source->numerics, experiment, error));
    for (size_t i = 0; is_folder && i < experiment->n_runs; i++) {
        const bool wanted = source->run == 0 || (size_t)source->run == i + 1;
        if (wanted && !has_run(manifest, experiment, i))
            return dsgd_refuse(
                error,
                "%s: run %zu of %s differs from the run in the folder, or another build "
                "of dsgd wrote the folder; give the same --set as for that run, or "
                "the experiment instead of the folder",
                source->path, i + 1, experiment->path);
    }
    return DSGD_OK;
}
