/**
 * @file eager.c
 * Eager-SGD, solo and majority: one worker that arrives starts the sum of gradients. The sum uses
 * the present contents of the other workers' send buffers.
 *
 * S. Li et al., "Taming unbalanced training workloads in deep learning with partial collective
 * operations", PPoPP 2020, figure 7. If a worker misses a sum or applies a sum twice, its model
 * drifts away from the other models until all models are synchronised.
 */
#include "sim/algorithm.h"

typedef struct eager_params {
    int late; /* treatment of late gradients, as an index into late_words */
    int64_t limiter; /* number of steps between two synchronous steps; -1 if off */
    int64_t period; /* number of steps between two averages of all models; -1 if off */
} eager_params;

enum { LATE_DISCARD = 1 };

static void eager_work(dsgd_node *self, dsgd_initiator initiator)
{
    const eager_params *p = self->params;
    const int64_t synchronous_every = p->limiter > 0 ? p->limiter + 1 : 0;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *late = dsgd_vector_new(self);
    const dsgd_partial_spec spec = {.initiator = initiator,
                                    .draining = true,
                                    .discarding = p->late == LATE_DISCARD,
                                    .period = synchronous_every};
    /* The send buffer B of the partial sum holds zeros until the first gradient. */
    dsgd_partial *sum = dsgd_partial_new(self, spec, NULL);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (synchronous_every > 0 && (self->step + 1) % synchronous_every == 0) {
            dsgd_partial_take(self, sum, late);
            dsgd_combine(self, g, 1, 1, late);
            dsgd_allreduce_sum(self, g, DSGD_WORLD);
        } else {
            dsgd_partial_sum(self, sum, g, g); /* adds g to the send buffer, then sets g to the
                                                * latest sum */
        }
        /* Late workers have contributed zeros, so the number of workers P is always the divisor. */
        dsgd_divide(self, g, self->n_workers);
        dsgd_local_step(self, x, g);
        if (p->period > 0 && (self->step + 1) % p->period == 0)
            dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

static void eager_solo_work(dsgd_node *self)
{
    eager_work(self, DSGD_FIRST_ARRIVER);
}

static void eager_majority_work(dsgd_node *self)
{
    eager_work(self, DSGD_RANDOM_WORKER);
}

static dsgd_status eager_check(const void *params, int n_workers, dsgd_error *error)
{
    (void)params;
    return dsgd_check_power_of_two("eager-SGD", n_workers, error);
}

/** Returns the least common multiple of the values of options `limiter` and `period`. */
static int64_t eager_period(const void *params, int n_workers)
{
    (void)n_workers;
    const eager_params *p = params;
    const int64_t limiter = p->limiter > 0 ? p->limiter + 1 : 1;
    const int64_t period = p->period > 0 ? p->period : 1;
    int64_t both = period;
    while (both % limiter != 0)
        both += period;
    return both;
}

static const char *const late_words[] = {"accumulate", "discard", NULL};
static const char *const off[] = {"off", NULL};

static const dsgd_option eager_options[] = {
    DSGD_OPTION_CHOICE(eager_params, late, late_words,
                       "late gradients. accumulate: added to the worker's next gradient (the "
                       "paper). discard: dropped (released code)"),
    DSGD_OPTION_LONG(eager_params, limiter, -1, 1, 1e9, "steps",
                     "number of steps after which one step is synchronous, which bounds staleness "
                     "(32 in the released code; the paper has no limiter)",
                     .words = off),
    DSGD_OPTION_LONG(eager_params, period, 1564, 1, 1e9, "steps",
                     "number of steps between two averages of all models, without which the "
                     "replicas drift apart (the paper's \"periodically\", section 5). The default "
                     "is 10 epochs of ImageNet with 64 workers of 128 samples",
                     .words = off),
    DSGD_OPTION_END,
};

#define EAGER_RULE                                                                                 \
    "B <- B + g;  R <- sum of all B as they are when the sum starts, which empties them;  "        \
    "x <- x + U(R / P, x, t).  R is the latest complete sum. A worker that is late misses "        \
    "earlier sums, and applies R twice if there is no newer one"
#define EAGER_SENDS                                                                                \
    "One allreduce of the gradient, and activations of 4 bytes: about 2 N bytes, or log2(P) N "    \
    "with recursive doubling."

static const dsgd_law eager_laws[] = {{DSGD_LAW_PLAIN_SGD},
                                      {DSGD_LAW_PLAIN_SGD, DSGD_WITH({"limiter", 4})},
                                      {DSGD_LAW_KEEPS_MEAN},
                                      {DSGD_LAW_END}};

const dsgd_algorithm dsgd_algorithm_eager_solo = {
    .about = {.name = "eager_solo",
              .summary = "the sum of gradients starts when the first worker arrives",
              .reference = "Li et al., PPoPP 2020, section 4 (solo) and figure 7",
              DSGD_PARAMS(eager_params, eager_options)},
    .doc = {.idea = "Do not wait: the sum starts when the first worker arrives, and takes from the "
                    "other workers what they have.",
            .rule = EAGER_RULE,
            .sends = EAGER_SENDS,
            .waits = "No worker waits for another's computation, only for the messages of the sum. "
                     "All workers wait for the slowest in synchronous steps (`limiter`) and at "
                     "averages of models (`period`)."},
    .check = eager_check,
    .work = eager_solo_work,
    .period = eager_period,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_QUORUM_COPIES,
    .laws = eager_laws,
};

const dsgd_algorithm dsgd_algorithm_eager_majority = {
    .about = {.name = "eager_majority",
              .summary = "the sum of gradients starts when a random worker arrives; on average "
                         "half have arrived",
              .reference = "Li et al., PPoPP 2020, section 4 (majority) and figure 7",
              DSGD_PARAMS(eager_params, eager_options)},
    .doc = {.idea = "Wait a little: the sum starts when one worker, drawn at random for each step, "
                    "arrives. On average half of the workers have arrived by then.",
            .rule = EAGER_RULE,
            .sends = EAGER_SENDS,
            .waits = "Workers that arrive earlier wait for the worker that was drawn. All workers "
                     "wait for the slowest at averages of models (`period`)."},
    .check = eager_check,
    .work = eager_majority_work,
    .period = eager_period,
    .traits = DSGD_SENDS_COLLECTIVES | DSGD_DRAWS | DSGD_QUORUM_COPIES,
    .laws = eager_laws,
};
