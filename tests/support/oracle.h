/**
 * @file oracle.h
 * Emulations of the algorithms without a simulator, sequentially and in double. They assume that no
 * worker is ever late and that messages take no time. If tests/support/emulation.h emulates an
 * algorithm with late workers, this file does not contain the algorithm. The emulations follow the
 * pseudo-code of the papers. Their author had not seen the simulator's code, and they share no code
 * with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * The problem that an emulation solves, with P workers and n parameters. gradient() computes the
 * gradient of a worker at x in its step t, counted from 0. gradient() is called once per worker and
 * step.
 *
 * A local step is momentum SGD. It computes
 *
 *     v <- momentum v + g + weight_decay x, and then x <- x - lr v.
 *
 * Each worker has its own v, which is never exchanged. The x in the weight decay is the model that
 * the step changes, even if g was taken at another model.
 */
typedef struct oracle_problem {
    int workers;
    size_t n;
    long steps;
    double lr, momentum, weight_decay;
    void (*gradient)(void *argument, int worker, long step, const double *x, double *g);
    void *argument;
    const double *initial; /* initial models of the workers, [workers][n] */
} oracle_problem;

/*
 * Each emulation below stores the final models in the caller's array x [workers][n]. If the last
 * period is incomplete, these models are the models after the last local step.
 */

/**
 * Emulates local SGD. The models are averaged after each step t with (t + 1) mod period = 0. If
 * period is 0, the models are never averaged.
 * @param post_local number of first steps that average after every step, as with period 1
 */
void oracle_local_sgd(const oracle_problem *p, long period, long post_local, double *x);

/**
 * Emulates D-PSGD.
 * @param mixing matrices [rounds][P][P]. Element [i][j] of a matrix is the weight that worker i
 * gives to j's model.
 * @param rounds_per_step number of mixings in a step. Mixing k of step t uses matrix (t *
 * rounds_per_step + k) mod rounds.
 * @param atc if true, workers mix after the local step. If false, they mix before the local step,
 * and the gradient is taken at the model before the mixing.
 */
void oracle_gossip(const oracle_problem *p, const double *mixing, long rounds, long rounds_per_step,
                   bool atc, double *x);

/**
 * Emulates SGP. Step t mixes by matrix t mod rounds.
 * @param mixing matrices [rounds][P][P], whose columns add to 1. Element [i][j] of a matrix is the
 * share of j's numerator that worker i receives.
 * @param z output: de-biased models, [P][n]
 * @param weights output: push-sum weights, [P]
 */
void oracle_sgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                double *weights);

/**
 * Emulates OSGP with a delay of one step. In each step, a worker adds the shares that were sent in
 * the previous step, and sends its own shares. It then makes the local step with the share that it
 * kept. The shares that the last step sends stay in flight, so z and weights contain only values
 * that the workers hold. Every worker must keep a share for itself.
 */
void oracle_osgp(const oracle_problem *p, const double *mixing, long rounds, double *z,
                 double *weights);

/**
 * Emulates EASGD and EAMSGD with a server. Workers visit the server one by one, before the local
 * steps t with t mod period = 0.
 * @param delta momentum of the worker's look-ahead, which replaces the momentum of the problem. If
 * delta is 0, the worker makes the problem's local step.
 * @param order ranks of the workers in the order of their visits, [workers]
 * @param center the initial centre before the call, and the final centre after the call, [n]
 */
void oracle_easgd(const oracle_problem *p, double alpha, long period, double delta,
                  const long *order, double *center, double *x);

/**
 * Emulates DiLoCo. The inner optimizer is the problem's SGD, whose momentum v continues across
 * rounds. The outer optimizer computes u <- mu u + D, and then theta <- theta - outer_lr (D + mu
 * u). Here mu is outer_momentum, and D is the mean change of the models in the round, with opposite
 * sign. All workers must start with the same model.
 */
void oracle_diloco(const oracle_problem *p, long period, double outer_lr, double outer_momentum,
                   double *x);

/**
 * Emulates SlowMo. The local momentum v continues across rounds. All workers must start with the
 * same model, and the learning rate must not be 0.
 */
void oracle_slowmo(const oracle_problem *p, long period, double alpha, double beta, double *x);

/**
 * Emulates SCAFFOLD with plain SGD and option II of the paper. All workers take part in each round,
 * and start with the same model.
 */
void oracle_scaffold(const oracle_problem *p, long period, double global_lr, double *x);

/**
 * Emulates DropCompute: an allreduce of gradients. share [steps][workers] is the part of each
 * gradient that is computed. A dropped part counts as zero, and the divisor of the mean is still
 * the number of workers.
 */
void oracle_drop_compute(const oracle_problem *p, const double *share, double *x);
