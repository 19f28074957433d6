/**
 * @file steps.h
 * What a worker does by itself: steps, gradients, and what it makes of vectors.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- steps and gradients ---------------------------------------------------------------------- */

/**
 * Waits for this step's computation; begins the next step. False: work() has to return. Others may
 * still be in their last steps, and in some tests of laws they are: who waits for one that has
 * returned waits for ever, so that a server which lets workers wait for each other has to be told.
 */
bool dsgd_next_step(dsgd_node *self);

/**
 * This worker's (or server's) model x_i. All begin with the same values. Evaluations read it at any
 * instant, also while a verb waits: sums, and what a worker keeps of a model in a gossip, belong in
 * a vector of their own until they are a model again. Laws compare those of workers.
 */
dsgd_vector *dsgd_model(dsgd_node *self);

/** A new vector of zeros. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/** How many pieces x has, PyTorch DDP's buckets: it is exchanged piece by piece (`exchange:
 * pieces`). */
size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x);

/**
 * A view of x: its pieces first, first + stride, ..., before @p end, at most dsgd_pieces(). A view
 * shares its pieces with x, and costs nothing. The vectors of one call are views of the same
 * pieces. All verbs take views, except for gradients and versions: dsgd_gradient(),
 * dsgd_partial_sum(), dsgd_partial_mix().
 */
dsgd_vector *dsgd_slice(dsgd_node *self, dsgd_vector *x, size_t first, size_t end, size_t stride);

/** n objects of a size, zeroed, for an algorithm's own state. */
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
bool dsgd_next_turn(dsgd_node *self, int64_t local_steps);

/**
 * g <- gradient at x over this step's mini-batch. Does not wait: pieces become ready in turn. A
 * second one in a step is of the same mini-batch, and takes the step's time once more.
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
 * A gradient pass by pass, for an algorithm that gathers a model unit by unit, as FSDP does:
 * forward passes (@p g NULL) from the last unit of x to the first, then backward ones from the
 * first to the last, which end with that unit of g. Each call waits until the pass before is over,
 * lets this one begin, and returns. Together they take what dsgd_gradient() takes; g is as of x at
 * the first backward pass. A unit is a piece, dsgd_slice(self, x, u, u + 1, 1); the whole vector
 * where pieces become ready together (`exchange: overlap: false`), when there is one.
 * DSGD_ON_GRADIENT holds between two passes.
 */
size_t dsgd_units(dsgd_node *self);
void dsgd_compute_pass(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Throws this step's gradient away, which is being computed or is ready and was not used: no update
 * may follow it. Next dsgd_next_step() returns at once for the same step, the same mini-batch and
 * another draw of its time. What was computed counts neither as a step nor as samples; its time is
 * lost. The algorithm says that it `cancels`. Typically behind dsgd_wait_any() of DSGD_ON_MESSAGE
 * and DSGD_ON_GRADIENT.
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

/**
 * Returns which of this worker's mini-batches this step has, and in *n (NULL: unused) how many
 * there are, for an algorithm that has DSGD_OWN_BATCHES: all come in each epoch, in a random order.
 * 0 of 1 where nothing is learned.
 */
int64_t dsgd_own_batch(dsgd_node *self, int64_t *n);

/**
 * Whether the worker comes back in this step after a failure, of an algorithm that has
 * DSGD_REJOINS, or by `policy: quorum`: then its vectors are as if it had computed nothing
 * meanwhile, and what others do not have alike is to be set to 0.
 */
bool dsgd_has_joined(dsgd_node *self);

/**
 * Virtual seconds since the run began, for an algorithm that measures its steps. Like MPI_Wtime.
 */
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

/**
 * y <- a y + b x, like BLAS's axpby. In a model an update, by which `gradient_staleness` counts.
 */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- elements --------------------------------------------------------------------------------- */

/* Element by element; like linear combinations these do not wait. An infinite or undefined number
 * is a divergence. */

/** y <- y where x is not 0, else 0. */
void dsgd_mask(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/* --- encodings -------------------------------------------------------------------------------- */

/* Compressors: `dsgd list encodings` has them. What is encoded travels as its encoding says: every
 * exchange of q costs its encoded bytes. An allreduce adds exactly what was sent, by an allgather
 * and a local sum, unless the encoding's `reduce` has the sum encoded again:
 * dsgd_encoding_sums_again(). What a verb makes of q is sent as a whole again, but for a copy. Like
 * linear combinations these do not wait; an exchange waits until the worker's encoder is done. */

/**
 * q <- Q(x); with `feedback`, q <- Q(x + e), e <- x + e - q, e kept by the run for x, zeros at
 * first. q and x may be the same.
 */
void dsgd_encode(dsgd_node *self, dsgd_vector *q, dsgd_vector *x, const dsgd_spec *encoding);

/** What dsgd_low_rank() does. */
typedef enum dsgd_factor_step {
    DSGD_FACTOR_DRAW, /* a factor y, drawn alike at all workers */
    DSGD_FACTOR_ORTHOGONALISE, /* the columns of the factor y <- orthonormal ones of the same span
                                */
    DSGD_FACTOR_PROJECT, /* y <- A y, transposed y <- A^T y, A the matrix x */
    DSGD_FACTOR_EXPAND /* y <- x y^T, a matrix, transposed y <- y x^T, x a factor */
} dsgd_factor_step;

/**
 * Low rank: each piece is a matrix A, as near to a square as it can be; a factor has @p rank
 * columns, and as many rows as A, or, transposed, as A has columns. Where factors would be no
 * smaller than the piece, a factor is the piece, and this verb lets it be. @p x NULL for DRAW and
 * ORTHOGONALISE.
 */
void dsgd_low_rank(dsgd_node *self, dsgd_factor_step step, dsgd_vector *y, dsgd_vector *x,
                   int64_t rank, bool transposed);

/* --- draws ------------------------------------------------------------------------------------ */

/** A random integer in [0, n): a function of seed, worker, step, and earlier calls in this step. */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

DSGD_END_C
