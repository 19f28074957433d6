/**
 * @file ok_topk.c
 * Ok-Topk: top-k whose allreduce is sparse too, with traffic that does not grow with P.
 *
 * S. Li, T. Hoefler, "Near-optimal sparse allreduce for distributed deep learning", PPoPP 2022. The
 * selected elements are added region by region, one region per worker, and the k largest of the
 * sum are gathered; what was selected here but not there stays in the residual. Other than in the
 * paper both selections are exact in every step (the paper reuses thresholds for tau' steps),
 * regions have equal numbers of selected elements at no cost, and sizes need no messages.
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
            dsgd_combine(self, e, 0, 0, x); /* what was not sent is lost */
        dsgd_gradient(self, g, x);
        dsgd_combine(self, e, 1, 1, g); /* e <- e + g */
        dsgd_encode(self, mine, e, &encoding);
        dsgd_copy(self, u, mine);
        dsgd_allreduce_mean(self, u, DSGD_WORLD); /* u <- Q((1/P) sum Q(e)) */
        dsgd_mask(self, mine, u);
        dsgd_combine(self, e, 1, -1, mine); /* less what was selected here and there */
        dsgd_local_step(self, x, u);
    }
}

static const char *const reduce_words[] = {"gather", "regions", NULL}; /* DSGD_REDUCE_* */

static const dsgd_option ok_topk_options[] = {
    DSGD_OPTION_AS("density", DOUBLE, ok_topk_params, select.share,
                   "share of the elements of a piece that are selected; at least one", .init = 0.02,
                   .max = 1, .unit = "share"),
    DSGD_OPTION_AS("value_bits", LONG, ok_topk_params, select.value_bits, "bits of a value",
                   .init = 32, .min = 1, .max = 64),
    DSGD_OPTION_AS("index_bits", LONG, ok_topk_params, select.index_bits, "bits of its index",
                   .init = 32, .max = 64),
    DSGD_OPTION_AS("reduce", CHOICE, ok_topk_params, select.common.reduce,
                   "regions; or gather, all values of all, which grow with P (TopkA)",
                   .words = reduce_words, .init = DSGD_REDUCE_REGIONS),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_ok_topk = {
    .about = {.name = "ok_topk",
              .summary = "sparse allreduce in regions, with error feedback",
              .reference = "Li and Hoefler, PPoPP 2022",
              DSGD_PARAMS(ok_topk_params, ok_topk_options)},
    .doc = {.idea = "Add sparse vectors region by region, and send only the largest of the sum.",
            .rule = "e <- e + g;  q = top-k of e;  u = top-k of (1/P) sum q;  e <- e - q where u "
                    "is not 0;  x <- x + U(u, x)",
            .sends =
                "4 k (P - 1) / P values, where an index counts as a value: at most 4 density N "
                "bytes, at any P",
            .waits = "everyone for the slowest, in every step. Regions are reduced in about log2 P "
                     "rounds of messages; the paper sends P - 1, one to each region: where latency "
                     "counts this is faster than the paper's"},
    .work = ok_topk_work,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_ENCODES | DSGD_QUORUM,
    .laws = DSGD_LAWS({DSGD_LAW_ALLREDUCE, DSGD_WITH({"density", 1})},
                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"density", 1})}),
};
