/**
 * @file laws.c
 * Declared laws, and consensus: the models of a run against another's, or against what must
 * not change. A law that does not hold is tried again with 1, 2, ... steps, to name the first.
 */
#include "sim/conformance/checks.h"

/* --- identities ------------------------------------------------------------------------------- */

/** Of one worker plain SGD. */
static void allreduce_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        if (self->n_workers > 1)
            dsgd_allreduce_mean(self, g, DSGD_WORLD);
        dsgd_local_step(self, x, g);
    }
}

/** What is off by more than rounding. */
typedef struct difference {
    int worker; /* the first; of a mean 0; -1: nothing is off */
    double distance;
    uint64_t messages; /* of the last run */
} difference;

/** Runs the trial and compares. */
typedef dsgd_status comparison(dsgd_tester *t, const dsgd_trial *trial, difference *d);

/** Compares after @p most steps; where something is off, finds the first step after which it is. */
static dsgd_status find_first(dsgd_tester *t, dsgd_trial *trial, comparison *compare, int64_t most,
                              difference *d)
{
    trial->config.steps_each = most;
    DSGD_TRY(compare(t, trial, d));
    if (d->worker < 0)
        return DSGD_OK;
    trial->config.steps_each = 0;
    do
        trial->config.steps_each++;
    while (compare(t, trial, d) == DSGD_OK && d->worker < 0 && trial->config.steps_each < most);
    return DSGD_ERUNS;
}

/** The models with what allreduce makes. */
static dsgd_status compare_models(dsgd_tester *t, const dsgd_trial *trial, difference *d)
{
    dsgd_trial_outcome got;
    dsgd_trial_outcome want;
    const dsgd_algorithm allreduce = {.about = {.name = "allreduce"},
                                      .work = allreduce_work,
                                      .traits = trial->config.algorithm->traits & DSGD_OWN_BATCHES};
    dsgd_trial baseline = *trial;
    baseline.config.algorithm = &allreduce;
    baseline.config.params = NULL;
    *d = (difference){.worker = -1};
    DSGD_TRY(dsgd_trial_run(t, trial, &got));
    DSGD_TRY(dsgd_trial_run(t, &baseline, &want));
    for (int w = 0; w < trial->config.workers && d->worker < 0; w++) {
        d->distance = dsgd_trial_distance(got.x[w], want.x[w], got.n_params);
        if (!(d->distance <= dsgd_trial_rounding(t))) /* NAN is off, too */
            d->worker = w;
    }
    return DSGD_OK;
}

dsgd_status dsgd_is_allreduce(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    trial->learning.optimizer.weight_decay = 0.01;
    difference d;
    const dsgd_status answer = find_first(t, trial, compare_models, 16, &d);
    if (d.worker >= 0)
        dsgd_fail(&t->why, DSGD_OK, "after step %jd worker %d is off by %g from %s",
                  trial->config.steps_each - 1, d.worker, d.distance,
                  workers == 1 ? "plain SGD" : "allreduce");
    return answer;
}

/* --- conservation ----------------------------------------------------------------------------- */

/** The mean of the models with that at the beginning. */
static dsgd_status compare_means(dsgd_tester *t, const dsgd_trial *trial, difference *d)
{
    dsgd_trial_outcome got;
    *d = (difference){.worker = -1};
    DSGD_TRY(dsgd_trial_run(t, trial, &got));
    d->distance = dsgd_trial_distance(got.after, got.before, got.n_params);
    d->messages = got.messages;
    if (!(d->distance <= dsgd_trial_rounding(t)))
        d->worker = 0;
    return DSGD_OK;
}

dsgd_status dsgd_keeps_mean(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    trial->learning.optimizer.lr = 0;
    trial->config.prepare = dsgd_begin_different;
    dsgd_trial_disturb(trial);
    difference d;
    const dsgd_status answer = find_first(t, trial, compare_means, 15, &d);
    if (d.worker >= 0)
        dsgd_fail(&t->why, DSGD_OK, "after step %jd the mean of the models is off by %g",
                  trial->config.steps_each - 1, d.distance);
    t->undefined = answer == DSGD_OK && d.messages == 0;
    return !t->undefined ? answer : dsgd_answer_no(t, "no message is sent that could change it");
}

/** After steps enough for who mixes in one of ten to mix forty times. */
dsgd_status dsgd_reaches_mean(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    trial->learning.optimizer.lr = 0;
    trial->config.prepare = dsgd_begin_different;
    trial->config.until.steps = 400;
    dsgd_trial_disturb(trial);
    DSGD_TRY(dsgd_trial_run(t, trial, &got));
    for (int w = 0; w < workers; w++) {
        const double distance = dsgd_trial_distance(got.x[w], got.before, got.n_params);
        if (!(distance <= 1e-3)) /* above what is left to mix, below what a weight does */
            return dsgd_answer_no(t,
                                  "after %.3g steps without learning worker %d is off by %g from "
                                  "the mean of the models at the beginning",
                                  got.steps, w, distance);
    }
    return DSGD_OK;
}

/** Without learning all models stay as they began: at the end, and wherever they are evaluated. */
static dsgd_status stays(dsgd_tester *t, const dsgd_setting *setting, int workers, bool blocking)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    trial->learning.optimizer.lr = 0;
    trial->learning.evaluate.every = 1.0 / workers; /* also amid the exchanges of others */
    trial->config.exchange.blocking = blocking;
    dsgd_trial_points(trial, 64); /* evaluations are many, and what the loss is does not matter */
    trial->config.prepare = dsgd_begin_alike;
    dsgd_trial_disturb(trial);
    DSGD_TRY(dsgd_trial_run(t, trial, &got));
    if (got.farthest <= dsgd_trial_rounding(t))
        return DSGD_OK;
    return dsgd_answer_no(
        t,
        "without learning, an evaluation at %.3g s finds models that are off by %g from those at "
        "the beginning; sums and shares under way belong into another vector than dsgd_model(), "
        "and what changes it without a gradient (a weight decay of its own) is off by default",
        got.farthest_s, got.farthest);
}

dsgd_status dsgd_keeps_consensus(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    DSGD_TRY(stays(t, setting, workers, true));
    return stays(t, setting, workers, false);
}
