/**
 * @file selection.c
 * Selects runs by numbers (--only) or shards (--shard), and sorts runs by cost.
 */
#include "command/runs/selection.h"

#include <gsl/gsl_statistics_double.h>

static double cost_of(const dsgd_run_config *config)
{
    const double p = config->workers;
    const double steps = config->until.steps > 0 ? config->until.steps : 100;
    double *bytes = NULL;
    const double pieces = (double)dsgd_pieces_of(config, &bytes);
    free(bytes);
    return steps * p * (log2(p + 1) + (config->learning == NULL ? 0 : 20)) * pieces;
}

static int by_cost(const void *a, const void *b)
{
    const dsgd_work *const s = a, *const t = b;
    if (s->cost != t->cost)
        return s->cost > t->cost ? -1 : 1;
    return s->i < t->i ? -1 : 1;
}

dsgd_work *dsgd_runs_by_cost(const dsgd_experiment *experiment, const bool *has, size_t *n)
{
    dsgd_work *const runs = dsgd_keep(experiment->n_runs + 1, sizeof *runs);
    *n = 0;
    for (size_t i = 0; i < experiment->n_runs; i++)
        if (has == NULL || has[i])
            runs[(*n)++] = (dsgd_work){i, cost_of(&experiment->runs[i].config)};
    qsort(runs, *n, sizeof *runs, by_cost);
    return runs;
}

/** Reads a number. Returns false if there are no digits or too many digits. */
static bool read_number(const char **at, size_t *number)
{
    const size_t n_digits = strspn(*at, "0123456789");
    *number = strtoul(*at, NULL, 10);
    *at += n_digits;
    return n_digits > 0 && n_digits < 10;
}

dsgd_status dsgd_selection_only(const dsgd_experiment *experiment, const char *text, bool *has,
                                dsgd_error *error)
{
    const char *at = text;
    do {
        size_t first = 0;
        bool is = read_number(&at, &first);
        size_t last = first;
        if (is && *at == ':') {
            at++;
            is = read_number(&at, &last);
        }
        if (!is || first < 1 || last < first || (*at != ',' && *at != '\0'))
            return dsgd_refuse(
                error,
                "--only must be numbers of runs from 1 and ranges, such as 1,3,7:9, got `%s`",
                text);
        if (last > experiment->n_runs)
            return dsgd_refuse(error,
                               "--only %s: the experiment has %zu runs; `dsgd check %s` lists them",
                               text, experiment->n_runs, experiment->path);
        for (size_t i = first; i <= last; i++)
            has[i - 1] = true;
    } while (*at++ == ',');
    return DSGD_OK;
}

dsgd_status dsgd_selection_shard(const dsgd_experiment *experiment, const char *text, bool *has,
                                 dsgd_error *error)
{
    const char *at = text;
    size_t shard = 0;
    size_t n_shards = 0;
    const bool is = read_number(&at, &shard) && *at++ == '/' && read_number(&at, &n_shards);
    if (!is || *at != '\0' || shard < 1 || shard > n_shards || n_shards > DSGD_MOST_SHARDS)
        return dsgd_refuse(error,
                           "--shard must be I/N with N at most %d, such as 2/8 (the second of "
                           "eight), got `%s`",
                           DSGD_MOST_SHARDS, text);
    size_t n = 0;
    const dsgd_work *const runs = dsgd_runs_by_cost(experiment, NULL, &n);
    double *const given = dsgd_keep(n_shards, sizeof *given);
    for (size_t k = 0; k < n; k++) {
        const size_t least = gsl_stats_min_index(given, 1, n_shards);
        given[least] += runs[k].cost;
        if (least + 1 == shard)
            has[runs[k].i] = true;
    }
    return DSGD_OK;
}

char *dsgd_selection_text(const bool *has, size_t n)
{
    char *text = dsgd_xstrdup("");
    for (size_t i = 0; i < n; i++) {
        if (!has[i])
            continue;
        const size_t first = i;
        while (i + 1 < n && has[i + 1])
            i++;
        dsgd_append(&text, "%s%zu", *text == '\0' ? "" : ",", first + 1);
        if (i > first)
            dsgd_append(&text, "%s%zu", i == first + 1 ? "," : ":", i + 1);
    }
    return text;
}
