/**
 * @file prepare.h
 * Checks data and devices once before an experiment's runs start, and prints facts about the runs.
 */
#pragma once

#include "command/experiment/experiment.h"

/**
 * Checks the training data and models of one run. If an option of `learn` is swept, checks all
 * runs. If samples are split, checks all numbers of workers.
 */
dsgd_status dsgd_prepare_data(const dsgd_experiment *experiment, dsgd_error *error);

/**
 * Tests the GPUs once for all runs. If there is no GPU, changes *numerics (dsgd_numerics) from
 * `auto` to `cpu`. *survey describes the GPUs that runs will use. It is empty if no run uses a GPU.
 */
dsgd_status dsgd_prepare_device(const dsgd_experiment *experiment, int *numerics,
                                dsgd_device_survey *survey, dsgd_error *error);

/** Prints the skipped runs and the reasons on stderr. */
void dsgd_prepare_left_out(const dsgd_experiment *experiment);

/**
 * Prints a paragraph on each split of samples. The paragraph contains the number of classes per
 * worker, and the distance of a worker's distribution from the distribution of all samples.
 */
void dsgd_splits_print(const dsgd_experiment *experiment);
