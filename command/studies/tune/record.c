/**
 * @file record.c
 * All that was tried: tune.csv, and `tune` in the manifest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/studies/tune/tune.h"

static const char *const fates[] = {"dropped", "kept", "best"};

const char *dsgd_tune_rest_of(const dsgd_tune_option *o)
{
    return strchr(strchr(o->path, '.') + 1, '.') + 1;
}

char *dsgd_tune_length_text(const dsgd_until *until)
{
    char *text = dsgd_xstrdup("");
    const double bounds[] = {until->steps, until->seconds, until->samples};
    static const char *const units[] = {"steps", "s", "samples"};
    for (size_t k = 0; k < 3; k++)
        if (bounds[k] > 0)
            dsgd_append(&text, "%s%.6g %s", *text == '\0' ? "" : ", ", bounds[k], units[k]);
    return text;
}

const char **dsgd_tune_all_rests(const dsgd_tune *t)
{
    const char **const rests =
        dsgd_xcalloc(t->n_contestants * DSGD_TUNE_MOST_OPTIONS + 1, sizeof *rests);
    size_t n = 0;
    for (size_t a = 0; a < t->n_contestants; a++)
        for (size_t k = 0; k < t->contestants[a].n_options; k++) {
            const char *const rest = dsgd_tune_rest_of(&t->contestants[a].options[k]);
            if (dsgd_find_word(rests, rest) < 0)
                rests[n++] = rest;
        }
    return rests;
}

size_t dsgd_tune_option_of(const dsgd_tune_contestant *c, const char *rest)
{
    size_t k = 0;
    while (k < c->n_options && strcmp(dsgd_tune_rest_of(&c->options[k]), rest) != 0)
        k++;
    return k;
}

static void write_trial(FILE *stream, const dsgd_tune *t, const dsgd_tune_trial *trial,
                        const char *const *rests)
{
    const dsgd_tune_contestant *const c = &t->contestants[trial->contestant];
    char *const length = dsgd_tune_length_text(&t->lengths[dsgd_tune_length(t, c, trial->rung)]);
    dsgd_csv_text(stream, c->label);
    for (size_t j = 0; rests[j] != NULL; j++) {
        const size_t k = dsgd_tune_option_of(c, rests[j]);
        fputc(',', stream);
        dsgd_csv_text(stream, k == c->n_options ? "" : dsgd_tune_text_of(c, trial->candidate, k));
    }
    fprintf(stream, ",%zu,", trial->rung + 1);
    dsgd_csv_text(stream, length);
    fprintf(stream, ",%zu,%zu,%zu", trial->score.n_seeds, trial->score.n_reached,
            trial->score.n_diverged);
    dsgd_csv_numbers(stream, (double[]){trial->score.place, trial->score.near}, 2);
    fprintf(stream, ",%d,%s\n", trial->ties, fates[trial->fate]);
    free(length);
}

static dsgd_status write_csv(const dsgd_tune *t, dsgd_error *error)
{
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/tune.csv", t->folder);
    if (stream == NULL)
        return DSGD_EIO;
    const char **const rests = dsgd_tune_all_rests(t);
    fputs("algorithm", stream);
    for (size_t j = 0; rests[j] != NULL; j++)
        fprintf(stream, ",%s", rests[j]);
    fprintf(stream, ",rung,length,seeds,reached,diverged,%s_to_target,%s_else,ties,fate\n",
            t->on == DSGD_TUNE_TIME ? "seconds" : "steps", t->target.column);
    for (size_t i = 0; i < t->n_trials; i++)
        write_trial(stream, t, &t->trials[i], rests);
    free(rests);
    return dsgd_whole_close(&file, error);
}

static json_t *number_json(double x)
{
    return isnan(x) ? json_null() : json_real(x);
}

static json_t *trial_json(const dsgd_tune *t, const dsgd_tune_trial *trial)
{
    const dsgd_tune_contestant *const c = &t->contestants[trial->contestant];
    json_t *const values = json_object();
    for (size_t k = 0; k < c->n_options; k++)
        json_object_set_new(values, c->options[k].path,
                            dsgd_json_text(dsgd_tune_text_of(c, trial->candidate, k)));
    json_t *const seeds = json_array();
    for (size_t s = 0; s < trial->score.n_seeds; s++)
        json_array_append_new(seeds, json_integer(t->seeds[s]));
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:s}", "algorithm",
        dsgd_json_text(c->label), "values", values, "rung", (json_int_t)trial->rung + 1, "until",
        dsgd_json_options(dsgd_until_options, &t->lengths[dsgd_tune_length(t, c, trial->rung)]),
        "seeds", seeds, "reached", (json_int_t)trial->score.n_reached, "diverged",
        (json_int_t)trial->score.n_diverged, "to_target", number_json(trial->score.place), "else",
        number_json(trial->score.near), "ties", (int)trial->ties, "fate", fates[trial->fate]);
}

/** By algorithm and rung; in a rung they are ranked. */
static int by_rung(const void *a, const void *b)
{
    const dsgd_tune_trial *const x = a, *const y = b;
    if (x->contestant != y->contestant)
        return x->contestant < y->contestant ? -1 : 1;
    return x->rung != y->rung ? (x->rung < y->rung ? -1 : 1)
                              : (x->rank > y->rank) - (x->rank < y->rank);
}

dsgd_status dsgd_tune_write(dsgd_tune *t, dsgd_error *error)
{
    static const char *const on[] = {"time", "steps", "final"};
    qsort(t->trials, t->n_trials, sizeof *t->trials, by_rung);
    dsgd_status status = write_csv(t, error);
    if (status != DSGD_OK)
        return status;
    char *const path = dsgd_xprintf("%s/manifest.json", t->folder);
    json_error_t why;
    json_t *const manifest = json_load_file(path, 0, &why);
    if (manifest == NULL)
        dsgd_fail(error, DSGD_EIO, "%s:%d: %s", path, why.line, why.text);
    free(path);
    if (manifest == NULL)
        return DSGD_EIO;
    json_t *const tried = json_array();
    for (size_t i = 0; i < t->n_trials; i++)
        json_array_append_new(tried, trial_json(t, &t->trials[i]));
    json_object_set_new(manifest, "tune",
                        json_pack("{s:s, s:o, s:s, s:i, s:o}", "on", on[t->on], "target",
                                  dsgd_json_text(t->target.text), "measure", t->target.column,
                                  "eta", DSGD_TUNE_ETA, "tried", tried));
    dsgd_whole_file file;
    FILE *const stream = dsgd_whole_open(&file, error, "%s/manifest.json", t->folder);
    if (stream != NULL) {
        json_dumpf(manifest, stream, JSON_INDENT(1));
        fputc('\n', stream);
        status = dsgd_whole_close(&file, error);
    }
    json_decref(manifest);
    return stream == NULL ? DSGD_EIO : status;
}
