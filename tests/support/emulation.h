/**
 * @file emulation.h
 * Emulations of the algorithms, event by event, for workers that are late. Like the oracle
 * (tests/support/oracle.h), they are written from the pseudo-code of the papers and from the
 * released code, compute in double, and share no code with the simulator. Unlike in the oracle,
 * every worker has its own time for every step.
 *
 * The network is ideal. Messages take no time. If an algorithm exchanges in an endless loop, each
 * message takes a constant time, independent of other messages. Events of one instant happen in the
 * order in which they were caused. Choose step times such that no two workers meet by accident.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * P workers, n parameters, and the lengths of the steps. The gradient of a step is taken at the
 * model at the beginning of the step. Piece k of K has parameters [n k / K, n (k + 1) / K). It is
 * ready b (1 - (k + 1) / K) before the end of the step, where b is the time of the backward pass.
 * Delays do not stretch b.
 *
 * Unless a function says otherwise, the local step of a piece happens as soon as its gradient is
 * ready:
 *
 *     v <- momentum v + g + weight_decay x;  x <- x - lr v.
 *
 * The exchange of a piece starts when the exchange of the previous piece has ended. A step ends
 * with its last piece.
 */
typedef struct emulation_problem {
    int workers;
    size_t n, pieces;
    long steps; /* steps of each worker; if 0, until_s ends the run */
    double until_s; /* end of the run; if 0, steps end it */
    double lr, momentum, weight_decay;
    void (*gradient)(void *argument, int worker, long step, const double *x, double *g);
    void *argument;
    const double *initial; /* [n]: initial model of every worker */
    const double *seconds; /* [rows][workers]; step t has row t mod rows */
    long rows;
    double backward_s; /* upper limit; a shorter step is all backward pass */
} emulation_problem;

/** Mean and maximum of a lag. Each use of each piece is one observation. */
typedef struct emulation_lag {
    double n, sum, max;
} emulation_lag;

/**
 * The results of an emulation. The counts have closed forms: integers that depend only on the order
 * of events.
 */
typedef struct emulation_result {
    double *x; /* final models, in the caller's [workers][n] */
    double *center; /* [n]; input: the server's initial model; output: its final model */
    double end_s; /* end of the last step */
    /**
     * For each gradient (AD-PSGD): the number of averagings of its worker's model between the
     * snapshot for the gradient and its update.
     */
    emulation_lag gradient_averagings;
    /**
     * For each contribution to a version t (WAGMA, eager-SGD): t minus the step in which the
     * contribution was made. A contribution in time has lag 0. The initial content of a send buffer
     * was made in step -1; with cta, step 0 publishes it. The average that a synchronisation leaves
     * in the buffer was made in the synchronising step. A sum of gradients is as old as its oldest
     * gradient. Null gradients have no lag.
     */
    emulation_lag contribution_versions;
    /**
     * For each use of a sum: the mean of these lags over its contributions. For a synchronisation:
     * 0.
     */
    emulation_lag use_versions;
    /** Versions whose sum a worker never used, and second uses of a sum; both over all pieces. */
    double missed, repeated;
    /**
     * For each push to a server: the pushes of the piece by other workers since this worker fetched
     * it.
     */
    emulation_lag push_versions;
    double fresh, versions; /* contributions in time, and sums; over all pieces */
    double averagings; /* number of pairs that have averaged */
} emulation_result;

/**
 * Emulates local SGD. The models are averaged after each step t with (t + 1) mod period = 0. A
 * piece is averaged when all workers have it.
 */
void emulation_local_sgd(const emulation_problem *p, long period, bool cta, emulation_result *r);

/**
 * Emulates D-PSGD. In every step a piece is mixed with the neighbours' pieces of the same step,
 * when all neighbours have reached it. With several pieces, a delay therefore travels several hops
 * in a step.
 * @param weight returns the weight that i gives to j's model in a step; if 0, j does not send to i
 * @param atc if true, a worker mixes after the local step; else before it, when the gradient is
 * ready
 */
void emulation_gossip(const emulation_problem *p,
                      double (*weight)(const emulation_problem *p, int i, int j, long step),
                      bool atc, emulation_result *r);

/** Options of WAGMA-SGD. P and the group size are powers of two. */
typedef struct emulation_wagma_options {
    int group; /* group size S */
    long period; /* tau: all models are averaged in steps t with (t + 1) mod tau = 0 */
    bool cta; /* averages a piece of the old model when its gradient is ready, then updates it */
    bool late_check; /* if false, every worker takes (sum + own) / (S + 1) */
    bool rotates; /* if false, the groups of step 0 remain */
} emulation_wagma_options;
void emulation_wagma(const emulation_problem *p, emulation_wagma_options options,
                     emulation_result *r);

/** Options of eager-SGD. */
typedef struct emulation_eager_options {
    /**
     * Returns the worker that starts version t. If NULL, the first worker that arrives starts it
     * (solo).
     */
    int (*initiator)(const emulation_problem *p, long version);
    bool discards; /* drops a late gradient; if false, it is added to the next */
    long limiter; /* steps t with (t + 1) mod (limiter + 1) = 0 wait for all; 0: no such steps */
    long period; /* averages models after steps t with (t + 1) mod period = 0; 0: never */
} emulation_eager_options;
void emulation_eager(const emulation_problem *p, emulation_eager_options options,
                     emulation_result *r);

/** Emulates DaSGD, for 0 <= d <= tau. */
void emulation_dasgd(const emulation_problem *p, long tau, long d, double xi, emulation_result *r);

/**
 * Emulates EASGD with a server. Workers visit it at the beginning of each step t with t mod period
 * = 0. The elastic force changes their models after the local step.
 */
void emulation_easgd(const emulation_problem *p, double alpha, long period, emulation_result *r);

/**
 * Emulates A-PSGD (period 1) and Downpour. After each step t with (t + 1) mod period = 0, the
 * change of a piece since the last push is added to the server's piece as soon as it is ready. The
 * worker then takes the server's piece.
 */
void emulation_downpour(const emulation_problem *p, long period, emulation_result *r);

/** Variants of AD-PSGD. Odd ranks are active: they send requests to even ranks. */
typedef enum emulation_pairing {
    /**
     * The algorithm of the paper. During each gradient, after the snapshot, an active worker
     * averages per_gradient times. A step must be longer than these averagings.
     */
    EMULATION_PAPER,
    /**
     * The algorithm of the code of SGP. Another process owns the model. The process of an active
     * worker repeats a loop: apply the gradient that was handed over, if there is a gradient; send
     * the model; wait for the reply; average. The process of a passive worker waits for the model
     * of its scheduled peer, and applies gradients in the meantime. The training process hands over
     * a gradient after the previous gradient has been applied. It then continues with a model that
     * does not contain the new gradient. The final models are the models of these processes.
     */
    EMULATION_GOSSIP_PROCESS,
    /**
     * The algorithm of the code of WAGMA. A thread averages a shared copy c with one peer after
     * another. When a piece of the gradient is ready, x, c <- (x + c) / 2, and then x takes its
     * local step.
     */
    EMULATION_SHARED_COPY
} emulation_pairing;

typedef struct emulation_pair_options {
    emulation_pairing pairing;
    /** Returns the passive peer of the nth averaging of an active worker, counted from 0. */
    int (*peer)(const emulation_problem *p, int worker, long nth);
    double message_s; /* time of a message; an averaging takes two messages */
    long per_gradient; /* number of averagings (only in the paper's variant) */
} emulation_pair_options;
void emulation_ad_psgd(const emulation_problem *p, emulation_pair_options options,
                       emulation_result *r);

/**
 * Returns a peer from the bipartite exponential list of both released codes. The distances are 1
 * and 1 + 2^m, m = 1 .. floor(log2(P - 1)) inclusive. Each distance comes forward first, then
 * backward.
 */
int emulation_exponential_peer(const emulation_problem *p, int worker, long nth);

/* --- DropCompute ------------------------------------------------------------------------------ */

/** The part of a step of M equal micro-batches that a threshold leaves. */
typedef struct emulation_cut {
    int done;
    double compute_s; /* includes a forward pass that is dropped */
} emulation_cut;
emulation_cut emulation_cut_step(double step_s, int micro_batches, double backward_share,
                                 double threshold_s);

/** The table of the calibration, and the parameters for the choice of the threshold. */
typedef struct emulation_calibration {
    const double *seconds; /* [steps][workers]: computation time */
    long steps;
    int workers, micro_batches;
    double backward_share;
    double overhead_s; /* measured time of a step minus the computation of the slowest worker */
    int first; /* number, from 1, of the micro-batch whose earliest end is the first candidate */
} emulation_calibration;

/**
 * Returns the first of the best of 200 candidates, spaced evenly from the earliest end to the
 * latest end. Returns INFINITY if no candidate gains time. In that case the released code takes the
 * latest end, which drops no part of the calibration steps.
 */
double emulation_threshold(const emulation_calibration *c);
