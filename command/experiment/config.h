/**
 * @file config.h
 * Reads YAML or JSON files according to option tables (base/option.h). Only the files that
 * implement this header use libfyaml. Every error message contains file:line:column, the value, and
 * the valid values.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/** A YAML or JSON file that was read. */
typedef struct dsgd_config dsgd_config;

/** An entry of a file: a mapping, a list or a scalar. */
typedef struct fy_node dsgd_yaml;

dsgd_status dsgd_config_open(const char *path, dsgd_config **config, dsgd_error *error);

/**
 * Opens a file whose name is in the file @p from. Reads and stores the file only once, even if many
 * runs name it.
 */
dsgd_status dsgd_config_open_named(dsgd_config *from, const char *path, dsgd_config **config,
                                   dsgd_error *error);

dsgd_yaml *dsgd_config_root(dsgd_config *config);

/**
 * Parses a text as YAML. Returns NULL if the text is not YAML. The caller must keep the text as
 * long as the document. edit.c uses this function.
 */
struct fy_document *dsgd_config_document(const char *text);

/**
 * Makes error messages about @p part print the assignment of --set. Also finds the sweeps again.
 * edit.c uses this function.
 */
void dsgd_config_note_override(dsgd_config *config, dsgd_yaml *part, const char *assignment);

/**
 * Returns the path to open for a path in the file. If the file's folder contains such a file, the
 * path is relative to this folder; otherwise the path is unchanged.
 */
const char *dsgd_config_path(dsgd_config *config, const char *path);

/** Adds a path to the list of the data files that the runs read. */
void dsgd_config_note_data(dsgd_config *config, const char *path);

/** Returns the list of the data files that the runs read. The last element is NULL. */
const char *const *dsgd_config_data_files(const dsgd_config *config);

/** Returns the value of a key in a mapping, or NULL if the mapping lacks the key. */
dsgd_yaml *dsgd_yaml_find(dsgd_yaml *mapping, const char *key);

/**
 * Finds the next key and value of a mapping, or the next element of a list (then *key is NULL).
 * Returns false after the last element.
 */
bool dsgd_yaml_next(dsgd_yaml *entry, void **iterator, dsgd_yaml **key, dsgd_yaml **value);

/**
 * Returns the elements of a list, and stores their number in *n. An entry that is not a list counts
 * as a list with one element; NULL counts as an empty list.
 */
dsgd_yaml **dsgd_yaml_elements(dsgd_yaml *entry, size_t *n);

/** Returns true if an entry (not NULL) is the entry @p whole or lies inside @p whole. */
bool dsgd_yaml_is_in(dsgd_yaml *entry, dsgd_yaml *whole);

/** Returns the text of a scalar, or NULL if the entry is not a scalar. */
const char *dsgd_yaml_text(dsgd_yaml *entry);

/** Returns an entry as YAML in one line. */
char *dsgd_yaml_yaml(dsgd_yaml *entry);

/** Sets an error of the form `file:line:column: text`, and returns its status. */
dsgd_status dsgd_yaml_fail(dsgd_config *config, dsgd_yaml *entry, dsgd_error *error,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * Reads the fields of @p params from a mapping. Skips the keys in the list @p elsewhere (ends with
 * NULL, may be NULL) and the keys whose lists multiply runs. If @p mapping is NULL, sets the
 * defaults.
 */
dsgd_status dsgd_config_read(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                             const char *const *elsewhere, void *params, dsgd_error *error);

/**
 * Reads the fields of @p params from a mapping. Unlike dsgd_config_read(), keeps the values of keys
 * that the mapping lacks.
 */
dsgd_status dsgd_config_refine(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                               const char *const *elsewhere, void *params, dsgd_error *error);

/** Reads the value of one option into the option's field of @p params. */
dsgd_status dsgd_config_read_value(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o,
                                   void *params, dsgd_error *error);

/* --- changes of values ------------------------------------------------------------------------ */

/**
 * Applies an assignment `a.b.c=value` to the file. The value is YAML. A number in the path is the
 * index of an element of a list.
 */
dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error);

/**
 * Stores in *text the content of a file after assignments of `--set`. The text has no comments, and
 * its aliases are resolved.
 */
dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               char **text, dsgd_error *error);

/**
 * Checks that a file has the same values, with the same spelling, as the file @p given. Ignores
 * `name`, `task`, and values at and below the paths in @p free_paths, such as algorithms.0.period.
 * The list @p free_paths ends with NULL. Different paths to the same file count as equal. Returns
 * DSGD_EUSAGE with the name and position of the first key that differs. Call dsgd_config_spread()
 * for both files first.
 */
dsgd_status dsgd_config_check_changes(dsgd_config *config, dsgd_config *given,
                                      const char *const *free_paths, dsgd_error *error);

/* --- sweeps: {sweep: [a, b]} gives one run per value ------------------------------------------ */

/** A sweep in a file: one key with several values. */
typedef struct dsgd_sweep {
    dsgd_yaml *entry;
    const char *path; /* path of the swept key, such as imbalance.0.seconds */
    size_t n;
    dsgd_yaml **values; /* array of n values */
    size_t chosen; /* index of the value that the current run uses */
    bool is_range; /* true if the values are computed from a range */
    bool is_number; /* true if the swept option is a number */
    const char *unit; /* unit of the swept number; NULL if it has no unit */
} dsgd_sweep;

/** Replaces the range of a sweep by @p list, which is a YAML list of values. */
void dsgd_sweep_spread(dsgd_config *config, dsgd_sweep *sweep, const char *list);

/**
 * Replaces each range, such as {sweep: {from: 1ms, to: 1s, n: 4, log: true}}, by a list of its
 * numbers. Call this function after all overrides. (range.c)
 */
dsgd_status dsgd_config_spread(dsgd_config *config, dsgd_error *error);

/** Returns the *n sweeps of a file, in the order of the file. */
dsgd_sweep **dsgd_config_sweeps(dsgd_config *config, size_t *n);

/**
 * Returns the entry itself, or the chosen value if the entry is a sweep. If @p entry is NULL,
 * returns NULL.
 */
dsgd_yaml *dsgd_yaml_chosen(dsgd_config *config, dsgd_yaml *entry);

/**
 * Returns the same value as dsgd_yaml_chosen(). If the entry is a sweep, also stores in the sweep
 * whether the option is a number, and its unit.
 */
dsgd_yaml *dsgd_yaml_chosen_for(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o);

/**
 * Returns the chosen value of a sweep as a text for a column of the results. Converts a number to
 * the unit of its option, without a suffix (1250000000 for 1.25GB/s). Does not change other values.
 * Call this function after the value was read.
 */
const char *dsgd_sweep_text(dsgd_config *config, const dsgd_sweep *sweep);
