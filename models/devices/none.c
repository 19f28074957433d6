/**
 * @file none.c
 * A device that computes nothing, for recording a run without numerics.
 */
#include <math.h>

#include "models/devices/device.h"

static dsgd_status none_open(const dsgd_problem *problem, const dsgd_device_place *place,
                             uint32_t n_threads, void **context, dsgd_error *error)
{
    (void)problem, (void)place, (void)n_threads, (void)error;
    *context = NULL;
    return DSGD_OK;
}

static void none_close(void *context)
{
    (void)context;
}

static dsgd_buffer none_alloc(void *context, size_t n)
{
    static char nothing;
    (void)context, (void)n;
    return &nothing;
}

static void none_release(void *context, dsgd_buffer buffer)
{
    (void)context, (void)buffer;
}

static void none_put(void *context, dsgd_buffer to, const double *from, size_t n)
{
    (void)context, (void)to, (void)from, (void)n;
}

static void none_get(void *context, double *to, dsgd_buffer from, size_t n)
{
    (void)context, (void)from;
    for (size_t i = 0; i < n; i++)
        to[i] = NAN;
}

#define COMPUTE_NOTHING(operation)                                                                 \
    static void none_##operation(void *context, uint32_t thread, const dsgd_##operation##_op *ops, \
                                 size_t n, bool *finite)                                           \
    {                                                                                              \
        (void)context, (void)thread, (void)ops, (void)n, (void)finite;                             \
    }
COMPUTE_NOTHING(gradient)
COMPUTE_NOTHING(update)
COMPUTE_NOTHING(combine)
COMPUTE_NOTHING(encode)

static void none_evaluate(void *context, uint32_t thread, dsgd_evaluate_op *ops, size_t n)
{
    (void)context, (void)thread;
    for (size_t i = 0; i < n; i++)
        ops[i].loss = ops[i].accuracy = NAN;
}

static void none_distance(void *context, uint32_t thread, dsgd_distance_op *ops, size_t n)
{
    (void)context, (void)thread;
    for (size_t i = 0; i < n; i++)
        ops[i].distance = NAN;
}

const dsgd_device dsgd_device_none = {
    .abi = DSGD_DEVICE_ABI,
    .name = "off",
    .summary = "computes nothing",
    .batch = 4096,
    .threaded = true,
    .open = none_open,
    .close = none_close,
    .alloc = none_alloc,
    .release = none_release,
    .put = none_put,
    .get = none_get,
    .gradient = none_gradient,
    .update = none_update,
    .combine = none_combine,
    .evaluate = none_evaluate,
    .distance = none_distance,
    .encode = none_encode,
};
