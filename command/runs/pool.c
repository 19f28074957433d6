/**
 * @file pool.c
 * The processes of runs: started longest first, waited for, counted.
 */
#include "command/runs/pool.h"
#include "base/program.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "command/runs/gpus.h"
#include "command/runs/selection.h"

/** What a process writes to stderr. */
typedef struct heard {
    int from; /* descriptor */
    char sentence[512]; /* the last line of it */
    size_t n_sentence; /* bytes of a line that has not ended */
    char reason[512]; /* why SimGrid ended it; "": it did not */
} heard;

/** A run of the pool: there may be 100,000. */
typedef struct task {
    const struct pool *of;
    size_t i; /* in the experiment */
    double cost; /* by which the longest come first */
    pid_t process; /* 0: not started or ended */
    double start_wall_s; /* 0: not started */
    bool ended;
    bool on_gpu; /* it has a place on one */
    size_t gpu_bytes; /* that it needs there; 0: not asked yet */
    dsgd_device_place place;
    struct heard *heard; /* of its process; NULL: it has none */
    uint64_t moves; /* of its progress, when they last changed, ... */
    double moved_cpu_s; /* ... and its CPU time then */
} task;

typedef struct pool {
    const dsgd_pool_config *config;
    task *tasks;
    size_t n_tasks, n_ended, n_failed;
    size_t next; /* all tasks before have begun or ended */
    task **running; /* [n_running], in any order: those with a process */
    size_t n_running;
    dsgd_gpus gpus;
    dsgd_progress *progress; /* [n_runs], shared with the processes */
    dsgd_progress_view view;
    double joined_s, join_took_s; /* the last join's end, and its duration */
} pool;

static volatile sig_atomic_t interrupted;

/** What ends the runs, and then this process in order. */
static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};

static void on_interrupt(int number)
{
    interrupted = number;
}

dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu)
{
    const dsgd_learning *const learning = run->config.learning;
    const bool in_double = learning != NULL && learning->precision == DSGD_PRECISION_DOUBLE;
    return dsgd_numerics_resolved((dsgd_numerics)numerics, has_gpu, in_double);
}

int64_t dsgd_cores(void)
{
    const int64_t n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n;
}

/** Where run @p i computes. */
static dsgd_numerics numerics_of(const pool *p, size_t i)
{
    return dsgd_run_numerics(&p->config->experiment->runs[i], p->config->numerics,
                             p->config->gpus.n > 0);
}

/** Finds room on a GPU for a run that computes on one; false: it waits until another run ends. */
static bool find_place(pool *p, task *t)
{
    const dsgd_run_config *const config = &p->config->experiment->runs[t->i].config;
    if (config->learning == NULL || numerics_of(p, t->i) != DSGD_NUMERICS_CUDA || t->on_gpu)
        return true;
    if (t->gpu_bytes == 0)
        t->gpu_bytes = dsgd_learning_gpu_bytes(config);
    t->on_gpu = dsgd_gpus_take(&p->gpus, t->gpu_bytes, &t->place);
    if (t->on_gpu && t->place.bytes < t->gpu_bytes)
        dsgd_progress_say(
            &p->view, t->i,
            dsgd_xprintf("it may need %.3g GB of the GPU's memory, of which %.3g GB are "
                         "free: it computes in smaller batches, and ends if not even those fit",
                         1e-9 * (double)t->gpu_bytes, 1e-9 * (double)t->place.bytes));
    return t->on_gpu;
}

/** In the process of the run: simulates, and writes the rows; its exit status. */
static int run_here(const void *task_of_pool)
{
    const task *const t = task_of_pool;
    const pool *const p = t->of;
    const size_t i = t->i;
    const dsgd_pool_config *const asked = p->config;
    dsgd_run_config config = asked->experiment->runs[i].config;
    config.numerics = numerics_of(p, i);
    config.place = t->place;
    config.place.shares_cores = 2 * asked->jobs > dsgd_cores(); /* two threads per run */
    /* The simulating thread computes, too, while it waits. */
    const int64_t threads = asked->threads > 0 ? asked->threads : dsgd_cores() / asked->jobs - 1;
    config.threads = (uint32_t)(threads < 1 ? 1 : threads);
    config.memory_bytes = dsgd_physical_bytes() / 2 / (size_t)asked->jobs;
    config.progress = &p->progress[i];
    dsgd_run_result result = {0};
    dsgd_error error = {""};
    const dsgd_status status = asked->simulate == NULL
                                   ? dsgd_simulate(&config, &result, &error)
                                   : asked->simulate(asked->simulator, i, &config, &result, &error);
    if (status != DSGD_OK) {
        result.outcome = DSGD_RUN_FAILED;
        result.why = error;
        fprintf(stderr, "%s\n", error.text);
    }
    const dsgd_status written =
        dsgd_results_write(asked->results->folder, asked->experiment, i, &result, &error);
    dsgd_run_result_free(&result);
    if (written != DSGD_OK) {
        fprintf(stderr, "%s\n", error.text);
        return DSGD_EIO;
    }
    return status;
}

static bool has_begun(const task *t)
{
    return t->start_wall_s > 0 || t->ended;
}

/** Whether a run that has yet to begin has the seed, and so perhaps the data, of this one. */
static bool shares_seed(const pool *p, const task *t)
{
    const dsgd_planned_run *const runs = p->config->experiment->runs;
    for (size_t k = p->next; k < p->n_tasks; k++) {
        const task *const other = &p->tasks[k];
        if (other != t && !has_begun(other) && runs[other->i].config.seed == runs[t->i].config.seed)
            return true;
    }
    return false;
}

/** Has this process keep what a later run learns from, too; what is wrong with it, the run will
 * say. */
static void keep_data(const pool *p, const task *t)
{
    const dsgd_run_config *const config = &p->config->experiment->runs[t->i].config;
    dsgd_data *data = NULL;
    if (config->learning != NULL && numerics_of(p, t->i) != DSGD_NUMERICS_OFF &&
        dsgd_data_has_room() && shares_seed(p, t) &&
        dsgd_data_open(&config->learning->data, config->seed, true, &data, NULL) == DSGD_OK)
        dsgd_data_close(data);
}

/** False, with errno, where there is no process to be had. */
static bool start(pool *p, task *t)
{
    keep_data(p, t);
    t->heard = dsgd_xcalloc(1, sizeof *t->heard);
    t->process = dsgd_child_start(run_here, t, &t->heard->from);
    if (t->process < 0) {
        free(t->heard);
        t->process = 0;
        return false;
    }
    t->start_wall_s = dsgd_wall_s();
    p->running[p->n_running++] = t;
    return true;
}

/**
 * Passes on what the process of a run wrote to stderr, line by line with the run's number, and
 * keeps the last line, and SimGrid's reason: where it dies, these say why.
 */
static void hear(const pool *p, task *t)
{
    heard *const h = t->heard;
    char bytes[4096];
    for (ssize_t n = 0; (n = read(h->from, bytes, sizeof bytes)) > 0;)
        for (ssize_t k = 0; k < n; k++) {
            const bool is_full = h->n_sentence + 1 == sizeof h->sentence;
            if (bytes[k] != '\n' && !is_full) {
                h->sentence[h->n_sentence++] = bytes[k];
                h->sentence[h->n_sentence] = '\0';
            } else if (bytes[k] == '\n' && h->n_sentence > 0) {
                const char *const reason = dsgd_cluster_reason(h->sentence);
                if (reason != NULL && h->reason[0] == '\0')
                    snprintf(h->reason, sizeof h->reason, "%s", reason);
                dsgd_progress_say(&p->view, t->i, h->sentence);
                h->n_sentence = 0;
            }
        }
}

/** Its process has ended: nothing that it left unfinished stays. */
static void take_leave(pool *p, task *t)
{
    hear(p, t);
    if (t->heard->n_sentence > 0)
        dsgd_progress_say(&p->view, t->i, t->heard->sentence);
    close(t->heard->from);
    free(t->heard);
    t->process = 0;
    for (size_t k = 0; k < p->n_running; k++)
        if (p->running[k] == t)
            p->running[k] = p->running[--p->n_running];
    dsgd_part_remove_unfinished(p->config->results->folder, t->i);
    dsgd_results_read(p->config->results, t->i, NULL); /* it may have written it in time */
}

/**
 * Writes the row of a run whose process could not write it: how far it came, and why no farther.
 */
static void write_unfinished(const pool *p, const task *t, dsgd_outcome outcome,
                             const dsgd_error *why)
{
    dsgd_progress *const progress = &p->progress[t->i];
    dsgd_run_result r = {.outcome = (int)outcome, .why = *why, .device = "off"};
    r.virtual_s = progress->virtual_s;
    r.steps = progress->steps;
    r.total_wall_s = t->start_wall_s > 0 ? dsgd_wall_s() - t->start_wall_s : 0;
    r.shares = (dsgd_time_shares){NAN, NAN, NAN, NAN};
    r.samples = r.samples_per_s = r.step_mean_s = r.exposed_mean_s = r.bytes =
        r.partial_active_mean = NAN;
    r.staleness_mean = r.staleness_max = r.lag_mean = r.lag_max = NAN;
    r.gradient_staleness_mean = r.gradient_staleness_max = NAN;
    dsgd_progress_say(&p->view, t->i, why->text);
    dsgd_results_write(p->config->results->folder, p->config->experiment, t->i, &r, NULL);
}

/** Unless the files have it all already. */
static dsgd_status join(pool *p, dsgd_error *error)
{
    dsgd_results *const results = p->config->results;
    if (results->is_joined)
        return DSGD_OK;
    const double start_s = dsgd_wall_s();
    const dsgd_status status = dsgd_results_join(results, error);
    p->joined_s = dsgd_wall_s();
    p->join_took_s = p->joined_s - start_s;
    return status;
}

/**
 * Counts a run that ended, maybe with its rows written; where it has none, they say @p why (NULL:
 * nothing is said, and it is to be done again). Joining takes at most a twentieth of the time.
 */
static dsgd_status end(pool *p, task *t, dsgd_outcome outcome, const dsgd_error *why,
                       dsgd_error *error)
{
    dsgd_results *const results = p->config->results;
    if (t->process != 0)
        take_leave(p, t);
    if (why != NULL && dsgd_results_state(results, t->i) == DSGD_RUN_ABSENT)
        write_unfinished(p, t, outcome, why);
    if (t->on_gpu)
        dsgd_gpus_give(&p->gpus, &t->place);
    t->on_gpu = false;
    t->ended = true;
    p->n_ended++;
    dsgd_status status = DSGD_OK;
    if (dsgd_results_state(results, t->i) == DSGD_RUN_ABSENT)
        status = dsgd_results_read(results, t->i, error);
    p->n_failed += dsgd_results_state(results, t->i) != DSGD_RUN_DONE;
    if (dsgd_results_state(results, t->i) != DSGD_RUN_ABSENT)
        dsgd_progress_ended(&p->view, t->i);
    if (status != DSGD_OK || dsgd_wall_s() - p->joined_s < 20 * p->join_took_s)
        return status;
    return join(p, error);
}

/* --- limits ----------------------------------------------------------------------------------- */

/** CPU time of a run since anything in it moved. */
static double stalled_s(const pool *p, task *t)
{
    dsgd_progress *const progress = &p->progress[t->i];
    const uint64_t moves = progress->events + progress->computed;
    const double now_s = dsgd_child_cpu_s(t->process);
    if (moves != t->moves || now_s < t->moved_cpu_s) {
        t->moves = moves;
        t->moved_cpu_s = now_s;
    }
    return now_s - t->moved_cpu_s;
}

/** Ends the runs that are beyond a limit. */
static dsgd_status end_overdue(pool *p, dsgd_error *error)
{
    const dsgd_run_limits limits = p->config->limits;
    const double most_stalled_s = limits.stall_s > 0 ? limits.stall_s : DSGD_STALL_S;
    for (size_t k = p->n_running; k-- > 0;) {
        task *const t = p->running[k];
        const char *what = NULL;
        dsgd_outcome outcome = DSGD_RUN_FAILED;
        if (stalled_s(p, t) >= most_stalled_s) {
            what = dsgd_xprintf("nothing moved in %g s of CPU time (--stall), neither a step nor a "
                                "message nor a computation: an endless loop",
                                most_stalled_s);
        } else if (limits.timeout_s > 0 && dsgd_wall_s() - t->start_wall_s >= limits.timeout_s) {
            outcome = DSGD_RUN_TIMEOUT;
            what = dsgd_xprintf("it was not done after %g s (--timeout)", limits.timeout_s);
        } else {
            continue;
        }
        dsgd_progress *const progress = &p->progress[t->i];
        kill(t->process, SIGKILL);
        dsgd_child_end(t->process);
        dsgd_error why;
        dsgd_fail(&why, DSGD_OK, "%s; it had come to %.6g virtual seconds and %.6g steps, %.2g %%",
                  what, progress->virtual_s, progress->steps, 100 * progress->share);
        DSGD_TRY(end(p, t, outcome, &why, error)); /* its row may be there by then */
    }
    return DSGD_OK;
}

/* --- progress --------------------------------------------------------------------------------- */

static void show_progress(pool *p, bool last)
{
    if (!last && !dsgd_progress_is_due(&p->view))
        return;
    void *const mark = dsgd_mark(); /* runs may take days */
    dsgd_running *const running = dsgd_keep(p->n_tasks, sizeof *running);
    dsgd_progress_now now = {p->n_ended, p->n_failed, p->n_tasks, 0, 0, running};
    double cost = 0, done = 0;
    for (size_t k = 0; k < p->n_tasks; k++) {
        const task *const t = &p->tasks[k];
        const double share = p->progress[t->i].share;
        cost += t->cost;
        done += t->cost * (t->ended ? 1 : share);
        if (t->process != 0)
            running[now.n_running++] = (dsgd_running){t->i, share, p->progress[t->i].virtual_s,
                                                      dsgd_wall_s() - t->start_wall_s};
    }
    now.share = cost > 0 ? done / cost : 1;
    /* As JSON, the end is not yet said where other rounds follow. */
    const bool goes_on = p->config->chosen != NULL && p->view.form == DSGD_PROGRESS_JSON;
    dsgd_progress_show(&p->view, &now, last && !goes_on);
    dsgd_drop(mark);
}

/** If fork() fails, waits for a running process to end; without one the run has failed. */
static dsgd_status start_what_fits(pool *p, dsgd_error *error)
{
    while (p->next < p->n_tasks && has_begun(&p->tasks[p->next]))
        p->next++;
    for (size_t k = p->next; k < p->n_tasks && (int64_t)p->n_running < p->config->jobs; k++) {
        task *const t = &p->tasks[k];
        if (has_begun(t) || !find_place(p, t) || start(p, t))
            continue;
        dsgd_error why;
        dsgd_fail(&why, DSGD_OK, "no process for the run: %m");
        if (p->n_running > 0)
            return DSGD_OK;
        DSGD_TRY(end(p, t, DSGD_RUN_FAILED, &why, error));
    }
    return DSGD_OK;
}

static void kill_all(pool *p)
{
    while (p->n_running > 0) {
        task *const t = p->running[0];
        kill(t->process, SIGKILL);
        dsgd_child_end(t->process);
        take_leave(p, t);
    }
}

/** Waits for a process to end, but at most 20 ms, so that progress is shown. */
static dsgd_status wait_for_one(pool *p, dsgd_error *error)
{
    int state = 0;
    for (size_t k = 0; k < p->n_running; k++)
        hear(p, p->running[k]);
    const pid_t process = dsgd_child_ended(&state);
    size_t at = 0;
    while (process > 0 && at < p->n_running && p->running[at]->process != process)
        at++;
    if (process <= 0 || at == p->n_running)
        return DSGD_OK;
    task *const t = p->running[at];
    hear(p, t); /* the last that it said */
    const heard *const h = t->heard;
    const bool has_reason = h->reason[0] != '\0';
    const bool cannot_write = WIFEXITED(state) && WEXITSTATUS(state) == DSGD_EIO;
    dsgd_error why;
    dsgd_fail(&why, DSGD_OK, "the process of the run %s %d%s%s",
              WIFEXITED(state) ? "left without results, with exit status" : "died of signal",
              WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state),
              has_reason               ? "; SimGrid: "
              : h->sentence[0] == '\0' ? ""
                                       : "; the last that it said: ",
              has_reason ? h->reason : h->sentence);
    return end(p, t, DSGD_RUN_FAILED, interrupted || cannot_write ? NULL : &why, error);
}

static dsgd_status run_all(pool *p, dsgd_error *error)
{
    dsgd_status status = join(p, error);
    while (p->n_ended < p->n_tasks && status == DSGD_OK && !interrupted) {
        status = start_what_fits(p, error);
        if (status == DSGD_OK)
            status = wait_for_one(p, error);
        if (status == DSGD_OK)
            status = end_overdue(p, error);
        show_progress(p, false);
    }
    kill_all(p);
    const dsgd_status joined = join(p, status == DSGD_OK ? error : NULL);
    show_progress(p, true);
    if (status == DSGD_OK)
        status = joined;
    if (status == DSGD_OK && interrupted)
        return dsgd_fail(
            error, DSGD_ERUNS,
            "interrupted; %s keeps what was done, and the same command%s does the rest",
            p->config->results->folder, p->config->anew ? " without --force" : "");
    return status;
}

/** Lists the runs to do, longest first. */
static void list_tasks(pool *p)
{
    const dsgd_pool_config *const config = p->config;
    const size_t n_runs = config->experiment->n_runs;
    bool *const has = dsgd_keep(n_runs, sizeof *has);
    for (size_t i = 0; i < n_runs; i++) {
        const bool is_done = dsgd_results_state(config->results, i) == DSGD_RUN_DONE;
        if ((config->selected != NULL && !config->selected[i]) ||
            (config->chosen != NULL && !config->chosen[i]) || (is_done && !config->anew))
            continue;
        if (dsgd_results_state(config->results, i) == DSGD_RUN_ABSENT && !config->anew &&
            dsgd_part_exists(config->results->folder, i))
            dsgd_progress_say(&p->view, i, "its results are damaged, so it is run again");
        dsgd_results_forget(config->results, i);
        has[i] = true;
    }
    const dsgd_work *const runs = dsgd_runs_by_cost(config->experiment, has, &p->n_tasks);
    p->tasks = dsgd_keep(p->n_tasks, sizeof *p->tasks);
    p->running = dsgd_keep(p->n_tasks, sizeof(task *));
    for (size_t k = 0; k < p->n_tasks; k++)
        p->tasks[k] = (task){.of = p, .i = runs[k].i, .cost = runs[k].cost};
}

/** One round: all, or what is chosen. */
static dsgd_status run_round(const dsgd_pool_config *config, dsgd_pool_counts *done,
                             dsgd_error *error)
{
    const dsgd_experiment *const experiment = config->experiment;
    pool p = {.config = config,
              .gpus = dsgd_gpus_of(&config->gpus, config->jobs),
              .view = {.form = config->progress,
                       .experiment = experiment,
                       .results = config->results,
                       .start_wall_s = dsgd_wall_s(),
                       .last_wall_s = dsgd_wall_s()}};
    for (size_t k = 0; k < sizeof interrupts / sizeof interrupts[0]; k++)
        if (signal(interrupts[k], on_interrupt) == SIG_IGN && interrupts[k] == SIGHUP)
            signal(SIGHUP, SIG_IGN); /* as nohup has it */
    p.progress = dsgd_shared_memory(experiment->n_runs, sizeof *p.progress);
    DSGD_TRY(join(&p, error));
    list_tasks(&p);
    const dsgd_status status = run_all(&p, error);
    *done = (dsgd_pool_counts){p.n_tasks, p.n_failed};
    return status;
}

dsgd_status dsgd_pool_run(dsgd_pool_config *config, const dsgd_rounds *rounds, bool *chosen,
                          dsgd_pool_counts *done, dsgd_error *error)
{
    if (rounds->choose == NULL)
        return run_round(config, done, error);
    dsgd_status status = DSGD_OK;
    dsgd_progress_view view = {.form = config->progress, .start_wall_s = dsgd_wall_s()};
    config->chosen = chosen;
    for (bool more = true; status == DSGD_OK && more;) {
        dsgd_pool_counts round = {0};
        memset(chosen, 0, config->experiment->n_runs * sizeof *chosen);
        rounds->choose(rounds->state, chosen);
        status = run_round(config, &round, error);
        config->anew = false; /* later rounds keep what the first have done */
        done->n_runs += round.n_runs;
        done->n_failed += round.n_failed;
        if (status == DSGD_OK)
            status = rounds->read(rounds->state, &more, error);
    }
    if (view.form == DSGD_PROGRESS_JSON)
        dsgd_progress_show(
            &view, &(dsgd_progress_now){done->n_runs, done->n_failed, done->n_runs, 1, 0, NULL},
            true);
    return status;
}
