/**
 * @file my_algorithm.c
 * Local SGD whose averages become rare: all models are averaged after `period` steps, then after
 * twice as many steps, and so on.
 *
 * Each worker takes part in one allreduce of the model per average.
 */
#include "sim/algorithm.h"

/** The options of an experiment. The table doubling_options fills them in. */
typedef struct doubling_params {
    int64_t period;
} doubling_params;

/** The program of one worker: straight-line code in virtual time. */
static void doubling_work(dsgd_node *self)
{
    const doubling_params *p = self->params;
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    int64_t period = p->period;
    int64_t last = period - 1; /* step that ends with the next average */

    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g); /* adds the optimizer's update U(g, x, t) to x */
        if (self->step == last) {
            dsgd_allreduce_mean(self, x, DSGD_WORLD); /* x <- mean of all models; waits for all
                                                       * workers */
            period *= 2;
            last += period;
        }
    }
}

/**
 * Arguments: struct, field (its name is the key in the file), default, minimum, maximum, unit,
 * help.
 */
static const dsgd_option doubling_options[] = {
    DSGD_OPTION_LONG(doubling_params, period, 4, 1, 1e9, "steps",
                     "number of local steps before the first average; doubles with each average"),
    DSGD_OPTION_END,
};

static const dsgd_algorithm doubling = {
    .about = {.name = "doubling",
              .summary = "local steps; all models are averaged after periods that double",
              .reference = "an example",
              DSGD_PARAMS(doubling_params, doubling_options)},
    .work = doubling_work,
    .laws = DSGD_LAWS(
        {.kind = DSGD_LAW_PLAIN_SGD},
        {.kind = DSGD_LAW_KEEPS_MEAN, .with = DSGD_WITH({.option = "period", .value = 1})}),
};

static const dsgd_algorithm *const list[] = {&doubling, NULL};

/** The list that the program reads when it loads this plug-in. */
const dsgd_plugin dsgd_plugin_algorithms = {DSGD_PLUGIN_ABI, list};
