/**
 * @file arrivals.h
 * Emulations of algorithms in which each worker runs at its own pace. The result depends on the
 * order in which workers become ready, at a server or (in DSGD-AAU) among neighbours. The
 * emulations follow the rules in the papers, compute in double, and share no code with the
 * simulator.
 *
 * Messages take no time. If several workers are ready at the same instant, the lowest rank comes
 * first. The problem is an emulation_problem of tests/support/emulation.h with one piece. The n-th
 * computation of a worker takes the time in row n of `seconds`. This computation gives the gradient
 * of the first step that the worker has not finished. After its last step, a worker may still fetch
 * once. A step of the server computes v <- momentum v + g + weight_decay W, and then W <- W - lr v.
 */
#pragma once

#include "tests/support/emulation.h"

/** The results of an emulation: models, times and counts. */
typedef struct arrivals_result {
    /*
     * final models of the workers, in the caller's array [workers][n]; NULL if the caller does not
     * need the models
     */
    double *x;
    /*
     * final model of the server, in the caller's array [n]; NULL if the caller does not need the
     * model
     */
    double *center;
    double end_s; /* end time of the last computation that was not cancelled */
    /* number of updates of the server, or, in DSGD-AAU, number of virtual iterations */
    double updates;
    double epochs; /* number of completed epochs (only DSGD-AAU) */
    double dropped; /* number of gradients that the server dropped because they came too late */
    /* number of cancelled computations, and the seconds of computation that they lost */
    double cancelled, lost_s;
    double waited_s; /* total time that ready workers waited before they continued */
    /*
     * number of versions of the server's model between a worker's fetch and the use of its gradient
     */
    emulation_lag delay;
} arrivals_result;

/**
 * Emulates stale synchronous parallel. A worker that has finished c steps starts the next step if
 * every worker has finished at least c - slack steps. The worker makes a local step with its own
 * momentum, and adds the change to the server's model.
 * @param slack largest lead of a worker in steps, or a negative number if the lead has no bound
 */
void arrivals_ssp(const emulation_problem *p, long slack, arrivals_result *r);

/**
 * Emulates synchronous SGD with backup workers. The server takes the mean of the first P - backups
 * gradients of its current step number, and drops gradients of older steps. A worker fetches the
 * model when the server's step number exceeds the number of the worker's last gradient. A worker
 * that was late therefore fetches at once.
 * @param queues if true, the server instead releases P tokens for the next step number. After a
 * push, a worker takes the oldest token, or waits for a token, and then fetches the model. The
 * token sets the step number of the worker's next gradient.
 */
void arrivals_backup_workers(const emulation_problem *p, int backups, bool queues,
                             arrivals_result *r);

/**
 * Emulates Rennala SGD. The server takes the mean of `batch` gradients at the same model. All
 * workers then start their next gradients at the new model.
 */
void arrivals_rennala(const emulation_problem *p, long batch, arrivals_result *r);

/**
 * Emulates Ringmaster. Every gradient makes a step of the server. A worker that has missed `delay`
 * of these steps starts again.
 * @param delay number of missed steps at which a worker starts again, or 0 if there is no bound
 * @param cancels if false, a late worker finishes its computation, and the server ignores its
 * gradient
 */
void arrivals_ringmaster(const emulation_problem *p, long delay, bool cancels, arrivals_result *r);

/** Options of asynchronous local SGD with Delayed Nesterov at the server. */
typedef struct arrivals_local_options {
    /* number of local steps in a round of each worker i, H_i; an array with [workers] entries */
    const long *local_steps;
    long period; /* number of arrivals from one momentum update to the next, N */
    double outer_lr, outer_momentum; /* learning rate and momentum (beta) of the outer optimizer */
    double c; /* share of the momentum that each of the N arrivals applies */
    /*
     * Length of the grace period, as a fraction of the round of the first worker that arrives.
     * Workers that arrive within the period continue together, from one model. The period ends
     * early if all workers have arrived. If grace is 0, each worker continues at once.
     */
    double grace;
} arrivals_local_options;
void arrivals_local_sgd(const emulation_problem *p, arrivals_local_options options,
                        arrivals_result *r);

/** Returns the number of local steps of a worker by the DyLU rule: max(1, ceil(H v / v_max)). */
long arrivals_local_steps(long period, double speed, double fastest);

/**
 * Emulates DSGD-AAU. A worker waits after its local step. The edges used so far in an epoch form a
 * graph. Workers mix when two waiting neighbours have an edge between two unconnected parts of this
 * graph. All waiting workers that have a waiting neighbour then mix, with Metropolis weights over
 * the edges between waiting workers, and continue. An epoch ends when its edges connect all
 * workers.
 */
void arrivals_dsgd_aau(const emulation_problem *p,
                       bool (*edge)(const emulation_problem *p, int i, int j), arrivals_result *r);
