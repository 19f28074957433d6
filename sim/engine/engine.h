/**
 * @file engine.h
 * The state of a run and of its workers, and the functions of sim/engine/. Algorithms do not
 * include this file. Each part of the state has an owner, which is the file that writes it. The
 * struct of the part is declared in the header of the owner (clock.h for steps.c, gpu.h for
 * computation.c, ...). If another file writes a member, the member's comment names that file. Every
 * file may read every member.
 *
 * Each worker consists of several actors. The actor `work` runs the algorithm, and the actor `gpu`
 * computes. The actors `channels` perform exchanges. The actor `listener` receives the activation
 * messages of partial collectives. The actor `assist` is the algorithm's second actor. Actors are
 * coroutines: during a function, another actor can change the state only while the function calls a
 * function of sim/network/cluster.h.
 */
#pragma once

#include "models/encodings/encoding.h"
#include "models/values/values.h"
#include "sim/algorithm.h"
#include "sim/config.h"
#include "sim/engine/clock.h"
#include "sim/engine/gpu.h"
#include "sim/engine/layout.h"
#include "sim/engine/learner.h"
#include "sim/engine/waits.h"
#include "sim/exchange/wire.h"
#include "sim/failures/presence.h"
#include "sim/hybrid/replica.h"
#include "sim/ledger.h"
#include "sim/network/cluster.h"
#include "sim/observe/accounts.h"
#include "sim/timeline.h"
#include "traces/imbalance.h"

enum {
    DSGD_MAX_BITS = 20, /* largest number of bits of a rank */
    /* bytes of an activation message of a partial collective */
    DSGD_ACTIVATION_BYTES = 4
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;
struct dsgd_job; /* struct dsgd_job is defined in exchange/channels.h */

/**
 * The compressed form of a vector: how its chunks are sent and added. A run has one dsgd_encoded
 * per compression.
 */
typedef struct dsgd_encoded {
    struct dsgd_encoded *next;
    dsgd_spec encoding; /* gradient compression; its `about` is NULL for low-rank factors */
    int64_t rank; /* rank of the low-rank factors, if the compression uses them */
    bool of_columns; /* true if a low-rank factor has as many rows as the matrix has columns */
    dsgd_encoding_sum sum;
    /*
     * true if receivers decode values and add them as dense vectors; false if receivers add the
     * compressed values directly
     */
    bool decodes;
    double value_bytes; /* bytes of an uncompressed number */
    double bytes[]; /* [n_pieces] bytes of each compressed chunk on the wire */
} dsgd_encoded;

/** A chunk of a vector. */
typedef struct dsgd_piece {
    dsgd_value value;
    /*
     * Number of local steps that the owner had made when the value was computed; -1 for a chunk
     * without a value (zeros).
     */
    int64_t stamp;
    double weight; /* push-sum weight of the chunk */
    /* compression of the value; NULL if the value is sent uncompressed */
    const dsgd_encoded *encoded;
    double encoded_s; /* time at which the encoder finishes this chunk */
    /* for a compressed chunk: the vector that was compressed, which has the residuals */
    struct dsgd_vector *of;
} dsgd_piece;

#define DSGD_NO_PIECE ((dsgd_piece){DSGD_ZERO_VALUE, -1, 1, NULL, 0, NULL})

/**
 * The age of a chunk of a gradient. It is the number of updates of the model between the
 * computation of the gradient and its use. An update is a local step, or a change by an exchange or
 * linear combination.
 */
typedef struct dsgd_history {
    /*
     * for a chunk of a model: its number of updates; a copied chunk takes the number of its source
     */
    int64_t updates;
    /*
     * For a chunk of a gradient: number of updates of the model when the gradient was computed; -1
     * if several models were used.
     */
    int64_t taken;
    /*
     * mean and largest age of the gradients that were summed, in versions; -1 if the chunk is not a
     * gradient
     */
    double age, age_max;
} dsgd_history;

/**
 * A vector as long as the model, or a view of such a vector. vectors.c, computation.c and the
 * exchanges write it.
 */
struct dsgd_vector {
    dsgd_worker *owner;
    /*
     * For a view, the vector whose chunks it shows; for a whole vector, the vector itself. Only a
     * whole vector uses the members from here to `over`.
     */
    dsgd_vector *whole;
    /*
     * awaits: number of the owner's computation that finishes this vector's chunks. set_by: number
     * of the computation after which a copy or linear combination sets the chunks. Both are -1 if
     * there is no such computation.
     */
    int64_t awaits, set_by;
    bool on_host; /* true if the vector is in host memory; false if it is in device memory */
    /*
     * true if the vector belongs to a received message and the worker has received a newer message.
     * Algorithms must not use such a vector (written by messages.c).
     */
    bool over;
    dsgd_piece *piece; /* [n_pieces] chunks of the whole vector */
    dsgd_history *history;
    /* range of the chunks: first, first + stride, ... below end, see DSGD_FOR_PIECES() */
    size_t first, end, stride;

    /*
     * for a whole vector, the next vector of the run; for a view, the next view of the same vector
     * (a ring)
     */
    dsgd_vector *next;
    dsgd_vector *view; /* for a whole vector, its newest view; NULL if it has no view */
    /*
     * `residual` is the residual of error feedback of this vector. `sum_residual` is the residual
     * of the sums of all members' vectors, which are compressed again; only the vector of the first
     * member has it. Both are NULL until the first use (written by encodings.c).
     */
    dsgd_vector *residual, *sum_residual;
    dsgd_piece own[]; /* [n_pieces] chunks of a whole vector; a view uses the chunks of its whole
                       * vector */
};

/**
 * Loops over the chunks of a vector. A view has only some chunks, at their positions in the whole
 * vector.
 */
#define DSGD_FOR_PIECES(k, x) for (size_t k = (x)->first; k < (x)->end; k += (x)->stride)

/** A verb that changes one vector, chunk by chunk. */
typedef struct dsgd_update {
    /**
     * Sets y[k] <- f(y[k], x). If x[k] was ready when the verb was called, @p x is the value of
     * x[k] at that time.
     */
    void (*apply)(dsgd_worker *w, const struct dsgd_update *update, size_t k, const dsgd_piece *x);
    dsgd_vector *y, *x;
    double a, b, divisor; /* coefficients of the linear combination y <- (a y + b x) / divisor */
    const dsgd_encoded *encoded; /* compression of the result; NULL if the result is dense */
    dsgd_spec encoding;
    uint32_t call; /* number of this compression among the compressions of the worker's step */
    dsgd_codec_kind codec; /* The following members are for low-rank factors. */
    int64_t rank;
    bool transposed;
    /*
     * message that this update sends instead of changing y; NULL if it changes y (written by
     * messages.c)
     */
    struct incoming *message;
} dsgd_update;

/**
 * A worker or a server. A server uses only the members whose comments mention servers. The first
 * members are read for every message or chunk. They share few cache lines, because large runs spend
 * most of their time waiting for memory.
 */
struct dsgd_worker {
    /*
     * first member, so that a dsgd_node * can be cast to its worker (also used by servers); steps.c
     * increments node.step
     */
    dsgd_node node;

    /* The following members are written by run.c before the simulation. */
    dsgd_engine *engine; /* engine of the run; also used by servers */
    int host; /* number of the worker, which is its rank; for a server, n_workers + its rank */
    int place; /* position of the first host of this worker or server among the platform's hosts */
    double speed; /* speed of the worker's GPU, relative to a normal GPU of the platform */

    dsgd_clock clock;
    dsgd_presence presence;
    dsgd_learner learner; /* model and training state; also used by servers */
    dsgd_wire wire; /* state of the exchanges; also used by servers */
    dsgd_accounts accounts; /* numbers that are counted for the result; also used by servers */
    dsgd_waits waits; /* state of the waits for other workers; also used by servers */
    dsgd_gpu gpu; /* state of the GPU and its computation; also used by servers */
    /* state of the worker's group of hosts; NULL if the worker is one host */
    dsgd_replica_state *replica;
};

struct dsgd_engine {
    /* The following members are written by run.c before the simulation. */
    const dsgd_run_config *config;
    int n_workers, n_servers;
    dsgd_worker *workers; /* [n_workers + n_servers] all workers, followed by all servers */
    dsgd_imbalance *imbalance;
    double reference_flops;
    dsgd_layout layout;
    dsgd_costs costs;
    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* semaphore that is never posted */
    bool finished; /* true after dsgd_finish() was called */
    /* result of the run; learning.c adds points, run.c sets the outcome */
    struct dsgd_run_result *result;

    /* The struct of each following member is declared in the header of the file that writes it. */
    dsgd_run_progress progress;
    dsgd_computations computations;
    dsgd_learning_state learning;
    dsgd_exchanges exchanges;
    dsgd_absences failures;
    dsgd_hybrid hybrid;
    dsgd_run_accounts accounts;
    dsgd_barrier_state barrier;
    dsgd_watch watch;
    struct dsgd_block *blocks; /* all memory blocks of the run (written by actors.c) */
    dsgd_vector *vectors; /* all whole vectors of the run (written by vectors.c) */
    dsgd_encoded *all_encoded; /* all compressions of the run (written by encodings.c) */
};

static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

static inline bool dsgd_is_server(const dsgd_worker *w)
{
    return w->host >= w->engine->n_workers;
}

/** Returns the index, within the worker, of the host that sends and receives chunk @p k. */
static inline int dsgd_lane_of(const dsgd_engine *engine, size_t k)
{
    return engine->hybrid.replica == NULL ? 0 : engine->layout.piece_lane[k];
}

/** Returns the times of the copy engines of the host that has chunk @p k. */
static inline struct dsgd_copies *dsgd_copies_of(const dsgd_worker *w, size_t k)
{
    return &w->wire.copies[dsgd_is_server(w) ? 0 : dsgd_lane_of(w->engine, k)];
}

/** Returns the number of hosts of the cluster that run workers and servers. */
static inline int dsgd_n_hosts(const dsgd_engine *engine)
{
    return engine->n_workers * engine->layout.n_lanes + engine->n_servers;
}

/** Returns the server that has chunk @p k of the vector that all servers share. */
static inline dsgd_worker *dsgd_server_of(const dsgd_engine *engine, size_t k)
{
    return &engine->workers[engine->n_workers + (int)(k % (size_t)engine->n_servers)];
}

/** Returns true while the worker computes a gradient, or one pass of a gradient. */
static inline bool dsgd_computing(const dsgd_worker *w)
{
    return w->gpu.computation.runs;
}

/**
 * Returns the number of local steps that a worker has made with chunk @p piece. This number is the
 * clock by which values age.
 */
static inline int64_t dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->learner.local_steps[piece];
}

/** Returns the bytes of a chunk divided by the bytes of the whole vector. */
static inline double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->layout.piece_bytes[piece] / engine->layout.bytes;
}

/** Returns the host and step of a worker, for the report of a divergence. */
static inline dsgd_origin dsgd_origin_of(const dsgd_worker *w)
{
    return (dsgd_origin){(uint32_t)w->host, (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
}

/** Returns true if this run computes the values of models. */
static inline bool dsgd_learns(const dsgd_run_config *config)
{
    return config->learning != NULL && config->learning->model.about != NULL &&
           config->numerics != DSGD_NUMERICS_OFF;
}

/** Returns true if the algorithm, with its options, has all of @p traits. */
static inline bool dsgd_has_traits(const dsgd_run_config *config, unsigned traits)
{
    return (dsgd_traits_of(config->algorithm, config->params) & traits) == traits;
}

/** Returns true if the run fuses its allreduces. Then every worker has one channel. */
static inline bool dsgd_fuses(const dsgd_engine *engine)
{
    return engine->config->exchange.fusion_bytes > 0;
}

/** Ends the simulation at the current virtual time. */
static inline void dsgd_finish(dsgd_engine *engine)
{
    if (engine->finished)
        return;
    engine->finished = true; /* `finished` is set now, because other actors may still run at this
                              * virtual time */
    dsgd_semaphore_post(engine->end_semaphore);
}

/** Stops the program if an algorithm names a worker that does not exist. */
static inline void dsgd_require_peer(const dsgd_node *self, int peer)
{
    DSGD_REQUIRE(peer >= 0 && peer < self->n_workers,
                 "worker %d names worker %d in step %jd, but with %d workers they are 0 to %d",
                 self->rank, peer, self->step, self->n_workers, self->n_workers - 1);
}

/* --- functions of actors.c: memory of the run, sleeping and waking ---------------------------- */

/**
 * Allocates zeroed memory that lives until dsgd_run_free() or the end of the run. The memory
 * survives the end of the actor that allocated it.
 */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);
/** Frees @p memory, which may be NULL. */
void dsgd_run_free(void *memory);
/** Frees all memory of the run. Returns the number of blocks that were not freed before. */
size_t dsgd_run_free_all(dsgd_engine *engine);

/** Wakes the worker's sleeping actors. Each of them evaluates its condition again. */
void dsgd_work_wake(dsgd_worker *w);
/**
 * Makes the calling actor sleep until dsgd_work_wake() is called. Use it in a loop that checks a
 * condition.
 */
void dsgd_work_sleep(dsgd_worker *w);
/**
 * Makes the calling actor sleep until dsgd_work_wake() is called or until @p until_s (INFINITY for
 * no limit). Returns false if @p until_s came first.
 */
bool dsgd_work_sleep_until(dsgd_worker *w, double until_s);

/**
 * Makes the calling actor sleep until @p n chunks of the gradient are ready. It may wake earlier,
 * so use it in a loop that checks a condition.
 */
void dsgd_ready_sleep(dsgd_worker *w, size_t n);
/**
 * Wakes all actors in dsgd_ready_sleep() if at least one of them waits for no more chunks than are
 * ready now.
 */
void dsgd_ready_wake(dsgd_worker *w);

/** Records that the calling actor waits for other workers, from now until dsgd_wait_end(). */
dsgd_wait *dsgd_wait_begin(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job);
/**
 * Like dsgd_wait_begin() if work() is the calling actor. Returns NULL if assist() is the calling
 * actor, because its waits may be normal in a run without a deadlock.
 */
dsgd_wait *dsgd_wait_begin_of_work(dsgd_worker *w, const dsgd_waiting *in,
                                   const struct dsgd_job *job);
/** Ends the record of a wait. @p wait may be NULL. */
void dsgd_wait_end(dsgd_worker *w, dsgd_wait *wait);

/**
 * Records that a worker made a step or started a computation. Actors assist() that slept because no
 * worker had done this then continue.
 */
void dsgd_count_move(dsgd_engine *engine);

/** A function `lacks` for a wait that no single worker can end. The result is always false. */
bool dsgd_lacks_no_host(const dsgd_worker *w, const struct dsgd_job *job, int host);

/**
 * If the worker has been stopped, never returns. Every actor of the worker calls this function
 * after a wait.
 */
void dsgd_stay_if_stopped(const dsgd_worker *w);

/** Waits for all workers, like MPI_Barrier, but without the cost of messages. */
void dsgd_barrier(dsgd_node *self);

/* --- functions of learning.c: data, network, values and evaluations --------------------------- */

/** Opens the data, network and values that the run needs. The imbalance must be open already. */
dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_learning_close(dsgd_engine *engine);

/** Sets the models of all workers and servers at time 0. */
void dsgd_learning_begin(dsgd_engine *engine);

/** Releases vectors and optimizer states, so that the remaining evaluations need less memory. */
void dsgd_learning_end(dsgd_engine *engine);

/**
 * Evaluates the algorithm's output. The run must compute values. Returns the accuracy if `until`
 * uses it, else NAN.
 */
double dsgd_evaluate_now(dsgd_engine *engine);

/**
 * Calls dsgd_evaluate_now() if a regular evaluation is due; else returns -INFINITY. Evaluation i is
 * due after i * learn.evaluate.every * P steps, counted over all workers.
 */
double dsgd_evaluate_if_due(dsgd_engine *engine);

/** Makes the evaluations at the end of the run. The run must compute values. */
void dsgd_evaluate_last(dsgd_engine *engine);

/**
 * Fills the result with the evaluations and with a divergence, if there is one. Blocks in wall time
 * until all evaluations are computed.
 */
void dsgd_sum_up_learning(dsgd_engine *engine);

/* --- function of computation.c that returns the next event of a GPU --------------------------- */

/** Returns the next event that the actor `gpu` of a worker awaits. */
dsgd_await dsgd_gpu_next(void *worker);

/* --- functions of stages.c for workers that are groups of hosts ------------------------------- */

/**
 * Returns the time of a step of a worker that is a group of hosts. Each host has its own random
 * draws, and a stage is as slow as its slowest host.
 */
double dsgd_stages_time_s(dsgd_worker *w, dsgd_step_at at);
/**
 * Returns the time until more chunks of the current computation become ready, in seconds on a
 * reference GPU. Sets w->gpu.until to the number of chunks that are ready then.
 */
double dsgd_stages_next_s(dsgd_worker *w);
/**
 * Sends the messages between the worker's own hosts that belong to the next @p seconds of the
 * computation.
 */
void dsgd_stages_send(dsgd_worker *w, double seconds);
/** Counts the bytes and times of the worker's computation, which has ended. */
void dsgd_stages_end(dsgd_worker *w);

/* --- functions of computation.c: other work, end of a computation ----------------------------- */

/**
 * Adds @p seconds of other work to the GPU if it computes. The computation ends later by that time.
 */
void dsgd_gpu_ask(dsgd_worker *w, double seconds);

/**
 * Adds @p more (negative at the end of a collective) to the number of NCCL collectives that run on
 * the GPU.
 */
void dsgd_gpu_has_collectives(dsgd_worker *w, int more);

/** Waits until the worker's current computation has ended. */
void dsgd_computation_wait(dsgd_worker *w);

/** Ends the current computation of a worker that fails. The gradient is lost. */
void dsgd_lose_computation(dsgd_worker *w);

/* --- functions of waiting.c for workers that wait for other workers --------------------------- */

/** Marks all current waits as watched. Returns their number. */
int dsgd_waits_watch(dsgd_engine *engine);

/**
 * Continues a run after its end, while its results are summed up. Stops when it is known which of
 * the watched waits never end. Those waits stay watched.
 */
void dsgd_waits_continue(dsgd_engine *engine);

/** Restores result and values of a continued run to their state at the end of the run. */
void dsgd_waits_end(dsgd_engine *engine);

/**
 * Every verb of work() calls this function first. If the run is continued after its end and work()
 * has called too many verbs without a step, this function never returns.
 */
void dsgd_stay_if_endless(dsgd_worker *w);

/** Returns the number of workers with a watched wait. */
int dsgd_waits_watched(const dsgd_engine *engine);

/**
 * Appends a description of the watched waits to *text: "worker 3 waits in dsgd_gossip for worker 4
 * since 2.5 s; ...".
 */
void dsgd_waits_report(const dsgd_engine *engine, char **text);
