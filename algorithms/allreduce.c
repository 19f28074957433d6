/**
 * @file allreduce.c
 * Synchronous Allreduce-SGD: in every step all workers wait for the mean of all gradients.
 */
#include "sim/algorithm.h"

static void allreduce_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_allreduce_mean(self, g, DSGD_WORLD); /* g <- mean of all gradients */
        dsgd_local_step(self, x, g); /* adds the optimizer's update U, which is equal at all
                                      * workers, to x */
    }
}

const dsgd_algorithm dsgd_algorithm_allreduce = {
    .about = {.name = "allreduce",
              .summary = "synchronous SGD with the mean gradient of all workers (PyTorch's DDP)",
              .reference =
                  "the baseline of all other algorithms; Ben-Nun and Hoefler 2019, section 6"},
    .doc = {.idea = "P workers take the step that one worker would take with a mini-batch P times "
                    "as large.",
            .rule = "x <- x + U((1/P) sum of all g, x, t)",
            .sends = "One allreduce of the gradient: about 2 N bytes.",
            .waits = "All workers wait for the slowest in every step."},
    .work = allreduce_work,
    .traits = DSGD_SENDS_ALLREDUCES | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_KEEPS_MEAN}),
};
