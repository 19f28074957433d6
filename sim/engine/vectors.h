/**
 * @file vectors.h Functions for vectors of an algorithm, and for their compression.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- vectors.c -------------------------------------------------------------------------------- */

/** Stops the program with a message that explains why @p verb cannot use @p x. */
void dsgd_refuse_vector(const dsgd_node *self, const dsgd_vector *x, const char *verb)
    __attribute__((noreturn));

/** Returns a view of vector @p whole that has the same chunks as @p x. */
dsgd_vector *dsgd_view_like(dsgd_vector *whole, const dsgd_vector *x);

/**
 * Stops the program if an algorithm passes a wrong vector to a verb. A vector is wrong if it is
 * NULL, belongs to another worker, or belongs to a message that is no longer valid.
 */
#define DSGD_OWN(self, ...)                                                                        \
    do {                                                                                           \
        const dsgd_vector *const own[] = {__VA_ARGS__};                                            \
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)                                      \
            if (own[i] == NULL || &own[i]->owner->node != (self) || own[i]->whole->over)           \
                dsgd_refuse_vector(self, own[i], __func__);                                        \
    } while (0)

/** Stops the program if two vectors of a verb do not have the same chunks. */
void dsgd_require_same_pieces(const dsgd_vector *x, const dsgd_vector *y);
/** Stops the program if @p x is a view, because @p verb takes only whole vectors. */
void dsgd_require_whole(const dsgd_vector *x, const char *verb);

/**
 * Returns the index of the first chunk of @p x that is @p k or later. Returns a number >= x->end if
 * no such chunk exists.
 */
static inline size_t dsgd_piece_from(const dsgd_vector *x, size_t k)
{
    return k <= x->first ? x->first
                         : x->first + (k - x->first + x->stride - 1) / x->stride * x->stride;
}

/** Returns the number of chunks of @p x. */
static inline size_t dsgd_count_pieces(const dsgd_vector *x)
{
    return x->end <= x->first ? 0 : (x->end - x->first + x->stride - 1) / x->stride;
}

/** Waits until a chunk is computed. Only the actors `work` and `assist` may call this function. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);
/**
 * Waits until no copy or linear combination that overwrites the chunk is pending, so that values
 * can be added to the chunk. A local step may still be pending.
 */
void dsgd_piece_wait_until_set(dsgd_vector *x, size_t piece);

/**
 * Replaces the value of @p piece by @p value and becomes the owner of @p value. The push-sum weight
 * stays.
 */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, int64_t stamp);
/** Like dsgd_piece_set(), for chunk @p piece of @p x. */
void dsgd_vector_set(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);
/** Like dsgd_vector_set(), and increments the chunk's number of updates. */
void dsgd_vector_update(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);

/** Returns (a x + b y) / divisor for two values of chunk @p k. The caller owns the result. */
dsgd_value dsgd_combined(const dsgd_worker *w, size_t k, double a, dsgd_value x, double b,
                         dsgd_value y, double divisor);

/** Releases the values of all vectors of the run. */
void dsgd_vectors_release(dsgd_engine *engine);

/** Applies the update to each chunk as soon as y[k] and x[k] are ready. Does not wait. */
void dsgd_update_when_ready(dsgd_worker *w, dsgd_update update);
/**
 * Applies the pending updates to chunks of the gradient that have become ready. When the updates
 * were last applied, @p before chunks were ready.
 */
void dsgd_updates_apply(dsgd_worker *w, size_t before);
/** Clears the list of pending updates. All chunks of the gradient must be ready. */
void dsgd_updates_forget(dsgd_worker *w);

/** Returns true if all chunks of a vector are computed. */
bool dsgd_vector_ready(const dsgd_vector *x);
/** Like dsgd_update_when_ready(), for an update that overwrites y instead of only adding to y. */
void dsgd_set_when_ready(dsgd_worker *w, dsgd_update update);

/** Copies the elements of a vector to elements[n_params]. Only tests use this function. */
void dsgd_vector_read(dsgd_vector *x, double *elements);

/* --- encodings.c ------------------------------------------------------------------------------ */

/**
 * Returns the bytes of chunk @p k on the wire. If @p encoded is NULL, the chunk is not compressed.
 */
static inline double dsgd_encoded_bytes(const dsgd_engine *engine, const dsgd_encoded *encoded,
                                        size_t k)
{
    return encoded == NULL ? engine->layout.piece_bytes[k] : encoded->bytes[k];
}

/**
 * Returns the gradient compression of `exchange: encoding`, or NULL if vectors are sent
 * uncompressed.
 */
const dsgd_encoded *dsgd_encoded_exchange(dsgd_engine *engine);

/**
 * Returns the compressed form of @p piece, which is chunk @p k of x, under `exchange: encoding`.
 * Uses the residual of error feedback of x. The caller owns the value. @p call is the number of the
 * call in the worker's step.
 */
dsgd_piece dsgd_piece_encoded(dsgd_worker *w, dsgd_vector *x, size_t k, dsgd_piece piece,
                              uint32_t call);
/**
 * Returns the compressed form of x[k], like dsgd_piece_encoded(). Returns x[k] itself if it is
 * compressed already, belongs to a server, or if the run uses no compression.
 */
dsgd_piece dsgd_piece_sent(dsgd_worker *w, dsgd_vector *x, size_t k, uint32_t call);

/**
 * The addends of a sum: x[n] are compressed chunks of the vectors of[n]. `number` is the number of
 * this sum among the sums of these members.
 */
typedef struct dsgd_addends {
    dsgd_origin where;
    size_t piece, n;
    uint64_t number;
    const dsgd_value *x;
    dsgd_vector *const *of;
} dsgd_addends;

/**
 * Compresses a sum of compressed chunks again; the result is equal at all workers. Releases @p sum.
 * With error feedback the sum has its own residual. Exception: the compression selects numbers, and
 * drops a value that a member sent. In this case, the value returns to the residual of that member.
 */
dsgd_value dsgd_encode_sum(dsgd_engine *engine, const dsgd_encoded *encoded,
                           const dsgd_addends *added, dsgd_value sum);
