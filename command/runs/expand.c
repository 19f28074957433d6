/**
 * @file expand.c
 * Tasks, and the lines that do them.
 */
#include "command/runs/expand.h"

#include <jansson.h>

#include "base/json.h"
#include "command/console/table.h"
#include "command/runs/provenance.h"

/** Runs that follow one another in the list. */
typedef struct task {
    size_t first, last; /* from 0 */
    double seconds;
} task;

/** Cuts the list where a task would take more than @p most_s; *n tasks. */
static task *cut(const dsgd_expansion *e, double most_s, size_t *n)
{
    const size_t n_runs = e->experiment->n_runs;
    task *const tasks = dsgd_keep(n_runs + 1, sizeof *tasks);
    *n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        const double s = e->estimates == NULL ? INFINITY : e->estimates[i].cpu_s;
        task *const before = *n == 0 ? NULL : &tasks[*n - 1];
        if (before != NULL && before->seconds + s <= most_s) {
            before->last = i;
            before->seconds += s;
        } else {
            tasks[(*n)++] = (task){i, i, s};
        }
    }
    return tasks;
}

/** As --only takes it. */
static const char *runs_of(const task *t)
{
    return t->first == t->last ? dsgd_xprintf("%zu", t->first + 1)
                               : dsgd_xprintf("%zu:%zu", t->first + 1, t->last + 1);
}

/** The command of task K, from 1. */
static const char *command_of(const dsgd_expansion *e, const task *t, size_t k)
{
    return dsgd_xprintf("%s --only %s -o %s", e->command, runs_of(t),
                        dsgd_shell_word(dsgd_xprintf("%s.tasks/%zu", e->folder, k)));
}

void dsgd_expand_json(const dsgd_expansion *e)
{
    const dsgd_experiment *const experiment = e->experiment;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        const dsgd_estimate estimate =
            e->estimates == NULL ? (dsgd_estimate){NAN, NAN} : e->estimates[i];
        char id[DSGD_RUN_ID];
        dsgd_run_id(run, id);
        const char *const command = command_of(e, &(task){i, i, 0}, i + 1);
        json_t *const swept = json_object();
        for (size_t k = 0; k < experiment->n_columns; k++)
            json_object_set_new(swept, experiment->columns[k], dsgd_json_text(run->swept[k]));
        json_t *const json = json_pack(
            "{s:I, s:s, s:o, s:i, s:I, s:o, s:o, s:o?, s:o?}", "run", (json_int_t)i + 1, "id", id,
            "algorithm", dsgd_json_text(run->label), "workers", run->config.workers, "seed",
            (json_int_t)run->config.seed, "swept", swept, "command", dsgd_json_text(command),
            "seconds", json_real(estimate.cpu_s), "memory_bytes", json_real(estimate.memory_bytes));
        enum { DIGITS = 4 };
        json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
        putchar('\n');
    }
}

void dsgd_expand_commands(const dsgd_expansion *e)
{
    size_t n = 0;
    task *const tasks = cut(e, e->chunk_s, &n);
    for (size_t k = 0; k < n; k++)
        puts(command_of(e, &tasks[k], k + 1));
}

/** Estimates are of this machine, and within a factor of two: a task that is well is not ended. */
static const double slack_of_time = 3, slack_of_memory = 1.5;

/** What Slurm reads: tasks, minutes, memory and cores. */
static void print_directives(const dsgd_expansion *e, const task *tasks, size_t n)
{
    double longest_s = 0;
    for (size_t k = 0; k < n; k++)
        longest_s = fmax(longest_s, tasks[k].seconds);
    const double bytes = dsgd_estimate_sum_of(e->experiment, e->estimates).most_bytes;
    const double minutes = ceil(slack_of_time * longest_s / 60) + 1;
    const double megabytes = ceil(slack_of_memory * bytes / (1 << 20)) + 64;
    printf("#SBATCH --array=1-%zu\n"
           "#SBATCH --time=%.0f\n"
           "#SBATCH --mem=%.0fM\n"
           "#SBATCH --ntasks=1\n"
           "#SBATCH --cpus-per-task=%d\n"
           "#SBATCH --requeue\n"
           "#SBATCH --open-mode=append\n",
           n, minutes, megabytes, e->computes ? 2 : 1);
}

/** What the script does: submits itself, or is a task of the array, or merges. */
static void print_script(const dsgd_expansion *e, const task *tasks, size_t n)
{
    printf("set -eu\n"
           "results=%s\n"
           "runs=(none",
           dsgd_shell_word(e->folder));
    for (size_t k = 0; k < n; k++)
        printf(" %s", runs_of(&tasks[k]));
    printf(")\n"
           "if [ -z \"${SLURM_ARRAY_TASK_ID:-}\" ]; then\n"
           "    mkdir -p \"$results.tasks\"\n"
           "    name=%s\n"
           "    tasks=$(sbatch --parsable --job-name=\"$name\" --output=\"$results.tasks/%%a.log\" "
           "\"$0\")\n"
           "    sbatch --array=0 --dependency=\"afterany:${tasks%%%%;*}\" --job-name=\"$name\" "
           "--output=\"$results.tasks/merge.log\" \"$0\"\n"
           "elif [ \"$SLURM_ARRAY_TASK_ID\" -gt 0 ]; then\n"
           "    exec %s --only \"${runs[$SLURM_ARRAY_TASK_ID]}\" -o "
           "\"$results.tasks/$SLURM_ARRAY_TASK_ID\"\n"
           "else\n"
           "    exec %s merge \"$results.tasks\"/*/ -o \"$results\"\n"
           "fi\n",
           dsgd_shell_word(e->experiment->name), e->command, e->program);
}

dsgd_status dsgd_expand_slurm(const dsgd_expansion *e, dsgd_error *error)
{
    enum { MOST_TASKS = 1000 }; /* Slurm's own default: indices below 1001 */
    const dsgd_estimate_sum sum = dsgd_estimate_sum_of(e->experiment, e->estimates);
    if (sum.n_unknown > 0)
        return dsgd_refuse(error,
                           "%s: %zu runs have no bound but an accuracy, so there is no limit of "
                           "time for them; give them one of `until: steps` too",
                           e->experiment->path, sum.n_unknown);
    size_t n = 0;
    double chunk_s = e->chunk_s;
    const task *tasks = cut(e, chunk_s, &n);
    while (n > MOST_TASKS)
        tasks = cut(e, chunk_s *= 1.25, &n);
    printf("#!/bin/bash\n"
           "# %s in %s of at most about %s. `bash FILE` submits them, and a job "
           "that merges\n"
           "# their results; the same command again does what is missing.\n",
           dsgd_counted(e->experiment->n_runs, "run"), dsgd_counted(n, "task"),
           chunk_s < 60 ? dsgd_xprintf("%.3g s", chunk_s)
                        : dsgd_xprintf("%.3g min", ceil(chunk_s / 6) / 10));
    print_directives(e, tasks, n);
    print_script(e, tasks, n);
    return DSGD_OK;
}
