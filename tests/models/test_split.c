/**
 * @file test_split.c
 * Tests splits of the data between workers. The tests check the worker of each sample, the order of
 * samples, and the effect on training.
 */
#include "models/data/split.h"

#include "tests/support/stream.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

static dsgd_data *loaded(const char *source, const char *option, double value)
{
    const dsgd_spec pick = support_picked(dsgd_data_sources, source, option, value);
    dsgd_data *data = NULL;
    ck_assert_int_eq(((const dsgd_data_source *)pick.about)->load(pick.params, 1, &data, NULL),
                     DSGD_OK);
    return kept(data);
}

static dsgd_split *made(const dsgd_data *data, const char *kind, const char *option, double value,
                        uint32_t n_workers)
{
    const dsgd_spec pick = support_picked(dsgd_split_kinds, kind, option, value);
    dsgd_split *split = NULL;
    dsgd_error error = {""};
    ck_assert_msg(dsgd_split_new(&pick, data, 1, n_workers, false, &split, &error) == DSGD_OK, "%s",
                  error.text);
    return kept(split);
}

/**
 * Data of n samples, a split, and numbers of workers. The largest number gives each worker one
 * sample.
 */
static const struct {
    const char *data, *size;
    double n;
    const char *kind, *option;
    double value;
    uint32_t workers[4];
} cases[] = {
    {"sequences", "points", 500, "dirichlet", "alpha", 0.01, {1, 7, 64, 500}},
    {"sequences", "points", 500, "dirichlet", "alpha", 1e6, {1, 7, 64, 500}},
    {"hyperplane", "points", 1025, "dirichlet", "alpha", 1e-6, {1, 3, 1024, 1025}},
    {"hyperplane", "points", 1025, "labels", "per_worker", 1, {10, 13, 1024, 1025}},
    {"sequences", "points", 500, "labels", "per_worker", 3, {3, 7, 64, 166}},
    {"text", "context", 64, "labels", "per_worker", 10, {1, 7, 64, 98}},
    {"text", "context", 64, "dirichlet", "alpha", 0.5, {1, 7, 64, 100}},
};

SUITE(split, "split", .seconds = 120);

TEST_ROWS(every_sample_belongs_to_one_worker, cases)
{
    dsgd_data *const data = loaded(cases[_i].data, cases[_i].size, cases[_i].n);
    const uint32_t n = data->train.n;
    for (int k = 0; k < 4; k++) {
        const uint32_t p = cases[_i].workers[k];
        dsgd_split *const split = made(data, cases[_i].kind, cases[_i].option, cases[_i].value, p);
        const dsgd_split_summary summary = dsgd_split_summarise(split);
        bool *const seen = support_alloc(n, sizeof *seen);
        ck_assert_uint_eq(split->begin[0], 0);
        ck_assert_uint_eq(split->begin[p], n);
        for (uint32_t w = 0; w < p; w++) {
            ck_assert_uint_lt(split->begin[w], split->begin[w + 1]);
            for (uint32_t i = split->begin[w]; i < split->begin[w + 1]; i++) {
                ck_assert(!seen[split->samples[i]]);
                seen[split->samples[i]] = true;
                ck_assert(i == split->begin[w] || split->samples[i - 1] < split->samples[i]);
            }
        }
        const double shards = strcmp(cases[_i].kind, "labels") == 0 ? cases[_i].value : 1;
        ck_assert_uint_le(summary.most - summary.least, (uint32_t)shards);
        ck_assert_double_le(fabs(summary.least - (double)n / p), shards);
        free(split);
    }
    dsgd_data_free(data);
}

TEST(counts_are_those_of_the_labels)
{
    enum { WORKERS = 9 };
    dsgd_data *const data = loaded("sequences", "points", 700);
    dsgd_split *const split = made(data, "dirichlet", "alpha", 0.3, WORKERS);
    ck_assert_uint_eq(split->n_classes, data->n_classes);
    double classes = 0;
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint32_t counts[DSGD_MOST_CLASSES];
        dsgd_split_count(split, w, counts);
        for (uint32_t c = 0; c < data->n_classes; c++) {
            uint32_t n = 0;
            for (uint32_t i = split->begin[w]; i < split->begin[w + 1]; i++)
                n += data->train.labels[split->samples[i]] == c;
            ck_assert_uint_eq(n, counts[c]);
            classes += n > 0;
        }
    }
    ck_assert_double_eq_tol(dsgd_split_summarise(split).classes, classes / WORKERS, 1e-12);
}

/**
 * Tests data without class labels, which are divided into ten equal parts. A part contains
 * neighbouring targets of a regression, or neighbouring windows of a text.
 */
TEST(classes_without_labels_are_tenths)
{
    dsgd_data *const points = loaded("hyperplane", "points", 1000);
    dsgd_split *split = made(points, "labels", "per_worker", 1, 10);
    for (uint32_t w = 0; w < 10; w++) {
        const uint32_t *const own = split->samples + split->begin[w];
        float least = INFINITY, most = -INFINITY;
        for (uint32_t i = 0; i < 100; i++) {
            least = fminf(least, points->train.targets[own[i]]);
            most = fmaxf(most, points->train.targets[own[i]]);
        }
        for (uint32_t i = 0, k = 0; i < 1000; i++, k += k < 99 && own[k] < i)
            ck_assert(own[k] == i || points->train.targets[i] <= least ||
                      points->train.targets[i] >= most);
    }
    dsgd_data *const text = loaded("text", "context", 32);
    split = made(text, "labels", "per_worker", 1, 10);
    for (uint32_t w = 0; w < 10; w++) {
        uint32_t counts[DSGD_PARTS], most = 0;
        dsgd_split_count(split, w, counts);
        for (uint32_t c = 0; c < DSGD_PARTS; c++)
            most = counts[c] > most ? counts[c] : most;
        /*
         * Each worker has about a tenth of the samples, and nearly all of them are from one part.
         */
        ck_assert_uint_gt(most, text->train.n * 9 / 100);
    }
    for (uint32_t i = 0; i < text->train.n; i++)
        ck_assert_uint_eq(split->class_of[i], i * 10 / text->train.n);
}

/**
 * Tests the variance of a worker's share of a class. The share has the distribution Beta(alpha, (K
 * - 1) alpha). Its mean is p = 1/K, and its variance is V = p (1 - p) / (K alpha + 1). With m drawn
 * samples, the variance is V (1 - 1/m) + p (1 - p) / m. The measured variance differs by a few per
 * cent, because the last workers get the remaining samples.
 */
TEST_RANGE(shares_of_classes_vary_as_those_of_a_dirichlet_distribution, 0, 3)
{
    static const double alphas[] = {0.1, 1, 10};
    enum { WORKERS = 400, OWN = 100, K = 10 };
    dsgd_data *const data = loaded("hyperplane", "points", WORKERS * OWN);
    dsgd_split *const split = made(data, "dirichlet", "alpha", alphas[_i], WORKERS);
    const double p = 1. / K;
    double sum = 0;
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint32_t counts[DSGD_MOST_CLASSES];
        dsgd_split_count(split, w, counts);
        for (uint32_t c = 0; c < K; c++)
            sum += (counts[c] / (double)OWN - p) * (counts[c] / (double)OWN - p);
    }
    const double drawn = p * (1 - p) / OWN;
    const double expected = p * (1 - p) / (K * alphas[_i] + 1) * (1 - 1. / OWN) + drawn;
    ck_assert_double_eq_tol(sum / WORKERS / K, expected, 0.1 * expected);
}

TEST(labels_split_limits_the_classes_of_a_worker)
{
    dsgd_data *const data = loaded("hyperplane", "points", 6000);
    /* 6,000 samples in 10 classes are cut so that each shard has samples of one class */
    for (long k = 1; k <= 10; k++) {
        dsgd_split *const split = made(data, "labels", "per_worker", (double)k, 20);
        const double classes = dsgd_split_summarise(split).classes;
        ck_assert_double_le(classes, (double)k + 1e-9);
        /* A worker whose two shards have samples of the same class has one class less. */
        ck_assert_double_ge(classes, (10 % k == 0 ? 1 : 0.8) * (double)k - 1e-9);
    }
    dsgd_split *split = made(data, "dirichlet", "alpha", 1e-6, 100);
    ck_assert_double_lt(dsgd_split_summarise(split).classes, 1.2);
    ck_assert_double_gt(dsgd_split_summarise(split).distance, 0.85);
    split = made(data, "dirichlet", "alpha", 1e6, 10);
    ck_assert_double_lt(dsgd_split_summarise(split).distance, 0.06);
}

static uint32_t drawn(const dsgd_stream *stream, uint32_t w, uint64_t t, uint32_t j)
{
    uint32_t samples[8];
    dsgd_sampler *const sampler = dsgd_sampler_new(stream);
    dsgd_sampler_draw(sampler, w, t, j + 1, samples);
    dsgd_sampler_free(sampler);
    return samples[j];
}

TEST(one_worker_has_the_order_of_all_samples)
{
    dsgd_data *const data = loaded("hyperplane", "points", 50);
    dsgd_split *const split = made(data, "dirichlet", NULL, 0, 1);
    const dsgd_stream all = {5, 50, 1, 7, NULL}, own = {5, 50, 1, 7, split};
    for (uint32_t i = 0; i < 500; i++)
        ck_assert_uint_eq(drawn(&own, 0, i / 7, i % 7), drawn(&all, 0, i / 7, i % 7));
}

TEST(an_epoch_of_a_worker_is_a_permutation_of_its_samples)
{
    enum { N = 100, WORKERS = 7, BATCH = 3 };
    dsgd_data *const data = loaded("hyperplane", "points", N);
    dsgd_split *const split = made(data, "dirichlet", NULL, 0, WORKERS);
    const dsgd_stream stream = {5, N, WORKERS, BATCH, split};
    dsgd_sampler *const sampler = dsgd_sampler_new(&stream);
    for (uint32_t w = 0; w < WORKERS; w++) {
        const uint32_t n = split->begin[w + 1] - split->begin[w];
        uint32_t times[N] = {0};
        for (uint32_t i = 0; i < 4 * n; i++) {
            uint32_t indices[BATCH];
            dsgd_sampler_draw(sampler, w, i / BATCH, BATCH, indices);
            const uint32_t at = stream_sample(&stream, w, i / BATCH, i % BATCH);
            ck_assert_uint_eq(indices[i % BATCH], at);
            ck_assert_uint_eq(times[at]++, i / n);
        }
        for (uint32_t k = split->begin[w]; k < split->begin[w + 1]; k++)
            ck_assert_uint_eq(times[split->samples[k]], 4);
    }
    dsgd_sampler_free(sampler);
}

/**
 * Tests workers whose mini-batches are the same sets of samples in every epoch. In an epoch, each
 * mini-batch occurs once. If a worker has fewer samples than a mini-batch, it repeats samples. _i %
 * 2 selects the batch size, and _i / 2 selects the split.
 */
TEST_RANGE(own_batches_are_the_same_in_every_epoch, 0, 4)
{
    enum { N = 100, WORKERS = 7, EPOCHS = 3, MOST = 8 };
    const uint32_t batch = _i % 2 == 0 ? 3 : MOST, n_points = _i % 2 == 0 ? N : WORKERS * 5;
    dsgd_data *const data = loaded("hyperplane", "points", n_points);
    const dsgd_spec kind =
        support_picked(dsgd_split_kinds, _i / 2 == 0 ? "iid" : "dirichlet", NULL, 0);
    dsgd_split *split = NULL;
    ck_assert_int_eq(dsgd_split_new(&kind, data, 1, WORKERS, true, &split, NULL), DSGD_OK);
    kept(split);
    const dsgd_stream stream = {5, n_points, WORKERS, batch, split};
    dsgd_sampler *const sampler = dsgd_sampler_new(&stream);
    uint32_t whose[N] = {0}; /* number of the mini-batch of each sample, counted from 1 */
    for (uint32_t w = 0, before = 1; w < WORKERS; before += dsgd_stream_batches(&stream, w++)) {
        const uint32_t n = dsgd_stream_batches(&stream, w);
        ck_assert_uint_eq(n, _i % 2 == 0 ? (split->begin[w + 1] - split->begin[w]) / batch : 1);
        uint32_t order[2] = {0}, times[N] = {0};
        for (uint32_t t = 0; t < EPOCHS * n; t++) {
            uint32_t indices[MOST];
            const uint32_t b = dsgd_stream_batch(&stream, w, t);
            ck_assert_uint_eq(times[b]++, t / n);
            order[t / n > 0] = order[t / n > 0] * 31 + b;
            dsgd_sampler_draw(sampler, w, t, batch, indices);
            for (uint32_t j = 0; j < batch; j++) {
                ck_assert_uint_eq(indices[j], stream_sample(&stream, w, t, j));
                ck_assert(t >= n || whose[indices[j]] == 0 || n == 1);
                ck_assert(t < n || whose[indices[j]] == before + b);
                whose[indices[j]] = before + b;
            }
        }
        ck_assert(n == 1 || order[0] != order[1]);
    }
    dsgd_sampler_free(sampler);
}

/** A split that the program rejects, and the error. */
static const struct {
    const char *data, *size;
    double n;
    const char *kind, *option;
    double value;
    uint32_t workers;
    const char *sentence;
} refusals[] = {
    {"navigation", NULL, 0, "dirichlet", NULL, 0, 4, "again in every step"},
    {"hyperplane", "points", 16, "dirichlet", NULL, 0, 17, "17 workers need at least one"},
    {"sequences", "classes", 5, "labels", "per_worker", 6, 4, "from 2 to 5 with 4 workers"},
    {"sequences", "classes", 5, "labels", "per_worker", 2, 2,
     "from 3 to 5 with 2 workers, 5 classes"},
    {"hyperplane", "points", 100, "labels", "per_worker", 3, 34, "from 1 to 2 with 34 workers"},
};

TEST_ROWS(data_that_cannot_be_divided_are_rejected, refusals)
{
    dsgd_data *const data = loaded(refusals[_i].data, refusals[_i].size, refusals[_i].n);
    const dsgd_spec pick = support_picked(dsgd_split_kinds, refusals[_i].kind, refusals[_i].option,
                                          refusals[_i].value);
    dsgd_split *split = NULL;
    dsgd_error error = {""};
    ck_assert_int_eq(dsgd_split_new(&pick, data, 1, refusals[_i].workers, false, &split, &error),
                     DSGD_EUSAGE);
    ck_assert_ptr_null(split);
    ck_assert_has(error.text, refusals[_i].sentence);
    const dsgd_spec iid = support_picked(dsgd_split_kinds, "iid", NULL, 0);
    ck_assert_int_eq(dsgd_split_new(&iid, data, 1, 1 << 20, false, &split, NULL), DSGD_OK);
    ck_assert_ptr_null(split);
}

/* --- runs ------------------------------------------------------------------------------------- */

static double loss_of(const char *algorithm, bool differs)
{
    support_case *const c = support_new(algorithm, 12);
    support_use_mlp(c);
    c->learning.optimizer = (dsgd_optimizer){.lr = 0.1};
    if (differs)
        c->learning.split = support_picked(dsgd_split_kinds, "dirichlet", "alpha", 0.01);
    if (strcmp(algorithm, "d_psgd") == 0)
        support_spec(c, "graph", "ring");
    c->learning.evaluate.local = true;
    c->config.until.steps = 40;
    return support_ok(c)->result.local_loss;
}

/**
 * Tests the loss of workers whose data differ. Since all workers have equally many samples, the
 * mean of their gradients is the gradient over all data.
 */
TEST(gossip_suffers_from_data_that_differ_and_an_allreduce_does_not)
{
    const double alike = loss_of("allreduce", false);
    ck_assert_double_eq_tol(loss_of("allreduce", true), alike, 0.25 * alike);
    ck_assert_double_gt(loss_of("d_psgd", true), 2 * loss_of("d_psgd", false));
}

TEST(a_split_gives_the_same_bits_at_any_number_of_threads)
{
    enum { WORKERS = 7 };
    const support_outcome *runs[2];
    for (int k = 0; k < 2; k++) {
        support_case *const c = support_new("d_psgd", WORKERS);
        c->learning.split = support_picked(dsgd_split_kinds, "labels", NULL, 0);
        c->config.threads = k == 0 ? 1 : 3;
        runs[k] = support_ok(c);
    }
    ck_assert_mem_eq(runs[0]->x, runs[1]->x, WORKERS * runs[0]->n_params * sizeof(double));
}
