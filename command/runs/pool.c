/**
 * @file pool.c
 * Starts one process per run, starting with the longest run. Waits for the processes and counts the
 * results.
 */
#include "command/runs/pool.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/program.h"
#include "command/runs/selection.h"

/**
 * Capacity of this machine for simultaneous runs: processes, threads, memory and GPU memory. Each
 * run takes its share of the capacity before it starts.
 */
typedef struct room {
    int64_t jobs, n_running; /* jobs: largest number of simultaneous runs; n_running: current number
                              * of simultaneous runs */
    uint32_t threads; /* number of computing threads of each run, in addition to the thread that
                       * simulates */
    bool shares_cores; /* true if the machine has fewer cores than threads */
    size_t bytes; /* main memory for each run, in bytes */
    uint32_t n_gpus;
    uint32_t jobs_each; /* number of simultaneous runs per GPU if all runs need the same memory */
    struct {
        /*
         * GPU memory that was free before the first run, and the part of this memory that no run
         * uses, in bytes
         */
        size_t all_bytes, left_bytes;
        uint32_t n_running;
    } gpu[DSGD_MOST_GPUS];
} room;

/** A run that has a process, or the next run, which waits for a process. */
typedef struct job {
    const struct pool *of;
    size_t i; /* index of the run in the experiment */
    double cost;
    dsgd_run_config config; /* GPU memory that the run may need, in bytes; 0 if the run does not use
                             * a GPU */
    size_t gpu_bytes; /* GPU memory that the run may need, in bytes; 0 if the run uses no GPU */
    pid_t process;
    double start_wall_s;
    int from; /* file descriptor from which the stderr of the run's process is read */
    char sentence[512]; /* last line that the run's process wrote to stderr */
    size_t n_sentence; /* number of bytes in the last line if the line is incomplete */
    char reason[512]; /* reason why SimGrid ended the run; "" if SimGrid did not end the run */
    uint64_t moves; /* sum of the run's progress counters when it last changed */
    /* CPU time of the run when its progress counters last changed, in seconds */
    double moved_cpu_s;
    dsgd_outcome outcome; /* outcome that is written if the process writes no row */
    dsgd_error why; /* reason that is written if the process writes no row; "" if the process ended
                     * by itself */
} job;

typedef struct pool {
    const dsgd_pool_config *config;
    bool anew;
    const dsgd_work *tasks; /* array of the n_tasks tasks of this round; the longest task comes
                             * first */
    size_t n_tasks, n_begun;
    job *next; /* job for the next task (task n_begun); NULL if this job does not exist yet */
    job **running; /* array of the n_running running jobs, in any order */
    size_t n_running;
    bool stops; /* true if the program is stopping; runs that end now must be executed again */
    room room;
    /* array of n_runs progress counters, in memory that all processes share */
    dsgd_progress *progress;
    dsgd_progress_view view;
    dsgd_progress_now so_far; /* progress of all rounds; running jobs are excluded */
    double cost, cost_done; /* total cost of all tasks, and total cost of finished tasks, over all
                             * rounds */
    /* time at which the last join of parts ended, and time that this join took, in seconds */
    double joined_s, join_took_s;
} pool;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

/** Catches signals. The signals end the runs and then this process. */
static void catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        if (signal(numbers[k], on_interrupt) == SIG_IGN && numbers[k] == SIGHUP)
            signal(SIGHUP, SIG_IGN); /* Keep ignoring SIGHUP if nohup has made this process ignore
                                      * it. */
}

dsgd_numerics dsgd_run_numerics(const dsgd_planned_run *run, int numerics, bool has_gpu)
{
    const dsgd_learning *const learning = run->config.learning;
    const bool in_double = learning != NULL && learning->precision == DSGD_PRECISION_DOUBLE;
    return dsgd_numerics_resolved((dsgd_numerics)numerics, has_gpu, in_double);
}

/* --- capacity of this machine ----------------------------------------------------------------- */

/* GPU memory of a process's context, in bytes: kernels, and memory of the driver */
static const size_t context_bytes = (size_t)512 << 20;

/**
 * Returns the capacity of this machine. If @p jobs is 0, there can be one run per core. If @p
 * threads is 0, each run has cores / jobs - 1 computing threads.
 */
static room room_of(const dsgd_device_survey *gpus, int64_t jobs, int64_t threads)
{
    const int64_t n = sysconf(_SC_NPROCESSORS_ONLN), cores = n < 1 ? 1 : n;
    room r = {.jobs = jobs > 0 ? jobs : cores, .n_gpus = gpus->n};
    /*
     * Subtract 1, because the thread that simulates also computes while it waits for other threads.
     */
    threads = threads > 0 ? threads : cores / r.jobs - 1;
    r.threads = (uint32_t)(threads < 1 ? 1 : threads);
    /* true if two threads per run need more cores than the machine has */
    r.shares_cores = 2 * r.jobs > cores;
    r.bytes = dsgd_physical_bytes() / 2 / (size_t)r.jobs;
    uint32_t n_usable = 0;
    for (uint32_t k = 0; k < gpus->n; k++) {
        const size_t bytes = gpus->free_bytes[k] - gpus->free_bytes[k] / 10;
        r.gpu[k].all_bytes = r.gpu[k].left_bytes = bytes;
        n_usable += bytes > 0;
    }
    r.jobs_each = n_usable == 0 ? 1 : ((uint32_t)r.jobs + n_usable - 1) / n_usable;
    return r;
}

/**
 * Returns @p bytes plus the memory of a GPU context. On a small GPU, the context counts less.
 */
static size_t with_context(const room *r, uint32_t k, size_t bytes)
{
    const size_t eighth = r->gpu[k].all_bytes / r->jobs_each / 8;
    return bytes + (context_bytes < eighth ? context_bytes : eighth);
}

/**
 * Returns the GPU with the most free memory. If @p idle is true, considers only idle GPUs. Returns
 * n_gpus if no GPU has free memory.
 */
static uint32_t most_left(const room *r, bool idle)
{
    uint32_t best = r->n_gpus;
    size_t most = 0;
    for (uint32_t k = 0; k < r->n_gpus; k++) {
        if (r->gpu[k].left_bytes <= most || (idle && r->gpu[k].n_running > 0))
            continue;
        best = k;
        most = r->gpu[k].left_bytes;
    }
    return best;
}

static bool take_gpu(room *r, size_t bytes, dsgd_device_place *place)
{
    uint32_t k = most_left(r, false);
    if (k == r->n_gpus || with_context(r, k, bytes) > r->gpu[k].left_bytes)
        k = most_left(r, true);
    if (k == r->n_gpus)
        return false;
    const size_t context = with_context(r, k, 0);
    const size_t left = r->gpu[k].left_bytes - context;
    const size_t each = r->gpu[k].all_bytes / r->jobs_each - context;
    const size_t wanted = bytes > each ? bytes : each;
    *place = (dsgd_device_place){.index = k, .bytes = wanted < left ? wanted : left};
    r->gpu[k].left_bytes -= place->bytes + context;
    r->gpu[k].n_running++;
    return true;
}

/**
 * Sets the threads, the memory and the GPU of a run. If @p gpu_bytes is above 0, the run uses the
 * GPU with the most free memory. Its share is the memory that the run needs, or an equal share of
 * the GPU if the equal share is larger. If no GPU has enough memory, the run gets an idle GPU for
 * itself. Returns false if the run must wait until another run ends.
 */
static bool take_room(room *r, size_t gpu_bytes, dsgd_run_config *run)
{
    if (r->n_running == r->jobs || (gpu_bytes > 0 && !take_gpu(r, gpu_bytes, &run->place)))
        return false;
    run->place.shares_cores = r->shares_cores;
    run->threads = r->threads;
    run->memory_bytes = r->bytes;
    r->n_running++;
    return true;
}

/** Returns the share of an ended run to the capacity of the machine. */
static void give_room(room *r, const dsgd_run_config *run)
{
    const uint32_t k = run->place.index;
    r->n_running--;
    if (run->place.bytes == 0)
        return;
    r->gpu[k].left_bytes += with_context(r, k, run->place.bytes);
    r->gpu[k].n_running--;
}

/* --- start of a run --------------------------------------------------------------------------- */

/**
 * Simulates a run in its own process and writes the rows of the run. Returns the exit status of the
 * process.
 */
static int run_here(const void *job_of_pool)
{
    const job *const j = job_of_pool;
    const dsgd_pool_config *const asked = j->of->config;
    dsgd_run_result result = {0};
    dsgd_error error = {""};
    const dsgd_status status =
        asked->simulate == NULL
            ? dsgd_simulate(&j->config, &result, &error)
            : asked->simulate(asked->simulator, j->i, &j->config, &result, &error);
    if (status != DSGD_OK) {
        result.outcome = DSGD_RUN_FAILED;
        result.why = error;
        fprintf(stderr, "%s\n", error.text);
    }
    const dsgd_status written =
        dsgd_results_write(asked->results->folder, asked->experiment, j->i, &result, &error);
    dsgd_run_result_free(&result);
    if (written != DSGD_OK) {
        fprintf(stderr, "%s\n", error.text);
        return DSGD_EIO;
    }
    return status;
}

static job *next_job(pool *p)
{
    const dsgd_work task = p->tasks[p->n_begun];
    const dsgd_planned_run *const run = &p->config->experiment->runs[task.i];
    job *const j = dsgd_xcalloc(1, sizeof *j);
    *j = (job){
        .of = p, .i = task.i, .cost = task.cost, .config = run->config, .outcome = DSGD_RUN_FAILED};
    j->config.numerics = dsgd_run_numerics(run, p->config->numerics, p->config->gpus.n > 0);
    j->config.progress = &p->progress[j->i];
    if (j->config.learning != NULL && j->config.numerics == DSGD_NUMERICS_CUDA)
        j->gpu_bytes = dsgd_learning_gpu_bytes(&j->config);
    return j;
}

/**
 * Loads the data of a run in this process if a later run may use the same data. Ignores errors,
 * because the run itself reports errors in the data.
 */
static void keep_data(const pool *p, const job *j)
{
    dsgd_data *data = NULL;
    size_t k = p->n_begun + 1; /* index of the next task that has the same seed */
    while (k < p->n_tasks &&
           p->config->experiment->runs[p->tasks[k].i].config.seed != j->config.seed)
        k++;
    if (j->config.learning != NULL && j->config.numerics != DSGD_NUMERICS_OFF &&
        dsgd_data_has_room() && k < p->n_tasks &&
        dsgd_data_open(&j->config.learning->data, j->config.seed, true, &data, NULL) == DSGD_OK)
        dsgd_data_close(data);
}

/**
 * Starts the next run. Returns false if the machine has no free capacity for the run, or if no
 * process can be started.
 */
static bool start(pool *p)
{
    p->next = p->next == NULL ? next_job(p) : p->next;
    job *const j = p->next;
    if (!take_room(&p->room, j->gpu_bytes, &j->config)) {
        dsgd_fail(&j->why, DSGD_OK, "no GPU has memory left");
        return false;
    }
    keep_data(p, j);
    j->start_wall_s = dsgd_wall_s();
    j->process = dsgd_child_start(run_here, j, &j->from);
    if (j->process < 0) {
        dsgd_fail(&j->why, DSGD_OK, "no process for the run: %m");
        give_room(&p->room, &j->config);
        return false;
    }
    if (j->config.place.bytes < j->gpu_bytes)
        dsgd_progress_say(
            &p->view, j->i,
            dsgd_xprintf(
                "it may need %.3g GB of GPU memory, but only %.3g GB are free: it computes in "
                "smaller batches, and fails if these do not fit either",
                1e-9 * (double)j->gpu_bytes, 1e-9 * (double)j->config.place.bytes));
    j->why = (dsgd_error){""};
    p->running[p->n_running++] = j;
    p->n_begun++;
    p->next = NULL;
    return true;
}

/* --- end of a run ----------------------------------------------------------------------------- */

/**
 * Prints the lines that the process of a run wrote to stderr, with the number of the run. Stores
 * the last line and SimGrid's reason, because they explain why a process died.
 */
static void hear(const pool *p, job *j)
{
    char bytes[4096];
    for (ssize_t n = 0; (n = read(j->from, bytes, sizeof bytes)) > 0;)
        for (ssize_t k = 0; k < n; k++) {
            const bool is_full = j->n_sentence + 1 == sizeof j->sentence;
            if (bytes[k] != '\n' && !is_full) {
                j->sentence[j->n_sentence++] = bytes[k];
                j->sentence[j->n_sentence] = '\0';
            } else if (bytes[k] == '\n' && j->n_sentence > 0) {
                const char *const reason = dsgd_cluster_reason(j->sentence);
                if (reason != NULL && j->reason[0] == '\0')
                    snprintf(j->reason, sizeof j->reason, "%s", reason);
                dsgd_progress_say(&p->view, j->i, j->sentence);
                j->n_sentence = 0;
            }
        }
}

/** Writes a row for a run whose process wrote no row. The row contains the progress of the run. */
static void write_unfinished(const pool *p, const job *j)
{
    dsgd_run_result r = {.outcome = (int)j->outcome, .why = j->why, .device = "off"};
    r.virtual_s = j->config.progress->virtual_s;
    r.steps = j->config.progress->steps;
    r.total_wall_s = dsgd_wall_s() - j->start_wall_s;
    r.shares = (dsgd_time_shares){NAN, NAN, NAN, NAN};
    r.samples = r.samples_per_s = r.step_mean_s = r.exposed_mean_s = r.bytes =
        r.partial_active_mean = NAN;
    r.staleness_mean = r.staleness_max = r.lag_mean = r.lag_max = NAN;
    r.gradient_staleness_mean = r.gradient_staleness_max = NAN;
    dsgd_progress_say(&p->view, j->i, j->why.text);
    dsgd_results_write(p->config->results->folder, p->config->experiment, j->i, &r, NULL);
}

/** Joins the parts of runs into the results files. Does nothing if the files are up to date. */
static dsgd_status join(pool *p, dsgd_error *error)
{
    if (p->config->results->is_joined)
        return DSGD_OK;
    const double start_s = dsgd_wall_s();
    const dsgd_status status = dsgd_results_join(p->config->results, error);
    p->joined_s = dsgd_wall_s();
    p->join_took_s = p->joined_s - start_s;
    return status;
}

/**
 * Counts a run that has ended. If the run wrote no row and @p is_final is true, writes a row with
 * the reason. Joins parts so rarely that joins take at most a twentieth of the total time.
 */
static dsgd_status count(pool *p, job *j, bool is_final, dsgd_error *error)
{
    dsgd_results *const results = p->config->results;
    const size_t i = j->i;
    /* Read the row first, because the process may have written the row before it was killed. */
    DSGD_TRY(dsgd_results_read(results, i, error));
    if (is_final && dsgd_results_state(results, i) == DSGD_RUN_ABSENT) {
        write_unfinished(p, j);
        DSGD_TRY(dsgd_results_read(results, i, error));
    }
    p->cost_done += j->cost;
    p->so_far.n_ended++;
    p->so_far.n_failed += dsgd_results_state(results, i) != DSGD_RUN_DONE;
    free(j);
    if (dsgd_results_state(results, i) != DSGD_RUN_ABSENT)
        dsgd_progress_ended(&p->view, i);
    return dsgd_wall_s() - p->joined_s < 20 * p->join_took_s ? DSGD_OK : join(p, error);
}

/** Counts a run whose process has ended, and removes the run's unfinished part. */
static dsgd_status end(pool *p, size_t at, int state, dsgd_error *error)
{
    job *const j = p->running[at];
    const bool has_exited = WIFEXITED(state),
               cannot_write = has_exited && WEXITSTATUS(state) == DSGD_EIO;
    hear(p, j);
    if (j->n_sentence > 0)
        dsgd_progress_say(&p->view, j->i, j->sentence);
    close(j->from);
    give_room(&p->room, &j->config);
    p->running[at] = p->running[--p->n_running];
    dsgd_part_remove_unfinished(p->config->results->folder, j->i);
    if (j->why.text[0] == '\0')
        dsgd_fail(&j->why, DSGD_OK, "the process of the run %s %d%s%s",
                  has_exited ? "ended without results, with exit status" : "was killed by signal",
                  has_exited ? WEXITSTATUS(state) : WTERMSIG(state),
                  j->reason[0] != '\0'     ? "; SimGrid: "
                  : j->sentence[0] == '\0' ? ""
                                           : "; its last line was: ",
                  j->reason[0] != '\0' ? j->reason : j->sentence);
    return count(p, j, !interrupted && !p->stops && !cannot_write, error);
}

/** Waits at most 20 ms for a process to end, so that the progress display stays current. */
static dsgd_status wait_for_one(pool *p, dsgd_error *error)
{
    int state = 0;
    for (size_t k = 0; k < p->n_running; k++)
        hear(p, p->running[k]);
    const pid_t process = dsgd_child_ended(&state);
    for (size_t k = 0; process > 0 && k < p->n_running; k++)
        if (p->running[k]->process == process)
            return end(p, k, state, error);
    return DSGD_OK;
}

/** Returns the CPU time of a run since its last progress, in seconds. */
static double stalled_s(job *j)
{
    const uint64_t moves = j->config.progress->events + j->config.progress->computed;
    const double now_s = dsgd_child_cpu_s(j->process);
    if (moves != j->moves || now_s < j->moved_cpu_s) {
        j->moves = moves;
        j->moved_cpu_s = now_s;
    }
    return now_s - j->moved_cpu_s;
}

/** Kills the runs that exceed the limit of --timeout or --stall. */
static void kill_overdue(const pool *p)
{
    const dsgd_run_limits limits = p->config->limits;
    const double most_stalled_s = limits.stall_s > 0 ? limits.stall_s : DSGD_STALL_S;
    for (size_t k = 0; k < p->n_running; k++) {
        job *const j = p->running[k];
        const char *what = NULL;
        if (stalled_s(j) >= most_stalled_s) {
            what = dsgd_xprintf("no step, message or computation ended in %g s of CPU time "
                                "(--stall): an endless loop",
                                most_stalled_s);
        } else if (limits.timeout_s > 0 && dsgd_wall_s() - j->start_wall_s >= limits.timeout_s) {
            j->outcome = DSGD_RUN_TIMEOUT;
            what = dsgd_xprintf("the run did not end within %g s (--timeout)", limits.timeout_s);
        }
        if (what == NULL || j->why.text[0] != '\0')
            continue;
        const dsgd_progress *const progress = j->config.progress;
        kill(j->process, SIGKILL);
        dsgd_fail(&j->why, DSGD_OK,
                  "%s; it had reached %.6g virtual seconds and %.6g steps, %.2g %%", what,
                  progress->virtual_s, progress->steps, 100 * progress->share);
    }
}

/* --- all runs --------------------------------------------------------------------------------- */

static void show_progress(pool *p, bool last)
{
    if (!last && !dsgd_progress_is_due(&p->view))
        return;
    /* Free the memory of each progress line, because runs can take days. */
    void *const mark = dsgd_mark();
    dsgd_progress_now now = p->so_far;
    dsgd_running *const running = dsgd_keep(p->n_running + 1, sizeof *running);
    double done = p->cost_done;
    for (size_t k = 0; k < p->n_running; k++) {
        const job *const j = p->running[k];
        const dsgd_progress *const progress = j->config.progress;
        done += j->cost * progress->share;
        running[now.n_running++] = (dsgd_running){j->i, progress->share, progress->virtual_s,
                                                  dsgd_wall_s() - j->start_wall_s};
    }
    now.running = running;
    now.share = p->cost > 0 ? done / p->cost : 1;
    dsgd_progress_show(&p->view, &now, last);
    dsgd_drop(mark);
}

/**
 * Starts runs as long as the machine has capacity. If no run is running and the next run cannot be
 * started, counts the next run as failed.
 */
static dsgd_status start_what_fits(pool *p, dsgd_error *error)
{
    while (p->n_begun < p->n_tasks && start(p)) {
    }
    if (p->n_running > 0 || p->next == NULL)
        return DSGD_OK;
    job *const j = p->next;
    p->next = NULL;
    p->n_begun++;
    return count(p, j, true, error);
}

/** Kills the running jobs and frees the job that waits. */
static void kill_all(pool *p)
{
    p->stops = true;
    free(p->next);
    p->next = NULL;
    while (p->n_running > 0) {
        kill(p->running[0]->process, SIGKILL);
        end(p, 0, dsgd_child_end(p->running[0]->process), NULL);
    }
}

/** Executes the runs of a round and joins their rows into the results files. */
static dsgd_status run_all(pool *p, dsgd_error *error)
{
    /* This join removes old rows of the runs that are executed again. */
    dsgd_status status = join(p, error);
    while (status == DSGD_OK && !interrupted && (p->n_begun < p->n_tasks || p->n_running > 0)) {
        kill_overdue(p);
        status = start_what_fits(p, error);
        if (status == DSGD_OK)
            status = wait_for_one(p, error);
        show_progress(p, false);
    }
    kill_all(p);
    const dsgd_status joined = join(p, status == DSGD_OK ? error : NULL);
    return status == DSGD_OK ? joined : status;
}

/** Makes the list of the runs that a round executes. */
static void list_tasks(pool *p)
{
    const dsgd_pool_config *const config = p->config;
    const size_t n_runs = config->experiment->n_runs;
    bool *const has = dsgd_keep(n_runs + 1, sizeof *has);
    for (size_t i = 0; i < n_runs; i++) {
        const dsgd_run_state state = dsgd_results_state(config->results, i);
        if ((config->selected != NULL && !config->selected[i]) ||
            (config->chosen != NULL && !config->chosen[i]) || (state == DSGD_RUN_DONE && !p->anew))
            continue;
        if (state == DSGD_RUN_ABSENT && !p->anew && dsgd_part_exists(config->results->folder, i))
            dsgd_progress_say(&p->view, i, "its results are damaged, so it is executed again");
        dsgd_results_forget(config->results, i);
        has[i] = true;
    }
    p->tasks = dsgd_runs_by_cost(config->experiment, has, &p->n_tasks);
    p->running = dsgd_keep(p->n_tasks + 1, sizeof(job *));
    p->n_begun = 0;
    p->so_far.n_runs += p->n_tasks;
    for (size_t k = 0; k < p->n_tasks; k++)
        p->cost += p->tasks[k].cost;
}

dsgd_status dsgd_pool_run(dsgd_pool_config *config, const dsgd_rounds *rounds,
                          dsgd_pool_counts *done, dsgd_error *error)
{
    const size_t n_runs = config->experiment->n_runs;
    bool *const chosen = dsgd_keep(n_runs + 1, sizeof *chosen);
    const double now_s = dsgd_wall_s();
    pool p = {.config = config,
              .anew = config->anew,
              .room = room_of(&config->gpus, config->jobs, config->threads),
              .progress = dsgd_shared_memory(n_runs, sizeof *p.progress),
              .view = {config->progress, config->experiment, config->results, now_s, now_s}};
    catch_interrupts();
    dsgd_status status = join(&p, error); /* This join reads the results of runs that have already
                                           * finished. */
    for (bool more = true; status == DSGD_OK && more;) {
        more = false;
        if (rounds->choose != NULL) {
            memset(chosen, 0, n_runs * sizeof *chosen);
            config->chosen = chosen;
            rounds->choose(rounds->state, chosen);
        }
        list_tasks(&p);
        status = run_all(&p, error);
        p.anew = false; /* After the first round, keep the results of earlier rounds. */
        if (status == DSGD_OK && !interrupted && rounds->choose != NULL)
            status = rounds->read(rounds->state, &more, error);
    }
    show_progress(&p, true);
    *done = (dsgd_pool_counts){p.so_far.n_runs, p.so_far.n_failed};
    if (status == DSGD_OK && interrupted)
        return dsgd_fail(
            error, DSGD_ERUNS,
            "interrupted; %s keeps the results so far, and the same command%s executes the rest",
            config->results->folder, config->anew ? " without --force" : "");
    return status;
}
