/**
 * @file kineto.h
 * Chrome traces of PyTorch's profiler (Kineto), one file per rank, .json or .json.gz. Files are
 * read as a stream. Only the collectives, the steps and the times of related events are kept.
 */
#pragma once

#include "base/status.h"

/** A collective on the GPU. All times are in microseconds of the rank's own clock. */
typedef struct dsgd_kineto_call {
    double launched_us, begin_us, end_us;
    double ready_us; /* time at which it is launched and all kernels that were launched before it
                      * have ended */
    /*
     * Time from which no kernel runs, although a kernel waits for the end of the collective.
     * INFINITY if no kernel waits.
     */
    double idle_us;
    const char *what; /* name in PyTorch or NCCL, such as "allreduce"; NULL if unknown */
    const char *group; /* name of the process group; "" if unknown */
    double bytes; /* bytes of each rank's input; 0 if unknown */
    int64_t group_size; /* number of ranks of the process group; 0 if unknown */
    double correlation; /* number that identifies the launch on the host; NAN if unknown */
    size_t event; /* number of the event in the file, from 1 */
    size_t step; /* index into steps; SIZE_MAX if the collective is in no step */
} dsgd_kineto_call;

typedef struct dsgd_kineto_step {
    double begin_us, end_us; /* start and end on the host */
    int64_t number; /* number in ProfilerStep#number */
    double backward_us; /* start of the first kernel of the backward pass; NAN if unknown */
    double busy_us; /* time during which kernels run */
} dsgd_kineto_step;

typedef struct dsgd_kineto {
    const char *file, *gpu; /* path of the file; name of the GPU, NULL if unknown */
    int64_t rank, world; /* rank and number of ranks; -1 and 0 if unknown */
    size_t n_events, n_kernels, n_calls, n_steps;
    dsgd_kineto_call *calls; /* collectives in the order of their launches; n_calls entries */
    dsgd_kineto_step *steps; /* steps in order of time; n_steps entries */
    const char *damage; /* reason why the file ends early; NULL if the file is complete */
} dsgd_kineto;

/**
 * Reads a file into *trace. Returns DSGD_EIO if the file cannot be opened. If the file is damaged,
 * the events before the damage are kept.
 */
dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error);
