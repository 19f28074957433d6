/**
 * @file prepare.c
 * Data, devices, and what is left out.
 */
#include "command/runs/prepare.h"

#include <stdio.h>
#include <string.h>

#include "command/runs/splits.h"

/** Whether run @p i splits its samples among another number of workers than the run before. */
static bool splits_anew(const dsgd_experiment *experiment, size_t i)
{
    return dsgd_splits_has(experiment, i) &&
           (i == 0 || experiment->runs[i].config.workers != experiment->runs[i - 1].config.workers);
}

dsgd_status dsgd_prepare_data(const dsgd_experiment *experiment, dsgd_error *error)
{
    size_t n = experiment->n_runs > 0 ? 1 : 0;
    for (size_t k = 0; k < experiment->n_columns; k++)
        if (strncmp(experiment->columns[k], "learn", 5) == 0)
            n = experiment->n_unchanged;
    dsgd_status status = DSGD_OK;
    for (size_t i = 0; status == DSGD_OK && i < experiment->n_unchanged; i++) {
        const dsgd_run_config *const config = &experiment->runs[i].config;
        dsgd_split *split = NULL;
        if (config->learning != NULL && (i < n || splits_anew(experiment, i)))
            status =
                dsgd_learning_check(config->learning, config->seed, config->workers, &split, error);
        dsgd_split_free(split);
    }
    return status;
}

dsgd_status dsgd_prepare_device(const dsgd_experiment *experiment, bool explains, int *numerics,
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
    dsgd_error why = {""};
    if (*numerics == DSGD_NUMERICS_AUTO && learns &&
        dsgd_device_cuda_try(survey, &why) != DSGD_OK) {
        if (explains)
            fprintf(stderr, "dsgd: numerics on the CPU (%s)\n", why.text);
        *survey = (dsgd_device_survey){0};
        *numerics = DSGD_NUMERICS_CPU;
    }
    return DSGD_OK;
}

void dsgd_prepare_left_out(const dsgd_experiment *experiment)
{
    if (experiment->n_left_out > 0)
        fprintf(stderr, "dsgd: %zu of %zu runs are left out:\n%s", experiment->n_left_out,
                experiment->n_left_out + experiment->n_unchanged, experiment->left_out);
}
