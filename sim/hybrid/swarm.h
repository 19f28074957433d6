/**
 * @file swarm.h
 * A pipeline that is wired anew for each micro-batch (SWARM: Ryabinin et al., "SWARM Parallelism",
 * ICML 2023): each of D stages has peers, who are of unequal speed, and a micro-batch takes one of
 * them forward, and the same one backward, which has its activations.
 *
 * Who that is, says interleaved weighted round robin as the micro-batch comes to the stage: the
 * peer that would be the first to be done with it, were it to do all that it has been given from
 * the step's begin on, forward and backward, at its speed, without a pause. A peer does what comes
 * to it in the order in which it comes, forward and backward alike.
 *
 * Speeds are known, or measured: seconds of a pass by those of a peer that is not slow, when its
 * result has come, in a moving average of weight 0.1 for the newest, without bias (the authors'
 * code: PerformanceEMA, alpha = 0.1; there it is of a request, and so has its queue in it, too). A
 * change is followed by a factor 0.9 for each pass, 1 / e in 9.5. Before its first pass a peer
 * counts as not slow.
 *
 * Of a peer that fails the pass under way ends there, and what is sent to it until that is known
 * waits. Then all that it has done in this step and that is not summed up yet is done again by
 * others: forward from the activation that the stage before still has, backward with the forward
 * before it (as the authors' peers do always), whenever it comes; and backward passes that it had
 * added up already. Once all of a job's gradients of a stage are there, they are safe. So every
 * micro-batch counts once. Who comes back gets no more than others do from then on.
 */
#pragma once

#include "sim/hybrid/schedule.h"

/**
 * As dsgd_pipeline_run(), which calls it for such a pipeline; host p of stage d is d K + p. It
 * allocates, and takes O(N D (K + log N)), and O(N) for each absence.
 * @param end_s [2 D][N] of micro-batches, in all stages forward and then, from the last to the
 * first, backward.
 * @param gradient_s [D][J] when all peers of a stage have done all of a job's backward passes.
 */
dsgd_pipeline_times dsgd_swarm_run(const dsgd_pipeline *pipeline,
                                   const dsgd_pipeline_seconds *seconds, double *end_s,
                                   double *gradient_s, double *busy_s);

/**
 * Which peer has to change its stage: the one by which the longest of all stages' times becomes the
 * shortest, time being work by the sum of speeds; the first of equals. It goes to the stage whose
 * time is the longest, and leaves one that has another peer and whose time stays below that. So one
 * of the longest times gets shorter and nothing longer than it: with what is constant peers come to
 * rest, and of equal speeds at the least possible longest time (README.md).
 * @param work [D] what a stage has to do, for a speed of 1 @param speed [n_hosts] 0: it is away,
 * and stays where it is
 * @return its index, after stage_of[] has been changed; -1: all stay.
 */
int64_t dsgd_swarm_migrate(int64_t n_stages, const double *work, int64_t n_hosts,
                           const double *speed, int32_t *stage_of);
