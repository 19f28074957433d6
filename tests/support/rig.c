/**
 * @file rig.c
 * Builds small networks of every model, with small data sets.
 */
#include "tests/support/rig.h"

#include <check.h>

#include "tests/support/support.h"

const rig_spec rig_specs[] = {
    {"hyperplane", "hyperplane", DSGD_DATA_POINTS, 1, 9, 1, 0, 37, .stored = true},
    {"logreg", "logreg", DSGD_DATA_POINTS, 1, 11, 1, 5, 37},
    {"logreg of images", "logreg", DSGD_DATA_IMAGES, 12, 1, 4, 3, 6},
    {"mlp of one unit", "mlp", DSGD_DATA_POINTS, 1, 7, 1, 3, 37, .list = "hidden", .n_list = 1,
     .numbers = {1}},
    {"mlp", "mlp", DSGD_DATA_POINTS, 1, 13, 1, 4, 37, .list = "hidden", .n_list = 1,
     .numbers = {8}},
    {"mlp-two-layers", "mlp", DSGD_DATA_POINTS, 1, 6, 1, 3, 37, .list = "hidden", .n_list = 2,
     .numbers = {7, 5}, .stored = true},
    {"mlp of sequences", "mlp", DSGD_DATA_SEQUENCES, 4, 3, 1, 3, 9, .list = "hidden", .n_list = 1,
     .numbers = {5}},
    {"cnn-7x5", "cnn", DSGD_DATA_IMAGES, 35, 1, 5, 4, 11, .list = "channels", .n_list = 2,
     .numbers = {2, 3}, .with = {{"hidden", 5}}, .stored = true},
    {"cnn of 9x9", "cnn", DSGD_DATA_IMAGES, 81, 1, 9, 3, 5, .list = "channels", .n_list = 3,
     .numbers = {3, 1, 2}, .with = {{"hidden", 3}}},
    {"cnn of 2x3", "cnn", DSGD_DATA_IMAGES, 6, 1, 3, 2, 1, .list = "channels", .n_list = 1,
     .numbers = {4}, .with = {{"hidden", 2}}},
    {"cnn of 5x4 in 3 colours", "cnn", DSGD_DATA_IMAGES, 20, 3, 4, 3, 4, .list = "channels",
     .n_list = 1, .numbers = {17}, .with = {{"hidden", 2}}},
    {"resnet-9x7", "resnet_small", DSGD_DATA_IMAGES, 63, 1, 7, 3, 7,
     .with = {{"blocks", 2}, {"width", 2}}, .stored = true},
    {"resnet of one block on 5x7", "resnet_small", DSGD_DATA_IMAGES, 35, 1, 7, 4, 4,
     .with = {{"blocks", 1}, {"width", 3}}},
    {"resnet of four blocks on 9x9", "resnet_small", DSGD_DATA_IMAGES, 81, 1, 9, 2, 5,
     .with = {{"blocks", 4}, {"width", 1}}},
    {"resnet of one image", "resnet_small", DSGD_DATA_IMAGES, 56, 2, 8, 3, 1,
     .with = {{"blocks", 1}, {"width", 2}}},
    {"lstm", "lstm", DSGD_DATA_SEQUENCES, 6, 3, 1, 4, 9, .with = {{"units", 5}}, .stored = true},
    {"lstm of one unit", "lstm", DSGD_DATA_SEQUENCES, 5, 1, 1, 2, 1, .with = {{"units", 1}}},
    {"lstm of one row", "lstm", DSGD_DATA_SEQUENCES, 1, 4, 1, 3, 6, .with = {{"units", 3}}},
    {"transformer", "transformer", DSGD_DATA_TOKENS, 5, 1, 1, 7, 4,
     .with = {{"blocks", 1}, {"width", 6}, {"heads", 2}}, .stored = true},
    {"transformer of two blocks", "transformer", DSGD_DATA_TOKENS, 7, 1, 1, 4, 3,
     .with = {{"blocks", 2}, {"width", 4}, {"heads", 1}}},
    {"transformer of heads of one", "transformer", DSGD_DATA_TOKENS, 3, 1, 1, 3, 1,
     .with = {{"blocks", 1}, {"width", 4}, {"heads", 4}}},
    {"transformer of one token", "transformer", DSGD_DATA_TOKENS, 1, 1, 1, 5, 6,
     .with = {{"blocks", 1}, {"width", 4}, {"heads", 2}}},
    {"policy", "policy", DSGD_DATA_STEPS, 1, 6, 1, 8, 24,
     .with = {{"hidden", 7}, {"environments", 4}, {"discount", 0.9}, {"entropy", 0.2}}},
    {"policy of batches that are no multiple", "policy", DSGD_DATA_STEPS, 1, 6, 1, 8, 26,
     .with = {{"hidden", 3}, {"environments", 7}, {"discount", 1}, {"entropy", 0}}},
    {"policy of more environments than steps", "policy", DSGD_DATA_STEPS, 1, 6, 1, 8, 3,
     .with = {{"hidden", 2}, {"environments", 5}, {"discount", 0}, {"entropy", 1}}},
    {"policy of one environment", "policy", DSGD_DATA_STEPS, 1, 6, 1, 8, 60,
     .with = {{"hidden", 4}, {"environments", 1}, {"discount", 0.5}, {"entropy", 0.05}}},
};
const int rig_n_specs = sizeof rig_specs / sizeof rig_specs[0];

const rig_spec *rig_spec_named(const char *name)
{
    for (int i = 0; i < rig_n_specs; i++)
        if (strcmp(rig_specs[i].name, name) == 0)
            return &rig_specs[i];
    ck_abort_msg("no spec is called %s", name);
    return NULL;
}

double rig_number(uint64_t salt, uint64_t i)
{
    return (double)((7919 * i + 104729 * salt + i * i % 613) % 1009) / 1009;
}

/* numbers of random series, one each for features, labels, lengths and parameters */
enum { OF_X, OF_LABELS, OF_LENGTHS, OF_PARAMS };

static void fill_inputs(const rig_spec *spec, size_t n, dsgd_samples *s)
{
    if (spec->kind == DSGD_DATA_IMAGES || spec->kind == DSGD_DATA_TOKENS)
        s->x_bytes = dsgd_xcalloc(n, 1);
    else
        s->x_real = dsgd_xcalloc(n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const double u = rig_number(OF_X, i);
        if (spec->kind == DSGD_DATA_IMAGES)
            s->x_bytes[i] = (uint8_t)(256 * u);
        else if (spec->kind == DSGD_DATA_TOKENS)
            s->x_bytes[i] = (uint8_t)(spec->n_classes * u);
        else
            s->x_real[i] = (float)(2 * u - 1);
    }
}

static dsgd_samples samples_of(const rig_spec *spec)
{
    dsgd_samples s = {.n = spec->n_samples};
    if (spec->kind == DSGD_DATA_STEPS)
        return s;
    fill_inputs(spec, (size_t)spec->n_samples * spec->n_rows * spec->n_columns, &s);
    const size_t n_labels = spec->n_samples * (spec->kind == DSGD_DATA_TOKENS ? spec->n_rows : 1);
    if (spec->n_classes == 0)
        s.targets = dsgd_xcalloc(n_labels, sizeof(float));
    else
        s.labels = dsgd_xcalloc(n_labels, 1);
    for (size_t i = 0; i < n_labels; i++) {
        if (spec->n_classes == 0)
            s.targets[i] = (float)(3 * rig_number(OF_LABELS, i));
        else
            s.labels[i] = (uint8_t)(spec->n_classes * rig_number(OF_LABELS, i));
    }
    if (spec->kind == DSGD_DATA_SEQUENCES) {
        s.lengths = dsgd_xcalloc(spec->n_samples, sizeof *s.lengths);
        for (size_t i = 0; i < spec->n_samples; i++)
            s.lengths[i] = (uint16_t)(1 + spec->n_rows * rig_number(OF_LENGTHS, i));
    }
    return s;
}

void *rig_params(const rig_spec *spec)
{
    const dsgd_entry *const about = dsgd_entry_find(dsgd_model_kinds, spec->model);
    ck_assert_msg(about != NULL, "no model is called %s", spec->model);
    void *const params = support_params(about);
    for (size_t i = 0; i < 4 && spec->with[i].name != NULL; i++)
        support_set(about, params, spec->with[i].name, spec->with[i].value);
    for (const dsgd_option *o = about->options; spec->list != NULL && o->name != NULL; o++)
        if (strcmp(o->name, spec->list) == 0)
            *(dsgd_numbers *)(void *)((char *)params + o->offset) =
                (dsgd_numbers){spec->n_list, (double *)(uintptr_t)spec->numbers};
    return params;
}

static rig *rigs; /* list of all rigs of this process */

static void close_rigs(void)
{
    while (rigs != NULL) {
        rig *const s = rigs;
        rigs = s->next;
        s->device->close(s->context);
        free(s->data.train.x_bytes);
        free(s->data.train.x_real);
        free(s->data.train.labels);
        free(s->data.train.targets);
        free(s->data.train.lengths);
        free(s->x);
        free(s->state);
        free(s);
    }
}

rig *rig_new(const rig_spec *spec, const dsgd_device *device, size_t n_pieces)
{
    rig *const s = dsgd_xcalloc(1, sizeof *s);
    const dsgd_samples samples = samples_of(spec);
    s->spec = spec;
    s->data = (dsgd_data){.kind = spec->kind,
                          .n_rows = spec->n_rows,
                          .n_columns = spec->n_columns,
                          .width = spec->width,
                          .n_features = spec->n_rows * spec->n_columns,
                          .n_labels = spec->kind == DSGD_DATA_TOKENS  ? spec->n_rows
                                      : spec->kind == DSGD_DATA_STEPS ? 0
                                                                      : 1,
                          .n_classes = spec->n_classes,
                          .mean = 0.5f,
                          .deviation = 0.25f,
                          .seed = 77,
                          .train = samples,
                          .test = samples};
    void *const params = rig_params(spec);
    dsgd_error error = {""};
    const dsgd_model_kind *const kind =
        (const void *)dsgd_entry_find(dsgd_model_kinds, spec->model);
    ck_assert_msg(dsgd_model_build(kind, params, &s->data, &s->network, &error) == DSGD_OK, "%s",
                  error.text);
    s->problem = (dsgd_problem){&s->network, &s->data, n_pieces, s->piece_begin,
                                .update = {.momentum = 0.9, .weight_decay = 1e-2}};
    /* If there are more chunks than parameters, some chunks are empty. */
    for (size_t k = 0; k <= n_pieces; k++)
        s->piece_begin[k] = s->network.n_params * k / n_pieces;
    s->device = device;
    ck_assert_int_eq(device->open(&s->problem, NULL, 1, &s->context, NULL), DSGD_OK);
    s->x = dsgd_xcalloc(s->network.n_params, sizeof *s->x);
    /* the loop also sets biases, gains and shifts to random values */
    for (size_t i = 0; i < s->network.n_params; i++)
        s->x[i] = rig_number(OF_PARAMS, i) - 0.5;
    s->state = dsgd_xcalloc(s->network.n_state + 1, sizeof *s->state);
    dsgd_network_initial_state(&s->network, 5, 3, s->state);
    for (uint32_t i = 0; i < RIG_MOST_SAMPLES; i++)
        s->all[i] = i;
    if (rigs == NULL)
        atexit(close_rigs);
    s->next = rigs;
    return rigs = s;
}

vector vector_new(const rig *s, const double *x)
{
    vector v;
    for (size_t k = 0; k < s->problem.n_pieces; k++) {
        const size_t n = s->piece_begin[k + 1] - s->piece_begin[k];
        v.pieces[k] = s->device->alloc(s->context, n == 0 ? 1 : n);
        if (x != NULL)
            s->device->put(s->context, v.pieces[k], x + s->piece_begin[k], n);
    }
    return v;
}

void vector_end(const rig *s, const vector *v, double *x)
{
    for (size_t k = 0; k < s->problem.n_pieces; k++) {
        if (x != NULL)
            s->device->get(s->context, x + s->piece_begin[k], v->pieces[k],
                           s->piece_begin[k + 1] - s->piece_begin[k]);
        s->device->release(s->context, v->pieces[k]);
    }
}

/**
 * Makes a device buffer with the given model state, or returns NULL if the network has no state.
 */
static dsgd_buffer state_buffer(const rig *s, const double *state)
{
    if (s->network.n_state == 0)
        return NULL;
    const dsgd_buffer buffer = s->device->alloc(s->context, s->network.n_state);
    if (state != NULL)
        s->device->put(s->context, buffer, state, s->network.n_state);
    return buffer;
}

static void state_end(const rig *s, dsgd_buffer buffer, double *state)
{
    if (buffer == NULL)
        return;
    if (state != NULL)
        s->device->get(s->context, state, buffer, s->network.n_state);
    s->device->release(s->context, buffer);
}

bool rig_gradient(const rig *s, const double *x, const double *state, const uint32_t *samples,
                  uint32_t n, double *g, double *state_new)
{
    const vector at = vector_new(s, x), to = vector_new(s, NULL);
    const dsgd_buffer before = state_buffer(s, state), after = state_buffer(s, NULL);
    bool finite = false;
    const dsgd_gradient_op op = {at.pieces, to.pieces, before, after, samples, n};
    s->device->gradient(s->context, 0, &op, 1, &finite);
    vector_end(s, &at, NULL);
    vector_end(s, &to, g);
    state_end(s, before, NULL);
    state_end(s, after, state_new);
    return finite;
}

dsgd_evaluate_op rig_evaluation(const rig *s, const double *x, const double *state)
{
    const vector at = vector_new(s, x);
    const dsgd_buffer with = state_buffer(s, state);
    dsgd_evaluate_op op = {.x = at.pieces, .state = with};
    s->device->evaluate(s->context, 0, &op, 1);
    vector_end(s, &at, NULL);
    state_end(s, with, NULL);
    return op;
}
