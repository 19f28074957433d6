/**
 * @file json.h
 * Options as JSON, and the runs of a manifest.
 */
#pragma once

#include <jansson.h>

#include "base/option.h"
#include "base/status.h"

/** A text; null for NULL; bytes that are no UTF-8 as \xHH. */
json_t *dsgd_json_text(const char *text);

/** A text as YAML reads it: as it is, or in JSON's quotes where it may mean something else. */
char *dsgd_yaml_word(const char *text);

/** All options of a table with their values. */
json_t *dsgd_json_options(const dsgd_option *options, const void *params);

/** The options of a pick, and its name under "name"; null for none. */
json_t *dsgd_json_spec(const dsgd_spec *pick);

/**
 * The JSON of a file; NULL: it is not there, or no JSON (or cannot be read: dsgd_file_unread()).
 */
json_t *dsgd_json_file(const char *path);

/*
 * Runs of a manifest, each with what differs from the one before: a hundredth of 100,000 whole
 * ones. What is left out are members, and keys of members that are mappings, but for `algorithm`,
 * which has other keys where it is another.
 */

/** In which a run differs from all that those before had. */
json_t *dsgd_runs_differ(const json_t *before, const json_t *run);

/** Adds what differs in a run to what those before had, {} at first. */
void dsgd_runs_take(json_t *before, json_t *differs);

/** Gives each of a list all that it has. */
void dsgd_runs_unfold(json_t *runs);
