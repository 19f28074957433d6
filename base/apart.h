/**
 * @file apart.h
 * Work in a process of its own, because SimGrid has one engine per process, and ends the process where it does not like a file.
 */
#ifndef DSGD_BASE_APART_H
#define DSGD_BASE_APART_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Calls work(argument, report) in a process of its own and brings back the report, @p bytes at @p report (at most what a pipe holds,
 * 64 KiB). False where there is no process to be had, or it died; the report is then as it was.
 */
bool dsgd_apart(void (*work)(const void *argument, void *report), const void *argument,
                void *report, size_t bytes);

#endif
