/**
 * @file failing_fork.c
 * Replaces fork() by LD_PRELOAD to simulate a machine without room for another process.
 * FAILING_FORKS decides for each call in turn whether it succeeds (1) or fails (0). Its last
 * character holds for all later calls. With KILLED_EXITS, _exit() ends a process as if it were
 * killed.
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
    *(void **)&real = dlsym(RTLD_NEXT, "fork"); /* the cast that POSIX documents */
    return real();
}

void _exit(int status)
{
    if (getenv("KILLED_EXITS") != NULL)
        raise(SIGKILL);
    for (;;)
        syscall(SYS_exit_group, status);
}
