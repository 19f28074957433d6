/**
 * @file room.h
 * Room on this machine for runs that compute at the same time: processes, threads, memory, and the
 * memory of GPUs. A run gets its share before it starts.
 */
#pragma once

#include "sim/config.h"

typedef struct dsgd_room {
    int64_t jobs, n_running; /* runs at the same time: at most, now */
    uint32_t threads; /* of each run, besides the one that simulates */
    bool shares_cores; /* there are more threads than cores */
    size_t bytes; /* of main memory for each run */
    uint32_t n_gpus;
    uint32_t jobs_each; /* runs at the same time on one GPU if all runs are alike */
    struct {
        size_t all_bytes, left_bytes; /* of the memory that was free before the first run */
        uint32_t n_running;
    } gpu[DSGD_MOST_GPUS];
} dsgd_room;

/** @p jobs 0: one per core. @p threads 0: cores / jobs - 1. */
dsgd_room dsgd_room_of(const dsgd_device_survey *gpus, int64_t jobs, int64_t threads);

/**
 * Sets a run's threads, memory and place. With @p gpu_bytes above 0, the run computes on the GPU
 * that has most memory left. It gets what it needs or, if that is more, what is left for each of
 * the jobs there; or a GPU for itself that has less. False: the run waits for another one to end.
 */
bool dsgd_room_take(dsgd_room *room, size_t gpu_bytes, dsgd_run_config *run);

/** The run with this share has ended. */
void dsgd_room_give(dsgd_room *room, const dsgd_run_config *run);
