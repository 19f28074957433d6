/**
 * @file engine.h The state of a run and of its workers, and the functions of this folder. Not for
 * algorithms. Each part of the state has an owner: its struct is declared in the header of the file
 * that writes it (clock.h for steps.c, gpu.h for computation.c, ...). If another file writes a
 * member, the member's comment names that file. Every file may read every member.
 *
 * Each worker consists of several actors. `work` runs the algorithm; `gpu` computes; `channels`
 * perform exchanges; `listener` receives those activations of partial collectives that are
 * messages; `assist` is the algorithm's second actor. Actors are coroutines: the state can change
 * during a function only where it calls a function of sim/network/cluster.h.
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
    DSGD_MAX_BITS = 20, /* bits of a rank */
    DSGD_ACTIVATION_BYTES = 4 /* size of an activation message of a partial collective */
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;
struct dsgd_job; /* declared in exchange/channels.h */

/** How the chunks of a compressed vector are sent. Made once per run. */
typedef struct dsgd_encoded {
    struct dsgd_encoded *next;
    dsgd_spec encoding; /* gradient compression; about is NULL for factors of low rank */
    int64_t rank; /* rank of factors */
    bool of_columns; /* true if a factor has as many rows as the matrix has columns */
    dsgd_encoding_sum sum;
    /*
     * true: received values are decoded and added as dense vectors; false: they are added as they
     * are
     */
    bool decodes;
    double value_bytes; /* size of an uncompressed number */
    double bytes[]; /* [n_pieces] bytes on the wire */
} dsgd_encoded;

/** A chunk of a vector. */
typedef struct dsgd_piece {
    dsgd_value value;
    /*
     * Number of local steps that the owner had made when the value was computed; -1 for no value
     * (zeros).
     */
    int64_t stamp;
    double weight; /* weight of push-sum */
    const dsgd_encoded *encoded; /* compression of the value; NULL if it is sent as it is */
    double encoded_s; /* time at which the encoder has finished the chunk */
    struct dsgd_vector *of; /* vector whose compressed form this is, and which has the residuals */
} dsgd_piece;

#define DSGD_NO_PIECE ((dsgd_piece){DSGD_ZERO_VALUE, -1, 1, NULL, 0, NULL})

/**
 * The age of a chunk of a gradient, in updates of the model that it is applied to. An update is a
 * local step, or a change by an exchange or linear combination.
 */
typedef struct dsgd_history {
    /* updates of this chunk as a model; a copy takes the count of the chunk that it copies */
    int64_t updates;
    /*
     * As a gradient: number of updates of the model at which it was computed; -1 for several
     * models.
     */
    int64_t taken;
    /* mean and largest age of several workers' gradients, in versions; -1 if there is none */
    double age, age_max;
} dsgd_history;

/**
 * A vector as long as the model, or a view of one. vectors.c, computation.c and the exchanges write
 * it.
 */
struct dsgd_vector {
    dsgd_worker *owner;
    /*
     * Vector of which this is a view, or this vector. Only a whole vector uses the members from
     * here to `over`:
     */
    dsgd_vector *whole;
    /*
     * Number of the owner's computation that finishes this vector's chunks, and number of the copy
     * or linear combination that sets them; -1 if there is none.
     */
    int64_t awaits, set_by;
    bool on_host; /* true: in host memory; false: in device memory */
    /* true for a vector of a message other than the one received last (written by messages.c) */
    bool over;
    dsgd_piece *piece; /* [n_pieces] chunks of the whole vector */
    dsgd_history *history;
    size_t first, end, stride; /* chunks of this vector: see DSGD_FOR_PIECES() */

    /* next vector of the run; for a view, next in the ring of views of its vector */
    dsgd_vector *next;
    dsgd_vector *view; /* newest view of a whole vector, or NULL */
    /*
     * Residual of error feedback of this vector and, at the first member, of the re-compressed sums
     * of all members' vectors (written by encodings.c). NULL until it is used.
     */
    dsgd_vector *residual, *sum_residual;
    dsgd_piece own[]; /* chunks of a whole vector */
};

/**
 * Loops over the chunks of a vector. A view has some of the chunks, at their positions in the whole
 * vector.
 */
#define DSGD_FOR_PIECES(k, x) for (size_t k = (x)->first; k < (x)->end; k += (x)->stride)

/** A verb that changes one vector, chunk by chunk. */
typedef struct dsgd_update {
    /**
     * y[k] <- f(y[k], x). @p x is x[k] as it was when the verb was called, if it was ready then.
     */
    void (*apply)(dsgd_worker *w, const struct dsgd_update *update, size_t k, const dsgd_piece *x);
    dsgd_vector *y, *x;
    double a, b, divisor; /* coefficients of a linear combination */
    const dsgd_encoded *encoded; /* compression of the result; NULL if y is dense */
    dsgd_spec encoding;
    uint32_t call; /* number of the compression in the worker's step */
    dsgd_codec_kind codec; /* For factors of low rank: */
    int64_t rank;
    bool transposed;
    /* message to send, for an update that changes nothing (written by messages.c) */
    struct incoming *message;
} dsgd_update;

/**
 * A worker or a server. A server uses only the members marked (S). Members that are read for every
 * message or chunk come first, within few cache lines, because large runs spend most of their time
 * waiting for memory.
 */
struct dsgd_worker {
    dsgd_node node; /* (S) first, so that a dsgd_node is its worker; steps.c increments node.step */

    /* Written by run.c before the simulation. */
    dsgd_engine *engine; /* (S) */
    int host; /* (S) */
    int place; /* (S) place of that host among the platform's hosts */
    double speed; /* speed of its GPU, as a multiple of the platform's other GPUs */

    dsgd_clock clock;
    dsgd_presence presence;
    dsgd_learner learner; /* (S) */
    dsgd_wire wire; /* (S) */
    dsgd_accounts accounts; /* (S) */
    dsgd_waits waits; /* (S) */
    dsgd_gpu gpu; /* (S) */
    dsgd_replica_state *replica; /* state of a group of hosts; NULL if the worker is one host */
};

struct dsgd_engine {
    /* Written by run.c before the simulation. */
    const dsgd_run_config *config;
    int n_workers, n_servers;
    dsgd_worker *workers; /* [n_workers + n_servers] workers, then servers */
    dsgd_imbalance *imbalance;
    double reference_flops;
    dsgd_layout layout;
    dsgd_costs costs;
    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* semaphore that is never posted */
    bool finished; /* true after dsgd_finish() */
    struct dsgd_run_result *result; /* result; learning.c adds points, run.c sets the outcome */

    /* Each struct is declared in the header of the file that writes it. */
    dsgd_run_progress progress;
    dsgd_computations computations;
    dsgd_learning_state learning;
    dsgd_exchanges exchanges;
    dsgd_absences failures;
    dsgd_hybrid hybrid;
    dsgd_run_accounts accounts;
    dsgd_barrier_state barrier;
    dsgd_watch watch;
    struct dsgd_block *blocks; /* memory of the run (actors.c) */
    dsgd_vector *vectors; /* all vectors of the run (vectors.c) */
    dsgd_encoded *all_encoded; /* all compressions of the run (encodings.c) */
};

static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

static inline bool dsgd_is_server(const dsgd_worker *w)
{
    return w->host >= w->engine->n_workers;
}

/** Returns the index of the worker's host that sends and receives chunk @p k. */
static inline int dsgd_lane_of(const dsgd_engine *engine, size_t k)
{
    return engine->hybrid.replica == NULL ? 0 : engine->layout.piece_lane[k];
}

/** Returns the copy engines of the host that has chunk @p k. */
static inline struct dsgd_copies *dsgd_copies_of(const dsgd_worker *w, size_t k)
{
    return &w->wire.copies[dsgd_is_server(w) ? 0 : dsgd_lane_of(w->engine, k)];
}

/** Returns the number of hosts of the cluster: see dsgd_cluster_host(). */
static inline int dsgd_n_hosts(const dsgd_engine *engine)
{
    return engine->n_workers * engine->layout.n_lanes + engine->n_servers;
}

/** Returns the server that has chunk @p k of a vector that servers share. */
static inline dsgd_worker *dsgd_server_of(const dsgd_engine *engine, size_t k)
{
    return &engine->workers[engine->n_workers + (int)(k % (size_t)engine->n_servers)];
}

/** Returns true while a gradient, or a pass of it, is computed. */
static inline bool dsgd_computing(const dsgd_worker *w)
{
    return w->gpu.computation.runs;
}

/**
 * Returns the number of local steps that a worker has made with chunk @p piece: the clock by which
 * values age.
 */
static inline int64_t dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->learner.local_steps[piece];
}

/** Returns the share of a chunk in the bytes of a vector. */
static inline double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->layout.piece_bytes[piece] / engine->layout.bytes;
}

/** Returns host and step, for the report of a divergence. */
static inline dsgd_origin dsgd_origin_of(const dsgd_worker *w)
{
    return (dsgd_origin){(uint32_t)w->host, (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
}

/** Returns true if this run computes models. */
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

/** Returns true if the run's allreduces are fused. Then every worker has one channel. */
static inline bool dsgd_fuses(const dsgd_engine *engine)
{
    return engine->config->exchange.fusion_bytes > 0;
}

/** Ends the simulation at this instant. */
static inline void dsgd_finish(dsgd_engine *engine)
{
    if (engine->finished)
        return;
    engine->finished = true; /* set before other actors run at this instant */
    dsgd_semaphore_post(engine->end_semaphore);
}

/** Stops the program if an algorithm names a worker that does not exist. */
static inline void dsgd_require_peer(const dsgd_node *self, int peer)
{
    DSGD_REQUIRE(peer >= 0 && peer < self->n_workers,
                 "worker %d names worker %d in step %jd, but with %d workers they are 0 to %d",
                 self->rank, peer, self->step, self->n_workers, self->n_workers - 1);
}

/* --- actors.c: memory, waiting ---------------------------------------------------------------- */

/**
 * Allocates zeroed memory that lives until dsgd_run_free() or the end of the run, also if an actor
 * that held it is killed.
 */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);
/** Frees @p memory, which may be NULL. */
void dsgd_run_free(void *memory);
/** Frees all memory of the run. Returns the number of blocks. */
size_t dsgd_run_free_all(dsgd_engine *engine);

/** Wakes the worker's sleeping actors. Each of them evaluates its condition again. */
void dsgd_work_wake(dsgd_worker *w);
/** Sleeps until dsgd_work_wake(). For loops around a condition. */
void dsgd_work_sleep(dsgd_worker *w);
/**
 * Sleeps until dsgd_work_wake() or until @p until_s (INFINITY for no limit). Returns false if @p
 * until_s came first.
 */
bool dsgd_work_sleep_until(dsgd_worker *w, double until_s);

/**
 * Like dsgd_work_sleep(), for a condition that changes when @p n chunks of the gradient are ready.
 */
void dsgd_ready_sleep(dsgd_worker *w, size_t n);
/** Wakes the actors that wait for no more chunks of the gradient than are ready now. */
void dsgd_ready_wake(dsgd_worker *w);

/** Records that the calling actor waits for other workers, from now until dsgd_wait_end(). */
dsgd_wait *dsgd_wait_begin(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job);
/**
 * Like dsgd_wait_begin(), but only for work(). Returns NULL for assist(), whose wait may be no sign
 * of trouble.
 */
dsgd_wait *dsgd_wait_begin_of_work(dsgd_worker *w, const dsgd_waiting *in,
                                   const struct dsgd_job *job);
/** Ends a wait. @p wait may be NULL. */
void dsgd_wait_end(dsgd_worker *w, dsgd_wait *wait);

/**
 * Records that a step has been made or a computation begins, so that assist() takes turns again.
 */
void dsgd_count_move(dsgd_engine *engine);

/** The function `lacks` of waits that no single worker can end. */
bool dsgd_lacks_no_host(const dsgd_worker *w, const struct dsgd_job *job, int host);

/**
 * Does not return if the worker has been stopped. Every actor of the worker calls it after a wait.
 */
void dsgd_stay_if_stopped(const dsgd_worker *w);

/** Waits for all workers, like MPI_Barrier, but without the cost of messages. */
void dsgd_barrier(dsgd_node *self);

/* --- learning.c: data, network and values; evaluations ---------------------------------------- */

/** Opens the data, network and values that the run needs. The imbalance must be open. */
dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_learning_close(dsgd_engine *engine);

/** Sets the models of all workers and servers at time 0. */
void dsgd_learning_begin(dsgd_engine *engine);

/** Releases vectors and optimizer states, so that the remaining evaluations need less memory. */
void dsgd_learning_end(dsgd_engine *engine);

/**
 * Evaluates the algorithm's output; needs numerics. Returns the accuracy if `until` uses it, else
 * NAN.
 */
double dsgd_evaluate_now(dsgd_engine *engine);

/**
 * Calls dsgd_evaluate_now() if a regular evaluation is due; else returns -INFINITY. Evaluation i is
 * due after i * learn.evaluate.every * P steps of all workers.
 */
double dsgd_evaluate_if_due(dsgd_engine *engine);

/** Makes the evaluations at the end of the run; needs numerics. */
void dsgd_evaluate_last(dsgd_engine *engine);

/**
 * Fills the result with the evaluations and with a divergence, if there is one. Waits in wall time.
 */
void dsgd_sum_up_learning(dsgd_engine *engine);

/* --- computation.c: gradients and what waits for their pieces --------------------------------- */

/** Returns what the actor that computes a worker's gradients awaits next. */
dsgd_await dsgd_gpu_next(void *worker);

/* --- stages.c: workers that are groups of hosts ----------------------------------------------- */

/**
 * Returns the time of a step of a worker that is a group of hosts. Each host has its own random
 * draws, and a stage is as slow as its slowest host.
 */
double dsgd_stages_time_s(dsgd_worker *w, dsgd_step_at at);
/**
 * Returns the seconds of the current computation until more chunks are ready, and sets w->gpu.until
 * to their number.
 */
double dsgd_stages_next_s(dsgd_worker *w);
/**
 * Sends the messages between the worker's own hosts that belong to @p seconds of the computation.
 */
void dsgd_stages_send(dsgd_worker *w, double seconds);
/** Counts the computation, which has ended. */
void dsgd_stages_end(dsgd_worker *w);

/* --- computation.c, further ------------------------------------------------------------------- */

/** Makes the GPU, if it computes, do @p seconds of other work first. */
void dsgd_gpu_ask(dsgd_worker *w, double seconds);

/** Adds @p more to the number of NCCL collectives that run on the GPU. */
void dsgd_gpu_has_collectives(dsgd_worker *w, int more);

/** Waits until the worker computes nothing. */
void dsgd_computation_wait(dsgd_worker *w);

/** Ends the current computation of a worker that fails; its result is lost. */
void dsgd_lose_computation(dsgd_worker *w);

/* --- waiting.c: who waits for whom ------------------------------------------------------------ */

/** Watches all current waits. Returns their number. */
int dsgd_waits_watch(dsgd_engine *engine);

/**
 * Continues a run after its end, when its results are summed up, until it is known which of the
 * watched waits never end; these stay watched. Called by the clock.
 */
void dsgd_waits_continue(dsgd_engine *engine);

/** Restores result and values after a run was continued, as they were at its end. */
void dsgd_waits_end(dsgd_engine *engine);

/**
 * Every verb of work() calls this function first. While the run is continued, it does not return if
 * too many verbs have been called without a step.
 */
void dsgd_stay_if_endless(dsgd_worker *w);

/** Returns the number of workers with a watched wait. */
int dsgd_waits_watched(const dsgd_engine *engine);

/**
 * Appends the watched waits to *text: "worker 3 waits in dsgd_gossip for worker 4 since 2.5 s;
 * ...".
 */
void dsgd_waits_report(const dsgd_engine *engine, char **text);
