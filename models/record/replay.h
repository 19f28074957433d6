/**
 * @file replay.h
 * Computes what a record (record.h) tells: the same curve, on another machine, device or number of threads.
 *
 * What the run decided by values stays decided: a replay follows the record, and counts where its own numbers were others.
 */
#ifndef DSGD_MODELS_RECORD_REPLAY_H
#define DSGD_MODELS_RECORD_REPLAY_H

#include "models/values/values.h"

typedef struct dsgd_replay_config {
    const char *path; /* of the record */
    dsgd_numerics numerics;
    int precision; /* 0 float, 1 double, -1 as recorded */
    uint32_t threads;
    size_t memory_bytes; /* as in dsgd_values_config */
    size_t n_data;
    const char *const
        *data; /* [n_data] "option=value" of the data source, such as where its files are here */
    void (*progress)(void *argument, double share); /* optional */
    void *argument;
} dsgd_replay_config;

typedef struct dsgd_replay_result {
    size_t run; /* its number in the experiment */
    char *label; /* of the algorithm */
    int workers;
    uint64_t seed;
    char *experiment; /* its name, out of the manifest; NULL: it has none */
    size_t n_points;
    dsgd_point *points; /* [n_points] */
    dsgd_divergence divergence;
    uint64_t decisions, different; /* by values; and where the values are others here */
    uint64_t operations;
    const char *device;
    dsgd_values_stats numerics;
    double wall_s;
} dsgd_replay_result;

/** DSGD_EIO with a sentence for what is no record, damaged, or made of data and models that are not here. */
dsgd_status dsgd_replay(const dsgd_replay_config *config, dsgd_replay_result *result,
                        dsgd_error *error);
void dsgd_replay_result_free(dsgd_replay_result *result);

#endif
