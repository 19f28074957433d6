/**
 * @file arrivals.h
 * Emulations, in double and sharing no code with the simulator, of algorithms in which each worker
 * goes at its own pace and what happens depends on who is ready first: at a server, or, in
 * DSGD-AAU, among neighbours. Written from the papers' rules.
 *
 * Messages take no time. Of workers that are ready in one instant the lowest rank comes first. The
 * problem is one of tests/support/emulation.h with one piece; of a worker's computations, the
 * n-th has the n-th row of seconds; the gradient is that of the first step that it has not
 * finished. After its last step a worker may still fetch once. The server's step is v <- momentum v
 * + g + weight_decay W; W <- W - lr v.
 */
#pragma once

#include "tests/support/emulation.h"

/** What came out. */
typedef struct arrivals_result {
    double *x; /* the caller's [workers][n], final models of workers; may be NULL */
    double *center; /* the caller's [n], the server's final model; may be NULL */
    double end_s; /* of the last computation that ended by itself */
    double updates; /* of the server; of DSGD-AAU, virtual iterations */
    double epochs; /* of DSGD-AAU */
    double dropped; /* gradients that came too late */
    double cancelled, lost_s; /* computations, and what was spent on them */
    double waited_s; /* of workers that were ready, until they went on */
    emulation_lag delay; /* versions of the server's model between fetch and use */
} arrivals_result;

/**
 * Stale synchronous parallel: a worker that has finished c steps begins the next if nobody has
 * finished fewer than c - slack. It makes a local step (its momentum is its own) and adds the
 * change to the server's model. @param slack negative: no bound
 */
void arrivals_ssp(const emulation_problem *p, long slack, arrivals_result *r);

/**
 * Synchronous SGD with backup workers: the server takes the mean of the first P - backups gradients
 * of its step's number; one of an older step is dropped. A worker fetches when the server's number
 * is above that of its last gradient, at once if it was late. @param queues it releases P tokens of
 * the next number instead: a worker takes the oldest token after it has pushed, or waits for one,
 * and fetches; its next gradient has the token's number.
 */
void arrivals_backup_workers(const emulation_problem *p, int backups, bool queues,
                             arrivals_result *r);

/** Rennala: the mean of `batch` gradients at one model, then all begin anew. */
void arrivals_rennala(const emulation_problem *p, long batch, arrivals_result *r);

/**
 * Ringmaster: every gradient makes a step. Who has missed `delay` of them begins anew. @param delay
 * 0: no bound. @param cancels false: it finishes, and its gradient is ignored
 */
void arrivals_ringmaster(const emulation_problem *p, long delay, bool cancels, arrivals_result *r);

/** Asynchronous local SGD with Delayed Nesterov at the server. */
typedef struct arrivals_local_options {
    const long *local_steps; /* [workers]: H_i */
    long period; /* N */
    double outer_lr, outer_momentum; /* beta */
    double c; /* of the momentum in each of the N arrivals */
    /* Who arrives within so much of the round of the first one goes on with it, from one model; all
     * that there are do not wait longer. 0: each goes on at once */
    double grace;
} arrivals_local_options;
void arrivals_local_sgd(const emulation_problem *p, arrivals_local_options options,
                        arrivals_result *r);

/** DyLU: max(1, ceil(H v / v_max)). */
long arrivals_local_steps(long period, double speed, double fastest);

/**
 * DSGD-AAU. A worker waits after its local step. When two finished neighbours have an edge between
 * vertices that the epoch's edges do not connect, all finished workers that have a finished
 * neighbour mix, by Metropolis weights over the edges between finished ones, and go on. An epoch
 * ends when its edges connect all.
 */
void arrivals_dsgd_aau(const emulation_problem *p,
                       bool (*edge)(const emulation_problem *p, int i, int j), arrivals_result *r);
