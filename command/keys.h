/**
 * @file keys.h
 * Describes the keys of files. The descriptions are made from the option tables that read these
 * files.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/**
 * Prints the keys of an option table and all nested keys, with defaults, units, limits and
 * meanings. @p options may be NULL.
 */
void dsgd_keys_print(const dsgd_option *options, int indent);

/**
 * Returns the keys of a file: `experiment`, `platform`, `workload`, `imbalance` or `task`. @p path
 * can also be a key of an experiment, such as `learn.optimizer`. Returns NULL if @p path is
 * unknown.
 */
const dsgd_option *dsgd_keys_of(const char *path);

/** Prints a description of the keys that dsgd_keys_of() returned. */
void dsgd_keys_describe(const dsgd_option *keys);

/** Prints keys as a Markdown table with the columns key, default and meaning. Omits nested keys. */
void dsgd_keys_markdown(const dsgd_option *keys);

/** Prints the JSON Schema (draft 2020-12) of keys. */
dsgd_status dsgd_keys_schema(const dsgd_option *keys, dsgd_error *error);
