/**
 * @file rows.h
 * Texts that describe a run and its results, for tables and progress.
 */
#pragma once

#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** Adds a row for run @p i, with the cells that are known before it starts. */
void dsgd_row_plan(dsgd_columns *t, const dsgd_experiment *experiment, size_t i);

/**
 * Returns whether column @p k is shown as a swept column. Workers and seeds are not, because every
 * row has them.
 */
bool dsgd_row_shows(const dsgd_experiment *experiment, size_t k);

/** Returns the value of column @p k in run @p i with its unit; "" if it has none. */
const char *dsgd_row_value(const dsgd_experiment *experiment, size_t i, size_t k);

/**
 * Returns the swept values of run @p i in the columns that are shown: "group=4 collective=ring", or
 * "4" if one value is swept.
 */
char *dsgd_row_swept(const dsgd_experiment *experiment, size_t i);

/**
 * Returns a field of runs.csv with four significant digits, or without a fraction from 1,000 on;
 * "-" if there is none.
 */
const char *dsgd_row_result(const dsgd_results *results, size_t i, const char *name);
