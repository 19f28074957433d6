/**
 * @file record.h
 * Records the calls to a store in a file, for replay.h on a machine without SimGrid or the
 * experiment. Nothing needs to be computed: a store on the device "off" makes the same calls.
 */
#pragma once

#include "models/values/values.h"

typedef struct dsgd_record_config {
    const char *path;
    const dsgd_values_config *values; /* of the store that is recorded */
    dsgd_spec model, data; /* of its problem */
    bool in_double;
    const char *about; /* JSON object: the run's number "run", its "label" and "manifest" */
    dsgd_spec split; /* of the problem's samples; about == NULL: iid */
    int n_servers; /* whose operations have n_workers + their rank as origin */
} dsgd_record_config;

/** Creates PATH.part, for dsgd_values_record(); dsgd_recorder_close() renames it. */
dsgd_status dsgd_recorder_open(const dsgd_record_config *config, dsgd_recorder **recorder,
                               dsgd_error *error);

/** The latest evaluation is a point of the learning curve. NULL does nothing. */
void dsgd_recorder_point(dsgd_recorder *recorder, double virtual_s, double steps);

/** Completes the file, or deletes it unless @p keep; DSGD_EIO if a write failed. NULL: nothing. */
dsgd_status dsgd_recorder_close(dsgd_recorder *recorder, bool keep, dsgd_error *error);
