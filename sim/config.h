/**
 * @file config.h The configuration of a run: a platform, a workload with its imbalance, one
 * algorithm, one seed, and optionally a model to train.
 */
#pragma once

#include <stdatomic.h>

#include "base/option.h"
#include "models/data/split.h"
#include "models/optim/optimizer.h"
#include "models/values/values.h"
#include "traces/failures.h"
#include "traces/platform.h"
#include "traces/workload.h"

/** The algorithm of an allreduce. */
typedef enum dsgd_collective {
    /*
     * nccl if that is the platform's library; with MPI: recursive doubling for short vectors, else
     * Rabenseifner, or Bruck if P is not a power of two
     */
    DSGD_COLLECTIVE_AUTO,
    DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
    DSGD_COLLECTIVE_RABENSEIFNER,
    DSGD_COLLECTIVE_RING,
    DSGD_COLLECTIVE_BRUCK,
    DSGD_COLLECTIVE_RINGS, /* one ring per dimension of the platform, one after another */
    DSGD_COLLECTIVE_NCCL /* NCCL's own choice, by its cost model (traces/nccl.h) */
} dsgd_collective;

/** How a library performs allreduces. */
typedef struct dsgd_way {
    dsgd_collective how;
    double doubling_bytes; /* size below which AUTO uses recursive doubling */
    /* delay of each message (partial_turn_s of dsgd_platform); 0 for MPI's own collectives */
    double turn_s;
    dsgd_dimensions along; /* dimensions of the rings, for RINGS */
} dsgd_way;

extern const char *const dsgd_collective_names[]; /* names by dsgd_collective; ends with NULL */

/**
 * Values of partial_collective: 0 means the same algorithm as the collective of all workers; other
 * values are 1 + a dsgd_collective.
 */
enum { DSGD_PARTIAL_AS_COLLECTIVE, DSGD_PARTIAL_COLLECTIVE };

typedef enum dsgd_precision { DSGD_PRECISION_FLOAT, DSGD_PRECISION_DOUBLE } dsgd_precision;

typedef struct dsgd_evaluate_config {
    /*
     * steps between two evaluations; 0: only at the start and the end; -1: never, and no step runs
     * ahead of its values
     */
    double every;
    bool local; /* evaluate each worker's own model, too, at the end */
    /* largest half-width of the 95 % confidence interval of their mean accuracy */
    double local_margin;
} dsgd_evaluate_config;

/** The training of a model. Read-only during the run. */
typedef struct dsgd_learning {
    dsgd_spec model; /* entry of dsgd_model_kinds; about is NULL if the run computes times only */
    dsgd_spec data; /* entry of dsgd_data_sources */
    dsgd_spec split; /* entry of dsgd_split_kinds; about is NULL for iid */
    int64_t batch; /* samples per worker and gradient */
    dsgd_optimizer optimizer;
    dsgd_evaluate_config evaluate;
    dsgd_precision precision;
} dsgd_learning;

/** Values of `pieces` that are words, not numbers of chunks. */
enum {
    DSGD_PIECES_TENSORS = -1, /* one chunk per tensor of the workload */
    DSGD_PIECES_BUCKETS = -2 /* buckets of whole tensors */
};

/**
 * `bucket: auto` means 25 MiB, as PyTorch DDP's bucket_cap_mb, or 1/48 of the vector; see
 * dsgd_bucket_bytes().
 */
enum { DSGD_BUCKET_AUTO = -1, DSGD_DEFAULT_BUCKET_BYTES = 25 << 20, DSGD_MANY_BUCKETS = 48 };

/** How vectors are cut into chunks, in backward order, and exchanged. */
typedef struct dsgd_exchange_config {
    int64_t pieces; /* number of equal chunks, or DSGD_PIECES_* */
    /* sizes of buckets, for DSGD_PIECES_BUCKETS; the first may be DSGD_BUCKET_AUTO */
    double bucket_bytes, first_bucket_bytes;
    /* true: chunks of a gradient become ready during the backward pass; false: all at its end */
    bool overlap;
    bool blocking; /* exchanges of a worker run one after another */
    bool barrier; /* no worker starts a step before all workers have finished theirs */
    dsgd_collective collective; /* algorithm of allreduces of all workers */
    /* size up to which allreduces are fused, as in Horovod; 0 if they are not fused */
    double fusion_bytes;
    double cycle_s; /* cycle time of Horovod's background loop */
    int partial_collective; /* algorithm of partial collectives and of groups: DSGD_PARTIAL_* */
    dsgd_spec encoding; /* gradient compression; about is NULL if vectors are sent as they are */
} dsgd_exchange_config;

/**
 * When a run ends: at the first bound that it reaches. 0 means no bound. At least one bound is set.
 */
typedef struct dsgd_until {
    double steps; /* number of steps of all workers / P */
    double seconds; /* virtual time in seconds */
    double samples; /* samples of the workload, of all workers */
    double accuracy; /* accuracy of the output at an evaluation; rejected if numerics are off */
} dsgd_until;

/** Option tables of dsgd_until, dsgd_learning and dsgd_exchange_config. */
extern const dsgd_option dsgd_until_options[], dsgd_learning_options[], dsgd_exchange_options[];

/** The progress of a run, updated while it runs. May lie in memory that processes share. */
typedef struct dsgd_progress {
    /* share of the run that is done, 0 to 1; each run has its own cache line */
    _Alignas(64) _Atomic double share;
    _Atomic double virtual_s;
    _Atomic double steps; /* number of steps of all workers / P */
    _Atomic uint64_t events; /* number of messages, steps, computations and turns */
    _Atomic uint64_t computed; /* number of batches of operations on values */
} dsgd_progress;

/** A run with the same random draws and changed computation times. Zeros change nothing. */
typedef struct dsgd_what_if {
    double step_s; /* time of every gradient of every worker, on the worker's own host */
    int worker; /* rank of the worker whose steps take `factor` times as long */
    double factor;
} dsgd_what_if;

struct dsgd_algorithm;
struct dsgd_engine;

/**
 * The configuration of a run. Members from machine_checked on do not change its result. The struct
 * owns nothing that it points to.
 */
typedef struct dsgd_run_config {
    const dsgd_platform *platform;
    int network; /* dsgd_network_kind (sim/network/cluster.h) */
    const dsgd_workload *workload;
    dsgd_specs imbalance; /* imbalance in addition to the workload's own */
    bool inherent; /* true if the workload's own imbalance applies */
    const struct dsgd_algorithm *algorithm;
    const void *params; /* parameters of the algorithm */
    int workers;
    uint64_t seed;
    dsgd_until until;
    dsgd_lines placement; /* hosts of the workers, then of the servers (sim/network/cluster.h) */
    dsgd_exchange_config exchange;
    dsgd_failures_config failures;
    const dsgd_learning *learning; /* NULL if the run computes times only */
    dsgd_what_if what_if;

    /* true if platform and placement were checked before this process was forked */
    bool machine_checked;
    dsgd_numerics numerics; /* never AUTO: a caller with many runs decides once for all runs */
    dsgd_device_place place; /* GPU that computes the values */
    uint32_t threads; /* computing threads of the numerics, in addition to the caller's thread */
    /* Host memory for values. While values need more, the simulation waits (in wall time). */
    size_t memory_bytes;
    dsgd_progress *progress; /* NULL if no progress is reported */
    /* record of the run's events (sim/timeline.h); NULL if none is wanted */
    struct dsgd_timeline *timeline;
    bool loads; /* true if the bytes that each link carries are counted */
    /* list of the run's values (sim/ledger.h); NULL if none is wanted */
    struct dsgd_ledger *ledger;

    /* For tests. */
    /*
     * Number of steps of every worker. The run ends when no message is under way. 0 means that
     * `until` decides.
     */
    int64_t steps_each;
    /** Optional. May change the models at time 0 (sim/engine/engine.h). */
    void (*prepare)(struct dsgd_engine *engine, void *argument);
    /** Optional. Reads the state at the end of the run. */
    void (*inspect)(struct dsgd_engine *engine, void *argument);
    void *inspect_argument;
} dsgd_run_config;

/**
 * Returns how collectives are performed or, if @p partial is true, partial collectives and all
 * other sums of a worker that has a partial collective, because these use another library. Replaces
 * AUTO by NCCL if that is the platform's library; else AUTO remains, which means MPI's choice.
 */
dsgd_way dsgd_way_of(const dsgd_run_config *config, bool partial);
