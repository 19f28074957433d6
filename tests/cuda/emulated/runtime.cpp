/**
 * @file runtime.cpp
 * Implements the emulated runtime. If a kernel has barriers, each thread of a block is a fiber with
 * its own stack. Otherwise, the threads are function calls.
 */
#undef _FORTIFY_SOURCE /* with this macro, longjmp() rejects a jump to another stack */
#include "cuda_runtime.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

dim3 gridDim, blockDim, blockIdx, threadIdx;
unsigned emulated_flags;

namespace
{

const size_t stack_bytes = 64 << 10;
const size_t page_bytes = 4096, alignment = 16;
const size_t copy_stack_bytes = 200 << 10; /* CUDA guarantees at least this stack */
const int most_devices = 16;
const unsigned most_threads = 1024, most_blocks_aside = 65535;
const int poison = 0xff; /* a float of these bytes is NaN */
/* Shared memory of an H200. */
const size_t most_shared = 227 << 10, multiprocessor_shared = 228 << 10;

/* --- the threads of a block ------------------------------------------------------------------- */

struct fiber {
    std::vector<char> stack; /* stack of the fiber; empty before its first run */
    ucontext_t begin;
    jmp_buf at; /* place where the fiber resumes */
    bool done;
};

fiber fibers[most_threads];
fiber *running; /* running fiber, or NULL if the running thread is a function call */
jmp_buf scheduler;
const std::function<void()> *kernel;

/** Pauses the running fiber until resume() is called for it. */
void wait_here()
{
    if (_setjmp(running->at) == 0)
        _longjmp(scheduler, 1);
}

/** Runs the kernel for one thread, and then waits for the same thread of the next block. */
void fiber_main()
{
    for (;;) {
        (*kernel)();
        running->done = true;
        wait_here();
    }
}

/** Runs a fiber until it reaches a barrier or its end. */
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

/** The end of the shared memory of the running block, which is followed by an inaccessible page. */
char *shared_end;
size_t shared_bytes;

/** Gives a block new shared memory, so that it cannot use values of the previous block. */
void share(size_t bytes)
{
    if (shared_end == NULL) {
        const size_t whole = (most_shared + page_bytes - 1) / page_bytes * page_bytes;
        char *const at = (char *)mmap(NULL, whole + page_bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(at + whole, page_bytes, PROT_NONE);
        shared_end = at + whole;
    }
    shared_bytes = (bytes + alignment - 1) / alignment * alignment;
    memset(shared_end - shared_bytes, poison, shared_bytes);
}

void be_thread(unsigned i, unsigned n)
{
    const unsigned t = backwards ? n - 1 - i : i;
    threadIdx = dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
}

/**
 * Runs the @p n threads of a block. The first thread is a fiber. If it ends without a barrier, no
 * other thread has a barrier, so the others are function calls.
 */
void run_block(unsigned n)
{
    be_thread(0, n);
    resume(&fibers[0]);
    for (unsigned i = 1; i < n && fibers[0].done; i++) {
        be_thread(i, n);
        (*kernel)();
    }
    /* Each pass runs all threads up to their next barrier. */
    for (unsigned first = 1; !fibers[0].done; first = 0) {
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

void run_grid(dim3 grid, dim3 block, size_t bytes, const std::function<void()> &thread)
{
    kernel = &thread;
    gridDim = grid;
    blockDim = block;
    /*
     * The Thue-Morse sequence has no period, so even a kernel that is launched at fixed intervals
     * runs in both orders.
     */
    backwards = __builtin_parity(n_launches++) != 0;
    const unsigned n = grid.x * grid.y * grid.z;
    for (unsigned i = 0; i < n; i++) {
        const unsigned b = backwards ? n - 1 - i : i;
        blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
        share(bytes);
        run_block(block.x * block.y * block.z);
    }
}

/* --- the emulated machine --------------------------------------------------------------------- */

size_t setting(const char *name, size_t otherwise)
{
    const char *const text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/**
 * The used memory of each device. If EMULATED_SHARED is set, this struct is in its file, and counts
 * the memory of all processes.
 */
struct use {
    std::atomic<size_t> bytes[most_devices];
    std::atomic<int> owner[most_devices]; /* process that has a stream on the device, or 0 */
};

use *used()
{
    static use alone;
    static use *const all = [] {
        const char *const path = getenv("EMULATED_SHARED");
        const int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || ftruncate(file, sizeof(use)) != 0)
            return &alone;
        void *const at = mmap(NULL, sizeof(use), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        return at == MAP_FAILED ? &alone : static_cast<use *>(at);
    }();
    return all;
}

int n_devices()
{
    return (int)setting("EMULATED_DEVICES", 1);
}

size_t device_bytes()
{
    return setting("EMULATED_BYTES", (size_t)4 << 30);
}

thread_local int current_device;

/* --- streams and memory ----------------------------------------------------------------------- */

std::recursive_mutex lock;
std::deque<std::function<void()>> work; /* pending work of all streams, in order */
cudaError_t last_error;

/** A memory allocation, which is followed by an inaccessible page. */
struct block {
    char *mapping;
    size_t bytes, mapped;
    int device; /* number of the device, or -1 for pinned memory of the host */
};
std::map<const char *, block> blocks; /* allocations, sorted by address */

typedef std::lock_guard<std::recursive_mutex> guard;

cudaError_t failed(cudaError_t error)
{
    return last_error = error;
}

void run_next()
{
    const std::function<void()> next = std::move(work.front());
    work.pop_front();
    next();
}

void synchronise()
{
    while (!work.empty())
        run_next();
}

/** Allocates memory of a device, or pinned memory of the host if @p device is -1. */
cudaError_t take_memory(void **at, size_t bytes, int device)
{
    *at = NULL;
    /* A pending cudaFreeAsync() may return memory, so all pending work runs first. */
    if (device >= 0 && used()->bytes[device] + bytes > device_bytes())
        synchronise();
    if (device >= 0 && used()->bytes[device] + bytes > device_bytes())
        return failed(cudaErrorMemoryAllocation);
    const size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    const size_t mapped = whole + page_bytes;
    void *const mapping =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return failed(cudaErrorMemoryAllocation);
    char *const begin = (char *)mapping;
    mprotect(begin + whole, page_bytes, PROT_NONE);
    char *const first = begin + whole - (bytes + alignment - 1) / alignment * alignment;
    memset(first, poison, bytes);
    if (device >= 0)
        used()->bytes[device] += bytes;
    blocks[first] = block{begin, bytes, mapped, device};
    *at = first;
    return cudaSuccess;
}

void give_memory(const void *at)
{
    if (at == NULL)
        return;
    const auto found = blocks.find((const char *)at);
    if (found == blocks.end()) {
        fprintf(stderr, "emulated CUDA: memory that was never allocated is freed\n");
        abort();
    }
    const block b = found->second;
    blocks.erase(found);
    if (b.device >= 0)
        used()->bytes[b.device] -= b.bytes;
    munmap(b.mapping, b.mapped);
}

bool is_pinned(const void *at)
{
    const auto after = blocks.upper_bound((const char *)at);
    if (after == blocks.begin())
        return false;
    const auto found = std::prev(after);
    return found->second.device < 0 && (const char *)at < found->first + found->second.bytes;
}

/**
 * Uses 200 KiB of stack, as calls of the driver and of cuBLAS may do. A thread with a smaller stack
 * crashes.
 */
__attribute__((noinline)) void dig()
{
    char deep[copy_stack_bytes];
    for (size_t i = 0; i < copy_stack_bytes; i += page_bytes)
        *(volatile char *)&deep[copy_stack_bytes - 1 - i] = 0;
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

struct emulated_stream {
    int device;
};

namespace
{

cudaError_t on_this_device(cudaStream_t stream)
{
    return stream->device == current_device ? cudaSuccess : failed(cudaErrorInvalidResourceHandle);
}

} // namespace

void *emulated_shared()
{
    return shared_end - shared_bytes;
}

void emulated_launch(cudaStream_t stream, dim3 grid, dim3 block, size_t bytes,
                     std::function<void()> thread)
{
    const guard held(lock);
    const unsigned n = block.x * block.y * block.z;
    if (on_this_device(stream) != cudaSuccess)
        return;
    if (getenv("EMULATED_NO_IMAGE") != NULL)
        last_error = cudaErrorNoKernelImageForDevice;
    else if (n == 0 || n > most_threads || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
             grid.y > most_blocks_aside || grid.z > most_blocks_aside || bytes > most_shared)
        last_error = cudaErrorInvalidConfiguration;
    else
        work.push_back([=] { run_grid(grid, block, bytes, thread); });
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = n_devices();
    return *n > 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= n_devices())
        return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    emulated_flags = flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device)
{
    (void)device;
    *value = (int)(what == cudaDevAttrMaxSharedMemoryPerBlockOptin ? most_shared
                                                                   : multiprocessor_shared);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    const guard held(lock);
    const size_t held_bytes = used()->bytes[current_device];
    *all_bytes = device_bytes();
    *free_bytes = held_bytes < *all_bytes ? *all_bytes - held_bytes : 0;
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
    static const char *const texts[] = {"no error",
                                        "out of memory",
                                        "invalid configuration argument",
                                        "invalid device ordinal",
                                        "invalid resource handle",
                                        "CUDA-capable device(s) is/are busy or unavailable",
                                        "no kernel image is available for execution on the device"};
    return texts[error];
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    const guard held(lock);
    synchronise();
    return take_memory(at, bytes, current_device);
}

cudaError_t cudaFree(void *at)
{
    const guard held(lock);
    synchronise();
    give_memory(at);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **at, size_t bytes)
{
    const guard held(lock);
    return take_memory(at, bytes, -1);
}

cudaError_t cudaFreeHost(void *at)
{
    const guard held(lock);
    synchronise();
    give_memory(at);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    const guard held(lock);
    const cudaError_t error = on_this_device(stream);
    return error != cudaSuccess ? error : take_memory(at, bytes, current_device);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    const guard held(lock);
    const cudaError_t error = on_this_device(stream);
    if (error == cudaSuccess)
        work.push_back([=] { give_memory(at); });
    return error;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    (void)kind;
    const guard held(lock);
    dig();
    synchronise();
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const guard held(lock);
    const cudaError_t error = on_this_device(stream);
    dig();
    if (error != cudaSuccess)
        return error;
    /* CUDA reads host memory that is not pinned before the call returns. */
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
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
    int nobody = 0;
    std::atomic<int> *const owner = &used()->owner[current_device];
    *stream = NULL;
    if (!owner->compare_exchange_strong(nobody, getpid()) && nobody != getpid()) {
        if (getenv("EMULATED_EXCLUSIVE") != NULL && kill(nobody, 0) == 0)
            return cudaErrorDevicesUnavailable;
        *owner = getpid();
    }
    *stream = new emulated_stream{current_device};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    int mine = getpid();
    const cudaError_t error = cudaStreamSynchronize(stream);
    used()->owner[stream->device].compare_exchange_strong(mine, 0);
    delete stream;
    return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    const guard held(lock);
    const cudaError_t error = on_this_device(stream);
    if (error == cudaSuccess)
        synchronise();
    return error;
}

struct emulated_event {
    std::atomic<bool> passed;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = new emulated_event{{true}};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const guard held(lock);
    synchronise();
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const guard held(lock);
    const cudaError_t error = on_this_device(stream);
    if (error != cudaSuccess)
        return error;
    event->passed = false;
    work.push_back([=] { event->passed = true; });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const guard held(lock);
    while (!event->passed)
        run_next();
    return cudaSuccess;
}
