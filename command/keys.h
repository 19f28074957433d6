/**
 * @file keys.h
 * The keys of files, described and as JSON Schema, by the option tables that read them.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/**
 * Prints on stdout the keys of a table with defaults, units, limits and meaning, and the keys below
 * them. @p options: NULL for none.
 */
void dsgd_keys_print(const dsgd_option *options, int indent);

/**
 * The keys of a file: `experiment`, `platform`, `workload` or `imbalance`; or of one key of an
 * experiment, such as `learn.optimizer`. NULL: there is none.
 */
const dsgd_option *dsgd_keys_of(const char *path);

/** Describes what dsgd_keys_of() found, on stdout. */
void dsgd_keys_describe(const dsgd_option *keys);

/** Prints it as a table of Markdown: key, default, meaning; keys below them have tables of their
 * own. */
void dsgd_keys_markdown(const dsgd_option *keys);

/** Prints the JSON Schema (draft 2020-12) of what dsgd_keys_of() found. */
dsgd_status dsgd_keys_schema(const dsgd_option *keys, dsgd_error *error);
