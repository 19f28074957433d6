/**
 * @file list.c
 * `dsgd list` and `dsgd describe`: registries and shipped files.
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

/** Things of one kind, in a registry or a folder of files. */
typedef struct family {
    const char *plural, *singular;
    const dsgd_entry *const *registry; /* NULL: files alone */
    const char *folder; /* of files, below the data folder; NULL: none */
    dsgd_status (*describe)(const struct family *family, const char *name, dsgd_error *error);
} family;

/* --- list ------------------------------------------------------------------------------------- */

enum { LEAST_WIDTH = 16 };

static void print_wrapped(const char *heading, int indent, const char *text)
{
    dsgd_print_wrapped(stdout, heading, indent, DSGD_TEXT_WIDTH, text);
}

/** Names with their summaries. */
typedef struct listing {
    dsgd_entry *v; /* [n] */
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

/** The first sentence of a figure's script. */
static const char *first_sentence(const char *figure)
{
    char *caption = NULL;
    dsgd_figure_needs(figure, &caption);
    const char *const end = strstr(caption, ". ");
    return end == NULL ? caption : dsgd_xprintf("%.*s.", (int)(end - caption), caption);
}

/** The summary of a shipped file, or what is wrong with the file. */
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
            "%s: the folder cannot be read: %m; set DSGD_DATA to where the shipped files are",
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

/** Where gradients can be computed on this machine. */
static void list_devices(void)
{
    dsgd_error why = {""};
    listing devices = {.n = 0};
    const bool has_cuda = dsgd_device_cuda_try(NULL, &why) == DSGD_OK;
    add(&devices, "cpu", "always there; float and double");
    add(&devices, "cuda",
        has_cuda ? "an NVIDIA GPU; float; --numerics auto takes it"
                 : dsgd_xprintf("not here: %s", why.text));
    print_listing(&devices);
}

/* --- describe --------------------------------------------------------------------------------- */

enum { DOC_INDENT = 8 };

/* Workers of an example, whose messages are counted, and steps of it. */
enum { SENDERS = 64, WARM_UP_STEPS = 16, COUNTED_STEPS = 48 };

typedef struct sent {
    double messages, bytes;
} sent;

/** Work of a child process. */
static dsgd_status simulate_senders(const void *config, void *report, dsgd_error *error)
{
    dsgd_run_result result;
    DSGD_TRY(dsgd_simulate(config, &result, error));
    *(sent *)report = (sent){(double)result.messages, result.bytes};
    return result.outcome == DSGD_RUN_OK ? DSGD_OK : DSGD_ERUNS;
}

/**
 * Counts what is sent in so many steps of each worker, or of all on average where one that has
 * ended its own would keep others waiting. False: the run is refused.
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
 * Prints what an algorithm sends by default, counted in a run; nothing where it refuses that run.
 * The steps that are counted begin after a warm-up, and are whole periods of the algorithm.
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
    print_wrapped("rule", DOC_INDENT, a->doc.rule);
    print_wrapped("sends", DOC_INDENT, a->doc.sends);
    void *const params = dsgd_keep(1, a->about.params_size);
    dsgd_options_default(a->about.options, params);
    const unsigned traits = dsgd_traits_of(a, params);
    print_sent(a->about.name);
    print_wrapped("waits", DOC_INDENT, a->doc.waits);
    print_wrapped(
        "failing", DOC_INDENT,
        (traits & DSGD_RESTARTS) || (a->comes_back == NULL && !(traits & DSGD_REJOINS))
            ? "after a failure all restart from the last checkpoint"
            : "the others go on; who comes back takes a live worker's or a server's model");
    if (traits & DSGD_QUORUM)
        print_wrapped(
            "", DOC_INDENT,
            "by policy: quorum those who are there go on, and who comes back copies their "
            "state");
    print_wrapped("output", DOC_INDENT,
                  traits & DSGD_OUTPUT_SERVERS ? "the servers' model is evaluated, not the workers'"
                                               : "the mean of the workers' models is evaluated");
}

/* Draws per line of a description: the figures are good to about 1 %. */
enum { STATISTICS_DRAWS = 1 << 17 };

/**
 * Statistics of a step of @p workers. False: the list refuses that number, or needs the samples.
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

/** Prints a paragraph of a YAML file's remarks, and empties it. */
static void print_remark(char **remark)
{
    char *text = NULL;
    size_t n = 0;
    if (**remark == '\0')
        return;
    FILE *const stream = dsgd_text_open(&text, &n);
    dsgd_print_wrapped(stream, "", 0, DSGD_TEXT_WIDTH - 2, *remark);
    dsgd_text_close(stream, &text);
    char *rest = text;
    for (char *line = NULL; (line = strsep(&rest, "\n")) != NULL && *line != '\0';)
        printf("# %s\n", line);
    **remark = '\0';
}

/** The entries of a shipped list with the remarks on their derivation, wrapped. */
static void print_entries(const family *f, const char *name)
{
    char *const path = dsgd_xprintf("%s/%s/%s.yaml", dsgd_data_folder(), f->folder, name);
    char *remark = dsgd_xstrdup(""), *text = NULL;
    size_t n = 0;
    dsgd_file_read(path, &text, &n, NULL);
    while (text != NULL && *text != '\0') {
        const char *const line = strsep(&text, "\n");
        if (line[0] == '#') {
            dsgd_append(&remark, "%s%s", *remark == '\0' ? "" : " ", line + 1 + (line[1] == ' '));
        } else if (strncmp(line, "summary:", 8) != 0 && strncmp(line, "origin:", 7) != 0) {
            /* What continues stays behind the dash or key. */
            size_t head = strspn(line, " -");
            if (strchr(line + head, '{') != NULL && line[head] != '{')
                head = (size_t)(strchr(line, '{') - line);
            print_remark(&remark);
            print_wrapped(dsgd_xprintf("%.*s", (int)head, line), (int)head, line + head);
        }
    }
    print_remark(&remark);
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
    puts("\na step of 1 s, and what those of P workers are to its mean:\n"
         "     P  mean (s)  deviation  shortest  longest   slowest  median  fastest");
    for (int p = 16; p <= 1024; p *= 4) {
        dsgd_step_statistics s;
        if (step_statistics(&set.entries, 1, p, &s))
            printf("%6d  %8.4g  %9.3g  %8.4g  %7.4g  %8.3g  %6.3g  %7.3g\n", p, s.mean_s,
                   s.deviation_s, s.min_s, s.max_s, s.slowest_s / s.mean_s, s.median_s / s.mean_s,
                   s.fastest_s / s.mean_s);
    }
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
        return dsgd_refuse(
            error, "%s `%s` is unknown%s; `dsgd list %s` has them", f->singular, name,
            f->folder != NULL ? dsgd_shipped_hint(f->plural, name, names) : dsgd_hint(name, names),
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

/** Prints the options of an entry as a table of Markdown. */
static dsgd_status describe_as_markdown(const family *f, const char *name, dsgd_error *error)
{
    const dsgd_entry *const about = dsgd_entry_find(f->registry, name);
    if (about == NULL)
        return describe_entry(f, name, error); /* reports the unknown name */
    if (about->options == NULL)
        puts("There are no options.");
    else
        dsgd_keys_markdown(&(dsgd_option){.kind = DSGD_STRUCT, .fields = about->options});
    return DSGD_OK;
}

/** Of lines of facts: behind the name, and of further lines. */
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
        dsgd_xprintf(", or merged to %d where that changes little", DSGD_MANY_BUCKETS);
    dsgd_print_text("  one gradient", FACT_INDENT, "%.4g MB in %s, exchanged in %s%s",
                    dsgd_workload_bytes(&w) / 1e6, dsgd_counted(n_tensors, "tensor"),
                    dsgd_counted(n_buckets, "bucket"),
                    n_buckets > DSGD_MANY_BUCKETS ? merged : " by default");
    printf("  step                %g s, without what imbalance adds\n"
           "  samples             %g %s per worker and step\n"
           "  backward share      %g\n  own imbalance      ",
           w.step_s, w.samples, w.sample_unit, w.backward_share);
    for (size_t i = 0; i < w.inherent.n; i++)
        printf(" %s", w.inherent.v[i].about->name);
    puts(w.inherent.n == 0 ? " none" : "");
    dsgd_step_statistics s;
    enum { WORKERS = 64 };
    if (w.inherent.n > 0 && step_statistics(&w.inherent, w.step_s, WORKERS, &s))
        dsgd_print_text("  step with it", FACT_INDENT,
                        "%.4g s in the mean, standard deviation %.3g s, from %.4g to %.4g s; the "
                        "slowest of %d workers %.4g s",
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
        printf("  host link           %g GB/s each way, %g us between neighbours\n",
               p->host_bandwidth_bytes_per_s / 1e9, p->host_latency_s * 1e6);
    if (p->island_hosts > 0)
        printf("  islands (NVLink)    %jd hosts on %jd NICs; within them %g GB/s, %g us\n",
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
        printf("  hosts that differ   %zu entries\n", p->hosts.n);
    dsgd_print_text("  message overhead", FACT_INDENT, "%g us; above %g bytes %g us more",
                    p->message_overhead_s * 1e6, p->eager_bytes, p->rendezvous_s * 1e6);
    printf("  partial collective  %g us per call and message\n", p->partial_turn_s * 1e6);
    printf("  reduction           %g ns per byte\n  staging (GPU, host) %g ns per byte each way\n",
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
    return dsgd_refuse(error,
                       "describe: a figure is described by the first lines of %s/%s/%s/%s.gp",
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

/** All that is listed, in a text of the program's help. */
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
    dsgd_refuse(error, "`%s` is unknown%s; there is %s", name, dsgd_hint(name, names),
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
        puts("\nand data sets, which stand in a list by their names:");
    return f->folder == NULL ? DSGD_OK : list_files(f, error);
}

/** Of a kind alone: the keys of its files, or of a part of an experiment; or files of results. */
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
        return dsgd_refuse(error,
                           "describe: `%s` alone is none of experiment, task, results, platform, "
                           "workload, imbalance and the keys of an experiment that have keys "
                           "themselves, such as exchange, learn.optimizer or platform.nccl; else "
                           "give a kind and a name, such as `dsgd describe algorithm wagma`",
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
        DSGD_ARGUMENT(
            FLAG, json, "json", 0, NULL,
            "Of KEYS: prints them as JSON Schema, by which editors complete and check; of "
            "results as dsgd.py reads it"),
        DSGD_ARGUMENT(
            FLAG, markdown, "markdown", 0, NULL,
            "Of KEYS or results: prints them as a table of Markdown, as in the manual; of an "
            "algorithm: its options"),
        DSGD_ARGUMENT_PLUGIN,
        {.name = NULL},
    };
    static const dsgd_syntax syntax = {
        "KIND NAME|KEYS",
        "Says what something is and which options it takes. KEYS are those of a file: experiment, "
        "platform, workload or imbalance; or of a part of an experiment, such as exchange or "
        "learn.optimizer. `results` are the files that a run writes, column by column.",
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
        return dsgd_refuse(
            error,
            "describe --%s: of keys or results alone, such as `dsgd describe experiment --%s`",
            a.json ? "json" : "markdown", a.json ? "json" : "markdown");
    if (f == NULL)
        return dsgd_keys_of(kind) == NULL && strcmp(kind, "results") != 0
                   ? DSGD_EUSAGE
                   : dsgd_refuse(error,
                                 "describe: the keys of `%s` are described alone, by `dsgd "
                                 "describe %s`: leave "
                                 "`%s` out",
                                 kind, kind, name);
    const char *const key = dsgd_xprintf("%s.%s", f->singular, name);
    if (dsgd_keys_of(key) != NULL)
        return dsgd_refuse(error,
                           "describe: `%s` is no %s but a key of one, which `dsgd describe %s` "
                           "describes; `dsgd list %s` has the names",
                           name, f->singular, key, f->plural);
    return f->describe(f, name, error);
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
    .summary = "says what one of them is and which options it takes; keys of files",
    .run = describe,
};
