/**
 * @file published.h
 * Compares the published values of a figure with the runs of its experiment.
 *
 * A row of published.csv is a published point, with these columns:
 *
 * - Columns that are also in runs.csv select the runs that the point is about. An empty field
 * selects any value.
 * - `quantity`: the column of runs.csv whose mean over seeds is compared.
 * - `published`: the published value.
 * - `use`: `fitted` if a parameter was fitted to the point, `known` if the point was seen while
 *   fitting, `predicted`, or `shape`.
 * - `relation`: ~ for a point, whose error counts; < or > for a bound that the source states.
 * - `uncertainty`: the largest error that the source allows, relative to `published`.
 * - `beyond` (optional): the part of the value that is known in advance, such as the wait for a
 * skew that the experiment makes. Only the rest is scored.
 * - `class`: points of the same class are scored together.
 * - `over`: the runs to divide by, seed by seed: the same runs except for these key=value pairs,
 * which are separated by spaces.
 */
#pragma once

#include "command/analysis/frame.h"

/** Columns of published.csv that are not keys. */
enum {
    DSGD_QUANTITY,
    DSGD_PUBLISHED,
    DSGD_UNCERTAINTY,
    DSGD_RELATION,
    DSGD_OVER,
    DSGD_USE,
    DSGD_CLASS,
    DSGD_SOURCE,
    DSGD_BEYOND,
    DSGD_N_FIXED
};

/** A row of published.csv, and the result of the runs that it is about. */
typedef struct dsgd_published_row {
    bool is_point; /* a point, not a bound */
    bool is_kept; /* the simulated value satisfies the bound */
    double value, simulated;
    double beyond; /* the part of a point that is not scored */
    double units; /* |simulated - value| in units of the uncertainty; NAN for a bound */
    /*
     * (simulated - beyond) / (value - beyond) - 1. NAN for a bound, and for a point whose
     * value - beyond is less than twice its uncertainty and thus not distinguishable from 0.
     */
    double error;
} dsgd_published_row;

typedef struct dsgd_published {
    const char *name;
    char *folder; /* results folder */
    dsgd_csv published, runs;
    dsgd_frame frame; /* frame of runs */
    size_t fixed[DSGD_N_FIXED]; /* columns of published.csv */
    size_t *keys, *key_columns, n_keys; /* columns of published.csv and of runs.csv */
    dsgd_published_row *rows; /* [published.n_rows] */
} dsgd_published;

/**
 * Reads both tables of a figure whose name and folder are set. Returns DSGD_EIO, with file and
 * line, for a row that matches no run or has an invalid value.
 */
dsgd_status dsgd_published_open(dsgd_published *f, dsgd_error *error);

/** Returns a field of published.csv in one of the columns above. */
const char *dsgd_published_field(const dsgd_published *f, size_t row, int which);

/** Returns true if @p row is about a run, after @p over ("" for none) has replaced some of its
 * keys. */
bool dsgd_published_is_about(const dsgd_published *f, size_t row, size_t run, const char *over);
