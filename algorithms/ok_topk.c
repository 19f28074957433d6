/**
 * @file ok_topk.c
 * Ok-Topk: top-k SGD with a sparse allreduce. The traffic does not grow with the number of workers
 * P.
 *
 * S. Li, T. Hoefler, "Near-optimal sparse allreduce for distributed deep learning", PPoPP 2022. The
 * vector has one region per worker. Each worker sums the selected elements of its region. Then the
 * k largest elements of the whole sum are gathered. An element that a worker selects may be missing
 * in the sum. This element stays in the worker's residual.
 *
 * This file differs from the paper in three points. Both selections are exact in every step; the
 * paper reuses thresholds for tau' steps. Regions always have equal numbers of selected elements;
 * the balancing costs no time. Workers do not send the sizes of messages in messages of their own.
 */
#include "sim/algorithm.h"

typedef struct ok_topk_params {
    dsgd_selection select;
} ok_topk_params;

static void ok_topk_work(dsgd_node *self)
{
    const ok_topk_params *p = self->params;
    const dsgd_spec encoding = dsgd_encoding_of("top_k", &p->select);
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *e = dsgd_vector_new(self);
    dsgd_vector *mine = dsgd_vector_new(self);
    dsgd_vector *u = dsgd_vector_new(self);

    while (dsgd_next_step(self)) {
        if (dsgd_has_joined(self))
            dsgd_combine(self, e, 0, 0, x); /* a repaired worker has lost the values that it had not
                                             * sent */
        dsgd_gradient(self, g, x);
        dsgd_combine(self, e, 1, 1, g); /* adds g to the residual e */
        dsgd_encode(self, mine, e, &encoding);
        dsgd_copy(self, u, mine);
        dsgd_allreduce_mean(self, u, DSGD_WORLD); /* u <- the mean's largest elements */
        dsgd_mask(self, mine, u);
        /* Removes the elements that are in both selections from the residual e. */
        dsgd_combine(self, e, 1, -1, mine);
        dsgd_local_step(self, x, u);
    }
}

/* words for the values of the constants DSGD_REDUCE_* */
static const char *const reduce_words[] = {"gather", "regions", NULL};

static const dsgd_option ok_topk_options[] = {
    DSGD_OPTION_AS("density", DOUBLE, ok_topk_params, select.share,
                   "share of the elements of a chunk that are selected, at least one element",
                   .init = 0.02, .max = 1, .unit = "share"),
    DSGD_OPTION_AS("value_bits", LONG, ok_topk_params, select.value_bits,
                   "bits of a value on the wire", .init = 32, .min = 1, .max = 64),
    DSGD_OPTION_AS("index_bits", LONG, ok_topk_params, select.index_bits,
                   "bits of an index on the wire", .init = 32, .max = 64),
    DSGD_OPTION_AS("reduce", CHOICE, ok_topk_params, select.common.reduce,
                   "reduction. regions: sums by region, then the largest elements. gather: all "
                   "values of all workers, which grow with P (TopkA)",
                   .words = reduce_words, .init = DSGD_REDUCE_REGIONS),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ok_topk = {
    .about = {.name = "ok_topk",
              .summary = "sparse allreduce by regions, with error feedback",
              .reference = "Li and Hoefler, PPoPP 2022",
              DSGD_PARAMS(ok_topk_params, ok_topk_options)},
    .doc =
        {.idea =
             "Sum sparse vectors region by region, and send only the largest elements of the sum.",
         .rule = "e <- e + g;  q = top-k of e;  u = top-k of (1/P) sum q;  e <- e - q where u "
                 "is not 0;  x <- x + U(u, x)",
         .sends = "4 k (P - 1) / P values, with an index counted as a value: at most 4 density N "
                  "bytes, for any P.",
         .waits = "All workers wait for the slowest in every step."},
    .work = ok_topk_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_ENCODES | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, DSGD_WITH({"density", 1})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"density", 1})}),
};
