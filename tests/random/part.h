/**
 * @file part.h
 * An experiment as a tree, so that a test can write it, change it and take parts away.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum part_kind { SCALAR, MAPPING, LIST } part_kind;

/** A value, and the key that it has in a mapping. Owns its texts and parts. */
typedef struct part {
    part_kind kind;
    char *key; /* NULL: none */
    char *text; /* of a scalar */
    size_t n;
    struct part *parts; /* [n] */
} part;

/** Fresh ones; a key or text is copied. */
part part_scalar(const char *key, const char *text);
part part_empty(const char *key, part_kind kind);
part part_copy(const part *of);

/** Appends @p one, which it takes. */
void part_add(part *to, part one);

/** The value of a key of a mapping; NULL: it has none. */
part *part_find(const part *mapping, const char *key);

/** Puts a scalar under a key, in place of what is there. */
void part_set(part *mapping, const char *key, const char *text);

/** How many parts there are below @p p; part_remove() takes the @p i-th of them away. */
size_t part_count(const part *p);
void part_remove(part *p, size_t i);

/** Writes a mapping as YAML: a line per key, in flow style. */
void part_write(const part *mapping, FILE *stream);
