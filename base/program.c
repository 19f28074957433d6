/**
 * @file program.c
 * The folder of the executable, and a monotonic clock.
 */
#include "base/program.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"

char *dsgd_program_folder(void)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *const slash = strrchr(program, '/');
    if (slash == NULL)
        return dsgd_xstrdup(".");
    *slash = '\0';
    return dsgd_xstrdup(program);
}

double dsgd_wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
