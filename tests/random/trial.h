/**
 * @file trial.h
 * An experiment that is tried: the results of its plain run, and runs of what is changed in it.
 */
#pragma once

#include <jansson.h>

#include "base/csv.h"
#include "tests/random/part.h"

typedef struct trial {
    const char *folder;
    const part *experiment;
    dsgd_csv runs, workers; /* of the plain run */
    json_t *manifest;
    bool diverged; /* some run */
} trial;

/** What a law says of an experiment that it is not about; NULL: it holds; else what is wrong. */
extern char not_asked[];

/** The exit status of a command of the shell in the folder, or of `dsgd ARGUMENTS`; 128 and more
 * for a signal. */
int trial_shell(const trial *t, char **output, const char *words);
int trial_run(const trial *t, char **output, const char *arguments);

/** Writes an experiment as FOLDER/NAME.yaml. */
void trial_write(const char *folder, const char *name, const part *experiment);

/** Runs FILE.yaml into the folder NAME; NULL, or what went wrong. */
char *trial_run_into(const trial *t, const char *name, const char *file, const char *options);

/** A changed experiment's first run; *why where it does not run (refused: not_asked): its virtual
 * time, NAN then, or all columns. */
double trial_changed_s(const trial *t, const char *name, const part *experiment, char **why);
dsgd_csv trial_changed(const trial *t, const char *name, const part *experiment, char **why);

double trial_value(const dsgd_csv *csv, size_t row, const char *column);
const char *trial_text(const dsgd_csv *csv, size_t row, const char *column);

/** The first run as its manifest has it. */
const json_t *trial_first(const trial *t);

double number_in(const json_t *of, const char *key);

/** Hosts of a worker. */
double hosts_of(const json_t *run);

/** Of its first algorithm: whether no time decides who exchanges what with whom. */
const char *algorithm_of(const part *experiment);
bool is_synchronous(const part *experiment);

/** Whether it is one of those whose exchanges end with the step, and none hides behind the next
 * ones. */
bool ends_together(const part *experiment);

/** Whether parts of gradients, or late ones, are dropped. */
bool drops_samples(const part *experiment);

/** What does not learn, where the algorithm can do without. */

/** Whether workers fail. */
bool fails(const trial *t);

/** Whether an encoding says how many bits a value or its index takes, whatever numbers take. */
bool has_own_bits(const json_t *run);

/** Of one switch: whether no other hosts are in it, and none nearer to each other. */
bool is_plain_switch(const json_t *platform);

/** The mapping or list under a key; a new one where there is none. */
part *part_under(part *of, const char *key, part_kind kind);

/** The platform as a mapping, of which keys can be set; NULL: it has none. */
part *platform_of(part *experiment);

/** The experiment by an algorithm whose costs have closed forms, and nothing else in the way. */
part plainly(const trial *t, const char *algorithm, const char *how);

/** Whether there are others to send to, nobody fails, and each run ends with a step. */
bool exchanges(const trial *t);

/** Laws of units.c and of bounds.c. */
char *no_unit_is_hidden(const trial *t);
char *columns_agree(const trial *t);
char *work_is_conserved(const trial *t);
char *pipelines_have_their_bubbles(const trial *t);
char *no_nic_carries_more(const trial *t);
char *allreduces_send_their_bytes(const trial *t);
char *each_second_counts(const trial *t);
