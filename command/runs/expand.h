/**
 * @file expand.h
 * An experiment for other machines: its runs as lines of JSON, as commands, or as a job of Slurm.
 */
#pragma once

#include "command/runs/estimate.h"

typedef struct dsgd_expansion {
    const dsgd_experiment *experiment;
    const dsgd_estimate *estimates; /* [n_runs]; NULL: nothing is estimated */
    const char *folder; /* of the merged results; task K writes to FOLDER.tasks/K */
    const char *program; /* a word of the shell */
    const char *command; /* that every task begins with: `dsgd run FILE` and what goes for all */
    double chunk_s; /* of a task, if it has several runs; 0: every run is one */
    bool computes; /* gradients, too, and so with a thread more */
} dsgd_expansion;

/** An object per run: its number, id, what it is, its command, seconds and memory. */
void dsgd_expand_json(const dsgd_expansion *e);

/** A command per task, for GNU parallel. */
void dsgd_expand_commands(const dsgd_expansion *e);

/**
 * A script of bash that hands itself to Slurm: an array of tasks, and a job that merges their
 * results. DSGD_EUSAGE where nothing but an accuracy bounds a run.
 */
dsgd_status dsgd_expand_slurm(const dsgd_expansion *e, dsgd_error *error);
