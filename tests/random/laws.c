/**
 * @file laws.c
 * Runs of one experiment, compared with each other and with arithmetic.
 */
#include "tests/random/laws.h"

#include <jansson.h>
#include <sys/wait.h>

#include "base/csv.h"
#include "base/status.h"
#include "sim/registry.h"

/** Seconds of CPU time, by which each command has ended. */
enum { PATIENCE_S = 120 };

typedef struct trial {
    const char *folder;
    const part *experiment;
    dsgd_csv runs, workers; /* of the plain run */
    json_t *manifest;
    bool diverged; /* some run */
} trial;

/* --- commands --------------------------------------------------------------------------------- */

/** The exit status of a command of the shell in the folder, 128 and more for a signal. */
static int shell(const trial *t, char **output, const char *words)
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

/** The same of `dsgd ARGUMENTS`. */
static int run(const trial *t, char **output, const char *arguments)
{
    const char *const other = getenv("DSGD_PROGRAM");
    char *const command = dsgd_xprintf("DSGD_DATA=%s %s %s", DSGD_SOURCE_DIR,
                                       other == NULL ? DSGD_BINARY : other, arguments);
    const int exit_status = shell(t, output, command);
    return exit_status;
}

/** Writes an experiment as FOLDER/NAME.yaml. */
static void write_experiment(const char *folder, const char *name, const part *experiment)
{
    char *const path = dsgd_xprintf("%s/%s.yaml", folder, name);
    FILE *const stream = fopen(path, "w");
    DSGD_ASSERT(stream != NULL, "%s: %m", path);
    part_write(experiment, stream);
    fclose(stream);
}

/** Runs NAME.yaml into the folder NAME; NULL, or what went wrong. The caller frees it. */
static char *run_into(const trial *t, const char *name, const char *file, const char *options)
{
    char *output = NULL;
    char *const arguments =
        dsgd_xprintf("run --force --progress off -o %s %s %s.yaml", name, options, file);
    const int exit_status = run(t, &output, arguments);
    /* A worker that stops may leave others waiting for ever, which is a result. */
    if (exit_status == 0 || (exit_status == 5 && part_find(t->experiment, "stops") != NULL)) {
        return NULL;
    }
    char *const why = dsgd_xprintf("exit status %d: %s", exit_status, output);
    return why;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static double value(const dsgd_csv *csv, size_t row, const char *column)
{
    return dsgd_csv_value(csv, row, dsgd_csv_column(csv, column));
}

static const char *text(const dsgd_csv *csv, size_t row, const char *column)
{
    return dsgd_csv_field(csv, row, dsgd_csv_column(csv, column));
}

/** SimGrid takes times as the same that are closer: messages one after another add up to so much each. */
static const double simgrid_precision_s = 1e-12;

static const char *algorithm_of(const part *experiment)
{
    const part *const list = part_find(experiment, "algorithms");
    const part *const name =
        list == NULL || list->n == 0 ? NULL : part_find(&list->parts[0], "name");
    return name == NULL ? "" : name->text;
}

/** Whether no time decides who exchanges what with whom. */
static bool is_synchronous(const part *experiment)
{
    const dsgd_about *const about = dsgd_about_find(dsgd_algorithms, algorithm_of(experiment));
    return about != NULL && ((const dsgd_algorithm *)about)->sends == DSGD_SENDS_ALLREDUCES;
}

/** What does not learn, where the algorithm can do without. */
static const char *without_numerics(const part *experiment)
{
    const dsgd_about *const about = dsgd_about_find(dsgd_algorithms, algorithm_of(experiment));
    const bool decides =
        about != NULL && ((const dsgd_algorithm *)about)->reads == DSGD_READS_TO_DECIDE;
    return decides ? "" : "--numerics off";
}

/* --- laws: NULL, or what is wrong ------------------------------------------------------------- */

static char *shares_sum_to_one(const trial *t)
{
    const dsgd_csv *const tables[] = {&t->runs, &t->workers};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < tables[k]->n_rows; i++) {
            const double sum = value(tables[k], i, "compute_share") +
                               value(tables[k], i, "wait_share") +
                               value(tables[k], i, "comm_share");
            if (fabs(sum - 1) > 1e-9)
                return dsgd_xprintf("shares: row %zu of %s: they sum to %.17g", i + 1,
                                    tables[k]->path, sum);
        }
    return NULL;
}

/** Of fewer, where parts of gradients or late ones are dropped. */
static char *samples_are_steps_times_batch(const trial *t)
{
    static const char *const dropping[] = {"drop_compute", "backup_workers", "rennala",
                                           "ringmaster", NULL};
    for (size_t i = 0; i < t->runs.n_rows; i++) {
        const json_t *const of_run = json_array_get(json_object_get(t->manifest, "runs"),
                                                    (size_t)value(&t->runs, i, "run") - 1);
        const double batch =
            json_number_value(json_object_get(json_object_get(of_run, "workload"), "samples"));
        const double expected = value(&t->runs, i, "steps") * value(&t->runs, i, "workers") * batch;
        const double samples = value(&t->runs, i, "samples");
        const bool drops = dsgd_find_word(dropping, text(&t->runs, i, "algorithm")) >= 0;
        if (samples > expected * (1 + 1e-9) || (!drops && samples < expected * (1 - 1e-9)))
            return dsgd_xprintf("samples: %.17g of %.17g", samples, expected);
    }
    return NULL;
}

/** Same bytes however many processes and threads there are. */
static char *threads_change_nothing(const trial *t)
{
    static const char compare[] =
        "for d in a b; do sed 's/,[^,]*$//' $d/runs.csv > $d/without_wall.csv; done; for f in "
        "without_wall workers curves staleness steps; do cmp a/$f.csv b/$f.csv || exit; done";
    char *output = NULL;
    char *why = run_into(t, "b", "a", "-j 2 --threads 3");
    if (why == NULL && shell(t, &output, compare) != 0)
        why = dsgd_xprintf("threads: %s", output);
    return why;
}

/** Times do not depend on values. */
static char *numerics_change_no_time(const trial *t)
{
    static const char *const columns[] = {"virtual_s", "steps", "messages", "bytes", "comm_share"};
    dsgd_csv runs = {.n_rows = 0};
    char *why = t->diverged ? NULL : run_into(t, "c", "a", without_numerics(t->experiment));
    if (why != NULL || t->diverged)
        return why;
    if (dsgd_csv_read(&runs, NULL, "%s/c/runs.csv", t->folder) != DSGD_OK)
        why = dsgd_xstrdup("numerics: no runs.csv");
    for (size_t i = 0; why == NULL && i < runs.n_rows; i++)
        for (size_t k = 0; why == NULL && k < sizeof columns / sizeof columns[0]; k++)
            if (strcmp(text(&runs, i, columns[k]), text(&t->runs, i, columns[k])) != 0)
                why = dsgd_xprintf("numerics: %s is %s, without them %s", columns[k],
                                   text(&t->runs, i, columns[k]), text(&runs, i, columns[k]));
    return why;
}

/** The virtual time of a changed experiment's first run; NAN with *why where it does not run. */
static double changed_s(const trial *t, const char *name, const part *experiment, char **why)
{
    dsgd_csv runs = {.n_rows = 0};
    double virtual_s = NAN;
    write_experiment(t->folder, name, experiment);
    *why = run_into(t, name, name, without_numerics(experiment));
    if (*why == NULL && dsgd_csv_read(&runs, NULL, "%s/%s/runs.csv", t->folder, name) == DSGD_OK &&
        runs.n_rows > 0)
        virtual_s = value(&runs, 0, "virtual_s");
    return virtual_s;
}

/** The mapping under a key; a new one where there is none. */
static part *part_under(part *of, const char *key, part_kind kind)
{
    if (part_find(of, key) == NULL)
        part_add(of, part_empty(key, kind));
    return part_find(of, key);
}

/** What is computed, or solved, without SimGrid is what its messages would have given, ties included. */
static char *every_message_gives_the_same(const trial *t)
{
    if (t->diverged)
        return NULL;
    part changed = part_copy(t->experiment);
    char *why = NULL;
    const double s = value(&t->runs, 0, "virtual_s");
    part_set(part_under(&changed, "exchange", MAPPING), "every_message", "true");
    const double each_s = changed_s(t, "d", &changed, &why);
    const double rounding_s = simgrid_precision_s * (1 + value(&t->runs, 0, "messages"));
    if (why == NULL && !(fabs(s - each_s) <= 1e-9 * each_s + rounding_s))
        why = dsgd_xprintf("messages: %.17g s, with each message %.17g s", s, each_s);
    return why;
}

/** Synchronous algorithms are never slower on a faster network. */
static char *bandwidth_is_never_slower(const trial *t)
{
    char *why = NULL;
    const part *const given = part_find(t->experiment, "platform");
    if (t->diverged || !is_synchronous(t->experiment) || given == NULL || given->kind != MAPPING)
        return NULL;
    part changed = part_copy(t->experiment);
    part *const platform = part_find(&changed, "platform");
    static const char *const all[] = {"host_bandwidth", "island_bandwidth", "group_bandwidth",
                                      "group_flow_bandwidth"};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (k == 0 || part_find(platform, all[k]) != NULL)
            part_set(platform, all[k], "1e15");
    const double s = changed_s(t, "e", &changed, &why);
    if (why == NULL && s > value(&t->runs, 0, "virtual_s") * (1 + 1e-9))
        why = dsgd_xprintf("bandwidth: %.17g s, with NICs of 1e15 B/s %.17g s",
                           value(&t->runs, 0, "virtual_s"), s);
    return why;
}

/** A record computes what the run did. */
static char *replay_gives_the_same(const trial *t)
{
    char *replayed = NULL, *compared = NULL;
    if (part_find(t->experiment, "learn") == NULL || t->runs.n_rows == 0)
        return NULL;
    char *why = run_into(t, "f", "a", "--record f.record");
    if (why == NULL && run(t, &replayed, "replay -o g f.record") != 0)
        why = dsgd_xprintf("replay: %s", replayed);
    if (why == NULL && shell(t, &compared, "cmp f/curves.csv g/curves.csv") != 0)
        why = dsgd_xprintf("replay: %s", compared);
    return why;
}

/* --- all of them ------------------------------------------------------------------------------ */

static char *read_results(trial *t)
{
    char *const manifest = dsgd_xprintf("%s/a/manifest.json", t->folder);
    t->manifest = json_load_file(manifest, 0, NULL);
    dsgd_error error = {""};
    if (t->manifest == NULL ||
        dsgd_csv_read(&t->runs, &error, "%s/a/runs.csv", t->folder) != DSGD_OK ||
        dsgd_csv_read(&t->workers, &error, "%s/a/workers.csv", t->folder) != DSGD_OK)
        return dsgd_xprintf("results: %s", error.text);
    for (size_t i = 0; i < t->runs.n_rows; i++)
        t->diverged = t->diverged || strcmp(text(&t->runs, i, "status"), "ok") != 0;
    return NULL;
}

/** Whether it is a single sentence of the program's. */
static bool is_refusal(int exit_status, const char *output)
{
    const char *const first = strstr(output, "dsgd: ");
    return exit_status >= 2 && exit_status <= 4 && first != NULL &&
           strstr(first + 1, "\ndsgd: ") == NULL;
}

verdict laws_check(const char *folder, const part *experiment, char **why)
{
    static char *(*const laws[])(const trial *) = {
        shares_sum_to_one,         samples_are_steps_times_batch, threads_change_nothing,
        numerics_change_no_time,   replay_gives_the_same,         every_message_gives_the_same,
        bandwidth_is_never_slower,
    };
    trial t = {.folder = folder, .experiment = experiment};
    char *output = NULL;
    write_experiment(folder, "a", experiment);
    *why = NULL;
    const int exit_status = run(&t, &output, "check a.yaml");
    if (exit_status != 0) {
        *why = is_refusal(exit_status, output)
                   ? dsgd_xstrdup(output)
                   : dsgd_xprintf("check: exit status %d: %s", exit_status, output);
        const verdict v = is_refusal(exit_status, output) ? REFUSED : BROKEN;
        return v;
    }
    *why = run_into(&t, "a", "a", "-j 1 --threads 1");
    if (*why == NULL)
        *why = read_results(&t);
    for (size_t i = 0; *why == NULL && i < sizeof laws / sizeof laws[0]; i++)
        *why = laws[i](&t);
    return *why == NULL ? HOLDS : BROKEN;
}

void laws_shrink(const char *folder, part *experiment, char **why)
{
    for (size_t i = 0; i < part_count(experiment);) {
        part smaller = part_copy(experiment);
        char *now = NULL;
        part_remove(&smaller, i);
        if (laws_check(folder, &smaller, &now) == BROKEN &&
            strncmp(now, *why, strcspn(*why, ":")) == 0) {
            *experiment = smaller;
            *why = now;
            continue; /* another part is at this place now */
        }
        i++;
    }
}
