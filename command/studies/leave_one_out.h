/**
 * @file leave_one_out.h
 * How well a figure is met by constants that were fitted without it.
 *
 * plots/constants.csv lists the constants that were fitted to published points: `of` (a shipped
 * platform or workload), `key` (of `--set`), and from `low` to `high` where it has a physical
 * meaning. Each is moved in all figures that use it, which gives d ln(simulated) / d ln(constant).
 * By these slopes they are fitted to the points of all figures but one: least squares of
 * ln(simulated / published) by Huber's weights. That one is run again with them.
 */
#pragma once

#include "command/analysis/published.h"
#include "command/console/arguments.h"

typedef struct dsgd_rerun {
    /** Does those runs of a figure's experiment that are published, with other values, into a
     * folder. */
    dsgd_status (*run)(const void *state, const dsgd_published *figure, const char *folder,
                       const dsgd_texts *sets, dsgd_error *error);
    const void *state;
    bool markdown; /* of what is printed */
} dsgd_rerun;

/**
 * Sets `left_out` and `is_refitted` of @p n open figures, and prints what was fitted. A constant
 * that other figures tell less of than its range does stays as it is. DSGD_EIO with file and line:
 * a constant that is none.
 */
dsgd_status dsgd_leave_one_out(dsgd_published *figures, size_t n, const dsgd_rerun *rerun,
                               dsgd_error *error);
