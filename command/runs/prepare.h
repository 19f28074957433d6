/**
 * @file prepare.h
 * Checks and prints what is needed once before the runs of an experiment.
 */
#pragma once

#include "command/experiment/experiment.h"

/**
 * Checks data and models: of one run, of every run if an option of `learn` is swept, and of every
 * number of workers if samples are split.
 */
dsgd_status dsgd_prepare_data(const dsgd_experiment *experiment, dsgd_error *error);

/**
 * Tries the GPUs once for all runs. *numerics (dsgd_numerics) changes from `auto` to `cpu` if there
 * is no GPU. *survey describes the GPUs that runs will use; it has no GPUs if no run uses one.
 */
dsgd_status dsgd_prepare_device(const dsgd_experiment *experiment, int *numerics,
                                dsgd_device_survey *survey, dsgd_error *error);

/** Prints on stderr which runs are left out of the list, and why. */
void dsgd_prepare_left_out(const dsgd_experiment *experiment);

/**
 * Prints a paragraph on each split of samples: how many classes a worker has, and how far its
 * distribution is from that of all samples.
 */
void dsgd_splits_print(const dsgd_experiment *experiment);
