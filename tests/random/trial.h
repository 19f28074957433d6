/**
 * @file trial.h
 * An experiment that is tested: the results of its plain run, and the results of runs with changes.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"
#include "tests/random/part.h"

typedef struct trial {
    const char *folder;
    const part *experiment;
    dsgd_csv runs, workers; /* tables runs.csv and workers.csv of the plain run */
    json_t *manifest;
    bool diverged; /* true if a run of the experiment diverged or failed */
} trial;

/**
 * The answer of a law that does not concern an experiment. If the answer is NULL, the law holds;
 * any other text is the fault.
 */
extern char not_asked[];

/**
 * trial_shell() runs a shell command in the folder, and trial_run() runs `dsgd ARGUMENTS`. Both
 * return the exit status, which is 128 or more if a signal ended the command.
 */
int trial_shell(const trial *t, char **output, const char *words);
int trial_run(const trial *t, char **output, const char *arguments);

/** Writes an experiment to the file FOLDER/NAME.yaml. */
void trial_write(const char *folder, const char *name, const part *experiment);

/**
 * Runs the experiment FILE.yaml, and writes its results to the folder NAME. Returns NULL or the
 * fault.
 */
char *trial_run_into(const trial *t, const char *name, const char *file, const char *options);

/**
 * Runs a changed experiment. trial_changed_s() returns the virtual time of its first run, and
 * trial_changed() its table of runs. If the experiment does not run, *why is the fault, or
 * not_asked if the program rejects the experiment; trial_changed_s() then returns NAN.
 */
double trial_changed_s(const trial *t, const char *name, const part *experiment, char **why);
dsgd_csv trial_changed(const trial *t, const char *name, const part *experiment, char **why);

double trial_value(const dsgd_csv *csv, size_t row, const char *column);
const char *trial_text(const dsgd_csv *csv, size_t row, const char *column);

/** Returns the description of the experiment's first run in the manifest. */
const json_t *trial_first(const trial *t);

double number_in(const json_t *of, const char *key);

/** Returns the number of hosts of a worker. */
double hosts_of(const json_t *run);

/**
 * Functions about the first algorithm of an experiment. algorithm_of() returns its name.
 * is_synchronous() returns true if all its exchanges are allreduces of all workers.
 */
const char *algorithm_of(const part *experiment);
bool is_synchronous(const part *experiment);

/**
 * Returns true if the exchanges of the algorithm end with the step and do not overlap with later
 * steps.
 */
bool ends_together(const part *experiment);

/** Returns true if the algorithm drops parts of gradients, or late gradients. */
bool drops_samples(const part *experiment);

/** Returns true if the experiment has failures of workers or links. */
bool fails(const trial *t);

/** Returns true if a compression sets its own number of bits per value or index. */
bool has_own_bits(const json_t *run);

/**
 * Returns true if a platform is a single switch whose hosts are all equal, and which has no nodes
 * of several hosts.
 */
bool is_plain_switch(const json_t *platform);

/** Returns the mapping or list under a key. If there is none, adds a new one. */
part *part_under(part *of, const char *key, part_kind kind);

/**
 * Returns the platform as a mapping whose keys can be set, or NULL if the experiment has no
 * platform.
 */
part *platform_of(part *experiment);

/**
 * Returns the experiment with only one algorithm, whose costs have closed forms, and with plain
 * exchanges.
 */
part plainly(const trial *t, const char *algorithm, const char *how);

/**
 * Returns true if no run diverged, the run has more than one worker, no worker fails, and only one
 * bound ends the run.
 */
bool exchanges(const trial *t);

/** Laws that units.c and bounds.c define. */
char *no_unit_is_hidden(const trial *t);
char *columns_agree(const trial *t);
char *work_is_conserved(const trial *t);
char *pipelines_have_their_bubbles(const trial *t);
char *no_nic_carries_more(const trial *t);
char *allreduces_send_their_bytes(const trial *t);
char *each_second_counts(const trial *t);
