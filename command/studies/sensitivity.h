/**
 * @file sensitivity.h
 * Finds the numbers and choices on which the conclusions of an experiment depend. Varies each
 * number of platform, workload and compression down and up, one number at a time. If no file states
 * the compression speed, varies it by a factor of ten. Also varies collectives and numbers of
 * chunks. Reports the changes of throughputs, of speed-ups over the first algorithm, and of
 * rankings.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Writes FOLDER/sensitivity.csv, and prints the parameters in the order of their effect and the
 * algorithms that swap places. Changes and speed-ups are geometric means of ratios of runs with the
 * same seed. Runs without results are skipped.
 */
dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const dsgd_results *results,
                                    double percent, dsgd_error *error);

/**
 * Reads the value of --sensitivity (a percentage or "choices"), and adds the variations to an open
 * experiment. *percent is NAN if only choices are varied.
 */
dsgd_status dsgd_sensitivity_open(const char *sensitivity, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error);

/**
 * Appends variations of each run. Each used number of platform, workload and compression is
 * multiplied by 1 - percent / 100 and by 1 + percent / 100. The product is limited to the range of
 * the option. If @p percent is NAN, these numbers are not varied. A guessed number is multiplied by
 * 0.1 and 10. Each choice of the exchange takes each of its other values. All runs get the columns
 * `parameter` and `factor`, which are empty for unchanged runs; a choice has no factor. (vary.c)
 */
dsgd_status dsgd_vary(dsgd_experiment *experiment, double percent, dsgd_error *error);
