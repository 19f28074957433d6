/**
 * @file inside.h
 * What messages between the hosts of one worker take, with nothing else on the wires.
 */
#pragma once

#include "sim/engine/engine.h"

/** Sets the costs of all workers' groups, once their places are known. */
void dsgd_inside_cost(dsgd_engine *engine);
