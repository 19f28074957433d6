/**
 * @file comparison.h
 * The runs of a folder of results as groups that differ only in the seed, and what these are worth
 * over a baseline.
 *
 * Runs with the same seed have the same draws (common random numbers), so differences and ratios
 * are taken seed by seed: the variance between seeds cancels.
 */
#ifndef DSGD_COMMAND_ANALYSE_COMPARISON_H
#define DSGD_COMMAND_ANALYSE_COMPARISON_H

#include "base/csv.h"
#include "command/analyse/ratio.h"
#include "command/analyse/target.h"

/** A column that is averaged; optional ones are not in every version of runs.csv. */
typedef struct dsgd_measure {
    const char *name;
    bool optional;
} dsgd_measure;

extern const dsgd_measure dsgd_measures[]; /* [DSGD_N_MEASURES] */

enum {
    DSGD_THROUGHPUT,
    DSGD_STEP,
    DSGD_STALENESS,
    DSGD_LAG,
    DSGD_GRADIENT_STALENESS,
    DSGD_LOSS,
    DSGD_ACCURACY,
    DSGD_LOCAL_LOSS,
    DSGD_LOCAL_ACCURACY,
    DSGD_CONSENSUS,
    DSGD_TO_TARGET,
    DSGD_N_MEASURES
};

/** A measure of a group; no number is NAN. */
typedef struct dsgd_summary {
    size_t n, pairs;
    double mean, ci, diff, diff_ci;
    double median; /* of a time to a target, whatever the seeds that never reach it would take */
    dsgd_ratio
        ratio; /* how many times as fast as the baseline: of throughput and time to a target */
} dsgd_summary;

typedef struct dsgd_seed_group {
    size_t *rows; /* [n_rows]: one per seed, in the order of the file */
    size_t n_rows, n_diverged;
    char *label; /* the algorithm and what distinguishes the group */
    const struct dsgd_seed_group *baseline; /* NULL: none with everything else in common */
    dsgd_summary of[DSGD_N_MEASURES];
} dsgd_seed_group;

typedef struct dsgd_comparison {
    dsgd_csv csv, curves; /* curves: with a target alone */
    dsgd_target target;
    size_t run, seed, status; /* columns */
    size_t columns[DSGD_N_MEASURES]; /* n_columns of the file: it does not have this one */
    size_t *keys, n_keys; /* columns that name a group */
    bool *varies; /* [n_keys]: not the same for all groups */
    size_t by; /* the key by which a baseline and the others differ */
    const char *baseline;
    double *values; /* [n_rows][DSGD_N_MEASURES] */
    dsgd_seed_group *groups;
    size_t n_groups, n_left_out;
} dsgd_comparison;

/** What is compared with what; NULL: the defaults. */
typedef struct dsgd_comparison_config {
    const char *baseline, *by, *target;
} dsgd_comparison_config;

/** Reads and sums up DIR/runs.csv. To be closed in any case. */
dsgd_status dsgd_comparison_open(const char *folder, const dsgd_comparison_config *config,
                                 dsgd_comparison *c, dsgd_error *error);
void dsgd_comparison_close(dsgd_comparison *c);

/** Whether the file has a measure. */
bool dsgd_comparison_has(const dsgd_comparison *c, size_t m);

/** The name of key @p k, and its value in a group. */
const char *dsgd_comparison_column(const dsgd_comparison *c, size_t k);
const char *dsgd_comparison_key(const dsgd_comparison *c, const dsgd_seed_group *g, size_t k);

/** Whether a group and its baseline may differ in key @p k. */
bool dsgd_comparison_is_own(const dsgd_comparison *c, size_t k);

/** The group's row with the seed of @p row (of any group), or NULL. */
const size_t *dsgd_comparison_seed(const dsgd_comparison *c, const dsgd_seed_group *g, size_t row);

#endif
