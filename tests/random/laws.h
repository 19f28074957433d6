/**
 * @file laws.h
 * What holds of every experiment.
 */
#pragma once

#include "tests/random/part.h"

typedef enum verdict { HOLDS, REFUSED, BROKEN } verdict;

/**
 * Runs an experiment in @p folder, which may have results of others, in all ways that are to agree.
 * BROKEN: *why, which the caller frees, begins with the law's name and a colon. REFUSED: *why is the
 * program's sentence.
 */
verdict laws_check(const char *folder, const part *experiment, char **why);

/** Takes away parts as long as the same law is still broken; *why as it is in the end. */
void laws_shrink(const char *folder, part *experiment, char **why);
