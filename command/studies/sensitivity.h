/**
 * @file sensitivity.h
 * Finds the numbers and choices on which the conclusions of an experiment depend. Varies each
 * number of platform, workload and compression down and up, one number at a time. If no file
 * contains the compression speed, varies this speed by a factor of ten. Also varies collectives and
 * numbers of chunks. Prints the changes of throughputs, of speed-ups over the first algorithm, and
 * of rankings.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Writes FOLDER/sensitivity.csv. Prints the parameters, the parameter with the largest effect
 * first, and the algorithms whose order changes. Changes and speed-ups are geometric means of
 * ratios of runs with the same seed. Skips runs without results.
 */
dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const dsgd_results *results,
                                    double percent, dsgd_error *error);

/**
 * Reads the value of option --sensitivity: a percentage or "choices". Adds the variations to an
 * open experiment. *percent is NAN if only choices are varied.
 */
dsgd_status dsgd_sensitivity_open(const char *sensitivity, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error);

/**
 * Appends variations of each run. Multiplies each number of platform, workload and compression that
 * the run uses by 1 - percent / 100 and by 1 + percent / 100. Limits the product to the range of
 * the option. If @p percent is NAN, does not vary these numbers. Multiplies a guessed number by 0.1
 * and by 10. Replaces each choice of the exchange by each of its other values. All runs get the
 * columns `parameter` and `factor`, which are empty for unchanged runs. A choice has no factor.
 * (vary.c)
 */
dsgd_status dsgd_vary(dsgd_experiment *experiment, double percent, dsgd_error *error);
