/**
 * @file list.h
 * Of experiment.c and list.c alone: what is checked once all runs have been read.
 */
#ifndef DSGD_COMMAND_EXPERIMENT_LIST_H
#define DSGD_COMMAND_EXPERIMENT_LIST_H

#include "command/experiment/experiment.h"

/**
 * Leaves out what an algorithm refuses, such as 6 workers in groups of 4. Of an algorithm that
 * refuses everything all stays, to be refused.
 */
void dsgd_experiment_leave_out(dsgd_experiment *experiment, size_t n_algorithms);

/** Refuses runs that results could not tell apart, and prices that could not be compared. */
dsgd_status dsgd_experiment_refuse_alike(const dsgd_experiment *experiment, dsgd_error *error);

#endif
