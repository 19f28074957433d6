/**
 * @file test_differing_data.c
 * Tests gossip on quadratic losses that differ between workers. The tests compare its limit and its
 * rate of convergence with closed forms.
 *
 * Worker i has one sample (a_i, y_i) of a line and minimises (a_i w + v - y_i)^2 / 2 by its exact
 * gradient. If a = 0, the loss is (v - y_i)^2 / 2.
 */
#include "models/data/split.h"
#include "models/encodings/encoding.h"
#include "sim/engine/engine.h"
#include "sim/engine/vectors.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

enum { MOST = 16 };

/** Parameters of the data source `line`: the number of workers, and the samples (a_i, y_i). */
static struct {
    uint32_t n;
    float a[MOST], y[MOST];
} line;

static dsgd_status line_load(const void *params, uint64_t seed, dsgd_data **data, dsgd_error *error)
{
    *data = dsgd_xcalloc(1, sizeof **data);
    **data = (dsgd_data){.n_rows = 1, .n_columns = 1, .width = 1, .n_features = 1};
    dsgd_samples *const parts[] = {&(*data)->train, &(*data)->test};
    for (int k = 0; k < 2; k++) {
        *parts[k] = (dsgd_samples){.n = line.n,
                                   .x_real = dsgd_xcalloc(line.n, sizeof(float)),
                                   .targets = dsgd_xcalloc(line.n, sizeof(float))};
        memcpy(parts[k]->x_real, line.a, line.n * sizeof(float));
        memcpy(parts[k]->targets, line.y, line.n * sizeof(float));
    }
    return DSGD_OK;
}

DSGD_DATA_SOURCE(line, false, .name = "line", .summary = "a point per worker");

/** true if the model of worker i starts at (a_i, y_i) instead of 0 */
static bool begins_apart;

/** Gives sample i to worker i, and sets the initial models. */
static void deal_in_order(dsgd_engine *engine, void *argument)
{
    for (uint32_t w = 0; w < line.n; w++) {
        engine->learning.split->samples[w] = w;
        ck_assert_uint_eq(engine->learning.split->begin[w], w);
        dsgd_vector *const model = engine->workers[w].learner.model;
        const double x[2] = {begins_apart ? (double)line.a[w] : 0,
                             begins_apart ? (double)line.y[w] : 0};
        dsgd_piece_set(engine, &model->piece[0],
                       dsgd_values_constant(engine->learning.values, 0, x), 0);
    }
}

/**
 * Name of the algorithm's gradient compression, or NULL for no compression. The compression `top_k`
 * sends half of the numbers.
 */
static const char *half_sent;

/**
 * Returns the models of all workers after @p steps steps at the learning rate @p lr. Element 2 i is
 * w of worker i, and element 2 i + 1 is v of worker i.
 */
static const double *ended(const char *algorithm, const char *form, double value, double lr,
                           int steps)
{
    support_case *const c = support_new(algorithm, (int)line.n);
    c->learning.split = support_picked(dsgd_split_kinds, "dirichlet", NULL, 0);
    c->learning.data = (dsgd_spec){&dsgd_data_line.about, NULL};
    SET(c, learning.batch = 1, learning.optimizer = (dsgd_optimizer){.lr = lr});
    support_option(c, form, value);
    if (half_sent != NULL) {
        const dsgd_entry *const about = dsgd_entry_find(dsgd_encoding_kinds, half_sent);
        void *const params = support_spec(c, "encoding", half_sent);
        if (strcmp(half_sent, "top_k") == 0)
            support_set(about, params, "share", 0.5);
    }
    SET(c, config.until.steps = steps, config.prepare = deal_in_order);
    const support_outcome *const run = support_ok(c);
    ck_assert_uint_eq(run->n_params, 2);
    return run->x;
}

static void use(uint32_t n, const float *a, const float *y)
{
    line.n = n;
    memset(line.a, 0, sizeof line.a);
    if (a != NULL)
        memcpy(line.a, a, n * sizeof *a);
    memcpy(line.y, y, n * sizeof *y);
}

enum { ATC = 2, TRACKING = 0, D2 = 1 }; /* values of the options `order` and `form` */

SUITE(differing_data, "differing_data", .seconds = 120);

/* --- closed forms ----------------------------------------------------------------------------- */

static const float targets[MOST] = {3, -1, 4, 1, -5, 9, 2, -6, 5, 3, -5, 8, 9, -7, 9, 3};
static const float slopes[MOST] = {1, .5, -1, 2, 1.5, -.5, 1, -2, .5, 1, 1.5, -1, 2, .5, -1.5, 1};

/** Returns eigenvalue number k of the mixing matrix of a ring of n workers with weights 1/3. */
static double ring_eigenvalue(uint32_t n, uint32_t k)
{
    return (1 + 2 * cos(2 * M_PI * k / n)) / 3;
}

/**
 * D-PSGD ends where x = W (x - lr (x - b)). At this point, mode k of x is mode k of b times the
 * factor lr l_k / (1 - (1 - lr) l_k). Here, l_k is the eigenvalue of mode k. The factor of the mean
 * is 1. The factors of all other modes become 0 only if lr becomes 0.
 */
TEST_RANGE(d_psgd_ends_at_its_bias, 0, 3)
{
    static const double rates[] = {0.3, 0.1, 0.03};
    if (support_in_float())
        return;
    const uint32_t n = _i == 2 ? 9 : MOST;
    const double lr = rates[_i];
    use(n, NULL, targets);
    const double *const x = ended("d_psgd", "order", ATC, lr, (int)(30 / lr));
    for (uint32_t i = 0; i < n; i++) {
        double expected = 0;
        for (uint32_t k = 0; k < n; k++) {
            const double l = ring_eigenvalue(n, k);
            /* adds the contribution of mode k of b to the model of worker i */
            for (uint32_t j = 0; j < n; j++)
                expected += lr * l / (1 - (1 - lr) * l) * (double)targets[j] *
                            cos(2 * M_PI * k * ((double)i - j) / n) / n;
        }
        ck_assert_double_eq_tol(x[2 * i + 1], expected, 1e-10);
    }
}

/**
 * Computes the optimum for the samples of all workers by least squares, and stores {w, v} in @p
 * best.
 */
static void optimum(double best[2])
{
    double aa = 0, a = 0, ay = 0, y = 0;
    const double n = line.n;
    for (uint32_t i = 0; i < line.n; i++) {
        aa += (double)line.a[i] * line.a[i] / n;
        a += line.a[i] / n;
        ay += (double)line.a[i] * line.y[i] / n;
        y += line.y[i] / n;
    }
    best[0] = (ay - a * y) / (aa - a * a);
    best[1] = y - best[0] * a;
}

static double distance(const double *x, const double best[2])
{
    double squares = 0;
    for (uint32_t i = 0; i < 2 * line.n; i++)
        squares += (x[i] - best[i % 2]) * (x[i] - best[i % 2]);
    return sqrt(squares);
}

/**
 * Tests that gradient tracking reaches the optimum of all data. It must reach the optimum also if
 * curvatures differ, and if one worker has no unique optimum.
 */
TEST(tracking_reaches_the_optimum_of_all_data_and_d_psgd_does_not)
{
    if (support_in_float())
        return;
    /* the smallest eigenvalue of an odd ring is above -1/3, which D2 requires */
    use(9, slopes, targets);
    double best[2];
    optimum(best);
    ck_assert_double_lt(distance(ended("gradient_tracking", "form", TRACKING, 0.05, 3000), best),
                        1e-9);
    ck_assert_double_lt(distance(ended("gradient_tracking", "form", D2, 0.05, 3000), best), 1e-9);
    ck_assert_double_gt(distance(ended("d_psgd", "order", ATC, 0.05, 3000), best), 0.1);
}

/** Returns the largest absolute value of the eigenvalues of the matrix {{m0, m1}, {m2, m3}}. */
static double spectral_radius(const double m[4])
{
    const double half = (m[0] + m[3]) / 2, determinant = m[0] * m[3] - m[1] * m[2];
    const double inner = half * half - determinant;
    return inner < 0 ? sqrt(determinant) : fabs(half) + sqrt(inner);
}

/**
 * For the loss (v - y)^2 / 2, each mode of the ring has its own iteration matrix. The matrix acts
 * on x and c minus their limits 0 and -r y. The mode has the eigenvalue l, and the learning rate is
 * r. For tracking, the matrix is {{l (1 - r), l}, {(1 - l) r, l}}. For d2, the matrix is {{l (1 -
 * r), l}, {(l - 1) (1 - r), l}}. The factor of the mean is 1 - r. In each step, the distance to the
 * optimum therefore falls by the largest spectral radius.
 */
TEST_RANGE(tracking_converges_like_its_modes, 0, 4)
{
    static const struct {
        uint32_t n;
        int form, steps;
        double lr;
    } runs[] = {
        {9, TRACKING, 150, 0.1}, {16, TRACKING, 30, 0.2}, {9, D2, 40, 0.3}, {15, D2, 99, 0.1}};
    if (support_in_float())
        return;
    const uint32_t n = runs[_i].n;
    const double lr = runs[_i].lr;
    use(n, NULL, targets);
    const double *const x = ended("gradient_tracking", "form", runs[_i].form, lr, runs[_i].steps);
    double rate = 1 - lr, best[2] = {0}, norm = 0;
    /* factor by which the run multiplies each target mode */
    double factor[MOST] = {1 - pow(1 - lr, runs[_i].steps)};
    for (uint32_t k = 1; k < n; k++) {
        const double l = ring_eigenvalue(n, k);
        const double m[4] = {l * (1 - lr), l,
                             runs[_i].form == D2 ? (l - 1) * (1 - lr) : (1 - l) * lr, l};
        double c = lr;
        for (int t = 0; t < runs[_i].steps; t++) {
            const double before = factor[k];
            factor[k] = m[0] * before + m[1] * c;
            c = m[2] * before + m[3] * c;
        }
        rate = fmax(rate, spectral_radius(m));
    }
    for (uint32_t i = 0; i < n; i++) {
        double expected = 0;
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t j = 0; j < n; j++)
                expected +=
                    factor[k] * (double)targets[j] * cos(2 * M_PI * k * ((double)i - j) / n) / n;
        ck_assert_double_eq_tol(x[2 * i + 1], expected, 1e-11);
        best[1] += (double)targets[i] / n;
        norm += (double)targets[i] * (double)targets[i];
    }
    ck_assert_double_lt(rate, 1);
    ck_assert_double_lt(distance(x, best), 2 * sqrt(norm) * pow(rate, runs[_i].steps));
}

/* --- consensus of CHOCO ----------------------------------------------------------------------- */

/**
 * Tests CHOCO with a learning rate of 0 and without compression. Each step multiplies a mode with
 * eigenvalue l by 1 - gamma (1 - l).
 */
TEST(choco_converges_like_its_modes)
{
    enum { WORKERS = 9, STEPS = 40 };
    if (support_in_float())
        return;
    use(WORKERS, slopes, targets);
    begins_apart = true;
    half_sent = "none";
    const double *const x = ended("choco", "gamma", 0.6, 0, STEPS);
    for (uint32_t i = 0; i < WORKERS; i++) {
        double expected = 0;
        for (uint32_t k = 0; k < WORKERS; k++)
            for (uint32_t j = 0; j < WORKERS; j++)
                expected += pow(1 - 0.6 * (1 - ring_eigenvalue(WORKERS, k)), STEPS) *
                            (double)targets[j] * cos(2 * M_PI * k * ((double)i - j) / WORKERS) /
                            WORKERS;
        ck_assert_double_eq_tol(x[2 * i + 1], expected, 1e-11);
    }
}

/**
 * If half of the numbers are sent, CHOCO's models converge linearly to their mean. The test uses
 * gamma = d^2 w / (16 d + d^2 + 4 b^2 + 2 d b^2 - 8 d w). Here w = 1/2, d is the eigengap, and b =
 * ||I - W||. By theorem 2 of CHOCO-SGD, the squared distance of models from their mean and from
 * their public copies falls at least as fast as (1 - d^2 w / 82)^t.
 */
TEST(choco_agrees_linearly_with_half_of_the_numbers)
{
    enum { WORKERS = 9 };
    if (support_in_float())
        return;
    use(WORKERS, slopes, targets);
    begins_apart = true;
    half_sent = "top_k";
    const double w = 0.5, d = 1 - ring_eigenvalue(WORKERS, 1), b = 1 - ring_eigenvalue(WORKERS, 4);
    const double gamma = d * d * w / (16 * d + d * d + 4 * b * b + 2 * d * b * b - 8 * d * w);
    double mean[2] = {0}, first = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        mean[0] += (double)line.a[i] / WORKERS;
        mean[1] += (double)line.y[i] / WORKERS;
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        const double a = line.a[i], y = line.y[i];
        first += (a - mean[0]) * (a - mean[0]) + (y - mean[1]) * (y - mean[1]) + a * a + y * y;
    }
    const double slow = distance(ended("choco", "gamma", gamma, 0, 1000), mean);
    ck_assert_double_le(slow * slow, pow(1 - d * d * w / 82, 1000) * first);
    const double at_300 = distance(ended("choco", "gamma", 0.4, 0, 300), mean);
    const double at_600 = distance(ended("choco", "gamma", 0.4, 0, 600), mean);
    ck_assert_double_lt(at_300, 1e-2 * sqrt(first));
    ck_assert_double_lt(at_600, 1e-2 * at_300);
}
