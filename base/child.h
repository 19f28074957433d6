/**
 * @file child.h
 * Functions that do work in child processes. Two libraries need child processes. SimGrid has one
 * engine per process and exits if it rejects a file. CUDA does not work in a process that was
 * forked after its first use.
 */
#pragma once

#include <sys/types.h>

#include "base/status.h"

/**
 * Like fork(), but the child is killed when this process ends for any reason. Flushes all streams
 * first; otherwise the child would print buffered output a second time.
 */
pid_t dsgd_fork(void);

/** Waits for the end of a child process. Returns its state, as waitpid() does. */
int dsgd_child_end(pid_t process);

/* --- functions for children that work at the same time ---------------------------------------- */

/**
 * Starts a child process that calls work(argument) and exits with the result as its status. Sets
 * *said to a non-blocking file descriptor, from which the child's output on stderr can be read. In
 * the child, signals that interrupt a process have their default effects. Returns a negative
 * number, and the reason in errno, if no process can be started.
 */
pid_t dsgd_child_start(int (*work)(const void *argument), const void *argument, int *said);

/**
 * Returns a child process that has ended, and stores its state in *state. Returns 0 if no child
 * ends within 20 ms.
 */
pid_t dsgd_child_ended(int *state);

/**
 * Returns the CPU time of all threads of a process, in seconds. Returns 0 if the process has just
 * ended.
 */
double dsgd_child_cpu_s(pid_t process);

/**
 * Returns n zeroed elements in memory that this process shares with its children. The memory is
 * never freed.
 */
void *dsgd_shared_memory(size_t n, size_t size);

/**
 * Calls work(argument, report, error) in a child process and returns the status of work(). Copies
 * the error and the @p bytes bytes of @p report back to this process. The report may have at most
 * 60 KiB, because of the capacity of a pipe. If the process died or could not be started, returns
 * DSGD_EIO and does not change @p report. The error message is then @p died, followed by the
 * signal.
 */
dsgd_status dsgd_in_child(dsgd_status (*work)(const void *argument, void *report,
                                              dsgd_error *error),
                          const void *argument, void *report, size_t bytes, const char *died,
                          dsgd_error *error);
