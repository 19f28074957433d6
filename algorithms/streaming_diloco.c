/**
 * @file streaming_diloco.c
 * Streaming DiLoCo: the model is divided into fragments, each with its own outer optimizer. The
 * mean changes of the fragments are exchanged in turn, and each exchange overlaps with some of the
 * next local steps.
 *
 * A. Douillard et al., "Streaming DiLoCo with overlapping communication: towards a distributed free
 * lunch", 2025. Details follow the code of torchft.
 */
#include "sim/algorithm.h"

typedef struct streaming_diloco_params {
    int64_t period; /* H, the number of local steps between two exchanges of one fragment */
    int64_t fragments; /* F, the number of fragments */
    int64_t delay; /* tau, the number of local steps that overlap with an exchange */
    double mixing; /* alpha, the weight of the worker's own fragment in the mix */
    double outer_lr, outer_momentum;
} streaming_diloco_params;

static void streaming_diloco_work(dsgd_node *self)
{
    const streaming_diloco_params *p = self->params;
    /* number of local steps between two successive exchanges, of any fragments */
    const int64_t every = p->period / p->fragments;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *global = dsgd_vector_new(self); /* model after the last outer steps of its
                                                  * fragments */
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self); /* outer momentum */
    dsgd_request *round = NULL; /* the running allreduce; NULL before the first allreduce */
    dsgd_copy(self, global, x);

    while (dsgd_next_step(self)) {
        const int64_t n = self->step / every, s = self->step % every + 1;
        const size_t f = (size_t)(n % p->fragments), all = (size_t)p->fragments;
        dsgd_vector *x_f = dsgd_slice(self, x, f, dsgd_pieces(self, x), all);
        dsgd_vector *global_f = dsgd_slice(self, global, f, dsgd_pieces(self, global), all);
        dsgd_vector *change_f = dsgd_slice(self, change, f, dsgd_pieces(self, change), all);
        dsgd_vector *u_f = dsgd_slice(self, u, f, dsgd_pieces(self, u), all);
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if (s == every - p->delay) {
            dsgd_copy(self, change_f, global_f);
            dsgd_combine(self, change_f, 1, -1, x_f);
            round = dsgd_collective_begin(self, DSGD_ALLREDUCE, change_f, DSGD_WORLD);
        }
        if (s < every)
            continue;
        /* D, the mean of (global - x), for the x of tau steps ago */
        dsgd_request_wait(self, round, change_f);
        dsgd_combine(self, u_f, p->outer_momentum, 1, change_f); /* outer momentum: u <- mu u + D */
        dsgd_combine(self, global_f, 1, -p->outer_lr, change_f);
        /* Completes Nesterov's step: global <- global - outer_lr (D + mu u) */
        dsgd_combine(self, global_f, 1, -p->outer_lr * p->outer_momentum, u_f);
        dsgd_combine(self, x_f, p->mixing, 1 - p->mixing, global_f);
    }
}

static dsgd_status streaming_diloco_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)n_workers;
    const streaming_diloco_params *p = params;
    if (p->period % p->fragments != 0)
        return dsgd_refuse(
            error, "streaming_diloco: period must be a multiple of fragments = %jd, got %jd",
            p->fragments, p->period);
    if (p->delay >= p->period / p->fragments)
        return dsgd_refuse(
            error, "streaming_diloco: delay must be below period / fragments = %jd, got %jd",
            p->period / p->fragments, p->delay);
    return DSGD_OK;
}

static int64_t streaming_diloco_least_pieces(const void *params, int n_workers)
{
    (void)n_workers;
    return ((const streaming_diloco_params *)params)->fragments;
}

static const dsgd_option streaming_diloco_options[] = {
    DSGD_OPTION_LONG(streaming_diloco_params, period, 100, 1, 1e9, "steps",
                     "H: number of inner steps between two exchanges of the same fragment"),
    DSGD_OPTION_LONG(streaming_diloco_params, fragments, 1, 1, 4096, NULL,
                     "F: number of fragments; must divide the period. A fragment has every F-th "
                     "chunk, so `exchange: pieces` must be at least F. 1: DiLoCo with a delay"),
    DSGD_OPTION_LONG(streaming_diloco_params, delay, 5, 0, 1e9, "steps",
                     "tau: number of local steps that overlap with an exchange"),
    DSGD_OPTION_DOUBLE(
        streaming_diloco_params, mixing, 0.5, 0, 1, NULL,
        "alpha: weight of the worker's own fragment when the result of the outer step is mixed in"),
    DSGD_OPTION_DOUBLE(streaming_diloco_params, outer_lr, 0.7, 0, 100, NULL,
                       "learning rate of the outer optimizers, which does not decay"),
    DSGD_OPTION_DOUBLE(streaming_diloco_params, outer_momentum, 0.9, 0, 1, NULL,
                       "Nesterov momentum of the outer optimizers"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_streaming_diloco = {
    .about = {.name = "streaming_diloco",
              .summary = "DiLoCo that exchanges one fragment of the model at a time, overlapped "
                         "with local steps",
              .reference = "Douillard et al. 2025, arXiv 2501.18512; torchft's released code",
              DSGD_PARAMS(streaming_diloco_params, streaming_diloco_options)},
    .doc = {.idea = "Spread DiLoCo's exchange over the round: every H / F steps one fragment is "
                    "exchanged, overlapped with tau local steps.",
            .rule = "x <- x + U(g, x, t);  every H / F steps for the next fragment D = mean of (s "
                    "- x) as it was tau steps ago, u <- mu u + D, s <- s - lr (D + mu u), x <- "
                    "alpha x + (1 - alpha) s",
            .sends = "One allreduce of a fragment every H / F steps: about 2 N / H bytes per step.",
            .waits = "All workers wait for the slowest, tau steps late: in the long run all are as "
                     "fast as the slowest."},
    .check = streaming_diloco_check,
    .work = streaming_diloco_work,
    .least_pieces = streaming_diloco_least_pieces,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_QUORUM,
    .laws = DSGD_LAWS(
        {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"period", 6}, {"fragments", 2}, {"delay", 0},
                                       {"outer_lr", 1}, {"outer_momentum", 0})},
        {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"mixing", 1})},
        {DSGD_LAW_ALLREDUCE, DSGD_WITH({"period", 1}, {"fragments", 1}, {"delay", 0}, {"mixing", 0},
                                       {"outer_lr", 1}, {"outer_momentum", 0})},
        {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", 6}, {"fragments", 3}, {"delay", 1})}),
};
