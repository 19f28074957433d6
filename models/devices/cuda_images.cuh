/**
 * @file cuda_images.cuh
 * CUDA versions of the kernels in elementwise.h that handle whole rows: load, im2col, col2im and
 * max pooling. They have one thread per number or, if the memory layout allows it, one thread per
 * CELL adjacent channels. Adjacent threads write adjacent addresses. Sums are kept in registers and
 * have the order of elementwise.h, so they have the same bits. Only cuda.cu includes this file.
 */
#pragma once

#include "models/devices/cuda_layers.cuh"

namespace
{

const uint32_t most_divided = (uint32_t)1 << 31;

/**
 * Divides numbers below most_divided by n, with a product and a shift (Granlund, Montgomery, 1994).
 */
struct divisor {
    uint32_t n, factor, shift;
};

divisor divisor_of(uint32_t n)
{
    uint32_t shift = 0;
    while (shift < 32 && ((uint64_t)1 << shift) < n)
        shift++;
    const uint64_t excess = ((uint64_t)1 << shift) - n;
    return divisor{n, (uint32_t)((excess << 32) / n + 1), shift};
}

/** Divides *x by @p by and returns the remainder. */
__device__ uint32_t split(uint32_t *x, const divisor &by)
{
    const uint32_t all = *x;
    *x = ((uint32_t)((uint64_t)all * by.factor >> 32) + all) >> by.shift;
    return all - *x * by.n;
}

/** Loads WIDE adjacent numbers into to[WIDE]. WIDE must be 1, 2 or CELL. */
template <uint32_t WIDE> __device__ void load_wide(real *to, const real *from)
{
    if (WIDE == 1) {
        *to = *from;
        return;
    }
    if (WIDE == 2) {
        const float2 x = *reinterpret_cast<const float2 *>(from);
        to[0] = x.x;
        to[1] = x.y;
        return;
    }
    const float4 x = *reinterpret_cast<const float4 *>(from);
    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
}

/** Stores WIDE adjacent numbers at @p to, in any kind of memory. */
template <uint32_t WIDE> __device__ void store_here(real *to, const real *x)
{
    if (WIDE == 1)
        *to = *x;
    else if (WIDE == 2)
        *reinterpret_cast<float2 *>(to) = make_float2(x[0], x[1]);
    else
        *reinterpret_cast<float4 *>(to) = make_float4(x[0], x[1], x[2], x[3]);
}

/** Stores WIDE adjacent numbers at @p to, in global memory. */
template <uint32_t WIDE> __device__ void store_wide(real *to, const real *x)
{
    if (WIDE == 1)
        *to = *x;
    else
        store_float4(to, make_float4(x[0], x[1], x[2], x[3]));
}

__device__ bool is_aligned(const void *at)
{
    return (uintptr_t)at % alignment == 0;
}

/** Properties of a layer, in the form that the threads of a launch need. */
struct image {
    uint32_t columns, kernel_size, stride, padding;
    uint32_t in_width, in_height, out_width, out_height;
    bool adds, relu_input;
    size_t in, out, saved; /* offsets of input, output and saved values, in reals per sample */
    uint32_t in_size, out_size, windows_size; /* sizes of input, output and windows, in reals per
                                               * sample */
    divisor by_column, by_cell; /* divisors for columns and for columns / CELL */
    divisor by_kernel, by_stride, by_in_width, by_in_height, by_out_width, by_out_height;
};

image image_of(const dsgd_layer *l)
{
    image p = {};
    p.columns = l->in.n_columns;
    p.kernel_size = l->kernel_size;
    p.stride = l->stride;
    p.padding = l->padding;
    p.in_width = l->in.width;
    p.in_height = l->in.n_rows / l->in.width;
    p.out_width = l->out.width;
    p.out_height = l->out.n_rows / l->out.width;
    p.adds = l->adds;
    p.relu_input = l->relu_input;
    p.in = l->in.offset;
    p.out = l->out.offset;
    p.saved = l->saved;
    p.in_size = (uint32_t)tensor_size(&l->in);
    p.out_size = (uint32_t)tensor_size(&l->out);
    p.windows_size = l->out.n_rows * l->kernel_size * l->kernel_size * p.columns;
    p.by_column = divisor_of(p.columns);
    p.by_cell = divisor_of(std::max((uint32_t)1, p.columns / CELL));
    p.by_kernel = divisor_of(p.kernel_size);
    p.by_stride = divisor_of(std::max((uint32_t)1, p.stride));
    p.by_in_width = divisor_of(p.in_width);
    p.by_in_height = divisor_of(p.in_height);
    p.by_out_width = divisor_of(p.out_width);
    p.by_out_height = divisor_of(p.out_height);
    return p;
}

/** Addresses of the tensors of a replica, starting at the first sample of a launch. */
struct tensors {
    real *x, *dx, *y, *dy, *windows;
};

__device__ tensors tensors_of(const image &p, const replica &r, uint32_t first)
{
    const size_t n = r.n;
    tensors t;
    t.x = global(r.values + p.in * n + (size_t)first * p.in_size);
    t.dx = global(r.grads + p.in * n + (size_t)first * p.in_size);
    t.y = global(r.values + p.out * n + (size_t)first * p.out_size);
    t.dy = global(r.grads + p.out * n + (size_t)first * p.out_size);
    t.windows = global(r.saved + p.saved * n + (size_t)first * p.windows_size);
    return t;
}

/**
 * Place of a number in an image. split_place() computes the place from index *e, and stores the
 * index of the sample in *e.
 */
struct place {
    uint32_t column, x, y;
};

template <uint32_t WIDE>
__device__ place split_place(uint32_t *e, const image &p, const divisor &by_width,
                             const divisor &by_height)
{
    place at;
    at.column = split(e, WIDE == 1 ? p.by_column : p.by_cell) * WIDE;
    at.x = split(e, by_width);
    at.y = split(e, by_height);
    return at;
}

/*
 * The following structs are the bodies of kernels. Each body computes WIDE adjacent numbers; e is
 * the index of this group of WIDE numbers.
 */

struct im2col_body {
    template <uint32_t WIDE>
    static __device__ void run(const image &p, const tensors &t, uint32_t e)
    {
        uint32_t sample = e;
        const uint32_t column = split(&sample, WIDE == 1 ? p.by_column : p.by_cell) * WIDE;
        const uint32_t kx = split(&sample, p.by_kernel);
        const uint32_t ky = split(&sample, p.by_kernel);
        const uint32_t ix = split(&sample, p.by_out_width) * p.stride + kx - p.padding;
        const uint32_t iy = split(&sample, p.by_out_height) * p.stride + ky - p.padding;
        real v[WIDE] = {};
        /*
         * The condition is false outside the image, also if an unsigned number has wrapped around.
         */
        if (iy < p.in_height && ix < p.in_width)
            load_wide<WIDE>(v, t.x + (size_t)sample * p.in_size +
                                   (iy * p.in_width + ix) * p.columns + column);
        store_wide<WIDE>(t.windows + (size_t)e * WIDE, v);
    }
};

struct col2im_body {
    template <uint32_t WIDE>
    static __device__ void run(const image &p, const tensors &t, uint32_t e)
    {
        uint32_t sample = e;
        const place at = split_place<WIDE>(&sample, p, p.by_in_width, p.by_in_height);
        const real *const windows = t.windows + (size_t)sample * p.windows_size + at.column;
        real sums[WIDE] = {};
        if (p.adds)
            load_wide<WIDE>(sums, t.dx + (size_t)e * WIDE);
#pragma unroll 1
        for (uint32_t ky = 0; ky < p.kernel_size; ky++) {
            /* oy is the output line times the stride. If it would be negative, it wraps around. */
            uint32_t oy = at.y + p.padding - ky;
            if (oy >= most_divided || split(&oy, p.by_stride) != 0 || oy >= p.out_height)
                continue;
#pragma unroll 1
            for (uint32_t kx = 0; kx < p.kernel_size; kx++) {
                uint32_t ox = at.x + p.padding - kx;
                if (ox >= most_divided || split(&ox, p.by_stride) != 0 || ox >= p.out_width)
                    continue;
                const uint32_t window = oy * p.out_width + ox;
                real v[WIDE];
                load_wide<WIDE>(v, windows + ((window * p.kernel_size + ky) * p.kernel_size + kx) *
                                                 p.columns);
#pragma unroll
                for (uint32_t j = 0; j < WIDE; j++)
                    sums[j] += v[j];
            }
        }
        if (p.relu_input) {
            real x[WIDE];
            load_wide<WIDE>(x, t.x + (size_t)e * WIDE);
#pragma unroll
            for (uint32_t j = 0; j < WIDE; j++)
                sums[j] = dsgd_relu_backward(x[j], sums[j]);
        }
        store_wide<WIDE>(t.dx + (size_t)e * WIDE, sums);
    }
};

/** Calls visit(v) for the numbers v of the window at @p corner that precede place (ky, kx). */
template <uint32_t WIDE, typename Visit>
__device__ void for_those_before(const image &p, const real *corner, uint32_t ky, uint32_t kx,
                                 Visit visit)
{
#pragma unroll 1
    for (uint32_t y = 0; y <= ky; y++, corner += p.in_width * p.columns)
#pragma unroll 1
        for (uint32_t x = 0; x < (y < ky ? p.kernel_size : kx); x++) {
            real v[WIDE];
            load_wide<WIDE>(v, corner + x * p.columns);
            visit(v);
        }
}

struct max_pool_body {
    template <uint32_t WIDE>
    static __device__ void run(const image &p, const tensors &t, uint32_t e)
    {
        uint32_t sample = e;
        const place at = split_place<WIDE>(&sample, p, p.by_out_width, p.by_out_height);
        const real *const corner =
            t.x + (size_t)sample * p.in_size +
            (at.y * p.kernel_size * p.in_width + at.x * p.kernel_size) * p.columns + at.column;
        real y[WIDE];
        load_wide<WIDE>(y, corner);
        for_those_before<WIDE>(p, corner, p.kernel_size, 0, [&](const real *z) {
#pragma unroll
            /* the maximum stays NaN if it is NaN */
            for (uint32_t j = 0; j < WIDE; j++)
                y[j] = z[j] <= y[j] || y[j] != y[j] ? y[j] : z[j];
        });
        store_wide<WIDE>(t.y + (size_t)e * WIDE, y);
    }
};

struct max_pool_backward_body {
    template <uint32_t WIDE>
    static __device__ void run(const image &p, const tensors &t, uint32_t e)
    {
        uint32_t sample = e;
        const place at = split_place<WIDE>(&sample, p, p.by_in_width, p.by_in_height);
        uint32_t wx = at.x;
        uint32_t wy = at.y;
        const uint32_t kx = split(&wx, p.by_kernel);
        const uint32_t ky = split(&wy, p.by_kernel);
        const bool inside = wy < p.out_height && wx < p.out_width;
        const size_t window =
            (size_t)sample * p.out_size +
            (inside ? (wy * p.out_width + wx) * p.columns + at.column : at.column);
        /* Address of the window's corner. */
        const real *const corner = t.x + (size_t)e * WIDE - (ky * p.in_width + kx) * p.columns;
        real here[WIDE], largest[WIDE], dx[WIDE], dy[WIDE];
        bool first[WIDE];
        load_wide<WIDE>(here, t.x + (size_t)e * WIDE);
        load_wide<WIDE>(largest, t.y + window);
        load_wide<WIDE>(dy, t.dy + window);
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++) {
            first[j] = inside && here[j] == largest[j];
            dx[j] = 0;
        }
        if (p.adds)
            load_wide<WIDE>(dx, t.dx + (size_t)e * WIDE);
        for_those_before<WIDE>(p, corner, ky, kx, [&](const real *before) {
#pragma unroll
            for (uint32_t j = 0; j < WIDE; j++)
                first[j] = first[j] && before[j] != largest[j];
        });
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++) {
            dx[j] += first[j] ? dy[j] : 0.0f;
            dx[j] = p.relu_input ? dsgd_relu_backward(here[j], dx[j]) : dx[j];
        }
        store_wide<WIDE>(t.dx + (size_t)e * WIDE, dx);
    }
};

/** Runs a body for all numbers of the samples @p s. The grid is (blocks, replicas). */
template <typename Body>
__global__ void __launch_bounds__(THREADS, 8)
    image_global(const replica *replicas, const __grid_constant__ image p, sample_range s,
                 uint32_t size)
{
    const replica r = replicas[blockIdx.y];
    const tensors t = tensors_of(p, r, s.first);
    const uint32_t n = samples_in(&r, s) * size;
    const uint32_t first = blockIdx.x * THREADS + threadIdx.x;
    const uint32_t stride = gridDim.x * THREADS;
    if (p.columns % CELL == 0 && is_aligned(t.x) && is_aligned(t.dx) && is_aligned(t.y) &&
        is_aligned(t.dy) && is_aligned(t.windows))
#pragma unroll 1
        for (uint32_t e = first; e < n / CELL; e += stride)
            Body::template run<CELL>(p, t, e);
    else
#pragma unroll 1
        for (uint32_t e = first; e < n; e += stride)
            Body::template run<1>(p, t, e);
}

/**
 * Calls @p part for ranges of samples. Each range has fewer than most_divided numbers. A sample has
 * @p size numbers.
 */
template <typename Part> void in_parts(const execution *e, sample_range s, size_t size, Part part)
{
    const size_t all = most_samples(e, s);
    const size_t at_once = std::max((size_t)1, (most_divided - 1) / size);
    for (size_t first = 0; first < all; first += at_once) {
        const size_t n = std::min(at_once, all - first);
        part(sample_range{(uint32_t)(s.first + first), (uint32_t)n},
             dim3(element_blocks(n * size, THREADS * CELL, e->n_replicas), e->n_replicas));
    }
}

/**
 * Launches a body for the samples @p s. Member @p size of the layer's image is the number of values
 * per sample.
 */
template <typename Body>
void launch_image(const execution *e, sample_range s, const dsgd_layer *l, uint32_t image::*size)
{
    const image p = image_of(l);
    in_parts(e, s, p.*size, [&](sample_range part, dim3 grid) {
        launch(e->stream, grid, THREADS, image_global<Body>, e->replicas, p, part, p.*size);
    });
}

#define MAP_IMAGE(name, size)                                                                      \
    template <>                                                                                    \
    void map<name##_kernel>(const execution *e, sample_range s, const dsgd_layer *l, size_t)       \
    {                                                                                              \
        launch_image<name##_body>(e, s, l, &image::size);                                          \
    }
MAP_IMAGE(im2col, windows_size)
MAP_IMAGE(col2im, in_size)
MAP_IMAGE(max_pool, out_size)
MAP_IMAGE(max_pool_backward, in_size)

/* --- kernels that load the input of the network ----------------------------------------------- */

/** Loads WIDE adjacent features into v, starting at element @p at of the data set. */
template <uint32_t WIDE, bool BYTES>
__device__ void features(real *v, const dataset_view &data, size_t at)
{
    if (BYTES) {
        const uint8_t *const from = global(data.samples.x_bytes) + at;
        const uint32_t word = WIDE == 1 ? *from : *reinterpret_cast<const uint32_t *>(from);
#pragma unroll
        for (uint32_t j = 0; j < WIDE; j++)
            v[j] = (real)(word >> 8 * j & 0xff) * data.scale + data.shift;
    } else {
        load_wide<WIDE>(v, global(data.samples.x_real) + at);
    }
}

/**
 * Stores the features of the batch's samples in y, [n][n_features]. WIDE must divide n_features.
 */
template <uint32_t WIDE, bool BYTES>
__device__ void load_features(const replica &r, const dataset_view &data, const divisor &by_feature,
                              uint32_t first_sample, real *y, uint32_t n)
{
    const uint32_t stride = gridDim.x * THREADS;
#pragma unroll 1
    for (uint32_t e = blockIdx.x * THREADS + threadIdx.x; e < n / WIDE; e += stride) {
        uint32_t i = e;
        const uint32_t f = split(&i, by_feature) * WIDE;
        const size_t at = sample_of(&r, first_sample + i) * data.n_features + f;
        real v[WIDE];
        features<WIDE, BYTES>(v, data, at);
        store_wide<WIDE>(y + (size_t)e * WIDE, v);
    }
}

/** CUDA version of load_kernel(), for data in bytes or in reals. The grid is (blocks, replicas). */
template <bool BYTES>
__global__ void load_global(const replica *replicas, const __grid_constant__ dataset_view data,
                            dsgd_tensor in, divisor by_feature, divisor by_cell, sample_range s)
{
    const replica r = replicas[blockIdx.y];
    real *const y = global(values_of(&r, &in) + (size_t)s.first * data.n_features);
    const uint32_t n = samples_in(&r, s) * data.n_features;
    if (data.n_features % CELL == 0 && is_aligned(y))
        load_features<CELL, BYTES>(r, data, by_cell, s.first, y, n);
    else
        load_features<1, BYTES>(r, data, by_feature, s.first, y, n);
}

template <> void map<load_kernel>(const execution *e, sample_range s, const dsgd_layer *l, size_t)
{
    const dataset_view &data = e->args.data;
    const divisor by_feature = divisor_of(data.n_features);
    const divisor by_cell = divisor_of(std::max((uint32_t)1, data.n_features / CELL));
    in_parts(e, s, data.n_features, [&](sample_range part, dim3 grid) {
        launch(e->stream, grid, THREADS,
               data.samples.x_bytes != NULL ? load_global<true> : load_global<false>, e->replicas,
               data, l->in, by_feature, by_cell, part);
    });
}

} // namespace
