/**
 * @file step_times.c
 * The histogram of step times: of bounded size whatever the steps and workers, and the same bits on
 * every machine, because bins are found by the bits of a number and not by its logarithm.
 */
#include <math.h>

#include "sim/engine/engine.h"
#include "sim/result.h"

/* Bins are a sixty-fourth of a power of two wide: 1.6 % of a time at most, from 0.2 ns to 136 years. */
enum { PER_POWER = 64, LEAST_POWER = -32, N_POWERS = DSGD_MOST_STEP_TIMES / PER_POWER };

struct dsgd_step_count {
    double n, sum_s;
};

static size_t bin_of(double step_s)
{
    int power = 0;
    const double mantissa = frexp(step_s, &power); /* 0, or from 1/2 to below 1 */
    if (mantissa == 0 || power < LEAST_POWER)
        return 0;
    if (power >= LEAST_POWER + N_POWERS)
        return DSGD_MOST_STEP_TIMES - 1;
    return (size_t)(power - LEAST_POWER) * PER_POWER + (size_t)((mantissa - 0.5) * (2 * PER_POWER));
}

void dsgd_count_step_time(dsgd_engine *engine, double step_s)
{
    if (engine->finished || engine->continued)
        return;
    if (engine->step_counts == NULL)
        engine->step_counts =
            dsgd_run_alloc(engine, DSGD_MOST_STEP_TIMES * sizeof *engine->step_counts);
    struct dsgd_step_count *const count = &engine->step_counts[bin_of(step_s)];
    count->n++;
    count->sum_s += step_s;
}

void dsgd_sum_up_step_times(dsgd_engine *engine)
{
    dsgd_step_times *const times = &engine->result->step_times;
    const struct dsgd_step_count *const counts = engine->step_counts;
    double n = 0;
    if (counts == NULL)
        return;
    for (size_t k = 0; k < DSGD_MOST_STEP_TIMES; k++)
        n += counts[k].n;
    for (size_t k = 0; k < DSGD_MOST_STEP_TIMES; k++) {
        if (counts[k].n == 0)
            continue;
        times->bin = dsgd_xrealloc(times->bin, times->n + 1, sizeof *times->bin);
        times->bin[times->n].step_s = counts[k].sum_s / counts[k].n;
        times->bin[times->n++].share = counts[k].n / n;
    }
}
