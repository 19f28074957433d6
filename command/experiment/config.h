/**
 * @file config.h
 * Files for people: YAML or JSON, read by option tables (base/option.h). config.c, read.c and override.c are the
 * only files that know libfyaml.
 *
 * Every refusal is one sentence that begins with file:line:column and names the value and what is allowed.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_CONFIG_H
#define DSGD_COMMAND_EXPERIMENT_CONFIG_H

#include "base/option.h"
#include "base/status.h"

/** A file that was read, and the memory of all that was read out of it. */
typedef struct dsgd_config dsgd_config;

/** A place in a file: a mapping, a list or a scalar. */
typedef struct fy_node dsgd_entry;

dsgd_status dsgd_config_open(const char *path, dsgd_config **config, dsgd_error *error);
void dsgd_config_close(dsgd_config *config);

/** Applies `a.b.c=value`, the value being YAML; elements of lists are named by their index (override.c). */
dsgd_status dsgd_config_override(dsgd_config *config, const char *assignment, dsgd_error *error);

/** From now on @p named is closed with @p config. */
void dsgd_config_adopt(dsgd_config *config, dsgd_config *named);

dsgd_entry *dsgd_config_root(dsgd_config *config);

/** Zeroed memory that lives as long as the config. */
void *dsgd_config_alloc(dsgd_config *config, size_t bytes);

/** Like dsgd_xprintf(), into a text that lives as long as the config. */
const char *dsgd_config_keep(dsgd_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** For override.c: this part came from there, so sentences blame that; and looks anew for sweeps. */
void dsgd_config_note_override(dsgd_config *config, dsgd_entry *part, const char *assignment);

/**
 * Where a relative path in the file points to: beside the file, if something is there, else as it is. The text lives as long as the
 * config.
 */
const char *dsgd_config_path(dsgd_config *config, const char *path);

/** The value of a key, or NULL. */
dsgd_entry *dsgd_entry_find(dsgd_entry *mapping, const char *key);

/** A list's elements; anything else counts as a list of one, NULL as none. */
size_t dsgd_entry_count(dsgd_entry *entry);
dsgd_entry *dsgd_entry_at(dsgd_entry *entry, size_t i);

/** Whether there is nothing in it: an empty mapping, list or text, or no entry. */
bool dsgd_entry_is_empty(dsgd_entry *entry);

/** Text of a scalar; NULL for anything else. Lives as long as the config. */
const char *dsgd_entry_text(dsgd_entry *entry);

/** Fails with `file:line:column: sentence`. */
dsgd_status dsgd_entry_fail(dsgd_config *config, dsgd_entry *entry, dsgd_error *error,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * Fills @p params from a mapping. Keys in @p elsewhere (NULL-terminated, may be NULL) are read by somebody else. A NULL mapping gives
 * the defaults.
 */
dsgd_status dsgd_config_read(dsgd_config *config, dsgd_entry *mapping, const dsgd_option *options,
                             const char *const *elsewhere, void *params, dsgd_error *error);

/** The like, but what the mapping does not give stays as it is in @p params. */
dsgd_status dsgd_config_refine(dsgd_config *config, dsgd_entry *mapping, const dsgd_option *options,
                               const char *const *elsewhere, void *params, dsgd_error *error);

/** Reads one pick: a name, or a mapping with the name under @p key. Keys in @p elsewhere are read by somebody else. */
dsgd_status dsgd_config_read_pick(dsgd_config *config, dsgd_entry *entry,
                                  const dsgd_about *const *registry, const char *key,
                                  const char *const *elsewhere, dsgd_pick *pick, dsgd_error *error);

/** Reads a file of picks out of the registry of @p o, which names no further files. */
dsgd_status dsgd_config_read_set(dsgd_config *config, const dsgd_option *o, dsgd_pick_set *set,
                                 dsgd_error *error);

/** Reads one number. */
dsgd_status dsgd_config_read_number(dsgd_config *config, dsgd_entry *entry, const char *what,
                                    double min, double max, bool whole, double *number,
                                    dsgd_error *error);

/* --- sweeps: a value written {sweep: [a, b]} stands for each of them in turn ------------------------------------------------ */

/** One sweep found in a file. */
typedef struct dsgd_sweep {
    dsgd_entry *entry;
    const char *path; /* such as imbalance.0.seconds */
    size_t n; /* values */
    size_t chosen; /* which the reader takes */
} dsgd_sweep;

/** Finds the sweeps at and below @p entry, in the order of the file. Gives their number in *n; the array belongs to the config. */
dsgd_sweep **dsgd_config_sweeps(dsgd_config *config, dsgd_entry *entry, size_t *n);

/** What the reader sees of an entry: where that is a sweep, the value chosen of it. NULL gives NULL. */
dsgd_entry *dsgd_entry_chosen(dsgd_config *config, dsgd_entry *entry);

/** The chosen value as text, for a column of the results. */
const char *dsgd_sweep_text(dsgd_config *config, const dsgd_sweep *sweep);

#endif
