/**
 * @file swarm.h
 * A pipeline that is wired anew for each micro-batch (SWARM: Ryabinin et al., "SWARM Parallelism", ICML 2023): each of D stages has K
 * peers, who are of unequal speed, and a micro-batch takes one of them forward, and the same one backward, which has its activations.
 *
 * Who that is, says interleaved weighted round robin as the micro-batch comes to the stage: the peer that would be the first to be done
 * with it, were it to do all that it has been given from the step's begin on, forward and backward, at its speed, without a pause. A
 * peer does what comes to it in the order in which it comes, forward and backward alike.
 *
 * Not here: that speeds are measured (they are known, as a moving average that has settled knows them), peers that go or come amid a
 * step, and their moving between stages.
 */
#pragma once

#include "sim/inner/schedule.h"

/**
 * As dsgd_pipeline_run(), which calls it for such a pipeline; host p of stage d is d K + p. It allocates, and takes O(N D (K + log N)).
 * @param end_s [2 D][N] of micro-batches, in all stages forward and then, from the last to the first, backward.
 * @param gradient_s [D][J] when all peers of a stage have done all of a job's backward passes.
 */
dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s, double *busy_s);
