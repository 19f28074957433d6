/**
 * @file ranks.h
 * Joins the profiles of a job's ranks: the steps that all profiles contain completely, the sums of
 * gradients in them, a common clock, and the computing and waiting times of each rank.
 *
 * All memory is kept until the program ends. Times are on the clock of the rank with the lowest
 * number.
 */
#pragma once

#include "base/option.h"
#include "traces/kineto.h"

/** The collectives of a trace that sum gradients. */
typedef struct dsgd_sums {
    const char *group; /* NULL if there is none; differs from rank to rank if shards have groups */
    bool is_sharded; /* sums are reduce-scatters */
    /* size of the group, and number of groups between which shards are summed */
    int64_t ranks, replicas;
    double least_bytes; /* smallest size of a bucket; a smaller sum is a loss or a flag */
} dsgd_sums;

/** The profiles of all ranks. n_steps counts the steps that every trace contains completely. */
typedef struct dsgd_ranks {
    size_t n, n_steps, n_buckets, room; /* room is the largest number of calls of a trace */
    dsgd_kineto *traces; /* [n] by rank */
    dsgd_sums *sums; /* [n] */
    int64_t ranks; /* number of ranks that sum together */
    const dsgd_kineto_call **calls; /* [n_steps][n][n_buckets] */
    const dsgd_kineto_step **steps; /* [n_steps][n] */
    double *offsets_us; /* [n] offset to the clock of the first rank */
    /* [n][room] time that computation waits for the rank that enters a collective last */
    double *waits_us;
} dsgd_ranks;

/**
 * Orders @p ranks->traces[n] by rank, finds the sums of gradients and, if there are some, the
 * common steps (n_steps is 0 if no trace has sums). Returns DSGD_EUSAGE if the traces are of
 * several jobs or groups.
 */
dsgd_status dsgd_ranks_join(dsgd_ranks *ranks, dsgd_error *error);

/**
 * Returns whether a collective sums gradients, as a reduce-scatter if @p sharded, else as an
 * allreduce.
 */
bool dsgd_sums_have(const dsgd_kineto_call *call, bool sharded);

/** Returns bucket @p b of rank @p r in the common step @p k. */
const dsgd_kineto_call *dsgd_ranks_call(const dsgd_ranks *ranks, size_t k, size_t r, size_t b);

/** Returns when the last rank enters the sum of bucket @p b, on the clock of the first rank. */
double dsgd_ranks_arrival_us(const dsgd_ranks *ranks, size_t k, size_t b);

/**
 * Returns the computing time of rank @p r: from the end of the last collective of the step before
 * until the last bucket is ready. Without a step before, the host's times are used.
 */
double dsgd_ranks_compute_s(const dsgd_ranks *ranks, size_t k, size_t r);

/** Returns when a step of the first rank begins, and how long it takes. */
double dsgd_ranks_begin_us(const dsgd_ranks *ranks, size_t k);
double dsgd_ranks_step_s(const dsgd_ranks *ranks, size_t k);

/**
 * Selects the steps that count in used[n_steps]: those that follow another step, if there are any.
 * Returns their number.
 */
size_t dsgd_ranks_used(const dsgd_ranks *ranks, size_t *used);

/**
 * Returns gaps[n_buckets]: the median over ranks and steps of the computing time of each bucket;
 * NAN if unknown.
 */
double *dsgd_ranks_gaps(const dsgd_ranks *ranks, const size_t *used, size_t n);
