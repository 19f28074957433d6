/**
 * @file ranks.h
 * Joins the profiles of a job's ranks. Finds the steps that all profiles contain completely, the
 * gradient sums in these steps, a common clock, and the computing and waiting times of each rank.
 *
 * Memory is kept until the program ends. Times are on the clock of the rank with the lowest number.
 */
#pragma once

#include "base/option.h"
#include "traces/kineto.h"

/** The collectives of a trace that sum gradients. */
typedef struct dsgd_sums {
    const char *group; /* process group of the sums, which can differ between ranks if shards have
                        * groups; NULL if the trace has no sums */
    bool is_sharded; /* true if gradients are summed by reduce-scatters */
    /*
     * ranks: number of ranks in the group; replicas: number of groups between which shards are
     * summed
     */
    int64_t ranks, replicas;
    double least_bytes; /* smallest size of a bucket in bytes; a smaller sum is not a bucket but a
                         * loss or a flag */
} dsgd_sums;

/**
 * The profiles of all ranks. n_steps is the number of steps that every trace contains completely.
 */
typedef struct dsgd_ranks {
    size_t n, n_steps, n_buckets, room; /* number of ranks, of steps and of buckets; room: largest
                                         * number of collectives in a trace */
    dsgd_kineto *traces; /* array of n traces, sorted by rank */
    dsgd_sums *sums; /* array of n entries: the gradient sums of each rank */
    int64_t ranks; /* number of ranks whose gradients are summed together */
    const dsgd_kineto_call **calls; /* array [n_steps][n][n_buckets]: the gradient sum of each
                                     * bucket */
    const dsgd_kineto_step **steps; /* array [n_steps][n]: each step of each rank */
    double *offsets_us; /* array [n]: difference between each rank's clock and the clock of the
                         * first rank, in microseconds */
    /*
     * array [n][room]: time that a rank's computation waits in each collective for the last rank,
     * in microseconds
     */
    double *waits_us;
} dsgd_ranks;

/**
 * Sorts @p ranks->traces[n] by rank. Finds the gradient sums and the steps that all traces contain.
 * n_steps is 0 if no trace has gradient sums. Returns DSGD_EUSAGE if the traces belong to several
 * jobs or groups.
 */
dsgd_status dsgd_ranks_join(dsgd_ranks *ranks, dsgd_error *error);

/**
 * Returns true if a collective sums gradients. If @p sharded is true, this must be a
 * reduce-scatter; otherwise, it must be an allreduce.
 */
bool dsgd_sums_have(const dsgd_kineto_call *call, bool sharded);

/** Returns the sum of bucket @p b at rank @p r in step @p k, which all traces contain. */
const dsgd_kineto_call *dsgd_ranks_call(const dsgd_ranks *ranks, size_t k, size_t r, size_t b);

/**
 * Returns the time at which the last rank enters the sum of bucket @p b, in microseconds on the
 * clock of the first rank.
 */
double dsgd_ranks_arrival_us(const dsgd_ranks *ranks, size_t k, size_t b);

/**
 * Returns the computing time of rank @p r in step @p k, in seconds. It starts at the end of the
 * last collective of the previous step, and ends when the last bucket is ready. If the previous
 * step is unknown, uses the times of the host.
 */
double dsgd_ranks_compute_s(const dsgd_ranks *ranks, size_t k, size_t r);

/**
 * Returns the start of step @p k at the first rank. The second function returns the length of the
 * step.
 */
double dsgd_ranks_begin_us(const dsgd_ranks *ranks, size_t k);
double dsgd_ranks_step_s(const dsgd_ranks *ranks, size_t k);

/**
 * Selects the steps whose previous step is known. If there are no such steps, selects all steps.
 * Stores the steps in used[n_steps] and returns their number.
 */
size_t dsgd_ranks_used(const dsgd_ranks *ranks, size_t *used);

/**
 * Returns an array gaps[n_buckets]. Each gap is the median computing time between the previous
 * bucket and this bucket, over ranks and steps. A gap is NAN if it is unknown.
 */
double *dsgd_ranks_gaps(const dsgd_ranks *ranks, const size_t *used, size_t n);
