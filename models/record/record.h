/**
 * @file record.h
 * Records: the operations on values of a run in a file, to be computed elsewhere (replay.h), where neither SimGrid nor the experiment is.
 * Recording needs no numbers: a store on no device hears the same calls.
 */
#ifndef DSGD_MODELS_RECORD_RECORD_H
#define DSGD_MODELS_RECORD_RECORD_H

#include "models/values/values.h"

typedef struct dsgd_record_config {
    const char *path;
    const dsgd_values_config *values; /* of the store that is recorded */
    dsgd_pick model, data; /* what its problem was made of */
    bool in_double;
    const char *about; /* a JSON object: of the run its number ("run"), "label" and "manifest" */
} dsgd_record_config;

/** Writes beside the path; dsgd_recorder_close() puts the file in its place. Then dsgd_values_record(). */
dsgd_status dsgd_recorder_open(const dsgd_record_config *config, dsgd_recorder **recorder,
                               dsgd_error *error);

/** The latest evaluation is a point of the learning curve. NULL hears nothing. */
void dsgd_recorder_point(dsgd_recorder *recorder, double virtual_s, double steps);

/** Ends the file, unless it is not to be kept. Says so if anything could not be written. NULL is closed already. */
dsgd_status dsgd_recorder_close(dsgd_recorder *recorder, bool keep, dsgd_error *error);

#endif
