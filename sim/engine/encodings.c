/**
 * @file encodings.c Gradient compression: the verbs that compress vectors, how compressed vectors
 * are sent and added, and the residuals of error feedback.
 *
 * A worker's encoder is a part of its GPU. The encoder processes one chunk at a time, in the order
 * of arrival, while other exchanges run. The exchange of a chunk waits until the chunk is
 * compressed. Each compression delays the other work of the GPU by the time of the compression.
 */
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"

/* --- functions for compressed sizes and for the encoder --------------------------------------- */

/**
 * Returns the dsgd_encoded with the properties of @p wanted. Makes it if the run does not have one
 * yet. If @p wanted has no `about`, it describes low-rank factors.
 */
static dsgd_encoded *encoded_like(dsgd_engine *engine, dsgd_encoded wanted)
{
    dsgd_encoded *e = engine->all_encoded;
    while (e != NULL && (e->encoding.about != wanted.encoding.about ||
                         e->encoding.params != wanted.encoding.params || e->rank != wanted.rank ||
                         e->of_columns != wanted.of_columns))
        e = e->next;
    if (e != NULL)
        return e;
    e = dsgd_run_alloc(engine, sizeof *e + engine->layout.n_pieces * sizeof e->bytes[0]);
    *e = wanted;
    e->value_bytes = dsgd_workload_value_bytes(engine->config->workload);
    for (size_t k = 0; k < engine->layout.n_pieces; k++)
        e->bytes[k] =
            e->encoding.about == NULL
                ? dsgd_factor_bytes(engine->layout.piece_bytes[k], e->value_bytes, e->rank,
                                    e->of_columns)
                : dsgd_encoding_bytes(&e->encoding, engine->layout.piece_bytes[k], e->value_bytes);
    e->next = engine->all_encoded;
    return engine->all_encoded = e;
}

/** Returns the dsgd_encoded of @p encoding, or NULL if @p encoding does not compress. */
static const dsgd_encoded *encoded_by(dsgd_engine *engine, const dsgd_spec *encoding)
{
    if (dsgd_encoding_is_none(encoding))
        return NULL;
    const bool decodes = !dsgd_encoding_kind_of(encoding)->sparse;
    return encoded_like(engine, (dsgd_encoded){.encoding = *encoding,
                                               .sum = dsgd_encoding_sum_of(encoding),
                                               .decodes = decodes});
}

const dsgd_encoded *dsgd_encoded_exchange(dsgd_engine *engine)
{
    const dsgd_spec *const encoding = &engine->config->exchange.encoding;
    return encoding->about == NULL ? NULL : encoded_by(engine, encoding);
}

/**
 * Adds chunk @p k to the encoder's queue. Returns the time at which the encoder has compressed or
 * decompressed the chunk.
 */
static double pass_encoder(dsgd_worker *w, size_t k)
{
    const double now_s = dsgd_now_s();
    double *const free_s = &dsgd_copies_of(w, k)->encoded_s;
    const double since_s = *free_s > now_s ? *free_s : now_s;
    const double pass_s = w->engine->layout.piece_bytes[k] * w->engine->costs.encoding_s_per_byte;
    *free_s = since_s + pass_s;
    dsgd_gpu_ask(w, pass_s);
    return *free_s;
}

/* --- compressed values ------------------------------------------------------------------------ */

static dsgd_encoding_at at_of(const dsgd_engine *engine, dsgd_origin where, size_t k, uint32_t call)
{
    return (dsgd_encoding_at){
        .where = where,
        .piece = k,
        .first = engine->learning.piece_begin == NULL ? 0 : engine->learning.piece_begin[k],
        .seed = engine->config->seed,
        .worker = where.worker,
        .step = (uint32_t)where.step,
        .call = call};
}

/**
 * Returns the compressed value Q(x). With error feedback, returns Q(x + e) and sets e <- x + e -
 * Q(x + e). The residual e is the residual of a vector of @p owner.
 */
static dsgd_value encoded_value(dsgd_worker *owner, const dsgd_spec *encoding, dsgd_vector **e,
                                const dsgd_encoding_at *at, dsgd_value x)
{
    dsgd_values *const values = owner->engine->learning.values;
    const size_t k = at->piece;
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    if (!dsgd_encoding_feeds_back(encoding))
        return dsgd_encoding_apply(encoding, values, at, x);
    if (*e == NULL)
        *e = dsgd_vector_new(&owner->node);
    const dsgd_value sum = dsgd_combined(owner, k, 1, x, 1, (*e)->piece[k].value, 1);
    const dsgd_value q = dsgd_encoding_apply(encoding, values, at, sum);
    dsgd_vector_set(*e, k, dsgd_combined(owner, k, 1, sum, -1, q, 1), 0);
    dsgd_value_release(values, sum);
    return q;
}

/** Returns the compressed value of @p x, which is chunk @p k of vector @p of. */
static dsgd_value encoded_piece(dsgd_worker *w, const dsgd_spec *encoding, dsgd_vector *of,
                                size_t k, uint32_t call, dsgd_value x)
{
    const dsgd_encoding_at at = at_of(w->engine, dsgd_origin_of(w), k, call);
    return encoded_value(w, encoding, &of->whole->residual, &at, x);
}

dsgd_piece dsgd_piece_encoded(dsgd_worker *w, dsgd_vector *x, size_t k, dsgd_piece piece,
                              uint32_t call)
{
    const dsgd_encoded *const encoded = dsgd_encoded_exchange(w->engine);
    const double encoded_s = encoded == NULL ? 0 : pass_encoder(w, k);
    piece.value = encoded_piece(w, &w->engine->config->exchange.encoding, x, k, call, piece.value);
    piece.of = x->whole;
    piece.encoded = encoded;
    piece.encoded_s = encoded_s;
    return piece;
}

dsgd_piece dsgd_piece_sent(dsgd_worker *w, dsgd_vector *x, size_t k, uint32_t call)
{
    const dsgd_piece piece = x->piece[k];
    if (piece.encoded == NULL && !dsgd_is_server(w) && dsgd_encoded_exchange(w->engine) != NULL)
        return dsgd_piece_encoded(w, x, k, piece, call);
    dsgd_value_retain(piece.value);
    return piece;
}

/**
 * If the compressed sum is 0 at an element, adds that element of @p x to the residual of vector @p
 * of. The value @p x is the compressed form of that vector.
 */
static void give_back(const dsgd_addends *added, dsgd_vector *of, dsgd_value x, dsgd_value sum)
{
    static const dsgd_codec mask = {.kind = DSGD_CODEC_MASK};
    static const double weights[] = {1, 1, -1};
    dsgd_values *const values = of->owner->engine->learning.values;
    const size_t k = added->piece;
    const dsgd_value used = dsgd_values_encode(values, added->where, k, &mask, x, sum);
    const dsgd_value parts[] = {of->residual->piece[k].value, x, used};
    dsgd_vector_set(of->residual, k,
                    dsgd_values_combine(values, added->where, k, 3, parts, weights, 1), 0);
    dsgd_value_release(values, used);
}

dsgd_value dsgd_encode_sum(dsgd_engine *engine, const dsgd_encoded *encoded,
                           const dsgd_addends *added, dsgd_value sum)
{
    /* number of the compression of a sum; compressions by verbs have smaller numbers */
    static const uint32_t of_sums = 1 << 23;
    dsgd_encoding_at at = at_of(engine, added->where, added->piece, of_sums);
    at.worker = UINT32_MAX;
    at.step = (uint32_t)added->number;
    /* the sum consists of n shares, and each worker compresses only its own share */
    at.parts = added->n;
    const bool selects = dsgd_encoding_kind_of(&encoded->encoding)->sparse;
    dsgd_vector *const first = added->of[0];
    const dsgd_value again =
        selects ? dsgd_encoding_apply(&encoded->encoding, engine->learning.values, &at, sum)
                : encoded_value(first->owner, &encoded->encoding, &first->sum_residual, &at, sum);
    dsgd_value_release(engine->learning.values, sum);
    for (size_t i = 0; i < added->n && selects && dsgd_encoding_feeds_back(&encoded->encoding); i++)
        give_back(added, added->of[i], added->x[i], again);
    return again;
}

/* --- functions of the verb dsgd_encode() ------------------------------------------------------ */

/** Sets y[k] to @p value. The value was computed from x[k], so it has the age of x[k]. */
static void set_piece(const dsgd_update *update, size_t k, const dsgd_piece *x, dsgd_value value)
{
    dsgd_vector *const y = update->y;
    const int64_t updates = y->history[k].updates + 1;
    const double weight = x->weight;
    dsgd_vector_set(y, k, value, x->stamp);
    y->piece[k].weight = weight;
    y->history[k] = update->x->history[k];
    y->history[k].updates = updates;
}

static void encode_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    const dsgd_spec *const encoding = &update->encoding;
    set_piece(update, k, x, encoded_piece(w, encoding, update->x, k, update->call, x->value));
    if (update->encoded == NULL)
        return;
    update->y->piece[k].of = update->x->whole;
    update->y->piece[k].encoded = update->encoded;
    update->y->piece[k].encoded_s = pass_encoder(w, k);
}

void dsgd_encode(dsgd_node *self, dsgd_vector *q, dsgd_vector *x, const dsgd_spec *encoding)
{
    DSGD_OWN(self, q, x);
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_set_when_ready(w, (dsgd_update){.apply = encode_piece,
                                         .y = q,
                                         .x = x,
                                         .encoded = encoded_by(w->engine, encoding),
                                         .encoding = *encoding,
                                         .call = w->clock.encodings++});
}

/* --- low rank --------------------------------------------------------------------------------- */

/**
 * Applies a matrix step to x and z. They are a matrix and a low-rank factor, or two factors.
 * Returns @p otherwise if the chunk is not a matrix of that rank.
 */
static dsgd_value matrix_value(dsgd_worker *w, const dsgd_update *update, size_t k, dsgd_value x,
                               dsgd_value z, dsgd_value otherwise)
{
    const bool of_columns = update->codec == DSGD_CODEC_ORTHOGONAL && update->transposed;
    const dsgd_matrix_step step = {update->codec, update->rank, of_columns};
    return dsgd_matrix_apply(&step, w->engine->learning.values, dsgd_origin_of(w), k, x, z,
                             otherwise);
}

static void project_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    dsgd_piece *const y = &update->y->piece[k];
    set_piece(update, k, x, matrix_value(w, update, k, x->value, y->value, x->value));
    y->encoded = update->encoded;
    y->encoded_s = pass_encoder(w, k);
}

static void expand_piece(dsgd_worker *w, const dsgd_update *update, size_t k, const dsgd_piece *x)
{
    const dsgd_piece *const y = &update->y->piece[k];
    const dsgd_value p = update->transposed ? y->value : x->value;
    const dsgd_value q = update->transposed ? x->value : y->value;
    const int64_t stamp = y->stamp;
    pass_encoder(w, k);
    dsgd_vector_update(update->y, k, matrix_value(w, update, k, p, q, y->value), stamp);
}

static void orthogonalise_piece(dsgd_worker *w, const dsgd_update *update, size_t k,
                                const dsgd_piece *x)
{
    const int64_t stamp = x->stamp;
    dsgd_vector_update(update->y, k,
                       matrix_value(w, update, k, x->value, DSGD_ZERO_VALUE, x->value), stamp);
}

static void draw_factor(dsgd_worker *w, dsgd_vector *y, int64_t rank, bool of_columns)
{
    const uint32_t call = w->clock.encodings++;
    DSGD_FOR_PIECES (k, y) {
        dsgd_piece_wait(y, k);
        if (w->engine->learning.values == NULL)
            continue;
        const dsgd_encoding_at at = at_of(w->engine, dsgd_origin_of(w), k, call);
        dsgd_vector_set(
            y, k, dsgd_matrix_start(w->engine->learning.values, &at, (size_t)rank, of_columns), 0);
    }
}

void dsgd_low_rank(dsgd_node *self, dsgd_factor_step step, dsgd_vector *y, dsgd_vector *x,
                   int64_t rank, bool transposed)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    DSGD_OWN(self, y);
    if (step == DSGD_FACTOR_DRAW) {
        draw_factor(w, y, rank, transposed);
        return;
    }
    dsgd_update update = {.apply = orthogonalise_piece,
                          .y = y,
                          .x = y,
                          .codec = DSGD_CODEC_ORTHOGONAL,
                          .rank = rank,
                          .transposed = transposed};
    if (step != DSGD_FACTOR_ORTHOGONALISE) {
        DSGD_OWN(self, x);
        update.x = x;
        update.apply = expand_piece;
        update.codec = DSGD_CODEC_OUTER;
    }
    if (step == DSGD_FACTOR_PROJECT) {
        const dsgd_encoded factors = {
            .rank = rank, .of_columns = transposed, .sum = DSGD_SUM_DIRECT};
        update.apply = project_piece;
        update.codec = transposed ? DSGD_CODEC_TRANSPOSED_TIMES : DSGD_CODEC_TIMES;
        update.encoded = encoded_like(w->engine, factors);
    }
    dsgd_set_when_ready(w, update);
}
