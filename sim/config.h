/**
 * @file config.h
 * What decides a run: a platform, a workload with its imbalance, one algorithm, one seed, and
 * optionally a model to learn.
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
    DSGD_COLLECTIVE_AUTO, /* the platform's library: NCCL; of MPI recursive doubling of few bytes,
                             else Rabenseifner, or Bruck where P is no power of two */
    DSGD_COLLECTIVE_RECURSIVE_DOUBLING,
    DSGD_COLLECTIVE_RABENSEIFNER,
    DSGD_COLLECTIVE_RING,
    DSGD_COLLECTIVE_BRUCK,
    DSGD_COLLECTIVE_RINGS, /* rings along the platform's dimensions, one after another */
    DSGD_COLLECTIVE_NCCL /* as NCCL chooses by its own model (traces/nccl.h) */
} dsgd_collective;

/** How a library carries out allreduces. */
typedef struct dsgd_way {
    dsgd_collective how;
    double doubling_bytes; /* of AUTO: fewer are summed by recursive doubling */
    double turn_s; /* of each message, dsgd_platform's partial_turn_s; 0: it is MPI's own */
    dsgd_dimensions along; /* of RINGS */
} dsgd_way;

extern const char *const dsgd_collective_names[]; /* by dsgd_collective; NULL-terminated */

/** Of a partial collective: 0: as the collective of all workers; else 1 + a dsgd_collective. */
enum { DSGD_PARTIAL_AS_COLLECTIVE, DSGD_PARTIAL_COLLECTIVE };

typedef enum dsgd_precision { DSGD_PRECISION_FLOAT, DSGD_PRECISION_DOUBLE } dsgd_precision;

typedef struct dsgd_evaluate_config {
    double every; /* steps; 0: only at the start and the end; -1: never, and no step runs ahead of
                     its values */
    bool local; /* at the end each worker's own model too */
    double local_margin; /* of their mean accuracy: half of its 95 % interval, at most */
} dsgd_evaluate_config;

/** What to learn. Read-only during the run. */
typedef struct dsgd_learning {
    dsgd_spec model; /* out of dsgd_model_kinds; about == NULL: timing only */
    dsgd_spec data; /* out of dsgd_data_sources */
    dsgd_spec split; /* out of dsgd_split_kinds; about == NULL: as iid */
    int64_t batch; /* samples per worker and gradient */
    dsgd_optimizer optimizer;
    dsgd_evaluate_config evaluate;
    dsgd_precision precision;
} dsgd_learning;

/** Instead of a number of pieces: the words of `exchange: pieces`. */
enum {
    DSGD_PIECES_TENSORS = -1, /* the workload's */
    DSGD_PIECES_BUCKETS = -2 /* whole tensors until a bucket has reached its size */
};

/** `bucket: auto`: 25 MiB as PyTorch DDP's bucket_cap_mb, or a 48th of the vector:
 * dsgd_bucket_bytes(). */
enum { DSGD_BUCKET_AUTO = -1, DSGD_DEFAULT_BUCKET_BYTES = 25 << 20, DSGD_MANY_BUCKETS = 48 };

/** How vectors are cut for their exchanges, in backward order. */
typedef struct dsgd_exchange_config {
    int64_t pieces; /* a number of equal ones, or a word */
    double bucket_bytes, first_bucket_bytes; /* of PIECES_BUCKETS; the former may be BUCKET_AUTO */
    /* Pieces of a gradient become ready during the backward pass, not all at its end. */
    bool overlap;
    bool blocking; /* exchanges of a worker follow one another */
    bool barrier; /* no worker begins a step before all have ended theirs */
    dsgd_collective collective; /* of all workers */
    double fusion_bytes; /* allreduces as Horovod fuses them; 0: no */
    double cycle_s; /* of its background loop */
    int partial_collective; /* of partial collectives and groups: DSGD_PARTIAL_* */
    dsgd_spec encoding; /* of what is sent; about NULL: vectors are sent as they are */
} dsgd_exchange_config;

/** When a run ends: at the first bound; 0: no bound. At least one is set. */
typedef struct dsgd_until {
    double steps; /* of all workers / P */
    double seconds; /* virtual */
    double samples; /* of the workload, of all workers */
    double accuracy; /* of the output, at an evaluation; refused with numerics off */
} dsgd_until;

/** Tables of dsgd_until, dsgd_learning and dsgd_exchange_config. */
extern const dsgd_option dsgd_until_options[], dsgd_learning_options[], dsgd_exchange_options[];

/** How far a run is, told while it runs; may lie in memory that processes share. */
typedef struct dsgd_progress {
    _Alignas(64) _Atomic double share; /* done, 0 to 1; a cache line for each run */
    _Atomic double virtual_s;
    _Atomic double steps; /* of all workers / P */
    _Atomic uint64_t events; /* messages, steps, computations and turns */
    _Atomic uint64_t computed; /* batches of operations on values */
} dsgd_progress;

/** A run as it would be with the same draws and another computation. Zeros: as it is. */
typedef struct dsgd_what_if {
    double step_s; /* every gradient of every worker takes this on its own host */
    int worker; /* whose steps take this times as long */
    double factor;
} dsgd_what_if;

struct dsgd_algorithm;
struct dsgd_engine;

/** Last come the members that do not decide the result. Not owned. */
typedef struct dsgd_run_config {
    const dsgd_platform *platform;
    int network; /* dsgd_network_kind (sim/network/cluster.h) */
    const dsgd_workload *workload;
    dsgd_specs imbalance; /* on top of the workload's own */
    bool inherent; /* whether the workload's own imbalance applies */
    const struct dsgd_algorithm *algorithm;
    const void *params; /* of the algorithm */
    int workers;
    uint64_t seed;
    dsgd_until until;
    dsgd_lines placement; /* of workers, then servers, on hosts (sim/network/cluster.h) */
    dsgd_exchange_config exchange;
    dsgd_failures_config failures;
    const dsgd_learning *learning; /* NULL: timing only */
    dsgd_what_if what_if;

    bool machine_checked; /* platform and placement are, before this process was forked */
    dsgd_numerics numerics; /* not AUTO: whoever has many runs decides once for all */
    dsgd_device_place place; /* of a GPU */
    uint32_t threads; /* computing threads of the numerics, beside the caller's */
    /* of the host, for values; while more are held the simulation waits, in wall time */
    size_t memory_bytes;
    dsgd_progress *progress; /* NULL: nobody asks */
    struct dsgd_timeline *timeline; /* what happens is recorded (sim/timeline.h); NULL: it is not */
    bool loads; /* what links carry is counted */
    struct dsgd_ledger *ledger; /* and which values there are (sim/ledger.h); NULL: it is not */

    /* For tests. */
    /* Steps of every worker; the run ends when no message is on its way. 0: use `until`. */
    int64_t steps_each;
    /** Optional: may change the models at time 0 (sim/engine/engine.h). */
    void (*prepare)(struct dsgd_engine *engine, void *argument);
    /** Optional: reads the state in the last instant. */
    void (*inspect)(struct dsgd_engine *engine, void *argument);
    void *inspect_argument;
} dsgd_run_config;

/**
 * Of collectives, or of partial ones and all else that a worker with a partial collective sums,
 * whose library is another. AUTO is MPI's.
 */
dsgd_way dsgd_way_of(const dsgd_run_config *config, bool partial);
