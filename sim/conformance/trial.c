/**
 * @file trial.c Runs trials in separate processes, because SimGrid has one engine per process, and
 * because the tested algorithm may crash or loop for ever.
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/child.h"
#include "base/draw.h"
#include "models/data/data.h"
#include "models/zoo/model.h"
#include "sim/conformance/checks.h"
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "sim/exchange/channels.h"
#include "sim/result.h"

/* --- configurations of trials ----------------------------------------------------------------- */

enum { SEED = 1 };

static dsgd_spec picked(const dsgd_entry *const *registry, const char *name)
{
    const dsgd_entry *const about = dsgd_entry_find(registry, name);
    DSGD_ASSERT(about != NULL, "nothing is called %s", name);
    return dsgd_spec_default(about);
}

static void set_number(const dsgd_spec *pick, const char *name, double value)
{
    const dsgd_option *const o = dsgd_option_find(pick->about->options, name);
    DSGD_ASSERT(o != NULL, "%s has no option %s", pick->about->name, name);
    dsgd_option_put(o, pick->params, value);
}

dsgd_trial *dsgd_trial_new(const dsgd_tester *t, const dsgd_setting *setting, int workers)
{
    dsgd_trial *const trial = dsgd_keep(1, sizeof *trial);
    /* the platform of a trial is a switch */
    trial->platform = (dsgd_platform){
        .host_bandwidth_bytes_per_s = 10e9, .host_latency_s = 1e-6, .doubling_bytes = 65536};
    trial->workload =
        (dsgd_workload){.bytes = 1e6, .step_s = 1, .samples = 128, .backward_share = 0.5};
    trial->learning = (dsgd_learning){.model = picked(dsgd_model_kinds, "hyperplane"),
                                      .data = picked(dsgd_data_sources, "hyperplane"),
                                      .batch = 12,
                                      .optimizer = {.lr = 0.05, .momentum = 0.9},
                                      .precision = t->how->in_double ? DSGD_PRECISION_DOUBLE
                                                                     : DSGD_PRECISION_FLOAT};
    set_number(&trial->learning.data, "features", 32);
    set_number(&trial->learning.data, "points", 2048);
    /* opens the data here once, so that all children share it; the children report errors */
    dsgd_data *data = NULL;
    dsgd_data_open(&trial->learning.data, SEED, true, &data, NULL);
    trial->config = (dsgd_run_config){.platform = &trial->platform,
                                      .network = t->how->network,
                                      .workload = &trial->workload,
                                      .imbalance = {0, trial->imbalance},
                                      .algorithm = t->algorithm,
                                      .params = setting->params,
                                      .workers = workers,
                                      .seed = SEED,
                                      .until = {.steps = 20},
                                      .exchange = {.overlap = true, .blocking = true},
                                      .learning = &trial->learning,
                                      .numerics = t->how->numerics,
                                      .threads = 1,
                                      .memory_bytes = (size_t)1 << 30};
    dsgd_trial_pieces(trial, 3);
    return trial;
}

void dsgd_trial_pieces(dsgd_trial *trial, int64_t pieces)
{
    const dsgd_run_config *const c = &trial->config;
    const dsgd_algorithm *const algorithm = c->algorithm;
    const int64_t least =
        algorithm->least_pieces == NULL ? 1 : algorithm->least_pieces(c->params, c->workers);
    trial->config.exchange.pieces = pieces > least ? pieces : least;
}

void dsgd_trial_imbalance(dsgd_trial *trial, const char *kind, const char *option, double value)
{
    DSGD_ASSERT(trial->config.imbalance.n < DSGD_TRIAL_IMBALANCES, "no room for %s", kind);
    const dsgd_spec pick = picked(dsgd_imbalance_kinds, kind);
    if (option != NULL)
        set_number(&pick, option, value);
    trial->imbalance[trial->config.imbalance.n++] = pick;
}

void dsgd_trial_points(dsgd_trial *trial, int64_t points)
{
    set_number(&trial->learning.data, "points", (double)points);
}

void dsgd_trial_disturb(dsgd_trial *trial)
{
    trial->workload.bytes = 4e9;
    trial->platform.message_overhead_s = 1e-3;
    dsgd_trial_imbalance(trial, "ramp", "seconds", 0.07);
    dsgd_trial_imbalance(trial, "delay", "seconds", 0.9);
}

/* --- functions that read and set the state of a run ------------------------------------------- */

/**
 * Computes the mean of the models of workers and servers. If servers share one model, each server
 * has only some chunks of the model.
 */
static void mean_of_all(dsgd_engine *engine, double *mean)
{
    const int n = engine->n_workers + engine->n_servers;
    const bool shared = !(engine->config->algorithm->traits & DSGD_WHOLE_SERVERS);
    double x[DSGD_TRIAL_PARAMS];
    memset(mean, 0, sizeof x);
    for (int w = 0; w < (shared ? engine->n_workers : n); w++) {
        dsgd_vector_read(engine->workers[w].learner.model, x);
        for (size_t i = 0; i < engine->learning.network.n_params; i++)
            mean[i] += x[i] / n;
    }
    for (size_t k = 0; shared && k < engine->layout.n_pieces && engine->n_servers > 0; k++) {
        dsgd_values_read(engine->learning.values, k,
                         dsgd_server_of(engine, k)->learner.model->piece[k].value, x);
        for (size_t i = engine->learning.piece_begin[k]; i < engine->learning.piece_begin[k + 1];
             i++)
            mean[i] += x[i - engine->learning.piece_begin[k]] / n;
    }
}

/**
 * Gives each worker and server a random initial model. If @p alike is true, all models are equal.
 */
static void begin(dsgd_engine *engine, dsgd_trial_outcome *outcome, bool alike)
{
    double x[DSGD_TRIAL_PARAMS];
    for (int w = 0; w < engine->n_workers + engine->n_servers; w++) {
        for (size_t i = 0; i < engine->learning.network.n_params; i++)
            x[i] = dsgd_draw_uniform(
                (dsgd_draw){5, DSGD_DRAW_DATA, alike ? 0 : (uint32_t)w, 0, (uint32_t)i});
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            dsgd_piece_set(engine, &engine->workers[w].learner.model->piece[k],
                           dsgd_values_constant(engine->learning.values, k, x), 0);
    }
    mean_of_all(engine, outcome->before);
}

void dsgd_begin_different(dsgd_engine *engine, void *outcome)
{
    begin(engine, outcome, false);
}

void dsgd_begin_alike(dsgd_engine *engine, void *outcome)
{
    begin(engine, outcome, true);
}

static void inspect(dsgd_engine *engine, void *argument)
{
    dsgd_trial_outcome *const outcome = argument;
    if (engine->learning.values == NULL)
        return;
    outcome->n_params = engine->learning.network.n_params;
    for (int w = 0; w < engine->n_workers; w++)
        dsgd_vector_read(engine->workers[w].learner.model, outcome->x[w]);
    mean_of_all(engine, outcome->after);
}

/* --- the child process ------------------------------------------------------------------------ */

typedef struct child_job {
    const dsgd_trial *trial;
    double limit_s;
    int errors; /* file descriptor that replaces the child's standard error; a negative number if
                 * nothing replaces it */
} child_job;

/**
 * Limits the time of the current process. A process counts as hanging if it computes longer than
 * its limit, or lasts ten times as long as its limit.
 */
static void limit(const child_job *job)
{
    const struct rlimit none = {0, 0};
    const struct rlimit cpu = {(rlim_t)ceil(job->limit_s), (rlim_t)ceil(job->limit_s) + 1};
    signal(SIGXCPU, SIG_DFL); /* SIGXCPU kills the process; the parent then reports that it hangs */
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm((unsigned)ceil(10 * job->limit_s));
    if (job->errors >= 0)
        dup2(job->errors, STDERR_FILENO);
}

static dsgd_status simulate(const void *argument, void *report, dsgd_error *error)
{
    const child_job *const job = argument;
    dsgd_trial_outcome *const outcome = report;
    dsgd_run_config config = job->trial->config;
    dsgd_run_result result;
    limit(job);
    config.inspect = inspect;
    config.inspect_argument = outcome;
    DSGD_TRY(dsgd_simulate(&config, &result, error));
    outcome->left = result.why;
    outcome->virtual_s = result.virtual_s;
    outcome->steps = result.steps;
    outcome->messages = result.messages;
    outcome->first_loss = result.n_points > 0 ? result.points[0].at.loss : NAN;
    outcome->last_loss = result.n_points > 0 ? result.points[result.n_points - 1].at.loss : NAN;
    outcome->farthest = 0;
    /*
     * finds the largest difference of an evaluation from the first loss, relative to the first loss
     */
    for (size_t i = 0; i < result.n_points; i++) {
        const dsgd_evaluation *const e = &result.points[i].at;
        const double change =
            fmax(fabs(e->loss - outcome->first_loss), e->consensus) / outcome->first_loss;
        if (change <= outcome->farthest)
            continue;
        outcome->farthest = change;
        outcome->farthest_s = result.points[i].virtual_s;
    }
    if (result.outcome == DSGD_RUN_OK)
        return DSGD_OK;
    return dsgd_fail(error, DSGD_ERUNS, "the run %s: %s",
                     result.outcome == DSGD_RUN_DIVERGED ? "diverged" : "failed", result.why.text);
}

/**
 * Appends to @p why the message that the child printed before a bug or a broken contract ended it.
 */
static void append_assertion(dsgd_error *why, FILE *errors)
{
    char line[400];
    if (errors == NULL)
        return;
    rewind(errors);
    while (fgets(line, sizeof line, errors) != NULL) {
        if (strncmp(line, "dsgd: ", 6) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        const size_t n = strlen(why->text);
        snprintf(why->text + n, sizeof why->text - n, ": %s", line + 6);
        return;
    }
}

dsgd_status dsgd_trial_run(dsgd_tester *t, const dsgd_trial *trial, dsgd_trial_outcome *outcome)
{
    FILE *const errors = tmpfile();
    const child_job job = {trial, t->how->limit_s, errors == NULL ? -1 : fileno(errors)};
    memset(outcome, 0, sizeof *outcome);
    t->why.text[0] = '\0';
    const dsgd_status status =
        dsgd_in_child(simulate, &job, outcome, sizeof *outcome, "the simulation died", &t->why);
    /*
     * DSGD_EIO means here that the process died, because the process itself reads and writes no
     * file
     */
    if (status == DSGD_EIO) {
        t->hung = strstr(t->why.text, "CPU time") != NULL || strstr(t->why.text, "Alarm") != NULL;
        append_assertion(&t->why, errors);
        if (strstr(t->why.text, "Segmentation fault") != NULL)
            dsgd_fail(&t->why, DSGD_OK,
                      "%s; a pointer is invalid, or memory of the run was freed. gdb "
                      "shows where, with `dsgd run --plugin`",
                      dsgd_xstrdup(t->why.text));
    }
    if (errors != NULL)
        fclose(errors);
    return status == DSGD_OK || status == DSGD_EUSAGE ? status : DSGD_ERUNS;
}

/* --- distances between models ----------------------------------------------------------------- */

double dsgd_trial_distance(const double *a, const double *b, size_t n)
{
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

double dsgd_trial_rounding(const dsgd_tester *t)
{
    return t->how->in_double ? 1e-12 : 1e-5;
}
