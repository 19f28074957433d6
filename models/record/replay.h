/**
 * @file replay.h
 * Computes a record (record.h): the same curve, on another machine, device or number of threads.
 *
 * Where the run decided by values, the replay follows the record, and counts the decisions whose
 * values differ here.
 */
#pragma once

#include "models/values/values.h"

typedef struct dsgd_replay_config {
    const char *path; /* of the record */
    dsgd_numerics numerics;
    bool has_cuda; /* which `auto` then takes, for float */
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
    char *columns,
        *cells; /* of swept values in curves.csv: the ends of its first line and of rows */
    char *experiment; /* name in the manifest, or NULL */
    size_t n_points;
    dsgd_point *points; /* [n_points] */
    dsgd_divergence divergence;
    uint64_t decisions, different; /* by values; those whose values differ here */
    uint64_t operations;
    const char *device;
    dsgd_values_stats numerics;
    double wall_s;
} dsgd_replay_result;

/**
 * *result is kept (dsgd_keep()). DSGD_EIO if the file is no record, or damaged, or its data or
 * model is missing or another.
 */
dsgd_status dsgd_replay(const dsgd_replay_config *config, dsgd_replay_result *result,
                        dsgd_error *error);

/** The head of a record, as JSON, kept; NULL: the file is no whole record. */
char *dsgd_record_head(const char *path);
