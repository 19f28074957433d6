/**
 * @file test_endurance.c
 * Tests long runs of every algorithm of the registry with default options. The runs have three
 * tasks. The workers have equal or different data, and step times vary by a tenth. All numbers must
 * stay finite, the loss must fall, and mixing must keep the models closer together than they would
 * be without mixing.
 */
#include "models/zoo/model.h"
#include "sim/network/cluster.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static const struct task {
    const char *name, *model, *data;
    double features, points, lr;
} tasks[] = {
    {"regression", "hyperplane", "hyperplane", 1023, 2048, 3e-3}, /* 1,024 parameters; 1 % are 10 */
    {"logreg", "logreg", "sequences", 64, 2048, 0.2},
    {"mlp", "mlp", "sequences", 16, 2048, 0.1},
};
static const int counts[] = {2, 7, 8, 64};
enum { N_TASKS = 3, N_COUNTS = 4, N_CASES = 2 * N_TASKS * N_COUNTS };

static dsgd_spec picked(const dsgd_entry *const *registry, const char *name)
{
    return dsgd_spec_default(dsgd_entry_find(registry, name));
}

/**
 * Returns the factor by which a case multiplies the learning rate. The rate is lower for few
 * workers, because the mean of their gradients is noisy. The rate is also lower for servers that
 * apply every worker's update, because P updates are P steps. For eamsgd, the rate is lower because
 * momentum is 0.99.
 */
static double share_of_rate(const support_case *c)
{
    static const char *const adding[] = {"a_psgd", "ssp", "ringmaster"};
    const double workers = c->config.workers;
    for (size_t i = 0; i < sizeof adding / sizeof *adding && c->config.algorithm != NULL; i++)
        if (strcmp(c->config.algorithm->about.name, adding[i]) == 0)
            return 1 / fmax(8, workers);
    const bool heavy =
        c->config.algorithm != NULL && strcmp(c->config.algorithm->about.name, "eamsgd") == 0;
    return fmin(workers / 8, 8 / workers) * (heavy ? 0.01 : 1);
}

/**
 * Makes case number @p i, which selects the task, the split of the data and the number of workers.
 */
static support_case *enduring(const char *algorithm, int i, double steps)
{
    const struct task *const task = &tasks[i % N_TASKS];
    support_case *const c = support_new(algorithm, counts[i / N_TASKS / 2]);
    c->config.until.steps = steps;
    dsgd_learning *const learning = &c->learning;
    learning->model = picked(dsgd_model_kinds, task->model);
    learning->data = picked(dsgd_data_sources, task->data);
    support_set(learning->data.about, learning->data.params, "features", task->features);
    support_set(learning->data.about, learning->data.params, "points", task->points);
    if (dsgd_option_find(learning->data.about->options, "longest") != NULL)
        support_set(learning->data.about, learning->data.params, "longest", 1);
    if (i / N_TASKS % 2 == 1) {
        learning->split = picked(dsgd_split_kinds, "dirichlet");
        support_set(learning->split.about, learning->split.params, "alpha", 0.1);
    }
    learning->optimizer = (dsgd_optimizer){.lr = task->lr * share_of_rate(c)};
    learning->precision = DSGD_PRECISION_FLOAT;
    learning->evaluate.every = steps / 2;
    IMBALANCE(c, "lognormal", {"mean", 0.1}, {"deviation", 0.1});
    return c;
}

/**
 * Returns true if a run learned and stayed finite. @p most is the consensus distance without
 * mixing. If a model overfits the few points, its loss on other points rises again. Such a run
 * counts as successful if its accuracy has improved. For DiLoCo and decoupled DiLoCo, 1,000 steps
 * are a few rounds, and the second round overshoots. The largest loss in such a run was 1.16 times
 * the first loss.
 */
static bool endured(const char *name, const support_outcome *got, double most)
{
    const bool overshoots = strcmp(name, "diloco") == 0 || strcmp(name, "decoupled_diloco") == 0;
    const double factor = overshoots ? 1.25 : 1;
    const dsgd_evaluation *const first = &got->points[0].at;
    const dsgd_evaluation *const last = &got->points[got->result.n_points - 1].at;
    const bool learned = last->loss < factor * first->loss ||
                         (last->accuracy > first->accuracy && last->loss < 2 * first->loss);
    return got->result.outcome == DSGD_RUN_OK && learned && last->consensus <= 1.1 * most;
}

/**
 * Runs all algorithms on case number @p i. If @p prints is true, prints a table of the results;
 * otherwise, checks the results.
 */
static void all_endure(int i, double steps, bool prints)
{
    support_case *const alone = enduring(NULL, i, steps);
    alone->config.algorithm = &support_alone;
    const support_outcome *const apart = support_ok(alone);
    const double most = apart->points[apart->result.n_points - 1].at.consensus;
    char *failed = dsgd_xstrdup("");
    for (int a = 0; a < support_n_algorithms(); a++) {
        const char *const name = dsgd_algorithms[a]->name;
        const support_outcome *const got = support_simulate(enduring(name, i, steps));
        if (got->status == DSGD_EUSAGE) { /* the algorithm rejects this number of workers */
            ck_assert_has(got->error.text, ", such as ");
            continue;
        }
        ck_assert_msg(got->status == DSGD_OK, "%s: %s", name, got->error.text);
        const dsgd_evaluation *const first = &got->points[0].at;
        const dsgd_evaluation *const last = &got->points[got->result.n_points - 1].at;
        char *const line = dsgd_xprintf(
            "| %s | %d | %s | %s | %.3g | %.2g |%s %s\n", name, counts[i / N_TASKS / 2],
            tasks[i % N_TASKS].name, i / N_TASKS % 2 == 1 ? "dirichlet" : "iid",
            last->loss / first->loss, last->consensus / most,
            endured(name, got, most) ? "" : " does not last", got->result.why.text);
        if (prints)
            fputs(line, stderr);
        else if (!endured(name, got, most))
            dsgd_append(&failed, "%s", line);
    }
    ck_assert_msg(failed[0] == '\0', "%s", failed);
}

/**
 * Number of cases in a test. With the largest number of workers, a test runs only one task; the
 * printed table contains all tasks.
 */
enum { N_TESTED = (N_COUNTS - 1) * 2 * N_TASKS + 1 };

static int tested(int i)
{
    return i < N_TESTED - 1 ? i : N_CASES - 2;
}

SUITE(endurance, "defaults", .seconds = 60);

TEST_RANGE(defaults_last_300_steps, 0, SUPPORT_SLOW ? 2 * N_TASKS : N_TESTED)
{
    all_endure(tested(_i), 300, false);
}

SUITE(endurance_long, "defaults", .seconds = 3000);

/**
 * If the environment variable DSGD_ENDURANCE_STEPS is a number of steps, prints a table of all
 * cases instead of checking.
 */
TEST_RANGE(defaults_last_1000_steps, 0, N_CASES)
{
    const char *const text = getenv("DSGD_ENDURANCE_STEPS");
    if (text != NULL)
        all_endure(_i, strtod(text, NULL), true);
    else if (_i < N_TESTED)
        all_endure(tested(_i), 1000, false);
}
