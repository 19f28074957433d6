/**
 * @file trial.c
 * Runs commands, and reads the numbers that they have written.
 */
#include "tests/random/trial.h"

#include <sys/wait.h>

#include "base/option.h"
#include "base/status.h"
#include "command/experiment/experiment.h"
#include "sim/registry.h"

char not_asked[] = "";

/** Limit of the CPU time of a command, in seconds. */
enum { PATIENCE_S = 120 };

/* --- commands --------------------------------------------------------------------------------- */

int trial_shell(const trial *t, char **output, const char *words)
{
    char *const command =
        dsgd_xprintf("cd %s && ulimit -t %d && { %s; } 2>&1", t->folder, PATIENCE_S, words);
    FILE *const stream = popen(command, "r");
    DSGD_ASSERT(stream != NULL, "no shell");
    size_t room = 0;
    char *text = NULL;
    const bool is_empty = getdelim(&text, &room, '\0', stream) < 0;
    dsgd_keep_for(free, text);
    *output = is_empty ? dsgd_xstrdup("") : text;
    const int state = pclose(stream);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

int trial_run(const trial *t, char **output, const char *arguments)
{
    const char *const other = getenv("DSGD_PROGRAM");
    char *const command = dsgd_xprintf("DSGD_DATA=%s %s %s", DSGD_SOURCE_DIR,
                                       other == NULL ? DSGD_BINARY : other, arguments);
    const int exit_status = trial_shell(t, output, command);
    return exit_status;
}

void trial_write(const char *folder, const char *name, const part *experiment)
{
    char *const path = dsgd_xprintf("%s/%s.yaml", folder, name);
    FILE *const stream = fopen(path, "w");
    DSGD_ASSERT(stream != NULL, "%s: %m", path);
    part_write(experiment, stream);
    fclose(stream);
}

/** Returns the first algorithm of an experiment, or NULL if it has none. */
static const part *algorithm_in(const part *experiment)
{
    const part *const list = part_find(experiment, "algorithms");
    return list == NULL || list->n == 0 ? NULL : &list->parts[0];
}

/**
 * Returns true if the experiment or its first algorithm has options for failures of workers or
 * links.
 */
static bool may_fail(const part *experiment)
{
    return part_find(experiment, "failures") != NULL ||
           part_find(algorithm_in(experiment), "failures") != NULL;
}

char *trial_run_into(const trial *t, const char *name, const char *file, const char *options)
{
    char *output = NULL;
    char *const arguments =
        dsgd_xprintf("run --force --progress off -o %s %s %s.yaml", name, options, file);
    const int exit_status = trial_run(t, &output, arguments);
    /*
     * If a worker fails, other workers may wait for ever. Such a run has the exit status 5, which
     * is a valid result.
     */
    if (exit_status == 0 || (exit_status == 5 && may_fail(t->experiment)))
        return NULL;
    char *const why = dsgd_xprintf("exit status %d: %s", exit_status, output);
    return why;
}

/* --- numbers ---------------------------------------------------------------------------------- */

double trial_value(const dsgd_csv *csv, size_t row, const char *column)
{
    return dsgd_csv_value(csv, row, dsgd_csv_column(csv, column));
}

const char *trial_text(const dsgd_csv *csv, size_t row, const char *column)
{
    return dsgd_csv_field(csv, row, dsgd_csv_column(csv, column));
}

const char *algorithm_of(const part *experiment)
{
    const part *const name = part_find(algorithm_in(experiment), "name");
    return name == NULL ? "" : name->text;
}

bool is_synchronous(const part *experiment)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_algorithms, algorithm_of(experiment));
    return about != NULL && (~((const dsgd_algorithm *)about)->traits & DSGD_SENDS_ALLREDUCES) == 0;
}

bool ends_together(const part *experiment)
{
    static const char *const behind[] = {"dasgd", "streaming_diloco", NULL};
    return is_synchronous(experiment) && dsgd_find_word(behind, algorithm_of(experiment)) < 0;
}

bool drops_samples(const part *experiment)
{
    static const char *const dropping[] = {"drop_compute", "dedloc",     "backup_workers",
                                           "rennala",      "ringmaster", NULL};
    return dsgd_find_word(dropping, algorithm_of(experiment)) >= 0;
}

dsgd_csv trial_changed(const trial *t, const char *name, const part *experiment, char **why)
{
    dsgd_csv runs = {.n_rows = 0};
    trial_write(t->folder, name, experiment);
    *why = trial_run_into(t, name, name, "--numerics off");
    if (*why != NULL && strcspn(*why, "234") == strlen("exit status "))
        *why = not_asked; /* the program rejects the changed experiment */
    if (*why == NULL && (dsgd_csv_read(&runs, NULL, "%s/%s/runs.csv", t->folder, name) != DSGD_OK ||
                         runs.n_rows == 0))
        *why = dsgd_xprintf("no runs.csv of %s", name);
    return runs;
}

double trial_changed_s(const trial *t, const char *name, const part *experiment, char **why)
{
    const dsgd_csv runs = trial_changed(t, name, experiment, why);
    return *why == NULL ? trial_value(&runs, 0, "virtual_s") : NAN;
}

const json_t *trial_first(const trial *t)
{
    return json_array_get(json_object_get(t->manifest, "runs"), 0);
}

double number_in(const json_t *of, const char *key)
{
    return json_number_value(json_object_get(of, key));
}

double hosts_of(const json_t *run)
{
    const json_t *const inner = json_object_get(json_object_get(run, "workload"), "inner");
    const json_t *const pipeline = json_object_get(inner, "pipeline");
    return number_in(pipeline, "stages") * number_in(pipeline, "peers") *
           number_in(inner, "tensor") * number_in(inner, "shards");
}

part *part_under(part *of, const char *key, part_kind kind)
{
    if (part_find(of, key) == NULL)
        part_add(of, part_empty(key, kind));
    return part_find(of, key);
}

bool fails(const trial *t)
{
    const part *const list = part_find(t->experiment, "algorithms");
    return part_find(t->experiment, "failures") != NULL ||
           (list->n > 0 && part_find(&list->parts[0], "failures") != NULL);
}

part *platform_of(part *experiment)
{
    part *const given = part_find(experiment, "platform");
    if (given != NULL && given->kind == SCALAR) {
        part with = part_empty("platform", MAPPING);
        part_set(&with, "name", given->text);
        *given = with;
    }
    return given;
}

bool is_plain_switch(const json_t *platform)
{
    return strcmp(json_string_value(json_object_get(platform, "topology")), "switch") == 0 &&
           json_integer_value(json_object_get(platform, "island_hosts")) == 0 &&
           json_array_size(json_object_get(platform, "hosts")) == 0;
}

part plainly(const trial *t, const char *algorithm, const char *how)
{
    part changed = part_copy(t->experiment);
    *part_under(&changed, "algorithms", LIST) =
        part_scalar("algorithms", dsgd_xprintf("[{name: %s}]", algorithm));
    *part_under(&changed, "exchange", MAPPING) =
        part_scalar("exchange", dsgd_xprintf("{collective: %s}", how));
    return changed;
}

bool exchanges(const trial *t)
{
    return !t->diverged && !fails(t) && number_in(trial_first(t), "workers") > 1 &&
           part_find(t->experiment, "until")->n == 1;
}
