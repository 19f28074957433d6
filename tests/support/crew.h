/**
 * @file crew.h
 * Workers that train a model through a store of values (models/values/values.h). Tests of devices
 * use them.
 */
#pragma once

#include "models/values/values.h"

typedef struct crew {
    dsgd_values *values;
    dsgd_problem problem;
    uint32_t n, batch;
    dsgd_value *x, *v; /* models and momenta of the workers, [n][n_pieces] values each */
    dsgd_value *state; /* state value of each worker, such as batch norm statistics; [n] values */
} crew;

/**
 * Opens the store. The stream of samples has the number of workers. All workers start with the
 * model x[n_params].
 */
crew crew_open(const dsgd_values_config *config, const double *x);
/**
 * Computes the gradient of each worker and updates each model. If @p allreduce is true, each update
 * uses the mean of all gradients.
 */
void crew_step(crew *c, uint64_t step, double lr, bool allreduce);
/**
 * Mixes the models of one worker after another. Each worker w takes the mean of its model and the
 * model of worker w + @p apart.
 */
void crew_gossip(crew *c, uint64_t step, uint32_t apart);
/** Returns the models of all workers as an array [n][n_params]. Aborts if a model has diverged. */
double *crew_models(const crew *c);
dsgd_evaluation crew_evaluation(const crew *c);
