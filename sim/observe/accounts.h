/**
 * @file accounts.h The numbers that are counted in a run: the state that accounting.c writes,
 * except members that name another file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** An interval of virtual time. */
typedef struct dsgd_interval {
    double since_s, end_s;
} dsgd_interval;

/** The accounts of a worker. */
typedef struct dsgd_accounts {
    double communicated_s, counted_until_s;
    size_t n_earlier;
    /*
     * [n_earlier] computations before the last one that may still overlap with communication to
     * count
     */
    dsgd_interval *earlier;
    double sent_bytes; /* bytes sent, also by a server (written by observe.c) */
    /* schedules whose messages are counted later (also written by exchange/analytic.c) */
    int n_uncounted;
    size_t n_put_off;
    dsgd_interval *put_off; /* communication while n_uncounted is not 0, sorted by end */
} dsgd_accounts;

/** Connections of a host to the network: its NIC, the links of its group, its NVLink domain. */
typedef enum dsgd_way_out {
    DSGD_BY_NIC,
    DSGD_BY_GROUP,
    DSGD_BY_ISLAND,
    DSGD_WAYS_OUT
} dsgd_way_out;

/** The bytes that a host of the cluster has sent and received by the end of the run. */
typedef struct dsgd_carrier {
    struct dsgd_carried {
        double sent, received;
    } by[DSGD_WAYS_OUT];
    /* [dsgd_n_hosts()] bytes to each host; NULL unless the loads of links are counted */
    double *to;
    int place; /* index among the platform's hosts */
    double slowness; /* seconds per second of the reference GPU */
} dsgd_carrier;

/** A weighted sum. */
typedef struct dsgd_sum {
    double sum, weight;
} dsgd_sum;

/** The accounts of a run. */
typedef struct dsgd_run_accounts {
    dsgd_carrier *carriers; /* [dsgd_n_hosts()] by dsgd_cluster_host() */
    double largest_bytes[2]; /* largest vector of an allreduce, and of a partial collective */
    dsgd_sum staleness, lag, gradient_staleness;
    /* versions of partial collectives; contributions that were made in time */
    uint64_t versions, fresh;
    struct dsgd_step_count *step_counts;
    /* record of events (written by timeline.c); NULL if nothing is recorded any more */
    struct dsgd_timeline *timeline;
    /* list of values (written by ledger.c); NULL if values are not listed */
    struct dsgd_ledger *ledger;
} dsgd_run_accounts;
