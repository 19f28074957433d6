/**
 * @file run.h One run, from its configuration to its result.
 */
#pragma once

#include "sim/config.h"
#include "sim/network/machine.h"
#include "sim/result.h"
#include "traces/imbalance.h"

/**
 * Simulates a run until it reaches the first bound of config->until. Returns DSGD_OK also if the
 * run diverged or failed (see result->outcome). Returns an error only for bad input or device
 * trouble, which is found before time 0. Call it once per process, and release the result with
 * dsgd_run_result_free().
 */
dsgd_status dsgd_simulate(const dsgd_run_config *config, dsgd_run_result *result,
                          dsgd_error *error);
void dsgd_run_result_free(dsgd_run_result *result);

/**
 * Rejects configurations that cannot run: bounds, algorithm, platform, imbalance. Has no side
 * effects. (check.c)
 */
dsgd_status dsgd_run_check(const dsgd_run_config *config, dsgd_error *error);

/**
 * Loads the data, builds the model and splits the samples, and rejects bad configurations of them.
 * The data stays loaded for the runs of this process and of its children. Sets *split, which the
 * caller frees with free(), to NULL if the samples are not split. (engine/learning.c)
 */
dsgd_status dsgd_learning_check(const dsgd_run_config *config, dsgd_split **split,
                                dsgd_error *error);

/**
 * Returns the bytes of GPU memory that a run needs at most: its data and, for every worker, the
 * model, its next value or a gradient, the optimizer's state and two model states, plus one eighth
 * of workspace. Algorithms whose workers share one model need less. Returns 0 if the model cannot
 * be built. (engine/learning.c)
 */
size_t dsgd_learning_gpu_bytes(const dsgd_run_config *config);

/* --- properties of a configuration (check.c) -------------------------------------------------- */

/**
 * Returns true if the other workers continue while some are down. If false, a failure makes all
 * workers restart, or the others wait for ever. (failures/failures.c)
 */
bool dsgd_goes_on(const dsgd_run_config *config);

/** Returns the number of servers that the algorithm needs; negative if the algorithm is wrong. */
int dsgd_n_servers(const dsgd_run_config *config);

/**
 * Checks the algorithm's parameters by its check() or, if it has none, the graph of its option
 * `graph`.
 */
dsgd_status dsgd_algorithm_check(const struct dsgd_algorithm *algorithm, const void *params,
                                 int n_workers, dsgd_error *error);

/**
 * Returns the number of steps, 1 or more, after which the algorithm's communication repeats:
 * dsgd_algorithm.period.
 */
int64_t dsgd_period(const dsgd_run_config *config);

/**
 * Returns true if vectors are compressed when they are sent. The speed is the platform's
 * `encoding`.
 */
bool dsgd_run_encodes(const dsgd_run_config *config);

/**
 * Returns the number of servers that share a vector, each of which has one part of every chunk;
 * else 1.
 */
int dsgd_server_parts(const dsgd_run_config *config);

/**
 * Returns an upper bound on how much merging neighbouring buckets into DSGD_MANY_BUCKETS changes
 * the time of a step, as a share of that time. The exchange of a vector ends at the largest sum,
 * over all chunks, of the time at which the chunk is ready and the times of this chunk and those
 * after it. A merged chunk is ready when its last bucket is, so up to one merged chunk more is
 * exposed, minus one bucket. Fewer chunks save latencies if the exchange does not end within the
 * backward pass, or if latencies take time from the GPU. Returns INFINITY if no bound is known: for
 * gossip on a graph, in which a delay moves by one neighbour with each chunk; for an algorithm that
 * cancels gradients by their age; and for one whose workers send messages to any other worker.
 */
double dsgd_merging_error(const dsgd_run_config *config);

/** Returns the size of a bucket in bytes: the configured size, or the size that auto chooses. */
double dsgd_bucket_bytes(const dsgd_run_config *config);

/**
 * Returns the number of chunks into which a vector is cut for its exchanges, before each of several
 * servers takes its part. Sets *bytes, which the caller frees, to their sizes in backward order.
 */
size_t dsgd_pieces_of(const dsgd_run_config *config, double **bytes);

/** Returns the machine that the run needs. It borrows from @p config. */
dsgd_machine dsgd_machine_of(const dsgd_run_config *config);

/**
 * Opens the imbalance of the run, including the workload's own. Close it with
 * dsgd_imbalance_close().
 */
dsgd_status dsgd_imbalance_for(const dsgd_run_config *config, dsgd_imbalance **imbalance,
                               dsgd_error *error);
