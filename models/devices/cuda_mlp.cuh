/**
 * @file cuda_mlp.cuh
 * Gradients of a network of linear layers in one launch. A block computes a whole replica. Its
 * activations and their gradients are in shared memory, so that only samples, parameters and
 * parameter gradients pass through global memory. Every sum has the same order as in multiply()
 * (parts_of()). The results therefore have the same bits as with a launch per layer. Networks and
 * batches that do not fit use a launch per layer. Only cuda.cu includes this file.
 */
#pragma once

#include "models/devices/cuda_images.cuh"
#include "models/devices/cuda_matmul.cuh"
#include "models/layers/layers.h"

namespace
{

enum : uint32_t {
    MOST_LINKS = 8, /* largest number of layers of a network that the kernel supports */
    GROUPS = 4, /* number of groups of samples in a tile; thread group g has the samples g, g +
                 * GROUPS, ... */
    /* largest number of reals that a tile may read after a tensor; it does not use them */
    MOST_BEHIND = 32
};

/**
 * A tensor [n][row] in shared memory. A column of ones follows its columns; it is the input of the
 * bias.
 */
struct shared_tensor {
    uint32_t n_columns, row;
    uint32_t at; /* offset of the tensor, in reals per sample */
};

/**
 * A linear layer. For its forward and backward products, the struct contains the number of parts of
 * each sum.
 */
struct mlp_link {
    shared_tensor in, in_grad, out, out_grad; /* tensors of the layer; the network's input has no
                                               * gradient */
    uint32_t params;
    uint32_t forward_parts, backward_parts;
    bool relu, relu_input;
};

struct mlp {
    uint32_t n_links;
    mlp_link links[MOST_LINKS];
    uint32_t reals; /* shared memory per sample, in reals */
    bool squared;
};

/**
 * Returns the next tensor in the memory of a replica. Each row has an odd number of cells, so that
 * rows start in different banks.
 */
shared_tensor shared_tensor_of(mlp *m, uint32_t n_columns)
{
    const shared_tensor t = {n_columns, CELL * ((n_columns / CELL + 1) | 1), m->reals};
    m->reals += t.row;
    return t;
}

/**
 * Returns true if layer @p i is a part of a chain of linear layers and the kernel supports the
 * layer.
 */
bool is_link(const dsgd_network *network, uint32_t i)
{
    const dsgd_layer *const l = &network->layers[i];
    return l->kind == DSGD_LINEAR && l->from == i && l->in.n_rows == 1 && !l->adds &&
           (!l->relu || l->relu_by_reader);
}

/** Describes the network in *out. Returns false if the kernel does not support the network. */
bool mlp_of(const dsgd_network *network, mlp *out)
{
    *out = mlp();
    bool known = network->n_layers <= MOST_LINKS && network->loss != DSGD_LOSS_POLICY;
    for (uint32_t i = 0; i < network->n_layers && known; i++)
        known = is_link(network, i);
    if (!known)
        return false;
    out->n_links = network->n_layers;
    out->squared = network->loss == DSGD_LOSS_SQUARED;
    for (uint32_t i = 0; i < network->n_layers; i++) {
        const dsgd_layer *const l = &network->layers[i];
        const operand x = rows_of(VALUES, &l->in);
        const matmul forward = linear_forward(l, x, l->in.n_columns);
        matmul backward[MOST_MATMULS];
        const uint32_t n_backward = linear_backward(l, x, l->in.n_columns, backward);
        mlp_link *const link = &out->links[i];
        link->in = i == 0 ? shared_tensor_of(out, l->in.n_columns) : link[-1].out;
        link->in_grad = i == 0 ? link->in : link[-1].out_grad;
        link->out = shared_tensor_of(out, l->out.n_columns);
        link->out_grad = shared_tensor_of(out, l->out.n_columns);
        link->params = (uint32_t)l->params;
        link->forward_parts = parts_of(&forward, 1);
        link->backward_parts = parts_of(backward, n_backward);
        link->relu = l->relu;
        link->relu_input = l->relu_input;
    }
    return true;
}

/* --- loading of samples ----------------------------------------------------------------------- */

template <uint32_t WIDE, bool BYTES>
__device__ void load_samples(const replica &r, const dataset_view &data, real *x, uint32_t row)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x / WARP; i < r.n; i += THREADS / WARP) {
        const size_t at = sample_of(&r, i) * data.n_features;
#pragma unroll 4
        for (uint32_t f = threadIdx.x % WARP * WIDE; f < data.n_features; f += WARP * WIDE) {
            real v[WIDE];
            features<WIDE, BYTES>(v, data, at + f);
            store_here<WIDE>(x + i * row + f, v);
        }
    }
}

__device__ void load_batch(const replica &r, const dataset_view &data, real *x, uint32_t row)
{
    const bool wide = data.n_features % CELL == 0;
    if (data.samples.x_bytes != NULL)
        wide ? load_samples<CELL, true>(r, data, x, row) : load_samples<1, true>(r, data, x, row);
    else
        wide ? load_samples<CELL, false>(r, data, x, row) : load_samples<1, false>(r, data, x, row);
}

/* --- functions that compute activations and their gradients ----------------------------------- */

/**
 * A product C [n][n_columns] <- A B. The operations of store_tile() follow the product. A and C are
 * in shared memory.
 */
struct shared_product {
    const real *a, *b;
    real *c;
    uint32_t n, depth, n_columns;
    uint32_t a_row, b_row, b_column, c_row;
    uint32_t parts;
    const real *bias; /* bias of each column, n_columns entries; or NULL */
    const real *relu_output; /* output of the ReLU, strided like C; or NULL */
    bool relu;
};

/**
 * The place of a thread in a tile: a cell of samples and columns, and a part of the cell's sums.
 */
template <uint32_t PARTS> struct cell_of_product {
    /*
     * If PAIRED is true, a thread reads two adjacent columns at once, and adjacent threads have
     * adjacent pairs of columns.
     */
    static constexpr bool PAIRED = PARTS != 0;
    static constexpr uint32_t LOADS = PAIRED ? CELL / 2 : CELL, WIDE = CELL / LOADS;
    uint32_t n_parts, across, part, sample, column;

    __device__ cell_of_product(const shared_product &p, uint32_t first_sample,
                               uint32_t first_column)
    {
        n_parts = PARTS == 0 ? p.parts : PARTS;
        across = THREADS / GROUPS / n_parts;
        part = threadIdx.x / (GROUPS * across);
        sample = first_sample + threadIdx.x / across % GROUPS;
        column = first_column + threadIdx.x % across * (PAIRED ? WIDE : CELL);
    }

    /** Returns the index in C of column @p j of the cell. */
    __device__ uint32_t column_of(uint32_t j) const
    {
        return column + (PAIRED ? j / WIDE * across * WIDE + j % WIDE : j);
    }
};

/** Computes the thread's part of the sums of its cell. */
template <uint32_t PARTS>
__device__ void sum_part(const shared_product &p, const cell_of_product<PARTS> &cell,
                         real (*sums)[CELL])
{
    typedef cell_of_product<PARTS> T;
    const real *a[CELL]; /* threads outside C read valid memory and store nothing */
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++)
        a[i] = p.a + min(cell.sample + i * GROUPS, p.n - 1) * p.a_row;
    const real *b[T::LOADS];
#pragma unroll
    for (uint32_t j = 0; j < T::LOADS; j++) {
        const uint32_t column = cell.column_of(j * T::WIDE);
        b[j] = global(p.b) + (size_t)cell.part * p.b_row +
               (size_t)(column < p.n_columns ? column : 0) * p.b_column;
    }
    const uint32_t step = cell.n_parts * p.b_row;
    const uint32_t depth = cell.column < p.n_columns ? p.depth : 0;
#pragma unroll(PARTS == 0 ? 1 : 4)
    for (uint32_t k = cell.part; k < depth; k += cell.n_parts) {
        real row[CELL], column[CELL];
#pragma unroll
        for (uint32_t j = 0; j < T::LOADS; j++) {
            load_wide<T::WIDE>(column + j * T::WIDE, b[j]);
            b[j] += step;
        }
#pragma unroll
        for (uint32_t i = 0; i < CELL; i++)
            row[i] = a[i][k];
        multiply_cells(row, column, sums);
    }
}

/**
 * Adds the sums of the thread's part to C. The last part also adds the bias and applies the ReLU.
 */
template <uint32_t PARTS>
__device__ void add_part(const shared_product &p, const cell_of_product<PARTS> &cell,
                         const real (*sums)[CELL])
{
    const bool first = cell.part == 0, last = cell.part + 1 == cell.n_parts;
#pragma unroll
    for (uint32_t j = 0; j < CELL; j++) {
        const uint32_t column = cell.column_of(j);
        const bool biased = last && p.bias != NULL && column < p.n_columns;
        const real bias = biased ? global(p.bias)[column] : 0.0f;
#pragma unroll
        for (uint32_t i = 0; i < CELL; i++) {
            const uint32_t sample = cell.sample + i * GROUPS;
            const uint32_t at = sample * p.c_row + column;
            if (sample >= p.n || column >= p.n_columns)
                continue;
            real sum = (first ? 0.0f : p.c[at]) + sums[i][j];
            sum = biased ? sum + bias : sum;
            if (last && p.relu_output != NULL)
                sum = dsgd_relu_backward(p.relu_output[at], sum);
            p.c[at] = last && p.relu ? dsgd_relu(sum) : sum;
        }
    }
}

/**
 * Computes all tiles of a product. PARTS must be p.parts if two adjacent numbers of B can be read
 * at once, otherwise 0.
 */
template <uint32_t PARTS> __device__ void product_tiles(const shared_product &p)
{
    const uint32_t n_parts = PARTS == 0 ? p.parts : PARTS;
    const uint32_t tile_columns = THREADS / GROUPS / n_parts * CELL;
#pragma unroll 1
    for (uint32_t sample = 0; sample < p.n; sample += GROUPS * CELL)
#pragma unroll 1
        for (uint32_t column = 0; column < p.n_columns; column += tile_columns) {
            const cell_of_product<PARTS> cell(p, sample, column);
            real sums[CELL][CELL] = {};
            sum_part<PARTS>(p, cell, sums);
#pragma unroll 1
            for (uint32_t part = 0; part < n_parts; part++) {
                if (part == cell.part)
                    add_part<PARTS>(p, cell, sums);
                __syncthreads();
            }
        }
}

/**
 * Returns true if one access can read two adjacent numbers, in rows of @p n numbers that start at
 * @p at.
 */
__device__ bool in_pairs(const real *at, uint32_t n)
{
    return n % 2 == 0 && (uintptr_t)at % (2 * sizeof(real)) == 0;
}

/** Computes the forward pass of a layer: Y = X W + b, then ReLU if the layer has one. */
__device__ void link_forward(const mlp_link &l, const replica &r, real *shared)
{
    shared_product p = {};
    p.a = shared + l.in.at * r.n;
    p.b = r.x + l.params;
    p.c = shared + l.out.at * r.n;
    p.n = r.n;
    p.depth = l.in.n_columns;
    p.n_columns = p.b_row = l.out.n_columns;
    p.b_column = 1;
    p.a_row = l.in.row;
    p.c_row = l.out.row;
    p.parts = l.forward_parts;
    p.bias = p.b + (size_t)p.depth * p.n_columns;
    p.relu = l.relu;
    if (!in_pairs(p.b, p.n_columns))
        product_tiles<0>(p);
    else if (p.parts == 16)
        product_tiles<16>(p);
    else if (p.parts == 8)
        product_tiles<8>(p);
    /* p.parts is 4 here, because other tilings do not occur with one row per sample */
    else
        product_tiles<4>(p);
}

/** Computes dX = dY W^T and the backward pass of the preceding ReLU. */
__device__ void link_backward(const mlp_link &l, const replica &r, real *shared)
{
    shared_product p = {};
    p.a = shared + l.out_grad.at * r.n;
    p.b = r.x + l.params;
    p.c = shared + l.in_grad.at * r.n;
    p.n = r.n;
    p.depth = p.b_column = l.out.n_columns;
    p.n_columns = l.in.n_columns;
    p.b_row = 1;
    p.a_row = l.out_grad.row;
    p.c_row = l.in_grad.row;
    p.parts = l.backward_parts;
    p.relu_output = l.relu_input ? shared + l.in.at * r.n : NULL;
    product_tiles<0>(p);
}

/* --- gradients of parameters ------------------------------------------------------------------ */

/**
 * Sums a cell of the parameter gradient over the samples. @p x and @p dy point to the cell's first
 * row and column in sample 0.
 */
template <uint32_t WIDE>
__device__ void sum_samples(const mlp_link &l, uint32_t n, const real *x, const real *dy,
                            uint32_t away, real (*sums)[CELL])
{
    const uint32_t parts = min(l.backward_parts, n);
    const uint32_t x_step = l.backward_parts * l.in.row,
                   dy_step = l.backward_parts * l.out_grad.row;
#pragma unroll 1
    for (uint32_t part = 0; part < parts; part++) {
        real of_part[CELL][CELL] = {};
        const real *x_k = x + part * l.in.row;
        const real *dy_k = dy + part * l.out_grad.row;
#pragma unroll 4
        for (uint32_t k = part; k < n; k += l.backward_parts) {
            real row[CELL], column[CELL];
            load_wide<CELL>(row, x_k);
#pragma unroll
            for (uint32_t j = 0; j < CELL; j += WIDE)
                load_wide<WIDE>(column + j, dy_k + j * away);
            multiply_cells(row, column, of_part);
            x_k += x_step;
            dy_k += dy_step;
        }
#pragma unroll
        for (uint32_t i = 0; i < CELL; i++)
#pragma unroll
            for (uint32_t j = 0; j < CELL; j++)
                sums[i][j] += of_part[i][j];
    }
}

/** Writes the first n_rows rows of a cell at @p to. Sets *zero to NaN if a number is not finite. */
template <uint32_t WIDE>
__device__ void store_cell_of_grads(real *to, uint32_t n_rows, uint32_t n_columns, uint32_t column,
                                    uint32_t away, const real (*sums)[CELL], real *zero)
{
#pragma unroll
    for (uint32_t i = 0; i < CELL; i++, to += n_columns)
#pragma unroll
        for (uint32_t j = 0; j < CELL; j += WIDE)
            if (i < n_rows && column + j * away < n_columns) {
                store_here<WIDE>(to + j * away, &sums[i][j]);
#pragma unroll
                for (uint32_t w = 0; w < WIDE; w++)
                    *zero = fmaf(sums[i][j + w], 0.0f, *zero);
            }
}

/**
 * Computes dW = X^T dY, followed by db. The input of db is the column of ones. Returns true if all
 * results are finite. Each of ACROSS threads has WIDE adjacent columns, and further columns at
 * distances of ACROSS * WIDE.
 */
template <uint32_t ACROSS, uint32_t WIDE>
__device__ bool params_backward(const mlp_link &l, const replica &r, const real *shared)
{
    const real *const x = shared + l.in.at * r.n;
    const real *const dy = shared + l.out_grad.at * r.n;
    real *const to = global(r.g) + l.params;
    const uint32_t n = r.n, n_rows = l.in.n_columns + 1, n_columns = l.out.n_columns;
    real zero = 0;
#pragma unroll 1
    for (uint32_t tile = 0; tile < n_columns; tile += ACROSS * CELL) {
        const uint32_t column = tile + threadIdx.x % ACROSS * WIDE;
#pragma unroll 1
        for (uint32_t row = threadIdx.x / ACROSS * CELL; row < n_rows;
             row += THREADS / ACROSS * CELL) {
            real sums[CELL][CELL] = {};
            sum_samples<WIDE>(l, n, x + row, dy + column, ACROSS, sums);
            store_cell_of_grads<WIDE>(to + (size_t)row * n_columns + column, n_rows - row,
                                      n_columns, column, ACROSS, sums, &zero);
        }
    }
    return zero == 0;
}

__device__ bool link_params_backward(const mlp_link &l, const replica &r, const real *shared)
{
    if (!in_pairs(r.g + l.params, l.out.n_columns))
        return params_backward<4, 1>(l, r, shared);
    if (l.out.n_columns <= 16)
        return params_backward<4, 2>(l, r, shared);
    return params_backward<8, 2>(l, r, shared);
}

/* --- the kernel and the function that launches it --------------------------------------------- */

/**
 * Computes the gradients of the outputs, like cross_entropy_kernel() and squared_error_kernel().
 */
__device__ void loss_backward(const mlp &m, const replica &r, const dataset_view &data,
                              real *shared)
{
    const mlp_link &last = m.links[m.n_links - 1];
    const real scale = 1.0f / (real)r.n;
    for (uint32_t i = threadIdx.x; i < r.n; i += THREADS) {
        const real *const z = shared + last.out.at * r.n + i * last.out.row;
        real *const dz = shared + last.out_grad.at * r.n + i * last.out_grad.row;
        const size_t sample = sample_of(&r, i);
        if (m.squared)
            dsgd_squared_error(*z, dz, (real)data.samples.targets[sample], scale);
        else
            dsgd_cross_entropy(z, dz, last.out.n_columns,
                               data.samples.labels[sample * data.n_labels], scale);
    }
}

/**
 * Computes the gradients of all replicas. The grid has one block per replica. A block needs m.reals
 * of shared memory for each sample of the replica with the most samples.
 */
__global__ void __launch_bounds__(THREADS, 4)
    mlp_global(const replica *replicas, const __grid_constant__ mlp m,
               const __grid_constant__ dataset_view data)
{
    real *const shared = dynamic_shared();
    const replica &r = replicas[blockIdx.x];
    load_batch(r, data, shared, m.links[0].in.row);
    for (uint32_t i = threadIdx.x; i < r.n * m.n_links; i += THREADS) {
        const shared_tensor &in = m.links[i / r.n].in;
        shared[in.at * r.n + i % r.n * in.row + in.n_columns] = 1.0f;
    }
    __syncthreads();
#pragma unroll 1
    for (uint32_t l = 0; l < m.n_links; l++)
        link_forward(m.links[l], r, shared);
    loss_backward(m, r, data, shared);
    __syncthreads();
    bool finite = true;
#pragma unroll 1
    for (uint32_t l = m.n_links; l-- > 0;) {
        const mlp_link &link = m.links[l];
        finite = link_params_backward(link, r, shared) && finite;
        if (l > 0)
            link_backward(link, r, shared);
    }
    if (!finite) /* several threads may write false here */
        *r.finite = false;
}

/**
 * Sets *block_bytes to an amount of shared memory per block such that two blocks fit on a
 * multiprocessor. Then one block computes while the other block waits.
 */
cudaError_t allow_mlp(int device, size_t *block_bytes)
{
    const int of_block = 1024; /* bytes of shared memory that the system reserves per block */
    int most = 0, of_multiprocessor = 0;
    TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    TRY(cudaDeviceGetAttribute(&of_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                               device));
    const int bytes = std::min(most, of_multiprocessor / 2 - of_block);
    TRY(cudaFuncSetAttribute(mlp_global, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    *block_bytes = (size_t)bytes;
    return cudaFuncSetAttribute(mlp_global, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared);
}

/**
 * Computes the gradients of all replicas. Returns false if the network is not supported, or if a
 * replica does not fit into @p block_bytes of shared memory.
 */
bool launch_mlp(const execution *e, const dsgd_network *network, size_t block_bytes)
{
    mlp m;
    if (!mlp_of(network, &m))
        return false;
    const size_t bytes = ((size_t)m.reals * e->most + MOST_BEHIND) * sizeof(real);
    if (bytes > block_bytes)
        return false;
    DSGD_CUDA(try_launch(e->stream, dim3(e->n_replicas), THREADS, bytes, mlp_global, e->replicas, m,
                         e->args.data));
    return true;
}

} // namespace
