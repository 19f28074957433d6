/**
 * @file cuda.cu
 * CUDA as a device, in float: a module that the program loads when it is asked for (device.c).
 *
 * A call hands over many gradients. They are computed side by side: each kernel runs over all of them (replicas), and layers.h says which
 * kernels. Every sum has an order that the operation alone decides: no atomics, and no library that chooses its method by the size of the
 * batch. So a result does not depend on what else was in the call. The compiler fuses no multiplication with an addition (--fmad=false);
 * fmaf() says where it is meant. Hence updates and combinations give the CPU's bits.
 *
 * All work of a context is in one stream. alloc, release, put and get share no state with a running operation, so that
 * they may be called beside one.
 */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "models/devices/cuda.h"
#include "models/devices/device.h"
}

#include "models/layers/elementwise.h"
#include "models/layers/matmul.h"

namespace
{

enum : uint32_t {
    THREADS = 256, /* of a block; fewer where there is less to do */
    WARP = 32,
    RESIDENT =
        4, /* blocks of a product at once on a multiprocessor: bounds their registers to 64 */
    CELL = 4, /* a thread computes CELL x CELL numbers of a product */
    MOST_BLOCKS = 64, /* per replica or operation, of kernels that go element by element... */
    ALL_BLOCKS = 8192, /* ...or this many in all, where that is more */
    MOST_BATCHED = 128, /* blocks, for products that each sample has */
    AHEAD = 4, /* operands that a combination reads before it adds them */
    BATCH = 2048,
    EVALUATED_SAMPLES = 256 /* per replica */
};
const size_t most_workspace = (size_t)1 << 30; /* in reals; and at most an eighth of the memory */
const size_t alignment = 16; /* of what is staged */

/** After open, a call that fails is a bug or a broken device. */
#define DSGD_CUDA(call) check(call, __FILE__, __LINE__)

void check(cudaError_t error, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: CUDA: %s\n", file, line, cudaGetErrorString(error));
    abort();
}

std::atomic<uint64_t> n_launches;

template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, dim3 grid, uint32_t threads, void (*kernel)(Parameters...),
            Arguments... arguments)
{
#ifdef __CUDACC__
    kernel<<<grid, threads, 0, stream>>>(arguments...);
#else
    emulated_launch(stream, grid, threads, [=] { kernel(arguments...); });
#endif
    DSGD_CUDA(cudaGetLastError());
    n_launches++;
}

uint32_t blocks_for(size_t n, size_t per_block)
{
    return (uint32_t)((n + per_block - 1) / per_block);
}

/** Blocks of @p threads for each of @p n_rows replicas or operations that has @p n elements at most. */
uint32_t element_blocks(size_t n, uint32_t threads, size_t n_rows)
{
    const size_t most = std::max((size_t)MOST_BLOCKS, ALL_BLOCKS / n_rows);
    return (uint32_t)std::max((size_t)1, std::min(most, (n + threads - 1) / threads));
}

} // namespace

/* --- how layers compute ------------------------------------------------------------------------------------------------------------- */

/** Replicas under way: layers.h computes at all of them at once. */
typedef struct execution {
    cudaStream_t stream;
    const replica *replicas; /* [n_replicas], on the device */
    uint32_t n_replicas, most; /* samples of the largest */
    kernel_args args;
} execution;

namespace
{

typedef void kernel_function(const replica *, const dsgd_layer *, const kernel_args *, size_t);

/** The kernel for n indices of each sample of the range, or for n in all. */
template <kernel_function *CALLED, bool PER_SAMPLE>
__global__ void map_global(const replica *replicas, dsgd_layer layer, kernel_args args,
                           sample_range s, size_t n)
{
    const replica r = replicas[blockIdx.y];
    const size_t first = PER_SAMPLE ? s.first * n : 0;
    const size_t end = PER_SAMPLE ? first + samples_in(&r, s) * n : n;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = first + (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += stride)
        CALLED(&r, &layer, &args, i);
}

/** Samples of the range that the largest replica has. */
size_t most_samples(const execution *e, sample_range s)
{
    return e->most <= s.first ? 0 : std::min(s.n, e->most - s.first);
}

template <kernel_function *CALLED, bool PER_SAMPLE>
void launch_map(const execution *e, sample_range s, const dsgd_layer *layer, size_t n)
{
    const size_t most = PER_SAMPLE ? most_samples(e, s) * n : n;
    const uint32_t threads = (uint32_t)std::min(
        (size_t)THREADS, (size_t)blocks_for(std::max(most, (size_t)1), WARP) * WARP);
    const dim3 grid(element_blocks(most, threads, e->n_replicas), e->n_replicas);
    launch(e->stream, grid, threads, map_global<CALLED, PER_SAMPLE>, e->replicas, *layer, e->args,
           s, n);
}

template <kernel_function *CALLED>
void map(const execution *e, sample_range s, const dsgd_layer *layer, size_t n)
{
    launch_map<CALLED, true>(e, s, layer, n);
}

/** A thread per number, where the CPU takes a sample at a time. */
template <>
void map<load_kernel>(const execution *e, sample_range s, const dsgd_layer *layer, size_t n)
{
    launch_map<load_number_kernel, true>(e, s, layer, n * e->args.data.n_features);
}

#define MAP(e, s, kernel, layer, n) map<kernel>(e, s, layer, n)
#define TOTAL(e, s, kernel, layer, n) launch_map<kernel, false>(e, s, layer, n)

/* --- matrix products  */

/**
 * How a block computes ROWS x COLUMNS numbers of a product: each thread CELL x CELL of them. Where these are fewer threads than a block has,
 * PARTS of them share the sum over k. It runs in slices of DEPTH that lie in shared memory.
 */
template <uint32_t ROWS, uint32_t COLUMNS> struct tiling {
    static constexpr uint32_t WIDE = COLUMNS / CELL;
    static constexpr uint32_t CELLS = ROWS / CELL * WIDE;
    static constexpr uint32_t PARTS = THREADS / CELLS;
    static constexpr uint32_t DEPTH = 4 * PARTS < 16 ? 16 : 4 * PARTS;
    static constexpr uint32_t A_WIDTH = ROWS + CELL; /* of shared memory; the rest spreads banks */
    static constexpr uint32_t B_WIDTH = COLUMNS + CELL;
    static constexpr uint32_t SHARED = THREADS * CELL * CELL; /* the sums of all parts */
    static_assert(DEPTH * (A_WIDTH + B_WIDTH) <= SHARED, "a slice shares the memory of the sums");
};

/** Rows of A or columns of B: number k of line i is at[i * line + k * step]. Line n_lines may be one of ones. */
struct lines {
    const real *at;
    size_t line, step;
    uint32_t n_lines, depth;
    bool ones;
};

__device__ real number_at(const lines &from, uint32_t i, uint32_t k)
{
    if (k >= from.depth || i > from.n_lines)
        return 0;
    if (i == from.n_lines)
        return from.ones ? 1.0f : 0.0f;
    return from.at[i * from.line + k * from.step];
}

/** DEPTH numbers of LINES lines on their way to shared memory, where they lie as [DEPTH][WIDTH]. */
template <uint32_t LINES, uint32_t DEPTH, uint32_t WIDTH> struct strip {
    static constexpr uint32_t COUNT = LINES * DEPTH / THREADS;
    real carried[COUNT];

    /** The place of this thread's number @p c; threads beside each other read what is side by side in memory. */
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
            carried[c] = number_at(from, first_line + i, first_k + k);
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

/** Adds what a slice contributes to the thread's cell. */
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

/** Leaves the tile's sums in shared memory, part by part. */
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
        a_strip.read(a, row, k + T::DEPTH); /* the next ones, while these are summed */
        b_strip.read(b, column, k + T::DEPTH);
        add_slice<ROWS, COLUMNS>(a_slice, b_slice, part, y, x, sums);
        __syncthreads();
    }
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++)
        *(float4 *)(shared + (part * ROWS + y * CELL + i) * COLUMNS + x * CELL) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}

/** Sums up the parts, in order, and writes what lies inside of C. */
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
        if (p.c.in == PARAMETER_GRADS &&
            !isfinite(sum)) /* several threads may write, but all the same */
            *finite = false;
    }
}

/** Products in one launch, of one tiling: the tiles of the first, then those of the second. */
struct tiled_matmuls {
    matmul v[MOST_MATMULS];
    uint32_t n_tiles[MOST_MATMULS];
};

/** Blocks: tiles, replicas, and products of a replica. The order of a sum is that of the tiling, which hangs on the products alone. */
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

template <uint32_t ROWS>
void matmul_by_columns(const execution *e, sample_range s, const matmul *matmuls,
                       uint32_t n_matmuls, uint32_t n_columns)
{
    if (n_columns <= 16)
        launch_matmul<ROWS, 16>(e, s, matmuls, n_matmuls);
    else if (n_columns <= 32)
        launch_matmul<ROWS, 32>(e, s, matmuls, n_matmuls);
    else
        launch_matmul<ROWS, 64>(e, s, matmuls, n_matmuls);
}

} // namespace

/** The tiling hangs on the shapes per sample: a replica's sums must not change with how many samples it or another has. */
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
    if (n_rows <= 16)
        matmul_by_columns<16>(e, s, matmuls, n_matmuls, n_columns);
    else if (n_rows <= 32)
        matmul_by_columns<32>(e, s, matmuls, n_matmuls, n_columns);
    else
        matmul_by_columns<64>(e, s, matmuls, n_matmuls, n_columns);
}

#include "models/layers/layers.h"

namespace
{

/* --- kernels: element by element, and sums ------------------------------------------------------------------------------------------ */

struct copy {
    real *to;
    const real *from; /* NULL: zeros */
    size_t n;
};

__global__ void copy_global(const copy *copies)
{
    const copy c = copies[blockIdx.y];
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += stride)
        c.to[i] = c.from == NULL ? 0.0f : c.from[i];
}

/** Notes where a gradient or a state has a number that is not finite. */
__global__ void finite_global(const replica *replicas, size_t n_params, size_t n_state)
{
    const replica r = replicas[blockIdx.y];
    const size_t stride = (size_t)gridDim.x * THREADS;
    bool all = true;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n_params + n_state; i += stride)
        all = isfinite(i < n_params ? r.g[i] : r.state_new[i - n_params]) && all;
    if (!all)
        *r.finite = false;
}

__device__ real number(const void *buffer, size_t i)
{
    return buffer == NULL ? 0.0f : static_cast<const real *>(buffer)[i];
}

struct update {
    dsgd_update_op op;
    dsgd_update_rule rule;
};

/** The sum of n terms by one block: strided over the threads, then as a tree. */
template <typename Term> __device__ double block_sum(size_t n, Term term)
{
    __shared__ double sums[THREADS];
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        sum += term(i);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

/** Puts the clipping of each operation in its rule. */
__global__ void clip_global(update *updates, double bound, size_t n_params)
{
    update *const u = &updates[blockIdx.x];
    const double squares = block_sum(u->op.n, [&](size_t i) {
        const double g = (double)number(u->op.g, i);
        return g * g;
    });
    if (threadIdx.x == 0)
        u->rule.clip = (real)dsgd_clip_factor(bound, u->op.n, n_params, squares);
}

__global__ void update_global(const update *updates, bool *finite)
{
    const update u = updates[blockIdx.y];
    real *const v_new = static_cast<real *>(u.op.v_new);
    const size_t n = u.op.n;
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) {
        real first = number(u.op.v, i);
        real second = u.rule.adaptive ? number(u.op.v, n + i) : 0.0f;
        const real x = dsgd_updated(&u.rule, number(u.op.x, i), number(u.op.g, i), &first, &second);
        static_cast<real *>(u.op.x_new)[i] = x;
        if (v_new != NULL)
            v_new[i] = first;
        if (u.rule.adaptive)
            v_new[n + i] = second;
        /* ADAMW divides by the second moment: one that is too large would not show in x. */
        if (!isfinite(x) || (u.rule.adaptive && !(isfinite(first) && isfinite(second))))
            finite[blockIdx.y] = false;
    }
}

/** Numbers [i, i + CELL) of a buffer that has n. */
__device__ float4 numbers(const void *buffer, size_t i, size_t n)
{
    const real *const x = static_cast<const real *>(buffer);
    if (x == NULL || i >= n)
        return make_float4(0, 0, 0, 0);
    if (i + CELL <= n)
        return *(const float4 *)(x + i);
    return make_float4(x[i], i + 1 < n ? x[i + 1] : 0.0f, i + 2 < n ? x[i + 2] : 0.0f, 0);
}

/** A thread has CELL numbers side by side. */
__global__ void combine_global(const dsgd_combine_op *ops, bool *finite)
{
    const dsgd_combine_op op = ops[blockIdx.y];
    real *const y = static_cast<real *>(op.y);
    const size_t stride = (size_t)gridDim.x * THREADS * CELL;
    for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * CELL; i < op.n; i += stride) {
        double sum[CELL] = {};
        for (uint32_t first = 0; first < op.n_inputs; first += AHEAD) {
            float4 x[AHEAD];
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++)
                x[k] = numbers(first + k < op.n_inputs ? op.x[first + k] : NULL, i, op.n);
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                if (first + k >= op.n_inputs || op.x[first + k] == NULL)
                    continue;
                const double weight = op.weights[first + k];
                sum[0] += weight * (double)x[k].x;
                sum[1] += weight * (double)x[k].y;
                sum[2] += weight * (double)x[k].z;
                sum[3] += weight * (double)x[k].w;
            }
        }
        for (uint32_t j = 0; j < CELL && i + j < op.n; j++) {
            y[i + j] = (real)(sum[j] / op.divisor);
            if (!isfinite(y[i + j]))
                finite[blockIdx.y] = false;
        }
    }
}

__global__ void distance_global(dsgd_distance_op *ops)
{
    dsgd_distance_op *const op = &ops[blockIdx.x];
    const double sum = block_sum(op->n, [&](size_t i) {
        const double d = (double)number(op->x, i) - (double)number(op->y, i);
        return d * d;
    });
    if (threadIdx.x == 0)
        op->distance = sum;
}

/* --- memory ------------------------------------------------------------------------------------------------------------------------- */

/** Memory that stands on both sides, so that a call needs one copy in each direction. */
struct staging {
    char *host, *device;
    size_t used, room;
};

struct context {
    dsgd_problem problem;
    cudaStream_t stream;
    dataset_view train, test; /* on the device */
    staging staged;
    real *workspace;
    size_t workspace_room, workspace_limit; /* in reals */
    double *scores; /* [test.n][2] */
};

/** Begins a call that stages @p bytes at most, in @p n_parts parts. */
void stage_begin(context *c, size_t bytes, size_t n_parts)
{
    staging *const s = &c->staged;
    const size_t room = bytes + n_parts * alignment;
    s->used = 0;
    if (room <= s->room)
        return;
    DSGD_CUDA(cudaFreeHost(s->host));
    DSGD_CUDA(cudaFree(s->device));
    s->room = room + room / 2;
    DSGD_CUDA(cudaMallocHost((void **)&s->host, s->room));
    DSGD_CUDA(cudaMalloc((void **)&s->device, s->room));
}

/** The device's address of what will be a copy of from[n] after stage_send(). */
template <typename T> T *stage(context *c, const T *from, size_t n)
{
    staging *const s = &c->staged;
    char *const at = s->device + s->used;
    std::copy_n(from, n, reinterpret_cast<T *>(s->host + s->used));
    s->used += (n * sizeof(T) + alignment - 1) / alignment * alignment;
    return reinterpret_cast<T *>(at);
}

void stage_send(context *c)
{
    DSGD_CUDA(cudaMemcpyAsync(c->staged.device, c->staged.host, c->staged.used,
                              cudaMemcpyHostToDevice, c->stream));
}

/** Ends a call: waits for the kernels, and brings back what was staged at @p from. */
template <typename T> void stage_fetch(context *c, T *to, const T *from, size_t n)
{
    DSGD_CUDA(cudaGetLastError());
    const size_t offset = (size_t)(reinterpret_cast<const char *>(from) - c->staged.device);
    DSGD_CUDA(cudaMemcpyAsync(c->staged.host + offset, from, n * sizeof(T), cudaMemcpyDeviceToHost,
                              c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    std::copy_n(reinterpret_cast<const T *>(c->staged.host + offset), n, to);
}

real *workspace(context *c, size_t n)
{
    if (n > c->workspace_room) {
        DSGD_CUDA(cudaFree(c->workspace));
        c->workspace_room = n + n / 4;
        DSGD_CUDA(cudaMalloc((void **)&c->workspace, c->workspace_room * sizeof(real)));
    }
    return c->workspace;
}

dsgd_buffer cuda_alloc(void *opened, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    void *buffer = NULL;
    const cudaError_t error = cudaMallocAsync(&buffer, n * sizeof(real), c->stream);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* else the next check would find it */
        return NULL;
    }
    DSGD_CUDA(error);
    return buffer;
}

void cuda_release(void *opened, dsgd_buffer buffer)
{
    const context *const c = static_cast<context *>(opened);
    if (buffer != NULL)
        DSGD_CUDA(cudaFreeAsync(buffer, c->stream));
}

void cuda_put(void *opened, dsgd_buffer to, const double *from, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    if (n == 0)
        return;
    const std::vector<real> numbers(from, from + n);
    DSGD_CUDA(
        cudaMemcpyAsync(to, numbers.data(), n * sizeof(real), cudaMemcpyHostToDevice, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
}

void cuda_get(void *opened, double *to, dsgd_buffer from, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    std::vector<real> numbers(n, 0.0f);
    if (from != NULL && n > 0)
        DSGD_CUDA(cudaMemcpyAsync(numbers.data(), from, n * sizeof(real), cudaMemcpyDeviceToHost,
                                  c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    for (size_t i = 0; i < n; i++)
        to[i] = (double)numbers[i];
}

/* --- open and close ----------------------------------------------------------------------------------------------------------------- */

template <typename T> cudaError_t upload(const T **to, const T *from, size_t n)
{
    if (from == NULL)
        return cudaSuccess;
    const cudaError_t error = cudaMalloc((void **)to, n * sizeof(T));
    return error == cudaSuccess
               ? cudaMemcpy((void *)*to, from, n * sizeof(T), cudaMemcpyHostToDevice)
               : error;
}

/** Replaces what the host can read by what the device can. */
cudaError_t upload_samples(dataset_view *to, const dsgd_data *data, const dsgd_samples *from)
{
    *to = dataset_view_of(data, from);
    to->x_bytes = NULL; /* whatever fails, close() frees what is there */
    to->x_real = NULL;
    to->labels = NULL;
    to->targets = NULL;
    to->lengths = NULL;
    const size_t n = from->n;
    cudaError_t error = upload(&to->x_bytes, from->x_bytes, n * data->n_features);
    if (error == cudaSuccess)
        error = upload(&to->x_real, from->x_real, n * data->n_features);
    if (error == cudaSuccess)
        error = upload(&to->labels, from->labels, n * data->n_labels);
    if (error == cudaSuccess)
        error = upload(&to->targets, from->targets, n);
    if (error == cudaSuccess)
        error = upload(&to->lengths, from->lengths, n);
    return error;
}

void free_samples(const dataset_view *v)
{
    cudaFree((void *)v->x_bytes);
    cudaFree((void *)v->x_real);
    cudaFree((void *)v->labels);
    cudaFree((void *)v->targets);
    cudaFree((void *)v->lengths);
}

/** All that can fail because of the machine. */
cudaError_t prepare(context *c)
{
    const dsgd_data *const data = c->problem.data;
    cudaFuncAttributes attributes;
    int n_devices = 0;
    cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaSuccess) /* is there code for this device in the module? */
        error = cudaFuncGetAttributes(&attributes, (const void *)copy_global);
    if (error == cudaSuccess)
        error = cudaStreamCreate(&c->stream);
    void *probe = NULL;
    if (error == cudaSuccess) /* does the device have the pools that alloc takes from? */
        error = cudaMallocAsync(&probe, 1, c->stream);
    if (error == cudaSuccess)
        error = cudaFreeAsync(probe, c->stream);
    if (error == cudaSuccess)
        error = upload_samples(&c->train, data, &data->train);
    if (error == cudaSuccess)
        error = upload_samples(&c->test, data, &data->test);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&c->scores, 2 * (size_t)data->test.n * sizeof(double));
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    if (error == cudaSuccess)
        error = cudaMemGetInfo(&free_bytes, &all_bytes);
    c->workspace_limit = std::min(most_workspace, free_bytes / 8 / sizeof(real));
    return error;
}

void cuda_close(void *opened)
{
    context *const c = static_cast<context *>(opened);
    free_samples(&c->train);
    free_samples(&c->test);
    cudaFree(c->scores);
    cudaFree(c->workspace);
    cudaFree(c->staged.device);
    cudaFreeHost(c->staged.host);
    if (c->stream != NULL)
        cudaStreamDestroy(c->stream);
    delete c;
}

dsgd_status cuda_open(const dsgd_problem *problem, uint32_t n_threads, void **opened,
                      dsgd_error *error)
{
    (void)n_threads; /* one call at a time */
    context *const c = new context();
    c->problem = *problem;
    const cudaError_t found = prepare(c);
    if (found != cudaSuccess) {
        if (error != NULL)
            snprintf(error->text, sizeof error->text,
                     "CUDA: the device cannot be used: %s; --numerics cpu needs none",
                     cudaGetErrorString(found));
        cuda_close(c);
        return DSGD_EDEVICE;
    }
    *opened = c;
    return DSGD_OK;
}

/* --- vectors ------------------------------------------------------------------------------------------------------------------------- */

/** Whether a vector can be used where it is. */
bool whole(const context *c, const dsgd_buffer *pieces)
{
    return c->problem.n_pieces == 1 && pieces[0] != NULL;
}

/** Reals of workspace for a vector. */
size_t vector_space(const context *c, const dsgd_buffer *pieces)
{
    return whole(c, pieces) ? 0 : c->problem.network->n_params;
}

/** Where the vector is, or will be gathered. */
real *vector_at(const context *c, const dsgd_buffer *pieces, real *memory)
{
    return whole(c, pieces) ? static_cast<real *>(pieces[0]) : memory;
}

/** Appends the copies that gather the pieces of a vector in @p memory, or scatter it to them; none where it is whole. */
void append_copies(const context *c, std::vector<copy> *copies, const dsgd_buffer *pieces,
                   real *memory, bool gather)
{
    const size_t *const begin = c->problem.piece_begin;
    for (size_t k = 0; k < c->problem.n_pieces && !whole(c, pieces); k++) {
        real *const piece = static_cast<real *>(pieces[k]);
        real *const here = memory + begin[k];
        const size_t n = begin[k + 1] - begin[k];
        if (gather && n > 0)
            copies->push_back(copy{here, piece, n});
        else if (n > 0 && piece != NULL)
            copies->push_back(copy{piece, here, n});
    }
}

/** @p there: the copies on the device. */
void run_copies(const context *c, const std::vector<copy> &copies, const copy *there)
{
    const size_t at_once = 32768; /* of a grid's second dimension */
    for (size_t first = 0; first < copies.size(); first += at_once) {
        const size_t n = std::min(at_once, copies.size() - first);
        size_t most = 0;
        for (size_t i = first; i < first + n; i++)
            most = std::max(most, copies[i].n);
        launch(c->stream, dim3(element_blocks(most, THREADS, n), (uint32_t)n), THREADS, copy_global,
               there + first);
    }
}

execution execution_of(const context *c, const dataset_view *data, const replica *there, size_t n,
                       uint32_t most)
{
    execution out;
    out.stream = c->stream;
    out.replicas = there;
    out.n_replicas = (uint32_t)n;
    out.most = most;
    out.args = kernel_args_of(c->problem.network, data);
    return out;
}

/** A replica of @p n samples whose memory begins at @p memory; an evaluation has no grads. */
replica replica_of(const dsgd_network *network, uint32_t n, bool grads, real *memory)
{
    replica r = {};
    r.n = n;
    r.values = memory;
    r.grads = grads ? r.values + network->n_reals * n : NULL;
    r.saved = r.values + (grads ? 2 : 1) * network->n_reals * n;
    r.totals = r.saved + network->n_saved * n;
    return r;
}

/** Its reals of workspace. */
size_t replica_space(const dsgd_network *network, uint32_t n, bool grads)
{
    return n * ((grads ? 2 : 1) * network->n_reals + network->n_saved) + network->n_totals;
}

/* --- gradients ---------------------------------------------------------------------------------------------------------------------- */

/** Reals of workspace: x, g, and the replica. */
size_t space_of(const context *c, const dsgd_gradient_op *op)
{
    return vector_space(c, op->x) + vector_space(c, op->g) +
           replica_space(c->problem.network, op->n_samples, true);
}

/** What a call stages. */
struct gradients {
    std::vector<replica> replicas;
    std::vector<uint32_t> samples;
    std::vector<copy> before, after;
    uint32_t most;
};

/** Everything but where the samples are. */
gradients describe(const context *c, const dsgd_gradient_op *ops, size_t n_ops, real *memory)
{
    gradients out = {};
    for (size_t i = 0; i < n_ops; i++) {
        const dsgd_gradient_op *const op = &ops[i];
        real *const x = memory;
        real *const g = x + vector_space(c, op->x);
        append_copies(c, &out.before, op->x, x, true);
        append_copies(c, &out.after, op->g, g, false);
        replica r = replica_of(c->problem.network, op->n_samples, true, g + vector_space(c, op->g));
        r.x = vector_at(c, op->x, x);
        r.g = vector_at(c, op->g, g);
        r.state = static_cast<const real *>(op->state);
        r.state_new = static_cast<real *>(op->state_new);
        out.replicas.push_back(r);
        out.samples.insert(out.samples.end(), op->samples, op->samples + op->n_samples);
        out.most = std::max(out.most, op->n_samples);
        memory += space_of(c, op);
    }
    return out;
}

/** Whether products write the whole gradient: they tell what is not finite. */
bool by_matmuls(const dsgd_network *network)
{
    bool all = true;
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const dsgd_layer *const layer = &network->layers[l];
        all = all && (layer->n_params == 0 || layer->kind == DSGD_LINEAR ||
                      layer->kind == DSGD_CONVOLUTION || layer->kind == DSGD_LSTM);
    }
    return all;
}

/** As many operations as fit the workspace. */
void some_gradients(context *c, const dsgd_gradient_op *ops, size_t n_ops, bool *finite)
{
    const dsgd_network *const network = c->problem.network;
    size_t space = 0;
    for (size_t i = 0; i < n_ops; i++)
        space += space_of(c, &ops[i]);
    gradients all = describe(c, ops, n_ops, workspace(c, space));
    stage_begin(c,
                n_ops * (sizeof(replica) + sizeof(bool)) + all.samples.size() * sizeof(uint32_t) +
                    (all.before.size() + all.after.size()) * sizeof(copy),
                5);
    const uint32_t *samples = stage(c, all.samples.data(), all.samples.size());
    for (replica &r : all.replicas) {
        r.samples = samples;
        samples += r.n;
    }
    std::fill(finite, finite + n_ops, true);
    bool *const finite_there = stage(c, finite, n_ops);
    for (size_t i = 0; i < n_ops; i++)
        all.replicas[i].finite = finite_there + i;
    const replica *const replicas = stage(c, all.replicas.data(), n_ops);
    const copy *const before = stage(c, all.before.data(), all.before.size());
    const copy *const after = stage(c, all.after.data(), all.after.size());
    stage_send(c);
    run_copies(c, all.before, before);
    execution one = execution_of(c, &c->train, replicas, n_ops, all.most);
    network_gradient(&one, network, all.most);
    const size_t n_state = ops[0].state_new == NULL ? 0 : network->n_state;
    const dim3 grid(element_blocks(network->n_params + n_state, THREADS, n_ops), (uint32_t)n_ops);
    if (n_state > 0 || !by_matmuls(network))
        launch(c->stream, grid, THREADS, finite_global, replicas, network->n_params, n_state);
    run_copies(c, all.after, after);
    stage_fetch(c, finite, finite_there, n_ops);
}

void cuda_gradient(void *opened, uint32_t thread, const dsgd_gradient_op *ops, size_t n_ops,
                   bool *finite)
{
    (void)thread;
    context *const c = static_cast<context *>(opened);
    for (size_t first = 0, n = 0; first < n_ops; first += n) {
        size_t space = 0;
        for (n = 0; n < BATCH && first + n < n_ops; n++) {
            space += space_of(c, &ops[first + n]);
            if (n > 0 && space > c->workspace_limit)
                break;
        }
        some_gradients(c, ops + first, n, finite + first);
    }
}

/* --- the other operations ----------------------------------------------------------------------------------------------------------- */

void some_updates(context *c, const dsgd_update_op *ops, size_t n_ops, bool *finite)
{
    const dsgd_update_config *const config = &c->problem.update;
    std::vector<update> updates;
    size_t most = 0;
    for (size_t i = 0; i < n_ops; i++) {
        updates.push_back(update{ops[i], dsgd_update_rule_of(config, ops[i].lr, ops[i].t, 1)});
        most = std::max(most, ops[i].n);
    }
    stage_begin(c, n_ops * (sizeof(update) + sizeof(bool)), 2);
    std::fill(finite, finite + n_ops, true);
    update *const there = stage(c, updates.data(), n_ops);
    bool *const finite_there = stage(c, finite, n_ops);
    stage_send(c);
    if (config->clip != 0)
        launch(c->stream, dim3((uint32_t)n_ops), THREADS, clip_global, there, config->clip,
               c->problem.network->n_params);
    launch(c->stream, dim3(element_blocks(most, THREADS, n_ops), (uint32_t)n_ops), THREADS,
           update_global, there, finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void cuda_update(void *opened, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                 bool *finite)
{
    (void)thread;
    for (size_t first = 0; first < n_ops; first += BATCH)
        some_updates(static_cast<context *>(opened), ops + first,
                     std::min((size_t)BATCH, n_ops - first), finite + first);
}

void some_combinations(context *c, const dsgd_combine_op *ops, size_t n_ops, bool *finite)
{
    size_t most = 0;
    std::vector<dsgd_combine_op> staged(ops, ops + n_ops);
    std::vector<dsgd_buffer> x;
    std::vector<double> weights;
    for (const dsgd_combine_op &op : staged) {
        most = std::max(most, op.n);
        x.insert(x.end(), op.x, op.x + op.n_inputs);
        weights.insert(weights.end(), op.weights, op.weights + op.n_inputs);
    }
    stage_begin(
        c, n_ops * (sizeof *ops + sizeof(bool)) + x.size() * (sizeof(dsgd_buffer) + sizeof(double)),
        4);
    const dsgd_buffer *x_there = stage(c, x.data(), x.size());
    const double *weights_there = stage(c, weights.data(), weights.size());
    for (dsgd_combine_op &op : staged) {
        op.x = x_there;
        op.weights = weights_there;
        x_there += op.n_inputs;
        weights_there += op.n_inputs;
    }
    std::fill(finite, finite + n_ops, true);
    const dsgd_combine_op *const ops_there = stage(c, staged.data(), n_ops);
    bool *const finite_there = stage(c, finite, n_ops);
    stage_send(c);
    const uint32_t blocks = element_blocks(blocks_for(most, CELL), THREADS, n_ops);
    launch(c->stream, dim3(blocks, (uint32_t)n_ops), THREADS, combine_global, ops_there,
           finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void cuda_combine(void *opened, uint32_t thread, const dsgd_combine_op *ops, size_t n_ops,
                  bool *finite)
{
    (void)thread;
    for (size_t first = 0; first < n_ops; first += BATCH)
        some_combinations(static_cast<context *>(opened), ops + first,
                          std::min((size_t)BATCH, n_ops - first), finite + first);
}

/** The test set in blocks of EVALUATED_SAMPLES, each a replica; as many at once as fit the workspace. */
std::vector<replica> evaluated(context *c, const dsgd_evaluate_op *op, size_t *at_once)
{
    const dsgd_network *const network = c->problem.network;
    const uint32_t n_test = c->problem.data->test.n;
    const uint32_t n_blocks = blocks_for(n_test, EVALUATED_SAMPLES);
    const size_t before = vector_space(c, op->x);
    const size_t space = replica_space(network, EVALUATED_SAMPLES, false);
    *at_once = std::max((size_t)1, std::min((size_t)std::min(n_blocks, (uint32_t)BATCH),
                                            c->workspace_limit / space));
    real *const memory = workspace(c, before + *at_once * space);
    std::vector<replica> out;
    for (uint32_t i = 0; i < n_blocks; i++) {
        const uint32_t first = i * EVALUATED_SAMPLES;
        replica r = replica_of(network, std::min((uint32_t)EVALUATED_SAMPLES, n_test - first),
                               false, memory + before + i % *at_once * space);
        r.x = vector_at(c, op->x, memory);
        r.state = static_cast<const real *>(op->state);
        r.first = first;
        r.scores = c->scores + 2 * (size_t)first;
        out.push_back(r);
    }
    return out;
}

void one_evaluation(context *c, dsgd_evaluate_op *op)
{
    const uint32_t n_test = c->problem.data->test.n;
    size_t at_once = 0;
    const std::vector<replica> replicas = evaluated(c, op, &at_once);
    std::vector<copy> before;
    append_copies(c, &before, op->x, c->workspace, true);
    stage_begin(c, replicas.size() * sizeof(replica) + before.size() * sizeof(copy), 2);
    const replica *const there = stage(c, replicas.data(), replicas.size());
    const copy *const before_there = stage(c, before.data(), before.size());
    stage_send(c);
    run_copies(c, before, before_there);
    for (size_t first = 0; first < replicas.size(); first += at_once) {
        const size_t n = std::min(at_once, replicas.size() - first);
        execution one = execution_of(c, &c->test, there + first, n, replicas[first].n);
        network_scores(&one, c->problem.network, replicas[first].n);
    }
    std::vector<double> scores(2 * (size_t)n_test);
    DSGD_CUDA(cudaMemcpyAsync(scores.data(), c->scores, scores.size() * sizeof(double),
                              cudaMemcpyDeviceToHost, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    double loss = 0;
    double right = 0;
    for (size_t i = 0; i < n_test; i++) {
        loss += scores[2 * i];
        right += scores[2 * i + 1];
    }
    op->loss = loss / n_test;
    op->accuracy = c->problem.network->loss == DSGD_LOSS_SQUARED ? NAN : right / n_test;
}

void cuda_evaluate(void *opened, uint32_t thread, dsgd_evaluate_op *ops, size_t n_ops)
{
    (void)thread;
    for (size_t i = 0; i < n_ops; i++)
        one_evaluation(static_cast<context *>(opened), &ops[i]);
}

void cuda_distance(void *opened, uint32_t thread, dsgd_distance_op *ops, size_t n_ops)
{
    (void)thread;
    context *const c = static_cast<context *>(opened);
    if (n_ops == 0)
        return;
    stage_begin(c, n_ops * sizeof *ops, 1);
    dsgd_distance_op *const ops_there = stage(c, ops, n_ops);
    stage_send(c);
    launch(c->stream, dim3((uint32_t)n_ops), THREADS, distance_global, ops_there);
    stage_fetch(c, ops, ops_there, n_ops);
}

/* --- what it exports ---------------------------------------------------------------------------------------------------------------- */

uint64_t cuda_launches(void)
{
    return n_launches;
}

void cuda_limit_workspace(void *opened, size_t n_reals)
{
    static_cast<context *>(opened)->workspace_limit = n_reals;
}

void cuda_copy(void *opened, dsgd_buffer to, dsgd_buffer from, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    DSGD_CUDA(cudaMemcpyAsync(to, from, n * sizeof(real), cudaMemcpyDeviceToDevice, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
}

} // namespace

/* The names are DSGD_DEVICE_SYMBOL and DSGD_CUDA_PROBE_SYMBOL. */
extern "C" const dsgd_device dsgd_device_module = {
    DSGD_DEVICE_ABI, "cuda",        "CUDA in float32, own kernels",
    sizeof(real),    BATCH,         false, /* threaded */
    cuda_open,       cuda_close,    cuda_alloc,
    cuda_release,    cuda_put,      cuda_get,
    cuda_gradient,   cuda_update,   cuda_combine,
    cuda_evaluate,   cuda_distance,
};
extern "C" const dsgd_cuda_probe dsgd_cuda_probe_module = {cuda_launches, cuda_limit_workspace,
                                                           cuda_copy};
