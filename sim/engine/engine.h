/**
 * @file engine.h
 * The state of a run, shared by the files that implement the verbs. Not for algorithms.
 *
 * Each worker is several actors: `work` lives the algorithm; `gpu` computes, piece after piece; `channels` carry out exchanges, each in the
 * order in which they were handed to it, one channel where the run's exchanges block each other; `listener` hears activations of partial
 * collectives; `assist` is the algorithm's own second actor. Piece k of any exchange goes over channel k mod n_channels, so that the order on
 * each channel is the same at all workers for what they share, which is what keeps collectives free of deadlock.
 */
#ifndef DSGD_SIM_ENGINE_H
#define DSGD_SIM_ENGINE_H

#include "models/values/values.h"
#include "sim/algorithm.h"
#include "sim/network/cluster.h"
#include "sim/run.h"
#include "traces/imbalance.h"

enum {
    DSGD_MAX_BITS = 20, /* of a rank */
    DSGD_MAX_DEFERRED = 4, /* local steps of one gradient */
    DSGD_ACTIVATION_BYTES = 4, /* of a partial collective */
    DSGD_MAX_CHANNELS = 64 /* pieces of a worker on their way at once */
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;

/** A piece of a vector. */
typedef struct dsgd_piece {
    dsgd_value value;
    long
        stamp; /* how many gradients its owner had computed when it came to be; -1: nothing, zeros */
    double weight; /* of push-sum */
} dsgd_piece;

struct dsgd_vector {
    dsgd_worker *owner;
    dsgd_vector *next; /* among all of the run */
    long awaits; /* the owner's computation that finishes this vector's pieces; -1: none */
    dsgd_piece piece[]; /* [n_pieces] */
};

/**
 * Where the contributions of one collective's piece meet. Only the members' messages take time; the value is one linear
 * combination in rank order, made when the first member's schedule ends, which is after every member's began.
 */
typedef struct dsgd_reduction {
    uint64_t scope; /* what it belongs to: 0 for allreduces, else 1 + leader of the group */
    uint64_t number; /* which one of that scope: sequence or version, and piece */
    int n_members, n_sampled, n_fresh;
    int references; /* members that still need it */
    dsgd_group group;
    int leader; /* member i is the i-th rank of the group */
    double divisor;
    bool combined;
    dsgd_value sum; /* sum / divisor */
    double *numbers; /* of control data, instead */
    dsgd_piece contribution[]; /* [n_members] */
} dsgd_reduction;

typedef struct dsgd_channel dsgd_channel;

/** A piece of an exchange, to be carried out by a channel. What an exchange needs besides stands behind it. */
typedef struct dsgd_job {
    struct dsgd_job *next;
    void (*run)(dsgd_channel *channel, struct dsgd_job *job);
    size_t piece;
    bool done;
} dsgd_job;

/** Carries out jobs, first in, first out. */
struct dsgd_channel {
    dsgd_worker *worker;
    int number;
    bool waits; /* has to be posted */
    dsgd_semaphore *semaphore;
    dsgd_job *first, *last;
    dsgd_mailbox *to_bit[DSGD_MAX_BITS], *from_bit[DSGD_MAX_BITS]; /* partner rank ^ (1 << bit) */
};

/** A piece on its way between two workers. */
typedef struct dsgd_message {
    int from, channel; /* where an answer goes */
    int kind; /* what the receiver has to do with it */
    size_t piece;
    dsgd_piece content;
    double share; /* of the content, that the receiver gets */
    long version; /* of a server's piece */
    double sent_s;
} dsgd_message;

/** A worker's side of a standing collective, for one piece. */
typedef struct dsgd_partial_piece {
    dsgd_piece buffer; /* what is sent when a version starts */
    long published; /* step in which the buffer was last filled; -1: never */
    dsgd_reduction *received; /* of the latest version done; NULL: none */
    long received_version;
    long used; /* version of the last sum that this worker used; -1: none */
    bool
        received_fresh; /* whether this worker's part in it was published in the version's own step */
} dsgd_partial_piece;

struct dsgd_partial {
    dsgd_partial_spec spec;
    long
        started; /* position (version * n_pieces + piece) up to which schedules were handed to the runner */
    dsgd_partial_piece piece[]; /* [n_pieces] */
};

struct dsgd_request {
    dsgd_vector *x;
    dsgd_job *jobs[]; /* [n_pieces] */
};

struct dsgd_worker {
    dsgd_node node; /* first, so that a dsgd_node is its worker */
    dsgd_engine *engine;
    int host;
    double speed; /* of its GPU, as a multiple of its platform's others */
    dsgd_semaphore *work_semaphore, *gpu_semaphore;
    int work_waits; /* work and assist may both wait for the same */
    bool gpu_waits;
    bool stopped; /* made to stop: nothing of it answers any more */
    dsgd_channel *channels; /* [n_channels] */

    dsgd_vector *model;
    dsgd_vector *initial; /* the model at time 0 */
    dsgd_vector *shared; /* by work and assist; NULL before somebody asks */
    dsgd_value *optimizer_state; /* [n_pieces] */
    dsgd_value model_state; /* running statistics, environments; zeros where the network has none */
    dsgd_partial *partial; /* at most one: two would need an order between them */
    uint32_t draws; /* made by the algorithm in this step */

    /* The computation under way, or the last. */
    long computation; /* its number, from 0; -1: none yet */
    size_t ready; /* pieces that are done */
    double compute_s; /* its length on a reference GPU */
    double backward_s; /* of that, at its end, in which pieces become ready */
    double share_computed; /* of this step's mini-batch */
    long *local_steps; /* [n_pieces] made */
    struct {
        dsgd_vector *x, *g;
    } deferred[DSGD_MAX_DEFERRED];
    size_t n_deferred;

    uint64_t n_allreduces; /* begun: the sequence number of the next */
    dsgd_vector *gossiped; /* the vector that it exchanged with neighbours last, or NULL */
    dsgd_neighbours neighbours; /* in the round last asked for, of the graph `asked` */
    const dsgd_pick *asked;
    int asked_shares;
    dsgd_neighbour_room neighbour_room;
    long *
        server_version; /* [n_pieces] of a server: pushes that were added; of a worker: those before its last fetch */
    long *own_pushes; /* [n_pieces] since that fetch */

    /* Accounting. */
    double exposed_s; /* from the ends of computations to the ends of their steps */
    double computing_since_s, compute_end_s, previous_start_s, previous_end_s;
    double computed_s, communicated_s, counted_until_s;
    long steps_done;
};

struct dsgd_engine {
    const dsgd_run_config *config;
    int n_workers, n_servers;
    int n_working; /* workers whose work() has not returned */
    size_t n_pieces, n_channels;
    double *piece_bytes; /* [n_pieces], of the workload */
    double bytes; /* their sum */
    size_t *piece_begin; /* [n_pieces + 1], of the reduced model's parameters */
    dsgd_worker *workers; /* [n_workers + n_servers] */
    dsgd_imbalance *imbalance;
    double reference_flops;
    void *reductions; /* tsearch tree of the reductions that wait for members */

    dsgd_data *data;
    dsgd_network network;
    dsgd_values *values; /* NULL: numerics off */
    dsgd_vector *vectors; /* all of the run */
    dsgd_recorder *recorder; /* NULL: nobody listens */

    dsgd_semaphore *end_semaphore;
    dsgd_semaphore *never_semaphore; /* that nobody rings */
    double whole_steps; /* of all workers; what was dropped does not count */
    long steps_total, steps_bound; /* of all workers; bound LONG_MAX where there is none */
    long evaluations; /* planned, that of time 0 left out */
    double evaluate_next; /* steps_total at which to evaluate next */
    size_t *tickets; /* [n_points] of values */
    size_t *local_tickets; /* [n_workers], or NULL */
    int at_barrier;
    long barrier_round;
    dsgd_value *gathered; /* [2 * n_pieces], scratch of dsgd_gradient() */
    bool finished;
    struct dsgd_block *blocks; /* memory of the run */
    double staleness_sum, staleness_weight;
    double weight_in_flight; /* push-sum weights of messages on their way, over all pieces */
    uint64_t versions, fresh;
    dsgd_run_result *result;
};

/* engine.c */
static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

/** Whoever is to be sent to or heard from has to be there. */
static inline void dsgd_require_peer(const dsgd_node *self, int peer)
{
    DSGD_ASSERT(peer >= 0 && peer < self->n_workers,
                "worker %d names worker %d in step %ld, but with %d workers they are 0 to %d",
                self->rank, peer, self->step, self->n_workers, self->n_workers - 1);
}

/** Zeroed memory that dsgd_run_free() or the end of the run gives back. */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);
void dsgd_run_free(void *memory);

void dsgd_run_free_all(dsgd_engine *engine);

/** The actor that computes a worker's gradients. */
void dsgd_gpu_main(void *worker);
/** Ends the simulation at this instant. */
void dsgd_finish(dsgd_engine *engine);
/** Plans the next regular evaluation: the i-th is due after i times so many steps. */
void dsgd_plan_evaluation(dsgd_engine *engine);
/** Looks at all models as they are now; waits (in wall time) for the accuracy only where the run ends by it, else gives NAN. */
double dsgd_evaluate_now(dsgd_engine *engine);

/** How the training samples are handed out in this run; its data must be loaded. */
dsgd_stream dsgd_stream_of(const dsgd_engine *engine);

/** Local steps that a worker has made with this piece: the clock by which values age. */
long dsgd_local_steps(const dsgd_worker *w, size_t piece);

/** Whether a piece of a vector is computed. */
bool dsgd_piece_ready(const dsgd_vector *x, size_t piece);
/** Waits for it; for the work actor. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);
/** Wakes the work actor if it waits; it then looks again at what it waits for. */
void dsgd_work_wake(dsgd_worker *w);
/** Sleeps until dsgd_work_wake(); for loops around a condition. */
void dsgd_work_sleep(dsgd_worker *w);
/** Puts @p value, which the piece then owns, in place of what was there. The push-sum weight stays. */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp);
/** Counts time spent communicating from @p from_s to now, where it is not hidden by computation. */
void dsgd_count_communication(dsgd_worker *w, double from_s);
/**
 * Counts the use by @p user of a piece: its age is the number of local steps that the owner has made since, but for those that are
 * beyond the user's own count (an owner that has run ahead does not make what it gave any older).
 */
void dsgd_count_staleness(dsgd_worker *user, int owner, size_t piece, long stamp, double weight);
/** Counts a use whose age is known. */
void dsgd_count_age(dsgd_engine *engine, double age, double weight);
/** Share of a piece in the bytes of a vector. */
double dsgd_piece_share(const dsgd_engine *engine, size_t piece);
/** Per-message overhead and reduction of @p reduced_bytes, both serial with the wire. */
void dsgd_message_cost(dsgd_worker *w, double reduced_bytes);
void dsgd_count_message(dsgd_engine *engine, double bytes);
/** For actors of a worker: does not return where the worker was made to stop. */
void dsgd_stay_if_stopped(const dsgd_worker *w);
/** Who and when, for the report of a divergence. */
dsgd_origin dsgd_origin_of(const dsgd_worker *w);

/* channels.c */
void dsgd_channels_open(dsgd_worker *w);
void dsgd_channels_close(dsgd_worker *w);
/** Hands a job to the channel of its piece. */
void dsgd_channel_add(dsgd_worker *w, dsgd_job *job);
/** For the work actor: waits until the job is done. */
void dsgd_job_wait(dsgd_worker *w, const dsgd_job *job);
/**
 * Begins and ends the pieces of an exchange of the work actor as the run asks for: one after another where exchanges block each other, else
 * all begun before the first is waited for.
 */
void dsgd_exchange_pieces(dsgd_worker *w,
                          void (*begin)(dsgd_worker *w, size_t piece, void *exchange),
                          void (*end)(dsgd_worker *w, size_t piece, void *exchange),
                          void *exchange);
dsgd_request *dsgd_request_new(dsgd_worker *w, dsgd_vector *x);

/** A message with piece @p k of what @p content says, which it holds on to. */
dsgd_message *dsgd_message_new(dsgd_worker *w, int channel, size_t k, dsgd_piece content);
void dsgd_message_free(dsgd_worker *w, dsgd_message *message);
/** Pays for a message that came, and counts the time from when both sides were there. */
void dsgd_message_received(dsgd_worker *w, const dsgd_message *message, double waiting_since_s,
                           double reduced_bytes);

/* schedules.c: schedules of messages, carried out by a channel */
void dsgd_schedule_allreduce(dsgd_channel *channel, double bytes);
/** Recursive doubling, full vector per phase, along the bits of @p group. */
void dsgd_schedule_butterfly(dsgd_channel *channel, dsgd_group group, double bytes);

/* collectives.c */
dsgd_group dsgd_group_everyone(int n_workers);
/** Order of the reductions in their tree. */
int dsgd_reduction_order(const void *a, const void *b);
/** Takes the member's part of the reduction (scope, number), made at need. */
dsgd_reduction *dsgd_reduction_join(dsgd_engine *engine, uint64_t scope, uint64_t number,
                                    dsgd_group group, int leader, double divisor);
void dsgd_reduction_leave(dsgd_engine *engine, dsgd_reduction *reduction);
int dsgd_reduction_index(const dsgd_reduction *reduction, int rank);
int dsgd_reduction_rank(const dsgd_reduction *reduction, int index);
/** Hands over the member's contribution. */
void dsgd_reduction_sample(dsgd_reduction *reduction, int rank, dsgd_piece contribution,
                           bool fresh);
void dsgd_reduction_combine(dsgd_engine *engine, dsgd_reduction *reduction, dsgd_origin where,
                            size_t piece);
void dsgd_reduction_count_use(dsgd_worker *user, const dsgd_reduction *reduction, size_t piece);

/* For tests and measurements. */
/** Waits until every worker has come here; costs no messages. */
void dsgd_barrier(dsgd_node *self);
/** Numbers [n_params] of a vector, computed now. */
void dsgd_vector_read(dsgd_vector *x, double *numbers);

#endif
