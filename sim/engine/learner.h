/**
 * @file learner.h Models and their training: the state that learning.c writes, except members that
 * name another file.
 */
#pragma once

#include "models/values/values.h"

/** The model of a worker or server. The verbs write the chunks of its vectors. */
typedef struct dsgd_learner {
    int64_t *local_steps; /* [n_pieces] number of local steps (written by computation.c) */
    struct dsgd_vector *model; /* the model (written by vectors.c) */
    struct dsgd_vector *initial; /* model at time 0 */
    /* vector shared by work() and assist(); NULL before its first use (written by vectors.c) */
    struct dsgd_vector *shared;
    dsgd_value *optimizer_state; /* [n_pieces] optimizer state (written by computation.c) */
    /* local steps made before the optimizer state was reset (written by rejoin.c) */
    int64_t state_since;
    dsgd_value model_state; /* running statistics and environments; zeros if the network has none */
} dsgd_learner;

/** The data, network and values of a run, opened before the simulation. */
typedef struct dsgd_learning_state {
    dsgd_data *data; /* NULL if the run needs no data */
    dsgd_split *split; /* NULL if samples are not divided among workers */
    dsgd_sampler *sampler; /* set if the imbalance reads samples */
    dsgd_network network;
    size_t *piece_begin; /* [n_pieces + 1] first parameter of each chunk of the reduced model */
    dsgd_values *values; /* NULL if numerics are off */
    struct {
        size_t n; /* number of different models of workers; 0 if they are not evaluated */
        size_t *of_worker; /* [n_workers] index of the worker's model */
        dsgd_value *models; /* [n][n_pieces + 1] values of the model, then its state */
        /* [n] ticket of the evaluation of model i on part i % n_parts of the test set */
        size_t *tickets;
        uint32_t n_parts;
    } local;
} dsgd_learning_state;
