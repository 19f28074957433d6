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
