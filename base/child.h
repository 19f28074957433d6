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

/**
 * Calls work(argument, report, error) in a child process and returns its status. Copies back its
 * error and the @p bytes at @p report (at most 60 KiB, the capacity of a pipe). DSGD_EIO with the
 * sentence @p died (and the signal), and @p report unchanged, if the process could not be created
 * or died.
 */
dsgd_status dsgd_in_child(dsgd_status (*work)(const void *argument, void *report,
                                              dsgd_error *error),
                          const void *argument, void *report, size_t bytes, const char *died,
                          dsgd_error *error);
