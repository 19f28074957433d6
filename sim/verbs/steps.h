/**
 * @file steps.h
 * Verbs for one worker: steps, gradients, and arithmetic with vectors. In the comments, x, y and g
 * are vectors as long as the model (or views of such vectors), and a, b are numbers.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- steps and gradients ---------------------------------------------------------------------- */

/**
 * Waits until this step's computation is finished, then begins the next step. Returns false when
 * the run is over and work() must return. Other workers may still be in their last steps (some
 * conformance tests make sure that they are). A worker that waits for one that has returned waits
 * for ever. A server that makes workers wait for each other must therefore be told which workers
 * have returned.
 */
bool dsgd_next_step(dsgd_node *self);

/**
 * Returns the model x_i of this worker or server. All models begin with the same values.
 * Evaluations read the model at any instant, also while a verb waits. Store a sum, or the share of
 * a model that remains during gossip, in another vector until it is a model again. The laws of the
 * conformance suite compare the models of workers.
 */
dsgd_vector *dsgd_model(dsgd_node *self);

/** Returns a new vector of zeros, which the engine frees at the end of the run. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/**
 * Returns the number of chunks of x. Every vector is exchanged chunk by chunk (`exchange: pieces`);
 * a chunk is a bucket of PyTorch DDP. Code and comments call a chunk a piece.
 */
size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x);

/**
 * Returns a view of x: its pieces first, first + stride, ..., before @p end, which is at most
 * dsgd_pieces(). A view shares its pieces with x, and takes no time. All vectors of one call must
 * be views of the same pieces. All verbs accept views, except those for gradients and for versions
 * of partial collectives: dsgd_gradient(), dsgd_partial_sum(), dsgd_partial_mix().
 */
dsgd_vector *dsgd_slice(dsgd_node *self, dsgd_vector *x, size_t first, size_t end, size_t stride);

/**
 * Returns zeroed memory for @p n objects of @p size bytes, for the algorithm's own state. The
 * engine frees it at the end of the run.
 */
void *dsgd_memory_new(dsgd_node *self, size_t n, size_t size);

/**
 * Returns a second vector of this worker, which work() and assist() share. It begins with the
 * values of the model.
 */
dsgd_vector *dsgd_shared(dsgd_node *self);

/** Lock and unlock a mutex that work() and assist() of a worker share; first come, first served. */
void dsgd_lock(dsgd_node *self);
void dsgd_unlock(dsgd_node *self);

/**
 * For loops of assist() that start exchanges. Waits until this worker has made @p local_steps local
 * steps. Two calls return at least a microsecond apart, so that virtual time advances even if
 * messages take no time. Returns false when work() of every worker has returned.
 */
bool dsgd_next_turn(dsgd_node *self, int64_t local_steps);

/**
 * Computes g <- gradient at x over this step's mini-batch. Returns at once; the pieces of g become
 * ready one after another. A second call in the same step uses the same mini-batch and takes the
 * computation time of a step again.
 */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Like dsgd_gradient(), but with the mini-batch split into @p n_micro_batches equal micro-batches.
 * No forward or backward pass starts later than @p limit_s seconds after the computation began on
 * its host; INFINITY means no limit. A micro-batch that is not computed counts as zeros in g.
 * Returns the number of micro-batches that are computed.
 */
int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s);

/**
 * dsgd_compute_pass() computes a gradient pass by pass, for an algorithm that gathers the model
 * unit by unit, as FSDP does. Call it for the forward passes with @p g NULL, from the last unit of
 * x to the first. Then call it for the backward passes, from the first unit to the last; each
 * backward pass ends with its unit of g. Each call waits until the previous pass is over, starts
 * this pass, and returns. All passes together take as long as dsgd_gradient(), and g is the
 * gradient at x as it is at the first backward pass. DSGD_ON_GRADIENT is true between two passes.
 *
 * dsgd_units() returns the number of units. A unit u is one piece: dsgd_slice(self, x, u, u + 1,
 * 1). If all pieces become ready together (`exchange: overlap: false`), there is one unit, the
 * whole vector.
 */
size_t dsgd_units(dsgd_node *self);
void dsgd_compute_pass(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Discards this step's gradient, which is being computed or is ready but not used; no update may
 * depend on it. The next dsgd_next_step() returns at once for the same step, with the same
 * mini-batch and another draw of the computation time. The discarded computation counts neither as
 * a step nor as samples; its time is lost. Requires the trait DSGD_CANCELS. Typically called after
 * dsgd_wait_any() of DSGD_ON_MESSAGE and DSGD_ON_GRADIENT.
 */
void dsgd_cancel(dsgd_node *self);

/** The part of a step that is computed under a time limit. */
typedef struct dsgd_cut {
    int done; /* number of micro-batches that are computed */
    double compute_s; /* computation time, with forward passes that have no backward pass */
} dsgd_cut;

/**
 * Returns what dsgd_gradient_until() computes in a step that takes @p step_s seconds without a
 * limit. Pure.
 */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s);

/** Returns the seconds that this step's computation takes on this worker's host, without a limit.
 */
double dsgd_compute_time_s(dsgd_node *self);

/**
 * For an algorithm with DSGD_OWN_BATCHES. Returns the index of this step's mini-batch among those
 * of this worker, and stores their number in *n unless @p n is NULL. Each epoch uses every
 * mini-batch once, in a random order. If the run does not train a model, the index is 0 and the
 * number is 1.
 */
int64_t dsgd_own_batch(dsgd_node *self, int64_t *n);

/**
 * Returns true in the step in which a worker rejoins after a failure, for an algorithm with
 * DSGD_REJOINS, or with DSGD_QUORUM under `failures: policy: quorum`. The vectors of the worker are
 * then as if it had computed nothing during the failure. Set state to 0 that is not the same at all
 * workers.
 */
bool dsgd_has_joined(dsgd_node *self);

/** Returns the virtual seconds since the run began, like MPI_Wtime(). */
double dsgd_time_s(dsgd_node *self);

/**
 * Marks x as depending on g: a piece of x becomes ready when the same piece of g does. Use it when
 * x is computed from g.
 */
void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/** Returns the optimizer's learning rate in this step; at a server, in its next local step. */
double dsgd_learning_rate(dsgd_node *self);

/**
 * Computes x <- x + U(g, x, t), where U is the worker's optimizer and t its step. Returns at once.
 * Each piece of x is updated when the same piece of g is ready, from the value that x has at that
 * time. A server has its own optimizer; its t is the number of its local steps.
 */
void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* --- linear combinations ---------------------------------------------------------------------- */

/*
 * These verbs return at once. If x or y depends on the gradient that is being computed, each piece
 * of y changes when the pieces of both vectors are ready. An x that is ready is used with its value
 * at the call.
 */

/** Computes y <- x. */
void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/**
 * Computes y <- a y + b x, like axpby of BLAS. If y is a model, this counts as an update for
 * `gradient_staleness`.
 */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** Computes x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- elements --------------------------------------------------------------------------------- */

/* These verbs act element by element and, like linear combinations, return at once. If a result is
 * infinite or not a number, the run diverges. */

/** Computes y <- y where x is not 0, and y <- 0 elsewhere. */
void dsgd_mask(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/* --- encodings -------------------------------------------------------------------------------- */

/* Gradient compression. `dsgd list encodings` prints the compressors. An exchange of a compressed
 * vector q sends the compressed bytes. An allreduce of q adds exactly the values that were sent, by
 * an allgather and a local sum. The exception is an encoding whose `reduce` compresses the sum
 * again (dsgd_encoding_sums_again()). The result of a verb on q is sent uncompressed, except for a
 * copy of q. Like linear combinations, these verbs return at once; an exchange waits until the
 * worker has compressed the vector. */

/**
 * Computes q <- Q(x), where Q is the compressor. With the option `feedback` (error feedback), it
 * computes q <- Q(x + e) and e <- x + e - q. The engine keeps e for x; it begins with zeros. q and
 * x may be the same vector.
 */
void dsgd_encode(dsgd_node *self, dsgd_vector *q, dsgd_vector *x, const dsgd_spec *encoding);

/** The operations of dsgd_low_rank(). */
typedef enum dsgd_factor_step {
    DSGD_FACTOR_DRAW, /* y <- a random factor, the same at all workers */
    DSGD_FACTOR_ORTHOGONALISE, /* columns of the factor y <- an orthonormal basis of their span */
    DSGD_FACTOR_PROJECT, /* y <- A y, or y <- A^T y if transposed; A is the matrix x */
    DSGD_FACTOR_EXPAND /* y <- x y^T, or y <- y x^T if transposed; a matrix from the factor x */
} dsgd_factor_step;

/**
 * Computes one step of a low-rank approximation, as PowerSGD does (T. Vogels, S. P. Karimireddy,
 * M. Jaggi, NeurIPS 2019). Each piece is taken as a matrix A that is as close to a square as
 * possible. A factor has @p rank columns and as many rows as A has rows, or as A has columns if @p
 * transposed. If factors would not be smaller than the piece, the factor is the piece itself, and
 * this verb does nothing. @p x is NULL for DRAW and ORTHOGONALISE.
 */
void dsgd_low_rank(dsgd_node *self, dsgd_factor_step step, dsgd_vector *y, dsgd_vector *x,
                   int64_t rank, bool transposed);

/* --- draws ------------------------------------------------------------------------------------ */

/**
 * Returns a random integer in [0, n). It depends only on the seed, the worker, the step, and the
 * number of earlier calls in this step.
 */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

DSGD_END_C
