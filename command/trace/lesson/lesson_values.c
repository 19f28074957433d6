/**
 * @file lesson_values.c
 * Computes the loss of a lesson. Finds where each gradient is applied.
 */
#include "command/trace/lesson/lesson.h"

/* --- the loss --------------------------------------------------------------------------------- */

dsgd_quadratic dsgd_quadratic_of(const dsgd_samples *points)
{
    dsgd_quadratic q = {.n_points = points->n};
    const double n = points->n;
    for (uint32_t i = 0; i < points->n; i++) {
        const double u = (double)points->x_real[i];
        const double v = (double)points->targets[i];
        q.uu += u * u / n;
        q.u += u / n;
        q.uv += u * v / n;
        q.v += v / n;
        q.vv += v * v / n;
    }
    const double determinant = q.uu - q.u * q.u;
    q.minimum[0] = (q.uv - q.u * q.v) / determinant;
    q.minimum[1] = q.v - q.minimum[0] * q.u;
    q.least = dsgd_quadratic_at(&q, q.minimum);
    return q;
}

double dsgd_quadratic_at(const dsgd_quadratic *q, const double *x)
{
    const double a = x[0], b = x[1];
    return 0.5 * (a * a * q->uu + 2 * a * b * q->u + b * b - 2 * a * q->uv - 2 * b * q->v + q->vv);
}

/**
 * Computes a point of a contour. The loss is F = least + d' H d / 2, where d is the vector from the
 * minimum and H the Hessian. This equation gives the radius of a contour in each direction.
 */
void dsgd_quadratic_contour(const dsgd_quadratic *q, double F, double angle, double *x)
{
    const double c = cos(angle), s = sin(angle);
    const double curvature = c * c * q->uu + 2 * c * s * q->u + s * s;
    const double radius = sqrt(2 * fmax(0, F - q->least) / curvature);
    x[0] = q->minimum[0] + radius * c;
    x[1] = q->minimum[1] + radius * s;
}

/* --- combinations ----------------------------------------------------------------------------- */

void dsgd_lesson_expand(const dsgd_ledger *ledger, size_t value, bool through, const bool *where,
                        double *weights)
{
    for (size_t i = 0; i < ledger->n_values; i++)
        weights[i] = 0;
    weights[value] = 1;
    /* Go from later to earlier values, because a value is a combination of earlier values. */
    for (size_t i = value; i > 0; i--) {
        const dsgd_made *const made = &ledger->values[i];
        const double weight = weights[i];
        const bool splits =
            made->by == DSGD_MADE_COMBINATION || (made->by == DSGD_MADE_UPDATE && through);
        if (weight == 0 || !splits || (where != NULL && where[i]))
            continue;
        weights[i] = 0;
        for (size_t k = 0; k < made->n; k++)
            weights[made->from[k]] += weight * made->weights[k];
    }
}

/* --- applications of gradients ---------------------------------------------------------------- */

typedef struct follower {
    dsgd_lesson_run *run;
    bool *of_server; /* array [n_values]: true if the value has been the model of the server */
    bool *brought; /* array [n_values]: true if an earlier message to the server contained at least
                    * a part of this gradient */
    size_t pushed; /* index of the value in the last message to the server */
    double *weights; /* array [n_values]: weight of each value in a combination */
} follower;

/**
 * Returns the number of times that a host's model changed before ledger entry @p entry, at least 1.
 * Counts from the model @p taken. If @p taken was never the host's model, counts from time @p
 * since_s.
 */
static int64_t changes_since(const dsgd_lesson_run *run, int host, size_t taken, double since_s,
                             size_t entry)
{
    int64_t since_then = 0, since_taken = -1;
    for (size_t i = 0; i < entry; i++) {
        const dsgd_ledger_entry *const e = &run->ledger.entries[i];
        if (e->kind != DSGD_ENTRY_MODEL || e->host != host || e->value == run->before[i])
            continue;
        since_then += e->at_s > since_s;
        since_taken = e->value == taken ? 0 : since_taken < 0 ? -1 : since_taken + 1;
    }
    const int64_t n = since_taken < 0 ? since_then : since_taken;
    return n > 0 ? n : 1;
}

static void add(follower *f, dsgd_application application)
{
    dsgd_lesson_run *const run = f->run;
    run->applications =
        dsgd_keep_more(run->applications, run->n_applications + 1, sizeof *run->applications);
    run->applications[run->n_applications++] = application;
}

/**
 * Returns the age of a gradient that a worker applies. The worker's own gradient is stale if the
 * worker's model has changed since the gradient was computed. A gradient of another worker is stale
 * if it is from an earlier step.
 */
static int64_t age_at_worker(const follower *f, size_t entry, size_t gradient, size_t to)
{
    const dsgd_ledger *const ledger = &f->run->ledger;
    const dsgd_ledger_entry *const e = &ledger->entries[entry];
    const dsgd_made *const g = &ledger->values[gradient];
    const size_t updated = ledger->values[e->value].from[0];
    if (g->worker != e->host)
        return e->step > g->step ? e->step - g->step : 0;
    if (g->from[0] == updated || g->from[0] == to)
        return 0;
    return changes_since(f->run, e->host, g->from[0], g->at_s, entry);
}

static void apply_at_worker(follower *f, size_t entry)
{
    const dsgd_ledger *const ledger = &f->run->ledger;
    const dsgd_ledger_entry *const e = &ledger->entries[entry];
    const dsgd_made *const updated = &ledger->values[e->value];
    const size_t to = f->run->before[entry];
    dsgd_lesson_expand(ledger, updated->from[1], false, NULL, f->weights);
    for (size_t i = 0; i < ledger->n_values; i++)
        if (ledger->values[i].by == DSGD_MADE_GRADIENT && f->weights[i] != 0)
            add(f, (dsgd_application){entry, i, to, f->weights[i], age_at_worker(f, entry, i, to)});
}

/**
 * Records the gradients that a server applies. Such a gradient is in the last message to the server
 * but in no earlier message. Its weight is the weight of a local step.
 */
static void apply_at_server(follower *f, size_t entry)
{
    /* smallest weight of a gradient in a local step, as a share of the learning rate */
    static const double whole = 0.999;
    const dsgd_ledger *const ledger = &f->run->ledger;
    const dsgd_ledger_entry *const e = &ledger->entries[entry];
    const size_t to = f->run->before[entry];
    const double lr = f->run->view.run->learning.optimizer.lr;
    if (f->pushed == 0)
        return;
    dsgd_lesson_expand(ledger, f->pushed, true, f->of_server, f->weights);
    for (size_t i = 0; i < ledger->n_values; i++) {
        const dsgd_made *const g = &ledger->values[i];
        const bool first = g->by == DSGD_MADE_GRADIENT && f->weights[i] != 0 && !f->brought[i];
        f->brought[i] = f->brought[i] || first;
        if (!first || fabs(f->weights[i]) < whole * lr)
            continue;
        const int64_t age =
            g->from[0] == to ? 0 : changes_since(f->run, e->host, g->from[0], g->at_s, entry);
        add(f, (dsgd_application){entry, i, to, 1, age});
    }
    f->pushed = 0;
}

static void follow_models(dsgd_lesson_run *run)
{
    run->before = dsgd_keep(run->ledger.n_entries + 1, sizeof *run->before);
    run->models = dsgd_keep((size_t)run->n_hosts, sizeof *run->models);
    for (size_t i = 0; i < run->ledger.n_entries; i++) {
        const dsgd_ledger_entry *const e = &run->ledger.entries[i];
        run->before[i] = run->models[e->host];
        if (e->kind == DSGD_ENTRY_MODEL)
            run->models[e->host] = e->value;
    }
}

void dsgd_lesson_apply(dsgd_lesson_run *run)
{
    const dsgd_ledger *const ledger = &run->ledger;
    follower f = {.run = run,
                  .of_server = dsgd_keep(ledger->n_values + 1, sizeof *f.of_server),
                  .brought = dsgd_keep(ledger->n_values + 1, sizeof *f.brought),
                  .weights = dsgd_keep(ledger->n_values + 1, sizeof *f.weights)};
    follow_models(run);
    for (size_t i = 0; i < ledger->n_entries; i++) {
        const dsgd_ledger_entry *const e = &ledger->entries[i];
        const bool server = dsgd_lesson_is_server(run, e->host);
        if (e->kind == DSGD_ENTRY_UPDATED)
            apply_at_worker(&f, i);
        if (e->kind == DSGD_ENTRY_RECEIVED && server)
            f.pushed = e->value;
        if (e->kind != DSGD_ENTRY_MODEL)
            continue;
        if (server && run->before[i] > 0)
            apply_at_server(&f, i);
        if (server)
            f.of_server[e->value] = true;
    }
}
