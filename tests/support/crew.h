/**
 * @file crew.h
 * Workers that train a model by a store of values, for tests of devices.
 */
#pragma once

#include "models/values/values.h"

typedef struct crew {
    dsgd_values *values;
    dsgd_problem problem;
    uint32_t n, batch;
    dsgd_value *x, *v; /* [n][n_pieces] */
    dsgd_value *state; /* [n] */
} crew;

/** Opens the store, whose stream has the number of workers; all workers start at x[n_params]. */
crew crew_open(const dsgd_values_config *config, const double *x);
/** Each worker's gradient, or the mean of all gradients, and an update of its model. */
void crew_step(crew *c, uint64_t step, double lr, bool allreduce);
/** One worker after another takes the mean of its model and of the one @p apart ranks behind. */
void crew_gossip(crew *c, uint64_t step, uint32_t apart);
/** All models, [n][n_params]; none has diverged. */
double *crew_models(const crew *c);
dsgd_evaluation crew_evaluation(const crew *c);
