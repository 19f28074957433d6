/**
 * @file accounts.h
 * What is counted in a run: the state that accounting.c writes, but for members that name another
 * file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** An interval of virtual time. */
typedef struct dsgd_interval {
    double since_s, end_s;
} dsgd_interval;

/** A worker's accounts. */
typedef struct dsgd_accounts {
    double communicated_s, counted_until_s;
    size_t n_earlier;
    dsgd_interval *earlier; /* [n_earlier] computations before the last, not yet counted with */
    double sent_bytes; /* also of a server; observe.c's */
    int n_uncounted; /* schedules whose messages are counted later; exchange/analytic.c's, too */
    size_t n_put_off;
    dsgd_interval *put_off; /* communication while n_uncounted is not 0, in the order of ends */
} dsgd_accounts;

/** What a host of the cluster has carried: bytes that have arrived by the end of the run. */
typedef struct dsgd_carrier {
    struct dsgd_carried {
        double sent, received;
    } by_nic, by_island, by_group;
    double *to; /* [dsgd_n_hosts()] bytes to each host, if loads of links are asked for; or NULL */
    int place; /* among the platform's hosts */
    double slowness; /* seconds for one of the reference GPU */
} dsgd_carrier;

/** A weighted sum. */
typedef struct dsgd_sum {
    double sum, weight;
} dsgd_sum;

/** A run's accounts. */
typedef struct dsgd_run_accounts {
    dsgd_carrier *carriers; /* [all hosts of the cluster: dsgd_cluster_host()] */
    double largest_bytes[2]; /* of one message schedule: of an allreduce, of a partial collective */
    dsgd_sum staleness, lag, gradient_staleness;
    uint64_t versions, fresh; /* of partial collectives; contributions made in time */
    struct dsgd_step_count *step_counts;
    struct dsgd_timeline *timeline; /* timeline.c's; NULL: the run is not watched any more */
    struct dsgd_ledger *ledger; /* ledger.c's; NULL: values are not listed */
} dsgd_run_accounts;
