/**
 * @file contest.h
 * A place of a frame, who competes there, and what became of each.
 */
#pragma once

#include "command/analysis/verdict.h"

/**
 * Why a point cannot win; from FATE_SHORT on all reasons are of a target. FATE_SILENT: nothing was
 * exchanged. FATE_OPEN: its runs ended before the winner reached the target, so that nobody knows.
 */
typedef enum dsgd_fate {
    FATE_ABLE,
    FATE_FAILED,
    FATE_TIMEOUT,
    FATE_DIVERGED,
    FATE_SILENT,
    FATE_UNLEARNED,
    FATE_FORGOT,
    FATE_SHORT,
    FATE_LEFT,
    FATE_OPEN,
    N_FATES
} dsgd_fate;

/** A column of curves.csv at the first evaluation of a run, at its last, and the least and the
 * most; NAN: none. */
typedef struct dsgd_ends {
    double first, last, least, most;
} dsgd_ends;

typedef struct dsgd_contestant {
    const dsgd_frame_point *point;
    dsgd_fate fate;
    size_t n_seeds; /* to which it happened */
    double progress, first, last, best; /* means over seeds; NAN: not known */
} dsgd_contestant;

/** What is known of all runs. */
typedef struct dsgd_evidence {
    const dsgd_frame *frame;
    const json_t *manifest;
    const char *unit; /* of throughput */
    dsgd_run_table curves;
    dsgd_ends *losses, *accuracies; /* [rows of runs.csv] */
    dsgd_measured to_target[DSGD_N_MEASURES]; /* of the measures to a target */
    double *ended_s; /* [rows of runs.csv]: virtual time */
    double *numbers[DSGD_N_MEASURES]; /* to a target: of a place's own one; NULL: not asked for */
} dsgd_evidence;

/** A place, and what decides there. */
typedef struct dsgd_contest {
    const dsgd_evidence *of;
    dsgd_contestant *v; /* [n] */
    size_t n;
    bool learns, by_accuracy, by_logarithm;
    const char *what; /* column of curves.csv */
    double start; /* the best first evaluation: that of one seed can be below chance */
    double best; /* progress */
    dsgd_target target; /* column NULL: throughput decides, or nobody learned */
    const char *goal; /* the same, for readers */
} dsgd_contest;

/** A measure's mean over seeds; NAN: not known. */
double dsgd_contest_number(const dsgd_contest *at, const dsgd_contestant *c, size_t m);

/** The series: the algorithm, or what --by names, and its own swept options. */
const char *dsgd_contest_name(const dsgd_contest *at, const dsgd_contestant *c);

/**
 * The best by a measure among those who can win; NULL: nobody can, or the table does not have it.
 */
const dsgd_contestant *dsgd_contest_best(const dsgd_contest *at, size_t m);

/** How many times as much as @p other's a contestant's measure is, or its inverse: at least 1 for a
 * winner. */
dsgd_ratio dsgd_contest_lead(const dsgd_contest *at, const dsgd_contestant *c,
                             const dsgd_contestant *other, size_t m);

/** "failed", ...; from FATE_SHORT on NULL. */
extern const char *const dsgd_fate_reasons[N_FATES];
