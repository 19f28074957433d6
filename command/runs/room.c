/**
 * @file room.c
 * The shares of runs.
 */
#include "command/runs/room.h"

#include <unistd.h>

#include "base/program.h"

/* A process has a context on its GPU: kernels, and memory that the driver takes. */
static const size_t context_bytes = (size_t)512 << 20;

dsgd_room dsgd_room_of(const dsgd_device_survey *gpus, int64_t jobs, int64_t threads)
{
    const int64_t n = sysconf(_SC_NPROCESSORS_ONLN), cores = n < 1 ? 1 : n;
    dsgd_room room = {.jobs = jobs > 0 ? jobs : cores, .n_gpus = gpus->n};
    /* The simulating thread computes, too, while it waits. */
    threads = threads > 0 ? threads : cores / room.jobs - 1;
    room.threads = (uint32_t)(threads < 1 ? 1 : threads);
    room.shares_cores = 2 * room.jobs > cores; /* two threads per run */
    room.bytes = dsgd_physical_bytes() / 2 / (size_t)room.jobs;
    uint32_t n_usable = 0;
    for (uint32_t k = 0; k < gpus->n; k++) {
        const size_t bytes = gpus->free_bytes[k] - gpus->free_bytes[k] / 10;
        room.gpu[k].all_bytes = room.gpu[k].left_bytes = bytes;
        n_usable += bytes > 0;
    }
    room.jobs_each = n_usable == 0 ? 1 : ((uint32_t)room.jobs + n_usable - 1) / n_usable;
    return room;
}

/** Bytes with those of a context, which is small on a small GPU. */
static size_t with_context(const dsgd_room *room, uint32_t k, size_t bytes)
{
    const size_t eighth = room->gpu[k].all_bytes / room->jobs_each / 8;
    return bytes + (context_bytes < eighth ? context_bytes : eighth);
}

/** The GPU, idle or any, with most memory left; n_gpus: none has any. */
static uint32_t most_left(const dsgd_room *room, bool idle)
{
    uint32_t best = room->n_gpus;
    size_t most = 0;
    for (uint32_t k = 0; k < room->n_gpus; k++) {
        if (room->gpu[k].left_bytes <= most || (idle && room->gpu[k].n_running > 0))
            continue;
        best = k;
        most = room->gpu[k].left_bytes;
    }
    return best;
}

static bool take_gpu(dsgd_room *room, size_t bytes, dsgd_device_place *place)
{
    uint32_t k = most_left(room, false);
    if (k == room->n_gpus || with_context(room, k, bytes) > room->gpu[k].left_bytes)
        k = most_left(room, true);
    if (k == room->n_gpus)
        return false;
    const size_t context = with_context(room, k, 0);
    const size_t left = room->gpu[k].left_bytes - context;
    const size_t each = room->gpu[k].all_bytes / room->jobs_each - context;
    const size_t wanted = bytes > each ? bytes : each;
    *place = (dsgd_device_place){.index = k, .bytes = wanted < left ? wanted : left};
    room->gpu[k].left_bytes -= place->bytes + context;
    room->gpu[k].n_running++;
    return true;
}

bool dsgd_room_take(dsgd_room *room, size_t gpu_bytes, dsgd_run_config *run)
{
    if (room->n_running == room->jobs || (gpu_bytes > 0 && !take_gpu(room, gpu_bytes, &run->place)))
        return false;
    run->place.shares_cores = room->shares_cores;
    run->threads = room->threads;
    run->memory_bytes = room->bytes;
    room->n_running++;
    return true;
}

void dsgd_room_give(dsgd_room *room, const dsgd_run_config *run)
{
    const uint32_t k = run->place.index;
    room->n_running--;
    if (run->place.bytes == 0)
        return;
    room->gpu[k].left_bytes += with_context(room, k, run->place.bytes);
    room->gpu[k].n_running--;
}
