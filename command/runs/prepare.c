/**
 * @file prepare.c
 * Checks training data, splits and devices. Prints the skipped runs.
 */
#include "command/runs/prepare.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/csv.h"
#include "base/json.h"
#include "command/console/table.h"

/** Returns true if the samples of run @p i are split among the workers. */
static bool is_split(const dsgd_experiment *experiment, size_t i)
{
    const dsgd_learning *const learning = experiment->runs[i].config.learning;
    return learning != NULL && learning->split.about != NULL &&
           ((const dsgd_split_kind *)learning->split.about)->deal != NULL;
}

/**
 * Returns a text with a registry entry and all of its options. Returns "" if no entry is chosen.
 */
static const char *all_of(const dsgd_spec *pick)
{
    if (pick->about == NULL)
        return "";
    json_t *const options = dsgd_json_options(pick->about->options, pick->params);
    return dsgd_xprintf("%s %s", pick->about->name, json_dumps(options, JSON_COMPACT));
}

/** Adds a name to a set. Returns false if the set already contains the name. */
static bool is_new(json_t *seen, const char *name)
{
    const bool is = json_object_get(seen, name) == NULL;
    json_object_set_new(seen, name, json_null());
    return is;
}

dsgd_status dsgd_prepare_data(const dsgd_experiment *experiment, dsgd_error *error)
{
    size_t n = experiment->n_runs > 0 ? 1 : 0;
    for (size_t k = 0; k < experiment->n_columns; k++)
        if (strncmp(experiment->columns[k], "learn", 5) == 0)
            n = experiment->n_unchanged;
    json_t *const seen = json_object(); /* names of the data and splits that have already been
                                         * checked */
    for (size_t i = 0; i < experiment->n_unchanged; i++) {
        const dsgd_run_config *const config = &experiment->runs[i].config;
        dsgd_split *split = NULL;
        const bool own = config->algorithm->traits & DSGD_OWN_BATCHES;
        const bool splits_anew =
            own || (is_split(experiment, i) &&
                    (i == 0 || config->workers != experiment->runs[i - 1].config.workers));
        if (config->learning == NULL || !(i < n || splits_anew))
            continue;
        const char *const name =
            dsgd_xprintf("%s, %s, %s, %d, %" PRIu64 ", %s %jd", all_of(&config->learning->data),
                         all_of(&config->learning->model), all_of(&config->learning->split),
                         config->workers, config->seed, own ? config->algorithm->about.name : "",
                         own ? (intmax_t)config->learning->batch : 0);
        if (is_new(seen, name))
            DSGD_TRY(dsgd_learning_check(config, &split, error));
        free(split);
    }
    return DSGD_OK;
}

dsgd_status dsgd_prepare_device(const dsgd_experiment *experiment, int *numerics,
                                dsgd_device_survey *survey, dsgd_error *error)
{
    *survey = (dsgd_device_survey){0};
    bool learns = false;
    for (size_t i = 0; i < experiment->n_runs; i++) {
        const dsgd_learning *const learning = experiment->runs[i].config.learning;
        learns = learns || (learning != NULL && learning->precision == DSGD_PRECISION_FLOAT);
    }
    if (*numerics == DSGD_NUMERICS_CUDA)
        return dsgd_device_cuda_try(survey, error);
    if (*numerics == DSGD_NUMERICS_AUTO && learns &&
        dsgd_device_cuda_try(survey, NULL) != DSGD_OK) {
        *survey = (dsgd_device_survey){0};
        *numerics = DSGD_NUMERICS_CPU;
    }
    return DSGD_OK;
}

void dsgd_prepare_left_out(const dsgd_experiment *experiment)
{
    if (experiment->n_left_out > 0)
        fprintf(stderr, "dsgd: %zu of %zu runs are skipped:\n%s", experiment->n_left_out,
                experiment->n_left_out + experiment->n_unchanged, experiment->left_out);
}

/* --- splits of samples ------------------------------------------------------------------------ */

/** Returns a short text with a registry entry and its options, such as "dirichlet alpha=0.1". */
static const char *words_of(const dsgd_spec *pick)
{
    json_t *const options = dsgd_json_options(pick->about->options, pick->params);
    char *words = dsgd_xstrdup(pick->about->name);
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(options, name, value)
    {
        dsgd_append(&words, " %s=%s", name,
                    json_is_string(value) ? json_string_value(value)
                                          : dsgd_csv_number_text(json_number_value(value)));
    }
    return words;
}

/** Returns true if run @p i splits samples in another way than all earlier runs. */
static bool has_another(const dsgd_experiment *experiment, size_t i, json_t *seen)
{
    if (!is_split(experiment, i))
        return false;
    void *const mark = dsgd_mark();
    const dsgd_planned_run *const run = &experiment->runs[i];
    const bool is = is_new(
        seen, dsgd_xprintf("%s, %s, %d, %" PRIu64, words_of(&run->learning.split),
                           words_of(&run->learning.data), run->config.workers, run->config.seed));
    if (!is)
        dsgd_drop(mark);
    return is;
}

static void print_one(const dsgd_planned_run *run)
{
    dsgd_split *split = NULL;
    if (dsgd_learning_check(&run->config, &split, NULL) != DSGD_OK)
        return;
    const dsgd_split_summary s = dsgd_split_summarise(split);
    const char *const samples =
        s.least == s.most ? dsgd_xprintf("%u", s.least) : dsgd_xprintf("%u to %u", s.least, s.most);
    dsgd_print_text(
        dsgd_xprintf("split %s:", words_of(&run->learning.split)), 2,
        "%d workers, seed %" PRIu64 ": each worker has %s samples, of %.3g of %u classes on "
        "average; total-variation distance from all samples %.3g",
        run->config.workers, run->config.seed, samples, s.classes, split->n_classes, s.distance);
    free(split);
}

void dsgd_splits_print(const dsgd_experiment *experiment)
{
    enum { MOST_LINES = 10 };
    json_t *const seen = json_object();
    size_t n = 0;
    for (size_t i = 0; i < experiment->n_unchanged; i++)
        if (has_another(experiment, i, seen) && n++ < MOST_LINES)
            print_one(&experiment->runs[i]);
    if (n > MOST_LINES)
        printf("... %zu more splits\n", n - MOST_LINES);
}
