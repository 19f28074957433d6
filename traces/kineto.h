/**
 * @file kineto.h
 * Chrome traces that PyTorch's profiler (Kineto) writes, one of each rank, .json or .json.gz: read
 * as a stream, of which the collectives, the steps and the times that they need are kept.
 */
#pragma once

#include "base/status.h"

/** A collective on the GPU's timeline. All times are in microseconds of the rank's own clock. */
typedef struct dsgd_kineto_call {
    double launched_us, begin_us, end_us;
    double ready_us; /* what it needs is there: kernels launched before it have ended, and it is
                        launched */
    double idle_us; /* since when a kernel has waited for its end, and none has run; INFINITY: none
                       waits */
    const char *what; /* PyTorch's or NCCL's word: "allreduce"; NULL: the trace does not say */
    const char *group; /* name of its process group; "": not said */
    double bytes; /* that each rank puts in; 0: not said */
    int64_t group_size; /* 0: not said */
    double correlation; /* with its launch on the host; NAN: not said */
    size_t event; /* its number in the file, from 1 */
    size_t step; /* index into steps; SIZE_MAX: in none */
} dsgd_kineto_call;

typedef struct dsgd_kineto_step {
    double begin_us, end_us; /* on the host */
    int64_t number; /* ProfilerStep#number */
    double backward_us; /* the first kernel of its backward pass begins; NAN: not told */
    double busy_us; /* in which kernels run */
} dsgd_kineto_step;

typedef struct dsgd_kineto {
    const char *file, *gpu; /* gpu NULL: not said */
    int64_t rank, world; /* -1, 0: not said */
    size_t n_events, n_kernels, n_calls, n_steps;
    dsgd_kineto_call *calls; /* [n_calls] by launch */
    dsgd_kineto_step *steps; /* [n_steps] by time */
    const char *damage; /* why it ends early; NULL: it does not */
} dsgd_kineto;

/** Reads a file; DSGD_EIO if it cannot be read. Of a damaged file the events before the damage are
 * kept. */
dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error);
