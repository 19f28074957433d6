/**
 * @file laws.c
 * Laws that compare runs of one experiment with each other and with arithmetic.
 */
#include "tests/random/laws.h"

#include "base/json.h"
#include "base/option.h"
#include "base/status.h"
#include "command/runs/manifest.h"
#include "tests/random/trial.h"

/**
 * SimGrid treats two times as equal if they differ by less than this number of seconds. Successive
 * messages and steps add up this error.
 */
static const double simgrid_precision_s = 1e-12;

/* --- Laws: each function returns NULL or the fault -------------------------------------------- */

static char *shares_sum_to_one(const trial *t)
{
    const dsgd_csv *const tables[] = {&t->runs, &t->workers};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < tables[k]->n_rows; i++) {
            const double sum = trial_value(tables[k], i, "compute_share") +
                               trial_value(tables[k], i, "wait_share") +
                               trial_value(tables[k], i, "comm_share");
            const double busy = trial_value(tables[k], i, "compute_share");
            if (fabs(sum - 1) > 1e-9 || fabs(busy - 0.5) > 0.5 + 1e-9)
                return dsgd_xprintf("row %zu of %s: they sum to %.17g", i + 1, tables[k]->path,
                                    sum);
        }
    return NULL;
}

/**
 * The number of samples equals steps times batch times workers. The number is smaller if parts of
 * gradients or late gradients are dropped.
 */
static char *samples_are_steps_times_batch(const trial *t)
{
    for (size_t i = 0; i < t->runs.n_rows; i++) {
        const json_t *const of_run = json_array_get(json_object_get(t->manifest, "runs"),
                                                    (size_t)trial_value(&t->runs, i, "run") - 1);
        const double batch =
            json_number_value(json_object_get(json_object_get(of_run, "workload"), "samples"));
        const double expected =
            trial_value(&t->runs, i, "steps") * trial_value(&t->runs, i, "workers") * batch;
        const double samples = trial_value(&t->runs, i, "samples");
        const bool drops = drops_samples(t->experiment);
        if (samples > expected * (1 + 1e-9) || (!drops && samples < expected * (1 - 1e-9)))
            return dsgd_xprintf("%.17g of %.17g", samples, expected);
    }
    return NULL;
}

/**
 * Runs the experiment again with the given command-line options. The results must have the same
 * bytes.
 */
static char *same_bytes(const trial *t, const char *name, const char *options)
{
    char *output = NULL;
    char *why = trial_run_into(t, name, "a", options);
    const char *const compare = dsgd_xprintf(
        "for d in a %s; do sed 's/,[^,]*$//' $d/runs.csv > $d/without_wall.csv; done; for f in "
        "without_wall workers curves staleness steps; do cmp a/$f.csv %s/$f.csv || exit; done",
        name, name);
    if (why == NULL && trial_shell(t, &output, compare) != 0)
        why = output;
    return why;
}

/** The results are the same for any number of processes and threads. */
static char *threads_change_nothing(const trial *t)
{
    return same_bytes(t, "b", "-j 2 --threads 3");
}

/** The times of a run do not depend on the values of its models. */
static char *numerics_change_no_time(const trial *t)
{
    static const char *const columns[] = {"virtual_s", "steps", "messages", "bytes", "comm_share"};
    dsgd_csv runs = {.n_rows = 0};
    char *why = t->diverged ? not_asked : trial_run_into(t, "c", "a", "--numerics off");
    if (why != NULL)
        return why;
    if (dsgd_csv_read(&runs, NULL, "%s/c/runs.csv", t->folder) != DSGD_OK)
        why = dsgd_xstrdup("no runs.csv");
    for (size_t i = 0; why == NULL && i < runs.n_rows; i++)
        for (size_t k = 0; why == NULL && k < sizeof columns / sizeof columns[0]; k++)
            if (strcmp(trial_text(&runs, i, columns[k]), trial_text(&t->runs, i, columns[k])) != 0)
                why = dsgd_xprintf("%s is %s, without them %s", columns[k],
                                   trial_text(&t->runs, i, columns[k]),
                                   trial_text(&runs, i, columns[k]));
    return why;
}

/**
 * Returns the change of the run's time after a tiny change of the input. The input changes by a
 * relative 1e-12, for all NICs or for the steps of worker 1. If workers forward messages as they
 * arrive over shared links, such differences grow from step to step, in some runs to 1 % of the
 * time. If two events happen at the same instant, such as a gradient and the message that cancels
 * it, either event may come first.
 */
static double amplified_s(const trial *t)
{
    const json_t *const platform = json_object_get(trial_first(t), "platform");
    const double bandwidth = json_number_value(json_object_get(platform, "host_bandwidth"));
    const double s = trial_value(&t->runs, 0, "virtual_s");
    part changed = part_copy(t->experiment), late = part_copy(t->experiment);
    part *const given = platform_of(&changed);
    char *why = NULL;
    if (given == NULL || !(bandwidth > 0))
        return 0;
    part_set(given, "host_bandwidth", dsgd_xprintf("%.17g", bandwidth * (1 + 1e-12)));
    part_add(part_under(&late, "imbalance", LIST),
             part_scalar(NULL, "{kind: slow, worker: 1, factor: 1.000000000001}"));
    return fmax(fabs(trial_changed_s(t, "n", &changed, &why) - s),
                fabs(trial_changed_s(t, "n", &late, &why) - s));
}

/**
 * Results that are computed without SimGrid equal the results of a simulation in SimGrid, including
 * ties.
 */
static char *networks_agree(const trial *t)
{
    const bool at_once =
        trial_value(&t->runs, 0, "compute_share") == 0 && !is_synchronous(t->experiment);
    if (t->diverged || fails(t) || at_once)
        /*
         * If at_once is true, steps take no time, and many steps end at the same instant in any
         * order.
         */
        return not_asked;
    part changed = part_copy(t->experiment);
    char *why = NULL;
    const double s = trial_value(&t->runs, 0, "virtual_s");
    part_set(&changed, "network", "simgrid");
    const double each_s = trial_changed_s(t, "d", &changed, &why);
    const double rounding_s = simgrid_precision_s * (1 + trial_value(&t->runs, 0, "messages") +
                                                     trial_value(&t->runs, 0, "steps"));
    static const double most_amplified = 1000;
    if (why == NULL && !(fabs(s - each_s) <= 1e-9 * each_s + rounding_s) &&
        !(fabs(s - each_s) <= most_amplified * amplified_s(t)))
        why = dsgd_xprintf("%.17g s, by SimGrid %.17g s", s, each_s);
    return why;
}

/** Synchronous algorithms are never slower on a faster network. */
static char *bandwidth_is_never_slower(const trial *t)
{
    char *why = NULL;
    part changed = part_copy(t->experiment);
    part *const platform = platform_of(&changed);
    if (t->diverged || fails(t) || !is_synchronous(t->experiment))
        return not_asked;
    static const char *const all[] = {"host_bandwidth", "island_bandwidth", "group_bandwidth",
                                      "group_flow_bandwidth"};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        const json_t *const was =
            json_object_get(json_object_get(trial_first(t), "platform"), all[k]);
        if (json_number_value(was) > 0)
            part_set(platform, all[k], "1e15");
    }
    const double s = trial_changed_s(t, "e", &changed, &why);
    if (why == NULL && s > trial_value(&t->runs, 0, "virtual_s") * (1 + 1e-9))
        why = dsgd_xprintf("%.17g s, with NICs of 1e15 B/s %.17g s",
                           trial_value(&t->runs, 0, "virtual_s"), s);
    return why;
}

/**
 * Returns true if nothing distinguishes workers and their places, and the number of workers is a
 * power of two.
 */
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

/**
 * If an algorithm is synchronous and all workers are equal, it does not matter which worker is
 * slow.
 */
static char *any_may_be_slow(const trial *t)
{
    const json_t *const run = trial_first(t);
    const int64_t workers = json_integer_value(json_object_get(run, "workers"));
    double slow_s[2] = {NAN, NAN};
    char *why = NULL;
    if (t->diverged || fails(t) || !is_synchronous(t->experiment) || !is_symmetric(run))
        return not_asked;
    part changed = part_copy(t->experiment);
    for (size_t k = 0; k < 2 && why == NULL; k++) {
        /* number of the first host of this worker */
        const int64_t who = k == 0 ? 0 : (workers - 1) * (int64_t)hosts_of(run);
        part_set(&changed, "imbalance",
                 dsgd_xprintf("[{kind: slow, worker: %jd, factor: 1.5}]", who));
        slow_s[k] = trial_changed_s(t, k == 0 ? "l" : "m", &changed, &why);
    }
    if (why == NULL && !(fabs(slow_s[0] - slow_s[1]) <= 1e-9 * slow_s[0]))
        why = dsgd_xprintf("%.17g s where the first is, %.17g s where the last is", slow_s[0],
                           slow_s[1]);
    return why;
}

/**
 * An algorithm's results do not depend on the other algorithms and seeds of the experiment, or on
 * their order. To check this law, the experiment contains the algorithm a second time under another
 * label, after another seed.
 */
static char *company_changes_nothing(const trial *t)
{
    static const char *const columns[] = {"virtual_s", "steps",      "samples",   "messages",
                                          "bytes",     "comm_share", "final_loss"};
    const part *const seed = part_find(t->experiment, "seed");
    part changed = part_copy(t->experiment);
    part *const list = part_find(&changed, "algorithms");
    if (t->diverged || seed == NULL || list->n == 0)
        return not_asked;
    part both = part_empty("algorithms", LIST);
    part_add(&both, part_copy(&list->parts[0]));
    part_set(&both.parts[0], "label", "twin");
    part_add(&both, list->parts[0]);
    *list = both;
    part_set(&changed, "seed", dsgd_xprintf("{sweep: [1%s, %s]}", seed->text, seed->text));
    trial_write(t->folder, "h", &changed);
    dsgd_csv runs = {.n_rows = 0};
    char *why = trial_run_into(t, "h", "h", "");
    if (why == NULL && dsgd_csv_read(&runs, NULL, "%s/h/runs.csv", t->folder) != DSGD_OK)
        why = dsgd_xstrdup("no runs.csv");
    for (size_t i = 0; why == NULL && i < runs.n_rows; i++)
        for (size_t k = 0; why == NULL && k < sizeof columns / sizeof columns[0]; k++)
            if (strcmp(trial_text(&runs, i, "seed"), trial_text(&t->runs, 0, "seed")) == 0 &&
                strcmp(trial_text(&runs, i, columns[k]), trial_text(&t->runs, 0, columns[k])) != 0)
                why = dsgd_xprintf("%s is %s, among others %s", columns[k],
                                   trial_text(&t->runs, 0, columns[k]),
                                   trial_text(&runs, i, columns[k]));
    return why;
}

/** On a single switch, the placement of workers does not change the results. */
static char *places_are_alike(const trial *t)
{
    part changed = part_copy(t->experiment);
    char *why = NULL;
    const double s = trial_value(&t->runs, 0, "virtual_s");
    if (t->diverged || fails(t) || !is_plain_switch(json_object_get(trial_first(t), "platform")))
        return not_asked;
    part_set(&changed, "placement", "random");
    const double there_s = trial_changed_s(t, "p", &changed, &why);
    if (why == NULL && !(fabs(s - there_s) <= 1e-9 * s))
        why = dsgd_xprintf("%.17g s, in other places %.17g s", s, there_s);
    return why;
}

/** A failure after the end of the run, and the options of failures, cost nothing. */
static char *what_never_comes_costs_nothing(const trial *t)
{
    static const double never_s = 1e11; /* time of the failure, which is after the end of the run */
    part changed = part_copy(t->experiment);
    char *why = NULL;
    const double s = trial_value(&t->runs, 0, "virtual_s");
    if (t->diverged || fails(t) || s >= never_s)
        return not_asked;
    part_set(&changed, "failures", "{policy: restart, events: [{worker: 0, at: 1e11}]}");
    const double there_s = trial_changed_s(t, "q", &changed, &why);
    if (why == NULL && !(fabs(s - there_s) <= 1e-9 * s))
        why = dsgd_xprintf("%.17g s, with a failure after the end %.17g s", s, there_s);
    return why;
}

/**
 * A run consists of its first half, a checkpoint, and its second half. If a worker fails in the
 * middle of the second half, the run repeats the second half. The law uses allreduces, because
 * workers end them together.
 */
static char *runs_split_at_checkpoints(const trial *t)
{
    static const double detect_s = 0.02, repair_s = 0.04, start_s = 0.03,
                        checkpoint_s = 0.01 + 0.01;
    const double half = floor(trial_value(&t->runs, 0, "steps") / 2);
    char *why = NULL;
    dsgd_csv runs[3];
    double s[3] = {0}, busy_s[3] = {0};
    if (!exchanges(t) || half < 1)
        return not_asked;
    part changed = plainly(t, "allreduce", "auto");
    for (int k = 0; k < 3 && why == NULL; k++) {
        part_set(&changed, "until", dsgd_xprintf("{steps: %g}", k == 0 ? half : 2 * half));
        if (k == 2)
            part_set(
                &changed, "failures",
                dsgd_xprintf(
                    "{policy: restart, detect: 0.02, repair: 0.04, restart: 0.03, checkpoint: "
                    "{every: %g, "
                    "seconds: 0.01, bytes: 1e6, bandwidth: 1e8}, events: [{worker: 0, at: %.17g}]}",
                    half, (s[0] + s[1]) / 2 + checkpoint_s));
        runs[k] = trial_changed(t, "r", &changed, &why);
        if (why != NULL)
            return why;
        s[k] = trial_value(&runs[k], 0, "virtual_s");
        busy_s[k] = s[k] * trial_value(&runs[k], 0, "compute_share");
    }
    const double lost_s = (s[1] - s[0]) / 2;
    const struct {
        const char *column;
        double is, should;
    } rows[] = {
        {"virtual_s", s[2], s[1] + lost_s + repair_s + start_s + 2 * checkpoint_s},
        {"failures", trial_value(&runs[2], 0, "failures"), 1},
        {"lost_s", trial_value(&runs[2], 0, "lost_s"), lost_s},
        {"detect_s", trial_value(&runs[2], 0, "detect_s"), detect_s},
        {"repair_s", trial_value(&runs[2], 0, "repair_s"), repair_s - detect_s},
        {"restart_s", trial_value(&runs[2], 0, "restart_s"), start_s + checkpoint_s},
        {"checkpoint_s", trial_value(&runs[2], 0, "checkpoint_s"), checkpoint_s},
        {"compute_share", busy_s[2], busy_s[1] * (1 + lost_s / s[1])},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (!(fabs(rows[k].is - rows[k].should) <= 1e-9 * s[2]))
            return dsgd_xprintf("halves of %.17g s and %.17g s, with a failure in the second one: "
                                "%s is %.17g instead of %.17g",
                                s[0], s[1] - s[0], rows[k].column, rows[k].is, rows[k].should);
    return NULL;
}

/**
 * Runs an experiment that is evaluated at step @p half and ends after @p steps steps. Stores its
 * curves. Returns NULL or the fault.
 */
static char *curves_of(const trial *t, const char *name, double half, double steps,
                       dsgd_csv *curves)
{
    part changed = part_copy(t->experiment);
    part *const learn = part_find(&changed, "learn");
    part_set(learn, "evaluate", dsgd_xprintf("{every: %g}", half));
    part_set(&changed, "until", dsgd_xprintf("{steps: %g}", steps));
    trial_write(t->folder, name, &changed);
    char *why = trial_run_into(t, name, name, "");
    if (why == NULL && dsgd_csv_read(curves, NULL, "%s/%s/curves.csv", t->folder, name) != DSGD_OK)
        why = dsgd_xprintf("no curves of %s", name);
    return why;
}

/**
 * The first half of a run equals a run with half as many steps, because no later event has an
 * earlier effect.
 */
static char *half_is_half(const trial *t)
{
    const part *const steps = part_find(part_find(t->experiment, "until"), "steps");
    const double half = steps == NULL ? 0 : floor(strtod(steps->text, NULL) / 2);
    dsgd_csv whole = {.n_rows = 0}, first = {.n_rows = 0};
    if (t->diverged || half < 1 || part_find(t->experiment, "learn") == NULL)
        return not_asked;
    char *why = curves_of(t, "j", half, 2 * half, &whole);
    if (why == NULL)
        why = curves_of(t, "k", half, half, &first);
    for (size_t i = 0; why == NULL && i < first.n_rows && i < 2; i++)
        if (trial_value(&first, i, "steps") <= half &&
            (strcmp(trial_text(&first, i, "virtual_s"), trial_text(&whole, i, "virtual_s")) != 0 ||
             strcmp(trial_text(&first, i, "loss"), trial_text(&whole, i, "loss")) != 0))
            why = dsgd_xprintf("after %s steps loss %s at %s s, of twice as many %s at %s s",
                               trial_text(&first, i, "steps"), trial_text(&first, i, "loss"),
                               trial_text(&first, i, "virtual_s"), trial_text(&whole, i, "loss"),
                               trial_text(&whole, i, "virtual_s"));
    return why;
}

/* --- table of laws ---------------------------------------------------------------------------- */

static char *read_results(trial *t)
{
    t->manifest = dsgd_manifest_unfold(dsgd_manifest_read(dsgd_xprintf("%s/a", t->folder)));
    dsgd_error error = {""};
    if (t->manifest == NULL ||
        dsgd_csv_read(&t->runs, &error, "%s/a/runs.csv", t->folder) != DSGD_OK ||
        dsgd_csv_read(&t->workers, &error, "%s/a/workers.csv", t->folder) != DSGD_OK)
        return dsgd_xprintf("results: %s", error.text);
    for (size_t i = 0; i < t->runs.n_rows; i++)
        t->diverged = t->diverged || strcmp(trial_text(&t->runs, i, "status"), "ok") != 0;
    return NULL;
}

/**
 * Returns true if the output contains a single error message of the program, and the exit status is
 * 2 to 4.
 */
static bool is_refusal(int exit_status, const char *output)
{
    const char *const first = strstr(output, "dsgd: ");
    return exit_status >= 2 && exit_status <= 4 && first != NULL &&
           strstr(first + 1, "\ndsgd: ") == NULL;
}

/**
 * All laws. Each entry contains the number of experiments for which the law was checked, and the
 * number of experiments that broke it. Laws that need no run come first.
 */
static struct {
    const char *name;
    char *(*is_broken)(const trial *);
    size_t asked, broken;
} laws[] = {
    {"shares", shares_sum_to_one},
    {"columns", columns_agree},
    {"samples", samples_are_steps_times_batch},
    {"work", work_is_conserved},
    {"bubbles", pipelines_have_their_bubbles},
    {"capacity", no_nic_carries_more},
    {"bytes", allreduces_send_their_bytes},
    {"seconds", each_second_counts},
    {"checkpoint", runs_split_at_checkpoints},
    {"never", what_never_comes_costs_nothing},
    {"networks", networks_agree},
    {"bandwidth", bandwidth_is_never_slower},
    {"units", no_unit_is_hidden},
    {"places", places_are_alike},
    {"slow", any_may_be_slow},
    {"numerics", numerics_change_no_time},
    {"half", half_is_half},
    {"company", company_changes_nothing},
    {"threads", threads_change_nothing},
};

void laws_tell(FILE *stream)
{
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++)
        fprintf(stream, "%-10s asked of %zu, broken by %zu\n", laws[i].name, laws[i].asked,
                laws[i].broken);
}

/**
 * Returns HOLDS if the program accepts the experiment. Otherwise returns REFUSED or BROKEN, and
 * stores the program's message in *why.
 */
static verdict is_taken(const trial *t, const part *experiment, char **why)
{
    trial_write(t->folder, "a", experiment);
    const int exit_status = trial_run(t, why, "check a.yaml");
    if (exit_status == 0 || is_refusal(exit_status, *why))
        return exit_status == 0 ? HOLDS : REFUSED;
    *why = dsgd_xprintf("check: exit status %d: %s", exit_status, *why);
    return BROKEN;
}

void laws_mend(const char *folder, part *experiment)
{
    const trial t = {.folder = folder};
    char *why = NULL;
    part fewer = part_copy(experiment);
    part_set(&fewer, "workers", "2");
    if (is_taken(&t, experiment, &why) != REFUSED)
        return;
    for (size_t i = part_count(experiment); i > 0; i--) {
        part smaller = part_copy(experiment);
        part_remove(&smaller, i - 1);
        if (is_taken(&t, &smaller, &why) == HOLDS) {
            *experiment = smaller;
            return;
        }
    }
    if (is_taken(&t, &fewer, &why) == HOLDS)
        *experiment = fewer;
}

verdict laws_check(const char *folder, const part *experiment, char **why)
{
    trial t = {.folder = folder, .experiment = experiment};
    const verdict taken = is_taken(&t, experiment, why);
    if (taken != HOLDS)
        return taken;
    *why = trial_run_into(&t, "a", "a", "-j 1 --threads 1");
    if (*why == NULL)
        *why = read_results(&t);
    for (size_t i = 0; *why == NULL && i < sizeof laws / sizeof laws[0]; i++) {
        char *const wrong = laws[i].is_broken(&t);
        laws[i].asked += wrong != not_asked;
        if (wrong == NULL || wrong == not_asked)
            continue;
        laws[i].broken++;
        *why = dsgd_xprintf("%s: %s", laws[i].name, wrong);
    }
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
            continue; /* after a removal, the next part is at place i */
        }
        i++;
    }
}
