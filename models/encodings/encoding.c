/**
 * @file encoding.c
 * The encodings (kinds of gradient compression) that a user can name.
 */
#include "models/encodings/encoding.h"

#include <gsl/gsl_math.h>

#include "base/draw.h"
#include "base/round.h"

enum { FLOAT_BITS = 32, FLOAT_BYTES = 4, BYTE_BITS = 8 };

static const dsgd_codec identity; /* a codec without a kind, which means Q(x) = x */

/** Sets the coordinates of the codec's random numbers. */
static void draw_at(dsgd_codec *codec, const dsgd_encoding_at *at, uint32_t worker)
{
    enum { CALL = 256 }; /* distance between the purposes of two successive compressions */
    codec->seed = at->seed;
    codec->purpose = DSGD_DRAW_ENCODING + CALL * at->call;
    codec->worker = worker;
    codec->step = at->step;
    codec->first = (uint32_t)at->first;
}

#define FEEDBACK_ROW(type)                                                                         \
    DSGD_OPTION_AS(                                                                                \
        "feedback", BOOL, type, common.feedback,                                                   \
        "error feedback: values that are not sent are kept and added to the next vector")

#define REDUCE_ROW(type, words_, help_)                                                            \
    DSGD_OPTION_AS("reduce", CHOICE, type, common.reduce, help_, .words = words_)

/**
 * Defines encoding NAME with the options NAME_options. The macro's last arguments set further
 * members of dsgd_encoding_kind.
 */
#define KIND(NAME, PARAMS, SUMMARY, REFERENCE, ...)                                                \
    static const dsgd_encoding_kind NAME = {.about = {.name = #NAME,                               \
                                                      .summary = SUMMARY,                          \
                                                      .reference = REFERENCE,                      \
                                                      DSGD_PARAMS(PARAMS, NAME##_options)},        \
                                            __VA_ARGS__}

static double whole_bytes(double bits)
{
    return ceil(bits / BYTE_BITS);
}

static const dsgd_encoding_kind none = {
    .about = {.name = "none", .summary = "no compression: all values are sent unchanged"},
    .sum = DSGD_SUM_DIRECT,
};

/* --- selections of elements ------------------------------------------------------------------- */

/* Names of the values DSGD_REDUCE_*. */
static const char *const regions_words[] = {"gather", "regions", NULL};

#define SELECTION(DOES)                                                                            \
    .does = DOES, .codec = selection_codec, .bytes = selection_bytes, .sparse = true,              \
    .of_differences = true
#define SHARE_ROW(help_) DSGD_OPTION_DOUBLE(dsgd_selection, share, 0.01, 0, 1, "share", help_)
#define VALUE_ROW                                                                                  \
    DSGD_OPTION_LONG(dsgd_selection, value_bits, 32, 1, 64, NULL, "bits of each sent value")

/** Returns the number of elements that are kept of a chunk of @p n elements, at least one. */
static double kept(const dsgd_selection *p, double n)
{
    return fmax(1, dsgd_floor(p->share * n));
}

static dsgd_codec selection_codec(dsgd_codec_kind kind, const void *params, size_t n)
{
    const dsgd_selection *const p = params;
    const size_t count = (size_t)kept(p, (double)n);
    if (kind == DSGD_CODEC_THRESHOLD)
        return (dsgd_codec){.kind = DSGD_CODEC_THRESHOLD, .number = p->at};
    if (count >= n)
        return identity;
    return (dsgd_codec){.kind = (uint32_t)kind,
                        .count = count,
                        .number = p->unbiased ? (double)n / (double)count : 1};
}

static double selection_bytes(dsgd_codec_kind kind, const void *params, double n)
{
    const dsgd_selection *const p = params;
    (void)kind;
    return whole_bytes(kept(p, n) * (double)(p->value_bits + p->index_bits));
}

/**
 * Returns the share of the sum of squares that the largest elements contain. Elements that are not
 * sent grow until they are sent. All elements are therefore sent in turn, and their sizes are
 * evenly distributed between 0 and the largest size.
 */
static double top_k_contraction(const void *params)
{
    const double rest = 1 - ((const dsgd_selection *)params)->share;
    return 1 - rest * rest * rest;
}

/**
 * Returns the contraction of random_k. If sent values are divided by `share`, the relative squared
 * error is 1 / share - 1. If `share` is 0, one element is sent, and the contraction is unknown.
 */
static double random_k_contraction(const void *params)
{
    const dsgd_selection *const p = params;
    return p->unbiased ? 2 - 1 / p->share : p->share > 0 ? p->share : NAN;
}

static const dsgd_option top_k_options[] = {
    SHARE_ROW("share of a chunk's elements that are sent, the largest ones; at least one element"),
    VALUE_ROW,
    DSGD_OPTION_LONG(dsgd_selection, index_bits, 32, 0, 64, NULL, "bits of each index"),
    REDUCE_ROW(dsgd_selection, regions_words,
               "reduction in allreduces. gather: every worker receives all sent values; regions: "
               "each worker sums its region, and all receive the largest sums (Ok-Topk)"),
    FEEDBACK_ROW(dsgd_selection),
    DSGD_OPTION_END,
};

static const dsgd_option random_k_options[] = {
    SHARE_ROW("share of a chunk's elements that are sent, chosen at random; at least one element"),
    VALUE_ROW,
    DSGD_OPTION_LONG(
        dsgd_selection, index_bits, 0, 0, 64, NULL,
        "bits of each index; 0: the receiver generates the indices from the same seed"),
    DSGD_OPTION_BOOL(dsgd_selection, unbiased, false,
                     "true: divide sent values by share, so that their expectation is the vector"),
    FEEDBACK_ROW(dsgd_selection),
    DSGD_OPTION_END,
};

static const dsgd_option threshold_options[] = {
    DSGD_OPTION_DOUBLE(
        dsgd_selection, at, 1e-3, 0, 1e300, NULL,
        "threshold: elements with a larger absolute value are sent, with their values (Strom "
        "sends the threshold with their signs)"),
    SHARE_ROW(
        "share of the elements that is assumed for bytes and times, which do not depend on values"),
    VALUE_ROW,
    DSGD_OPTION_LONG(dsgd_selection, index_bits, 32, 0, 64, NULL, "bits of each index"),
    FEEDBACK_ROW(dsgd_selection),
    DSGD_OPTION_END,
};

KIND(top_k, dsgd_selection, "the largest elements with their indices (top-k)",
     "A. F. Aji, K. Heafield, EMNLP 2017; regions: S. Li, T. Hoefler, \"Near-"
     "optimal sparse allreduce for distributed deep learning\", PPoPP 2022",
     SELECTION(DSGD_CODEC_TOP_K), .contraction = top_k_contraction);

KIND(random_k, dsgd_selection, "elements chosen at random (random-k, Philox)",
     "S. U. Stich et al., \"Sparsified SGD with memory\", NeurIPS 2018",
     SELECTION(DSGD_CODEC_RANDOM_K), .contraction = random_k_contraction);

KIND(threshold, dsgd_selection, "elements above a fixed absolute value with their indices",
     "N. Strom, \"Scalable distributed DNN training using commodity GPU cloud "
     "computing\", Interspeech 2015",
     SELECTION(DSGD_CODEC_THRESHOLD));

/* --- encodings that send fewer bits per element ----------------------------------------------- */

typedef struct rounding_params {
    dsgd_encoding_params common;
    int64_t bits; /* bits per element, for UNIFORM */
    int64_t levels; /* number of quantisation levels, for STOCHASTIC */
    int64_t block; /* number of elements per block; 0 means that the whole chunk is one block */
    bool damped; /* true if sent values are multiplied by 1 / (1 + v), for STOCHASTIC */
} rounding_params;

/** Returns a bound of the relative squared error of STOCHASTIC. */
static double qsgd_variance(const rounding_params *p)
{
    const double b = (double)p->block;
    const double s = (double)p->levels;
    return fmin(b / (s * s), sqrt(b) / s);
}

static dsgd_codec rounding_codec(dsgd_codec_kind kind, const void *params, size_t n)
{
    const rounding_params *const p = params;
    const int64_t levels = kind == DSGD_CODEC_UNIFORM ? (1l << (p->bits - 1)) - 1 : p->levels;
    return (dsgd_codec){.kind = (uint32_t)kind,
                        .levels = (uint32_t)levels,
                        .count = p->block == 0 ? n : (size_t)p->block,
                        .number = p->damped ? 1 / (1 + qsgd_variance(p)) : 1};
}

static double qsgd_contraction(const void *params)
{
    const rounding_params *const p = params;
    return p->damped ? 1 / (1 + qsgd_variance(p)) : 1 - qsgd_variance(p);
}

/**
 * Returns the contraction of sign: the square of the mean absolute value of standard normal
 * numbers.
 */
static double sign_contraction(const void *params)
{
    (void)params;
    return M_2_PI;
}

/**
 * Returns the contraction of uniform, or NAN for 2 bits. Numbers are assumed to lie within 4
 * standard deviations, so errors are at most half of one of 2^(bits-1) - 1 levels.
 */
static double uniform_contraction(const void *params)
{
    const double levels = exp2((double)((const rounding_params *)params)->bits - 1) - 1;
    return levels > 1 ? 1 - 4 / (3 * levels * levels) : NAN;
}

/**
 * Returns the bytes of @p n elements: the bits of each element, and one float32 per block. For
 * STOCHASTIC, an element consists of a sign and one of the levels 0 to `levels`.
 */
static double rounding_bytes(dsgd_codec_kind kind, const void *params, double n)
{
    const rounding_params *const p = params;
    const double n_blocks = p->block == 0 ? 1 : dsgd_ceil(n / (double)p->block);
    const double bits = kind == DSGD_CODEC_SIGN      ? 1
                        : kind == DSGD_CODEC_UNIFORM ? (double)p->bits
                                                     : 1 + ceil(log2((double)p->levels + 1));
    return whole_bytes(n * bits) + FLOAT_BYTES * n_blocks;
}

#define ROUNDING(DOES) .does = DOES, .codec = rounding_codec, .bytes = rounding_bytes

static const char *const bidirectional_words[] = {"gather", "bidirectional", NULL};
#define SUM_ROW                                                                                    \
    REDUCE_ROW(rounding_params, bidirectional_words,                                               \
               "reduction in allreduces. gather: every worker receives all sent vectors; "         \
               "bidirectional: each worker sums its share and compresses the sum (1-bit Adam)")

static const dsgd_option sign_options[] = {
    DSGD_OPTION_LONG(rounding_params, block, 0, 0, 0x1p40, NULL,
                     "elements per block with a common mean absolute value; 0: the whole chunk"),
    SUM_ROW,
    FEEDBACK_ROW(rounding_params),
    DSGD_OPTION_END,
};

static const dsgd_option uniform_options[] = {
    DSGD_OPTION_LONG(rounding_params, bits, 8, 2, 16, NULL, "bits per element, including the sign"),
    DSGD_OPTION_LONG(rounding_params, block, 4096, 0, 0x1p40, NULL,
                     "elements per block with a common largest absolute value; 0: the whole chunk"),
    SUM_ROW,
    FEEDBACK_ROW(rounding_params),
    DSGD_OPTION_END,
};

static const dsgd_option qsgd_options[] = {
    DSGD_OPTION_LONG(rounding_params, levels, 127, 1, 65535, NULL,
                     "quantisation levels: elements are rounded to multiples of norm / levels"),
    DSGD_OPTION_LONG(rounding_params, block, 128, 1, 0x1p40, NULL,
                     "elements per block (bucket) with a common norm"),
    DSGD_OPTION_BOOL(
        rounding_params, damped, false,
        "true: multiply by 1 / (1 + v), v = min(block / levels^2, sqrt(block) / levels) "
        "bounding the variance, as in CHOCO"),
    SUM_ROW,
    FEEDBACK_ROW(rounding_params),
    DSGD_OPTION_END,
};

KIND(sign, rounding_params, "one bit per element (+ for 0) and the mean absolute value of a block",
     "S. P. Karimireddy et al., \"Error feedback fixes SignSGD and other "
     "gradient compression schemes\", ICML 2019",
     ROUNDING(DSGD_CODEC_SIGN), .of_differences = true, .contraction = sign_contraction);

KIND(uniform, rounding_params, "integers of a few bits and one scale per block: int8, int4",
     "T. Dettmers, \"8-bit approximations for parallelism in deep learning\", "
     "ICLR 2016",
     ROUNDING(DSGD_CODEC_UNIFORM), .contraction = uniform_contraction);

KIND(qsgd, rounding_params, "integers of a few bits with stochastic rounding, which is unbiased",
     "D. Alistarh et al., \"QSGD\", NeurIPS 2017", ROUNDING(DSGD_CODEC_STOCHASTIC),
     .contraction = qsgd_contraction);

/* --- low-rank approximation ------------------------------------------------------------------- */

typedef struct low_rank_params {
    dsgd_encoding_params common;
    int64_t rank;
} low_rank_params;

dsgd_matrix dsgd_matrix_of(size_t n)
{
    size_t rows = (size_t)sqrt((double)n);
    while (rows > 1 && rows * rows > n)
        rows--;
    rows = rows < 1 ? 1 : rows;
    return (dsgd_matrix){rows, (n + rows - 1) / rows};
}

bool dsgd_matrix_has_rank(size_t n, size_t rank)
{
    const dsgd_matrix m = dsgd_matrix_of(n);
    return rank <= n / (m.rows + m.columns);
}

dsgd_codec dsgd_matrix_codec(const dsgd_matrix_step *step, size_t n)
{
    const dsgd_matrix m = dsgd_matrix_of(n);
    return (dsgd_codec){.kind = (uint32_t)step->kind,
                        .count = (size_t)step->rank,
                        .rows = (uint32_t)(step->of_columns ? m.columns : m.rows),
                        .columns = (uint32_t)m.columns};
}

dsgd_value dsgd_matrix_start(dsgd_values *values, const dsgd_encoding_at *at, size_t rank,
                             bool of_columns)
{
    const size_t n = dsgd_values_size(values, at->piece);
    if (!dsgd_matrix_has_rank(n, rank))
        return DSGD_ZERO_VALUE;
    const dsgd_matrix_step step = {DSGD_CODEC_START, (int64_t)rank, of_columns};
    dsgd_codec codec = dsgd_matrix_codec(&step, n);
    draw_at(&codec, at, UINT32_MAX);
    return dsgd_values_encode(values, at->where, at->piece, &codec, DSGD_ZERO_VALUE,
                              DSGD_ZERO_VALUE);
}

dsgd_value dsgd_matrix_apply(const dsgd_matrix_step *step, dsgd_values *values, dsgd_origin where,
                             size_t piece, dsgd_value x, dsgd_value z, dsgd_value otherwise)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const size_t n = dsgd_values_size(values, piece);
    if (!dsgd_matrix_has_rank(n, (size_t)step->rank))
        return dsgd_value_retain(otherwise);
    const dsgd_codec codec = dsgd_matrix_codec(step, n);
    return dsgd_values_encode(values, where, piece, &codec, x, z);
}

/**
 * Takes one step of a subspace iteration from a random factor q. It computes p = orth(A q) and
 * returns p (A^T p)^T.
 */
static dsgd_value low_rank_apply(const void *params, dsgd_values *values,
                                 const dsgd_encoding_at *at, dsgd_value x)
{
    const int64_t rank = ((const low_rank_params *)params)->rank;
    const dsgd_value start = dsgd_matrix_start(values, at, (size_t)rank, true);
#define STEP(kind, x_, z_)                                                                         \
    dsgd_matrix_apply(&(dsgd_matrix_step){kind, rank, false}, values, at->where, at->piece, x_,    \
                      z_, x)
    const dsgd_value left = STEP(DSGD_CODEC_TIMES, x, start);
    const dsgd_value p = STEP(DSGD_CODEC_ORTHOGONAL, left, DSGD_ZERO_VALUE);
    const dsgd_value q = STEP(DSGD_CODEC_TRANSPOSED_TIMES, x, p);
    /* y is x itself if the chunk is too small for the rank of the factors. */
    const dsgd_value y = STEP(DSGD_CODEC_OUTER, p, q);
#undef STEP
    const dsgd_value used[] = {start, left, p, q};
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        dsgd_value_release(values, used[i]);
    return y;
}

double dsgd_factor_bytes(double piece_bytes, double value_bytes, int64_t rank, bool of_columns)
{
    const size_t n = (size_t)(piece_bytes / value_bytes);
    const dsgd_matrix m = dsgd_matrix_of(n);
    if (!dsgd_matrix_has_rank(n, (size_t)rank))
        return piece_bytes;
    return value_bytes * (double)rank * (double)(of_columns ? m.columns : m.rows);
}

static double low_rank_bytes(dsgd_codec_kind kind, const void *params, double n)
{
    (void)kind;
    const int64_t rank = ((const low_rank_params *)params)->rank;
    return dsgd_factor_bytes(FLOAT_BYTES * n, FLOAT_BYTES, rank, false) +
           dsgd_factor_bytes(FLOAT_BYTES * n, FLOAT_BYTES, rank, true);
}

static const dsgd_option low_rank_options[] = {
    DSGD_OPTION_LONG(low_rank_params, rank, 2, 1, 1 << 16, NULL,
                     "rank of the two factors of a chunk, which is treated as a nearly square "
                     "matrix. Chunks too small for this rank are sent unchanged"),
    FEEDBACK_ROW(low_rank_params),
    DSGD_OPTION_END,
};

KIND(low_rank, low_rank_params,
     "low-rank approximation: two factors of the chunk as a matrix, from a random start (PowerSGD)",
     "T. Vogels, S. P. Karimireddy, M. Jaggi, \"PowerSGD\", NeurIPS 2019", .apply = low_rank_apply,
     .bytes = low_rank_bytes, .of_differences = true);

const dsgd_entry *const dsgd_encoding_kinds[] = {&none.about,      &top_k.about,    &random_k.about,
                                                 &threshold.about, &sign.about,     &qsgd.about,
                                                 &uniform.about,   &low_rank.about, NULL};

dsgd_value dsgd_encoding_apply(const dsgd_spec *pick, dsgd_values *values,
                               const dsgd_encoding_at *at, dsgd_value x)
{
    if (values == NULL)
        return DSGD_ZERO_VALUE;
    const dsgd_encoding_kind *const kind = dsgd_encoding_kind_of(pick);
    const size_t n = dsgd_values_size(values, at->piece);
    if (kind->apply != NULL && n > 0)
        return kind->apply(pick->params, values, at, x);
    if (kind->codec == NULL || n == 0)
        return dsgd_value_retain(x);
    dsgd_codec codec = kind->codec(kind->does, pick->params, n);
    if (codec.kind == identity.kind)
        return dsgd_value_retain(x);
    const size_t part = at->parts > 1 ? (n + at->parts - 1) / at->parts : n;
    if (!kind->sparse && codec.count > part)
        codec.count = part;
    if (dsgd_codec_draws(&codec))
        draw_at(&codec, at, at->worker);
    return dsgd_values_encode(values, at->where, at->piece, &codec, x, DSGD_ZERO_VALUE);
}

double dsgd_encoding_bytes(const dsgd_spec *pick, double bytes, double value_bytes)
{
    const dsgd_encoding_kind *const kind = dsgd_encoding_kind_of(pick);
    if (kind->bytes == NULL)
        return bytes;
    return fmin(bytes, kind->bytes(kind->does, pick->params, bytes / value_bytes));
}

dsgd_spec dsgd_encoding_of(const char *name, const void *params)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_encoding_kinds, name);
    DSGD_ASSERT(about != NULL, "there is no encoding `%s`", name);
    /* The cast is safe, because no code writes to params through a spec. */
    return (dsgd_spec){about, (void *)params};
}

bool dsgd_encoding_is_none(const dsgd_spec *pick)
{
    return pick->about == &none.about;
}

double dsgd_encoding_contraction(const dsgd_spec *pick)
{
    const dsgd_encoding_kind *const kind = dsgd_encoding_kind_of(pick);
    if (dsgd_encoding_is_none(pick))
        return 1;
    return kind->contraction == NULL ? NAN : kind->contraction(pick->params);
}

bool dsgd_encoding_expands(const dsgd_spec *pick)
{
    return dsgd_encoding_contraction(pick) <= 0;
}

dsgd_status dsgd_encoding_check_contracts(const dsgd_spec *pick, const char *name,
                                          const char *consequence, dsgd_error *error)
{
    if (!dsgd_encoding_expands(pick))
        return DSGD_OK;
    return dsgd_refuse(error,
                       "%s: with these options the error of %s exceeds its input, %s. Use "
                       "unbiased: false (for qsgd: damped: true, or more levels)",
                       name, pick->about->name, consequence);
}

bool dsgd_encoding_feeds_back(const dsgd_spec *pick)
{
    const dsgd_encoding_params *const params = pick->params;
    return !dsgd_encoding_is_none(pick) && params->feedback;
}

bool dsgd_encoding_sums_again(const dsgd_spec *pick)
{
    const dsgd_encoding_params *const params = pick->params;
    return !dsgd_encoding_is_none(pick) && params->reduce != DSGD_REDUCE_GATHER;
}

dsgd_encoding_sum dsgd_encoding_sum_of(const dsgd_spec *pick)
{
    return dsgd_encoding_sums_again(pick) ? DSGD_SUM_REENCODED : dsgd_encoding_kind_of(pick)->sum;
}
