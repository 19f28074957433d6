/**
 * @file encode.c
 * The encodings of the CPU: the formulas of models/codecs/formula.h for one chunk. Sums have the
 * same order as in a block of CUDA threads.
 */
#include "models/codecs/formula.h"
#include "models/devices/multiply.h"

/** Returns the sum of the lanes, added as a tree. */
static double lanes_sum(double *lane)
{
    for (size_t half = DSGD_LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static double dot(const real *x, const real *y, size_t n)
{
    double lane[DSGD_LANES] = {0};
    for (size_t first = 0; first < n; first += DSGD_LANES)
        for (size_t l = 0; l < DSGD_LANES && first + l < n; l++)
            lane[l] += (double)x[first + l] * (double)y[first + l];
    return lanes_sum(lane);
}

/**
 * The selected elements: those whose keys are above `key`, and the first `ties` elements whose keys
 * equal `key`.
 */
typedef struct selection {
    uint64_t key;
    size_t ties;
} selection;

/**
 * Finds the `count` elements with the largest keys by radix selection. Each pass finds one digit of
 * the count-th largest key. It considers only the keys that agree with the digits found so far.
 */
static selection select_largest(const dsgd_codec *codec, const real *x, size_t n)
{
    selection found = {0, (size_t)codec->count};
    for (int shift = dsgd_codec_key_bits(codec) - DSGD_DIGIT_BITS; shift >= 0;
         shift -= DSGD_DIGIT_BITS) {
        size_t n_of_digit[DSGD_DIGITS] = {0};
        for (size_t i = 0; i < n; i++) {
            const uint64_t key = dsgd_codec_key(codec, x[i], i);
            if ((key ^ found.key) >> shift >> DSGD_DIGIT_BITS == 0)
                n_of_digit[key >> shift & (DSGD_DIGITS - 1)]++;
        }
        size_t digit = DSGD_DIGITS - 1;
        for (; digit > 0 && n_of_digit[digit] < found.ties; digit--)
            found.ties -= n_of_digit[digit];
        found.key |= (uint64_t)digit << shift;
    }
    return found;
}

static void encode_selection(const dsgd_encode_op *op)
{
    const real *const x = op->x;
    real *const y = op->y;
    selection found = select_largest(&op->codec, x, op->n);
    for (size_t i = 0; i < op->n; i++) {
        const uint64_t key = dsgd_codec_key(&op->codec, x[i], i);
        const bool tie = key == found.key && found.ties > 0;
        found.ties -= tie;
        y[i] = tie || key > found.key ? dsgd_codec_selected(&op->codec, x[i]) : 0;
    }
}

static real scale_of(const dsgd_codec *codec, const real *x, size_t n)
{
    if (codec->kind == DSGD_CODEC_UNIFORM) {
        uint64_t largest = 0;
        for (size_t i = 0; i < n; i++) {
            const uint64_t bits = dsgd_magnitude_bits(x[i]);
            largest = bits > largest ? bits : largest;
        }
        return dsgd_real_of_bits(largest);
    }
    double lane[DSGD_LANES] = {0};
    for (size_t first = 0; first < n; first += DSGD_LANES)
        for (size_t l = 0; l < DSGD_LANES && first + l < n; l++)
            lane[l] += dsgd_codec_term(codec, x[first + l]);
    return dsgd_codec_scale(codec, lanes_sum(lane), n);
}

static void encode_blocks(const dsgd_encode_op *op)
{
    const real *const x = op->x;
    real *const y = op->y;
    for (size_t begin = 0; begin < op->n; begin += op->codec.count) {
        const size_t n = op->n - begin < op->codec.count ? op->n - begin : (size_t)op->codec.count;
        const real scale = scale_of(&op->codec, x + begin, n);
        for (size_t i = begin; i < begin + n; i++)
            y[i] = dsgd_codec_rounded(&op->codec, x[i], i, scale);
    }
}

/**
 * Makes the columns orthonormal. In order, subtracts from each column its components along the
 * previous columns, and divides the column by its length.
 */
static void encode_orthogonal(const dsgd_encode_op *op)
{
    const size_t rows = op->codec.rows;
    real *const y = op->y;
    memcpy(y, op->x, op->n * sizeof *y);
    for (size_t j = 0; j < op->codec.count; j++) {
        real *const column = y + j * rows;
        for (size_t k = 0; k < j; k++) {
            const real *const before = y + k * rows;
            const double part = dot(column, before, rows);
            for (size_t i = 0; i < rows; i++)
                column[i] = (real)((double)column[i] - part * (double)before[i]);
        }
        const double length = sqrt(dot(column, column, rows));
        for (size_t i = 0; i < rows; i++)
            column[i] = (real)((double)column[i] /
                               (length < DSGD_LEAST_LENGTH ? DSGD_LEAST_LENGTH : length));
    }
}

/**
 * Computes A z or A^T z. Each element of the result is summed in order, along a row of A or along a
 * column of A.
 */
static void encode_product(const dsgd_encode_op *op)
{
    const dsgd_codec *const codec = &op->codec;
    const bool transposed = codec->kind == DSGD_CODEC_TRANSPOSED_TIMES;
    const size_t n_out = transposed ? codec->columns : codec->rows;
    const size_t n_in = transposed ? codec->rows : codec->columns;
    const size_t step_out = transposed ? 1 : codec->columns;
    const size_t step_in = transposed ? codec->columns : 1;
    const real *const a = op->x;
    const real *const z = op->z;
    real *const y = op->y;
    memset(y, 0, op->n * sizeof *y);
    double *const sum = dsgd_xcalloc(n_out, sizeof *sum);
    for (size_t j = 0; j < codec->count; j++) {
        memset(sum, 0, n_out * sizeof *sum);
        for (size_t in = 0; in < n_in; in++)
            for (size_t out = 0; out < n_out && out * step_out + in * step_in < op->n; out++)
                sum[out] += (double)a[out * step_out + in * step_in] * (double)z[j * n_in + in];
        for (size_t out = 0; out < n_out; out++)
            y[j * n_out + out] = (real)sum[out];
    }
    free(sum);
}

bool ENCODE(const dsgd_encode_op *op)
{
    const uint32_t kind = op->codec.kind;
    real *const y = op->y;
    if (kind == DSGD_CODEC_TOP_K || kind == DSGD_CODEC_RANDOM_K)
        encode_selection(op);
    else if (kind == DSGD_CODEC_SIGN || kind == DSGD_CODEC_UNIFORM || kind == DSGD_CODEC_STOCHASTIC)
        encode_blocks(op);
    else if (kind == DSGD_CODEC_ORTHOGONAL)
        encode_orthogonal(op);
    else if (kind == DSGD_CODEC_TIMES || kind == DSGD_CODEC_TRANSPOSED_TIMES)
        encode_product(op);
    else
        for (size_t i = 0; i < op->n; i++)
            y[i] = dsgd_codec_element(&op->codec, op->x, op->z, i);
    bool finite = true;
    for (size_t i = 0; i < op->n; i++)
        finite = isfinite(y[i]) && finite;
    return finite;
}
