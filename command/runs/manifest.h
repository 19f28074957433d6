/**
 * @file manifest.h
 * DIR/manifest.json: experiment, versions and inputs that produced the results. Two folders with
 * equal manifests have equal results. Each run of the list `runs` has what differs from the run
 * before: a hundredth of 100,000 whole ones. Members are left out, and keys of members that are
 * mappings, except of `algorithm`, which has other keys if the algorithm is another.
 */
#pragma once

#include <jansson.h>

#include "base/status.h"

/** The members and keys of a run that are not those of the runs before it. */
json_t *dsgd_runs_differ(const json_t *before, const json_t *run);

/** Adds what differs in a run to what the runs before it had, {} at first. */
void dsgd_runs_take(json_t *before, json_t *differs);

/** The manifest of a folder; NULL: the folder has none that is JSON. */
json_t *dsgd_manifest_read(const char *folder);

/** Gives each run of a manifest (NULL: there is none) all its members; returns the manifest. */
json_t *dsgd_manifest_unfold(json_t *manifest);

dsgd_status dsgd_manifest_write(const char *folder, const json_t *manifest, dsgd_error *error);

/**
 * In which way a folder's results, whose manifest is @p old (NULL: none that is JSON), are not what
 * would be written; NULL: they are, or there are none.
 */
const char *dsgd_manifest_other(const char *folder, const json_t *old, const json_t *new);
