/**
 * @file unit.h The units of numbers: their names in options and columns, and their symbols in
 * figures.
 */
#pragma once

#include <stddef.h>

/** A suffix of a number, such as "ms", and the factor by which it multiplies the number. */
typedef struct dsgd_suffix {
    const char *text; /* text of the suffix; NULL ends a list */
    double factor;
} dsgd_suffix;

typedef struct dsgd_unit {
    const char *name; /* name of the unit in options, such as "bytes/s" */
    /*
     * ending of column names after a `_`, such as "bytes_per_s"; NULL if no column can have the
     * unit
     */
    const char *column;
    /* ending of keys that name the unit, such as "seconds"; NULL if no keys name the unit */
    const char *word;
    /* symbol that is printed after a number, such as "B/s"; NULL if the unit has no symbol */
    const char *symbol;
    const dsgd_suffix *suffixes; /* list of suffixes that numbers of this unit may have */
} dsgd_unit;

/**
 * Returns the unit whose name in options is @p name. Returns NULL if there is no such unit or if @p
 * name is NULL.
 */
const dsgd_unit *dsgd_unit_named(const char *name);

/**
 * Returns the unit with which the name of a column ends, or NULL if the name ends with no unit.
 * Sets *stem to the number of bytes before the `_` and the unit's ending. If the ending is the
 * member `word` of the unit, sets *stem to the length of the whole name.
 */
const dsgd_unit *dsgd_unit_of_column(const char *column, size_t *stem);

/**
 * Names of units of time in files of other programs, with their factors to seconds. The first name
 * is "s".
 */
extern const dsgd_suffix dsgd_time_words[];
