/**
 * @file comparison.h
 * Compares the points of a frame with their baselines.
 */
#pragma once

#include "base/csv.h"
#include "command/analysis/frame.h"
#include "command/analysis/target.h"
#include "command/console/table.h"

/** A quantity that is averaged: a column of runs.csv, or what a run takes to a target. */
typedef struct dsgd_measure {
    const char *name;
    bool optional; /* not in every version of runs.csv */
    /*
     * For a measure to a target: a column of runs.csv and curves.csv in proportion to which it
     * grows, and the column of runs.csv with its total (NULL if it is the first column itself).
     * Else NULL.
     */
    const char *along, *total;
} dsgd_measure;

/** The list of measures, from which the enum and the table follow. */
#define DSGD_MEASURE_LIST(X)                                                                       \
    X(THROUGHPUT, "throughput_samples_per_s", false)                                               \
    X(STEP, "step_mean_s", false)                                                                  \
    X(STALENESS, "staleness_mean", false)                                                          \
    X(LAG, "lag_mean", true)                                                                       \
    X(GRADIENT_STALENESS, "gradient_staleness_mean", true)                                         \
    X(LOSS, "final_loss", false)                                                                   \
    X(ACCURACY, "final_accuracy", false)                                                           \
    X(LOCAL_LOSS, "local_loss", true)                                                              \
    X(LOCAL_ACCURACY, "local_accuracy", true)                                                      \
    X(CONSENSUS, "final_consensus", true)                                                          \
    X(TO_TARGET, "time_to_target_s", true, "virtual_s")                                            \
    X(SENT, "sent_mean_bytes", true)                                                               \
    X(ENERGY, "energy_j", true)                                                                    \
    X(COST, "cost", true)                                                                          \
    X(SENT_TO_TARGET, "sent_to_target_bytes", true, "steps", "sent_mean_bytes")                    \
    X(ENERGY_TO_TARGET, "energy_to_target_j", true, "virtual_s", "energy_j")                       \
    X(COST_TO_TARGET, "cost_to_target", true, "virtual_s", "cost")

enum {
#define X(key, ...) DSGD_##key,
    DSGD_MEASURE_LIST(X)
#undef X
        DSGD_N_MEASURES
};

extern const dsgd_measure dsgd_measures[DSGD_N_MEASURES];

/**
 * Stores a measure of a row in *x. A measure to a target is the share of the run's total, such as
 * its energy, that the run has taken when it reaches the target. It is NAN if the run never reaches
 * the target or its model does not count. Returns DSGD_EUSAGE if the curves have a text that is not
 * a number; if @p error is NULL, such a run does not reach the target.
 */
dsgd_status dsgd_measure_row(const dsgd_frame *frame, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, size_t row, double *x,
                             dsgd_error *error);

/** Returns a measure of all rows, or NULL for DSGD_EUSAGE. */
double *dsgd_measure_numbers(const dsgd_frame *frame, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, dsgd_error *error);

/** Something that a run takes besides time, in a table. */
typedef struct dsgd_expense {
    size_t measure, to_target;
    const char *head, *unit; /* unit: NULL for the currency */
    double multiple; /* factor from the unit of the measure to this unit */
} dsgd_expense;

enum { DSGD_N_EXPENSES = 3 };

extern const dsgd_expense dsgd_expenses[DSGD_N_EXPENSES];

/** A measure of a point. Unknown numbers are NAN. */
typedef struct dsgd_summary {
    dsgd_interval of, difference; /* difference: to the baseline, over pairs with the same seed */
    double median; /* for a measure to a target; seeds that never reach it count as infinite */
    dsgd_ratio ratio; /* how many times as fast as the baseline, or how many times less it takes */
} dsgd_summary;

typedef struct dsgd_comparison {
    dsgd_csv csv;
    dsgd_run_table curves; /* only with a target */
    dsgd_target target;
    dsgd_frame frame;
    double *numbers[DSGD_N_MEASURES]; /* [n_rows] each; NULL if the file lacks this measure */
    dsgd_summary *summaries; /* [frame.n_points][DSGD_N_MEASURES] */
} dsgd_comparison;

/** Reads and summarizes FOLDER/runs.csv. @p target may be NULL. */
dsgd_status dsgd_comparison_open(const char *folder, const dsgd_framing *framing,
                                 const char *target, dsgd_comparison *c, dsgd_error *error);

/** Returns a mean with its interval, such as "12.34 ± 0.56", both times @p multiple, or "". */
char *dsgd_interval_text(dsgd_interval interval, double multiple, bool per_cent, bool sign);

/**
 * Returns what a point takes to the target: the mean if all seeds reach it, else the number of
 * seeds that do, with the median if it is known.
 */
const char *dsgd_to_target_text(const dsgd_comparison *c, const dsgd_frame_point *point, size_t m,
                                double multiple);

/**
 * Fills a table of bytes, energy and cost, whose headings have units: with the time and until the
 * target if there is one, else of whole runs.
 */
void dsgd_expense_table(const dsgd_comparison *c, dsgd_columns *t);

/** Returns a measure of a point. */
const dsgd_summary *dsgd_comparison_of(const dsgd_comparison *c, const dsgd_frame_point *point,
                                       size_t m);
