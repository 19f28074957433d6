/**
 * @file record.c
 * All that was tried: tune.csv, and `tune` in the manifest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "command/experiment/config.h"
#include "command/studies/tune/tune.h"

static const char *const fates[] = {"dropped", "kept", "best"};

const char *dsgd_tune_length_text(const dsgd_tune *t, size_t length)
{
    const dsgd_until *const until = &t->lengths[length];
    const double bounds[] = {until->steps, until->seconds, until->samples};
    static const char *const units[] = {"steps", "s", "samples"};
    const char *text = "";
    for (size_t k = 0; k < 3; k++)
        if (bounds[k] > 0)
            text = dsgd_config_keep(t->config, "%s%s%.6g %s", text, *text == '\0' ? "" : ", ",
                                    bounds[k], units[k]);
    return text;
}

size_t dsgd_tune_option_of(const dsgd_tuned *a, const char *rest)
{
    size_t k = 0;
    while (k < a->n_options && strcmp(a->options[k].rest, rest) != 0)
        k++;
    return k;
}

static json_t *trial_json(const dsgd_tune *t, const dsgd_tuned *a, const dsgd_tune_trial *trial)
{
    json_t *const values = json_object(), *const seeds = json_array();
    for (size_t k = 0; k < a->n_options; k++)
        json_object_set_new(values, a->options[k].path,
                            dsgd_json_text(dsgd_tune_text_of(a, trial->candidate, k)));
    for (size_t s = 0; s < trial->n_seeds; s++)
        json_array_append_new(seeds, json_integer(t->seeds[s]));
    json_t *const place = isnan(trial->place) ? NULL : json_real(trial->place);
    json_t *const near = isnan(trial->near) ? NULL : json_real(trial->near);
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:o?, s:o?, s:b, s:s}", "algorithm",
        dsgd_json_text(a->label), "values", values, "rung", (json_int_t)trial->rung + 1, "until",
        dsgd_json_options(dsgd_until_options, &t->lengths[a->rungs[trial->rung].length]), "seeds",
        seeds, "reached", (json_int_t)trial->n_reached, "diverged", (json_int_t)trial->n_diverged,
        "to_target", place, "else", near, "ties", (int)trial->ties, "fate", fates[trial->fate]);
}

dsgd_status dsgd_tune_write(const dsgd_tune *t, dsgd_error *error)
{
    static const char *const on[] = {"time", "steps", "final"};
    const char *const folder = t->pool.folder;
    dsgd_whole_file file;
    json_t *const tried = json_array();
    if (dsgd_whole_open(&file, error, "%s/tune.csv", folder) == NULL)
        return DSGD_EIO;
    fputs("algorithm", file.stream);
    for (size_t j = 0; t->rests[j] != NULL; j++)
        fprintf(file.stream, ",%s", t->rests[j]);
    fprintf(file.stream, ",rung,length,seeds,reached,diverged,%s_to_target,%s_else,ties,fate\n",
            t->on == DSGD_TUNE_TIME ? "seconds" : "steps", t->target.column);
    for (const dsgd_tuned *a = t->algorithms; a < t->algorithms + t->n_algorithms; a++)
        for (size_t i = 0; i < a->n_trials; i++) {
            const dsgd_tune_trial *const x = &a->trials[i];
            dsgd_csv_text(file.stream, a->label);
            for (size_t j = 0; t->rests[j] != NULL; j++) {
                const size_t k = dsgd_tune_option_of(a, t->rests[j]);
                fputc(',', file.stream);
                dsgd_csv_text(file.stream,
                              k == a->n_options ? "" : dsgd_tune_text_of(a, x->candidate, k));
            }
            fprintf(file.stream, ",%zu,", x->rung + 1);
            dsgd_csv_text(file.stream, dsgd_tune_length_text(t, a->rungs[x->rung].length));
            fprintf(file.stream, ",%zu,%zu,%zu", x->n_seeds, x->n_reached, x->n_diverged);
            dsgd_csv_numbers(file.stream, (double[]){x->place, x->near}, 2);
            fprintf(file.stream, ",%d,%s\n", x->ties, fates[x->fate]);
            json_array_append_new(tried, trial_json(t, a, x));
        }
    dsgd_status status = dsgd_whole_close(&file, error);
    char *const path = dsgd_xprintf("%s/manifest.json", folder);
    json_error_t why;
    json_t *const manifest = json_load_file(path, 0, &why);
    if (status == DSGD_OK && manifest == NULL)
        status = dsgd_fail(error, DSGD_EIO, "%s:%d: %s", path, why.line, why.text);
    free(path);
    json_t *const tune = json_pack("{s:s, s:o, s:s, s:i, s:o}", "on", on[t->on], "target",
                                   dsgd_json_text(t->target.text), "measure", t->target.column,
                                   "eta", DSGD_TUNE_ETA, "tried", tried);
    json_object_set_new(manifest, "tune", tune); /* without a manifest, frees it */
    if (status == DSGD_OK)
        status = dsgd_manifest_write(folder, manifest, error);
    json_decref(manifest);
    return status;
}
