/**
 * @file provenance.h
 * The manifest of an experiment, and the experiment of a folder of results.
 */
#pragma once

#include <jansson.h>

#include "command/console/arguments.h"
#include "command/experiment/experiment.h"

typedef struct dsgd_results_config {
    const char *folder; /* of the results */
    const dsgd_experiment *experiment;
    const char *command; /* the command line */
    const dsgd_texts *plugins; /* files; NULL: none */
    int numerics; /* dsgd_numerics; auto: on a GPU, where it can */
    bool force; /* results of another experiment are forgotten */
} dsgd_results_config;

/**
 * Of all runs. Beside the experiment it has what else decides results: the program with its
 * plug-ins, and files of data; EIO where one of them cannot be read.
 */
dsgd_status dsgd_manifest_new(const dsgd_results_config *config, json_t **manifest,
                              dsgd_error *error);

/** What a command is to look at: an experiment file, or a folder of its results. */
typedef struct dsgd_source {
    const char *path; /* of a file, or of a folder */
    const dsgd_texts *sets;
    int numerics; /* dsgd_numerics */
    int64_t run; /* the run that is wanted, counted from 1; 0: all */
} dsgd_source;

/**
 * Opens the experiment. Of a folder it is the file that its manifest names, whose wanted runs have
 * to be what the folder has (DSGD_EUSAGE); a run that there is not is the caller's to refuse.
 */
dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error);
