/**
 * @file engine.h
 * The state of a run and of its workers. Not for algorithms. Each group of members names the file
 * that writes it; everybody may read.
 *
 * Each worker is several actors: `work` runs the algorithm; `gpu` computes; `channels` carry out
 * exchanges; `listener` receives activations of partial collectives; `assist` is the algorithm's
 * second actor. Actors are coroutines: state can change under a function only where it calls one of
 * sim/network/cluster.h.
 */
#ifndef DSGD_SIM_ENGINE_ENGINE_H
#define DSGD_SIM_ENGINE_ENGINE_H

#include "models/values/values.h"
#include "sim/algorithm.h"
#include "sim/config.h"
#include "sim/network/cluster.h"
#include "traces/imbalance.h"

enum {
    DSGD_MAX_BITS = 20, /* of a rank */
    DSGD_MAX_DEFERRED = 4 /* local steps of one gradient */
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;

/** A piece of a vector. */
typedef struct dsgd_piece {
    dsgd_value value;
    /* Local steps that its owner had made when the value was made; -1: no value, zeros. */
    long stamp;
    double weight; /* of push-sum */
} dsgd_piece;

/** A vector as long as the model. vectors.c, computation.c and the exchanges write it. */
struct dsgd_vector {
    dsgd_worker *owner;
    dsgd_vector *next; /* among all of the run */
    long awaits; /* the owner's computation that finishes this vector's pieces; -1: none */
    dsgd_piece piece[]; /* [n_pieces] */
};

/** A gradient's computation, under way or the last one. */
typedef struct dsgd_computation {
    long number; /* from 0; -1: none yet */
    size_t ready; /* pieces that are done */
    double compute_s; /* its length on a reference GPU */
    double backward_s; /* of that, at its end, in which pieces become ready */
    double since_s, end_s; /* end_s is valid once all pieces are ready */
    double previous_since_s, previous_end_s; /* of the computation before */
    double share; /* of the step's mini-batch that is computed */
    /* Local steps that each piece makes when it becomes ready. */
    struct {
        dsgd_vector *x, *g;
    } deferred[DSGD_MAX_DEFERRED];
    size_t n_deferred;
} dsgd_computation;

/** A worker or a server. A server uses the members marked (S) only. */
struct dsgd_worker {
    dsgd_node node; /* (S) first, so that a dsgd_node is its worker; steps.c counts node.step */

    /* run.c's and learning.c's, before the simulation. */
    dsgd_engine *engine; /* (S) */
    int host; /* (S) */
    double speed; /* of its GPU, as a multiple of its platform's others */
    dsgd_vector *initial; /* the model at time 0 */

    /* vectors.c's. The vectors' pieces are the verbs'. */
    dsgd_vector *model; /* (S) */
    dsgd_vector *shared; /* by work and assist; NULL before first use */

    /* wait.c's. */
    dsgd_semaphore *work_semaphore;
    int work_waits; /* actors: work and assist may both wait for the same */

    /* steps.c's. */
    long steps_done;
    bool stopped; /* none of its actors continues */
    uint32_t draws; /* made by the algorithm in this step */
    double exposed_s; /* from the ends of computations to the ends of their steps */

    /* computation.c's. */
    dsgd_semaphore *gpu_semaphore;
    bool gpu_waits;
    dsgd_computation computation; /* (S) */
    double computed_s;
    long *local_steps; /* (S) [n_pieces] made */
    dsgd_value *optimizer_state; /* [n_pieces] */
    dsgd_value model_state; /* running statistics, environments; zeros where the network has none */

    /* accounting.c's. */
    double communicated_s, counted_until_s;

    /* Defined in channels.h and in partial.c, which alone write them. */
    struct dsgd_channel *channels; /* (S) [n_channels] */
    dsgd_partial *partial; /* at most one: two would need an order between them */
};

struct dsgd_engine {
    /* run.c's, before the simulation. */
    const dsgd_run_config *config;
    int n_workers, n_servers;
    size_t n_pieces, n_channels;
    double *piece_bytes; /* [n_pieces], of the workload */
    double bytes; /* their sum */
    dsgd_worker *workers; /* [n_workers + n_servers] */
    dsgd_imbalance *imbalance;
    double reference_flops;
    long steps_bound; /* of all workers; LONG_MAX: none */
    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* never posted */

    /* learning.c's, before the simulation. */
    dsgd_data *data; /* NULL: none is needed */
    dsgd_network network;
    size_t *piece_begin; /* [n_pieces + 1], of the reduced model's parameters */
    dsgd_values *values; /* NULL: numerics off */
    dsgd_recorder *recorder; /* NULL: nothing is recorded */

    /* steps.c's; at the end run.c's. */
    int n_working; /* workers whose work() has not returned */
    long steps_total; /* of all workers */
    double whole_steps; /* of all workers; what was dropped does not count */
    bool finished;

    /* wait.c's. */
    int at_barrier;
    long barrier_round;

    /* accounting.c's. */
    double staleness_sum, staleness_weight;
    uint64_t versions, fresh; /* of partial collectives; contributions made in time */
    struct dsgd_run_result *result; /* evaluation.c adds points, run.c the outcome */

    /* Defined in the file named, which alone reads and writes it. */
    struct dsgd_block *blocks; /* memory.c */
    dsgd_vector *vectors; /* vectors.c: all of the run */
    struct dsgd_evaluations *evaluations; /* evaluation.c */
    struct dsgd_reductions *reductions; /* exchange/reductions.c */
    struct dsgd_gossip_state *gossip; /* exchange/gossip.c */
    struct dsgd_server_state *servers; /* exchange/server.c */
};

static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

/** Whether a gradient is being computed. */
static inline bool dsgd_computing(const dsgd_worker *w)
{
    return w->computation.number >= 0 && w->computation.ready < w->engine->n_pieces;
}

/** Local steps that a worker has made with this piece: the clock by which values age. */
static inline long dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->local_steps[piece];
}

/** Share of a piece in the bytes of a vector. */
static inline double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->piece_bytes[piece] / engine->bytes;
}

/** Rank and step, for the report of a divergence. */
static inline dsgd_origin dsgd_origin_of(const dsgd_worker *w)
{
    return (dsgd_origin){(uint32_t)w->node.rank, (uint64_t)(w->node.step < 0 ? 0 : w->node.step)};
}

/** Stops the program where an algorithm names a worker that does not exist. */
static inline void dsgd_require_peer(const dsgd_node *self, int peer)
{
    DSGD_ASSERT(peer >= 0 && peer < self->n_workers,
                "worker %d names worker %d in step %ld, but with %d workers they are 0 to %d",
                self->rank, peer, self->step, self->n_workers, self->n_workers - 1);
}

#endif
