/**
 * @file run.h
 * The engine seen from outside: one run, from its configuration to its result.
 */
#pragma once

#include "sim/config.h"
#include "sim/network/machine.h"
#include "sim/result.h"
#include "traces/imbalance.h"

/**
 * Simulates to the first bound of config->until. DSGD_OK also when the run diverged or failed
 * (result->outcome); an error only for input or device trouble, found before time 0. Once per
 * process; release the result by dsgd_run_result_free().
 */
dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result,
                          dsgd_error *error);
void dsgd_run_result_free(dsgd_run_result *result);

/** Refuses what cannot run: bounds, algorithm, platform, imbalance. Pure. (check.c) */
dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error);

/**
 * Loads the data, builds the model and splits the samples, to refuse bad ones. Keeps the data for
 * the runs of this process and of its children. *split, NULL where nothing is split, is for
 * free(). (engine/learning.c)
 */
dsgd_status dsgd_learning_check(const dsgd_run_config *config, dsgd_split **split,
                                dsgd_error *error);

/**
 * Bytes of a GPU that a run can use: its data and, of every worker, the model, its next value or a
 * gradient, the optimizer's state and two model states; with an eighth of workspace. Algorithms
 * whose workers have one model in common need less. 0 where the model cannot be built.
 * (engine/learning.c)
 */
size_t dsgd_learning_gpu_bytes(const dsgd_run_config *config);

/* --- what a configuration implies (check.c) --------------------------------------------------- */

/** Whether the others go on while some workers are down, if any fail; else all restart, or hang. */
bool dsgd_goes_on(const dsgd_run_config *config);

/** Servers that the algorithm needs; negative where it is wrong. */
int dsgd_n_servers(const dsgd_run_config *config);

/** What the algorithm refuses: by its check(), or else graphs that its option `graph` cannot be. */
dsgd_status dsgd_algorithm_check(const struct dsgd_algorithm *algorithm, const void *params,
                                 int n_workers, dsgd_error *error);

/** Steps after which what the algorithm sends repeats itself, 1 or more: dsgd_algorithm.period. */
int64_t dsgd_period(const dsgd_run_config *config);

/** Whether vectors are encoded on their way: the platform's `encoding` decides. */
bool dsgd_run_encodes(const dsgd_run_config *config);

/** Parts of each exchange, one for each of several servers that share a vector; else 1. */
int dsgd_server_parts(const dsgd_run_config *config);

/**
 * By how much of a step's time at most it moves a step to merge neighbouring buckets into
 * DSGD_MANY_BUCKETS. A vector's exchange ends, of all pieces, at the latest sum of when a piece is
 * ready and of what it and those behind it take: merged ones are ready with their last, so that one
 * of them more is exposed, less one bucket; and latencies are saved, where the network is not done
 * within the backward pass, or takes them from the GPU. INFINITY: not known, as of gossip on a
 * graph, where a delay travels by one neighbour with each piece, of an algorithm that cancels
 * gradients by their age, and of one whose workers send messages to any others.
 */
double dsgd_merging_error(const dsgd_run_config *config);

/** The size of a bucket: what is given, or auto. */
double dsgd_bucket_bytes(const dsgd_run_config *config);

/**
 * The pieces into which a vector is cut for its exchanges, before each of several servers takes its
 * part; *bytes has their sizes, in backward order, and the caller frees it.
 */
size_t dsgd_pieces_of(const dsgd_run_config *config, double **bytes);

/** The machine that the run needs. Borrows from @p config. */
dsgd_machine dsgd_machine_of(const dsgd_run_config *config);

/** Opens the run's imbalance, the workload's own included; close it by dsgd_imbalance_close(). */
dsgd_status dsgd_imbalance_for(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                               dsgd_error *error);
