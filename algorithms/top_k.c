/**
 * @file top_k.c
 * Top-k with error feedback: allreduce SGD that sends only the largest elements and keeps the other
 * elements for later steps.
 *
 * A. F. Aji, K. Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017; S.
 * U. Stich, J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with memory", NeurIPS 2018. The optimizer
 * applies its momentum after the mean. Option `correction` applies momentum before the selection
 * instead, as in Y. Lin et al., "Deep gradient compression", ICLR 2018. If dense vectors need fewer
 * bytes than sparse vectors, dense vectors with 2 N (P - 1) / P bytes are sent.
 */
#include "sim/algorithm.h"

typedef struct top_k_params {
    dsgd_selection select;
    double correction; /* momentum that is applied before the selection; -1 if off */
} top_k_params;

static void top_k_work(dsgd_node *self)
{
    const top_k_params *p = self->params;
    const dsgd_spec encoding = dsgd_encoding_of("top_k", &p->select);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *m = dsgd_vector_new(self);
    dsgd_vector *e = dsgd_vector_new(self);
    dsgd_vector *q = dsgd_vector_new(self);
    dsgd_vector *sent = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        /* A repaired worker has lost the values that it had not sent. */
        if (dsgd_has_joined(self)) {
            dsgd_combine(self, e, 0, 0, x);
            dsgd_combine(self, m, 0, 0, x);
        }
        dsgd_gradient(self, g, x);
        if (p->correction >= 0) { /* updates the momentum with g and adds the momentum to the
                                   * residual e */
            dsgd_combine(self, m, p->correction, 1, g);
            dsgd_combine(self, e, 1, 1, m);
        } else {
            dsgd_combine(self, e, 1, 1, g); /* adds g to the residual e */
        }
        dsgd_encode(self, q, e, &encoding);
        dsgd_combine(self, e, 1, -1, q); /* removes the sent elements q from the residual e */
        if (p->correction >= 0) { /* sets the momentum m to 0 for the elements that q contains */
            dsgd_copy(self, sent, m);
            dsgd_mask(self, sent, q);
            dsgd_combine(self, m, 1, -1, sent);
        }
        dsgd_allreduce_mean(self, q, DSGD_WORLD); /* sets q to the mean of q over all workers, by an
                                                   * allgather */
        dsgd_local_step(self, x, q);
    }
}

static const char *const off[] = {"off", NULL};

static const dsgd_option top_k_options[] = {
    DSGD_OPTION_AS("density", DOUBLE, top_k_params, select.share,
                   "share of the elements of a chunk that are sent, at least one element",
                   .init = 0.01, .max = 1, .unit = "share"),
    DSGD_OPTION_AS("value_bits", LONG, top_k_params, select.value_bits,
                   "bits of a value on the wire", .init = 32, .min = 1, .max = 64),
    DSGD_OPTION_AS("index_bits", LONG, top_k_params, select.index_bits,
                   "bits of an index on the wire", .init = 32, .max = 64),
    DSGD_OPTION_DOUBLE(
        top_k_params, correction, -1, 0, 1, NULL,
        "momentum of each worker's own gradients, applied before the selection and set to 0 where "
        "elements are sent (DGC); the optimizer's momentum should then be 0",
        .words = off),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_top_k = {
    .about = {.name = "top_k",
              .summary = "allreduce of the largest elements, with error feedback",
              .reference = "Aji and Heafield, EMNLP 2017; correction: Lin et al. (DGC), ICLR 2018",
              DSGD_PARAMS(top_k_params, top_k_options)},
    .doc = {.idea = "Send the largest values now, and keep the rest until they are large.",
            .rule =
                "e <- e + g;  q = the k largest of |e|;  e <- e - q;  x <- x + U((1/P) sum q, x)",
            .sends = "k values and indices to all others: 2 density N (P - 1) bytes.",
            .waits = "All workers wait for the slowest in every step."},
    .work = top_k_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_ENCODES | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, DSGD_WITH({"density", 1})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"density", 1})}),
};
