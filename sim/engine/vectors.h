/**
 * @file vectors.h The vectors of an algorithm, and how they are sent.
 */
#pragma once

#include "sim/engine/engine.h"

/* --- vectors.c -------------------------------------------------------------------------------- */

/** Stops the program with a message why @p verb cannot use @p x. */
void dsgd_refuse_vector(const dsgd_node *self, const dsgd_vector *x, const char *verb)
    __attribute__((noreturn));

/** Returns a view of vector @p whole with the chunks that @p x has. */
dsgd_vector *dsgd_view_like(dsgd_vector *whole, const dsgd_vector *x);

/**
 * For a verb: stops the program if a vector is NULL, belongs to another worker, or to a message
 * that is no longer valid.
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

/** Returns the first chunk of @p x from @p k on, or a number >= x->end if there is none. */
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

/** Waits until a chunk is computed. For the actors `work` and `assist`. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);
/**
 * Waits until values that are added to the chunk are not overwritten any more. A local step may
 * still be pending.
 */
void dsgd_piece_wait_until_set(dsgd_vector *x, size_t piece);

/** Replaces the chunk's value by @p value, which the chunk then owns. The push-sum weight stays. */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, int64_t stamp);
/** Like dsgd_piece_set(), for chunk @p piece of @p x. */
void dsgd_vector_set(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);
/** Like dsgd_vector_set(), and counts as an update of @p x. */
void dsgd_vector_update(dsgd_vector *x, size_t piece, dsgd_value value, int64_t stamp);

/** Returns (a x + b y) / divisor for two values of chunk @p k. The caller owns the result. */
dsgd_value dsgd_combined(const dsgd_worker *w, size_t k, double a, dsgd_value x, double b,
                         dsgd_value y, double divisor);

/** Releases the values of all vectors of the run. */
void dsgd_vectors_release(dsgd_engine *engine);

/** Applies the update to each chunk once y[k] and x[k] are ready. Does not wait. */
void dsgd_update_when_ready(dsgd_worker *w, dsgd_update update);
/**
 * Applies the updates that waited for the chunks of the gradient from @p before on, which are
 * ready.
 */
void dsgd_updates_apply(dsgd_worker *w, size_t before);
/** Discards the list of updates that waited for a gradient that is ready. */
void dsgd_updates_forget(dsgd_worker *w);

/** Returns true if all chunks of a vector are computed. */
bool dsgd_vector_ready(const dsgd_vector *x);
/** Like dsgd_update_when_ready(), for an update that does not only add to y. */
void dsgd_set_when_ready(dsgd_worker *w, dsgd_update update);

/** For tests: elements[n_params] <- the elements of a vector, computed now. */
void dsgd_vector_read(dsgd_vector *x, double *elements);

/* --- encodings.c ------------------------------------------------------------------------------ */

/** Returns the bytes of chunk @p k on the wire. */
static inline double dsgd_encoded_bytes(const dsgd_engine *engine, const dsgd_encoded *encoded,
                                        size_t k)
{
    return encoded == NULL ? engine->layout.piece_bytes[k] : encoded->bytes[k];
}

/**
 * Returns the gradient compression of `exchange: encoding`, or NULL if vectors are sent as they
 * are.
 */
const dsgd_encoded *dsgd_encoded_exchange(dsgd_engine *engine);

/**
 * Returns the compressed form of chunk @p k of x under `exchange: encoding`, with the residual of
 * error feedback of x. The caller owns its value. @p call as in dsgd_encoding_at.
 */
dsgd_piece dsgd_piece_encoded(dsgd_worker *w, dsgd_vector *x, size_t k, dsgd_piece piece,
                              uint32_t call);
/**
 * Returns the same for x[k], or x[k] itself if it is compressed already, belongs to a server, or if
 * the run uses no compression.
 */
dsgd_piece dsgd_piece_sent(dsgd_worker *w, dsgd_vector *x, size_t k, uint32_t call);

/**
 * The addends of a sum: compressed chunks x[n] of the vectors of[n], in sum `number` of these
 * members.
 */
typedef struct dsgd_addends {
    dsgd_origin where;
    size_t piece, n;
    uint64_t number;
    const dsgd_value *x;
    dsgd_vector *const *of;
} dsgd_addends;

/**
 * Returns the compressed form of a sum of compressed chunks, which is equal at all workers.
 * Releases @p sum. With error feedback the sum has its own residual. If a selection drops a value
 * that a member sent, the value returns to the residual of that member instead.
 */
dsgd_value dsgd_encode_sum(dsgd_engine *engine, const dsgd_encoded *encoded,
                           const dsgd_addends *added, dsgd_value sum);
