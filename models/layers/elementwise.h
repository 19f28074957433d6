/**
 * @file elementwise.h
 * The kernels: the computations of layers and losses at one index i. They are written once and
 * compiled for each device, which calls them for every i. layers.h composes layers from kernels and
 * matrix products.
 *
 * A kernel can read all memory of its replica. It only writes elements that no other index writes
 * or reads, so the calls can run in any order.
 */
#pragma once

#include "models/data/environment.h"
#include "models/layers/formula.h"
#include "models/zoo/model.h"

/* --- arguments of kernels --------------------------------------------------------------------- */

/**
 * The memory of one gradient or evaluation in progress. [a][n] means a tensors of n samples each,
 * in this order.
 */
typedef struct replica {
    const real *x; /* parameters, [n_params] */
    real *g; /* gradient, [n_params]; NULL in evaluations */
    const real *state; /* state of the layers before the step, [n_state] */
    real *state_new; /* state of the layers after the step, [n_state]; NULL in evaluations */
    const uint32_t *samples; /* [n] indices of the samples in the data set; NULL if the samples are
                              * first, first + 1, ... */
    uint32_t first, n;
    real *values; /* activations, [n_reals][n] */
    real *grads; /* gradients of the loss with respect to the activations, [n_reals][n] */
    real *saved; /* values that the forward pass saves for the backward pass, [n_saved][n] */
    real *totals; /* sums over the batch, [n_totals] */
    bool *finite; /* set to false if an element of g is not finite; may be NULL */
    double *scores; /* loss and accuracy of each sample, as means over its rows, [n][2]; only in
                     * evaluations */
} replica;

/**
 * Training or test samples in device memory. A stored byte stands for the feature scale * byte +
 * shift.
 */
typedef struct dataset_view {
    uint32_t n_features, n_labels; /* numbers of each sample, as in dsgd_data */
    real scale, shift;
    uint64_t seed; /* seed for the random numbers of environments, as in dsgd_data */
    dsgd_samples samples;
} dataset_view;

/**
 * The samples [first, first + n) of a batch. If a replica has fewer samples, it uses the samples of
 * this range that it has.
 */
typedef struct sample_range {
    uint32_t first, n;
} sample_range;

/** Arguments common to all kernels of a call. */
typedef struct kernel_args {
    dataset_view data;
    uint32_t step; /* row of a sequence, or step of an episode, that the kernel computes */
    uint32_t n_environments;
    real discount, entropy_weight;
    size_t policy_saved, policy_state;
} kernel_args;

/**
 * Defines a kernel, a function with the parameters const replica *r, const dsgd_layer *l, const
 * kernel_args *args, size_t i.
 */
#define KERNEL(name, i)                                                                            \
    static inline DSGD_DEVICE_FUNCTION void name##_kernel(                                         \
        DSGD_UNUSED const replica *r, DSGD_UNUSED const dsgd_layer *l,                             \
        DSGD_UNUSED const kernel_args *args, DSGD_UNUSED size_t i)
#define DSGD_UNUSED __attribute__((unused))

/**
 * This macro is placed before a long sum that few threads compute. A GPU then loads 16 elements of
 * the sum at a time.
 */
#ifdef __CUDA_ARCH__
#define DSGD_LOADS_AHEAD _Pragma("unroll 16")
#else
#define DSGD_LOADS_AHEAD
#endif

static inline DSGD_DEVICE_FUNCTION size_t tensor_size(const dsgd_tensor *t)
{
    return (size_t)t->n_rows * t->n_columns;
}

static inline DSGD_DEVICE_FUNCTION real *values_of(const replica *r, const dsgd_tensor *t)
{
    return r->values + t->offset * r->n;
}

static inline DSGD_DEVICE_FUNCTION real *grads_of(const replica *r, const dsgd_tensor *t)
{
    return r->grads + t->offset * r->n;
}

static inline DSGD_DEVICE_FUNCTION size_t sample_of(const replica *r, size_t i)
{
    return r->samples != NULL ? r->samples[i] : r->first + i;
}

/**
 * Returns a view of @p samples in host memory. @p samples are the training or test samples of @p
 * data.
 */
static inline dataset_view dataset_view_of(const dsgd_data *data, const dsgd_samples *samples)
{
    const bool tokens = data->kind == DSGD_DATA_TOKENS;
    const dataset_view view = {data->n_features,
                               data->n_labels,
                               tokens ? (real)1 : (real)(1 / (255 * (double)data->deviation)),
                               tokens ? (real)0
                                      : (real)(-(double)data->mean / (double)data->deviation),
                               data->seed,
                               *samples};
    return view;
}

static inline kernel_args kernel_args_of(const dsgd_network *network, const dataset_view *data)
{
    const kernel_args args = {*data,
                              0,
                              network->n_environments,
                              (real)network->discount,
                              (real)network->entropy_weight,
                              network->policy_saved,
                              network->environments};
    return args;
}

/**
 * Returns the size of the workspace of a replica of @p n samples, in reals. @p grads is false in
 * evaluations, which need no gradients.
 */
static inline size_t replica_space(const dsgd_network *network, uint32_t n, bool grads)
{
    return n * ((grads ? 2 : 1) * network->n_reals + network->n_saved) + network->n_totals;
}

/**
 * Returns a replica of @p n samples whose workspace is @p memory, of replica_space() reals. Its
 * other members are 0.
 */
static inline replica replica_of(const dsgd_network *network, uint32_t n, bool grads, real *memory)
{
    replica r;
    memset(&r, 0, sizeof r);
    r.n = n;
    r.values = memory;
    r.grads = grads ? r.values + network->n_reals * n : NULL;
    r.saved = r.values + (grads ? 2 : 1) * network->n_reals * n;
    r.totals = r.saved + network->n_saved * n;
    return r;
}

/* --- kernels that load the input of the network ----------------------------------------------- */

KERNEL(load, i)
{
    const dsgd_samples *const samples = &args->data.samples;
    const size_t n = args->data.n_features;
    const size_t first = sample_of(r, i) * n;
    real *const y = values_of(r, &l->in) + i * n;
    for (size_t f = 0; f < n; f++)
        y[f] = samples->x_bytes != NULL
                   ? (real)samples->x_bytes[first + f] * args->data.scale + args->data.shift
                   : (real)samples->x_real[first + f];
}

/* --- pointwise layers ------------------------------------------------------------------------- */

KERNEL(relu_backward, i)
{
    real *const dy = grads_of(r, &l->out);
    dy[i] = dsgd_relu_backward(values_of(r, &l->out)[i], dy[i]);
}

KERNEL(add, i)
{
    const real y = values_of(r, &l->in)[i] + values_of(r, &l->second)[i];
    values_of(r, &l->out)[i] = l->relu ? dsgd_relu(y) : y;
}

KERNEL(add_backward, i)
{
    const real dy = grads_of(r, &l->out)[i];
    real *const a = grads_of(r, &l->in) + i;
    real *const b = grads_of(r, &l->second) + i;
    *a = l->adds ? *a + dy : dy;
    *b = l->other_adds ? *b + dy : dy;
}

/* --- kernels that average or select rows ------------------------------------------------------ */

/** Computes the mean over the rows; i is an index over samples and columns. */
KERNEL(mean_rows, i)
{
    const size_t n = l->in.n_columns;
    const real *const x = values_of(r, &l->in) + i / n * tensor_size(&l->in) + i % n;
    real sum = 0;
    for (size_t row = 0; row < l->in.n_rows; row++)
        sum += x[row * n];
    values_of(r, &l->out)[i] = sum / (real)l->in.n_rows;
}

/** Computes the gradient of mean_rows; i is an index over samples, rows and columns. */
KERNEL(mean_rows_backward, i)
{
    const size_t n = l->in.n_columns;
    const real dy = grads_of(r, &l->out)[i / tensor_size(&l->in) * n + i % n];
    real *const dx = grads_of(r, &l->in) + i;
    *dx = (l->adds ? *dx : (real)0) + dy / (real)l->in.n_rows;
}

KERNEL(last_row, i)
{
    const size_t n = l->in.n_columns;
    values_of(r, &l->out)[i] = values_of(r, &l->in)[(i / n + 1) * tensor_size(&l->in) - n + i % n];
}

/** Computes the gradient of last_row; i is an index over samples, rows and columns. */
KERNEL(last_row_backward, i)
{
    const size_t n = l->in.n_columns;
    const size_t size = tensor_size(&l->in);
    const bool last = i % size >= size - n;
    const real dy = last ? grads_of(r, &l->out)[i / size * n + i % n] : (real)0;
    real *const dx = grads_of(r, &l->in) + i;
    *dx = (l->adds ? *dx : (real)0) + dy;
}

/* --- image layers ----------------------------------------------------------------------------- */

/*
 * Kernels of image layers for CPUs. CUDA has its own versions (cuda_images.cuh), with one thread
 * per number. In this section, index i is a line of pixels. GROUP channels are processed at a time,
 * so that the compiler uses vector instructions.
 */

enum { GROUP = 8 /* number of channels that fill one or two vector registers */ };
#define ALONE /* tells the compiler that no two elements of the loop overlap */
#if !defined(__clang__) && !defined(__CUDACC__)
#undef ALONE
#define ALONE _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#endif
#define CHANNELS(j, n, ...)                                                                        \
    do {                                                                                           \
        size_t j_ = 0;                                                                             \
        for (; j_ + GROUP <= (n); j_ += GROUP)                                                     \
            ALONE for (size_t k_ = 0; k_ < GROUP; k_++)                                            \
            {                                                                                      \
                const size_t j = j_ + k_;                                                          \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        for (size_t j = j_; j < (n); j++) {                                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)

static inline DSGD_DEVICE_FUNCTION uint32_t height_of(const dsgd_tensor *t)
{
    return t->n_rows / t->width;
}

/**
 * Returns the number of lines of windows in the input of a pool. An incomplete last line counts.
 */
static inline DSGD_DEVICE_FUNCTION uint32_t lines_of_windows(const dsgd_layer *l)
{
    return (height_of(&l->in) + l->kernel_size - 1) / l->kernel_size;
}

static inline DSGD_DEVICE_FUNCTION void copy_reals(real *to, const real *from, size_t n)
{
    for (; n >= GROUP; n -= GROUP, to += GROUP, from += GROUP)
        memcpy(to, from, GROUP * sizeof *to);
    for (size_t part = GROUP / 2; part > 0; part /= 2)
        if ((n & part) != 0) {
            memcpy(to, from, part * sizeof *to);
            to += part;
            from += part;
        }
}

/**
 * Copies the windows of output line i. For each output pixel, copies the input elements under its
 * window, and zeros for places outside the image.
 */
KERNEL(im2col, i)
{
    const uint32_t k = l->kernel_size;
    const uint32_t c = l->in.n_columns;
    const uint32_t width = l->in.width;
    const uint32_t height = height_of(&l->in);
    const uint32_t row = (uint32_t)(i % height_of(&l->out));
    const real *const x = values_of(r, &l->in) + i / height_of(&l->out) * tensor_size(&l->in);
    for (uint32_t ky = 0; ky < k; ky++) {
        /* A negative iy or left wraps around, so that the comparisons below are false. */
        const uint32_t iy = row * l->stride + ky - l->padding;
        real *to = r->saved + l->saved * r->n + (i * l->out.width * k + ky) * k * c;
        uint32_t left = 0 - l->padding;
        for (uint32_t ox = 0; ox < l->out.width; ox++, left += l->stride, to += k * k * c)
            if (iy < height && left < width && left + k <= width)
                copy_reals(to, x + ((size_t)iy * width + left) * c, (size_t)k * c);
            else
                for (uint32_t j = 0; j < k * c; j++) {
                    const uint32_t ix = left + j / c;
                    to[j] = iy < height && ix < width ? x[((size_t)iy * width + ix) * c + j % c]
                                                      : (real)0;
                }
    }
}

/**
 * Computes the gradients of input line i: for each pixel the sum of the gradients of all windows
 * that contain the pixel.
 */
KERNEL(col2im, i)
{
    const uint32_t k = l->kernel_size;
    const uint32_t c = l->in.n_columns;
    const uint32_t height = height_of(&l->in);
    const uint32_t width = l->in.width;
    const size_t n = (size_t)width * c;
    const real *const windows =
        r->saved + l->saved * r->n + i / height * l->out.n_rows * ((size_t)k * k * c);
    const real *const x = values_of(r, &l->in) + i * n;
    real *const dx = grads_of(r, &l->in) + i * n;
    for (size_t j = 0; j < n && !l->adds; j++)
        dx[j] = 0;
    for (uint32_t ky = 0; ky < k; ky++) {
        /* oy is the output line times the stride. A negative oy wraps around. */
        const uint32_t oy = (uint32_t)(i % height) + l->padding - ky;
        if (oy % l->stride != 0 || oy / l->stride >= height_of(&l->out))
            continue;
        for (uint32_t kx = 0; kx < k; kx++) {
            const real *from =
                windows + (((size_t)(oy / l->stride) * l->out.width * k + ky) * k + kx) * c;
            uint32_t ix = kx - l->padding; /* ix is the input column; a negative ix wraps around */
            for (uint32_t ox = 0; ox < l->out.width; ox++, ix += l->stride, from += k * k * c)
                if (ix < width)
                    CHANNELS(j, c, dx[(size_t)ix * c + j] += from[j];);
        }
    }
    for (size_t j = 0; j < n && l->relu_input; j++)
        dx[j] = dsgd_relu_backward(x[j], dx[j]);
}

/** Computes line i of the output of a max pool. */
KERNEL(max_pool, i)
{
    const uint32_t c = l->in.n_columns;
    const uint32_t height = height_of(&l->out);
    const real *x = values_of(r, &l->in) + i / height * tensor_size(&l->in) +
                    i % height * l->kernel_size * l->in.width * c;
    real *y = values_of(r, &l->out) + i * l->out.width * c;
    for (uint32_t ox = 0; ox < l->out.width; ox++, x += l->kernel_size * c, y += c) {
        copy_reals(y, x, c);
        for (uint32_t ky = 0; ky < l->kernel_size; ky++)
            for (uint32_t kx = 0; kx < l->kernel_size; kx++) {
                const real *const z = x + ((size_t)ky * l->in.width + kx) * c;
                CHANNELS(j, c, const real m = y[j];
                         const real v = z[j]; /* if v or the maximum is NaN, y becomes NaN */
                         y[j] = v <= m || m != m ? m : v;);
            }
    }
}

/**
 * Computes the gradients of line i of windows. In each window, the first maximum gets the gradient
 * dy of the window. Then dy of the window becomes 0.
 */
KERNEL(max_pool_backward, i)
{
    const uint32_t k = l->kernel_size;
    const uint32_t c = l->in.n_columns;
    const uint32_t width = l->in.width;
    const uint32_t height = height_of(&l->in);
    const uint32_t out_height = height_of(&l->out);
    const size_t sample = i / lines_of_windows(l);
    const uint32_t wy = (uint32_t)(i % lines_of_windows(l));
    const bool adds = l->adds;
    const bool relu = l->relu_input;
    for (uint32_t iy = wy * k; iy < wy * k + k && iy < height; iy++) {
        const size_t line = (sample * height + iy) * width;
        for (uint32_t ix = 0, wx = 0; ix < width; wx++) {
            const bool inside = wy < out_height && wx < l->out.width;
            const size_t window = inside ? (sample * out_height + wy) * l->out.width + wx : 0;
            const real *const y = values_of(r, &l->out) + window * c;
            real *const dy = grads_of(r, &l->out) + window * c;
            for (const uint32_t end = ix + k; ix < end && ix < width; ix++) {
                const real *const x = values_of(r, &l->in) + (line + ix) * c;
                real *const dx = grads_of(r, &l->in) + (line + ix) * c;
                CHANNELS(j, c, const real before = dx[j]; const real z = dy[j]; const real v = x[j];
                         const bool first = inside && v == y[j];
                         const real sum = (adds ? before : (real)0) + (first ? z : (real)0);
                         dx[j] = relu ? dsgd_relu_backward(v, sum) : sum;
                         dy[j] = first ? (real)0 : z;);
            }
        }
    }
}

/* --- normalisation layers --------------------------------------------------------------------- */

#define NORM_EPSILON ((real)1e-5)
#define NORM_MOMENTUM ((real)0.1) /* weight of the new batch in the running statistics */

/*
 * The totals of a batch norm are four numbers per column: mean, 1 / deviation, sum of dy, and sum
 * of dy * normalised x. A layer norm saves the mean and 1 / deviation of each row.
 */

/**
 * Computes the batch statistics and the new running statistics of column j. Evaluations use the
 * running statistics instead.
 */
KERNEL(batch_norm_statistics, j)
{
    const size_t c = l->in.n_columns;
    const size_t n = (size_t)r->n * l->in.n_rows;
    const real *const x = values_of(r, &l->in) + j;
    real *const totals = r->totals + l->totals;
    const real *const old = r->state + l->state;
    real mean = old[j];
    real variance = old[c + j];
    if (r->g != NULL) {
        real sum = 0;
        DSGD_LOADS_AHEAD
        for (size_t i = 0; i < n; i++)
            sum += x[i * c];
        mean = sum / (real)n;
        real squares = 0;
        DSGD_LOADS_AHEAD
        for (size_t i = 0; i < n; i++)
            squares += (x[i * c] - mean) * (x[i * c] - mean);
        variance = squares / (real)n;
        const real unbiased = n > 1 ? squares / (real)(n - 1) : variance;
        real *const new_state = r->state_new + l->state;
        new_state[j] = ((real)1 - NORM_MOMENTUM) * old[j] + NORM_MOMENTUM * mean;
        new_state[c + j] = ((real)1 - NORM_MOMENTUM) * old[c + j] + NORM_MOMENTUM * unbiased;
    }
    totals[j] = mean;
    totals[c + j] = (real)1 / real_sqrt(variance + NORM_EPSILON);
}

KERNEL(batch_norm, i)
{
    const size_t c = l->in.n_columns;
    const size_t j = i % c;
    const real *const totals = r->totals + l->totals;
    const real *const gain = r->x + l->params;
    const real y = gain[j] * ((values_of(r, &l->in)[i] - totals[j]) * totals[c + j]) + gain[c + j];
    values_of(r, &l->out)[i] = l->relu ? dsgd_relu(y) : y;
}

/**
 * Computes the gradients of gain and shift for column j. Row i has its mean at mean[i * step] and
 * its inverse deviation at mean[i * step + gap].
 */
static inline DSGD_DEVICE_FUNCTION void norm_backward_params(const replica *r, const dsgd_layer *l,
                                                             size_t j, const real *mean,
                                                             size_t step, size_t gap)
{
    const size_t c = l->in.n_columns;
    const size_t n = (size_t)r->n * l->in.n_rows;
    const real *const x = values_of(r, &l->in) + j;
    const real *const dy = grads_of(r, &l->out) + j;
    real sum = 0;
    real with_x = 0;
    DSGD_LOADS_AHEAD
    for (size_t i = 0; i < n; i++) {
        sum += dy[i * c];
        with_x += dy[i * c] * ((x[i * c] - mean[i * step]) * mean[i * step + gap]);
    }
    r->g[l->params + j] = with_x;
    r->g[l->params + c + j] = sum;
}

KERNEL(batch_norm_backward_params, j)
{
    const size_t c = l->in.n_columns;
    real *const totals = r->totals + l->totals + j;
    norm_backward_params(r, l, j, totals, 0, c);
    totals[2 * c] = r->g[l->params + c + j];
    totals[3 * c] = r->g[l->params + j];
}

KERNEL(batch_norm_backward, i)
{
    const size_t c = l->in.n_columns;
    const size_t j = i % c;
    const real n = (real)((size_t)r->n * l->in.n_rows);
    const real *const totals = r->totals + l->totals;
    const real x = (values_of(r, &l->in)[i] - totals[j]) * totals[c + j];
    const real dy = grads_of(r, &l->out)[i];
    const real grad = r->x[l->params + j] * totals[c + j] *
                      (dy - totals[2 * c + j] / n - x * totals[3 * c + j] / n);
    real *const dx = grads_of(r, &l->in) + i;
    *dx = (l->adds ? *dx : (real)0) + grad;
}

/** Normalises row i and saves its mean and inverse deviation. */
KERNEL(layer_norm, i)
{
    const size_t c = l->in.n_columns;
    const real *const x = values_of(r, &l->in) + i * c;
    real *const y = values_of(r, &l->out) + i * c;
    real *const saved = r->saved + l->saved * r->n + 2 * i;
    const real *const gain = r->x + l->params;
    real sum = 0;
    for (size_t j = 0; j < c; j++)
        sum += x[j];
    const real mean = sum / (real)c;
    real squares = 0;
    for (size_t j = 0; j < c; j++)
        squares += (x[j] - mean) * (x[j] - mean);
    saved[0] = mean;
    saved[1] = (real)1 / real_sqrt(squares / (real)c + NORM_EPSILON);
    for (size_t j = 0; j < c; j++)
        y[j] = gain[j] * ((x[j] - mean) * saved[1]) + gain[c + j];
}

KERNEL(layer_norm_backward, i)
{
    const size_t c = l->in.n_columns;
    const real *const x = values_of(r, &l->in) + i * c;
    const real *const dy = grads_of(r, &l->out) + i * c;
    real *const dx = grads_of(r, &l->in) + i * c;
    const real *const saved = r->saved + l->saved * r->n + 2 * i;
    const real *const gain = r->x + l->params;
    real sum = 0;
    real with_x = 0;
    for (size_t j = 0; j < c; j++) {
        sum += gain[j] * dy[j];
        with_x += gain[j] * dy[j] * ((x[j] - saved[0]) * saved[1]);
    }
    for (size_t j = 0; j < c; j++) {
        const real normal = (x[j] - saved[0]) * saved[1];
        const real grad = saved[1] * (gain[j] * dy[j] - sum / (real)c - normal * with_x / (real)c);
        dx[j] = (l->adds ? dx[j] : (real)0) + grad;
    }
}

KERNEL(layer_norm_backward_params, j)
{
    norm_backward_params(r, l, j, r->saved + l->saved * r->n, 2, 1);
}

/* --- layers for sequences --------------------------------------------------------------------- */

/**
 * Computes the sum of the vector of a token and the vector of its place; i is an index over
 * samples, rows and columns.
 */
KERNEL(embedding, i)
{
    const size_t c = l->out.n_columns;
    const size_t row = i / c;
    const size_t token = (size_t)values_of(r, &l->in)[row];
    const real *const tokens = r->x + l->params;
    const real *const places = tokens + (size_t)l->n_tokens * c;
    values_of(r, &l->out)[i] = tokens[token * c + i % c] + places[row % l->out.n_rows * c + i % c];
}

/** Computes column j of the gradients of both tables, tokens and places. */
KERNEL(embedding_backward, j)
{
    const size_t c = l->out.n_columns;
    const size_t n_rows = l->out.n_rows;
    const real *const x = values_of(r, &l->in);
    const real *const dy = grads_of(r, &l->out);
    real *const tokens = r->g + l->params;
    real *const places = tokens + (size_t)l->n_tokens * c;
    for (size_t t = 0; t < l->n_tokens + n_rows; t++)
        tokens[t * c + j] = 0;
    for (size_t i = 0; i < (size_t)r->n * n_rows; i++) {
        tokens[(size_t)x[i] * c + j] += dy[i * c + j];
        places[i % n_rows * c + j] += dy[i * c + j];
    }
}

/**
 * Computes row i of the attention weights of one head: the softmax of the scores over this row and
 * earlier rows (causal attention).
 */
KERNEL(attention, i)
{
    const size_t t = l->in.n_rows;
    const size_t present = i % t + 1;
    const uint32_t head_size = l->out.n_columns / l->n_heads;
    const real scale = (real)1 / real_sqrt((real)head_size);
    real *const score = r->saved + l->saved * r->n + i * t;
    real largest = score[0];
    for (size_t j = 1; j < present; j++)
        largest = score[j] > largest ? score[j] : largest;
    real sum = 0;
    for (size_t j = 0; j < present; j++) {
        score[j] = real_exp(scale * (score[j] - largest));
        sum += score[j];
    }
    for (size_t j = 0; j < t; j++)
        score[j] = j < present ? score[j] / sum : (real)0;
}

KERNEL(attention_backward, i)
{
    const size_t t = l->in.n_rows;
    const size_t present = i % t + 1;
    const uint32_t head_size = l->out.n_columns / l->n_heads;
    const real scale = (real)1 / real_sqrt((real)head_size);
    const real *const weight = r->saved + l->saved * r->n + i * t;
    real *const grad = r->saved + (l->saved + (size_t)l->n_heads * t * t) * r->n + i * t;
    real sum = 0;
    for (size_t j = 0; j < present; j++)
        sum += weight[j] * grad[j];
    for (size_t j = 0; j < t; j++)
        grad[j] = j < present ? scale * weight[j] * (grad[j] - sum) : (real)0;
}

/**
 * Offsets of the values that an LSTM saves per sample, in multiples of rows * units reals. The
 * values are gates [rows][4 units], cells [rows][units] and previous outputs [rows][units]. The
 * gradients of cell and output follow, [units] each.
 */
enum { LSTM_GATES = 0, LSTM_CELLS = 4, LSTM_BEFORE = 5, LSTM_CELL_GRAD = 6 };

/**
 * Returns the offset of a part of the saved values. The gradient of the output comes directly after
 * the gradient of the cell.
 */
static inline DSGD_DEVICE_FUNCTION size_t lstm_saved(const dsgd_layer *l, size_t part)
{
    return l->saved + part * tensor_size(&l->out);
}

static inline DSGD_DEVICE_FUNCTION bool lstm_over(const replica *r, const kernel_args *args,
                                                  size_t sample)
{
    return args->data.samples.lengths != NULL &&
           args->step >= args->data.samples.lengths[sample_of(r, sample)];
}

/**
 * Computes row args->step of an LSTM; i is an index over samples and units. After the end of a
 * sequence, its last output repeats.
 */
KERNEL(lstm, i)
{
    const size_t u = l->out.n_columns;
    const size_t sample = i / u;
    const size_t t = sample * l->out.n_rows + args->step; /* index of this row in the batch */
    const bool begins = args->step == 0;
    const real *const in = values_of(r, &l->in) + t * 4 * u + i % u;
    real *const gates = r->saved + lstm_saved(l, LSTM_GATES) * r->n + t * 4 * u + i % u;
    real *const cell = r->saved + lstm_saved(l, LSTM_CELLS) * r->n + t * u + i % u;
    real *const before = r->saved + lstm_saved(l, LSTM_BEFORE) * r->n + t * u + i % u;
    real *const y = values_of(r, &l->out) + t * u + i % u;
    if (begins)
        *before = 0;
    const real old = begins ? (real)0 : cell[-(ptrdiff_t)u];
    if (lstm_over(r, args, sample)) {
        *cell = old;
        *y = *before;
    } else {
        real z[4];
        for (size_t k = 0; k < 4; k++)
            z[k] = in[k * u] + (begins ? (real)0 : gates[k * u]);
        for (size_t k = 0; k < 4; k++)
            gates[k * u] = k == 2 ? real_tanh(z[k]) : (real)1 / ((real)1 + real_exp(-z[k]));
        *cell = gates[u] * old + gates[0] * gates[2 * u];
        *y = gates[3 * u] * real_tanh(*cell);
    }
    if (args->step + 1 < l->out.n_rows)
        before[u] = *y;
}

KERNEL(lstm_backward, i)
{
    const size_t u = l->out.n_columns;
    const size_t sample = i / u;
    const size_t t = sample * l->out.n_rows + args->step;
    const bool ends = args->step + 1 == l->out.n_rows;
    const real *const gates = r->saved + lstm_saved(l, LSTM_GATES) * r->n + t * 4 * u + i % u;
    const real *const cell = r->saved + lstm_saved(l, LSTM_CELLS) * r->n + t * u + i % u;
    real *const cell_grad = r->saved + lstm_saved(l, LSTM_CELL_GRAD) * r->n + i;
    real *const grad = cell_grad + u * r->n;
    real *const dz = grads_of(r, &l->in) + t * 4 * u + i % u;
    const real dy = grads_of(r, &l->out)[t * u + i % u] + (ends ? (real)0 : *grad);
    if (ends)
        *cell_grad = 0;
    if (lstm_over(r, args, sample)) {
        for (size_t k = 0; k < 4; k++)
            dz[k * u] = 0;
        *grad = dy; /* dz is 0, so the caller's matrix product adds 0 to *grad */
        return;
    }
    const real old = args->step == 0 ? (real)0 : cell[-(ptrdiff_t)u];
    const real squashed = real_tanh(*cell);
    const real in = gates[0];
    const real forget = gates[u];
    const real candidate = gates[2 * u];
    const real out = gates[3 * u];
    const real dc = *cell_grad + dy * out * ((real)1 - squashed * squashed);
    dz[0] = dc * candidate * in * ((real)1 - in);
    dz[u] = dc * old * forget * ((real)1 - forget);
    dz[2 * u] = dc * in * ((real)1 - candidate * candidate);
    dz[3 * u] = dy * squashed * out * ((real)1 - out);
    *cell_grad = dc * forget;
    *grad = 0; /* the caller's matrix product adds the gradient through the gates to *grad */
}

/* --- losses and scores ------------------------------------------------------------------------ */

/** Returns the label of output row i, counted over all samples of the batch. */
static inline DSGD_DEVICE_FUNCTION uint32_t label_of(const replica *r, const dsgd_layer *l,
                                                     const kernel_args *args, size_t i)
{
    const size_t rows = l->out.n_rows;
    return args->data.samples.labels[sample_of(r, i / rows) * args->data.n_labels + i % rows];
}

/**
 * Computes the gradient of the loss for row i of the output. The loss is the mean over all rows of
 * the batch.
 */
KERNEL(cross_entropy, i)
{
    const uint32_t n = l->out.n_columns;
    const real *const z = values_of(r, &l->out) + i * n;
    real *const dz = grads_of(r, &l->out) + i * n;
    /* Copies z first: a direct computation from z to dz would need 40 registers instead of 32. */
    for (uint32_t j = 0; j < n; j++)
        dz[j] = z[j];
    dsgd_cross_entropy(dz, dz, n, label_of(r, l, args, i),
                       (real)1 / (real)((size_t)r->n * l->out.n_rows));
}

KERNEL(squared_error, i)
{
    real *const dz = grads_of(r, &l->out) + i;
    *dz = values_of(r, &l->out)[i];
    dsgd_squared_error(*dz, dz, (real)args->data.samples.targets[sample_of(r, i)],
                       (real)1 / (real)r->n);
}

/** Computes loss and accuracy of sample i, as means over its rows. */
KERNEL(cross_entropy_score, i)
{
    const uint32_t n = l->out.n_columns;
    double loss = 0;
    double right = 0;
    for (size_t row = i * l->out.n_rows; row < (i + 1) * l->out.n_rows; row++) {
        real *const z = values_of(r, &l->out) + row * n;
        const uint32_t label = label_of(r, l, args, row);
        right += dsgd_likeliest(z, n) == label ? 1 : 0;
        loss += dsgd_cross_entropy(z, z, n, label, 1);
    }
    r->scores[2 * i] = loss / (double)l->out.n_rows;
    r->scores[2 * i + 1] = right / (double)l->out.n_rows;
}

KERNEL(squared_error_score, i)
{
    real *const z = values_of(r, &l->out) + i;
    r->scores[2 * i] =
        dsgd_squared_error(*z, z, (real)args->data.samples.targets[sample_of(r, i)], 1);
    r->scores[2 * i + 1] = 0;
}

/* --- policies in environments ----------------------------------------------------------------- */

/*
 * Offsets of the values that a policy saves for each sample: its action, its reward, and a flag for
 * the end of the episode. In evaluations, the state of an environment follows. Sample j of a batch
 * is step j / E of environment j % E, with E = n_environments.
 */

enum {
    POLICY_ACTION,
    POLICY_REWARD,
    POLICY_ENDED,
    POLICY_RETURN = POLICY_REWARD,
    POLICY_ENVIRONMENT = 3
};

static inline DSGD_DEVICE_FUNCTION real *policy_saved(const replica *r, const kernel_args *args,
                                                      uint32_t what)
{
    return r->saved + (args->policy_saved + what) * r->n;
}

/**
 * Returns the worker's environment i % n_environments. In evaluations, returns the environment of
 * episode i.
 */
static inline DSGD_DEVICE_FUNCTION real *environment_of(const replica *r, const kernel_args *args,
                                                        size_t i)
{
    return r->g != NULL ? r->state_new + args->policy_state +
                              i % args->n_environments * DSGD_ENVIRONMENT_REALS
                        : policy_saved(r, args, POLICY_ENVIRONMENT) + i * DSGD_ENVIRONMENT_REALS;
}

KERNEL(state_copy, i)
{
    r->state_new[args->policy_state + i] = r->state[args->policy_state + i];
}

KERNEL(observe, i)
{
    dsgd_environment_observe(environment_of(r, args, i),
                             values_of(r, &l->in) + i * DSGD_ENVIRONMENT_FEATURES);
}

KERNEL(act, i)
{
    const uint32_t n = l->out.n_columns;
    const uint32_t id = r->samples[i];
    real *const e = environment_of(r, args, i);
    const uint32_t action =
        dsgd_action_drawn(values_of(r, &l->out) + i * n, n,
                          dsgd_philox_uniform(args->data.seed, DSGD_DRAW_POLICY, 0, id, 0));
    bool ended = false;
    bool there = false;
    policy_saved(r, args, POLICY_ACTION)[i] = (real)action;
    policy_saved(r, args, POLICY_REWARD)[i] =
        dsgd_environment_step(e, action, args->data.seed, id, &ended, &there);
    policy_saved(r, args, POLICY_ENDED)[i] = ended ? (real)1 : (real)0;
    if (ended)
        dsgd_episode_begin(e, args->data.seed, id, 1, 0);
}

/**
 * Replaces the rewards of environment e by discounted returns. A return ends with its episode or
 * with the batch.
 */
KERNEL(return, e)
{
    real *const reward = policy_saved(r, args, POLICY_REWARD);
    const real *const ended = policy_saved(r, args, POLICY_ENDED);
    real sum = 0;
    for (size_t t = (r->n + args->n_environments - 1) / args->n_environments; t-- > 0;) {
        const size_t i = t * args->n_environments + e;
        if (i >= r->n)
            continue;
        sum = reward[i] + (ended[i] != 0 ? (real)0 : args->discount * sum);
        reward[i] = sum;
    }
}

/**
 * Computes the baseline, which is the mean return of the batch. It overwrites POLICY_ENDED of
 * sample 0.
 */
KERNEL(baseline, i)
{
    const real *const returns = policy_saved(r, args, POLICY_RETURN);
    real sum = 0;
    for (size_t j = 0; j < r->n; j++)
        sum += returns[j];
    policy_saved(r, args, POLICY_ENDED)[0] = sum / (real)r->n;
}

KERNEL(policy, i)
{
    const uint32_t n = l->out.n_columns;
    const real *const z = values_of(r, &l->out) + i * n;
    real *const dz = grads_of(r, &l->out) + i * n;
    for (uint32_t j = 0; j < n; j++)
        dz[j] = z[j];
    const real advantage =
        policy_saved(r, args, POLICY_RETURN)[i] - policy_saved(r, args, POLICY_ENDED)[0];
    dsgd_policy_gradient(dz, n, (uint32_t)policy_saved(r, args, POLICY_ACTION)[i], advantage,
                         args->entropy_weight, (real)1 / (real)r->n);
}

KERNEL(episode, i)
{
    dsgd_episode_begin(environment_of(r, args, i), args->data.seed, UINT32_MAX, 0,
                       (uint32_t)sample_of(r, i));
    policy_saved(r, args, POLICY_ENDED)[i] = 0;
    r->scores[2 * i] = 0;
    r->scores[2 * i + 1] = 0;
}

/**
 * Takes one step of an episode with the most likely action. The loss is minus the sum of rewards.
 * The accuracy is 1 if the agent reaches the goal.
 */
KERNEL(episode_step, i)
{
    const real *const z = values_of(r, &l->out) + i * l->out.n_columns;
    real *const over = policy_saved(r, args, POLICY_ENDED) + i;
    if (*over != 0)
        return;
    const uint32_t action = dsgd_likeliest(z, l->out.n_columns);
    bool ended = false;
    bool there = false;
    const uint32_t id = (uint32_t)sample_of(r, i) * DSGD_EPISODE_STEPS + args->step;
    r->scores[2 * i] -= (double)dsgd_environment_step(environment_of(r, args, i), action,
                                                      ~args->data.seed, id, &ended, &there);
    r->scores[2 * i + 1] = there ? 1 : 0;
    *over = ended ? (real)1 : (real)0;
}
