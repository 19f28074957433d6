/**
 * @file runtime.cpp
 * The emulated runtime. The threads of a block are fibers where the kernel has barriers, and calls
 * where it has none.
 */
#undef _FORTIFY_SOURCE /* its longjmp() refuses to go from one stack to another */
#include "cuda_runtime.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <ucontext.h>

dim3 gridDim, blockDim, blockIdx, threadIdx;

namespace
{

const size_t stack_bytes = 64 << 10;
const size_t device_bytes = (size_t)4 << 30; /* more is refused */
const unsigned most_threads = 1024, most_blocks_aside = 65535;
const int poison = 0xff; /* a byte of NaN */

/* --- the threads of a block ------------------------------------------------------------------- */

struct fiber {
    std::vector<char> stack; /* empty: it has never run */
    ucontext_t begin;
    jmp_buf at; /* where it resumes */
    bool done;
};

fiber fibers[most_threads];
fiber *running; /* NULL: the thread is a call */
jmp_buf scheduler;
const std::function<void()> *kernel;

/** Goes on when it is resumed. */
void wait_here()
{
    if (_setjmp(running->at) == 0)
        _longjmp(scheduler, 1);
}

/** A thread of one block after the other. */
void fiber_main()
{
    for (;;) {
        (*kernel)();
        running->done = true;
        wait_here();
    }
}

/** Until the fiber's next barrier, or its end. */
void resume(fiber *f)
{
    running = f;
    f->done = false;
    if (_setjmp(scheduler) == 0) {
        if (!f->stack.empty())
            _longjmp(f->at, 1);
        f->stack.resize(stack_bytes);
        getcontext(&f->begin);
        f->begin.uc_stack.ss_sp = f->stack.data();
        f->begin.uc_stack.ss_size = stack_bytes;
        makecontext(&f->begin, fiber_main, 0);
        setcontext(&f->begin);
    }
    running = NULL;
}

bool backwards;
unsigned n_launches;

void be_thread(unsigned i, unsigned n)
{
    const unsigned t = backwards ? n - 1 - i : i;
    threadIdx = dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
}

/**
 * The first thread is a fiber. Where it meets no barrier nobody does, and the others need not be.
 */
void run_block(unsigned n)
{
    be_thread(0, n);
    resume(&fibers[0]);
    for (unsigned i = 1; i < n && fibers[0].done; i++) {
        be_thread(i, n);
        (*kernel)();
    }
    for (unsigned first = 1; !fibers[0].done; first = 0) { /* until the next barrier */
        unsigned n_done = 0;
        for (unsigned i = first; i < n; i++) {
            be_thread(i, n);
            resume(&fibers[i]);
            n_done += fibers[i].done;
        }
        if (n_done != 0 && n_done != n) {
            fprintf(stderr, "emulated CUDA: %u of %u threads end while others wait\n", n_done, n);
            abort();
        }
    }
}

void run_grid(dim3 grid, dim3 block, const std::function<void()> &thread)
{
    kernel = &thread;
    gridDim = grid;
    blockDim = block;
    /* The Thue-Morse sequence has no period: a kernel that comes back at a fixed interval of
     * launches meets both orders. */
    backwards = __builtin_parity(n_launches++) != 0;
    const unsigned n = grid.x * grid.y * grid.z;
    for (unsigned i = 0; i < n; i++) {
        const unsigned b = backwards ? n - 1 - i : i;
        blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        run_block(block.x * block.y * block.z);
    }
}

/* --- streams and memory ----------------------------------------------------------------------- */

std::recursive_mutex lock;
std::deque<std::function<void()>> work; /* of all streams */
cudaError_t last_error;
std::map<const char *, size_t> pinned; /* host memory that a copy reads when it is its turn */

typedef std::lock_guard<std::recursive_mutex> guard;

void synchronise()
{
    while (!work.empty()) {
        const std::function<void()> next = std::move(work.front());
        work.pop_front();
        next();
    }
}

cudaError_t take_memory(void **at, size_t bytes)
{
    *at = bytes > device_bytes ? NULL : aligned_alloc(256, (bytes / 256 + 1) * 256);
    if (*at == NULL)
        return last_error = cudaErrorMemoryAllocation;
    memset(*at, poison, bytes);
    return cudaSuccess;
}

bool is_pinned(const void *at)
{
    const auto after = pinned.upper_bound((const char *)at);
    return after != pinned.begin() &&
           (const char *)at < std::prev(after)->first + std::prev(after)->second;
}

} // namespace

void __syncthreads()
{
    if (running == NULL) {
        fprintf(stderr, "emulated CUDA: a barrier that the first thread does not meet\n");
        abort();
    }
    wait_here();
}

void emulated_launch(cudaStream_t stream, dim3 grid, dim3 block, std::function<void()> thread)
{
    (void)stream;
    const guard held(lock);
    const unsigned n = block.x * block.y * block.z;
    if (n == 0 || n > most_threads || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
        grid.y > most_blocks_aside || grid.z > most_blocks_aside)
        last_error = cudaErrorInvalidConfiguration;
    else
        work.push_back([=] { run_grid(grid, block, thread); });
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel_code)
{
    (void)attributes;
    (void)kernel_code;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    *free_bytes = *all_bytes = device_bytes;
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    const guard held(lock);
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid configuration argument";
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    const guard held(lock);
    synchronise();
    return take_memory(at, bytes);
}

cudaError_t cudaFree(void *at)
{
    const guard held(lock);
    synchronise();
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **at, size_t bytes)
{
    const guard held(lock);
    const cudaError_t error = take_memory(at, bytes);
    if (error == cudaSuccess)
        pinned[(const char *)*at] = bytes;
    return error;
}

cudaError_t cudaFreeHost(void *at)
{
    const guard held(lock);
    synchronise();
    pinned.erase((const char *)at);
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    const guard held(lock);
    return take_memory(at, bytes);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    (void)stream;
    const guard held(lock);
    work.push_back([=] { free(at); });
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    (void)kind;
    const guard held(lock);
    synchronise();
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)stream;
    const guard held(lock);
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) { /* read before the call returns */
        const char *const begin = (const char *)from;
        const std::vector<char> copy(begin, begin + bytes);
        work.push_back([=] { memcpy(to, copy.data(), bytes); });
    } else {
        work.push_back([=] { memcpy(to, from, bytes); });
    }
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    static char any;
    *stream = (cudaStream_t)&any;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    const guard held(lock);
    synchronise();
    return cudaSuccess;
}
