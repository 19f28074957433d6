/**
 * @file failures.h
 * When workers fail, and when they are repaired: drawn, listed or read. A pure function of the
 * configuration and the seed, in virtual time: what a run does about it changes no failure, so that
 * all algorithms meet the same ones.
 */
#pragma once

#include "base/draw.h"
#include "base/option.h"

/** What is done about failures: the words of `policy`. */
enum { DSGD_POLICY_OWN, DSGD_POLICY_RESTART, DSGD_POLICY_QUORUM, DSGD_POLICY_NONE };

/** What fails together: the words of `per`. */
enum { DSGD_PER_WORKER, DSGD_PER_ISLAND, DSGD_PER_GROUP, DSGD_PER_HOST /* not of links */ };
extern const char *const dsgd_failures_pers[];

/** Of a repair, as it is stored. */
enum { DSGD_REPAIR_NEVER = -1, DSGD_REPAIR_AS_ALL = -2 };

/** Of `checkpoint: every`, as it is stored. */
enum { DSGD_EVERY_DALY = -1, DSGD_EVERY_YOUNG = -2, DSGD_EVERY_NEVER = -3 };

/** A worker that fails, or one of its hosts. */
typedef struct dsgd_failure_event {
    int64_t worker;
    double at_s, repair_s;
    int64_t host; /* below 0: all of them */
} dsgd_failure_event;

/** What carries less for a while: what leads to a worker, an island or a group from all else. */
typedef struct dsgd_link_event {
    int per; /* DSGD_PER_WORKER, ... */
    int64_t which, to; /* to: another group, to which alone, and from it; below 0: to all else */
    double at_s, mtbf_s; /* the first time; above 0: drawn, instead of at_s */
    double for_s, factor; /* of the bandwidth, meanwhile; 0: a partition; for_s below 0: for ever */
} dsgd_link_event;

typedef struct dsgd_checkpoint {
    int64_t every; /* steps of all workers / P, or a word */
    double interval_s; /* instead: since the last one; 0: not given */
    double seconds, bytes, bytes_per_s; /* of writing one, and besides bytes / bytes_per_s */
    bool blocking;
} dsgd_checkpoint;

typedef struct dsgd_failures_config {
    double mtbf_s; /* of what fails together; 0: nothing is drawn */
    double shape; /* of a Weibull distribution */
    int per;
    double repair_s;
    bool repair_varies;
    dsgd_structs events; /* of dsgd_failure_event */
    const char *trace;
    dsgd_structs links; /* of dsgd_link_event */
    int policy;
    double notice_s, detect_s, restart_s, remake_s;
    double detect_mads; /* by quorum: adaptive, see the options; below 0: not */
    dsgd_checkpoint checkpoint;
} dsgd_failures_config;

extern const dsgd_option dsgd_failures_options[];

/** Whether anything can fail. */
bool dsgd_failures_any(const dsgd_failures_config *config);

/** What fails, and until when. */
typedef struct dsgd_failure {
    double down_s,
        up_s; /* virtual; down_s INFINITY: nothing fails any more; up_s: never repaired */
    int worker; /* -1: all of: */
    int unit; /* in dsgd_failure_units.of[]; of a worker: its host, -1: all */
} dsgd_failure;

typedef struct dsgd_failures dsgd_failures;

/** When entry @p i of `links` begins for the n-th time, from 0: never before @p since_s. INFINITY:
 * not any more. */
double dsgd_link_event_s(const dsgd_failures_config *config, uint64_t seed, size_t i, uint32_t n,
                         double since_s);

/** Which workers fail together; one that is in several units, with each of them. */
typedef struct dsgd_failure_units {
    int n_workers, n_each;
    int *of; /* [n_workers][n_each] from 0; owned by the failures once these are open */
    enum {
        DSGD_ALL_FAIL,
        DSGD_WORKERS_FAIL,
        DSGD_HOSTS_FAIL
    } which; /* as a whole; by themselves */
} dsgd_failure_units;

/** Reads the trace, if any. Rows of workers that the run does not have do not count. */
dsgd_status dsgd_failures_open(const dsgd_failures_config *config, uint64_t seed,
                               dsgd_failure_units units, dsgd_failures **failures,
                               dsgd_error *error);
void dsgd_failures_close(dsgd_failures *failures);

/** The next, by time. What has failed may be listed as failing again before it is repaired. */
dsgd_failure dsgd_failures_next(dsgd_failures *failures);

/** Puts one more into it. */
void dsgd_failures_add(dsgd_failures *failures, dsgd_failure failure);

/** Whether this worker is among those that have failed, or one of its hosts is; and whether this
 * host is. */
bool dsgd_failure_is_of(const dsgd_failures *failures, const dsgd_failure *failure, int worker);
bool dsgd_failure_is_of_host(const dsgd_failures *failures, const dsgd_failure *failure, int worker,
                             int host);

/** Of any of the workers, in the long run; NAN: not drawn. */
double dsgd_failures_mtbf_s(const dsgd_failures *failures);

/**
 * What one checkpoint takes to write, and to read. @p model_bytes where the file gives no bytes.
 */
double dsgd_checkpoint_cost_s(const dsgd_checkpoint *checkpoint, double model_bytes);

/**
 * Work between two checkpoints of @p cost_s at which least is lost: Young (1974), sqrt(2 C M); Daly
 * (2006), his higher order, M where C > 2 M.
 */
double dsgd_checkpoint_interval_s(int64_t rule, double cost_s, double mtbf_s);
