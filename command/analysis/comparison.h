/**
 * @file comparison.h
 * Compares the points of a frame with their baselines. A point is a set of runs that differ only in
 * their seeds.
 */
#pragma once

#include "base/csv.h"
#include "command/analysis/frame.h"
#include "command/analysis/target.h"
#include "command/console/table.h"

/**
 * A quantity that is averaged over seeds: a column of runs.csv, or the time, bytes, energy or cost
 * up to a target.
 */
typedef struct dsgd_measure {
    const char *name;
    bool optional; /* true if the column is missing in some versions of runs.csv */
    /*
     * Columns for a measure up to a target, else NULL. `along` is a column of runs.csv and
     * curves.csv; the measure grows in proportion to this column. `total` is the column of runs.csv
     * with the measure's total. `total` is NULL if `along` itself is the measure.
     */
    const char *along, *total;
} dsgd_measure;

/** List of the measures. The enum and the table of measures are made from this list. */
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
 * Stores measure @p m of a row in *x. A measure up to a target is the part of the run's total (for
 * example, of its energy) until the run reaches the target. This measure is NAN if the run never
 * reaches the target or if its training results do not count. If a field of the curves is not a
 * number, returns DSGD_EUSAGE; if @p error is NULL, sets *x to NAN instead.
 */
dsgd_status dsgd_measure_row(const dsgd_frame *frame, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, size_t row, double *x,
                             dsgd_error *error);

/**
 * Returns an array with measure @p m of each row. Returns NULL if dsgd_measure_row() returns
 * DSGD_EUSAGE.
 */
double *dsgd_measure_numbers(const dsgd_frame *frame, size_t m, const dsgd_target *target,
                             const dsgd_run_table *curves, dsgd_error *error);

/** An expense of a run, for a table. Expenses are bytes, energy and cost. */
typedef struct dsgd_expense {
    size_t measure, to_target;
    const char *head, *unit; /* heading of the column, and its unit; the unit NULL means the
                              * currency */
    double multiple; /* factor from the unit of the measure to the unit of the column */
} dsgd_expense;

enum { DSGD_N_EXPENSES = 3 };

extern const dsgd_expense dsgd_expenses[DSGD_N_EXPENSES];

/** Statistics of a measure at a point. An unknown number is NAN. */
typedef struct dsgd_summary {
    dsgd_interval of, difference; /* of: mean; difference: mean difference from the baseline over
                                   * pairs of runs with the same seed */
    double median; /* median of a measure up to a target; the measure of a seed that never reaches
                    * the target is infinite */
    dsgd_ratio ratio; /* ratio to the baseline: how many times as fast as the baseline, or how many
                       * times less than it */
} dsgd_summary;

typedef struct dsgd_comparison {
    dsgd_csv csv;
    dsgd_run_table curves; /* learning curves; they are read only if a target is given */
    dsgd_target target;
    dsgd_frame frame;
    double *numbers[DSGD_N_MEASURES]; /* numbers: for each measure, an array [n_rows], or NULL if
                                       * the file lacks the measure */
    dsgd_summary *summaries; /* array [frame.n_points][DSGD_N_MEASURES] of statistics */
} dsgd_comparison;

/** Reads FOLDER/runs.csv and computes the statistics of all points. @p target may be NULL. */
dsgd_status dsgd_comparison_open(const char *folder, const dsgd_framing *framing,
                                 const char *target, dsgd_comparison *c, dsgd_error *error);

/**
 * Returns a mean with its interval, such as "12.34 ± 0.56". Both numbers are multiplied by @p
 * multiple. Returns "" if the mean is NAN.
 */
char *dsgd_interval_text(dsgd_interval interval, double multiple, bool per_cent, bool sign);

/**
 * Returns a measure up to the target as a text. If all seeds reach the target, the text is the
 * mean. Otherwise, the text contains the number of seeds that reach the target, and the median if
 * it is known.
 */
const char *dsgd_to_target_text(const dsgd_comparison *c, const dsgd_frame_point *point, size_t m,
                                double multiple);

/**
 * Fills a table with bytes, energy and cost per point. If there is a target, the table contains the
 * values up to the target, and the time to the target. Without a target, it contains the values of
 * whole runs.
 */
void dsgd_expense_table(const dsgd_comparison *c, dsgd_columns *t);

/** Returns the statistics of measure @p m at a point. */
const dsgd_summary *dsgd_comparison_of(const dsgd_comparison *c, const dsgd_frame_point *point,
                                       size_t m);
