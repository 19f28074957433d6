/**
 * @file cuda_matmul.cuh
 * Matrix products of all replicas of a call in one launch: multiply() of layers.h. Every sum has a
 * fixed order, without atomics, by fmaf(). Included by cuda.cu alone.
 */
#ifndef DSGD_MODELS_DEVICES_CUDA_MATMUL_CUH
#define DSGD_MODELS_DEVICES_CUDA_MATMUL_CUH

#include "models/devices/cuda_layers.cuh"

namespace
{

enum : uint32_t {
    RESIDENT = 4, /* blocks per multiprocessor: bounds a thread to 64 registers */
    MOST_BATCHED = 128 /* blocks over the products of a replica (SAMPLES_BATCHED) */
};

/**
 * A block computes a tile of ROWS x COLUMNS elements of C, a thread CELL x CELL of them. Where a
 * tile has fewer cells than the block has threads, PARTS threads share a cell and split its sum
 * over k. Slices of A and B, DEPTH deep, pass through shared memory.
 */
template <uint32_t ROWS, uint32_t COLUMNS> struct tiling {
    static constexpr uint32_t WIDE = COLUMNS / CELL;
    static constexpr uint32_t CELLS = ROWS / CELL * WIDE;
    static constexpr uint32_t PARTS = THREADS / CELLS;
    static constexpr uint32_t DEPTH = 4 * PARTS < 16 ? 16 : 4 * PARTS;
    static constexpr uint32_t A_WIDTH = ROWS + CELL; /* padded against bank conflicts */
    static constexpr uint32_t B_WIDTH = COLUMNS + CELL;
    static constexpr uint32_t SHARED = THREADS * CELL * CELL; /* sums of all parts */
    static_assert(DEPTH * (A_WIDTH + B_WIDTH) <= SHARED, "a slice fits the memory of the sums");
};

/**
 * Rows of A or columns of B: element k of line i is at[i * line + k * step]. With `ones`, line
 * n_lines is all ones (BIAS_GRAD).
 */
struct lines {
    const real *at;
    size_t line, step;
    uint32_t n_lines, depth;
    bool ones;
};

__device__ real element_at(const lines &from, uint32_t i, uint32_t k)
{
    if (k >= from.depth || i > from.n_lines)
        return 0;
    if (i == from.n_lines)
        return from.ones ? 1.0f : 0.0f;
    return from.at[i * from.line + k * from.step];
}

/** A slice of LINES lines in registers, between global and shared memory [DEPTH][WIDTH]. */
template <uint32_t LINES, uint32_t DEPTH, uint32_t WIDTH> struct strip {
    static constexpr uint32_t COUNT = LINES * DEPTH / THREADS;
    real carried[COUNT];

    /** Position of element @p c of this thread; adjacent threads read adjacent addresses. */
    static __device__ void place(const lines &from, uint32_t c, uint32_t *i, uint32_t *k)
    {
        const uint32_t e = threadIdx.x + c * THREADS;
        const bool along = from.step == 1;
        *i = along ? e / DEPTH : e % LINES;
        *k = along ? e % DEPTH : e / LINES;
    }

    __device__ void read(const lines &from, uint32_t first_line, uint32_t first_k)
    {
#pragma unroll
        for (uint32_t c = 0; c < COUNT; c++) {
            uint32_t i, k;
            place(from, c, &i, &k);
            carried[c] = element_at(from, first_line + i, first_k + k);
        }
    }

    __device__ void write(const lines &from, real *shared) const
    {
#pragma unroll
        for (uint32_t c = 0; c < COUNT; c++) {
            uint32_t i, k;
            place(from, c, &i, &k);
            shared[k * WIDTH + i] = carried[c];
        }
    }
};

/** Adds a slice's products to the thread's cell. */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ void add_slice(const real *a, const real *b, uint32_t part, uint32_t y, uint32_t x,
                          real (*sums)[CELL])
{
    typedef tiling<ROWS, COLUMNS> T;
#pragma unroll
    for (uint32_t k = 0; k < T::DEPTH; k += T::PARTS) {
        const float4 rows = *(const float4 *)(a + (k + part) * T::A_WIDTH + y * CELL);
        const float4 columns = *(const float4 *)(b + (k + part) * T::B_WIDTH + x * CELL);
        const real row[CELL] = {rows.x, rows.y, rows.z, rows.w};
        const real column[CELL] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
        for (uint32_t i = 0; i < CELL; i++)
#pragma unroll
            for (uint32_t j = 0; j < CELL; j++)
                sums[i][j] = fmaf(row[i], column[j], sums[i][j]);
    }
}

/** Computes the tile's sums into shared memory, [PARTS][ROWS][COLUMNS]. */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ void sum_tile(const lines &a, const lines &b, uint32_t row, uint32_t column,
                         real *shared)
{
    typedef tiling<ROWS, COLUMNS> T;
    const uint32_t part = threadIdx.x / T::CELLS;
    const uint32_t y = threadIdx.x % T::CELLS / T::WIDE;
    const uint32_t x = threadIdx.x % T::WIDE;
    real *const a_slice = shared;
    real *const b_slice = shared + T::DEPTH * T::A_WIDTH;
    strip<ROWS, T::DEPTH, T::A_WIDTH> a_strip;
    strip<COLUMNS, T::DEPTH, T::B_WIDTH> b_strip;
    real sums[CELL][CELL] = {};
    a_strip.read(a, row, 0);
    b_strip.read(b, column, 0);
    for (uint32_t k = 0; k < a.depth; k += T::DEPTH) {
        a_strip.write(a, a_slice);
        b_strip.write(b, b_slice);
        __syncthreads();
        a_strip.read(a, row, k + T::DEPTH); /* prefetch of the next slice */
        b_strip.read(b, column, k + T::DEPTH);
        add_slice<ROWS, COLUMNS>(a_slice, b_slice, part, y, x, sums);
        __syncthreads();
    }
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++)
        *(float4 *)(shared + (part * ROWS + y * CELL + i) * COLUMNS + x * CELL) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}

/** Adds the parts in order and writes the elements that lie within C. */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ void store_tile(const matmul &p, const matrices &at, uint32_t n_rows, uint32_t row,
                           uint32_t column, const real *shared, bool *finite)
{
    for (uint32_t e = threadIdx.x; e < ROWS * COLUMNS; e += THREADS) {
        const uint32_t i = row + e / COLUMNS;
        const uint32_t j = column + e % COLUMNS;
        if (i >= n_rows || j >= p.n)
            continue;
        real sum = 0;
        for (uint32_t part = 0; part < tiling<ROWS, COLUMNS>::PARTS; part++)
            sum += shared[part * ROWS * COLUMNS + e];
        real *const to = at.c + i * at.c_row + j;
        if (p.bias == BIAS_ADD)
            sum += at.b[at.k * at.b_row + j * at.b_column];
        if (p.adds)
            sum += *to;
        if (at.relu_output != NULL)
            sum = dsgd_relu_backward(at.relu_output[i * at.c_row + j], sum);
        *to = p.relu ? dsgd_relu(sum) : sum;
        if (p.c.in == PARAMETER_GRADS && !isfinite(sum)) /* a race of equal writes */
            *finite = false;
    }
}

/** The matmuls of one launch, of one tiling: tiles of the first, then of the second. */
struct tiled_matmuls {
    matmul v[MOST_MATMULS];
    uint32_t n_tiles[MOST_MATMULS];
};

/** Grid: (tiles, replicas, products of a replica). */
template <uint32_t ROWS, uint32_t COLUMNS>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    matmul_global(const replica *replicas, const __grid_constant__ tiled_matmuls all,
                  sample_range s)
{
    __shared__ __align__(alignment) real shared[tiling<ROWS, COLUMNS>::SHARED];
    const replica r = replicas[blockIdx.y];
    const uint32_t which = blockIdx.x < all.n_tiles[0] ? 0 : 1;
    const uint32_t tile = which == 0 ? blockIdx.x : blockIdx.x - all.n_tiles[0];
    const matmul &p = all.v[which];
    const uint32_t n_wide = (p.n + COLUMNS - 1) / COLUMNS;
    const uint32_t row = tile / n_wide * ROWS;
    const uint32_t column = tile % n_wide * COLUMNS;
    const size_t n = matrices_in(&p, &r, s);
    for (size_t i = blockIdx.z; i < n; i += gridDim.z) {
        const matrices at = matrices_of(&p, &r, s, i);
        const uint32_t n_rows = (uint32_t)at.m + (p.bias == BIAS_GRAD ? 1 : 0);
        if (row >= n_rows)
            break;
        const lines a = {at.a, at.a_row, at.a_column, (uint32_t)at.m, (uint32_t)at.k, true};
        const lines b = {at.b, at.b_column, at.b_row, p.n, (uint32_t)at.k, false};
        sum_tile<ROWS, COLUMNS>(a, b, row, column, shared);
        __syncthreads();
        store_tile<ROWS, COLUMNS>(p, at, n_rows, row, column, shared, r.finite);
        __syncthreads();
    }
}

template <uint32_t ROWS, uint32_t COLUMNS>
void launch_matmul(const execution *e, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    const size_t n = most_samples(e, s);
    tiled_matmuls all = {};
    size_t n_tiles = 0;
    size_t n_batched = 1;
    for (uint32_t i = 0; i < n_matmuls && n > 0; i++) {
        const matmul *const p = &matmuls[i];
        const size_t n_rows =
            p->m * (p->samples == SAMPLES_ALONG_M ? n : 1) + (p->bias == BIAS_GRAD ? 1 : 0);
        all.v[i] = *p;
        all.n_tiles[i] = blocks_for(n_rows, ROWS) * blocks_for(p->n, COLUMNS);
        n_tiles += all.n_tiles[i];
        if (p->samples == SAMPLES_BATCHED)
            n_batched = std::max(n_batched, n * p->n_heads);
    }
    const dim3 grid((uint32_t)n_tiles, e->n_replicas,
                    (uint32_t)std::min(n_batched, (size_t)MOST_BATCHED));
    if (n_tiles > 0)
        launch(e->stream, grid, THREADS, matmul_global<ROWS, COLUMNS>, e->replicas, all, s);
}

/** Index of the tile size for n rows or columns: 16, 32 or 64. */
uint32_t tile_size(uint32_t n)
{
    return n <= 16 ? 0 : n <= 32 ? 1 : 2;
}

} // namespace

/** The tiling depends on the shapes per sample alone, so that the order of sums does. */
static void multiply(const execution *e, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    uint32_t n_rows = 0;
    uint32_t n_columns = 0;
    for (const matmul *p = matmuls; p < matmuls + n_matmuls; p++) {
        const bool samples = p->samples == SAMPLES_ALONG_M;
        n_rows = std::max(n_rows,
                          samples ? (p->m == 1 ? 16 : 64) : p->m + (p->bias == BIAS_GRAD ? 1 : 0));
        n_columns = std::max(n_columns, p->n);
    }
    static void (*const launches[3][3])(const execution *, sample_range, const matmul *,
                                        uint32_t) = {
        {launch_matmul<16, 16>, launch_matmul<16, 32>, launch_matmul<16, 64>},
        {launch_matmul<32, 16>, launch_matmul<32, 32>, launch_matmul<32, 64>},
        {launch_matmul<64, 16>, launch_matmul<64, 32>, launch_matmul<64, 64>}};
    launches[tile_size(n_rows)][tile_size(n_columns)](e, s, matmuls, n_matmuls);
}

#endif
