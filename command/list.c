/**
 * @file list.c
 * Implements `dsgd list` and `dsgd describe`. They print registries and shipped files.
 */
#include "base/child.h"
#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/plot.h"
#include "command/commands.h"
#include "command/console/table.h"
#include "command/experiment/config.h"
#include "command/experiment/experiment.h"
#include "command/experiment/plugin.h"
#include "command/experiment/traces.h"
#include "command/keys.h"
#include "command/runs/columns.h"
#include "command/trace/timeline/view.h"
#include "models/data/split.h"
#include "sim/registry.h"
#include "sim/run.h"
#include "traces/imbalance.h"
#include "traces/shapes/shape.h"

/** One kind of entries. The entries are in a registry or in a folder of files. */
typedef struct family {
    const char *plural, *singular;
    /* registry of the entries; NULL if the entries are only files */
    const dsgd_entry *const *registry;
    /* folder of the files, relative to the data folder; NULL if the kind has no files */
    const char *folder;
    dsgd_status (*describe)(const struct family *family, const char *name, dsgd_error *error);
} family;

/* --- list ------------------------------------------------------------------------------------- */

enum { LEAST_WIDTH = 16 };

static void print_wrapped(const char *heading, int indent, const char *text)
{
    dsgd_print_wrapped(stdout, heading, indent, DSGD_TEXT_WIDTH, text);
}

/** A list of names with their summaries. */
typedef struct listing {
    dsgd_entry *v; /* array of n names with summaries */
    size_t n;
} listing;

static void add(listing *l, const char *name, const char *summary)
{
    l->v = dsgd_keep_more(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n++] = (dsgd_entry){.name = name, .summary = summary};
}

static void print_listing(const listing *l)
{
    int width = LEAST_WIDTH;
    for (size_t i = 0; i < l->n; i++)
        width = (int)fmax(width, (double)strlen(l->v[i].name));
    for (size_t i = 0; i < l->n; i++)
        print_wrapped(dsgd_xprintf("%-*s  ", width, l->v[i].name), width + 2, l->v[i].summary);
}

/** Returns the first sentence of the comment at the start of a figure's script. */
static const char *first_sentence(const char *figure)
{
    char *caption = NULL;
    dsgd_figure_needs(figure, &caption);
    const char *const end = strstr(caption, ". ");
    return end == NULL ? caption : dsgd_xprintf("%.*s.", (int)(end - caption), caption);
}

/** Returns the summary of a shipped file. Returns the error message if the file cannot be read. */
static const char *summary_of(const family *f, const char *name)
{
    dsgd_config *config = NULL;
    dsgd_error error;
    if (dsgd_shipped_open(f->plural, name, &config, &error) != DSGD_OK)
        return dsgd_xstrdup(error.text);
    return dsgd_yaml_text(dsgd_yaml_find(dsgd_config_root(config), "summary"));
}

static dsgd_status list_files(const family *f, dsgd_error *error)
{
    char *const folder = dsgd_xprintf("%s/%s", dsgd_data_folder(), f->folder);
    char **const names = dsgd_folder_names(folder, NULL);
    if (names == NULL)
        return dsgd_fail(
            error, DSGD_EIO,
            "%s: cannot read the folder: %m; set DSGD_DATA to the folder of the shipped files",
            folder);
    listing files = {.n = 0};
    for (size_t i = 0; names[i] != NULL; i++) {
        const bool is_yaml = dsgd_ends_with(names[i], ".yaml");
        if (is_yaml)
            *strrchr(names[i], '.') = '\0';
        if (is_yaml || dsgd_figure_exists(names[i]))
            add(&files, names[i], is_yaml ? summary_of(f, names[i]) : first_sentence(names[i]));
    }
    print_listing(&files);
    return DSGD_OK;
}

typedef struct arguments {
    dsgd_operands words;
    dsgd_texts plugins;
    bool json, markdown;
} arguments;

static dsgd_status parse(int count, char **words, const dsgd_syntax *syntax, arguments *a,
                         dsgd_error *error)
{
    DSGD_TRY(dsgd_parse(count, words, syntax, a, error));
    return dsgd_plugins_load(&a->plugins, error);
}

/** Prints the devices of this machine that can compute gradients. */
static void list_devices(void)
{
    dsgd_error why = {""};
    listing devices = {.n = 0};
    const bool has_cuda = dsgd_device_cuda_try(NULL, &why) == DSGD_OK;
    add(&devices, "cpu", "always available; float and double precision");
    add(&devices, "cuda",
        has_cuda ? "an NVIDIA GPU; float precision; --numerics auto uses it"
                 : dsgd_xprintf("not available: %s", why.text));
    print_listing(&devices);
}

/* --- describe --------------------------------------------------------------------------------- */

enum { DOC_INDENT = 12 };

/*
 * number of workers, and numbers of steps per worker, in the example run whose messages are counted
 */
enum { SENDERS = 64, WARM_UP_STEPS = 16, COUNTED_STEPS = 48 };

typedef struct sent {
    double messages, bytes;
} sent;

/** Simulates a run in a child process. Stores the total traffic of all workers in @p report. */
static dsgd_status simulate_senders(const void *config, void *report, dsgd_error *error)
{
    dsgd_run_result result;
    DSGD_TRY(dsgd_simulate(config, &result, error));
    *(sent *)report = (sent){(double)result.messages, result.bytes};
    return result.outcome == DSGD_RUN_OK ? DSGD_OK : DSGD_ERUNS;
}

/**
 * Counts the traffic of a run in which each worker makes @p steps steps. If a worker that has
 * finished blocks other workers, the run ends when workers have made @p steps steps on average.
 * Returns false if the run is rejected.
 */
static bool count_sent(dsgd_run_config config, int64_t steps, sent *all)
{
    config.until = (dsgd_until){0};
    config.steps_each = steps;
    if (dsgd_in_child(simulate_senders, &config, all, sizeof *all, "", NULL) == DSGD_OK)
        return true;
    config.until.steps = (double)steps;
    config.steps_each = 0;
    return dsgd_in_child(simulate_senders, &config, all, sizeof *all, "", NULL) == DSGD_OK;
}

/**
 * Prints the traffic of an algorithm with its default options, counted in an example run. Prints
 * nothing if the algorithm rejects this run. The counted steps follow a warm-up. Their number is a
 * multiple of the algorithm's period.
 */
static void print_sent(const char *algorithm)
{
    char *const path = dsgd_xprintf("%s/plots/timeline/timeline.yaml", dsgd_data_folder());
    const char *const sets[] = {dsgd_xprintf("algorithms=[%s]", algorithm),
                                dsgd_xprintf("workers=%d", SENDERS),
                                "imbalance=[{kind: ramp, seconds: 50ms}]"};
    dsgd_experiment experiment;
    sent before = {0}, all = {0};
    if (dsgd_experiment_open(path, sets, 3, DSGD_NUMERICS_OFF, &experiment, NULL) != DSGD_OK)
        return;
    dsgd_run_config config = experiment.runs[0].config;
    const int64_t period = dsgd_period(&config);
    const int64_t warm_up = (WARM_UP_STEPS + period - 1) / period * period;
    const int64_t steps = (COUNTED_STEPS + period - 1) / period * period;
    config.numerics = DSGD_NUMERICS_OFF;
    config.threads = 1;
    if (!count_sent(config, warm_up, &before) || !count_sent(config, warm_up + steps, &all))
        return;
    const double n = (double)steps * SENDERS;
    dsgd_print_text("", DOC_INDENT,
                    "by default, %d workers with a model of %.0f MB send %.4g MB in %.3g messages "
                    "per worker and step (mean of %jd steps)",
                    SENDERS, config.workload->bytes / 1e6, (all.bytes - before.bytes) / n / 1e6,
                    (all.messages - before.messages) / n, steps);
}

static void print_doc(const dsgd_algorithm *a)
{
    if (a->doc.idea == NULL)
        return;
    putchar('\n');
    print_wrapped("idea", DOC_INDENT, a->doc.idea);
    print_wrapped("update", DOC_INDENT, a->doc.rule);
    print_wrapped("messages", DOC_INDENT, a->doc.sends);
    void *const params = dsgd_keep(1, a->about.params_size);
    dsgd_options_default(a->about.options, params);
    const unsigned traits = dsgd_traits_of(a, params);
    print_sent(a->about.name);
    print_wrapped("waiting", DOC_INDENT, a->doc.waits);
    print_wrapped(
        "on failure", DOC_INDENT,
        (traits & DSGD_RESTARTS) || (a->comes_back == NULL && !(traits & DSGD_REJOINS))
            ? "all workers restart from the last checkpoint"
            : "the other workers continue; a repaired worker rejoins with the model of a running "
              "worker or of a server");
    if (traits & DSGD_QUORUM)
        print_wrapped(
            "", DOC_INDENT,
            "with policy: quorum the running workers continue, and a repaired worker copies their "
            "state");
    print_wrapped("evaluation", DOC_INDENT,
                  traits & DSGD_OUTPUT_SERVERS ? "the servers' model"
                                               : "the mean of the workers' models");
}

/*
 * number of random steps for one line of a description; the printed numbers are then exact to about
 * 1 %
 */
enum { STATISTICS_DRAWS = 1 << 17 };

/**
 * Computes statistics of the step times of @p workers workers. Returns false if the imbalance
 * rejects this number of workers or needs the training samples.
 */
static bool step_statistics(const dsgd_specs *entries, double base_s, int workers,
                            dsgd_step_statistics *statistics)
{
    dsgd_imbalance *imbalance = NULL;
    const bool known = dsgd_imbalance_open(entries, 1, workers, &imbalance, NULL) == DSGD_OK &&
                       !dsgd_imbalance_reads_samples(imbalance);
    if (known)
        *statistics =
            dsgd_imbalance_statistics(imbalance, base_s, workers, STATISTICS_DRAWS / workers);
    dsgd_imbalance_close(imbalance);
    return known;
}

/** Prints the entries of a shipped imbalance set with their comments, as the file contains them. */
static void print_entries(const family *f, const char *name)
{
    char *const path = dsgd_xprintf("%s/%s/%s.yaml", dsgd_data_folder(), f->folder, name);
    char *rest = NULL;
    size_t n = 0;
    dsgd_file_read(path, &rest, &n, NULL);
    for (char *line = strsep(&rest, "\n"); line != NULL && rest != NULL; line = strsep(&rest, "\n"))
        if (strncmp(line, "summary:", 8) != 0 && strncmp(line, "origin:", 7) != 0)
            puts(line);
}

static void print_head(const char *name, const char *summary, const char *origin)
{
    const bool says = summary != NULL && *summary != '\0';
    char *const heading = dsgd_xprintf("%s%s", name, says ? ": " : "");
    print_wrapped(heading, (int)strlen(heading), summary);
    if (origin != NULL && *origin != '\0')
        print_wrapped("", 0, origin);
    putchar('\n');
}

static dsgd_status describe_set(const family *f, const char *name, dsgd_error *error)
{
    dsgd_config *config = NULL;
    dsgd_spec_set set;
    DSGD_TRY(dsgd_imbalance_set_open(name, &config, &set, error));
    print_head(name, set.summary, set.origin);
    print_entries(f, name);
    puts("\nDuration of a step of 1 s with this imbalance:\n"
         "workers  mean (s)  deviation (s)  min (s)  max (s)  slowest  median  fastest");
    for (int p = 16; p <= 1024; p *= 4) {
        dsgd_step_statistics s;
        if (step_statistics(&set.entries, 1, p, &s))
            printf("%7d  %8.4g  %13.3g  %7.4g  %7.4g  %7.3g  %6.3g  %7.3g\n", p, s.mean_s,
                   s.deviation_s, s.min_s, s.max_s, s.slowest_s / s.mean_s, s.median_s / s.mean_s,
                   s.fastest_s / s.mean_s);
    }
    puts("deviation: standard deviation. slowest, median, fastest: the average slowest,\n"
         "median and fastest worker of a step, as a multiple of the mean.");
    return DSGD_OK;
}

static dsgd_status describe_entry(const family *f, const char *name, dsgd_error *error)
{
    const dsgd_entry *const about = dsgd_entry_find(f->registry, name);
    if (about == NULL && f->folder != NULL &&
        dsgd_can_read("%s/%s/%s.yaml", dsgd_data_folder(), f->folder, name))
        return describe_set(f, name, error);
    if (about == NULL) {
        const char *const *const names = dsgd_entry_names(f->registry);
        return dsgd_refuse(error, "unknown %s `%s`%s; see `dsgd list %s`", f->singular, name,
                           f->folder != NULL ? dsgd_shipped_hint(f->plural, name, names)
                                             : dsgd_hint(name, names),
                           f->plural);
    }
    print_wrapped(dsgd_xprintf("%s:", name), (int)strlen(name) + 2, about->summary);
    if (about->reference != NULL)
        print_wrapped("", 0, about->reference);
    if (f->registry == dsgd_algorithms) {
        print_doc((const dsgd_algorithm *)about);
        dsgd_timeline_print_example(name);
    }
    if (about->options != NULL)
        puts("\noptions:");
    dsgd_keys_print(about->options, 2);
    return DSGD_OK;
}

/** Prints the options of a registry entry as a Markdown table. */
static dsgd_status describe_as_markdown(const family *f, const char *name, dsgd_error *error)
{
    const dsgd_entry *const about = dsgd_entry_find(f->registry, name);
    /* If the name is unknown, describe_entry() returns an error. */
    if (about == NULL)
        return describe_entry(f, name, error);
    if (about->options == NULL)
        puts("There are no options.");
    else
        dsgd_keys_markdown(&(dsgd_option){.kind = DSGD_STRUCT, .fields = about->options});
    return DSGD_OK;
}

/** indent for the facts about a workload or platform, in characters */
enum { FACT_INDENT = 22 };

static dsgd_status describe_workload(const family *f, const char *name, dsgd_error *error)
{
    (void)f;
    dsgd_config *config = NULL;
    dsgd_workload w;
    DSGD_TRY(dsgd_workload_open(name, &config, &w, error));
    double *bytes = NULL, *buckets = NULL;
    print_head(name, w.summary, w.origin);
    const size_t n_tensors = dsgd_workload_pieces(&w, 0, (dsgd_buckets){0}, &bytes);
    const size_t n_buckets =
        dsgd_workload_pieces(&w, 0, (dsgd_buckets){DSGD_DEFAULT_BUCKET_BYTES, 0}, &buckets);
    free(bytes), free(buckets);
    const char *const merged =
        dsgd_xprintf(", merged to %d if that hardly changes times", DSGD_MANY_BUCKETS);
    dsgd_print_text("  one gradient", FACT_INDENT, "%.4g MB in %s, exchanged in %s%s",
                    dsgd_workload_bytes(&w) / 1e6, dsgd_counted(n_tensors, "tensor"),
                    dsgd_counted(n_buckets, "bucket"),
                    n_buckets > DSGD_MANY_BUCKETS ? merged : " by default");
    printf("  step                %g s, without imbalance\n"
           "  samples             %g %s per worker and step\n"
           "  backward share      %g\n  imbalance          ",
           w.step_s, w.samples, w.sample_unit, w.backward_share);
    for (size_t i = 0; i < w.inherent.n; i++)
        printf(" %s", w.inherent.v[i].about->name);
    puts(w.inherent.n == 0 ? " none" : "");
    dsgd_step_statistics s;
    enum { WORKERS = 64 };
    if (w.inherent.n > 0 && step_statistics(&w.inherent, w.step_s, WORKERS, &s))
        dsgd_print_text(
            "  with imbalance", FACT_INDENT,
            "%.4g s on average, standard deviation %.3g s, from %.4g to %.4g s; slowest "
            "of %d workers: %.4g s on average",
            s.mean_s, s.deviation_s, s.min_s, s.max_s, WORKERS, s.slowest_s);
    return DSGD_OK;
}

static void print_extents(const char *heading, const dsgd_numbers *numbers)
{
    if (numbers->n == 0)
        return;
    printf("  %-19s", heading);
    for (size_t i = 0; i < numbers->n; i++)
        printf("%s%.0f", i == 0 ? " " : " x ", numbers->v[i]);
    putchar('\n');
}

static dsgd_status describe_platform(const family *f, const char *name, dsgd_error *error)
{
    (void)f;
    dsgd_config *config = NULL;
    dsgd_platform platform;
    const dsgd_platform *const p = &platform;
    DSGD_TRY(dsgd_platform_open(name, &config, &platform, error));
    print_head(name, p->summary, p->origin);
    const dsgd_shape *const shape = dsgd_shape_of(p);
    printf("  shape               %s\n", shape->title);
    print_extents("size", &p->size);
    print_extents("up", &p->up);
    print_extents("cables", &p->cables);
    if (shape->has_numbers)
        printf("  host link           %g GB/s per direction, %g us between neighbours\n",
               p->host_bandwidth_bytes_per_s / 1e9, p->host_latency_s * 1e6);
    if (p->island_hosts > 0)
        printf("  node (NVLink)       %jd hosts with %jd NICs; inside a node %g GB/s, %g us\n",
               p->island_hosts, p->island_nics, p->island_bytes_per_s / 1e9,
               p->island_latency_s * 1e6);
    for (size_t i = 0; i < p->regions.n; i++)
        printf("  region of %-9jd %s\n",
               dsgd_regions(p)[i].hosts > 0 ? dsgd_regions(p)[i].hosts : p->group_hosts,
               dsgd_regions(p)[i].name);
    const char *const fact = shape->describe == NULL ? NULL : shape->describe(p);
    if (fact != NULL)
        dsgd_print_text(dsgd_xprintf("  %s", shape->fact), FACT_INDENT, "%s", fact);
    if (p->hosts.n > 0)
        printf("  different hosts     %zu entries\n", p->hosts.n);
    dsgd_print_text("  message overhead", FACT_INDENT, "%g us; %g us more above %g bytes",
                    p->message_overhead_s * 1e6, p->rendezvous_s * 1e6, p->eager_bytes);
    printf("  partial collective  %g us per call and message\n", p->partial_turn_s * 1e6);
    printf("  reduction           %g ns per byte\n  staging (GPU, host) %g ns per byte and "
           "direction\n",
           p->reduction_s_per_byte * 1e9, p->staging_s_per_byte * 1e9);
    printf("  operation           %g ns per byte\n", p->operation_s_per_byte * 1e9);
    if (p->busy_power_w >= 0)
        printf("  power of a GPU      %g W, idle %g W\n", p->busy_power_w, p->idle_power_w);
    if (p->price != NULL)
        dsgd_print_text("  price of a GPU", FACT_INDENT, "%s", p->price);
    return DSGD_OK;
}

static dsgd_status describe_figure(const family *f, const char *name, dsgd_error *error)
{
    return dsgd_refuse(error, "describe: for a figure, see the first lines of %s/%s/%s/%s.gp",
                       dsgd_data_folder(), f->folder, name, name);
}

/* --- kinds ------------------------------------------------------------------------------------ */

#define FAMILIES(X)                                                                                \
    X("algorithms", "algorithm", dsgd_algorithms, NULL, describe_entry)                            \
    X("models", "model", dsgd_model_kinds, NULL, describe_entry)                                   \
    X("data", "data", dsgd_data_sources, NULL, describe_entry)                                     \
    X("splits", "split", dsgd_split_kinds, NULL, describe_entry)                                   \
    X("imbalance", "imbalance", dsgd_imbalance_kinds, "traces/imbalance", describe_entry)          \
    X("workloads", "workload", NULL, "traces/workloads", describe_workload)                        \
    X("platforms", "platform", NULL, "traces/platforms", describe_platform)                        \
    X("graphs", "graph", dsgd_graph_kinds, NULL, describe_entry)                                   \
    X("encodings", "encoding", dsgd_encoding_kinds, NULL, describe_entry)                          \
    X("figures", "figure", NULL, "plots", describe_figure)

#define X(...) {__VA_ARGS__},
static const family families[] = {FAMILIES(X)};
#undef X

/** plurals of all kinds, for help texts */
#define NAME(plural, ...) plural ", "
#define FAMILY_NAMES FAMILIES(NAME)

enum { N_FAMILIES = sizeof families / sizeof families[0] };

bool dsgd_kind_at(size_t i, const char **plural, const char **singular)
{
    *plural = i < N_FAMILIES ? families[i].plural : "devices";
    *singular = i < N_FAMILIES ? families[i].singular : NULL;
    return i <= N_FAMILIES;
}

static const family *find_family(const char *name, dsgd_error *error)
{
    const char *names[N_FAMILIES + 2] = {[N_FAMILIES] = "devices"};
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (strcmp(name, families[i].plural) == 0 || strcmp(name, families[i].singular) == 0)
            return &families[i];
        names[i] = families[i].plural;
    }
    dsgd_refuse(error, "unknown kind `%s`%s; valid kinds: %s", name, dsgd_hint(name, names),
                dsgd_listed(names, ", "));
    return NULL;
}

/* --- the commands ----------------------------------------------------------------------------- */

static dsgd_status list(int count, char **words, dsgd_error *error)
{
    static const dsgd_argument options[] = {DSGD_ARGUMENT_PLUGIN, {.name = NULL}};
    static const dsgd_syntax syntax = {
        "KIND", "Lists " FAMILY_NAMES "or devices.",         1,
        1,      "list: give one of " FAMILY_NAMES "devices", options};
    arguments a = {.words = {0, NULL}};
    DSGD_TRY(parse(count, words, &syntax, &a, error));
    if (strcmp(a.words.v[0], "devices") == 0) {
        list_devices();
        return DSGD_OK;
    }
    const family *const f = find_family(a.words.v[0], error);
    if (f == NULL)
        return DSGD_EUSAGE;
    listing entries = {.n = 0};
    for (size_t i = 0; f->registry != NULL && f->registry[i] != NULL; i++)
        add(&entries, f->registry[i]->name, f->registry[i]->summary);
    print_listing(&entries);
    if (entries.n > 0 && f->folder != NULL)
        puts("\ndata sets, which `imbalance` takes by their names:");
    return f->folder == NULL ? DSGD_OK : list_files(f, error);
}

/** Prints the keys of a file or of a part of an experiment, or the columns of the result files. */
static dsgd_status describe_keys(const arguments *a, dsgd_error *error)
{
    const char *const path = a->words.v[0];
    if (strcmp(path, "results") == 0) {
        dsgd_schema_print(a->json       ? DSGD_SCHEMA_JSON
                          : a->markdown ? DSGD_SCHEMA_MARKDOWN
                                        : DSGD_SCHEMA_TEXT);
        return DSGD_OK;
    }
    const dsgd_option *const keys = dsgd_keys_of(path);
    if (keys == NULL)
        return dsgd_refuse(
            error,
            "describe: unknown keys `%s`; valid: experiment, task, results, platform, "
            "workload, imbalance, and keys of an experiment that contain other keys, "
            "such as exchange, learn.optimizer or platform.nccl. To describe a name, "
            "put its kind before it: `dsgd describe algorithm wagma`",
            path);
    if (a->json)
        return dsgd_keys_schema(keys, error);
    if (a->markdown)
        dsgd_keys_markdown(keys);
    else
        dsgd_keys_describe(keys);
    return DSGD_OK;
}

static dsgd_status describe(int count, char **words, dsgd_error *error)
{
    static const dsgd_argument options[] = {
        DSGD_ARGUMENT(FLAG, json, "json", 0, NULL,
                      "Prints keys as JSON Schema, with which editors complete and check files, "
                      "and results in "
                      "the form that dsgd.py reads (KEYS and results only)"),
        DSGD_ARGUMENT(FLAG, markdown, "markdown", 0, NULL,
                      "Prints a Markdown table of keys, results or the options of an algorithm "
                      "(KEYS, results "
                      "and algorithms only)"),
        DSGD_ARGUMENT_PLUGIN,
        {.name = NULL},
    };
    static const dsgd_syntax syntax = {
        "KIND NAME|KEYS",
        "Describes NAME, such as an algorithm or a platform, and its options. KEYS describes the "
        "keys "
        "of a file (experiment, platform, workload, imbalance, task) or of a part of an "
        "experiment, "
        "such as exchange or learn.optimizer. `results` describes the files that a run writes, "
        "column by column.",
        1,
        2,
        "describe: give a kind and a name, such as `dsgd describe algorithm wagma`; or keys, such "
        "as `dsgd describe experiment`",
        options};
    arguments a = {.words = {0, NULL}};
    DSGD_TRY(parse(count, words, &syntax, &a, error));
    if (a.words.n == 1)
        return describe_keys(&a, error);
    const char *const kind = a.words.v[0], *const name = a.words.v[1];
    const family *const f = find_family(kind, error);
    if (f != NULL && f->registry == dsgd_algorithms && a.markdown)
        return describe_as_markdown(f, name, error);
    if (a.json || a.markdown)
        return dsgd_refuse(error,
                           "describe --%s works only for keys and results, such as `dsgd describe "
                           "experiment --%s`",
                           a.json ? "json" : "markdown", a.json ? "json" : "markdown");
    const char *const key = f == NULL ? kind : dsgd_xprintf("%s.%s", f->singular, name);
    if (dsgd_keys_of(key) != NULL || (f == NULL && strcmp(kind, "results") == 0))
        return dsgd_refuse(error, "describe: `%s` is a key; `dsgd describe %s` describes it",
                           f == NULL ? kind : name, key);
    return f == NULL ? DSGD_EUSAGE : f->describe(f, name, error);
}

const dsgd_command dsgd_command_list = {
    .name = "list",
    .usage = "KIND",
    .summary = "lists " FAMILY_NAMES "or devices",
    .run = list,
};

const dsgd_command dsgd_command_describe = {
    .name = "describe",
    .usage = "KIND NAME|KEYS",
    .summary = "describes one of them and its options, or the keys of a file",
    .run = describe,
};
