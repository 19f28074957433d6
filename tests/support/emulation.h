/**
 * @file emulation.h
 * Emulations of the algorithms, event by event, for workers that are late. Like the oracle
 * (tests/support/oracle.h), the emulations follow the pseudo-code of the papers and the released
 * code, compute in double, and share no code with the simulator. Unlike in the oracle, every worker
 * has its own time for every step.
 *
 * The network is ideal. Messages take no time. If an algorithm exchanges in an endless loop,
 * however, each message takes a constant time, independent of other messages. Events of one instant
 * happen in the order in which they were caused. A test must choose step times such that no two
 * workers arrive at the same time by accident.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * The problem that an emulation solves, with P workers and n parameters, and the lengths of the
 * steps. The gradient of a step is taken at the model at the start of the step. Piece k of K
 * contains parameters [n k / K, n (k + 1) / K). The piece is ready b (1 - (k + 1) / K) before the
 * end of the step, where b is the time of the backward pass. Delays of a step do not stretch b.
 *
 * Unless a function's comment states otherwise, the local step of a piece happens as soon as its
 * gradient is ready. The local step computes
 *
 *     v <- momentum v + g + weight_decay x, and then x <- x - lr v.
 *
 * The exchange of a piece starts when the exchange of the previous piece has ended. A step ends
 * with its last piece.
 */
typedef struct emulation_problem {
    int workers;
    size_t n, pieces;
    long steps; /* number of steps of each worker, or 0 if the run ends at until_s */
    double until_s; /* time at which the run ends, or 0 if the number of steps ends the run */
    double lr, momentum, weight_decay;
    void (*gradient)(void *argument, int worker, long step, const double *x, double *g);
    void *argument;
    const double *initial; /* initial model of every worker, [n] values */
    /* times of the steps, [rows][workers]; step t takes the times in row t mod rows */
    const double *seconds;
    long rows;
    /*
     * time of the backward pass; if a step is shorter than this time, the whole step is the
     * backward pass
     */
    double backward_s;
} emulation_problem;

/**
 * Mean and maximum of a lag. Each use of each chunk is one observation. The number of observations
 * is n, and their mean is sum / n.
 */
typedef struct emulation_lag {
    double n, sum, max;
} emulation_lag;

/**
 * The results of an emulation. The counts are exact: integers that depend only on the order of
 * events.
 */
typedef struct emulation_result {
    double *x; /* final models of the workers, in the caller's array [workers][n] */
    /*
     * model of the server, [n] values; it contains the initial model before the run and the final
     * model after the run
     */
    double *center;
    double end_s; /* time at which the last step ends */
    /**
     * For each gradient of AD-PSGD, the number of averagings of its worker's model between the
     * start of the gradient and its update.
     */
    emulation_lag gradient_averagings;
    /**
     * Lag of each contribution to a version t (WAGMA-SGD, eager-SGD): t minus the step in which the
     * contribution was made. A contribution in time has lag 0. The initial content of a send buffer
     * was made in step -1, or in step 0 with option cta. The average that a synchronisation leaves
     * in the buffer was made in the synchronising step. A sum of gradients is as old as its oldest
     * gradient. An empty send buffer has no lag.
     */
    emulation_lag contribution_versions;
    /**
     * For each use of a sum, the mean of contribution_versions over all contributions to the sum.
     * The use of a synchronisation counts as 0.
     */
    emulation_lag use_versions;
    /**
     * Number of versions whose sum a worker never used, and number of repeated uses of the same
     * sum. Both counts cover all pieces.
     */
    double missed, repeated;
    /**
     * For each push to a server, the number of pushes of the same piece by other workers since this
     * worker's last fetch.
     */
    emulation_lag push_versions;
    /*
     * number of contributions that were in time, and number of versions; both numbers are over all
     * pieces
     */
    double fresh, versions;
    double averagings; /* number of averagings of two models */
} emulation_result;

/**
 * Emulates local SGD. The models are averaged after each step t with (t + 1) mod period = 0. A
 * piece is averaged when all workers have completed it.
 * @param cta if true, the local step of such a step t comes after the averaging
 */
void emulation_local_sgd(const emulation_problem *p, long period, bool cta, emulation_result *r);

/**
 * Emulates D-PSGD. In every step, a worker mixes a piece with the neighbours' pieces of the same
 * step, as soon as all neighbours have reached the piece. With several pieces, a delay therefore
 * travels several hops in a step.
 * @param weight returns the weight that worker i gives to j's model in a step. If the weight is 0,
 * worker j does not send to worker i.
 * @param atc if true, a worker mixes after the local step. If false, it mixes before the local
 * step, when the gradient is ready.
 */
void emulation_gossip(const emulation_problem *p,
                      double (*weight)(const emulation_problem *p, int i, int j, long step),
                      bool atc, emulation_result *r);

/** Options of WAGMA-SGD. The numbers of workers P and of a group S are powers of two. */
typedef struct emulation_wagma_options {
    int group; /* number of workers in a group, S */
    /*
     * number of steps between two averages of all models, tau: step t averages them if (t + 1) mod
     * tau = 0
     */
    long period;
    /*
     * if true, a worker averages the old model first, and then makes the local step with its
     * gradient
     */
    bool cta;
    /*
     * if true, only late workers take (sum + own model) / (S + 1); if false, every worker takes
     * this mean
     */
    bool late_check;
    /* if true, the groups change with each step; if false, the groups of step 0 remain */
    bool rotates;
} emulation_wagma_options;
void emulation_wagma(const emulation_problem *p, emulation_wagma_options options,
                     emulation_result *r);

/** Options of eager-SGD. */
typedef struct emulation_eager_options {
    /**
     * Returns the rank of the worker that starts the sum of version t. If the function is NULL, the
     * first worker that arrives starts the sum (solo).
     */
    int (*initiator)(const emulation_problem *p, long version);
    /* if true, a late gradient is dropped; if false, it is added to the worker's next gradient */
    bool discards;
    /*
     * all workers wait for each other in steps t with (t + 1) mod (limiter + 1) = 0, or never if
     * limiter is 0
     */
    long limiter;
    /*
     * models are averaged after each step t with (t + 1) mod period = 0; if period is 0, they are
     * never averaged
     */
    long period;
} emulation_eager_options;
void emulation_eager(const emulation_problem *p, emulation_eager_options options,
                     emulation_result *r);

/**
 * Emulates DaSGD, for delays 0 <= d <= tau, where tau is the period of the averages. A worker keeps
 * share xi of its own model when it mixes it with the average.
 */
void emulation_dasgd(const emulation_problem *p, long tau, long d, double xi, emulation_result *r);

/**
 * Emulates EASGD with a server. Workers visit the server at the start of each step t with t mod
 * period = 0. The elastic force changes the workers' models after the local step.
 */
void emulation_easgd(const emulation_problem *p, double alpha, long period, emulation_result *r);

/**
 * Emulates A-PSGD (period 1) and Downpour SGD. The exchanges happen after each step t with (t + 1)
 * mod period = 0. As soon as a piece is ready, its change since the last push is added to the
 * server's piece. The worker then takes the server's piece.
 */
void emulation_downpour(const emulation_problem *p, long period, emulation_result *r);

/** Variants of AD-PSGD. Odd ranks are active and send requests to even ranks, which are passive. */
typedef enum emulation_pairing {
    /**
     * The algorithm of the paper. During each gradient, an active worker averages per_gradient
     * times. A step must be longer than these averagings.
     */
    EMULATION_PAPER,
    /**
     * The algorithm of the code of SGP. A gossip process of each worker owns the model. The process
     * of an active worker repeats a loop. It applies the gradient that was handed over, if there is
     * one, and sends the model. It then waits for the reply, and averages. The process of a passive
     * worker waits for the model of its scheduled peer, and applies gradients in the meantime. The
     * training process hands over a gradient after the previous gradient has been applied. It then
     * continues with a model that does not contain the new gradient. The final models are the
     * models of the gossip processes.
     */
    EMULATION_GOSSIP_PROCESS,
    /**
     * The algorithm of the code of WAGMA-SGD. A thread averages a shared copy c with one peer after
     * another. When a piece of the gradient is ready, both the model x and c become (x + c) / 2.
     * Then x takes its local step.
     */
    EMULATION_SHARED_COPY
} emulation_pairing;

typedef struct emulation_pair_options {
    emulation_pairing pairing;
    /** Returns the rank of the passive peer for the nth averaging (from 0) of an active worker. */
    int (*peer)(const emulation_problem *p, int worker, long nth);
    double message_s; /* time of a message in seconds; an averaging takes two messages */
    long per_gradient; /* number of averagings during each gradient (only for EMULATION_PAPER) */
} emulation_pair_options;
void emulation_ad_psgd(const emulation_problem *p, emulation_pair_options options,
                       emulation_result *r);

/**
 * Returns a peer from the bipartite exponential list of the released codes of SGP and WAGMA-SGD.
 * The distances are 1 and 1 + 2^m, m = 1 .. floor(log2(P - 1)) inclusive. The list contains each
 * distance first forward, then backward.
 */
int emulation_exponential_peer(const emulation_problem *p, int worker, long nth);

/* --- DropCompute ------------------------------------------------------------------------------ */

/**
 * The part of a step that remains if micro-batches after a threshold are dropped. This struct
 * contains the number of remaining micro-batches and their time.
 */
typedef struct emulation_cut {
    int done;
    /* computation time in seconds, which includes the forward pass of a dropped micro-batch */
    double compute_s;
} emulation_cut;
emulation_cut emulation_cut_step(double step_s, int micro_batches, double backward_share,
                                 double threshold_s);

/**
 * A table of measured step times (the calibration), and the parameters for the choice of the
 * threshold.
 */
typedef struct emulation_calibration {
    const double *seconds; /* computation time of each worker in each step, [steps][workers] */
    long steps;
    int workers, micro_batches;
    double backward_share;
    double overhead_s; /* measured step time minus the computation time of the slowest worker */
    /*
     * number (from 1) of the micro-batch whose earliest end is the lowest candidate for the
     * threshold
     */
    int first;
} emulation_calibration;

/**
 * Returns the threshold with the largest gain, or the lowest such threshold. The 200 candidates are
 * spaced evenly from the earliest end of micro-batch `first` to the latest end of a step. Returns
 * INFINITY if no candidate gains time. In that case the released code takes the latest end, which
 * drops no part of the calibration steps.
 */
double emulation_threshold(const emulation_calibration *c);
