/**
 * @file cuda.cu
 * The CUDA device in float32: a module that device.c loads on request. This file contains the
 * context, its memory and the operations. cuda_layers.cuh, cuda_images.cuh, cuda_matmul.cuh,
 * cuda_mlp.cuh and cuda_vectors.cuh contain the code that runs on the GPU. All these files are one
 * translation unit.
 *
 * The operations of a call are batched: each launch covers all replicas, in the order of layers.h.
 * README.md explains the rules for equal bits: atomics only for counts, and no library that chooses
 * an algorithm by batch size.
 *
 * A context has one stream on one device. Every function makes this device the current device of
 * the calling thread. alloc, release, put and get do not access the state of an operation in
 * progress, so they can run during an operation.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define DSGD_DEVICE_FUNCTION __host__ __device__
extern "C" {
#include "models/devices/cuda.h"
#include "models/devices/device.h"
}

#include "models/devices/cuda_images.cuh"
#include "models/devices/cuda_layers.cuh"
#include "models/devices/cuda_matmul.cuh"
#include "models/devices/cuda_mlp.cuh"
#include "models/devices/cuda_vectors.cuh"
#include "models/layers/layers.h"

namespace
{

enum : uint32_t {
    BATCH = 2048, /* largest number of operations per launch */
    EVALUATED_SAMPLES = 256, /* number of samples per replica in an evaluation */
    /* largest number of arrays that a call stages */
    MOST_PARTS = 5
};
/* Largest workspace, in reals. The workspace also takes at most an eighth of the memory. */
const size_t most_workspace = (size_t)1 << 30;
const size_t most_used = 9; /* tenths of the free memory that the context may use; other processes
                             * use the GPU, too */

/* --- memory and staging ----------------------------------------------------------------------- */

/**
 * Mirrored host and device memory. With it, a call needs only one copy in each direction. A context
 * has two stagings, so that one call can be staged while the previous call is computed.
 */
struct staging {
    char *host, *device;
    size_t used, room;
    cudaEvent_t fetched; /* event that occurs when the results are in host[] */
    bool in_flight; /* whether the results have not yet reached the caller's address */
    void *to;
    size_t offset, bytes;
};

struct context {
    dsgd_problem problem;
    int device;
    cudaStream_t stream;
    dataset_view train, test; /* views of the samples in device memory */
    std::vector<void *> uploaded; /* device arrays with the data of the views */
    size_t uploaded_bytes;
    size_t room_bytes; /* bytes that buffers may occupy */
    staging staging_of[2];
    staging *staged; /* staging of the current call */
    uint32_t ahead; /* number of calls that the GPU may still compute when a call returns */
    real *workspace;
    size_t workspace_room, workspace_limit; /* size and limit of the workspace, in reals */
    size_t block_bytes; /* shared memory that a block of launch_mlp() may use, in bytes */
};

/** Makes the device of the context the current device of this thread, and returns the context. */
context *entered(void *opened)
{
    context *const c = static_cast<context *>(opened);
    DSGD_CUDA(cudaSetDevice(c->device));
    return c;
}

/** Waits for the results of a call that the GPU still computes, and copies them to the caller. */
void land(staging *s)
{
    if (!s->in_flight)
        return;
    DSGD_CUDA(cudaEventSynchronize(s->fetched));
    memcpy(s->to, s->host + s->offset, s->bytes);
    s->in_flight = false;
}

staging *other_staging(context *c)
{
    return &c->staging_of[c->staged == &c->staging_of[0]];
}

/** Waits until the GPU computes at most @p calls calls. */
void land_all_but(context *c, uint32_t calls)
{
    land(other_staging(c));
    if (calls == 0)
        land(c->staged);
}

/** Starts a call that stages at most @p bytes in at most MOST_PARTS calls of stage(). */
void stage_begin(context *c, size_t bytes)
{
    staging *const s = c->staged = other_staging(c);
    const size_t room = bytes + MOST_PARTS * alignment;
    land(s);
    s->used = 0;
    if (room <= s->room)
        return;
    DSGD_CUDA(cudaFreeHost(s->host));
    DSGD_CUDA(cudaFree(s->device));
    s->room = room + room / 2;
    DSGD_CUDA(cudaMallocHost((void **)&s->host, s->room));
    DSGD_CUDA(cudaMalloc((void **)&s->device, s->room));
}

/**
 * A staged array. Member `here` is its host address. Member `there` is its device address, which is
 * valid after stage_send().
 */
template <typename T> struct mirrored {
    T *here, *there;
};

/** Reserves staging memory for an array of n elements. */
template <typename T> mirrored<T> stage(context *c, size_t n)
{
    staging *const s = c->staged;
    const size_t at = s->used;
    s->used += (n * sizeof(T) + alignment - 1) / alignment * alignment;
    return {reinterpret_cast<T *>(s->host + at), reinterpret_cast<T *>(s->device + at)};
}

/** Copies from[n] to staging memory and returns its device address. */
template <typename T> T *stage(context *c, const T *from, size_t n)
{
    const mirrored<T> to = stage<T>(c, n);
    std::copy_n(from, n, to.here);
    return to.there;
}

/**
 * Stages the flags `finite` of @p n_ops operations. A flag is true until its operation finds a non-
 * finite value. Returns the device address of the flags.
 */
bool *stage_finite(context *c, size_t n_ops)
{
    const mirrored<bool> finite = stage<bool>(c, n_ops);
    std::fill_n(finite.here, n_ops, true);
    return finite.there;
}

void stage_send(context *c)
{
    DSGD_CUDA(cudaMemcpyAsync(c->staged->device, c->staged->host, c->staged->used,
                              cudaMemcpyHostToDevice, c->stream));
}

/**
 * Ends a call: after the launches, the results at device address @p from are copied to @p to. The
 * copy may arrive after this function returns.
 */
template <typename T> void stage_fetch(context *c, T *to, const T *from, size_t n)
{
    staging *const s = c->staged;
    DSGD_CUDA(cudaGetLastError());
    s->to = to;
    s->offset = (size_t)(reinterpret_cast<const char *>(from) - s->device);
    s->bytes = n * sizeof(T);
    DSGD_CUDA(
        cudaMemcpyAsync(s->host + s->offset, from, s->bytes, cudaMemcpyDeviceToHost, c->stream));
    DSGD_CUDA(cudaEventRecord(s->fetched, c->stream));
    s->in_flight = true;
    land_all_but(c, c->ahead);
}

/** Returns true if an allocation succeeded, and false if there was no memory. */
bool has_memory(cudaError_t error)
{
    /* clears the error of the CUDA runtime */
    if (error == cudaErrorMemoryAllocation)
        cudaGetLastError();
    else
        DSGD_CUDA(error);
    return error == cudaSuccess;
}

/**
 * Makes room in the workspace for n reals, and for more if the limit allows. Returns false if there
 * is no memory.
 */
bool workspace_for(context *c, size_t n)
{
    if (n <= c->workspace_room)
        return true;
    /* Wait, because a call that the GPU still computes may use the workspace. */
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    DSGD_CUDA(cudaFree(c->workspace));
    c->workspace = NULL;
    c->workspace_room = 0;
    for (const size_t room : {std::max(n, std::min(n + n / 4, c->workspace_limit)), n})
        if (has_memory(cudaMalloc((void **)&c->workspace, room * sizeof(real)))) {
            c->workspace_room = room;
            return true;
        }
    return false;
}

/** Ends the program with an error, because there is no memory for the smallest workspace. */
void no_room(size_t n_reals)
{
    fprintf(stderr,
            "dsgd: the cuda device has no memory for %zu bytes of workspace. Use fewer runs at a "
            "time (-j), fewer workers or a smaller model\n",
            n_reals * sizeof(real));
    abort();
}

dsgd_buffer cuda_alloc(void *opened, size_t n)
{
    const context *const c = entered(opened);
    void *buffer = NULL;
    return has_memory(cudaMallocAsync(&buffer, n * sizeof(real), c->stream)) ? buffer : NULL;
}

void cuda_release(void *opened, dsgd_buffer buffer)
{
    const context *const c = entered(opened);
    if (buffer != NULL)
        DSGD_CUDA(cudaFreeAsync(buffer, c->stream));
}

void cuda_put(void *opened, dsgd_buffer to, const double *from, size_t n)
{
    const context *const c = entered(opened);
    if (n == 0)
        return;
    const std::vector<real> numbers(from, from + n);
    DSGD_CUDA(
        cudaMemcpyAsync(to, numbers.data(), n * sizeof(real), cudaMemcpyHostToDevice, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
}

void cuda_get(void *opened, double *to, dsgd_buffer from, size_t n)
{
    const context *const c = entered(opened);
    std::vector<real> numbers(n, 0.0f);
    if (from != NULL && n > 0)
        DSGD_CUDA(cudaMemcpyAsync(numbers.data(), from, n * sizeof(real), cudaMemcpyDeviceToHost,
                                  c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
    for (size_t i = 0; i < n; i++)
        to[i] = (double)numbers[i];
}

/* --- functions that open and close a context -------------------------------------------------- */

/**
 * Replaces *array, an array of n elements in host memory, by a copy on the device. Does nothing if
 * *array is NULL.
 */
template <typename T> cudaError_t upload(context *c, T **array, size_t n)
{
    const T *const from = *array;
    if (from == NULL)
        return cudaSuccess;
    TRY(cudaMalloc((void **)array, n * sizeof(T)));
    c->uploaded.push_back(*array);
    c->uploaded_bytes += n * sizeof(T);
    return cudaMemcpy(*array, from, n * sizeof(T), cudaMemcpyHostToDevice);
}

/** Creates a view @p to of the samples @p from in device memory. */
cudaError_t upload_samples(context *c, dataset_view *to, const dsgd_samples *from)
{
    const dsgd_data *const data = c->problem.data;
    *to = dataset_view_of(data, from);
    dsgd_samples *const copy = &to->samples;
    TRY(upload(c, &copy->x_bytes, (size_t)from->n * data->n_features));
    TRY(upload(c, &copy->x_real, (size_t)from->n * data->n_features));
    TRY(upload(c, &copy->labels, (size_t)from->n * data->n_labels));
    TRY(upload(c, &copy->targets, from->n));
    return upload(c, &copy->lengths, from->n);
}

/**
 * Checks that the module has code for this device, that the device has memory pools, and that a
 * computation on the device succeeds.
 */
cudaError_t try_out(const context *c)
{
    const copy nothing = {NULL, NULL, 0};
    copy *there = NULL;
    TRY(cudaMallocAsync((void **)&there, sizeof nothing, c->stream));
    TRY(cudaMemcpyAsync(there, &nothing, sizeof nothing, cudaMemcpyHostToDevice, c->stream));
    TRY(try_launch(c->stream, dim3(1), THREADS, 0, copy_global, (const copy *)there));
    TRY(cudaFreeAsync(there, c->stream));
    return cudaStreamSynchronize(c->stream);
}

/** Divides the allowed memory between workspace and buffers. */
cudaError_t share_out(context *c, const dsgd_device_place *place)
{
    size_t free_bytes = 0;
    size_t all_bytes = 0;
    TRY(cudaMemGetInfo(&free_bytes, &all_bytes));
    size_t bytes = free_bytes / 10 * most_used;
    if (place->bytes > 0 && place->bytes < c->uploaded_bytes)
        return cudaErrorMemoryAllocation;
    if (place->bytes > 0)
        bytes = std::min(bytes, place->bytes - c->uploaded_bytes);
    c->workspace_limit = std::min(most_workspace, bytes / 8 / sizeof(real));
    c->room_bytes = bytes - c->workspace_limit * sizeof(real);
    return cudaSuccess;
}

/** Prepares a context. This function contains all calls that can fail because of the machine. */
cudaError_t prepare(context *c, const dsgd_device_place *place)
{
    int n_devices = 0;
    TRY(cudaGetDeviceCount(&n_devices));
    c->device = (int)(place->index % (uint32_t)n_devices);
    TRY(cudaSetDevice(c->device));
    if (place->shares_cores && cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) != cudaSuccess)
        cudaGetLastError(); /* ignores the error: a device that this process has already used keeps
                             * its flags */
    TRY(cudaStreamCreate(&c->stream));
    c->staged = &c->staging_of[0];
    unsigned flags = cudaEventDisableTiming;
    if (place->shares_cores)
        flags |= cudaEventBlockingSync;
    for (staging &s : c->staging_of)
        TRY(cudaEventCreateWithFlags(&s.fetched, flags));
    TRY(try_out(c));
    TRY(allow_mlp(c->device, &c->block_bytes));
    const dsgd_data *const data = c->problem.data;
    TRY(upload_samples(c, &c->train, &data->train));
    TRY(upload_samples(c, &c->test, &data->test));
    return share_out(c, place);
}

void cuda_close(void *opened)
{
    context *const c = static_cast<context *>(opened);
    cudaSetDevice(c->device);
    for (void *array : c->uploaded)
        cudaFree(array);
    cudaFree(c->workspace);
    for (staging &s : c->staging_of) {
        cudaFree(s.device);
        cudaFreeHost(s.host);
        if (s.fetched != NULL)
            cudaEventDestroy(s.fetched);
    }
    if (c->stream != NULL)
        cudaStreamDestroy(c->stream);
    delete c;
}

dsgd_status cuda_open(const dsgd_problem *problem, const dsgd_device_place *place, uint32_t,
                      void **opened, dsgd_error *error)
{
    const dsgd_device_place first = {};
    context *const c = new context();
    c->problem = *problem;
    const cudaError_t found = prepare(c, place == NULL ? &first : place);
    if (found != cudaSuccess) {
        if (error != NULL)
            snprintf(
                error->text, sizeof error->text,
                "CUDA: the device cannot be used: %s. Use --numerics cpu to compute without it",
                cudaGetErrorString(found));
        cuda_close(c);
        return DSGD_EDEVICE;
    }
    *opened = c;
    return DSGD_OK;
}

size_t cuda_room(void *opened)
{
    return static_cast<context *>(opened)->room_bytes;
}

void cuda_survey(dsgd_device_survey *survey)
{
    int n_devices = 0;
    *survey = dsgd_device_survey();
    if (cudaGetDeviceCount(&n_devices) == cudaSuccess)
        survey->n = std::min((uint32_t)n_devices, (uint32_t)DSGD_MOST_GPUS);
    for (uint32_t i = 0; i < survey->n; i++) {
        size_t all_bytes = 0;
        if (cudaSetDevice((int)i) != cudaSuccess ||
            cudaMemGetInfo(&survey->free_bytes[i], &all_bytes) != cudaSuccess)
            survey->free_bytes[i] = 0;
    }
    cudaGetLastError(); /* clears the error, because open() reports errors of a device */
}

/* --- functions that gather and scatter vectors ------------------------------------------------ */

/** Returns true if a vector is one buffer and therefore need not be gathered. */
bool whole(const context *c, const dsgd_buffer *pieces)
{
    return c->problem.n_pieces == 1 && pieces[0] != NULL;
}

/** Returns the size of the workspace for a gathered vector, in reals. */
size_t vector_space(const context *c, const dsgd_buffer *pieces)
{
    return whole(c, pieces) ? 0 : c->problem.network->n_params;
}

/**
 * Returns the address of a vector. If the vector has several buffers, the address is @p memory. In
 * that case, adds to @p copies the copies that gather the vector into @p memory or scatter it to
 * its chunks.
 */
real *vector_at(const context *c, const dsgd_buffer *pieces, real *memory, bool gather,
                std::vector<copy> *copies)
{
    if (whole(c, pieces))
        return static_cast<real *>(pieces[0]);
    const size_t *const begin = c->problem.piece_begin;
    for (size_t k = 0; k < c->problem.n_pieces; k++) {
        real *const piece = static_cast<real *>(pieces[k]);
        real *const here = memory + begin[k];
        const size_t n = begin[k + 1] - begin[k];
        if (gather && n > 0)
            copies->push_back(copy{here, piece, n});
        else if (n > 0 && piece != NULL)
            copies->push_back(copy{piece, here, n});
    }
    return memory;
}

/** Runs copies. @p there is the device address of their descriptions. */
void run_copies(const context *c, const std::vector<copy> &copies, const copy *there)
{
    const size_t at_once = 32768; /* largest number of rows in the second dimension of a grid */
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

/* --- gradients -------------------------------------------------------------------------------- */

/** Returns the size of the workspace for a gradient, in reals: x, g and the replica. */
size_t space_of(const context *c, const dsgd_gradient_op *op)
{
    return vector_space(c, op->x) + vector_space(c, op->g) +
           replica_space(c->problem.network, op->n_samples, true);
}

/**
 * Returns true if matrix products write all elements of the gradient. These products report non-
 * finite values themselves.
 */
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

/** The copies that gather vectors before a computation and scatter gradients after it. */
struct gatherings {
    std::vector<copy> before, after;
};

/**
 * Stages the replicas of operations and their samples, and adds the necessary copies to @p copies.
 * Returns the device address of the replicas.
 */
const replica *stage_replicas(context *c, const dsgd_gradient_op *ops, size_t n_ops,
                              size_t n_samples, bool *finite, gatherings *copies)
{
    const mirrored<uint32_t> samples = stage<uint32_t>(c, n_samples);
    const mirrored<replica> replicas = stage<replica>(c, n_ops);
    real *memory = c->workspace;
    size_t at = 0;
    for (size_t i = 0; i < n_ops; i++) {
        const dsgd_gradient_op *const op = &ops[i];
        real *const g = memory + vector_space(c, op->x);
        replica r = replica_of(c->problem.network, op->n_samples, true, g + vector_space(c, op->g));
        r.x = vector_at(c, op->x, memory, true, &copies->before);
        r.g = vector_at(c, op->g, g, false, &copies->after);
        r.state = static_cast<const real *>(op->state);
        r.state_new = static_cast<real *>(op->state_new);
        r.samples = samples.there + at;
        r.finite = finite + i;
        replicas.here[i] = r;
        std::copy_n(op->samples, op->n_samples, samples.here + at);
        at += op->n_samples;
        memory += space_of(c, op);
    }
    return replicas.there;
}

/** Computes one batch of gradients. The batch must fit into the workspace. */
void some_gradients(context *c, const dsgd_gradient_op *ops, size_t n_ops, bool *finite)
{
    const dsgd_network *const network = c->problem.network;
    gatherings copies;
    size_t n_samples = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n_ops; i++) {
        n_samples += ops[i].n_samples;
        most = std::max(most, ops[i].n_samples);
    }
    stage_begin(c, n_ops * (sizeof(replica) + sizeof(bool)) + n_samples * sizeof(uint32_t) +
                       2 * n_ops * c->problem.n_pieces * sizeof(copy));
    bool *const finite_there = stage_finite(c, n_ops);
    const replica *const replicas = stage_replicas(c, ops, n_ops, n_samples, finite_there, &copies);
    const copy *const before = stage(c, copies.before.data(), copies.before.size());
    const copy *const after = stage(c, copies.after.data(), copies.after.size());
    stage_send(c);
    run_copies(c, copies.before, before);
    execution one = execution_of(c, &c->train, replicas, n_ops, most);
    if (!launch_mlp(&one, network, c->block_bytes))
        network_gradient(&one, network, most);
    const size_t n_state = ops[0].state_new == NULL ? 0 : network->n_state;
    const dim3 grid(element_blocks(network->n_params + n_state, THREADS, n_ops), (uint32_t)n_ops);
    if (n_state > 0 || !by_matmuls(network))
        launch(c->stream, grid, THREADS, finite_global, replicas, network->n_params, n_state);
    run_copies(c, copies.after, after);
    stage_fetch(c, finite, finite_there, n_ops);
}

/**
 * Returns the number of operations that fit into the workspace together, at least one. *space <-
 * the reals that these operations need.
 */
size_t batch_of(const context *c, const dsgd_gradient_op *ops, size_t n_ops, size_t *space)
{
    size_t n = 0;
    for (*space = 0; n < BATCH && n < n_ops; n++) {
        const size_t more = space_of(c, &ops[n]);
        if (n > 0 && *space + more > c->workspace_limit)
            break;
        *space += more;
    }
    return n;
}

void cuda_gradient(void *opened, uint32_t, const dsgd_gradient_op *ops, size_t n_ops, bool *finite)
{
    context *const c = entered(opened);
    for (size_t first = 0, n = 0; first < n_ops; first += n) {
        size_t space = 0;
        n = batch_of(c, ops + first, n_ops - first, &space);
        while (!workspace_for(c, space)) {
            if (n == 1)
                no_room(space);
            c->workspace_limit = space / 2; /* makes later batches use the smaller limit, too */
            n = batch_of(c, ops + first, n_ops - first, &space);
        }
        some_gradients(c, ops + first, n, finite + first);
    }
}

/* --- functions for updates, combinations, encodings and evaluations --------------------------- */

/** Runs the function SOME over all operations, at most BATCH operations at a time. */
template <typename Op, void (*SOME)(context *, const Op *, size_t, bool *)>
void in_batches(void *opened, uint32_t, const Op *ops, size_t n_ops, bool *finite)
{
    context *const c = entered(opened);
    for (size_t first = 0; first < n_ops; first += BATCH)
        SOME(c, ops + first, std::min((size_t)BATCH, n_ops - first), finite + first);
}

/** Returns the grid for operations on vectors, whose threads compute cells. */
template <typename Op> dim3 cell_grid(const Op *ops, size_t n_ops)
{
    size_t most = 0;
    for (size_t i = 0; i < n_ops; i++)
        most = std::max(most, ops[i].n);
    return dim3(cell_blocks(most, n_ops), (uint32_t)n_ops);
}

void some_updates(context *c, const dsgd_update_op *ops, size_t n_ops, bool *finite)
{
    const dsgd_optimizer *const config = &c->problem.update;
    stage_begin(c, n_ops * (sizeof(update) + sizeof(bool)));
    const mirrored<update> updates = stage<update>(c, n_ops);
    for (size_t i = 0; i < n_ops; i++)
        updates.here[i] = update{ops[i], dsgd_update_rule_of(config, ops[i].lr, ops[i].t, 1)};
    bool *const finite_there = stage_finite(c, n_ops);
    stage_send(c);
    if (config->clip != 0)
        launch(c->stream, dim3((uint32_t)n_ops), THREADS, clip_global, updates.there, config->clip,
               c->problem.network->n_params);
    launch(c->stream, cell_grid(ops, n_ops), THREADS,
           config->kind == DSGD_OPTIMIZER_ADAMW ? update_global<true> : update_global<false>,
           updates.there, finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void some_combinations(context *c, const dsgd_combine_op *ops, size_t n_ops, bool *finite)
{
    size_t n_inputs = 0;
    for (size_t i = 0; i < n_ops; i++)
        n_inputs += ops[i].n_inputs;
    stage_begin(c, n_ops * (sizeof *ops + sizeof(bool)) +
                       n_inputs * (sizeof(dsgd_buffer) + sizeof(double)));
    const mirrored<dsgd_buffer> x = stage<dsgd_buffer>(c, n_inputs);
    const mirrored<double> weights = stage<double>(c, n_inputs);
    const mirrored<dsgd_combine_op> staged = stage<dsgd_combine_op>(c, n_ops);
    size_t at = 0;
    for (size_t i = 0; i < n_ops; i++) {
        std::copy_n(ops[i].x, ops[i].n_inputs, x.here + at);
        std::copy_n(ops[i].weights, ops[i].n_inputs, weights.here + at);
        dsgd_combine_op op = ops[i];
        op.x = x.there + at;
        op.weights = weights.there + at;
        staged.here[i] = op;
        at += op.n_inputs;
    }
    bool *const finite_there = stage_finite(c, n_ops);
    stage_send(c);
    launch(c->stream, cell_grid(ops, n_ops), THREADS, combination_of(ops, n_ops), staged.there,
           finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

void some_encodings(context *c, const dsgd_encode_op *ops, size_t n_ops, bool *finite)
{
    stage_begin(c, n_ops * (sizeof *ops + sizeof(bool)));
    const dsgd_encode_op *const there = stage(c, ops, n_ops);
    bool *const finite_there = stage_finite(c, n_ops);
    stage_send(c);
    launch(c->stream, cell_grid(ops, n_ops), THREADS, encode_global, there, finite_there);
    stage_fetch(c, finite, finite_there, n_ops);
}

/**
 * Returns the replicas that evaluate n_all samples, one replica per EVALUATED_SAMPLES samples,
 * without memory for scores. *at_once replicas share the workspace at a time. Their memory follows
 * the vectors that the copies gather.
 */
std::vector<replica> evaluated(context *c, const dsgd_evaluate_op *op, uint32_t n_all,
                               size_t *at_once, std::vector<copy> *copies)
{
    const dsgd_network *const network = c->problem.network;
    const uint32_t n_blocks = blocks_for(n_all, EVALUATED_SAMPLES);
    const size_t before = vector_space(c, op->x);
    const size_t space = replica_space(network, EVALUATED_SAMPLES, false);
    *at_once = std::max((size_t)1, std::min((size_t)std::min(n_blocks, (uint32_t)BATCH),
                                            c->workspace_limit / space));
    while (!workspace_for(c, before + *at_once * space)) {
        if (*at_once == 1)
            no_room(before + space);
        *at_once /= 2;
    }
    const real *const x = vector_at(c, op->x, c->workspace, true, copies);
    std::vector<replica> out;
    for (uint32_t i = 0; i < n_blocks; i++) {
        const uint32_t first = i * EVALUATED_SAMPLES;
        replica r = replica_of(network, std::min((uint32_t)EVALUATED_SAMPLES, n_all - first), false,
                               c->workspace + before + i % *at_once * space);
        r.x = x;
        r.state = static_cast<const real *>(op->state);
        r.first = first;
        out.push_back(r);
    }
    return out;
}

void one_evaluation(context *c, dsgd_evaluate_op *op)
{
    const bool all = op->samples == NULL;
    const uint32_t n_all = all ? c->problem.data->test.n : op->n_samples;
    size_t at_once = 0;
    std::vector<copy> before;
    std::vector<replica> replicas = evaluated(c, op, n_all, &at_once, &before);
    std::vector<double> scores(2 * (size_t)n_all);
    stage_begin(c, replicas.size() * sizeof(replica) + before.size() * sizeof(copy) +
                       scores.size() * sizeof(double) + n_all * sizeof(uint32_t));
    double *const scores_there = stage(c, scores.data(), scores.size());
    const uint32_t *const samples = all ? NULL : stage(c, op->samples, n_all);
    for (replica &r : replicas) {
        r.scores = scores_there + 2 * (size_t)r.first;
        r.samples = all ? NULL : samples + r.first;
    }
    const replica *const there = stage(c, replicas.data(), replicas.size());
    const copy *const before_there = stage(c, before.data(), before.size());
    stage_send(c);
    run_copies(c, before, before_there);
    for (size_t first = 0; first < replicas.size(); first += at_once) {
        const size_t n = std::min(at_once, replicas.size() - first);
        execution one = execution_of(c, all || op->of_test ? &c->test : &c->train, there + first, n,
                                     replicas[first].n);
        network_scores(&one, c->problem.network, replicas[first].n);
    }
    stage_fetch(c, scores.data(), scores_there, scores.size());
    land_all_but(c, 0);
    double loss = 0;
    double right = 0;
    for (size_t i = 0; i < n_all; i++) {
        loss += scores[2 * i];
        right += scores[2 * i + 1];
    }
    op->loss = loss / n_all;
    op->accuracy = c->problem.network->loss == DSGD_LOSS_SQUARED ? NAN : right / n_all;
}

void cuda_evaluate(void *opened, uint32_t, dsgd_evaluate_op *ops, size_t n_ops)
{
    context *const c = entered(opened);
    for (size_t i = 0; i < n_ops; i++)
        one_evaluation(c, &ops[i]);
}

void cuda_distance(void *opened, uint32_t, dsgd_distance_op *ops, size_t n_ops)
{
    context *const c = entered(opened);
    if (n_ops == 0)
        return;
    stage_begin(c, n_ops * sizeof *ops);
    dsgd_distance_op *const ops_there = stage(c, ops, n_ops);
    stage_send(c);
    launch(c->stream, dim3((uint32_t)n_ops), THREADS, distance_global, ops_there);
    stage_fetch(c, ops, ops_there, n_ops);
    land_all_but(c, 0);
}

void cuda_ahead(void *opened, uint32_t calls)
{
    context *const c = entered(opened);
    c->ahead = calls;
    land_all_but(c, calls);
}

const auto cuda_update = in_batches<dsgd_update_op, some_updates>;
const auto cuda_combine = in_batches<dsgd_combine_op, some_combinations>;
const auto cuda_encode = in_batches<dsgd_encode_op, some_encodings>;

/* --- exported functions ----------------------------------------------------------------------- */

uint64_t cuda_launches(void)
{
    return n_launches;
}

void cuda_limit_workspace(void *opened, size_t n_reals)
{
    static_cast<context *>(opened)->workspace_limit = n_reals;
}

void cuda_limit_block(void *opened, size_t bytes)
{
    static_cast<context *>(opened)->block_bytes = bytes;
}

void cuda_copy(void *opened, dsgd_buffer to, dsgd_buffer from, size_t n)
{
    const context *const c = entered(opened);
    DSGD_CUDA(cudaMemcpyAsync(to, from, n * sizeof(real), cudaMemcpyDeviceToDevice, c->stream));
    DSGD_CUDA(cudaStreamSynchronize(c->stream));
}

} // namespace

/* The exported symbols are DSGD_DEVICE_SYMBOL and DSGD_CUDA_PROBE_SYMBOL. */
extern "C" const dsgd_device dsgd_device_module = {
    DSGD_DEVICE_ABI, "cuda",        sizeof(real),  BATCH,         false, /* not threaded */
    cuda_open,       cuda_close,    cuda_room,     cuda_survey,   cuda_alloc,
    cuda_release,    cuda_put,      cuda_get,      cuda_gradient, cuda_update,
    cuda_combine,    cuda_evaluate, cuda_distance, cuda_encode,   cuda_ahead,
};
extern "C" const dsgd_cuda_probe dsgd_cuda_probe_module = {cuda_launches, cuda_limit_workspace,
                                                           cuda_limit_block, cuda_copy};
