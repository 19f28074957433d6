/**
 * @file data.h
 * Data sets that reduced models learn from, and which sample a worker sees when.
 */
#ifndef DSGD_MODELS_DATA_DATA_H
#define DSGD_MODELS_DATA_DATA_H

#include <stdint.h>

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_data_kind {
    DSGD_DATA_POINTS, /* one row of numbers each */
    DSGD_DATA_IMAGES, /* a row a pixel, line by line */
    DSGD_DATA_SEQUENCES, /* a row a step; samples may be shorter than n_rows */
    DSGD_DATA_TOKENS, /* a row a token, labelled by the one that follows */
    DSGD_DATA_STEPS /* no samples: a sample is a step that a policy takes in an environment (environment.h) */
} dsgd_data_kind;

/** Samples of one part (training or test) of a data set. One of x_bytes and x_real is set, or neither for STEPS. */
typedef struct dsgd_samples {
    uint32_t n;
    uint8_t *
        x_bytes; /* [n][n_features], to be normalised as (x / 255 - mean) / deviation; tokens: as they are */
    float *x_real; /* [n][n_features], used as they are */
    uint8_t *labels; /* [n][n_labels] classes, for classification */
    float *targets; /* [n] values, for regression */
    uint16_t *lengths; /* [n] rows that a sample really has, the first ones; NULL: all */
} dsgd_samples;

typedef struct dsgd_data {
    dsgd_data_kind kind;
    uint32_t n_rows, n_columns; /* of a sample */
    uint32_t width; /* of an image, in pixels */
    uint32_t n_features; /* n_rows * n_columns */
    uint32_t n_labels; /* per sample */
    uint32_t n_classes; /* 0 for regression */
    float mean, deviation;
    uint64_t seed; /* STEPS: of the environments' draws */
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

/** Rows of the mini-batch of worker @p w's step @p t: of all its samples, and of the longest one. */
void dsgd_stream_rows(const dsgd_stream *stream, const dsgd_data *data, uint32_t w, uint64_t t,
                      double *rows, double *longest);

/** Index into the training set of sample @p j of worker @p w's step @p t. */
uint32_t dsgd_stream_sample(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j);

#endif
