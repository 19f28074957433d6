/**
 * @file algorithm.h
 * The contract of an algorithm and its verbs. The only header that a file in algorithms/ includes.
 *
 * work() is the life of one worker: blocking, straight-line code in virtual time. Verbs never fail.
 * Each waits, piece by piece, until the pieces that it reads are computed, or leaves its work to
 * that moment. Memory that a verb returns lives as long as the run. In the formulas P is the number
 * of workers, x a model, g a gradient, x_i the vector of worker i.
 */
#ifndef DSGD_SIM_ALGORITHM_H
#define DSGD_SIM_ALGORITHM_H

#include "base/option.h"
#include "base/status.h"
#include "models/encodings/params.h"
#include "sim/abi.h" /* DSGD_PLUGIN_ABI; written by sim/abi.cmake */
#include "sim/graph.h"

DSGD_BEGIN_C

/** One worker (or server), as its algorithm sees it. */
typedef struct dsgd_node {
    int rank; /* [0, n_workers); of a server, [0, n_servers) */
    int n_workers; /* P */
    long step; /* the step under way, from 0; -1 before the first */
    const void *params; /* the algorithm's own, filled from its option table; NULL without one */
} dsgd_node;

/** A vector as long as the model. Copying, sending and keeping one cost O(1) in wall time. */
typedef struct dsgd_vector dsgd_vector;

/** What `dsgd describe algorithm NAME` prints: lines without a final end of line. */
typedef struct dsgd_doc {
    const char *idea;
    const char *rule; /* the update of one step, as formulas */
    const char *sends; /* what is sent and how much, per worker and step; N: bytes of a model */
    const char *waits; /* who waits for whom */
} dsgd_doc;

/** Arguments of a traffic formula. */
typedef struct dsgd_scale {
    int n_workers, n_servers;
    size_t n_pieces;
    const double *piece_bytes; /* [n_pieces]; of parts: dsgd_scale_piece() */
    int collective, partial_collective; /* dsgd_collective */
    double doubling_bytes; /* of AUTO: the platform's */
    size_t skipped; /* pieces between two of them; 0 but in a fragment */
} dsgd_scale;

/** Means over workers and over a whole number of the algorithm's periods (dsgd_algorithm). */
typedef struct dsgd_traffic {
    double messages, bytes;
} dsgd_traffic;

/** An algebraic law, or invariant, under some options. The conformance suite tests every declared law. */
typedef enum dsgd_law_kind {
    DSGD_LAW_END,
    DSGD_LAW_PLAIN_SGD, /* with P = 1 it is its optimizer alone */
    DSGD_LAW_ALLREDUCE, /* equals allreduce, to rounding, if the optimizer is linear in g */
    /* g = 0, all have made as many steps, no message on its way: sum of x_i is constant */
    DSGD_LAW_KEEPS_MEAN,
    DSGD_LAW_KEEPS_SUM, /* like KEEPS_MEAN, for the sum over workers and servers */
    DSGD_LAW_REACHES_MEAN /* g = 0: each x_i comes to the mean of the first: weights are kept */
} dsgd_law_kind;

/** A constant array of a type, for an initializer. */
#ifdef __cplusplus
#define DSGD_LIST(type, ...)                                                                       \
    ([]() -> const type * {                                                                        \
        static const type list[] = {__VA_ARGS__};                                                  \
        return list;                                                                               \
    }())
#else
#define DSGD_LIST(type, ...) ((const type[]){__VA_ARGS__})
#endif

/** An option that differs from its default. */
typedef struct dsgd_law_option {
    /* "period"; of an option that picks from a registry with the name, "graph=ring". NULL ends a list */
    const char *option;
    double value; /* a number, or the index of a word; of a pick 0 */
} dsgd_law_option;
#define DSGD_WITH(...) DSGD_LIST(dsgd_law_option, __VA_ARGS__, {.option = NULL})

typedef struct dsgd_law {
    dsgd_law_kind kind;
    const dsgd_law_option *with; /* any number, by DSGD_WITH(); NULL: all defaults */
    bool (*at)(const void *params,
               int n_workers); /* pure: whether it holds there; NULL: at any P */
} dsgd_law;
#define DSGD_LAWS(...) DSGD_LIST(dsgd_law, __VA_ARGS__, {.kind = DSGD_LAW_END})

/**
 * A promise about an algorithm's messages; each includes those before it. It changes no result, and
 * a run that breaks it is stopped with a sentence.
 */
typedef enum dsgd_sends {
    DSGD_SENDS_ANYTHING, /* no promise: right for every algorithm */
    /*
     * Collectives alone: of all workers, of communicators, and partial ones. Non-blocking ones
     * of a communicator then follow each other, too: one that waits for others keeps the next
     * waiting. No gossip, pairs, servers or messages.
     */
    DSGD_SENDS_COLLECTIVES,
    /* dsgd_allreduce_*() on DSGD_WORLD alone: makes `exchange: fusion` possible. */
    DSGD_SENDS_ALLREDUCES
} dsgd_sends;

/** What an algorithm may read of values, by dsgd_norm(), dsgd_dot() and dsgd_loss(). */
typedef enum dsgd_reads {
    DSGD_READS_NOTHING,
    /* It computes with what it reads: when it sends, and for what it waits, does not depend on it.
     * Without numerics each scalar is 1. */
    DSGD_READS_TO_COMPUTE,
    /* It decides by what it reads, so that its times depend on values: refused without numerics. */
    DSGD_READS_TO_DECIDE
} dsgd_reads;

/** The model that an algorithm makes: evaluations, `until: accuracy` and targets are of it. */
typedef enum dsgd_output {
    DSGD_OUTPUT_WORKERS, /* the mean of the workers' models */
    /*
     * The servers' dsgd_model(): put together from the parts of servers that share it, the mean of
     * `whole_servers`. Where options leave no server, workers have it in dsgd_shared(). Running
     * statistics are the workers' mean, as servers have none.
     */
    DSGD_OUTPUT_SERVERS
} dsgd_output;

typedef struct dsgd_algorithm {
    dsgd_about about; /* name, summary, reference (required); params_size, options */
    dsgd_doc doc;
    /** Optional, pure. Refuses what no option table can; the message names a way out. NULL: an
     * option `graph` is checked, nothing else. */
    dsgd_status (*check)(const void *params, int n_workers, dsgd_error *error);
    /** Required. One worker's life. Returns only when dsgd_next_step() returns false, or never. */
    void (*work)(dsgd_node *self);
    /** Optional. A second actor of each worker, which answers or asks others meanwhile. */
    void (*assist)(dsgd_node *self);
    /** Optional. The life of one of the servers, on hosts behind the workers'. */
    void (*serve)(dsgd_node *self);
    /** Optional, pure. How many there are. NULL: what the option `servers` has, or 1. */
    int (*n_servers)(const void *params, int n_workers);
    /* Each server has a whole vector, by messages alone: servers of regions. Without it the
     * servers share one, and every exchange is cut into a part for each, messages too. */
    bool whole_servers;
    /** What is evaluated. With servers that have the model of the paper DSGD_OUTPUT_SERVERS. */
    dsgd_output output;
    /** Optional, pure. Fewer pieces are refused: each fragment needs one. NULL: 1. */
    long (*least_pieces)(const void *params, int n_workers);
    /**
     * Optional, pure. Messages sent if no worker is late; {NAN, NAN} where that depends on time, or on chance.
     * `dsgd describe` prints it, and the conformance suite counts. Without it nothing is counted.
     */
    dsgd_traffic (*traffic)(const void *params, const dsgd_scale *scale);
    /** Optional, pure. Steps after which what is sent repeats itself. NULL: what its option `period`
     * has, or the rounds after which its option `graph` repeats itself, or 1. */
    long (*period)(const void *params, int n_workers);
    const dsgd_law *laws; /* DSGD_LAW_END ends them; NULL: none */
    /** What its messages are. The more is promised, the faster it is simulated. */
    dsgd_sends sends;
    /** Optional, pure. The same with these options, where it depends on them. */
    dsgd_sends (*sends_with)(const void *params);
    /* Its collectives carry models, not gradients or differences: `exchange: encoding` refuses to
     * send a few numbers of them. */
    bool averages_models;
    /* work() may call dsgd_cancel(): then all pieces of a gradient are ready together, at its end. */
    bool cancels;
    /** Which scalars it may read. */
    dsgd_reads reads;
} dsgd_algorithm;

/* --- steps and gradients ---------------------------------------------------------------------- */

/**
 * Waits for this step's computation; begins the next step. False: work() has to return. Others may
 * still be in their last steps, and in some tests of laws they are: who waits for one that has
 * returned waits for ever, so that a server which lets workers wait for each other has to be told.
 */
bool dsgd_next_step(dsgd_node *self);

/**
 * This worker's (or server's) model x_i. All begin with the same values. Evaluations read it at any
 * instant, also while a verb waits: sums, and what a worker keeps of a model in a gossip, belong in a
 * vector of their own until they are a model again. Laws compare those of workers.
 */
dsgd_vector *dsgd_model(dsgd_node *self);

/** A new vector of zeros. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/** How many pieces x has, PyTorch DDP's buckets: it is exchanged piece by piece (`exchange: pieces`). */
size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x);

/**
 * Views of x: its pieces index, index + n, index + 2 n, ..., or first to end - 1. A view shares its
 * pieces with x, and costs nothing. The vectors of one call are views of the same pieces. All verbs
 * take views, but for gradients and versions: dsgd_gradient(), dsgd_partial_sum(), _mix().
 */
dsgd_vector *dsgd_fragment(dsgd_node *self, dsgd_vector *x, size_t index, size_t n);
dsgd_vector *dsgd_range(dsgd_node *self, dsgd_vector *x, size_t first, size_t end);

/** n zeros, for an algorithm's numbers; n objects of a size, zeroed, for anything else. */
double *dsgd_numbers_new(dsgd_node *self, size_t n);
void *dsgd_memory_new(dsgd_node *self, size_t n, size_t size);

/** A second vector, the same in work() and assist() of a worker. It begins as the model. */
dsgd_vector *dsgd_shared(dsgd_node *self);

/** Mutual exclusion of work() and assist() of a worker, first come, first served. */
void dsgd_lock(dsgd_node *self);
void dsgd_unlock(dsgd_node *self);

/**
 * For loops of assist() that begin exchanges: waits until this worker has made @p local_steps. Two
 * turns are a microsecond apart or more, so that time passes where messages cost none. False: the
 * work() of every worker has returned.
 */
bool dsgd_next_turn(dsgd_node *self, long local_steps);

/**
 * g <- gradient at x over this step's mini-batch. Does not wait: pieces become ready in turn. A second
 * one in a step is of the same mini-batch, and takes the step's time once more.
 */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Like dsgd_gradient(), split into n equal micro-batches; no forward or backward pass starts after
 * limit_s on its host (INFINITY: no limit). A dropped micro-batch counts as zeros in g. Returns how
 * many were computed.
 */
int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s);

/**
 * A gradient pass by pass, for who gathers a model unit by unit, as FSDP does: forward passes from
 * the last unit of x to the first, then backward ones from the first to the last, which end with
 * that unit of g. Each call waits until the pass before is over, lets this one begin, and returns.
 * Together they take what dsgd_gradient() takes; g is as of x at the first backward pass. A unit is a
 * piece, dsgd_range(self, x, u, u + 1); the whole vector where pieces become ready together
 * (`exchange: overlap: false`), when there is one. DSGD_ON_GRADIENT holds between two passes.
 */
size_t dsgd_units(dsgd_node *self);
void dsgd_forward(dsgd_node *self, dsgd_vector *x);
void dsgd_backward(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Throws this step's gradient away, which is being computed or is ready and was not used: no update
 * may follow it. Next dsgd_next_step() returns at once for the same step, the same mini-batch and
 * another draw of its time. What was computed counts neither as a step nor as samples; its time is
 * lost. The algorithm says that it `cancels`. Typically behind dsgd_wait_any() of DSGD_ON_MESSAGE and
 * DSGD_ON_GRADIENT.
 */
void dsgd_cancel(dsgd_node *self);

/** The part of a step that a limit leaves. */
typedef struct dsgd_cut {
    int done; /* micro-batches */
    double compute_s; /* forward passes without a backward pass included */
} dsgd_cut;

/** What dsgd_gradient_until() does in a step that would take @p step_s. Pure. */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s);

/** Seconds that this worker's computation of this step takes on its host, without a limit. */
double dsgd_compute_time_s(dsgd_node *self);

/** Virtual seconds since the run began, for an algorithm that measures its steps. Like MPI_Wtime. */
double dsgd_time_s(dsgd_node *self);

/** Each piece of x becomes ready when that piece of g does. For an x computed from g. */
void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/** The optimizer's learning rate in this step; at a server, in its next local step. */
double dsgd_learning_rate(dsgd_node *self);

/**
 * x <- x + U(g, x, t), U the worker's optimizer, t its step. Does not wait: each piece is updated
 * when that piece of g is ready, from the value that x then has. A server has an optimizer of its
 * own, whose t counts its local steps.
 */
void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* --- linear combinations ---------------------------------------------------------------------- */

/*
 * These do not wait: where y or x follows from the gradient that is being computed, each piece of y
 * changes when the pieces of both are ready; an x that is ready counts as it is at the call.
 */

/** y <- x. */
void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/** y <- a y + b x, like BLAS's axpby. In a model an update, by which `gradient_staleness` counts. */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- elements --------------------------------------------------------------------------------- */

/* Element by element; like linear combinations these do not wait. An infinite or undefined number is
 * a divergence. */

/** y <- y where x is not 0, else 0. */
void dsgd_mask(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/** y <- y x. */
void dsgd_multiply(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/** y <- y / (x + epsilon), 0 where y is 0. */
void dsgd_divide_by(dsgd_node *self, dsgd_vector *y, dsgd_vector *x, double epsilon);

/** x <- sqrt(x + epsilon). */
void dsgd_root(dsgd_node *self, dsgd_vector *x, double epsilon);

/** x <- x, each element within [-limit, limit]. */
void dsgd_clip(dsgd_node *self, dsgd_vector *x, double limit);

/* --- scalars ---------------------------------------------------------------------------------- */

/*
 * For an algorithm that says what it `reads`. Each waits until what it reads is computed. A norm
 * takes the time of a reduction of as many bytes as x has, a dot product that of both vectors, a
 * loss none. Only this worker knows them: dsgd_allgather() tells others. NAN after a divergence.
 */

/** ||x||_2, of a view that of its pieces. */
double dsgd_norm(dsgd_node *self, dsgd_vector *x);

/** The sum of the products of the elements of x and y. */
double dsgd_dot(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/**
 * The mean loss over the samples of this step's last gradient, at its model, by the formulas of
 * evaluations (of batch normalisation: with running statistics). NAN where all were dropped.
 */
double dsgd_loss(dsgd_node *self);

/* --- encodings -------------------------------------------------------------------------------- */

/* Compressors: `dsgd list encodings` has them. What is encoded travels as its encoding says: every
 * exchange of q costs its encoded bytes. An allreduce adds exactly what was sent, by an allgather
 * and a local sum, unless the encoding's `reduce` has the sum encoded again:
 * dsgd_encoding_sums_again(). What a verb makes of q is sent as a whole again, but for a copy. Like
 * linear combinations these do not wait; an exchange waits until the worker's encoder is done. */

/**
 * q <- Q(x); with `feedback`, q <- Q(x + e), e <- x + e - q, e kept by the run for x, zeros at first.
 * q and x may be the same.
 */
void dsgd_encode(dsgd_node *self, dsgd_vector *q, dsgd_vector *x, const dsgd_pick *encoding);

/*
 * Low rank: each piece is a matrix A, as near to a square as it can be; a factor has `rank` columns,
 * and as many rows as A, or as A has columns (`of_columns`). Where factors would be no smaller than
 * the piece, a factor is the piece, and these verbs let it be.
 */

/** A factor y, drawn alike at all workers. */
void dsgd_draw_factor(dsgd_node *self, dsgd_vector *y, long rank, bool of_columns);

/** The columns of the factor y <- orthonormal ones that span the same. */
void dsgd_orthogonalise(dsgd_node *self, dsgd_vector *y, long rank, bool of_columns);

/** y <- A y, transposed y <- A^T y; y <- factor y^T, a matrix, transposed y <- y factor^T. */
void dsgd_project(dsgd_node *self, dsgd_vector *y, dsgd_vector *a, long rank, bool transposed);
void dsgd_expand(dsgd_node *self, dsgd_vector *y, dsgd_vector *factor, long rank, bool transposed);

/* --- communicators ---------------------------------------------------------------------------- */

/** A group of workers, as in MPI. Its members are numbered from 0, in the order of ranks. */
typedef struct dsgd_comm dsgd_comm;

#define DSGD_WORLD ((const dsgd_comm *)NULL) /* all workers */

/** All that a colouring may depend on, so that it is the same at all workers. */
typedef struct dsgd_colouring {
    const void *params;
    int n_workers;
    uint64_t seed; /* of random groups: dsgd_shuffled() */
    long round;
} dsgd_colouring;

/** Fills colour[n_workers]: workers of one colour are a group, of a negative one in none. */
typedef void dsgd_colours(const dsgd_colouring *at, int *colour);

/**
 * This worker's group in a round of a colouring, like MPI_Comm_split(), but without a message: takes
 * no time, and need not be called by all. Valid until this worker has split by the same colours for
 * 8 other rounds. In a group of no one size and rank are 0 and -1, and it takes part in nothing.
 */
const dsgd_comm *dsgd_comm_split(dsgd_node *self, dsgd_colours *colours, long round);

/**
 * The communicator of these workers, in any order, this one among them: like MPI_Comm_create_group(),
 * but without a message, and numbered in the order of ranks as of every dsgd_comm. Takes no time; of
 * the same members it is the same at all of them. For groups that are found out at run time. Valid
 * until this worker has asked for 8 others.
 */
const dsgd_comm *dsgd_comm_of(dsgd_node *self, const int *ranks, int n);

/** Number of this worker in it, and of its members; rank of a member among all workers. */
int dsgd_comm_rank(const dsgd_node *self, const dsgd_comm *comm);
int dsgd_comm_size(const dsgd_node *self, const dsgd_comm *comm);
int dsgd_comm_worker(const dsgd_node *self, const dsgd_comm *comm, int index);

/** Place in [0, n_workers) of a rank in a random order of all, a function of seed and round. */
int dsgd_shuffled(const dsgd_colouring *at, int rank);

/* --- collectives ------------------------------------------------------------------------------ */

/*
 * Of the members of @p comm; n is their number. As in MPI, all of them call the same collectives of a
 * communicator in the same order, at any steps of theirs. Stricter than in MPI: members that two
 * communicators have in common call the collectives of both in one order, non-blocking ones too.
 * Members of another order wait for ever, which the run reports. Non-blocking ones on a split-off
 * communicator go beside all others, unless `.sends` promises collectives alone. Members that get the same sum hold
 * one value, whose gradient is computed once.
 */

/** x_i <- (1/n) sum_j x_j. Like MPI_Allreduce: waits for all members, piece by piece. */
void dsgd_allreduce_mean(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** x_i <- sum_j x_j. Like MPI_Allreduce(MPI_SUM). */
void dsgd_allreduce_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** A non-blocking verb under way, like an MPI_Request. One call of its _end() consumes it. */
typedef struct dsgd_request dsgd_request;

/** Begins dsgd_allreduce_mean() with x as it is now, and returns. Like MPI_Iallreduce. */
dsgd_request *dsgd_allreduce_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** mean <- (1/n) sum_j x_j of the request. Waits for all members, like MPI_Wait. */
void dsgd_allreduce_end(dsgd_node *self, dsgd_request *request, dsgd_vector *mean);

/**
 * x_root <- sum_j x_j, piece by piece: of models, take a copy; other x stay. Like
 * MPI_Reduce(MPI_SUM); @p root is a member's number.
 */
void dsgd_reduce_sum(dsgd_node *self, dsgd_vector *x, int root, const dsgd_comm *comm);

/** x_i <- x_root. Like MPI_Bcast: waits for who is before it in a tree, not for all. */
void dsgd_broadcast(dsgd_node *self, dsgd_vector *x, int root, const dsgd_comm *comm);

/**
 * x_i <- sum_j x_j, but each member has got its n-th share of every piece alone: until
 * dsgd_allgather_shares() it may change x by verbs that act element by element (combinations, local
 * steps). Like MPI_Reduce_scatter_block(MPI_SUM).
 */
void dsgd_reduce_scatter_sum(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/** Of every piece the n-th share of member n, together, at all. Like MPI_Allgather. */
void dsgd_allgather_shares(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);

/**
 * The same as dsgd_allreduce_begin() and _end() are of an allreduce: with x as it is at the begin.
 * Like MPI_Ireduce_scatter_block and MPI_Iallgather.
 */
dsgd_request *dsgd_reduce_scatter_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);
void dsgd_reduce_scatter_end(dsgd_node *self, dsgd_request *request, dsgd_vector *sum);
dsgd_request *dsgd_allgather_shares_begin(dsgd_node *self, dsgd_vector *x, const dsgd_comm *comm);
void dsgd_allgather_shares_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/**
 * Returns all[n][m]: all[j] is mine[m] of member j. Like MPI_Allgather, but that all members read
 * the same memory; valid until this worker's next dsgd_allgather(). For control data.
 */
const double *dsgd_allgather(dsgd_node *self, const double *mine, size_t m, const dsgd_comm *comm);

/* --- partial collectives: they start without waiting for all workers -------------------------- */

/** Who activates a version. */
typedef enum dsgd_initiator {
    DSGD_FIRST_ARRIVER, /* the first worker to arrive */
    DSGD_RANDOM_WORKER, /* one worker per version, drawn alike at all workers */
    DSGD_EACH_IN_TURN /* worker (version mod P) */
} dsgd_initiator;

/** Address bits: two workers are in one group iff their ranks differ in these bits only. */
typedef uint32_t dsgd_group;

/** A standing allreduce with send buffers (eager-SGD; WAGMA-SGD). P is a power of two. */
typedef struct dsgd_partial_spec {
    dsgd_initiator initiator;
    /** The group of a version, a pure function; NULL: all workers. */
    dsgd_group (*group)(const void *params, int n_workers, long version);
    /* The send buffer is set to 0 when sampled; else its contribution may be sent again. */
    bool draining;
    /* Each piece of the send buffer is set to 0 when dsgd_partial_sum() has its sum. */
    bool discarding;
    /* Every period-th step has no version (the algorithm synchronises there); 0: all have. */
    long period;
} dsgd_partial_spec;

typedef struct dsgd_partial dsgd_partial;

/** Version t is the collective of step t. The send buffer begins as @p initial; NULL: as zeros. */
dsgd_partial *dsgd_partial_new(dsgd_node *self, dsgd_partial_spec spec, dsgd_vector *initial);

/** send buffer <- x. */
void dsgd_partial_publish(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/** x <- send buffer; send buffer <- 0. */
void dsgd_partial_take(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x);

/**
 * Piece by piece: send buffer <- send buffer + g; arrive at version t = step; wait until version t
 * or a later one is complete; sum <- sum over the group of the buffers sampled for the latest
 * complete version. g and sum may be the same vector.
 */
void dsgd_partial_sum(dsgd_node *self, dsgd_partial *partial, dsgd_vector *g, dsgd_vector *sum);

/**
 * Piece by piece: send buffer <- x; arrive and wait as in dsgd_partial_sum(); then
 *     x <- sum / on_time       if on_time > 0, version t is the latest, and sampled this x,
 *     x <- (sum + x) / late    otherwise.
 */
void dsgd_partial_mix(dsgd_node *self, dsgd_partial *partial, dsgd_vector *x, double on_time,
                      double late);

/* --- neighbours ------------------------------------------------------------------------------- */

/** The shares a_ij of x_j that i receives. */
typedef enum dsgd_shares {
    DSGD_DOUBLY_STOCHASTIC, /* Metropolis: a_ij = 1 / (1 + max(neighbours of i, neighbours of j)) */
    DSGD_COLUMN_STOCHASTIC /* a_ij = 1 / (1 + receivers of j) */
} dsgd_shares;

/** This worker's neighbours in a round of a graph. Valid until its next call. */
const dsgd_neighbours *dsgd_neighbours_of(dsgd_node *self, const dsgd_pick *graph, long round,
                                          dsgd_shares shares);

/*
 * A list may also be made by hand, and is read before the verb returns. What it promises
 * (sim/graph.h) is checked: a worker whose shares do not sum to 1 stops the program.
 */

/**
 * x_i <- a_ii x_i + sum_j a_ij x_j over the j that send to i; waits for all of them. Like
 * MPI_Neighbor_allgather and a weighted sum. The push-sum weight of x, which begins as 1, is mixed
 * alike.
 */
void dsgd_gossip(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Sends the shares; x_i <- a_ii x_i, which is no model until dsgd_gossip_end(): to gossip
 * dsgd_model(), begin with a copy. Like MPI_Ineighbor_allgather.
 */
dsgd_request *dsgd_gossip_begin(dsgd_node *self, dsgd_vector *x, const dsgd_neighbours *neighbours);

/**
 * Whether all messages of @p request have arrived. Like MPI_Request_get_status. Takes no time, so
 * that asking again is of use only behind a verb that takes some.
 */
bool dsgd_gossip_done(dsgd_node *self, const dsgd_request *request);

/** x_i <- x_i + sum_j a_ij x_j, weight included. Waits for all messages, like MPI_Wait. */
void dsgd_gossip_end(dsgd_node *self, dsgd_request *request, dsgd_vector *x);

/** z <- x / (push-sum weight of x). */
void dsgd_debias(dsgd_node *self, dsgd_vector *z, dsgd_vector *x);

/* --- pairs ------------------------------------------------------------------------------------ */

/**
 * Averages x with @p peer, exactly under message delay: sends s = x; the peer replies with its y
 * and sets y <- y + (s - y) / 2; then x <- x + (y - s) / 2. Changes of x meanwhile are kept. Waits
 * for the peer's assist(), which calls dsgd_pair_answer().
 */
void dsgd_pair_average(dsgd_node *self, dsgd_vector *x, int peer);

/** y <- x of @p peer. Waits for the peer's assist(), likewise. */
void dsgd_pair_fetch(dsgd_node *self, dsgd_vector *y, int peer);

enum { DSGD_ANYONE = -1 };

/**
 * For assist(): waits for the next question, an average or a fetch, and answers it with x: of
 * DSGD_ANYONE one piece, whoever asks; of a worker @p from all pieces of x, while others wait for
 * their turn. A worker answers either anyone or workers by name.
 */
void dsgd_pair_answer(dsgd_node *self, dsgd_vector *x, int from);

/**
 * x, y <- (x + y) / 2, y being a copy in host memory: costs the reduction of a received vector, and
 * no message. Each piece changes at one instant.
 */
void dsgd_average(dsgd_node *self, dsgd_vector *x, dsgd_vector *y);

/* --- servers ---------------------------------------------------------------------------------- */

/* The servers hold one vector z together, each an even part of each exchange. Not for `whole_servers`. */

/** z <- z + u. Does not wait for the servers. */
void dsgd_server_push(dsgd_node *self, dsgd_vector *u);

/** x <- z as it is when the request arrives, after this worker's earlier pushes. Waits for it. */
void dsgd_server_fetch(dsgd_node *self, dsgd_vector *x);

/**
 * dsgd_server_push() of u and dsgd_server_fetch() into x, both posted at once, then waits for both.
 * A piece's answer leaves when its push has been added, so that x has this worker's u in it, while
 * later pieces of u arrive.
 */
void dsgd_server_push_and_fetch(dsgd_node *self, dsgd_vector *u, dsgd_vector *x);

/** For `.serve`: answers pushes and fetches with its model, its part of z, for ever. */
void dsgd_serve(dsgd_node *self);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * From any worker or server to any other, which sees them whole, in the order in which they get
 * complete, from one sender in the order of sending, when it likes: for servers that decide by
 * themselves, for waiting for some of the neighbours, for control data. What a message is for is in
 * its numbers: late ones are told by a round in them. Their wire costs 8 bytes per number, and the
 * vector; nobody acknowledges them. For work() and serve(), not for assist().
 */

typedef struct dsgd_message {
    int from; /* a worker's rank; n_workers + rank: a server */
    dsgd_vector *x; /* as its sender had it, piece by piece, at the call; NULL: none */
    size_t n;
    const double *numbers; /* [n]; integers up to 2^53 are exact */
} dsgd_message;

/** Where messages to a server go. */
static inline int dsgd_server_address(const dsgd_node *self, int server)
{
    return self->n_workers + server;
}

/**
 * Sends x (NULL: none) and numbers[n]. Waits for nobody. Like MPI_Isend. Pieces of x leave as they get
 * ready; it waits for these, but not without `exchange: blocking`, unless the algorithm cancels.
 */
void dsgd_send(dsgd_node *self, int to, dsgd_vector *x, const double *numbers, size_t n);

/**
 * The next message, which belongs to the run, with its vector, until this host's next call. Waits
 * until virtual time @p until_s (INFINITY: no limit), when it returns NULL. Like MPI_Recv of
 * MPI_ANY_SOURCE.
 */
const dsgd_message *dsgd_recv(dsgd_node *self, double until_s);

/**
 * For a receiver that applies what is in a message. Counts how old that is: of a gradient or an
 * update @p missed, the updates of the receiver's model since the one at which it was computed; of
 * another worker's model (@p missed below 0) its local steps, as of gossip.
 */
void dsgd_message_used(dsgd_node *self, const dsgd_message *message, long missed);

/** For one that comes too late to be used: the samples of its sender's step do not count. */
void dsgd_message_drop(dsgd_node *self, const dsgd_message *message);

/** What a worker or server can wait for. */
enum {
    DSGD_ON_MESSAGE = 1, /* there is one to receive */
    DSGD_ON_GRADIENT = 2, /* nothing is being computed */
    DSGD_ON_REQUEST = 4 /* one that is under way is done: its _end() would not wait */
};

/**
 * Sleeps until one of @p events holds, at most until virtual time @p until_s (INFINITY: no limit).
 * Returns all that hold; 0: it is until_s. Like MPI_Waitany.
 */
unsigned dsgd_wait_any(dsgd_node *self, unsigned events, double until_s);

/* --- draws ------------------------------------------------------------------------------------ */

/** A random integer in [0, n): a function of seed, worker, step, and earlier calls in this step. */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

/** The same at all workers: a function of seed, step, and earlier calls of this verb in this step. */
uint64_t dsgd_shared_random_below(dsgd_node *self, uint64_t n);

/* --- traffic of verbs ------------------------------------------------------------------------- */

/* Each per worker, or, by dsgd_scale_of_comm(), per member. Without `exchange: fusion`. */

/** One allreduce of a vector; one reduce; one broadcast; one reduce-scatter, or allgather of shares. */
dsgd_traffic dsgd_allreduce_traffic(const dsgd_scale *scale);
dsgd_traffic dsgd_reduce_traffic(const dsgd_scale *scale);
dsgd_traffic dsgd_broadcast_traffic(const dsgd_scale *scale);
dsgd_traffic dsgd_shares_traffic(const dsgd_scale *scale);

/** Bytes of a vector's k-th piece. */
static inline double dsgd_scale_piece(const dsgd_scale *scale, size_t k)
{
    return scale->piece_bytes[k * (1 + scale->skipped)];
}

/** One dsgd_allreduce_*() of encoded vectors; @p times of these, sent piece by piece. */
dsgd_traffic dsgd_encoded_allreduce_traffic(const dsgd_scale *scale, const dsgd_pick *encoding);
dsgd_traffic dsgd_encoded_vector_traffic(const dsgd_scale *scale, const dsgd_pick *encoding,
                                         double times);
/** One allreduce of factors. */
dsgd_traffic dsgd_factor_traffic(const dsgd_scale *scale, long rank, bool of_columns);

/** The scale of a communicator of @p n members. */
static inline dsgd_scale dsgd_scale_of_comm(const dsgd_scale *scale, int n)
{
    dsgd_scale s = *scale;
    s.n_workers = n;
    return s;
}

/** The scale of dsgd_fragment(), and of dsgd_range(). */
static inline dsgd_scale dsgd_scale_of_fragment(const dsgd_scale *scale, size_t index, size_t n)
{
    dsgd_scale s = *scale;
    s.n_pieces = index < s.n_pieces ? (s.n_pieces - index + n - 1) / n : 0;
    s.piece_bytes += index * (1 + s.skipped);
    s.skipped = n * (1 + s.skipped) - 1;
    return s;
}

static inline dsgd_scale dsgd_scale_of_range(const dsgd_scale *scale, size_t first, size_t end)
{
    dsgd_scale s = *scale;
    s.n_pieces = end - first;
    s.piece_bytes += first * (1 + s.skipped);
    return s;
}

/** @p times vectors, sent piece by piece. */
dsgd_traffic dsgd_vector_traffic(const dsgd_scale *scale, double times);

/** One allreduce of an algorithm that has partial collectives: their library carries it out. */
dsgd_traffic dsgd_partial_allreduce_traffic(const dsgd_scale *scale);

/** One version in groups of 2^bits, activated by one worker; activations included. */
dsgd_traffic dsgd_partial_traffic(const dsgd_scale *scale, int bits);

/** For `.traffic`, where it depends on time. */
static inline dsgd_traffic dsgd_traffic_by_time(const void *params, const dsgd_scale *scale)
{
    (void)params;
    (void)scale;
    return (dsgd_traffic){NAN, NAN};
}

static inline dsgd_traffic dsgd_traffic_times(dsgd_traffic t, double times)
{
    return (dsgd_traffic){t.messages * times, t.bytes * times};
}

/** For `.traffic` of parameters that begin with a `long period`: an allreduce in each. */
static inline dsgd_traffic dsgd_allreduce_per_period(const void *params, const dsgd_scale *scale)
{
    const long *period = (const long *)params;
    return dsgd_traffic_times(dsgd_allreduce_traffic(scale), 1.0 / (double)*period);
}

static inline dsgd_traffic dsgd_traffic_sum(dsgd_traffic a, dsgd_traffic b)
{
    return (dsgd_traffic){a.messages + b.messages, a.bytes + b.bytes};
}

/* --- sets of address bits --------------------------------------------------------------------- */

static inline bool dsgd_is_power_of_two(long n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/** floor(log2 n), n >= 1. */
static inline int dsgd_log2(long n)
{
    int bits = 0;
    for (; n > 1; n >>= 1)
        bits++;
    return bits;
}

/** Refuses P unless it is a power of two; the sentence names the two nearest. */
dsgd_status dsgd_check_power_of_two(const char *name, int n_workers, dsgd_error *error);

/** Refuses P unless groups of @p size divide it; fewer than a group are one. Names two that would do. */
dsgd_status dsgd_check_groups(const char *name, long size, int n_workers, dsgd_error *error);

/** Workers in a group of @p size where there are @p n_workers. */
static inline int dsgd_group_size(long size, int n_workers)
{
    return size < n_workers ? (int)size : n_workers;
}

/* --- algorithms from outside the tree --------------------------------------------------------- */

/**
 * The symbol that a shared object exports: const dsgd_plugin dsgd_plugin_algorithms =
 * {DSGD_PLUGIN_ABI, list}; One built with other headers than the program's is refused.
 */
typedef struct dsgd_plugin {
    uint32_t abi;
    const dsgd_algorithm *const *algorithms; /* NULL-terminated */
} dsgd_plugin;

#define DSGD_PLUGIN_SYMBOL "dsgd_plugin_algorithms"
extern const dsgd_plugin
    dsgd_plugin_algorithms; /* else a constant of C++ would be its file's own */

DSGD_END_C

#endif
