/**
 * @file laws.c
 * Runs of one experiment, compared with each other and with arithmetic.
 */
#include "tests/random/laws.h"

#include <jansson.h>
#include <sys/wait.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/status.h"
#include "command/experiment/experiment.h"
#include "sim/registry.h"
#include "traces/platform.h"

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
    /* A worker that fails may leave others waiting for ever, which is a result. */
    if (exit_status == 0 || (exit_status == 5 && part_find(t->experiment, "failures") != NULL)) {
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
    static const char *const dropping[] = {"drop_compute", "dedloc",     "backup_workers",
                                           "rennala",      "ringmaster", NULL};
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

/** Runs the experiment once more, with options; the bytes are the same. */
static char *same_bytes(const trial *t, const char *law, const char *name, const char *options)
{
    char *output = NULL;
    char *why = run_into(t, name, "a", options);
    const char *const compare = dsgd_xprintf(
        "for d in a %s; do sed 's/,[^,]*$//' $d/runs.csv > $d/without_wall.csv; done; for f in "
        "without_wall workers curves staleness steps; do cmp a/$f.csv %s/$f.csv || exit; done",
        name, name);
    if (why == NULL && shell(t, &output, compare) != 0)
        why = dsgd_xprintf("%s: %s", law, output);
    return why;
}

/** However many processes and threads there are. */
static char *threads_change_nothing(const trial *t)
{
    return same_bytes(t, "threads", "b", "-j 2 --threads 3");
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

/** Then a time that differs by rounding may change what a failure undoes. */
static bool fails(const trial *t)
{
    const part *const list = part_find(t->experiment, "algorithms");
    return part_find(t->experiment, "failures") != NULL ||
           (list->n > 0 && part_find(&list->parts[0], "failures") != NULL);
}

/**
 * By how much the run's time differs where all NICs have the next number of twelve digits as their bandwidth: where
 * workers send on as messages arrive, by links that they share, differences grow from step to step, and in some
 * runs to a hundredth of the time.
 */
static double amplified_s(const trial *t)
{
    const json_t *const run = json_array_get(json_object_get(t->manifest, "runs"), 0);
    const json_t *const platform = json_object_get(run, "platform");
    const double bandwidth = json_number_value(json_object_get(platform, "host_bandwidth"));
    part changed = part_copy(t->experiment);
    part *const given = part_find(&changed, "platform");
    char *why = NULL;
    if (given == NULL || !(bandwidth > 0))
        return 0;
    if (given->kind == SCALAR) {
        part with = part_empty("platform", MAPPING);
        part_set(&with, "name", given->text);
        *given = with;
    }
    part_set(given, "host_bandwidth", dsgd_xprintf("%.17g", bandwidth * (1 + 1e-12)));
    return fabs(changed_s(t, "n", &changed, &why) - value(&t->runs, 0, "virtual_s"));
}

/** What is computed, or solved, without SimGrid is what its messages would have given, ties included. */
static char *every_message_gives_the_same(const trial *t)
{
    if (t->diverged || fails(t))
        return NULL;
    part changed = part_copy(t->experiment);
    char *why = NULL;
    const double s = value(&t->runs, 0, "virtual_s");
    part_set(part_under(&changed, "exchange", MAPPING), "every_message", "true");
    const double each_s = changed_s(t, "d", &changed, &why);
    const double rounding_s = simgrid_precision_s * (1 + value(&t->runs, 0, "messages"));
    static const double most_amplified = 1000;
    if (why != NULL && strstr(why, "SimGrid is told of every route") != NULL)
        return NULL; /* of a large HammingMesh */
    if (why == NULL && !(fabs(s - each_s) <= 1e-9 * each_s + rounding_s) &&
        !(fabs(s - each_s) <= most_amplified * amplified_s(t)))
        why = dsgd_xprintf("messages: %.17g s, with each message %.17g s", s, each_s);
    return why;
}

/** Synchronous algorithms are never slower on a faster network. */
static char *bandwidth_is_never_slower(const trial *t)
{
    char *why = NULL;
    const part *const given = part_find(t->experiment, "platform");
    if (t->diverged || fails(t) || !is_synchronous(t->experiment) || given == NULL ||
        given->kind != MAPPING)
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

/** Whether all workers, and their places, are told apart by nothing, and as many as all trees need. */
static bool is_symmetric(const json_t *run)
{
    const json_t *const platform = json_object_get(run, "platform");
    const int64_t workers = json_integer_value(json_object_get(run, "workers"));
    const int64_t group_hosts = json_integer_value(json_object_get(platform, "group_hosts"));
    const char *const topology = json_string_value(json_object_get(platform, "topology"));
    const json_t *const workload = json_object_get(run, "workload");
    return json_array_size(json_object_get(workload, "inherent")) == 0 &&
           (strcmp(topology, "switch") == 0 ||
            (strcmp(topology, "groups") == 0 && group_hosts >= workers)) &&
           (workers & (workers - 1)) == 0 &&
           json_array_size(json_object_get(platform, "hosts")) == 0 &&
           json_array_size(json_object_get(platform, "regions")) == 0 &&
           json_integer_value(json_object_get(platform, "island_hosts")) == 0;
}

/** Of synchronous algorithms among equals it does not matter who is slow. */
static char *any_may_be_slow(const trial *t)
{
    const json_t *const run = json_array_get(json_object_get(t->manifest, "runs"), 0);
    const int64_t workers = json_integer_value(json_object_get(run, "workers"));
    double slow_s[2] = {NAN, NAN};
    char *why = NULL;
    if (t->diverged || fails(t) || !is_synchronous(t->experiment) || !is_symmetric(run))
        return NULL;
    part changed = part_copy(t->experiment);
    for (size_t k = 0; k < 2 && why == NULL; k++) {
        const int64_t who = k == 0 ? 0 : workers - 1;
        part_set(&changed, "imbalance",
                 dsgd_xprintf("[{kind: slow, worker: %jd, factor: 1.5}]", who));
        slow_s[k] = changed_s(t, k == 0 ? "l" : "m", &changed, &why);
    }
    if (why == NULL && !(fabs(slow_s[0] - slow_s[1]) <= 1e-9 * slow_s[0]))
        why = dsgd_xprintf("slow: %.17g s where the first is, %.17g s where the last is", slow_s[0],
                           slow_s[1]);
    return why;
}

/** Whoever else is in the list, and in whatever order: under another label, behind another seed. */
static char *company_changes_nothing(const trial *t)
{
    static const char *const columns[] = {"virtual_s", "steps",      "samples",   "messages",
                                          "bytes",     "comm_share", "final_loss"};
    const part *const seed = part_find(t->experiment, "seed");
    part changed = part_copy(t->experiment);
    part *const list = part_find(&changed, "algorithms");
    if (t->diverged || seed == NULL || list->n == 0)
        return NULL;
    part both = part_empty("algorithms", LIST);
    part_add(&both, part_copy(&list->parts[0]));
    part_set(&both.parts[0], "label", "twin");
    part_add(&both, list->parts[0]);
    *list = both;
    part_set(&changed, "seed", dsgd_xprintf("{sweep: [1%s, %s]}", seed->text, seed->text));
    write_experiment(t->folder, "h", &changed);
    dsgd_csv runs = {.n_rows = 0};
    char *why = run_into(t, "h", "h", "");
    if (why == NULL && dsgd_csv_read(&runs, NULL, "%s/h/runs.csv", t->folder) != DSGD_OK)
        why = dsgd_xstrdup("company: no runs.csv");
    for (size_t i = 0; why == NULL && i < runs.n_rows; i++)
        for (size_t k = 0; why == NULL && k < sizeof columns / sizeof columns[0]; k++)
            if (strcmp(text(&runs, i, "seed"), text(&t->runs, 0, "seed")) == 0 &&
                strcmp(text(&runs, i, columns[k]), text(&t->runs, 0, columns[k])) != 0)
                why = dsgd_xprintf("company: %s is %s, among others %s", columns[k],
                                   text(&t->runs, 0, columns[k]), text(&runs, i, columns[k]));
    return why;
}

/** A record computes what the run did. */
static char *replay_gives_the_same(const trial *t)
{
    char *replayed = NULL, *compared = NULL;
    if (part_find(t->experiment, "learn") == NULL || t->runs.n_rows == 0)
        return NULL;
    char *why = same_bytes(t, "replay", "f", "--record f.record");
    if (why == NULL && run(t, &replayed, "replay -o g f.record") != 0)
        why = dsgd_xprintf("replay: %s", replayed);
    if (why == NULL && shell(t, &compared, "cmp f/curves.csv g/curves.csv") != 0)
        why = dsgd_xprintf("replay: %s", compared);
    return why;
}

/** Runs an experiment that is evaluated at @p half and ends after @p steps; its curves. */
static char *curves_of(const trial *t, const char *name, double half, double steps,
                       dsgd_csv *curves)
{
    part changed = part_copy(t->experiment);
    part *const learn = part_find(&changed, "learn");
    part_set(learn, "evaluate", dsgd_xprintf("{every: %g}", half));
    part_set(&changed, "until", dsgd_xprintf("{steps: %g}", steps));
    write_experiment(t->folder, name, &changed);
    char *why = run_into(t, name, name, "");
    if (why == NULL && dsgd_csv_read(curves, NULL, "%s/%s/curves.csv", t->folder, name) != DSGD_OK)
        why = dsgd_xprintf("half: no curves of %s", name);
    return why;
}

/** Half of a run is a run of half its steps: nothing that comes later is known before. */
static char *half_is_half(const trial *t)
{
    const part *const steps = part_find(part_find(t->experiment, "until"), "steps");
    const double half = steps == NULL ? 0 : floor(strtod(steps->text, NULL) / 2);
    dsgd_csv whole = {.n_rows = 0}, first = {.n_rows = 0};
    if (t->diverged || half < 1 || part_find(t->experiment, "learn") == NULL)
        return NULL;
    char *why = curves_of(t, "j", half, 2 * half, &whole);
    if (why == NULL)
        why = curves_of(t, "k", half, half, &first);
    for (size_t i = 0; why == NULL && i < first.n_rows && i < 2; i++)
        if (value(&first, i, "steps") <= half &&
            (strcmp(text(&first, i, "virtual_s"), text(&whole, i, "virtual_s")) != 0 ||
             strcmp(text(&first, i, "loss"), text(&whole, i, "loss")) != 0))
            why = dsgd_xprintf("half: after %s steps loss %s at %s s, of twice as many %s at %s s",
                               text(&first, i, "steps"), text(&first, i, "loss"),
                               text(&first, i, "virtual_s"), text(&whole, i, "loss"),
                               text(&whole, i, "virtual_s"));
    return why;
}

/* --- the same in other units ------------------------------------------------------------------- */

/** By how much a number grows where each second, and each byte, of an experiment becomes so many. */
static double growth(const char *unit, double time, double size)
{
    static const char *const units[] = {"s",   "bytes",     "bytes/s", "s/B",
                                        "1/s", "samples/s", "flop/s",  NULL};
    const double by[] = {time, size, size / time, time / size, 1 / time, 1 / time, 1 / time, 1};
    const int i = dsgd_find_word(units, unit == NULL ? "" : unit);
    return by[i < 0 ? sizeof by / sizeof by[0] - 1 : (size_t)i];
}

static void regrow(json_t *value, const dsgd_option *option, double time, double size);

/** Whether what is drawn multiplies the time so far: no seconds. */
static bool is_factor(const json_t *mapping)
{
    return json_is_true(json_object_get(mapping, "scale"));
}

/** The values of a mapping, of an option each. A manifest has tables as pairs, and names under `name`. */
static void regrow_fields(json_t *mapping, const dsgd_option *fields, double time, double size)
{
    const double time_of = is_factor(mapping) ? 1 : time;
    for (const dsgd_option *o = fields; o != NULL && o->name != NULL; o++) {
        json_t *const value = json_object_get(mapping, o->name);
        if (o->kind != DSGD_TABLE || value == NULL) {
            regrow(value, o, time_of, size);
            continue;
        }
        json_t *const table = json_object();
        for (size_t i = 0; i < json_array_size(value); i++) {
            double x = 0, y = 0;
            json_unpack(json_array_get(value, i), "[FF]", &x, &y);
            json_object_set_new(table, dsgd_xprintf("%.17g", x),
                                json_real(y * growth(o->unit, time_of, size)));
        }
        json_object_set_new(mapping, o->name, table);
    }
}

static void regrow(json_t *value, const dsgd_option *o, double time, double size)
{
    const double by = growth(o->unit, time, size);
    for (size_t i = 0; i < json_array_size(value); i++)
        regrow(json_array_get(value, i), o, time, size);
    if (json_is_real(value))
        json_real_set(value, json_real_value(value) * by);
    if (json_is_integer(value))
        json_integer_set(value, (json_int_t)((double)json_integer_value(value) * by));
    const char *const name = json_string_value(json_object_get(value, "name"));
    const dsgd_about *const about =
        o->registry == NULL || name == NULL ? NULL : dsgd_about_find(o->registry, name);
    regrow_fields(value, about == NULL ? NULL : about->options, time, size);
    regrow_fields(value, o->fields, time, size);
    if (about != NULL && strcmp(o->key, "name") != 0) {
        json_object_set_new(value, o->key, json_string(about->name));
        json_object_del(value, "name");
    }
}

/** Takes away what is null, or a list of nothing: what would not be given. */
static void drop_nothings(json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        drop_nothings(json_array_get(value, i));
    for (void *at = json_object_iter(value), *next; at != NULL; at = next) {
        json_t *const of = json_object_iter_value(at);
        const bool nothing = json_is_null(of) || (json_is_array(of) && json_array_size(of) == 0);
        drop_nothings(of);
        next = json_object_iter_next(value, at);
        if (nothing)
            json_object_del(value, json_object_iter_key(at));
    }
}

/** Whether files or tables of machines, which have their own seconds, are in it; hosts have 1 Gf. */
static bool has_own_seconds(const json_t *run)
{
    const json_t *const platform = json_object_get(run, "platform");
    bool has = strcmp(json_string_value(json_object_get(platform, "library")), "mpi") != 0 ||
               strcmp(json_string_value(json_object_get(platform, "topology")), "xml") == 0 ||
               json_number_value(json_object_get(platform, "reference_speed")) > 0 ||
               json_is_string(json_object_get(json_object_get(run, "failures"), "trace"));
    const json_t *const imbalance = json_object_get(run, "imbalance");
    for (size_t i = 0; i < json_array_size(imbalance); i++)
        has = has || json_object_get(json_array_get(imbalance, i), "file") != NULL;
    return has;
}

/** An encoding says how many bits a value or its index takes, whatever numbers take. */
static bool has_own_bits(const json_t *run)
{
    static const char *const parts[] = {"exchange", "algorithm"};
    bool has = false;
    for (size_t k = 0; k < 2; k++)
        has = has || json_is_object(json_object_get(json_object_get(run, parts[k]), "encoding"));
    return has;
}

/** The first run as its manifest has it, with all values, in other units: its virtual time. */
static double regrown_s(const trial *t, const char *name, double time, double size, char **why)
{
    static const dsgd_platform by_memory = {.encoding_s_per_byte = -1};
    json_t *const run = json_deep_copy(json_array_get(json_object_get(t->manifest, "runs"), 0));
    json_t *const platform = json_object_get(run, "platform");
    dsgd_csv runs = {.n_rows = 0};
    if (json_is_string(json_object_get(platform, "encoding")))
        json_object_set_new(platform, "encoding",
                            json_real(dsgd_platform_encoding_s_per_byte(&by_memory)));
    json_object_set_new(run, "algorithms", json_pack("[O]", json_object_get(run, "algorithm")));
    json_object_set_new(run, "name", json_string("regrown"));
    json_object_del(run, "algorithm");
    json_object_del(run, "label");
    regrow_fields(run, dsgd_experiment_options, time, size);
    drop_nothings(run);
    const char *const path = dsgd_xprintf("%s/%s.yaml", t->folder, name);
    DSGD_ASSERT(json_dump_file(run, path, JSON_REAL_PRECISION(17)) == 0, "%s: %m", path);
    json_decref(run);
    *why = run_into(t, name, name, without_numerics(t->experiment));
    if (*why == NULL && dsgd_csv_read(&runs, NULL, "%s/%s/runs.csv", t->folder, name) == DSGD_OK &&
        runs.n_rows > 0)
        return value(&runs, 0, "virtual_s");
    return NAN;
}

/**
 * Where all takes twice as long, or everything has twice the bytes: no time and no size is hidden in
 * the program, but for the instant that messages at a server are apart, a few bytes of a message's
 * head, and DDP's buckets.
 */
static char *no_unit_is_hidden(const trial *t)
{
    static const double server_s = 2e-9;
    static const struct {
        const char *law;
        double time, size, precision;
    } worlds[] = {{"time", 2, 1, 1e-9}, {"bytes", 1, 2, 1e-5}};
    char *why = NULL;
    const json_t *const run = json_array_get(json_object_get(t->manifest, "runs"), 0);
    const json_t *const pieces = json_object_get(json_object_get(run, "exchange"), "pieces");
    const double instants_s = server_s * (1 + value(&t->runs, 0, "messages"));
    if (t->diverged || has_own_seconds(run))
        return NULL;
    const size_t n_worlds = json_is_number(pieces) && !has_own_bits(run) ? 2 : 1;
    for (size_t k = 0; k < n_worlds && why == NULL; k++) {
        const double s = value(&t->runs, 0, "virtual_s") * worlds[k].time;
        const double there_s = regrown_s(t, worlds[k].law, worlds[k].time, worlds[k].size, &why);
        if (why != NULL && strstr(why, "has to be between") != NULL)
            return NULL; /* twice the most that is allowed */
        if (why == NULL && !(fabs(s - there_s) <= worlds[k].precision * s + instants_s))
            why = dsgd_xprintf("%s: %.17g s became %.17g s", worlds[k].law, s, there_s);
    }
    return why;
}

/* --- all of them ------------------------------------------------------------------------------ */

static char *read_results(trial *t)
{
    char *const manifest = dsgd_xprintf("%s/a/manifest.json", t->folder);
    t->manifest = json_load_file(manifest, 0, NULL);
    dsgd_runs_unfold(json_object_get(t->manifest, "runs"));
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
        shares_sum_to_one,         samples_are_steps_times_batch,
        threads_change_nothing,    numerics_change_no_time,
        replay_gives_the_same,     every_message_gives_the_same,
        bandwidth_is_never_slower, company_changes_nothing,
        no_unit_is_hidden,         half_is_half,
        any_may_be_slow,
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
