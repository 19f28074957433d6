/**
 * @file mixed_collectives.h
 * Whether a comparison of algorithms may be one of collectives.
 */
#ifndef DSGD_COMMAND_ANALYSIS_MIXED_COLLECTIVES_H
#define DSGD_COMMAND_ANALYSIS_MIXED_COLLECTIVES_H

#include <stdio.h>

#include "base/csv.h"

/**
 * A sentence where algorithms that runs.csv compares sum by different collectives: in runs that
 * have workers, platform, workload and swept values (but those of algorithms) in common. NULL: they
 * do not. The caller frees it.
 */
char *dsgd_mixed_collectives(const dsgd_csv *runs);

/** Prints it. */
void dsgd_warn_of_mixed_collectives(FILE *stream, const dsgd_csv *runs);

#endif
