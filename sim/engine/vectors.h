/**
 * @file vectors.h
 * Pieces of vectors, which may still be under computation. Verbs are in sim/algorithm.h.
 */
#ifndef DSGD_SIM_ENGINE_VECTORS_H
#define DSGD_SIM_ENGINE_VECTORS_H

#include "sim/engine/engine.h"

/** Whether a piece of a vector is computed. */
bool dsgd_piece_ready(const dsgd_vector *x, size_t piece);

/** Waits until it is; for work and assist actors. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);

/** Replaces the piece's value by @p value, which it then owns. The push-sum weight stays. */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp);

/** Releases the values of all vectors of the run. */
void dsgd_vectors_release(dsgd_engine *engine);

/** For tests: elements [n_params] of a vector, computed now. */
void dsgd_vector_read(dsgd_vector *x, double *elements);

#endif
