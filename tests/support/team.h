/**
 * @file team.h
 * Makes one operation of each kind for each worker, with all workers on one device. Tests and
 * measurements that need all operations use it.
 */
#pragma once

#include "models/devices/device.h"
#include "models/zoo/network.h"

/**
 * Expands X(name) for the name of each operation of the device, in the order of a worker's step.
 */
#define TEAM_OPERATIONS(X) X(gradient) X(update) X(combine) X(encode) X(evaluate) X(distance)

#define TEAM_KIND(name) TEAM_##name,
typedef enum team_kind { TEAM_OPERATIONS(TEAM_KIND) TEAM_KINDS } team_kind;
#undef TEAM_KIND

extern const char *const team_kind_names[TEAM_KINDS];

enum { TEAM_GROUP = 2 };

/**
 * A group of @p n workers, each with its own model. x is a worker's model, v its optimizer state, g
 * its gradient, and moved its model after the update. The operation combine computes the mean of x
 * and a neighbour's moved model; encode compresses g. Both operations write their result to mixed.
 */
typedef struct team {
    const dsgd_device *device;
    void *context;
    const dsgd_problem *problem;
    uint32_t n;
    dsgd_buffer *x, *g, *v, *moved, *mixed; /* vectors of each worker, [n] buffers each */
    dsgd_buffer (*pairs)[TEAM_GROUP]; /* inputs of each worker's combine operation, [n] */
    dsgd_gradient_op *gradient; /* gradient operation of each worker, [n]; the arrays of operations
                                 * below also have [n] elements */
    dsgd_update_op *update;
    dsgd_combine_op *combine;
    dsgd_encode_op *encode;
    dsgd_evaluate_op *evaluate;
    dsgd_distance_op *distance;
    bool *finite;
} team;

/**
 * Opens the device for n workers. The problem must have one piece and a network without model
 * state. The problem must outlive the team. The mini-batch of worker w starts at sample w * batch.
 */
team *team_new(const dsgd_device *device, const dsgd_problem *problem, uint32_t n, uint32_t batch);
/**
 * Runs the operations of one kind for workers first to first + n - 1 in a single call of the
 * device. Call the kinds in the order of TEAM_OPERATIONS, because later kinds read the results of
 * earlier kinds. Aborts unless all results are finite.
 */
void team_call(team *t, team_kind kind, uint32_t first, uint32_t n);
/**
 * Copies the result of a worker's operation to @p to, which must have room for n_params values.
 * Returns the number of values copied.
 */
size_t team_result(const team *t, team_kind kind, uint32_t worker, double *to);
/**
 * Returns the largest relative distance ||a - b|| / ||b|| between the results of two teams for the
 * same worker.
 */
double team_distance(const team *a, const team *b, team_kind kind);
void team_close(team *t);
