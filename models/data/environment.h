/**
 * @file environment.h
 * The environment of the policy model. An agent walks to a goal in the square [-1, 1]^2. A wall at
 * x = 0, with a gap around y = 0, divides the square. The task is a reduced form of the PointGoal
 * navigation of DD-PPO (Wijmans et al., ICLR 2020). It has a dense reward for geodesic progress, a
 * small cost per step, a bonus at the goal, and episodes of bounded length.
 *
 * The code is independent of the device, like formula.h. Random numbers are counter-based, so that
 * every device plays the same episodes.
 */
#pragma once

#include <stdbool.h>

#include "base/draw.h"
#include "base/philox.h"
#include "base/real.h"

enum {
    DSGD_ENVIRONMENT_REALS = 5, /* count of numbers in a state e: x, y, goal x, goal y, and the
                                 * steps so far */
    DSGD_ENVIRONMENT_FEATURES = 6,
    DSGD_ENVIRONMENT_ACTIONS = 8, /* number of actions; each action is a direction of a compass */
    DSGD_EPISODE_STEPS = 48
};

#define DSGD_ENVIRONMENT_STRIDE ((real)0.15)
#define DSGD_ENVIRONMENT_GAP ((real)0.3) /* half of the width of the gap in the wall */
#define DSGD_ENVIRONMENT_NEAR ((real)0.2) /* distance at which the agent has reached the goal */
#define DSGD_ENVIRONMENT_SLIP 0.1 /* probability that a step has a uniformly random direction */
#define DSGD_ENVIRONMENT_COST ((real)0.02)

/**
 * Stores in e[DSGD_ENVIRONMENT_REALS] the random start of the episode with coordinates (seed,
 * worker, step, index).
 */
static inline DSGD_DEVICE_FUNCTION void dsgd_episode_begin(real *e, uint64_t seed, uint32_t worker,
                                                           uint32_t step, uint32_t index)
{
    for (uint32_t i = 0; i < 4; i++)
        e[i] =
            (real)(2 * dsgd_philox_uniform(seed, DSGD_DRAW_EPISODE, worker, step, 4 * index + i) -
                   1);
    e[4] = 0;
}

static inline DSGD_DEVICE_FUNCTION real dsgd_distance_between(real ax, real ay, real bx, real by)
{
    return real_sqrt((ax - bx) * (ax - bx) + (ay - by) * (ay - by));
}

/**
 * Returns the length of the path to the goal: straight, or through the middle of the gap if the
 * wall is between agent and goal.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_way_left(const real *e)
{
    if ((e[0] < 0) == (e[2] < 0))
        return dsgd_distance_between(e[0], e[1], e[2], e[3]);
    return dsgd_distance_between(e[0], e[1], 0, 0) + dsgd_distance_between(0, 0, e[2], e[3]);
}

/**
 * Stores in f[DSGD_ENVIRONMENT_FEATURES] the observation of state e, which is the input of the
 * network.
 */
static inline DSGD_DEVICE_FUNCTION void dsgd_environment_observe(const real *e, real *f)
{
    const bool same_side = (e[0] < 0) == (e[2] < 0);
    f[0] = e[0];
    f[1] = e[1];
    f[2] = e[2] - e[0];
    f[3] = e[3] - e[1];
    f[4] = same_side ? (real)1 : (real)-1;
    f[5] = dsgd_distance_between(e[0], e[1], e[2], e[3]);
}

static inline DSGD_DEVICE_FUNCTION real dsgd_inside_room(real z)
{
    return z < (real)-1 ? (real)-1 : z > (real)1 ? (real)1 : z;
}

/**
 * Takes one step in direction @p action, or with probability DSGD_ENVIRONMENT_SLIP in a random
 * direction. @p id is the index of the random number. Returns the reward: the decrease of the path
 * length, minus the cost of a step, plus 1 at the goal. Sets *ended to whether the episode is over,
 * and *there to whether the agent has reached the goal.
 */
static inline DSGD_DEVICE_FUNCTION real dsgd_environment_step(real *e, uint32_t action,
                                                              uint64_t seed, uint32_t id,
                                                              bool *ended, bool *there)
{
    const real diagonal = (real)0.70710678118654752;
    const real dx[DSGD_ENVIRONMENT_ACTIONS] = {1,  diagonal,  0, -diagonal,
                                               -1, -diagonal, 0, diagonal};
    const real dy[DSGD_ENVIRONMENT_ACTIONS] = {0, diagonal,  1,  diagonal,
                                               0, -diagonal, -1, -diagonal};
    const real before = dsgd_way_left(e);
    const double u = dsgd_philox_uniform(seed, DSGD_DRAW_POLICY, 1, id, 0);
    if (u < DSGD_ENVIRONMENT_SLIP)
        action = (uint32_t)(u / DSGD_ENVIRONMENT_SLIP * DSGD_ENVIRONMENT_ACTIONS);
    const real x = dsgd_inside_room(e[0] + DSGD_ENVIRONMENT_STRIDE * dx[action]);
    const real y = dsgd_inside_room(e[1] + DSGD_ENVIRONMENT_STRIDE * dy[action]);
    const bool crosses = (e[0] < 0) != (x < 0);
    const bool in_gap = e[1] < DSGD_ENVIRONMENT_GAP && e[1] > -DSGD_ENVIRONMENT_GAP;
    e[0] = crosses && !in_gap ? e[0] : x;
    e[1] = y;
    e[4] += 1;
    *there = dsgd_distance_between(e[0], e[1], e[2], e[3]) < DSGD_ENVIRONMENT_NEAR;
    *ended = *there || e[4] >= (real)DSGD_EPISODE_STEPS;
    return before - dsgd_way_left(e) - DSGD_ENVIRONMENT_COST + (*there ? (real)1 : (real)0);
}

/**
 * Returns a random action with the probabilities softmax(z[n]): the first action whose cumulative
 * probability exceeds @p u.
 */
static inline DSGD_DEVICE_FUNCTION uint32_t dsgd_action_drawn(const real *z, uint32_t n, double u)
{
    real largest = z[0];
    for (uint32_t i = 1; i < n; i++)
        largest = z[i] > largest ? z[i] : largest;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)real_exp(z[i] - largest);
    double below = 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        below += (double)real_exp(z[i] - largest);
        if (u * sum < below)
            return i;
    }
    return n - 1;
}

/**
 * Replaces z[n] by scale times the gradient by z of -advantage log p(action) - entropy_weight H(p),
 * where p = softmax(z). This is REINFORCE (Williams, 1992) with the entropy bonus of A3C (Mnih et
 * al., 2016).
 */
static inline DSGD_DEVICE_FUNCTION void dsgd_policy_gradient(real *z, uint32_t n, uint32_t action,
                                                             real advantage, real entropy_weight,
                                                             real scale)
{
    real largest = z[0];
    for (uint32_t i = 1; i < n; i++)
        largest = z[i] > largest ? z[i] : largest;
    real sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += real_exp(z[i] - largest);
    const real log_sum = real_log(sum);
    real entropy = 0;
    for (uint32_t i = 0; i < n; i++) {
        const real log_p = z[i] - largest - log_sum;
        entropy -= real_exp(log_p) * log_p;
    }
    for (uint32_t i = 0; i < n; i++) {
        const real log_p = z[i] - largest - log_sum;
        const real p = real_exp(log_p);
        z[i] = scale * (advantage * (p - (i == action ? (real)1 : (real)0)) +
                        entropy_weight * p * (log_p + entropy));
    }
}
