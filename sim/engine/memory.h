/**
 * @file memory.h
 * Memory that lives as long as the run: what killed actors held is freed at its end too.
 */
#ifndef DSGD_SIM_ENGINE_MEMORY_H
#define DSGD_SIM_ENGINE_MEMORY_H

#include "sim/engine/engine.h"

/** Zeroed memory, until dsgd_run_free() or the end of the run. */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);

/** @p memory may be NULL. */
void dsgd_run_free(void *memory);

void dsgd_run_free_all(dsgd_engine *engine);

#endif
