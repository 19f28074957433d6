/**
 * @file nccl_log.h
 * What nccl-tests and rccl-tests print, as users have it: behind prefixes of mpirun and srun, among lines of
 * NCCL itself, in the text of a page.
 */
#pragma once

#include "traces/nccl.h"

/** One pass over ascending sizes. */
typedef struct dsgd_nccl_log {
    const char *file;
    double *lines; /* [table.bytes.n]: where each size stands, from 1 */
    const char *gpu; /* its name; NULL: no line says it */
    long ranks; /* 0: not said, and several numbers fit the bandwidths */
    bool sockets; /* NCCL says that it uses them */
    dsgd_nccl_table table; /* nodes 0: not said; us: means of both buffers */
} dsgd_nccl_log;

typedef struct dsgd_nccl_logs {
    size_t n;
    dsgd_nccl_log *v;
    size_t left_out; /* damaged rows, and tables of other collectives than those of `tables` */
} dsgd_nccl_logs;

/** Appends the tables of a text. DSGD_EIO with file and line where bandwidths and ranks contradict. */
dsgd_status dsgd_nccl_log_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                               dsgd_error *error);
