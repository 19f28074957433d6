/**
 * @file test_staleness.c
 * Tests the ages of the values that an algorithm uses. The tests compare ages with bounds and
 * closed forms, and check the histograms of ages.
 */
#include "tests/support/suite.h"
#include "tests/support/support.h"

/**
 * Checks that the shares of a histogram of ages add up to 1 and have the given mean. If the
 * tolerance is below 1, all uses have the same age, and the largest age is also compared.
 */
static void expect_histogram(const double *ages, double mean, double largest, double tolerance)
{
    double sum = 0, mean_of_ages = 0, largest_of_ages = 0;
    for (int age = 0; age < SUPPORT_AGES; age++) {
        ck_assert_double_ge(ages[age], 0);
        sum += ages[age];
        mean_of_ages += ages[age] * age;
        largest_of_ages = ages[age] > 0 ? age : largest_of_ages;
    }
    if (sum > 0)
        ck_assert_double_eq_tol(sum, 1, 1e-12);
    ck_assert_double_eq_tol(mean_of_ages, mean, tolerance);
    if (tolerance < 1)
        ck_assert_double_eq(largest_of_ages, largest);
}

SUITE(staleness, "staleness", .seconds = 240);

TEST_RANGE(histograms_agree_with_mean_and_largest, 0, support_n_algorithms())
{
    support_case *c = support_no_learning(support_new(dsgd_algorithms[_i]->name, 8));
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    c->config.exchange.pieces = 3;
    const support_outcome *got = support_ok(c);
    const dsgd_run_result *const r = &got->result;
    expect_histogram(got->ages, r->staleness_mean, r->staleness_max, 1e-12);
    /* The histogram counts a sum of gradients with the mean of its ages, rounded down. */
    const bool sums = strncmp(dsgd_algorithms[_i]->name, "eager", 5) == 0;
    expect_histogram(got->gradient_ages, r->gradient_staleness_mean, r->gradient_staleness_max,
                     sums ? 1 : 1e-12);
    ck_assert_double_ge(r->lag_mean, r->staleness_mean);
    ck_assert_double_ge(r->lag_max, r->staleness_max);
}

/** Returns the largest distance between the final models of four workers. */
static double spread_after(const char *name, long steps)
{
    support_case *c = support_new(name, 4);
    support_imbalance_number(c, "ramp", "seconds", 0.4);
    support_option(c, "period", 3);
    support_steps_each(c, steps);
    const support_outcome *const got = support_ok(c);
    double most = 0;
    for (size_t w = 1; w < 4; w++)
        most = fmax(most, support_distance(got->x + w * got->n_params, got->x, got->n_params));
    return most;
}

/**
 * Algorithms that average models periodically do so after every third step. Between two averages,
 * the models of the workers differ. With eager_solo, the models differ after step 7 or 8, but not
 * after every step.
 */
TEST_RANGE(models_are_equal_only_at_the_end_of_a_period, 0, 4)
{
    static const char *const names[] = {"local_sgd", "slowmo", "eager_solo", "eager_majority"};
    double drifted = 0;
    for (long steps = 1; steps <= 9; steps++) {
        const double apart = spread_after(names[_i], steps);
        if (steps % 3 == 0)
            ck_assert_msg(apart < support_rounding(), "%g after %ld", apart, steps);
        else if (_i < 2)
            ck_assert_msg(apart > 1e-6, "%g after %ld", apart, steps);
        drifted = steps > 6 ? fmax(drifted, apart) : 0;
    }
    if (_i < 3)
        ck_assert_double_gt(drifted, 1e-6);
}

TEST_RANGE(a_push_misses_one_update_of_every_other_worker, 0, 3 * 7)
{
    static const struct {
        const char *name, *option;
        /*
         * name and value of an option that makes the server use each gradient separately, whatever
         * its age
         */
        double value;
    } servers[] = {
        {"a_psgd", NULL, 0}, {"async_local_sgd", "period", 1}, {"ringmaster", "delay", -2}};
    const int p = 2 + _i / 3;
    const bool by_message = _i % 3 > 0;
    const long steps = 12;
    support_case *c = support_new(servers[_i % 3].name, p);
    if (by_message)
        support_option(c, servers[_i % 3].option, servers[_i % 3].value);
    if (support_has(c, "grace"))
        support_option(c, "grace", 0);
    /* with this imbalance, workers always arrive in the same order */
    support_imbalance_number(c, "ramp", "seconds", 0.001);
    support_steps_each(c, steps);
    c->config.exchange.pieces = 2;
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.gradient_staleness_max, p - 1);
    /* Pushes are not local steps, so they have no staleness. */
    if (!by_message)
        ck_assert_double_eq(got->result.staleness_max, 0);
    /*
     * In the first round, the i-th worker that arrives misses only the i - 1 updates before its
     * own.
     */
    const double last = (double)(p * (steps - 1) + 1) / (double)(p * steps);
    ck_assert_double_eq_tol(got->gradient_ages[p - 1], last, 1e-12);
    for (int age = 0; age < p - 1; age++)
        ck_assert_double_eq_tol(got->gradient_ages[age], 1.0 / (double)(p * steps), 1e-12);
}

/**
 * Three chunks travel one after another for 0.8 s each. The first two chunks arrive before the end
 * of a step, the third during the next step.
 */
TEST(an_overlapped_push_waits_for_nothing_until_its_delay)
{
    support_case *c = support_no_learning(support_new("osgp", 8));
    SET(c, workload.bytes = 24e9, config.exchange.pieces = 3);
    support_option(c, "delay", 3);
    support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.virtual_s, 20);
    ck_assert_double_eq(got->result.staleness_max, 3);
    /* with a delay of 2, workers wait until the last chunk has arrived */
    support_option(c, "delay", 2);
    got = support_ok(c);
    ck_assert_double_gt(got->result.virtual_s, 20 + 8 * 0.4);
    ck_assert_double_eq(got->result.staleness_max, 2);
}

TEST(overlapped_push_is_one_step_old)
{
    support_case *c = support_new("osgp", 8);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_max, 1);
    ck_assert_double_gt(got->ages[1], 0.99);
}

TEST(push_may_be_older_than_its_delay_if_rounds_end_sooner)
{
    support_case *c = support_no_learning(support_new("osgp", 16));
    dsgd_spec *const late = &c->imbalance[0];
    support_imbalance_number(c, "delay", "seconds", 3);
    support_set(late->about, late->params, "workers", 2);
    c->config.until.steps = 100;
    ck_assert_double_eq(support_ok(c)->result.staleness_max, 1);
    support_option(c, "delay", 2);
    ck_assert_double_gt(support_ok(c)->result.staleness_max, 2);
}

/**
 * Tests the bound of the papers: a contribution was made in one of the last tau iterations. A step
 * of worker 0 takes two and a half times as long as a step of any other worker. Worker 0 is
 * therefore late within a round. Step times are random.
 */
TEST_RANGE(wagma_lags_behind_by_less_than_its_period, 0, 4)
{
    static const int some_periods[] = {2, 3, 5, 8};
    for (int workers = 4; workers <= 16; workers *= 2)
        for (int order = 0; order < 2; order++) {
            support_case *c = support_no_learning(support_new("wagma", workers));
            OPTIONS(c, {"period", some_periods[_i]}, {"order", order});
            support_imbalance_number(c, "slow", "factor", 2.5);
            IMBALANCE(c, "lognormal", {"mean", 0.3}, {"deviation", 0.5});
            SET(c, config.exchange.pieces = 1 + 2 * order, config.until.steps = 40);
            const dsgd_run_result bounded = support_ok(c)->result;
            ck_assert_double_gt(bounded.lag_max, 0);
            ck_assert_double_lt(bounded.lag_max, some_periods[_i]);
            support_option(c, "period", 1000);
            ck_assert_double_gt(support_ok(c)->result.lag_max, 10);
        }
}

/**
 * Worker 0 has finished step t after t + 1 s, and worker 1 has finished step t after 3.6 (t + 1) s.
 * At 3.6, 7.2 and 10.8 s, worker 1 finds versions 2, 6 and 9 of the model. The gradients of worker
 * 1 are in versions 3 and 7.
 */
TEST(a_constant_straggler_misses_sums_of_solo)
{
    support_case *c = support_no_learning(support_new("eager_solo", 2));
    support_imbalance_number(c, "ramp", "seconds", 2.6);
    c->config.until = (dsgd_until){.seconds = 10.9};
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.partial_skipped, 2 + 3 + 2);
    ck_assert_double_eq(got->result.partial_duplicates, 0);
    /*
     * Worker 0 uses its own gradient in each of its 10 versions. It uses the gradients of worker 1
     * from steps 0 and 1 in versions 3 and 7. Worker 1 uses gradients of worker 0 in versions 2, 6
     * and 9. The lag is 0 for all uses except two.
     */
    ck_assert_double_eq(got->result.lag_max, 6);
    ck_assert_double_eq_tol(got->result.lag_mean, (3.0 + 6.0) / (10 + 2 + 3), 1e-12);
    ck_assert_double_eq(got->result.gradient_staleness_max, 6);
    /* staleness is counted in whole vectors, also if a vector has three chunks */
    c->config.exchange = (dsgd_exchange_config){.pieces = 3};
    got = support_ok(c);
    ck_assert_double_eq(got->result.partial_skipped, 2 + 3 + 2);
    ck_assert_double_eq(got->result.lag_max, 6);
}

/**
 * Worker 1 averages once per gradient, and worker 0 answers. A gradient of worker 0 may take eight
 * times as long as a gradient of worker 1. The model of worker 0 is then averaged eight times
 * before the gradient is applied.
 */
TEST_RANGE(gradients_of_ad_psgd_are_as_old_as_averagings_since, 0, 2)
{
    support_case *c = support_no_learning(support_new("ad_psgd", 2));
    const int passive_is_slow = _i;
    if (passive_is_slow)
        support_imbalance_number(c, "slow", "factor", 8);
    c->config.until = (dsgd_until){.seconds = 16.5};
    const support_outcome *got = support_ok(c);
    const double slow = passive_is_slow ? 2 * 8 : 16, steps = passive_is_slow ? 16 + 2 : 16 + 16;
    ck_assert_double_eq_tol(got->result.gradient_staleness_mean, (16 + slow) / steps, 1e-12);
    ck_assert_double_eq(got->result.gradient_staleness_max, passive_is_slow ? 8 : 1);
    /*
     * The last averaged model of the slow worker contains one of its steps, and is used in step 16.
     */
    ck_assert_double_eq(got->result.lag_max, passive_is_slow ? 16 - 2 : 0);
}

/**
 * The gradient is computed at the old models before they are averaged, and is applied after the
 * average.
 */
TEST_RANGE(gradient_during_an_average_is_one_update_old, 0, 9)
{
    static const struct {
        const char *algorithm, *option;
        double value, age;
    } cases[] = {
        {"d_psgd", "rounds", 1, 1}, {"d_psgd", "rounds", 3, 3},   {"d_psgd", "order", 2, 0},
        {"sgp", NULL, 0, 0},        {"osgp", NULL, 0, 0},         {"eamsgd", "centre", 1, 0},
        {"wagma", "order", 1, 1},   {"drop_compute", NULL, 0, 0}, {"diloco", "period", 3, 0},
    };
    support_case *c = support_no_learning(support_new(cases[_i].algorithm, 4));
    c->config.exchange.pieces = 3;
    if (cases[_i].option != NULL)
        support_option(c, cases[_i].option, cases[_i].value);
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq_tol(got->result.gradient_staleness_mean, cases[_i].age, 1e-12);
    ck_assert_double_eq(got->result.gradient_staleness_max, cases[_i].age);
}

/**
 * A test algorithm in which gradients travel for a step. Each worker applies the mean of the
 * previous step's gradients.
 */
static void delayed_work(dsgd_node *self)
{
    dsgd_vector *x = dsgd_model(self), *g[2] = {dsgd_vector_new(self), dsgd_vector_new(self)};
    dsgd_vector *mean = dsgd_vector_new(self);
    dsgd_request *round = NULL;
    while (dsgd_next_step(self)) {
        dsgd_gradient(self, g[self->step % 2], x);
        if (round != NULL) {
            dsgd_request_wait(self, round, mean);
            dsgd_local_step(self, x, mean);
        }
        round = dsgd_collective_begin(self, DSGD_ALLREDUCE, g[self->step % 2], DSGD_WORLD);
    }
}

TEST_ALGORITHM(delayed, .work = delayed_work);

TEST(a_delayed_sum_of_gradients_is_a_step_old)
{
    support_case *c = support_no_learning(support_of(&delayed, 4));
    const support_outcome *got = support_ok(c);
    ck_assert_double_le(got->result.gradient_staleness_mean, 1);
    ck_assert_double_gt(got->result.gradient_staleness_mean, 0.9);
    ck_assert_double_eq(got->result.gradient_staleness_max, 1);
}

TEST_RANGE(dasgd_uses_averages_d_steps_old, 0, 5)
{
    support_case *c = support_no_learning(support_new("dasgd", 8));
    OPTIONS(c, {"tau", 4}, {"d", _i});
    const support_outcome *got = support_ok(c);
    ck_assert_double_eq(got->result.staleness_mean, _i);
    ck_assert_double_eq(got->result.staleness_max, _i);
    ck_assert_double_eq(got->result.lag_mean, _i);
    ck_assert_double_eq(got->result.lag_max, _i);
}

TEST(synchronous_sgd_is_never_stale)
{
    support_case *c = support_no_learning(support_new("allreduce", 8));
    support_imbalance_number(c, "ramp", "seconds", 0.1);
    const dsgd_run_result got = support_ok(c)->result;
    ck_assert_double_eq(got.staleness_max, 0);
    ck_assert_double_eq(got.lag_max, 0);
    ck_assert_double_eq(got.gradient_staleness_max, 0);
}
