/**
 * @file child.c Starts child processes that end with their parent, and receives their reports
 * through a pipe.
 */
#include "base/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"

/** The data at the start of a child's pipe. The child's report follows. */
typedef struct head {
    dsgd_status status;
    dsgd_error error;
} head;

pid_t dsgd_fork(void)
{
    fflush(NULL);
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process != 0)
        return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* true if the parent ended before the call of prctl() */
    if (getppid() != parent)
        _exit(1);
    return 0;
}

int dsgd_child_end(pid_t process)
{
    int state = 0;
    while (waitpid(process, &state, 0) < 0 && errno == EINTR) {
    }
    return state;
}

pid_t dsgd_child_start(int (*work)(const void *argument), const void *argument, int *said)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    const pid_t process = dsgd_fork();
    if (process != 0)
        close(ends[1]);
    if (process < 0)
        close(ends[0]);
    if (process == 0) {
        dup2(ends[1], STDERR_FILENO);
        static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};
        for (size_t k = 0; k < sizeof interrupts / sizeof interrupts[0]; k++)
            signal(interrupts[k], SIG_DFL);
        const int status = work(argument);
        fflush(NULL);
        _exit(status);
    }
    *said = ends[0];
    if (process > 0)
        fcntl(*said, F_SETFL, O_NONBLOCK);
    return process;
}

pid_t dsgd_child_ended(int *state)
{
    pid_t process = 0;
    for (int ms = 0; ms < 20 && (process = waitpid(-1, state, WNOHANG)) <= 0; ms++)
        nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
    return process > 0 ? process : 0;
}

double dsgd_child_cpu_s(pid_t process)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void *dsgd_shared_memory(size_t n, size_t size)
{
    void *const shared =
        mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        dsgd_no_memory();
    return shared;
}

dsgd_status
dsgd_in_child(dsgd_status (*work)(const void *argument, void *report, dsgd_error *error),
              const void *argument, void *report, size_t bytes, const char *died, dsgd_error *error)
{
    int ends[2];
    if (pipe(ends) != 0)
        return dsgd_fail(error, DSGD_EIO, "cannot create a pipe for another process: %m");
    const size_t length = sizeof(head) + bytes;
    char *const message = dsgd_keep(length, 1);
    head *const first = (head *)message;
    const pid_t process = dsgd_fork();
    if (process < 0) {
        dsgd_fail(error, DSGD_EIO, "cannot start another process: %m");
        close(ends[0]);
        close(ends[1]);
        return DSGD_EIO;
    }
    if (process == 0) {
        first->status = work(argument, report, &first->error);
        memcpy(message + sizeof(head), report, bytes);
        _exit(write(ends[1], message, length) == (ssize_t)length ? 0 : 1);
    }
    close(ends[1]);
    const bool received = read(ends[0], message, length) == (ssize_t)length;
    close(ends[0]);
    const int state = dsgd_child_end(process);
    if (!received && WIFSIGNALED(state))
        return dsgd_fail(error, DSGD_EIO, "%s (%s)", died, strsignal(WTERMSIG(state)));
    if (!received)
        return dsgd_fail(error, DSGD_EIO, "%s", died);
    memcpy(report, message + sizeof(head), bytes);
    if (first->status != DSGD_OK)
        dsgd_fail(error, first->status, "%s", first->error.text);
    return first->status;
}
