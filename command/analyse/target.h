/**
 * @file target.h
 * A value of the learning curve to reach, as `--target accuracy=0.8` names it.
 */
#ifndef DSGD_COMMAND_ANALYSE_TARGET_H
#define DSGD_COMMAND_ANALYSE_TARGET_H

#include "base/status.h"

typedef struct dsgd_target {
    const char *text, *column; /* such as accuracy=0.8; of curves.csv; NULL: nothing */
    double value;
    bool below; /* reached from above, as a loss is */
} dsgd_target;

/** Of accuracy=NUMBER or loss=NUMBER; NULL is no target. */
dsgd_status dsgd_target_parse(const char *text, dsgd_target *target, dsgd_error *error);

/** An evaluation: where on an axis, such as virtual time, and the value there. */
typedef struct dsgd_curve_point {
    double at, value;
} dsgd_curve_point;

/**
 * Where the target is reached at an evaluation, interpolated linearly from the one before (its
 * members NAN: there is none); NAN: it is not.
 */
double dsgd_target_place(const dsgd_target *target, dsgd_curve_point before, dsgd_curve_point now);

#endif
