/**
 * @file oracle.h
 * Emulations of the algorithms without a simulator: sequential, in double, for the case that no
 * worker is ever late and messages take no time. An algorithm that tests/support/emulation.h
 * emulates with late workers is not here. The emulations are written from the pseudo-code of the
 * papers, by a person who had not seen the simulator's code, and share no code with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * P workers and n parameters. gradient() computes the gradient of a worker at x in its step t,
 * counted from 0. It is called once per worker and step. A local step is momentum SGD: v <-
 * momentum v + g + weight_decay x; x <- x - lr v. Each worker has its own v, which is never
 * exchanged. x in the weight decay is the model that the step changes, even if g was taken at
 * another model.
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

/*
 * Each emulation leaves the final models in x, [workers][n]. If the last period is incomplete, the
 * models remain as after the last local step.
 */

/**
 * Emulates local SGD. The models are averaged after each step t with (t + 1) mod period = 0, or
 * never if period is 0.
 * @param post_local before this step the period is 1; if 0, there are no such steps
 */
void oracle_local_sgd(const oracle_problem *p, long period, long post_local, double *x);

/**
 * Emulates D-PSGD.
 * @param mixing [rounds][P][P]: [i][j] is the weight that i gives to j's model
 * @param rounds_per_step round k of step t mixes by matrix (t * rounds_per_step + k) mod rounds
 * @param atc if true, workers mix after the local step; else before it, and the gradient is taken
 * at the model before mixing
 */
void oracle_gossip(const oracle_problem *p, const double *mixing, long rounds, long rounds_per_step,
                   bool atc, double *x);

/**
 * Emulates SGP.
 * @param mixing [rounds][P][P], columns add to 1: [i][j] is the share of j's numerator that i
 * receives; step t mixes by matrix t mod rounds
 * @param z output: de-biased models
 * @param weights [P], output
 */
void oracle_sgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                double *weights);

/**
 * Emulates OSGP with a delay of one step. A step adds the shares that were sent in the previous
 * step, sends its own shares, and then updates the rest. The shares that the last step sends stay
 * in flight: z and weights cover only values that the workers hold. Every worker must keep some
 * share.
 */
void oracle_osgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                 double *weights);

/**
 * Emulates EASGD and EAMSGD with a server that workers visit one by one, before the local updates
 * of steps t with t mod period = 0.
 * @param delta momentum of the worker's look-ahead, which replaces the momentum of the problem; if
 * 0, the worker makes the problem's local step
 * @param order [workers]: ranks in the order of their visits
 * @param center [n]; input: the initial centre; output: the final centre
 */
void oracle_easgd(const oracle_problem *p, double alpha, long period, double delta,
                  const long *order, double *center, double *x);

/**
 * Emulates DiLoCo. The inner optimizer is the problem's SGD, whose v is kept. The outer optimizer
 * is u <- mu u + D; theta <- theta - outer_lr (D + mu u). All workers must start with the same
 * model.
 */
void oracle_diloco(const oracle_problem *p, long period, double outer_lr, double outer_momentum,
                   double *x);

/**
 * Emulates SlowMo. v is kept across rounds. All workers must start with the same model, and lr must
 * not be 0.
 */
void oracle_slowmo(const oracle_problem *p, long period, double alpha, double beta, double *x);

/**
 * Emulates SCAFFOLD of plain SGD, with option II. All workers take part, and start with the same
 * model.
 */
void oracle_scaffold(const oracle_problem *p, long period, double global_lr, double *x);

/**
 * Emulates DropCompute: an allreduce of gradients, weighted by share [steps][workers]. A dropped
 * part counts as zero, and the divisor stays the same.
 */
void oracle_drop_compute(const oracle_problem *p, const double *share, double *x);
