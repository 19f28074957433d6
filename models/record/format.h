/**
 * @file format.h
 * Layout of a record, for record.c, which writes it, and replay.c, which reads it. README.md
 * describes the blocks. Operations are:
 *
 *   constant   1   origin, piece (n_pieces: a model state), then 0 for the initial elements (states
 *                  in the order of the workers), or 1 and the elements
 *   gradient   2   origin, batch - samples, the model's pieces, its model state where there is one
 *   update     3   origin, piece, lr, step t of an adaptive rule, x, g, and v where there is one
 *   combine    4   origin, piece, number of operands, divisor, weights, operands
 *   evaluate   5   number of models, pieces of each and its model state where there is one
 *   point      6   virtual seconds, steps: the last evaluation is a point of the curve
 *   result     7   number of an evaluation; loss, accuracy, consensus that a decision used
 *   read       8   origin, piece, value, CRC-32 of the elements that a decision used
 *   flush      9
 *   release   10   piece, value whose last handle is released
 *   encode    11   origin, piece, the words of the codec as numbers (models/codecs/codec.h), inputs
 *
 * Integers are little-endian varints, differences zigzag; seconds and results have eight bytes. An
 * origin is the difference to the previous worker and to the last step of that worker; flag 16
 * omits an origin equal to the previous one. Values are named from 1 in the order in which they are
 * made (a gradient: each piece, then the model state; an update: x, then v). An operation that
 * makes no new value is omitted, except gradients, which count for the store's flushes. A name is
 * coded as 0 for zeros, 1 to 8 for the latest ones made by that worker in that piece, else 9 + the
 * difference to the previous name. A learning rate, weight or divisor is 1 + its slot in a table of
 * earlier ones, or 0 and eight bytes. Writer and reader keep the same record_memory, so that what
 * is predictable costs one byte, always the same, which zlib compresses to almost nothing.
 */
#ifndef DSGD_MODELS_RECORD_FORMAT_H
#define DSGD_MODELS_RECORD_FORMAT_H

#include <jansson.h>
#include <stdio.h>

#include "base/json.h"
#include "models/data/split.h"
#include "models/values/values.h"

/** Changes with this layout, and when the store merges or fuses other nodes: names depend on it. */
enum { RECORD_VERSION = 2, RECORD_FIRST_VERSION = 1 /* without encodings; else the same */ };

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
    uint64_t size, at; /* bytes */
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
    dsgd_pick model, data, split;
    int precision; /* 0 float, 1 double */
    long seed, workers, servers, batch;
    dsgd_numbers pieces; /* first element of each, and the end of the last */
    dsgd_optimizer update;
    long data_checksum, split_checksum, initial_checksum;
} record_problem;

extern const dsgd_option record_problem_options[];

uint32_t record_data_checksum(const dsgd_data *data);
uint32_t record_numbers_checksum(const double *x, size_t n);

/** Of the initial model @p x and the first worker's initial model state. */
uint32_t record_initial_checksum(const dsgd_network *network, uint64_t seed, const double *x);

/* --- operations ------------------------------------------------------------------------------- */

/** First byte of each, with flags. */
typedef enum record_operation {
    RECORD_CONSTANT = 1,
    RECORD_GRADIENT,
    RECORD_UPDATE,
    RECORD_COMBINE,
    RECORD_EVALUATE,
    RECORD_POINT,
    RECORD_RESULT,
    RECORD_READ,
    RECORD_FLUSH,
    RECORD_RELEASE,
    RECORD_ENCODE,
    RECORD_KIND = 15, /* mask */
    RECORD_SAME_ORIGIN = 16 /* origin as before */
} record_operation;

enum { RECORD_RECENT = 8, RECORD_NUMBERS = 256, RECORD_MOST_PLACES = 1 << 16 };

/** Prediction state, equal in the writer and the reader. */
typedef struct record_memory {
    size_t n_workers, n_pieces, n_places; /* a model state counts as one more piece */
    size_t n_hosts; /* workers, then servers, of whom an origin may be */
    /* [n_places] names made by a worker in a piece, the latest first */
    uint64_t (*recent)[RECORD_RECENT];
    uint64_t *steps; /* [n_hosts] last step of each */
    dsgd_origin where; /* of the previous operation */
    size_t piece; /* of the previous operation */
    uint64_t operand; /* previous name */
    uint64_t next; /* name of the next value */
    uint64_t numbers[RECORD_NUMBERS]; /* bits of earlier numbers, by record_slot() */
} record_memory;

void record_memory_open(record_memory *memory, size_t n_workers, size_t n_servers, size_t n_pieces);
void record_memory_close(record_memory *memory);

/** Code of a name that @p worker uses in a piece, and the name of a code. */
uint64_t record_code_of(record_memory *memory, size_t worker, size_t piece, uint64_t name);
uint64_t record_name_of(record_memory *memory, size_t worker, size_t piece, uint64_t code);

/** Names the next value, made in a piece by the worker of the latest origin. */
uint64_t record_make(record_memory *memory, size_t piece);

static inline size_t record_slot(uint64_t bits)
{
    return (bits * 0x9e3779b97f4a7c15u) >> 56;
}

static inline uint64_t record_zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t record_unzigzag(uint64_t code)
{
    return code >> 1 ^ -(code & 1);
}

#endif
