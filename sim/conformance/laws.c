/**
 * @file laws.c Questions about declared laws and about consensus. The functions compare the models
 * of a run with the models of another run, or with a quantity that must not change. If a law does
 * not hold, the run is repeated with 1, 2, ... steps to find the first step at which the law fails.
 */
#include "sim/conformance/checks.h"

/* --- identities of algorithms ----------------------------------------------------------------- */

/** The function work() of allreduce SGD, or of plain SGD if there is only one worker. */
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

/** The result of a comparison. A difference counts only if it is larger than rounding errors. */
typedef struct difference {
    /* first worker whose model differs; 0 if a mean differs, -1 if there is no difference */
    int worker;
    double distance;
    uint64_t messages; /* number of messages of the run that is compared */
} difference;

/** A function that runs the trial and compares its outcome with the expected one. */
typedef dsgd_status comparison(dsgd_tester *t, const dsgd_trial *trial, difference *d);

/**
 * Compares the outcomes after @p most steps. If there is a difference, finds the first step after
 * which there is a difference.
 */
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

/** Compares the workers' models with the models of a run of allreduce. */
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
        /* a distance of NAN counts as a difference */
        if (!(d->distance <= dsgd_trial_rounding(t)))
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

/* --- conservation of sums --------------------------------------------------------------------- */

/** Compares the mean of the models at the end with their mean at the start. */
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
    return !t->undefined ? answer
                         : dsgd_answer_no(t, "the algorithm sends no message that could change it");
}

/**
 * Answers whether all models converge to their initial mean. An algorithm that mixes in only one of
 * ten steps mixes forty times in this run.
 */
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
        /*
         * the limit 1e-3 is larger than the differences that mixing leaves, and smaller than the
         * effect of a wrong weight
         */
        if (!(distance <= 1e-3))
            return dsgd_answer_no(t,
                                  "after %.3g steps without learning worker %d is off by %g from "
                                  "the mean of the models at the start",
                                  got.steps, w, distance);
    }
    return DSGD_OK;
}

/**
 * Answers whether all models keep their initial values without learning, at every evaluation and at
 * the end.
 */
static dsgd_status stays(dsgd_tester *t, const dsgd_setting *setting, int workers, bool blocking)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    trial->learning.optimizer.lr = 0;
    /*
     * evaluates after each step of each worker, and therefore also during the exchanges of other
     * workers
     */
    trial->learning.evaluate.every = 1.0 / workers;
    trial->config.exchange.blocking = blocking;
    /*
     * uses few points, because there are many evaluations and the value of the loss does not matter
     */
    dsgd_trial_points(trial, 64);
    trial->config.prepare = dsgd_begin_alike;
    dsgd_trial_disturb(trial);
    DSGD_TRY(dsgd_trial_run(t, trial, &got));
    if (got.farthest <= dsgd_trial_rounding(t))
        return DSGD_OK;
    return dsgd_answer_no(
        t,
        "without learning, an evaluation at %.3g s finds models that differ by %g from those at "
        "the "
        "start. Keep sums and shares under way in another vector than dsgd_model(), and switch off "
        "by default what changes it without a gradient (such as the algorithm's own weight decay)",
        got.farthest_s, got.farthest);
}

dsgd_status dsgd_keeps_consensus(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    DSGD_TRY(stays(t, setting, workers, true));
    return stays(t, setting, workers, false);
}
