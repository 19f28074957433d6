/**
 * @file engine.h
 * The state of a run and of its workers, and the functions of this folder. Not for algorithms.
 * The state has owners: each struct stands in the header of the file that writes it (clock.h for
 * steps.c, gpu.h for computation.c, ...). A member that another file writes names that file. Every
 * file may read.
 *
 * Each worker is several actors: `work` runs the algorithm; `gpu` computes; `channels` carry out
 * exchanges; `listener` receives activations of partial collectives that are messages; `assist` is
 * the algorithm's second actor. Actors are coroutines: state can change under a function only where
 * it calls one of sim/network/cluster.h.
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
    DSGD_MAX_BITS = 20, /* of a rank */
    DSGD_ACTIVATION_BYTES = 4 /* of a partial collective */
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;
struct dsgd_job; /* exchange/channels.h */

/** How the pieces of a vector are sent in an encoding; of the run, made once. */
typedef struct dsgd_encoded {
    struct dsgd_encoded *next;
    dsgd_spec encoding; /* about NULL: factors of low rank */
    int64_t rank; /* of factors, ... */
    bool of_columns; /* ... of as many rows as the matrix has columns */
    dsgd_encoding_sum sum;
    bool decodes; /* what is received is decoded, and added as a dense vector; else as it is */
    double value_bytes; /* of a number that is not encoded */
    double bytes[]; /* [n_pieces] */
} dsgd_encoded;

/** A piece of a vector. */
typedef struct dsgd_piece {
    dsgd_value value;
    /* Local steps that its owner had made when the value was made; -1: no value, zeros. */
    int64_t stamp;
    double weight; /* of push-sum */
    const dsgd_encoded *encoded; /* NULL: it is sent as it is */
    double encoded_s; /* when the encoder is done with it */
    struct dsgd_vector *of; /* of what it is the encoding: has the residuals */
} dsgd_piece;

#define DSGD_NO_PIECE ((dsgd_piece){DSGD_ZERO_VALUE, -1, 1, NULL, 0, NULL})

/**
 * How old a piece of a gradient is, in updates of the model that it is applied to: an update is a
 * local step, or what an exchange or linear combination changes.
 */
typedef struct dsgd_history {
    int64_t updates; /* of this piece as a model; a copy takes the count of what it copies */
    /* As a gradient: updates of the model at which it was taken; -1: of several models. */
    int64_t taken;
    double age, age_max; /* mean and largest of several workers' gradients, in versions; -1: none */
} dsgd_history;

/** A vector as long as the model, or a view of one. vectors.c, computation.c and the exchanges
 * write it. */
struct dsgd_vector {
    dsgd_worker *owner;
    dsgd_vector *whole; /* of what it is a view, or itself. Only that one has: */
    /* The owner's computations that finish this vector's pieces, or the copy or linear combination
     * that sets them; -1: none. */
    int64_t awaits, set_by;
    bool on_host; /* else in the device's memory */
    bool over; /* messages.c's: of a message that is not the one received last */
    dsgd_piece *piece; /* [n_pieces] of the whole, like: */
    dsgd_history *history;
    size_t first, end, stride; /* its pieces: DSGD_FOR_PIECES() */

    dsgd_vector *next; /* among all of the run; of a view: in the ring of its vector's views */
    dsgd_vector *view; /* of a whole: the one that was taken last, or NULL */
    /* encodings.c's: what error feedback has left of it, and, at the first member, of the sums of
     * all members' that were encoded again; NULL: nothing yet. */
    dsgd_vector *residual, *sum_residual;
    dsgd_piece own[]; /* of a whole */
};

/**
 * Every loop over the pieces of a vector: a view has some of them, at their places in the whole.
 */
#define DSGD_FOR_PIECES(k, x) for (size_t k = (x)->first; k < (x)->end; k += (x)->stride)

/** A verb that changes one vector, piece by piece. */
typedef struct dsgd_update {
    /**
     * y[k] <- f(y[k], x); @p x is x[k] as it was when the verb was called, if it was ready then.
     */
    void (*apply)(dsgd_worker *w, const struct dsgd_update *update, size_t k, const dsgd_piece *x);
    dsgd_vector *y, *x;
    double a, b, divisor; /* of a linear combination */
    const dsgd_encoded *encoded; /* of what is encoded; NULL: y is dense */
    dsgd_spec encoding;
    uint32_t call; /* number of the encoding in the worker's step */
    dsgd_codec_kind codec; /* of low rank, like these: */
    int64_t rank;
    bool transposed;
    struct incoming *message; /* messages.c's: of what is sent, which changes nothing */
} dsgd_update;

/**
 * A worker or a server. A server uses the members marked (S) only. What a message or a piece reads
 * comes first, in few lines of a cache: most of a large run's time is waiting for memory.
 */
struct dsgd_worker {
    dsgd_node node; /* (S) first, so that a dsgd_node is its worker; steps.c counts node.step */

    /* run.c's, before the simulation. */
    dsgd_engine *engine; /* (S) */
    int host; /* (S) */
    int place; /* (S) of that host among the platform's */
    double speed; /* of its GPU, as a multiple of its platform's others */

    dsgd_clock clock;
    dsgd_presence presence;
    dsgd_learner learner; /* (S) */
    dsgd_wire wire; /* (S) */
    dsgd_accounts accounts; /* (S) */
    dsgd_waits waits; /* (S) */
    dsgd_gpu gpu; /* (S) */
    dsgd_replica_state *replica; /* of a group of hosts; NULL: the worker is one host */
};

struct dsgd_engine {
    /* run.c's, before the simulation. */
    const dsgd_run_config *config;
    int n_workers, n_servers;
    dsgd_worker *workers; /* [n_workers + n_servers] */
    dsgd_imbalance *imbalance;
    double reference_flops;
    dsgd_layout layout;
    dsgd_costs costs;
    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* never posted */
    bool finished; /* dsgd_finish() */
    struct dsgd_run_result *result; /* learning.c adds points, run.c the outcome */

    /* Each in the header of the file that writes it. */
    dsgd_run_progress progress;
    dsgd_computations computations;
    dsgd_learning_state learning;
    dsgd_exchanges exchanges;
    dsgd_absences failures;
    dsgd_hybrid hybrid;
    dsgd_run_accounts accounts;
    dsgd_barrier_state barrier;
    dsgd_watch watch;
    struct dsgd_block *blocks; /* actors.c's */
    dsgd_vector *vectors; /* vectors.c's: all of the run */
    dsgd_encoded *all_encoded; /* encodings.c's: all of the run */
};

static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

static inline bool dsgd_is_server(const dsgd_worker *w)
{
    return w->host >= w->engine->n_workers;
}

/** Which of a worker's hosts sends and receives a piece. */
static inline int dsgd_lane_of(const dsgd_engine *engine, size_t k)
{
    return engine->hybrid.replica == NULL ? 0 : engine->layout.piece_lane[k];
}

/** The engines of the host that has a piece. */
static inline struct dsgd_copies *dsgd_copies_of(const dsgd_worker *w, size_t k)
{
    return &w->wire.copies[dsgd_is_server(w) ? 0 : dsgd_lane_of(w->engine, k)];
}

/** Hosts of the cluster: of dsgd_cluster_host(). */
static inline int dsgd_n_hosts(const dsgd_engine *engine)
{
    return engine->n_workers * engine->layout.n_lanes + engine->n_servers;
}

/** The server that has a piece of the vector that servers share. */
static inline dsgd_worker *dsgd_server_of(const dsgd_engine *engine, size_t k)
{
    return &engine->workers[engine->n_workers + (int)(k % (size_t)engine->n_servers)];
}

/** Whether a gradient, or a pass of it, is being computed. */
static inline bool dsgd_computing(const dsgd_worker *w)
{
    return w->gpu.computation.runs;
}

/** Local steps that a worker has made with this piece: the clock by which values age. */
static inline int64_t dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->learner.local_steps[piece];
}

/** Share of a piece in the bytes of a vector. */
static inline double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->layout.piece_bytes[piece] / engine->layout.bytes;
}

/** Host and step, for the report of a divergence. */
static inline dsgd_origin dsgd_origin_of(const dsgd_worker *w)
{
    return (dsgd_origin){(uint32_t)w->host, (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
}

/** Whether this run computes models. */
static inline bool dsgd_learns(const dsgd_run_config *config)
{
    return config->learning != NULL && config->learning->model.about != NULL &&
           config->numerics != DSGD_NUMERICS_OFF;
}

/** Whether the algorithm, with its options, has all these traits. */
static inline bool dsgd_has_traits(const dsgd_run_config *config, unsigned traits)
{
    return (dsgd_traits_of(config->algorithm, config->params) & traits) == traits;
}

/** Whether the run's allreduces are fused. Then a worker has one channel. */
static inline bool dsgd_fuses(const dsgd_engine *engine)
{
    return engine->config->exchange.fusion_bytes > 0;
}

/** Ends the simulation at this instant. */
static inline void dsgd_finish(dsgd_engine *engine)
{
    if (engine->finished)
        return;
    engine->finished = true; /* before other actors run at this instant */
    dsgd_semaphore_post(engine->end_semaphore);
}

/** Stops the program where an algorithm names a worker that does not exist. */
static inline void dsgd_require_peer(const dsgd_node *self, int peer)
{
    DSGD_REQUIRE(peer >= 0 && peer < self->n_workers,
                 "worker %d names worker %d in step %jd, but with %d workers they are 0 to %d",
                 self->rank, peer, self->step, self->n_workers, self->n_workers - 1);
}

/* --- actors.c: memory, waiting ---------------------------------------------------------------- */

/** Zeroed memory, until dsgd_run_free() or the end of the run (for what killed actors held). */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);
/** @p memory may be NULL. */
void dsgd_run_free(void *memory);
/** Returns how many blocks there were. */
size_t dsgd_run_free_all(dsgd_engine *engine);

/** Wakes the worker's sleeping actors; each then evaluates its condition again. */
void dsgd_work_wake(dsgd_worker *w);
/** Sleeps until dsgd_work_wake(); for loops around a condition. */
void dsgd_work_sleep(dsgd_worker *w);
/** The same, until @p until_s at most (INFINITY: no limit). False: that has come first. */
bool dsgd_work_sleep_until(dsgd_worker *w, double until_s);

/** The same as dsgd_work_sleep(), for a condition that changes when @p n pieces of the gradient are
 * ready. */
void dsgd_ready_sleep(dsgd_worker *w, size_t n);
/** Pieces have become ready: wakes who waits for no more than that. */
void dsgd_ready_wake(dsgd_worker *w);

/** Notes that the calling actor waits for others, from now until dsgd_wait_end(). */
dsgd_wait *dsgd_wait_begin(dsgd_worker *w, const dsgd_waiting *in, const struct dsgd_job *job);
/** The same of work(); NULL for assist(), which may wait so when all is well. */
dsgd_wait *dsgd_wait_begin_of_work(dsgd_worker *w, const dsgd_waiting *in,
                                   const struct dsgd_job *job);
/** @p wait may be NULL. */
void dsgd_wait_end(dsgd_worker *w, dsgd_wait *wait);

/** A step is made or a computation begins: turns are taken again. */
void dsgd_moved(dsgd_engine *engine);

/** For waits that no worker alone can end. */
bool dsgd_lacks_nobody(const dsgd_worker *w, const struct dsgd_job *job, int host);

/** Does not return where the worker was made to stop. Each of its actors calls it after waiting. */
void dsgd_stay_if_stopped(const dsgd_worker *w);

/** Like MPI_Barrier over all workers, but costs no messages. */
void dsgd_barrier(dsgd_node *self);

/* --- learning.c: data, network and values; evaluations ---------------------------------------- */

/** Opens what the run needs of data, network and values; the imbalance must be open. */
dsgd_status dsgd_learning_open(dsgd_engine *engine, dsgd_error *error);
void dsgd_learning_close(dsgd_engine *engine);

/** Sets the models of all workers and servers at time 0. */
void dsgd_learning_begin(dsgd_engine *engine);

/** Releases vectors and optimizer state: the evaluations left then need less memory. */
void dsgd_learning_end(dsgd_engine *engine);

/** Evaluates the algorithm's output; needs numerics. Returns the accuracy if `until` reads it, else
 * NAN. */
double dsgd_evaluate_now(dsgd_engine *engine);

/**
 * dsgd_evaluate_now() if a regular evaluation is due, else -INFINITY. The i-th is due after i *
 * learn.evaluate.every * P steps of all workers.
 */
double dsgd_evaluate_if_due(dsgd_engine *engine);

/** The evaluations of the run's last instant; needs numerics. */
void dsgd_evaluate_last(dsgd_engine *engine);

/** Fills the result with the evaluations and a divergence. Waits in wall time. */
void dsgd_sum_up_learning(dsgd_engine *engine);

/* --- computation.c: gradients and what waits for their pieces --------------------------------- */

/** The steps of the actor that computes a worker's gradients. */
dsgd_await dsgd_gpu_next(void *worker);

/* --- stages.c: workers that are groups of hosts ----------------------------------------------- */

/** Of a step: each host draws, and a stage is as slow as its slowest. */
double dsgd_stages_time_s(dsgd_worker *w, dsgd_step_at at);
/** Of the computation under way, until more pieces are ready: up to w->gpu_until, which it sets. */
double dsgd_stages_todo_s(dsgd_worker *w);
/** Sends what passes inside in so much of it. */
void dsgd_stages_send(dsgd_worker *w, double seconds);
/** It is over: counts it. */
void dsgd_stages_end(dsgd_worker *w);

/* --- computation.c, further ------------------------------------------------------------------- */

/** Has the GPU do something else first, if it computes. */
void dsgd_gpu_ask(dsgd_worker *w, double seconds);

/** So many more collectives of NCCL's run on it. */
void dsgd_gpu_has_collectives(dsgd_worker *w, int more);

/** Waits until nothing is computed. */
void dsgd_computation_wait(dsgd_worker *w);

/** The worker fails: what it computes is lost, and ends now. */
void dsgd_computation_lose(dsgd_worker *w);

/* --- waiting.c: who waits for whom ------------------------------------------------------------ */

/** Watches all waits that are under way; returns how many. */
int dsgd_waits_watch(dsgd_engine *engine);

/**
 * For the clock, at the end of a run whose results are summed up: continues it until it is known
 * which of the watched waits never end; these stay watched.
 */
void dsgd_waits_continue(dsgd_engine *engine);

/** After a run that was continued: result and values as they were at its end. */
void dsgd_waits_end(dsgd_engine *engine);

/**
 * Verbs of work() call it before they begin: while the run is continued, it does not return where
 * too many have begun without a step.
 */
void dsgd_stay_if_endless(dsgd_worker *w);

/** Workers with a watched wait. */
int dsgd_waits_watched(const dsgd_engine *engine);

/** Appends "worker 3 waits in dsgd_gossip for worker 4 since 2.5 s; ..." of the watched waits. */
void dsgd_waits_tell(const dsgd_engine *engine, char **text);
