/**
 * @file alarms.h
 * What happens at times that are known before, all by one actor.
 */
#ifndef DSGD_SIM_EXCHANGE_ALARMS_H
#define DSGD_SIM_EXCHANGE_ALARMS_H

#include "sim/engine/engine.h"

/** The first member of what it happens to. */
typedef struct dsgd_alarm {
    void (*happen)(dsgd_engine *engine, struct dsgd_alarm *alarm); /* does not wait */
} dsgd_alarm;

/** Alarms of one time happen in the order in which they were set. */
void dsgd_alarm_set(dsgd_engine *engine, dsgd_alarm *alarm, double at_s);

void dsgd_alarms_free(dsgd_engine *engine);

#endif
