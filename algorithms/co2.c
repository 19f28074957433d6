/**
 * @file co2.c
 * CO2: local SGD in rounds; the mean change of a round is exchanged beside the next round, and
 * feeds an outer momentum.
 *
 * W. Sun et al., "CO2: efficient distributed training with full communication-computation overlap",
 * ICLR 2024. Written from descriptions of it: its two safeguards are there, but the staleness gap
 * is measured as in S. Barkai et al., "Gap-aware mitigation of gradient staleness", ICLR 2020, in
 * lengths of what is late, and defaults are ours. Without them it is DiLoCo with a delay of a round
 * and heavy-ball momentum; streaming_diloco delays by fewer steps and keeps what is done meanwhile.
 */
#include "sim/algorithm.h"

typedef struct co2_params {
    int64_t period; /* tau */
    double outer_lr, outer_momentum;
    double clip;
    bool penalty;
} co2_params;

static void co2_work(dsgd_node *self)
{
    const co2_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    dsgd_vector *start = dsgd_vector_new(self); /* of the round, the same everywhere */
    dsgd_vector *change = dsgd_vector_new(self);
    dsgd_vector *mean = dsgd_vector_new(self); /* of the changes of the round before */
    dsgd_vector *u = dsgd_vector_new(self); /* outer momentum; its last step led to `start` */
    dsgd_request *round = NULL;
    double gap = 1;
    dsgd_copy(self, start, x);

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        if ((self->step + 1) % p->period != 0)
            continue;
        if (round != NULL)
            dsgd_allreduce_end(self, round, mean);
        dsgd_copy(self, change, start);
        dsgd_combine(self, change, 1, -1, x);
        round = dsgd_allreduce_begin(self, change, DSGD_WORLD);
        if (p->penalty) { /* how far s has moved meanwhile */
            const double moved = p->outer_lr * dsgd_norm(self, u), late = dsgd_norm(self, mean);
            gap = late > 0 ? 1 + moved / late : 1;
        }
        dsgd_combine(self, u, p->outer_momentum, 1 / gap, mean);
        dsgd_clip(self, u, p->clip);
        dsgd_combine(self, start, 1, -p->outer_lr, u);
        dsgd_copy(self, x, start);
    }
}

static const dsgd_option co2_options[] = {
    DSGD_OPTION_LONG(co2_params, period, 12, 1, 1e9, "steps", "tau, local steps per round"),
    DSGD_OPTION_DOUBLE(co2_params, outer_lr, 0.7, 0, 100, NULL, "alpha, outer learning rate"),
    DSGD_OPTION_DOUBLE(co2_params, outer_momentum, 0.2, 0, 1, NULL, "beta, outer momentum"),
    DSGD_OPTION_DOUBLE(co2_params, clip, 1, 0, 1e9, NULL,
                       "phi, largest absolute value of an element of the outer momentum"),
    DSGD_OPTION_BOOL(co2_params, penalty, true, "divide what is late by the staleness gap"),
    DSGD_OPTION_END,
};

const dsgd_algorithm dsgd_algorithm_co2 = {
    .about = {.name = "co2",
              .summary = "rounds of local steps whose exchange hides behind the next round",
              .reference = "Sun et al., ICLR 2024",
              DSGD_PARAMS(co2_params, co2_options)},
    .doc = {.idea = "Give an exchange a whole round of local steps to hide behind, and trust what "
                    "comes so late the less the more has happened since.",
            .rule =
                "x <- x + U(g, x, t);  every tau steps D = mean of (s - x) of the round before, "
                "u <- clip(beta u + D / (1 + |last step of s| / |D|), phi), s <- s - alpha u, "
                "x <- s.  diloco's D is of this round; it has Nesterov momentum, no penalty",
            .sends = "one allreduce of the model every tau steps: about 2 N / tau bytes",
            .waits = "nobody, if an exchange takes no longer than a round of the slowest"},
    .work = co2_work,
    .traffic = dsgd_allreduce_per_period,
    .sends = DSGD_SENDS_ALLREDUCES,
    .reads = DSGD_READS_TO_COMPUTE,
    .laws = DSGD_LAWS({DSGD_LAW_PLAIN_SGD, DSGD_WITH({"period", 1000})}, /* within a round */
                      {DSGD_LAW_KEEPS_MEAN, DSGD_WITH({"period", 3})}),
};
