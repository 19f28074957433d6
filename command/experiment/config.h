/**
 * @file config.h
 * YAML or JSON files, read by option tables (base/option.h). Only what implements this header
 * knows libfyaml. Every refusal is one sentence: file:line:column, the value, what is allowed.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

/** A file that was read. */
typedef struct dsgd_config dsgd_config;

/** A place in a file: a mapping, a list or a scalar. */
typedef struct fy_node dsgd_yaml;

dsgd_status dsgd_config_open(const char *path, dsgd_config **config, dsgd_error *error);

/**
 * Opens a file that @p from names, once for the file that led to @p from. However many runs name
 * it, it is read and held in memory once.
 */
dsgd_status dsgd_config_open_named(dsgd_config *from, const char *path, dsgd_config **config,
                                   dsgd_error *error);

dsgd_yaml *dsgd_config_root(dsgd_config *config);

/** For edit.c: a text as YAML, NULL where it is none. The text has to be kept. */
struct fy_document *dsgd_config_document(const char *text);

/** For edit.c: sentences on this part name the assignment. Finds the sweeps again. */
void dsgd_config_note_override(dsgd_config *config, dsgd_yaml *part, const char *assignment);

/** A path in the file: beside the file if that exists, else unchanged. */
const char *dsgd_config_path(dsgd_config *config, const char *path);

/** Notes a file of data that the runs will read. */
void dsgd_config_note_data(dsgd_config *config, const char *path);

/** All that were noted, and then NULL. */
const char *const *dsgd_config_data_files(const dsgd_config *config);

/** The value of a key, or NULL. */
dsgd_yaml *dsgd_yaml_find(dsgd_yaml *mapping, const char *key);

/** The next value of a mapping, with its key, or element of a list (key: NULL). False: no more. */
bool dsgd_yaml_next(dsgd_yaml *entry, void **iterator, dsgd_yaml **key, dsgd_yaml **value);

/** A list's elements, [*n]; anything else counts as a list of one, NULL as none. */
dsgd_yaml **dsgd_yaml_elements(dsgd_yaml *entry, size_t *n);

/** Whether an entry (not NULL) is @p whole, or stands below it. */
bool dsgd_yaml_is_in(dsgd_yaml *entry, dsgd_yaml *whole);

/** Text of a scalar; NULL for anything else. */
const char *dsgd_yaml_text(dsgd_yaml *entry);

/** YAML of one line for it. */
char *dsgd_yaml_yaml(dsgd_yaml *entry);

/** Fails with `file:line:column: sentence`. */
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

/** Applies `a.b.c=value`, the value being YAML; elements of lists are named by index. */
dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error);

/**
 * The text of a file after assignments as of `--set`, written anew: without comments, and with
 * aliases resolved.
 */
dsgd_status dsgd_config_edited(const char *path, const char *const *assignments, size_t n,
                               char **text, dsgd_error *error);

/**
 * Demands that a file has the values of @p given, written alike, but at and below the paths in
 * @p free_paths (NULL-terminated), such as algorithms.0.period, and its `name` and `task`. A file
 * may be called by another path. DSGD_EUSAGE names the first other key and its place. After
 * dsgd_config_spread() of both.
 */
dsgd_status dsgd_config_check_changes(dsgd_config *config, dsgd_config *given,
                                      const char *const *free_paths, dsgd_error *error);

/* --- sweeps: a value written {sweep: [a, b]} stands for each of them in turn ------------------ */

/** One sweep found in a file. */
typedef struct dsgd_sweep {
    dsgd_yaml *entry;
    const char *path; /* such as imbalance.0.seconds */
    size_t n;
    dsgd_yaml **values; /* [n] */
    size_t chosen; /* which the reader takes */
    bool is_range; /* its values are computed */
    bool is_number; /* the option that has been read from it is one, ... */
    const char *unit; /* ... in this unit; NULL: none */
} dsgd_sweep;

/** Puts a list, which is YAML, in place of a sweep's range. */
void dsgd_sweep_spread(dsgd_config *config, dsgd_sweep *sweep, const char *list);

/**
 * Puts the numbers in place of each range, {sweep: {from: 1ms, to: 1s, n: 4, log: true}}. After all
 * overrides. (range.c)
 */
dsgd_status dsgd_config_spread(dsgd_config *config, dsgd_error *error);

/** The *n sweeps, in the order of the file. */
dsgd_sweep **dsgd_config_sweeps(dsgd_config *config, size_t *n);

/** The entry, or the chosen value where it is a sweep. NULL gives NULL. */
dsgd_yaml *dsgd_yaml_chosen(dsgd_config *config, dsgd_yaml *entry);

/** The same for an option: notes whether it is a number, and its unit. */
dsgd_yaml *dsgd_yaml_chosen_for(dsgd_config *config, dsgd_yaml *entry, const dsgd_option *o);

/**
 * The chosen value for a column of the results: of an option that is a number, in its unit without
 * a suffix (1250000000 for 1.25GB/s); else as it is written. After it was read.
 */
const char *dsgd_sweep_text(dsgd_config *config, const dsgd_sweep *sweep);
