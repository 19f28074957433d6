/**
 * @file estimate.c
 * Short runs in processes of their own, and straight lines through what they took.
 */
#include "command/runs/estimate.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/program.h"
#include "command/runs/manifest.h"
#include "command/runs/pool.h"

enum {
    FEWEST_STEPS = 4, /* of the first short run */
    MOST_PROBES = 8, /* of a kind of runs */
    MOST_KINDS = 64, /* that are told apart by all that decides them */
    MOST_PERIOD = 1000, /* steps */
    N_EVALUATIONS = 4, /* of the short run that has some beside the first and the last */
};

/*
 * Between two short runs whose difference counts; CPU time of one that is long enough, as queues
 * at servers grow for a while; and of one that is ended.
 */
static const double apart_s = 0.1, long_s = 1, most_probe_s = 30;

/** What a short run took. */
typedef struct probe {
    double steps, virtual_s, cpu_s, memory_bytes;
    bool is_cut; /* it was ended before its last step */
} probe;

/** A kind of runs: what its steps and evaluations take. */
typedef struct kind {
    double start_s, step_s, evaluation_s;
    double start_bytes, step_bytes;
    double step_virtual_s;
} kind;

/* --- memory ----------------------------------------------------------------------------------- */

/** The first number of a file behind a word, times @p unit; otherwise what is given. */
static double number_in(const char *path, const char *word, double unit, double otherwise)
{
    char text[4096] = "", *end = NULL;
    FILE *const stream = fopen(path, "re");
    if (stream == NULL)
        return otherwise;
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    const char *const place = strstr(text, word);
    const char *const begin = place == NULL ? "" : place + strlen(word);
    const double x = strtod(begin, &end);
    return end == begin ? otherwise : x * unit;
}

static double available_bytes(void)
{
    const double physical = (double)dsgd_physical_bytes();
    const double free_bytes = number_in("/proc/meminfo", "MemAvailable:", 1024, physical);
    const double limit = number_in("/sys/fs/cgroup/memory.max", "", 1, INFINITY);
    const double used = number_in("/sys/fs/cgroup/memory.current", "", 1, 0);
    struct rlimit resident = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit(RLIMIT_RSS, &resident); /* which Linux only tells */
    const double most = resident.rlim_cur == RLIM_INFINITY ? INFINITY : (double)resident.rlim_cur;
    return fmin(most, fmin(free_bytes, fmax(0, limit - used)));
}

static double resident_bytes(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
    return number_in(path, "VmRSS:", 1024, 0);
}

/* --- a short run ------------------------------------------------------------------------------ */

/** Without a GPU: what is estimated is the time of cores. */
static dsgd_numerics numerics_of(const dsgd_planned_run *run, int numerics)
{
    const dsgd_numerics where = dsgd_run_numerics(run, numerics, false);
    return where == DSGD_NUMERICS_CUDA ? DSGD_NUMERICS_OFF : where;
}

/** In its process. */
static void run_here(const dsgd_planned_run *run, int numerics, double steps, double every,
                     dsgd_progress *progress)
{
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    dsgd_run_config config = run->config;
    dsgd_learning learning;
    config.until = (dsgd_until){.steps = steps};
    config.stops.n = 0;
    config.numerics = numerics_of(run, numerics);
    config.threads = 1;
    config.memory_bytes = dsgd_physical_bytes() / 2; /* as a run alone */
    config.progress = progress;
    if (config.learning != NULL) {
        learning = *config.learning;
        learning.evaluate.every = every;
        config.learning = &learning;
    }
    dsgd_run_result result;
    const dsgd_status status = dsgd_simulate(&config, &result, NULL);
    _exit(status == DSGD_OK && result.outcome == DSGD_RUN_FAILED ? DSGD_ERUNS : (int)status);
}

/** Waits for a short run, and ends it where it takes too long or too much. */
static int wait_for(pid_t process, double most_bytes, probe *out)
{
    struct rusage usage;
    int state = 0;
    for (int k = 0; wait4(process, &state, WNOHANG, &usage) == 0; k++) {
        nanosleep(&(struct timespec){0, 2 * 1000 * 1000}, NULL);
        if (k % 8 == 0 &&
            (resident_bytes(process) > most_bytes || dsgd_process_cpu_s(process) > most_probe_s)) {
            out->is_cut = true;
            kill(process, SIGKILL);
        }
    }
    out->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    out->memory_bytes = 1024 * (double)usage.ru_maxrss + resident_bytes(getpid());
    return state;
}

/** A run of @p steps with an evaluation @p every so many; 0: none but the first and the last. */
static dsgd_status take_probe(const dsgd_experiment *experiment, size_t i, int numerics,
                              double steps, double every, probe *out, dsgd_error *error)
{
    const dsgd_planned_run *const run = &experiment->runs[i];
    const double available = available_bytes();
    dsgd_progress *const progress = dsgd_progress_map(1);
    *out = (probe){.steps = steps};
    const pid_t process = dsgd_fork();
    if (process == 0)
        run_here(run, numerics, steps, every, progress);
    if (process < 0)
        return dsgd_fail(error, DSGD_EIO, "no process for a short run: %m");
    const int state = wait_for(process, available, out);
    out->virtual_s = progress->virtual_s;
    if (out->is_cut)
        out->steps = progress->steps;
    if (out->is_cut && out->memory_bytes > available)
        return dsgd_refuse(
            error,
            "run %zu (%s, %d workers) needs more than the %.3g GB of memory that are available: "
            "take fewer workers, a smaller model, or a larger machine",
            i + 1, run->label, run->config.workers, 1e-9 * available);
    if (!out->is_cut && (!WIFEXITED(state) || WEXITSTATUS(state) != 0))
        return dsgd_fail(error, DSGD_ERUNS,
                         "run %zu (%s, %d workers) failed in its first %g steps, so nothing can be "
                         "estimated; `dsgd run` with --only %zu says why",
                         i + 1, run->label, run->config.workers, steps, i + 1);
    return DSGD_OK;
}

/* --- a kind of runs --------------------------------------------------------------------------- */

/** What an evaluation takes, from one more run like @p last that has some. */
static dsgd_status probe_evaluation(const dsgd_experiment *experiment, size_t i, int numerics,
                                    const probe *last, kind *of, dsgd_error *error)
{
    const dsgd_learning *const learning = experiment->runs[i].config.learning;
    of->evaluation_s = 0;
    if (learning == NULL || learning->evaluate.every <= 0 || last->is_cut ||
        numerics_of(&experiment->runs[i], numerics) == DSGD_NUMERICS_OFF)
        return DSGD_OK;
    probe p;
    /* As often as in the run, where that is often enough to be told from noise. */
    const double every =
        fmin(learning->evaluate.every, fmax(1, floor(last->steps / N_EVALUATIONS)));
    DSGD_TRY(take_probe(experiment, i, numerics, last->steps, every, &p, error));
    const double n = ceil(last->steps / every) - 1; /* beside the first and the last */
    if (n >= 1)
        of->evaluation_s = fmax(0, (p.cpu_s - last->cpu_s) / n);
    return DSGD_OK;
}

/** Runs for more and more steps until the times are so far apart that a line can be drawn. */
static dsgd_status probe_kind(const dsgd_experiment *experiment, size_t i, int numerics,
                              double most_steps, kind *of, dsgd_error *error)
{
    const double period = fmin((double)dsgd_period(&experiment->runs[i].config), MOST_PERIOD);
    double steps = fmin(period * ceil(FEWEST_STEPS / period), most_steps);
    probe before = {.steps = 0};
    probe last = {.steps = 0};
    for (int k = 0; k < MOST_PROBES; k++) {
        before = last;
        DSGD_TRY(take_probe(experiment, i, numerics, steps, 0, &last, error));
        const bool is_long = last.cpu_s > long_s || steps > most_steps / 8;
        if (steps >= most_steps || last.is_cut ||
            (k > 0 && is_long && last.cpu_s - before.cpu_s > apart_s))
            break;
        steps = fmin(steps * (last.cpu_s > 4 * apart_s ? 2 : 4), most_steps);
    }
    const double between = last.steps - before.steps;
    if (between > 0) {
        of->step_s = fmax(0, (last.cpu_s - before.cpu_s) / between);
        of->step_bytes = fmax(0, (last.memory_bytes - before.memory_bytes) / between);
    }
    if (before.steps == 0) /* a single one, which is the whole run, or was ended */
        of->step_bytes = 0;
    of->start_s = fmax(0, last.cpu_s - of->step_s * last.steps);
    of->start_bytes = last.memory_bytes - of->step_bytes * last.steps;
    of->step_virtual_s = last.steps > 0 ? last.virtual_s / last.steps : 0;
    return probe_evaluation(experiment, i, numerics, &last, of, error);
}

/** Steps to the first bound of a run, as far as @p step_virtual_s says; NAN: nothing bounds them. */
static double steps_of(const dsgd_run_config *config, double step_virtual_s)
{
    const dsgd_until *const until = &config->until;
    double steps = NAN; /* which fmin() passes over */
    if (until->steps > 0)
        steps = fmin(steps, until->steps);
    if (until->samples > 0 && config->workload->samples > 0)
        steps = fmin(steps, until->samples / config->workload->samples / config->workers);
    if (until->seconds > 0 && step_virtual_s > 0)
        steps = fmin(steps, until->seconds / step_virtual_s);
    return steps;
}

static dsgd_estimate estimate_of(const dsgd_planned_run *run, const kind *of)
{
    const double steps = steps_of(&run->config, of->step_virtual_s);
    const dsgd_learning *const learning = run->config.learning;
    const double every = learning == NULL ? 0 : learning->evaluate.every;
    const double n_evaluations = every > 0 ? fmax(0, ceil(steps / every) - 1) : 0;
    return (dsgd_estimate){of->start_s + of->step_s * steps + of->evaluation_s * n_evaluations,
                           of->start_bytes + (isnan(steps) ? 0 : of->step_bytes * steps)};
}

/* --- all runs --------------------------------------------------------------------------------- */

/** The runs of each kind, by its id. */
static json_t *kinds_of(const dsgd_experiment *experiment, bool is_coarse)
{
    json_t *const kinds = json_object();
    for (size_t i = 0; i < experiment->n_runs; i++) {
        char id[DSGD_RUN_ID];
        dsgd_run_kind(&experiment->runs[i], is_coarse, id);
        if (json_object_get(kinds, id) == NULL)
            json_object_set_new(kinds, id, json_array());
        json_array_append_new(json_object_get(kinds, id), json_integer((json_int_t)i));
    }
    return kinds;
}

dsgd_status dsgd_estimate_runs(const dsgd_experiment *experiment, int numerics,
                               dsgd_estimate *estimates, dsgd_error *error)
{
    enum { UNKNOWN_STEPS = 1000 }; /* where seconds or an accuracy bound a run */
    json_t *kinds = kinds_of(experiment, false);
    if (json_object_size(kinds) > MOST_KINDS)
        kinds = kinds_of(experiment, true);
    const char *id = NULL;
    json_t *runs = NULL, *run = NULL;
    size_t k = 0;
    json_object_foreach(kinds, id, runs)
    {
        double most_steps = 0;
        json_array_foreach(runs, k, run)
        {
            const double steps = steps_of(&experiment->runs[json_integer_value(run)].config, 0);
            most_steps = fmax(most_steps, isnan(steps) ? UNKNOWN_STEPS : steps);
        }
        const size_t first = (size_t)json_integer_value(json_array_get(runs, 0));
        kind of = {0};
        DSGD_TRY(probe_kind(experiment, first, numerics, fmax(most_steps, 1), &of, error));
        json_array_foreach(runs, k, run)
        {
            const size_t i = (size_t)json_integer_value(run);
            estimates[i] = estimate_of(&experiment->runs[i], &of);
        }
    }
    const double available = available_bytes();
    for (size_t i = 0; i < experiment->n_runs; i++)
        if (estimates[i].memory_bytes > available)
            return dsgd_refuse(
                error,
                "run %zu (%s, %d workers) needs about %.3g GB of memory, but %.3g GB are available",
                i + 1, experiment->runs[i].label, experiment->runs[i].config.workers,
                1e-9 * estimates[i].memory_bytes, 1e-9 * available);
    return DSGD_OK;
}

dsgd_estimate_sum dsgd_estimate_sum_of(const dsgd_experiment *experiment,
                                       const dsgd_estimate *estimates)
{
    dsgd_estimate_sum sum = {.available_bytes = available_bytes()};
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const double cpu_s = estimates[i].cpu_s; /* which fmax() passes over, if it is not known */
        sum.most_bytes = fmax(sum.most_bytes, estimates[i].memory_bytes);
        sum.longest_s = fmax(sum.longest_s, cpu_s);
        sum.cpu_s += isnan(cpu_s) ? 0 : cpu_s;
        sum.n_unknown += isnan(cpu_s);
    }
    return sum;
}
