/**
 * @file cuda.cu
 * CUDA as a device, in float: a module that the program loads when it is asked for (module.c).
 *
 * A call hands over many small operations. Each kernel runs over all of them, with blocks of its own for each, and every sum has an
 * order that the operation alone decides: no atomics, and no library that chooses its method by the size of the batch. So a result does not depend on what else was in the call. The compiler fuses no multiplication with an addition
 * (--fmad=false); fmaf() says where it is meant. Hence updates and combinations give the CPU's bits.
 *
 * All work of a context is in one stream. alloc, release, put and get share no state with a running operation, so that
 * they may be called beside one.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

extern "C" {
#include "models/device.h"
}

typedef float real;
#define real_exp expf
#define DSGD_DEVICE_FUNCTION __device__
#include "models/formula.h"

namespace
{

enum : uint32_t {
    TILE = 32, /* a block computes TILE x TILE numbers of a matrix */
    TILE_THREADS = 8, /* rows of threads in such a block, TILE threads each */
    THREADS = 256, /* of all other blocks */
    MOST_BLOCKS = 64, /* per operation, of kernels that go element by element */
    BATCH = 2048,
    EVALUATED_SAMPLES = 4096 /* at once */
};
const size_t workspace_floats = (size_t)1 << 25; /* per launch; a single operation may need more */
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

/** Samples on the device; the members are those of dsgd_samples and dsgd_data. */
struct samples {
    uint8_t *x_bytes;
    float *x_real;
    uint8_t *labels;
    float *targets;
    uint32_t n_features;
    float mean, deviation;
};

/** A network at work on some samples: for a gradient, or for a part of an evaluation. */
struct item {
    const float *x; /* [n_params] */
    float *g; /* [n_params] */
    bool *finite; /* becomes false where g has a number that is not */
    const uint32_t *chosen; /* [n] samples; where NULL they are first, first + 1, ... */
    uint32_t first, n;
    float *
        a; /* outputs of all layers, [n][n_out] each; backward() puts the derivatives by them in their place */
};

/** A layer, and where an item has its input and output. */
struct place {
    dsgd_layer layer;
    bool bottom; /* reads the samples */
    bool rectified_below;
    uint32_t below, here; /* reals per sample that come before, in item.a */
};

struct copy {
    float *to;
    const float *from; /* NULL: zeros */
    size_t n;
};

/** Memory that stands on both sides, so that a call needs one copy in each direction. */
struct staging {
    char *host, *device;
    size_t used, room;
};

struct context {
    dsgd_problem problem;
    cudaStream_t stream;
    samples train, test;
    staging staged;
    float *workspace;
    size_t workspace_room;
    double *scores; /* [2][test.n]: losses, hits */
    place places[DSGD_MAX_LAYERS];
    uint32_t width; /* reals per sample in item.a */
};

/* --- kernels: the network ----------------------------------------------------------------------------------------------------------- */

/**
 * Loads tile[i][j] <- element(first_row + i, first_column + j), zeros outside. Where TURNED, neighbours in memory are neighbours by
 * row, else by column.
 */
template <bool TURNED, typename Element>
__device__ void load_tile(float (*tile)[TILE + 1], uint32_t first_row, uint32_t n_rows,
                          uint32_t first_column, uint32_t n_columns, Element element)
{
    for (uint32_t y = threadIdx.y; y < TILE; y += TILE_THREADS) {
        const uint32_t i = TURNED ? threadIdx.x : y;
        const uint32_t j = TURNED ? y : threadIdx.x;
        const bool inside = first_row + i < n_rows && first_column + j < n_columns;
        tile[i][j] = inside ? element(first_row + i, first_column + j) : 0.0f;
    }
}

/** The shape of a product of matrices: [n_rows][depth] times [depth][n_columns]. */
struct shape {
    uint32_t n_rows, n_columns, depth;
};

/**
 * The block's tile of the product of a(i, k) and b(k, j), handed to store(i, j, sum). A sum adds up slices of TILE products, each
 * summed in order, which also keeps the rounding small.
 */
template <bool A_TURNED, bool B_TURNED, typename A, typename B, typename Store>
__device__ void multiply(shape s, A a, B b, Store store)
{
    __shared__ float a_tile[TILE][TILE + 1];
    __shared__ float b_tile[TILE][TILE + 1];
    const uint32_t row = blockIdx.y * TILE;
    const uint32_t column = blockIdx.x * TILE;
    if (row >= s.n_rows || column >= s.n_columns)
        return;
    float sums[TILE / TILE_THREADS] = {};
    for (uint32_t k = 0; k < s.depth; k += TILE) {
        load_tile<A_TURNED>(a_tile, row, s.n_rows, k, s.depth, a);
        load_tile<B_TURNED>(b_tile, k, s.depth, column, s.n_columns, b);
        __syncthreads();
        const uint32_t slice = min((uint32_t)TILE, s.depth - k);
        for (uint32_t r = 0; r < TILE / TILE_THREADS; r++) {
            const uint32_t i = threadIdx.y + r * TILE_THREADS;
            if (row + i >= s.n_rows)
                break;
            float sum = 0;
            for (uint32_t l = 0; l < slice; l++)
                sum = fmaf(a_tile[i][l], b_tile[l][threadIdx.x], sum);
            sums[r] += sum;
        }
        __syncthreads();
    }
    for (uint32_t r = 0; r < TILE / TILE_THREADS; r++) {
        const uint32_t i = row + threadIdx.y + r * TILE_THREADS;
        const uint32_t j = column + threadIdx.x;
        if (i < s.n_rows && j < s.n_columns)
            store(i, j, sums[r]);
    }
}

__device__ uint32_t sample_of(const item &it, uint32_t i)
{
    return it.chosen == NULL ? it.first + i : it.chosen[i];
}

/** Number @p f of what sample @p i puts into the layer. */
__device__ float layer_input(const item &it, const place &at, const samples &data, uint32_t i,
                             uint32_t f)
{
    if (!at.bottom)
        return it.a[(size_t)at.below * it.n + (size_t)i * at.layer.n_in + f];
    const size_t index = (size_t)sample_of(it, i) * data.n_features + f;
    return data.x_bytes == NULL ? data.x_real[index]
                                : dsgd_normalised(data.x_bytes[index], data.mean, data.deviation);
}

/** z <- W a + c, then max(z, 0) where rectified. */
__global__ void forward_kernel(const item *items, place at, samples data)
{
    const item it = items[blockIdx.z];
    const dsgd_layer layer = at.layer;
    const float *const weights = it.x + layer.weights;
    const float *const biases = it.x + layer.biases;
    float *const z = it.a + (size_t)at.here * it.n;
    multiply<false, true>(
        shape{it.n, layer.n_out, layer.n_in},
        [&](uint32_t i, uint32_t k) { return layer_input(it, at, data, i, k); },
        [&](uint32_t k, uint32_t j) { return weights[(size_t)j * layer.n_in + k]; },
        [&](uint32_t i, uint32_t j, float sum) {
            const float linear = sum + biases[j];
            z[(size_t)i * layer.n_out + j] = layer.rectified ? dsgd_rectified(linear) : linear;
        });
}

/** Turns the outputs of one sample into the derivative of its loss, times @p scale; returns the loss. */
__device__ double loss_of(dsgd_loss loss, const samples &data, uint32_t sample, uint32_t width,
                          float *z, float scale)
{
    return loss == DSGD_LOSS_SQUARED ? dsgd_squared(z, data.targets[sample], scale)
                                     : dsgd_cross_entropy(z, width, data.labels[sample], scale);
}

/** The derivative of the mean loss by the outputs of the last layer, in their place. */
__global__ void differentiate_kernel(const item *items, place at, samples data, dsgd_loss loss)
{
    const item it = items[blockIdx.x];
    const uint32_t width = at.layer.n_out;
    const uint32_t i = blockIdx.y * THREADS + threadIdx.x;
    if (i < it.n)
        loss_of(loss, data, sample_of(it, i), width,
                it.a + (size_t)at.here * it.n + (size_t)i * width, 1.0f / (float)it.n);
}

__device__ void store_gradient(const item &it, size_t parameter, float derivative)
{
    it.g[parameter] = derivative;
    if (!isfinite(derivative))
        *it.finite = false; /* by several threads perhaps, but all write the same */
}

/** dW <- dz^T a. */
__global__ void weights_kernel(const item *items, place at, samples data)
{
    const item it = items[blockIdx.z];
    const dsgd_layer layer = at.layer;
    const float *const dz = it.a + (size_t)at.here * it.n;
    multiply<true, false>(
        shape{layer.n_out, layer.n_in, it.n},
        [&](uint32_t i, uint32_t k) { return dz[(size_t)k * layer.n_out + i]; },
        [&](uint32_t k, uint32_t j) { return layer_input(it, at, data, k, j); },
        [&](uint32_t i, uint32_t j, float sum) {
            store_gradient(it, layer.weights + (size_t)i * layer.n_in + j, sum);
        });
}

/** dc <- sum of dz over the samples. */
__global__ void biases_kernel(const item *items, place at)
{
    const item it = items[blockIdx.x];
    const dsgd_layer layer = at.layer;
    const float *const dz = it.a + (size_t)at.here * it.n;
    const uint32_t j = blockIdx.y * THREADS + threadIdx.x;
    if (j >= layer.n_out)
        return;
    float sum = 0;
    for (uint32_t i = 0; i < it.n; i++)
        sum += dz[(size_t)i * layer.n_out + j];
    store_gradient(it, layer.biases + j, sum);
}

/** da <- dz W through the rectifier, in the place of a. */
__global__ void backward_kernel(const item *items, place at)
{
    const item it = items[blockIdx.z];
    const dsgd_layer layer = at.layer;
    const float *const weights = it.x + layer.weights;
    const float *const dz = it.a + (size_t)at.here * it.n;
    float *const a = it.a + (size_t)at.below * it.n;
    multiply<false, false>(
        shape{it.n, layer.n_in, layer.n_out},
        [&](uint32_t i, uint32_t k) { return dz[(size_t)i * layer.n_out + k]; },
        [&](uint32_t k, uint32_t j) { return weights[(size_t)k * layer.n_in + j]; },
        [&](uint32_t i, uint32_t j, float sum) {
            float *const into = a + (size_t)i * layer.n_in + j;
            *into = at.rectified_below ? dsgd_rectified_back(*into, sum) : sum;
        });
}

/** Losses and hits of an evaluation, by sample. */
__global__ void score_kernel(const item *items, place at, samples data, dsgd_loss loss,
                             double *losses, double *hits)
{
    const item it = items[blockIdx.x];
    const uint32_t width = at.layer.n_out;
    const uint32_t i = blockIdx.y * THREADS + threadIdx.x;
    if (i >= it.n)
        return;
    const uint32_t sample = sample_of(it, i);
    float *const z = it.a + (size_t)at.here * it.n + (size_t)i * width;
    uint32_t largest = 0;
    for (uint32_t j = 1; j < width; j++)
        largest = z[j] > z[largest] ? j : largest;
    hits[sample] = loss == DSGD_LOSS_CROSS_ENTROPY && largest == data.labels[sample] ? 1.0 : 0.0;
    losses[sample] = loss_of(loss, data, sample, width, z, 1.0f);
}

/* --- kernels: element by element, and sums ------------------------------------------------------------------------------------------ */

__global__ void copy_kernel(const copy *copies)
{
    const copy c = copies[blockIdx.x];
    const size_t stride = (size_t)gridDim.y * THREADS;
    for (size_t i = (size_t)blockIdx.y * THREADS + threadIdx.x; i < c.n; i += stride)
        c.to[i] = c.from == NULL ? 0.0f : c.from[i];
}

__device__ float number(const void *buffer, size_t i)
{
    return buffer == NULL ? 0.0f : static_cast<const float *>(buffer)[i];
}

__global__ void update_kernel(const dsgd_update_op *ops, float momentum, float weight_decay,
                              bool *finite)
{
    const dsgd_update_op op = ops[blockIdx.x];
    const size_t stride = (size_t)gridDim.y * THREADS;
    for (size_t i = (size_t)blockIdx.y * THREADS + threadIdx.x; i < op.n; i += stride) {
        float velocity = number(op.v, i);
        const float x = dsgd_updated(number(op.x, i), number(op.g, i), &velocity, (float)op.lr,
                                     op.v_new == NULL ? 0.0f : momentum, weight_decay);
        static_cast<float *>(op.x_new)[i] = x;
        if (op.v_new != NULL)
            static_cast<float *>(op.v_new)[i] = velocity;
        if (!isfinite(x))
            finite[blockIdx.x] = false;
    }
}

__global__ void combine_kernel(const dsgd_combine_op *ops, bool *finite)
{
    const dsgd_combine_op op = ops[blockIdx.x];
    const size_t stride = (size_t)gridDim.y * THREADS;
    for (size_t i = (size_t)blockIdx.y * THREADS + threadIdx.x; i < op.n; i += stride) {
        double sum = 0;
        for (uint32_t k = 0; k < op.n_inputs; k++)
            if (op.x[k] != NULL)
                sum += op.weights[k] * (double)number(op.x[k], i);
        const float y = (float)(sum / op.divisor);
        static_cast<float *>(op.y)[i] = y;
        if (!isfinite(y))
            finite[blockIdx.x] = false;
    }
}

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

__global__ void distance_kernel(dsgd_distance_op *ops)
{
    dsgd_distance_op *const op = &ops[blockIdx.x];
    const double sum = block_sum(op->n, [&](size_t i) {
        const double d = (double)number(op->x, i) - (double)number(op->y, i);
        return d * d;
    });
    if (threadIdx.x == 0)
        op->distance = sum;
}

/** totals[row] <- sum of numbers[row][n]. */
__global__ void total_kernel(const double *numbers, uint32_t n, double *totals)
{
    const double *const row = numbers + (size_t)blockIdx.x * n;
    const double sum = block_sum(n, [&](size_t i) { return row[i]; });
    if (threadIdx.x == 0)
        totals[blockIdx.x] = sum;
}

/* --- memory ------------------------------------------------------------------------------------------------------------------------- */

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

float *workspace(context *c, size_t n)
{
    if (n > c->workspace_room) {
        DSGD_CUDA(cudaFree(c->workspace));
        c->workspace_room = n + n / 4;
        DSGD_CUDA(cudaMalloc((void **)&c->workspace, c->workspace_room * sizeof(float)));
    }
    return c->workspace;
}

dsgd_buffer cuda_alloc(void *opened, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    void *buffer = NULL;
    const cudaError_t error = cudaMallocAsync(&buffer, n * sizeof(float), c->stream);
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
    const std::vector<float> numbers(from, from + n);
    DSGD_CUDA(
        cudaMemcpyAsync(to, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
}

void cuda_get(void *opened, double *to, dsgd_buffer from, size_t n)
{
    const context *const c = static_cast<context *>(opened);
    std::vector<float> numbers(n, 0.0f);
    if (from != NULL && n > 0)
        DSGD_CUDA(cudaMemcpyAsync(numbers.data(), from, n * sizeof(float), cudaMemcpyDeviceToHost,
                                  c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    for (size_t i = 0; i < n; i++)
        to[i] = (double)numbers[i];
}

/* --- open and close ----------------------------------------------------------------------------------------------------------------- */

template <typename T> cudaError_t upload(T **to, const T *from, size_t n)
{
    if (from == NULL)
        return cudaSuccess;
    const cudaError_t error = cudaMalloc((void **)to, n * sizeof(T));
    return error == cudaSuccess ? cudaMemcpy(*to, from, n * sizeof(T), cudaMemcpyHostToDevice)
                                : error;
}

cudaError_t upload_samples(samples *to, const dsgd_data *data, const dsgd_samples *from)
{
    to->n_features = data->n_features;
    to->mean = data->mean;
    to->deviation = data->deviation;
    const size_t n_numbers = (size_t)from->n * data->n_features;
    cudaError_t error = upload(&to->x_bytes, from->x_bytes, n_numbers);
    if (error == cudaSuccess)
        error = upload(&to->x_real, from->x_real, n_numbers);
    if (error == cudaSuccess)
        error = upload(&to->labels, from->labels, from->n);
    if (error == cudaSuccess)
        error = upload(&to->targets, from->targets, from->n);
    return error;
}

void free_samples(const samples *s)
{
    cudaFree(s->x_bytes);
    cudaFree(s->x_real);
    cudaFree(s->labels);
    cudaFree(s->targets);
}

void lay_out(context *c)
{
    const dsgd_network *const network = c->problem.network;
    for (uint32_t l = 0; l < network->n_layers; l++) {
        const bool bottom = l == 0;
        c->places[l].layer = network->layers[l];
        c->places[l].bottom = bottom;
        c->places[l].rectified_below = !bottom && network->layers[l - 1].rectified;
        c->places[l].below = bottom ? 0 : c->places[l - 1].here;
        c->places[l].here = c->width;
        c->width += network->layers[l].n_out;
    }
}

/** All that can fail because of the machine. */
cudaError_t prepare(context *c)
{
    const dsgd_data *const data = c->problem.data;
    cudaFuncAttributes attributes;
    int n_devices = 0;
    cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaSuccess) /* is there code for this device in the module? */
        error = cudaFuncGetAttributes(&attributes, (const void *)forward_kernel);
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
    lay_out(c);
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

/* --- gradients ---------------------------------------------------------------------------------------------------------------------- */

uint32_t blocks_for(size_t n, uint32_t per_block)
{
    return (uint32_t)((n + per_block - 1) / per_block);
}

/** For all other kernels: operations, and blocks of each. */
dim3 element_grid(size_t n_ops, size_t most)
{
    const uint32_t blocks = blocks_for(most, THREADS);
    return dim3((uint32_t)n_ops, blocks == 0 ? 1 : blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

/** For kernels that multiply(): tiles by column, by row, and operations. */
dim3 tile_grid(size_t n_columns, size_t n_rows, size_t n_ops)
{
    return dim3(blocks_for(n_columns, TILE), blocks_for(n_rows, TILE), (uint32_t)n_ops);
}

const dim3 tile_block(TILE, TILE_THREADS);

/** Runs the network over @p n_items items on the device; the largest has @p most samples. */
void forward(const context *c, const item *items, size_t n_items, uint32_t most,
             const samples *data)
{
    for (uint32_t l = 0; l < c->problem.network->n_layers; l++) {
        const place at = c->places[l];
        const dim3 grid = tile_grid(at.layer.n_out, most, n_items);
        forward_kernel<<<grid, tile_block, 0, c->stream>>>(items, at, *data);
    }
}

/** From the outputs that forward() left to the gradients. */
void backward(const context *c, const item *items, size_t n_items, uint32_t most)
{
    const dsgd_network *const network = c->problem.network;
    const uint32_t n = (uint32_t)n_items;
    const dim3 sample_grid(n, blocks_for(most, THREADS));
    differentiate_kernel<<<sample_grid, THREADS, 0, c->stream>>>(
        items, c->places[network->n_layers - 1], c->train, network->loss);
    for (uint32_t l = network->n_layers; l-- > 0;) {
        const place at = c->places[l];
        const dim3 weights_grid = tile_grid(at.layer.n_in, at.layer.n_out, n_items);
        const dim3 biases_grid(n, blocks_for(at.layer.n_out, THREADS));
        const dim3 grid = tile_grid(at.layer.n_in, most, n_items);
        weights_kernel<<<weights_grid, tile_block, 0, c->stream>>>(items, at, c->train);
        biases_kernel<<<biases_grid, THREADS, 0, c->stream>>>(items, at);
        if (l > 0) /* last, because it overwrites what weights_kernel reads */
            backward_kernel<<<grid, tile_block, 0, c->stream>>>(items, at);
    }
}

void run_copies(const context *c, const copy *copies, size_t n)
{
    const size_t usual = c->problem.network->n_params / c->problem.n_pieces; /* larger ones loop */
    if (n > 0)
        copy_kernel<<<element_grid(n, usual), THREADS, 0, c->stream>>>(copies);
}

/** Whether a vector can be used where it is. */
bool whole(const context *c, const dsgd_buffer *pieces)
{
    return c->problem.n_pieces == 1 && pieces[0] != NULL;
}

/** Appends the copies that gather the pieces of a vector in @p memory, or scatter it to them. */
void append_copies(const context *c, std::vector<copy> *copies, const dsgd_buffer *pieces,
                   float *memory, bool gather)
{
    const size_t *const begin = c->problem.piece_begin;
    for (size_t k = 0; k < c->problem.n_pieces; k++) {
        float *const piece = static_cast<float *>(pieces[k]);
        float *const here = memory + begin[k];
        const size_t n = begin[k + 1] - begin[k];
        if (gather && n > 0)
            copies->push_back(copy{here, piece, n});
        else if (n > 0 && piece != NULL)
            copies->push_back(copy{piece, here, n});
    }
}

/** Reals of workspace for a vector. */
size_t vector_space(const context *c, const dsgd_buffer *pieces)
{
    return whole(c, pieces) ? 0 : c->problem.network->n_params;
}

/** Reals of workspace: x, g, and the outputs of all layers. */
size_t space_of(const context *c, const dsgd_gradient_op *op)
{
    return vector_space(c, op->x) + vector_space(c, op->g) + (size_t)op->n_samples * c->width;
}

/** As many operations as fit the workspace. */
void some_gradients(context *c, const dsgd_gradient_op *ops, size_t n_ops, bool *finite)
{
    size_t n_samples = 0;
    size_t space = 0;
    for (size_t i = 0; i < n_ops; i++) {
        n_samples += ops[i].n_samples;
        space += space_of(c, &ops[i]);
    }
    const size_t n_copies = n_ops * c->problem.n_pieces;
    stage_begin(c,
                n_ops * (sizeof(item) + sizeof(bool)) + n_samples * sizeof(uint32_t) +
                    2 * n_copies * sizeof(copy),
                n_ops + 4);
    float *free_space = workspace(c, space);
    std::fill(finite, finite + n_ops, true);
    bool *const finite_there = stage(c, finite, n_ops);
    std::vector<item> items;
    std::vector<copy> before, after;
    uint32_t most = 0;
    for (size_t i = 0; i < n_ops; i++) {
        const dsgd_gradient_op *const op = &ops[i];
        float *const x = free_space;
        float *const g = x + vector_space(c, op->x);
        if (!whole(c, op->x))
            append_copies(c, &before, op->x, x, true);
        if (!whole(c, op->g))
            append_copies(c, &after, op->g, g, false);
        items.push_back(item{whole(c, op->x) ? static_cast<float *>(op->x[0]) : x,
                             whole(c, op->g) ? static_cast<float *>(op->g[0]) : g, finite_there + i,
                             stage(c, op->samples, op->n_samples), 0, op->n_samples,
                             g + vector_space(c, op->g)});
        most = std::max(most, op->n_samples);
        free_space += space_of(c, op);
    }
    const item *const items_there = stage(c, items.data(), n_ops);
    const copy *const before_there = stage(c, before.data(), before.size());
    const copy *const after_there = stage(c, after.data(), after.size());
    stage_send(c);
    run_copies(c, before_there, before.size());
    forward(c, items_there, n_ops, most, &c->train);
    backward(c, items_there, n_ops, most);
    run_copies(c, after_there, after.size());
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
            if (n > 0 && space > workspace_floats)
                break;
        }
        some_gradients(c, ops + first, n, finite + first);
    }
}

/* --- the other operations ----------------------------------------------------------------------------------------------------------- */

void cuda_update(void *opened, uint32_t thread, const dsgd_update_op *ops, size_t n_ops,
                 bool *finite)
{
    (void)thread;
    context *const c = static_cast<context *>(opened);
    size_t most = 0;
    for (size_t i = 0; i < n_ops; i++)
        most = std::max(most, ops[i].n);
    stage_begin(c, n_ops * (sizeof *ops + sizeof(bool)), 2);
    std::fill(finite, finite + n_ops, true);
    const dsgd_update_op *const ops_there = stage(c, ops, n_ops);
    bool *const finite_there = stage(c, finite, n_ops);
    stage_send(c);
    update_kernel<<<element_grid(n_ops, most), THREADS, 0, c->stream>>>(
        ops_there, (float)c->problem.momentum, (float)c->problem.weight_decay, finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void cuda_combine(void *opened, uint32_t thread, const dsgd_combine_op *ops, size_t n_ops,
                  bool *finite)
{
    (void)thread;
    context *const c = static_cast<context *>(opened);
    size_t most = 0;
    size_t n_inputs = 0;
    for (size_t i = 0; i < n_ops; i++) {
        most = std::max(most, ops[i].n);
        n_inputs += ops[i].n_inputs;
    }
    stage_begin(
        c, n_ops * (sizeof *ops + sizeof(bool)) + n_inputs * (sizeof(dsgd_buffer) + sizeof(double)),
        2 * n_ops + 2);
    std::vector<dsgd_combine_op> staged(ops, ops + n_ops);
    for (dsgd_combine_op &op : staged) {
        op.x = stage(c, op.x, op.n_inputs);
        op.weights = stage(c, op.weights, op.n_inputs);
    }
    std::fill(finite, finite + n_ops, true);
    const dsgd_combine_op *const ops_there = stage(c, staged.data(), n_ops);
    bool *const finite_there = stage(c, finite, n_ops);
    stage_send(c);
    combine_kernel<<<element_grid(n_ops, most), THREADS, 0, c->stream>>>(ops_there, finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void one_evaluation(context *c, dsgd_evaluate_op *op)
{
    const dsgd_network *const network = c->problem.network;
    const uint32_t n_test = c->problem.data->test.n;
    const uint32_t n_items = blocks_for(n_test, EVALUATED_SAMPLES);
    stage_begin(c, n_items * sizeof(item) + c->problem.n_pieces * sizeof(copy) + 2 * sizeof(double),
                3);
    float *const x = workspace(c, network->n_params + (size_t)EVALUATED_SAMPLES * c->width);
    std::vector<copy> before;
    if (!whole(c, op->x))
        append_copies(c, &before, op->x, x, true);
    std::vector<item> items;
    for (uint32_t first = 0; first < n_test; first += EVALUATED_SAMPLES)
        items.push_back(
            item{whole(c, op->x) ? static_cast<float *>(op->x[0]) : x, NULL, NULL, NULL, first,
                 n_test - first < EVALUATED_SAMPLES ? n_test - first : (uint32_t)EVALUATED_SAMPLES,
                 x + network->n_params});
    double totals[2] = {0, 0};
    double *const totals_there = stage(c, totals, 2);
    const item *const items_there = stage(c, items.data(), n_items);
    const copy *const before_there = stage(c, before.data(), before.size());
    stage_send(c);
    run_copies(c, before_there, before.size());
    const dim3 score_grid(1, blocks_for(EVALUATED_SAMPLES, THREADS));
    for (uint32_t i = 0; i < n_items; i++) {
        forward(c, items_there + i, 1, EVALUATED_SAMPLES, &c->test);
        score_kernel<<<score_grid, THREADS, 0, c->stream>>>(
            items_there + i, c->places[network->n_layers - 1], c->test, network->loss, c->scores,
            c->scores + n_test);
    }
    total_kernel<<<2, THREADS, 0, c->stream>>>(c->scores, n_test, totals_there);
    stage_fetch(c, totals, totals_there, 2);
    op->loss = totals[0] / n_test;
    op->accuracy = network->loss == DSGD_LOSS_CROSS_ENTROPY ? totals[1] / n_test : NAN;
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
    stage_begin(c, n_ops * sizeof *ops, 1);
    dsgd_distance_op *const ops_there = stage(c, ops, n_ops);
    stage_send(c);
    distance_kernel<<<(uint32_t)n_ops, THREADS, 0, c->stream>>>(ops_there);
    stage_fetch(c, ops, ops_there, n_ops);
}

} // namespace

/* The name is DSGD_DEVICE_SYMBOL. */
extern "C" const dsgd_device dsgd_device_module = {
    DSGD_DEVICE_ABI, "cuda",        "CUDA in float32, own kernels",
    sizeof(float),   BATCH,         false, /* threaded */
    cuda_open,       cuda_close,    cuda_alloc,
    cuda_release,    cuda_put,      cuda_get,
    cuda_gradient,   cuda_update,   cuda_combine,
    cuda_evaluate,   cuda_distance,
};
