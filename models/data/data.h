/**
 * @file data.h
 * Data sets for reduced models, and the order in which workers see their samples.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_data_kind {
    DSGD_DATA_POINTS, /* one row of features */
    DSGD_DATA_IMAGES, /* one row per pixel, line by line */
    DSGD_DATA_SEQUENCES, /* one row per step; samples may be shorter than n_rows */
    DSGD_DATA_TOKENS, /* one row per token, labelled by the next token */
    /* no stored samples: a sample is a step of a policy in an environment (environment.h) */
    DSGD_DATA_STEPS
} dsgd_data_kind;

/** The training or test samples. One of x_bytes, x_real is set; neither for STEPS. */
typedef struct dsgd_samples {
    uint32_t n;
    /* [n][n_features]: feature = (byte / 255 - mean) / deviation; TOKENS: the token */
    uint8_t *x_bytes;
    float *x_real; /* [n][n_features] */
    uint8_t *labels; /* [n][n_labels], classes; NULL for regression */
    float *targets; /* [n]; NULL for classification */
    uint16_t *lengths; /* [n]: the first rows of a sample, which are valid; NULL: all rows */
} dsgd_samples;

typedef struct dsgd_data {
    dsgd_data_kind kind;
    uint32_t n_rows, n_columns; /* of a sample */
    uint32_t width; /* of an image, in pixels */
    uint32_t n_features; /* n_rows * n_columns */
    uint32_t n_labels; /* per sample: 0 or 1; n_rows for TOKENS */
    uint32_t n_classes; /* 0 for regression */
    float mean, deviation;
    uint64_t seed; /* of the draws of environments (STEPS) */
    dsgd_samples train, test;
} dsgd_data;

/** A data source that a user can name: "fashion-mnist", "idx", "hyperplane", ... */
typedef struct dsgd_data_source {
    dsgd_entry about;
    bool seeded; /* the seed decides what is loaded */
    /** Reads or generates *data, for dsgd_data_free(). Errors: DSGD_EIO naming the file. */
    dsgd_status (*load)(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error);
} dsgd_data_source;

extern const dsgd_entry *const dsgd_data_sources[]; /* NULL-terminated */

/**
 * Defines the source NAME with NAME_load() and the fields of dsgd_entry that are given; SEEDED:
 * whether it reads the seed.
 */
#define DSGD_DATA_SOURCE(NAME, SEEDED, ...)                                                        \
    extern const dsgd_data_source dsgd_data_##NAME;                                                \
    const dsgd_data_source dsgd_data_##NAME = {                                                    \
        .about = {__VA_ARGS__}, .seeded = SEEDED, .load = NAME##_load}

/**
 * Loads what @p pick names, or takes what this process has kept, or the one that forked it. With
 * @p keep it is kept, to be read once for all the processes that this one forks, if there is room.
 * Close it by dsgd_data_close(). Nobody may change it. (open.c)
 */
dsgd_status dsgd_data_open(const dsgd_spec *pick, uint64_t seed, bool keep, dsgd_data **data,
                           dsgd_error *error);

/** Whether one more like the last would be kept. */
bool dsgd_data_has_room(void);

/** Frees it unless it is kept. @p data may be NULL. */
void dsgd_data_close(dsgd_data *data);

/** Frees @p data, which may be NULL. */
void dsgd_data_free(dsgd_data *data);

/**
 * Reads a file, plain or gzipped, of at most @p most bytes. The caller frees *bytes [*n], also
 * after an error.
 */
dsgd_status dsgd_data_read_file(const char *path, size_t most, uint8_t **bytes, size_t *n,
                                dsgd_error *error);

typedef struct dsgd_split dsgd_split;

/**
 * The order of training samples: sample j of worker w's step t is at position (t * P + w) * b + j
 * of one global stream, P workers of batch b. Each epoch of the stream is a new random permutation
 * of the training set. So P workers of batch b see the samples of one worker of batch P * b. Where
 * samples are split, each worker has a stream of its own ones, in which sample j of step t is at
 * t * b + j.
 */
typedef struct dsgd_stream {
    uint64_t seed;
    uint32_t n_samples; /* of the training set */
    uint32_t n_workers;
    uint32_t batch; /* per worker and step */
    const dsgd_split *split; /* whose the samples are (split.h); NULL: everybody's */
} dsgd_stream;

/**
 * Mini-batches of worker @p w, 1 or more, where each has its own (split.h); the number of that of
 * step
 * @p t. All come in each epoch, in a random order.
 */
uint32_t dsgd_stream_batches(const dsgd_stream *stream, uint32_t w);
uint32_t dsgd_stream_batch(const dsgd_stream *stream, uint32_t w, uint64_t t);

/** Draws mini-batches of a stream: indices into the training set. For one thread. */
typedef struct dsgd_sampler dsgd_sampler;

dsgd_sampler *dsgd_sampler_new(const dsgd_stream *stream);
/**
 * indices[count] <- the first samples of worker @p w's step @p t. Where samples are not split,
 * those of the next workers follow them.
 */
void dsgd_sampler_draw(dsgd_sampler *sampler, uint32_t w, uint64_t t, uint32_t count,
                       uint32_t *indices);
/** Rows of worker @p w's mini-batch at step @p t: sum over its samples, and the longest one. */
void dsgd_sampler_rows(dsgd_sampler *sampler, const dsgd_data *data, uint32_t w, uint64_t t,
                       double *rows, double *longest);
void dsgd_sampler_free(dsgd_sampler *sampler);
