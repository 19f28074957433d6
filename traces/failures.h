/**
 * @file failures.h
 * Times at which workers fail and are repaired: random, listed in the configuration, or read from
 * a file. They are a pure function of the configuration and the seed, in virtual time. The response
 * of a run changes no failure, so all algorithms see the same failures.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"

/** Responses to a failure, in the order of the words of `policy`. */
enum { DSGD_POLICY_OWN, DSGD_POLICY_RESTART, DSGD_POLICY_QUORUM, DSGD_POLICY_NONE };

/** Units that fail together, in the order of the words of `per`. */
enum { DSGD_PER_WORKER, DSGD_PER_ISLAND, DSGD_PER_GROUP, DSGD_PER_HOST /* not for links */ };
extern const char *const dsgd_failures_pers[];

/** Special values of a repair time. */
enum { DSGD_REPAIR_NEVER = -1, DSGD_REPAIR_AS_ALL = -2 };

/** Special values of `checkpoint: every`. */
enum { DSGD_EVERY_DALY = -1, DSGD_EVERY_YOUNG = -2, DSGD_EVERY_NEVER = -3 };

/** A failure of a worker, or of one of its hosts. */
typedef struct dsgd_failure_event {
    int64_t worker;
    double at_s, repair_s;
    int64_t host; /* below 0: all hosts of the worker */
} dsgd_failure_event;

/** A slow period of the links between a worker, node or group and all others. */
typedef struct dsgd_link_event {
    int per; /* DSGD_PER_WORKER, ... */
    int64_t which; /* rank, or number of the node or group */
    int64_t to; /* the other group, if only links to and from that group are slow; else below 0 */
    double at_s; /* start of the only slow period, if mtbf_s is 0 */
    double mtbf_s; /* mean time between slow periods, if they are random; else 0 */
    double for_s; /* duration; below 0: for ever */
    double factor; /* fraction of the bandwidth that remains; 0: a partition */
} dsgd_link_event;

typedef struct dsgd_checkpoint {
    int64_t every; /* steps of all workers / P, or DSGD_EVERY_* */
    double interval_s; /* time since the last checkpoint, instead of `every`; 0: not given */
    double seconds, bytes, bytes_per_s; /* writing one takes seconds + bytes / bytes_per_s */
    bool blocking;
} dsgd_checkpoint;

typedef struct dsgd_failures_config {
    double mtbf_s; /* mean time between failures of a unit; 0: no random failures */
    double shape; /* of the Weibull distribution */
    int per;
    double repair_s;
    bool repair_varies;
    dsgd_structs events; /* of dsgd_failure_event */
    const char *trace;
    dsgd_structs links; /* of dsgd_link_event */
    int policy;
    double notice_s, detect_s, restart_s, remake_s;
    double detect_mads; /* adaptive detection with policy quorum; below 0: off */
    dsgd_checkpoint checkpoint;
} dsgd_failures_config;

extern const dsgd_option dsgd_failures_options[];

/** Returns true if a worker can fail. */
bool dsgd_failures_any(const dsgd_failures_config *config);

/** A failure: what fails, and until when. */
typedef struct dsgd_failure {
    double down_s; /* virtual time of the failure; INFINITY: there are no more failures */
    double up_s; /* virtual time of the repair; INFINITY: never repaired */
    int worker; /* the failing worker; -1: all workers of `unit` fail */
    int unit; /* if worker is -1: number in dsgd_failure_units.of[]; else: its host, -1 for all */
} dsgd_failure;

typedef struct dsgd_failures dsgd_failures;

/**
 * Returns the time at which slow period @p n (from 0) of entry @p i of `links` starts: @p since_s
 * or later; INFINITY if there are no more periods.
 */
double dsgd_link_event_s(const dsgd_failures_config *config, uint64_t seed, size_t i, uint32_t n,
                         double since_s);

/** Which workers fail together. A worker in several units fails with each of them. */
typedef struct dsgd_failure_units {
    int n_workers, n_each;
    int *of; /* [n_workers][n_each] units, from 0; dsgd_failures_open() takes ownership */
    enum {
        DSGD_ALL_FAIL, /* list failures of workers and of single hosts */
        DSGD_WORKERS_FAIL, /* list only failures of whole workers */
        DSGD_HOSTS_FAIL /* list only failures of single hosts */
    } which;
} dsgd_failure_units;

/** Opens the failures and reads the trace file, if any. Rows of workers that the run lacks are
 * ignored. */
dsgd_status dsgd_failures_open(const dsgd_failures_config *config, uint64_t seed,
                               dsgd_failure_units units, dsgd_failures **failures,
                               dsgd_error *error);
void dsgd_failures_close(dsgd_failures *failures);

/** Returns the next failure in order of time. A worker can fail again before it is repaired. */
dsgd_failure dsgd_failures_next(dsgd_failures *failures);

/** Adds a failure to those that are still to come. */
void dsgd_failures_add(dsgd_failures *failures, dsgd_failure failure);

/** Returns true if the failure affects @p worker or one of its hosts. */
bool dsgd_failure_is_of(const dsgd_failures *failures, const dsgd_failure *failure, int worker);
/** Returns true if the failure affects this host of @p worker. */
bool dsgd_failure_is_of_host(const dsgd_failures *failures, const dsgd_failure *failure, int worker,
                             int host);

/** Returns the long-term mean time between failures of any worker; NAN if none are random. */
double dsgd_failures_mtbf_s(const dsgd_failures *failures);

/** Returns the seconds to write or read a checkpoint, of @p model_bytes unless `bytes` is set. */
double dsgd_checkpoint_cost_s(const dsgd_checkpoint *checkpoint, double model_bytes);

/**
 * Returns the training time between checkpoints of @p cost_s (C) that minimises the lost time, for
 * a mean time between failures @p mtbf_s (M). Young (1974): sqrt(2 C M). Daly (2006): his
 * higher-order estimate, and M if C > 2 M.
 */
double dsgd_checkpoint_interval_s(int64_t rule, double cost_s, double mtbf_s);
