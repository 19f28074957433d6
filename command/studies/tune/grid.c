/**
 * @file grid.c
 * The candidates of each algorithm, and the runs of each candidate.
 */
#include <stdlib.h>
#include <string.h>

#include "command/experiment/config.h"
#include "command/studies/tune/tune.h"

/** Index of a text among those of an option, where a new one is added. */
static size_t text_index(dsgd_tune_option *o, const char *text)
{
    for (size_t v = 0; v < o->n; v++)
        if (strcmp(o->texts[v], text) == 0)
            return v;
    o->texts = dsgd_xrealloc(o->texts, o->n + 1, sizeof *o->texts);
    o->texts[o->n] = text;
    return o->n++;
}

/** Values in the order of their lists. */
static void find_values(dsgd_tune *t)
{
    dsgd_experiment *const e = t->experiment;
    size_t n = 0;
    dsgd_sweep **const sweeps = dsgd_config_sweeps(e->config, dsgd_config_root(e->config), &n);
    for (size_t a = 0; a < t->n_contestants; a++)
        for (size_t k = 0; k < t->contestants[a].n_options; k++)
            for (size_t s = 0; s < n; s++)
                if (strcmp(sweeps[s]->path, t->contestants[a].options[k].path) == 0)
                    t->contestants[a].options[k].column = s;
    for (size_t i = 0; i < e->n_runs; i++) {
        dsgd_tune_contestant *const c = &t->contestants[e->runs[i].chosen[DSGD_AXIS_ALGORITHM]];
        for (size_t k = 0; k < c->n_options; k++)
            text_index(&c->options[k], e->runs[i].swept[c->options[k].column]);
    }
}

/** Which candidate, length and seed a run is of: its place in c->runs. */
static size_t place_of(const dsgd_tune *t, dsgd_tune_contestant *c, const dsgd_planned_run *run)
{
    size_t candidate = 0;
    for (size_t k = 0; k < c->n_options; k++)
        candidate = candidate * c->options[k].n +
                    text_index(&c->options[k], run->swept[c->options[k].column]);
    size_t length = 0;
    while (length + 1 < t->n_lengths && (t->lengths[length].steps != run->config.until.steps ||
                                         t->lengths[length].seconds != run->config.until.seconds ||
                                         t->lengths[length].samples != run->config.until.samples))
        length++;
    size_t seed = 0;
    while (seed + 1 < t->n_seeds && t->seeds[seed] != run->seed)
        seed++;
    return (candidate * t->n_lengths + length) * t->n_seeds + seed;
}

static bool is_needed(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t place)
{
    for (size_t rung = 0; rung < c->n_rungs; rung++)
        if (place / t->n_seeds % t->n_lengths == dsgd_tune_length(t, c, rung) &&
            place % t->n_seeds < dsgd_tune_seeds(t, c, rung))
            return true;
    return false;
}

/** The column for the same option of all algorithms: algorithms.optimizer.lr. */
static const char *common_column(dsgd_config *config, const char *column)
{
    const size_t n = strlen("algorithms.");
    return strncmp(column, "algorithms.", n) != 0
               ? column
               : dsgd_config_keep(config, "algorithms.%s",
                                  column + n + strcspn(column + n, ".") + 1);
}

/** One column for the same option of all algorithms, in place of one each. */
static void join_columns(dsgd_tune *t)
{
    dsgd_experiment *const e = t->experiment;
    const size_t n = e->n_columns;
    size_t *const to = dsgd_xcalloc(n + 1, sizeof *to);
    const char **const columns = dsgd_config_alloc(e->config, (n + 1) * sizeof *columns);
    e->n_columns = 0;
    for (size_t k = 0; k < n; k++) {
        const char *const column = common_column(e->config, e->columns[k]);
        to[k] = 0;
        while (to[k] < e->n_columns && strcmp(columns[to[k]], column) != 0)
            to[k]++;
        columns[to[k]] = column;
        e->n_columns += to[k] == e->n_columns;
    }
    e->columns = columns;
    for (size_t i = 0; i < e->n_runs; i++) {
        const char **const swept = dsgd_config_alloc(e->config, (n + 1) * sizeof *swept);
        for (size_t k = 0; k < n; k++)
            if (e->runs[i].swept[k] != NULL)
                swept[to[k]] = e->runs[i].swept[k];
        e->runs[i].swept = swept;
    }
    for (size_t a = 0; a < t->n_contestants; a++)
        for (size_t k = 0; k < t->contestants[a].n_options; k++)
            t->contestants[a].options[k].column = to[t->contestants[a].options[k].column];
    free(to);
}

dsgd_status dsgd_tune_find(dsgd_tune *t, dsgd_error *error)
{
    dsgd_experiment *const e = t->experiment;
    find_values(t);
    join_columns(t);
    for (size_t a = 0; a < t->n_contestants; a++) {
        dsgd_tune_contestant *const c = &t->contestants[a];
        c->n_candidates = c->n_begun = 1;
        for (size_t k = 0; k < c->n_options; k++) {
            dsgd_tune_option *const o = &c->options[k];
            if (o->n == 0)
                return dsgd_fail(error, DSGD_EUSAGE, "%s: no run of %s is possible", e->path,
                                 c->label);
            o->low = o->n_beyond;
            o->high = o->n - 1 - o->n_beyond;
            c->n_candidates *= o->n;
            c->n_begun *= o->high - o->low + 1;
        }
        c->runs = dsgd_xcalloc(c->n_candidates * t->n_lengths * t->n_seeds, sizeof *c->runs);
        dsgd_tune_begin(t, c);
    }
    bool *const keep = dsgd_xcalloc(e->n_runs, sizeof *keep);
    for (size_t i = 0; i < e->n_runs; i++) {
        dsgd_tune_contestant *const c = &t->contestants[e->runs[i].chosen[DSGD_AXIS_ALGORITHM]];
        keep[i] = is_needed(t, c, place_of(t, c, &e->runs[i]));
    }
    dsgd_experiment_keep(e, keep);
    free(keep);
    for (size_t i = 0; i < e->n_runs; i++) {
        dsgd_tune_contestant *const c = &t->contestants[e->runs[i].chosen[DSGD_AXIS_ALGORITHM]];
        c->runs[place_of(t, c, &e->runs[i])] = i + 1;
    }
    return DSGD_OK;
}

size_t dsgd_tune_value(const dsgd_tune_contestant *c, size_t candidate, size_t k)
{
    for (size_t j = c->n_options - 1; j > k; j--)
        candidate /= c->options[j].n;
    return candidate % c->options[k].n;
}

const char *dsgd_tune_text_of(const dsgd_tune_contestant *c, size_t candidate, size_t k)
{
    return c->options[k].texts[dsgd_tune_value(c, candidate, k)];
}

size_t dsgd_tune_run(const dsgd_tune *t, const dsgd_tune_contestant *c, size_t candidate,
                     size_t length, size_t seed)
{
    return c->runs[(candidate * t->n_lengths + length) * t->n_seeds + seed];
}

void dsgd_tune_close(dsgd_tune *t)
{
    for (size_t a = 0; a < t->n_contestants; a++) {
        dsgd_tune_contestant *const c = &t->contestants[a];
        for (size_t k = 0; k < c->n_options; k++)
            free(c->options[k].texts);
        free(c->runs);
        free(c->is_in);
        free(c->order);
    }
    for (size_t i = 0; i < t->n_sets; i++)
        free(t->sets[i]);
    free(t->sets);
    free(t->seeds);
    free(t->contestants);
    free(t->results);
    free(t->evaluations);
    free(t->trials);
}
