/**
 * @file config.h The configuration of a run. It consists of a platform, a workload with its
 * imbalance, one algorithm, one seed, and optionally a model to train.
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

/** The collective algorithm of an allreduce. */
typedef enum dsgd_collective {
    /*
     * With NCCL or RCCL as the platform's library, AUTO means NCCL. With MPI, AUTO means recursive
     * doubling for short vectors. For other vectors it means Rabenseifner, or Bruck if P is not a
     * power of two.
     */
    DSGD_COLLECTIVE_AUTO,
    DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
    DSGD_COLLECTIVE_RABENSEIFNER,
    DSGD_COLLECTIVE_RING,
    DSGD_COLLECTIVE_BRUCK,
    DSGD_COLLECTIVE_RINGS, /* one ring per dimension of the platform, executed one after another */
    /* algorithm that NCCL chooses by its cost model (traces/nccl.h) */
    DSGD_COLLECTIVE_NCCL
} dsgd_collective;

/** The way in which the library performs allreduces. */
typedef struct dsgd_way {
    dsgd_collective how;
    double doubling_bytes; /* number of bytes below which AUTO uses recursive doubling */
    /*
     * delay of each message in seconds (partial_turn_s of dsgd_platform); 0 for collectives of MPI
     */
    double turn_s;
    dsgd_dimensions along; /* dimensions of the platform; only RINGS uses them */
} dsgd_way;

/* names of collective algorithms, indexed by dsgd_collective; ends with NULL */
extern const char *const dsgd_collective_names[];

/**
 * Values of partial_collective. The value 0 selects the algorithm of the collectives of all
 * workers. Each other value is 1 + a dsgd_collective.
 */
enum { DSGD_PARTIAL_AS_COLLECTIVE, DSGD_PARTIAL_COLLECTIVE };

typedef enum dsgd_precision { DSGD_PRECISION_FLOAT, DSGD_PRECISION_DOUBLE } dsgd_precision;

typedef struct dsgd_evaluate_config {
    /*
     * Number of steps between two evaluations. 0 means that a run evaluates only at its start and
     * at its end. -1 means that a run never evaluates. In that case, no step runs ahead of the
     * computation of its values.
     */
    double every;
    bool local; /* true if each worker's own model is also evaluated at the end */
    /* largest half-width of the 95 % confidence interval of the mean accuracy of all workers */
    double local_margin;
} dsgd_evaluate_config;

/** The training of a model. It does not change during the run. */
typedef struct dsgd_learning {
    /* entry of dsgd_model_kinds; its `about` is NULL if the run computes only times */
    dsgd_spec model;
    dsgd_spec data; /* data set of the training: an entry of dsgd_data_sources */
    dsgd_spec split; /* entry of dsgd_split_kinds; its `about` is NULL for iid */
    int64_t batch; /* number of samples per worker and gradient */
    dsgd_optimizer optimizer;
    dsgd_evaluate_config evaluate;
    dsgd_precision precision;
} dsgd_learning;

/** Values of `pieces` that stand for a word instead of a number of chunks. */
enum {
    DSGD_PIECES_TENSORS = -1, /* one chunk per tensor of the workload */
    /* chunks are buckets of whole tensors */
    DSGD_PIECES_BUCKETS = -2
};

/**
 * Sizes of buckets. `bucket: auto` means 25 MiB, like bucket_cap_mb of PyTorch DDP, or 1/48 of the
 * vector; see dsgd_bucket_bytes().
 */
enum { DSGD_BUCKET_AUTO = -1, DSGD_DEFAULT_BUCKET_BYTES = 25 << 20, DSGD_MANY_BUCKETS = 48 };

/** Options for cutting vectors into chunks, in backward order, and for exchanging them. */
typedef struct dsgd_exchange_config {
    int64_t pieces; /* number of equal chunks, or one of DSGD_PIECES_* */
    /*
     * bytes of a bucket, and of the first bucket, for DSGD_PIECES_BUCKETS; bucket_bytes may be
     * DSGD_BUCKET_AUTO
     */
    double bucket_bytes, first_bucket_bytes;
    /*
     * true if chunks of a gradient become ready during the backward pass; false if all become ready
     * at its end
     */
    bool overlap;
    bool blocking; /* true if the exchanges of a worker run one after another */
    /* true if each step of a worker waits until all workers have completed the previous step */
    bool barrier;
    dsgd_collective collective; /* collective algorithm of allreduces of all workers */
    /* largest number of bytes into which allreduces are fused, as in Horovod; 0 for no fusion */
    double fusion_bytes;
    double cycle_s; /* shortest time between two cycles of fusion, as in Horovod, in seconds */
    /* collective algorithm of partial collectives and of groups: one of DSGD_PARTIAL_* */
    int partial_collective;
    /* gradient compression; its `about` is NULL if vectors are sent uncompressed */
    dsgd_spec encoding;
} dsgd_exchange_config;

/**
 * The bounds of a run. The run ends when it reaches one of them. A bound of 0 is not set. At least
 * one bound must be set.
 */
typedef struct dsgd_until {
    double steps; /* bound on the number of steps of all workers, divided by P */
    double seconds; /* bound on virtual time, in seconds */
    double samples; /* bound on the number of samples of the workload, summed over all workers */
    /*
     * accuracy of the algorithm's output that ends the run at an evaluation; rejected if numerics
     * are off
     */
    double accuracy;
} dsgd_until;

/** Option tables of dsgd_until, dsgd_learning and dsgd_exchange_config. */
extern const dsgd_option dsgd_until_options[], dsgd_learning_options[], dsgd_exchange_options[];

/** The progress of a run, updated during the run. It may be in memory that processes share. */
typedef struct dsgd_progress {
    /*
     * share of the run that is done, from 0 to 1; aligned, so that each run has its own cache line
     */
    _Alignas(64) _Atomic double share;
    _Atomic double virtual_s;
    _Atomic double steps; /* number of steps of all workers, divided by P */
    _Atomic uint64_t events; /* number of messages, steps, computations and turns of assist() */
    _Atomic uint64_t computed; /* number of computed batches of operations on values so far */
} dsgd_progress;

/**
 * Changes of computation times for a run with the same random draws. Members that are 0 change
 * nothing.
 */
typedef struct dsgd_what_if {
    /* time of every gradient on the worker's own host; 0 means the drawn times */
    double step_s;
    int worker; /* rank of the worker whose steps last `factor` times as long */
    double factor;
} dsgd_what_if;

struct dsgd_algorithm;
struct dsgd_engine;

/**
 * The configuration of a run. The member machine_checked and the members after it do not change the
 * result. The pointers of the struct belong to the caller.
 */
typedef struct dsgd_run_config {
    const dsgd_platform *platform;
    int network; /* network, of type dsgd_network_kind (sim/network/cluster.h) */
    const dsgd_workload *workload;
    dsgd_specs imbalance; /* imbalance in addition to the inherent imbalance of the workload */
    bool inherent; /* true if the inherent imbalance of the workload applies */
    const struct dsgd_algorithm *algorithm;
    const void *params; /* parameters of the algorithm */
    int workers;
    uint64_t seed;
    dsgd_until until;
    /* hosts of the workers, followed by hosts of the servers (sim/network/cluster.h) */
    dsgd_lines placement;
    dsgd_exchange_config exchange;
    dsgd_failures_config failures;
    const dsgd_learning *learning; /* training of a model; NULL if the run computes only times */
    dsgd_what_if what_if;

    /* true if platform and placement were checked before this process was forked */
    bool machine_checked;
    /*
     * device that computes values; never AUTO, because a caller with several runs decides once for
     * all of them
     */
    dsgd_numerics numerics;
    dsgd_device_place place; /* GPU that computes the values */
    /* number of threads that compute values, in addition to the caller's thread */
    uint32_t threads;
    /*
     * Bytes of host memory for values. If values need more memory, the simulation waits in wall
     * time until memory is released.
     */
    size_t memory_bytes;
    /* progress of the run, which is updated; NULL if no progress is reported */
    dsgd_progress *progress;
    /* record of the run's events (sim/timeline.h); NULL to record nothing */
    struct dsgd_timeline *timeline;
    bool loads; /* true if the bytes that each link carries are counted */
    /* list of the run's values (sim/ledger.h); NULL to list nothing */
    struct dsgd_ledger *ledger;

    /* The following members are for tests. */
    /*
     * Number of steps of every worker. After these steps, the run ends when no message is under
     * way. 0 means that `until` ends the run.
     */
    int64_t steps_each;
    /**
     * Optional. The run calls prepare() at time 0; it may change the initial models
     * (sim/engine/engine.h).
     */
    void (*prepare)(struct dsgd_engine *engine, void *argument);
    /** Optional. The run calls inspect() at its end; it reads the state of the run. */
    void (*inspect)(struct dsgd_engine *engine, void *argument);
    void *inspect_argument;
} dsgd_run_config;

/**
 * Returns the way in which allreduces are performed. If @p partial is true, returns the way of
 * partial collectives. A worker that has a partial collective uses this way for all its sums,
 * because these sums use another library. AUTO is replaced by NCCL if the platform's library is
 * NCCL or RCCL. Otherwise AUTO remains and means the choice of MPI.
 */
dsgd_way dsgd_way_of(const dsgd_run_config *config, bool partial);
