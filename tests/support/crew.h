/**
 * @file crew.h
 * Workers that train a model through a store of values (models/values/values.h), for tests of
 * devices.
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

/** Opens the store. Its stream has the number of workers. All workers start at x[n_params]. */
crew crew_open(const dsgd_values_config *config, const double *x);
/**
 * Computes the gradient of each worker and updates each model. If @p allreduce, the update uses the
 * mean of all gradients.
 */
void crew_step(crew *c, uint64_t step, double lr, bool allreduce);
/**
 * Mixes one worker after another: worker w takes the mean of its model and the model of worker w +
 * @p apart.
 */
void crew_gossip(crew *c, uint64_t step, uint32_t apart);
/** Returns all models, [n][n_params]. Aborts if a model has diverged. */
double *crew_models(const crew *c);
dsgd_evaluation crew_evaluation(const crew *c);
