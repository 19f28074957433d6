/**
 * @file apart.c
 * fork(), and a pipe for the report.
 */
#include "base/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"

bool dsgd_apart(void (*work)(const void *argument, void *report), const void *argument,
                void *report, size_t bytes)
{
    int channel[2];
    if (pipe(channel) != 0)
        return false;
    fflush(NULL); /* or the other process would print it too */
    const pid_t process = fork();
    if (process == 0) {
        work(argument, report);
        _exit(write(channel[1], report, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    close(channel[1]);
    void *const told = dsgd_xcalloc(1, bytes);
    const bool heard = process > 0 && read(channel[0], told, bytes) == (ssize_t)bytes;
    close(channel[0]);
    if (process > 0)
        waitpid(process, NULL, 0);
    if (heard)
        memcpy(report, told, bytes);
    free(told);
    return heard;
}
