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

/** What comes through the pipe before the report. */
typedef struct head {
    dsgd_status status;
    dsgd_error error;
} head;

dsgd_status dsgd_apart(dsgd_status (*work)(const void *argument, void *report, dsgd_error *error),
                       const void *argument, void *report, size_t bytes, const char *died,
                       dsgd_error *error)
{
    int channel[2];
    if (pipe(channel) != 0)
        return dsgd_fail(error, DSGD_EIO, "%s", died);
    char *const told = dsgd_xcalloc(1, sizeof(head) + bytes);
    head *const first = (head *)told;
    fflush(NULL); /* or the other process would print it too */
    const pid_t process = fork();
    if (process == 0) {
        first->status = work(argument, report, &first->error);
        memcpy(told + sizeof(head), report, bytes);
        const ssize_t all = (ssize_t)(sizeof(head) + bytes);
        _exit(write(channel[1], told, (size_t)all) == all ? 0 : 1);
    }
    close(channel[1]);
    const bool heard = process > 0 && read(channel[0], told, sizeof(head) + bytes) ==
                                          (ssize_t)(sizeof(head) + bytes);
    close(channel[0]);
    if (process > 0)
        waitpid(process, NULL, 0);
    dsgd_status status = heard ? first->status : DSGD_EIO;
    if (heard)
        memcpy(report, told + sizeof(head), bytes);
    if (status != DSGD_OK)
        dsgd_fail(error, status, "%s", heard ? first->error.text : died);
    free(told);
    return status;
}
