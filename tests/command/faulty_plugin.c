/**
 * @file faulty_plugin.c
 * A plug-in for the tests of `dsgd test`: local SGD, right unless compiled with one of
 * -D BYTES_FACTOR=7, -D REFUSED_LAW, -D FALSE_LAW, -D CRASH, -D SKIPPED=39. As of an algorithm with parts, no period
 * below 5 is accepted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/algorithm.h"

#ifndef BYTES_FACTOR
#define BYTES_FACTOR 1
#endif

#ifndef SKIPPED
#define SKIPPED (-1)
#endif

typedef struct faulty_params {
    long period;
} faulty_params;

static void faulty_work(dsgd_node *self)
{
    const faulty_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
#ifdef CRASH
        if (self->step == 3) {
            fputs("faulty: step 3\nfaulty: no table\n", stderr);
            abort();
        }
#endif
        if ((self->step + 1) % p->period == 0 && self->step != SKIPPED)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

static dsgd_status faulty_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const long period = ((const faulty_params *)params)->period;
    if (period < 5)
        return dsgd_refuse(error, "faulty: period: %ld, but 5 or more are needed", period);
    return DSGD_OK;
}

static dsgd_traffic faulty_traffic(const void *params, const dsgd_scale *scale)
{
    dsgd_traffic t = dsgd_allreduce_traffic(scale);
    t.bytes *= BYTES_FACTOR;
    return dsgd_traffic_times(t, 1.0 / (double)((const faulty_params *)params)->period);
}

static long faulty_period(const void *params, int n_workers)
{
    (void)n_workers;
    return ((const faulty_params *)params)->period;
}

static const dsgd_option faulty_options[] = {
    DSGD_OPTION_LONG(faulty_params, period, 5, 1, 1000, "steps", "between averages"),
    DSGD_OPTION_END,
};

static const dsgd_algorithm faulty = {
    .about = {.name = "faulty",
              .summary = "local SGD",
              .params_size = sizeof(faulty_params),
              .reference = "an example",
              .options = faulty_options},
    .check = faulty_check,
    .work = faulty_work,
    .traffic = faulty_traffic,
    .period = faulty_period,
    .laws = DSGD_LAWS(
#ifdef REFUSED_LAW
        {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 1})},
#endif
#ifdef FALSE_LAW
        {.kind = DSGD_LAW_ALLREDUCE, .with = DSGD_WITH({"period", 7})},
#endif
        {.kind = DSGD_LAW_PLAIN_SGD}, {.kind = DSGD_LAW_KEEPS_MEAN}),
};

static const dsgd_algorithm *const list[] = {&faulty, NULL};
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
