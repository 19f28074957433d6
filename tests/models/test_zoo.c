/**
 * @file test_zoo.c
 * Tests the models in the registry. The tests check their sizes and initial values, the loss of
 * guessing, and the data that they reject.
 */
#include "tests/support/rig.h"
#include "tests/support/suite.h"
#include "tests/support/support.h"

SUITE(zoo, "zoo");

TEST(every_model_has_a_rig)
{
    for (int i = 0; dsgd_model_kinds[i] != NULL; i++) {
        bool found = false;
        for (int k = 0; k < rig_n_specs; k++)
            found = found || strcmp(rig_specs[k].model, dsgd_model_kinds[i]->name) == 0;
        ck_assert_msg(found, "tests/support/rig.c has no spec of %s", dsgd_model_kinds[i]->name);
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(untrained_model_has_the_loss_of_guessing, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    const rig_spec *const spec = s->spec;
    const size_t n_labels = (size_t)spec->n_samples * s->data.n_labels;
    memset(s->x, 0, s->network.n_params * sizeof *s->x);
    double wanted = 0, zeros = 0;
    for (size_t i = 0; i < n_labels; i++) {
        const double target = spec->n_classes == 0 ? (double)s->data.test.targets[i] : 0;
        wanted += target * target / 2 / (double)n_labels;
        zeros += spec->n_classes > 0 && s->data.test.labels[i] == 0 ? 1 / (double)n_labels : 0;
    }
    const dsgd_evaluate_op got = rig_evaluation(s, s->x, s->state);
    if (spec->n_classes == 0) {
        ck_assert_double_eq_tol(got.loss, wanted, 1e-13);
        ck_assert(isnan(got.accuracy));
    } else if (s->network.loss == DSGD_LOSS_CROSS_ENTROPY) {
        ck_assert_double_eq_tol(got.loss, log(spec->n_classes), 1e-13);
        /* If all outputs are equal, the prediction is class 0. */
        ck_assert_double_eq_tol(got.accuracy, zeros, 1e-13);
    }
}

static dsgd_data shape(uint32_t features, uint32_t classes)
{
    static uint8_t labels[1];
    static float targets[1];
    dsgd_data data = {.n_rows = 1,
                      .n_columns = features,
                      .width = 1,
                      .n_features = features,
                      .n_labels = 1,
                      .n_classes = classes,
                      .deviation = 1};
    data.train.targets = classes == 0 ? targets : NULL;
    data.train.labels = classes == 0 ? NULL : labels;
    data.test = data.train;
    return data;
}

static dsgd_status build(const char *name, void *params, dsgd_data data, dsgd_network *network,
                         dsgd_error *error)
{
    const dsgd_model_kind *kind = (const void *)dsgd_entry_find(dsgd_model_kinds, name);
    ck_assert_ptr_nonnull(kind);
    return dsgd_model_build(kind, params, &data, network, error);
}

TEST(networks_have_the_published_sizes_in_backward_order)
{
    dsgd_network n;
    double widths[] = {128};
    dsgd_numbers none = {0, NULL}, one = {1, widths};
    ck_assert_int_eq(build("hyperplane", NULL, shape(8192, 0), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 8193);
    ck_assert_int_eq(build("logreg", NULL, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 7850);
    ck_assert_int_eq(build("mlp", &none, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 25450);
    ck_assert_int_eq(build("mlp", &one, shape(784, 10), &n, NULL), DSGD_OK);
    ck_assert_uint_eq(n.n_params, 101770);
    ck_assert_uint_eq(n.layers[1].params, 0);
    ck_assert_uint_eq(n.layers[1].n_params, 1290);
    ck_assert_uint_eq(n.layers[0].params, 1290);
    ck_assert_uint_eq(n.layers[0].n_params, 100480);
    ck_assert(n.layers[0].relu && !n.layers[1].relu);
}

TEST(model_rejects_unsuitable_data_and_sizes)
{
    dsgd_network n;
    dsgd_error error;
    double widths[DSGD_MAX_LAYERS] = {2.5};
    for (size_t i = 1; i < DSGD_MAX_LAYERS; i++)
        widths[i] = 1;
    dsgd_numbers most = {DSGD_MAX_LAYERS - 2, widths + 1}, many = {DSGD_MAX_LAYERS - 1, widths + 1};
    dsgd_numbers broken = {1, widths};
    ck_assert_int_eq(build("logreg", NULL, shape(8, 0), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text,
                     "learn: logreg needs data with classes. Use data: fashion-mnist or idx");
    ck_assert_int_eq(build("hyperplane", NULL, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: hyperplane needs data with a number as target, but this "
                                 "data has classes. Use data: hyperplane");
    ck_assert_int_eq(build("mlp", &most, shape(8, 3), &n, &error), DSGD_OK);
    ck_assert_int_eq(build("mlp", &many, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(error.text, "learn: mlp: the model must have at most 63 layers");
    ck_assert_int_eq(build("mlp", &broken, shape(8, 3), &n, &error), DSGD_EUSAGE);
    ck_assert_str_eq(
        error.text,
        "learn: mlp: the number of units must be a whole number from 1 to 65536, got 2.5");
}

TEST(initial_weights_are_he_uniform)
{
    dsgd_network n;
    dsgd_numbers none = {0, NULL};
    build("mlp", &none, shape(784, 10), &n, NULL);
    double *const x = dsgd_keep(n.n_params, sizeof *x);
    dsgd_network_initial(&n, 1, x);
    for (uint32_t l = 0; l < 2; l++) {
        const dsgd_layer *const layer = &n.layers[l];
        const uint32_t n_in = layer->in.n_columns;
        const size_t count = (size_t)n_in * layer->out.n_columns;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < count; i++) {
            const double w = x[layer->params + i];
            ck_assert_double_le(fabs(w), sqrt(6.0 / n_in));
            sum += w;
            squares += w * w;
        }
        /*
         * The variance must be 2 / n_in within four standard errors. The fourth moment of a uniform
         * distribution is 9/5 of its squared variance.
         */
        const double variance = 2.0 / n_in;
        ck_assert_double_le(fabs(sum / (double)count), 4 * sqrt(variance / (double)count));
        ck_assert_double_le(fabs(squares / (double)count - variance),
                            4 * variance * sqrt(0.8 / (double)count));
        for (size_t i = count; i < layer->n_params; i++)
            ck_assert(x[layer->params + i] == 0);
    }
    const double ratio = sqrt((double)n.layers[0].in.n_columns / n.layers[1].in.n_columns);
    ck_assert_double_gt(fabs(x[n.layers[0].params] * ratio - x[n.layers[1].params]), 1e-6);
    double *const other = dsgd_keep(n.n_params, sizeof *other);
    dsgd_network_initial(&n, 2, other);
    ck_assert_mem_ne(other, x, n.n_params * sizeof *x);
    dsgd_network_initial(&n, 1, other);
    ck_assert_mem_eq(other, x, n.n_params * sizeof *x);
}

/**
 * One part of the parameters of a layer. It contains the number of parameters, and the centre and
 * half width of the range of initial values.
 */
typedef struct beginning {
    size_t n;
    double centre, bound;
} beginning;

static size_t beginnings_of(const dsgd_layer *l, beginning *parts)
{
    const size_t c = l->out.n_columns;
    const size_t window = (size_t)l->kernel_size * l->kernel_size * l->in.n_columns;
    switch (l->kind) {
    case DSGD_LINEAR:
        parts[0] = (beginning){l->in.n_columns * c, 0, sqrt(6.0 / l->in.n_columns)};
        parts[1] = (beginning){c, 0, 0};
        return 2;
    case DSGD_CONVOLUTION:
        parts[0] = (beginning){window * c, 0, sqrt(6.0 / (double)window)};
        parts[1] = (beginning){c, 0, 0};
        return l->biased ? 2 : 1;
    case DSGD_BATCH_NORM:
    case DSGD_LAYER_NORM:
        parts[0] = (beginning){c, 1, 0};
        parts[1] = (beginning){c, 0, 0};
        return 2;
    case DSGD_EMBEDDING:
        parts[0] = (beginning){l->n_tokens * c, 0, 0.1};
        parts[1] = (beginning){l->out.n_rows * c, 0, 0.1};
        return 2;
    case DSGD_LSTM:
        parts[0] = (beginning){4 * c * c, 0, 1 / sqrt((double)c)};
        return 1;
    default:
        return 0;
    }
}

/* The loop variable _i is the index of a network in rig_specs. */
TEST_RANGE(every_parameter_begins_within_its_bound_and_alone, 0, rig_n_specs)
{
    rig *const s = rig_new(&rig_specs[_i], dsgd_device_cpu(true), 1);
    const size_t n = s->network.n_params;
    double *const x = dsgd_keep(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    dsgd_network_initial(&s->network, 1, x);
    size_t end = n;
    for (uint32_t l = 0; l < s->network.n_layers; l++) {
        const dsgd_layer *const layer = &s->network.layers[l];
        beginning parts[2];
        const size_t n_parts = beginnings_of(layer, parts);
        size_t at = layer->params;
        for (size_t p = 0; p < n_parts; at += parts[p++].n)
            for (size_t i = at; i < at + parts[p].n; i++) {
                ck_assert_double_le(fabs(x[i] - parts[p].centre), parts[p].bound);
                for (size_t j = 0; parts[p].bound > 0 && j < i; j++)
                    ck_assert_msg(x[i] != x[j], "%s: layer %u draws a number twice", s->spec->name,
                                  l);
            }
        ck_assert_uint_eq(at, layer->params + layer->n_params);
        /* The parameters of layers are in reverse order, without gaps. */
        ck_assert_uint_eq(at, end);
        end = layer->params;
    }
    ck_assert_uint_eq(end, 0);
}
