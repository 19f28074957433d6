/**
 * @file target.h
 * Reads a target such as `--target accuracy=0.8`. Finds where a learning curve first reaches the
 * target.
 */
#pragma once

#include "command/analysis/run_table.h"

typedef struct dsgd_target {
    const char *text, *column; /* text: target such as accuracy=0.8; column: its column in
                                * curves.csv; NULL if there is no target */
    double value;
    bool below; /* true if curves reach the target from above, as losses do */
} dsgd_target;

/**
 * Reads a target of the form accuracy=NUMBER or loss=NUMBER. NULL means that there is no target.
 * Returns DSGD_EUSAGE for other texts.
 */
dsgd_status dsgd_target_parse(const char *text, dsgd_target *target, dsgd_error *error);

/**
 * Returns DSGD_EIO if curves.csv lacks a column that the target needs. Returns DSGD_EUSAGE if the
 * column has no numbers.
 */
dsgd_status dsgd_target_check(const dsgd_target *target, const dsgd_csv *curves, dsgd_error *error);

/**
 * The position at which a run first reaches a target. The position is interpolated linearly between
 * evaluations.
 */
typedef struct dsgd_passage {
    double place; /* position on the axis; NAN if the run never reaches the target or if the table
                   * lacks the run */
    double gap; /* distance between the evaluations before and after the position; NAN if the first
                 * evaluation reaches the target */
} dsgd_passage;

/**
 * Finds the position at which the run in row @p row of runs.csv first reaches the target. The axis
 * is a column of the table @p curves. dsgd_target_check() must have accepted this table.
 */
dsgd_status dsgd_target_reach(const dsgd_target *target, const dsgd_run_table *curves, size_t row,
                              const char *along, dsgd_passage *passage, dsgd_error *error);
