/**
 * @file trial.h A tried experiment: the results of its plain run, and of runs with changes.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"
#include "tests/random/part.h"

typedef struct trial {
    const char *folder;
    const part *experiment;
    dsgd_csv runs, workers; /* results of the plain run */
    json_t *manifest;
    bool diverged; /* some run */
} trial;

/**
 * The answer of a law that does not concern an experiment. NULL means that the law holds; any other
 * text is the fault.
 */
extern char not_asked[];

/**
 * Runs a shell command in the folder, or `dsgd ARGUMENTS`. Returns its exit status, 128 or more for
 * a signal.
 */
int trial_shell(const trial *t, char **output, const char *words);
int trial_run(const trial *t, char **output, const char *arguments);

/** Writes an experiment to FOLDER/NAME.yaml. */
void trial_write(const char *folder, const char *name, const part *experiment);

/** Runs FILE.yaml into the folder NAME. Returns NULL, or the fault. */
char *trial_run_into(const trial *t, const char *name, const char *file, const char *options);

/**
 * Runs a changed experiment. Returns the virtual time of its first run, or NAN with *why if it does
 * not run (not_asked if it is rejected); or all columns.
 */
double trial_changed_s(const trial *t, const char *name, const part *experiment, char **why);
dsgd_csv trial_changed(const trial *t, const char *name, const part *experiment, char **why);

double trial_value(const dsgd_csv *csv, size_t row, const char *column);
const char *trial_text(const dsgd_csv *csv, size_t row, const char *column);

/** Returns the first run as its manifest describes it. */
const json_t *trial_first(const trial *t);

double number_in(const json_t *of, const char *key);

/** Returns the number of hosts of a worker. */
double hosts_of(const json_t *run);

/**
 * Properties of the first algorithm. Returns true if no time determines which workers exchange with
 * which.
 */
const char *algorithm_of(const part *experiment);
bool is_synchronous(const part *experiment);

/**
 * Returns true if the exchanges of the algorithm end with the step and do not overlap with later
 * steps.
 */
bool ends_together(const part *experiment);

/** Returns true if parts of gradients, or late gradients, are dropped. */
bool drops_samples(const part *experiment);

/** Removes the learning, if the algorithm does not need it. */

/** Returns true if workers fail. */
bool fails(const trial *t);

/** Returns true if a compression sets its own number of bits of a value or index. */
bool has_own_bits(const json_t *run);

/**
 * Returns true if a platform is a single switch without other hosts and without hosts near each
 * other.
 */
bool is_plain_switch(const json_t *platform);

/** Returns the mapping or list under a key, or a new one if there is none. */
part *part_under(part *of, const char *key, part_kind kind);

/** Returns the platform as a mapping whose keys can be set, or NULL if there is none. */
part *platform_of(part *experiment);

/**
 * Returns the experiment with an algorithm whose costs have closed forms, and without other
 * effects.
 */
part plainly(const trial *t, const char *algorithm, const char *how);

/**
 * Returns true if there are other workers to send to, no worker fails, and each run ends with a
 * step.
 */
bool exchanges(const trial *t);

/** Laws of units.c and bounds.c. */
char *no_unit_is_hidden(const trial *t);
char *columns_agree(const trial *t);
char *work_is_conserved(const trial *t);
char *pipelines_have_their_bubbles(const trial *t);
char *no_nic_carries_more(const trial *t);
char *allreduces_send_their_bytes(const trial *t);
char *each_second_counts(const trial *t);
