/**
 * @file check.h
 * What a configuration implies; dsgd_run_check() (sim/run.h) refuses a wrong one.
 */
#ifndef DSGD_SIM_CHECK_H
#define DSGD_SIM_CHECK_H

#include "sim/config.h"
#include "sim/network/machine.h"
#include "traces/imbalance.h"

/** Servers that the algorithm needs; negative where it is wrong. */
int dsgd_n_servers(const dsgd_run_config *config);

/** The machine that the run needs. Borrows from @p config. */
dsgd_machine dsgd_machine_of(const dsgd_run_config *config);

/** Opens the run's imbalance, the workload's own included; close it by dsgd_imbalance_close(). */
dsgd_status dsgd_imbalance_for(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                               dsgd_error *error);

#endif
