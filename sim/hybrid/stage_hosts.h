/**
 * @file stage_hosts.h Single hosts that fail, rejoin and move to
 * another stage, in workers that are groups of hosts (sim/hybrid/swarm.h).
 */
#pragma once

#include "sim/engine/engine.h"

/**
 * Opens the stage hosts of a run. dsgd_failures_of_run_open() must have been called before. Does
 * nothing if all hosts run and stay in their stages.
 */
dsgd_status dsgd_stage_hosts_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_stage_hosts_close(dsgd_engine *engine);
/**
 * Computes the times of a step that begins now, with the hosts that are absent during the step.
 * Before that, moves a host to another stage if a move is due.
 */
void dsgd_stage_hosts_step(dsgd_worker *w, const double *slowness);
/** Ends the step, which took @p virtual_s seconds, and adds its lost time to the result. */
void dsgd_stage_hosts_step_end(const dsgd_worker *w, double virtual_s);
/**
 * Adds the failures and moves of stage hosts to the result. The result's virtual_s must be the
 * total time of the run.
 */
void dsgd_stage_hosts_sum_up(dsgd_engine *engine);
/** Returns the bytes of state of a stage that a host copies from another host. */
double dsgd_stage_hosts_state_bytes(const dsgd_engine *engine, int stage);
