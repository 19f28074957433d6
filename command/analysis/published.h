/**
 * @file published.h
 * What was published of a figure, beside what runs of its experiment gave.
 *
 * A row of published.csv is a published point: columns that are also in runs.csv say which runs it
 * is about (an empty field: any), `quantity` which of their columns, averaged over seeds, is
 * compared with `published`. `use` is `fitted` where a parameter was fitted to the point, `known`
 * where it was seen while fitting, `predicted`, or `shape`. `relation` is ~ (a point, whose error
 * counts), < or > (a bound that the source states). `uncertainty` is how far a point may be off by
 * what its source shows, relative to `published`; `beyond` (the column, or a field, may be missing)
 * a part of it that is known by heart, such as the wait for a skew that the experiment makes: what
 * counts is the rest. `class` is what it is scored with. `over` names what to divide by, seed by
 * seed: the same runs but for key=value pairs, separated by spaces.
 */
#pragma once

#include "command/analysis/frame.h"

/** Columns of published.csv that are no keys. */
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

/** A row of published.csv, and what the runs that it is about gave. */
typedef struct dsgd_published_row {
    bool is_point; /* not a bound */
    bool is_kept; /* of a bound */
    double value, simulated;
    double beyond; /* the part of a point that does not count; 0: all of it does */
    double
        units; /* how far a simulated point is off, in units of its uncertainty; NAN of a bound */
    /*
     * (simulated - beyond) / (value - beyond) - 1. NAN: a bound, or a point whose value - beyond is
     * less than twice its uncertainty, which cannot be told from 0.
     */
    double error;
} dsgd_published_row;

typedef struct dsgd_published {
    const char *name;
    char *folder; /* of its results */
    dsgd_csv published, runs;
    dsgd_frame frame; /* of runs */
    size_t fixed[DSGD_N_FIXED]; /* columns of published.csv */
    size_t *keys, *key_columns, n_keys; /* columns of published.csv and of runs.csv */
    dsgd_published_row *rows; /* [published.n_rows] */
} dsgd_published;

/**
 * Reads both tables of a figure whose name and folder are set; DSGD_EIO with file and line: a row
 * that is about no run, or another value than allowed.
 */
dsgd_status dsgd_published_open(dsgd_published *f, dsgd_error *error);

/** A field of published.csv: one of the columns above. */
const char *dsgd_published_field(const dsgd_published *f, size_t row, int which);

/** Whether row @p row is about a run: its keys but for what @p over ("" for none) replaces. */
bool dsgd_published_is_about(const dsgd_published *f, size_t row, size_t run, const char *over);
