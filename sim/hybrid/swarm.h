/**
 * @file swarm.h A pipeline that chooses the path of each micro-batch (SWARM: Ryabinin et al.,
 * "SWARM Parallelism", ICML 2023). Each of D stages has K hosts of unequal speed, which the paper
 * calls peers. In each stage one host performs the forward pass of a micro-batch. The same host
 * performs the backward pass, because it has the activations.
 *
 * The host is chosen by interleaved weighted round robin when the micro-batch arrives at the stage.
 * It is the host that would finish the micro-batch first if it did all the work that it was given
 * since the start of the step, at its own speed and without a pause. A host performs its tasks in
 * the order of their arrival, forward and backward alike.
 *
 * Speeds are known, or measured. A measurement is the time of a pass, divided by the time on a host
 * that is not slow. It is taken when the result of the pass arrives. Measurements enter an unbiased
 * moving average with weight 0.1 (PerformanceEMA, alpha = 0.1, in the authors' code; there it
 * measures the time of a request, which includes the queue). After a change of speed the error
 * falls by a factor 0.9 per pass, to 1 / e in 9.5 passes. Before its first pass a host counts as
 * not slow.
 *
 * When a host fails, its current pass is lost. Micro-batches that are sent to it before the failure
 * is detected wait. After the detection other hosts repeat all its work of this step that is not
 * yet summed up: forward passes, from the activation that the stage before still has; backward
 * passes, together with their forward passes (as the authors' peers always do); and backward passes
 * whose gradients it had already added up. Once all of a job's gradients of a stage are complete,
 * they are safe. So every micro-batch counts once. A host that rejoins gets a normal share from
 * then on; it does not catch up.
 */
#pragma once

#include "sim/hybrid/schedule.h"

/**
 * Like dsgd_pipeline_run(), which calls this function for pipelines of kind swarm. Host p of stage
 * d is d K + p. It allocates memory, and takes O(N D (K + log N)), plus O(N) per absence.
 * @param end_s [2 D][N] ends of the passes of each micro-batch: forward in all stages, then
 * backward from the last stage to the first.
 * @param gradient_s [D][J] time at which all hosts of a stage have finished all backward passes of
 * a job.
 */
dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s);

/**
 * Moves one host to another stage if this makes the longest time of all stages shorter. The time of
 * a stage is its work divided by the sum of its hosts' speeds. The host goes to the stage with the
 * longest time. It comes from a stage that keeps another host and whose time stays below the
 * longest. Of equal choices the function takes the first. So one of the longest times gets shorter,
 * and no time gets longer than it. With constant speeds the moves end; with equal speeds they end
 * at the least possible longest time (README.md).
 * @param work [D] work of a stage, in seconds at a speed of 1
 * @param speed [n_hosts] speed of each host; 0 if the host is away, and stays where it is
 * @return the index of the host, after stage_of[] has been changed; -1 if no host moves
 */
int64_t dsgd_swarm_migrate(int64_t n_stages, const double *work, int64_t n_hosts,
                           const double *speed, int32_t *stage_of);
