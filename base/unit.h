/**
 * @file unit.h Units of numbers: their names in options, in columns and in figures.
 */
#pragma once

#include <stddef.h>

/** A suffix of a number, and the factor by which it multiplies the number. */
typedef struct dsgd_suffix {
    const char *text; /* text; NULL ends a list */
    double factor;
} dsgd_suffix;

typedef struct dsgd_unit {
    const char *name; /* name in options: "bytes/s" */
    /* ending of column names, after a `_`: "bytes_per_s"; NULL if there is none */
    const char *column;
    const char *word; /* ending of keys that name the unit: "seconds"; NULL if there is none */
    const char *symbol; /* symbol after a number, for readers: "B/s"; NULL if it equals `column` */
    const dsgd_suffix *suffixes; /* suffixes of numbers */
} dsgd_unit;

/**
 * Returns the unit with the name @p name in options, or NULL if there is none or @p name is NULL.
 */
const dsgd_unit *dsgd_unit_named(const char *name);

/**
 * Returns the unit that the name of a column ends with, or NULL. Sets *stem to the number of bytes
 * before the `_` and the unit's column or, if the unit's word names the unit, to the length of the
 * whole name.
 */
const dsgd_unit *dsgd_unit_of_column(const char *column, size_t *stem);

/**
 * Names of units of time in files of other programs, with their factors to seconds; the first is
 * "s".
 */
extern const dsgd_suffix dsgd_time_words[];
