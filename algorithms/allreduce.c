/**
 * @file allreduce.c
 * Synchronous Allreduce-SGD: everybody waits for everybody's gradient, in every step.
 *
 * Sent per worker and step: one allreduce of the gradient (about 2 N bytes by Rabenseifner or a ring).
 */
#include "sim/algorithm.h"

static void allreduce_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_allreduce_mean(self, g); /* g <- (1/P) sum g */
        dsgd_local_step(self, x, g); /* x <- x + U(g, x, t), alike everywhere */
    }
}

const dsgd_algorithm dsgd_algorithm_allreduce = {
    .about = {.name = "allreduce",
              .summary = "synchronous: the mean gradient of all workers in every step",
              .reference = "the baseline of all the others; Ben-Nun and Hoefler 2019, section 6"},
    .work = allreduce_work,
};
