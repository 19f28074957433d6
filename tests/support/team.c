/**
 * @file team.c
 * Runs one operation of each kind on one device.
 */
#include "tests/support/team.h"

#include "base/draw.h"
#include "tests/support/distance.h"

#define TEAM_NAME(name) #name,
const char *const team_kind_names[] = {TEAM_OPERATIONS(TEAM_NAME)};

static const double ones[TEAM_GROUP] = {1, 1};

/**
 * Allocates a device buffer of @p n reals for each worker. If @p x is not NULL, each buffer starts
 * with the content @p x[n]; otherwise its content is undefined.
 */
static dsgd_buffer *buffers(const team *t, size_t n, const double *x)
{
    dsgd_buffer *const out = dsgd_keep(t->n, sizeof *out);
    for (uint32_t w = 0; w < t->n; w++) {
        out[w] = t->device->alloc(t->context, n);
        DSGD_ASSERT(out[w] != NULL, "no room for %u workers", t->n);
        if (x != NULL)
            t->device->put(t->context, out[w], x, n);
    }
    return out;
}

/**
 * Gives each worker its own model. Worker w's model is the model of worker w - 1 with one more
 * parameter changed.
 */
static void put_models(const team *t, size_t n)
{
    double *const x = dsgd_keep(n, sizeof *x);
    dsgd_network_initial(t->problem->network, 1, x);
    for (uint32_t w = 0; w < t->n; w++) {
        x[w % n] += 0.2 * dsgd_draw_uniform((dsgd_draw){3, DSGD_DRAW_DATA, 0, w, 0}) - 0.1;
        t->device->put(t->context, t->x[w], x, n);
    }
}

static void describe(team *t, uint32_t w, uint32_t batch)
{
    const size_t n = t->problem->network->n_params;
    uint32_t *const samples = dsgd_keep(batch, sizeof *samples);
    for (uint32_t j = 0; j < batch; j++)
        samples[j] = (w * batch + j) % t->problem->data->train.n;
    t->pairs[w][0] = t->x[w];
    t->pairs[w][1] = t->moved[(w + 1) % t->n];
    t->gradient[w] = (dsgd_gradient_op){&t->x[w], &t->g[w], NULL, NULL, samples, batch};
    t->update[w] =
        (dsgd_update_op){n, t->x[w], t->g[w], t->v[w], t->moved[w], t->v[w], .lr = 0.01, .t = 1};
    t->combine[w] =
        (dsgd_combine_op){n, TEAM_GROUP, t->pairs[w], ones, TEAM_GROUP, .y = t->mixed[w]};
    t->encode[w] = (dsgd_encode_op){
        n, t->g[w], .codec = {.kind = DSGD_CODEC_TOP_K, .count = n / 8 + 1}, .y = t->mixed[w]};
    t->evaluate[w] = (dsgd_evaluate_op){.x = &t->x[w], .samples = samples, .n_samples = batch};
    t->distance[w] = (dsgd_distance_op){n, t->x[w], t->x[(w + 1) % t->n], 0};
}

team *team_new(const dsgd_device *device, const dsgd_problem *problem, uint32_t n, uint32_t batch)
{
    team *const t = dsgd_keep(1, sizeof *t);
    const size_t n_params = problem->network->n_params;
    const size_t n_states = dsgd_optimizer_states(&problem->update);
    *t = (team){.device = device, .problem = problem, .n = n};
    dsgd_error error = {""};
    DSGD_ASSERT(device->open(problem, NULL, 1, &t->context, &error) == DSGD_OK, "%s", error.text);
    t->x = buffers(t, n_params, NULL);
    t->g = buffers(t, n_params, NULL);
    t->moved = buffers(t, n_params, NULL);
    t->mixed = buffers(t, n_params, NULL);
    t->v = dsgd_keep(n, sizeof *t->v);
    if (n_states > 0)
        t->v = buffers(t, n_states * n_params, dsgd_keep(n_states * n_params, sizeof(double)));
    put_models(t, n_params);
    t->pairs = dsgd_keep(n, sizeof *t->pairs);
#define TEAM_ROOM(name) t->name = dsgd_keep(n, sizeof *t->name);
    TEAM_OPERATIONS(TEAM_ROOM)
    t->finite = dsgd_keep(n, sizeof *t->finite);
    for (uint32_t w = 0; w < n; w++)
        describe(t, w, batch);
    return t;
}

void team_call(team *t, team_kind kind, uint32_t first, uint32_t n)
{
    const dsgd_device *const d = t->device;
    bool *const finite = t->finite + first;
    if (kind == TEAM_gradient)
        d->gradient(t->context, 0, t->gradient + first, n, finite);
    else if (kind == TEAM_update)
        d->update(t->context, 0, t->update + first, n, finite);
    else if (kind == TEAM_combine)
        d->combine(t->context, 0, t->combine + first, n, finite);
    else if (kind == TEAM_encode)
        d->encode(t->context, 0, t->encode + first, n, finite);
    else if (kind == TEAM_evaluate)
        d->evaluate(t->context, 0, t->evaluate + first, n);
    else
        d->distance(t->context, 0, t->distance + first, n);
    for (uint32_t w = 0; w < n; w++)
        DSGD_ASSERT(kind >= TEAM_evaluate || finite[w], "worker %u diverged", first + w);
}

size_t team_result(const team *t, team_kind kind, uint32_t worker, double *to)
{
    if (kind >= TEAM_evaluate) {
        *to = kind == TEAM_evaluate ? t->evaluate[worker].loss : t->distance[worker].distance;
        return 1;
    }
    const dsgd_buffer from = kind == TEAM_gradient ? t->g[worker]
                             : kind == TEAM_update ? t->moved[worker]
                                                   : t->mixed[worker];
    t->device->get(t->context, to, from, t->problem->network->n_params);
    return t->problem->network->n_params;
}

double team_distance(const team *a, const team *b, team_kind kind)
{
    const size_t n = b->problem->network->n_params;
    double *const x = dsgd_keep(2 * n, sizeof *x);
    double most = 0;
    for (uint32_t w = 0; w < b->n; w++) {
        const size_t found = team_result(a, kind, w, x);
        team_result(b, kind, w, x + n);
        most = fmax(most, support_distance(x, x + n, found));
    }
    return most;
}

void team_close(team *t)
{
    dsgd_buffer *const all[] = {t->x, t->g, t->v, t->moved, t->mixed};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (uint32_t w = 0; w < t->n; w++)
            t->device->release(t->context, all[i][w]);
    t->device->close(t->context);
}
