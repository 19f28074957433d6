/**
 * @file target.h
 * A loss or an accuracy to reach, as `--target accuracy=0.8` names it, and where a curve first
 * reaches it.
 */
#pragma once

#include "command/analysis/run_table.h"

typedef struct dsgd_target {
    const char *text, *column; /* such as accuracy=0.8; of curves.csv; NULL: nothing */
    double value;
    bool below; /* reached from above, as a loss is */
} dsgd_target;

/** Reads accuracy=NUMBER or loss=NUMBER; NULL: no target. DSGD_EUSAGE for anything else. */
dsgd_status dsgd_target_parse(const char *text, dsgd_target *target, dsgd_error *error);

/** Whether the table has the columns of the target: DSGD_EIO; and numbers in it: DSGD_EUSAGE. */
dsgd_status dsgd_target_check(const dsgd_target *target, const dsgd_csv *curves, dsgd_error *error);

/** Where a run first reaches a target along an axis, linearly between evaluations. */
typedef struct dsgd_passage {
    double place; /* NAN: never, or the run is not in the table */
    double gap; /* from the evaluation before to the one there; NAN: there is none before */
} dsgd_passage;

/** Finds it for the run in row @p row of runs.csv, along a column of a table that was checked. */
dsgd_status dsgd_target_reach(const dsgd_target *target, const dsgd_run_table *curves, size_t row,
                              const char *along, dsgd_passage *passage, dsgd_error *error);
