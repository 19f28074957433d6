/**
 * @file apart.h
 * Work in a process of its own, because SimGrid has one engine per process and ends the process where it does not like a file,
 * and because CUDA does not survive a fork.
 */
#ifndef DSGD_BASE_APART_H
#define DSGD_BASE_APART_H

#include <stddef.h>

#include "base/status.h"

/**
 * Calls work(argument, report, error) in a process of its own, and brings back its status, its sentence and the @p bytes at @p report (at
 * most 60 KiB; a pipe has to hold it all). Where there is no process to be had, or it died: DSGD_EIO with the sentence @p died, and the
 * report as it was.
 */
dsgd_status dsgd_apart(dsgd_status (*work)(const void *argument, void *report, dsgd_error *error),
                       const void *argument, void *report, size_t bytes, const char *died,
                       dsgd_error *error);

#endif
