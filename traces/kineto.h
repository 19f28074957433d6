/**
 * @file kineto.h
 * Chrome traces of PyTorch's profiler (Kineto), one file per rank, .json or .json.gz. They are read
 * as a stream. Only the collectives, the steps and the times that these need are kept.
 */
#pragma once

#include "base/status.h"

/** A collective on the GPU. All times are in microseconds of the rank's own clock. */
typedef struct dsgd_kineto_call {
    double launched_us, begin_us, end_us;
    double ready_us; /* it is launched, and all kernels that were launched before it have ended */
    /* Since this time no kernel has run, and one waits for the end of the collective; INFINITY if
     * none waits. */
    double idle_us;
    const char *what; /* name in PyTorch or NCCL, such as "allreduce"; NULL if unknown */
    const char *group; /* name of its process group; "" if unknown */
    double bytes; /* input of each rank; 0 if unknown */
    int64_t group_size; /* 0 if unknown */
    double correlation; /* identifies its launch on the host; NAN if unknown */
    size_t event; /* its number in the file, from 1 */
    size_t step; /* index into steps; SIZE_MAX if it is in no step */
} dsgd_kineto_call;

typedef struct dsgd_kineto_step {
    double begin_us, end_us; /* on the host */
    int64_t number; /* ProfilerStep#number */
    double backward_us; /* start of the first kernel in its backward pass; NAN if unknown */
    double busy_us; /* time during which kernels run */
} dsgd_kineto_step;

typedef struct dsgd_kineto {
    const char *file, *gpu; /* gpu is NULL if unknown */
    int64_t rank, world; /* -1 and 0 if unknown */
    size_t n_events, n_kernels, n_calls, n_steps;
    dsgd_kineto_call *calls; /* [n_calls] in order of their launches */
    dsgd_kineto_step *steps; /* [n_steps] in order of time */
    const char *damage; /* why the file ends early; NULL if it is complete */
} dsgd_kineto;

/** Reads a file. Returns DSGD_EIO if it cannot be opened. The events before a damage are kept. */
dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error);
