/**
 * @file published.h
 * Compares the published values of a figure with the runs of its experiment.
 *
 * A row of published.csv is a published point, with these columns:
 *
 * - Columns that runs.csv has too select the runs of the point. An empty field selects any value.
 * - `quantity`: the column of runs.csv whose mean over seeds is compared.
 * - `published`: the published value.
 * - `use`: `fitted` if a parameter was fitted to the point, `known` if the point was seen while
 *   fitting, `predicted`, or `shape`.
 * - `relation`: ~ for a point, whose error counts; < or > for a bound that the source states.
 * - `uncertainty`: the largest error that the source allows, relative to `published`.
 * - `beyond` (optional): the part of the value that is known in advance, such as the wait for a
 *   skew that the experiment makes. Only the rest of the value is scored.
 * - `class`: points of the same class are scored together.
 * - `over`: key=value pairs, separated by spaces. The runs of the point are divided, seed by seed,
 *   by the runs that have these pairs and otherwise equal keys.
 */
#pragma once

#include "command/analysis/frame.h"

/** columns of published.csv that do not select runs */
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

/** A row of published.csv with the simulated result of its runs. */
typedef struct dsgd_published_row {
    bool is_point; /* true if the row is a point, false if it is a bound */
    bool is_kept; /* true if the simulated value satisfies the bound */
    double value, simulated;
    double beyond; /* part of the value that is known in advance and is not scored */
    double units; /* |simulated - value| divided by the uncertainty; NAN if the row is a bound */
    /*
     * Relative error: (simulated - beyond) / (value - beyond) - 1. The error is NAN if the row is a
     * bound. The error is also NAN if value - beyond is less than twice its uncertainty, because
     * value - beyond then cannot be distinguished from 0.
     */
    double error;
} dsgd_published_row;

typedef struct dsgd_published {
    const char *name;
    char *folder; /* path of the results folder */
    dsgd_csv published, runs;
    dsgd_frame frame; /* frame of the runs */
    size_t fixed[DSGD_N_FIXED]; /* indices of the fixed columns of published.csv */
    size_t *keys, *key_columns, n_keys; /* indices of the key columns, in published.csv and in
                                         * runs.csv */
    dsgd_published_row *rows; /* array [published.n_rows] of rows */
} dsgd_published;

/**
 * Reads published.csv and runs.csv of a figure. The caller must set the name and the folder of the
 * figure first. Returns DSGD_EIO with file and line if a row matches no run or has an invalid
 * value.
 */
dsgd_status dsgd_published_open(dsgd_published *f, dsgd_error *error);

/** Returns a field of published.csv. @p which is one of the columns in the enum above. */
const char *dsgd_published_field(const dsgd_published *f, size_t row, int which);

/**
 * Returns true if row @p row describes run @p run. The key=value pairs in @p over replace keys of
 * the row; @p over is "" if there are no such pairs.
 */
bool dsgd_published_is_about(const dsgd_published *f, size_t row, size_t run, const char *over);
