/**
 * @file checks.h
 * What the checks share. Not for others.
 */
#pragma once

#include "sim/conformance/conformance.h"
#include "sim/run.h"

/** The checks of one algorithm. */
typedef struct dsgd_tester {
    const dsgd_algorithm *algorithm;
    const dsgd_conformance *how;
    size_t *n; /* [DSGD_N_VERDICTS] */
    const dsgd_law *law; /* that is tested; NULL: none */
    bool hung, undefined;
    dsgd_error why; /* of the answer under way; without algorithm, options and P */
} dsgd_tester;

/** Options of the algorithm. */
typedef struct dsgd_setting {
    void *params;
    char text[200]; /* options that differ from their defaults */
    bool choice; /* differs by a word, yes and no, or a pick */
    bool encoding; /* differs by what is sent of a vector */
} dsgd_setting;

/* --- settings.c ------------------------------------------------------------------------------- */

dsgd_setting dsgd_setting_default(const dsgd_tester *t);

/** The setting of a law; refuses, in t->why, one of options that the algorithm does not have. */
dsgd_status dsgd_setting_of_law(dsgd_tester *t, const dsgd_law *law, dsgd_setting *setting);

/** Visits the settings that differ from the defaults in one option. */
void dsgd_setting_variations(dsgd_tester *t, void (*visit)(dsgd_tester *t, const dsgd_setting *s));

/* --- trial.c: small runs ---------------------------------------------------------------------- */

enum { DSGD_TRIAL_WORKERS = 16, DSGD_TRIAL_PARAMS = 40, DSGD_TRIAL_IMBALANCES = 3 };

/** A run and everything that it points to. */
typedef struct dsgd_trial {
    dsgd_platform platform;
    dsgd_workload workload;
    dsgd_learning learning;
    dsgd_spec imbalance[DSGD_TRIAL_IMBALANCES];
    dsgd_run_config config;
} dsgd_trial;

/** What came out. */
typedef struct dsgd_trial_outcome {
    double virtual_s, steps;
    uint64_t messages;
    double bytes;
    double first_loss, last_loss; /* NAN without learning */
    double farthest,
        farthest_s; /* largest change of an evaluation since the first, relative; when */
    dsgd_error left; /* what the run notes, or nothing */
    size_t n_params;
    double before[DSGD_TRIAL_PARAMS], after[DSGD_TRIAL_PARAMS]; /* mean of workers and servers */
    double x[DSGD_TRIAL_WORKERS][DSGD_TRIAL_PARAMS]; /* models at the end */
} dsgd_trial_outcome;

/**
 * P workers on an idle switch (10 GB/s, 1 us), 1 MB per exchange in 3 pieces, 1 s per step; a
 * linear regression of 33 parameters, batch 12, learning rate 0.05, momentum 0.9; ends after 20
 * steps.
 */
dsgd_trial *dsgd_trial_new(const dsgd_tester *t, const dsgd_setting *setting, int workers);

/** So many pieces, or as many as its algorithm needs. */
void dsgd_trial_pieces(dsgd_trial *trial, int64_t pieces);

/** So many points to train on, and an eighth of them to test on, instead of 2,048. */
void dsgd_trial_points(dsgd_trial *trial, int64_t points);

/** Adds an imbalance entry with one option set; NULL: none. */
void dsgd_trial_imbalance(dsgd_trial *trial, const char *kind, const char *option, double value);

/** Nobody is in step with anybody, and messages take longer than some steps. */
void dsgd_trial_disturb(dsgd_trial *trial);

/** For dsgd_run_config.prepare: all begin with models of their own; with one, nowhere 0. */
void dsgd_begin_different(struct dsgd_engine *engine, void *outcome);
void dsgd_begin_alike(struct dsgd_engine *engine, void *outcome);

/**
 * Runs it in a child process. DSGD_EUSAGE where check() does not want these options with this P;
 * DSGD_ERUNS with what went wrong in t->why.
 */
dsgd_status dsgd_trial_run(dsgd_tester *t, const dsgd_trial *trial, dsgd_trial_outcome *outcome);

/** The answer no, with a sentence in t->why. */
#define dsgd_answer_no(t, ...) dsgd_fail(&(t)->why, DSGD_ERUNS, __VA_ARGS__)

/** ||a - b|| / ||b||. */
double dsgd_trial_distance(const double *a, const double *b, size_t n);

/** Relative distance that is rounding. */
double dsgd_trial_rounding(const dsgd_tester *t);

/* --- what is checked -------------------------------------------------------------------------- */

/**
 * An answer at one P: DSGD_OK; else with a sentence in t->why DSGD_EUSAGE where the algorithm
 * refuses it, or t->undefined is set, as there is nothing to compare with; DSGD_ERUNS: no.
 */
typedef dsgd_status dsgd_question(dsgd_tester *t, const dsgd_setting *setting, int workers);

/* laws.c */
/* dsgd_is_allreduce: or, at P = 1, plain SGD */
dsgd_question dsgd_is_allreduce, dsgd_keeps_mean, dsgd_reaches_mean, dsgd_keeps_consensus;
/* endurance.c */
dsgd_question dsgd_ends_and_repeats, dsgd_choice_ends_and_learns, dsgd_number_ends,
    dsgd_bears_a_slow_worker, dsgd_bears_delays;
