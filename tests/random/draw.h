/**
 * @file draw.h
 * Experiments at random, out of the program's own tables of options, registries and shipped files:
 * what is added there is drawn here.
 */
#pragma once

#include <stdint.h>

#include "tests/random/part.h"

/** The experiment of a seed: the same one each time. Many are to be refused with a sentence. */
part random_experiment(uint64_t seed);
