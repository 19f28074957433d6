/**
 * @file learner.h
 * Models and what is computed of them: the state that learning.c writes, but for members that name
 * another file.
 */
#pragma once

#include "models/values/values.h"

/** The model of a worker or server. The verbs write the vectors' pieces. */
typedef struct dsgd_learner {
    int64_t *local_steps; /* [n_pieces] made; computation.c's */
    struct dsgd_vector *model; /* vectors.c's */
    struct dsgd_vector *initial; /* the model at time 0 */
    struct dsgd_vector *shared; /* by work and assist; NULL before first use; vectors.c's */
    dsgd_value *optimizer_state; /* [n_pieces]; computation.c's */
    int64_t state_since; /* local steps made before that state was begun again; rejoin.c's */
    dsgd_value model_state; /* running statistics, environments; zeros where the network has none */
} dsgd_learner;

/** Data, network and values of a run, opened before the simulation. */
typedef struct dsgd_learning_state {
    dsgd_data *data; /* NULL: none is needed */
    dsgd_split *split; /* NULL: samples are not divided */
    dsgd_sampler *sampler; /* where the imbalance reads samples */
    dsgd_network network;
    size_t *piece_begin; /* [n_pieces + 1], of the reduced model's parameters */
    dsgd_values *values; /* NULL: numerics off */
    struct {
        size_t n; /* different models that workers have of their own; 0: they are not evaluated */
        size_t *of_worker; /* [n_workers] index of the model */
        dsgd_value *models; /* [n][n_pieces + 1] with the model's state */
        size_t *tickets; /* [n] model i on part i % n_parts of the test set */
        uint32_t n_parts;
    } local;
} dsgd_learning_state;
