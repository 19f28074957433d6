/**
 * @file ranks.h
 * Profiles of a job's ranks, one each, joined: the steps that all have in whole, the sums of
 * gradients in them, one clock, and what each rank computes and waits.
 *
 * All memory is kept until the program ends; seconds are on the clock of the rank with the lowest
 * number.
 */
#pragma once

#include "base/option.h"
#include "traces/kineto.h"

/** Which collectives of a trace sum the gradients. */
typedef struct dsgd_sums {
    const char *group; /* NULL: none; differs from rank to rank where shards have groups */
    bool is_sharded; /* by reduce-scatters */
    int64_t ranks, replicas; /* in the group; and of such groups, between which shards are summed */
    double least_bytes; /* of a bucket: less is a loss or a flag */
} dsgd_sums;

/** The profiles; [n_steps][n][n_buckets] are all steps that every trace has in whole. */
typedef struct dsgd_ranks {
    size_t n, n_steps, n_buckets, room; /* room: for all calls of any trace */
    dsgd_kineto *traces; /* [n] by rank */
    dsgd_sums *sums; /* [n] */
    int64_t ranks; /* that sum together */
    const dsgd_kineto_call **calls; /* [n_steps][n][n_buckets] */
    const dsgd_kineto_step **steps; /* [n_steps][n] */
    double *offsets_us; /* [n]: to the clock of the first */
    double *waits_us; /* [n][room]: of computing, for the rank that brings a collective last */
} dsgd_ranks;

/**
 * Orders @p ranks->traces[n] by rank, finds the sums of gradients, and, where there are some, their
 * common steps (n_steps 0: none has sums). DSGD_EUSAGE with a sentence where the traces are of
 * several jobs or groups.
 */
dsgd_status dsgd_ranks_join(dsgd_ranks *ranks, dsgd_error *error);

/** Whether a collective sums gradients: as reduce-scatters, or as allreduces. */
bool dsgd_sums_have(const dsgd_kineto_call *call, bool sharded);

/** Bucket @p b of rank @p r in the common step @p k. */
const dsgd_kineto_call *dsgd_ranks_call(const dsgd_ranks *ranks, size_t k, size_t r, size_t b);

/** When the last rank brings bucket @p b, on the clock of the first. */
double dsgd_ranks_arrival_us(const dsgd_ranks *ranks, size_t k, size_t b);

/** What rank @p r computes: until the last bucket is ready, from the last end; of a step alone by
 * the host's. */
double dsgd_ranks_compute_s(const dsgd_ranks *ranks, size_t k, size_t r);

/** Of the first rank: when a step begins, and how long it takes. */
double dsgd_ranks_begin_us(const dsgd_ranks *ranks, size_t k);
double dsgd_ranks_step_s(const dsgd_ranks *ranks, size_t k);

/** The steps that count, in used[n_steps]: those that follow one, if there are any. */
size_t dsgd_ranks_used(const dsgd_ranks *ranks, size_t *used);

/** Median over ranks and steps of what each bucket's computation takes, gaps[n_buckets]; NAN: not
 * told. */
double *dsgd_ranks_gaps(const dsgd_ranks *ranks, const size_t *used, size_t n);
