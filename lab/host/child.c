/**
 * @file child.c
 * Replaces base/child.c in a build without processes. The work of a child is executed at once,
 * before its caller continues. Afterwards its memory is freed, as at the end of a process.
 */
#include "base/child.h"

#include <sys/mman.h>

static pid_t done; /* number of a child that has ended but has not been waited for; 0 if there is no
                    * such child */
static int state_of_done;

pid_t dsgd_fork(void)
{
    errno = ENOSYS;
    return -1;
}

int dsgd_child_end(pid_t process)
{
    done = process == done ? 0 : done;
    return state_of_done;
}

pid_t dsgd_child_start(int (*work)(const void *argument), const void *argument, int *said)
{
    static pid_t n_started;
    if (done != 0) {
        errno = EAGAIN; /* Reject a new child until the caller waits for the previous child. */
        return -1;
    }
    void *const mark = dsgd_mark();
    *said = -1; /* The child has already written to the user's stderr, so the caller needs no
                 * descriptor. */
    /* Store the exit status in the form that waitpid() returns. */
    state_of_done = work(argument) << 8;
    dsgd_drop(mark);
    return done = ++n_started;
}

pid_t dsgd_child_ended(int *state)
{
    const pid_t process = done;
    *state = state_of_done;
    done = 0;
    return process;
}

double dsgd_child_cpu_s(pid_t process)
{
    return 0;
}

void *dsgd_shared_memory(size_t n, size_t size)
{
    return dsgd_keep(n, size);
}

dsgd_status
dsgd_in_child(dsgd_status (*work)(const void *argument, void *report, dsgd_error *error),
              const void *argument, void *report, size_t bytes, const char *died, dsgd_error *error)
{
    return work(argument, report, error);
}

/** Always fails. Only SimGrid's XML needs this function, and this build lacks SimGrid. */
int memfd_create(const char *name, unsigned flags)
{
    errno = ENOSYS;
    return -1;
}
