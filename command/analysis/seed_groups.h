/**
 * @file seed_groups.h
 * The rows of runs.csv as groups that differ only in the seed, each with its baseline: the one rule
 * of `compare`, `report` and the figures.
 *
 * Runs with the same seed have the same draws (common random numbers), so differences and ratios
 * are taken seed by seed: the variance between seeds cancels. A ratio is the geometric mean of those
 * of the seeds. The baseline is allreduce, or else the algorithm of the first row, with everything
 * else the same but what is swept of algorithms alone, of which it has its first value.
 */
#ifndef DSGD_COMMAND_ANALYSIS_SEED_GROUPS_H
#define DSGD_COMMAND_ANALYSIS_SEED_GROUPS_H

#include "base/csv.h"
#include "command/analysis/ratio.h"

typedef struct dsgd_seed_group {
    size_t *rows; /* [n_rows]: in the order of the file */
    size_t n_rows;
    const struct dsgd_seed_group *baseline; /* NULL: none with everything else in common */
} dsgd_seed_group;

typedef struct dsgd_seed_groups {
    const dsgd_csv *csv; /* runs.csv */
    size_t seed, status; /* columns */
    size_t *keys, n_keys; /* columns that name a group: the algorithm first, swept ones last */
    bool *varies; /* [n_keys]: not the same for all groups */
    size_t by; /* the key by which a baseline and the others differ */
    const char *baseline; /* its value; NULL: there is no group */
    dsgd_seed_group *v; /* [n], in the order of their first rows */
    size_t n, n_left_out; /* rows without results are in no group */
    size_t twice[2]; /* the first two rows with all in common, the seed too; 0, 0: there are none */
    size_t *group_of; /* [n_rows of the file]; SIZE_MAX: none */
} dsgd_seed_groups;

/**
 * Of a file that stays open. @p by names a column, @p baseline one of its values, perhaps in other
 * units (8GB/s); NULL: the rule. DSGD_EUSAGE: there is none; DSGD_EIO: a column is missing. To be
 * closed in any case.
 */
dsgd_status dsgd_seed_groups_open(const dsgd_csv *csv, const char *by, const char *baseline,
                                  dsgd_seed_groups *groups, dsgd_error *error);
void dsgd_seed_groups_close(dsgd_seed_groups *groups);

/** The name of key @p k, and its value in a group. */
const char *dsgd_seed_groups_column(const dsgd_seed_groups *groups, size_t k);
const char *dsgd_seed_groups_key(const dsgd_seed_groups *groups, const dsgd_seed_group *g,
                                 size_t k);

/** Whether a group and its baseline may differ in key @p k. */
bool dsgd_seed_groups_is_own(const dsgd_seed_groups *groups, size_t k);

/** Whether groups have all in common that a baseline must have in common with the others. */
bool dsgd_seed_groups_same_place(const dsgd_seed_groups *groups, const dsgd_seed_group *a,
                                 const dsgd_seed_group *b);

/** The group's row with the seed of @p row (of any group), or NULL. */
const size_t *dsgd_seed_groups_seed(const dsgd_seed_groups *groups, const dsgd_seed_group *g,
                                    size_t row);

/**
 * How many times the baseline's a column is, over the seeds that both have a result of; 1 for a
 * baseline, n = 0 without one.
 */
dsgd_ratio dsgd_seed_groups_ratio(const dsgd_seed_groups *groups, const dsgd_seed_group *g,
                                  size_t column);

#endif
