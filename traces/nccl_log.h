/**
 * @file nccl_log.h
 * Reads the output of nccl-tests and rccl-tests. The output may have prefixes of mpirun and srun,
 * may be mixed with lines of NCCL itself, and may be part of a web page.
 */
#pragma once

#include "traces/nccl.h"

/** A table of a log: measured times for ascending message sizes. */
typedef struct dsgd_nccl_log {
    const char *file;
    double *lines; /* number of the line that contains each size, from 1; table.bytes.n entries */
    const char *gpu; /* name of the GPU; NULL if unknown */
    int64_t ranks; /* number of ranks; 0 if unknown because several numbers agree with the
                    * bandwidths */
    bool sockets; /* true if a line of NCCL reports that NCCL uses sockets */
    dsgd_nccl_table table; /* measured times; nodes is 0 if unknown; us is the mean of in-place and
                            * out-of-place times */
} dsgd_nccl_log;

typedef struct dsgd_nccl_logs {
    size_t n;
    dsgd_nccl_log *v;
    size_t left_out; /* number of damaged rows plus number of tables of unsupported collectives */
    const char *said; /* sentence about the variation of times, if the JSON contains it; otherwise
                       * NULL */
    size_t n_refused; /* number of tables whose bandwidths contradict their number of ranks */
    const char *refused; /* sentence about the first table that contradicts its number of ranks */
} dsgd_nccl_logs;

/** Appends a table to a list of logs and returns the table. */
dsgd_nccl_log *dsgd_nccl_logs_add(dsgd_nccl_logs *logs, dsgd_nccl_log log);
/** Appends a message size to a table, with its time and its line number. */
void dsgd_nccl_log_add(dsgd_nccl_log *log, double bytes, double us, double line);

/**
 * Returns the collective of the test that a line names. Returns -1 if the program does not support
 * this test. Returns @p otherwise if the line does not name a test.
 */
int dsgd_nccl_call_of(const char *line, int otherwise);

/** Appends the tables of a log in text form. */
void dsgd_nccl_log_read(const char *file, const char *text, dsgd_nccl_logs *logs);

/* --- JSON (nccl_json.c) ----------------------------------------------------------------------- */

/** Returns true if a text starts like the JSON that nccl-tests writes with option -J. */
bool dsgd_nccl_json_is(const char *head);

/**
 * Appends the tables of a JSON log. The text @p file must exist as long as the tables. Returns
 * DSGD_EIO if the log is not JSON or ends early.
 */
dsgd_status dsgd_nccl_json_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                                dsgd_error *error);
