/**
 * @file failures.h
 * The times at which workers fail and are repaired. They are random, listed in the configuration,
 * or read from a file. They are a pure function of the configuration and the seed, in virtual time.
 * The response of a run does not change them, so all algorithms have the same failures.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"

/** Responses to a failure, in the order of the words of `policy`. */
enum { DSGD_POLICY_OWN, DSGD_POLICY_RESTART, DSGD_POLICY_QUORUM, DSGD_POLICY_NONE };

/** Units that fail as a whole, in the order of the words of `per`. */
enum {
    DSGD_PER_WORKER,
    DSGD_PER_ISLAND,
    DSGD_PER_GROUP,
    /* links have no such unit */
    DSGD_PER_HOST
};
extern const char *const dsgd_failures_pers[];

/** Special values of `repair`. */
enum { DSGD_REPAIR_NEVER = -1, DSGD_REPAIR_AS_ALL = -2 };

/** Special values of `checkpoint: every`. */
enum { DSGD_EVERY_DALY = -1, DSGD_EVERY_YOUNG = -2, DSGD_EVERY_NEVER = -3 };

/** A failure of a worker, or of one of its hosts. */
typedef struct dsgd_failure_event {
    int64_t worker;
    double at_s, repair_s;
    int64_t host; /* failing host of the worker; negative if all its hosts fail */
} dsgd_failure_event;

/** A slow period of the links between a worker, node or group and all others. */
typedef struct dsgd_link_event {
    int per; /* unit of the slow links, DSGD_PER_WORKER to DSGD_PER_GROUP */
    int64_t which; /* rank of the worker, or number of the node or group */
    int64_t to; /* number of the other group, if only the links to that group are slow; else
                 * negative */
    double at_s; /* start of the only slow period, in seconds; if mtbf_s is 0 */
    double mtbf_s; /* mean time between random slow periods, in seconds; 0 for one period */
    double for_s; /* duration in seconds; negative for an endless period */
    double factor; /* fraction of the bandwidth that remains; 0 is a partition */
} dsgd_link_event;

typedef struct dsgd_checkpoint {
    int64_t every; /* steps of all workers divided by P, or DSGD_EVERY_* */
    double interval_s; /* time since the last checkpoint, instead of `every`; 0 if not given */
    double seconds, bytes, bytes_per_s; /* a checkpoint takes seconds + bytes / bytes_per_s */
    bool blocking;
} dsgd_checkpoint;

typedef struct dsgd_failures_config {
    double mtbf_s; /* mean time between failures of a unit; 0: no random failures */
    double shape; /* shape of the Weibull distribution */
    int per;
    double repair_s;
    bool repair_varies;
    dsgd_structs events; /* list of failures at given times, of type dsgd_failure_event */
    const char *trace;
    dsgd_structs links; /* list of slow periods, of type dsgd_link_event */
    int policy;
    double notice_s, detect_s, restart_s, remake_s;
    double detect_mads; /* adaptive detection with policy quorum; negative if off */
    dsgd_checkpoint checkpoint;
} dsgd_failures_config;

extern const dsgd_option dsgd_failures_options[];

/** Returns true if the configuration contains any failures of workers. */
bool dsgd_failures_any(const dsgd_failures_config *config);

/** A failure: the failing unit, and the times of failure and repair. */
typedef struct dsgd_failure {
    double down_s; /* virtual time of the failure; INFINITY if there are no more failures */
    double up_s; /* virtual time of the repair; INFINITY if the unit is never repaired */
    int worker; /* rank of the failing worker; -1 if all workers of `unit` fail */
    int unit; /* number of the unit in dsgd_failure_units.of[]; if worker >= 0, its failing host, or
               * -1 for all hosts */
} dsgd_failure;

typedef struct dsgd_failures dsgd_failures;

/**
 * Returns the time at which slow period @p n (from 0) of entry @p i of `links` starts, at the
 * earliest @p since_s. Returns INFINITY if there are no more periods.
 */
double dsgd_link_event_s(const dsgd_failures_config *config, uint64_t seed, size_t i, uint32_t n,
                         double since_s);

/**
 * The units of hosts that fail together. A worker that has hosts in several units fails with each
 * of them.
 */
typedef struct dsgd_failure_units {
    int n_workers, n_each;
    int *of; /* unit of each host of each worker, from 0, [n_workers][n_each]; dsgd_failures_open()
              * takes ownership */
    enum {
        DSGD_ALL_FAIL, /* lists failures of workers and of single hosts */
        DSGD_WORKERS_FAIL, /* lists only failures of whole workers */
        /* lists only failures of single hosts */
        DSGD_HOSTS_FAIL
    } which;
} dsgd_failure_units;

/**
 * Opens a list of failures and reads the trace file, if there is one. Ignores rows of workers that
 * the run does not have.
 */
dsgd_status dsgd_failures_open(const dsgd_failures_config *config, uint64_t seed,
                               dsgd_failure_units units, dsgd_failures **failures,
                               dsgd_error *error);
void dsgd_failures_close(dsgd_failures *failures);

/** Returns the next failure in order of time. A worker may fail again before it is repaired. */
dsgd_failure dsgd_failures_next(dsgd_failures *failures);

/** Adds a failure to the list of later failures. */
void dsgd_failures_add(dsgd_failures *failures, dsgd_failure failure);

/** Returns true if the failure affects @p worker or one of its hosts. */
bool dsgd_failure_is_of(const dsgd_failures *failures, const dsgd_failure *failure, int worker);
/** Returns true if the failure affects host @p host of @p worker. */
bool dsgd_failure_is_of_host(const dsgd_failures *failures, const dsgd_failure *failure, int worker,
                             int host);

/**
 * Returns the long-term mean time between failures of any unit, in seconds. Returns NAN if there
 * are no random failures.
 */
double dsgd_failures_mtbf_s(const dsgd_failures *failures);

/**
 * Returns the time to write or read a checkpoint, in seconds. Its size is checkpoint->bytes or, if
 * that is 0, @p model_bytes.
 */
double dsgd_checkpoint_cost_s(const dsgd_checkpoint *checkpoint, double model_bytes);

/**
 * Returns the training time between checkpoints that minimises the lost time. Let C be the cost of
 * a checkpoint, @p cost_s, and M the mean time between failures, @p mtbf_s. Young (1974): sqrt(2 C
 * M). Daly (2006): his higher-order estimate, and M if C >= 2 M.
 */
double dsgd_checkpoint_interval_s(int64_t rule, double cost_s, double mtbf_s);
