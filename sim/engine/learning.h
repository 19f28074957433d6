/**
 * @file learning.h
 * Data, network and values of a run that learns, and the models at time 0.
 */
#ifndef DSGD_SIM_ENGINE_LEARNING_H
#define DSGD_SIM_ENGINE_LEARNING_H

#include "sim/engine/engine.h"

/** Whether this run computes models. */
bool dsgd_learns(const dsgd_run_config *config);

/** Opens what the run needs of data, network, values and recorder; the imbalance must be open. */
dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_learning_close(dsgd_engine *engine);

/** Sets the models of all workers and servers at time 0. */
void dsgd_learning_begin(dsgd_engine *engine);

/** Releases vectors and optimizer state: the evaluations left then need less memory. */
void dsgd_learning_end(dsgd_engine *engine);

/** How the training samples are handed out in this run; its data must be loaded. */
dsgd_stream dsgd_stream_of(const dsgd_engine *engine);

#endif
