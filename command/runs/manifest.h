/**
 * @file manifest.h
 * Defines DIR/manifest.json, which contains the experiment, versions and inputs that produced the
 * results. Two folders with equal manifests have equal results.
 *
 * Each run in the list `runs` contains only its differences from the previous run. For 100,000
 * runs, the file is a hundredth of the size of a file with complete runs. Members that are equal
 * are omitted. In members that are mappings, equal keys are omitted too. An exception is
 * `algorithm`, whose keys depend on the algorithm.
 */
#pragma once

#include <jansson.h>

#include "base/status.h"

/** Returns the members and keys of @p run that differ from the previous run @p before. */
json_t *dsgd_runs_differ(const json_t *before, const json_t *run);

/**
 * Applies the differences of a run to @p before, which contains the members of the previous run. @p
 * before is {} for the first run.
 */
void dsgd_runs_take(json_t *before, json_t *differs);

/**
 * Returns the manifest of a results folder. Returns NULL if the file does not exist or is not JSON.
 */
json_t *dsgd_manifest_read(const char *folder);

/**
 * Completes the members of all runs in a manifest. Returns the manifest. The manifest may be NULL.
 */
json_t *dsgd_manifest_unfold(json_t *manifest);

dsgd_status dsgd_manifest_write(const char *folder, const json_t *manifest, dsgd_error *error);

/**
 * Compares the results in a folder with the results that a command would write. @p old is the
 * folder's manifest, or NULL. Returns a text that describes the difference. Returns NULL if the
 * results are equal or if the folder has no results.
 */
const char *dsgd_manifest_other(const char *folder, const json_t *old, const json_t *new);
