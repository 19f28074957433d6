/**
 * @file nccl_log.h
 * What nccl-tests and rccl-tests print, as users have it: behind prefixes of mpirun and srun, among
 * lines of NCCL itself, in the text of a page.
 */
#pragma once

#include "traces/nccl.h"

/** One pass over ascending sizes; of the Inspector all collectives of a shape. */
typedef struct dsgd_nccl_log {
    const char *file;
    double *lines; /* [table.bytes.n]: where each size stands, from 1 */
    const char *gpu; /* its name; NULL: no line says it */
    int64_t ranks; /* 0: not said, and several numbers fit the bandwidths */
    bool sockets; /* NCCL says that it uses them */
    dsgd_nccl_table table; /* nodes 0: not said; us: means of both buffers */
} dsgd_nccl_log;

typedef struct dsgd_nccl_logs {
    size_t n;
    dsgd_nccl_log *v;
    size_t left_out; /* damaged rows, and tables of other collectives than those of `tables` */
    struct dsgd_inspected *inspected; /* records of NCCL's Inspector, until dsgd_nccl_logs_end() */
    size_t n_inspected;
    const char *said; /* what else JSON tells, a sentence; NULL: nothing */
    size_t n_refused; /* tables whose bandwidths and ranks contradict */
    const char *refused; /* the first of them, a sentence */
} dsgd_nccl_logs;

/** Appends a table, and a size to one. */
dsgd_nccl_log *dsgd_nccl_logs_add(dsgd_nccl_logs *logs, dsgd_nccl_log log);
void dsgd_nccl_log_add(dsgd_nccl_log *log, double bytes, double us, double line);

/** Appends the tables of a text. */
void dsgd_nccl_log_read(const char *file, const char *text, dsgd_nccl_logs *logs);

/* --- as JSON (nccl_json.c) -------------------------------------------------------------------- */

/** Of the first object of a text: of nccl-tests (-J), or of NCCL's Inspector. */
bool dsgd_nccl_json_is(const char *head);

/**
 * Appends the tables of nccl-tests, or the records of the Inspector, which has a file for each
 * process; @p file stays. DSGD_EIO where it is no JSON, or ends early.
 */
dsgd_status dsgd_nccl_json_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                                dsgd_error *error);

/**
 * Makes tables of the records: of a collective the least time of its ranks, which is that of the
 * rank that came last. logs->said: which rank comes last.
 */
void dsgd_nccl_logs_end(dsgd_nccl_logs *logs);
