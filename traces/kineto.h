/**
 * @file kineto.h
 * Reads Chrome traces of PyTorch's profiler (Kineto). A trace has one file per rank, .json or
 * .json.gz. Files are read as a stream. Only the collectives, the steps and the times of related
 * events are kept.
 */
#pragma once

#include "base/status.h"

/** A collective on the GPU. All times are in microseconds on the rank's own clock. */
typedef struct dsgd_kineto_call {
    double launched_us, begin_us, end_us;
    double ready_us; /* time at which the collective has been launched and all kernels that were
                      * launched before it have ended */
    /*
     * Start of the time in which a kernel waits for the end of the collective and no kernel runs.
     * INFINITY if no kernel waits.
     */
    double idle_us;
    const char *what; /* name of the collective in PyTorch or NCCL, such as "allreduce"; NULL if
                       * unknown */
    const char *group; /* name of the process group; "" if unknown */
    double bytes; /* size of each rank's input, in bytes; 0 if unknown */
    int64_t group_size; /* number of ranks of the process group; 0 if unknown */
    double correlation; /* number that identifies the launch on the host; NAN if unknown */
    size_t event; /* number of the collective's event in the file, from 1 */
    size_t step; /* index into the array steps; SIZE_MAX if the collective belongs to no step */
} dsgd_kineto_call;

typedef struct dsgd_kineto_step {
    double begin_us, end_us; /* start and end of the step on the host, in microseconds */
    int64_t number; /* number of the step, from the name ProfilerStep#number */
    double backward_us; /* start of the first kernel of the backward pass; NAN if unknown */
    double busy_us; /* time of the step during which kernels run, in microseconds */
} dsgd_kineto_step;

typedef struct dsgd_kineto {
    const char *file, *gpu; /* file: path of the file; gpu: name of the GPU, NULL if unknown */
    int64_t rank, world; /* rank: -1 if unknown; world: number of ranks, 0 if unknown */
    size_t n_events, n_kernels, n_calls, n_steps;
    dsgd_kineto_call *calls; /* collectives in the order of their launches; n_calls entries */
    dsgd_kineto_step *steps; /* steps of the trace in order of time; n_steps entries */
    const char *damage; /* reason why the file ends early; NULL if the file is complete */
} dsgd_kineto;

/**
 * Reads a trace file into *trace. Returns DSGD_EIO if the file cannot be opened. If the file is
 * damaged, keeps the events before the damage.
 */
dsgd_status dsgd_kineto_read(const char *path, dsgd_kineto *trace, dsgd_error *error);
