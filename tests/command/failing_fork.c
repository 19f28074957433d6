/**
 * @file failing_fork.c
 * A library for LD_PRELOAD that replaces fork(), to simulate a machine without room for another
 * process. Each character of the variable FAILING_FORKS decides whether a call of fork() succeeds
 * (1) or fails (0). The last character decides for all later calls. If the variable KILLED_EXITS is
 * set, _exit() ends the process as if the process were killed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

pid_t fork(void)
{
    static size_t calls;
    const char *const plan = getenv("FAILING_FORKS");
    const size_t last = strlen(plan) - 1;
    const size_t at = calls++ < last ? calls - 1 : last;
    if (plan[at] == '0') {
        errno = EAGAIN;
        return -1;
    }
    pid_t (*real)(void) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "fork"); /* POSIX recommends this cast for functions */
    return real();
}

void _exit(int status)
{
    if (getenv("KILLED_EXITS") != NULL)
        raise(SIGKILL);
    for (;;)
        syscall(SYS_exit_group, status);
}
