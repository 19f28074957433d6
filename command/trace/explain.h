/**
 * @file explain.h
 * Options of `dsgd explain`, which shows where the time of runs goes, or the steps of an algorithm.
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

/** The command line. */
typedef struct dsgd_explain_options {
    dsgd_operands source; /* one file, folder or name of an algorithm */
    dsgd_texts sets, plugins;
    const char *output, *size; /* NULL if not given */
    int64_t run, jobs, workers, steps; /* 0 if not given */
    int format; /* dsgd_explain_format */
    int numerics; /* dsgd_numerics; -1 if not given */
    bool instead; /* also simulate other algorithms, buckets and numbers of workers */
    dsgd_run_limits limits;
} dsgd_explain_options;

/** The names text, svg, pdf, png in the order of dsgd_explain_format; NULL-terminated. */
extern const char *const dsgd_explain_formats[];
