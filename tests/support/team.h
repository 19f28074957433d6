/**
 * @file team.h
 * The operations of a device, once for all tests and measurements that make all of them: workers on
 * one device, with an operation of each kind for each worker.
 */
#pragma once

#include "models/devices/device.h"
#include "models/zoo/network.h"

/** X(name of the device's function). The order is that of a worker's step. */
#define TEAM_OPERATIONS(X) X(gradient) X(update) X(combine) X(encode) X(evaluate) X(distance)

#define TEAM_KIND(name) TEAM_##name,
typedef enum team_kind { TEAM_OPERATIONS(TEAM_KIND) TEAM_KINDS } team_kind;
#undef TEAM_KIND

extern const char *const team_kind_names[TEAM_KINDS];

enum { TEAM_GROUP = 2 };

/**
 * @p n workers with models of their own. x and v are a worker's model and optimizer state, g its
 * gradient, moved the model after the update. The combination is the mean of x with a neighbour's
 * moved model, and like the encoding of g it is written to mixed.
 */
typedef struct team {
    const dsgd_device *device;
    void *context;
    const dsgd_problem *problem;
    uint32_t n;
    dsgd_buffer *x, *g, *v, *moved, *mixed; /* [n] */
    dsgd_buffer (*pairs)[TEAM_GROUP]; /* [n] */
    dsgd_gradient_op *gradient; /* [n], and so the others */
    dsgd_update_op *update;
    dsgd_combine_op *combine;
    dsgd_encode_op *encode;
    dsgd_evaluate_op *evaluate;
    dsgd_distance_op *distance;
    bool *finite;
} team;

/**
 * Opens the device. The problem has one piece, and its network no model state; it outlives the
 * team. Worker w's mini-batch is the samples from w * batch on.
 */
team *team_new(const dsgd_device *device, const dsgd_problem *problem, uint32_t n, uint32_t batch);
/**
 * One call of the device, in the order of the kinds, as later ones read what earlier ones wrote:
 * the operations of workers first to first + n - 1. All must be finite.
 */
void team_call(team *t, team_kind kind, uint32_t first, uint32_t n);
/** The numbers that a worker's operation wrote, in to[n_params]; returns how many. */
size_t team_result(const team *t, team_kind kind, uint32_t worker, double *to);
/** The largest ||a - b|| / ||b|| of the results of the workers of b. */
double team_distance(const team *a, const team *b, team_kind kind);
void team_close(team *t);
