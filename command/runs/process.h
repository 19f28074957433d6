/**
 * @file process.h
 * The process of a run, seen from outside: what it has come to, and what it took.
 */
#ifndef DSGD_COMMAND_RUNS_PROCESS_H
#define DSGD_COMMAND_RUNS_PROCESS_H

#include <sys/types.h>

#include "command/experiment/experiment.h"

/** Where a run computes, if @p numerics (dsgd_numerics) is asked for. */
dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu);

/** [n] in memory that processes share with this one; to be unmapped by dsgd_progress_unmap(). */
dsgd_progress *dsgd_progress_map(size_t n);
void dsgd_progress_unmap(dsgd_progress *progress, size_t n);

/** What a run wrote into its progress, seen from another process. */
double dsgd_progress_number(_Atomic double *from);

/** CPU time of all threads of a process, in seconds; 0 where it has just ended. */
double dsgd_process_cpu_s(pid_t process);

#endif
