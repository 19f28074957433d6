/**
 * @file sensitivity.h
 * Which conclusions of an experiment depend on which number or choice: every number of its
 * platform, workload and encoding is varied alone, down and up, an encoder's speed that nobody
 * stated by a factor of ten, and how exchanges sum and are cut; the changes of throughputs, of
 * speed-ups over the first algorithm and of the ranking of the algorithms are reported.
 */
#pragma once

#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Writes FOLDER/sensitivity.csv, and prints the parameters in the order of their effect and the
 * algorithms that swap places. Changes and speed-ups are geometric means of ratios of runs with the
 * same seed; runs without results are left out.
 */
dsgd_status dsgd_sensitivity_report(const dsgd_experiment *experiment, const dsgd_results *results,
                                    double percent, dsgd_error *error);

/**
 * Reads the value of --sensitivity, per cent or "choices", and adds the variations to an open
 * experiment. *percent is NAN if only choices are varied.
 */
dsgd_status dsgd_sensitivity_open(const char *sensitivity, dsgd_experiment *experiment,
                                  double *percent, dsgd_error *error);

/**
 * Appends, for each number of platform, workload and encoding that a run uses, the run with that
 * number times 1 - percent / 100 and times 1 + percent / 100 (NAN: none of these), clipped to the
 * limits of its option; a guess times 0.1 and 10; and the run with each other choice of its
 * exchange. All runs get the columns `parameter` and `factor`, empty in the unchanged ones; a
 * choice has no factor. (vary.c)
 */
dsgd_status dsgd_vary(dsgd_experiment *experiment, double percent, dsgd_error *error);
