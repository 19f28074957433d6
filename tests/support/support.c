/**
 * @file support.c
 * Simulates the runs of tests, each in its own process.
 */
#include "tests/support/support.h"

#include <check.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/draw.h"
#include "sim/engine/vectors.h"
#include "sim/exchange/channels.h"
#include "tests/support/stream.h"

support_outcome *support_current;

/* reserved address space; most of it is never used */
static const size_t outcome_bytes = (size_t)1 << 30;

void *support_alloc(size_t n, size_t size)
{
    return dsgd_keep(n, size);
}

void *support_params(const dsgd_entry *about)
{
    void *const params = support_alloc(1, about->params_size + 1);
    if (about->options != NULL)
        dsgd_options_default(about->options, params);
    return params;
}

dsgd_spec support_picked(const dsgd_entry *const *registry, const char *name, const char *option,
                         double value)
{
    const dsgd_entry *const about = dsgd_entry_find(registry, name);
    DSGD_ASSERT(about != NULL, "nothing is called %s", name);
    const dsgd_spec found = {about, support_params(about)};
    if (option != NULL)
        support_set(about, found.params, option, value);
    return found;
}

static dsgd_spec pick(const dsgd_entry *const *registry, const char *name)
{
    return support_picked(registry, name, NULL, 0);
}

void support_set(const dsgd_entry *about, void *params, const char *name, double value)
{
    for (const dsgd_option *o = about->options; o->name != NULL; o++) {
        if (strcmp(o->name, name) != 0)
            continue;
        char *const field = (char *)params + o->offset;
        if (o->kind == DSGD_LONG)
            *(long *)(void *)field = (long)value;
        else if (o->kind == DSGD_CHOICE)
            *(int *)(void *)field = (int)value;
        else if (o->kind == DSGD_BOOL)
            *(bool *)(void *)field = value != 0;
        else if (o->kind == DSGD_DOUBLE)
            *(double *)(void *)field = value;
        else
            ck_abort_msg("%s is no number", name);
        return;
    }
    ck_abort_msg("%s has no option %s", about->name, name);
}

static bool device_is(const char *name)
{
    const char *const wanted = getenv("DSGD_TEST_DEVICE");
    return wanted != NULL && strcmp(wanted, name) == 0;
}

dsgd_numerics support_numerics(void)
{
    return device_is("cuda") ? DSGD_NUMERICS_CUDA : DSGD_NUMERICS_CPU;
}

bool support_in_float(void)
{
    return device_is("cuda") || device_is("cpu-float");
}

double support_rounding(void)
{
    return support_in_float() ? 1e-5 : 1e-12;
}

enum { SEED = 1 };

static dsgd_spec hyperplane(void)
{
    const dsgd_spec data = support_picked(dsgd_data_sources, "hyperplane", "features", 32);
    support_set(data.about, data.params, "points", 4096);
    return data;
}

bool support_keep_data(void)
{
    const dsgd_spec source = hyperplane();
    dsgd_data *data = NULL;
    return dsgd_data_open(&source, SEED, true, &data, NULL) == DSGD_OK;
}

support_case *support_new(const char *algorithm, int workers)
{
    support_case *c = support_alloc(1, sizeof *c);
    c->platform = (dsgd_platform){.topology = DSGD_TOPOLOGY_SWITCH,
                                  .host_bandwidth_bytes_per_s = 10e9,
                                  .host_latency_s = 1e-6,
                                  .eager_bytes = 8192,
                                  .doubling_bytes = 65536};
    c->workload = (dsgd_workload){.bytes = 1e6, .step_s = 1, .samples = 128, .backward_share = 0.5};
    c->learning = (dsgd_learning){.model = pick(dsgd_model_kinds, "hyperplane"),
                                  .data = hyperplane(),
                                  .batch = 4,
                                  .optimizer = {.lr = 0.05, .momentum = 0.9},
                                  .precision = support_in_float() ? DSGD_PRECISION_FLOAT
                                                                  : DSGD_PRECISION_DOUBLE};
    c->config = (dsgd_run_config){.platform = &c->platform,
                                  .workload = &c->workload,
                                  .inherent = true,
                                  .imbalance = {0, c->imbalance},
                                  .workers = workers,
                                  .seed = SEED,
                                  .until = {.steps = 20},
                                  .exchange = {.pieces = 1, .overlap = true, .blocking = true},
                                  .learning = &c->learning,
                                  .numerics = support_numerics(),
                                  .threads = 1,
                                  .memory_bytes = (size_t)1 << 30};
    if (algorithm != NULL) {
        const dsgd_spec picked = pick(dsgd_algorithms, algorithm);
        c->config.algorithm = (const dsgd_algorithm *)picked.about;
        c->config.params = picked.params;
        const dsgd_algorithm *const a = c->config.algorithm;
        if (a->least_pieces != NULL)
            c->config.exchange.pieces = a->least_pieces(c->config.params, workers);
    }
    return c;
}

void *support_spec(support_case *c, const char *name, const char *wanted)
{
    for (const dsgd_option *o = c->config.algorithm->about.options; o->name != NULL; o++) {
        if (strcmp(o->name, name) != 0)
            continue;
        dsgd_spec *const field =
            (dsgd_spec *)(void *)((char *)(void *)c->config.params + o->offset);
        *field = pick(o->registry, wanted);
        return field->params;
    }
    ck_abort_msg("%s has no option %s", c->config.algorithm->about.name, name);
    return NULL;
}

int support_n_algorithms(void)
{
    int n = 0;
    while (dsgd_algorithms[n] != NULL)
        n++;
    return n;
}

bool support_has(const support_case *c, const char *name)
{
    const dsgd_option *o = c->config.algorithm->about.options;
    for (; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

support_case *support_of(const dsgd_algorithm *algorithm, int workers)
{
    support_case *const c = support_new(NULL, workers);
    c->config.algorithm = algorithm;
    return c;
}

void support_steps_each(support_case *c, long steps)
{
    c->config.until = (dsgd_until){0};
    c->config.steps_each = steps;
}

void support_option(support_case *c, const char *name, double value)
{
    support_set(&c->config.algorithm->about, (void *)c->config.params, name, value);
}

void support_options(support_case *c, size_t n, const support_number *options)
{
    for (size_t i = 0; i < n; i++)
        support_option(c, options[i].name, options[i].value);
}

void support_dies(support_case *c, size_t n, dsgd_failure_event *events)
{
    c->config.failures = (dsgd_failures_config){.policy = DSGD_POLICY_NONE, .events = {n, events}};
}

void *support_imbalance(support_case *c, const char *kind)
{
    ck_assert_uint_lt(c->config.imbalance.n, SUPPORT_IMBALANCES);
    const dsgd_spec picked = pick(dsgd_imbalance_kinds, kind);
    c->imbalance[c->config.imbalance.n++] = picked;
    return picked.params;
}

void support_imbalance_numbers(support_case *c, const char *kind, size_t n,
                               const support_number *numbers)
{
    void *const params = support_imbalance(c, kind);
    for (size_t i = 0; i < n; i++)
        support_set(dsgd_entry_find(dsgd_imbalance_kinds, kind), params, numbers[i].name,
                    numbers[i].value);
}

void support_imbalance_number(support_case *c, const char *kind, const char *name, double value)
{
    IMBALANCE(c, kind, {name, value});
}

void support_use_mlp(support_case *c)
{
    c->learning.model = pick(dsgd_model_kinds, "mlp");
    c->learning.data = pick(dsgd_data_sources, "fashion-mnist");
}

support_case *support_no_learning(support_case *c)
{
    c->config.learning = NULL;
    return c;
}

/**
 * Sets @p mean to the mean of the models of all workers and servers. Only the first SUPPORT_PARAMS
 * parameters are computed.
 */
static void mean_of_all(dsgd_engine *engine, double *mean)
{
    const int n = engine->n_workers + engine->n_servers;
    const size_t n_params = engine->learning.network.n_params;
    double *const x = dsgd_keep(n_params, sizeof *x);
    for (int w = 0; w < engine->n_workers; w++) {
        dsgd_vector_read(engine->workers[w].learner.model, x);
        for (size_t i = 0; i < n_params && i < SUPPORT_PARAMS; i++)
            mean[i] += x[i] / n;
    }
    /* Each piece of the model belongs to one server. */
    for (size_t k = 0; k < engine->layout.n_pieces && engine->n_servers > 0; k++) {
        const dsgd_worker *const s =
            &engine->workers[engine->n_workers + (int)(k % (size_t)engine->n_servers)];
        dsgd_values_read(engine->learning.values, k, s->learner.model->piece[k].value, x);
        for (size_t i = engine->learning.piece_begin[k]; i < engine->learning.piece_begin[k + 1];
             i++)
            if (i < SUPPORT_PARAMS)
                mean[i] += x[i - engine->learning.piece_begin[k]] / n;
    }
}

static void spread(dsgd_engine *engine, void *argument)
{
    const size_t n = engine->learning.network.n_params;
    double *const x = dsgd_keep(n, sizeof *x);
    for (int w = 0; w < engine->n_workers + engine->n_servers && engine->learning.values != NULL;
         w++) {
        for (size_t i = 0; i < n; i++)
            x[i] = dsgd_draw_uniform((dsgd_draw){5, DSGD_DRAW_DATA, (uint32_t)w, 0, (uint32_t)i});
        dsgd_vector *const model = engine->workers[w].learner.model;
        for (size_t k = 0; k < engine->layout.n_pieces; k++)
            dsgd_piece_set(engine, &model->piece[k],
                           dsgd_values_constant(engine->learning.values, k, x), 0);
    }
}

void support_spread(support_case *c)
{
    c->config.prepare = spread;
}

/**
 * Runs at the end of the simulation. Copies the models of all workers, and sums the push-sum
 * weights.
 */
static void inspect(dsgd_engine *engine, void *argument)
{
    support_outcome *const outcome = argument;
    outcome->weight = dsgd_gossip_weight(engine);
    if (engine->learning.values == NULL)
        return;
    outcome->n_params = engine->learning.network.n_params;
    for (int w = 0; w < engine->n_workers; w++)
        dsgd_vector_read(engine->workers[w].learner.model,
                         outcome->x + (size_t)w * outcome->n_params);
    mean_of_all(engine, outcome->final_mean);
}

static void simulate_here(const support_case *c, support_outcome *outcome)
{
    dsgd_run_config config = c->config;
    config.inspect = inspect;
    config.inspect_argument = outcome;
    support_current = outcome;
    dsgd_run_result result;
    outcome->status = dsgd_simulate(&config, &result, &outcome->error);
    if (outcome->status != DSGD_OK)
        return;
    outcome->result = result;
    ck_assert_uint_le(result.n_points, SUPPORT_POINTS);
    for (size_t i = 0; i < result.n_points; i++)
        outcome->points[i] = result.points[i];
    for (size_t i = 0; i < result.ages.n && i < SUPPORT_AGES; i++)
        outcome->ages[i] = result.ages.share[i];
    for (size_t i = 0; i < result.gradient_ages.n && i < SUPPORT_AGES; i++)
        outcome->gradient_ages[i] = result.gradient_ages.share[i];
    ck_assert_uint_le(result.step_times.n, SUPPORT_STEP_BINS);
    for (size_t i = 0; i < result.step_times.n; i++)
        outcome->step_times[i] = result.step_times.bin[i];
    outcome->result.step_times.bin = outcome->step_times;
    for (size_t i = 0; i < result.n_loads && i < SUPPORT_LOADS; i++) {
        support_load *const load = &outcome->loads[i];
        snprintf(load->name, sizeof load->name, "%s", result.loads[i].link);
        load->bytes = result.loads[i].bytes;
        load->bytes_per_s = result.loads[i].bytes_per_s;
    }
    dsgd_run_result_free(&result);
}

support_outcome *support_simulate(const support_case *c)
{
    support_outcome *outcome = mmap(NULL, outcome_bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(outcome, MAP_FAILED);
    fflush(stdout); /* without this call, the child process would print the buffered text again */
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        simulate_here(c, outcome);
        _exit(0);
    }
    int state = 0;
    waitpid(child, &state, 0);
    ck_assert_msg(WIFEXITED(state) && WEXITSTATUS(state) == 0, "the simulation of %s died (%d)",
                  c->config.algorithm->about.name, state);
    return outcome;
}

support_outcome *support_ok(const support_case *c)
{
    support_outcome *outcome = support_simulate(c);
    ck_assert_msg(outcome->status == DSGD_OK, "%s", outcome->error.text);
    ck_assert_msg(outcome->result.outcome == DSGD_RUN_OK, "%s: %s", c->config.algorithm->about.name,
                  outcome->result.why.text);
    return outcome;
}

void support_function_aborts(void (*function)(const void *argument), const void *argument,
                             const char *sentence)
{
    FILE *const said = tmpfile();
    ck_assert_ptr_nonnull(said);
    fflush(stdout);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(fileno(said), STDERR_FILENO);
        function(argument);
        _exit(0);
    }
    int state = 0;
    waitpid(child, &state, 0);
    char text[2000];
    rewind(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    fclose(said);
    ck_assert_msg(WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT, "state %d: %s", state, text);
    ck_assert_msg(strstr(text, sentence) != NULL, "no `%s` in: %s", sentence, text);
}

static void simulate_case(const void *c)
{
    dsgd_run_result result;
    dsgd_simulate(&((const support_case *)c)->config, &result, NULL);
}

void support_expect_abort(const support_case *c, const char *sentence)
{
    support_function_aborts(simulate_case, c, sentence);
}

double *support_mean_model(const support_outcome *outcome, int workers)
{
    double *mean = support_alloc(outcome->n_params, sizeof *mean);
    for (int w = 0; w < workers; w++)
        for (size_t i = 0; i < outcome->n_params; i++)
            mean[i] += outcome->x[(size_t)w * outcome->n_params + i] / workers;
    return mean;
}

support_problem *support_problem_new(const support_case *c)
{
    support_problem *const p = support_alloc(1, sizeof *p);
    const dsgd_spec *const source = &c->learning.data, *const model = &c->learning.model;
    ck_assert_int_eq(dsgd_data_open(source, c->config.seed, false, &p->data, NULL), DSGD_OK);
    ck_assert_int_eq(dsgd_model_build((const dsgd_model_kind *)model->about, model->params, p->data,
                                      &p->network, NULL),
                     DSGD_OK);
    p->stream = (dsgd_stream){c->config.seed, p->data->train.n, (uint32_t)c->config.workers,
                              (uint32_t)c->learning.batch, NULL};
    dsgd_split *split = NULL;
    ck_assert_int_eq(dsgd_split_new(&c->learning.split, p->data, c->config.seed,
                                    p->stream.n_workers,
                                    c->config.algorithm->traits & DSGD_OWN_BATCHES, &split, NULL),
                     DSGD_OK);
    p->stream.split = split;
    p->count = p->stream.batch;
    return p;
}

/** Returns the prediction error of a sample: the linear model's output minus the target. */
static double error_of(const support_problem *p, const dsgd_samples *samples, size_t i,
                       const double *x)
{
    const double *const weights = x + p->network.layers[0].params;
    double error = x[p->network.n_params - 1] - (double)samples->targets[i];
    for (uint32_t f = 0; f < p->data->n_features; f++)
        error += weights[f] * (double)samples->x_real[i * p->data->n_features + f];
    return error;
}

void support_gradient(void *problem, int worker, long step, const double *x, double *g)
{
    const support_problem *const p = problem;
    memset(g, 0, p->network.n_params * sizeof *g);
    for (uint32_t j = 0; j < p->count; j++) {
        const uint32_t i = stream_sample(&p->stream, (uint32_t)worker, (uint64_t)step, j);
        const float *const sample = p->data->train.x_real + (size_t)i * p->data->n_features;
        const double error = error_of(p, &p->data->train, i, x);
        for (uint32_t f = 0; f < p->data->n_features; f++)
            g[p->network.layers[0].params + f] += error * (double)sample[f] / p->count;
        g[p->network.n_params - 1] += error / p->count;
    }
}

double support_loss(const support_problem *p, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < p->data->test.n; i++) {
        const double error = error_of(p, &p->data->test, i, x);
        sum += error * error / 2;
    }
    return sum / (double)p->data->test.n;
}

double *support_plain_sgd(const support_case *c, long steps)
{
    support_problem *const p = support_problem_new(c);
    const size_t n = p->network.n_params;
    double *const x = support_alloc(n, sizeof *x), *const v = dsgd_keep(n, sizeof *v);
    double *const g = dsgd_keep(n, sizeof *g);
    dsgd_network_initial(&p->network, c->config.seed, x);
    for (long t = 0; t < steps; t++) {
        support_gradient(p, 0, t, x, g);
        for (size_t i = 0; i < n; i++) {
            v[i] = c->learning.optimizer.momentum * v[i] + g[i] +
                   c->learning.optimizer.weight_decay * x[i];
            x[i] -= c->learning.optimizer.lr * v[i];
        }
    }
    return x;
}

void support_expect_kept_mean(support_case *c)
{
    const int p = c->config.workers;
    /* only step 0 trains, so that models differ, and later steps only mix */
    c->drop = (dsgd_lr_drop){1, 0};
    c->learning.optimizer.decay = (dsgd_structs){1, &c->drop};
    c->learning.optimizer.momentum = 0;
    c->config.until.steps = SUPPORT_MIXING_STEPS + 4;
    const support_outcome *mixed = support_ok(c);
    c->config.algorithm = &support_alone;
    const support_outcome *alone = support_ok(c);
    const double *mean = support_mean_model(mixed, p), *want = support_mean_model(alone, p);
    ck_assert_double_gt(support_distance(alone->x, want, mixed->n_params),
                        1e-3); /* after step 0, the models of the workers differ */
    ck_assert_double_lt(support_distance(mixed->x, alone->x, mixed->n_params * (size_t)p), 10);
    ck_assert_double_gt(support_distance(mixed->x, alone->x, mixed->n_params * (size_t)p),
                        1e-3); /* mixing has changed the models of the workers */
    ck_assert_double_le(support_distance(mean, want, mixed->n_params), 1e-12);
}

static void averaging_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
        dsgd_allreduce_mean(self, x, DSGD_WORLD);
    }
}

const dsgd_algorithm support_averaging = {.about = {.name = "averaging"}, .work = averaging_work};

static void alone_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g = dsgd_vector_new(self);
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g, x);
        dsgd_local_step(self, x, g);
    }
}

const dsgd_algorithm support_alone = {.about = {.name = "alone"}, .work = alone_work};

double support_volley_s(const dsgd_machine *machine, const int *to, double bytes)
{
    double seconds = 0;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_machine_check(machine, &error) == DSGD_OK &&
                      dsgd_machine_time(machine, to, bytes, &seconds, &error) == DSGD_OK,
                  "%s", error.text);
    return seconds;
}
