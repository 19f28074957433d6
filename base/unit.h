/**
 * @file unit.h
 * Units: what numbers of options, names of columns and figures call them.
 */
#pragma once

#include <stddef.h>

/** A word behind a number, and what the number is multiplied by. */
typedef struct dsgd_suffix {
    const char *text; /* NULL ends a list */
    double factor;
} dsgd_suffix;

typedef struct dsgd_unit {
    const char *name; /* of options: "bytes/s" */
    const char *column; /* how names of columns end, behind a `_`: "bytes_per_s"; NULL: none do */
    const char *word; /* the end of keys that say the unit themselves: "seconds"; NULL: none do */
    const char *symbol; /* behind a number for readers: "B/s"; NULL where column is */
    const dsgd_suffix *suffixes; /* that numbers may have */
} dsgd_unit;

/** The unit that options call @p name; NULL: they know none (or @p name is NULL). */
const dsgd_unit *dsgd_unit_named(const char *name);

/**
 * The unit that the name of a column ends with; NULL: none. *stem: bytes of the name before a `_`
 * and the unit's column, or of the whole name where its word says the unit.
 */
const dsgd_unit *dsgd_unit_of_column(const char *column, size_t *stem);

/** What files of others call units of time, as factors to seconds; the first is "s". */
extern const dsgd_suffix dsgd_time_words[];
