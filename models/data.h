/**
 * @file data.h
 * Data sets that reduced models learn from, and which sample a worker sees when.
 */
#ifndef DSGD_MODELS_DATA_H
#define DSGD_MODELS_DATA_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

/** Samples of one part (training or test) of a data set. One of x_bytes and x_real is set. */
typedef struct dsgd_samples {
    uint32_t n;
    uint8_t *x_bytes; /* [n][n_features], to be normalised as (x / 255 - mean) / deviation */
    float *x_real; /* [n][n_features], used as they are */
    uint8_t *labels; /* [n] classes, for classification */
    float *targets; /* [n] values, for regression */
} dsgd_samples;

typedef struct dsgd_data {
    uint32_t n_features;
    uint32_t n_classes; /* 0 for regression */
    float mean, deviation;
    dsgd_samples train, test;
} dsgd_data;

/** A source of data that a user can name: "fashion-mnist", "idx", "hyperplane". */
typedef struct dsgd_data_source {
    dsgd_about about;
    /** Reads or generates. Errors name the file and what is wrong with it. The data is released by dsgd_data_free(). */
    dsgd_status (*load)(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error);
} dsgd_data_source;

extern const dsgd_about *const dsgd_data_sources[]; /* NULL-terminated */

void dsgd_data_free(dsgd_data *data);

/**
 * How the training samples are handed out: sample j of worker w's step t is position (t * P + w) * b + j of one global stream,
 * which is a fresh random permutation of the training set in each epoch. So P workers of batch b see what one of batch P * b sees.
 */
typedef struct dsgd_stream {
    uint64_t seed;
    uint32_t n_samples; /* of the training set */
    uint32_t n_workers;
    uint32_t batch; /* per worker and step */
} dsgd_stream;

/** Index into the training set of sample @p j of worker @p w's step @p t. */
uint32_t dsgd_stream_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j);

#endif
