/**
 * @file test_record.c
 * Records: what is replayed is the run, at any number of threads, whether the run computed or not.
 */
#include <sys/stat.h>

#include "command/runs/columns.h"
#include "models/record/format.h"
#include "models/record/record.h"
#include "models/record/replay.h"
#include "models/zoo/network.h"
#include "tests/models/records.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

/* --- runs and replays ------------------------------------------------------------------------- */

/** The bytes of rows, as both sides write them. */
static char *rows(size_t n, const dsgd_point *points)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    dsgd_curve_print(stream, &(dsgd_run_key){7, "some", 8, 1}, n, points);
    fclose(stream);
    return kept(text);
}

static void expect_curve(const support_outcome *run, const dsgd_replay_result *again)
{
    char *const want = rows(run->result.n_points, run->points);
    char *const got = rows(again->n_points, again->points);
    ck_assert_uint_gt(strlen(want), 0);
    ck_assert_str_eq(got, want);
    ck_assert_uint_eq(run->result.n_points, again->n_points);
}

/** Runs, replays at one and two threads, records without computing, and replays that. */
static void expect_replay(support_case *c)
{
    const support_outcome *const run = support_simulate(c);
    ck_assert_msg(run->status == DSGD_OK, "%s", run->error.text);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        dsgd_replay_result again = records_replay(c->config.record, threads);
        expect_curve(run, &again);
        ck_assert_int_eq(again.divergence.happened, run->result.outcome == DSGD_RUN_DIVERGED);
        ck_assert_uint_eq(again.different, 0);
        ck_assert_uint_eq(again.numerics.gradients, run->result.numerics.gradients);
        ck_assert_uint_eq(again.numerics.combinations, run->result.numerics.combinations);
    }
    if (c->config.algorithm->reads != DSGD_READS_NOTHING)
        return; /* what it reads is computed */
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *const off = support_simulate(c);
    ck_assert_msg(off->status == DSGD_OK, "%s", off->error.text);
    ck_assert_uint_eq(off->result.n_points, 0);
    ck_assert_double_eq(off->result.virtual_s, run->result.virtual_s);
    ck_assert_str_eq(off->result.device, "off");
    dsgd_replay_result again = records_replay(c->config.record, 1);
    expect_curve(run, &again);
}

static const char *algorithm_name(int i)
{
    return dsgd_algorithms[i]->name;
}

SUITE(record, "replays", .seconds = 300, .set_up = records_folder_make,
      .tear_down = records_folder_remove);

TEST_RANGE(every_algorithm_is_replayed_to_the_byte, 0, support_n_algorithms())
{
    expect_replay(records_case(algorithm_name(_i), 8, "r"));
}

TEST_RANGE(every_algorithm_is_replayed_to_the_byte_from_different_models, 0, support_n_algorithms())
{
    support_case *const c = records_case(algorithm_name(_i), 4, "r");
    support_spread(c);
    c->config.exchange.blocking = false;
    const support_outcome *const run = support_simulate(c);
    dsgd_replay_result again = records_replay(c->config.record, 1);
    expect_curve(run, &again);
}

TEST(a_run_in_float_on_images_is_replayed_to_the_byte)
{
    support_case *const c = records_case("wagma", 8, "r");
    support_use_mlp(c);
    c->learning.precision = DSGD_PRECISION_FLOAT;
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.02, .weight_decay = 1e-4, .warmup_steps = 7};
    expect_replay(c);
}

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

static dsgd_spec picked(const dsgd_entry *const *registry, const char *name)
{
    const dsgd_entry *const about = dsgd_entry_find(registry, name);
    ck_assert_msg(about != NULL, "nothing is called %s", name);
    void *const params = dsgd_xcalloc(1, about->params_size);
    dsgd_options_default(about->options, params);
    return (dsgd_spec){about, params};
}

TEST_ROWS(every_model_is_replayed_to_the_byte, learned)
{
    const bool images = strcmp(learned[_i].data, "fashion-mnist") == 0;
    if (SUPPORT_SLOW && images)
        return;
    support_case *const c = records_case("ad_psgd", images ? 2 : 4, "r");
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

TEST_RANGE(every_split_is_replayed_to_the_byte, 0, 3)
{
    support_case *const c = records_case("d_psgd", 8, "r");
    c->learning.split = picked(dsgd_split_kinds, dsgd_split_kinds[_i]->name);
    expect_replay(c);
}

TEST(every_model_is_among_those_replayed)
{
    for (size_t i = 0; dsgd_model_kinds[i] != NULL; i++) {
        size_t k = 0;
        while (k < sizeof learned / sizeof learned[0] &&
               strcmp(learned[k].model, dsgd_model_kinds[i]->name) != 0)
            k++;
        ck_assert_msg(k < sizeof learned / sizeof learned[0], "%s", dsgd_model_kinds[i]->name);
    }
}

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

TEST_ROWS(common_subexpressions_are_those_of_this_version_of_records, golden)
{
    char *const path = dsgd_xprintf("%s/tests/golden/%s.record", DSGD_SOURCE_DIR, golden[_i].name);
    dsgd_replay_result again = records_replay(path, 1);
    const char *const advice = "if this is meant, raise RECORD_VERSION and record anew";
    ck_assert_msg(again.n_points == 4, "%s: %zu points; %s", path, again.n_points, advice);
    const dsgd_evaluation last = again.points[3].at;
    ck_assert_msg(fabs(last.loss - golden[_i].loss) < 1e-9, "%s: %.17g; %s", path, last.loss,
                  advice);
    ck_assert_msg(fabs(last.consensus - golden[_i].consensus) < 1e-9, "%s: %.17g; %s", path,
                  last.consensus, advice);
}

TEST(a_divergence_is_replayed_where_it_happened)
{
    support_case *const c = records_case("d_psgd", 8, "r");
    c->learning.optimizer.lr = 1e30;
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->result.outcome, DSGD_RUN_DIVERGED);
    dsgd_replay_result again = records_replay(c->config.record, 2);
    expect_curve(run, &again);
    ck_assert(again.divergence.happened);
    char *const where =
        dsgd_xprintf("step %llu of worker %u", (unsigned long long)again.divergence.where.step,
                     again.divergence.where.worker);
    ck_assert_has(run->result.why.text, where);
}

/** Ends at an accuracy: the decisions are in the record. */
static const support_outcome *run_until_accuracy(support_case **c)
{
    *c = records_case("ad_psgd", 4, "r");
    support_use_mlp(*c);
    (*c)->config.until = (dsgd_until){.steps = 60, .accuracy = 0.4};
    (*c)->learning.optimizer.lr = 0.02;
    (*c)->learning.evaluate.every = 2;
    const support_outcome *const run = support_ok(*c);
    ck_assert_double_lt(run->result.steps, 60);
    const size_t last = run->result.n_points - 1;
    ck_assert_uint_gt(last, 1);
    for (size_t i = 0; i <= last; i++) /* the first that has it is the last */
        ck_assert_int_eq(run->points[i].at.accuracy >= 0.4, i == last);
    return run;
}

TEST(a_run_until_an_accuracy_is_replayed_as_it_ended)
{
    support_case *c = NULL;
    const support_outcome *const run = run_until_accuracy(&c);
    dsgd_replay_result again = records_replay(c->config.record, 2);
    expect_curve(run, &again);
    ck_assert_uint_ge(again.decisions, run->result.n_points - 1);
    ck_assert_uint_eq(again.different, 0);
}

TEST(recorded_decisions_hold_for_other_values)
{
    support_case *c = NULL;
    const support_outcome *const run = run_until_accuracy(&c);
    dsgd_replay_result again;
    ck_assert_int_eq(records_replay_with(c->config.record, 1, 0, &again, NULL),
                     DSGD_OK); /* in float */
    ck_assert_uint_eq(again.n_points, run->result.n_points);
    ck_assert_uint_gt(again.different, 0);
    const size_t last = again.n_points - 1;
    ck_assert_double_eq(again.points[last].virtual_s, run->points[last].virtual_s);
    ck_assert_double_eq_tol(again.points[last].at.loss, run->points[last].at.loss, 1e-3);
}

TEST(a_record_says_whose_it_is)
{
    support_case *const c = records_case("allreduce", 8, "r");
    c->config.record_about = "{\"run\": 7, \"label\": \"some\", \"manifest\": {\"experiment\": "
                             "\"delays\"}}";
    c->config.seed = 9;
    support_ok(c);
    dsgd_replay_result again = records_replay(c->config.record, 1);
    ck_assert_uint_eq(again.run, 7);
    ck_assert_str_eq(again.label, "some");
    ck_assert_int_eq(again.workers, 8);
    ck_assert_uint_eq(again.seed, 9);
    ck_assert_str_eq(again.experiment, "delays");
}

/** The policy in many environments, whose state is larger than the model. */
static void use_policy(support_case *c)
{
    c->learning.model = picked(dsgd_model_kinds, "policy");
    c->learning.data = picked(dsgd_data_sources, "navigation");
    support_set(c->learning.model.about, c->learning.model.params, "hidden", 2);
    support_set(c->learning.model.about, c->learning.model.params, "environments", 64);
    c->learning.batch = 64;
}

TEST_RANGE(a_replay_releases_what_the_run_released, 0, 2)
{
    support_case *const c = records_case(NULL, 1, "r");
    c->config.algorithm = &support_alone;
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
}

static long file_bytes(const char *path)
{
    struct stat facts;
    ck_assert_int_eq(stat(path, &facts), 0);
    return (long)facts.st_size;
}

TEST(initial_states_are_not_recorded)
{
    enum { WORKERS = 16, STATE_BYTES = 64 * 8 };
    support_case *const c = records_case("allreduce", WORKERS, "r");
    use_policy(c);
    c->config.until.steps = 1;
    c->config.numerics = DSGD_NUMERICS_OFF;
    ck_assert_int_eq(support_simulate(c)->status, DSGD_OK);
    ck_assert_int_lt(file_bytes(c->config.record), WORKERS * STATE_BYTES / 2);
}

TEST_RANGE(an_operation_takes_two_bytes_at_most, 0, support_n_algorithms())
{
    if (((const dsgd_algorithm *)dsgd_algorithms[_i])->reads != DSGD_READS_NOTHING)
        return; /* is recorded with numerics alone */
    support_case *const c = records_case(algorithm_name(_i), 16, "r");
    c->config.until.steps = 100;
    c->learning.evaluate = (dsgd_evaluate_config){0};
    c->config.numerics = DSGD_NUMERICS_OFF;
    const support_outcome *const run = support_simulate(c);
    ck_assert_int_eq(run->status, DSGD_OK);
    dsgd_replay_result again = records_replay(c->config.record, 1);
    const long bytes = file_bytes(c->config.record);
    ck_assert_msg((double)bytes < 1000 + 2.0 * (double)again.operations,
                  "%s: %ld bytes for %llu operations", algorithm_name(_i), bytes,
                  (unsigned long long)again.operations);
}

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
    const dsgd_record_config config = {records_path(name), &s->config, c->learning.model,
                                       c->learning.data,   true,       "{}"};
    ck_assert_int_eq(dsgd_recorder_open(&config, &s->recorder, NULL), DSGD_OK);
    dsgd_values_record(s->values, s->recorder);
    double *const x = dsgd_keep(s->begin[1], sizeof *x);
    dsgd_network_initial(&s->problem->network, 1, x);
    s->x = dsgd_values_constant(s->values, 0, x);
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

CASE("stores", .seconds = 120, .set_up = records_folder_make, .tear_down = records_folder_remove);

TEST(a_common_subexpression_is_recorded_once)
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
    dsgd_replay_result result = records_replay(records_path("r"), 1);
    ck_assert_uint_eq(result.n_points, 1);
    ck_assert_double_eq(result.points[0].at.loss, loss);
    /* The constant, all gradients, three of four updates, the model given back for a while,
     * evaluation and point. */
    ck_assert_uint_eq(result.operations, 1 + 3 + 3 + 1 + 2);
}

TEST(an_encoding_is_replayed)
{
    recorded_store *const s = recorded_store_open("r");
    const dsgd_origin where = {0, 0};
    const dsgd_codec codes[] = {{.kind = DSGD_CODEC_TOP_K, .count = 2, .number = 1},
                                {.kind = DSGD_CODEC_STOCHASTIC,
                                 .levels = 3,
                                 .count = 4,
                                 .number = 0.5,
                                 .seed = 9,
                                 .step = 7}};
    const double weights[] = {1, -0.1, 3};
    const dsgd_value g = recorded_store_gradient(s, 0);
    dsgd_value made[3] = {s->x};
    for (int i = 0; i < 2; i++)
        made[i + 1] = dsgd_values_encode(s->values, where, 0, &codes[i], g, DSGD_ZERO_VALUE);
    const dsgd_value sum = dsgd_values_combine(s->values, where, 0, 3, made, weights, 1);
    const dsgd_value masked = dsgd_values_encode(
        s->values, where, 0, &(dsgd_codec){.kind = DSGD_CODEC_MASK}, sum, made[1]);
    const double loss = recorded_store_evaluate(s, masked).loss;
    recorded_store_close(s);
    dsgd_replay_result result = records_replay(records_path("r"), 1);
    ck_assert_double_eq(result.points[0].at.loss, loss);
    ck_assert_uint_eq(result.numerics.encodings, 3);
}

TEST(a_flush_is_replayed)
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
    dsgd_replay_result result = records_replay(records_path("r"), 1);
    ck_assert_uint_eq(result.numerics.combinations, 1);
}

TEST(decisions_are_counted_and_compared)
{
    recorded_store *const s = recorded_store_open("r");
    double *const x = dsgd_keep(s->begin[1], sizeof *x);
    const dsgd_value g = recorded_store_gradient(s, 0);
    dsgd_values_read(s->values, 0, g, x);
    dsgd_values_result(s->values, dsgd_values_evaluate(s->values, 1, &g, NULL));
    recorded_store_evaluate(s, g);
    recorded_store_close(s);
    for (int precision = 0; precision < 2; precision++) {
        dsgd_replay_result result;
        ck_assert_int_eq(records_replay_with(records_path("r"), 1, precision, &result, NULL),
                         DSGD_OK);
        ck_assert_uint_eq(result.decisions, 2);
        ck_assert_uint_eq(result.different, precision == 1 ? 0 : 2);
    }
}

static void count_calls(void *argument, double share)
{
    double *const last = argument;
    ck_assert_double_gt(share, *last);
    ck_assert_double_le(share, 1);
    *last = share;
}

TEST(a_long_record_has_several_blocks)
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
    ck_assert_int_eq(record_open(&file, records_path("r"), NULL), DSGD_OK);
    size_t n = 0;
    do {
        ck_assert_int_eq(record_next(&file, NULL), DSGD_OK);
        n++;
        ck_assert_uint_lt(file.n, RECORD_BLOCK_BYTES + 100);
    } while (strcmp(file.kind, RECORD_DONE) != 0);
    ck_assert_uint_gt(n, 4);
    record_close(&file);
    double last = 0;
    const dsgd_replay_config config = {.path = records_path("r"),
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
}

TEST(the_checksum_of_data_sees_all_of_it)
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
