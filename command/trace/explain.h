/**
 * @file explain.h
 * Defines the options of `dsgd explain`. This command explains the times of runs or the steps of an
 * algorithm.
 */
#pragma once

#include "command/console/arguments.h"
#include "command/runs/pool.h"

typedef enum dsgd_explain_format {
    DSGD_EXPLAIN_TEXT,
    DSGD_EXPLAIN_SVG,
    DSGD_EXPLAIN_PDF,
    DSGD_EXPLAIN_PNG
} dsgd_explain_format;

/** The command line of `dsgd explain`. */
typedef struct dsgd_explain_options {
    dsgd_operands source; /* the operand: an experiment file, a results folder or the name of an
                           * algorithm */
    dsgd_texts sets, plugins;
    const char *output, *size; /* output file, and size of the figure; NULL if the user does not
                                * give the option */
    int64_t run, jobs, workers, steps; /* number of a run, and numbers of processes, workers and
                                        * steps; 0 if the user does not give the option */
    int format; /* format of the output, a value of dsgd_explain_format */
    int numerics; /* device that computes gradients, a value of dsgd_numerics; -1 if the user does
                   * not give the option */
    bool instead; /* true if other algorithms, buckets and numbers of workers are simulated too */
    dsgd_run_limits limits;
} dsgd_explain_options;

/** the words text, svg, pdf and png, in the order of dsgd_explain_format; NULL ends the array */
extern const char *const dsgd_explain_formats[];
