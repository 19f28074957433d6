/**
 * @file run.c
 * `dsgd run` and `dsgd check`: the list of runs, each in a process of its own, the longest first.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/csv.h"
#include "command/command.h"
#include "command/experiment.h"
#include "command/plugin.h"
#include "command/results.h"
#include "command/sensitivity.h"

enum {
    MOST_SETS = 256,
    KEY_SET = 256,
    KEY_NUMERICS,
    KEY_RESUME,
    KEY_ONLY,
    KEY_THREADS,
    KEY_FORCE,
    KEY_RECORD,
    KEY_SENSITIVITY,
    KEY_BASELINE
};

typedef struct arguments {
    const char *file, *folder, *record, *baseline;
    const char *sets[MOST_SETS];
    size_t n_sets;
    dsgd_plugin_paths plugins;
    long jobs, only, threads; /* 0: not given */
    int numerics;
    double sensitivity_percent; /* 0: none */
    bool resume, force;
} arguments;

static const char *const numerics_words[] = {"auto", "cpu", "cuda", "off", NULL};

static long positive(struct argp_state *state, const char *what, const char *text)
{
    char *end = NULL;
    const long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < 1 || number > 1000000)
        argp_error(state, "%s %s: a whole number from 1 to 1000000 is expected", what, text);
    return number;
}

static int numerics(struct argp_state *state, const char *text)
{
    for (int i = 0; numerics_words[i] != NULL; i++)
        if (strcmp(numerics_words[i], text) == 0)
            return i;
    argp_error(state, "--numerics %s: auto, cpu, cuda or off is expected", text);
    return 0;
}

static double sensitivity(struct argp_state *state, const char *text)
{
    double percent = 20;
    if (text != NULL &&
        (!dsgd_parse_number(text, NULL, &percent) || percent <= 0 || percent >= 100))
        argp_error(state,
                   "--sensitivity=%s: a number of per cent above 0 and below 100 is expected",
                   text);
    return percent;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *const a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->plugins;
        return 0;
    case 'o':
        a->folder = text;
        return 0;
    case 'j':
        a->jobs = positive(state, "-j", text);
        return 0;
    case KEY_SET:
        if (a->n_sets == MOST_SETS)
            argp_error(state, "--set: at most %d are possible", MOST_SETS);
        a->sets[a->n_sets++] = text;
        return 0;
    case KEY_NUMERICS:
        a->numerics = numerics(state, text);
        return 0;
    case KEY_RESUME:
        a->resume = true;
        return 0;
    case KEY_FORCE:
        a->force = true;
        return 0;
    case KEY_RECORD:
        a->record = text;
        return 0;
    case KEY_ONLY:
        a->only = positive(state, "--only", text);
        return 0;
    case KEY_THREADS:
        a->threads = positive(state, "--threads", text);
        return 0;
    case KEY_SENSITIVITY:
        a->sensitivity_percent = sensitivity(state, text);
        return 0;
    case KEY_BASELINE:
        a->baseline = text;
        return 0;
    case ARGP_KEY_END:
        if (a->baseline != NULL && a->sensitivity_percent == 0)
            argp_error(state,
                       "--baseline %s: it goes with --sensitivity; `dsgd compare` has its own",
                       a->baseline);
        return 0;
    case ARGP_KEY_ARG:
        if (a->file != NULL)
            argp_error(state, "%s: one experiment at a time", text);
        a->file = text;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the experiment file is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option run_options[] = {
    {"output", 'o', "DIR", 0, "Folder of the results (results/NAME)", 0},
    {"jobs", 'j', "N", 0, "Runs at the same time (the number of cores)", 0},
    {"set", KEY_SET, "A.B=C", 0, "Overrides a value of the experiment; may be repeated", 0},
    {"numerics", KEY_NUMERICS, "WHERE", 0, "Gradients on auto, cpu, cuda, or off", 0},
    {"threads", KEY_THREADS, "N", 0,
     "Computing threads per run, beside the one that simulates (cores / jobs - 1); decides no "
     "result",
     0},
    {"resume", KEY_RESUME, NULL, 0, "Does only what has no results yet", 0},
    {"record", KEY_RECORD, "FILE", 0,
     "Writes the operations on values to FILE, for `dsgd replay`; of several runs, or where FILE "
     "is "
     "a folder, to FILE/RUN.record. With --numerics off nothing is computed",
     0},
    {"only", KEY_ONLY, "RUN", 0, "Does this run alone", 0},
    {"force", KEY_FORCE, NULL, 0, "Replaces the results of another experiment", 0},
    {"sensitivity", KEY_SENSITIVITY, "PERCENT", OPTION_ARG_OPTIONAL,
     "Runs the experiment also with each calibrated parameter of its platform and workload so much "
     "smaller and larger (20), and says which speed-ups and rankings hang on it; results in "
     "results/NAME-sensitivity. With --numerics off nothing is learned meanwhile",
     0},
    {"baseline", KEY_BASELINE, "NAME", 0,
     "Of the speed-ups that --sensitivity looks at (the first algorithm)", 0},
    {0},
};

static const struct argp_option check_options[] = {
    {"set", KEY_SET, "A.B=C", 0, "Overrides a value of the experiment; may be repeated", 0},
    {"numerics", KEY_NUMERICS, "WHERE", 0, "As in `dsgd run`", 0},
    {"sensitivity", KEY_SENSITIVITY, "PERCENT", OPTION_ARG_OPTIONAL, "As in `dsgd run`", 0},
    {0},
};

/* --- the pool ----------------------------------------------------------------------------------------------------------------------- */

/** A run as the pool sees it. */
typedef struct task {
    size_t i; /* in the experiment */
    double cost; /* by which the longest come first */
    pid_t process; /* 0: not started or ended */
    double start_wall_s;
    bool started, ended;
} task;

typedef struct pool {
    const arguments *arguments;
    const dsgd_experiment *experiment;
    const char *folder, *command;
    char scratch[64];
    task *tasks;
    size_t n_tasks, n_ended, n_failed;
    long jobs;
    _Atomic double *progress; /* [n_runs], shared with the processes */
    double start_wall_s, last_line_s;
} pool;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long cores(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n;
}

static double estimated_cost(const dsgd_run_config *config)
{
    const double p = config->workers;
    const double steps = config->until.steps > 0 ? config->until.steps : 100;
    return steps * p * (log2(p + 1) + (config->learning == NULL ? 0 : 20)) *
           (config->exchange.pieces < 1 ? 100 : (double)config->exchange.pieces);
}

static int by_cost(const void *a, const void *b)
{
    const task *const s = a;
    const task *const t = b;
    if (s->cost != t->cost)
        return s->cost > t->cost ? -1 : 1;
    return s->i < t->i ? -1 : 1;
}

/** Whether records go into a folder, each named by its run. */
static bool records_in_folder(const arguments *a, const dsgd_experiment *experiment)
{
    struct stat facts;
    return (experiment->n_runs > 1 && a->only == 0) || a->record[strlen(a->record) - 1] == '/' ||
           (stat(a->record, &facts) == 0 && S_ISDIR(facts.st_mode));
}

/** Where the record of run @p i goes, in fresh memory; NULL without records. */
static char *record_path(const arguments *a, const dsgd_experiment *experiment, size_t i)
{
    if (a->record == NULL)
        return NULL;
    return records_in_folder(a, experiment) ? dsgd_xprintf("%s/%zu.record", a->record, i + 1)
                                            : dsgd_xstrdup(a->record);
}

/** In the process of the run: simulates, writes the rows, and ends. */
static void run_here(const pool *p, size_t i)
{
    dsgd_run_config config = p->experiment->runs[i].config;
    config.numerics = p->arguments->numerics;
    /* The simulating thread computes too, when it has to wait. */
    const long threads = p->arguments->threads > 0 ? p->arguments->threads : cores() / p->jobs - 1;
    config.threads = (uint32_t)(threads < 1 ? 1 : threads);
    config.memory_bytes =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2 / (size_t)p->jobs;
    config.scratch = p->scratch;
    config.progress = &p->progress[i];
    config.record = record_path(p->arguments, p->experiment, i);
    if (config.record != NULL)
        config.record_about = dsgd_results_about(p->experiment, i, p->command);
    dsgd_run_result result;
    dsgd_error error = {""};
    const dsgd_status status = dsgd_simulate(&config, &result, &error);
    if (status != DSGD_OK) {
        result.outcome = DSGD_RUN_FAILED;
        result.why = error;
        fprintf(stderr, "dsgd: run %zu: %s\n", i + 1, error.text);
    }
    if (dsgd_results_write(p->folder, p->experiment, i, &result, &error) != DSGD_OK) {
        fprintf(stderr, "dsgd: run %zu: %s\n", i + 1, error.text);
        _exit(DSGD_EIO);
    }
    fflush(NULL);
    _exit(status);
}

/** False, with errno, where there is no process to be had. */
static bool start(pool *p, task *t)
{
    fflush(NULL);
    const pid_t process = fork();
    if (process < 0)
        return false;
    if (process == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        run_here(p, t->i);
    }
    t->started = true;
    t->start_wall_s = wall_s();
    t->process = process;
    return true;
}

/** Leaves a row that says why the process of a run could not. */
static void write_failure(const pool *p, const task *t, const dsgd_error *why)
{
    const dsgd_run_result failed = {.outcome = DSGD_RUN_FAILED,
                                    .why = *why,
                                    .partial_active_mean = NAN,
                                    .device = "off",
                                    .total_wall_s = t->started ? wall_s() - t->start_wall_s : 0};
    fprintf(stderr, "dsgd: run %zu: %s\n", t->i + 1, why->text);
    dsgd_results_write(p->folder, p->experiment, t->i, &failed, NULL);
}

/** Books a run that ended. */
static dsgd_status end(pool *p, task *t, dsgd_error *error)
{
    t->process = 0;
    t->ended = true;
    p->n_ended++;
    p->n_failed += !dsgd_results_has(p->folder, t->i);
    return dsgd_results_join(p->folder, p->experiment, error);
}

/** Books a run whose process ended, perhaps by a signal. */
static dsgd_status end_process(pool *p, task *t, int state, dsgd_error *error)
{
    if (!WIFEXITED(state) && !interrupted) {
        dsgd_error why;
        dsgd_fail(&why, DSGD_OK, "the process of the run died of signal %d", WTERMSIG(state));
        write_failure(p, t, &why);
    }
    return end(p, t, error);
}

/* --- progress ----------------------------------------------------------------------------------------------------------------------- */

static void print_duration(FILE *stream, double seconds)
{
    if (!isfinite(seconds))
        fputs("?", stream);
    else if (seconds < 90)
        fprintf(stream, "%.0f s", seconds);
    else
        fprintf(stream, "%.1f min", seconds / 60);
}

/** A bar on a terminal, a line now and then elsewhere. */
static void show_progress(pool *p, bool last)
{
    const bool terminal = isatty(STDERR_FILENO);
    const double now_s = wall_s();
    if (!last && now_s - p->last_line_s < (terminal ? 0.2 : 10))
        return;
    p->last_line_s = now_s;
    double cost = 0;
    double done = 0;
    for (size_t k = 0; k < p->n_tasks; k++) {
        const task *const t = &p->tasks[k];
        cost += t->cost;
        done += t->cost *
                (t->ended ? 1 : atomic_load_explicit(&p->progress[t->i], memory_order_relaxed));
    }
    const double share = cost > 0 ? done / cost : 1;
    enum { WIDTH = 24 };
    fputs(terminal ? "\r\033[K" : "", stderr);
    if (terminal) {
        fputc('[', stderr);
        for (int i = 0; i < WIDTH; i++)
            fputc(i < share * WIDTH ? '#' : '.', stderr);
        fputs("] ", stderr);
    }
    fprintf(stderr, "%zu of %zu runs, %.0f %%, ", p->n_ended, p->n_tasks, 100 * share);
    print_duration(stderr, share > 0 ? (now_s - p->start_wall_s) * (1 - share) / share : INFINITY);
    fputs(" left", stderr);
    for (size_t k = 0; k < p->n_tasks; k++) {
        const task *const t = &p->tasks[k];
        const double run_share = atomic_load_explicit(&p->progress[t->i], memory_order_relaxed);
        if (t->process == 0)
            continue;
        fprintf(stderr, "; %s %d: %.0f %%, ", p->experiment->runs[t->i].label,
                p->experiment->runs[t->i].config.workers, 100 * run_share);
        print_duration(stderr, run_share > 0
                                   ? (now_s - t->start_wall_s) * (1 - run_share) / run_share
                                   : INFINITY);
    }
    fputs(terminal && !last ? "" : "\n", stderr);
    fflush(stderr);
}

/* --- the whole ---------------------------------------------------------------------------------------------------------------------- */

static task *task_of(pool *p, pid_t process)
{
    for (size_t k = 0; k < p->n_tasks; k++)
        if (p->tasks[k].process == process)
            return &p->tasks[k];
    return NULL;
}

/** Where no process is to be had, one that ends makes room; a run without any to wait for has failed. */
static dsgd_status start_what_fits(pool *p, dsgd_error *error)
{
    long under_way = 0;
    for (size_t k = 0; k < p->n_tasks; k++)
        under_way += p->tasks[k].process != 0;
    for (size_t k = 0; k < p->n_tasks && under_way < p->jobs; k++) {
        task *const t = &p->tasks[k];
        if (t->started || t->ended)
            continue;
        if (start(p, t)) {
            under_way++;
            continue;
        }
        dsgd_error why;
        dsgd_fail(&why, DSGD_OK, "no process for the run: %m");
        if (under_way > 0)
            return DSGD_OK;
        write_failure(p, t, &why);
        const dsgd_status status = end(p, t, error);
        if (status != DSGD_OK)
            return status;
    }
    return DSGD_OK;
}

static void kill_all(const pool *p)
{
    for (size_t k = 0; k < p->n_tasks; k++)
        if (p->tasks[k].process != 0)
            kill(p->tasks[k].process, SIGKILL);
}

static dsgd_status run_all(pool *p, dsgd_error *error)
{
    dsgd_status status = DSGD_OK;
    while (p->n_ended < p->n_tasks && status == DSGD_OK) {
        if (interrupted)
            kill_all(p);
        else
            status = start_what_fits(p, error);
        int state = 0;
        const pid_t process = waitpid(-1, &state, WNOHANG);
        task *const t = process > 0 ? task_of(p, process) : NULL;
        if (status == DSGD_OK && t != NULL)
            status = end_process(p, t, state, error);
        else if (interrupted && process < 0)
            break;
        else
            nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
        show_progress(p, false);
    }
    show_progress(p, true);
    if (interrupted)
        return dsgd_fail(error, DSGD_ERUNS,
                         "interrupted; %s keeps what was done, and --resume does the rest",
                         p->folder);
    return status;
}

static void print_table(const pool *p)
{
    static const char *const columns[] = {"run",         "algorithm",  "workers",
                                          "seed",        "status",     "throughput_samples_per_s",
                                          "step_mean_s", "final_loss", "final_accuracy",
                                          "wall_s"};
    static const char *const heads[] = {"run",       "algorithm", "workers", "seed",     "status",
                                        "samples/s", "s/step",    "loss",    "accuracy", "wall s"};
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        printf(k == 1 ? "%-16s" : "%10s", heads[k]);
    putchar('\n');
    for (size_t i = 0; i < p->experiment->n_runs; i++) {
        if (i >= p->experiment->n_unchanged && (size_t)p->arguments->only != i + 1)
            continue; /* variations are summed up */
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
            char *const field = dsgd_results_field(p->folder, i, columns[k]);
            const bool number = k > 4 && field != NULL && *field != '\0';
            if (number)
                printf("%10.4g", strtod(field, NULL));
            else
                printf(k == 1 ? "%-16s" : "%10s", field == NULL ? "-" : field);
            free(field);
        }
        char *const note = dsgd_results_note(p->folder, i);
        printf("\n          %s", note == NULL ? "not done\n" : note);
        free(note);
    }
    printf(
        "\nresults: %s/runs.csv, curves.csv, workers.csv, manifest.json\nfigures: dsgd plot %s\n",
        p->folder, p->folder);
}

/** Whether a run has its results, and its record where one is asked for. */
static bool is_done(const pool *p, size_t i)
{
    char *const record = record_path(p->arguments, p->experiment, i);
    const bool done =
        dsgd_results_has(p->folder, i) && (record == NULL || access(record, F_OK) == 0);
    free(record);
    return done;
}

/** What there is to do, longest first. */
static void list_tasks(pool *p)
{
    p->tasks = dsgd_xcalloc(p->experiment->n_runs, sizeof *p->tasks);
    for (size_t i = 0; i < p->experiment->n_runs; i++) {
        if (p->arguments->only > 0 && (size_t)p->arguments->only != i + 1)
            continue;
        if (p->arguments->resume && is_done(p, i))
            continue;
        dsgd_results_forget(p->folder, i);
        p->tasks[p->n_tasks++] =
            (task){.i = i, .cost = estimated_cost(&p->experiment->runs[i].config)};
    }
    qsort(p->tasks, p->n_tasks, sizeof *p->tasks, by_cost);
}

static dsgd_status run_experiment(const arguments *a, const dsgd_experiment *experiment,
                                  const char *folder, const char *command, dsgd_error *error)
{
    pool p = {.arguments = a,
              .experiment = experiment,
              .folder = folder,
              .command = command,
              .jobs = a->jobs > 0 ? a->jobs : cores(),
              .start_wall_s = wall_s()};
    dsgd_status status = dsgd_results_open(folder, experiment, command, a->force, error);
    if (status != DSGD_OK)
        return status;
    const char *const tmp = getenv("TMPDIR");
    snprintf(p.scratch, sizeof p.scratch, "%.40s/dsgd-XXXXXX",
             tmp == NULL || strlen(tmp) > 40 ? "/tmp" : tmp);
    if (mkdtemp(p.scratch) == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: no folder for temporary files: %m", p.scratch);
    const size_t shared_bytes = experiment->n_runs * sizeof *p.progress;
    p.progress =
        mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    DSGD_ASSERT(p.progress != MAP_FAILED, "no shared memory of %zu bytes", shared_bytes);
    list_tasks(&p);
    status = dsgd_results_join(folder, experiment, error);
    if (status == DSGD_OK)
        status = run_all(&p, error);
    rmdir(p.scratch);
    if (status == DSGD_OK)
        print_table(&p);
    if (status == DSGD_OK && a->sensitivity_percent > 0 && a->only == 0)
        status =
            dsgd_sensitivity_report(experiment, folder, a->sensitivity_percent, a->baseline, error);
    if (status == DSGD_OK && p.n_failed > 0)
        status = dsgd_fail(error, DSGD_ERUNS, "%zu of %zu runs failed; the others are kept in %s",
                           p.n_failed, p.n_tasks, folder);
    munmap((void *)p.progress, shared_bytes);
    free(p.tasks);
    return status;
}

/** Whether the data and the models are good: once, or for every run where something about learning is swept. */
static dsgd_status check_learning(const dsgd_experiment *experiment, dsgd_error *error)
{
    size_t n = experiment->n_runs > 0 ? 1 : 0;
    for (size_t k = 0; k < experiment->n_columns; k++)
        if (strncmp(experiment->columns[k], "learn", 5) == 0)
            n = experiment->n_unchanged;
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < n; i++)
        if (experiment->runs[i].config.learning != NULL)
            status = dsgd_learning_check(experiment->runs[i].config.learning,
                                         experiment->runs[i].config.seed, error);
    return status;
}

/** Whether CUDA is there is asked once, for all runs; `auto` does without, and says so. */
static dsgd_status choose_numerics(arguments *a, const dsgd_experiment *experiment,
                                   dsgd_error *error)
{
    bool learns = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_learning *const learning = experiment->runs[i].config.learning;
        learns = learns || (learning != NULL && learning->precision == DSGD_PRECISION_FLOAT);
    }
    if (a->numerics == DSGD_NUMERICS_CUDA)
        return dsgd_device_cuda_try(error);
    dsgd_error why = {""};
    if (a->numerics == DSGD_NUMERICS_AUTO && learns && dsgd_device_cuda_try(&why) != DSGD_OK) {
        fprintf(stderr, "dsgd: numerics on the CPU (%s)\n", why.text);
        a->numerics = DSGD_NUMERICS_CPU;
    }
    return DSGD_OK;
}

/** Whether there is something to record, and a place for it: the folder, or the file where there is one run. */
static dsgd_status check_record(const arguments *a, const dsgd_experiment *experiment,
                                dsgd_error *error)
{
    if (*a->record == '\0')
        return dsgd_fail(error, DSGD_EUSAGE, "--record: the name of a file is expected");
    for (size_t i = 0; i < experiment->n_runs; i++)
        if (experiment->runs[i].config.learning == NULL)
            return dsgd_fail(error, DSGD_EUSAGE,
                             "--record %s: nothing is learned in %s, so there is nothing to "
                             "record; `learn` says what",
                             a->record, experiment->path);
    if (records_in_folder(a, experiment))
        return dsgd_make_folder(a->record, error);
    char *const beside = dsgd_xprintf("%s.part", a->record);
    FILE *const stream = fopen(beside, "ab");
    dsgd_status status = DSGD_OK;
    if (stream == NULL)
        status = dsgd_fail(error, DSGD_EIO, "%s: the record cannot be written: %m", beside);
    else
        fclose(stream);
    unlink(beside);
    free(beside);
    return status;
}

static char *joined(int count, char **words)
{
    char *text = dsgd_xstrdup("dsgd");
    for (int i = 0; i < count; i++) {
        char *const longer = dsgd_xprintf("%s %s", text, words[i]);
        free(text);
        text = longer;
    }
    return text;
}

/** Plug-ins come first, so that the file can name their algorithms. */
static dsgd_status open_experiment(const arguments *a, dsgd_experiment *experiment,
                                   dsgd_error *error)
{
    dsgd_status status = dsgd_plugins_load(&a->plugins, error);
    if (status == DSGD_OK)
        status = dsgd_experiment_open(a->file, a->sets, a->n_sets, a->numerics, experiment, error);
    if (status != DSGD_OK || a->sensitivity_percent == 0)
        return status;
    status = dsgd_sensitivity_check(experiment, a->baseline, error);
    if (status == DSGD_OK)
        status = dsgd_sensitivity_vary(experiment, a->sensitivity_percent, error);
    if (status != DSGD_OK)
        dsgd_experiment_close(experiment);
    return status;
}

static dsgd_status run(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {
        run_options,
        parse,
        "EXPERIMENT.yaml",
        "Runs an experiment: every run of its list, in processes of their own.",
        dsgd_plugin_option,
        NULL,
        NULL};
    arguments a = {0};
    char *const command = joined(count, words);
    argp_parse(&argp, count, words, 0, NULL, &a);
    dsgd_experiment experiment;
    dsgd_status status = open_experiment(&a, &experiment, error);
    if (status == DSGD_OK) {
        if (a.only > 0 && (size_t)a.only > experiment.n_runs)
            status = dsgd_fail(error, DSGD_EUSAGE,
                               "--only %ld: there are %zu runs; `dsgd check %s` lists them", a.only,
                               experiment.n_runs, a.file);
        if (status == DSGD_OK && a.record != NULL)
            status = check_record(&a, &experiment, error);
        if (status == DSGD_OK && (a.numerics != DSGD_NUMERICS_OFF || a.record != NULL))
            status = check_learning(&experiment, error);
        if (status == DSGD_OK)
            status = choose_numerics(&a, &experiment, error);
        signal(SIGINT, on_interrupt);
        signal(SIGTERM, on_interrupt);
        char *const folder = a.folder != NULL
                                 ? dsgd_xstrdup(a.folder)
                                 : dsgd_xprintf("results/%s%s", experiment.name,
                                                a.sensitivity_percent > 0 ? "-sensitivity" : "");
        if (status == DSGD_OK)
            status = run_experiment(&a, &experiment, folder, command, error);
        free(folder);
        dsgd_experiment_close(&experiment);
    }
    free(command);
    return status;
}

static dsgd_status check(int count, char **words, dsgd_error *error)
{
    static const struct argp argp = {
        check_options,
        parse,
        "EXPERIMENT.yaml",
        "Checks an experiment and shows its runs, without running them.",
        dsgd_plugin_option,
        NULL,
        NULL};
    arguments a = {0};
    argp_parse(&argp, count, words, 0, NULL, &a);
    dsgd_experiment experiment;
    dsgd_status status = open_experiment(&a, &experiment, error);
    if (status != DSGD_OK)
        return status;
    if (a.numerics != DSGD_NUMERICS_OFF)
        status = check_learning(&experiment, error);
    if (status != DSGD_OK) {
        dsgd_experiment_close(&experiment);
        return status;
    }
    printf("%s: %zu runs\n", experiment.name, experiment.n_runs);
    for (size_t i = 0; i < experiment.n_runs; i++) {
        const dsgd_planned_run *const r = &experiment.runs[i];
        printf("%4zu  %-16s %6d workers  seed %llu  %s on %s", i + 1, r->label, r->config.workers,
               (unsigned long long)r->config.seed, r->workload_name, r->platform_name);
        for (size_t k = 0; k < experiment.n_columns; k++)
            if (r->swept[k] != NULL)
                printf("  %s=%s", experiment.columns[k], r->swept[k]);
        putchar('\n');
    }
    dsgd_experiment_close(&experiment);
    return DSGD_OK;
}

const dsgd_command dsgd_command_run = {
    .name = "run",
    .usage = "EXPERIMENT.yaml [-o DIR] [-j N] [--set A.B=C] [--numerics auto|cpu|cuda|off] "
             "[--resume] [--only RUN] [--record FILE] [--sensitivity[=PERCENT] [--baseline NAME]] "
             "[--plugin FILE]",
    .summary = "runs an experiment and writes its results",
    .run = run,
};

const dsgd_command dsgd_command_check = {
    .name = "check",
    .usage =
        "EXPERIMENT.yaml [--set A.B=C] [--numerics auto|cpu|cuda|off] [--sensitivity[=PERCENT]] "
        "[--plugin FILE]",
    .summary = "checks an experiment and shows its runs, without running them",
    .run = check,
};
