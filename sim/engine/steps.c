/**
 * @file steps.c
 * A worker's steps, the bounds that end a run, and the algorithm's own draws.
 */
#include <math.h>

#include "base/draw.h"
#include "sim/engine/engine.h"

static void sleep_for_ever(dsgd_worker *w)
{
    for (;;)
        dsgd_work_sleep(w);
}

/** Ends the simulation at this instant. */
static void finish(dsgd_engine *engine)
{
    engine->finished = true;
    dsgd_semaphore_post(engine->end_semaphore);
}

/** Share of the run that is done, by the bound that is nearest. */
static void report_progress(const dsgd_engine *engine, double samples)
{
    const dsgd_until *const until = &engine->config->until;
    if (engine->config->progress == NULL)
        return;
    const double by_steps = (double)engine->steps_total / (double)engine->steps_bound;
    const double by_time = until->seconds > 0 ? dsgd_now_s() / until->seconds : 0;
    const double by_samples = until->samples > 0 ? samples / until->samples : 0;
    atomic_store_explicit(engine->config->progress, fmax(by_steps, fmax(by_time, by_samples)),
                          memory_order_relaxed);
}

static const double rounding = 1e-12; /* of a sum of many shares of steps */

/** Counts a step of all workers; evaluates, and ends the run at its bound. */
static void count_step(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_until *const until = &engine->config->until;
    if (engine->finished)
        sleep_for_ever(w); /* another worker ended the run at this very instant */
    w->steps_done++;
    engine->steps_total++;
    engine->whole_steps += w->computation.share;
    double accuracy = 0;
    /* An accuracy that is NAN stays so. */
    if (dsgd_evaluate_if_due(engine, &accuracy) && until->accuracy > 0 &&
        (accuracy >= until->accuracy || isnan(accuracy)))
        finish(engine);
    const double samples = engine->whole_steps * engine->config->workload->samples;
    report_progress(engine, samples);
    if (engine->steps_total >= engine->steps_bound ||
        (until->samples > 0 && samples >= until->samples * (1 - rounding)))
        finish(engine);
    if (engine->finished)
        sleep_for_ever(w);
}

/** Whether this worker was to stop by now, or has done all its steps. */
static bool is_to_stop(dsgd_worker *w)
{
    const dsgd_run_config *const config = w->engine->config;
    const dsgd_stop *const stops = config->stops.v;
    for (size_t i = 0; i < config->stops.n; i++)
        if (stops[i].worker == w->node.rank && dsgd_now_s() >= stops[i].after_s)
            w->stopped = true;
    return w->stopped || (config->steps_each > 0 && w->steps_done >= config->steps_each);
}

bool dsgd_next_step(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_computation_wait(w);
    if (self->step >= 0) {
        w->exposed_s += dsgd_now_s() - w->computation.end_s;
        count_step(w);
    }
    if (w->engine->config->exchange.barrier)
        dsgd_barrier(self);
    self->step++;
    w->draws = 0;
    return !is_to_stop(w);
}

bool dsgd_next_turn(dsgd_node *self, long local_steps)
{
    static const double least_s = 1e-6; /* a lock and a call of MPI */
    dsgd_worker *const w = dsgd_worker_of(self);
    while (dsgd_local_steps(w, w->engine->n_pieces - 1) < local_steps)
        dsgd_work_sleep(w);
    if (dsgd_now_s() < w->turn_s)
        dsgd_sleep(w->turn_s - dsgd_now_s());
    dsgd_stay_if_stopped(w);
    w->turn_s = dsgd_now_s() + least_s;
    return w->engine->n_working > 0;
}

double dsgd_time_s(dsgd_node *self)
{
    (void)self;
    return dsgd_now_s();
}

uint64_t dsgd_random_below(dsgd_node *self, uint64_t n)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_draw at = {.seed = w->engine->config->seed,
                          .purpose = DSGD_DRAW_ALGORITHM,
                          .worker = (uint32_t)self->rank,
                          .step = (uint32_t)self->step,
                          .index = w->draws++};
    return dsgd_draw_below(at, n);
}

dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error)
{
    if (dsgd_is_power_of_two(n_workers))
        return DSGD_OK;
    const int below = 1 << dsgd_log2(n_workers);
    return dsgd_fail(error, DSGD_EUSAGE,
                     "%s needs a power of two of workers: %d or %d would do, got %d", name, below,
                     2 * below, n_workers);
}
