/**
 * @file json.h
 * Options as JSON, both ways: what manifests say, and what the heads of records are read from.
 */
#ifndef DSGD_BASE_JSON_H
#define DSGD_BASE_JSON_H

#include <jansson.h>

#include "base/option.h"
#include "base/status.h"

/** A text, null for NULL; bytes that are no UTF-8, which JSON cannot hold, as \xHH. The caller owns what is returned. */
json_t *dsgd_json_text(const char *text);

/** All options of a table with their values. The caller owns what is returned. */
json_t *dsgd_json_options(const dsgd_option *options, const void *params);

/** What was picked: its options, and its name under "name"; null for nothing. */
json_t *dsgd_json_pick(const dsgd_pick *pick);
json_t *dsgd_json_picks(const dsgd_picks *picks);

/** Memory that is given back at once. */
typedef struct dsgd_memory {
    size_t n;
    void **blocks;
} dsgd_memory;

void *dsgd_memory_alloc(dsgd_memory *memory, size_t bytes); /* zeroed */
void dsgd_memory_free(dsgd_memory *memory);

/**
 * Fills @p params from an object as dsgd_json_options() writes it; what is missing gets its default. Refuses, with a sentence, what is
 * unknown, of another type or out of limits. Texts point into @p object, all else lies in @p memory. Lists of anything but numbers are
 * not read: nothing that is read so has any.
 */
dsgd_status dsgd_json_read(const json_t *object, const dsgd_option *options, void *params,
                           dsgd_memory *memory, dsgd_error *error);

#endif
