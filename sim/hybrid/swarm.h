/**
 * @file swarm.h
 * A pipeline that chooses the path of each micro-batch (SWARM: Ryabinin et al., "SWARM
 * Parallelism", ICML 2023). Each of D stages has K hosts of unequal speed, which the paper calls
 * peers. In each stage one host performs the forward pass of a micro-batch. The same host performs
 * the backward pass, because it has the activations.
 *
 * The host is chosen by interleaved weighted round robin when the micro-batch arrives at the stage.
 * The choice assumes that each host did all work that it was given since the start of the step, at
 * its own speed and without a pause. The scheduler chooses the host that would then finish the
 * micro-batch first. A host performs its tasks in the order of their arrival. Forward and backward
 * passes have the same priority.
 *
 * The speeds of hosts are known or measured. A measurement of slowness is the time of a pass,
 * divided by the time of the pass on a host with slowness 1. The measurement is taken when the
 * result of the pass arrives. Measurements enter an unbiased moving average with weight 0.1. The
 * authors' code does the same (PerformanceEMA, alpha = 0.1), but measures the time of a request,
 * which includes the time in the queue. After a change of speed the error falls by a factor 0.9 per
 * pass, so it falls to 1 / e in 9.5 passes. Before its first pass a host has slowness 1.
 *
 * When a host fails, its current pass is lost. Micro-batches that are sent to the host before the
 * failure is detected must wait. After the detection, other hosts repeat all work of the failed
 * host in this step that is not summed up yet. They repeat forward passes, from the activations
 * that the previous stage still has. They repeat backward passes together with their forward
 * passes, as the authors' peers always do. This includes backward passes whose gradients the failed
 * host had already added up. Once all gradients of a job in a stage are complete, they are safe. So
 * every micro-batch counts once. After a host rejoins, it gets a normal share of the micro-batches.
 * It does not catch up.
 */
#pragma once

#include "sim/hybrid/schedule.h"

/**
 * Computes a step like dsgd_pipeline_run(), which calls this function for pipelines of kind swarm.
 * Host p of stage d is d K + p. The function allocates memory, and takes O(N D (K + log N)), plus
 * O(N) per absence.
 * @param end_s [2 D][N] ends of the passes of each micro-batch: forward in all stages, then
 * backward from the last stage to the first
 * @param gradient_s [D][J] time at which all hosts of a stage have finished all backward passes of
 * a job
 */
dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s);

/**
 * Moves one host to another stage if the move makes the longest time of all stages shorter. The
 * time of a stage is its work divided by the sum of its hosts' speeds. The host moves to the stage
 * with the longest time. The host comes from a stage that keeps another host and whose time stays
 * below the longest time. If several hosts are equally good, the function takes the first. So the
 * longest time of one stage gets shorter, and no other stage's time becomes longer than it was.
 * With constant speeds the moves end. With equal speeds they end at the least possible longest time
 * (README.md).
 * @param work [D] work of a stage, in seconds at a speed of 1
 * @param speed [n_hosts] speed of each host; 0 if the host is absent and must not move @return the
 * index of the host that moved, after stage_of[] has been changed; -1 if no host moves
 */
int64_t dsgd_swarm_migrate(int64_t n_stages, const double *work, int64_t n_hosts,
                           const double *speed, int32_t *stage_of);
