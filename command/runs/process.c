/**
 * @file process.c
 * Shared memory and clocks.
 */
#include "command/runs/process.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu)
{
    const dsgd_learning *const learning = run->config.learning;
    const bool in_double = learning != NULL && learning->precision == DSGD_PRECISION_DOUBLE;
    return dsgd_numerics_resolved((dsgd_numerics)numerics, has_gpu, in_double);
}

dsgd_progress *dsgd_progress_map(size_t n)
{
    void *const shared = mmap(NULL, n * sizeof(dsgd_progress), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        dsgd_no_memory();
    return shared;
}

void dsgd_progress_unmap(dsgd_progress *progress, size_t n)
{
    munmap(progress, n * sizeof *progress);
}

double dsgd_progress_number(_Atomic double *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

double dsgd_process_cpu_s(pid_t process)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
