/**
 * @file sensitivity.h
 * Which conclusions of an experiment hang on which calibrated parameter: the experiment again with each of them a little smaller and a
 * little larger, one at a time, and what that does to throughputs, to speed-ups over a baseline, and to the ranking of the algorithms.
 */
#ifndef DSGD_COMMAND_ANALYSE_SENSITIVITY_H
#define DSGD_COMMAND_ANALYSE_SENSITIVITY_H

#include "command/experiment/experiment.h"

/**
 * Adds to the runs of an experiment, behind them, each of them with one parameter of its platform or workload times 1 - percent / 100 and
 * times 1 + percent / 100: every one that is measured or fitted, and not 0. What would leave the limits of its option stops there. The runs
 * get the columns `parameter` and `factor`, empty in those that are unchanged. @p percent is above 0 and below 100.
 */
dsgd_status dsgd_sensitivity_vary(dsgd_experiment *experiment, double percent, dsgd_error *error);

/** Refuses a baseline that is none of the algorithms' labels; NULL stands for the first of the list. */
dsgd_status dsgd_sensitivity_check(const dsgd_experiment *experiment, const char *baseline,
                                   dsgd_error *error);

/**
 * Writes sensitivity.csv into the folder of the results, and prints the parameters in the order of their effect and the algorithms that
 * swap places. Everything is the mean over seeds of ratios of runs with the same seed; runs without results are left out.
 */
dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const char *folder,
                                    double percent, const char *baseline, dsgd_error *error);

#endif
