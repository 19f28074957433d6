/**
 * @file steps.c
 * Implements a worker's steps, the bounds that end a run, and the random draws that the algorithm
 * itself makes.
 */
#include "base/draw.h"
#include "sim/engine/engine.h"
#include "sim/failures/failures.h"
#include "sim/observe/observe.h"

/** Waits for ever when the run has ended. Returns only if waiting.c continues the run. */
static void stay_after_end(dsgd_worker *w)
{
    while (!w->engine->watch.continued)
        dsgd_work_sleep(w);
}

/**
 * Reports the share of the run that is done, measured by the bound that the run will reach first.
 */
static void report_progress(const dsgd_engine *engine, double samples)
{
    const dsgd_until *const until = &engine->config->until;
    dsgd_progress *const progress = engine->config->progress;
    if (progress == NULL)
        return;
    const double by_steps = (double)engine->progress.steps / (double)engine->progress.bound;
    const double by_time = until->seconds > 0 ? dsgd_time_now_s(engine) / until->seconds : 0;
    const double by_samples = until->samples > 0 ? samples / until->samples : 0;
    atomic_store_explicit(&progress->share, fmax(by_steps, fmax(by_time, by_samples)),
                          memory_order_relaxed);
    atomic_store_explicit(&progress->steps, (double)engine->progress.steps / engine->n_workers,
                          memory_order_relaxed);
}

static const double rounding = 1e-12; /* relative rounding error of a sum of many shares of steps */

/** Counts a step, makes an evaluation if one is due, and ends the run at its bound. */
static void count_step(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    const dsgd_until *const until = &engine->config->until;
    /* false if another worker has already ended the run at this virtual time */
    const bool counts = !engine->finished;
    if (!counts)
        stay_after_end(w);
    w->clock.steps++;
    w->waits.calls = 0;
    dsgd_count_move(engine);
    if (!counts)
        return;
    engine->progress.steps++;
    engine->progress.whole_steps += w->gpu.computation.share;
    const double accuracy = dsgd_evaluate_if_due(engine);
    /* the run also ends if the accuracy is NAN */
    if (until->accuracy > 0 && !(accuracy < until->accuracy))
        dsgd_finish(engine);
    const double samples = engine->progress.whole_steps * engine->config->workload->samples;
    report_progress(engine, samples);
    if (engine->progress.steps >= engine->progress.bound ||
        (until->samples > 0 && samples >= until->samples * (1 - rounding)))
        dsgd_finish(engine);
    if (engine->failures.state != NULL && !engine->finished)
        dsgd_failures_of_run_step(engine);
    if (engine->finished)
        stay_after_end(w);
}

/** Returns true if this worker must stop now, or has made all of its steps. */
static bool is_to_stop(dsgd_worker *w)
{
    const dsgd_engine *const engine = w->engine;
    if (dsgd_now_s() >= w->presence.dies_s && !engine->watch.continued) {
        /*
         * operations that the worker started at this virtual time can still start during this sleep
         */
        dsgd_sleep(0);
        w->clock.stopped = true;
    }
    return w->clock.stopped ||
           (engine->progress.most_steps > 0 && w->clock.steps >= engine->progress.most_steps);
}

bool dsgd_next_step(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_computation_wait(w);
    const bool follows = w->engine->failures.by_quorum && w->presence.state != DSGD_HERE;
    const bool fails = w->presence.state != DSGD_HERE && !follows;
    if (follows)
        dsgd_quorum_follow(w);
    if (fails && !dsgd_rejoin(w)) {
        w->clock.may_return = true;
        return false;
    }
    if (w->gpu.cancelled || (fails && self->step >= 0)) { /* the worker repeats the current step */
        w->gpu.cancelled = false;
        w->gpu.n_cancelled++;
        if (w->engine->finished)
            stay_after_end(w);
        w->clock.may_return = is_to_stop(w);
        return !w->clock.may_return;
    }
    const bool counts = self->step >= 0 && !follows;
    if (counts) {
        w->clock.exposed_s += dsgd_now_s() - w->gpu.computation.end_s;
        count_step(w);
    }
    w->clock.in_barrier = counts;
    if (w->engine->config->exchange.barrier)
        dsgd_barrier(self);
    w->clock.in_barrier = false;
    const double step_s = dsgd_now_s() - w->clock.since_s;
    if (counts)
        dsgd_count_step_time(w->engine, step_s);
    w->clock.squares_s2 += counts ? step_s * step_s : 0;
    w->clock.since_s = dsgd_now_s();
    self->step++;
    dsgd_quorum_lead(w);
    dsgd_timeline_step(w);
    w->clock.draws = w->clock.encodings = 0;
    w->clock.may_return = is_to_stop(w);
    return !w->clock.may_return;
}

/**
 * Largest numbers of turns that assist() takes while no worker makes a step or computes. The first
 * number is for the time before the end of the run. The second number is for a run that is
 * continued after its end.
 */
enum { MOST_IDLE_TURNS = 10000, MOST_LATE_TURNS = 1000 };

/**
 * If only turns of assist() have happened for a long time, sleeps until a worker makes a step or
 * starts a computation. Otherwise a run whose workers hang would not end, because assist() would
 * take turns for ever.
 */
static void rest_if_idle(dsgd_worker *w)
{
    dsgd_engine *const engine = w->engine;
    if (engine->computations.n_computing > 0 || w->clock.idle_moves != engine->progress.moves)
        w->clock.idle_turns = 0;
    w->clock.idle_moves = engine->progress.moves;
    if (++w->clock.idle_turns <= (engine->watch.continued ? MOST_LATE_TURNS : MOST_IDLE_TURNS))
        return;
    engine->progress.n_resting++;
    dsgd_work_sleep(w);
    engine->progress.n_resting--;
}

bool dsgd_next_turn(dsgd_node *self, int64_t local_steps)
{
    /* shortest time between two turns, which is the time of a lock and an MPI call */
    static const double least_s = 1e-6;
    static const dsgd_waiting turn = {"dsgd_next_turn", dsgd_lacks_no_host};
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_wait *const wait = dsgd_wait_begin_of_work(w, &turn, NULL);
    while (dsgd_local_steps(w, w->engine->layout.n_pieces - 1) < local_steps)
        dsgd_work_sleep(w);
    rest_if_idle(w);
    dsgd_wait_end(w, wait);
    while (w->presence.state != DSGD_HERE)
        dsgd_work_sleep(w);
    if (dsgd_now_s() < w->clock.turn_s)
        dsgd_sleep(w->clock.turn_s - dsgd_now_s());
    dsgd_stay_if_stopped(w);
    dsgd_count_events(w->engine, 1);
    w->clock.turn_s = dsgd_now_s() + least_s;
    return w->engine->progress.n_working > 0;
}

bool dsgd_has_joined(dsgd_node *self)
{
    return dsgd_worker_of(self)->presence.state == DSGD_JOINS;
}

double dsgd_time_s(dsgd_node *self)
{
    (void)self;
    return dsgd_now_s();
}

double dsgd_bandwidth(dsgd_node *self)
{
    const dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_platform *const platform = w->engine->config->platform;
    double most =
        dsgd_platform_nic_bytes_per_s(platform, w->place / dsgd_platform_nic_hosts(platform));
    for (int i = 0; i < w->engine->n_workers && !dsgd_platform_has_numbers(platform); i++)
        if (i != w->host)
            most = fmax(most, dsgd_route_of(w->host, i).bytes_per_s);
    return most;
}

uint64_t dsgd_random_below(dsgd_node *self, uint64_t n)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    const dsgd_draw at = {.seed = w->engine->config->seed,
                          .purpose = DSGD_DRAW_ALGORITHM,
                          .worker = (uint32_t)self->rank,
                          .step = (uint32_t)self->step,
                          .index = w->clock.draws++};
    return dsgd_draw_below(at, n);
}

dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error)
{
    if (dsgd_is_power_of_two(n_workers))
        return DSGD_OK;
    const int below = 1 << dsgd_log2(n_workers);
    return dsgd_refuse(error, "%s: workers must be a power of two, such as %d or %d, got %d", name,
                       below, 2 * below, n_workers);
}

dsgd_status dsgd_check_groups(const char *name, int64_t size, int n_workers, dsgd_error *error)
{
    if (n_workers <= size || n_workers % size == 0)
        return DSGD_OK;
    const int64_t below = n_workers / size * size;
    return dsgd_refuse(error, "%s: workers must be a multiple of %jd, such as %jd or %jd, got %d",
                       name, size, below, below + size, n_workers);
}
