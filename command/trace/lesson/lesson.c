/**
 * @file lesson.c
 * Implements lessons. Simulates an algorithm on a small problem and writes a lesson about this run.
 */
#include "command/trace/lesson/lesson.h"

#include "base/csv.h"
#include "base/file.h"
#include "command/analysis/plot.h"
#include "command/console/command.h"
#include "command/experiment/shipped.h"

const char *const dsgd_explain_formats[] = {"text", "svg", "pdf", "png", NULL};

enum { WORKERS = 4, LEAST_WORKERS = 2, MOST_WORKERS = 16, STEPS = 4, MOST_STEPS = 100, BATCH = 4 };

/**
 * Opens lesson.yaml for this algorithm and this number of workers. Applies the user's --set
 * assignments last.
 */
static dsgd_status open_file(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                             dsgd_experiment *experiment, dsgd_error *error)
{
    const int64_t workers = options->workers > 0 ? options->workers : WORKERS;
    char *const path = dsgd_xprintf("%s/plots/lesson/lesson.yaml", dsgd_data_folder());
    char *own[] = {dsgd_xprintf("workers=%jd", workers),
                   dsgd_xprintf("imbalance.0.worker=%jd", workers - 1),
                   dsgd_xprintf("learn.data.points=%jd", BATCH * (workers > 1 ? workers : 2)),
                   dsgd_xprintf("algorithms=[%s]", dsgd_yaml_of(path, algorithm->name))};
    enum { N_OWN = sizeof own / sizeof own[0] };
    const char *sets[DSGD_MOST_TEXTS + N_OWN];
    memcpy(sets, own, sizeof own);
    memcpy(sets + N_OWN, options->sets.v, options->sets.n * sizeof *sets);
    DSGD_TRY(dsgd_experiment_open(path, sets, N_OWN + options->sets.n, DSGD_NUMERICS_CPU,
                                  experiment, error));
    if (experiment->n_runs != 1)
        return dsgd_refuse(error, "explain: --set must leave one run for an algorithm, got %zu",
                           experiment->n_runs);
    return DSGD_OK;
}

static dsgd_status check(const dsgd_planned_run *planned, const dsgd_entry *algorithm,
                         dsgd_error *error)
{
    const dsgd_run_config *const config = &planned->config;
    double *bytes = NULL;
    const size_t n_pieces = dsgd_pieces_of(config, &bytes);
    free(bytes);
    const int n_servers = dsgd_n_servers(config);
    if (config->workers < LEAST_WORKERS || config->workers > MOST_WORKERS)
        return dsgd_refuse(error,
                           "explain: workers must be between %d and %d for an algorithm, got %d",
                           LEAST_WORKERS, MOST_WORKERS, config->workers);
    if (planned->algorithm.about != algorithm)
        return dsgd_refuse(error, "explain %s: --set must not change the algorithm, got %s",
                           algorithm->name, planned->algorithm.about->name);
    if (n_pieces != 1 || n_servers > 1)
        return dsgd_refuse(
            error,
            "explain: the model of two parameters must be one chunk (exchange.pieces: "
            "1, got %zu) and have at most one server (got %d)",
            n_pieces, n_servers);
    if (config->learning == NULL || strcmp(config->learning->model.about->name, "hyperplane") != 0)
        return dsgd_refuse(
            error,
            "explain: `learn` must not be set: the model of an algorithm's lesson is a line");
    return DSGD_OK;
}

/**
 * Largest number of steps of an average worker for each step of the lesson. A limit is needed
 * because some algorithms always cancel the steps of a slow worker.
 */
enum { MOST_LEAD = 25 };

/**
 * Reads the training points, which must have one feature. Fits the quadratic loss to these points.
 */
static dsgd_status read_quadratic(const dsgd_run_config *config, dsgd_quadratic *quadratic,
                                  dsgd_error *error)
{
    dsgd_data *data = NULL;
    dsgd_status status = DSGD_OK;
    DSGD_TRY(dsgd_data_open(&config->learning->data, config->seed, false, &data, error));
    if (data->n_features != 1 || data->train.targets == NULL)
        status =
            dsgd_refuse(error, "explain: the data must have one feature, got %u", data->n_features);
    else
        *quadratic = dsgd_quadratic_of(&data->train);
    dsgd_data_close(data);
    return status;
}

static dsgd_status simulate(const dsgd_planned_run *planned, int64_t n_steps, dsgd_lesson_run *run,
                            dsgd_error *error)
{
    static const bool all[MOST_WORKERS] = {true, true, true, true, true, true, true, true,
                                           true, true, true, true, true, true, true, true};
    dsgd_run_config config = planned->config;
    config.ledger = &run->ledger;
    config.numerics = DSGD_NUMERICS_CPU;
    config.threads = 1;
    config.memory_bytes = SIZE_MAX;
    config.until.steps = fmin(config.until.steps, MOST_LEAD * (double)n_steps);
    run->n_workers = config.workers;
    run->n_hosts = config.workers + dsgd_n_servers(&config);
    return dsgd_view_open(planned, &config, &(dsgd_timeline){.end_step = n_steps, .chosen = all},
                          &run->view, error);
}

static dsgd_status write_run(const char *name, const dsgd_explain_options *options,
                             const dsgd_lesson_run *run, dsgd_error *error)
{
    const char *const format = dsgd_explain_formats[options->format];
    const char *const path =
        options->output != NULL ? options->output : dsgd_xprintf("%s.%s", name, format);
    const bool is_text = options->format == DSGD_EXPLAIN_TEXT;
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = dsgd_text_open(&text, &size);
    (is_text ? dsgd_lesson_print : dsgd_lesson_write_csv)(run, stream);
    dsgd_text_close(stream, &text);
    if (is_text && options->output == NULL) {
        fputs(text, stdout);
        return DSGD_OK;
    }
    DSGD_TRY(is_text ? dsgd_text_write(path, text, size, error)
                     : dsgd_figure_write("lesson", text, options->size, format, path, error));
    printf("%s: %s, %d workers, %.6g s\n", path, name, run->n_workers, run->view.timeline->end_s);
    return DSGD_OK;
}

dsgd_status dsgd_lesson(const dsgd_entry *algorithm, const dsgd_explain_options *options,
                        dsgd_error *error)
{
    const int64_t n_steps = options->steps > 0 ? options->steps : STEPS;
    if (n_steps > MOST_STEPS)
        return dsgd_refuse(error, "--steps must be at most %d for an algorithm, got %jd",
                           MOST_STEPS, n_steps);
    dsgd_experiment experiment;
    dsgd_lesson_run *const run = dsgd_keep(1, sizeof *run);
    DSGD_TRY(open_file(algorithm, options, &experiment, error));
    const dsgd_planned_run *const planned = &experiment.runs[0];
    DSGD_TRY(check(planned, algorithm, error));
    DSGD_TRY(read_quadratic(&planned->config, &run->quadratic, error));
    DSGD_TRY(simulate(planned, n_steps, run, error));
    dsgd_lesson_apply(run);
    return write_run(algorithm->name, options, run, error);
}
