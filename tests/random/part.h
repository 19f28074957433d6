/**
 * @file part.h
 * An experiment as a tree of values, which a test can write, change and shorten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum part_kind { SCALAR, MAPPING, LIST } part_kind;

/**
 * A value of an experiment, and its key if the value is in a mapping. A part owns its texts and its
 * parts.
 */
typedef struct part {
    part_kind kind;
    char *key; /* key in a mapping; NULL if the part has no key */
    char *text; /* text of a scalar; NULL for a mapping or list */
    size_t n;
    struct part *parts; /* values in a mapping or list, [n] entries */
} part;

/** The next three functions return a new part. They copy the key and the text. */
part part_scalar(const char *key, const char *text);
part part_empty(const char *key, part_kind kind);
part part_copy(const part *of);

/** Appends @p one to a mapping or list, and takes ownership of it. */
void part_add(part *to, part one);

/** Returns the value of a key in a mapping, or NULL if the mapping has no such key. */
part *part_find(const part *mapping, const char *key);

/** Sets a key of a mapping to a scalar, and replaces the key's current value. */
void part_set(part *mapping, const char *key, const char *text);

/** Returns the number of all parts below @p p. part_remove() removes part number @p i. */
size_t part_count(const part *p);
void part_remove(part *p, size_t i);

/** Writes a mapping as YAML: one line per key, with values in flow style. */
void part_write(const part *mapping, FILE *stream);
