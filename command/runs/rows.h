/**
 * @file rows.h
 * What a run is and what came out of it, as texts for tables and progress.
 */
#pragma once

#include "command/console/table.h"
#include "command/experiment/experiment.h"
#include "command/runs/results.h"

/** A row of run @p i, with the cells that are known before it. */
void dsgd_row_plan(dsgd_columns *t, const dsgd_experiment *experiment, size_t i);

/** Whether column @p k is shown as swept: not workers and seeds, which rows have anyway. */
bool dsgd_row_shows(const dsgd_experiment *experiment, size_t k);

/** Value of column @p k in run @p i with its unit; "" where it has none. */
const char *dsgd_row_value(const dsgd_experiment *experiment, size_t i, size_t k);

/**
 * The swept values of run @p i: "group=4 collective=ring", or "4" where a single value is swept.
 * Of the columns that are shown.
 */
char *dsgd_row_swept(const dsgd_experiment *experiment, size_t i);

/**
 * A field of runs.csv with four significant digits; from 1,000 on without a fraction; "-" where
 * there is none.
 */
const char *dsgd_row_result(const dsgd_results *results, size_t i, const char *name);
