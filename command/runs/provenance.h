/**
 * @file provenance.h
 * Makes the manifest of an experiment, and opens the experiment of a results folder.
 */
#pragma once

#include <jansson.h>

#include "command/console/arguments.h"
#include "command/experiment/experiment.h"

typedef struct dsgd_results_config {
    const char *folder; /* path of the results folder */
    const dsgd_experiment *experiment;
    const char *command; /* command line that produces the results */
    const dsgd_texts *plugins; /* files of the loaded plug-ins; NULL if no plug-ins are loaded */
    int numerics; /* device that computes gradients, a value of dsgd_numerics; `auto` selects a GPU
                   * if there is one */
    bool force; /* true if results of another experiment in the folder may be replaced */
} dsgd_results_config;

/**
 * Makes the manifest of all runs. It contains the experiment and everything else that determines
 * results: the program with its plug-ins, libraries, and data files. Returns DSGD_EIO if a file
 * cannot be read.
 */
dsgd_status dsgd_manifest_new(const dsgd_results_config *config, json_t **manifest,
                              dsgd_error *error);

/**
 * Source of the runs of a command: an experiment file, or a folder with results of an experiment.
 */
typedef struct dsgd_source {
    const char *path; /* path of an experiment file or of a results folder */
    const dsgd_texts *sets;
    int numerics; /* device that computes gradients, a value of dsgd_numerics */
    int64_t run; /* number of the wanted run, from 1; 0 selects all runs */
} dsgd_source;

/**
 * Opens the experiment of a source. If the source is a results folder, opens the experiment file
 * that the folder's manifest names. Returns DSGD_EUSAGE if a wanted run differs from the run in the
 * folder. The caller must check that the wanted run exists.
 */
dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error);
