/**
 * @file failures.h
 * Determines the times at which workers fail and are repaired. The times are random, listed in the
 * configuration, or read from a file. They are a pure function of the configuration and the seed,
 * in virtual time. They do not depend on the run, so all algorithms have the same failures.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"

/** responses to a failure, in the order of the words of option `policy` */
enum { DSGD_POLICY_OWN, DSGD_POLICY_RESTART, DSGD_POLICY_QUORUM, DSGD_POLICY_NONE };

/** units that fail as a whole, in the order of the words of option `per` */
enum {
    DSGD_PER_WORKER,
    DSGD_PER_ISLAND,
    DSGD_PER_GROUP,
    /* A unit can be a host, except for slow links. */
    DSGD_PER_HOST
};
extern const char *const dsgd_failures_pers[];

/** special values of option `repair`: never, and together with all other failed workers */
enum { DSGD_REPAIR_NEVER = -1, DSGD_REPAIR_AS_ALL = -2 };

/**
 * special values of option `every` of a checkpoint: Daly's interval, Young's interval, and never
 */
enum { DSGD_EVERY_DALY = -1, DSGD_EVERY_YOUNG = -2, DSGD_EVERY_NEVER = -3 };

/** A failure of a worker, or of one of its hosts. */
typedef struct dsgd_failure_event {
    int64_t worker;
    double at_s, repair_s;
    int64_t host; /* number of the failing host within the worker; negative if all hosts of the
                   * worker fail */
} dsgd_failure_event;

/** A period in which the links between a worker, node or group and all others are slow. */
typedef struct dsgd_link_event {
    int per; /* kind of the unit whose links are slow, from DSGD_PER_WORKER to DSGD_PER_GROUP */
    int64_t which; /* rank of the worker, or number of the node or group, whose links are slow */
    int64_t to; /* number of the other group if only the links to that group are slow; otherwise
                 * negative */
    double at_s; /* start of the slow period, in seconds; used only if mtbf_s is 0 */
    double mtbf_s; /* mean time between random slow periods, in seconds; 0 if there is only one
                    * period */
    double for_s; /* duration of a slow period, in seconds; negative if the period never ends */
    double factor; /* fraction of the bandwidth that remains; 0 cuts the links */
} dsgd_link_event;

typedef struct dsgd_checkpoint {
    int64_t every; /* number of steps between checkpoints (steps of all workers divided by P), or
                    * DSGD_EVERY_* */
    double interval_s; /* training time between two checkpoints, used instead of `every`; 0 if not
                        * given */
    double seconds, bytes, bytes_per_s; /* a checkpoint takes `seconds` + `bytes` / `bytes_per_s` */
    bool blocking;
} dsgd_checkpoint;

typedef struct dsgd_failures_config {
    double mtbf_s; /* mean time between failures of a unit; 0 if there are no random failures */
    double shape; /* shape parameter of the Weibull distribution */
    int per;
    double repair_s;
    bool repair_varies;
    dsgd_structs events; /* list of failures at given times, of type dsgd_failure_event */
    const char *trace;
    dsgd_structs links; /* list of slow periods, of type dsgd_link_event */
    int policy;
    double notice_s, detect_s, restart_s, remake_s;
    double detect_mads; /* limit of the adaptive failure detection with policy quorum; negative if
                         * off */
    dsgd_checkpoint checkpoint;
} dsgd_failures_config;

extern const dsgd_option dsgd_failures_options[];

/** Returns true if the configuration contains any failures of workers or of their hosts. */
bool dsgd_failures_any(const dsgd_failures_config *config);

/** A failure: the unit that fails, the time of the failure, and the time of the repair. */
typedef struct dsgd_failure {
    double down_s; /* virtual time of the failure; INFINITY if there are no more failures */
    double up_s; /* virtual time of the repair; INFINITY if the unit is never repaired */
    int worker; /* rank of the failing worker; -1 if all workers of the member `unit` fail */
    int unit; /* number of the failing unit in dsgd_failure_units.of[]; if worker >= 0, number of
               * the worker's failing host, or -1 for all hosts */
} dsgd_failure;

typedef struct dsgd_failures dsgd_failures;

/**
 * Returns the time at which slow period number @p n (from 0) of entry @p i of `links` starts, in
 * seconds. The time is at least @p since_s. Returns INFINITY if there are no more slow periods.
 */
double dsgd_link_event_s(const dsgd_failures_config *config, uint64_t seed, size_t i, uint32_t n,
                         double since_s);

/**
 * The units of hosts that fail together. If the hosts of a worker belong to several units, the
 * worker fails if any of these units fails.
 */
typedef struct dsgd_failure_units {
    int n_workers, n_each;
    int *of; /* unit of each host of each worker, from 0, as [n_workers][n_each];
              * dsgd_failures_open() takes ownership */
    enum {
        DSGD_ALL_FAIL, /* lists failures of workers and of single hosts */
        DSGD_WORKERS_FAIL, /* lists only failures of whole workers */
        /* lists only failures of single hosts */
        DSGD_HOSTS_FAIL
    } which;
} dsgd_failure_units;

/**
 * Opens a list of failures and reads the trace file, if one is given. Ignores trace rows of workers
 * that the run does not have.
 */
dsgd_status dsgd_failures_open(const dsgd_failures_config *config, uint64_t seed,
                               dsgd_failure_units units, dsgd_failures **failures,
                               dsgd_error *error);
void dsgd_failures_close(dsgd_failures *failures);

/** Returns the next failure in order of time. A worker may fail again before it is repaired. */
dsgd_failure dsgd_failures_next(dsgd_failures *failures);

/** Adds a failure to the list of later failures. */
void dsgd_failures_add(dsgd_failures *failures, dsgd_failure failure);

/** Returns true if a failure affects @p worker as a whole or one of its hosts. */
bool dsgd_failure_is_of(const dsgd_failures *failures, const dsgd_failure *failure, int worker);
/** Returns true if a failure affects host number @p host of @p worker. */
bool dsgd_failure_is_of_host(const dsgd_failures *failures, const dsgd_failure *failure, int worker,
                             int host);

/**
 * Returns the long-term mean time between two failures in the whole run, in seconds. Returns NAN if
 * there are no random failures.
 */
double dsgd_failures_mtbf_s(const dsgd_failures *failures);

/**
 * Returns the time to write or read a checkpoint, in seconds. The size of the checkpoint is
 * checkpoint->bytes; if this member is 0, the size is @p model_bytes.
 */
double dsgd_checkpoint_cost_s(const dsgd_checkpoint *checkpoint, double model_bytes);

/**
 * Returns the training time between checkpoints that minimises the lost time. Let C be the cost of
 * a checkpoint, @p cost_s, and M the mean time between failures, @p mtbf_s. Young's rule (1974)
 * returns sqrt(2 C M). Daly's rule (2006) returns Daly's higher-order estimate, and M if C >= 2 M.
 */
double dsgd_checkpoint_interval_s(int64_t rule, double cost_s, double mtbf_s);
