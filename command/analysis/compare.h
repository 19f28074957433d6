/**
 * @file compare.h
 * `dsgd compare`, for others.
 */
#ifndef DSGD_COMMAND_ANALYSIS_COMPARE_H
#define DSGD_COMMAND_ANALYSIS_COMPARE_H

#include "base/status.h"

/** Writes FOLDER/compare.csv unless it is newer than runs.csv or no group has several seeds. */
dsgd_status dsgd_compare_refresh(const char *folder, dsgd_error *error);

#endif
