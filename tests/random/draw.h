/**
 * @file draw.h
 * Draws random experiments from the program's own option tables, registries and shipped files. If
 * the program gets new options or entries, they are drawn without a change of this code.
 */
#pragma once

#include <stdint.h>

#include "tests/random/part.h"

/**
 * Returns the experiment of a seed. The same seed always gives the same experiment. The program
 * rejects many of these experiments with a message.
 */
part random_experiment(uint64_t seed);
