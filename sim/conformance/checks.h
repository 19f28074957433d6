/**
 * @file checks.h Declarations that the checks share. Only for the files of this folder.
 */
#pragma once

#include "sim/conformance/conformance.h"
#include "sim/run.h"

/** The state of the checks of one algorithm. */
typedef struct dsgd_tester {
    const dsgd_algorithm *algorithm;
    const dsgd_conformance *how;
    size_t *n; /* [DSGD_N_VERDICTS] */
    const dsgd_law *law; /* law that is tested; NULL if none is */
    bool hung, undefined;
    dsgd_error why; /* reason for the current answer, without algorithm, options and P */
} dsgd_tester;

/** Values of the algorithm's options. */
typedef struct dsgd_setting {
    void *params;
    char text[200]; /* options that differ from their defaults */
    bool choice; /* true if an option that is a word, yes or no, or a pick differs */
    bool encoding; /* true if the gradient compression differs */
} dsgd_setting;

/* --- settings.c ------------------------------------------------------------------------------- */

dsgd_setting dsgd_setting_default(const dsgd_tester *t);

/** Makes the setting of a law. Rejects, in t->why, options that the algorithm does not have. */
dsgd_status dsgd_setting_of_law(dsgd_tester *t, const dsgd_law *law, dsgd_setting *setting);

/** Calls visit() for every setting that differs from the defaults in one option. */
void dsgd_setting_variations(dsgd_tester *t, void (*visit)(dsgd_tester *t, const dsgd_setting *s));

/* --- trial.c: small runs ---------------------------------------------------------------------- */

enum { DSGD_TRIAL_WORKERS = 16, DSGD_TRIAL_PARAMS = 40, DSGD_TRIAL_IMBALANCES = 3 };

/** A run and everything that its configuration points to. */
typedef struct dsgd_trial {
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec imbalance[DSGD_TRIAL_IMBALANCES];
    dsgd_run_config config;
} dsgd_trial;

/** The outcome of a trial. */
typedef struct dsgd_trial_outcome {
    double virtual_s, steps;
    uint64_t messages;
    double first_loss, last_loss; /* NAN if nothing is learned */
    /* Largest change of an evaluation relative to the first loss, and its virtual time. */
    double farthest, farthest_s;
    dsgd_error left; /* note of the run, or empty */
    size_t n_params;
    /* mean of the models of workers and servers */
    double before[DSGD_TRIAL_PARAMS], after[DSGD_TRIAL_PARAMS];
    double x[DSGD_TRIAL_WORKERS][DSGD_TRIAL_PARAMS]; /* models at the end */
} dsgd_trial_outcome;

/**
 * Makes a trial: P workers on an idle switch (10 GB/s, 1 us), 1 MB per exchange in 3 chunks, 1 s
 * per step; a linear regression with 33 parameters, batch size 12, learning rate 0.05, momentum
 * 0.9. It ends after 20 steps.
 */
dsgd_trial *dsgd_trial_new(const dsgd_tester *t, const dsgd_setting *setting, int workers);

/** Sets the number of chunks to @p pieces, or to as many as the algorithm needs. */
void dsgd_trial_pieces(dsgd_trial *trial, int64_t pieces);

/**
 * Sets the number of training points to @p points, and of test points to an eighth of them, instead
 * of 2,048.
 */
void dsgd_trial_points(dsgd_trial *trial, int64_t points);

/** Adds an imbalance entry with one option set; @p option may be NULL. */
void dsgd_trial_imbalance(dsgd_trial *trial, const char *kind, const char *option, double value);

/** Changes a trial so that no two workers are in step, and messages take longer than some steps. */
void dsgd_trial_disturb(dsgd_trial *trial);

/**
 * Functions for dsgd_run_config.prepare: workers start with different models, or with the same
 * model, which has no zeros.
 */
void dsgd_begin_different(struct dsgd_engine *engine, void *outcome);
void dsgd_begin_alike(struct dsgd_engine *engine, void *outcome);

/**
 * Runs a trial in a child process. Returns DSGD_EUSAGE if check() rejects the options with this P,
 * and DSGD_ERUNS, with the reason in t->why, if something goes wrong.
 */
dsgd_status dsgd_trial_run(dsgd_tester *t, const dsgd_trial *trial, dsgd_trial_outcome *outcome);

/** Answers no, with a sentence in t->why. */
#define dsgd_answer_no(t, ...) dsgd_fail(&(t)->why, DSGD_ERUNS, __VA_ARGS__)

/** Returns ||a - b|| / ||b||. */
double dsgd_trial_distance(const double *a, const double *b, size_t n);

/** Returns the largest relative distance that counts as rounding. */
double dsgd_trial_rounding(const dsgd_tester *t);

/* --- the checks ------------------------------------------------------------------------------- */

/**
 * The answer to a question at one P. Returns DSGD_OK for yes. Otherwise t->why has a sentence, and
 * the result is DSGD_EUSAGE if the algorithm rejects this P, and DSGD_ERUNS for no. t->undefined is
 * set if there is nothing to compare with.
 */
typedef dsgd_status dsgd_question(dsgd_tester *t, const dsgd_setting *setting, int workers);

/* laws.c */
/* dsgd_is_allreduce compares with plain SGD if P = 1 */
dsgd_question dsgd_is_allreduce, dsgd_keeps_mean, dsgd_reaches_mean, dsgd_keeps_consensus;
/* endurance.c */
dsgd_question dsgd_ends_and_repeats, dsgd_choice_ends_and_learns, dsgd_number_ends,
    dsgd_bears_a_slow_worker, dsgd_bears_delays;
