/**
 * @file laws.c
 * Declared laws, and consensus: the models of a run against those of another, or against what must
 * not change. A law that does not hold is tried again with 1, 2, ... steps, to name the first.
 */
#include <math.h>

#include "sim/conformance/checks.h"

/* --- identities ------------------------------------------------------------------------------- */

static void alone_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
    }
}

static void together_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self);
    dsgd_vector *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_allreduce_mean(self, g, DSGD_WORLD);
        dsgd_local_step(self, x, g);
    }
}

static const dsgd_algorithm alone = {.about = {.name = "plain SGD"}, .work = alone_work};
static const dsgd_algorithm together = {.about = {.name = "allreduce"}, .work = together_work};

/** How far a worker is off. */
typedef struct difference {
    int worker; /* the first that is off by more than rounding; -1: none */
    double distance;
} difference;

static dsgd_answer differ_after(dsgd_tester *t, dsgd_trial *trial, const dsgd_algorithm *other,
                                long steps, difference *d)
{
    dsgd_trial_outcome got;
    dsgd_trial_outcome want;
    trial->config.steps_each = steps;
    dsgd_trial baseline = *trial;
    dsgd_trial_algorithm(&baseline, other);
    dsgd_answer answer = dsgd_trial_run(t, trial, &got);
    if (answer == DSGD_ANSWER_YES)
        answer = dsgd_trial_run(t, &baseline, &want);
    *d = (difference){-1, 0};
    for (int w = 0; answer == DSGD_ANSWER_YES && w < trial->config.workers && d->worker < 0; w++) {
        d->distance = dsgd_trial_distance(got.x[w], want.x[w], got.n_params);
        if (!(d->distance <= dsgd_trial_rounding(t))) /* NAN is off, too */
            d->worker = w;
    }
    return answer;
}

static dsgd_answer is_like(dsgd_tester *t, const dsgd_setting *setting, int workers,
                           const dsgd_algorithm *other)
{
    enum { STEPS = 16 };
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    trial->learning.optimizer.weight_decay = 0.01;
    difference d;
    dsgd_answer answer = differ_after(t, trial, other, STEPS, &d);
    if (answer != DSGD_ANSWER_YES || d.worker < 0)
        return answer;
    difference first = {-1, 0};
    long n = 0;
    while (answer == DSGD_ANSWER_YES && first.worker < 0 && n < STEPS)
        answer = differ_after(t, trial, other, ++n, &first);
    if (first.worker >= 0)
        d = first;
    dsgd_fail(&t->why, DSGD_OK, "after step %ld worker %d is off by %g from %s", n - 1, d.worker,
              d.distance, other->about.name);
    return DSGD_ANSWER_NO;
}

dsgd_answer dsgd_is_plain_sgd(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    return is_like(t, setting, workers, &alone);
}

dsgd_answer dsgd_is_allreduce(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    return is_like(t, setting, workers, &together);
}

/* --- conservation ----------------------------------------------------------------------------- */

/** How far the mean of the models is from that at the beginning. */
static dsgd_answer move_after(dsgd_tester *t, dsgd_trial *trial, long steps, double *distance)
{
    dsgd_trial_outcome got;
    trial->config.steps_each = steps;
    const dsgd_answer answer = dsgd_trial_run(t, trial, &got);
    if (answer == DSGD_ANSWER_YES)
        *distance = dsgd_trial_distance(got.after, got.before, got.n_params);
    return answer;
}

dsgd_answer dsgd_keeps_mean(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    enum { STEPS = 15 };
    const double rounding = dsgd_trial_rounding(t);
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    trial->learning.optimizer.lr = 0;
    dsgd_trial_spread(trial);
    dsgd_trial_disturb(t, trial);
    double distance = 0;
    dsgd_answer answer = move_after(t, trial, STEPS, &distance);
    if (answer != DSGD_ANSWER_YES || distance <= rounding)
        return answer;
    distance = 0;
    long n = 0;
    while (answer == DSGD_ANSWER_YES && distance <= rounding && n < STEPS)
        answer = move_after(t, trial, ++n, &distance);
    if (answer == DSGD_ANSWER_YES)
        dsgd_fail(&t->why, DSGD_OK, "after step %ld the mean of the models is off by %g", n - 1,
                  distance);
    return DSGD_ANSWER_NO;
}

dsgd_answer dsgd_keeps_weight(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    for (int i = 0; i < (t->how->brief ? 2 : 6); i++) {
        dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
        dsgd_trial_outcome got;
        const double end_s = 3.3 + 3.1 * i;
        trial->config.until = (dsgd_until){.seconds = end_s};
        dsgd_trial_disturb(t, trial);
        const dsgd_answer answer = dsgd_trial_run(t, trial, &got);
        if (answer != DSGD_ANSWER_YES)
            return answer;
        if (!(fabs(got.weight - workers) <= 1e-12 * workers)) {
            dsgd_fail(&t->why, DSGD_OK,
                      "at %g s, after %.3g steps of a worker on average, the push-sum weights sum "
                      "to %.10g, not %d",
                      end_s, got.steps, got.weight, workers);
            return DSGD_ANSWER_NO;
        }
    }
    return DSGD_ANSWER_YES;
}

/** Without learning all models stay as they began: at the end, and wherever they are evaluated. */
static dsgd_answer stays(dsgd_tester *t, const dsgd_setting *setting, int workers, bool blocking)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    trial->learning.optimizer.lr = 0;
    trial->learning.evaluate.every = 1.0 / workers; /* also amid the exchanges of others */
    trial->config.exchange.blocking = blocking;
    dsgd_trial_points(trial, 64); /* evaluations are many, and what the loss is does not matter */
    dsgd_trial_begin_alike(trial);
    dsgd_trial_disturb(t, trial);
    const dsgd_answer answer = dsgd_trial_run(t, trial, &got);
    if (answer != DSGD_ANSWER_YES || got.farthest <= dsgd_trial_rounding(t))
        return answer;
    dsgd_fail(
        &t->why, DSGD_OK,
        "without learning, an evaluation at %.3g s finds models that are off by %g from those "
        "at the beginning; sums and shares under way belong into another vector than "
        "dsgd_model()",
        got.farthest_s, got.farthest);
    return DSGD_ANSWER_NO;
}

dsgd_answer dsgd_keeps_consensus(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    const dsgd_answer answer = stays(t, setting, workers, true);
    return answer == DSGD_ANSWER_YES ? stays(t, setting, workers, false) : answer;
}
