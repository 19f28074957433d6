/**
 * @file team.h
 * One operation of each kind of a device for each worker, with all workers on one device. Tests and
 * measurements that need all operations share it.
 */
#pragma once

#include "models/devices/device.h"
#include "models/zoo/network.h"

/** Expands X(name) for the name of each function of the device, in the order of a worker's step. */
#define TEAM_OPERATIONS(X) X(gradient) X(update) X(combine) X(encode) X(evaluate) X(distance)

#define TEAM_KIND(name) TEAM_##name,
typedef enum team_kind { TEAM_OPERATIONS(TEAM_KIND) TEAM_KINDS } team_kind;
#undef TEAM_KIND

extern const char *const team_kind_names[TEAM_KINDS];

enum { TEAM_GROUP = 2 };

/**
 * @p n workers with models of their own. x is a worker's model, v its optimizer state, g its
 * gradient, and moved its model after the update. The combination is the mean of x and a
 * neighbour's moved model. The combination and the compression of g are both written to mixed.
 */
typedef struct team {
    const dsgd_device *device;
    void *context;
    const dsgd_problem *problem;
    uint32_t n;
    dsgd_buffer *x, *g, *v, *moved, *mixed; /* [n] */
    dsgd_buffer (*pairs)[TEAM_GROUP]; /* [n] */
    dsgd_gradient_op *gradient; /* [n]; the operations below also have [n] elements */
    dsgd_update_op *update;
    dsgd_combine_op *combine;
    dsgd_encode_op *encode;
    dsgd_evaluate_op *evaluate;
    dsgd_distance_op *distance;
    bool *finite;
} team;

/**
 * Opens the device. The problem has one piece, and its network has no model state. The problem must
 * outlive the team. The mini-batch of worker w starts at sample w * batch.
 */
team *team_new(const dsgd_device *device, const dsgd_problem *problem, uint32_t n, uint32_t batch);
/**
 * Calls the device once for the operations of workers first to first + n - 1. Call the kinds in
 * their order, because later kinds read the results of earlier kinds. Aborts unless all results are
 * finite.
 */
void team_call(team *t, team_kind kind, uint32_t first, uint32_t n);
/** Copies the result of a worker's operation to to[n_params]. Returns the number of values. */
size_t team_result(const team *t, team_kind kind, uint32_t worker, double *to);
/** Returns the largest ||a - b|| / ||b|| over the results of the workers of b. */
double team_distance(const team *a, const team *b, team_kind kind);
void team_close(team *t);
