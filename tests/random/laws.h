/**
 * @file laws.h The laws of every experiment.
 */
#pragma once

#include "tests/random/part.h"

typedef enum verdict { HOLDS, REFUSED, BROKEN } verdict;

/**
 * Runs an experiment in all ways that must agree, in @p folder, which may have results of other
 * experiments. Returns BROKEN, with *why, which the caller frees, beginning with the law's name and
 * a colon; or REFUSED, with the program's sentence in *why.
 */
verdict laws_check(const char *folder, const part *experiment, char **why);

/**
 * Removes one part, or workers, if the experiment is rejected with them and accepted without them.
 */
void laws_mend(const char *folder, part *experiment);

/**
 * Prints the number of experiments that each law was checked for so far, and the number that broke
 * it.
 */
void laws_tell(FILE *stream);

/**
 * Removes parts as long as the same law is still broken. *why is the sentence of the final
 * experiment.
 */
void laws_shrink(const char *folder, part *experiment, char **why);
