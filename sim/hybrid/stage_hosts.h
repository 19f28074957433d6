/**
 * @file stage_hosts.h
 * Hosts of workers that are groups, which fail, come back and move by themselves
 * (sim/hybrid/swarm.h).
 */
#pragma once

#include "sim/engine/engine.h"

/** Behind dsgd_failures_of_run_open(). Nothing where all are there, and stay. */
dsgd_status dsgd_stage_hosts_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_stage_hosts_close(dsgd_engine *engine);
/** Plans a step that begins now: dsgd_replica_step() with who is away in it, behind a move, if one
 * is due. */
void dsgd_stage_hosts_step(dsgd_worker *w, const double *slowness);
/** That step has taken @p virtual_s: counts it. */
void dsgd_stage_hosts_step_end(const dsgd_worker *w, double virtual_s);
/** When the result is summed up, virtual_s being of all time. */
void dsgd_stage_hosts_sum_up(dsgd_engine *engine);
/** Bytes that a host of a stage copies from another. */
double dsgd_stage_hosts_state_bytes(const dsgd_engine *engine, int stage);
