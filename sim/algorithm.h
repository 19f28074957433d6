/**
 * @file algorithm.h The contract of an algorithm and its verbs. Files in algorithms/ include only
 * this header.
 *
 * The function work() is the life of one worker: blocking, straight-line code in virtual time.
 * Verbs never fail. A verb needs the chunks that it reads. It waits, chunk by chunk, until they are
 * computed, or it defers its work until then. Memory that a verb returns lives until the end of the
 * run. In the formulas P is the number of workers, x a model, g a gradient, and x_i the vector of
 * worker i.
 */
#pragma once

#include "models/encodings/params.h"
#include "sim/verbs/collectives.h"
#include "sim/verbs/point_to_point.h"
#include "sim/verbs/steps.h"
