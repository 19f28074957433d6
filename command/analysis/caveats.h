/**
 * @file caveats.h
 * Properties of runs that limit what a comparison of them shows.
 */
#pragma once

#include "command/analysis/frame.h"

/** Returns a sentence if algorithms at one place of runs.csv use different collectives, else NULL.
 */
const char *dsgd_mixed_collectives(const dsgd_csv *runs);

/** Prints the sentence of dsgd_mixed_collectives() as a note, if there is one. */
void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs);

/**
 * Returns true if another seed could give a run of a manifest another result: the run learns, or
 * its steps, failures, placement or receivers are random. Returns true if @p run is NULL.
 */
bool dsgd_is_by_chance(const json_t *run);

/** Returns the learning rate of a run of a manifest, NAN if it is unknown. */
double dsgd_run_learning_rate(const json_t *run);

/** Returns a sentence if runs of a manifest are missing, "" if all are done. */
const char *dsgd_partial_results(const dsgd_csv *runs, const json_t *manifest);

/** Names the defaults that can decide differences and that no run varies; "" if none exist. */
const char *dsgd_unvaried_defaults(const dsgd_frame *frame, const json_t *manifest);
