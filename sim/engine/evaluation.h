/**
 * @file evaluation.h
 * When models are evaluated, and the points of the learning curve.
 */
#ifndef DSGD_SIM_ENGINE_EVALUATION_H
#define DSGD_SIM_ENGINE_EVALUATION_H

#include "sim/engine/engine.h"

/** The i-th regular evaluation is due after i * learn.evaluate.every * P steps of all workers. */
void dsgd_evaluation_open(dsgd_engine *engine);
void dsgd_evaluation_close(dsgd_engine *engine);

/** Evaluates the mean model; needs numerics. Returns the accuracy if `until` reads it, else NAN. */
double dsgd_evaluate_now(dsgd_engine *engine);

/** Evaluates if a regular evaluation is due: dsgd_evaluate_now() into @p accuracy. */
bool dsgd_evaluate_if_due(dsgd_engine *engine, double *accuracy);

/** The evaluations of the run's last instant; needs numerics. */
void dsgd_evaluate_last(dsgd_engine *engine);

/** Fills the result with the evaluations and a divergence. Waits in wall time. */
void dsgd_sum_up_learning(dsgd_engine *engine);

#endif
