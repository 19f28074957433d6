/**
 * @file curve.h
 * Rows of curves.csv, the same from a run and from its replay; `dsgd-replay` links this file too.
 */
#ifndef DSGD_COMMAND_RUNS_CURVE_H
#define DSGD_COMMAND_RUNS_CURVE_H

#include <stdio.h>

#include "models/values/values.h"

/** The first columns of a run in every file of results. */
typedef struct dsgd_run_key {
    size_t run; /* from 1 */
    const char *label; /* of the algorithm */
    int workers;
    uint64_t seed;
    const char *swept; /* its last cells in every file, each behind a comma */
} dsgd_run_key;

/** Columns of curves.csv but those of swept values, which follow. */
extern const char dsgd_curve_columns[];

void dsgd_run_key_print(FILE *stream, const dsgd_run_key *key);

/** A row per point, up to the first after a divergence. */
void dsgd_curve_print(FILE *stream, const dsgd_run_key *key, size_t n, const dsgd_point *points);

#endif
