/**
 * @file manifest.h
 * DIR/manifest.json: the experiment, versions and inputs that produced the results. Two folders
 * with equal manifests have equal results.
 *
 * Each run in the list `runs` contains only what differs from the run before. This takes a
 * hundredth of the size of 100,000 complete runs. Members are left out, and so are keys of members
 * that are mappings, except those of `algorithm`, which has other keys if the algorithm changes.
 */
#pragma once

#include <jansson.h>

#include "base/status.h"

/** Returns the members and keys of a run that differ from those of the runs before it. */
json_t *dsgd_runs_differ(const json_t *before, const json_t *run);

/** Adds the differences of a run to the members of the runs before it, which are {} at first. */
void dsgd_runs_take(json_t *before, json_t *differs);

/** Returns the manifest of a folder, or NULL if it has none that is JSON. */
json_t *dsgd_manifest_read(const char *folder);

/** Gives each run of a manifest all its members. Returns the manifest, which may be NULL. */
json_t *dsgd_manifest_unfold(json_t *manifest);

dsgd_status dsgd_manifest_write(const char *folder, const json_t *manifest, dsgd_error *error);

/**
 * Returns how the results of a folder with manifest @p old (NULL if it has none that is JSON)
 * differ from the results that would be written; NULL if they do not differ or if there are no
 * results.
 */
const char *dsgd_manifest_other(const char *folder, const json_t *old, const json_t *new);
