/**
 * @file explain.c
 * Implements the command line of `dsgd explain`.
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
    DSGD_ARGUMENT(
        WORD, format, "format", 0, "FORMAT",
        "Form of the output: text, or a figure as svg, pdf or png. The figure is a map of slow "
        "steps (for an experiment) or the paths of the models (for an algorithm) [default: text]",
        .words = dsgd_explain_formats),
    DSGD_ARGUMENT(
        TEXT, output, "output", 'o', "FILE",
        "Output file [default: standard output for text, NAME.svg and so on for a figure]"),
    DSGD_ARGUMENT(TEXT, size, "size", 0, "SIZE", "Size of the figure, as in `dsgd plot`"),
    DSGD_ARGUMENT(
        COUNT, run, "run", 0, "RUN",
        "Explains only this run, with the number that `dsgd check` prints (experiments only)"),
    DSGD_ARGUMENT(COUNT, jobs, "jobs", 'j', "N",
                  "Number of runs at the same time [default: number of cores] (experiments only)"),
    DSGD_ARGUMENT(FLAG, instead, "instead", 0, NULL,
                  "Also simulates other algorithms, small buckets, and 2, 4 and 16 times the "
                  "workers (experiments only)"),
    DSGD_ARGUMENT(COUNT, workers, "workers", 0, "N", "Number of workers (algorithms only)"),
    DSGD_ARGUMENT(COUNT, steps, "steps", 0, "N",
                  "Number of steps of each worker (algorithms only)"),
    DSGD_ARGUMENT(TEXTS, sets, "set", 0, "A.B=C",
                  "Overrides a value of the experiment (may be repeated)"),
    DSGD_ARGUMENT(WORD, numerics, "numerics", 0, "WHERE",
                  "Where to compute gradients, as in `dsgd run` [default: off; timing does not "
                  "depend on them unless the run ends by `until: accuracy`] (experiments only)",
                  .words = dsgd_numerics_words),
    DSGD_ARGUMENT_LIMITS(limits),
    DSGD_ARGUMENT_PLUGIN,
    {.name = NULL},
};

/**
 * Returns an error about an unknown algorithm if a word is neither an algorithm, a file nor a
 * folder.
 */
static dsgd_status check_source(const char *source, dsgd_error *error)
{
    struct stat facts;
    /* If the source looks like a file, the file's reader prints a more precise error. */
    if (stat(source, &facts) == 0 || strpbrk(source, "./") != NULL)
        return DSGD_OK;
    return dsgd_refuse(error,
                       "unknown file, folder or algorithm `%s`%s; see `dsgd list algorithms`",
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
            return dsgd_refuse(error,
                               some[i].of_lesson ? "--%s works only with an algorithm, as in `dsgd "
                                                   "explain wagma`; an experiment "
                                                   "file contains its own value"
                                                 : "--%s works only with an experiment or a "
                                                   "results folder, not with an algorithm",
                               some[i].name);
    if (a->size != NULL && a->format == DSGD_EXPLAIN_TEXT)
        return dsgd_refuse(error, "--size %s works only with figures; give --format", a->size);
    return a->size == NULL ? DSGD_OK : dsgd_figure_check_size(a->size, error);
}

static dsgd_status explain(int count, char **words, dsgd_error *error)
{
    static const dsgd_syntax syntax = {
        "FILE|DIR|ALGORITHM",
        "Given an experiment or its results folder, simulates it again to show where the time of a "
        "step goes and how much faster it would be with no stragglers, with a faster network, and "
        "so on. Given an algorithm, shows step by step what each worker holds, sends, waits for "
        "and receives.",
        1,
        1,
        "explain: give an experiment file, a results folder or an algorithm",
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
    .summary = "shows where the time of a step goes and which changes would help; or shows an "
               "algorithm step by step",
    .run = explain,
};
