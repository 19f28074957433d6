/**
 * @file source.h
 * What a command is to look at: an experiment file, or a folder of its results.
 */
#ifndef DSGD_COMMAND_RUNS_SOURCE_H
#define DSGD_COMMAND_RUNS_SOURCE_H

#include "command/console/arguments.h"
#include "command/experiment/experiment.h"

typedef struct dsgd_source {
    const char *path; /* of a file, or of a folder */
    const dsgd_texts *sets;
    int numerics; /* dsgd_numerics */
    long run; /* the run that is wanted, counted from 1; 0: all */
} dsgd_source;

/**
 * Opens the experiment. Of a folder it is the file that its manifest names, whose wanted runs have
 * to be what the folder has (DSGD_EUSAGE); a run that there is not is the caller's to refuse.
 */
dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error);

#endif
