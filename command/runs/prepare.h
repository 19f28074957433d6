/**
 * @file prepare.h
 * What is looked up once before the runs of an experiment.
 */
#pragma once

#include "command/experiment/experiment.h"

/**
 * Checks data and models: of one run, of every run where an option of `learn` is swept, and of
 * every number of workers where samples are split.
 */
dsgd_status dsgd_prepare_data(const dsgd_experiment *experiment, dsgd_error *error);

/**
 * Tries the GPUs once for all runs. *numerics (dsgd_numerics) changes from `auto` to `cpu` if there
 * is no GPU. *survey describes the GPUs that runs will use; it has no GPUs if no run uses one.
 */
dsgd_status dsgd_prepare_device(const dsgd_experiment *experiment, int *numerics,
                                dsgd_device_survey *survey, dsgd_error *error);

/** Sentences on what is left out of the list of runs, on stderr. */
void dsgd_prepare_left_out(const dsgd_experiment *experiment);

/** A paragraph on each split of samples: how many classes a worker has, and how far they are from
 * all. */
void dsgd_splits_print(const dsgd_experiment *experiment);
