/**
 * @file child.h
 * Work in a child process: SimGrid has one engine per process and exits where it refuses a file;
 * CUDA does not survive a fork.
 */
#pragma once

#include <sys/types.h>

#include "base/status.h"

/**
 * fork(), but the child is killed when this process ends, by a signal or otherwise. Flushes all
 * streams before, or the child would print what is buffered, too.
 */
pid_t dsgd_fork(void);

/** The state of a child that has ended, as waitpid() has it: waits for its end. */
int dsgd_child_end(pid_t process);

/* --- children that work at the same time ------------------------------------------------------ */

/**
 * Calls work(argument) in a child process, whose exit status it returns. Becomes readable at *said,
 * without blocking: what the child writes to stderr. Signals do in it what they do by default.
 * Negative, with errno, where there is no process to be had.
 */
pid_t dsgd_child_start(int (*work)(const void *argument), const void *argument, int *said);

/** A child that has ended, with its state; 0: none has in the last 20 ms. */
pid_t dsgd_child_ended(int *state);

/** CPU time of all threads of a process, in seconds; 0 where it has just ended. */
double dsgd_child_cpu_s(pid_t process);

/** [n] zeroed elements in memory that this process shares with its children; they stay. */
void *dsgd_shared_memory(size_t n, size_t size);

/**
 * Calls work(argument, report, error) in a child process and returns its status. Copies back its
 * error and the @p bytes at @p report (at most 60 KiB, the capacity of a pipe). DSGD_EIO and @p
 * report unchanged if the process died, with the sentence @p died and the signal, or if it could
 * not be started.
 */
dsgd_status dsgd_in_child(dsgd_status (*work)(const void *argument, void *report,
                                              dsgd_error *error),
                          const void *argument, void *report, size_t bytes, const char *died,
                          dsgd_error *error);
