/**
 * @file wait.h
 * How a worker's work and assist actors wait for state that other actors change.
 */
#ifndef DSGD_SIM_ENGINE_WAIT_H
#define DSGD_SIM_ENGINE_WAIT_H

#include "sim/engine/engine.h"

/** Wakes the worker's sleeping actors; each then evaluates its condition again. */
void dsgd_work_wake(dsgd_worker *w);

/** Sleeps until dsgd_work_wake(); for loops around a condition. */
void dsgd_work_sleep(dsgd_worker *w);

/** Does not return where the worker was made to stop. Each of its actors calls it after waiting. */
void dsgd_stay_if_stopped(const dsgd_worker *w);

/** Like MPI_Barrier over all workers, but costs no messages. */
void dsgd_barrier(dsgd_node *self);

#endif
