/**
 * @file target.h
 * A target such as `--target accuracy=0.8`, and where a learning curve first reaches it.
 */
#pragma once

#include "command/analysis/run_table.h"

typedef struct dsgd_target {
    const char *text, *column; /* such as accuracy=0.8; column of curves.csv; NULL if no target */
    double value;
    bool below; /* the target is reached from above, as a loss is */
} dsgd_target;

/** Reads accuracy=NUMBER or loss=NUMBER; NULL means no target. Returns DSGD_EUSAGE for other texts.
 */
dsgd_status dsgd_target_parse(const char *text, dsgd_target *target, dsgd_error *error);

/** Returns DSGD_EIO if a column of the target is missing, DSGD_EUSAGE if it has no numbers. */
dsgd_status dsgd_target_check(const dsgd_target *target, const dsgd_csv *curves, dsgd_error *error);

/** The position where a run first reaches a target, interpolated linearly between evaluations. */
typedef struct dsgd_passage {
    double place; /* NAN if the run never reaches it, or is not in the table */
    double gap; /* distance of the evaluations around it; NAN if it is the first one */
} dsgd_passage;

/** Finds it for the run in row @p row of runs.csv, along a column of a table that
 * dsgd_target_check() accepts. */
dsgd_status dsgd_target_reach(const dsgd_target *target, const dsgd_run_table *curves, size_t row,
                              const char *along, dsgd_passage *passage, dsgd_error *error);
