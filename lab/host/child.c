/**
 * @file child.c
 * Replaces base/child.c where there are no processes. The work of a child is done at once, before
 * its caller continues. Memory of the work is then freed, as if a process had ended.
 */
#include "base/child.h"

#include <sys/mman.h>

static pid_t done; /* number of a child that has ended and was not waited for; 0 if none */
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
        errno = EAGAIN; /* until the caller waits for that child */
        return -1;
    }
    void *const mark = dsgd_mark();
    *said = -1; /* stderr is visible to the listener already */
    state_of_done = work(argument) << 8; /* in the form of waitpid() */
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

/** Only needed for the XML of SimGrid, which this build lacks. */
int memfd_create(const char *name, unsigned flags)
{
    errno = ENOSYS;
    return -1;
}
