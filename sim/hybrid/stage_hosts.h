/**
 * @file stage_hosts.h Hosts of workers that are groups: single hosts that fail, rejoin and move to
 * another stage (sim/hybrid/swarm.h).
 */
#pragma once

#include "sim/engine/engine.h"

/**
 * Opens the stage hosts of a run, after dsgd_failures_of_run_open(). Does nothing if all hosts run
 * and stay in their stages.
 */
dsgd_status dsgd_stage_hosts_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_stage_hosts_close(dsgd_engine *engine);
/**
 * Computes a step that begins now, with dsgd_replica_step() and the hosts that are away in it.
 * Moves a host before it if a move is due.
 */
void dsgd_stage_hosts_step(dsgd_worker *w, const double *slowness);
/** Ends the step, which took @p virtual_s, and counts its lost time. */
void dsgd_stage_hosts_step_end(const dsgd_worker *w, double virtual_s);
/**
 * Adds the failures and moves of stage hosts to the result. Its virtual_s must be the total time.
 */
void dsgd_stage_hosts_sum_up(dsgd_engine *engine);
/** Returns the bytes of state that a host of a stage copies from another host. */
double dsgd_stage_hosts_state_bytes(const dsgd_engine *engine, int stage);
