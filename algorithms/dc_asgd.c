/**
 * @file dc_asgd.c
 * DC-ASGD: an asynchronous parameter server that corrects each gradient to the model that it meets.
 *
 * S. Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017,
 * Algorithms 1 and 2, with the optimizer at the server. The paper's constants are of CIFAR-10. Its
 * correction, which grows with the square of a gradient, has no bound: where delay and learning
 * rate are large it explodes.
 */
#include "sim/algorithm.h"

typedef struct dc_asgd_params {
    int form;
    double lambda; /* lambda_0 */
    double decay; /* m */
    double bound;
} dc_asgd_params;

enum { ADAPTIVE, CONSTANT };
static const double epsilon = 1e-7;

static void dc_asgd_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        const bool joins = dsgd_has_joined(self); /* it asks for the model alone */
        if (!joins)
            dsgd_gradient(self, g, x);
        dsgd_send(self, dsgd_server_address(self, 0), joins ? NULL : g, NULL, 0);
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        if (l != NULL)
            dsgd_copy(self, x, l->x);
    }
}

/** The model to a worker, and what it is. */
static void give(dsgd_node *self, int worker, dsgd_vector *given, double *updates_given,
                 double updates)
{
    *updates_given = updates;
    dsgd_copy(self, given, dsgd_model(self));
    dsgd_send(self, worker, dsgd_model(self), NULL, 0);
}

static void dc_asgd_serve(dsgd_node *self)
{
    const dc_asgd_params *p = self->params;
    const size_t n = (size_t)self->n_workers;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *square = dsgd_vector_new(self);
    dsgd_vector *mean_square = dsgd_vector_new(self);
    dsgd_vector *root = dsgd_vector_new(self);
    dsgd_vector *gap = dsgd_vector_new(self); /* from the model of the gradient to x */
    dsgd_vector **given = dsgd_memory_new(self, n, sizeof *given); /* to each worker: w_bak */
    double *updates_given = dsgd_numbers_new(self, n), updates = 0; /* in these models */
    for (size_t i = 0; i < n; i++) {
        given[i] = dsgd_vector_new(self);
        dsgd_copy(self, given[i], x);
    }

    for (;;) {
        const dsgd_message *l = dsgd_recv(self, INFINITY);
        const int worker = l->from;
        if (l->x == NULL) {
            give(self, worker, given[worker], &updates_given[worker], updates);
            continue;
        }
        dsgd_message_used(self, l, (int64_t)(updates - updates_given[worker]));
        dsgd_copy(self, g, l->x);
        dsgd_copy(self, gap, x);
        dsgd_combine(self, gap, 1, -1, given[worker]);
        dsgd_multiply(self, gap, g);
        if (p->form == ADAPTIVE) {
            dsgd_copy(self, square, g);
            dsgd_multiply(self, square, g);
            dsgd_combine(self, mean_square, p->decay, 1 - p->decay, square);
            dsgd_copy(self, root, mean_square);
            dsgd_root(self, root, epsilon);
            dsgd_divide_by(self, gap, root, 0);
        }
        dsgd_combine(self, gap, p->lambda, 0, gap);
        dsgd_clip(self, gap, p->bound); /* lambda g (x - w_bak), by which g changes */
        dsgd_multiply(self, gap, g);
        dsgd_combine(self, g, 1, 1, gap);
        dsgd_local_step(self, x, g);
        give(self, worker, given[worker], &updates_given[worker], ++updates);
    }
}

static const char *const form_words[] = {"adaptive", "constant", NULL};

static const dsgd_option dc_asgd_options[] = {
    DSGD_OPTION_CHOICE(dc_asgd_params, form, form_words,
                       "lambda over the root of the mean square of gradients, or as it is"),
    DSGD_OPTION_DOUBLE(dc_asgd_params, lambda, 2, 0, 1e6, NULL,
                       "lambda_0; the paper's constant one is 0.04; 0: asynchronous SGD"),
    DSGD_OPTION_DOUBLE(dc_asgd_params, decay, 0.95, 0, 1, NULL, "m, of the mean square"),
    DSGD_OPTION_DOUBLE(dc_asgd_params, bound, 1, 0, 1e9, NULL,
                       "largest correction of an element, as a multiple of it; the paper has none"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_dc_asgd = {
    .about = {.name = "dc_asgd",
              .summary = "asynchronous server that corrects gradients for their delay",
              .reference = "Zheng et al., ICML 2017",
              DSGD_PARAMS(dc_asgd_params, dc_asgd_options)},
    .doc = {.idea = "A gradient comes to a model that has moved: extrapolate it, with its own "
                    "square for the Hessian's diagonal.",
            .rule = "server: x <- x + U(g + g clip(lambda g (x - w), bound), x) by elements, w the "
                    "model that the worker had;  adaptive: s <- m s + (1 - m) g g, lambda = "
                    "lambda_0 / sqrt(s + 1e-7)",
            .sends = "N up and N down in every step; one server's link carries P times that",
            .waits = "a worker for the server's link, never for another's computation. One server: "
                     "several would count delays of their own"},
    .work = dc_asgd_work,
    .serve = dc_asgd_serve,
    .output = DSGD_OUTPUT_SERVERS,
    .traffic = dsgd_push_and_fetch_per_step,
    .rejoins = true,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD}, {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"form", CONSTANT})}),
};
