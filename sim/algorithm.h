/**
 * @file algorithm.h The contract of an algorithm and its verbs. This is the only header that a file
 * in algorithms/ includes.
 *
 * work() is the life of one worker: blocking, straight-line code in virtual time. Verbs never fail.
 * Each verb waits, chunk by chunk, until the chunks that it reads are computed, or defers its work
 * until then. Memory that a verb returns lives as long as the run. In the formulas P is the number
 * of workers, x a model, g a gradient, and x_i the vector of worker i.
 */
#pragma once

#include "models/encodings/params.h"
#include "sim/verbs/collectives.h"
#include "sim/verbs/point_to_point.h"
#include "sim/verbs/steps.h"
