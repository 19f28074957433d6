/**
 * @file cuda_matmul.cuh
 * multiply() of layers.h for CUDA: computes the matrix products of all replicas of a call in one
 * launch. Every sum has a fixed order and uses fmaf(), without atomics. Only cuda.cu includes this
 * file.
 */
#pragma once

#include "models/devices/cuda_layers.cuh"

namespace
{

enum : uint32_t {
    /* largest number of blocks for the batched products of a replica */
    MOST_BATCHED = 128
};

/**
 * The sizes of a tile. A block computes a tile of ROWS x COLUMNS elements of C, and a thread
 * computes a cell of CELL x CELL elements. If a tile has fewer cells than the block has threads,
 * PARTS threads share a cell and split its sum over k. Slices of A and B with depth DEPTH pass
 * through shared memory.
 */
template <uint32_t ROWS, uint32_t COLUMNS> struct tiling {
    static constexpr uint32_t WIDE = COLUMNS / CELL;
    static constexpr uint32_t CELLS = ROWS / CELL * WIDE;
    static constexpr uint32_t PARTS = THREADS / CELLS;
    static constexpr uint32_t DEPTH = 4 * PARTS < 16 ? 16 : 4 * PARTS;
    static constexpr uint32_t A_WIDTH = ROWS + CELL; /* width of a row of A in shared memory, padded
                                                      * to avoid bank conflicts */
    static constexpr uint32_t B_WIDTH = COLUMNS + CELL;
    /*
     * Number of blocks per multiprocessor. It limits a thread to 80 or 64 registers, without
     * spilling.
     */
    static constexpr uint32_t RESIDENT = (ROWS + COLUMNS) * DEPTH / THREADS < 10 ? 4 : 3;
    /* number of reals in shared memory for the sums of all parts */
    static constexpr uint32_t SHARED = THREADS * CELL * CELL;
    static_assert(DEPTH * (A_WIDTH + B_WIDTH) <= SHARED, "a slice fits the memory of the sums");
};

/** Lines of a matrix: rows of A or columns of B. Element k of line i is at[i * line + k * step]. */
struct lines {
    const real *at;
    uint32_t line, step;
    uint32_t n_lines, depth;
    bool ones; /* whether a line of ones follows the last line (BIAS_GRAD) */
};

/** One matrix product of a replica, and the tile of it that the block computes. */
struct tile {
    lines a, b;
    uint32_t row, column; /* first row and column of the tile in C */
    uint32_t n_rows, n_columns; /* numbers of rows and columns of C */
    uint32_t c_row;
    real *c;
    const real *relu_output; /* output of the ReLU, strided like C; or NULL */
    const real *bias; /* bias of each column, at distances of bias_step; or NULL */
    uint32_t bias_step;
    bool adds, relu;
    bool *finite; /* set to false if an element is not finite; may be NULL */
};

/**
 * A slice of LINES lines in the registers of all threads, on its way from global memory to shared
 * memory [DEPTH][WIDTH]. Adjacent threads read adjacent addresses. If the elements of a line are
 * adjacent, a thread keeps its place k in the slice and visits several lines. Otherwise it keeps
 * its line and visits several places. Therefore the distance between two elements of a thread is
 * constant in both memories.
 */
template <uint32_t LINES, uint32_t DEPTH, uint32_t WIDTH> struct strip {
    static constexpr uint32_t SIZE = LINES * DEPTH;
    static constexpr uint32_t COUNT = SIZE < THREADS ? 1 : SIZE / THREADS;
    static constexpr uint32_t LINES_AWAY = THREADS / DEPTH, PLACES_AWAY = THREADS / LINES;
    const real *at; /* address of the thread's first element in the next slice */
    uint32_t away, next_slice; /* distances in reals from one element to the next, and from one
                                * slice to the next */
    uint32_t left; /* number of elements that are left in the thread's line */
    uint32_t n_valid; /* number of the thread's lines that are within the matrix */
    bool along; /* true if the elements of a line are adjacent in memory */
    real other; /* value that replaces elements outside the matrix */
    real *to; /* address of the thread's first element in shared memory */
    uint32_t to_away;
    real carried[COUNT];

    __device__ strip(const lines &from, uint32_t first_line, real *shared)
    {
        along = from.line != 1;
        const uint32_t i = along ? threadIdx.x / DEPTH : threadIdx.x % LINES;
        const uint32_t line = first_line + i;
        const uint32_t place = along ? threadIdx.x % DEPTH : threadIdx.x / LINES;
        at = global(from.at) + (size_t)line * from.line + (size_t)place * from.step;
        away = along ? LINES_AWAY * from.line : PLACES_AWAY * from.step;
        next_slice = DEPTH * from.step;
        left = place < from.depth ? from.depth - place : 0;
        const uint32_t n_lines = line < from.n_lines ? from.n_lines - line : 0;
        n_valid = along ? (n_lines + LINES_AWAY - 1) / LINES_AWAY : n_lines;
        /*
         * At a k after the end of the sum, a line of ones is multiplied by zeros of the other
         * matrix.
         */
        other = from.ones && line == from.n_lines ? 1.0f : 0.0f;
        to = shared + place * WIDTH + i;
        to_away = along ? LINES_AWAY : PLACES_AWAY * WIDTH;
    }

    /** Reads the thread's elements of the next slice into registers. */
    __device__ void read()
    {
        const uint32_t places = n_valid == 0 ? 0 : (left + PLACES_AWAY - 1) / PLACES_AWAY;
        const uint32_t lines = left == 0 ? 0 : n_valid;
        const uint32_t n = along ? lines : places;
#pragma unroll
        for (uint32_t c = 0; c < COUNT; c++)
            carried[c] = c < n ? at[c * away] : other;
        at += next_slice;
        left = left > DEPTH ? left - DEPTH : 0;
    }

    __device__ void write() const
    {
        if (SIZE < THREADS && threadIdx.x >= SIZE)
            return;
#pragma unroll
        for (uint32_t c = 0; c < COUNT; c++)
            to[c * to_away] = carried[c];
    }
};

/** Adds the products of row[CELL] and column[CELL] to sums[CELL][CELL]. */
__device__ void multiply_cells(const real *row, const real *column, real (*sums)[CELL])
{
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++)
#pragma unroll
        for (uint32_t j = 0; j < CELL; j++)
            sums[i][j] = fmaf(row[i], column[j], sums[i][j]);
}

/** Adds the products of a slice to the sums of the thread's cell. */
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
        multiply_cells(row, column, sums);
    }
}

/** Stores the sums of the tile in shared memory, [PARTS][ROWS][COLUMNS]. */
template <uint32_t ROWS, uint32_t COLUMNS> __device__ void sum_tile(const tile &t, real *shared)
{
    typedef tiling<ROWS, COLUMNS> T;
    const uint32_t part = threadIdx.x / T::CELLS;
    const uint32_t y = threadIdx.x % T::CELLS / T::WIDE;
    const uint32_t x = threadIdx.x % T::WIDE;
    real *const a_slice = shared;
    real *const b_slice = shared + T::DEPTH * T::A_WIDTH;
    strip<ROWS, T::DEPTH, T::A_WIDTH> a_strip(t.a, t.row, a_slice);
    strip<COLUMNS, T::DEPTH, T::B_WIDTH> b_strip(t.b, t.column, b_slice);
    const uint32_t depth = t.a.depth;
    real sums[CELL][CELL] = {};
    a_strip.read();
    b_strip.read();
    for (uint32_t k = T::DEPTH; k < depth; k += T::DEPTH) {
        a_strip.write();
        b_strip.write();
        __syncthreads();
        a_strip.read(); /* reads the next slice in advance */
        b_strip.read();
        add_slice<ROWS, COLUMNS>(a_slice, b_slice, part, y, x, sums);
        __syncthreads();
    }
    a_strip.write();
    b_strip.write();
    __syncthreads();
    add_slice<ROWS, COLUMNS>(a_slice, b_slice, part, y, x, sums);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++)
        *(float4 *)(shared + (part * ROWS + y * CELL + i) * COLUMNS + x * CELL) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}

/**
 * Writes the thread's elements of one column of C. Returns true if they are finite. If PLAIN is
 * true, the product needs neither old values of C nor a ReLU output.
 */
template <uint32_t ROWS, uint32_t COLUMNS, bool PLAIN>
__device__ bool store_column(const tile &t, uint32_t row, uint32_t column, const real *shared)
{
    constexpr uint32_t ROWS_AWAY = THREADS / COLUMNS, N = ROWS / ROWS_AWAY;
    constexpr uint32_t AT_ONCE = N < 4 ? N : 4;
    /* Number of the thread's rows that are within C; it may exceed N. */
    const uint32_t n = (t.n_rows - row + ROWS_AWAY - 1) / ROWS_AWAY;
    const uint32_t away = ROWS_AWAY * t.c_row;
    const bool biased = t.bias != NULL, relu = t.relu;
    const real bias = biased ? global(t.bias)[(size_t)column * t.bias_step] : 0.0f;
    const size_t first = (size_t)row * t.c_row + column;
    real *to = global(t.c + first);
    const real *output = PLAIN || t.relu_output == NULL ? NULL : global(t.relu_output + first);
    bool all_finite = true;
#pragma unroll 1
    for (uint32_t e = 0; e < N && e < n; e += AT_ONCE) {
#pragma unroll
        for (uint32_t j = 0; j < AT_ONCE; j++) {
            real sum = 0;
#pragma unroll
            for (uint32_t part = 0; part < tiling<ROWS, COLUMNS>::PARTS; part++)
                sum += shared[part * ROWS * COLUMNS + j * THREADS];
            if (e + j >= n)
                break;
            sum = biased ? sum + bias : sum;
            if (!PLAIN && t.adds)
                sum += to[j * away];
            if (!PLAIN && output != NULL)
                sum = dsgd_relu_backward(output[j * away], sum);
            all_finite = all_finite && isfinite(sum);
            to[j * away] = relu ? dsgd_relu(sum) : sum;
        }
        to += AT_ONCE * away;
        if (!PLAIN)
            output = output == NULL ? NULL : output + AT_ONCE * away;
        shared += AT_ONCE * THREADS;
    }
    return all_finite;
}

/**
 * Adds the parts of each sum in order, and writes the elements of the tile that are within C. Each
 * thread writes one column.
 */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ void store_tile(const tile &t, const real *shared)
{
    const uint32_t column = t.column + threadIdx.x % COLUMNS;
    const uint32_t row = t.row + threadIdx.x / COLUMNS;
    if (column >= t.n_columns || row >= t.n_rows)
        return;
    const real *const from = shared + threadIdx.x;
    const bool finite = t.adds || t.relu_output != NULL
                            ? store_column<ROWS, COLUMNS, false>(t, row, column, from)
                            : store_column<ROWS, COLUMNS, true>(t, row, column, from);
    if (!finite && t.finite != NULL) /* several threads may write false here */
        *t.finite = false;
}

/** The matrix products of one launch. The grid starts with the tiles of the first product. */
struct tiled_matmuls {
    matmul v[MOST_MATMULS];
    uint32_t n_tiles[MOST_MATMULS];
};

/** Returns tile @p i of batched product @p batched of replica @p r. */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ tile tile_of(const matmul *p, const replica *r, sample_range s, size_t batched,
                        uint32_t i)
{
    const matrices at = matrices_of(p, r, s, batched);
    const uint32_t n_wide = (p->n + COLUMNS - 1) / COLUMNS;
    const uint32_t m = (uint32_t)at.m, k = (uint32_t)at.k;
    tile t;
    t.a = lines{at.a, (uint32_t)at.a_row, (uint32_t)at.a_column, m, k, p->bias == BIAS_GRAD};
    t.b = lines{at.b, (uint32_t)at.b_column, (uint32_t)at.b_row, p->n, k, false};
    t.row = i / n_wide * ROWS;
    t.column = i % n_wide * COLUMNS;
    t.n_rows = m + (p->bias == BIAS_GRAD ? 1 : 0);
    t.n_columns = p->n;
    t.c_row = (uint32_t)at.c_row;
    t.c = at.c;
    t.relu_output = at.relu_output;
    t.bias = p->bias == BIAS_ADD ? at.b + at.k * at.b_row : NULL;
    t.bias_step = (uint32_t)at.b_column;
    t.adds = p->adds;
    t.relu = p->relu;
    t.finite = p->c.in == PARAMETER_GRADS ? r->finite : NULL;
    return t;
}

/**
 * Finds the block's tile of batched product @p batched of replica @p r. If there is no such tile,
 * the returned tile has no rows.
 */
template <uint32_t ROWS, uint32_t COLUMNS>
__device__ void find_tile(tile *t, const replica *r, const tiled_matmuls *all, sample_range s,
                          size_t batched)
{
    const uint32_t which = blockIdx.x < all->n_tiles[0] ? 0 : 1;
    const uint32_t i = which == 0 ? blockIdx.x : blockIdx.x - all->n_tiles[0];
    const matmul *const p = &all->v[which];
    if (batched < matrices_in(p, r, s))
        *t = tile_of<ROWS, COLUMNS>(p, r, s, batched, i);
    else
        t->n_rows = t->row = 0;
}

/**
 * Computes matrix products. The grid is (tiles, replicas, products per replica). Thread 0 of each
 * block determines the tile of the block.
 */
template <uint32_t ROWS, uint32_t COLUMNS>
__global__ void __launch_bounds__(THREADS, tiling<ROWS, COLUMNS>::RESIDENT)
    matmul_global(const replica *replicas, const __grid_constant__ tiled_matmuls all,
                  sample_range s)
{
    __shared__ __align__(alignment) real shared[tiling<ROWS, COLUMNS>::SHARED];
    __shared__ tile t;
    for (uint32_t batched = blockIdx.z;; batched += gridDim.z) {
        if (threadIdx.x == 0)
            find_tile<ROWS, COLUMNS>(&t, &replicas[blockIdx.y], &all, s, batched);
        __syncthreads();
        if (t.row >= t.n_rows)
            return;
        sum_tile<ROWS, COLUMNS>(t, shared);
        __syncthreads();
        store_tile<ROWS, COLUMNS>(t, shared);
        __syncthreads();
    }
}

/** Returns the number of rows of C, for the replica with the most samples. */
size_t rows_of_c(const execution *e, sample_range s, const matmul *p)
{
    return p->m * (p->samples == SAMPLES_ALONG_M ? most_samples(e, s) : 1) +
           (p->bias == BIAS_GRAD ? 1 : 0);
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
        all.v[i] = *p;
        all.n_tiles[i] = blocks_for(rows_of_c(e, s, p), ROWS) * blocks_for(p->n, COLUMNS);
        n_tiles += all.n_tiles[i];
        if (p->samples == SAMPLES_BATCHED)
            n_batched = std::max(n_batched, n * p->n_heads);
    }
    const dim3 grid((uint32_t)n_tiles, e->n_replicas,
                    (uint32_t)std::min(n_batched, (size_t)MOST_BATCHED));
    if (n_tiles > 0)
        launch(e->stream, grid, THREADS, matmul_global<ROWS, COLUMNS>, e->replicas, all, s);
}

/** Shape of the tiles of a call: 16 << rows rows by 16 << columns columns. */
struct tile_shape {
    uint32_t rows, columns;
};

tile_shape tile_shape_of(const matmul *matmuls, uint32_t n_matmuls)
{
    const auto size = [](uint32_t n) { return n <= 16 ? 0u : n <= 32 ? 1u : 2u; };
    uint32_t n_rows = 0;
    uint32_t n_columns = 0;
    for (const matmul *p = matmuls; p < matmuls + n_matmuls; p++) {
        const bool samples = p->samples == SAMPLES_ALONG_M;
        n_rows = std::max(n_rows,
                          samples ? (p->m == 1 ? 16 : 64) : p->m + (p->bias == BIAS_GRAD ? 1 : 0));
        n_columns = std::max(n_columns, p->n);
    }
    return tile_shape{size(n_rows), size(n_columns)};
}

/**
 * Returns the number of parts into which a call splits each sum. Part i contains the terms i, i +
 * parts, and so on.
 */
uint32_t parts_of(const matmul *matmuls, uint32_t n_matmuls)
{
    const tile_shape shape = tile_shape_of(matmuls, n_matmuls);
    return tiling<16, 16>::PARTS >> shape.rows >> shape.columns;
}

/** Returns the number of tiles of ROWS x COLUMNS that the products of one replica need. */
template <uint32_t ROWS, uint32_t COLUMNS>
size_t tiles_of(const execution *e, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    size_t n = 0;
    for (const matmul *p = matmuls; p < matmuls + n_matmuls; p++)
        n += (size_t)blocks_for(rows_of_c(e, s, p), ROWS) * blocks_for(p->n, COLUMNS);
    return n;
}

/**
 * Launches with tiles of 2 ROWS x COLUMNS / 2 elements if the launch then has fewer tiles.
 * Otherwise launches with tiles of ROWS x COLUMNS elements. Both tilings have equal PARTS and
 * therefore sum in the same order.
 */
template <uint32_t ROWS, uint32_t COLUMNS>
void launch_flat(const execution *e, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    static_assert(tiling<ROWS, COLUMNS>::PARTS == tiling<2 * ROWS, COLUMNS / 2>::PARTS, "");
    if (tiles_of<2 * ROWS, COLUMNS / 2>(e, s, matmuls, n_matmuls) <
        tiles_of<ROWS, COLUMNS>(e, s, matmuls, n_matmuls))
        launch_matmul<2 * ROWS, COLUMNS / 2>(e, s, matmuls, n_matmuls);
    else
        launch_matmul<ROWS, COLUMNS>(e, s, matmuls, n_matmuls);
}

} // namespace

/**
 * Computes the matrix products of all replicas. The order of sums depends only on the shapes per
 * sample.
 */
static void multiply(const execution *e, sample_range s, const matmul *matmuls, uint32_t n_matmuls)
{
    static void (*const launches[3][3])(const execution *, sample_range, const matmul *,
                                        uint32_t) = {
        {launch_matmul<16, 16>, launch_matmul<16, 32>, launch_matmul<16, 64>},
        {launch_matmul<32, 16>, launch_matmul<32, 32>, launch_matmul<32, 64>},
        {launch_flat<64, 16>, launch_matmul<64, 32>, launch_flat<64, 64>}};
    const tile_shape shape = tile_shape_of(matmuls, n_matmuls);
    launches[shape.rows][shape.columns](e, s, matmuls, n_matmuls);
}
