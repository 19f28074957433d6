/**
 * @file json.h Functions that write options as JSON, and that read JSON files.
 */
#pragma once

#include <jansson.h>

#include "base/option.h"
#include "base/status.h"

/**
 * Returns a text as a JSON string, or as null if @p text is NULL. Bytes that are not UTF-8 become
 * \xHH.
 */
json_t *dsgd_json_text(const char *text);

/**
 * Returns a text for YAML. The text is unchanged, or in JSON's quotes if YAML could read it as
 * something else, such as a number.
 */
char *dsgd_yaml_word(const char *text);

/** Returns a JSON object with all options of a table and their values in @p params. */
json_t *dsgd_json_options(const dsgd_option *options, const void *params);

/**
 * Returns a JSON object with the options of @p pick, and the name of its entry under "name".
 * Returns null if @p pick has no entry.
 */
json_t *dsgd_json_spec(const dsgd_spec *pick);

/**
 * Returns the contents of a JSON file. Returns NULL if the file does not exist, is not JSON, or
 * cannot be read (see dsgd_file_unread()).
 */
json_t *dsgd_json_file(const char *path);
