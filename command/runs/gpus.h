/**
 * @file gpus.h
 * The GPUs of this machine, shared out among the runs of an experiment that compute at the same
 * time: each is told its GPU and how many bytes it may take there, before it starts.
 */
#pragma once

#include "models/devices/device.h"

typedef struct dsgd_gpus {
    uint32_t n;
    uint32_t jobs_each; /* runs at the same time that one GPU gets where all are alike */
    struct {
        size_t all_bytes, left_bytes; /* of the memory that was free before the first run */
        uint32_t n_running;
    } gpu[DSGD_MOST_GPUS];
} dsgd_gpus;

/** For runs of @p jobs at a time. */
dsgd_gpus dsgd_gpus_of(const dsgd_device_survey *survey, int64_t jobs);

/**
 * A GPU for a run that needs @p bytes: the one with most memory left. It gets what it needs or, if
 * that is more, what is left for each of the jobs there; or a GPU for itself that has less. False:
 * it waits for another run to end, and *place is unchanged.
 */
bool dsgd_gpus_take(dsgd_gpus *gpus, size_t bytes, dsgd_device_place *place);

/** The run that had this place has ended. */
void dsgd_gpus_give(dsgd_gpus *gpus, const dsgd_device_place *place);
