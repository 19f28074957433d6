/**
 * @file data.h
 * Data sets for reduced models, and the order in which workers use their samples.
 */
#pragma once

#include "base/option.h"
#include "base/status.h"

typedef enum dsgd_data_kind {
    DSGD_DATA_POINTS, /* each sample is one row of features */
    DSGD_DATA_IMAGES, /* each sample has one row per pixel, line by line */
    DSGD_DATA_SEQUENCES, /* each sample has one row per step of a sequence, and can have fewer rows
                          * than n_rows */
    DSGD_DATA_TOKENS, /* each sample has one row per token; the label of a row is the next token */
    /* No samples are stored: a sample is a step of a policy in an environment (environment.h). */
    DSGD_DATA_STEPS
} dsgd_data_kind;

/** Training or test samples. Either x_bytes or x_real is set. For STEPS, neither is set. */
typedef struct dsgd_samples {
    uint32_t n;
    /*
     * features as bytes, [n][n_features]; the value of a feature is (byte / 255 - mean) /
     * deviation. For TOKENS, a byte is a token.
     */
    uint8_t *x_bytes;
    float *x_real; /* features, [n][n_features] */
    uint8_t *labels; /* class labels, [n][n_labels]; NULL for regression */
    float *targets; /* regression targets, n entries; NULL for classification */
    uint16_t *lengths; /* valid rows of each sample, n entries; NULL if all rows are valid */
} dsgd_samples;

typedef struct dsgd_data {
    dsgd_data_kind kind;
    uint32_t n_rows, n_columns; /* numbers of rows and columns of a sample */
    uint32_t width; /* width of an image, in pixels */
    uint32_t n_features; /* number of features of a sample: n_rows * n_columns */
    uint32_t n_labels; /* number of labels per sample: 0 or 1, or n_rows for TOKENS */
    uint32_t n_classes; /* number of classes; 0 for regression */
    float mean, deviation;
    uint64_t seed; /* seed for the random numbers of environments (STEPS) */
    dsgd_samples train, test;
} dsgd_data;

/** A data source that a user can name, for example "fashion-mnist", "idx" or "hyperplane". */
typedef struct dsgd_data_source {
    dsgd_entry about;
    bool seeded; /* true if the data depend on the seed */
    /**
     * Reads or generates *data. The caller frees *data with dsgd_data_free(). If a file cannot be
     * read, returns DSGD_EIO, and the error contains the file's name.
     */
    dsgd_status (*load)(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error);
} dsgd_data_source;

extern const dsgd_entry *const dsgd_data_sources[]; /* table of all data sources; NULL ends the
                                                     * table */

/**
 * Defines data source dsgd_data_NAME with function NAME_load() and the given fields of dsgd_entry.
 * SEEDED must be true if the data depend on the seed.
 */
#define DSGD_DATA_SOURCE(NAME, SEEDED, ...)                                                        \
    extern const dsgd_data_source dsgd_data_##NAME;                                                \
    const dsgd_data_source dsgd_data_##NAME = {                                                    \
        .about = {__VA_ARGS__}, .seeded = SEEDED, .load = NAME##_load}

/**
 * Loads the data of @p pick, or returns the data that this process or its parent has kept. If @p
 * keep is true and there is room, the data are kept, so that processes that this process forks need
 * not load them again. The caller must not change the data and must close them with
 * dsgd_data_close(). (open.c)
 */
dsgd_status dsgd_data_open(const dsgd_spec *pick, uint64_t seed, bool keep, dsgd_data **data,
                           dsgd_error *error);

/**
 * Returns true if the process has room to keep another data set as large as the last data set that
 * it loaded.
 */
bool dsgd_data_has_room(void);

/** Frees the data unless this process keeps them. @p data may be NULL. */
void dsgd_data_close(dsgd_data *data);

/** Frees @p data, which may be NULL. */
void dsgd_data_free(dsgd_data *data);

/**
 * Reads a plain or gzipped file of at most @p most bytes into *bytes, and stores its size in *n.
 * The caller frees *bytes, also after an error.
 */
dsgd_status dsgd_data_read_file(const char *path, size_t most, uint8_t **bytes, size_t *n,
                                dsgd_error *error);

typedef struct dsgd_split dsgd_split;

/**
 * The order of training samples. Let P workers have batch size b. Without a split, there is one
 * global stream. In this stream, sample j of step t of worker w is at position (t * P + w) * b + j.
 * Each epoch of the stream is a new random permutation of the training set. P workers of batch b
 * therefore use the same samples as one worker of batch P * b. With a split, each worker has a
 * stream of its own samples. In this stream, sample j of step t is at position t * b + j.
 */
typedef struct dsgd_stream {
    uint64_t seed;
    uint32_t n_samples; /* number of samples of the training set */
    uint32_t n_workers;
    uint32_t batch; /* number of samples per worker and step */
    const dsgd_split *split; /* owner of each sample (split.h); NULL if all workers share all
                              * samples */
} dsgd_stream;

/**
 * Returns the number of mini-batches of worker @p w, at least 1. Requires a split (split.h).
 */
uint32_t dsgd_stream_batches(const dsgd_stream *stream, uint32_t w);
/**
 * Returns the number of the mini-batch that worker @p w uses in step @p t. In each epoch, the
 * worker uses all of its mini-batches once, in random order.
 */
uint32_t dsgd_stream_batch(const dsgd_stream *stream, uint32_t w, uint64_t t);

/**
 * Produces the mini-batches of a stream, as indices into the training set. Only one thread may use
 * it.
 */
typedef struct dsgd_sampler dsgd_sampler;

dsgd_sampler *dsgd_sampler_new(const dsgd_stream *stream);
/**
 * Stores in indices[count] the first @p count samples of step @p t of worker @p w. If samples are
 * not split and @p count exceeds the batch size, the samples of the next workers follow.
 */
void dsgd_sampler_draw(dsgd_sampler *sampler, uint32_t w, uint64_t t, uint32_t count,
                       uint32_t *indices);
/**
 * Counts the rows of the mini-batch of worker @p w in step @p t. Stores in *rows the number of rows
 * of all samples, and in *longest the number of rows of the longest sample.
 */
void dsgd_sampler_rows(dsgd_sampler *sampler, const dsgd_data *data, uint32_t w, uint64_t t,
                       double *rows, double *longest);
void dsgd_sampler_free(dsgd_sampler *sampler);
