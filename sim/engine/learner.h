/**
 * @file learner.h Models and their training. learning.c writes this state, except members whose
 * comment names another file.
 */
#pragma once

#include "models/values/values.h"

/**
 * The model of a worker or server, and its training state. Verbs write the chunks of the vectors.
 */
typedef struct dsgd_learner {
    /* [n_pieces] number of local steps of each chunk (written by computation.c) */
    int64_t *local_steps;
    struct dsgd_vector *model; /* current model of the worker or server (written by vectors.c) */
    struct dsgd_vector *initial; /* model of the worker or server at time 0 */
    /* vector that work() and assist() share; NULL before its first use (written by vectors.c) */
    struct dsgd_vector *shared;
    /* [n_pieces] optimizer state of each chunk (written by computation.c) */
    dsgd_value *optimizer_state;
    /*
     * number of local steps that were made before the optimizer state was last reset (written by
     * rejoin.c)
     */
    int64_t state_since;
    /* running statistics and environments of the model; zeros if the network has no such state */
    dsgd_value model_state;
} dsgd_learner;

/** The data, network and values of a run. They are opened before the simulation. */
typedef struct dsgd_learning_state {
    dsgd_data *data; /* training and test data; NULL if the run needs no data */
    dsgd_split *split; /* division of the samples among workers; NULL if samples are not divided */
    /* sampler that gives the imbalance its samples; NULL if the imbalance reads no samples */
    dsgd_sampler *sampler;
    dsgd_network network;
    /* [n_pieces + 1] index of the first parameter of each chunk of the reduced model */
    size_t *piece_begin;
    dsgd_values *values; /* values of vectors; NULL if numerics are off */
    struct {
        /*
         * number of different models that the workers have at the end; 0 if workers' own models are
         * not evaluated
         */
        size_t n;
        size_t *of_worker; /* [n_workers] index of each worker's model in `models` */
        /* [n][n_pieces + 1] values of each model's chunks, then its model state */
        dsgd_value *models;
        /* [n] ticket of the evaluation of model i, which uses part i % n_parts of the test set */
        size_t *tickets;
        uint32_t n_parts;
    } local;
} dsgd_learning_state;
