/**
 * @file engine.h
 * The state of a run and of its workers, and the functions of this folder. Not for algorithms. Each
 * group of members names the file that writes it; every file may read.
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
#include "sim/hybrid/replica.h"
#include "sim/ledger.h"
#include "sim/network/cluster.h"
#include "sim/timeline.h"
#include "traces/imbalance.h"

enum {
    DSGD_MAX_BITS = 20, /* of a rank */
    DSGD_ACTIVATION_BYTES = 4, /* of a partial collective */
    DSGD_MAX_WAITS = 2 /* of a worker at a time: work and assist */
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

/** Of virtual time. */
typedef struct dsgd_interval {
    double since_s, end_s;
} dsgd_interval;

/** A gradient's computation, under way or the last one. */
typedef struct dsgd_computation {
    int64_t number; /* from 0; -1: none yet */
    size_t ready; /* pieces that are done */
    double *ready_s; /* [n_pieces] when; of the last computation, up to `ready` */
    double compute_s; /* its length on a reference GPU */
    double backward_s; /* of that, at its end, in which pieces become ready */
    double since_s, end_s; /* of it, or of its last pass; end_s is valid when that is over */
    bool runs; /* it, or a pass of it */
    /* Pieces whose forward pass was begun by itself, from the last one on, and whose backward pass
     * was, from the first one on; 0: it is computed as a whole. */
    size_t forward, backward;
    double pass_s; /* length of the pass that was begun last, on a reference GPU */
    double share; /* of the step's mini-batch that is computed */
    double group_s, ready_at_s; /* of a group's seconds each; when pieces became ready last */
    /* Of an algorithm that cancels: the gradient is described at its end, from this; else NULL. */
    struct dsgd_undescribed *undescribed;
    size_t span; /* timeline.c's number of it; 0: not watched. So all members of this name */
    /* What each piece does when it becomes ready, in the order of the calls. */
    struct dsgd_deferred *first_deferred, **end_of_deferred; /* where the next is hung */
} dsgd_computation;

/** Whether a worker is there. */
typedef enum dsgd_presence {
    DSGD_HERE,
    DSGD_DOWN, /* it has failed */
    DSGD_JOINS /* it is back, and restores its state */
} dsgd_presence;

/** A verb in which a worker waits for others, as the report of a run that hangs names them. */
typedef struct dsgd_waiting {
    const char *verb;
    /**
     * Whether a worker (from n_workers on: a server) has yet to do its part; @p job may be NULL.
     */
    bool (*lacks)(const dsgd_worker *w, const struct dsgd_job *job, int host);
} dsgd_waiting;

/** An actor's wait for others. */
typedef struct dsgd_wait {
    const dsgd_waiting *in; /* NULL: none */
    const struct dsgd_job *job; /* waited for; may be NULL */
    double since_s;
    int64_t collective; /* which of the worker's it is, from 1; 0: another verb */
    bool watched; /* was under way when the run ended */
    size_t span;
} dsgd_wait;

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

    /* steps.c's. */
    double reduction_s_per_byte; /* of what it receives */
    bool stopped; /* none of its actors continues */
    dsgd_presence presence; /* rejoin.c's */
    double changed_s, up_s; /* rejoin.c's: since when it is so; until when it is down */
    double given_up_s; /* rejoin.c's: when the others know, if it is not back before */
    int copied_from; /* rejoin.c's: a rank */
    bool untold; /* rejoin.c's: the server is to learn that it is down */
    bool unsent; /* messages.c's: what it wanted to send last, as it had failed */
    double dies_s; /* of a worker that does not come back: it begins no step from then on */
    bool may_return; /* dsgd_next_step() was false */
    bool left_early; /* work() has returned before; run.c's */
    int64_t *local_steps; /* (S) [n_pieces] made; computation.c's */

    /* accounting.c's. */
    double communicated_s, counted_until_s;
    size_t n_earlier;
    dsgd_interval *earlier; /* [n_earlier] computations before the last, not yet counted with */
    double sent_bytes; /* (S) */
    int n_uncounted; /* exchange/analytic.c's: schedules whose messages it counts later */
    int work_waits; /* actors.c's: work and assist may both wait for the same */
    int64_t wakes; /* of such actors */
    dsgd_semaphore *work_semaphore; /* (S) */
    struct dsgd_channel *channels; /* (S) [n_channels]; channels.c's, defined in channels.h */
    dsgd_vector *model; /* (S) vectors.c's. The vectors' pieces are written by the verbs */
    dsgd_semaphore *ready_semaphore; /* actors.c's, as these: */
    size_t ready_awaited; /* the least number of pieces for which one has to wake, ... */
    int ready_waits; /* ... of so many actors that wait for computed pieces */

    /* computation.c's. */
    bool gpu_waits;
    bool gpu_computes; /* when what it computes now is done, ... */
    size_t gpu_until; /* ... so many pieces are ready */
    dsgd_semaphore *gpu_semaphore;
    dsgd_steps gpu;
    double computed_s; /* what was of use */
    dsgd_computation computation; /* (S) */
    double lost_s; /* what was cancelled */
    double gpu_s; /* seconds of what it computes now, where others may change that: ... */
    double gpu_asked_s; /* ... what it is to do besides, and has not begun, ... */
    int n_collectives; /* ... and which run on it */
    bool cancelled; /* the step under way: it begins anew */
    int64_t n_cancelled; /* steps begun anew */
    dsgd_value *optimizer_state; /* (S) [n_pieces] */
    int64_t state_since; /* local steps made before that state was begun anew */
    dsgd_value model_state; /* running statistics, environments; zeros where the network has none */

    dsgd_replica_state *inside; /* of a group of hosts; NULL: it is one */
    double bubbles_s; /* computation.c's, of its steps */

    dsgd_wait waits[DSGD_MAX_WAITS]; /* actors.c's; waiting.c watches them */
    int64_t
        calls; /* waiting.c's, while the run is continued: verbs that work() began in this step */

    /* steps.c's. */
    int64_t steps_done;
    bool in_barrier; /* behind a step that is done, before the next */
    double exposed_s; /* from the ends of computations to the ends of their steps; between passes */
    double step_since_s; /* begin of its step */
    double step_squares_s2; /* of the steps that it has done: sum of t^2 */
    size_t step_span, away_span; /* timeline.c's */
    uint32_t draws, shared_draws; /* made by the algorithm in this step */
    uint32_t encodings; /* begun in this step */
    const void *work_actor; /* dsgd_actor_self() of work(); run.c's */
    double turn_s; /* when assist() may take its next turn */
    int64_t idle_turns; /* the last ones, since engine->moves became idle_moves */
    int64_t idle_moves;

    /* run.c's and learning.c's, before the simulation. */
    double speed; /* of its GPU, as a multiple of its platform's others */
    dsgd_vector *initial; /* the model at time 0 */
    dsgd_vector *shared; /* by work and assist; NULL before first use; vectors.c's */
    int64_t locks, unlocks; /* by dsgd_lock() and dsgd_unlock(); actors.c's */
    int answers; /* DSGD_ANYONE; 1: workers by name; 0: nobody yet; pair.c's */
    size_t n_put_off; /* accounting.c's: ... */
    dsgd_interval *put_off; /* ... communication while n_uncounted is not 0, in the order of ends */

    /* computation.c's: what the last gradient was taken at, where the algorithm reads scalars. */
    dsgd_vector *taken_at; /* NULL: none yet */
    int64_t taken_count, taken_step; /* samples; in which step */

    /* Of each of its hosts (of a server's only one), when its copy engines of each direction are
     * free (channels.c's), and when its encoder has done what it was given (encodings.c's). */
    struct dsgd_copies {
        double out_s, in_s, encoded_s;
    } * copies; /* (S) [n_lanes] */

    /* channels.c's and exchange/collectives.c's. */
    dsgd_request *requests; /* begun and not ended, the newest first */
    dsgd_request *ended[18]; /* the last ones, whose addresses no other gets */
    size_t n_ended;
    int64_t collectives; /* that it has begun, of all workers or of a communicator */
    struct dsgd_reduction *gathered; /* whose numbers it may still read; NULL: none */
    double polled_s; /* when it last asked for a request that was not done, ... */
    int64_t polls; /* ... and how often at that instant */

    /*
     * Defined in channels.h and in partial.c; channels.c, turns.c and partial.c alone write them.
     */
    struct dsgd_channel *side_channels; /* [n_channels]; NULL before first use */
    struct dsgd_turns *inlet; /* of a server; NULL before first use */
    struct dsgd_door {
        struct dsgd_channel *first, *last; /* that want to send to this host, in order */
        double instant_s; /* when the first of those came that came last, at one instant */
    } door;
    dsgd_partial *partial; /* at most one: two would need an order between them */
    struct dsgd_activation *early; /* partial.c's: the first activation that came before it */
};

/** What a host of the cluster has carried: bytes that have arrived by the end of the run. */
typedef struct dsgd_carrier {
    struct dsgd_carried {
        double sent, received;
    } by_nic, by_island, by_group;
    int place; /* among the platform's hosts */
    double slowness; /* seconds for one of the reference GPU */
} dsgd_carrier;

struct dsgd_engine {
    /* run.c's, before the simulation. */
    const dsgd_run_config *config;
    int n_workers, n_servers;
    size_t n_pieces, n_channels;
    int n_lanes; /* hosts of a worker, each with its pieces */
    dsgd_replica *replica; /* NULL: a worker is one host, and the next three are */
    int *piece_lane, *piece_part; /* [n_pieces] who has it, and where it is in the model */
    double *piece_later; /* [n_pieces] share of its part's backward work that comes after it */
    size_t *piece_channel; /* [n_pieces] */
    bool inner_on_wires; /* what passes inside workers meets other messages */
    double *piece_bytes; /* [n_pieces], of the workload */
    double bytes; /* their sum */
    double *piece_work; /* [n_pieces], of the backward pass, to scale */
    double work; /* their sum */
    double staging_s_per_byte; /* of what is in a device's memory, each way */
    double operation_s_per_byte; /* likewise, of exchanging it */
    double encoding_s_per_byte; /* of numbers that are encoded or decoded */
    dsgd_worker *workers; /* [n_workers + n_servers] */
    dsgd_imbalance *imbalance;
    double reference_flops;
    int64_t steps_bound; /* of all workers; INT64_MAX: none */
    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* never posted */

    /* learning.c's, before the simulation. */
    dsgd_data *data; /* NULL: none is needed */
    dsgd_split *split; /* NULL: samples are not divided */
    dsgd_sampler *sampler; /* where the imbalance reads samples */
    dsgd_network network;
    size_t *piece_begin; /* [n_pieces + 1], of the reduced model's parameters */
    dsgd_values *values; /* NULL: numerics off */
    dsgd_recorder *recorder; /* NULL: nothing is recorded */
    struct {
        size_t n; /* different models that workers have of their own; 0: they are not evaluated */
        size_t *of_worker; /* [n_workers] index of the model */
        dsgd_value *models; /* [n][n_pieces + 1] with the model's state */
        size_t *tickets; /* [n] model i on part i % n_parts of the test set */
        uint32_t n_parts;
    } local;

    /* steps.c's; at the end run.c's. */
    int n_working; /* workers whose work() has not returned */
    int64_t steps_total; /* of all workers */
    double whole_steps; /* of all workers; dropped parts do not count */
    bool finished;
    bool goes_on; /* failures.c's: the others go on while some are down; ... */
    bool by_quorum; /* ... their collectives are of those who are there; ... */
    int64_t led; /* ... the last step that one of them has begun */
    int n_untold; /* rejoin.c's: workers */
    double away_s; /* restart.c's: of failures and checkpoints; all time is dsgd_now_s() + this */
    int64_t most_steps; /* of each worker; 0: no such bound; waiting.c's after the end */
    int n_resting; /* actors that take no turn before anything moves */
    int64_t moves; /* steps made and computations begun, of all workers */

    /* computation.c's. */
    int n_computing; /* workers */
    uint64_t *n_stepped; /* [n_pieces] local steps of all workers */
    int *stepped; /* [n_pieces][n_workers] who made the last of these: step s by [s % n_workers] */

    /* waiting.c's. */
    bool continued; /* beyond its end, uncounted, to see who waits for ever */
    int n_watched; /* waits */
    dsgd_semaphore *watch_semaphore; /* posted when n_watched becomes 0 */
    struct dsgd_run_result *counted; /* the result, while the run is continued, ... */
    dsgd_values *computed; /* ... and the values */

    /* vectors.c's. */
    int at_barrier;
    int64_t barrier_round;

    dsgd_timeline *timeline; /* timeline.c's; NULL: the run is not watched, or not any more */
    dsgd_ledger *ledger; /* ledger.c's; NULL: values are not recorded */

    /* accounting.c's. */
    dsgd_carrier *carriers; /* [all hosts of the cluster: dsgd_cluster_host()] */
    double largest_bytes[2]; /* of one message schedule: of an allreduce, of a partial collective */
    struct dsgd_sum {
        double sum, weight;
    } staleness, lag, gradient_staleness;
    uint64_t versions, fresh; /* of partial collectives; contributions made in time */
    struct dsgd_run_result *result; /* learning.c adds points, run.c the outcome */

    /* Defined in the file named, which alone reads and writes it. */
    struct dsgd_block *blocks; /* actors.c */
    dsgd_vector *vectors; /* vectors.c: all of the run */
    dsgd_encoded *all_encoded; /* encodings.c: all of the run */
    struct dsgd_step_count *step_counts; /* accounting.c */
    struct dsgd_failing *failing; /* failures.c; NULL: nothing fails */
    struct dsgd_peers *peers; /* stage_hosts.c; NULL: all are there, and stay in their stages */
    struct dsgd_comms *comms; /* exchange/communicators.c */
    struct dsgd_reductions *reductions; /* exchange/reductions.c */
    struct dsgd_alarms *alarms; /* exchange/partial.c */
    struct dsgd_analytic *analytic; /* exchange/analytic.c */
    struct dsgd_fusion_state *fusion; /* exchange/fusion.c */
    struct dsgd_gossip_state *gossip; /* exchange/gossip.c */
    struct dsgd_server_state *servers; /* exchange/server.c */
    struct dsgd_inbox *inboxes; /* exchange/messages.c */
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
    return engine->replica == NULL ? 0 : engine->piece_lane[k];
}

/** The engines of the host that has a piece. */
static inline struct dsgd_copies *dsgd_copies_of(const dsgd_worker *w, size_t k)
{
    return &w->copies[dsgd_is_server(w) ? 0 : dsgd_lane_of(w->engine, k)];
}

/** Hosts of the cluster: of dsgd_cluster_host(). */
static inline int dsgd_n_hosts(const dsgd_engine *engine)
{
    return engine->n_workers * engine->n_lanes + engine->n_servers;
}

/** The server that has a piece of the vector that servers share. */
static inline dsgd_worker *dsgd_server_of(const dsgd_engine *engine, size_t k)
{
    return &engine->workers[engine->n_workers + (int)(k % (size_t)engine->n_servers)];
}

/** Whether a gradient, or a pass of it, is being computed. */
static inline bool dsgd_computing(const dsgd_worker *w)
{
    return w->computation.runs;
}

/** Local steps that a worker has made with this piece: the clock by which values age. */
static inline int64_t dsgd_local_steps(const dsgd_worker *w, size_t piece)
{
    return w->local_steps[piece];
}

/** Share of a piece in the bytes of a vector. */
static inline double dsgd_piece_share(const dsgd_engine *engine, size_t piece)
{
    return engine->piece_bytes[piece] / engine->bytes;
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

/** What the algorithm's messages are, with its options. */
static inline dsgd_sends dsgd_sends_of(const dsgd_run_config *config)
{
    const dsgd_algorithm *const algorithm = config->algorithm;
    return algorithm->sends_with != NULL ? algorithm->sends_with(config->params) : algorithm->sends;
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

/** Opens what the run needs of data, network, values and recorder; the imbalance must be open. */
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
