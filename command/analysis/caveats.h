/**
 * @file caveats.h
 * Finds facts about runs that limit the conclusions of a comparison.
 */
#pragma once

#include "command/analysis/frame.h"

/**
 * Returns a sentence if different algorithms in the same setting of runs.csv use different
 * collectives. Otherwise, returns NULL.
 */
const char *dsgd_mixed_collectives(const dsgd_csv *runs);

/**
 * Prints the sentence of dsgd_mixed_collectives() as a note. Prints nothing if the sentence is
 * NULL.
 */
void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs);

/**
 * Returns true if the result of a run can change with its seed. This is the case if the run learns,
 * or if its steps, failures, placement or receivers are random. Returns true if @p run is NULL.
 */
bool dsgd_is_by_chance(const json_t *run);

/** Returns the learning rate of a run in a manifest, or NAN if the rate is unknown. */
double dsgd_run_learning_rate(const json_t *run);

/**
 * Returns a sentence if runs of a manifest are missing in runs.csv. Returns "" if no run is
 * missing.
 */
const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest);

/**
 * Returns a sentence about defaults that may cause differences but that no run varies. Returns ""
 * if all such defaults are varied.
 */
const char *dsgd_unvaried_defaults(const dsgd_frame *frame, const json_t *manifest);
