/**
 * @file steps.h
 * Verbs of one worker: steps, gradients, and arithmetic with vectors. In the comments, x, y and g
 * are vectors as long as the model (or views of such vectors), and a and b are numbers.
 */
#pragma once

#include "sim/contract.h"

DSGD_BEGIN_C

/* --- steps and gradients ---------------------------------------------------------------------- */

/**
 * Waits until this step's computation is finished, and then starts the next step. Returns false
 * when the run is over and work() must return. Other workers may still be in their last steps; some
 * conformance tests ensure that they are. If a worker waits for a worker that has returned, it
 * waits for ever. So if a server makes workers wait for each other, the workers that return must
 * inform the server.
 */
bool dsgd_next_step(dsgd_node *self);

/**
 * Returns the model x_i of this worker or server. All models start with the same values.
 * Evaluations may read the model at any instant, even while a verb waits. So store values that are
 * not a model, such as a sum or a share during gossip, in another vector. The laws of the
 * conformance suite compare the models of workers.
 */
dsgd_vector *dsgd_model(dsgd_node *self);

/** Returns a new vector of zeros. The engine frees it at the end of the run. */
dsgd_vector *dsgd_vector_new(dsgd_node *self);

/**
 * Returns the number of chunks of x. Every vector is exchanged chunk by chunk. In code and in
 * options, a chunk is called a piece (`exchange: pieces`); in PyTorch DDP, it is called a bucket.
 */
size_t dsgd_pieces(dsgd_node *self, const dsgd_vector *x);

/**
 * Returns a view of x that contains the chunks first, first + stride, ..., which are less than @p
 * end; @p end is at most dsgd_pieces(). A view shares its chunks with x, and making it takes no
 * time. All vectors in one call of a verb must be views of the same chunks. All verbs accept views,
 * except dsgd_gradient(), dsgd_partial_sum() and dsgd_partial_mix().
 */
dsgd_vector *dsgd_slice(dsgd_node *self, dsgd_vector *x, size_t first, size_t end, size_t stride);

/**
 * Returns zeroed memory for @p n objects of @p size bytes each, in which the algorithm can store
 * its own state. The engine frees the memory at the end of the run.
 */
void *dsgd_memory_new(dsgd_node *self, size_t n, size_t size);

/**
 * Returns a second vector of this worker, which work() and assist() share. Its first values are the
 * values of the model.
 */
dsgd_vector *dsgd_shared(dsgd_node *self);

/**
 * Locks or unlocks a mutex that work() and assist() of one worker share. Actors get the mutex in
 * the order in which they ask for it.
 */
void dsgd_lock(dsgd_node *self);
void dsgd_unlock(dsgd_node *self);

/**
 * Waits until this worker has made @p local_steps local steps. Use it in a loop of assist() that
 * starts exchanges. Two calls return at least a microsecond apart, so that virtual time advances
 * even if messages take no time. Returns false when work() of every worker has returned.
 */
bool dsgd_next_turn(dsgd_node *self, int64_t local_steps);

/**
 * Computes g <- gradient at x over this step's mini-batch. Returns at once; the chunks of g become
 * ready one after another. A second call in the same step uses the same mini-batch, and takes the
 * computation time of a step again.
 */
void dsgd_gradient(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Computes a gradient like dsgd_gradient(), but splits the mini-batch into @p n_micro_batches equal
 * micro-batches. No forward or backward pass starts later than @p limit_s seconds after the start
 * of the computation on its host; INFINITY means no limit. A micro-batch that is not computed
 * counts as zeros in g. Returns the number of micro-batches that are computed.
 */
int dsgd_gradient_until(dsgd_node *self, dsgd_vector *g, dsgd_vector *x, int n_micro_batches,
                        double limit_s);

/**
 * dsgd_compute_pass() computes a gradient pass by pass. It is for an algorithm that gathers the
 * model unit by unit, as FSDP does. First call it for each forward pass, with @p g NULL, from the
 * last unit of x to the first. Then call it for each backward pass, from the first unit to the
 * last; each backward pass ends with its unit of g. Each call waits until the previous pass is
 * over, starts this pass, and returns. All passes together take as long as dsgd_gradient(). g is
 * the gradient at the values that x has at the first backward pass. DSGD_ON_GRADIENT is true
 * between two passes.
 *
 * dsgd_units() returns the number of units. Unit u is one chunk: dsgd_slice(self, x, u, u + 1, 1).
 * If all chunks become ready together (`exchange: overlap: false`), there is one unit, which is the
 * whole vector.
 */
size_t dsgd_units(dsgd_node *self);
void dsgd_compute_pass(dsgd_node *self, dsgd_vector *g, dsgd_vector *x);

/**
 * Discards this step's gradient, which is being computed, or is ready but not used. No update may
 * depend on this gradient. The next dsgd_next_step() returns at once for the same step, with the
 * same mini-batch and another draw of the computation time. The discarded computation counts
 * neither as a step nor as samples; its time is lost. Requires the trait DSGD_CANCELS. Algorithms
 * typically call it after dsgd_wait_any() with DSGD_ON_MESSAGE and DSGD_ON_GRADIENT.
 */
void dsgd_cancel(dsgd_node *self);

/** The result of a step that is computed under a time limit. */
typedef struct dsgd_cut {
    int done; /* number of micro-batches that are computed */
    double compute_s; /* computation time in seconds, including forward passes whose backward pass
                       * is not computed */
} dsgd_cut;

/**
 * Returns the number of micro-batches that dsgd_gradient_until() computes, and their time, if the
 * step would take @p step_s seconds without a limit. Pure.
 */
dsgd_cut dsgd_cut_step(dsgd_node *self, double step_s, int n_micro_batches, double limit_s);

/** Returns the computation time of this step on this worker's host without a limit, in seconds. */
double dsgd_compute_time_s(dsgd_node *self);

/**
 * Returns the index of this step's mini-batch among the mini-batches of this worker. Stores the
 * number of these mini-batches in *n, unless @p n is NULL. Requires the trait DSGD_OWN_BATCHES.
 * Each epoch uses every mini-batch once, in a random order. If the run does not train a model, the
 * index is 0 and the number is 1.
 */
int64_t dsgd_own_batch(dsgd_node *self, int64_t *n);

/**
 * Returns true in the step in which a worker rejoins after a failure. Requires the trait
 * DSGD_REJOINS, or DSGD_QUORUM and `failures: policy: quorum`. The vectors of the worker then have
 * the values that they would have if it had computed nothing during the failure. If this function
 * returns true, set state that differs between workers to 0.
 */
bool dsgd_has_joined(dsgd_node *self);

/** Returns the virtual time since the start of the run, in seconds, like MPI_Wtime(). */
double dsgd_time_s(dsgd_node *self);

/**
 * Makes x depend on g: each chunk of x becomes ready when the same chunk of g becomes ready. Call
 * it if x is computed from g.
 */
void dsgd_follow(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/**
 * Returns the learning rate of the optimizer in this step. For a server, returns the learning rate
 * of its next local step.
 */
double dsgd_learning_rate(dsgd_node *self);

/**
 * Computes x <- x + U(g, x, t), where U is the worker's optimizer and t is the number of the step.
 * Returns at once. Each chunk of x is updated when the same chunk of g is ready, and the update
 * starts from the value of x at that time. A server has its own optimizer; for a server, t is the
 * number of its local steps.
 */
void dsgd_local_step(dsgd_node *self, dsgd_vector *x, dsgd_vector *g);

/* --- linear combinations ---------------------------------------------------------------------- */

/*
 * The verbs for linear combinations return at once. If x or y depends on a gradient that is still
 * being computed, each chunk of y changes when this chunk of both vectors is ready. If x is ready
 * at the call, the verb uses the value that x has at the call.
 */

/** Computes y <- x. */
void dsgd_copy(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/**
 * Computes y <- a y + b x, like axpby of BLAS. If y is a model, the call counts as an update for
 * `gradient_staleness`.
 */
void dsgd_combine(dsgd_node *self, dsgd_vector *y, double a, double b, dsgd_vector *x);

/** Computes x <- x / divisor. */
void dsgd_divide(dsgd_node *self, dsgd_vector *x, double divisor);

/* --- operations on elements ------------------------------------------------------------------- */

/*
 * The following verbs act element by element. They return at once, like linear combinations. If a
 * result is infinite or not a number, the run diverges.
 */

/** Sets y to 0 where x is 0, and does not change y elsewhere. */
void dsgd_mask(dsgd_node *self, dsgd_vector *y, dsgd_vector *x);

/* --- gradient compression --------------------------------------------------------------------- */

/*
 * The following verbs are for gradient compression. `dsgd list encodings` prints the compressors.
 * An exchange of a compressed vector q sends the compressed bytes. An allreduce of q adds exactly
 * the values that were sent, by an allgather and a local sum. The exception is an encoding whose
 * `reduce` compresses the sum again (dsgd_encoding_sums_again()). If a verb computes a vector from
 * q, an exchange of the result sends it uncompressed, unless the result is a copy of q. These verbs
 * return at once, like linear combinations; an exchange waits until the worker has compressed the
 * vector.
 */

/**
 * Computes q <- Q(x), where Q is the compressor. With the option `feedback` (error feedback), it
 * computes q <- Q(x + e) and then e <- x + e - q. The engine keeps one e for each x; e is 0 at
 * first. q and x may be the same vector.
 */
void dsgd_encode(dsgd_node *self, dsgd_vector *q, dsgd_vector *x, const dsgd_spec *encoding);

/** The operations of dsgd_low_rank(). x, y and transposed are its parameters. */
typedef enum dsgd_factor_step {
    DSGD_FACTOR_DRAW, /* y <- a random factor, which is equal at all workers */
    DSGD_FACTOR_ORTHOGONALISE, /* y <- the factor y with its columns replaced by an orthonormal
                                * basis of their span */
    DSGD_FACTOR_PROJECT, /* y <- A y, or y <- A^T y if `transposed` is true; A is the matrix x */
    DSGD_FACTOR_EXPAND /* y <- the matrix x y^T, or y x^T if `transposed` is true; x and y are
                        * factors */
} dsgd_factor_step;

/**
 * Computes one step of a low-rank approximation, as PowerSGD does (T. Vogels, S. P. Karimireddy, M.
 * Jaggi, NeurIPS 2019). Each chunk is treated as a matrix A whose shape is as close to a square as
 * possible. A factor has @p rank columns. It has as many rows as A has rows, or, if @p transposed
 * is true, as A has columns. If factors would not be smaller than the chunk, the factor is the
 * chunk itself, and this verb does nothing. @p x is NULL for DSGD_FACTOR_DRAW and
 * DSGD_FACTOR_ORTHOGONALISE.
 */
void dsgd_low_rank(dsgd_node *self, dsgd_factor_step step, dsgd_vector *y, dsgd_vector *x,
                   int64_t rank, bool transposed);

/* --- random numbers --------------------------------------------------------------------------- */

/**
 * Returns a random integer in [0, n). The integer depends only on the seed, the worker, the step,
 * and the number of earlier calls in this step.
 */
uint64_t dsgd_random_below(dsgd_node *self, uint64_t n);

DSGD_END_C
