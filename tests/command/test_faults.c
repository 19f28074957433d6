/**
 * @file test_faults.c
 * Tests runs that end abnormally. The program, a run of it, or its terminal ends at a random time,
 * or the disk is full. The same command must then produce the bytes of an undisturbed run. The
 * command must not repeat finished runs, and no process and no temporary file may remain.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/draw.h"
#include "base/file.h"
#include "base/program.h"
#include "tests/command/shell.h"
#include "tests/support/suite.h"

static const char words[] = "run e.yaml -o r -j 2 --threads 1 --set workers=4 --set "
                            "algorithms=[allreduce,ad_psgd] --set seed=[1,2,3]";
/* runs of 400 steps are long enough to be killed */
static const char steps[] = "--set until.steps=400";

/** Returns the text of all tables in the folder r, without the column wall_s. */
static char *tables(void)
{
    static const char *const names[] = {"curves", "workers", "staleness", "steps", "failures"};
    char *all = dsgd_xstrdup(without_wall(read_file("r/runs.csv")));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        dsgd_append(&all, "%s", read_file(dsgd_xprintf("r/%s.csv", names[k])));
    return all;
}

/**
 * Repeats the command. All tables must then equal @p whole, the files of finished runs must be
 * unchanged, and no temporary file may remain.
 */
static void take_up(const char *more, const char *whole)
{
    static const char done[] = "grep -ls ,ok, r/.parts/*.part | xargs -r ls -l --full-time";
    const char *const before = shell_ends(0, done);
    dsgd_ends(0, "%s %s", words, more);
    ck_assert_str_eq(tables(), whole);
    char *lines = dsgd_xstrdup(before);
    const char *const parts = shell_ends(0, done);
    for (const char *line = NULL; (line = strsep(&lines, "\n")) != NULL;)
        ck_assert_msg(strstr(parts, line) != NULL, "done again: %s", line);
    ck_assert_str_eq(shell_ends(0, "ls -A tmp; find . -name '*.new'"), "");
}

/** Creates the folder tmp, runs the command without a disturbance, and returns all tables. */
static char *play_undisturbed(const char *more)
{
    write_experiment(learn);
    shell_ends(0, "mkdir tmp");
    dsgd_ends(0, "%s %s", words, more);
    return tables();
}

SUITE(faults, "faults", .seconds = 600, .set_up = make_folder, .tear_down = remove_folder);

/* --- Tests that end the program at random times ----------------------------------------------- */

/**
 * The process or terminal that the test ends: the program (PARENT), one of its runs (CHILD), or the
 * terminal.
 */
typedef enum victim {
    PARENT_KILLED,
    PARENT_TERMINATED,
    PARENT_INTERRUPTED,
    PARENT_HUNG_UP,
    CHILD_KILLED,
    TERMINAL_CLOSED,
    N_VICTIMS
} victim;

static const char *const victims[N_VICTIMS] = {"program SIGKILL", "program SIGTERM",
                                               "program SIGINT",  "program SIGHUP",
                                               "run SIGKILL",     "terminal closed"};
static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP};

/** Opens a pseudo-terminal and returns its descriptor, or -1 if the system has no /dev/pts. */
static int open_terminal(void)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0 && (grantpt(terminal) != 0 || unlockpt(terminal) != 0)) {
        close(terminal);
        return -1;
    }
    return terminal;
}

/**
 * Starts the program in a new session whose terminal is @p terminal, and returns its process id.
 */
static pid_t begin(int terminal)
{
    fflush(NULL);
    const pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process != 0)
        return process;
    setsid();
    /* The program must not inherit ignored signals, for example from nohup. */
    for (size_t k = 0; k < sizeof signals / sizeof signals[0]; k++)
        signal(signals[k], SIG_DFL);
    const int line = open(ptsname(terminal), O_RDWR);
    ioctl(line, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++)
        dup2(line, i);
    if (line > 2)
        close(line);
    const char *const command =
        dsgd_xprintf("cd %s && export TMPDIR=%s/tmp DSGD_DATA=%s && exec %s %s %s", folder, folder,
                     DSGD_SOURCE_DIR, DSGD_BINARY, words, steps);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/**
 * Reads the program's output for @p wall_s seconds. Returns false early if no process has the
 * terminal open.
 */
static bool listen_for(int terminal, double wall_s)
{
    const double start_s = dsgd_wall_s();
    char bytes[4096];
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    for (double now_s = start_s; now_s - start_s < wall_s; now_s = dsgd_wall_s()) {
        const ssize_t n = read(terminal, bytes, sizeof bytes);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        if (n < 0)
            nanosleep(&(struct timespec){0, 200 * 1000}, NULL);
    }
    return true;
}

/** Returns the process id of a child of @p process, or 0 if there is none. */
static pid_t child_of(pid_t process)
{
    int child = 0;
    DIR *const all = opendir("/proc");
    ck_assert_ptr_nonnull(all);
    for (const struct dirent *e = NULL; child == 0 && (e = readdir(all)) != NULL;) {
        char *const path = dsgd_xprintf("/proc/%s/stat", e->d_name);
        int one = 0, parent = 0;
        FILE *const stream = strtol(e->d_name, NULL, 10) > 0 ? fopen(path, "re") : NULL;
        if (stream != NULL && fscanf(stream, "%d (%*[^)]) %*c %d", &one, &parent) == 2 &&
            parent == process)
            child = one;
        if (stream != NULL)
            fclose(stream);
    }
    closedir(all);
    return child;
}

static void strike(victim v, pid_t process, int *terminal)
{
    const pid_t child = v == CHILD_KILLED ? child_of(process) : 0;
    if (v <= PARENT_HUNG_UP)
        kill(process, signals[v]);
    else if (child > 0)
        kill(child, SIGKILL);
    else if (v == TERMINAL_CLOSED) {
        close(*terminal);
        *terminal = -1;
    }
}

/**
 * Waits until the program ends, and stores its state. Returns false if it has not ended after 60 s.
 */
static bool ends(pid_t process, int terminal, int *state)
{
    enum { LIMIT_S = 60 };
    const double start_s = dsgd_wall_s();
    while (waitpid(process, state, WNOHANG) == 0) {
        if (dsgd_wall_s() - start_s > LIMIT_S)
            return false;
        if (terminal < 0 || !listen_for(terminal, 0.005))
            nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
    }
    return true;
}

/**
 * Waits up to 5 s until all processes of the session have ended. Kills the remaining processes, and
 * returns their number.
 */
static int end_left(pid_t session)
{
    int n = 0;
    const double start_s = dsgd_wall_s();
    while (waitpid(-session, NULL, WNOHANG) >= 0 && dsgd_wall_s() - start_s < 5)
        nanosleep(&(struct timespec){0, 2 * 1000 * 1000}, NULL);
    kill(-session, SIGKILL);
    while (waitpid(-session, NULL, 0) > 0)
        n++;
    return n;
}

/**
 * Runs the program and ends the victim after @p after_s seconds, or never if @p after_s is
 * INFINITY. Returns true if the program was not finished then.
 */
static bool try(victim v, double after_s, const char *whole)
{
    int terminal = open_terminal(), state = 0;
    shell_ends(0, "rm -rf r");
    const pid_t process = begin(terminal);
    if (isfinite(after_s)) {
        listen_for(terminal, after_s);
        strike(v, process, &terminal);
    }
    ck_assert_msg(ends(process, terminal, &state), "it hangs");
    ck_assert_int_eq(end_left(process), 0);
    if (terminal >= 0)
        close(terminal);
    /*
     * If a signal arrives before the first run starts, it ends the program by its default action.
     */
    const int number = v <= PARENT_HUNG_UP ? signals[v] : v == TERMINAL_CLOSED ? SIGHUP : 0;
    ck_assert_msg(!WIFSIGNALED(state) || WTERMSIG(state) == number, "signal %d", WTERMSIG(state));
    if (state == 0)
        ck_assert_str_eq(tables(), whole);
    take_up(steps, whole);
    return state != 0;
}

/**
 * Ends each kind of victim once. The variable DSGD_KILLS sets another number of kills. Each kill is
 * then printed, so the last line before a failed assertion names the kill.
 */
TEST(run_killed_at_any_point_resumes)
{
    const char *const number = getenv("DSGD_KILLS");
    const int n = number == NULL ? N_VICTIMS : atoi(number);
    const int terminal = open_terminal();
    if (terminal < 0)
        return;
    close(terminal);
    const char *const whole = play_undisturbed(steps);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const double start_s = dsgd_wall_s();
    try(PARENT_KILLED, INFINITY, whole);
    const double whole_s = dsgd_wall_s() - start_s;
    int n_early = 0;
    for (int k = 0; k < n; k++) {
        const double share = dsgd_draw_uniform((dsgd_draw){.seed = 20, .step = (uint32_t)k});
        /* the run may be faster than the run that was measured */
        const double after_s = 0.8 * whole_s * share;
        if (number != NULL)
            fprintf(stderr, "kill %d: %s after %.3f of %.3f s\n", k, victims[k % N_VICTIMS],
                    after_s, whole_s);
        n_early += try((victim)(k % N_VICTIMS), after_s, whole);
    }
    if (number != NULL)
        fprintf(stderr, "%d of %d before the end\n", n_early, n);
}

/* --- a full disk ------------------------------------------------------------------------------ */

/** Simulates a full disk with a limit on the size of files, in blocks of 512 bytes. */
TEST(full_disk_is_reported_and_run_resumes)
{
    const char *const whole = play_undisturbed("");
    int n_ended = 0;
    for (int blocks = 0; blocks <= 64; blocks = blocks < 8 ? blocks + 1 : 2 * blocks) {
        char *output = NULL;
        shell_ends(0, "rm -rf r");
        const int status =
            shell(dsgd_xprintf("cd %s && ulimit -f %d && TMPDIR=tmp DSGD_DATA=%s %s %s 2>&1",
                               folder, blocks, DSGD_SOURCE_DIR, DSGD_BINARY, words),
                  &output);
        if (status == 0)
            ck_assert_str_eq(tables(), whole);
        else
            ck_assert_has(output, "File too large");
        n_ended += status != 0;
        take_up("", whole);
    }
    ck_assert_int_gt(n_ended, 3);
}

/* --- lost output ------------------------------------------------------------------------------ */

TEST(closed_or_full_output_is_an_error)
{
    static const struct {
        const char *to;
        int status;
    } outputs[] = {{">&-", 3}, {">/dev/full", 3}, {"2>&-", 0}, {"2>/dev/full", 0}, {"<&-", 0}};
    write_experiment("");
    for (size_t k = 0; k < sizeof outputs / sizeof outputs[0]; k++) {
        char *output = NULL;
        const int status =
            shell(dsgd_xprintf("cd %s && DSGD_DATA=%s %s run e.yaml -o r%zu --set workers=4 %s",
                               folder, DSGD_SOURCE_DIR, DSGD_BINARY, k, outputs[k].to),
                  &output);
        ck_assert_msg(status == outputs[k].status, "%s: %d", outputs[k].to, status);
        ck_assert_str_eq(without_wall(read_file(dsgd_xprintf("r%zu/runs.csv", k))),
                         without_wall(read_file("r0/runs.csv")));
    }
}

/**
 * Tests an output that is larger than a pipe's buffer and that is read late, so that the program
 * must wait.
 */
TEST(full_pipe_loses_nothing)
{
    static const char check[] = "DSGD_DATA=%s %s check e.yaml --set seed=[$(seq -s, 2000)]";
    write_experiment("");
    char *const command = dsgd_xprintf(check, DSGD_SOURCE_DIR, DSGD_BINARY);
    char *output = NULL;
    const int status =
        shell(dsgd_xprintf("cd %s && %s >whole && %s | { sleep 0.3; cat; } >piped && "
                           "test $(wc -c <whole) -gt 100000 && cmp whole piped",
                           folder, command, command),
              &output);
    ck_assert_msg(status == 0, "%d: %s", status, output);
}
