/**
 * @file config.h
 * Reads YAML or JSON files by option tables (base/option.h). Only the files that implement this
 * header use libfyaml. Every error has the form file:line:column, the value, and what is allowed.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/** A file that was read. */
typedef struct dsgd_config dsgd_config;

/** A place in a file: a mapping, a list or a scalar. */
typedef struct fy_node dsgd_yaml;

dsgd_status dsgd_config_open(const char *path, dsgd_config **config, dsgd_error *error);

/** Opens a file that @p from names. The file is read and stored once, even if many runs name it. */
dsgd_status dsgd_config_open_named(dsgd_config *from, const char *path, dsgd_config **config,
                                   dsgd_error *error);

dsgd_yaml *dsgd_config_root(dsgd_config *config);

/**
 * For edit.c: parses a text as YAML. Returns NULL if it is not YAML. The caller must keep the text.
 */
struct fy_document *dsgd_config_document(const char *text);

/** For edit.c: makes errors about this part name the assignment, and finds the sweeps again. */
void dsgd_config_note_override(dsgd_config *config, dsgd_yaml *part, const char *assignment);

/** Returns a path that the file contains: relative to the file if that exists, else unchanged. */
const char *dsgd_config_path(dsgd_config *config, const char *path);

/** Notes a data file that the runs will read. */
void dsgd_config_note_data(dsgd_config *config, const char *path);

/** Returns all noted data files, and then NULL. */
const char *const *dsgd_config_data_files(const dsgd_config *config);

/** Returns the value of a key, or NULL. */
dsgd_yaml *dsgd_yaml_find(dsgd_yaml *mapping, const char *key);

/**
 * Finds the next value of a mapping with its key, or the next element of a list (with NULL as key).
 * Returns false after the last.
 */
bool dsgd_yaml_next(dsgd_yaml *entry, void **iterator, dsgd_yaml **key, dsgd_yaml **value);

/**
 * Returns the elements of a list, [*n]. Any other entry counts as a list with one element, and NULL
 * as an empty list.
 */
dsgd_yaml **dsgd_yaml_elements(dsgd_yaml *entry, size_t *n);

/** Returns whether an entry (not NULL) is @p whole or lies below it. */
bool dsgd_yaml_is_in(dsgd_yaml *entry, dsgd_yaml *whole);

/** Returns the text of a scalar; NULL for any other entry. */
const char *dsgd_yaml_text(dsgd_yaml *entry);

/** Returns an entry as YAML in one line. */
char *dsgd_yaml_yaml(dsgd_yaml *entry);

/** Fails with an error of the form `file:line:column: text`. */
dsgd_status dsgd_yaml_fail(dsgd_config *config, dsgd_yaml *entry, dsgd_error *error,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * Fills @p params from a mapping. Skips keys in @p elsewhere (NULL-terminated, may be NULL), and
 * keys that multiply runs. A NULL mapping gives the defaults.
 */
dsgd_status dsgd_config_read(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                             const char *const *elsewhere, void *params, dsgd_error *error);

/** Like dsgd_config_read(), but keys that the mapping lacks leave @p params unchanged. */
dsgd_status dsgd_config_refine(dsgd_config *config, dsgd_yaml *mapping, const dsgd_option *options,
                               const char *const *elsewhere, void *params, dsgd_error *error);

/** Reads one value into its field of @p params. */
dsgd_status dsgd_config_read_value(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o,
                                   void *params, dsgd_error *error);

/* --- other values ----------------------------------------------------------------------------- */

/** Applies `a.b.c=value`, where the value is YAML. Elements of lists are named by their index. */
dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error);

/**
 * Returns the text of a file after assignments as in `--set`, without comments, and with aliases
 * resolved.
 */
dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               char **text, dsgd_error *error);

/**
 * Checks that a file has the values of @p given, written alike, except at and below the paths in @p
 * free_paths (NULL-terminated), such as algorithms.0.period, and except `name` and `task`. A file
 * may be named by another path. DSGD_EUSAGE names the first other key that differs, and its place.
 * Call it after dsgd_config_spread() of both.
 */
dsgd_status dsgd_config_check_changes(dsgd_config *config, dsgd_config *given,
                                      const char *const *free_paths, dsgd_error *error);

/* --- sweeps: a value written {sweep: [a, b]} stands for each of them in turn ------------------ */

/** A sweep in a file. */
typedef struct dsgd_sweep {
    dsgd_yaml *entry;
    const char *path; /* path such as imbalance.0.seconds */
    size_t n;
    dsgd_yaml **values; /* [n] */
    size_t chosen; /* index of the value that the reader takes */
    bool is_range; /* its values are computed from a range */
    bool is_number; /* the option that was read from it is a number */
    const char *unit; /* unit of that number; NULL if it has none */
} dsgd_sweep;

/** Replaces the range of a sweep by a list, which is YAML. */
void dsgd_sweep_spread(dsgd_config *config, dsgd_sweep *sweep, const char *list);

/**
 * Replaces each range, such as {sweep: {from: 1ms, to: 1s, n: 4, log: true}}, by its numbers. Call
 * it after all overrides. (range.c)
 */
dsgd_status dsgd_config_spread(dsgd_config *config, dsgd_error *error);

/** Returns the *n sweeps, in the order of the file. */
dsgd_sweep **dsgd_config_sweeps(dsgd_config *config, size_t *n);

/** Returns the entry, or the chosen value if the entry is a sweep. Returns NULL for NULL. */
dsgd_yaml *dsgd_yaml_chosen(dsgd_config *config, dsgd_yaml *entry);

/** Like dsgd_yaml_chosen(), but also notes whether the option is a number, and its unit. */
dsgd_yaml *dsgd_yaml_chosen_for(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o);

/**
 * Returns the chosen value for a column of the results. A number is in the unit of its option
 * without a suffix (1250000000 for 1.25GB/s); any other value is unchanged. Call it after the value
 * was read.
 */
const char *dsgd_sweep_text(dsgd_config *config, const dsgd_sweep *sweep);
