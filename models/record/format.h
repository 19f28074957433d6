/**
 * @file format.h
 * Layout of a record, for record.c, which writes it, and replay.c, which reads it: blocks and the
 * problem. README.md describes them; calls.h has the operations.
 */
#pragma once

#include <jansson.h>

#include "base/json.h"
#include "models/data/split.h"
#include "models/values/values.h"

/** Changes with this layout, and when the store merges or fuses other nodes: names depend on it. */
enum {
    RECORD_VERSION = 4, /* not 3, of which a flipped bit makes 1 or 2 */
    RECORD_FIRST_VERSION = 1 /* without encodings, as 2 is without outputs; else the same */
};

/* --- blocks ----------------------------------------------------------------------------------- */

#define RECORD_MAGIC "dsgd record\n"
#define RECORD_HEAD "HEAD" /* JSON: the problem and the manifest */
#define RECORD_WORK "WORK" /* operations */
#define RECORD_DONE "DONE" /* JSON: totals; a file without it is cut off */

enum {
    RECORD_MAGIC_BYTES = 12,
    RECORD_BLOCK_BYTES = 1 << 18, /* of operations, after which a block ends */
    RECORD_MOST_BYTES = 1 << 30 /* of an unpacked block */
};

/** A file being read, block by block. */
typedef struct record_file {
    char *path;
    FILE *stream;
    uint64_t size, at, begin; /* bytes; of the current block */
    size_t block; /* number of the current one, from 1 */
    char kind[5]; /* of the current one */
    uint8_t *packed, *bytes; /* of the current one; bytes end with a 0 that is not counted */
    size_t n_packed, n;
} record_file;

/** Writes a block; errors stay in the stream. */
void record_write_block(FILE *stream, const char *kind, const uint8_t *bytes, size_t n);

/** Opens the file and checks all blocks, before anything is computed. The first block is next. */
dsgd_status record_open(record_file *file, const char *path, dsgd_error *error);
dsgd_status record_next(record_file *file, dsgd_error *error);
void record_close(record_file *file);

/* --- the problem ------------------------------------------------------------------------------ */

/** The problem and stream of a store. */
typedef struct record_problem {
    dsgd_spec model, data, split;
    bool own_batches; /* of split.h */
    int precision; /* 0 float, 1 double */
    int64_t seed, workers, servers, batch;
    dsgd_numbers pieces; /* first element of each, and the end of the last */
    dsgd_optimizer update;
    int64_t data_checksum, split_checksum, initial_checksum;
} record_problem;

extern const dsgd_option record_problem_options[];

uint32_t record_data_checksum(const dsgd_data *data);
uint32_t record_numbers_checksum(const double *x, size_t n);

/** Of the initial model and the first worker's initial model state. */
uint32_t record_initial_checksum(const dsgd_network *network, uint64_t seed);
