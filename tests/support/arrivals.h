/**
 * @file arrivals.h
 * Emulations of algorithms in which each worker runs at its own pace. The result depends on which
 * worker is ready first, at a server or (in DSGD-AAU) among neighbours. They are written from the
 * rules in the papers, compute in double, and share no code with the simulator.
 *
 * Messages take no time. If several workers are ready at the same instant, the lowest rank comes
 * first. The problem is an emulation_problem of tests/support/emulation.h with one piece. The n-th
 * computation of a worker takes the time in row n of `seconds`. Its gradient is the gradient of the
 * first step that the worker has not finished. After its last step a worker may still fetch once. A
 * step of the server is v <- momentum v + g + weight_decay W; W <- W - lr v.
 */
#pragma once

#include "tests/support/emulation.h"

/** The results of an emulation. */
typedef struct arrivals_result {
    double *x; /* final models of the workers, in the caller's [workers][n]; may be NULL */
    double *center; /* final model of the server, in the caller's [n]; may be NULL */
    double end_s; /* end of the last computation that was not cancelled */
    double updates; /* updates of the server; in DSGD-AAU, virtual iterations */
    double epochs; /* number of epochs (DSGD-AAU) */
    double dropped; /* number of gradients that came too late */
    double cancelled, lost_s; /* number of cancelled computations, and their time */
    double waited_s; /* time that ready workers waited before they continued */
    emulation_lag delay; /* versions of the server's model between fetch and use */
} arrivals_result;

/**
 * Emulates stale synchronous parallel. A worker that has finished c steps begins the next step if
 * every worker has finished at least c - slack steps. The worker makes a local step with its own
 * momentum, and adds the change to the server's model.
 * @param slack largest lead in steps; if it is negative, there is no bound
 */
void arrivals_ssp(const emulation_problem *p, long slack, arrivals_result *r);

/**
 * Emulates synchronous SGD with backup workers. The server takes the mean of the first P - backups
 * gradients of its current step number, and drops gradients of older steps. A worker fetches the
 * model when the server's number is above the number of the worker's last gradient. A worker that
 * was late therefore fetches at once.
 * @param queues if true, the server instead releases P tokens of the next number. After a push, a
 * worker takes the oldest token, or waits for a token, and fetches. Its next gradient has the
 * number of the token.
 */
void arrivals_backup_workers(const emulation_problem *p, int backups, bool queues,
                             arrivals_result *r);

/**
 * Emulates Rennala. The server takes the mean of `batch` gradients at one model, and then all
 * workers start again.
 */
void arrivals_rennala(const emulation_problem *p, long batch, arrivals_result *r);

/**
 * Emulates Ringmaster. Every gradient makes a step. A worker that has missed `delay` of these steps
 * starts again.
 * @param delay if it is 0, there is no bound.
 * @param cancels if false, the worker finishes its computation, and the server ignores the gradient
 */
void arrivals_ringmaster(const emulation_problem *p, long delay, bool cancels, arrivals_result *r);

/** Options of asynchronous local SGD with Delayed Nesterov at the server. */
typedef struct arrivals_local_options {
    const long *local_steps; /* [workers]: local steps H_i of a round */
    long period; /* N, the period of the momentum in arrivals */
    double outer_lr, outer_momentum; /* outer momentum: beta */
    double c; /* share of the momentum in each of the N arrivals */
    /*
     * Grace period, as a fraction of the round of the first worker that arrives. Workers that
     * arrive within it continue together, from one model. They do not wait longer if all workers
     * have arrived. If it is 0, each worker continues at once.
     */
    double grace;
} arrivals_local_options;
void arrivals_local_sgd(const emulation_problem *p, arrivals_local_options options,
                        arrivals_result *r);

/** Returns the local steps of a worker by DyLU: max(1, ceil(H v / v_max)). */
long arrivals_local_steps(long period, double speed, double fastest);

/**
 * Emulates DSGD-AAU. A worker waits after its local step. When two finished neighbours have an edge
 * between vertices that the edges of the epoch do not connect, workers mix. All finished workers
 * that have a finished neighbour mix, with Metropolis weights over the edges between finished
 * workers, and continue. An epoch ends when its edges connect all workers.
 */
void arrivals_dsgd_aau(const emulation_problem *p,
                       bool (*edge)(const emulation_problem *p, int i, int j), arrivals_result *r);
