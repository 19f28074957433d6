/**
 * @file engine.h
 * The state of a run, shared by the files that implement the verbs. Not for algorithms.
 *
 * Each worker is up to five actors: `work` lives the algorithm; `gpu` computes, piece after piece; `runner` carries out collectives
 * in the order in which they were handed to it; `listener` hears activations of partial collectives; `assist` is the algorithm's own
 * second actor. The runner's first-in-first-out order is the same at all workers for the collectives that they share, which is what
 * keeps blocking and partial collectives free of deadlock.
 */
#ifndef DSGD_SIM_ENGINE_H
#define DSGD_SIM_ENGINE_H

#include "models/values.h"
#include "sim/algorithm.h"
#include "sim/cluster.h"
#include "sim/run.h"
#include "traces/imbalance.h"

enum {
    DSGD_MAX_BITS = 20, /* of a rank */
    DSGD_MAX_DEFERRED = 4, /* local steps of one gradient */
    DSGD_MAX_PIECES = 4096
};

typedef struct dsgd_engine dsgd_engine;
typedef struct dsgd_worker dsgd_worker;

/** A piece of a vector: what it holds, and how many gradients its owner had computed when it came to be; -1: nothing, zeros. */
typedef struct dsgd_piece {
    dsgd_value value;
    long stamp;
} dsgd_piece;

struct dsgd_vector {
    dsgd_worker *owner;
    long awaits; /* the owner's computation that finishes this vector's pieces; -1: none */
    dsgd_piece piece[]; /* [n_pieces] */
};

/**
 * Where the contributions of one collective's piece meet. Only the members' messages take time; the value is one linear
 * combination in rank order, made when the first member's schedule ends, which is after every member's began.
 */
typedef struct dsgd_meeting {
    uint64_t scope; /* what it belongs to: 0 for allreduces, else 1 + leader of the group */
    uint64_t number; /* which one of that scope: sequence or version, and piece */
    int n_members, n_sampled, n_fresh;
    int references; /* members that still need it */
    dsgd_group group;
    int leader; /* member i is the i-th rank of the group */
    double divisor;
    bool combined;
    dsgd_value sum; /* sum / divisor */
    dsgd_piece contribution[]; /* [n_members] */
} dsgd_meeting;

/** One collective's piece to be carried out by a worker's runner. */
typedef struct dsgd_job {
    struct dsgd_job *next;
    dsgd_partial *partial; /* NULL: an allreduce */
    dsgd_meeting *meeting;
    size_t piece;
    long version;
    bool done;
} dsgd_job;

/** A worker's side of a standing collective, for one piece. */
typedef struct dsgd_partial_piece {
    dsgd_piece buffer; /* what is sent when a version starts */
    long published; /* step in which the buffer was last filled; -1: never */
    dsgd_meeting *received; /* of the latest version done; NULL: none */
    long received_version;
    long used; /* version of the last sum that this worker used; -1: none */
    bool
        received_fresh; /* whether this worker's part in it was published in the version's own step */
} dsgd_partial_piece;

struct dsgd_partial {
    dsgd_partial_spec spec;
    long
        started; /* position (version * n_pieces + piece) up to which schedules were handed to the runner */
    long finished; /* position up to which they are done */
    dsgd_partial_piece piece[]; /* [n_pieces] */
};

struct dsgd_request {
    size_t n; /* of jobs */
    dsgd_job *jobs[]; /* [n_pieces] */
};

struct dsgd_worker {
    dsgd_node node; /* first, so that a dsgd_node is its worker */
    dsgd_engine *engine;
    dsgd_bell *work_bell, *gpu_bell, *runner_bell;
    bool work_waits, gpu_waits, runner_waits; /* who has to be rung */

    dsgd_vector *model;
    dsgd_value *optimizer_state; /* [n_pieces] */
    dsgd_partial *partial; /* at most one: two would need an order between them */
    uint32_t draws; /* made by the algorithm in this step */

    /* The computation under way, or the last. */
    long computation; /* its number, from 0; -1: none yet */
    size_t ready; /* pieces that are done */
    double compute_s; /* its length on a reference GPU */
    struct {
        dsgd_vector *x, *g;
    } deferred[DSGD_MAX_DEFERRED];
    size_t n_deferred;

    dsgd_job *first_job, *last_job;
    uint64_t n_allreduces; /* begun: the sequence number of the next */
    dsgd_mailbox *to_bit[DSGD_MAX_BITS], *from_bit[DSGD_MAX_BITS]; /* partner rank ^ (1 << bit) */

    /* Accounting. */
    double computing_since_s, compute_end_s, previous_start_s, previous_end_s;
    double computed_s, communicated_s, counted_until_s;
    long steps_done;
};

struct dsgd_engine {
    const dsgd_run_config *config;
    int n_workers;
    size_t n_pieces;
    double *piece_bytes; /* [n_pieces], of the workload */
    double bytes; /* their sum */
    size_t *piece_begin; /* [n_pieces + 1], of the reduced model's parameters */
    dsgd_worker *workers; /* [n_workers] */
    dsgd_imbalance *imbalance;
    double reference_flops;
    void *meetings; /* tsearch tree of the meetings that wait for members */

    dsgd_data *data;
    dsgd_network network;
    dsgd_values *values; /* NULL: numerics off */

    dsgd_bell *end_bell;
    long steps_total, steps_bound; /* of all workers; bound LONG_MAX where there is none */
    double evaluate_next; /* steps_total at which to evaluate next */
    size_t *tickets; /* [n_points] of values */
    int at_barrier;
    long barrier_round;
    dsgd_value *gathered; /* [2 * n_pieces], scratch of dsgd_gradient() */
    bool finished;
    struct dsgd_block *blocks; /* memory of the run */
    double staleness_sum, staleness_weight;
    uint64_t versions, fresh;
    dsgd_run_result *result;
};

/* engine.c */
static inline dsgd_worker *dsgd_worker_of(dsgd_node *self)
{
    return (dsgd_worker *)self;
}

/** Zeroed memory that dsgd_run_free() or the end of the run gives back. */
void *dsgd_run_alloc(dsgd_engine *engine, size_t bytes);
void dsgd_run_free(void *memory);

void dsgd_run_free_all(dsgd_engine *engine);

/** The actor that computes a worker's gradients. */
void dsgd_gpu_main(void *worker);
/** Ends the simulation at this instant. */
void dsgd_finish(dsgd_engine *engine);
/** Looks at all models as they are now; waits (in wall time) for the accuracy only where the run ends by it, else gives NAN. */
double dsgd_evaluate_now(dsgd_engine *engine);

/** Gradients of which a worker has computed this piece: the clock by which values age. */
long dsgd_gradients_computed(const dsgd_worker *w, size_t piece);

/** Whether a piece of a vector is computed. */
bool dsgd_piece_ready(const dsgd_vector *x, size_t piece);
/** Waits for it; for the work actor. */
void dsgd_piece_wait(dsgd_vector *x, size_t piece);
/** Rings the work actor if it waits; it then looks again at what it waits for. */
void dsgd_work_wake(dsgd_worker *w);
/** Sleeps until dsgd_work_wake(); for loops around a condition. */
void dsgd_work_sleep(dsgd_worker *w);
/** Puts @p value, which the piece then owns, in place of what was there. */
void dsgd_piece_set(dsgd_engine *engine, dsgd_piece *piece, dsgd_value value, long stamp);
/** Counts time spent communicating from @p from_s to now, where it is not hidden by computation. */
void dsgd_count_communication(dsgd_worker *w, double from_s);
/**
 * Counts the use by @p user of a piece: its age is the number of gradients that the owner has computed since, but for those that
 * are beyond the user's own count (an owner that has run ahead does not make what it gave any older).
 */
void dsgd_count_staleness(dsgd_worker *user, int owner, size_t piece, long stamp, double weight);
/** Per-message overhead and reduction of @p reduced_bytes, both serial with the wire. */
void dsgd_message_cost(dsgd_worker *w, double reduced_bytes);

/* messages.c: schedules of messages, carried out by a runner */
void dsgd_messages_allreduce(dsgd_worker *w, double bytes);
/** Recursive doubling, full vector per phase, along the bits of @p group. */
void dsgd_messages_butterfly(dsgd_worker *w, dsgd_group group, double bytes);

/* collectives.c */
dsgd_group dsgd_group_everyone(int n_workers);
void dsgd_runner_main(void *worker);
/** Order of the meetings in their tree. */
int dsgd_meeting_order(const void *a, const void *b);
/** Takes the member's part of the meeting (scope, number), made at need. */
dsgd_meeting *dsgd_meeting_join(dsgd_engine *engine, uint64_t scope, uint64_t number,
                                dsgd_group group, int leader, double divisor);
void dsgd_meeting_leave(dsgd_engine *engine, dsgd_meeting *meeting);
int dsgd_meeting_index(const dsgd_meeting *meeting, int rank);
int dsgd_meeting_rank(const dsgd_meeting *meeting, int index);
/** Hands over the member's contribution. */
void dsgd_meeting_sample(dsgd_meeting *meeting, int rank, dsgd_piece contribution, bool fresh);
void dsgd_meeting_combine(dsgd_engine *engine, dsgd_meeting *meeting, dsgd_origin where,
                          size_t piece);
void dsgd_meeting_count_use(dsgd_worker *user, const dsgd_meeting *meeting, size_t piece);
void dsgd_runner_add(dsgd_worker *w, dsgd_job *job);

/* partial.c */
void dsgd_partial_begin_schedule(dsgd_worker *w, dsgd_job *job);
void dsgd_partial_end_schedule(dsgd_worker *w, dsgd_job *job);

/* For tests and measurements. */
/** Waits until every worker has come here; costs no messages. */
void dsgd_barrier(dsgd_node *self);
/** Numbers [n_params] of a vector, computed now. */
void dsgd_vector_read(dsgd_vector *x, double *numbers);

#endif
