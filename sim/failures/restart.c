/**
 * @file restart.c All workers restart from a checkpoint when one worker fails. Only the time of
 * the restart is simulated. Repeated steps have the same random draws, so they take the same time
 * and give the same values as the first time. Therefore the simulation performs each step once, in
 * seconds of progress, and failures.away_s counts the additional time. This file handles failures
 * at their times, and sums up their costs at the end.
 */
#include "sim/failures/failures.h"

#include "sim/hybrid/stage_hosts.h"
#include "sim/observe/observe.h"
#include "sim/result.h"
#include "sim/run.h"

/**
 * Records in the timeline why all workers have stopped. The reason is a failure of worker @p worker
 * or, if @p worker is -1, a checkpoint. The record has the times that were added to the result
 * since @p before.
 */
static void record_stop(dsgd_engine *engine, int worker, const dsgd_failure_times *before)
{
    const dsgd_failure_times *const now = &engine->result->failures;
    const struct {
        const char *cause;
        double s;
    } parts[] = {{"detect", now->detect_s - before->detect_s},
                 {"repair", now->repair_s - before->repair_s},
                 {"restart", now->restart_s - before->restart_s},
                 {"lost", now->lost_s - before->lost_s},
                 {"checkpoint", now->checkpoint_s - before->checkpoint_s}};
    const dsgd_timeline *const t = engine->accounts.timeline;
    if (t == NULL || !t->opened || t->ended != NULL)
        return;
    char *text = worker < 0 ? dsgd_xstrdup("all write") : dsgd_xprintf("worker %d fails", worker);
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (parts[k].s > 0)
            dsgd_append(&text, ", %s %.4g s", parts[k].cause, parts[k].s);
    int first = 0; /* rank of the first worker that the timeline shows */
    while (!t->chosen[first])
        first++;
    dsgd_timeline_mark(&engine->workers[first],
                       (dsgd_span){DSGD_SPAN_OF_HOST(STOPPED), .verb = text});
}

/**
 * Advances *all_s to @p until_s (both are total times), and adds the difference to *cause. Returns
 * false if the run reaches the bound `until: seconds` first.
 */
static bool spend(const dsgd_engine *engine, double *cause, double *all_s, double until_s)
{
    const double bound_s = engine->config->until.seconds;
    const bool is_over = bound_s > 0 && until_s >= bound_s;
    const double end_s = is_over ? bound_s : until_s;
    *cause += end_s - *all_s;
    *all_s = end_s;
    return !is_over;
}

/**
 * Advances *all_s from a failure to the time at which all workers work again. Returns false if the
 * run is over.
 */
static bool recover(dsgd_engine *engine, double *all_s)
{
    struct dsgd_failure_state *const f = engine->failures.state;
    dsgd_failure_times *const times = &engine->result->failures;
    for (bool fails = true; fails;) {
        const double known_s = f->next.down_s + f->config.detect_s;
        /* the failure that is repaired last, among all failures that overlap */
        dsgd_failure last = dsgd_next_failure(engine);
        while (f->next.down_s < INFINITY && f->next.down_s <= fmax(known_s, last.up_s) &&
               f->in_a_row < DSGD_MOST_IN_A_ROW) {
            const dsgd_failure failure = dsgd_next_failure(engine);
            last = failure.up_s > last.up_s ? failure : last;
        }
        if (!spend(engine, &times->detect_s, all_s, known_s))
            return false;
        if (isinf(last.up_s) && !(engine->config->until.seconds > 0))
            return dsgd_give_up_run(
                engine, *all_s,
                dsgd_xprintf("worker %d is never repaired. Set repair, or until: seconds",
                             dsgd_failed_worker(engine, &last)));
        if (f->in_a_row >= DSGD_MOST_IN_A_ROW)
            return dsgd_give_up_run(
                engine, *all_s,
                "100,000 failures have happened without a step between them: mtbf / workers is "
                "shorter than detect + repair + restart + the steps between two checkpoints");
        if (!spend(engine, &times->repair_s, all_s, fmax(known_s, last.up_s)))
            return false;
        const double ready_s = *all_s + f->config.restart_s + f->cost_s;
        fails = f->next.down_s < ready_s;
        if (!spend(engine, &times->restart_s, all_s, fmin(f->next.down_s, ready_s)))
            return false;
    }
    return true;
}

/**
 * Handles a failure at *all_s. Advances *all_s until the work since the last checkpoint has been
 * repeated, or until the next failure. Returns false if the run is over.
 */
static bool restart(dsgd_engine *engine, double *all_s)
{
    struct dsgd_failure_state *const f = engine->failures.state;
    const double now_s = dsgd_now_s();
    const dsgd_failure_times before = engine->result->failures;
    const int worker = dsgd_failed_worker(engine, &f->next);
    if (f->written_s <= now_s)
        f->saved_s = f->snapshot_s;
    bool continues = recover(engine, all_s);
    const double done_s = *all_s + now_s - f->saved_s;
    if (continues && f->next.down_s >= done_s)
        f->in_a_row = 0;
    continues = continues && spend(engine, &engine->result->failures.lost_s, all_s,
                                   fmin(f->next.down_s, done_s));
    record_stop(engine, worker, &before);
    return continues;
}

/**
 * Returns true if the run must write a checkpoint because the next failure was announced. This
 * requires that there is time for a checkpoint before the failure, and that no checkpoint has been
 * started because of this failure.
 */
static bool has_notice(const dsgd_engine *engine)
{
    const struct dsgd_failure_state *const f = engine->failures.state;
    const double all_s = dsgd_now_s() + engine->failures.away_s;
    return f->noticed_s != f->next.down_s && all_s >= f->next.down_s - f->config.notice_s &&
           all_s + f->cost_s <= f->next.down_s;
}

void dsgd_failures_of_run_step(dsgd_engine *engine)
{
    struct dsgd_failure_state *const f = engine->failures.state;
    const double now_s = dsgd_now_s();
    if (!dsgd_all_restart(engine) || engine->progress.steps % engine->n_workers != 0)
        return;
    if (f->written_s <= now_s) {
        f->saved_s = f->snapshot_s;
        f->written_s = INFINITY;
    }
    const dsgd_checkpoint *const c = &f->config.checkpoint;
    const int64_t step = engine->progress.steps / engine->n_workers;
    const bool by_steps = c->interval_s <= 0 && c->every > 0, by_notice = has_notice(engine);
    if (f->written_s < INFINITY ||
        !(by_notice || (by_steps ? step % c->every == 0 : now_s - f->begun_s >= f->interval_s)))
        return;
    if (by_notice)
        f->noticed_s = f->next.down_s;
    f->begun_s = now_s;
    if (!c->blocking) {
        f->snapshot_s = now_s;
        f->written_s = now_s + f->cost_s;
        return;
    }
    double *const cause = &engine->result->failures.checkpoint_s;
    const double before_s = *cause;
    double all_s = now_s + engine->failures.away_s;
    bool over = false;
    for (int64_t tries = 0; !over && f->next.down_s < all_s + f->cost_s; tries++)
        over = tries >= DSGD_MOST_IN_A_ROW
                   ? !dsgd_give_up_run(
                         engine, all_s,
                         "100,000 failures have happened while one checkpoint was written: mtbf / "
                         "workers is shorter than the checkpoint takes")
                   : !spend(engine, cause, &all_s, f->next.down_s) || !restart(engine, &all_s);
    over = over || !spend(engine, cause, &all_s, all_s + f->cost_s);
    /* times without the failures during the checkpoint, which restart() has already recorded */
    dsgd_failure_times before = engine->result->failures;
    before.checkpoint_s = before_s;
    if (f->cost_s > 0)
        record_stop(engine, -1, &before);
    engine->failures.away_s = all_s - now_s;
    f->saved_s = now_s;
    if (over)
        dsgd_finish(engine);
    else if (f->cost_s > 0)
        /*
         * posts the semaphore, because the clock must wake after less progress: total time has
         * passed
         */
        dsgd_semaphore_post(engine->end_semaphore);
}

/* --- functions for the clock and for the end of a run ----------------------------------------- */

double dsgd_next_failure_or_end_s(const dsgd_engine *engine)
{
    const double bound_s = engine->config->until.seconds;
    const double end_s = bound_s > 0 ? bound_s : INFINITY;
    const bool fails = engine->failures.others_continue || dsgd_all_restart(engine);
    return (fails ? fmin(end_s, engine->failures.state->next.down_s) : end_s) -
           engine->failures.away_s;
}

bool dsgd_handle_failure(dsgd_engine *engine)
{
    const double bound_s = engine->config->until.seconds;
    if (engine->failures.state == NULL ||
        (bound_s > 0 && bound_s <= engine->failures.state->next.down_s))
        return true;
    if (engine->failures.others_continue) {
        struct dsgd_failure_state *const f = engine->failures.state;
        f->in_a_row = f->steps == engine->progress.steps ? f->in_a_row : 0;
        f->steps = engine->progress.steps;
        dsgd_take_workers_down(engine);
        if (engine->failures.by_quorum && dsgd_live_peer(&engine->workers[0]) < 0 &&
            engine->workers[0].presence.state != DSGD_HERE)
            return !dsgd_give_up_run(
                engine, dsgd_now_s(),
                "no running worker has the state any more. Use policy: restart");
        return f->in_a_row >= DSGD_MOST_IN_A_ROW &&
               !dsgd_give_up_run(
                   engine, dsgd_now_s(),
                   "100,000 failures have happened without a step between them: mtbf / workers is "
                   "too short");
    }
    double all_s = dsgd_now_s() + engine->failures.away_s;
    const bool over = !restart(engine, &all_s);
    engine->failures.away_s = all_s - dsgd_now_s();
    return over;
}

void dsgd_failures_of_run_sum_up(dsgd_engine *engine)
{
    for (int i = 0; i < engine->n_workers; i++)
        if (engine->workers[i].presence.state != DSGD_HERE)
            dsgd_presence_set(&engine->workers[i], engine->workers[i].presence.state);
    dsgd_run_result *const result = engine->result;
    dsgd_failure_times *const times = &result->failures;
    const double progress_s = result->virtual_s;
    if (!engine->failures.others_continue && !dsgd_all_restart(engine)) {
        times->lost_s = times->detect_s = times->repair_s = times->restart_s = NAN;
        times->checkpoint_s = NAN;
        dsgd_stage_hosts_sum_up(engine);
        return;
    }
    result->virtual_s += engine->failures.away_s;
    dsgd_stage_hosts_sum_up(engine);
    result->samples_per_s *= progress_s / result->virtual_s;
    result->step_mean_s *= result->virtual_s / progress_s;
    const double at_work =
        dsgd_all_restart(engine) ? (progress_s + times->lost_s) / result->virtual_s : 1;
    for (int i = -1; i < engine->n_workers; i++) {
        dsgd_time_shares *const shares = i < 0 ? &result->shares : &result->worker_shares[i];
        shares->compute *= at_work;
        shares->communicate *= at_work;
        shares->lost *= at_work;
        shares->wait = fmax(0, 1 - shares->compute - shares->communicate);
    }
    times->goodput = 1 - (times->lost_s + times->detect_s + times->repair_s + times->restart_s +
                          times->checkpoint_s) /
                             result->virtual_s;
}
