/**
 * @file calls.h
 * The operations of a record: calls to a store as bytes. One text writes and reads them (calls.c).
 *
 * The first byte is the call's kind (recorder.h), with flag 16 where a place follows that equals
 * the previous one. What follows, after the place (worker, step and piece) of a kind that has one:
 *
 *   constant   1   place, then 0 for the initial elements (a model state: in the order of the
 *                  workers), or 1 and the elements
 *   gradient   2   place without a piece, batch - samples, the model's pieces, its model state
 *                  where there is one
 *   update     3   place, lr, step t of an adaptive rule, x, g, and v where there is one
 *   combine    4   place, number of operands, divisor, weights, operands
 *   evaluate   5   number of models, pieces of each and its model state where there is one
 *   point      6   virtual seconds, steps: the last evaluation is a point of the curve
 *   result     7   number of an evaluation; loss, accuracy, consensus that a decision used
 *   read       8   place, value, CRC-32 of the elements that a decision used
 *   flush      9
 *   release   10   piece, value whose last handle is released
 *   encode    11   place, the words of the codec as numbers (models/codecs/codec.h), inputs
 *   output    12   evaluate, of another model than the mean: number of models, of those whose mean
 *                  is evaluated, the models as above, pieces of each of these
 *
 * Integers are little-endian varints, differences zigzag; seconds and results have eight bytes. A
 * worker and a step are differences to the previous worker and to the last step of that worker.
 * Values are named from 1 in the order in which they are made (a gradient: each piece, then the
 * model state; an update: x, then v). An operation that makes no new value is omitted, except
 * gradients, which count for the store's flushes. A name is coded as 0 for zeros, 1 to 8 for the
 * latest ones made by that worker in that piece, else 9 + the difference to the previous name. A
 * learning rate, weight or divisor is 1 + its slot in a table of earlier ones, or 0 and eight
 * bytes. Writer and reader keep the same state, so that what is predictable costs one byte, always
 * the same, which zlib compresses to almost nothing.
 */
#pragma once

#include "models/values/recorder.h"

enum { RECORD_RECENT = 8, RECORD_NUMBERS = 256, RECORD_PAGE = 512 };

/** Values by name, for a reader. A page is freed with the last of its values. */
typedef struct record_page {
    uint32_t n;
    dsgd_value values[RECORD_PAGE];
} record_page;

/** Calls being written, or read. */
typedef struct record_calls {
    const dsgd_values *values; /* that a reader makes the calls to; NULL: writes */
    dsgd_problem problem;
    dsgd_stream samples;
    /* [n_params + n_state] the initial model, and the latest initial model state: not written */
    double *initial;
    uint32_t n_states; /* model states so far; number k is worker k's initial one, or written */

    /* What predicts the next bytes, equal in writer and reader. */
    size_t n_parts, n_places; /* pieces, and a model state as one more; with a worker each */
    size_t n_hosts; /* workers, then servers: who makes calls */
    /* [n_places] names made by a worker in a piece, the latest first */
    uint64_t (*recent)[RECORD_RECENT];
    uint64_t *steps; /* [n_hosts] last step of each */
    dsgd_origin where; /* of the previous call that has a place */
    uint64_t operand; /* previous name */
    uint64_t next; /* name of the next value */
    size_t n_evaluations;
    uint64_t numbers[RECORD_NUMBERS]; /* bits of earlier numbers, by slot */

    uint8_t *bytes; /* [n] of the current block; a writer's own, with room for more */
    size_t n, room;
    size_t at; /* how many are read */
    const char *wrong; /* the first error in a call that is read, or NULL */

    /* Of a reader. */
    record_page **pages; /* [n_pages] */
    size_t n_pages;
    dsgd_value *x, *states; /* of the call that was read */
    double *elements; /* of it */
    dsgd_evaluation result; /* of it */
    union {
        dsgd_codec codec; /* of it */
        uint64_t words[DSGD_CODEC_WORDS];
    };
    uint32_t checksum; /* of the elements that it read in the run */
} record_calls;

/**
 * @p values: of a reader; NULL: calls are written. What @p problem and @p samples point to has to
 * outlive the calls.
 */
void record_calls_open(record_calls *c, const dsgd_problem *problem, const dsgd_stream *samples,
                       size_t n_servers, const dsgd_values *values);
/** Releases the handles that a reader still has. What calls hold besides is kept. */
void record_calls_close(record_calls *c, dsgd_values *values);

/**
 * Writes a call, before the values that it makes are named; or reads it, with c->wrong where it
 * makes no sense. Its arrays are then those of @p c, valid until the next one.
 */
void record_call(record_calls *c, dsgd_call *call);

/** The name of the next value, made in a piece by the worker of the latest place. */
uint64_t record_make(record_calls *c, size_t piece);

/** Names a value that a reader's call has made, and keeps its handle, unless it has a name. */
void record_adopt(record_calls *c, dsgd_values *values, dsgd_value made);
