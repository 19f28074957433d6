/**
 * @file vectors.h
 * Vectors of an algorithm, and what of them is sent.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- vectors.c -------------------------------------------------------------------------------- */

/** Stops the program: says why the verb cannot have x. */
void dsgd_refuse_vector(const dsgd_node *self, const dsgd_vector *x, const char *verb)
    __attribute__((noreturn));

/** Of another vector, which is whole, the pieces that x has. */
dsgd_vector *dsgd_view_like(dsgd_vector *whole, const dsgd_vector *x);

/** For a verb: stops the program where a vector is none, another worker's, or of a forgotten
 * message. */
#define DSGD_OWN(self, ...)                                                                        \
    do {                                                                                           \
        const dsgd_vector *const own[] = {__VA_ARGS__};                                            \
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)                                      \
            if (own[i] == NULL || &own[i]->owner->node != (self) || own[i]->whole->over)           \
                dsgd_refuse_vector(self, own[i], __func__);                                        \
    } while (0)

/** Stops the program where one is a view of other pieces than the other, in one verb. */
void dsgd_require_same_pieces(const dsgd_vector *x, const dsgd_vector *y);
/** Stops the program where it is a view: @p verb takes whole vectors. */
void dsgd_require_whole(const dsgd_vector *x, const char *verb);

/** The first of its pieces from @p k on; its end or more: none. */
static inline size_t dsgd_piece_from(const dsgd_vector *x, size_t k)
{
    return k <= x->first ? x->first
                         : x->first + (k - x->first + x->stride - 1) / x->stride * x->stride;
}

/** How many pieces it has. */
static inline size_t dsgd_count_pieces(const dsgd_vector *x)
{
    return x->end <= x->first ? 0 : (x->end - x->first + x->stride - 1) / x->stride;
}

/** Waits until it is; for work and assist actors. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);
/** Waits until what is added to the piece is not overwritten; a local step may still be due. */
void dsgd_piece_wait_until_set(dsgd_vector *x, size_t piece);

/** Replaces the piece's value by @p value, which it then owns. The push-sum weight stays. */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, int64_t stamp);
/** Like dsgd_piece_set() of x[piece]. */
void dsgd_vector_set(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);
/** The same, as an update of x. */
void dsgd_vector_update(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);

/** (a x + b y) / divisor of two values of a piece; the caller owns it. */
dsgd_value dsgd_combined(const dsgd_worker *w, size_t k, double a, dsgd_value x, double b,
                         dsgd_value y, double divisor);

/** Releases the values of all vectors of the run. */
void dsgd_vectors_release(dsgd_engine *engine);

/** Applies the update to each piece once y[k] and x[k] are ready. Does not wait. */
void dsgd_update_when_ready(dsgd_worker *w, dsgd_update update);
/** Pieces of the gradient from @p before on are ready: applies what waited for them. */
void dsgd_updates_apply(dsgd_worker *w, size_t before);
/** Forgets what waited for a gradient that is ready. */
void dsgd_updates_forget(dsgd_worker *w);

/** Whether all pieces of a vector are computed. */
bool dsgd_vector_ready(const dsgd_vector *x);
/** dsgd_update_when_ready() of an update that does not only add to y. */
void dsgd_set_when_ready(dsgd_worker *w, dsgd_update update);

/** For tests: elements [n_params] of a vector, computed now. */
void dsgd_vector_read(dsgd_vector *x, double *elements);

/* --- encodings.c ------------------------------------------------------------------------------ */

/** Bytes of a piece on the wire. */
static inline double dsgd_encoded_bytes(const dsgd_engine *engine, const dsgd_encoded *encoded,
                                        size_t k)
{
    return encoded == NULL ? engine->layout.piece_bytes[k] : encoded->bytes[k];
}

/** Of `exchange: encoding`; NULL: vectors are sent as they are. */
const dsgd_encoded *dsgd_encoded_exchange(dsgd_engine *engine);

/**
 * What is sent of piece @p k of x under `exchange: encoding`, with what feedback has left of x. The
 * caller owns its value. @p call as in dsgd_encoding_at.
 */
dsgd_piece dsgd_piece_encoded(dsgd_worker *w, dsgd_vector *x, size_t k, dsgd_piece piece,
                              uint32_t call);
/** The same of x[k], unless it is encoded already or a server's, or nothing is. */
dsgd_piece dsgd_piece_sent(dsgd_worker *w, dsgd_vector *x, size_t k, uint32_t call);

/** What was added: x[n], encodings of pieces of of[n], in the number-th sum of these members. */
typedef struct dsgd_addends {
    dsgd_origin where;
    size_t piece, n;
    uint64_t number;
    const dsgd_value *x;
    dsgd_vector *const *of;
} dsgd_addends;

/**
 * The encoding of a sum of encoded pieces, alike at all workers; releases @p sum. With feedback the
 * sum has a residual of its own, or, where a selection has
 * left out what a member sent, this goes back into the member's.
 */
dsgd_value dsgd_encode_sum(dsgd_engine *engine, const dsgd_encoded *encoded,
                           const dsgd_addends *added, dsgd_value sum);
