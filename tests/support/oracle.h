/**
 * @file oracle.h
 * The algorithms once more, without a simulator: sequential emulations in double, for the case that
 * nobody is ever late and that messages take no time; where tests/support/emulation.h, with late
 * workers, has an algorithm, it is not here. They are written from the papers' pseudo-code
 * by somebody who had not seen the simulator's, and share no code with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * P workers and n parameters. gradient() gives worker w's gradient at x in its step t (from 0); it
 * is called once per worker and step. A local step is momentum SGD: v <- momentum v + g +
 * weight_decay x; x <- x - lr v. v is local to a worker and never exchanged. x in the weight decay
 * is the model that the step changes, wherever g was taken.
 */
typedef struct oracle_problem {
    int workers;
    size_t n;
    long steps;
    double lr, momentum, weight_decay;
    void (*gradient)(void *argument, int worker, long step, const double *x, double *g);
    void *argument;
    const double *initial; /* [workers][n] */
} oracle_problem;

/* Each leaves the final models in x, [workers][n]. A period that the steps do not fill leaves the
 * models as the last local step did. */

/**
 * models are averaged after steps t with (t + 1) mod period = 0; with period 0, never.
 * @param post_local before this step the period is 1; 0: none
 */
void oracle_local_sgd(const oracle_problem *p, long period, long post_local, double *x);

/**
 * D-PSGD.
 * @param mixing [rounds][P][P]: [i][j] is the weight that i gives to j's model
 * @param rounds_per_step round k of step t mixes by matrix (t * rounds_per_step + k) mod rounds
 * @param atc mixes after the local step; else before it, with the gradient of the model before
 * mixing
 */
void oracle_gossip(const oracle_problem *p, const double *mixing, long rounds, long rounds_per_step,
                   bool atc, double *x);

/**
 * SGP.
 * @param mixing [rounds][P][P], columns add to 1: [i][j] is the share of j's numerator that i
 * receives; step t mixes by t mod rounds
 * @param z de-biased models, out
 * @param weights [P], out
 */
void oracle_sgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                double *weights);

/**
 * OSGP with a delay of one step. A step adds what was sent in the step before, sends its own
 * shares, and then moves what it kept. What the last step sent stays in flight: z and weights are
 * of what the workers hold. Every worker must keep some share.
 */
void oracle_osgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                 double *weights);

/**
 * EASGD and EAMSGD with a server that workers visit one by one, before the local updates of steps t
 * with t mod period = 0.
 * @param delta momentum of the worker's look-ahead, which replaces the momentum of the problem; 0:
 * the problem's local step
 * @param order [workers]: who visits first, second, ...
 * @param center [n]: in, the initial centre; out, the final one
 */
void oracle_easgd(const oracle_problem *p, double alpha, long period, double delta,
                  const long *order, double *center, double *x);

/**
 * DiLoCo with the problem's SGD inside, whose v is kept. Outside: u <- mu u + D; theta <- theta -
 * outer_lr (D + mu u). All workers must start alike.
 */
void oracle_diloco(const oracle_problem *p, long period, double outer_lr, double outer_momentum,
                   double *x);

/** SlowMo; v is kept across rounds. All workers must start alike, and lr must not be 0. */
void oracle_slowmo(const oracle_problem *p, long period, double alpha, double beta, double *x);

/** SCAFFOLD of plain SGD, with option II; all workers take part, and start alike. */
void oracle_scaffold(const oracle_problem *p, long period, double global_lr, double *x);

/**
 * allreduce of gradients weighted by share [steps][workers]; what was dropped counts as zero and
 * the divisor stays.
 */
void oracle_drop_compute(const oracle_problem *p, const double *share, double *x);
