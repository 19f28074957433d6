/**
 * @file data.h
 * Data sets for reduced models, and the order in which workers use their samples.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_data_kind {
    DSGD_DATA_POINTS, /* one row of features */
    DSGD_DATA_IMAGES, /* one row per pixel, line by line */
    DSGD_DATA_SEQUENCES, /* one row per step; samples can be shorter than n_rows */
    DSGD_DATA_TOKENS, /* one row per token, labelled by the next token */
    /* no stored samples: a sample is a step of a policy in an environment (environment.h) */
    DSGD_DATA_STEPS
} dsgd_data_kind;

/** Training or test samples. One of x_bytes and x_real is set; neither is set for STEPS. */
typedef struct dsgd_samples {
    uint32_t n;
    /* [n][n_features]: feature = (byte / 255 - mean) / deviation; TOKENS: the token */
    uint8_t *x_bytes;
    float *x_real; /* [n][n_features] */
    uint8_t *labels; /* [n][n_labels], classes; NULL for regression */
    float *targets; /* [n]; NULL for classification */
    uint16_t *lengths; /* [n] number of valid rows, the first ones; NULL: all rows are valid */
} dsgd_samples;

typedef struct dsgd_data {
    dsgd_data_kind kind;
    uint32_t n_rows, n_columns; /* of a sample */
    uint32_t width; /* of an image, in pixels */
    uint32_t n_features; /* n_rows * n_columns */
    uint32_t n_labels; /* per sample: 0 or 1; n_rows for TOKENS */
    uint32_t n_classes; /* 0 for regression */
    float mean, deviation;
    uint64_t seed; /* for the random numbers of environments (STEPS) */
    dsgd_samples train, test;
} dsgd_data;

/** A data source that a user can name: "fashion-mnist", "idx", "hyperplane", ... */
typedef struct dsgd_data_source {
    dsgd_entry about;
    bool seeded; /* the data depend on the seed */
    /** Reads or generates *data; free it with dsgd_data_free(). Returns DSGD_EIO with the file's
     * name. */
    dsgd_status (*load)(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error);
} dsgd_data_source;

extern const dsgd_entry *const dsgd_data_sources[]; /* NULL-terminated */

/**
 * Defines the source NAME with NAME_load() and the given fields of dsgd_entry. SEEDED is true if
 * the data depend on the seed.
 */
#define DSGD_DATA_SOURCE(NAME, SEEDED, ...)                                                        \
    extern const dsgd_data_source dsgd_data_##NAME;                                                \
    const dsgd_data_source dsgd_data_##NAME = {                                                    \
        .about = {__VA_ARGS__}, .seeded = SEEDED, .load = NAME##_load}

/**
 * Loads the data of @p pick, unless this process or its parent has kept them. With @p keep the data
 * are kept, if there is room, so that they are read once for all processes that this one forks. The
 * data must not be changed. Close them with dsgd_data_close(). (open.c)
 */
dsgd_status dsgd_data_open(const dsgd_spec *pick, uint64_t seed, bool keep, dsgd_data **data,
                           dsgd_error *error);

/** Returns true if there is room to keep another data set of the size of the last one. */
bool dsgd_data_has_room(void);

/** Frees the data unless they are kept. @p data may be NULL. */
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
 * The order of training samples. With P workers of batch b, sample j of worker w's step t is at
 * position (t * P + w) * b + j of one global stream. Each epoch of the stream is a new random
 * permutation of the training set. P workers of batch b therefore use the same samples as one
 * worker of batch P * b. If samples are split, each worker has a stream of its own samples, in
 * which sample j of step t is at position t * b + j.
 */
typedef struct dsgd_stream {
    uint64_t seed;
    uint32_t n_samples; /* of the training set */
    uint32_t n_workers;
    uint32_t batch; /* per worker and step */
    const dsgd_split *split; /* the worker of each sample (split.h); NULL: all workers share all */
} dsgd_stream;

/**
 * Returns the number of mini-batches of worker @p w, at least 1, if workers have their own ones
 * (split.h).
 */
uint32_t dsgd_stream_batches(const dsgd_stream *stream, uint32_t w);
/** Returns the number of the mini-batch of step @p t. Each epoch has all of them, in random order.
 */
uint32_t dsgd_stream_batch(const dsgd_stream *stream, uint32_t w, uint64_t t);

/** Produces the mini-batches of a stream, as indices into the training set. For one thread. */
typedef struct dsgd_sampler dsgd_sampler;

dsgd_sampler *dsgd_sampler_new(const dsgd_stream *stream);
/**
 * indices[count] <- the first samples of worker @p w's step @p t. If samples are not split, those
 * of the next workers follow them.
 */
void dsgd_sampler_draw(dsgd_sampler *sampler, uint32_t w, uint64_t t, uint32_t count,
                       uint32_t *indices);
/** *rows <- rows of all samples in worker @p w's mini-batch of step @p t; *longest <- rows of the
 * longest sample. */
void dsgd_sampler_rows(dsgd_sampler *sampler, const dsgd_data *data, uint32_t w, uint64_t t,
                       double *rows, double *longest);
void dsgd_sampler_free(dsgd_sampler *sampler);
