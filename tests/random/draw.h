/**
 * @file draw.h Random experiments, from the program's own option tables, registries and shipped
 * files. New entries of these are drawn without a change here.
 */
#pragma once

#include <stdint.h>

#include "tests/random/part.h"

/**
 * Returns the experiment of a seed, which is always the same. Many are rejected by the program with
 * a sentence.
 */
part random_experiment(uint64_t seed);
