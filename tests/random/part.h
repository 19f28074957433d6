/**
 * @file part.h An experiment as a tree, which a test can write, change and shorten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum part_kind { SCALAR, MAPPING, LIST } part_kind;

/** A value, and its key in a mapping. Owns its texts and parts. */
typedef struct part {
    part_kind kind;
    char *key; /* NULL: none */
    char *text; /* text of a scalar */
    size_t n;
    struct part *parts; /* [n] */
} part;

/** Make new parts; a key or text is copied. */
part part_scalar(const char *key, const char *text);
part part_empty(const char *key, part_kind kind);
part part_copy(const part *of);

/** Appends @p one and takes ownership of it. */
void part_add(part *to, part one);

/** Returns the value of a key of a mapping, or NULL if there is none. */
part *part_find(const part *mapping, const char *key);

/** Sets a key to a scalar, instead of its current value. */
void part_set(part *mapping, const char *key, const char *text);

/** Returns the number of parts below @p p. part_remove() removes the @p i-th of them. */
size_t part_count(const part *p);
void part_remove(part *p, size_t i);

/** Writes a mapping as YAML, in flow style with one line per key. */
void part_write(const part *mapping, FILE *stream);
