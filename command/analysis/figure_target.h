/**
 * @file figure_target.h
 * What runs take until they reach a target, for figures with --target.
 */
#ifndef DSGD_COMMAND_ANALYSIS_FIGURE_TARGET_H
#define DSGD_COMMAND_ANALYSIS_FIGURE_TARGET_H

#include "command/analysis/frame.h"

enum { DSGD_N_TO_TARGET = 4 };

/** The name of the k-th, as in compare.csv. */
const char *dsgd_figure_target_name(size_t k);

/**
 * Of each row of runs.csv what it takes, [n_rows][DSGD_N_TO_TARGET]; NAN: it never reaches the
 * target, or it is not known. NULL: there is no target, or FOLDER/curves.csv is none. The caller frees it.
 */
double *dsgd_figure_to_target(const dsgd_frame *runs, const char *folder, const char *target);

#endif
