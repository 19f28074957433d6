/**
 * @file provenance.h
 * Makes the manifest of an experiment, and opens the experiment of a results folder.
 */
#pragma once

#include <jansson.h>

#include "command/console/arguments.h"
#include "command/experiment/experiment.h"

typedef struct dsgd_results_config {
    const char *folder; /* results folder */
    const dsgd_experiment *experiment;
    const char *command; /* command line */
    const dsgd_texts *plugins; /* files of plug-ins; NULL if there are none */
    int numerics; /* dsgd_numerics; auto means a GPU if there is one */
    bool force; /* replaces results of another experiment */
} dsgd_results_config;

/**
 * Makes the manifest of all runs. In addition to the experiment it contains everything else that
 * decides results: the program with its plug-ins, and data files. Returns DSGD_EIO if one of them
 * cannot be read.
 */
dsgd_status dsgd_manifest_new(const dsgd_results_config *config, json_t **manifest,
                              dsgd_error *error);

/** The source of a command: an experiment file, or a folder of its results. */
typedef struct dsgd_source {
    const char *path; /* path of a file or of a folder */
    const dsgd_texts *sets;
    int numerics; /* dsgd_numerics */
    int64_t run; /* number of the wanted run, from 1; 0 for all */
} dsgd_source;

/**
 * Opens the experiment. For a folder, it is the file that the manifest names. Its wanted runs must
 * equal the runs in the folder (else DSGD_EUSAGE). The caller must check that the wanted run
 * exists.
 */
dsgd_status dsgd_source_open(const dsgd_source *source, dsgd_experiment *experiment,
                             dsgd_error *error);
