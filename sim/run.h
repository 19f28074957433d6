/**
 * @file run.h Functions that check and simulate one run.
 */
#pragma once

#include "sim/config.h"
#include "sim/network/machine.h"
#include "sim/result.h"
#include "traces/imbalance.h"

/**
 * Simulates a run until it reaches one of the bounds in config->until. Returns DSGD_OK even if the
 * run diverged or failed (see result->outcome). Returns an error only for bad input or an unusable
 * device, before time 0. Call it once per process, and release the result with
 * dsgd_run_result_free().
 */
dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result,
                          dsgd_error *error);
void dsgd_run_result_free(dsgd_run_result *result);

/**
 * Rejects configurations that cannot run, because of their bounds, algorithm, platform or
 * imbalance. Has no side effects. Defined in check.c.
 */
dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error);

/**
 * Loads the data, builds the model and splits the samples. Rejects configurations with which this
 * is impossible. The data stays loaded for the runs of this process and of its children. Sets
 * *split to the split, which the caller frees with free(), or to NULL if the samples are not split.
 * Defined in engine/learning.c.
 */
dsgd_status dsgd_learning_check(const dsgd_run_config *config, dsgd_split **split,
                                dsgd_error *error);

/**
 * Returns an upper bound on the GPU memory of a run, in bytes. The bound consists of the data, the
 * memory of every worker, and one eighth for workspace. A worker's memory contains the model, its
 * next value or a gradient, the optimizer's state and two model states. Algorithms whose workers
 * share one model need less. Returns 0 if the model cannot be built. Defined in engine/learning.c.
 */
size_t dsgd_learning_gpu_bytes(const dsgd_run_config *config);

/* --- functions of check.c that return properties of a configuration --------------------------- */

/**
 * Returns true if the other workers continue while some workers are down. Otherwise, a failure
 * makes all workers restart, or the other workers wait for ever. Defined in failures/failures.c.
 */
bool dsgd_goes_on(const dsgd_run_config *config);

/**
 * Returns the number of servers that the algorithm needs. A negative number means that the
 * algorithm has a bug.
 */
int dsgd_n_servers(const dsgd_run_config *config);

/**
 * Checks the algorithm's parameters with its function check(). If it has no such function, checks
 * the graph of the option `graph`.
 */
dsgd_status dsgd_algorithm_check(const struct dsgd_algorithm *algorithm, const void *params,
                                 int n_workers, dsgd_error *error);

/**
 * Returns the number of steps after which the algorithm's communication pattern repeats; at least
 * 1. See dsgd_algorithm.period.
 */
int64_t dsgd_period(const dsgd_run_config *config);

/**
 * Returns true if the algorithm or the exchanges compress vectors. The key `encoding` of the
 * platform sets the speed of compression.
 */
bool dsgd_run_encodes(const dsgd_run_config *config);

/**
 * Returns the number of servers that share a vector, where each server has one part of every chunk.
 * Returns 1 if servers do not share a vector.
 */
int dsgd_server_parts(const dsgd_run_config *config);

/**
 * Returns an upper bound on the relative change of the time of a step if neighbouring buckets are
 * merged into DSGD_MANY_BUCKETS chunks.
 *
 * Reason: for each chunk, add the time at which the chunk is ready, and the exchange times of this
 * chunk and of all later chunks. The exchange of a vector ends at the largest of these sums. A
 * merged chunk is ready when its last bucket is ready. So the exposed time grows at most by the
 * exchange time of one merged chunk, minus the exchange time of one bucket. Fewer chunks save
 * latencies if the exchange does not end within the backward pass, or if latencies take time from
 * the GPU.
 *
 * Returns INFINITY if no bound is known. This is the case for gossip on a graph, in which a delay
 * moves to the neighbours with each chunk. It is also the case for an algorithm that cancels
 * gradients by their age, and for an algorithm whose workers send messages to any other worker.
 */
double dsgd_merging_error(const dsgd_run_config *config);

/** Returns the size of a bucket in bytes. The size is configured, or chosen by `bucket: auto`. */
double dsgd_bucket_bytes(const dsgd_run_config *config);

/**
 * Returns the number of chunks into which a vector is cut for its exchanges. If several servers
 * share the vector, each chunk is divided among them afterwards. Sets *bytes to an array of the
 * chunks' sizes in backward order; the caller frees it.
 */
size_t dsgd_pieces_of(const dsgd_run_config *config, double **bytes);

/**
 * Returns the description of the machine that the run needs. It contains pointers into @p config.
 */
dsgd_machine dsgd_machine_of(const dsgd_run_config *config);

/**
 * Opens the imbalance of the run, including the workload's inherent imbalance. The caller closes it
 * with dsgd_imbalance_close().
 */
dsgd_status dsgd_imbalance_for(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                               dsgd_error *error);
