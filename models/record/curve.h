/**
 * @file curve.h
 * Learning curves and their rows of curves.csv, which a run and its replay write alike.
 */
#ifndef DSGD_MODELS_RECORD_CURVE_H
#define DSGD_MODELS_RECORD_CURVE_H

#include <stdio.h>

#include "models/values/values.h"

/** A point of a learning curve. */
typedef struct dsgd_point {
    double virtual_s;
    double steps; /* of all workers / P */
    dsgd_evaluation at;
} dsgd_point;

/** What the rows of a run begin with, in all files of results. */
typedef struct dsgd_run_key {
    size_t run; /* from 1 */
    const char *label; /* of the algorithm */
    int workers;
    uint64_t seed;
} dsgd_run_key;

/** First line of curves.csv. */
extern const char dsgd_curve_columns[];

void dsgd_run_key_print(FILE *stream, const dsgd_run_key *key);

/** A row per point, up to the first where numerics had stopped. */
void dsgd_curve_print(FILE *stream, const dsgd_run_key *key, size_t n, const dsgd_point *points);

#endif
