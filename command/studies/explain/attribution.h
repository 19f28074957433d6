/**
 * @file attribution.h
 * Where the time of an experiment's runs went, and what would be gained without what took it.
 */
#ifndef DSGD_COMMAND_STUDIES_EXPLAIN_ATTRIBUTION_H
#define DSGD_COMMAND_STUDIES_EXPLAIN_ATTRIBUTION_H

#include "command/inside/explain.h"
#include "command/runs/results.h"

/** Simulates; prints a table per algorithm, or writes a figure. Plug-ins are loaded. */
dsgd_status dsgd_attribution(const dsgd_explain_options *options, dsgd_error *error);

/** The runs of an experiment and their counterfactuals, when they are done. */
typedef struct dsgd_explained {
    const dsgd_experiment *experiment;
    const dsgd_results *results; /* of all of them */
    const bool *wanted; /* [n_unchanged] */
} dsgd_explained;

/** Where what was recorded of run @p i is; the caller frees it. */
char *dsgd_facts_path(const char *folder, size_t i);

/** Prints a table, names and a sentence per algorithm. (report.c) */
dsgd_status dsgd_explained_print(const dsgd_explained *explained, dsgd_error *error);

/** The table of the figure `slowdown`, of run @p i; the caller frees it. (map.c) */
dsgd_status dsgd_explained_map(const dsgd_explained *explained, size_t i, char **table,
                               dsgd_error *error);

#endif
