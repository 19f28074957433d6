/**
 * @file endurance.c Questions about properties that every algorithm must have without declaring
 * them. A run must end, even with long delays. It must give the same results each time. It must
 * take the same virtual time whether or not models are computed. And it must learn.
 */
#include "sim/conformance/checks.h"

/** Runs the trial twice with models and once without models. Answers no if the results differ. */
static dsgd_status repeats(dsgd_tester *t, dsgd_trial *trial, dsgd_trial_outcome *one)
{
    dsgd_trial_outcome other;
    DSGD_TRY(dsgd_trial_run(t, trial, one));
    DSGD_TRY(dsgd_trial_run(t, trial, &other));
    if (one->virtual_s != other.virtual_s || one->messages != other.messages ||
        memcmp(one->x, other.x, (size_t)trial->config.workers * sizeof one->x[0]) != 0)
        return dsgd_answer_no(t, "the same run twice gives different results");
    trial->config.numerics = DSGD_NUMERICS_OFF;
    DSGD_TRY(dsgd_trial_run(t, trial, &other));
    if (other.virtual_s != one->virtual_s || other.messages != one->messages)
        return dsgd_answer_no(
            t, "its time or its number of messages depends on whether models are computed");
    return DSGD_OK;
}

dsgd_status dsgd_ends_and_repeats(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    dsgd_trial_disturb(trial);
    DSGD_TRY(repeats(t, trial, &got));
    return got.left.text[0] == '\0' ? DSGD_OK : dsgd_answer_no(t, "%s", got.left.text);
}

static dsgd_status learns(dsgd_tester *t, const dsgd_setting *setting, int workers, bool blocking)
{
    /*
     * numbers of steps; runs with compression need more steps, because errors of compression add up
     */
    enum { STEPS = 60, BRIEF_STEPS = 20, TIMES_ENCODED = 5 };
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_outcome got;
    dsgd_trial_disturb(trial);
    trial->learning.optimizer = (dsgd_optimizer){.lr = 0.01};
    /* true if the output is the servers' model, which changes only after a round */
    const bool at_servers = t->algorithm->traits & DSGD_OUTPUT_SERVERS;
    trial->config.until.steps =
        fmax((t->how->brief ? BRIEF_STEPS : STEPS) * (setting->encoding ? TIMES_ENCODED : 1),
             at_servers ? 2 * (double)dsgd_period(&trial->config) : 0);
    trial->config.exchange.blocking = blocking;
    DSGD_TRY(repeats(t, trial, &got));
    if (got.last_loss < got.first_loss)
        return DSGD_OK;
    return dsgd_answer_no(t, "the loss is %g at the start and %g after %g steps", got.first_loss,
                          got.last_loss, trial->config.until.steps);
}

dsgd_status dsgd_choice_ends_and_learns(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    DSGD_TRY(learns(t, setting, workers, true));
    return t->how->brief ? DSGD_OK : learns(t, setting, workers, false);
}

/** Runs the trial with disturbances and without models. Answers no if the run does not end. */
static dsgd_status ends(dsgd_tester *t, dsgd_trial *trial)
{
    dsgd_trial_outcome got;
    dsgd_trial_disturb(trial);
    trial->config.learning = NULL;
    return dsgd_trial_run(t, trial, &got);
}

dsgd_status dsgd_number_ends(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    return ends(t, dsgd_trial_new(t, setting, workers));
}

dsgd_status dsgd_bears_a_slow_worker(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_trial_imbalance(trial, "slow", "factor", 100);
    return ends(t, trial);
}

/**
 * Tests random delays, which can last many steps. The trials have different numbers of chunks, are
 * blocking or not, and overlap or not.
 */
dsgd_status dsgd_bears_delays(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    for (uint64_t seed = 1; seed <= (t->how->brief ? 2 : 6); seed++) {
        dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
        dsgd_trial_outcome got;
        dsgd_trial_imbalance(trial, "delay", "seconds", 3.7);
        dsgd_trial_imbalance(trial, "quantiles", NULL, 0);
        static double percent[] = {0, 50, 95, 100};
        static double seconds[] = {0, 0.2, 2, 9};
        *(dsgd_table *)trial->imbalance[1].params = (dsgd_table){4, percent, seconds};
        trial->config.learning = NULL;
        trial->config.seed = seed;
        trial->workload.bytes = seed < 4 ? 1e9 : 1e3;
        dsgd_trial_pieces(trial, (int64_t)seed);
        trial->config.exchange.blocking = seed % 3 != 0;
        trial->config.exchange.overlap = seed % 4 != 0;
        trial->config.until.steps = t->how->brief ? 20 : 60;
        DSGD_TRY(dsgd_trial_run(t, trial, &got));
    }
    return DSGD_OK;
}
