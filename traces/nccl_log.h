/**
 * @file nccl_log.h
 * What nccl-tests and rccl-tests print, as users have it: behind prefixes of mpirun and srun, among
 * lines of NCCL itself, in the text of a page.
 */
#pragma once

#include "traces/nccl.h"

/** One pass over ascending sizes. */
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
    const char *said; /* how the times in JSON vary, a sentence; NULL: no file says it */
    size_t n_refused; /* tables whose bandwidths and ranks contradict */
    const char *refused; /* the first of them, a sentence */
} dsgd_nccl_logs;

/** Appends a table, and a size to one. */
dsgd_nccl_log *dsgd_nccl_logs_add(dsgd_nccl_logs *logs, dsgd_nccl_log log);
void dsgd_nccl_log_add(dsgd_nccl_log *log, double bytes, double us, double line);

/** The collective of the test that a line names; -1: one without tables; @p otherwise: it names
 * none. */
int dsgd_nccl_call_of(const char *line, int otherwise);

/** Appends the tables of a text. */
void dsgd_nccl_log_read(const char *file, const char *text, dsgd_nccl_logs *logs);

/* --- as JSON (nccl_json.c) -------------------------------------------------------------------- */

/** Whether a text begins as the JSON of nccl-tests (-J). */
bool dsgd_nccl_json_is(const char *head);

/** Appends the tables of nccl-tests; @p file stays. DSGD_EIO if it is not JSON, or ends early. */
dsgd_status dsgd_nccl_json_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                                dsgd_error *error);
