/**
 * @file computation.h
 * A worker's gradients and local steps. The verbs are those of sim/algorithm.h.
 */
#ifndef DSGD_SIM_ENGINE_COMPUTATION_H
#define DSGD_SIM_ENGINE_COMPUTATION_H

#include "sim/engine/engine.h"

/** The actor that computes a worker's gradients. */
void dsgd_gpu_main(void *worker);

/** Waits until nothing is computed. */
void dsgd_computation_wait(dsgd_worker *w);

#endif
