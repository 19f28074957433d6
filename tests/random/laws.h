/**
 * @file laws.h
 * The laws that hold for every experiment.
 */
#pragma once

#include "tests/random/part.h"

typedef enum verdict { HOLDS, REFUSED, BROKEN } verdict;

/**
 * Checks all laws for an experiment. The runs use @p folder, which may contain results of other
 * experiments. If a law is broken, returns BROKEN and stores the law's name, a colon and the fault
 * in *why. If the program rejects the experiment, returns REFUSED and stores the program's message
 * in *why.
 */
verdict laws_check(const char *folder, const part *experiment, char **why);

/**
 * Repairs an experiment that the program rejects. Removes one part of the experiment, or sets the
 * number of workers to 2, if the program then accepts the experiment.
 */
void laws_mend(const char *folder, part *experiment);

/**
 * Prints the number of experiments for which each law was checked. Also prints the number of
 * experiments that broke the law.
 */
void laws_tell(FILE *stream);

/**
 * Removes parts of a broken experiment as long as it breaks the same law. Stores the fault of the
 * final experiment in *why.
 */
void laws_shrink(const char *folder, part *experiment, char **why);
