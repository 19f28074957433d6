/**
 * @file explain.c
 * `dsgd explain`: its command line.
 */
#include "command/trace/explain.h"

#include <sys/stat.h>

#include "command/analysis/plot.h"
#include "command/console/command.h"
#include "command/experiment/plugin.h"
#include "command/studies/explain/attribution.h"
#include "command/trace/lesson/lesson.h"
#include "sim/registry.h"

typedef dsgd_explain_options arguments;

static const dsgd_argument options[] = {
    DSGD_ARGUMENT(WORD, format, "format", 0, "FORMAT",
                  "text (tables and sentences), or a figure as svg, pdf or png: of an experiment "
                  "the map of slow steps, of an algorithm the paths of its models",
                  .words = dsgd_explain_formats),
    DSGD_ARGUMENT(TEXT, output, "output", 'o', "FILE",
                  "Where it goes (text: the standard output; a figure: NAME.svg and so on)"),
    DSGD_ARGUMENT(TEXT, size, "size", 0, "SIZE", "Of a figure, as in `dsgd plot`"),
    DSGD_ARGUMENT(COUNT, run, "run", 0, "RUN",
                  "Of an experiment: this run alone, as `dsgd check` numbers them"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N",
                  "Of an experiment: runs at the same time (the number of cores)"),
    DSGD_ARGUMENT(FLAG, instead, "instead", 0, NULL,
                  "Of an experiment: also what other algorithms, small buckets, and 2, 4 and 16 "
                  "times the workers would make of it"),
    DSGD_ARGUMENT(COUNT, workers, "workers", 0, "N", "Of an algorithm: how many workers"),
    DSGD_ARGUMENT(COUNT, steps, "steps", 0, "N", "Of an algorithm: how many steps of each"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment; may be repeated"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE",
                  "Of an experiment: as in `dsgd run` (off, because what takes how long depends on "
                  "no value, but for `until: accuracy`)",
                  .words = dsgd_numerics_words),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

/** A word that is neither a file nor a folder may be meant as an algorithm. */
static dsgd_status check_source(const char *source, dsgd_error *error)
{
    struct stat facts;
    if (stat(source, &facts) == 0 || strpbrk(source, "./") != NULL)
        return DSGD_OK; /* its reader has the better sentence */
    return dsgd_refuse(error,
                       "explain %s: this is no file, no folder and no algorithm%s; `dsgd list "
                       "algorithms` lists them",
                       source, dsgd_hint(source, dsgd_entry_names(dsgd_algorithms)));
}

static dsgd_status check_options(const arguments *a, bool is_lesson, dsgd_error *error)
{
    const struct {
        bool given, of_lesson;
        const char *name;
    } some[] = {
        {a->workers > 0, true, "workers"},
        {a->steps > 0, true, "steps"},
        {a->run > 0, false, "run"},
        {a->jobs > 0, false, "jobs"},
        {a->instead, false, "instead"},
        {a->numerics >= 0, false, "numerics"},
        {a->limits.timeout_s > 0, false, "timeout"},
        {a->limits.stall_s > 0, false, "stall"},
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        if (some[i].given && some[i].of_lesson != is_lesson)
            return dsgd_refuse(
                error,
                some[i].of_lesson
                    ? "--%s: it is for an algorithm, as in `dsgd explain wagma`; of an experiment "
                      "the file decides"
                    : "--%s: it is for an experiment or a folder of results, not for an algorithm",
                some[i].name);
    if (a->size != NULL && a->format == DSGD_EXPLAIN_TEXT)
        return dsgd_refuse(error, "--size %s: it is for figures; give --format", a->size);
    return a->size == NULL ? DSGD_OK : dsgd_figure_check_size(a->size, error);
}

static dsgd_status explain(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "FILE|DIR|ALGORITHM",
        "Of an experiment or the folder of its results: says where the time of a step went, and "
        "what would be gained without stragglers, with a faster network and so on, by running it "
        "again. Of an algorithm: shows step by step what each worker holds, sends, waits for and "
        "gets.",
        1,
        1,
        "explain: give the file of one experiment, the folder of its results, or an algorithm",
        options};
    arguments a = {.numerics = -1};
    DSGD_TRY(dsgd_parse(count, words, &syntax, &a, error));
    DSGD_TRY(dsgd_plugins_load(&a.plugins, error));
    const dsgd_entry *const algorithm = dsgd_entry_find(dsgd_algorithms, a.source.v[0]);
    DSGD_TRY(check_options(&a, algorithm != NULL, error));
    if (algorithm == NULL)
        DSGD_TRY(check_source(a.source.v[0], error));
    return algorithm != NULL ? dsgd_lesson(algorithm, &a, error) : dsgd_attribution(&a, error);
}

const dsgd_command dsgd_command_explain = {
    .name = "explain",
    .usage = "FILE|DIR|ALGORITHM",
    .summary = "says where the time of runs went and what would be gained; or shows an "
               "algorithm step by step",
    .run = explain,
};
