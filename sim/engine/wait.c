/**
 * @file wait.c
 * A worker's condition variable, and the barrier.
 */
#include "sim/engine/wait.h"

void dsgd_work_wake(dsgd_worker *w)
{
    const int n = w->work_waits;
    w->work_waits = 0; /* before anybody runs who sleeps again */
    for (int i = 0; i < n; i++)
        dsgd_semaphore_post(w->work_semaphore);
}

void dsgd_work_sleep(dsgd_worker *w)
{
    w->work_waits++;
    dsgd_semaphore_wait(w->work_semaphore);
}

void dsgd_stay_if_stopped(const dsgd_worker *w)
{
    while (w->stopped)
        dsgd_semaphore_wait(w->engine->never_semaphore);
}

void dsgd_barrier(dsgd_node *self)
{
    dsgd_worker *const w = dsgd_worker_of(self);
    dsgd_engine *const engine = w->engine;
    const long round = engine->barrier_round;
    if (++engine->at_barrier == engine->n_workers) {
        engine->at_barrier = 0;
        engine->barrier_round++;
        for (int i = 0; i < engine->n_workers; i++)
            dsgd_work_wake(&engine->workers[i]);
        return;
    }
    while (engine->barrier_round == round)
        dsgd_work_sleep(w);
}
