/**
 * @file keys.h
 * Describes the keys of files, from the option tables that read them.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/**
 * Prints the keys of a table with defaults, units, limits and meanings, and the keys below them.
 * @p options may be NULL.
 */
void dsgd_keys_print(const dsgd_option *options, int indent);

/**
 * Returns the keys of a file (`experiment`, `platform`, `workload`, `imbalance` or `task`) or of a
 * key of an experiment, such as `learn.optimizer`; NULL if none exist.
 */
const dsgd_option *dsgd_keys_of(const char *path);

/** Prints a description of the keys that dsgd_keys_of() returned. */
void dsgd_keys_describe(const dsgd_option *keys);

/** Prints them as a Markdown table of key, default and meaning, without the keys below them. */
void dsgd_keys_markdown(const dsgd_option *keys);

/** Prints their JSON Schema (draft 2020-12). */
dsgd_status dsgd_keys_schema(const dsgd_option *keys, dsgd_error *error);
