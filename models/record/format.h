/**
 * @file format.h
 * How a record lies in its file, for its two sides: record.c writes, replay.c reads. README.md tells the blocks; operations are:
 *
 *   constant   1   origin, piece (the one after the last is a model state), 1 and its numbers, or 0
 *                  for the initial ones (states come in the order of the workers)
 *   gradient   2   origin, batch - samples, the model's pieces, the model state where there is one
 *   update     3   origin, piece, lr, which step of an adaptive rule, x, g, and v where the optimizer has state
 *   combine    4   origin, piece, how many, divisor, weights, operands
 *   evaluate   5   how many models, the pieces of each and its model state where there is one
 *   point      6   virtual seconds and steps: the evaluation before is a point of the curve
 *   result     7   which evaluation, and what a decision saw: loss, accuracy, consensus
 *   read       8   origin, piece, value, CRC-32 of the numbers that a decision saw
 *   flush      9
 *   release   10   the name of a value that nobody outside has any more
 *
 * Whole numbers are varints, differences zigzag, the least significant byte first; seconds and results are eight bytes each. An origin is
 * the difference to the worker of the operation before, and to that worker's last step; with + 16 it is not there, being as before.
 * Values are named by numbers in the order in which they came to be, from 1 (a gradient one per piece and one for its model state, an update x
 * and v); what gives only values that somebody has already is left out, but for gradients, which count for the store's flushes. A name is 0 for zeros, 1 to 8 for one of the
 * latest made by that worker in that piece, else 9 + the difference to the name before. A learning rate, weight or divisor is its slot in a
 * table of those seen, + 1, or 0 and eight bytes. Both sides remember the same (record_memory), so what is expected costs a byte, and always
 * the same byte, which zlib then makes nearly nothing of.
 */
#ifndef DSGD_MODELS_RECORD_FORMAT_H
#define DSGD_MODELS_RECORD_FORMAT_H

#include <jansson.h>
#include <stdio.h>

#include "base/json.h"
#include "models/values/values.h"

/** Grows when this file, or what the store shares and fuses, changes: names hang on it. */
enum { RECORD_VERSION = 1 };

/* --- blocks ------------------------------------------------------------------------------------------------------------------------- */

#define RECORD_MAGIC "dsgd record\n"
#define RECORD_HEAD "HEAD" /* JSON: the problem and the manifest */
#define RECORD_WORK "WORK" /* operations */
#define RECORD_DONE "DONE" /* JSON: totals; what has none is cut off */

enum {
    RECORD_MAGIC_BYTES = 12,
    RECORD_BLOCK_BYTES = 1 << 18, /* of operations that go into one block, or one operation more */
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

/** Opens, and goes through the whole file once: what is damaged is known before anything is computed. Stands before the first block. */
dsgd_status record_open(record_file *file, const char *path, dsgd_error *error);
dsgd_status record_next(record_file *file, dsgd_error *error);
void record_close(record_file *file);

/* --- the problem -------------------------------------------------------------------------------------------------------------------- */

/** What a store's problem and stream are made of. */
typedef struct record_problem {
    dsgd_pick model, data;
    int precision; /* 0 float, 1 double */
    long seed, workers, batch;
    dsgd_numbers pieces; /* where each begins, and where the last ends */
    dsgd_optimizer update;
    long data_checksum, initial_checksum;
} record_problem;

extern const dsgd_option record_problem_options[];

uint32_t record_data_checksum(const dsgd_data *data);
uint32_t record_numbers_checksum(const double *x, size_t n);

/** Of the initial model @p x, and of the state that the first worker begins with. */
uint32_t record_initial_checksum(const dsgd_network *network, uint64_t seed, const double *x);

/* --- operations --------------------------------------------------------------------------------------------------------------------- */

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
    RECORD_KIND = 15, /* mask */
    RECORD_SAME_ORIGIN = 16 /* who and when as before */
} record_operation;

enum { RECORD_RECENT = 8, RECORD_NUMBERS = 256, RECORD_MOST_PLACES = 1 << 16 };

/** What both sides remember. */
typedef struct record_memory {
    size_t n_workers, n_pieces, n_places; /* a model state counts as one more piece */
    uint64_t (*recent)
        [RECORD_RECENT]; /* [n_places]: names made by a worker in a piece, the latest first */
    uint64_t *steps; /* [n_workers] */
    dsgd_origin where; /* of the operation before */
    size_t piece; /* likewise */
    uint64_t operand; /* the name before */
    uint64_t next; /* name of the next value */
    uint64_t numbers[RECORD_NUMBERS]; /* bits of such as were seen, by hash */
} record_memory;

void record_memory_open(record_memory *memory, size_t n_workers, size_t n_pieces);
void record_memory_close(record_memory *memory);

/** Code of a name as an operand of what @p worker does in a piece, and the name of a code. */
uint64_t record_code_of(record_memory *memory, size_t worker, size_t piece, uint64_t name);
uint64_t record_name_of(record_memory *memory, size_t worker, size_t piece, uint64_t code);

/** The name of the next value, which the latest origin's worker made in a piece. */
uint64_t record_make(record_memory *memory, size_t piece);

/** Where a number is kept. */
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
