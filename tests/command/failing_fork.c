/**
 * @file failing_fork.c
 * For LD_PRELOAD: fork() as on a machine that has no room for another process. FAILING_FORKS says
 * of each call in turn whether it is made (1) or fails (0); its last character holds for all that
 * follow. With KILLED_EXITS, _exit() ends a process like a kill.
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
    *(void **)&real = dlsym(RTLD_NEXT, "fork"); /* the cast that POSIX shows */
    return real();
}

void _exit(int status)
{
    if (getenv("KILLED_EXITS") != NULL)
        raise(SIGKILL);
    for (;;)
        syscall(SYS_exit_group, status);
}
