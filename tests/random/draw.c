/**
 * @file draw.c
 * Draws random values of options from the rows of the option tables.
 */
#include "tests/random/draw.h"

#include <dirent.h>

#include "base/draw.h"
#include "base/option.h"
#include "base/status.h"
#include "command/experiment/experiment.h"
#include "command/experiment/shipped.h"
#include "sim/registry.h"

/** Probability with which an option that is not required is set. */
static const double given = 0.2;

typedef struct source {
    uint64_t seed;
    uint32_t index; /* index of the random number that is drawn next */
} source;

static double uniform(source *s)
{
    return dsgd_draw_uniform((dsgd_draw){.seed = s->seed, .index = s->index++});
}

static size_t below(source *s, size_t n)
{
    return (size_t)dsgd_draw_below((dsgd_draw){.seed = s->seed, .index = s->index++}, n);
}

static bool chance(source *s, double p)
{
    return uniform(s) < p;
}

static part number(const char *key, double x)
{
    char *const text = dsgd_xprintf("%.9g", x);
    const part p = part_scalar(key, text);
    return p;
}

/* --- shipped files ---------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** Returns a random file of the form FOLDER/NAME.yaml, as its name or its path. */
static part one_of(source *s, const char *key, const char *path, bool as_path)
{
    DIR *const folder = opendir(path);
    DSGD_ASSERT(folder != NULL, "%s is not there", path);
    char **names = NULL;
    size_t n = 0;
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        const char *const dot = strstr(e->d_name, ".yaml");
        if (dot == NULL)
            continue;
        names = dsgd_keep_more(names, n + 1, sizeof *names);
        names[n++] = as_path ? dsgd_xprintf("%s/%s", path, e->d_name)
                             : dsgd_xprintf("%.*s", (int)(dot - e->d_name), e->d_name);
    }
    closedir(folder);
    qsort(names, n, sizeof *names, by_name);
    const part p = part_scalar(key, names[below(s, n)]);
    return p;
}

/**
 * Returns a random file of the folder traces/KIND. For platforms, it may also be a file that `dsgd
 * import` has written to the folder $DSGD_IMPORTED.
 */
static part shipped(source *s, const char *key, const char *kind)
{
    const char *const imported = getenv("DSGD_IMPORTED");
    if (imported != NULL && strcmp(kind, "platforms") == 0 && chance(s, given))
        return one_of(s, key, imported, true);
    return one_of(s, key, dsgd_xprintf("%s/traces/%s", dsgd_data_folder(), kind), false);
}

/* --- Functions that draw values from option tables -------------------------------------------- */

static part mapping_of(source *s, const char *key, const dsgd_option *options, int depth);

/** Returns an allowed number: near the default, at a limit, between 0 and 1, or a small integer. */
static double number_of(source *s, const dsgd_option *o)
{
    static const double factors[] = {0.1, 0.5, 1, 2, 10};
    const double low = o->kind == DSGD_LONG || o->max > 1 ? fmax(o->min, 0) : o->min;
    double x = low;
    switch (below(s, 4)) {
    case 0:
        x = o->init * factors[below(s, sizeof factors / sizeof factors[0])];
        break;
    case 1:
        x = chance(s, 0.5) || o->max > 1 ? o->min : o->max;
        break;
    case 2: /* a number between 0 and 1, which is typical of seconds, shares and rates */
        x = low + (fmin(o->max, 1) - fmin(low, 1)) * uniform(s);
        break;
    default:
        x = (double)below(s, 9);
    }
    x = o->kind == DSGD_LONG ? nearbyint(x) : x;
    return fmin(o->max, fmax(o->min, x));
}

static part list_of_numbers(source *s, const char *key, const dsgd_option *o)
{
    part list = part_empty(key, LIST);
    for (size_t n = 1 + below(s, 3); n > 0; n--)
        part_add(&list, number(NULL, number_of(s, o)));
    return list;
}

static const char *word_of(source *s, const char *const *words)
{
    size_t n = 0;
    while (words[n] != NULL)
        n++;
    return words[below(s, n)];
}

/** Returns a random entry of a registry, as its name or as its name with options. */
static part pick(source *s, const char *key, const dsgd_option *o, int depth)
{
    size_t n = 0;
    while (o->registry[n] != NULL)
        n++;
    const dsgd_entry *const about = o->registry[below(s, n)];
    part p = mapping_of(s, key, about->options, depth + 1);
    part_add(&p, part_scalar(o->key, about->name));
    if (o->fields != NULL && chance(s, given)) {
        part more = mapping_of(s, NULL, o->fields, depth + 1);
        for (size_t i = 0; i < more.n; i++)
            part_add(&p, part_copy(&more.parts[i]));
    }
    return p;
}

static part list_of(source *s, const char *key, const dsgd_option *o, int depth)
{
    part list = part_empty(key, LIST);
    for (size_t n = below(s, 3); n > 0; n--)
        part_add(&list, o->kind == DSGD_STRUCTS ? mapping_of(s, NULL, o->fields, depth + 1)
                        : o->shipped != NULL && chance(s, 0.5) ? shipped(s, NULL, o->shipped)
                                                               : pick(s, NULL, o, depth));
    return list;
}

static part table_of(source *s, const char *key, const dsgd_option *o)
{
    part table = part_empty(key, MAPPING);
    double x = 0;
    for (size_t n = 1 + below(s, 3); n > 0; n--) {
        x += 1 + (double)below(s, 20);
        char *const at = dsgd_xprintf("%g", x);
        part_add(&table, number(at, number_of(s, o)));
    }
    return table;
}

static part pairs_of(source *s, const char *key, const dsgd_option *o)
{
    part list = part_empty(key, LIST);
    for (size_t n = 1 + below(s, 6); n > 0; n--) {
        part pair = part_empty(NULL, LIST);
        for (int k = 0; k < 2; k++)
            part_add(&pair, number(NULL, nearbyint(number_of(s, o))));
        part_add(&list, pair);
    }
    return list;
}

static part value_of(source *s, const dsgd_option *o, int depth)
{
    const bool word = o->words != NULL && (o->kind == DSGD_CHOICE || chance(s, 0.5));
    switch (o->kind) {
    case DSGD_BOOL:
        return part_scalar(o->name, chance(s, 0.5) ? "true" : "false");
    case DSGD_LONG:
    case DSGD_DOUBLE:
    case DSGD_CHOICE:
        return word ? part_scalar(o->name, word_of(s, o->words)) : number(o->name, number_of(s, o));
    case DSGD_LINES:
        return part_scalar(o->name, o->words == NULL ? "[0, 1]" : word_of(s, o->words));
    case DSGD_STRING:
        return part_scalar(o->name, "words");
    case DSGD_NUMBERS:
        return list_of_numbers(s, o->name, o);
    case DSGD_PAIRS:
        return pairs_of(s, o->name, o);
    case DSGD_TABLE:
        return table_of(s, o->name, o);
    case DSGD_STRUCT:
        return mapping_of(s, o->name, o->fields, depth + 1);
    case DSGD_SPEC:
        return pick(s, o->name, o, depth);
    case DSGD_STRUCTS:
    case DSGD_SPECS:
    case DSGD_END:
        break;
    }
    return list_of(s, o->name, o, depth);
}

/**
 * Returns a mapping with all required options and some of the other options. The mapping has fewer
 * options if the table is long or deep in the tree.
 */
static part mapping_of(source *s, const char *key, const dsgd_option *options, int depth)
{
    part mapping = part_empty(key, MAPPING);
    size_t n = 0;
    while (options != NULL && options[n].name != NULL)
        n++;
    const double share = depth > 3 ? 0 : fmin(given, 2 / (1. + (double)n));
    for (size_t i = 0; i < n; i++)
        if (options[i].required || (options[i].kind != DSGD_STRING && chance(s, share)))
            part_add(&mapping, value_of(s, &options[i], depth));
    return mapping;
}

/* --- experiments ------------------------------------------------------------------------------ */

static const dsgd_option *option(const char *name)
{
    return dsgd_option_find(dsgd_experiment_options, name);
}

static part platform(source *s)
{
    if (chance(s, 0.6))
        return shipped(s, "platform", "platforms");
    const bool mpi = chance(s, 0.4);
    part p = mpi ? part_empty("platform", MAPPING)
                 : mapping_of(s, "platform", option("platform")->fields, 2);
    if (mpi)
        part_set(&p, "library", "mpi");
    part_add(&p, shipped(s, option("platform")->key, "platforms"));
    return p;
}

/** Returns a list of tensors of up to 16 MB each. */
static part tensors_of(source *s)
{
    const dsgd_option *const fields =
        dsgd_option_find(option("workload")->fields, "tensors")->fields;
    part tensors = part_empty("tensors", LIST);
    for (size_t n = 1 + below(s, 4); n > 0; n--) {
        part one = mapping_of(s, NULL, fields, 2);
        part_set(&one, "elements", chance(s, 0.5) ? "1e3" : "4e6");
        part_add(&tensors, one);
    }
    return tensors;
}

/** Returns options for workers that are groups of up to 16 hosts, with a possible schedule. */
static part inner(source *s)
{
    const dsgd_option *const fields = dsgd_option_find(option("workload")->fields, "inner")->fields;
    const dsgd_option *const of_pipeline = dsgd_option_find(fields, "pipeline")->fields;
    const char *const schedule = word_of(s, dsgd_option_find(of_pipeline, "schedule")->words);
    const size_t stages = below(s, 4) == 0 ? 1 : 2 + 2 * below(s, 2);
    const bool swarm = strcmp(schedule, "swarm") == 0;
    part p = mapping_of(s, "inner", fields, 4);
    part_set(&p, "activations", chance(s, 0.2) ? "0" : "1e6");
    if (stages > 1)
        part_set(
            &p, "pipeline",
            dsgd_xprintf("{stages: %zu, micro_batches: %zu, schedule: %s, peers: %d, jobs: %zu}",
                         stages, stages * (1 + below(s, 4)), schedule, swarm ? 2 : 1,
                         chance(s, given) ? 1 + below(s, 3) : 1));
    if (!swarm && (stages == 1 || chance(s, given)))
        part_set(&p, chance(s, 0.5) ? "tensor" : "shards", "2");
    if (chance(s, given))
        part_set(&p, "contention", "false");
    return p;
}

static part workload(source *s)
{
    if (chance(s, 0.5))
        return shipped(s, "workload", "workloads");
    part p = mapping_of(s, "workload", option("workload")->fields, 2);
    if (chance(s, 0.4)) {
        part in_groups = part_empty("workload", MAPPING);
        part_add(&in_groups, inner(s));
        part_set(&in_groups, "transformer",
                 "{parameters: 2e7, layers: 8, width: 256, sequence: 128, batch: 32, "
                 "gpu_speed: 1e14}");
        return in_groups;
    }
    if (part_find(&p, "transformer") != NULL)
        part_set(
            &p, "transformer",
            "{parameters: 1e8, layers: 8, width: 512, sequence: 512, batch: 4, gpu_speed: 1e14}");
    part_set(&p, "step", chance(s, 0.5) ? "0.1" : "1e-3");
    part_set(&p, "samples", "8");
    if (part_find(&p, "tensors") == NULL && chance(s, 0.5)) {
        part_set(&p, "bytes", chance(s, 0.5) ? "64" : "1e7");
        return p;
    }
    part tensors = tensors_of(s);
    part *const there = part_find(&p, "tensors");
    if (there == NULL) {
        part_add(&p, tensors);
    } else {
        *there = tensors;
    }
    return p;
}

/** Returns learning options: a model with data that it can learn from. */
static part learn(source *s)
{
    static const char *const pairs[][2] = {
        {"hyperplane", "{name: hyperplane, features: 16, points: 512}"},
        {"{name: lstm, units: 8}", "{name: sequences}"},
        {"logreg", "{name: sequences}"},
        {"{name: policy}", "{name: navigation}"},
    };
    part p = mapping_of(s, "learn", option("learn")->fields, 2);
    if (chance(s, 0.1))
        return p; /* this draw combines any model with any data, so the program mostly rejects it */
    const size_t k = chance(s, 0.6) ? 0 : below(s, sizeof pairs / sizeof pairs[0]);
    part_set(&p, "model", pairs[k][0]);
    part_set(&p, "data", pairs[k][1]);
    if (part_find(&p, "batch") != NULL)
        part_set(&p, "batch", chance(s, 0.5) ? "1" : "7");
    return p;
}

static const dsgd_algorithm *drawn_algorithm(const part *p)
{
    return (const dsgd_algorithm *)dsgd_entry_find(dsgd_algorithms, part_find(p, "name")->text);
}

/**
 * Returns a random algorithm. About half of the algorithms are synchronous, because most laws
 * concern these.
 */
static part algorithm(source *s)
{
    const bool synchronous = chance(s, 0.4);
    part p = pick(s, NULL, option("algorithms"), 1);
    while (synchronous && (~drawn_algorithm(&p)->traits & DSGD_SENDS_ALLREDUCES) != 0)
        p = pick(s, NULL, option("algorithms"), 1);
    return p;
}

static part until(source *s, bool large)
{
    part p = part_empty("until", MAPPING);
    part_add(&p, number("steps", large ? 2 : 1 + (double)below(s, 12)));
    if (chance(s, 0.1))
        part_add(&p, number("seconds", uniform(s)));
    if (chance(s, 0.1))
        part_add(&p, number("samples", (double)(1 + below(s, 2000))));
    return p;
}

/** Returns failures that happen during the first steps, and their costs. */
static part failures(source *s, size_t workers)
{
    static const char *const whens[] = {
        "[{worker: %zu, at: 0.05}]", "[{worker: %zu, at: 0.05, repair: 0.2}]",
        "[{worker: %zu, at: 0.01, repair: 0.02}, {worker: 0, at: 0.02, repair: 1}]"};
    const dsgd_option *const fields = option("failures")->fields;
    /* the program mostly rejects these failures, or they happen after the end of the run */
    if (chance(s, given))
        return mapping_of(s, "failures", fields, 1);
    part p = part_empty("failures", MAPPING);
    part_set(&p, "policy", word_of(s, dsgd_option_find(fields, "policy")->words));
    part_set(&p, "detect", chance(s, 0.5) ? "0.01" : "0");
    if (chance(s, 0.3))
        part_set(&p, "links",
                 dsgd_xprintf("[{per: worker, which: %zu, at: %g, for: 0.1, factor: %g}]",
                              below(s, workers), uniform(s), chance(s, 0.5) ? 0.1 : 0));
    if (chance(s, 0.4))
        part_set(&p, "mtbf", chance(s, 0.5) ? "1" : "20");
    else
        part_set(&p, "events", dsgd_xprintf(whens[below(s, 3)], below(s, workers)));
    if (chance(s, 0.5))
        part_set(&p, "repair", "0.1");
    if (chance(s, 0.5))
        part_set(&p, "restart", "0.02");
    if (chance(s, 0.5))
        part_set(&p, "checkpoint",
                 chance(s, 0.5) ? "{every: 2, seconds: 0.01}"
                                : "{interval: 0.05, bytes: 1e6, bandwidth: 1e9, blocking: false}");
    return p;
}

part random_experiment(uint64_t seed)
{
    source s = {.seed = seed};
    part e = part_empty(NULL, MAPPING);
    const bool learns = chance(&s, 0.4);
    const bool large = !learns && chance(&s, 0.05);
    const double most = large ? 12 : learns ? 4 : 6;
    part_add(&e, part_scalar("name", "random"));
    part_add(&e, platform(&s));
    part_add(&e, workload(&s));
    /* many algorithms need a number of workers that is a power of two */
    const double doublings = most * uniform(&s);
    const double workers = nearbyint(exp2(chance(&s, 0.8) ? floor(doublings) : doublings));
    part_add(&e, number("workers", workers));
    part algorithms = part_empty("algorithms", LIST);
    part_add(&algorithms, algorithm(&s));
    part_add(&e, algorithms);
    part_add(&e, number("seed", (double)below(&s, 1000)));
    part_add(&e, until(&s, large));
    if (learns)
        part_add(&e, learn(&s));
    static const char *const others[] = {"imbalance", "inherent", "exchange", "placement"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (chance(&s, 0.4))
            part_add(&e, value_of(&s, option(others[i]), 1));
    if (chance(&s, 0.15))
        part_add(&e, failures(&s, (size_t)workers));
    part *const machine = part_find(&e, "platform");
    if (machine->kind == MAPPING && chance(&s, 0.5))
        part_set(machine, "price", "2.5 USD/h");
    return e;
}
