/**
 * @file end_to_end.c
 * What a run costs from its beginning to its end: end_to_end [steps] [runs] [threads], on the
 * experiment beside this file. Checks first that one and two computing threads learn the same, then
 * prints medians over runs:
 *  - merges and updates per second of wall time, AD-PSGD and D-PSGD with 1,024 workers; the wall
 * time of the whole run against the
 *    longer of its two parts, timing alone (numerics off) and numerics alone (busy seconds /
 * threads);
 *  - synchronous SGD of 1,024 workers against one worker with all their samples in its batch.
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/experiment/experiment.h"

enum { MOST_RUNS = 99 };

/** Steps of all runs, and how often each is repeated. */
static long n_steps = 100;
static int n_runs = 5;
static uint32_t n_threads = 1; /* beside the one that simulates */

/** What one run took and found. */
typedef struct measure {
    double wall_s, cpu_s, busy_s;
    double operations; /* updates and combinations that were executed */
    uint64_t gradients, updates, combinations;
    dsgd_evaluation last;
} measure;

static dsgd_experiment *experiment(const char *const *sets, size_t n_sets)
{
    dsgd_experiment *const e = dsgd_xcalloc(1, sizeof *e);
    dsgd_error error = {""};
    DSGD_ASSERT(dsgd_experiment_open(DSGD_BENCH_EXPERIMENT, sets, n_sets, DSGD_NUMERICS_CPU, e,
                                     &error) == DSGD_OK,
                "%s", error.text);
    return e;
}

static dsgd_run_config named(const dsgd_experiment *e, const char *algorithm)
{
    for (size_t i = 0; i < e->n_runs; i++)
        if (strcmp(e->runs[i].label, algorithm) == 0)
            return e->runs[i].config;
    DSGD_ASSERT(false, "no %s in the experiment", algorithm);
    return e->runs[0].config;
}

static void run_here(dsgd_run_config config, measure *m)
{
    config.until.steps = (double)n_steps;
    config.memory_bytes = (size_t)2 << 30;
    dsgd_run_result r;
    dsgd_error error = {""};
    DSGD_ASSERT(dsgd_simulate(&config, &r, &error) == DSGD_OK, "%s", error.text);
    DSGD_ASSERT(r.outcome == DSGD_RUN_OK, "%s", r.why.text);
    *m = (measure){.wall_s = r.total_wall_s,
                   .busy_s = r.numerics.busy_wall_s,
                   .operations = (double)(r.numerics.updates + r.numerics.combinations),
                   .gradients = r.numerics.gradients,
                   .updates = r.numerics.updates,
                   .combinations = r.numerics.combinations};
    if (r.n_points > 0)
        m->last = r.points[r.n_points - 1].at;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/** One run in a process of its own, because SimGrid has one engine per process. */
static measure run(dsgd_run_config config, int numerics, uint32_t threads)
{
    measure *const shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    DSGD_ASSERT(shared != MAP_FAILED, "shared memory");
    config.numerics = numerics;
    config.threads = threads;
    fflush(stdout); /* or the child would print it too */
    const pid_t child = fork();
    DSGD_ASSERT(child >= 0, "a process");
    if (child == 0) {
        run_here(config, shared);
        _exit(0);
    }
    int state = 0;
    struct rusage used;
    wait4(child, &state, 0, &used);
    DSGD_ASSERT(WIFEXITED(state) && WEXITSTATUS(state) == 0, "the run died (%d)", state);
    measure m = *shared;
    m.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
    munmap(shared, sizeof *shared);
    return m;
}

/** Same curve at one and two threads. */
static void check(const dsgd_run_config *config, const char *name)
{
    const measure one = run(*config, DSGD_NUMERICS_CPU, 1);
    const measure two = run(*config, DSGD_NUMERICS_CPU, 2);
    DSGD_ASSERT(memcmp(&one.last, &two.last, sizeof one.last) == 0,
                "%s: the loss is %.17g with one thread and %.17g with two", name, one.last.loss,
                two.last.loss);
    DSGD_ASSERT(one.last.loss < 2, "%s: the loss is still %g", name, one.last.loss);
    DSGD_ASSERT(one.updates == two.updates && one.combinations == two.combinations &&
                    one.gradients == two.gradients,
                "%s: the threads decided what was computed", name);
}

static void report_gossip(const dsgd_run_config *config, const char *name)
{
    double per_s[MOST_RUNS];
    double ratio[MOST_RUNS];
    double wall_s[MOST_RUNS];
    double cpu_s[MOST_RUNS];
    double off_s[MOST_RUNS];
    double busy_s[MOST_RUNS];
    measure m = {0};
    for (int i = 0; i < n_runs; i++) {
        off_s[i] = run(*config, DSGD_NUMERICS_OFF, n_threads).wall_s;
        m = run(*config, DSGD_NUMERICS_CPU, n_threads);
        wall_s[i] = m.wall_s;
        cpu_s[i] = m.cpu_s;
        busy_s[i] = m.busy_s;
        per_s[i] = m.operations / m.wall_s;
        ratio[i] = m.wall_s / fmax(off_s[i], m.busy_s / n_threads);
    }
    gsl_sort(per_s, 1, (size_t)n_runs);
    printf("%s: median %.0f merges and updates per second (%.0f to %.0f), of %llu updates, %llu "
           "merges and %llu gradients; wall %.2f s (%.2f s of CPU), timing alone %.2f s, numerics "
           "busy %.2f s in %u threads; %.2f x the longer of the two\n",
           name, per_s[n_runs / 2], per_s[0], per_s[n_runs - 1], (unsigned long long)m.updates,
           (unsigned long long)m.combinations, (unsigned long long)m.gradients,
           gsl_stats_median(wall_s, 1, (size_t)n_runs), gsl_stats_median(cpu_s, 1, (size_t)n_runs),
           gsl_stats_median(off_s, 1, (size_t)n_runs), gsl_stats_median(busy_s, 1, (size_t)n_runs),
           n_threads, gsl_stats_median(ratio, 1, (size_t)n_runs));
}

static void report_synchronous(void)
{
    const char *const one_worker[] = {"workers=1", "learn.batch=8192"};
    const dsgd_run_config many = named(experiment(NULL, 0), "allreduce");
    const dsgd_run_config one = named(experiment(one_worker, 2), "allreduce");
    double many_s[MOST_RUNS];
    double one_s[MOST_RUNS];
    double off_s[MOST_RUNS];
    double busy[MOST_RUNS];
    double wall[MOST_RUNS];
    for (int i = 0; i < n_runs; i++) {
        off_s[i] = run(many, DSGD_NUMERICS_OFF, n_threads).wall_s;
        const measure p = run(many, DSGD_NUMERICS_CPU, n_threads);
        const measure q = run(one, DSGD_NUMERICS_CPU, n_threads);
        many_s[i] = p.wall_s;
        one_s[i] = q.wall_s;
        busy[i] = p.busy_s / q.busy_s;
        wall[i] = p.wall_s / fmax(off_s[i], q.wall_s);
    }
    printf("allreduce: 1,024 workers of batch 8 %.2f s, timing alone %.2f s, one worker of batch "
           "8,192 %.2f s; numerics %.2f x those of one worker, wall %.2f x the longer of timing "
           "alone and one worker\n",
           gsl_stats_median(many_s, 1, (size_t)n_runs), gsl_stats_median(off_s, 1, (size_t)n_runs),
           gsl_stats_median(one_s, 1, (size_t)n_runs), gsl_stats_median(busy, 1, (size_t)n_runs),
           gsl_stats_median(wall, 1, (size_t)n_runs));
}

int main(int count, char **arguments)
{
    n_steps = count > 1 ? atol(arguments[1]) : n_steps;
    n_runs = count > 2 ? atoi(arguments[2]) : n_runs;
    n_threads = count > 3 ? (uint32_t)atoi(arguments[3]) : n_threads;
    DSGD_ASSERT(n_runs >= 1 && n_runs <= MOST_RUNS && n_steps >= 1 && n_threads >= 1,
                "end_to_end [steps] [runs] [threads]");
    const dsgd_experiment *const e = experiment(NULL, 0);
    const char *const gossip[] = {"ad_psgd", "d_psgd"};
    for (size_t i = 0; i < 2; i++) {
        const dsgd_run_config config = named(e, gossip[i]);
        check(&config, gossip[i]);
        report_gossip(&config, gossip[i]);
    }
    report_synchronous();
    return 0;
}
