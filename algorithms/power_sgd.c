/**
 * @file power_sgd.c
 * PowerSGD: allreduce SGD that sends low-rank factors of the gradient, with error feedback.
 *
 * T. Vogels, S. P. Karimireddy, M. Jaggi, "PowerSGD: practical low-rank gradient compression for
 * distributed optimization", NeurIPS 2019. By default, this file follows the later released code,
 * with one product per step. Even steps compute one factor; odd steps compute the other factor.
 * `products: 2` is the paper's form, with two products per step. Each chunk is one matrix, as close
 * to a square as possible. The shape does not depend on the tensors in the chunk.
 */
#include "sim/algorithm.h"

typedef struct power_sgd_params {
    int64_t rank, products;
} power_sgd_params;

/**
 * Computes one product with the fixed factor @p other. Sets u to the mean, over all workers, of the
 * projections of A onto the columns of @p other.
 */
static void project(dsgd_node *self, const power_sgd_params *p, bool right, dsgd_vector *e,
                    dsgd_vector *other, dsgd_vector *factor, dsgd_vector *u)
{
    dsgd_low_rank(self, DSGD_FACTOR_ORTHOGONALISE, other, NULL, p->rank, !right);
    dsgd_copy(self, factor, other);
    /* sets factor to A^T p if right is true, else to A q */
    dsgd_low_rank(self, DSGD_FACTOR_PROJECT, factor, e, p->rank, right);
    dsgd_copy(self, u, factor);
    /* sets u to p (A^T p)^T if right is true, else to (A q) q^T */
    dsgd_low_rank(self, DSGD_FACTOR_EXPAND, u, other, p->rank, !right);
    dsgd_combine(self, e, 1, -1, u);
    dsgd_allreduce_mean(self, factor, DSGD_WORLD);
    dsgd_copy(self, u, factor);
    dsgd_low_rank(self, DSGD_FACTOR_EXPAND, u, other, p->rank, !right);
}

/** Computes both products: p = orth(mean of A q), q = mean of A^T p, u = p q^T, and e <- A - u. */
static void project_twice(dsgd_node *self, const power_sgd_params *p, dsgd_vector *e,
                          dsgd_vector *left, dsgd_vector *q, dsgd_vector *u)
{
    dsgd_copy(self, left, q);
    dsgd_low_rank(self, DSGD_FACTOR_PROJECT, left, e, p->rank, false);
    dsgd_allreduce_mean(self, left, DSGD_WORLD);
    dsgd_low_rank(self, DSGD_FACTOR_ORTHOGONALISE, left, NULL, p->rank, false);
    dsgd_copy(self, q, left);
    dsgd_low_rank(self, DSGD_FACTOR_PROJECT, q, e, p->rank, true);
    dsgd_allreduce_mean(self, q, DSGD_WORLD);
    dsgd_copy(self, u, q);
    dsgd_low_rank(self, DSGD_FACTOR_EXPAND, u, left, p->rank, false);
    dsgd_combine(self, e, 1, -1, u);
}

static void power_sgd_work(dsgd_node *self)
{
    const power_sgd_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *e = dsgd_vector_new(self);
    dsgd_vector *left = dsgd_vector_new(self);
    dsgd_vector *right = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self);

    dsgd_low_rank(self, DSGD_FACTOR_DRAW, left, NULL, p->rank, false);
    dsgd_low_rank(self, DSGD_FACTOR_DRAW, right, NULL, p->rank, true);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_combine(self, e, 1, 1, g); /* e <- e + g; e is the matrix A of the projections */
        if (p->products == 2)
            project_twice(self, p, e, left, right, u);
        else if (self->step % 2 == 0)
            project(self, p, true, e, left, right, u);
        else
            project(self, p, false, e, right, left, u);
        dsgd_local_step(self, x, u);
        /*
         * A repaired worker contributes nothing to u. It has lost the values that it had not sent.
         */
        if (dsgd_has_joined(self))
            dsgd_combine(self, e, 0, 0, x);
    }
}

static int64_t power_sgd_period(const void *params, int n_workers)
{
    (void)params, (void)n_workers;
    return 2;
}

static const dsgd_option power_sgd_options[] = {
    DSGD_OPTION_LONG(power_sgd_params, rank, 2, 1, 1 << 16, NULL,
                     "number of columns of the factors; chunks that are too small for this rank "
                     "are sent as they are"),
    DSGD_OPTION_LONG(power_sgd_params, products, 1, 1, 2, NULL,
                     "number of products per step. 1: one factor, in turn (released code). 2: both "
                     "factors (the paper)"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_power_sgd = {
    .about = {.name = "power_sgd",
              .summary = "allreduce of low-rank factors, with error feedback",
              .reference = "Vogels, Karimireddy and Jaggi, NeurIPS 2019",
              DSGD_PARAMS(power_sgd_params, power_sgd_options)},
    .doc = {.idea = "A gradient is close to a matrix of low rank: send two thin factors, which can "
                    "be summed.",
            .rule = "A = g + e;  p <- orth(p);  q <- A^T p;  e <- A - p q^T;  u = p (mean of "
                    "q)^T;\nx <- x + U(u, x); in odd steps with p and q exchanged",
            .sends = "One allreduce of rank (rows + columns) / 2 numbers per matrix, on average.",
            .waits = "All workers wait for the slowest in every step."},
    .work = power_sgd_work,
    .period = power_sgd_period,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_ENCODES | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, DSGD_WITH({"rank", 1000})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"rank", 1000})}),
};
