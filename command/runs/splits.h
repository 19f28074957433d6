/**
 * @file splits.h
 * Whose the training samples of an experiment are, where they are split (models/data/split.h).
 */
#ifndef DSGD_COMMAND_RUNS_SPLITS_H
#define DSGD_COMMAND_RUNS_SPLITS_H

#include "command/experiment/experiment.h"

/** Whether the samples of run @p i are split. */
bool dsgd_splits_has(const dsgd_experiment *experiment, size_t i);

/** A paragraph on each split: how many classes a worker has, and how far they are from all. */
void dsgd_splits_print(const dsgd_experiment *experiment);

/** Writes FOLDER/labels.csv, of each worker's classes; removes it where nothing is split. */
dsgd_status dsgd_splits_write(const dsgd_experiment *experiment, const char *folder,
                              dsgd_error *error);

#endif
