/**
 * @file merge.c
 * Implements `dsgd merge`. It merges results of one experiment from several folders into one
 * folder.
 */
#include <jansson.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/console/table.h"
#include "command/runs/results.h"
#include "command/runs/selection.h"

typedef struct arguments {
    dsgd_operands folders;
    const char *folder;
    bool force;
    size_t n_swept; /* number of swept columns */
} arguments;

static const dsgd_argument merge_options[] = {
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Folder of the merged results"),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "Replaces existing results in the folder"),
    {.name = NULL},
};

/**
 * Reads the manifests of all folders. Rejects folders whose results come from different experiments
 * or programs.
 */
static dsgd_status read_manifests(const arguments *a, json_t **manifest, dsgd_error *error)
{
    for (size_t k = 0; k < a->folders.n; k++) {
        const char *const folder = a->folders.v[k];
        json_t *const json = dsgd_manifest_read(folder);
        if (!json_is_array(json_object_get(json, "runs"))) {
            DSGD_TRY(dsgd_file_unread(error)); /* Return an error if memory is insufficient, because
                                                * the manifest may exist. */
            return dsgd_refuse(error,
                               "%s: not a results folder (it has no manifest.json); run `dsgd run "
                               "EXPERIMENT.yaml -o %s` first",
                               folder, folder);
        }
        *manifest = k == 0 ? json : *manifest;
        const char *const are = k == 0 ? NULL : dsgd_manifest_other(folder, json, *manifest);
        if (are != NULL)
            return dsgd_refuse(
                error,
                "%s: the folder has %s, compared with %s; dsgd merges only results of "
                "one experiment by one program",
                folder, are, a->folders.v[0]);
    }
    return DSGD_OK;
}

/** Returns true if two results of a run are equal. Ignores sections that contain wall times. */
static bool is_alike(const dsgd_part *a, const dsgd_part *b)
{
    for (int k = DSGD_PART_CURVES; k < DSGD_PART_TABLES; k++)
        if (a->n_bytes[k] != b->n_bytes[k] ||
            (a->n_bytes[k] > 0 && memcmp(a->sections[k], b->sections[k], a->n_bytes[k]) != 0))
            return false;
    return true;
}

/** The folder from which the results of a run are taken. */
typedef struct source {
    const char *folder; /* folder that contains the results; NULL if no folder contains results of
                         * the run */
    bool is_done; /* true if the run ended normally; its results are preferred to the results of a
                   * failed run */
} source;

/**
 * Finds the results of run @p i. If several folders contain results of the completed run, the
 * results must be equal.
 */
static dsgd_status find_part(const arguments *a, size_t i, source *found, dsgd_error *error)
{
    dsgd_part best = {.text = NULL};
    for (size_t k = 0; k < a->folders.n; k++) {
        const char *const folder = a->folders.v[k];
        dsgd_part part;
        DSGD_TRY(dsgd_part_read(folder, i, &part, error));
        if (part.text != NULL && !dsgd_part_fits(&part, a->n_swept))
            return dsgd_refuse(
                error,
                "%s: the results were written by an older version of dsgd, with other "
                "columns; merge them with that version, or run them again",
                folder);
        const bool is_done = dsgd_part_state(&part) == DSGD_RUN_DONE;
        if (is_done && found->is_done && !is_alike(&part, &best))
            return dsgd_refuse(
                error,
                "run %zu has different results in %s and %s: a folder was changed, or "
                "the machines compute differently",
                i + 1, folder, found->folder);
        if (part.text != NULL && !found->is_done && (is_done || found->folder == NULL)) {
            best = part;
            *found = (source){folder, is_done};
        }
    }
    return DSGD_OK;
}

/**
 * Finds the results of all runs. Does not keep the results in memory, because they may not fit.
 * Returns an error if results of some runs are missing in all folders.
 */
static dsgd_status find_parts(const arguments *a, source *sources, size_t n_runs, dsgd_error *error)
{
    bool *const is_missing = dsgd_keep(n_runs + 1, sizeof *is_missing);
    size_t n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        void *const mark = dsgd_mark();
        DSGD_TRY(find_part(a, i, &sources[i], error));
        dsgd_drop(mark);
        is_missing[i] = sources[i].folder == NULL;
        n += is_missing[i];
    }
    if (n == 0)
        return DSGD_OK;
    return dsgd_refuse(error,
                       "%zu of %zu runs are missing or damaged in %s: %s; execute them with `dsgd "
                       "run --only`",
                       n, n_runs, a->folders.n == 1 ? "the folder" : "all of the folders",
                       dsgd_selection_text(is_missing, n_runs));
}

static dsgd_status copy_parts(const arguments *a, const source *sources, size_t n_runs,
                              dsgd_error *error)
{
    for (size_t i = 0; i < n_runs; i++) {
        void *const mark = dsgd_mark();
        dsgd_part part;
        DSGD_TRY(dsgd_part_read(sources[i].folder, i, &part, error));
        if (part.text != NULL) /* If there are no results of this run, join() returns an error about
                                * the missing row. */
            DSGD_TRY(dsgd_part_write(a->folder, i, part.sections[0], part.n_bytes, error));
        dsgd_drop(mark);
    }
    return DSGD_OK;
}

/** Writes the result files of a folder that already contains the parts of all runs. */
static dsgd_status join(const arguments *a, const json_t *manifest, size_t n_runs,
                        dsgd_error *error)
{
    const json_t *const names = json_object_get(manifest, "swept");
    const size_t n = json_array_size(names);
    const char **const columns = dsgd_keep(n + 1, sizeof *columns);
    for (size_t k = 0; k < n; k++)
        columns[k] = json_string_value(json_array_get(names, k));
    dsgd_results *const results = dsgd_results_new(a->folder, n_runs, columns, n);
    DSGD_TRY(dsgd_results_join(results, error));
    if (results->n_rows != n_runs)
        return dsgd_fail(error, DSGD_EIO,
                         "%s: only %zu of %zu rows were written; is the disk full?", a->folder,
                         results->n_rows, n_runs);
    return DSGD_OK;
}

static dsgd_status merge(const arguments *a, const json_t *manifest, dsgd_error *error)
{
    const size_t n_runs = json_array_size(json_object_get(manifest, "runs"));
    source *const sources = dsgd_keep(n_runs + 1, sizeof *sources);
    DSGD_TRY(find_parts(a, sources, n_runs, error));
    DSGD_TRY(dsgd_results_take(a->folder, manifest, n_runs, a->force, error));
    DSGD_TRY(copy_parts(a, sources, n_runs, error));
    DSGD_TRY(join(a, manifest, n_runs, error));
    size_t n_failed = 0;
    for (size_t i = 0; i < n_runs; i++)
        n_failed += !sources[i].is_done;
    printf("%s of %s\nresults: %s/runs.csv, curves.csv, workers.csv, "
           "manifest.json\n",
           dsgd_counted(n_runs, "run"), dsgd_counted(a->folders.n, "folder"), a->folder);
    return n_failed == 0 ? DSGD_OK
                         : dsgd_fail(error, DSGD_ERUNS,
                                     "%zu of %zu runs failed; the results of the others are in %s",
                                     n_failed, n_runs, a->folder);
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "DIR...",
        "Merges the results of an experiment whose runs were executed in several folders, by "
        "--only or "
        "--shard. The merged files are byte for byte those of one `dsgd run`, except wall times.",
        1,
        SIZE_MAX,
        "merge: give the results folders, such as `dsgd merge part1 part2 -o all`",
        merge_options};
    arguments a = {.folder = NULL};
    char *const command = dsgd_shell_command((size_t)count, words);
    json_t *manifest = NULL;
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    if (a.folder == NULL)
        return dsgd_refuse(error, "merge: give the folder of the merged results with -o DIR");
    DSGD_TRY(read_manifests(&a, &manifest, error));
    a.n_swept = json_array_size(json_object_get(manifest, "swept"));
    json_object_set_new(manifest, "command", dsgd_json_text(command));
    return merge(&a, manifest, error);
}

const dsgd_command dsgd_command_merge = {
    .name = "merge",
    .usage = "DIR... -o DIR",
    .summary = "merges several results folders into one",
    .run = run,
};
