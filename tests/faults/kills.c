/**
 * @file kills.c
 * The program, one of its runs, or its terminal is ended at a random moment; then the same command
 * has to give the bytes of an undisturbed run, with no process and no temporary file left.
 */
#include "tests/faults/kills.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/draw.h"
#include "base/program.h"
#include "base/status.h"
#include "tests/faults/scenes.h"

/** What is ended, in turn. */
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

static const scene killed = {
    .name = "kills",
    .words =
        "run e.yaml -o r -j 2 --threads 1 --record rec --set seed=[1,2,3] --set until.steps=400",
    .before = "rm -r r rec",
    .made = "r/runs.csv r/curves.csv r/workers.csv r/staleness.csv r/steps.csv r/failures.csv "
            "rec/1.record "
            "rec/2.record rec/3.record rec/4.record rec/5.record rec/6.record",
    .kept = "e.yaml",
    .takes_up = true,
};

bool kills_have_terminals(void)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    const bool has = terminal >= 0 && grantpt(terminal) == 0;
    if (terminal >= 0)
        close(terminal);
    return has;
}

/** A session of its own with a terminal, of which this process has the other end. */
static pid_t begin(const stage *s, int *terminal)
{
    *terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    DSGD_ASSERT(*terminal >= 0 && grantpt(*terminal) == 0 && unlockpt(*terminal) == 0, "%m");
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s/tmp", s->work);
    fflush(NULL);
    const pid_t process = fork();
    if (process != 0)
        return process;
    setsid();
    for (size_t k = 0; k < sizeof signals / sizeof signals[0]; k++)
        signal(signals[k], SIG_DFL); /* of nohup and the like */
    const int line = open(ptsname(*terminal), O_RDWR);
    ioctl(line, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++)
        dup2(line, i);
    if (line > 2)
        close(line);
    setenv("TMPDIR", tmp, 1);
    setenv("DSGD_DATA", DSGD_SOURCE_DIR, 1);
    if (chdir(s->work) == 0)
        execv(s->words[0], (char *const *)s->words);
    _exit(127);
}

/** Reads what the program prints, for so long; false: nobody can print there any more. */
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

/** A child of the program, 0 where there is none. */
static pid_t child_of(pid_t process)
{
    int child = 0;
    DIR *const all = opendir("/proc");
    DSGD_ASSERT(all != NULL, "/proc: %m");
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

/** The program's end, for at most a minute; false: it hangs. */
static bool ends(pid_t process, int terminal, int *state)
{
    const double start_s = dsgd_wall_s();
    while (waitpid(process, state, WNOHANG) == 0) {
        if (dsgd_wall_s() - start_s > INJECT_LIMIT_S)
            return false;
        if (terminal < 0 || !listen_for(terminal, 0.005))
            nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
    }
    return true;
}

/** Processes of the session that are still there after a while, which are ended. */
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

/** One kill after that time. */
static verdict try(stage *s, victim v, double after_s, int *state, char **why)
{
    int terminal = -1;
    stage_reset(s);
    *why = dsgd_xstrdup("");
    const pid_t process = begin(s, &terminal);
    listen_for(terminal, after_s);
    strike(v, process, &terminal);
    const bool ended = ends(process, terminal, state);
    const int n_left = end_left(process);
    if (terminal >= 0)
        close(terminal);
    if (!ended)
        return HANGS;
    if (n_left > 0)
        return LEFT;
    /* Before the program has begun its runs, signals do what they do. */
    const int number = v <= PARENT_HUNG_UP ? signals[v] : v == TERMINAL_CLOSED ? SIGHUP : 0;
    const bool is_dead = WIFSIGNALED(*state);
    if (is_dead && WTERMSIG(*state) != number)
        return SIGNALLED;
    if (!is_dead && WEXITSTATUS(*state) == 0) {
        char *const made = stage_contents(s, s->scene->made);
        const bool is_same = strcmp(made, s->made) == 0;
        if (!is_same)
            return LESS;
    }
    /* What SIGKILL leaves goes with the next command */
    return stage_judge(s, true, why) == MISSED && stage_judge(s, false, why) == MISSED ? SAID
                                                                                       : DAMAGED;
}

/** Seconds that the scene takes undisturbed, beside what starting it takes. */
static double measure(stage *s)
{
    int terminal = -1;
    int state = 0;
    const double start_s = dsgd_wall_s();
    stage_reset(s);
    const pid_t process = begin(s, &terminal);
    ends(process, terminal, &state);
    close(terminal);
    return dsgd_wall_s() - start_s;
}

int kills_try(int n, uint64_t seed)
{
    int n_bugs = 0;
    size_t done[N_VICTIMS][3] = {{0}}; /* kills; of them within the run; bugs */
    stage s;
    if (!stage_open(&s, &killed))
        return s.cannot ? 0 : 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const double whole_s = measure(&s);
    for (int k = 0; k < n; k++) {
        const dsgd_draw at = {.seed = seed, .step = (uint32_t)k};
        char *why = NULL;
        int state = 0;
        const victim v = (victim)(k % N_VICTIMS);
        const double after_s = 0.8 * whole_s * dsgd_draw_uniform(at); /* it may be faster now */
        const verdict found = try(&s, v, after_s, &state, &why);
        const bool is_bug = found >= LESS;
        done[v][0]++;
        done[v][1] += state != 0;
        done[v][2] += is_bug;
        n_bugs += is_bug;
        if (is_bug)
            printf("kill %d of seed %llu, %s after %.3f of %.3f s: %s (state %d)%s\n", k,
                   (unsigned long long)seed, victims[v], after_s, whole_s, verdict_names[found],
                   state, why);
        fflush(stdout);
    }
    for (int v = 0; v < N_VICTIMS; v++)
        printf("%-16s %3zu, %3zu before its end, %zu bugs\n", victims[v], done[v][0], done[v][1],
               done[v][2]);
    stage_close(&s);
    return n_bugs;
}
