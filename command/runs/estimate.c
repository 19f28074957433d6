/**
 * @file estimate.c
 * Short runs in processes of their own, each within a share of a few seconds, and straight lines
 * through what they took.
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
#include "command/runs/pool.h"
#include "command/runs/provenance.h"

enum {
    MOST_PERIOD = 1000, /* steps */
    LOOK_MS = 2,
    MOST_PARTS = 10, /* of a test set on which models are evaluated */
    MANY = 12, /* kinds: of more, those that come first have a share of so many */
};

/* Of `dsgd run` alone, and of each process and its results: 40 runs of 4 steps took 0.28 s. */
static const double program_s = 0.03, a_run_s = 0.005;

/* CPU time of all short runs and what was before, and of one at least; of one, what it may take for
 * a whole period. */
static const double all_s = 4, least_s = 0.1, for_period = 2;

/** How far a short run is. */
typedef struct look {
    double steps, virtual_s, cpu_s, memory_bytes;
} look;

/** What a short run took: before its first step, after at most half of its steps, and in all. */
typedef struct probe {
    look middle, latest, last;
    bool is_cut; /* it was ended before its last step */
} probe;

/** A kind of runs: what its steps and evaluations take. */
typedef struct kind {
    json_t *runs; /* their places */
    size_t first; /* of them */
    char family[DSGD_RUN_ID]; /* its id among kinds that differ in less */
    bool is_known;
    double start_s, step_s, evaluation_s, local_s;
    double memory_bytes, step_virtual_s;
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

static double cpu_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/** CPU time of this process, and of those that have ended. */
static double spent_s(void)
{
    struct rusage mine, usage;
    getrusage(RUSAGE_SELF, &mine);
    getrusage(RUSAGE_CHILDREN, &usage);
    return cpu_of(&mine) + cpu_of(&usage);
}

static double resident_bytes(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%jd/status", (int64_t)process);
    return number_in(path, "VmRSS:", 1024, 0);
}

/* --- a short run ------------------------------------------------------------------------------ */

/** Without a GPU: what is estimated is the time of cores. */
static dsgd_numerics numerics_of(const dsgd_planned_run *run, int numerics)
{
    const dsgd_numerics where = dsgd_run_numerics(run, numerics, false);
    return where == DSGD_NUMERICS_CUDA ? DSGD_NUMERICS_OFF : where;
}

/** A short run that is asked for. */
typedef struct request {
    const dsgd_experiment *experiment;
    size_t i;
    int numerics;
    double period; /* steps after which steps take what they took */
    double steps, every; /* as in dsgd_evaluate_config */
    bool local;
    double most_s; /* of CPU time, beside its start; for_period times as much for a whole period */
} request;

/** In its process. */
static void run_here(const request *r, dsgd_progress *progress)
{
    const dsgd_planned_run *const run = &r->experiment->runs[r->i];
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    dsgd_run_config config = run->config;
    dsgd_learning learning;
    config.until = (dsgd_until){.steps = r->steps};
    config.failures = (dsgd_failures_config){0};
    config.numerics = numerics_of(run, r->numerics);
    config.threads = 1;
    config.memory_bytes =
        r->every < 0 ? 0 : dsgd_physical_bytes() / 2; /* 0: steps wait for values */
    config.progress = progress;
    if (config.learning != NULL) {
        learning = *config.learning;
        learning.evaluate.every = r->every;
        learning.evaluate.local = r->local;
        config.learning = &learning;
    }
    dsgd_run_result result;
    const dsgd_status status = dsgd_simulate(&config, &result, NULL);
    _exit(status == DSGD_OK && result.outcome == DSGD_RUN_FAILED ? DSGD_ERUNS : (int)status);
}

/** Notes how far a run is where it ends a period; false: it has taken what it may. */
static bool observe(const request *r, pid_t process, const dsgd_progress *progress, probe *out,
                    look *half)
{
    const look now = {progress->steps, progress->virtual_s, dsgd_child_cpu_s(process),
                      resident_bytes(process)};
    if (progress->events == 0)
        out->middle = out->latest = *half = now;
    if (floor(now.steps / r->period) > floor(out->latest.steps / r->period)) {
        out->latest = now;
        if (now.steps >= 2 * half->steps) {
            out->middle = *half;
            *half = now;
        }
    }
    out->last = now;
    const double took_s = now.cpu_s - (out->middle.steps > 0 ? 0 : out->middle.cpu_s);
    return took_s < r->most_s || (out->middle.steps == 0 && took_s < for_period * r->most_s);
}

/** Waits for a short run, and ends it where it takes too long or too much. */
static int wait_for(const request *r, pid_t process, const dsgd_progress *progress,
                    double most_bytes, probe *out)
{
    struct rusage usage;
    look half = {0};
    int state = 0;
    while (wait4(process, &state, WNOHANG, &usage) == 0) {
        if (!out->is_cut &&
            (!observe(r, process, progress, out, &half) || out->last.memory_bytes > most_bytes)) {
            out->is_cut = true;
            kill(process, SIGKILL);
        }
        nanosleep(&(struct timespec){0, LOOK_MS * 1000 * 1000}, NULL);
    }
    out->last.cpu_s = cpu_of(&usage);
    out->last.memory_bytes = 1024 * (double)usage.ru_maxrss + resident_bytes(getpid());
    return state;
}

static dsgd_status take_probe(const request *r, probe *out, dsgd_error *error)
{
    const dsgd_planned_run *const run = &r->experiment->runs[r->i];
    const double available = available_bytes();
    dsgd_progress *const progress = dsgd_shared_memory(1, sizeof *progress);
    *out = (probe){.is_cut = false};
    const pid_t process = dsgd_fork();
    if (process == 0)
        run_here(r, progress);
    if (process < 0)
        return dsgd_fail(error, DSGD_EIO, "no process for a short run: %m");
    const int state = wait_for(r, process, progress, available, out);
    out->last.virtual_s = progress->virtual_s;
    out->last.steps = progress->steps;
    if (out->is_cut && out->last.memory_bytes > available)
        return dsgd_refuse(
            error,
            "run %zu (%s, %d workers) needs more than the %.3g GB of memory that are available: "
            "take fewer workers, a smaller model, or a larger machine",
            r->i + 1, run->label, run->config.workers, 1e-9 * available);
    if (!out->is_cut && (!WIFEXITED(state) || WEXITSTATUS(state) != 0))
        return dsgd_fail(error, DSGD_ERUNS,
                         "run %zu (%s, %d workers) failed in its first %g steps, so nothing can be "
                         "estimated; `dsgd run` with --only %zu says why",
                         r->i + 1, run->label, run->config.workers, r->steps, r->i + 1);
    return DSGD_OK;
}

/* --- a kind of runs --------------------------------------------------------------------------- */

/** What a step takes. Of a run that was ended the last period that is whole counts. */
static double step_of(const request *r, probe *p)
{
    const double step_s = r->experiment->runs[r->i].config.workload->step_s;
    if (p->is_cut && p->latest.steps > p->middle.steps)
        p->last =
            (look){p->latest.steps, p->latest.virtual_s, p->latest.cpu_s, p->last.memory_bytes};
    if (p->last.steps < 1) /* not even one step: as far as its virtual time says */
        p->last.steps = fmax(p->last.steps, fmin(1, p->last.virtual_s / step_s));
    const double between = p->last.steps - p->middle.steps;
    return between > 0 ? fmax(0, p->last.cpu_s - p->middle.cpu_s) / between : 0;
}

/**
 * What an evaluation takes, from a run of one step with two. Where that is next to what a process
 * takes to end, from two runs that differ in evaluations alone.
 */
static dsgd_status probe_evaluation(request r, kind *of, dsgd_error *error)
{
    enum { SOME_STEPS = 16 };
    static const double little_s = 0.05;
    probe p, more;
    r.every = 0;
    r.steps = 1;
    r.most_s = all_s / 2 / for_period;
    DSGD_TRY(take_probe(&r, &p, error));
    of->evaluation_s = fmax(0, (p.last.cpu_s - of->start_s - of->step_s) / 2);
    if (of->evaluation_s + of->step_s > little_s)
        return DSGD_OK;
    r.steps = SOME_STEPS;
    DSGD_TRY(take_probe(&r, &p, error));
    r.every = 1;
    DSGD_TRY(take_probe(&r, &more, error));
    of->evaluation_s = fmax(0, more.last.cpu_s - p.last.cpu_s) / (SOME_STEPS - 1);
    return DSGD_OK;
}

/** What those of all models take, or do at most: all on parts, and some on all of the test set. */
static dsgd_status probe_local(request r, const probe *timed, kind *of, dsgd_error *error)
{
    const double n = r.experiment->runs[r.i].config.workers;
    probe p;
    r.every = 0;
    r.local = true;
    r.most_s /= 2;
    r.steps = timed->is_cut ? fmin(r.period, r.steps) : r.steps;
    DSGD_TRY(take_probe(&r, &p, error));
    const double known_s = of->start_s + of->step_s * r.steps + 2 * of->evaluation_s;
    const double n_parts = fmin(MOST_PARTS, n / 32);
    const double most_s = of->evaluation_s * (n_parts > 1 ? n / n_parts + sqrt(n) : n);
    of->local_s = fmax(0, p.is_cut ? most_s : p.last.cpu_s - known_s);
    return DSGD_OK;
}

/** A run of as much time as a kind may take, or half of it. */
static dsgd_status probe_kind(const dsgd_experiment *experiment, int numerics, double most_steps,
                              double most_s, kind *of, dsgd_error *error)
{
    const dsgd_run_config *const config = &experiment->runs[of->first].config;
    const bool computes = config->learning != NULL &&
                          numerics_of(&experiment->runs[of->first], numerics) != DSGD_NUMERICS_OFF;
    const request r = {.experiment = experiment,
                       .i = of->first,
                       .numerics = numerics,
                       .period = fmin((double)dsgd_period(config), MOST_PERIOD),
                       .steps = most_steps,
                       .every = -1,
                       .most_s = computes ? most_s / 2 : most_s};
    probe p;
    DSGD_TRY(take_probe(&r, &p, error));
    of->step_s = step_of(&r, &p);
    of->start_s = fmax(0, p.last.cpu_s - of->step_s * p.last.steps) + a_run_s;
    of->memory_bytes = p.last.memory_bytes;
    of->step_virtual_s = p.last.steps > 0 ? p.last.virtual_s / p.last.steps : 0;
    if (computes && of->evaluation_s == 0)
        DSGD_TRY(probe_evaluation(r, of, error));
    if (computes && config->learning->evaluate.local)
        DSGD_TRY(probe_local(r, &p, of, error));
    return DSGD_OK;
}

/**
 * Steps to the first bound of a run, as far as @p step_virtual_s says; NAN: nothing bounds them.
 */
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

/** By a kind that was run with @p n_workers. */
static dsgd_estimate estimate_of(const dsgd_planned_run *run, const kind *of, double n_workers)
{
    const double by = run->config.workers / n_workers;
    const double steps = steps_of(&run->config, of->step_virtual_s);
    const dsgd_learning *const learning = run->config.learning;
    const double every = learning == NULL ? 0 : learning->evaluate.every;
    const double n_evaluations = 2 + (every > 0 ? fmax(0, ceil(steps / every) - 1) : 0);
    return (dsgd_estimate){by * (of->start_s + of->step_s * steps + of->local_s) +
                               of->evaluation_s * n_evaluations,
                           by * of->memory_bytes};
}

/* --- all runs --------------------------------------------------------------------------------- */

/** The runs of each kind. Returns how many kinds there are. */
static size_t kinds_of(const dsgd_experiment *experiment, kind *kinds)
{
    json_t *const places = json_object();
    for (size_t i = 0; i < experiment->n_runs; i++) {
        char id[DSGD_RUN_ID];
        dsgd_run_kind(&experiment->runs[i], false, id);
        const size_t n = json_object_size(places);
        if (json_object_get(places, id) == NULL) {
            json_object_set_new(places, id, json_integer((json_int_t)n));
            kinds[n] = (kind){.runs = json_array(), .first = i};
            dsgd_run_kind(&experiment->runs[i], true, kinds[n].family);
        }
        const size_t k = (size_t)json_integer_value(json_object_get(places, id));
        json_array_append_new(kinds[k].runs, json_integer((json_int_t)i));
    }
    return json_object_size(places);
}

/** Of the kinds that are known the one that is most like another: itself, of its family, of its
 * algorithm. */
static const kind *most_like(const dsgd_experiment *experiment, const kind *kinds, size_t n,
                             const kind *of)
{
    const dsgd_entry *const algorithm = experiment->runs[of->first].algorithm.about;
    const kind *best = NULL;
    int most = -1;
    for (size_t k = 0; k < n; k++) {
        const int likeness = 4 * (&kinds[k] == of) +
                             2 * (strcmp(kinds[k].family, of->family) == 0) +
                             (experiment->runs[kinds[k].first].algorithm.about == algorithm);
        if (kinds[k].is_known && likeness > most) {
            best = &kinds[k];
            most = likeness;
        }
    }
    return best;
}

/** Whether a kind of the family is known. */
static bool has_family(const kind *kinds, size_t n, const char *family)
{
    for (size_t k = 0; k < n; k++)
        if (kinds[k].is_known && strcmp(kinds[k].family, family) == 0)
            return true;
    return false;
}

static double most_steps_of(const dsgd_experiment *experiment, const kind *of)
{
    enum { UNKNOWN_STEPS = 1000 }; /* where seconds or an accuracy bound a run */
    double most_steps = 1;
    json_t *run = NULL;
    size_t k = 0;
    json_array_foreach(of->runs, k, run)
    {
        const double steps = steps_of(&experiment->runs[json_integer_value(run)].config, 0);
        most_steps = fmax(most_steps, isnan(steps) ? UNKNOWN_STEPS : steps);
    }
    return most_steps;
}

dsgd_status dsgd_estimate_runs(const dsgd_experiment *experiment, int numerics,
                               dsgd_estimate *estimates, dsgd_error *error)
{
    kind *const kinds = dsgd_keep(experiment->n_runs, sizeof *kinds);
    const size_t n = kinds_of(experiment, kinds);
    size_t n_left = n;
    double evaluation_s = 0; /* of the kind before, where all evaluate the same */
    bool evaluates_alike = true;
    for (size_t k = 0; k < experiment->n_columns; k++)
        evaluates_alike =
            evaluates_alike && (strncmp(experiment->columns[k], "learn", 5) != 0 ||
                                strncmp(experiment->columns[k], "learn.split", 11) == 0 ||
                                strncmp(experiment->columns[k], "learn.optimizer", 15) == 0);
    json_t *run = NULL;
    size_t at = 0;
    for (size_t turn = 0; turn < 2 * n; turn++) { /* first one of each family */
        kind *const of = &kinds[turn < n ? turn : turn - n];
        const double left_s = all_s - spent_s();
        if (of->is_known || (turn < n && has_family(kinds, n, of->family)) ||
            (turn > 0 && left_s < least_s))
            continue;
        of->evaluation_s = evaluates_alike ? evaluation_s : 0;
        DSGD_TRY(probe_kind(experiment, numerics, most_steps_of(experiment, of),
                            fmax(least_s, left_s / fmin((double)n_left--, MANY)), of, error));
        of->is_known = true;
        evaluation_s = of->evaluation_s;
    }
    for (size_t k = 0; k < n; k++) {
        const kind *const like = most_like(experiment, kinds, n, &kinds[k]);
        json_array_foreach(kinds[k].runs, at, run)
        {
            const size_t place = (size_t)json_integer_value(run);
            estimates[place] = estimate_of(&experiment->runs[place], like,
                                           experiment->runs[like->first].config.workers);
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
    dsgd_estimate_sum sum = {.cpu_s = program_s, .available_bytes = available_bytes()};
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const double cpu_s = estimates[i].cpu_s; /* which fmax() passes over, if it is not known */
        sum.most_bytes = fmax(sum.most_bytes, estimates[i].memory_bytes);
        sum.longest_s = fmax(sum.longest_s, cpu_s);
        sum.cpu_s += isnan(cpu_s) ? 0 : cpu_s;
        sum.n_unknown += isnan(cpu_s);
    }
    return sum;
}
