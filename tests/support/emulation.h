/**
 * @file emulation.h
 * The algorithms once more, event by event: for workers that are late. Like the oracle
 * (tests/support/oracle.h) written from the papers' pseudo-code and the released codes, in double,
 * sharing no code with the simulator; unlike it, every worker has its own time for every step.
 *
 * The network is ideal: messages take no time, or, where an algorithm exchanges in an endless loop,
 * a constant time each, whatever else is sent. Events of one instant happen in the order in which
 * they were caused; step times are to be such that no two workers meet by accident.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * P workers, n parameters, steps of given lengths. The gradient of a step is taken at the model as
 * it is when the step begins. Piece k of K has parameters [n k / K, n (k + 1) / K) and is there
 * b (1 - (k + 1) / K) before the end of the step, b its backward pass, which delays do not stretch.
 * A local step, of a piece as soon as its gradient is there unless said otherwise, is
 *     v <- momentum v + g + weight_decay x;  x <- x - lr v.
 * The next piece is exchanged when the one before has been. A step ends with its last piece.
 */
typedef struct emulation_problem {
    int workers;
    size_t n, pieces;
    long steps; /* of each worker; 0: until_s decides */
    double until_s; /* nothing happens after that; 0: steps decide */
    double lr, momentum, weight_decay;
    void (*gradient)(void *argument, int worker, long step, const double *x, double *g);
    void *argument;
    const double *initial; /* [n]: of every worker */
    const double *seconds; /* [rows][workers]; step t has row t mod rows */
    long rows;
    double backward_s; /* at most; a shorter step is all backward */
} emulation_problem;

/** Mean and largest of a lag; one observation per use and piece. */
typedef struct emulation_lag {
    double n, sum, max;
} emulation_lag;

/** What came out. The counts are closed: integers that follow from the order of events alone. */
typedef struct emulation_result {
    double *x; /* the caller's [workers][n]: final models */
    double *center; /* the caller's [n]: in, the server's initial model; out, its final one */
    double end_s; /* the last end of a step */
    /**
     * Of each gradient: averagings of its worker's model after the snapshot that it was taken at
     * and before it is applied (AD-PSGD).
     */
    emulation_lag gradient_averagings;
    /**
     * Of each contribution to a version t (WAGMA, eager-SGD): t minus the step in which what is
     * sampled was made. A send buffer's initial content was made in step -1 (with cta it is
     * what step 0 publishes), the average that a
     * synchronisation leaves in it in the synchronising step; a sum of gradients is as old as its
     * oldest; null gradients have no lag. A contribution in time has 0.
     */
    emulation_lag contribution_versions;
    /** Of each use of a sum: the mean of these lags over its contributions; of a synchronisation:
     * 0. */
    emulation_lag use_versions;
    /** Versions of which a worker never used the sum, and second uses of a sum; of all pieces. */
    double missed, repeated;
    /** Of each push to a server: other workers' pushes of the piece since its worker's fetch. */
    emulation_lag push_versions;
    double fresh, versions; /* contributions in time, and sums; of all pieces */
    double averagings; /* pairs that have averaged */
} emulation_result;

/** models are averaged after steps t with (t + 1) mod period = 0, each piece when all have it. */
void emulation_local_sgd(const emulation_problem *p, long period, bool cta, emulation_result *r);

/**
 * D-PSGD: in every step a piece is mixed with the neighbours' of the same step, when all have come
 * to it, so that in several pieces a delay travels several hops.
 * @param weight the weight that i gives to j's model in a step; 0: j does not send to i
 * @param atc mixes after the local step; else when the gradient is there, and before that
 */
void emulation_gossip(const emulation_problem *p,
                      double (*weight)(const emulation_problem *p, int i, int j, long step),
                      bool atc, emulation_result *r);

/** WAGMA-SGD; P and the group size are powers of two. */
typedef struct emulation_wagma_options {
    int group; /* S */
    long period; /* tau: steps t with (t + 1) mod tau = 0 average all models */
    bool cta; /* a piece of the old model is averaged when its gradient is there, then moved */
    bool late_check; /* else everyone takes (sum + own) / (S + 1) */
    bool rotates; /* else the groups of step 0 remain */
} emulation_wagma_options;
void emulation_wagma(const emulation_problem *p, emulation_wagma_options options,
                     emulation_result *r);

/** eager-SGD. */
typedef struct emulation_eager_options {
    /** Who starts version t; NULL: the first who arrives (solo). */
    int (*initiator)(const emulation_problem *p, long version);
    bool discards; /* a late gradient is dropped, not added to the next */
    long limiter; /* steps t with (t + 1) mod (limiter + 1) = 0 wait for all; 0: none */
    long period; /* after steps t with (t + 1) mod period = 0 models are averaged; 0: never */
} emulation_eager_options;
void emulation_eager(const emulation_problem *p, emulation_eager_options options,
                     emulation_result *r);

/** DaSGD; 0 <= d <= tau. */
void emulation_dasgd(const emulation_problem *p, long tau, long d, double xi, emulation_result *r);

/**
 * EASGD at a server: workers come at the beginnings of steps t with t mod period = 0, and the
 * elastic force acts on them after the local step.
 */
void emulation_easgd(const emulation_problem *p, double alpha, long period, emulation_result *r);

/**
 * A-PSGD (period 1) and Downpour: after steps t with (t + 1) mod period = 0 a piece's change since
 * the last push is added to the server's when it is there, and the server's is taken.
 */
void emulation_downpour(const emulation_problem *p, long period, emulation_result *r);

/** AD-PSGD. Odd ranks are active: they ask even ones. */
typedef enum emulation_pairing {
    /**
     * The paper. Beside each of its gradients, after the snapshot, an active worker averages
     * per_gradient times; a step is to be longer than that.
     */
    EMULATION_PAPER,
    /**
     * SGP's code. Another process owns the model. An active one's loop: apply the gradient that
     * was handed over, if any; send the model; wait for the reply; average. A passive one's awaits
     * the model of its scheduled peer and applies gradients meanwhile. The training hands over a
     * gradient, waiting while the one before has not been applied, and takes the model without it.
     * The final models are the processes'.
     */
    EMULATION_GOSSIP_PROCESS,
    /**
     * WAGMA's code. A thread averages a shared copy c with one peer after the other. When a piece
     * of the gradient is there, x, c <- (x + c) / 2, and then x takes its local step.
     */
    EMULATION_SHARED_COPY
} emulation_pairing;

typedef struct emulation_pair_options {
    emulation_pairing pairing;
    /** The passive peer of an active worker's nth averaging, from 0. */
    int (*peer)(const emulation_problem *p, int worker, long nth);
    double message_s; /* one way; an averaging takes two */
    long per_gradient; /* averagings; of the paper's variant */
} emulation_pair_options;
void emulation_ad_psgd(const emulation_problem *p, emulation_pair_options options,
                       emulation_result *r);

/**
 * The bipartite exponential list of both released codes: distances 1 and 1 + 2^m, m = 1 ..
 * floor(log2(P - 1)) inclusive, each first forward, then backward.
 */
int emulation_exponential_peer(const emulation_problem *p, int worker, long nth);

/* --- DropCompute ------------------------------------------------------------------------------ */

/** What a threshold leaves of a step of M equal micro-batches. */
typedef struct emulation_cut {
    int done;
    double compute_s; /* a forward pass begun in vain included */
} emulation_cut;
emulation_cut emulation_cut_step(double step_s, int micro_batches, double backward_share,
                                 double threshold_s);

/** The calibration's table, and what the threshold is chosen from. */
typedef struct emulation_calibration {
    const double *seconds; /* [steps][workers] of computation */
    long steps;
    int workers, micro_batches;
    double backward_share;
    double overhead_s; /* of a step: its measured time minus the slowest worker's computation */
    int first; /* candidates begin at the earliest end of the micro-batch of this number, from 1 */
} emulation_calibration;

/**
 * The first of the best of 200 candidates, evenly from the earliest end to the latest of all.
 * INFINITY where none gains anything; there the released code takes the latest end, which drops
 * nothing of the steps that it was found from.
 */
double emulation_threshold(const emulation_calibration *c);
