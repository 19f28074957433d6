/**
 * @file rows.h
 * Formats the settings and results of a run for tables and progress lines.
 */
#pragma once

#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/**
 * Adds a row for run @p i to a table. The row contains the cells that are known before the run
 * starts.
 */
void dsgd_row_plan(dsgd_columns *t, const dsgd_experiment *experiment, size_t i);

/**
 * Returns true if column @p k is shown as a swept column. The columns of workers and seeds are not
 * shown, because every row already contains these numbers.
 */
bool dsgd_row_shows(const dsgd_experiment *experiment, size_t k);

/**
 * Returns the value of swept column @p k in run @p i with its unit. Returns "" if the sweep does
 * not apply to the run.
 */
const char *dsgd_row_value(const dsgd_experiment *experiment, size_t i, size_t k);

/**
 * Returns a text with the swept values of run @p i, such as "group=4 collective=ring". If only one
 * swept column is shown, returns only the value, such as "4".
 */
char *dsgd_row_swept(const dsgd_experiment *experiment, size_t i);

/**
 * Returns a field of runs.csv as a number with four significant digits, or without decimals from
 * 1,000 on. Returns "-" if the field is empty.
 */
const char *dsgd_row_result(const dsgd_results *results, size_t i, const char *name);
