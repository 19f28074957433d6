/**
 * @file checks.h Declarations that the files of sim/conformance/ share. No other file includes this
 * header.
 */
#pragma once

#include "sim/conformance/conformance.h"
#include "sim/run.h"

/** The state of the checks of one algorithm. */
typedef struct dsgd_tester {
    const dsgd_algorithm *algorithm;
    const dsgd_conformance *how;
    size_t *n; /* [DSGD_N_VERDICTS] number of checks that ended with each verdict */
    const dsgd_law *law; /* law that is tested now; NULL if the current check tests no law */
    bool hung, undefined;
    dsgd_error why; /* reason for the last answer, without the name of the algorithm, its options
                     * and P */
} dsgd_tester;

/** A setting: values for all options of the algorithm. */
typedef struct dsgd_setting {
    void *params;
    char text[200]; /* text with the options that differ from their defaults */
    /*
     * true if an option that is not a number differs from its default: a word, true or false, or an
     * entry of a registry
     */
    bool choice;
    bool encoding; /* true if the gradient compression differs from its default */
} dsgd_setting;

/* --- settings.c ------------------------------------------------------------------------------- */

dsgd_setting dsgd_setting_default(const dsgd_tester *t);

/**
 * Makes the setting with the options of a law. If the algorithm does not have these options,
 * returns an error and stores the reason in t->why.
 */
dsgd_status dsgd_setting_of_law(dsgd_tester *t, const dsgd_law *law, dsgd_setting *setting);

/** Calls visit() for each setting in which exactly one option differs from its default. */
void dsgd_setting_variations(dsgd_tester *t, void (*visit)(dsgd_tester *t, const dsgd_setting *s));

/* --- trial.c: small runs ---------------------------------------------------------------------- */

enum { DSGD_TRIAL_WORKERS = 16, DSGD_TRIAL_PARAMS = 40, DSGD_TRIAL_IMBALANCES = 3 };

/** A trial: a small run and everything that its configuration points to. */
typedef struct dsgd_trial {
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec imbalance[DSGD_TRIAL_IMBALANCES];
    dsgd_run_config config;
} dsgd_trial;

/** The outcome of a trial. The child process that runs the trial returns it. */
typedef struct dsgd_trial_outcome {
    double virtual_s, steps;
    uint64_t messages;
    /* loss of the first and the last evaluation; NAN if nothing is learned */
    double first_loss, last_loss;
    /*
     * Largest difference between the loss of an evaluation and the first loss, relative to the
     * first loss, and the virtual time of that evaluation.
     */
    double farthest, farthest_s;
    /* note of the run about requests or messages that were never completed; empty if the run has no
     * note */
    dsgd_error left;
    size_t n_params;
    /* mean of the models of workers and servers, at the start and at the end */
    double before[DSGD_TRIAL_PARAMS], after[DSGD_TRIAL_PARAMS];
    double x[DSGD_TRIAL_WORKERS][DSGD_TRIAL_PARAMS]; /* models of the workers at the end of the
                                                      * trial */
} dsgd_trial_outcome;

/**
 * Makes a trial with P workers on an idle switch (10 GB/s, 1 us). Each exchange has 1 MB in 3
 * chunks, and each step takes 1 s. The trial trains a linear regression with 33 parameters, batch
 * size 12, learning rate 0.05 and momentum 0.9. It ends after 20 steps.
 */
dsgd_trial *dsgd_trial_new(const dsgd_tester *t, const dsgd_setting *setting, int workers);

/**
 * Sets the number of chunks to @p pieces. If the algorithm needs more chunks, sets their number to
 * that minimum.
 */
void dsgd_trial_pieces(dsgd_trial *trial, int64_t pieces);

/**
 * Sets the number of training points to @p points instead of 2,048. The number of test points is an
 * eighth of it.
 */
void dsgd_trial_points(dsgd_trial *trial, int64_t points);

/**
 * Adds an imbalance entry of kind @p kind to the trial. If @p option is not NULL, sets that option
 * to @p value.
 */
void dsgd_trial_imbalance(dsgd_trial *trial, const char *kind, const char *option, double value);

/**
 * Changes a trial so that no two workers are in step, and so that some messages take longer than a
 * step.
 */
void dsgd_trial_disturb(dsgd_trial *trial);

/**
 * Functions for dsgd_run_config.prepare. dsgd_begin_different() gives the workers different models.
 * dsgd_begin_alike() gives all workers the same model, which contains no zeros.
 */
void dsgd_begin_different(struct dsgd_engine *engine, void *outcome);
void dsgd_begin_alike(struct dsgd_engine *engine, void *outcome);

/**
 * Runs a trial in a child process. Returns DSGD_EUSAGE if check() of the algorithm rejects the
 * options with this P. Returns DSGD_ERUNS, with the reason in t->why, if the run fails.
 */
dsgd_status dsgd_trial_run(dsgd_tester *t, const dsgd_trial *trial, dsgd_trial_outcome *outcome);

/** Answers a question with no: stores the reason in t->why and returns DSGD_ERUNS. */
#define dsgd_answer_no(t, ...) dsgd_fail(&(t)->why, DSGD_ERUNS, __VA_ARGS__)

/** Returns the relative distance ||a - b|| / ||b||. */
double dsgd_trial_distance(const double *a, const double *b, size_t n);

/** Returns the largest relative distance that counts as a rounding error. */
double dsgd_trial_rounding(const dsgd_tester *t);

/* --- the checks ------------------------------------------------------------------------------- */

/**
 * A question about the algorithm with one setting and one P. Returns DSGD_OK for yes, and
 * DSGD_ERUNS for no. Returns DSGD_EUSAGE if the algorithm rejects this P. If the answer is not yes,
 * t->why contains the reason. The function sets t->undefined if there is nothing to compare with.
 */
typedef dsgd_status dsgd_question(dsgd_tester *t, const dsgd_setting *setting, int workers);

/* The following questions are in laws.c. */
/* with P = 1, dsgd_is_allreduce compares with plain SGD */
dsgd_question dsgd_is_allreduce, dsgd_keeps_mean, dsgd_reaches_mean, dsgd_keeps_consensus;
/* The following questions are in endurance.c. */
dsgd_question dsgd_ends_and_repeats, dsgd_choice_ends_and_learns, dsgd_number_ends,
    dsgd_bears_a_slow_worker, dsgd_bears_delays;
