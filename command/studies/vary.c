/**
 * @file vary.c
 * Makes the variations of --sensitivity. Each variation is a run with one smaller or larger number
 * of its platform, workload or compression, or with another choice of its exchange.
 */
#include "command/studies/sensitivity.h"

#include "command/analysis/frame.h"
#include "command/experiment/config.h"
#include "command/studies/study.h"

/**
 * Numbers that are not varied, because they are known exactly or have no effect. Whole numbers are
 * also not varied, because they are counts and shapes.
 */
static const char *const exact[] = {
    "reference_speed", /* `reference_speed` is the speed of the host on which `step` was measured.
                        * Only `step` can be inexact. */
    "bytes",
    "elements",
    "uses",
    "sparse",
    "value_bytes",
    "transformer", /* `transformer` contains the shape of the model, which is known exactly. */
    "size",
    "up",
    "cables",
    "list",
    "regions", /* The keys from `size` to `regions` contain the shape of the platform. */
    "routes", /* `route_bandwidth` and `route_latency` already vary all routes together. */
    "eager_limit",
    "doubling_limit", /* `eager_limit` and `doubling_limit` are settings of the library. */
    "bucket",
    "first_bucket",
    "fusion",
    "cycle",
    "busy_power",
    "idle_power", /* `busy_power` and `idle_power` have no effect on time. */
    "samples", /* `samples` is the unit of the throughput. It is the same for all algorithms. */
    NULL};

/** parts of a run whose numbers and choices are varied */
static const dsgd_option parts[] = {
    DSGD_OPTION_STRUCT(dsgd_planned_run, platform, dsgd_platform_options, NULL),
    DSGD_OPTION_STRUCT(dsgd_planned_run, workload, dsgd_workload_options, NULL),
    DSGD_OPTION_AS("exchange", STRUCT, dsgd_planned_run, config.exchange, NULL,
                   .fields = dsgd_exchange_options),
    DSGD_OPTION_END,
};

/* --- search for numbers ----------------------------------------------------------------------- */

enum { MOST_PATH = 256 };

/**
 * A search for the numbers at one path, such as platform.nccl.latency. The search can also collect
 * all paths.
 */
typedef struct search {
    const char *path; /* path of the wanted numbers; NULL adds all paths to names */
    dsgd_names *names;
    dsgd_numbers at; /* numbers that were found at the path; n is 0 if the path has no numbers */
    const dsgd_option *option;
} search;

/** Returns a copy of an array, because a varied run must not share it with the original run. */
static void *copied(const void *from, size_t size)
{
    void *const copy = dsgd_keep(1, size + 1);
    return size == 0 ? copy : memcpy(copy, from, size);
}

static void look(search *s, const dsgd_option *options, char *params, const char *above);

/**
 * Searches the @p n structs of a list, or the options of a registry entry, for numbers.
 */
static void look_into(search *s, const dsgd_option *o, char *structs, size_t n, const char *name)
{
    const bool picks = o->kind != DSGD_STRUCTS;
    for (size_t k = 0; k < n; k++) {
        char path[MOST_PATH];
        snprintf(path, sizeof path, o->kind == DSGD_SPEC ? "%s" : "%s.%zu", name, k);
        dsgd_spec *const pick = (dsgd_spec *)structs + k;
        if (picks && (pick->about == NULL || pick->about->options == NULL))
            continue;
        if (picks)
            pick->params = copied(pick->params, pick->about->params_size);
        look(s, picks ? pick->about->options : o->fields,
             picks ? pick->params : structs + k * o->struct_size, path);
    }
}

static void take_numbers(search *s, const dsgd_option *o, const char *name, dsgd_numbers at)
{
    if (s->path == NULL)
        dsgd_names_add(s->names, dsgd_xstrdup(name));
    else if (strcmp(s->path, name) == 0) {
        s->at = at;
        s->option = o;
    }
}

static void look(search *s, const dsgd_option *options, char *params, const char *above)
{
    for (const dsgd_option *o = options; o->name != NULL; o++) {
        char *const field = params + o->offset, name[MOST_PATH];
        dsgd_structs *const list = (dsgd_structs *)field;
        snprintf(name, sizeof name, "%s%s%s", above, *above == '\0' ? "" : ".", o->name);
        if (dsgd_find_word(exact, o->name) >= 0 ||
            (s->path != NULL && strncmp(s->path, name, strlen(name)) != 0))
            continue;
        if (o->kind == DSGD_DOUBLE) {
            take_numbers(s, o, name, (dsgd_numbers){1, (double *)field});
        } else if (o->kind == DSGD_NUMBERS || o->kind == DSGD_TABLE) {
            double **const v =
                o->kind == DSGD_TABLE ? &((dsgd_table *)field)->y : &((dsgd_numbers *)field)->v;
            *v = copied(*v, list->n * sizeof **v);
            take_numbers(s, o, name, (dsgd_numbers){list->n, *v});
        } else if (o->kind == DSGD_STRUCT) {
            look(s, o->fields, field, name);
        } else if (o->kind == DSGD_SPEC) {
            look_into(s, o, field, 1, name);
        } else if (o->kind == DSGD_SPECS || o->kind == DSGD_STRUCTS) {
            list->v = copied(
                list->v, list->n * (o->kind == DSGD_SPECS ? sizeof(dsgd_spec) : o->struct_size));
            look_into(s, o, list->v, list->n, name);
        }
    }
}

/* --- variations ------------------------------------------------------------------------------- */

/**
 * Returns true if the run uses the number at a path. The start of the path determines the result.
 */
static bool is_used(const dsgd_planned_run *run, const char *path)
{
    const dsgd_platform *const p = &run->platform;
    const dsgd_exchange_config *const e = &run->config.exchange;
    const bool nccl = p->library != DSGD_LIBRARY_MPI || e->collective == DSGD_COLLECTIVE_NCCL ||
                      e->partial_collective == DSGD_PARTIAL_COLLECTIVE + DSGD_COLLECTIVE_NCCL;
    const struct {
        const char *prefix;
        bool is;
        /* `platform.host_*` is used if numbers (not a file) describe the links of the platform. */
    } uses[] = {{"platform.host_", dsgd_platform_has_numbers(p)},
                {"platform.group_", dsgd_platform_group_hosts(p) > 0 && p->routes.n == 0},
                {"platform.route_", p->routes.n > 0},
                {"platform.nccl.", nccl},
                {"platform.encoding", dsgd_run_encodes(&run->config)},
                {"workload.inner.", dsgd_workload_hosts(&run->workload) > 1},
                {"workload.inherent.", run->config.inherent}};
    for (size_t k = 0; k < sizeof uses / sizeof uses[0]; k++)
        if (strncmp(path, uses[k].prefix, strlen(uses[k].prefix)) == 0)
            return uses[k].is;
    return true;
}

/** Adds a variation of run @p i. Does not add the variation if the run's algorithm rejects it. */
static void add_run(dsgd_experiment *experiment, size_t i, dsgd_planned_run *run,
                    const char *parameter, double factor)
{
    run->unchanged = i;
    run->parameter = parameter;
    run->factor = factor;
    if (dsgd_planned_run_check(run, run->config.numerics, NULL) != DSGD_OK)
        return;
    experiment->runs =
        dsgd_keep_more(experiment->runs, experiment->n_runs + 1, sizeof *experiment->runs);
    experiment->runs[experiment->n_runs++] = *run;
}

/**
 * Adds run @p i with the numbers at a path multiplied by @p factor. Adds no run if nothing changes.
 * If @p factor is NAN, does not vary these numbers. If the compression speed is given as a word, it
 * is a guess; varies it by a factor of ten.
 */
static void vary_number(dsgd_experiment *experiment, size_t i, const char *path, int sign,
                        double factor)
{
    dsgd_planned_run run = experiment->runs[i];
    double *const encoding = &run.platform.encoding_s_per_byte;
    search s = {.path = path};
    double largest = 0;
    if (strcmp(path, "platform.encoding") == 0 && (*encoding < 0 || isnan(factor)))
        factor = sign < 0 ? 0.1 : 10;
    *encoding = dsgd_platform_encoding_s_per_byte(&run.platform);
    look(&s, parts, (char *)&run, "");
    for (size_t k = 0; k < s.at.n && !isnan(factor); k++) {
        const double old = s.at.v[k];
        if (!(old > 0))
            continue;
        s.at.v[k] = fmax(s.option->min, fmin(s.option->max, factor * old));
        largest = fmax(largest, s.at.v[k] == factor * old ? factor : s.at.v[k] / old);
    }
    if (s.at.v != encoding)
        *encoding = experiment->runs[i].platform.encoding_s_per_byte;
    if (largest > 0 && largest != 1 && is_used(&run, path))
        add_run(experiment, i, &run, path, largest);
}

static size_t count_pieces(const dsgd_planned_run *run)
{
    dsgd_run_config config = run->config;
    double *bytes = NULL;
    config.workload = &run->workload;
    config.platform = &run->platform;
    const size_t n = dsgd_pieces_of(&config, &bytes);
    free(bytes);
    return n;
}

/**
 * Adds variations of an option of the exchange. If the option has words as values, uses each of its
 * other words. If it has numbers and words (`pieces`), uses each word and the smallest number. Does
 * not vary an option that follows another option. Does not vary the collective of NCCL, because it
 * has no alternative.
 */
static void vary_choice(dsgd_experiment *experiment, const dsgd_option *o)
{
    const bool is_word = o->kind == DSGD_CHOICE;
    int64_t n = 0;
    while (o->words[n] != NULL)
        n++;
    for (int64_t w = 0; w < n + !is_word; w++)
        for (size_t i = 0; i < experiment->n_unchanged; i++) {
            dsgd_planned_run run = experiment->runs[i];
            const double value = (double)(is_word ? w : w < n ? -1 - w : (int64_t)o->min);
            const dsgd_exchange_config *const e = &run.config.exchange;
            const bool follows = o->offset == offsetof(dsgd_exchange_config, partial_collective)
                                     ? e->partial_collective == DSGD_PARTIAL_AS_COLLECTIVE
                                     : is_word && e->collective == DSGD_COLLECTIVE_AUTO &&
                                           run.platform.library != DSGD_LIBRARY_MPI;
            if (is_word && strcmp(o->words[w], "rings") == 0 &&
                /* The platform has only one ring, so `rings` is not a different choice. */
                dsgd_platform_dimensions(&run.platform).n[0] == 1)
                continue;
            dsgd_option_put(o, &run.config.exchange, value);
            /* A size of buckets is valid only if the vector is split into buckets. */
            if (!is_word && value != DSGD_PIECES_BUCKETS)
                run.config.exchange.bucket_bytes = DSGD_BUCKET_AUTO;
            if (!follows &&
                (is_word ? memcmp(&run.config.exchange, &experiment->runs[i].config.exchange,
                                  sizeof run.config.exchange) != 0
                         : count_pieces(&run) != count_pieces(&experiment->runs[i])))
                add_run(experiment, i, &run,
                        dsgd_xprintf("exchange.%s=%s", o->name, dsgd_option_text(o, value)), NAN);
        }
}

dsgd_status dsgd_vary(dsgd_experiment *experiment, double percent, dsgd_error *error)
{
    dsgd_names paths = {.n = 0};
    search all = {.names = &paths};
    for (size_t i = 0; i < experiment->n_unchanged; i++) {
        dsgd_planned_run run = experiment->runs[i];
        look(&all, parts, (char *)&run, "");
    }
    for (size_t k = 0; k < paths.n; k++) {
        for (int sign = -1; sign <= 1; sign += 2)
            for (size_t i = 0; i < experiment->n_unchanged; i++)
                vary_number(experiment, i, paths.v[k], sign, 1 + sign * percent / 100);
        DSGD_TRY(dsgd_study_check_length(experiment, experiment->n_runs, error));
    }
    for (const dsgd_option *o = dsgd_exchange_options; o->name != NULL; o++)
        if (o->words != NULL)
            vary_choice(experiment, o);
    DSGD_TRY(dsgd_study_check_length(experiment, experiment->n_runs, error));
    static const char *const names[] = {"parameter", "factor"};
    const size_t n = experiment->n_columns;
    dsgd_experiment_add_columns(experiment, names, 2);
    for (size_t i = experiment->n_unchanged; i < experiment->n_runs; i++) {
        const dsgd_planned_run *const run = &experiment->runs[i];
        run->swept[n] = run->parameter;
        run->swept[n + 1] = isnan(run->factor) ? NULL : dsgd_xprintf("%.6g", run->factor);
    }
    return dsgd_experiment_settle(experiment, experiment->runs[0].config.numerics, error);
}
