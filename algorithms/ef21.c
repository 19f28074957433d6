/**
 * @file ef21.c
 * EF21: allreduce SGD that sends compressed changes of gradients. Every worker stores the sum of
 * the changes that have been sent.
 *
 * P. Richtarik, I. Sokolov, I. Fatkhullin, "EF21: a new, simpler, theoretically better, and
 * practically faster error feedback", NeurIPS 2021, Algorithm 2 with g_i = C(gradient) in the first
 * step. The paper has a server; in this file every worker stores the server's state. Gradients are
 * computed on mini-batches (the paper's section on stochastic gradients), and the optimizer takes
 * the step.
 */
#include "sim/algorithm.h"

typedef struct ef21_params {
    dsgd_spec encoding;
} ef21_params;

static void ef21_work(dsgd_node *self)
{
    const ef21_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *mine = dsgd_vector_new(self); /* g_i, the sum of the changes that this worker has
                                                * sent */
    dsgd_vector *mean = dsgd_vector_new(self); /* (1/P) times the sum of g_i over all workers i */
    dsgd_vector *c = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_copy(self, c, g);
        dsgd_combine(self, c, 1, -1, mine);
        dsgd_encode(self, c, c, &p->encoding); /* c <- the compressed change C(g - g_i) */
        dsgd_combine(self, mine, 1, 1, c);
        dsgd_allreduce_mean(self, c, DSGD_WORLD); /* c <- mean of the compressed changes of all
                                                   * workers */
        dsgd_combine(self, mean, 1, 1, c);
        dsgd_local_step(self, x, mean);
    }
}

static dsgd_status ef21_check(const void *params, int n_workers, dsgd_error *error)
{
    const ef21_params *p = params;
    (void)n_workers;
    if (dsgd_encoding_feeds_back(&p->encoding))
        return dsgd_refuse(error, "ef21: encoding must be without feedback, because the difference "
                                  "of the gradient and g_i keeps the error. Leave out feedback");
    if (dsgd_encoding_sums_again(&p->encoding))
        return dsgd_refuse(error, "ef21: encoding must not compress sums, because g would then "
                                  "differ from the mean of g_i. Use reduce: gather");
    return dsgd_encoding_check_contracts(&p->encoding, "ef21", "and g_i diverges", error);
}

static const dsgd_option ef21_options[] = {
    DSGD_OPTION_ENCODING(ef21_params, encoding, "sign", "compression of the changes of gradients"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ef21 = {
    .about = {.name = "ef21",
              .summary = "allreduce of compressed changes of gradients",
              .reference = "Richtarik, Sokolov and Fatkhullin, NeurIPS 2021",
              DSGD_PARAMS(ef21_params, ef21_options)},
    .doc = {.idea = "All workers know each other's last gradients approximately: send only a "
                    "compressed change of the gradient.",
            .rule = "c_i = C(gradient - g_i);  g_i <- g_i + c_i;  g <- g + (1/P) sum c_i;  x <- x "
                    "+ U(g, x)",
            .sends = "One allreduce of compressed vectors, with an exact sum.",
            .waits = "All workers wait for the slowest in every step."},
    .work = ef21_work,
    .check = ef21_check,
    .traits = DSGD_SENDS_COLLECTIVES,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, DSGD_WITH({"encoding=none", 0})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"encoding=none", 0})}),
};
