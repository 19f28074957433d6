/**
 * @file traffic.c
 * What is sent against what is declared: messages and bytes of a whole number of the algorithm's
 * periods, exactly. Counted from WARM_UP on, so that what happens once at the beginning is left
 * out.
 */
#include "sim/conformance/checks.h"

/* A prime number of steps at least: a period that is not declared does not divide it. */
enum { WARM_UP = 60, AT_LEAST = 73, LONGEST_PERIOD = 2000 };

/** Makes the trial one of times, WARM_UP steps long, and asks what is declared. */
static dsgd_status declared(dsgd_tester *t, dsgd_trial *trial, dsgd_declared *d)
{
    dsgd_trial_of_times(trial);
    trial->config.until = (dsgd_until){0};
    trial->config.steps_each = WARM_UP;
    dsgd_trial_imbalance(trial, "ramp", "seconds", 0.05); /* one worker comes first */
    DSGD_TRY(dsgd_trial_ask(t, trial, d));
    t->undefined = true;
    if (!d->traffic)
        return dsgd_refuse(&t->why, "it does not say what it sends");
    if (isnan(d->per_step.messages) || isnan(d->per_step.bytes))
        return dsgd_refuse(&t->why, "it says that what it sends depends on time, or on chance");
    if (d->period > LONGEST_PERIOD)
        return dsgd_refuse(&t->why, "it repeats itself after %jd steps, too many to be counted",
                           d->period);
    t->undefined = false;
    return DSGD_OK;
}

/** Demands a total of a rate; @p unit is absolute, for what is added up in floating point. */
static bool is_total(dsgd_tester *t, const char *what, double got, double rate, double n_steps,
                     double unit)
{
    const double want = rate * n_steps;
    const bool is_first = strchr(t->why.text, ':') == NULL;
    if (fabs(got - want) <= fmax(unit, 1e-9 * fabs(want)))
        return true;
    const size_t n = strlen(t->why.text);
    snprintf(t->why.text + n, sizeof t->why.text - n,
             "%s %.10g %s per worker and step are declared, but %.10g are sent",
             is_first ? ":" : ", and", rate, what, got / n_steps);
    return false;
}

static dsgd_status expect_traffic(dsgd_tester *t, dsgd_trial *trial)
{
    dsgd_declared want;
    dsgd_trial_outcome few;
    dsgd_trial_outcome more;
    DSGD_TRY(declared(t, trial, &want));
    const int64_t steps = (AT_LEAST + want.period - 1) / want.period * want.period;
    DSGD_TRY(dsgd_trial_run(t, trial, &few));
    trial->config.steps_each = WARM_UP + steps;
    DSGD_TRY(dsgd_trial_run(t, trial, &more));
    const double n = (double)steps * trial->config.workers;
    dsgd_fail(&t->why, DSGD_OK, "in steps %d to %jd", WARM_UP, WARM_UP + steps - 1);
    const bool messages = is_total(t, "messages", (double)(more.messages - few.messages),
                                   want.per_step.messages, n, 1e-3);
    const bool bytes = is_total(t, "bytes", more.bytes - few.bytes, want.per_step.bytes, n, 1e-3);
    return messages && bytes ? DSGD_OK : DSGD_ERUNS;
}

dsgd_status dsgd_sends_what_it_declares(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    return expect_traffic(t, dsgd_trial_new(t, setting, workers));
}

/**
 * Ends of stretches of steps, before the first that is counted by the check above, and after it.
 */
static const int64_t ends[] = {1, 2, 3, 12, 24, 36, 48, WARM_UP, 480};

/*
 * What happens once at the beginning may differ from what is declared, and later something may come
 * on top once; but after the first stretch that agrees none sends less: an exchange that is skipped
 * once is found.
 */
dsgd_status dsgd_sends_it_in_every_step(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
    dsgd_declared want;
    bool has_begun = false;
    double before = 0;
    int64_t from = 0;
    DSGD_TRY(declared(t, trial, &want));
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        const int64_t periods = k < 3 ? ends[k] : (ends[k] + want.period - 1) / want.period;
        const int64_t to = periods * want.period;
        dsgd_trial_outcome got;
        if (to <= from)
            continue;
        trial->config.steps_each = to;
        DSGD_TRY(dsgd_trial_run(t, trial, &got));
        const double n = (double)(to - from) * workers, messages = (double)got.messages;
        dsgd_fail(&t->why, DSGD_OK, "in steps %jd to %jd", from, to - 1);
        const bool agrees =
            is_total(t, "messages", messages - before, want.per_step.messages, n, 1e-3);
        if (has_begun && !agrees && messages - before < n * want.per_step.messages)
            return DSGD_ERUNS;
        has_begun = has_begun || agrees;
        before = messages;
        from = to;
    }
    return DSGD_OK;
}

dsgd_status dsgd_sends_it_by_any_exchange(dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    static const char *const names[] = {"pieces beside one another", "recursive doubling",
                                        "Rabenseifner", "a ring", "Bruck"};
    for (int way = 0; way < (int)(sizeof names / sizeof names[0]); way++) {
        dsgd_trial *const trial = dsgd_trial_new(t, setting, workers);
        trial->config.exchange.blocking = way != 0;
        trial->config.exchange.collective = (dsgd_collective)way; /* AUTO is 0 */
        const dsgd_status answer = expect_traffic(t, trial);
        const dsgd_error why = t->why;
        if (answer == DSGD_ERUNS)
            return dsgd_answer_no(t, "with %s, %s", names[way], why.text);
        DSGD_TRY(answer);
    }
    return DSGD_OK;
}
