/**
 * @file study.c
 * Executes a study. Makes its folder, executes its rounds, and calls its function conclude().
 */
#include "command/studies/study.h"

#include "base/file.h"
#include "command/analysis/verdict.h"
#include "command/runs/prepare.h"

dsgd_status dsgd_study_prepare(dsgd_pool_config *config, dsgd_error *error)
{
    if (config->numerics != DSGD_NUMERICS_OFF)
        DSGD_TRY(dsgd_prepare_data(config->experiment, error));
    return dsgd_prepare_device(config->experiment, &config->numerics, &config->gpus, error);
}

dsgd_status dsgd_study_check_length(const dsgd_experiment *experiment, size_t n_runs,
                                    dsgd_error *error)
{
    return n_runs <= DSGD_MOST_RUNS
               ? DSGD_OK
               : dsgd_refuse(error,
                             "%s: the experiment leads to %zu runs, but at most %d are possible; "
                             "shorten a list or a sweep",
                             experiment->path, n_runs, DSGD_MOST_RUNS);
}

dsgd_status dsgd_study_outcomes(const char *folder, size_t n_runs, const char **why,
                                dsgd_error *error)
{
    dsgd_csv runs;
    dsgd_verdicts v;
    DSGD_TRY(dsgd_csv_read(&runs, error, "%s/runs.csv", folder));
    DSGD_TRY(dsgd_verdicts_open(&runs, folder, &(dsgd_framing){.by = NULL}, NULL, NULL, &v, error));
    for (size_t row = 0; row < runs.n_rows; row++) {
        const double run = dsgd_csv_value(&runs, row, dsgd_csv_column(&runs, "run"));
        if (run >= 1 && run <= (double)n_runs)
            why[(size_t)run - 1] = v.out[row];
    }
    return DSGD_OK;
}

dsgd_status dsgd_study_run(const dsgd_study *study, dsgd_pool_config *config,
                           const dsgd_texts *plugins, dsgd_error *error)
{
    char *const meanwhile = config->folder == NULL ? dsgd_folder_new(NULL, error) : NULL;
    config->folder = config->folder == NULL ? meanwhile : config->folder;
    if (config->folder == NULL)
        return DSGD_EIO;
    const dsgd_results_config where = {.folder = config->folder,
                                       .experiment = config->experiment,
                                       .command = config->command,
                                       .plugins = plugins,
                                       .numerics = config->numerics,
                                       .force = config->anew};
    void *const state = study->rounds.state;
    dsgd_pool_counts done = {0};
    dsgd_status status = dsgd_results_open(&where, &config->results, error);
    if (status == DSGD_OK && study->plan != NULL)
        status = study->plan(state, error);
    if (status == DSGD_OK) {
        status = dsgd_pool_run(config, &study->rounds, &done, error);
        if (status == DSGD_ERUNS && meanwhile != NULL)
            dsgd_fail(error, status, "interrupted; no results are kept");
    }
    if (status == DSGD_OK)
        status = study->conclude(state, &done, error);
    dsgd_folder_remove(meanwhile);
    return status;
}
