/**
 * @file laws.h
 * What holds of every experiment.
 */
#pragma once

#include "tests/random/part.h"

typedef enum verdict { HOLDS, REFUSED, BROKEN } verdict;

/**
 * Runs an experiment in @p folder, which may have results of others, in all ways that are to agree.
 * BROKEN: *why, which the caller frees, begins with the law's name and a colon. REFUSED: *why is
 * the program's sentence.
 */
verdict laws_check(const char *folder, const part *experiment, char **why);

/** Takes away one part, or workers, where the experiment is refused and is not without it. */
void laws_mend(const char *folder, part *experiment);

/** Of how many experiments each law was asked so far, and how many broke it. */
void laws_tell(FILE *stream);

/** Takes away parts as long as the same law is still broken; *why as it is in the end. */
void laws_shrink(const char *folder, part *experiment, char **why);
