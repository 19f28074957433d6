/**
 * @file test_record.c
 * Records: what is replayed is the run, at any number of threads, whether the run computed or not;
 * and what is damaged, foreign or made of something else is refused with a sentence.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "command/run/curve.h"
#include "models/record/format.h"
#include "models/record/record.h"
#include "models/record/replay.h"
#include "models/zoo/network.h"
#include "tests/suites.h"
#include "tests/support/support.h"

static char folder[] = "/tmp/dsgd-record-XXXXXX";

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char *const command = dsgd_xprintf("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    free(command);
}

/** A path in the folder; a few are remembered at a time. */
static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static size_t next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* --- runs and replays ------------------------------------------------------------------------- */

/** Three pieces, a delayed worker, an evaluation at every fifth step. */
static support_case *recorded(const char *algorithm, int workers, const char *name)
{
    support_case *const c = support_new(algorithm, workers);
    c->config.exchange.pieces = 3;
    c->learning.evaluate.every = 5;
    c->learning.evaluate.local = true;
    support_imbalance_number(c, "ramp", "seconds", 0.3);
    c->config.record = dsgd_xstrdup(in_folder(name));
    c->config.record_about = "{\"run\": 7, \"label\": \"some\"}";
    return c;
}

static dsgd_status replay_with(const char *path, uint32_t threads, int precision,
                               dsgd_replay_result *result, dsgd_error *error)
{
    const dsgd_replay_config config = {.path = path,
                                       .numerics = DSGD_NUMERICS_CPU,
                                       .precision = precision,
                                       .threads = threads,
                                       .memory_bytes = (size_t)1 << 30};
    return dsgd_replay(&config, result, error);
}

static dsgd_replay_result replay(const char *path, uint32_t threads)
{
    dsgd_replay_result result;
    dsgd_error error = {""};
    ck_assert_msg(replay_with(path, threads, -1, &result, &error) == DSGD_OK, "%s", error.text);
    return result;
}

/** The bytes of rows, as both sides write them. */
static char *rows(size_t n, const dsgd_point *points)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    dsgd_curve_print(stream, &(dsgd_run_key){7, "some", 8, 1}, n, points);
    fclose(stream);
    return text;
}

static void expect_curve(const support_outcome *run, const dsgd_replay_result *again)
{
    char *const want = rows(run->result.n_points, run->points);
    char *const got = rows(again->n_points, again->points);
    ck_assert_uint_gt(strlen(want), 0);
    ck_assert_str_eq(got, want);
    ck_assert_uint_eq(run->result.n_points, again->n_points);
    free(want);
    free(got);
}

/** Runs, replays at one and two threads, records without computing, and replays that. */
static void expect_replay(support_case *c)
{
    const support_outcome *const run = support_simulate(c);
    ck_assert_msg(run->status == DSGD_OK, "%s", run->error.text);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        dsgd_replay_result again = replay(c->config.record, threads);
        expect_curve(run, &again);
        ck_assert_int_eq(again.divergence.happened, run->result.outcome == DSGD_RUN_DIVERGED);
        ck_assert_uint_eq(again.different, 0);
        ck_assert_uint_eq(again.numerics.gradients, run->result.numerics.gradients);
        ck_assert_uint_eq(again.numerics.combinations, run->result.numerics.combinations);
        dsgd_replay_result_free(&again);
    }
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *const off = support_simulate(c);
    ck_assert_msg(off->status == DSGD_OK, "%s", off->error.text);
    ck_assert_uint_eq(off->result.n_points, 0);
    ck_assert_double_eq(off->result.virtual_s, run->result.virtual_s);
    ck_assert_str_eq(off->result.device, "off");
    dsgd_replay_result again = replay(c->config.record, 1);
    expect_curve(run, &again);
    dsgd_replay_result_free(&again);
}

static const char *algorithm_name(int i)
{
    return dsgd_algorithms[i]->name;
}

START_TEST(every_algorithm_is_replayed_to_the_byte)
{
    expect_replay(recorded(algorithm_name(_i), 8, "r"));
}
END_TEST

START_TEST(every_algorithm_is_replayed_to_the_byte_from_different_models)
{
    support_case *const c = recorded(algorithm_name(_i), 4, "r");
    support_spread(c);
    c->config.exchange.blocking = false;
    const support_outcome *const run = support_simulate(c);
    dsgd_replay_result again = replay(c->config.record, 1);
    expect_curve(run, &again);
    dsgd_replay_result_free(&again);
}
END_TEST

START_TEST(a_run_in_float_on_images_is_replayed_to_the_byte)
{
    support_case *const c = recorded("wagma", 8, "r");
    support_use_mlp(c);
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.02, .weight_decay = 1e-4, .warmup_steps = 7};
    expect_replay(c);
}
END_TEST

#define ADAMW(second)                                                                              \
    {                                                                                              \
        .kind = DSGD_OPTIMIZER_ADAMW, .lr = 0.01, .momentum = -1, .beta2 = (second),               \
        .epsilon = 1e-8, .weight_decay = 0.01                                                      \
    }
#define SGD(rule, m)                                                                               \
    {                                                                                              \
        .kind = (rule), .lr = 0.01, .momentum = (m), .clip = 0.5                                   \
    }

/**
 * Every model, with what it learns from and an optimizer: state that stays with the worker, steps
 * that count.
 */
static const struct {
    const char *model, *data;
    const char *options[3]; /* of the model */
    double numbers[3];
    dsgd_optimizer optimizer;
} learned[] = {
    {"hyperplane", "hyperplane", {NULL}, {0}, ADAMW(0.99)},
    {"logreg", "sequences", {NULL}, {0}, SGD(DSGD_OPTIMIZER_NESTEROV, 0.9)},
    {"mlp", "sequences", {NULL}, {0}, SGD(DSGD_OPTIMIZER_MOMENTUM, 0)},
    {"lstm", "sequences", {"units"}, {4}, ADAMW(0.9)},
    {"transformer", "text", {"blocks", "width"}, {1, 8}, ADAMW(0.9)},
    {"policy", "navigation", {"environments"}, {2}, SGD(DSGD_OPTIMIZER_MOMENTUM, 0.9)},
    {"cnn", "fashion-mnist", {NULL}, {0}, SGD(DSGD_OPTIMIZER_MOMENTUM, 0.9)},
    {"resnet_small",
     "fashion-mnist",
     {"blocks", "width"},
     {1, 2},
     SGD(DSGD_OPTIMIZER_MOMENTUM, 0.9)},
};

static dsgd_pick picked(const dsgd_about *const *registry, const char *name)
{
    const dsgd_about *const about = dsgd_about_find(registry, name);
    ck_assert_msg(about != NULL, "nothing is called %s", name);
    void *const params = dsgd_xcalloc(1, about->params_size);
    dsgd_options_default(about->options, params);
    return (dsgd_pick){about, params};
}

START_TEST(every_model_is_replayed_to_the_byte)
{
    const bool images = strcmp(learned[_i].data, "fashion-mnist") == 0;
    if (SUPPORT_SLOW && images)
        return;
    support_case *const c = recorded("ad_psgd", images ? 2 : 4, "r");
    c->learning.model = picked(dsgd_model_kinds, learned[_i].model);
    c->learning.data = picked(dsgd_data_sources, learned[_i].data);
    for (size_t k = 0; k < 3 && learned[_i].options[k] != NULL; k++)
        support_set(c->learning.model.about, c->learning.model.params, learned[_i].options[k],
                    learned[_i].numbers[k]);
    if (strcmp(learned[_i].data, "sequences") == 0)
        support_set(c->learning.data.about, c->learning.data.params, "points", 256);
    c->learning.optimizer = learned[_i].optimizer;
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.evaluate = (dsgd_evaluate_config){.every = images ? 0 : 3};
    c->config.until.steps = images ? 2 : 7;
    expect_replay(c);
}
END_TEST

START_TEST(every_model_is_among_those_replayed)
{
    for (size_t i = 0; dsgd_model_kinds[i] != NULL; i++) {
        size_t k = 0;
        while (k < sizeof learned / sizeof learned[0] &&
               strcmp(learned[k].model, dsgd_model_kinds[i]->name) != 0)
            k++;
        ck_assert_msg(k < sizeof learned / sizeof learned[0], "%s", dsgd_model_kinds[i]->name);
    }
}
END_TEST

/**
 * Records of this version, made long ago. Their curves are those of the replay on the day; only a
 * libm may move the last digits.
 */
static const struct {
    const char *name;
    double loss, consensus;
} golden[] = {
    {"1", 2.515192537383548, 0}, /* allreduce */
    {"2", 2.8743783393216518, 0}, /* wagma */
    {"3", 2.541092783939623, 0.15917630605320918}, /* ad_psgd */
    {"4", 2.6622219823568902, 0.06223280563659147}, /* eager_solo */
};

START_TEST(common_subexpressions_are_those_of_this_version_of_records)
{
    char *const path = dsgd_xprintf("%s/tests/golden/%s.record", DSGD_SOURCE_DIR, golden[_i].name);
    dsgd_replay_result again = replay(path, 1);
    const char *const advice = "if this is meant, raise RECORD_VERSION and record anew";
    ck_assert_msg(again.n_points == 4, "%s: %zu points; %s", path, again.n_points, advice);
    const dsgd_evaluation last = again.points[3].at;
    ck_assert_msg(fabs(last.loss - golden[_i].loss) < 1e-9, "%s: %.17g; %s", path, last.loss,
                  advice);
    ck_assert_msg(fabs(last.consensus - golden[_i].consensus) < 1e-9, "%s: %.17g; %s", path,
                  last.consensus, advice);
    dsgd_replay_result_free(&again);
    free(path);
}
END_TEST

START_TEST(a_divergence_is_replayed_where_it_happened)
{
    support_case *const c = recorded("d_psgd", 8, "r");
    c->learning.optimizer.lr = 1e30;
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->result.outcome, DSGD_RUN_DIVERGED);
    dsgd_replay_result again = replay(c->config.record, 2);
    expect_curve(run, &again);
    ck_assert(again.divergence.happened);
    char *const where =
        dsgd_xprintf("step %llu of worker %u", (unsigned long long)again.divergence.where.step,
                     again.divergence.where.worker);
    ck_assert_ptr_nonnull(strstr(run->result.why.text, where));
    free(where);
    dsgd_replay_result_free(&again);
}
END_TEST

/** Ends at an accuracy: the decisions are in the record. */
static const support_outcome *run_until_accuracy(support_case **c)
{
    *c = recorded("ad_psgd", 4, "r");
    support_use_mlp(*c);
    (*c)->config.until = (dsgd_until){.steps = 60, .accuracy = 0.4};
    (*c)->learning.optimizer.lr = 0.02;
    (*c)->learning.evaluate.every = 2;
    const support_outcome *const run = support_ok(*c);
    ck_assert_double_lt(run->result.steps, 60);
    return run;
}

START_TEST(a_run_until_an_accuracy_is_replayed_as_it_ended)
{
    support_case *c = NULL;
    const support_outcome *const run = run_until_accuracy(&c);
    dsgd_replay_result again = replay(c->config.record, 2);
    expect_curve(run, &again);
    ck_assert_uint_ge(again.decisions, run->result.n_points - 1);
    ck_assert_uint_eq(again.different, 0);
    dsgd_replay_result_free(&again);
}
END_TEST

START_TEST(recorded_decisions_hold_for_other_values)
{
    support_case *c = NULL;
    const support_outcome *const run = run_until_accuracy(&c);
    dsgd_replay_result again;
    ck_assert_int_eq(replay_with(c->config.record, 1, 0, &again, NULL), DSGD_OK); /* in float */
    ck_assert_uint_eq(again.n_points, run->result.n_points);
    ck_assert_uint_gt(again.different, 0);
    const size_t last = again.n_points - 1;
    ck_assert_double_eq(again.points[last].virtual_s, run->points[last].virtual_s);
    ck_assert_double_eq_tol(again.points[last].at.loss, run->points[last].at.loss, 1e-3);
    dsgd_replay_result_free(&again);
}
END_TEST

START_TEST(a_record_says_whose_it_is)
{
    support_case *const c = recorded("allreduce", 8, "r");
    c->config.record_about = "{\"run\": 7, \"label\": \"some\", \"manifest\": {\"experiment\": "
                             "\"delays\"}}";
    c->config.seed = 9;
    support_ok(c);
    dsgd_replay_result again = replay(c->config.record, 1);
    ck_assert_uint_eq(again.run, 7);
    ck_assert_str_eq(again.label, "some");
    ck_assert_int_eq(again.workers, 8);
    ck_assert_uint_eq(again.seed, 9);
    ck_assert_str_eq(again.experiment, "delays");
    dsgd_replay_result_free(&again);
}
END_TEST

/** The policy in many environments, whose state is larger than the model. */
static void use_policy(support_case *c)
{
    c->learning.model = picked(dsgd_model_kinds, "policy");
    c->learning.data = picked(dsgd_data_sources, "navigation");
    support_set(c->learning.model.about, c->learning.model.params, "hidden", 2);
    support_set(c->learning.model.about, c->learning.model.params, "environments", 64);
    c->learning.batch = 64;
}

START_TEST(a_replay_releases_what_the_run_released)
{
    support_case *const c = recorded(NULL, 1, "r");
    support_algorithm(c, &support_alone);
    if (_i == 1)
        use_policy(c);
    c->config.until.steps = 2500;
    c->config.memory_bytes = 1;
    c->learning.evaluate = (dsgd_evaluate_config){0};
    const support_outcome *const run = support_ok(c);
    const dsgd_replay_config config = {.path = c->config.record,
                                       .numerics = DSGD_NUMERICS_CPU,
                                       .precision = -1,
                                       .threads = 1,
                                       .memory_bytes = 1};
    dsgd_replay_result again;
    ck_assert_int_eq(dsgd_replay(&config, &again, NULL), DSGD_OK);
    ck_assert_double_lt((double)again.numerics.peak_bytes,
                        1.5 * (double)run->result.numerics.peak_bytes);
    dsgd_replay_result_free(&again);
}
END_TEST

static long file_bytes(const char *path)
{
    struct stat facts;
    ck_assert_int_eq(stat(path, &facts), 0);
    return (long)facts.st_size;
}

START_TEST(initial_states_are_not_recorded)
{
    enum { WORKERS = 16, STATE_BYTES = 64 * 8 };
    support_case *const c = recorded("allreduce", WORKERS, "r");
    use_policy(c);
    c->config.until.steps = 1;
    c->config.numerics = DSGD_NUMERICS_OFF;
    ck_assert_int_eq(support_simulate(c)->status, DSGD_OK);
    ck_assert_int_lt(file_bytes(c->config.record), WORKERS * STATE_BYTES / 2);
}
END_TEST

START_TEST(an_operation_takes_two_bytes_at_most)
{
    support_case *const c = recorded(algorithm_name(_i), 16, "r");
    c->config.until.steps = 100;
    c->learning.evaluate = (dsgd_evaluate_config){0};
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_OK);
    dsgd_replay_result again = replay(c->config.record, 1);
    const long bytes = file_bytes(c->config.record);
    ck_assert_msg((double)bytes < 1000 + 2.0 * (double)again.operations,
                  "%s: %ld bytes for %llu operations", algorithm_name(_i), bytes,
                  (unsigned long long)again.operations);
    dsgd_replay_result_free(&again);
}
END_TEST

/* --- a store by itself ------------------------------------------------------------------------ */

/** A store on the hyperplane of a case, that is recorded. */
typedef struct recorded_store {
    support_problem *problem;
    size_t begin[2];
    dsgd_values_config config;
    dsgd_values *values;
    dsgd_recorder *recorder;
    dsgd_value x;
} recorded_store;

static recorded_store *recorded_store_open(const char *name)
{
    recorded_store *const s = dsgd_xcalloc(1, sizeof *s);
    const support_case *const c = support_new("allreduce", 1);
    s->problem = support_problem_new(c);
    s->begin[1] = s->problem->network.n_params;
    s->config = (dsgd_values_config){.problem = {.network = &s->problem->network,
                                                 .data = s->problem->data,
                                                 .n_pieces = 1,
                                                 .piece_begin = s->begin,
                                                 .update = {.momentum = 0.9}},
                                     .stream = s->problem->stream,
                                     .n_threads = 1,
                                     .memory_bytes = 1 << 30};
    ck_assert_int_eq(dsgd_values_open_where(&s->config, DSGD_NUMERICS_CPU, true, &s->values, NULL),
                     DSGD_OK);
    const dsgd_record_config config = {in_folder(name),  &s->config, c->learning.model,
                                       c->learning.data, true,       "{}"};
    ck_assert_int_eq(dsgd_recorder_open(&config, &s->recorder, NULL), DSGD_OK);
    dsgd_values_record(s->values, s->recorder);
    double *const x = dsgd_xcalloc(s->begin[1], sizeof *x);
    dsgd_network_initial(&s->problem->network, 1, x);
    s->x = dsgd_values_constant(s->values, 0, x);
    free(x);
    return s;
}

static dsgd_value recorded_store_gradient(const recorded_store *s, uint64_t step)
{
    dsgd_value g = DSGD_ZERO_VALUE;
    dsgd_values_gradient(s->values, (dsgd_origin){0, step}, 4, &s->x, NULL, &g);
    return g;
}

/** The evaluation of x, as a point of the curve. */
static dsgd_evaluation recorded_store_evaluate(const recorded_store *s, dsgd_value x)
{
    const size_t ticket = dsgd_values_evaluate(s->values, 1, &x, NULL);
    dsgd_recorder_point(s->recorder, 1, 2);
    dsgd_values_record(s->values, NULL);
    return dsgd_values_result(s->values, ticket);
}

static dsgd_values_stats recorded_store_close(recorded_store *s)
{
    const dsgd_values_stats stats = dsgd_values_stats_get(s->values);
    ck_assert_int_eq(dsgd_recorder_close(s->recorder, true, NULL), DSGD_OK);
    dsgd_values_close(s->values);
    dsgd_data_free(s->problem->data);
    free(s);
    return stats;
}

START_TEST(a_common_subexpression_is_recorded_once)
{
    recorded_store *const s = recorded_store_open("r");
    const dsgd_value g = recorded_store_gradient(s, 0);
    const dsgd_value same = recorded_store_gradient(s, 0); /* counts for flushes */
    ck_assert(dsgd_value_equal(g, same));
    dsgd_value v = DSGD_ZERO_VALUE;
    dsgd_value u = DSGD_ZERO_VALUE;
    const dsgd_origin where = {0, 0};
    const dsgd_value x = dsgd_values_update(s->values, where, 0, s->x, g, &v, (dsgd_rate){0.1, 1});
    const dsgd_value y =
        dsgd_values_update(s->values, where, 0, s->x, same, &u, (dsgd_rate){0.1, 1});
    ck_assert(dsgd_value_equal(x, y));
    dsgd_value h = DSGD_ZERO_VALUE;
    dsgd_values_gradient(s->values, (dsgd_origin){0, 1}, 4, &x, NULL, &h);
    dsgd_value_release(s->values, x);
    dsgd_value_release(s->values, g);
    dsgd_value_release(s->values,
                       y); /* only the gradient has that model now, and others its velocity */
    dsgd_value w = DSGD_ZERO_VALUE;
    const dsgd_value z =
        dsgd_values_update(s->values, where, 0, s->x, same, &w, (dsgd_rate){0.1, 1});
    ck_assert(dsgd_value_equal(w, v));
    dsgd_value_release(s->values, u);
    const dsgd_value again = dsgd_values_update(s->values, where, 0, z, h, &v, (dsgd_rate){0.1, 2});
    const double loss = recorded_store_evaluate(s, again).loss;
    recorded_store_close(s);
    dsgd_replay_result result = replay(in_folder("r"), 1);
    ck_assert_uint_eq(result.n_points, 1);
    ck_assert_double_eq(result.points[0].at.loss, loss);
    /* The constant, all gradients, three of four updates, the model given back for a while,
     * evaluation and point. */
    ck_assert_uint_eq(result.operations, 1 + 3 + 3 + 1 + 2);
    dsgd_replay_result_free(&result);
}
END_TEST

START_TEST(a_flush_is_replayed)
{
    recorded_store *const s = recorded_store_open("r");
    const dsgd_value g = recorded_store_gradient(s, 0);
    const double half = 0.5;
    const dsgd_value sum = dsgd_values_combine(s->values, (dsgd_origin){0, 0}, 0, 1, &g, &half, 1);
    dsgd_values_flush(s->values); /* or the sum would never be computed */
    dsgd_value_release(s->values, sum);
    recorded_store_evaluate(s, s->x);
    const dsgd_values_stats stats = recorded_store_close(s);
    ck_assert_uint_eq(stats.combinations, 1);
    dsgd_replay_result result = replay(in_folder("r"), 1);
    ck_assert_uint_eq(result.numerics.combinations, 1);
    dsgd_replay_result_free(&result);
}
END_TEST

START_TEST(decisions_are_counted_and_compared)
{
    recorded_store *const s = recorded_store_open("r");
    double *const x = dsgd_xcalloc(s->begin[1], sizeof *x);
    const dsgd_value g = recorded_store_gradient(s, 0);
    dsgd_values_read(s->values, 0, g, x);
    dsgd_values_result(s->values, dsgd_values_evaluate(s->values, 1, &g, NULL));
    free(x);
    recorded_store_evaluate(s, g);
    recorded_store_close(s);
    for (int precision = 0; precision < 2; precision++) {
        dsgd_replay_result result;
        ck_assert_int_eq(replay_with(in_folder("r"), 1, precision, &result, NULL), DSGD_OK);
        ck_assert_uint_eq(result.decisions, 2);
        ck_assert_uint_eq(result.different, precision == 1 ? 0 : 2);
        dsgd_replay_result_free(&result);
    }
}
END_TEST

static void count_calls(void *argument, double share)
{
    double *const last = argument;
    ck_assert_double_gt(share, *last);
    ck_assert_double_le(share, 1);
    *last = share;
}

START_TEST(a_long_record_has_several_blocks)
{
    enum { STEPS = 60000 };
    recorded_store *const s = recorded_store_open("r");
    dsgd_value x = dsgd_value_retain(s->x);
    const double weights[2] = {1, 1e-3};
    for (uint64_t t = 0; t < STEPS; t++) {
        const dsgd_value operands[2] = {x, s->x};
        const dsgd_value sum =
            dsgd_values_combine(s->values, (dsgd_origin){0, t}, 0, 2, operands, weights, 1);
        dsgd_value_release(s->values, x);
        x = sum;
        if (t % 256 == 0)
            dsgd_values_flush(s->values);
    }
    const double loss = recorded_store_evaluate(s, x).loss;
    recorded_store_close(s);
    record_file file;
    ck_assert_int_eq(record_open(&file, in_folder("r"), NULL), DSGD_OK);
    size_t n = 0;
    do {
        ck_assert_int_eq(record_next(&file, NULL), DSGD_OK);
        n++;
        ck_assert_uint_lt(file.n, RECORD_BLOCK_BYTES + 100);
    } while (strcmp(file.kind, RECORD_DONE) != 0);
    ck_assert_uint_gt(n, 4);
    record_close(&file);
    double last = 0;
    const dsgd_replay_config config = {.path = in_folder("r"),
                                       .numerics = DSGD_NUMERICS_CPU,
                                       .precision = -1,
                                       .threads = 1,
                                       .memory_bytes = 1 << 30,
                                       .progress = count_calls,
                                       .argument = &last};
    dsgd_replay_result result;
    ck_assert_int_eq(dsgd_replay(&config, &result, NULL), DSGD_OK);
    ck_assert_double_gt(last, 0.9);
    ck_assert_double_eq(result.points[0].at.loss, loss);
    dsgd_replay_result_free(&result);
}
END_TEST

START_TEST(the_checksum_of_data_sees_all_of_it)
{
    float x[2] = {1, 2};
    float targets[2] = {3, 4};
    uint8_t bytes[2] = {5, 6};
    uint8_t labels[2] = {7, 8};
    uint16_t lengths[2] = {9, 10};
    dsgd_samples samples = {2, bytes, x, labels, targets, lengths};
    dsgd_data data = {.n_features = 1, .n_labels = 1, .train = samples, .test = samples};
    const uint32_t whole = record_data_checksum(&data);
    uint8_t *const last[] = {(uint8_t *)&x[1], (uint8_t *)&targets[1], &bytes[1], &labels[1],
                             (uint8_t *)&lengths[1]};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        *last[i] ^= 1;
        ck_assert_uint_ne(record_data_checksum(&data), whole);
        *last[i] ^= 1;
    }
    data.test.n = 1;
    ck_assert_uint_ne(record_data_checksum(&data), whole);
    data.test.n = 2;
    data.seed = 1;
    ck_assert_uint_ne(record_data_checksum(&data), whole);
}
END_TEST

/* --- damage ----------------------------------------------------------------------------------- */

/** A record that is small enough to be damaged everywhere. */
static const char *small_record(void)
{
    support_case *const c = recorded("wagma", 4, "small");
    support_set(c->learning.data.about, c->learning.data.params, "features", 6);
    support_set(c->learning.data.about, c->learning.data.params, "points", 64);
    support_option(c, "period", 2);
    c->config.until.steps = 4;
    c->config.exchange.pieces = 2;
    c->learning.evaluate.every = 2;
    support_ok(c);
    return c->config.record;
}

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *const stream = fopen(path, "rb");
    ck_assert_ptr_nonnull(stream);
    uint8_t *const bytes = dsgd_xcalloc(1, 1 << 20);
    *n = fread(bytes, 1, 1 << 20, stream);
    fclose(stream);
    return bytes;
}

static const char *write_all(const uint8_t *bytes, size_t n)
{
    const char *const path = in_folder("damaged");
    unlink(path); /* some file systems sync a file that is written again */
    FILE *const stream = fopen(path, "wb");
    ck_assert_ptr_nonnull(stream);
    fwrite(bytes, 1, n, stream);
    ck_assert_int_eq(fclose(stream), 0);
    return path;
}

/** Refuses with one sentence that names the file; gives it. */
static const char *refused(const char *path)
{
    static dsgd_error error;
    error.text[0] = '\0';
    dsgd_replay_result result;
    ck_assert_int_eq(replay_with(path, 1, -1, &result, &error), DSGD_EIO);
    dsgd_replay_result_free(&result);
    ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    return error.text;
}

static void expect_refusal(const char *path, const char *sentence)
{
    const char *const text = refused(path);
    ck_assert_msg(strstr(text, sentence) != NULL, "%s", text);
}

START_TEST(a_flipped_bit_anywhere_is_noticed)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= (uint8_t)(1 << (i + (size_t)_i) % 8);
        const char *const text = refused(write_all(bytes, n));
        ck_assert_msg(strstr(text, i < RECORD_MAGIC_BYTES       ? "no record"
                                   : i < RECORD_MAGIC_BYTES + 4 ? "version"
                                                                : "damaged") != NULL,
                      "byte %zu: %s", i, text);
        bytes[i] ^= (uint8_t)(1 << (i + (size_t)_i) % 8);
    }
    free(bytes);
}
END_TEST

START_TEST(a_record_cut_off_anywhere_is_noticed)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    for (size_t i = 0; i < n; i++)
        expect_refusal(write_all(bytes, i), i < RECORD_MAGIC_BYTES ? "no record" : "cut off");
    bytes[n] = 0;
    expect_refusal(write_all(bytes, n + 1), "goes on for 1 bytes");
    free(bytes);
}
END_TEST

START_TEST(the_damaged_block_is_named)
{
    const char *const path = small_record();
    size_t n = 0;
    uint8_t *const bytes = read_all(path, &n);
    bytes[n - 1] ^= 1; /* head, work, end */
    expect_refusal(write_all(bytes, n), "block 3");
    bytes[n - 1] ^= 1;
    bytes[RECORD_MAGIC_BYTES + 4 + 16] ^= 1;
    expect_refusal(write_all(bytes, n), "block 1");
    free(bytes);
}
END_TEST

START_TEST(what_is_no_record_is_refused)
{
    expect_refusal(write_all((const uint8_t *)"name: x\n", 8), "no record");
    expect_refusal(write_all((const uint8_t *)"", 0), "no record");
    expect_refusal(in_folder("nothing"), "No such file");
    expect_refusal(folder, "no record");
}
END_TEST

START_TEST(another_version_is_refused)
{
    size_t n = 0;
    uint8_t *const bytes = read_all(small_record(), &n);
    bytes[RECORD_MAGIC_BYTES]++;
    expect_refusal(write_all(bytes, n), "version 2");
    free(bytes);
}
END_TEST

/* --- what is whole, but makes no sense -------------------------------------------------------- */

enum { MOST_BLOCKS = 8 };

/** The parts of a record, to be reassembled with good checksums. */
typedef struct parts {
    size_t n;
    char kinds[MOST_BLOCKS][5];
    uint8_t *bytes[MOST_BLOCKS];
    size_t sizes[MOST_BLOCKS];
} parts;

static parts take_apart(const char *path)
{
    parts p = {0};
    record_file file;
    ck_assert_int_eq(record_open(&file, path, NULL), DSGD_OK);
    do {
        ck_assert_int_eq(record_next(&file, NULL), DSGD_OK);
        memcpy(p.kinds[p.n], file.kind, sizeof file.kind);
        p.sizes[p.n] = file.n;
        p.bytes[p.n] = dsgd_xcalloc(1, file.n + 1);
        memcpy(p.bytes[p.n++], file.bytes, file.n);
    } while (strcmp(file.kind, RECORD_DONE) != 0);
    record_close(&file);
    return p;
}

static const char *put_together(const parts *p)
{
    const char *const path = in_folder("altered");
    unlink(path);
    FILE *const stream = fopen(path, "wb");
    fwrite(RECORD_MAGIC, RECORD_MAGIC_BYTES, 1, stream);
    fwrite((const uint8_t[]){RECORD_VERSION, 0, 0, 0}, 4, 1, stream);
    for (size_t i = 0; i < p->n; i++)
        record_write_block(stream, p->kinds[i], p->bytes[i], p->sizes[i]);
    fclose(stream);
    return path;
}

static void free_parts(parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->bytes[i]);
}

/** Replaces a text of the head. */
static void alter_head(parts *p, const char *old, const char *new)
{
    const char *const head = (const char *)p->bytes[0];
    const char *const at = strstr(head, old);
    ck_assert_msg(at != NULL, "%s is not in %s", old, head);
    char *const altered = dsgd_xprintf("%.*s%s%s", (int)(at - head), head, new, at + strlen(old));
    free(p->bytes[0]);
    p->bytes[0] = (uint8_t *)altered;
    p->sizes[0] = strlen(altered);
}

static const struct {
    const char *old, *new, *sentence;
} heads[] = {
    {"\"model\":", "\"modal\":", "model is missing"},
    {"\"name\":\"hyperplane\"},\"data\"", "\"name\":\"resnet\"},\"data\"", "knows no `resnet`"},
    {"\"features\":6", "\"features\":7", "the data `hyperplane` is not that of the run"},
    {"\"features\":6", "\"feathers\":6", "option `feathers` is unknown"},
    {"\"features\":6", "\"features\":0", "features is 0, but has to be between 1 and"},
    {"\"features\":6", "\"features\":\"x\"", "has to be a number"},
    {"\"features\":6", "\"features\":6.5", "has to be a whole number"},
    {"\"workers\":4", "\"workers\":0", "workers is 0"},
    {"\"pieces\":[0", "\"pieces\":[1", "pieces"},
    {"\"precision\":\"double\"", "\"precision\":\"half\"", "precision"},
    {"\"initial_checksum\":", "\"initial_checksum\":1", "initial_checksum"},
    {"\"problem\":", "\"problems\":", "head"},
    {"{", "", "head"},
};

START_TEST(a_head_of_something_else_is_refused)
{
    parts p = take_apart(small_record());
    alter_head(&p, heads[_i].old, heads[_i].new);
    expect_refusal(put_together(&p), heads[_i].sentence);
    free_parts(&p);
}
END_TEST

START_TEST(another_beginning_of_the_model_is_refused)
{
    parts p = take_apart(small_record());
    json_t *const head = json_loads((const char *)p.bytes[0], 0, NULL);
    json_t *const problem = json_object_get(head, "problem");
    const json_int_t sum = json_integer_value(json_object_get(problem, "initial_checksum"));
    json_object_set_new(problem, "initial_checksum", json_integer(sum ^ 1));
    free(p.bytes[0]);
    p.bytes[0] = (uint8_t *)json_dumps(head, JSON_COMPACT);
    p.sizes[0] = strlen((const char *)p.bytes[0]);
    json_decref(head);
    expect_refusal(put_together(&p), "does not begin with the numbers of the run");
    free_parts(&p);
}
END_TEST

START_TEST(a_record_without_all_its_work_is_refused)
{
    parts p = take_apart(small_record());
    ck_assert_uint_eq(p.n, 3);
    parts without = p;
    without.n = 2;
    memcpy(without.kinds[1], p.kinds[2], sizeof p.kinds[2]);
    without.bytes[1] = p.bytes[2];
    without.sizes[1] = p.sizes[2];
    expect_refusal(put_together(&without), "has 0 operations");
    free_parts(&p);
}
END_TEST

/**
 * Operations of a forged block, and why they are refused. The record has four workers, two pieces
 * and momentum.
 */
static const struct {
    size_t n;
    uint8_t bytes[24];
    const char *sentence;
} forged[] = {
    {1, {0}, "an operation is unknown"},
    {1, {15}, "an operation is unknown"},
    {17, {6}, "a point of the curve has no evaluation"},
    {2, {5, 0}, "nothing is evaluated"},
    {2, {5, 100}, "there are more models than bytes"},
    {12,
     {5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0},
     "there are more models than bytes"},
    {24, {7}, "a result has no evaluation"},
    {3, {10, 0, 0}, "what is given back is not there"},
    {3, {10, 0, 1}, "what is given back is not there"},
    {3, {10, 0, 9}, "what is given back is not there"},
    {3, {10, 0, 11}, "what is given back is not there"},
    {3, {2, 8, 0}, "there is no such worker"},
    {4, {2, 1, 0, 0}, "there is no such worker"},
    {2, {2 | 16, 4}, "a mini-batch has more samples, or none"},
    {4, {2 | 16, 0, 11, 11}, "an operand is not there"},
    {1, {2}, "it ends within an operation"},
    {12, {2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "a number has too many bytes"},
    {3, {1 | 16, 0, 2}, "a vector is of no known form"},
    {3, {1 | 16, 0, 1}, "it ends within an operation"},
    {3, {1 | 16, 3, 0}, "there is no such piece"},
    {3, {1 | 16, 2, 0}, "there is no model state"},
    {6, {3 | 16, 2, 1, 0, 0, 0}, "a model state is updated"},
    {3, {4 | 16, 0, 100}, "there are more operands than bytes"},
    {4, {4 | 16, 0, 1, 0}, "it ends within an operation"},
    {12, {4 | 16, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "more operands than bytes"},
    {5, {4 | 16, 0, 1, 129, 2}, "a number is none that was seen"},
    {7, {4 | 16, 0, 1, 1, 1, 0, 0}, "an operation gives nothing"},
    /* The initial model's piece 0, and that as piece 1. */
    {9, {1 | 16, 0, 0, 4 | 16, 1, 1, 1, 1, 11}, "an operand is of another piece"},
    /* An update of it without a gradient, and its velocity as a model. */
    {15,
     {1 | 16, 0, 0, 3 | 16, 0, 1, 1, 0, 0, 4 | 16, 0, 1, 1, 1, 13},
     "an operand is of another piece"},
};

START_TEST(a_forged_operation_is_refused)
{
    parts p = take_apart(small_record());
    p.sizes[1] = forged[_i].n;
    memcpy(p.bytes[1], forged[_i].bytes, forged[_i].n);
    expect_refusal(put_together(&p), forged[_i].sentence);
    free_parts(&p);
}
END_TEST

START_TEST(a_block_that_unpacks_to_less_is_refused)
{
    size_t n = 0;
    uint8_t *const bytes = read_all(small_record(), &n);
    uint8_t *const frame = bytes + RECORD_MAGIC_BYTES + 4;
    const size_t n_packed = frame[4] + 256u * frame[5];
    frame[8]++; /* unpacked bytes */
    const uint32_t sum = (uint32_t)crc32(crc32(0, frame, 12), frame + 16, (uInt)n_packed);
    for (int i = 0; i < 4; i++)
        frame[12 + i] = (uint8_t)(sum >> 8 * i);
    expect_refusal(write_all(bytes, n),
                   "block 1 of the record, which begins at byte 16, is damaged");
    free(bytes);
}
END_TEST

START_TEST(pieces_that_do_not_cover_the_model_are_refused)
{
    static const double pieces[][3] = {{0, 9, 7}, {0, 4, 8}, {0, 4, 6}, {1, 4, 7}};
    parts p = take_apart(small_record());
    json_t *const head = json_loads((const char *)p.bytes[0], 0, NULL);
    json_t *const wrong = json_array();
    for (size_t k = 0; k < 3; k++)
        json_array_append_new(wrong, json_real(pieces[_i][k]));
    json_object_set_new(json_object_get(head, "problem"), "pieces", wrong);
    free(p.bytes[0]);
    p.bytes[0] = (uint8_t *)json_dumps(head, JSON_COMPACT);
    p.sizes[0] = strlen((const char *)p.bytes[0]);
    json_decref(head);
    expect_refusal(put_together(&p), "are not those of a model of 7 parameters");
    free_parts(&p);
}
END_TEST

/** Either it is computed, or it is refused. */
static void try_out(const parts *p, size_t *n_good)
{
    dsgd_replay_result result;
    dsgd_error error = {""};
    const dsgd_status status = replay_with(put_together(p), 1, -1, &result, &error);
    ck_assert(status == DSGD_OK || (status == DSGD_EIO && error.text[0] != '\0'));
    *n_good += status == DSGD_OK;
    dsgd_replay_result_free(&result);
}

START_TEST(nonsense_with_good_checksums_does_no_harm)
{
    parts p = take_apart(small_record());
    size_t n_tried = 0;
    size_t n_good = 0;
    const size_t stride = SUPPORT_SLOW ? 5 : 1;
    for (size_t block = 0; block < 2; block++) {
        for (size_t i = (size_t)_i % stride; i < p.sizes[block]; i += stride, n_tried++) {
            const uint8_t before = p.bytes[block][i];
            const uint8_t tried[] = {0, 1, (uint8_t)(before + 1), (uint8_t)(before ^ 16), 127, 255};
            p.bytes[block][i] = tried[_i];
            try_out(&p, &n_good);
            p.bytes[block][i] = before;
        }
    }
    ck_assert_uint_gt(n_tried, 100);
    ck_assert_uint_lt(n_good, n_tried);
    free_parts(&p);
}
END_TEST

START_TEST(a_missing_or_doubled_byte_does_no_harm)
{
    parts p = take_apart(small_record());
    const parts whole = p;
    const size_t stride = SUPPORT_SLOW ? 7 : 1;
    size_t n_good = 0;
    for (size_t i = 0; i < whole.sizes[1]; i += stride) {
        for (int twice = 0; twice < 2; twice++) {
            const size_t rest = whole.sizes[1] - i;
            p.bytes[1] = dsgd_xcalloc(1, whole.sizes[1] + 2);
            memcpy(p.bytes[1], whole.bytes[1], i + (size_t)twice);
            memcpy(p.bytes[1] + i + twice, whole.bytes[1] + i + !twice, rest - (size_t)!twice);
            p.sizes[1] = twice ? whole.sizes[1] + 1 : whole.sizes[1] - 1;
            if (twice)
                memcpy(p.bytes[1] + i + 1, whole.bytes[1] + i, rest);
            try_out(&p, &n_good);
            free(p.bytes[1]);
        }
    }
    p.bytes[1] = whole.bytes[1];
    free_parts(&p);
}
END_TEST

/* --- writing ---------------------------------------------------------------------------------- */

START_TEST(nothing_is_in_its_place_before_the_run_ends)
{
    float one[1] = {1};
    const dsgd_samples samples = {.n = 1, .x_real = one, .targets = one};
    const dsgd_data data = {.n_rows = 1,
                            .n_columns = 1,
                            .width = 1,
                            .n_features = 1,
                            .deviation = 1,
                            .train = samples,
                            .test = samples};
    dsgd_network network;
    dsgd_builder b = dsgd_network_begin(&network, "hyperplane", &data, DSGD_LOSS_SQUARED, NULL);
    ck_assert_int_eq(dsgd_network_end(&b), DSGD_OK);
    const size_t begin[2] = {0, 2};
    const dsgd_values_config values = {
        .problem = {.network = &network, .data = &data, .n_pieces = 1, .piece_begin = begin},
        .stream = {1, 1, 1, 1}};
    support_case *const c = support_new("allreduce", 1);
    for (int keep = 0; keep < 2; keep++) {
        const dsgd_record_config config = {in_folder("r"),   &values, c->learning.model,
                                           c->learning.data, true,    "{}"};
        dsgd_recorder *recorder = NULL;
        ck_assert_int_eq(dsgd_recorder_open(&config, &recorder, NULL), DSGD_OK);
        ck_assert_int_ne(access(config.path, F_OK), 0);
        ck_assert_int_eq(dsgd_recorder_close(recorder, keep, NULL), DSGD_OK);
        ck_assert_int_eq(access(config.path, F_OK), keep ? 0 : -1);
        ck_assert_int_ne(access(in_folder("r.part"), F_OK), 0);
    }
}
END_TEST

START_TEST(a_full_disk_is_a_sentence)
{
    support_case *const c = recorded("allreduce", 2, "r");
    ck_assert_int_eq(symlink("/dev/full", in_folder("r.part")), 0);
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EIO);
    ck_assert_msg(strstr(run->error.text, "No space left") != NULL, "%s", run->error.text);
    ck_assert_int_ne(access(c->config.record, F_OK), 0);
}
END_TEST

START_TEST(a_run_that_cannot_begin_leaves_no_record)
{
    support_case *const c = recorded("d_psgd", 4, "r");
    const char *host = "nowhere";
    c->config.placement = (dsgd_lines){1, &host};
    c->config.machine_checked = true; /* so that it fails late */
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_ne(run->status, DSGD_OK);
    ck_assert_int_ne(access(in_folder("r"), F_OK), 0);
    ck_assert_int_ne(access(in_folder("r.part"), F_OK), 0);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_a_sentence)
{
    support_case *const c = recorded("allreduce", 2, "no/r");
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EIO);
    ck_assert_ptr_nonnull(strstr(run->error.text, "no/r.part"));
}
END_TEST

START_TEST(without_learning_there_is_nothing_to_record)
{
    support_case *const c = recorded("allreduce", 2, "r");
    support_no_learning(c);
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(run->error.text, "nothing to record"));
}
END_TEST

/* --- options as JSON -------------------------------------------------------------------------- */

static void expect_round_trip(const dsgd_about *about)
{
    dsgd_memory memory = {0, NULL};
    void *const params = dsgd_memory_alloc(&memory, about->params_size);
    void *const again = dsgd_memory_alloc(&memory, about->params_size);
    dsgd_options_default(about->options, params);
    json_t *const json = dsgd_json_options(about->options, params);
    dsgd_error error = {""};
    ck_assert_msg(dsgd_json_read(json, about->options, again, &memory, &error) == DSGD_OK, "%s: %s",
                  about->name, error.text);
    json_t *const back = dsgd_json_options(about->options, again);
    ck_assert(json_equal(json, back));
    json_decref(json);
    json_decref(back);
    dsgd_memory_free(&memory);
}

START_TEST(options_of_models_and_data_survive_json)
{
    for (size_t i = 0; dsgd_model_kinds[i] != NULL; i++)
        expect_round_trip(dsgd_model_kinds[i]);
    for (size_t i = 0; dsgd_data_sources[i] != NULL; i++)
        expect_round_trip(dsgd_data_sources[i]);
}
END_TEST

/* --- the programs ----------------------------------------------------------------------------- */

/** Runs a command in the folder; gives its exit status and its output, which is to be freed. */
static int command(const char *line, char **output)
{
    char *const text =
        dsgd_xprintf("cd %s && export DSGD_DATA=%s && { %s; } 2>&1", folder, DSGD_SOURCE_DIR, line);
    FILE *const stream = popen(text, "r");
    ck_assert_ptr_nonnull(stream);
    size_t room = 0;
    *output = NULL;
    if (getdelim(output, &room, '\0', stream) < 0) {
        free(*output);
        *output = dsgd_xstrdup("");
    }
    const int state = pclose(stream);
    free(text);
    return WEXITSTATUS(state);
}

static void expect_command(const char *line, int status, const char *sentence)
{
    char *output = NULL;
    const int got = command(line, &output);
    ck_assert_msg(got == status && strstr(output, sentence) != NULL, "%s: %d: %s", line, got,
                  output);
    free(output);
}

static void write_experiment(const char *name, const char *learn)
{
    FILE *const stream = fopen(in_folder(name), "w");
    fprintf(stream,
            "name: delays\nplatform: idle-switch\nworkload: {bytes: 1M, step: 100ms, samples: 8}\n"
            "workers: [4, 8]\nalgorithms: [allreduce, {name: wagma, label: mine, period: 4}]\n"
            "until: {steps: 10}\nimbalance: [{kind: delay, seconds: 50ms}]\n%s",
            learn);
    fclose(stream);
}

static const char some_learning[] =
    "learn: {model: hyperplane, data: {name: hyperplane, features: 16, points: 512}, optimizer: "
    "{lr: 0.02, momentum: 0.5}, evaluate: {every: 5, local: true}}\n";

#define RECORDS "r/1.record r/2.record r/3.record r/4.record"

START_TEST(both_programs_write_the_curves_of_the_run)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on", 0, "results: on");
    expect_command(DSGD_BINARY " run e.yaml -o off --numerics off --record r -j 2", 0, "");
    expect_command("cmp r/1.record.part r/1.record", 2, "No such file");
    expect_command(DSGD_BINARY " replay -o here --threads 2 " RECORDS, 0, "mine");
    expect_command("cmp on/curves.csv here/curves.csv", 0, "");
    expect_command(DSGD_REPLAY_BINARY " --threads 1 " RECORDS, 0, "results/delays-replay");
    expect_command("cmp on/curves.csv results/delays-replay/curves.csv", 0, "");
    /* The same run, recorded while it computes, by itself. */
    expect_command(DSGD_BINARY " run e.yaml -o one --only 3 --record three", 0, "");
    expect_command(DSGD_REPLAY_BINARY " three -o three-again", 0, "");
    expect_command("cmp one/curves.csv three-again/curves.csv", 0, "");
    /* The timing does not depend on recording. */
    expect_command(DSGD_BINARY " run e.yaml -o plain --numerics off", 0, "");
    expect_command("cmp plain/workers.csv off/workers.csv && for d in plain off; do cut -d, -f1-26 "
                   "$d/runs.csv > $d.cut; done && cmp plain.cut off.cut",
                   0, "");
}
END_TEST

START_TEST(a_run_that_reads_no_value_records_no_decision)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on --only 1 --record r", 0, "");
    expect_command(DSGD_REPLAY_BINARY " r -o x | grep -c followed", 1, "0");
    /* With nothing to do, nothing is left behind. */
    expect_command(DSGD_BINARY " run e.yaml -o on --only 1 --record r && ls r.part", 2,
                   "No such file");
}
END_TEST

START_TEST(the_final_loss_is_that_of_the_run)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on --only 4 --record r", 0, "");
    expect_command(DSGD_REPLAY_BINARY " r -o again", 0, "");
    expect_command("test $(tail -n1 on/runs.csv | cut -d, -f21) = $(tail -n1 again/curves.csv | "
                   "cut -d, -f7)",
                   0, "");
}
END_TEST

START_TEST(a_run_again_makes_the_records_that_are_missing)
{
    write_experiment("e.yaml", some_learning);
    expect_command(DSGD_BINARY " run e.yaml -o on", 0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("rm r/2.record && touch -d 2001-01-01 r/3.record", 0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("test -e r/2.record && find r -newermt 2002-01-01 | sort | tr '\\n' ' '", 0,
                   "r/1.record r/2.record r/4.record");
    /* Another run's, and one that is cut off, are none. */
    expect_command("cp r/1.record r/4.record && truncate -s -1 r/2.record && touch -d 2001-01-01 "
                   "r/*.record",
                   0, "");
    expect_command(DSGD_BINARY " run e.yaml -o on --record r", 0, "");
    expect_command("find r -newermt 2002-01-01 | grep record | sort | tr '\\n' ' '", 0,
                   "r/2.record r/4.record");
}
END_TEST

static const struct {
    const char *line;
    int status;
    const char *sentence;
} refusals[] = {
    {DSGD_BINARY " run timing.yaml --record r", 2, "nothing is learned in timing.yaml"},
    {DSGD_BINARY " run e.yaml --only 1 --record no/where/r", 3,
     "no/where/r: no file can be made there"},
    {DSGD_BINARY " run e.yaml --record e.yaml", 3, "e.yaml: the folder cannot be"},
    {DSGD_BINARY " run e.yaml --numerics off --set until.accuracy=0.5 --record r", 2,
     "until: accuracy needs numerics, but they are off"},
    {DSGD_BINARY " replay e.yaml", 3, "dsgd: e.yaml: the file is no record"},
    {DSGD_REPLAY_BINARY " e.yaml", 3, "dsgd-replay: e.yaml: the file is no record"},
    {DSGD_REPLAY_BINARY " nowhere", 3, "nowhere"},
    {DSGD_REPLAY_BINARY "", 2, "the record is missing"},
    {DSGD_REPLAY_BINARY " x --numerics off", 2, "auto, cpu or cuda"},
    {DSGD_REPLAY_BINARY " x --threads 0", 2, "whole number"},
    {DSGD_REPLAY_BINARY " x --precision half", 2, "float or double"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data points=511",
     3, "is not that of the run"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data path=/x",
     2, "--data path=/x"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one --data points=512 -o x",
     0, "results: x/curves.csv"},
    {DSGD_BINARY " run e.yaml --only 1 --record one >&2 && " DSGD_REPLAY_BINARY
                 " one -o e.yaml/below",
     3, "e.yaml/below"},
};

START_TEST(bad_usage_is_one_sentence)
{
    write_experiment("e.yaml", some_learning);
    write_experiment("timing.yaml", "");
    expect_command(refusals[_i].line, refusals[_i].status, refusals[_i].sentence);
}
END_TEST

START_TEST(the_replay_program_needs_no_simulator)
{
    char *output = NULL;
    ck_assert_int_eq(command("ldd " DSGD_REPLAY_BINARY, &output), 0);
    ck_assert_ptr_nonnull(strstr(output, "libz"));
    ck_assert_ptr_null(strstr(output, "simgrid"));
    ck_assert_ptr_null(strstr(output, "fyaml"));
    free(output);
}
END_TEST

Suite *record_suite(void)
{
    Suite *const suite = suite_create("record");
    TCase *const replays = tcase_create("replays");
    tcase_set_timeout(replays, 300);
    tcase_add_checked_fixture(replays, make_folder, remove_folder);
    tcase_add_loop_test(replays, every_algorithm_is_replayed_to_the_byte, 0,
                        support_n_algorithms());
    tcase_add_loop_test(replays, every_algorithm_is_replayed_to_the_byte_from_different_models, 0,
                        support_n_algorithms());
    tcase_add_test(replays, a_run_in_float_on_images_is_replayed_to_the_byte);
    tcase_add_loop_test(replays, every_model_is_replayed_to_the_byte, 0,
                        sizeof learned / sizeof learned[0]);
    tcase_add_test(replays, every_model_is_among_those_replayed);
    tcase_add_loop_test(replays, common_subexpressions_are_those_of_this_version_of_records, 0,
                        sizeof golden / sizeof golden[0]);
    tcase_add_test(replays, a_divergence_is_replayed_where_it_happened);
    tcase_add_test(replays, a_run_until_an_accuracy_is_replayed_as_it_ended);
    tcase_add_test(replays, recorded_decisions_hold_for_other_values);
    tcase_add_test(replays, a_record_says_whose_it_is);
    tcase_add_loop_test(replays, a_replay_releases_what_the_run_released, 0, 2);
    tcase_add_test(replays, initial_states_are_not_recorded);
    tcase_add_loop_test(replays, an_operation_takes_two_bytes_at_most, 0, support_n_algorithms());
    suite_add_tcase(suite, replays);

    TCase *const stores = tcase_create("stores");
    tcase_set_timeout(stores, 120);
    tcase_add_checked_fixture(stores, make_folder, remove_folder);
    tcase_add_test(stores, a_common_subexpression_is_recorded_once);
    tcase_add_test(stores, a_flush_is_replayed);
    tcase_add_test(stores, decisions_are_counted_and_compared);
    tcase_add_test(stores, a_long_record_has_several_blocks);
    tcase_add_test(stores, the_checksum_of_data_sees_all_of_it);
    suite_add_tcase(suite, stores);

    TCase *const damage = tcase_create("damage");
    tcase_set_timeout(damage, 300);
    tcase_add_checked_fixture(damage, make_folder, remove_folder);
    tcase_add_loop_test(damage, a_flipped_bit_anywhere_is_noticed, 0, SUPPORT_SLOW ? 2 : 8);
    tcase_add_test(damage, a_record_cut_off_anywhere_is_noticed);
    tcase_add_test(damage, the_damaged_block_is_named);
    tcase_add_test(damage, what_is_no_record_is_refused);
    tcase_add_test(damage, another_version_is_refused);
    tcase_add_loop_test(damage, a_head_of_something_else_is_refused, 0,
                        sizeof heads / sizeof heads[0]);
    tcase_add_test(damage, another_beginning_of_the_model_is_refused);
    tcase_add_test(damage, a_record_without_all_its_work_is_refused);
    tcase_add_loop_test(damage, a_forged_operation_is_refused, 0, sizeof forged / sizeof forged[0]);
    tcase_add_test(damage, a_block_that_unpacks_to_less_is_refused);
    tcase_add_loop_test(damage, pieces_that_do_not_cover_the_model_are_refused, 0, 4);
    tcase_add_loop_test(damage, nonsense_with_good_checksums_does_no_harm, 0, 6);
    tcase_add_test(damage, a_missing_or_doubled_byte_does_no_harm);
    suite_add_tcase(suite, damage);

    TCase *const writing = tcase_create("writing");
    tcase_add_checked_fixture(writing, make_folder, remove_folder);
    tcase_add_test(writing, nothing_is_in_its_place_before_the_run_ends);
    tcase_add_test(writing, a_full_disk_is_a_sentence);
    tcase_add_test(writing, a_run_that_cannot_begin_leaves_no_record);
    tcase_add_test(writing, a_folder_that_is_not_there_is_a_sentence);
    tcase_add_test(writing, without_learning_there_is_nothing_to_record);
    tcase_add_test(writing, options_of_models_and_data_survive_json);
    suite_add_tcase(suite, writing);

    TCase *const programs = tcase_create("programs");
    tcase_set_timeout(programs, 120);
    tcase_add_checked_fixture(programs, make_folder, remove_folder);
    tcase_add_test(programs, both_programs_write_the_curves_of_the_run);
    tcase_add_test(programs, a_run_that_reads_no_value_records_no_decision);
    tcase_add_test(programs, the_final_loss_is_that_of_the_run);
    tcase_add_test(programs, a_run_again_makes_the_records_that_are_missing);
    tcase_add_loop_test(programs, bad_usage_is_one_sentence, 0,
                        sizeof refusals / sizeof refusals[0]);
    tcase_add_test(programs, the_replay_program_needs_no_simulator);
    suite_add_tcase(suite, programs);
    return suite;
}
