/**
 * @file child.h Work in child processes. SimGrid has one engine per process and exits if it rejects
 * a file; CUDA does not survive a fork.
 */
#pragma once

#include <sys/types.h>

#include "base/status.h"

/**
 * Like fork(), but the child is killed when this process ends, by a signal or otherwise. Flushes
 * all streams first, because the child would print buffered output, too.
 */
pid_t dsgd_fork(void);

/** Waits for the end of a child and returns its state, as waitpid() does. */
int dsgd_child_end(pid_t process);

/* --- children that work at the same time ------------------------------------------------------ */

/**
 * Starts a child process that calls work(argument) and exits with the status that it returns. Sets
 * *said to a non-blocking file descriptor, from which the child's output on stderr can be read. In
 * the child all signals have their default effects. Returns a negative number, with errno, if no
 * process can be started.
 */
pid_t dsgd_child_start(int (*work)(const void *argument), const void *argument, int *said);

/** Returns a child that has ended, with its state, or 0 if none has ended within 20 ms. */
pid_t dsgd_child_ended(int *state);

/**
 * Returns the CPU time of all threads of a process, in seconds; 0 if the process has just ended.
 */
double dsgd_child_cpu_s(pid_t process);

/**
 * Returns n zeroed elements in memory that this process shares with its children. It is never
 * freed.
 */
void *dsgd_shared_memory(size_t n, size_t size);

/**
 * Calls work(argument, report, error) in a child process and returns its status. Copies back its
 * error and the @p bytes at @p report (at most 60 KiB, the capacity of a pipe). If the process died
 * or could not be started, returns DSGD_EIO with the sentence @p died and the signal, and does not
 * change @p report.
 */
dsgd_status dsgd_in_child(dsgd_status (*work)(const void *argument, void *report,
                                              dsgd_error *error),
                          const void *argument, void *report, size_t bytes, const char *died,
                          dsgd_error *error);
