/**
 * @file accounts.h The numbers that are counted in a run. accounting.c writes this state,
 * except members whose comment names another file.
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
     * [n_earlier] computations before the last computation that may still overlap with
     * communication that is not counted yet
     */
    dsgd_interval *earlier;
    double sent_bytes; /* bytes that the worker or server has sent (written by observe.c) */
    /*
     * number of closed-form collectives whose communication is not counted yet (also written by
     * exchange/analytic.c)
     */
    int n_uncounted;
    size_t n_put_off;
    /* other communication that is counted when n_uncounted is 0, sorted by end */
    dsgd_interval *put_off;
} dsgd_accounts;

/**
 * The kinds of connections of a host to the network: its NIC, the links of its group, its NVLink
 * domain.
 */
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
    /* [dsgd_n_hosts()] bytes sent to each host; NULL if the loads of links are not counted */
    double *to;
    int place; /* position of the host among the platform's hosts */
    /* time of a computation on this host, divided by the time on the reference GPU */
    double slowness;
} dsgd_carrier;

/** A sum of weighted numbers, and the sum of their weights. */
typedef struct dsgd_sum {
    double sum, weight;
} dsgd_sum;

/** The accounts of a run. */
typedef struct dsgd_run_accounts {
    /* [dsgd_n_hosts()] bytes of each host, indexed by dsgd_cluster_host() */
    dsgd_carrier *carriers;
    /* bytes of the largest vector of an allreduce, and of a partial collective */
    double largest_bytes[2];
    dsgd_sum staleness, lag, gradient_staleness;
    /* number of versions of partial collectives, and number of new contributions to all versions */
    uint64_t versions, fresh;
    struct dsgd_step_count *step_counts;
    /*
     * record of events (written by timeline.c); NULL if nothing is recorded, or if recording has
     * ended
     */
    struct dsgd_timeline *timeline;
    /* list of values (written by ledger.c); NULL if values are not listed */
    struct dsgd_ledger *ledger;
} dsgd_run_accounts;
