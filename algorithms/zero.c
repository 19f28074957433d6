/**
 * @file zero.c
 * ZeRO: allreduce SGD in which each worker keeps only a share of the optimizer's state (stage 1).
 * In stage 2, a worker also keeps only a share of the gradients. In stage 3, a worker also keeps
 * only a share of the model and gathers the model unit by unit for its computation.
 *
 * S. Rajbhandari, J. Rasley, O. Ruwase, Y. He, "ZeRO: memory optimizations toward training trillion
 * parameter models", SC 2020, sections 5 and 7. Stage 3 follows the order of PyTorch's FSDP (Y.
 * Zhao et al., VLDB 2023): the next unit is gathered while the present unit is computed. Each
 * worker has a share of every chunk.
 */
#include "sim/algorithm.h"

typedef struct zero_params {
    int64_t stage;
    bool reshard_after_forward;
} zero_params;

/** units of the model, which stage 3 gathers one after another */
typedef struct units {
    size_t n;
    dsgd_vector **x, **g; /* model and gradient of each unit; n entries */
    dsgd_request **sum; /* running reduce-scatter of each unit's gradient; n entries */
} units;

static units units_of(dsgd_node *self, dsgd_vector *x, dsgd_vector *g)
{
    const size_t n = dsgd_units(self);
    const size_t each = dsgd_pieces(self, x) / n;
    units of = {n, dsgd_memory_new(self, n, sizeof *of.x), dsgd_memory_new(self, n, sizeof *of.g),
                dsgd_memory_new(self, n, sizeof *of.sum)};
    for (size_t u = 0; u < n; u++) {
        of.x[u] = dsgd_slice(self, x, u * each, (u + 1) * each, 1);
        of.g[u] = dsgd_slice(self, g, u * each, (u + 1) * each, 1);
    }
    return of;
}

/**
 * Sets g to the sum of all gradients. As in a reduce-scatter, each worker receives only its share
 * of this sum.
 */
static void sharded_gradient(dsgd_node *self, const units *of, bool reshards)
{
    dsgd_request *gathered =
        dsgd_collective_begin(self, DSGD_ALLGATHER, of->x[of->n - 1], DSGD_WORLD);
    for (size_t u = of->n; u-- > 0;) {
        dsgd_request_wait(self, gathered, of->x[u]);
        dsgd_compute_pass(self, NULL, of->x[u]);
        /* Gathers the next unit. At most two units are complete at a time. */
        if (u > 0)
            gathered = dsgd_collective_begin(self, DSGD_ALLGATHER, of->x[u - 1], DSGD_WORLD);
    }
    dsgd_wait_any(self, DSGD_ON_GRADIENT, INFINITY); /* waits for the end of the forward pass */
    if (reshards)
        gathered = dsgd_collective_begin(self, DSGD_ALLGATHER, of->x[0], DSGD_WORLD);
    for (size_t u = 0; u < of->n; u++) {
        if (reshards)
            dsgd_request_wait(self, gathered, of->x[u]);
        dsgd_compute_pass(self, of->g[u], of->x[u]);
        if (reshards && u + 1 < of->n)
            gathered = dsgd_collective_begin(self, DSGD_ALLGATHER, of->x[u + 1], DSGD_WORLD);
        of->sum[u] = dsgd_collective_begin(self, DSGD_REDUCE_SCATTER, of->g[u], DSGD_WORLD);
    }
    for (size_t u = 0; u < of->n; u++)
        dsgd_request_wait(self, of->sum[u], of->g[u]);
}

static void zero_work(dsgd_node *self)
{
    const zero_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    const units of = units_of(self, x, g);

    while (dsgd_next_step(self)) {
        if (p->stage == 3) {
            sharded_gradient(self, &of, p->reshard_after_forward);
        } else {
            dsgd_gradient(self, g, x);
            dsgd_collective_run(self, DSGD_REDUCE_SCATTER, g, 0, DSGD_WORLD);
        }
        dsgd_divide(self, g, self->n_workers);
        dsgd_local_step(self, x, g); /* updates this worker's share of x */
        if (p->stage < 3)
            dsgd_collective_run(self, DSGD_ALLGATHER, x, 0, DSGD_WORLD);
    }
}

static const dsgd_option zero_options[] = {
    DSGD_OPTION_LONG(zero_params, stage, 3, 1, 3, NULL,
                     "sharded state. 1: the optimizer's state. 2: gradients too. 3: the model too"),
    DSGD_OPTION_BOOL(
        zero_params, reshard_after_forward, true,
        "true: stage 3 gathers the model again for the backward pass. false: it keeps the model"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_zero = {
    .about = {.name = "zero",
              .summary = "allreduce with sharded optimizer state, gradients and model (ZeRO, FSDP)",
              .reference = "Rajbhandari, Rasley, Ruwase and He, SC 2020, arXiv 1910.02054",
              DSGD_PARAMS(zero_params, zero_options)},
    .doc = {.idea =
                "No state is stored twice: each worker has 1/P of the optimizer state (stage 1), "
                "of gradients too (2), of the model too (3, as PyTorch's FSDP).",
            .rule = "g <- reduce-scatter of gradients / P;  own share of x <- x + U(g, x, t);  "
                    "allgather of x: at the end of the step (stages 1 and 2), or before each "
                    "unit's forward pass and, unless the model is kept, again before its backward "
                    "pass (3), one unit ahead of the computation",
            .sends = "2 (P - 1) / P N, as an allreduce; stage 3 gathers twice: 3 (P - 1) / P N.",
            .waits = "All workers wait for the slowest in every step."},
    .work = zero_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_SENDS_THREE_VECTORS,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, NULL}, {DSGD_LAW_PLAIN_SGD, NULL},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"reshard_after_forward", false})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"stage", 2})},
                      {DSGD_LAW_ALLREDUCE, DSGD_WITH({"stage", 1})}),
};
