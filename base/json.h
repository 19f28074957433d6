/**
 * @file json.h Options and the runs of a manifest as JSON.
 */
#pragma once

#include <jansson.h>

#include "base/option.h"
#include "base/status.h"

/** Returns a text as JSON: null for NULL. Bytes that are not UTF-8 become \xHH. */
json_t *dsgd_json_text(const char *text);

/**
 * Returns a text in the form in which YAML reads it back: unchanged, or in JSON's quotes if it
 * could be read as something else.
 */
char *dsgd_yaml_word(const char *text);

/** Returns all options of a table with their values. */
json_t *dsgd_json_options(const dsgd_option *options, const void *params);

/** Returns the options of a pick, and its name under "name"; null if nothing is picked. */
json_t *dsgd_json_spec(const dsgd_spec *pick);

/**
 * Returns the JSON of a file, or NULL if it does not exist or is not JSON (or cannot be read:
 * dsgd_file_unread()).
 */
json_t *dsgd_json_file(const char *path);
