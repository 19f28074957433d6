/**
 * @file merge.c
 * `dsgd merge`: the results of one experiment, done in parts in several folders, as one folder.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/console/arguments.h"
#include "command/console/command.h"
#include "command/runs/manifest.h"
#include "command/runs/parts.h"
#include "command/runs/results.h"
#include "command/runs/selection.h"

typedef struct arguments {
    dsgd_operands folders;
    const char *folder;
    bool force;
} arguments;

static const dsgd_argument merge_options[] = {
    DSGD_ARGUMENT(TEXT, folder, "output", 'o', "DIR", "Folder of the merged results"),
    DSGD_ARGUMENT(FLAG, force, "force", 0, NULL, "Replaces the results that are there"),
    {.name = NULL},
};

/** Refuses folders whose results are not of one experiment by one program. */
static dsgd_status read_manifests(const arguments *a, json_t **manifest, dsgd_error *error)
{
    const char *const first = a->folders.v[0];
    *manifest = NULL;
    dsgd_status status = DSGD_OK;
    for (size_t k = 0; k < a->folders.n && status == DSGD_OK; k++) {
        const char *const folder = a->folders.v[k];
        json_t *const json = dsgd_manifest_read(folder);
        const char *are = NULL;
        if (!json_is_array(json_object_get(json, "runs")))
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "%s: this is no folder of results: it has no manifest.json", folder);
        else if (!json_is_array(json_object_get(json, "swept")))
            status =
                dsgd_fail(error, DSGD_EUSAGE,
                          "%s: the folder has results of an older version of dsgd, whose files "
                          "have other columns; merge them by that version, or run them again",
                          folder);
        else if (*manifest != NULL && (are = dsgd_manifest_other(folder, json, *manifest)) != NULL)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "%s: the folder has %s, compared with %s; what is merged is of one "
                               "experiment by one program",
                               folder, are, first);
        if (*manifest == NULL && status == DSGD_OK)
            *manifest = json;
        else
            json_decref(json);
    }
    return status;
}

/** Sections without wall times: two folders that have them of one run have the same. */
static bool is_alike(const dsgd_part *a, const dsgd_part *b)
{
    for (int k = DSGD_PART_CURVES; k < DSGD_PART_TABLES; k++)
        if (a->n_bytes[k] != b->n_bytes[k] ||
            memcmp(a->sections[k], b->sections[k], a->n_bytes[k]) != 0)
            return false;
    return true;
}

/** The part of run @p i, of a run that is done if there is one; its text is NULL without any. */
static dsgd_status find_part(const arguments *a, size_t i, dsgd_part *found, bool *is_done,
                             dsgd_error *error)
{
    const char *where = NULL;
    *found = (dsgd_part){.text = NULL};
    *is_done = false;
    dsgd_status status = DSGD_OK;
    for (size_t k = 0; k < a->folders.n && status == DSGD_OK; k++) {
        const char *const folder = a->folders.v[k];
        dsgd_part p = {.text = NULL};
        dsgd_run_state state = DSGD_RUN_ABSENT;
        status = dsgd_results_state(folder, i, &state, error);
        if (status == DSGD_OK)
            status = dsgd_part_read(folder, i, &p, error);
        const bool done = state == DSGD_RUN_DONE && p.text != NULL;
        if (done && *is_done && !is_alike(&p, found))
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "run %zu has other results in %s than in %s; one of the folders "
                               "was changed, or a machine computes otherwise",
                               i + 1, folder, where);
        if (status == DSGD_OK && p.text != NULL && !*is_done && (done || found->text == NULL)) {
            free(found->text);
            *found = p;
            *is_done = done;
            where = folder;
        } else {
            free(p.text);
        }
    }
    if (status != DSGD_OK) {
        free(found->text);
        found->text = NULL;
    }
    return status;
}

/** Copies the parts, or without @p folder looks for them; has[i]: there is none of run i. */
static dsgd_status take_parts(const arguments *a, const char *folder, size_t n_runs, bool *has,
                              size_t *n_failed, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    *n_failed = 0;
    for (size_t i = 0; i < n_runs && status == DSGD_OK; i++) {
        dsgd_part p;
        bool is_done = false;
        status = find_part(a, i, &p, &is_done, error);
        has[i] = p.text == NULL;
        *n_failed += !is_done;
        size_t ends[DSGD_PART_SECTIONS];
        for (int k = 0; k < DSGD_PART_SECTIONS; k++)
            ends[k] = (k == 0 ? 0 : ends[k - 1]) + p.n_bytes[k];
        if (status == DSGD_OK && folder != NULL && p.text != NULL)
            status = dsgd_part_write(folder, i, p.sections[0], ends, error);
        free(p.text);
    }
    return status;
}

/** Refuses to merge a part of the runs. */
static dsgd_status refuse_missing(const arguments *a, const bool *is_missing, size_t n_runs,
                                  dsgd_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < n_runs; i++)
        n += is_missing[i];
    if (n == 0)
        return DSGD_OK;
    char *const text = dsgd_selection_text(is_missing, n_runs);
    dsgd_fail(error, DSGD_EUSAGE,
              "%zu of %zu runs are missing or damaged in %s: %s; `dsgd run` with --only and these "
              "does them",
              n, n_runs, a->folders.n == 1 ? "the folder" : "all of the folders", text);
    free(text);
    return DSGD_EUSAGE;
}

/** labels.csv is of the whole experiment, and the same in every folder that has it. */
static dsgd_status copy_labels(const arguments *a, dsgd_error *error)
{
    for (size_t k = 0; k < a->folders.n; k++) {
        char *text = NULL;
        size_t n = 0;
        if (!dsgd_can_read("%s/labels.csv", a->folders.v[k]))
            continue;
        char *const path = dsgd_xprintf("%s/labels.csv", a->folders.v[k]);
        dsgd_status status = dsgd_file_read(path, &text, &n, error);
        dsgd_whole_file file;
        if (status == DSGD_OK && dsgd_whole_open(&file, error, "%s/labels.csv", a->folder) == NULL)
            status = DSGD_EIO;
        if (status == DSGD_OK) {
            fwrite(text, 1, n, file.stream);
            status = dsgd_whole_close(&file, error);
        }
        free(text);
        free(path);
        return status;
    }
    return DSGD_OK;
}

/** Writes the tables of a folder that has all parts. */
static dsgd_status join(const arguments *a, const json_t *manifest, size_t n_runs,
                        dsgd_error *error)
{
    const json_t *const names = json_object_get(manifest, "swept");
    const size_t n = json_array_size(names);
    const char **const columns = dsgd_xcalloc(n + 1, sizeof *columns);
    for (size_t k = 0; k < n; k++)
        columns[k] = json_string_value(json_array_get(names, k));
    const dsgd_results_shape shape = {n_runs, n, columns};
    size_t n_rows = 0;
    const dsgd_status status = dsgd_results_join(a->folder, &shape, &n_rows, error);
    free(columns);
    if (status == DSGD_OK && n_rows != n_runs)
        return dsgd_fail(error, DSGD_EIO, "%s: %zu of %zu rows are there; is the disk full?",
                         a->folder, n_rows, n_runs);
    return status;
}

static dsgd_status merge(const arguments *a, json_t *manifest, dsgd_error *error)
{
    const size_t n_runs = json_array_size(json_object_get(manifest, "runs"));
    bool *const is_missing = dsgd_xcalloc(n_runs + 1, sizeof *is_missing);
    size_t n_failed = 0;
    dsgd_status status = take_parts(a, NULL, n_runs, is_missing, &n_failed, error);
    if (status == DSGD_OK)
        status = refuse_missing(a, is_missing, n_runs, error);
    if (status == DSGD_OK)
        status = dsgd_results_take(a->folder, manifest, n_runs, a->force, error);
    if (status == DSGD_OK)
        status = take_parts(a, a->folder, n_runs, is_missing, &n_failed, error);
    free(is_missing);
    if (status == DSGD_OK)
        status = join(a, manifest, n_runs, error);
    if (status == DSGD_OK)
        status = copy_labels(a, error);
    if (status != DSGD_OK)
        return status;
    printf("%zu runs of %zu folders\nresults: %s/runs.csv, curves.csv, workers.csv, "
           "manifest.json\n",
           n_runs, a->folders.n, a->folder);
    if (n_failed > 0)
        return dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed; the others are in %s",
                         n_failed, n_runs, a->folder);
    return DSGD_OK;
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "DIR...",
        "Merges the results of an experiment whose runs were done in several folders, by --only or "
        "--shard: the bytes of one `dsgd run`, but for wall times.",
        1,
        SIZE_MAX,
        "merge: give the folders of results",
        merge_options};
    arguments a = {.folder = NULL};
    char *const command = dsgd_shell_command((size_t)count, words);
    json_t *manifest = NULL;
    dsgd_status status = dsgd_parse(count, words, &syntax, &a, error);
    if (status == DSGD_OK && a.folder == NULL)
        status = dsgd_fail(error, DSGD_EUSAGE, "merge: give the folder of the merged results, -o");
    if (status == DSGD_OK)
        status = read_manifests(&a, &manifest, error);
    if (status == DSGD_OK) {
        json_object_set_new(manifest, "command", dsgd_json_text(command));
        status = merge(&a, manifest, error);
    }
    json_decref(manifest);
    free(command);
    return status;
}

const dsgd_command dsgd_command_merge = {
    .name = "merge",
    .usage = "DIR... -o DIR",
    .summary = "makes one folder of the results of several",
    .run = run,
};
