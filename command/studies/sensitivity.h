/**
 * @file sensitivity.h
 * Finds which conclusions of an experiment depend on which number or choice. Varies every number of
 * its platform, workload and compression down and up, one at a time; the speed of an encoder that
 * no file states by a factor of ten; and collectives and numbers of chunks. Reports the changes of
 * throughputs, of speed-ups over the first algorithm, and of the ranking of the algorithms.
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
 * For each number of platform, workload and compression that a run uses, appends the run with that
 * number times 1 - percent / 100 and times 1 + percent / 100 (none if @p percent is NAN), clipped
 * to the limits of the option. Also appends the run with a guessed number times 0.1 and 10, and
 * with each other choice of its exchange. All runs get the columns `parameter` and `factor`, which
 * are empty for unchanged runs; a choice has no factor. (vary.c)
 */
dsgd_status dsgd_vary(dsgd_experiment *experiment, double percent, dsgd_error *error);
