/**
 * @file gpus.c
 * Which run computes on which GPU.
 */
#include "command/runs/gpus.h"

/* A process has a context on its GPU: kernels, and memory that the driver takes. */
static const size_t context_bytes = (size_t)512 << 20;

/** With its context, which is small where the GPU is. */
static size_t with_context(const dsgd_gpus *gpus, uint32_t k, size_t bytes)
{
    const size_t eighth = gpus->gpu[k].all_bytes / gpus->jobs_each / 8;
    return bytes + (context_bytes < eighth ? context_bytes : eighth);
}

dsgd_gpus dsgd_gpus_of(const dsgd_device_survey *survey, int64_t jobs)
{
    dsgd_gpus gpus = {.n = survey->n};
    uint32_t n_usable = 0;
    for (uint32_t k = 0; k < survey->n; k++) {
        const size_t bytes = survey->free_bytes[k] - survey->free_bytes[k] / 10;
        gpus.gpu[k].all_bytes = gpus.gpu[k].left_bytes = bytes;
        n_usable += bytes > 0;
    }
    gpus.jobs_each = n_usable == 0 ? 1 : ((uint32_t)jobs + n_usable - 1) / n_usable;
    return gpus;
}

/** The GPU, idle or any, with most memory left. gpus->n: none. */
static uint32_t most_left(const dsgd_gpus *gpus, bool idle)
{
    uint32_t best = gpus->n;
    size_t most = 0;
    for (uint32_t k = 0; k < gpus->n; k++) {
        if (gpus->gpu[k].left_bytes <= most || (idle && gpus->gpu[k].n_running > 0))
            continue;
        best = k;
        most = gpus->gpu[k].left_bytes;
    }
    return best;
}

bool dsgd_gpus_take(dsgd_gpus *gpus, size_t bytes, dsgd_device_place *place)
{
    uint32_t k = most_left(gpus, false);
    if (k == gpus->n || with_context(gpus, k, bytes) > gpus->gpu[k].left_bytes)
        k = most_left(gpus, true);
    if (k == gpus->n)
        return false;
    const size_t context = with_context(gpus, k, 0);
    const size_t left = gpus->gpu[k].left_bytes - context;
    const size_t each = gpus->gpu[k].all_bytes / gpus->jobs_each - context;
    const size_t wanted = bytes > each ? bytes : each;
    place->index = k;
    place->bytes = wanted < left ? wanted : left;
    gpus->gpu[k].left_bytes -= place->bytes + context;
    gpus->gpu[k].n_running++;
    return true;
}

void dsgd_gpus_give(dsgd_gpus *gpus, const dsgd_device_place *place)
{
    gpus->gpu[place->index].left_bytes += with_context(gpus, place->index, place->bytes);
    gpus->gpu[place->index].n_running--;
}
