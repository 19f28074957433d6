/**
 * @file accounting.h
 * Counts time, messages and staleness during a run, and sums them up at its end.
 */
#ifndef DSGD_SIM_ENGINE_ACCOUNTING_H
#define DSGD_SIM_ENGINE_ACCOUNTING_H

#include "sim/engine/engine.h"

/** Counts from_s to now as communication, but for what computation hides or was counted before. */
void dsgd_count_communication(dsgd_worker *w, double from_s);

/**
 * Counts a use by @p user of a piece that @p owner made:
 *     age = max(0, min(owner's local steps, user's local steps) - stamp).
 * A null contribution (stamp -1) is not counted.
 */
void dsgd_count_staleness(dsgd_worker *user, int owner, size_t piece, long stamp, double weight);

/** Counts a use of known age. */
void dsgd_count_age(dsgd_engine *engine, double age, double weight);

void dsgd_count_message(dsgd_engine *engine, double bytes);

/** Counts a worker's contribution to a version of a partial collective. */
void dsgd_count_contribution(const dsgd_worker *w, bool fresh);

/** Fills the result with all that was counted. */
void dsgd_sum_up(dsgd_engine *engine);

#endif
