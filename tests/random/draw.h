/**
 * @file draw.h
 * Draws random experiments from the program's own option tables, registries and shipped files. If
 * these get new entries, the new entries are drawn without a change of this code.
 */
#pragma once

#include <stdint.h>

#include "tests/random/part.h"

/**
 * Returns the experiment of a seed, which is always the same. The program rejects many of these
 * experiments with a message.
 */
part random_experiment(uint64_t seed);
