/**
 * @file explain.h
 * `dsgd explain`: of an experiment or its results, where the time of its runs went; of an
 * algorithm, what it does step by step.
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
    dsgd_operands source; /* one: a file, a folder, or the name of an algorithm */
    dsgd_texts sets, plugins;
    const char *output, *size; /* NULL: not given */
    int64_t run, jobs, workers, steps; /* 0: not given */
    int format; /* dsgd_explain_format */
    int numerics; /* dsgd_numerics; -1: not given */
    bool instead; /* other algorithms, buckets and numbers of workers, too */
    dsgd_run_limits limits;
} dsgd_explain_options;

/** text, svg, pdf, png: by dsgd_explain_format; NULL-terminated. */
extern const char *const dsgd_explain_formats[];
